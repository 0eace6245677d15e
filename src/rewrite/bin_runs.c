/* Runs are taken as far as they can be read side by side: of each there is a window on every column in memory. If that
 * leaves out most of the bin, everything is sorted, which costs no more then. */
#include "rewrite/bin_runs.h"

#include "base/math.h"
#include "rewrite/chunk_memory.h"

#include <math.h>
#include <stdlib.h>

#define WHOLE_FILE_BYTES  (UINT64_C(8) << 20) /* up to here files are held as a whole */
#define TOLERANCE_DIVISOR 16

enum { RUNS_MAX = 128 };

const char *const firn_sort_way_names[FIRN_SORT_WAY_COUNT] = { "sorted", "merged", "concatenated" };

enum firn_sort_way firn_rewrite_bin_way(const struct firn_rewrite_bin *bin)
{
    if (bin->run_count == 0)
        return FIRN_SORT_WAY_SORTED;
    for (uint32_t i = 0; i < bin->piece_count; i++)
        if (bin->piece_runs[i] == FIRN_NO_RUN)
            return FIRN_SORT_WAY_MERGED;
    return bin->run_count == 1 ? FIRN_SORT_WAY_CONCATENATED : FIRN_SORT_WAY_MERGED;
}

static uint64_t piece_memory(const struct firn_group_run *run, const struct firn_rewrite_piece *piece)
{
    const struct firn_data_file *file = &run->group->inputs[piece->input];
    uint64_t bytes = (uint64_t)FIRN_MAX(file->file_bytes, 0);
    bool is_whole = bytes <= WHOLE_FILE_BYTES;
    const struct firn_row_group_size size = {
        .bytes = is_whole ? bytes : bytes / FIRN_MAX(file->split_offset_count, 1u),
        .row_bytes = (double)bytes / (double)FIRN_MAX(file->record_count, 1),
        .leaf_count = run->schema.leaf_count,
        .is_whole = is_whole,
    };
    return firn_chunk_memory_least(&size);
}

static void add_piece(const struct firn_group_run *run, const struct firn_rewrite_bin *bin, uint32_t index,
                      struct firn_piece_list *list)
{
    list->pieces[list->count++] = index;
    list->bytes += bin->pieces[index].length;
    list->memory = FIRN_MAX(list->memory, run ? piece_memory(run, &bin->pieces[index]) : 0);
}

void firn_bin_runs_none(struct firn_op *op, const struct firn_rewrite_bin *bin, struct firn_bin_runs *out)
{
    *out = (struct firn_bin_runs){ .way = FIRN_SORT_WAY_SORTED };
    out->rest.pieces = FIRN_NEW_ARRAY(op->arena, uint32_t, bin->piece_count);
    for (uint32_t i = 0; i < bin->piece_count; i++)
        add_piece(NULL, bin, i, &out->rest);
}

/* Lists the pieces of each run, and the rest. */
static void list_runs(struct firn_op *op, const struct firn_group_run *run, const struct firn_rewrite_bin *bin,
                      struct firn_bin_runs *out)
{
    *out = (struct firn_bin_runs){ .run_count = bin->run_count };
    out->runs = FIRN_NEW_ARRAY(op->arena, struct firn_piece_list, bin->run_count);
    out->rest.pieces = FIRN_NEW_ARRAY(op->arena, uint32_t, bin->piece_count);
    uint32_t *counts = FIRN_NEW_ARRAY(op->arena, uint32_t, bin->run_count);
    for (uint32_t i = 0; i < bin->piece_count; i++)
        if (bin->piece_runs[i] != FIRN_NO_RUN)
            counts[bin->piece_runs[i]]++;
    for (uint32_t i = 0; i < bin->run_count; i++)
        out->runs[i].pieces = FIRN_NEW_ARRAY(op->arena, uint32_t, counts[i]);
    for (uint32_t i = 0; i < bin->piece_count; i++) {
        uint32_t number = bin->piece_runs[i];
        add_piece(run, bin, i, number == FIRN_NO_RUN ? &out->rest : &out->runs[number]);
    }
}

