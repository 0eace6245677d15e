/* Run length codes of ORC. ORC specification v1, "Run Length Encoding". */
#ifndef FIRN_FORMAT_ORC_RUN_LENGTH_H
#define FIRN_FORMAT_ORC_RUN_LENGTH_H

#include "base/cursor.h"

enum firn_run_version { FIRN_RUNS_V1, FIRN_RUNS_V2 };

/* Each fills `count` values; fewer, or bytes that break the code, fail by the cursor. */
void firn_runs_take_bytes(struct firn_cursor *in, uint8_t *out, uint64_t count);
/* A byte a bit, 0 or 1. */
void firn_runs_take_bits(struct firn_cursor *in, uint8_t *out, uint64_t count);
void firn_runs_take_integers(struct firn_cursor *in, enum firn_run_version version, bool is_signed, int64_t *out,
                             uint64_t count);

#endif
