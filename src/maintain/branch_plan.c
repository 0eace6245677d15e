/* What plans begin with. */
#include "maintain/branch_plan.h"

#include "format/json/json.h"

firn_status firn_branch_head(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text branch,
                             const struct firn_snapshot **out)
{
    *out = NULL;
    if (metadata->current_snapshot_id == FIRN_NO_SNAPSHOT)
        return FIRN_OK;
    const struct firn_ref *ref = firn_metadata_ref(metadata, branch);
    if (!ref)
        return firn_fail(op, FIRN_NOT_FOUND, "branch \"%.*s\" does not exist", FIRN_FMT(branch));
    if (ref->type == FIRN_REF_TAG)
        return firn_fail(op, FIRN_USAGE, "\"%.*s\" is a tag, and tags cannot be written to", FIRN_FMT(branch));
    *out = firn_metadata_snapshot(metadata, ref->snapshot_id);
    return FIRN_OK;
}

struct firn_text firn_file_partition_text(struct firn_arena *arena, const struct firn_metadata *metadata,
                                          struct firn_type *const *spec_types, const struct firn_data_file *file)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, file->spec_id);
    if (!spec)
        return FIRN_TEXT("");
    return firn_partition_path(arena, spec, spec_types[spec - metadata->specs], &file->partition);
}

firn_status firn_delete_granularity_find(struct firn_op *op, const struct firn_metadata *metadata,
                                         enum firn_delete_granularity *out)
{
    struct firn_text text = firn_property_text(metadata, "write.delete.granularity", FIRN_TEXT("file"));
    *out = FIRN_DELETES_BY_FILE;
    if (firn_text_same_nocase(text, FIRN_TEXT("partition")))
        *out = FIRN_DELETES_BY_PARTITION;
    else if (!firn_text_same_nocase(text, FIRN_TEXT("file")))
        return firn_fail(op, FIRN_USAGE,
                         "table property write.delete.granularity is '%.*s', neither file nor partition",
                         FIRN_FMT(text));
    return FIRN_OK;
}

const char *firn_delete_form_name(bool to_vectors, enum firn_delete_granularity granularity)
{
    if (to_vectors)
        return "vector";
    return granularity == FIRN_DELETES_BY_PARTITION ? "partition" : "file";
}

/* The id is text: it may have more digits than a reader's double holds. */
json_t *firn_branch_plan_json(struct firn_text table_name, const struct firn_snapshot *snapshot)
{
    json_t *json = json_object();
    firn_json_set_text(json, "table", table_name);
    firn_json_set(json, "snapshot_id", snapshot ? json_sprintf("%" PRIu64, (uint64_t)snapshot->id) : json_null());
    return json;
}

json_t *firn_planned_file_json(const struct firn_data_file *file, int64_t bytes, struct firn_text reason)
{
    json_t *json = json_object();
    firn_json_set_text(json, "path", file->path);
    firn_json_set_i64(json, "bytes", bytes);
    firn_json_set_i64(json, "records", file->record_count);
    firn_json_set_text(json, "reason", reason);
    return json;
}
