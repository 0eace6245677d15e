/* Choosing files: which are candidates, how they are packed into groups, which groups are worth rewriting.
 * Reference: procedures.md, 2.5, with the differences of 13.
 *
 * Invariants
 *  (1) Files of one group have one spec, and one partition tuple if that is the spec of the output.
 *  (2) A file that firn cannot rewrite safely is in no group, and groups are judged without it.
 *  (3) Unless rewrite-all asks for it, a group is chosen only if something in it is new since the last run with these
 *      settings, or if it sets sorted files apart; and the rewrite sorts, gives fewer files, applies deletes, moves
 *      files to another spec, or cuts a file that is too large. Deletes stop applying to what they were applied to, at
 * the latest with the second rewrite, since a new file has the sequence number of the snapshot that was planned on, or
 * its own. */
#include "maintain/rewrite_data_files.h"

#include "base/buffer.h"
#include "base/math.h"
#include "rewrite/deletion.h"

#include <stdlib.h>

struct file_list {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

struct group_list {
    struct firn_planned_group *items;
    size_t count;
    size_t capacity;
};

static const struct firn_data_file *data_file(const struct firn_rewrite_plan *plan, uint32_t index)
{
    return &plan->files[index].scan->entry->file;
}

/* Rows deleted by files that concern this data file alone; others cannot be attributed without opening them. */
static int64_t count_known_deleted(const struct firn_scan_file *scan)
{
    int64_t rows = FIRN_MAX(scan->entry->file.record_count, 0);
    int64_t deleted = 0;
    for (uint32_t i = 0; i < scan->deletes.own.count; i++) {
        int64_t records = FIRN_MAX(scan->deletes.own.items[i]->file.record_count, 0);
        deleted = records > rows - deleted ? rows : deleted + records;
    }
    return deleted;
}

/* Of a file without rows no ratio is too high. */
static void judge_deletes(const struct firn_rewrite_options *options, struct firn_planned_file *file)
{
    int64_t rows = file->scan->entry->file.record_count;
    file->known_deleted_rows = count_known_deleted(file->scan);
    file->is_over_threshold =
        firn_delete_match_count(&file->scan->deletes) >= options->delete_file_threshold ||
        (rows > 0 && (double)file->known_deleted_rows / (double)rows >= options->delete_ratio_threshold);
}

static const enum firn_rewrite_verdict order_verdicts[] = {
    [FIRN_FILE_UNSORTED] = FIRN_VERDICT_UNSORTED,
    [FIRN_FILE_OVERLAPS] = FIRN_VERDICT_OVERLAPS,
    [FIRN_FILE_JOINS] = FIRN_VERDICT_OVERLAPS,
    [FIRN_FILE_SORTED] = FIRN_VERDICT_SIZE_FINE,
};

static enum firn_rewrite_verdict qualify(const struct firn_rewrite_options *options,
                                         const struct firn_planned_file *file)
{
    int64_t bytes = file->scan->entry->file.file_bytes;
    if (options->rewrite_all)
        return FIRN_VERDICT_ALL;
    if (options->rewrite_unsorted_only && !file->is_over_threshold)
        return order_verdicts[file->order];
    if (bytes < options->sizes.bytes_min)
        return FIRN_VERDICT_SMALL;
    if (bytes > options->sizes.bytes_max)
        return FIRN_VERDICT_LARGE;
    return file->is_over_threshold ? FIRN_VERDICT_DELETES : FIRN_VERDICT_SIZE_FINE;
}

/* Which files are live more than once, one flag each: their rows are read as often, but removing the path removes every
 * entry of it. Writers that add a file again make such tables, although the format forbids them. */
static const bool *find_twice(struct firn_op *op, const struct firn_rewrite_plan *plan)
{
    struct firn_arena arena; /* of the map, which goes when the flags are set */
    struct firn_map paths;
    bool *is_twice = FIRN_NEW_ARRAY(op->arena, bool, plan->file_count);
    firn_arena_init(&arena);
    firn_map_init(&paths, &arena);
    for (uint32_t i = 0; i < plan->file_count; i++) {
        struct firn_text path = data_file(plan, i)->path;
        const struct firn_map_entry *met = firn_map_find_text(&paths, path);
        if (met)
            is_twice[i] = is_twice[met->value.number] = true;
        else
            firn_map_put_text(&paths, path)->value.number = i;
    }
    firn_arena_done(&arena);
    return is_twice;
}

static bool has_unreadable(const struct firn_delete_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!firn_delete_file_is_readable(&list->items[i]->file))
            return true;
    return false;
}

