/* Files: row groups of finished chunks, then page indexes and the footer. parquet-format, "File format". */
#include "format/parquet/writer.h"

#include "base/math.h"

#include <assert.h>

/* What is kept of a chunk until the page indexes are written. */
struct chunk_indexes {
    struct firn_offset_index offsets;
    struct firn_column_index bounds;
};

struct firn_parquet_writer {
    struct firn_arena arena;   /* holds the writer itself */
    struct firn_arena results; /* row groups, indexes, and what the chunks brought: goes with the footer */
    const struct firn_footer *schema;
    struct firn_sink *sink;
    uint64_t start; /* the sink's offset where the file begins */
    int64_t row_count;
    FIRN_ARRAY(struct firn_row_group) groups;
    FIRN_ARRAY(struct chunk_indexes *) indexes; /* one array of leaf_count a row group */
};

static const uint8_t magic[] = { 'P', 'A', 'R', '1' };

firn_status firn_parquet_writer_open(struct firn_op *op, const struct firn_footer *schema, struct firn_sink *sink,
                                     struct firn_parquet_writer **out)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_parquet_writer *writer = FIRN_NEW(&arena, struct firn_parquet_writer);
    *writer = (struct firn_parquet_writer){
        .arena = arena,
        .schema = schema,
        .sink = sink,
        .start = sink->offset,
    };
    firn_status status = firn_sink_write(op, sink, (struct firn_bytes){ magic, sizeof magic });
    if (status != FIRN_OK)
        firn_parquet_writer_close(writer);
    else
        *out = writer;
    return status;
}

void firn_parquet_writer_close(struct firn_parquet_writer *writer)
{
    if (!writer)
        return;
    firn_arena_done(&writer->results);
    struct firn_arena arena = writer->arena;
    firn_arena_done(&arena);
}

static int64_t file_offset(const struct firn_parquet_writer *writer)
{
    return (int64_t)(writer->sink->offset - writer->start);
}

/* Moves offsets from the chunk's first byte to the file's. The first chunk lies behind the magic, so no offset is 0. */
static void move_offsets(struct firn_encoded_chunk *chunk, int64_t by)
{
    struct firn_column_chunk *metadata = &chunk->metadata;
    if (metadata->data_page_offset > 0)
        metadata->dictionary_page_offset = by;
    metadata->data_page_offset += by;
    for (uint32_t i = 0; i < chunk->offset_index.page_count; i++)
        chunk->offset_index.pages[i].offset += by;
}

static firn_status add_chunk(struct firn_op *op, struct firn_parquet_writer *writer, struct firn_encoded_chunk *chunk,
                             struct firn_row_group *group, struct chunk_indexes *indexes)
{
    move_offsets(chunk, file_offset(writer));
    FIRN_TRY(firn_sink_write(op, writer->sink, firn_buffer_bytes(&chunk->bytes)));
    firn_buffer_done(&chunk->bytes);
    firn_arena_adopt(&writer->results, &chunk->arena);
    group->chunks[group->chunk_count++] = chunk->metadata;
    group->total_bytes += chunk->metadata.uncompressed_bytes;
    group->compressed_bytes += chunk->metadata.compressed_bytes;
    *indexes = (struct chunk_indexes){ .offsets = chunk->offset_index, .bounds = chunk->column_index };
    return FIRN_OK;
}

/* Filters lie behind the pages of their row group, so that they need not be kept until the end. */
static firn_status put_bloom_filters(struct firn_op *op, struct firn_parquet_writer *writer,
                                     struct firn_encoded_chunk *chunks, struct firn_row_group *group)
{
    for (uint32_t i = 0; i < group->chunk_count; i++) {
        if (chunks[i].bloom_filter.len == 0)
            continue;
        group->chunks[i].bloom_filter_offset = file_offset(writer);
        group->chunks[i].bloom_filter_bytes = (int32_t)chunks[i].bloom_filter.len;
        FIRN_TRY(firn_sink_write(op, writer->sink, firn_buffer_bytes(&chunks[i].bloom_filter)));
        firn_buffer_done(&chunks[i].bloom_filter);
    }
    return FIRN_OK;
}

