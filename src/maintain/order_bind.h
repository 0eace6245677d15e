/* Orders as people write them (table/order_text.h), bound to a table's columns; and a table's sort orders, found again
 * and told. Iceberg spec, "Sorting"; reference: procedures.md, 2.3. */
#ifndef FIRN_MAINTAIN_ORDER_BIND_H
#define FIRN_MAINTAIN_ORDER_BIND_H

#include "table/metadata.h"
#include "table/order_text.h"

/* The column of a name, in whatever case. NOT_FOUND. */
FIRN_CHECKED firn_status firn_order_column(struct firn_op *op, const struct firn_schema *schema, struct firn_text name,
                                           const struct firn_field **out);
/* Terms of columns and transforms as a sort order, whose id is 1, or 0 for no terms. In op->arena. USAGE for what is no
 * transform of one column, or of a type it does not take; NOT_FOUND for unknown columns. */
FIRN_CHECKED firn_status firn_order_bind(struct firn_op *op, const struct firn_schema *schema,
                                         const struct firn_order_terms *terms, struct firn_sort_order *out);
/* The table's order with the same fields, or NULL. */
const struct firn_sort_order *firn_order_find_same(const struct firn_metadata *metadata,
                                                   const struct firn_sort_order *order);
/* "account_id desc nulls-last, bucket[16](region) asc nulls-first"; "unsorted" */
struct firn_text firn_order_text(struct firn_arena *arena, const struct firn_schema *schema,
                                 const struct firn_sort_order *order);

#endif
