/* The thread pool: a stack of runs; each thread takes the next index of the newest run that has room. A thread that
 * waits for a run takes indices of the runs that its jobs have begun, and no others: those might take longer. */
#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct run {
    struct run *below;        /* older run, still unfinished */
    const struct run *within; /* the run one of whose jobs began this one; NULL: none did */
    firn_pool_job *job;
    void *context;
    size_t count;
    size_t next;         /* first index not started */
    size_t finished;     /* indices done */
    uint32_t active;     /* threads inside a job */
    uint32_t width;      /* most threads at a time */
    size_t failed_index; /* count: none */
    struct firn_error error;
    struct firn_op *caller;
};

struct firn_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a run was added, an index finished, or the pool closes */
    struct run *runs;       /* newest first */
    bool closing;
    uint32_t worker_count;
    pthread_t workers[];
};

/* With the lock held: whether `run` has an index that may start now. */
static bool startable(const struct run *run)
{
    return run->next < run->count && run->active < run->width && run->failed_index == run->count;
}

/* With the lock held: runs one index of `run`, letting go of the lock while the job works. */
static void work(struct firn_pool *pool, struct run *run)
{
    struct firn_arena arena;
    struct firn_op op;
    size_t index = run->next++;
    run->active++;
    pthread_mutex_unlock(&pool->lock);

    firn_arena_init(&arena);
    firn_op_init(&op, &arena, run->caller->env);
    op.budget = run->caller->budget;
    op.temp_folder = run->caller->temp_folder;
    op.deadline_ms = run->caller->deadline_ms;
    op.watch = run->caller->watch;
    op.pool_run = run;
    firn_status status = run->job(&op, run->context, index);

    pthread_mutex_lock(&pool->lock);
    if (status != FIRN_OK && index < run->failed_index) {
        run->failed_index = index;
        run->error = op.error;
        run->error.status = status;
    }
    firn_arena_adopt(run->caller->arena, &arena);
    run->active--;
    run->finished++;
    pthread_cond_broadcast(&pool->changed);
}

static struct run *find_startable(struct firn_pool *pool)
{
    for (struct run *run = pool->runs; run; run = run->below)
        if (startable(run))
            return run;
    return NULL;
}

static bool is_within(const struct run *run, const struct run *outer)
{
    while (run && run != outer)
        run = run->within;
    return run != NULL;
}

/* What brings `outer` forward: an index of its own, or else of a run that one of its jobs waits for. */
static struct run *find_startable_within(struct firn_pool *pool, struct run *outer)
{
    if (startable(outer))
        return outer;
    for (struct run *run = pool->runs; run; run = run->below)
        if (startable(run) && is_within(run, outer))
            return run;
    return NULL;
}

static void *worker(void *context)
{
    struct firn_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing) {
        struct run *run = find_startable(pool);
        if (run)
            work(pool, run);
        else
            pthread_cond_wait(&pool->changed, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

firn_status firn_pool_open(struct firn_op *op, uint32_t thread_count, struct firn_pool **out)
{
    if (thread_count == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        thread_count = online > 0 ? (uint32_t)online : 1;
    }
    if (thread_count > FIRN_POOL_THREADS_MAX)
        return firn_fail(op, FIRN_USAGE, "%u threads asked for, at most %d are allowed", thread_count,
                         FIRN_POOL_THREADS_MAX);
    struct firn_pool *pool = calloc(1, sizeof *pool + thread_count * sizeof *pool->workers);
    if (!pool)
        return firn_fail(op, FIRN_LIMIT, "no memory for %u threads", thread_count);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    while (pool->worker_count + 1 < thread_count) {
        int error = pthread_create(&pool->workers[pool->worker_count], NULL, worker, pool);
        if (error) {
            firn_pool_close(pool);
            return firn_fail_errno(op, error, "cannot start thread %u", pool->worker_count + 1);
        }
        pool->worker_count++;
    }
    *out = pool;
    return FIRN_OK;
}

void firn_pool_close(struct firn_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

uint32_t firn_pool_thread_count(const struct firn_pool *pool)
{
    return pool ? pool->worker_count + 1 : 1;
}

static firn_status run_in_place(struct firn_op *op, size_t count, firn_pool_job *job, void *context)
{
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(job(op, context, i));
    return FIRN_OK;
}

static void unlink_run(struct firn_pool *pool, const struct run *run)
{
    struct run **at = &pool->runs;
    while (*at != run)
        at = &(*at)->below;
    *at = run->below;
}

firn_status firn_pool_run(struct firn_op *op, struct firn_pool *pool, size_t count, uint32_t width, firn_pool_job *job,
                          void *context)
{
    if (!pool || pool->worker_count == 0 || count <= 1 || width == 1)
        return run_in_place(op, count, job, context);
    struct run run = {
        .job = job,
        .context = context,
        .count = count,
        .width = width ? width : UINT32_MAX,
        .failed_index = count,
        .caller = op,
        .within = op->pool_run,
    };
    pthread_mutex_lock(&pool->lock);
    run.below = pool->runs;
    pool->runs = &run;
    pthread_cond_broadcast(&pool->changed);
    while (run.active > 0 || startable(&run)) {
        struct run *next = find_startable_within(pool, &run);
        if (next)
            work(pool, next);
        else
            pthread_cond_wait(&pool->changed, &pool->lock);
    }
    unlink_run(pool, &run);
    pthread_mutex_unlock(&pool->lock);
    if (run.failed_index == count)
        return FIRN_OK;
    op->error = run.error;
    return run.error.status;
}
