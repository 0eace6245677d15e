/* A Parquet file's footer as plain values: schema, row groups, column chunks, statistics, page indexes.
 *
 * parquet-format, "Metadata" and parquet.thrift. What is parsed here is foreign: every number was checked for range
 * where it was read, but offsets are only checked against the file size by firn_footer_parse. */
#ifndef FIRN_FORMAT_PARQUET_METADATA_H
#define FIRN_FORMAT_PARQUET_METADATA_H

#include "base/sink.h"
#include "firn/op.h"
#include "format/codec/codec.h"

/* Values of parquet.thrift's Type. */
enum firn_parquet_type {
    FIRN_PARQUET_BOOLEAN = 0,
    FIRN_PARQUET_INT32 = 1,
    FIRN_PARQUET_INT64 = 2,
    FIRN_PARQUET_INT96 = 3,
    FIRN_PARQUET_FLOAT = 4,
    FIRN_PARQUET_DOUBLE = 5,
    FIRN_PARQUET_BYTE_ARRAY = 6,
    FIRN_PARQUET_FIXED = 7, /* FIXED_LEN_BYTE_ARRAY */
    FIRN_PARQUET_TYPE_COUNT
};

enum firn_repetition { FIRN_REQUIRED = 0, FIRN_OPTIONAL = 1, FIRN_REPEATED = 2 };

/* Values of parquet.thrift's Encoding. */
enum firn_encoding {
    FIRN_ENCODING_PLAIN = 0,
    FIRN_ENCODING_PLAIN_DICTIONARY = 2,
    FIRN_ENCODING_RLE = 3,
    FIRN_ENCODING_BIT_PACKED = 4,
    FIRN_ENCODING_DELTA_BINARY_PACKED = 5,
    FIRN_ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6,
    FIRN_ENCODING_DELTA_BYTE_ARRAY = 7,
    FIRN_ENCODING_RLE_DICTIONARY = 8,
    FIRN_ENCODING_BYTE_STREAM_SPLIT = 9,
    FIRN_ENCODING_COUNT
};
/* Indices into the chunk's dictionary, by its present name and the one of old. */
static inline bool firn_encoding_is_dictionary(enum firn_encoding encoding)
{
    return encoding == FIRN_ENCODING_RLE_DICTIONARY || encoding == FIRN_ENCODING_PLAIN_DICTIONARY;
}

/* Logical types; a converted type without a logical one is translated on read. */
enum firn_logical {
    FIRN_LOGICAL_NONE,
    FIRN_LOGICAL_STRING,
    FIRN_LOGICAL_MAP,
    FIRN_LOGICAL_MAP_KEY_VALUE, /* converted type only */
    FIRN_LOGICAL_LIST,
    FIRN_LOGICAL_ENUM,
    FIRN_LOGICAL_DECIMAL,
    FIRN_LOGICAL_DATE,
    FIRN_LOGICAL_TIME,
    FIRN_LOGICAL_TIMESTAMP,
    FIRN_LOGICAL_INTEGER,
    FIRN_LOGICAL_UNKNOWN,
    FIRN_LOGICAL_JSON,
    FIRN_LOGICAL_BSON,
    FIRN_LOGICAL_UUID,
    FIRN_LOGICAL_FLOAT16,
    FIRN_LOGICAL_VARIANT,
    FIRN_LOGICAL_GEOMETRY,
    FIRN_LOGICAL_GEOGRAPHY,
    FIRN_LOGICAL_INTERVAL, /* converted type only */
    FIRN_LOGICAL_COUNT
};

enum firn_time_unit { FIRN_UNIT_MILLIS, FIRN_UNIT_MICROS, FIRN_UNIT_NANOS, FIRN_UNIT_COUNT };

