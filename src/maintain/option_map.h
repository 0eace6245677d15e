/* The map `options => map(...)` of a procedure: a table of rows parses it into the procedure's struct, checks it and
 * prints it. Reference: procedures.md, 1, 2.4, 12. */
#ifndef FIRN_MAINTAIN_OPTION_MAP_H
#define FIRN_MAINTAIN_OPTION_MAP_H

#include "firn/catalog.h"

#include <jansson.h>

enum firn_option_kind {
    FIRN_OPTION_WHOLE,  /* int64_t in [min, max] */
    FIRN_OPTION_RATIO,  /* double above 0, at most 1 */
    FIRN_OPTION_FACTOR, /* double above 0 */
    FIRN_OPTION_FLAG,   /* bool, by Java's rule: "true" in any case, else false */
    FIRN_OPTION_CHOICE  /* int64_t: index into `choices` */
};

struct firn_option_row {
    const char *key;
    enum firn_option_kind kind;
    size_t at; /* of the member */
    int64_t min, max;
    const char *const *choices; /* ended by NULL */
    bool chooses;               /* decides which files are chosen */
};

struct firn_option_map {
    const char *owner; /* whose options: "strategy binpack" */
    const struct firn_option_row *rows;
    size_t row_count;
};

/* Whether the map has a key. */
bool firn_option_map_has(const struct firn_option_map *map, struct firn_text key);
/* Sets the members of `out` (the procedure's struct, defaults filled in) that options name. Later ones win. USAGE: all
 * unknown keys in one error, or the first value that makes no sense. */
FIRN_CHECKED firn_status firn_option_map_parse(struct firn_op *op, const struct firn_option_map *map,
                                               const struct firn_property *options, size_t count, void *out);
/* Every option with its value. A new reference. */
json_t *firn_option_map_json(const struct firn_option_map *map, const void *options);
/* The options that decide what is chosen, as "key=value key=value", with the predicate. Equal texts choose alike. */
struct firn_text firn_option_map_settings(struct firn_arena *arena, const struct firn_option_map *map,
                                          const void *options, struct firn_text where);

#endif
