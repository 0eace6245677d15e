/* Encoding: vectors into pages, pages into column chunks, chunks into row groups and a file.
 *
 * Page first: a chunk is a run of finished pages plus what was learned about them, so a chunk can as well be made of
 * pages copied from elsewhere. Columns are independent: many chunk writers may work at once, each on its own thread;
 * the file writer then takes finished chunks in schema order. */
#ifndef FIRN_FORMAT_PARQUET_WRITER_H
#define FIRN_FORMAT_PARQUET_WRITER_H

#include "base/hash.h"
#include "format/parquet/page.h"
#include "format/parquet/vector.h"

struct firn_chunk_options {
    enum firn_codec codec;
    int32_t codec_level;          /* FIRN_CODEC_LEVEL_DEFAULT */
    int32_t page_bytes_max;       /* write.parquet.page-size-bytes: uncompressed, checked per batch */
    int32_t page_rows_max;        /* write.parquet.page-row-limit */
    int32_t dictionary_bytes_max; /* write.parquet.dict-size-bytes: plain size of the dictionary before fall-back */
    int32_t splice_floor_bytes;   /* uncompressed; a page made here below it grows instead of giving way to a spliced
                                     one, and takes up a small rest past its limits; 0: none */
    bool dictionary;              /* try one */
    bool delta;                   /* INT32, INT64 without a dictionary: differences where they are smaller, which suits
                                     numbers that grow steadily */
    bool splice_unchecked;        /* a spliced page without a CRC gets none */
    bool page_v2;                 /* write.parquet.page-version v2 */
    bool statistics;              /* chunk statistics and page indexes */
    uint32_t bloom_bytes_max;     /* of a bloom filter's blocks, a power of two; 0: none is wanted. BOOLEAN has none */
    double bloom_fpp;             /* share of wrong answers it may give */
    struct firn_codec_context *codec_context; /* borrowed until close; NULL: the writer opens one of its own */
};
/* Iceberg's defaults: zstd, 1 MiB, 20000 rows, 2 MiB, dictionary, v1, statistics. */
struct firn_chunk_options firn_chunk_options_default(void);

/* What a chunk's values were; bounds are whole, not truncated. Bytes live in the encoded chunk. */
struct firn_chunk_metrics {
    int64_t value_count;        /* slots, nulls included */
    int64_t null_count;         /* slots with def < def_max */
    int64_t nan_count;          /* FLOAT, DOUBLE and FLOAT16; else 0 */
    bool has_bounds;            /* false when there is no value but nulls and NaN, for INT96 and unordered types, and
                                   when statistics are off */
    bool min_exact, max_exact;  /* false where spliced pages told bounds that only enclose their values */
    struct firn_bytes min, max; /* PLAIN without length prefix; in the type's logical order (unsigned bytes for strings
                                   and binary, signed big-endian for decimals, -0.0 before +0.0 for floats) */
};

/* Bytes of a chunk that were not copied into it: of spliced pages that last. */
struct firn_lent_bytes {
    size_t at; /* behind so many of the chunk's own bytes */
    uint64_t len;
    const uint8_t *data;        /* NULL: they lie in */
    struct firn_source *source; /* here, */
    uint64_t offset;            /* from here on */
};

struct firn_encoded_chunk {
    struct firn_buffer bytes;           /* pages, dictionary page first, without what is lent */
    const struct firn_lent_bytes *lent; /* by place */
    size_t lent_count;
    struct firn_column_chunk metadata;     /* offsets relative to the first byte; the file writer moves them */
    struct firn_column_index column_index; /* page_count 0: none (statistics off, or unordered type) */
    struct firn_offset_index offset_index; /* offsets relative to the first byte */
    struct firn_buffer bloom_filter;       /* header and blocks; empty: none */
    struct firn_chunk_metrics metrics;
    struct firn_arena arena; /* owns everything the structs above point to */
    int64_t row_count;
};
void firn_encoded_chunk_done(struct firn_encoded_chunk *chunk);

struct firn_chunk_writer;
/* `leaf` is of the output schema; borrowed. */
FIRN_CHECKED firn_status firn_chunk_writer_open(struct firn_op *op, const struct firn_parquet_node *leaf,
                                                const struct firn_chunk_options *options,
                                                struct firn_chunk_writer **out);
/* Takes a vector of the leaf's type (levels of the leaf's maxima); values may be materialised or dictionary indices.
 * Copies what it needs. Pages break only where a row begins. */
