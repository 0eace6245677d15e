/* Opening inputs: one read for a small file, footer first and chunks later for a large one; in pieces where the chunks
 * of a row group cannot all be held. */
#include "rewrite/window.h"

#include "base/math.h"
#include "rewrite/stage.h"

#define SMALL_FILE_BYTES  (UINT64_C(8) << 20)
#define FOOTER_READ       (UINT64_C(64) << 10) /* how much of a large file's end is read at first */
#define FOOTER_MEMORY     (UINT64_C(32) << 10) /* what a parsed footer takes, as a first guess */
#define BLOCKS_WINDOW_MIN (UINT64_C(16) << 20) /* smaller windows have no room for blocks of files */

enum { OPEN_FILES_MAX = 64, LENT_FILES_MAX = 256, BATCH_PIECES_MAX = 512, NEIGHBOURS = 16 };

struct firn_input {
    const struct firn_data_file *file;
    struct firn_group_run *run;
    uint32_t index; /* among the group's inputs */
    struct firn_arena arena;
    struct firn_object *object; /* NULL once the whole file is in `bytes` */
    uint32_t lent_to;           /* the last row group that is written from it; 0: none */
    struct firn_input *next_lent;
    struct firn_bytes bytes;
    struct firn_input_block *block; /* the bytes lie in it, */
    uint8_t *place;                 /* here; NULL: in a buffer of their own */
    struct firn_buffer own;
    struct firn_footer *footer;
    struct firn_projection projection;
    uint32_t slices_left;
    uint64_t progress_bytes; /* to report when the input is done; 0 when it was read before */
    bool progress_file;      /* the file's first piece counts the file */
};

static firn_status read_range(struct firn_op *op, struct firn_group_run *run, struct firn_object *object,
                              uint64_t offset, uint64_t len, struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, (size_t)len));
    atomic_fetch_add(&run->requests, 1);
    return firn_object_read(op, object, offset, (size_t)len, out->data);
}

/* Where the file has room in a block it goes there, if that is its size. */
static firn_status read_whole(struct firn_op *op, struct firn_group_run *run, struct firn_input *input, uint64_t size)
{
    if (input->place && size == (uint64_t)input->file->file_bytes) {
        input->bytes = (struct firn_bytes){ input->place, (size_t)size };
        atomic_fetch_add(&run->requests, 1);
        return firn_object_read(op, input->object, 0, (size_t)size, input->place);
    }
    input->place = NULL;
    FIRN_TRY(read_range(op, run, input->object, 0, size, &input->own));
    input->bytes = firn_buffer_bytes(&input->own);
    return FIRN_OK;
}

static firn_status parse_end(struct firn_op *op, struct firn_bytes tail, uint64_t size, uint32_t *footer_bytes)
{
    struct firn_bytes end = { tail.data + tail.len - FIRN_PARQUET_TAIL_BYTES, FIRN_PARQUET_TAIL_BYTES };
    return firn_footer_tail_parse(op, end, size, footer_bytes);
}

static firn_status parse_footer(struct firn_op *op, struct firn_input *input, struct firn_bytes tail, uint64_t size,
                                uint32_t footer_bytes)
{
    struct firn_bytes footer = { tail.data + tail.len - FIRN_PARQUET_TAIL_BYTES - footer_bytes, footer_bytes };
    return firn_footer_parse(op, footer, size, &input->footer);
}

static firn_status read_small(struct firn_op *op, struct firn_group_run *run, struct firn_input *input, uint64_t size)
{
    uint32_t footer_bytes;
    FIRN_TRY(read_whole(op, run, input, size));
    firn_object_close(input->object);
    input->object = NULL;
    FIRN_TRY(parse_end(op, input->bytes, size, &footer_bytes));
    return parse_footer(op, input, input->bytes, size, footer_bytes);
}

