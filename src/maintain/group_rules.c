/* The arithmetic of groups and their outputs. */
#include "maintain/group_rules.h"

#include "base/math.h"
#include "table/manifest.h"

#define GROUP_BYTES_DEFAULT  INT64_C(107374182400)
#define SPLIT_OVERHEAD_BYTES INT64_C(5120)

firn_status firn_output_sizes_check(struct firn_op *op, struct firn_output_sizes *sizes)
{
    int64_t target = sizes->target_bytes;
    if (target < 1)
        return firn_fail(op, FIRN_USAGE, "target file size is %" PRId64 ", it must be above 0", target);
    if (sizes->bytes_min == FIRN_ABSENT)
        sizes->bytes_min = (int64_t)((double)target * 0.75);
    if (sizes->bytes_max == FIRN_ABSENT) {
        double bound = (double)target * 1.80; /* past 2^63 the conversion is undefined; Java's stops there */
        sizes->bytes_max = bound < 9.2e18 ? (int64_t)bound : INT64_MAX;
    }
    if (sizes->bytes_min >= target)
        return firn_fail(op, FIRN_USAGE,
                         "min-file-size-bytes is %" PRId64 ", not below target-file-size-bytes %" PRId64,
                         sizes->bytes_min, target);
    if (sizes->bytes_max <= target)
        return firn_fail(op, FIRN_USAGE,
                         "max-file-size-bytes is %" PRId64 ", not above target-file-size-bytes %" PRId64,
                         sizes->bytes_max, target);
    return FIRN_OK;
}

struct firn_text firn_output_sizes_reason(struct firn_arena *arena, const struct firn_output_sizes *sizes,
                                          int64_t bytes)
{
    if (bytes < sizes->bytes_min)
        return firn_text_format(arena, "%" PRId64 " bytes, below min-file-size-bytes %" PRId64, bytes,
                                sizes->bytes_min);
    if (bytes > sizes->bytes_max)
        return firn_text_format(arena, "%" PRId64 " bytes, above max-file-size-bytes %" PRId64, bytes,
                                sizes->bytes_max);
    return firn_text_format(arena,
                            "%" PRId64 " bytes, between min-file-size-bytes %" PRId64 " and max-file-size-bytes "
                            "%" PRId64,
                            bytes, sizes->bytes_min, sizes->bytes_max);
}

int64_t firn_output_write_max(const struct firn_output_sizes *sizes)
{
    double target = (double)sizes->target_bytes;
    return (int64_t)(target + 0.5 * ((double)sizes->bytes_max - target));
}

int64_t firn_output_written_files(const struct firn_output_sizes *sizes, int64_t bytes)
{
    int64_t write_max = firn_output_write_max(sizes);
    return FIRN_MAX(bytes / write_max + (bytes % write_max != 0), 1);
}

int64_t firn_output_expected_files(const struct firn_output_sizes *sizes, int64_t bytes)
{
    int64_t target = sizes->target_bytes;
    if (bytes < target)
        return 1;
    int64_t down = bytes / target;
    int64_t up = down + (bytes % target != 0);
    if (bytes % target > sizes->bytes_min)
        return up;
    double average_max = FIRN_MIN(1.1 * (double)target, (double)firn_output_write_max(sizes));
    return (double)(bytes / down) < average_max ? down : up;
}

int64_t firn_output_split_bytes(const struct firn_output_sizes *sizes, int64_t bytes)
{
    int64_t estimate = bytes / firn_output_expected_files(sizes, bytes) + SPLIT_OVERHEAD_BYTES;
    if (estimate < sizes->target_bytes)
        return sizes->target_bytes;
    return FIRN_MIN(estimate, firn_output_write_max(sizes));
}

struct firn_group_limits firn_group_limits_default(void)
{
    return (struct firn_group_limits){
        .bytes_max = GROUP_BYTES_DEFAULT,
        .files_max = INT64_MAX,
        .input_files_min = 5,
    };
}

bool firn_group_has_room(const struct firn_group_limits *limits, struct firn_group_weight group, int64_t bytes)
{
    int64_t sum;
    if (group.files == 0)
        return true;
    return !__builtin_add_overflow(group.bytes, bytes, &sum) && sum <= limits->bytes_max &&
           group.files < limits->files_max;
}

bool firn_group_has_enough(const struct firn_group_limits *limits, const struct firn_output_sizes *sizes,
                           struct firn_group_weight group)
{
    if (group.files > 1 && (group.files >= limits->input_files_min || group.bytes > sizes->target_bytes))
        return true;
    return group.bytes > sizes->bytes_max;
}

firn_status firn_commits_max_check(struct firn_op *op, bool partial_progress, int64_t commits_max)
{
    if (!partial_progress || commits_max >= 1)
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE,
                     "partial-progress.max-commits is %" PRId64 ", it must be above 0 with partial progress",
                     commits_max);
}

int64_t firn_commits_of_groups(bool partial_progress, int64_t commits_max, uint32_t group_count)
{
    int64_t most = partial_progress ? commits_max : 1;
    return FIRN_MIN(most, (int64_t)group_count);
}

const char *const firn_job_order_names[FIRN_ORDER_COUNT + 1] = { "none", "bytes-asc", "bytes-desc", "files-asc",
                                                                 "files-desc" };

int firn_job_order_compare(enum firn_job_order order, struct firn_group_weight a, struct firn_group_weight b)
{
    bool by_bytes = order == FIRN_ORDER_BYTES_ASC || order == FIRN_ORDER_BYTES_DESC;
    bool descending = order == FIRN_ORDER_BYTES_DESC || order == FIRN_ORDER_FILES_DESC;
    int64_t x = by_bytes ? a.bytes : a.files;
    int64_t y = by_bytes ? b.bytes : b.files;
    if (order == FIRN_ORDER_NONE || x == y)
        return 0;
    return (x < y) == descending ? 1 : -1;
}
