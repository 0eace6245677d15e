/* Table metadata against the corpus: what must be accepted, what rejected, and what every table is known to hold. */
#include "table/corpus.h"

#include "base/math.h"

static firn_status parse(struct firn_op *op, struct firn_text path, struct firn_metadata **out)
{
    return firn_metadata_parse_file(op, path, corpus_file(op, path), out);
}

static void valid_and_invalid_files_are_told_apart(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    const char *name;
    json_t *expected, *section;
    if (root.len == 0)
        return;
    section = corpus_expected(op, root, "metadata-json");
    json_object_foreach(section, name, expected)
    {
        const char *expect = json_string_value(json_object_get(expected, "expect"));
        bool folder = json_object_get(expected, "files") != NULL;
        struct firn_text path = firn_text_format(op->arena, "%.*s/metadata-json/%s%s", FIRN_FMT(root), name,
                                                 folder ? "/base.metadata.json" : "");
        struct firn_metadata *metadata;
        firn_status status = parse(op, path, &metadata);
        if (expect && strcmp(expect, "accept") == 0)
            CHECK(status == FIRN_OK, "%s: %s", name, op->error.text);
        else if (expect)
            CHECK(status == FIRN_CORRUPT || status == FIRN_UNSUPPORTED, "%s", name);
    }
}

