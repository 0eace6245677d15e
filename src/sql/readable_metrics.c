/* readable_metrics: sizes, counts and decoded bounds, a struct for each leaf column of the current schema, by name.
 * Reference: format-notes.md, 18. */
#include "base/math.h"
#include "sql/file_shape.h"
#include "sql/json_out.h"

#include <stdlib.h>

enum metric { METRIC_SIZE, METRIC_VALUES, METRIC_NULLS, METRIC_NANS, METRIC_LOWER, METRIC_UPPER, METRIC_COUNT };

static const char *const metric_names[] = {
    [METRIC_SIZE] = "column_size",     [METRIC_VALUES] = "value_count", [METRIC_NULLS] = "null_value_count",
    [METRIC_NANS] = "nan_value_count", [METRIC_LOWER] = "lower_bound",  [METRIC_UPPER] = "upper_bound",
};
_Static_assert(FIRN_COUNT_OF(metric_names) == METRIC_COUNT, "one name a metric");

/* Columns ---------------------------------------------------------------------------------------------------------- */

struct leaves {
    struct firn_metrics_leaf *items;
    size_t count;
    size_t capacity;
};

/* Types nest no deeper than their parser allows. */
static void gather_leaves(struct firn_arena *arena, const struct firn_type *type, struct firn_text prefix,
                          struct leaves *leaves)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        struct firn_text name =
            firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(prefix), prefix.len ? "." : "", FIRN_FMT(field->name));
        struct firn_metrics_leaf leaf = { name, field };
        if (firn_type_is_primitive(field->type.id))
            FIRN_PUSH(arena, leaves, leaf);
        else
            gather_leaves(arena, &field->type, name, leaves);
    }
}

static int compare_leaves(const void *a, const void *b)
{
    return firn_text_compare(((const struct firn_metrics_leaf *)a)->name, ((const struct firn_metrics_leaf *)b)->name);
}

static struct firn_metadata_column leaf_column(struct firn_arena *arena, const struct firn_metrics_leaf *leaf)
{
    struct firn_metadata_column *metrics = FIRN_NEW_ARRAY(arena, struct firn_metadata_column, METRIC_COUNT);
    for (int metric = 0; metric < METRIC_COUNT; metric++)
        metrics[metric] = (struct firn_metadata_column){
            .name = firn_text_of(metric_names[metric]),
            .type = metric < METRIC_LOWER ? FIRN_TEXT("bigint") : firn_spark_type_text(arena, &leaf->field->type),
        };
    return firn_metadata_struct(arena, leaf->name, metrics, METRIC_COUNT);
}

struct firn_metadata_column firn_readable_metrics_column(struct firn_op *op, const struct firn_schema *schema,
                                                         struct firn_metrics_leaf **leaves)
{
    struct leaves found = { 0 };
    gather_leaves(op->arena, &schema->root, FIRN_TEXT(""), &found);
    qsort(found.items, found.count, sizeof *found.items, compare_leaves);
    struct firn_metadata_column *columns = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, found.count);
    for (size_t i = 0; i < found.count; i++)
        columns[i] = leaf_column(op->arena, &found.items[i]);
    *leaves = found.items;
    return firn_metadata_struct(op->arena, FIRN_TEXT("readable_metrics"), columns, (uint32_t)found.count);
}

/* Values ----------------------------------------------------------------------------------------------------------- */

static const struct firn_count_map *counts_of(const struct firn_data_file *file, enum metric metric)
{
    switch (metric) {
    case METRIC_SIZE:
        return &file->column_sizes;
    case METRIC_VALUES:
        return &file->value_counts;
    case METRIC_NULLS:
        return &file->null_value_counts;
    default:
        return &file->nan_value_counts;
    }
}

/* False: there is none, or one that the type cannot have. */
static bool find_bound(const struct firn_data_file *file, const struct firn_field *field, enum metric metric,
                       struct firn_value *out)
{
    struct firn_bytes bytes;
    const struct firn_bound_map *bounds = metric == METRIC_LOWER ? &file->lower_bounds : &file->upper_bounds;
    return firn_bound_map_find(bounds, field->id, &bytes) && firn_value_read(&field->type, bytes, out);
}

static void metric_cell(struct firn_arena *arena, const struct firn_data_file *file, const struct firn_field *field,
                        enum metric metric, struct firn_cell *out)
{
    struct firn_value bound;
    int64_t count;
    if (metric < METRIC_LOWER) {
        if (firn_count_map_find(counts_of(file, metric), field->id, &count))
            firn_cell_i64(out, count);
    } else if (find_bound(file, field, metric, &bound)) {
        firn_cell_value(arena, &field->type, &bound, out);
    }
}

static void write_metric(struct firn_json_out *json, const struct firn_data_file *file, const struct firn_field *field,
                         enum metric metric)
{
    struct firn_value bound;
    int64_t count;
    firn_json_out_key(json, firn_text_of(metric_names[metric]));
    if (metric < METRIC_LOWER && firn_count_map_find(counts_of(file, metric), field->id, &count))
        firn_json_out_i64(json, count);
    else if (metric >= METRIC_LOWER && find_bound(file, field, metric, &bound))
        firn_json_out_value(json, &field->type, &bound);
    else
        firn_json_out_null(json);
}

static void write_leaf(struct firn_json_out *json, const struct firn_data_file *file, const struct firn_field *field)
{
    firn_json_out_begin(json, '{');
    for (int metric = 0; metric < METRIC_COUNT; metric++)
        write_metric(json, file, field, (enum metric)metric);
    firn_json_out_end(json, '}');
}

firn_status firn_readable_metrics_cell(struct firn_op *op, const struct firn_file_shape *shape,
                                       const struct firn_data_file *file, const struct firn_metadata_path *path,
                                       uint32_t depth, struct firn_cell *out)
{
    const struct firn_metrics_leaf *leaf = path->count > depth ? &shape->leaves[path->steps[depth]] : NULL;
    if (path->count > depth + 1) {
        metric_cell(op->arena, file, leaf->field, (enum metric)path->steps[depth + 1], out);
        return FIRN_OK;
    }
    struct firn_json_out json = firn_json_out_of(op, out->scratch);
    if (leaf) {
        write_leaf(&json, file, leaf->field);
        return firn_cell_json(out, &json);
    }
    firn_json_out_begin(&json, '{');
    for (uint32_t i = 0; i < shape->metrics.field_count; i++) {
        firn_json_out_key(&json, shape->leaves[i].name);
        write_leaf(&json, file, shape->leaves[i].field);
    }
    firn_json_out_end(&json, '}');
    return firn_cell_json(out, &json);
}
