/* How the columns of a sort key lie in it: shared by sort_key.c, which decides, and sort_batch.c, which fills. */
#ifndef FIRN_REWRITE_SORT_COLUMN_H
#define FIRN_REWRITE_SORT_COLUMN_H

#include "rewrite/sort_image.h"
#include "rewrite/sort_key.h"

/* One field of the ordering in a key: a marker that puts nulls first or last, where there can be nulls, then the image
 * of the value, turned over for descending order. Text is followed by an end mark. */
struct firn_sort_column {
    struct firn_sort_image image;
    uint32_t leaf;   /* index into the key's leaves */
    uint32_t offset; /* among the columns of fixed width */
    bool marked;
    uint8_t null_marker, value_marker;
    uint8_t flip; /* each byte of the image is combined with it by exclusive or */
};

/* Neighbouring columns of fixed width, or one of text. */
struct firn_sort_run {
    uint32_t column;        /* of text */
    uint32_t offset, bytes; /* of fixed width; 0 bytes: it is text */
};

#endif
