/* JSON over jansson: trees owned by an arena, reads that state what is wrong and where, writes with stable order.
 *
 * A tree is released when its arena goes. 64-bit integers are kept exactly; numbers beyond are CORRUPT. */
#ifndef FIRN_FORMAT_JSON_H
#define FIRN_FORMAT_JSON_H

#include "base/buffer.h"
#include "firn/json.h"

/* Parses one JSON text (UTF-8, no trailing content). `what` names it in errors. */
FIRN_CHECKED firn_status firn_json_parse(struct firn_op *op, struct firn_text text, const char *what, json_t **out);
/* Takes over one reference: it is dropped when the arena goes. Gives back `json`. */
json_t *firn_json_own(struct firn_arena *arena, json_t *json);
/* A deep copy owned by the arena. */
json_t *firn_json_copy(struct firn_arena *arena, const json_t *json);
/* Compact when `indent` is 0; key order as inserted. */
FIRN_CHECKED firn_status firn_json_print(struct firn_op *op, const json_t *json, unsigned indent,
                                         struct firn_buffer *out);
struct firn_text firn_json_text(struct firn_arena *arena, const json_t *json, unsigned indent);

/* Members of an object. `what` names the object ("snapshot"). The required forms fail with CORRUPT when the member is
 * absent or of another type; the optional ones leave *out alone and tell `*found` (may be NULL) when absent or null. */
FIRN_CHECKED firn_status firn_json_need_i64(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                            int64_t *out);
FIRN_CHECKED firn_status firn_json_need_i32(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                            int32_t *out);
/* Text is copied to op->arena. */
FIRN_CHECKED firn_status firn_json_need_text(struct firn_op *op, const json_t *object, const char *key,
                                             const char *what, struct firn_text *out);
FIRN_CHECKED firn_status firn_json_need_array(struct firn_op *op, const json_t *object, const char *key,
                                              const char *what, json_t **out);
FIRN_CHECKED firn_status firn_json_need_object(struct firn_op *op, const json_t *object, const char *key,
                                               const char *what, json_t **out);
FIRN_CHECKED firn_status firn_json_find_i64(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                            int64_t *out, bool *found);
FIRN_CHECKED firn_status firn_json_find_i32(struct firn_op *op, const json_t *object, const char *key, const char *what,
                                            int32_t *out, bool *found);
FIRN_CHECKED firn_status firn_json_find_text(struct firn_op *op, const json_t *object, const char *key,
                                             const char *what, struct firn_text *out, bool *found);
FIRN_CHECKED firn_status firn_json_find_bool(struct firn_op *op, const json_t *object, const char *key,
                                             const char *what, bool *out, bool *found);

/* object[key] = value, taking the reference over. For the texts see firn_json_string in firn/json.h. */
void firn_json_set(json_t *object, const char *key, json_t *value);
/* As firn_json_set, for a key that a file decided. */
void firn_json_set_at(json_t *object, struct firn_text key, json_t *value);
void firn_json_set_text(json_t *object, const char *key, struct firn_text value);
/* Null for an empty text. */
void firn_json_set_text_or_null(json_t *object, const char *key, struct firn_text value);
void firn_json_set_i64(json_t *object, const char *key, int64_t value);
void firn_json_set_bool(json_t *object, const char *key, bool value);

#endif
