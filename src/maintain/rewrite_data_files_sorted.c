/* rewrite-unsorted-only: which files are in order already and can stay, by what manifests say of the order's fields.
 *
 * What is rewritten in a partition becomes files that lie anywhere between its least and its greatest key. So a file in
 * order stays only if it overlaps neither another one in order nor that joint range; one that does is rewritten, too,
 * and may widen the range, until nothing more is met. That no files overlap goes before rewriting few: ends that are
 * not known, or were cut, overlap.
 *
 * Where not all that overlaps has room in a group, groups are filled by keys, and a run has files exchange keys with
 * those next to them: of n files in groups of two, all is apart after some 1.5 log2 n runs (10 for 64 files). Files of
 * one commit that may share a first field are taken to be apart, though several groups may have written them: else
 * groups that are full of one key would be written again for ever.
 *
 * Files that cannot be rewritten are left out, since nothing done to the others sets them apart. Files that move to
 * another spec join no range: where they go is not known before they are read. */
#include "base/buffer.h"
#include "base/map.h"
#include "maintain/key_range.h"
#include "maintain/rewrite_data_files.h"

#include <stdlib.h>

#define NO_FILE UINT32_MAX

struct file_range {
    uint32_t file; /* in the plan; NO_FILE: of several */
    struct firn_key_range keys;
};

struct partition {
    struct range_list {
        struct file_range *items;
        size_t count;
        size_t capacity;
    } sorted;                /* files that may stay */
    struct file_range joint; /* of those that do not */
    bool has_joint;
    bool is_left; /* what is rewritten goes to another spec */
};

struct search {
    struct firn_op *op;
    struct firn_rewrite_plan *plan;
    struct firn_key_measure measure;
    bool is_lenient; /* ranges that may meet are apart */
    struct firn_map partitions;
};

static struct file_range range_of(const struct search *search, uint32_t index, bool is_rewritten)
{
    const struct firn_data_file *file = &search->plan->files[index].scan->entry->file;
    return (struct file_range){ index, firn_key_range_of(search->op->arena, &search->measure, file, is_rewritten) };
}

static int compare_ranges(const void *a, const void *b, void *context)
{
    const struct file_range *left = a, *right = b;
    int order = firn_key_ranges_compare(context, &left->keys, &right->keys);
    return order ? order : left->file < right->file ? -1 : left->file > right->file;
}

static bool is_of_one_commit(const struct firn_rewrite_plan *plan, uint32_t a, uint32_t b)
{
    return a != NO_FILE && b != NO_FILE &&
           plan->files[a].scan->entry->snapshot_id == plan->files[b].scan->entry->snapshot_id;
}

/* Whether `next`, which comes no earlier by compare_ranges, may overlap `range`. Where that is not known, one commit
 * has its files in order. */
static bool follows_within(const struct search *search, const struct file_range *range, const struct file_range *next)
{
    enum firn_key_relation relation = firn_key_range_followed(&search->measure, &range->keys, &next->keys);
    return relation == FIRN_KEYS_OVERLAP || (relation == FIRN_KEYS_MEET && !search->is_lenient &&
                                             !is_of_one_commit(search->plan, range->file, next->file));
}

static bool overlap(struct search *search, const struct file_range *a, const struct file_range *b)
{
    return compare_ranges(a, b, &search->measure) < 0 ? follows_within(search, a, b) : follows_within(search, b, a);
}

static void widen_joint(const struct search *search, struct partition *partition, uint32_t file)
{
    struct file_range range = range_of(search, file, true);
    struct file_range *joint = &partition->joint;
    range.file = NO_FILE;
    if (!partition->has_joint)
        *joint = range;
    firn_key_range_widen(&search->measure, &joint->keys, &range.keys);
    partition->has_joint = true;
}

static void sort_ranges(struct search *search, struct range_list *list)
{
    if (list->count > 0)
        qsort_r(list->items, list->count, sizeof *list->items, compare_ranges, &search->measure);
}

/* A walk over sorted ranges: each is held against the one that reaches highest of those before, as whatever overlaps a
 * range overlaps that one, too, or the joint range that it becomes part of. */
struct sweep {
    size_t at;
    const struct file_range *highest;
    uint32_t files[2]; /* that overlap */
};

/* Goes on to the next range that overlaps the highest. */
static bool next_overlap(const struct search *search, const struct range_list *list, struct sweep *sweep)
{
    bool found = false;
    for (; !found && sweep->at < list->count; sweep->at++) {
        const struct file_range *range = &list->items[sweep->at], *before = sweep->highest;
        if (!before || firn_key_ends_compare(&search->measure, range->keys.last, before->keys.last) > 0)
            sweep->highest = range;
        found = before && follows_within(search, before, range);
        if (found)
            memcpy(sweep->files, (uint32_t[]){ before->file, range->file }, sizeof sweep->files);
    }
    return found;
}

/* Files in order that overlap each other. */
static void find_overlaps(struct search *search, struct partition *partition)
{
    struct firn_planned_file *files = search->plan->files;
    struct range_list *sorted = &partition->sorted;
    struct sweep sweep = { 0 };
    sort_ranges(search, sorted);
    while (next_overlap(search, sorted, &sweep))
        files[sweep.files[0]].order = files[sweep.files[1]].order = FIRN_FILE_OVERLAPS;
    for (size_t i = 0; i < sorted->count; i++)
        if (files[sorted->items[i].file].order == FIRN_FILE_OVERLAPS)
            widen_joint(search, partition, sorted->items[i].file);
}

