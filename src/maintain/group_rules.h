/* Rules that procedures which rewrite files in groups share: sizes of outputs, what a group may hold, which groups are
 * worth it, in which order they run. Pure. Reference: procedures.md, 2.4 and 2.5. */
#ifndef FIRN_MAINTAIN_GROUP_RULES_H
#define FIRN_MAINTAIN_GROUP_RULES_H

#include "firn/op.h"

/* target-file-size-bytes, min-file-size-bytes, max-file-size-bytes. */
struct firn_output_sizes {
    int64_t target_bytes; /* wanted size of an output */
    int64_t bytes_min;    /* smaller files are candidates */
    int64_t bytes_max;    /* larger files are candidates */
};
/* Fills bounds that are FIRN_ABSENT in and checks all three against each other. USAGE. */
FIRN_CHECKED firn_status firn_output_sizes_check(struct firn_op *op, struct firn_output_sizes *sizes);
/* Where a file of so many bytes stands, in words: below, above or between the bounds. */
struct firn_text firn_output_sizes_reason(struct firn_arena *arena, const struct firn_output_sizes *sizes,
                                          int64_t bytes);
/* The size at which a writer ends a file. */
int64_t firn_output_write_max(const struct firn_output_sizes *sizes);
/* How many files a writer that is given so many bytes ends up with. */
int64_t firn_output_written_files(const struct firn_output_sizes *sizes, int64_t bytes);
/* How many files inputs of so many bytes become, and how many bytes each is given. */
int64_t firn_output_expected_files(const struct firn_output_sizes *sizes, int64_t bytes);
int64_t firn_output_split_bytes(const struct firn_output_sizes *sizes, int64_t bytes);

struct firn_group_weight {
    int64_t bytes;
    int64_t files;
};
/* max-file-group-size-bytes, max-file-group-input-files, min-input-files. */
struct firn_group_limits {
    int64_t bytes_max;
    int64_t files_max;
    int64_t input_files_min;
};
/* Their defaults. */
struct firn_group_limits firn_group_limits_default(void);
/* Whether one more file of `bytes` fits a group; a file fits an empty one whatever its size. */
bool firn_group_has_room(const struct firn_group_limits *limits, struct firn_group_weight group, int64_t bytes);
/* Whether the number or the size of its files makes a group worth rewriting. */
bool firn_group_has_enough(const struct firn_group_limits *limits, const struct firn_output_sizes *sizes,
                           struct firn_group_weight group);

/* partial-progress.max-commits counts only with partial progress. USAGE. */
FIRN_CHECKED firn_status firn_commits_max_check(struct firn_op *op, bool partial_progress, int64_t commits_max);

/* How many commits a run of so many groups makes. */
int64_t firn_commits_of_groups(bool partial_progress, int64_t commits_max, uint32_t group_count);

/* rewrite-job-order. */
enum firn_job_order {
    FIRN_ORDER_NONE,
    FIRN_ORDER_BYTES_ASC,
    FIRN_ORDER_BYTES_DESC,
    FIRN_ORDER_FILES_ASC,
    FIRN_ORDER_FILES_DESC,
    FIRN_ORDER_COUNT
};
extern const char *const firn_job_order_names[FIRN_ORDER_COUNT + 1]; /* ended by NULL */
/* <0, 0 or >0; 0 asks for the order of the plan. */
int firn_job_order_compare(enum firn_job_order order, struct firn_group_weight a, struct firn_group_weight b);

#endif
