/* A survey as JSON; include/firn/health.h says what the members are. */
#include "maintain/survey.h"

#include "format/json/json.h"

static void set_known(json_t *json, const char *key, int64_t value)
{
    firn_json_set(json, key, value < 0 ? json_null() : json_integer(value));
}

static json_t *tally_json(const struct firn_survey_tally *tally)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "files", tally->files);
    firn_json_set_i64(json, "bytes", tally->bytes);
    firn_json_set_i64(json, "rows", tally->rows);
    return json;
}

static void set_content(json_t *json, const struct firn_survey_content *content)
{
    firn_json_set(json, "data", tally_json(&content->data));
    firn_json_set(json, "small", tally_json(&content->small));
    firn_json_set(json, "deleted_from", tally_json(&content->deleted_from));
    firn_json_set(json, "position_deletes", tally_json(&content->position_deletes));
    firn_json_set(json, "equality_deletes", tally_json(&content->equality_deletes));
    firn_json_set(json, "deletion_vectors", tally_json(&content->vectors));
    firn_json_set(json, "dangling_deletes", tally_json(&content->dangling));
    firn_json_set_i64(json, "delete_reads", content->delete_reads);
}

static json_t *sizes_json(const struct firn_survey *survey)
{
    json_t *sizes = json_array();
    for (size_t i = 0; i < FIRN_SURVEY_SIZE_CLASSES; i++) {
        json_t *json = json_object();
        bool is_last = i + 1 == FIRN_SURVEY_SIZE_CLASSES;
        firn_json_set(json, "below_bytes", is_last ? json_null() : json_integer(firn_survey_size_limits[i]));
        firn_json_set_i64(json, "files", survey->size_class_files[i]);
        firn_json_set_i64(json, "bytes", survey->size_class_bytes[i]);
        json_array_append_new(sizes, json);
    }
    return sizes;
}

static json_t *partitions_json(const struct firn_survey *survey)
{
    json_t *partitions = json_array();
    for (size_t i = 0; i < survey->partition_count; i++) {
        const struct firn_survey_partition *partition = &survey->partitions[i];
        json_t *json = json_object();
        firn_json_set_text(json, "partition", partition->path);
        firn_json_set_i64(json, "spec_id", partition->spec_id);
        set_content(json, &partition->content);
        firn_json_set_i64(json, "sequence_number", partition->sequence_number);
        set_known(json, "updated_ms", partition->updated_ms);
        json_array_append_new(partitions, json);
    }
    return partitions;
}

static void set_manifests(json_t *json, const struct firn_survey_manifests *manifests)
{
    firn_json_set_i64(json, "count", manifests->count);
    firn_json_set_i64(json, "bytes", manifests->bytes);
    firn_json_set_i64(json, "entries", manifests->entries);
    firn_json_set_i64(json, "tombstones", manifests->tombstones);
}

static json_t *manifests_json(const struct firn_survey *survey)
{
    json_t *json = json_object(), *kinds = json_array();
    struct firn_survey_manifests total = firn_survey_manifests_total(survey);
    set_manifests(json, &total);
    firn_json_set_i64(json, "target_bytes", survey->manifest_target_bytes);
    for (size_t i = 0; i < survey->manifest_kind_count; i++) {
        const struct firn_survey_manifests *manifests = &survey->manifests[i];
        json_t *kind = json_object();
        firn_json_set_i64(kind, "spec_id", manifests->spec_id);
        firn_json_set_text(kind, "content", manifests->is_deletes ? FIRN_TEXT("deletes") : FIRN_TEXT("data"));
        set_manifests(kind, manifests);
        json_array_append_new(kinds, kind);
    }
    firn_json_set(json, "kinds", kinds);
    return json;
}

static json_t *average_json(double files)
{
    return files < 0 ? json_null() : json_real(files);
}

static json_t *columns_json(struct firn_op *op, const struct firn_survey *survey)
{
    json_t *columns = json_array();
    for (size_t i = 0; i < survey->column_count; i++) {
        const struct firn_survey_column *column = &survey->columns[i];
        json_t *json = json_object();
        firn_json_set_i64(json, "field_id", column->field_id);
        firn_json_set_text(json, "name", column->name);
        firn_json_set_text(json, "type", firn_type_text(op->arena, column->type));
        firn_json_set_bool(json, "partition_source", column->is_partition_source);
        firn_json_set_bool(json, "sort_source", column->is_sort_source);
        firn_json_set_bool(json, "identifier", column->is_identifier);
        firn_json_set_i64(json, "files_with_counts", column->files_with_counts);
        firn_json_set_i64(json, "files_with_bounds", column->files_with_bounds);
        firn_json_set_i64(json, "compressed_bytes", column->compressed_bytes);
        firn_json_set_i64(json, "bound_bytes", column->bound_bytes);
        firn_json_set_i64(json, "values", column->value_count);
        firn_json_set_i64(json, "nulls", column->null_count);
        firn_json_set(json, "files_per_point", average_json(column->files_per_point));
        firn_json_set(json, "files_per_point_in_partition", average_json(column->files_per_point_in_partition));
        json_array_append_new(columns, json);
    }
    return columns;
}

static json_t *orders_json(const struct firn_survey *survey)
{
    json_t *orders = json_array();
    for (size_t i = 0; i < survey->order_count; i++) {
        json_t *json = tally_json(&survey->orders[i].data);
        firn_json_set_i64(json, "sort_order_id", survey->orders[i].id);
        json_array_append_new(orders, json);
    }
    return orders;
}

