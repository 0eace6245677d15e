/* Decoding every page of a Parquet column: that it can be read, and that statistics, page indexes and the manifest's
 * metrics say of it what is true. parquet-format, "Data Pages", "Statistics". */
#include "base/utf8.h"
#include "format/parquet/page_strict.h"
#include "maintain/file_check_parts.h"
#include "table/parquet_bloom.h"
#include "table/parquet_chunk.h"

/* One leaf column of one file being read. */
struct values_check {
    struct firn_checked_parquet *parquet;
    uint32_t index;
    const struct firn_checked_leaf *leaf;
    enum firn_order order;      /* of the stored form */
    enum firn_order form_order; /* of the form it is converted to */
    bool must_be_utf8;
    int64_t value_count, null_count; /* of the chunks read */
    struct firn_bounds page, chunk;  /* of stored values */
    struct firn_bounds file;         /* of converted ones */
    struct firn_buffer converted;
    struct firn_buffer bloom_bytes; /* of the filter at hand */
    struct firn_bloom_filter bloom; /* without blocks: there is none to check */
    bool readable;                  /* every value so far is one of the field's type */
    bool is_lax;                    /* a page was met that strict readers refuse */
};

/* The page at hand in its chunk. */
struct page_place {
    struct firn_checked_index index;
    bool compares; /* with the index */
    uint32_t page;
    int64_t row_count; /* of the pages before */
};

static bool is_text(const struct firn_checked_leaf *leaf)
{
    return leaf->field && leaf->field->type.id == FIRN_TYPE_STRING && leaf->node->type == FIRN_PARQUET_BYTE_ARRAY;
}

static void check_text(struct values_check *check, const struct firn_vector *vector)
{
    for (uint32_t i = 0; check->must_be_utf8 && i < vector->value_count; i++) {
        const struct firn_slice *slice = &vector->values.slice[i];
        if (firn_text_is_utf8((struct firn_text){ (const char *)slice->data, slice->len }))
            continue;
        FIRN_CHECK_WARNING(check->parquet->checked, "text-encoding", "column '%.*s' holds text that is not UTF-8",
                           FIRN_FMT(check->leaf->node->path));
        check->must_be_utf8 = false; /* once a column */
    }
}

/* Widens the file's bounds by values as the table reads them. */
static firn_status add_converted(struct firn_op *op, struct values_check *check, const struct firn_vector *vector)
{
    const struct firn_conversion *conversion = &check->leaf->conversion;
    union firn_values values = vector->values;
    if (!check->leaf->field || !check->readable)
        return FIRN_OK;
    if (conversion->run) {
        size_t width = firn_value_width(conversion->to->type, conversion->to->type_length);
        FIRN_TRY(firn_buffer_resize_array(op, &check->converted, vector->value_count, width));
        values.any = check->converted.data;
        firn_status status = conversion->run(op, conversion, vector->values, vector->value_count, values);
        check->readable = status == FIRN_OK;
        if (status != FIRN_OK)
            return firn_check_failed(op, check->parquet->checked, status, "value-unreadable");
    }
    return firn_bounds_add(op, &check->file, check->form_order, values, conversion->to->type_length,
                           vector->value_count);
}

/* In a nested column a page may begin within a row; the index then names the first row that begins in it, or the one
 * before. */
static bool begins_row(const struct firn_vector *vector)
{
    return !vector->rep || vector->rep[0] == 0;
}

static void compare_page(struct values_check *check, struct page_place *place, const struct firn_vector *vector)
{
    struct firn_checked_page page = {
        .page = place->page,
        .first_row = place->row_count,
        .slot_count = vector->slot_count,
        .value_count = vector->value_count,
        .real = &check->page,
    };
    if (place->compares && begins_row(vector))
        place->compares = firn_check_index_page(check->parquet, check->index, &place->index, &page);
    place->page++;
    place->row_count += vector->row_count;
}

/* The filter of a chunk, before its values come. */
static firn_status begin_bloom_filter(struct firn_op *op, struct values_check *check,
                                      const struct firn_column_chunk *chunk)
{
    check->bloom = (struct firn_bloom_filter){ 0 };
    if (chunk->bloom_filter_offset <= 0 || chunk->is_encrypted || check->leaf->node->type == FIRN_PARQUET_BOOLEAN)
        return FIRN_OK;
    firn_status status =
        firn_parquet_bloom_read(op, check->parquet->checked->object, chunk, &check->bloom_bytes, &check->bloom);
    return status == FIRN_OK ? FIRN_OK : firn_check_failed(op, check->parquet->checked, status, "bloom-filter");
}

