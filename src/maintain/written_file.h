/* A data file that firn wrote, as JSON: all that a manifest entry says of it, so that it can be committed later. */
#ifndef FIRN_MAINTAIN_WRITTEN_FILE_H
#define FIRN_MAINTAIN_WRITTEN_FILE_H

#include "table/manifest.h"

/* Values of partitions and bounds are in their binary form, in hexadecimal. A new reference. */
json_t *firn_written_file_json(struct firn_arena *arena, const struct firn_data_file *file);
/* The reverse. `spec_types` are those of firn_spec_types_new. In op->arena; CORRUPT. */
FIRN_CHECKED firn_status firn_written_file_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                                 struct firn_type *const *spec_types, const json_t *json,
                                                 struct firn_data_file *out);

#endif
