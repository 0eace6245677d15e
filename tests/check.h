/* What every unit test includes: cmocka, an operation per test, and checks with a message. */
#ifndef FIRN_TESTS_CHECK_H
#define FIRN_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "firn/op.h"

/* Fails the test with a message unless `condition` holds. */
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            print_error("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                                \
            print_error(" " __VA_ARGS__);                                                                              \
            print_error("\n");                                                                                         \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Fails the test with the operation's error unless the call gives FIRN_OK. */
#define CHECK_OK(op, call)                                                                                             \
    do {                                                                                                               \
        firn_status check_status_ = (call);                                                                            \
        CHECK(check_status_ == FIRN_OK, "%s: %s", firn_status_name(check_status_), (op)->error.text);                  \
    } while (0)

#define CHECK_STATUS(op, expected, call)                                                                               \
    do {                                                                                                               \
        firn_status check_status_ = (call);                                                                            \
        CHECK(check_status_ == (expected), "got %s, wanted %s: %s", firn_status_name(check_status_),                   \
              firn_status_name(expected), check_status_ == FIRN_OK ? "" : (op)->error.text);                           \
    } while (0)

struct test_op {
    struct firn_op op;
    struct firn_arena arena;
};

static inline int test_op_setup(void **state)
{
    struct test_op *test = calloc(1, sizeof *test);
    firn_arena_init(&test->arena);
    firn_op_init(&test->op, &test->arena, firn_env_real());
    *state = test;
    return 0;
}

static inline int test_op_teardown(void **state)
{
    struct test_op *test = *state;
    firn_arena_done(&test->arena);
    free(test);
    return 0;
}

/* A test function that has an operation in *state. */
#define TEST(function) cmocka_unit_test_setup_teardown(function, test_op_setup, test_op_teardown)

static inline struct firn_op *test_op(void **state)
{
    return &((struct test_op *)*state)->op;
}

#endif
