/* Brotli (RFC 7932), one stream a block. */
#include "base/math.h"
#include "format/codec/codec_internal.h"

#include <brotli/decode.h>
#include <brotli/encode.h>

#define QUALITY_DEFAULT 1 /* parquet-java's; the library's own 11 is two orders of magnitude slower */

firn_status firn_brotli_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                 struct firn_bytes in, struct firn_buffer *out)
{
    (void)states;
    int quality = level == FIRN_CODEC_LEVEL_DEFAULT ? QUALITY_DEFAULT : level;
    quality = FIRN_MIN(FIRN_MAX(quality, BROTLI_MIN_QUALITY), BROTLI_MAX_QUALITY);
    size_t len = BrotliEncoderMaxCompressedSize(in.len);
    size_t start = out->len;
    uint8_t *at;
    if (len == 0)
        return firn_fail(op, FIRN_LIMIT, "brotli cannot compress %zu bytes", in.len);
    FIRN_TRY(firn_buffer_extend(op, out, len, &at));
    if (!BrotliEncoderCompress(quality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, in.len, in.data, &len, at))
        return firn_fail(op, FIRN_SYSTEM, "brotli cannot compress %zu bytes", in.len);
    out->len = start + len;
    return FIRN_OK;
}

firn_status firn_brotli_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                   uint8_t *out, size_t len)
{
    (void)states;
    size_t got = len;
    BrotliDecoderResult result = BrotliDecoderDecompress(in.len, in.data, &got, out);
    if (result != BROTLI_DECODER_RESULT_SUCCESS)
        return firn_codec_fail_broken(op, "brotli", "the stream does not end within the announced length");
    return got == len ? FIRN_OK : firn_codec_fail_length(op, "brotli", got, len);
}
