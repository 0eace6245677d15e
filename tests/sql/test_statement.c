/* The grammar of statements: what is read and how, where faults are, and that nothing typed or sent breaks it. */
#include "check.h"

#include "base/math.h"
#include "firn/sql.h"
#include "support/sql_text.h"

/* All statements of a script as text, a line each; a failure is left in op->error. */
static firn_status read_all(struct firn_op *op, struct firn_text text, struct firn_text *out)
{
    struct firn_sql_script script = firn_sql_script_of(text);
    const struct firn_sql_statement *statement;
    *out = FIRN_TEXT("");
    for (;;) {
        FIRN_TRY(firn_sql_next(op, &script, &statement));
        if (!statement)
            return FIRN_OK;
        struct firn_text one = sql_text(op->arena, statement);
        *out = out->len ? firn_text_join(op->arena, *out, firn_text_join(op->arena, FIRN_TEXT("\n"), one)) : one;
    }
}

static void statements_mean_what_they_say(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text, *meaning;
    } cases[] = {
        { "CALL catalog.system.rewrite_manifests('db.txn')", "CALL `catalog`.`system`.`rewrite_manifests`('db.txn')" },
        { "call system.p();;\n ; call system.q ( ) ;", "CALL `system`.`p`()\nCALL `system`.`q`()" },
        { "", "" },
        { " -- nothing\n ; /* at all */ ", "" },
        { "CALL `my cat`.`sys``tem`.p(`table` => 'x')", "CALL `my cat`.`sys``tem`.`p`(`table` => 'x')" },
        { "CALL c.s.p(a => 1, b => -2.5, c => true, d => NULL, e => 5L, f => 1e3, g => FALSE)",
          "CALL `c`.`s`.`p`(`a` => 1, `b` => -2.5D, `c` => true, `d` => null, `e` => 5, `f` => 1e3D, `g` => false)" },
        { "CALL c.s.p(map('a', 'b', \"c\", 1), array(), array(1, -2))",
          "CALL `c`.`s`.`p`(map('a', 'b', 'c', 1), array(), array(1, -2))" },
        { "CALL c.s.p(where => 'at >= date ''2026-07-01''')",
          "CALL `c`.`s`.`p`(`where` => 'at >= date ''2026-07-01''')" },
        { "CALL c.s.p('it\\'s', \"say \"\"x\"\"\", 'a' -- and\n 'b')", "CALL `c`.`s`.`p`('it''s', 'say \"x\"', 'ab')" },
        { "CALL c.s.p('a;b -- no /* no', /* ; */ '--')", "CALL `c`.`s`.`p`('a;b -- no /* no', '--')" },
        { "CALL c.s.p(/* a /* nested */ one */ 1) -- last", "CALL `c`.`s`.`p`(1)" },
        { "CALL c.s.p(TIMESTAMP '2026-7-6 01:02', date'2026-07', timestamp_ntz \"2026-07-06T10:00:00.5+02:00\")",
          "CALL `c`.`s`.`p`(TIMESTAMP '2026-07-06 01:02:00', DATE '2026-07-01', TIMESTAMP '2026-07-06 08:00:00.5')" },
        { "ALTER TABLE c.db.t CREATE BRANCH IF NOT EXISTS `audit branch` AS OF VERSION 123 RETAIN 7 DAYS WITH SNAPSHOT "
          "RETENTION 3 SNAPSHOTS 2 HOURS",
          "ALTER TABLE `c`.`db`.`t` CREATE BRANCH IF NOT EXISTS `audit branch` AS OF VERSION 123 RETAIN 7 DAYS WITH "
          "SNAPSHOT RETENTION 3 snapshots 2 HOURS" },
        { "alter table t create or replace tag eoy retain 365 days",
          "ALTER TABLE `t` CREATE OR REPLACE TAG `eoy` RETAIN 365 DAYS" },
        { "alter table 1a.t create tag 2026_q1", "ALTER TABLE `1a`.`t` CREATE TAG `2026_q1`" },
        { "alter table t replace branch b with snapshot retention 90 minutes",
          "ALTER TABLE `t` REPLACE BRANCH `b` WITH SNAPSHOT RETENTION 90 MINUTES" },
        { "alter table t drop tag if exists x; alter table t drop branch y",
          "ALTER TABLE `t` DROP TAG IF EXISTS `x`\nALTER TABLE `t` DROP BRANCH `y`" },
        { "ALTER TABLE t SET TBLPROPERTIES ('a.b' \"c\", write.format.default 'parquet', x=5, y true, z -1.5)",
          "ALTER TABLE `t` SET TBLPROPERTIES ('a.b' = 'c', 'write.format.default' = 'parquet', 'x' = '5', 'y' = "
          "'true', "
          "'z' = '-1.5')" },
        { "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('a', b.c)",
          "ALTER TABLE `t` UNSET TBLPROPERTIES ('a', 'b.c')" },
        { "ALTER TABLE t WRITE ORDERED BY a DESC NULLS LAST, bucket(16, b.c) -- x\n",
          "ALTER TABLE `t` WRITE ORDERED BY a DESC NULLS LAST, bucket(16, b.c)" },
        { "ALTER TABLE t WRITE LOCALLY ORDERED BY (a, b) DISTRIBUTED BY PARTITION",
          "ALTER TABLE `t` WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY (a, b)" },
        { "ALTER TABLE t WRITE UNORDERED", "ALTER TABLE `t` WRITE UNORDERED" },
        { "ALTER TABLE t WRITE DISTRIBUTED BY PARTITION", "ALTER TABLE `t` WRITE DISTRIBUTED BY PARTITION" },
        { "SELECT a || ';' FROM x [0] WHERE # ; call s.p()", "SELECT a || ';' FROM x [0] WHERE #\nCALL `s`.`p`()" },
        { "with a as (select 1) select * from a", "with a as (select 1) select * from a" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text meaning, again;
        firn_status status = read_all(op, firn_text_of(cases[i].text), &meaning);
        CHECK(status == FIRN_OK, "%s: %s", cases[i].text, op->error.text);
        CHECK(firn_text_is(meaning, cases[i].meaning), "%s\n%.*s", cases[i].text, FIRN_FMT(meaning));
        for (size_t at = 0; at < meaning.len; at++) /* statements were put on lines */
            if (meaning.data[at] == '\n')
                ((char *)(uintptr_t)meaning.data)[at] = ';';
        CHECK_OK(op, read_all(op, meaning, &again));
        CHECK(firn_text_is(again, cases[i].meaning), "%.*s", FIRN_FMT(again));
    }
}

