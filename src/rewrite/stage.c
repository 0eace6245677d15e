/* Strips: rows of a leaf, a part (run_part.h) each. */
#include "rewrite/stage.h"

#include "base/math.h"
#include "rewrite/column.h"
#include "rewrite/run_part.h"

#define STRIP_DIVISOR 16  /* the strips of all columns take this part of the memory for chunks */
#define STRIPS_MAX    256 /* of a leaf: each has its place in memory */

struct strip_place {
    uint64_t offset;
    uint64_t bytes;
};

struct firn_stage {
    const struct firn_group_run *run;
    struct firn_spill *spill;
    int64_t first_row, row_count;
    uint32_t strip_rows, strip_count;
    struct firn_buffer places; /* struct strip_place: the strips of the first leaf, those of the second, ... */
};

static uint32_t rows_of_strip(const struct firn_stage_config *config)
{
    double row_bytes = FIRN_MAX((double)config->bytes / (double)config->row_count, 1);
    double rows = (double)config->run->chunk_bytes / STRIP_DIVISOR / row_bytes;
    double least = (double)(config->row_count + STRIPS_MAX - 1) / STRIPS_MAX;
    return (uint32_t)FIRN_MIN(FIRN_MIN(FIRN_MAX(rows, least), (double)config->row_count), UINT32_MAX / 2);
}

firn_status firn_stage_open(struct firn_op *op, const struct firn_stage_config *config, struct firn_stage **out)
{
    struct firn_stage *stage = FIRN_NEW(op->arena, struct firn_stage);
    const struct firn_spill_config spill = { .expected_bytes = config->bytes };
    *stage = (struct firn_stage){
        .run = config->run,
        .first_row = config->first_row,
        .row_count = config->row_count,
        .strip_rows = FIRN_MAX(rows_of_strip(config), 1u),
    };
    stage->strip_count = (uint32_t)((config->row_count + stage->strip_rows - 1) / stage->strip_rows);
    FIRN_TRY(firn_buffer_resize_array(op, &stage->places, (size_t)stage->strip_count * config->run->schema.leaf_count,
                                      sizeof(struct strip_place)));
    firn_status status = firn_spill_open(op, &spill, &stage->spill);
    if (status != FIRN_OK)
        firn_stage_close(stage);
    *out = stage;
    return status;
}

void firn_stage_close(struct firn_stage *stage)
{
    if (!stage)
        return;
    firn_spill_close(stage->spill);
    stage->spill = NULL;
    firn_buffer_done(&stage->places);
}

static struct strip_place *place_of(const struct firn_stage *stage, uint32_t leaf, uint32_t strip)
{
    struct strip_place *places = (struct strip_place *)(void *)stage->places.data;
    return &places[(size_t)leaf * stage->strip_count + strip];
}

/* Putting in. */

void firn_stage_writer_init(struct firn_stage_writer *writer, struct firn_stage *stage, uint32_t leaf)
{
    *writer = (struct firn_stage_writer){
        .stage = stage,
        .leaf = leaf,
        .rows = { .leaf = stage->run->schema.leaves[leaf].node },
    };
}

void firn_stage_writer_done(struct firn_stage_writer *writer)
{
    firn_held_column_done(&writer->rows);
    firn_taken_rows_done(&writer->taken);
    firn_buffer_done(&writer->numbers);
    firn_buffer_done(&writer->part);
}

/* The numbers of all rows held, in their order. */
static firn_status number_rows(struct firn_op *op, struct firn_stage_writer *writer)
{
    FIRN_TRY(firn_buffer_resize_array(op, &writer->numbers, writer->rows.row_count, sizeof(uint32_t)));
    for (uint32_t i = 0; i < writer->rows.row_count; i++)
        ((uint32_t *)(void *)writer->numbers.data)[i] = i;
    return FIRN_OK;
}

