/* The outcomes a call can have, and what each means to a program and to a shell.
 *
 * Callers branch on these values, never on error texts. The exit codes are part of the command line's contract. */
#ifndef FIRN_STATUS_H
#define FIRN_STATUS_H

#include <stdbool.h>

/* One row per outcome: name, worth retrying, exit code, meaning. */
#define FIRN_STATUS_TABLE(ROW)                                                                                         \
    ROW(OK, false, 0, "done")                                                                                          \
    ROW(NOT_FOUND, false, 3, "no such object, table, snapshot or file")                                                \
    ROW(EXISTS, false, 1, "the object is there already")                                                               \
    ROW(CONFLICT, true, 4, "another writer committed first")                                                           \
    ROW(UNKNOWN, false, 5, "the commit may or may not have happened: nothing was deleted")                             \
    ROW(CORRUPT, false, 6, "bytes that break the format")                                                              \
    ROW(PARTIAL, false, 7, "done in part")                                                                             \
    ROW(USAGE, false, 2, "wrong usage")                                                                                \
    ROW(UNSUPPORTED, false, 1, "valid, but firn does not handle it")                                                   \
    ROW(DENIED, false, 1, "permission denied")                                                                         \
    ROW(UNAVAILABLE, true, 1, "a service did not answer")                                                              \
    ROW(LIMIT, false, 1, "a stated limit was exceeded")                                                                \
    ROW(CANCELLED, false, 1, "stopped on request or at the deadline")                                                  \
    ROW(VERIFY, false, 1, "the proof before the commit failed: nothing was committed")                                 \
    ROW(SYSTEM, false, 1, "the operating system reported an error")                                                    \
    ROW(BUSY, true, 8, "another maintenance run has the table")

enum firn_status {
#define FIRN_STATUS_ENUM(name, retry, code, meaning) FIRN_##name,
    FIRN_STATUS_TABLE(FIRN_STATUS_ENUM)
#undef FIRN_STATUS_ENUM
        FIRN_STATUS_COUNT
};
typedef enum firn_status firn_status;

/* The compiler refuses to ignore a status; FIRN_IGNORE says why one is ignored. */
#define FIRN_CHECKED __attribute__((warn_unused_result))

/* Passes a failure on untouched. */
#define FIRN_TRY(call)                                                                                                 \
    do {                                                                                                               \
        firn_status firn_try_status_ = (call);                                                                         \
        if (firn_try_status_ != FIRN_OK)                                                                               \
            return firn_try_status_;                                                                                   \
    } while (0)

#define FIRN_IGNORE(call, why)                                                                                         \
    do {                                                                                                               \
        firn_status firn_ignored_ = (call);                                                                            \
        (void)firn_ignored_;                                                                                           \
    } while (0)

/* The row's name in lower case, as logs and JSON show it ("not_found"). */
const char *firn_status_name(firn_status status);
/* The process exit code of an outcome. */
int firn_status_exit_code(firn_status status);
/* Whether trying again can help. */
bool firn_status_retryable(firn_status status);
/* One sentence for people. */
const char *firn_status_meaning(firn_status status);

#endif
