/* Random columns of every physical type and nesting, and what must be true of their values. */
#ifndef FIRN_TESTS_COLUMN_SAMPLE_H
#define FIRN_TESTS_COLUMN_SAMPLE_H

#include "check.h"

#include "base/math.h"
#include "format/parquet/bloom_filter.h"
#include "format/parquet/order.h"
#include "format/parquet/reader.h"
#include "format/parquet/writer.h"

#include <math.h>

enum { SLOTS_MAX = 1 << 17 };

static inline uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = *seed;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint32_t below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)(next_random(seed) % limit);
}

/* The kinds of columns that are drawn. */
static const struct kind {
    enum firn_parquet_type type;
    uint32_t type_length;
    struct firn_logical_type logical;
} kinds[] = {
    { FIRN_PARQUET_BOOLEAN, 0, { 0 } },
    { FIRN_PARQUET_INT32, 0, { 0 } },
    { FIRN_PARQUET_INT32, 0, { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 32 } },
    { FIRN_PARQUET_INT64, 0, { .kind = FIRN_LOGICAL_TIMESTAMP, .unit = FIRN_UNIT_MICROS } },
    { FIRN_PARQUET_INT64, 0, { .kind = FIRN_LOGICAL_INTEGER, .bit_width = 64 } },
    { FIRN_PARQUET_INT96, 0, { 0 } },
    { FIRN_PARQUET_FLOAT, 0, { 0 } },
    { FIRN_PARQUET_DOUBLE, 0, { 0 } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_STRING } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { 0 } },
    { FIRN_PARQUET_BYTE_ARRAY, 0, { .kind = FIRN_LOGICAL_DECIMAL, .precision = 20 } },
    { FIRN_PARQUET_FIXED, 2, { .kind = FIRN_LOGICAL_FLOAT16 } },
    { FIRN_PARQUET_FIXED, 5, { 0 } },
    { FIRN_PARQUET_FIXED, 16, { .kind = FIRN_LOGICAL_DECIMAL, .precision = 38 } },
    { FIRN_PARQUET_FIXED, 12, { .kind = FIRN_LOGICAL_INTERVAL } },
};

/* Repetitions from below the root to the leaf: q required, o optional, r repeated. */
static const char *const shapes[] = { "q", "o", "oo", "r", "oro", "ororo", "qorq" };

struct sample {
    uint64_t seed;
    const struct kind *kind;
    const char *shape;
    struct firn_footer schema;
    const struct firn_parquet_node *leaf;
    uint32_t slot_count, value_count, row_count;
    uint8_t rep[SLOTS_MAX], def[SLOTS_MAX];
    struct firn_bytes values[SLOTS_MAX]; /* PLAIN without length */
    uint32_t distinct;                   /* values are drawn from as many; 0: from all */
    bool bounds_enclose;                 /* bounds in files may be wider than the values */
};

static inline void build_schema(struct firn_op *op, struct sample *sample)
{
    size_t depth = strlen(sample->shape);
    struct firn_parquet_node *node = &sample->schema.root;
    sample->schema.root = (struct firn_parquet_node){ .name = FIRN_TEXT("table") };
    for (size_t i = 0; i < depth; i++) {
        struct firn_parquet_node *child = FIRN_NEW(op->arena, struct firn_parquet_node);
        char repetition = sample->shape[i];
        child->name = firn_text_format(op->arena, "n%zu", i);
        child->repetition = repetition == 'q' ? FIRN_REQUIRED : repetition == 'o' ? FIRN_OPTIONAL : FIRN_REPEATED;
        node->children = child;
        node->child_count = 1;
        node = child;
    }
    node->is_leaf = true;
    node->type = sample->kind->type;
    node->type_length = sample->kind->type_length;
    node->logical = sample->kind->logical;
    CHECK_OK(op, firn_parquet_schema_finish(op, &sample->schema));
    sample->leaf = sample->schema.leaves[0];
}

static inline size_t value_bytes(struct sample *sample, uint64_t *seed)
{
    switch (sample->kind->type) {
    case FIRN_PARQUET_BOOLEAN:
        return 1;
    case FIRN_PARQUET_BYTE_ARRAY:
        if (sample->kind->logical.kind == FIRN_LOGICAL_DECIMAL)
            return 1 + below(seed, 9);
        return below(seed, 30) == 0 ? below(seed, 300) : below(seed, 20);
    default:
        return firn_value_width(sample->kind->type, sample->kind->type_length);
    }
}

