/* The page of health: head, overview of several tables, their sections, foot. Sections are made as tables come, so that
 * of the tables themselves nothing is kept. */
#include "maintain/health_html.h"

#include "base/math.h"
#include "base/time.h"
#include "store/store.h"

#include <stdlib.h>

/* Sections of more than so many bytes would make browsers slow: later tables have a line in the overview only. */
enum { SECTION_BYTES_MAX = 16 << 20 };

enum state { STATE_BROKEN, STATE_ILL, STATE_FAIR, STATE_HEALTHY, STATE_COUNT };

/* Classes and names. */
static const char *const states[] = {
    [STATE_BROKEN] = "broken",
    [STATE_ILL] = "ill",
    [STATE_FAIR] = "fair",
    [STATE_HEALTHY] = "healthy",
};
_Static_assert(FIRN_COUNT_OF(states) == STATE_COUNT, "one row a state");

/* A table in the overview. */
struct line {
    size_t number;
    enum state state;
    int score;
    bool has_section;
    int64_t files, bytes;
    struct firn_text table;
    struct firn_text remark; /* kinds of findings, or why it could not be examined */
};

struct firn_health_page {
    struct firn_arena arena; /* of lines: sections are made in memory that goes */
    struct firn_buffer sections;
    FIRN_ARRAY(struct line) lines;
    int64_t made_ms;
};

static void page_done(void *context)
{
    struct firn_health_page *page = context;
    firn_buffer_done(&page->sections);
    firn_arena_done(&page->arena);
}

struct firn_health_page *firn_health_page_new(struct firn_op *op)
{
    struct firn_health_page *page = FIRN_NEW(op->arena, struct firn_health_page);
    firn_arena_init(&page->arena);
    page->made_ms = firn_now_ms(op);
    firn_arena_defer(op->arena, page_done, page);
    return page;
}

/* Tables ----------------------------------------------------------------------------------------------------------- */

static struct firn_text codes_of(struct firn_arena *arena, const struct firn_health_report *report)
{
    struct firn_text codes = FIRN_TEXT("");
    for (size_t i = 0; i < report->finding_count; i++)
        codes = firn_text_format(arena, "%.*s%s%s", FIRN_FMT(codes), i ? ", " : "", report->findings[i].code);
    return codes.len > 0 ? codes : FIRN_TEXT("nothing to mend");
}

firn_status firn_health_page_add(struct firn_op *op, struct firn_health_page *page,
                                 const struct firn_health_report *report)
{
    struct line line = {
        .number = page->lines.count + 1,
        .state = report->is_ill       ? STATE_ILL
                 : report->is_healthy ? STATE_HEALTHY
                                      : STATE_FAIR,
        .score = report->score,
        .has_section = page->sections.len < SECTION_BYTES_MAX,
        .files = report->files,
        .bytes = report->bytes,
        .table = firn_text_copy(&page->arena, report->table),
        .remark = codes_of(&page->arena, report),
    };
    struct firn_html html = { op, &page->sections, FIRN_OK };
    FIRN_PUSH(&page->arena, &page->lines, line);
    if (line.has_section)
        firn_health_html_table(&html, report, line.number);
    return html.status;
}

void firn_health_page_add_failure(struct firn_health_page *page, struct firn_text table, struct firn_text why)
{
    struct line line = {
        .number = page->lines.count + 1,
        .state = STATE_BROKEN,
        .table = firn_text_copy(&page->arena, table),
        .remark = firn_text_copy(&page->arena, why),
    };
    FIRN_PUSH(&page->arena, &page->lines, line);
}

/* The overview -----------------------------------------------------------------------------------------------------
 */

