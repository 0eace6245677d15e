/* Rows of an Avro file as values. */
#ifndef FIRN_REWRITE_FILE_ROWS_AVRO_H
#define FIRN_REWRITE_FILE_ROWS_AVRO_H

#include "rewrite/file_rows.h"

/* As firn_file_rows_read, for Avro: columns by field id, or by the name mapping where a field has none. */
FIRN_CHECKED firn_status firn_avro_file_rows_read(struct firn_op *op, const struct firn_file_rows_config *config,
                                                  firn_file_rows_visit *visit, void *context);

#endif
