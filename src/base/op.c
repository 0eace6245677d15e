/* The operation, its errors and the real environment. */
#include "firn/op.h"

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t real_now_us(void *context)
{
    (void)context;
    return clock_ns(CLOCK_REALTIME) / 1000;
}

static int64_t real_monotonic_ms(void *context)
{
    (void)context;
    return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static void real_sleep_ms(void *context, int64_t ms)
{
    (void)context;
    struct timespec wait = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    nanosleep(&wait, NULL); /* a signal ends the wait early, and the caller asks firn_op_check */
}

static void real_random(void *context, void *out, size_t len)
{
    (void)context;
    unsigned char *at = out;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got > 0) {
            at += got;
            len -= (size_t)got;
        }
    }
}

static void real_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    if (level <= FIRN_LOG_WARN)
        fprintf(stderr, "firn: %s: %.*s\n", level == FIRN_LOG_WARN ? "warning" : "error", FIRN_FMT(line));
}

const struct firn_env *firn_env_real(void)
{
    static const struct firn_env real = {
        .now_us = real_now_us,
        .monotonic_ms = real_monotonic_ms,
        .sleep_ms = real_sleep_ms,
        .random = real_random,
        .log = real_log,
        .process = firn_process_name_real,
        .process_state = firn_process_state_real,
    };
    return &real;
}

void firn_op_init(struct firn_op *op, struct firn_arena *arena, const struct firn_env *env)
{
    *op = (struct firn_op){ .arena = arena, .env = env, .deadline_ms = INT64_MAX };
}

void firn_scratch_begin(struct firn_op *op, struct firn_scratch *scratch)
{
    firn_arena_init(&scratch->arena);
    scratch->results = op->arena;
    op->arena = &scratch->arena;
}

void firn_scratch_end(struct firn_op *op, struct firn_scratch *scratch)
{
    op->arena = scratch->results;
    firn_arena_done(&scratch->arena);
}

/* Names in messages come from files, which may hold anything: what a terminal would obey is escaped. */
static size_t print_message(char *out, size_t size, const char *format, va_list args)
{
    char raw[FIRN_ERROR_TEXT_MAX];
    vsnprintf(raw, sizeof raw, format, args);
    return firn_text_print(out, size, firn_text_of(raw));
}

static firn_status vfail(struct firn_op *op, firn_status status, const char *format, va_list args)
{
    op->error.status = status;
    op->error.hint[0] = 0;
    print_message(op->error.text, sizeof op->error.text, format, args);
    return status;
}

firn_status firn_fail(struct firn_op *op, firn_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfail(op, status, format, args);
    va_end(args);
    return status;
}

static firn_status status_of_errno(int error_number)
{
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
        return FIRN_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return FIRN_DENIED;
    case EEXIST:
        return FIRN_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return FIRN_LIMIT;
    default:
        return FIRN_SYSTEM;
    }
}

firn_status firn_fail_errno(struct firn_op *op, int error_number, const char *format, ...)
{
    char reason[128];
    firn_status status = status_of_errno(error_number);
    va_list args;
    va_start(args, format);
    vfail(op, status, format, args);
    va_end(args);
    size_t used = strlen(op->error.text);
    const char *text = strerror_r(error_number, reason, sizeof reason);
    snprintf(op->error.text + used, sizeof op->error.text - used, ": %s", text);
    if (error_number == ENOSPC || error_number == EDQUOT)
        return firn_hint(op, status, "free space on that file system, then run the command again");
    if (error_number == EFBIG)
        return firn_hint(op, status, "raise the limit on the size of files (ulimit -f), then run the command again");
    if (error_number == EMFILE)
        return firn_hint(op, status, "raise the limit on open files (ulimit -n), then run the command again");
    return status;
}

firn_status firn_context(struct firn_op *op, firn_status status, const char *format, ...)
{
    if (status == FIRN_OK)
        return status;
    char inner[FIRN_ERROR_TEXT_MAX];
    memcpy(inner, op->error.text, sizeof inner);
    va_list args;
    va_start(args, format);
    size_t used = print_message(op->error.text, sizeof op->error.text, format, args);
    va_end(args);
    if (used + sizeof ": " < sizeof op->error.text) {
        memcpy(op->error.text + used, ": ", sizeof ": ");
        used += sizeof ": " - 1;
        firn_text_print(op->error.text + used, sizeof op->error.text - used, firn_text_of(inner));
    }
    return status;
}

firn_status firn_hint(struct firn_op *op, firn_status status, const char *format, ...)
{
    if (op->error.hint[0])
        return status;
    va_list args;
    va_start(args, format);
    print_message(op->error.hint, sizeof op->error.hint, format, args);
    va_end(args);
    return status;
}

firn_status firn_op_check(struct firn_op *op)
{
    if (op->env->stop && atomic_load_explicit(op->env->stop, memory_order_relaxed))
        return firn_fail(op, FIRN_CANCELLED, "stopped on request");
    if (op->deadline_ms != INT64_MAX && op->env->monotonic_ms(op->env->context) > op->deadline_ms)
        return firn_fail(op, FIRN_CANCELLED, "the deadline has passed");
    return FIRN_OK;
}

int64_t firn_now_us(struct firn_op *op)
{
    return op->env->now_us(op->env->context);
}

int64_t firn_now_ms(struct firn_op *op)
{
    return firn_now_us(op) / 1000;
}

struct firn_text firn_process_name(struct firn_op *op)
{
    return op->env->process ? op->env->process(op->env->context, op->arena) : FIRN_TEXT("");
}

enum firn_process_state firn_process_state(struct firn_op *op, struct firn_text name)
{
    return op->env->process_state ? op->env->process_state(op->env->context, name) : FIRN_PROCESS_UNTOLD;
}

void firn_log(struct firn_op *op, enum firn_log_level level, const char *format, ...)
{
    char line[FIRN_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    size_t len = print_message(line, sizeof line, format, args);
    va_end(args);
    op->env->log(op->env->context, level, (struct firn_text){ line, len });
}
