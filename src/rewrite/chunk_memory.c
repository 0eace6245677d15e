/* Sizes by what footers tell. Of values that a dictionary stands for they tell nothing, unless their writer gave their
 * sizes: the dictionary page does. */
#include "rewrite/chunk_memory.h"

#include "base/math.h"
#include "format/parquet/reader.h"

#define PAGE_BYTES      (INT64_C(1) << 20)    /* what a page takes, by most writers' default */
#define PAGE_ROWS       20000                 /* and how many rows it has: write.parquet.page-row-limit */
#define PAGE_BUFFERS    3                     /* its bytes, its values, the dictionary or what is larger than others */
#define EXPANSION       4                     /* of what is compressed, at most */
#define PIECE_BYTES_MIN (UINT64_C(256) << 10) /* of a chunk, that is worth a request */
#define PIECE_BYTES_MAX (UINT64_C(8) << 20)
#define VALUE_BYTES     8 /* of a value, unless the chunk's size says more */

/* Bytes of a large file's chunk. */
static uint64_t chunk_bytes(const struct firn_chunk_memory_terms *terms, uint32_t index)
{
    return terms->file.len > 0 ? 0 : (uint64_t)FIRN_MAX(terms->row_group->chunks[index].compressed_bytes, 0);
}

/* How many data pages a chunk has; 0: not recorded. */
static int64_t page_count(const struct firn_column_chunk *chunk)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < chunk->encoding_stats_count; i++) {
        const struct firn_encoding_stats *stats = &chunk->encoding_stats[i];
        if (stats->page_type == FIRN_PAGE_DATA || stats->page_type == FIRN_PAGE_DATA_V2)
            count += FIRN_MAX(stats->count, 0);
    }
    return count;
}

/* What a dictionary takes while its chunk is read: its page as it lies, inflated, and as values. */
static uint64_t dictionary_memory(const struct firn_column_chunk *chunk)
{
    int64_t stored = chunk->data_page_offset - FIRN_MAX(chunk->dictionary_page_offset, 0);
    if (chunk->dictionary_page_offset <= 0 || stored <= 0 || chunk->compressed_bytes <= 0)
        return 0;
    stored = FIRN_MIN(FIRN_MIN(stored, chunk->compressed_bytes), FIRN_PAGE_BYTES_MAX);
    double expansion = FIRN_MAX((double)chunk->uncompressed_bytes / (double)chunk->compressed_bytes, 1);
    return (uint64_t)stored + 2 * (uint64_t)FIRN_MIN((double)stored * expansion, (double)FIRN_PAGE_BYTES_MAX);
}

static uint64_t page_memory(const struct firn_chunk_memory_terms *terms, uint32_t index)
{
    const struct firn_column_chunk *chunk = &terms->row_group->chunks[index];
    int64_t all = FIRN_MAX(chunk->uncompressed_bytes, 0), count = page_count(chunk);
    uint64_t most = (uint64_t)FIRN_MIN(all, PAGE_BYTES);
    uint64_t page = count > 0 ? (uint64_t)FIRN_MIN(all / count, FIRN_PAGE_BYTES_MAX) : most;
    uint64_t other = chunk->dictionary_page_offset > 0 ? FIRN_MAX(most, dictionary_memory(chunk)) : 0;
    return (PAGE_BUFFERS - 1) * page + FIRN_MAX(page, other);
}

/* What columns hold if it is no more than `most` of any chunk. */
static void find_held(const struct firn_chunk_memory_terms *terms, uint64_t most, struct firn_chunk_memory *out)
{
    out->held_bytes = terms->index_bytes;
    out->column_bytes_max = 1; /* to be divided by, though chunks may be empty beside large indexes */
    for (uint32_t i = 0; i < terms->row_group->chunk_count; i++) {
        uint64_t bytes = FIRN_MIN(chunk_bytes(terms, i), most) + page_memory(terms, i);
        out->held_bytes += bytes;
        out->column_bytes_max = FIRN_MAX(out->column_bytes_max, bytes);
    }
}

