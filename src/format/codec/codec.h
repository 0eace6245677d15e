/* Compression behind one table: what Parquet pages, Avro blocks and metadata files use.
 *
 * Decompression checks every size that the caller states; a codec never writes past it. */
#ifndef FIRN_FORMAT_CODEC_H
#define FIRN_FORMAT_CODEC_H

#include "base/buffer.h"

enum firn_codec {
    FIRN_CODEC_NONE,
    FIRN_CODEC_SNAPPY,
    FIRN_CODEC_GZIP, /* gzip members, several allowed; the reader also takes zlib and raw deflate */
    FIRN_CODEC_BROTLI,
    FIRN_CODEC_LZ4_HADOOP, /* Parquet codec LZ4: Hadoop framing; the reader also takes a raw block or an LZ4 frame */
    FIRN_CODEC_ZSTD,
    FIRN_CODEC_LZ4_RAW,
    FIRN_CODEC_DEFLATE, /* Avro: raw deflate without a header */
    FIRN_CODEC_COUNT
};

/* "none", "snappy", ... for people. */
const char *firn_codec_name(enum firn_codec codec);
/* Names of the write.parquet.compression-codec property: uncompressed (also none), snappy, gzip, zstd, lz4 or lz4_raw
 * (LZ4_RAW), brotli; any case. False for others. */
bool firn_codec_of_name(struct firn_text name, enum firn_codec *out);

/* Compressor and decompressor states, made when first used and kept for the next call. Threads may share a context: it
 * has as many states as calls were under way at once, so that columns by the thousand need few. */
struct firn_codec_context;
FIRN_CHECKED firn_status firn_codec_context_open(struct firn_op *op, struct firn_codec_context **out);
void firn_codec_context_close(struct firn_codec_context *context);

/* The level that stands for "the codec's own default". */
#define FIRN_CODEC_LEVEL_DEFAULT INT32_MIN
/* zstd, beside its levels: ways to search little where thorough searches find little. By their small tables they are
 * several times as fast as the default, and much larger where there is something to find. */
#define FIRN_CODEC_LEVEL_FEW_REPEATS   (INT32_MIN + 1) /* random digits, numbers whose upper bytes repeat */
#define FIRN_CODEC_LEVEL_SHORT_REPEATS (INT32_MIN + 2) /* numbers that are random but for two or three bytes */
#define FIRN_CODEC_LEVEL_RARE_REPEATS  (INT32_MIN + 3) /* random digits: many bytes are passed over */
#define FIRN_CODEC_LEVEL_NO_REPEATS    (INT32_MIN + 4) /* and most of them */

/* Appends the compressed form of `in` to `out`. Levels outside the codec's range are clamped; codecs without levels
 * ignore them. */
FIRN_CHECKED firn_status firn_codec_compress(struct firn_op *op, struct firn_codec_context *context,
                                             enum firn_codec codec, int32_t level, struct firn_bytes in,
                                             struct firn_buffer *out);
/* How values of one width are compressed by what they have in common with one before, at the same bytes. */
struct firn_codec_values {
    size_t width;        /* of a value in bytes; the last one ends where the input does */
    bool from_far;       /* not with the one before but one some values before, if 32 bytes are more: hardly slower to
                            compress, twice as fast to decompress, and larger where values grow */
    bool packs_literals; /* entropy coding for the other bytes, too */
};
/* As firn_codec_compress, by zstd, twice to five times as fast as by its default level. `*done` is false, and nothing
 * appended, where values have less than a byte in common or are less than 4 or more than 64 bytes wide. */
FIRN_CHECKED firn_status firn_codec_compress_values(struct firn_op *op, struct firn_codec_context *context,
                                                    const struct firn_codec_values *values, struct firn_bytes in,
                                                    struct firn_buffer *out, bool *done);
/* Decompresses `in` to exactly `len` bytes at `out`. Fails: CORRUPT when the data is broken or of another length. */
FIRN_CHECKED firn_status firn_codec_decompress(struct firn_op *op, struct firn_codec_context *context,
                                               enum firn_codec codec, struct firn_bytes in, uint8_t *out, size_t len);
/* False when `in` cannot expand to `len` bytes, by the codec's greatest ratio or its own header. To be asked before
 * memory is taken for a length that only a file announces; true proves nothing. */
bool firn_codec_length_plausible(enum firn_codec codec, struct firn_bytes in, size_t len);
/* The compressed form of `prefix` and then what `in` expands to, which is `len` bytes: `in` is not decompressed, and
 * `prefix` not compressed. Appends its beginning to `out`; `*rest` of it is a part of `in`. `*done` is false, and
 * nothing appended, where the codec or the form of `in` does not allow it; NONE, SNAPPY and ZSTD mostly do. */
FIRN_CHECKED firn_status firn_codec_prepend(struct firn_op *op, enum firn_codec codec, struct firn_bytes prefix,
                                            struct firn_bytes in, size_t len, struct firn_buffer *out,
                                            struct firn_bytes *rest, bool *done);
/* Decompresses a block whose length is not recorded (Avro deflate, snappy, zstd; gzip metadata files), appending to
 * `out`; at most `size_max` bytes, LIMIT beyond. Works for SNAPPY, GZIP, ZSTD, DEFLATE and NONE. */
FIRN_CHECKED firn_status firn_codec_decompress_unsized(struct firn_op *op, struct firn_codec_context *context,
                                                       enum firn_codec codec, struct firn_bytes in, size_t size_max,
                                                       struct firn_buffer *out);

#endif
