/* Position deletes and deletion vectors, read into sets of positions.
 * Iceberg spec, "Position Delete Files", "Deletion Vectors"; reference: format-notes.md, 3, 4 and 5. */
#ifndef FIRN_REWRITE_DELETION_POSITION_H
#define FIRN_REWRITE_DELETION_POSITION_H

#include "base/map.h"
#include "format/puffin/positions.h"
#include "rewrite/file_rows.h"
#include "store/store.h"
#include "table/manifest.h"

/* The locations of the data files whose deletes are wanted, as manifests spell them. A delete means the file spelled as
 * it says, else the one that differs only in scheme and authority, which writers leave out here and write there. */
struct firn_delete_names {
    struct firn_map map; /* locations, and what is left of them without scheme and authority */
};
void firn_delete_names_init(struct firn_delete_names *names, struct firn_arena *arena);
/* Borrows the text. */
void firn_delete_names_add(struct firn_delete_names *names, struct firn_text location);
/* Whether just this spelling was added. */
bool firn_delete_names_live(const struct firn_delete_names *names, struct firn_text location);

struct firn_position_source {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    const struct firn_delete_names *names;
};

/* Reads the rows of a position delete file, Parquet or Avro, that concern one of the names into `out`: a map of sets of
 * positions, in `out`'s arena and op->arena, charged to the budget. Rows may come in any order and more than once;
 * those without a path mean nothing. UNSUPPORTED for other formats. */
FIRN_CHECKED firn_status firn_position_deletes_read(struct firn_op *op, const struct firn_position_source *source,
                                                    const struct firn_data_file *file, struct firn_map *out);
/* The columns of position delete files by name, for those whose writer left out the field ids. In the arena. */
struct firn_name_mapping firn_position_deletes_mapping(struct firn_arena *arena);
/* Visits all rows of a position delete file, Parquet, Avro or ORC: its paths, then its positions. CORRUPT when it lacks
 * one of the columns. */
FIRN_CHECKED firn_status firn_position_rows_read(struct firn_op *op, const struct firn_metadata *metadata,
                                                 struct firn_store *store, const struct firn_data_file *file,
                                                 firn_file_rows_visit *visit, void *context);
/* The columns of position delete files that hold the deleted rows: file_path, pos, and row, a struct of the type `row`.
 * In op->arena, borrows from `row`. UNSUPPORTED for a type that no file can store. */
FIRN_CHECKED firn_status firn_position_rows_schema(struct firn_op *op, const struct firn_type *row,
                                                   struct firn_output_schema *out);
/* As firn_position_rows_read, with the deleted rows as slots: columns of such a schema. Not for Avro. */
FIRN_CHECKED firn_status firn_deleted_rows_read(struct firn_op *op, const struct firn_metadata *metadata,
                                                struct firn_store *store, const struct firn_data_file *file,
                                                const struct firn_output_schema *schema, firn_file_rows_visit *visit,
                                                void *context);
/* Adds what such a map holds for one data file to its set. */
FIRN_CHECKED firn_status firn_position_deletes_merge(struct firn_op *op, const struct firn_delete_names *names,
                                                     const struct firn_map *sets, struct firn_text location,
                                                     struct firn_positions *out);
/* Whether a position delete file, Parquet, Avro or ORC, holds the deleted rows beside their positions. Only the footer
 * of Parquet is read. */
FIRN_CHECKED firn_status firn_position_deletes_have_rows(struct firn_op *op, struct firn_store *store,
                                                         const struct firn_data_file *file, bool *out);
/* Reads the deletion vector that a manifest entry describes; only its bytes are read, whatever lies around them. The
 * set lives in op->arena. */
FIRN_CHECKED firn_status firn_deletion_vector_read(struct firn_op *op, struct firn_store *store,
                                                   const struct firn_data_file *file, struct firn_positions **out);

#endif
