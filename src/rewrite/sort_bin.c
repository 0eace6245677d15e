/* Reading, sorting, writing. Inputs that are in order are left for the end. The other rows are read into held columns
 * until these have their share of memory, less what it takes to sort them. If that is all, they go to the output in
 * their order; if not, they become a sorted run in temporary files while more is read, and the runs are merged in the
 * end: the next rows are loaded while those before are encoded. Shares depend on sizes alone, not on which thread is
 * when where. */
#include "rewrite/sort_bin.h"

#include "base/math.h"
#include "rewrite/run_reduce.h"
#include "rewrite/sort_output.h"
#include "rewrite/sort_reader.h"

#include <math.h>

#define BATCH_BYTES_MAX    (UINT64_C(1) << 30)  /* beyond it a leaf's bytes might not be counted by 32 bits */
#define OVERLAP_BYTES      (UINT64_C(32) << 20) /* batches that may take less are not worked on two at a time */
#define BLOCK_BYTES_WANTED (UINT64_C(64) << 10)
#define BLOCK_BYTES_LEAST  (UINT64_C(16) << 10)
#define FIRST_BATCH        3 /* the first batch takes so much, and if there are more each of these takes so much */
#define LATER_BATCH        2
#define PART_BYTES_LEAST   128 /* of a block, a leaf: its head is not to be most of it */
#define BLOCKS_OF_RUN      8   /* of each run there are so many in memory, if that leaves them their size */

struct sort_bin {
    struct firn_group_run *run;
    const struct firn_rewrite_bin *bin;
    const struct firn_route *route;
    const struct firn_bin_runs *ordered; /* what is in order already; the rest is sorted */
    bool *counted;
    struct firn_sort_key key;
    struct firn_window window;
    struct firn_sort_reader reader;
    int64_t *partition_rows;  /* rows of each partition */
    bool is_read;             /* all that is to be sorted */
    uint64_t batch_bytes;     /* what the first batch may take, sorting included */
    struct firn_buffer order; /* of the batch that is sorted */

    struct firn_spill *spill; /* NULL: all is in memory so far */
    struct firn_read_batch spilling;
    struct firn_run_writer writer;
    struct firn_run_list spilled;
    struct firn_input_run *inputs;
    struct firn_sort_output output;
};

/* Whether one batch is read while the one before is written, and rows are loaded while those before are encoded. Not
 * where memory for this would be taken from steps and blocks that are small already. */
static bool overlaps(const struct sort_bin *sort)
{
    return sort->batch_bytes >= OVERLAP_BYTES;
}

/* What the next batch may take. */
static uint64_t batch_share(const struct sort_bin *sort)
{
    return sort->spill && overlaps(sort) ? sort->batch_bytes / FIRST_BATCH * LATER_BATCH : sort->batch_bytes;
}

/* How many times what the first batch has the bin has. */
static double batches_expected(const struct sort_bin *sort)
{
    double all = (double)sort->ordered->rest.bytes;
    double read = FIRN_MAX(all - firn_window_bytes_left(&sort->window), 1);
    return FIRN_MAX(all / read, 1);
}

/* Sorting a batch. */

static firn_status sort_batch(struct firn_op *op, struct sort_bin *sort, struct firn_read_batch *batch,
                              struct firn_sorted_rows *out)
{
    struct firn_pool *pool = sort->run->context->pool;
    FIRN_TRY(firn_read_batch_make_keys(op, pool, batch));
    *out = (struct firn_sorted_rows){
        .columns = batch->columns,
        .leaf_count = batch->leaf_count,
        .keys = firn_sort_batch_keys(&batch->keys),
        .count = batch->row_count,
    };
    FIRN_TRY(firn_key_sort(op, pool, &out->keys, &sort->order));
    out->order = (const uint32_t *)(const void *)sort->order.data;
    return FIRN_OK;
}

static void free_batches(struct sort_bin *sort)
{
    firn_read_batch_done(&sort->spilling);
    firn_sort_reader_done(&sort->reader);
    firn_buffer_done(&sort->order);
}

/* Spilling. */

