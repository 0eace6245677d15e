/* Charts of files: their sizes, the partitions that have most of them, deletes. */
#include "base/math.h"
#include "maintain/health_html.h"

#include <math.h>
#include <stdlib.h>

/* Sizes -------------------------------------------------------------------------------------------------------------
 */

/* The histogram, in units of its view box. */
enum {
    VIEW_WIDTH = 720,
    VIEW_HEIGHT = 330,
    PLOT_LEFT = 12,
    PLOT_TOP = 62,
    PLOT_BOTTOM = 270,
    CLASS_WIDTH = (VIEW_WIDTH - 2 * PLOT_LEFT) / FIRN_SURVEY_SIZE_CLASSES,
    BAR_WIDTH = 24,
    LABELS_EVERY = 2,
    TARGET_LABEL_WIDTH = 240
};

static int64_t class_begin(size_t class)
{
    return class > 0 ? firn_survey_size_limits[class - 1] : 0;
}

/* "64K", "1G": where there is little room. */
static struct firn_text short_bytes(struct firn_html *html, int64_t bytes)
{
    const char *units = "KMG";
    int64_t value = bytes >> 10;
    while (value >= 1024 && units[1]) {
        value >>= 10;
        units++;
    }
    return firn_text_format(html->op->arena, "%" PRId64 "%c", value, *units);
}

static const char *size_class(const struct firn_survey *survey, size_t class)
{
    if (firn_survey_size_limits[class] <= survey->sizes.bytes_min)
        return "small";
    return class_begin(class) >= survey->sizes.bytes_max ? "large" : "good";
}

/* Where a size stands on the axis: classes are as wide as each other, and logarithmic within. */
static int x_of_size(int64_t bytes)
{
    size_t class = 0;
    while (class + 1 < FIRN_SURVEY_SIZE_CLASSES && bytes >= firn_survey_size_limits[class])
        class ++;
    bool is_last = class + 1 == FIRN_SURVEY_SIZE_CLASSES;
    double begin = class > 0 ? (double)class_begin(class) : (double)firn_survey_size_limits[0] / 4;
    double end = is_last ? 4 * begin : (double)firn_survey_size_limits[class];
    double within = log((double)FIRN_MAX(bytes, 1) / begin) / log(end / begin);
    within = FIRN_MAX(FIRN_MIN(within, 1.0), 0.0);
    return PLOT_LEFT + (int)(((double)class + within) * CLASS_WIDTH);
}

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static double largest_share(const struct firn_survey *survey)
{
    double largest = 0;
    for (size_t i = 0; i < FIRN_SURVEY_SIZE_CLASSES; i++) {
        largest = FIRN_MAX(largest, share_of(survey->size_class_files[i], survey->total.data.files));
        largest = FIRN_MAX(largest, share_of(survey->size_class_bytes[i], survey->total.data.bytes));
    }
    return largest;
}

static struct firn_text class_text(struct firn_html *html, size_t class)
{
    struct firn_arena *arena = html->op->arena;
    struct firn_text begin = firn_health_html_bytes(html, class_begin(class));
    if (class + 1 == FIRN_SURVEY_SIZE_CLASSES)
        return firn_text_format(arena, "%.*s and more", FIRN_FMT(begin));
    struct firn_text end = firn_health_html_bytes(html, firn_survey_size_limits[class]);
    if (class == 0)
        return firn_text_format(arena, "below %.*s", FIRN_FMT(end));
    return firn_text_format(arena, "%.*s to %.*s", FIRN_FMT(begin), FIRN_FMT(end));
}

/* A bar of the histogram; gives its top. */
static int put_column(struct firn_html *html, const char *class, int x, double height)
{
    int units = height > 0 ? FIRN_MAX((int)(height * (PLOT_BOTTOM - PLOT_TOP)), 3) : 0;
    if (units > 0)
        firn_html_putf(html, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>", class, x,
                       PLOT_BOTTOM - units, BAR_WIDTH, units);
    return PLOT_BOTTOM - units;
}

