/* What may follow ALTER TABLE name: branches and tags, table properties, the order of writes. These are Iceberg's
 * extensions of Spark's grammar. Reference: procedures.md, 10. */
#include "sql/parser.h"

#include "table/order_text.h"

/* "7 DAYS" as "7d". */
static firn_status need_age(struct firn_sql_parser *parser, struct firn_text *out)
{
    static const struct {
        const char *word, *unit;
    } units[] = { { "days", "d" }, { "hours", "h" }, { "minutes", "m" } };
    struct firn_text count;
    FIRN_TRY(firn_sql_need_count(parser, "a whole number above 0", &count));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (firn_sql_take_word(parser, units[i].word)) {
            *out = firn_text_format(parser->op->arena, "%.*s%s", FIRN_FMT(count), units[i].unit);
            return FIRN_OK;
        }
    return firn_sql_fail_expected(parser, "DAYS, HOURS or MINUTES");
}

/* n SNAPSHOTS [n unit], or n unit. */
static firn_status parse_snapshot_retention(struct firn_sql_parser *parser, struct firn_text *out)
{
    struct firn_text count, age;
    if (!firn_token_is_word(firn_sql_peek(parser, 1), "snapshots"))
        return need_age(parser, out);
    FIRN_TRY(firn_sql_need_count(parser, "a whole number above 0", &count));
    FIRN_TRY(firn_sql_need_words(parser, "SNAPSHOTS"));
    *out = firn_text_format(parser->op->arena, "%.*s snapshots", FIRN_FMT(count));
    if (firn_sql_peek(parser, 0)->kind != FIRN_TOKEN_NUMBER)
        return FIRN_OK;
    FIRN_TRY(need_age(parser, &age));
    *out = firn_text_format(parser->op->arena, "%.*s %.*s", FIRN_FMT(*out), FIRN_FMT(age));
    return FIRN_OK;
}

/* [AS OF VERSION id] [RETAIN n unit] [WITH SNAPSHOT RETENTION ...], the last of branches only. */
static firn_status parse_ref_options(struct firn_sql_parser *parser, struct firn_sql_ref *out)
{
    if (firn_sql_take_words(parser, "as of version"))
        FIRN_TRY(firn_sql_need_count(parser, "a snapshot's id", &out->as_of_version));
    if (firn_sql_take_word(parser, "retain"))
        FIRN_TRY(need_age(parser, &out->retain));
    if (!out->is_tag && firn_sql_take_words(parser, "with snapshot retention"))
        FIRN_TRY(parse_snapshot_retention(parser, &out->snapshot_retention));
    return firn_sql_need_end(parser);
}

static firn_status need_ref_kind(struct firn_sql_parser *parser, struct firn_sql_ref *out)
{
    out->is_tag = firn_sql_take_word(parser, "tag");
    return out->is_tag || firn_sql_take_word(parser, "branch") ? FIRN_OK
                                                               : firn_sql_fail_expected(parser, "BRANCH or TAG");
}

static firn_status need_ref_name(struct firn_sql_parser *parser, struct firn_sql_ref *out)
{
    return firn_sql_need_identifier(parser, out->is_tag ? "the tag's name" : "the branch's name", &out->name);
}

static firn_status parse_create(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    out->kind = FIRN_SQL_CREATE_REF;
    out->ref.or_replace = firn_sql_take_words(parser, "or replace");
    FIRN_TRY(need_ref_kind(parser, &out->ref));
    out->ref.if_not_exists = firn_sql_take_words(parser, "if not exists");
    FIRN_TRY(need_ref_name(parser, &out->ref));
    return parse_ref_options(parser, &out->ref);
}

static firn_status parse_replace(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    out->kind = FIRN_SQL_CREATE_REF;
    out->ref.replace = true;
    FIRN_TRY(need_ref_kind(parser, &out->ref));
    FIRN_TRY(need_ref_name(parser, &out->ref));
    return parse_ref_options(parser, &out->ref);
}

static firn_status parse_drop(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    out->kind = FIRN_SQL_DROP_REF;
    FIRN_TRY(need_ref_kind(parser, &out->ref));
    out->ref.if_exists = firn_sql_take_words(parser, "if exists");
    FIRN_TRY(need_ref_name(parser, &out->ref));
    return firn_sql_need_end(parser);
}

/* A text, or words joined by dots. A text that follows is the value, not a part of the name. */
static firn_status need_property_key(struct firn_sql_parser *parser, struct firn_text *out)
{
    struct firn_sql_name name;
    if (firn_sql_peek(parser, 0)->kind == FIRN_TOKEN_STRING) {
        *out = firn_sql_take(parser)->text;
        return FIRN_OK;
    }
    FIRN_TRY(firn_sql_need_name(parser, "a property's name", &name));
    *out = name.items[0];
    for (size_t i = 1; i < name.count; i++)
        *out = firn_text_format(parser->op->arena, "%.*s.%.*s", FIRN_FMT(*out), FIRN_FMT(name.items[i]));
    return FIRN_OK;
}

/* [=] a text, a number, TRUE or FALSE. */
static firn_status need_property_value(struct firn_sql_parser *parser, struct firn_text *out)
{
    struct firn_sql_value value;
    firn_sql_take_symbol(parser, "=");
    FIRN_TRY(firn_sql_parse_constant(parser, &value));
    if (value.kind == FIRN_SQL_NULL || value.kind == FIRN_SQL_DATE || value.kind == FIRN_SQL_TIMESTAMP)
        return firn_sql_fail(parser->op, FIRN_USAGE, value.place,
                             "a property's value is a text, a number, true or false");
    *out = value.text;
    return FIRN_OK;
}