/* Floats get more of the values that are special. */
static inline void make_special(struct sample *sample, uint64_t *seed, uint8_t *data)
{
    static const double specials[] = { 0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN };
    static const uint16_t halves[] = { 0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00 };
    uint32_t pick = below(seed, 7);
    float single = (float)specials[pick];
    if (below(seed, 3) != 0)
        return;
    if (sample->kind->type == FIRN_PARQUET_FLOAT)
        memcpy(data, &single, 4);
    if (sample->kind->type == FIRN_PARQUET_DOUBLE)
        memcpy(data, &specials[pick], 8);
    if (sample->kind->logical.kind == FIRN_LOGICAL_FLOAT16)
        memcpy(data, &halves[pick], 2);
}

static inline struct firn_bytes make_value(struct firn_op *op, struct sample *sample)
{
    uint64_t drawn = sample->distinct ? below(&sample->seed, sample->distinct) : next_random(&sample->seed);
    size_t len = value_bytes(sample, &drawn);
    uint8_t *data = firn_arena_alloc(op->arena, len);
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)next_random(&drawn);
    if (sample->kind->logical.kind == FIRN_LOGICAL_STRING)
        for (size_t i = 0; i < len; i++)
            data[i] = (uint8_t)('a' + data[i] % 26);
    if (sample->kind->type == FIRN_PARQUET_BOOLEAN)
        data[0] &= 1;
    make_special(sample, &drawn, data);
    return (struct firn_bytes){ data, len };
}

static inline void put_slot(struct firn_op *op, struct sample *sample, uint8_t rep, uint8_t def)
{
    sample->rep[sample->slot_count] = rep;
    sample->def[sample->slot_count++] = def;
    if (def == sample->leaf->def_max)
        sample->values[sample->value_count++] = make_value(op, sample);
}

/* Levels of what lies below `shape`: Dremel's columns of a random record. */
static inline void put_record(struct firn_op *op, struct sample *sample, const char *shape, uint8_t rep, uint8_t def,
                              uint8_t rep_here)
{
    if (*shape == '\0') {
        put_slot(op, sample, rep, def);
    } else if (*shape == 'q') {
        put_record(op, sample, shape + 1, rep, def, rep_here);
    } else if (*shape == 'o' && below(&sample->seed, 5) == 0) {
        put_slot(op, sample, rep, def);
    } else if (*shape == 'o') {
        put_record(op, sample, shape + 1, rep, def + 1, rep_here);
    } else {
        uint32_t count = below(&sample->seed, 4);
        if (count == 0)
            put_slot(op, sample, rep, def);
        for (uint32_t i = 0; i < count; i++)
            put_record(op, sample, shape + 1, i == 0 ? rep : rep_here + 1, def + 1, rep_here + 1);
    }
}

static inline void draw(struct firn_op *op, struct sample *sample)
{
    static const uint32_t distincts[] = { 0, 0, 1, 2, 50, 3000 };
    sample->kind = &kinds[below(&sample->seed, FIRN_COUNT_OF(kinds))];
    sample->shape = shapes[below(&sample->seed, FIRN_COUNT_OF(shapes))];
    sample->distinct = distincts[below(&sample->seed, FIRN_COUNT_OF(distincts))];
    build_schema(op, sample);
    uint32_t rows = below(&sample->seed, 3) == 0 ? 1 + below(&sample->seed, 20) : 1 + below(&sample->seed, 6000);
    while (sample->row_count < rows && sample->slot_count < SLOTS_MAX - 100) {
        put_record(op, sample, sample->shape, 0, 0, 0);
        sample->row_count++;
    }
}

static inline struct firn_chunk_options draw_options(struct sample *sample)
{
    static const enum firn_codec codecs[] = { FIRN_CODEC_NONE, FIRN_CODEC_SNAPPY,  FIRN_CODEC_ZSTD,
                                              FIRN_CODEC_GZIP, FIRN_CODEC_LZ4_RAW, FIRN_CODEC_BROTLI };
    static const int32_t limits[] = { 1, 100, 2000, 1 << 20 };
    struct firn_chunk_options options = firn_chunk_options_default();
    options.codec = codecs[below(&sample->seed, FIRN_COUNT_OF(codecs))];
    options.page_bytes_max = limits[1 + below(&sample->seed, 3)];
    options.page_rows_max = limits[1 + below(&sample->seed, 3)];
    options.dictionary_bytes_max = limits[below(&sample->seed, 4)];
    options.dictionary = below(&sample->seed, 4) != 0;
    options.page_v2 = below(&sample->seed, 2);
    options.delta = below(&sample->seed, 2);
    options.statistics = below(&sample->seed, 8) != 0;
    options.bloom_bytes_max = below(&sample->seed, 4) == 0 ? 32u << below(&sample->seed, 12) : 0;
    options.bloom_fpp = 0.01;
    return options;
}

