/* What the charts of the page of health have in common. */
#include "base/math.h"
#include "maintain/health_html.h"

/* Bars are drawn in so many parts, and stretched to the room there is. */
enum { BAR_PARTS = 1000 };

struct firn_text firn_health_html_count(struct firn_html *html, int64_t count)
{
    return firn_measure_count(html->op->arena, count);
}

/* Number and unit stay on one line. */
struct firn_text firn_health_html_bytes(struct firn_html *html, int64_t bytes)
{
    struct firn_text text = firn_measure_bytes(html->op->arena, (uint64_t)FIRN_MAX(bytes, 0));
    ptrdiff_t blank = firn_text_find(text, ' ');
    return firn_text_format(html->op->arena, "%.*s\u00a0%.*s", FIRN_FMT(firn_text_until(text, (size_t)blank)),
                            FIRN_FMT(firn_text_from(text, (size_t)blank + 1)));
}

struct firn_text firn_health_html_short(struct firn_html *html, int64_t count)
{
    static const struct {
        int64_t unit;
        const char *letter;
    } units[] = { { INT64_C(1000000000), "G" }, { 1000000, "M" }, { 1000, "k" } };
    for (size_t i = 0; i < FIRN_COUNT_OF(units); i++) {
        int64_t unit = units[i].unit, tenths = count / (unit / 10);
        if (count < unit)
            continue;
        if (tenths >= 100 || tenths % 10 == 0)
            return firn_text_format(html->op->arena, "%" PRId64 "%s", count / unit, units[i].letter);
        return firn_text_format(html->op->arena, "%" PRId64 ".%" PRId64 "%s", tenths / 10, tenths % 10,
                                units[i].letter);
    }
    return firn_health_html_count(html, count);
}

void firn_health_html_open_figure(struct firn_html *html, const char *class, const char *title, struct firn_text note)
{
    firn_html_putf(html, "<figure class=\"chart %s\"><figcaption><strong>%s</strong>", class, title);
    if (note.len > 0)
        firn_html_element(html, "span", NULL, note);
    firn_html_put(html, "</figcaption>");
}

void firn_health_html_close_figure(struct firn_html *html)
{
    firn_html_put(html, "</figure>\n");
}

void firn_health_html_open_numbers(struct firn_html *html, const char *titles)
{
    firn_html_put(html, "<details><summary>Numbers</summary><div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
    for (struct firn_text rest = firn_text_of(titles); rest.len > 0;) {
        ptrdiff_t bar = firn_text_find(rest, '|');
        firn_html_put(html, "<th scope=\"col\">");
        firn_html_text(html, bar < 0 ? rest : firn_text_until(rest, (size_t)bar));
        firn_html_put(html, "</th>");
        rest = firn_text_from(rest, bar < 0 ? rest.len : (size_t)bar + 1);
    }
    firn_html_put(html, "</tr></thead><tbody>");
}

void firn_health_html_close_numbers(struct firn_html *html)
{
    firn_html_put(html, "</tbody></table></div></details>");
}

/* What is not nothing can be seen. */
void firn_health_html_bar(struct firn_html *html, const char *class, double part, double whole)
{
    double share = whole > 0 ? FIRN_MIN(part / whole, 1.0) : 0;
    int width = part > 0 ? FIRN_MAX((int)(share * BAR_PARTS), BAR_PARTS / 200) : 0;
    firn_html_putf(html,
                   "<svg class=\"bar\" viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                   "<rect class=\"track\" width=\"%d\" height=\"10\"/>"
                   "<rect class=\"%s\" width=\"%d\" height=\"10\"/></svg>",
                   BAR_PARTS, BAR_PARTS, class, width);
}
