/* Giving the rows of a column to outputs: whole pages as they lie where that may be, whole vectors where all their rows
 * share a fate, else picked rows. */
#include "rewrite/feed.h"

#include "base/math.h"
#include "rewrite/estimate.h"
#include "rewrite/stage.h"

enum { STEPS_MAX = 2 }; /* a row group that takes more is not read again for each */

static void init_feed(struct firn_op *op, struct firn_feed *feed, const struct firn_group_run *run, uint32_t leaf_index,
                      const struct firn_selection *selection)
{
    const struct firn_output_leaf *leaf = &run->schema.leaves[leaf_index];
    *feed = (struct firn_feed){
        .column = { .leaf = leaf, .codec = run->codec, .splicer = &feed->splicer },
        .splicer = { .leaf = leaf->node,
                     .options = &run->options.leaves[leaf_index],
                     .policy = run->context->layout,
                     .sorts = selection->sorting },
        .selection = selection,
        .cursors = FIRN_NEW_ARRAY(op->arena, size_t, (size_t)selection->output_count + 1),
    };
}

struct firn_feed *firn_feeds_new(struct firn_op *op, const struct firn_group_run *run,
                                 const struct firn_selection *selection)
{
    struct firn_feed *feeds = FIRN_NEW_ARRAY(op->arena, struct firn_feed, run->schema.leaf_count);
    for (uint32_t i = 0; i < run->schema.leaf_count; i++)
        init_feed(op, &feeds[i], run, i, selection);
    return feeds;
}

void firn_feeds_done(struct firn_feed *feeds, const struct firn_group_run *run, struct firn_output_files *files)
{
    for (uint32_t i = 0; i < run->schema.leaf_count; i++) {
        struct firn_feed *feed = &feeds[i];
        struct firn_hash128 taken =
            firn_hash128_subtract(firn_fingerprinter_sum(&feed->read), firn_fingerprinter_sum(&feed->left_out));
        files->sums_in[i] = firn_hash128_add(files->sums_in[i], taken);
        firn_column_close(&feed->column);
        firn_gather_done(&feed->gather);
        firn_splicer_done(&feed->splicer);
        firn_rung_counts_add(&files->rungs, &feed->splicer.counts);
    }
}

/* Rows that go to an output are encoded, or held to be sorted; those that go nowhere only count for the proof. */
static firn_status give_rows(struct firn_op *op, struct firn_feed *feed, uint32_t list,
                             const struct firn_vector *vector)
{
    const struct firn_selection *selection = feed->selection;
    uint32_t leaf = feed->column.leaf->node->leaf_index;
    if (list == selection->output_count)
        return firn_fingerprinter_add(op, &feed->left_out, vector);
    if (selection->sorting)
        return firn_held_column_append(op, &selection->sorting->columns[leaf], vector);
    if (vector->indices && feed->column.slots_left > 0 && firn_splicer_may_copy(&feed->splicer))
        FIRN_TRY(firn_output_adopt(op, &selection->outputs[list], leaf, vector->dictionary));
    return firn_output_append(op, &selection->outputs[list], leaf, vector);
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
    (void)column;
    if (selection->with_left_out)
        FIRN_TRY(firn_fingerprinter_add(op, &feed->read, vector));
    if (selection->whole)
        return give_rows(op, feed, 0, vector);
    for (uint32_t i = 0; i < selection->output_count + selection->with_left_out; i++)
        FIRN_TRY(pick_rows(op, feed, i, vector, row, &begun));
    return FIRN_OK;
}

/* Pages. */

static firn_status refuse(struct firn_page_offer *offer, enum firn_rung_reason reason, enum firn_offer_answer *out)
{
    offer->refusal = reason;
    *out = FIRN_OFFER_REFUSED;
    return FIRN_OK;
}

/* Nulls of a numbered column are numbers to come. */
static bool lacks_numbers(const struct firn_splicer *splicer, const struct firn_page_facts *facts)
{
    return splicer->is_numbered && facts->value_count < facts->slot_count;
}

static enum firn_rung_reason writer_refusal(const struct firn_page_offer *offer)
{
    if (!offer->facts->begins_row || !offer->facts->ends_row)
        return FIRN_REASON_LEVELS;
    return firn_encoding_is_dictionary(offer->page->header.encoding) ? FIRN_REASON_DICTIONARY : FIRN_REASON_TINY_PAGE;
}