static void put_size_class(struct firn_html *html, const struct firn_survey *survey, size_t class, double largest)
{
    int64_t files = survey->size_class_files[class], bytes = survey->size_class_bytes[class];
    int x = PLOT_LEFT + (int)class * CLASS_WIDTH + (CLASS_WIDTH - 2 * BAR_WIDTH - 2) / 2;
    if (files == 0)
        return;
    firn_html_put(html, "<g><title>");
    firn_html_textf(html, "%.*s: %.*s files, %.*s", FIRN_FMT(class_text(html, class)),
                    FIRN_FMT(firn_health_html_count(html, files)), FIRN_FMT(firn_health_html_bytes(html, bytes)));
    firn_html_put(html, "</title>");
    int top = put_column(html, size_class(survey, class), x, share_of(files, survey->total.data.files) / largest);
    put_column(html, "bytes", x + BAR_WIDTH + 2, share_of(bytes, survey->total.data.bytes) / largest);
    firn_html_putf(html, "<text class=\"value\" x=\"%d\" y=\"%d\">", x + BAR_WIDTH / 2, top - 8);
    firn_html_text(html, firn_health_html_short(html, files));
    firn_html_put(html, "</text></g>");
}

static void put_size_axis(struct firn_html *html)
{
    firn_html_putf(html, "<path class=\"axis\" d=\"M%d %dH%d\"/>", PLOT_LEFT, PLOT_BOTTOM, VIEW_WIDTH - PLOT_LEFT);
    for (size_t i = 0; i + 1 < FIRN_SURVEY_SIZE_CLASSES; i += LABELS_EVERY) {
        int x = PLOT_LEFT + (int)(i + 1) * CLASS_WIDTH;
        firn_html_putf(html, "<path class=\"axis\" d=\"M%d %dv8\"/><text class=\"tick\" x=\"%d\" y=\"%d\">", x,
                       PLOT_BOTTOM, x, PLOT_BOTTOM + 34);
        firn_html_text(html, short_bytes(html, firn_survey_size_limits[i]));
        firn_html_put(html, "</text>");
    }
}

static void put_target(struct firn_html *html, const struct firn_survey *survey)
{
    int x = x_of_size(survey->sizes.target_bytes);
    bool is_right = x > VIEW_WIDTH - TARGET_LABEL_WIDTH;
    firn_html_putf(html, "<path class=\"target\" d=\"M%d 34V%d\"/><text class=\"target\" x=\"%d\" y=\"24\"%s>", x,
                   PLOT_BOTTOM, is_right ? FIRN_MIN(x + 60, VIEW_WIDTH - 4) : x,
                   is_right ? " text-anchor=\"end\"" : "");
    firn_html_textf(html, "target %.*s", FIRN_FMT(firn_health_html_bytes(html, survey->sizes.target_bytes)));
    firn_html_put(html, "</text>");
}

static void put_size_numbers(struct firn_html *html, const struct firn_survey *survey)
{
    firn_health_html_open_numbers(html, "Size|Files|Bytes");
    for (size_t i = 0; i < FIRN_SURVEY_SIZE_CLASSES; i++) {
        firn_html_put(html, "<tr>");
        firn_html_element(html, "td", NULL, class_text(html, i));
        firn_html_element(html, "td", "number", firn_health_html_count(html, survey->size_class_files[i]));
        firn_html_element(html, "td", "number", firn_health_html_bytes(html, survey->size_class_bytes[i]));
        firn_html_put(html, "</tr>");
    }
    firn_health_html_close_numbers(html);
}

static struct firn_text small_text(struct firn_arena *arena, const struct firn_survey *survey)
{
    const struct firn_survey_tally *small = &survey->total.small, *data = &survey->total.data;
    if (small->files == 0)
        return FIRN_TEXT("no file is too small");
    return firn_text_format(arena, "%.0f %% of the files, with %.0f %% of the bytes, are too small",
                            100 * share_of(small->files, data->files), 100 * share_of(small->bytes, data->bytes));
}

