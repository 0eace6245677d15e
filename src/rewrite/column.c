/* Reading a column across slices, pages and steps. */
#include "rewrite/column_offer.h"

#include "base/math.h"
#include "format/parquet/unpack.h"
#include "rewrite/stage.h"

#define ROWS_AT_ONCE_MAX 65536 /* of columns that need no page: constants, nulls, row numbers */

static uint32_t part_slots(const struct firn_vector *vector, uint32_t slot, int64_t rows, uint32_t *row_count)
{
    uint32_t left = vector->slot_count - slot;
    *row_count = 0;
    if (!vector->rep) {
        *row_count = (uint32_t)FIRN_MIN(rows, (int64_t)left);
        return *row_count;
    }
    for (uint32_t i = 0; i < left; i++) {
        if (vector->rep[slot + i] != 0)
            continue;
        if (*row_count == rows)
            return i;
        ++*row_count;
    }
    return left;
}

static uint32_t count_values(const struct firn_vector *vector, uint32_t slot, uint32_t slots)
{
    return vector->def ? (uint32_t)firn_count_u8(vector->def + slot, slots, vector->def_max) : slots;
}

struct firn_vector firn_vector_part(const struct firn_vector *vector, uint32_t slot, uint32_t value, int64_t rows)
{
    struct firn_vector part = *vector;
    part.slot_count = part_slots(vector, slot, rows, &part.row_count);
    part.value_count = count_values(vector, slot, part.slot_count);
    part.rep = vector->rep ? vector->rep + slot : NULL;
    part.def = vector->def ? vector->def + slot : NULL;
    if (vector->indices)
        part.indices = vector->indices + value;
    else if (vector->values.any)
        part.values.any = (uint8_t *)vector->values.any + value * firn_value_width(vector->type, vector->type_length);
    return part;
}

firn_status firn_levels_append(struct firn_op *op, struct firn_buffer *out, const uint8_t *levels, uint8_t otherwise,
                               uint32_t count)
{
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, count, &at));
    if (levels)
        memcpy(at, levels, count);
    else
        memset(at, otherwise, count);
    return FIRN_OK;
}

void firn_column_drop_page(struct firn_column *column)
{
    column->page = (struct firn_vector){ 0 };
    column->page_slot = column->page_value = 0;
}

static void close_chunk(struct firn_column *column)
{
    firn_chunk_reader_close(column->reader);
    column->reader = NULL;
    column->has_sources = false;
    firn_column_drop_page(column);
    firn_buffer_done(&column->chunk);
}

static bool wants_indices(const struct firn_column *column, const struct firn_leaf_plan *plan)
{
    return plan->has_values && (!column->splicer || firn_splicer_maps(column->splicer));
}

/* Looks up what the file tells of the chunk's pages, unless they must be decoded anyhow. */
static firn_status find_sources(struct firn_op *op, struct firn_column *column, const struct firn_row_slice *slice,
                                const struct firn_parquet_node *levels)
{
    struct firn_arena *arena = op->arena;
    if (!firn_splicer_may_copy(column->splicer) || !column->splicer->is_ordered_alike)
        return FIRN_OK;
    firn_arena_reset(&column->chunk_arena);
    op->arena = &column->chunk_arena;
    firn_status status = firn_row_slice_page_sources(op, slice, levels, &column->sources);
    op->arena = arena;
    column->has_sources = status == FIRN_OK;
    return status;
}

static firn_status open_chunk(struct firn_op *op, struct firn_column *column, const struct firn_row_slice *slice,
                              const struct firn_leaf_plan *plan)
{
    const struct firn_column_chunk *chunk = firn_row_slice_column(slice, plan->levels);
    struct firn_chunk_source source;
    FIRN_TRY(firn_row_slice_chunk(op, slice, plan->levels, &column->chunk, &source));
    struct firn_chunk_reader_options options = {
        .crc_check = true,
        .keep_dictionary = wants_indices(column, plan),
        .codec_context = column->codec,
    };
    column->page_count = 0;
    column->slots_left = chunk->value_count;
    if (column->splicer) {
        firn_splicer_begin(column->splicer, plan, chunk, firn_row_slice_created_by(slice));
        FIRN_TRY(find_sources(op, column, slice, plan->levels));
    }
    return firn_chunk_reader_open_source(op, plan->levels, chunk, slice->row_count, &source, options, &column->reader);
}

