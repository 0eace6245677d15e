/* Avro's binary encoding, written. Avro 1.12 specification, "Binary Encoding". */
#include "format/avro/put.h"

#include "base/math.h"

enum { LONG_BYTES_MAX = 10 };

void firn_avro_put_raw(struct firn_avro_encoder *encoder, const void *data, size_t len)
{
    if (encoder->status == FIRN_OK)
        encoder->status = firn_buffer_append(encoder->op, encoder->out, data, len);
}

void firn_avro_put_long(struct firn_avro_encoder *encoder, int64_t value)
{
    uint8_t bytes[LONG_BYTES_MAX];
    size_t len = 0;
    uint64_t left = firn_zigzag_encode(value);
    for (; left >= 0x80; left >>= 7)
        bytes[len++] = (uint8_t)(left | 0x80);
    bytes[len++] = (uint8_t)left;
    firn_avro_put_raw(encoder, bytes, len);
}

void firn_avro_put_boolean(struct firn_avro_encoder *encoder, bool value)
{
    uint8_t byte = value;
    firn_avro_put_raw(encoder, &byte, 1);
}

void firn_avro_put_float(struct firn_avro_encoder *encoder, float value)
{
    uint32_t bits;
    uint8_t bytes[sizeof bits];
    memcpy(&bits, &value, sizeof bits);
    firn_store_le32(bytes, bits);
    firn_avro_put_raw(encoder, bytes, sizeof bytes);
}

void firn_avro_put_double(struct firn_avro_encoder *encoder, double value)
{
    uint64_t bits;
    uint8_t bytes[sizeof bits];
    memcpy(&bits, &value, sizeof bits);
    firn_store_le64(bytes, bits);
    firn_avro_put_raw(encoder, bytes, sizeof bytes);
}

void firn_avro_put_bytes(struct firn_avro_encoder *encoder, struct firn_bytes bytes)
{
    firn_avro_put_long(encoder, (int64_t)bytes.len);
    firn_avro_put_raw(encoder, bytes.data, bytes.len);
}
