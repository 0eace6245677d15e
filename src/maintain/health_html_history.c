/* Charts of a table's history, as the summaries of its snapshots tell: growth, and who writes. */
#include "base/math.h"
#include "base/time.h"
#include "maintain/health_html.h"

/* A plot, in units of its view box. */
enum { VIEW_WIDTH = 360, VIEW_HEIGHT = 184, PLOT_LEFT = 52, PLOT_RIGHT = 352, PLOT_TOP = 12, PLOT_BOTTOM = 150 };

/* Commits that fall into so many units are drawn as one: its highest value, then its last. */
enum { STEP = 2 };

/* Histories shorter than this are told by the minute. */
#define SHORT_MS INT64_C(172800000)

/* Axes end below this: their ends are whole numbers that can be printed. */
#define AXIS_MAX 9e18

enum { WRITERS_SHOWN = 8 };

/* The current snapshot and what came before it, oldest first. */
struct lineage {
    const struct firn_survey_commit **commits;
    size_t count;
    int64_t first_ms, last_ms;
};

static struct lineage lineage_of(struct firn_arena *arena, const struct firn_survey *survey)
{
    const struct firn_metadata *metadata = survey->metadata;
    const struct firn_snapshot *at = firn_metadata_current(metadata);
    struct lineage lineage = {
        .commits = FIRN_NEW_ARRAY(arena, const struct firn_survey_commit *, survey->commit_count),
        .first_ms = INT64_MAX,
        .last_ms = INT64_MIN,
    };
    while (at && lineage.count < survey->commit_count) { /* foreign metadata may hold a ring */
        lineage.commits[lineage.count++] = &survey->commits[at - metadata->snapshots];
        lineage.first_ms = FIRN_MIN(lineage.first_ms, at->timestamp_ms);
        lineage.last_ms = FIRN_MAX(lineage.last_ms, at->timestamp_ms);
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    for (size_t i = 0; i < lineage.count / 2; i++) {
        const struct firn_survey_commit *commit = lineage.commits[i];
        lineage.commits[i] = lineage.commits[lineage.count - 1 - i];
        lineage.commits[lineage.count - 1 - i] = commit;
    }
    return lineage;
}

/* What is drawn ---------------------------------------------------------------------------------------------------- */

static int64_t files_of(const struct firn_survey_commit *commit, size_t index)
{
    (void)index;
    return commit->total_files;
}
static int64_t bytes_of(const struct firn_survey_commit *commit, size_t index)
{
    (void)index;
    return commit->total_bytes;
}
static int64_t delete_files_of(const struct firn_survey_commit *commit, size_t index)
{
    (void)index;
    return commit->total_delete_files;
}
static int64_t snapshots_of(const struct firn_survey_commit *commit, size_t index)
{
    (void)commit;
    return (int64_t)index + 1;
}

/* The value after a commit, which is the `index`th; below 0: not known. */
struct series {
    const char *name, *class;
    bool is_bytes;
    int64_t (*value)(const struct firn_survey_commit *commit, size_t index);
};

static const struct series all_series[] = {
    { "Data files", "files", false, files_of },
    { "Data", "data", true, bytes_of },
    { "Delete files", "deletes", false, delete_files_of },
    { "Snapshots kept", "snapshots", false, snapshots_of },
};

static struct firn_text value_text(struct firn_html *html, const struct series *series, int64_t value)
{
    return series->is_bytes ? firn_health_html_bytes(html, value) : firn_health_html_count(html, value);
}

static struct firn_text tick_text(struct firn_html *html, const struct series *series, double value)
{
    static const char *const units[] = { "B", "K", "M", "G", "T", "P", "E" };
    size_t unit = 0;
    if (!series->is_bytes)
        return firn_health_html_short(html, (int64_t)value);
    for (; value >= 1024 && unit + 1 < FIRN_COUNT_OF(units); unit++)
        value /= 1024;
    return firn_text_format(html->op->arena, "%.0f%s", value, units[unit]);
}

/* The least of 2, 4, 6, 8, 10, 20, ... of a unit that is not below `value`: half of it is whole, too. */
static double axis_end(const struct series *series, double value)
{
    double unit = 1, step = 1;
    while (series->is_bytes && value >= 1024 * unit)
        unit *= 1024;
    while (value > 10 * step * unit)
        step *= 10;
    double end = 2 * step * unit;
    while (end < value)
        end += 2 * step * unit;
    return FIRN_MIN(end, AXIS_MAX);
}

/* A plot ------------------------------------------------------------------------------------------------------------
 */

static int x_of(const struct lineage *lineage, int64_t time_ms)
{
    double span = (double)lineage->last_ms - (double)lineage->first_ms;
    double within = span > 0 ? ((double)time_ms - (double)lineage->first_ms) / span : 0;
    return PLOT_LEFT + (int)(within * (PLOT_RIGHT - PLOT_LEFT));
}

static int y_of(double value, double end)
{
    return PLOT_BOTTOM - (int)(FIRN_MIN(value / end, 1.0) * (PLOT_BOTTOM - PLOT_TOP));
}

/* Values stay until the next commit: the line is one of steps. `begun` tells whether there is any. */
static bool put_steps(struct firn_html *html, const struct lineage *lineage, const struct series *series, double end)
{
    bool begun = false;
    for (size_t i = 0; i < lineage->count;) {
        int x = x_of(lineage, lineage->commits[i]->timestamp_ms);
        int64_t highest = -1, last = -1;
        for (; i < lineage->count && x_of(lineage, lineage->commits[i]->timestamp_ms) < x + STEP; i++) {
            int64_t value = series->value(lineage->commits[i], i);
            highest = FIRN_MAX(highest, value);
            last = value >= 0 ? value : last;
        }
        if (last < 0)
            continue;
        firn_html_putf(html, begun ? "H%dV%d" : "M%d %d", x, y_of((double)highest, end));
        if (last != highest)
            firn_html_putf(html, "V%d", y_of((double)last, end));
        begun = true;
    }
    if (begun)
        firn_html_putf(html, "H%d", PLOT_RIGHT);
    return begun;
}

static int first_x(const struct lineage *lineage, const struct series *series)
{
    for (size_t i = 0; i < lineage->count; i++)
        if (series->value(lineage->commits[i], i) >= 0)
            return x_of(lineage, lineage->commits[i]->timestamp_ms);
    return PLOT_LEFT;
}

static void put_axes(struct firn_html *html, const struct lineage *lineage, const struct series *series, double end)
{
    bool is_short = lineage->last_ms - lineage->first_ms < SHORT_MS;
    struct firn_arena *arena = html->op->arena;
    for (int half = 0; half <= 2; half++) {
        int y = y_of(end * half / 2, end);
        firn_html_putf(html, "<path class=\"%s\" d=\"M%d %dH%d\"/><text class=\"tick y\" x=\"%d\" y=\"%d\">",
                       half ? "grid" : "axis", PLOT_LEFT, y, PLOT_RIGHT, PLOT_LEFT - 6, y + 4);
        firn_html_text(html, tick_text(html, series, end * half / 2));
        firn_html_put(html, "</text>");
    }
    for (int side = 0; side < 2; side++) {
        struct firn_text time =
            firn_timestamp_text(arena, (side ? lineage->last_ms : lineage->first_ms) / 1000, 1, ' ');
        firn_html_putf(html, "<text class=\"tick %s\" x=\"%d\" y=\"%d\">", side ? "end" : "begin",
                       side ? PLOT_RIGHT : PLOT_LEFT, PLOT_BOTTOM + 24);
        firn_html_text(html, is_short && time.len > 3 ? firn_text_until(time, time.len - 3) /* no seconds */
                                                      : firn_text_until(time, FIRN_MIN(time.len, (size_t)10)));
        firn_html_put(html, "</text>");
    }
}

static void put_plot(struct firn_html *html, const struct lineage *lineage, const struct series *series)
{
    int64_t highest = -1, last = -1;
    for (size_t i = 0; i < lineage->count; i++) {
        int64_t value = series->value(lineage->commits[i], i);
        highest = FIRN_MAX(highest, value);
        last = value >= 0 ? value : last;
    }
    if (last < 0)
        return;
    double end = axis_end(series, (double)highest);
    struct firn_text now = value_text(html, series, last);
    firn_html_putf(html, "<div class=\"mini %s\"><p><strong>%s</strong> ", series->class, series->name);
    firn_html_element(html, "span", NULL, now);
    firn_html_putf(html, "</p><svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", VIEW_WIDTH,
                   VIEW_HEIGHT);
    firn_html_textf(html, "%s over time: %.*s now, %.*s at most", series->name, FIRN_FMT(now),
                    FIRN_FMT(value_text(html, series, highest)));
    firn_html_put(html, "\">");
    put_axes(html, lineage, series, end);
    firn_html_put(html, "<path class=\"area\" d=\"");
    put_steps(html, lineage, series, end);
    firn_html_putf(html, "V%dH%dZ\"/><path class=\"line\" d=\"", PLOT_BOTTOM, first_x(lineage, series));
    put_steps(html, lineage, series, end);
    firn_html_put(html, "\"/></svg></div>");
}

void firn_health_html_growth(struct firn_html *html, const struct firn_survey *survey)
{
    struct lineage lineage = lineage_of(html->op->arena, survey);
    firn_health_html_open_figure(html, "wide growth", "Growth", FIRN_TEXT("after each commit that is still kept"));
    if (lineage.count == 0)
        firn_html_put(html, "<p class=\"none\">No snapshots yet.</p>");
    firn_html_put(html, "<div class=\"minis\">");
    for (size_t i = 0; lineage.count > 0 && i < FIRN_COUNT_OF(all_series); i++)
        put_plot(html, &lineage, &all_series[i]);
    firn_html_put(html, "</div>");
    firn_health_html_close_figure(html);
}

/* Writers -----------------------------------------------------------------------------------------------------------
 */

static void put_writer(struct firn_html *html, const struct firn_survey_writer *writer)
{
    struct firn_arena *arena = html->op->arena;
    int64_t files = writer->added_files;
    firn_html_put(html, "<tr>");
    firn_html_element(html, "td", NULL,
                      firn_text_format(arena, "%.*s, %.*s", FIRN_FMT(writer->name), FIRN_FMT(writer->operation)));
    firn_html_element(html, "td", "number", firn_health_html_count(html, writer->commits));
    firn_html_element(html, "td", "number",
                      writer->interval_ms < 0 ? FIRN_TEXT("once") : firn_measure_duration(arena, writer->interval_ms));
    firn_html_element(html, "td", "number",
                      firn_text_format(arena, "%.1f", (double)files / (double)FIRN_MAX(writer->commits, 1)));
    firn_html_element(html, "td", "number",
                      files > 0 ? firn_health_html_bytes(html, writer->added_bytes / files) : FIRN_TEXT("none"));
    firn_html_put(html, "</tr>");
}

void firn_health_html_writers(struct firn_html *html, const struct firn_survey *survey)
{
    size_t shown = FIRN_MIN(survey->writer_count, (size_t)WRITERS_SHOWN);
    firn_health_html_open_figure(html, "writers", "Who writes", FIRN_TEXT("in the snapshots that are kept"));
    if (survey->writer_count == 0) {
        firn_html_put(html, "<p class=\"none\">Nobody yet.</p>");
        firn_health_html_close_figure(html);
        return;
    }
    firn_html_put(html, "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">Writer</th>"
                        "<th scope=\"col\">Commits</th><th scope=\"col\">Every</th><th scope=\"col\">Files each</th>"
                        "<th scope=\"col\">Average file</th></tr></thead><tbody>");
    for (size_t i = 0; i < shown; i++)
        put_writer(html, &survey->writers[i]);
    firn_html_put(html, "</tbody></table></div>");
    firn_health_html_close_figure(html);
}
