/* What all parts of one group's execution share. Every bin works on a copy of its own, with its own counters, since
 * bins run side by side. */
#ifndef FIRN_REWRITE_GROUP_RUN_H
#define FIRN_REWRITE_GROUP_RUN_H

#include "format/puffin/positions.h"
#include "rewrite/input_shape.h"
#include "rewrite/output_schema.h"
#include "rewrite/rewrite.h"
#include "rewrite/write_options.h"
#include "table/metrics.h"

/* Rows of an input that the pieces seen so far hold, against what its footer says. */
struct firn_input_rows {
    atomic_int_fast64_t covered, total; /* total -1: not opened yet */
    atomic_int_fast64_t deleted;        /* of those covered */
};

struct firn_group_run {
    const struct firn_rewrite_context *context;
    const struct firn_rewrite_group *group;
    struct firn_output_schema schema;
    struct firn_write_options options;
    struct firn_id_sources ids;
    const struct firn_metrics_config *metrics;
    const struct firn_partition_spec *spec; /* of the output */
    const struct firn_type *partition_types;
    uint32_t *leaf_order;             /* leaves, those first that take longest */
    struct firn_text file_ending;     /* of the outputs' names */
    struct firn_codec_context *codec; /* shared by the leaves */
    uint64_t window_bytes;            /* input files to hold at once */
    uint64_t chunk_bytes;             /* column chunks and pages of one row group to hold between steps */
    uint64_t encoder_bytes;           /* memory of row groups being encoded at which the largest ends */
    uint64_t row_group_bytes;         /* encoded bytes at which a row group ends */
    uint64_t metadata_bytes;          /* of the row groups of a file being written, at which it ends */

    atomic_uint_fast64_t requests;

    /* Shared by the bins. */
    struct firn_input_rows *input_rows;    /* one an input */
    const struct firn_positions **deleted; /* of each input, NULL for none; NULL: of no input */
    uint64_t deleted_bytes;                /* what these take in memory */
    struct firn_row_mapper *row_mapper;
};

/* Resolves schema, options and specs of run->context and run->group, which are set. Lives in op->arena. */
FIRN_CHECKED firn_status firn_group_run_init(struct firn_op *op, struct firn_group_run *run);

#endif
