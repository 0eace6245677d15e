/* Writing the manifests that change: those that lose entries, and small ones that are joined.
 * Reference: procedures.md, 3.4 and 3.5.
 *
 * What stays becomes EXISTING with its numbers written out, what goes becomes DELETED by this snapshot, and what was
 * DELETED before is gone for good (it never comes back to life). Manifests of one spec are packed from the oldest end
 * up to the target size, order kept. The bin with the newest manifest grows until it holds
 * commit.manifest.min-count-to-merge; every other bin of two or more is joined. */
#include "catalog/producer.h"

#include "table/scan.h"

/* A stretch of rows, in list order. */
struct bin {
    const struct firn_manifest_file *rows;
    size_t count;
};

struct join_run {
    struct firn_producer *producer;
    int64_t sequence_number_min;
    const struct bin *bins;
    struct firn_manifests_written **results; /* one each */
};

/* A bin that is being joined. */
struct joining {
    const struct join_run *run;
    const struct bin *bin;
};

/* Files this very commit adds stay ADDED. */
static firn_status take_entry(struct firn_op *op, const struct join_run *run, struct firn_manifest_output *output,
                              const struct firn_manifest_entry *entry, bool may_leave)
{
    struct firn_manifest_entry written = *entry;
    uint32_t index;
    if (may_leave && firn_entry_leaves(op, run->producer, run->sequence_number_min, entry, &index)) {
        written.status = FIRN_ENTRY_DELETED;
        written.snapshot_id = run->producer->snapshot_id;
    } else if (entry->snapshot_id != run->producer->snapshot_id) {
        written.status = FIRN_ENTRY_EXISTING;
    }
    return firn_manifest_output_add(op, output, &written);
}

/* The manifest's own memory goes when its entries were written; the output's stays in op->arena. */
static firn_status take_manifest(struct firn_op *op, const struct join_run *run, struct firn_manifest_output *output,
                                 const struct firn_manifest_file *row)
{
    const struct firn_table *table = run->producer->table;
    struct firn_manifest_read_options options = { .skip_deleted = true };
    struct firn_manifest manifest;
    struct firn_arena arena;
    struct firn_op reading = *op;
    bool may_leave = firn_filtered_find(op, run->producer, row, run->sequence_number_min);
    firn_arena_init(&arena);
    reading.arena = &arena;
    firn_status status = firn_manifest_read(&reading, table->store, table->metadata, row, options, &manifest);
    if (status != FIRN_OK)
        op->error = reading.error;
    for (uint32_t i = 0; status == FIRN_OK && i < manifest.count; i++)
        status = take_entry(op, run, output, &manifest.entries[i], may_leave);
    firn_arena_done(&arena);
    return status;
}

static firn_status join_rows(struct firn_op *op, void *context, struct firn_manifest_output *output)
{
    const struct joining *joining = context;
    for (size_t i = 0; i < joining->bin->count; i++) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(take_manifest(op, joining->run, output, &joining->bin->rows[i]));
    }
    return FIRN_OK;
}

static firn_status join_job(struct firn_op *op, void *context, size_t index)
{
    struct join_run *run = context;
    const struct bin *bin = &run->bins[index];
    const struct firn_partition_spec *spec = firn_metadata_spec(run->producer->table->metadata, bin->rows[0].spec_id);
    struct joining joining = { run, bin };
    run->results[index] = FIRN_NEW(op->arena, struct firn_manifests_written);
    if (!spec)
        return firn_fail(op, FIRN_CORRUPT, "manifest '%.*s' has the unknown partition spec %d",
                         FIRN_FMT(bin->rows[0].path), bin->rows[0].spec_id);
    struct firn_manifest_run manifests = firn_manifest_run_of(run->producer, spec, bin->rows[0].is_deletes);
    return firn_manifest_run_write(op, &manifests, join_rows, &joining, run->results[index]);
}

/* What a bin's result depends on: the number that decides which deletes leave, the paths of its manifests, and the row
 * ids that the list gives them. */
