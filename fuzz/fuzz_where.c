/* WHERE texts over a schema of every primitive type: parsed, printed, and evaluated against a file without metrics. */
#include "fuzz.h"

#include "table/expression.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_schema schema;
    const struct firn_predicate *predicate;
    struct firn_op *op = fuzz_begin(&fuzz);
    struct firn_data_file file = { .record_count = 1 };
    if (make_schema(op, &schema) != FIRN_OK)
        __builtin_trap();
    firn_status status = firn_predicate_parse(op, (struct firn_text){ (const char *)data, len }, &schema, &predicate);
    if (status != FIRN_OK && status != FIRN_USAGE)
        __builtin_trap();
    if (status == FIRN_OK) {
        firn_predicate_text(op->arena, predicate);
        firn_predicate_file_may_match(predicate, &file);
    }
    return fuzz_end(&fuzz);
}