/* Version 2 pages hold whole rows, as all pages of a column do that is not nested. */
static firn_status peek_page(struct firn_op *op, struct firn_pull *pull, struct firn_next_page *out)
{
    *out = (struct firn_next_page){ 0 };
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_chunk_reader_peek(op, pull->column->reader, &out->page, &out->is_there));
    if (!out->is_there)
        return FIRN_OK;
    struct firn_column *column = pull->column;
    firn_row_slice_lend(pull->slice, pull->plan->levels, &out->page);
    const struct firn_page_header *header = &out->page.header;
    bool is_flat = pull->plan->levels->rep_max == 0;
    out->has_facts = column->has_sources && firn_page_facts_find(&column->chunk_arena, &column->sources, &out->page,
                                                                 column->page_count, NULL, &out->facts);
    out->holds_rows = is_flat || header->type == FIRN_PAGE_DATA_V2 || out->has_facts;
    if (out->has_facts)
        out->row_count = out->facts.row_count;
    else if (out->holds_rows)
        out->row_count = (uint32_t)(is_flat ? header->value_count : header->row_count);
    return FIRN_OK;
}

firn_status firn_column_decode_page(struct firn_op *op, struct firn_column *column)
{
    bool has_page;
    FIRN_TRY(firn_chunk_reader_next(op, column->reader, &column->page, &has_page));
    column->page_slot = column->page_value = 0;
    return FIRN_OK;
}

/* Passes over the next page if nothing of it is wanted, or decodes it. */
static firn_status skip_page(struct firn_op *op, struct firn_column *column, const struct firn_next_page *next,
                             int64_t rows_left, uint32_t *row_count)
{
    if (!next->holds_rows || next->row_count > rows_left)
        return firn_column_decode_page(op, column);
    *row_count = next->row_count;
    return firn_chunk_reader_pass(op, column->reader, next->row_count);
}

/* Turns to the next page, which is then decoded, or else done with: `*row_count` rows. */
static firn_status turn_page(struct firn_op *op, struct firn_pull *pull, const struct firn_next_page *next,
                             int64_t rows_left, uint32_t *row_count)
{
    *row_count = 0;
    firn_status status;
    if (!pull->receiver)
        status = skip_page(op, pull->column, next, rows_left, row_count);
    else if (pull->receiver->consider)
        status = firn_column_offer_page_ahead(op, pull, next, rows_left, row_count);
    else
        status = firn_column_decode_page(op, pull->column);
    pull->column->page_count++;
    pull->column->slots_left -= next->page.header.value_count;
    return status;
}

/* The next part of the page at hand, of at most `rows` rows. */
static struct firn_vector next_part(struct firn_column *column, int64_t rows)
{
    struct firn_vector part = firn_vector_part(&column->page, column->page_slot, column->page_value, rows);
    column->page_slot += part.slot_count;
    column->page_value += part.value_count;
    return part;
}

static firn_status pass_on(struct firn_op *op, struct firn_pull *pull, const struct firn_vector *in, int64_t slice_row)
{
    struct firn_vector out;
    if (!pull->receiver)
        return FIRN_OK;
    FIRN_TRY(firn_adapter_run(op, &pull->column->adapter, pull->plan, pull->column->leaf->node, in,
                              pull->slice->first_row + slice_row, &out));
    if (out.slot_count == 0)
        return FIRN_OK;
    bool continues = out.rep && out.rep[0] > 0;
    return pull->receiver->emit(op, pull->receiver->context, pull->column, &out, pull->row - continues);
}

