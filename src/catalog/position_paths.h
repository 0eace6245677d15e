/* Whether a position delete file means certain data files, told by its rows. */
#ifndef FIRN_CATALOG_POSITION_PATHS_H
#define FIRN_CATALOG_POSITION_PATHS_H

#include "base/map.h"
#include "store/store.h"
#include "table/manifest.h"

/* Gives the first of `paths` that a row names; empty: none does. A row is looked up as it is spelled and without scheme
 * and authority, so a map of both spellings misses no file. `named` is a key of the map. UNSUPPORTED when it cannot be
 * told. */
FIRN_CHECKED firn_status firn_position_deletes_name_any(struct firn_op *op, struct firn_store *store,
                                                        const struct firn_data_file *file, const struct firn_map *paths,
                                                        struct firn_text *named);

#endif
