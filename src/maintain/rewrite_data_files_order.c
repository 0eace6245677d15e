/* The order that rewrite_data_files puts rows in: that of sort_order, or the table's own.
 * Reference: procedures.md, 2.3, 2.6 to 2.8, 12. */
#include "base/math.h"
#include "maintain/order_bind.h"
#include "maintain/rewrite_data_files.h"
#include "rewrite/sort_key.h"

/* Curves as they are written. */
static const struct {
    const char *name;
    enum firn_rewrite_strategy strategy;
} curves[] = { { "zorder", FIRN_STRATEGY_ZORDER }, { "hilbert", FIRN_STRATEGY_HILBERT } };

static enum firn_rewrite_strategy strategy_of(const struct firn_order_term *term)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(curves); i++)
        if (firn_text_is(term->transform, curves[i].name))
            return curves[i].strategy;
    return FIRN_STRATEGY_SORT;
}

/* Columns in a line or along one curve, not both. */
static firn_status find_kind(struct firn_op *op, const struct firn_order_terms *terms, enum firn_rewrite_strategy *out)
{
    *out = strategy_of(&terms->items[0]);
    for (size_t i = 0; i < terms->count; i++) {
        const struct firn_order_term *term = &terms->items[i];
        if (strategy_of(term) != *out)
            return firn_fail(op, FIRN_USAGE,
                             "zorder(...) and hilbert(...) cannot stand beside other terms of a sort order");
        if (*out != FIRN_STRATEGY_SORT && (term->width >= 0 || term->column_count == 0))
            return firn_fail(op, FIRN_USAGE, "%.*s takes columns, one at least, and nothing else",
                             FIRN_FMT(term->transform));
    }
    return FIRN_OK;
}

firn_status firn_rewrite_strategy_find(struct firn_op *op, const struct firn_rewrite_data_files_args *args,
                                       struct firn_rewrite_options *out)
{
    bool is_binpack = firn_text_same_nocase(args->strategy, FIRN_TEXT("binpack"));
    bool is_sort = firn_text_same_nocase(args->strategy, FIRN_TEXT("sort"));
    out->strategy = is_sort ? FIRN_STRATEGY_SORT : FIRN_STRATEGY_BINPACK;
    if (args->strategy.len > 0 && !is_binpack && !is_sort)
        return firn_fail(op, FIRN_USAGE, "strategy is \"%.*s\", not binpack or sort", FIRN_FMT(args->strategy));
    if (args->sort_order.len == 0)
        return FIRN_OK;
    if (is_binpack)
        return firn_hint(op, firn_fail(op, FIRN_USAGE, "strategy binpack takes no sort order"),
                         "strategy sort does, and is taken when only a sort order is given");
    FIRN_TRY(firn_order_parse_all(op, firn_text_copy(op->arena, args->sort_order), &out->order_terms));
    return find_kind(op, &out->order_terms, &out->strategy);
}

static void add_notice(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_text text)
{
    FIRN_PUSH(op->arena, &plan->notices, text);
}

/* Lines. */

static firn_status set_fields(struct firn_op *op, const struct firn_sort_order *order, struct firn_ordering *out)
{
    struct firn_ordering_field *fields = FIRN_NEW_ARRAY(op->arena, struct firn_ordering_field, order->field_count);
    for (uint32_t i = 0; i < order->field_count; i++) {
        const struct firn_sort_field *field = &order->fields[i];
        if (field->source_count != 1)
            return firn_fail(op, FIRN_UNSUPPORTED, "sort order %d has a transform of several columns, %.*s", order->id,
                             FIRN_FMT(field->transform.text));
        fields[i] = (struct firn_ordering_field){
            .source_id = field->source_ids[0],
            .transform = field->transform,
            .descending = field->descending,
            .nulls_last = field->nulls_last,
        };
    }
    out->fields = fields;
    out->field_count = order->field_count;
    return FIRN_OK;
}

/* The table's own order; `out` stays without fields when it has none. */
static firn_status bind_own(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_ordering *out)
{
    const struct firn_metadata *metadata = plan->metadata;
    const struct firn_sort_order *order = firn_metadata_sort_order(metadata, metadata->default_sort_order_id);
    if (!order || order->field_count == 0)
        return FIRN_OK;
    plan->order_text = firn_order_text(op->arena, firn_metadata_current_schema(metadata), order);
    out->sort_order_id = order->id;
    return set_fields(op, order, out);
}

