/* Policies: the layers of a table's policy, what is refused and how it is told, windows of the day. */
#include "check.h"

#include "format/json/json.h"
#include "maintain/age.h"
#include "maintain/policy.h"
#include "table/metadata.h"

static const char bank_yaml[] = "maintain:\n"
                                "  defaults:\n"
                                "    compact: { every: 2h }\n"
                                "    windows: 22:00-06:00\n"
                                "  namespaces:\n"
                                "    bank: { expire: { every: 2d, older-than: 7d } }\n"
                                "    bank.deep: { expire.every: 3d }\n"
                                "  tables:\n"
                                "    bank.txn:\n"
                                "      compact:\n"
                                "        every: 30m\n"
                                "        target-file-size-bytes: 64MiB\n"
                                "    prod.bank.txn: { compact.every: 15m }\n"
                                "prices: { get: 1 }\n";

static struct firn_table table_with(struct firn_op *op, const char *name, const char *identifier,
                                    const char *properties)
{
    struct firn_metadata *metadata = FIRN_NEW(op->arena, struct firn_metadata);
    json_t *root = json_pack("{s:o}", "properties", json_loads(properties, 0, NULL));
    assert_non_null(root);
    metadata->root = firn_json_own(op->arena, root);
    return (
        struct firn_table){ .name = firn_text_of(name), .identifier = firn_text_of(identifier), .metadata = metadata };
}

static const struct firn_policy *policy_of(struct firn_op *op, const char *yaml, const struct firn_table *table)
{
    struct firn_policies *policies = firn_policies_new(op);
    struct firn_policy *policy;
    CHECK_OK(op, firn_policies_parse(op, firn_text_of(yaml), FIRN_TEXT("firn.yaml"), policies));
    CHECK_OK(op, firn_policy_of(op, policies, table, NULL, 0, &policy));
    return policy;
}

static void every_default_is_a_value_of_its_key(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_table table = table_with(op, "c.n.t", "n.t", "{}");
    const struct firn_policy *policy = policy_of(op, "", &table);
    for (int i = 0; i < FIRN_POLICY_COUNT; i++) {
        enum firn_policy_key key = (enum firn_policy_key)i;
        struct firn_property given = { firn_text_of(firn_policy_key_name(key)), firn_policy_text(policy, key) };
        struct firn_policy *again;
        CHECK(firn_text_is(policy->values[i].from, "default"), "%s", firn_policy_key_name(key));
        CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), &table, &given, 1, &again));
        assert_int_equal(firn_policy_number(again, key), firn_policy_number(policy, key));
    }
    assert_int_equal(firn_policy_number(policy, FIRN_POLICY_ORPHANS_OLDER_THAN), 3 * FIRN_MS_PER_DAY);
    assert_int_equal(firn_policy_number(policy, FIRN_POLICY_EXPIRE_OLDER_THAN), FIRN_POLICY_UNSET);
}

static void layers_go_before_one_another(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *name, *identifier, *properties;
        enum firn_policy_key key;
        int64_t wanted;
        const char *from;
    } cases[] = {
        { "prod.shop.t", "shop.t", "{}", FIRN_POLICY_COMPACT_EVERY, 2 * FIRN_MS_PER_HOUR, "firn.yaml, line 3" },
        { "prod.shop.t", "shop.t", "{}", FIRN_POLICY_EXPIRE_EVERY, FIRN_MS_PER_DAY, "default" },
        { "prod.bank.t", "bank.t", "{}", FIRN_POLICY_EXPIRE_EVERY, 2 * FIRN_MS_PER_DAY, "firn.yaml, line 6" },
        { "prod.banker.t", "banker.t", "{}", FIRN_POLICY_EXPIRE_EVERY, FIRN_MS_PER_DAY, "default" },
        { "prod.bank.deep.t", "bank.deep.t", "{}", FIRN_POLICY_EXPIRE_EVERY, 3 * FIRN_MS_PER_DAY, "firn.yaml, line 7" },
        { "test.bank.txn", "bank.txn", "{}", FIRN_POLICY_COMPACT_EVERY, FIRN_MS_PER_HOUR / 2, "firn.yaml, line 11" },
        { "prod.bank.txn", "bank.txn", "{}", FIRN_POLICY_COMPACT_EVERY, FIRN_MS_PER_HOUR / 4, "firn.yaml, line 13" },
        { "prod.bank.txn", "bank.txn", "{\"firn.maintain.compact.every\": \"never\"}", FIRN_POLICY_COMPACT_EVERY,
          FIRN_POLICY_NEVER, "table property firn.maintain.compact.every" },
        { "prod.bank.txn", "bank.txn", "{}", FIRN_POLICY_COMPACT_TARGET_FILE_BYTES, 64 << 20, "firn.yaml, line 12" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_table table = table_with(op, cases[i].name, cases[i].identifier, cases[i].properties);
        const struct firn_policy *policy = policy_of(op, bank_yaml, &table);
        const struct firn_policy_value *value = &policy->values[cases[i].key];
        CHECK(value->number == cases[i].wanted, "case %zu: %" PRId64, i, value->number);
        CHECK(firn_text_is(value->from, cases[i].from), "case %zu: %.*s", i, FIRN_FMT(value->from));
    }
}

