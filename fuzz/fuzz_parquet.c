/* Whole Parquet files: footer, all chunks, all page indexes, all bloom filters. Checksums are not compared, so that
 * changes reach the decoders. */
#include "fuzz.h"

#include "format/parquet/bloom_filter.h"
#include "support/parquet_file.h"

/* Filters are asked a question each. */
static firn_status ask_filters(struct firn_op *op, struct firn_bytes file)
{
    struct firn_footer *footer;
    FIRN_TRY(parquet_file_footer(op, file, &footer));
    for (uint32_t g = 0; g < footer->row_group_count; g++)
        for (uint32_t i = 0; i < footer->row_groups[g].chunk_count; i++) {
            struct firn_bloom_filter filter;
            int64_t offset = footer->row_groups[g].chunks[i].bloom_filter_offset;
            if (offset <= 0 || (uint64_t)offset >= file.len)
                continue;
            FIRN_TRY(firn_bloom_filter_parse(op, (struct firn_bytes){ file.data + offset, file.len - (size_t)offset },
                                             &filter));
            firn_bloom_filter_may_contain(&filter, UINT64_MAX);
        }
    return FIRN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_op *op = fuzz_begin(&fuzz);
    uint64_t digest;
    FIRN_IGNORE(
        parquet_file_decode(op, (struct firn_bytes){ data, len }, (struct firn_chunk_reader_options){ 0 }, &digest),
        "any outcome will do");
    FIRN_IGNORE(ask_filters(op, (struct firn_bytes){ data, len }), "any outcome will do");
    return fuzz_end(&fuzz);
}
