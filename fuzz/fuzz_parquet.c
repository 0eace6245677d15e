/* Whole Parquet files: footer, all chunks, all page indexes. Checksums are not compared, so that changes reach the
 * decoders. */
#include "fuzz.h"

#include "support/parquet_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_op *op = fuzz_begin(&fuzz);
    uint64_t digest;
    FIRN_IGNORE(
        parquet_file_decode(op, (struct firn_bytes){ data, len }, (struct firn_chunk_reader_options){ 0 }, &digest),
        "any outcome will do");
    return fuzz_end(&fuzz);
}
