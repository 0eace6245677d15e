/* Partition tuples in manifests. Iceberg spec, "Partitioning", "Appendix A: Avro". */
#include "table/manifest_tuple.h"

#include "base/math.h"
#include "base/uuid.h"

static struct firn_avro_layout *new_layout(struct firn_arena *arena, struct firn_tuple_place place,
                                           struct firn_avro_column **columns)
{
    uint32_t count = place.spec->field_count;
    *columns = FIRN_NEW_ARRAY(arena, struct firn_avro_column, count);
    for (uint32_t i = 0; i < count; i++)
        (*columns)[i] = (struct firn_avro_column){
            .id = place.spec->fields[i].field_id,
            .name = place.spec->fields[i].name,
            .member = FIRN_AVRO_MEMBER_SCALAR,
            .optional = true,
            .offset = place.offset + i * sizeof(struct firn_avro_scalar),
        };
    struct firn_avro_layout *layout = FIRN_NEW(arena, struct firn_avro_layout);
    *layout = (struct firn_avro_layout){ .name = FIRN_TEXT("r102"), .columns = *columns, .column_count = count };
    return layout;
}

const struct firn_avro_layout *firn_tuple_read_layout(struct firn_arena *arena, struct firn_tuple_place place)
{
    struct firn_avro_column *columns;
    struct firn_avro_layout *layout = new_layout(arena, place, &columns);
    for (uint32_t i = 0; i < layout->column_count; i++) /* without ids, fields are found by the name Avro can have */
        columns[i].name = firn_avro_name(arena, columns[i].name);
    return layout;
}

/* Writing ------------------------------------------------------------------------------------------------------ */

/* Least number of bytes whose two's complement holds every decimal of the precision. */
static uint32_t decimal_bytes(int32_t precision)
{
    unsigned __int128 largest = 0;
    for (int32_t i = 0; i < precision; i++)
        largest = largest * 10 + 9;
    uint32_t bytes = 1;
    for (; bytes < 16 && largest >> (8 * bytes - 1) != 0; bytes++)
        ;
    return bytes;
}

static struct firn_avro_type timestamp_type(const char *logical, bool adjust_to_utc)
{
    return (struct firn_avro_type){ .kind = FIRN_AVRO_LONG,
                                    .logical_type = firn_text_of(logical),
                                    .adjust_to_utc = adjust_to_utc };
}

static struct firn_avro_type decimal_type(struct firn_arena *arena, const struct firn_type *type)
{
    return (struct firn_avro_type){ .kind = FIRN_AVRO_FIXED,
                                    .name = firn_text_format(arena, "decimal_%d_%d", type->precision, type->scale),
                                    .logical_type = FIRN_TEXT("decimal"),
                                    .precision = type->precision,
                                    .scale = type->scale,
                                    .size = decimal_bytes(type->precision) };
}

static struct firn_avro_type written_type(struct firn_arena *arena, const struct firn_type *type)
{
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_BOOLEAN };
    case FIRN_TYPE_INT:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_INT };
    case FIRN_TYPE_LONG:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_LONG };
    case FIRN_TYPE_FLOAT:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_FLOAT };
    case FIRN_TYPE_DOUBLE:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_DOUBLE };
    case FIRN_TYPE_DECIMAL:
        return decimal_type(arena, type);
    case FIRN_TYPE_DATE:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_INT, .logical_type = FIRN_TEXT("date") };
    case FIRN_TYPE_TIME:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_LONG, .logical_type = FIRN_TEXT("time-micros") };
    case FIRN_TYPE_TIMESTAMP:
        return timestamp_type("timestamp-micros", false);
    case FIRN_TYPE_TIMESTAMPTZ:
        return timestamp_type("timestamp-micros", true);
    case FIRN_TYPE_TIMESTAMP_NS:
        return timestamp_type("timestamp-nanos", false);
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return timestamp_type("timestamp-nanos", true);
    case FIRN_TYPE_STRING:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_STRING };
    case FIRN_TYPE_UUID:
        return (struct firn_avro_type){
            .kind = FIRN_AVRO_FIXED, .name = FIRN_TEXT("uuid_fixed"), .logical_type = FIRN_TEXT("uuid"), .size = 16
        };
    case FIRN_TYPE_FIXED:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_FIXED,
                                        .name = firn_text_format(arena, "fixed_%d", type->length),
                                        .size = (uint32_t)type->length };
    case FIRN_TYPE_BINARY:
        return (struct firn_avro_type){ .kind = FIRN_AVRO_BYTES };
    default: /* a dropped source column: nothing but nulls */
        return (struct firn_avro_type){ .kind = FIRN_AVRO_NULL };
    }
}

