/* Decompression, and values that must come back. The first byte chooses the codec, the next two the announced length,
 * or the width of values. */
#include "fuzz.h"

#include "format/codec/codec.h"

#include <stdlib.h>

enum { CHOICE_BYTES = 3 };

static void pack_values(struct firn_op *op, struct firn_codec_context *context, const struct firn_codec_values *values,
                        struct firn_bytes in)
{
    struct firn_buffer packed = { 0 };
    uint8_t *out = malloc(in.len + 1);
    bool done = false;
    if (out && firn_codec_compress_values(op, context, values, in, &packed, &done) == FIRN_OK && done) {
        firn_status status =
            firn_codec_decompress(op, context, FIRN_CODEC_ZSTD, firn_buffer_bytes(&packed), out, in.len);
        if (status != FIRN_OK || memcmp(out, in.data, in.len) != 0)
            __builtin_trap();
    }
    firn_buffer_done(&packed);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_codec_context *context;
    if (len < CHOICE_BYTES)
        return 0;
    struct firn_op *op = fuzz_begin(&fuzz);
    enum firn_codec codec = (enum firn_codec)(data[0] % FIRN_CODEC_COUNT);
    struct firn_bytes in = { data + CHOICE_BYTES, len - CHOICE_BYTES };
    size_t out_len = data[1] | (size_t)data[2] << 8;
    uint8_t *out = malloc(out_len + 1);
    if (out && firn_codec_context_open(op, &context) == FIRN_OK) {
        struct firn_buffer unsized = { 0 };
        bool is_plausible = firn_codec_length_plausible(codec, in, out_len);
        firn_status status = firn_codec_decompress(op, context, codec, in, out, out_len);
        if (status == FIRN_OK && !is_plausible)
            __builtin_trap();
        FIRN_IGNORE(firn_codec_decompress_unsized(op, context, codec, in, 1 << 20, &unsized), "any outcome will do");
        firn_buffer_done(&unsized);
        pack_values(op, context, &(struct firn_codec_values){ data[1], data[2] & 1, data[2] & 2 }, in);
        firn_codec_context_close(context);
    }
    free(out);
    return fuzz_end(&fuzz);
}
