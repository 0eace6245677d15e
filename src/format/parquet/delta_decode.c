/* The delta encodings. parquet-format, "Encodings": DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY. */
#include "format/parquet/delta_decode.h"

#include "base/math.h"
#include "format/parquet/reader.h"
#include "format/parquet/unpack.h"

#define MINIBLOCK_COUNT_MAX 512
#define STEP                64 /* values unpacked at a time */

/* Blocks of `miniblock_count` miniblocks of `miniblock_values` values. The first value stands in the header. */
struct delta {
    uint64_t miniblock_values;
    uint64_t miniblock_count;
    uint64_t value_count;
    uint64_t last;
};

static struct delta take_header(struct firn_cursor *in)
{
    struct delta delta = { 0 };
    uint64_t block_values = firn_take_varint64(in);
    delta.miniblock_count = firn_take_varint64(in);
    delta.value_count = firn_take_varint64(in);
    delta.last = (uint64_t)firn_take_zigzag64(in);
    if (in->failure)
        return delta;
    if (delta.miniblock_count == 0 || delta.miniblock_count > MINIBLOCK_COUNT_MAX || block_values > UINT32_MAX ||
        block_values / delta.miniblock_count == 0 || block_values % (delta.miniblock_count * 8) != 0)
        firn_cursor_fail(in, "has an impossible block size");
    else
        delta.miniblock_values = block_values / delta.miniblock_count;
    return delta;
}

/* Where decoded values go: one of the two. */
struct target {
    int32_t *int32;
    int64_t *int64;
};

static void sum_deltas(struct delta *delta, const uint64_t *deltas, size_t count, uint64_t min_delta, struct target out,
                       size_t at)
{
    if (out.int32)
        delta->last = firn_sum_deltas_i32(deltas, count, min_delta, delta->last, out.int32 + at);
    else
        delta->last = firn_sum_deltas_i64(deltas, count, min_delta, delta->last, out.int64 + at);
}

/* One miniblock, of which only `count` values exist. */
static void take_miniblock(struct firn_cursor *in, struct delta *delta, unsigned width, uint64_t min_delta,
                           size_t count, struct target out, size_t at)
{
    struct firn_bytes packed = { in->at, firn_cursor_left(in) }; /* unpacking is faster with room behind the values */
    uint64_t packed_bytes = FIRN_MIN(delta->miniblock_values / 8 * width, (uint64_t)packed.len);
    if (packed_bytes < firn_packed_bytes(count, width)) /* padding may be cut off, values may not */
        firn_cursor_fail(in, "ends within a block");
    firn_take_bytes(in, packed_bytes);
    for (size_t done = 0; done < count && !in->failure; done += STEP) {
        uint64_t deltas[STEP];
        size_t step = FIRN_MIN(count - done, STEP);
        size_t offset = done / 8 * width;
        firn_unpack_u64((struct firn_bytes){ packed.data + offset, packed.len - offset }, width, step, deltas);
        sum_deltas(delta, deltas, step, min_delta, out, at + done);
    }
}

/* One block; gives the number of values in it. Miniblocks behind the last value have a width but no body. */
static size_t take_block(struct firn_cursor *in, struct delta *delta, size_t left, struct target out, size_t at)
{
    uint64_t min_delta = (uint64_t)firn_take_zigzag64(in);
    struct firn_bytes widths = firn_take_bytes(in, delta->miniblock_count);
    size_t done = 0;
    for (size_t i = 0; i < delta->miniblock_count && done < left && !in->failure; i++) {
        size_t count = FIRN_MIN(left - done, delta->miniblock_values);
        if (widths.data[i] > 64)
            firn_cursor_fail(in, "has a bit width above 64");
        else
            take_miniblock(in, delta, widths.data[i], min_delta, count, out, at + done);
        done += count;
    }
    return done;
}

static firn_status decode_integers(struct firn_op *op, struct firn_cursor *in, uint32_t count, struct target out)
{
    struct delta delta = take_header(in);
    size_t done = 0;
    if (!in->failure && delta.value_count != count)
        firn_cursor_fail(in, "holds another number of values than announced");
    if (count > 0 && !in->failure) {
        if (out.int32)
            out.int32[0] = (int32_t)(uint32_t)delta.last;
        else
            out.int64[0] = (int64_t)delta.last;
        done = 1;
    }
    while (done < count && !in->failure)
        done += take_block(in, &delta, count - done, out, done);
    return firn_cursor_finish(op, in, "delta encoded data");
}

firn_status firn_delta_decode_i32(struct firn_op *op, struct firn_cursor *in, uint32_t count, int32_t *out)
{
    return decode_integers(op, in, count, (struct target){ .int32 = out });
}

firn_status firn_delta_decode_i64(struct firn_op *op, struct firn_cursor *in, uint32_t count, int64_t *out)
{
    return decode_integers(op, in, count, (struct target){ .int64 = out });
}

static bool fits_width(int64_t value, size_t width)
{
    return width == sizeof(int64_t) || (value >= INT32_MIN && value <= INT32_MAX);
}

