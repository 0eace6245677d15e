/* Looking rows up, and collecting runs of them. */
#include "rewrite/row_map.h"

#include "base/math.h"

#include <stdlib.h>

#define RUNS_BYTES_MIN 4096

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

/* Making one. */

void firn_row_mapper_init(struct firn_row_mapper *mapper, uint64_t bytes_max)
{
    *mapper = (struct firn_row_mapper){ .bytes_max = (size_t)FIRN_MIN(bytes_max, SIZE_MAX) };
    mapper->given_up = bytes_max == 0;
    atomic_init(&mapper->outputs, 0);
    pthread_mutex_init(&mapper->lock, NULL);
}

void firn_row_mapper_done(struct firn_row_mapper *mapper)
{
    firn_buffer_done(&mapper->runs);
    pthread_mutex_destroy(&mapper->lock);
}

uint32_t firn_row_mapper_output(struct firn_row_mapper *mapper)
{
    return (uint32_t)atomic_fetch_add(&mapper->outputs, 1);
}

static struct firn_row_run *runs_of(const struct firn_row_mapper *mapper, size_t *count)
{
    *count = mapper->runs.len / sizeof(struct firn_row_run);
    return (struct firn_row_run *)(void *)mapper->runs.data;
}

/* Makes one run of two if the second goes on where the first ends. */
static bool join(struct firn_row_run *run, const struct firn_row_run *next)
{
    if (run->input != next->input || run->output != next->output ||
        run->input_row + run->row_count != next->input_row || run->output_row + run->row_count != next->output_row)
        return false;
    run->row_count += next->row_count;
    return true;
}

/* Room for one more run; not more than the whole map may take. */
static bool reserve_run(struct firn_op *op, struct firn_row_mapper *mapper)
{
    struct firn_buffer *runs = &mapper->runs;
    size_t need = runs->len + sizeof(struct firn_row_run);
    if (need <= runs->capacity)
        return true;
    struct firn_error before = op->error;
    size_t wanted = FIRN_MIN(FIRN_MAX(2 * runs->capacity, RUNS_BYTES_MIN), mapper->bytes_max);
    bool reserved = need <= wanted && firn_buffer_reserve(op, runs, wanted) == FIRN_OK;
    op->error = before; /* a map is not worth a failure */
    return reserved;
}

static void add_run(struct firn_op *op, struct firn_row_mapper *mapper, const struct firn_row_run *run)
{
    size_t count;
    struct firn_row_run *runs = runs_of(mapper, &count);
    if (mapper->given_up || (count > 0 && join(&runs[count - 1], run)))
        return;
    if (reserve_run(op, mapper)) {
        runs_of(mapper, &count)[count] = *run;
        mapper->runs.len += sizeof *run;
        return;
    }
    mapper->given_up = true;
    firn_buffer_done(&mapper->runs);
}

void firn_row_mapper_add(struct firn_op *op, struct firn_row_mapper *mapper, struct firn_row_run run)
{
    if (mapper->bytes_max == 0)
        return;
    pthread_mutex_lock(&mapper->lock);
    add_run(op, mapper, &run);
    pthread_mutex_unlock(&mapper->lock);
}

static int compare_runs(const void *a, const void *b)
{
    const struct firn_row_run *left = a, *right = b;
    if (left->input != right->input)
        return left->input < right->input ? -1 : 1;
    return (left->input_row > right->input_row) - (left->input_row < right->input_row);
}

/* One bin with one output places its rows in their order already. */
static void sort_runs(struct firn_row_run *runs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (compare_runs(&runs[i - 1], &runs[i]) < 0)
            continue;
        qsort(runs, count, sizeof *runs, compare_runs);
        return;
    }
}

struct firn_row_map *firn_row_mapper_finish(struct firn_op *op, struct firn_row_mapper *mapper, const uint32_t *places)
{
    struct kept_map {
        struct firn_row_map map;
        struct firn_buffer runs;
    };
    size_t count;
    struct firn_row_run *runs = runs_of(mapper, &count);
    if (mapper->given_up)
        return NULL;
    for (size_t i = 0; i < count; i++)
        runs[i].output = places[runs[i].output];
    sort_runs(runs, count);
    struct kept_map *kept = FIRN_NEW(op->arena, struct kept_map);
    for (size_t i = 0; i < count; i++)
        if (kept->map.count == 0 || !join(&runs[kept->map.count - 1], &runs[i]))
            runs[kept->map.count++] = runs[i];
    kept->runs = mapper->runs;
    mapper->runs = (struct firn_buffer){ 0 };
    firn_buffer_defer(op->arena, &kept->runs);
    kept->map.runs = runs;
    return &kept->map;
}
