/* Numbers as people read them. */
#ifndef FIRN_MEASURE_H
#define FIRN_MEASURE_H

#include "firn/arena.h"

/* "1.4 GiB": powers of 1024. */
struct firn_text firn_measure_bytes(struct firn_arena *arena, uint64_t bytes);
/* "12,345". */
struct firn_text firn_measure_count(struct firn_arena *arena, int64_t count);
/* "850 ms", "3.2 s", "1 min 04 s", "2 h 05 min", "3 d 4 h". */
struct firn_text firn_measure_duration(struct firn_arena *arena, int64_t ms);

#endif
