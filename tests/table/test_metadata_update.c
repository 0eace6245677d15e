/* Updates and requirements: what Java wrote for the same change, the rules of new snapshots, references and logs, and
 * random sequences of updates that keep every invariant. */
#include "table/corpus.h"

#include "base/math.h"

static json_t *json_of(struct firn_op *op, const char *text)
{
    json_t *json;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(text), "json", &json));
    return json;
}

/* A new table of one column and one identity field. */
static struct firn_metadata *new_table(struct firn_op *op, int version)
{
    struct firn_metadata *metadata;
    struct firn_text updates =
        firn_text_format(op->arena,
                         "[{\"action\":\"assign-uuid\",\"uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\"},"
                         "{\"action\":\"upgrade-format-version\",\"format-version\":%d},"
                         "{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"schema-id\":17,\"fields\":["
                         "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"}]},\"last-column-id\":1},"
                         "{\"action\":\"set-current-schema\",\"schema-id\":-1},"
                         "{\"action\":\"add-spec\",\"spec\":{\"spec-id\":5,\"fields\":["
                         "{\"source-id\":1,\"name\":\"id\",\"transform\":\"identity\"}]}},"
                         "{\"action\":\"set-default-spec\",\"spec-id\":-1},"
                         "{\"action\":\"add-sort-order\",\"sort-order\":{\"order-id\":0,\"fields\":[]}},"
                         "{\"action\":\"set-default-sort-order\",\"sort-order-id\":-1},"
                         "{\"action\":\"set-properties\",\"updates\":{\"a\":\"b\",\"uuid\":\"no\"}},"
                         "{\"action\":\"set-location\",\"location\":\"file:/w/t/\"}]",
                         version);
    CHECK_OK(op,
             firn_updates_apply(op, json_of(op, updates.data), NULL, (struct firn_text){ 0 }, 1000, &metadata, NULL));
    return metadata;
}

/* Applies the updates of a printf format. */
static firn_status apply(struct firn_op *op, const struct firn_metadata *base, int64_t now_ms,
                         struct firn_metadata **out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text text = firn_text_vformat(op->arena, format, args);
    va_end(args);
    return firn_updates_apply(op, json_of(op, text.data), base, FIRN_TEXT("previous.metadata.json"), now_ms, out, NULL);
}

#define ADD_SNAPSHOT                                                                                                   \
    "{\"action\":\"add-snapshot\",\"snapshot\":{\"snapshot-id\":%lld,%s\"sequence-number\":%lld,\"timestamp-ms\":"     \
    "%lld,\"manifest-list\":\"l\",\"summary\":{\"operation\":\"append\"},\"schema-id\":0}}"
#define SET_REF "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"%s\",\"type\":\"branch\",\"snapshot-id\":%lld}"

static void tables_are_created(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 1; version <= 3; version++) {
        struct firn_metadata *metadata = new_table(op, version);
        assert_int_equal(metadata->format_version, version);
        assert_int_equal(metadata->current_schema_id, 0);
        assert_int_equal(metadata->default_spec_id, 0);
        assert_int_equal(metadata->specs[0].fields[0].field_id, 1000);
        assert_int_equal(metadata->last_partition_id, 1000);
        assert_int_equal(metadata->last_updated_ms, 1000);
        assert_true(firn_text_is(metadata->location, "file:/w/t"));
        assert_true(firn_text_is(firn_property_text(metadata, "a", FIRN_TEXT("")), "b"));
        assert_true(firn_text_is(firn_property_text(metadata, "uuid", FIRN_TEXT("none")), "none"));
        assert_true((json_object_get(metadata->root, "schema") != NULL) == (version == 1));
        assert_true((json_object_get(metadata->root, "next-row-id") != NULL) == (version == 3));
        assert_true((json_object_get(metadata->root, "last-sequence-number") != NULL) == (version > 1));
    }
    struct firn_metadata *metadata;
    CHECK_STATUS(op, FIRN_USAGE, firn_updates_apply(op, json_of(op, "[]"), NULL, FIRN_TEXT(""), 1, &metadata, NULL));
}

