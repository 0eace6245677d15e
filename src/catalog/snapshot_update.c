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
                    firn_summary_json(op, &attempt->summary, change->operation, attempt->head, change->head_totals,
                                      change->properties, change->property_count));
    firn_json_set_text(json, "manifest-list", attempt->list_path);
    firn_json_set_i64(json, "schema-id", metadata->current_schema_id);
    if (metadata->format_version > 2) {
        firn_json_set_i64(json, "first-row-id", metadata->next_row_id);
        firn_json_set_i64(json, "added-rows", attempt->next_row_id - metadata->next_row_id);
    }
    return json;
}

/* The branch keeps its own retention. */
static void set_branch(const struct firn_producer *producer, const struct firn_attempt *attempt,
                       struct firn_change *change)
{
    static const struct firn_ref plain = { .snapshots_min_keep = -1, .snapshot_age_ms_max = -1, .ref_age_ms_max = -1 };
    const struct firn_ref *new_branch = producer->change->new_branch;
    struct firn_ref ref = attempt->ref ? *attempt->ref : new_branch ? *new_branch : plain;
    ref.name = producer->change->branch;
    ref.type = FIRN_REF_BRANCH;
    ref.snapshot_id = producer->snapshot_id;
    firn_change_set_ref(change, &ref);
}

void firn_snapshot_change_of(struct firn_op *op, const struct firn_producer *producer,
                             const struct firn_attempt *attempt, struct firn_change *out)
{
    firn_change_init(op, out);
    firn_change_require_table(out, producer->table->metadata);
    firn_change_require_ref(out, producer->change->branch, attempt->head ? attempt->head->id : FIRN_NO_SNAPSHOT);
    firn_json_set(firn_change_add(out, "add-snapshot"), "snapshot", snapshot_json(op, producer, attempt));
    if (!producer->change->stage_only)
        set_branch(producer, attempt, out);
}
