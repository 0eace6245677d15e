/* What a rewrite weighs when it may copy a page or encode it anew: speed against size. */
#ifndef FIRN_REWRITE_LAYOUT_H
#define FIRN_REWRITE_LAYOUT_H

#include "firn/rung.h"

enum firn_layout {
    FIRN_LAYOUT_BALANCED, /* copies pages of sensible size, unless samples say that a column shrinks by encoding */
    FIRN_LAYOUT_FASTEST,  /* copies whatever may be */
    FIRN_LAYOUT_SMALLEST, /* encodes anew, unless samples say that nothing is gained */
    FIRN_LAYOUT_COUNT
};
extern const char *const firn_layout_names[FIRN_LAYOUT_COUNT + 1]; /* ended by NULL */

struct firn_layout_policy {
    enum firn_layout layout;
    bool is_forced; /* for tests: no rung but this one where it may be, and the dearest where not */
    enum firn_rung forced;
};

#endif
