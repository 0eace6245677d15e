/* Data files to JSON and back. */
#include "maintain/written_file.h"

static const char what[] = "written file";

/* The maps of a file by column. */
static const struct {
    const char *key;
    size_t offset;
} count_maps[] =
    {
        { "column_sizes", offsetof(struct firn_data_file, column_sizes) },
        { "value_counts", offsetof(struct firn_data_file, value_counts) },
        { "null_value_counts", offsetof(struct firn_data_file, null_value_counts) },
        { "nan_value_counts", offsetof(struct firn_data_file, nan_value_counts) },
    },
  bound_maps[] = {
      { "lower_bounds", offsetof(struct firn_data_file, lower_bounds) },
      { "upper_bounds", offsetof(struct firn_data_file, upper_bounds) },
  };
enum {
    COUNT_MAPS = sizeof count_maps / sizeof *count_maps,
    BOUND_MAPS = sizeof bound_maps / sizeof *bound_maps,
};

/* Writing -------------------------------------------------------------------------------------------------------- */

static json_t *hex_json(struct firn_arena *arena, struct firn_bytes bytes)
{
    return firn_json_string(firn_hex_text(arena, bytes));
}

static json_t *partition_json(struct firn_arena *arena, const struct firn_partition *partition)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < partition->count; i++) {
        const struct firn_value *value = &partition->values[i];
        json_array_append_new(list, value->is_null ? json_null() : hex_json(arena, firn_value_bytes(arena, value)));
    }
    return list;
}

/* {"<field id>": value, ...} */
static json_t *count_map_json(const struct firn_count_map *map)
{
    char id[16];
    json_t *json = json_object();
    for (uint32_t i = 0; i < map->count; i++) {
        snprintf(id, sizeof id, "%d", map->ids[i]);
        firn_json_set_i64(json, id, map->counts[i]);
    }
    return json;
}

static json_t *bound_map_json(struct firn_arena *arena, const struct firn_bound_map *map)
{
    char id[16];
    json_t *json = json_object();
    for (uint32_t i = 0; i < map->count; i++) {
        snprintf(id, sizeof id, "%d", map->ids[i]);
        firn_json_set(json, id, hex_json(arena, map->values[i]));
    }
    return json;
}

static json_t *offsets_json(const struct firn_data_file *file)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < file->split_offset_count; i++)
        json_array_append_new(list, json_integer(file->split_offsets[i]));
    return list;
}

json_t *firn_written_file_json(struct firn_arena *arena, const struct firn_data_file *file)
{
    json_t *json = json_object();
    firn_json_set_text(json, "path", file->path);
    firn_json_set_i64(json, "spec_id", file->spec_id);
    firn_json_set(json, "partition", partition_json(arena, &file->partition));
    firn_json_set_i64(json, "record_count", file->record_count);
    firn_json_set_i64(json, "file_bytes", file->file_bytes);
    for (size_t i = 0; i < COUNT_MAPS; i++) {
        const struct firn_count_map *map = (const void *)((const char *)file + count_maps[i].offset);
        if (map->present)
            firn_json_set(json, count_maps[i].key, count_map_json(map));
    }
    for (size_t i = 0; i < BOUND_MAPS; i++) {
        const struct firn_bound_map *map = (const void *)((const char *)file + bound_maps[i].offset);
        if (map->present)
            firn_json_set(json, bound_maps[i].key, bound_map_json(arena, map));
    }
    firn_json_set(json, "split_offsets", offsets_json(file));
    return json;
}

/* Reading -------------------------------------------------------------------------------------------------------- */

static firn_status bad_member(struct firn_op *op, const char *key)
{
    return firn_fail(op, FIRN_CORRUPT, "%s: '%s' is not what firn writes", what, key);
}

static firn_status parse_hex(struct firn_op *op, const json_t *json, const char *key, struct firn_bytes *out)
{
    struct firn_text text = { json_string_value(json), json_string_length(json) };
    if (!json_is_string(json) || !firn_hex_parse(op->arena, text, out))
        return bad_member(op, key);
    return FIRN_OK;
}

