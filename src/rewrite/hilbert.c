/* The paper's AxestoTranspose, without branches, for many points at once. */
#include "rewrite/hilbert.h"

/* Undoes the turns that the curve takes in the cubes of side 2^bit: what a dimension's bit says of the bits below. */
static void turn_first(uint64_t *first, unsigned bit)
{
    uint64_t below = (UINT64_C(1) << bit) - 1;
    for (uint32_t p = 0; p < FIRN_HILBERT_POINTS; p++)
        first[p] ^= below & -(first[p] >> bit & 1);
}

static void turn(uint64_t *restrict first, uint64_t *restrict axis, unsigned bit)
{
    uint64_t below = (UINT64_C(1) << bit) - 1;
    for (uint32_t p = 0; p < FIRN_HILBERT_POINTS; p++) {
        uint64_t set = -(axis[p] >> bit & 1);
        uint64_t exchange = (first[p] ^ axis[p]) & below & ~set;
        first[p] ^= exchange | (below & set);
        axis[p] ^= exchange;
    }
}

/* Each bit becomes the parity of the bits above it. */
static uint64_t parity_above(uint64_t word)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        word ^= word >> shift;
    return word >> 1;
}

static void encode_gray(uint64_t (*axes)[FIRN_HILBERT_POINTS], uint32_t dimension_count)
{
    for (uint32_t d = 1; d < dimension_count; d++)
        for (uint32_t p = 0; p < FIRN_HILBERT_POINTS; p++)
            axes[d][p] ^= axes[d - 1][p];
    for (uint32_t p = 0; p < FIRN_HILBERT_POINTS; p++) {
        uint64_t flip = parity_above(axes[dimension_count - 1][p]);
        for (uint32_t d = 0; d < dimension_count; d++)
            axes[d][p] ^= flip;
    }
}

void firn_hilbert_place(uint64_t (*axes)[FIRN_HILBERT_POINTS], uint32_t dimension_count, unsigned bits)
{
    for (unsigned bit = bits - 1; bit > 0; bit--) {
        turn_first(axes[0], bit);
        for (uint32_t d = 1; d < dimension_count; d++)
            turn(axes[0], axes[d], bit);
    }
    encode_gray(axes, dimension_count);
}
