/* rewrite-unsorted-only: which files are in order already and can stay, by what manifests say of the order's first
 * field.
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
#include "maintain/rewrite_data_files.h"
#include "table/metrics.h"

#include <stdlib.h>

/* Where a range begins or ends, from lower to greater values. */
enum end_kind { END_LEAST, END_NULL_BELOW, END_VALUE, END_NAN, END_NULL_ABOVE, END_GREATEST };

struct key_end {
    enum end_kind kind;
    struct firn_value value;
};

#define NO_FILE UINT32_MAX

struct key_range {
    uint32_t file; /* in the plan; NO_FILE: of several */
    struct key_end low, high;
};

struct partition {
    struct range_list {
        struct key_range *items;
        size_t count;
        size_t capacity;
    } sorted;               /* files that may stay */
    struct key_range joint; /* of those that do not */
    bool has_joint;
    bool is_left; /* what is rewritten goes to another spec */
};

struct search {
    struct firn_op *op;
    struct firn_rewrite_plan *plan;
    const struct firn_field *field;      /* the order's first */
    struct firn_metrics_setting written; /* how bounds of new files are kept */
    struct firn_map partitions;
};

static int compare_ends(const struct key_end *a, const struct key_end *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->kind == END_VALUE ? firn_value_compare(&a->value, &b->value) : 0;
}

static bool keeps_order(const struct firn_transform *transform)
{
    return transform->id != FIRN_TRANSFORM_BUCKET && transform->id != FIRN_TRANSFORM_VOID;
}

static bool is_cut_type(enum firn_type_id type)
{
    return type == FIRN_TYPE_STRING || type == FIRN_TYPE_BINARY;
}

/* What becomes of a bound in a new file; false: it is not kept. */
static bool rewrite_bound(const struct search *search, bool is_upper, struct firn_bytes *bytes)
{
    struct firn_arena *arena = search->op->arena;
    enum firn_type_id type = search->field->type.id;
    int32_t length = search->written.length;
    if (search->written.mode == FIRN_METRICS_NONE || search->written.mode == FIRN_METRICS_COUNTS)
        return false;
    if (search->written.mode != FIRN_METRICS_TRUNCATE || !is_cut_type(type))
        return true;
    if (is_upper)
        return firn_truncate_upper(arena, type, *bytes, length, bytes);
    *bytes = firn_truncate_lower(arena, type, *bytes, length);
    return true;
}

/* One end of a file as it is, or as it will be when it has been rewritten. */
static struct key_end end_of(const struct search *search, const struct firn_data_file *file, bool is_upper,
                             bool is_rewritten)
{
    const struct firn_transform *transform = &search->plan->ordering->fields[0].transform;
    const struct firn_type *type = &search->field->type;
    struct key_end end = { .kind = is_upper ? END_GREATEST : END_LEAST };
    struct firn_bytes bytes;
    struct firn_value value;
    if (!keeps_order(transform) ||
        !firn_bound_map_find(is_upper ? &file->upper_bounds : &file->lower_bounds, search->field->id, &bytes) ||
        (is_rewritten && !rewrite_bound(search, is_upper, &bytes)) || !firn_value_read(type, bytes, &value))
        return end;
    end.kind = END_VALUE;
    end.value = firn_transform_value(transform, type, &value);
    return end;
}

/* Bounds leave NaN out, which is above every number. */
static bool may_have_nan(const struct search *search, const struct firn_data_file *file)
{
    enum firn_type_id type = search->field->type.id;
    int64_t count;
    return (type == FIRN_TYPE_FLOAT || type == FIRN_TYPE_DOUBLE) &&
           (!firn_count_map_find(&file->nan_value_counts, search->field->id, &count) || count > 0);
}

static struct key_range range_of(const struct search *search, uint32_t index, bool is_rewritten)
{
    const struct firn_ordering_field *first = &search->plan->ordering->fields[0];
    const struct firn_data_file *file = &search->plan->files[index].scan->entry->file;
    bool nulls_below = first->nulls_last == first->descending;
    int64_t nulls;
    struct key_range range = {
        .file = index,
        .low = end_of(search, file, false, is_rewritten),
        .high = end_of(search, file, true, is_rewritten),
    };
    bool is_known = firn_count_map_find(&file->null_value_counts, search->field->id, &nulls);
    if (range.high.kind == END_VALUE && may_have_nan(search, file))
        range.high.kind = END_NAN;
    if (is_known && nulls == file->record_count)
        range.low.kind = range.high.kind = nulls_below ? END_NULL_BELOW : END_NULL_ABOVE;
    else if ((!is_known || nulls > 0) && nulls_below)
        range.low.kind = range.low.kind == END_LEAST ? END_LEAST : END_NULL_BELOW;
    else if (!is_known || nulls > 0)
        range.high.kind = range.high.kind == END_GREATEST ? END_GREATEST : END_NULL_ABOVE;
    return range;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct key_range *left = a, *right = b;
    int order = compare_ends(&left->low, &right->low);
    if (order == 0)
        order = compare_ends(&left->high, &right->high);
    return order ? order : left->file < right->file ? -1 : left->file > right->file;
}

