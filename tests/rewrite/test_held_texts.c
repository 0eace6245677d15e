/* Texts of a held column come out as they went in, in any order: of one length or of several, from vectors and from
 * another column, and in memory that was used before. */
#include "../check.h"

#include "base/math.h"
#include "rewrite/held_column.h"

enum { ROWS = 300, VECTOR_ROWS = 50, LEN_MAX = 100 };

/* What the rows of a stretch are. */
enum kind { EQUAL, EMPTY, DIFFERENT, NULLS };

static const struct firn_parquet_node optional = { .type = FIRN_PARQUET_BYTE_ARRAY, .def_max = 1 };
static uint8_t letters[ROWS + LEN_MAX]; /* the text of a row begins at its number */

static int len_of(enum kind kind, uint32_t row)
{
    switch (kind) {
    case EQUAL:
        return 36;
    case EMPTY:
        return 0;
    case DIFFERENT:
        return (int)(row * 37 % LEN_MAX);
    default:
        return row % 3 == 0 ? -1 : 36;
    }
}

/* Adds rows `first` to first + VECTOR_ROWS - 1. */
static void add_rows(struct firn_op *op, enum kind kind, uint32_t first, struct firn_held_column *column, int *lens)
{
    struct firn_slice texts[VECTOR_ROWS];
    uint8_t def[VECTOR_ROWS];
    struct firn_vector vector = { .type = FIRN_PARQUET_BYTE_ARRAY, .def_max = 1 };
    vector.row_count = vector.slot_count = VECTOR_ROWS;
    for (uint32_t row = first; row < first + VECTOR_ROWS; row++) {
        lens[row] = len_of(kind, row);
        def[row - first] = lens[row] >= 0;
        if (lens[row] >= 0)
            texts[vector.value_count++] = (struct firn_slice){ letters + row, (uint32_t)lens[row] };
    }
    vector.def = kind == NULLS ? def : NULL;
    vector.values.slice = texts;
    CHECK_OK(op, firn_held_column_append(op, column, &vector));
}

static void check_rows(struct firn_op *op, const struct firn_held_column *column, const int *lens)
{
    struct firn_taken_rows taken = { 0 };
    struct firn_vector out;
    uint32_t rows[ROWS], value = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = i * 7 % ROWS;
    CHECK_OK(op, firn_held_column_take(op, column, rows, ROWS, &taken, &out));
    for (uint32_t i = 0; i < ROWS; i++) {
        bool is_null = out.def && out.def[i] == 0;
        CHECK(is_null == (lens[rows[i]] < 0), "row %u", rows[i]);
        if (is_null)
            continue;
        struct firn_slice text = out.values.slice[value++];
        CHECK((int)text.len == lens[rows[i]] && (text.len == 0 || memcmp(text.data, letters + rows[i], text.len) == 0),
              "row %u has %u bytes instead of %d", rows[i], text.len, lens[rows[i]]);
    }
    CHECK(value == out.value_count, "%u of %u values", value, out.value_count);
    firn_taken_rows_done(&taken);
}

static void texts_come_back(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_held_column column = { .leaf = &optional }, other = { .leaf = &optional };
    int lens[ROWS];
    for (size_t i = 0; i < sizeof letters; i++)
        letters[i] = (uint8_t)(i * 31 % 251);
    for (unsigned kinds = 0; kinds < 64; kinds++) { /* two bits: the kind of a third of the rows */
        firn_held_column_clear(&column);
        firn_held_column_clear(&other);
        for (uint32_t row = 0; row < ROWS; row += VECTOR_ROWS)
            add_rows(op, (enum kind)(kinds >> 2 * (row / (2 * VECTOR_ROWS)) & 3), row, &column, lens);
        check_rows(op, &column, lens);
        for (uint32_t row = 0; row < ROWS; row += 75)
            CHECK_OK(op, firn_held_column_append_rows(op, &other, &column, row, 75));
        check_rows(op, &other, lens);
    }
    firn_held_column_done(&column);
    firn_held_column_done(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(texts_come_back) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
