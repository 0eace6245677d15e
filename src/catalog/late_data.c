/* Data files that came since the change was planned, and the equality deletes that it takes for spent.
 *
 * What the planned snapshot shows to be of no use must still be so in the head. Position deletes and vectors are: they
 * name the files they mean, and a file that came later has a name of its own. Equality deletes reach what has a lower
 * sequence number, which no file has that was written since, but for one: a compaction that was planned before the
 * delete gives its outputs the number of the snapshot it was planned on. Such a file keeps the deletes in whose reach
 * it is. It is known by a data sequence number below the number of the commit that added it. */
#include "catalog/producer.h"

#include "base/math.h"
#include "table/delete_index.h"
#include "table/scan.h"

struct late_check {
    struct firn_producer *producer;
    int64_t planned_number;
    struct firn_delete_list spent; /* equality deletes */
    bool kept_any;                 /* one turned out to be needed */
};

/* The spent equality deletes, numbered like the planned snapshot: no lower than any of them. */
static void collect_equality(struct firn_op *op, struct late_check *check)
{
    const struct firn_snapshot_change *change = check->producer->change;
    check->spent.items = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, change->spent_delete_count);
    for (uint32_t i = 0; i < change->spent_delete_count; i++) {
        if (change->spent_deletes[i].content != FIRN_CONTENT_EQUALITY_DELETES)
            continue;
        struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
        entry->sequence_number = check->planned_number;
        entry->file = change->spent_deletes[i];
        check->spent.items[check->spent.count++] = entry;
    }
}

static void check_entry(struct firn_op *op, struct late_check *check, const struct firn_manifest_entry *late)
{
    for (uint32_t i = 0; i < check->spent.count; i++) {
        if (!firn_delete_applies(check->producer->table->metadata, check->spent.items[i], late))
            continue;
        struct firn_text key = firn_delete_file_key(op->arena, &check->spent.items[i]->file);
        struct firn_map_entry *found = firn_map_find_text(&check->producer->spent_deletes, key);
        check->kept_any = check->kept_any || found->value.number != FIRN_STILL_NEEDED;
        found->value.number = FIRN_STILL_NEEDED;
    }
}

static firn_status check_entries(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    struct late_check *check = context;
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        bool is_late = entry->file.content == FIRN_CONTENT_DATA && entry->file_sequence_number > check->planned_number;
        if (is_late && entry->sequence_number < check->planned_number)
            check_entry(op, check, entry);
    }
    return FIRN_OK;
}

firn_status firn_late_data_check(struct firn_op *op, struct firn_producer *producer,
                                 const struct firn_snapshot *planned, const struct firn_manifest_list *rows)
{
    const struct firn_table *table = producer->table;
    struct firn_manifest_read_options options = { .skip_deleted = true, .skip_metrics = true };
    struct late_check check = { .producer = producer, .planned_number = planned->sequence_number };
    collect_equality(op, &check);
    if (check.spent.count == 0)
        return FIRN_OK;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct firn_manifest_file *row = &rows->manifests[i];
        bool may_hold_late =
            row->sequence_number > check.planned_number && row->min_sequence_number < check.planned_number;
        if (may_hold_late && firn_manifest_has_live(row))
            FIRN_TRY(firn_manifest_look(op, table->store, table->metadata, row, options, check_entries, &check));
    }
    if (check.kept_any)
        firn_filtered_forget(op, producer);
    return FIRN_OK;
}
