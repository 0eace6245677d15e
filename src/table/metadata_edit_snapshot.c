/* Updates of snapshots, references, statistics and the snapshot log.
 * Reference: format-notes.md, 14 ("snapshot-log"), 15.4; Iceberg spec, "Snapshot References", "Row Lineage". */
#include "base/math.h"
#include "table/metadata_edit.h"
#include "table/snapshot_id.h"

/* A new snapshot may be this much older than the table's last change: clocks differ. */
#define CLOCK_SKEW_MS INT64_C(60000)

static const char *const retention_keys[] = { "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms" };

static bool member_is(const json_t *object, const char *key, int64_t id)
{
    int64_t value;
    return firn_snapshot_id_of(json_object_get(object, key), &value) && value == id;
}

static json_t *find_snapshot(const struct firn_edit *edit, int64_t id)
{
    size_t index;
    json_t *snapshot, *snapshots = json_object_get(edit->root, "snapshots");
    json_array_foreach(snapshots, index, snapshot)
    {
        if (member_is(snapshot, "snapshot-id", id))
            return snapshot;
    }
    return NULL;
}

static bool list_has(const int64_t *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Ids in ascending order. */
struct id_set {
    int64_t *ids;
    size_t count;
};

static int compare_ids(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool set_has(const struct id_set *set, int64_t id)
{
    return set->count && bsearch(&id, set->ids, set->count, sizeof id, compare_ids);
}

/* The ids of an array: of its items, or of their member `key`. Items without one are passed over. */
static struct id_set id_set_of(struct firn_arena *arena, const json_t *array, const char *key)
{
    struct id_set set = { .ids = FIRN_NEW_ARRAY(arena, int64_t, json_array_size(array)) };
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        set.count += firn_snapshot_id_of(key ? json_object_get(item, key) : item, &set.ids[set.count]);
    }
    if (set.count)
        qsort(set.ids, set.count, sizeof *set.ids, compare_ids);
    return set;
}

static firn_status check_time(struct firn_op *op, const struct firn_edit *edit, const struct firn_snapshot *snapshot)
{
    int64_t earliest_ms;
    if (!edit->base || __builtin_sub_overflow(edit->base->last_updated_ms, CLOCK_SKEW_MS, &earliest_ms) ||
        snapshot->timestamp_ms >= earliest_ms)
        return FIRN_OK;
    firn_fail(op, FIRN_SYSTEM, "the new snapshot's time, %" PRId64 " ms, is before the table's last change, %" PRId64,
              snapshot->timestamp_ms, edit->base->last_updated_ms);
    return firn_hint(op, FIRN_SYSTEM, "set this machine's clock");
}

static firn_status take_sequence_number(struct firn_op *op, struct firn_edit *edit,
                                        const struct firn_snapshot *snapshot)
{
    int64_t last = 0;
    FIRN_TRY(firn_json_find_i64(op, edit->root, "last-sequence-number", "table metadata", &last, NULL));
    if (snapshot->sequence_number <= last && snapshot->parent_id != FIRN_NO_SNAPSHOT)
        return firn_fail(op, FIRN_CONFLICT,
                         "snapshot %" PRId64 " has sequence number %" PRId64 ", but the table is at %" PRId64,
                         snapshot->id, snapshot->sequence_number, last);
    firn_json_set_i64(edit->root, "last-sequence-number", FIRN_MAX(last, snapshot->sequence_number));
    return FIRN_OK;
}

static firn_status take_row_ids(struct firn_op *op, struct firn_edit *edit, const struct firn_snapshot *snapshot)
{
    int64_t next = 0, after;
    FIRN_TRY(firn_json_find_i64(op, edit->root, "next-row-id", "table metadata", &next, NULL));
    if (!snapshot->has_first_row_id)
        return firn_fail(op, FIRN_USAGE, "snapshot %" PRId64 " has no first-row-id, which version 3 requires",
                         snapshot->id);
    if (snapshot->first_row_id < next)
        return firn_fail(op, FIRN_CONFLICT,
                         "snapshot %" PRId64 " numbers rows from %" PRId64 ", but the table is at %" PRId64,
                         snapshot->id, snapshot->first_row_id, next);
    if (__builtin_add_overflow(snapshot->first_row_id, snapshot->added_rows, &after))
        return firn_fail(op, FIRN_LIMIT, "row ids past the largest number");
    firn_json_set_i64(edit->root, "next-row-id", after);
    return FIRN_OK;
}

firn_status firn_edit_add_snapshot(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    json_t *given;
    struct firn_snapshot snapshot;
    int32_t version = firn_edit_version(edit);
    FIRN_TRY(firn_json_need_object(op, update, "snapshot", "add-snapshot", &given));
    FIRN_TRY(firn_snapshot_parse(op, given, version, &snapshot));
    if (find_snapshot(edit, snapshot.id))
        return firn_fail(op, FIRN_EXISTS, "the table has a snapshot %" PRId64 " already", snapshot.id);
    FIRN_TRY(check_time(op, edit, &snapshot));
    if (version >= 2)
        FIRN_TRY(take_sequence_number(op, edit, &snapshot));
    if (version >= 3)
        FIRN_TRY(take_row_ids(op, edit, &snapshot));
    json_t *copy = json_deep_copy(given);
    if (version < 2)
        json_object_del(copy, "sequence-number");
    json_array_append_new(firn_edit_array(edit, "snapshots"), copy);
    edit->updated_ms = snapshot.timestamp_ms;
    FIRN_PUSH(op->arena, &edit->added_snapshots, snapshot.id);
    return FIRN_OK;
}

static json_t *ref_json(const json_t *old, const json_t *update, const json_t *snapshot_id)
{
    json_t *ref = old ? json_deep_copy(old) : json_object();
    firn_json_set(ref, "snapshot-id", json_deep_copy(snapshot_id));
    firn_json_set(ref, "type", json_deep_copy(json_object_get(update, "type")));
    for (size_t i = 0; i < FIRN_COUNT_OF(retention_keys); i++) {
        const json_t *value = json_object_get(update, retention_keys[i]);
        if (value && !json_is_null(value))
            firn_json_set(ref, retention_keys[i], json_deep_copy(value));
        else
            json_object_del(ref, retention_keys[i]);
    }
    return ref;
}

/* Older metadata has no `refs`: main is what current-snapshot-id says. */
static json_t *refs_of(struct firn_edit *edit)
{
    json_t *refs = firn_edit_object(edit, "refs");
    const json_t *current = json_object_get(edit->root, "current-snapshot-id");
    int64_t id;
    if (json_object_get(refs, "main") || !firn_snapshot_id_of(current, &id) || id == FIRN_NO_SNAPSHOT)
        return refs;
    json_t *main = json_object();
    firn_json_set(main, "snapshot-id", json_deep_copy(current));
    firn_json_set_text(main, "type", FIRN_TEXT("branch"));
    firn_json_set(refs, "main", main);
    return refs;
}

/* main's head changes: a new snapshot is logged with its own time, a known one with this moment. */
static void move_main(struct firn_op *op, struct firn_edit *edit, const json_t *snapshot, int64_t id)
{
    json_t *entry = json_object();
    if (list_has(edit->added_snapshots.items, edit->added_snapshots.count, id)) {
        edit->updated_ms = json_integer_value(json_object_get(snapshot, "timestamp-ms"));
        FIRN_PUSH(op->arena, &edit->heads, id);
    } else if (edit->updated_ms < 0) {
        edit->updated_ms = edit->now_ms;
    }
    firn_json_set_i64(entry, "timestamp-ms", edit->updated_ms);
    firn_json_set(entry, "snapshot-id", json_deep_copy(json_object_get(snapshot, "snapshot-id")));
    json_array_append_new(firn_edit_array(edit, "snapshot-log"), entry);
    firn_json_set(edit->root, "current-snapshot-id", json_deep_copy(json_object_get(snapshot, "snapshot-id")));
}

firn_status firn_edit_set_ref(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    struct firn_text name;
    struct firn_ref ref;
    FIRN_TRY(firn_json_need_text(op, update, "ref-name", "set-snapshot-ref", &name));
    FIRN_TRY(firn_ref_parse(op, name, update, &ref));
    const json_t *snapshot = find_snapshot(edit, ref.snapshot_id);
    if (!snapshot)
        return firn_fail(op, FIRN_NOT_FOUND, "'%.*s' cannot point to snapshot %" PRId64 ": the table does not have it",
                         FIRN_FMT(name), ref.snapshot_id);
    json_t *refs = refs_of(edit);
    const json_t *old = json_object_getn(refs, name.data, name.len);
    json_t *new = ref_json(old, update, json_object_get(snapshot, "snapshot-id"));
    bool same = old && json_equal(old, new);
    json_object_setn_new(refs, name.data, name.len, new);
    if (!same && firn_text_is(name, "main"))
        move_main(op, edit, snapshot, ref.snapshot_id);
    return FIRN_OK;
}

static void drop_ref(struct firn_edit *edit, const char *name, size_t len)
{
    bool main = firn_text_is((struct firn_text){ name, len }, "main");
    json_object_deln(firn_edit_object(edit, "refs"), name, len);
    if (!main)
        return;
    bool null = firn_edit_version(edit) >= 3;
    firn_json_set(edit->root, "current-snapshot-id", null ? json_null() : json_integer(FIRN_NO_SNAPSHOT));
    json_array_clear(firn_edit_array(edit, "snapshot-log"));
}

firn_status firn_edit_remove_ref(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    struct firn_text name;
    FIRN_TRY(firn_json_need_text(op, update, "ref-name", "remove-snapshot-ref", &name));
    if (json_object_getn(refs_of(edit), name.data, name.len))
        drop_ref(edit, name.data, name.len);
    return FIRN_OK;
}

/* Takes the items whose `snapshot-id` is one of `ids` out of an array member. */
static void drop_items(struct firn_edit *edit, const char *key, const struct id_set *ids)
{
    size_t index;
    json_t *item, *items = json_object_get(edit->root, key);
    if (!json_is_array(items))
        return;
    json_t *kept = json_array();
    json_array_foreach(items, index, item)
    {
        int64_t id;
        if (!firn_snapshot_id_of(json_object_get(item, "snapshot-id"), &id) || !set_has(ids, id))
            json_array_append(kept, item);
    }
    firn_json_set(edit->root, key, kept);
}

/* References to snapshots that are gone go too. */
static void drop_dangling_refs(struct firn_edit *edit, const struct id_set *ids)
{
    const char *name;
    size_t len;
    void *next;
    json_t *ref, *refs = refs_of(edit);
    json_object_keylen_foreach_safe(refs, next, name, len, ref)
    {
        int64_t id;
        if (firn_snapshot_id_of(json_object_get(ref, "snapshot-id"), &id) && set_has(ids, id))
            drop_ref(edit, name, len);
    }
}

firn_status firn_edit_remove_snapshots(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    json_t *given;
    FIRN_TRY(firn_json_need_array(op, update, "snapshot-ids", "remove-snapshots", &given));
    struct id_set ids = id_set_of(op->arena, given, NULL);
    if (ids.count < json_array_size(given))
        return firn_fail(op, FIRN_CORRUPT, "remove-snapshots: an id is not a number");
    if (ids.count == 0)
        return FIRN_OK;
    drop_items(edit, "snapshots", &ids);
    drop_items(edit, "statistics", &ids);
    drop_items(edit, "partition-statistics", &ids);
    drop_dangling_refs(edit, &ids);
    edit->snapshots_removed = true;
    return FIRN_OK;
}

static firn_status set_statistics(struct firn_op *op, struct firn_edit *edit, const json_t *update, const char *member,
                                  const char *key)
{
    json_t *file;
    int64_t id;
    FIRN_TRY(firn_json_need_object(op, update, member, "statistics update", &file));
    FIRN_TRY(firn_snapshot_id_need(op, file, "snapshot-id", member, &id));
    drop_items(edit, key, &(struct id_set){ &id, 1 });
    json_array_append_new(firn_edit_array(edit, key), json_deep_copy(file));
    return FIRN_OK;
}

static firn_status remove_statistics(struct firn_op *op, struct firn_edit *edit, const json_t *update, const char *key)
{
    int64_t id;
    FIRN_TRY(firn_snapshot_id_need(op, update, "snapshot-id", "statistics update", &id));
    drop_items(edit, key, &(struct id_set){ &id, 1 });
    return FIRN_OK;
}

firn_status firn_edit_set_statistics(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    return set_statistics(op, edit, update, "statistics", "statistics");
}

firn_status firn_edit_remove_statistics(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    return remove_statistics(op, edit, update, "statistics");
}

firn_status firn_edit_set_partition_statistics(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    return set_statistics(op, edit, update, "partition-statistics", "partition-statistics");
}

firn_status firn_edit_remove_partition_statistics(struct firn_op *op, struct firn_edit *edit, const json_t *update)
{
    return remove_statistics(op, edit, update, "partition-statistics");
}

static bool is_intermediate(const struct firn_edit *edit, int64_t id)
{
    return list_has(edit->heads.items, edit->heads.count, id) && !member_is(edit->root, "current-snapshot-id", id);
}

/* A gap would make the entry before it seem current for too long: history before a removed snapshot is dropped. */
void firn_edit_finish_snapshot_log(struct firn_op *op, struct firn_edit *edit)
{
    size_t index;
    json_t *entry, *log = json_object_get(edit->root, "snapshot-log");
    if (!json_is_array(log) || (!edit->snapshots_removed && edit->heads.count == 0))
        return;
    struct id_set snapshots = id_set_of(op->arena, json_object_get(edit->root, "snapshots"), "snapshot-id");
    json_t *kept = json_array();
    json_array_foreach(log, index, entry)
    {
        int64_t id;
        bool known = firn_snapshot_id_of(json_object_get(entry, "snapshot-id"), &id) && set_has(&snapshots, id);
        if (known && !is_intermediate(edit, id))
            json_array_append(kept, entry);
        else if (!known && edit->snapshots_removed)
            json_array_clear(kept);
    }
    firn_json_set(edit->root, "snapshot-log", kept);
}
