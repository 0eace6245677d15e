/* What statistics and page indexes rule out of a row group. parquet-format, "Statistics", "Page Index".
 *
 * A row group, or a stretch of rows between two page ends, is put to the same test as a file, as if its statistics were
 * a file's metrics. What is not recorded, or cannot be read as the column's type, may be anything. */
#include "base/math.h"
#include "maintain/explain_deep.h"
#include "maintain/file_check_parts.h"
#include "rewrite/page_index.h"

#include <stdlib.h>

/* Statistics as metrics ---------------------------------------------------------------------------------------------
 */

/* Metrics being filled, with room for one entry a column. */
struct firn_look_metrics {
    struct firn_data_file file;
};

struct firn_look_metrics *firn_look_metrics_new(struct firn_arena *arena, size_t columns)
{
    struct firn_look_metrics *metrics = FIRN_NEW(arena, struct firn_look_metrics);
    struct firn_count_map *counts[] = { &metrics->file.value_counts, &metrics->file.null_value_counts };
    struct firn_bound_map *bounds[] = { &metrics->file.lower_bounds, &metrics->file.upper_bounds };
    for (size_t i = 0; i < FIRN_COUNT_OF(counts); i++)
        *counts[i] = (struct firn_count_map){ FIRN_NEW_ARRAY(arena, int32_t, columns),
                                              FIRN_NEW_ARRAY(arena, int64_t, columns), 0, true };
    for (size_t i = 0; i < FIRN_COUNT_OF(bounds); i++)
        *bounds[i] = (struct firn_bound_map){ FIRN_NEW_ARRAY(arena, int32_t, columns),
                                              FIRN_NEW_ARRAY(arena, struct firn_bytes, columns), 0, true };
    return metrics;
}

static void clear_metrics(struct firn_look_metrics *metrics, int64_t rows)
{
    metrics->file.record_count = rows;
    metrics->file.value_counts.count = metrics->file.null_value_counts.count = 0;
    metrics->file.lower_bounds.count = metrics->file.upper_bounds.count = 0;
}

static void add_count(struct firn_count_map *map, int32_t id, int64_t count)
{
    map->ids[map->count] = id;
    map->counts[map->count++] = count;
}

static void add_bound(struct firn_bound_map *map, int32_t id, struct firn_bytes bytes)
{
    map->ids[map->count] = id;
    map->values[map->count++] = bytes;
}

/* What a chunk or a page says of a column's values. */
struct column_facts {
    int64_t value_count, null_count; /* below 0: not known */
    struct firn_bytes min, max;      /* data NULL: not known */
};

static bool has_order(const struct firn_look_column *column)
{
    bool is_uuid_text = column->field->type.id == FIRN_TYPE_UUID && column->node->type == FIRN_PARQUET_BYTE_ARRAY;
    return !is_uuid_text && firn_order_of(column->node) != FIRN_ORDER_NONE;
}

/* Bounds that are no values of the column's type are none. */
static void add_facts(struct firn_op *op, const struct firn_look_column *column, const struct column_facts *facts,
                      struct firn_look_metrics *out)
{
    const struct firn_field *field = column->field;
    struct firn_value lower, upper;
    if (facts->value_count >= 0 && facts->null_count >= 0 && facts->null_count <= facts->value_count) {
        add_count(&out->file.value_counts, field->id, facts->value_count);
        add_count(&out->file.null_value_counts, field->id, facts->null_count);
    }
    if (!facts->min.data || !facts->max.data || !has_order(column) ||
        firn_conversion_of_plain(op, &column->conversion, &field->type, facts->min, &lower) != FIRN_OK ||
        firn_conversion_of_plain(op, &column->conversion, &field->type, facts->max, &upper) != FIRN_OK)
        return;
    add_bound(&out->file.lower_bounds, field->id, firn_value_bytes(op->arena, &lower));
    add_bound(&out->file.upper_bounds, field->id, firn_value_bytes(op->arena, &upper));
}

static struct column_facts facts_of_chunk(const struct firn_look_column *column, const struct firn_column_chunk *chunk)
{
    const struct firn_parquet_statistics *statistics = &chunk->statistics;
    struct column_facts facts = { .value_count = chunk->value_count, .null_count = -1 };
    if (chunk->is_encrypted)
        return (struct column_facts){ .value_count = -1, .null_count = -1 };
    if (statistics->has_null_count)
        facts.null_count = statistics->null_count;
    if (!firn_check_statistics_range(column->node, statistics, &facts.min, &facts.max))
        facts.min = facts.max = (struct firn_bytes){ 0 };
    return facts;
}

static bool group_may_match(struct firn_op *op, const struct firn_look *look, const struct firn_row_group *group,
                            struct firn_look_metrics *metrics)
{
    clear_metrics(metrics, group->row_count);
    for (size_t i = 0; i < look->all->fields.count; i++) {
        const struct firn_look_column *column = &look->columns[i];
        if (!column->node)
            continue;
        struct column_facts facts = facts_of_chunk(column, &group->chunks[column->node->leaf_index]);
        add_facts(op, column, &facts, metrics);
    }
    return firn_predicate_file_may_match(look->all->run->where, &metrics->file);
}

