/* How one input file yields the columns of the output: the read rules of the specification, resolved once a file.
 * Iceberg spec, "Column Projection", "Schema Evolution", "Default values", "Row Lineage"; format-notes.md, 6, 12, 13.
 */
#ifndef FIRN_REWRITE_PROJECTION_H
#define FIRN_REWRITE_PROJECTION_H

#include "rewrite/conversion.h"
#include "rewrite/input_shape.h"
#include "rewrite/output_schema.h"
#include "table/manifest.h"

/* A definition level of the input at which a required column of the output would be null. */
#define FIRN_LEVEL_FORBIDDEN UINT8_MAX

/* Where the slots of one output leaf come from, and where its values. */
struct firn_leaf_plan {
    /* Slots: those of an input leaf with their levels mapped, or, when NULL, one a row with definition level `def`. */
    const struct firn_parquet_node *levels;
    const uint8_t *def_map; /* input definition level to output level; NULL: the same */
    uint8_t rep_keep;       /* slots with a higher repetition level are dropped: `levels` is repeated deeper inside */
    uint8_t def;

    /* Values, for slots whose output definition level is the leaf's maximum: the input leaf's, ... */
    bool has_values;
    struct firn_conversion conversion;
    /* ... or always the same, ... */
    const struct firn_dictionary *constant;
    /* ... or numbered: `number` plus `number_step` times the row's position in the file, where the input leaf has none
     * itself. */
    bool numbered;
    int64_t number, number_step;
};

struct firn_projection {
    const struct firn_leaf_plan *plans; /* one an output leaf */
};

struct firn_projection_config {
    const struct firn_output_schema *schema;
    const struct firn_id_sources *ids;
    const struct firn_partition_spec *spec; /* of the input file */
    const struct firn_data_file *file;
    int64_t sequence_number; /* of the input file, for row lineage */
};

/* Lives in op->arena; nodes of `footer` without field ids may be given some. Fails: UNSUPPORTED for a column whose
 * stored form has no reading or that only exists without field ids, CORRUPT for a required column that the file lacks
 * and for ids that occur twice. */
FIRN_CHECKED firn_status firn_projection_new(struct firn_op *op, const struct firn_projection_config *config,
                                             struct firn_footer *footer, struct firn_projection *out);

#endif