static void heads_are_logged(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *one, *two, *three, *four;
    CHECK_OK(op, apply(op, new_table(op, 2), 5000, &one, "[" ADD_SNAPSHOT "," SET_REF "]", 11LL, "", 1LL, 2000LL,
                       "main", 11LL));
    assert_int_equal(one->last_updated_ms, 2000); /* the snapshot's own time */
    assert_int_equal(one->last_sequence_number, 1);
    assert_int_equal(one->snapshot_log_count, 1);
    assert_int_equal(one->snapshot_log[0].timestamp_ms, 2000);
    assert_int_equal(one->metadata_log[0].timestamp_ms, 1000);
    /* two snapshots in one commit: the first was never current for a reader */
    CHECK_OK(op, apply(op, one, 5000, &two, "[" ADD_SNAPSHOT "," SET_REF "," ADD_SNAPSHOT "," SET_REF "]", 12LL,
                       "\"parent-snapshot-id\":11,", 2LL, 3000LL, "main", 12LL, 13LL, "\"parent-snapshot-id\":12,", 3LL,
                       3001LL, "main", 13LL));
    assert_int_equal(two->snapshot_log_count, 2);
    assert_int_equal(two->snapshot_log[1].snapshot_id, 13);
    assert_true(firn_metadata_is_ancestor(two, 13, 11));
    assert_false(firn_metadata_is_ancestor(two, 11, 13));
    /* another branch and a staged snapshot leave no trace there */
    CHECK_OK(op, apply(op, two, 6000, &three, "[" ADD_SNAPSHOT "," SET_REF "]", 14LL, "\"parent-snapshot-id\":13,", 4LL,
                       4000LL, "audit", 14LL));
    assert_int_equal(three->snapshot_log_count, 2);
    assert_int_equal(three->current_snapshot_id, 13);
    /* a rollback is logged with this moment */
    CHECK_OK(op, apply(op, three, 9000, &four, "[" SET_REF "]", "main", 11LL));
    assert_int_equal(four->current_snapshot_id, 11);
    assert_int_equal(four->snapshot_log[2].timestamp_ms, 9000);
    assert_int_equal(four->last_updated_ms, 9000);
}

static void stale_snapshots_conflict(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *one, *two;
    CHECK_OK(op, apply(op, new_table(op, 2), 5000, &one, "[" ADD_SNAPSHOT "," SET_REF "]", 11LL, "", 1LL, 2000LL,
                       "main", 11LL));
    CHECK_STATUS(op, FIRN_CONFLICT,
                 apply(op, one, 5000, &two, "[" ADD_SNAPSHOT "]", 12LL, "\"parent-snapshot-id\":11,", 1LL, 2000LL));
    CHECK_STATUS(op, FIRN_EXISTS, apply(op, one, 5000, &two, "[" ADD_SNAPSHOT "]", 11LL, "", 2LL, 2000LL));
    CHECK_STATUS(op, FIRN_SYSTEM, apply(op, one, 5000, &two, "[" ADD_SNAPSHOT "]", 12LL, "", 2LL, -58001LL));
    CHECK_STATUS(op, FIRN_NOT_FOUND, apply(op, one, 5000, &two, "[" SET_REF "]", "b", 99LL));
    CHECK_STATUS(op, FIRN_UNSUPPORTED, apply(op, one, 5000, &two, "[{\"action\":\"add-view-version\"}]"));
    CHECK_STATUS(op, FIRN_CORRUPT,
                 apply(op, one, 5000, &two,
                       "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"t\",\"type\":\"tag\",\"snapshot-id\":11,"
                       "\"min-snapshots-to-keep\":3}]"));
}

