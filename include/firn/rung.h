/* How much was done to the pages that a rewrite read, from copying them to encoding them anew, and why. */
#ifndef FIRN_RUNG_H
#define FIRN_RUNG_H

#include "firn/op.h"

#include <jansson.h>

/* From the cheapest to the dearest. Each page of each column takes one. */
enum firn_rung {
    FIRN_RUNG_KEEP,      /* copied, as all pages of its column chunk, which begins the new chunk */
    FIRN_RUNG_SPLICE,    /* copied as it lies */
    FIRN_RUNG_REPACK,    /* its values stay encoded as they are; levels and compression are made anew */
    FIRN_RUNG_REMAP,     /* indices into a dictionary, made indices into that of the new chunk */
    FIRN_RUNG_TRANSCODE, /* decoded and encoded */
    FIRN_RUNG_COUNT
};

/* What forbade copying a page as it lies. */
#define FIRN_RUNG_REASON_TABLE(ROW)                                                                                    \
    ROW(NONE, "copied")                                                                                                \
    ROW(DELETED_ROWS, "deleted-rows")       /* some of its rows are deleted */                                         \
    ROW(SEVERAL_OUTPUTS, "several-outputs") /* its rows go to several files */                                         \
    ROW(PROMOTED, "promoted")               /* the table's type is stored otherwise */                                 \
    ROW(LEVELS, "levels")                   /* nulls or nesting are stored otherwise, or no row begins with it */      \
    ROW(OTHER_CODEC, "other-codec")         /* the table wants another compression */                                  \
    ROW(LEGACY_ENCODING, "legacy-encoding") /* of values or levels, in a form that not all readers take */             \
    ROW(TINY_PAGE, "tiny-page")             /* joined with its neighbours */                                           \
    ROW(HUGE_PAGE, "huge-page")             /* cut */                                                                  \
    ROW(DICTIONARY, "dictionary")           /* its dictionary is not the new chunk's */                                \
    ROW(SMALLER_ENCODED, "smaller-encoded") /* samples say that encoding anew makes the column smaller */              \
    ROW(BLOOM_FILTER, "bloom-filter")       /* the table wants one of the column, which takes its values */            \
    ROW(STEP_END, "step-end")               /* the work was cut inside the page */                                     \
    ROW(SORTED, "sorted")                   /* its rows take another order */                                          \
    ROW(FORCED, "forced")                   /* by option */

enum firn_rung_reason {
#define FIRN_RUNG_REASON_ENUM(name, text) FIRN_REASON_##name,
    FIRN_RUNG_REASON_TABLE(FIRN_RUNG_REASON_ENUM)
#undef FIRN_RUNG_REASON_ENUM
        FIRN_REASON_COUNT
};

const char *firn_rung_name(enum firn_rung rung);
const char *firn_rung_reason_name(enum firn_rung_reason reason);

/* Pages read, and their bytes as the files hold them. */
struct firn_rung_count {
    int64_t pages, bytes;
};
struct firn_rung_counts {
    struct firn_rung_count rungs[FIRN_RUNG_COUNT];
    struct firn_rung_count reasons[FIRN_REASON_COUNT]; /* of the pages that were not copied as they lie */
    struct firn_rung_count passed_over;                /* all their rows are deleted: not decoded */
    struct firn_rung_count decoded_for_facts;          /* copied, but read through to tell of them in indexes */
};
/* Adds `more` to `sum`. */
void firn_rung_counts_add(struct firn_rung_counts *sum, const struct firn_rung_counts *more);
/* {"rungs": {"keep": {"pages", "bytes"}, ...}, "reasons": {those that occurred: {"pages", "bytes"}}, "passed_over":
 * {"pages", "bytes"}, "decoded_for_facts": {"pages", "bytes"}}. A new reference. */
json_t *firn_rung_counts_json(const struct firn_rung_counts *counts);

#endif
