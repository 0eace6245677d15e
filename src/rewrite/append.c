/* New data files from rows in memory. */
#include "rewrite/append.h"

#include "rewrite/output.h"

firn_status firn_append_init(struct firn_op *op, struct firn_append *append, const struct firn_metadata *metadata,
                             struct firn_store *store)
{
    static const int64_t no_inputs[1];
    *append = (struct firn_append){
        .group = { .output_spec_id = metadata->default_spec_id, .input_sequence_numbers = no_inputs },
        .context = { .metadata = metadata, .store = store, .operation = firn_uuid_random(op) },
    };
    append->run = (struct firn_group_run){ .context = &append->context, .group = &append->group };
    FIRN_TRY(firn_group_run_init(op, &append->run));
    return firn_codec_context_open(op, &append->run.codec);
}

void firn_append_done(struct firn_append *append)
{
    firn_codec_context_close(append->run.codec);
}

static firn_status write_rows(struct firn_op *op, struct firn_output *output, const struct firn_vector *columns)
{
    FIRN_TRY(firn_output_begin(op, output));
    for (uint32_t i = 0; i < output->run->schema.leaf_count; i++)
        FIRN_TRY(firn_output_append(op, output, i, &columns[i]));
    output->row_group_rows = columns[0].row_count;
    return firn_output_finish(op, output);
}

firn_status firn_append_write(struct firn_op *op, struct firn_append *append, uint32_t number,
                              const struct firn_partition *partition, const struct firn_vector *columns,
                              struct firn_data_file *out)
{
    struct firn_output_files files = { 0 };
    struct firn_output output;
    firn_output_init(op, &output, &append->run, &files, partition, number);
    firn_status status = write_rows(op, &output, columns);
    firn_output_close(&output);
    if (status == FIRN_OK)
        *out = files.done.items[0];
    return status;
}
