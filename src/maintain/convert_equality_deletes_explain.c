/* The plan of convert_equality_deletes in words and as JSON. */
#include "base/math.h"
#include "format/json/json.h"
#include "maintain/branch_plan.h"
#include "maintain/convert_equality_deletes.h"
#include "maintain/group_rules.h"
#include "maintain/work.h"

static const char *file_reason(enum firn_convert_verdict verdict)
{
    static const char *const reasons[] = {
        [FIRN_CONVERT_CHOSEN] = "its key columns are read",
        [FIRN_CONVERT_RULED_OUT] = "ruled out by the predicate",
        [FIRN_CONVERT_FORMAT] = "left alone: it is neither Parquet nor Avro",
        [FIRN_CONVERT_ENCRYPTED] = "left alone: it has key metadata, and firn cannot decrypt",
        [FIRN_CONVERT_DELETE_FORMAT] = "left alone: firn cannot read a delete file that applies to it",
        [FIRN_CONVERT_TWICE] = "left alone: the table has it more than once, which no table may",
    };
    return reasons[verdict];
}

static struct firn_text delete_reason(struct firn_arena *arena, const struct firn_convert_delete *del)
{
    if (del->is_kept)
        return FIRN_TEXT("stays: it reaches data files that are not converted");
    return firn_text_format(arena, "leaves with the last of %u groups that it has a part in", del->group_count);
}

static json_t *entry_json(const struct firn_data_file *file, struct firn_text reason)
{
    return firn_planned_file_json(file, file->file_bytes, reason);
}

static json_t *group_json(const struct firn_convert_plan *plan, uint32_t index)
{
    const struct firn_convert_group *group = &plan->groups[index];
    int64_t keys = 0, bytes = 0;
    json_t *files = json_array();
    for (uint32_t i = 0; i < group->delete_count; i++) {
        keys += plan->deletes[group->deletes[i]].entry->file.record_count;
        bytes += plan->deletes[group->deletes[i]].entry->file.file_bytes;
    }
    for (uint32_t i = 0; i < group->file_count; i++)
        json_array_append_new(
            files, entry_json(&group->files[i]->entry->file, firn_text_of(file_reason(FIRN_CONVERT_CHOSEN))));
    json_t *json = json_object();
    firn_json_set_i64(json, "group", index);
    firn_json_set_i64(json, "data_files", group->file_count);
    firn_json_set_i64(json, "data_bytes", group->bytes);
    firn_json_set_i64(json, "delete_files", group->delete_count);
    firn_json_set_i64(json, "delete_bytes", bytes);
    firn_json_set_i64(json, "keys", keys);
    firn_json_set(json, "files", files);
    return json;
}

static json_t *skipped_json(const struct firn_convert_plan *plan)
{
    json_t *skipped = json_array();
    for (uint32_t i = 0; i < plan->file_count; i++)
        if (plan->files[i].verdict != FIRN_CONVERT_CHOSEN)
            json_array_append_new(skipped, entry_json(&plan->files[i].scan->entry->file,
                                                      firn_text_of(file_reason(plan->files[i].verdict))));
    return skipped;
}

json_t *firn_convert_plan_json(struct firn_op *op, const struct firn_convert_plan *plan)
{
    json_t *groups = json_array(), *deletes = json_array();
    for (uint32_t i = 0; i < plan->group_count; i++)
        json_array_append_new(groups, group_json(plan, i));
    for (uint32_t i = 0; i < plan->delete_count; i++)
        json_array_append_new(deletes,
                              entry_json(&plan->deletes[i].entry->file, delete_reason(op->arena, &plan->deletes[i])));
    json_t *json = firn_branch_plan_json(plan->table_name, plan->snapshot);
    firn_json_set(json, "options", firn_convert_options_json(&plan->options));
    firn_json_set(json, "granularity", json_string(firn_delete_form_name(plan->to_vectors, plan->granularity)));
    if (plan->where.len > 0)
        firn_json_set_text(json, "where", plan->where);
    firn_json_set(json, "groups", groups);
    firn_json_set(json, "deletes", deletes);
    firn_json_set(json, "skipped", skipped_json(plan));
    return firn_json_own(op->arena, json);
}

/* Of a data file the length of the footer, the footer, and the key columns. */
static void add_data_file(struct firn_work *work, const struct firn_scan_file *scan)
{
    enum { FOOTER_READS = 2 };
    const struct firn_data_file *file = &scan->entry->file;
    const struct firn_delete_list *deletes = &scan->deletes.equality;
    const struct firn_data_file *keys = deletes->count > 0 ? &deletes->items[0]->file : NULL;
    int64_t bytes = 0, column;
    for (uint32_t i = 0; keys && i < keys->equality_id_count; i++)
        if (firn_count_map_find(&file->column_sizes, keys->equality_ids[i], &column))
            bytes += FIRN_MAX(column, 0);
    firn_work_add_reads(work, 1, FOOTER_READS + (keys ? keys->equality_id_count : 0), bytes);
}

struct firn_work firn_convert_plan_work(const struct firn_convert_plan *plan)
{
    struct firn_work work = { 0 };
    struct firn_arena scratch;
    if (plan->group_count == 0)
        return work;
    firn_arena_init(&scratch);
    const struct firn_manifest_entry **entries =
        FIRN_NEW_ARRAY(&scratch, const struct firn_manifest_entry *, plan->delete_count);
    for (uint32_t i = 0; i < plan->delete_count; i++)
        entries[i] = plan->deletes[i].entry;
    for (uint32_t i = 0; i < plan->group_count; i++) {
        const struct firn_convert_group *group = &plan->groups[i];
        for (uint32_t k = 0; k < group->file_count; k++)
            add_data_file(&work, group->files[k]);
        for (uint32_t k = 0; k < group->delete_count; k++)
            firn_work_add_delete_file(&work, &entries[group->deletes[k]]->file);
        firn_work_add_writes(&work, 1, 0);
    }
    firn_work_add_delete_commits(
        &work, plan->metadata, &plan->scan.manifests, entries, plan->delete_count,
        firn_commits_of_groups(plan->options.partial_progress, plan->options.commits_max, plan->group_count));
    firn_arena_done(&scratch);
    return work;
}
