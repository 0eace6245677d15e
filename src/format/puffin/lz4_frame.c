/* Single LZ4 frames. LZ4 frame format description; Puffin specification, "Compression codecs". */
#include "format/puffin/lz4_frame.h"

#include <lz4frame.h>

/* An LZ4 block expands at most this much: a frame that promises more lies. */
enum { EXPANSION_MAX = 255 };

static firn_status fail_broken(struct firn_op *op, const char *why)
{
    return firn_fail(op, FIRN_CORRUPT, "lz4 frame is broken: %s", why);
}

static firn_status content_size(struct firn_op *op, LZ4F_dctx *context, struct firn_bytes frame, uint64_t size_max,
                                size_t *header_bytes, size_t *out)
{
    LZ4F_frameInfo_t info = LZ4F_INIT_FRAMEINFO;
    *header_bytes = frame.len;
    size_t result = LZ4F_getFrameInfo(context, &info, frame.data, header_bytes);
    if (LZ4F_isError(result))
        return fail_broken(op, LZ4F_getErrorName(result));
    if (info.contentSize == 0)
        return fail_broken(op, "it does not state its content's size");
    if (info.contentSize > size_max)
        return firn_fail(op, FIRN_LIMIT, "lz4 frame holds %llu bytes, more than %" PRIu64,
                         (unsigned long long)info.contentSize, size_max);
    if (info.contentSize / EXPANSION_MAX > frame.len)
        return fail_broken(op, "so few bytes cannot hold the stated content");
    *out = (size_t)info.contentSize;
    return FIRN_OK;
}

static firn_status decode(struct firn_op *op, LZ4F_dctx *context, struct firn_bytes frame, uint64_t size_max,
                          struct firn_buffer *out)
{
    size_t header_bytes, size;
    uint8_t *at;
    FIRN_TRY(content_size(op, context, frame, size_max, &header_bytes, &size));
    FIRN_TRY(firn_buffer_extend(op, out, size, &at));
    size_t used = frame.len - header_bytes;
    size_t filled = size;
    size_t result = LZ4F_decompress(context, at, &filled, frame.data + header_bytes, &used, NULL);
    if (LZ4F_isError(result))
        return fail_broken(op, LZ4F_getErrorName(result));
    if (result != 0 || filled != size || header_bytes + used != frame.len)
        return fail_broken(op, "it does not end where its content does");
    return FIRN_OK;
}

firn_status firn_lz4_frame_decode(struct firn_op *op, struct firn_bytes frame, uint64_t size_max,
                                  struct firn_buffer *out)
{
    LZ4F_dctx *context;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return firn_fail(op, FIRN_LIMIT, "no memory for an lz4 decompressor");
    firn_status status = decode(op, context, frame, size_max, out);
    LZ4F_freeDecompressionContext(context);
    return status;
}

firn_status firn_lz4_frame_encode(struct firn_op *op, struct firn_bytes content, struct firn_buffer *out)
{
    LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
    preferences.frameInfo.contentSize = content.len;
    size_t start = out->len;
    size_t room = LZ4F_compressFrameBound(content.len, &preferences);
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, room, &at));
    size_t result = LZ4F_compressFrame(at, room, content.data, content.len, &preferences);
    if (LZ4F_isError(result))
        return firn_fail(op, FIRN_SYSTEM, "lz4 compression failed: %s", LZ4F_getErrorName(result));
    out->len = start + result;
    return FIRN_OK;
}
