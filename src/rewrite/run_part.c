/* A vector's body: its values, or the lengths of texts, where they are integers packed; levels; the bytes of texts. */
#include "rewrite/run_part.h"

#include "base/math.h"
#include "rewrite/number_pack.h"

enum {
    SKIPS = 15,          /* after a part that did not shrink enough so many are not tried */
    PREFETCH_TEXTS = 24, /* texts lie far apart: memory is asked for them so many ahead */
    ROW_BYTES_MIN = 4,   /* where rows take no more there is little to be saved, although it would take as long */
    SHRINK_RATIO = 2     /* to less than one part in so many; less is not worth the time */
};

firn_status firn_run_part_begin(struct firn_op *op, struct firn_buffer *out, size_t *begin)
{
    uint8_t *at;
    *begin = out->len;
    return firn_buffer_extend(op, out, sizeof(struct firn_run_part), &at);
}

/* Puts the compressed form of a body at the end of `out` in its place. False: it is not small enough. */
static firn_status compress_body(struct firn_op *op, struct firn_codec_context *codec, size_t body_begin,
                                 struct firn_buffer *out, bool *pays)
{
    struct firn_buffer packed = { 0 };
    size_t body_bytes = out->len - body_begin;
    firn_status status = firn_codec_compress(op, codec, FIRN_CODEC_LZ4_RAW, FIRN_CODEC_LEVEL_DEFAULT,
                                             (struct firn_bytes){ out->data + body_begin, body_bytes }, &packed);
    *pays = status == FIRN_OK && packed.len < body_bytes / SHRINK_RATIO;
    if (*pays) {
        memcpy(out->data + body_begin, packed.data, packed.len);
        out->len = body_begin + packed.len;
    }
    firn_buffer_done(&packed);
    return status;
}

firn_status firn_run_part_end(struct firn_op *op, struct firn_run_part head, size_t begin,
                              struct firn_codec_context *codec, uint8_t *skips, struct firn_buffer *out)
{
    bool pays = false;
    head.body_bytes = out->len - begin - sizeof head;
    if (*skips > 0)
        --*skips;
    else if (head.body_bytes > (uint64_t)head.row_count * ROW_BYTES_MIN) {
        FIRN_TRY(compress_body(op, codec, begin + sizeof head, out, &pays));
        *skips = pays ? 0 : SKIPS;
    }
    head.is_compressed = pays;
    memcpy(out->data + begin, &head, sizeof head);
    return FIRN_OK;
}

static firn_status broken(struct firn_op *op)
{
    return firn_fail(op, FIRN_SYSTEM, "temporary data is not what was written");
}

firn_status firn_run_part_get(struct firn_op *op, struct firn_bytes bytes, struct firn_codec_context *codec,
                              struct firn_buffer *scratch, struct firn_run_part *head, struct firn_bytes *body)
{
    if (bytes.len < sizeof *head)
        return broken(op);
    memcpy(head, bytes.data, sizeof *head);
    struct firn_bytes stored = { bytes.data + sizeof *head, bytes.len - sizeof *head };
    if (!head->is_compressed && stored.len != head->body_bytes)
        return broken(op);
    *body = stored;
    if (!head->is_compressed)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_resize(op, scratch, (size_t)head->body_bytes));
    *body = firn_buffer_bytes(scratch);
    return firn_codec_decompress(op, codec, FIRN_CODEC_LZ4_RAW, stored, scratch->data, scratch->len);
}

void firn_run_values_done(struct firn_run_values *values)
{
    firn_buffer_done(&values->values);
    firn_buffer_done(&values->lengths);
}

static void copy_lengths(const struct firn_slice *texts, uint32_t count, int32_t *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = (int32_t)texts[i].len;
}

