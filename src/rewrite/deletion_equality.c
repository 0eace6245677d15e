/* The columns that are compared, and running files through a join of keys. */
#include "rewrite/deletion_equality.h"

#include "base/math.h"
#include "rewrite/deletion_prune.h"
#include "rewrite/key_join.h"

#include <pthread.h>
#include <stdlib.h>

/* Finding the columns. Recursion here is as deep as the schema, which its parser limits. ------------------------- */

static bool contains(const struct firn_field *field, int32_t id)
{
    if (field->id == id)
        return true;
    for (uint32_t i = 0; i < field->type.field_count; i++)
        if (contains(&field->type.fields[i], id))
            return true;
    return false;
}

static struct firn_field *find_field(const struct firn_type *type, int32_t id)
{
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].id == id)
            return &type->fields[i];
    return NULL;
}

/* Appends a field without its children. A column that was dropped is missing in newer files, required or not. */
static struct firn_field *add_field(struct firn_op *op, struct firn_type *type, const struct firn_field *from)
{
    size_t capacity = type->field_count;
    type->fields = firn_array_grow(op->arena, type->fields, type->field_count, &capacity, sizeof *type->fields);
    struct firn_field *field = &type->fields[type->field_count++];
    *field = *from;
    field->required = false;
    field->type.fields = NULL;
    field->type.field_count = 0;
    return field;
}

/* Copies the way from `from` to the column into `into`, which may hold part of it. */
static firn_status add_path(struct firn_op *op, struct firn_type *into, const struct firn_type *from, int32_t id)
{
    const struct firn_field *step = NULL;
    for (uint32_t i = 0; i < from->field_count && !step; i++)
        if (contains(&from->fields[i], id))
            step = &from->fields[i];
    if (!step || from->id != FIRN_TYPE_STRUCT)
        return firn_fail(op, FIRN_UNSUPPORTED, "equality id %d is inside a list or map", id);
    if (step->id == id) {
        if (!firn_type_is_primitive(step->type.id))
            return firn_fail(op, FIRN_UNSUPPORTED, "equality id %d is '%.*s' of type %s, which cannot be compared", id,
                             FIRN_FMT(step->name), firn_type_name(step->type.id));
        add_field(op, into, step);
        return FIRN_OK;
    }
    struct firn_field *inner = find_field(into, step->id);
    if (!inner)
        inner = add_field(op, into, step);
    return add_path(op, &inner->type, &step->type, id);
}

static const struct firn_schema *schema_with(const struct firn_id_sources *schemas, int32_t id)
{
    for (size_t i = 0; i < schemas->schema_count; i++)
        if (firn_schema_field(schemas->schemas[i], id))
            return schemas->schemas[i];
    return NULL;
}

firn_status firn_key_columns_new(struct firn_op *op, const struct firn_id_sources *schemas, const int32_t *ids,
                                 uint32_t id_count, struct firn_key_columns *out)
{
    *out = (struct firn_key_columns){ .schema.root.id = FIRN_TYPE_STRUCT };
    if (id_count == 0)
        return firn_fail(op, FIRN_CORRUPT, "the manifest names no equality ids");
    for (uint32_t i = 0; i < id_count; i++) {
        const struct firn_schema *schema = schema_with(schemas, ids[i]);
        if (!schema)
            return firn_fail(op, FIRN_CORRUPT, "equality id %d is in no schema of the table", ids[i]);
        FIRN_TRY(add_path(op, &out->schema.root, &schema->root, ids[i]));
    }
    return firn_output_schema_new(op, &out->schema, false, &out->leaves);
}

/* Which keys are newer. ------------------------------------------------------------------------------------------ */

/* Sequence numbers of delete files, ascending, each once: the ordinal of one is its index + 1, so that the number of
 * those not above a data file's is the highest ordinal that does not concern it. */
struct sequence {
    int64_t *numbers;
    uint32_t count;
};

