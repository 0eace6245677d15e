/* Rows of card transactions from a small generator (xorshift64*), so that the same seed gives the same table. */
#include "maintain/demo_rows.h"

#include "base/math.h"

static const char *const kinds[] = { "purchase", "transfer", "refund", "withdrawal", "fee" };
static const char *const trades[] = { "Bakery", "Books",  "Bikes", "Cinema", "Coffee",   "Flowers",  "Fuel",
                                      "Garden", "Grocer", "Hotel", "Music",  "Optician", "Pharmacy", "Tailor" };

enum { ACCOUNTS = 20000, SHOPS_PER_TRADE = 60, NULL_MERCHANT_IN = 20 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static struct firn_slice slice_of(struct firn_text text)
{
    return (struct firn_slice){ (const uint8_t *)text.data, (uint32_t)text.len };
}

static void fill_int64(struct firn_op *op, struct firn_vector *column, uint32_t count)
{
    *column = (struct firn_vector){
        .type = FIRN_PARQUET_INT64, .slot_count = count, .value_count = count, .row_count = count
    };
    column->values.int64 = FIRN_NEW_ARRAY(op->arena, int64_t, count);
}

static void fill_text(struct firn_op *op, struct firn_vector *column, uint32_t count)
{
    *column = (struct firn_vector){
        .type = FIRN_PARQUET_BYTE_ARRAY, .slot_count = count, .value_count = count, .row_count = count, .def_max = 1
    };
    column->values.slice = FIRN_NEW_ARRAY(op->arena, struct firn_slice, count);
}

static struct firn_text merchant(struct firn_arena *arena, uint64_t random)
{
    const char *trade = trades[random % FIRN_COUNT_OF(trades)];
    return firn_text_format(arena, "%s %03d", trade, (int)(random / 64 % SHOPS_PER_TRADE));
}

void firn_demo_rows(struct firn_op *op, const struct firn_demo_batch *batch, struct firn_vector *columns)
{
    uint32_t count = batch->row_count;
    uint64_t state = (uint64_t)batch->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    uint8_t *has_merchant = FIRN_NEW_ARRAY(op->arena, uint8_t, count);
    for (int c = 0; c < FIRN_DEMO_COLUMNS; c++)
        (c == 3 || c == 4 ? fill_text : fill_int64)(op, &columns[c], count);
    columns[2].def_max = 1; /* amount is optional, and always there */
    uint32_t merchants = 0;
    for (uint32_t i = 0; i < count; i++) {
        columns[0].values.int64[i] = batch->first_id + i;
        columns[1].values.int64[i] = (int64_t)(next_random(&state) % ACCOUNTS);
        columns[2].values.int64[i] = 100 + (int64_t)(next_random(&state) % 25000);
        columns[3].values.slice[i] = slice_of(firn_text_of(kinds[next_random(&state) % 8 % FIRN_COUNT_OF(kinds)]));
        uint64_t shop = next_random(&state);
        has_merchant[i] = shop % NULL_MERCHANT_IN != 0;
        if (has_merchant[i])
            columns[4].values.slice[merchants++] = slice_of(merchant(op->arena, shop));
        columns[5].values.int64[i] = batch->start_us + batch->span_us * i / count;
    }
    columns[4].def = has_merchant;
    columns[4].value_count = merchants;
}
