/* Transforms, partition specs, partition tuples and sort orders.
 * Iceberg spec, "Partitioning", "Partition Transforms", "Sorting", "Appendix B: 32-bit Hash Requirements". */
#ifndef FIRN_TABLE_PARTITION_H
#define FIRN_TABLE_PARTITION_H

#include "table/value.h"

enum firn_transform_id {
    FIRN_TRANSFORM_IDENTITY,
    FIRN_TRANSFORM_BUCKET,
    FIRN_TRANSFORM_TRUNCATE,
    FIRN_TRANSFORM_YEAR,
    FIRN_TRANSFORM_MONTH,
    FIRN_TRANSFORM_DAY,
    FIRN_TRANSFORM_HOUR,
    FIRN_TRANSFORM_VOID,
    FIRN_TRANSFORM_UNKNOWN /* kept as text; cannot be applied or pruned with */
};

struct firn_transform {
    enum firn_transform_id id;
    int32_t width;         /* BUCKET: buckets; TRUNCATE: width */
    struct firn_text text; /* as written: "bucket[16]" */
};

/* Any text; what is not known becomes UNKNOWN. */
struct firn_transform firn_transform_parse(struct firn_arena *arena, struct firn_text text);
/* Whether the transform takes values of the type (spec table). */
bool firn_transform_accepts(const struct firn_transform *transform, const struct firn_type *source);
/* The type of the result; of UNKNOWN: string. */
struct firn_type firn_transform_result(const struct firn_transform *transform, const struct firn_type *source);
/* Applies it. Result bytes of truncate borrow from the source. UNSUPPORTED for UNKNOWN or a type it does not take. */
FIRN_CHECKED firn_status firn_transform_apply(struct firn_op *op, const struct firn_transform *transform,
                                              const struct firn_type *source, const struct firn_value *value,
                                              struct firn_value *out);
/* The same for a type that firn_transform_accepts. */
struct firn_value firn_transform_value(const struct firn_transform *transform, const struct firn_type *source,
                                       const struct firn_value *value);
/* The murmur3 (x86, 32 bit, seed 0) hash that bucket uses, before the modulo. */
int32_t firn_bucket_hash(const struct firn_type *type, const struct firn_value *value);
/* The first `count` code points of UTF-8; broken text is cut at any byte that begins one. */
struct firn_bytes firn_first_code_points(struct firn_bytes text, int32_t count);
/* murmur3_32 over bytes, seed 0. */
uint32_t firn_murmur3_32(struct firn_bytes bytes);
/* The result as it stands in a path or for people: "2017-11", "7", "null" (not URL-encoded). */
struct firn_text firn_transform_human(struct firn_arena *arena, const struct firn_transform *transform,
                                      const struct firn_type *result_type, const struct firn_value *value);

/* Members that partition and sort fields share: "source-id" or "source-ids", and "transform" (which several sources
 * make UNKNOWN). `what` names the field's kind in errors. */
FIRN_CHECKED firn_status firn_source_ids_parse(struct firn_op *op, const json_t *json, const char *what, int32_t **ids,
                                               uint32_t *count);
void firn_source_ids_json(json_t *json, const int32_t *ids, uint32_t count);
FIRN_CHECKED firn_status firn_transform_parse_json(struct firn_op *op, const json_t *json, const char *what,
                                                   uint32_t source_count, struct firn_transform *out);

#define FIRN_PARTITION_FIELDS_MAX 1000

struct firn_partition_field {
    int32_t *source_ids; /* one, or several in v3 */
    uint32_t source_count;
    int32_t field_id;
    struct firn_text name;
    struct firn_transform transform;
};

struct firn_partition_spec {
    int32_t id;
    struct firn_partition_field *fields;
    uint32_t field_count;
};

/* A spec object, or in v1 a bare array of fields (`id` is then the spec id). Missing field ids are assigned from 1000.
 */
FIRN_CHECKED firn_status firn_partition_spec_parse(struct firn_op *op, const json_t *json, int32_t id,
                                                   struct firn_partition_spec *out);
/* The spec object; firn_partition_fields_json gives the array of fields (manifest header). New references. */
json_t *firn_partition_spec_json(const struct firn_partition_spec *spec);
json_t *firn_partition_fields_json(const struct firn_partition_spec *spec);
/* No field but void ones. */
bool firn_partition_spec_is_unpartitioned(const struct firn_partition_spec *spec);
/* Whether it has an identity field over `source_id`: then every file has one value in that column, its partition's. */
bool firn_partition_spec_has_identity(const struct firn_partition_spec *spec, int32_t source_id);
/* Result type of each field, in op->arena, given the schemas of the table (newest first): the source is looked up in
 * each; a source that none has gives UNKNOWN type. */
FIRN_CHECKED firn_status firn_partition_types(struct firn_op *op, const struct firn_partition_spec *spec,
                                              const struct firn_schema *const *schemas, size_t schema_count,
                                              struct firn_type **out);

/* A tuple: one value for each field of its spec, typed by firn_partition_types. */
struct firn_partition {
    struct firn_value *values;
    uint32_t count;
};
/* The value of an identity field over `source_id`: what every row of such a file has in that column. NULL: none. */
const struct firn_value *firn_partition_identity_value(const struct firn_partition_spec *spec,
                                                       const struct firn_partition *partition, int32_t source_id);
/* The tuple with its values in the arena. */
struct firn_partition firn_partition_copy(struct firn_arena *arena, const struct firn_partition *partition);
bool firn_partition_same(const struct firn_partition *a, const struct firn_partition *b);
/* Appends a canonical key: equal keys for equal tuples of the same spec. */
FIRN_CHECKED firn_status firn_partition_key(struct firn_op *op, const struct firn_partition *partition,
                                            struct firn_buffer *out);
/* "day=2024-01-01/bucket=3", names and values URL-encoded as HTML forms; empty when unpartitioned. */
struct firn_text firn_partition_path(struct firn_arena *arena, const struct firn_partition_spec *spec,
                                     const struct firn_type *types, const struct firn_partition *partition);

struct firn_sort_field {
    int32_t *source_ids;
    uint32_t source_count;
    struct firn_transform transform;
    bool descending;
    bool nulls_last;
};
struct firn_sort_order {
    int32_t id;
    struct firn_sort_field *fields;
    uint32_t field_count;
};
FIRN_CHECKED firn_status firn_sort_order_parse(struct firn_op *op, const json_t *json, struct firn_sort_order *out);
json_t *firn_sort_order_json(const struct firn_sort_order *order);

#endif
