/* Runs of bytes, bits and integers. Numbers wrap as two's complement does, since a foreign file decides them. */
#include "format/orc/run_length.h"

#include "base/math.h"

enum { RUN_MIN = 3, RUN_V2_MAX = 512, SHORT_REPEAT_MIN = 3, PATCHES_MAX = 31 };

/* Bytes and bits ----------------------------------------------------------------------------------------------------
 */

/* The next run's length; `is_literal`: of values that all stand there, else of one. */
static uint64_t take_control(struct firn_cursor *in, bool *is_literal)
{
    uint8_t control = firn_take_u8(in);
    *is_literal = control >= 0x80;
    return *is_literal ? 0x100u - control : (uint64_t)control + RUN_MIN;
}

void firn_runs_take_bytes(struct firn_cursor *in, uint8_t *out, uint64_t count)
{
    uint64_t done = 0;
    while (done < count && !in->failure) {
        bool is_literal;
        uint64_t run = take_control(in, &is_literal);
        run = FIRN_MIN(run, count - done);
        if (is_literal) {
            struct firn_bytes bytes = firn_take_bytes(in, run);
            if (bytes.len == run)
                memcpy(out + done, bytes.data, run);
        } else {
            memset(out + done, firn_take_u8(in), run);
        }
        done += run;
    }
}

void firn_runs_take_bits(struct firn_cursor *in, uint8_t *out, uint64_t count)
{
    uint64_t done = 0;
    while (done < count && !in->failure) {
        bool is_literal;
        uint8_t byte = 0;
        uint64_t run = take_control(in, &is_literal);
        for (uint64_t i = 0; i < run && done < count; i++) {
            if (is_literal || i == 0)
                byte = firn_take_u8(in);
            for (int bit = 7; bit >= 0 && done < count; bit--)
                out[done++] = byte >> bit & 1;
        }
    }
}

/* Integers, version 1 -----------------------------------------------------------------------------------------------
 */

static int64_t take_integer(struct firn_cursor *in, bool is_signed)
{
    return is_signed ? firn_take_zigzag64(in) : (int64_t)firn_take_varint64(in);
}

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static uint64_t take_run_v1(struct firn_cursor *in, bool is_signed, int64_t *out, uint64_t room)
{
    bool is_literal;
    uint64_t run = take_control(in, &is_literal);
    run = FIRN_MIN(run, room);
    int8_t delta = is_literal ? 0 : (int8_t)firn_take_u8(in);
    for (uint64_t i = 0; i < run && !in->failure; i++)
        out[i] = is_literal || i == 0 ? take_integer(in, is_signed) : plus(out[i - 1], delta);
    return run;
}

/* Integers, version 2 -----------------------------------------------------------------------------------------------
 */

/* Bits that a code of five bits stands for. */
static const uint8_t widths[32] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                    17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64 };

static uint32_t closest_width(uint32_t bits)
{
    uint32_t code = 0;
    while (code < 31 && widths[code] < bits)
        code++;
    return widths[code];
}

/* `count` numbers of `width` bits, the highest first; what is left of the last byte is passed over. */
static void take_packed(struct firn_cursor *in, uint32_t width, uint64_t *out, uint32_t count)
{
    uint64_t bits = (uint64_t)width * count;
    struct firn_bytes bytes = firn_take_bytes(in, (bits + 7) / 8);
    uint64_t at = 0;
    if (in->failure)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (uint32_t left = width; left > 0;) {
            uint32_t offset = at % 8, taken = FIRN_MIN(8 - offset, left);
            value = value << taken | (uint64_t)(bytes.data[at / 8] >> (8 - offset - taken) & ((1u << taken) - 1));
            at += taken;
            left -= taken;
        }
        out[i] = value;
    }
}

static uint64_t take_big_endian(struct firn_cursor *in, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value = value << 8 | firn_take_u8(in);
    return value;
}

static uint32_t take_short_repeat(struct firn_cursor *in, uint8_t head, bool is_signed, int64_t *out)
{
    uint32_t count = (head & 7) + SHORT_REPEAT_MIN;
    uint64_t value = take_big_endian(in, (head >> 3 & 7) + 1);
    for (uint32_t i = 0; i < count; i++)
        out[i] = is_signed ? firn_zigzag_decode(value) : (int64_t)value;
    return count;
}

