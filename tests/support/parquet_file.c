/* Reading all of a Parquet file in memory. */
#include "support/parquet_file.h"

#include "base/math.h"

firn_status parquet_file_footer(struct firn_op *op, struct firn_bytes file, struct firn_footer **out)
{
    size_t tail_bytes = FIRN_MIN(file.len, FIRN_PARQUET_TAIL_BYTES);
    struct firn_bytes tail = { file.data + file.len - tail_bytes, tail_bytes };
    uint32_t footer_bytes;
    FIRN_TRY(firn_footer_tail_parse(op, tail, file.len, &footer_bytes));
    return firn_footer_parse(op, (struct firn_bytes){ tail.data - footer_bytes, footer_bytes }, file.len, out);
}

static void mix(uint64_t *digest, const void *data, size_t len)
{
    struct firn_bytes bytes = { data ? data : "", len };
    *digest = *digest * UINT64_C(0x9e3779b97f4a7c15) + firn_hash64(bytes);
}

static void mix_slices(uint64_t *digest, const struct firn_slice *slices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mix(digest, slices[i].data, slices[i].len);
}

static void mix_values(uint64_t *digest, enum firn_parquet_type type, uint32_t type_length, union firn_values values,
                       size_t count)
{
    if (type == FIRN_PARQUET_BYTE_ARRAY)
        mix_slices(digest, values.slice, count);
    else
        mix(digest, values.any, count * firn_value_width(type, type_length));
}

static void mix_vector(uint64_t *digest, const struct firn_vector *vector)
{
    if (vector->rep)
        mix(digest, vector->rep, vector->slot_count);
    if (vector->def)
        mix(digest, vector->def, vector->slot_count);
    if (!vector->indices) {
        mix_values(digest, vector->type, vector->type_length, vector->values, vector->value_count);
        return;
    }
    mix(digest, vector->indices, vector->value_count * sizeof *vector->indices);
    mix_values(digest, vector->type, vector->type_length, vector->dictionary->values, vector->dictionary->count);
}

firn_status parquet_chunk_decode(struct firn_op *op, const struct firn_parquet_node *leaf,
                                 const struct firn_column_chunk *chunk, int64_t row_count, struct firn_bytes bytes,
                                 struct firn_chunk_reader_options options, uint64_t *digest)
{
    struct firn_chunk_reader *reader;
    FIRN_TRY(firn_chunk_reader_open(op, leaf, chunk, row_count, bytes, options, &reader));
    firn_status status = FIRN_OK;
    for (bool has_page = true; status == FIRN_OK && has_page;) {
        struct firn_vector vector;
        status = firn_chunk_reader_next(op, reader, &vector, &has_page);
        if (status == FIRN_OK && has_page)
            mix_vector(digest, &vector);
    }
    firn_chunk_reader_close(reader);
    return status;
}

/* Indexes may be absent; where they are, they must parse or fail cleanly. */
static firn_status decode_indexes(struct firn_op *op, struct firn_bytes file, const struct firn_column_chunk *chunk)
{
    struct firn_offset_index offsets;
    struct firn_column_index columns;
    struct firn_cursor in = firn_cursor_of(file);
    if (chunk->offset_index_offset > 0 && chunk->offset_index_bytes > 0) {
        firn_take_bytes(&in, (uint64_t)chunk->offset_index_offset);
        FIRN_TRY(firn_offset_index_parse(op, firn_take_bytes(&in, (uint64_t)chunk->offset_index_bytes), &offsets));
    }
    in = firn_cursor_of(file);
    if (chunk->column_index_offset > 0 && chunk->column_index_bytes > 0) {
        firn_take_bytes(&in, (uint64_t)chunk->column_index_offset);
        FIRN_TRY(firn_column_index_parse(op, firn_take_bytes(&in, (uint64_t)chunk->column_index_bytes), &columns));
    }
    return FIRN_OK;
}

firn_status parquet_file_decode(struct firn_op *op, struct firn_bytes file, struct firn_chunk_reader_options options,
                                uint64_t *digest)
{
    struct firn_footer *footer;
    *digest = 0;
    FIRN_TRY(parquet_file_footer(op, file, &footer));
    for (uint32_t i = 0; i < footer->row_group_count; i++) {
        const struct firn_row_group *group = &footer->row_groups[i];
        for (uint32_t k = 0; k < footer->leaf_count; k++) {
            const struct firn_column_chunk *chunk = &group->chunks[k];
            uint64_t offset, len;
            firn_column_chunk_range(chunk, &offset, &len);
            struct firn_bytes bytes = { len > 0 ? file.data + offset : file.data, len };
            FIRN_TRY(parquet_chunk_decode(op, footer->leaves[k], chunk, group->row_count, bytes, options, digest));
            FIRN_TRY(decode_indexes(op, file, chunk));
        }
    }
    return FIRN_OK;
}