/* Bytes of the blocks that a merge holds, and of their rows again. */
static uint64_t merge_bytes(const struct sort_bin *sort)
{
    return sort->batch_bytes / 4;
}

/* Of these, what runs in temporary files have. */
static uint64_t spill_share(const struct sort_bin *sort)
{
    return sort->ordered->run_count > 0 ? merge_bytes(sort) / 2 : merge_bytes(sort);
}

/* Bytes of a block: several of each run are to fit in memory, at least two if they do not become small. Where these are
 * too many, runs are merged before (run_reduce.h). */
static double block_bytes(const struct sort_bin *sort, double runs)
{
    double share = (double)spill_share(sort);
    double fit = FIRN_MAX(share / (BLOCKS_OF_RUN * runs), FIRN_MIN(share / (2 * runs), (double)BLOCK_BYTES_WANTED));
    double least = (double)BLOCK_BYTES_LEAST + (double)sort->run->schema.leaf_count * PART_BYTES_LEAST;
    return FIRN_MAX(fit, FIRN_MIN(least, share / BLOCKS_OF_RUN));
}

static firn_status open_spill(struct firn_op *op, struct sort_bin *sort)
{
    double batches = batches_expected(sort), bytes = (double)firn_sort_reader_held_bytes(&sort->reader) * batches;
    double runs = overlaps(sort) ? 1 + ceil((batches - 1) * FIRST_BATCH / LATER_BATCH) : ceil(batches);
    const struct firn_spill_config config = { .expected_bytes = (uint64_t)bytes };
    FIRN_TRY(firn_spill_open(op, &config, &sort->spill));
    firn_run_writer_init(op, &sort->writer, sort->run, sort->spill, block_bytes(sort, runs));
    return FIRN_OK;
}

/* Takes the batch that was read, to be spilled. */
static firn_status begin_spilling(struct firn_op *op, struct sort_bin *sort)
{
    if (!sort->spill)
        FIRN_TRY(open_spill(op, sort));
    firn_sort_reader_exchange(&sort->reader, &sort->spilling);
    return FIRN_OK;
}

static firn_status spill_batch(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_sorted_rows rows;
    struct firn_sorted_run spilled = { 0 };
    FIRN_TRY(sort_batch(op, sort, &sort->spilling, &rows));
    FIRN_TRY(firn_run_writer_put(op, &sort->writer, &rows, &spilled));
    FIRN_PUSH(op->arena, &sort->spilled.runs, spilled);
    firn_read_batch_clear(&sort->spilling);
    return FIRN_OK;
}

/* Reading. */

/* Reads until the batch is full, or all is read. */
static firn_status read_batch(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_window *window = &sort->window;
    for (;;) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_window_fill(op, window, sort->run->row_group_bytes));
        sort->is_read = firn_window_rows(window) == 0;
        uint32_t rows = sort->is_read ? 0 : firn_sort_reader_plan(&sort->reader, window, batch_share(sort));
        if (rows == 0)
            return FIRN_OK;
        FIRN_TRY(firn_sort_reader_stage(op, &sort->reader, window, &rows));
        FIRN_TRY(firn_sort_reader_step(op, &sort->reader, window, rows));
        firn_window_advance(op, window, rows);
    }
}

static firn_status spill_or_read(struct firn_op *op, void *context, size_t index)
{
    return index == 0 ? spill_batch(op, context) : read_batch(op, context);
}

/* Writes the batch read before and reads the next, at once or one after the other in the same memory. */
static firn_status spill_and_read(struct firn_op *op, struct sort_bin *sort)
{
    FIRN_TRY(begin_spilling(op, sort));
    if (overlaps(sort))
        return firn_pool_run(op, sort->run->context->pool, 2, 0, spill_or_read, sort);
    FIRN_TRY(spill_batch(op, sort));
    firn_sort_reader_exchange(&sort->reader, &sort->spilling);
    return read_batch(op, sort);
}

static firn_status read_rows(struct firn_op *op, struct sort_bin *sort)
{
    FIRN_TRY(read_batch(op, sort));
    while (!sort->is_read)
        FIRN_TRY(spill_and_read(op, sort));
    return FIRN_OK;
}

