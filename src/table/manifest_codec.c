/* Compression of manifests. Iceberg spec, "Appendix A: Avro". The levels are the reference's but for gzip, where its 9
 * takes three times as long as 6 for hardly a byte less. */
#include "table/manifest_codec.h"

#include "base/math.h"

firn_status firn_manifest_codec(struct firn_op *op, struct firn_text name, int32_t level,
                                struct firn_avro_writer_config *config)
{
    static const struct {
        const char *name;
        enum firn_codec codec;
        int32_t level;
    } codecs[] = {
        { "gzip", FIRN_CODEC_DEFLATE, 6 },
        { "zstd", FIRN_CODEC_ZSTD, 1 },
        { "snappy", FIRN_CODEC_SNAPPY, 0 },
        { "uncompressed", FIRN_CODEC_NONE, 0 },
    };
    if (name.len == 0)
        name = FIRN_TEXT("gzip");
    for (size_t i = 0; i < FIRN_COUNT_OF(codecs); i++) {
        if (!firn_text_same_nocase(name, firn_text_of(codecs[i].name)))
            continue;
        config->codec = codecs[i].codec;
        config->codec_level = level == FIRN_CODEC_LEVEL_DEFAULT ? codecs[i].level : level;
        return FIRN_OK;
    }
    return firn_fail(op, FIRN_USAGE,
                     "write.manifest.compression-codec is \"%.*s\", not one of gzip, zstd, snappy, uncompressed",
                     FIRN_FMT(name));
}