static int compare_numbers(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static struct sequence sort_sequence(struct firn_op *op, const struct firn_equality_join *join)
{
    struct sequence sequence = { .numbers = FIRN_NEW_ARRAY(op->arena, int64_t, join->deletes.count) };
    for (size_t i = 0; i < join->deletes.count; i++)
        sequence.numbers[i] = join->deletes.items[i].entry->sequence_number;
    if (join->deletes.count > 0)
        qsort(sequence.numbers, join->deletes.count, sizeof *sequence.numbers, compare_numbers);
    for (size_t i = 0; i < join->deletes.count; i++)
        if (i == 0 || sequence.numbers[i] != sequence.numbers[sequence.count - 1])
            sequence.numbers[sequence.count++] = sequence.numbers[i];
    return sequence;
}

/* How many numbers are not above `number`. */
static uint32_t ordinal_of(const struct sequence *sequence, int64_t number)
{
    uint32_t low = 0, high = sequence->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sequence->numbers[middle] <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Reading. ------------------------------------------------------------------------------------------------------- */

enum { LOCK_COUNT = 64 };

struct running {
    const struct firn_key_source *source;
    const struct firn_equality_join *join;
    struct firn_key_layout layout;
    struct sequence sequence;
    struct firn_key_join *keys;
    pthread_mutex_t locks[LOCK_COUNT]; /* of the sets of positions, while several threads add to one */
};

/* One file being read. */
struct file_run {
    struct running *running;
    uint32_t index;
    struct firn_key_batch batch;
};

static firn_status read_rows(struct firn_op *op, struct file_run *run, const struct firn_data_file *file, bool complete,
                             firn_file_rows_visit *visit)
{
    const struct firn_key_source *source = run->running->source;
    struct firn_file_rows_config config = {
        .metadata = source->metadata,
        .store = source->store,
        .schema = &run->running->join->columns.leaves,
        .ids = &source->ids,
        .file = file,
        .complete = complete,
    };
    firn_status status = firn_file_rows_read(op, &config, visit, run);
    firn_key_batch_done(&run->batch);
    return status;
}

static firn_status add_batch(struct firn_op *op, void *context, const struct firn_row_batch *rows)
{
    struct file_run *run = context;
    struct running *running = run->running;
    const struct firn_equality_delete *del = &running->join->deletes.items[run->index];
    uint32_t ordinal = ordinal_of(&running->sequence, del->entry->sequence_number);
    FIRN_TRY(firn_key_batch_fill(op, &run->batch, &running->layout, del->scope, rows));
    return firn_key_join_add(op, running->keys, &run->batch, ordinal);
}

static firn_status add_file(struct firn_op *op, void *context, size_t index)
{
    struct file_run run = { .running = context, .index = (uint32_t)index };
    const struct firn_manifest_entry *del = run.running->join->deletes.items[index].entry;
    firn_status status = read_rows(op, &run, &del->file, true, add_batch);
    return firn_context(op, status, "delete file \"%.*s\"", FIRN_FMT(del->file.path));
}

/* Only one thread has this data file. */
static firn_status hit_own(struct firn_op *op, void *context, uint32_t file, int64_t position)
{
    const struct running *running = context;
    return firn_positions_add(op, running->join->data.items[file].positions, position);
}

static firn_status hit_shared(struct firn_op *op, void *context, uint32_t file, int64_t position)
{
    struct running *running = context;
    pthread_mutex_t *lock = &running->locks[file % LOCK_COUNT];
    pthread_mutex_lock(lock);
    firn_status status = hit_own(op, context, file, position);
    pthread_mutex_unlock(lock);
    return status;
}

static firn_status probe_batch(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct file_run *run = context;
    struct running *running = run->running;
    const struct firn_equality_data *data = &running->join->data.items[run->index];
    struct firn_key_rows rows = { &run->batch, run->index, batch->first };
    FIRN_TRY(firn_key_batch_fill(op, &run->batch, &running->layout, data->scopes[0], batch));
    for (uint32_t i = 0; i < data->scope_count; i++) {
        firn_key_batch_set_scope(&run->batch, &running->layout, data->scopes[i]);
        FIRN_TRY(firn_key_join_probe(op, running->keys, &rows, hit_own, running));
    }
    return FIRN_OK;
}

static firn_status probe_file(struct firn_op *op, void *context, size_t index)
{
    struct file_run run = { .running = context, .index = (uint32_t)index };
    const struct firn_equality_data *data = &run.running->join->data.items[index];
    firn_status status = read_rows(op, &run, &data->entry->file, false, probe_batch);
    if (status == FIRN_OK)
        status = firn_positions_charge(op, data->positions);
    return firn_context(op, status, "data file \"%.*s\"", FIRN_FMT(data->entry->file.path));
}

/* Running. -------------------------------------------------------------------------------------------------------- */

static firn_status finish(struct firn_op *op, struct running *running)
{
    uint64_t spilled = firn_key_join_spilled_bytes(running->keys);
    FIRN_TRY(firn_key_join_finish(op, running->keys, hit_shared, running));
    if (spilled == 0)
        return FIRN_OK;
    firn_log(op, FIRN_LOG_INFO, "equality_delete_keys=spilled bytes=%" PRIu64, spilled);
    for (size_t i = 0; i < running->join->data.count; i++)
        FIRN_TRY(firn_positions_charge(op, running->join->data.items[i].positions));
    return FIRN_OK;
}

static firn_status run_join(struct firn_op *op, struct running *running)
{
    struct firn_pool *pool = running->source->pool;
    FIRN_TRY(firn_pool_run(op, pool, running->join->deletes.count, 0, add_file, running));
    FIRN_TRY(firn_key_join_seal(op, running->keys));
    FIRN_TRY(firn_pool_run(op, pool, running->join->data.count, 0, probe_file, running));
    return finish(op, running);
}

static firn_status open_join(struct firn_op *op, struct running *running)
{
    const struct firn_equality_join *join = running->join;
    uint32_t *ordinals = FIRN_NEW_ARRAY(op->arena, uint32_t, join->data.count);
    struct firn_key_join_config config = {
        .layout = &running->layout,
        .pool = running->source->pool,
        .memory_bytes_max = running->source->memory_bytes_max,
        .file_ordinals = ordinals,
    };
    for (size_t i = 0; i < join->data.count; i++) {
        const struct firn_manifest_entry *data = join->data.items[i].entry;
        ordinals[i] = ordinal_of(&running->sequence, data->sequence_number);
        config.row_count += (uint64_t)FIRN_MAX(data->file.record_count, 0);
    }
    for (size_t i = 0; i < join->deletes.count; i++)
        config.key_count += (uint64_t)FIRN_MAX(join->deletes.items[i].entry->file.record_count, 0);
    return firn_key_join_open(op, &config, &running->keys);
}

firn_status firn_equality_join_run(struct firn_op *op, const struct firn_key_source *source,
                                   struct firn_equality_join *join)
{
    struct running running = { .source = source, .join = join };
    FIRN_TRY(firn_equality_join_prune(op, source, join));
    if (join->data.count == 0)
        return FIRN_OK;
    running.sequence = sort_sequence(op, join);
    firn_key_layout_init(op, &join->columns.leaves, join->scope_count, &running.layout);
    for (size_t i = 0; i < LOCK_COUNT; i++)
        pthread_mutex_init(&running.locks[i], NULL);
    firn_status status = open_join(op, &running);
    if (status == FIRN_OK) {
        status = run_join(op, &running);
        firn_key_join_close(running.keys);
    }
    for (size_t i = 0; i < LOCK_COUNT; i++)
        pthread_mutex_destroy(&running.locks[i]);
    return status;
}