static bool has_unreadable_deletes(const struct firn_rewrite_plan *plan, const struct firn_delete_match *deletes)
{
    return plan->has_unreadable_deletes &&
           (has_unreadable(&deletes->equality) || has_unreadable(&deletes->wide) || has_unreadable(&deletes->own));
}

static enum firn_rewrite_verdict find_obstacle(const struct firn_rewrite_plan *plan,
                                               const struct firn_planned_file *file, bool is_twice)
{
    const struct firn_data_file *data = &file->scan->entry->file;
    if (is_twice)
        return FIRN_VERDICT_TWICE;
    if (data->format != FIRN_FILE_PARQUET)
        return FIRN_VERDICT_FORMAT;
    if (data->key_metadata.data)
        return FIRN_VERDICT_ENCRYPTED;
    if (plan->schema_problem.len > 0)
        return FIRN_VERDICT_SCHEMA;
    return has_unreadable_deletes(plan, &file->scan->deletes) ? FIRN_VERDICT_DELETE_FORMAT : FIRN_VERDICT_SIZE_FINE;
}

static enum firn_rewrite_verdict judge_file(const struct firn_rewrite_plan *plan, const struct firn_planned_file *file)
{
    enum firn_rewrite_verdict verdict = qualify(&plan->options, file);
    bool is_wanted = verdict != FIRN_VERDICT_SIZE_FINE;
    return is_wanted && file->obstacle != FIRN_VERDICT_SIZE_FINE ? file->obstacle : verdict;
}

static bool is_candidate(enum firn_rewrite_verdict verdict)
{
    return verdict == FIRN_VERDICT_SMALL || verdict == FIRN_VERDICT_LARGE || verdict == FIRN_VERDICT_ALL ||
           verdict == FIRN_VERDICT_DELETES || verdict == FIRN_VERDICT_UNSORTED || verdict == FIRN_VERDICT_OVERLAPS;
}

/* What the files of a group have in common: spec and partition. Of a spec to be left, the spec alone: the rows go to
 * other partitions anyway, and a group for each old partition would give a file for each pair of an old and a new. */
firn_status firn_rewrite_group_key(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                   const struct firn_data_file *file, struct firn_buffer *out)
{
    uint8_t spec_id[4];
    if (file->spec_id == plan->options.output_spec_id)
        return firn_data_file_partition_key(op, file, out);
    firn_store_le32(spec_id, (uint32_t)file->spec_id);
    firn_buffer_clear(out);
    return firn_buffer_append(op, out, spec_id, sizeof spec_id);
}

static firn_status judge_files(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    const bool *is_twice = find_twice(op, plan);
    for (uint32_t i = 0; i < plan->file_count; i++) {
        struct firn_planned_file *file = &plan->files[i];
        file->group = FIRN_NO_GROUP;
        judge_deletes(&plan->options, file);
        file->obstacle = find_obstacle(plan, file, is_twice[i]);
    }
    FIRN_TRY(firn_rewrite_find_sorted(op, plan));
    for (uint32_t i = 0; i < plan->file_count; i++) {
        struct firn_planned_file *file = &plan->files[i];
        file->verdict = judge_file(plan, file);
        if (!is_candidate(file->verdict))
            plan->left_alone_count += file->verdict != FIRN_VERDICT_SIZE_FINE;
    }
    return FIRN_OK;
}

/* Groups that an earlier run finished go first, as they are: what was done need not be done again. */
static firn_status take_finished(struct firn_op *op, struct firn_rewrite_plan *plan, struct group_list *groups)
{
    struct firn_map candidates;
    if (plan->finished_count == 0)
        return FIRN_OK;
    firn_map_init(&candidates, op->arena);
    for (uint32_t i = 0; i < plan->file_count; i++)
        if (is_candidate(plan->files[i].verdict))
            firn_map_put_text(&candidates, data_file(plan, i)->path)->value.number = i;
    for (uint32_t i = 0; i < plan->finished_count; i++) {
        struct firn_planned_group group;
        bool matches;
        FIRN_TRY(firn_rewrite_finished_match(op, plan, &candidates, &plan->finished[i], &group, &matches));
        if (!matches)
            continue;
        for (uint32_t k = 0; k < group.file_count; k++)
            plan->files[group.files[k]].group = (uint32_t)groups->count;
        FIRN_PUSH(op->arena, groups, group);
    }
    return FIRN_OK;
}

