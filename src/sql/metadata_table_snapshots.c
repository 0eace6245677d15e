/* What metadata.json alone tells: snapshots, history, refs, metadata_log_entries. Reference: format-notes.md, 18. */
#include "base/math.h"
#include "sql/json_out.h"
#include "sql/metadata_table.h"

/* All four walk an array of the metadata. */
struct walk {
    const struct firn_metadata_view *view;
    const struct firn_metadata_request *request;
    uint32_t next; /* the row after the current one */
};

static firn_status open_walk(struct firn_op *op, const struct firn_metadata_table *kind,
                             const struct firn_metadata_view *view, const struct firn_metadata_request *request,
                             void **cursor)
{
    (void)kind;
    struct walk *walk = FIRN_NEW(op->arena, struct walk);
    *walk = (struct walk){ .view = view, .request = request };
    *cursor = walk;
    return FIRN_OK;
}

static firn_status walk_on(struct walk *walk, uint32_t count, bool *got)
{
    *got = walk->next < count;
    walk->next += *got;
    return FIRN_OK;
}

static firn_status columns_of(struct firn_op *op, const struct firn_metadata_column_fact *facts, uint32_t count,
                              struct firn_metadata_columns *out)
{
    struct firn_metadata_column *items = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, count);
    firn_metadata_columns_of(facts, count, items);
    *out = (struct firn_metadata_columns){ items, count };
    return FIRN_OK;
}

static const struct firn_metadata *metadata_of(const struct walk *walk)
{
    return walk->view->table->metadata;
}

/* snapshots ------------------------------------------------------------------------------------------------------- */

enum { SNAPSHOT_COMMITTED_AT, SNAPSHOT_ID, SNAPSHOT_PARENT, SNAPSHOT_OPERATION, SNAPSHOT_LIST, SNAPSHOT_SUMMARY };

static const struct firn_metadata_column_fact snapshot_facts[] = {
    { "committed_at", "timestamp" }, { "snapshot_id", "bigint" },   { "parent_id", "bigint" },
    { "operation", "string" },       { "manifest_list", "string" }, { "summary", "map<string,string>" },
};

static firn_status snapshots_columns(struct firn_op *op, const struct firn_metadata_view *view,
                                     struct firn_metadata_columns *out)
{
    (void)view;
    return columns_of(op, snapshot_facts, FIRN_COUNT_OF(snapshot_facts), out);
}

static firn_status snapshots_next(struct firn_op *op, void *cursor, bool *got)
{
    struct walk *walk = cursor;
    (void)op;
    return walk_on(walk, metadata_of(walk)->snapshot_count, got);
}

/* All of a summary but the operation, which has a column. */
static firn_status summary_cell(struct firn_op *op, const json_t *summary, struct firn_cell *out)
{
    const char *key;
    const json_t *value;
    if (!summary)
        return FIRN_OK;
    struct firn_json_out json = firn_json_out_of(op, out->scratch);
    firn_json_out_begin(&json, '{');
    json_object_foreach((json_t *)(uintptr_t)summary, key, value)
    {
        if (strcmp(key, "operation") == 0 || !json_is_string(value))
            continue;
        firn_json_out_key(&json, firn_text_of(key));
        firn_json_out_text(&json, (struct firn_text){ json_string_value(value), json_string_length(value) });
    }
    firn_json_out_end(&json, '}');
    return firn_cell_json(out, &json);
}

static bool states_operation(const struct firn_snapshot *snapshot)
{
    return snapshot->summary && json_object_get(snapshot->summary, "operation");
}

static firn_status snapshots_cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path,
                                  struct firn_cell *out)
{
    struct walk *walk = cursor;
    const struct firn_snapshot *snapshot = &metadata_of(walk)->snapshots[walk->next - 1];
    switch (path->steps[0]) {
    case SNAPSHOT_COMMITTED_AT:
        firn_cell_timestamp_ms(op->arena, out, snapshot->timestamp_ms);
        break;
    case SNAPSHOT_ID:
        firn_cell_i64(out, snapshot->id);
        break;
    case SNAPSHOT_PARENT:
        firn_cell_i64_unless(out, snapshot->parent_id, FIRN_NO_SNAPSHOT);
        break;
    case SNAPSHOT_OPERATION:
        if (states_operation(snapshot))
            firn_cell_text(out, snapshot->operation);
        break;
    case SNAPSHOT_LIST:
        if (snapshot->manifest_list.len)
            firn_cell_text(out, snapshot->manifest_list);
        break;
    default:
        return summary_cell(op, snapshot->summary, out);
    }
    return FIRN_OK;
}

