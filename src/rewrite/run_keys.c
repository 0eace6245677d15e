/* Keys of one length: whether they are packed (a byte), then all of them, or what they share and the numbers. Keys of
 * several lengths: these (uint32_t), then the keys. */
#include "rewrite/run_keys.h"

#include "base/math.h"
#include "format/parquet/unpack.h"
#include "rewrite/number_pack.h"

enum { NUMBER_BYTES = sizeof(uint64_t), LENGTH_BYTES = sizeof(uint32_t), AT_ONCE = 256 };
enum { ALL_OF_EACH, PACKED };

/* The last bytes of a key as a number. Its order is that of the keys. */
static int64_t number_of(const uint8_t *key, size_t width)
{
    return (int64_t)(firn_load_be64(key + width - NUMBER_BYTES) ^ UINT64_C(1) << 63);
}

static void set_number(uint8_t *key, size_t width, int64_t number)
{
    firn_store_be64(key + width - NUMBER_BYTES, (uint64_t)number ^ UINT64_C(1) << 63);
}

static firn_status put_numbers(struct firn_op *op, const struct firn_row_keys *keys, const uint32_t *rows,
                               uint32_t count, struct firn_buffer *out)
{
    const uint8_t *least = firn_row_key(keys, rows[0]).data, *most = firn_row_key(keys, rows[count - 1]).data;
    struct firn_number_range range = { number_of(least, keys->width), number_of(most, keys->width) };
    int64_t numbers[AT_ONCE];
    FIRN_TRY(firn_buffer_append(op, out, least, keys->width - NUMBER_BYTES));
    FIRN_TRY(firn_numbers_begin(op, &range, out));
    for (uint32_t first = 0, some; first < count; first += some) {
        some = FIRN_MIN(count - first, (uint32_t)AT_ONCE);
        for (uint32_t i = 0; i < some; i++)
            numbers[i] = number_of(firn_row_key(keys, rows[first + i]).data, keys->width);
        FIRN_TRY(firn_numbers_put_i64(op, &range, numbers, some, out));
    }
    return FIRN_OK;
}

/* Whether keys can be packed: what the first and the last share all share. */
static bool can_pack(const struct firn_row_keys *keys, uint32_t first, uint32_t last)
{
    return keys->width >= NUMBER_BYTES &&
           memcmp(firn_row_key(keys, first).data, firn_row_key(keys, last).data, keys->width - NUMBER_BYTES) == 0;
}

static firn_status put_fixed(struct firn_op *op, const struct firn_row_keys *keys, const uint32_t *rows, uint32_t count,
                             struct firn_buffer *out)
{
    uint8_t form = can_pack(keys, rows[0], rows[count - 1]) ? PACKED : ALL_OF_EACH, *to;
    FIRN_TRY(firn_buffer_append(op, out, &form, sizeof form));
    if (form == PACKED)
        return put_numbers(op, keys, rows, count, out);
    FIRN_TRY(firn_buffer_extend(op, out, count * keys->width, &to));
    firn_gather(keys->bytes, keys->width, rows, count, to);
    return FIRN_OK;
}

static firn_status put_several_lengths(struct firn_op *op, const struct firn_row_keys *keys, const uint32_t *rows,
                                       uint32_t count, struct firn_buffer *out)
{
    uint8_t *lengths;
    FIRN_TRY(firn_buffer_extend(op, out, (size_t)count * LENGTH_BYTES, &lengths));
    for (uint32_t i = 0; i < count; i++)
        firn_store_le32(lengths + i * LENGTH_BYTES, (uint32_t)firn_row_key(keys, rows[i]).len);
    for (uint32_t i = 0; i < count; i++) {
        struct firn_bytes key = firn_row_key(keys, rows[i]);
        FIRN_TRY(firn_buffer_append(op, out, key.data, key.len));
    }
    return FIRN_OK;
}

