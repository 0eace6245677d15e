/* The option parser: kinds, defaults, errors that say what was meant. */
#include "check.h"

#include "cli/cli.h"

struct parsed {
    struct cli cli;
    firn_status status;
};

static void parse(struct firn_op *op, struct parsed *parsed, const char *line)
{
    char program[] = "firn";
    char *argv[32] = { program };
    int argc = 1;
    memset(parsed, 0, sizeof *parsed);
    char *copy = firn_arena_alloc(op->arena, strlen(line) + 1);
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    op->error = (struct firn_error){ 0 };
    parsed->status = cli_parse(op, &parsed->cli, argc, argv);
}

static void globals_may_stand_anywhere(void **state)
{
    struct firn_op *op = test_op(state);
    struct parsed parsed;
    parse(op, &parsed, "--memory 512M describe --output=json db.t --relocate s3://a=/b --quiet");
    CHECK_OK(op, parsed.status);
    assert_int_equal(parsed.cli.globals.memory, 512 << 20);
    assert_true(firn_text_is(parsed.cli.globals.output, "json"));
    assert_true(parsed.cli.globals.quiet);
    assert_int_equal(parsed.cli.globals.relocate.count, 1);
    assert_true(firn_text_is(parsed.cli.globals.relocate.items[0].value, "/b"));
    assert_string_equal(parsed.cli.command->name, "describe");
    firn_arena_done(&parsed.cli.arena);
}

static void underscores_stand_for_hyphens(void **state)
{
    struct firn_op *op = test_op(state);
    struct parsed parsed;
    parse(op, &parsed, "rewrite-data-files db.t --dry_run --sort_order a");
    CHECK_OK(op, parsed.status);
    firn_arena_done(&parsed.cli.arena);
}

static void mistakes_are_named(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *line, *text, *hint;
    } cases[] = {
        { "rewrite-data-file db.t", "unknown command 'rewrite-data-file'", "did you mean 'rewrite-data-files'?" },
        { "describe db.t --cuont", "unknown option --cuont for describe", "did you mean --count?" },
        { "describe", "describe: TABLE is missing", "see 'firn help describe'" },
        { "describe a b", "describe: unexpected argument 'b'", "" },
        { "describe db.t --output xml", "--output: 'xml' is not one of table|json", "" },
        { "describe db.t --memory 12Q", "--memory: '12Q' is not a size such as 512M", "" },
        { "describe db.t --memory 1M", "--memory: 1M is less than 64.0 MiB", "" },
        { "describe db.t --snapshot-id", "--snapshot-id needs a value: ID", "" },
        { "describe db.t --count=1", "--count takes no value", "" },
        { "rewrite-data-files db.t --option x", "--option: 'x' is not KEY=VALUE", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed parsed;
        parse(op, &parsed, cases[i].line);
        CHECK_STATUS(op, FIRN_USAGE, parsed.status);
        CHECK(strcmp(op->error.text, cases[i].text) == 0, "%s: %s", cases[i].line, op->error.text);
        CHECK(strcmp(op->error.hint, cases[i].hint) == 0, "%s: %s", cases[i].line, op->error.hint);
        firn_arena_done(&parsed.cli.arena);
    }
}

static void sizes_are_powers_of_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t bytes;
    } cases[] = {
        { "0", true, 0 },      { "4096", true, 4096 },      { "1K", true, 1024 },
        { "1kb", true, 1024 }, { "2GiB", true, 1LL << 31 }, { "3 M", true, 3 << 20 },
        { "", false, 0 },      { "G", false, 0 },           { "9999999999T", false, 0 },
        { "-1", false, 0 },    { "1.5G", false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes = 0;
        bool good = firn_text_to_bytes(firn_text_of(cases[i].text), &bytes);
        CHECK(good == cases[i].good && (!good || bytes == cases[i].bytes), "'%s'", cases[i].text);
    }
}

static void numbers_read_well(void **state)
{
    struct firn_op *op = test_op(state);
    assert_true(firn_text_is(cli_count_text(op->arena, 0), "0"));
    assert_true(firn_text_is(cli_count_text(op->arena, 999), "999"));
    assert_true(firn_text_is(cli_count_text(op->arena, -1234567), "-1,234,567"));
    assert_true(firn_text_is(cli_bytes_text(op->arena, 1023), "1023 B"));
    assert_true(firn_text_is(cli_bytes_text(op->arena, 1536), "1.5 KiB"));
    assert_true(firn_text_is(cli_duration_text(op->arena, 64000), "1 min 04 s"));
}

static void every_option_row_is_complete(void **state)
{
    (void)state;
    for (const struct cli_command *const *at = cli_commands; *at; at++) {
        const struct cli_command *command = *at;
        CHECK(command->summary && command->description && command->run, "%s", command->name);
        for (const struct cli_option *option = command->options; option->name; option++) {
            CHECK(option->help && *option->help, "%s --%s", command->name, option->name);
            CHECK(option->kind == CLI_FLAG || option->value, "%s --%s", command->name, option->name);
            CHECK(option->offset < command->args_size, "%s --%s", command->name, option->name);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(globals_may_stand_anywhere), TEST(underscores_stand_for_hyphens),
        TEST(mistakes_are_named),         TEST(sizes_are_powers_of_1024),
        TEST(numbers_read_well),          TEST(every_option_row_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
