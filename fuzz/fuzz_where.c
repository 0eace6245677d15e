/* WHERE texts over a schema of every primitive type: parsed, printed, evaluated against a file without metrics, and
 * explained. */
#include "fuzz.h"

#include "maintain/explain.h"

static const char *const types[] = { "boolean",        "int",       "long",    "float",        "double",      "date",
                                     "time",           "timestamp", "string",  "uuid",         "timestamptz", "binary",
                                     "timestamptz_ns", "fixed[3]",  "unknown", "decimal(5,2)", "timestamp_ns" };

static firn_status make_schema(struct firn_op *op, struct firn_schema *out)
{
    json_t *json = firn_json_own(op->arena, json_object()), *fields = json_array();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        json_t *field = json_object();
        char name[] = { (char)('a' + i), '\0' };
        firn_json_set_i64(field, "id", (int64_t)i + 1);
        firn_json_set_text(field, "name", firn_text_of(name));
        firn_json_set_bool(field, "required", false);
        firn_json_set_text(field, "type", firn_text_of(types[i]));
        json_array_append_new(fields, field);
    }
    firn_json_set_text(json, "type", FIRN_TEXT("struct"));
    firn_json_set(json, "fields", fields);
    return firn_schema_parse(op, json, out);
}

static void explain_leaf(void *context, const struct firn_predicate *leaf)
{
    bool may_match = firn_predicate_file_may_match(leaf, context);
    if ((firn_predicate_stay(leaf, context) != FIRN_STAY_RULED_OUT) != may_match)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_schema schema;
    const struct firn_predicate *predicate;
    struct firn_op *op = fuzz_begin(&fuzz);
    struct firn_data_file file = { .record_count = 1 };
    if (make_schema(op, &schema) != FIRN_OK)
        __builtin_trap();
    struct firn_text text = { (const char *)data, len };
    firn_status strict = firn_predicate_parse(op, text, &schema, &predicate);
    if (strict == FIRN_OK) {
        firn_predicate_text(op->arena, predicate);
        firn_predicate_file_may_match(predicate, &file);
    }
    firn_status status = firn_predicate_parse_any(op, text, &schema, &predicate);
    if ((strict != FIRN_OK && strict != FIRN_USAGE) || (status != FIRN_OK && status != FIRN_USAGE) ||
        (strict == FIRN_OK && status != FIRN_OK))
        __builtin_trap();
    if (status == FIRN_OK) {
        firn_predicate_text(op->arena, predicate);
        firn_explain_visit_leaves(predicate, explain_leaf, &file);
        firn_explain_rewrite(op->arena, text, &schema, predicate);
    }
    return fuzz_end(&fuzz);
}