static uint32_t run_length_of(struct firn_cursor *in, uint8_t head)
{
    return ((uint32_t)(head & 1) << 8 | firn_take_u8(in)) + 1;
}

static uint32_t take_direct(struct firn_cursor *in, uint8_t head, bool is_signed, int64_t *out)
{
    uint64_t values[RUN_V2_MAX] = { 0 };
    uint32_t count = run_length_of(in, head);
    take_packed(in, widths[head >> 1 & 31], values, count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = is_signed ? firn_zigzag_decode(values[i]) : (int64_t)values[i];
    return count;
}

/* Numbers above a base, with the bits that few of them have beyond the others'. */
static uint32_t take_patched(struct firn_cursor *in, uint8_t head, int64_t *out)
{
    uint64_t values[RUN_V2_MAX] = { 0 }, patches[PATCHES_MAX] = { 0 };
    uint32_t count = run_length_of(in, head), width = widths[head >> 1 & 31];
    uint8_t third = firn_take_u8(in), fourth = firn_take_u8(in);
    uint32_t base_bytes = (uint32_t)(third >> 5) + 1, patch_width = widths[third & 31];
    uint32_t gap_width = (uint32_t)(fourth >> 5) + 1, patch_count = fourth & 31, place = 0;
    uint64_t base = take_big_endian(in, base_bytes), sign = UINT64_C(1) << (8 * base_bytes - 1);
    int64_t signed_base = base & sign ? (int64_t) - (base & ~sign) : (int64_t)base;
    if (gap_width + patch_width > 64 || width >= 64)
        firn_cursor_fail(in, "patches of more than 64 bits");
    take_packed(in, width, values, count);
    take_packed(in, closest_width(FIRN_MIN(gap_width + patch_width, 64u)), patches, patch_count);
    for (uint32_t i = 0; i < patch_count && !in->failure; i++) {
        uint64_t patch = patch_width < 64 ? patches[i] & ((UINT64_C(1) << patch_width) - 1) : patches[i];
        place += (uint32_t)(patch_width < 64 ? patches[i] >> patch_width & 255 : 0);
        if (place >= count)
            firn_cursor_fail(in, "a patch beyond its run");
        else
            values[place] |= patch << width;
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = plus(signed_base, (int64_t)values[i]);
    return count;
}

static uint32_t take_delta(struct firn_cursor *in, uint8_t head, bool is_signed, int64_t *out)
{
    uint64_t deltas[RUN_V2_MAX] = { 0 };
    uint32_t count = run_length_of(in, head), code = head >> 1 & 31;
    out[0] = take_integer(in, is_signed);
    int64_t delta = firn_take_zigzag64(in);
    if (code > 0 && count > 2)
        take_packed(in, widths[code], deltas, count - 2);
    for (uint32_t i = 1; i < count; i++) {
        uint64_t step = i == 1 || code == 0 ? (uint64_t)delta : delta < 0 ? -deltas[i - 2] : deltas[i - 2];
        out[i] = plus(out[i - 1], (int64_t)step);
    }
    return count;
}

static uint32_t take_run_v2(struct firn_cursor *in, bool is_signed, int64_t out[RUN_V2_MAX])
{
    uint8_t head = firn_take_u8(in);
    switch (head >> 6) {
    case 0:
        return take_short_repeat(in, head, is_signed, out);
    case 1:
        return take_direct(in, head, is_signed, out);
    case 2:
        return take_patched(in, head, out);
    default:
        return take_delta(in, head, is_signed, out);
    }
}

void firn_runs_take_integers(struct firn_cursor *in, enum firn_run_version version, bool is_signed, int64_t *out,
                             uint64_t count)
{
    uint64_t done = 0;
    while (done < count && !in->failure) {
        int64_t run[RUN_V2_MAX];
        if (version == FIRN_RUNS_V1) {
            done += take_run_v1(in, is_signed, out + done, count - done);
            continue;
        }
        uint64_t taken = take_run_v2(in, is_signed, run);
        taken = FIRN_MIN(taken, count - done);
        memcpy(out + done, run, taken * sizeof *run);
        done += taken;
    }
}