/* An array of the physical type of values [start, start + count). */
static inline union firn_values array_of(struct firn_op *op, const struct sample *sample,
                                         const struct firn_bytes *values, uint32_t count)
{
    size_t width = firn_value_width(sample->kind->type, sample->kind->type_length);
    union firn_values array = { .any = firn_arena_alloc_array(op->arena, count, width) };
    for (uint32_t i = 0; i < count; i++) {
        if (sample->kind->type == FIRN_PARQUET_BYTE_ARRAY)
            array.slice[i] = (struct firn_slice){ values[i].data, (uint32_t)values[i].len };
        else
            memcpy(array.fixed + i * width, values[i].data, width);
    }
    return array;
}

/* Turns a vector's values into indices: some of the values twice in the dictionary, in mixed order. */
static inline void use_dictionary(struct firn_op *op, struct sample *sample, const struct firn_bytes *values,
                                  struct firn_vector *vector)
{
    struct firn_dictionary *dictionary = FIRN_NEW(op->arena, struct firn_dictionary);
    uint32_t *indices = FIRN_NEW_ARRAY(op->arena, uint32_t, vector->value_count);
    struct firn_bytes *entries = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, vector->value_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < vector->value_count; i++) {
        indices[i] = count;
        for (uint32_t k = 0; k < FIRN_MIN(count, 100u) && indices[i] == count; k++)
            if (firn_bytes_compare(entries[k], values[i]) == 0)
                indices[i] = k;
        if (indices[i] == count)
            entries[count++] = values[i];
    }
    *dictionary = (struct firn_dictionary){
        .id = below(&sample->seed, 2) ? next_random(&sample->seed) : 0,
        .type = sample->kind->type,
        .type_length = sample->kind->type_length,
        .count = count,
        .values = array_of(op, sample, entries, count),
    };
    vector->values.any = NULL;
    vector->indices = indices;
    vector->dictionary = dictionary;
}

/* Slots [slot, slot + slot_count) of the sample, whose first value is `value`. */
static inline struct firn_vector plain_vector(struct firn_op *op, const struct sample *sample, uint32_t slot,
                                              uint32_t value, uint32_t slot_count)
{
    const struct firn_parquet_node *leaf = sample->leaf;
    struct firn_vector vector = {
        .type = sample->kind->type,
        .type_length = sample->kind->type_length,
        .rep_max = leaf->rep_max,
        .def_max = leaf->def_max,
        .slot_count = slot_count,
        .rep = leaf->rep_max ? sample->rep + slot : NULL,
        .def = leaf->def_max ? sample->def + slot : NULL,
    };
    for (uint32_t i = 0; i < slot_count; i++) {
        vector.value_count += sample->def[slot + i] == leaf->def_max;
        vector.row_count += sample->rep[slot + i] == 0;
    }
    if (vector.value_count == slot_count)
        vector.def = NULL;
    vector.values = array_of(op, sample, sample->values + value, vector.value_count);
    return vector;
}

/* The same as values or indices, by chance. */
static inline struct firn_vector sample_vector(struct firn_op *op, struct sample *sample, uint32_t slot, uint32_t value,
                                               uint32_t slot_count)
{
    struct firn_vector vector = plain_vector(op, sample, slot, value, slot_count);
    if (sample->kind->type != FIRN_PARQUET_BOOLEAN && below(&sample->seed, 2))
        use_dictionary(op, sample, sample->values + value, &vector);
    return vector;
}

/* Part of a sample. */
struct slots {
    uint32_t slot, value;         /* where it begins */
    uint32_t slot_end, value_end; /* value_end is set by append_slots */
};

