/* The table of codecs: one row each, and the checks all of them share. parquet-format, "Compression". */
#include "format/codec/codec.h"

#include "base/math.h"
#include "format/codec/codec_internal.h"

#include <pthread.h>
#include <stdlib.h>

static firn_status none_compress(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                 struct firn_bytes in, struct firn_buffer *out)
{
    (void)states;
    (void)level;
    return firn_buffer_append(op, out, in.data, in.len);
}

static firn_status none_decompress(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                   uint8_t *out, size_t len)
{
    (void)states;
    if (in.len != len)
        return firn_codec_fail_length(op, "uncompressed", in.len, len);
    if (len > 0)
        memcpy(out, in.data, len);
    return FIRN_OK;
}

static firn_status none_unsized(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                size_t size_max, struct firn_buffer *out)
{
    (void)states;
    if (in.len > size_max)
        return firn_codec_fail_limit(op, "uncompressed", size_max);
    return firn_buffer_append(op, out, in.data, in.len);
}

struct codec {
    const char *name;
    const char *property; /* as write.parquet.compression-codec spells it; NULL: not offered for writing */
    firn_codec_compressor *compress;
    firn_codec_decompressor *decompress;
    firn_codec_unsized *decompress_unsized; /* NULL: only blocks of recorded length */
    size_t ratio_max;                       /* no input expands further than this; 0: no such bound */
};

/* ratio_max: a snappy copy makes 64 bytes of 3, an LZ4 length byte counts up to 255, deflate makes 258 of 2 bits. */
static const struct codec codecs[] = {
    [FIRN_CODEC_NONE] = { "none", "uncompressed", none_compress, none_decompress, none_unsized, 1 },
    [FIRN_CODEC_SNAPPY] = { "snappy", "snappy", firn_snappy_compress, firn_snappy_decompress, firn_snappy_unsized, 22 },
    [FIRN_CODEC_GZIP] = { "gzip", "gzip", firn_gzip_compress, firn_gzip_decompress, firn_gzip_unsized, 1040 },
    [FIRN_CODEC_BROTLI] = { "brotli", "brotli", firn_brotli_compress, firn_brotli_decompress, NULL, 0 },
    [FIRN_CODEC_LZ4_HADOOP] = { "lz4_hadoop", NULL, firn_lz4_hadoop_compress, firn_lz4_hadoop_decompress, NULL, 255 },
    [FIRN_CODEC_ZSTD] = { "zstd", "zstd", firn_zstd_compress, firn_zstd_decompress, firn_zstd_unsized, 0 },
    [FIRN_CODEC_LZ4_RAW] = { "lz4_raw", "lz4", firn_lz4_raw_compress, firn_lz4_raw_decompress, NULL, 255 },
    [FIRN_CODEC_DEFLATE] = { "deflate", NULL, firn_deflate_compress, firn_deflate_decompress, firn_deflate_unsized,
                             1040 },
};
_Static_assert(FIRN_COUNT_OF(codecs) == FIRN_CODEC_COUNT, "one row per codec");

const char *firn_codec_name(enum firn_codec codec)
{
    return (unsigned)codec < FIRN_CODEC_COUNT ? codecs[codec].name : "unknown";
}

bool firn_codec_of_name(struct firn_text name, enum firn_codec *out)
{
    for (unsigned i = 0; i < FIRN_CODEC_COUNT; i++) {
        const char *property = codecs[i].property;
        if (property && (firn_text_same_nocase(name, firn_text_of(property)) ||
                         firn_text_same_nocase(name, firn_text_of(codecs[i].name)))) {
            *out = (enum firn_codec)i;
            return true;
        }
    }
    return false;
}

struct firn_codec_context {
    pthread_mutex_t lock;
    struct firn_codec_states *unused;
};

firn_status firn_codec_context_open(struct firn_op *op, struct firn_codec_context **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return firn_codec_fail_memory(op, "codec");
    pthread_mutex_init(&(*out)->lock, NULL);
    return FIRN_OK;
}

