/* Where the keys of data files lie in an order of columns, by what manifests say: for every field of the order its
 * least and greatest value, which together bound the keys. */
#ifndef FIRN_MAINTAIN_KEY_RANGE_H
#define FIRN_MAINTAIN_KEY_RANGE_H

#include "rewrite/ordering.h"
#include "table/manifest.h"
#include "table/metadata.h"
#include "table/metrics.h"

/* What a field has at one end, from lower to greater values. LEAST and GREATEST: it is not known. */
enum firn_key_end_kind {
    FIRN_KEY_END_LEAST,
    FIRN_KEY_END_NULL_BELOW,
    FIRN_KEY_END_VALUE,
    FIRN_KEY_END_NAN,
    FIRN_KEY_END_NULL_ABOVE,
    FIRN_KEY_END_GREATEST
};
struct firn_key_end {
    enum firn_key_end_kind kind;
    struct firn_value value;
};

/* No key comes before `first` or after `last`: one end a field, compared field by field. */
struct firn_key_range {
    struct firn_key_end *first, *last;
};

enum { FIRN_KEY_FIELDS_MAX = 4 }; /* that are looked at; those after decide seldom */

/* An order to measure files by. */
struct firn_key_measure {
    const struct firn_ordering *ordering; /* LINEAR */
    uint32_t field_count;                 /* of the order's, looked at */
    const struct firn_field *fields[FIRN_KEY_FIELDS_MAX];
    struct firn_metrics_setting written[FIRN_KEY_FIELDS_MAX]; /* how bounds of new files are kept */
};

/* Borrows. */
FIRN_CHECKED firn_status firn_key_measure_new(struct firn_op *op, const struct firn_metadata *metadata,
                                              const struct firn_ordering *ordering, struct firn_key_measure *out);
/* The range of a file as it is, or as it will be when it has been rewritten. Lives in the arena, borrows from the file.
 */
struct firn_key_range firn_key_range_of(struct firn_arena *arena, const struct firn_key_measure *measure,
                                        const struct firn_data_file *file, bool is_rewritten);
/* Widens a range so that it holds whatever files may be made of the keys of both: field by field, as a file of the
 * first keys of one may have any value of the other in the fields after. */
void firn_key_range_widen(const struct firn_key_measure *measure, struct firn_key_range *range,
                          const struct firn_key_range *by);
/* <0, 0 or >0: the end a comes before b in the order. */
int firn_key_ends_compare(const struct firn_key_measure *measure, const struct firn_key_end *a,
                          const struct firn_key_end *b);
/* The range that begins earlier, and of two that begin together ends earlier, comes first: so field by field. */
int firn_key_ranges_compare(const struct firn_key_measure *measure, const struct firn_key_range *a,
                            const struct firn_key_range *b);

enum firn_key_relation {
    FIRN_KEYS_APART, /* no key of the second comes before one of the first */
    FIRN_KEYS_MEET,  /* so it may be or not: what would decide is not known, or was cut */
    FIRN_KEYS_OVERLAP
};
/* How `next`, which comes no earlier by firn_key_ranges_compare, lies to `range`. */
enum firn_key_relation firn_key_range_followed(const struct firn_key_measure *measure,
                                               const struct firn_key_range *range, const struct firn_key_range *next);

#endif
