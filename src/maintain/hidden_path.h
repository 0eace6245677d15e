/* Hadoop's rule of hidden files, with Iceberg's exception for partition fields. Reference: procedures.md, 7.2. */
#ifndef FIRN_MAINTAIN_HIDDEN_PATH_H
#define FIRN_MAINTAIN_HIDDEN_PATH_H

#include "table/metadata.h"

struct firn_hidden_rule {
    struct firn_text *shown; /* "_field=" of partition fields, of any spec, whose name looks hidden */
    size_t shown_count;
};

/* In op->arena. */
struct firn_hidden_rule firn_hidden_rule_of(struct firn_op *op, const struct firn_metadata *metadata);
/* Whether some part of a path below a listed folder begins with '_' or '.'. `below` is relative: "data/_tmp/x". */
bool firn_hidden_rule_hides(const struct firn_hidden_rule *rule, struct firn_text below);

#endif
