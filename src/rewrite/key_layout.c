/* Rows to key bytes, a column at a time where widths are fixed. */
#include "rewrite/key_layout.h"

#include "base/math.h"

#include <math.h>

enum { SCOPE_BYTES = 4 };

/* Bytes of a value in a key of fixed width; 0: the type has none. */
static uint32_t fixed_width(const struct firn_type *type)
{
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        return 1;
    case FIRN_TYPE_INT:
    case FIRN_TYPE_DATE:
    case FIRN_TYPE_FLOAT:
        return 4;
    case FIRN_TYPE_LONG:
    case FIRN_TYPE_DOUBLE:
    case FIRN_TYPE_TIME:
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return 8;
    case FIRN_TYPE_DECIMAL:
        return type->precision <= 18 ? 8 : 16;
    case FIRN_TYPE_UUID:
        return 16;
    case FIRN_TYPE_FIXED:
        return (uint32_t)FIRN_MIN(type->length, FIRN_KEY_BYTES_MAX + 1);
    default:
        return 0;
    }
}

void firn_key_layout_init(struct firn_op *op, const struct firn_output_schema *schema, uint32_t scope_count,
                          struct firn_key_layout *out)
{
    struct firn_key_column *columns = FIRN_NEW_ARRAY(op->arena, struct firn_key_column, schema->leaf_count);
    uint32_t scope_bytes = scope_count > 1 ? SCOPE_BYTES : 0;
    uint64_t key_bytes = scope_bytes + (schema->leaf_count + 7) / 8;
    bool fixed = true;
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const struct firn_type *type = &schema->leaves[i].field->type;
        columns[i] = (struct firn_key_column){ type, (uint32_t)key_bytes, fixed_width(type) };
        fixed = fixed && columns[i].width > 0 && key_bytes + columns[i].width <= FIRN_KEY_BYTES_MAX;
        key_bytes += fixed ? columns[i].width : 0;
    }
    *out = (struct firn_key_layout){
        .columns = columns,
        .column_count = schema->leaf_count,
        .scope_bytes = scope_bytes,
        .key_bytes = fixed ? (uint32_t)key_bytes : 0,
    };
}

/* The place of a row's column in the batch, `key_bytes` from row to row. Values are stored in the machine's byte order,
 * since keys never leave the process. */
static firn_status store_bytes(struct firn_op *op, const struct firn_key_column *column, const struct firn_value *value,
                               uint8_t *at)
{
    if (value->bytes.len != column->width)
        return firn_fail(op, FIRN_CORRUPT, "a key of type %s has %zu bytes, not %u", firn_type_name(column->type->id),
                         value->bytes.len, column->width);
    memcpy(at, value->bytes.data, column->width);
    return FIRN_OK;
}

static void store_real(enum firn_type_id id, double real, uint8_t *at)
{
    double value = isnan(real) ? (double)NAN : real;
    float narrow = (float)value;
    if (id == FIRN_TYPE_FLOAT)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &value, sizeof value);
}

static firn_status store_decimal(struct firn_op *op, uint32_t width, firn_int128 decimal, uint8_t *at)
{
    int64_t narrow = (int64_t)decimal;
    if (width == sizeof decimal)
        memcpy(at, &decimal, sizeof decimal);
    else if (narrow == decimal)
        memcpy(at, &narrow, sizeof narrow);
    else
        return firn_fail(op, FIRN_CORRUPT, "a decimal key has more digits than its type");
    return FIRN_OK;
}

static firn_status store_value(struct firn_op *op, const struct firn_key_column *column, const struct firn_value *value,
                               uint8_t *at)
{
    int32_t half = (int32_t)value->integer;
    switch (column->type->id) {
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        store_real(column->type->id, value->real, at);
        return FIRN_OK;
    case FIRN_TYPE_DECIMAL:
        return store_decimal(op, column->width, value->decimal, at);
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
        return store_bytes(op, column, value, at);
    default:
        break;
    }
    if (column->width == sizeof half)
        memcpy(at, &half, sizeof half);
    else if (column->width == sizeof value->integer)
        memcpy(at, &value->integer, sizeof value->integer);
    else
        *at = value->integer != 0;
    return FIRN_OK;
}

/* 64-bit integers are what most keys are. */
static bool is_long(const struct firn_type *type)
{
    return type->id == FIRN_TYPE_LONG || (type->id >= FIRN_TYPE_TIME && type->id <= FIRN_TYPE_TIMESTAMPTZ_NS);
}

