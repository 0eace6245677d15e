/* The plan of rewrite_data_files in words and as JSON: every file of the snapshot with the reason it was chosen or not.
 */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"
#include "maintain/branch_plan.h"

/* Delete files to list in a plan. Those of the whole table apply to every group, and would be listed with each. */
enum { DELETES_LISTED_MAX = 100000, DELETES_OF_GROUP_MIN = 10 };

static struct firn_text file_reason(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                    const struct firn_planned_file *file)
{
    static const char *const orders[] = {
        [FIRN_FILE_UNSORTED] = "it is not marked as sorted by this order",
        [FIRN_FILE_OVERLAPS] = "it is sorted, but keys of other sorted files lie in its range",
        [FIRN_FILE_JOINS] = "it is sorted, but its range of keys overlaps that of the files rewritten in its partition",
        [FIRN_FILE_SORTED] = "it is sorted, and alone in its range of keys",
    };
    const struct firn_rewrite_options *options = &plan->options;
    if (options->rewrite_all)
        return FIRN_TEXT("rewrite-all takes every file");
    if (options->rewrite_unsorted_only && file->order == FIRN_FILE_SORTED && file->obstacle != FIRN_VERDICT_SIZE_FINE)
        return FIRN_TEXT("it is sorted");
    if (options->rewrite_unsorted_only)
        return firn_text_of(orders[file->order]);
    return firn_output_sizes_reason(arena, &options->sizes, file->scan->entry->file.file_bytes);
}

/* What speaks for a file by itself, and against it. */
static struct firn_text qualification(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                      const struct firn_planned_file *file)
{
    struct firn_text by_deletes = firn_rewrite_delete_reason(arena, plan, file);
    if (file->is_over_threshold && !plan->options.rewrite_all)
        return by_deletes;
    struct firn_text by_size = file_reason(arena, plan, file);
    return by_deletes.len ? firn_text_format(arena, "%.*s; %.*s", FIRN_FMT(by_size), FIRN_FMT(by_deletes)) : by_size;
}

static struct firn_text group_reason(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                     const struct firn_planned_group *group)
{
    const struct firn_rewrite_options *options = &plan->options;
    switch (group->verdict) {
    case FIRN_GROUP_CHOSEN:
        return firn_text_format(arena, "chosen: %u files of %" PRId64 " bytes together become %" PRId64,
                                group->file_count, group->bytes, group->output_count);
    case FIRN_GROUP_FEW:
        return firn_text_format(
            arena,
            "left: its partition has %u such files of %" PRId64 " bytes together, fewer than min-input-files %" PRId64
            " and not above target-file-size-bytes %" PRId64,
            group->file_count, group->bytes, firn_rewrite_group_files_min(plan, group), options->sizes.target_bytes);
    case FIRN_GROUP_NO_GAIN:
        return firn_text_format(arena,
                                "left: the %u such files of its partition, %" PRId64
                                " bytes together, would come out as %" PRId64 " files",
                                group->file_count, group->bytes, group->output_count);
    case FIRN_GROUP_SETTLED:
        return firn_text_format(arena,
                                "left: an earlier run with these settings wrote or left it, and none of the %u such "
                                "files of its partition is newer or has newer deletes",
                                group->file_count);
    case FIRN_GROUP_UNCHANGED:
        return firn_text_format(arena,
                                "left: nothing of its group, nor of its deletes, is newer than sequence number %" PRId64
                                ", up to which the last run settled all",
                                plan->worth->settled_number);
    case FIRN_GROUP_DEAR:
        return firn_text_format(
            arena,
            "left until its group has grown: the %u such files, %" PRId64 " bytes together, would come out as %" PRId64
            ", and more than %" PRId64 " bytes for each file less do not pay",
            group->file_count, group->bytes, group->output_count, plan->worth->bytes_per_file_saved_max);
    case FIRN_GROUP_OVER_BYTES:
        return firn_text_format(
            arena, "left for a later run: its group of %" PRId64 " bytes is beyond the budget of %" PRId64 " bytes",
            group->bytes, plan->limits.bytes_max);
    case FIRN_GROUP_OVER_REQUESTS:
        return firn_text_format(arena, "left for a later run: its group is beyond the budget of %" PRId64 " requests",
                                plan->limits.requests_max);
    case FIRN_GROUP_OVER_CAP:
        return firn_text_format(arena, "left for a later run: max-files-to-rewrite is %" PRId64, options->files_max);
    }
    return FIRN_TEXT("");
}

