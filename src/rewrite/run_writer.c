/* Making blocks: a stretch of them at a time, their parts side by side. Blocks have as many rows as are so large on
 * average; a stretch of much larger ones is made anew with fewer. */
#include "rewrite/run_writer.h"

#include "base/math.h"
#include "format/parquet/plain_write.h"
#include "rewrite/run_keys.h"
#include "rewrite/run_part.h"

#define BLOCK_ROWS_MAX (1 << 19)
#define STRETCH_BYTES  (4 << 20) /* a stretch has about so many before they are compressed */
#define TOLERANCE      4         /* blocks and stretches may be so many times as large */
#define REDUCTION      8         /* of rows, where they are larger */

struct part_size {
    uint32_t bytes;
    uint64_t held_bytes;
};

struct part_writer {
    struct firn_buffer bytes; /* parts end to end */
    FIRN_ARRAY(struct part_size) sizes;
};

struct writing {
    struct firn_run_writer *writer;
    const struct firn_sorted_rows *rows;
    uint32_t block_rows;
    uint32_t first, end; /* rows of the stretch */
    struct part_writer *parts;
    atomic_uint_fast64_t bytes; /* of the stretch, before they are compressed */
};

void firn_run_writer_init(struct firn_op *op, struct firn_run_writer *writer, struct firn_group_run *run,
                          struct firn_spill *spill, double block_bytes)
{
    *writer = (struct firn_run_writer){
        .run = run,
        .spill = spill,
        .block_bytes = block_bytes,
        .skips = FIRN_NEW_ARRAY(op->arena, uint8_t, (size_t)run->schema.leaf_count + 1),
    };
}

/* What a stretch may take; a single row may take more. */
static uint64_t stretch_bytes_max(const struct writing *writing)
{
    return (uint64_t)(TOLERANCE * FIRN_MAX(writing->writer->block_bytes, STRETCH_BYTES));
}

static bool is_too_large(const struct writing *writing)
{
    return writing->end - writing->first > 1 && atomic_load(&writing->bytes) > stretch_bytes_max(writing);
}

static firn_status make_leaf_body(struct firn_op *op, struct writing *writing, uint32_t leaf, uint32_t first,
                                  struct firn_taken_rows *taken, struct firn_run_part *head)
{
    struct firn_vector vector;
    FIRN_TRY(firn_held_column_take(op, &writing->rows->columns[leaf], writing->rows->order + first, head->row_count,
                                   taken, &vector));
    atomic_fetch_add(&writing->bytes, firn_vector_plain_bytes(&vector));
    return is_too_large(writing) ? FIRN_OK : firn_run_vector_put(op, &vector, &writing->parts[leaf].bytes, head);
}

static firn_status make_key_body(struct firn_op *op, const struct firn_sorted_rows *rows, uint32_t first,
                                 struct firn_buffer *body, struct firn_run_part *head)
{
    size_t begin = body->len;
    FIRN_TRY(firn_run_keys_put(op, &rows->keys, rows->order + first, head->row_count, body));
    head->held_bytes = rows->keys.offsets ? body->len - begin : head->row_count * rows->keys.width;
    return FIRN_OK;
}

/* Makes a part of one block. */
static firn_status make_part(struct firn_op *op, struct writing *writing, uint32_t part, uint32_t first,
                             struct firn_taken_rows *taken)
{
    struct firn_run_writer *writer = writing->writer;
    struct part_writer *to = &writing->parts[part];
    bool is_leaf = part < writer->run->schema.leaf_count;
    struct firn_run_part head = { .row_count = FIRN_MIN(writing->block_rows, writing->end - first) };
    size_t begin;
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_run_part_begin(op, &to->bytes, &begin));
    if (is_leaf)
        FIRN_TRY(make_leaf_body(op, writing, part, first, taken, &head));
    else
        FIRN_TRY(make_key_body(op, writing->rows, first, &to->bytes, &head));
    FIRN_TRY(firn_run_part_end(op, head, begin, writer->run->codec, &writer->skips[part], &to->bytes));
    if (to->bytes.len - begin > UINT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "%u rows take %zu bytes in one column, too many to be sorted", head.row_count,
                         to->bytes.len - begin);
    struct part_size size = { (uint32_t)(to->bytes.len - begin), head.held_bytes };
    FIRN_PUSH(op->arena, &to->sizes, size);
    return FIRN_OK;
}

/* The parts of all blocks of the stretch, for the keys or for a leaf. */
static firn_status make_parts(struct firn_op *op, void *context, size_t index)
{
    struct writing *writing = context;
    const struct firn_group_run *run = writing->writer->run;
    uint32_t part = index == 0 ? run->schema.leaf_count : run->leaf_order[index - 1];
    struct firn_taken_rows taken = { 0 };
    firn_status status = FIRN_OK;
    uint32_t first = writing->first;
    for (; status == FIRN_OK && first < writing->end && !is_too_large(writing); first += writing->block_rows)
        status = make_part(op, writing, part, first, &taken);
    firn_taken_rows_done(&taken);
    return status;
}

