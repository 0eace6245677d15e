/* Points in time as people give them to --older-than and its like: a timestamp, or an age before now. */
#ifndef FIRN_MAINTAIN_AGE_H
#define FIRN_MAINTAIN_AGE_H

#include "firn/age.h"

#define FIRN_MS_PER_HOUR INT64_C(3600000)
#define FIRN_MS_PER_DAY  (24 * FIRN_MS_PER_HOUR)

/* A timestamp ("2026-11-01", "2026-11-01 10:30:00+01:00"; UTC where no zone is given), or an age before `now_ms`, to
 * milliseconds since the epoch. An age of any size gives a time in the past. USAGE names the option. */
FIRN_CHECKED firn_status firn_point_in_time_parse(struct firn_op *op, const char *option, struct firn_text text,
                                                  int64_t now_ms, int64_t *ms);

#endif
