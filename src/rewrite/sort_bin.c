/* Reading, sorting, writing. Rows are read into held columns until these have their share of memory, less what it takes
 * to sort them. If that is all, they go to the output in their order; if not, they become a sorted run in temporary
 * files, and the runs are merged in the end. Shares depend on sizes alone, not on which thread is when where. */
#include "rewrite/sort_bin.h"

#include "base/math.h"
#include "rewrite/feed.h"
#include "rewrite/run_merge.h"
#include "rewrite/sort_key.h"
#include "rewrite/sort_output.h"

#include <math.h>

#define STEP_ROWS_FIRST    4096 /* before it is known what rows take */
#define STEP_ROWS_MAX      (INT64_C(1) << 19)
#define STEP_DIVISOR       8                   /* a step takes no more than this part of the share */
#define FIRST_GROWTH       128                 /* and the first one this part as input */
#define GROWTH_DIVISOR     5                   /* buffers have so much room to grow */
#define BATCH_BYTES_MAX    (UINT64_C(1) << 30) /* beyond it a leaf's bytes might not be counted by 32 bits */
#define BLOCK_BYTES_WANTED (UINT64_C(64) << 10)
#define BLOCKS_OF_RUN      8 /* of each run there are so many in memory, if that leaves them their size */

enum { KEY_ROWS_AT_ONCE = 4096 };

struct sort_bin {
    struct firn_group_run *run;
    const struct firn_rewrite_bin *bin;
    const struct firn_route *route;
    struct firn_window window;
    struct firn_sort_target target;
    struct firn_selection selection;
    struct firn_feed *feeds; /* one a leaf */
    uint32_t step_rows;
    double growth; /* of the batch by input, the largest of any step; 0: there was none */

    struct firn_sort_key key;
    struct firn_sort_batch keys;
    struct firn_held_column *columns; /* one a leaf: the batch */
    struct firn_buffer partitions;    /* uint32_t, of each row of the batch; empty where there is but one */
    int64_t *partition_rows;          /* rows of each partition */
    uint64_t batch_bytes;             /* what a batch may take, sorting included */
    struct firn_buffer order;         /* of the batch */

    struct firn_spill *spill; /* NULL: all is in memory so far */
    struct firn_run_writer writer;
    FIRN_ARRAY(struct firn_sorted_run) runs;
    struct firn_sort_output output;
};

static uint32_t batch_rows(const struct sort_bin *sort)
{
    return sort->columns[0].row_count;
}

/* Memory. */

static uint64_t held_bytes(const struct sort_bin *sort)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sort->run->schema.leaf_count; i++)
        bytes += firn_held_column_bytes(&sort->columns[i]);
    return bytes + bytes / GROWTH_DIVISOR;
}

/* Bytes of the batch's keys: twice their length, as some are made of images of the same size. */
static uint64_t key_bytes(const struct sort_bin *sort)
{
    uint64_t bytes = 0;
    if (sort->key.key_bytes > 0)
        return 2 * (uint64_t)sort->key.key_bytes * batch_rows(sort);
    for (uint32_t i = 0; i < sort->key.leaf_count; i++)
        bytes += firn_held_column_bytes(&sort->columns[sort->key.leaves[i]->node->leaf_index]);
    return 2 * (bytes + batch_rows(sort) * (FIRN_SORT_PREFIX_BYTES + sizeof(uint64_t)));
}

/* What the batch takes when it is sorted. */
static uint64_t batch_memory(const struct sort_bin *sort)
{
    uint64_t row_bytes = FIRN_KEY_SORT_ROW_BYTES + sizeof(uint32_t) + sizeof(uint32_t);
    return held_bytes(sort) + key_bytes(sort) + row_bytes * batch_rows(sort);
}

/* Input that the next step may take, by the steepest growth that a step has seen: part of what the batch has room for.
 * 0: the batch is full. */
static double step_bytes(const struct sort_bin *sort)
{
    double share = (double)sort->batch_bytes, used = (double)batch_memory(sort), most = share / STEP_DIVISOR;
    if (used > 0 && share - used < most / 2)
        return 0;
    return FIRN_MIN(share - used, most) / FIRN_MAX(sort->growth, 1);
}

