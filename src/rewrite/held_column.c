/* Appending vectors to held columns, and taking rows out. Rows are found without counting levels: a column that is not
 * repeated has a place a row, a repeated one knows where each row begins. */
#include "rewrite/held_column.h"

#include "base/math.h"
#include "format/parquet/unpack.h"
#include "rewrite/column.h"

#define PREFETCH_ROWS    24 /* rows are far apart: memory is asked for them so many rows ahead */
#define CACHE_LINE_BYTES 64

static uint32_t *as_u32(const struct firn_buffer *buffer)
{
    return (uint32_t *)(void *)buffer->data;
}

static bool is_repeated(const struct firn_held_column *column)
{
    return column->leaf->rep_max > 0;
}

static size_t value_width(const struct firn_held_column *column)
{
    return firn_value_width(column->leaf->type, column->leaf->type_length);
}

static bool has_value(const struct firn_vector *vector, uint32_t slot)
{
    return !vector->def || vector->def[slot] == vector->def_max;
}

/* Appending. */

static firn_status append_levels(struct firn_op *op, struct firn_held_column *column, const struct firn_vector *vector)
{
    if (vector->rep)
        FIRN_TRY(firn_buffer_append(op, &column->rep, vector->rep, vector->slot_count));
    if (!vector->def && column->def.len == 0)
        return FIRN_OK;
    if (column->def.len < column->slot_count)
        FIRN_TRY(firn_levels_append(op, &column->def, NULL, vector->def_max, column->slot_count));
    return firn_levels_append(op, &column->def, vector->def, vector->def_max, vector->slot_count);
}

static firn_status append_row_starts(struct firn_op *op, struct firn_held_column *column,
                                     const struct firn_vector *vector)
{
    uint8_t *slots, *firsts;
    size_t bytes = (size_t)vector->row_count * sizeof(uint32_t);
    uint32_t row = 0, value = column->value_count;
    FIRN_TRY(firn_buffer_extend(op, &column->slots, bytes, &slots));
    FIRN_TRY(firn_buffer_extend(op, &column->firsts, bytes, &firsts));
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        if (vector->rep[i] == 0) {
            ((uint32_t *)(void *)slots)[row] = column->slot_count + i;
            ((uint32_t *)(void *)firsts)[row++] = value;
        }
        value += has_value(vector, i);
    }
    return FIRN_OK;
}

/* Walks the places of a vector in a column: for each, its value's index or that it has none. */
struct place_walk {
    const struct firn_vector *vector;
    bool spaced;
    uint32_t place_count, value;
};

static struct place_walk places_of(const struct firn_held_column *column, const struct firn_vector *vector)
{
    bool spaced = !is_repeated(column);
    return (struct place_walk){ vector, spaced && vector->def, spaced ? vector->slot_count : vector->value_count, 0 };
}

static bool next_value(struct place_walk *walk, uint32_t place, size_t *index)
{
    const struct firn_vector *vector = walk->vector;
    if (walk->spaced && vector->def[place] != vector->def_max)
        return false;
    *index = vector->indices ? vector->indices[walk->value] : walk->value;
    walk->value++;
    return true;
}

static union firn_values source_values(const struct firn_vector *vector)
{
    return vector->indices ? vector->dictionary->values : vector->values;
}

static firn_status append_fixed(struct firn_op *op, struct firn_held_column *column, const struct firn_vector *vector)
{
    struct place_walk walk = places_of(column, vector);
    size_t width = value_width(column), index;
    const uint8_t *from = source_values(vector).any;
    uint8_t *to;
    FIRN_TRY(firn_buffer_extend(op, &column->values, walk.place_count * width, &to));
    if (!walk.spaced && !vector->indices) {
        if (walk.place_count > 0)
            memcpy(to, from, walk.place_count * width);
        return FIRN_OK;
    }
    for (uint32_t i = 0; i < walk.place_count; i++, to += width) {
        if (!next_value(&walk, i, &index))
            memset(to, 0, width);
        else if (width == 8)
            memcpy(to, from + index * 8, 8);
        else
            memcpy(to, from + index * width, width);
    }
    return FIRN_OK;
}