/* Writing. */

/* Rows of a run, as far as manifests and deletes tell: for sizes alone. */
static int64_t rows_of(const struct sort_bin *sort, const struct firn_piece_list *list)
{
    const struct firn_group_run *run = sort->run;
    double rows = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct firn_rewrite_piece *piece = &sort->bin->pieces[list->pieces[i]];
        const struct firn_data_file *file = &run->group->inputs[piece->input];
        const struct firn_positions *deleted = run->deleted ? run->deleted[piece->input] : NULL;
        double part = FIRN_MIN((double)piece->length / FIRN_MAX((double)file->file_bytes, 1), 1);
        rows += part * ((double)file->record_count - (deleted ? (double)firn_positions_count(deleted) : 0));
    }
    return (int64_t)FIRN_MAX(rows, 0);
}

/* Rows of inputs are given as they lie. */
static bool loads_ahead(const struct sort_bin *sort)
{
    return overlaps(sort) && sort->ordered->run_count == 0;
}

/* Rows of a merge on their way to the output, and those that come next. */
struct passing {
    struct sort_bin *sort;
    struct firn_run_merge *merge;
    struct firn_sorted_rows rows, next;
};

static firn_status append_or_load(struct firn_op *op, void *context, size_t index)
{
    struct passing *passing = context;
    if (index == 0)
        return firn_sort_output_append(op, &passing->sort->output, &passing->rows);
    return firn_run_merge_next(op, passing->merge, &passing->next);
}

static firn_status write_merged(struct firn_op *op, struct sort_bin *sort, struct firn_run_merge *merge)
{
    struct passing passing = { .sort = sort, .merge = merge };
    uint32_t width = loads_ahead(sort) ? 2 : 1; /* 1: in this order */
    FIRN_TRY(firn_run_merge_next(op, merge, &passing.next));
    while (passing.next.count > 0) {
        passing.rows = passing.next;
        FIRN_TRY(firn_pool_run(op, sort->run->context->pool, 2, width, append_or_load, &passing));
    }
    return FIRN_OK;
}

/* Memory of merging is the blocks', and as much again, or twice, for the rows given. Inputs have half of the blocks',
 * or all. */
static firn_status merge_all(struct firn_op *op, struct sort_bin *sort)
{
    const struct firn_run_merge_config config = {
        .run = sort->run,
        .spill = sort->spill,
        .runs = sort->spilled.runs.items,
        .run_count = (uint32_t)sort->spilled.runs.count,
        .inputs = sort->inputs,
        .input_count = sort->ordered->run_count,
        .key_width = sort->key.key_bytes,
        .bytes_max = spill_share(sort),
        .is_ahead = loads_ahead(sort),
    };
    struct firn_run_merge *merge = firn_run_merge_open(op, &config);
    firn_status status = write_merged(op, sort, merge);
    firn_run_merge_close(merge);
    return status;
}

/* What others need is shared by size. */
static void open_inputs(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_group_run *run = sort->run;
    const struct firn_bin_runs *ordered = sort->ordered;
    uint32_t count = ordered->run_count;
    uint64_t spare = run->chunk_bytes + run->window_bytes - ordered->memory;
    uint64_t share = merge_bytes(sort) - (sort->spilled.runs.count > 0 ? spill_share(sort) : 0);
    sort->inputs = FIRN_NEW_ARRAY(op->arena, struct firn_input_run, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_input_run_config config = {
            .run = run,
            .bin = sort->bin,
            .pieces = ordered->runs[i].pieces,
            .piece_count = ordered->runs[i].count,
            .counted = sort->counted,
            .route = sort->route,
            .key = &sort->key,
            .window_bytes = run->window_bytes / count,
            .chunk_bytes = ordered->runs[i].memory + spare / count,
            .batch_bytes = share / count,
        };
        firn_input_run_open(op, &config, &sort->inputs[i]);
        sort->partition_rows[0] += rows_of(sort, &ordered->runs[i]);
    }
}