static struct firn_text key_of_bin(struct firn_op *op, const struct bin *bin, int64_t sequence_number_min)
{
    struct firn_text number =
        firn_text_format(op->arena, "%" PRId64 "\n", bin->rows[0].is_deletes ? sequence_number_min : 0);
    size_t len = number.len;
    for (size_t i = 0; i < bin->count; i++)
        len += sizeof bin->rows[i].first_row_id + bin->rows[i].path.len + 1;
    char *key = firn_arena_alloc(op->arena, len);
    char *at = mempcpy(key, number.data, number.len);
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
static firn_status join_missing(struct firn_op *op, struct firn_producer *producer, const struct bin_list *bins,
                                int64_t sequence_number_min)
{
    struct bin *missing = FIRN_NEW_ARRAY(op->arena, struct bin, bins->count);
    struct join_run run = { .producer = producer, .bins = missing, .sequence_number_min = sequence_number_min };
    size_t count = 0;
    for (size_t i = 0; i < bins->count; i++)
        if (!firn_map_find_text(&producer->merged, key_of_bin(op, &bins->items[i], sequence_number_min)))
            missing[count++] = bins->items[i];
    run.results = FIRN_NEW_ARRAY(op->arena, struct firn_manifests_written *, count);
    firn_status status = firn_pool_run(op, producer->pool, count, 0, join_job, &run);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; run.results[i] && k < run.results[i]->begun.count; k++)
            FIRN_PUSH(op->arena, &producer->manifests_begun, run.results[i]->begun.items[k]);
    FIRN_TRY(status);
    for (size_t i = 0; i < count; i++)
        firn_map_put_text(&producer->merged, key_of_bin(op, &missing[i], sequence_number_min))->value.pointer =
            run.results[i];
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

/* Every row alone. */
static void pack_singly(struct firn_op *op, struct bin whole, struct bin_list *bins)
{
    for (size_t i = 0; i < whole.count; i++) {
        struct bin alone = { whole.rows + i, 1 };
        FIRN_PUSH(op->arena, bins, alone);
    }
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
        pack_singly(op, bin, kept);
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

static void list_bins(struct firn_op *op, const struct firn_producer *producer, const struct firn_manifest_rows *rows,
                      struct bin_list *bins)
{
    if (producer->merges)
        pack(op, producer, rows, bins);
    else
        pack_singly(op, (struct bin){ rows->items, rows->count }, bins);
}

static int64_t count_of_others(const struct firn_producer *producer, const struct bin *bin)
{
    int64_t count = 0;
    for (size_t i = 0; i < bin->count; i++)
        count += bin->rows[i].added_snapshot_id != producer->snapshot_id;
    return count;
}

/* One row that loses nothing stays as it is. */
static bool must_write(struct firn_op *op, const struct firn_producer *producer, const struct bin *bin,
                       int64_t sequence_number_min)
{
    return bin->count > 1 || firn_filtered_find(op, producer, bin->rows, sequence_number_min);
}

firn_status firn_manifests_merge(struct firn_op *op, struct firn_producer *producer, struct firn_manifest_rows *rows,
                                 int64_t sequence_number_min, int64_t *replaced)
{
    struct bin_list bins = { 0 };
    struct bin_list written = { 0 };
    struct firn_manifest_rows merged = { 0 };
    list_bins(op, producer, rows, &bins);
    for (size_t i = 0; i < bins.count; i++)
        if (must_write(op, producer, &bins.items[i], sequence_number_min))
            FIRN_PUSH(op->arena, &written, bins.items[i]);
    FIRN_TRY(join_missing(op, producer, &written, sequence_number_min));
    for (size_t i = 0; i < bins.count; i++) {
        const struct bin *bin = &bins.items[i];
        if (!must_write(op, producer, bin, sequence_number_min)) {
            FIRN_PUSH(op->arena, &merged, bin->rows[0]);
            continue;
        }
        const struct firn_manifests_written *result =
            firn_map_find_text(&producer->merged, key_of_bin(op, bin, sequence_number_min))->value.pointer;
        *replaced += count_of_others(producer, bin);
        for (size_t k = 0; k < result->rows.count; k++)
            FIRN_PUSH(op->arena, &merged, result->rows.items[k]);
    }
    *rows = merged;
    return FIRN_OK;
}

/* The manifest of what is added comes first and is short, as far as can be guessed; its row has no path. Where the
 * guess is wrong, other bins come to be than were written, and these are cleaned up. */
firn_status firn_manifests_merge_ahead(struct firn_op *op, struct firn_producer *producer,
                                       const struct firn_manifest_rows *rows)
{
    struct firn_manifest_file added = { .spec_id = producer->table->metadata->default_spec_id };
    struct firn_manifest_rows all = { 0 };
    struct bin_list bins = { 0 }, written = { 0 };
    FIRN_PUSH(op->arena, &all, added);
    for (size_t i = 0; i < rows->count; i++)
        FIRN_PUSH(op->arena, &all, rows->items[i]);
    list_bins(op, producer, &all, &bins);
    for (size_t i = 0; i < bins.count; i++)
        if (bins.items[i].rows[0].path.len > 0 && must_write(op, producer, &bins.items[i], 0))
            FIRN_PUSH(op->arena, &written, bins.items[i]);
    return join_missing(op, producer, &written, 0);
}
