/* The property that makes pruning safe: where a row matches, no test of its partition, its manifest or its file says
 * that none can. Rows, specs and predicates are drawn at random around few values, so that they meet often; the row
 * itself is judged by a plain evaluator of SQL's three-valued logic written here. A failure prints its seed. */
#include "check.h"

#include "base/math.h"
#include "table/metrics.h"

#include "table/expression.h"

#include <math.h>

#define RUNS  4000
#define ROWS  6
#define WORDS 6

static const struct {
    const char *name, *type;
    const char *transforms[8];
    const char *literals[WORDS]; /* SQL */
    const char *values[WORDS];   /* JSON, the same */
} columns[] = {
    { "i",
      "int",
      { "identity", "bucket[3]", "truncate[10]", "void" },
      { "0", "-1", "5", "-2147483648", "2147483647", "4.5" },
      { "0", "-1", "5", "-2147483648", "2147483647", "4" } },
    { "n",
      "long",
      { "identity", "bucket[3]", "truncate[7]", "void" },
      { "0", "-9223372036854775808", "9223372036854775807", "6", "-6", "1e3" },
      { "0", "-9223372036854775808", "9223372036854775807", "6", "-6", "1000" } },
    { "dec",
      "decimal(4, 2)",
      { "identity", "bucket[3]", "truncate[50]" },
      { "0", "-0.05", "1.25", "99.99", "-99.99", "1.255" },
      { "\"0.00\"", "\"-0.05\"", "\"1.25\"", "\"99.99\"", "\"-99.99\"", "\"1.26\"" } },
    { "s",
      "string",
      { "identity", "bucket[3]", "truncate[2]", "truncate[1]" },
      { "''", "'a'", "'ab'", "'abc'", "'b'", "'\xc3\xa9\xc3\xa9\xc3\xa9'" },
      { "\"\"", "\"a\"", "\"ab\"", "\"abc\"", "\"b\"", "\"\xc3\xa9\xc3\xa9\xc3\xa9\"" } },
    { "b",
      "binary",
      { "identity", "bucket[3]", "truncate[1]" },
      { "X''", "X'00'", "X'00ff'", "X'ff'", "X'ffff'", "X'61'" },
      { "\"\"", "\"00\"", "\"00ff\"", "\"ff\"", "\"ffff\"", "\"61\"" } },
    { "d",
      "date",
      { "identity", "bucket[3]", "year", "month", "day" },
      { "'1970-01-01'", "'1969-12-31'", "'1969-01-01'", "'2024-02-29'", "'2024-03-01'",
        "timestamp '1969-12-31 06:00:00'" },
      { "\"1970-01-01\"", "\"1969-12-31\"", "\"1969-01-01\"", "\"2024-02-29\"", "\"2024-03-01\"", "\"1970-01-02\"" } },
    { "ts",
      "timestamp",
      { "identity", "bucket[3]", "year", "month", "day", "hour" },
      { "'1970-01-01'", "'1969-12-31 23:59:59.999999'", "'1969-12-31 23:00:00'", "'2024-02-29 10:00:00'",
        "'2024-03-01'", "'1968-01-01 00:00:00.000001'" },
      { "\"1970-01-01T00:00:00\"", "\"1969-12-31T23:59:59.999999\"", "\"1969-12-31T23:00:00\"",
        "\"2024-02-29T10:00:00\"", "\"2024-03-01T00:00:00\"", "\"1968-01-01T00:00:00.000001\"" } },
    { "ns",
      "timestamptz_ns",
      { "identity", "bucket[3]", "year", "day", "hour" },
      { "'1970-01-01'", "'1969-12-31 23:59:59.999999999'", "'1969-12-31 23:00:00'", "'2024-02-29 10:00:00'",
        "'9999-01-01'", "'1968-01-01'" },
      { "\"1970-01-01T00:00:00+00:00\"", "\"1969-12-31T23:59:59.999999999+00:00\"", "\"1969-12-31T23:00:00+00:00\"",
        "\"2024-02-29T10:00:00+00:00\"", "\"2024-03-01T00:00:00+00:00\"", "\"1968-01-01T00:00:00+00:00\"" } },
    { "x",
      "double",
      { "identity" },
      { "0", "-0.0", "1.5", "'NaN'", "'Infinity'", "-2" },
      { "0.0", "-0.0", "1.5", "1e999", "1e308", "-2.0" } },
    { "f",
      "float",
      { "identity" },
      { "0", "0.1", "1.5", "'NaN'", "'-Infinity'", "-2" },
      { "0.0", "0.1", "1.5", "1e999", "1e30", "-2.0" } },
    { "u",
      "uuid",
      { "identity", "bucket[3]" },
      { "'00000000-0000-0000-0000-000000000000'", "'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
        "'f79c3e09-677c-4bbd-a479-3f349cb785e8'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
        "'80000000-0000-0000-0000-000000000000'", "'7fffffff-0000-0000-0000-000000000000'" },
      { "\"00000000-0000-0000-0000-000000000000\"", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"",
        "\"f79c3e09-677c-4bbd-a479-3f349cb785e8\"", "\"ffffffff-ffff-ffff-ffff-ffffffffffff\"",
        "\"80000000-0000-0000-0000-000000000000\"", "\"7fffffff-0000-0000-0000-000000000000\"" } },
    { "flag",
      "boolean",
      { "identity" },
      { "true", "false", "true", "false", "'true'", "'false'" },
      { "true", "false", "true", "false", "true", "false" } },
};
#define COLUMNS FIRN_COUNT_OF(columns)