/* How many rows the next step has; 0: the batch is full. */
static uint32_t plan_step(const struct sort_bin *sort)
{
    const struct firn_window *window = &sort->window;
    int64_t listed = (int64_t)(sort->run->window_bytes / sizeof(struct firn_row_range));
    int64_t rows = FIRN_MIN(FIRN_MIN(firn_window_rows(window), listed), STEP_ROWS_MAX);
    bool is_first = sort->growth == 0;
    double bytes = is_first ? (double)sort->batch_bytes / FIRST_GROWTH : step_bytes(sort);
    if (bytes <= 0)
        return 0;
    rows = FIRN_MIN(rows, firn_window_rows_within(window, bytes));
    return (uint32_t)(is_first ? FIRN_MIN(rows, STEP_ROWS_FIRST) : rows);
}

/* How many batches of this size the bin has, from the first one. */
static double batches_expected(const struct sort_bin *sort)
{
    double all = 0;
    for (uint32_t i = 0; i < sort->bin->piece_count; i++)
        all += (double)sort->bin->pieces[i].length;
    double read = FIRN_MAX(all - firn_window_bytes_left(&sort->window), 1);
    return ceil(FIRN_MAX(all / read, 1));
}

/* Sorting the batch. */

static firn_status add_key_leaf(struct firn_op *op, void *context, size_t index)
{
    struct sort_bin *sort = context;
    const struct firn_held_column *column = &sort->columns[sort->key.leaves[index]->node->leaf_index];
    uint32_t rows[KEY_ROWS_AT_ONCE];
    struct firn_taken_rows taken = { 0 };
    struct firn_vector vector;
    firn_status status = FIRN_OK;
    for (uint32_t row = 0; status == FIRN_OK && row < column->row_count; row += KEY_ROWS_AT_ONCE) {
        uint32_t count = FIRN_MIN(column->row_count - row, (uint32_t)KEY_ROWS_AT_ONCE);
        for (uint32_t i = 0; i < count; i++)
            rows[i] = row + i;
        status = firn_held_column_take(op, column, rows, count, &taken, &vector);
        if (status == FIRN_OK)
            status = firn_sort_batch_add(op, &sort->keys, (uint32_t)index, &vector, row);
    }
    firn_taken_rows_done(&taken);
    return status;
}

/* Partitions come one after the other: their numbers stand in front of the keys. */
static void write_prefixes(const struct sort_bin *sort)
{
    const uint32_t *partitions = (const uint32_t *)(const void *)sort->partitions.data;
    uint8_t *bytes = sort->keys.bytes.data;
    for (uint32_t i = 0; i < batch_rows(sort); i++) {
        ptrdiff_t offset = firn_sort_batch_key(&sort->keys, i).data - bytes;
        firn_store_be32(bytes + offset, sort->partitions.len > 0 ? partitions[i] : 0);
    }
}

static firn_status make_keys(struct firn_op *op, struct sort_bin *sort)
{
    FIRN_TRY(firn_sort_batch_begin(op, &sort->keys, batch_rows(sort)));
    FIRN_TRY(firn_pool_run(op, sort->run->context->pool, sort->key.leaf_count, 0, add_key_leaf, sort));
    FIRN_TRY(firn_sort_batch_finish(op, &sort->keys));
    write_prefixes(sort);
    return FIRN_OK;
}

static firn_status sort_batch(struct firn_op *op, struct sort_bin *sort, struct firn_sorted_rows *out)
{
    FIRN_TRY(make_keys(op, sort));
    *out = (struct firn_sorted_rows){
        .columns = sort->columns,
        .leaf_count = sort->run->schema.leaf_count,
        .keys = firn_sort_batch_keys(&sort->keys),
        .count = batch_rows(sort),
    };
    FIRN_TRY(firn_key_sort(op, sort->run->context->pool, &out->keys, &sort->order));
    out->order = (const uint32_t *)(const void *)sort->order.data;
    return FIRN_OK;
}

