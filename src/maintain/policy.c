/* Policies: the table of keys, values checked by it, and the layers of one table's policy. */
#include "maintain/policy.h"

#include "base/math.h"
#include "base/time.h"
#include "format/json/json.h"
#include "format/yaml/yaml.h"
#include "maintain/age.h"
#include "table/metadata.h"

struct row {
    const char *key;
    enum firn_policy_kind kind;
    const char *fallback;
    int64_t min, max;
    const char *choices;
    const char *help;
};

static const struct row rows[] = {
#define ROW(id, key, kind, fallback, min, max, choices, help)                                                          \
    [FIRN_POLICY_##id] = { key, FIRN_SETTING_##kind, fallback, min, max, choices, help },
    FIRN_POLICY_TABLE(ROW)
#undef ROW
};

const char *firn_policy_key_name(enum firn_policy_key key)
{
    return rows[key].key;
}

static bool find_key(struct firn_text name, enum firn_policy_key *out)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++) {
        *out = (enum firn_policy_key)i;
        if (firn_text_is(name, rows[i].key))
            return true;
    }
    return false;
}

/* Windows -------------------------------------------------------------------------------------------------------- */

enum { MINUTES_PER_DAY = 24 * 60 };

struct window {
    int32_t from, to; /* minutes of the day; to <= from: past midnight */
};

/* "HH:MM"; 24:00 is the end of the day. */
static bool parse_minutes(struct firn_text text, int32_t *out)
{
    int64_t hours, minutes;
    ptrdiff_t colon = firn_text_find(text, ':');
    if (colon <= 0 || !firn_text_to_i64(firn_text_until(text, (size_t)colon), &hours) ||
        !firn_text_to_i64(firn_text_from(text, (size_t)colon + 1), &minutes))
        return false;
    if (hours < 0 || hours > 24 || minutes < 0 || minutes > 59 || hours * 60 + minutes > MINUTES_PER_DAY)
        return false;
    *out = (int32_t)(hours * 60 + minutes);
    return true;
}

/* Takes the first window off `rest`. False for what is none. */
static bool next_window(struct firn_text *rest, struct window *out)
{
    ptrdiff_t comma = firn_text_find(*rest, ',');
    struct firn_text one = firn_text_trim(comma < 0 ? *rest : firn_text_until(*rest, (size_t)comma));
    ptrdiff_t dash = firn_text_find(one, '-');
    *rest = firn_text_from(*rest, comma < 0 ? rest->len : (size_t)comma + 1);
    return dash > 0 && parse_minutes(firn_text_trim(firn_text_until(one, (size_t)dash)), &out->from) &&
           parse_minutes(firn_text_trim(firn_text_from(one, (size_t)dash + 1)), &out->to) && out->from != out->to;
}

static bool are_windows(struct firn_text text)
{
    struct window window;
    while (text.len > 0)
        if (!next_window(&text, &window))
            return false;
    return true;
}

static bool is_in(struct window window, int32_t minute)
{
    if (window.from < window.to)
        return minute >= window.from && minute < window.to;
    return minute >= window.from || minute < window.to;
}

static int32_t minute_of(int64_t now_ms)
{
    return (int32_t)(firn_floor_mod(now_ms, FIRN_MS_PER_DAY) / 60000);
}

bool firn_windows_open(struct firn_text windows, int64_t now_ms)
{
    struct window window;
    if (windows.len == 0)
        return true;
    while (windows.len > 0)
        if (next_window(&windows, &window) && is_in(window, minute_of(now_ms)))
            return true;
    return false;
}

int64_t firn_windows_next(struct firn_text windows, int64_t now_ms)
{
    struct window window;
    int32_t now = minute_of(now_ms), wait = MINUTES_PER_DAY;
    if (firn_windows_open(windows, now_ms))
        return now_ms;
    while (windows.len > 0)
        if (next_window(&windows, &window))
            wait = FIRN_MIN(wait, (window.from - now + MINUTES_PER_DAY) % MINUTES_PER_DAY);
    return now_ms - firn_floor_mod(now_ms, 60000) + wait * INT64_C(60000);
}

/* Values --------------------------------------------------------------------------------------------------------- */

static bool parse_choice(const char *choices, struct firn_text text, int64_t *out)
{
    struct firn_text rest = firn_text_of(choices);
    for (*out = 0; rest.len > 0; ++*out) {
        ptrdiff_t bar = firn_text_find(rest, '|');
        if (firn_text_same_nocase(text, bar < 0 ? rest : firn_text_until(rest, (size_t)bar)))
            return true;
        rest = firn_text_from(rest, bar < 0 ? rest.len : (size_t)bar + 1);
    }
    return false;
}

