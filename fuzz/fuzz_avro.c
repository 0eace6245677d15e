/* Any bytes as an Avro file: header, blocks, every value as JSON. */
#include "fuzz.h"

#include "format/avro/container.h"
#include "format/avro/value_json.h"

static firn_status read_all(struct firn_op *op, struct firn_bytes file, struct firn_buffer *buffer)
{
    struct firn_avro_reader reader;
    struct firn_avro_block block;
    uint64_t empty_items_left = 1000;
    FIRN_TRY(firn_avro_reader_init(op, file, &reader));
    for (;;) {
        FIRN_TRY(firn_avro_reader_next(op, &reader, buffer, &block));
        if (block.row_count == 0)
            return FIRN_OK;
        struct firn_cursor in = firn_cursor_of(block.data);
        for (uint64_t i = 0; i < block.row_count && !in.failure; i++)
            json_decref(firn_avro_take_json(&in, reader.type, &empty_items_left));
        FIRN_TRY(firn_cursor_finish(op, &in, "avro row"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_op fuzz;
    struct firn_buffer buffer = { 0 };
    struct firn_op *op = fuzz_begin(&fuzz);
    FIRN_IGNORE(read_all(op, (struct firn_bytes){ data, size }, &buffer), "most inputs are broken");
    firn_buffer_done(&buffer);
    return fuzz_end(&fuzz);
}
