/* Snappy, the raw block format (no framing). */
#include "base/math.h"
#include "format/codec/codec_internal.h"

#include <snappy-c.h>

firn_status firn_snappy_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                 struct firn_bytes in, struct firn_buffer *out)
{
    (void)states;
    (void)level;
    size_t len = snappy_max_compressed_length(in.len);
    size_t start = out->len;
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, len, &at));
    if (snappy_compress((const char *)in.data, in.len, (char *)at, &len) != SNAPPY_OK)
        return firn_fail(op, FIRN_SYSTEM, "snappy cannot compress %zu bytes", in.len);
    out->len = start + len;
    return FIRN_OK;
}

/* The length is a number at the front of the data. */
static bool recorded_length(struct firn_bytes in, size_t *len)
{
    return snappy_uncompressed_length((const char *)in.data, in.len, len) == SNAPPY_OK;
}

bool firn_snappy_length_plausible(struct firn_bytes in, size_t len)
{
    size_t recorded;
    return recorded_length(in, &recorded) && recorded == len;
}

firn_status firn_snappy_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                   uint8_t *out, size_t len)
{
    (void)states;
    size_t recorded;
    if (!recorded_length(in, &recorded))
        return firn_codec_fail_broken(op, "snappy", "no length at its start");
    if (recorded != len)
        return firn_codec_fail_length(op, "snappy", recorded, len);
    if (snappy_uncompress((const char *)in.data, in.len, (char *)out, &len) != SNAPPY_OK)
        return firn_codec_fail_broken(op, "snappy", "an element does not fit");
    return FIRN_OK;
}

firn_status firn_snappy_unsized(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                size_t size_max, struct firn_buffer *out)
{
    size_t len;
    size_t start = out->len;
    uint8_t *at;
    if (!recorded_length(in, &len) || !firn_codec_length_plausible(FIRN_CODEC_SNAPPY, in, len))
        return firn_codec_fail_broken(op, "snappy", "no plausible length at its start");
    if (len > size_max)
        return firn_codec_fail_limit(op, "snappy", size_max);
    FIRN_TRY(firn_buffer_extend(op, out, len + 1, &at)); /* one more, so that an empty block has an address too */
    out->len = start + len;
    return firn_snappy_decompress(op, states, in, at, len);
}