/* Reads the end of the file until it holds the footer. */
static firn_status read_tail(struct firn_op *op, struct firn_group_run *run, struct firn_object *object,
                             struct firn_buffer *tail, uint32_t *footer_bytes)
{
    uint64_t size = firn_object_size(object);
    FIRN_TRY(read_range(op, run, object, size - FOOTER_READ, FOOTER_READ, tail));
    FIRN_TRY(parse_end(op, firn_buffer_bytes(tail), size, footer_bytes));
    uint64_t need = (uint64_t)*footer_bytes + FIRN_PARQUET_TAIL_BYTES;
    if (need <= tail->len)
        return FIRN_OK;
    return read_range(op, run, object, size - need, need, tail);
}

static firn_status read_large(struct firn_op *op, struct firn_group_run *run, struct firn_input *input, uint64_t size)
{
    struct firn_buffer tail = { 0 };
    uint32_t footer_bytes;
    firn_status status = read_tail(op, run, input->object, &tail, &footer_bytes);
    if (status == FIRN_OK)
        status = parse_footer(op, input, firn_buffer_bytes(&tail), size, footer_bytes);
    firn_buffer_done(&tail);
    return status;
}

static firn_status read_footer(struct firn_op *op, struct firn_group_run *run, struct firn_input *input)
{
    FIRN_TRY(firn_object_open(op, run->context->store, input->file->path, &input->object));
    uint64_t size = firn_object_size(input->object);
    if (size < FIRN_PARQUET_TAIL_BYTES)
        return firn_fail(op, FIRN_CORRUPT, "the file has %" PRIu64 " bytes, too few for Parquet", size);
    return size <= SMALL_FILE_BYTES ? read_small(op, run, input, size) : read_large(op, run, input, size);
}

static firn_status load_input(struct firn_op *op, struct firn_group_run *run, struct firn_input *input)
{
    const struct firn_metadata *metadata = run->context->metadata;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, input->file->spec_id);
    if (!spec)
        return firn_fail(op, FIRN_CORRUPT, "the table has no partition spec %d", input->file->spec_id);
    FIRN_TRY(read_footer(op, run, input));
    struct firn_projection_config config = {
        .schema = &run->schema,
        .ids = &run->ids,
        .spec = spec,
        .file = input->file,
    };
    if (run->group->input_sequence_numbers)
        config.sequence_number = run->group->input_sequence_numbers[input->index];
    return firn_projection_new(op, &config, input->footer, &input->projection);
}

struct loading {
    struct firn_window *window;
    struct firn_input **inputs;
};

static firn_status load_job(struct firn_op *op, void *context, size_t index)
{
    struct loading *loading = context;
    struct firn_input *input = loading->inputs[index];
    struct firn_op inner = *op;
    inner.arena = &input->arena; /* the footer goes when the input does, not with the group */
    firn_status status = firn_op_check(&inner);
    if (status == FIRN_OK)
        status = load_input(&inner, loading->window->run, input);
    op->error = inner.error;
    return firn_context(op, status, "data file %.*s", FIRN_FMT(input->file->path));
}

static uint64_t input_memory(const struct firn_input *input)
{
    return (input->place ? input->bytes.len : input->own.capacity) + input->arena.used_bytes;
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
    window->held -= FIRN_MIN(window->held, input_memory(input));
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
    window->held += input_memory(input);
    window->open_files += input->object != NULL;
    if (!window->counted[piece_index])
        count_rows(window, input, rows);
    window->counted[piece_index] = true;
    if (input->slices_left == 0) {
        report_input(op, window, input);
        close_input(window, input);
    }
}

/* As far as is recorded. */
static bool is_small(const struct firn_data_file *file)
{
    return file->file_bytes <= (int64_t)SMALL_FILE_BYTES;
}

static uint64_t memory_guess(const struct firn_data_file *file)
{
    return FOOTER_MEMORY + (is_small(file) ? (uint64_t)FIRN_MAX(file->file_bytes, 0) : FOOTER_READ);
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
        ahead += i >= end ? memory_guess(file) : 0;
        if (ahead > window->run->window_bytes)
            break;
        if (i < window->expected || !is_small(file))
            continue;
        bool is_far = firn_store_expect(op, window->run->context->store, file->path);
        window->expected = i + (is_far ? 1 : NEIGHBOURS);
    }
}

