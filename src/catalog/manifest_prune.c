/* Which data manifests can hold a removed file, told from their rows alone: by spec, and by the summaries of partition
 * values. A table of many partitions loses files of a few, and only the manifests of those are opened. */
#include "catalog/producer.h"

#include "table/delete_index.h"

/* More partitions than this are not compared one by one: the manifests are opened. */
enum { PARTITIONS_MAX = 256 };

firn_status firn_removed_partitions_collect(struct firn_op *op, struct firn_producer *producer)
{
    const struct firn_snapshot_change *change = producer->change;
    struct firn_buffer key = { 0 };
    firn_status status = FIRN_OK;
    firn_map_init(&producer->removed_partitions, op->arena);
    for (uint32_t i = 0; i < change->removed_count && status == FIRN_OK; i++) {
        status = firn_data_file_partition_key(op, &change->removed[i], &key);
        if (status != FIRN_OK || firn_map_find(&producer->removed_partitions, firn_buffer_bytes(&key)))
            continue;
        struct firn_bytes kept = firn_bytes_copy(op->arena, firn_buffer_bytes(&key));
        firn_map_put(&producer->removed_partitions, kept)->value.number = i;
    }
    firn_buffer_done(&key);
    return status;
}

/* Whether a bound rules the value out. A bound that cannot be read rules nothing out. */
static bool is_beyond(struct firn_op *op, const struct firn_type *type, struct firn_bytes bound,
                      const struct firn_value *value, int direction)
{
    struct firn_value parsed;
    if (!bound.data || firn_value_parse(op, type, bound, &parsed) != FIRN_OK || parsed.type != value->type)
        return false;
    return firn_value_compare(value, &parsed) * direction > 0;
}

static bool is_nan(const struct firn_value *value)
{
    return (value->type == FIRN_TYPE_FLOAT || value->type == FIRN_TYPE_DOUBLE) && value->real != value->real;
}

static bool field_may_hold(struct firn_op *op, const struct firn_type *type, const struct firn_field_summary *summary,
                           const struct firn_value *value)
{
    if (value->is_null)
        return summary->contains_null;
    if (is_nan(value))
        return !summary->has_contains_nan || summary->contains_nan;
    return !is_beyond(op, type, summary->lower_bound, value, -1) &&
           !is_beyond(op, type, summary->upper_bound, value, 1);
}

static bool tuple_may_be_in(struct firn_op *op, const struct firn_type *types, const struct firn_manifest_file *row,
                            const struct firn_partition *partition)
{
    for (uint32_t i = 0; i < partition->count; i++)
        if (!field_may_hold(op, &types[i], &row->summaries[i], &partition->values[i]))
            return false;
    return true;
}

static bool any_tuple_may_be_in(struct firn_op *op, const struct firn_producer *producer,
                                const struct firn_partition_spec *spec, const struct firn_type *types,
                                const struct firn_manifest_file *row)
{
    for (size_t i = 0; i < producer->removed_partitions.count; i++) {
        const struct firn_data_file *file =
            &producer->change->removed[producer->removed_partitions.entries[i].value.number];
        if (file->spec_id != row->spec_id)
            continue;
        if (file->partition.count != spec->field_count || tuple_may_be_in(op, types, row, &file->partition))
            return true;
    }
    return false;
}

bool firn_manifest_may_hold_removed(struct firn_op *op, const struct firn_producer *producer,
                                    const struct firn_manifest_file *row)
{
    struct firn_bytes spec_id = { (const uint8_t *)&row->spec_id, sizeof row->spec_id };
    const struct firn_metadata *metadata = producer->table->metadata;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, row->spec_id);
    struct firn_type *types;
    if (!firn_map_find(&producer->removed_spec_ids, spec_id))
        return false;
    if (!producer->trusts_summaries || !spec || !row->has_summaries || row->summary_count != spec->field_count ||
        producer->removed_partitions.count > PARTITIONS_MAX)
        return true;
    if (firn_partition_types(op, spec, firn_metadata_schemas_by_age(op, metadata), metadata->schema_count, &types) !=
        FIRN_OK)
        return true;
    return any_tuple_may_be_in(op, producer, spec, types, row);
}
