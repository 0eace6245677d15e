/* rewrite-unsorted-only: which files are in order already, and alone in their range of keys. By manifests: files that
 * say they have the order, and what they say of its first field.
 *
 * Left as they are, files in order keep their place; what is not in order is sorted by itself, and becomes part of the
 * whole when ranges that overlap are rewritten. */
#include "base/buffer.h"
#include "base/map.h"
#include "maintain/rewrite_data_files.h"

#include <stdlib.h>

/* Where a range begins or ends, from lower to greater values. */
enum end_kind { END_LEAST, END_NULL_BELOW, END_VALUE, END_NULL_ABOVE, END_GREATEST };

struct key_end {
    enum end_kind kind;
    struct firn_value value;
};

struct key_range {
    uint32_t file; /* in the plan */
    struct key_end low, high;
};

struct range_list {
    struct key_range *items;
    size_t count;
    size_t capacity;
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

/* The end that a bound gives; `unknown` when there is none. */
static struct key_end end_of(const struct firn_bound_map *bounds, const struct firn_field *field,
                             const struct firn_transform *transform, enum end_kind unknown)
{
    struct key_end end = { .kind = unknown };
    struct firn_bytes bytes;
    struct firn_value value;
    if (!keeps_order(transform) || !firn_bound_map_find(bounds, field->id, &bytes) ||
        !firn_value_read(&field->type, bytes, &value))
        return end;
    end.kind = END_VALUE;
    end.value = firn_transform_value(transform, &field->type, &value);
    return end;
}

static struct key_range range_of(const struct firn_rewrite_plan *plan, uint32_t index, const struct firn_field *field)
{
    const struct firn_ordering_field *first = &plan->ordering->fields[0];
    const struct firn_data_file *file = &plan->files[index].scan->entry->file;
    bool nulls_below = first->nulls_last == first->descending;
    int64_t nulls;
    struct key_range range = {
        .file = index,
        .low = end_of(&file->lower_bounds, field, &first->transform, END_LEAST),
        .high = end_of(&file->upper_bounds, field, &first->transform, END_GREATEST),
    };
    bool is_known = firn_count_map_find(&file->null_value_counts, field->id, &nulls);
    if (is_known && nulls == file->record_count)
        range.low.kind = range.high.kind = nulls_below ? END_NULL_BELOW : END_NULL_ABOVE;
    else if ((!is_known || nulls > 0) && nulls_below)
        range.low.kind = range.low.kind == END_VALUE ? END_NULL_BELOW : range.low.kind;
    else if (!is_known || nulls > 0)
        range.high.kind = range.high.kind == END_VALUE ? END_NULL_ABOVE : range.high.kind;
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
    return plan->files[a].scan->entry->snapshot_id == plan->files[b].scan->entry->snapshot_id;
}

/* Upper bounds of long texts are cut, and then raised in their last byte: what lies between is as likely to be where
 * both ranges meet. */
static bool meets_cut_bound(const struct firn_value *low, const struct firn_value *high)
{
    enum { CUT_BYTES_MIN = 16 };
    if ((high->type != FIRN_TYPE_STRING && high->type != FIRN_TYPE_BINARY) || high->bytes.len < CUT_BYTES_MIN)
        return false;
    size_t kept = high->bytes.len - 1;
    struct firn_bytes begin = { low->bytes.data, low->bytes.len < kept ? low->bytes.len : kept };
    int order = firn_bytes_compare(begin, (struct firn_bytes){ high->bytes.data, kept });
    return order == 0 && low->bytes.len > kept && low->bytes.data[kept] + 1 >= high->bytes.data[kept];
}

static bool is_one_key(const struct key_range *range)
{
    return compare_ends(&range->low, &range->high) == 0;
}

/* Whether `next`, which begins no lower, overlaps `range`. Ends that meet are apart, unless a file has no other key:
 * then the fields after the first decide, as they do where ends are not known, and these are in order within one
 * commit. */
static bool overlaps(const struct firn_rewrite_plan *plan, const struct key_range *range, const struct key_range *next)
{
    int order = compare_ends(&next->low, &range->high);
    bool is_known = next->low.kind != END_LEAST && range->high.kind != END_GREATEST;
    if (order > 0)
        return false;
    if (order == 0 && is_known && !is_one_key(range) && !is_one_key(next))
        return false;
    if (order == 0 || !is_known)
        return !is_of_one_commit(plan, range->file, next->file);
    return next->low.kind != END_VALUE || range->high.kind != END_VALUE ||
           !meets_cut_bound(&next->low.value, &range->high.value);
}

/* Ranges by their lower ends: each is held against the one that reaches highest of those before. Whatever overlaps a
 * range overlaps that one, too. */
static void mark_overlaps(struct firn_rewrite_plan *plan, struct range_list *list)
{
    qsort(list->items, list->count, sizeof *list->items, compare_ranges);
    const struct key_range *highest = &list->items[0];
    for (size_t i = 1; i < list->count; i++) {
        const struct key_range *range = &list->items[i];
        if (overlaps(plan, highest, range))
            plan->files[range->file].order = plan->files[highest->file].order = FIRN_FILE_OVERLAPS;
        if (compare_ends(&range->high, &highest->high) > 0)
            highest = range;
    }
}

static bool claims_order(const struct firn_rewrite_plan *plan, const struct firn_data_file *file)
{
    return file->sort_order_id == plan->ordering->sort_order_id;
}

/* The ranges of files in order, by the partition they lie in. */
static firn_status collect_ranges(struct firn_op *op, struct firn_rewrite_plan *plan, struct firn_map *partitions,
                                  struct firn_buffer *key)
{
    const struct firn_schema *schema = firn_metadata_current_schema(plan->metadata);
    const struct firn_field *field = firn_schema_field(schema, plan->ordering->fields[0].source_id);
    for (uint32_t i = 0; i < plan->file_count; i++) {
        const struct firn_data_file *file = &plan->files[i].scan->entry->file;
        if (!claims_order(plan, file))
            continue;
        FIRN_TRY(firn_data_file_partition_key(op, file, key));
        struct firn_map_entry *entry = firn_map_find(partitions, firn_buffer_bytes(key));
        if (!entry) {
            entry = firn_map_put(partitions, firn_bytes_copy(op->arena, firn_buffer_bytes(key)));
            entry->value.pointer = FIRN_NEW(op->arena, struct range_list);
        }
        struct range_list *list = entry->value.pointer;
        struct key_range range = range_of(plan, i, field);
        FIRN_PUSH(op->arena, list, range);
        plan->files[i].order = FIRN_FILE_SORTED;
    }
    return FIRN_OK;
}

firn_status firn_rewrite_find_sorted(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    struct firn_map partitions;
    struct firn_buffer key = { 0 };
    if (!plan->options.rewrite_unsorted_only)
        return FIRN_OK;
    firn_map_init(&partitions, op->arena);
    firn_status status = collect_ranges(op, plan, &partitions, &key);
    firn_buffer_done(&key);
    for (size_t i = 0; status == FIRN_OK && i < partitions.count; i++)
        mark_overlaps(plan, partitions.entries[i].value.pointer);
    return status;
}