static void clear_batch(struct sort_bin *sort)
{
    for (uint32_t i = 0; i < sort->run->schema.leaf_count; i++)
        firn_held_column_clear(&sort->columns[i]);
    firn_sort_batch_done(&sort->keys);
    firn_buffer_done(&sort->order);
    firn_buffer_clear(&sort->partitions);
}

static void free_batch(struct sort_bin *sort)
{
    clear_batch(sort);
    for (uint32_t i = 0; i < sort->run->schema.leaf_count; i++)
        firn_held_column_done(&sort->columns[i]);
    firn_buffer_done(&sort->partitions);
}

/* Spilling. */

/* Bytes of the blocks that a merge holds, and of their rows again. */
static uint64_t merge_bytes(const struct sort_bin *sort)
{
    return sort->batch_bytes / 4;
}

static firn_status open_spill(struct firn_op *op, struct sort_bin *sort)
{
    double runs = batches_expected(sort), bytes = (double)held_bytes(sort) * runs;
    const struct firn_spill_config config = { .expected_bytes = (uint64_t)bytes };
    double share = (double)merge_bytes(sort), row_bytes = (double)held_bytes(sort) / batch_rows(sort);
    double block = FIRN_MAX(share / (BLOCKS_OF_RUN * runs), FIRN_MIN(share / (2 * runs), (double)BLOCK_BYTES_WANTED));
    FIRN_TRY(firn_spill_open(op, &config, &sort->spill));
    firn_run_writer_init(op, &sort->writer, sort->run, sort->spill,
                         (uint32_t)FIRN_MAX(FIRN_MIN(block / row_bytes, STEP_ROWS_MAX), 1));
    return FIRN_OK;
}

static firn_status spill_batch(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_sorted_rows rows;
    struct firn_sorted_run spilled = { 0 };
    if (!sort->spill)
        FIRN_TRY(open_spill(op, sort));
    FIRN_TRY(sort_batch(op, sort, &rows));
    FIRN_TRY(firn_run_writer_put(op, &sort->writer, &rows, &spilled));
    FIRN_PUSH(op->arena, &sort->runs, spilled);
    clear_batch(sort);
    return FIRN_OK;
}

/* Reading. */

static firn_status work_column(struct firn_op *op, void *context, size_t index)
{
    struct sort_bin *sort = context;
    return firn_feed_run(op, &sort->feeds[sort->run->leaf_order[index]], &sort->window, sort->step_rows);
}

static firn_status run_step(struct firn_op *op, struct sort_bin *sort, uint32_t rows)
{
    struct firn_group_run *run = sort->run;
    double before = (double)batch_memory(sort), input = FIRN_MAX(firn_window_bytes_of(&sort->window, rows), 1);
    sort->step_rows = rows;
    FIRN_TRY(firn_selection_step(op, &sort->selection, &sort->window, rows));
    uint32_t width = firn_window_columns_at_once(&sort->window, rows);
    FIRN_TRY(firn_pool_run(op, run->context->pool, run->schema.leaf_count, width, work_column, sort));
    sort->growth = FIRN_MAX(sort->growth, ((double)batch_memory(sort) - before) / input);
    firn_window_advance(op, &sort->window, rows);
    return FIRN_OK;
}

static firn_status read_rows(struct firn_op *op, struct sort_bin *sort)
{
    for (;;) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_window_fill(op, &sort->window, sort->run->row_group_bytes));
        if (firn_window_rows(&sort->window) == 0)
            return FIRN_OK;
        uint32_t rows = plan_step(sort);
        if (rows > 0)
            FIRN_TRY(run_step(op, sort, rows));
        else
            FIRN_TRY(spill_batch(op, sort));
    }
}

/* Writing. */

static firn_status write_merged(struct firn_op *op, struct sort_bin *sort, struct firn_run_merge *merge)
{
    struct firn_sorted_rows rows;
    for (;;) {
        FIRN_TRY(firn_run_merge_next(op, merge, &rows));
        if (rows.count == 0)
            return FIRN_OK;
        FIRN_TRY(firn_sort_output_append(op, &sort->output, &rows));
    }
}