struct world {
    struct firn_op *op;
    uint64_t random;
    struct firn_schema schema;
};

/* The values of one row, by column. */
struct row {
    struct firn_value values[COLUMNS];
};

static uint32_t draw(struct world *world, uint32_t below)
{
    world->random = world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(world->random >> 33) % below;
}

static json_t *json_of(struct world *world, struct firn_text text)
{
    json_t *json;
    CHECK_OK(world->op, firn_json_parse(world->op, text, "json", &json));
    return json;
}

static void make_schema(struct world *world)
{
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < COLUMNS; i++)
        text =
            firn_text_format(world->op->arena, "%.*s%s{\"id\":%zu,\"name\":\"%s\",\"required\":false,\"type\":\"%s\"}",
                             FIRN_FMT(text), i ? "," : "", i + 1, columns[i].name, columns[i].type);
    text = firn_text_format(world->op->arena, "{\"type\":\"struct\",\"fields\":[%.*s]}", FIRN_FMT(text));
    CHECK_OK(world->op, firn_schema_parse(world->op, json_of(world, text), &world->schema));
}

static struct firn_value draw_value(struct world *world, size_t column)
{
    const struct firn_type *type = &world->schema.root.fields[column].type;
    struct firn_value value = { .type = type->id, .is_null = draw(world, 6) == 0 };
    uint32_t word = draw(world, WORDS);
    const char *text = columns[column].values[word];
    if (value.is_null)
        return value;
    if (strcmp(text, "1e999") == 0) /* no JSON number: stands for NaN */
        value.real = (double)NAN;
    else
        CHECK_OK(world->op, firn_value_parse_json(world->op, type, json_of(world, firn_text_of(text)), &value));
    return value;
}

/* A random condition; `depth` bounds its nesting. */
static struct firn_text draw_where(struct world *world, int depth)
{
    static const char *const comparisons[] = { "=", "<>", "<", "<=", ">", ">=", "<=>" };
    struct firn_arena *arena = world->op->arena;
    if (depth > 0 && draw(world, 2)) {
        struct firn_text left = draw_where(world, depth - 1), right = draw_where(world, depth - 1);
        return firn_text_format(arena, "%s(%.*s %s %.*s)", draw(world, 3) ? "" : "NOT ", FIRN_FMT(left),
                                draw(world, 2) ? "AND" : "OR", FIRN_FMT(right));
    }
    size_t column = draw(world, COLUMNS);
    const char *name = columns[column].name, *not = draw(world, 3) ? "" : "NOT ";
    const char *one = columns[column].literals[draw(world, WORDS)], *two = columns[column].literals[draw(world, WORDS)];
    switch (draw(world, 8)) {
    case 0:
        return firn_text_format(arena, "%s %sIN (%s, %s%s)", name, not, one, two, draw(world, 4) ? "" : ", NULL");
    case 1:
        return firn_text_format(arena, "%s %sBETWEEN %s AND %s", name, not, one, two);
    case 2:
        return firn_text_format(arena, "%s IS %sNULL", name, not );
    case 3:
        if (strcmp(name, "s") == 0)
            return firn_text_format(arena, "s %sLIKE '%s%%'", not, draw(world, 2) ? "ab" : "\xc3\xa9");
        if (strcmp(name, "x") == 0 || strcmp(name, "f") == 0)
            return firn_text_format(arena, "%sisnan(%s)", not, name);
        return firn_text_format(arena, "%s%s = NULL", not, name);
    case 4:
        return firn_text_format(arena, "%s%s < %s", not, one, name);
    default:
        return firn_text_format(arena, "%s%s %s %s", not, name, comparisons[draw(world, FIRN_COUNT_OF(comparisons))],
                                one);
    }
}