static void row_ids_move_on(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *one, *two;
    CHECK_STATUS(op, FIRN_USAGE, apply(op, new_table(op, 3), 5000, &one, "[" ADD_SNAPSHOT "]", 11LL, "", 1LL, 2000LL));
    CHECK_OK(op, apply(op, new_table(op, 3), 5000, &one, "[" ADD_SNAPSHOT "," SET_REF "]", 11LL,
                       "\"first-row-id\":0,\"added-rows\":30,", 1LL, 2000LL, "main", 11LL));
    assert_int_equal(one->next_row_id, 30);
    CHECK_STATUS(
        op, FIRN_CONFLICT,
        apply(op, one, 5000, &two, "[" ADD_SNAPSHOT "]", 12LL, "\"first-row-id\":29,\"added-rows\":1,", 2LL, 3000LL));
    CHECK_OK(op, apply(op, one, 5000, &two, "[" ADD_SNAPSHOT "]", 12LL, "\"first-row-id\":30,\"added-rows\":5,", 2LL,
                       3000LL)); /* staged snapshots take their ids too */
    assert_int_equal(two->next_row_id, 35);
    CHECK_OK(op, apply(op, two, 5000, &two, "[{\"action\":\"remove-snapshot-ref\",\"ref-name\":\"main\"}]"));
    assert_true(json_is_null(json_object_get(two->root, "current-snapshot-id")));
    assert_int_equal(two->snapshot_log_count, 0);
}

static void removed_snapshots_take_their_traces_along(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = new_table(op, 2);
    for (long long i = 1; i <= 4; i++)
        CHECK_OK(op, apply(op, metadata, 9000, &metadata,
                           "[" ADD_SNAPSHOT "," SET_REF "," SET_REF ","
                           "{\"action\":\"set-statistics\",\"statistics\":{\"snapshot-id\":%lld,\"statistics-path\":"
                           "\"s\",\"file-size-in-bytes\":1,\"file-footer-size-in-bytes\":1,\"blob-metadata\":[]}},"
                           "{\"action\":\"set-partition-statistics\",\"partition-statistics\":{\"snapshot-id\":%lld,"
                           "\"statistics-path\":\"p\",\"file-size-in-bytes\":1}}]",
                           i, "", i, 2000 + i, "main", i, i == 2 ? "two" : "last", i, i, i));
    assert_int_equal(metadata->statistics_count, 8);
    CHECK_OK(op, apply(op, metadata, 9000, &metadata, "[{\"action\":\"remove-snapshots\",\"snapshot-ids\":[2,77]}]"));
    assert_int_equal(metadata->snapshot_count, 3);
    assert_int_equal(metadata->statistics_count, 6);
    assert_null(firn_metadata_ref(metadata, FIRN_TEXT("two")));
    assert_int_equal(metadata->snapshot_log_count, 2); /* history before the gap would lie */
    assert_int_equal(metadata->snapshot_log[0].snapshot_id, 3);
    CHECK_OK(op, apply(op, metadata, 9000, &metadata,
                       "[{\"action\":\"remove-statistics\",\"snapshot-id\":3},"
                       "{\"action\":\"remove-partition-statistics\",\"snapshot-id\":3}]"));
    assert_int_equal(metadata->statistics_count, 4);
}

static void the_metadata_log_is_trimmed(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = new_table(op, 2);
    json_t *cut;
    CHECK_OK(op,
             apply(op, metadata, 9000, &metadata,
                   "[{\"action\":\"set-properties\",\"updates\":{\"write.metadata.previous-versions-max\":\"3\"}}]"));
    for (int i = 0; i < 6; i++) {
        struct firn_text file = firn_text_format(op->arena, "v%d", i);
        CHECK_OK(op, firn_updates_apply(op, json_of(op, "[]"), metadata, file, 9000 + i, &metadata, &cut));
        assert_int_equal(json_array_size(cut), i < 2 ? 0 : 1);
    }
    assert_int_equal(metadata->metadata_log_count, 3);
    assert_true(firn_text_is(metadata->metadata_log[2].metadata_file, "v5"));
    assert_string_equal(json_string_value(json_array_get(cut, 0)), "v2");
}

