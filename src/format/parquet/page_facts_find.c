/* Facts of a page that is not decoded. parquet-format, "Page Index", "Data Pages"; parquet.thrift, Statistics,
 * ColumnOrder, SizeStatistics.
 *
 * A number that several places tell must be the same in all of them. */
#include "format/parquet/page_facts_find.h"

#include "base/math.h"
#include "base/utf8.h"
#include "format/parquet/created_by.h"
#include "format/parquet/levels_decode.h"

enum { LENGTH_BYTES = 4 }; /* before each value of a BYTE_ARRAY in PLAIN */

/* More than a page can hold, and so little that a chunk's sum cannot overflow. */
#define UNENCODED_BYTES_MAX (INT64_C(1) << 40)

/* A page and what speaks of it. */
struct subject {
    const struct firn_page_sources *from;
    const struct firn_page *page;
    uint32_t index;
    enum firn_order order;
    bool is_whole;                                /* the chunk's only page: what is said of the chunk is said of it */
    const struct firn_offset_index *offset_index; /* NULL: none that knows the page */
    const struct firn_column_index *column_index; /* NULL: none for the same pages */
    const struct firn_page_facts *levels;         /* what its levels tell; NULL: they are not decoded */
};

/* A number that may be told by several. */
struct told {
    bool known, contradicted;
    int64_t number;
};

static void tell(struct told *told, int64_t number)
{
    told->contradicted |= told->known && told->number != number;
    told->known = true;
    told->number = number;
}

/* Whether the offset index has the page where it lies. The last page must also end the chunk, or there are pages that
 * the index does not know. */
static bool is_located(const struct firn_page_sources *from, const struct firn_page *page, uint32_t index)
{
    const struct firn_offset_index *offsets = from->offset_index;
    uint64_t chunk_offset, chunk_bytes;
    if (!offsets || index >= offsets->page_count)
        return false;
    firn_column_chunk_range(from->chunk, &chunk_offset, &chunk_bytes);
    const struct firn_page_location *location = &offsets->pages[index];
    uint64_t page_bytes = page->header_bytes.len + page->body.len;
    bool is_last = index + 1 == offsets->page_count;
    return location->offset >= 0 && (uint64_t)location->offset == chunk_offset + page->offset &&
           location->compressed_bytes >= 0 && (uint64_t)location->compressed_bytes == page_bytes &&
           (!is_last || page->offset + page_bytes == chunk_bytes);
}

static struct subject subject_of(const struct firn_page_sources *from, const struct firn_page *page, uint32_t index,
                                 const struct firn_page_facts *levels)
{
    struct subject subject = {
        .from = from,
        .page = page,
        .index = index,
        .order = firn_order_of(from->leaf),
        .is_whole = page->header.value_count == from->chunk->value_count,
        .levels = levels,
    };
    if (!is_located(from, page, index))
        return subject;
    subject.offset_index = from->offset_index;
    if (from->column_index && from->column_index->page_count == from->offset_index->page_count)
        subject.column_index = from->column_index;
    return subject;
}

/* A histogram of `level_count` entries, none negative, whose sum is `slots`; else NULL. */
static const int64_t *sound_histogram(const int64_t *histogram, uint32_t count, uint32_t level_count, int64_t slots)
{
    int64_t left = slots;
    if (!histogram || count != level_count)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (histogram[i] < 0 || histogram[i] > left)
            return NULL;
        left -= histogram[i];
    }
    return left == 0 ? histogram : NULL;
}

/* The histogram that an index holds of the page, or size statistics if it is the only one. */
static const int64_t *told_histogram(const struct subject *subject, const int64_t *of_pages, uint32_t of_pages_count,
                                     const int64_t *of_chunk, uint32_t of_chunk_count, uint8_t level_max)
{
    int64_t slots = subject->page->header.value_count;
    const int64_t *of_page = of_pages ? of_pages + (size_t)subject->index * of_pages_count : NULL;
    const int64_t *found = sound_histogram(of_page, of_pages_count, level_max + 1u, slots);
    if (!found && subject->is_whole)
        found = sound_histogram(of_chunk, of_chunk_count, level_max + 1u, slots);
    return level_max > 0 ? found : NULL;
}