static firn_status join_parts(struct firn_op *op, const struct writing *writing, uint32_t block, size_t *done,
                              struct firn_buffer *out, struct firn_run_block *place)
{
    uint32_t part_count = writing->writer->run->schema.leaf_count + 1;
    firn_buffer_clear(out);
    for (uint32_t i = 0; i < part_count; i++)
        FIRN_TRY(firn_buffer_append(op, out, &writing->parts[i].sizes.items[block].bytes, sizeof(uint32_t)));
    for (uint32_t i = 0; i < part_count; i++) {
        struct part_size size = writing->parts[i].sizes.items[block];
        FIRN_TRY(firn_buffer_append(op, out, writing->parts[i].bytes.data + done[i], size.bytes));
        done[i] += size.bytes;
        place->held_bytes += size.held_bytes;
    }
    if (out->len > UINT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "a block of rows takes %zu bytes, too many to be sorted", out->len);
    place->bytes = (uint32_t)out->len;
    return FIRN_OK;
}

static firn_status put_blocks(struct firn_op *op, const struct writing *writing, struct firn_buffer *bytes,
                              struct firn_arena *results, struct firn_sorted_run *out)
{
    const struct firn_run_writer *writer = writing->writer;
    size_t *done = FIRN_NEW_ARRAY(op->arena, size_t, (size_t)writer->run->schema.leaf_count + 1); /* of each part */
    uint32_t block = 0;
    for (uint32_t first = writing->first; first < writing->end; first += writing->block_rows) {
        struct firn_run_block place = { 0 };
        FIRN_TRY(join_parts(op, writing, block++, done, bytes, &place));
        FIRN_TRY(firn_spill_put(op, writer->spill, firn_buffer_bytes(bytes), &place.offset));
        FIRN_PUSH(results, &out->blocks, place);
    }
    return FIRN_OK;
}

static firn_status make_stretch(struct firn_op *op, struct writing *writing)
{
    const struct firn_group_run *run = writing->writer->run;
    uint32_t part_count = run->schema.leaf_count + 1;
    for (uint32_t i = 0; i < part_count; i++) {
        firn_buffer_clear(&writing->parts[i].bytes);
        writing->parts[i].sizes.count = 0;
    }
    atomic_store(&writing->bytes, 0);
    return firn_pool_run(op, run->context->pool, part_count, 0, make_parts, writing);
}

/* Whether the stretch is made, and a block of it is far larger than it should be, although it has several rows. */
static bool has_large_block(const struct writing *writing)
{
    uint32_t part_count = writing->writer->run->schema.leaf_count + 1;
    for (size_t block = 0; writing->block_rows > 1 && block < writing->parts[0].sizes.count; block++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < part_count; i++)
            bytes += writing->parts[i].sizes.items[block].held_bytes;
        if ((double)bytes > TOLERANCE * writing->writer->block_bytes)
            return true;
    }
    return false;
}

/* How many rows are taken at once. */
struct stretch_rows {
    uint32_t block, stretch;
};

/* Makes a stretch, of fewer rows and smaller blocks where they are larger than others. */
static firn_status make_fitting_stretch(struct firn_op *op, struct writing *writing, struct stretch_rows *rows)
{
    for (;;) {
        writing->block_rows = rows->block;
        writing->end = writing->first + FIRN_MIN(rows->stretch, writing->rows->count - writing->first);
        FIRN_TRY(make_stretch(op, writing));
        if (!is_too_large(writing) && !has_large_block(writing))
            return FIRN_OK;
        if (rows->stretch == rows->block) /* it is these rows */
            rows->block = FIRN_MAX(rows->block / REDUCTION, 1u);
        rows->stretch = FIRN_MAX(rows->stretch / REDUCTION, rows->block);
    }
}

/* As many rows as are usual are tried again, not at once. */
static void grow_rows(struct stretch_rows *rows, struct stretch_rows usual)
{
    rows->block = FIRN_MIN(2 * rows->block, usual.block);
    rows->stretch = rows->stretch < usual.stretch / 2 ? 2 * rows->stretch : usual.stretch;
}

static struct stretch_rows usual_rows(const struct writing *writing)
{
    double row_bytes = firn_sorted_row_bytes(writing->rows);
    uint32_t block = (uint32_t)FIRN_MAX(FIRN_MIN(writing->writer->block_bytes / row_bytes, BLOCK_ROWS_MAX), 1);
    double blocks = STRETCH_BYTES / (row_bytes * block);
    return (struct stretch_rows){ block, (uint32_t)FIRN_MAX(FIRN_MIN(blocks, UINT32_MAX / block), 1) * block };
}

static firn_status put_stretches(struct firn_op *op, struct writing *writing, struct firn_arena *results,
                                 struct firn_sorted_run *out)
{
    const struct firn_sorted_rows *rows = writing->rows;
    uint32_t part_count = writing->writer->run->schema.leaf_count + 1;
    struct stretch_rows usual = usual_rows(writing), at_once = usual;
    struct firn_buffer bytes = { 0 };
    firn_status status = FIRN_OK;
    writing->parts = FIRN_NEW_ARRAY(op->arena, struct part_writer, part_count);
    while (status == FIRN_OK && writing->end < rows->count) {
        writing->first = writing->end;
        status = make_fitting_stretch(op, writing, &at_once);
        if (status == FIRN_OK)
            status = put_blocks(op, writing, &bytes, results, out);
        grow_rows(&at_once, usual);
    }
    for (uint32_t i = 0; i < part_count; i++)
        firn_buffer_done(&writing->parts[i].bytes);
    firn_buffer_done(&bytes);
    return status;
}

firn_status firn_run_writer_put(struct firn_op *op, struct firn_run_writer *writer, const struct firn_sorted_rows *rows,
                                struct firn_sorted_run *out)
{
    struct writing writing = { .writer = writer, .rows = rows };
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    firn_status status = put_stretches(op, &writing, scratch.results, out);
    firn_scratch_end(op, &scratch);
    return status;
}
