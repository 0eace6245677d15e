/* A file-system check for a table: what is broken, what is odd, and what can still be read. */
#ifndef FIRN_VERIFY_H
#define FIRN_VERIFY_H

#include "firn/catalog.h"

enum firn_severity {
    FIRN_SEVERITY_NOTICE,  /* worth knowing; nothing is wrong */
    FIRN_SEVERITY_WARNING, /* readers get the right rows, but somebody's work is not as it should be */
    FIRN_SEVERITY_ERROR    /* some reader fails, or gets wrong rows */
};
/* "notice", "warning", "error". */
const char *firn_severity_name(enum firn_severity severity);

struct firn_finding {
    enum firn_severity severity;
    const char *code;          /* of the kind of finding, stable, in kebab case: "file-missing" */
    struct firn_text location; /* of the file it is about, or empty */
    struct firn_text text;     /* what is wrong, with the values that show it */
    struct firn_text hint;     /* what to do; may be empty */
};

#endif
