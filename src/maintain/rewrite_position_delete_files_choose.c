/* Choosing position delete files: which are candidates, how they are packed, which groups are worth rewriting.
 * Reference: procedures.md, 4 and 2.5, with the differences of 13.
 *
 * Invariants
 *  (1) Files of one group have one spec and one partition tuple.
 *  (2) On format version 3 all candidates of a partition are one group, since one vector says all of a data file: two
 *      groups must not write two.
 *  (3) A group is chosen only if what comes out is not chosen again: fewer files, files of single data files in place
 *      of files of many, vectors in place of files. */
#include "maintain/rewrite_position_delete_files.h"

#include "base/map.h"
#include "base/math.h"
#include "maintain/delete_use.h"
#include "rewrite/deletion.h"

#include <stdlib.h>

/* What judging needs to know of the whole table. */
struct choosing {
    struct firn_position_rewrite_plan *plan;
    struct firn_map live;       /* bare paths of data files */
    struct firn_map unreadable; /* partitions that have position deletes which firn cannot read */
};

struct index_list {
    uint32_t *items;
    size_t count, capacity;
};

struct group_list {
    struct firn_position_group *items;
    size_t count, capacity;
};

bool firn_position_is_candidate(enum firn_position_verdict verdict)
{
    return verdict == FIRN_POSITION_SMALL || verdict == FIRN_POSITION_LARGE || verdict == FIRN_POSITION_ALL;
}

enum firn_position_verdict firn_position_rewrite_qualify(const struct firn_position_rewrite_options *options,
                                                         const struct firn_data_file *file)
{
    int64_t bytes = firn_delete_read_bytes(file);
    if (options->rewrite_all)
        return FIRN_POSITION_ALL;
    if (bytes < options->sizes.bytes_min)
        return FIRN_POSITION_SMALL;
    return bytes > options->sizes.bytes_max ? FIRN_POSITION_LARGE : FIRN_POSITION_SIZE_FINE;
}

static const struct firn_data_file *file_at(const struct firn_position_rewrite_plan *plan, uint32_t index)
{
    return &plan->files[index].entry->file;
}

/* Lists the candidates of each partition, in scan order. */
static firn_status collect_candidates(struct firn_op *op, struct firn_position_rewrite_plan *plan,
                                      struct firn_map *partitions)
{
    struct firn_buffer *key = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, key);
    firn_map_init(partitions, op->arena);
    for (uint32_t i = 0; i < plan->file_count; i++) {
        struct firn_position_file *file = &plan->files[i];
        file->group = FIRN_NO_POSITION_GROUP;
        if (!firn_position_is_candidate(file->verdict)) {
            plan->left_alone_count += file->verdict != FIRN_POSITION_SIZE_FINE;
            continue;
        }
        FIRN_TRY(firn_data_file_partition_key(op, &file->entry->file, key));
        struct firn_map_entry *found = firn_map_find(partitions, firn_buffer_bytes(key));
        if (!found) {
            found = firn_map_put(partitions, firn_bytes_copy(op->arena, firn_buffer_bytes(key)));
            found->value.pointer = FIRN_NEW(op->arena, struct index_list);
        }
        FIRN_PUSH(op->arena, (struct index_list *)found->value.pointer, i);
    }
    return FIRN_OK;
}

/* Next fit; of vectors, everything. (2) */
static void pack_partition(struct firn_op *op, struct firn_position_rewrite_plan *plan, struct firn_bytes key,
                           const struct index_list *candidates, struct group_list *groups)
{
    struct firn_position_group group = { .files = candidates->items, .partition = key };
    for (size_t i = 0; i < candidates->count; i++) {
        const struct firn_manifest_entry *entry = plan->files[candidates->items[i]].entry;
        int64_t bytes = FIRN_MAX(firn_delete_read_bytes(&entry->file), 0);
        struct firn_group_weight weight = { group.bytes, group.file_count };
        if (!plan->to_vectors && !firn_group_has_room(&plan->options.limits, weight, bytes)) {
            FIRN_PUSH(op->arena, groups, group);
            group = (struct firn_position_group){ .files = candidates->items + i, .partition = key };
        }
        group.file_count++;
        group.bytes += bytes;
        group.sequence_number_max = FIRN_MAX(group.sequence_number_max, entry->sequence_number);
        plan->files[candidates->items[i]].group = (uint32_t)groups->count;
    }
    FIRN_PUSH(op->arena, groups, group);
}

/* How many live data files the group's files name, each of which names one alone; FIRN_ABSENT: some name more. What is
 * said of data files that have left comes out as nothing. */
static int64_t count_scopes(const struct choosing *choosing, const struct firn_position_group *group)
{
    struct firn_arena arena;
    struct firn_map scopes;
    int64_t count = 0;
    firn_arena_init(&arena);
    firn_map_init(&scopes, &arena);
    for (uint32_t i = 0; i < group->file_count && count != FIRN_ABSENT; i++) {
        struct firn_text scope =
            firn_delete_path_bare(firn_delete_file_scope(file_at(choosing->plan, group->files[i])));
        if (scope.len > 0 && firn_map_find_text(&choosing->live, scope))
            firn_map_put_text(&scopes, scope);
        count = scope.len > 0 ? (int64_t)scopes.count : FIRN_ABSENT;
    }
    firn_arena_done(&arena);
    return count;
}

static bool has_large(const struct firn_position_rewrite_plan *plan, const struct firn_position_group *group)
{
    for (uint32_t i = 0; i < group->file_count; i++)
        if (plan->files[group->files[i]].verdict == FIRN_POSITION_LARGE)
            return true;
    return false;
}

