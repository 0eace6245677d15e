/* Configuration in YAML: mappings of scalars, told to a visitor value by value with their place. */
#ifndef FIRN_FORMAT_YAML_H
#define FIRN_FORMAT_YAML_H

#include "firn/op.h"

enum firn_yaml_kind {
    FIRN_YAML_SCALAR,
    FIRN_YAML_MAPPING, /* the start of one; its values follow */
    FIRN_YAML_LIST     /* is passed over, whatever it holds */
};

/* What stands behind a key. */
struct firn_yaml_value {
    enum firn_yaml_kind kind;
    const struct firn_text *path; /* the keys that lead to it, outermost first; each in op->arena */
    size_t depth;                 /* of them; at least 1 */
    struct firn_text text;        /* of a scalar, whatever it looks like; in op->arena */
    size_t line;                  /* of its key; from 1 */
    struct firn_text file_name;   /* for messages */
};

typedef firn_status firn_yaml_visit(struct firn_op *op, void *context, const struct firn_yaml_value *value);
/* Calls `visit` for every value, in order, until one fails. CORRUPT with the line for what is not YAML, is not a
 * mapping, has aliases, or lies too deep. */
FIRN_CHECKED firn_status firn_yaml_read(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                                        firn_yaml_visit *visit, void *context);
/* States a failure about a value: "FILE, line N: PROBLEM". Gives back `status`. */
firn_status firn_yaml_fail(struct firn_op *op, firn_status status, const struct firn_yaml_value *value,
                           const char *format, ...) __attribute__((format(printf, 4, 5), cold));

#endif
