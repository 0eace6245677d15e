/* Every value of a Parquet file decoded for firn inspect: rows, nulls, least and greatest values. */
#include "base/math.h"
#include "base/utf8.h"
#include "format/parquet/order.h"
#include "maintain/inspect_parquet.h"
#include "table/parquet_chunk.h"

#define INT96_BYTES 12

/* What was seen of one leaf column over all row groups. */
struct tally {
    const struct firn_parquet_node *leaf;
    const struct firn_parquet_node *top; /* the column below the root that the leaf belongs to */
    enum firn_order order;
    bool must_be_utf8;
    int64_t slot_count;
    int64_t value_count;
    int64_t top_null_count; /* rows in which the top-level column is null */
    struct firn_bounds bounds;
    bool has_int96;
    uint8_t int96_min[INT96_BYTES], int96_max[INT96_BYTES];
};

static const struct firn_parquet_node *top_of(const struct firn_parquet_node *leaf)
{
    while (leaf->parent->parent)
        leaf = leaf->parent;
    return leaf;
}

static struct tally tally_of(const struct firn_parquet_node *leaf)
{
    enum firn_logical kind = leaf->logical.kind;
    return (struct tally){
        .leaf = leaf,
        .top = top_of(leaf),
        .order = firn_order_of(leaf),
        .must_be_utf8 = leaf->type == FIRN_PARQUET_BYTE_ARRAY &&
                        (kind == FIRN_LOGICAL_STRING || kind == FIRN_LOGICAL_ENUM || kind == FIRN_LOGICAL_JSON),
    };
}

/* Julian day, then nanoseconds of the day. */
static int compare_int96(const uint8_t *a, const uint8_t *b)
{
    int32_t day_a = (int32_t)firn_load_le32(a + 8), day_b = (int32_t)firn_load_le32(b + 8);
    uint64_t nanos_a = firn_load_le64(a), nanos_b = firn_load_le64(b);
    if (day_a != day_b)
        return day_a < day_b ? -1 : 1;
    return (nanos_a > nanos_b) - (nanos_a < nanos_b);
}

static void tally_int96(struct tally *tally, const uint8_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *value = values + (size_t)i * INT96_BYTES;
        if (!tally->has_int96 || compare_int96(value, tally->int96_min) < 0)
            memcpy(tally->int96_min, value, INT96_BYTES);
        if (!tally->has_int96 || compare_int96(value, tally->int96_max) > 0)
            memcpy(tally->int96_max, value, INT96_BYTES);
        tally->has_int96 = true;
    }
}

static firn_status check_utf8(struct firn_op *op, const struct firn_slice *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!firn_text_is_utf8((struct firn_text){ (const char *)values[i].data, values[i].len }))
            return firn_fail(op, FIRN_CORRUPT, "text of %" PRIu32 " bytes is not UTF-8", values[i].len);
    return FIRN_OK;
}

/* Rows whose top-level column is null: those that begin with definition level 0. */
static int64_t count_top_nulls(const struct tally *tally, const struct firn_vector *vector)
{
    int64_t nulls = 0;
    if (tally->top->repetition != FIRN_OPTIONAL || !vector->def)
        return 0;
    for (uint32_t i = 0; i < vector->slot_count; i++)
        nulls += vector->def[i] == 0 && (!vector->rep || vector->rep[i] == 0);
    return nulls;
}

static firn_status tally_vector(struct firn_op *op, struct tally *tally, const struct firn_vector *vector)
{
    tally->slot_count += vector->slot_count;
    tally->value_count += vector->value_count;
    tally->top_null_count += count_top_nulls(tally, vector);
    if (tally->must_be_utf8)
        FIRN_TRY(check_utf8(op, vector->values.slice, vector->value_count));
    if (vector->type == FIRN_PARQUET_INT96)
        tally_int96(tally, vector->values.fixed, vector->value_count);
    if (tally->order == FIRN_ORDER_NONE)
        return FIRN_OK;
    return firn_bounds_add(op, &tally->bounds, tally->order, vector->values, vector->type_length, vector->value_count);
}

