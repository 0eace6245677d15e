/* Snapshot ids in JSON. The specification makes them 64-bit signed numbers, but tables exist whose writer counted them
 * as unsigned. Such an id is kept as the number with the same 64 bits, and printed as it was read.
 *
 * In the tree a wide id is a text of a NUL and its digits, which no other member can be: numbers past INT64_MAX have
 * no place in a JSON tree of jansson's. */
#ifndef FIRN_TABLE_SNAPSHOT_ID_H
#define FIRN_TABLE_SNAPSHOT_ID_H

#include "format/json/json.h"

/* Metadata text with every wide id replaced by the text that stands for it; `text` itself when there is none. */
FIRN_CHECKED firn_status firn_snapshot_ids_mark(struct firn_op *op, struct firn_text text, struct firn_text *out);
/* The reverse, over printed JSON, in place. */
void firn_snapshot_ids_unmark(struct firn_buffer *json);
/* As firn_json_find_i64 and firn_json_need_i64. */
FIRN_CHECKED firn_status firn_snapshot_id_find(struct firn_op *op, const json_t *object, const char *key,
                                               const char *what, int64_t *out, bool *found);
FIRN_CHECKED firn_status firn_snapshot_id_need(struct firn_op *op, const json_t *object, const char *key,
                                               const char *what, int64_t *out);
/* The id of a tree's member or array item; false when it is none. */
bool firn_snapshot_id_of(const json_t *json, int64_t *out);

#endif
