/* Inside a survey: what manifests say of columns, and how the bounds of files overlap. */
#ifndef FIRN_MAINTAIN_SURVEY_COLUMNS_H
#define FIRN_MAINTAIN_SURVEY_COLUMNS_H

#include "maintain/survey.h"
#include "table/manifest.h"

struct firn_survey_columns;
/* For the columns of the current schema. Lives in the arena. */
struct firn_survey_columns *firn_survey_columns_new(struct firn_arena *arena, const struct firn_metadata *metadata);
/* Takes a data file of the partition of that number into account; nothing of it is borrowed. */
void firn_survey_columns_add(struct firn_survey_columns *columns, const struct firn_data_file *file,
                             uint32_t partition);
/* Fills the survey's columns, in the arena it was made in. */
void firn_survey_columns_finish(struct firn_survey_columns *columns, struct firn_survey *out);

#endif