static firn_status put_lengths(struct firn_op *op, const struct firn_vector *vector, struct firn_buffer *out)
{
    enum { AT_ONCE = 256 };
    struct firn_number_range range = FIRN_NUMBER_RANGE_NONE;
    int32_t lengths[AT_ONCE];
    for (uint32_t first = 0, count; first < vector->value_count; first += count) {
        count = FIRN_MIN(vector->value_count - first, (uint32_t)AT_ONCE);
        copy_lengths(vector->values.slice + first, count, lengths);
        firn_number_range_add_i32(&range, lengths, count);
    }
    FIRN_TRY(firn_numbers_begin(op, &range, out));
    for (uint32_t first = 0, count; first < vector->value_count; first += count) {
        count = FIRN_MIN(vector->value_count - first, (uint32_t)AT_ONCE);
        copy_lengths(vector->values.slice + first, count, lengths);
        FIRN_TRY(firn_numbers_put_i32(op, &range, lengths, count, out));
    }
    return FIRN_OK;
}

static firn_status put_i32(struct firn_op *op, const struct firn_vector *vector, struct firn_buffer *out)
{
    struct firn_number_range range = FIRN_NUMBER_RANGE_NONE;
    firn_number_range_add_i32(&range, vector->values.int32, vector->value_count);
    FIRN_TRY(firn_numbers_begin(op, &range, out));
    return firn_numbers_put_i32(op, &range, vector->values.int32, vector->value_count, out);
}

static firn_status put_i64(struct firn_op *op, const struct firn_vector *vector, struct firn_buffer *out)
{
    struct firn_number_range range = FIRN_NUMBER_RANGE_NONE;
    firn_number_range_add_i64(&range, vector->values.int64, vector->value_count);
    FIRN_TRY(firn_numbers_begin(op, &range, out));
    return firn_numbers_put_i64(op, &range, vector->values.int64, vector->value_count, out);
}

/* What stands in front of the levels. */
static firn_status put_values(struct firn_op *op, const struct firn_vector *vector, struct firn_buffer *out)
{
    switch (vector->type) {
    case FIRN_PARQUET_BYTE_ARRAY:
        return put_lengths(op, vector, out);
    case FIRN_PARQUET_INT32:
        return put_i32(op, vector, out);
    case FIRN_PARQUET_INT64:
        return put_i64(op, vector, out);
    default:
        return firn_buffer_append(op, out, vector->values.any,
                                  vector->value_count * firn_value_width(vector->type, vector->type_length));
    }
}

static firn_status put_texts(struct firn_op *op, const struct firn_vector *vector, struct firn_buffer *out)
{
    const struct firn_slice *texts = vector->values.slice;
    size_t bytes = 0;
    uint8_t *at;
    for (uint32_t i = 0; i < vector->value_count; i++)
        bytes += texts[i].len;
    FIRN_TRY(firn_buffer_extend(op, out, bytes, &at));
    for (uint32_t i = 0; i < vector->value_count; i++) {
        if (i + PREFETCH_TEXTS < vector->value_count)
            __builtin_prefetch(texts[i + PREFETCH_TEXTS].data);
        if (texts[i].len > 0)
            memcpy(at, texts[i].data, texts[i].len);
        at += texts[i].len;
    }
    return FIRN_OK;
}

firn_status firn_run_vector_put(struct firn_op *op, const struct firn_vector *vector, struct firn_buffer *body,
                                struct firn_run_part *head)
{
    bool is_text = vector->type == FIRN_PARQUET_BYTE_ARRAY;
    *head = (struct firn_run_part){
        .row_count = vector->row_count,
        .slot_count = vector->slot_count,
        .value_count = vector->value_count,
        .has_rep = vector->rep != NULL,
        .has_def = vector->def != NULL,
        .held_bytes =
            vector->value_count * (is_text ? sizeof(uint32_t) : firn_value_width(vector->type, vector->type_length)),
    };
    FIRN_TRY(put_values(op, vector, body));
    size_t before = body->len;
    FIRN_TRY(firn_buffer_append(op, body, vector->rep, head->has_rep ? vector->slot_count : 0));
    FIRN_TRY(firn_buffer_append(op, body, vector->def, head->has_def ? vector->slot_count : 0));
    if (is_text)
        FIRN_TRY(put_texts(op, vector, body));
    head->held_bytes += body->len - before;
    return FIRN_OK;
}