/* Levels of a v2 page are not compressed: they are counted. NULL when they are broken. */
static const int64_t *counted_histogram(struct firn_arena *arena, struct firn_bytes section, uint8_t level_max,
                                        uint32_t slots)
{
    int64_t *histogram = FIRN_NEW_ARRAY(arena, int64_t, level_max + 1u);
    return firn_levels_count(section, level_max, slots, histogram) ? histogram : NULL;
}

static bool find_histograms(struct firn_arena *arena, const struct subject *subject, struct firn_page_facts *out)
{
    const struct firn_column_index *index = subject->column_index;
    const struct firn_size_statistics *sizes = &subject->from->chunk->sizes;
    const struct firn_page_header *header = &subject->page->header;
    uint8_t rep_max = subject->from->leaf->rep_max, def_max = subject->from->leaf->def_max;
    if (subject->levels) {
        out->rep_histogram = subject->levels->rep_histogram;
        out->def_histogram = subject->levels->def_histogram;
        return true;
    }
    if (header->type == FIRN_PAGE_DATA_V2) {
        const uint8_t *levels = subject->page->body.data;
        struct firn_bytes rep = { levels, (size_t)header->rep_bytes };
        struct firn_bytes def = { levels + header->rep_bytes, (size_t)header->def_bytes };
        if (rep_max > 0 && !(out->rep_histogram = counted_histogram(arena, rep, rep_max, out->slot_count)))
            return false;
        return def_max == 0 || (out->def_histogram = counted_histogram(arena, def, def_max, out->slot_count));
    }
    out->rep_histogram =
        told_histogram(subject, index ? index->rep_histograms : NULL, index ? index->rep_level_count : 0,
                       sizes->rep_histogram, sizes->rep_histogram_count, rep_max);
    out->def_histogram =
        told_histogram(subject, index ? index->def_histograms : NULL, index ? index->def_level_count : 0,
                       sizes->def_histogram, sizes->def_histogram_count, def_max);
    return true;
}

/* Whether the writer counts every slot without a value. In nested columns some leave out lists that are empty or null
 * (Arrow before 26 for numbers in structs in lists), or count twice (DuckDB null structs in lists), so that only
 * writers are believed that are known not to. */
static bool nulls_credible(const struct subject *subject)
{
    static const struct {
        const char *application;
        struct firn_writer_version since, since_in_lists;
    } writers[] = {
        { "parquet-mr", { 0 }, { 0 } },
        { "parquet-cpp-arrow", { 8, 0, 0 }, { 26, 0, 0 } },
        { "parquet-rs", { 50, 0, 0 }, { 50, 0, 0 } },
        { "firn", { 0 }, { 0 } },
    };
    struct firn_text created_by = subject->from->footer->created_by;
    bool in_list = subject->from->leaf->rep_max > 0;
    bool credible = subject->from->leaf->def_max <= 1 && !in_list;
    for (size_t i = 0; i < FIRN_COUNT_OF(writers) && !credible; i++)
        credible = firn_written_since(created_by, writers[i].application,
                                      in_list ? writers[i].since_in_lists : writers[i].since);
    return credible;
}

/* A chunk without nulls has pages without, and one of nulls alone pages of nulls alone. */
static void tell_chunk_nulls(const struct subject *subject, struct told *nulls)
{
    const struct firn_column_chunk *chunk = subject->from->chunk;
    if (!chunk->statistics.has_null_count)
        return;
    if (subject->is_whole || chunk->statistics.null_count == 0)
        tell(nulls, chunk->statistics.null_count);
    else if (chunk->statistics.null_count == chunk->value_count)
        tell(nulls, subject->page->header.value_count);
}

