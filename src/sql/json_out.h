/* JSON written straight into a buffer, member by member: what a map or a struct looks like in a cell.
 *
 * The first failure is kept and ends all writing, so that it is asked for once, at the end. */
#ifndef FIRN_SQL_JSON_OUT_H
#define FIRN_SQL_JSON_OUT_H

#include "base/buffer.h"

struct firn_json_out {
    struct firn_op *op;
    struct firn_buffer *buffer;
    firn_status status;
    bool follows; /* a value stands before, so that a comma comes first */
};

/* Begins a text in place of what the buffer held. */
struct firn_json_out firn_json_out_of(struct firn_op *op, struct firn_buffer *buffer);
/* '{' or '[', and its close. */
void firn_json_out_begin(struct firn_json_out *out, char bracket);
void firn_json_out_end(struct firn_json_out *out, char bracket);
/* The name of the member whose value is written next. */
void firn_json_out_key(struct firn_json_out *out, struct firn_text key);
void firn_json_out_number_key(struct firn_json_out *out, int64_t key);
void firn_json_out_null(struct firn_json_out *out);
void firn_json_out_bool(struct firn_json_out *out, bool value);
void firn_json_out_i64(struct firn_json_out *out, int64_t value);
/* Text that is a JSON number already. */
void firn_json_out_number(struct firn_json_out *out, struct firn_text number);
/* Bytes that are no UTF-8 are replaced. */
void firn_json_out_text(struct firn_json_out *out, struct firn_text text);

#endif