static json_t *id_json(struct firn_op *op, const struct firn_survey *survey, int64_t id)
{
    if (id == FIRN_NO_SNAPSHOT)
        return json_null();
    return firn_json_string(firn_metadata_snapshot_id_text(op->arena, survey->metadata, id));
}

static json_t *commits_json(struct firn_op *op, const struct firn_survey *survey)
{
    json_t *commits = json_array();
    for (size_t i = 0; i < survey->commit_count; i++) {
        const struct firn_survey_commit *commit = &survey->commits[i];
        json_t *json = json_object();
        firn_json_set(json, "snapshot_id", id_json(op, survey, commit->snapshot_id));
        firn_json_set_i64(json, "timestamp_ms", commit->timestamp_ms);
        firn_json_set_text(json, "operation", commit->operation);
        firn_json_set_text(json, "writer", commit->writer);
        set_known(json, "added_files", commit->added_files);
        set_known(json, "added_bytes", commit->added_bytes);
        set_known(json, "added_rows", commit->added_rows);
        set_known(json, "added_delete_files", commit->added_delete_files);
        set_known(json, "removed_files", commit->removed_files);
        set_known(json, "removed_bytes", commit->removed_bytes);
        set_known(json, "total_files", commit->total_files);
        set_known(json, "total_bytes", commit->total_bytes);
        set_known(json, "total_rows", commit->total_rows);
        set_known(json, "total_delete_files", commit->total_delete_files);
        json_array_append_new(commits, json);
    }
    return commits;
}

static json_t *writers_json(const struct firn_survey *survey)
{
    json_t *writers = json_array();
    for (size_t i = 0; i < survey->writer_count; i++) {
        const struct firn_survey_writer *writer = &survey->writers[i];
        json_t *json = json_object();
        firn_json_set_text(json, "writer", writer->name);
        firn_json_set_text(json, "operation", writer->operation);
        firn_json_set_i64(json, "commits", writer->commits);
        firn_json_set_i64(json, "added_files", writer->added_files);
        firn_json_set_i64(json, "added_bytes", writer->added_bytes);
        firn_json_set_i64(json, "added_delete_files", writer->added_delete_files);
        firn_json_set_i64(json, "first_ms", writer->first_ms);
        firn_json_set_i64(json, "last_ms", writer->last_ms);
        set_known(json, "interval_ms", writer->interval_ms);
        json_array_append_new(writers, json);
    }
    return writers;
}

static json_t *refs_json(struct firn_op *op, const struct firn_survey *survey)
{
    json_t *refs = json_array();
    for (size_t i = 0; i < survey->ref_count; i++) {
        const struct firn_survey_ref *ref = &survey->refs[i];
        json_t *json = json_object();
        firn_json_set_text(json, "name", ref->name);
        firn_json_set_text(json, "type", ref->is_tag ? FIRN_TEXT("tag") : FIRN_TEXT("branch"));
        firn_json_set(json, "snapshot_id", id_json(op, survey, ref->snapshot_id));
        set_known(json, "snapshot_ms", ref->snapshot_ms);
        set_known(json, "max_ref_age_ms", ref->ref_age_ms_max);
        firn_json_set_bool(json, "expirable", ref->is_expirable);
        json_array_append_new(refs, json);
    }
    return refs;
}

static json_t *snapshots_json(const struct firn_survey *survey)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "count", (int64_t)survey->commit_count);
    firn_json_set_i64(json, "expirable", survey->expirable_snapshots);
    firn_json_set_i64(json, "held_bytes", survey->held_bytes);
    firn_json_set_i64(json, "expirable_bytes", survey->expirable_bytes);
    return json;
}

static json_t *orphans_json(const struct firn_survey *survey)
{
    if (survey->orphan_files < 0)
        return json_null();
    json_t *json = json_object();
    firn_json_set_i64(json, "files", survey->orphan_files);
    firn_json_set_i64(json, "bytes", survey->orphan_bytes);
    return json;
}

json_t *firn_survey_json(struct firn_op *op, const struct firn_survey *survey)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "format_version", survey->metadata->format_version);
    firn_json_set(json, "snapshot_id", id_json(op, survey, survey->metadata->current_snapshot_id));
    firn_json_set_i64(json, "surveyed_ms", survey->now_ms);
    firn_json_set_i64(json, "target_file_bytes", survey->sizes.target_bytes);
    firn_json_set_i64(json, "small_below_bytes", survey->sizes.bytes_min);
    set_known(json, "metadata_file_bytes", survey->metadata_bytes);
    firn_json_set_i64(json, "planning_us", survey->planning_us);
    set_content(json, &survey->total);
    firn_json_set_i64(json, "foreign_files", survey->foreign_files);
    firn_json_set(json, "file_sizes", sizes_json(survey));
    firn_json_set(json, "manifests", manifests_json(survey));
    firn_json_set(json, "snapshots", snapshots_json(survey));
    firn_json_set(json, "orphans", orphans_json(survey));
    firn_json_set_text_or_null(json, "orphans_problem", survey->orphan_problem);
    firn_json_set(json, "sort_orders", orders_json(survey));
    firn_json_set(json, "refs", refs_json(op, survey));
    firn_json_set(json, "writers", writers_json(survey));
    firn_json_set(json, "sampled_share", json_real(survey->sampled_share));
    firn_json_set(json, "columns", columns_json(op, survey));
    firn_json_set(json, "partitions", partitions_json(survey));
    firn_json_set(json, "commits", commits_json(op, survey));
    return json;
}
