/* Batches of a run, each as large as its share allows. */
#include "rewrite/input_run.h"

#include "base/math.h"

void firn_input_run_open(struct firn_op *op, const struct firn_input_run_config *config, struct firn_input_run *out)
{
    *out = (struct firn_input_run){ .run = *config->run, .batch_bytes = config->batch_bytes };
    out->run.window_bytes = config->window_bytes;
    out->run.chunk_bytes = config->chunk_bytes;
    atomic_init(&out->run.requests, 0);
    out->partition_rows = FIRN_NEW_ARRAY(op->arena, int64_t, config->route->partition_count);
    out->window = (struct firn_window){
        .run = &out->run,
        .bin = config->bin,
        .pieces = config->pieces,
        .piece_count = config->piece_count,
        .counted = config->counted,
    };
    const struct firn_sort_reader_config reader = {
        .run = &out->run, .key = config->key, .route = config->route, .partition_rows = out->partition_rows
    };
    firn_sort_reader_init(op, &reader, &out->reader);
}

bool firn_input_run_has_more(const struct firn_input_run *input)
{
    return firn_window_rows(&input->window) > 0 || input->window.next < input->window.piece_count;
}

static firn_status read_batch(struct firn_op *op, struct firn_input_run *input)
{
    for (;;) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_window_fill(op, &input->window, input->batch_bytes));
        if (firn_window_rows(&input->window) == 0)
            return FIRN_OK;
        uint32_t rows = firn_sort_reader_plan(&input->reader, &input->window, input->batch_bytes);
        if (rows == 0)
            return FIRN_OK;
        FIRN_TRY(firn_sort_reader_stage(op, &input->reader, &input->window, &rows));
        FIRN_TRY(firn_sort_reader_step(op, &input->reader, &input->window, rows));
        firn_window_advance(op, &input->window, rows);
    }
}

firn_status firn_input_run_next(struct firn_op *op, struct firn_input_run *input)
{
    bool goes_on;
    firn_sort_reader_clear(&input->reader);
    FIRN_TRY(read_batch(op, input));
    FIRN_TRY(firn_read_batch_make_keys(op, input->reader.run->context->pool, &input->reader.batch));
    FIRN_TRY(firn_sort_reader_goes_on(op, &input->reader, &input->last_key, &goes_on));
    input->is_disordered = !goes_on;
    if (goes_on)
        return FIRN_OK;
    return firn_fail(op, FIRN_VERIFY, "data files that are marked as sorted are not in order");
}

void firn_input_run_close(struct firn_input_run *input, struct firn_group_run *run, struct firn_output_files *files)
{
    firn_sort_reader_end(&input->reader, files);
    firn_sort_reader_done(&input->reader);
    firn_window_close(&input->window);
    firn_buffer_done(&input->last_key);
    atomic_fetch_add(&run->requests, atomic_load(&input->run.requests));
}
