/* Chunk writers: vectors are cut into pieces that fit the page being filled, and full pages are written.
 *
 * Dictionary policy, as parquet-java has it: a dictionary is tried; it is given up when the first page with values
 * would not be smaller for it, or when it outgrows its limit. Pages already written with it stay, later ones are PLAIN.
 */
#include "format/parquet/chunk_writer.h"

#include "base/math.h"
#include "format/parquet/delta_write.h"
#include "format/parquet/plain_write.h"
#include "format/parquet/rle_write.h"
#include "format/parquet/unpack.h"

#include <assert.h>

enum { NOT_MAPPED = -1, MAPPED_SOON = -2, INDEX_BYTES = sizeof(uint32_t), BOUND_BYTES_MAX = 64 };

struct firn_chunk_options firn_chunk_options_default(void)
{
    return (struct firn_chunk_options){
        .codec = FIRN_CODEC_ZSTD,
        .codec_level = FIRN_CODEC_LEVEL_DEFAULT,
        .page_bytes_max = 1 << 20,
        .page_rows_max = 20000,
        .dictionary_bytes_max = 2 << 20,
        .dictionary = true,
        .statistics = true,
    };
}

firn_status firn_chunk_writer_open(struct firn_op *op, const struct firn_parquet_node *leaf,
                                   const struct firn_chunk_options *options, struct firn_chunk_writer **out)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_chunk_writer *writer = FIRN_NEW(&arena, struct firn_chunk_writer);
    bool dictionary = options->dictionary && leaf->type != FIRN_PARQUET_BOOLEAN && options->dictionary_bytes_max > 0;
    *writer = (struct firn_chunk_writer){
        .arena = arena,
        .leaf = leaf,
        .options = *options,
        .order = firn_order_of(leaf),
        .pages = { .codec = options->codec, .codec_level = options->codec_level },
        .dictionary_state = dictionary ? FIRN_DICTIONARY_TRIED : FIRN_DICTIONARY_LEFT,
        .bloom = { .bytes_max = leaf->type == FIRN_PARQUET_BOOLEAN ? 0 : options->bloom_bytes_max,
                   .fpp = options->bloom_fpp },
    };
    writer->options.page_rows_max = FIRN_MAX(options->page_rows_max, 1);
    writer->options.page_bytes_max = FIRN_MAX(options->page_bytes_max, 1);
    if (!options->statistics && !firn_order_has_nan(writer->order))
        writer->order = FIRN_ORDER_NONE;
    if (dictionary)
        firn_dictionary_writer_init(&writer->dictionary, leaf->type, leaf->type_length,
                                    (uint32_t)options->dictionary_bytes_max);
    firn_arena_init(&writer->results);
    firn_status status = FIRN_OK;
    if (!options->codec_context)
        status = firn_codec_context_open(op, &writer->own_context);
    writer->pages.context = options->codec_context ? options->codec_context : writer->own_context;
    if (status != FIRN_OK)
        firn_chunk_writer_close(writer);
    else
        *out = writer;
    return status;
}

void firn_chunk_writer_close(struct firn_chunk_writer *writer)
{
    if (!writer)
        return;
    firn_codec_context_close(writer->own_context);
    firn_page_writer_done(&writer->pages);
    firn_dictionary_writer_done(&writer->dictionary);
    firn_bounds_done(&writer->bounds);
    firn_bounds_done(&writer->page.bounds);
    firn_bloom_builder_done(&writer->bloom);
    struct firn_buffer *buffers[] = { &writer->page.rep,   &writer->page.def,    &writer->page.indices,
                                      &writer->page.plain, &writer->map.indices, &writer->map.fresh,
                                      &writer->gathered,   &writer->encoded,     &writer->bytes };
    for (size_t i = 0; i < FIRN_COUNT_OF(buffers); i++)
        firn_buffer_done(buffers[i]);
    firn_index_scratch_done(&writer->indices);
    firn_arena_done(&writer->results);
    struct firn_arena arena = writer->arena;
    firn_arena_done(&arena);
}

uint64_t firn_chunk_writer_bytes(const struct firn_chunk_writer *writer)
{
    uint64_t index_bits = firn_bits_for(writer->dictionary.count);
    return writer->bytes.len + writer->lent_bytes + writer->page.plain.len +
           firn_dictionary_writer_bytes(&writer->dictionary) + writer->page.indices.len / INDEX_BYTES * index_bits / 8;
}

