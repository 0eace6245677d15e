/* One snapshot in the REST catalog's language: requirements and updates.
 * REST catalog specification, "TableRequirement", "TableUpdate"; Iceberg spec, "Snapshots". */
#include "catalog/producer.h"

#include "base/math.h"

static json_t *snapshot_json(struct firn_op *op, const struct firn_producer *producer,
                             const struct firn_attempt *attempt)
{
    const struct firn_snapshot_change *change = producer->change;
    const struct firn_metadata *metadata = producer->table->metadata;
    json_t *json = json_object();
    firn_json_set_i64(json, "snapshot-id", producer->snapshot_id);
    if (attempt->head)
        firn_json_set_i64(json, "parent-snapshot-id", attempt->head->id);
    if (metadata->format_version > 1)
        firn_json_set_i64(json, "sequence-number", attempt->sequence_number);
    firn_json_set_i64(json, "timestamp-ms", FIRN_MAX(firn_now_ms(op), metadata->last_updated_ms));
    json_object_set(json, "summary",
                    firn_summary_json(op, &attempt->summary, change->operation, attempt->head, change->properties,
                                      change->property_count));
    firn_json_set_text(json, "manifest-list", attempt->list_path);
    firn_json_set_i64(json, "schema-id", metadata->current_schema_id);
    if (metadata->format_version > 2) {
        firn_json_set_i64(json, "first-row-id", metadata->next_row_id);
        firn_json_set_i64(json, "added-rows", attempt->next_row_id - metadata->next_row_id);
    }
    return json;
}

static void set_limit(json_t *json, const char *key, int64_t value)
{
    if (value >= 0)
        firn_json_set_i64(json, key, value);
}

/* The branch keeps its own retention. */
static json_t *set_ref_json(const struct firn_producer *producer, const struct firn_attempt *attempt)
{
    json_t *json = json_object();
    firn_json_set_text(json, "action", FIRN_TEXT("set-snapshot-ref"));
    firn_json_set_text(json, "ref-name", producer->change->branch);
    firn_json_set_text(json, "type", FIRN_TEXT("branch"));
    firn_json_set_i64(json, "snapshot-id", producer->snapshot_id);
    if (attempt->ref) {
        set_limit(json, "min-snapshots-to-keep", attempt->ref->snapshots_min_keep);
        set_limit(json, "max-snapshot-age-ms", attempt->ref->snapshot_age_ms_max);
        set_limit(json, "max-ref-age-ms", attempt->ref->ref_age_ms_max);
    }
    return json;
}

json_t *firn_snapshot_updates(struct firn_op *op, const struct firn_producer *producer,
                              const struct firn_attempt *attempt)
{
    json_t *updates = firn_json_own(op->arena, json_array());
    json_t *add = json_object();
    firn_json_set_text(add, "action", FIRN_TEXT("add-snapshot"));
    firn_json_set(add, "snapshot", snapshot_json(op, producer, attempt));
    json_array_append_new(updates, add);
    if (!producer->change->stage_only)
        json_array_append_new(updates, set_ref_json(producer, attempt));
    return updates;
}

json_t *firn_snapshot_requirements(struct firn_op *op, const struct firn_producer *producer,
                                   const struct firn_attempt *attempt)
{
    json_t *requirements = firn_json_own(op->arena, json_array());
    struct firn_text uuid = producer->table->metadata->table_uuid;
    if (uuid.len > 0) {
        json_t *same_table = json_object();
        firn_json_set_text(same_table, "type", FIRN_TEXT("assert-table-uuid"));
        firn_json_set_text(same_table, "uuid", uuid);
        json_array_append_new(requirements, same_table);
    }
    json_t *same_head = json_object();
    firn_json_set_text(same_head, "type", FIRN_TEXT("assert-ref-snapshot-id"));
    firn_json_set_text(same_head, "ref", producer->change->branch);
    firn_json_set(same_head, "snapshot-id", attempt->head ? json_integer(attempt->head->id) : json_null());
    json_array_append_new(requirements, same_head);
    return requirements;
}
