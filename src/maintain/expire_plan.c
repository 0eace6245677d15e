/* The plan of expire_snapshots: what is chosen as a change to the metadata, the files that go with it, and both in
 * JSON.
 */
#include "maintain/expire_snapshots.h"

#include "base/time.h"
#include "maintain/work.h"

firn_status firn_expiry_decide(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                               struct firn_expiry *expiry)
{
    expiry->base = (struct firn_table_version){ table->metadata_location, table->metadata };
    FIRN_TRY(firn_removal_check_gc(op, table));
    FIRN_TRY(firn_expiry_policy_of(op, table->metadata, &expiry->args, expiry->policy.now_ms, &expiry->policy));
    FIRN_TRY(firn_expiry_choose(op, table->metadata, &expiry->policy, &expiry->choice));
    if (!expiry->args.clean_expired_metadata)
        return FIRN_OK;
    return firn_expiry_choose_model(op, pool, table->store, table->metadata, &expiry->choice);
}

static void add_ids(struct firn_change *change, const char *action, const char *member, const int32_t *ids,
                    size_t count)
{
    if (count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(ids[i]));
    firn_json_set(firn_change_add(change, action), member, list);
}

void firn_expiry_change(const struct firn_expiry *expiry, struct firn_change *out)
{
    const struct firn_expiry_choice *choice = &expiry->choice;
    for (size_t i = 0; i < choice->ref_count; i++)
        firn_json_set_text(firn_change_add(out, "remove-snapshot-ref"), "ref-name", choice->refs[i].ref->name);
    if (choice->snapshot_count > 0) {
        json_t *ids = json_array();
        for (size_t i = 0; i < choice->snapshot_count; i++)
            json_array_append_new(ids, json_integer(choice->snapshots[i].snapshot->id));
        firn_json_set(firn_change_add(out, "remove-snapshots"), "snapshot-ids", ids);
    }
    add_ids(out, "remove-partition-specs", "spec-ids", choice->spec_ids, choice->spec_count);
    add_ids(out, "remove-schemas", "schema-ids", choice->schema_ids, choice->schema_count);
    firn_change_require_table(out, expiry->base.metadata);
    firn_change_require_refs(out, expiry->base.metadata); /* (4) */
    if (choice->spec_count + choice->schema_count > 0)
        firn_change_require_model(out, expiry->base.metadata);
}

static void close_removal(void *subject)
{
    firn_removal_close(subject);
}

firn_status firn_expiry_collect(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                const struct firn_metadata *after, struct firn_expiry *expiry)
{
    const struct firn_expiry_choice *choice = &expiry->choice;
    struct firn_removal_config config = { .pool = pool };
    const struct firn_snapshot **snapshots =
        FIRN_NEW_ARRAY(op->arena, const struct firn_snapshot *, choice->snapshot_count);
    expiry->removal = NULL;
    if (choice->snapshot_count == 0)
        return FIRN_OK;
    for (size_t i = 0; i < choice->snapshot_count; i++)
        snapshots[i] = choice->snapshots[i].snapshot;
    FIRN_TRY(firn_removal_open(op, table, &config, &expiry->removal));
    firn_arena_defer(op->arena, close_removal, expiry->removal);
    FIRN_TRY(firn_removal_keep(op, expiry->removal, after, expiry->base.location));
    FIRN_TRY(firn_removal_add_snapshots(op, expiry->removal, expiry->base.metadata, snapshots, choice->snapshot_count,
                                        FIRN_TEXT("only expired snapshots reach it")));
    return firn_removal_settle(op, expiry->removal);
}

firn_status firn_expiry_after(struct firn_op *op, const struct firn_expiry *expiry, struct firn_metadata **out)
{
    struct firn_change change;
    firn_change_init(op, &change);
    firn_expiry_change(expiry, &change);
    return firn_updates_apply(op, change.updates, expiry->base.metadata, FIRN_TEXT(""), expiry->policy.now_ms, out,
                              NULL);
}

/* As in the reference they are no error: another run may have let them go. */
static void tell_unknown_ids(struct firn_op *op, const struct firn_metadata *metadata,
                             const struct firn_expire_snapshots_args *args)
{
    for (size_t i = 0; i < args->snapshot_id_count; i++)
        if (!firn_metadata_snapshot(metadata, args->snapshot_ids[i]))
            firn_log(op, FIRN_LOG_WARN, "the table has no snapshot %" PRId64 " that could expire",
                     args->snapshot_ids[i]);
}

firn_status firn_expire_snapshots_plan(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                       const struct firn_expire_snapshots_args *args, struct firn_expiry **out)
{
    struct firn_expiry *expiry = FIRN_NEW(op->arena, struct firn_expiry);
    struct firn_metadata *after;
    *expiry = (struct firn_expiry){ .args = *args, .policy.now_ms = firn_now_ms(op), .table_name = table->name };
    tell_unknown_ids(op, table->metadata, args);
    FIRN_TRY(firn_expiry_decide(op, pool, table, expiry));
    FIRN_TRY(firn_expiry_after(op, expiry, &after));
    FIRN_TRY(firn_expiry_collect(op, pool, table, after, expiry));
    *out = expiry;
    return FIRN_OK;
}