uint64_t firn_chunk_writer_dictionary_bytes(const struct firn_chunk_writer *writer)
{
    return firn_dictionary_writer_bytes(&writer->dictionary);
}

bool firn_chunk_writer_has_dictionary(const struct firn_chunk_writer *writer)
{
    return writer->dictionary_state == FIRN_DICTIONARY_KEPT;
}

uint64_t firn_chunk_writer_memory(const struct firn_chunk_writer *writer)
{
    const struct firn_buffer *buffers[] = {
        &writer->page.rep,         &writer->page.def,         &writer->page.indices,      &writer->page.plain,
        &writer->map.indices,      &writer->map.fresh,        &writer->gathered,          &writer->encoded,
        &writer->indices.seen,     &writer->indices.used,     &writer->indices.gathered,  &writer->bytes,
        &writer->pages.body,       &writer->pages.compressed, &writer->dictionary.values, &writer->dictionary.starts,
        &writer->dictionary.slots, &writer->dictionary.array
    };
    uint64_t bytes = firn_bloom_builder_memory(&writer->bloom) + writer->arena.used_bytes + writer->results.used_bytes;
    for (size_t i = 0; i < FIRN_COUNT_OF(buffers); i++)
        bytes += buffers[i]->capacity;
    return bytes;
}

static const uint32_t *page_indices(const struct firn_page_buffer *page)
{
    return (const uint32_t *)(const void *)page->indices.data;
}

/* Adds values to the page in PLAIN. */
static firn_status add_plain_values(struct firn_op *op, struct firn_chunk_writer *writer, union firn_values values,
                                    size_t count)
{
    const struct firn_parquet_node *leaf = writer->leaf;
    FIRN_TRY(firn_bounds_add(op, &writer->page.bounds, writer->order, values, leaf->type_length, count));
    FIRN_TRY(firn_bloom_builder_add(op, &writer->bloom, leaf->type, leaf->type_length, values, count));
    if (leaf->type == FIRN_PARQUET_BOOLEAN)
        return firn_buffer_append(op, &writer->page.plain, values.boolean, count);
    return firn_plain_encode(op, leaf->type, leaf->type_length, values, count, &writer->page.plain);
}

static firn_status add_plain(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_vector *piece)
{
    union firn_values values = piece->values;
    if (piece->indices) {
        size_t width = firn_value_width(piece->type, piece->type_length);
        FIRN_TRY(firn_values_gather(op, piece->dictionary->values.any, width, piece->indices, piece->value_count,
                                    &writer->gathered));
        values.any = writer->gathered.data;
    }
    return add_plain_values(op, writer, values, piece->value_count);
}

/* Turns the page's indices into PLAIN values. */
static firn_status leave_indices(struct firn_op *op, struct firn_chunk_writer *writer)
{
    size_t count = writer->page.indices.len / INDEX_BYTES;
    FIRN_TRY(
        firn_dictionary_writer_gather(op, &writer->dictionary, page_indices(&writer->page), count, &writer->gathered));
    firn_buffer_clear(&writer->page.indices);
    return add_plain_values(op, writer, (union firn_values){ .any = writer->gathered.data }, count);
}

static firn_status gather_own(struct firn_op *op, const void *dictionary, const uint32_t *indices, size_t count,
                              struct firn_buffer *out)
{
    return firn_dictionary_writer_gather(op, dictionary, indices, count, out);
}

static firn_status bound_indices(struct firn_op *op, struct firn_chunk_writer *writer)
{
    struct firn_indexed_values values = {
        .indices = page_indices(&writer->page),
        .count = writer->page.value_count,
        .dictionary = &writer->dictionary,
        .dictionary_count = writer->dictionary.count,
        .type_length = writer->leaf->type_length,
        .gather = gather_own,
        .grows = true,
    };
    return firn_bounds_of_indexed(op, &writer->page.bounds, writer->order, &writer->indices, &values);
}

/* Replaces writer->encoded by the data page form of the page's indices: their width, then the hybrid form. */
static firn_status encode_indices(struct firn_op *op, struct firn_chunk_writer *writer)
{
    uint8_t bit_width = (uint8_t)firn_bits_for(writer->dictionary.count - 1);
    firn_buffer_clear(&writer->encoded);
    FIRN_TRY(firn_buffer_append(op, &writer->encoded, &bit_width, 1));
    return firn_rle_encode_indices(op, page_indices(&writer->page), writer->page.value_count, bit_width,
                                   &writer->encoded);
}

