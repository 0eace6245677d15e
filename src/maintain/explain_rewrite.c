/* Conditions on functions of a column, said of the column itself: "year(t) = 2026" as a range of t. Only then can
 * partitions and bounds rule files out. Times are taken as UTC. */
#include "base/math.h"
#include "base/time.h"
#include "maintain/explain.h"

#define MICROS_PER_HOUR (3600 * FIRN_MICROS_PER_SECOND)

enum unit { UNIT_NONE, UNIT_HOUR, UNIT_DAY, UNIT_MONTH, UNIT_YEAR };

/* What a function rounds times to. */
static const struct {
    const char *function;
    const char *argument; /* NULL: none */
    enum unit unit;
} functions[] = {
    { "year", NULL, UNIT_YEAR },
    { "to_date", NULL, UNIT_DAY },
    { "date", NULL, UNIT_DAY },
    { "cast", "date", UNIT_DAY },
    { "date_format", "yyyy-MM-dd", UNIT_DAY },
    { "date_format", "yyyy-MM", UNIT_MONTH },
    { "date_format", "yyyy", UNIT_YEAR },
    { "date_trunc", "hour", UNIT_HOUR },
    { "date_trunc", "day", UNIT_DAY },
    { "date_trunc", "month", UNIT_MONTH },
    { "date_trunc", "year", UNIT_YEAR },
    { "trunc", "month", UNIT_MONTH },
    { "trunc", "year", UNIT_YEAR },
};

/* A formatted time equals only texts of its own length. */
static bool is_of_format(const struct firn_opaque *opaque, struct firn_text format)
{
    return firn_text_same(opaque->arguments[1], format) && opaque->value.len == format.len;
}

static enum unit unit_of(const struct firn_opaque *opaque)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(functions); i++) {
        bool is_format = firn_text_is(firn_text_of(functions[i].function), "date_format"); /* where MM is not mm */
        struct firn_text wanted = firn_text_of(functions[i].argument ? functions[i].argument : "");
        if (firn_text_same_nocase(opaque->function, firn_text_of(functions[i].function)) &&
            (is_format ? is_of_format(opaque, wanted) : firn_text_same_nocase(opaque->arguments[1], wanted)))
            return functions[i].unit;
    }
    return UNIT_NONE;
}

/* The first microsecond of the unit after the one that begins at `micros`. */
static int64_t next_of(enum unit unit, int64_t micros)
{
    if (unit == UNIT_HOUR || unit == UNIT_DAY)
        return micros + (unit == UNIT_HOUR ? MICROS_PER_HOUR : FIRN_MICROS_PER_DAY);
    struct firn_civil civil = firn_civil_of_days(firn_floor_div(micros, FIRN_MICROS_PER_DAY));
    civil.day = 1;
    civil.month += unit == UNIT_MONTH;
    civil.year += unit == UNIT_YEAR || civil.month > 12;
    civil.month = unit == UNIT_YEAR || civil.month > 12 ? 1 : civil.month;
    return firn_days_of_civil(civil) * FIRN_MICROS_PER_DAY;
}

/* Whether a unit begins there, in the years that have four digits. */
static bool is_begin(enum unit unit, int64_t micros)
{
    struct firn_civil civil = firn_civil_of_days(firn_floor_div(micros, FIRN_MICROS_PER_DAY));
    if (civil.year < 1 || civil.year > 9998)
        return false;
    switch (unit) {
    case UNIT_HOUR:
        return micros % MICROS_PER_HOUR == 0;
    case UNIT_DAY:
        return micros % FIRN_MICROS_PER_DAY == 0;
    case UNIT_MONTH:
        return micros % FIRN_MICROS_PER_DAY == 0 && civil.day == 1;
    default:
        return micros % FIRN_MICROS_PER_DAY == 0 && civil.day == 1 && civil.month == 1;
    }
}

static struct firn_text time_text(struct firn_arena *arena, const struct firn_field *field, int64_t micros)
{
    struct firn_text date = firn_date_text(arena, firn_floor_div(micros, FIRN_MICROS_PER_DAY));
    int64_t hour = (micros - firn_floor_div(micros, FIRN_MICROS_PER_DAY) * FIRN_MICROS_PER_DAY) / MICROS_PER_HOUR;
    if (field->type.id == FIRN_TYPE_DATE)
        return firn_text_format(arena, "DATE '%.*s'", FIRN_FMT(date));
    return firn_text_format(arena, "TIMESTAMP '%.*s %02d:00:00'", FIRN_FMT(date), (int)hour);
}

/* A name that needs no quotes; empty: it needs some. */
static struct firn_text plain_name(struct firn_arena *arena, const struct firn_schema *schema,
                                   const struct firn_field *field)
{
    struct firn_text name = firn_schema_name(arena, schema, field->id);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || !((c >= '0' && c <= '9') || c == '.')))
            return FIRN_TEXT("");
    }
    return name;
}

