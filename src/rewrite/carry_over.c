/* From deletes of inputs to deletes of outputs: deletes are read as any rewrite reads them, each position takes the way
 * that its row took. The invariants stand in carry_over.h. */
#include "rewrite/carry_over.h"

#include "rewrite/deletion.h"

/* One input that some delete may concern. */
struct concerned {
    uint32_t group; /* into the groups */
    uint32_t input; /* into the group's inputs */
    struct firn_manifest_entry entry;
    const struct firn_positions *positions; /* deleted rows of it; NULL: none */
};

struct carrying {
    const struct firn_carry_over_group *groups;
    uint32_t group_count;
    struct firn_positions ***outputs; /* one a group: one an output, NULL as long as nothing of it is deleted */
    struct concerned *concerned;
    struct firn_scan_file *files; /* one for each of `concerned` */
    uint32_t count;
    const struct firn_deletions *deletions;
};

/* Inputs and what may concern them. All deletes came after the inputs, whose numbers tell so. */
static firn_status match_inputs(struct firn_op *op, struct firn_delete_index *index, struct carrying *carrying)
{
    size_t input_count = 0;
    for (uint32_t g = 0; g < carrying->group_count; g++)
        input_count += carrying->groups[g].group->input_count;
    carrying->concerned = FIRN_NEW_ARRAY(op->arena, struct concerned, input_count);
    carrying->files = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, input_count);
    for (uint32_t g = 0; g < carrying->group_count; g++) {
        const struct firn_rewrite_group *group = carrying->groups[g].group;
        for (uint32_t i = 0; i < group->input_count; i++) {
            struct concerned *concerned = &carrying->concerned[carrying->count];
            struct firn_scan_file *file = &carrying->files[carrying->count];
            *concerned = (struct concerned){ .group = g, .input = i, .entry.file = group->inputs[i] };
            if (group->input_sequence_numbers)
                concerned->entry.sequence_number = group->input_sequence_numbers[i];
            file->entry = &concerned->entry;
            FIRN_TRY(firn_delete_index_match(op, index, file->entry, &file->deletes));
            carrying->count += firn_delete_match_count(&file->deletes) > 0;
        }
    }
    return FIRN_OK;
}

static firn_status find_positions(struct firn_op *op, void *context, size_t index)
{
    const struct carrying *carrying = context;
    return firn_deletions_find(op, carrying->deletions, &carrying->files[index], &carrying->concerned[index].positions);
}

static firn_status read_deletes(struct firn_op *op, const struct firn_carry_over_config *config,
                                const struct firn_manifest_entry *const *deletes, uint32_t delete_count,
                                struct carrying *carrying)
{
    struct firn_deletions_config reading = { config->metadata, config->store, config->pool };
    struct firn_delete_index *index;
    struct firn_deletions *deletions;
    FIRN_TRY(firn_delete_index_new(op, config->metadata, deletes, delete_count, &index));
    FIRN_TRY(match_inputs(op, index, carrying));
    FIRN_TRY(firn_deletions_load(op, &reading, carrying->files, carrying->count, &deletions));
    carrying->deletions = deletions;
    return firn_pool_run(op, config->pool, carrying->count, 0, find_positions, carrying);
}

/* What stands in the way of reading is a reason not to carry over, but for what may pass by itself. */
static firn_status refuse(struct firn_op *op, firn_status status)
{
    if (status == FIRN_OK || status == FIRN_CANCELLED || status == FIRN_UNAVAILABLE)
        return status;
    struct firn_text reason = firn_text_copy(op->arena, firn_text_of(op->error.text));
    return firn_fail(op, FIRN_CONFLICT, "deletes that were committed meanwhile cannot be carried over: %.*s",
                     FIRN_FMT(reason));
}

static firn_status refuse_without_map(struct firn_op *op, const struct firn_scan_file *file)
{
    const struct firn_delete_match *match = &file->deletes;
    const struct firn_manifest_entry *del = match->own.count > 0 ? match->own.items[0] : match->wide.items[0];
    return firn_fail(op, FIRN_CONFLICT,
                     "'%.*s' cannot be replaced: the delete file '%.*s' was committed meanwhile and cannot be carried "
                     "over, since it would take too much memory to keep where each row went",
                     FIRN_FMT(file->entry->file.path), FIRN_FMT(del->file.path));
}

