/* What every fuzz target shares: an operation with little memory. */
#ifndef FIRN_FUZZ_FUZZ_H
#define FIRN_FUZZ_FUZZ_H

#include "firn/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct fuzz_op {
    struct firn_op op;
    struct firn_arena arena;
    struct firn_budget budget;
};

static inline struct firn_op *fuzz_begin(struct fuzz_op *fuzz)
{
    *fuzz = (struct fuzz_op){ .budget.limit_bytes = 64 << 20 };
    firn_arena_init(&fuzz->arena);
    firn_op_init(&fuzz->op, &fuzz->arena, firn_env_real());
    fuzz->op.budget = &fuzz->budget;
    return &fuzz->op;
}

/* All buffers must have been given back. */
static inline int fuzz_end(struct fuzz_op *fuzz)
{
    firn_arena_done(&fuzz->arena);
    if (fuzz->budget.used_bytes != 0)
        __builtin_trap();
    return 0;
}

#endif
