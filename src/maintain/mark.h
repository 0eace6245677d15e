/* Marks: the files that a later sweep deletes, and until then can be taken from the list. A mark says which file, as it
 * was, since when, and why; it is a line of a text file kept with the table's metadata, under a name that no reader
 * minds and that orphan removal, also other engines', leaves alone as hidden.
 *
 *   2026-11-30T04:55:00Z <tab> 1234 <tab> 2026-11-20T10:00:00.123Z <tab> reason <tab> location
 *
 * Tabs, line ends and backslashes in the last two are written as \t, \n, \r and \\. Lines that begin with '#' are for
 * people. The list is replaced as a whole, and by one command at a time: of two at once, one's marks may be lost, which
 * deletes nothing. */
#ifndef FIRN_MAINTAIN_MARK_H
#define FIRN_MAINTAIN_MARK_H

#include "base/pool.h"
#include "firn/remove_orphan_files.h"
#include "store/store.h"
#include "table/metadata.h"

struct firn_mark {
    struct firn_orphan_file file; /* as it was when it was marked */
    int64_t marked_ms;
    struct firn_text reason;
};

/* Where the marks of a table are kept. */
struct firn_text firn_marks_location(struct firn_arena *arena, const struct firn_metadata *metadata);

typedef firn_status firn_mark_visit(struct firn_op *op, void *context, const struct firn_mark *mark);
/* Calls `visit` for every mark; a list that does not exist has none. CORRUPT names the line. */
FIRN_CHECKED firn_status firn_marks_read(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                         firn_mark_visit *visit, void *context);

/* A new list being written, to replace the old one. Storage is the caller's; nothing is written before the first mark.
 */
struct firn_marks_writer {
    struct firn_store *store;
    struct firn_text location;
    struct firn_store_writer *file; /* NULL before the first mark, and once it is done with */
};
void firn_marks_writer_init(struct firn_marks_writer *out, struct firn_store *store, struct firn_text location);
FIRN_CHECKED firn_status firn_marks_writer_add(struct firn_op *op, struct firn_marks_writer *writer,
                                               const struct firn_mark *mark);
/* Puts the new list in place of the old one; a list without marks is no file. The writer is closed. */
FIRN_CHECKED firn_status firn_marks_writer_finish(struct firn_op *op, struct firn_marks_writer *writer);
/* Discards; fine after finish. */
void firn_marks_writer_close(struct firn_marks_writer *writer);

/* A file to be marked. */
struct firn_mark_wish {
    struct firn_text location;
    struct firn_text reason; /* why it may go, for people */
};
struct firn_mark_report {
    int64_t marked_count;         /* new ones */
    int64_t marked_already_count; /* marked before, with the date of then */
    int64_t missing_count;        /* not there, so not marked */
};
/* Marks files that are held in memory: looks at each for its size and time, in parallel. A file that has a mark already
 * and did not change since keeps it. */
FIRN_CHECKED firn_status firn_marks_add(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                        const struct firn_mark_wish *wishes, size_t count,
                                        struct firn_mark_report *out);

#endif
