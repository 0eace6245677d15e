/* The plan of rewrite_position_delete_files in words and as JSON. */
#include "format/json/json.h"
#include "maintain/branch_plan.h"
#include "maintain/delete_use.h"
#include "maintain/rewrite_position_delete_files.h"
#include "maintain/work.h"

static struct firn_text qualification(struct firn_arena *arena, const struct firn_position_rewrite_options *options,
                                      const struct firn_data_file *file)
{
    if (options->rewrite_all)
        return FIRN_TEXT("rewrite-all takes every file");
    return firn_output_sizes_reason(arena, &options->sizes, firn_delete_read_bytes(file));
}

static struct firn_text chosen_reason(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan,
                                      const struct firn_position_group *group)
{
    if (plan->to_vectors)
        return firn_text_format(arena, "chosen: what %u files say becomes one vector a data file", group->file_count);
    if (group->output_count == FIRN_ABSENT)
        return firn_text_format(arena, "chosen: what %u files say becomes one file a data file", group->file_count);
    return firn_text_format(arena, "chosen: %u files of %" PRId64 " bytes together become %" PRId64, group->file_count,
                            group->bytes, group->output_count);
}

static struct firn_text group_reason(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan,
                                     const struct firn_position_group *group)
{
    switch (group->verdict) {
    case FIRN_POSITION_GROUP_CHOSEN:
        return chosen_reason(arena, plan, group);
    case FIRN_POSITION_GROUP_FEW:
        return firn_text_format(
            arena,
            "left: its partition has %u such files of %" PRId64 " bytes together, fewer than min-input-files %" PRId64
            " and not above target-file-size-bytes %" PRId64,
            group->file_count, group->bytes, plan->options.limits.input_files_min, plan->options.sizes.target_bytes);
    case FIRN_POSITION_GROUP_NO_GAIN:
        return firn_text_format(arena, "left: the %u such files of its partition would come out as %" PRId64 " files",
                                group->file_count, group->output_count);
    case FIRN_POSITION_GROUP_VECTORS:
        return FIRN_TEXT("left: its partition has only deletion vectors");
    case FIRN_POSITION_GROUP_UNREADABLE:
        return FIRN_TEXT("left: a vector would have to say what another delete file of the partition says, which firn "
                         "cannot read");
    }
    return FIRN_TEXT("");
}

struct firn_text firn_position_rewrite_reason(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan,
                                              const struct firn_position_file *file)
{
    const struct firn_data_file *data = &file->entry->file;
    struct firn_text first = qualification(arena, &plan->options, data);
    switch (file->verdict) {
    case FIRN_POSITION_SIZE_FINE:
        return first;
    case FIRN_POSITION_UNREADABLE:
        return firn_text_format(arena, "%.*s; left alone: firn cannot read it (%.*s%s)", FIRN_FMT(first),
                                FIRN_FMT(data->format_text), data->key_metadata.data ? ", encrypted" : "");
    case FIRN_POSITION_WITH_ROWS:
        return firn_text_format(arena, "%.*s; left alone: it holds the deleted rows, too, which would be lost",
                                FIRN_FMT(first));
    default:
        return firn_text_format(arena, "%.*s; %.*s", FIRN_FMT(first),
                                FIRN_FMT(group_reason(arena, plan, &plan->packed[file->group])));
    }
}

static struct firn_text partition_text(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan,
                                       const struct firn_data_file *file)
{
    return firn_file_partition_text(arena, plan->metadata, plan->spec_types, file);
}

static json_t *file_json(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan,
                         const struct firn_position_file *file)
{
    const struct firn_data_file *data = &file->entry->file;
    return firn_planned_file_json(data, firn_delete_read_bytes(data), firn_position_rewrite_reason(arena, plan, file));
}

static json_t *group_json(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan, uint32_t index)
{
    const struct firn_position_group *group = plan->groups[index];
    const struct firn_data_file *first = &plan->files[group->files[0]].entry->file;
    json_t *files = json_array();
    for (uint32_t i = 0; i < group->file_count; i++)
        json_array_append_new(files, file_json(arena, plan, &plan->files[group->files[i]]));
    json_t *json = json_object();
    firn_json_set_i64(json, "group", index);
    firn_json_set_text(json, "partition", partition_text(arena, plan, first));
    firn_json_set_i64(json, "spec_id", first->spec_id);
    firn_json_set_i64(json, "input_bytes", group->bytes);
    firn_json_set_i64(json, "input_files", group->file_count);
    firn_json_set(json, "expected_output_files",
                  group->output_count == FIRN_ABSENT ? json_null() : json_integer(group->output_count));
    firn_json_set(json, "files", files);
    return json;
}

static bool is_chosen(const struct firn_position_rewrite_plan *plan, const struct firn_position_file *file)
{
    return file->group != FIRN_NO_POSITION_GROUP && plan->packed[file->group].verdict == FIRN_POSITION_GROUP_CHOSEN;
}

static json_t *skipped_json(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan)
{
    json_t *skipped = json_array();
    for (uint32_t i = 0; i < plan->file_count; i++) {
        const struct firn_position_file *file = &plan->files[i];
        if (is_chosen(plan, file))
            continue;
        json_t *json = file_json(arena, plan, file);
        firn_json_set_text(json, "partition", partition_text(arena, plan, &file->entry->file));
        json_array_append_new(skipped, json);
    }
    return skipped;
}

json_t *firn_position_rewrite_plan_json(struct firn_op *op, const struct firn_position_rewrite_plan *plan)
{
    json_t *groups = json_array();
    for (uint32_t i = 0; i < plan->group_count; i++)
        json_array_append_new(groups, group_json(op->arena, plan, i));
    json_t *json = firn_branch_plan_json(plan->table_name, plan->snapshot);
    firn_json_set(json, "options", firn_position_rewrite_options_json(&plan->options));
    firn_json_set(json, "granularity", json_string(firn_delete_form_name(plan->to_vectors, plan->granularity)));
    if (plan->where.len > 0)
        firn_json_set_text(json, "where", plan->where);
    firn_json_set(json, "groups", groups);
    firn_json_set(json, "skipped", skipped_json(op->arena, plan));
    return firn_json_own(op->arena, json);
}

/* Where only the rows can tell how many files come out: a file of vectors for a group, else as many as went in. */
static int64_t expected_outputs(const struct firn_position_rewrite_plan *plan, const struct firn_position_group *group)
{
    if (group->output_count != FIRN_ABSENT)
        return group->output_count;
    return plan->to_vectors ? 1 : group->file_count;
}

struct firn_work firn_position_rewrite_plan_work(const struct firn_position_rewrite_plan *plan)
{
    struct firn_work work = { 0 };
    struct firn_arena scratch;
    uint32_t count = 0;
    if (plan->group_count == 0)
        return work;
    firn_arena_init(&scratch);
    const struct firn_manifest_entry **entries =
        FIRN_NEW_ARRAY(&scratch, const struct firn_manifest_entry *, plan->file_count);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        const struct firn_position_group *group = plan->groups[i];
        for (uint32_t k = 0; k < group->file_count; k++) {
            entries[count] = plan->files[group->files[k]].entry;
            firn_work_add_delete_file(&work, &entries[count++]->file);
        }
        firn_work_add_writes(&work, expected_outputs(plan, group), group->bytes);
    }
    firn_work_add_delete_commits(
        &work, plan->metadata, &plan->scan.manifests, entries, count,
        firn_commits_of_groups(plan->options.partial_progress, plan->options.commits_max, plan->group_count));
    firn_arena_done(&scratch);
    return work;
}
