/* One loop a stored form and mapping, and the table of which type takes which. Reference: procedures.md, 2.7, 2.8. */
#include "rewrite/sort_image.h"

#include "base/math.h"
#include "base/time.h"
#include "base/uuid.h"
#include "rewrite/conversion.h"

#include <math.h>

#define SIGN_32         (UINT32_C(1) << 31)
#define SIGN_64         (UINT64_C(1) << 63)
#define BOOLEAN_TRUE    (UINT64_C(0x81) << 56)
#define NANOS_PER_MICRO 1000
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

/* Curves. */

static void words_of_wide_int32(const struct firn_sort_image *image, union firn_values values, size_t count,
                                uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = (uint64_t)(int64_t)values.int32[i] ^ SIGN_64;
}

/* The reference's image of a number in a z-order: the lower half is not that of an order, since its code shifts by 31
 * bits where 63 would do. -0.0 is below 0.0. */
static uint64_t reference_double(double value)
{
    int64_t bits;
    if (isnan(value))
        value = (double)NAN;
    memcpy(&bits, &value, sizeof bits);
    return (uint64_t)bits ^ ((uint64_t)(bits >> 31) | SIGN_64);
}

static void words_of_reference_float(const struct firn_sort_image *image, union firn_values values, size_t count,
                                     uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = reference_double((double)values.float32[i]);
}

static void words_of_reference_double(const struct firn_sort_image *image, union firn_values values, size_t count,
                                      uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = reference_double(values.float64[i]);
}

static void words_of_wide_float(const struct firn_sort_image *image, union firn_values values, size_t count,
                                uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = order_double((double)values.float32[i]);
}

static void words_of_seconds(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    int64_t units = FIRN_MICROS_PER_SECOND * (image->type->id == FIRN_TYPE_TIMESTAMPTZ_NS ? NANOS_PER_MICRO : 1);
    for (size_t i = 0; i < count; i++)
        out[i] = (uint64_t)firn_floor_div(values.int64[i], units) ^ SIGN_64;
}

static void words_of_micros(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = (uint64_t)firn_floor_div(values.int64[i], NANOS_PER_MICRO) ^ SIGN_64;
}

static void words_of_flag(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    (void)image;
    for (size_t i = 0; i < count; i++)
        out[i] = values.boolean[i] ? BOOLEAN_TRUE : 0;
}

/* Decimals of more than 18 digits that are beyond 64 bits count as the nearer end. */
static void words_of_wide_decimal(const struct firn_sort_image *image, union firn_values values, size_t count,
                                  uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        firn_int128 number = firn_leaf_value(image->leaf, image->type, values, i).decimal;
        number = FIRN_MAX(FIRN_MIN(number, INT64_MAX), INT64_MIN);
        out[i] = (uint64_t)(int64_t)number ^ SIGN_64;
    }
}

/* The first 8 bytes. */
static void words_of_bytes(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        struct firn_bytes bytes = firn_leaf_value(image->leaf, image->type, values, i).bytes;
        uint8_t first[8] = { 0 };
        if (bytes.len > 0)
            memcpy(first, bytes.data, FIRN_MIN(bytes.len, sizeof first));
        out[i] = firn_load_be64(first);
    }
}

/* As many whole code points as fit `bytes_max`. */
static struct firn_bytes cut_text(struct firn_bytes text, uint32_t bytes_max)
{
    if (text.len <= bytes_max)
        return text;
    text.len = bytes_max;
    while (text.len > 0 && (text.data[text.len] & 0xc0) == 0x80)
        text.len--;
    return text;
}

static void cut_texts(const struct firn_sort_image *image, union firn_values values, size_t count, uint8_t *out)
{
    memset(out, 0, count * image->width);
    for (size_t i = 0; i < count; i++, out += image->width) {
        struct firn_bytes bytes = firn_leaf_value(image->leaf, image->type, values, i).bytes;
        if (image->type->id == FIRN_TYPE_STRING)
            bytes = cut_text(bytes, image->width);
        if (bytes.len > 0)
            memcpy(out, bytes.data, FIRN_MIN(bytes.len, image->width));
    }
}

static void cut_uuids(const struct firn_sort_image *image, union firn_values values, size_t count, uint8_t *out)
{
    memset(out, 0, count * image->width);
    for (size_t i = 0; i < count; i++, out += image->width) {
        struct firn_uuid uuid;
        char text[FIRN_UUID_TEXT_LEN];
        memcpy(uuid.bytes, values.fixed + i * sizeof uuid.bytes, sizeof uuid.bytes);
        firn_uuid_print(uuid, text);
        memcpy(out, text, FIRN_MIN(sizeof text, image->width));
    }
}

/* What curves make of a type. */
struct curve_image {
    firn_image_words *zorder, *hilbert; /* WORD of 8 bytes */
    firn_image_bytes *cut;              /* instead of `zorder`: of as many bytes as the ordering says */
};

