/* The kernels of encoding: whole groups as they lie, then the last from a copy with zeros behind its values. */
#include "format/parquet/pack.h"

#include <string.h>

/* Defines firn_pack_TYPE. */
#define DEFINE_PACK(name, groups_function, type)                                                                       \
    uint8_t *name(uint8_t *at, unsigned width, const type *values, size_t count)                                       \
    {                                                                                                                  \
        size_t groups = count / FIRN_GROUP_VALUES, rest = count % FIRN_GROUP_VALUES;                                   \
        type last[FIRN_GROUP_VALUES] = { 0 };                                                                          \
        if (width == 0)                                                                                                \
            return at;                                                                                                 \
        groups_function(values, width, groups, at);                                                                    \
        at += groups * width;                                                                                          \
        if (rest == 0)                                                                                                 \
            return at;                                                                                                 \
        memcpy(last, values + groups * FIRN_GROUP_VALUES, rest * sizeof *last);                                        \
        groups_function(last, width, 1, at);                                                                           \
        return at + width;                                                                                             \
    }

DEFINE_PACK(firn_pack_u8, firn_pack_groups_u8, uint8_t)
DEFINE_PACK(firn_pack_u32, firn_pack_groups_u32, uint32_t)
DEFINE_PACK(firn_pack_u64, firn_pack_groups_u64, uint64_t)
