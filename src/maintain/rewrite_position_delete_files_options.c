/* Options of rewrite_position_delete_files. Reference: procedures.md, 2.4, 4, 12. */
#include "maintain/rewrite_position_delete_files.h"

#include "base/math.h"
#include "maintain/group_options.h"

#define AT(member) offsetof(struct firn_position_rewrite_options, member)

static const struct firn_option_row rows[] = {
    FIRN_PACKING_OPTIONS(AT),
    { "max-concurrent-file-group-rewrites", FIRN_OPTION_WHOLE, AT(concurrent_groups_max), 1, INT32_MAX, NULL, false },
    FIRN_PARTIAL_PROGRESS_OPTIONS(AT),
    { "rewrite-job-order", FIRN_OPTION_CHOICE, AT(job_order), 0, 0, firn_job_order_names, false },
};

static const struct firn_option_map map = { "rewrite_position_delete_files", rows, FIRN_COUNT_OF(rows) };

firn_status firn_position_rewrite_options_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                                const struct firn_property *options, size_t count,
                                                struct firn_position_rewrite_options *out)
{
    *out = (struct firn_position_rewrite_options){
        .sizes = { .bytes_min = FIRN_ABSENT, .bytes_max = FIRN_ABSENT },
        .limits = firn_group_limits_default(),
        .concurrent_groups_max = 5,
        .commits_max = 10,
    };
    FIRN_TRY(firn_delete_file_bytes(op, metadata, &out->sizes.target_bytes));
    FIRN_TRY(firn_option_map_parse(op, &map, options, count, out));
    FIRN_TRY(firn_output_sizes_check(op, &out->sizes));
    return firn_commits_max_check(op, out->partial_progress, out->commits_max);
}

json_t *firn_position_rewrite_options_json(const struct firn_position_rewrite_options *options)
{
    return firn_option_map_json(&map, options);
}