static void faults_are_told_with_their_place(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text, *error;
        firn_status status;
    } cases[] = {
        { "CALL", "line 1, column 5: the statement ends where the procedure's name is expected", FIRN_USAGE },
        { "CALL a.b", "line 1, column 9: the statement ends where '(' is expected", FIRN_USAGE },
        { "CALL a.b(1", "line 1, column 11: the statement ends where ')' is expected", FIRN_USAGE },
        { "\n\n  CALL a.b(x => )", "line 3, column 17: ) stands where a value", FIRN_USAGE },
        { "CALL a.b(1) CALL a.b(2)", "line 1, column 13: CALL stands where the end of the statement", FIRN_USAGE },
        { "CALL a.b('\xc3\xa4\xe4\xb8\xad', x)", "line 1, column 16: x stands where a value", FIRN_USAGE },
        { "CALL a.b(x => 1, 2)", "line 1, column 18: arguments by name and by position cannot be mixed", FIRN_USAGE },
        { "CALL a.b(map('k'))", "line 1, column 10: map(...) has a key without a value", FIRN_USAGE },
        { "CALL a.b(map(map('k', 1), 1))", "line 1, column 14: map stands where a value", FIRN_USAGE },
        { "CALL a.b(TIMESTAMP '7d')", "line 1, column 10: '7d' is no timestamp", FIRN_USAGE },
        { "CALL a.b(DATE '2026-02-30')", "line 1, column 10: '2026-02-30' is no date", FIRN_USAGE },
        { "CALL a.b(``)", "line 1, column 10: `` stands where a value", FIRN_USAGE },
        { "CALL a.``()", "line 1, column 8: the procedure's name is empty", FIRN_USAGE },
        { "CALL a.b('open", "line 1, column 10: the quote ' is not closed", FIRN_USAGE },
        { "CALL a.b(1); /* open", "line 1, column 14: the comment /* is not closed", FIRN_USAGE },
        { "CALL a.b(1) /* open", "line 1, column 13: the comment /* is not closed", FIRN_USAGE },
        { "CALL a.b(12abc)", "line 1, column 10: 12abc stands where a value", FIRN_USAGE },
        { "CALL a.b(1.2abc)", "line 1, column 10: '1.2abc' is not a number", FIRN_USAGE },
        { "CALL a.b(#)", "line 1, column 10: # stands where a value", FIRN_USAGE },
        { "INSERT INTO t VALUES (1)", "line 1, column 1: statements that begin with INSERT are not supported",
          FIRN_UNSUPPORTED },
        { "(select 1)", "line 1, column 1: ( stands where a statement is expected", FIRN_USAGE },
        { "ALTER TABLE t ADD COLUMN x int", "line 1, column 15: ADD stands where CREATE", FIRN_USAGE },
        { "ALTER TABLE t CREATE VIEW x", "line 1, column 22: VIEW stands where BRANCH or TAG", FIRN_USAGE },
        { "ALTER TABLE t CREATE TAG x WITH SNAPSHOT RETENTION 1 DAYS", "line 1, column 28: WITH stands where",
          FIRN_USAGE },
        { "ALTER TABLE t CREATE TAG x RETAIN 0 DAYS", "line 1, column 35: 0 stands where a whole number above 0",
          FIRN_USAGE },
        { "ALTER TABLE t CREATE TAG x RETAIN 7 WEEKS", "line 1, column 37: WEEKS stands where DAYS", FIRN_USAGE },
        { "ALTER TABLE t CREATE TAG x AS OF VERSION 99999999999999999999", "line 1, column 42:", FIRN_USAGE },
        { "ALTER TABLE t SET TBLPROPERTIES ()", "line 1, column 34: ) stands where a property's name", FIRN_USAGE },
        { "ALTER TABLE t SET TBLPROPERTIES ('a')", "line 1, column 37: ) stands where a value", FIRN_USAGE },
        { "ALTER TABLE t SET TBLPROPERTIES ('a' = NULL)", "line 1, column 40: a property's value is", FIRN_USAGE },
        { "ALTER TABLE t SET TBLPROPERTIES ('a' 'b', a 'c')", "line 1, column 43: property 'a' is given twice",
          FIRN_USAGE },
        { "ALTER TABLE t WRITE", "line 1, column 20: the statement ends where [LOCALLY] ORDERED BY", FIRN_USAGE },
        { "ALTER TABLE t WRITE ORDERED BY", "line 1, column 31: the order ends where a column", FIRN_USAGE },
        { "ALTER TABLE t WRITE ORDERED BY a,\n b NULLS", "line 2, column 9: the order ends where FIRST or LAST",
          FIRN_USAGE },
        { "ALTER TABLE t WRITE UNORDERED ORDERED BY a", "line 1, column 31: ORDERED stands where the end", FIRN_USAGE },
        { "ALTER TABLE t WRITE ORDERED BY (a, b", "line 1, column 37: the order ends where ')'", FIRN_USAGE },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text meaning;
        op->error = (struct firn_error){ 0 };
        firn_status status = read_all(op, firn_text_of(cases[i].text), &meaning);
        CHECK(status == cases[i].status, "%s: %s", cases[i].text, op->error.text);
        CHECK(strncmp(op->error.text, cases[i].error, strlen(cases[i].error)) == 0, "%s: %s", cases[i].text,
              op->error.text);
    }
}

