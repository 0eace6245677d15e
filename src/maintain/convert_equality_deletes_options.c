/* Options of convert_equality_deletes. */
#include "maintain/convert_equality_deletes.h"

#include "base/math.h"
#include "maintain/group_options.h"

#define GROUP_FILES_DEFAULT 10000

#define AT(member) offsetof(struct firn_convert_options, member)

static const struct firn_option_row rows[] = {
    { "target-file-size-bytes", FIRN_OPTION_WHOLE, AT(target_file_bytes), 1, INT64_MAX, NULL, false },
    { "max-file-group-input-files", FIRN_OPTION_WHOLE, AT(group_files_max), 1, INT32_MAX, NULL, false },
    FIRN_PARTIAL_PROGRESS_OPTIONS(AT),
};

static const struct firn_option_map map = { "convert_equality_deletes", rows, FIRN_COUNT_OF(rows) };

firn_status firn_convert_options_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                       const struct firn_property *options, size_t count,
                                       struct firn_convert_options *out)
{
    *out = (struct firn_convert_options){ .group_files_max = GROUP_FILES_DEFAULT, .commits_max = 10 };
    FIRN_TRY(firn_delete_file_bytes(op, metadata, &out->target_file_bytes));
    FIRN_TRY(firn_option_map_parse(op, &map, options, count, out));
    if (out->target_file_bytes < 1)
        return firn_fail(op, FIRN_USAGE, "target file size is %" PRId64 ", it must be above 0", out->target_file_bytes);
    return firn_commits_max_check(op, out->partial_progress, out->commits_max);
}

json_t *firn_convert_options_json(const struct firn_convert_options *options)
{
    return firn_option_map_json(&map, options);
}