static void version_1_stays_and_upgrades(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *old, *same, *two, *three;
    static const char text[] =
        "{\"format-version\":1,\"location\":\"l\",\"last-updated-ms\":1,\"last-column-id\":2,\"x\":{\"y\":[1]},"
        "\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"long\"}]},"
        "\"partition-spec\":[{\"source-id\":1,\"name\":\"a\",\"transform\":\"identity\"}],\"current-snapshot-id\":-1}";
    CHECK_OK(op, firn_metadata_parse(op, firn_text_of(text), &old));
    CHECK_OK(op,
             apply(op, old, 5000, &same,
                   "[{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"b\","
                   "\"required\":true,\"type\":\"long\"}]}},{\"action\":\"set-current-schema\",\"schema-id\":-1},"
                   "{\"action\":\"add-spec\",\"spec\":{\"fields\":[]}},"
                   "{\"action\":\"set-default-spec\",\"spec-id\":-1}]"));
    assert_int_equal(same->format_version, 1);
    assert_int_equal(same->table_uuid.len, 36);
    assert_int_equal(same->schema_count, 2);
    assert_int_equal(same->current_schema_id, 1);
    assert_true(
        json_equal(json_object_get(same->root, "schema"), json_array_get(json_object_get(same->root, "schemas"), 1)));
    assert_int_equal(json_array_size(json_object_get(same->root, "partition-spec")), 0);
    assert_true(json_equal(json_object_get(same->root, "x"), json_of(op, "{\"y\":[1]}")));
    CHECK_OK(op, apply(op, same, 5000, &two, "[{\"action\":\"upgrade-format-version\",\"format-version\":2}]"));
    assert_int_equal(two->format_version, 2);
    assert_null(json_object_get(two->root, "schema"));
    assert_null(json_object_get(two->root, "partition-spec"));
    CHECK_OK(op, apply(op, two, 5000, &three, "[{\"action\":\"upgrade-format-version\",\"format-version\":3}]"));
    assert_int_equal(json_integer_value(json_object_get(three->root, "next-row-id")), 0);
    CHECK_STATUS(op, FIRN_USAGE,
                 apply(op, three, 5000, &two, "[{\"action\":\"upgrade-format-version\",\"format-version\":2}]"));
    CHECK_STATUS(op, FIRN_UNSUPPORTED,
                 apply(op, three, 5000, &two, "[{\"action\":\"upgrade-format-version\",\"format-version\":4}]"));
}

