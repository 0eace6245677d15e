/* Columns take part in whole bytes, so that a step deals with one byte of each column that has any left: it looks up
 * the byte's bits, spread so far apart that the other columns' fit between. */
#include "rewrite/interleave.h"

#include "base/math.h"

#define TABLE_COLUMNS_MAX 8 /* as many bytes fit a word */

struct firn_interleave_step {
    uint32_t column_count; /* of those that have a byte */
    uint32_t bytes;        /* of the result; less than column_count only where it is cut */
    const uint32_t *at;    /* where each byte lies in the row */
    const uint64_t *table; /* of a byte in the first place, of 8 * column_count bits; NULL: too many columns */
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

void firn_interleave_init(struct firn_op *op, const struct firn_interleave_column *columns, uint32_t column_count,
                          uint64_t key_bytes_max, struct firn_interleave *out)
{
    const uint64_t *tables[TABLE_COLUMNS_MAX + 1] = { NULL };
    uint32_t rounds = most_bytes(columns, column_count);
    struct firn_interleave_step *steps = FIRN_NEW_ARRAY(op->arena, struct firn_interleave_step, rounds);
    *out = (struct firn_interleave){ .steps = steps };
    for (uint32_t round = 0; round < rounds && out->key_bytes < key_bytes_max; round++) {
        struct firn_interleave_step *step = &steps[out->step_count++];
        uint32_t *at = FIRN_NEW_ARRAY(op->arena, uint32_t, column_count);
        for (uint32_t i = 0; i < column_count; i++)
            if (columns[i].bytes > round)
                at[step->column_count++] = columns[i].offset + round;
        step->at = at;
        step->bytes = (uint32_t)FIRN_MIN(step->column_count, key_bytes_max - out->key_bytes);
        out->key_bytes += step->bytes;
        if (step->column_count > TABLE_COLUMNS_MAX)
            continue;
        if (!tables[step->column_count])
            tables[step->column_count] = make_table(op, step->column_count);
        step->table = tables[step->column_count];
    }
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
        if (step->table)
            take_by_table(step, row, out);
        else
            take_by_bit(step, row, out);
        out += step->bytes;
    }
}
