/* Which metrics a new file carries for which column. Reference: format-notes.md, 11.2. */
#include "table/metrics.h"

#include "base/math.h"

#define LENGTH_DEFAULT       16
#define INFERRED_MAX_DEFAULT 100
#define DEFAULT_PROPERTY     "write.metadata.metrics.default"
#define INFERRED_PROPERTY    "write.metadata.metrics.max-inferred-column-defaults"
#define COLUMN_PREFIX        "write.metadata.metrics.column."

static const struct firn_metrics_setting usual = { FIRN_METRICS_TRUNCATE, LENGTH_DEFAULT };

struct setting_entry {
    int32_t field_id;
    struct firn_metrics_setting setting;
};

struct firn_metrics_config {
    struct firn_metrics_setting fallback;
    FIRN_ARRAY(struct setting_entry) entries; /* ascending by field id once built */
};

static bool parse_mode(struct firn_text text, struct firn_metrics_setting *out)
{
    static const char *const names[] = { "none", "counts", "truncate(", "full" };
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++)
        if (i != FIRN_METRICS_TRUNCATE && firn_text_same_nocase(text, firn_text_of(names[i]))) {
            *out = (struct firn_metrics_setting){ .mode = (enum firn_metrics_mode)i };
            return true;
        }
    struct firn_text head = firn_text_of(names[FIRN_METRICS_TRUNCATE]);
    int64_t length;
    if (text.len <= head.len + 1 || text.data[text.len - 1] != ')' ||
        !firn_text_same_nocase(firn_text_until(text, head.len), head) ||
        !firn_text_to_i64((struct firn_text){ text.data + head.len, text.len - head.len - 1 }, &length) || length < 1 ||
        length > INT32_MAX)
        return false;
    *out = (struct firn_metrics_setting){ FIRN_METRICS_TRUNCATE, (int32_t)length };
    return true;
}

/* The mode a property names; a bad one is as good as none, and is told once. */
static struct firn_metrics_setting mode_of(struct firn_op *op, const char *property, struct firn_text text,
                                           struct firn_metrics_setting fallback)
{
    struct firn_metrics_setting setting;
    if (parse_mode(text, &setting))
        return setting;
    firn_log(op, FIRN_LOG_WARN, "property=%s value='%.*s' is not a metrics mode, using the default", property,
             FIRN_FMT(text));
    return fallback;
}

static void put(struct firn_arena *arena, struct firn_metrics_config *config, int32_t field_id,
                struct firn_metrics_setting setting)
{
    for (size_t i = 0; i < config->entries.count; i++)
        if (config->entries.items[i].field_id == field_id) {
            config->entries.items[i].setting = setting;
            return;
        }
    FIRN_PUSH(arena, &config->entries, ((struct setting_entry){ field_id, setting }));
}

static int64_t count_fields(const struct firn_type *type)
{
    int64_t count = type->field_count;
    for (uint32_t i = 0; i < type->field_count; i++)
        count += count_fields(&type->fields[i].type);
    return count;
}

/* The first columns of a wide schema get metrics: those of a struct itself before those of its nested ones. */
static void put_first(struct firn_arena *arena, struct firn_metrics_config *config, const struct firn_type *type,
                      int64_t max)
{
    for (uint32_t i = 0; i < type->field_count && (int64_t)config->entries.count < max; i++)
        if (firn_type_is_primitive(type->fields[i].type.id) || type->fields[i].type.id == FIRN_TYPE_VARIANT)
            FIRN_PUSH(arena, &config->entries, ((struct setting_entry){ type->fields[i].id, usual }));
    for (uint32_t i = 0; i < type->field_count && (int64_t)config->entries.count < max; i++)
        put_first(arena, config, &type->fields[i].type, max);
}

static firn_status resolve_default(struct firn_op *op, const struct firn_metadata *metadata,
                                   const struct firn_schema *schema, struct firn_metrics_config *config)
{
    struct firn_text text = firn_property_text(metadata, DEFAULT_PROPERTY, (struct firn_text){ 0 });
    int64_t max;
    config->fallback = usual;
    if (text.data) {
        config->fallback = mode_of(op, DEFAULT_PROPERTY, text, usual);
        return FIRN_OK;
    }
    FIRN_TRY(firn_property_i64(op, metadata, INFERRED_PROPERTY, INFERRED_MAX_DEFAULT, &max));
    if (count_fields(&schema->root) <= max)
        return FIRN_OK;
    config->fallback = (struct firn_metrics_setting){ .mode = FIRN_METRICS_NONE };
    put_first(op->arena, config, &schema->root, max);
    return FIRN_OK;
}

static bool preserves_order(enum firn_transform_id id)
{
    return id != FIRN_TRANSFORM_BUCKET && id != FIRN_TRANSFORM_VOID && id != FIRN_TRANSFORM_UNKNOWN;
}

/* Bounds of sorted columns are worth having even where the default leaves them out. */
static void promote_sorted(struct firn_arena *arena, struct firn_metrics_config *config,
                           const struct firn_sort_order *order)
{
    bool low = config->fallback.mode == FIRN_METRICS_NONE || config->fallback.mode == FIRN_METRICS_COUNTS;
    for (uint32_t i = 0; order && i < order->field_count; i++)
        if (preserves_order(order->fields[i].transform.id))
            put(arena, config, order->fields[i].source_ids[0], low ? usual : config->fallback);
}

