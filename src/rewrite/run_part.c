/* A vector's body: its values, or the lengths of texts; levels; the bytes of texts. */
#include "rewrite/run_part.h"

#include "base/math.h"

enum {
    SKIPS = 15,          /* after a part that did not shrink enough so many are not tried */
    PREFETCH_TEXTS = 24, /* texts lie far apart: memory is asked for them so many ahead */
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
    else {
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

static firn_status put_lengths(struct firn_op *op, const struct firn_vector *vector, struct firn_buffer *out)
{
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, vector->value_count * sizeof(uint32_t), &at));
    for (uint32_t i = 0; i < vector->value_count; i++)
        firn_store_le32(at + i * sizeof(uint32_t), vector->values.slice[i].len);
    return FIRN_OK;
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
    };
    if (is_text)
        FIRN_TRY(put_lengths(op, vector, body));
    else
        FIRN_TRY(firn_buffer_append(op, body, vector->values.any,
                                    vector->value_count * firn_value_width(vector->type, vector->type_length)));
    FIRN_TRY(firn_buffer_append(op, body, vector->rep, head->has_rep ? vector->slot_count : 0));
    FIRN_TRY(firn_buffer_append(op, body, vector->def, head->has_def ? vector->slot_count : 0));
    return is_text ? put_texts(op, vector, body) : FIRN_OK;
}

static firn_status get_texts(struct firn_op *op, const uint8_t *lengths, struct firn_bytes texts, uint32_t count,
                             struct firn_buffer *slices)
{
    FIRN_TRY(firn_buffer_resize_array(op, slices, count, sizeof(struct firn_slice)));
    struct firn_slice *to = (struct firn_slice *)(void *)slices->data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t len = firn_load_le32(lengths + i * sizeof(uint32_t));
        if (len > texts.len)
            return broken(op);
        to[i] = (struct firn_slice){ texts.data, len };
        texts = (struct firn_bytes){ texts.data + len, texts.len - len };
    }
    return FIRN_OK;
}

firn_status firn_run_vector_get(struct firn_op *op, const struct firn_parquet_node *leaf,
                                const struct firn_run_part *head, struct firn_bytes body, struct firn_buffer *slices,
                                struct firn_vector *out)
{
    bool is_text = leaf->type == FIRN_PARQUET_BYTE_ARRAY;
    size_t width = is_text ? sizeof(uint32_t) : firn_value_width(leaf->type, leaf->type_length);
    size_t value_bytes = head->value_count * width;
    size_t rep_bytes = head->has_rep ? head->slot_count : 0, def_bytes = head->has_def ? head->slot_count : 0;
    if (body.len < value_bytes + rep_bytes + def_bytes)
        return broken(op);
    const uint8_t *levels = body.data + value_bytes, *texts = levels + rep_bytes + def_bytes;
    *out = (struct firn_vector){
        .type = leaf->type,
        .type_length = leaf->type_length,
        .rep_max = leaf->rep_max,
        .def_max = leaf->def_max,
        .row_count = head->row_count,
        .slot_count = head->slot_count,
        .value_count = head->value_count,
        .rep = head->has_rep ? levels : NULL,
        .def = head->has_def ? levels + rep_bytes : NULL,
        .values = { .any = (void *)(uintptr_t)body.data },
    };
    if (!is_text)
        return FIRN_OK;
    struct firn_bytes rest = { texts, (size_t)(body.data + body.len - texts) };
    FIRN_TRY(get_texts(op, body.data, rest, head->value_count, slices));
    out->values.any = slices->data;
    return FIRN_OK;
}
