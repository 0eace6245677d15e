/* Filling sort keys. A column of fixed width writes its images into the keys as its vectors come; a column of text
 * collects its own, and finishing joins them. */
#include "base/math.h"
#include "rewrite/hilbert.h"
#include "rewrite/interleave.h"
#include "rewrite/sort_column.h"

#include <assert.h>

enum {
    TEXT_END = 0,   /* behind a text; in it, ... */
    TEXT_ESCAPE = 1 /* ... bytes up to this one become this one and themselves plus 1 */
};

/* What one column is worked with. */
struct firn_sort_part {
    struct firn_buffer images; /* of the vector's values, or of the dictionary's */
    uint64_t dictionary_id;    /* whose images they are; 0: nobody's */
    const void *dictionary_values;
    struct firn_buffer text, ends; /* keys of the rows so far, and a uint64_t each */
};

/* Where a column of fixed width goes. */
struct place {
    uint8_t *at;
    size_t stride;
};

void firn_sort_batch_init(struct firn_op *op, const struct firn_sort_key *key, struct firn_sort_batch *out)
{
    *out = (struct firn_sort_batch){
        .key = key,
        .parts = FIRN_NEW_ARRAY(op->arena, struct firn_sort_part, key->column_count),
    };
}

firn_status firn_sort_batch_begin(struct firn_op *op, struct firn_sort_batch *batch, uint32_t row_count)
{
    const struct firn_sort_key *key = batch->key;
    batch->row_count = row_count;
    for (uint32_t i = 0; i < key->column_count; i++) {
        firn_buffer_clear(&batch->parts[i].text);
        firn_buffer_clear(&batch->parts[i].ends);
    }
    if (key->key_bytes > 0)
        FIRN_TRY(firn_buffer_resize(op, &batch->bytes, (size_t)row_count * key->key_bytes));
    if (key->column_count == 0)
        memset(batch->bytes.data, 0, batch->bytes.len);
    if (key->key_bytes > 0 && !key->interleave)
        return FIRN_OK;
    return firn_buffer_resize(op, &batch->fixed, (size_t)row_count * key->fixed_bytes);
}

static struct place place_of(const struct firn_sort_batch *batch, const struct firn_sort_column *column, uint32_t row)
{
    const struct firn_sort_key *key = batch->key;
    if (key->key_bytes > 0 && !key->interleave)
        return (struct place){
            .at = batch->bytes.data + (size_t)row * key->key_bytes + key->prefix_bytes + column->offset,
            .stride = key->key_bytes,
        };
    return (struct place){
        .at = batch->fixed.data + (size_t)row * key->fixed_bytes + column->offset,
        .stride = key->fixed_bytes,
    };
}

static bool is_null(const struct firn_vector *vector, uint32_t slot)
{
    return vector->def && vector->def[slot] != vector->def_max;
}

/* Columns of fixed width. */

/* Images of what the vector's values, or indices, refer to. */
static firn_status make_images(struct firn_op *op, struct firn_sort_part *part, const struct firn_sort_image *image,
                               const struct firn_vector *vector)
{
    const struct firn_dictionary *dictionary = vector->indices ? vector->dictionary : NULL;
    union firn_values values = dictionary ? dictionary->values : vector->values;
    size_t count = dictionary ? dictionary->count : vector->value_count;
    if (dictionary && dictionary->id != 0 && dictionary->id == part->dictionary_id &&
        dictionary->values.any == part->dictionary_values)
        return FIRN_OK;
    part->dictionary_id = dictionary ? dictionary->id : 0;
    part->dictionary_values = values.any;
    bool words = image->form == FIRN_IMAGE_WORD;
    FIRN_TRY(firn_buffer_resize(op, &part->images, count * (words ? sizeof(uint64_t) : image->width)));
    if (count == 0)
        return FIRN_OK;
    if (words)
        firn_sort_image_words(image, values, count, (uint64_t *)(void *)part->images.data);
    else
        image->bytes(image, values, count, part->images.data);
    return FIRN_OK;
}

static void put_null(const struct firn_sort_column *column, uint8_t *at)
{
    if (column->marked)
        *at++ = column->null_marker;
    memset(at, 0, column->image.width);
}

static void put_word(uint8_t *at, uint32_t width, uint64_t word)
{
    if (width == 8) {
        firn_store_be64(at, word);
    } else if (width == 4) {
        firn_store_be32(at, (uint32_t)word);
    } else {
        for (uint32_t i = width; i-- > 0; word >>= 8)
            at[i] = (uint8_t)word;
    }
}