/* Appends slots in vectors of random length, which may end inside a row. */
static inline void append_slots(struct firn_op *op, struct sample *sample, struct slots *slots,
                                struct firn_chunk_writer *writer)
{
    uint32_t slot = slots->slot;
    slots->value_end = slots->value;
    while (slot < slots->slot_end) {
        uint32_t drawn = 1 + below(&sample->seed, 3000);
        struct firn_vector vector =
            sample_vector(op, sample, slot, slots->value_end, FIRN_MIN(drawn, slots->slot_end - slot));
        CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
        slot += vector.slot_count;
        slots->value_end += vector.value_count;
    }
}

static inline struct firn_bytes value_of(const struct firn_vector *vector, uint32_t index)
{
    union firn_values values = vector->values;
    if (vector->indices) {
        values = vector->dictionary->values;
        index = vector->indices[index];
    }
    if (vector->type == FIRN_PARQUET_BYTE_ARRAY)
        return (struct firn_bytes){ values.slice[index].data, values.slice[index].len };
    size_t width = firn_value_width(vector->type, vector->type_length);
    return (struct firn_bytes){ values.fixed + index * width, width };
}

static inline bool is_nan(const struct sample *sample, struct firn_bytes value)
{
    float single;
    double number;
    if (sample->kind->type == FIRN_PARQUET_FLOAT) {
        memcpy(&single, value.data, 4);
        return isnan(single);
    }
    if (sample->kind->type == FIRN_PARQUET_DOUBLE) {
        memcpy(&number, value.data, 8);
        return isnan(number);
    }
    return sample->kind->logical.kind == FIRN_LOGICAL_FLOAT16 && (value.data[1] & 0x7f) >= 0x7c &&
           ((value.data[1] & 3) || value.data[0]);
}

/* Least and greatest of values [start, end), by comparing each. */
struct expected {
    bool found;
    int64_t nan_count;
    struct firn_bytes min, max;
};

static inline struct expected expect(const struct sample *sample, uint32_t start, uint32_t end)
{
    enum firn_order order = firn_order_of(sample->leaf);
    struct expected expected = { 0 };
    for (uint32_t i = start; i < end; i++) {
        struct firn_bytes value = sample->values[i];
        if (is_nan(sample, value)) {
            expected.nan_count++;
            continue;
        }
        if (!expected.found || firn_order_compare(order, value, expected.min) < 0)
            expected.min = value;
        if (!expected.found || firn_order_compare(order, value, expected.max) > 0)
            expected.max = value;
        expected.found = true;
    }
    return expected;
}

static inline bool same_bytes(struct firn_bytes a, struct firn_bytes b)
{
    return a.len == b.len && firn_bytes_compare(a, b) == 0;
}

static inline void check_vector(const struct sample *sample, const struct firn_vector *vector, uint32_t slot,
                                uint32_t value)
{
    CHECK(slot + vector->slot_count <= sample->slot_count, "more slots than were written");
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        CHECK(!vector->rep || vector->rep[i] == sample->rep[slot + i], "slot %u", slot + i);
        CHECK((vector->def ? vector->def[i] : vector->def_max) == sample->def[slot + i], "slot %u", slot + i);
    }
    for (uint32_t i = 0; i < vector->value_count; i++)
        CHECK(same_bytes(value_of(vector, i), sample->values[value + i]), "value %u", value + i);
}

/* The same zero or NaN as float bounds in files have it. */
static inline struct firn_bytes filed(struct firn_op *op, const struct sample *sample, struct firn_bytes value,
                                      bool lower)
{
    return lower ? firn_bound_lower(op->arena, sample->leaf, value, 64)
                 : firn_bound_upper(op->arena, sample->leaf, value, 64);
}

/* Bounds are those expected, or enclose them where that is all that can be asked. */
static inline void check_bounds(const struct sample *sample, struct firn_bytes min, struct firn_bytes max,
                                struct expected expected)
{
    enum firn_order order = firn_order_of(sample->leaf);
    bool wide_min = sample->bounds_enclose && firn_order_compare(order, min, expected.min) <= 0;
    bool wide_max = sample->bounds_enclose && firn_order_compare(order, max, expected.max) >= 0;
    CHECK(wide_min || same_bytes(min, expected.min), "least value");
    CHECK(wide_max || same_bytes(max, expected.max), "greatest value");
}