/* What texts take, and the length that all of them have: then each is found without asking where it ends. */
struct text_sizes {
    uint64_t bytes;
    uint32_t len;
    bool differ;
};

static struct text_sizes measure_texts(const struct firn_held_column *column, const struct firn_vector *vector)
{
    struct place_walk walk = places_of(column, vector);
    const struct firn_slice *from = source_values(vector).slice;
    struct text_sizes sizes = { 0 };
    uint32_t least = UINT32_MAX, most = 0;
    size_t index;
    for (uint32_t i = 0; i < walk.place_count; i++) {
        uint32_t len = next_value(&walk, i, &index) ? from[index].len : 0;
        sizes.bytes += len;
        least = FIRN_MIN(least, len);
        most = FIRN_MAX(most, len);
    }
    sizes.len = most;
    sizes.differ = least < most;
    return sizes;
}

/* Of texts added to a column. */
static void note_lengths(struct firn_held_column *column, uint32_t len, bool differ)
{
    if (column->ends.len == 0)
        column->text_len = len;
    column->text_lens_differ = column->text_lens_differ || differ || len != column->text_len;
}

static firn_status check_bytes(struct firn_op *op, const struct firn_held_column *column, uint64_t bytes)
{
    if (bytes <= UINT32_MAX - column->values.len)
        return FIRN_OK;
    return firn_fail(op, FIRN_LIMIT, "%" PRIu64 " more bytes in column '%.*s' are too many to be sorted at once", bytes,
                     FIRN_FMT(column->leaf->path));
}

/* Whether the texts of a vector lie one behind the other, as those of temporary files do. */
static bool lie_together(const struct place_walk *walk)
{
    const struct firn_slice *texts = walk->vector->values.slice;
    if (walk->spaced || walk->vector->indices)
        return false;
    for (uint32_t i = 1; i < walk->place_count; i++)
        if (!texts[i - 1].data || texts[i].data != texts[i - 1].data + texts[i - 1].len)
            return false;
    return true;
}

/* Copies them at once, and says where each ends. */
static void copy_together(const struct firn_slice *texts, uint32_t count, size_t bytes, uint32_t end, uint8_t *to,
                          uint32_t *ends)
{
    if (bytes > 0)
        memcpy(to, texts[0].data, bytes);
    for (uint32_t i = 0; i < count; i++)
        ends[i] = end += texts[i].len;
}

static firn_status append_slices(struct firn_op *op, struct firn_held_column *column, const struct firn_vector *vector)
{
    struct place_walk walk = places_of(column, vector);
    const struct firn_slice *from = source_values(vector).slice;
    struct text_sizes sizes = measure_texts(column, vector);
    uint32_t end = (uint32_t)column->values.len;
    uint8_t *to, *ends;
    size_t index;
    if (walk.place_count == 0)
        return FIRN_OK;
    FIRN_TRY(check_bytes(op, column, sizes.bytes));
    note_lengths(column, sizes.len, sizes.differ);
    FIRN_TRY(firn_buffer_extend(op, &column->values, (size_t)sizes.bytes, &to));
    FIRN_TRY(firn_buffer_extend(op, &column->ends, walk.place_count * sizeof end, &ends));
    if (lie_together(&walk)) {
        copy_together(from, walk.place_count, (size_t)sizes.bytes, end, to, (uint32_t *)(void *)ends);
        return FIRN_OK;
    }
    for (uint32_t i = 0; i < walk.place_count; i++) {
        if (next_value(&walk, i, &index) && from[index].len > 0) {
            memcpy(to, from[index].data, from[index].len);
            to += from[index].len;
            end += from[index].len;
        }
        ((uint32_t *)(void *)ends)[i] = end;
    }
    return FIRN_OK;
}

static firn_status check_slots(struct firn_op *op, const struct firn_held_column *column, uint32_t slots)
{
    if (slots <= UINT32_MAX - column->slot_count)
        return FIRN_OK;
    return firn_fail(op, FIRN_LIMIT, "column '%.*s' has too many values to be sorted at once",
                     FIRN_FMT(column->leaf->path));
}

