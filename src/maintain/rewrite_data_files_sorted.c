/* rewrite-unsorted-only: which files are in order already and can stay, by what manifests say of the order's fields.
 *
 * What is rewritten in a partition becomes files that lie anywhere between its least and its greatest key. So a file in
 * order stays only if it overlaps neither another one in order nor that joint range; one that does is rewritten, too,
 * and may widen the range, until nothing more is met. That no files overlap goes before rewriting few: ends that are
 * not known, or were cut, overlap.
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
    return relation == FIRN_KEYS_OVERLAP ||
           (relation == FIRN_KEYS_MEET && !is_of_one_commit(search->plan, range->file, next->file));
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
    if (firn_key_ends_compare(&search->measure, range.keys.first, joint->keys.first) < 0)
        joint->keys.first = range.keys.first;
    if (firn_key_ends_compare(&search->measure, range.keys.last, joint->keys.last) > 0)
        joint->keys.last = range.keys.last;
    partition->has_joint = true;
}

/* Files in order that overlap each other. By their lower ends, each is held against the one that reaches highest of
 * those before: whatever overlaps a range overlaps that one, too, or the joint range that it becomes part of. */
static void find_overlaps(struct search *search, struct partition *partition)
{
    struct firn_planned_file *files = search->plan->files;
    struct range_list *sorted = &partition->sorted;
    if (sorted->count == 0)
        return;
    qsort_r(sorted->items, sorted->count, sizeof *sorted->items, compare_ranges, &search->measure);
    const struct file_range *highest = &sorted->items[0];
    for (size_t i = 1; i < sorted->count; i++) {
        const struct file_range *range = &sorted->items[i];
        if (follows_within(search, highest, range))
            files[range->file].order = files[highest->file].order = FIRN_FILE_OVERLAPS;
        if (firn_key_ends_compare(&search->measure, range->keys.last, highest->keys.last) > 0)
            highest = range;
    }
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

firn_status firn_rewrite_find_sorted(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    struct search search = { .op = op, .plan = plan };
    struct firn_buffer key = { 0 };
    if (!plan->options.rewrite_unsorted_only)
        return FIRN_OK;
    FIRN_TRY(firn_key_measure_new(op, plan->metadata, plan->ordering, &search.measure));
    firn_map_init(&search.partitions, op->arena);
    firn_status status = collect_ranges(&search, &key);
    firn_buffer_done(&key);
    for (size_t i = 0; status == FIRN_OK && i < search.partitions.count; i++) {
        struct partition *partition = search.partitions.entries[i].value.pointer;
        find_overlaps(&search, partition);
        join_overlapped(&search, partition);
    }
    return status;
}
