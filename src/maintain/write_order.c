/* WRITE ORDERED BY and its like: a sort order of the table, and how writers spread rows. An order equal to one that the
 * table has is not added again. Iceberg spec, "Sorting", "Sort Orders"; reference: procedures.md, 2.3. */
#include "firn/write_order.h"

#include "catalog/change.h"
#include "maintain/order_bind.h"

#define MODE_PROPERTY "write.distribution-mode"

struct setting {
    const struct firn_write_order_args *args;
    struct firn_order_terms terms;
    struct firn_write_order_report *report;
};

/* Curves are not orders of columns. */
static firn_status check_terms(struct firn_op *op, const struct firn_order_terms *terms)
{
    for (size_t i = 0; i < terms->count; i++) {
        struct firn_text name = terms->items[i].transform;
        if (firn_text_is(name, "zorder") || firn_text_is(name, "hilbert"))
            return firn_fail(op, FIRN_UNSUPPORTED, "a table's sort order cannot hold %.*s(...)", FIRN_FMT(name));
    }
    return FIRN_OK;
}

static void decide_order(struct setting *setting, const struct firn_metadata *metadata,
                         const struct firn_sort_order *order, struct firn_change *out)
{
    const struct firn_sort_order *known = firn_order_find_same(metadata, order);
    setting->report->order_id = known ? known->id : -1;
    if (known && known->id == metadata->default_sort_order_id)
        return;
    if (!known)
        json_object_set_new(firn_change_add(out, "add-sort-order"), "sort-order", firn_sort_order_json(order));
    firn_json_set_i64(firn_change_add(out, "set-default-sort-order"), "sort-order-id", known ? known->id : -1);
}

/* What the clauses say of write.distribution-mode; NULL: nothing, it stays. */
static const char *mode_of(const struct firn_write_order_args *args)
{
    if (args->distributed_by_partition)
        return "hash";
    if (args->locally)
        return NULL;
    return args->unordered ? "none" : "range";
}

static void decide_mode(struct setting *setting, const struct firn_metadata *metadata, struct firn_change *out)
{
    const char *mode = mode_of(setting->args);
    struct firn_text old = firn_property_text(metadata, MODE_PROPERTY, FIRN_TEXT(""));
    setting->report->mode = mode ? firn_text_of(mode) : old;
    if (!mode || firn_text_is(old, mode))
        return;
    json_t *updates = json_object();
    json_object_set_new(updates, MODE_PROPERTY, json_string(mode));
    json_object_set_new(firn_change_add(out, "set-properties"), "updates", updates);
}

static firn_status decide(struct firn_op *op, void *context, const struct firn_table *table, struct firn_change *out)
{
    struct setting *setting = context;
    const struct firn_metadata *metadata = table->metadata;
    const struct firn_schema *schema = firn_metadata_current_schema(metadata);
    struct firn_sort_order order;
    FIRN_TRY(check_terms(op, &setting->terms));
    FIRN_TRY(firn_order_bind(op, schema, &setting->terms, &order));
    setting->report->order = firn_order_text(op->arena, schema, &order);
    decide_order(setting, metadata, &order, out);
    decide_mode(setting, metadata, out);
    setting->report->is_changed = json_array_size(out->updates) > 0;
    if (!setting->report->is_changed)
        return FIRN_OK;
    firn_change_require_table(out, metadata);
    firn_change_require_model(out, metadata);
    firn_change_require_sort_order(out, metadata);
    return FIRN_OK;
}

static firn_status check_args(struct firn_op *op, const struct firn_write_order_args *args)
{
    if (args->order.len == 0 && !args->unordered && !args->distributed_by_partition)
        return firn_fail(op, FIRN_USAGE, "neither an order, nor unordered, nor a distribution is given");
    if (args->order.len > 0 && args->unordered)
        return firn_fail(op, FIRN_USAGE, "an order and unordered contradict each other");
    if (args->order.len == 0 && args->locally)
        return firn_fail(op, FIRN_USAGE, "locally goes with an order");
    return FIRN_OK;
}

firn_status firn_write_order_set(struct firn_op *op, struct firn_table *table, const struct firn_write_order_args *args,
                                 struct firn_write_order_report *out)
{
    struct setting setting = { .args = args, .report = out };
    FIRN_TRY(check_args(op, args));
    if (args->order.len > 0)
        FIRN_TRY(firn_order_parse_all(op, args->order, &setting.terms));
    FIRN_TRY(firn_change_run(op, table, decide, &setting, args->dry_run));
    if (out->is_changed && !args->dry_run)
        out->order_id = table->metadata->default_sort_order_id;
    return FIRN_OK;
}