static void what_came_before_a_fault_is_given_first(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_sql_script script = firn_sql_script_of(FIRN_TEXT("CALL s.p();\n CALL s.q('open;"));
    const struct firn_sql_statement *statement;
    CHECK_OK(op, firn_sql_next(op, &script, &statement));
    assert_true(firn_text_is(statement->text, "CALL s.p()"));
    CHECK_STATUS(op, FIRN_USAGE, firn_sql_next(op, &script, &statement));
    assert_string_equal(op->error.text, "line 2, column 11: the quote ' is not closed");
}

static void a_prompt_knows_when_more_is_to_come(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text;
        bool complete;
    } cases[] = {
        { "", true },
        { "  -- x", true },
        { "CALL s.p()", false },
        { "CALL s.p();", true },
        { "CALL s.p(); -- done", true },
        { "CALL s.p(); SELECT", false },
        { "CALL s.p('a;", false },
        { "CALL s.p(/* ;", false },
        { "CALL s.p(`;", false },
        { "CALL s.p(1.2abc", true }, /* a fault no typing mends */
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        CHECK(firn_sql_is_complete(op, firn_text_of(cases[i].text)) == cases[i].complete, "%s", cases[i].text);
}

static void names_in_texts(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const bad[] = { "", ".", "a.", "a..b", "a b", "a;", "a;b", "'a'", "`a", "a.``", "1" };
    struct firn_sql_name name;
    CHECK_OK(op, firn_sql_name_parse(op, FIRN_TEXT("db.`my table`.`a``b`"), &name));
    assert_int_equal(name.count, 3);
    assert_true(firn_text_is(name.items[1], "my table"));
    assert_true(firn_text_is(name.items[2], "a`b"));
    for (size_t i = 0; i < FIRN_COUNT_OF(bad); i++)
        CHECK(firn_sql_name_parse(op, firn_text_of(bad[i]), &name) == FIRN_USAGE, "%s", bad[i]);
}