/* Finds room for a file that is to be read whole. */
static void reserve_place(struct firn_op *op, struct firn_window *window, struct firn_input *input)
{
    int64_t bytes = input->file->file_bytes;
    if (window->run->window_bytes >= BLOCKS_WINDOW_MIN && bytes > 0 && is_small(input->file))
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
    struct loading loading = { .window = window, .inputs = inputs };
    uint32_t count = 0, first = window->next;
    uint64_t bytes = 0;
    while (count < BATCH_PIECES_MAX && first + count < window->piece_count) {
        const struct firn_data_file *file = file_of(window, first + count);
        uint64_t guess = memory_guess(file);
        if (count > 0 && (bytes >= bytes_wanted || !is_small(file) || window->held + guess > window->run->window_bytes))
            break;
        inputs[count] = new_input(op, window, window->pieces[first + count]);
        window->held += guess;
        bytes += window->bin->pieces[window->pieces[first + count]].length;
        count++;
    }
    expect_files(op, window, first + count);
    firn_status status = firn_pool_run(op, window->run->context->pool, count, 0, load_job, &loading);
    for (uint32_t i = 0; i < count; i++)
        window->held -= memory_guess(inputs[i]->file);
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
        uint64_t guess = memory_guess(file_of(window, window->next));
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
        if (!firn_row_slice_fits(window, slice))
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

bool firn_row_slice_fits(const struct firn_window *window, const struct firn_row_slice *slice)
{
    return slice->stage || slice->memory.held_bytes <= window->run->chunk_bytes;
}

int64_t firn_row_slice_live(const struct firn_row_slice *slice, int64_t first, int64_t count)
{
    if (slice->deleted_count == 0)
        return count;
    return count - count_deleted(slice->deleted, slice->first_row + first, count);
}

const struct firn_leaf_plan *firn_row_slice_plan(const struct firn_row_slice *slice, uint32_t leaf_index)
{
    return &slice->input->projection.plans[leaf_index];
}

struct firn_text firn_row_slice_path(const struct firn_row_slice *slice)
{
    return slice->input->file->path;
}

struct firn_text firn_row_slice_created_by(const struct firn_row_slice *slice)
{
    return slice->input->footer->created_by;
}

bool firn_row_slice_in_memory(const struct firn_row_slice *slice)
{
    return !slice->input->object;
}

const struct firn_column_chunk *firn_row_slice_column(const struct firn_row_slice *slice,
                                                      const struct firn_parquet_node *leaf)
{
    return &slice->input->footer->row_groups[slice->row_group].chunks[leaf->leaf_index];
}

void firn_row_slice_lend(const struct firn_row_slice *slice, const struct firn_parquet_node *leaf,
                         struct firn_page *page)
{
    struct firn_object *object = slice->input->object;
    uint64_t start, len;
    page->lasts = slice->lends && !object;
    if (!slice->lends || !object)
        return;
    firn_column_chunk_range(firn_row_slice_column(slice, leaf), &start, &len);
    page->source = firn_object_source(object);
    page->source_offset = start + page->offset;
}

static firn_status read_piece(struct firn_op *op, void *context, uint64_t offset, size_t len, uint8_t *out)
{
    const struct firn_input *input = context;
    FIRN_TRY(firn_op_check(op));
    atomic_fetch_add(&input->run->requests, 1);
    return firn_object_read(op, input->object, offset, len, out);
}

firn_status firn_row_slice_chunk(struct firn_op *op, struct firn_window *window, const struct firn_row_slice *slice,
                                 const struct firn_parquet_node *leaf, struct firn_buffer *buffer,
                                 struct firn_chunk_source *out)
{
    struct firn_input *input = slice->input;
    const struct firn_column_chunk *chunk = firn_row_slice_column(slice, leaf);
    *out = (struct firn_chunk_source){ .read = read_piece, .context = input, .piece_bytes = slice->memory.piece_bytes };
    firn_column_chunk_range(chunk, &out->offset, &out->len);
    if (chunk->is_encrypted)
        return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' is encrypted", FIRN_FMT(leaf->path));
    if (chunk->file_path.len)
        return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' lies in another file", FIRN_FMT(leaf->path));
    bool is_large = slice->memory.piece_bytes > 0 && out->len > FIRN_CHUNK_PIECES * slice->memory.piece_bytes;
    if (input->object && is_large)
        return FIRN_OK;
    struct firn_bytes bytes = { 0 }; /* the offset of nothing was not checked */
    if (!input->object && out->len > 0)
        bytes = (struct firn_bytes){ input->bytes.data + out->offset, (size_t)out->len }; /* that of others was */
    if (input->object && out->len > 0) {
        FIRN_TRY(read_range(op, window->run, input->object, out->offset, out->len, buffer));
        bytes = firn_buffer_bytes(buffer);
    }
    *out = firn_chunk_source_of(bytes);
    return FIRN_OK;
}

/* Whether the manifest says that the whole column is free of NaN. Elements of lists are not counted by all writers. */
static bool has_no_nan(const struct firn_data_file *file, const struct firn_parquet_node *leaf)
{
    const struct firn_count_map *counts = &file->nan_value_counts;
    for (uint32_t i = 0; i < counts->count && leaf->has_field_id && leaf->rep_max == 0; i++)
        if (counts->ids[i] == leaf->field_id)
            return counts->counts[i] == 0;
    return false;
}

static firn_status find_index(struct firn_op *op, struct firn_window *window, const struct firn_row_slice *slice,
                              struct firn_file_range range, struct firn_bytes *out)
{
    const struct firn_input *input = slice->input;
    *out = (struct firn_bytes){ 0 };
    if (range.len == 0)
        return FIRN_OK;
    if (slice->page_indexes)
        return firn_page_index_find(op, slice->page_indexes, input->object, range, &window->run->requests, out);
    *out = (struct firn_bytes){ input->bytes.data + range.offset, (size_t)range.len };
    return FIRN_OK;
}

static void log_broken_index(struct firn_op *op, const struct firn_row_slice *slice,
                             const struct firn_parquet_node *leaf)
{
    firn_log(op, FIRN_LOG_DEBUG, "file=%.*s column=%.*s page index is broken, not used: %s",
             FIRN_FMT(firn_row_slice_path(slice)), FIRN_FMT(leaf->path), op->error.text);
}

firn_status firn_row_slice_page_sources(struct firn_op *op, struct firn_window *window,
                                        const struct firn_row_slice *slice, const struct firn_parquet_node *leaf,
                                        struct firn_page_sources *out)
{
    const struct firn_input *input = slice->input;
    const struct firn_row_group *row_group = &input->footer->row_groups[slice->row_group];
    const struct firn_column_chunk *chunk = &row_group->chunks[leaf->leaf_index];
    uint64_t file_bytes = input->object ? firn_object_size(input->object) : input->bytes.len;
    struct firn_bytes offsets, columns;
    *out = (struct firn_page_sources){
        .footer = input->footer,
        .leaf = leaf,
        .chunk = chunk,
        .no_nan = has_no_nan(input->file, leaf),
        .row_group_rows = row_group->row_count,
    };
    FIRN_TRY(find_index(op, window, slice, firn_offset_index_range(chunk, file_bytes), &offsets));
    FIRN_TRY(find_index(op, window, slice, firn_column_index_range(chunk, file_bytes), &columns));
    struct firn_offset_index *offset_index = FIRN_NEW(op->arena, struct firn_offset_index);
    struct firn_column_index *column_index = FIRN_NEW(op->arena, struct firn_column_index);
    if (offsets.len > 0 && firn_offset_index_parse(op, offsets, offset_index) == FIRN_OK)
        out->offset_index = offset_index;
    else if (offsets.len > 0)
        log_broken_index(op, slice, leaf);
    if (columns.len > 0 && firn_column_index_parse(op, columns, column_index) == FIRN_OK)
        out->column_index = column_index;
    else if (columns.len > 0)
        log_broken_index(op, slice, leaf);
    return FIRN_OK;
}
