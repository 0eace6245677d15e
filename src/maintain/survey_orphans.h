/* Inside a survey: files below the table's location that nothing refers to. */
#ifndef FIRN_MAINTAIN_SURVEY_ORPHANS_H
#define FIRN_MAINTAIN_SURVEY_ORPHANS_H

#include "maintain/survey.h"

/* Estimates them through the plan of remove_orphan_files, with its defaults. Where it refuses (gc.enabled=false,
 * another table's files) or cannot tell (metadata of an old snapshot is lost) they stay unknown, and `out` and a
 * warning say why. */
FIRN_CHECKED firn_status firn_survey_orphans(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                             struct firn_survey *out);

#endif