static const struct curve_image curve_images[FIRN_TYPE_COUNT] = {
    [FIRN_TYPE_BOOLEAN] = { words_of_flag, words_of_flag },
    [FIRN_TYPE_INT] = { words_of_wide_int32, words_of_wide_int32 },
    [FIRN_TYPE_LONG] = { words_of_int64, words_of_int64 },
    [FIRN_TYPE_FLOAT] = { words_of_reference_float, words_of_wide_float },
    [FIRN_TYPE_DOUBLE] = { words_of_reference_double, words_of_double },
    [FIRN_TYPE_DECIMAL] = { NULL, words_of_wide_decimal },
    [FIRN_TYPE_DATE] = { words_of_wide_int32, words_of_wide_int32 },
    [FIRN_TYPE_TIME] = { words_of_int64, words_of_int64 },
    [FIRN_TYPE_TIMESTAMP] = { words_of_int64, words_of_int64 },
    [FIRN_TYPE_TIMESTAMPTZ] = { words_of_seconds, words_of_int64 },
    [FIRN_TYPE_TIMESTAMP_NS] = { words_of_micros, words_of_int64 },
    [FIRN_TYPE_TIMESTAMPTZ_NS] = { words_of_seconds, words_of_int64 },
    [FIRN_TYPE_STRING] = { NULL, words_of_bytes, cut_texts },
    [FIRN_TYPE_UUID] = { NULL, words_of_bytes, cut_uuids },
    [FIRN_TYPE_FIXED] = { NULL, words_of_bytes, cut_texts },
    [FIRN_TYPE_BINARY] = { NULL, words_of_bytes, cut_texts },
};

static bool find_zorder(const struct firn_ordering *ordering, struct firn_sort_image *out)
{
    const struct curve_image *curve = &curve_images[out->type->id];
    out->form = curve->cut ? FIRN_IMAGE_BYTES : FIRN_IMAGE_WORD;
    out->words = curve->zorder;
    out->bytes = curve->cut;
    out->width = curve->cut ? ordering->var_length_bytes : sizeof(uint64_t);
    return out->words || out->bytes;
}

/* The image of one value. */
static firn_status single_word(struct firn_op *op, const struct firn_sort_image *image, const struct firn_value *value,
                               uint64_t *out)
{
    const struct firn_dictionary *single;
    FIRN_TRY(firn_leaf_constant(op, image->leaf, value, &single));
    image->words(image, single->values, 1, out);
    return FIRN_OK;
}

static firn_status set_range(struct firn_op *op, const struct firn_ordering_field *field, struct firn_sort_image *out)
{
    FIRN_TRY(single_word(op, out, &field->least, &out->least));
    FIRN_TRY(single_word(op, out, &field->greatest, &out->greatest));
    if (out->least < out->greatest)
        out->factor = UINT64_MAX / (out->greatest - out->least);
    return FIRN_OK;
}

static firn_status find_hilbert(struct firn_op *op, const struct firn_ordering_field *field,
                                struct firn_sort_image *out)
{
    out->words = curve_images[out->type->id].hilbert;
    out->width = sizeof(uint64_t);
    return field->has_range ? set_range(op, field, out) : FIRN_OK;
}

void firn_sort_image_words(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out)
{
    image->words(image, values, count, out);
    if (image->factor == 0)
        return;
    for (size_t i = 0; i < count; i++)
        out[i] = (FIRN_MAX(FIRN_MIN(out[i], image->greatest), image->least) - image->least) * image->factor;
}

/* All. */

bool firn_sort_image_accepts(enum firn_ordering_kind kind, const struct firn_type *type)
{
    const struct curve_image *curve = &curve_images[type->id];
    if (kind == FIRN_ORDERING_ZORDER)
        return curve->zorder || curve->cut;
    return curve->hilbert; /* what can be compared is the same for a line */
}

static firn_status refuse(struct firn_op *op, const struct firn_sort_image *image)
{
    if (image->transform.text.len == 0)
        return firn_fail(op, FIRN_UNSUPPORTED, "rows cannot be laid along a curve by '%.*s', which is %.*s",
                         FIRN_FMT(image->leaf->path), FIRN_FMT(firn_type_text(op->arena, image->type)));
    return firn_fail(op, FIRN_UNSUPPORTED, "rows cannot be sorted by %.*s of '%.*s', which is %.*s",
                     FIRN_FMT(image->transform.text), FIRN_FMT(image->leaf->path),
                     FIRN_FMT(firn_type_text(op->arena, image->type)));
}

firn_status firn_sort_image_find(struct firn_op *op, const struct firn_ordering *ordering,
                                 const struct firn_ordering_field *field, const struct firn_parquet_node *leaf,
                                 const struct firn_type *type, struct firn_sort_image *out)
{
    *out = (struct firn_sort_image){ .leaf = leaf, .type = type, .transform = field->transform };
    if (!firn_sort_image_accepts(ordering->kind, type))
        return refuse(op, out);
    switch (ordering->kind) {
    case FIRN_ORDERING_ZORDER:
        return find_zorder(ordering, out) ? FIRN_OK : refuse(op, out);
    case FIRN_ORDERING_HILBERT:
        return find_hilbert(op, field, out);
    case FIRN_ORDERING_LINEAR:
        break;
    }
    if (!firn_transform_accepts(&out->transform, type))
        return refuse(op, out);
    out->result = firn_transform_result(&out->transform, type);
    return find_linear(out) ? FIRN_OK : refuse(op, out);
}
