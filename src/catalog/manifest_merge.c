/* Joining small manifests on commit. Reference: procedures.md, 3.5.
 *
 * Manifests of one spec are packed from the oldest end up to the target size, order kept. The bin with the newest
 * manifest grows until it holds commit.manifest.min-count-to-merge; every other bin of two or more is joined. */
#include "catalog/producer.h"

#include "table/scan.h"

/* Entries this snapshot added or deleted keep their status; other live ones exist; older tombstones go. */
static firn_status take_entry(struct firn_op *op, struct firn_manifest_output *output,
                              const struct firn_manifest_entry *entry)
{
    struct firn_manifest_entry written = *entry;
    bool is_own = entry->snapshot_id == output->producer->snapshot_id;
    if (entry->status == FIRN_ENTRY_DELETED && !is_own)
        return FIRN_OK;
    if (entry->status == FIRN_ENTRY_ADDED && !is_own)
        written.status = FIRN_ENTRY_EXISTING;
    return firn_manifest_output_add(op, output, &written);
}

static firn_status take_manifest(struct firn_op *op, struct firn_manifest_output *output,
                                 const struct firn_manifest_file *row)
{
    struct firn_producer *producer = output->producer;
    struct firn_manifest_read_options options = { 0 };
    struct firn_manifest manifest;
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_manifest_read(op, producer->table->store, producer->table->metadata, row, options, &manifest));
    for (uint32_t i = 0; i < manifest.count; i++)
        FIRN_TRY(take_entry(op, output, &manifest.entries[i]));
    return FIRN_OK;
}

/* A stretch of rows, in list order. */
struct bin {
    const struct firn_manifest_file *rows;
    size_t count;
};

static firn_status join_rows(struct firn_op *op, struct firn_manifest_output *output, const struct bin *bin)
{
    for (size_t i = 0; i < bin->count; i++)
        FIRN_TRY(take_manifest(op, output, &bin->rows[i]));
    return firn_manifest_output_finish(op, output);
}

struct join_run {
    struct firn_producer *producer;
    const struct bin *bins;
    struct firn_manifest_rows **results; /* one each */
    struct firn_text_list *begun;        /* one each */
};

static firn_status join_bin(struct firn_op *op, struct firn_op *scratch, struct join_run *run, size_t index)
{
    const struct bin *bin = &run->bins[index];
    struct firn_producer *producer = run->producer;
    const struct firn_partition_spec *spec = firn_metadata_spec(producer->table->metadata, bin->rows[0].spec_id);
    struct firn_manifest_rows *rows = run->results[index] = FIRN_NEW(op->arena, struct firn_manifest_rows);
    if (!spec)
        return firn_fail(scratch, FIRN_CORRUPT, "manifest '%.*s' has the unknown partition spec %d",
                         FIRN_FMT(bin->rows[0].path), bin->rows[0].spec_id);
    struct firn_manifest_output output;
    firn_manifest_output_init(&output, producer, spec, bin->rows[0].is_deletes);
    firn_status status = join_rows(scratch, &output, bin);
    firn_manifest_output_close(&output);
    for (size_t i = 0; i < output.begun.count; i++)
        FIRN_PUSH(op->arena, &run->begun[index], firn_text_copy(op->arena, output.begun.items[i]));
    for (size_t i = 0; i < output.rows.count; i++)
        FIRN_PUSH(op->arena, rows, firn_manifest_row_copy(op->arena, &output.rows.items[i]));
    return status;
}

static firn_status join_job(struct firn_op *op, void *context, size_t index)
{
    struct firn_arena arena;
    struct firn_op scratch = *op;
    firn_arena_init(&arena);
    scratch.arena = &arena;
    firn_status status = join_bin(op, &scratch, context, index);
    if (status != FIRN_OK)
        op->error = scratch.error;
    firn_arena_done(&arena);
    return status;
}

/* What a bin's result depends on: the paths of its manifests, and the row ids that the list gives them. */
static struct firn_text key_of_bin(struct firn_op *op, const struct bin *bin)
{
    size_t len = 0;
    for (size_t i = 0; i < bin->count; i++)
        len += sizeof bin->rows[i].first_row_id + bin->rows[i].path.len + 1;
    char *key = firn_arena_alloc(op->arena, len);
    char *at = key;
    for (size_t i = 0; i < bin->count; i++) {
        at = mempcpy(at, &bin->rows[i].first_row_id, sizeof bin->rows[i].first_row_id);
        at = mempcpy(at, bin->rows[i].path.data, bin->rows[i].path.len);
        *at++ = '\n';
    }
    return (struct firn_text){ key, len };
}

struct bin_list {
    struct bin *items;
    size_t count, capacity;
};