/* Frees what only served a dictionary that no page uses: with many columns, that is most of their memory. */
static void forget_dictionary(struct firn_chunk_writer *writer)
{
    struct firn_dictionary_writer *dictionary = &writer->dictionary;
    struct firn_buffer *buffers[] = { &writer->page.indices, &writer->map.indices, &writer->map.fresh,
                                      &writer->gathered, &writer->encoded };
    for (size_t i = 0; i < FIRN_COUNT_OF(buffers); i++)
        firn_buffer_done(buffers[i]);
    firn_dictionary_writer_done(dictionary);
    firn_dictionary_writer_init(dictionary, dictionary->type, dictionary->type_length, dictionary->plain_bytes_max);
}

/* Encodes the page's indices, or turns them into PLAIN when this is the first page and the dictionary does not pay. */
static firn_status settle_indices(struct firn_op *op, struct firn_chunk_writer *writer)
{
    FIRN_TRY(encode_indices(op, writer));
    if (writer->dictionary_state == FIRN_DICTIONARY_TRIED &&
        firn_dictionary_writer_bytes(&writer->dictionary) + writer->encoded.len >= writer->page.plain_bytes) {
        writer->dictionary_state = FIRN_DICTIONARY_LEFT;
        FIRN_TRY(leave_indices(op, writer));
        forget_dictionary(writer);
        return FIRN_OK;
    }
    writer->dictionary_state = FIRN_DICTIONARY_KEPT;
    writer->dictionary_used = firn_dictionary_writer_mark(&writer->dictionary);
    return bound_indices(op, writer);
}

/* A copy in the results, or NULL where there is none to keep. */
static const int64_t *keep_histogram(struct firn_chunk_writer *writer, const int64_t *histogram, uint32_t count)
{
    if (!histogram || count == 0)
        return NULL;
    int64_t *kept = FIRN_NEW_ARRAY(&writer->results, int64_t, count);
    memcpy(kept, histogram, count * sizeof *kept);
    return kept;
}

static void record_bounds(struct firn_chunk_writer *writer, const struct firn_page_facts *facts,
                          struct firn_page_record *record)
{
    struct firn_arena *arena = &writer->results;
    record->has_bounds = facts->has_bounds && writer->order != FIRN_ORDER_NONE && writer->options.statistics;
    if (!record->has_bounds)
        return;
    record->min = firn_bytes_copy(arena, firn_bound_lower(arena, writer->leaf, facts->min, BOUND_BYTES_MAX));
    record->max = firn_bytes_copy(arena, firn_bound_upper(arena, writer->leaf, facts->max, BOUND_BYTES_MAX));
}

firn_status firn_chunk_record_page(struct firn_op *op, struct firn_chunk_writer *writer,
                                   const struct firn_page_form *form, const struct firn_page_facts *facts)
{
    struct firn_page_record record = {
        .offset = form->offset,
        .type = form->type,
        .encoding = form->encoding,
        .sizes = form->sizes,
        .slot_count = facts->slot_count,
        .value_count = facts->value_count,
        .row_count = facts->row_count,
        .nan_count = facts->nan_count,
        .unencoded_bytes = facts->unencoded_bytes,
        .rep_histogram = keep_histogram(writer, facts->rep_histogram, firn_rep_histogram_count(writer->leaf)),
        .def_histogram = keep_histogram(writer, facts->def_histogram, firn_def_histogram_count(writer->leaf)),
    };
    record_bounds(writer, facts, &record);
    writer->bounds.nan_count += facts->nan_count;
    if (record.has_bounds)
        FIRN_TRY(firn_bounds_add_range(
            op, &writer->bounds, writer->order,
            &(struct firn_range){
                .min = facts->min, .max = facts->max, .min_exact = facts->min_exact, .max_exact = facts->max_exact }));
    FIRN_PUSH(&writer->results, &writer->records, record);
    return FIRN_OK;
}

