/* Objects by path: one interface over local files, memory and (later) object stores.
 *
 * A location is what metadata records: "file:/x", "file:///x", "/x", a relative path, "s3://bucket/key". A store is
 * opened once per command and routes by scheme; `relocate` rules map recorded prefixes to where the bytes lie (the
 * --relocate option), for reading and writing alike. The store does not know what is in its objects. Thread-safe.
 *
 * Invariants
 *  (1) An object becomes visible under its path only in firn_store_writer_finish, in one step, and is whole then. Where
 *      finish fails it is absent, but for one case: the folder could not be synced. Then the object may be visible, and
 *      stays, since others may have seen it.
 *  (2) firn_store_writer_close before finish leaves nothing behind, not even a temporary file.
 *  (3) Only firn_store_delete_batch, firn_store_delete and a failed write remove anything. */
#ifndef FIRN_STORE_STORE_H
#define FIRN_STORE_STORE_H

#include "base/buffer.h"
#include "base/sink.h"
#include "firn/op.h"
#include "firn/price.h"

struct firn_store;

/* `from` is a prefix of recorded locations, `to` what replaces it; the longest matching `from` wins and matches only on
 * a path boundary. */
struct firn_relocation {
    struct firn_text from;
    struct firn_text to;
};

struct firn_store_config {
    const struct firn_relocation *relocations;
    size_t relocation_count;
    bool relaxed; /* written objects survive a crash of the program but not of the machine: for data that can be made
                     again */
};

/* A store that serves local paths; other schemes fail with UNSUPPORTED naming the scheme. Closed by the caller. */
FIRN_CHECKED firn_status firn_store_open(struct firn_op *op, const struct firn_store_config *config,
                                         struct firn_store **out);
/* An empty store in memory that accepts any location, for tests. */
FIRN_CHECKED firn_status firn_store_open_memory(struct firn_op *op, struct firn_store **out);
void firn_store_close(struct firn_store *store);
/* Whether it was opened with `relaxed`; NULL was not. */
bool firn_store_is_relaxed(const struct firn_store *store);
/* What was asked of it since it was opened, counted as firn/price.h says, whether it succeeded or not. */
struct firn_work firn_store_work(const struct firn_store *store);

struct firn_store_stat {
    uint64_t size;       /* bytes */
    int64_t modified_ms; /* epoch, UTC; INT64_MAX when the store cannot say */
};
/* Fails: NOT_FOUND. */
FIRN_CHECKED firn_status firn_store_stat(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                         struct firn_store_stat *out);

/* Reads a whole object into `out` (replacing its content). `size_max` bounds it; LIMIT beyond. */
FIRN_CHECKED firn_status firn_store_read(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                         uint64_t size_max, struct firn_buffer *out);

/* Bytes of what was written that were copied from other objects within the kernel. */
uint64_t firn_store_bytes_copied(const struct firn_store *store);

/* An object will be read soon, from end to end: whatever makes that quicker may begin. Waits for nothing, holds nothing
 * open, and never fails: what is wrong with the object shows when it is opened. Not counted as a request. False says
 * that it is at hand already, as objects made about the same time then are most likely. */
bool firn_store_expect(struct firn_op *op, struct firn_store *store, struct firn_text location);

/* An object opened for range reads. */
struct firn_object;
FIRN_CHECKED firn_status firn_object_open(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                          struct firn_object **out);
void firn_object_close(struct firn_object *object);
uint64_t firn_object_size(const struct firn_object *object);
struct firn_text firn_object_location(const struct firn_object *object);
/* Fills `out` with bytes [offset, offset + len). Reading past the end is CORRUPT ("file ends at ..."). Thread-safe. */
FIRN_CHECKED firn_status firn_object_read(struct firn_op *op, struct firn_object *object, uint64_t offset, size_t len,
                                          uint8_t *out);
/* The object as something that a sink copies from, valid as long as the object is open; NULL where its bytes are
 * better read once and kept, as they are but for local files. */
struct firn_source *firn_object_source(struct firn_object *object);
/* The same in place of what the buffer holds. */
FIRN_CHECKED firn_status firn_object_read_range(struct firn_op *op, struct firn_object *object, uint64_t offset,
                                                uint64_t len, struct firn_buffer *out);

/* A new object. `exclusive` makes finish fail with EXISTS when the path is taken; without it the path is replaced
 * atomically. Parent folders are made as needed. */