static firn_status give_page(struct firn_op *op, struct firn_output *output, uint32_t leaf,
                             const struct firn_page_offer *offer, bool *taken)
{
    if (offer->packed)
        return firn_output_repack(op, output, leaf, offer->packed, offer->facts, offer->dictionary, taken);
    return firn_output_splice(op, output, leaf, offer->page, offer->facts, offer->dictionary, taken);
}

/* Gives a page to an output, all of whose rows go there, unless its chunk writer had rather the values. */
static firn_status splice(struct firn_op *op, struct firn_feed *feed, struct firn_output *output,
                          struct firn_page_offer *offer, enum firn_offer_answer *out)
{
    uint32_t leaf = feed->column.leaf->node->leaf_index;
    struct firn_spliced_page copied = {
        .page = offer->page,
        .repack = offer->repack,
        .is_first = offer->is_first,
        .is_last = offer->is_last,
        .begins_output = firn_output_is_empty(output, leaf) && !offer->is_unfolded,
        .was_decoded = offer->vector,
    };
    bool taken;
    FIRN_TRY(give_page(op, output, leaf, offer, &taken));
    if (!taken)
        return refuse(offer, writer_refusal(offer), out);
    if (feed->selection->with_left_out)
        FIRN_TRY(firn_fingerprinter_add(op, &feed->read, offer->vector));
    firn_splicer_count_copied(&feed->splicer, &copied);
    *out = FIRN_OFFER_TAKEN;
    return FIRN_OK;
}

/* Whether a chunk is kept from its beginning: what is forced for tests. */
static bool is_kept(const struct firn_feed *feed, const struct firn_output *output, const struct firn_page_offer *offer)
{
    return offer->is_first ? firn_output_is_empty(output, feed->column.leaf->node->leaf_index) : feed->splicer.keeps;
}

static firn_status consider_wanted(struct firn_op *op, struct firn_feed *feed, struct firn_output *output,
                                   struct firn_page_offer *offer, enum firn_offer_answer *out)
{
    const struct firn_layout_policy *policy = &feed->splicer.policy;
    bool proves = feed->selection->with_left_out;
    if (policy->is_forced && policy->forced == FIRN_RUNG_KEEP && !is_kept(feed, output, offer))
        return refuse(offer, FIRN_REASON_FORCED, out);
    if (offer->is_unfolded && firn_output_has_dictionary(output, feed->column.leaf->node->leaf_index))
        return refuse(offer, FIRN_REASON_DICTIONARY, out);
    if (offer->facts && lacks_numbers(&feed->splicer, offer->facts))
        return refuse(offer, FIRN_REASON_LEVELS, out);
    bool lacks_levels = offer->repack != FIRN_REASON_NONE && !offer->packed;
    *out = FIRN_OFFER_AGAIN;
    if (!offer->facts || offer->facts->nan_count < 0 || lacks_levels || (proves && !offer->vector))
        return FIRN_OK;
    return splice(op, feed, output, offer, out);
}

static firn_status consider(struct firn_op *op, void *context, const struct firn_column *column,
                            struct firn_page_offer *offer, int64_t row, enum firn_offer_answer *out)
{
    struct firn_feed *feed = context;
    const struct firn_selection *selection = feed->selection;
    uint32_t index;
    (void)column;
    switch (firn_selection_fate(selection, feed->cursors, row, offer->row_count, &index)) {
    case FIRN_FATE_NONE:
        if (selection->with_left_out) /* they count for the proof */
            return refuse(offer, FIRN_REASON_DELETED_ROWS, out);
        firn_splicer_count_passed_over(&feed->splicer, offer->page);
        *out = FIRN_OFFER_PASSED_OVER;
        return FIRN_OK;
    case FIRN_FATE_PARTLY:
        return refuse(offer, FIRN_REASON_DELETED_ROWS, out);
    case FIRN_FATE_SEVERAL:
        return refuse(offer, FIRN_REASON_SEVERAL_OUTPUTS, out);
    case FIRN_FATE_ONE:
        break;
    }
    *out = FIRN_OFFER_REFUSED;
    if (offer->refusal != FIRN_REASON_NONE)
        return FIRN_OK;
    return consider_wanted(op, feed, &selection->outputs[index], offer, out);
}

/* Steps. */

