/* Rows for the option maps of procedures that work in groups (group_rules.h, group_work.h): one key means the same, and
 * takes the same values, in each. AT(member) is where the procedure's struct has the member.
 * Reference: procedures.md, 2.3, 2.4, 2.9. */
#ifndef FIRN_MAINTAIN_GROUP_OPTIONS_H
#define FIRN_MAINTAIN_GROUP_OPTIONS_H

#include "maintain/group_rules.h"
#include "maintain/option_map.h"

/* Or else each row is indented deeper than the last. */
/* clang-format off */
/* Members `sizes`, `limits` and `rewrite_all`. */
#define FIRN_PACKING_OPTIONS(AT)                                                                                       \
    { "target-file-size-bytes", FIRN_OPTION_WHOLE, AT(sizes.target_bytes), 1, INT64_MAX, NULL, true },                 \
    { "min-file-size-bytes", FIRN_OPTION_WHOLE, AT(sizes.bytes_min), 0, INT64_MAX, NULL, true },                       \
    { "max-file-size-bytes", FIRN_OPTION_WHOLE, AT(sizes.bytes_max), 1, INT64_MAX, NULL, true },                       \
    { "min-input-files", FIRN_OPTION_WHOLE, AT(limits.input_files_min), 1, INT32_MAX, NULL, true },                    \
    { "rewrite-all", FIRN_OPTION_FLAG, AT(rewrite_all), 0, 0, NULL, true },                                            \
    { "max-file-group-size-bytes", FIRN_OPTION_WHOLE, AT(limits.bytes_max), 1, INT64_MAX, NULL, true },                \
    { "max-file-group-input-files", FIRN_OPTION_WHOLE, AT(limits.files_max), 1, INT64_MAX, NULL, true }

/* Members `partial_progress` and `commits_max`. */
#define FIRN_PARTIAL_PROGRESS_OPTIONS(AT)                                                                              \
    { "partial-progress.enabled", FIRN_OPTION_FLAG, AT(partial_progress), 0, 0, NULL, false },                         \
    { "partial-progress.max-commits", FIRN_OPTION_WHOLE, AT(commits_max), INT32_MIN, INT32_MAX, NULL, false }
/* clang-format on */

#endif