static struct firn_text left_alone_reason(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                          const struct firn_planned_file *file)
{
    const struct firn_data_file *data = &file->scan->entry->file;
    switch (file->verdict) {
    case FIRN_VERDICT_DELETE_FORMAT:
        return FIRN_TEXT("a delete file applies to it that firn cannot read: firn reads Parquet, Avro and deletion "
                         "vectors, and nothing encrypted");
    case FIRN_VERDICT_FORMAT:
        return firn_text_format(arena, "it is %.*s, and firn rewrites Parquet only", FIRN_FMT(data->format_text));
    case FIRN_VERDICT_ENCRYPTED:
        return FIRN_TEXT("it has key metadata, and firn cannot decrypt");
    case FIRN_VERDICT_TWICE:
        return FIRN_TEXT("the table has it more than once, which no table may");
    default:
        return plan->schema_problem;
    }
}

struct firn_text firn_rewrite_plan_reason(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                          const struct firn_planned_file *file)
{
    struct firn_text first = qualification(arena, plan, file);
    if (file->verdict == FIRN_VERDICT_SIZE_FINE)
        return first;
    struct firn_text second;
    if (file->group != FIRN_NO_GROUP) {
        second = group_reason(arena, plan, &plan->packed[file->group]);
        return firn_text_format(arena, "%.*s; %.*s", FIRN_FMT(first), FIRN_FMT(second));
    }
    second = left_alone_reason(arena, plan, file);
    return firn_text_format(arena, "%.*s; left alone: %.*s", FIRN_FMT(first), FIRN_FMT(second));
}

static struct firn_text partition_text(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                       const struct firn_data_file *file)
{
    return firn_file_partition_text(arena, plan->metadata, plan->spec_types, file);
}

static json_t *file_json(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                         const struct firn_planned_file *file)
{
    const struct firn_data_file *data = &file->scan->entry->file;
    return firn_planned_file_json(data, data->file_bytes, firn_rewrite_plan_reason(arena, plan, file));
}

static json_t *outputs_json(const struct firn_planned_group *group)
{
    json_t *outputs = json_array();
    for (uint32_t i = 0; i < group->bin_count; i++) {
        json_t *pieces = json_array();
        for (uint32_t j = 0; j < group->bins[i].piece_count; j++) {
            const struct firn_rewrite_piece *piece = &group->bins[i].pieces[j];
            json_t *json = json_object();
            firn_json_set_i64(json, "file", piece->input);
            firn_json_set_i64(json, "offset", (int64_t)piece->offset);
            firn_json_set_i64(json, "length", (int64_t)piece->length);
            json_array_append_new(pieces, json);
        }
        json_t *output = json_object();
        firn_json_set_i64(output, "input_bytes", group->bin_bytes[i]);
        if (group->ordering)
            firn_json_set_text(output, "sort_way",
                               firn_text_of(firn_sort_way_names[firn_rewrite_bin_way(&group->bins[i])]));
        firn_json_set(output, "pieces", pieces);
        json_array_append_new(outputs, output);
    }
    return outputs;
}

static void set_deletes(json_t *json, const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    struct firn_group_deletes deletes;
    struct firn_arena scratch; /* a group may have as many delete files as the table */
    firn_arena_init(&scratch);
    firn_rewrite_group_deletes(&scratch, plan, group, &deletes);
    uint32_t listed_max = FIRN_MAX(DELETES_LISTED_MAX / plan->group_count, DELETES_OF_GROUP_MIN);
    firn_json_set(json, "deletes", firn_group_deletes_json(&scratch, plan, &deletes, listed_max));
    firn_json_set(json, "deletes_total", firn_group_deletes_total_json(&deletes));
    firn_arena_done(&scratch);
}

static void set_columns(json_t *json, const struct firn_expectation *expected)
{
    json_t *columns = json_array();
    for (uint32_t i = 0; i < expected->column_count; i++) {
        const struct firn_expected_column *column = &expected->columns[i];
        json_t *item = json_object();
        firn_json_set_text(item, "column", column->path);
        firn_json_set_text(item, "rung", firn_text_of(firn_rung_name(column->rung)));
        if (column->reason != FIRN_REASON_NONE)
            firn_json_set_text(item, "reason", firn_text_of(firn_rung_reason_name(column->reason)));
        firn_json_set_i64(item, "bytes", (int64_t)column->bytes);
        json_array_append_new(columns, item);
    }
    firn_json_set_i64(json, "looked_at", expected->file_count);
    firn_json_set(json, "columns", columns);
}

