/* A set of delete keys, each with the highest sequence number that deletes it. Keys are byte strings kept end to end,
 * so that millions of them take little more than their bytes; found by hash, compared exactly. All zeros is an empty
 * table. */
#ifndef FIRN_REWRITE_KEY_TABLE_H
#define FIRN_REWRITE_KEY_TABLE_H

#include "base/buffer.h"

struct firn_key_table {
    struct firn_buffer records; /* a head and the key's bytes, in order of insertion */
    struct firn_buffer slots;   /* uint64_t, a power of two of them: some bits of the hash, where the record begins */
    uint64_t count;
};

/* Adds the key, or raises its number. Fails: LIMIT when the budget has no room, saying what the keys take. */
FIRN_CHECKED firn_status firn_key_table_put(struct firn_op *op, struct firn_key_table *table, struct firn_bytes key,
                                            int64_t sequence_number);
/* Whether a row of sequence number `sequence_number` with this key is deleted: some delete of it is newer. */
bool firn_key_table_deletes(const struct firn_key_table *table, struct firn_bytes key, int64_t sequence_number);
/* Frees the table when the arena goes. The table itself must live in that arena or longer. */
void firn_key_table_defer(struct firn_arena *arena, struct firn_key_table *table);

#endif
