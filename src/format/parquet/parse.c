/* What the parsers of Parquet's Thrift structures share: ends of parses, statistics, encodings. parquet.thrift. */
#include "format/parquet/parse_internal.h"

/* Enumerations have gained values one at a time: what lies further beyond the known ones is damage. */
enum { LATER_VALUES_MAX = 16 };

void firn_parse_unknown(struct firn_parse *parse, const char *what, int64_t value, int64_t known_count)
{
    if (parse->in.failure)
        return;
    parse->unknown = what;
    parse->unknown_value = value;
    parse->unknown_later = value >= known_count && value < known_count + LATER_VALUES_MAX;
    firn_cursor_fail(&parse->in, what);
}

firn_status firn_parse_finish(struct firn_op *op, const struct firn_parse *parse, const char *what)
{
    if (parse->unknown)
        return firn_fail(op, parse->unknown_later ? FIRN_UNSUPPORTED : FIRN_CORRUPT, "%s names the %s %" PRId64 ", %s",
                         what, parse->unknown, parse->unknown_value,
                         parse->unknown_later ? "which firn does not know" : "which the format does not have");
    return firn_cursor_finish(op, &parse->in, what);
}

enum firn_encoding firn_parse_encoding(struct firn_parse *parse, int32_t value)
{
    if (value < 0 || value >= FIRN_ENCODING_COUNT || value == 1) /* 1 was never used */
        firn_parse_unknown(parse, "encoding", value, FIRN_ENCODING_COUNT);
    return parse->in.failure ? FIRN_ENCODING_PLAIN : (enum firn_encoding)value;
}

void firn_parse_statistics(struct firn_parse *parse, struct firn_parquet_statistics *out)
{
    struct firn_cursor *in = &parse->in;
    struct firn_thrift_field field = { 0 };
    while (firn_thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            out->max_legacy = firn_thrift_binary(in, &field);
            break;
        case 2:
            out->min_legacy = firn_thrift_binary(in, &field);
            break;
        case 3:
            out->null_count = firn_thrift_i64(in, &field);
            out->has_null_count = true;
            break;
        case 4:
            out->distinct_count = firn_thrift_i64(in, &field);
            out->has_distinct_count = true;
            break;
        case 5:
            out->max_value = firn_thrift_binary(in, &field);
            break;
        case 6:
            out->min_value = firn_thrift_binary(in, &field);
            break;
        case 7:
            out->max_exact = firn_thrift_bool(in, &field);
            out->has_max_exact = true;
            break;
        case 8:
            out->min_exact = firn_thrift_bool(in, &field);
            out->has_min_exact = true;
            break;
        case 9:
            if (field.type == FIRN_THRIFT_I64) {
                out->nan_count = firn_thrift_i64(in, &field);
                out->has_nan_count = true;
            } else { /* used otherwise by some writers before it was defined */
                firn_thrift_skip(in, &field);
            }
            break;
        default:
            firn_thrift_skip(in, &field);
        }
    }
}

int64_t *firn_parse_i64_list(struct firn_parse *parse, const struct firn_thrift_field *field, uint32_t *count)
{
    *count = firn_thrift_list(&parse->in, field, FIRN_THRIFT_I64, 1);
    int64_t *items = FIRN_NEW_ARRAY(parse->arena, int64_t, *count);
    for (uint32_t i = 0; i < *count; i++)
        items[i] = firn_take_zigzag64(&parse->in);
    return items;
}
