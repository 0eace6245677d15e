/* Names of schemes and authorities that stand for one another. Reference: procedures.md, 7.1, 7.4. */
#ifndef FIRN_MAINTAIN_PREFIX_NAMES_H
#define FIRN_MAINTAIN_PREFIX_NAMES_H

#include "base/map.h"
#include "firn/catalog.h"

struct firn_prefix_names {
    struct firn_map map; /* lower-case name -> struct firn_text *, the one that is compared */
};

/* The entries' keys may be lists: "s3n,s3a" = "s3". Later entries win. USAGE for an empty name; `option` is told then.
 */
FIRN_CHECKED firn_status firn_prefix_names_add(struct firn_op *op, struct firn_prefix_names *names,
                                               const struct firn_property *entries, size_t count, const char *option);
/* The name that `name`, in lower case, is compared as. */
struct firn_text firn_prefix_names_find(const struct firn_prefix_names *names, struct firn_text name);

#endif
