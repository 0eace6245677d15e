/* Giving the rows of a column to outputs: whole vectors where all their rows share a fate, else picked rows. */
#include "rewrite/feed.h"

void firn_feed_init(struct firn_op *op, struct firn_feed *feed, const struct firn_group_run *run, uint32_t leaf_index,
                    const struct firn_selection *selection)
{
    *feed = (struct firn_feed){
        .column = { .leaf = &run->schema.leaves[leaf_index], .codec = run->codecs[leaf_index] },
        .selection = selection,
        .cursors = FIRN_NEW_ARRAY(op->arena, size_t, (size_t)selection->output_count + 1),
    };
}

void firn_feed_done(struct firn_feed *feed)
{
    firn_column_close(&feed->column);
    firn_gather_done(&feed->gather);
}

/* Rows that go to an output are encoded; those that go nowhere only count for the proof. */
static firn_status give_rows(struct firn_op *op, struct firn_feed *feed, uint32_t list,
                             const struct firn_vector *vector)
{
    const struct firn_selection *selection = feed->selection;
    if (list == selection->output_count)
        return firn_fingerprinter_add(op, &feed->left_out, vector);
    return firn_output_append(op, &selection->outputs[list], feed->column.leaf->node->leaf_index, vector);
}

/* Picks the rows of one list. `*begun`: the vector was looked at. */
static firn_status pick_rows(struct firn_op *op, struct firn_feed *feed, uint32_t list,
                             const struct firn_vector *vector, int64_t first, bool *begun)
{
    int64_t row_count = (int64_t)vector->row_count + (vector->rep && vector->rep[0] > 0);
    struct firn_row_pick pick =
        firn_row_list_pick(&feed->selection->lists[list], &feed->cursors[list], first, row_count);
    if (pick.picked_count == 0)
        return FIRN_OK;
    if (pick.picked_count == row_count)
        return give_rows(op, feed, list, vector);
    struct firn_vector picked;
    if (!*begun)
        FIRN_TRY(firn_gather_begin(op, &feed->gather, vector));
    *begun = true;
    FIRN_TRY(firn_gather_rows(op, &feed->gather, vector, &pick, &picked));
    return give_rows(op, feed, list, &picked);
}

static firn_status take(struct firn_op *op, void *context, const struct firn_column *column,
                        const struct firn_vector *vector, int64_t row)
{
    struct firn_feed *feed = context;
    const struct firn_selection *selection = feed->selection;
    bool begun = false;
    if (selection->with_left_out)
        FIRN_TRY(firn_fingerprinter_add(op, &feed->read, vector));
    if (selection->whole)
        return firn_output_append(op, &selection->outputs[0], column->leaf->node->leaf_index, vector);
    for (uint32_t i = 0; i < selection->output_count + selection->with_left_out; i++)
        FIRN_TRY(pick_rows(op, feed, i, vector, row, &begun));
    return FIRN_OK;
}

/* Whether all columns may keep what they hold of the slice that the step ends in. */
static bool slice_fits(const struct firn_window *window, const struct firn_column *column)
{
    return column->slice >= window->slices.count ||
           window->slices.items[column->slice].held_bytes <= window->run->chunk_bytes;
}

firn_status firn_feed_run(struct firn_op *op, struct firn_feed *feed, struct firn_window *window, int64_t rows)
{
    memset(feed->cursors, 0, ((size_t)feed->selection->output_count + 1) * sizeof *feed->cursors);
    FIRN_TRY(firn_column_pull(op, &feed->column, window, rows, take, feed));
    if (!slice_fits(window, &feed->column))
        firn_column_suspend(&feed->column);
    return FIRN_OK;
}