static void put_columns(struct firn_op *op, const struct firn_metadata *metadata, const struct firn_schema *schema,
                        struct firn_metrics_config *config)
{
    const char *key;
    json_t *value, *properties = json_object_get(metadata->root, "properties");
    struct firn_text prefix = FIRN_TEXT(COLUMN_PREFIX);
    json_object_foreach(properties, key, value)
    {
        struct firn_text name = firn_text_of(key), text = { json_string_value(value), json_string_length(value) };
        if (!firn_text_starts(name, prefix) || !json_is_string(value))
            continue;
        const struct firn_field *field = firn_schema_field_named(schema, firn_text_from(name, prefix.len), false);
        if (field)
            put(op->arena, config, field->id, mode_of(op, key, text, config->fallback));
    }
}

static int compare_entries(const void *a, const void *b)
{
    int32_t left = ((const struct setting_entry *)a)->field_id, right = ((const struct setting_entry *)b)->field_id;
    return (left > right) - (left < right);
}

firn_status firn_metrics_config_new(struct firn_op *op, const struct firn_metadata *metadata,
                                    const struct firn_schema *schema, const struct firn_sort_order *order,
                                    const struct firn_metrics_config **out)
{
    struct firn_metrics_config *config = FIRN_NEW(op->arena, struct firn_metrics_config);
    FIRN_TRY(resolve_default(op, metadata, schema, config));
    promote_sorted(op->arena, config, order);
    put_columns(op, metadata, schema, config);
    if (config->entries.count)
        qsort(config->entries.items, config->entries.count, sizeof *config->entries.items, compare_entries);
    *out = config;
    return FIRN_OK;
}

const struct firn_metrics_config *firn_metrics_config_full(struct firn_arena *arena)
{
    struct firn_metrics_config *config = FIRN_NEW(arena, struct firn_metrics_config);
    config->fallback.mode = FIRN_METRICS_FULL;
    return config;
}

struct firn_metrics_setting firn_metrics_config_find(const struct firn_metrics_config *config, int32_t field_id)
{
    struct setting_entry key = { .field_id = field_id };
    const struct setting_entry *found = NULL;
    if (config->entries.count)
        found = bsearch(&key, config->entries.items, config->entries.count, sizeof key, compare_entries);
    return found ? found->setting : config->fallback;
}

static struct firn_count_map new_counts(struct firn_arena *arena, size_t count)
{
    return (struct firn_count_map){ .ids = FIRN_NEW_ARRAY(arena, int32_t, count),
                                    .counts = FIRN_NEW_ARRAY(arena, int64_t, count) };
}

static struct firn_bound_map new_bounds(struct firn_arena *arena, size_t count)
{
    return (struct firn_bound_map){ .ids = FIRN_NEW_ARRAY(arena, int32_t, count),
                                    .values = FIRN_NEW_ARRAY(arena, struct firn_bytes, count) };
}

static void add_count(struct firn_count_map *map, int32_t id, int64_t count)
{
    map->ids[map->count] = id;
    map->counts[map->count++] = count;
    map->present = true;
}

static void add_bound(struct firn_bound_map *map, int32_t id, struct firn_bytes value)
{
    map->ids[map->count] = id;
    map->values[map->count++] = value;
    map->present = true;
}

static void fill_bounds(struct firn_arena *arena, const struct firn_column_metrics *column,
                        struct firn_metrics_setting setting, struct firn_data_file *file)
{
    enum firn_type_id type = column->field->type.id;
    bool cut = setting.mode == FIRN_METRICS_TRUNCATE && (type == FIRN_TYPE_STRING || type == FIRN_TYPE_BINARY);
    struct firn_bytes lower = firn_value_bytes(arena, &column->lower), upper = firn_value_bytes(arena, &column->upper);
    if (cut)
        lower = firn_truncate_lower(arena, type, lower, setting.length);
    add_bound(&file->lower_bounds, column->field->id, lower);
    if (!cut || firn_truncate_upper(arena, type, upper, setting.length, &upper))
        add_bound(&file->upper_bounds, column->field->id, upper);
}

static void fill_column(struct firn_arena *arena, const struct firn_column_metrics *column,
                        struct firn_metrics_setting setting, struct firn_data_file *file)
{
    int32_t id = column->field->id;
    if (setting.mode == FIRN_METRICS_NONE)
        return;
    add_count(&file->column_sizes, id, column->compressed_bytes);
    if (column->repeated)
        return;
    add_count(&file->value_counts, id, column->value_count);
    add_count(&file->null_value_counts, id, column->null_count);
    if (column->counts_nan)
        add_count(&file->nan_value_counts, id, column->nan_count);
    if (setting.mode != FIRN_METRICS_COUNTS && column->has_bounds)
        fill_bounds(arena, column, setting, file);
}

static int compare_columns(const void *a, const void *b)
{
    int32_t left = (*(const struct firn_column_metrics *const *)a)->field->id;
    int32_t right = (*(const struct firn_column_metrics *const *)b)->field->id;
    return (left > right) - (left < right);
}

firn_status firn_metrics_fill(struct firn_op *op, const struct firn_metrics_config *config,
                              const struct firn_column_metrics *columns, size_t count, struct firn_data_file *file)
{
    const struct firn_column_metrics **sorted = FIRN_NEW_ARRAY(op->arena, const struct firn_column_metrics *, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &columns[i];
    if (count)
        qsort(sorted, count, sizeof *sorted, compare_columns);
    file->column_sizes = new_counts(op->arena, count);
    file->value_counts = new_counts(op->arena, count);
    file->null_value_counts = new_counts(op->arena, count);
    file->nan_value_counts = new_counts(op->arena, count);
    file->lower_bounds = new_bounds(op->arena, count);
    file->upper_bounds = new_bounds(op->arena, count);
    for (size_t i = 0; i < count; i++)
        fill_column(op->arena, sorted[i], firn_metrics_config_find(config, sorted[i]->field->id), file);
    return FIRN_OK;
}