/* Every page's entry in both indexes, walked along with the pages themselves. */
static inline void check_page(struct firn_op *op, struct sample *sample, const struct firn_encoded_chunk *chunk,
                              const struct firn_vector *vector, uint32_t page, uint32_t slot, uint32_t value)
{
    const struct firn_column_index *index = &chunk->column_index;
    uint32_t row = 0;
    for (uint32_t i = 0; i < slot; i++)
        row += sample->rep[i] == 0;
    assert_int_equal(chunk->offset_index.pages[page].first_row_index, row);
    CHECK(vector->slot_count > 0 && (!vector->rep || vector->rep[0] == 0), "page %u begins inside a row", page);
    if (index->page_count == 0)
        return;
    struct expected expected = expect(sample, value, value + vector->value_count);
    assert_int_equal(index->null_counts[page], vector->slot_count - vector->value_count);
    assert_int_equal(index->null_pages[page], vector->value_count == 0);
    if (index->nan_counts)
        assert_int_equal(index->nan_counts[page], expected.nan_count);
    if (vector->value_count == 0)
        return;
    CHECK(expected.nan_count == 0, "page %u with NaN has an index", page);
    check_bounds(sample, index->min_values[page], index->max_values[page],
                 (struct expected){ .min = filed(op, sample, expected.min, true),
                                    .max = filed(op, sample, expected.max, false) });
}

/* Whether a chunk has a filter, and it knows every value. */
static inline void check_bloom_filter(struct firn_op *op, const struct sample *sample,
                                      const struct firn_chunk_options *options, const struct firn_encoded_chunk *chunk)
{
    struct firn_bloom_filter filter;
    bool wanted = options->bloom_bytes_max > 0 && sample->kind->type != FIRN_PARQUET_BOOLEAN && sample->value_count > 0;
    CHECK((chunk->bloom_filter.len > 0) == wanted, "a filter of %zu bytes", chunk->bloom_filter.len);
    if (!wanted)
        return;
    CHECK_OK(op, firn_bloom_filter_parse(op, firn_buffer_bytes(&chunk->bloom_filter), &filter));
    CHECK(filter.block_count * FIRN_BLOOM_BLOCK_BYTES <= options->bloom_bytes_max, "%u blocks", filter.block_count);
    for (uint32_t i = 0; i < sample->value_count; i++)
        CHECK(firn_bloom_filter_may_contain(&filter, firn_bloom_hash(sample->values[i])), "value %u", i);
}

static inline void read_back(struct firn_op *op, struct sample *sample, const struct firn_encoded_chunk *chunk)
{
    struct firn_chunk_reader *reader;
    struct firn_vector vector;
    bool has_page = true;
    uint32_t slot = 0, value = 0, page = 0;
    CHECK_OK(op, firn_chunk_reader_open(op, sample->leaf, &chunk->metadata, sample->row_count,
                                        firn_buffer_bytes(&chunk->bytes),
                                        (struct firn_chunk_reader_options){
                                            .crc_check = true,
                                            .keep_dictionary = below(&sample->seed, 2),
                                        },
                                        &reader));
    for (;; page++) {
        CHECK_OK(op, firn_chunk_reader_next(op, reader, &vector, &has_page));
        if (!has_page)
            break;
        check_vector(sample, &vector, slot, value);
        check_page(op, sample, chunk, &vector, page, slot, value);
        slot += vector.slot_count;
        value += vector.value_count;
    }
    assert_int_equal(slot, sample->slot_count);
    assert_int_equal(page, chunk->offset_index.page_count);
    firn_chunk_reader_close(reader);
}

static inline void check_metrics(struct sample *sample, const struct firn_chunk_options *options,
                                 const struct firn_encoded_chunk *chunk)
{
    const struct firn_chunk_metrics *metrics = &chunk->metrics;
    struct expected expected = expect(sample, 0, sample->value_count);
    bool has_order = firn_order_of(sample->leaf) != FIRN_ORDER_NONE;
    assert_int_equal(chunk->row_count, sample->row_count);
    assert_int_equal(metrics->value_count, sample->slot_count);
    assert_int_equal(metrics->null_count, sample->slot_count - sample->value_count);
    assert_int_equal(metrics->nan_count, expected.nan_count);
    assert_int_equal(metrics->has_bounds, expected.found && has_order && options->statistics);
    if (metrics->has_bounds)
        check_bounds(sample, metrics->min, metrics->max, expected);
    assert_int_equal(chunk->metadata.statistics.has_null_count, options->statistics);
}

#endif
