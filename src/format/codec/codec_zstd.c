/* Zstandard (RFC 8878). */
#include "base/math.h"
#include "format/codec/codec_internal.h"

#define ZSTD_STATIC_LINKING_ONLY /* for the way that literals are compressed */
#include <zstd.h>

void firn_zstd_states_done(struct firn_codec_states *states)
{
    ZSTD_freeCCtx(states->zstd_compressor);
    ZSTD_freeDCtx(states->zstd_decompressor);
}

static firn_status get_decompressor(struct firn_op *op, struct firn_codec_states *states, ZSTD_DCtx **out)
{
    if (!states->zstd_decompressor)
        states->zstd_decompressor = ZSTD_createDCtx();
    *out = states->zstd_decompressor;
    return *out ? FIRN_OK : firn_codec_fail_memory(op, "zstd");
}

/* The searches that levels do not give. */
static const struct search {
    int32_t level;
    ZSTD_strategy strategy;
    int match_bytes_min, table_log, step;
} searches[] = {
    { FIRN_CODEC_LEVEL_FEW_REPEATS, ZSTD_fast, 5, 8, 0 },
    { FIRN_CODEC_LEVEL_SHORT_REPEATS, ZSTD_fast, 4, 14, 0 },
    { FIRN_CODEC_LEVEL_RARE_REPEATS, ZSTD_fast, 7, 6, 3 },
    { FIRN_CODEC_LEVEL_NO_REPEATS, ZSTD_fast, 7, 6, 8 },
};

static const struct search *find_search(int32_t level)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(searches); i++)
        if (searches[i].level == level)
            return &searches[i];
    return NULL;
}

size_t firn_zstd_set(ZSTD_CCtx *state, const struct firn_zstd_setting *settings, size_t count)
{
    size_t status = ZSTD_CCtx_reset(state, ZSTD_reset_session_and_parameters);
    for (size_t i = 0; i < count && !ZSTD_isError(status); i++)
        status = ZSTD_CCtx_setParameter(state, (ZSTD_cParameter)settings[i].parameter, settings[i].value);
    return status;
}

/* As ZSTD_compressCCtx, which knows levels alone. Where the search has steps, zstd would leave literals as they are. */
static size_t compress_by(ZSTD_CCtx *state, const struct search *search, uint8_t *out, size_t capacity,
                          struct firn_bytes in)
{
    const struct firn_zstd_setting settings[] = {
        { ZSTD_c_strategy, (int)search->strategy }, { ZSTD_c_minMatch, search->match_bytes_min },
        { ZSTD_c_hashLog, search->table_log },      { ZSTD_c_chainLog, search->table_log },
        { ZSTD_c_targetLength, search->step },      { ZSTD_c_literalCompressionMode, ZSTD_lcm_huffman },
    };
    size_t status = firn_zstd_set(state, settings, FIRN_COUNT_OF(settings));
    return ZSTD_isError(status) ? status : ZSTD_compress2(state, out, capacity, in.data, in.len);
}

firn_status firn_zstd_compressor(struct firn_op *op, struct firn_codec_states *states)
{
    if (!states->zstd_compressor)
        states->zstd_compressor = ZSTD_createCCtx();
    return states->zstd_compressor ? FIRN_OK : firn_codec_fail_memory(op, "zstd");
}

firn_status firn_zstd_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                               struct firn_bytes in, struct firn_buffer *out)
{
    FIRN_TRY(firn_zstd_compressor(op, states));
    int clamped = level == FIRN_CODEC_LEVEL_DEFAULT ? ZSTD_defaultCLevel() : level;
    clamped = FIRN_MIN(FIRN_MAX(clamped, ZSTD_minCLevel()), ZSTD_maxCLevel());
    size_t capacity = ZSTD_compressBound(in.len);
    size_t start = out->len;
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, capacity, &at));
    const struct search *search = find_search(level);
    size_t len = search ? compress_by(states->zstd_compressor, search, at, capacity, in)
                        : ZSTD_compressCCtx(states->zstd_compressor, at, capacity, in.data, in.len, clamped);
    if (ZSTD_isError(len))
        return firn_fail(op, FIRN_SYSTEM, "zstd cannot compress %zu bytes: %s", in.len, ZSTD_getErrorName(len));
    out->len = start + len;
    return FIRN_OK;
}

bool firn_zstd_length_plausible(struct firn_bytes in, size_t len)
{
    if (in.len == 0) /* no frame at all is no content */
        return len == 0;
    unsigned long long recorded = ZSTD_getFrameContentSize(in.data, in.len);
    return recorded == ZSTD_CONTENTSIZE_UNKNOWN || recorded <= len;
}

firn_status firn_zstd_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                 uint8_t *out, size_t len)
{
    ZSTD_DCtx *state;
    FIRN_TRY(get_decompressor(op, states, &state));
    size_t got = ZSTD_decompressDCtx(state, out, len, in.data, in.len);
    if (ZSTD_isError(got))
        return firn_codec_fail_broken(op, "zstd", ZSTD_getErrorName(got));
    return got == len ? FIRN_OK : firn_codec_fail_length(op, "zstd", got, len);
}

/* Takes one turn of the stream into at least `room` fresh bytes of `out`. */
static firn_status stream_once(struct firn_op *op, ZSTD_DCtx *state, ZSTD_inBuffer *from, size_t room,
                               struct firn_buffer *out, size_t *left)
{
    uint8_t *at;
    size_t start = out->len;
    FIRN_TRY(firn_buffer_extend(op, out, room, &at));
    ZSTD_outBuffer to = { .dst = at, .size = room };
    *left = ZSTD_decompressStream(state, &to, from);
    out->len = start + to.pos;
    if (ZSTD_isError(*left))
        return firn_codec_fail_broken(op, "zstd", ZSTD_getErrorName(*left));
    if (to.pos == 0 && from->pos == from->size && *left > 0)
        return firn_codec_fail_broken(op, "zstd", "it ends within a frame");
    return FIRN_OK;
}

firn_status firn_zstd_unsized(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                              size_t size_max, struct firn_buffer *out)
{
    ZSTD_DCtx *state;
    FIRN_TRY(get_decompressor(op, states, &state));
    ZSTD_DCtx_reset(state, ZSTD_reset_session_only);

    size_t start = out->len;
    unsigned long long recorded = ZSTD_getFrameContentSize(in.data, in.len);
    size_t room = recorded > 0 && recorded < size_max ? (size_t)recorded + 1 : ZSTD_DStreamOutSize();
    room = FIRN_MIN(room, FIRN_MAX(in.len * 64, ZSTD_DStreamOutSize())); /* a header may lie about its content */
    ZSTD_inBuffer from = { .src = in.data, .size = in.len };
    size_t left = in.len > 0 ? 1 : 0;
    while (left > 0 || from.pos < from.size) {
        FIRN_TRY(stream_once(op, state, &from, room, out, &left));
        if (out->len - start > size_max)
            return firn_codec_fail_limit(op, "zstd", size_max);
    }
    return FIRN_OK;
}