static void rejections_say_why(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    if (root.len == 0)
        return;
    static const struct {
        const char *name;
        firn_status status;
        const char *says;
    } cases[] = {
        { "iceberg_TableMetadataUnsupportedVersion.json", FIRN_UNSUPPORTED, "format version 42" },
        { "iceberg_ValidViewMetadata.json", FIRN_CORRUPT, "view" },
        { "icebergo_TableMetadataV2Valid.zstd.metadata.json", FIRN_UNSUPPORTED, "zstd" },
        { "iceberg_TableMetadataV2MissingPartitionSpecs.json", FIRN_CORRUPT, "partition-specs" },
        { "iceberg_TableMetadataV2MissingSortOrder.json", FIRN_CORRUPT, "sort-orders" },
        { "iceberg_TableMetadataV2CurrentSchemaNotFound.json", FIRN_CORRUPT, "current schema 2" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_metadata *metadata;
        struct firn_text path = firn_text_format(op->arena, "%.*s/metadata-json/%s", FIRN_FMT(root), cases[i].name);
        CHECK_STATUS(op, cases[i].status, parse(op, path, &metadata));
        CHECK(strstr(op->error.text, cases[i].says), "%s: %s", cases[i].name, op->error.text);
    }
}

static void old_versions_are_filled_in(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    struct firn_metadata *metadata;
    if (root.len == 0)
        return;
    CHECK_OK(op,
             parse(op,
                   firn_text_format(op->arena,
                                    "%.*s/metadata-json/icebergrust_TableMetadataV1PartitionSpecsWithoutDefaultId.json",
                                    FIRN_FMT(root)),
                   &metadata));
    assert_int_equal(metadata->default_spec_id, 2);
    CHECK_OK(op,
             parse(op,
                   firn_text_format(op->arena, "%.*s/metadata-json/iceberg_TableMetadataV1Valid.json", FIRN_FMT(root)),
                   &metadata));
    assert_int_equal(metadata->schema_count, 1);
    assert_int_equal(metadata->specs[0].fields[0].field_id, 1000);
    assert_int_equal(metadata->last_partition_id, 1000);
    assert_int_equal(metadata->sort_order_count, 1);
    assert_true(metadata->current_snapshot_id == FIRN_NO_SNAPSHOT);
    assert_int_equal(metadata->ref_count, 0);
}

static void check_number(const char *name, const json_t *expected, const char *key, int64_t got)
{
    const json_t *value = json_object_get(expected, key);
    if (json_is_integer(value))
        CHECK(json_integer_value(value) == got, "%s: %s is %lld, not %lld", name, key, (long long)got,
              (long long)json_integer_value(value));
}

static void check_refs(struct firn_op *op, const char *name, const json_t *expected,
                       const struct firn_metadata *metadata)
{
    const char *key;
    json_t *value, *refs = json_object_get(expected, "refs");
    json_object_foreach(refs, key, value)
    {
        const struct firn_ref *ref = firn_metadata_ref(metadata, firn_text_of(key));
        CHECK(ref, "%s: %s", name, key);
        const char *type = json_string_value(json_object_get(value, "type"));
        CHECK((strcmp(type, "tag") == 0) == (ref->type == FIRN_REF_TAG), "%s: %s", name, key);
        struct firn_text id = firn_metadata_snapshot_id_text(op->arena, metadata, ref->snapshot_id);
        CHECK(firn_text_is(id, json_string_value(json_object_get(value, "snapshot_id"))), "%s: %s", name, key);
    }
    bool implied = !json_object_get(refs, "main") && metadata->current_snapshot_id != FIRN_NO_SNAPSHOT;
    CHECK(json_object_size(refs) + implied == metadata->ref_count, "%s", name);
}

static void check_types(const char *name, const json_t *expected, const struct firn_metadata *metadata)
{
    bool seen[FIRN_TYPE_COUNT] = { false };
    const struct firn_schema *schema = firn_metadata_current_schema(metadata);
    for (int32_t id = 0; id <= firn_schema_id_max(schema); id++) {
        const struct firn_field *field = firn_schema_field(schema, id);
        if (field)
            seen[field->type.id] = true;
    }
    size_t index;
    json_t *value;
    json_array_foreach(json_object_get(expected, "types"), index, value)
    {
        bool found = false;
        for (int id = 0; id < FIRN_TYPE_COUNT; id++)
            found |= seen[id] && strcmp(firn_type_name((enum firn_type_id)id), json_string_value(value)) == 0;
        CHECK(found, "%s: %s", name, json_string_value(value));
    }
}

static void check_specs(const char *name, const json_t *expected, const struct firn_metadata *metadata)
{
    size_t index, field;
    json_t *spec, *transform;
    json_array_foreach(json_object_get(expected, "partition_specs"), index, spec)
    {
        CHECK(index < metadata->spec_count && json_array_size(spec) == metadata->specs[index].field_count, "%s", name);
        json_array_foreach(spec, field, transform)
        {
            const struct firn_transform *got = &metadata->specs[index].fields[field].transform;
            CHECK(firn_text_is(got->text, json_string_value(transform)), "%s", name);
            CHECK(got->id != FIRN_TRANSFORM_UNKNOWN, "%s: %s", name, json_string_value(transform));
        }
    }
    CHECK(json_array_size(json_object_get(expected, "partition_specs")) == metadata->spec_count, "%s", name);
    size_t orders = json_array_size(json_object_get(expected, "sort_orders"));
    CHECK(FIRN_MAX(orders, 1u) == metadata->sort_order_count, "%s", name);
}

static uint32_t statistics_count(const struct firn_metadata *metadata)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < metadata->statistics_count; i++)
        count += !metadata->statistics[i].is_partition_statistics;
    return count;
}

/* Printed, compressed and parsed again, nothing is gone. */
static void check_round_trip(struct firn_op *op, const struct firn_metadata *metadata)
{
    struct firn_buffer bytes = { 0 };
    struct firn_metadata *again;
    CHECK_OK(op, firn_metadata_print_file(op, metadata, true, &bytes));
    CHECK_OK(op, firn_metadata_parse_file(op, FIRN_TEXT("v1.gz.metadata.json"), firn_buffer_bytes(&bytes), &again));
    assert_true(json_equal(metadata->root, again->root));
    firn_buffer_done(&bytes);
}