firn_status firn_parquet_writer_add(struct firn_op *op, struct firn_parquet_writer *writer,
                                    struct firn_encoded_chunk *chunks, int64_t row_count)
{
    uint32_t leaf_count = writer->schema->leaf_count;
    struct firn_row_group group = {
        .row_count = row_count,
        .file_offset = file_offset(writer),
        .chunks = FIRN_NEW_ARRAY(&writer->results, struct firn_column_chunk, leaf_count),
    };
    struct chunk_indexes *indexes = FIRN_NEW_ARRAY(&writer->results, struct chunk_indexes, leaf_count);
    for (uint32_t i = 0; i < leaf_count; i++) {
        assert(chunks[i].row_count == row_count);
        FIRN_TRY(add_chunk(op, writer, &chunks[i], &group, &indexes[i]));
    }
    FIRN_TRY(put_bloom_filters(op, writer, chunks, &group));
    FIRN_PUSH(&writer->results, &writer->groups, group);
    FIRN_PUSH(&writer->results, &writer->indexes, indexes);
    writer->row_count += row_count;
    return FIRN_OK;
}

/* Writes what `print` left in `bytes` and tells where it lies. */
static firn_status put_index(struct firn_op *op, struct firn_parquet_writer *writer, const struct firn_buffer *bytes,
                             int64_t *offset, int32_t *len)
{
    if (bytes->len > INT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "a page index of %zu bytes is more than the %d that Parquet allows",
                         bytes->len, INT32_MAX);
    *offset = file_offset(writer);
    *len = (int32_t)bytes->len;
    return firn_sink_write(op, writer->sink, firn_buffer_bytes(bytes));
}

static firn_status put_column_indexes(struct firn_op *op, struct firn_parquet_writer *writer,
                                      struct firn_buffer *scratch)
{
    for (size_t group = 0; group < writer->groups.count; group++)
        for (uint32_t i = 0; i < writer->schema->leaf_count; i++) {
            const struct firn_column_index *index = &writer->indexes.items[group][i].bounds;
            struct firn_column_chunk *chunk = &writer->groups.items[group].chunks[i];
            if (index->page_count == 0)
                continue;
            firn_buffer_clear(scratch);
            FIRN_TRY(firn_column_index_print(op, index, scratch));
            FIRN_TRY(put_index(op, writer, scratch, &chunk->column_index_offset, &chunk->column_index_bytes));
        }
    return FIRN_OK;
}

static firn_status put_offset_indexes(struct firn_op *op, struct firn_parquet_writer *writer,
                                      struct firn_buffer *scratch)
{
    for (size_t group = 0; group < writer->groups.count; group++)
        for (uint32_t i = 0; i < writer->schema->leaf_count; i++) {
            const struct firn_offset_index *index = &writer->indexes.items[group][i].offsets;
            struct firn_column_chunk *chunk = &writer->groups.items[group].chunks[i];
            if (index->page_count == 0)
                continue;
            firn_buffer_clear(scratch);
            FIRN_TRY(firn_offset_index_print(op, index, scratch));
            FIRN_TRY(put_index(op, writer, scratch, &chunk->offset_index_offset, &chunk->offset_index_bytes));
        }
    return FIRN_OK;
}

/* All column indexes lie together, then all offset indexes, as readers that prune want them. */
static firn_status put_indexes(struct firn_op *op, struct firn_parquet_writer *writer)
{
    struct firn_buffer scratch = { 0 };
    firn_status status = put_column_indexes(op, writer, &scratch);
    if (status == FIRN_OK)
        status = put_offset_indexes(op, writer, &scratch);
    firn_buffer_done(&scratch);
    return status;
}

firn_status firn_parquet_writer_finish(struct firn_op *op, struct firn_parquet_writer *writer, struct firn_footer **out)
{
    FIRN_TRY(put_indexes(op, writer));
    struct firn_footer *footer = FIRN_NEW(op->arena, struct firn_footer);
    *footer = *writer->schema;
    footer->version = 1;
    footer->row_count = writer->row_count;
    footer->row_group_count = (uint32_t)writer->groups.count;
    footer->row_groups = writer->groups.items;
    footer->created_by = FIRN_TEXT("firn version " FIRN_VERSION);
    footer->has_column_orders = true;
    int64_t start = file_offset(writer);
    FIRN_TRY(firn_footer_write(op, footer, writer->sink));
    footer->footer_bytes = file_offset(writer) - start - FIRN_PARQUET_TAIL_BYTES;
    firn_arena_adopt(op->arena, &writer->results);
    *out = footer;
    return FIRN_OK;
}
