/* LZ4 blocks bare (Parquet LZ4_RAW) and in Hadoop's framing (Parquet LZ4, deprecated).
 *
 * Under the older name files hold Hadoop's framing, a bare block, or an LZ4 frame, depending on the writer: the reader
 * takes what fits. parquet-format, "Compression", LZ4. */
#include "base/cursor.h"
#include "base/math.h"
#include "format/codec/codec_internal.h"

#include <limits.h>
#include <lz4.h>
#include <lz4frame.h>

#define HADOOP_PREFIX_BYTES 8 /* both lengths, big-endian: of the content, of the block */

static firn_status compress_block(struct firn_op *op, struct firn_bytes in, size_t prefix_bytes,
                                  struct firn_buffer *out, size_t *block_bytes)
{
    if (in.len > LZ4_MAX_INPUT_SIZE)
        return firn_fail(op, FIRN_LIMIT, "lz4 cannot compress %zu bytes", in.len);
    int capacity = LZ4_compressBound((int)in.len);
    size_t start = out->len;
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, prefix_bytes + (size_t)capacity, &at));
    int len = LZ4_compress_default((const char *)in.data, (char *)at + prefix_bytes, (int)in.len, capacity);
    if (len <= 0)
        return firn_fail(op, FIRN_SYSTEM, "lz4 cannot compress %zu bytes", in.len);
    out->len = start + prefix_bytes + (size_t)len;
    *block_bytes = (size_t)len;
    return FIRN_OK;
}

firn_status firn_lz4_raw_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                  struct firn_bytes in, struct firn_buffer *out)
{
    (void)states;
    (void)level;
    size_t block_bytes;
    return compress_block(op, in, 0, out, &block_bytes);
}

firn_status firn_lz4_hadoop_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                     struct firn_bytes in, struct firn_buffer *out)
{
    (void)states;
    (void)level;
    size_t start = out->len;
    size_t block_bytes;
    FIRN_TRY(compress_block(op, in, HADOOP_PREFIX_BYTES, out, &block_bytes));
    firn_store_be32(out->data + start, (uint32_t)in.len);
    firn_store_be32(out->data + start + 4, (uint32_t)block_bytes);
    return FIRN_OK;
}

static bool decompress_block(struct firn_bytes in, uint8_t *out, size_t capacity, size_t *len)
{
    if (in.len > INT_MAX || capacity > INT_MAX)
        return false;
    int got = LZ4_decompress_safe((const char *)in.data, (char *)out, (int)in.len, (int)capacity);
    *len = got < 0 ? 0 : (size_t)got;
    return got >= 0;
}

firn_status firn_lz4_raw_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                    uint8_t *out, size_t len)
{
    (void)states;
    size_t got;
    if (!decompress_block(in, out, len, &got))
        return firn_codec_fail_broken(op, "lz4", "a sequence does not fit");
    return got == len ? FIRN_OK : firn_codec_fail_length(op, "lz4", got, len);
}

/* Records of: length of the content, then blocks (length, bytes) until that much content came out. */
static bool decompress_hadoop(struct firn_bytes in, uint8_t *out, size_t len)
{
    struct firn_cursor from = firn_cursor_of(in);
    size_t filled = 0;
    while (firn_cursor_left(&from) > 0) {
        size_t record_end = filled + firn_take_be32(&from);
        if (record_end > len)
            return false;
        do {
            size_t got;
            struct firn_bytes block = firn_take_bytes(&from, firn_take_be32(&from));
            if (from.failure || !decompress_block(block, out + filled, record_end - filled, &got))
                return false;
            filled += got;
        } while (filled < record_end);
    }
    return !from.failure && filled == len;
}

static bool decompress_frame(struct firn_bytes in, uint8_t *out, size_t len)
{
    LZ4F_dctx *state;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&state, LZ4F_VERSION)))
        return false;
    size_t filled = 0;
    size_t more = 1;
    size_t moved = 1;
    while (more > 0 && moved > 0 && !LZ4F_isError(more)) {
        size_t out_len = len - filled;
        size_t in_len = in.len;
        more = LZ4F_decompress(state, out + filled, &out_len, in.data, &in_len, NULL);
        filled += out_len;
        in = (struct firn_bytes){ in.data + in_len, in.len - in_len };
        moved = out_len + in_len;
    }
    LZ4F_freeDecompressionContext(state);
    return more == 0 && filled == len;
}

firn_status firn_lz4_hadoop_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                       uint8_t *out, size_t len)
{
    static const uint8_t frame_magic[4] = { 0x04, 0x22, 0x4d, 0x18 };
    (void)states;
    size_t got;
    if (decompress_hadoop(in, out, len))
        return FIRN_OK;
    if (in.len >= sizeof frame_magic && memcmp(in.data, frame_magic, sizeof frame_magic) == 0 &&
        decompress_frame(in, out, len))
        return FIRN_OK;
    if (decompress_block(in, out, len, &got) && got == len)
        return FIRN_OK;
    return firn_codec_fail_broken(op, "lz4", "neither Hadoop blocks, nor a frame, nor a bare block");
}
