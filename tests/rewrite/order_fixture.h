/* Orders of the rows of table_fixture.h, and the same as naive comparisons. */
#ifndef FIRN_TESTS_REWRITE_ORDER_FIXTURE_H
#define FIRN_TESTS_REWRITE_ORDER_FIXTURE_H

#include "table_fixture.h"

/* What the fixture gives a row. */
static inline bool name_of(int64_t row, uint32_t *number)
{
    *number = hash_of(row, 1) % 40;
    return hash_of(row, 1) % 3;
}

static inline int compare_names(int64_t a, int64_t b, bool descending, bool nulls_last)
{
    char texts[2][16];
    uint32_t numbers[2];
    bool has_a = name_of(a, &numbers[0]), has_b = name_of(b, &numbers[1]);
    if (!has_a || !has_b)
        return nulls_last ? has_b - has_a : has_a - has_b;
    snprintf(texts[0], sizeof texts[0], "n-%u", numbers[0]);
    snprintf(texts[1], sizeof texts[1], "n-%u", numbers[1]);
    return strcmp(texts[0], texts[1]) * (descending ? -1 : 1);
}

static inline int compare_ids(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static inline int by_id(int64_t a, int64_t b)
{
    return compare_ids(a, b);
}

static inline int by_id_descending(int64_t a, int64_t b)
{
    return compare_ids(b, a);
}

static inline int by_name_and_id(int64_t a, int64_t b)
{
    int order = compare_names(a, b, false, false);
    return order ? order : compare_ids(b, a);
}

static inline int by_name_descending(int64_t a, int64_t b)
{
    return compare_names(a, b, true, true);
}

static inline int by_point(int64_t a, int64_t b)
{
    bool has_a = hash_of(a, 2) % 3, has_b = hash_of(b, 2) % 3;
    return has_a && has_b ? compare_ids(a, b) : has_b - has_a;
}

static inline int by_hundreds(int64_t a, int64_t b)
{
    return compare_ids(a / 100, b / 100);
}

static inline int by_nothing(int64_t a, int64_t b)
{
    (void)a, (void)b;
    return 0;
}

static const struct firn_ordering_field id_fields[] = {
    { .source_id = 1 },
    { .source_id = 1, .descending = true },
    { .source_id = 2 },
    { .source_id = 1, .descending = true, .nulls_last = true },
    { .source_id = 2, .descending = true, .nulls_last = true },
    { .source_id = 4, .nulls_last = true },
    { .source_id = 1, .transform = { .id = FIRN_TRANSFORM_TRUNCATE, .width = 100 } },
    { .source_id = 1, .transform = { .id = FIRN_TRANSFORM_TRUNCATE, .width = 1000000 } },
};

static const struct order_case {
    const char *name;
    struct firn_ordering ordering;
    int (*compare)(int64_t, int64_t);
    bool nested; /* its columns are those of NESTED */
} orders[] = {
    { "id", { .fields = &id_fields[0], .field_count = 1, .sort_order_id = 1 }, by_id, false },
    { "id desc", { .fields = &id_fields[1], .field_count = 1 }, by_id_descending, false },
    { "truncate(100, id)", { .fields = &id_fields[6], .field_count = 1 }, by_hundreds, false },
    { "all alike", { .fields = &id_fields[7], .field_count = 1 }, by_nothing, false },
    { "name, id desc", { .fields = &id_fields[2], .field_count = 2, .sort_order_id = 1 }, by_name_and_id, true },
    { "name desc nulls last", { .fields = &id_fields[4], .field_count = 1 }, by_name_descending, true },
    { "point.x nulls last", { .fields = &id_fields[5], .field_count = 1 }, by_point, true },
};

/* Rows of a file in order, and after those of the file before, unless that is another partition's. */
static inline void check_order(struct table_test *test, const struct firn_rewrite_result *result,
                               const struct order_case *order, bool across_files, uint64_t seed)
{
    int64_t last = -1;
    for (uint32_t f = 0; f < result->file_count; f++) {
        const struct firn_data_file *file = &result->files[f];
        bool goes_on =
            f > 0 && across_files &&
            (file->partition.count == 0 || file->partition.values[0].integer == file[-1].partition.values[0].integer);
        CHECK(file->sort_order_id == order->ordering.sort_order_id, "%" PRId64, (int64_t)file->sort_order_id);
        last = goes_on ? last : -1;
        const char *at = dump_file(test, result, f, "id");
        for (char *end; *at; at = end) {
            int64_t row = strtoll(at, &end, 10);
            CHECK(last < 0 || order->compare(last, row) <= 0,
                  "seed %" PRIu64 ", %s: row %" PRId64 " comes after %" PRId64, seed, order->name, row, last);
            last = row;
        }
    }
}

#endif