static bool parse_flag(struct firn_text text, int64_t *out)
{
    *out = firn_text_to_bool(text);
    return *out || firn_text_same_nocase(text, FIRN_TEXT("false"));
}

static bool is_ratio(struct firn_text text)
{
    double ratio;
    return firn_text_to_f64(text, &ratio) && ratio > 0 && ratio <= 1;
}

static bool parse_age(struct firn_op *op, struct firn_text text, int64_t *out)
{
    struct firn_op trial = *op; /* what is wrong is said by the caller */
    *out = FIRN_POLICY_NEVER;
    return firn_text_same_nocase(text, FIRN_TEXT("never")) || firn_age_parse(&trial, "", text, out) == FIRN_OK;
}

static bool parse_value(struct firn_op *op, const struct row *row, struct firn_text text, int64_t *out)
{
    *out = FIRN_POLICY_UNSET;
    switch (row->kind) {
    case FIRN_SETTING_AGE:
        return parse_age(op, text, out);
    case FIRN_SETTING_NUMBER:
        return firn_text_to_i64(text, out);
    case FIRN_SETTING_BYTES:
        return firn_text_to_bytes(text, out);
    case FIRN_SETTING_RATIO:
        return is_ratio(text);
    case FIRN_SETTING_FLAG:
        return parse_flag(text, out);
    case FIRN_SETTING_CHOICE:
        return parse_choice(row->choices, text, out);
    case FIRN_SETTING_WINDOWS:
        return are_windows(text);
    case FIRN_SETTING_TEXT:
        return true;
    }
    return false;
}

/* What a value should be, in words. */
static struct firn_text wanted(struct firn_arena *arena, const struct row *row)
{
    static const char *const words[] = {
        [FIRN_SETTING_AGE] = "a time such as 30m, 1h, 7d, or never",
        [FIRN_SETTING_NUMBER] = "a whole number",
        [FIRN_SETTING_BYTES] = "a size such as 512MiB",
        [FIRN_SETTING_RATIO] = "a number above 0 and at most 1",
        [FIRN_SETTING_FLAG] = "true or false",
        [FIRN_SETTING_WINDOWS] = "times of day such as 22:00-06:00, 12:00-13:00",
        [FIRN_SETTING_TEXT] = "a text",
    };
    if (row->kind == FIRN_SETTING_CHOICE)
        return firn_text_format(arena, "one of %s", row->choices);
    return firn_text_of(words[row->kind]);
}

static bool has_range(const struct row *row)
{
    return row->kind == FIRN_SETTING_AGE || row->kind == FIRN_SETTING_NUMBER || row->kind == FIRN_SETTING_BYTES;
}

/* A bound as people give it. */
static struct firn_text bound_text(struct firn_arena *arena, const struct row *row, int64_t bound)
{
    if (row->kind == FIRN_SETTING_AGE)
        return firn_text_format(arena, "%" PRId64 "s", bound / 1000);
    return firn_text_format(arena, "%" PRId64, bound);
}

/* An empty text takes a setting back. */
static firn_status set_value(struct firn_op *op, struct firn_policy *policy, enum firn_policy_key key,
                             struct firn_text text, struct firn_text from)
{
    const struct row *row = &rows[key];
    struct firn_policy_value value = { firn_text_copy(op->arena, firn_text_trim(text)), FIRN_POLICY_UNSET, from };
    if (value.text.len == 0)
        value.text = firn_text_of(row->fallback);
    if (value.text.len > 0 && !parse_value(op, row, value.text, &value.number))
        return firn_fail(op, FIRN_USAGE, "%.*s: %s is '%.*s', not %.*s", FIRN_FMT(from), row->key, FIRN_FMT(value.text),
                         FIRN_FMT(wanted(op->arena, row)));
    if (value.text.len > 0 && has_range(row) && (value.number < row->min || value.number > row->max))
        return firn_fail(op, FIRN_USAGE, "%.*s: %s is '%.*s', it must be %s %.*s", FIRN_FMT(from), row->key,
                         FIRN_FMT(value.text), value.number < row->min ? "at least" : "at most",
                         FIRN_FMT(bound_text(op->arena, row, value.number < row->min ? row->min : row->max)));
    policy->values[key] = value;
    return FIRN_OK;
}

static void set_defaults(struct firn_op *op, struct firn_policy *policy)
{
    for (size_t i = 0; i < FIRN_POLICY_COUNT; i++) {
        firn_status status =
            set_value(op, policy, (enum firn_policy_key)i, firn_text_of(rows[i].fallback), FIRN_TEXT("default"));
        FIRN_IGNORE(status, "a test sees that every default is a value of its key");
    }
}

/* Names ---------------------------------------------------------------------------------------------------------- */

