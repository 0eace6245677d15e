/* Manifests and manifest lists of format versions 1 to 3: reading with inheritance, writing.
 * Iceberg spec, "Manifests", "Manifest Lists", "Sequence Number Inheritance", "First Row ID Inheritance". */
#ifndef FIRN_TABLE_MANIFEST_H
#define FIRN_TABLE_MANIFEST_H

#include "base/sink.h"
#include "format/codec/codec.h"
#include "table/metadata.h"

enum firn_content { FIRN_CONTENT_DATA = 0, FIRN_CONTENT_POSITION_DELETES = 1, FIRN_CONTENT_EQUALITY_DELETES = 2 };
enum firn_entry_status { FIRN_ENTRY_EXISTING = 0, FIRN_ENTRY_ADDED = 1, FIRN_ENTRY_DELETED = 2 };
enum firn_file_format { FIRN_FILE_PARQUET, FIRN_FILE_AVRO, FIRN_FILE_ORC, FIRN_FILE_PUFFIN, FIRN_FILE_OTHER };

/* A manifest of 100,000 files with wide metrics stays well below this. */
#define FIRN_MANIFEST_BYTES_MAX (UINT64_C(1) << 31)

/* A number that may be absent. */
#define FIRN_ABSENT INT64_MIN

struct firn_count_map {
    int32_t *ids;
    int64_t *counts;
    uint32_t count;
    bool present;
};
struct firn_bound_map {
    int32_t *ids;
    struct firn_bytes *values;
    uint32_t count;
    bool present;
};

/* data_file of a manifest entry, data and delete files alike. */
struct firn_data_file {
    enum firn_content content;
    struct firn_text path;
    enum firn_file_format format;
    struct firn_text format_text; /* as recorded: "PARQUET" */
    int32_t spec_id;              /* of the manifest it stands in */
    struct firn_partition partition;
    int64_t record_count;
    int64_t file_bytes;
    struct firn_count_map column_sizes, value_counts, null_value_counts, nan_value_counts;
    struct firn_bound_map lower_bounds, upper_bounds;
    struct firn_bytes key_metadata; /* data NULL: absent */
    int64_t *split_offsets;         /* NULL: absent; as recorded (see firn_split_offsets_usable) */
    uint32_t split_offset_count;
    int32_t *equality_ids;
    uint32_t equality_id_count;
    int64_t sort_order_id;                 /* FIRN_ABSENT */
    int64_t first_row_id;                  /* FIRN_ABSENT; after inheritance */
    struct firn_text referenced_data_file; /* data NULL: absent */
    int64_t content_offset;                /* FIRN_ABSENT */
    int64_t content_bytes;                 /* FIRN_ABSENT: content_size_in_bytes */
};

struct firn_manifest_entry {
    enum firn_entry_status status;
    int64_t snapshot_id;          /* after inheritance */
    int64_t sequence_number;      /* data sequence number, after inheritance; FIRN_ABSENT only when writing: inherit */
    int64_t file_sequence_number; /* likewise */
    struct firn_data_file file;
};

struct firn_field_summary {
    bool contains_null;
    bool has_contains_nan, contains_nan;
    struct firn_bytes lower_bound, upper_bound; /* data NULL: absent */
};

/* A row of a manifest list. */
struct firn_manifest_file {
    struct firn_text path;
    int64_t length;
    int32_t spec_id;
    bool is_deletes;                              /* content 1 */
    int64_t sequence_number, min_sequence_number; /* 0 in v1 */
    int64_t added_snapshot_id;
    int64_t added_files_count, existing_files_count, deleted_files_count; /* FIRN_ABSENT: unknown (v1) */
    int64_t added_rows_count, existing_rows_count, deleted_rows_count;
    bool has_summaries;
    struct firn_field_summary *summaries; /* one a field of its spec */
    uint32_t summary_count;
    struct firn_bytes key_metadata;
    int64_t first_row_id;  /* FIRN_ABSENT */
    struct firn_text list; /* the manifest list the row was read from, for messages; empty: none */
};

/* Whether a manifest may have live entries: unknown counts do not rule it out. */
static inline bool firn_manifest_has_live(const struct firn_manifest_file *row)
{
    return row->added_files_count != 0 || row->existing_files_count != 0;
}

struct firn_manifest_list {
    struct firn_manifest_file *manifests;
    uint32_t count;
};

/* Parses an Avro manifest list; everything lives in op->arena. */
FIRN_CHECKED firn_status firn_manifest_list_parse(struct firn_op *op, struct firn_bytes bytes,
                                                  struct firn_manifest_list *out);

struct firn_manifest {
    int32_t spec_id; /* of the list's row; the header's when there is none */
    struct firn_manifest_entry *entries;
    uint32_t count;
};

/* What to read of a manifest. Everything is read when all is false. */
struct firn_manifest_read_options {
    bool skip_metrics; /* leave out column sizes, counts and bounds */
    bool skip_deleted; /* leave out entries with status DELETED (row ids are still inherited rightly) */
};

