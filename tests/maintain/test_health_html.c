/* The page of health: nothing foreign is markup in it, it holds every table, and it is written in one piece. How it
 * looks is tests/interop/test_health_html.py's to tell. */
#include "maintain/survey_world.h"

#include "base/math.h"
#include "firn/health_html.h"
#include "maintain/html.h"

static void foreign_text_is_escaped(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *text, *html;
    } cases[] = {
        { "", "" },
        { "db.t", "db.t" },
        { "<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;" },
        { "\"'", "&quot;&#39;" },
        { "a\x1b[0m\x01", "a\\x1b[0m\\x01" },
        { "\xff\xc3\xa9", "\\xff\xc3\xa9" },
        { "\u202egpj.exe\u2069", "\\xe2\\x80\\xaegpj.exe\\xe2\\x81\\xa9" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_buffer buffer = { 0 };
        struct firn_html html = { op, &buffer, FIRN_OK };
        firn_html_element(&html, "p", "x", firn_text_of(cases[i].text));
        firn_html_textf(&html, "%s", cases[i].text);
        CHECK_OK(op, html.status);
        struct firn_text wanted = firn_text_format(op->arena, "<p class=\"x\">%s</p>%s", cases[i].html, cases[i].html);
        struct firn_text got = firn_text_of_bytes(firn_buffer_bytes(&buffer));
        CHECK(firn_text_same(got, wanted), "'%.*s', not '%.*s'", FIRN_FMT(got), FIRN_FMT(wanted));
        firn_buffer_done(&buffer);
    }
}

static void lack_of_memory_is_told(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_budget budget = { .limit_bytes = 64 };
    struct firn_buffer buffer = { 0 };
    struct firn_html html = { op, &buffer, FIRN_OK };
    op->budget = &budget;
    for (int i = 0; i < 1000; i++)
        firn_html_put(&html, "<br>");
    CHECK_STATUS(op, FIRN_LIMIT, html.status);
    firn_buffer_done(&buffer);
    op->budget = NULL;
}

/* Pages ------------------------------------------------------------------------------------------------------------ */

static void add_table(struct history *history, struct firn_health_page *page, const char *name)
{
    struct firn_op *op = history->op;
    struct firn_health_report report;
    struct firn_health_options options = { 0 };
    CHECK_OK(op, firn_health_check(op, NULL, &history->fixture.table, &options, &report));
    report.table = firn_text_of(name);
    CHECK_OK(op, firn_health_page_add(op, page, &report));
}

/* The page as it was written, followed by a NUL. */
static const char *write_page(struct history *history, const struct firn_health_page *page)
{
    struct firn_op *op = history->op;
    struct firn_buffer content = { 0 };
    struct firn_text location = FIRN_TEXT("mem://pages/health.html");
    CHECK_OK(op, firn_health_page_write(op, page, history->store, location));
    CHECK_OK(op, firn_store_read(op, history->store, location, 1 << 26, &content));
    struct firn_text text = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&content)));
    firn_buffer_done(&content);
    assert_true(firn_text_ends(text, FIRN_TEXT("</html>\n")));
    return text.data;
}

static size_t count_of(const char *page, const char *what)
{
    size_t count = 0;
    for (const char *at = page; (at = strstr(at, what)); at += strlen(what))
        count++;
    return count;
}

/* Every element that is opened is closed: of those that need it. */
static void check_balance(const char *page)
{
    static const char *const tags[] = { "div",  "section", "figure", "svg",   "ul",   "ol", "li", "p",
                                        "span", "code",    "bdi",    "table", "text", "g",  "dl", "details" };
    for (size_t i = 0; i < FIRN_COUNT_OF(tags); i++) {
        char begin[16], with_attributes[16], end[16];
        snprintf(begin, sizeof begin, "<%s>", tags[i]);
        snprintf(with_attributes, sizeof with_attributes, "<%s ", tags[i]);
        snprintf(end, sizeof end, "</%s>", tags[i]);
        size_t begun = count_of(page, begin) + count_of(page, with_attributes), ended = count_of(page, end);
        CHECK(begun == ended, "%s: %zu and %zu", tags[i], begun, ended);
    }
}

static void one_table(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    history_open(&history, op, NULL);
    for (int i = 0; i < 40; i++)
        survey_append(&history, survey_bounded(&history, survey_file(&history, "f", i % 20, MIB << i % 12, 10), "a",
                                               i % 2 ? "b" : "z"));
    struct firn_data_file deletes = survey_delete(&history, "d", 1, FIRN_CONTENT_EQUALITY_DELETES, NULL);
    survey_make(&history, (struct survey_commit){ .deletes = &deletes, .delete_count = 1, .operation = "overwrite" });
    struct firn_health_page *page = firn_health_page_new(op);
    add_table(&history, page, "c.db.<t>");
    const char *html = write_page(&history, page);
    check_balance(html);
    assert_true(strstr(html, "<title>c.db.&lt;t&gt;: health</title>") && !strstr(html, "<t>"));
    assert_true(strstr(html, "Equality deletes") && strstr(html, "and 8 more partitions with"));
    assert_true(!strstr(html, "id=\"overview\"") && count_of(html, "<section class=\"report") == 1);
    assert_int_equal(count_of(html, "class=\"mini "), 4);
    history_close(&history);
}

static void several_tables(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    history_open(&history, op, NULL);
    struct firn_health_page *page = firn_health_page_new(op);
    add_table(&history, page, "empty");
    for (int i = 0; i < 12; i++)
        survey_append(&history, survey_file(&history, "f", 1, MIB, 10));
    add_table(&history, page, "sick");
    firn_health_page_add_failure(page, FIRN_TEXT("gone"), FIRN_TEXT("no <such> table"));
    const char *html = write_page(&history, page);
    check_balance(html);
    assert_int_equal(count_of(html, "<section class=\"report"), 2);
    assert_true(strstr(html, "Health of 3 tables") && strstr(html, "no &lt;such&gt; table"));
    const char *lines = strstr(html, "<ol class=\"lines\">");
    assert_true(strstr(lines, ">gone<") < strstr(lines, ">sick<") &&
                strstr(lines, ">sick<") < strstr(lines, ">empty<"));
    history_close(&history);
}

/* Details of all of them would be more than browsers bear; the lines are. */
static void very_many_tables(void **state)
{
    enum { TABLES = 2500 };
    struct history history;
    struct firn_op *op = test_op(state);
    history_open(&history, op, NULL);
    for (int i = 0; i < 3; i++)
        survey_append(&history, survey_file(&history, "f", i, MIB, 10));
    struct firn_health_page *page = firn_health_page_new(op);
    struct firn_health_report report;
    struct firn_health_options options = { 0 };
    CHECK_OK(op, firn_health_check(op, NULL, &history.fixture.table, &options, &report));
    for (int i = 0; i < TABLES; i++)
        CHECK_OK(op, firn_health_page_add(op, page, &report));
    const char *html = write_page(&history, page);
    assert_int_equal(count_of(html, "<li class=\"line "), TABLES);
    CHECK(count_of(html, "<section class=\"report") < TABLES && strlen(html) < 20 << 20, "%zu bytes", strlen(html));
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(foreign_text_is_escaped), TEST(lack_of_memory_is_told), TEST(one_table),
        TEST(several_tables),          TEST(very_many_tables),
    };
    return cmocka_run_group_tests_name("health_html", tests, NULL, NULL);
}
