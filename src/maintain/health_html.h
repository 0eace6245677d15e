/* Inside the page of health: its parts. They print what a report and its survey hold, and judge nothing. */
#ifndef FIRN_MAINTAIN_HEALTH_HTML_H
#define FIRN_MAINTAIN_HEALTH_HTML_H

#include "firn/health_html.h"
#include "maintain/health.h"
#include "maintain/html.h"

/* health_page.css and .js, and the policy that lets a browser run these and nothing else; made when firn is built. */
extern const struct firn_text firn_health_page_style, firn_health_page_script, firn_health_page_policy;

/* The section of a table, with the id "tNUMBER". */
void firn_health_html_table(struct firn_html *html, const struct firn_health_report *report, size_t number);
/* A ring with the score in it. */
void firn_health_html_score(struct firn_html *html, int score);

/* Charts, each a figure of its own. */
void firn_health_html_sizes(struct firn_html *html, const struct firn_survey *survey);
void firn_health_html_partitions(struct firn_html *html, const struct firn_health_report *report);
void firn_health_html_deletes(struct firn_html *html, const struct firn_survey *survey);
void firn_health_html_columns(struct firn_html *html, const struct firn_survey *survey);
void firn_health_html_growth(struct firn_html *html, const struct firn_survey *survey);
void firn_health_html_writers(struct firn_html *html, const struct firn_survey *survey);

/* What charts have in common. A figure's body comes between; its numbers, as a table to be unfolded, last. */
void firn_health_html_open_figure(struct firn_html *html, const char *class, const char *title, struct firn_text note);
void firn_health_html_close_figure(struct firn_html *html);
/* Begins the table of a figure's numbers: "Bucket|Files|Bytes". */
void firn_health_html_open_numbers(struct firn_html *html, const char *titles);
void firn_health_html_close_numbers(struct firn_html *html);
/* A bar of `part` in `whole`, as wide as the page lets it be; `class` colours it. */
void firn_health_html_bar(struct firn_html *html, const char *class, double part, double whole);

/* Numbers as people read them: "12,345", "1.4 GiB"; "1.2k" where there is little room. */
struct firn_text firn_health_html_count(struct firn_html *html, int64_t count);
struct firn_text firn_health_html_bytes(struct firn_html *html, int64_t bytes);
struct firn_text firn_health_html_short(struct firn_html *html, int64_t count);

#endif