static bool take_in(struct search *search, struct partition *partition, const struct file_range *range)
{
    struct firn_planned_file *file = &search->plan->files[range->file];
    if (file->order != FIRN_FILE_SORTED || !overlap(search, &partition->joint, range))
        return false;
    file->order = FIRN_FILE_JOINS;
    widen_joint(search, partition, range->file);
    return true;
}

/* Takes into the joint range what it meets. The files that stay are apart, so one way up and one way down find all but
 * what ends of several kinds hide; another round says so. */
static void join_overlapped(struct search *search, struct partition *partition)
{
    const struct range_list *sorted = &partition->sorted;
    bool has_grown = partition->has_joint && !partition->is_left;
    while (has_grown) {
        has_grown = false;
        for (size_t i = 0; i < sorted->count; i++)
            has_grown |= take_in(search, partition, &sorted->items[i]);
        for (size_t i = sorted->count; i-- > 0;)
            has_grown |= take_in(search, partition, &sorted->items[i]);
    }
}

static firn_status find_partition(struct search *search, const struct firn_data_file *file, struct firn_buffer *key,
                                  struct partition **out)
{
    struct firn_arena *arena = search->op->arena;
    FIRN_TRY(firn_data_file_partition_key(search->op, file, key));
    struct firn_map_entry *entry = firn_map_find(&search->partitions, firn_buffer_bytes(key));
    if (!entry) {
        struct partition *partition = FIRN_NEW(arena, struct partition);
        partition->is_left = file->spec_id != search->plan->options.output_spec_id;
        entry = firn_map_put(&search->partitions, firn_bytes_copy(arena, firn_buffer_bytes(key)));
        entry->value.pointer = partition;
    }
    *out = entry->value.pointer;
    return FIRN_OK;
}

/* Ranges of files by the partition they lie in: of those in order, and of all that is rewritten for other reasons. */
static firn_status collect_ranges(struct search *search, struct firn_buffer *key)
{
    struct firn_rewrite_plan *plan = search->plan;
    for (uint32_t i = 0; i < plan->file_count; i++) {
        struct firn_planned_file *file = &plan->files[i];
        struct partition *partition;
        if (firn_rewrite_claims_order(plan, &file->scan->entry->file))
            file->order = FIRN_FILE_SORTED;
        if (file->obstacle != FIRN_VERDICT_SIZE_FINE)
            continue;
        FIRN_TRY(find_partition(search, &file->scan->entry->file, key, &partition));
        if (file->order == FIRN_FILE_SORTED && !file->is_over_threshold)
            FIRN_PUSH(search->op->arena, &partition->sorted, range_of(search, i, false));
        else
            widen_joint(search, partition, i);
    }
    return FIRN_OK;
}

bool firn_rewrite_claims_order(const struct firn_rewrite_plan *plan, const struct firn_data_file *file)
{
    return file->sort_order_id == plan->ordering->sort_order_id;
}

/* What is packed by keys. */

static firn_status begin_search(struct firn_op *op, struct firn_rewrite_plan *plan, struct search *out)
{
    *out = (struct search){ .op = op, .plan = plan };
    firn_map_init(&out->partitions, op->arena);
    return firn_key_measure_new(op, plan->metadata, plan->ordering, &out->measure);
}

/* Ranges of some of the plan's files, in order. */
static struct range_list list_ranges(struct search *search, const uint32_t *files, size_t count)
{
    struct range_list list = { .items = FIRN_NEW_ARRAY(search->op->arena, struct file_range, count), .count = count };
    for (size_t i = 0; i < count; i++)
        list.items[i] = range_of(search, files[i], false);
    sort_ranges(search, &list);
    return list;
}

firn_status firn_rewrite_lay_by_keys(struct firn_op *op, struct firn_rewrite_plan *plan, uint32_t *files, size_t count)
{
    struct search search;
    if (!plan->options.rewrite_unsorted_only)
        return FIRN_OK;
    FIRN_TRY(begin_search(op, plan, &search));
    struct range_list list = list_ranges(&search, files, count);
    for (size_t i = 0; i < count; i++)
        files[i] = list.items[i].file;
    return FIRN_OK;
}

firn_status firn_rewrite_sets_apart(struct firn_op *op, struct firn_rewrite_plan *plan,
                                    const struct firn_planned_group *group, bool *sets_apart)
{
    struct search search;
    struct sweep sweep = { 0 };
    *sets_apart = false;
    if (!plan->options.rewrite_unsorted_only)
        return FIRN_OK;
    FIRN_TRY(begin_search(op, plan, &search));
    search.is_lenient = group->is_part; /* or its outputs would meet files of other groups, and so on */
    struct range_list list = list_ranges(&search, group->files, group->file_count);
    *sets_apart = next_overlap(&search, &list, &sweep);
    return FIRN_OK;
}

firn_status firn_rewrite_find_sorted(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    struct search search;
    struct firn_buffer key = { 0 };
    if (!plan->options.rewrite_unsorted_only)
        return FIRN_OK;
    FIRN_TRY(begin_search(op, plan, &search));
    firn_status status = collect_ranges(&search, &key);
    firn_buffer_done(&key);
    for (size_t i = 0; status == FIRN_OK && i < search.partitions.count; i++) {
        struct partition *partition = search.partitions.entries[i].value.pointer;
        find_overlaps(&search, partition);
        join_overlapped(&search, partition);
    }
    return status;
}