static void clear_page(struct firn_page_buffer *page)
{
    firn_buffer_clear(&page->rep);
    firn_buffer_clear(&page->def);
    firn_buffer_clear(&page->indices);
    firn_buffer_clear(&page->plain);
    firn_bounds_clear(&page->bounds);
    page->slot_count = page->value_count = page->row_count = 0;
    page->plain_bytes = 0;
}

/* Replaces writer->encoded by the delta form of the page's values; `pays` when it is smaller. */
static firn_status encode_deltas(struct firn_op *op, struct firn_chunk_writer *writer, bool *pays)
{
    const struct firn_page_buffer *page = &writer->page;
    enum firn_parquet_type type = writer->leaf->type;
    *pays = false;
    if (!writer->options.delta || (type != FIRN_PARQUET_INT32 && type != FIRN_PARQUET_INT64))
        return FIRN_OK;
    firn_buffer_clear(&writer->encoded);
    FIRN_TRY(firn_delta_encode(op, firn_buffer_bytes(&page->plain), firn_value_width(type, 0), &writer->encoded));
    *pays = writer->encoded.len < page->plain.len;
    return FIRN_OK;
}

/* The values that have no indices: booleans packed, integers by their differences if that was asked for and pays. */
static firn_status encode_plain(struct firn_op *op, struct firn_chunk_writer *writer, struct firn_data_page *out)
{
    const struct firn_page_buffer *page = &writer->page;
    out->encoding = FIRN_ENCODING_PLAIN;
    out->values = firn_buffer_bytes(&page->plain);
    if (writer->leaf->type == FIRN_PARQUET_BOOLEAN) {
        firn_buffer_clear(&writer->encoded);
        FIRN_TRY(firn_booleans_pack(op, page->plain.data, page->value_count, &writer->encoded));
        out->values = firn_buffer_bytes(&writer->encoded);
        return FIRN_OK;
    }
    bool pays;
    FIRN_TRY(encode_deltas(op, writer, &pays));
    if (pays) {
        out->encoding = FIRN_ENCODING_DELTA_BINARY_PACKED;
        out->values = firn_buffer_bytes(&writer->encoded);
    }
    return FIRN_OK;
}

/* The values as the page will hold them; pages without values are PLAIN and decide nothing. */
static firn_status encode_values(struct firn_op *op, struct firn_chunk_writer *writer, struct firn_data_page *out)
{
    struct firn_page_buffer *page = &writer->page;
    if (page->indices.len > 0)
        FIRN_TRY(settle_indices(op, writer));
    if (page->indices.len > 0) {
        out->encoding = FIRN_ENCODING_RLE_DICTIONARY;
        out->values = firn_buffer_bytes(&writer->encoded);
        return FIRN_OK;
    }
    return encode_plain(op, writer, out);
}