static firn_status parse_partition(struct firn_op *op, const struct firn_metadata *metadata,
                                   struct firn_type *const *spec_types, const json_t *json, struct firn_data_file *out)
{
    json_t *list;
    struct firn_bytes bytes;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, out->spec_id);
    FIRN_TRY(firn_json_need_array(op, json, "partition", what, &list));
    if (!spec || json_array_size(list) != spec->field_count)
        return bad_member(op, "partition");
    const struct firn_type *types = spec_types[spec - metadata->specs];
    out->partition.count = spec->field_count;
    out->partition.values = FIRN_NEW_ARRAY(op->arena, struct firn_value, spec->field_count);
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const json_t *item = json_array_get(list, i);
        struct firn_value *value = &out->partition.values[i];
        *value = (struct firn_value){ .type = types[i].id, .is_null = json_is_null(item) };
        if (value->is_null)
            continue;
        FIRN_TRY(parse_hex(op, item, "partition", &bytes));
        FIRN_TRY(firn_value_parse(op, &types[i], bytes, value));
    }
    return FIRN_OK;
}

static firn_status parse_id(struct firn_op *op, const char *text, const char *key, int32_t *out)
{
    int64_t id;
    if (!firn_text_to_i64(firn_text_of(text), &id) || id < INT32_MIN || id > INT32_MAX)
        return bad_member(op, key);
    *out = (int32_t)id;
    return FIRN_OK;
}

static firn_status parse_counts(struct firn_op *op, json_t *json, const char *key, struct firn_count_map *out)
{
    const char *id;
    json_t *value;
    out->present = json_is_object(json);
    out->ids = FIRN_NEW_ARRAY(op->arena, int32_t, json_object_size(json));
    out->counts = FIRN_NEW_ARRAY(op->arena, int64_t, json_object_size(json));
    json_object_foreach(json, id, value)
    {
        if (!json_is_integer(value))
            return bad_member(op, key);
        FIRN_TRY(parse_id(op, id, key, &out->ids[out->count]));
        out->counts[out->count++] = json_integer_value(value);
    }
    return FIRN_OK;
}

static firn_status parse_bounds(struct firn_op *op, json_t *json, const char *key, struct firn_bound_map *out)
{
    const char *id;
    json_t *value;
    out->present = json_is_object(json);
    out->ids = FIRN_NEW_ARRAY(op->arena, int32_t, json_object_size(json));
    out->values = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, json_object_size(json));
    json_object_foreach(json, id, value)
    {
        FIRN_TRY(parse_id(op, id, key, &out->ids[out->count]));
        FIRN_TRY(parse_hex(op, value, key, &out->values[out->count++]));
    }
    return FIRN_OK;
}

static firn_status parse_offsets(struct firn_op *op, const json_t *json, struct firn_data_file *out)
{
    json_t *list;
    FIRN_TRY(firn_json_need_array(op, json, "split_offsets", what, &list));
    out->split_offset_count = (uint32_t)json_array_size(list);
    out->split_offsets = FIRN_NEW_ARRAY(op->arena, int64_t, out->split_offset_count);
    for (uint32_t i = 0; i < out->split_offset_count; i++) {
        if (!json_is_integer(json_array_get(list, i)))
            return bad_member(op, "split_offsets");
        out->split_offsets[i] = json_integer_value(json_array_get(list, i));
    }
    return FIRN_OK;
}

static firn_status parse_maps(struct firn_op *op, const json_t *json, struct firn_data_file *out)
{
    for (size_t i = 0; i < COUNT_MAPS; i++)
        FIRN_TRY(parse_counts(op, json_object_get(json, count_maps[i].key), count_maps[i].key,
                              (void *)((char *)out + count_maps[i].offset)));
    for (size_t i = 0; i < BOUND_MAPS; i++)
        FIRN_TRY(parse_bounds(op, json_object_get(json, bound_maps[i].key), bound_maps[i].key,
                              (void *)((char *)out + bound_maps[i].offset)));
    return FIRN_OK;
}

firn_status firn_written_file_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                    struct firn_type *const *spec_types, const json_t *json, struct firn_data_file *out)
{
    *out = (struct firn_data_file){
        .content = FIRN_CONTENT_DATA,
        .format = FIRN_FILE_PARQUET,
        .format_text = FIRN_TEXT("PARQUET"),
        .first_row_id = FIRN_ABSENT,
        .content_offset = FIRN_ABSENT,
        .content_bytes = FIRN_ABSENT,
    };
    FIRN_TRY(firn_json_need_text(op, json, "path", what, &out->path));
    FIRN_TRY(firn_json_need_i32(op, json, "spec_id", what, &out->spec_id));
    FIRN_TRY(firn_json_need_i64(op, json, "record_count", what, &out->record_count));
    FIRN_TRY(firn_json_need_i64(op, json, "file_bytes", what, &out->file_bytes));
    FIRN_TRY(parse_partition(op, metadata, spec_types, json, out));
    FIRN_TRY(parse_maps(op, json, out));
    return parse_offsets(op, json, out);
}
