/* Fetching a filter: its header says how large it is, since not all writers record that in the footer. */
#include "table/parquet_bloom.h"

#include "base/math.h"

static firn_status read_filter(struct firn_op *op, struct firn_object *object, uint64_t offset,
                               struct firn_buffer *bytes, struct firn_bloom_filter *out)
{
    uint64_t size = firn_object_size(object), most = FIRN_BLOOM_HEADER_BYTES_MAX;
    uint32_t header_bytes, block_bytes;
    if (offset >= size)
        return firn_fail(op, FIRN_CORRUPT, "it begins at %" PRIu64 ", past the end of the file", offset);
    FIRN_TRY(firn_object_read_range(op, object, offset, FIRN_MIN(size - offset, most), bytes));
    FIRN_TRY(firn_bloom_header_parse(op, firn_buffer_bytes(bytes), &header_bytes, &block_bytes));
    if (size - offset < (uint64_t)header_bytes + block_bytes)
        return firn_fail(op, FIRN_CORRUPT, "its %u bytes reach past the end of the file", block_bytes);
    FIRN_TRY(firn_object_read_range(op, object, offset, (uint64_t)header_bytes + block_bytes, bytes));
    return firn_bloom_filter_parse(op, firn_buffer_bytes(bytes), out);
}

firn_status firn_parquet_bloom_read(struct firn_op *op, struct firn_object *object,
                                    const struct firn_column_chunk *chunk, struct firn_buffer *bytes,
                                    struct firn_bloom_filter *out)
{
    firn_status status = chunk->is_encrypted
                             ? firn_fail(op, FIRN_UNSUPPORTED, "it is encrypted")
                             : read_filter(op, object, (uint64_t)chunk->bloom_filter_offset, bytes, out);
    return firn_context(op, status, "bloom filter of column '%.*s'", FIRN_FMT(chunk->path));
}