/* The facts of the page being filled; the histograms' memory is the caller's. */
static struct firn_page_facts page_facts(const struct firn_chunk_writer *writer, int64_t *rep_histogram,
                                         int64_t *def_histogram)
{
    const struct firn_parquet_node *leaf = writer->leaf;
    const struct firn_page_buffer *page = &writer->page;
    struct firn_page_facts facts = {
        .slot_count = page->slot_count,
        .value_count = page->value_count,
        .row_count = page->row_count,
        .has_bounds = page->bounds.found,
        .min_exact = true,
        .max_exact = true,
        .min = firn_buffer_bytes(&page->bounds.min),
        .max = firn_buffer_bytes(&page->bounds.max),
        .nan_count = page->bounds.nan_count,
    };
    if (leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        facts.unencoded_bytes = (int64_t)(page->plain_bytes - (uint64_t)page->value_count * FIRN_PLAIN_LENGTH_BYTES);
    if (firn_rep_histogram_count(leaf)) {
        firn_count_levels(page->rep.data, page->slot_count, leaf->rep_max, rep_histogram);
        facts.rep_histogram = rep_histogram;
    }
    if (firn_def_histogram_count(leaf)) {
        firn_count_levels(page->def.data, page->slot_count, leaf->def_max, def_histogram);
        facts.def_histogram = def_histogram;
    }
    return facts;
}

firn_status firn_chunk_end_page(struct firn_op *op, struct firn_chunk_writer *writer)
{
    struct firn_page_buffer *page = &writer->page;
    struct firn_data_page data = {
        .rep = page->rep.data,
        .def = page->def.data,
        .rep_max = writer->leaf->rep_max,
        .def_max = writer->leaf->def_max,
        .slot_count = page->slot_count,
        .value_count = page->value_count,
        .row_count = page->row_count,
        .page_v2 = writer->options.page_v2,
    };
    int64_t rep_histogram[UINT8_MAX + 1], def_histogram[UINT8_MAX + 1];
    if (page->slot_count == 0)
        return FIRN_OK;
    FIRN_TRY(encode_values(op, writer, &data));
    struct firn_page_form form = {
        .offset = firn_chunk_pages_end(writer),
        .type = writer->options.page_v2 ? FIRN_PAGE_DATA_V2 : FIRN_PAGE_DATA,
        .encoding = data.encoding,
    };
    FIRN_TRY(firn_page_writer_put_data(op, &writer->pages, &data, &writer->bytes, &form.sizes));
    struct firn_page_facts facts = page_facts(writer, rep_histogram, def_histogram);
    FIRN_TRY(firn_chunk_record_page(op, writer, &form, &facts));
    clear_page(page);
    return FIRN_OK;
}

/* Makes room in the map for a vector's dictionary, forgetting what is known of another one. */
static firn_status prepare_map(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_vector *vector)
{
    struct firn_dictionary_map *map = &writer->map;
    const struct firn_dictionary *dictionary = vector->dictionary;
    if (!vector->indices || writer->dictionary_state == FIRN_DICTIONARY_LEFT)
        return FIRN_OK;
    size_t map_bytes = (size_t)dictionary->count * INDEX_BYTES;
    bool known = map->of == dictionary && map->id == dictionary->id && map->indices.len == map_bytes;
    if (known && dictionary->id != 0)
        return FIRN_OK;
    map->of = dictionary;
    map->id = dictionary->id;
    FIRN_TRY(firn_buffer_resize(op, &map->indices, map_bytes));
    if (map->indices.len)
        memset(map->indices.data, NOT_MAPPED, map->indices.len);
    return FIRN_OK;
}

/* Lists the indices of a piece that are not mapped yet, by first appearance, and marks them. */
static uint32_t list_fresh(const struct firn_vector *piece, uint32_t *map, uint32_t *fresh)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < piece->value_count; i++) { /* which ones are fresh is hard to guess: no branch */
        uint32_t index = piece->indices[i], known = map[index];
        bool is_fresh = known == (uint32_t)NOT_MAPPED;
        fresh[count] = index;
        map[index] = is_fresh ? (uint32_t)MAPPED_SOON : known;
        count += is_fresh;
    }
    return count;
}

/* Maps a foreign dictionary's indices to ours; only values not met before are hashed, all of them at once. When the
 * dictionary becomes full, what is mapped is wrong. */
static firn_status map_indices(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_vector *piece,
                               uint32_t *out)
{
    uint32_t *map = (uint32_t *)(void *)writer->map.indices.data;
    size_t width = firn_value_width(piece->type, piece->type_length);
    FIRN_TRY(firn_buffer_resize(op, &writer->map.fresh, (size_t)piece->value_count * INDEX_BYTES));
    uint32_t *fresh = (uint32_t *)(void *)writer->map.fresh.data;
    uint32_t count = list_fresh(piece, map, fresh);
    FIRN_TRY(firn_values_gather(op, piece->dictionary->values.any, width, fresh, count, &writer->gathered));
    FIRN_TRY(firn_dictionary_writer_add(op, &writer->dictionary, (union firn_values){ .any = writer->gathered.data },
                                        count, out));
    if (writer->dictionary.full)
        return FIRN_OK;
    for (uint32_t i = 0; i < count; i++)
        map[fresh[i]] = out[i];
    firn_gather(map, INDEX_BYTES, piece->indices, piece->value_count, out);
    return FIRN_OK;
}

/* Adds a piece as indices; gives false and leaves the page as it was when the dictionary cannot take it. */
static firn_status add_indices(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_vector *piece,
                               bool *added)
{
    struct firn_buffer *indices = &writer->page.indices;
    size_t len = indices->len;
    uint8_t *end;
    FIRN_TRY(firn_buffer_extend(op, indices, (size_t)piece->value_count * INDEX_BYTES, &end));
    uint32_t *out = (uint32_t *)(void *)end;
    if (piece->indices)
        FIRN_TRY(map_indices(op, writer, piece, out));
    else
        FIRN_TRY(firn_dictionary_writer_add(op, &writer->dictionary, piece->values, piece->value_count, out));
    *added = !writer->dictionary.full;
    if (!*added)
        indices->len = len;
    return FIRN_OK;
}