static struct firn_text repeat(struct firn_arena *arena, const char *before, const char *part, size_t count,
                               const char *after)
{
    size_t len = strlen(part), begin = strlen(before), end = strlen(after);
    char *text = firn_arena_alloc(arena, begin + len * count + end);
    memcpy(text, before, begin);
    for (size_t i = 0; i < count; i++)
        memcpy(text + begin + i * len, part, len);
    memcpy(text + begin + len * count, after, end);
    return (struct firn_text){ text, begin + len * count + end };
}

/* Deep, long and many: told, or read, in time that grows with the text alone. */
static void no_text_is_too_much(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *before, *part, *after;
        size_t count;
        firn_status status;
    } cases[] = {
        { "CALL s.p(", "map(", "", 100000, FIRN_USAGE },
        { "CALL s.p(", "(", "", 100000, FIRN_USAGE },
        { "CALL s.p", ".p", "()", 100000, FIRN_LIMIT },
        { "CALL s.p(array(1", ",1", "))", 99999, FIRN_OK },
        { "CALL s.p(array(1", ",1", "))", 100000, FIRN_LIMIT },
        { "CALL s.p(1", ",\n1", ")", 100000, FIRN_LIMIT },
        { "", "CALL s.p();\n", "", 20000, FIRN_OK },
        { "", ";", "", 1000000, FIRN_OK },
        { "", "/*", "", 100000, FIRN_USAGE },
        { "", "-", "", 100000, FIRN_OK },
        { "CALL s.p(", "'a' ", ")", 100000, FIRN_OK },
        { "CALL s.p(", "-", "1)", 1, FIRN_OK },
        { "CALL s.p(- ", "- ", "1)", 2, FIRN_USAGE },
        { "ALTER TABLE t SET TBLPROPERTIES (a", ".a", " 1)", 100000, FIRN_LIMIT },
        { "ALTER TABLE t WRITE ORDERED BY a", ",a", "", 100000, FIRN_LIMIT },
        { "ALTER TABLE t WRITE ORDERED BY a", ".a", "", 100000, FIRN_LIMIT },
        { "ALTER TABLE t WRITE ORDERED BY ", "(", "", 100000, FIRN_USAGE },
        { "ALTER TABLE t WRITE ORDERED BY zorder(a", ",a", ")", 100000, FIRN_LIMIT },
        { "ALTER TABLE t WRITE", " DISTRIBUTED BY PARTITION", "", 1000, FIRN_USAGE },
        { "", "x", "", FIRN_SQL_BYTES_MAX + 1, FIRN_LIMIT },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const struct firn_sql_statement *statement = NULL;
        struct firn_sql_script script =
            firn_sql_script_of(repeat(op->arena, cases[i].before, cases[i].part, cases[i].count, cases[i].after));
        firn_status status;
        do
            status = firn_sql_next(op, &script, &statement);
        while (status == FIRN_OK && statement);
        CHECK(status == cases[i].status, "%s%s...: %s: %s", cases[i].before, cases[i].part, firn_status_name(status),
              op->error.text);
    }
}

