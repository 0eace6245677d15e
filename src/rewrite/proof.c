/* Reading written files back. */
#include "rewrite/proof.h"

#include "base/math.h"
#include "rewrite/fingerprint.h"
#include "table/parquet_chunk.h"

static firn_status parse_back(struct firn_op *op, struct firn_object *object, uint64_t footer_bytes,
                              struct firn_buffer *buffer, struct firn_footer **out)
{
    uint64_t size = firn_object_size(object);
    uint64_t len = FIRN_MIN(size, footer_bytes + FIRN_PARQUET_TAIL_BYTES);
    uint32_t stored_bytes;
    FIRN_TRY(firn_object_read_range(op, object, size - len, len, buffer));
    struct firn_bytes tail = { buffer->data + buffer->len - FIRN_PARQUET_TAIL_BYTES, FIRN_PARQUET_TAIL_BYTES };
    FIRN_TRY(firn_footer_tail_parse(op, tail, size, &stored_bytes));
    if (stored_bytes != footer_bytes)
        return firn_fail(op, FIRN_VERIFY, "its footer has %u bytes, %" PRIu64 " were written", stored_bytes,
                         footer_bytes);
    return firn_footer_parse(op, (struct firn_bytes){ buffer->data, stored_bytes }, size, out);
}

static firn_status compare_chunks(struct firn_op *op, const struct firn_row_group *read,
                                  const struct firn_row_group *written)
{
    for (uint32_t i = 0; i < written->chunk_count; i++) {
        const struct firn_column_chunk *a = &read->chunks[i], *b = &written->chunks[i];
        if (a->value_count != b->value_count || a->compressed_bytes != b->compressed_bytes ||
            a->data_page_offset != b->data_page_offset)
            return firn_fail(op, FIRN_VERIFY, "column '%.*s' differs from what was written", FIRN_FMT(b->path));
    }
    return FIRN_OK;
}

static firn_status compare_footers(struct firn_op *op, const struct firn_footer *read,
                                   const struct firn_footer *written)
{
    if (read->row_count != written->row_count || read->row_group_count != written->row_group_count ||
        read->leaf_count != written->leaf_count)
        return firn_fail(op, FIRN_VERIFY, "it holds %" PRId64 " rows in %u row groups, %" PRId64 " in %u were written",
                         read->row_count, read->row_group_count, written->row_count, written->row_group_count);
    for (uint32_t i = 0; i < written->row_group_count; i++) {
        if (read->row_groups[i].row_count != written->row_groups[i].row_count)
            return firn_fail(op, FIRN_VERIFY, "row group %u holds %" PRId64 " rows, %" PRId64 " were written", i,
                             read->row_groups[i].row_count, written->row_groups[i].row_count);
        FIRN_TRY(compare_chunks(op, &read->row_groups[i], &written->row_groups[i]));
    }
    return FIRN_OK;
}

struct content_proof {
    struct firn_group_run *run;
    struct firn_object *object;
    const struct firn_footer *footer;
    struct firn_hash128 *sums;
};

static firn_status add_chunk(struct firn_op *op, struct firn_chunk_reader *reader,
                             struct firn_fingerprinter *fingerprinter)
{
    for (;;) {
        struct firn_vector vector;
        bool has_page;
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_chunk_reader_next(op, reader, &vector, &has_page));
        if (!has_page)
            return FIRN_OK;
        FIRN_TRY(firn_fingerprinter_add(op, fingerprinter, &vector));
    }
}

static firn_status prove_chunk(struct firn_op *op, const struct content_proof *proof, uint32_t leaf,
                               const struct firn_row_group *row_group, struct firn_fingerprinter *fingerprinter)
{
    struct firn_chunk_reader *reader;
    struct firn_chunk_reader_options options = {
        .crc_check = true,
        .keep_dictionary = true,
        .codec_context = proof->run->codec,
    };
    FIRN_TRY(firn_parquet_chunk_open(op, proof->object, proof->footer->leaves[leaf], &row_group->chunks[leaf],
                                     row_group->row_count, options, &reader));
    firn_status status = add_chunk(op, reader, fingerprinter);
    firn_chunk_reader_close(reader);
    return status;
}

static firn_status prove_leaf(struct firn_op *op, void *context, size_t index)
{
    struct content_proof *proof = context;
    struct firn_fingerprinter fingerprinter = { 0 };
    firn_status status = FIRN_OK;
    for (uint32_t i = 0; status == FIRN_OK && i < proof->footer->row_group_count; i++)
        status = prove_chunk(op, proof, (uint32_t)index, &proof->footer->row_groups[i], &fingerprinter);
    proof->sums[index] = firn_hash128_add(proof->sums[index], firn_fingerprinter_sum(&fingerprinter));
    return status;
}

static firn_status prove_object(struct firn_op *op, struct firn_group_run *run, struct firn_object *object,
                                const struct firn_footer *written, uint64_t file_bytes, struct firn_hash128 *sums)
{
    struct firn_buffer buffer = { 0 };
    struct content_proof proof = { .run = run, .object = object, .sums = sums };
    struct firn_footer *footer;
    if (firn_object_size(object) != file_bytes)
        return firn_fail(op, FIRN_VERIFY, "it has %" PRIu64 " bytes, %" PRIu64 " were written",
                         firn_object_size(object), file_bytes);
    firn_status status = parse_back(op, object, (uint64_t)written->footer_bytes, &buffer, &footer);
    firn_buffer_done(&buffer);
    FIRN_TRY(status);
    FIRN_TRY(compare_footers(op, footer, written));
    proof.footer = footer;
    if (run->context->verify != FIRN_VERIFY_FULL)
        return FIRN_OK;
    return firn_pool_run(op, run->context->pool, footer->leaf_count, 0, prove_leaf, &proof);
}

firn_status firn_proof_file(struct firn_op *op, struct firn_group_run *run, struct firn_text location,
                            const struct firn_footer *written, uint64_t file_bytes, struct firn_hash128 *sums)
{
    struct firn_object *object;
    FIRN_TRY(firn_object_open(op, run->context->store, location, &object));
    firn_status status = prove_object(op, run, object, written, file_bytes, sums);
    firn_object_close(object);
    if (status == FIRN_OK || status == FIRN_VERIFY || status == FIRN_CANCELLED)
        return firn_context(op, status, "written file %.*s", FIRN_FMT(location));
    firn_context(op, status, "written file %.*s cannot be read back", FIRN_FMT(location));
    return op->error.status = FIRN_VERIFY;
}
