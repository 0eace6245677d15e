/* The blob "deletion-vector-v1": length, magic, bitmap, checksum. Length and checksum are big-endian, the rest is
 * little-endian: so the specification has it. */
#include "format/puffin/deletion_vector.h"

#include "base/cursor.h"
#include "base/math.h"

#include <libdeflate.h>

/* The reserved field id of _pos. */
#define POSITION_FIELD_ID 2147483645

enum {
    LENGTH_BYTES = 4,
    MAGIC_BYTES = 4,
    CHECKSUM_BYTES = 4,
    FRAME_BYTES = LENGTH_BYTES + MAGIC_BYTES + CHECKSUM_BYTES
};

static const struct firn_bytes magic = { (const uint8_t *)"\xd1\xd3\x39\x64", MAGIC_BYTES };

static firn_status check_frame(struct firn_op *op, struct firn_bytes blob)
{
    if (blob.len < FRAME_BYTES || blob.len > INT32_MAX)
        return firn_fail(op, FIRN_CORRUPT, "deletion vector has %zu bytes, not %d to %d", blob.len, FRAME_BYTES,
                         INT32_MAX);
    uint32_t length = firn_load_be32(blob.data);
    size_t covered = blob.len - LENGTH_BYTES - CHECKSUM_BYTES;
    if (length != covered)
        return firn_fail(op, FIRN_CORRUPT, "deletion vector states a length of %u, its blob holds %zu", length,
                         covered);
    if (memcmp(blob.data + LENGTH_BYTES, magic.data, magic.len) != 0)
        return firn_fail(op, FIRN_CORRUPT, "deletion vector does not begin with its magic");
    uint32_t recorded = firn_load_be32(blob.data + blob.len - CHECKSUM_BYTES);
    uint32_t computed = libdeflate_crc32(0, blob.data + LENGTH_BYTES, covered);
    if (recorded != computed)
        return firn_fail(op, FIRN_CORRUPT, "deletion vector has the checksum %08x, its bytes have %08x", recorded,
                         computed);
    return FIRN_OK;
}

firn_status firn_deletion_vector_decode(struct firn_op *op, struct firn_bytes blob, int64_t record_count,
                                        struct firn_positions **out)
{
    FIRN_TRY(check_frame(op, blob));
    struct firn_bytes vector = { blob.data + LENGTH_BYTES + MAGIC_BYTES, blob.len - FRAME_BYTES };
    FIRN_TRY(firn_context(op, firn_positions_parse(op, vector, out), "deletion vector"));
    uint64_t count = firn_positions_count(*out);
    if (record_count >= 0 && count != (uint64_t)record_count)
        return firn_fail(op, FIRN_CORRUPT, "deletion vector holds %" PRIu64 " positions, %" PRId64 " are recorded",
                         count, record_count);
    return FIRN_OK;
}

firn_status firn_deletion_vector_encode(struct firn_op *op, struct firn_positions *positions, struct firn_buffer *out)
{
    size_t start = out->len;
    uint8_t word[4] = { 0 };
    FIRN_TRY(firn_buffer_append(op, out, word, LENGTH_BYTES)); /* set below */
    FIRN_TRY(firn_buffer_append(op, out, magic.data, magic.len));
    FIRN_TRY(firn_positions_print(op, positions, out));
    size_t covered = out->len - start - LENGTH_BYTES;
    if (covered > INT32_MAX - LENGTH_BYTES - CHECKSUM_BYTES)
        return firn_fail(op, FIRN_LIMIT, "deletion vector of %zu bytes is larger than %d", covered, INT32_MAX);
    firn_store_be32(out->data + start, (uint32_t)covered);
    firn_store_be32(word, libdeflate_crc32(0, out->data + start + LENGTH_BYTES, covered));
    return firn_buffer_append(op, out, word, CHECKSUM_BYTES);
}

firn_status firn_deletion_vector_write(struct firn_op *op, struct firn_puffin_writer *writer,
                                       struct firn_positions *positions, struct firn_text data_file,
                                       struct firn_puffin_blob *blob)
{
    struct firn_buffer content = { 0 };
    int32_t *field = FIRN_NEW(op->arena, int32_t);
    struct firn_puffin_property *properties = FIRN_NEW_ARRAY(op->arena, struct firn_puffin_property, 2);
    *field = POSITION_FIELD_ID;
    properties[0] = (struct firn_puffin_property){ FIRN_TEXT("referenced-data-file"), data_file };
    properties[1] =
        (struct firn_puffin_property){ FIRN_TEXT("cardinality"),
                                       firn_text_format(op->arena, "%" PRIu64, firn_positions_count(positions)) };
    *blob = (struct firn_puffin_blob){ .type = FIRN_TEXT(FIRN_DELETION_VECTOR_TYPE),
                                       .fields = field,
                                       .field_count = 1,
                                       .snapshot_id = -1,
                                       .sequence_number = -1,
                                       .properties = properties,
                                       .property_count = 2 };
    firn_status status = firn_deletion_vector_encode(op, positions, &content);
    if (status == FIRN_OK)
        status = firn_puffin_writer_add(op, writer, blob, firn_buffer_bytes(&content));
    firn_buffer_done(&content);
    return status;
}