/* (3) of expression_eval.c, written once more: -0.0 equals 0.0, NaN is one and greatest. */
static int order(const struct firn_value *a, const struct firn_value *b)
{
    if (a->type != FIRN_TYPE_DOUBLE && a->type != FIRN_TYPE_FLOAT)
        return firn_value_compare(a, b);
    if (isnan(a->real) || isnan(b->real))
        return (isnan(a->real) != 0) - (isnan(b->real) != 0);
    return (a->real > b->real) - (a->real < b->real);
}

static bool is_one_of(const struct firn_value *value, const struct firn_predicate *leaf)
{
    for (uint32_t i = 0; i < leaf->value_count; i++)
        if (order(value, &leaf->values[i]) == 0)
            return true;
    return false;
}

static bool leaf_matches(const struct firn_predicate *leaf, const struct firn_value *value)
{
    bool real = value->type == FIRN_TYPE_DOUBLE || value->type == FIRN_TYPE_FLOAT;
    bool nan = !value->is_null && real && isnan(value->real);
    if (leaf->op == FIRN_PRED_IS_NULL || leaf->op == FIRN_PRED_NOT_NULL)
        return value->is_null == (leaf->op == FIRN_PRED_IS_NULL);
    if (leaf->op == FIRN_PRED_IS_NAN || leaf->op == FIRN_PRED_NOT_NAN)
        return nan == (leaf->op == FIRN_PRED_IS_NAN);
    if (value->is_null)
        return false;
    int sign = order(value, leaf->values);
    switch (leaf->op) {
    case FIRN_PRED_LT:
        return sign < 0;
    case FIRN_PRED_LT_EQ:
        return sign <= 0;
    case FIRN_PRED_GT:
        return sign > 0;
    case FIRN_PRED_GT_EQ:
        return sign >= 0;
    case FIRN_PRED_STARTS_WITH:
    case FIRN_PRED_NOT_STARTS_WITH:
        return firn_text_starts(firn_text_of_bytes(value->bytes), firn_text_of_bytes(leaf->values[0].bytes)) ==
               (leaf->op == FIRN_PRED_STARTS_WITH);
    default:
        return is_one_of(value, leaf) == (leaf->op == FIRN_PRED_EQ || leaf->op == FIRN_PRED_IN);
    }
}

static bool matches(const struct firn_predicate *predicate, const struct row *row)
{
    switch (predicate->op) {
    case FIRN_PRED_TRUE:
    case FIRN_PRED_FALSE:
        return predicate->op == FIRN_PRED_TRUE;
    case FIRN_PRED_AND:
        return matches(predicate->left, row) && matches(predicate->right, row);
    case FIRN_PRED_OR:
        return matches(predicate->left, row) || matches(predicate->right, row);
    default:
        return leaf_matches(predicate, &row->values[predicate->field->id - 1]);
    }
}

/* A spec of up to three fields. */
static struct firn_partition_spec draw_spec(struct world *world)
{
    struct firn_text text = FIRN_TEXT("");
    uint32_t count = draw(world, 4);
    for (uint32_t i = 0; i < count; i++) {
        size_t column = draw(world, COLUMNS);
        uint32_t choices = 0;
        while (choices < 8 && columns[column].transforms[choices])
            choices++;
        text = firn_text_format(world->op->arena, "%.*s%s{\"source-id\":%zu,\"name\":\"p%u\",\"transform\":\"%s\"}",
                                FIRN_FMT(text), i ? "," : "", column + 1, i,
                                columns[column].transforms[draw(world, choices)]);
    }
    struct firn_partition_spec spec;
    text = firn_text_format(world->op->arena, "[%.*s]", FIRN_FMT(text));
    CHECK_OK(world->op, firn_partition_spec_parse(world->op, json_of(world, text), 0, &spec));
    return spec;
}

