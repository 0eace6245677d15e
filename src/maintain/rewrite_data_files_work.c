/* What a plan of rewrite_data_files is predicted to take, and what its groups give for that. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"
#include "maintain/work.h"

static const struct firn_data_file *data_file(const struct firn_rewrite_plan *plan,
                                              const struct firn_planned_group *group, uint32_t at)
{
    return &plan->files[group->files[at]].scan->entry->file;
}

static void add_inputs(struct firn_work *work, const struct firn_rewrite_plan *plan,
                       const struct firn_planned_group *group)
{
    int64_t leaves = firn_work_count_leaves(&firn_metadata_current_schema(plan->metadata)->root);
    for (uint32_t i = 0; i < group->bin_count; i++)
        for (uint32_t k = 0; k < group->bins[i].piece_count; k++) {
            const struct firn_rewrite_piece *piece = &group->bins[i].pieces[k];
            firn_work_add_data_file(work, data_file(plan, group, piece->input), (int64_t)piece->length, leaves);
        }
}

/* A delete file is read once for its group, however many data files it applies to. */
static void add_deletes(struct firn_work *work, const struct firn_rewrite_plan *plan,
                        const struct firn_planned_group *group)
{
    struct firn_arena scratch;
    struct firn_group_deletes deletes;
    if (plan->whole.delete_count == 0)
        return;
    firn_arena_init(&scratch);
    firn_rewrite_group_deletes(&scratch, plan, group, &deletes);
    for (uint32_t i = 0; i < deletes.uses.count; i++)
        firn_work_add_delete_file(work, &deletes.uses.items[i].del->file);
    firn_arena_done(&scratch);
}

/* Groups that an earlier run finished are looked at only. */
static struct firn_work execution_work(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    struct firn_work work = { 0 };
    int64_t bytes = 0;
    if (group->finished) {
        work.requests[FIRN_REQUEST_GET] = group->finished->result.file_count;
        return work;
    }
    for (uint32_t i = 0; i < group->bin_count; i++)
        bytes += group->bin_bytes[i];
    add_inputs(&work, plan, group);
    add_deletes(&work, plan, group);
    firn_work_add_output(&work, group->output_count, bytes);
    firn_work_add_events(&work, 1);
    return work;
}

/* What a scan of everything no longer asks for: files, and delete files as often as data files have them opened. */
int64_t firn_rewrite_group_gain(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    int64_t files = (int64_t)group->file_count - group->output_count;
    for (uint32_t i = 0; i < group->file_count; i++)
        files += firn_delete_match_count(&plan->files[group->files[i]].scan->deletes);
    return FIRN_MAX(files, 0) * FIRN_SCAN_REQUESTS_OF_FILE;
}

int64_t firn_rewrite_plan_commits(const struct firn_rewrite_plan *plan)
{
    return firn_commits_of_groups(plan->options.partial_progress, plan->options.commits_max, plan->group_count);
}

static struct firn_manifest_touch touched_by(const struct firn_rewrite_plan *plan,
                                             const struct firn_planned_group *const *groups, uint32_t group_count,
                                             const struct firn_manifest_join *join)
{
    struct firn_arena scratch;
    uint32_t count = 0, file_count = 0;
    for (uint32_t i = 0; i < group_count; i++)
        file_count += groups[i]->file_count;
    firn_arena_init(&scratch);
    const struct firn_manifest_entry **entries =
        FIRN_NEW_ARRAY(&scratch, const struct firn_manifest_entry *, file_count);
    for (uint32_t i = 0; i < group_count; i++)
        for (uint32_t k = 0; k < groups[i]->file_count; k++)
            entries[count++] = plan->files[groups[i]->files[k]].scan->entry;
    struct firn_manifest_touch touched = firn_manifests_touched(join, entries, count);
    firn_arena_done(&scratch);
    return touched;
}

struct firn_work firn_rewrite_group_work(const struct firn_rewrite_plan *plan, const struct firn_manifest_join *join,
                                         const struct firn_planned_group *group)
{
    struct firn_work work = execution_work(plan, group);
    firn_work_add_replaced_manifests(&work, touched_by(plan, &group, 1, join), join);
    return work;
}

/* What the first commit joins of both kinds. Gives back that of data. */
static struct firn_manifest_join add_joins(struct firn_work *work, const struct firn_rewrite_plan *plan)
{
    const struct firn_manifest_list *list = &plan->whole.manifests;
    struct firn_manifest_join data = firn_manifests_joined(plan->metadata, list, false);
    struct firn_manifest_join deletes = firn_manifests_joined(plan->metadata, list, true);
    firn_work_add_join(work, &data);
    firn_work_add_join(work, &deletes);
    return data;
}

struct firn_work firn_rewrite_run_work(const struct firn_rewrite_plan *plan)
{
    struct firn_work work = { 0 };
    struct firn_manifest_join join = add_joins(&work, plan);
    firn_work_add_commit(&work, (struct firn_manifest_touch){ 0 }, &join);
    firn_work_add_run(&work, 1);
    return work;
}

/* Batches are taken to be those of the plan's order. The first commit joins small manifests; the later ones find them
 * joined, and write anew what they touch. */
struct firn_work firn_rewrite_plan_work(const struct firn_rewrite_plan *plan)
{
    struct firn_work work = { 0 };
    int64_t commits = firn_rewrite_plan_commits(plan);
    if (plan->group_count == 0)
        return work;
    for (uint32_t i = 0; i < plan->group_count; i++)
        work = firn_work_sum(work, execution_work(plan, plan->groups[i]));
    uint32_t batch = (uint32_t)((plan->group_count + commits - 1) / commits);
    struct firn_manifest_join join = add_joins(&work, plan);
    for (uint32_t i = 0; i < plan->group_count; i += batch) {
        struct firn_manifest_touch touched =
            touched_by(plan, plan->groups + i, FIRN_MIN(batch, plan->group_count - i), &join);
        if (i == 0)
            firn_work_add_commit(&work, touched, &join);
        else
            firn_work_add_commit(&work, firn_manifest_touch_joined(touched, &join), NULL);
    }
    firn_work_add_run(&work, commits);
    return work;
}
