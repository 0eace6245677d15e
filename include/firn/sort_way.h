/* How rows come to be in order. */
#ifndef FIRN_SORT_WAY_H
#define FIRN_SORT_WAY_H

enum firn_sort_way {
    FIRN_SORT_WAY_SORTED,
    FIRN_SORT_WAY_MERGED,       /* what is in order already is read side by side; the rest is sorted */
    FIRN_SORT_WAY_CONCATENATED, /* files in order are put one behind the other, pages copied where they may be */
    FIRN_SORT_WAY_COUNT
};
/* "sorted", "merged", "concatenated". */
extern const char *const firn_sort_way_names[FIRN_SORT_WAY_COUNT];

#endif
