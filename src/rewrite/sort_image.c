/* One loop a stored form and mapping, and the table of which type takes which. Reference: procedures.md, 2.7, 2.8. */
#include "rewrite/sort_image.h"

#include "base/math.h"
#include "base/time.h"
#include "rewrite/conversion.h"

#include <math.h>

#define SIGN_32         (UINT32_C(1) << 31)
#define SIGN_64         (UINT64_C(1) << 63)
#define BOOLEAN_TRUE    (UINT64_C(0x81) << 56)
#define FIXED_BYTES_MAX 256 /* longer ones are keyed as bytes of any length */

/* Numbers. */

static void words_of_boolean(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = values.boolean[i];
}

static void words_of_int32(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = (uint32_t)values.int32[i] ^ SIGN_32;
}

static void words_of_int64(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = (uint64_t)values.int64[i] ^ SIGN_64;
}

/* IEEE bits in the order of the numbers: negative ones are turned over, the others go above them. */
static uint64_t order_double(double value)
{
    uint64_t bits;
    if (isnan(value))
        value = (double)NAN;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits >> 63 ? UINT64_MAX : SIGN_64);
}

static uint32_t order_float(float value)
{
    uint32_t bits;
    if (isnan(value))
        value = NAN;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : SIGN_32);
}

/* Adding 0.0 makes -0.0 the same as 0.0. */
static void words_of_float(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = order_float(values.float32[i] + 0.0f);
}

static void words_of_double(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = order_double(values.float64[i] + 0.0);
}

static struct firn_value transformed(const struct firn_sort_image *image, union firn_values values, size_t index)
{
    struct firn_value value = firn_leaf_value(image->leaf, image->type, values, index);
    return firn_transform_value(&image->transform, image->type, &value);
}

static void words_of_result(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    uint64_t mask = UINT64_MAX >> (64 - 8 * image->width), sign = UINT64_C(1) << (8 * image->width - 1);
    for (size_t i = 0; i < count; i++) {
        struct firn_value result = transformed(image, values, i);
        int64_t number = image->result.id == FIRN_TYPE_DECIMAL ? (int64_t)result.decimal : result.integer;
        out[i] = ((uint64_t)number ^ sign) & mask;
    }
}

/* Bucket numbers are never negative and take no more bytes than they need. */
static void words_of_bucket(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint64_t)transformed(image, values, i).integer;
}

/* Bytes. */

static void bytes_of_fixed(const struct firn_sort_image *image, union firn_values values, size_t count, uint8_t *out)
{
    memcpy(out, values.fixed, count * image->width);
}

/* Two's complement, big-endian. */
static void bytes_of_decimal(const struct firn_sort_image *image, union firn_values values, size_t count, uint8_t *out)
{
    memcpy(out, values.fixed, count * image->width);
    for (size_t i = 0; i < count; i++)
        out[i * image->width] ^= 0x80;
}

static void bytes_of_decimal_result(const struct firn_sort_image *image, union firn_values values, size_t count,
                                    uint8_t *out)
{
    for (size_t i = 0; i < count; i++, out += image->width) {
        unsigned __int128 number = (unsigned __int128)transformed(image, values, i).decimal;
        number ^= (unsigned __int128)SIGN_64 << 64;
        for (uint32_t k = image->width; k-- > 0; number >>= 8)
            out[k] = (uint8_t)number;
    }
}

