/* Lengths of time as people give them. */
#ifndef FIRN_AGE_H
#define FIRN_AGE_H

#include "firn/op.h"

/* "90s", "30m", "36h", "3d", "2w", or "3 days" and the like, to milliseconds. An age past 64 bits is the largest there
 * is. USAGE otherwise, naming the option. */
FIRN_CHECKED firn_status firn_age_parse(struct firn_op *op, const char *option, struct firn_text text, int64_t *ms);

#endif
