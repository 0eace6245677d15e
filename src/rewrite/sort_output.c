/* Cutting sorted rows into steps, row groups and files. */
#include "rewrite/sort_output.h"

#include "base/math.h"

#include <math.h>

#define TOLERANCE_DIVISOR   16 /* files and row groups may be this part of their size larger or smaller */
#define MEMORY_STEP_DIVISOR 8  /* a step may take this part of the encoders' memory however full it is */
#define MEMORY_GROWTH       2  /* encoders' buffers take no more than so many times what is appended */
#define FIRST_STEP_DIVISOR  8  /* before encoded sizes are known, steps are small */
#define TAKEN_BYTES         (UINT64_C(1) << 20)

enum { TAKEN_ROWS_MAX = 4096 };

void firn_sort_output_init(struct firn_op *op, struct firn_sort_output *output, struct firn_group_run *run,
                           struct firn_output_files *files, const struct firn_route *route,
                           const int64_t *partition_rows, uint32_t bin)
{
    *output = (struct firn_sort_output){
        .run = run, .files = files, .route = route, .partition_rows = partition_rows, .partition = UINT32_MAX
    };
    firn_output_init(op, &output->output, run, files, NULL, bin);
}

void firn_sort_output_close(struct firn_sort_output *output)
{
    firn_output_close(&output->output);
    firn_buffer_done(&output->last_key);
}

firn_status firn_sort_output_finish(struct firn_op *op, struct firn_sort_output *output)
{
    output->is_full = false;
    return firn_output_finish(op, &output->output);
}

/* A batch of rows on its way. */
struct appending {
    struct firn_sort_output *output;
    const struct firn_sorted_rows *rows;
    double held_row_bytes;
    uint32_t at, end; /* rows before `at` are done; the step's end before `end` */
};

static struct firn_bytes key_at(const struct appending *appending, uint32_t at)
{
    return firn_row_key(&appending->rows->keys, appending->rows->order[at]);
}

/* Sizes. */

/* Encoded bytes of a row, as far as is known. */
static double row_bytes(const struct appending *appending)
{
    const struct firn_sort_output *output = appending->output;
    double bytes = (double)output->files->bytes + (double)firn_output_file_bytes(&output->output) +
                   (double)firn_output_row_group_bytes(&output->output);
    return output->rows_done > 0 ? FIRN_MAX(bytes / (double)output->rows_done, 1e-3) : appending->held_row_bytes;
}

/* How many equal parts `bytes` make, none much larger than `most`. */
static double parts_of(double bytes, double most)
{
    return FIRN_MAX(ceil(bytes / most - 1.0 / TOLERANCE_DIVISOR), 1);
}

/* Sizes that the file and the row group in progress shall have: equal parts of what is left of the partition, and of
 * the file. */
struct targets {
    double file_bytes, row_group_bytes;
    bool is_last_file, is_last_row_group; /* all that is left goes there */
};

static double file_bytes_most(const struct appending *appending)
{
    const struct firn_rewrite_group *group = appending->output->run->group;
    double most = (double)group->file_bytes_max;
    return group->file_rows > 0 ? FIRN_MIN(most, (double)group->file_rows * row_bytes(appending)) : most;
}

static struct targets targets(const struct appending *appending)
{
    const struct firn_sort_output *output = appending->output;
    double written = (double)firn_output_file_bytes(&output->output);
    double left =
        (double)firn_output_row_group_bytes(&output->output) + (double)output->rows_left * row_bytes(appending);
    double files = parts_of(written + left, file_bytes_most(appending));
    double file_bytes = (written + left) / files, rest = FIRN_MAX(file_bytes - written, 1);
    double row_groups = parts_of(rest, (double)output->run->row_group_bytes);
    return (struct targets){ file_bytes, rest / row_groups, files <= 1, files <= 1 && row_groups <= 1 };
}

/* Rows whose encoding surely fits in memory. */
static double rows_in_memory(const struct appending *appending)
{
    const struct firn_sort_output *output = appending->output;
    double most = (double)output->run->encoder_bytes, used = (double)firn_output_memory(&output->output);
    double room = FIRN_MAX(most - used, most / MEMORY_STEP_DIVISOR);
    return room / MEMORY_GROWTH / appending->held_row_bytes;
}

/* Rows of the next step: what the row group still takes. */
static uint32_t plan_step(const struct appending *appending, uint32_t rows)
{
    const struct firn_sort_output *output = appending->output;
    double room = targets(appending).row_group_bytes - (double)firn_output_row_group_bytes(&output->output);
    if (output->rows_done == 0)
        room /= FIRST_STEP_DIVISOR;
    double fit = FIRN_MIN(ceil(room / row_bytes(appending)), rows_in_memory(appending));
    return (uint32_t)FIRN_MAX(FIRN_MIN(fit, (double)rows), 1);
}

/* Steps. */

static uint32_t rows_at_once(const struct firn_held_column *column)
{
    uint64_t bytes = firn_held_column_bytes(column) / FIRN_MAX(column->row_count, 1u);
    return (uint32_t)FIRN_MAX(FIRN_MIN(TAKEN_BYTES / FIRN_MAX(bytes, 1), TAKEN_ROWS_MAX), 1);
}

