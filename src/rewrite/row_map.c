#include "rewrite/row_map.h"

/* Whether a run begins at or before a row of an input. */
static bool begins_by(const struct firn_row_run *run, uint32_t input, int64_t row)
{
    return run->input != input ? run->input < input : run->input_row <= row;
}

bool firn_row_map_find(const struct firn_row_map *map, uint32_t input, int64_t row, struct firn_row_place *out)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (begins_by(&map->runs[middle], input, row))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    const struct firn_row_run *run = &map->runs[low - 1];
    if (run->input != input || row - run->input_row >= run->row_count)
        return false;
    *out = (struct firn_row_place){ run->output, run->output_row + (row - run->input_row) };
    return true;
}
