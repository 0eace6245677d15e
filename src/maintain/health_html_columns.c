/* Charts of columns: how many files a filter for one value opens, and what is known of values. */
#include "base/math.h"
#include "maintain/health_html.h"

#include <stdlib.h>

enum { COLUMNS_SHOWN = 12 };

/* Shares of the files that a filter for one value opens: up to the first pruning works, from the second on it does not.
 */
#define SHARE_GOOD 0.1
#define SHARE_BAD  0.5

static bool is_key(const struct firn_survey_column *column)
{
    return column->is_partition_source || column->is_sort_source || column->is_identifier;
}

/* Keys first, in the schema's order; columns that nothing is known of last. */
static int compare_columns(const void *a, const void *b)
{
    const struct firn_survey_column *left = *(const struct firn_survey_column *const *)a;
    const struct firn_survey_column *right = *(const struct firn_survey_column *const *)b;
    int left_rank = is_key(left) ? 0 : left->files_per_point >= 0 ? 1 : 2;
    int right_rank = is_key(right) ? 0 : right->files_per_point >= 0 ? 1 : 2;
    if (left_rank != right_rank)
        return left_rank < right_rank ? -1 : 1;
    return left < right ? -1 : left > right;
}

static const char *overlap_class(double share)
{
    return share <= SHARE_GOOD ? "good" : share >= SHARE_BAD ? "small" : "middling";
}

/* Where bounds say nothing, a filter on what the table is partitioned by still rules partitions out. */
static void put_opened(struct firn_html *html, const struct firn_survey *survey,
                       const struct firn_survey_column *column)
{
    int64_t files = survey->total.data.files;
    if (column->files_per_point >= 0)
        firn_html_textf(html, "%.1f of %.*s files; %.0f %% have bounds", column->files_per_point,
                        FIRN_FMT(firn_health_html_count(html, files)),
                        100 * (double)column->files_with_bounds / (double)files);
    else
        firn_html_put(html, column->is_partition_source ? "by partition; no bounds" : "no bounds: every file");
}

static void put_column(struct firn_html *html, const struct firn_survey *survey,
                       const struct firn_survey_column *column)
{
    double files = (double)survey->total.data.files, opened = column->files_per_point;
    firn_html_put(html, "<li><span class=\"label\"><bdi>");
    firn_html_text(html, column->name);
    firn_html_put(html, "</bdi>");
    if (column->is_partition_source)
        firn_html_put(html, " <span class=\"tag\">partition</span>");
    if (column->is_sort_source)
        firn_html_put(html, " <span class=\"tag\">sort</span>");
    if (column->is_identifier)
        firn_html_put(html, " <span class=\"tag\">identifier</span>");
    firn_html_put(html, "</span><span class=\"amount\">");
    put_opened(html, survey, column);
    firn_html_put(html, "</span>");
    if (opened >= 0)
        firn_health_html_bar(html, overlap_class(opened / files), opened, files);
    else if (!column->is_partition_source)
        firn_health_html_bar(html, "unknown", files, files);
    firn_html_put(html, "</li>");
}

static void put_numbers(struct firn_html *html, const struct firn_survey_column *const *columns, size_t count)
{
    struct firn_arena *arena = html->op->arena;
    firn_health_html_open_numbers(html, "Column|Files opened|Of one partition|Compressed|Bounds in manifests|Nulls");
    for (size_t i = 0; i < count; i++) {
        const struct firn_survey_column *column = columns[i];
        double opened = column->files_per_point, within = column->files_per_point_in_partition;
        firn_html_put(html, "<tr>");
        firn_html_element(html, "td", NULL, column->name);
        firn_html_element(html, "td", "number", opened < 0 ? FIRN_TEXT("?") : firn_text_format(arena, "%.1f", opened));
        firn_html_element(html, "td", "number", within < 0 ? FIRN_TEXT("?") : firn_text_format(arena, "%.1f", within));
        firn_html_element(html, "td", "number", firn_health_html_bytes(html, column->compressed_bytes));
        firn_html_element(html, "td", "number", firn_health_html_bytes(html, column->bound_bytes));
        firn_html_element(html, "td", "number", firn_health_html_count(html, column->null_count));
        firn_html_put(html, "</tr>");
    }
    firn_health_html_close_numbers(html);
}

void firn_health_html_columns(struct firn_html *html, const struct firn_survey *survey)
{
    size_t count = survey->column_count, shown = FIRN_MIN(count, (size_t)COLUMNS_SHOWN);
    const struct firn_survey_column **columns =
        FIRN_NEW_ARRAY(html->op->arena, const struct firn_survey_column *, count);
    for (size_t i = 0; i < count; i++)
        columns[i] = &survey->columns[i];
    if (count > 1)
        qsort(columns, count, sizeof *columns, compare_columns);
    firn_health_html_open_figure(html, "columns", "Overlap by column",
                                 FIRN_TEXT("files that a filter for one value opens, on average"));
    if (survey->total.data.files == 0 || count == 0) {
        firn_html_put(html, "<p class=\"none\">No files to compare.</p>");
        firn_health_html_close_figure(html);
        return;
    }
    firn_html_put(html, "<ul class=\"bars\">");
    for (size_t i = 0; i < shown; i++)
        put_column(html, survey, columns[i]);
    firn_html_put(html, "</ul>");
    if (count > shown) {
        firn_html_put(html, "<p class=\"rest\">");
        firn_html_textf(html, "and %zu more columns", count - shown);
        firn_html_put(html, "</p>");
    }
    put_numbers(html, columns, shown);
    firn_health_html_close_figure(html);
}
