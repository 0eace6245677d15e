/* WRITE ORDERED BY and its like: a sort order of the table, and how writers spread rows. An order equal to one that the
 * table has is not added again. Iceberg spec, "Sorting", "Sort Orders"; reference: procedures.md, 2.3. */
#include "firn/write_order.h"

#include "base/math.h"
#include "catalog/change.h"
#include "table/order_text.h"

#define MODE_PROPERTY "write.distribution-mode"

struct setting {
    const struct firn_write_order_args *args;
    struct firn_order_terms terms;
    struct firn_write_order_report *report;
};

/* Spark's names of transforms, and how the specification writes them. */
static const struct {
    const char *name, *text;
    bool has_width;
} transforms[] = {
    { "identity", "identity", false }, { "bucket", "bucket", true },   { "truncate", "truncate", true },
    { "year", "year", false },         { "years", "year", false },     { "month", "month", false },
    { "months", "month", false },      { "date", "day", false },       { "day", "day", false },
    { "days", "day", false },          { "date_hour", "hour", false }, { "hour", "hour", false },
    { "hours", "hour", false },
};

static firn_status bind_transform(struct firn_op *op, const struct firn_order_term *term, struct firn_transform *out)
{
    if (firn_text_is(term->transform, "zorder"))
        return firn_fail(op, FIRN_UNSUPPORTED, "a table's sort order cannot hold zorder(...)");
    for (size_t i = 0; i < FIRN_COUNT_OF(transforms); i++) {
        if (!firn_text_is(term->transform, transforms[i].name))
            continue;
        bool good_width = transforms[i].has_width ? term->width > 0 && term->width <= INT32_MAX : term->width < 0;
        if (term->column_count != 1 || !good_width)
            return firn_fail(op, FIRN_USAGE, "%s takes one column%s", transforms[i].name,
                             transforms[i].has_width ? " and a width above 0" : " and nothing else");
        struct firn_text text = firn_text_of(transforms[i].text);
        if (transforms[i].has_width)
            text = firn_text_format(op->arena, "%s[%" PRId64 "]", transforms[i].text, term->width);
        *out = firn_transform_parse(op->arena, text);
        return FIRN_OK;
    }
    return firn_fail(op, FIRN_USAGE, "there is no transform '%.*s'", FIRN_FMT(term->transform));
}

static firn_status bind_term(struct firn_op *op, const struct firn_schema *schema, const struct firn_order_term *term,
                             struct firn_sort_field *out)
{
    FIRN_TRY(bind_transform(op, term, &out->transform));
    const struct firn_field *field = firn_schema_field_named(schema, term->columns[0], false);
    if (!field)
        field = firn_schema_field_named(schema, term->columns[0], true);
    if (!field)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no column '%.*s'", FIRN_FMT(term->columns[0]));
    if (!firn_transform_accepts(&out->transform, &field->type))
        return firn_fail(op, FIRN_USAGE, "%.*s does not take column '%.*s' of type %s", FIRN_FMT(out->transform.text),
                         FIRN_FMT(term->columns[0]), firn_type_name(field->type.id));
    out->source_count = 1;
    out->source_ids = FIRN_NEW(op->arena, int32_t);
    out->source_ids[0] = field->id;
    out->descending = term->descending;
    out->nulls_last = term->nulls_last;
    return FIRN_OK;
}

static firn_status bind(struct firn_op *op, const struct firn_schema *schema, const struct firn_order_terms *terms,
                        struct firn_sort_order *out)
{
    *out = (struct firn_sort_order){ .id = terms->count > 0, .field_count = (uint32_t)terms->count };
    out->fields = FIRN_NEW_ARRAY(op->arena, struct firn_sort_field, terms->count);
    for (size_t i = 0; i < terms->count; i++)
        FIRN_TRY(bind_term(op, schema, &terms->items[i], &out->fields[i]));
    return FIRN_OK;
}

static bool same_field(const struct firn_sort_field *a, const struct firn_sort_field *b)
{
    return a->source_count == b->source_count && a->source_ids[0] == b->source_ids[0] &&
           firn_text_same(a->transform.text, b->transform.text) && a->descending == b->descending &&
           a->nulls_last == b->nulls_last;
}

static bool same_order(const struct firn_sort_order *a, const struct firn_sort_order *b)
{
    if (a->field_count != b->field_count)
        return false;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (!same_field(&a->fields[i], &b->fields[i]))
            return false;
    return true;
}

static const struct firn_sort_order *find_same(const struct firn_metadata *metadata,
                                               const struct firn_sort_order *order)
{
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        if (same_order(&metadata->sort_orders[i], order))
            return &metadata->sort_orders[i];
    return NULL;
}

/* "account_id desc nulls-last, bucket[16](region) asc nulls-first" */
static struct firn_text order_text(struct firn_arena *arena, const struct firn_schema *schema,
                                   const struct firn_sort_order *order)
{
    struct firn_text text = order->field_count ? FIRN_TEXT("") : FIRN_TEXT("unsorted");
    for (uint32_t i = 0; i < order->field_count; i++) {
        const struct firn_sort_field *field = &order->fields[i];
        struct firn_text column = firn_schema_name(arena, schema, field->source_ids[0]);
        if (field->transform.id != FIRN_TRANSFORM_IDENTITY)
            column = firn_text_format(arena, "%.*s(%.*s)", FIRN_FMT(field->transform.text), FIRN_FMT(column));
        text = firn_text_format(arena, "%.*s%s%.*s %s %s", FIRN_FMT(text), i ? ", " : "", FIRN_FMT(column),
                                field->descending ? "desc" : "asc", field->nulls_last ? "nulls-last" : "nulls-first");
    }
    return text;
}

static void decide_order(struct setting *setting, const struct firn_metadata *metadata,
                         const struct firn_sort_order *order, struct firn_change *out)
{
    const struct firn_sort_order *known = find_same(metadata, order);
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
    FIRN_TRY(bind(op, schema, &setting->terms, &order));
    setting->report->order = order_text(op->arena, schema, &order);
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