static void close_inputs(struct sort_bin *sort, struct firn_output_files *files, bool *is_disordered)
{
    for (uint32_t i = 0; sort->inputs && i < sort->ordered->run_count; i++) {
        *is_disordered = *is_disordered || sort->inputs[i].is_disordered;
        firn_input_run_close(&sort->inputs[i], sort->run, files);
    }
}

static firn_status reduce_runs(struct firn_op *op, struct sort_bin *sort)
{
    const struct firn_run_reduction reduction = {
        .writer = &sort->writer,
        .key_width = sort->key.key_bytes,
        .bytes_max = spill_share(sort),
    };
    return sort->spill ? firn_runs_reduce(op, &reduction, &sort->spilled) : FIRN_OK;
}

static firn_status merge_runs(struct firn_op *op, struct sort_bin *sort)
{
    if (sort->reader.batch.row_count > 0) {
        FIRN_TRY(begin_spilling(op, sort));
        FIRN_TRY(spill_batch(op, sort));
    }
    free_batches(sort);
    FIRN_TRY(reduce_runs(op, sort));
    open_inputs(op, sort);
    return merge_all(op, sort);
}

static firn_status write_rows(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_sorted_rows rows;
    if (sort->spill || sort->ordered->run_count > 0) {
        FIRN_TRY(merge_runs(op, sort));
    } else if (sort->reader.batch.row_count > 0) {
        FIRN_TRY(sort_batch(op, sort, &sort->reader.batch, &rows));
        FIRN_TRY(firn_sort_output_append(op, &sort->output, &rows));
    }
    return firn_sort_output_finish(op, &sort->output);
}

/* The whole. */

/* What was read is written out of memory or temporary files alone. */
static void end_reading(struct sort_bin *sort, struct firn_output_files *files)
{
    firn_sort_reader_end(&sort->reader, files);
    firn_window_close(&sort->window);
}

static void init_reading(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_group_run *run = sort->run;
    const struct firn_piece_list *rest = &sort->ordered->rest;
    sort->window = (struct firn_window){
        .run = run,
        .bin = sort->bin,
        .pieces = rest->pieces,
        .piece_count = rest->count,
        .counted = sort->counted,
    };
    const struct firn_sort_reader_config config = {
        .run = run, .key = &sort->key, .route = sort->route, .partition_rows = sort->partition_rows
    };
    firn_sort_reader_init(op, &config, &sort->reader);
    firn_read_batch_init(op, &run->schema, &sort->key, &sort->spilling);
}

static firn_status sort_init(struct firn_op *op, struct sort_bin *sort, uint32_t index, struct firn_output_files *files)
{
    struct firn_group_run *run = sort->run;
    FIRN_TRY(firn_sort_key_new(op, run->group->ordering, &run->schema, FIRN_SORT_PREFIX_BYTES, &sort->key));
    sort->batch_bytes = FIRN_MIN(run->encoder_bytes / 4 * 3, BATCH_BYTES_MAX);
    sort->partition_rows = FIRN_NEW_ARRAY(op->arena, int64_t, sort->route->partition_count);
    firn_sort_output_init(op, &sort->output, run, files, sort->route, sort->partition_rows, index);
    init_reading(op, sort);
    return FIRN_OK;
}

firn_status firn_sort_bin_run(struct firn_op *op, struct firn_group_run *run, uint32_t index, bool *counted,
                              const struct firn_route *route, const struct firn_bin_runs *ordered,
                              struct firn_output_files *files, bool *is_disordered)
{
    struct sort_bin sort = {
        .run = run, .bin = &run->group->bins[index], .route = route, .ordered = ordered, .counted = counted
    };
    *is_disordered = false;
    FIRN_TRY(sort_init(op, &sort, index, files));
    firn_status status = read_rows(op, &sort);
    end_reading(&sort, files);
    if (status == FIRN_OK)
        status = write_rows(op, &sort);
    close_inputs(&sort, files, is_disordered);
    free_batches(&sort);
    firn_spill_close(sort.spill);
    firn_sort_output_close(&sort.output);
    return status;
}
