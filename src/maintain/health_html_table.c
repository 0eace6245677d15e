/* A table's section in the page of health: verdict and score, numbers, findings, then its charts. */
#include "base/math.h"
#include "maintain/health_html.h"

/* The verdict ------------------------------------------------------------------------------------------------------
 */

void firn_health_html_score(struct firn_html *html, int score)
{
    firn_html_putf(html,
                   "<svg class=\"score\" viewBox=\"0 0 120 120\" role=\"img\" aria-label=\"Score: %d of 100\">"
                   "<circle class=\"track\" cx=\"60\" cy=\"60\" r=\"50\"/>",
                   score);
    if (score > 0) /* a round end would be drawn of nothing, too */
        firn_html_putf(html,
                       "<circle class=\"arc\" cx=\"60\" cy=\"60\" r=\"50\" pathLength=\"100\" "
                       "stroke-dasharray=\"%d 100\" transform=\"rotate(-90 60 60)\"/>",
                       score);
    firn_html_putf(html,
                   "<text x=\"60\" y=\"70\" aria-hidden=\"true\">%d</text>"
                   "<text class=\"of\" x=\"60\" y=\"88\" aria-hidden=\"true\">of 100</text></svg>",
                   score);
}

/* "small-files" as a title: "Small files". */
static struct firn_text title_of(struct firn_arena *arena, const char *code)
{
    struct firn_text copy = firn_text_copy(arena, firn_text_of(code));
    char *title = firn_arena_alloc(arena, copy.len + 1);
    for (size_t i = 0; i < copy.len; i++)
        title[i] = copy.data[i] == '-' ? ' ' : copy.data[i];
    if (copy.len > 0 && title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
    return (struct firn_text){ title, copy.len };
}

static size_t count_level(const struct firn_health_report *report, enum firn_health_level level)
{
    size_t count = 0;
    for (size_t i = 0; i < report->finding_count; i++)
        count += report->findings[i].level == level;
    return count;
}

static struct firn_text verdict_of(struct firn_arena *arena, const struct firn_health_report *report)
{
    if (report->is_ill)
        return firn_text_format(arena, "Readers pay for this table with every scan. Worst: %.*s.",
                                FIRN_FMT(firn_text_lower(arena, title_of(arena, report->findings[0].code))));
    if (!report->is_healthy)
        return FIRN_TEXT("Beyond what is healthy, but not ill yet.");
    if (report->files == 0)
        return FIRN_TEXT("Nothing to mend: the table holds no data yet.");
    return FIRN_TEXT("Nothing that readers or planning would suffer from.");
}

static void put_level_counts(struct firn_html *html, const struct firn_health_report *report)
{
    firn_html_put(html, "<ul class=\"states\">");
    for (int level = FIRN_HEALTH_ILL; level >= FIRN_HEALTH_NOTICE; level--) {
        size_t count = count_level(report, (enum firn_health_level)level);
        const char *name = firn_health_level_name((enum firn_health_level)level);
        if (count > 0)
            firn_html_putf(html, "<li class=\"%s\"><strong>%zu</strong> %s</li>", name, count, name);
    }
    firn_html_put(html, "</ul>");
}

static void put_verdict(struct firn_html *html, const struct firn_health_report *report, size_t number)
{
    firn_html_put(html, "<header class=\"verdict\">");
    firn_health_html_score(html, report->score);
    firn_html_putf(html, "<div><h2 id=\"t%zu-name\"><bdi>", number);
    firn_html_text(html, report->table);
    firn_html_putf(html, "</bdi></h2><p class=\"state\">%s</p>", firn_health_state_name(report));
    firn_html_element(html, "p", "sentence", verdict_of(html->op->arena, report));
    if (report->finding_count > 0)
        put_level_counts(html, report);
    firn_html_put(html, "</div></header>");
}

/* Numbers ---------------------------------------------------------------------------------------------------------- */

static void put_tile(struct firn_html *html, const char *name, struct firn_text value, struct firn_text note)
{
    firn_html_putf(html, "<div class=\"tile\"><dt>%s</dt><dd>", name);
    firn_html_element(html, "strong", NULL, value);
    firn_html_element(html, "span", NULL, note);
    firn_html_put(html, "</dd></div>");
}

static void put_file_tiles(struct firn_html *html, const struct firn_survey *survey)
{
    struct firn_arena *arena = html->op->arena;
    const struct firn_survey_content *total = &survey->total;
    int64_t files = total->data.files, average = files > 0 ? total->data.bytes / files : 0;
    int64_t deletes = total->position_deletes.files + total->equality_deletes.files + total->vectors.files;
    put_tile(html, "Data files", firn_health_html_count(html, files),
             firn_text_format(arena, "in %.*s partition%s",
                              FIRN_FMT(firn_health_html_count(html, (int64_t)survey->partition_count)),
                              survey->partition_count == 1 ? "" : "s"));
    put_tile(
        html, "Average file", firn_health_html_bytes(html, average),
        firn_text_format(arena, "target %.*s", FIRN_FMT(firn_health_html_bytes(html, survey->sizes.target_bytes))));
    put_tile(html, "Data", firn_health_html_bytes(html, total->data.bytes),
             firn_text_format(arena, "%.*s rows", FIRN_FMT(firn_health_html_count(html, total->data.rows))));
    put_tile(html, "Delete files", firn_health_html_count(html, deletes),
             deletes == 0 ? FIRN_TEXT("nothing to apply")
                          : firn_text_format(arena, "%.*s data files need them",
                                             FIRN_FMT(firn_health_html_count(html, total->deleted_from.files))));
}

static void put_metadata_tiles(struct firn_html *html, const struct firn_survey *survey)
{
    struct firn_arena *arena = html->op->arena;
    struct firn_survey_manifests manifests = firn_survey_manifests_total(survey);
    put_tile(html, "Manifests", firn_health_html_count(html, manifests.count),
             firn_text_format(arena, "%.*s, target %.*s each", FIRN_FMT(firn_health_html_bytes(html, manifests.bytes)),
                              FIRN_FMT(firn_health_html_bytes(html, survey->manifest_target_bytes))));
    put_tile(
        html, "Snapshots", firn_health_html_count(html, (int64_t)survey->commit_count),
        firn_text_format(arena, "%.*s can go", FIRN_FMT(firn_health_html_count(html, survey->expirable_snapshots))));
    put_tile(html, "Held by snapshots", firn_health_html_bytes(html, survey->held_bytes),
             firn_text_format(arena, "expiry would free %.*s",
                              FIRN_FMT(firn_health_html_bytes(html, survey->expirable_bytes))));
    struct firn_text metadata = survey->metadata_bytes >= 0
                                    ? firn_text_format(arena, "metadata.json is %.*s",
                                                       FIRN_FMT(firn_health_html_bytes(html, survey->metadata_bytes)))
                                    : FIRN_TEXT("to read all manifests");
    bool is_instant = survey->planning_us < 1000;
    put_tile(html, "Planning",
             is_instant ? FIRN_TEXT("< 1 ms") : firn_measure_duration(arena, survey->planning_us / 1000), metadata);
    if (survey->orphan_files >= 0)
        put_tile(html, "Orphan files", firn_health_html_count(html, survey->orphan_files),
                 firn_health_html_bytes(html, survey->orphan_bytes));
    else if (survey->orphan_problem.len > 0)
        put_tile(html, "Orphan files", FIRN_TEXT("unknown"), survey->orphan_problem);
}

/* Findings --------------------------------------------------------------------------------------------------------- */

static void put_command(struct firn_html *html, const char *tool, struct firn_text command)
{
    if (command.len == 0)
        return;
    firn_html_putf(html, "<div class=\"command\"><span class=\"tool\">%s</span><code>", tool);
    firn_html_text(html, command);
    firn_html_put(html, "</code></div>");
}

static void put_line(struct firn_html *html, const char *label, struct firn_text text)
{
    if (text.len == 0)
        return;
    firn_html_putf(html, "<p class=\"why\"><span>%s</span> ", label);
    firn_html_text(html, text);
    firn_html_put(html, "</p>");
}

static void put_chip(struct firn_html *html, const char *class, struct firn_text number, const char *what)
{
    firn_html_putf(html, "<li class=\"%s\">", class);
    firn_html_element(html, "strong", NULL, number);
    firn_html_putf(html, " %s</li>", what);
}

static void put_money(struct firn_html *html, const struct firn_prices *prices, const char *class, double money,
                      const char *what)
{
    if (money > 0)
        put_chip(html, class, firn_money_text(html->op->arena, prices, money), what);
}

static void put_cost_and_gain(struct firn_html *html, const struct firn_prices *prices,
                              const struct firn_health_finding *finding)
{
    const struct firn_health_cost *cost = &finding->cost;
    const struct firn_health_gain *gain = &finding->gain;
    struct firn_arena *arena = html->op->arena;
    firn_html_put(html, "<ul class=\"chips\">");
    if (cost->files > 0)
        put_chip(html, "cost",
                 firn_text_format(arena, "%.*s in %.*s files", FIRN_FMT(firn_health_html_bytes(html, cost->bytes)),
                                  FIRN_FMT(firn_health_html_count(html, cost->files))),
                 "to read and write");
    put_money(html, prices, "cost", cost->money, "to mend");
    if (gain->files > 0)
        put_chip(html, "gain", firn_health_html_count(html, gain->files), "files fewer");
    if (gain->manifests > 0)
        put_chip(html, "gain", firn_health_html_count(html, gain->manifests), "manifests fewer");
    if (gain->requests > 0)
        put_chip(html, "gain", firn_health_html_count(html, gain->requests), "requests fewer a scan");
    if (gain->bytes > 0)
        put_chip(html, "gain", firn_health_html_bytes(html, gain->bytes), "freed");
    if (gain->planning_us >= 1000)
        put_chip(html, "gain", firn_measure_duration(arena, gain->planning_us / 1000), "off planning");
    put_money(html, prices, "gain", gain->money_scan, "saved a scan");
    put_money(html, prices, "gain", gain->money_month, "saved a month");
    firn_html_put(html, "</ul>");
}

static void put_finding(struct firn_html *html, const struct firn_prices *prices,
                        const struct firn_health_finding *finding)
{
    const char *name = firn_health_level_name(finding->level); /* the class, too */
    bool has_numbers = finding->cost.files > 0 || finding->gain.files > 0 || finding->gain.manifests > 0 ||
                       finding->gain.requests > 0 || finding->gain.bytes > 0;
    firn_html_putf(html, "<li class=\"finding %s\"><h4><span class=\"badge %s\">%s</span> ", name, name, name);
    firn_html_text(html, title_of(html->op->arena, finding->code));
    firn_html_put(html, "</h4>");
    firn_html_element(html, "p", "symptom", finding->symptom);
    put_line(html, "Cause", finding->cause);
    put_line(html, "Advice", finding->advice);
    put_command(html, "firn", finding->command);
    put_command(html, "Spark SQL", finding->call);
    if (has_numbers)
        put_cost_and_gain(html, prices, finding);
    firn_html_put(html, "</li>");
}

static void put_findings(struct firn_html *html, const struct firn_health_report *report)
{
    if (report->finding_count == 0) {
        firn_html_put(html, "<p class=\"fine\">No findings: every number is within its limits.</p>");
        return;
    }
    firn_html_put(html, "<h3>Findings</h3><ol class=\"findings\">");
    for (size_t i = 0; i < report->finding_count; i++)
        put_finding(html, &report->prices, &report->findings[i]);
    firn_html_put(html, "</ol>");
}

/* The section ------------------------------------------------------------------------------------------------------
 */

static void put_charts(struct firn_html *html, const struct firn_health_report *report)
{
    const struct firn_survey *survey = report->survey;
    firn_html_put(html, "<h3>Measured</h3><div class=\"charts\">");
    firn_health_html_sizes(html, survey);
    firn_health_html_partitions(html, report);
    firn_health_html_deletes(html, survey);
    firn_health_html_growth(html, survey);
    firn_health_html_columns(html, survey);
    firn_health_html_writers(html, survey);
    firn_html_put(html, "</div>");
}

void firn_health_html_table(struct firn_html *html, const struct firn_health_report *report, size_t number)
{
    const struct firn_survey *survey = report->survey;
    firn_html_putf(html, "\n<section class=\"report %s\" id=\"t%zu\" aria-labelledby=\"t%zu-name\">",
                   firn_health_state_name(report), number, number);
    put_verdict(html, report, number);
    firn_html_put(html, "<dl class=\"tiles\">");
    put_file_tiles(html, survey);
    put_metadata_tiles(html, survey);
    firn_html_put(html, "</dl>");
    put_findings(html, report);
    if (survey->commit_count > 0)
        put_charts(html, report);
    firn_html_put(html, "</section>\n");
}
