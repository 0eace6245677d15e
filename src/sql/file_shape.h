/* The columns that say what a file is: of files and its like, and of data_file in entries.
 * Reference: format-notes.md, 18. */
#ifndef FIRN_SQL_FILE_SHAPE_H
#define FIRN_SQL_FILE_SHAPE_H

#include "sql/partition_cell.h"

enum firn_file_field {
    FIRN_FILE_CONTENT,
    FIRN_FILE_PATH,
    FIRN_FILE_FORMAT,
    FIRN_FILE_SPEC,
    FIRN_FILE_PARTITION,
    FIRN_FILE_RECORDS,
    FIRN_FILE_BYTES,
    FIRN_FILE_COLUMN_SIZES,
    FIRN_FILE_VALUE_COUNTS,
    FIRN_FILE_NULL_VALUE_COUNTS,
    FIRN_FILE_NAN_VALUE_COUNTS,
    FIRN_FILE_LOWER_BOUNDS,
    FIRN_FILE_UPPER_BOUNDS,
    FIRN_FILE_KEY_METADATA,
    FIRN_FILE_SPLIT_OFFSETS,
    FIRN_FILE_EQUALITY_IDS,
    FIRN_FILE_SORT_ORDER,
    FIRN_FILE_FIRST_ROW,
    FIRN_FILE_REFERENCED,
    FIRN_FILE_CONTENT_OFFSET,
    FIRN_FILE_CONTENT_BYTES,
    FIRN_FILE_FIELD_COUNT
};

/* A leaf column of the table, as readable_metrics shows it. */
struct firn_metrics_leaf {
    struct firn_text name;
    const struct firn_field *field;
};

struct firn_file_shape {
    const struct firn_partition_shape *partitions;
    struct firn_metadata_columns columns;               /* without `partition` where no spec has fields */
    enum firn_file_field fields[FIRN_FILE_FIELD_COUNT]; /* what each column is */
    struct firn_metadata_column metrics;                /* readable_metrics */
    struct firn_metrics_leaf *leaves;                   /* one a field of it, by name */
};

/* In op->arena. */
FIRN_CHECKED firn_status firn_file_shape_new(struct firn_op *op, const struct firn_metadata *metadata,
                                             const struct firn_file_shape **out);
/* The column of a field; UINT32_MAX: there is none. */
uint32_t firn_file_shape_find(const struct firn_file_shape *shape, enum firn_file_field field);
/* Whether a path from step `depth` on needs counts, sizes or bounds. */
bool firn_file_shape_needs_metrics(const struct firn_file_shape *shape, const struct firn_metadata_path *path,
                                   uint32_t depth);
/* The column that step `depth` of the path names, or what lies in it. */
FIRN_CHECKED firn_status firn_file_shape_cell(struct firn_op *op, const struct firn_file_shape *shape,
                                              const struct firn_data_file *file, const struct firn_metadata_path *path,
                                              uint32_t depth, struct firn_cell *out);
/* All columns as one struct. */
FIRN_CHECKED firn_status firn_file_shape_json(struct firn_op *op, const struct firn_file_shape *shape,
                                              const struct firn_data_file *file, struct firn_cell *out);
/* readable_metrics, or what step `depth` and those after it lead to. readable_metrics.c */
struct firn_metadata_column firn_readable_metrics_column(struct firn_op *op, const struct firn_schema *schema,
                                                         struct firn_metrics_leaf **leaves);
FIRN_CHECKED firn_status firn_readable_metrics_cell(struct firn_op *op, const struct firn_file_shape *shape,
                                                    const struct firn_data_file *file,
                                                    const struct firn_metadata_path *path, uint32_t depth,
                                                    struct firn_cell *out);

#endif
