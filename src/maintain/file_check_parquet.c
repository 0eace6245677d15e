/* Parquet files: the footer against the entry and the table's schemas. parquet-format, "Metadata"; Iceberg spec,
 * "Column Projection", "Appendix A: Parquet". */
#include "base/math.h"
#include "maintain/file_check_parts.h"
#include "rewrite/output_schema.h"
#include "table/parquet_footer.h"

/* Statistics of this many bytes are whole when nothing says otherwise: no writer cuts shorter. */
enum { STATISTICS_CUT_MIN = 16 };

firn_status firn_check_read(struct firn_op *op, struct firn_checked_parquet *parquet, uint64_t offset, uint64_t len)
{
    uint64_t size = firn_object_size(parquet->checked->object);
    if (offset > size || len > size - offset)
        return firn_fail(op, FIRN_CORRUPT, "%" PRIu64 " bytes from %" PRIu64 " on, the file has %" PRIu64, len, offset,
                         size);
    return firn_object_read_range(op, parquet->checked->object, offset, len, &parquet->bytes);
}

/* Statistics ------------------------------------------------------------------------------------------------------- */

/* The deprecated fields are ordered as signed numbers, which is right for these. */
static bool trusts_legacy(enum firn_order order)
{
    return order == FIRN_ORDER_BOOLEAN || order == FIRN_ORDER_INT32 || order == FIRN_ORDER_INT64 ||
           order == FIRN_ORDER_FLOAT || order == FIRN_ORDER_DOUBLE;
}

bool firn_check_statistics_range(const struct firn_parquet_node *node, const struct firn_parquet_statistics *statistics,
                                 struct firn_bytes *min, struct firn_bytes *max)
{
    enum firn_order order = firn_order_of(node);
    bool legacy = !statistics->min_value.data && !statistics->max_value.data && trusts_legacy(order);
    *min = legacy ? statistics->min_legacy : statistics->min_value;
    *max = legacy ? statistics->max_legacy : statistics->max_value;
    return order != FIRN_ORDER_NONE && min->data && max->data;
}

static bool may_be_cut(const struct firn_checked_leaf *leaf, size_t len, bool flagged, bool exact)
{
    return leaf->node->type == FIRN_PARQUET_BYTE_ARRAY && firn_order_of(leaf->node) == FIRN_ORDER_BYTES &&
           (flagged ? !exact : len >= STATISTICS_CUT_MIN);
}

/* Widens the facts by a chunk's bounds; false when it has none that could be trusted. */
static bool add_range(struct firn_op *op, const struct firn_checked_leaf *leaf,
                      const struct firn_parquet_statistics *statistics, struct firn_column_facts *facts)
{
    struct firn_bytes min, max;
    struct firn_value lower, upper;
    bool is_uuid_text = leaf->field->type.id == FIRN_TYPE_UUID && leaf->node->type == FIRN_PARQUET_BYTE_ARRAY;
    if (is_uuid_text || !firn_check_statistics_range(leaf->node, statistics, &min, &max) ||
        firn_conversion_of_plain(op, &leaf->conversion, &leaf->field->type, min, &lower) != FIRN_OK ||
        firn_conversion_of_plain(op, &leaf->conversion, &leaf->field->type, max, &upper) != FIRN_OK)
        return false;
    bool is_real = lower.type == FIRN_TYPE_FLOAT || lower.type == FIRN_TYPE_DOUBLE;
    if (is_real && !(lower.real <= upper.real)) /* NaN */
        return false;
    if (!facts->has_bounds || firn_value_compare(&lower, &facts->lower) < 0) {
        facts->lower = lower;
        facts->lower_exact = !may_be_cut(leaf, min.len, statistics->has_min_exact, statistics->min_exact);
    }
    if (!facts->has_bounds || firn_value_compare(&upper, &facts->upper) > 0) {
        facts->upper = upper;
        facts->upper_exact = !may_be_cut(leaf, max.len, statistics->has_max_exact, statistics->max_exact);
    }
    facts->has_bounds = true;
    return true;
}

static void add_count(int64_t *total, bool known, int64_t count)
{
    if (!known || count < 0)
        *total = FIRN_ABSENT;
    if (*total != FIRN_ABSENT && __builtin_add_overflow(*total, count, total))
        *total = FIRN_ABSENT;
}

void firn_check_footer_facts(struct firn_op *op, const struct firn_checked_parquet *parquet, uint32_t index,
                             struct firn_column_facts *facts)
{
    const struct firn_checked_leaf *leaf = &parquet->leaves[index];
    bool complete = true;
    for (uint32_t i = 0; i < parquet->footer->row_group_count; i++) {
        const struct firn_column_chunk *chunk = &parquet->footer->row_groups[i].chunks[index];
        const struct firn_parquet_statistics *statistics = &chunk->statistics;
        add_count(&facts->value_count, !chunk->is_encrypted, chunk->value_count);
        add_count(&facts->null_count, statistics->has_null_count, statistics->null_count);
        add_count(&facts->nan_count, statistics->has_nan_count, statistics->nan_count);
        bool empty =
            chunk->value_count == 0 || (statistics->has_null_count && statistics->null_count == chunk->value_count);
        complete = complete && (empty || add_range(op, leaf, statistics, facts));
    }
    facts->has_bounds = facts->has_bounds && complete;
}

/* Lineage ---------------------------------------------------------------------------------------------------------- */

