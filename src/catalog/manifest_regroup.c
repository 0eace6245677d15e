/* Writing the same live entries into other manifests. Reference: procedures.md, 5.
 *
 * Every manifest that is replaced is read once. Its entries go, encoded as they will stand in the file, to temporary
 * storage, and from there into the new manifests in the order that the change says. So memory holds a place an entry,
 * whatever the entries say of their columns.
 *
 * Invariants
 *  (1) Every live entry of a replaced manifest is in exactly one new manifest, EXISTING, with its snapshot id, both
 *      sequence numbers and its first row id written out; no other entry is.
 *  (2) What is replaced is in the head still, as it was when the change was planned. All else of the head stays. */
#include "catalog/producer.h"

#include "store/spill.h"
#include "table/scan.h"

/* How much larger than the target a manifest may grow before the next is begun: sizes are foretold from those of the
 * replaced ones, and a small rest would be a manifest more. */
#define GROWTH_PERCENT INT64_C(120)

/* Where an entry lies in temporary storage: an entry_head, and its encoded form. */
struct entry_place {
    uint64_t offset;
    uint32_t len;
};
struct entry_head {
    int64_t sequence_number;
    int64_t record_count;
};

struct regroup_run {
    struct firn_producer *producer;
    const struct firn_regrouping *regrouping;
    const struct firn_partition_spec *spec;
    struct firn_spill *spill;
    struct entry_place *places;              /* one an entry, by its number */
    struct firn_manifests_written **results; /* one a group */
};

static struct firn_manifest_run run_of_group(const struct regroup_run *run, bool is_deletes)
{
    struct firn_manifest_run manifests = firn_manifest_run_of(run->producer, run->spec, is_deletes);
    if (__builtin_mul_overflow(manifests.bytes_max, GROWTH_PERCENT, &manifests.bytes_max))
        manifests.bytes_max = INT64_MAX;
    manifests.bytes_max /= 100;
    return manifests;
}

/* Reading --------------------------------------------------------------------------------------------------------- */

/* A manifest whose entries are put into temporary storage. */
struct putting {
    const struct regroup_run *run;
    uint32_t index;                            /* of the manifest */
    struct firn_manifest_encoder *encoders[2]; /* of data and of deletes, made when there are any */
};

/* Entries are told by what they say: some writers label manifests of deletes as data. */
static firn_status find_encoder(struct firn_op *op, struct putting *putting, const struct firn_manifest_entry *entry,
                                struct firn_manifest_encoder **out)
{
    bool is_deletes = entry->file.content != FIRN_CONTENT_DATA;
    struct firn_manifest_run manifests = run_of_group(putting->run, is_deletes);
    struct firn_manifest_writer_config config = firn_manifest_run_config(&manifests);
    if (!putting->encoders[is_deletes])
        FIRN_TRY(firn_manifest_encoder_new(op, &config, &putting->encoders[is_deletes]));
    *out = putting->encoders[is_deletes];
    return FIRN_OK;
}

static firn_status encode_entry(struct firn_op *op, struct putting *putting, const struct firn_manifest_entry *entry,
                                struct firn_buffer *bytes, struct entry_place *place)
{
    struct firn_manifest_entry kept = *entry;
    struct entry_head head = { entry->sequence_number, entry->file.record_count };
    struct firn_manifest_encoder *encoder;
    kept.status = FIRN_ENTRY_EXISTING; /* (1) */
    place->offset = bytes->len;
    FIRN_TRY(find_encoder(op, putting, entry, &encoder));
    FIRN_TRY(firn_buffer_append(op, bytes, &head, sizeof head));
    FIRN_TRY(firn_manifest_encode(op, encoder, &kept, bytes));
    size_t len = bytes->len - (size_t)place->offset;
    if (len > UINT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "the entry of '%.*s' takes %zu bytes", FIRN_FMT(entry->file.path), len);
    place->len = (uint32_t)len;
    return FIRN_OK;
}

static firn_status encode_entries(struct firn_op *op, struct putting *putting, const struct firn_manifest *manifest,
                                  struct firn_buffer *bytes)
{
    const struct firn_regrouping *regrouping = putting->run->regrouping;
    const struct firn_regrouped_manifest *replaced = &regrouping->replaced[putting->index];
    struct entry_place *places = putting->run->places + replaced->entry_start;
    uint64_t offset;
    if (manifest->count != replaced->entry_count)
        return firn_fail(op, FIRN_CORRUPT, "%u live entries, and %u when it was read before", manifest->count,
                         replaced->entry_count);
    for (uint32_t i = 0; i < manifest->count; i++)
        FIRN_TRY(encode_entry(op, putting, &manifest->entries[i], bytes, &places[i]));
    FIRN_TRY(firn_spill_put(op, putting->run->spill, firn_buffer_bytes(bytes), &offset));
    for (uint32_t i = 0; i < manifest->count; i++)
        places[i].offset += offset;
    return FIRN_OK;
}

