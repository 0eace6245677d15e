/* Any bytes as an ORC file, every column of every stripe read. */
#include "fuzz.h"

#include "format/orc/orc.h"

static firn_status read_stripe(struct firn_op *op, struct firn_codec_context *codecs,
                               const struct firn_orc_footer *footer, struct firn_bytes file, uint32_t index)
{
    struct firn_orc_stripe *stripe;
    FIRN_TRY(firn_orc_stripe_open(op, codecs, footer, file, index, &stripe));
    for (uint32_t i = 0; i < footer->type_count; i++) {
        struct firn_orc_column column = { 0 };
        firn_status status = firn_orc_column_read(op, stripe, i, NULL, &column);
        if (status == FIRN_OK && firn_orc_column_value_count(&column) > column.count)
            __builtin_trap();
        firn_orc_column_done(&column);
        FIRN_TRY(status == FIRN_UNSUPPORTED ? FIRN_OK : status);
    }
    return FIRN_OK;
}

static firn_status read_file(struct firn_op *op, struct firn_codec_context *codecs, struct firn_bytes file)
{
    struct firn_orc_footer footer;
    FIRN_TRY(firn_orc_footer_parse(op, codecs, file, &footer));
    for (uint32_t i = 0; i < footer.stripe_count && i < 4; i++)
        FIRN_TRY(read_stripe(op, codecs, &footer, file, i));
    return FIRN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_op fuzz;
    struct firn_codec_context *codecs = NULL;
    struct firn_op *op = fuzz_begin(&fuzz);
    if (firn_codec_context_open(op, &codecs) == FIRN_OK)
        FIRN_IGNORE(read_file(op, codecs, (struct firn_bytes){ data, size }), "most inputs are broken");
    firn_codec_context_close(codecs);
    return fuzz_end(&fuzz);
}
