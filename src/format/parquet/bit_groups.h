/* Bit packing by groups: eight values of `width` bits are `width` whole bytes, the first value in the lowest bits.
 *
 * Loops that vectors make faster exist in portable C and, for some kinds of processor, in vector instructions too.
 * parquet-format, "Encodings". */
#ifndef FIRN_FORMAT_PARQUET_BIT_GROUPS_H
#define FIRN_FORMAT_PARQUET_BIT_GROUPS_H

#include <stddef.h>
#include <stdint.h>

enum {
    FIRN_GROUP_VALUES = 8,
    FIRN_GROUP_SLACK_BYTES = 16, /* so far behind its own bytes a group may read packed bytes, or overwrite them */
};

/* Loops over whole groups. `width` is at least 1 and at most what a value has. */
struct firn_bit_groups {
    const char *name;
    void (*unpack_u32)(const uint8_t *in, unsigned width, size_t groups, uint32_t *out);
    void (*unpack_u64)(const uint8_t *in, unsigned width, size_t groups, uint64_t *out);
};

extern const struct firn_bit_groups firn_bit_groups_portable;

/* For this processor; NULL: it has nothing better than portable C. */
const struct firn_bit_groups *firn_bit_groups_vector(void);

/* The best for this processor. Cheap: asked for at each use. */
const struct firn_bit_groups *firn_bit_groups(void);

/* The same on any processor: here vectors gain nothing over words of 64 bits, in which eight bytes are unpacked or
 * packed at once, and others are joined. Values to pack are below 2^width. */
void firn_unpack_groups_u8(const uint8_t *in, unsigned width, size_t groups, uint8_t *out);
void firn_pack_groups_u8(const uint8_t *in, unsigned width, size_t groups, uint8_t *out);
void firn_pack_groups_u32(const uint32_t *in, unsigned width, size_t groups, uint8_t *out);
void firn_pack_groups_u64(const uint64_t *in, unsigned width, size_t groups, uint8_t *out);

#endif