/* Lists the candidates of each group key that are in no group, in scan order. */
static firn_status collect_candidates(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_map *partitions)
{
    struct firn_buffer *key = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, key);
    firn_map_init(partitions, op->arena);
    for (uint32_t i = 0; i < plan->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[i];
        if (!is_candidate(file->verdict) || file->group != FIRN_NO_GROUP)
            continue;
        FIRN_TRY(firn_rewrite_group_key(op, plan, data_file(plan, i), key));
        struct firn_map_entry *found = firn_map_find(partitions, firn_buffer_bytes(key));
        if (!found) {
            found = firn_map_put(partitions, firn_bytes_copy(op->arena, firn_buffer_bytes(key)));
            found->value.pointer = FIRN_NEW(op->arena, struct file_list);
        }
        FIRN_PUSH(op->arena, (struct file_list *)found->value.pointer, i);
    }
    return FIRN_OK;
}

static struct firn_group_weight group_weight(const struct firn_planned_group *group)
{
    return (struct firn_group_weight){ group->bytes, group->file_count };
}

/* No group is larger than what may be rewritten at all. */
static struct firn_group_limits limits_of(const struct firn_rewrite_plan *plan)
{
    struct firn_group_limits limits = plan->options.limits;
    if (plan->limits.bytes_max > 0)
        limits.bytes_max = FIRN_MIN(limits.bytes_max, plan->limits.bytes_max);
    return limits;
}

/* Of a group that is full, how many files it keeps. With rewrite-unsorted-only, files that are apart need not be
 * rewritten together, but the last of them may overlap what comes next. */
static firn_status count_kept(struct firn_op *op, struct firn_rewrite_plan *plan,
                              const struct firn_planned_group *group, uint32_t *kept)
{
    bool sets_apart, has_unsorted = false;
    *kept = group->file_count;
    FIRN_TRY(firn_rewrite_sets_apart(op, plan, group, &sets_apart));
    for (uint32_t i = 0; i < group->file_count; i++)
        has_unsorted |= plan->files[group->files[i]].order == FIRN_FILE_UNSORTED;
    if (plan->options.rewrite_unsorted_only && group->file_count > 1 && !sets_apart && !has_unsorted)
        *kept = group->file_count - 1;
    return FIRN_OK;
}

static void add_to_group(struct firn_rewrite_plan *plan, struct firn_planned_group *group)
{
    const struct firn_data_file *file = data_file(plan, group->files[group->file_count++]);
    group->bytes += FIRN_MAX(file->file_bytes, 0);
}

static void close_group(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_planned_group group,
                        struct group_list *groups)
{
    for (uint32_t i = 0; i < group.file_count; i++)
        plan->files[group.files[i]].group = (uint32_t)groups->count;
    FIRN_PUSH(op->arena, groups, group);
}

/* Closes a full group; what it does not keep begins the next one. */
static firn_status cut_full_group(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_planned_group *group,
                                  struct group_list *groups)
{
    struct firn_planned_group full = { .files = group->files, .is_part = true, .is_cut = group->is_cut };
    uint32_t kept;
    group->is_part = true;
    FIRN_TRY(count_kept(op, plan, group, &kept));
    while (full.file_count < kept)
        add_to_group(plan, &full);
    struct firn_planned_group next = { .files = group->files + kept, .is_part = true, .is_cut = group->is_cut };
    while (kept + next.file_count < group->file_count)
        add_to_group(plan, &next);
    close_group(op, plan, full, groups);
    *group = next;
    return FIRN_OK;
}

/* Next fit: one open group; what does not fit closes it. */
static firn_status pack_partition(struct firn_op *op, struct firn_rewrite_plan *plan,
                                  const struct file_list *candidates, struct group_list *groups)
{
    struct firn_planned_group group = { .files = candidates->items };
    struct firn_group_limits limits = limits_of(plan);
    for (size_t i = 0; i < candidates->count; i++) {
        int64_t bytes = FIRN_MAX(data_file(plan, candidates->items[i])->file_bytes, 0);
        while (!firn_group_has_room(&limits, group_weight(&group), bytes)) {
            group.is_cut |= firn_group_has_room(&plan->options.limits, group_weight(&group), bytes);
            FIRN_TRY(cut_full_group(op, plan, &group, groups));
        }
        add_to_group(plan, &group);
    }
    close_group(op, plan, group, groups);
    return FIRN_OK;
}