firn_status firn_run_keys_put(struct firn_op *op, const struct firn_row_keys *keys, const uint32_t *rows,
                              uint32_t count, struct firn_buffer *out)
{
    return keys->offsets ? put_several_lengths(op, keys, rows, count, out) : put_fixed(op, keys, rows, count, out);
}

static firn_status broken(struct firn_op *op)
{
    return firn_fail(op, FIRN_SYSTEM, "temporary keys are not what was written");
}

/* Repeats the first `len` bytes as often as there is room for them. */
static void repeat(uint8_t *bytes, size_t len, size_t room)
{
    for (size_t done = len, some; done < room; done += some) {
        some = FIRN_MIN(done, room - done);
        memcpy(bytes + done, bytes, some);
    }
}

static firn_status get_packed(struct firn_op *op, struct firn_bytes body, size_t width, uint32_t count,
                              struct firn_buffer *numbers, struct firn_buffer *out)
{
    size_t shared = width - NUMBER_BYTES;
    FIRN_TRY(firn_buffer_resize_array(op, out, count, width));
    FIRN_TRY(firn_buffer_resize_array(op, numbers, count, sizeof(int64_t)));
    memcpy(out->data, body.data, shared);
    repeat(out->data, width, out->len);
    body = (struct firn_bytes){ body.data + shared, body.len - shared };
    int64_t *each = (int64_t *)(void *)numbers->data;
    if (!firn_numbers_take_i64(&body, count, each))
        return broken(op);
    for (uint32_t i = 0; i < count; i++)
        set_number(out->data + i * width, width, each[i]);
    return FIRN_OK;
}

static firn_status get_fixed(struct firn_op *op, struct firn_bytes body, uint32_t count, struct firn_run_keys *memory,
                             struct firn_row_keys *out)
{
    struct firn_buffer numbers = { 0 };
    size_t width = out->width;
    if (body.len == 0 || count == 0)
        return broken(op);
    uint8_t form = body.data[0];
    body = (struct firn_bytes){ body.data + 1, body.len - 1 };
    out->bytes = body.data;
    if (form == ALL_OF_EACH)
        return body.len == count * width ? FIRN_OK : broken(op);
    if (width < NUMBER_BYTES || body.len < width - NUMBER_BYTES)
        return broken(op);
    firn_status status = get_packed(op, body, width, count, &numbers, &memory->bytes);
    out->bytes = memory->bytes.data;
    firn_buffer_done(&numbers);
    return status;
}

static firn_status get_several_lengths(struct firn_op *op, struct firn_bytes body, uint32_t count,
                                       struct firn_run_keys *memory, struct firn_row_keys *out)
{
    size_t lengths_bytes = (size_t)count * LENGTH_BYTES;
    FIRN_TRY(firn_buffer_resize_array(op, &memory->offsets, (size_t)count + 1, sizeof(uint64_t)));
    uint64_t *offsets = (uint64_t *)(void *)memory->offsets.data;
    if (body.len < lengths_bytes)
        return broken(op);
    offsets[0] = 0;
    for (uint32_t i = 0; i < count; i++)
        offsets[i + 1] = offsets[i] + firn_load_le32(body.data + i * LENGTH_BYTES);
    out->bytes = body.data + lengths_bytes;
    out->offsets = offsets;
    return offsets[count] == body.len - lengths_bytes ? FIRN_OK : broken(op);
}

firn_status firn_run_keys_get(struct firn_op *op, struct firn_bytes body, size_t width, uint32_t count,
                              struct firn_run_keys *memory, struct firn_row_keys *out)
{
    *out = (struct firn_row_keys){ .width = width, .count = count };
    return width > 0 ? get_fixed(op, body, count, memory, out) : get_several_lengths(op, body, count, memory, out);
}

void firn_run_keys_done(struct firn_run_keys *keys)
{
    firn_buffer_done(&keys->bytes);
    firn_buffer_done(&keys->offsets);
}