static firn_status tally_chunk(struct firn_op *op, struct firn_inspected *inspected, struct tally *tally,
                               const struct firn_column_chunk *chunk, int64_t row_count)
{
    struct firn_chunk_reader_options options = { .crc_check = true, .codec_context = inspected->codec_context };
    struct firn_chunk_reader *reader;
    struct firn_vector vector;
    bool has_page = true;
    FIRN_TRY(firn_parquet_chunk_open(op, inspected->object, tally->leaf, chunk, row_count, options, &reader));
    firn_status status = FIRN_OK;
    while (status == FIRN_OK && has_page) {
        status = firn_chunk_reader_next(op, reader, &vector, &has_page);
        if (status == FIRN_OK && has_page)
            status = firn_context(op, tally_vector(op, tally, &vector), "column '%.*s'", FIRN_FMT(tally->leaf->path));
        if (status == FIRN_OK)
            status = firn_op_check(op);
    }
    firn_chunk_reader_close(reader);
    return status;
}

static firn_status tally_all(struct firn_op *op, struct firn_inspected *inspected, struct tally *tallies)
{
    const struct firn_footer *footer = inspected->footer;
    for (uint32_t i = 0; i < footer->row_group_count; i++) {
        const struct firn_row_group *group = &footer->row_groups[i];
        for (uint32_t k = 0; k < footer->leaf_count; k++) {
            firn_status status = tally_chunk(op, inspected, &tallies[k], &group->chunks[k], group->row_count);
            if (status != FIRN_OK)
                return firn_context(op, status, "row group %" PRIu32, i);
        }
    }
    return FIRN_OK;
}

/* NaN stands above all other numbers, as in DuckDB. */
static void set_bounds(struct firn_arena *arena, json_t *out, const struct tally *tally)
{
    const struct firn_bounds *bounds = &tally->bounds;
    if (tally->has_int96) {
        firn_inspect_set_bounds(arena, out, tally->leaf, (struct firn_bytes){ tally->int96_min, INT96_BYTES },
                                (struct firn_bytes){ tally->int96_max, INT96_BYTES });
        return;
    }
    if (bounds->found)
        firn_inspect_set_bounds(arena, out, tally->leaf, firn_bytes_copy(arena, firn_buffer_bytes(&bounds->min)),
                                firn_bytes_copy(arena, firn_buffer_bytes(&bounds->max))); /* never NULL, if empty */
    if (bounds->nan_count > 0)
        firn_json_set_text(out, "max", FIRN_TEXT("nan"));
    if (bounds->nan_count > 0 && !bounds->found)
        firn_json_set_text(out, "min", FIRN_TEXT("nan"));
}

static json_t *leaf_json(struct firn_arena *arena, const struct tally *tally)
{
    json_t *out = json_object();
    firn_json_set_text(out, "path", tally->leaf->path);
    firn_json_set_i64(out, "values", tally->slot_count);
    firn_json_set_i64(out, "nulls", tally->slot_count - tally->value_count);
    set_bounds(arena, out, tally);
    return out;
}

/* Nested columns have no bounds of their own. */
static json_t *column_json(struct firn_arena *arena, const struct tally *first_leaf)
{
    const struct firn_parquet_node *top = first_leaf->top;
    json_t *out = json_object();
    firn_json_set_text(out, "name", top->name);
    firn_json_set_i64(out, "nulls", first_leaf->top_null_count);
    if (top->is_leaf && top->repetition != FIRN_REPEATED)
        set_bounds(arena, out, first_leaf);
    return out;
}

firn_status firn_inspect_values(struct firn_op *op, struct firn_inspected *inspected, json_t *file)
{
    const struct firn_footer *footer = inspected->footer;
    struct tally *tallies = FIRN_NEW_ARRAY(op->arena, struct tally, footer->leaf_count);
    for (uint32_t i = 0; i < footer->leaf_count; i++)
        tallies[i] = tally_of(footer->leaves[i]);
    firn_status status = tally_all(op, inspected, tallies);

    json_t *columns = json_array();
    json_t *leaves = json_array();
    firn_json_set(file, "columns", columns);
    firn_json_set(file, "leaves", leaves);
    for (uint32_t i = 0; i < footer->leaf_count; i++) {
        json_array_append_new(leaves, leaf_json(op->arena, &tallies[i]));
        if (i == 0 || tallies[i].top != tallies[i - 1].top)
            json_array_append_new(columns, column_json(op->arena, &tallies[i]));
        firn_bounds_done(&tallies[i].bounds);
    }
    return status;
}