/* What a large chunk may hold, so that all have their place: those that are smaller than average leave it to them. */
static uint64_t large_chunk_share(const struct firn_chunk_memory_terms *terms)
{
    uint32_t count = terms->row_group->chunk_count;
    uint64_t room = terms->bytes_max - FIRN_MIN(terms->index_bytes, terms->bytes_max), large = 0;
    for (uint32_t i = 0; i < count; i++)
        room -= FIRN_MIN(room, page_memory(terms, i));
    uint64_t average = room / count;
    for (uint32_t i = 0; i < count; i++) {
        bool is_large = chunk_bytes(terms, i) > average;
        large += is_large;
        room -= is_large ? 0 : chunk_bytes(terms, i);
    }
    return large > 0 ? room / large : room;
}

/* Bytes of a dictionary's value on average; 0: there is no dictionary, or it is not at hand. */
static uint64_t dictionary_value_bytes(struct firn_op *op, const struct firn_chunk_memory_terms *terms,
                                       const struct firn_column_chunk *chunk)
{
    struct firn_page page;
    uint64_t offset, len;
    firn_column_chunk_range(chunk, &offset, &len);
    if (terms->file.len == 0 || len == 0 || chunk->is_encrypted || chunk->file_path.len > 0)
        return 0;
    struct firn_cursor in = firn_cursor_of((struct firn_bytes){ terms->file.data + offset, (size_t)len });
    if (firn_page_next(op, &in, false, &page) != FIRN_OK || page.header.type != FIRN_PAGE_DICTIONARY ||
        page.header.value_count == 0)
        return 0;
    return (uint64_t)(page.header.uncompressed_bytes / page.header.value_count);
}

static uint64_t decoded_bytes(struct firn_op *op, const struct firn_chunk_memory_terms *terms, uint32_t index)
{
    const struct firn_column_chunk *chunk = &terms->row_group->chunks[index];
    const struct firn_parquet_node *leaf = terms->footer->leaves[index];
    uint64_t count = (uint64_t)FIRN_MAX(chunk->value_count, 0), value_bytes = VALUE_BYTES, all;
    uint64_t bytes = (uint64_t)FIRN_MAX(chunk->uncompressed_bytes, 0);
    if (chunk->sizes.has_unencoded_bytes)
        bytes = FIRN_MAX(bytes, (uint64_t)FIRN_MAX(chunk->sizes.unencoded_bytes, 0));
    else if (leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        value_bytes = FIRN_MAX(dictionary_value_bytes(op, terms, chunk), VALUE_BYTES);
    else if (leaf->type == FIRN_PARQUET_FIXED)
        value_bytes = FIRN_MAX(leaf->type_length, VALUE_BYTES);
    return FIRN_MAX(bytes, __builtin_mul_overflow(count, value_bytes, &all) ? UINT64_MAX : all);
}

struct firn_chunk_memory firn_chunk_memory_find(struct firn_op *op, const struct firn_chunk_memory_terms *terms)
{
    struct firn_chunk_memory memory = { 0 };
    double decoded = 0;
    for (uint32_t i = 0; i < terms->row_group->chunk_count; i++)
        decoded += (double)decoded_bytes(op, terms, i);
    memory.decoded_bytes = (uint64_t)FIRN_MIN(decoded, (double)(UINT64_MAX / 2));
    find_held(terms, UINT64_MAX, &memory);
    if (memory.held_bytes <= terms->bytes_max)
        return memory;
    uint64_t piece = large_chunk_share(terms) / FIRN_CHUNK_PIECES;
    memory.piece_bytes = (size_t)FIRN_MIN(FIRN_MAX(piece, PIECE_BYTES_MIN), PIECE_BYTES_MAX);
    find_held(terms, FIRN_CHUNK_PIECES * memory.piece_bytes, &memory);
    return memory;
}

uint64_t firn_chunk_memory_least(const struct firn_row_group_size *size)
{
    uint64_t pieces = size->leaf_count * FIRN_CHUNK_PIECES * PIECE_BYTES_MIN, pages = size->leaf_count * PAGE_BYTES;
    pages = FIRN_MIN(pages, EXPANSION * size->bytes);
    pages = (uint64_t)FIRN_MIN((double)pages, PAGE_ROWS * EXPANSION * size->row_bytes);
    return (size->is_whole ? size->bytes : FIRN_MIN(size->bytes, pieces)) + PAGE_BUFFERS * pages;
}