void firn_codec_context_close(struct firn_codec_context *context)
{
    if (!context)
        return;
    while (context->unused) {
        struct firn_codec_states *states = context->unused;
        context->unused = states->next;
        firn_zstd_states_done(states);
        firn_deflate_states_done(states);
        free(states);
    }
    pthread_mutex_destroy(&context->lock);
    free(context);
}

/* The states that were given back last, which the caches may still hold, or new ones. */
static firn_status take_states(struct firn_op *op, struct firn_codec_context *context, struct firn_codec_states **out)
{
    pthread_mutex_lock(&context->lock);
    *out = context->unused;
    if (*out)
        context->unused = (*out)->next;
    pthread_mutex_unlock(&context->lock);
    if (!*out)
        *out = calloc(1, sizeof **out);
    return *out ? FIRN_OK : firn_codec_fail_memory(op, "codec");
}

static void give_states(struct firn_codec_context *context, struct firn_codec_states *states)
{
    pthread_mutex_lock(&context->lock);
    states->next = context->unused;
    context->unused = states;
    pthread_mutex_unlock(&context->lock);
}

bool firn_codec_length_plausible(enum firn_codec codec, struct firn_bytes in, size_t len)
{
    size_t ratio_max = codecs[codec].ratio_max;
    if (ratio_max > 0 && len / ratio_max > in.len)
        return false;
    if (codec == FIRN_CODEC_SNAPPY)
        return firn_snappy_length_plausible(in, len);
    if (codec == FIRN_CODEC_ZSTD)
        return firn_zstd_length_plausible(in, len);
    return true;
}

firn_status firn_codec_compress(struct firn_op *op, struct firn_codec_context *context, enum firn_codec codec,
                                int32_t level, struct firn_bytes in, struct firn_buffer *out)
{
    struct firn_codec_states *states;
    FIRN_TRY(take_states(op, context, &states));
    firn_status status = codecs[codec].compress(op, states, level, in, out);
    give_states(context, states);
    return status;
}

firn_status firn_codec_compress_values(struct firn_op *op, struct firn_codec_context *context,
                                       const struct firn_codec_values *values, struct firn_bytes in,
                                       struct firn_buffer *out, bool *done)
{
    struct firn_codec_states *states;
    FIRN_TRY(take_states(op, context, &states));
    firn_status status = firn_zstd_compress_values(op, states, values, in, out, done);
    give_states(context, states);
    return status;
}

firn_status firn_codec_decompress(struct firn_op *op, struct firn_codec_context *context, enum firn_codec codec,
                                  struct firn_bytes in, uint8_t *out, size_t len)
{
    uint8_t nothing[1];
    struct firn_codec_states *states;
    FIRN_TRY(take_states(op, context, &states));
    firn_status status = codecs[codec].decompress(op, states, in, out ? out : nothing, len);
    give_states(context, states);
    return status;
}

firn_status firn_codec_decompress_unsized(struct firn_op *op, struct firn_codec_context *context, enum firn_codec codec,
                                          struct firn_bytes in, size_t size_max, struct firn_buffer *out)
{
    struct firn_codec_states *states;
    if (!codecs[codec].decompress_unsized)
        return firn_fail(op, FIRN_UNSUPPORTED, "%s data without a recorded length", firn_codec_name(codec));
    FIRN_TRY(take_states(op, context, &states));
    firn_status status = codecs[codec].decompress_unsized(op, states, in, size_max, out);
    give_states(context, states);
    return status;
}

firn_status firn_codec_fail_broken(struct firn_op *op, const char *codec, const char *why)
{
    return firn_fail(op, FIRN_CORRUPT, "%s data is broken: %s", codec, why);
}

firn_status firn_codec_fail_length(struct firn_op *op, const char *codec, size_t len, size_t wanted)
{
    return firn_fail(op, FIRN_CORRUPT, "%s data holds %zu bytes where %zu were announced", codec, len, wanted);
}

firn_status firn_codec_fail_limit(struct firn_op *op, const char *codec, size_t size_max)
{
    return firn_fail(op, FIRN_LIMIT, "%s data expands past the limit of %zu bytes", codec, size_max);
}

firn_status firn_codec_fail_memory(struct firn_op *op, const char *codec)
{
    return firn_fail(op, FIRN_LIMIT, "the system has no memory for a %s state", codec);
}
