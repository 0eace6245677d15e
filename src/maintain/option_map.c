/* Options by table. */
#include "maintain/option_map.h"

#include "format/json/json.h"

static int64_t whole_value(const void *options, const struct firn_option_row *row)
{
    int64_t value;
    memcpy(&value, (const char *)options + row->at, sizeof value);
    return value;
}

static const struct firn_option_row *find_row(const struct firn_option_map *map, struct firn_text key)
{
    for (size_t i = 0; i < map->row_count; i++)
        if (firn_text_is(key, map->rows[i].key))
            return &map->rows[i];
    return NULL;
}

bool firn_option_map_has(const struct firn_option_map *map, struct firn_text key)
{
    return find_row(map, key);
}

static firn_status check_keys(struct firn_op *op, const struct firn_option_map *map,
                              const struct firn_property *options, size_t count)
{
    struct firn_text unknown = { 0 };
    for (size_t i = 0; i < count; i++) {
        struct firn_text key = options[i].key;
        if (!find_row(map, key))
            unknown = unknown.len ? firn_text_format(op->arena, "%.*s, %.*s", FIRN_FMT(unknown), FIRN_FMT(key)) : key;
    }
    if (!unknown.data)
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "options that %s does not have: %.*s", map->owner, FIRN_FMT(unknown));
}

static firn_status parse_whole(struct firn_op *op, const struct firn_option_row *row, struct firn_text text,
                               int64_t *out)
{
    if (!firn_text_to_i64(firn_text_trim(text), out))
        return firn_fail(op, FIRN_USAGE, "option %s is \"%.*s\", not a whole number", row->key, FIRN_FMT(text));
    if (*out < row->min || *out > row->max)
        return firn_fail(op, FIRN_USAGE, "option %s is %" PRId64 ", it must be %s %" PRId64, row->key, *out,
                         *out < row->min ? "at least" : "at most", *out < row->min ? row->min : row->max);
    return FIRN_OK;
}

static firn_status parse_ratio(struct firn_op *op, const struct firn_option_row *row, struct firn_text text,
                               double *out)
{
    if (!firn_text_to_f64(firn_text_trim(text), out))
        return firn_fail(op, FIRN_USAGE, "option %s is \"%.*s\", not a number", row->key, FIRN_FMT(text));
    if (!(*out > 0 && (*out <= 1 || row->kind == FIRN_OPTION_FACTOR)))
        return firn_fail(op, FIRN_USAGE, "option %s is %g, it must be above 0%s", row->key, *out,
                         row->kind == FIRN_OPTION_FACTOR ? "" : " and at most 1");
    return FIRN_OK;
}

static firn_status parse_choice(struct firn_op *op, const struct firn_option_row *row, struct firn_text text,
                                int64_t *out)
{
    struct firn_text names = { 0 };
    for (int64_t i = 0; row->choices[i]; i++) {
        if (firn_text_same_nocase(firn_text_trim(text), firn_text_of(row->choices[i]))) {
            *out = i;
            return FIRN_OK;
        }
        names = firn_text_format(op->arena, "%.*s%s%s", FIRN_FMT(names), i ? ", " : "", row->choices[i]);
    }
    return firn_fail(op, FIRN_USAGE, "option %s is \"%.*s\", not one of %.*s", row->key, FIRN_FMT(text),
                     FIRN_FMT(names));
}

static firn_status parse_option(struct firn_op *op, const struct firn_option_row *row, struct firn_text text, void *out)
{
    void *member = (char *)out + row->at;
    switch (row->kind) {
    case FIRN_OPTION_WHOLE:
        return parse_whole(op, row, text, member);
    case FIRN_OPTION_RATIO:
    case FIRN_OPTION_FACTOR:
        return parse_ratio(op, row, text, member);
    case FIRN_OPTION_CHOICE:
        return parse_choice(op, row, text, member);
    case FIRN_OPTION_FLAG:
        *(bool *)member = firn_text_to_bool(firn_text_trim(text));
        return FIRN_OK;
    }
    return FIRN_OK;
}

firn_status firn_option_map_parse(struct firn_op *op, const struct firn_option_map *map,
                                  const struct firn_property *options, size_t count, void *out)
{
    FIRN_TRY(check_keys(op, map, options, count));
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(parse_option(op, find_row(map, options[i].key), options[i].value, out));
    return FIRN_OK;
}

static json_t *option_json(const void *options, const struct firn_option_row *row)
{
    double ratio;
    bool flag;
    switch (row->kind) {
    case FIRN_OPTION_WHOLE:
        return json_integer(whole_value(options, row));
    case FIRN_OPTION_CHOICE:
        return json_string(row->choices[whole_value(options, row)]);
    case FIRN_OPTION_FLAG:
        memcpy(&flag, (const char *)options + row->at, sizeof flag);
        return json_boolean(flag);
    case FIRN_OPTION_RATIO:
    case FIRN_OPTION_FACTOR:
        memcpy(&ratio, (const char *)options + row->at, sizeof ratio);
        return json_real(ratio);
    }
    return json_null();
}

json_t *firn_option_map_json(const struct firn_option_map *map, const void *options)
{
    json_t *json = json_object();
    for (size_t i = 0; i < map->row_count; i++)
        firn_json_set(json, map->rows[i].key, option_json(options, &map->rows[i]));
    return json;
}

struct firn_text firn_option_map_settings(struct firn_arena *arena, const struct firn_option_map *map,
                                          const void *options, struct firn_text where)
{
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < map->row_count; i++) {
        if (!map->rows[i].chooses)
            continue;
        json_t *value = option_json(options, &map->rows[i]);
        struct firn_text printed = firn_json_text(arena, value, 0);
        json_decref(value);
        text = firn_text_format(arena, "%.*s%s=%.*s ", FIRN_FMT(text), map->rows[i].key, FIRN_FMT(printed));
    }
    return firn_text_format(arena, "%.*swhere=%.*s", FIRN_FMT(text), FIRN_FMT(where));
}