/* The last part of a key is what people get wrong most: "compact.evrey". */
static firn_status unknown_key(struct firn_op *op, struct firn_text name, struct firn_text from)
{
    const char *best = NULL;
    size_t best_distance = FIRN_MIN(name.len / 3 + 1, 6);
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++) {
        size_t distance = firn_text_distance(firn_text_of(rows[i].key), name);
        if (distance >= best_distance)
            continue;
        best = rows[i].key;
        best_distance = distance;
    }
    firn_status status = firn_fail(op, FIRN_USAGE, "%.*s: policies have no key '%.*s'", FIRN_FMT(from), FIRN_FMT(name));
    if (best)
        return firn_hint(op, status, "did you mean %s?", best);
    return firn_hint(op, status, "'firn maintain --print-policy' lists the keys");
}

static firn_status set_by_name(struct firn_op *op, struct firn_policy *policy, struct firn_text name,
                               struct firn_text text, struct firn_text from)
{
    enum firn_policy_key key;
    if (!find_key(name, &key))
        return unknown_key(op, name, from);
    return set_value(op, policy, key, text, from);
}

/* Files ---------------------------------------------------------------------------------------------------------- */

enum scope { SCOPE_DEFAULTS, SCOPE_NAMESPACES, SCOPE_TABLES, SCOPE_COUNT };
static const char *const scope_names[] = { "defaults", "namespaces", "tables" };
_Static_assert(FIRN_COUNT_OF(scope_names) == SCOPE_COUNT, "one name per scope");

struct setting {
    enum scope scope;
    struct firn_text name; /* of the namespace or table */
    struct firn_text key, value, from;
};
struct firn_policies {
    FIRN_ARRAY(struct setting) settings; /* as files say them */
};

struct firn_policies *firn_policies_new(struct firn_op *op)
{
    return FIRN_NEW(op->arena, struct firn_policies);
}

/* One of a few words, or an error that suggests one. */
static firn_status pick_word(struct firn_op *op, const struct firn_yaml_value *value, struct firn_text word,
                             const char *const *words, size_t count, size_t *out)
{
    size_t best = 0;
    for (*out = 0; *out < count; ++*out) {
        if (firn_text_is(word, words[*out]))
            return FIRN_OK;
        if (firn_text_distance(word, firn_text_of(words[*out])) < firn_text_distance(word, firn_text_of(words[best])))
            best = *out;
    }
    firn_status status = firn_yaml_fail(op, FIRN_USAGE, value, "'%.*s' is not known here", FIRN_FMT(word));
    return firn_hint(op, status, "did you mean %s?", words[best]);
}

/* The keys from `start` on, joined. */
static struct firn_text joined_key(struct firn_arena *arena, const struct firn_yaml_value *value, size_t start)
{
    struct firn_text key = value->path[start];
    for (size_t i = start + 1; i < value->depth; i++)
        key = firn_text_format(arena, "%.*s.%.*s", FIRN_FMT(key), FIRN_FMT(value->path[i]));
    return key;
}

static firn_status take_setting(struct firn_op *op, struct firn_policies *policies, const struct firn_yaml_value *value,
                                struct setting setting)
{
    struct firn_policy trial;
    setting.value = value->text;
    setting.from = firn_text_format(op->arena, "%.*s, line %zu", FIRN_FMT(value->file_name), value->line);
    FIRN_TRY(set_by_name(op, &trial, setting.key, setting.value, setting.from));
    FIRN_PUSH(op->arena, &policies->settings, setting);
    return FIRN_OK;
}

/* Below "maintain". */
static firn_status take_maintain(struct firn_op *op, struct firn_policies *policies,
                                 const struct firn_yaml_value *value)
{
    size_t scope;
    bool is_empty = value->kind == FIRN_YAML_MAPPING || value->text.len == 0;
    if (value->kind == FIRN_YAML_LIST)
        return firn_yaml_fail(op, FIRN_USAGE, value, "a policy has no lists");
    if (value->depth == 1)
        return is_empty ? FIRN_OK : firn_yaml_fail(op, FIRN_USAGE, value, "a mapping is wanted behind maintain");
    FIRN_TRY(pick_word(op, value, value->path[1], scope_names, SCOPE_COUNT, &scope));
    size_t start = scope == SCOPE_DEFAULTS ? 2 : 3;
    if (value->depth <= start || value->kind == FIRN_YAML_MAPPING)
        return is_empty ? FIRN_OK : firn_yaml_fail(op, FIRN_USAGE, value, "a mapping of settings is wanted here");
    struct setting setting = { .scope = (enum scope)scope, .key = joined_key(op->arena, value, start) };
    if (scope != SCOPE_DEFAULTS)
        setting.name = value->path[2];
    return take_setting(op, policies, value, setting);
}

