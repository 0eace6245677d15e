/* Policies of maintenance: what is done to a table, how often, by which thresholds.
 *
 * Every key has a default. A file (firn.yaml) sets keys for all tables, for those of a namespace and for single tables;
 * a table's own properties "firn.maintain.KEY" go before these, and what a command was told before all. What a key is
 * called, what it takes and what it means stands in one table, which also checks and explains it.
 *
 *   maintain:
 *     defaults:
 *       compact: { every: 1h }
 *       windows: 22:00-06:00
 *     namespaces:
 *       bank: { expire: { every: 1d, older-than: 7d } }
 *     tables:
 *       bank.txn:
 *         compact: { every: 30m, target-file-size-bytes: 512MiB }
 */
#ifndef FIRN_POLICY_H
#define FIRN_POLICY_H

#include "firn/catalog.h"

#include <jansson.h>

/* What files say, checked, for any table. */
struct firn_policies;

/* No file: defaults only. */
struct firn_policies *firn_policies_new(struct firn_op *op);
/* Adds a file's section `maintain`; later settings win over earlier ones of the same scope. Sections of others are
 * passed over. USAGE names file and line, and suggests what may have been meant; CORRUPT for what is not YAML. */
FIRN_CHECKED firn_status firn_policies_parse(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                                             struct firn_policies *policies);

/* The policy of one table. Lives in the op->arena it was made with. */
struct firn_policy;
/* `table` NULL: of a table that nothing is said of. `given` goes before all else: keys and values, as told on the
 * command line. USAGE names what is wrong, and where it was said. */
FIRN_CHECKED firn_status firn_policy_of(struct firn_op *op, const struct firn_policies *policies,
                                        const struct firn_table *table, const struct firn_property *given,
                                        size_t given_count, struct firn_policy **out);
/* [{"key", "value", "from" ("default", "firn.yaml, line 3", "table property", "given"), "help"}], in the order of the
 * table of keys. Owned by op->arena. */
json_t *firn_policy_json(struct firn_op *op, const struct firn_policy *policy);

#endif
