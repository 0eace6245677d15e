/* Table metadata as values and as files: lookups, properties, plain and gzip forms.
 * Iceberg spec, "Table Metadata"; reference: format-notes.md, 14. */
#include "table/metadata.h"

#include "base/math.h"
#include "format/codec/codec.h"
#include "table/snapshot_id.h"

#define METADATA_BYTES_MAX (SIZE_MAX / 2 < 2000000000u ? SIZE_MAX / 2 : (size_t)2000000000u)

static int compare_to_id(const void *key, const void *item)
{
    int64_t id = *(const int64_t *)key, other = (*(const struct firn_snapshot *const *)item)->id;
    return (id > other) - (id < other);
}

const struct firn_snapshot *firn_metadata_snapshot(const struct firn_metadata *metadata, int64_t id)
{
    if (metadata->snapshot_count == 0)
        return NULL;
    const struct firn_snapshot **found = bsearch(&id, metadata->snapshots_by_id, metadata->snapshot_count,
                                                 sizeof *metadata->snapshots_by_id, compare_to_id);
    return found ? *found : NULL;
}

const struct firn_snapshot *firn_metadata_current(const struct firn_metadata *metadata)
{
    return firn_metadata_snapshot(metadata, metadata->current_snapshot_id);
}

const struct firn_ref *firn_metadata_ref(const struct firn_metadata *metadata, struct firn_text name)
{
    for (uint32_t i = 0; i < metadata->ref_count; i++)
        if (firn_text_same(metadata->refs[i].name, name))
            return &metadata->refs[i];
    return NULL;
}

const struct firn_snapshot *firn_metadata_ref_head(const struct firn_metadata *metadata, struct firn_text name)
{
    const struct firn_ref *ref = firn_metadata_ref(metadata, name);
    return ref ? firn_metadata_snapshot(metadata, ref->snapshot_id) : NULL;
}

const struct firn_schema *firn_metadata_schema(const struct firn_metadata *metadata, int32_t id)
{
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        if (metadata->schemas[i].id == id)
            return &metadata->schemas[i];
    return NULL;
}

const struct firn_schema *firn_metadata_current_schema(const struct firn_metadata *metadata)
{
    return firn_metadata_schema(metadata, metadata->current_schema_id);
}

const struct firn_partition_spec *firn_metadata_spec(const struct firn_metadata *metadata, int32_t id)
{
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        if (metadata->specs[i].id == id)
            return &metadata->specs[i];
    return NULL;
}

const struct firn_sort_order *firn_metadata_sort_order(const struct firn_metadata *metadata, int32_t id)
{
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        if (metadata->sort_orders[i].id == id)
            return &metadata->sort_orders[i];
    return NULL;
}

static int compare_schema_age(const void *a, const void *b)
{
    int32_t left = (*(const struct firn_schema *const *)a)->id, right = (*(const struct firn_schema *const *)b)->id;
    return (left < right) - (left > right);
}

const struct firn_schema *const *firn_metadata_schemas_by_age(struct firn_op *op, const struct firn_metadata *metadata)
{
    const struct firn_schema *current = firn_metadata_current_schema(metadata);
    const struct firn_schema **schemas = FIRN_NEW_ARRAY(op->arena, const struct firn_schema *, metadata->schema_count);
    uint32_t count = 0;
    schemas[count++] = current;
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        if (&metadata->schemas[i] != current)
            schemas[count++] = &metadata->schemas[i];
    qsort(schemas + 1, count - 1, sizeof *schemas, compare_schema_age);
    return schemas;
}

firn_status firn_spec_types_new(struct firn_op *op, const struct firn_metadata *metadata, struct firn_type ***out)
{
    const struct firn_schema *const *schemas = firn_metadata_schemas_by_age(op, metadata);
    *out = FIRN_NEW_ARRAY(op->arena, struct firn_type *, metadata->spec_count);
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        FIRN_TRY(firn_partition_types(op, &metadata->specs[i], schemas, metadata->schema_count, &(*out)[i]));
    return FIRN_OK;
}

bool firn_metadata_is_ancestor(const struct firn_metadata *metadata, int64_t id, int64_t ancestor)
{
    /* A chain is no longer than there are snapshots; foreign metadata may hold a ring. */
    for (uint32_t steps = 0; steps <= metadata->snapshot_count && id != FIRN_NO_SNAPSHOT; steps++) {
        if (id == ancestor)
            return true;
        const struct firn_snapshot *snapshot = firn_metadata_snapshot(metadata, id);
        id = snapshot ? snapshot->parent_id : FIRN_NO_SNAPSHOT;
    }
    return false;
}

