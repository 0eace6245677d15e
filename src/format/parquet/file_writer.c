/* Files: row groups of finished chunks, then page indexes and the footer. parquet-format, "File format". */
#include "format/parquet/writer.h"

#include "base/math.h"

#include <assert.h>

struct firn_parquet_writer {
    struct firn_arena arena;   /* holds the writer itself */
    struct firn_arena results; /* row groups, and what their chunks say: goes with the footer */
    const struct firn_footer *schema;
    struct firn_sink *sink;
    uint64_t start; /* the sink's offset where the file begins */
    int64_t row_count;
    FIRN_ARRAY(struct firn_row_group) groups;
    struct firn_buffer column_indexes, offset_indexes; /* of all chunks so far, printed, end to end */
};

enum { PIECES_MAX = 512 }; /* written at once */

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
    firn_buffer_done(&writer->column_indexes);
    firn_buffer_done(&writer->offset_indexes);
    firn_arena_done(&writer->results);
    struct firn_arena arena = writer->arena;
    firn_arena_done(&arena);
}

uint64_t firn_parquet_writer_memory(const struct firn_parquet_writer *writer)
{
    return writer->results.used_bytes + writer->column_indexes.capacity + writer->offset_indexes.capacity;
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

static void *keep(struct firn_arena *arena, const void *items, size_t count, size_t item_bytes)
{
    void *kept = count > 0 ? firn_arena_alloc_array(arena, count, item_bytes) : NULL;
    if (kept)
        memcpy(kept, items, count * item_bytes);
    return kept;
}

/* A bound that is not there stays so: one of no bytes is none of a number's, and readers fail at it. */
static struct firn_bytes keep_bound(struct firn_arena *arena, struct firn_bytes bound)
{
    return bound.data ? firn_bytes_copy(arena, bound) : bound;
}

/* The metadata alone of a chunk, in as little memory as they need: there may be very many until the file ends. */
static struct firn_column_chunk keep_metadata(struct firn_arena *arena, const struct firn_column_chunk *chunk)
{
    struct firn_column_chunk kept = *chunk;
    struct firn_parquet_statistics *statistics = &kept.statistics;
    struct firn_size_statistics *sizes = &kept.sizes;
    kept.encodings = keep(arena, chunk->encodings, chunk->encoding_count, sizeof *kept.encodings);
    kept.encoding_stats = keep(arena, chunk->encoding_stats, chunk->encoding_stats_count, sizeof *kept.encoding_stats);
    statistics->min_value = keep_bound(arena, statistics->min_value);
    statistics->max_value = keep_bound(arena, statistics->max_value);
    sizes->rep_histogram = keep(arena, sizes->rep_histogram, sizes->rep_histogram_count, sizeof(int64_t));
    sizes->def_histogram = keep(arena, sizes->def_histogram, sizes->def_histogram_count, sizeof(int64_t));
    return kept;
}

static firn_status check_index(struct firn_op *op, size_t bytes, int32_t *out)
{
    if (bytes > INT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "a page index of %zu bytes is more than the %d that Parquet allows", bytes,
                         INT32_MAX);
    *out = (int32_t)bytes;
    return FIRN_OK;
}

static firn_status print_indexes(struct firn_op *op, struct firn_parquet_writer *writer,
                                 const struct firn_encoded_chunk *chunk, struct firn_column_chunk *metadata)
{
    size_t columns = writer->column_indexes.len, offsets = writer->offset_indexes.len;
    if (chunk->column_index.page_count > 0)
        FIRN_TRY(firn_column_index_print(op, &chunk->column_index, &writer->column_indexes));
    if (chunk->offset_index.page_count > 0)
        FIRN_TRY(firn_offset_index_print(op, &chunk->offset_index, &writer->offset_indexes));
    FIRN_TRY(check_index(op, writer->column_indexes.len - columns, &metadata->column_index_bytes));
    return check_index(op, writer->offset_indexes.len - offsets, &metadata->offset_index_bytes);
}

/* Pieces of a chunk that are in memory, to be written together. */
struct pieces {
    struct firn_bytes items[PIECES_MAX];
    size_t count;
};

static firn_status put_pieces(struct firn_op *op, struct firn_sink *sink, struct pieces *pieces)
{
    size_t count = pieces->count;
    pieces->count = 0;
    return firn_sink_write_pieces(op, sink, pieces->items, count);
}

static firn_status add_piece(struct firn_op *op, struct firn_sink *sink, struct pieces *pieces, const uint8_t *data,
                             size_t len)
{
    if (pieces->count == PIECES_MAX)
        FIRN_TRY(put_pieces(op, sink, pieces));
    if (len > 0)
        pieces->items[pieces->count++] = (struct firn_bytes){ data, len };
    return FIRN_OK;
}

static firn_status put_lent(struct firn_op *op, struct firn_sink *sink, struct pieces *pieces,
                            const struct firn_lent_bytes *lent)
{
    if (!lent->source)
        return add_piece(op, sink, pieces, lent->data, (size_t)lent->len);
    FIRN_TRY(put_pieces(op, sink, pieces));
    return firn_sink_copy(op, sink, lent->source, lent->offset, lent->len);
}

/* The chunk's own bytes, with what was lent where it belongs. */
static firn_status put_pages(struct firn_op *op, struct firn_sink *sink, const struct firn_encoded_chunk *chunk)
{
    struct pieces pieces = { .count = 0 };
    const uint8_t *bytes = chunk->bytes.data;
    size_t at = 0;
    for (size_t i = 0; i < chunk->lent_count; at = chunk->lent[i++].at) {
        const struct firn_lent_bytes *lent = &chunk->lent[i];
        if (lent->at > at)
            FIRN_TRY(add_piece(op, sink, &pieces, bytes + at, lent->at - at));
        FIRN_TRY(put_lent(op, sink, &pieces, lent));
    }
    if (chunk->bytes.len > at)
        FIRN_TRY(add_piece(op, sink, &pieces, bytes + at, chunk->bytes.len - at));
    return put_pieces(op, sink, &pieces);
}

static firn_status add_chunk(struct firn_op *op, struct firn_parquet_writer *writer, struct firn_encoded_chunk *chunk,
                             struct firn_row_group *group)
{
    move_offsets(chunk, file_offset(writer));
    FIRN_TRY(put_pages(op, writer->sink, chunk));
    firn_buffer_done(&chunk->bytes);
    struct firn_column_chunk *metadata = &group->chunks[group->chunk_count++];
    *metadata = keep_metadata(&writer->results, &chunk->metadata);
    FIRN_TRY(print_indexes(op, writer, chunk, metadata));
    firn_arena_done(&chunk->arena);
    group->total_bytes += metadata->uncompressed_bytes;
    group->compressed_bytes += metadata->compressed_bytes;
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
    for (uint32_t i = 0; i < leaf_count; i++) {
        assert(chunks[i].row_count == row_count);
        FIRN_TRY(add_chunk(op, writer, &chunks[i], &group));
    }
    FIRN_TRY(put_bloom_filters(op, writer, chunks, &group));
    FIRN_PUSH(&writer->results, &writer->groups, group);
    writer->row_count += row_count;
    return FIRN_OK;
}

/* Tells chunks where their indexes come to lie, one behind the other from `offset` on. */
static void place_column_indexes(struct firn_parquet_writer *writer, int64_t offset)
{
    for (size_t group = 0; group < writer->groups.count; group++)
        for (uint32_t i = 0; i < writer->schema->leaf_count; i++) {
            struct firn_column_chunk *chunk = &writer->groups.items[group].chunks[i];
            chunk->column_index_offset = chunk->column_index_bytes > 0 ? offset : 0;
            offset += chunk->column_index_bytes;
        }
}

static void place_offset_indexes(struct firn_parquet_writer *writer, int64_t offset)
{
    for (size_t group = 0; group < writer->groups.count; group++)
        for (uint32_t i = 0; i < writer->schema->leaf_count; i++) {
            struct firn_column_chunk *chunk = &writer->groups.items[group].chunks[i];
            chunk->offset_index_offset = chunk->offset_index_bytes > 0 ? offset : 0;
            offset += chunk->offset_index_bytes;
        }
}

/* All column indexes lie together, then all offset indexes, as readers that prune want them. */
static firn_status put_indexes(struct firn_op *op, struct firn_parquet_writer *writer)
{
    place_column_indexes(writer, file_offset(writer));
    FIRN_TRY(firn_sink_write(op, writer->sink, firn_buffer_bytes(&writer->column_indexes)));
    firn_buffer_done(&writer->column_indexes);
    place_offset_indexes(writer, file_offset(writer));
    FIRN_TRY(firn_sink_write(op, writer->sink, firn_buffer_bytes(&writer->offset_indexes)));
    firn_buffer_done(&writer->offset_indexes);
    return FIRN_OK;
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
