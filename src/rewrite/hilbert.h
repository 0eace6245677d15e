/* Points to their places along a Hilbert curve: neighbours on it are neighbours in space, which interleaved bits alone
 * do not give. J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004). */
#ifndef FIRN_REWRITE_HILBERT_H
#define FIRN_REWRITE_HILBERT_H

#include "firn/op.h"

/* Turns coordinates, `bits` bits each, 1 to 64, into the place: its bits are those of the results taken in turn, most
 * significant first. Dimension d of point p is axes[d * point_count + p]. */
void firn_hilbert_place(uint64_t *axes, uint32_t dimension_count, uint32_t point_count, unsigned bits);

#endif
