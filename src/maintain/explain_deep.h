/* Between the parts of an explanation that look into files. */
#ifndef FIRN_MAINTAIN_EXPLAIN_DEEP_H
#define FIRN_MAINTAIN_EXPLAIN_DEEP_H

#include "maintain/explain.h"
#include "rewrite/conversion.h"
#include "rewrite/input_shape.h"
#include "rewrite/output_schema.h"

/* A column of the predicate, as a file stores it. */
struct firn_look_column {
    const struct firn_field *field;
    const struct firn_parquet_node *node; /* NULL: not stored, or not to be trusted */
    struct firn_conversion conversion;
};

/* The columns that the predicate can judge, with the forms that firn would store them in. */
struct firn_look_fields {
    const struct firn_field **items;
    size_t count;
    struct firn_output_schema forms;
};

struct firn_looking {
    struct firn_explaining *run;
    struct firn_look_fields fields;
    struct firn_id_sources ids;
    struct firn_explain_deep *results; /* one a file */
};

/* One file being looked at. */
struct firn_look {
    const struct firn_looking *all;
    const struct firn_explain_file *file;
    struct firn_object *object;
    struct firn_footer *footer;
    struct firn_look_column *columns; /* one a field */
    struct firn_explain_deep *out;
};

/* Room for the statistics of a row group or a stretch of rows, as a file's metrics. Lives in the arena. */
struct firn_look_metrics;
struct firn_look_metrics *firn_look_metrics_new(struct firn_arena *arena, size_t columns);
/* Puts a row group to the test, then its pages, and counts what stays in look->out. */
FIRN_CHECKED firn_status firn_explain_look_at_group(struct firn_op *op, const struct firn_look *look,
                                                    const struct firn_row_group *row_group,
                                                    struct firn_look_metrics *metrics);

#endif