struct firn_logical_type {
    enum firn_logical kind;
    int32_t precision, scale; /* DECIMAL */
    enum firn_time_unit unit; /* TIME, TIMESTAMP */
    bool adjusted_to_utc;     /* TIME, TIMESTAMP */
    int8_t bit_width;         /* INTEGER */
    bool is_signed;           /* INTEGER */
    struct firn_text crs;     /* GEOMETRY, GEOGRAPHY; may be empty */
    int32_t edge_algorithm;   /* GEOGRAPHY; -1 when absent */
    int8_t variant_version;   /* VARIANT; 0 when absent */
};

/* One element of the schema tree. */
struct firn_parquet_node {
    struct firn_text name;
    struct firn_text path;                  /* names from below the root joined with '.' */
    const struct firn_parquet_node *parent; /* NULL for the root */
    enum firn_repetition repetition;
    bool has_field_id;
    int32_t field_id;
    struct firn_logical_type logical;
    bool is_leaf;
    enum firn_parquet_type type; /* leaves */
    uint32_t type_length;        /* bytes; FIXED only, else 0 */
    uint32_t leaf_index;         /* leaves: position among all leaves in schema order */
    uint8_t def_max;             /* definition level at which this node is present */
    uint8_t rep_max;             /* repetition level of the innermost repeated node up to and including this one */
    uint32_t child_count;
    struct firn_parquet_node *children;
};

/* Values are the statistics' own bytes: PLAIN without a length prefix. data == NULL means absent. */
struct firn_parquet_statistics {
    struct firn_bytes min_value, max_value;   /* the fields min_value/max_value, ordered by column order */
    struct firn_bytes min_legacy, max_legacy; /* the deprecated min/max: signed bytewise order, rarely to be trusted */
    bool has_null_count, has_distinct_count;
    int64_t null_count, distinct_count;
    bool has_nan_count; /* FLOAT, DOUBLE and FLOAT16 only */
    int64_t nan_count;
    bool has_min_exact, has_max_exact;
    bool min_exact, max_exact;
};

struct firn_encoding_stats {
    int32_t page_type; /* 0 data, 1 index, 2 dictionary, 3 data v2 */
    enum firn_encoding encoding;
    int32_t count;
};

struct firn_size_statistics {
    bool has_unencoded_bytes;
    int64_t unencoded_bytes;                /* BYTE_ARRAY: sum of value lengths */
    int64_t *rep_histogram, *def_histogram; /* NULL when absent; rep_max + 1 and def_max + 1 entries */
    uint32_t rep_histogram_count, def_histogram_count;
};

/* A column chunk's metadata. Offsets are from the start of the file; 0 means absent for all but the data page. */
struct firn_column_chunk {
    enum firn_parquet_type type;
    enum firn_codec codec;
    struct firn_text path;                        /* path_in_schema joined with '.' */
    int64_t value_count;                          /* nulls included */
    int64_t uncompressed_bytes, compressed_bytes; /* page headers included */
    int64_t data_page_offset;
    int64_t dictionary_page_offset; /* 0 or negative: none */
    int64_t index_page_offset;
    enum firn_encoding *encodings;
    uint32_t encoding_count;
    struct firn_encoding_stats *encoding_stats;
    uint32_t encoding_stats_count;
    struct firn_parquet_statistics statistics;
    struct firn_size_statistics sizes;
    int64_t bloom_filter_offset;
    int32_t bloom_filter_bytes; /* 0: not recorded */
    int64_t offset_index_offset, column_index_offset;
    int32_t offset_index_bytes, column_index_bytes;
    struct firn_text file_path; /* not empty: the chunk lies in another file, which firn refuses */
    bool is_encrypted;
};

struct firn_row_group {
    int64_t row_count;
    int64_t total_bytes;      /* uncompressed */
    int64_t compressed_bytes; /* 0: not recorded */
    int64_t file_offset;      /* 0: not recorded */
    uint32_t chunk_count;     /* equals the schema's leaf count */
    struct firn_column_chunk *chunks;
};

struct firn_key_value {
    struct firn_text key;
    struct firn_text value;
};