static void check_bloom_filter(struct values_check *check, const struct firn_vector *vector)
{
    for (uint32_t i = 0; check->bloom.block_count > 0 && i < vector->value_count; i++) {
        uint64_t hash = firn_bloom_hash_at(vector->type, vector->type_length, vector->values, i);
        if (firn_bloom_filter_may_contain(&check->bloom, hash))
            continue;
        FIRN_CHECK_ERROR(check->parquet->checked, "bloom-filter",
                         "column '%.*s' has a value that its bloom filter leaves out: filtered queries miss rows",
                         FIRN_FMT(check->leaf->node->path));
        check->bloom.block_count = 0; /* once a chunk */
    }
}

static firn_status add_page(struct firn_op *op, struct values_check *check, struct page_place *place,
                            const struct firn_vector *vector)
{
    check->value_count += vector->slot_count;
    check->null_count += vector->slot_count - vector->value_count;
    check_text(check, vector);
    check_bloom_filter(check, vector);
    firn_bounds_clear(&check->page);
    FIRN_TRY(firn_bounds_add(op, &check->page, check->order, vector->values, vector->type_length, vector->value_count));
    compare_page(check, place, vector);
    FIRN_TRY(firn_bounds_merge(op, &check->chunk, check->order, &check->page));
    return add_converted(op, check, vector);
}

/* Tells of the column's first page that is encoded as strict readers do not take it. */
static firn_status check_encoding(struct firn_op *op, struct values_check *check, struct firn_chunk_reader *reader)
{
    struct firn_text created_by = check->parquet->footer->created_by;
    const struct firn_parquet_node *node = check->leaf->node;
    struct firn_page page;
    bool has_page, is_strict = true;
    FIRN_TRY(firn_chunk_reader_peek(op, reader, &page, &has_page));
    if (check->is_lax || !has_page)
        return FIRN_OK;
    enum firn_strictness strictness = firn_page_strictness(created_by, node, page.header.encoding);
    if (strictness == FIRN_STRICTNESS_BY_CONTENT)
        FIRN_TRY(firn_chunk_reader_strict(op, reader, &is_strict));
    check->is_lax = strictness == FIRN_LAX || !is_strict;
    if (!check->is_lax)
        return FIRN_OK;
    FIRN_CHECK_ERROR(check->parquet->checked, "page-encoding",
                     "column '%.*s' has pages of %s in a form of '%.*s' that PyArrow and other readers refuse",
                     FIRN_FMT(node->path), firn_encoding_name(page.header.encoding), FIRN_FMT(created_by));
    firn_findings_hint(check->parquet->checked->found, "rewriting the file encodes them anew");
    return FIRN_OK;
}

static firn_status read_pages(struct firn_op *op, struct values_check *check, struct page_place *place,
                              struct firn_chunk_reader *reader)
{
    for (;;) {
        struct firn_vector vector;
        bool has_page;
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(check_encoding(op, check, reader));
        FIRN_TRY(firn_chunk_reader_next(op, reader, &vector, &has_page));
        if (!has_page)
            return FIRN_OK;
        FIRN_TRY(add_page(op, check, place, &vector));
    }
}

static firn_status read_chunk(struct firn_op *op, struct values_check *check, const struct firn_row_group *group,
                              struct page_place *place)
{
    struct firn_checked_parquet *parquet = check->parquet;
    const struct firn_column_chunk *chunk = &group->chunks[check->index];
    struct firn_chunk_reader_options options = { .crc_check = true, .codec_context = parquet->codecs };
    struct firn_chunk_reader *reader;
    FIRN_TRY(firn_parquet_chunk_open(op, parquet->checked->object, check->leaf->node, chunk, group->row_count, options,
                                     &reader));
    firn_status status = read_pages(op, check, place, reader);
    firn_chunk_reader_close(reader);
    return status;
}

/* Inside of lists writers count nulls as they like: DuckDB has those of an element that is null itself twice, Arrow
 * none of lists that are. No reader goes by such counts. */
static enum firn_severity null_severity(const struct firn_parquet_node *node)
{
    return node->rep_max > 0 ? FIRN_SEVERITY_WARNING : FIRN_SEVERITY_ERROR;
}