static firn_status bind_line(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_ordering *out)
{
    const struct firn_schema *schema = firn_metadata_current_schema(plan->metadata);
    struct firn_sort_order order;
    FIRN_TRY(firn_order_bind(op, schema, &plan->options.order_terms, &order));
    const struct firn_sort_order *known = firn_order_find_same(plan->metadata, &order);
    plan->order_text = firn_order_text(op->arena, schema, &order);
    out->sort_order_id = known ? known->id : 0;
    if (!known)
        add_notice(op, plan,
                   FIRN_TEXT("the table has no sort order like this one, so the new files are not marked as sorted; "
                             "firn write-order, or WRITE ORDERED BY, gives it one"));
    return set_fields(op, &order, out);
}

/* Curves. */

static bool is_identity_source(const struct firn_metadata *metadata, int32_t field_id)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, metadata->default_spec_id);
    return spec && firn_partition_spec_has_identity(spec, field_id);
}

/* A column that is the same throughout a partition says nothing along a curve. */
static firn_status bind_curve_column(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_text name,
                                     struct firn_ordering *out, struct firn_ordering_field *fields)
{
    const struct firn_field *field;
    FIRN_TRY(firn_order_column(op, firn_metadata_current_schema(plan->metadata), name, &field));
    if (is_identity_source(plan->metadata, field->id)) {
        add_notice(op, plan,
                   firn_text_format(op->arena, "column '%.*s' is left out of the order: the table is partitioned by it",
                                    FIRN_FMT(name)));
        return FIRN_OK;
    }
    fields[out->field_count++] = (struct firn_ordering_field){ .source_id = field->id };
    plan->order_text = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(plan->order_text),
                                        plan->order_text.len ? ", " : "", FIRN_FMT(name));
    return FIRN_OK;
}

static firn_status bind_curve(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_ordering *out)
{
    const struct firn_order_terms *terms = &plan->options.order_terms;
    size_t count = 0;
    for (size_t i = 0; i < terms->count; i++)
        count += terms->items[i].column_count;
    struct firn_ordering_field *fields = FIRN_NEW_ARRAY(op->arena, struct firn_ordering_field, count);
    out->kind = plan->options.strategy == FIRN_STRATEGY_ZORDER ? FIRN_ORDERING_ZORDER : FIRN_ORDERING_HILBERT;
    out->var_length_bytes = (uint32_t)plan->options.var_length_contribution;
    out->key_bytes_max = (uint64_t)plan->options.output_bytes_max;
    plan->order_text = FIRN_TEXT("");
    for (size_t i = 0; i < terms->count; i++)
        for (size_t k = 0; k < terms->items[i].column_count; k++)
            FIRN_TRY(bind_curve_column(op, plan, terms->items[i].columns[k], out, fields));
    if (out->field_count == 0)
        return firn_fail(op, FIRN_USAGE, "the table is partitioned by every column of %.*s",
                         FIRN_FMT(terms->items[0].transform));
    out->fields = fields;
    plan->order_text =
        firn_text_format(op->arena, "%.*s(%.*s)", FIRN_FMT(terms->items[0].transform), FIRN_FMT(plan->order_text));
    return FIRN_OK;
}

/* Both. */

/* Whether keys can be made, before any work is done for them. */
static firn_status check_keys(struct firn_op *op, const struct firn_rewrite_plan *plan,
                              const struct firn_ordering *ordering)
{
    struct firn_output_schema schema;
    struct firn_sort_key key;
    if (plan->schema_problem.len > 0)
        return FIRN_OK;
    FIRN_TRY(firn_output_schema_new(op, firn_metadata_current_schema(plan->metadata), false, &schema));
    return firn_sort_key_new(op, ordering, &schema, 0, &key);
}

/* Packing keeps the table's order within each file, unless it cannot, or must not. */
static firn_status bind_for_packing(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_ordering *out)
{
    struct firn_op trial = *op;
    if (!plan->options.sort_within_files)
        return FIRN_OK;
    firn_status status = bind_own(&trial, plan, out);
    if (status == FIRN_OK && out->field_count > 0)
        status = check_keys(&trial, plan, out);
    if (status == FIRN_OK)
        return FIRN_OK;
    *out = (struct firn_ordering){ 0 };
    add_notice(op, plan,
               firn_text_format(op->arena,
                                "the table's sort order is not applied, and the new files are not marked as "
                                "sorted: %s",
                                trial.error.text));
    return FIRN_OK;
}

