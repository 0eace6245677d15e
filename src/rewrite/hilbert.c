/* The paper's AxestoTranspose, for many points at once and without branches, so that points share instructions. */
#include "rewrite/hilbert.h"

/* Undoes the turns that the curve takes in the cubes of side 2^bit. */
static void turn(uint64_t *axes, uint32_t dimension_count, uint32_t point_count, unsigned bit)
{
    uint64_t below = (UINT64_C(1) << bit) - 1;
    for (uint32_t p = 0; p < point_count; p++)
        axes[p] ^= below & -(axes[p] >> bit & 1);
    for (uint32_t d = 1; d < dimension_count; d++) {
        uint64_t *axis = axes + (size_t)d * point_count;
        for (uint32_t p = 0; p < point_count; p++) {
            uint64_t set = -(axis[p] >> bit & 1);
            uint64_t exchange = (axes[p] ^ axis[p]) & below & ~set;
            axes[p] ^= exchange | (below & set);
            axis[p] ^= exchange;
        }
    }
}

/* Each bit becomes the parity of the bits above it. */
static uint64_t parity_above(uint64_t word)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        word ^= word >> shift;
    return word >> 1;
}

static void encode_gray(uint64_t *axes, uint32_t dimension_count, uint32_t point_count)
{
    for (size_t i = point_count; i < (size_t)dimension_count * point_count; i++)
        axes[i] ^= axes[i - point_count];
    const uint64_t *last = axes + (size_t)(dimension_count - 1) * point_count;
    for (uint32_t p = 0; p < point_count; p++) {
        uint64_t flip = parity_above(last[p]);
        for (uint32_t d = 0; d < dimension_count; d++)
            axes[(size_t)d * point_count + p] ^= flip;
    }
}

void firn_hilbert_place(uint64_t *axes, uint32_t dimension_count, uint32_t point_count, unsigned bits)
{
    for (unsigned bit = bits - 1; bit > 0; bit--)
        turn(axes, dimension_count, point_count, bit);
    encode_gray(axes, dimension_count, point_count);
}