static firn_status add_place(struct firn_op *op, struct firn_positions **positions, int64_t row)
{
    if (!*positions)
        FIRN_TRY(firn_positions_new(op, positions));
    return firn_positions_add(op, *positions, row);
}

/* (1) The rows of one input take the way that they took. */
static firn_status carry_input(struct firn_op *op, const struct carrying *carrying, uint32_t index)
{
    const struct concerned *concerned = &carrying->concerned[index];
    const struct firn_rewrite_result *result = carrying->groups[concerned->group].result;
    struct firn_row_place place;
    int64_t position;
    if (!concerned->positions || result->file_count == 0)
        return FIRN_OK;
    if (!result->row_map)
        return refuse_without_map(op, &carrying->files[index]); /* (2) */
    for (int64_t from = 0; firn_positions_next(concerned->positions, from, &position); from = position + 1)
        if (firn_row_map_find(result->row_map, concerned->input, position, &place))
            FIRN_TRY(add_place(op, &carrying->outputs[concerned->group][place.output], place.row));
    return FIRN_OK;
}

struct row_deletes_list {
    struct firn_row_deletes *items;
    size_t count, capacity;
};

static int64_t list_outputs(struct firn_op *op, const struct carrying *carrying, struct row_deletes_list *out)
{
    int64_t row_count = 0;
    for (uint32_t g = 0; g < carrying->group_count; g++) {
        const struct firn_rewrite_result *result = carrying->groups[g].result;
        for (uint32_t f = 0; f < result->file_count; f++) {
            const struct firn_data_file *file = &result->files[f];
            struct firn_positions *positions = carrying->outputs[g][f];
            struct firn_row_deletes deletes = { file->path, file->spec_id, file->partition, positions };
            if (!positions)
                continue;
            row_count += (int64_t)firn_positions_count(positions);
            FIRN_PUSH(op->arena, out, deletes);
        }
    }
    return row_count;
}

static firn_status write_outputs(struct firn_op *op, const struct firn_carry_over_config *config,
                                 const struct carrying *carrying, struct firn_carry_over_result *out)
{
    struct row_deletes_list list = { 0 };
    int64_t file_bytes;
    FIRN_TRY(firn_delete_file_bytes(op, config->metadata, &file_bytes));
    struct firn_delete_writer_config writing = {
        .metadata = config->metadata,
        .store = config->store,
        .operation = config->operation,
        .number = config->number,
        .granularity = FIRN_DELETES_BY_FILE, /* outputs are large: whoever reads one needs no deletes of another */
        .file_bytes_max = file_bytes > 0 ? (uint64_t)file_bytes : FIRN_DELETE_FILE_BYTES_DEFAULT,
    };
    out->row_count = list_outputs(op, carrying, &list);
    return firn_row_deletes_write(op, &writing, list.items, (uint32_t)list.count, &out->files);
}

firn_status firn_carry_over_write(struct firn_op *op, const struct firn_carry_over_config *config,
                                  const struct firn_carry_over_group *groups, uint32_t group_count,
                                  const struct firn_manifest_entry *const *deletes, uint32_t delete_count,
                                  struct firn_carry_over_result *out)
{
    struct carrying carrying = {
        .groups = groups,
        .group_count = group_count,
        .outputs = FIRN_NEW_ARRAY(op->arena, struct firn_positions **, group_count),
    };
    *out = (struct firn_carry_over_result){ 0 };
    for (uint32_t g = 0; g < group_count; g++)
        carrying.outputs[g] = FIRN_NEW_ARRAY(op->arena, struct firn_positions *, groups[g].result->file_count);
    FIRN_TRY(refuse(op, read_deletes(op, config, deletes, delete_count, &carrying)));
    for (uint32_t i = 0; i < carrying.count; i++)
        FIRN_TRY(carry_input(op, &carrying, i));
    return write_outputs(op, config, &carrying, out);
}
