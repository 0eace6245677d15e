/* Counting the rows of a Parquet file by decoding all of it: the proof that a file can be read. */
#include "maintain/row_count.h"

#include "table/parquet_chunk.h"
#include "table/parquet_footer.h"

/* The reader compares the rows it finds with the row group's; reading to the end is the check. */
static firn_status decode_chunk(struct firn_op *op, struct firn_object *object, const struct firn_footer *footer,
                                const struct firn_row_group *row_group, uint32_t column)
{
    struct firn_chunk_reader_options options = { .crc_check = true };
    struct firn_chunk_reader *reader;
    struct firn_vector vector;
    bool has_page = true;
    FIRN_TRY(firn_parquet_chunk_open(op, object, footer->leaves[column], &row_group->chunks[column],
                                     row_group->row_count, options, &reader));
    firn_status status = FIRN_OK;
    while (status == FIRN_OK && has_page)
        status = firn_chunk_reader_next(op, reader, &vector, &has_page);
    firn_chunk_reader_close(reader);
    return status;
}

static firn_status decode_row_group(struct firn_op *op, struct firn_object *object, const struct firn_footer *footer,
                                    uint32_t index)
{
    FIRN_TRY(firn_op_check(op));
    for (uint32_t i = 0; i < footer->leaf_count; i++) {
        firn_status status = decode_chunk(op, object, footer, &footer->row_groups[index], i);
        if (status != FIRN_OK)
            return firn_context(op, status, "row group %u", index);
    }
    return FIRN_OK;
}

static firn_status count_rows(struct firn_op *op, struct firn_object *object, struct firn_buffer *bytes, int64_t *rows)
{
    struct firn_footer *footer;
    FIRN_TRY(firn_parquet_footer_read(op, object, bytes, &footer));
    for (uint32_t i = 0; i < footer->row_group_count; i++)
        FIRN_TRY(decode_row_group(op, object, footer, i));
    *rows = footer->row_count; /* the sum of the row groups, which the reader held against their pages */
    return FIRN_OK;
}

firn_status firn_parquet_rows_count(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                    int64_t *rows)
{
    struct firn_object *object;
    struct firn_buffer bytes = { 0 };
    firn_status status = firn_object_open(op, store, location, &object);
    if (status == FIRN_OK) {
        status = count_rows(op, object, &bytes, rows);
        firn_buffer_done(&bytes);
        firn_object_close(object);
    }
    return firn_context(op, status, "data file \"%.*s\"", FIRN_FMT(location));
}
