/* Which files of a group are sorted runs already: marked as sorted by the order that is applied, and one behind the
 * other by their bounds. Greedily, by where their keys begin, each file goes on with a run that has ended before it:
 * that gives the fewest runs. Files are not opened, so what is said here is checked when they are read. */
#include "maintain/key_range.h"
#include "maintain/rewrite_data_files.h"

#include <stdlib.h>

enum { RUNS_MAX = 256 }; /* of one bin; more cannot be read side by side */

struct ranged_piece {
    struct firn_rewrite_piece piece;
    const struct firn_scan_file *scan; /* its file */
    struct firn_key_range keys;        /* of the file; first is NULL: it is not marked as sorted */
    uint32_t place;                    /* in the bin as it was */
};

struct laying {
    const struct firn_rewrite_plan *plan;
    const struct firn_planned_group *group;
    struct firn_key_measure measure;
    const struct firn_key_range *ranges; /* of the group's files */
};

/* What is sorted by its keys, then the rest as it was. */
static int compare_pieces(const void *a, const void *b, void *context)
{
    const struct ranged_piece *left = a, *right = b;
    int order = (left->keys.first == NULL) - (right->keys.first == NULL);
    if (order == 0 && left->keys.first)
        order = firn_key_ranges_compare(context, &left->keys, &right->keys);
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

/* Whether a piece may go on with a run that ends with another one. Of one commit files are in order where they meet. */
static bool goes_on(const struct laying *laying, const struct ranged_piece *last, const struct ranged_piece *piece)
{
    if (last->piece.input == piece->piece.input)
        return last->piece.offset < piece->piece.offset;
    enum firn_key_relation relation = firn_key_range_followed(&laying->measure, &last->keys, &piece->keys);
    bool is_of_one_commit = last->scan->entry->snapshot_id == piece->scan->entry->snapshot_id;
    return relation == FIRN_KEYS_APART || (relation == FIRN_KEYS_MEET && is_of_one_commit);
}

/* Deals the sorted pieces, which lie in order, to runs. Gives how many these are. */
static uint32_t deal(struct firn_op *op, const struct laying *laying, const struct ranged_piece *pieces, uint32_t count,
                     uint32_t *runs)
{
    const struct ranged_piece **ends = FIRN_NEW_ARRAY(op->arena, const struct ranged_piece *, RUNS_MAX);
    uint32_t run_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t run = 0;
        runs[i] = FIRN_NO_RUN;
        if (!pieces[i].keys.first)
            continue;
        while (run < run_count && !goes_on(laying, ends[run], &pieces[i]))
            run++;
        if (run == RUNS_MAX)
            continue;
        run_count += run == run_count;
        ends[run] = &pieces[i];
        runs[i] = run;
    }
    return run_count;
}

static void lay_out(struct firn_op *op, struct laying *laying, struct firn_rewrite_bin *bin)
{
    const struct firn_planned_group *group = laying->group;
    struct ranged_piece *pieces = FIRN_NEW_ARRAY(op->arena, struct ranged_piece, bin->piece_count);
    uint32_t *runs = FIRN_NEW_ARRAY(op->arena, uint32_t, bin->piece_count);
    for (uint32_t i = 0; i < bin->piece_count; i++) {
        uint32_t input = bin->pieces[i].input;
        const struct firn_scan_file *scan = laying->plan->files[group->files[input]].scan;
        pieces[i] = (struct ranged_piece){ bin->pieces[i], scan, laying->ranges[input], i };
    }
    qsort_r(pieces, bin->piece_count, sizeof *pieces, compare_pieces, &laying->measure);
    for (uint32_t i = 0; i < bin->piece_count; i++)
        bin->pieces[i] = pieces[i].piece;
    bin->run_count = deal(op, laying, pieces, bin->piece_count, runs);
    bin->piece_runs = runs;
}

/* Ranges of the files that are marked as sorted; false: none is. */
static bool find_ranges(struct firn_op *op, struct laying *laying)
{
    const struct firn_planned_group *group = laying->group;
    struct firn_key_range *ranges = FIRN_NEW_ARRAY(op->arena, struct firn_key_range, group->file_count);
    bool found = false;
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_data_file *file = &laying->plan->files[group->files[i]].scan->entry->file;
        if (!firn_rewrite_claims_order(laying->plan, file))
            continue;
        ranges[i] = firn_key_range_of(op->arena, &laying->measure, file, false);
        found = true;
    }
    laying->ranges = ranges;
    return found;
}

firn_status firn_rewrite_find_runs(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                   struct firn_planned_group *group)
{
    struct laying laying = { .plan = plan, .group = group };
    if (!plan->ordering || plan->ordering->sort_order_id == 0)
        return FIRN_OK;
    FIRN_TRY(firn_key_measure_new(op, plan->metadata, plan->ordering, &laying.measure));
    if (!find_ranges(op, &laying))
        return FIRN_OK;
    for (uint32_t i = 0; i < group->bin_count; i++)
        lay_out(op, &laying, &group->bins[i]);
    return FIRN_OK;
}
