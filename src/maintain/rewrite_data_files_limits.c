/* Limits of a plan of rewrite_data_files: best gain first, and what no longer fits is left. What a run asks of them
 * while it goes on is in rewrite_data_files_meter.c. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"
#include "maintain/work.h"

#include <stdlib.h>

bool firn_rewrite_has_limits(const struct firn_rewrite_limits *limits)
{
    return limits->bytes_max > 0 || limits->requests_max > 0 || limits->time_ms_max > 0;
}

int firn_rewrite_gain_compare(const struct firn_rewrite_plan *plan, const struct firn_planned_group *a,
                              const struct firn_planned_group *b)
{
    double left = (double)firn_rewrite_group_gain(plan, a) / (double)FIRN_MAX(a->bytes, 1);
    double right = (double)firn_rewrite_group_gain(plan, b) / (double)FIRN_MAX(b->bytes, 1);
    if (left != right)
        return left > right ? -1 : 1;
    return a < b ? -1 : a > b; /* one array: plan order */
}

static int compare_gain(const void *a, const void *b, void *plan)
{
    return firn_rewrite_gain_compare(plan, *(struct firn_planned_group *const *)a,
                                     *(struct firn_planned_group *const *)b);
}

/* What a plan may still take. */
struct room {
    int64_t bytes, requests;
    struct firn_manifest_join join; /* of manifests of data files, whatever is taken */
};

static enum firn_group_verdict fit(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group,
                                   struct room *room)
{
    int64_t requests = 0;
    if (group->bytes > room->bytes)
        return FIRN_GROUP_OVER_BYTES;
    if (room->requests < INT64_MAX) {
        struct firn_work work = firn_rewrite_group_work(plan, &room->join, group);
        requests = firn_work_requests(&work);
    }
    if (requests > room->requests)
        return FIRN_GROUP_OVER_REQUESTS;
    room->bytes -= group->bytes;
    room->requests -= room->requests < INT64_MAX ? requests : 0;
    return FIRN_GROUP_CHOSEN;
}

static struct room room_of(const struct firn_rewrite_plan *plan)
{
    const struct firn_rewrite_limits *limits = &plan->limits;
    struct room room = { .bytes = limits->bytes_max > 0 ? limits->bytes_max : INT64_MAX, .requests = INT64_MAX };
    if (limits->requests_max > 0) {
        struct firn_work run = firn_rewrite_run_work(plan);
        room.requests = limits->requests_max - firn_work_requests(&run);
        room.join = firn_manifests_joined(plan->metadata, &plan->whole.manifests, false);
    }
    return room;
}

void firn_rewrite_plan_fit(struct firn_op *op, struct firn_rewrite_plan *plan)
{
    if (plan->limits.bytes_max == 0 && plan->limits.requests_max == 0)
        return;
    struct firn_planned_group **chosen = FIRN_NEW_ARRAY(op->arena, struct firn_planned_group *, plan->packed_count);
    struct room room = room_of(plan);
    size_t count = 0;
    for (uint32_t i = 0; i < plan->packed_count; i++) {
        plan->is_capped |= plan->packed[i].verdict == FIRN_GROUP_OVER_BYTES; /* cut to too few files */
        if (plan->packed[i].verdict == FIRN_GROUP_CHOSEN)
            chosen[count++] = &plan->packed[i];
    }
    qsort_r(chosen, count, sizeof *chosen, compare_gain, plan);
    for (size_t i = 0; i < count; i++) {
        chosen[i]->verdict = fit(plan, chosen[i], &room);
        plan->is_capped = plan->is_capped || chosen[i]->verdict != FIRN_GROUP_CHOSEN;
    }
}

struct firn_rewrite_left firn_rewrite_plan_left(const struct firn_rewrite_plan *plan)
{
    struct firn_rewrite_left left = { 0 };
    for (uint32_t i = 0; i < plan->packed_count; i++) {
        const struct firn_planned_group *group = &plan->packed[i];
        if (group->verdict != FIRN_GROUP_OVER_BYTES && group->verdict != FIRN_GROUP_OVER_REQUESTS)
            continue;
        left.groups++;
        left.files += group->file_count;
        left.bytes += group->bytes;
    }
    return left;
}
