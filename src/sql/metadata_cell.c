/* Values of metadata tables: integers, reals and text, and JSON for what is nested. */
#include "base/time.h"
#include "sql/json_out.h"
#include "sql/metadata_table.h"

#include <math.h>

enum { MS_PER_SECOND = 1000 };

/* Digits that a double holds exactly. */
enum { EXACT_DIGITS = 15 };

void firn_cell_i64(struct firn_cell *cell, int64_t value)
{
    cell->kind = FIRN_CELL_INTEGER;
    cell->integer = value;
}

void firn_cell_i64_unless(struct firn_cell *cell, int64_t value, int64_t absent)
{
    if (value != absent)
        firn_cell_i64(cell, value);
}

void firn_cell_text(struct firn_cell *cell, struct firn_text text)
{
    if (!text.data)
        return;
    cell->kind = FIRN_CELL_TEXT;
    cell->text = text;
}

static void cell_real(struct firn_cell *cell, double value)
{
    if (isnan(value)) { /* SQLite has no NaN */
        firn_cell_text(cell, FIRN_TEXT("NaN"));
        return;
    }
    cell->kind = FIRN_CELL_REAL;
    cell->real = value;
}

void firn_cell_timestamp_ms(struct firn_arena *arena, struct firn_cell *cell, int64_t ms)
{
    firn_cell_text(cell, firn_timestamp_text(arena, ms, MS_PER_SECOND, ' '));
}

static struct firn_text bytes_text(struct firn_arena *arena, struct firn_bytes bytes)
{
    return firn_text_format(arena, "X'%.*s'", FIRN_FMT(firn_hex_text(arena, bytes)));
}

void firn_cell_bytes(struct firn_arena *arena, struct firn_cell *cell, struct firn_bytes bytes)
{
    if (bytes.data)
        firn_cell_text(cell, bytes_text(arena, bytes));
}

struct firn_text firn_spark_value_text(struct firn_arena *arena, const struct firn_type *type,
                                       const struct firn_value *value)
{
    switch (type->id) {
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
        return firn_timestamp_text(arena, value->integer, FIRN_MICROS_PER_SECOND, ' ');
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return firn_timestamp_text(arena, value->integer, 1000 * FIRN_MICROS_PER_SECOND, ' ');
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_BINARY:
    case FIRN_TYPE_GEOMETRY:
    case FIRN_TYPE_GEOGRAPHY:
        return bytes_text(arena, value->bytes);
    default:
        return firn_value_text(arena, type, value);
    }
}

static void cell_decimal(struct firn_arena *arena, const struct firn_type *type, const struct firn_value *value,
                         struct firn_cell *cell)
{
    struct firn_text text = firn_decimal_text(arena, value->decimal, type->scale);
    if (type->precision <= EXACT_DIGITS && firn_text_to_f64(text, &cell->real))
        cell->kind = FIRN_CELL_REAL;
    else
        firn_cell_text(cell, text);
}

void firn_cell_value(struct firn_arena *arena, const struct firn_type *type, const struct firn_value *value,
                     struct firn_cell *cell)
{
    if (value->is_null)
        return;
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
        firn_cell_i64(cell, value->integer);
        break;
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        cell_real(cell, value->real);
        break;
    case FIRN_TYPE_DECIMAL:
        cell_decimal(arena, type, value, cell);
        break;
    default:
        firn_cell_text(cell, firn_spark_value_text(arena, type, value));
        break;
    }
}

firn_status firn_cell_json(struct firn_cell *cell, const struct firn_json_out *json)
{
    firn_cell_text(cell, firn_text_of_bytes(firn_buffer_bytes(json->buffer)));
    return json->status;
}

void firn_json_out_bytes(struct firn_json_out *json, struct firn_bytes bytes)
{
    firn_json_out_text(json, bytes_text(json->op->arena, bytes));
}

void firn_json_out_value(struct firn_json_out *json, const struct firn_type *type, const struct firn_value *value)
{
    bool is_real = type->id == FIRN_TYPE_FLOAT || type->id == FIRN_TYPE_DOUBLE;
    if (value->is_null)
        firn_json_out_null(json);
    else if (type->id == FIRN_TYPE_BOOLEAN)
        firn_json_out_bool(json, value->integer);
    else if (type->id == FIRN_TYPE_INT || type->id == FIRN_TYPE_LONG)
        firn_json_out_i64(json, value->integer);
    else if (is_real && isfinite(value->real))
        firn_json_out_number(json, firn_real_text(json->op->arena, value->real, type->id == FIRN_TYPE_FLOAT));
    else if (type->id == FIRN_TYPE_DECIMAL)
        firn_json_out_number(json, firn_decimal_text(json->op->arena, value->decimal, type->scale));
    else
        firn_json_out_text(json, firn_spark_value_text(json->op->arena, type, value));
}

/* Conditions ------------------------------------------------------------------------------------------------------ */

static bool same_path(const struct firn_metadata_path *a, const struct firn_metadata_path *b)
{
    return a->count == b->count && memcmp(a->steps, b->steps, a->count * sizeof *a->steps) == 0;
}

static bool holds(enum firn_metadata_compare compare, int order)
{
    switch (compare) {
    case FIRN_METADATA_EQ:
        return order == 0;
    case FIRN_METADATA_LT:
        return order < 0;
    case FIRN_METADATA_LT_EQ:
        return order <= 0;
    case FIRN_METADATA_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* Values of different kinds are left to SQLite, which has rules for them. */
bool firn_metadata_filter_holds(const struct firn_metadata_filter *filter, const struct firn_cell *value)
{
    if (value->kind == FIRN_CELL_NULL)
        return false;
    if (value->kind != filter->value.kind)
        return true;
    if (value->kind == FIRN_CELL_INTEGER)
        return holds(filter->compare,
                     (value->integer > filter->value.integer) - (value->integer < filter->value.integer));
    if (value->kind == FIRN_CELL_TEXT)
        return holds(filter->compare, firn_text_compare(value->text, filter->value.text));
    return holds(filter->compare, (value->real > filter->value.real) - (value->real < filter->value.real));
}

bool firn_metadata_filter_cell(const struct firn_metadata_request *request, const struct firn_metadata_path *path,
                               const struct firn_cell *value)
{
    for (uint32_t i = 0; i < request->filter_count; i++)
        if (same_path(&request->filters[i].path, path) && !firn_metadata_filter_holds(&request->filters[i], value))
            return false;
    return true;
}

bool firn_metadata_filter_i64(const struct firn_metadata_request *request, struct firn_metadata_path path,
                              int64_t value)
{
    struct firn_cell cell = { .kind = FIRN_CELL_INTEGER, .integer = value };
    return firn_metadata_filter_cell(request, &path, &cell);
}
