/* Partition transforms a step coarser or finer. */
#include "maintain/transform_step.h"

#include "base/math.h"

/* So many buckets become one. */
enum { BUCKETS_STEP = 8 };

struct firn_text firn_transform_coarser(struct firn_arena *arena, const struct firn_transform *transform,
                                        struct firn_text column)
{
    switch (transform->id) {
    case FIRN_TRANSFORM_HOUR:
        return firn_text_format(arena, "days(%.*s)", FIRN_FMT(column));
    case FIRN_TRANSFORM_DAY:
        return firn_text_format(arena, "months(%.*s)", FIRN_FMT(column));
    case FIRN_TRANSFORM_MONTH:
        return firn_text_format(arena, "years(%.*s)", FIRN_FMT(column));
    case FIRN_TRANSFORM_BUCKET:
        return firn_text_format(arena, "bucket(%d, %.*s)", FIRN_MAX(transform->width / BUCKETS_STEP, 1),
                                FIRN_FMT(column));
    case FIRN_TRANSFORM_IDENTITY:
        return firn_text_format(arena, "bucket(16, %.*s)", FIRN_FMT(column));
    default:
        return FIRN_TEXT("");
    }
}

struct firn_text firn_transform_finer(struct firn_arena *arena, const struct firn_transform *transform,
                                      struct firn_text column, int64_t *parts)
{
    static const struct {
        enum firn_transform_id id;
        const char *finer;
        int64_t parts;
    } steps[] = {
        { FIRN_TRANSFORM_YEAR, "months", 12 },
        { FIRN_TRANSFORM_MONTH, "days", 30 },
        { FIRN_TRANSFORM_DAY, "hours", 24 },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(steps); i++) {
        if (steps[i].id != transform->id)
            continue;
        *parts = steps[i].parts;
        return firn_text_format(arena, "%s(%.*s)", steps[i].finer, FIRN_FMT(column));
    }
    return FIRN_TEXT("");
}