const struct firn_snapshot *firn_metadata_snapshot_at(const struct firn_metadata *metadata, int64_t timestamp_ms)
{
    const struct firn_snapshot_log_entry *newest = NULL;
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++) {
        const struct firn_snapshot_log_entry *entry = &metadata->snapshot_log[i];
        if (entry->timestamp_ms <= timestamp_ms && (!newest || entry->timestamp_ms >= newest->timestamp_ms))
            newest = entry;
    }
    return newest ? firn_metadata_snapshot(metadata, newest->snapshot_id) : NULL;
}

struct firn_text firn_metadata_snapshot_id_text(struct firn_arena *arena, const struct firn_metadata *metadata,
                                                int64_t id)
{
    if (metadata->wide_snapshot_ids && id < FIRN_NO_SNAPSHOT)
        return firn_text_format(arena, "%" PRIu64, (uint64_t)id);
    return firn_text_format(arena, "%" PRId64, id);
}

struct firn_text firn_property_text(const struct firn_metadata *metadata, const char *key, struct firn_text fallback)
{
    const json_t *value = json_object_get(json_object_get(metadata->root, "properties"), key);
    if (!json_is_string(value))
        return fallback;
    return (struct firn_text){ json_string_value(value), json_string_length(value) };
}

firn_status firn_property_i64(struct firn_op *op, const struct firn_metadata *metadata, const char *key,
                              int64_t fallback, int64_t *out)
{
    struct firn_text text = firn_property_text(metadata, key, (struct firn_text){ 0 });
    *out = fallback;
    if (text.data && !firn_text_to_i64(text, out))
        return firn_fail(op, FIRN_USAGE, "table property %s is '%.*s', not a whole number", key, FIRN_FMT(text));
    return FIRN_OK;
}

bool firn_property_bool(const struct firn_metadata *metadata, const char *key, bool fallback)
{
    struct firn_text text = firn_property_text(metadata, key, (struct firn_text){ 0 });
    return text.data ? firn_text_to_bool(text) : fallback;
}

static firn_status transcode(struct firn_op *op, bool compress, struct firn_bytes in, struct firn_buffer *out)
{
    struct firn_codec_context *codec;
    FIRN_TRY(firn_codec_context_open(op, &codec));
    firn_status status = compress
                             ? firn_codec_compress(op, codec, FIRN_CODEC_GZIP, FIRN_CODEC_LEVEL_DEFAULT, in, out)
                             : firn_codec_decompress_unsized(op, codec, FIRN_CODEC_GZIP, in, METADATA_BYTES_MAX, out);
    firn_codec_context_close(codec);
    return status;
}

static bool starts_with_bytes(struct firn_bytes bytes, const char *magic, size_t len)
{
    return bytes.len >= len && memcmp(bytes.data, magic, len) == 0;
}

static firn_status parse_plain(struct firn_op *op, struct firn_bytes bytes, struct firn_metadata **out)
{
    if (starts_with_bytes(bytes, "\x28\xb5\x2f\xfd", 4))
        return firn_fail(op, FIRN_UNSUPPORTED,
                         "the metadata file is compressed with zstd; the format knows plain and "
                         "gzip");
    if (starts_with_bytes(bytes, "\x1f\x8b", 2))
        return firn_fail(op, FIRN_CORRUPT,
                         "the metadata file is gzip, but its name does not end in "
                         "'.gz.metadata.json'");
    return firn_metadata_parse(op, firn_text_of_bytes(bytes), out);
}

firn_status firn_metadata_parse_file(struct firn_op *op, struct firn_text name, struct firn_bytes bytes,
                                     struct firn_metadata **out)
{
    if (!firn_text_ends(name, FIRN_TEXT(".gz.metadata.json")) && !firn_text_ends(name, FIRN_TEXT(".metadata.json.gz")))
        return parse_plain(op, bytes, out);
    struct firn_buffer plain = { 0 };
    firn_status status = firn_context(op, transcode(op, false, bytes, &plain), "gzip metadata file");
    if (status == FIRN_OK)
        status = firn_metadata_parse(op, firn_text_of_bytes(firn_buffer_bytes(&plain)), out);
    firn_buffer_done(&plain);
    return status;
}

firn_status firn_metadata_print_file(struct firn_op *op, const struct firn_metadata *metadata, bool gzip,
                                     struct firn_buffer *out)
{
    struct firn_buffer plain = { 0 };
    firn_status status = firn_json_print(op, metadata->root, 0, &plain);
    firn_snapshot_ids_unmark(&plain);
    if (status == FIRN_OK && gzip)
        status = transcode(op, true, firn_buffer_bytes(&plain), out);
    else if (status == FIRN_OK)
        status = firn_buffer_append(op, out, plain.data, plain.len);
    firn_buffer_done(&plain);
    return status;
}
