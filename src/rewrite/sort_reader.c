/* Steps of reading, and what they take of memory. */
#include "rewrite/sort_reader.h"

#include "base/math.h"
#include "rewrite/sort_output.h"

#define STEP_ROWS_FIRST     4096 /* before it is known what rows take */
#define STEP_ROWS_MAX       (INT64_C(1) << 19)
#define ROW_BYTES_FORGOTTEN 4   /* by each step of smaller rows, what larger ones took counts this part */
#define STEP_DIVISOR        8   /* a step takes no more than this part of the share */
#define FIRST_GROWTH        128 /* and the first one this part as input */
#define GROWTH_DIVISOR      5   /* buffers have so much room to grow */

static void choose_leaves(struct firn_op *op, bool keys_only, struct firn_sort_reader *reader)
{
    const struct firn_sort_key *key = reader->key;
    reader->leaves = reader->run->leaf_order;
    reader->leaf_count = reader->run->schema.leaf_count;
    if (!keys_only)
        return;
    uint32_t *leaves = FIRN_NEW_ARRAY(op->arena, uint32_t, key->leaf_count);
    for (uint32_t i = 0; i < key->leaf_count; i++)
        leaves[i] = key->leaves[i]->node->leaf_index;
    reader->leaves = leaves;
    reader->leaf_count = key->leaf_count;
}

void firn_sort_reader_init(struct firn_op *op, const struct firn_sort_reader_config *config,
                           struct firn_sort_reader *out)
{
    struct firn_group_run *run = config->run;
    *out = (struct firn_sort_reader){ .run = run, .key = config->key };
    choose_leaves(op, config->keys_only, out);
    firn_read_batch_init(op, &run->schema, config->key, &out->batch);
    out->target = (struct firn_sort_target){ out->batch.columns, &out->batch.partitions, config->partition_rows };
    out->selection = (struct firn_selection){
        .run = run,
        .route = config->route,
        .sorting = &out->target,
        .output_count = 1,
        .with_left_out = !config->keys_only && run->context->verify == FIRN_VERIFY_FULL,
    };
    firn_selection_init(op, &out->selection);
    out->feeds = firn_feeds_new(op, run, &out->selection);
}

/* Memory. */

uint64_t firn_sort_reader_held_bytes(const struct firn_sort_reader *reader)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < reader->leaf_count; i++)
        bytes += firn_held_column_bytes(&reader->batch.columns[reader->leaves[i]]);
    return bytes + bytes / GROWTH_DIVISOR;
}

/* Bytes of the batch's keys: twice their length, as some are made of images of the same size. */
static uint64_t key_bytes(const struct firn_sort_reader *reader)
{
    const struct firn_sort_key *key = reader->key;
    uint64_t bytes = 0;
    if (key->key_bytes > 0)
        return 2 * (uint64_t)key->key_bytes * reader->batch.row_count;
    for (uint32_t i = 0; i < key->leaf_count; i++)
        bytes += firn_held_column_bytes(&reader->batch.columns[key->leaves[i]->node->leaf_index]);
    return 2 * (bytes + reader->batch.row_count * (FIRN_SORT_PREFIX_BYTES + sizeof(uint64_t)));
}

/* What the batch takes when it is sorted. */
static uint64_t batch_memory(const struct firn_sort_reader *reader)
{
    uint64_t row_bytes = FIRN_KEY_SORT_ROW_BYTES + sizeof(uint32_t) + sizeof(uint32_t);
    return firn_sort_reader_held_bytes(reader) + key_bytes(reader) + row_bytes * reader->batch.row_count;
}

/* What the next step may add to the batch: part of what it has room for; 0: it is full. */
static double step_room(const struct firn_sort_reader *reader, double share)
{
    double used = (double)batch_memory(reader), most = share / STEP_DIVISOR;
    if (used > 0 && share - used < most / 2)
        return 0;
    return FIRN_MIN(share - used, most);
}

/* No measure alone holds for what comes: files compress by different factors, footers do not know how often a value of
 * a dictionary is used, and rows differ. */
