/* The values of a column in a stripe. ORC specification v1, "Column Encodings". */
#include "base/math.h"
#include "format/orc/run_length.h"
#include "format/orc/stripe.h"

/* What one column is read with. */
struct reading {
    const struct firn_orc_stripe *stripe;
    uint32_t number;
    enum firn_orc_kind kind;
    struct firn_buffer stream, lengths, dictionary;
};

uint64_t firn_orc_column_value_count(const struct firn_orc_column *column)
{
    uint64_t count = 0;
    if (!column->has_nulls)
        return column->count;
    for (uint64_t i = 0; i < column->count; i++)
        count += column->present.data[i];
    return count;
}

void firn_orc_column_done(struct firn_orc_column *column)
{
    firn_buffer_done(&column->present);
    firn_buffer_done(&column->integers);
    firn_buffer_done(&column->reals);
    firn_buffer_done(&column->slices);
    firn_buffer_done(&column->bytes);
}

static firn_status finish(struct firn_op *op, const struct reading *reading, const struct firn_cursor *in)
{
    return firn_context(op, firn_cursor_finish(op, in, firn_orc_kind_name(reading->kind)), "orc column %" PRIu32,
                        reading->number);
}

static firn_status read_present(struct firn_op *op, struct reading *reading, struct firn_orc_column *out)
{
    FIRN_TRY(firn_orc_stream_read(op, reading->stripe, reading->number, FIRN_ORC_STREAM_PRESENT, &reading->stream,
                                  &out->has_nulls));
    if (!out->has_nulls)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_resize(op, &out->present, out->count));
    struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&reading->stream));
    firn_runs_take_bits(&in, out->present.data, out->count);
    return finish(op, reading, &in);
}

static enum firn_run_version version_of(const struct reading *reading)
{
    return reading->stripe->encodings[reading->number] >= FIRN_ORC_DIRECT_V2 ? FIRN_RUNS_V2 : FIRN_RUNS_V1;
}

/* Replaces `out` by a stream of the column: by nothing where the stripe has none. */
static firn_status read_stream(struct firn_op *op, const struct reading *reading, enum firn_orc_stream_kind kind,
                               struct firn_buffer *out)
{
    bool found;
    return firn_orc_stream_read(op, reading->stripe, reading->number, kind, out, &found);
}

static firn_status read_integers(struct firn_op *op, struct reading *reading, enum firn_orc_stream_kind kind,
                                 bool is_signed, uint64_t count, struct firn_buffer *out)
{
    FIRN_TRY(read_stream(op, reading, kind, &reading->stream));
    FIRN_TRY(firn_buffer_resize(op, out, count * sizeof(int64_t)));
    struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&reading->stream));
    firn_runs_take_integers(&in, version_of(reading), is_signed, (int64_t *)(void *)out->data, count);
    return finish(op, reading, &in);
}

/* Booleans and single bytes, as integers. */
static firn_status read_small(struct firn_op *op, struct reading *reading, uint64_t count, struct firn_buffer *out)
{
    FIRN_TRY(read_stream(op, reading, FIRN_ORC_STREAM_DATA, &reading->stream));
    FIRN_TRY(firn_buffer_resize(op, out, count * sizeof(int64_t)));
    FIRN_TRY(firn_buffer_resize(op, &reading->lengths, count));
    struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&reading->stream));
    if (reading->kind == FIRN_ORC_BOOLEAN)
        firn_runs_take_bits(&in, reading->lengths.data, count);
    else
        firn_runs_take_bytes(&in, reading->lengths.data, count);
    FIRN_TRY(finish(op, reading, &in));
    for (uint64_t i = 0; i < count; i++)
        ((int64_t *)(void *)out->data)[i] = (int8_t)reading->lengths.data[i];
    return FIRN_OK;
}

static firn_status read_reals(struct firn_op *op, struct reading *reading, uint64_t count, struct firn_buffer *out)
{
    FIRN_TRY(read_stream(op, reading, FIRN_ORC_STREAM_DATA, &reading->stream));
    FIRN_TRY(firn_buffer_resize(op, out, count * sizeof(double)));
    struct firn_cursor in = firn_cursor_of(firn_buffer_bytes(&reading->stream));
    for (uint64_t i = 0; i < count && !in.failure; i++) {
        double real;
        if (reading->kind == FIRN_ORC_FLOAT) {
            uint32_t bits = firn_take_le32(&in);
            float single;
            memcpy(&single, &bits, sizeof single);
            real = single;
        } else {
            uint64_t bits = firn_take_le64(&in);
            memcpy(&real, &bits, sizeof real);
        }
        ((double *)(void *)out->data)[i] = real;
    }
    return finish(op, reading, &in);
}

