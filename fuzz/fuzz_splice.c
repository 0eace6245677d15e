/* The pages of one column chunk, copied into another or repacked: what comes out holds the values that went in. */
#include "fuzz_chunk.h"

/* Copies the chunk `times` over, by way of another codec if it is repacked. */
static firn_status copy(struct firn_op *op, const struct fuzz_chunk *in, int times, bool repacks,
                        struct firn_encoded_chunk *out)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_chunk_reader_options reading = { .keep_dictionary = in->keep_dictionary };
    struct firn_chunk_writer *writer;
    uint32_t copied = 0;
    options.codec = repacks ? FIRN_CODEC_SNAPPY : in->metadata.codec;
    options.dictionary_bytes_max = 1000;
    options.page_rows_max = 100;
    options.splice_floor_bytes = 20;
    *out = (struct firn_encoded_chunk){ 0 };
    FIRN_TRY(firn_chunk_writer_open(op, in->leaf, &options, &writer));
    firn_status status = FIRN_OK;
    for (int nth = 0; nth < times && status == FIRN_OK; nth++)
        status = parquet_chunk_splice(op, in->leaf, &in->metadata, in->row_count, in->pages, reading, repacks, writer,
                                      &copied);
    if (status == FIRN_OK)
        status = firn_chunk_writer_finish(op, writer, out);
    firn_chunk_writer_close(writer);
    return status;
}

/* Decodes what was copied, or could be: checksums are not compared there either. */
static uint64_t digest_of(struct firn_op *op, const struct fuzz_chunk *in, const struct firn_column_chunk *metadata,
                          int64_t row_count, struct firn_bytes pages)
{
    struct firn_chunk_reader_options reading = { 0 };
    uint64_t digest = 0;
    if (parquet_chunk_decode(op, in->leaf, metadata, row_count, pages, reading, &digest) != FIRN_OK)
        __builtin_trap();
    return digest;
}

static void check_copies(struct firn_op *op, const struct fuzz_chunk *in)
{
    for (int way = 0; way < 4; way++) {
        int times = 1 + way / 2;
        struct firn_encoded_chunk out;
        if (copy(op, in, times, way % 2, &out) == FIRN_OK) {
            uint64_t digest = digest_of(op, in, &out.metadata, times * in->row_count, firn_buffer_bytes(&out.bytes));
            if (times == 1 && digest != digest_of(op, in, &in->metadata, in->row_count, in->pages))
                __builtin_trap();
        }
        firn_encoded_chunk_done(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    if (len < FUZZ_CHOICE_BYTES)
        return 0;
    struct firn_op *op = fuzz_begin(&fuzz);
    struct fuzz_chunk chunk = fuzz_chunk_of(op, data, len);
    if (chunk.leaf)
        check_copies(op, &chunk);
    return fuzz_end(&fuzz);
}
