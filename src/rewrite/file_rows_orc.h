/* Rows of an ORC file as values. */
#ifndef FIRN_REWRITE_FILE_ROWS_ORC_H
#define FIRN_REWRITE_FILE_ROWS_ORC_H

#include "rewrite/file_rows.h"

/* As firn_file_rows_read, for ORC, with or without levels: columns by field id, or by the name mapping where the file
 * has no ids. UNSUPPORTED for lists and maps, and for types that format/orc does not read. */
FIRN_CHECKED firn_status firn_orc_file_rows_read(struct firn_op *op, const struct firn_file_rows_config *config,
                                                 firn_file_rows_visit *visit, void *context);
/* Whether the rows of an ORC file have a column with that field id, or, without ids, that name. */
FIRN_CHECKED firn_status firn_orc_file_has_column(struct firn_op *op, struct firn_store *store,
                                                  const struct firn_data_file *file, int32_t field_id, const char *name,
                                                  bool *out);

#endif