const struct firn_metadata_table firn_snapshots_table = {
    .name = "snapshots",
    .columns = snapshots_columns,
    .open = open_walk,
    .next = snapshots_next,
    .cell = snapshots_cell,
};

/* history --------------------------------------------------------------------------------------------------------- */

enum { HISTORY_MADE_CURRENT_AT, HISTORY_SNAPSHOT, HISTORY_PARENT, HISTORY_IS_ANCESTOR };

static const struct firn_metadata_column_fact history_facts[] = {
    { "made_current_at", "timestamp" },
    { "snapshot_id", "bigint" },
    { "parent_id", "bigint" },
    { "is_current_ancestor", "boolean" },
};

static firn_status history_columns(struct firn_op *op, const struct firn_metadata_view *view,
                                   struct firn_metadata_columns *out)
{
    (void)view;
    return columns_of(op, history_facts, FIRN_COUNT_OF(history_facts), out);
}

static firn_status history_next(struct firn_op *op, void *cursor, bool *got)
{
    struct walk *walk = cursor;
    (void)op;
    return walk_on(walk, metadata_of(walk)->snapshot_log_count, got);
}

static firn_status history_cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path,
                                struct firn_cell *out)
{
    struct walk *walk = cursor;
    const struct firn_metadata *metadata = metadata_of(walk);
    const struct firn_snapshot_log_entry *entry = &metadata->snapshot_log[walk->next - 1];
    const struct firn_snapshot *snapshot = firn_metadata_snapshot(metadata, entry->snapshot_id);
    switch (path->steps[0]) {
    case HISTORY_MADE_CURRENT_AT:
        firn_cell_timestamp_ms(op->arena, out, entry->timestamp_ms);
        break;
    case HISTORY_SNAPSHOT:
        firn_cell_i64(out, entry->snapshot_id);
        break;
    case HISTORY_PARENT:
        if (snapshot)
            firn_cell_i64_unless(out, snapshot->parent_id, FIRN_NO_SNAPSHOT);
        break;
    default:
        firn_cell_i64(out, firn_metadata_is_ancestor(metadata, metadata->current_snapshot_id, entry->snapshot_id));
        break;
    }
    return FIRN_OK;
}

const struct firn_metadata_table firn_history_table = {
    .name = "history",
    .columns = history_columns,
    .open = open_walk,
    .next = history_next,
    .cell = history_cell,
};

/* refs ------------------------------------------------------------------------------------------------------------ */

enum { REF_NAME, REF_TYPE, REF_SNAPSHOT, REF_AGE, REF_SNAPSHOTS_KEPT, REF_SNAPSHOT_AGE };
enum { REF_NOT_SET = -1 };

static const struct firn_metadata_column_fact ref_facts[] = {
    { "name", "string" },
    { "type", "string" },
    { "snapshot_id", "bigint" },
    { "max_reference_age_in_ms", "bigint" },
    { "min_snapshots_to_keep", "int" },
    { "max_snapshot_age_in_ms", "bigint" },
};

static firn_status refs_columns(struct firn_op *op, const struct firn_metadata_view *view,
                                struct firn_metadata_columns *out)
{
    (void)view;
    return columns_of(op, ref_facts, FIRN_COUNT_OF(ref_facts), out);
}

static firn_status refs_next(struct firn_op *op, void *cursor, bool *got)
{
    struct walk *walk = cursor;
    (void)op;
    return walk_on(walk, metadata_of(walk)->ref_count, got);
}