firn_status firn_held_column_append(struct firn_op *op, struct firn_held_column *column,
                                    const struct firn_vector *vector)
{
    FIRN_TRY(check_slots(op, column, vector->slot_count));
    FIRN_TRY(append_levels(op, column, vector));
    if (is_repeated(column))
        FIRN_TRY(append_row_starts(op, column, vector));
    if (column->leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        FIRN_TRY(append_slices(op, column, vector));
    else
        FIRN_TRY(append_fixed(op, column, vector));
    column->row_count += vector->row_count;
    column->slot_count += vector->slot_count;
    column->value_count += vector->value_count;
    return FIRN_OK;
}

/* Appending rows of another column. */

static uint32_t slots_end(const struct firn_held_column *column, uint32_t row)
{
    return row + 1 < column->row_count ? as_u32(&column->slots)[row + 1] : column->slot_count;
}

static uint32_t values_end(const struct firn_held_column *column, uint32_t row)
{
    return row + 1 < column->row_count ? as_u32(&column->firsts)[row + 1] : column->value_count;
}

/* Where rows lie in a column. */
struct row_places {
    uint32_t row, row_count;
    uint32_t slot, slot_count;
    uint32_t place, place_count; /* of values */
};

static struct row_places places_of_rows(const struct firn_held_column *column, uint32_t first, uint32_t count)
{
    if (!is_repeated(column))
        return (struct row_places){ first, count, first, count, first, count };
    uint32_t slot = as_u32(&column->slots)[first], value = as_u32(&column->firsts)[first], last = first + count - 1;
    return (struct row_places){ first, count,
                                slot,  slots_end(column, last) - slot,
                                value, values_end(column, last) - value };
}

/* Appends numbers that count from elsewhere: each less `less`, plus `plus`. */
static firn_status append_shifted(struct firn_op *op, struct firn_buffer *out, const uint32_t *from, uint32_t count,
                                  uint32_t less, uint32_t plus)
{
    uint8_t *bytes;
    FIRN_TRY(firn_buffer_extend(op, out, count * sizeof *from, &bytes));
    uint32_t *to = (uint32_t *)(void *)bytes;
    for (uint32_t i = 0; i < count; i++)
        to[i] = from[i] - less + plus;
    return FIRN_OK;
}

static firn_status copy_slices(struct firn_op *op, struct firn_held_column *column, const struct firn_held_column *from,
                               const struct row_places *rows)
{
    const uint32_t *ends = as_u32(&from->ends);
    uint32_t begin = rows->place > 0 ? ends[rows->place - 1] : 0;
    uint32_t bytes = rows->place_count > 0 ? ends[rows->place + rows->place_count - 1] - begin : 0;
    FIRN_TRY(check_bytes(op, column, bytes));
    note_lengths(column, from->text_len, from->text_lens_differ);
    FIRN_TRY(
        append_shifted(op, &column->ends, ends + rows->place, rows->place_count, begin, (uint32_t)column->values.len));
    return bytes > 0 ? firn_buffer_append(op, &column->values, from->values.data + begin, bytes) : FIRN_OK;
}

static firn_status copy_values(struct firn_op *op, struct firn_held_column *column, const struct firn_held_column *from,
                               const struct row_places *rows)
{
    size_t width = value_width(column);
    if (rows->place_count == 0)
        return FIRN_OK;
    if (column->leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        return copy_slices(op, column, from, rows);
    return firn_buffer_append(op, &column->values, from->values.data + rows->place * width, rows->place_count * width);
}

static firn_status copy_row_starts(struct firn_op *op, struct firn_held_column *column,
                                   const struct firn_held_column *from, const struct row_places *rows)
{
    FIRN_TRY(append_shifted(op, &column->slots, as_u32(&from->slots) + rows->row, rows->row_count, rows->slot,
                            column->slot_count));
    return append_shifted(op, &column->firsts, as_u32(&from->firsts) + rows->row, rows->row_count, rows->place,
                          column->value_count);
}

firn_status firn_held_column_append_rows(struct firn_op *op, struct firn_held_column *column,
                                         const struct firn_held_column *from, uint32_t first, uint32_t count)
{
    if (count == 0)
        return FIRN_OK;
    struct row_places rows = places_of_rows(from, first, count);
    const struct firn_vector levels = {
        .rep = is_repeated(from) ? from->rep.data + rows.slot : NULL,
        .def = from->def.len > 0 ? from->def.data + rows.slot : NULL,
        .def_max = from->leaf->def_max,
        .slot_count = rows.slot_count,
    };
    FIRN_TRY(check_slots(op, column, rows.slot_count));
    FIRN_TRY(append_levels(op, column, &levels));
    if (is_repeated(column))
        FIRN_TRY(copy_row_starts(op, column, from, &rows));
    FIRN_TRY(copy_values(op, column, from, &rows));
    column->row_count += count;
    column->slot_count += rows.slot_count;
    column->value_count +=
        levels.def ? (uint32_t)firn_count_u8(levels.def, rows.slot_count, levels.def_max) : rows.slot_count;
    return FIRN_OK;
}

/* Taking. */

/* Places of the column that lie side by side and are taken together. */
struct place_range {
    uint32_t first, count;
};

/* How many slots and values the rows have; of a column that is not repeated, one each at most. */
static void size_rows(const struct firn_held_column *column, const uint32_t *rows, uint32_t count,
                      struct firn_vector *out)
{
    size_t slots = count, values = count;
    for (uint32_t i = 0; i < count && is_repeated(column); i++) {
        slots += slots_end(column, rows[i]) - as_u32(&column->slots)[rows[i]] - 1;
        values += values_end(column, rows[i]) - as_u32(&column->firsts)[rows[i]] - 1;
    }
    out->slot_count = (uint32_t)slots;
    out->value_count = (uint32_t)values;
}

/* The text will be looked at soon; of a long one, the rest comes by itself. */
static void prefetch_text(const uint8_t *text, uint32_t len)
{
    __builtin_prefetch(text);
    __builtin_prefetch(text + FIRN_MIN(len, CACHE_LINE_BYTES));
}

static void take_slices(const struct firn_held_column *column, struct place_range places, struct firn_slice *to)
{
    const uint32_t *ends = as_u32(&column->ends);
    uint32_t at = places.first > 0 ? ends[places.first - 1] : 0;
    for (uint32_t i = 0; i < places.count; i++) {
        uint32_t end = ends[places.first + i];
        prefetch_text(column->values.data + at, end - at);
        to[i] = (struct firn_slice){ column->values.data + at, end - at };
        at = end;
    }
}

static void take_places(const struct firn_held_column *column, struct place_range places, size_t width, uint8_t *to)
{
    if (column->leaf->type == FIRN_PARQUET_BYTE_ARRAY)
        take_slices(column, places, (struct firn_slice *)(void *)to);
    else if (places.count == 1 && width == 8)
        memcpy(to, column->values.data + (size_t)places.first * 8, 8);
    else if (places.count == 1 && width == 4)
        memcpy(to, column->values.data + (size_t)places.first * 4, 4);
    else if (places.count > 0)
        memcpy(to, column->values.data + places.first * width, places.count * width);
}

static void prefetch_place(const struct firn_held_column *column, uint32_t place, size_t width)
{
    bool has_ends = column->leaf->type == FIRN_PARQUET_BYTE_ARRAY;
    __builtin_prefetch(has_ends ? column->ends.data + (size_t)place * sizeof(uint32_t)
                                : column->values.data + place * width);
}

/* Texts of the same length. */
static void take_equal(const struct firn_held_column *column, const uint32_t *rows, uint32_t count,
                       struct firn_slice *to)
{
    uint32_t len = column->text_len;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *text = column->values.data + (size_t)rows[i] * len;
        prefetch_text(text, len);
        to[i] = (struct firn_slice){ text, len };
    }
}

/* Rows of a column without nulls. */
static void take_values(const struct firn_held_column *column, const uint32_t *rows, uint32_t count, void *to)
{
    if (column->leaf->type != FIRN_PARQUET_BYTE_ARRAY) {
        firn_gather(column->values.data, value_width(column), rows, count, to);
        return;
    }
    if (!column->text_lens_differ) {
        take_equal(column, rows, count, to);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i + PREFETCH_ROWS < count)
            prefetch_place(column, rows[i + PREFETCH_ROWS], 0);
        take_slices(column, (struct place_range){ rows[i], 1 }, (struct firn_slice *)to + i);
    }
}

