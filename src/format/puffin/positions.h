/* Sets of row positions: 64-bit Roaring bitmaps, assembled from 32-bit ones by their high halves.
 * Roaring format specification, "Extension for 64-bit implementations". */
#ifndef FIRN_FORMAT_PUFFIN_POSITIONS_H
#define FIRN_FORMAT_PUFFIN_POSITIONS_H

#include "base/buffer.h"

/* The reference keeps one bitmap a high half and cannot address more. */
#define FIRN_POSITION_MAX ((INT64_C(2147483646) << 32) | UINT32_MAX)

struct firn_positions;

/* An empty set; freed when op->arena goes. Threads may add to it one after the other. */
FIRN_CHECKED firn_status firn_positions_new(struct firn_op *op, struct firn_positions **out);
/* Adds one position. CORRUPT below 0 or above FIRN_POSITION_MAX. */
FIRN_CHECKED firn_status firn_positions_add(struct firn_op *op, struct firn_positions *positions, int64_t position);
/* Adds all of `other`. */
FIRN_CHECKED firn_status firn_positions_merge(struct firn_op *op, struct firn_positions *positions,
                                              const struct firn_positions *other);
/* Charges what the set takes in memory now to op->budget, in place of what was charged for it before; given back with
 * the set. The caller's to ask for, after adding: adding alone charges nothing. LIMIT. */
FIRN_CHECKED firn_status firn_positions_charge(struct firn_op *op, struct firn_positions *positions);
bool firn_positions_contains(const struct firn_positions *positions, int64_t position);
uint64_t firn_positions_count(const struct firn_positions *positions);
/* About what the set takes in memory. */
size_t firn_positions_bytes(const struct firn_positions *positions);
/* How many lie in [from, to). */
uint64_t firn_positions_count_range(const struct firn_positions *positions, int64_t from, int64_t to);
/* The least position that is not below `from`; false when there is none. */
bool firn_positions_next(const struct firn_positions *positions, int64_t from, int64_t *out);
/* The least `max` positions that are not below `from`, ascending; gives how many there were. To walk a set, this is a
 * lot faster than one after the other. */
size_t firn_positions_read(const struct firn_positions *positions, int64_t from, int64_t *out, size_t max);

/* The portable serialised form. Every container is checked before the library sees it; all of `bytes` must be used.
 * CORRUPT otherwise. Bitmaps of missing high halves may be there, empty, or left out. */
FIRN_CHECKED firn_status firn_positions_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_positions **out);
/* Appends the portable form, run-length encoded where that is smaller; empty bitmaps are left out. */
FIRN_CHECKED firn_status firn_positions_print(struct firn_op *op, struct firn_positions *positions,
                                              struct firn_buffer *out);

#endif