/* What is held of the chunk, and beside it. */
static void free_scratch(struct firn_feed *feed)
{
    firn_column_suspend(&feed->column);
    firn_gather_done(&feed->gather);
}

/* Bytes that a row of the column takes in the files of the window. */
static double row_bytes(const struct firn_column *column, const struct firn_window *window)
{
    double bytes = 0, rows = 0;
    for (size_t i = column->slice; i < window->slices.count; i++) {
        const struct firn_row_slice *slice = &window->slices.items[i];
        const struct firn_leaf_plan *plan = firn_row_slice_plan(slice, column->leaf->node->leaf_index);
        rows += (double)slice->row_count;
        if (plan->levels)
            bytes += (double)firn_row_slice_column(slice, plan->levels)->compressed_bytes;
    }
    return bytes / FIRN_MAX(rows, 1);
}

firn_status firn_feed_sample(struct firn_op *op, struct firn_feed *feed, struct firn_window *window, double rows,
                             double bytes)
{
    struct firn_estimate estimate;
    if (!firn_splicer_weighs(&feed->splicer) || window->slices.items[feed->column.slice].stage ||
        firn_splicer_believes(&feed->splicer, row_bytes(&feed->column, window)))
        return FIRN_OK;
    FIRN_TRY(firn_column_open(op, &feed->column, window));
    FIRN_TRY(firn_estimate_column(op, &feed->column, window, rows, &estimate));
    firn_splicer_weigh(&feed->splicer, &estimate, bytes);
    return FIRN_OK;
}

struct staging {
    const struct firn_feed_leaves *feeds;
    struct firn_window *window;
    struct firn_stage *stage;
};

static firn_status stage_leaf(struct firn_op *op, void *context, size_t index)
{
    const struct staging *staging = context;
    struct firn_feed *feed = &staging->feeds->feeds[staging->feeds->leaves[index]];
    FIRN_TRY(firn_column_stage(op, &feed->column, staging->window, staging->stage));
    free_scratch(feed);
    return FIRN_OK;
}

/* The rest of the first slice. */
static firn_status stage_slice(struct firn_op *op, const struct firn_feed_leaves *feeds, struct firn_window *window)
{
    struct firn_row_slice *slice = &window->slices.items[window->head];
    int64_t rows = slice->row_count - window->head_row;
    const struct firn_stage_config config = {
        .run = window->run,
        .first_row = window->head_row,
        .row_count = rows,
        .bytes = (uint64_t)((double)slice->memory.decoded_bytes * (double)rows / (double)slice->row_count),
    };
    struct staging staging = { .feeds = feeds, .window = window };
    FIRN_TRY(firn_stage_open(op, &config, &staging.stage));
    uint32_t width = firn_window_columns_at_once(window, rows);
    firn_status status = firn_pool_run(op, window->run->context->pool, feeds->leaf_count, width, stage_leaf, &staging);
    if (status == FIRN_OK)
        slice->stage = staging.stage;
    else
        firn_stage_close(staging.stage);
    return status;
}

firn_status firn_feeds_stage(struct firn_op *op, const struct firn_feed_leaves *feeds, struct firn_window *window,
                             double step_rows, int64_t *rows)
{
    size_t index = window->head;
    int64_t before = 0, left = window->slices.items[index].row_count - window->head_row;
    for (; before + left < *rows; left = window->slices.items[++index].row_count)
        before += left;
    bool is_whole = before + left == *rows, is_read_often = (double)left > STEPS_MAX * step_rows;
    if (is_whole || !is_read_often || firn_row_slice_fits(&window->slices.items[index]))
        return FIRN_OK;
    if (index == window->head)
        return stage_slice(op, feeds, window);
    *rows = before;
    return FIRN_OK;
}

static bool slice_fits(const struct firn_window *window, const struct firn_column *column)
{
    return column->slice >= window->slices.count || firn_row_slice_fits(&window->slices.items[column->slice]);
}

firn_status firn_feed_run(struct firn_op *op, struct firn_feed *feed, struct firn_window *window, int64_t rows)
{
    memset(feed->cursors, 0, ((size_t)feed->selection->output_count + 1) * sizeof *feed->cursors);
    const struct firn_column_receiver receiver = { .emit = take, .consider = consider, .context = feed };
    FIRN_TRY(firn_column_pull(op, &feed->column, window, rows, &receiver));
    if (!slice_fits(window, &feed->column))
        free_scratch(feed);
    return FIRN_OK;
}
