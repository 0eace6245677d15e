/* How fast bits are unpacked and packed, by portable and by vector loops, and how fast values find their place in a
 * dictionary, beside hashing and copying them. Run: meson test --benchmark -C BUILD --verbose bench_bit_groups */
#include "base/hash.h"
#include "base/math.h"
#include "format/parquet/bit_groups.h"
#include "format/parquet/dictionary_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { GROUPS = 1 << 9, VALUES = GROUPS * FIRN_GROUP_VALUES, ROUNDS = 1000, TRIES = 5 };
enum { TEXT_COUNT = 1 << 20, TEXT_BYTES = 20, DISTINCT = 5000 };

struct arrays {
    const struct firn_bit_groups *loops;
    unsigned width;
    uint32_t u32[VALUES];
    uint64_t u64[VALUES];
    uint8_t packed[VALUES * sizeof(uint64_t) + FIRN_GROUP_SLACK_BYTES];
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void unpack_u32(struct arrays *arrays)
{
    arrays->loops->unpack_u32(arrays->packed, arrays->width, GROUPS, arrays->u32);
}

static void unpack_u64(struct arrays *arrays)
{
    arrays->loops->unpack_u64(arrays->packed, arrays->width, GROUPS, arrays->u64);
}

static void pack_u32(struct arrays *arrays)
{
    firn_pack_groups_u32(arrays->u32, arrays->width, GROUPS, arrays->packed);
}

/* The best of some tries, in nanoseconds a value. */
static double measure(void (*run)(struct arrays *), struct arrays *arrays, const struct firn_bit_groups *loops)
{
    double best = 1e9;
    arrays->loops = loops;
    for (int i = 0; i < TRIES; i++) {
        double start = seconds();
        for (int round = 0; round < ROUNDS; round++) {
            run(arrays);
            __asm__ volatile("" ::: "memory");
        }
        best = FIRN_MIN(best, seconds() - start);
    }
    return best * 1e9 / ROUNDS / VALUES;
}

/* Widths that are far apart. */
static unsigned next_width(unsigned width)
{
    return width < 4 ? width + 1 : width + width / 4;
}

static void compare_loops(const char *name, void (*run)(struct arrays *), struct arrays *arrays, unsigned width_max)
{
    const struct firn_bit_groups *vector = firn_bit_groups_vector();
    for (arrays->width = 1; arrays->width <= width_max; arrays->width = next_width(arrays->width)) {
        double portable = measure(run, arrays, &firn_bit_groups_portable);
        printf("%-12s %2u bits: portable %5.2f ns a value", name, arrays->width, portable);
        if (vector) {
            double fast = measure(run, arrays, vector);
            printf(", vector %5.2f ns, %4.1f times as fast", fast, portable / fast);
        }
        printf("\n");
    }
}

static void measure_packing(struct arrays *arrays)
{
    memset(arrays->u32, 0, sizeof arrays->u32);
    for (arrays->width = 1; arrays->width <= 32; arrays->width = next_width(arrays->width))
        printf("%-12s %2u bits: %5.2f ns a value\n", "pack u32", arrays->width, measure(pack_u32, arrays, NULL));
}

/* Texts of a few distinct values, as a column repeats them. */
static void print_texts(uint8_t *bytes, struct firn_slice *texts)
{
    char text[TEXT_BYTES + 1];
    for (uint32_t i = 0; i < TEXT_COUNT; i++) {
        uint8_t *at = bytes + (size_t)i * TEXT_BYTES;
        snprintf(text, sizeof text, "merchant %010u.", i * UINT32_C(2654435761) % DISTINCT);
        memcpy(at, text, TEXT_BYTES);
        texts[i] = (struct firn_slice){ at, TEXT_BYTES };
    }
}

static void show(const char *name, double since)
{
    double bytes = (double)TEXT_COUNT * TEXT_BYTES;
    printf("%-28s %8.0f MB/s\n", name, bytes / (seconds() - since) / 1e6);
}

static firn_status find_texts(struct firn_op *op)
{
    enum { AT_ONCE = 1 << 12 };
    struct firn_slice *texts = FIRN_NEW_ARRAY(op->arena, struct firn_slice, TEXT_COUNT);
    uint8_t *bytes = firn_arena_alloc_array(op->arena, TEXT_COUNT, TEXT_BYTES);
    uint8_t *copy = firn_arena_alloc_array(op->arena, TEXT_COUNT, TEXT_BYTES);
    uint32_t indices[AT_ONCE];
    uint64_t sum = 0;
    struct firn_dictionary_writer dictionary;
    print_texts(bytes, texts);
    memset(copy, 1, (size_t)TEXT_COUNT * TEXT_BYTES);
    double start = seconds();
    memcpy(copy, bytes, (size_t)TEXT_COUNT * TEXT_BYTES);
    show("texts, copied at once", start);
    start = seconds();
    for (uint32_t i = 0; i < TEXT_COUNT; i++)
        memcpy(copy + (size_t)i * TEXT_BYTES, texts[i].data, texts[i].len);
    show("texts, copied one by one", start);
    start = seconds();
    for (uint32_t i = 0; i < TEXT_COUNT; i++)
        sum += firn_hash64((struct firn_bytes){ texts[i].data, texts[i].len });
    show(sum ? "texts, hashed" : "", start);
    firn_dictionary_writer_init(&dictionary, FIRN_PARQUET_BYTE_ARRAY, 0, INT32_MAX);
    start = seconds();
    for (uint32_t i = 0; i < TEXT_COUNT; i += AT_ONCE)
        FIRN_TRY(
            firn_dictionary_writer_add(op, &dictionary, (union firn_values){ .slice = texts + i }, AT_ONCE, indices));
    show("texts, found in dictionary", start);
    firn_dictionary_writer_done(&dictionary);
    return FIRN_OK;
}

int main(void)
{
    static struct arrays arrays;
    struct firn_arena arena;
    struct firn_op op;
    compare_loops("unpack u32", unpack_u32, &arrays, 32);
    compare_loops("unpack u64", unpack_u64, &arrays, 64);
    measure_packing(&arrays);
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    firn_status status = find_texts(&op);
    firn_arena_done(&arena);
    return status == FIRN_OK ? 0 : 1;
}