/* Pages -------------------------------------------------------------------------------------------------------------
 */

/* The page indexes of a chunk; no pages: there is none, or one that cannot be right. */
struct pages {
    struct firn_offset_index offsets;
    struct firn_column_index columns;
};

static bool is_in_order(const struct firn_offset_index *index, int64_t row_count)
{
    for (uint32_t i = 0; i < index->page_count; i++) {
        int64_t first = index->pages[i].first_row_index;
        bool begins = i == 0 ? first == 0 : first > index->pages[i - 1].first_row_index;
        if (!begins || first >= row_count || index->pages[i].compressed_bytes < 0)
            return false;
    }
    return true;
}

/* What of a row group is being looked at. */
struct group_look {
    const struct firn_look *look;
    const struct firn_row_group *group;
    struct firn_page_index_reader *reader;
    struct pages *pages; /* one a leaf of the file */
    atomic_uint_fast64_t requests;
};

static firn_status find_index(struct firn_op *op, struct group_look *group, struct firn_file_range range,
                              struct firn_bytes *out)
{
    *out = (struct firn_bytes){ 0 };
    if (range.len == 0)
        return FIRN_OK;
    return firn_page_index_find(op, group->reader, group->look->object, range, &group->requests, out);
}

static firn_status read_pages(struct firn_op *op, struct group_look *group, uint32_t leaf)
{
    const struct firn_column_chunk *chunk = &group->group->chunks[leaf];
    uint64_t file_bytes = firn_object_size(group->look->object);
    struct pages *out = &group->pages[leaf];
    struct firn_bytes bytes;
    if (chunk->is_encrypted)
        return FIRN_OK;
    FIRN_TRY(find_index(op, group, firn_offset_index_range(chunk, file_bytes), &bytes));
    if (bytes.len == 0)
        return FIRN_OK;
    FIRN_TRY(firn_offset_index_parse(op, bytes, &out->offsets));
    FIRN_TRY(find_index(op, group, firn_column_index_range(chunk, file_bytes), &bytes));
    if (bytes.len > 0)
        FIRN_TRY(firn_column_index_parse(op, bytes, &out->columns));
    if (!is_in_order(&out->offsets, group->group->row_count))
        *out = (struct pages){ 0 };
    if (out->columns.page_count != out->offsets.page_count)
        out->columns.page_count = 0;
    return FIRN_OK;
}

static int64_t end_of_page(const struct firn_offset_index *index, uint32_t page, int64_t row_count)
{
    return page + 1 < index->page_count ? index->pages[page + 1].first_row_index : row_count;
}

