/* What an input file's schema tree means: field ids for files that have none, and the many shapes of lists and maps.
 * Iceberg spec, "Column Projection"; parquet-format, "Lists", "Maps", backward compatibility rules. */
#ifndef FIRN_REWRITE_INPUT_SHAPE_H
#define FIRN_REWRITE_INPUT_SHAPE_H

#include "format/parquet/metadata.h"
#include "table/metadata.h"
#include "table/name_mapping.h"

/* What can tell a column's field id where the file does not. */
struct firn_id_sources {
    const struct firn_name_mapping *mapping;  /* NULL: the table has none */
    const struct firn_schema *const *schemas; /* of the table, the current one first */
    size_t schema_count;
};
/* All schemas of a table, and its name mapping if it has one. In op->arena. */
FIRN_CHECKED firn_status firn_id_sources_new(struct firn_op *op, const struct firn_metadata *metadata,
                                             struct firn_id_sources *out);

/* Gives the nodes of a file without any field id those of the name mapping, or, without a mapping, 1, 2, 3, ... by
 * position to top-level columns. A file with ids is left alone: there, columns without one are not read. Positions that
 * the names contradict, since the file leaves out partition columns for instance, are not trusted: then all names must
 * be those of the current schema.
 * UNSUPPORTED for columns that cannot be identified so; CORRUPT when an id occurs twice. */
FIRN_CHECKED firn_status firn_input_ids_assign(struct firn_op *op, struct firn_footer *footer,
                                               const struct firn_id_sources *sources);

/* The leaf of a file with a field id, or NULL. */
const struct firn_parquet_node *firn_footer_leaf(const struct firn_footer *footer, int32_t id);
/* The child of a group with a field id, or NULL. `*hint` (0 at first) remembers where to go on: children mostly stand
 * in the order they are asked for. */
const struct firn_parquet_node *firn_group_child(const struct firn_parquet_node *group, int32_t id, uint32_t *hint);

/* The repeated node of a list and its element; the same node when the list has no level of its own for elements.
 * `bare`: the node itself is repeated, without a group around it. */
struct firn_list_shape {
    const struct firn_parquet_node *repeated, *element;
};
FIRN_CHECKED firn_status firn_list_shape_find(struct firn_op *op, const struct firn_parquet_node *node, bool bare,
                                              int32_t element_id, struct firn_list_shape *out);

struct firn_map_shape {
    const struct firn_parquet_node *repeated, *key, *value; /* value NULL: the map has keys only */
};
FIRN_CHECKED firn_status firn_map_shape_find(struct firn_op *op, const struct firn_parquet_node *node, int32_t key_id,
                                             int32_t value_id, struct firn_map_shape *out);

#endif
