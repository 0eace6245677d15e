/* What is read of a row group: chunks, borrowed or read, in pieces where those of the row group cannot all be held, and
 * page indexes. */
#include "rewrite/row_slice.h"

#include "rewrite/input_file.h"

bool firn_row_slice_fits(const struct firn_row_slice *slice)
{
    return slice->stage || slice->memory.held_bytes <= slice->input->run->chunk_bytes;
}

int64_t firn_row_slice_live(const struct firn_row_slice *slice, int64_t first, int64_t count)
{
    if (slice->deleted_count == 0)
        return count;
    uint64_t begin = (uint64_t)(slice->first_row + first);
    return count - (int64_t)firn_positions_count_range(slice->deleted, begin, begin + (uint64_t)count);
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
    FIRN_TRY(firn_op_check(op));
    return firn_input_read(op, context, offset, len, out);
}

firn_status firn_row_slice_chunk(struct firn_op *op, const struct firn_row_slice *slice,
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
        FIRN_TRY(firn_buffer_resize(op, buffer, (size_t)out->len));
        FIRN_TRY(firn_input_read(op, input, out->offset, (size_t)out->len, buffer->data));
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

static firn_status find_index(struct firn_op *op, const struct firn_row_slice *slice, struct firn_file_range range,
                              struct firn_bytes *out)
{
    const struct firn_input *input = slice->input;
    *out = (struct firn_bytes){ 0 };
    if (range.len == 0)
        return FIRN_OK;
    if (slice->page_indexes)
        return firn_page_index_find(op, slice->page_indexes, input->object, range, &input->run->requests, out);
    *out = (struct firn_bytes){ input->bytes.data + range.offset, (size_t)range.len };
    return FIRN_OK;
}

static void log_broken_index(struct firn_op *op, const struct firn_row_slice *slice,
                             const struct firn_parquet_node *leaf)
{
    firn_log(op, FIRN_LOG_DEBUG, "file=%.*s column=%.*s page index is broken, not used: %s",
             FIRN_FMT(firn_row_slice_path(slice)), FIRN_FMT(leaf->path), op->error.text);
}

firn_status firn_row_slice_page_sources(struct firn_op *op, const struct firn_row_slice *slice,
                                        const struct firn_parquet_node *leaf, struct firn_page_sources *out)
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
    FIRN_TRY(find_index(op, slice, firn_offset_index_range(chunk, file_bytes), &offsets));
    FIRN_TRY(find_index(op, slice, firn_column_index_range(chunk, file_bytes), &columns));
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
