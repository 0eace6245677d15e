/* Which inputs are open: as many as have room, opened side by side, closed once they are done and what was lent of them
 * is written. */
#include "rewrite/window.h"

#include "base/math.h"
#include "rewrite/input_file.h"
#include "rewrite/stage.h"

#define BLOCKS_WINDOW_MIN (UINT64_C(16) << 20) /* smaller windows have no room for blocks of files */

enum { OPEN_FILES_MAX = 64, LENT_FILES_MAX = 256, BATCH_PIECES_MAX = 512, NEIGHBOURS = 16 };

static firn_status load_job(struct firn_op *op, void *context, size_t index)
{
    struct firn_input **inputs = context;
    return firn_input_load(op, inputs[index]);
}

/* What is to be copied from it is not written yet. */
static void keep_open(struct firn_window *window, struct firn_input *input)
{
    input->next_lent = window->lent_files;
    window->lent_files = input;
    window->lent_file_count++;
}

static void close_input(struct firn_window *window, struct firn_input *input)
{
    window->held -= FIRN_MIN(window->held, firn_input_memory(input));
    window->open_files -= input->object != NULL;
    if (input->object && input->lent_to > window->blocks.written)
        keep_open(window, input);
    else
        firn_object_close(input->object);
    if (input->block)
        firn_input_blocks_give(&window->blocks, input->block);
    firn_buffer_done(&input->own);
    firn_arena_done(&input->arena);
}

static uint64_t row_group_bytes(const struct firn_row_group *row_group)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < row_group->chunk_count; i++)
        bytes += (uint64_t)FIRN_MAX(row_group->chunks[i].compressed_bytes, 0);
    return bytes;
}

/* A row group belongs to the piece that holds its midpoint; what lies past the recorded end of the file, which may be
 * wrong, belongs to the last one. */
static bool piece_holds(const struct firn_rewrite_piece *piece, const struct firn_data_file *file,
                        const struct firn_row_group *row_group)
{
    uint64_t start, len;
    firn_column_chunk_range(&row_group->chunks[0], &start, &len);
    uint64_t middle = start + row_group_bytes(row_group) / 2;
    uint64_t end = piece->offset + piece->length;
    return middle >= piece->offset && (middle < end || end >= (uint64_t)file->file_bytes);
}

static int64_t count_deleted(const struct firn_positions *deleted, int64_t first, int64_t count)
{
    return deleted ? (int64_t)firn_positions_count_range(deleted, first, first + count) : 0;
}

/* Rows of a piece: those its row groups hold, and the deleted ones among them. */
struct piece_rows {
    int64_t covered, deleted;
};

static void count_rows(const struct firn_window *window, const struct firn_input *input, struct piece_rows rows)
{
    struct firn_input_rows *counted = &window->run->input_rows[input->index];
    atomic_store(&counted->total, input->footer->row_count);
    atomic_fetch_add(&counted->covered, rows.covered);
    atomic_fetch_add(&counted->deleted, rows.deleted);
}

static void report_input(struct firn_op *op, struct firn_window *window, const struct firn_input *input)
{
    firn_progress_tick(op, window->run->context->progress, input->progress_file, input->progress_bytes);
}

/* The indexes of a large file are fetched apart from its chunks. */
static void add_page_indexes(struct firn_input *input, const struct firn_row_group *row_group,
                             struct firn_row_slice *slice)
{
    if (!input->object)
        return;
    slice->page_indexes = firn_page_index_reader_new(&input->arena, row_group, firn_object_size(input->object));
}

static void add_memory(struct firn_op *op, const struct firn_group_run *run, const struct firn_row_group *row_group,
                       struct firn_row_slice *slice)
{
    const struct firn_chunk_memory_terms terms = {
        .footer = slice->input->footer,
        .row_group = row_group,
        .file = slice->input->bytes,
        .index_bytes = slice->page_indexes ? firn_page_index_reader_bytes(slice->page_indexes) : 0,
        .bytes_max = run->chunk_bytes,
    };
    slice->memory = firn_chunk_memory_find(op, &terms);
}