struct firn_bytes firn_sort_image_text(const struct firn_sort_image *image, union firn_values values, size_t index)
{
    if (image->transform.id == FIRN_TRANSFORM_IDENTITY && image->leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        return (struct firn_bytes){ values.slice[index].data, values.slice[index].len };
    return transformed(image, values, index).bytes;
}

/* Linear orders. */

static bool find_plain(struct firn_sort_image *out)
{
    const struct firn_parquet_node *leaf = out->leaf;
    switch (leaf->type) {
    case FIRN_PARQUET_BOOLEAN:
        out->words = words_of_boolean;
        out->width = 1;
        return true;
    case FIRN_PARQUET_INT32:
        out->words = words_of_int32;
        out->width = 4;
        return true;
    case FIRN_PARQUET_INT64:
        out->words = words_of_int64;
        out->width = 8;
        return true;
    case FIRN_PARQUET_FLOAT:
        out->words = words_of_float;
        out->width = 4;
        return true;
    case FIRN_PARQUET_DOUBLE:
        out->words = words_of_double;
        out->width = 8;
        return true;
    case FIRN_PARQUET_BYTE_ARRAY:
        out->form = FIRN_IMAGE_TEXT;
        return true;
    case FIRN_PARQUET_FIXED:
        out->form = leaf->type_length <= FIXED_BYTES_MAX ? FIRN_IMAGE_BYTES : FIRN_IMAGE_TEXT;
        out->bytes = out->type->id == FIRN_TYPE_DECIMAL ? bytes_of_decimal : bytes_of_fixed;
        out->width = leaf->type_length;
        return true;
    default:
        return false;
    }
}

static uint32_t bucket_bytes(int32_t bucket_count)
{
    return bucket_count <= 1 << 8 ? 1 : bucket_count <= 1 << 16 ? 2 : 4;
}

static bool find_truncated(struct firn_sort_image *out)
{
    switch (out->result.id) {
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
        out->words = words_of_result;
        out->width = out->result.id == FIRN_TYPE_INT ? 4 : 8;
        return true;
    case FIRN_TYPE_DECIMAL:
        out->form = out->leaf->type == FIRN_PARQUET_FIXED ? FIRN_IMAGE_BYTES : FIRN_IMAGE_WORD;
        out->words = words_of_result;
        out->bytes = bytes_of_decimal_result;
        out->width = out->leaf->type == FIRN_PARQUET_FIXED ? 16 : 8;
        return true;
    default:
        out->form = FIRN_IMAGE_TEXT;
        return true;
    }
}

static bool find_linear(struct firn_sort_image *out)
{
    switch (out->transform.id) {
    case FIRN_TRANSFORM_IDENTITY:
        return find_plain(out);
    case FIRN_TRANSFORM_BUCKET:
        out->words = words_of_bucket;
        out->width = bucket_bytes(out->transform.width);
        return true;
    case FIRN_TRANSFORM_TRUNCATE:
        return find_truncated(out);
    case FIRN_TRANSFORM_YEAR:
    case FIRN_TRANSFORM_MONTH:
    case FIRN_TRANSFORM_DAY:
    case FIRN_TRANSFORM_HOUR:
        out->words = words_of_result;
        out->width = 4;
        return true;
    default:
        return false;
    }
}

static bool has_order(enum firn_type_id id)
{
    return firn_type_is_primitive(id) && id != FIRN_TYPE_UNKNOWN && id != FIRN_TYPE_GEOMETRY &&
           id != FIRN_TYPE_GEOGRAPHY;
}

firn_status firn_sort_image_find(struct firn_op *op, const struct firn_ordering *ordering,
                                 const struct firn_ordering_field *field, const struct firn_parquet_node *leaf,
                                 const struct firn_type *type, struct firn_sort_image *out)
{
    *out = (struct firn_sort_image){ .leaf = leaf, .type = type, .transform = field->transform };
    if (ordering->kind != FIRN_ORDERING_LINEAR)
        return firn_fail(op, FIRN_UNSUPPORTED, "rows cannot be sorted along a curve");
    if (!has_order(type->id) || !firn_transform_accepts(&out->transform, type))
        return firn_fail(op, FIRN_UNSUPPORTED, "rows cannot be sorted by %.*s of '%.*s', which is %.*s",
                         FIRN_FMT(out->transform.text), FIRN_FMT(leaf->path),
                         FIRN_FMT(firn_type_text(op->arena, type)));
    out->result = firn_transform_result(&out->transform, type);
    if (!find_linear(out))
        return firn_fail(op, FIRN_UNSUPPORTED, "rows cannot be sorted by %.*s of '%.*s'", FIRN_FMT(out->transform.text),
                         FIRN_FMT(leaf->path));
    return FIRN_OK;
}
