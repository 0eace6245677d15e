/* Single values of Iceberg types: literals, partition values, bounds, defaults.
 * Iceberg spec, "Appendix D: Single-value serialization". */
#ifndef FIRN_TABLE_VALUE_H
#define FIRN_TABLE_VALUE_H

#include "table/type.h"

__extension__ typedef __int128 firn_int128;

struct firn_value {
    enum firn_type_id type;
    bool is_null;
    union {
        int64_t integer;         /* BOOLEAN (0/1), INT, LONG, DATE, TIME, TIMESTAMP*, in the type's unit */
        double real;             /* FLOAT (exactly), DOUBLE */
        firn_int128 decimal;     /* DECIMAL: unscaled */
        struct firn_bytes bytes; /* STRING, UUID (16 bytes big-endian), FIXED, BINARY, GEOMETRY, GEOGRAPHY */
    };
};

/* Whether the value borrows bytes. */
bool firn_value_has_bytes(const struct firn_value *value);
/* The value with its bytes, if it has any, in the arena. */
struct firn_value firn_value_copy(struct firn_arena *arena, const struct firn_value *value);
/* Binary form. Follows the reading rules for promoted types: 4 bytes under LONG, DOUBLE or TIMESTAMP. Bytes are
 * borrowed. CORRUPT for any other length. Types without a form (UNKNOWN, nested) are UNSUPPORTED. */
FIRN_CHECKED firn_status firn_value_parse(struct firn_op *op, const struct firn_type *type, struct firn_bytes bytes,
                                          struct firn_value *out);
/* As firn_value_parse, false for its failures: where a bad value only means that nothing is known. */
bool firn_value_read(const struct firn_type *type, struct firn_bytes bytes, struct firn_value *out);
/* Writes the binary form into the arena. The value is not null. */
struct firn_bytes firn_value_bytes(struct firn_arena *arena, const struct firn_value *value);
/* The binary form without an arena: in `scratch`, or borrowed from the value. */
#define FIRN_VALUE_SCRATCH_BYTES 16
struct firn_bytes firn_value_form(const struct firn_value *value, uint8_t scratch[FIRN_VALUE_SCRATCH_BYTES]);
/* JSON form (defaults). */
FIRN_CHECKED firn_status firn_value_parse_json(struct firn_op *op, const struct firn_type *type, const json_t *json,
                                               struct firn_value *out);
json_t *firn_value_json(struct firn_arena *arena, const struct firn_type *type, const struct firn_value *value);
/* Total order of two non-null values of one type: NaN last, -0.0 before +0.0, strings and bytes unsigned. */
int firn_value_compare(const struct firn_value *a, const struct firn_value *b);
/* Nulls are equal; floats by bit pattern with one NaN (spec, partition equality). */
bool firn_value_same(const struct firn_value *a, const struct firn_value *b);
/* Feeds a canonical byte form (null included), for hashing tuples; equal for values that firn_value_same. */
FIRN_CHECKED firn_status firn_value_key(struct firn_op *op, const struct firn_value *value, struct firn_buffer *out);
/* Converts to a promoted type (INT to LONG, FLOAT to DOUBLE, decimal widening, DATE to TIMESTAMP*). False otherwise. */
bool firn_value_promote(const struct firn_type *from, const struct firn_type *to, const struct firn_value *value,
                        struct firn_value *out);
/* A value that was recorded for a column, promoted where the column's type has been since. False where it is of a type
 * that cannot be. */
bool firn_value_as(const struct firn_type *type, const struct firn_value *value, struct firn_value *out);
/* For people: dates and timestamps in ISO form, decimals with their scale, binary as hex, null as "null". */
struct firn_text firn_value_text(struct firn_arena *arena, const struct firn_type *type,
                                 const struct firn_value *value);

/* Reads the text that the JSON form has for a type (dates, times, timestamps, decimals, UUIDs, hex, strings); false
 * when it is not one of that type. */
bool firn_value_parse_text(struct firn_arena *arena, const struct firn_type *type, struct firn_text text,
                           struct firn_value *out);
/* Text of a FLOAT (`is_float`) or DOUBLE in Java's form: the shortest digits that read back to the same number, "1.0",
 * "1.5E10", "NaN", "Infinity". */
struct firn_text firn_real_text(struct firn_arena *arena, double value, bool is_float);

/* Decimal text ("-14.20") to an unscaled value of `scale`; false when it has more digits than fit. */
bool firn_decimal_parse(struct firn_text text, int32_t scale, firn_int128 *out);
struct firn_text firn_decimal_text(struct firn_arena *arena, firn_int128 unscaled, int32_t scale);
/* Whether the unscaled value has at most `precision` digits. */
bool firn_decimal_fits(firn_int128 unscaled, int32_t precision);
struct firn_text firn_hex_text(struct firn_arena *arena, struct firn_bytes bytes);
/* Hexadecimal digits of either case, an even number. */
bool firn_hex_parse(struct firn_arena *arena, struct firn_text text, struct firn_bytes *out);
/* Two's complement big-endian, sign-extended; `len` 1 to 16 (longer is accepted when the excess is sign). */
bool firn_decimal_of_bytes(struct firn_bytes bytes, firn_int128 *out);

#endif