/* Gives the dictionary up: the page so far ends here if it may, else it becomes PLAIN. */
static firn_status leave_dictionary(struct firn_op *op, struct firn_chunk_writer *writer, bool at_row)
{
    if (writer->dictionary_state == FIRN_DICTIONARY_KEPT && at_row)
        FIRN_TRY(firn_chunk_end_page(op, writer));
    else
        FIRN_TRY(leave_indices(op, writer));
    writer->dictionary_state = FIRN_DICTIONARY_LEFT;
    return FIRN_OK;
}

static bool at_row(const struct firn_vector *piece)
{
    return !piece->rep || piece->rep[0] == 0;
}

/* Adds a piece's values; `taken` is false, and nothing added, when the dictionary was given up for it: what fits the
 * page is different then. */
static firn_status add_values(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_vector *piece,
                              bool *taken)
{
    *taken = true;
    if (piece->value_count == 0)
        return FIRN_OK;
    if (writer->dictionary_state == FIRN_DICTIONARY_LEFT)
        return add_plain(op, writer, piece);
    struct firn_dictionary_mark mark = firn_dictionary_writer_mark(&writer->dictionary);
    FIRN_TRY(add_indices(op, writer, piece, taken));
    if (*taken)
        return FIRN_OK;
    firn_dictionary_writer_cut(&writer->dictionary, mark);
    return leave_dictionary(op, writer, at_row(piece));
}

static firn_status add_levels(struct firn_op *op, const uint8_t *levels, uint8_t level_max, uint32_t count,
                              struct firn_buffer *out)
{
    uint8_t *end;
    if (level_max == 0)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_extend(op, out, count, &end));
    if (levels)
        memcpy(end, levels, count);
    else
        memset(end, level_max, count);
    return FIRN_OK;
}

static firn_status add_piece(struct firn_op *op, struct firn_chunk_writer *writer, const struct firn_vector *piece,
                             bool *taken)
{
    struct firn_page_buffer *page = &writer->page;
    FIRN_TRY(add_values(op, writer, piece, taken));
    if (!*taken)
        return FIRN_OK;
    FIRN_TRY(add_levels(op, piece->rep, piece->rep_max, piece->slot_count, &page->rep));
    FIRN_TRY(add_levels(op, piece->def, piece->def_max, piece->slot_count, &page->def));
    page->slot_count += piece->slot_count;
    page->value_count += piece->value_count;
    page->row_count += piece->row_count;
    page->plain_bytes += firn_vector_plain_bytes(piece);
    return FIRN_OK;
}

/* Bytes of the page as its limit counts them: indices as parquet-java counts them, PLAIN values until it is decided. */
static uint64_t page_bytes(const struct firn_chunk_writer *writer)
{
    if (writer->dictionary_state == FIRN_DICTIONARY_KEPT)
        return writer->page.indices.len;
    return writer->page.plain_bytes;
}

static bool page_full(const struct firn_chunk_writer *writer)
{
    return writer->page.row_count >= (uint32_t)writer->options.page_rows_max ||
           page_bytes(writer) >= (uint64_t)writer->options.page_bytes_max;
}

bool firn_chunk_page_small(const struct firn_chunk_writer *writer)
{
    return !page_full(writer) && page_bytes(writer) < (uint64_t)writer->options.splice_floor_bytes;
}

/* How many of the first `count` values the page takes before its bytes are used up; the last one may pass the limit. */
static uint32_t values_that_fit(const struct firn_chunk_writer *writer, const struct firn_vector *vector,
                                uint32_t count)
{
    uint64_t used = page_bytes(writer), limit = (uint64_t)writer->options.page_bytes_max;
    uint64_t left = used < limit ? limit - used : 1;
    bool as_indices = writer->dictionary_state == FIRN_DICTIONARY_KEPT;
    if (as_indices || vector->type != FIRN_PARQUET_BYTE_ARRAY) {
        uint64_t width = as_indices ? INDEX_BYTES : firn_value_width(vector->type, vector->type_length);
        return (uint32_t)FIRN_MIN((left + width - 1) / width, count);
    }
    const struct firn_slice *slices = vector->indices ? vector->dictionary->values.slice : vector->values.slice;
    uint32_t fitting = 0;
    for (uint64_t bytes = 0; fitting < count && bytes < left; fitting++)
        bytes += FIRN_PLAIN_LENGTH_BYTES + slices[vector->indices ? vector->indices[fitting] : fitting].len;
    return fitting;
}