void firn_health_html_sizes(struct firn_html *html, const struct firn_survey *survey)
{
    double largest = largest_share(survey);
    struct firn_text note = small_text(html->op->arena, survey);
    firn_health_html_open_figure(html, "sizes", "File sizes", survey->total.data.files > 0 ? note : FIRN_TEXT(""));
    if (survey->total.data.files == 0) {
        firn_html_put(html, "<p class=\"none\">No data files.</p>");
        firn_health_html_close_figure(html);
        return;
    }
    firn_html_putf(html, "<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", VIEW_WIDTH,
                   VIEW_HEIGHT);
    firn_html_textf(html, "Histogram of file sizes: %.*s", FIRN_FMT(note));
    firn_html_put(html, "\">");
    put_target(html, survey);
    for (size_t i = 0; i < FIRN_SURVEY_SIZE_CLASSES; i++)
        put_size_class(html, survey, i, largest);
    put_size_axis(html);
    firn_html_put(html,
                  "</svg><ul class=\"legend\"><li class=\"small\">files, too small</li><li class=\"good\">files, as "
                  "they should be</li><li class=\"large\">files, too large</li><li class=\"bytes\">share of the "
                  "bytes</li></ul>");
    put_size_numbers(html, survey);
    firn_health_html_close_figure(html);
}

/* Partitions --------------------------------------------------------------------------------------------------------
 */

enum { PARTITIONS_SHOWN = 12 };

static int compare_by_files(const void *a, const void *b)
{
    const struct firn_survey_partition *left = *(const struct firn_survey_partition *const *)a;
    const struct firn_survey_partition *right = *(const struct firn_survey_partition *const *)b;
    if (left->content.data.files != right->content.data.files)
        return left->content.data.files > right->content.data.files ? -1 : 1;
    if (left->content.data.bytes != right->content.data.bytes)
        return left->content.data.bytes > right->content.data.bytes ? -1 : 1;
    return left < right ? -1 : left > right;
}

static const char *partition_class(const struct firn_health_report *report, const struct firn_survey_content *content)
{
    enum firn_health_level level;
    if (!firn_health_judge(report->limits, FIRN_HEALTH_PARTITION_FILES, (double)content->data.files, &level) &&
        firn_survey_compaction_of(report->survey, content).input_files == 0)
        return "good";
    return "small";
}

static void put_partition(struct firn_html *html, const struct firn_health_report *report,
                          const struct firn_survey_partition *partition, int64_t most)
{
    const struct firn_survey_tally *data = &partition->content.data;
    firn_html_put(html, "<li><span class=\"label\"><bdi>");
    firn_html_text(html, partition->path.len > 0 ? partition->path : FIRN_TEXT("the whole table"));
    firn_html_put(html, "</bdi></span><span class=\"amount\">");
    firn_html_textf(html, "%.*s files, %.*s", FIRN_FMT(firn_health_html_count(html, data->files)),
                    FIRN_FMT(firn_health_html_bytes(html, data->bytes)));
    firn_html_put(html, "</span>");
    firn_health_html_bar(html, partition_class(report, &partition->content), (double)data->files, (double)most);
    firn_html_put(html, "</li>");
}

static void put_rest(struct firn_html *html, const struct firn_survey_partition *const *sorted, size_t count)
{
    int64_t files = 0, bytes = 0;
    if (count <= PARTITIONS_SHOWN)
        return;
    for (size_t i = PARTITIONS_SHOWN; i < count; i++) {
        firn_survey_add(&files, sorted[i]->content.data.files);
        firn_survey_add(&bytes, sorted[i]->content.data.bytes);
    }
    firn_html_put(html, "<p class=\"rest\">");
    firn_html_textf(html, "and %.*s more partitions with %.*s files, %.*s",
                    FIRN_FMT(firn_health_html_count(html, (int64_t)(count - PARTITIONS_SHOWN))),
                    FIRN_FMT(firn_health_html_count(html, files)), FIRN_FMT(firn_health_html_bytes(html, bytes)));
    firn_html_put(html, "</p>");
}