/* Passes over a block of which `left` values exist. */
static bool is_strict_block(struct firn_cursor *in, const struct delta *delta, uint64_t left, size_t width)
{
    bool fits = fits_width(firn_take_zigzag64(in), width);
    struct firn_bytes widths = firn_take_bytes(in, delta->miniblock_count);
    for (size_t i = 0; !in->failure && i < delta->miniblock_count && i * delta->miniblock_values < left; i++) {
        fits = fits && widths.data[i] <= width * 8;
        firn_take_bytes(in, delta->miniblock_values / 8 * widths.data[i]);
    }
    return fits && !in->failure;
}

bool firn_delta_is_strict(struct firn_bytes in, size_t width)
{
    struct firn_cursor from = firn_cursor_of(in);
    struct delta delta = take_header(&from);
    uint64_t block_values = delta.miniblock_values * delta.miniblock_count;
    bool is_strict = !from.failure && delta.miniblock_values % 32 == 0 && block_values % 128 == 0 &&
                     fits_width((int64_t)delta.last, width);
    for (uint64_t done = 1; is_strict && done < delta.value_count; done += block_values)
        is_strict = is_strict_block(&from, &delta, delta.value_count - done, width);
    return is_strict;
}

static firn_status decode_length_list(struct firn_op *op, struct firn_cursor *in, uint32_t count,
                                      struct firn_buffer *lengths)
{
    FIRN_TRY(firn_buffer_resize(op, lengths, (size_t)count * sizeof(int32_t) + 1));
    return firn_delta_decode_i32(op, in, count, (int32_t *)(void *)lengths->data);
}

firn_status firn_delta_decode_lengths(struct firn_op *op, struct firn_bytes in, uint32_t count,
                                      struct firn_buffer *lengths, struct firn_slice *out)
{
    struct firn_cursor from = firn_cursor_of(in);
    FIRN_TRY(decode_length_list(op, &from, count, lengths));
    const int32_t *length = (const int32_t *)(const void *)lengths->data;
    for (uint32_t i = 0; i < count; i++) {
        if (length[i] < 0 || (size_t)length[i] > firn_cursor_left(&from))
            return firn_fail(op, FIRN_CORRUPT, "value %" PRIu32 " is %" PRId32 " bytes long, %zu are left", i,
                             length[i], firn_cursor_left(&from));
        out[i] = (struct firn_slice){ from.at, (uint32_t)length[i] };
        from.at += length[i];
    }
    return FIRN_OK;
}

/* The bytes that all values take, each prefix checked against the value before it. */
static firn_status measure_strings(struct firn_op *op, const int32_t *prefix, const int32_t *suffix, uint32_t count,
                                   size_t left, size_t *total)
{
    int64_t previous = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (prefix[i] < 0 || prefix[i] > previous || suffix[i] < 0 || (size_t)suffix[i] > left)
            return firn_fail(op, FIRN_CORRUPT,
                             "value %" PRIu32 " takes %" PRId32 " of %" PRId64 " bytes and adds %" PRId32 " of %zu", i,
                             prefix[i], previous, suffix[i], left);
        left -= (size_t)suffix[i];
        previous = (int64_t)prefix[i] + suffix[i];
        sum += previous;
        if (sum > FIRN_PAGE_BYTES_MAX)
            return firn_fail(op, FIRN_LIMIT, "the values of one page exceed %" PRId64 " bytes", FIRN_PAGE_BYTES_MAX);
    }
    *total = (size_t)sum;
    return FIRN_OK;
}

static void join_strings(const int32_t *prefix, const int32_t *suffix, uint32_t count, const uint8_t *suffixes,
                         uint8_t *content, struct firn_slice *out)
{
    const uint8_t *previous = content;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(content, previous, (size_t)prefix[i]);
        memcpy(content + prefix[i], suffixes, (size_t)suffix[i]);
        out[i] = (struct firn_slice){ content, (uint32_t)prefix[i] + (uint32_t)suffix[i] };
        previous = content;
        content += out[i].len;
        suffixes += suffix[i];
    }
}

firn_status firn_delta_decode_strings(struct firn_op *op, struct firn_bytes in, uint32_t count,
                                      struct firn_delta_strings *strings, struct firn_slice *out)
{
    struct firn_cursor from = firn_cursor_of(in);
    size_t total;
    FIRN_TRY(decode_length_list(op, &from, count, &strings->prefix_lengths));
    FIRN_TRY(decode_length_list(op, &from, count, &strings->suffix_lengths));
    const int32_t *prefix = (const int32_t *)(const void *)strings->prefix_lengths.data;
    const int32_t *suffix = (const int32_t *)(const void *)strings->suffix_lengths.data;
    FIRN_TRY(measure_strings(op, prefix, suffix, count, firn_cursor_left(&from), &total));
    FIRN_TRY(firn_buffer_resize(op, &strings->content, total + 1)); /* never NULL */
    join_strings(prefix, suffix, count, from.at, strings->content.data, out);
    return FIRN_OK;
}

void firn_delta_strings_done(struct firn_delta_strings *strings)
{
    firn_buffer_done(&strings->prefix_lengths);
    firn_buffer_done(&strings->suffix_lengths);
    firn_buffer_done(&strings->content);
}
