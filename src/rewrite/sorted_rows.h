/* Rows in memory and the order they are in. */
#ifndef FIRN_REWRITE_SORTED_ROWS_H
#define FIRN_REWRITE_SORTED_ROWS_H

#include "rewrite/held_column.h"
#include "rewrite/key_sort.h"

struct firn_sorted_rows {
    const struct firn_held_column *columns; /* one a leaf */
    uint32_t leaf_count;
    struct firn_row_keys keys;
    const uint32_t *order; /* numbers of rows in `columns` and `keys`, where some may be left out */
    uint32_t count;
};

/* What a row takes in the columns. */
static inline double firn_sorted_row_bytes(const struct firn_sorted_rows *rows)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < rows->leaf_count; i++)
        bytes += firn_held_column_bytes(&rows->columns[i]);
    uint32_t count = rows->columns[0].row_count;
    return count > 0 && bytes > count ? (double)bytes / count : 1;
}

#endif