static bool has_enough(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    struct firn_group_limits limits = plan->options.limits;
    limits.input_files_min = firn_rewrite_group_files_min(plan, group);
    if (plan->options.rewrite_unsorted_only)
        return true;
    for (uint32_t i = 0; i < group->file_count; i++)
        if (plan->files[group->files[i]].is_over_threshold)
            return true;
    return firn_group_has_enough(&limits, &plan->options.sizes, group_weight(group));
}

static bool has_news(const struct firn_rewrite_plan *plan, const struct firn_rewrite_history *history,
                     const struct firn_planned_group *group)
{
    for (uint32_t i = 0; i < group->file_count; i++)
        if (!firn_rewrite_history_settles(history, plan->files[group->files[i]].scan))
            return true;
    return false;
}

static bool gains(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    bool sorts = plan->options.strategy != FIRN_STRATEGY_BINPACK;
    if (plan->options.rewrite_all || sorts || group->output_count < group->file_count)
        return true;
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[group->files[i]];
        if (file->verdict == FIRN_VERDICT_LARGE || firn_delete_match_count(&file->scan->deletes) > 0 ||
            file->scan->entry->file.spec_id != plan->options.output_spec_id)
            return true;
    }
    return false;
}

/* What a run looked at and left because it was few is news for the one that packs what has grown cold. */
static bool is_settled(const struct firn_rewrite_plan *plan, const struct firn_rewrite_history *history,
                       const struct firn_planned_group *group, enum firn_group_age age)
{
    struct firn_rewrite_history outputs_only = *history;
    outputs_only.is_covered = false;
    return !has_news(plan, age == FIRN_GROUP_COOLED ? &outputs_only : history, group);
}

static firn_status judge_group(struct firn_op *op, struct firn_rewrite_plan *plan,
                               const struct firn_rewrite_history *history, struct firn_planned_group *group)
{
    bool rewrite_all = plan->options.rewrite_all, sets_apart;
    enum firn_group_age age = firn_rewrite_group_age(plan, group);
    group->verdict = FIRN_GROUP_UNCHANGED;
    if (age == FIRN_GROUP_UNCHANGED_SINCE)
        return FIRN_OK;
    group->verdict = group->is_cut ? FIRN_GROUP_OVER_BYTES : FIRN_GROUP_FEW;
    if (!rewrite_all && !has_enough(plan, group))
        return FIRN_OK;
    group->verdict = FIRN_GROUP_SETTLED;
    FIRN_TRY(firn_rewrite_sets_apart(op, plan, group, &sets_apart));
    if (!rewrite_all && is_settled(plan, history, group, age) && !sets_apart)
        return FIRN_OK;
    FIRN_TRY(firn_rewrite_plan_bins(op, plan, group));
    group->verdict = gains(plan, group) ? FIRN_GROUP_CHOSEN : FIRN_GROUP_NO_GAIN;
    if (group->verdict == FIRN_GROUP_CHOSEN && age != FIRN_GROUP_COOLED && !firn_rewrite_group_pays(plan, group))
        group->verdict = FIRN_GROUP_DEAR;
    return FIRN_OK;
}

/* Keeps the first `count` files of the group at `index`; the others become a group of their own, beyond the cap. */
static firn_status cut_group(struct firn_op *op, struct firn_rewrite_plan *plan, struct group_list *groups,
                             size_t index, uint32_t count)
{
    struct firn_planned_group whole = groups->items[index];
    struct firn_planned_group kept = { .files = whole.files, .file_count = count };
    for (uint32_t i = 0; i < count; i++)
        kept.bytes += FIRN_MAX(data_file(plan, whole.files[i])->file_bytes, 0);
    FIRN_TRY(firn_rewrite_plan_bins(op, plan, &kept));
    if (!gains(plan, &kept)) {
        groups->items[index].verdict = FIRN_GROUP_OVER_CAP;
        return FIRN_OK;
    }
    struct firn_planned_group rest = {
        .files = whole.files + count,
        .file_count = whole.file_count - count,
        .bytes = whole.bytes - kept.bytes,
        .verdict = FIRN_GROUP_OVER_CAP,
    };
    for (uint32_t i = 0; i < rest.file_count; i++)
        plan->files[rest.files[i]].group = (uint32_t)groups->count;
    groups->items[index] = kept; /* verdict: chosen */
    FIRN_PUSH(op->arena, groups, rest);
    return FIRN_OK;
}

