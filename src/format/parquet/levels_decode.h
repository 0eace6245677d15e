/* Repetition and definition levels of a data page. parquet-format, "Nested Encoding", "Data Pages". */
#ifndef FIRN_FORMAT_PARQUET_LEVELS_DECODE_H
#define FIRN_FORMAT_PARQUET_LEVELS_DECODE_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "format/parquet/page.h"

/* Cuts the levels off the front of a page: a section of v1 with its length in front (RLE) or implied (BIT_PACKED). */
FIRN_CHECKED firn_status firn_levels_take(struct firn_op *op, struct firn_cursor *page, enum firn_encoding encoding,
                                          uint8_t level_max, uint32_t count, struct firn_bytes *section);
/* Decodes a section to `count` levels in `out`. Every level is at most `level_max`, which is above 0. */
FIRN_CHECKED firn_status firn_levels_decode(struct firn_op *op, struct firn_bytes section, enum firn_encoding encoding,
                                            uint8_t level_max, uint32_t count, struct firn_buffer *out);
/* Whether the section says, in one run, that all levels are `level_max`. */
bool firn_levels_all_max(struct firn_bytes section, enum firn_encoding encoding, uint8_t level_max, uint32_t count);
/* Sets histogram[0] to [level_max] to how often each level occurs among the `count` of an RLE section. False when the
 * section is broken. */
bool firn_levels_count(struct firn_bytes section, uint8_t level_max, uint32_t count, int64_t *histogram);
/* Whether the first of the `count` > 0 repetition levels of an RLE section begins a row. */
bool firn_levels_begin_row(struct firn_bytes section, uint8_t rep_max, uint32_t count);

#endif
