/* A table in a backtest, file by file. In a policy's table the files that maintenance really wrote are not there: what
 * later commits say of them is done to what they were made of, or to what that was compacted into. */
#include "maintain/backtest.h"

#include "base/buffer.h"
#include "base/math.h"
#include "maintain/delete_use.h"

/* Dead files are let go when there are more of them than live ones. */
enum { DEAD_FILES_MIN = 64 };

void firn_backtest_world_init(struct firn_arena *arena, const struct firn_metadata *metadata, bool is_policy,
                              struct firn_backtest_world *out)
{
    *out = (struct firn_backtest_world){ .arena = arena, .metadata = metadata, .is_policy = is_policy };
    firn_map_init(&out->paths, arena);
}

/* Files ----------------------------------------------------------------------------------------------------------- */

/* Vectors share files. */
static struct firn_text key_of(struct firn_backtest_world *world, const struct firn_data_file *file)
{
    if (!firn_data_file_is_deletion_vector(file))
        return file->path;
    return firn_text_format(world->arena, "%.*s@%" PRId64, FIRN_FMT(file->path), file->content_offset);
}

static struct firn_backtest_file *find(struct firn_backtest_world *world, struct firn_text key)
{
    struct firn_map_entry *found = firn_map_find_text(&world->paths, key);
    return found ? found->value.pointer : NULL;
}

const struct firn_manifest_entry *firn_backtest_world_find(struct firn_backtest_world *world,
                                                           const struct firn_data_file *file)
{
    const struct firn_backtest_file *found = find(world, key_of(world, file));
    return found ? &found->entry : NULL;
}

static struct firn_backtest_file *remember(struct firn_backtest_world *world, const struct firn_manifest_entry *entry)
{
    struct firn_backtest_file *file = FIRN_NEW(world->arena, struct firn_backtest_file);
    file->entry = *entry;
    firn_map_put_text(&world->paths, key_of(world, &entry->file))->value.pointer = file;
    return file;
}

static void revive_data(struct firn_backtest_world *world, struct firn_backtest_file *file)
{
    file->is_live = true;
    FIRN_PUSH(world->arena, &world->data, file);
    world->files++;
    world->bytes += FIRN_MAX(file->entry.file.file_bytes, 0);
}

static void kill_data(struct firn_backtest_world *world, struct firn_backtest_file *file)
{
    if (!file->is_live)
        return;
    file->is_live = false;
    world->files--;
    world->bytes -= FIRN_MAX(file->entry.file.file_bytes, 0);
}

static void kill_delete(struct firn_backtest_world *world, struct firn_backtest_file *file)
{
    if (!file || !file->is_live)
        return;
    file->is_live = false;
    world->delete_files--;
}

/* The live file that has the rows now; NULL: none. */
static struct firn_backtest_file *resolve(struct firn_backtest_file *file)
{
    while (file && !file->is_live)
        file = file->part_count > 0 ? file->parts[0] : file->into;
    return file;
}

/* A part of a compacted file leaves it. */
static void shrink(struct firn_backtest_world *world, const struct firn_backtest_file *part)
{
    struct firn_backtest_file *whole = resolve(part->into);
    if (!whole)
        return;
    struct firn_data_file *file = &whole->entry.file;
    int64_t bytes = FIRN_MIN(FIRN_MAX(part->entry.file.file_bytes, 0), file->file_bytes);
    file->record_count -= FIRN_MIN(FIRN_MAX(part->entry.file.record_count, 0), file->record_count);
    if (bytes == file->file_bytes || file->record_count == 0) {
        kill_data(world, whole);
        return;
    }
    file->file_bytes -= bytes;
    world->bytes -= bytes;
}

/* A writer removes a file: that, what it was made of, or its part of what it was compacted into. */
static void remove_data(struct firn_op *op, struct firn_backtest_world *world, struct firn_backtest_file *file)
{
    FIRN_ARRAY(struct firn_backtest_file *) stack = { 0 };
    FIRN_PUSH(op->arena, &stack, file);
    while (stack.count > 0) {
        struct firn_backtest_file *at = stack.items[--stack.count];
        for (uint32_t i = 0; i < at->part_count; i++)
            FIRN_PUSH(op->arena, &stack, at->parts[i]);
        if (at->is_live)
            kill_data(world, at);
        else
            shrink(world, at);
    }
}

/* Deletes of one data file follow it; of vectors there is one, which says what those before it said. */
static void add_delete(struct firn_backtest_world *world, const struct firn_manifest_entry *entry)
{
    struct firn_text scope = firn_delete_file_scope(&entry->file);
    struct firn_backtest_file *named = scope.len ? find(world, scope) : NULL, *target = resolve(named);
    if (scope.len > 0 && !target)
        return;
    struct firn_backtest_file *file = remember(world, entry);
    if (target) {
        file->entry.file.referenced_data_file = target->entry.file.path;
        file->entry.file.lower_bounds = file->entry.file.upper_bounds = (struct firn_bound_map){ 0 };
    }
    if (target && firn_data_file_is_deletion_vector(&entry->file)) {
        if (target->vector && target->vector->is_live && target != named)
            file->entry.file.record_count += target->vector->entry.file.record_count;
        kill_delete(world, target->vector);
        target->vector = file;
    }
    file->is_live = true;
    FIRN_PUSH(world->arena, &world->deletes, file);
    world->delete_files++;
}