static struct firn_text rewrite_time(struct firn_arena *arena, struct firn_text name, const struct firn_predicate *leaf)
{
    const struct firn_opaque *opaque = leaf->opaque;
    enum unit unit = unit_of(opaque);
    int64_t begin;
    int32_t nanos;
    if (unit == UNIT_NONE || (leaf->field->type.id == FIRN_TYPE_DATE && unit == UNIT_HOUR) ||
        !firn_literal_timestamp(arena, opaque->value, &begin, &nanos) || nanos != 0 || !is_begin(unit, begin))
        return FIRN_TEXT("");
    struct firn_text low = time_text(arena, leaf->field, begin);
    struct firn_text high = time_text(arena, leaf->field, next_of(unit, begin));
    switch (opaque->compare) {
    case FIRN_PRED_EQ:
        return firn_text_format(arena, "%.*s >= %.*s AND %.*s < %.*s", FIRN_FMT(name), FIRN_FMT(low), FIRN_FMT(name),
                                FIRN_FMT(high));
    case FIRN_PRED_LT:
        return firn_text_format(arena, "%.*s < %.*s", FIRN_FMT(name), FIRN_FMT(low));
    case FIRN_PRED_LT_EQ:
        return firn_text_format(arena, "%.*s < %.*s", FIRN_FMT(name), FIRN_FMT(high));
    case FIRN_PRED_GT:
        return firn_text_format(arena, "%.*s >= %.*s", FIRN_FMT(name), FIRN_FMT(high));
    default:
        return firn_text_format(arena, "%.*s >= %.*s", FIRN_FMT(name), FIRN_FMT(low));
    }
}

/* left(c, 3) = 'abc', substring(c, 1, 3) = 'abc': the text has as many characters as are taken, and no wildcards. */
static struct firn_text rewrite_prefix(struct firn_arena *arena, struct firn_text name,
                                       const struct firn_opaque *opaque)
{
    bool is_left = firn_text_same_nocase(opaque->function, FIRN_TEXT("left"));
    bool is_substring = firn_text_same_nocase(opaque->function, FIRN_TEXT("substring")) ||
                        firn_text_same_nocase(opaque->function, FIRN_TEXT("substr"));
    int64_t taken;
    if ((!is_left && !(is_substring && firn_text_is(opaque->arguments[0], "1"))) || opaque->compare != FIRN_PRED_EQ ||
        !firn_text_to_i64(opaque->arguments[1], &taken) || taken != (int64_t)opaque->value.len || taken == 0)
        return FIRN_TEXT("");
    for (size_t i = 0; i < opaque->value.len; i++) {
        unsigned char c = (unsigned char)opaque->value.data[i];
        if (c >= 0x80 || c == '%' || c == '_' || c == '\\' || c == '\'')
            return FIRN_TEXT("");
    }
    return firn_text_format(arena, "%.*s LIKE '%.*s%%'", FIRN_FMT(name), FIRN_FMT(opaque->value));
}

struct firn_text firn_explain_rewrite_leaf(struct firn_arena *arena, const struct firn_schema *schema,
                                           const struct firn_predicate *leaf)
{
    struct firn_text name = plain_name(arena, schema, leaf->field);
    if (leaf->opaque->compare == FIRN_PRED_TRUE || name.len == 0)
        return FIRN_TEXT("");
    if (firn_type_has_date(leaf->field->type.id))
        return rewrite_time(arena, name, leaf);
    return leaf->field->type.id == FIRN_TYPE_STRING ? rewrite_prefix(arena, name, leaf->opaque) : FIRN_TEXT("");
}

/* A text that is written anew, piece by piece, leaves in any order. */
struct rewriting {
    struct firn_arena *arena;
    const struct firn_schema *schema;
    FIRN_ARRAY(const struct firn_opaque *) places;
    FIRN_ARRAY(struct firn_text) texts;
};

static void rewrite(void *context, const struct firn_predicate *leaf)
{
    struct rewriting *out = context;
    if (leaf->op != FIRN_PRED_OPAQUE)
        return;
    struct firn_text text = firn_explain_rewrite_leaf(out->arena, out->schema, leaf);
    if (text.len == 0)
        return;
    FIRN_PUSH(out->arena, &out->places, leaf->opaque);
    FIRN_PUSH(out->arena, &out->texts, text);
}

/* The place that stands next at or after `at`; `count`: none. */
static size_t next_place(const struct rewriting *rewriting, size_t at)
{
    size_t best = rewriting->places.count;
    for (size_t i = 0; i < rewriting->places.count; i++)
        if (rewriting->places.items[i]->at >= at &&
            (best == rewriting->places.count || rewriting->places.items[i]->at < rewriting->places.items[best]->at))
            best = i;
    return best;
}

struct firn_text firn_explain_rewrite(struct firn_arena *arena, struct firn_text where,
                                      const struct firn_schema *schema, const struct firn_predicate *predicate)
{
    struct rewriting rewriting = { .arena = arena, .schema = schema };
    struct firn_text out = FIRN_TEXT("");
    size_t at = 0;
    firn_explain_visit_leaves(predicate, rewrite, &rewriting);
    if (rewriting.places.count == 0)
        return out;
    for (size_t i; (i = next_place(&rewriting, at)) < rewriting.places.count;) {
        const struct firn_opaque *place = rewriting.places.items[i];
        struct firn_text before = firn_text_until(firn_text_from(where, at), place->at - at);
        out = firn_text_format(arena, "%.*s%.*s(%.*s)", FIRN_FMT(out), FIRN_FMT(before),
                               FIRN_FMT(rewriting.texts.items[i]));
        at = place->at + place->text.len;
    }
    return firn_text_join(arena, out, firn_text_from(where, at));
}