uint32_t firn_sort_reader_plan(const struct firn_sort_reader *reader, const struct firn_window *window, uint64_t bytes)
{
    int64_t listed = (int64_t)(reader->run->window_bytes / sizeof(struct firn_row_range));
    int64_t rows = FIRN_MIN(FIRN_MIN(firn_window_rows(window), listed), STEP_ROWS_MAX);
    bool is_first = reader->growth == 0;
    double room = step_room(reader, (double)bytes);
    if (room <= 0)
        return 0;
    double input = is_first ? (double)bytes / FIRST_GROWTH : room / FIRN_MAX(reader->growth, 1);
    double measured = is_first ? STEP_ROWS_FIRST : room / FIRN_MAX(reader->row_bytes, 1);
    rows = FIRN_MIN(rows, firn_window_rows_within(window, input));
    rows = FIRN_MIN(rows, firn_window_rows_decoded_within(window, room));
    return (uint32_t)FIRN_MAX(FIRN_MIN((double)rows, measured), 1);
}

/* Reading. */

firn_status firn_sort_reader_stage(struct firn_op *op, struct firn_sort_reader *reader, struct firn_window *window,
                                   uint32_t *rows)
{
    const struct firn_feed_leaves feeds = { reader->feeds, reader->leaves, reader->leaf_count };
    int64_t step_rows = *rows;
    FIRN_TRY(firn_feeds_stage(op, &feeds, window, *rows, &step_rows));
    *rows = (uint32_t)step_rows;
    return FIRN_OK;
}

static firn_status work_column(struct firn_op *op, void *context, size_t index)
{
    struct firn_sort_reader *reader = context;
    return firn_feed_run(op, &reader->feeds[reader->leaves[index]], reader->window, reader->step_rows);
}

firn_status firn_sort_reader_step(struct firn_op *op, struct firn_sort_reader *reader, struct firn_window *window,
                                  uint32_t rows)
{
    uint32_t rows_before = reader->batch.row_count;
    double before = (double)batch_memory(reader), input = FIRN_MAX(firn_window_bytes_of(window, rows), 1);
    reader->window = window;
    reader->step_rows = rows;
    FIRN_TRY(firn_selection_step(op, &reader->selection, window, rows));
    uint32_t width = firn_window_columns_at_once(window, rows);
    FIRN_TRY(firn_pool_run(op, reader->run->context->pool, reader->leaf_count, width, work_column, reader));
    reader->batch.row_count += (uint32_t)reader->selection.lists[0].row_count;
    double added = (double)batch_memory(reader) - before;
    reader->growth = FIRN_MAX(reader->growth, added / input);
    if (reader->batch.row_count > rows_before)
        reader->row_bytes =
            FIRN_MAX(added / (reader->batch.row_count - rows_before), reader->row_bytes / ROW_BYTES_FORGOTTEN);
    return FIRN_OK;
}

firn_status firn_sort_reader_goes_on(struct firn_op *op, const struct firn_sort_reader *reader,
                                     struct firn_buffer *last, bool *goes_on)
{
    struct firn_row_keys keys = firn_sort_batch_keys(&reader->batch.keys);
    *goes_on = true;
    if (keys.count == 0)
        return FIRN_OK;
    *goes_on = firn_key_compare(firn_buffer_bytes(last), firn_row_key(&keys, 0)) <= 0 && firn_keys_ascend(&keys);
    struct firn_bytes end = firn_row_key(&keys, keys.count - 1);
    firn_buffer_clear(last);
    return firn_buffer_append(op, last, end.data, end.len);
}

/* The end. */

void firn_sort_reader_clear(struct firn_sort_reader *reader)
{
    firn_read_batch_clear(&reader->batch);
}

void firn_sort_reader_exchange(struct firn_sort_reader *reader, struct firn_read_batch *batch)
{
    struct firn_read_batch exchanged = reader->batch;
    reader->batch = *batch;
    *batch = exchanged;
    reader->target.columns = reader->batch.columns;
}

void firn_sort_reader_end(struct firn_sort_reader *reader, struct firn_output_files *files)
{
    firn_feeds_done(reader->feeds, reader->run, files);
    firn_selection_done(&reader->selection);
}

void firn_sort_reader_done(struct firn_sort_reader *reader)
{
    firn_read_batch_done(&reader->batch);
}