static void models_evolve_by_their_rules(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *base = new_table(op, 2), *next;
#define ONE_FIELD(type)                                                                                                \
    "{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":"   \
    "false,\"type\":\"" type "\"}]}}"
    static const struct {
        const char *updates;
        firn_status status;
    } cases[] = {
        { "[" ONE_FIELD("long") "]", FIRN_OK }, /* the one there is: nothing is added */
        { "[" ONE_FIELD("timestamp_ns") "]", FIRN_USAGE },
        { "[" ONE_FIELD("nonsense") "]", FIRN_CORRUPT },
        { "[{\"action\":\"set-current-schema\",\"schema-id\":-1}]", FIRN_USAGE },
        { "[{\"action\":\"set-current-schema\",\"schema-id\":3}]", FIRN_USAGE },
        { "[{\"action\":\"remove-schemas\",\"schema-ids\":[0]}]", FIRN_USAGE },
        { "[{\"action\":\"remove-partition-specs\",\"spec-ids\":[0]}]", FIRN_USAGE },
        { "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":9,\"name\":\"x\",\"transform\":\"identity\"}]"
          "}}]",
          FIRN_USAGE },
        { "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":1,\"name\":\"x\",\"transform\":\"day\"}]}}]",
          FIRN_USAGE },
        { "[{\"action\":\"add-sort-order\",\"sort-order\":{\"fields\":[{\"source-id\":9,\"transform\":\"identity\","
          "\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}}]",
          FIRN_USAGE },
        { "[{\"action\":\"add-encryption-key\",\"encryption-key\":{\"key-id\":\"k\"}}]", FIRN_USAGE },
        { "[{\"action\":\"assign-uuid\",\"uuid\":\"00000000-0000-0000-0000-000000000000\"}]", FIRN_USAGE },
        { "[{\"action\":\"set-location\",\"location\":\"\"}]", FIRN_USAGE },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        firn_status status = apply(op, base, 5000, &next, "%s", cases[i].updates);
        CHECK(status == cases[i].status, "%s: %s", cases[i].updates, firn_status_name(status));
    }
    CHECK_OK(op, apply(op, base, 5000, &next, "[" ONE_FIELD("long") "]"));
    assert_int_equal(next->schema_count, 1);
    CHECK_OK(op, apply(op, base, 5000, &next,
                       "[{\"action\":\"add-spec\",\"spec\":{\"fields\":["
                       "{\"source-id\":1,\"name\":\"b\",\"transform\":\"bucket[4]\"},"
                       "{\"source-id\":1,\"name\":\"renamed\",\"transform\":\"identity\"}]}},"
                       "{\"action\":\"set-default-spec\",\"spec-id\":-1},"
                       "{\"action\":\"remove-partition-specs\",\"spec-ids\":[0]},"
                       "{\"action\":\"add-sort-order\",\"sort-order\":{\"fields\":[{\"source-id\":1,\"transform\":"
                       "\"identity\",\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}},"
                       "{\"action\":\"set-default-sort-order\",\"sort-order-id\":-1}]"));
    assert_int_equal(next->spec_count, 1);
    assert_int_equal(next->specs[0].id, 1);
    assert_int_equal(next->specs[0].fields[0].field_id, 1001);
    assert_int_equal(next->specs[0].fields[1].field_id, 1000); /* an older spec's field keeps its id */
    assert_int_equal(next->last_partition_id, 1001);
    assert_int_equal(next->default_sort_order_id, 1);
}

static void exhausted_ids_are_told(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata, *next;
    static const char text[] =
        "{\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"l\","
        "\"last-sequence-number\":0,\"last-updated-ms\":-9223372036854775808,\"last-column-id\":2147483647,"
        "\"current-schema-id\":2147483647,\"schemas\":[{\"type\":\"struct\",\"schema-id\":2147483647,\"fields\":["
        "{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"long\"}]}],\"default-spec-id\":2147483647,"
        "\"partition-specs\":[{\"spec-id\":2147483647,\"fields\":[]}],\"last-partition-id\":2147483647,"
        "\"default-sort-order-id\":2147483647,\"sort-orders\":[{\"order-id\":2147483647,\"fields\":[]}]}";
    static const char *const updates[] = {
        "[{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"fields\":[]}}]",
        "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":1,\"name\":\"x\",\"transform\":\"void\"}]}}]",
        ("[{\"action\":\"add-sort-order\",\"sort-order\":{\"fields\":[{\"source-id\":1,\"transform\":\"identity\","
         "\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}}]"),
    };
    CHECK_OK(op, firn_metadata_parse(op, firn_text_of(text), &metadata));
    for (size_t i = 0; i < FIRN_COUNT_OF(updates); i++)
        CHECK_STATUS(op, FIRN_LIMIT, apply(op, metadata, 1, &next, "%s", updates[i]));
    CHECK_OK(op, apply(op, metadata, 1, &next, "[" ADD_SNAPSHOT "]", 11LL, "", 1LL, 2000LL));
}

