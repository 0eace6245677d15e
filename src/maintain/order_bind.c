/* Orders of a table's columns. Reference: procedures.md, 2.3. */
#include "maintain/order_bind.h"

#include "base/math.h"

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

firn_status firn_order_column(struct firn_op *op, const struct firn_schema *schema, struct firn_text name,
                              const struct firn_field **out)
{
    *out = firn_schema_field_named(schema, name, false);
    if (!*out)
        *out = firn_schema_field_named(schema, name, true);
    return *out ? FIRN_OK : firn_fail(op, FIRN_NOT_FOUND, "the table has no column '%.*s'", FIRN_FMT(name));
}

static firn_status bind_term(struct firn_op *op, const struct firn_schema *schema, const struct firn_order_term *term,
                             struct firn_sort_field *out)
{
    FIRN_TRY(bind_transform(op, term, &out->transform));
    const struct firn_field *field;
    FIRN_TRY(firn_order_column(op, schema, term->columns[0], &field));
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

firn_status firn_order_bind(struct firn_op *op, const struct firn_schema *schema, const struct firn_order_terms *terms,
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

const struct firn_sort_order *firn_order_find_same(const struct firn_metadata *metadata,
                                                   const struct firn_sort_order *order)
{
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        if (same_order(&metadata->sort_orders[i], order))
            return &metadata->sort_orders[i];
    return NULL;
}

struct firn_text firn_order_text(struct firn_arena *arena, const struct firn_schema *schema,
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