static bool find_values(const struct subject *subject, struct firn_page_facts *out)
{
    const struct firn_page_header *header = &subject->page->header;
    const struct firn_column_index *index = subject->column_index;
    uint8_t def_max = subject->from->leaf->def_max;
    bool credible = nulls_credible(subject);
    struct told nulls = { 0 };
    if (def_max == 0)
        tell(&nulls, 0);
    if (out->def_histogram)
        tell(&nulls, out->slot_count - out->def_histogram[def_max]);
    if (header->type == FIRN_PAGE_DATA_V2)
        tell(&nulls, header->null_count);
    if (credible && header->statistics.has_null_count)
        tell(&nulls, header->statistics.null_count);
    if (credible && index && index->null_counts)
        tell(&nulls, index->null_counts[subject->index]);
    if (index && index->null_pages[subject->index] && subject->order != FIRN_ORDER_NONE)
        tell(&nulls, out->slot_count);
    if (credible)
        tell_chunk_nulls(subject, &nulls);
    if (!nulls.known || nulls.contradicted || nulls.number < 0 || nulls.number > out->slot_count)
        return false;
    out->value_count = out->slot_count - (uint32_t)nulls.number;
    return true;
}

/* Rows that begin in the page by the offset index, which lets pages begin with rows only. */
static void tell_indexed_rows(const struct subject *subject, struct told *rows)
{
    const struct firn_offset_index *offsets = subject->offset_index;
    if (!offsets)
        return;
    bool is_last = subject->index + 1 == offsets->page_count;
    int64_t first = offsets->pages[subject->index].first_row_index;
    int64_t next = is_last ? subject->from->row_group_rows : offsets->pages[subject->index + 1].first_row_index;
    bool is_sound =
        first >= 0 && first < next && next <= subject->from->row_group_rows && (first == 0) == (subject->index == 0);
    tell(rows, is_sound ? next - first : -1);
}

/* Whether the page begins with a row, and the next one does. Pages of flat columns always do, those of an offset index
 * and of version 2 ought to, which Arrow learned late. */
static bool is_cut_at_rows(const struct subject *subject)
{
    const struct firn_page_header *header = &subject->page->header;
    struct firn_text created_by = subject->from->footer->created_by;
    uint8_t rep_max = subject->from->leaf->rep_max;
    bool is_v2 = header->type == FIRN_PAGE_DATA_V2;
    struct firn_bytes rep = { subject->page->body.data, (size_t)header->rep_bytes };
    if (rep_max == 0)
        return true;
    if (subject->levels)
        return subject->levels->begins_row && subject->levels->ends_row;
    if (is_v2 && !firn_levels_begin_row(rep, rep_max, (uint32_t)header->value_count))
        return false;
    if (subject->is_whole || subject->offset_index)
        return true;
    return is_v2 && !firn_written_by(created_by, "parquet-cpp") &&
           !firn_written_before(created_by, "parquet-cpp-arrow", (struct firn_writer_version){ 13, 0, 0 });
}

static bool find_rows(const struct subject *subject, struct firn_page_facts *out)
{
    const struct firn_page_header *header = &subject->page->header;
    struct told rows = { 0 };
    if (subject->from->leaf->rep_max == 0)
        tell(&rows, out->slot_count);
    if (header->type == FIRN_PAGE_DATA_V2)
        tell(&rows, header->row_count);
    if (out->rep_histogram)
        tell(&rows, out->rep_histogram[0]);
    if (subject->is_whole)
        tell(&rows, subject->from->row_group_rows);
    tell_indexed_rows(subject, &rows);
    if (!rows.known || rows.contradicted || rows.number < 1 || rows.number > out->slot_count ||
        !is_cut_at_rows(subject))
        return false;
    out->row_count = (uint32_t)rows.number;
    out->begins_row = out->ends_row = true;
    return true;
}

