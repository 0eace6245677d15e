/* Putting bytes before compressed ones, as literals in front: what follows refers to distances, which stay what they
 * were. RFC 8878, "Zstandard Frames"; the format description of Snappy. */
#include "base/cursor.h"
#include "base/math.h"
#include "format/codec/codec_internal.h"

/* Zstandard. */

enum {
    ZSTD_DESCRIPTOR_AT = 4, /* behind the magic */
    ZSTD_SINGLE_SEGMENT = 1 << 5,
    ZSTD_CHECKSUM = 1 << 2,
    ZSTD_UNUSED = 3 << 3 | 3, /* reserved, or for a dictionary that is elsewhere */
    ZSTD_SIZE_IS_LE32 = 2 << 6,
    ZSTD_CHECKSUM_BYTES = 4,
    ZSTD_BLOCK_HEADER_BYTES = 3,
    ZSTD_BLOCK_RLE = 1,
    ZSTD_LITERALS_MAX = 1 << 10, /* of a block: what the smallest window allows */
};
#define ZSTD_MAGIC UINT32_C(0xFD2FB528)

/* A frame cut up. */
struct frame {
    uint8_t descriptor;
    struct firn_bytes window; /* its byte, where the frame has one */
    bool has_size;            /* of its content */
    uint64_t size;
    struct firn_bytes blocks;
};

static void take_size(struct firn_cursor *in, bool is_single, struct frame *out)
{
    static const uint8_t widths[] = { 0, 2, 4, 8 };
    unsigned form = out->descriptor >> 6;
    out->has_size = form > 0 || is_single;
    out->size = firn_take_le(in, form == 0 && is_single ? 1 : widths[form]);
    if (form == 1)
        out->size += 256;
}

static struct firn_bytes take_blocks(struct firn_cursor *in)
{
    const uint8_t *start = in->at;
    bool is_last = false;
    while (!is_last && !in->failure) {
        uint64_t header = firn_take_le(in, ZSTD_BLOCK_HEADER_BYTES);
        uint64_t len = header >> 3;
        is_last = header & 1;
        (void)firn_take_bytes(in, (header >> 1 & 3) == ZSTD_BLOCK_RLE ? 1 : len);
    }
    return (struct firn_bytes){ start, (size_t)(in->at - start) };
}

/* Only a frame that is all there is, of `len` bytes if it says how many, is taken. */
static bool cut_frame(struct firn_bytes bytes, size_t len, struct frame *out)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    *out = (struct frame){ 0 };
    uint32_t magic = firn_take_le32(&in);
    out->descriptor = firn_take_u8(&in);
    bool is_single = out->descriptor & ZSTD_SINGLE_SEGMENT;
    if (!is_single)
        out->window = firn_take_bytes(&in, 1);
    take_size(&in, is_single, out);
    out->blocks = take_blocks(&in);
    if (out->descriptor & ZSTD_CHECKSUM)
        (void)firn_take_bytes(&in, ZSTD_CHECKSUM_BYTES);
    return !in.failure && firn_cursor_left(&in) == 0 && magic == ZSTD_MAGIC && !(out->descriptor & ZSTD_UNUSED) &&
           (!out->has_size || out->size == len);
}

/* The checksum is left out: pages have their own. */
static firn_status put_frame_header(struct firn_op *op, const struct frame *frame, uint64_t size,
                                    struct firn_buffer *out)
{
    uint8_t magic[sizeof(uint32_t)], le32[sizeof(uint32_t)];
    uint8_t descriptor = frame->descriptor & ZSTD_SINGLE_SEGMENT;
    if (frame->has_size)
        descriptor |= ZSTD_SIZE_IS_LE32;
    firn_store_le32(magic, ZSTD_MAGIC);
    firn_store_le32(le32, (uint32_t)size);
    FIRN_TRY(firn_buffer_append(op, out, magic, sizeof magic));
    FIRN_TRY(firn_buffer_append(op, out, &descriptor, 1));
    if (frame->window.len)
        FIRN_TRY(firn_buffer_append(op, out, frame->window.data, frame->window.len));
    return frame->has_size ? firn_buffer_append(op, out, le32, sizeof le32) : FIRN_OK;
}

static firn_status put_literals(struct firn_op *op, struct firn_bytes bytes, struct firn_buffer *out)
{
    for (size_t done = 0, len; done < bytes.len; done += len) {
        len = FIRN_MIN(bytes.len - done, ZSTD_LITERALS_MAX);
        uint8_t header[ZSTD_BLOCK_HEADER_BYTES] = { (uint8_t)(len << 3), (uint8_t)(len >> 5) };
        FIRN_TRY(firn_buffer_append(op, out, header, sizeof header));
        FIRN_TRY(firn_buffer_append(op, out, bytes.data + done, len));
    }
    return FIRN_OK;
}

static firn_status prepend_zstd(struct firn_op *op, struct firn_bytes prefix, struct firn_bytes in, size_t len,
                                struct firn_buffer *out, struct firn_bytes *rest, bool *done)
{
    struct frame frame;
    *done = cut_frame(in, len, &frame) && prefix.len + (uint64_t)len <= UINT32_MAX;
    if (!*done)
        return FIRN_OK;
    FIRN_TRY(put_frame_header(op, &frame, prefix.len + len, out));
    *rest = frame.blocks;
    return put_literals(op, prefix, out);
}

/* Snappy. */

enum { SNAPPY_LITERAL_LE32 = 63 << 2 }; /* a literal whose length, less one, follows in four bytes */

static firn_status prepend_snappy(struct firn_op *op, struct firn_bytes prefix, struct firn_bytes in, size_t len,
                                  struct firn_buffer *out, struct firn_bytes *rest, bool *done)
{
    struct firn_cursor from = firn_cursor_of(in);
    uint64_t recorded = firn_take_varint64(&from);
    uint8_t length[FIRN_VARINT_BYTES_MAX], literal[1 + sizeof(uint32_t)] = { SNAPPY_LITERAL_LE32 };
    *done = !from.failure && recorded == len && prefix.len + (uint64_t)len <= UINT32_MAX;
    if (!*done)
        return FIRN_OK;
    firn_store_le32(literal + 1, (uint32_t)(prefix.len - 1));
    FIRN_TRY(firn_buffer_append(op, out, length, (size_t)(firn_varint_put(length, prefix.len + len) - length)));
    FIRN_TRY(firn_buffer_append(op, out, literal, sizeof literal));
    *rest = (struct firn_bytes){ from.at, firn_cursor_left(&from) };
    return firn_buffer_append(op, out, prefix.data, prefix.len);
}

firn_status firn_codec_prepend(struct firn_op *op, enum firn_codec codec, struct firn_bytes prefix,
                               struct firn_bytes in, size_t len, struct firn_buffer *out, struct firn_bytes *rest,
                               bool *done)
{
    *done = true;
    *rest = in;
    if (prefix.len == 0)
        return FIRN_OK;
    switch (codec) {
    case FIRN_CODEC_NONE:
        return firn_buffer_append(op, out, prefix.data, prefix.len);
    case FIRN_CODEC_SNAPPY:
        return prepend_snappy(op, prefix, in, len, out, rest, done);
    case FIRN_CODEC_ZSTD:
        return prepend_zstd(op, prefix, in, len, out, rest, done);
    default:
        *done = false;
        return FIRN_OK;
    }
}
