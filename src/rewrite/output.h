/* The files of one partition being written: a row group in progress in memory, a file in progress in the store. */
#ifndef FIRN_REWRITE_OUTPUT_H
#define FIRN_REWRITE_OUTPUT_H

#include "format/parquet/page_facts.h"
#include "rewrite/group_run.h"

/* Files a bin has finished so far; what a failure must remove. */
struct firn_output_files {
    FIRN_ARRAY(struct firn_data_file) done;
    FIRN_ARRAY(uint32_t) numbers; /* of the files done, in the row map */
    uint32_t sequence;            /* running number in file names */
    int64_t rows;
    uint64_t bytes;
    uint64_t requests;                       /* reads of input */
    uint32_t sort_ways[FIRN_SORT_WAY_COUNT]; /* as in struct firn_rewrite_result */
    struct firn_hash128 *sums_in, *sums_out; /* verify full: one a leaf */
    struct firn_rung_counts rungs;           /* of the pages read */
};

/* Removes the files done and begins anew. */
void firn_output_files_discard(struct firn_op *op, const struct firn_group_run *run, struct firn_output_files *files);

/* A row group whose columns are encoded, before it is written. */
struct firn_sealed_row_group {
    struct firn_encoded_chunk *chunks; /* one a leaf, in the arena; NULL: there is none */
    struct firn_arena arena;
    int64_t row_count;
    uint64_t memory;
};

struct firn_output {
    struct firn_group_run *run;
    struct firn_output_files *files;
    const struct firn_partition *partition;
    uint32_t bin; /* in file names */

    /* The row group in progress. */
    struct firn_chunk_writer **writers; /* one a leaf; NULL between row groups */
    int64_t row_group_rows;
    struct firn_sealed_row_group sealed; /* the one before it */

    /* The file in progress. */
    struct firn_arena file_arena;
    struct firn_text location;
    struct firn_store_writer *store_writer;
    struct firn_parquet_writer *writer; /* NULL: none is open */
    struct firn_column_totals *totals;  /* one a leaf */
    int64_t file_rows;                  /* and bytes of its row groups, what is sealed included */
    uint64_t file_bytes;
    uint32_t number; /* in the row map, once rows are given to the file */
};

void firn_output_init(struct firn_op *op, struct firn_output *output, struct firn_group_run *run,
                      struct firn_output_files *files, const struct firn_partition *partition, uint32_t bin);
/* Opens the chunk writers of a new row group unless there is one. */
FIRN_CHECKED firn_status firn_output_begin(struct firn_op *op, struct firn_output *output);
/* Appends to one leaf of the row group in progress. Leaves may be worked at once by several threads. */
FIRN_CHECKED firn_status firn_output_append(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                                            const struct firn_vector *vector);
/* Before anything is appended: the dictionary of pages that are to be spliced after it, as firn_chunk_writer_adopt. */
FIRN_CHECKED firn_status firn_output_adopt(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                                           const struct firn_dictionary *dictionary);
/* Appends a page of an input to one leaf as it lies; firn_chunk_writer_splice says when it is not taken. */
FIRN_CHECKED firn_status firn_output_splice(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                                            const struct firn_page *page, const struct firn_page_facts *facts,
                                            const struct firn_dictionary *dictionary, bool *taken);
/* The same of its values alone, as firn_chunk_writer_repack. */
FIRN_CHECKED firn_status firn_output_repack(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                                            const struct firn_packed_page *page, const struct firn_page_facts *facts,
                                            const struct firn_dictionary *dictionary, bool *taken);
/* Whether the row group in progress has nothing of the leaf yet. */
bool firn_output_is_empty(const struct firn_output *output, uint32_t leaf_index);
/* Whether its pages are of indices, and those to come may be. */
bool firn_output_has_dictionary(const struct firn_output *output, uint32_t leaf_index);
/* The number in the row map of the file that the next row goes to. */
uint32_t firn_output_number(struct firn_output *output);
/* What ending the row group now would add to the file. */
uint64_t firn_output_row_group_bytes(const struct firn_output *output);
/* What the row group's buffers take now. */
uint64_t firn_output_memory(const struct firn_output *output);
/* Whether what the file in progress must keep in memory of its row groups passes its share: it should end. */
bool firn_output_is_crowded(const struct firn_output *output);
/* Encoded bytes that the file in progress has already, or will have once what is sealed is written: without the row
 * group in progress. */
uint64_t firn_output_file_bytes(const struct firn_output *output);
/* Ends the row group, which is to be written. Does nothing when it has no rows. */
FIRN_CHECKED firn_status firn_output_seal(struct firn_op *op, struct firn_output *output);
static inline bool firn_output_is_sealed(const struct firn_output *output)
{
    return output->sealed.chunks;
}
/* Writes the row group that was sealed; opens the file if it is the first. The row group in progress may be worked on
 * meanwhile. */
FIRN_CHECKED firn_status firn_output_write(struct firn_op *op, struct firn_output *output);
/* Once that is done: what was sealed goes. */
void firn_output_unseal(struct firn_output *output);
/* Ends the row group and writes it, and what was sealed before. */
FIRN_CHECKED firn_status firn_output_flush(struct firn_op *op, struct firn_output *output);
/* Ends the row group and the file, proves it, and adds it to the files done. */
FIRN_CHECKED firn_status firn_output_finish(struct firn_op *op, struct firn_output *output);
/* Discards what is in progress. */
void firn_output_close(struct firn_output *output);

#endif