static firn_status bind(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_ordering *out)
{
    switch (plan->options.strategy) {
    case FIRN_STRATEGY_BINPACK:
        return bind_for_packing(op, plan, out);
    case FIRN_STRATEGY_SORT:
        FIRN_TRY(plan->options.order_terms.count > 0 ? bind_line(op, plan, out) : bind_own(op, plan, out));
        break;
    case FIRN_STRATEGY_ZORDER:
    case FIRN_STRATEGY_HILBERT:
        FIRN_TRY(bind_curve(op, plan, out));
        break;
    }
    if (out->field_count == 0)
        return firn_hint(op, firn_fail(op, FIRN_USAGE, "the table has no sort order, and none is given"),
                         "give sort_order, or the table an order: firn write-order, or ALTER TABLE ... WRITE ORDERED "
                         "BY");
    return check_keys(op, plan, out);
}

firn_status firn_rewrite_order_new(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    struct firn_ordering *ordering = FIRN_NEW(op->arena, struct firn_ordering);
    plan->ordering = NULL;
    plan->order_text = FIRN_TEXT("");
    FIRN_TRY(bind(op, plan, ordering));
    if (ordering->field_count > 0)
        plan->ordering = ordering;
    if (plan->options.strategy != FIRN_STRATEGY_BINPACK && plan->options.shuffle_partitions_per_file != 1)
        add_notice(op, plan,
                   FIRN_TEXT("shuffle-partitions-per-file is not needed: firn sorts a file's rows within memory, and "
                             "beyond it in temporary files"));
    if (plan->options.rewrite_unsorted_only && ordering->sort_order_id == 0)
        return firn_fail(op, FIRN_USAGE,
                         "rewrite-unsorted-only needs an order that the table has, to know sorted files by");
    return FIRN_OK;
}

/* Ranges. */

static bool find_bound(const struct firn_bound_map *map, const struct firn_field *field, struct firn_value *out)
{
    struct firn_bytes bytes;
    if (!firn_bound_map_find(map, field->id, &bytes) || !firn_value_read(&field->type, bytes, out))
        return false;
    return field->type.id != FIRN_TYPE_FIXED || out->bytes.len == (size_t)field->type.length;
}

/* What a group's files say of a column: its least and greatest value, if each of them knows. */
static void set_range(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group,
                      const struct firn_field *field, struct firn_ordering_field *out)
{
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_data_file *file = &plan->files[group->files[i]].scan->entry->file;
        struct firn_value least, greatest;
        if (!find_bound(&file->lower_bounds, field, &least) || !find_bound(&file->upper_bounds, field, &greatest))
            return;
        if (i == 0 || firn_value_compare(&least, &out->least) < 0)
            out->least = least;
        if (i == 0 || firn_value_compare(&greatest, &out->greatest) > 0)
            out->greatest = greatest;
    }
    out->has_range = group->file_count > 0;
}

/* Of files that are marked as sorted bounds tell whether they follow each other; along a Hilbert curve, how far it has
 * to go. */
uint32_t firn_rewrite_order_metric_fields(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                          const int32_t **fields)
{
    const struct firn_ordering *ordering = plan->ordering;
    *fields = NULL;
    if (!ordering || (ordering->sort_order_id == 0 && ordering->kind != FIRN_ORDERING_HILBERT))
        return 0;
    int32_t *ids = FIRN_NEW_ARRAY(op->arena, int32_t, ordering->field_count);
    for (uint32_t i = 0; i < ordering->field_count; i++)
        ids[i] = ordering->fields[i].source_id;
    *fields = ids;
    return ordering->field_count;
}

const struct firn_ordering *firn_rewrite_order_of_group(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                                        const struct firn_planned_group *group)
{
    const struct firn_ordering *bound = plan->ordering;
    if (!bound || bound->kind != FIRN_ORDERING_HILBERT)
        return bound;
    const struct firn_schema *schema = firn_metadata_current_schema(plan->metadata);
    struct firn_ordering *ordering = FIRN_NEW(op->arena, struct firn_ordering);
    struct firn_ordering_field *fields = FIRN_NEW_ARRAY(op->arena, struct firn_ordering_field, bound->field_count);
    for (uint32_t i = 0; i < bound->field_count; i++) {
        fields[i] = bound->fields[i];
        set_range(plan, group, firn_schema_field(schema, fields[i].source_id), &fields[i]);
    }
    *ordering = *bound;
    ordering->fields = fields;
    return ordering;
}
