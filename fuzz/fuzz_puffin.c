/* Any bytes as a Puffin file with all its blobs, and as a serialised set of positions, which no checksum protects. */
#include "fuzz.h"

#include "format/puffin/deletion_vector.h"
#include "format/puffin/theta.h"

static firn_status read_file(struct firn_op *op, struct firn_bytes file, struct firn_buffer *content)
{
    struct firn_puffin_footer footer;
    FIRN_TRY(firn_puffin_parse(op, file, &footer));
    for (uint32_t i = 0; i < footer.blob_count; i++) {
        const struct firn_puffin_blob *blob = &footer.blobs[i];
        struct firn_bytes stored = { file.data + blob->offset, (size_t)blob->length };
        struct firn_positions *positions;
        firn_buffer_clear(content);
        FIRN_TRY(firn_puffin_blob_decode(op, blob, stored, content));
        struct firn_theta_compact sketch;
        bool is_sketch = firn_text_is(blob->type, FIRN_THETA_TYPE);
        FIRN_TRY(is_sketch ? firn_theta_parse(op, firn_buffer_bytes(content), &sketch)
                           : firn_deletion_vector_decode(op, firn_buffer_bytes(content), -1, &positions));
    }
    return FIRN_OK;
}

/* What parses is printed and parsed again: the same set. */
static firn_status read_positions(struct firn_op *op, struct firn_bytes bytes, struct firn_buffer *content)
{
    struct firn_positions *positions, *again;
    int64_t position;
    FIRN_TRY(firn_positions_parse(op, bytes, &positions));
    uint64_t count = firn_positions_count(positions);
    FIRN_TRY(firn_positions_print(op, positions, content));
    FIRN_TRY(firn_positions_parse(op, firn_buffer_bytes(content), &again));
    if (firn_positions_count(again) != count || firn_positions_count_range(again, 0, INT64_MAX) != count)
        __builtin_trap();
    for (int64_t from = 0, left = 1000; left > 0 && firn_positions_next(positions, from, &position); left--) {
        if (!firn_positions_contains(again, position))
            __builtin_trap();
        from = position + 1;
    }
    return FIRN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_op fuzz;
    struct firn_buffer content = { 0 };
    struct firn_op *op = fuzz_begin(&fuzz);
    struct firn_bytes bytes = { data, size };
    bool is_file = size >= 4 && memcmp(data, "PFA1", 4) == 0;
    FIRN_IGNORE(is_file ? read_file(op, bytes, &content) : read_positions(op, bytes, &content),
                "most inputs are broken");
    firn_buffer_done(&content);
    return fuzz_end(&fuzz);
}