/* Commits --------------------------------------------------------------------------------------------------------- */

static void remove_entry(struct firn_op *op, struct firn_backtest_world *world, const struct firn_manifest_entry *entry)
{
    struct firn_backtest_file *file = find(world, key_of(world, &entry->file));
    if (file && entry->file.content == FIRN_CONTENT_DATA)
        remove_data(op, world, file);
    else
        kill_delete(world, file);
}

static void change(struct firn_op *op, struct firn_backtest_world *world, const struct firn_backtest_commit *commit)
{
    for (size_t i = 0; i < commit->removed.count; i++)
        remove_entry(op, world, commit->removed.items[i]);
    for (size_t i = 0; i < commit->added.count; i++)
        if (commit->added.items[i]->file.content == FIRN_CONTENT_DATA)
            revive_data(world, remember(world, commit->added.items[i]));
    for (size_t i = 0; i < commit->added.count; i++)
        if (commit->added.items[i]->file.content != FIRN_CONTENT_DATA)
            add_delete(world, commit->added.items[i]);
}

/* Files of one partition that maintenance really removed and wrote. */
struct exchange {
    FIRN_ARRAY(struct firn_backtest_file *) inputs;
    FIRN_ARRAY(struct firn_backtest_file *) outputs;
};

static firn_status find_exchange(struct firn_op *op, struct firn_map *exchanges, struct firn_buffer *key,
                                 const struct firn_data_file *file, struct exchange **out)
{
    FIRN_TRY(firn_data_file_partition_key(op, file, key));
    struct firn_map_entry *found = firn_map_find(exchanges, firn_buffer_bytes(key));
    if (!found) {
        found = firn_map_put(exchanges, firn_bytes_copy(op->arena, firn_buffer_bytes(key)));
        found->value.pointer = FIRN_NEW(op->arena, struct exchange);
    }
    *out = found->value.pointer;
    return FIRN_OK;
}

static firn_status list_exchanges(struct firn_op *op, struct firn_backtest_world *world,
                                  const struct firn_backtest_commit *commit, struct firn_buffer *key,
                                  struct firn_map *exchanges)
{
    struct exchange *exchange;
    for (size_t i = 0; i < commit->removed.count; i++) {
        const struct firn_data_file *file = &commit->removed.items[i]->file;
        struct firn_backtest_file *input = file->content == FIRN_CONTENT_DATA ? find(world, file->path) : NULL;
        if (!input)
            continue;
        FIRN_TRY(find_exchange(op, exchanges, key, file, &exchange));
        FIRN_PUSH(op->arena, &exchange->inputs, input);
    }
    for (size_t i = 0; i < commit->added.count; i++) {
        const struct firn_manifest_entry *entry = commit->added.items[i];
        if (entry->file.content != FIRN_CONTENT_DATA)
            continue;
        FIRN_TRY(find_exchange(op, exchanges, key, &entry->file, &exchange));
        FIRN_PUSH(op->arena, &exchange->outputs, remember(world, entry));
    }
    return FIRN_OK;
}

/* Outputs have even shares of the inputs, in order. */
static void share_inputs(struct firn_backtest_world *world, const struct exchange *exchange)
{
    size_t inputs = exchange->inputs.count, outputs = exchange->outputs.count;
    struct firn_backtest_file **parts = FIRN_NEW_ARRAY(world->arena, struct firn_backtest_file *, inputs);
    if (inputs > 0)
        memcpy(parts, exchange->inputs.items, inputs * sizeof *parts);
    for (size_t i = 0; i < outputs; i++) {
        size_t from = i * inputs / outputs, end = (i + 1) * inputs / outputs;
        exchange->outputs.items[i]->parts = parts + from;
        exchange->outputs.items[i]->part_count = (uint32_t)(end - from);
    }
}

static firn_status remember_maintenance(struct firn_op *op, struct firn_backtest_world *world,
                                        const struct firn_backtest_commit *commit)
{
    struct firn_buffer key = { 0 };
    struct firn_map exchanges;
    firn_map_init(&exchanges, op->arena);
    firn_status status = list_exchanges(op, world, commit, &key, &exchanges);
    firn_buffer_done(&key);
    for (size_t i = 0; status == FIRN_OK && i < exchanges.count; i++)
        share_inputs(world, exchanges.entries[i].value.pointer);
    return status;
}

