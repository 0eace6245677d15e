/* Theta sketches: how many distinct values a column has, from a bounded sample of their hashes. The blob
 * "apache-datasketches-theta-v1".
 *
 * A sketch keeps the least `k` of the distinct hashes it was given, and theta, the least hash it does not keep: what it
 * is depends on the set of values alone, not on their order, on repetitions, or on how the work was divided. (The
 * reference's own, of the family Alpha, depends on order and division once there are more than k values; what is stored
 * has the same form, and both can be merged with one another.)
 * Puffin specification, "apache-datasketches-theta-v1 blob type"; Apache DataSketches, "Theta Sketch Framework". */
#ifndef FIRN_FORMAT_PUFFIN_THETA_H
#define FIRN_FORMAT_PUFFIN_THETA_H

#include "base/buffer.h"
#include "base/hash.h"

#define FIRN_THETA_TYPE "apache-datasketches-theta-v1"
/* The default nominal number of entries. */
#define FIRN_THETA_ENTRIES 4096
/* What a sketch takes at most. */
#define FIRN_THETA_BYTES_MAX (2 * FIRN_THETA_ENTRIES * sizeof(uint64_t))

/* The 63-bit hash of a value: MurmurHash3, x64, 128 bits, of its bytes with the default seed, halved. */
uint64_t firn_theta_hash(struct firn_bytes value);
/* Both halves of that hash function. */
struct firn_hash128 firn_murmur3_128(struct firn_bytes bytes, uint64_t seed);

/* A sketch being filled. All zeros but for theta: see firn_theta_init. For one thread at a time. */
struct firn_theta {
    struct firn_buffer slots; /* of uint64_t: an open hash table; 0 is free */
    size_t count;             /* hashes in it */
    uint64_t theta;           /* only hashes below it are kept */
};
void firn_theta_init(struct firn_theta *sketch);
void firn_theta_done(struct firn_theta *sketch);
/* Adds a hash; as a value of no bytes, 0 is none. Fails: LIMIT. */
FIRN_CHECKED firn_status firn_theta_add(struct firn_op *op, struct firn_theta *sketch, uint64_t hash);
/* Adds a value by its bytes; one of no bytes is none, as in the reference. */
FIRN_CHECKED firn_status firn_theta_add_value(struct firn_op *op, struct firn_theta *sketch, struct firn_bytes value);

/* A sketch at rest: the hashes in ascending order. */
struct firn_theta_compact {
    const uint64_t *hashes;
    uint32_t count;
    uint64_t theta; /* FIRN_THETA_ALL: the hashes are all there are */
};
#define FIRN_THETA_ALL ((uint64_t)INT64_MAX)

/* Sorts the hashes in place and cuts them to FIRN_THETA_ENTRIES. Nothing can be added afterwards; `out` borrows from
 * the sketch. */
void firn_theta_finish(struct firn_theta *sketch, struct firn_theta_compact *out);
/* How many distinct values there were: exact while theta is FIRN_THETA_ALL. */
double firn_theta_estimate(const struct firn_theta_compact *sketch);
/* Appends the blob's bytes: a compact ordered sketch. */
FIRN_CHECKED firn_status firn_theta_print(struct firn_op *op, const struct firn_theta_compact *sketch,
                                          struct firn_buffer *out);
/* Reads a blob of any writer. The hashes are in op->arena. CORRUPT for what is no compact sketch, or not in order, or
 * made with another seed; UNSUPPORTED for forms of other versions, and sketches without order. */
FIRN_CHECKED firn_status firn_theta_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_theta_compact *out);

#endif
