/* Temporary data beyond memory: streams of records, and records read in any order, in one local file without a name.
 *
 * The file is unlinked before anything is written, so it goes with the process, however that ends. Streams are written
 * in blocks that never split a record, and read back once, in order; the room of a block is given back when it is read.
 * Streams of one spill may be used by several threads, each stream by one at a time. What is buffered is charged to the
 * operation's budget. */
#ifndef FIRN_STORE_SPILL_H
#define FIRN_STORE_SPILL_H

#include "base/buffer.h"

/* Where temporary data goes when nobody says: not /tmp, which often is memory. */
#define FIRN_SPILL_FOLDER "/var/tmp"

struct firn_spill_config {
    struct firn_text folder; /* an existing one; empty: the operation's, else FIRN_SPILL_FOLDER */
    uint64_t expected_bytes; /* the caller's guess, 0: none */
};

struct firn_spill;
/* LIMIT when the file system of the folder has less room than expected. Closed by the caller, after its streams. */
FIRN_CHECKED firn_status firn_spill_open(struct firn_op *op, const struct firn_spill_config *config,
                                         struct firn_spill **out);
/* NULL is fine. */
void firn_spill_close(struct firn_spill *spill);
/* All bytes ever written. */
uint64_t firn_spill_bytes(const struct firn_spill *spill);

/* Beside streams: bytes that are read back in any order, any number of times. `*offset` is where they were put; any
 * part of them can be read. Fails: as firn_spill_append. */
FIRN_CHECKED firn_status firn_spill_put(struct firn_op *op, struct firn_spill *spill, struct firn_bytes bytes,
                                        uint64_t *offset);
/* Replaces `out` by `len` bytes from `offset`. */
FIRN_CHECKED firn_status firn_spill_get(struct firn_op *op, const struct firn_spill *spill, uint64_t offset, size_t len,
                                        struct firn_buffer *out);
/* Gives back the room of bytes that will not be read again. */
void firn_spill_drop(struct firn_spill *spill, uint64_t offset, uint64_t len);

/* All zeros is a stream that was never begun, which firn_spill_stream_done takes. */
struct firn_spill_stream {
    struct firn_spill *spill;
    size_t block_bytes;
    struct firn_buffer block;  /* records not written yet */
    struct firn_buffer places; /* where the blocks lie */
    size_t next;               /* the place to read next */
    uint64_t record_count, bytes;
};
/* A stream whose blocks have about `block_bytes`. */
void firn_spill_stream_init(struct firn_spill_stream *stream, struct firn_spill *spill, size_t block_bytes);
/* Room for a record of `len` bytes, to be filled before the next call. Fails: LIMIT when the disk is full, saying how
 * much there is and how much was expected. */
FIRN_CHECKED firn_status firn_spill_append(struct firn_op *op, struct firn_spill_stream *stream, size_t len,
                                           uint8_t **out);
/* Writes what is still buffered and frees the buffer; due between the last append and the first read. */
FIRN_CHECKED firn_status firn_spill_finish(struct firn_op *op, struct firn_spill_stream *stream);
/* Replaces `out` by the next block: whole records, end to end, as they were appended. `*got` is false at the end. */
FIRN_CHECKED firn_status firn_spill_next(struct firn_op *op, struct firn_spill_stream *stream, struct firn_buffer *out,
                                         bool *got);
/* Frees the stream and gives back the room of what was not read. */
void firn_spill_stream_done(struct firn_spill_stream *stream);

#endif
