/* Opening inputs: one read for a small file, footer first and chunks later for a large one. */
#include "rewrite/input_file.h"

#include "base/math.h"

#define SMALL_FILE_BYTES (UINT64_C(8) << 20)
#define FOOTER_READ      (UINT64_C(64) << 10) /* how much of a large file's end is read at first */
#define FOOTER_MEMORY    (UINT64_C(32) << 10) /* what a parsed footer takes, as a first guess */

bool firn_input_is_small(const struct firn_data_file *file)
{
    return file->file_bytes <= (int64_t)SMALL_FILE_BYTES;
}

uint64_t firn_input_memory_guess(const struct firn_data_file *file)
{
    return FOOTER_MEMORY + (firn_input_is_small(file) ? (uint64_t)FIRN_MAX(file->file_bytes, 0) : FOOTER_READ);
}

uint64_t firn_input_memory(const struct firn_input *input)
{
    return (input->place ? input->bytes.len : input->own.capacity) + input->arena.used_bytes;
}

firn_status firn_input_read(struct firn_op *op, const struct firn_input *input, uint64_t offset, size_t len,
                            uint8_t *out)
{
    atomic_fetch_add(&input->run->requests, 1);
    return firn_object_read(op, input->object, offset, len, out);
}

static firn_status read_range(struct firn_op *op, const struct firn_input *input, uint64_t offset, uint64_t len,
                              struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, (size_t)len));
    return firn_input_read(op, input, offset, (size_t)len, out->data);
}

/* Where the file has room in a block it goes there, if that is its size. */
static firn_status read_whole(struct firn_op *op, struct firn_input *input, uint64_t size)
{
    if (input->place && size == (uint64_t)input->file->file_bytes) {
        input->bytes = (struct firn_bytes){ input->place, (size_t)size };
        return firn_input_read(op, input, 0, (size_t)size, input->place);
    }
    input->place = NULL;
    FIRN_TRY(read_range(op, input, 0, size, &input->own));
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

static firn_status read_small(struct firn_op *op, struct firn_input *input, uint64_t size)
{
    uint32_t footer_bytes;
    FIRN_TRY(read_whole(op, input, size));
    firn_object_close(input->object);
    input->object = NULL;
    FIRN_TRY(parse_end(op, input->bytes, size, &footer_bytes));
    return parse_footer(op, input, input->bytes, size, footer_bytes);
}

/* Reads the end of the file until it holds the footer. */
static firn_status read_tail(struct firn_op *op, const struct firn_input *input, struct firn_buffer *tail,
                             uint32_t *footer_bytes)
{
    uint64_t size = firn_object_size(input->object);
    FIRN_TRY(read_range(op, input, size - FOOTER_READ, FOOTER_READ, tail));
    FIRN_TRY(parse_end(op, firn_buffer_bytes(tail), size, footer_bytes));
    uint64_t need = (uint64_t)*footer_bytes + FIRN_PARQUET_TAIL_BYTES;
    if (need <= tail->len)
        return FIRN_OK;
    return read_range(op, input, size - need, need, tail);
}

static firn_status read_large(struct firn_op *op, struct firn_input *input, uint64_t size)
{
    struct firn_buffer tail = { 0 };
    uint32_t footer_bytes;
    firn_status status = read_tail(op, input, &tail, &footer_bytes);
    if (status == FIRN_OK)
        status = parse_footer(op, input, firn_buffer_bytes(&tail), size, footer_bytes);
    firn_buffer_done(&tail);
    return status;
}

static firn_status read_footer(struct firn_op *op, struct firn_input *input)
{
    FIRN_TRY(firn_object_open(op, input->run->context->store, input->file->path, &input->object));
    uint64_t size = firn_object_size(input->object);
    if (size < FIRN_PARQUET_TAIL_BYTES)
        return firn_fail(op, FIRN_CORRUPT, "the file has %" PRIu64 " bytes, too few for Parquet", size);
    return size <= SMALL_FILE_BYTES ? read_small(op, input, size) : read_large(op, input, size);
}

static firn_status load(struct firn_op *op, struct firn_input *input)
{
    const struct firn_group_run *run = input->run;
    const struct firn_metadata *metadata = run->context->metadata;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, input->file->spec_id);
    if (!spec)
        return firn_fail(op, FIRN_CORRUPT, "the table has no partition spec %d", input->file->spec_id);
    FIRN_TRY(read_footer(op, input));
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

firn_status firn_input_load(struct firn_op *op, struct firn_input *input)
{
    struct firn_op inner = *op;
    inner.arena = &input->arena; /* the footer goes when the input does, not with the group */
    firn_status status = firn_op_check(&inner);
    if (status == FIRN_OK)
        status = load(&inner, input);
    op->error = inner.error;
    return firn_context(op, status, "data file %.*s", FIRN_FMT(input->file->path));
}