FIRN_CHECKED firn_status firn_chunk_writer_append(struct firn_op *op, struct firn_chunk_writer *writer,
                                                  const struct firn_vector *vector);
struct firn_page_facts;
/* Appends a finished page as it is, between the pages made here. The caller has made sure that codec, physical type and
 * level maxima are the writer's, and what `facts` say; `dictionary` is that of the page's chunk, NULL when it has none.
 * The body of a page that lasts is not copied.
 *
 * `*taken` is false, and nothing changed, where the writer would rather have the values:
 * - a dictionary page whose dictionary cannot be the beginning of ours, or ours the beginning of it, value by value;
 * - a page that may begin or end within a row;
 * - a page made here that is still below the floor comes before it;
 * - a bloom filter is wanted, and the page has values that are in no dictionary;
 * - levels in BIT_PACKED, bounds or counts that are missing or contradict each other, more than FIRN_PAGE_BYTES_MAX. */
FIRN_CHECKED firn_status firn_chunk_writer_splice(struct firn_op *op, struct firn_chunk_writer *writer,
                                                  const struct firn_page *page, const struct firn_page_facts *facts,
                                                  const struct firn_dictionary *dictionary, bool *taken);
/* The same for a page that cannot be copied only because it is compressed otherwise, or has other levels for the same
 * slots: the levels are encoded, the values stay as they are, and both are compressed. `facts` are of these levels. Not
 * taken for the same reasons. */
FIRN_CHECKED firn_status firn_chunk_writer_repack(struct firn_op *op, struct firn_chunk_writer *writer,
                                                  const struct firn_packed_page *page,
                                                  const struct firn_page_facts *facts,
                                                  const struct firn_dictionary *dictionary, bool *taken);
/* Makes a foreign dictionary the beginning of the writer's own, which has none yet, so that pages which use it can be
 * spliced although values are appended before them. Does nothing when it is too late or not to be. */
FIRN_CHECKED firn_status firn_chunk_writer_adopt(struct firn_op *op, struct firn_chunk_writer *writer,
                                                 const struct firn_dictionary *dictionary);
/* Whether the pages so far are of indices, and those to come may be. */
bool firn_chunk_writer_has_dictionary(const struct firn_chunk_writer *writer);
/* Size of the dictionary so far in PLAIN, whether pages use it or not. */
uint64_t firn_chunk_writer_dictionary_bytes(const struct firn_chunk_writer *writer);
/* Bytes that finishing now would give, roughly: encoded pages plus what is buffered. */
uint64_t firn_chunk_writer_bytes(const struct firn_chunk_writer *writer);
/* Memory that the writer's buffers take: what is counted above, room to grow, and the dictionary's index. */
uint64_t firn_chunk_writer_memory(const struct firn_chunk_writer *writer);
/* Ends the chunk. `out` belongs to the caller (firn_encoded_chunk_done). The writer must still be closed. */
FIRN_CHECKED firn_status firn_chunk_writer_finish(struct firn_op *op, struct firn_chunk_writer *writer,
                                                  struct firn_encoded_chunk *out);
void firn_chunk_writer_close(struct firn_chunk_writer *writer);

struct firn_parquet_writer;
/* Begins a file: writes the magic. `schema` is a finished footer whose root, leaves and key_values are used (copied by
 * reference: keep them until finish). `created_by` as "firn version 0.1.0". */
FIRN_CHECKED firn_status firn_parquet_writer_open(struct firn_op *op, const struct firn_footer *schema,
                                                  struct firn_sink *sink, struct firn_parquet_writer **out);
/* Appends a row group of chunks in leaf order, all with `row_count` rows. Frees each chunk's page bytes and what it
 * points to once that is written; its page indexes are kept, printed, until finish. */
FIRN_CHECKED firn_status firn_parquet_writer_add(struct firn_op *op, struct firn_parquet_writer *writer,
                                                 struct firn_encoded_chunk *chunks, int64_t row_count);
/* What is kept in memory of the row groups so far. */
uint64_t firn_parquet_writer_memory(const struct firn_parquet_writer *writer);
/* Writes page indexes and the footer. The footer written is given back in op->arena. */
FIRN_CHECKED firn_status firn_parquet_writer_finish(struct firn_op *op, struct firn_parquet_writer *writer,
                                                    struct firn_footer **out);
void firn_parquet_writer_close(struct firn_parquet_writer *writer);

#endif
