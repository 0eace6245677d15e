/* Rows of a Parquet file as JSON: structs, lists and maps put together from the levels of their leaves.
 * parquet-format, "Nested Encoding". */
#ifndef FIRN_SQL_ROW_JSON_H
#define FIRN_SQL_ROW_JSON_H

#include "rewrite/file_rows.h"
#include "sql/json_out.h"

/* A place in the slots of a batch: the next row of one column. */
struct firn_row_json {
    const struct firn_parquet_node *node; /* the column, of an output schema */
    const struct firn_type *type;         /* what it stores */
    const struct firn_leaf_slots *slots;  /* of all leaves of the schema */
    uint32_t *next;                       /* the next slot of each leaf; zeros at the begin of a batch */
};

/* UNSUPPORTED for a type that is not shown: variants. */
FIRN_CHECKED firn_status firn_row_json_check(struct firn_op *op, const struct firn_type *type);
/* Writes the next row and passes on. Maps are objects where their keys are primitive, else lists of objects with key
 * and value. The batch must hold another row. */
void firn_row_json_write(const struct firn_row_json *rows, struct firn_json_out *json);

#endif