/* The last page that begins at or before a row. */
static uint32_t page_of_row(const struct firn_offset_index *index, int64_t row)
{
    uint32_t low = 0, high = index->page_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (index->pages[middle].first_row_index <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct column_facts facts_of_page(const struct pages *pages, uint32_t page, int64_t row_count)
{
    const struct firn_column_index *index = &pages->columns;
    int64_t rows = end_of_page(&pages->offsets, page, row_count) - pages->offsets.pages[page].first_row_index;
    if (index->null_pages[page])
        return (struct column_facts){ .value_count = rows, .null_count = rows };
    return (struct column_facts){
        .value_count = rows,
        .null_count = index->null_counts ? index->null_counts[page] : -1,
        .min = index->min_values[page],
        .max = index->max_values[page],
    };
}

static bool stretch_may_match(struct firn_op *op, const struct group_look *group, int64_t begin, int64_t end,
                              struct firn_look_metrics *metrics)
{
    const struct firn_look *look = group->look;
    clear_metrics(metrics, end - begin);
    for (size_t i = 0; i < look->all->fields.count; i++) {
        const struct firn_look_column *column = &look->columns[i];
        if (!column->node)
            continue;
        const struct pages *pages = &group->pages[column->node->leaf_index];
        if (pages->columns.page_count == 0)
            continue;
        struct column_facts facts = facts_of_page(pages, page_of_row(&pages->offsets, begin), group->group->row_count);
        /* some of the page's rows: whether nulls are among them is told only by none and by all */
        if (facts.null_count > 0 && facts.null_count < facts.value_count)
            facts.null_count = -1;
        facts.value_count = end - begin;
        facts.null_count = FIRN_MIN(facts.null_count, facts.value_count);
        add_facts(op, column, &facts, metrics);
    }
    return firn_predicate_file_may_match(look->all->run->where, &metrics->file);
}

static int compare_rows(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* Rows at which some page of a column of the predicate begins, ascending. */
struct cuts {
    FIRN_ARRAY(int64_t) rows;
};

static void find_cuts(struct firn_arena *arena, const struct group_look *group, struct cuts *out)
{
    FIRN_PUSH(arena, &out->rows, 0);
    for (size_t i = 0; i < group->look->all->fields.count; i++) {
        const struct firn_parquet_node *node = group->look->columns[i].node;
        if (!node)
            continue;
        const struct firn_offset_index *index = &group->pages[node->leaf_index].offsets;
        for (uint32_t k = 1; k < index->page_count; k++)
            FIRN_PUSH(arena, &out->rows, index->pages[k].first_row_index);
    }
    if (out->rows.count > 1)
        qsort(out->rows.items, out->rows.count, sizeof *out->rows.items, compare_rows);
    size_t count = 1;
    for (size_t i = 1; i < out->rows.count; i++)
        if (out->rows.items[i] != out->rows.items[count - 1])
            out->rows.items[count++] = out->rows.items[i];
    out->rows.count = count;
}

/* Rows that stay, as stretches in order. */
struct stretch {
    int64_t begin, end;
};
struct stretches {
    FIRN_ARRAY(struct stretch) items;
};

static void find_stretches(struct firn_op *op, const struct group_look *group, struct firn_look_metrics *metrics,
                           struct stretches *out)
{
    struct cuts cuts = { 0 };
    find_cuts(op->arena, group, &cuts);
    for (size_t i = 0; i < cuts.rows.count; i++) {
        struct stretch next = { cuts.rows.items[i],
                                i + 1 < cuts.rows.count ? cuts.rows.items[i + 1] : group->group->row_count };
        if (!stretch_may_match(op, group, next.begin, next.end, metrics))
            continue;
        if (out->items.count > 0 && out->items.items[out->items.count - 1].end == next.begin)
            out->items.items[out->items.count - 1].end = next.end;
        else
            FIRN_PUSH(op->arena, &out->items, next);
    }
}

static bool meets(const struct stretches *stretches, int64_t begin, int64_t end, size_t *from)
{
    while (*from < stretches->items.count && stretches->items.items[*from].end <= begin)
        ++*from;
    return *from < stretches->items.count && stretches->items.items[*from].begin < end;
}

/* A chunk's pages that hold rows that stay, or all of it where its pages are not known. */
static void add_chunk(const struct group_look *group, uint32_t leaf, bool is_judged, const struct stretches *stretches,
                      struct firn_explain_deep *out)
{
    const struct firn_column_chunk *chunk = &group->group->chunks[leaf];
    const struct firn_offset_index *index = &group->pages[leaf].offsets;
    size_t from = 0;
    uint64_t offset, len;
    firn_column_chunk_range(chunk, &offset, &len);
    if (index->page_count == 0 || index->pages[0].offset < (int64_t)offset) {
        out->bytes_kept += (int64_t)len;
        return;
    }
    out->bytes_kept += index->pages[0].offset - (int64_t)offset; /* the dictionary */
    for (uint32_t i = 0; i < index->page_count; i++) {
        int64_t end = end_of_page(index, i, group->group->row_count);
        bool is_kept = meets(stretches, index->pages[i].first_row_index, end, &from);
        out->bytes_kept += is_kept ? index->pages[i].compressed_bytes : 0;
        out->pages += is_judged;
        out->pages_kept += is_judged && is_kept;
    }
}

static bool is_judged(const struct firn_look *look, uint32_t leaf)
{
    for (size_t i = 0; i < look->all->fields.count; i++)
        if (look->columns[i].node && look->columns[i].node->leaf_index == leaf)
            return true;
    return false;
}

static firn_status look_at_pages(struct firn_op *op, struct group_look *group, struct firn_look_metrics *metrics)
{
    const struct firn_look *look = group->look;
    struct stretches stretches = { 0 };
    for (uint32_t leaf = 0; leaf < look->footer->leaf_count; leaf++)
        FIRN_TRY(read_pages(op, group, leaf));
    find_stretches(op, group, metrics, &stretches);
    if (stretches.items.count == 0)
        return FIRN_OK;
    look->out->files_kept = 1;
    look->out->row_groups_kept++;
    for (size_t i = 0; i < stretches.items.count; i++)
        look->out->rows_kept += stretches.items.items[i].end - stretches.items.items[i].begin;
    for (uint32_t leaf = 0; leaf < look->footer->leaf_count; leaf++)
        add_chunk(group, leaf, is_judged(look, leaf), &stretches, look->out);
    return FIRN_OK;
}

firn_status firn_explain_look_at_group(struct firn_op *op, const struct firn_look *look,
                                       const struct firn_row_group *row_group, struct firn_look_metrics *metrics)
{
    look->out->row_groups++;
    if (row_group->row_count == 0 || !group_may_match(op, look, row_group, metrics))
        return FIRN_OK;
    struct group_look group = {
        .look = look,
        .group = row_group,
        .reader = firn_page_index_reader_new(op->arena, row_group, firn_object_size(look->object)),
        .pages = FIRN_NEW_ARRAY(op->arena, struct pages, look->footer->leaf_count),
    };
    firn_status status = look_at_pages(op, &group, metrics);
    firn_page_index_reader_clear(group.reader);
    return status;
}