/* Ids past INT64_MAX, which some writer made, come out as they went in. */
static void wide_snapshot_ids_are_kept(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    struct firn_metadata *metadata;
    struct firn_buffer printed = { 0 };
    if (root.len == 0)
        return;
    CHECK_OK(op, parse(op,
                       firn_text_format(op->arena, "%.*s/iceberg/duckdb_eq_delete_global/metadata/vfinal.metadata.json",
                                        FIRN_FMT(root)),
                       &metadata));
    CHECK_OK(op, firn_metadata_print_file(op, metadata, false, &printed));
    CHECK_OK(op, firn_buffer_append(op, &printed, "", 1));
    assert_non_null(strstr((const char *)printed.data, "\"current-snapshot-id\":9876543210123456789,"));
    assert_null(strstr((const char *)printed.data, "\\u0000"));
    assert_int_equal(metadata->current_snapshot_id, (int64_t)UINT64_C(9876543210123456789));
    firn_buffer_done(&printed);
}

static void check_partition_types(struct firn_op *op, const struct firn_metadata *metadata)
{
    const struct firn_schema *const *schemas = firn_metadata_schemas_by_age(op, metadata);
    assert_int_equal(schemas[0]->id, metadata->current_schema_id);
    for (uint32_t i = 0; i < metadata->spec_count; i++) {
        struct firn_type *types;
        CHECK_OK(op, firn_partition_types(op, &metadata->specs[i], schemas, metadata->schema_count, &types));
    }
}

static void check_table(struct firn_op *op, struct firn_text root, const char *section, const char *name,
                        const json_t *expected)
{
    struct firn_metadata *metadata;
    struct firn_text path = firn_text_format(op->arena, "%.*s/%s/%s/%s", FIRN_FMT(root), section, name,
                                             json_string_value(json_object_get(expected, "metadata_file")));
    firn_status status = parse(op, path, &metadata);
    CHECK(status == FIRN_OK, "%s: %s", name, op->error.text);
    check_number(name, expected, "format_version", metadata->format_version);
    check_number(name, expected, "last_sequence_number", metadata->last_sequence_number);
    check_number(name, expected, "last_column_id", metadata->last_column_id);
    check_number(name, expected, "last_partition_id", metadata->last_partition_id);
    check_number(name, expected, "next_row_id", metadata->next_row_id);
    check_number(name, expected, "snapshots", metadata->snapshot_count);
    check_number(name, expected, "schemas", metadata->schema_count);
    check_number(name, expected, "metadata_log", metadata->metadata_log_count);
    check_number(name, expected, "statistics_files", statistics_count(metadata));
    const json_t *uuid = json_object_get(expected, "table_uuid"),
                 *id = json_object_get(expected, "current_snapshot_id");
    if (json_is_string(uuid))
        CHECK(firn_text_is(metadata->table_uuid, json_string_value(uuid)), "%s", name);
    struct firn_text current = firn_metadata_snapshot_id_text(op->arena, metadata, metadata->current_snapshot_id);
    CHECK(firn_text_is(current, json_is_string(id) ? json_string_value(id) : "-1"), "%s", name);
    check_refs(op, name, expected, metadata);
    check_types(name, expected, metadata);
    check_specs(name, expected, metadata);
    check_partition_types(op, metadata);
    check_round_trip(op, metadata);
}

static void every_table_reads_as_expected(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    static const char *const sections[] = { "iceberg", "iceberg-metadata-only" };
    const char *name;
    json_t *expected, *section;
    if (root.len == 0)
        return;
    for (size_t i = 0; i < FIRN_COUNT_OF(sections); i++) {
        section = corpus_expected(op, root, sections[i]);
        json_object_foreach(section, name, expected)
        {
            check_table(op, root, sections[i], name, expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(valid_and_invalid_files_are_told_apart),
        TEST(rejections_say_why),
        TEST(old_versions_are_filled_in),
        TEST(every_table_reads_as_expected),
        TEST(wide_snapshot_ids_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