const struct firn_avro_layout *firn_tuple_write_layout(struct firn_arena *arena, struct firn_tuple_place place)
{
    struct firn_avro_column *columns;
    struct firn_avro_layout *layout = new_layout(arena, place, &columns);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        struct firn_avro_type *type = FIRN_NEW(arena, struct firn_avro_type);
        *type = written_type(arena, &place.types[i]);
        columns[i].scalar_type = type;
    }
    return layout;
}

/* Sign-extends the shortest form to the declared size. */
static firn_status pad_decimal(struct firn_op *op, const struct firn_avro_type *written, const struct firn_value *value,
                               uint8_t scratch[FIRN_TUPLE_SCRATCH_BYTES], struct firn_bytes *out)
{
    uint8_t form[FIRN_VALUE_SCRATCH_BYTES];
    struct firn_bytes shortest = firn_value_form(value, form);
    if (shortest.len > written->size)
        return firn_fail(op, FIRN_CORRUPT, "a partition value of %zu bytes is no decimal(%d, %d)", shortest.len,
                         written->precision, written->scale);
    size_t pad = written->size - shortest.len;
    memset(scratch, value->decimal < 0 ? 0xff : 0, pad);
    memcpy(scratch + pad, shortest.data, shortest.len);
    *out = (struct firn_bytes){ scratch, written->size };
    return FIRN_OK;
}

firn_status firn_tuple_scalar(struct firn_op *op, const struct firn_avro_type *written, const struct firn_value *value,
                              uint8_t scratch[FIRN_TUPLE_SCRATCH_BYTES], struct firn_avro_scalar *out)
{
    *out = (struct firn_avro_scalar){ 0 };
    if (value->is_null || written->kind == FIRN_AVRO_NULL)
        return FIRN_OK;
    out->type = written;
    switch (value->type) {
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        out->real = value->real;
        return FIRN_OK;
    case FIRN_TYPE_DECIMAL:
        return pad_decimal(op, written, value, scratch, &out->bytes);
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_BINARY:
        out->bytes = value->bytes;
        return FIRN_OK;
    default:
        out->integer = value->integer;
        return FIRN_OK;
    }
}

/* Reading ------------------------------------------------------------------------------------------------------ */

static firn_status fail_kind(struct firn_op *op, const struct firn_type *type, const struct firn_avro_scalar *scalar)
{
    return firn_fail(op, FIRN_CORRUPT, "a partition value of avro type %s is no %.*s",
                     firn_avro_kind_name(scalar->type->kind), FIRN_FMT(firn_type_text(op->arena, type)));
}

static bool is_integer(const struct firn_avro_scalar *scalar)
{
    return scalar->type->kind == FIRN_AVRO_INT || scalar->type->kind == FIRN_AVRO_LONG;
}

static bool is_bytes(const struct firn_avro_scalar *scalar)
{
    return scalar->type->kind == FIRN_AVRO_BYTES || scalar->type->kind == FIRN_AVRO_STRING ||
           scalar->type->kind == FIRN_AVRO_FIXED;
}

/* A date under a column that became a timestamp since. */
static bool is_narrow_date(const struct firn_type *type, const struct firn_avro_scalar *scalar)
{
    return firn_text_is(scalar->type->logical_type, "date") &&
           (type->id == FIRN_TYPE_TIMESTAMP || type->id == FIRN_TYPE_TIMESTAMP_NS);
}