static void take_nullable(const struct firn_held_column *column, const uint32_t *rows, struct firn_taken_rows *taken,
                          struct firn_vector *out)
{
    size_t width = value_width(column);
    uint8_t *to = taken->values.data;
    for (uint32_t i = 0; i < out->slot_count; i++) {
        if (i + PREFETCH_ROWS < out->slot_count)
            prefetch_place(column, rows[i + PREFETCH_ROWS], width);
        taken->def.data[i] = column->def.data[rows[i]];
        if (taken->def.data[i] != out->def_max)
            continue;
        take_places(column, (struct place_range){ rows[i], 1 }, width, to);
        to += width;
    }
    out->value_count = width > 0 ? (uint32_t)((size_t)(to - taken->values.data) / width) : out->value_count;
}

static void take_repeated(const struct firn_held_column *column, const uint32_t *rows, uint32_t count,
                          struct firn_taken_rows *taken)
{
    size_t width = value_width(column), slots = 0;
    uint8_t *to = taken->values.data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = as_u32(&column->slots)[rows[i]], end = slots_end(column, rows[i]);
        uint32_t value = as_u32(&column->firsts)[rows[i]], value_count = values_end(column, rows[i]) - value;
        memcpy(taken->rep.data + slots, column->rep.data + slot, end - slot);
        if (column->def.len > 0)
            memcpy(taken->def.data + slots, column->def.data + slot, end - slot);
        take_places(column, (struct place_range){ value, value_count }, width, to);
        to += value_count * width;
        slots += end - slot;
    }
}

