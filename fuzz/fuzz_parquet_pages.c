/* The pages of one column chunk. */
#include "fuzz_chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    if (len < FUZZ_CHOICE_BYTES)
        return 0;
    struct firn_op *op = fuzz_begin(&fuzz);
    struct fuzz_chunk chunk = fuzz_chunk_of(op, data, len);
    struct firn_chunk_reader_options options = { .keep_dictionary = chunk.keep_dictionary };
    uint64_t digest = 0;
    if (chunk.leaf)
        FIRN_IGNORE(
            parquet_chunk_decode(op, chunk.leaf, &chunk.metadata, chunk.row_count, chunk.pages, options, &digest),
            "any outcome will do");
    return fuzz_end(&fuzz);
}
