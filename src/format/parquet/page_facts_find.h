/* What the metadata of a file tell of a data page, so that it need not be decoded to be taken over.
 *
 * Indexes and statistics are believed where all readers believe them; what can be checked by the page's own header,
 * uncompressed levels and place in the file is. parquet-format, "Page Index"; parquet.thrift, Statistics. */
#ifndef FIRN_FORMAT_PARQUET_PAGE_FACTS_FIND_H
#define FIRN_FORMAT_PARQUET_PAGE_FACTS_FIND_H

#include "format/parquet/page_facts.h"

/* Where to look. All of it is of one file and one column chunk, and outlives the facts. */
struct firn_page_sources {
    const struct firn_footer *footer;
    const struct firn_parquet_node *leaf;
    const struct firn_column_chunk *chunk;
    const struct firn_column_index *column_index; /* NULL: none; used only beside an offset index, which tells whether
                                                     it speaks of the same pages */
    const struct firn_offset_index *offset_index; /* NULL: none */
    bool no_nan;                                  /* it is known otherwise that the column holds no NaN */
    int64_t row_group_rows;
};

/* Finds all facts of the chunk's data page `index`, or gives false: something is not told, or told in two ways, or by a
 * writer that is known to get it wrong, so that the page must be decoded to know.
 *
 * True says that the counts are sure, that the page begins and ends with a row, and that the bounds enclose all values
 * but NaN; without bounds there is no such value, or the type has no order. Not known may still be: the number of NaN
 * (-1), unencoded_bytes (-1), and the histograms (NULL).
 *
 * `levels` is what its levels tell (firn_page_facts_count, and ends_row); NULL: they are not decoded. With them the
 * metadata need tell of bounds and NaN only.
 *
 * Bytes and histograms borrow from the sources, the page, `levels` or `arena`, which takes a few dozen bytes at most.
 */
bool firn_page_facts_find(struct firn_arena *arena, const struct firn_page_sources *sources,
                          const struct firn_page *page, uint32_t index, const struct firn_page_facts *levels,
                          struct firn_page_facts *out);

#endif