static void check_statistics(struct values_check *check, const struct firn_column_chunk *chunk, int64_t null_count)
{
    struct firn_checked *checked = check->parquet->checked;
    const struct firn_parquet_node *node = check->leaf->node;
    const struct firn_parquet_statistics *statistics = &chunk->statistics;
    struct firn_bytes min, max;
    if (statistics->has_null_count && statistics->null_count != null_count)
        firn_findings_add(checked->found, null_severity(node), "statistics", checked->file->path,
                          "column '%.*s' has %" PRId64 " nulls, its chunk's statistics %" PRId64, FIRN_FMT(node->path),
                          null_count, statistics->null_count);
    if (statistics->has_nan_count && statistics->nan_count != check->chunk.nan_count)
        FIRN_CHECK_ERROR(checked, "statistics", "column '%.*s' has %" PRId64 " NaN, its chunk's statistics %" PRId64,
                         FIRN_FMT(node->path), check->chunk.nan_count, statistics->nan_count);
    if (firn_check_statistics_range(node, statistics, &min, &max) &&
        firn_check_bounds_exclude(node, min, max, &check->chunk))
        FIRN_CHECK_ERROR(checked, "statistics", "column '%.*s' has values beyond the bounds of its chunk's statistics",
                         FIRN_FMT(node->path));
}

/* A chunk at a time; false in *complete when one cannot be read, and no more are. */
static firn_status check_chunks(struct firn_op *op, struct values_check *check, bool *complete)
{
    const struct firn_footer *footer = check->parquet->footer;
    *complete = true;
    for (uint32_t i = 0; *complete && i < footer->row_group_count; i++) {
        const struct firn_row_group *group = &footer->row_groups[i];
        struct page_place place = { .compares = true };
        int64_t nulls = check->null_count;
        firn_bounds_clear(&check->chunk);
        FIRN_TRY(firn_check_index(op, check->parquet, group, check->index, &place.index));
        FIRN_TRY(begin_bloom_filter(op, check, &group->chunks[check->index]));
        firn_status status = read_chunk(op, check, group, &place);
        if (status == FIRN_OK) {
            check_statistics(check, &group->chunks[check->index], check->null_count - nulls);
            continue;
        }
        *complete = false;
        firn_context(op, status, "row group %u", i);
        FIRN_TRY(firn_check_failed(op, check->parquet->checked, status, "page-damaged"));
    }
    return FIRN_OK;
}

/* The bounds live in op->arena. */
static firn_status fill_facts(struct firn_op *op, const struct values_check *check, struct firn_column_facts *facts)
{
    enum firn_type_id type = check->leaf->field->type.id;
    const struct firn_parquet_node *form = check->leaf->conversion.to;
    bool is_real = type == FIRN_TYPE_FLOAT || type == FIRN_TYPE_DOUBLE;
    facts->value_count = check->value_count;
    facts->null_count = check->null_count;
    facts->nan_count = is_real ? check->file.nan_count : FIRN_ABSENT;
    facts->has_bounds = check->file.found && check->form_order != FIRN_ORDER_NONE;
    facts->lower_exact = facts->upper_exact = true;
    if (!facts->has_bounds)
        return FIRN_OK;
    FIRN_TRY(firn_leaf_value_of_plain(op, form, &check->leaf->field->type,
                                      firn_bytes_copy(op->arena, firn_buffer_bytes(&check->file.min)), &facts->lower));
    return firn_leaf_value_of_plain(op, form, &check->leaf->field->type,
                                    firn_bytes_copy(op->arena, firn_buffer_bytes(&check->file.max)), &facts->upper);
}

firn_status firn_check_values(struct firn_op *op, struct firn_checked_parquet *parquet, uint32_t leaf,
                              struct firn_column_facts *facts, bool *complete)
{
    const struct firn_checked_leaf *checked_leaf = &parquet->leaves[leaf];
    struct values_check check = {
        .parquet = parquet,
        .index = leaf,
        .leaf = checked_leaf,
        .order = firn_order_of(checked_leaf->node),
        .form_order = checked_leaf->field ? firn_order_of(checked_leaf->conversion.to) : FIRN_ORDER_NONE,
        .must_be_utf8 = is_text(checked_leaf),
        .readable = true,
    };
    firn_status status = check_chunks(op, &check, complete);
    *complete = *complete && check.readable;
    if (status == FIRN_OK && *complete && checked_leaf->field)
        status = fill_facts(op, &check, facts);
    firn_bounds_done(&check.page);
    firn_bounds_done(&check.chunk);
    firn_bounds_done(&check.file);
    firn_buffer_done(&check.converted);
    firn_buffer_done(&check.bloom_bytes);
    return status;
}