/* Sections that other parts of firn, or PyIceberg, read. */
static firn_status take_value(struct firn_op *op, void *context, const struct firn_yaml_value *value)
{
    static const char *const sections[] = { "maintain", "catalog", "default-catalog", "health", "prices" };
    size_t section;
    FIRN_TRY(pick_word(op, value, value->path[0], sections, FIRN_COUNT_OF(sections), &section));
    return section == 0 ? take_maintain(op, context, value) : FIRN_OK;
}

firn_status firn_policies_parse(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                                struct firn_policies *policies)
{
    return firn_yaml_read(op, yaml, file_name, take_value, policies);
}

/* Layers --------------------------------------------------------------------------------------------------------- */

/* Whether `name` lies in the namespace, or in one below: "a.b.t" in "a" and "a.b". */
static bool is_in_namespace(struct firn_text name, struct firn_text outer)
{
    return name.len > outer.len && firn_text_starts(name, outer) && name.data[outer.len] == '.';
}

/* Names are given with the catalog before them, or without. */
static bool concerns(const struct setting *setting, const struct firn_table *table)
{
    switch (setting->scope) {
    case SCOPE_NAMESPACES:
        return is_in_namespace(table->name, setting->name) || is_in_namespace(table->identifier, setting->name);
    case SCOPE_TABLES:
        return firn_text_same(table->name, setting->name) || firn_text_same(table->identifier, setting->name);
    default:
        return true;
    }
}

static firn_status apply_scope(struct firn_op *op, const struct firn_policies *policies, enum scope scope,
                               size_t name_len, const struct firn_table *table, struct firn_policy *policy)
{
    for (size_t i = 0; i < policies->settings.count; i++) {
        const struct setting *setting = &policies->settings.items[i];
        if (setting->scope == scope && setting->name.len == name_len && concerns(setting, table))
            FIRN_TRY(set_by_name(op, policy, setting->key, setting->value, setting->from));
    }
    return FIRN_OK;
}

/* Of namespaces, and of a table with and without its catalog, the longer name is the more exact one. */
static firn_status apply_names(struct firn_op *op, const struct firn_policies *policies, const struct firn_table *table,
                               struct firn_policy *policy)
{
    for (size_t len = 1; len < table->name.len; len++)
        FIRN_TRY(apply_scope(op, policies, SCOPE_NAMESPACES, len, table, policy));
    for (size_t len = 1; len <= table->name.len; len++)
        FIRN_TRY(apply_scope(op, policies, SCOPE_TABLES, len, table, policy));
    return FIRN_OK;
}

static firn_status apply_properties(struct firn_op *op, const struct firn_metadata *metadata,
                                    struct firn_policy *policy)
{
    static const struct firn_text prefix = FIRN_TEXT_INIT(FIRN_POLICY_PROPERTY_PREFIX);
    json_t *properties = json_object_get(metadata->root, "properties"), *value;
    const char *key;
    json_object_foreach(properties, key, value)
    {
        if (!firn_text_starts(firn_text_of(key), prefix))
            continue;
        struct firn_text from = firn_text_format(op->arena, "table property %s", key);
        struct firn_text text = { json_string_value(value), json_string_length(value) };
        FIRN_TRY(set_by_name(op, policy, firn_text_from(firn_text_of(key), prefix.len), text, from));
    }
    return FIRN_OK;
}

firn_status firn_policy_of(struct firn_op *op, const struct firn_policies *policies, const struct firn_table *table,
                           const struct firn_property *given, size_t given_count, struct firn_policy **out)
{
    struct firn_policy *policy = FIRN_NEW(op->arena, struct firn_policy);
    set_defaults(op, policy);
    FIRN_TRY(apply_scope(op, policies, SCOPE_DEFAULTS, 0, table, policy));
    if (table) {
        FIRN_TRY(apply_names(op, policies, table, policy));
        FIRN_TRY(apply_properties(op, table->metadata, policy));
    }
    for (size_t i = 0; i < given_count; i++)
        FIRN_TRY(set_by_name(op, policy, given[i].key, given[i].value, FIRN_TEXT("given")));
    *out = policy;
    return FIRN_OK;
}

json_t *firn_policy_json(struct firn_op *op, const struct firn_policy *policy)
{
    json_t *list = firn_json_own(op->arena, json_array());
    for (size_t i = 0; i < FIRN_POLICY_COUNT; i++) {
        json_t *item = json_object();
        firn_json_set_text(item, "key", firn_text_of(rows[i].key));
        firn_json_set_text(item, "value", policy->values[i].text);
        firn_json_set_text(item, "from", policy->values[i].from);
        firn_json_set_text(item, "help", firn_text_of(rows[i].help));
        json_array_append_new(list, item);
    }
    return list;
}
