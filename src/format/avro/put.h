/* Avro's binary encoding, appended to a buffer. Keeps the first failure (memory) and does nothing after it, so the
 * check is made once. Avro 1.12 specification, "Binary Encoding". */
#ifndef FIRN_FORMAT_AVRO_PUT_H
#define FIRN_FORMAT_AVRO_PUT_H

#include "base/buffer.h"

struct firn_avro_encoder {
    struct firn_op *op;
    struct firn_buffer *out;
    firn_status status;
};

/* int and long alike. */
void firn_avro_put_long(struct firn_avro_encoder *encoder, int64_t value);
void firn_avro_put_boolean(struct firn_avro_encoder *encoder, bool value);
void firn_avro_put_float(struct firn_avro_encoder *encoder, float value);
void firn_avro_put_double(struct firn_avro_encoder *encoder, double value);
/* bytes and string: length, then content. */
void firn_avro_put_bytes(struct firn_avro_encoder *encoder, struct firn_bytes bytes);
/* Content alone: fixed, sync markers. */
void firn_avro_put_raw(struct firn_avro_encoder *encoder, const void *data, size_t len);

#endif