firn_status firn_held_column_take(struct firn_op *op, const struct firn_held_column *column, const uint32_t *rows,
                                  uint32_t count, struct firn_taken_rows *taken, struct firn_vector *out)
{
    const struct firn_parquet_node *leaf = column->leaf;
    *out = (struct firn_vector){
        .type = leaf->type,
        .type_length = leaf->type_length,
        .rep_max = leaf->rep_max,
        .def_max = leaf->def_max,
        .row_count = count,
    };
    size_rows(column, rows, count, out);
    FIRN_TRY(firn_buffer_resize_array(op, &taken->values, out->value_count, value_width(column)));
    if (is_repeated(column))
        FIRN_TRY(firn_buffer_resize_array(op, &taken->rep, out->slot_count, 1));
    if (column->def.len > 0)
        FIRN_TRY(firn_buffer_resize_array(op, &taken->def, out->slot_count, 1));
    if (is_repeated(column))
        take_repeated(column, rows, count, taken);
    else if (column->def.len > 0)
        take_nullable(column, rows, taken, out);
    else
        take_values(column, rows, count, taken->values.data);
    out->rep = is_repeated(column) ? taken->rep.data : NULL;
    out->def = out->value_count < out->slot_count ? taken->def.data : NULL;
    out->values.any = taken->values.data;
    return FIRN_OK;
}

void firn_taken_rows_done(struct firn_taken_rows *taken)
{
    firn_buffer_done(&taken->rep);
    firn_buffer_done(&taken->def);
    firn_buffer_done(&taken->values);
}

uint64_t firn_held_column_bytes(const struct firn_held_column *column)
{
    return (uint64_t)column->rep.len + column->def.len + column->slots.len + column->firsts.len + column->values.len +
           column->ends.len;
}

void firn_held_column_clear(struct firn_held_column *column)
{
    struct firn_buffer *buffers[] = { &column->rep,    &column->def,    &column->slots,
                                      &column->firsts, &column->values, &column->ends };
    for (size_t i = 0; i < FIRN_COUNT_OF(buffers); i++)
        firn_buffer_clear(buffers[i]);
    column->row_count = column->slot_count = column->value_count = 0;
    column->text_lens_differ = false;
}

void firn_held_column_done(struct firn_held_column *column)
{
    struct firn_buffer *buffers[] = { &column->rep,    &column->def,    &column->slots,
                                      &column->firsts, &column->values, &column->ends };
    for (size_t i = 0; i < FIRN_COUNT_OF(buffers); i++)
        firn_buffer_done(buffers[i]);
    *column = (struct firn_held_column){ .leaf = column->leaf };
}