/* Leaves -1 where nothing tells. */
static bool find_nan_count(const struct subject *subject, struct firn_page_facts *out)
{
    const struct firn_parquet_statistics *of_page = &subject->page->header.statistics;
    const struct firn_parquet_statistics *of_chunk = &subject->from->chunk->statistics;
    const struct firn_column_index *index = subject->column_index;
    struct told nan = { 0 };
    if (!firn_order_has_nan(subject->order) || out->value_count == 0 || subject->from->no_nan)
        tell(&nan, 0);
    else if (of_page->has_nan_count)
        tell(&nan, of_page->nan_count);
    else if (index && index->nan_counts)
        tell(&nan, index->nan_counts[subject->index]);
    else if (of_chunk->has_nan_count && (subject->is_whole || of_chunk->nan_count == 0))
        tell(&nan, of_chunk->nan_count);
    if (nan.known && (nan.number < 0 || nan.number > out->value_count))
        return false;
    out->nan_count = nan.known ? nan.number : -1;
    return true;
}

/* Levels of a page before its values, where their length is known without decompressing. */
static bool find_level_bytes(const struct subject *subject, int64_t *level_bytes)
{
    const struct firn_page_header *header = &subject->page->header;
    *level_bytes = 0;
    if (header->type == FIRN_PAGE_DATA_V2)
        *level_bytes = (int64_t)header->rep_bytes + header->def_bytes;
    return header->type == FIRN_PAGE_DATA_V2 || subject->from->leaf->def_max == 0;
}

/* Leaves -1 where nothing tells. */
static bool find_unencoded_bytes(const struct subject *subject, struct firn_page_facts *out)
{
    const struct firn_page_header *header = &subject->page->header;
    const struct firn_size_statistics *sizes = &subject->from->chunk->sizes;
    const struct firn_offset_index *offsets = subject->offset_index;
    bool is_delta = header->encoding == FIRN_ENCODING_DELTA_BYTE_ARRAY; /* Arrow counts something else */
    struct told bytes = { 0 };
    int64_t level_bytes;
    if (subject->from->leaf->type != FIRN_PARQUET_BYTE_ARRAY || out->value_count == 0) {
        out->unencoded_bytes = 0;
        return true;
    }
    if (header->encoding == FIRN_ENCODING_PLAIN && find_level_bytes(subject, &level_bytes))
        tell(&bytes, header->uncompressed_bytes - level_bytes - (int64_t)out->value_count * LENGTH_BYTES);
    if (offsets && offsets->unencoded_bytes && !is_delta)
        tell(&bytes, offsets->unencoded_bytes[subject->index]);
    if (subject->is_whole && sizes->has_unencoded_bytes && !is_delta)
        tell(&bytes, sizes->unencoded_bytes);
    out->unencoded_bytes = bytes.known ? bytes.number : -1;
    return !bytes.known || (!bytes.contradicted && bytes.number >= 0 && bytes.number <= UNENCODED_BYTES_MAX);
}

/* Whether the statistics' signed order of old is the type's own: then even the deprecated fields are right. */
static bool is_signed_order(enum firn_order order)
{
    return order == FIRN_ORDER_INT32 || order == FIRN_ORDER_INT64;
}

/* Unless it is said otherwise, bounds of one width are whole; others may have been cut. */
static bool is_exact(const struct subject *subject, bool is_said, bool said)
{
    return is_said ? said : subject->from->leaf->type != FIRN_PARQUET_BYTE_ARRAY;
}

static bool range_of_statistics(const struct subject *subject, const struct firn_parquet_statistics *statistics,
                                struct firn_range *out)
{
    if (statistics->min_value.data && statistics->max_value.data) {
        *out = (struct firn_range){
            .min = statistics->min_value,
            .max = statistics->max_value,
            .min_exact = is_exact(subject, statistics->has_min_exact, statistics->min_exact),
            .max_exact = is_exact(subject, statistics->has_max_exact, statistics->max_exact),
        };
        return true;
    }
    if (!statistics->min_legacy.data || !statistics->max_legacy.data || !is_signed_order(subject->order))
        return false;
    *out = (struct firn_range){
        .min = statistics->min_legacy,
        .max = statistics->max_legacy,
        .min_exact = true,
        .max_exact = true,
    };
    return true;
}

