/* Table metadata: metadata.json of format versions 1 to 3, read, changed and written with nothing unknown lost.
 *
 * The JSON tree is the truth: `struct firn_metadata` is a typed view of it, and a change is a list of updates in the
 * REST catalog's language applied to a copy of the tree, which is then parsed again. So unknown members survive, and
 * every catalog, with or without a server, speaks one language.
 * Iceberg spec, "Table Metadata", "Appendix C"; REST catalog specification, "TableRequirement", "TableUpdate". */
#ifndef FIRN_TABLE_METADATA_H
#define FIRN_TABLE_METADATA_H

#include "table/partition.h"

#define FIRN_FORMAT_VERSION_MAX 3
#define FIRN_NO_SNAPSHOT        INT64_C(-1)

struct firn_snapshot {
    int64_t id;
    int64_t parent_id;       /* FIRN_NO_SNAPSHOT: none */
    int64_t sequence_number; /* 0 in v1 */
    int64_t timestamp_ms;
    struct firn_text manifest_list; /* empty: see `manifests` */
    struct firn_text *manifests;    /* v1 with embedded manifest paths */
    uint32_t manifest_count;
    struct firn_text operation; /* "append", ...; "overwrite" when absent */
    const json_t *summary;      /* object of strings; NULL: none */
    bool has_schema_id;
    int32_t schema_id;
    bool has_first_row_id;
    int64_t first_row_id;
    int64_t added_rows;
};

enum firn_ref_type { FIRN_REF_BRANCH, FIRN_REF_TAG };
struct firn_ref {
    struct firn_text name;
    enum firn_ref_type type;
    int64_t snapshot_id;
    int64_t snapshots_min_keep;  /* -1: not set */
    int64_t snapshot_age_ms_max; /* -1: not set */
    int64_t ref_age_ms_max;      /* -1: not set */
};

struct firn_snapshot_log_entry {
    int64_t timestamp_ms;
    int64_t snapshot_id;
};
struct firn_metadata_log_entry {
    int64_t timestamp_ms;
    struct firn_text metadata_file;
};
struct firn_statistics_file {
    int64_t snapshot_id;
    struct firn_text path;
    int64_t file_bytes;
    bool is_partition_statistics;
};

struct firn_metadata {
    json_t *root; /* owned by the arena; treat as immutable */
    int32_t format_version;
    struct firn_text table_uuid; /* may be empty in v1 */
    struct firn_text location;   /* without a trailing slash */
    int64_t last_sequence_number;
    int64_t last_updated_ms;
    int32_t last_column_id;
    int64_t next_row_id; /* v3; 0 otherwise */
    struct firn_schema *schemas;
    uint32_t schema_count;
    int32_t current_schema_id;
    struct firn_partition_spec *specs;
    uint32_t spec_count;
    int32_t default_spec_id;
    int32_t last_partition_id;
    struct firn_sort_order *sort_orders;
    uint32_t sort_order_count;
    int32_t default_sort_order_id;
    int64_t current_snapshot_id; /* FIRN_NO_SNAPSHOT: empty table */
    struct firn_snapshot *snapshots;
    uint32_t snapshot_count;
    const struct firn_snapshot **snapshots_by_id; /* the same, ascending by id */
    bool wide_snapshot_ids;                       /* some id is past INT64_MAX in the file: see snapshot_id.h */
    struct firn_ref *refs;                        /* always with "main" when there is a current snapshot */
    uint32_t ref_count;
    struct firn_snapshot_log_entry *snapshot_log;
    uint32_t snapshot_log_count;
    struct firn_metadata_log_entry *metadata_log;
    uint32_t metadata_log_count;
    struct firn_statistics_file *statistics;
    uint32_t statistics_count;
};

/* Parses and checks (references exist, logs sane, required members per version). UNSUPPORTED for a format version above
 * 3; CORRUPT for what Java rejects on load. The result lives in op->arena. */
FIRN_CHECKED firn_status firn_metadata_parse(struct firn_op *op, struct firn_text text, struct firn_metadata **out);
FIRN_CHECKED firn_status firn_metadata_parse_json(struct firn_op *op, json_t *root, struct firn_metadata **out);
/* The rules between members: what refers exists, ids are unique, logs are in order. Part of parsing; CORRUPT. */
FIRN_CHECKED firn_status firn_metadata_check(struct firn_op *op, const struct firn_metadata *metadata);
/* One snapshot object, as in metadata and in the update add-snapshot. Version 1 has no sequence numbers. */
FIRN_CHECKED firn_status firn_snapshot_parse(struct firn_op *op, const json_t *json, int32_t format_version,
                                             struct firn_snapshot *out);