/* Cuts `text` into pieces of the lengths in `reading->lengths`. */
static firn_status cut(struct firn_op *op, struct reading *reading, struct firn_bytes text, uint64_t count,
                       struct firn_buffer *slices)
{
    const int64_t *lengths = (const int64_t *)(const void *)reading->lengths.data;
    struct firn_cursor in = firn_cursor_of(text);
    FIRN_TRY(firn_buffer_resize(op, slices, count * sizeof(struct firn_bytes)));
    for (uint64_t i = 0; i < count && !in.failure; i++)
        ((struct firn_bytes *)(void *)slices->data)[i] = firn_take_bytes(&in, (uint64_t)lengths[i]);
    return finish(op, reading, &in);
}

static firn_status read_direct(struct firn_op *op, struct reading *reading, uint64_t count, struct firn_orc_column *out)
{
    FIRN_TRY(read_integers(op, reading, FIRN_ORC_STREAM_LENGTH, false, count, &reading->lengths));
    FIRN_TRY(read_stream(op, reading, FIRN_ORC_STREAM_DATA, &out->bytes));
    return cut(op, reading, firn_buffer_bytes(&out->bytes), count, &out->slices);
}

static firn_status read_dictionary(struct firn_op *op, struct reading *reading, uint64_t count,
                                   struct firn_orc_column *out)
{
    uint64_t entries = reading->stripe->dictionary_counts[reading->number];
    if (entries > FIRN_ORC_ROWS_MAX)
        return firn_fail(op, FIRN_CORRUPT, "orc column %" PRIu32 ": a dictionary of %" PRIu64 " entries",
                         reading->number, entries);
    FIRN_TRY(read_integers(op, reading, FIRN_ORC_STREAM_LENGTH, false, entries, &reading->lengths));
    FIRN_TRY(read_stream(op, reading, FIRN_ORC_STREAM_DICTIONARY, &out->bytes));
    FIRN_TRY(cut(op, reading, firn_buffer_bytes(&out->bytes), entries, &reading->dictionary));
    FIRN_TRY(read_integers(op, reading, FIRN_ORC_STREAM_DATA, false, count, &reading->lengths));
    FIRN_TRY(firn_buffer_resize(op, &out->slices, count * sizeof(struct firn_bytes)));
    const struct firn_bytes *dictionary = (const struct firn_bytes *)(const void *)reading->dictionary.data;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t index = ((const uint64_t *)(const void *)reading->lengths.data)[i];
        if (index >= entries)
            return firn_fail(op, FIRN_CORRUPT, "orc column %" PRIu32 ": entry %" PRIu64 " of a dictionary of %" PRIu64,
                             reading->number, index, entries);
        ((struct firn_bytes *)(void *)out->slices.data)[i] = dictionary[index];
    }
    return FIRN_OK;
}

static firn_status read_values(struct firn_op *op, struct reading *reading, struct firn_orc_column *out)
{
    uint64_t count = firn_orc_column_value_count(out), encoding = reading->stripe->encodings[reading->number];
    switch (reading->kind) {
    case FIRN_ORC_STRUCT:
        return FIRN_OK;
    case FIRN_ORC_BOOLEAN:
    case FIRN_ORC_BYTE:
        return read_small(op, reading, count, &out->integers);
    case FIRN_ORC_SHORT:
    case FIRN_ORC_INT:
    case FIRN_ORC_LONG:
    case FIRN_ORC_DATE:
        return read_integers(op, reading, FIRN_ORC_STREAM_DATA, true, count, &out->integers);
    case FIRN_ORC_FLOAT:
    case FIRN_ORC_DOUBLE:
        return read_reals(op, reading, count, &out->reals);
    case FIRN_ORC_STRING:
    case FIRN_ORC_BINARY:
    case FIRN_ORC_VARCHAR:
    case FIRN_ORC_CHAR:
        return encoding == FIRN_ORC_DICTIONARY || encoding == FIRN_ORC_DICTIONARY_V2
                   ? read_dictionary(op, reading, count, out)
                   : read_direct(op, reading, count, out);
    default:
        return firn_fail(op, FIRN_UNSUPPORTED, "orc column %" PRIu32 " is of type %s, which is not read",
                         reading->number, firn_orc_kind_name(reading->kind));
    }
}

firn_status firn_orc_column_read(struct firn_op *op, struct firn_orc_stripe *stripe, uint32_t number,
                                 const struct firn_orc_column *parent, struct firn_orc_column *out)
{
    struct reading reading = { .stripe = stripe, .number = number, .kind = stripe->footer->types[number].kind };
    out->count = parent ? firn_orc_column_value_count(parent) : stripe->row_count;
    firn_status status = read_present(op, &reading, out);
    if (status == FIRN_OK)
        status = read_values(op, &reading, out);
    firn_buffer_done(&reading.stream);
    firn_buffer_done(&reading.lengths);
    firn_buffer_done(&reading.dictionary);
    return status;
}