struct firn_footer {
    int32_t version;
    struct firn_parquet_node root;
    uint32_t leaf_count;
    const struct firn_parquet_node **leaves; /* in schema order */
    int64_t row_count;
    uint32_t row_group_count;
    struct firn_row_group *row_groups;
    uint32_t key_value_count;
    struct firn_key_value *key_values;
    struct firn_text created_by;
    bool has_column_orders;
    int64_t footer_bytes; /* length of the Thrift structure */
};

#define FIRN_PARQUET_TAIL_BYTES 8

/* Reads a file's last 8 bytes: the footer's length and the magic. UNSUPPORTED for an encrypted footer ("PARE").
 * `file_bytes` is the size of the whole file; a footer that would not fit is CORRUPT. */
FIRN_CHECKED firn_status firn_footer_tail_parse(struct firn_op *op, struct firn_bytes tail, uint64_t file_bytes,
                                                uint32_t *footer_bytes);
/* Parses the Thrift structure. The result lives in op->arena and does not borrow from `bytes`. Checks the tree, levels,
 * chunk counts, and that every chunk lies inside the file. Columns encrypted with their own key are marked, not
 * refused. */
FIRN_CHECKED firn_status firn_footer_parse(struct firn_op *op, struct firn_bytes bytes, uint64_t file_bytes,
                                           struct firn_footer **out);
/* The byte range [offset, offset + len) that holds all pages of a chunk: from the dictionary page, if there is one and
 * it comes first, for compressed_bytes. Dictionary offsets of 0 and those that lie after the data mean "none". */
void firn_column_chunk_range(const struct firn_column_chunk *chunk, uint64_t *offset, uint64_t *len);
/* Writes the footer structure, its length and the magic to `sink`. */
FIRN_CHECKED firn_status firn_footer_write(struct firn_op *op, const struct firn_footer *footer,
                                           struct firn_sink *sink);

/* parquet-format, "Page Index". */
struct firn_page_location {
    int64_t offset;
    int32_t compressed_bytes; /* page header included */
    int64_t first_row_index;
};
struct firn_offset_index {
    struct firn_page_location *pages;
    uint32_t page_count;
    int64_t *unencoded_bytes; /* NULL when absent */
};
enum firn_boundary_order { FIRN_UNORDERED = 0, FIRN_ASCENDING = 1, FIRN_DESCENDING = 2 };
struct firn_column_index {
    uint32_t page_count;
    bool *null_pages;
    struct firn_bytes *min_values, *max_values;
    enum firn_boundary_order boundary_order;
    int64_t *null_counts, *nan_counts;         /* NULL when absent */
    int64_t *rep_histograms, *def_histograms;  /* NULL when absent; page after page */
    uint32_t rep_level_count, def_level_count; /* entries a page has in them */
};
FIRN_CHECKED firn_status firn_offset_index_parse(struct firn_op *op, struct firn_bytes bytes,
                                                 struct firn_offset_index *out);
FIRN_CHECKED firn_status firn_column_index_parse(struct firn_op *op, struct firn_bytes bytes,
                                                 struct firn_column_index *out);
FIRN_CHECKED firn_status firn_offset_index_print(struct firn_op *op, const struct firn_offset_index *index,
                                                 struct firn_buffer *out);
FIRN_CHECKED firn_status firn_column_index_print(struct firn_op *op, const struct firn_column_index *index,
                                                 struct firn_buffer *out);

/* Completes a schema tree whose names, children, repetitions, types and annotations are set: parents, paths, levels
 * and leaf order; fills footer->leaves and leaf_count in the arena. CORRUPT past 128 levels of nesting or 1,000,000
 * nodes, for a leaf without type, a group without children, or a FIXED without a length. */
FIRN_CHECKED firn_status firn_parquet_schema_finish(struct firn_op *op, struct firn_footer *footer);

const char *firn_parquet_type_name(enum firn_parquet_type type);
const char *firn_encoding_name(enum firn_encoding encoding);
const char *firn_logical_name(enum firn_logical kind);

#endif