/* max-files-to-rewrite: whole groups in plan order, the last one cut. */
static firn_status apply_cap(struct firn_op *op, struct firn_rewrite_plan *plan, struct group_list *groups)
{
    int64_t left = plan->options.files_max;
    size_t count = groups->count; /* a cut appends one more, which is beyond the cap already */
    for (size_t i = 0; i < count; i++) {
        if (groups->items[i].verdict != FIRN_GROUP_CHOSEN)
            continue;
        if (groups->items[i].file_count <= left) {
            left -= groups->items[i].file_count;
            continue;
        }
        plan->is_capped = true;
        if (left > 0)
            FIRN_TRY(cut_group(op, plan, groups, i, (uint32_t)left));
        else
            groups->items[i].verdict = FIRN_GROUP_OVER_CAP;
        left = 0;
    }
    return FIRN_OK;
}

/* rewrite-job-order; with limits that do not say otherwise, by gain. */
static int compare_groups(const void *a, const void *b, void *context)
{
    const struct firn_rewrite_plan *plan = context;
    const struct firn_planned_group *left = *(const struct firn_planned_group *const *)a;
    const struct firn_planned_group *right = *(const struct firn_planned_group *const *)b;
    enum firn_job_order wanted = (enum firn_job_order)plan->options.job_order;
    if (wanted == FIRN_ORDER_NONE && firn_rewrite_has_limits(&plan->limits))
        return firn_rewrite_gain_compare(plan, left, right);
    int order = firn_job_order_compare(wanted, group_weight(left), group_weight(right));
    return order ? order : left < right ? -1 : left > right; /* one array: plan order */
}

static void list_chosen(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    plan->groups = FIRN_NEW_ARRAY(op->arena, const struct firn_planned_group *, plan->packed_count);
    for (uint32_t i = 0; i < plan->packed_count; i++)
        if (plan->packed[i].verdict == FIRN_GROUP_CHOSEN)
            plan->groups[plan->group_count++] = &plan->packed[i];
    qsort_r(plan->groups, plan->group_count, sizeof *plan->groups, compare_groups, plan);
}

/* Looks at the delete files: which of them firn does not read, and how many data files each applies to. */
static void look_at_deletes(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    const struct firn_scan *whole = &plan->whole;
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, whole->file_count);
    for (uint32_t i = 0; i < whole->delete_count; i++)
        if (!firn_delete_file_is_readable(&whole->deletes[i]->file))
            plan->has_unreadable_deletes = true;
    for (uint32_t i = 0; i < whole->file_count; i++)
        files[i] = &whole->files[i];
    firn_delete_uses_count(op->arena, files, whole->file_count, &plan->uses);
}

firn_status firn_rewrite_plan_choose(struct firn_op *op, const struct firn_rewrite_history *history,
                                     struct firn_rewrite_plan *plan)
{
    struct firn_map partitions;
    struct group_list groups = { 0 };
    look_at_deletes(op, plan);
    FIRN_TRY(judge_files(op, plan));
    FIRN_TRY(take_finished(op, plan, &groups));
    size_t finished_count = groups.count;
    FIRN_TRY(collect_candidates(op, plan, &partitions));
    for (size_t i = 0; i < partitions.count; i++) {
        struct file_list *candidates = partitions.entries[i].value.pointer;
        FIRN_TRY(firn_rewrite_lay_by_keys(op, plan, candidates->items, candidates->count));
        FIRN_TRY(pack_partition(op, plan, candidates, &groups));
    }
    for (size_t i = finished_count; i < groups.count; i++)
        FIRN_TRY(judge_group(op, plan, history, &groups.items[i]));
    FIRN_TRY(apply_cap(op, plan, &groups));
    plan->packed = groups.items;
    plan->packed_count = (uint32_t)groups.count;
    firn_rewrite_plan_fit(op, plan);
    list_chosen(op, plan);
    return FIRN_OK;
}
