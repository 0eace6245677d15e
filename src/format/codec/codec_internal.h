/* What the codec table in codec.c needs from each codec's own file. */
#ifndef FIRN_FORMAT_CODEC_INTERNAL_H
#define FIRN_FORMAT_CODEC_INTERNAL_H

#include "format/codec/codec.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;
struct libdeflate_compressor;
struct libdeflate_decompressor;

/* What one call at a time works with; made by the codecs when they first need it. */
struct firn_codec_states {
    struct firn_codec_states *next; /* in the context's list of those not in use */
    struct ZSTD_CCtx_s *zstd_compressor;
    struct ZSTD_DCtx_s *zstd_decompressor;
    struct libdeflate_compressor *deflate_compressor;
    int32_t deflate_level; /* of the compressor above */
    struct libdeflate_decompressor *deflate_decompressor;
};

/* Appends to `out`. */
typedef firn_status firn_codec_compressor(struct firn_op *op, struct firn_codec_states *states, int32_t level,
                                          struct firn_bytes in, struct firn_buffer *out);
/* Fills exactly `len` bytes; `out` is never NULL. */
typedef firn_status firn_codec_decompressor(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                            uint8_t *out, size_t len);
/* Appends at most `size_max` bytes to `out`. */
typedef firn_status firn_codec_unsized(struct firn_op *op, struct firn_codec_states *states, struct firn_bytes in,
                                       size_t size_max, struct firn_buffer *out);

firn_codec_compressor firn_snappy_compress, firn_gzip_compress, firn_deflate_compress, firn_brotli_compress,
    firn_lz4_hadoop_compress, firn_lz4_raw_compress, firn_zstd_compress;
firn_codec_decompressor firn_snappy_decompress, firn_gzip_decompress, firn_deflate_decompress, firn_brotli_decompress,
    firn_lz4_hadoop_decompress, firn_lz4_raw_decompress, firn_zstd_decompress;
firn_codec_unsized firn_snappy_unsized, firn_gzip_unsized, firn_deflate_unsized, firn_zstd_unsized;

/* Whether data of the first frame can expand to `len` bytes, by what its header says. */
bool firn_snappy_length_plausible(struct firn_bytes in, size_t len);
bool firn_zstd_length_plausible(struct firn_bytes in, size_t len);

/* As firn_codec_compress_values. */
FIRN_CHECKED firn_status firn_zstd_compress_values(struct firn_op *op, struct firn_codec_states *states,
                                                   const struct firn_codec_values *values, struct firn_bytes in,
                                                   struct firn_buffer *out, bool *done);
/* Makes states->zstd_compressor when there is none yet. */
FIRN_CHECKED firn_status firn_zstd_compressor(struct firn_op *op, struct firn_codec_states *states);
/* A ZSTD_cParameter. */
struct firn_zstd_setting {
    int parameter, value;
};
/* Forgets all settings before, and makes these. Gives an error as zstd has them. */
size_t firn_zstd_set(struct ZSTD_CCtx_s *state, const struct firn_zstd_setting *settings, size_t count);

void firn_zstd_states_done(struct firn_codec_states *states);
void firn_deflate_states_done(struct firn_codec_states *states);

/* The errors all codecs share. */
firn_status firn_codec_fail_broken(struct firn_op *op, const char *codec, const char *why);
firn_status firn_codec_fail_length(struct firn_op *op, const char *codec, size_t len, size_t wanted);
firn_status firn_codec_fail_limit(struct firn_op *op, const char *codec, size_t size_max);
firn_status firn_codec_fail_memory(struct firn_op *op, const char *codec);

#endif
