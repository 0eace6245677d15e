/* What a plan of rewrite_data_files would do to the columns, by a look into a few of the files. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"

#define MEMORY_BYTES_MAX (UINT64_C(256) << 20)

enum { GROUPS_MAX = 8 };

static firn_status look_at_group(struct firn_op *op, const struct firn_rewrite_context *context,
                                 const struct firn_rewrite_plan *plan, uint32_t index, struct firn_expectation *out)
{
    const struct firn_planned_group *planned = plan->groups[index];
    struct firn_data_file *inputs = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, planned->file_count);
    int64_t *sequence_numbers = FIRN_NEW_ARRAY(op->arena, int64_t, planned->file_count);
    for (uint32_t i = 0; i < planned->file_count; i++) {
        const struct firn_manifest_entry *entry = plan->files[planned->files[i]].scan->entry;
        inputs[i] = entry->file;
        sequence_numbers[i] = entry->sequence_number;
    }
    const struct firn_rewrite_group group = {
        .index = index,
        .inputs = inputs,
        .input_sequence_numbers = sequence_numbers,
        .input_count = planned->file_count,
        .output_spec_id = (int32_t)plan->options.output_spec_id,
        .file_bytes_max = (uint64_t)firn_output_write_max(&plan->options.sizes),
        .ordering = planned->ordering,
        .file_rows = planned->file_rows,
    };
    return firn_rewrite_expect(op, context, &group, out);
}

void firn_rewrite_data_files_look(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                  struct firn_rewrite_plan *plan)
{
    const struct firn_rewrite_context context = {
        .metadata = plan->metadata,
        .store = table->store,
        .pool = pool,
        .layout = firn_rewrite_options_layout(&plan->options),
        .memory_bytes_max =
            FIRN_MIN(plan->memory_bytes_max ? plan->memory_bytes_max : MEMORY_BYTES_MAX, MEMORY_BYTES_MAX),
    };
    struct firn_expectation *expected = FIRN_NEW_ARRAY(op->arena, struct firn_expectation, GROUPS_MAX);
    plan->expected_count = FIRN_MIN(plan->group_count, GROUPS_MAX);
    plan->expected = expected;
    for (uint32_t i = 0; i < plan->expected_count; i++) {
        struct firn_op trial = *op;
        if (look_at_group(&trial, &context, plan, i, &expected[i]) == FIRN_OK)
            continue;
        firn_log(op, FIRN_LOG_WARN, "a look into file group %u failed, nothing is said of its columns: %s", i,
                 trial.error.text);
        expected[i] = (struct firn_expectation){ 0 };
    }
}