static firn_status fill_column(struct firn_op *op, struct firn_key_batch *batch, const struct firn_key_layout *layout,
                               uint32_t index, const struct firn_value *values)
{
    const struct firn_key_column *column = &layout->columns[index];
    uint32_t null_byte = layout->scope_bytes + index / 8;
    uint8_t null_bit = (uint8_t)(1 << index % 8);
    bool whole = is_long(column->type);
    uint8_t *key = batch->bytes.data;
    for (uint32_t row = 0; row < batch->count; row++, key += layout->key_bytes) {
        if (values[row].is_null)
            key[null_byte] |= null_bit;
        else if (whole)
            memcpy(key + column->offset, &values[row].integer, sizeof values[row].integer);
        else
            FIRN_TRY(store_value(op, column, &values[row], key + column->offset));
    }
    return FIRN_OK;
}

static firn_status fill_fixed(struct firn_op *op, struct firn_key_batch *batch, const struct firn_key_layout *layout,
                              const struct firn_row_batch *rows)
{
    FIRN_TRY(firn_buffer_resize(op, &batch->bytes, (size_t)batch->count * layout->key_bytes));
    memset(batch->bytes.data, 0, batch->bytes.len);
    for (uint32_t i = 0; i < layout->column_count; i++)
        FIRN_TRY(fill_column(op, batch, layout, i, rows->columns[i]));
    return FIRN_OK;
}

static firn_status fill_any(struct firn_op *op, struct firn_key_batch *batch, const struct firn_key_layout *layout,
                            const struct firn_row_batch *rows)
{
    static const uint8_t scope[SCOPE_BYTES];
    firn_buffer_clear(&batch->bytes);
    FIRN_TRY(firn_buffer_resize(op, &batch->ends, batch->count * sizeof(uint32_t)));
    uint32_t *ends = (uint32_t *)(void *)batch->ends.data;
    for (uint32_t row = 0; row < batch->count; row++) {
        FIRN_TRY(firn_buffer_append(op, &batch->bytes, scope, layout->scope_bytes));
        for (uint32_t i = 0; i < layout->column_count; i++)
            FIRN_TRY(firn_value_key(op, &rows->columns[i][row], &batch->bytes));
        if (batch->bytes.len > UINT32_MAX)
            return firn_fail(op, FIRN_LIMIT, "the keys of %u rows take more than 4 GiB", batch->count);
        ends[row] = (uint32_t)batch->bytes.len;
    }
    return FIRN_OK;
}

firn_status firn_key_batch_fill(struct firn_op *op, struct firn_key_batch *batch, const struct firn_key_layout *layout,
                                uint32_t scope, const struct firn_row_batch *rows)
{
    batch->count = rows->row_count;
    batch->key_bytes = layout->key_bytes;
    if (layout->key_bytes > 0)
        FIRN_TRY(fill_fixed(op, batch, layout, rows));
    else
        FIRN_TRY(fill_any(op, batch, layout, rows));
    firn_key_batch_set_scope(batch, layout, scope);
    return FIRN_OK;
}

void firn_key_batch_set_scope(struct firn_key_batch *batch, const struct firn_key_layout *layout, uint32_t scope)
{
    if (layout->scope_bytes == 0)
        return;
    const uint32_t *ends = (const uint32_t *)(const void *)batch->ends.data;
    for (uint32_t i = 0; i < batch->count; i++) {
        size_t start = batch->key_bytes > 0 ? (size_t)i * batch->key_bytes : i > 0 ? ends[i - 1] : 0;
        firn_store_le32(batch->bytes.data + start, scope);
    }
}

struct firn_bytes firn_key_batch_key(const struct firn_key_batch *batch, uint32_t index)
{
    if (batch->key_bytes > 0)
        return (struct firn_bytes){ batch->bytes.data + (size_t)index * batch->key_bytes, batch->key_bytes };
    const uint32_t *ends = (const uint32_t *)(const void *)batch->ends.data;
    uint32_t start = index > 0 ? ends[index - 1] : 0;
    return (struct firn_bytes){ batch->bytes.data + start, ends[index] - start };
}

void firn_key_batch_done(struct firn_key_batch *batch)
{
    firn_buffer_done(&batch->bytes);
    firn_buffer_done(&batch->ends);
    firn_buffer_done(&batch->hashes);
    firn_buffer_done(&batch->order);
}