/* The largest first. */
static int compare_runs(const void *a, const void *b)
{
    const struct firn_piece_list *left = a, *right = b;
    return left->bytes != right->bytes ? (left->bytes < right->bytes ? 1 : -1)
                                       : (left->pieces[0] > right->pieces[0]) - (left->pieces[0] < right->pieces[0]);
}

/* Leaves to be sorted what cannot be read side by side with the larger runs. */
static void keep_what_fits(const struct firn_group_run *run, const struct firn_rewrite_bin *bin,
                           struct firn_bin_runs *runs)
{
    uint64_t most = run->chunk_bytes + run->window_bytes;
    uint32_t kept = 0;
    qsort(runs->runs, runs->run_count, sizeof *runs->runs, compare_runs);
    for (; kept < FIRN_MIN(runs->run_count, RUNS_MAX) && runs->runs[kept].memory <= most - runs->memory; kept++)
        runs->memory += runs->runs[kept].memory;
    for (uint32_t i = kept; i < runs->run_count; i++)
        for (uint32_t p = 0; p < runs->runs[i].count; p++)
            add_piece(run, bin, runs->runs[i].pieces[p], &runs->rest);
    runs->run_count = kept;
}

void firn_bin_runs_choose(struct firn_op *op, const struct firn_group_run *run, const struct firn_rewrite_bin *bin,
                          const struct firn_route *route, struct firn_bin_runs *out)
{
    firn_bin_runs_none(op, bin, out);
    if (bin->run_count == 0 || route->partition_count != 1)
        return;
    struct firn_bin_runs runs;
    list_runs(op, run, bin, &runs);
    runs.way = firn_rewrite_bin_way(bin);
    if (runs.way == FIRN_SORT_WAY_MERGED)
        keep_what_fits(run, bin, &runs);
    if (runs.rest.bytes <= out->rest.bytes / 2)
        *out = runs;
}

/* Files. */

static double run_bytes(const struct firn_bin_runs *runs)
{
    return FIRN_MAX((double)runs->runs[0].bytes, 1);
}

static double run_rows(const struct firn_group_run *run, const struct firn_rewrite_bin *bin)
{
    double rows = 0;
    for (uint32_t i = 0; i < bin->piece_count; i++)
        rows += (double)FIRN_MAX(run->group->inputs[bin->pieces[i].input].record_count, 0);
    return rows;
}

/* How many equal parts `size` makes, none much larger than `most`. */
static double parts_of(double size, double most)
{
    return FIRN_MAX(ceil(size / most - 1.0 / TOLERANCE_DIVISOR), 1);
}

struct firn_file_pieces firn_bin_runs_file(const struct firn_group_run *run, const struct firn_rewrite_bin *bin,
                                           const struct firn_bin_runs *runs, uint32_t first)
{
    const struct firn_rewrite_group *group = run->group;
    const struct firn_piece_list *list = &runs->runs[0];
    double most = (double)group->file_bytes_max, bytes = 0;
    double files = parts_of(run_bytes(runs), most);
    if (group->file_rows > 0)
        files = FIRN_MAX(files, parts_of(run_rows(run, bin), (double)group->file_rows));
    double target = run_bytes(runs) / files;
    uint32_t end = first;
    while (end < list->count) {
        double next = (double)bin->pieces[list->pieces[end]].length;
        if (end > first && (bytes + next / 2 > target || bytes + next > most))
            break;
        bytes += next;
        end++;
    }
    double parts = parts_of(bytes, FIRN_MIN(most, target));
    double part = parts > 1 ? FIRN_MIN(bytes / parts * (1 + 1.0 / TOLERANCE_DIVISOR), most) : most;
    return (struct firn_file_pieces){ end, (uint64_t)FIRN_MAX(part, 1) };
}