/* The first slots of a flat column that the page takes: a row each, and at most a value each. */
static void cut_flat(const struct firn_chunk_writer *writer, uint32_t rows_left, struct firn_vector *piece)
{
    uint32_t slots = FIRN_MIN(piece->slot_count, rows_left);
    uint32_t values = FIRN_MIN(piece->value_count, slots);
    uint32_t fitting = values_that_fit(writer, piece, values);
    piece->slot_count = fitting < values ? FIRN_MIN(slots, fitting) : slots;
    piece->row_count = piece->slot_count;
    piece->value_count =
        piece->def ? (uint32_t)firn_count_u8(piece->def, piece->slot_count, piece->def_max) : piece->slot_count;
}

/* The first slots of a repeated column that the page takes, up to where a row begins. */
static void cut_nested(const struct firn_chunk_writer *writer, uint32_t rows_left, struct firn_vector *piece)
{
    uint32_t fitting = values_that_fit(writer, piece, piece->value_count);
    uint32_t slots = 0, rows = 0, values = 0;
    for (; slots < piece->slot_count; slots++) {
        bool row_begins = piece->rep[slots] == 0;
        if (row_begins && (rows >= rows_left || (values >= fitting && fitting < piece->value_count)))
            break;
        rows += row_begins;
        values += !piece->def || piece->def[slots] == piece->def_max;
    }
    piece->slot_count = slots;
    piece->row_count = rows;
    piece->value_count = values;
}

/* The beginning of a vector that fits the page being filled: at least one slot. */
static struct firn_vector fitting_piece(const struct firn_chunk_writer *writer, const struct firn_vector *vector)
{
    struct firn_vector piece = *vector;
    uint32_t rows_max = (uint32_t)writer->options.page_rows_max;
    uint32_t rows_left = rows_max > writer->page.row_count ? rows_max - writer->page.row_count : 0;
    if (vector->rep_max == 0)
        cut_flat(writer, rows_left, &piece);
    else
        cut_nested(writer, rows_left, &piece);
    return piece;
}

/* What is left of a vector after a piece. */
static struct firn_vector skip_piece(const struct firn_vector *vector, const struct firn_vector *piece)
{
    struct firn_vector rest = *vector;
    rest.slot_count -= piece->slot_count;
    rest.value_count -= piece->value_count;
    rest.row_count -= piece->row_count;
    if (rest.rep)
        rest.rep += piece->slot_count;
    if (rest.def)
        rest.def += piece->slot_count;
    if (rest.indices)
        rest.indices += piece->value_count;
    else
        rest.values = firn_values_from(rest.values, rest.type, rest.type_length, piece->value_count);
    return rest;
}

/* Whether a vector's values would make a page below the floor. */
static bool is_small(const struct firn_chunk_writer *writer, const struct firn_vector *vector)
{
    uint64_t bytes = writer->dictionary_state == FIRN_DICTIONARY_KEPT ? (uint64_t)vector->value_count * INDEX_BYTES
                                                                      : firn_vector_plain_bytes(vector);
    return bytes < (uint64_t)writer->options.splice_floor_bytes &&
           vector->row_count < (uint32_t)writer->options.page_rows_max;
}

/* The beginning of a vector that goes to the page being filled. A small rest goes with it: left alone, it would keep
 * the page that comes next from being spliced. */
static struct firn_vector cut_piece(const struct firn_chunk_writer *writer, const struct firn_vector *vector)
{
    struct firn_vector piece = fitting_piece(writer, vector);
    if (writer->options.splice_floor_bytes == 0 || piece.slot_count == vector->slot_count)
        return piece;
    struct firn_vector rest = skip_piece(vector, &piece);
    return is_small(writer, &rest) ? *vector : piece;
}