void firn_health_html_partitions(struct firn_html *html, const struct firn_health_report *report)
{
    const struct firn_survey *survey = report->survey;
    size_t count = survey->partition_count;
    const struct firn_survey_partition **sorted =
        FIRN_NEW_ARRAY(html->op->arena, const struct firn_survey_partition *, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &survey->partitions[i];
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, compare_by_files);
    firn_health_html_open_figure(html, "partitions", "Files by partition",
                                 count > 1 ? firn_text_format(html->op->arena, "most files first, of %.*s partitions",
                                                              FIRN_FMT(firn_health_html_count(html, (int64_t)count)))
                                           : FIRN_TEXT(""));
    if (count == 0)
        firn_html_put(html, "<p class=\"none\">No partitions.</p>");
    firn_html_put(html, count > 0 ? "<ol class=\"bars\">" : "");
    for (size_t i = 0; i < FIRN_MIN(count, (size_t)PARTITIONS_SHOWN); i++)
        put_partition(html, report, sorted[i], sorted[0]->content.data.files);
    firn_html_put(html, count > 0 ? "</ol>" : "");
    put_rest(html, sorted, count);
    firn_health_html_close_figure(html);
}

/* Deletes -----------------------------------------------------------------------------------------------------------
 */

static void put_delete_bar(struct firn_html *html, const char *name, const struct firn_survey_tally *deletes,
                           int64_t most)
{
    firn_html_putf(html, "<li><span class=\"label\">%s</span><span class=\"amount\">", name);
    firn_html_textf(html, "%.*s files, %.*s rows", FIRN_FMT(firn_health_html_count(html, deletes->files)),
                    FIRN_FMT(firn_health_html_count(html, deletes->rows)));
    firn_html_put(html, "</span>");
    firn_health_html_bar(html, "delete", (double)deletes->files, (double)most);
    firn_html_put(html, "</li>");
}

static void put_share(struct firn_html *html, const char *name, const char *class, int64_t part, int64_t whole)
{
    firn_html_putf(html, "<li><span class=\"label\">%s</span><span class=\"amount\">", name);
    firn_html_textf(html, "%.*s of %.*s (%.1f %%)", FIRN_FMT(firn_health_html_count(html, part)),
                    FIRN_FMT(firn_health_html_count(html, whole)), 100 * share_of(part, whole));
    firn_html_put(html, "</span>");
    firn_health_html_bar(html, class, (double)part, (double)whole);
    firn_html_put(html, "</li>");
}

void firn_health_html_deletes(struct firn_html *html, const struct firn_survey *survey)
{
    const struct firn_survey_content *total = &survey->total;
    int64_t positions = total->position_deletes.files, equality = total->equality_deletes.files;
    int64_t files = positions + equality + total->vectors.files, deleted_rows = total->position_deletes.rows;
    int64_t most = FIRN_MAX(FIRN_MAX(positions, equality), total->vectors.files);
    firn_survey_add(&deleted_rows, total->vectors.rows);
    firn_health_html_open_figure(html, "deletes", "Deletes", FIRN_TEXT(""));
    if (files == 0) {
        firn_html_put(html, "<p class=\"none\">No delete files: scans read data files only.</p>");
        firn_health_html_close_figure(html);
        return;
    }
    firn_html_put(html, "<ul class=\"bars\">");
    put_delete_bar(html, "Position deletes", &total->position_deletes, most);
    put_delete_bar(html, "Equality deletes", &total->equality_deletes, most);
    put_delete_bar(html, "Deletion vectors", &total->vectors, most);
    put_share(html, "Data files with deletes", "small", total->deleted_from.files, total->data.files);
    put_share(html, "Rows that position deletes and vectors take away", "small", deleted_rows, total->data.rows);
    put_share(html, "Delete files that apply to nothing", "small", total->dangling.files, files);
    firn_html_put(html, "</ul><p class=\"rest\">");
    firn_html_textf(html, "A scan of everything opens a delete file %.*s times.",
                    FIRN_FMT(firn_health_html_count(html, total->delete_reads)));
    firn_html_put(html, "</p>");
    firn_health_html_close_figure(html);
}