static void requirements_are_held_to(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata;
    CHECK_OK(op, apply(op, new_table(op, 2), 5000, &metadata, "[" ADD_SNAPSHOT "," SET_REF "]", 11LL, "", 1LL, 2000LL,
                       "main", 11LL));
    static const struct {
        const char *text;
        firn_status status, absent; /* of the table, and when there is no table */
    } cases[] = {
        { "{\"type\":\"assert-create\"}", FIRN_CONFLICT, FIRN_OK },
        { "{\"type\":\"assert-table-uuid\",\"uuid\":\"9C12D441-03fe-4693-9a96-a0705ddf69c1\"}", FIRN_OK,
          FIRN_CONFLICT },
        { "{\"type\":\"assert-table-uuid\",\"uuid\":\"other\"}", FIRN_CONFLICT, FIRN_CONFLICT },
        { "{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":11}", FIRN_OK, FIRN_CONFLICT },
        { "{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":12}", FIRN_CONFLICT, FIRN_CONFLICT },
        { "{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":null}", FIRN_CONFLICT, FIRN_CONFLICT },
        { "{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"b\",\"snapshot-id\":null}", FIRN_OK, FIRN_CONFLICT },
        { "{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"b\",\"snapshot-id\":11}", FIRN_CONFLICT, FIRN_CONFLICT },
        { "{\"type\":\"assert-last-assigned-field-id\",\"last-assigned-field-id\":1}", FIRN_OK, FIRN_CONFLICT },
        { "{\"type\":\"assert-current-schema-id\",\"current-schema-id\":1}", FIRN_CONFLICT, FIRN_CONFLICT },
        { "{\"type\":\"assert-last-assigned-partition-id\",\"last-assigned-partition-id\":1000}", FIRN_OK,
          FIRN_CONFLICT },
        { "{\"type\":\"assert-default-spec-id\",\"default-spec-id\":0}", FIRN_OK, FIRN_CONFLICT },
        { "{\"type\":\"assert-default-sort-order-id\",\"default-sort-order-id\":2}", FIRN_CONFLICT, FIRN_CONFLICT },
        { "{\"type\":\"assert-view-uuid\",\"uuid\":\"x\"}", FIRN_UNSUPPORTED, FIRN_CONFLICT },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        json_t *list = json_of(op, firn_text_format(op->arena, "[%s]", cases[i].text).data);
        firn_status with = firn_requirements_check(op, list, metadata);
        firn_status without = firn_requirements_check(op, list, NULL);
        CHECK(with == cases[i].status && without == cases[i].absent, "%s: %s, %s", cases[i].text,
              firn_status_name(with), firn_status_name(without));
    }
}

/* R35: the snapshot log's order is no guide. */
static void time_travel_reads_the_log(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = new_table(op, 2);
    for (long long i = 1; i <= 3; i++)
        CHECK_OK(op,
                 apply(op, metadata, 9000, &metadata, "[" ADD_SNAPSHOT "," SET_REF "]", i, "", i, 999 + i, "main", i));
    json_t *root = firn_json_copy(op->arena, metadata->root);
    firn_json_set(root, "snapshot-log",
                  json_deep_copy(json_of(op, "[{\"snapshot-id\":2,\"timestamp-ms\":1010},{\"snapshot-id\":1,"
                                             "\"timestamp-ms\":1000},{\"snapshot-id\":3,\"timestamp-ms\":1020}]")));
    CHECK_OK(op, firn_metadata_parse_json(op, root, &metadata));
    static const int64_t cases[][2] = { { 999, 0 },  { 1000, 1 }, { 1009, 1 },     { 1010, 2 },
                                        { 1019, 2 }, { 1020, 3 }, { INT64_MAX, 3 } };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const struct firn_snapshot *snapshot = firn_metadata_snapshot_at(metadata, cases[i][0]);
        CHECK((snapshot ? snapshot->id : 0) == cases[i][1], "at %lld", (long long)cases[i][0]);
    }
}