static firn_status make_part(struct firn_op *op, struct firn_stage_writer *writer)
{
    struct firn_vector vector;
    struct firn_run_part head;
    size_t begin;
    FIRN_TRY(number_rows(op, writer));
    const uint32_t *numbers = (const uint32_t *)(const void *)writer->numbers.data;
    FIRN_TRY(firn_held_column_take(op, &writer->rows, numbers, writer->rows.row_count, &writer->taken, &vector));
    firn_buffer_clear(&writer->part);
    FIRN_TRY(firn_run_part_begin(op, &writer->part, &begin));
    FIRN_TRY(firn_run_vector_put(op, &vector, &writer->part, &head));
    return firn_run_part_end(op, head, begin, writer->stage->run->codec, &writer->skips, &writer->part);
}

static firn_status put_strip(struct firn_op *op, struct firn_stage_writer *writer)
{
    struct firn_stage *stage = writer->stage;
    if (writer->strip == stage->strip_count)
        return firn_fail(op, FIRN_CORRUPT, "column '%.*s' holds more rows than its row group",
                         FIRN_FMT(writer->rows.leaf->path));
    struct strip_place *place = place_of(stage, writer->leaf, writer->strip++);
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(make_part(op, writer));
    place->bytes = writer->part.len;
    FIRN_TRY(firn_spill_put(op, stage->spill, firn_buffer_bytes(&writer->part), &place->offset));
    firn_held_column_clear(&writer->rows);
    return FIRN_OK;
}

firn_status firn_stage_append(struct firn_op *op, struct firn_stage_writer *writer, const struct firn_vector *vector)
{
    uint32_t slot = 0, value = 0;
    for (;;) {
        int64_t room = writer->stage->strip_rows - writer->rows.row_count;
        struct firn_vector part = firn_vector_part(vector, slot, value, room);
        if (part.slot_count > 0)
            FIRN_TRY(firn_held_column_append(op, &writer->rows, &part));
        slot += part.slot_count;
        value += part.value_count;
        if (slot == vector->slot_count)
            return FIRN_OK;
        FIRN_TRY(put_strip(op, writer));
    }
}

firn_status firn_stage_finish(struct firn_op *op, struct firn_stage_writer *writer)
{
    const struct firn_stage *stage = writer->stage;
    int64_t rows = (int64_t)writer->strip * stage->strip_rows + writer->rows.row_count;
    if (rows != stage->row_count)
        return firn_fail(op, FIRN_CORRUPT, "column '%.*s' holds %" PRId64 " rows instead of %" PRId64,
                         FIRN_FMT(writer->rows.leaf->path), rows, stage->row_count);
    return put_strip(op, writer);
}

/* Taking back. */

firn_status firn_stage_take(struct firn_op *op, const struct firn_stage *stage, uint32_t leaf, int64_t row,
                            struct firn_strip *strip, struct firn_vector *out)
{
    const struct firn_parquet_node *node = stage->run->schema.leaves[leaf].node;
    int64_t done = (row - stage->first_row) % stage->strip_rows;
    const struct strip_place *place = place_of(stage, leaf, (uint32_t)((row - stage->first_row) / stage->strip_rows));
    struct firn_run_part head;
    struct firn_bytes body;
    struct firn_vector all;
    FIRN_TRY(firn_spill_get(op, stage->spill, place->offset, (size_t)place->bytes, &strip->part));
    FIRN_TRY(firn_run_part_get(op, firn_buffer_bytes(&strip->part), stage->run->codec, &strip->body, &head, &body));
    FIRN_TRY(firn_run_vector_get(op, node, &head, body, &strip->values, &all));
    struct firn_vector passed = firn_vector_part(&all, 0, 0, done);
    *out = firn_vector_part(&all, passed.slot_count, passed.value_count, INT64_MAX);
    return FIRN_OK;
}

void firn_strip_done(struct firn_strip *strip)
{
    firn_buffer_done(&strip->part);
    firn_buffer_done(&strip->body);
    firn_run_values_done(&strip->values);
}
