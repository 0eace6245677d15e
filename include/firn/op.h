/* The operation: what travels with every call that can fail and is not data. It belongs to one thread. */
#ifndef FIRN_OP_H
#define FIRN_OP_H

#include "firn/arena.h"
#include "firn/status.h"
#include "firn/text.h"

#include <inttypes.h>
#include <stdatomic.h>

#define FIRN_ERROR_TEXT_MAX 2048
#define FIRN_ERROR_HINT_MAX 512

/* Fixed size, no allocation; read only after a status other than FIRN_OK. Both texts are one line that may be shown as
 * it is: see firn_text_printable. */
struct firn_error {
    firn_status status;
    char text[FIRN_ERROR_TEXT_MAX]; /* one line, outermost context first */
    char hint[FIRN_ERROR_HINT_MAX]; /* what to do, or empty */
};

enum firn_log_level { FIRN_LOG_ERROR, FIRN_LOG_WARN, FIRN_LOG_INFO, FIRN_LOG_DEBUG };

enum firn_process_state { FIRN_PROCESS_UNTOLD, FIRN_PROCESS_RUNS, FIRN_PROCESS_ENDED };

/* The world outside: the real one (firn_env_real) or a test's. Functions may be called from several threads. */
struct firn_env {
    int64_t (*now_us)(void *context);            /* microseconds since the epoch, UTC */
    int64_t (*monotonic_ms)(void *context);      /* milliseconds of a clock that never goes back */
    void (*sleep_ms)(void *context, int64_t ms); /* returns early when stop is set */
    void (*random)(void *context, void *out, size_t len);
    void (*log)(void *context, enum firn_log_level level, struct firn_text line);
    /* A name that this process shares with no other, on any machine, at any time; empty where there is none. */
    struct firn_text (*process)(void *context, struct firn_arena *arena);
    /* What became of a process of that name; UNTOLD for one of another machine or container. */
    enum firn_process_state (*process_state)(void *context, struct firn_text name);
    const atomic_bool *stop; /* set by a signal handler; NULL when nothing can stop the operation */
    void *context;
};

/* A byte budget shared by all threads of one command. Atomic; `limit_bytes` 0 means none. */
struct firn_budget {
    atomic_size_t used_bytes;
    atomic_size_t peak_bytes;
    size_t limit_bytes;
};

struct firn_op;

/* Is told of changes to storage before they happen, and can keep them from happening by failing: a journal. May be
 * called from several threads. */
struct firn_watch {
    /* An object is about to be written under `location`. */
    firn_status (*before_write)(struct firn_op *op, void *context, struct firn_text location);
    /* A table's metadata is about to be replaced, whatever may become known of the outcome. */
    firn_status (*before_swap)(struct firn_op *op, void *context);
    void *context;
};

struct firn_op {
    struct firn_arena *arena;       /* results and scratch; freed by whoever began the operation */
    struct firn_error error;        /* see firn_fail */
    const struct firn_env *env;     /* never NULL */
    struct firn_budget *budget;     /* what firn_buffer charges; may be NULL */
    struct firn_text temp_folder;   /* where data beyond memory goes; empty: see store/spill.h */
    int64_t deadline_ms;            /* monotonic; every wait and every retry ends here; INT64_MAX: none */
    const struct firn_watch *watch; /* NULL: nobody watches */
    const void *pool_run;           /* the thread pool's: what the operation is a job of; NULL: it is none */
};

/* The system's clock, randomness and a log that drops everything below warnings and writes the rest to stderr. */
const struct firn_env *firn_env_real(void);

/* Begins an operation over an arena the caller owns. */
void firn_op_init(struct firn_op *op, struct firn_arena *arena, const struct firn_env *env);

/* Memory of its own for a part of an operation, which goes when that is done. */
struct firn_scratch {
    struct firn_arena arena;
    struct firn_arena *results; /* what op->arena was before, and is after: for what has to stay */
};
/* From here on op->arena is the scratch arena, */
void firn_scratch_begin(struct firn_op *op, struct firn_scratch *scratch);
/* and to here. An error of `op` stays. */
void firn_scratch_end(struct firn_op *op, struct firn_scratch *scratch);

/* States a failure where it is found. Gives back `status`, so that callers can `return firn_fail(...)`. */
firn_status firn_fail(struct firn_op *op, firn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* As firn_fail with what `errno` says; maps ENOENT to NOT_FOUND, EACCES, EPERM and EROFS to DENIED, EEXIST to EXISTS,
 * ENOSPC, EDQUOT and EFBIG to LIMIT with a hint, all else to SYSTEM, EMFILE with one. */
firn_status firn_fail_errno(struct firn_op *op, int error_number, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* Adds an outer frame to a failure ("manifest x: ..."); gives back `status` (FIRN_OK passes untouched). */
firn_status firn_context(struct firn_op *op, firn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Says what a person should do about the failure just stated. The first hint wins. Gives back `status`. */
firn_status firn_hint(struct firn_op *op, firn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* CANCELLED once the operation was told to stop or its deadline passed; to be asked in every long loop. */
FIRN_CHECKED firn_status firn_op_check(struct firn_op *op);

/* firn_env's; empty, and UNTOLD, where the environment cannot say. */
struct firn_text firn_process_name(struct firn_op *op);
enum firn_process_state firn_process_state(struct firn_op *op, struct firn_text name);

int64_t firn_now_ms(struct firn_op *op);
int64_t firn_now_us(struct firn_op *op);

/* One event a line, `key=value` pairs, lower case, no full stop. */
void firn_log(struct firn_op *op, enum firn_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