static void spread_words(const struct firn_sort_column *column, const struct firn_sort_part *part,
                         const struct firn_vector *vector, struct place place)
{
    const uint64_t *words = (const uint64_t *)(const void *)part->images.data;
    uint64_t flip = column->flip ? UINT64_MAX : 0;
    uint32_t value = 0;
    for (uint32_t i = 0; i < vector->slot_count; i++, place.at += place.stride) {
        if (is_null(vector, i)) {
            put_null(column, place.at);
            continue;
        }
        uint64_t word = words[vector->indices ? vector->indices[value] : value] ^ flip;
        value++;
        if (column->marked)
            *place.at = column->value_marker;
        put_word(place.at + column->marked, column->image.width, word);
    }
}

static void spread_bytes(const struct firn_sort_column *column, const struct firn_sort_part *part,
                         const struct firn_vector *vector, struct place place)
{
    uint32_t width = column->image.width, value = 0;
    for (uint32_t i = 0; i < vector->slot_count; i++, place.at += place.stride) {
        if (is_null(vector, i)) {
            put_null(column, place.at);
            continue;
        }
        size_t index = vector->indices ? vector->indices[value] : value;
        const uint8_t *from = part->images.data + index * width;
        uint8_t *at = place.at + column->marked;
        value++;
        if (column->marked)
            *place.at = column->value_marker;
        for (uint32_t k = 0; k < width; k++)
            at[k] = from[k] ^ column->flip;
    }
}

/* Columns of text. */

static bool needs_escape(struct firn_bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] <= TEXT_ESCAPE)
            return true;
    return false;
}

/* Gives where it ends; takes at most twice the text and the end mark. */
static uint8_t *put_text(uint8_t *at, struct firn_bytes text)
{
    if (!needs_escape(text)) {
        if (text.len > 0)
            memcpy(at, text.data, text.len);
        at += text.len;
    } else {
        for (size_t i = 0; i < text.len; i++) {
            if (text.data[i] <= TEXT_ESCAPE) {
                *at++ = TEXT_ESCAPE;
                *at++ = text.data[i] + 1;
            } else {
                *at++ = text.data[i];
            }
        }
    }
    *at++ = TEXT_END;
    return at;
}

static firn_status append_text(struct firn_op *op, const struct firn_sort_column *column, struct firn_sort_part *part,
                               struct firn_bytes text)
{
    size_t start = part->text.len;
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, &part->text, 2 * text.len + 2, &at));
    if (column->marked)
        *at++ = column->value_marker;
    uint8_t *end = put_text(at, text);
    if (column->flip)
        for (; at < end; at++)
            *at ^= column->flip;
    part->text.len = (size_t)(end - part->text.data);
    assert(part->text.len - start <= 2 * text.len + 2);
    return FIRN_OK;
}

static firn_status add_text(struct firn_op *op, const struct firn_sort_column *column, struct firn_sort_part *part,
                            const struct firn_vector *vector)
{
    union firn_values values = vector->indices ? vector->dictionary->values : vector->values;
    uint32_t value = 0;
    uint8_t *end;
    FIRN_TRY(firn_buffer_extend(op, &part->ends, vector->slot_count * sizeof(uint64_t), &end));
    uint64_t *ends = (uint64_t *)(void *)end;
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        if (is_null(vector, i)) {
            FIRN_TRY(firn_buffer_append(op, &part->text, &column->null_marker, 1));
        } else {
            size_t index = vector->indices ? vector->indices[value] : value;
            FIRN_TRY(append_text(op, column, part, firn_sort_image_text(&column->image, values, index)));
            value++;
        }
        ends[i] = part->text.len;
    }
    return FIRN_OK;
}

static firn_status add_column(struct firn_op *op, struct firn_sort_batch *batch, uint32_t index,
                              const struct firn_vector *vector, uint32_t row)
{
    const struct firn_sort_column *column = &batch->key->columns[index];
    struct firn_sort_part *part = &batch->parts[index];
    if (column->image.form == FIRN_IMAGE_TEXT)
        return add_text(op, column, part, vector);
    FIRN_TRY(make_images(op, part, &column->image, vector));
    struct place place = place_of(batch, column, row);
    if (column->image.form == FIRN_IMAGE_WORD)
        spread_words(column, part, vector, place);
    else
        spread_bytes(column, part, vector, place);
    return FIRN_OK;
}

firn_status firn_sort_batch_add(struct firn_op *op, struct firn_sort_batch *batch, uint32_t leaf,
                                const struct firn_vector *vector, uint32_t row)
{
    assert(row <= batch->row_count && vector->slot_count <= batch->row_count - row && vector->rep_max == 0);
    for (uint32_t i = 0; i < batch->key->column_count; i++)
        if (batch->key->columns[i].leaf == leaf)
            FIRN_TRY(add_column(op, batch, i, vector, row));
    return FIRN_OK;
}

/* Keys of any length. */

static size_t joined_bytes(const struct firn_sort_batch *batch)
{
    const struct firn_sort_key *key = batch->key;
    size_t bytes = (size_t)batch->row_count * (key->prefix_bytes + key->fixed_bytes);
    for (uint32_t i = 0; i < key->column_count; i++)
        bytes += batch->parts[i].text.len;
    return bytes;
}

