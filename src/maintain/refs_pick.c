/* Cherry-picking: what a snapshot changed, committed anew on main. Reference: procedures.md, 9, "Cherry-pick". */
#include "firn/refs.h"

#include "base/map.h"
#include "catalog/change.h"
#include "catalog/snapshot_producer.h"
#include "table/scan.h"

struct picking {
    const struct firn_refs *refs;
    int64_t id;
    const struct firn_snapshot *snapshot; /* of the newest metadata */
    bool is_append;
    bool is_replacement; /* of whole partitions */
    bool needs_commit;   /* main cannot simply move */
    FIRN_ARRAY(struct firn_data_file) added, removed;
    struct firn_map partitions; /* keys of those it added files to */
    struct firn_pick *out;
};

static struct firn_text summary_text(const struct firn_snapshot *snapshot, const char *key)
{
    return firn_text_of(json_string_value(json_object_get(snapshot->summary, key)));
}

static firn_status read_picked(struct firn_op *op, struct picking *picking, const struct firn_metadata *metadata)
{
    picking->snapshot = firn_metadata_snapshot(metadata, picking->id);
    if (!picking->snapshot)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no snapshot %" PRId64, picking->id);
    picking->is_append = firn_text_is(picking->snapshot->operation, "append");
    picking->is_replacement = firn_text_is(picking->snapshot->operation, "overwrite") &&
                              firn_text_is(summary_text(picking->snapshot, "replace-partitions"), "true");
    return FIRN_OK;
}

/* main may simply move: the picked snapshot follows its head. */
static bool is_next(const struct firn_metadata *metadata, const struct firn_snapshot *picked)
{
    return picked->parent_id == metadata->current_snapshot_id;
}

/* What main's history says against picking --------------------------------------------------------------------------
 */

static firn_status refuse(struct firn_op *op, const struct picking *picking, const char *why)
{
    return firn_fail(op, FIRN_USAGE, "snapshot %" PRId64 " cannot be picked: %s", picking->id, why);
}

static bool is_same_number(struct firn_text text, int64_t number)
{
    int64_t value;
    return firn_text_to_i64(text, &value) && value == number;
}

static firn_status check_ancestor(struct firn_op *op, const struct picking *picking,
                                  const struct firn_snapshot *ancestor)
{
    struct firn_text wap_id = summary_text(picking->snapshot, "wap.id");
    if (ancestor->id == picking->id)
        return refuse(op, picking, "it is in main's history already");
    if (is_same_number(summary_text(ancestor, "source-snapshot-id"), picking->id))
        return firn_fail(op, FIRN_USAGE, "snapshot %" PRId64 " was picked already, as snapshot %" PRId64, picking->id,
                         ancestor->id);
    if (wap_id.len > 0 && (firn_text_same(summary_text(ancestor, "wap.id"), wap_id) ||
                           firn_text_same(summary_text(ancestor, "published-wap-id"), wap_id)))
        return firn_fail(op, FIRN_USAGE, "the changes of wap.id '%.*s' were published already, by snapshot %" PRId64,
                         FIRN_FMT(wap_id), ancestor->id);
    return FIRN_OK;
}

static firn_status check_history(struct firn_op *op, const struct picking *picking,
                                 const struct firn_metadata *metadata)
{
    const struct firn_snapshot *at = firn_metadata_current(metadata);
    for (uint32_t i = 0; at && i < metadata->snapshot_count; i++) { /* bounded: a chain may be a ring */
        FIRN_TRY(check_ancestor(op, picking, at));
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    return FIRN_OK;
}

/* What the snapshot changed -----------------------------------------------------------------------------------------
 */

static firn_status partition_key(struct firn_op *op, const struct firn_data_file *file, struct firn_bytes *out)
{
    struct firn_buffer *key = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, key);
    FIRN_TRY(firn_buffer_append(op, key, &file->spec_id, sizeof file->spec_id));
    FIRN_TRY(firn_partition_key(op, &file->partition, key));
    *out = firn_buffer_bytes(key);
    return FIRN_OK;
}

