/* Making blocks: a stretch of them at a time, their parts side by side. */
#include "rewrite/run_writer.h"

#include "base/math.h"
#include "rewrite/run_part.h"

#define BLOCK_ROWS_MAX (1 << 19)
#define STRETCH_BYTES  (4 << 20) /* a stretch has about so many before they are compressed */

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

static firn_status make_key_body(struct firn_op *op, const struct firn_sorted_rows *rows, uint32_t first,
                                 uint32_t count, struct firn_buffer *body)
{
    for (uint32_t i = 0; i < count && rows->keys.offsets; i++) {
        uint32_t len = (uint32_t)firn_row_key(&rows->keys, rows->order[first + i]).len;
        FIRN_TRY(firn_buffer_append(op, body, &len, sizeof len));
    }
    for (uint32_t i = 0; i < count; i++) {
        struct firn_bytes key = firn_row_key(&rows->keys, rows->order[first + i]);
        FIRN_TRY(firn_buffer_append(op, body, key.data, key.len));
    }
    return FIRN_OK;
}

static firn_status make_leaf_body(struct firn_op *op, const struct firn_held_column *column, const uint32_t *rows,
                                  struct firn_taken_rows *taken, struct firn_buffer *body, struct firn_run_part *head)
{
    struct firn_vector vector;
    FIRN_TRY(firn_held_column_take(op, column, rows, head->row_count, taken, &vector));
    return firn_run_vector_put(op, &vector, body, head);
}

/* Makes a part of one block. */
static firn_status make_part(struct firn_op *op, const struct writing *writing, uint32_t part, uint32_t first,
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
        FIRN_TRY(
            make_leaf_body(op, &writing->rows->columns[part], writing->rows->order + first, taken, &to->bytes, &head));
    else
        FIRN_TRY(make_key_body(op, writing->rows, first, head.row_count, &to->bytes));
    uint64_t held_bytes = is_leaf ? head.held_bytes : to->bytes.len - begin;
    FIRN_TRY(firn_run_part_end(op, head, begin, writer->run->codec, &writer->skips[part], &to->bytes));
    if (to->bytes.len - begin > UINT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "%u rows take %zu bytes in one column, too many to be sorted", head.row_count,
                         to->bytes.len - begin);
    struct part_size size = { (uint32_t)(to->bytes.len - begin), held_bytes };
    FIRN_PUSH(op->arena, &to->sizes, size);
    return FIRN_OK;
}

/* The parts of all blocks of the stretch, for the keys or for a leaf. */
static firn_status make_parts(struct firn_op *op, void *context, size_t index)
{
    const struct writing *writing = context;
    const struct firn_group_run *run = writing->writer->run;
    uint32_t part = index == 0 ? run->schema.leaf_count : run->leaf_order[index - 1];
    struct firn_taken_rows taken = { 0 };
    firn_status status = FIRN_OK;
    for (uint32_t first = writing->first; status == FIRN_OK && first < writing->end; first += writing->block_rows)
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

static firn_status put_stretch(struct firn_op *op, struct writing *writing, struct firn_buffer *bytes,
                               struct firn_arena *results, struct firn_sorted_run *out)
{
    const struct firn_group_run *run = writing->writer->run;
    uint32_t part_count = run->schema.leaf_count + 1;
    for (uint32_t i = 0; i < part_count; i++) {
        firn_buffer_clear(&writing->parts[i].bytes);
        writing->parts[i].sizes.count = 0;
    }
    FIRN_TRY(firn_pool_run(op, run->context->pool, part_count, 0, make_parts, writing));
    return put_blocks(op, writing, bytes, results, out);
}

static firn_status put_stretches(struct firn_op *op, struct writing *writing, struct firn_arena *results,
                                 struct firn_sorted_run *out)
{
    const struct firn_sorted_rows *rows = writing->rows;
    uint32_t part_count = writing->writer->run->schema.leaf_count + 1;
    double row_bytes = firn_sorted_row_bytes(rows);
    uint32_t block_rows = (uint32_t)FIRN_MAX(FIRN_MIN(writing->writer->block_bytes / row_bytes, BLOCK_ROWS_MAX), 1);
    double blocks = STRETCH_BYTES / (row_bytes * block_rows);
    uint32_t at_once = (uint32_t)FIRN_MAX(FIRN_MIN(blocks, UINT32_MAX / block_rows), 1) * block_rows;
    struct firn_buffer bytes = { 0 };
    firn_status status = FIRN_OK;
    writing->block_rows = block_rows;
    writing->parts = FIRN_NEW_ARRAY(op->arena, struct part_writer, part_count);
    while (status == FIRN_OK && writing->end < rows->count) {
        writing->first = writing->end;
        writing->end += FIRN_MIN(at_once, rows->count - writing->first);
        status = put_stretch(op, writing, &bytes, results, out);
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
    struct firn_arena scratch, *results = op->arena;
    firn_arena_init(&scratch);
    op->arena = &scratch;
    firn_status status = put_stretches(op, &writing, results, out);
    op->arena = results;
    firn_arena_done(&scratch);
    return status;
}