static int compare_lines(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    if (left->state != right->state)
        return left->state < right->state ? -1 : 1;
    if (left->score != right->score)
        return left->score < right->score ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static void count_states(struct firn_html *html, const struct line *lines, size_t count)
{
    size_t counts[STATE_COUNT] = { 0 };
    for (size_t i = 0; i < count; i++)
        counts[lines[i].state]++;
    firn_html_put(html, "<ul class=\"states\">");
    for (size_t i = 0; i < STATE_COUNT; i++) {
        if (counts[i] == 0)
            continue;
        firn_html_putf(html, "<li class=\"%s\"><strong>", states[i]);
        firn_html_text(html, firn_health_html_count(html, (int64_t)counts[i]));
        firn_html_putf(html, "</strong> %s</li>", states[i]);
    }
    firn_html_put(html, "</ul>");
}

static void put_line(struct firn_html *html, const struct line *line)
{
    const char *state = states[line->state];
    firn_html_putf(html, "<li class=\"line %s\">", state);
    if (line->has_section)
        firn_html_putf(html, "<a class=\"row\" href=\"#t%zu\">", line->number);
    else
        firn_html_put(html, "<div class=\"row\">");
    firn_html_putf(html, "<span class=\"pill %s\"><span class=\"sr\">%s</span>", state, state);
    if (line->state == STATE_BROKEN)
        firn_html_put(html, "<span aria-hidden=\"true\">!</span></span>");
    else
        firn_html_putf(html, " %d</span>", line->score);
    firn_html_put(html, "<span class=\"who\">");
    firn_html_element(html, "bdi", "name", line->table);
    firn_html_element(html, "span", "remark", line->remark);
    firn_html_put(html, "</span>");
    if (line->state != STATE_BROKEN) {
        firn_html_put(html, "<span class=\"size\">");
        firn_html_textf(html, "%.*s files", FIRN_FMT(firn_health_html_count(html, line->files)));
        firn_html_element(html, "span", "remark", firn_health_html_bytes(html, line->bytes));
        firn_html_put(html, "</span>");
    }
    firn_html_put(html, line->has_section ? "</a></li>" : "</div></li>");
}

/* Worst first: it is read from the top. */
static void put_overview(struct firn_html *html, const struct firn_health_page *page)
{
    size_t count = page->lines.count;
    struct line *lines = FIRN_NEW_ARRAY(html->op->arena, struct line, count);
    if (count > 0)
        memcpy(lines, page->lines.items, count * sizeof *lines);
    if (count > 1)
        qsort(lines, count, sizeof *lines, compare_lines);
    firn_html_put(html, "<section class=\"overview\" id=\"overview\" aria-labelledby=\"overview-name\">"
                        "<h2 id=\"overview-name\">");
    firn_html_textf(html, "%.*s tables, worst first", FIRN_FMT(firn_health_html_count(html, (int64_t)count)));
    firn_html_put(html, "</h2>");
    count_states(html, lines, count);
    firn_html_put(html, "<ol class=\"lines\">");
    for (size_t i = 0; i < count; i++)
        put_line(html, &lines[i]);
    firn_html_put(html, "</ol></section>");
}

/* The page ----------------------------------------------------------------------------------------------------------
 */

static void put_title(struct firn_html *html, const struct firn_health_page *page)
{
    firn_html_put(html, "<title>");
    if (page->lines.count == 1)
        firn_html_textf(html, "%.*s: health", FIRN_FMT(page->lines.items[0].table));
    else
        firn_html_textf(html, "Health of %zu tables", page->lines.count);
    firn_html_put(html, "</title>");
}

/* A flake, in layers that grow denser downwards. */
static const char brand[] =
    "<svg class=\"mark\" viewBox=\"0 0 32 32\" aria-hidden=\"true\"><rect width=\"32\" height=\"32\" rx=\"8\"/>"
    "<path d=\"M8 10h3M15 10h3M22 10h2M8 16h6M17 16h7M8 22h16\"/></svg>";
static const char icon[] =
    "<link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
    "%3Crect width='32' height='32' rx='8' fill='%231566c0'/%3E%3Cpath d='M8 10h3M15 10h3M22 10h2M8 16h6M17 16h7M8 "
    "22h16' stroke='white' stroke-width='3' stroke-linecap='round'/%3E%3C/svg%3E\">";

static void put_head(struct firn_html *html, const struct firn_health_page *page)
{
    firn_html_put(html, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                        "<meta name=\"color-scheme\" content=\"light dark\">"
                        "<meta name=\"generator\" content=\"firn " FIRN_VERSION "\">"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    firn_html_put(html, firn_health_page_policy.data);
    firn_html_put(html, "\">");
    put_title(html, page);
    firn_html_put(html, icon);
    firn_html_put(html, "<style>");
    firn_html_put(html, firn_health_page_style.data);
    firn_html_put(html, "</style></head>\n<body><header class=\"top\"><p class=\"brand\">");
    firn_html_put(html, brand);
    firn_html_put(html, "<strong>firn</strong> health</p><p class=\"when\">");
    firn_html_textf(html, "measured %.*s UTC",
                    FIRN_FMT(firn_timestamp_text(html->op->arena, page->made_ms / 1000, 1, ' ')));
    firn_html_put(html, "</p></header>\n<main>");
}

static void put_foot(struct firn_html *html)
{
    firn_html_put(html,
                  "</main>\n<footer><p>Measured from metadata alone; no data file was opened. The score is 100, "
                  "less 2 for each notice, 10 for each warning and 30 for each finding of an ill table. Requests "
                  "are those of a scan of the whole table. Money is reckoned at the prices that firn was given, "
                  "else at list prices of Amazon S3 Standard.</p><p>firn " FIRN_VERSION "</p></footer>\n<script>");
    firn_html_put(html, firn_health_page_script.data);
    firn_html_put(html, "</script></body></html>\n");
}

static firn_status write_parts(struct firn_op *op, struct firn_store *store, struct firn_text location,
                               const struct firn_buffer *const *parts, size_t count)
{
    struct firn_store_writer *writer;
    FIRN_TRY(firn_store_write(op, store, location, false, &writer));
    for (size_t i = 0; i < count; i++) {
        firn_status status = firn_sink_write(op, firn_store_writer_sink(writer), firn_buffer_bytes(parts[i]));
        if (status != FIRN_OK) {
            firn_store_writer_close(writer);
            return status;
        }
    }
    return firn_store_writer_finish(op, writer);
}

firn_status firn_health_page_write(struct firn_op *op, const struct firn_health_page *page, struct firn_store *store,
                                   struct firn_text location)
{
    struct firn_buffer head = { 0 }, foot = { 0 };
    const struct firn_buffer *const parts[] = { &head, &page->sections, &foot };
    struct firn_html html = { op, &head, FIRN_OK };
    put_head(&html, page);
    if (page->lines.count != 1 || !page->lines.items[0].has_section)
        put_overview(&html, page);
    html.out = &foot;
    put_foot(&html);
    firn_status status = html.status;
    if (status == FIRN_OK)
        status = write_parts(op, store, location, parts, FIRN_COUNT_OF(parts));
    firn_buffer_done(&head);
    firn_buffer_done(&foot);
    return firn_context(op, status, "page of health");
}
