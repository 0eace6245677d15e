/* What the chunks of a row group take in memory while they are read, and their values. */
#ifndef FIRN_REWRITE_CHUNK_MEMORY_H
#define FIRN_REWRITE_CHUNK_MEMORY_H

#include "format/parquet/metadata.h"

/* Pieces that are held of a chunk that is read in pieces. */
#define FIRN_CHUNK_PIECES 2

struct firn_chunk_memory {
    uint64_t held_bytes;       /* of all columns: chunks of a large file, a page and its values each, page indexes */
    uint64_t column_bytes_max; /* the most that one of them takes of that */
    size_t piece_bytes;        /* chunks of more than FIRN_CHUNK_PIECES of these are read so; 0: all are read whole */
    uint64_t decoded_bytes;    /* of all values, about */
};

struct firn_chunk_memory_terms {
    const struct firn_footer *footer;
    const struct firn_row_group *row_group; /* of it */
    struct firn_bytes file;                 /* held as a whole; no bytes: its chunks are read when they are needed */
    uint64_t index_bytes;                   /* of what is held beside chunks */
    uint64_t bytes_max;                     /* what may be held; chunks are read whole if that leaves all their place */
};
/* Looks at the file's dictionary pages if they are there: what is wrong with them is for their readers to say. */
struct firn_chunk_memory firn_chunk_memory_find(struct firn_op *op, const struct firn_chunk_memory_terms *terms);

/* The least that will do for the columns of a row group of which only sizes are known, read in pieces if it is large.
 */
struct firn_row_group_size {
    uint64_t bytes; /* in the file */
    double row_bytes;
    uint32_t leaf_count;
    bool is_whole; /* its file is held as a whole */
};
uint64_t firn_chunk_memory_least(const struct firn_row_group_size *size);

#endif
