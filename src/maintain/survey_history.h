/* Inside a survey: what the metadata tells without a manifest: commits, writers, references, what expiry would do. */
#ifndef FIRN_MAINTAIN_SURVEY_HISTORY_H
#define FIRN_MAINTAIN_SURVEY_HISTORY_H

#include "maintain/survey.h"

/* In op->arena. USAGE for properties that make no sense. */
FIRN_CHECKED firn_status firn_survey_history(struct firn_op *op, const struct firn_metadata *metadata,
                                             struct firn_survey *out);

#endif
