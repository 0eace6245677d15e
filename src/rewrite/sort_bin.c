/* Reading, sorting, writing. Inputs that are in order are left for the end. The other rows are read into held columns
 * until these have their share of memory, less what it takes to sort them. If that is all, they go to the output in
 * their order; if not, they become a sorted run in temporary files, and the runs are merged in the end. Shares depend
 * on sizes alone, not on which thread is when where. */
#include "rewrite/sort_bin.h"

#include "base/math.h"
#include "rewrite/run_reduce.h"
#include "rewrite/sort_output.h"
#include "rewrite/sort_reader.h"

#include <math.h>

#define BATCH_BYTES_MAX    (UINT64_C(1) << 30) /* beyond it a leaf's bytes might not be counted by 32 bits */
#define BLOCK_BYTES_WANTED (UINT64_C(64) << 10)
#define BLOCK_BYTES_LEAST  (UINT64_C(16) << 10)
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
    uint64_t batch_bytes;     /* what a batch may take, sorting included */
    struct firn_buffer order; /* of the batch */

    struct firn_spill *spill; /* NULL: all is in memory so far */
    struct firn_run_writer writer;
    struct firn_run_list spilled;
    struct firn_input_run *inputs;
    struct firn_sort_output output;
};

/* How many batches of this size the bin has, from the first one. */
static double batches_expected(const struct sort_bin *sort)
{
    double all = (double)sort->ordered->rest.bytes;
    double read = FIRN_MAX(all - firn_window_bytes_left(&sort->window), 1);
    return ceil(FIRN_MAX(all / read, 1));
}

/* Sorting the batch. */

static firn_status sort_batch(struct firn_op *op, struct sort_bin *sort, struct firn_sorted_rows *out)
{
    struct firn_sort_reader *reader = &sort->reader;
    FIRN_TRY(firn_sort_reader_make_keys(op, reader));
    *out = (struct firn_sorted_rows){
        .columns = reader->columns,
        .leaf_count = sort->run->schema.leaf_count,
        .keys = firn_sort_batch_keys(&reader->keys),
        .count = reader->row_count,
    };
    FIRN_TRY(firn_key_sort(op, sort->run->context->pool, &out->keys, &sort->order));
    out->order = (const uint32_t *)(const void *)sort->order.data;
    return FIRN_OK;
}

static void clear_batch(struct sort_bin *sort)
{
    firn_sort_reader_clear(&sort->reader);
    firn_buffer_done(&sort->order);
}

static void free_batch(struct sort_bin *sort)
{
    clear_batch(sort);
    firn_sort_reader_done(&sort->reader);
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
    double runs = batches_expected(sort), bytes = (double)firn_sort_reader_held_bytes(&sort->reader) * runs;
    const struct firn_spill_config config = { .expected_bytes = (uint64_t)bytes };
    FIRN_TRY(firn_spill_open(op, &config, &sort->spill));
    firn_run_writer_init(op, &sort->writer, sort->run, sort->spill, block_bytes(sort, runs));
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
    FIRN_PUSH(op->arena, &sort->spilled.runs, spilled);
    clear_batch(sort);
    return FIRN_OK;
}

/* Reading. */

static firn_status read_rows(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_window *window = &sort->window;
    for (;;) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_window_fill(op, window, sort->run->row_group_bytes));
        if (firn_window_rows(window) == 0)
            return FIRN_OK;
        uint32_t rows = firn_sort_reader_plan(&sort->reader, window, sort->batch_bytes);
        if (rows == 0) {
            FIRN_TRY(spill_batch(op, sort));
            continue;
        }
        FIRN_TRY(firn_sort_reader_stage(op, &sort->reader, window, &rows));
        FIRN_TRY(firn_sort_reader_step(op, &sort->reader, window, rows));
        firn_window_advance(op, window, rows);
    }
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

/* Memory of merging is the blocks', and as much again for the rows given. Inputs have half of the blocks', or all. */
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
    if (sort->reader.row_count > 0)
        FIRN_TRY(spill_batch(op, sort));
    free_batch(sort);
    FIRN_TRY(reduce_runs(op, sort));
    open_inputs(op, sort);
    return merge_all(op, sort);
}

static firn_status write_rows(struct firn_op *op, struct sort_bin *sort)
{
    struct firn_sorted_rows rows;
    if (sort->spill || sort->ordered->run_count > 0) {
        FIRN_TRY(merge_runs(op, sort));
    } else if (sort->reader.row_count > 0) {
        FIRN_TRY(sort_batch(op, sort, &rows));
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
    free_batch(&sort);
    firn_spill_close(sort.spill);
    firn_sort_output_close(&sort.output);
    return status;
}