static struct firn_partition tuple_of(struct world *world, const struct firn_partition_spec *spec,
                                      const struct row *row, bool old_writer)
{
    struct firn_partition tuple = { FIRN_NEW_ARRAY(world->op->arena, struct firn_value, spec->field_count),
                                    spec->field_count };
    for (uint32_t i = 0; i < spec->field_count; i++) {
        size_t column = (size_t)spec->fields[i].source_ids[0] - 1;
        const struct firn_type *type = &world->schema.root.fields[column].type;
        enum firn_transform_id id = spec->fields[i].transform.id;
        CHECK_OK(world->op, firn_transform_apply(world->op, &spec->fields[i].transform, type, &row->values[column],
                                                 &tuple.values[i]));
        bool time = id == FIRN_TRANSFORM_YEAR || id == FIRN_TRANSFORM_MONTH || id == FIRN_TRANSFORM_HOUR ||
                    (id == FIRN_TRANSFORM_DAY && type->id != FIRN_TYPE_DATE);
        if (old_writer && time && !tuple.values[i].is_null && tuple.values[i].integer < 0)
            tuple.values[i].integer++; /* rounded towards zero */
    }
    return tuple;
}

static bool is_nan(const struct firn_value *value)
{
    return !value->is_null && (value->type == FIRN_TYPE_DOUBLE || value->type == FIRN_TYPE_FLOAT) && isnan(value->real);
}

/* The summary of two tuples, as a manifest writer makes it. */
static struct firn_manifest_file manifest_of(struct world *world, const struct firn_partition *a,
                                             const struct firn_partition *b)
{
    struct firn_arena *arena = world->op->arena;
    struct firn_manifest_file manifest = { .has_summaries = true, .summary_count = a->count };
    manifest.summaries = FIRN_NEW_ARRAY(arena, struct firn_field_summary, a->count);
    for (uint32_t i = 0; i < a->count; i++) {
        struct firn_field_summary *summary = &manifest.summaries[i];
        const struct firn_value *both[] = { &a->values[i], &b->values[i] }, *low = NULL, *high = NULL;
        summary->has_contains_nan = draw(world, 2);
        for (size_t k = 0; k < 2; k++) {
            summary->contains_null |= both[k]->is_null;
            summary->contains_nan |= is_nan(both[k]);
            if (both[k]->is_null || is_nan(both[k]))
                continue;
            low = !low || firn_value_compare(both[k], low) < 0 ? both[k] : low;
            high = !high || firn_value_compare(both[k], high) > 0 ? both[k] : high;
        }
        if (low)
            summary->lower_bound = firn_value_bytes(arena, low);
        if (high)
            summary->upper_bound = firn_value_bytes(arena, high);
    }
    return manifest;
}

/* The metrics of some rows, whole or cut short, complete or not. */
static struct firn_data_file file_of(struct world *world, const struct row *rows, size_t count,
                                     const struct firn_metrics_config *config)
{
    struct firn_column_metrics metrics[COLUMNS] = { 0 };
    size_t kept = 0;
    for (size_t c = 0; c < COLUMNS; c++) {
        struct firn_column_metrics *column = &metrics[kept];
        *column = (struct firn_column_metrics){ .field = &world->schema.root.fields[c], .value_count = (int64_t)count };
        enum firn_type_id id = column->field->type.id;
        column->counts_nan = (id == FIRN_TYPE_DOUBLE || id == FIRN_TYPE_FLOAT) && draw(world, 2);
        for (size_t r = 0; r < count; r++) {
            const struct firn_value *value = &rows[r].values[c];
            column->null_count += value->is_null;
            column->nan_count += is_nan(value);
            if (value->is_null || is_nan(value))
                continue;
            if (!column->has_bounds || firn_value_compare(value, &column->lower) < 0)
                column->lower = *value;
            if (!column->has_bounds || firn_value_compare(value, &column->upper) > 0)
                column->upper = *value;
            column->has_bounds = true;
        }
        kept += draw(world, 8) != 0;
    }
    struct firn_data_file file = { .record_count = (int64_t)count };
    CHECK_OK(world->op, firn_metrics_fill(world->op, config, metrics, kept, &file));
    return file;
}