static bool is_of_one_commit(const struct firn_rewrite_plan *plan, uint32_t a, uint32_t b)
{
    return a != NO_FILE && b != NO_FILE &&
           plan->files[a].scan->entry->snapshot_id == plan->files[b].scan->entry->snapshot_id;
}

/* Upper bounds of long texts are cut, and then raised in their last byte: what lies between is as likely to be where
 * both ranges meet. */
static bool meets_cut_bound(const struct firn_value *low, const struct firn_value *high)
{
    enum { CUT_BYTES_MIN = 16 };
    if (!is_cut_type(high->type) || high->bytes.len < CUT_BYTES_MIN)
        return false;
    size_t kept = high->bytes.len - 1;
    struct firn_bytes begin = { low->bytes.data, low->bytes.len < kept ? low->bytes.len : kept };
    int order = firn_bytes_compare(begin, (struct firn_bytes){ high->bytes.data, kept });
    return order == 0 && low->bytes.len > kept && low->bytes.data[kept] + 1 >= high->bytes.data[kept];
}

/* Whether `next`, which comes no earlier by compare_ranges, may overlap `range`. Ends that meet are apart in an order
 * of one field. In others the fields after it decide, of which nothing is known but that one commit has them in order,
 * as it has what lies about ends that are not known or were cut. */
static bool follows_within(const struct firn_rewrite_plan *plan, const struct key_range *range,
                           const struct key_range *next)
{
    int order = compare_ends(&next->low, &range->high);
    bool is_known = next->low.kind != END_LEAST && range->high.kind != END_GREATEST;
    bool has_values = next->low.kind == END_VALUE && range->high.kind == END_VALUE;
    if (order > 0 || (order == 0 && is_known && plan->ordering->field_count == 1))
        return false;
    if (order == 0 || !is_known || (has_values && meets_cut_bound(&next->low.value, &range->high.value)))
        return !is_of_one_commit(plan, range->file, next->file);
    return true;
}

static bool overlap(const struct firn_rewrite_plan *plan, const struct key_range *a, const struct key_range *b)
{
    return compare_ranges(a, b) < 0 ? follows_within(plan, a, b) : follows_within(plan, b, a);
}

static void widen_joint(const struct search *search, struct partition *partition, uint32_t file)
{
    struct key_range range = range_of(search, file, true);
    struct key_range *joint = &partition->joint;
    range.file = NO_FILE;
    if (!partition->has_joint)
        *joint = range;
    if (compare_ends(&range.low, &joint->low) < 0)
        joint->low = range.low;
    if (compare_ends(&range.high, &joint->high) > 0)
        joint->high = range.high;
    partition->has_joint = true;
}

/* Files in order that overlap each other. By their lower ends, each is held against the one that reaches highest of
 * those before: whatever overlaps a range overlaps that one, too, or the joint range that it becomes part of. */
static void find_overlaps(const struct search *search, struct partition *partition)
{
    struct firn_planned_file *files = search->plan->files;
    struct range_list *sorted = &partition->sorted;
    if (sorted->count == 0)
        return;
    qsort(sorted->items, sorted->count, sizeof *sorted->items, compare_ranges);
    const struct key_range *highest = &sorted->items[0];
    for (size_t i = 1; i < sorted->count; i++) {
        const struct key_range *range = &sorted->items[i];
        if (follows_within(search->plan, highest, range))
            files[range->file].order = files[highest->file].order = FIRN_FILE_OVERLAPS;
        if (compare_ends(&range->high, &highest->high) > 0)
            highest = range;
    }
    for (size_t i = 0; i < sorted->count; i++)
        if (files[sorted->items[i].file].order == FIRN_FILE_OVERLAPS)
            widen_joint(search, partition, sorted->items[i].file);
}

static bool take_in(const struct search *search, struct partition *partition, const struct key_range *range)
{
    struct firn_planned_file *file = &search->plan->files[range->file];
    if (file->order != FIRN_FILE_SORTED || !overlap(search->plan, &partition->joint, range))
        return false;
    file->order = FIRN_FILE_JOINS;
    widen_joint(search, partition, range->file);
    return true;
}

/* Takes into the joint range what it meets. The files that stay are apart, so one way up and one way down find all but
 * what ends of several kinds hide; another round says so. */
static void join_overlapped(const struct search *search, struct partition *partition)
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

static bool claims_order(const struct firn_rewrite_plan *plan, const struct firn_data_file *file)
{
    return file->sort_order_id == plan->ordering->sort_order_id;
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
        if (claims_order(plan, &file->scan->entry->file))
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

static firn_status begin_search(struct firn_op *op, struct firn_rewrite_plan *plan, struct search *out)
{
    const struct firn_schema *schema = firn_metadata_current_schema(plan->metadata);
    const struct firn_sort_order *order =
        firn_metadata_sort_order(plan->metadata, plan->metadata->default_sort_order_id);
    const struct firn_metrics_config *metrics;
    FIRN_TRY(firn_metrics_config_new(op, plan->metadata, schema, order, &metrics));
    *out = (struct search){ .op = op, .plan = plan };
    out->field = firn_schema_field(schema, plan->ordering->fields[0].source_id);
    out->written = firn_metrics_config_find(metrics, out->field->id);
    firn_map_init(&out->partitions, op->arena);
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
