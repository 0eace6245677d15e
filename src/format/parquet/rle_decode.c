/* The RLE / bit-packing hybrid. parquet-format, "Encodings", RLE. */
#include "format/parquet/rle_decode.h"

#include "base/cursor.h"
#include "base/math.h"
#include "format/parquet/unpack.h"

/* One run: `count` times `value`, or `count` values packed in `packed`. */
struct run {
    uint64_t count;
    uint32_t value;
    bool is_packed;
    struct firn_bytes packed; /* from its first value to the end of all data: unpacking is faster with room behind */
};

static uint32_t take_value(struct firn_cursor *in, unsigned width)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < width; shift += 8)
        value |= (uint32_t)firn_take_u8(in) << shift;
    return value;
}

/* `wanted` values are still to come; a longer run is cut to it. */
static struct run take_run(struct firn_cursor *in, unsigned width, size_t wanted)
{
    uint64_t header = firn_take_varint64(in);
    struct run run = { .is_packed = header & 1, .count = header >> 1 };
    if (!run.is_packed) {
        run.value = take_value(in, width);
        if (width < 32 && run.value >> width)
            firn_cursor_fail(in, "repeats a value wider than its bit width");
    } else {
        uint64_t groups = run.count;
        run.count = FIRN_MIN(groups, wanted / 8 + 1) * 8;
        /* The last run may be cut short where its padding would begin. */
        uint64_t packed_bytes = FIRN_MIN(groups > UINT32_MAX ? UINT64_MAX : groups * width, firn_cursor_left(in));
        run.packed = (struct firn_bytes){ in->at, firn_cursor_left(in) };
        firn_take_bytes(in, packed_bytes);
        if (firn_packed_bytes(FIRN_MIN(run.count, wanted), width) > packed_bytes)
            firn_cursor_fail(in, "ends within a packed run");
    }
    run.count = in->failure ? 0 : FIRN_MIN(run.count, wanted);
    return run;
}

firn_status firn_rle_decode_u8(struct firn_op *op, struct firn_bytes in, unsigned width, size_t count, uint8_t *out)
{
    struct firn_cursor from = firn_cursor_of(in);
    for (size_t done = 0; done < count && !from.failure;) {
        struct run run = take_run(&from, width, count - done);
        if (run.is_packed)
            firn_unpack_u8(run.packed, width, run.count, out + done);
        else
            memset(out + done, (int)run.value, run.count);
        done += run.count;
    }
    return firn_cursor_finish(op, &from, "run-length encoded data");
}

firn_status firn_rle_decode_u32(struct firn_op *op, struct firn_bytes in, unsigned width, size_t count, uint32_t *out)
{
    struct firn_cursor from = firn_cursor_of(in);
    for (size_t done = 0; done < count && !from.failure;) {
        struct run run = take_run(&from, width, count - done);
        if (run.is_packed) {
            firn_unpack_u32(run.packed, width, run.count, out + done);
        } else {
            for (size_t i = 0; i < run.count; i++)
                out[done + i] = run.value;
        }
        done += run.count;
    }
    return firn_cursor_finish(op, &from, "run-length encoded data");
}

bool firn_rle_is_constant(struct firn_bytes in, unsigned width, size_t count, uint32_t value)
{
    struct firn_cursor from = firn_cursor_of(in);
    struct run run = take_run(&from, width, count);
    return !from.failure && !run.is_packed && run.value == value && run.count == count;
}

static void count_packed(struct firn_bytes packed, unsigned width, size_t count, int64_t *histogram)
{
    enum { BLOCK = 256 }; /* a multiple of 8: blocks begin at a byte */
    uint8_t block[BLOCK];
    for (size_t done = 0; done < count;) {
        size_t now = FIRN_MIN(count - done, BLOCK), offset = done / 8 * width;
        firn_unpack_u8((struct firn_bytes){ packed.data + offset, packed.len - offset }, width, now, block);
        for (size_t i = 0; i < now; i++)
            histogram[block[i]]++;
        done += now;
    }
}

bool firn_rle_count(struct firn_bytes in, unsigned width, size_t count, int64_t *histogram)
{
    struct firn_cursor from = firn_cursor_of(in);
    for (size_t done = 0; done < count && !from.failure;) {
        struct run run = take_run(&from, width, count - done);
        if (run.is_packed)
            count_packed(run.packed, width, run.count, histogram);
        else
            histogram[run.value] += (int64_t)run.count;
        done += run.count;
    }
    return !from.failure;
}

bool firn_rle_begins_with(struct firn_bytes in, unsigned width, size_t count, uint8_t value)
{
    struct firn_cursor from = firn_cursor_of(in);
    struct run run = { 0 };
    while (run.count == 0 && !from.failure)
        run = take_run(&from, width, count);
    uint8_t first = (uint8_t)run.value;
    if (run.is_packed && run.count > 0)
        firn_unpack_u8(run.packed, width, 1, &first);
    return run.count > 0 && first == value;
}
