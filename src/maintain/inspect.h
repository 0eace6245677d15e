/* The inspectors behind firn_file_inspect (firn/describe.h), one a format. inspect.c tells the formats apart. */
#ifndef FIRN_MAINTAIN_INSPECT_H
#define FIRN_MAINTAIN_INSPECT_H

#include "firn/describe.h"

/* Each opens `location` itself and fills `out` as firn/describe.h says, owned by op->arena. */
FIRN_CHECKED firn_status firn_inspect_parquet(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                              struct firn_inspect_options options, json_t **out);
FIRN_CHECKED firn_status firn_inspect_avro(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                           struct firn_inspect_options options, json_t **out);
FIRN_CHECKED firn_status firn_inspect_puffin(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                             struct firn_inspect_options options, json_t **out);

#endif