static json_t *group_json(struct firn_arena *arena, const struct firn_rewrite_plan *plan, uint32_t index)
{
    const struct firn_planned_group *group = plan->groups[index];
    const struct firn_data_file *first = &plan->files[group->files[0]].scan->entry->file;
    json_t *files = json_array();
    for (uint32_t i = 0; i < group->file_count; i++)
        json_array_append_new(files, file_json(arena, plan, &plan->files[group->files[i]]));
    json_t *json = json_object();
    firn_json_set_i64(json, "group", index);
    if (first->spec_id == plan->options.output_spec_id)
        firn_json_set_text(json, "partition", partition_text(arena, plan, first));
    firn_json_set_i64(json, "spec_id", first->spec_id);
    firn_json_set_i64(json, "output_spec_id", plan->options.output_spec_id);
    firn_json_set_i64(json, "input_bytes", group->bytes);
    firn_json_set_i64(json, "input_files", group->file_count);
    firn_json_set_i64(json, "expected_output_files", group->output_count);
    firn_json_set(json, "files", files);
    set_deletes(json, plan, group);
    if (index < plan->expected_count && plan->expected[index].file_count > 0)
        set_columns(json, &plan->expected[index]);
    firn_json_set(json, "outputs", outputs_json(group));
    return json;
}

static bool is_chosen(const struct firn_rewrite_plan *plan, const struct firn_planned_file *file)
{
    return file->group != FIRN_NO_GROUP && plan->packed[file->group].verdict == FIRN_GROUP_CHOSEN;
}

static json_t *skipped_json(struct firn_arena *arena, const struct firn_rewrite_plan *plan)
{
    json_t *skipped = json_array();
    for (uint32_t i = 0; i < plan->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[i];
        if (is_chosen(plan, file))
            continue;
        json_t *json = file_json(arena, plan, file);
        firn_json_set_text(json, "partition", partition_text(arena, plan, &file->scan->entry->file));
        json_array_append_new(skipped, json);
    }
    return skipped;
}

/* Files that the predicate rules out are counted, not named: their manifests need not have been read. */
static void set_where(json_t *json, const struct firn_rewrite_plan *plan)
{
    if (plan->where.len == 0)
        return;
    firn_json_set_text(json, "where", plan->where);
    firn_json_set(json, "ruled_out_by_where",
                  plan->listed_file_count < 0 ? json_null() : json_integer(plan->listed_file_count - plan->file_count));
}

static json_t *left_json(const struct firn_rewrite_plan *plan)
{
    struct firn_rewrite_left left = firn_rewrite_plan_left(plan);
    json_t *json = json_object();
    firn_json_set_i64(json, "groups", left.groups);
    firn_json_set_i64(json, "files", left.files);
    firn_json_set_i64(json, "bytes", left.bytes);
    return json;
}

static void set_order(json_t *json, const struct firn_rewrite_plan *plan)
{
    bool packs = plan->options.strategy == FIRN_STRATEGY_BINPACK;
    firn_json_set_text(json, "strategy", packs ? FIRN_TEXT("binpack") : FIRN_TEXT("sort"));
    if (plan->ordering) {
        firn_json_set_text(json, "sort_order", plan->order_text);
        firn_json_set_i64(json, "sort_order_id", plan->ordering->sort_order_id);
    }
    json_t *notices = json_array();
    for (size_t i = 0; i < plan->notices.count; i++)
        json_array_append_new(notices, firn_json_string(plan->notices.items[i]));
    firn_json_set(json, "notices", notices);
}

json_t *firn_rewrite_plan_json(struct firn_op *op, const struct firn_rewrite_plan *plan)
{
    json_t *groups = json_array();
    for (uint32_t i = 0; i < plan->group_count; i++)
        json_array_append_new(groups, group_json(op->arena, plan, i));
    json_t *json = firn_branch_plan_json(plan->table_name, plan->snapshot);
    set_order(json, plan);
    firn_json_set(json, "options", firn_rewrite_options_json(&plan->options));
    set_where(json, plan);
    firn_json_set(json, "groups", groups);
    firn_json_set(json, "skipped", skipped_json(op->arena, plan));
    firn_json_set(json, "left", left_json(plan));
    return firn_json_own(op->arena, json);
}

uint32_t firn_rewrite_plan_group_count(const struct firn_rewrite_plan *plan)
{
    return plan->group_count;
}
