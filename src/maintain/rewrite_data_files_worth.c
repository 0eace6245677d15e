/* Which groups of rewrite_data_files are worth it now, for whoever runs it again and again: what changed since the last
 * time, what has grown cold, and what pays. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"

static int64_t newest_of(const struct firn_delete_list *list, int64_t number)
{
    for (uint32_t i = 0; i < list->count; i++)
        number = FIRN_MAX(number, list->items[i]->sequence_number);
    return number;
}

/* Data sequence number of the newest of a group's files, and of the deletes that apply to them. Outputs of a rewrite
 * have the number of the snapshot that was planned on, so a rewrite is no change. */
static int64_t newest_number(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    int64_t number = 0;
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_scan_file *scan = plan->files[group->files[i]].scan;
        number = FIRN_MAX(number, scan->entry->sequence_number);
        number = newest_of(&scan->deletes.own, number);
        number = newest_of(&scan->deletes.wide, number);
        number = newest_of(&scan->deletes.equality, number);
    }
    return number;
}

enum firn_group_age firn_rewrite_group_age(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    const struct firn_rewrite_worth *worth = plan->worth;
    if (!worth || plan->metadata->format_version == 1) /* which has no sequence numbers */
        return FIRN_GROUP_HOT;
    int64_t number = newest_number(plan, group);
    if (number <= worth->cold_number && number > worth->cold_done_number)
        return FIRN_GROUP_COOLED;
    return number <= worth->settled_number ? FIRN_GROUP_UNCHANGED_SINCE : FIRN_GROUP_HOT;
}

int64_t firn_rewrite_group_files_min(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    return firn_rewrite_group_age(plan, group) == FIRN_GROUP_COOLED ? plan->worth->cold_input_files_min
                                                                    : plan->options.limits.input_files_min;
}

static int64_t files_saved(const struct firn_planned_group *group)
{
    return FIRN_MAX((int64_t)group->file_count - group->output_count, 0);
}

/* What a rewrite is for besides fewer files. */
static bool has_other_reasons(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[group->files[i]];
        if (file->is_over_threshold || file->verdict == FIRN_VERDICT_LARGE || file->verdict == FIRN_VERDICT_ALL ||
            file->scan->entry->file.spec_id != plan->options.output_spec_id)
            return true;
    }
    return false;
}

bool firn_rewrite_group_pays(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    if (!plan->worth || has_other_reasons(plan, group))
        return true;
    int64_t saved = files_saved(group);
    return saved > 0 && group->bytes / saved <= plan->worth->bytes_per_file_saved_max;
}
