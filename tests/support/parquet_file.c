/* Reading all of a Parquet file in memory. */
#include "support/parquet_file.h"

#include "base/math.h"
#include "format/parquet/page_facts.h"

firn_status parquet_file_footer(struct firn_op *op, struct firn_bytes file, struct firn_footer **out)
{
    size_t tail_bytes = FIRN_MIN(file.len, FIRN_PARQUET_TAIL_BYTES);
    struct firn_bytes tail = { file.data + file.len - tail_bytes, tail_bytes };
    uint32_t footer_bytes;
    FIRN_TRY(firn_footer_tail_parse(op, tail, file.len, &footer_bytes));
    return firn_footer_parse(op, (struct firn_bytes){ tail.data - footer_bytes, footer_bytes }, file.len, out);
}

/* What a chunk holds, the same however it is cut into pages and encoded. */
struct content_digest {
    uint64_t rep, def, values;
};

static void mix(uint64_t *digest, uint64_t number)
{
    *digest = (*digest ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    *digest ^= *digest >> 32;
}

static void mix_levels(uint64_t *digest, const uint8_t *levels, uint32_t count, uint8_t level_max)
{
    for (uint32_t i = 0; i < count; i++)
        mix(digest, levels ? levels[i] : level_max);
}

static void mix_values(uint64_t *digest, const struct firn_vector *vector)
{
    size_t width = firn_value_width(vector->type, vector->type_length);
    union firn_values values = vector->indices ? vector->dictionary->values : vector->values;
    for (uint32_t i = 0; i < vector->value_count; i++) {
        size_t index = vector->indices ? vector->indices[i] : i;
        struct firn_bytes value = { values.fixed + index * width, width };
        if (vector->type == FIRN_PARQUET_BYTE_ARRAY)
            value = (struct firn_bytes){ values.slice[index].data, values.slice[index].len };
        mix(digest, value.len ? firn_hash64(value) : 0);
    }
}

static void mix_vector(struct content_digest *digest, const struct firn_vector *vector)
{
    if (vector->rep_max > 0)
        mix_levels(&digest->rep, vector->rep, vector->slot_count, vector->rep_max);
    if (vector->def_max > 0)
        mix_levels(&digest->def, vector->def, vector->slot_count, vector->def_max);
    mix_values(&digest->values, vector);
}

static firn_status read_piece(struct firn_op *op, void *context, uint64_t offset, size_t len, uint8_t *out)
{
    const struct firn_bytes *bytes = context;
    if (offset > bytes->len || len > bytes->len - offset || len == 0)
        return firn_fail(op, FIRN_SYSTEM, "%zu bytes at %" PRIu64 " are read of %zu", len, offset, bytes->len);
    memcpy(out, bytes->data + offset, len);
    return FIRN_OK;
}

struct firn_chunk_source parquet_chunk_in_pieces(const struct firn_bytes *bytes, size_t piece_bytes)
{
    return (struct firn_chunk_source){
        .read = read_piece, .context = (void *)(uintptr_t)bytes, .len = bytes->len, .piece_bytes = piece_bytes
    };
}

static firn_status decode_source(struct firn_op *op, const struct firn_parquet_node *leaf,
                                 const struct firn_column_chunk *chunk, int64_t row_count,
                                 const struct firn_chunk_source *source, struct firn_chunk_reader_options options,
                                 uint64_t *digest)
{
    struct firn_chunk_reader *reader;
    struct content_digest content = { 0 };
    FIRN_TRY(firn_chunk_reader_open_source(op, leaf, chunk, row_count, source, options, &reader));
    firn_status status = FIRN_OK;
    for (bool has_page = true; status == FIRN_OK && has_page;) {
        struct firn_vector vector;
        bool ends_row;
        status = firn_chunk_reader_next(op, reader, &vector, &has_page);
        if (status == FIRN_OK && has_page)
            status = firn_chunk_reader_at_row_end(op, reader, &ends_row); /* the vector stays while more is read */
        if (status == FIRN_OK && has_page)
            mix_vector(&content, &vector);
    }
    firn_chunk_reader_close(reader);
    mix(digest, content.rep);
    mix(digest, content.def);
    mix(digest, content.values);
    return status;
}

firn_status parquet_chunk_decode(struct firn_op *op, const struct firn_parquet_node *leaf,
                                 const struct firn_column_chunk *chunk, int64_t row_count, struct firn_bytes bytes,
                                 struct firn_chunk_reader_options options, uint64_t *digest)
{
    struct firn_chunk_source whole = firn_chunk_source_of(bytes);
    struct firn_chunk_source pieces = parquet_chunk_in_pieces(&bytes, 1 + bytes.len % 61);
    uint64_t same = *digest;
    firn_status read = decode_source(op, leaf, chunk, row_count, &pieces, options, &same);
    firn_status status = decode_source(op, leaf, chunk, row_count, &whole, options, digest);
    if (read != status || same != *digest)
        return firn_fail(op, FIRN_SYSTEM, "read in pieces, the chunk is another one: %s instead of %s",
                         firn_status_name(read), firn_status_name(status));
    return status;
}

/* How pages come from a chunk to a writer. */
struct page_way {
    struct firn_chunk_reader *reader;
    const struct firn_parquet_node *leaf;
    struct firn_chunk_writer *writer;
    struct firn_facts_scratch scratch;
    bool repacks;
};

/* The page ahead as it will be copied: unfolded if it may be. */
static firn_status look_ahead(struct firn_op *op, const struct page_way *way, struct firn_page *page, bool *has_page,
                              bool *is_unfolded)
{
    struct firn_page unfolded;
    FIRN_TRY(firn_chunk_reader_peek(op, way->reader, page, has_page));
    if (!*has_page)
        return FIRN_OK;
    if (way->repacks)
        return firn_chunk_reader_unfolds(op, way->reader, is_unfolded);
    FIRN_TRY(firn_chunk_reader_unfold(op, way->reader, &unfolded, is_unfolded));
    if (*is_unfolded)
        *page = unfolded;
    return FIRN_OK;
}

/* Copies the next page, or appends its values where the writer would rather have them. */
static firn_status splice_page(struct firn_op *op, struct page_way *way, bool *has_page, uint32_t *copied)
{
    struct firn_page page;
    struct firn_packed_page packed;
    struct firn_vector vector;
    struct firn_page_facts facts;
    const struct firn_dictionary *dictionary;
    bool taken, is_unfolded;
    FIRN_TRY(look_ahead(op, way, &page, has_page, &is_unfolded));
    if (!*has_page)
        return FIRN_OK;
    FIRN_TRY(firn_chunk_reader_next(op, way->reader, &vector, has_page));
    FIRN_TRY(firn_page_facts_of(op, &way->scratch, way->leaf, &vector, &facts));
    FIRN_TRY(firn_chunk_reader_at_row_end(op, way->reader, &facts.ends_row));
    FIRN_TRY(firn_chunk_reader_dictionary(op, way->reader, &dictionary));
    FIRN_TRY(firn_chunk_reader_packed(op, way->reader, is_unfolded, &packed));
    packed.levels = &vector;
    FIRN_TRY(way->repacks ? firn_chunk_writer_repack(op, way->writer, &packed, &facts, dictionary, &taken)
                          : firn_chunk_writer_splice(op, way->writer, &page, &facts, dictionary, &taken));
    *copied += taken;
    return taken ? FIRN_OK : firn_chunk_writer_append(op, way->writer, &vector);
}

firn_status parquet_chunk_splice(struct firn_op *op, const struct firn_parquet_node *leaf,
                                 const struct firn_column_chunk *chunk, int64_t row_count, struct firn_bytes bytes,
                                 struct firn_chunk_reader_options options, bool repacks,
                                 struct firn_chunk_writer *writer, uint32_t *copied)
{
    struct page_way way = { .leaf = leaf, .writer = writer, .repacks = repacks };
    FIRN_TRY(firn_chunk_reader_open(op, leaf, chunk, row_count, bytes, options, &way.reader));
    firn_status status = FIRN_OK;
    for (bool has_page = true; status == FIRN_OK && has_page;)
        status = splice_page(op, &way, &has_page, copied);
    firn_chunk_reader_close(way.reader);
    firn_facts_scratch_done(&way.scratch);
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