firn_status firn_backtest_world_commit(struct firn_op *op, struct firn_backtest_world *world,
                                       const struct firn_backtest_commit *commit)
{
    world->sequence_number = FIRN_MAX(world->sequence_number, commit->snapshot->sequence_number);
    if (world->is_policy && commit->is_maintenance)
        return remember_maintenance(op, world, commit);
    change(op, world, commit);
    return FIRN_OK;
}

/* Looking --------------------------------------------------------------------------------------------------------- */

static void drop_dead(struct firn_backtest_world *world)
{
    size_t kept = 0;
    if (world->data.count > 2 * (size_t)world->files + DEAD_FILES_MIN) {
        for (size_t i = 0; i < world->data.count; i++)
            if (world->data.items[i]->is_live)
                world->data.items[kept++] = world->data.items[i];
        world->data.count = kept;
    }
    kept = 0;
    if (world->deletes.count > 2 * (size_t)world->delete_files + DEAD_FILES_MIN) {
        for (size_t i = 0; i < world->deletes.count; i++)
            if (world->deletes.items[i]->is_live)
                world->deletes.items[kept++] = world->deletes.items[i];
        world->deletes.count = kept;
    }
}

firn_status firn_backtest_world_scan(struct firn_op *op, struct firn_backtest_world *world, struct firn_scan *out)
{
    struct firn_delete_index *index;
    drop_dead(world);
    *out = (struct firn_scan){
        .files = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, (size_t)world->files),
        .deletes = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, (size_t)world->delete_files),
    };
    for (size_t i = 0; i < world->deletes.count; i++)
        if (world->deletes.items[i]->is_live)
            out->deletes[out->delete_count++] = &world->deletes.items[i]->entry;
    FIRN_TRY(firn_delete_index_new(op, world->metadata, out->deletes, out->delete_count, &index));
    for (size_t i = 0; i < world->data.count; i++) {
        if (!world->data.items[i]->is_live)
            continue;
        struct firn_scan_file *file = &out->files[out->file_count++];
        file->entry = &world->data.items[i]->entry;
        FIRN_TRY(firn_delete_index_match(op, index, file->entry, &file->deletes));
    }
    return FIRN_OK;
}

/* Compacting ------------------------------------------------------------------------------------------------------ */

static struct firn_backtest_file *make_output(struct firn_backtest_world *world,
                                              const struct firn_manifest_entry *input, int64_t bytes, int64_t id)
{
    struct firn_manifest_entry entry = {
        .status = FIRN_ENTRY_ADDED,
        .snapshot_id = id,
        .sequence_number = world->sequence_number,
        .file_sequence_number = world->sequence_number,
        .file = { .content = FIRN_CONTENT_DATA,
                  .path = firn_text_format(world->arena, "backtest:%u", world->made_count++),
                  .format = FIRN_FILE_PARQUET,
                  .spec_id = input->file.spec_id,
                  .partition = input->file.partition,
                  .file_bytes = bytes,
                  .sort_order_id = FIRN_ABSENT,
                  .first_row_id = FIRN_ABSENT,
                  .content_offset = FIRN_ABSENT,
                  .content_bytes = FIRN_ABSENT },
    };
    return remember(world, &entry);
}

void firn_backtest_world_compact(struct firn_backtest_world *world, const struct firn_scan_file *const *files,
                                 uint32_t file_count, const int64_t *output_bytes, uint32_t output_count, int64_t id)
{
    struct firn_backtest_file **outputs = FIRN_NEW_ARRAY(world->arena, struct firn_backtest_file *, output_count);
    for (uint32_t i = 0; i < output_count; i++)
        outputs[i] = make_output(world, files[0]->entry, output_bytes[i], id);
    for (uint32_t i = 0; i < file_count; i++) {
        struct firn_backtest_file *input = find(world, files[i]->entry->file.path);
        kill_data(world, input);
        if (output_count == 0)
            continue;
        input->into = outputs[(uint64_t)i * output_count / file_count];
        input->into->entry.file.record_count += FIRN_MAX(input->entry.file.record_count, 0);
    }
    for (uint32_t i = 0; i < output_count; i++)
        revive_data(world, outputs[i]);
}

firn_status firn_backtest_world_tidy(struct firn_op *op, struct firn_backtest_world *world)
{
    struct firn_scan scan;
    struct firn_delete_uses uses;
    if (world->delete_files == 0)
        return FIRN_OK;
    FIRN_TRY(firn_backtest_world_scan(op, world, &scan));
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, scan.file_count);
    for (uint32_t i = 0; i < scan.file_count; i++)
        files[i] = &scan.files[i];
    firn_delete_uses_count(op->arena, files, scan.file_count, &uses);
    for (size_t i = 0; i < world->deletes.count; i++)
        if (world->deletes.items[i]->is_live && !firn_delete_uses_find(&uses, &world->deletes.items[i]->entry))
            kill_delete(world, world->deletes.items[i]);
    return FIRN_OK;
}
