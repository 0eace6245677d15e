/* The kernels of encoding: bit packing of plain arrays; the twin of unpack.h.
 *
 * Values are below 2^width; the first lies in the lowest bits. The last group of eight is filled up with zeros. */
#ifndef FIRN_FORMAT_PARQUET_PACK_H
#define FIRN_FORMAT_PARQUET_PACK_H

#include "format/parquet/bit_groups.h"

/* Each packs `count` values and gives the end of their groups, behind which FIRN_GROUP_SLACK_BYTES may be overwritten.
 * Width 0 takes no bytes. */
uint8_t *firn_pack_u8(uint8_t *at, unsigned width, const uint8_t *values, size_t count);   /* width <= 8 */
uint8_t *firn_pack_u32(uint8_t *at, unsigned width, const uint32_t *values, size_t count); /* width <= 32 */
uint8_t *firn_pack_u64(uint8_t *at, unsigned width, const uint64_t *values, size_t count); /* width <= 64 */

#endif
