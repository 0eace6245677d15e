/* Images of values: unsigned numbers or bytes whose order is that of the values, of one field of an ordering. What a
 * sort key is put together from, or a curve's key interleaved from.
 *
 * LINEAR orders are Spark's. ZORDER has the reference's images to the byte (procedures.md, 2.8), the whole seconds of
 * timestamps with a zone included, so that files of both prune alike; null is all zeros for booleans too. HILBERT has
 * 64 bits a field: numbers as they are, the first 8 bytes of text and bytes, spread over the field's range. */
#ifndef FIRN_REWRITE_SORT_IMAGE_H
#define FIRN_REWRITE_SORT_IMAGE_H

#include "format/parquet/vector.h"
#include "rewrite/ordering.h"

enum firn_image_form {
    FIRN_IMAGE_WORD,  /* a number that fits `width` bytes, 8 at most */
    FIRN_IMAGE_BYTES, /* `width` bytes */
    FIRN_IMAGE_TEXT   /* bytes of any number, which no other field's may simply follow */
};

struct firn_sort_image;
typedef void firn_image_words(const struct firn_sort_image *image, union firn_values values, size_t count,
                              uint64_t *out);
typedef void firn_image_bytes(const struct firn_sort_image *image, union firn_values values, size_t count,
                              uint8_t *out);

struct firn_sort_image {
    const struct firn_parquet_node *leaf;
    const struct firn_type *type;
    struct firn_transform transform;
    struct firn_type result; /* of the transform */
    enum firn_image_form form;
    uint32_t width;
    firn_image_words *words;
    firn_image_bytes *bytes;
    uint64_t least, greatest, factor; /* HILBERT with a range; factor 0: none */
};

/* The image of a field of `ordering`, stored in `leaf` as `type`. UNSUPPORTED for types and transforms without one. */
FIRN_CHECKED firn_status firn_sort_image_find(struct firn_op *op, const struct firn_ordering *ordering,
                                              const struct firn_ordering_field *field,
                                              const struct firn_parquet_node *leaf, const struct firn_type *type,
                                              struct firn_sort_image *out);
/* Whether an order of the kind takes values of the type as they are. */
bool firn_sort_image_accepts(enum firn_ordering_kind kind, const struct firn_type *type);
/* WORD: of `count` values. */
void firn_sort_image_words(const struct firn_sort_image *image, union firn_values values, size_t count, uint64_t *out);
/* TEXT: the bytes of a value; borrowed. */
struct firn_bytes firn_sort_image_text(const struct firn_sort_image *image, union firn_values values, size_t index);

#endif