static const struct firn_metrics_config *draw_config(struct world *world)
{
    static const char *const modes[] = { "full", "truncate(1)", "truncate(2)", "counts", "none" };
    json_t *root = json_of(world, firn_text_format(world->op->arena,
                                                   "{\"properties\":{\"write.metadata.metrics.default\":\"%s\"}}",
                                                   modes[draw(world, FIRN_COUNT_OF(modes))]));
    struct firn_metadata metadata = { .root = root };
    const struct firn_metrics_config *config;
    CHECK_OK(world->op, firn_metrics_config_new(world->op, &metadata, &world->schema, NULL, &config));
    return config;
}

/* What is said of a file for one condition agrees with the test of the file, and with its rows. */
static void check_stays(const struct firn_predicate *predicate, const struct firn_data_file *file,
                        const struct row *rows, uint64_t seed)
{
    for (; predicate->op == FIRN_PRED_AND || predicate->op == FIRN_PRED_OR; predicate = predicate->left)
        check_stays(predicate->right, file, rows, seed);
    if (predicate->op == FIRN_PRED_TRUE || predicate->op == FIRN_PRED_FALSE)
        return;
    enum firn_stay stay = firn_predicate_stay(predicate, file);
    CHECK((stay == FIRN_STAY_RULED_OUT) == !firn_predicate_file_may_match(predicate, file), "seed %" PRIu64, seed);
    for (size_t r = 0; stay == FIRN_STAY_ALL_MATCH && r < ROWS; r++)
        CHECK(matches(predicate, &rows[r]), "seed %" PRIu64 " row %zu: it does not match, as all rows should", seed, r);
}

static void check_run(struct world *world, uint64_t seed, uint32_t *kept, uint32_t *pruned)
{
    struct row rows[ROWS];
    const struct firn_predicate *predicate;
    struct firn_text text = draw_where(world, (int)draw(world, 3));
    struct firn_partition_spec spec = draw_spec(world);
    const struct firn_schema *schema = &world->schema;
    struct firn_type *types;
    bool old_writer = draw(world, 2), any = false;
    CHECK_OK(world->op, firn_partition_types(world->op, &spec, &schema, 1, &types));
    firn_status status = firn_predicate_parse(world->op, text, schema, &predicate);
    CHECK(status == FIRN_OK, "seed %" PRIu64 ": %.*s: %s", seed, FIRN_FMT(text), world->op->error.text);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < COLUMNS; c++)
            rows[r].values[c] = draw_value(world, c);
    struct firn_partition other = tuple_of(world, &spec, &rows[0], old_writer);
    struct firn_data_file file = file_of(world, rows, ROWS, draw_config(world));
    bool file_may = firn_predicate_file_may_match(predicate, &file);
    check_stays(predicate, &file, rows, seed);
    for (size_t r = 0; r < ROWS; r++) {
        struct firn_partition tuple = tuple_of(world, &spec, &rows[r], old_writer);
        struct firn_manifest_file manifest = manifest_of(world, &tuple, &other);
        bool tuple_may = firn_predicate_partition_may_match(predicate, &spec, types, &tuple);
        bool manifest_may = firn_predicate_manifest_may_match(predicate, &spec, types, &manifest);
        bool match = matches(predicate, &rows[r]);
        CHECK(!match || tuple_may, "seed %" PRIu64 " row %zu: %.*s: pruned by its partition", seed, r, FIRN_FMT(text));
        CHECK(!match || manifest_may, "seed %" PRIu64 " row %zu: %.*s: pruned by its manifest", seed, r,
              FIRN_FMT(text));
        CHECK(!match || file_may, "seed %" PRIu64 " row %zu: %.*s: pruned by its file", seed, r, FIRN_FMT(text));
        CHECK(!tuple_may || manifest_may, "seed %" PRIu64 " row %zu: %.*s: the manifest knows more than its tuples",
              seed, r, FIRN_FMT(text));
        any |= match;
        *pruned += !tuple_may;
    }
    *kept += any;
    *pruned += !file_may;
}

static void matching_rows_are_never_pruned(void **state)
{
    struct firn_op *op = test_op(state);
    uint32_t kept = 0, pruned = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct world world = { .op = op, .random = seed };
        make_schema(&world);
        check_run(&world, seed, &kept, &pruned);
        firn_arena_reset(op->arena);
    }
    /* the property must not hold for want of cases */
    CHECK(kept > RUNS / 4 && pruned > RUNS / 2, "%u runs with a match, %u prunings", kept, pruned);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(matching_rows_are_never_pruned) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
