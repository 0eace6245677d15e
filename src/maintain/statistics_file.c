/* Setting statistics files. Iceberg spec, "Table Statistics", "Partition Statistics"; REST specification,
 * "SetStatisticsUpdate", "SetPartitionStatisticsUpdate". */
#include "maintain/statistics_file.h"

#include "table/location.h"

firn_status firn_statistics_snapshot(struct firn_op *op, const struct firn_metadata *metadata, const int64_t *id,
                                     const struct firn_snapshot **out)
{
    *out = id ? firn_metadata_snapshot(metadata, *id) : firn_metadata_current(metadata);
    if (id && !*out)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no snapshot %" PRId64, *id);
    return FIRN_OK;
}

const struct firn_schema *firn_snapshot_schema(const struct firn_metadata *metadata,
                                               const struct firn_snapshot *snapshot)
{
    const struct firn_schema *schema =
        snapshot->has_schema_id ? firn_metadata_schema(metadata, snapshot->schema_id) : NULL;
    return schema ? schema : firn_metadata_current_schema(metadata);
}

const struct firn_statistics_file *firn_statistics_find(const struct firn_metadata *metadata, int64_t snapshot_id,
                                                        bool is_partition_statistics)
{
    for (uint32_t i = 0; i < metadata->statistics_count; i++)
        if (metadata->statistics[i].snapshot_id == snapshot_id &&
            metadata->statistics[i].is_partition_statistics == is_partition_statistics)
            return &metadata->statistics[i];
    return NULL;
}

struct firn_text firn_statistics_location(struct firn_op *op, const struct firn_metadata *metadata, int64_t snapshot_id,
                                          const char *prefix, const char *suffix)
{
    struct firn_text uuid = firn_uuid_text(op->arena, firn_uuid_random(op));
    struct firn_text id = firn_metadata_snapshot_id_text(op->arena, metadata, snapshot_id);
    struct firn_text name = firn_text_format(op->arena, "%s%.*s-%.*s%s", prefix, FIRN_FMT(id), FIRN_FMT(uuid), suffix);
    return firn_metadata_location(op->arena, metadata, name);
}

static firn_status decide(struct firn_op *op, void *context, const struct firn_table *table, struct firn_change *out)
{
    const struct firn_statistics_setting *setting = context;
    if (!firn_metadata_snapshot(table->metadata, setting->snapshot_id))
        return firn_fail(op, FIRN_NOT_FOUND, "snapshot %" PRId64 " has left the table meanwhile", setting->snapshot_id);
    firn_change_require_table(out, table->metadata);
    json_t *update = firn_change_add(out, setting->action);
    firn_json_set_i64(update, "snapshot-id", setting->snapshot_id);
    firn_json_set_i64(setting->file, "snapshot-id", setting->snapshot_id);
    json_object_set(update, setting->member, setting->file);
    return FIRN_OK;
}

firn_status firn_statistics_set(struct firn_op *op, struct firn_table *table,
                                const struct firn_statistics_setting *setting)
{
    struct firn_statistics_setting given = *setting;
    firn_status status = firn_change_commit(op, table, decide, &given);
    if (status != FIRN_OK && status != FIRN_UNKNOWN)
        firn_store_discard(op, table->store, &given.location, 1);
    return status;
}
