/* Seeds of random cases. They are the same at every run, so that what passed once passes again; FIRN_SEED asks for
 * others. */
#ifndef FIRN_TESTS_SEEDS_H
#define FIRN_TESTS_SEEDS_H

#include "check.h"

struct test_seeds {
    uint64_t first, count;
    bool is_one; /* a single case need not show everything */
};

/* `count` seeds from `first` on. FIRN_SEED=N: N alone; FIRN_SEED=random: as many, from the time; FIRN_CASES: how many.
 */
static inline struct test_seeds test_seeds(struct firn_op *op, uint64_t first, uint64_t count)
{
    const char *seed = getenv("FIRN_SEED"), *cases = getenv("FIRN_CASES");
    struct test_seeds seeds = { .first = first, .count = count };
    if (seed && strcmp(seed, "random") == 0)
        seeds.first = (uint64_t)firn_now_us(op);
    else if (seed)
        seeds = (struct test_seeds){ .first = strtoull(seed, NULL, 10), .count = 1 };
    if (cases)
        seeds.count = strtoull(cases, NULL, 10);
    seeds.is_one = seeds.count == 1;
    if (seed)
        print_message("seeds %" PRIu64 " to %" PRIu64 "\n", seeds.first, seeds.first + seeds.count - 1);
    return seeds;
}

#endif
