/* For the .c files of bit_groups.h: each loop over groups exists once per width, made from one inlined function, so
 * that all shifts are constants. */
#ifndef FIRN_FORMAT_PARQUET_BIT_GROUPS_EACH_H
#define FIRN_FORMAT_PARQUET_BIT_GROUPS_EACH_H

#include "format/parquet/bit_groups.h"

#define FIRN_ALWAYS_INLINE static inline __attribute__((always_inline))

#define FIRN_EACH_8(ROW, from)                                                                                         \
    ROW(from) ROW(from + 1) ROW(from + 2) ROW(from + 3) ROW(from + 4) ROW(from + 5) ROW(from + 6) ROW(from + 7)
#define FIRN_EACH_24(ROW, from) FIRN_EACH_8(ROW, from) FIRN_EACH_8(ROW, from + 8) FIRN_EACH_8(ROW, from + 16)
#define FIRN_EACH_32(ROW, from) FIRN_EACH_24(ROW, from) FIRN_EACH_8(ROW, from + 24)

/* The case of one width in a `switch`: `group` unpacks a group from `in` to `out`, or packs one. */
#define FIRN_UNPACK_CASE(group, width)                                                                                 \
    case (width):                                                                                                      \
        for (size_t i = 0; i < groups; i++)                                                                            \
            group(in + i * (width), (width), out + i * FIRN_GROUP_VALUES);                                             \
        break;
#define FIRN_PACK_CASE(group, width)                                                                                   \
    case (width):                                                                                                      \
        for (size_t i = 0; i < groups; i++)                                                                            \
            group(in + i * FIRN_GROUP_VALUES, (width), out + i * (width));                                             \
        break;

#endif