static firn_status integer_value(struct firn_op *op, const struct firn_type *type,
                                 const struct firn_avro_scalar *scalar, struct firn_value *out)
{
    static const struct firn_type date = { .id = FIRN_TYPE_DATE };
    bool narrow = type->id == FIRN_TYPE_INT || type->id == FIRN_TYPE_DATE;
    if (!is_integer(scalar))
        return fail_kind(op, type, scalar);
    out->integer = scalar->integer;
    if (narrow && out->integer != (int32_t)out->integer)
        return firn_fail(op, FIRN_CORRUPT, "partition value %" PRId64 " is beyond 32 bits", out->integer);
    if (!is_narrow_date(type, scalar))
        return FIRN_OK;
    struct firn_value day = { .type = FIRN_TYPE_DATE, .integer = scalar->integer };
    return firn_value_promote(&date, type, &day, out)
               ? FIRN_OK
               : firn_fail(op, FIRN_CORRUPT, "partition value: day %" PRId64 " is out of range", day.integer);
}

static firn_status real_value(struct firn_op *op, const struct firn_type *type, const struct firn_avro_scalar *scalar,
                              struct firn_value *out)
{
    bool is_float = scalar->type->kind == FIRN_AVRO_FLOAT;
    if (!is_float && (scalar->type->kind != FIRN_AVRO_DOUBLE || type->id == FIRN_TYPE_FLOAT))
        return fail_kind(op, type, scalar);
    out->real = scalar->real;
    return FIRN_OK;
}

static firn_status uuid_value(struct firn_op *op, const struct firn_type *type, const struct firn_avro_scalar *scalar,
                              struct firn_value *out)
{
    struct firn_uuid uuid;
    out->bytes = scalar->bytes;
    if (scalar->type->kind == FIRN_AVRO_STRING && firn_uuid_parse(firn_text_of_bytes(scalar->bytes), &uuid))
        out->bytes = firn_bytes_copy(op->arena, (struct firn_bytes){ uuid.bytes, sizeof uuid.bytes });
    return out->bytes.len == sizeof uuid.bytes ? FIRN_OK : fail_kind(op, type, scalar);
}

static firn_status bytes_value(struct firn_op *op, const struct firn_type *type, const struct firn_avro_scalar *scalar,
                               struct firn_value *out)
{
    if (type->id == FIRN_TYPE_STRING && is_integer(scalar)) { /* the result of a transform nobody knows */
        out->bytes = firn_bytes_of_text(firn_text_format(op->arena, "%" PRId64, scalar->integer));
        return FIRN_OK;
    }
    if (!is_bytes(scalar))
        return fail_kind(op, type, scalar);
    if (type->id == FIRN_TYPE_UUID)
        return uuid_value(op, type, scalar, out);
    if (type->id == FIRN_TYPE_FIXED && scalar->bytes.len != (size_t)type->length)
        return firn_fail(op, FIRN_CORRUPT, "a partition value of %zu bytes is no fixed[%d]", scalar->bytes.len,
                         type->length);
    out->bytes = scalar->bytes;
    return FIRN_OK;
}

firn_status firn_tuple_value(struct firn_op *op, const struct firn_type *type, const struct firn_avro_scalar *scalar,
                             struct firn_value *out)
{
    *out = (struct firn_value){ .type = type->id };
    if (!scalar->type) {
        out->is_null = true;
        return FIRN_OK;
    }
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        out->integer = scalar->integer;
        return scalar->type->kind == FIRN_AVRO_BOOLEAN ? FIRN_OK : fail_kind(op, type, scalar);
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        return real_value(op, type, scalar, out);
    case FIRN_TYPE_DECIMAL:
        return is_bytes(scalar) && firn_decimal_of_bytes(scalar->bytes, &out->decimal) ? FIRN_OK
                                                                                       : fail_kind(op, type, scalar);
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_BINARY:
        return bytes_value(op, type, scalar, out);
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
    case FIRN_TYPE_DATE:
    case FIRN_TYPE_TIME:
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return integer_value(op, type, scalar, out);
    default: /* no schema knows the source column: its values cannot be told apart */
        out->is_null = true;
        return FIRN_OK;
    }
}
