/* Reports on the health of tables as one page of HTML that needs nothing else: styles and charts are in it, it asks for
 * nothing from anywhere, and works without scripts (one adds buttons that copy commands). For phones and desktops,
 * light and dark, screen and paper. */
#ifndef FIRN_HEALTH_HTML_H
#define FIRN_HEALTH_HTML_H

#include "firn/health.h"

struct firn_store;
struct firn_health_page;

/* An empty page, in op->arena. */
struct firn_health_page *firn_health_page_new(struct firn_op *op);
/* Adds a table's report, which is not needed afterwards. A page of very many tables has details of as many of them as
 * browsers bear, and a line each of the others. LIMIT: no memory. */
FIRN_CHECKED firn_status firn_health_page_add(struct firn_op *op, struct firn_health_page *page,
                                              const struct firn_health_report *report);
/* Adds a table that could not be examined, and why. */
void firn_health_page_add_failure(struct firn_health_page *page, struct firn_text table, struct firn_text why);
/* Writes the page, whole or not at all; a file of that name is replaced. */
FIRN_CHECKED firn_status firn_health_page_write(struct firn_op *op, const struct firn_health_page *page,
                                                struct firn_store *store, struct firn_text location);

#endif
