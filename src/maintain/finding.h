/* Findings of a check, collected. A kind of finding that comes up a thousand times is told a hundred times and counted:
 * memory stays bounded whatever is wrong. One list belongs to one thread; lists are merged afterwards. */
#ifndef FIRN_MAINTAIN_FINDING_H
#define FIRN_MAINTAIN_FINDING_H

#include "firn/verify.h"

/* Findings of one code that are kept with their texts. */
enum { FIRN_FINDINGS_KEPT_MAX = 100 };

/* How often a code was found, told or not. */
struct firn_finding_count {
    const char *code;
    enum firn_severity severity;
    uint64_t count;
};

struct firn_findings {
    struct firn_arena *arena; /* where texts are copied to */
    FIRN_ARRAY(struct firn_finding) items;
    FIRN_ARRAY(struct firn_finding_count) counts; /* one a code and severity, as they came up */
    bool last_is_kept;
};

/* Empty; grows in `arena`. */
void firn_findings_init(struct firn_findings *findings, struct firn_arena *arena);
/* Adds one. `code` is a literal; `location` is copied. */
void firn_findings_add(struct firn_findings *findings, enum firn_severity severity, const char *code,
                       struct firn_text location, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Says of the finding added last what to do about it. */
void firn_findings_hint(struct firn_findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds what `from` has, counts included; `from` may go afterwards. */
void firn_findings_merge(struct firn_findings *into, const struct firn_findings *from);
/* How many of a severity there are, told or not. */
uint64_t firn_findings_count(const struct firn_findings *findings, enum firn_severity severity);

#endif