/* Turns the page until one has slots to be passed on. False: there is none, or it begins with a row beyond `*left`. */
static firn_status find_slots(struct firn_op *op, struct firn_pull *pull, int64_t *left, bool *found)
{
    struct firn_column *column = pull->column;
    pull->page_waits = false;
    while (column->page_slot == column->page.slot_count) {
        struct firn_next_page next;
        uint32_t row_count;
        FIRN_TRY(peek_page(op, pull, &next));
        pull->page_waits = next.is_there && next.holds_rows && *left == 0;
        *found = next.is_there && !pull->page_waits;
        if (!*found)
            return FIRN_OK;
        FIRN_TRY(turn_page(op, pull, &next, *left, &row_count));
        *left -= row_count;
        pull->row += row_count;
    }
    *found = true;
    return FIRN_OK;
}

/* A column that follows the slots of an input leaf. */
static firn_status pull_pages(struct firn_op *op, struct firn_pull *pull, int64_t rows)
{
    struct firn_column *column = pull->column;
    int64_t left = rows;
    for (;;) {
        bool found;
        FIRN_TRY(find_slots(op, pull, &left, &found));
        if (!found)
            break;
        struct firn_vector part = next_part(column, left);
        if (part.slot_count == 0)
            break;
        FIRN_TRY(pass_on(op, pull, &part, column->slice_row + rows - left));
        left -= part.row_count;
        pull->row += part.row_count;
    }
    if (left > 0)
        return firn_fail(op, FIRN_CORRUPT, "column '%.*s' ends %" PRId64 " rows early",
                         FIRN_FMT(pull->plan->levels->path), left);
    return FIRN_OK;
}

static firn_status pull_rows(struct firn_op *op, struct firn_pull *pull, int64_t rows)
{
    for (int64_t done = 0; done < rows;) {
        struct firn_vector in = { .row_count = (uint32_t)FIRN_MIN(rows - done, ROWS_AT_ONCE_MAX) };
        FIRN_TRY(pass_on(op, pull, &in, pull->column->slice_row + done));
        done += in.row_count;
        pull->row += in.row_count;
    }
    return FIRN_OK;
}

/* A chunk that was let go in the middle is decoded again up to where the column stands. */
static firn_status reach_row(struct firn_op *op, struct firn_pull *pull)
{
    struct firn_pull skip = *pull;
    skip.receiver = NULL;
    if (pull->column->reader)
        return FIRN_OK;
    FIRN_TRY(open_chunk(op, pull->column, pull->slice, pull->plan));
    return pull->column->slice_row > 0 ? pull_pages(op, &skip, pull->column->slice_row) : FIRN_OK;
}

/* A column whose rows are in temporary files. */
static firn_status take_strips(struct firn_op *op, struct firn_pull *pull, int64_t rows, struct firn_strip *strip)
{
    const struct firn_column *column = pull->column;
    for (int64_t done = 0; done < rows;) {
        struct firn_vector part;
        FIRN_TRY(firn_stage_take(op, pull->slice->stage, column->leaf->node->leaf_index, column->slice_row + done,
                                 strip, &part));
        part = firn_vector_part(&part, 0, 0, rows - done);
        FIRN_TRY(pull->receiver->emit(op, pull->receiver->context, column, &part, pull->row));
        done += part.row_count;
        pull->row += part.row_count;
    }
    return FIRN_OK;
}

static firn_status pull_strips(struct firn_op *op, struct firn_pull *pull, int64_t rows)
{
    struct firn_strip strip = { 0 };
    firn_status status = take_strips(op, pull, rows, &strip);
    firn_strip_done(&strip);
    if (status == FIRN_OK)
        pull->column->slice_row += rows;
    return status;
}

static firn_status pull_slice(struct firn_op *op, struct firn_pull *pull, int64_t rows)
{
    struct firn_column *column = pull->column;
    if (pull->plan->levels && pull->slice->stage)
        return pull_strips(op, pull, rows);
    if (!pull->plan->levels) {
        FIRN_TRY(pull_rows(op, pull, rows));
    } else {
        FIRN_TRY(reach_row(op, pull));
        FIRN_TRY(pull_pages(op, pull, rows));
    }
    column->slice_row += rows;
    if (column->slice_row == pull->slice->row_count &&
        (pull->page_waits || column->page_slot < column->page.slot_count))
        return firn_fail(op, FIRN_CORRUPT, "column '%.*s' holds more rows than its row group",
                         FIRN_FMT(pull->plan->levels->path));
    return FIRN_OK;
}