/* JSON ---------------------------------------------------------------------------------------------------------------
 */

static json_t *snapshots_json(const struct firn_expiry_choice *choice)
{
    json_t *list = json_array();
    for (size_t i = 0; i < choice->snapshot_count; i++) {
        json_t *item = json_object();
        firn_json_set_i64(item, "snapshot_id", choice->snapshots[i].snapshot->id);
        firn_json_set_i64(item, "timestamp_ms", choice->snapshots[i].snapshot->timestamp_ms);
        firn_json_set_text(item, "reason", firn_text_of(choice->snapshots[i].reason));
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *refs_json(const struct firn_expiry_choice *choice)
{
    json_t *list = json_array();
    for (size_t i = 0; i < choice->ref_count; i++) {
        const struct firn_ref *ref = choice->refs[i].ref;
        json_t *item = json_object();
        firn_json_set_text(item, "ref", ref->name);
        firn_json_set_text(item, "type", ref->type == FIRN_REF_TAG ? FIRN_TEXT("tag") : FIRN_TEXT("branch"));
        firn_json_set_i64(item, "snapshot_id", ref->snapshot_id);
        firn_json_set_text(item, "reason", firn_text_of(choice->refs[i].reason));
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *ids_json(const int32_t *ids, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(ids[i]));
    return list;
}

static json_t *file_json(const struct firn_removal_file *file)
{
    json_t *item = json_object();
    firn_json_set_text(item, "path", file->path);
    firn_json_set_text(item, "type", firn_text_of(firn_table_file_type_name(file->type)));
    firn_json_set(item, "bytes", file->bytes < 0 ? json_null() : json_integer(file->bytes));
    firn_json_set_text(item, "reason", file->reason);
    return item;
}

/* The files, and the procedure's counts as they would be. */
static void set_files(json_t *json, struct firn_removal *removal)
{
    static const struct {
        enum firn_table_file_type type;
        const char *key;
    } counts[] = {
        { FIRN_TABLE_FILE_DATA, "deleted_data_files_count" },
        { FIRN_TABLE_FILE_POSITION_DELETES, "deleted_position_delete_files_count" },
        { FIRN_TABLE_FILE_EQUALITY_DELETES, "deleted_equality_delete_files_count" },
        { FIRN_TABLE_FILE_MANIFEST, "deleted_manifest_files_count" },
        { FIRN_TABLE_FILE_MANIFEST_LIST, "deleted_manifest_lists_count" },
        { FIRN_TABLE_FILE_STATISTICS, "deleted_statistics_files_count" },
    };
    int64_t by_type[FIRN_TABLE_FILE_TYPE_COUNT] = { 0 };
    size_t count = 0;
    const struct firn_removal_file *const *files = removal ? firn_removal_files(removal, &count) : NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        if (files[i]->state != FIRN_REMOVAL_GOES)
            continue;
        by_type[files[i]->type]++;
        json_array_append_new(list, file_json(files[i]));
    }
    firn_json_set(json, "files", list);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        firn_json_set_i64(json, counts[i].key, by_type[counts[i].type]);
}

json_t *firn_expiry_json(struct firn_op *op, const struct firn_expiry *expiry)
{
    const struct firn_expiry_choice *choice = &expiry->choice;
    json_t *json = firn_json_own(op->arena, json_object());
    firn_json_set_text(json, "table", expiry->table_name);
    firn_json_set_text(json, "older_than", firn_timestamp_text(op->arena, expiry->policy.older_than_ms, 1000, ' '));
    firn_json_set_i64(json, "retain_last", expiry->policy.retain_last);
    firn_json_set_i64(json, "kept_snapshots",
                      (int64_t)(expiry->base.metadata->snapshot_count - choice->snapshot_count));
    firn_json_set(json, "snapshots", snapshots_json(choice));
    firn_json_set(json, "refs", refs_json(choice));
    firn_json_set(json, "partition_specs", ids_json(choice->spec_ids, choice->spec_count));
    firn_json_set(json, "schemas", ids_json(choice->schema_ids, choice->schema_count));
    set_files(json, expiry->removal);
    return json;
}

struct firn_work firn_expiry_work(const struct firn_expiry *expiry)
{
    const struct firn_expiry_choice *choice = &expiry->choice;
    struct firn_work work = { 0 };
    size_t count = 0, files = 0;
    if (choice->snapshot_count + choice->ref_count + choice->spec_count + choice->schema_count == 0)
        return work;
    const struct firn_removal_file *const *items = expiry->removal ? firn_removal_files(expiry->removal, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        files += items[i]->state == FIRN_REMOVAL_GOES;
    firn_work_add_change(&work);
    if (!expiry->args.mark)
        firn_work_add_deletions(&work, (int64_t)files);
    return work;
}
