/* The status table as functions. */
#include "firn/status.h"

struct row {
    const char *name;
    bool retryable;
    int exit_code;
    const char *meaning;
};

static const struct row rows[] = {
#define ROW(name, retry, code, meaning) { #name, retry, code, meaning },
    FIRN_STATUS_TABLE(ROW)
#undef ROW
};
_Static_assert(sizeof rows / sizeof *rows == FIRN_STATUS_COUNT, "one row per status");

static const char *const names[] = {
    "ok",          "not_found", "exists",      "conflict", "unknown",   "corrupt", "partial", "usage",
    "unsupported", "denied",    "unavailable", "limit",    "cancelled", "verify",  "system",  "busy",
};
_Static_assert(sizeof names / sizeof *names == FIRN_STATUS_COUNT, "one name per status");

const char *firn_status_name(firn_status status)
{
    return names[status];
}

int firn_status_exit_code(firn_status status)
{
    return rows[status].exit_code;
}

bool firn_status_retryable(firn_status status)
{
    return rows[status].retryable;
}

const char *firn_status_meaning(firn_status status)
{
    return rows[status].meaning;
}
