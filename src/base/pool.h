/* A fixed set of threads and one way to use it: run the same function for indices 0 to count - 1.
 *
 * The calling thread works too, while it waits on runs that its jobs have begun: runs may nest without deadlock and
 * without idle threads. Jobs own their operation; they share only what is immutable or what their index selects. What a
 * job leaves in its op->arena lives as long as the caller's arena. */
#ifndef FIRN_BASE_POOL_H
#define FIRN_BASE_POOL_H

#include "firn/op.h"

struct firn_pool;
enum { FIRN_POOL_THREADS_MAX = 256 };

/* `thread_count` includes the calling thread; 1 runs everything in place. 0 means one per online processor. */
FIRN_CHECKED firn_status firn_pool_open(struct firn_op *op, uint32_t thread_count, struct firn_pool **out);
void firn_pool_close(struct firn_pool *pool);
uint32_t firn_pool_thread_count(const struct firn_pool *pool);

typedef firn_status firn_pool_job(struct firn_op *op, void *context, size_t index);

/* Runs every index once, at most `width` of them at a time (0: no such limit). After a failure no further index is
 * started; the error reported is that of the lowest index that failed. A NULL pool runs in place. */
FIRN_CHECKED firn_status firn_pool_run(struct firn_op *op, struct firn_pool *pool, size_t count, uint32_t width,
                                       firn_pool_job *job, void *context);

#endif