/* Parses an Avro manifest and applies inheritance from its row in the list. Tuples are typed by the spec of `row` with
 * all schemas of `metadata`; values of a narrower type than today's are widened. Lives in op->arena. CORRUPT names the
 * manifest's problem (caller adds the path). A null sequence number on an EXISTING or DELETED entry of a v2+ manifest
 * is CORRUPT. For v1 manifests all sequence numbers are 0. */
FIRN_CHECKED firn_status firn_manifest_parse(struct firn_op *op, struct firn_bytes bytes,
                                             const struct firn_manifest_file *row, const struct firn_metadata *metadata,
                                             struct firn_manifest_read_options options, struct firn_manifest *out);

/* Writes one manifest. Entries are given one by one, and are not kept. The writer lives in the op->arena it was opened
 * with; close gives back the rest. */
struct firn_manifest_writer;
struct firn_manifest_writer_config {
    const struct firn_metadata *metadata; /* format version, schemas, current schema */
    const struct firn_partition_spec *spec;
    bool is_deletes;
    int64_t snapshot_id;    /* of the commit */
    struct firn_text codec; /* write.manifest.compression-codec: "gzip", "zstd", "snappy", "uncompressed" */
    int32_t codec_level;    /* FIRN_CODEC_LEVEL_DEFAULT */
};
FIRN_CHECKED firn_status firn_manifest_writer_open(struct firn_op *op, const struct firn_manifest_writer_config *config,
                                                   struct firn_sink *sink, struct firn_manifest_writer **out);
/* ADDED entries: sequence_number FIRN_ABSENT inherits, a number pins it; the file sequence number is written null.
 * EXISTING and DELETED entries need both numbers (format v2 and up). The snapshot id of ADDED and DELETED entries is
 * the commit's; EXISTING ones keep theirs. CORRUPT for an entry of the other kind, or with a tuple of another spec. */
FIRN_CHECKED firn_status firn_manifest_writer_add(struct firn_op *op, struct firn_manifest_writer *writer,
                                                  const struct firn_manifest_entry *entry);
/* Entries that are encoded where they are read, for writers elsewhere and later. The encoder is for one thread, lives
 * in the op->arena it was made in, and takes what a writer of the same config takes, with the same failures. */
struct firn_manifest_encoder;
FIRN_CHECKED firn_status firn_manifest_encoder_new(struct firn_op *op, const struct firn_manifest_writer_config *config,
                                                   struct firn_manifest_encoder **out);
FIRN_CHECKED firn_status firn_manifest_encode(struct firn_op *op, struct firn_manifest_encoder *encoder,
                                              const struct firn_manifest_entry *entry, struct firn_buffer *out);
/* What a writer must be told of an encoded entry, for the list's row. */
struct firn_encoded_entry {
    struct firn_bytes bytes;
    enum firn_entry_status status;
    int64_t sequence_number; /* FIRN_ABSENT: inherits */
    int64_t record_count;
    const struct firn_partition *partition;
};
FIRN_CHECKED firn_status firn_manifest_writer_add_encoded(struct firn_op *op, struct firn_manifest_writer *writer,
                                                          const struct firn_encoded_entry *entry);
/* Bytes given to the sink so far (whole blocks). */
uint64_t firn_manifest_writer_bytes(const struct firn_manifest_writer *writer);
/* Ends the file and fills the list row but for `path` (the caller's). min_sequence_number is FIRN_ABSENT when no live
 * entry has a number of its own: it and sequence_number are assigned when the list is written. */
FIRN_CHECKED firn_status firn_manifest_writer_finish(struct firn_op *op, struct firn_manifest_writer *writer,
                                                     struct firn_manifest_file *row);
void firn_manifest_writer_close(struct firn_manifest_writer *writer);

/* Writes a manifest list. Rows with sequence_number FIRN_ABSENT are this commit's: they take `sequence_number`, and
 * min_sequence_number FIRN_ABSENT likewise. In v3, data manifests without first_row_id are numbered from
 * `first_row_id` on, in list order; `*next_row_id` is the number after the last (may be NULL). `rows` is not changed,
 * so the same rows serve the next attempt. Counts that are FIRN_ABSENT (from a v1 list) are CORRUPT from v2 on: the
 * caller counts first. */
struct firn_manifest_list_header {
    int32_t format_version;
    int64_t snapshot_id;
    int64_t parent_snapshot_id; /* FIRN_NO_SNAPSHOT */
    int64_t sequence_number;
    int64_t first_row_id;   /* v3: the table's next-row-id */
    struct firn_text codec; /* as in firn_manifest_writer_config */
};
FIRN_CHECKED firn_status firn_manifest_list_write(struct firn_op *op, const struct firn_manifest_list_header *header,
                                                  const struct firn_manifest_file *rows, uint32_t count,
                                                  struct firn_sink *sink, int64_t *next_row_id);

/* Whether split offsets may be used: present, strictly ascending, the last below the file's size. */
bool firn_split_offsets_usable(const struct firn_data_file *file);
/* The count of `id` in a map; false when absent. */
bool firn_count_map_find(const struct firn_count_map *map, int32_t id, int64_t *out);
bool firn_bound_map_find(const struct firn_bound_map *map, int32_t id, struct firn_bytes *out);
/* Deletion vector: a position delete in a Puffin file. */
bool firn_data_file_is_deletion_vector(const struct firn_data_file *file);

#endif
