/* What a run of rewrite_data_files has taken of its limits of requests and time. Bytes were fitted when it was planned.
 */
#include "maintain/rewrite_data_files_run.h"

static int64_t monotonic_ms(struct firn_op *op)
{
    return op->env->monotonic_ms(op->env->context);
}

static int64_t requests_of(struct firn_store *store)
{
    struct firn_work work = firn_store_work(store);
    return firn_work_requests(&work);
}

void firn_rewrite_meter_start(struct firn_op *op, const struct firn_rewrite_limits *limits, struct firn_store *store,
                              struct firn_rewrite_meter *out)
{
    *out = (struct firn_rewrite_meter){
        .limits = limits,
        .store = store,
        .requests_before = requests_of(store),
        .started_ms = monotonic_ms(op),
        .width = 1,
    };
}

/* At the pace so far, of which every group that runs has its share. Until one is done there is none to go by. */
static bool has_time(struct firn_op *op, struct firn_rewrite_meter *meter, int64_t bytes)
{
    double elapsed_ms = (double)(monotonic_ms(op) - meter->started_ms), max_ms = (double)meter->limits->time_ms_max;
    int64_t done = atomic_load(&meter->bytes_done);
    double wanted_ms = done > 0 ? elapsed_ms * meter->width * (double)bytes / (double)done : 0;
    return elapsed_ms < max_ms && elapsed_ms + wanted_ms <= max_ms;
}

/* The first group goes on whatever was said: a run that does nothing would be followed by others that do nothing. */
bool firn_rewrite_meter_allows(struct firn_op *op, struct firn_rewrite_meter *meter, int64_t bytes)
{
    const struct firn_rewrite_limits *limits = meter->limits;
    if (!atomic_exchange(&meter->has_begun, true))
        return true;
    if (limits->time_ms_max > 0 && !has_time(op, meter, bytes))
        return false;
    return limits->requests_max == 0 || requests_of(meter->store) - meter->requests_before < limits->requests_max;
}