/* Joins what earlier attempts have not, and keeps the results. */
static firn_status join_missing(struct firn_op *op, struct firn_producer *producer, const struct bin_list *bins)
{
    struct bin *missing = FIRN_NEW_ARRAY(op->arena, struct bin, bins->count);
    struct join_run run = { .producer = producer, .bins = missing };
    size_t count = 0;
    for (size_t i = 0; i < bins->count; i++)
        if (!firn_map_find_text(&producer->merged, key_of_bin(op, &bins->items[i])))
            missing[count++] = bins->items[i];
    run.results = FIRN_NEW_ARRAY(op->arena, struct firn_manifest_rows *, count);
    run.begun = FIRN_NEW_ARRAY(op->arena, struct firn_text_list, count);
    firn_status status = firn_pool_run(op, producer->pool, count, 0, join_job, &run);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < run.begun[i].count; k++)
            FIRN_PUSH(op->arena, &producer->manifests_begun, run.begun[i].items[k]);
    FIRN_TRY(status);
    for (size_t i = 0; i < count; i++)
        firn_map_put_text(&producer->merged, key_of_bin(op, &missing[i]))->value.pointer = run.results[i];
    return FIRN_OK;
}

/* The length of the last bin of rows[0 .. count): as many rows as the target takes, one at least. */
static size_t last_bin_length(const struct firn_manifest_file *rows, size_t count, int64_t bytes_target)
{
    int64_t bytes = rows[count - 1].length;
    size_t length = 1;
    while (length < count) {
        if (__builtin_add_overflow(bytes, rows[count - 1 - length].length, &bytes) || bytes > bytes_target)
            break;
        length++;
    }
    return length;
}

/* Packs the rows of one spec; bins come out newest first. `has_newest` tells that the first row is the list's newest.
 */
static void pack_spec(struct firn_op *op, const struct firn_producer *producer, struct bin whole, bool has_newest,
                      struct bin_list *kept)
{
    struct bin_list reversed = { 0 };
    for (size_t left = whole.count; left > 0;) {
        size_t length = last_bin_length(whole.rows, left, producer->manifest_bytes_target);
        left -= length;
        struct bin bin = { whole.rows + left, length };
        FIRN_PUSH(op->arena, &reversed, bin);
    }
    for (size_t i = reversed.count; i > 0; i--) {
        struct bin bin = reversed.items[i - 1];
        bool is_growing = has_newest && i == reversed.count && (int64_t)bin.count < producer->merge_count_min;
        if (!is_growing) {
            FIRN_PUSH(op->arena, kept, bin);
            continue;
        }
        for (size_t k = 0; k < bin.count; k++) {
            struct bin alone = { bin.rows + k, 1 };
            FIRN_PUSH(op->arena, kept, alone);
        }
    }
}

static bool next_spec_below(const struct firn_manifest_rows *rows, int64_t below, int64_t *spec_id)
{
    bool found = false;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->items[i].spec_id >= below || (found && rows->items[i].spec_id <= *spec_id))
            continue;
        *spec_id = rows->items[i].spec_id;
        found = true;
    }
    return found;
}

/* All bins, newest spec first. */
static void pack(struct firn_op *op, const struct firn_producer *producer, const struct firn_manifest_rows *rows,
                 struct bin_list *bins)
{
    int64_t spec_id = INT64_MAX;
    while (next_spec_below(rows, spec_id, &spec_id)) {
        struct firn_manifest_rows of_spec = { 0 };
        for (size_t i = 0; i < rows->count; i++)
            if (rows->items[i].spec_id == spec_id)
                FIRN_PUSH(op->arena, &of_spec, rows->items[i]);
        struct bin whole = { of_spec.items, of_spec.count };
        pack_spec(op, producer, whole, rows->items[0].spec_id == spec_id, bins);
    }
}

static int64_t count_of_others(const struct firn_producer *producer, const struct bin *bin)
{
    int64_t count = 0;
    for (size_t i = 0; i < bin->count; i++)
        count += bin->rows[i].added_snapshot_id != producer->snapshot_id;
    return count;
}

firn_status firn_manifests_merge(struct firn_op *op, struct firn_producer *producer, struct firn_manifest_rows *rows,
                                 int64_t *replaced)
{
    if (!producer->merges || rows->count < 2)
        return FIRN_OK;
    struct bin_list bins = { 0 };
    struct bin_list joined = { 0 };
    struct firn_manifest_rows merged = { 0 };
    pack(op, producer, rows, &bins);
    for (size_t i = 0; i < bins.count; i++)
        if (bins.items[i].count > 1)
            FIRN_PUSH(op->arena, &joined, bins.items[i]);
    FIRN_TRY(join_missing(op, producer, &joined));
    for (size_t i = 0; i < bins.count; i++) {
        const struct bin *bin = &bins.items[i];
        struct firn_manifest_rows single = { (struct firn_manifest_file *)(uintptr_t)bin->rows, 1, 1 };
        const struct firn_manifest_rows *result = &single;
        if (bin->count > 1) {
            result = firn_map_find_text(&producer->merged, key_of_bin(op, bin))->value.pointer;
            *replaced += count_of_others(producer, bin);
        }
        for (size_t k = 0; k < result->count; k++)
            FIRN_PUSH(op->arena, &merged, result->items[k]);
    }
    *rows = merged;
    return FIRN_OK;
}