/* Calls `take` for the entries of data files that a snapshot itself added or removed. */
typedef firn_status take_entry(struct firn_op *op, struct picking *picking, const struct firn_manifest_entry *entry);

static firn_status take_own_entries(struct firn_op *op, struct picking *picking, const struct firn_metadata *metadata,
                                    const struct firn_snapshot *snapshot, take_entry *take)
{
    struct firn_store *store = picking->refs->table->store;
    struct firn_manifest_list list;
    FIRN_TRY(firn_snapshot_manifests(op, store, metadata, snapshot, &list));
    for (uint32_t i = 0; i < list.count; i++) {
        struct firn_manifest manifest;
        if (list.manifests[i].added_snapshot_id != snapshot->id)
            continue;
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_manifest_read(op, store, metadata, &list.manifests[i], (struct firn_manifest_read_options){ 0 },
                                    &manifest));
        for (uint32_t k = 0; k < manifest.count; k++) {
            const struct firn_manifest_entry *entry = &manifest.entries[k];
            if (entry->status != FIRN_ENTRY_EXISTING && entry->snapshot_id == snapshot->id &&
                entry->file.content == FIRN_CONTENT_DATA)
                FIRN_TRY(take(op, picking, entry));
        }
    }
    return FIRN_OK;
}

static firn_status take_picked(struct firn_op *op, struct picking *picking, const struct firn_manifest_entry *entry)
{
    struct firn_bytes key;
    if (entry->status == FIRN_ENTRY_DELETED) {
        FIRN_PUSH(op->arena, &picking->removed, entry->file);
        return FIRN_OK;
    }
    FIRN_TRY(partition_key(op, &entry->file, &key));
    firn_map_put(&picking->partitions, key);
    FIRN_PUSH(op->arena, &picking->added, entry->file);
    return FIRN_OK;
}

static firn_status check_untouched(struct firn_op *op, struct picking *picking, const struct firn_manifest_entry *entry)
{
    struct firn_bytes key;
    if (entry->status == FIRN_ENTRY_DELETED)
        return FIRN_OK;
    FIRN_TRY(partition_key(op, &entry->file, &key));
    if (!firn_map_find(&picking->partitions, key))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE,
                     "snapshot %" PRId64 " cannot be picked: '%.*s' came to a partition that it replaces", picking->id,
                     FIRN_FMT(entry->file.path));
}

