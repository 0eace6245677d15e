/* Points to their places along a Hilbert curve: neighbours on it are neighbours in space, which interleaved bits alone
 * do not give. J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004). */
#ifndef FIRN_REWRITE_HILBERT_H
#define FIRN_REWRITE_HILBERT_H

#include "firn/op.h"

/* Points are worked together, always as many, so that vector instructions take several at once. */
#define FIRN_HILBERT_POINTS 64

/* Turns coordinates, `bits` bits each, 1 to 64, into the place: its bits are those of the results taken in turn, most
 * significant first. axes[d] holds dimension d of all points. */
void firn_hilbert_place(uint64_t (*axes)[FIRN_HILBERT_POINTS], uint32_t dimension_count, unsigned bits);

#endif