struct firn_store_writer;
FIRN_CHECKED firn_status firn_store_write(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                          bool exclusive, struct firn_store_writer **out);
/* Where the content goes. */
struct firn_sink *firn_store_writer_sink(struct firn_store_writer *writer);
/* Makes the object visible and durable (fsync of file and folder). The writer is closed, also after a failure. */
FIRN_CHECKED firn_status firn_store_writer_finish(struct firn_op *op, struct firn_store_writer *writer);
/* Discards; NULL is fine. */
void firn_store_writer_close(struct firn_store_writer *writer);
/* Writes a whole small object. */
FIRN_CHECKED firn_status firn_store_put(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                        bool exclusive, struct firn_bytes content);

struct firn_store_entry {
    struct firn_text location; /* as `prefix` was spelled, plus the rest; lives until the callback returns */
    uint64_t size;
    int64_t modified_ms;
};
typedef firn_status firn_store_visit(struct firn_op *op, void *context, const struct firn_store_entry *entry);
/* Calls `visit` for every object below the folder `prefix`, in no particular order, hidden ones too. A folder that does
 * not exist has none. `recursive` false lists only the folder itself. */
FIRN_CHECKED firn_status firn_store_list(struct firn_op *op, struct firn_store *store, struct firn_text prefix,
                                         bool recursive, firn_store_visit *visit, void *context);

/* A deletion and what became of it. */
struct firn_store_deletion {
    struct firn_text location;
    firn_status status;   /* FIRN_OK: the object is gone, or never was there */
    struct firn_text why; /* of a failure; in op->arena */
};
/* Deletes a batch of objects, of which each tells what became of it. Fails only when the operation was told to stop:
 * the status of those that were not tried is CANCELLED then.
 *
 * This is the one mechanism that deletes. Whether a file of a table may be deleted is not asked here: for everything
 * that was ever part of a table, maintain/removal.h decides, and calls this. A writer that gives up what it wrote
 * itself and never committed needs no such decision: it calls firn_store_delete or firn_store_discard. */
FIRN_CHECKED firn_status firn_store_delete_batch(struct firn_op *op, struct firn_store *store,
                                                 struct firn_store_deletion *items, size_t count);
enum { FIRN_STORE_DELETE_MAX = 1000 }; /* objects in one batch */
/* Deletes a writer's own objects; those that are absent count as deleted. `failed_count` (may be NULL) receives how
 * many are still there; each is logged. Fails only when the operation was told to stop. */
FIRN_CHECKED firn_status firn_store_delete(struct firn_op *op, struct firn_store *store,
                                           const struct firn_text *locations, size_t count, size_t *failed_count);
/* Removes what a failed change wrote and never committed. Neither a stop nor a deadline keeps it from that, and the
 * failure that op->error tells stays; an object that cannot be removed is an orphan, and logged. */
void firn_store_discard(struct firn_op *op, struct firn_store *store, const struct firn_text *locations, size_t count);

/* What all spellings of one object have in common, for comparing: relocated; "file:/x", "file:///x" and "/x" alike,
 * s3a and s3n as s3; scheme and authority in lower case; without empty, "." and ".." parts. Where that makes two
 * objects look like one, it errs on the side of keeping. It names no object. In op->arena, or borrowed. */
struct firn_text firn_store_key(struct firn_op *op, const struct firn_store *store, struct firn_text location);

/* Where a location really lies after relocation, as a local path, or UNSUPPORTED. For messages and for locks. */
FIRN_CHECKED firn_status firn_store_local_path(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                               struct firn_text *out);

/* Length of the scheme of "scheme:/..."; 0: none. */
size_t firn_location_scheme_len(struct firn_text location);

/* A location taken apart, so that one object spelled in two ways is seen to be one. */
struct firn_location_parts {
    struct firn_text scheme;    /* lower case; empty: none was written */
    struct firn_text authority; /* lower case; empty: none */
    struct firn_text path;      /* "/a/b": no doubled slashes, no "." and ".." parts, no slash at the end */
};
/* Never fails: what is no URI is a path. A file URI's "localhost" is no authority. Nothing is percent-decoded, as
 * writers do not encode. In `arena`, or borrowed from `location`. */
struct firn_location_parts firn_location_split(struct firn_arena *arena, struct firn_text location);
/* Whether `path` is `folder` or lies below it, on a path boundary: "/t10" is not below "/t1". Both are paths of split
 * locations. */
bool firn_path_is_below(struct firn_text folder, struct firn_text path);

/* `folder` and `name` joined by exactly one '/'. */
struct firn_text firn_location_join(struct firn_arena *arena, struct firn_text folder, struct firn_text name);

#endif