/* A replacement of partitions holds only for what they were when it was made. */
static firn_status check_partitions(struct firn_op *op, struct picking *picking, const struct firn_metadata *metadata)
{
    const struct firn_snapshot *picked = firn_metadata_snapshot(metadata, picking->id);
    const struct firn_snapshot *at = firn_metadata_current(metadata);
    if (!picked)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no snapshot %" PRId64 " any more", picking->id);
    if (picked->parent_id != FIRN_NO_SNAPSHOT &&
        !firn_metadata_is_ancestor(metadata, metadata->current_snapshot_id, picked->parent_id))
        return refuse(op, picking, "it replaces partitions of a state that is not in main's history");
    for (uint32_t i = 0; at && at->id != picked->parent_id && i < metadata->snapshot_count; i++) {
        FIRN_TRY(take_own_entries(op, picking, metadata, at, check_untouched));
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    return FIRN_OK;
}

/* Committing it anew ------------------------------------------------------------------------------------------------
 */

static firn_status check_still_good(struct firn_op *op, void *context, const struct firn_metadata *metadata)
{
    struct picking *picking = context;
    FIRN_TRY(check_history(op, picking, metadata));
    return picking->is_replacement ? check_partitions(op, picking, metadata) : FIRN_OK;
}

static firn_status commit_anew(struct firn_op *op, struct picking *picking)
{
    struct firn_table *table = picking->refs->table;
    struct firn_text wap_id = summary_text(picking->snapshot, "wap.id");
    const struct firn_text properties[][2] = {
        { FIRN_TEXT("source-snapshot-id"), firn_text_format(op->arena, "%" PRId64, picking->id) },
        { picking->is_replacement ? FIRN_TEXT("replace-partitions") : FIRN_TEXT("published-wap-id"),
          picking->is_replacement ? FIRN_TEXT("true") : wap_id },
    };
    struct firn_base_check check = { .holds = check_still_good, .context = picking };
    struct firn_snapshot_result result;
    firn_map_init(&picking->partitions, op->arena);
    FIRN_TRY(take_own_entries(op, picking, table->metadata, picking->snapshot, take_picked));
    struct firn_snapshot_change change = {
        .operation = picking->snapshot->operation,
        .branch = FIRN_TEXT("main"),
        .check = &check,
        .added = picking->added.items,
        .added_count = (uint32_t)picking->added.count,
        .added_sequence_number = FIRN_ABSENT,
        .removed = picking->removed.items,
        .removed_count = picking->is_replacement ? (uint32_t)picking->removed.count : 0,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .properties = properties,
        .property_count = picking->is_replacement || wap_id.len > 0 ? 2 : 1,
    };
    FIRN_TRY(firn_snapshot_commit(op, picking->refs->pool, table, &change, &result));
    picking->out->has_current = true;
    picking->out->current_snapshot_id = result.snapshot_id;
    return FIRN_OK;
}

static void move_main(const struct picking *picking, const struct firn_metadata *metadata, struct firn_change *out)
{
    const struct firn_ref *main = firn_metadata_ref(metadata, FIRN_TEXT("main"));
    struct firn_ref new = {
        .name = FIRN_TEXT("main"), .snapshots_min_keep = -1, .snapshot_age_ms_max = -1, .ref_age_ms_max = -1
    };
    if (main)
        new = *main;
    new.snapshot_id = picking->id;
    firn_change_require_table(out, metadata);
    firn_change_require_ref(out, new.name, metadata->current_snapshot_id);
    firn_change_set_ref(out, &new);
}

static firn_status decide(struct firn_op *op, void *context, const struct firn_table *table, struct firn_change *out)
{
    struct picking *picking = context;
    FIRN_TRY(read_picked(op, picking, table->metadata));
    *picking->out = (struct firn_pick){ .source_snapshot_id = picking->id };
    picking->needs_commit = !is_next(table->metadata, picking->snapshot);
    if (!picking->needs_commit) {
        picking->out->has_current = true;
        picking->out->current_snapshot_id = picking->id;
        move_main(picking, table->metadata, out);
        return FIRN_OK;
    }
    FIRN_TRY(check_history(op, picking, table->metadata));
    if (picking->is_append || picking->is_replacement)
        return FIRN_OK;
    return refuse(op, picking,
                  "it neither follows the current snapshot, nor appends files or replaces whole partitions");
}

firn_status firn_cherrypick_snapshot(struct firn_op *op, const struct firn_refs *refs, int64_t snapshot_id,
                                     struct firn_pick *out)
{
    struct picking picking = { .refs = refs, .id = snapshot_id, .out = out };
    struct firn_change unused;
    firn_change_init(op, &unused);
    if (refs->dry_run)
        return decide(op, &picking, refs->table, &unused);
    FIRN_TRY(firn_change_commit(op, refs->table, decide, &picking));
    return picking.needs_commit ? commit_anew(op, &picking) : FIRN_OK;
}

firn_status firn_publish_changes(struct firn_op *op, const struct firn_refs *refs, struct firn_text wap_id,
                                 struct firn_pick *out)
{
    const struct firn_metadata *metadata = refs->table->metadata;
    const struct firn_snapshot *found = NULL;
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        const struct firn_snapshot *snapshot = &metadata->snapshots[i];
        if (wap_id.len == 0 || !firn_text_same(summary_text(snapshot, "wap.id"), wap_id))
            continue;
        if (found)
            return firn_fail(op, FIRN_USAGE, "several snapshots have the wap.id '%.*s'", FIRN_FMT(wap_id));
        found = snapshot;
    }
    if (!found)
        return firn_fail(op, FIRN_NOT_FOUND, "no snapshot has the wap.id '%.*s'", FIRN_FMT(wap_id));
    return firn_cherrypick_snapshot(op, refs, found->id, out);
}