static firn_status refs_cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path,
                             struct firn_cell *out)
{
    struct walk *walk = cursor;
    const struct firn_ref *ref = &metadata_of(walk)->refs[walk->next - 1];
    (void)op;
    switch (path->steps[0]) {
    case REF_NAME:
        firn_cell_text(out, ref->name);
        break;
    case REF_TYPE:
        firn_cell_text(out, ref->type == FIRN_REF_TAG ? FIRN_TEXT("TAG") : FIRN_TEXT("BRANCH"));
        break;
    case REF_SNAPSHOT:
        firn_cell_i64(out, ref->snapshot_id);
        break;
    case REF_AGE:
        firn_cell_i64_unless(out, ref->ref_age_ms_max, REF_NOT_SET);
        break;
    case REF_SNAPSHOTS_KEPT:
        firn_cell_i64_unless(out, ref->snapshots_min_keep, REF_NOT_SET);
        break;
    default:
        firn_cell_i64_unless(out, ref->snapshot_age_ms_max, REF_NOT_SET);
        break;
    }
    return FIRN_OK;
}

const struct firn_metadata_table firn_refs_table = {
    .name = "refs",
    .columns = refs_columns,
    .open = open_walk,
    .next = refs_next,
    .cell = refs_cell,
};

/* metadata_log_entries -------------------------------------------------------------------------------------------- */

enum { LOG_TIMESTAMP, LOG_FILE, LOG_SNAPSHOT, LOG_SCHEMA, LOG_SEQUENCE_NUMBER };

static const struct firn_metadata_column_fact log_facts[] = {
    { "timestamp", "timestamp" },           { "file", "string" },
    { "latest_snapshot_id", "bigint" },     { "latest_schema_id", "int" },
    { "latest_sequence_number", "bigint" },
};

static firn_status log_columns(struct firn_op *op, const struct firn_metadata_view *view,
                               struct firn_metadata_columns *out)
{
    (void)view;
    return columns_of(op, log_facts, FIRN_COUNT_OF(log_facts), out);
}

/* The files before, and the current one. */
static firn_status log_next(struct firn_op *op, void *cursor, bool *got)
{
    struct walk *walk = cursor;
    (void)op;
    return walk_on(walk, metadata_of(walk)->metadata_log_count + 1, got);
}

static struct firn_metadata_log_entry log_entry(const struct walk *walk)
{
    const struct firn_metadata *metadata = metadata_of(walk);
    if (walk->next <= metadata->metadata_log_count)
        return metadata->metadata_log[walk->next - 1];
    return (struct firn_metadata_log_entry){ metadata->last_updated_ms, walk->view->table->metadata_location };
}

/* What was current then by the snapshot log, though it may have been expired since; FIRN_NO_SNAPSHOT: nothing was. */
static int64_t snapshot_id_at(const struct firn_metadata *metadata, int64_t timestamp_ms)
{
    int64_t id = FIRN_NO_SNAPSHOT;
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++)
        if (metadata->snapshot_log[i].timestamp_ms <= timestamp_ms)
            id = metadata->snapshot_log[i].snapshot_id;
    return id;
}

static firn_status log_cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path,
                            struct firn_cell *out)
{
    struct firn_metadata_log_entry entry = log_entry(cursor);
    int64_t snapshot_id = snapshot_id_at(metadata_of(cursor), entry.timestamp_ms);
    const struct firn_snapshot *snapshot = firn_metadata_snapshot(metadata_of(cursor), snapshot_id);
    switch (path->steps[0]) {
    case LOG_TIMESTAMP:
        firn_cell_timestamp_ms(op->arena, out, entry.timestamp_ms);
        break;
    case LOG_FILE:
        firn_cell_text(out, entry.metadata_file);
        break;
    case LOG_SNAPSHOT:
        firn_cell_i64_unless(out, snapshot_id, FIRN_NO_SNAPSHOT);
        break;
    case LOG_SCHEMA:
        if (snapshot && snapshot->has_schema_id)
            firn_cell_i64(out, snapshot->schema_id);
        break;
    default:
        if (snapshot)
            firn_cell_i64(out, snapshot->sequence_number);
        break;
    }
    return FIRN_OK;
}

const struct firn_metadata_table firn_metadata_log_entries_table = {
    .name = "metadata_log_entries",
    .columns = log_columns,
    .open = open_walk,
    .next = log_next,
    .cell = log_cell,
};
