/* How fast column chunks are encoded: a million values of each kind, uncompressed and with zstd, as they arrive from
 * readers: as values, or as indices of a dictionary. Run: meson test --benchmark -C BUILD --verbose */
#include "base/math.h"
#include "format/parquet/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { VALUE_COUNT = 1 << 20, VECTOR_VALUES = 1 << 14, TEXT_BYTES_MAX = 36 };

struct column {
    union firn_values values;
    uint8_t *def;
    uint32_t *indices;
    struct firn_dictionary dictionary;
    size_t bytes; /* PLAIN, roughly */
};

static void must(struct firn_op *op, firn_status status)
{
    if (status == FIRN_OK)
        return;
    fprintf(stderr, "bench_writer: %s\n", op->error.text);
    exit(1);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* `distinct` 0: every value differs, and integers count up as ids do. */
static void fill_value(const struct firn_parquet_node *leaf, uint32_t distinct, uint64_t nth, uint8_t *text,
                       union firn_values values, uint32_t at)
{
    uint64_t number = distinct ? mix(nth) % distinct : nth;
    switch (leaf->type) {
    case FIRN_PARQUET_BOOLEAN:
        values.boolean[at] = mix(nth) & 1;
        return;
    case FIRN_PARQUET_INT32:
        values.int32[at] = (int32_t)number;
        return;
    case FIRN_PARQUET_INT64:
        values.int64[at] = (int64_t)number * 1000;
        return;
    case FIRN_PARQUET_DOUBLE:
        values.float64[at] = (double)mix(number) / 1e15;
        return;
    case FIRN_PARQUET_FIXED:
        memcpy(values.fixed + (size_t)at * 16, (uint64_t[]){ mix(number), mix(number + 1) }, 16);
        return;
    default:
        values.slice[at].data = text;
        values.slice[at].len =
            (uint32_t)snprintf((char *)text, TEXT_BYTES_MAX, distinct ? "merchant %05u" : "%016x-%08x",
                               (unsigned)(distinct ? number : mix(number)), (unsigned)mix(number + 7));
        return;
    }
}

static struct column make_column(struct firn_op *op, const struct firn_parquet_node *leaf, uint32_t distinct)
{
    size_t width = firn_value_width(leaf->type, leaf->type_length);
    struct column column = {
        .values.any = firn_arena_alloc_array(op->arena, VALUE_COUNT, width),
        .def = firn_arena_alloc(op->arena, VALUE_COUNT),
        .bytes = width * VALUE_COUNT,
    };
    bool is_text = leaf->type == FIRN_PARQUET_BYTE_ARRAY;
    uint8_t *texts = is_text ? firn_arena_alloc_array(op->arena, VALUE_COUNT, TEXT_BYTES_MAX) : NULL;
    if (is_text)
        column.bytes = 0;
    for (uint32_t i = 0; i < VALUE_COUNT; i++) {
        fill_value(leaf, distinct, i, is_text ? texts + (size_t)i * TEXT_BYTES_MAX : NULL, column.values, i);
        if (is_text)
            column.bytes += 4 + column.values.slice[i].len;
        column.def[i] = mix(i) % 10 > 0;
    }
    return column;
}

/* The same column with `distinct` values as a reader gives it that keeps dictionaries. */
static void use_dictionary(struct firn_op *op, const struct firn_parquet_node *leaf, uint32_t distinct,
                           struct column *column)
{
    column->indices = FIRN_NEW_ARRAY(op->arena, uint32_t, VALUE_COUNT);
    for (uint32_t i = 0; i < VALUE_COUNT; i++)
        column->indices[i] = (uint32_t)(mix(i) % distinct);
    column->dictionary = (struct firn_dictionary){
        .id = 1,
        .type = leaf->type,
        .count = distinct,
        .values = column->values,
    };
}

static void encode(struct firn_op *op, const struct firn_parquet_node *leaf, const struct column *column,
                   const struct firn_chunk_options *options, size_t *encoded_bytes)
{
    struct firn_chunk_writer *writer;
    struct firn_encoded_chunk chunk;
    size_t width = firn_value_width(leaf->type, leaf->type_length);
    uint32_t value = 0;
    must(op, firn_chunk_writer_open(op, leaf, options, &writer));
    for (uint32_t slot = 0; slot < VALUE_COUNT; slot += VECTOR_VALUES) {
        struct firn_vector vector = {
            .type = leaf->type,
            .type_length = leaf->type_length,
            .def_max = leaf->def_max,
            .slot_count = VECTOR_VALUES,
            .row_count = VECTOR_VALUES,
            .def = leaf->def_max ? column->def + slot : NULL,
            .value_count = leaf->def_max ? 0 : VECTOR_VALUES,
            .indices = column->indices ? column->indices + value : NULL,
            .dictionary = column->indices ? &column->dictionary : NULL,
        };
        for (uint32_t i = 0; vector.def && i < VECTOR_VALUES; i++)
            vector.value_count += vector.def[i];
        if (!column->indices)
            vector.values.fixed = column->values.fixed + value * width;
        must(op, firn_chunk_writer_append(op, writer, &vector));
        value += vector.value_count;
    }
    must(op, firn_chunk_writer_finish(op, writer, &chunk));
    firn_chunk_writer_close(writer);
    *encoded_bytes = chunk.bytes.len;
    firn_encoded_chunk_done(&chunk);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static const struct bench {
    const char *name;
    struct firn_parquet_node leaf;
    uint32_t distinct;
    bool as_indices;
} benches[] = {
    { "boolean", { .type = FIRN_PARQUET_BOOLEAN }, 0, false },
    { "int32 of 100", { .type = FIRN_PARQUET_INT32 }, 100, false },
    { "int64 ids", { .type = FIRN_PARQUET_INT64 }, 0, false },
    { "int64 of 5000", { .type = FIRN_PARQUET_INT64 }, 5000, false },
    { "int64 of 5000, nullable", { .type = FIRN_PARQUET_INT64, .def_max = 1 }, 5000, false },
    { "double", { .type = FIRN_PARQUET_DOUBLE }, 0, false },
    { "uuid", { .type = FIRN_PARQUET_FIXED, .type_length = 16 }, 0, false },
    { "text of 5000", { .type = FIRN_PARQUET_BYTE_ARRAY, .logical.kind = FIRN_LOGICAL_STRING }, 5000, false },
    { "text of 5000 as indices", { .type = FIRN_PARQUET_BYTE_ARRAY, .logical.kind = FIRN_LOGICAL_STRING }, 5000, true },
    { "text", { .type = FIRN_PARQUET_BYTE_ARRAY, .logical.kind = FIRN_LOGICAL_STRING }, 0, false },
};

static void run_bench(struct firn_op *op, const struct bench *bench, enum firn_codec codec)
{
    enum { ROUNDS = 3 };
    struct firn_chunk_options options = firn_chunk_options_default();
    struct column column = make_column(op, &bench->leaf, bench->distinct);
    double best = 1e9;
    size_t encoded_bytes = 0;
    options.codec = codec;
    if (bench->as_indices)
        use_dictionary(op, &bench->leaf, bench->distinct, &column);
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds();
        encode(op, &bench->leaf, &column, &options, &encoded_bytes);
        best = FIRN_MIN(best, seconds() - start);
    }
    printf("%-26s %-6s %8.1f MB/s %7.2f ns a value, %5.1f %% of plain\n", bench->name, firn_codec_name(codec),
           (double)column.bytes / best / 1e6, best * 1e9 / VALUE_COUNT,
           100.0 * (double)encoded_bytes / (double)column.bytes);
}

int main(void)
{
    static const enum firn_codec codecs[] = { FIRN_CODEC_NONE, FIRN_CODEC_ZSTD };
    for (size_t i = 0; i < FIRN_COUNT_OF(benches) * FIRN_COUNT_OF(codecs); i++) {
        struct firn_arena arena;
        struct firn_op op;
        firn_arena_init(&arena);
        firn_op_init(&op, &arena, firn_env_real());
        run_bench(&op, &benches[i / 2], codecs[i % 2]);
        firn_arena_done(&arena);
    }
    return 0;
}
