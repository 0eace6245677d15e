/* Whose a metadata file is: enough of it is read to tell, since of old metadata files a table may have thousands. */
#ifndef FIRN_MAINTAIN_TABLE_IDENTITY_H
#define FIRN_MAINTAIN_TABLE_IDENTITY_H

#include "firn/catalog.h"
#include "store/store.h"

struct firn_table_identity {
    struct firn_text table_uuid; /* may be empty in version 1 */
    struct firn_text location;   /* without a slash at its end */
};

/* Reads the beginning of a metadata file, and all of it only where that does not tell. In op->arena. NOT_FOUND; CORRUPT
 * for a file that does not tell at all. */
FIRN_CHECKED firn_status firn_table_identity_read(struct firn_op *op, struct firn_store *store,
                                                  struct firn_text metadata_file, struct firn_table_identity *out);
/* Whether that is this table: early version 1 tables have no uuid, then the recorded location tells. */
bool firn_table_identity_same(struct firn_op *op, const struct firn_table *table,
                              const struct firn_table_identity *identity);

#endif
