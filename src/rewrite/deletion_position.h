/* Position deletes and deletion vectors, read into sets of positions.
 * Iceberg spec, "Position Delete Files", "Deletion Vectors"; reference: format-notes.md, 3, 4 and 5. */
#ifndef FIRN_REWRITE_DELETION_POSITION_H
#define FIRN_REWRITE_DELETION_POSITION_H

#include "base/map.h"
#include "format/puffin/positions.h"
#include "store/store.h"
#include "table/manifest.h"

/* Which data file a delete means by a location: the one spelled so, else the one that differs only in scheme and
 * authority, which writers leave out here and write there. `live` holds the locations of data files as manifests spell
 * them. Gives the text under which the deletes of a file are kept. */
struct firn_text firn_delete_target(const struct firn_map *live, struct firn_text location);

struct firn_position_source {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    const struct firn_map *live;
};

/* Adds the rows of a position delete file, Parquet or Avro, to `out`: target to struct firn_positions, in `out`'s
 * arena. Rows may come in any order and more than once; those without a path mean nothing. UNSUPPORTED for other
 * formats. */
FIRN_CHECKED firn_status firn_position_deletes_read(struct firn_op *op, const struct firn_position_source *source,
                                                    const struct firn_data_file *file, struct firn_map *out);
/* Reads the deletion vector that a manifest entry describes; only its bytes are read, whatever lies around them. The
 * set lives in op->arena. */
FIRN_CHECKED firn_status firn_deletion_vector_read(struct firn_op *op, struct firn_store *store,
                                                   const struct firn_data_file *file, struct firn_positions **out);

#endif