/* Adds the slices of one opened piece. A row group that is deleted as a whole gives none: it is not read. */
static struct piece_rows list_slices(struct firn_op *op, struct firn_window *window, struct firn_input *input,
                                     uint32_t piece_index)
{
    const struct firn_rewrite_piece *piece = &window->bin->pieces[piece_index];
    const struct firn_positions *deleted = window->run->deleted ? window->run->deleted[input->index] : NULL;
    struct piece_rows rows = { 0 };
    int64_t first_row = 0, piece_row = 0;
    for (uint32_t i = 0; i < input->footer->row_group_count; first_row += input->footer->row_groups[i++].row_count) {
        const struct firn_row_group *row_group = &input->footer->row_groups[i];
        if (row_group->row_count == 0 || !piece_holds(piece, input->file, row_group))
            continue;
        struct firn_row_slice slice = {
            .input = input,
            .row_group = i,
            .input_index = input->index,
            .piece = piece_index,
            .piece_row = piece_row,
            .first_row = first_row,
            .row_count = row_group->row_count,
            .deleted = deleted,
            .deleted_count = count_deleted(deleted, first_row, row_group->row_count),
            .bytes = row_group_bytes(row_group),
        };
        rows.covered += slice.row_count;
        rows.deleted += slice.deleted_count;
        if (slice.deleted_count == slice.row_count)
            continue;
        add_page_indexes(input, row_group, &slice);
        add_memory(op, window->run, row_group, &slice);
        FIRN_PUSH(op->arena, &window->slices, slice);
        input->slices_left++;
        piece_row += slice.row_count;
    }
    return rows;
}

static void add_slices(struct firn_op *op, struct firn_window *window, struct firn_input *input, uint32_t piece_index)
{
    struct piece_rows rows = list_slices(op, window, input, piece_index);
    window->held += firn_input_memory(input);
    window->open_files += input->object != NULL;
    if (!window->counted[piece_index])
        count_rows(window, input, rows);
    window->counted[piece_index] = true;
    if (input->slices_left == 0) {
        report_input(op, window, input);
        close_input(window, input);
    }
}

static const struct firn_data_file *file_of(const struct firn_window *window, uint32_t index)
{
    const struct firn_rewrite_piece *piece = &window->bin->pieces[window->pieces[index]];
    return &window->run->group->inputs[piece->input];
}

/* The small files of the pieces up to `end`, and those of a window beyond, are expected: the disk is asked for them
 * while others are read and worked on. Not the first, which is opened right away, and not the neighbours of one that is
 * at hand: opening all of them twice would take longer than it saves. */
static void expect_files(struct firn_op *op, struct firn_window *window, uint32_t end)
{
    uint64_t ahead = 0;
    window->expected = FIRN_MAX(window->expected, window->next + 1);
    for (uint32_t i = window->next; i < window->piece_count; i++) {
        const struct firn_data_file *file = file_of(window, i);
        ahead += i >= end ? firn_input_memory_guess(file) : 0;
        if (ahead > window->run->window_bytes)
            break;
        if (i < window->expected || !firn_input_is_small(file))
            continue;
        bool is_far = firn_store_expect(op, window->run->context->store, file->path);
        window->expected = i + (is_far ? 1 : NEIGHBOURS);
    }
}

/* Finds room for a file that is to be read whole. */
static void reserve_place(struct firn_op *op, struct firn_window *window, struct firn_input *input)
{
    int64_t bytes = input->file->file_bytes;
    if (window->run->window_bytes >= BLOCKS_WINDOW_MIN && bytes > 0 && firn_input_is_small(input->file))
        input->block = firn_input_blocks_take(op, &window->blocks, (size_t)bytes, &input->place);
}

static struct firn_input *new_input(struct firn_op *op, struct firn_window *window, uint32_t piece_index)
{
    const struct firn_rewrite_piece *piece = &window->bin->pieces[piece_index];
    struct firn_input *input = FIRN_NEW(op->arena, struct firn_input);
    firn_arena_init(&input->arena);
    input->run = window->run;
    input->index = piece->input;
    input->file = &window->run->group->inputs[piece->input];
    reserve_place(op, window, input);
    if (window->counted[piece_index])
        return input;
    input->progress_bytes = piece->length;
    input->progress_file = piece->offset == 0 || (input->file->split_offset_count > 0 &&
                                                  piece->offset == (uint64_t)input->file->split_offsets[0]);
    return input;
}