static bool range_of_index(const struct subject *subject, struct firn_range *out)
{
    const struct firn_column_index *index = subject->column_index;
    if (!index || index->null_pages[subject->index])
        return false;
    bool exact = is_exact(subject, false, false);
    *out = (struct firn_range){
        .min = index->min_values[subject->index],
        .max = index->max_values[subject->index],
        .min_exact = exact,
        .max_exact = exact,
    };
    return true;
}

/* Statistics first: they are cut more seldom, and may say so. */
static bool told_range(const struct subject *subject, struct firn_range *out)
{
    if (range_of_statistics(subject, &subject->page->header.statistics, out))
        return true;
    if (subject->is_whole && range_of_statistics(subject, &subject->from->chunk->statistics, out))
        return true;
    return range_of_index(subject, out);
}

/* Whether byte strings were compared as unsigned bytes, and decimals as numbers. Files of before column orders, but for
 * DuckDB's, and these writers, compared bytes with a sign (PARQUET-251, PARQUET-686, PARQUET-1655). For numbers of
 * other types a wrong idea of the sign shows itself: the lower bound is then above the upper one. */
static bool order_credible(const struct subject *subject)
{
    enum firn_parquet_type type = subject->from->leaf->type;
    struct firn_text created_by = subject->from->footer->created_by;
    if (type != FIRN_PARQUET_BYTE_ARRAY && type != FIRN_PARQUET_FIXED)
        return true;
    if (!subject->from->footer->has_column_orders)
        return firn_written_since(created_by, "DuckDB", (struct firn_writer_version){ 1, 1, 0 });
    return !firn_written_by(created_by, "parquet-cpp") &&
           !firn_written_before(created_by, "parquet-mr", (struct firn_writer_version){ 1, 10, 0 });
}

/* Text that was cut within a character bounds nothing once a reader has made text of it. */
static bool text_credible(const struct subject *subject, const struct firn_range *range)
{
    return subject->from->leaf->logical.kind != FIRN_LOGICAL_STRING ||
           ((range->min_exact || firn_text_is_utf8(firn_text_of_bytes(range->min))) &&
            (range->max_exact || firn_text_is_utf8(firn_text_of_bytes(range->max))));
}

/* Writers that give a NaN as a bound, or no bounds at all, where there is a NaN. Others leave NaN out of bounds. */
static bool shows_nan(struct firn_text created_by)
{
    return firn_written_since(created_by, "parquet-mr", (struct firn_writer_version){ 1, 10, 0 }) ||
           firn_written_since(created_by, "DuckDB", (struct firn_writer_version){ 1, 1, 0 });
}

static bool find_bounds(struct firn_arena *arena, const struct subject *subject, struct firn_page_facts *out)
{
    const struct firn_parquet_node *leaf = subject->from->leaf;
    struct firn_range range;
    if (subject->order == FIRN_ORDER_NONE || out->nan_count == out->value_count)
        return true;
    if (!told_range(subject, &range) || !firn_range_sound(leaf, &range) || !order_credible(subject) ||
        !text_credible(subject, &range))
        return false;
    if (out->nan_count < 0 && shows_nan(subject->from->footer->created_by))
        out->nan_count = 0;
    out->has_bounds = true;
    out->min_exact = range.min_exact;
    out->max_exact = range.max_exact;
    out->min = firn_bound_lower(arena, leaf, range.min, SIZE_MAX);
    out->max = firn_bound_upper(arena, leaf, range.max, SIZE_MAX);
    return true;
}

bool firn_page_facts_find(struct firn_arena *arena, const struct firn_page_sources *sources,
                          const struct firn_page *page, uint32_t index, const struct firn_page_facts *levels,
                          struct firn_page_facts *out)
{
    struct subject subject = subject_of(sources, page, index, levels);
    *out = (struct firn_page_facts){ .slot_count = (uint32_t)page->header.value_count };
    return find_histograms(arena, &subject, out) && find_values(&subject, out) && find_rows(&subject, out) &&
           find_nan_count(&subject, out) && find_unencoded_bytes(&subject, out) && find_bounds(arena, &subject, out);
}