/* The interop folders of the corpus: the same change made by the Java library. */
static const struct {
    const char *name, *updates;
} replays[] = {
    { "manage_snapshots_create_branch_and_tag", "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"audit\",\"type\":"
                                                "\"branch\",\"snapshot-id\":3051729675574597004},"
                                                "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"release-1\",\"type\":"
                                                "\"tag\",\"snapshot-id\":3055729675574597004}]" },
    { "manage_snapshots_fast_forward", "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"staging\",\"type\":\"branch\","
                                       "\"snapshot-id\":3055729675574597004}]" },
    { "manage_snapshots_retention",
      "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"dev\",\"type\":\"branch\",\"snapshot-id\":3055729675574597004,"
      "\"min-snapshots-to-keep\":5,\"max-snapshot-age-ms\":86400000},"
      "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"stable\",\"type\":\"tag\",\"snapshot-id\":3051729675574597004,"
      "\"max-ref-age-ms\":604800000}]" },
    { "manage_snapshots_rollback_to_ancestor",
      "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\",\"type\":\"branch\","
      "\"snapshot-id\":3051729675574597004}]" },
    { "manage_snapshots_set_current_snapshot",
      "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\",\"type\":\"branch\","
      "\"snapshot-id\":3051729675574597004}]" },
    { "update_partition_spec_add_identity_field", "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":2,"
                                                  "\"name\":\"category\",\"transform\":\"identity\"}"
                                                  "]}},{\"action\":\"set-default-spec\",\"spec-id\":-1}]" },
    { "update_partition_spec_field_id_recycling", "[{\"action\":\"set-default-spec\",\"spec-id\":1}]" },
    { "update_partition_spec_remove_field_v2",
      "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[]}},{\"action\":\"set-default-spec\",\"spec-id\":-1}]" },
    { "update_partition_spec_rename_field", "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":2,\"name\":"
                                            "\"cat\",\"transform\":\"identity\"}]}},"
                                            "{\"action\":\"set-default-spec\",\"spec-id\":-1}]" },
};

static struct firn_metadata *load(struct firn_op *op, struct firn_text root, const char *name, const char *file)
{
    struct firn_metadata *metadata;
    struct firn_text path = firn_text_format(op->arena, "%.*s/metadata-json/interop_%s/%s", FIRN_FMT(root), name, file);
    CHECK_OK(op, firn_metadata_parse_file(op, path, corpus_file(op, path), &metadata));
    return metadata;
}

static void changes_come_out_as_java_wrote_them(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    if (root.len == 0)
        return;
    for (size_t i = 0; i < FIRN_COUNT_OF(replays); i++) {
        struct firn_metadata *base = load(op, root, replays[i].name, "base.metadata.json");
        struct firn_metadata *wanted = load(op, root, replays[i].name, "java_evolved.metadata.json"), *got;
        struct firn_text file = { 0 };
        if (wanted->metadata_log_count)
            file = wanted->metadata_log[wanted->metadata_log_count - 1].metadata_file;
        CHECK_OK(op, firn_updates_apply(op, json_of(op, replays[i].updates), base, file, wanted->last_updated_ms, &got,
                                        NULL));
        CHECK(json_equal(got->root, wanted->root), "%s: %.*s", replays[i].name,
              FIRN_FMT(firn_json_text(op->arena, got->root, 0)));
    }
}