/* Opens the next pieces, as many as fit, in parallel. */
static firn_status fill_batch(struct firn_op *op, struct firn_window *window, uint64_t bytes_wanted)
{
    struct firn_input *inputs[BATCH_PIECES_MAX];
    uint32_t count = 0, first = window->next;
    uint64_t bytes = 0;
    while (count < BATCH_PIECES_MAX && first + count < window->piece_count) {
        const struct firn_data_file *file = file_of(window, first + count);
        uint64_t guess = firn_input_memory_guess(file);
        if (count > 0 &&
            (bytes >= bytes_wanted || !firn_input_is_small(file) || window->held + guess > window->run->window_bytes))
            break;
        inputs[count] = new_input(op, window, window->pieces[first + count]);
        window->held += guess;
        bytes += window->bin->pieces[window->pieces[first + count]].length;
        count++;
    }
    expect_files(op, window, first + count);
    firn_status status = firn_pool_run(op, window->run->context->pool, count, 0, load_job, inputs);
    for (uint32_t i = 0; i < count; i++)
        window->held -= firn_input_memory_guess(inputs[i]->file);
    for (uint32_t i = 0; i < count; i++) {
        if (status == FIRN_OK)
            add_slices(op, window, inputs[i], window->pieces[first + i]);
        else
            close_input(window, inputs[i]);
    }
    window->next += count;
    return status;
}

static uint64_t waiting_bytes(const struct firn_window *window)
{
    uint64_t bytes = 0;
    for (size_t i = window->head; i < window->slices.count; i++)
        bytes += window->slices.items[i].bytes;
    return bytes;
}

firn_status firn_window_fill(struct firn_op *op, struct firn_window *window, uint64_t bytes_wanted)
{
    while (window->next < window->piece_count) {
        bool empty = window->head == window->slices.count;
        uint64_t waiting = waiting_bytes(window);
        uint64_t guess = firn_input_memory_guess(file_of(window, window->next));
        bool full = window->held + guess > window->run->window_bytes || window->open_files >= OPEN_FILES_MAX;
        if (!empty && (full || waiting >= bytes_wanted))
            break;
        FIRN_TRY(fill_batch(op, window, bytes_wanted - FIRN_MIN(waiting, bytes_wanted)));
    }
    return FIRN_OK;
}