static firn_status append_leaf(struct firn_op *op, void *context, size_t index)
{
    const struct appending *appending = context;
    uint32_t leaf = appending->output->run->leaf_order[index];
    const struct firn_held_column *column = &appending->rows->columns[leaf];
    uint32_t at_once = rows_at_once(column);
    struct firn_taken_rows taken = { 0 };
    struct firn_vector vector;
    firn_status status = FIRN_OK;
    for (uint32_t at = appending->at; status == FIRN_OK && at < appending->end; at += at_once) {
        uint32_t count = FIRN_MIN(at_once, appending->end - at);
        status = firn_op_check(op);
        if (status == FIRN_OK)
            status = firn_held_column_take(op, column, appending->rows->order + at, count, &taken, &vector);
        if (status == FIRN_OK)
            status = firn_output_append(op, &appending->output->output, leaf, &vector);
    }
    firn_taken_rows_done(&taken);
    return status;
}

static firn_status append_step(struct firn_op *op, struct appending *appending, uint32_t rows)
{
    struct firn_sort_output *output = appending->output;
    struct firn_group_run *run = output->run;
    appending->end = appending->at + rows;
    firn_output_number(&output->output); /* the file counts, although nobody is told where its rows come from */
    FIRN_TRY(firn_output_begin(op, &output->output));
    FIRN_TRY(firn_pool_run(op, run->context->pool, run->schema.leaf_count, 0, append_leaf, appending));
    output->output.row_group_rows += rows;
    output->rows_left -= rows;
    output->rows_done += rows;
    appending->at = appending->end;
    return FIRN_OK;
}

/* The file has its size: from now on it waits for another key. */
static firn_status note_full(struct firn_op *op, struct appending *appending)
{
    struct firn_sort_output *output = appending->output;
    struct firn_bytes key = key_at(appending, appending->at - 1);
    output->is_full = true;
    output->rows_over = (output->output.file_rows + output->output.row_group_rows) / TOLERANCE_DIVISOR;
    firn_buffer_clear(&output->last_key);
    return firn_buffer_append(op, &output->last_key, key.data, key.len);
}

/* After a step: ends what is full, unless the rest of the partition goes there too. */
static firn_status end_full(struct firn_op *op, struct appending *appending)
{
    struct firn_sort_output *output = appending->output;
    struct targets target = targets(appending);
    uint64_t memory = output->run->encoder_bytes - output->run->encoder_bytes / MEMORY_STEP_DIVISOR;
    double bytes = (double)firn_output_row_group_bytes(&output->output);
    double file_bytes = bytes + (double)firn_output_file_bytes(&output->output);
    bool is_full = bytes >= target.row_group_bytes * (1 - 0.5 / TOLERANCE_DIVISOR);
    if (output->rows_left == 0 || output->is_full)
        return FIRN_OK;
    if (is_full && !target.is_last_file && file_bytes >= target.file_bytes * (1 - 1.0 / TOLERANCE_DIVISOR))
        return note_full(op, appending);
    if (firn_output_is_crowded(&output->output))
        return note_full(op, appending);
    if ((is_full && !target.is_last_row_group) || firn_output_memory(&output->output) > memory)
        return firn_output_flush(op, &output->output);
    return FIRN_OK;
}

/* Rows from `at` on that have the key of the last row of the file, as far as `most` and one more. */
static uint32_t rows_of_last_key(const struct appending *appending, uint32_t most)
{
    struct firn_bytes last = firn_buffer_bytes(&appending->output->last_key);
    uint32_t count = 0;
    while (count <= most && appending->at + count < appending->rows->count &&
           firn_key_compare(key_at(appending, appending->at + count), last) == 0)
        count++;
    return count;
}

/* Takes a full file as far as its last key, or ends it where that has too many rows. */
static firn_status end_file(struct firn_op *op, struct appending *appending)
{
    struct firn_sort_output *output = appending->output;
    uint32_t most = (uint32_t)FIRN_MIN(output->rows_over, UINT32_MAX - 1);
    uint32_t rows = rows_of_last_key(appending, most);
    if (rows == 0 || rows > most)
        return firn_sort_output_finish(op, output);
    rows = FIRN_MIN(rows, (uint32_t)FIRN_MAX(FIRN_MIN(rows_in_memory(appending), UINT32_MAX), 1));
    output->rows_over -= rows;
    return append_step(op, appending, rows);
}

static uint32_t partition_at(const struct appending *appending, uint32_t at)
{
    bool is_single = appending->output->route->partition_count <= 1;
    return is_single ? 0 : firn_load_be32(key_at(appending, at).data);
}

/* Where the rows of a partition end. */
static uint32_t partition_end(const struct appending *appending, uint32_t partition)
{
    uint32_t low = appending->at, high = appending->rows->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (partition_at(appending, middle) == partition)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static firn_status begin_partition(struct firn_op *op, struct firn_sort_output *output, uint32_t partition)
{
    FIRN_TRY(firn_sort_output_finish(op, output));
    output->partition = partition;
    output->rows_left = output->partition_rows[partition];
    output->output.partition = &output->route->partitions[partition];
    return FIRN_OK;
}

firn_status firn_sort_output_append(struct firn_op *op, struct firn_sort_output *output,
                                    const struct firn_sorted_rows *rows)
{
    struct appending appending = { .output = output, .rows = rows, .held_row_bytes = firn_sorted_row_bytes(rows) };
    while (appending.at < rows->count) {
        uint32_t partition = partition_at(&appending, appending.at);
        FIRN_TRY(firn_op_check(op));
        if (partition != output->partition)
            FIRN_TRY(begin_partition(op, output, partition));
        if (output->is_full) {
            FIRN_TRY(end_file(op, &appending));
            continue;
        }
        uint32_t left = partition_end(&appending, partition) - appending.at;
        output->rows_left = FIRN_MAX(output->rows_left, (int64_t)left); /* more come than were announced */
        FIRN_TRY(append_step(op, &appending, plan_step(&appending, left)));
        FIRN_TRY(end_full(op, &appending));
    }
    return FIRN_OK;
}
