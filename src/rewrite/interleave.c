/* Columns take part in whole bytes, so that a step deals with one byte of each column that has any left: it looks up
 * the byte's bits, spread so far apart that the other columns' fit between. */
#include "rewrite/interleave.h"

#include "base/math.h"

#define TABLE_COLUMNS_MAX 8 /* as many bytes fit a word */
#define PAIR_BYTES        4 /* of each column */

struct firn_interleave_step {
    uint32_t column_count; /* of those that have a byte */
    uint32_t bytes;        /* of the result; less than column_count only where it is cut */
    const uint32_t *at;    /* where each byte lies in the row */
    const uint64_t *table; /* of a byte in the first place, of 8 * column_count bits; NULL: too many columns */
    bool is_pair;          /* PAIR_BYTES of each of two columns, none of them cut off */
};

static const uint64_t *make_table(struct firn_op *op, uint32_t column_count)
{
    uint64_t *table = FIRN_NEW_ARRAY(op->arena, uint64_t, 256);
    for (uint32_t byte = 0; byte < 256; byte++)
        for (uint32_t bit = 0; bit < 8; bit++)
            if (byte >> (7 - bit) & 1)
                table[byte] |= UINT64_C(1) << (8 * column_count - 1 - bit * column_count);
    return table;
}

static uint32_t most_bytes(const struct firn_interleave_column *columns, uint32_t column_count)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < column_count; i++)
        bytes = FIRN_MAX(bytes, columns[i].bytes);
    return bytes;
}

/* The bytes that come next of all columns that have any. */
static void plan_step(struct firn_op *op, const struct firn_interleave_column *columns, uint32_t column_count,
                      uint32_t round, struct firn_interleave_step *step)
{
    uint32_t *at = FIRN_NEW_ARRAY(op->arena, uint32_t, column_count);
    bool is_pair = true;
    for (uint32_t i = 0; i < column_count; i++) {
        if (columns[i].bytes <= round)
            continue;
        at[step->column_count++] = columns[i].offset + round;
        is_pair = is_pair && columns[i].bytes - round >= PAIR_BYTES;
    }
    step->at = at;
    step->is_pair = is_pair && step->column_count == 2;
    step->bytes = step->column_count * (step->is_pair ? PAIR_BYTES : 1);
}

static void cut_step(struct firn_interleave_step *step, uint64_t bytes_max)
{
    if (step->bytes > bytes_max && step->is_pair) {
        step->is_pair = false;
        step->bytes = step->column_count;
    }
    step->bytes = (uint32_t)FIRN_MIN(step->bytes, bytes_max);
}

void firn_interleave_init(struct firn_op *op, const struct firn_interleave_column *columns, uint32_t column_count,
                          uint64_t key_bytes_max, struct firn_interleave *out)
{
    const uint64_t *tables[TABLE_COLUMNS_MAX + 1] = { NULL };
    uint32_t rounds = most_bytes(columns, column_count), round = 0;
    struct firn_interleave_step *steps = FIRN_NEW_ARRAY(op->arena, struct firn_interleave_step, rounds);
    *out = (struct firn_interleave){ .steps = steps };
    while (round < rounds && out->key_bytes < key_bytes_max) {
        struct firn_interleave_step *step = &steps[out->step_count++];
        plan_step(op, columns, column_count, round, step);
        cut_step(step, key_bytes_max - out->key_bytes);
        out->key_bytes += step->bytes;
        round += step->is_pair ? PAIR_BYTES : 1;
        if (step->column_count > TABLE_COLUMNS_MAX)
            continue;
        if (!tables[step->column_count])
            tables[step->column_count] = make_table(op, step->column_count);
        step->table = tables[step->column_count];
    }
}

/* Moves the bits of the lower half apart, to the even places. */
static uint64_t spread(uint64_t word)
{
    word = (word | word << 16) & UINT64_C(0x0000ffff0000ffff);
    word = (word | word << 8) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word | word << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    word = (word | word << 2) & UINT64_C(0x3333333333333333);
    return (word | word << 1) & UINT64_C(0x5555555555555555);
}

static void take_pair(const struct firn_interleave_step *step, const uint8_t *row, uint8_t *out)
{
    uint64_t word = spread(firn_load_be32(row + step->at[0])) << 1 | spread(firn_load_be32(row + step->at[1]));
    firn_store_be64(out, word);
}

static void take_by_table(const struct firn_interleave_step *step, const uint8_t *row, uint8_t *out)
{
    uint64_t word = 0;
    for (uint32_t i = 0; i < step->column_count; i++)
        word |= step->table[row[step->at[i]]] >> i;
    for (uint32_t i = 0; i < step->bytes; i++)
        out[i] = (uint8_t)(word >> 8 * (step->column_count - 1 - i));
}

static void take_by_bit(const struct firn_interleave_step *step, const uint8_t *row, uint8_t *out)
{
    memset(out, 0, step->bytes);
    for (uint32_t place = 0; place < 8 * step->bytes; place++) {
        uint32_t bit = place / step->column_count, column = place % step->column_count;
        if (row[step->at[column]] >> (7 - bit) & 1)
            out[place / 8] |= (uint8_t)(0x80 >> place % 8);
    }
}

void firn_interleave_row(const struct firn_interleave *interleave, const uint8_t *row, uint8_t *out)
{
    for (uint32_t i = 0; i < interleave->step_count; i++) {
        const struct firn_interleave_step *step = &interleave->steps[i];
        if (step->is_pair)
            take_pair(step, row, out);
        else if (step->table)
            take_by_table(step, row, out);
        else
            take_by_bit(step, row, out);
        out += step->bytes;
    }
}
