/* The inside of a chunk writer: chunk_writer.c fills pages, chunk_splice.c takes finished ones over, chunk_finish.c
 * describes what was written. */
#ifndef FIRN_FORMAT_PARQUET_CHUNK_WRITER_H
#define FIRN_FORMAT_PARQUET_CHUNK_WRITER_H

#include "format/parquet/bloom_filter.h"
#include "format/parquet/dictionary_write.h"
#include "format/parquet/page_facts.h"
#include "format/parquet/page_write.h"
#include "format/parquet/writer.h"

/* A written data page, as the page indexes tell of it. */
struct firn_page_record {
    int64_t offset; /* from the first data page */
    struct firn_page_sizes sizes;
    enum firn_page_type type; /* DATA or DATA_V2 */
    enum firn_encoding encoding;
    uint32_t slot_count, value_count, row_count;
    int64_t nan_count;
    int64_t unencoded_bytes; /* BYTE_ARRAY; -1: not known */
    bool has_bounds;
    struct firn_bytes min, max;                   /* as the column index holds them */
    const int64_t *rep_histogram, *def_histogram; /* of levels that have one; NULL: not known */
};

/* The page being filled. Values are held as indices while the dictionary is in use, else in PLAIN. */
struct firn_page_buffer {
    struct firn_buffer rep, def; /* a byte a slot; unused when the maximum is 0 */
    struct firn_buffer indices;  /* uint32_t a value */
    struct firn_buffer plain;    /* BOOLEAN: a byte a value */
    uint32_t slot_count, value_count, row_count;
    uint64_t plain_bytes; /* of the values, in whatever form they are held */
    struct firn_bounds bounds;
};

enum firn_dictionary_state {
    FIRN_DICTIONARY_TRIED, /* no page with values is written yet: the first one decides */
    FIRN_DICTIONARY_KEPT,
    FIRN_DICTIONARY_LEFT /* never used, outgrown or not worth it: pages to come are PLAIN */
};

/* The indices of a foreign dictionary's values in ours; UINT32_MAX: not looked up yet. */
struct firn_dictionary_map {
    const struct firn_dictionary *of;
    uint64_t id;
    struct firn_buffer indices;
    struct firn_buffer fresh; /* scratch: those that a piece is the first to use */
};

/* What the last foreign dictionary met is to ours. */
struct firn_dictionary_match {
    const struct firn_dictionary *of;
    uint64_t id;
    bool same; /* its values are ours at the same indices */
};

struct firn_chunk_writer {
    struct firn_arena arena; /* holds the writer itself */
    const struct firn_parquet_node *leaf;
    struct firn_chunk_options options;
    enum firn_order order;                  /* NONE also when neither bounds nor NaN counts are wanted */
    struct firn_codec_context *own_context; /* NULL: the options brought one */
    struct firn_page_writer pages;
    struct firn_page_buffer page;
    enum firn_dictionary_state dictionary_state;
    struct firn_dictionary_writer dictionary;
    struct firn_dictionary_mark dictionary_used; /* as far as written pages use it */
    struct firn_dictionary_map map;
    struct firn_dictionary_match match;
    struct firn_buffer gathered, encoded; /* scratch */
    struct firn_index_scratch indices;
    struct firn_buffer bytes;                /* data pages written, */
    FIRN_ARRAY(struct firn_lent_bytes) lent; /* and what was lent of them, */
    uint64_t lent_bytes;                     /* in all */
    struct firn_bounds bounds;
    struct firn_bloom_builder bloom; /* of the values in PLAIN so far; those of the dictionary come in the end */
    struct firn_arena results;       /* what the records point to; goes with the finished chunk */
    FIRN_ARRAY(struct firn_page_record) records;
};

/* Writes the page being filled and begins the next. */
FIRN_CHECKED firn_status firn_chunk_end_page(struct firn_op *op, struct firn_chunk_writer *writer);
/* Whether the page being filled is below the floor: it should grow before it is written. */
bool firn_chunk_page_small(const struct firn_chunk_writer *writer);
/* Where a page lies and how it is made. */
struct firn_page_form {
    int64_t offset;
    enum firn_page_type type;
    enum firn_encoding encoding;
    struct firn_page_sizes sizes;
};
/* Where the next page begins, from the first data page. */
static inline int64_t firn_chunk_pages_end(const struct firn_chunk_writer *writer)
{
    return (int64_t)(writer->bytes.len + writer->lent_bytes);
}
/* Notes a page that was written. */
FIRN_CHECKED firn_status firn_chunk_record_page(struct firn_op *op, struct firn_chunk_writer *writer,
                                                const struct firn_page_form *form, const struct firn_page_facts *facts);
/* The levels that have histograms, which nothing else tells: repetition of nested columns, definition past one level.
 * Counts a level, 0: no histogram. */
static inline uint32_t firn_rep_histogram_count(const struct firn_parquet_node *leaf)
{
    return leaf->rep_max > 0 ? leaf->rep_max + 1u : 0;
}
static inline uint32_t firn_def_histogram_count(const struct firn_parquet_node *leaf)
{
    return leaf->def_max > 1 ? leaf->def_max + 1u : 0;
}

/* Fills metadata, indexes and metrics of `out`, whose bytes hold the pages; the dictionary page's sizes are zeros when
 * there is none. Points into writer->results. */
void firn_chunk_describe(struct firn_chunk_writer *writer, struct firn_page_sizes dictionary,
                         struct firn_encoded_chunk *out);

#endif
