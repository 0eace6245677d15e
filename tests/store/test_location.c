/* Locations taken apart, and objects read by lines. */
#include "check.h"

#include "store/lines.h"

static void splits_locations(void **state)
{
    static const struct {
        const char *location, *scheme, *authority, *path;
    } cases[] = {
        { "s3://Bucket/a/b.parquet", "s3", "bucket", "/a/b.parquet" },
        { "S3A://b/a//b/", "s3a", "b", "/a/b" },
        { "file:/a/b", "file", "", "/a/b" },
        { "file:///a/b", "file", "", "/a/b" },
        { "file://localhost/a", "file", "", "/a" },
        { "/a/./b/../c", "", "", "/a/c" },
        { "/../a", "", "", "/a" },
        { "a/b/..", "", "", "a" },
        { "./a", "", "", "a" },
        { "hdfs:/p/f", "hdfs", "", "/p/f" },
        { "hdfs://nn:8020/p/f", "hdfs", "nn:8020", "/p/f" },
        { "abfss://c@acct.dfs.core.windows.net/x", "abfss", "c@acct.dfs.core.windows.net", "/x" },
        { "s3://b", "s3", "b", "/" },
        { "/", "", "", "/" },
        { "/p=a:b/x%3Ay", "", "", "/p=a:b/x%3Ay" },
        { "/a/.hidden/..b", "", "", "/a/.hidden/..b" },
        { "", "", "", "" },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_location_parts parts = firn_location_split(op->arena, firn_text_of(cases[i].location));
        CHECK(firn_text_is(parts.scheme, cases[i].scheme), "%s: %.*s", cases[i].location, FIRN_FMT(parts.scheme));
        CHECK(firn_text_is(parts.authority, cases[i].authority), "%s: %.*s", cases[i].location,
              FIRN_FMT(parts.authority));
        CHECK(firn_text_is(parts.path, cases[i].path), "%s: %.*s", cases[i].location, FIRN_FMT(parts.path));
    }
}

static void compares_on_path_boundaries(void **state)
{
    (void)state;
    CHECK(firn_path_is_below(FIRN_TEXT("/w/t1"), FIRN_TEXT("/w/t1/data")), "below");
    CHECK(firn_path_is_below(FIRN_TEXT("/w/t1"), FIRN_TEXT("/w/t1")), "itself");
    CHECK(!firn_path_is_below(FIRN_TEXT("/w/t1"), FIRN_TEXT("/w/t10/data")), "a longer name");
    CHECK(!firn_path_is_below(FIRN_TEXT("/w/t1"), FIRN_TEXT("/w")), "above");
    CHECK(firn_path_is_below(FIRN_TEXT("/"), FIRN_TEXT("/w")), "root");
}

/* The lines of `content`, joined with '|'. */
static firn_status joined_lines(struct firn_op *op, struct firn_store *store, struct firn_text content,
                                struct firn_text *out)
{
    struct firn_lines lines;
    struct firn_text line;
    bool got;
    FIRN_TRY(firn_store_put(op, store, FIRN_TEXT("m:/f"), false, firn_bytes_of_text(content)));
    FIRN_TRY(firn_lines_open(op, store, FIRN_TEXT("m:/f"), &lines));
    firn_status status;
    *out = FIRN_TEXT("");
    while ((status = firn_lines_next(op, &lines, &line, &got)) == FIRN_OK && got)
        *out = firn_text_format(op->arena, "%.*s%.*s|", FIRN_FMT(*out), FIRN_FMT(line));
    firn_lines_close(&lines);
    return status;
}

static void reads_lines(void **state)
{
    static const struct {
        const char *content, *lines;
    } cases[] = { { "", "" },
                  { "a", "a|" },
                  { "a\n", "a|" },
                  { "a\nb", "a|b|" },
                  { "a\r\nb\r\n", "a|b|" },
                  { "\n\na\n", "||a|" },
                  { "a\rb\n", "a\rb|" } };
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    struct firn_text lines;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(op, joined_lines(op, store, firn_text_of(cases[i].content), &lines));
        CHECK(firn_text_is(lines, cases[i].lines), "case %zu: %.*s", i, FIRN_FMT(lines));
    }
    firn_store_close(store);
}

/* Lines across the borders of what is read at a time; one that is too long is refused. */
static void reads_long_lines(void **state)
{
    enum { LONG = 200000, TOO_LONG = 3 << 20 };
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    struct firn_text lines;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    char *text = firn_arena_alloc(op->arena, TOO_LONG);
    memset(text, 'x', TOO_LONG);
    text[10] = text[LONG] = text[LONG + 65536] = '\n';
    CHECK_OK(op, joined_lines(op, store, (struct firn_text){ text, LONG + 65537 }, &lines));
    CHECK(lines.len == LONG + 65537 && lines.data[10] == '|' && lines.data[LONG] == '|', "%zu", lines.len);
    CHECK_STATUS(op, FIRN_CORRUPT, joined_lines(op, store, (struct firn_text){ text, TOO_LONG }, &lines));
    CHECK(strstr(op->error.text, "line 4") != NULL, "%s", op->error.text);
    firn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(splits_locations),
        TEST(compares_on_path_boundaries),
        TEST(reads_lines),
        TEST(reads_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