/* Schema changes are given as a whole schema: the one Java arrived at. */
static void schemas_come_out_as_java_wrote_them(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    static const char *const names[] = { "update_schema_add_required_with_default_and_update_default",
                                         "update_schema_add_top_level_columns", "update_schema_rename_and_move",
                                         "update_schema_set_identifier_fields" };
    if (root.len == 0)
        return;
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++) {
        struct firn_metadata *base = load(op, root, names[i], "base.metadata.json"), *got;
        struct firn_metadata *wanted = load(op, root, names[i], "java_evolved.metadata.json");
        json_t *updates = json_of(op, "[{\"action\":\"add-schema\"},{\"action\":\"set-current-schema\","
                                      "\"schema-id\":-1}]");
        json_object_set(json_array_get(updates, 0), "schema",
                        json_array_get(json_object_get(wanted->root, "schemas"), 1));
        CHECK_OK(op,
                 firn_updates_apply(op, updates, base, (struct firn_text){ 0 }, wanted->last_updated_ms, &got, NULL));
        CHECK(json_equal(got->root, wanted->root), "%s", names[i]);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* One update drawn at random; most fit the table, some do not. */
static struct firn_text random_update(struct firn_op *op, const struct firn_metadata *metadata, uint64_t *seed)
{
    static const char *const refs[] = { "main", "a", "b" };
    const char *ref = refs[next_random(seed) % 3];
    uint32_t count = metadata->snapshot_count;
    long long known = count ? metadata->snapshots[next_random(seed) % count].id : 1;
    switch (next_random(seed) % 7) {
    case 0:
    case 1:
        return firn_text_format(op->arena, ADD_SNAPSHOT, (long long)(next_random(seed) % 1000 + 1),
                                "\"first-row-id\":9999999,\"added-rows\":1,", metadata->last_sequence_number + 1LL,
                                metadata->last_updated_ms + 1LL);
    case 2:
        return firn_text_format(op->arena, "{\"action\":\"remove-snapshots\",\"snapshot-ids\":[%lld]}", known);
    case 3:
        return firn_text_format(op->arena, "{\"action\":\"remove-snapshot-ref\",\"ref-name\":\"%s\"}", ref);
    case 4:
        return firn_text_format(op->arena, "{\"action\":\"set-properties\",\"updates\":{\"p\":\"%lld\"}}", known);
    default:
        return firn_text_format(op->arena, SET_REF, ref, known);
    }
}

static void random_updates_keep_the_table_whole(void **state)
{
    struct firn_op *op = test_op(state);
    for (uint64_t run = 1; run <= 60; run++) {
        uint64_t seed = run;
        struct firn_metadata *metadata = new_table(op, (int)(run % 3) + 1), *next;
        json_object_set_new(metadata->root, "x-unknown", json_integer(7));
        for (int step = 0; step < 40; step++) {
            struct firn_text one = random_update(op, metadata, &seed), two = random_update(op, metadata, &seed);
            struct firn_text list = firn_text_format(op->arena, "[%.*s,%.*s]", FIRN_FMT(one), FIRN_FMT(two));
            json_t *before = firn_json_copy(op->arena, metadata->root);
            firn_status status = firn_updates_apply(op, json_of(op, list.data), metadata, FIRN_TEXT("f"),
                                                    metadata->last_updated_ms + 1, &next, NULL);
            CHECK(json_equal(before, metadata->root), "seed %llu: the base changed", (unsigned long long)run);
            /* Whatever the updates, the result passed firn_metadata_check or was refused for a stated reason. */
            CHECK(status != FIRN_CORRUPT, "seed %llu step %d: %s", (unsigned long long)run, step, op->error.text);
            if (status != FIRN_OK)
                continue;
            CHECK(next->last_sequence_number >= metadata->last_sequence_number, "seed %llu", (unsigned long long)run);
            CHECK(next->next_row_id >= metadata->next_row_id, "seed %llu", (unsigned long long)run);
            CHECK(json_integer_value(json_object_get(next->root, "x-unknown")) == 7, "seed %llu",
                  (unsigned long long)run);
            metadata = next;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tables_are_created),
        TEST(heads_are_logged),
        TEST(stale_snapshots_conflict),
        TEST(row_ids_move_on),
        TEST(removed_snapshots_take_their_traces_along),
        TEST(the_metadata_log_is_trimmed),
        TEST(version_1_stays_and_upgrades),
        TEST(models_evolve_by_their_rules),
        TEST(exhausted_ids_are_told),
        TEST(requirements_are_held_to),
        TEST(time_travel_reads_the_log),
        TEST(changes_come_out_as_java_wrote_them),
        TEST(schemas_come_out_as_java_wrote_them),
        TEST(random_updates_keep_the_table_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