static firn_status merge_runs(struct firn_op *op, struct sort_bin *sort)
{
    if (batch_rows(sort) > 0)
        FIRN_TRY(spill_batch(op, sort));
    free_batch(sort);
    const struct firn_run_merge_config config = {
        .run = sort->run,
        .spill = sort->spill,
        .runs = sort->runs.items,
        .run_count = (uint32_t)sort->runs.count,
        .key_width = sort->key.key_bytes,
        .bytes_max = merge_bytes(sort),
    };
    struct firn_run_merge *merge = firn_run_merge_open(op, &config);
    firn_status status = write_merged(op, sort, merge);
    firn_run_merge_close(merge);
    return status;
}

static firn_status write_rows(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_sorted_rows rows;
    if (sort->spill) {
        FIRN_TRY(merge_runs(op, sort));
    } else if (batch_rows(sort) > 0) {
        FIRN_TRY(sort_batch(op, sort, &rows));
        FIRN_TRY(firn_sort_output_append(op, &sort->output, &rows));
    }
    return firn_sort_output_finish(op, &sort->output);
}

/* The whole. */

/* What was read is written out of memory or temporary files alone. */
static void end_reading(struct sort_bin *sort, struct firn_output_files *files)
{
    firn_feeds_done(sort->feeds, sort->run, files);
    firn_selection_done(&sort->selection);
    firn_window_close(&sort->window);
}

static void init_reading(struct firn_op *op, struct sort_bin *sort, bool *counted)
{
    struct firn_group_run *run = sort->run;
    uint32_t *pieces = FIRN_NEW_ARRAY(op->arena, uint32_t, sort->bin->piece_count);
    for (uint32_t i = 0; i < sort->bin->piece_count; i++)
        pieces[i] = i;
    sort->window = (struct firn_window){
        .run = run, .bin = sort->bin, .pieces = pieces, .piece_count = sort->bin->piece_count, .counted = counted
    };
    sort->target = (struct firn_sort_target){ sort->columns, &sort->partitions, sort->partition_rows };
    sort->selection = (struct firn_selection){
        .run = run,
        .route = sort->route,
        .sorting = &sort->target,
        .output_count = 1,
        .with_left_out = run->context->verify == FIRN_VERIFY_FULL,
    };
    firn_selection_init(op, &sort->selection);
    sort->feeds = firn_feeds_new(op, run, &sort->selection);
}

static firn_status sort_init(struct firn_op *op, struct sort_bin *sort, uint32_t index, bool *counted,
                             struct firn_output_files *files)
{
    struct firn_group_run *run = sort->run;
    FIRN_TRY(firn_sort_key_new(op, run->group->ordering, &run->schema, FIRN_SORT_PREFIX_BYTES, &sort->key));
    firn_sort_batch_init(op, &sort->key, &sort->keys);
    sort->batch_bytes = FIRN_MIN(run->encoder_bytes / 4 * 3, BATCH_BYTES_MAX);
    sort->columns = FIRN_NEW_ARRAY(op->arena, struct firn_held_column, run->schema.leaf_count);
    for (uint32_t i = 0; i < run->schema.leaf_count; i++)
        sort->columns[i].leaf = run->schema.leaves[i].node;
    sort->partition_rows = FIRN_NEW_ARRAY(op->arena, int64_t, sort->route->partition_count);
    firn_sort_output_init(op, &sort->output, run, files, sort->route, sort->partition_rows, index);
    init_reading(op, sort, counted);
    return FIRN_OK;
}

firn_status firn_sort_bin_run(struct firn_op *op, struct firn_group_run *run, uint32_t index, bool *counted,
                              const struct firn_route *route, struct firn_output_files *files)
{
    struct sort_bin sort = { .run = run, .bin = &run->group->bins[index], .route = route };
    FIRN_TRY(sort_init(op, &sort, index, counted, files));
    firn_status status = read_rows(op, &sort);
    end_reading(&sort, files);
    if (status == FIRN_OK)
        status = write_rows(op, &sort);
    free_batch(&sort);
    firn_spill_close(sort.spill);
    firn_sort_output_close(&sort.output);
    return status;
}
