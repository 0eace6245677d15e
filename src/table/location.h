/* Where new files of a table go: the data location provider and the names of metadata files.
 * Reference: format-notes.md, 9.1 and 15.2. */
#ifndef FIRN_TABLE_LOCATION_H
#define FIRN_TABLE_LOCATION_H

#include "base/uuid.h"
#include "table/metadata.h"

/* <location>/data, write.data.path, object storage hashing: the location of a new data file called `file_name` in the
 * partition with path `partition_path` (empty: unpartitioned). */
struct firn_text firn_data_location(struct firn_arena *arena, const struct firn_metadata *metadata,
                                    struct firn_text partition_path, struct firn_text file_name);
/* "00003-7-<uuid>-00001.parquet"; the ending is ".parquet", "-deletes.puffin" and the like. */
struct firn_text firn_data_file_name(struct firn_arena *arena, uint32_t partition, uint64_t task,
                                     struct firn_uuid operation, uint32_t sequence, struct firn_text ending);
/* <location>/metadata or write.metadata.path, joined with `file_name`. */
struct firn_text firn_metadata_location(struct firn_arena *arena, const struct firn_metadata *metadata,
                                        struct firn_text file_name);

#endif