/* Taking values back: what stands in front of the levels, of `body`, which then begins with these. */

static firn_status get_i32(struct firn_op *op, uint32_t count, struct firn_bytes *body, struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize_array(op, out, count, sizeof(int32_t)));
    return firn_numbers_take_i32(body, count, (int32_t *)(void *)out->data) ? FIRN_OK : broken(op);
}

static firn_status get_i64(struct firn_op *op, uint32_t count, struct firn_bytes *body, struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize_array(op, out, count, sizeof(int64_t)));
    return firn_numbers_take_i64(body, count, (int64_t *)(void *)out->data) ? FIRN_OK : broken(op);
}

static firn_status get_values(struct firn_op *op, struct firn_bytes *body, struct firn_run_values *scratch,
                              struct firn_vector *out)
{
    size_t bytes = out->value_count * firn_value_width(out->type, out->type_length);
    switch (out->type) {
    case FIRN_PARQUET_BYTE_ARRAY:
        return get_i32(op, out->value_count, body, &scratch->lengths);
    case FIRN_PARQUET_INT32:
        FIRN_TRY(get_i32(op, out->value_count, body, &scratch->values));
        out->values.any = scratch->values.data;
        return FIRN_OK;
    case FIRN_PARQUET_INT64:
        FIRN_TRY(get_i64(op, out->value_count, body, &scratch->values));
        out->values.any = scratch->values.data;
        return FIRN_OK;
    default:
        if (body->len < bytes)
            return broken(op);
        out->values.any = (void *)(uintptr_t)body->data;
        *body = (struct firn_bytes){ body->data + bytes, body->len - bytes };
        return FIRN_OK;
    }
}

static firn_status get_texts(struct firn_op *op, const int32_t *lengths, struct firn_bytes texts, uint32_t count,
                             struct firn_buffer *slices)
{
    FIRN_TRY(firn_buffer_resize_array(op, slices, count, sizeof(struct firn_slice)));
    struct firn_slice *to = (struct firn_slice *)(void *)slices->data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t len = (uint32_t)lengths[i];
        if (len > texts.len)
            return broken(op);
        to[i] = (struct firn_slice){ texts.data, len };
        texts = (struct firn_bytes){ texts.data + len, texts.len - len };
    }
    return FIRN_OK;
}

firn_status firn_run_vector_get(struct firn_op *op, const struct firn_parquet_node *leaf,
                                const struct firn_run_part *head, struct firn_bytes body,
                                struct firn_run_values *values, struct firn_vector *out)
{
    size_t rep_bytes = head->has_rep ? head->slot_count : 0, def_bytes = head->has_def ? head->slot_count : 0;
    *out = (struct firn_vector){
        .type = leaf->type,
        .type_length = leaf->type_length,
        .rep_max = leaf->rep_max,
        .def_max = leaf->def_max,
        .row_count = head->row_count,
        .slot_count = head->slot_count,
        .value_count = head->value_count,
    };
    FIRN_TRY(get_values(op, &body, values, out));
    if (body.len < rep_bytes + def_bytes)
        return broken(op);
    out->rep = head->has_rep ? body.data : NULL;
    out->def = head->has_def ? body.data + rep_bytes : NULL;
    if (leaf->type != FIRN_PARQUET_BYTE_ARRAY)
        return FIRN_OK;
    struct firn_bytes texts = { body.data + rep_bytes + def_bytes, body.len - rep_bytes - def_bytes };
    const int32_t *lengths = (const int32_t *)(const void *)values->lengths.data;
    FIRN_TRY(get_texts(op, lengths, texts, head->value_count, &values->values));
    out->values.any = values->values.data;
    return FIRN_OK;
}
