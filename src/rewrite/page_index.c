/* Reading the page indexes of a row group. Writers put the column indexes of all row groups behind the last one, and
 * after them all offset indexes, each in the order of row groups and columns. */
#include "rewrite/page_index.h"

#include "base/math.h"

#include <pthread.h>

#define INDEX_BYTES_MAX  (UINT64_C(1) << 20) /* of one chunk: thousands of pages; parsed it takes a multiple */
#define REGION_BYTES_MAX (UINT64_C(8) << 20) /* of one kind for all columns */
#define GAP_BYTES_MAX    (UINT64_C(1) << 20) /* read along rather than asked for anew */

enum { REGION_COUNT = 2 };

struct region {
    struct firn_file_range range;
    struct firn_buffer bytes;
};

struct firn_page_index_reader {
    struct region regions[REGION_COUNT];
    pthread_mutex_t lock; /* of what follows, and of the regions' bytes */
    bool is_read;
};

static struct firn_file_range range_of(int64_t offset, int32_t len, uint64_t file_bytes)
{
    if (offset <= 0 || len <= 0 || (uint64_t)len > INDEX_BYTES_MAX || (uint64_t)offset > file_bytes ||
        (uint64_t)len > file_bytes - (uint64_t)offset)
        return (struct firn_file_range){ 0 };
    return (struct firn_file_range){ (uint64_t)offset, (uint64_t)len };
}

struct firn_file_range firn_column_index_range(const struct firn_column_chunk *chunk, uint64_t file_bytes)
{
    return range_of(chunk->column_index_offset, chunk->column_index_bytes, file_bytes);
}

struct firn_file_range firn_offset_index_range(const struct firn_column_chunk *chunk, uint64_t file_bytes)
{
    return range_of(chunk->offset_index_offset, chunk->offset_index_bytes, file_bytes);
}

/* The least range that holds both. */
static struct firn_file_range join(struct firn_file_range a, struct firn_file_range b)
{
    if (a.len == 0 || b.len == 0)
        return a.len ? a : b;
    uint64_t start = FIRN_MIN(a.offset, b.offset), end = FIRN_MAX(a.offset + a.len, b.offset + b.len);
    return (struct firn_file_range){ start, end - start };
}

static bool holds(struct firn_file_range outer, struct firn_file_range inner)
{
    return inner.offset >= outer.offset && inner.offset + inner.len <= outer.offset + outer.len;
}

static void find_regions(struct firn_page_index_reader *reader, const struct firn_row_group *row_group,
                         uint64_t file_bytes)
{
    struct firn_file_range columns = { 0 }, offsets = { 0 };
    for (uint32_t i = 0; i < row_group->chunk_count; i++) {
        columns = join(columns, firn_column_index_range(&row_group->chunks[i], file_bytes));
        offsets = join(offsets, firn_offset_index_range(&row_group->chunks[i], file_bytes));
    }
    struct firn_file_range both = join(columns, offsets);
    bool is_one = both.len <= columns.len + offsets.len + GAP_BYTES_MAX;
    if (is_one)
        columns = both;
    else
        reader->regions[1].range = offsets.len <= REGION_BYTES_MAX ? offsets : (struct firn_file_range){ 0 };
    if (columns.len <= (is_one ? 2 : 1) * REGION_BYTES_MAX)
        reader->regions[0].range = columns;
}

static void reader_done(void *subject)
{
    struct firn_page_index_reader *reader = subject;
    firn_page_index_reader_clear(reader);
    pthread_mutex_destroy(&reader->lock);
}

struct firn_page_index_reader *firn_page_index_reader_new(struct firn_arena *arena,
                                                          const struct firn_row_group *row_group, uint64_t file_bytes)
{
    struct firn_page_index_reader *reader = FIRN_NEW(arena, struct firn_page_index_reader);
    pthread_mutex_init(&reader->lock, NULL);
    firn_arena_defer(arena, reader_done, reader);
    find_regions(reader, row_group, file_bytes);
    return reader;
}

uint64_t firn_page_index_reader_bytes(const struct firn_page_index_reader *reader)
{
    return reader->regions[0].range.len + reader->regions[1].range.len;
}

void firn_page_index_reader_clear(struct firn_page_index_reader *reader)
{
    for (size_t i = 0; i < REGION_COUNT; i++)
        firn_buffer_done(&reader->regions[i].bytes);
    reader->is_read = false;
}

static firn_status read_regions(struct firn_op *op, struct firn_page_index_reader *reader, struct firn_object *object,
                                atomic_uint_fast64_t *requests)
{
    for (size_t i = 0; i < REGION_COUNT; i++) {
        struct region *region = &reader->regions[i];
        if (region->range.len == 0)
            continue;
        FIRN_TRY(firn_buffer_resize(op, &region->bytes, (size_t)region->range.len));
        atomic_fetch_add(requests, 1);
        FIRN_TRY(firn_object_read(op, object, region->range.offset, region->bytes.len, region->bytes.data));
    }
    reader->is_read = true;
    return FIRN_OK;
}

firn_status firn_page_index_find(struct firn_op *op, struct firn_page_index_reader *reader, struct firn_object *object,
                                 struct firn_file_range range, atomic_uint_fast64_t *requests, struct firn_bytes *out)
{
    firn_status status = FIRN_OK;
    *out = (struct firn_bytes){ 0 };
    pthread_mutex_lock(&reader->lock);
    if (!reader->is_read)
        status = read_regions(op, reader, object, requests);
    pthread_mutex_unlock(&reader->lock);
    for (size_t i = 0; status == FIRN_OK && i < REGION_COUNT; i++) {
        const struct region *region = &reader->regions[i];
        if (range.len > 0 && holds(region->range, range))
            *out = (struct firn_bytes){ region->bytes.data + (range.offset - region->range.offset), range.len };
    }
    return status;
}