static void check_lineage(struct firn_checked *checked, const struct firn_column_facts *facts)
{
    const struct firn_metadata *metadata = checked->what->metadata;
    int64_t max = facts->field->id == FIRN_FIELD_ID_ROW_ID ? metadata->next_row_id - 1
                                                           : checked->what->entry->file_sequence_number;
    if (facts->has_bounds && (facts->lower.integer < 0 || facts->upper.integer > max))
        FIRN_CHECK_ERROR(checked, "row-lineage",
                         "column '%.*s' holds %" PRId64 " to %" PRId64 ", where 0 to %" PRId64 " are possible",
                         FIRN_FMT(facts->name), facts->lower.integer, facts->upper.integer, max);
}

static bool is_lineage(int32_t id)
{
    return id == FIRN_FIELD_ID_ROW_ID || id == FIRN_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER;
}

/* The file --------------------------------------------------------------------------------------------------------- */

static firn_status check_leaf(struct firn_op *op, struct firn_checked_parquet *parquet, uint32_t index)
{
    const struct firn_checked_leaf *leaf = &parquet->leaves[index];
    struct firn_column_facts facts = {
        .field = leaf->field,
        .name = leaf->node->path,
        .nested = leaf->node->parent->parent,
        .repeated = leaf->node->rep_max > 0,
    };
    bool complete = false;
    if (parquet->checked->what->deep) {
        FIRN_TRY(firn_check_values(op, parquet, index, &facts, &complete));
        parquet->has_rows = parquet->has_rows && complete;
    }
    if (!leaf->field)
        return FIRN_OK;
    if (!complete) {
        facts.value_count = facts.null_count = facts.nan_count = 0;
        facts.has_bounds = false;
        firn_check_footer_facts(op, parquet, index, &facts);
    }
    if (is_lineage(leaf->field->id))
        check_lineage(parquet->checked, &facts);
    else
        firn_check_metrics(op, parquet->checked, &facts);
    return FIRN_OK;
}

static void check_row_count(struct firn_checked_parquet *parquet)
{
    if (parquet->footer->row_count != parquet->checked->file->record_count)
        FIRN_CHECK_ERROR(parquet->checked, "row-count", "it has %" PRId64 " rows, its entry records %" PRId64,
                         parquet->footer->row_count, parquet->checked->file->record_count);
}

/* Writers record where the first chunk begins, or its data. */
static bool begins_at(const struct firn_row_group *group, int64_t offset)
{
    if (group->chunk_count == 0 || (group->file_offset > 0 && group->file_offset == offset))
        return true;
    const struct firn_column_chunk *first = &group->chunks[0];
    return first->data_page_offset == offset ||
           (first->dictionary_page_offset > 0 && first->dictionary_page_offset == offset);
}

static void check_split_offsets(struct firn_checked_parquet *parquet)
{
    const struct firn_data_file *file = parquet->checked->file;
    const struct firn_footer *footer = parquet->footer;
    if (!file->split_offsets || file->split_offset_count == 0)
        return;
    if (!firn_split_offsets_usable(file)) {
        FIRN_CHECK_WARNING(parquet->checked, "split-offsets",
                           "its %u split offsets do not ascend within the file: readers leave them alone",
                           file->split_offset_count);
        return;
    }
    uint32_t group = 0;
    for (uint32_t i = 0; i < file->split_offset_count; i++) {
        while (group < footer->row_group_count && !begins_at(&footer->row_groups[group], file->split_offsets[i]))
            group++;
        if (group < footer->row_group_count && (i > 0 || group == 0))
            continue;
        if (i == 0 && footer->row_group_count > 0) /* readers begin at the first offset */
            FIRN_CHECK_ERROR(parquet->checked, "split-offsets",
                             "its first split offset, %" PRId64 ", is not where its first row group begins",
                             file->split_offsets[i]);
        else
            FIRN_CHECK_WARNING(parquet->checked, "split-offsets", "no row group begins at split offset %" PRId64,
                               file->split_offsets[i]);
        return;
    }
}

static firn_status check_parquet(struct firn_op *op, struct firn_checked_parquet *parquet)
{
    const struct firn_file_check *what = parquet->checked->what;
    firn_status status = firn_parquet_footer_read(op, parquet->checked->object, &parquet->bytes, &parquet->footer);
    if (status != FIRN_OK)
        return firn_check_failed(op, parquet->checked, status, "file-unreadable");
    parquet->leaves = FIRN_NEW_ARRAY(op->arena, struct firn_checked_leaf, parquet->footer->leaf_count);
    check_row_count(parquet);
    check_split_offsets(parquet);
    FIRN_TRY(firn_check_columns(op, parquet));
    for (uint32_t i = 0; i < parquet->footer->leaf_count; i++)
        FIRN_TRY(check_leaf(op, parquet, i));
    if (what->deep && parquet->has_rows && what->entry->file.content == FIRN_CONTENT_POSITION_DELETES)
        return firn_check_position_deletes(op, parquet->checked);
    return FIRN_OK;
}

firn_status firn_check_parquet(struct firn_op *op, struct firn_checked *checked)
{
    struct firn_checked_parquet parquet = { .checked = checked };
    FIRN_TRY(firn_codec_context_open(op, &parquet.codecs));
    firn_status status = check_parquet(op, &parquet);
    firn_codec_context_close(parquet.codecs);
    firn_buffer_done(&parquet.bytes);
    return status;
}