firn_status firn_chunk_writer_append(struct firn_op *op, struct firn_chunk_writer *writer,
                                     const struct firn_vector *vector)
{
    const struct firn_parquet_node *leaf = writer->leaf;
    assert(vector->type == leaf->type && vector->rep_max == leaf->rep_max && vector->def_max == leaf->def_max);
    assert(vector->type != FIRN_PARQUET_FIXED || vector->type_length == leaf->type_length);
    assert(vector->rep_max == 0 || vector->rep || vector->slot_count == 0);
    FIRN_TRY(prepare_map(op, writer, vector));
    for (struct firn_vector rest = *vector; rest.slot_count > 0;) {
        if (at_row(&rest) && page_full(writer))
            FIRN_TRY(firn_chunk_end_page(op, writer));
        struct firn_vector piece = cut_piece(writer, &rest);
        bool taken;
        FIRN_TRY(add_piece(op, writer, &piece, &taken));
        if (taken)
            rest = skip_piece(&rest, &piece);
    }
    return FIRN_OK;
}

/* Gives the finished chunk its bytes: the dictionary page, if pages use it, then the data pages. */
static firn_status join_pages(struct firn_op *op, struct firn_chunk_writer *writer, struct firn_buffer *out,
                              struct firn_page_sizes *dictionary)
{
    struct firn_buffer *pages = &writer->bytes;
    *dictionary = (struct firn_page_sizes){ 0 };
    if (writer->dictionary_used.count > 0) {
        firn_dictionary_writer_cut(&writer->dictionary, writer->dictionary_used);
        firn_buffer_clear(&writer->encoded);
        FIRN_TRY(firn_dictionary_writer_print(op, &writer->dictionary, &writer->encoded));
        firn_buffer_clear(&writer->gathered);
        FIRN_TRY(firn_page_writer_put_dictionary(op, &writer->pages, firn_buffer_bytes(&writer->encoded),
                                                 writer->dictionary.count, &writer->gathered, dictionary));
        size_t len = pages->len;
        FIRN_TRY(
            firn_buffer_resize(op, pages, len + writer->gathered.len)); /* no more than that: it is the whole chunk */
        memmove(pages->data + writer->gathered.len, pages->data, len);
        memcpy(pages->data, writer->gathered.data, writer->gathered.len);
        for (size_t i = 0; i < writer->lent.count; i++)
            writer->lent.items[i].at += writer->gathered.len;
    }
    *out = *pages;
    *pages = (struct firn_buffer){ 0 };
    return FIRN_OK;
}

/* The filter of all values: those of the dictionary as far as pages use it, and those that went past it. */
static firn_status finish_bloom_filter(struct firn_op *op, struct firn_chunk_writer *writer, struct firn_buffer *out)
{
    enum { AT_ONCE = 1024 };
    uint32_t indices[AT_ONCE], count = writer->dictionary_used.count;
    for (uint32_t first = 0; writer->bloom.bytes_max > 0 && first < count; first += AT_ONCE) {
        uint32_t some = FIRN_MIN(count - first, (uint32_t)AT_ONCE);
        for (uint32_t i = 0; i < some; i++)
            indices[i] = first + i;
        FIRN_TRY(firn_dictionary_writer_gather(op, &writer->dictionary, indices, some, &writer->gathered));
        FIRN_TRY(firn_bloom_builder_add(op, &writer->bloom, writer->leaf->type, writer->leaf->type_length,
                                        (union firn_values){ .any = writer->gathered.data }, some));
    }
    return firn_bloom_builder_finish(op, &writer->bloom, out);
}

firn_status firn_chunk_writer_finish(struct firn_op *op, struct firn_chunk_writer *writer,
                                     struct firn_encoded_chunk *out)
{
    struct firn_page_sizes dictionary;
    *out = (struct firn_encoded_chunk){ 0 };
    FIRN_TRY(firn_chunk_end_page(op, writer));
    FIRN_TRY(finish_bloom_filter(op, writer, &out->bloom_filter));
    FIRN_TRY(join_pages(op, writer, &out->bytes, &dictionary));
    firn_chunk_describe(writer, dictionary, out);
    out->lent = writer->lent.items;
    out->lent_count = writer->lent.count;
    out->arena = writer->results;
    firn_arena_init(&writer->results);
    return FIRN_OK;
}

void firn_encoded_chunk_done(struct firn_encoded_chunk *chunk)
{
    firn_buffer_done(&chunk->bytes);
    firn_buffer_done(&chunk->bloom_filter);
    firn_arena_done(&chunk->arena);
}