static firn_status pull_all(struct firn_op *op, struct firn_pull *pull, struct firn_window *window, int64_t rows)
{
    struct firn_column *column = pull->column;
    while (rows > 0) {
        pull->slice = &window->slices.items[column->slice];
        pull->plan = firn_row_slice_plan(pull->slice, column->leaf->node->leaf_index);
        int64_t now = FIRN_MIN(rows, pull->slice->row_count - column->slice_row);
        firn_status status = pull_slice(op, pull, now);
        if (status != FIRN_OK)
            return firn_context(op, status, "data file %.*s", FIRN_FMT(firn_row_slice_path(pull->slice)));
        if (column->slice_row == pull->slice->row_count) {
            close_chunk(column);
            column->slice++;
            column->slice_row = 0;
        }
        rows -= now;
    }
    return FIRN_OK;
}

firn_status firn_column_pull(struct firn_op *op, struct firn_column *column, struct firn_window *window, int64_t rows,
                             const struct firn_column_receiver *receiver)
{
    struct firn_pull pull = { .column = column, .receiver = receiver };
    return pull_all(op, &pull, window, rows);
}

firn_status firn_column_open(struct firn_op *op, struct firn_column *column, struct firn_window *window)
{
    const struct firn_row_slice *slice = &window->slices.items[column->slice];
    const struct firn_leaf_plan *plan = firn_row_slice_plan(slice, column->leaf->node->leaf_index);
    struct firn_pull pull = { .column = column, .slice = slice, .plan = plan };
    if (!plan->levels)
        return FIRN_OK;
    return firn_context(op, reach_row(op, &pull), "data file %.*s", FIRN_FMT(firn_row_slice_path(slice)));
}

static firn_status stage_rows(struct firn_op *op, void *context, const struct firn_column *column,
                              const struct firn_vector *vector, int64_t row)
{
    (void)column;
    (void)row;
    return firn_stage_append(op, context, vector);
}

/* What is not read at one go is cut. */
static firn_status refuse_page(struct firn_op *op, void *context, const struct firn_column *column,
                               struct firn_page_offer *offer, int64_t row, enum firn_offer_answer *out)
{
    (void)op;
    (void)context;
    (void)column;
    (void)row;
    if (offer->refusal == FIRN_REASON_NONE)
        offer->refusal = FIRN_REASON_STEP_END;
    *out = FIRN_OFFER_REFUSED;
    return FIRN_OK;
}

static firn_status stage_rest(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                              struct firn_stage_writer *writer)
{
    const struct firn_column_receiver receiver = { .emit = stage_rows, .consider = refuse_page, .context = writer };
    size_t slice = column->slice;
    int64_t row = column->slice_row;
    FIRN_TRY(firn_column_pull(op, column, window, window->slices.items[slice].row_count - row, &receiver));
    column->slice = slice;
    column->slice_row = row;
    return firn_stage_finish(op, writer);
}

firn_status firn_column_stage(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                              struct firn_stage *stage)
{
    const struct firn_row_slice *slice = &window->slices.items[column->slice];
    struct firn_stage_writer writer;
    if (!firn_row_slice_plan(slice, column->leaf->node->leaf_index)->levels)
        return FIRN_OK;
    firn_stage_writer_init(&writer, stage, column->leaf->node->leaf_index);
    firn_status status = stage_rest(op, column, window, &writer);
    firn_stage_writer_done(&writer);
    return status;
}

void firn_column_suspend(struct firn_column *column)
{
    close_chunk(column);
    firn_arena_done(&column->chunk_arena);
    firn_adapter_done(&column->adapter);
}

void firn_column_close(struct firn_column *column)
{
    firn_column_suspend(column);
}
