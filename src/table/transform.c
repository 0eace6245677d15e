/* Partition transforms. Iceberg spec, "Partition Transforms", "Appendix B: 32-bit Hash Requirements". */
#include "base/math.h"
#include "base/time.h"
#include "table/partition.h"

#define MICROS_PER_HOUR (INT64_C(3600) * FIRN_MICROS_PER_SECOND)

static const char *const plain_names[] = {
    [FIRN_TRANSFORM_IDENTITY] = "identity", [FIRN_TRANSFORM_YEAR] = "year", [FIRN_TRANSFORM_MONTH] = "month",
    [FIRN_TRANSFORM_DAY] = "day",           [FIRN_TRANSFORM_HOUR] = "hour", [FIRN_TRANSFORM_VOID] = "void",
};

/* "bucket[16]" with the name given; the width must be positive. */
static bool parse_width(struct firn_text text, const char *name, int32_t *out)
{
    size_t len = strlen(name);
    int64_t width;
    if (text.len < len + 3 || text.data[len] != '[' || text.data[text.len - 1] != ']' ||
        !firn_text_same_nocase(firn_text_until(text, len), firn_text_of(name)))
        return false;
    struct firn_text inside = { text.data + len + 1, text.len - len - 2 };
    if (!firn_text_to_i64(inside, &width) || width < 1 || width > INT32_MAX)
        return false;
    *out = (int32_t)width;
    return true;
}

struct firn_transform firn_transform_parse(struct firn_arena *arena, struct firn_text text)
{
    struct firn_transform transform = { .id = FIRN_TRANSFORM_UNKNOWN, .text = firn_text_copy(arena, text) };
    for (size_t i = 0; i < FIRN_COUNT_OF(plain_names); i++)
        if (plain_names[i] && firn_text_same_nocase(text, firn_text_of(plain_names[i])))
            transform.id = (enum firn_transform_id)i;
    if (parse_width(text, "bucket", &transform.width))
        transform.id = FIRN_TRANSFORM_BUCKET;
    else if (parse_width(text, "truncate", &transform.width))
        transform.id = FIRN_TRANSFORM_TRUNCATE;
    return transform;
}

static bool is_timestamp(enum firn_type_id id)
{
    return id == FIRN_TYPE_TIMESTAMP || id == FIRN_TYPE_TIMESTAMPTZ || id == FIRN_TYPE_TIMESTAMP_NS ||
           id == FIRN_TYPE_TIMESTAMPTZ_NS;
}

static bool bucket_accepts(enum firn_type_id id)
{
    switch (id) {
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
    case FIRN_TYPE_DECIMAL:
    case FIRN_TYPE_DATE:
    case FIRN_TYPE_TIME:
    case FIRN_TYPE_STRING:
    case FIRN_TYPE_UUID:
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_BINARY:
        return true;
    default:
        return is_timestamp(id);
    }
}

static bool truncate_accepts(enum firn_type_id id)
{
    return id == FIRN_TYPE_INT || id == FIRN_TYPE_LONG || id == FIRN_TYPE_DECIMAL || id == FIRN_TYPE_STRING ||
           id == FIRN_TYPE_BINARY;
}

bool firn_transform_accepts(const struct firn_transform *transform, const struct firn_type *source)
{
    switch (transform->id) {
    case FIRN_TRANSFORM_IDENTITY:
        return firn_type_is_primitive(source->id) && source->id != FIRN_TYPE_GEOMETRY &&
               source->id != FIRN_TYPE_GEOGRAPHY;
    case FIRN_TRANSFORM_BUCKET:
        return bucket_accepts(source->id);
    case FIRN_TRANSFORM_TRUNCATE:
        return truncate_accepts(source->id);
    case FIRN_TRANSFORM_YEAR:
    case FIRN_TRANSFORM_MONTH:
    case FIRN_TRANSFORM_DAY:
        return firn_type_has_date(source->id);
    case FIRN_TRANSFORM_HOUR:
        return is_timestamp(source->id);
    case FIRN_TRANSFORM_VOID:
        return true;
    case FIRN_TRANSFORM_UNKNOWN:
        break;
    }
    return false;
}