static uint8_t *join_row(const struct firn_sort_batch *batch, uint32_t row, uint8_t *at)
{
    const struct firn_sort_key *key = batch->key;
    at += key->prefix_bytes;
    for (uint32_t i = 0; i < key->run_count; i++) {
        const struct firn_sort_run *run = &key->runs[i];
        const struct firn_sort_part *part = &batch->parts[run->column];
        const uint64_t *ends = (const uint64_t *)(const void *)part->ends.data;
        const uint8_t *from = batch->fixed.data + (size_t)row * key->fixed_bytes + run->offset;
        size_t bytes = run->bytes;
        if (bytes == 0) {
            uint64_t start = row > 0 ? ends[row - 1] : 0;
            from = part->text.data + start;
            bytes = (size_t)(ends[row] - start);
        }
        memcpy(at, from, bytes);
        at += bytes;
    }
    return at;
}

/* Keys along a curve. */

/* Turns the images of some rows, words all, into the places along the curve, before their bits are interleaved. */
static void place_on_curve(const struct firn_sort_key *key, uint64_t (*axes)[FIRN_HILBERT_POINTS], uint8_t *rows,
                           uint32_t row_count)
{
    unsigned unused = 64 - key->hilbert_bits;
    for (uint32_t i = 0; i < key->column_count; i++)
        for (uint32_t row = 0; row < row_count; row++)
            axes[i][row] = firn_load_be64(rows + (size_t)row * key->fixed_bytes + key->columns[i].offset) >> unused;
    firn_hilbert_place(axes, key->column_count, key->hilbert_bits);
    for (uint32_t i = 0; i < key->column_count; i++)
        for (uint32_t row = 0; row < row_count; row++)
            firn_store_be64(rows + (size_t)row * key->fixed_bytes + key->columns[i].offset, axes[i][row] << unused);
}

static firn_status place_rows(struct firn_op *op, struct firn_sort_batch *batch)
{
    const struct firn_sort_key *key = batch->key;
    uint64_t(*axes)[FIRN_HILBERT_POINTS];
    FIRN_TRY(firn_buffer_resize(op, &batch->axes, key->column_count * sizeof *axes));
    axes = (uint64_t(*)[FIRN_HILBERT_POINTS])(void *)batch->axes.data;
    memset(axes, 0, batch->axes.len);
    for (uint32_t row = 0; row < batch->row_count; row += FIRN_HILBERT_POINTS)
        place_on_curve(key, axes, batch->fixed.data + (size_t)row * key->fixed_bytes,
                       FIRN_MIN(batch->row_count - row, FIRN_HILBERT_POINTS));
    return FIRN_OK;
}

static firn_status finish_curve(struct firn_op *op, struct firn_sort_batch *batch)
{
    const struct firn_sort_key *key = batch->key;
    if (key->hilbert_bits > 0)
        FIRN_TRY(place_rows(op, batch));
    const uint8_t *from = batch->fixed.data;
    uint8_t *at = batch->bytes.data + key->prefix_bytes;
    for (uint32_t row = 0; row < batch->row_count; row++, from += key->fixed_bytes, at += key->key_bytes)
        firn_interleave_row(key->interleave, from, at);
    return FIRN_OK;
}

static firn_status join_rows(struct firn_op *op, struct firn_sort_batch *batch)
{
    FIRN_TRY(firn_buffer_resize(op, &batch->bytes, joined_bytes(batch)));
    FIRN_TRY(firn_buffer_resize(op, &batch->offsets, ((size_t)batch->row_count + 1) * sizeof(uint64_t)));
    uint64_t *offsets = (uint64_t *)(void *)batch->offsets.data;
    uint8_t *at = batch->bytes.data;
    for (uint32_t row = 0; row < batch->row_count; row++) {
        offsets[row] = (uint64_t)(at - batch->bytes.data);
        at = join_row(batch, row, at);
    }
    offsets[batch->row_count] = batch->bytes.len;
    return FIRN_OK;
}

firn_status firn_sort_batch_finish(struct firn_op *op, struct firn_sort_batch *batch)
{
    if (batch->key->interleave)
        return finish_curve(op, batch);
    return batch->key->key_bytes > 0 ? FIRN_OK : join_rows(op, batch);
}

void firn_sort_batch_done(struct firn_sort_batch *batch)
{
    for (uint32_t i = 0; i < batch->key->column_count; i++) {
        firn_buffer_done(&batch->parts[i].images);
        firn_buffer_done(&batch->parts[i].text);
        firn_buffer_done(&batch->parts[i].ends);
    }
    firn_buffer_done(&batch->bytes);
    firn_buffer_done(&batch->offsets);
    firn_buffer_done(&batch->fixed);
    firn_buffer_done(&batch->axes);
}
