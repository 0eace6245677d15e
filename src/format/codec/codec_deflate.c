/* Deflate in its three wrappings: gzip (RFC 1952), zlib (RFC 1950) and none (RFC 1951). */
#include "base/math.h"
#include "format/codec/codec_internal.h"

#include <libdeflate.h>

#define LEVEL_DEFAULT 6
#define LEVEL_MAX     12

typedef enum libdeflate_result unwrap(struct libdeflate_decompressor *state, const void *in, size_t in_len, void *out,
                                      size_t out_len, size_t *in_used, size_t *out_used);

void firn_deflate_states_done(struct firn_codec_states *states)
{
    libdeflate_free_compressor(states->deflate_compressor);
    libdeflate_free_decompressor(states->deflate_decompressor);
}

static firn_status get_compressor(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                  struct libdeflate_compressor **out)
{
    int32_t clamped = level == FIRN_CODEC_LEVEL_DEFAULT ? LEVEL_DEFAULT : FIRN_MIN(FIRN_MAX(level, 0), LEVEL_MAX);
    if (states->deflate_compressor && states->deflate_level != clamped) {
        libdeflate_free_compressor(states->deflate_compressor);
        states->deflate_compressor = NULL;
    }
    if (!states->deflate_compressor)
        states->deflate_compressor = libdeflate_alloc_compressor(clamped);
    states->deflate_level = clamped;
    *out = states->deflate_compressor;
    return *out ? FIRN_OK : firn_codec_fail_memory(op, "deflate");
}

static firn_status get_decompressor(struct firn_op *op, struct firn_codec_states *states,
                                    struct libdeflate_decompressor **out)
{
    if (!states->deflate_decompressor)
        states->deflate_decompressor = libdeflate_alloc_decompressor();
    *out = states->deflate_decompressor;
    return *out ? FIRN_OK : firn_codec_fail_memory(op, "deflate");
}

firn_status firn_gzip_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                               struct firn_bytes in, struct firn_buffer *out)
{
    struct libdeflate_compressor *state;
    FIRN_TRY(get_compressor(op, states, level, &state));
    size_t capacity = libdeflate_gzip_compress_bound(state, in.len);
    size_t start = out->len;
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, capacity, &at));
    out->len = start + libdeflate_gzip_compress(state, in.data, in.len, at, capacity);
    return FIRN_OK;
}

firn_status firn_deflate_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                  struct firn_bytes in, struct firn_buffer *out)
{
    struct libdeflate_compressor *state;
    FIRN_TRY(get_compressor(op, states, level, &state));
    size_t capacity = libdeflate_deflate_compress_bound(state, in.len);
    size_t start = out->len;
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, capacity, &at));
    out->len = start + libdeflate_deflate_compress(state, in.data, in.len, at, capacity);
    return FIRN_OK;
}

/* Writers that say gzip have written zlib streams and bare deflate too. */
static unwrap *wrapping_of(struct firn_bytes in)
{
    if (in.len >= 2 && in.data[0] == 0x1f && in.data[1] == 0x8b)
        return libdeflate_gzip_decompress_ex;
    if (in.len >= 2 && (in.data[0] & 0x0f) == 8 && (in.data[0] << 8 | in.data[1]) % 31 == 0)
        return libdeflate_zlib_decompress_ex;
    return libdeflate_deflate_decompress_ex;
}

/* One stream after another until the input ends. */
static firn_status inflate_sized(struct firn_op *op, struct firn_codec_states *states, const char *name, unwrap *method,
                                 struct firn_bytes in, uint8_t *out, size_t len)
{
    struct libdeflate_decompressor *state;
    FIRN_TRY(get_decompressor(op, states, &state));
    size_t filled = 0;
    do {
        size_t in_used = 0;
        size_t out_used = 0;
        enum libdeflate_result result = method(state, in.data, in.len, out + filled, len - filled, &in_used, &out_used);
        if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
            return firn_codec_fail_broken(op, name, "it holds more than the announced length");
        if (result != LIBDEFLATE_SUCCESS)
            return firn_codec_fail_broken(op, name, "the stream does not decode");
        filled += out_used;
        in = (struct firn_bytes){ in.data + in_used, in.len - in_used };
    } while (in.len > 0);
    return filled == len ? FIRN_OK : firn_codec_fail_length(op, name, filled, len);
}

firn_status firn_gzip_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                 uint8_t *out, size_t len)
{
    return inflate_sized(op, states, "gzip", wrapping_of(in), in, out, len);
}

firn_status firn_deflate_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                    uint8_t *out, size_t len)
{
    return inflate_sized(op, states, "deflate", libdeflate_deflate_decompress_ex, in, out, len);
}

/* One stream of unknown length: a guess, doubled until the content fits. */
static firn_status inflate_growing(struct firn_op *op, struct libdeflate_decompressor *state, const char *name,
                                   unwrap *method, struct firn_bytes in, size_t size_max, struct firn_buffer *out,
                                   size_t *in_used)
{
    size_t start = out->len;
    size_t room = FIRN_MIN(FIRN_MAX(in.len * 5, 4096), size_max);
    for (;;) {
        uint8_t *at;
        size_t out_used;
        out->len = start;
        FIRN_TRY(firn_buffer_extend(op, out, room + 1, &at));
        enum libdeflate_result result = method(state, in.data, in.len, at, room, in_used, &out_used);
        if (result == LIBDEFLATE_SUCCESS) {
            out->len = start + out_used;
            return FIRN_OK;
        }
        if (result != LIBDEFLATE_INSUFFICIENT_SPACE)
            return firn_codec_fail_broken(op, name, "the stream does not decode");
        if (room == size_max)
            return firn_codec_fail_limit(op, name, size_max);
        room = room > size_max / 2 ? size_max : room * 2;
    }
}

static firn_status inflate_unsized(struct firn_op *op, struct firn_codec_states *states, const char *name,
                                   unwrap *method, struct firn_bytes in, size_t size_max, struct firn_buffer *out)
{
    struct libdeflate_decompressor *state;
    FIRN_TRY(get_decompressor(op, states, &state));
    size_t start = out->len;
    do {
        size_t in_used = 0;
        FIRN_TRY(inflate_growing(op, state, name, method, in, size_max - (out->len - start), out, &in_used));
        in = (struct firn_bytes){ in.data + in_used, in.len - in_used };
    } while (in.len > 0);
    return FIRN_OK;
}

firn_status firn_gzip_unsized(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                              size_t size_max, struct firn_buffer *out)
{
    return inflate_unsized(op, states, "gzip", wrapping_of(in), in, size_max, out);
}

/* One stream: writers exist that leave part of a zlib checksum behind it (PyIceberg). */
firn_status firn_deflate_unsized(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                 size_t size_max, struct firn_buffer *out)
{
    struct libdeflate_decompressor *state;
    size_t in_used;
    FIRN_TRY(get_decompressor(op, states, &state));
    return inflate_growing(op, state, "deflate", libdeflate_deflate_decompress_ex, in, size_max, out, &in_used);
}