struct firn_type firn_transform_result(const struct firn_transform *transform, const struct firn_type *source)
{
    switch (transform->id) {
    case FIRN_TRANSFORM_IDENTITY:
    case FIRN_TRANSFORM_TRUNCATE:
    case FIRN_TRANSFORM_VOID:
        return *source;
    case FIRN_TRANSFORM_DAY:
        return (struct firn_type){ .id = FIRN_TYPE_DATE };
    case FIRN_TRANSFORM_UNKNOWN:
        return (struct firn_type){ .id = FIRN_TYPE_STRING };
    default:
        return (struct firn_type){ .id = FIRN_TYPE_INT };
    }
}

static uint32_t rotate(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static uint32_t mix(uint32_t block)
{
    return rotate(block * 0xcc9e2d51u, 15) * 0x1b873593u;
}

uint32_t firn_murmur3_32(struct firn_bytes bytes)
{
    uint32_t hash = 0, tail = 0;
    size_t whole = bytes.len & ~(size_t)3;
    for (size_t at = 0; at < whole; at += 4)
        hash = rotate(hash ^ mix(firn_load_le32(bytes.data + at)), 13) * 5 + 0xe6546b64u;
    for (size_t at = bytes.len; at > whole; at--)
        tail = tail << 8 | bytes.data[at - 1];
    hash ^= mix(tail) ^ (uint32_t)bytes.len;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static int32_t hash_integer(int64_t value)
{
    uint8_t bytes[8];
    firn_store_le64(bytes, (uint64_t)value);
    return (int32_t)firn_murmur3_32((struct firn_bytes){ bytes, sizeof bytes });
}

int32_t firn_bucket_hash(const struct firn_type *type, const struct firn_value *value)
{
    uint8_t scratch[FIRN_VALUE_SCRATCH_BYTES];
    switch (type->id) {
    case FIRN_TYPE_TIMESTAMP_NS:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return hash_integer(firn_floor_div(value->integer, 1000));
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG:
    case FIRN_TYPE_DATE:
    case FIRN_TYPE_TIME:
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMPTZ:
        return hash_integer(value->integer);
    default:
        return (int32_t)firn_murmur3_32(firn_value_form(value, scratch));
    }
}

struct firn_bytes firn_first_code_points(struct firn_bytes text, int32_t count)
{
    size_t at = 0;
    while (at < text.len && count > 0) {
        at++;
        while (at < text.len && (text.data[at] & 0xc0) == 0x80)
            at++;
        count--;
    }
    return (struct firn_bytes){ text.data, at };
}

static void truncate_value(enum firn_type_id id, int32_t width, struct firn_value *value)
{
    uint64_t wrapped;
    firn_int128 left;
    switch (id) {
    case FIRN_TYPE_INT:
    case FIRN_TYPE_LONG: /* wraps at the type's minimum, as the reference does */
        wrapped = (uint64_t)value->integer - (uint64_t)firn_floor_mod(value->integer, width);
        value->integer = id == FIRN_TYPE_INT ? (int32_t)wrapped : (int64_t)wrapped;
        break;
    case FIRN_TYPE_DECIMAL:
        left = value->decimal % width;
        left += left < 0 ? width : 0;
        value->decimal = (firn_int128)((unsigned __int128)value->decimal - (unsigned __int128)left);
        break;
    case FIRN_TYPE_STRING:
        value->bytes = firn_first_code_points(value->bytes, width);
        break;
    default:
        value->bytes.len = FIRN_MIN(value->bytes.len, (size_t)width);
        break;
    }
}

static int64_t micros_of(const struct firn_type *source, const struct firn_value *value)
{
    bool nanos = source->id == FIRN_TYPE_TIMESTAMP_NS || source->id == FIRN_TYPE_TIMESTAMPTZ_NS;
    return nanos ? firn_floor_div(value->integer, 1000) : value->integer;
}

static int64_t time_units(enum firn_transform_id id, const struct firn_type *source, const struct firn_value *value)
{
    int64_t days = value->integer;
    if (source->id != FIRN_TYPE_DATE) {
        int64_t micros = micros_of(source, value);
        if (id == FIRN_TRANSFORM_HOUR)
            return firn_floor_div(micros, MICROS_PER_HOUR);
        days = firn_floor_div(micros, FIRN_MICROS_PER_DAY);
    }
    if (id == FIRN_TRANSFORM_DAY)
        return days;
    struct firn_civil civil = firn_civil_of_days(days);
    int64_t years = civil.year - 1970;
    return id == FIRN_TRANSFORM_YEAR ? years : years * 12 + civil.month - 1;
}

struct firn_value firn_transform_value(const struct firn_transform *transform, const struct firn_type *source,
                                       const struct firn_value *value)
{
    struct firn_value result = *value;
    result.type = firn_transform_result(transform, source).id;
    if (transform->id == FIRN_TRANSFORM_VOID)
        result.is_null = true;
    if (result.is_null)
        return result;
    switch (transform->id) {
    case FIRN_TRANSFORM_BUCKET:
        result.integer = (firn_bucket_hash(source, value) & INT32_MAX) % transform->width;
        break;
    case FIRN_TRANSFORM_TRUNCATE:
        truncate_value(source->id, transform->width, &result);
        break;
    case FIRN_TRANSFORM_IDENTITY:
        break;
    default:
        result.integer = time_units(transform->id, source, value);
        break;
    }
    return result;
}

firn_status firn_transform_apply(struct firn_op *op, const struct firn_transform *transform,
                                 const struct firn_type *source, const struct firn_value *value, struct firn_value *out)
{
    if (!firn_transform_accepts(transform, source))
        return firn_fail(op, FIRN_UNSUPPORTED, "transform %.*s of a column of type %s", FIRN_FMT(transform->text),
                         firn_type_name(source->id));
    *out = firn_transform_value(transform, source, value);
    return FIRN_OK;
}

static struct firn_text base64_text(struct firn_arena *arena, struct firn_bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t groups = bytes.len / 3 + (bytes.len % 3 != 0);
    char *text = firn_arena_alloc_array(arena, groups, 4);
    for (size_t i = 0; i < groups; i++) {
        size_t left = FIRN_MIN(bytes.len - 3 * i, 3u);
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < left ? bytes.data[3 * i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            text[4 * i + k] = k <= left ? digits[bits >> (18 - 6 * k) & 63] : '=';
    }
    return (struct firn_text){ text, 4 * groups };
}

static struct firn_text month_text(struct firn_arena *arena, int64_t months)
{
    return firn_text_format(arena, "%04" PRId64 "-%02" PRId64, 1970 + firn_floor_div(months, 12),
                            firn_floor_mod(months, 12) + 1);
}

static struct firn_text hour_text(struct firn_arena *arena, int64_t hours)
{
    struct firn_text date = firn_date_text(arena, firn_floor_div(hours, 24));
    return firn_text_format(arena, "%.*s-%02" PRId64, FIRN_FMT(date), firn_floor_mod(hours, 24));
}

/* As Java's LocalTime: seconds only where they are not zero, fractions in groups of three digits. */
static struct firn_text short_time_text(struct firn_arena *arena, int64_t micros_of_day)
{
    int64_t seconds = micros_of_day / FIRN_MICROS_PER_SECOND, fraction = micros_of_day % FIRN_MICROS_PER_SECOND;
    struct firn_text text = firn_text_format(arena, "%02d:%02d:%02d.%06d", (int)(seconds / 3600),
                                             (int)(seconds / 60 % 60), (int)(seconds % 60), (int)fraction);
    if (seconds % 60 == 0 && fraction == 0)
        return firn_text_until(text, 5);
    if (fraction == 0)
        return firn_text_until(text, 8);
    return firn_text_until(text, fraction % 1000 == 0 ? 12 : 15);
}

struct firn_text firn_transform_human(struct firn_arena *arena, const struct firn_transform *transform,
                                      const struct firn_type *result_type, const struct firn_value *value)
{
    if (value->is_null)
        return FIRN_TEXT("null");
    switch (transform->id) {
    case FIRN_TRANSFORM_YEAR:
        return firn_text_format(arena, "%04" PRId64, 1970 + value->integer);
    case FIRN_TRANSFORM_MONTH:
        return month_text(arena, value->integer);
    case FIRN_TRANSFORM_DAY:
        return firn_date_text(arena, value->integer);
    case FIRN_TRANSFORM_HOUR:
        return hour_text(arena, value->integer);
    default:
        break;
    }
    if (result_type->id == FIRN_TYPE_BINARY || result_type->id == FIRN_TYPE_FIXED)
        return base64_text(arena, value->bytes);
    if (result_type->id == FIRN_TYPE_TIME)
        return short_time_text(arena, firn_floor_mod(value->integer, FIRN_MICROS_PER_DAY));
    return firn_value_text(arena, result_type, value);
}