/* One value of the `refs` object. */
FIRN_CHECKED firn_status firn_ref_parse(struct firn_op *op, struct firn_text name, const json_t *json,
                                        struct firn_ref *out);
/* A metadata file's bytes, plain or gzip; decided by `name` (".gz.metadata.json", ".metadata.json.gz"). */
FIRN_CHECKED firn_status firn_metadata_parse_file(struct firn_op *op, struct firn_text name, struct firn_bytes bytes,
                                                  struct firn_metadata **out);
/* The file's bytes for a new version, gzip when `gzip`. */
FIRN_CHECKED firn_status firn_metadata_print_file(struct firn_op *op, const struct firn_metadata *metadata, bool gzip,
                                                  struct firn_buffer *out);

/* A requirement beyond those of REST, for catalogs that check themselves: {"type": ..., "refs": [{"ref",
 * "snapshot-id"}]}, the table has exactly these references. Not to be sent to a server. */
#define FIRN_REQUIREMENT_REFS "firn-assert-refs"
/* CONFLICT naming the requirement that does not hold. `requirements` is an array of REST TableRequirement objects.
 * `metadata` NULL stands for a table that does not exist. */
FIRN_CHECKED firn_status firn_requirements_check(struct firn_op *op, const json_t *requirements,
                                                 const struct firn_metadata *metadata);
/* Applies an array of REST TableUpdate objects to a copy (`metadata` NULL: a new table, from assign-uuid,
 * upgrade-format-version, add-schema, set-location, ...). `now_ms` stamps last-updated-ms and log entries; when
 * `metadata_file` is not empty it is appended to the metadata log as the previous file, and the log is cut to
 * write.metadata.previous-versions-max; the files cut off are listed in `*cut` (may be NULL). All update actions of the
 * REST specification are known; an unknown one is UNSUPPORTED. */
FIRN_CHECKED firn_status firn_updates_apply(struct firn_op *op, const json_t *updates,
                                            const struct firn_metadata *metadata, struct firn_text metadata_file,
                                            int64_t now_ms, struct firn_metadata **out, json_t **cut);

const struct firn_snapshot *firn_metadata_snapshot(const struct firn_metadata *metadata, int64_t id);
const struct firn_snapshot *firn_metadata_current(const struct firn_metadata *metadata);
const struct firn_ref *firn_metadata_ref(const struct firn_metadata *metadata, struct firn_text name);
/* What a branch or tag refers to; NULL where there is no such reference. */
const struct firn_snapshot *firn_metadata_ref_head(const struct firn_metadata *metadata, struct firn_text name);
const struct firn_schema *firn_metadata_schema(const struct firn_metadata *metadata, int32_t id);
const struct firn_schema *firn_metadata_current_schema(const struct firn_metadata *metadata);
const struct firn_partition_spec *firn_metadata_spec(const struct firn_metadata *metadata, int32_t id);
const struct firn_sort_order *firn_metadata_sort_order(const struct firn_metadata *metadata, int32_t id);
/* All schemas, current first, then newest first: what firn_partition_types wants. In op->arena. */
const struct firn_schema *const *firn_metadata_schemas_by_age(struct firn_op *op, const struct firn_metadata *metadata);
/* The result types of the fields of each spec, in the order of the specs (firn_partition_types). In op->arena. */
FIRN_CHECKED firn_status firn_spec_types_new(struct firn_op *op, const struct firn_metadata *metadata,
                                             struct firn_type ***out);
/* Whether `ancestor` is `id` or lies on its parent chain. */
bool firn_metadata_is_ancestor(const struct firn_metadata *metadata, int64_t id, int64_t ancestor);
/* The snapshot that was current at `timestamp_ms` by the snapshot log (its order does not matter); NULL: none. */
const struct firn_snapshot *firn_metadata_snapshot_at(const struct firn_metadata *metadata, int64_t timestamp_ms);

/* An id as its table's metadata writes it. */
struct firn_text firn_metadata_snapshot_id_text(struct firn_arena *arena, const struct firn_metadata *metadata,
                                                int64_t id);

/* Table properties, with a default. Numbers that do not parse are USAGE naming the property. */
struct firn_text firn_property_text(const struct firn_metadata *metadata, const char *key, struct firn_text fallback);
FIRN_CHECKED firn_status firn_property_i64(struct firn_op *op, const struct firn_metadata *metadata, const char *key,
                                           int64_t fallback, int64_t *out);
bool firn_property_bool(const struct firn_metadata *metadata, const char *key, bool fallback);

#endif
