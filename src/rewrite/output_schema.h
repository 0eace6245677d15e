/* The Parquet schema of the files a rewrite writes, and for each of its leaves the Iceberg field behind it.
 * Iceberg spec, "Appendix A: Parquet", "Reserved Field IDs". */
#ifndef FIRN_REWRITE_OUTPUT_SCHEMA_H
#define FIRN_REWRITE_OUTPUT_SCHEMA_H

#include "format/parquet/metadata.h"
#include "table/value.h"

#define FIRN_FIELD_ID_ROW_ID                       INT32_C(2147483540)
#define FIRN_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER INT32_C(2147483539)

enum firn_leaf_role {
    FIRN_LEAF_COLUMN,
    FIRN_LEAF_ROW_ID,         /* v3 row lineage */
    FIRN_LEAF_SEQUENCE_NUMBER /* v3 row lineage: _last_updated_sequence_number */
};

struct firn_output_leaf {
    const struct firn_parquet_node *node;
    const struct firn_field *field; /* the Iceberg field stored here; for the leaves of a variant, the variant */
    struct firn_text name;          /* full dotted name in the table's schema */
    enum firn_leaf_role role;
    bool repeated;   /* inside a list or map */
    bool in_variant; /* metadata or value of a variant */
};

struct firn_output_schema {
    const struct firn_schema *schema;
    struct firn_footer *footer; /* root, leaves, key_values and created_by are set */
    struct firn_output_leaf *leaves;
    uint32_t leaf_count;
};

/* Columns of type unknown have no place in a file and are left out. `lineage` adds the two row lineage columns. Lives
 * in op->arena, borrows from `schema`. UNSUPPORTED for a schema without anything to store in one of its structs, lists
 * or maps. */
FIRN_CHECKED firn_status firn_output_schema_new(struct firn_op *op, const struct firn_schema *schema, bool lineage,
                                                struct firn_output_schema *out);
/* Stores short decimals, which are integers otherwise, as the fewest bytes that take them, where all of `footers` that
 * have the column do so: Arrow writes them in this form, which every reader knows, and their pages can then be copied.
 * To be called before anything is made of the schema. */
void firn_output_schema_adopt(struct firn_output_schema *schema, const struct firn_footer *const *footers,
                              uint32_t footer_count);
/* Whether there is anything to adopt. */
bool firn_output_schema_has_short_decimals(const struct firn_output_schema *schema);
/* The leaf that stores a primitive field, or NULL. */
const struct firn_output_leaf *firn_output_schema_find(const struct firn_output_schema *schema, int32_t field_id);

#endif