static firn_status check_key(struct firn_sql_parser *parser, const struct firn_sql_properties *known,
                             const struct firn_sql_property *property)
{
    if (property->key.len == 0)
        return firn_sql_fail(parser->op, FIRN_USAGE, property->place, "a property has an empty name");
    for (size_t i = 0; i < known->count; i++)
        if (firn_text_same(known->items[i].key, property->key))
            return firn_sql_fail(parser->op, FIRN_USAGE, property->place, "property '%.*s' is given twice",
                                 FIRN_FMT(property->key));
    return FIRN_OK;
}

/* TBLPROPERTIES (key [= value], ...) */
static firn_status parse_properties(struct firn_sql_parser *parser, bool with_values, struct firn_sql_properties *out)
{
    enum { PROPERTIES_MAX = 1000 };
    FIRN_TRY(firn_sql_need_symbol(parser, "("));
    do {
        struct firn_sql_property property = { .place = firn_sql_place_of(parser, firn_sql_peek(parser, 0)) };
        if (out->count == PROPERTIES_MAX)
            return firn_sql_fail(parser->op, FIRN_LIMIT, property.place, "more than %d properties", PROPERTIES_MAX);
        FIRN_TRY(need_property_key(parser, &property.key));
        FIRN_TRY(check_key(parser, out, &property));
        if (with_values)
            FIRN_TRY(need_property_value(parser, &property.value));
        FIRN_PUSH(parser->op->arena, out, property);
    } while (firn_sql_take_symbol(parser, ","));
    FIRN_TRY(firn_sql_need_symbol(parser, ")"));
    return firn_sql_need_end(parser);
}

static firn_status parse_set(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    out->kind = FIRN_SQL_SET_PROPERTIES;
    FIRN_TRY(firn_sql_need_words(parser, "TBLPROPERTIES"));
    return parse_properties(parser, true, &out->properties);
}

static firn_status parse_unset(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    out->kind = FIRN_SQL_UNSET_PROPERTIES;
    FIRN_TRY(firn_sql_need_words(parser, "TBLPROPERTIES"));
    firn_sql_take_words(parser, "if exists"); /* a missing property is no error either way, as in Spark */
    return parse_properties(parser, false, &out->properties);
}

/* The order's text, from the next token on; what follows it comes next. */
static firn_status parse_order(struct firn_sql_parser *parser, struct firn_text *out)
{
    size_t start = firn_sql_peek(parser, 0)->at, at = start;
    struct firn_order_terms terms;
    struct firn_text statement = firn_text_until(parser->script, parser->tokens.items[parser->tokens.count - 1].at);
    firn_status status = firn_order_parse(parser->op, statement, &at, &terms);
    if (status != FIRN_OK) {
        struct firn_sql_place place = firn_sql_place_at(parser, at);
        return firn_context(parser->op, status, "line %u, column %u", place.line, place.column);
    }
    *out = (struct firn_text){ statement.data + start, at - start };
    while (firn_sql_peek(parser, 0)->kind != FIRN_TOKEN_END && firn_sql_peek(parser, 0)->at < at)
        firn_sql_take(parser);
    return FIRN_OK;
}

/* A clause of WRITE; none when the statement ends. */
static firn_status parse_write_clause(struct firn_sql_parser *parser, struct firn_sql_write *out)
{
    if (!out->distributed_by_partition && firn_sql_take_words(parser, "distributed by partition")) {
        out->distributed_by_partition = true;
        return FIRN_OK;
    }
    if (out->unordered || out->order.len > 0)
        return firn_sql_fail_expected(parser, "the end of the statement, or ';',");
    out->unordered = firn_sql_take_word(parser, "unordered");
    if (out->unordered)
        return FIRN_OK;
    out->locally = firn_sql_take_word(parser, "locally");
    if (!firn_sql_take_words(parser, "ordered by"))
        return firn_sql_fail_expected(parser, "[LOCALLY] ORDERED BY, UNORDERED or DISTRIBUTED BY PARTITION");
    return parse_order(parser, &out->order);
}

static firn_status parse_write(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    out->kind = FIRN_SQL_WRITE;
    do
        FIRN_TRY(parse_write_clause(parser, &out->write));
    while (firn_sql_peek(parser, 0)->kind != FIRN_TOKEN_END);
    return FIRN_OK;
}

firn_status firn_sql_parse_alter(struct firn_sql_parser *parser, struct firn_sql_statement *out)
{
    static const struct {
        const char *word;
        firn_status (*parse)(struct firn_sql_parser *parser, struct firn_sql_statement *out);
    } actions[] = { { "create", parse_create }, { "replace", parse_replace }, { "drop", parse_drop },
                    { "set", parse_set },       { "unset", parse_unset },     { "write", parse_write } };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (firn_sql_take_word(parser, actions[i].word))
            return actions[i].parse(parser, out);
    return firn_sql_fail_expected(parser,
                                  "CREATE, REPLACE or DROP of a BRANCH or TAG, SET or UNSET TBLPROPERTIES, or WRITE");
}
