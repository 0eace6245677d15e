/* Requirements and updates, and the commit loop of changes without a snapshot. */
#include "catalog/change.h"

void firn_change_init(struct firn_op *op, struct firn_change *change)
{
    change->requirements = firn_json_own(op->arena, json_array());
    change->updates = firn_json_own(op->arena, json_array());
}

/* An object with one member, appended to `list`. */
static json_t *add_object(json_t *list, const char *key, const char *value)
{
    json_t *object = json_object();
    firn_json_set_text(object, key, firn_text_of(value));
    json_array_append_new(list, object);
    return object;
}

json_t *firn_change_add(struct firn_change *change, const char *action)
{
    return add_object(change->updates, "action", action);
}

void firn_change_require_table(struct firn_change *change, const struct firn_metadata *metadata)
{
    if (metadata->table_uuid.len > 0)
        firn_json_set_text(add_object(change->requirements, "type", "assert-table-uuid"), "uuid", metadata->table_uuid);
}

void firn_change_require_ref(struct firn_change *change, struct firn_text name, int64_t snapshot_id)
{
    json_t *requirement = add_object(change->requirements, "type", "assert-ref-snapshot-id");
    firn_json_set_text(requirement, "ref", name);
    firn_json_set(requirement, "snapshot-id",
                  snapshot_id == FIRN_NO_SNAPSHOT ? json_null() : json_integer(snapshot_id));
}

void firn_change_require_refs(struct firn_change *change, const struct firn_metadata *metadata)
{
    json_t *refs = json_array();
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        const struct firn_ref *ref = &metadata->refs[i];
        firn_change_require_ref(change, ref->name, ref->snapshot_id);
        json_t *item = json_object();
        firn_json_set_text(item, "ref", ref->name);
        firn_json_set_i64(item, "snapshot-id", ref->snapshot_id);
        json_array_append_new(refs, item);
    }
    json_object_set_new(add_object(change->requirements, "type", FIRN_REQUIREMENT_REFS), "refs", refs);
}

void firn_change_require_model(struct firn_change *change, const struct firn_metadata *metadata)
{
    firn_json_set_i64(add_object(change->requirements, "type", "assert-default-spec-id"), "default-spec-id",
                      metadata->default_spec_id);
    firn_json_set_i64(add_object(change->requirements, "type", "assert-current-schema-id"), "current-schema-id",
                      metadata->current_schema_id);
}

void firn_change_require_sort_order(struct firn_change *change, const struct firn_metadata *metadata)
{
    firn_json_set_i64(add_object(change->requirements, "type", "assert-default-sort-order-id"), "default-sort-order-id",
                      metadata->default_sort_order_id);
}

static void set_limit(json_t *json, const char *key, int64_t value)
{
    if (value >= 0)
        firn_json_set_i64(json, key, value);
}

void firn_change_set_ref(struct firn_change *change, const struct firn_ref *ref)
{
    json_t *update = firn_change_add(change, "set-snapshot-ref");
    firn_json_set_text(update, "ref-name", ref->name);
    firn_json_set_text(update, "type", ref->type == FIRN_REF_TAG ? FIRN_TEXT("tag") : FIRN_TEXT("branch"));
    firn_json_set_i64(update, "snapshot-id", ref->snapshot_id);
    set_limit(update, "min-snapshots-to-keep", ref->snapshots_min_keep);
    set_limit(update, "max-snapshot-age-ms", ref->snapshot_age_ms_max);
    set_limit(update, "max-ref-age-ms", ref->ref_age_ms_max);
}

static firn_status attempt(struct firn_op *op, struct firn_table *table, firn_change_decide *decide, void *context)
{
    struct firn_change change;
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_table_refresh(op, table));
    firn_change_init(op, &change);
    FIRN_TRY(decide(op, context, table, &change));
    if (json_array_size(change.updates) == 0)
        return FIRN_OK;
    return firn_catalog_commit(op, table, change.requirements, change.updates);
}

firn_status firn_change_commit(struct firn_op *op, struct firn_table *table, firn_change_decide *decide, void *context)
{
    struct firn_retry_policy policy;
    if (!table->catalog)
        return firn_fail(op, FIRN_USAGE, "table '%.*s' was opened for reading only", FIRN_FMT(table->name));
    FIRN_TRY(firn_retry_policy_of(op, table->metadata, &policy));
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    for (int32_t number = 1;; number++) {
        firn_status status = attempt(op, table, decide, context);
        if (status != FIRN_CONFLICT && status != FIRN_UNAVAILABLE)
            return status;
        firn_log(op, FIRN_LOG_DEBUG, "commit attempt=%d lost: %s", number, op->error.text);
        if (!firn_retry_wait(op, &policy, number, started_ms))
            return firn_context(op, status, "%d attempts to commit", number);
    }
}

firn_status firn_change_run(struct firn_op *op, struct firn_table *table, firn_change_decide *decide, void *context,
                            bool dry_run)
{
    struct firn_change change;
    if (!dry_run)
        return firn_change_commit(op, table, decide, context);
    firn_change_init(op, &change);
    return decide(op, context, table, &change);
}
