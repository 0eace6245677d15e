/* Configuration: what PyIceberg would read, read the same. */
#include "check.h"

#include "firn/catalog.h"

static struct firn_text property(const struct firn_config *config, const char *catalog, const char *key)
{
    const struct firn_catalog_config *found = firn_config_find(config, firn_text_of(catalog));
    return found ? firn_catalog_property(found, key) : (struct firn_text){ 0 };
}

static void check_property(const struct firn_config *config, const char *catalog, const char *key, const char *wanted)
{
    struct firn_text got = property(config, catalog, key);
    CHECK(firn_text_is(got, wanted), "%s.%s is '%.*s'", catalog, key, FIRN_FMT(got));
}

static void yaml_catalogs_are_flattened(void **state)
{
    struct firn_op *op = test_op(state);
    static const char yaml[] = "max-workers: 4\n"
                               "ignored:\n"
                               "  - a: [1, 2]\n"
                               "  - {b: c}\n"
                               "catalog:\n"
                               "  Prod:\n"
                               "    type: sql\n"
                               "    URI: \"sqlite:////x/y.db\"\n"
                               "    s3:\n"
                               "      access-key-id: 0123\n"
                               "      nested:\n"
                               "        deep: 'yes: it is'\n"
                               "    warehouse: file:///wh # remark\n"
                               "    empty:\n"
                               "  bare: {}\n"
                               "default-catalog: prod\n";
    struct firn_config config = { 0 };
    CHECK_OK(op, firn_config_parse_yaml(op, firn_text_of(yaml), FIRN_TEXT("f.yaml"), &config));
    assert_int_equal(config.catalog_count, 2);
    check_property(&config, "prod", "uri", "sqlite:////x/y.db");
    check_property(&config, "PROD", "s3.access-key-id", "0123");
    check_property(&config, "prod", "s3.nested.deep", "yes: it is");
    check_property(&config, "prod", "warehouse", "file:///wh");
    check_property(&config, "prod", "empty", "");
    check_property(&config, "", "type", "sql");
    CHECK(firn_text_is(firn_config_find(&config, FIRN_TEXT("prod"))->name, "Prod"), "spelling");
    assert_non_null(firn_config_find(&config, FIRN_TEXT("bare")));
    assert_null(firn_config_find(&config, FIRN_TEXT("other")));

    CHECK_OK(op,
             firn_config_parse_yaml(op, FIRN_TEXT("catalog:\n  prod:\n    type: hadoop\n"), FIRN_TEXT("g"), &config));
    check_property(&config, "prod", "type", "hadoop");
    check_property(&config, "prod", "warehouse", "file:///wh");
}

static void broken_yaml_names_the_line(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *yaml;
        const char *place; /* NULL: fine */
    } cases[] = {
        { "", NULL },
        { "# nothing\n", NULL },
        { "catalog:\n", NULL },
        { "catalog:\n  a:\n", NULL },
        { "- 1\n", "f.yaml, line 1" },
        { "text", "f.yaml, line 1" },
        { "catalog: x\n", "f.yaml, line 1" },
        { "catalog:\n  a: b\n", "f.yaml, line 2" },
        { "catalog:\n  a:\n    b: [1]\n", "f.yaml, line 3" },
        { "catalog:\n  a:\n    b: *x\n", "f.yaml, line 3" },
        { "catalog:\n  a:\n  b: {\n", "f.yaml, line " },
        { "catalog:\n\ta: b\n", "f.yaml, line 2" },
        { "a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: 1}}}}}}}}}}}}}}}}}}\n", "too deep" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_config config = { 0 };
        firn_status status = firn_config_parse_yaml(op, firn_text_of(cases[i].yaml), FIRN_TEXT("f.yaml"), &config);
        CHECK(status == (cases[i].place ? FIRN_CORRUPT : FIRN_OK), "case %zu: %s", i, firn_status_name(status));
        CHECK(!cases[i].place || strstr(op->error.text, cases[i].place), "case %zu: %s", i, op->error.text);
    }
}

static void variables_set_properties(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const variables[][2] = {
        { "PYICEBERG_CATALOG__DEFAULT__URI", "sqlite:///a.db" },
        { "PYICEBERG_CATALOG__MY_CAT__S3__ACCESS_KEY_ID", "k" },
        { "pyiceberg_catalog__my_cat__py_io_impl", "x" },
        { "PYICEBERG_CATALOG__MY_CAT__A__B__C_D", "deep" },
        { "PYICEBERG_MAX_WORKERS", "3" },
        { "PYICEBERG_HOME", "/x" },
        { "HOME", "/y" },
    };
    struct firn_config config = { 0 };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        CHECK_OK(op,
                 firn_config_apply_variable(op, firn_text_of(variables[i][0]), firn_text_of(variables[i][1]), &config));
    assert_int_equal(config.catalog_count, 2);
    check_property(&config, "", "uri", "sqlite:///a.db");
    check_property(&config, "my-cat", "s3.access-key-id", "k");
    check_property(&config, "my-cat", "py-io-impl", "x");
    check_property(&config, "my-cat", "a.b.c-d", "deep");
    CHECK_OK(op, firn_config_apply_variable(op, FIRN_TEXT("PYICEBERG_DEFAULT_CATALOG"), FIRN_TEXT("my-cat"), &config));
    check_property(&config, "", "s3.access-key-id", "k");
    CHECK_STATUS(op, FIRN_USAGE,
                 firn_config_apply_variable(op, FIRN_TEXT("PYICEBERG_CATALOG__X"), FIRN_TEXT("1"), &config));
}

static void flags_are_merged_last(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_property flags[] = { { FIRN_TEXT("URI"), FIRN_TEXT("new") }, { FIRN_TEXT("extra"), FIRN_TEXT("1") } };
    struct firn_catalog_config from_flags = { FIRN_TEXT("a"), flags, 2 };
    struct firn_config config = { 0 };
    CHECK_OK(op, firn_config_apply_variable(op, FIRN_TEXT("PYICEBERG_CATALOG__A__URI"), FIRN_TEXT("old"), &config));
    CHECK_OK(op, firn_config_merge(op, &from_flags, &config));
    check_property(&config, "a", "uri", "new");
    check_property(&config, "", "extra", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(yaml_catalogs_are_flattened),
        TEST(broken_yaml_names_the_line),
        TEST(variables_set_properties),
        TEST(flags_are_merged_last),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
