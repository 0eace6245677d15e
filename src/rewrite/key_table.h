/* A set of keys, each with the highest ordinal it was put with. Found by hash, compared exactly.
 *
 * Keys of fixed width lie in the slots themselves, so that millions of them take little more than their bytes; others
 * lie end to end beside the slots. A table never grows by itself: whoever fills it makes room first, and so decides
 * what happens when there is none. */
#ifndef FIRN_REWRITE_KEY_TABLE_H
#define FIRN_REWRITE_KEY_TABLE_H

#include "base/buffer.h"

/* Ordinals begin at 1. */
struct firn_key_table {
    uint32_t key_bytes; /* 0: keys have any length */
    uint64_t seed;      /* of firn_key_hash */
    uint64_t count;
    uint64_t slot_count;
    struct firn_buffer slots;   /* fixed width: ordinal and key; else some bits of the hash and the record's place */
    struct firn_buffer records; /* keys of any length: ordinal, length, bytes */
};

uint64_t firn_key_hash(struct firn_bytes key, uint64_t seed);

/* An empty table, without memory. */
void firn_key_table_init(struct firn_key_table *table, uint32_t key_bytes, uint64_t seed);
void firn_key_table_done(struct firn_key_table *table);

/* Memory of a table with room for `count` keys of `bytes` in all (which only keys of any length need). */
uint64_t firn_key_table_bytes_for(uint32_t key_bytes, uint64_t count, uint64_t bytes);
/* Memory that the table has. */
uint64_t firn_key_table_bytes(const struct firn_key_table *table);
/* Whether `count` more keys of `bytes` in all have room. */
bool firn_key_table_has_room(const struct firn_key_table *table, uint64_t count, uint64_t bytes);
/* Memory of the table once firn_key_table_grow made such room: somewhat more than is needed. */
uint64_t firn_key_table_bytes_grown(const struct firn_key_table *table, uint64_t count, uint64_t bytes);
/* Fails: LIMIT, with the table as it was. */
FIRN_CHECKED firn_status firn_key_table_grow(struct firn_op *op, struct firn_key_table *table, uint64_t count,
                                             uint64_t bytes);

/* Adds the key, or raises its ordinal. There must be room. */
void firn_key_table_put(struct firn_key_table *table, struct firn_bytes key, uint64_t hash, uint32_t ordinal);
/* The ordinal of the key; 0: it is not there. */
uint32_t firn_key_table_find(const struct firn_key_table *table, struct firn_bytes key, uint64_t hash);
/* Tells the processor that the key will be looked up soon. */
void firn_key_table_prefetch(const struct firn_key_table *table, uint64_t hash);
/* Walks all keys: `*at` is 0 at first. False at the end. */
bool firn_key_table_next(const struct firn_key_table *table, uint64_t *at, struct firn_bytes *key, uint32_t *ordinal);

#endif
