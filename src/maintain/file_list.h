/* A list of files given instead of a listing: CSV or JSON lines. It is remove_orphan_files' file_list_view, which in
 * Spark is a relation (file_path STRING, last_modified TIMESTAMP). Reference: procedures.md, 7.1.
 *
 * CSV begins with a header that names at least file_path and last_modified, in any order; other columns are ignored,
 * and values may stand in double quotes. JSON lines are objects with at least these two members; what begins with '{'
 * is read as such. A time is an ISO timestamp (UTC where no zone is given) or a whole number of milliseconds since the
 * epoch; an empty or null one is unknown. */
#ifndef FIRN_MAINTAIN_FILE_LIST_H
#define FIRN_MAINTAIN_FILE_LIST_H

#include "store/store.h"

/* Calls `visit` for every file of the list; sizes are 0, as they are not known, and an unknown time is INT64_MAX.
 * CORRUPT names file and line. */
FIRN_CHECKED firn_status firn_file_list_read(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                             firn_store_visit *visit, void *context);

#endif