static firn_status put_manifest(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    struct putting *putting = context;
    struct firn_buffer bytes = { 0 };
    firn_status status = encode_entries(op, putting, manifest, &bytes);
    firn_buffer_done(&bytes);
    return firn_context(op, status, "manifest \"%.*s\"",
                        FIRN_FMT(putting->run->regrouping->replaced[putting->index].row->path));
}

static firn_status put_job(struct firn_op *op, void *context, size_t index)
{
    struct regroup_run *run = context;
    const struct firn_table *table = run->producer->table;
    struct putting putting = { .run = run, .index = (uint32_t)index };
    struct firn_manifest_read_options options = { .skip_deleted = true };
    return firn_manifest_look(op, table->store, table->metadata, run->regrouping->replaced[index].row, options,
                              put_manifest, &putting);
}

/* Writing --------------------------------------------------------------------------------------------------------- */

/* A group that is being written. */
struct taking {
    const struct regroup_run *run;
    uint32_t begin, end; /* in the order of entries */
};

/* The stretch that the entry at `at` belongs to. */
static uint32_t find_stretch(const struct firn_regrouping *regrouping, uint32_t at)
{
    uint32_t low = 0, high = regrouping->stretch_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (regrouping->stretches[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static firn_status take_entry(struct firn_op *op, const struct regroup_run *run, uint32_t number,
                              const struct firn_partition *partition, struct firn_buffer *bytes,
                              struct firn_manifest_output *output)
{
    const struct entry_place *place = &run->places[number];
    struct entry_head head;
    FIRN_TRY(firn_spill_get(op, run->spill, place->offset, place->len, bytes));
    memcpy(&head, bytes->data, sizeof head);
    struct firn_encoded_entry entry = {
        .bytes = { bytes->data + sizeof head, bytes->len - sizeof head },
        .status = FIRN_ENTRY_EXISTING,
        .sequence_number = head.sequence_number,
        .record_count = head.record_count,
        .partition = partition,
    };
    return firn_manifest_output_add_encoded(op, output, &entry);
}

static firn_status take_entries(struct firn_op *op, const struct taking *taking, struct firn_buffer *bytes,
                                struct firn_manifest_output *output)
{
    const struct firn_regrouping *regrouping = taking->run->regrouping;
    uint32_t stretch = find_stretch(regrouping, taking->begin);
    for (uint32_t i = taking->begin; i < taking->end; i++) {
        FIRN_TRY(firn_op_check(op));
        while (regrouping->stretches[stretch].end <= i)
            stretch++;
        FIRN_TRY(take_entry(op, taking->run, regrouping->order[i], &regrouping->stretches[stretch].partition, bytes,
                            output));
    }
    return FIRN_OK;
}

static firn_status take_group(struct firn_op *op, void *context, struct firn_manifest_output *output)
{
    struct firn_buffer bytes = { 0 };
    firn_status status = take_entries(op, context, &bytes, output);
    firn_buffer_done(&bytes);
    return status;
}

static firn_status write_job(struct firn_op *op, void *context, size_t index)
{
    struct regroup_run *run = context;
    const struct firn_regrouped_group *group = &run->regrouping->groups[index];
    struct firn_manifest_run manifests = run_of_group(run, group->is_deletes);
    struct taking taking = { .run = run, .begin = index > 0 ? group[-1].end : 0, .end = group->end };
    run->results[index] = FIRN_NEW(op->arena, struct firn_manifests_written);
    return firn_manifest_run_write(op, &manifests, take_group, &taking, run->results[index]);
}

/* Both ------------------------------------------------------------------------------------------------------------ */

static void collect(struct firn_op *op, const struct regroup_run *run, struct firn_regrouped *out)
{
    struct firn_producer *producer = run->producer;
    for (uint32_t i = 0; i < run->regrouping->group_count; i++) {
        const struct firn_manifests_written *written = run->results[i];
        for (size_t k = 0; written && k < written->begun.count; k++)
            FIRN_PUSH(op->arena, &producer->manifests_begun, written->begun.items[k]);
        for (size_t k = 0; written && k < written->rows.count; k++)
            FIRN_PUSH(op->arena, written->rows.items[k].is_deletes ? &out->deletes : &out->data,
                      written->rows.items[k]);
    }
}

static firn_status read_and_write(struct firn_op *op, struct regroup_run *run, struct firn_regrouped *out)
{
    const struct firn_regrouping *regrouping = run->regrouping;
    FIRN_TRY(firn_pool_run(op, run->producer->pool, regrouping->replaced_count, 0, put_job, run));
    firn_status status = firn_pool_run(op, run->producer->pool, regrouping->group_count, 0, write_job, run);
    collect(op, run, out);
    return status;
}

static firn_status regroup(struct firn_op *op, struct firn_producer *producer, const struct firn_regrouping *regrouping,
                           struct firn_regrouped *out)
{
    struct firn_buffer places = { 0 };
    struct regroup_run run = {
        .producer = producer,
        .regrouping = regrouping,
        .spec = firn_metadata_spec(producer->table->metadata, regrouping->replaced[0].row->spec_id),
        .results = FIRN_NEW_ARRAY(op->arena, struct firn_manifests_written *, regrouping->group_count),
    };
    if (!run.spec)
        return firn_fail(op, FIRN_CORRUPT, "manifest '%.*s' has the unknown partition spec %d",
                         FIRN_FMT(regrouping->replaced[0].row->path), regrouping->replaced[0].row->spec_id);
    FIRN_TRY(firn_spill_open(op, &(struct firn_spill_config){ 0 }, &run.spill));
    firn_status status = firn_buffer_resize(op, &places, regrouping->entry_count * sizeof *run.places);
    run.places = (struct entry_place *)(void *)places.data;
    if (status == FIRN_OK)
        status = read_and_write(op, &run, out);
    firn_buffer_done(&places);
    firn_spill_close(run.spill);
    return status;
}

/* In the attempt ------------------------------------------------------------------------------------------------- */

/* (2) A row that was given another first row id since has entries with other row ids. */
static bool is_as_planned(const struct firn_map *head, const struct firn_manifest_file *planned)
{
    const struct firn_map_entry *found = firn_map_find_text(head, planned->path);
    const struct firn_manifest_file *row = found ? found->value.pointer : NULL;
    return row && row->first_row_id == planned->first_row_id;
}

static firn_status check_replaced(struct firn_op *op, struct firn_producer *producer,
                                  const struct firn_regrouping *regrouping, const struct firn_map *head)
{
    for (uint32_t i = 0; i < regrouping->replaced_count; i++) {
        const struct firn_manifest_file *row = regrouping->replaced[i].row;
        if (is_as_planned(head, row))
            continue;
        producer->is_final = true;
        return firn_hint(op,
                         firn_fail(op, FIRN_CONFLICT, "manifest '%.*s' was replaced meanwhile", FIRN_FMT(row->path)),
                         "run the command again; it plans anew on the current table");
    }
    return FIRN_OK;
}

static void index_rows(struct firn_map *head, struct firn_manifest_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        firn_map_put_text(head, rows->items[i].path)->value.pointer = &rows->items[i];
}

/* The new rows, and behind them those that stay. */
static void replace_rows(struct firn_op *op, const struct firn_map *gone, const struct firn_manifest_rows *written,
                         struct firn_manifest_rows *rows)
{
    struct firn_manifest_rows kept = { 0 };
    for (size_t i = 0; i < written->count; i++)
        FIRN_PUSH(op->arena, &kept, written->items[i]);
    for (size_t i = 0; i < rows->count; i++)
        if (!firn_map_find_text(gone, rows->items[i].path))
            FIRN_PUSH(op->arena, &kept, rows->items[i]);
    *rows = kept;
}

firn_status firn_manifests_regroup(struct firn_op *op, struct firn_producer *producer, struct firn_manifest_rows *data,
                                   struct firn_manifest_rows *deletes, int64_t *replaced)
{
    const struct firn_snapshot_change *change = producer->change;
    struct firn_map head, gone;
    firn_map_init(&head, op->arena);
    firn_map_init(&gone, op->arena);
    index_rows(&head, data);
    index_rows(&head, deletes);
    for (uint32_t i = 0; i < change->regrouping_count; i++)
        FIRN_TRY(check_replaced(op, producer, &change->regroupings[i], &head));
    if (!producer->has_regrouped) {
        producer->regrouped = (struct firn_regrouped){ 0 };
        for (uint32_t i = 0; i < change->regrouping_count; i++)
            FIRN_TRY(regroup(op, producer, &change->regroupings[i], &producer->regrouped));
        producer->has_regrouped = true;
    }
    for (uint32_t i = 0; i < change->regrouping_count; i++)
        for (uint32_t k = 0; k < change->regroupings[i].replaced_count; k++)
            firn_map_put_text(&gone, change->regroupings[i].replaced[k].row->path);
    *replaced += (int64_t)gone.count;
    replace_rows(op, &gone, &producer->regrouped.data, data);
    replace_rows(op, &gone, &producer->regrouped.deletes, deletes);
    return FIRN_OK;
}