/* How many of a slice's rows from `first` on hold `live` rows that are not deleted, or the first of more. */
static int64_t rows_with_live(const struct firn_row_slice *slice, int64_t first, int64_t live)
{
    int64_t low = FIRN_MIN(live, slice->row_count - first), high = slice->row_count - first;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (firn_row_slice_live(slice, first, middle) <= live)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int64_t rows_within(const struct firn_window *window, double bytes,
                           double (*row_bytes_of)(const struct firn_row_slice *slice))
{
    int64_t rows = 0, done = window->head_row;
    for (size_t i = window->head; i < window->slices.count; i++) {
        const struct firn_row_slice *slice = &window->slices.items[i];
        int64_t left = slice->row_count - done;
        double row_bytes = row_bytes_of(slice), live = (double)firn_row_slice_live(slice, done, left);
        if (row_bytes * live > bytes)
            return FIRN_MAX(rows + rows_with_live(slice, done, (int64_t)(bytes / row_bytes)), 1);
        bytes -= row_bytes * live;
        rows += left;
        done = 0;
    }
    return rows;
}

int64_t firn_window_rows_within(const struct firn_window *window, double bytes)
{
    return rows_within(window, bytes, firn_row_slice_row_bytes);
}

static double decoded_row_bytes(const struct firn_row_slice *slice)
{
    return (double)slice->memory.decoded_bytes / (double)slice->row_count;
}

int64_t firn_window_rows_decoded_within(const struct firn_window *window, double bytes)
{
    return rows_within(window, bytes, decoded_row_bytes);
}

double firn_window_bytes_of(const struct firn_window *window, int64_t rows)
{
    double bytes = 0;
    int64_t done = window->head_row;
    for (size_t i = window->head; rows > 0; i++) {
        const struct firn_row_slice *slice = &window->slices.items[i];
        int64_t now = FIRN_MIN(rows, slice->row_count - done);
        bytes += firn_row_slice_row_bytes(slice) * (double)firn_row_slice_live(slice, done, now);
        rows -= now;
        done = 0;
    }
    return bytes;
}

double firn_window_bytes_left(const struct firn_window *window)
{
    double bytes = firn_window_bytes_of(window, firn_window_rows(window));
    for (uint32_t i = window->next; i < window->piece_count; i++)
        bytes += (double)window->bin->pieces[window->pieces[i]].length;
    return bytes;
}

uint32_t firn_window_columns_at_once(const struct firn_window *window, int64_t rows)
{
    uint64_t most = window->run->chunk_bytes, at_once = UINT32_MAX;
    rows += window->head_row;
    for (size_t i = window->head; i < window->slices.count && rows > 0; i++) {
        const struct firn_row_slice *slice = &window->slices.items[i];
        if (!firn_row_slice_fits(slice))
            at_once = FIRN_MIN(at_once, most / slice->memory.column_bytes_max);
        rows -= slice->row_count;
    }
    return (uint32_t)FIRN_MAX(at_once, 1);
}

int64_t firn_window_rows(const struct firn_window *window)
{
    int64_t rows = -window->head_row;
    for (size_t i = window->head; i < window->slices.count; i++)
        rows += window->slices.items[i].row_count;
    return rows;
}

void firn_window_advance(struct firn_op *op, struct firn_window *window, int64_t rows)
{
    window->head_row += rows;
    while (window->head < window->slices.count && window->head_row >= window->slices.items[window->head].row_count) {
        struct firn_row_slice *slice = &window->slices.items[window->head++];
        window->head_row -= slice->row_count;
        firn_stage_close(slice->stage);
        if (slice->page_indexes)
            firn_page_index_reader_clear(slice->page_indexes);
        if (--slice->input->slices_left == 0) {
            report_input(op, window, slice->input);
            close_input(window, slice->input);
        }
    }
}

/* Lends a slice. Files that stay open are limited in number. */
static bool lend_slice(const struct firn_window *window, struct firn_input *input, struct firn_lending lending)
{
    bool is_file = input->object && firn_object_source(input->object) &&
                   window->lent_file_count + window->open_files <= LENT_FILES_MAX;
    bool is_memory = input->place && lending.lends_memory;
    if (lending.row_group == 0 || (!is_file && !is_memory))
        return false;
    if (is_file)
        input->lent_to = lending.row_group;
    else
        input->block->lent_to = lending.row_group;
    return true;
}

void firn_window_lend(struct firn_window *window, int64_t rows, struct firn_lending lending)
{
    uint64_t most = window->run->window_bytes;
    if (!lending.lends_memory)
        firn_input_blocks_trim(&window->blocks, most - FIRN_MIN(window->held, most));
    rows += window->head_row;
    for (size_t i = window->head; rows > 0; rows -= window->slices.items[i++].row_count) {
        struct firn_row_slice *slice = &window->slices.items[i];
        slice->lends = lend_slice(window, slice->input, lending);
    }
}

static void close_lent(struct firn_window *window, uint32_t row_group)
{
    struct firn_input **at = &window->lent_files;
    while (*at) {
        struct firn_input *input = *at;
        if (input->lent_to > row_group) {
            at = &input->next_lent;
            continue;
        }
        *at = input->next_lent;
        window->lent_file_count--;
        firn_object_close(input->object);
    }
}

void firn_window_take_back(struct firn_window *window, uint32_t row_group)
{
    close_lent(window, row_group);
    firn_input_blocks_take_back(&window->blocks, row_group);
}

void firn_window_look_past(struct firn_window *view, int64_t rows)
{
    view->head_row += rows;
    while (view->head < view->slices.count && view->head_row >= view->slices.items[view->head].row_count)
        view->head_row -= view->slices.items[view->head++].row_count;
}

void firn_window_close(struct firn_window *window)
{
    for (; window->head < window->slices.count; window->head++) {
        struct firn_input *input = window->slices.items[window->head].input;
        firn_stage_close(window->slices.items[window->head].stage);
        if (--input->slices_left == 0)
            close_input(window, input);
    }
    close_lent(window, UINT32_MAX);
    firn_input_blocks_done(&window->blocks);
}