static void what_is_given_goes_before_all(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_table table = table_with(op, "c.n.t", "n.t", "{\"firn.maintain.expire.retain-last\": \"7\"}");
    struct firn_property given = { FIRN_TEXT("expire.retain-last"), FIRN_TEXT("9") };
    struct firn_policy *policy;
    CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), &table, &given, 1, &policy));
    assert_int_equal(firn_policy_number(policy, FIRN_POLICY_EXPIRE_RETAIN_LAST), 9);
    given.value = FIRN_TEXT("");
    CHECK_OK(op, firn_policy_of(op, firn_policies_new(op), &table, &given, 1, &policy));
    assert_int_equal(firn_policy_number(policy, FIRN_POLICY_EXPIRE_RETAIN_LAST), FIRN_POLICY_UNSET);
    given = (struct firn_property){ FIRN_TEXT("expire.retain"), FIRN_TEXT("9") };
    CHECK_STATUS(op, FIRN_USAGE, firn_policy_of(op, firn_policies_new(op), &table, &given, 1, &policy));
    CHECK(strstr(op->error.text, "given: policies have no key 'expire.retain'"), "%s", op->error.text);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *yaml, *text, *hint;
        firn_status status;
    } cases[] = {
        { "maintain:\n  defaults:\n    compact:\n      evrey: 1h\n",
          "firn.yaml, line 4: policies have no key 'compact.evrey'", "did you mean compact.every?", FIRN_USAGE },
        { "maintian:\n  defaults: {}\n", "firn.yaml, line 1: 'maintian' is not known here", "maintain?", FIRN_USAGE },
        { "maintain:\n  table: {}\n", "line 2: 'table' is not known here", "tables?", FIRN_USAGE },
        { "maintain:\n  defaults:\n    compact.every: soon\n",
          "line 3: compact.every is 'soon', not a time such as 30m, 1h, 7d, or never", "", FIRN_USAGE },
        { "maintain:\n  defaults:\n    orphans: { older-than: 5h }\n", "must be at least 86400s", "", FIRN_USAGE },
        { "maintain:\n  defaults:\n    orphans: { mode: burn }\n", "not one of mark|delete", "", FIRN_USAGE },
        { "maintain:\n  defaults:\n    windows: 22-06\n", "not times of day", "", FIRN_USAGE },
        { "maintain:\n  defaults:\n    windows: [22:00-06:00]\n", "line 3: a policy has no lists", "", FIRN_USAGE },
        { "maintain:\n  tables:\n    a.b: 1h\n", "line 3: a mapping of settings is wanted here", "", FIRN_USAGE },
        { "maintain:\n  defaults:\n    enabled: yes\n", "not true or false", "", FIRN_USAGE },
        { "maintain: {\n", "firn.yaml, line ", "", FIRN_CORRUPT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        op->error = (struct firn_error){ 0 };
        firn_status status =
            firn_policies_parse(op, firn_text_of(cases[i].yaml), FIRN_TEXT("firn.yaml"), firn_policies_new(op));
        CHECK(status == cases[i].status, "case %zu: %s", i, firn_status_name(status));
        CHECK(strstr(op->error.text, cases[i].text), "case %zu: %s", i, op->error.text);
        CHECK(strstr(op->error.hint, cases[i].hint), "case %zu: %s", i, op->error.hint);
    }
}

static void windows_open_and_close(void **state)
{
    (void)state;
    static const struct {
        const char *windows;
        int32_t at, next; /* minutes of the day; 24:00 and later: of the next one */
    } cases[] = {
        { "", 0, 0 },
        { "22:00-06:00", 21 * 60 + 59, 22 * 60 },
        { "22:00-06:00", 22 * 60, 22 * 60 },
        { "22:00-06:00", 5 * 60 + 59, 5 * 60 + 59 },
        { "22:00-06:00", 6 * 60, 22 * 60 },
        { "02:00-03:00, 12:00-13:00", 4 * 60, 12 * 60 },
        { "02:00-03:00, 12:00-13:00", 13 * 60, 26 * 60 },
        { "00:00-24:00", 23 * 60 + 59, 23 * 60 + 59 },
    };
    const int64_t day_ms = 20000 * FIRN_MS_PER_DAY;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_text windows = firn_text_of(cases[i].windows);
        int64_t at_ms = day_ms + cases[i].at * INT64_C(60000), next_ms = day_ms + cases[i].next * INT64_C(60000);
        CHECK(firn_windows_open(windows, at_ms) == (at_ms == next_ms), "case %zu", i);
        CHECK(firn_windows_next(windows, at_ms) == next_ms, "case %zu: %" PRId64 " minutes", i,
              (firn_windows_next(windows, at_ms) - day_ms) / 60000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_default_is_a_value_of_its_key),
        TEST(layers_go_before_one_another),
        TEST(what_is_given_goes_before_all),
        TEST(what_is_wrong_is_told_with_its_line),
        TEST(windows_open_and_close),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