/* A linear congruential generator: the seed alone repeats a run. */
static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* Words, signs and broken bytes in any order: read or refused with a place, and what is read prints to the same. */
static void random_texts_are_read_or_refused(void **state)
{
    static const char *const parts[] = {
        "CALL ",
        "ALTER TABLE ",
        "t ",
        "a.b",
        "(",
        ")",
        ",",
        "=>",
        "'x'",
        "''",
        "`q`",
        "1",
        "-",
        "2.5",
        "null ",
        "true ",
        "map(",
        "array(",
        "DATE '2026-01-01'",
        "CREATE ",
        "OR REPLACE ",
        "TAG ",
        "BRANCH ",
        "IF NOT EXISTS ",
        "RETAIN 1 DAYS ",
        "SET ",
        "TBLPROPERTIES ",
        "WRITE ",
        "ORDERED BY ",
        "ASC ",
        "NULLS ",
        "FIRST ",
        "UNORDERED ",
        ";",
        "--",
        "\n",
        "/*",
        "*/",
        "\xff",
        "\"",
        "\\",
        "SELECT ",
        "x => 5 ",
        "TIMESTAMP '2026-01-01 00:00:00'",
    };
    struct firn_op *op = test_op(state);
    uint64_t seed = 20261130;
    for (int run = 0; run < 20000; run++) {
        struct firn_arena arena;
        struct firn_op own = *op;
        char text[512];
        size_t len = 0;
        firn_arena_init(&arena);
        own.arena = &arena;
        for (uint32_t count = next_random(&seed) % 14; count > 0; count--) {
            const char *part = parts[next_random(&seed) % FIRN_COUNT_OF(parts)];
            memcpy(text + len, part, strlen(part));
            len += strlen(part);
        }
        struct firn_sql_script script = firn_sql_script_of((struct firn_text){ text, len });
        const struct firn_sql_statement *statement;
        while (firn_sql_next(&own, &script, &statement) == FIRN_OK && statement) {
            struct firn_text once = sql_text(&arena, statement), twice;
            CHECK_OK(&own, read_all(&own, once, &twice));
            CHECK(firn_text_same(once, twice), "%.*s became %.*s", FIRN_FMT(once), FIRN_FMT(twice));
        }
        firn_arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(statements_mean_what_they_say),
        TEST(faults_are_told_with_their_place),
        TEST(what_came_before_a_fault_is_given_first),
        TEST(a_prompt_knows_when_more_is_to_come),
        TEST(names_in_texts),
        TEST(no_text_is_too_much),
        TEST(random_texts_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