static bool has_position_file(const struct firn_position_rewrite_plan *plan, const struct firn_position_group *group)
{
    for (uint32_t i = 0; i < group->file_count; i++)
        if (!firn_data_file_is_deletion_vector(file_at(plan, group->files[i])))
            return true;
    return false;
}

/* Whether any of the table's position deletes is no vector yet; without one, nothing is to be done on version 3. */
static bool any_position_file(const struct firn_position_rewrite_plan *plan)
{
    for (uint32_t i = 0; i < plan->scan.delete_count; i++) {
        const struct firn_data_file *file = &plan->scan.deletes[i]->file;
        if (file->content == FIRN_CONTENT_POSITION_DELETES && !firn_data_file_is_deletion_vector(file))
            return true;
    }
    return false;
}

/* A vector says all of a data file, so all that is said of it must be known. */
static enum firn_position_group_verdict judge_vectors(const struct choosing *choosing,
                                                      const struct firn_position_group *group)
{
    const struct firn_position_rewrite_plan *plan = choosing->plan;
    if (!(plan->options.rewrite_all ? any_position_file(plan) : has_position_file(plan, group)))
        return FIRN_POSITION_GROUP_VECTORS;
    if (firn_map_find(&choosing->unreadable, group->partition))
        return FIRN_POSITION_GROUP_UNREADABLE;
    return FIRN_POSITION_GROUP_CHOSEN;
}

static enum firn_position_group_verdict judge_gain(const struct firn_position_rewrite_plan *plan,
                                                   const struct firn_position_group *group)
{
    bool is_splitting = plan->granularity == FIRN_DELETES_BY_FILE && group->output_count == FIRN_ABSENT;
    if (plan->options.rewrite_all || is_splitting || has_large(plan, group) || group->output_count < group->file_count)
        return FIRN_POSITION_GROUP_CHOSEN;
    return FIRN_POSITION_GROUP_NO_GAIN;
}

static void judge_group(const struct choosing *choosing, struct firn_position_group *group)
{
    const struct firn_position_rewrite_plan *plan = choosing->plan;
    struct firn_group_weight weight = { group->bytes, group->file_count };
    group->output_count = plan->to_vectors || plan->granularity == FIRN_DELETES_BY_FILE
                              ? count_scopes(choosing, group)
                              : firn_output_expected_files(&plan->options.sizes, group->bytes);
    if (!plan->options.rewrite_all && !firn_group_has_enough(&plan->options.limits, &plan->options.sizes, weight))
        group->verdict = FIRN_POSITION_GROUP_FEW;
    else
        group->verdict = plan->to_vectors ? judge_vectors(choosing, group) : judge_gain(plan, group);
}

static int compare_groups(const void *a, const void *b, void *context)
{
    const struct firn_position_group *left = *(const struct firn_position_group *const *)a;
    const struct firn_position_group *right = *(const struct firn_position_group *const *)b;
    struct firn_group_weight x = { left->bytes, left->file_count }, y = { right->bytes, right->file_count };
    int order = firn_job_order_compare(*(const int64_t *)context, x, y);
    return order ? order : left < right ? -1 : left > right; /* one array: plan order */
}

static void list_chosen(struct firn_op *op, struct firn_position_rewrite_plan *plan)
{
    plan->groups = FIRN_NEW_ARRAY(op->arena, const struct firn_position_group *, plan->packed_count);
    for (uint32_t i = 0; i < plan->packed_count; i++)
        if (plan->packed[i].verdict == FIRN_POSITION_GROUP_CHOSEN)
            plan->groups[plan->group_count++] = &plan->packed[i];
    qsort_r(plan->groups, plan->group_count, sizeof *plan->groups, compare_groups, &plan->options.job_order);
}

static firn_status init_choosing(struct firn_op *op, struct choosing *choosing)
{
    const struct firn_scan *scan = &choosing->plan->scan;
    struct firn_buffer *key = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, key);
    firn_map_init(&choosing->live, op->arena);
    firn_map_init(&choosing->unreadable, op->arena);
    for (uint32_t i = 0; i < scan->file_count; i++)
        firn_map_put_text(&choosing->live, firn_delete_path_bare(scan->files[i].entry->file.path));
    for (uint32_t i = 0; i < scan->delete_count; i++) {
        const struct firn_data_file *file = &scan->deletes[i]->file;
        if (file->content != FIRN_CONTENT_POSITION_DELETES || firn_data_file_is_deletion_vector(file) ||
            firn_delete_file_is_readable(file))
            continue;
        FIRN_TRY(firn_data_file_partition_key(op, file, key));
        firn_map_put(&choosing->unreadable, firn_bytes_copy(op->arena, firn_buffer_bytes(key)));
    }
    return FIRN_OK;
}

firn_status firn_position_rewrite_choose(struct firn_op *op, struct firn_position_rewrite_plan *plan)
{
    struct choosing choosing = { .plan = plan };
    struct firn_map partitions;
    struct group_list groups = { 0 };
    FIRN_TRY(init_choosing(op, &choosing));
    FIRN_TRY(collect_candidates(op, plan, &partitions));
    for (size_t i = 0; i < partitions.count; i++)
        pack_partition(op, plan, partitions.entries[i].key, partitions.entries[i].value.pointer, &groups);
    for (size_t i = 0; i < groups.count; i++)
        judge_group(&choosing, &groups.items[i]);
    plan->packed = groups.items;
    plan->packed_count = (uint32_t)groups.count;
    list_chosen(op, plan);
    return FIRN_OK;
}
