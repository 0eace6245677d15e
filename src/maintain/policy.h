/* The keys of a policy, and a policy's values by key. What they mean to people stands in firn/policy.h. */
#ifndef FIRN_MAINTAIN_POLICY_H
#define FIRN_MAINTAIN_POLICY_H

#include "firn/policy.h"

#define FIRN_POLICY_PROPERTY_PREFIX "firn.maintain."

/* A value that was not set; only of keys without a default. */
#define FIRN_POLICY_UNSET INT64_C(-1)
/* An interval without end. */
#define FIRN_POLICY_NEVER INT64_MAX

enum firn_policy_kind {
    FIRN_SETTING_AGE,     /* milliseconds; "never" is FIRN_POLICY_NEVER */
    FIRN_SETTING_NUMBER,  /* within [min, max] */
    FIRN_SETTING_BYTES,   /* "512MiB"; within [min, max] */
    FIRN_SETTING_RATIO,   /* above 0, at most 1; read as text */
    FIRN_SETTING_FLAG,    /* 0 or 1 */
    FIRN_SETTING_CHOICE,  /* index into the row's choices */
    FIRN_SETTING_WINDOWS, /* "22:00-06:00, 12:00-13:00", UTC; read as text */
    FIRN_SETTING_TEXT
};

/* id, key, kind, default, min, max (both in the kind's unit), choices, help */
#define FIRN_POLICY_TABLE(ROW)                                                                                         \
    ROW(ENABLED, "enabled", FLAG, "true", 0, 0, NULL, "Whether maintenance touches the table at all")                  \
    ROW(WINDOWS, "windows", WINDOWS, "", 0, 0, NULL,                                                                   \
        "Times of day, UTC, in which steps may begin: 22:00-06:00, 12:00-13:00; empty: always")                        \
    ROW(BUDGET_BYTES, "budget.bytes", BYTES, "", 1, INT64_MAX, NULL,                                                   \
        "Most bytes of data files that one run rewrites, best gain first; empty: no limit")                            \
    ROW(BUDGET_REQUESTS, "budget.requests", NUMBER, "", 1, INT64_MAX, NULL,                                            \
        "Most requests that compacting in one run makes, best gain first; empty: no limit")                            \
    ROW(BUDGET_TIME, "budget.time", AGE, "", 1000, INT64_MAX, NULL,                                                    \
        "No step begins later in a run, and no group of files that would end later; empty: no limit")                  \
    ROW(LEASE_TIME, "lease.time", AGE, "10m", 10000, 24 * 3600000, NULL,                                               \
        "A run that was not heard of for so long has lost the table to the next one")                                  \
    ROW(SAMPLE_WHERE, "sample.where", TEXT, "", 0, 0, NULL,                                                            \
        "A filter whose cost is measured before and after; empty: a scan of everything")                               \
    ROW(COMPACT_EVERY, "compact.every", AGE, "1h", 0, INT64_MAX, NULL, "How often data files are compacted")           \
    ROW(COMPACT_WINDOWS, "compact.windows", WINDOWS, "", 0, 0, NULL, "In place of windows, for this step")             \
    ROW(COMPACT_WHERE, "compact.where", TEXT, "", 0, 0, NULL, "Only files that may hold rows of this predicate")       \
    ROW(COMPACT_STRATEGY, "compact.strategy", CHOICE, "binpack", 0, 0, "binpack|sort",                                 \
        "How rows are laid out in new files")                                                                          \
    ROW(COMPACT_SORT_ORDER, "compact.sort-order", TEXT, "", 0, 0, NULL, "With strategy sort: by which columns")        \
    ROW(COMPACT_COLD_AFTER, "compact.cold-after", AGE, "1d", 0, INT64_MAX, NULL,                                       \
        "A partition that did not change for so long is cold: it is packed once more, and then left")                  \
    ROW(COMPACT_COLD_MIN_INPUT_FILES, "compact.cold-min-input-files", NUMBER, "2", 1, INT32_MAX, NULL,                 \
        "Small files that are worth that last packing")                                                                \
    ROW(COMPACT_MAX_BYTES_PER_FILE_SAVED, "compact.max-bytes-per-file-saved", BYTES, "128MiB", 1, INT64_MAX, NULL,     \
        "A group that rewrites more bytes than this for each file it does away with is not worth it yet")              \
    ROW(COMPACT_MIN_INPUT_FILES, "compact.min-input-files", NUMBER, "5", 1, INT32_MAX, NULL,                           \
        "Small files that make a group worth rewriting")                                                               \
    ROW(COMPACT_TARGET_FILE_BYTES, "compact.target-file-size-bytes", BYTES, "", 1, INT64_MAX, NULL,                    \
        "Wanted size of files; empty: the table's write.target-file-size-bytes")                                       \
    ROW(COMPACT_MIN_FILE_BYTES, "compact.min-file-size-bytes", BYTES, "", 0, INT64_MAX, NULL,                          \
        "Smaller files are small; empty: 75 % of the target")                                                          \
    ROW(COMPACT_MAX_FILE_BYTES, "compact.max-file-size-bytes", BYTES, "", 1, INT64_MAX, NULL,                          \
        "Larger files are cut; empty: 180 % of the target")                                                            \
    ROW(COMPACT_MAX_GROUP_BYTES, "compact.max-file-group-size-bytes", BYTES, "", 1, INT64_MAX, NULL,                   \
        "Most bytes that are rewritten as one group")                                                                  \
    ROW(COMPACT_DELETE_FILE_THRESHOLD, "compact.delete-file-threshold", NUMBER, "10", 1, INT32_MAX, NULL,              \
        "Delete files that make a data file worth rewriting whatever its size")                                        \
    ROW(COMPACT_DELETE_RATIO_THRESHOLD, "compact.delete-ratio-threshold", RATIO, "", 0, 0, NULL,                       \
        "Share of deleted rows that does likewise; empty: 0.3")                                                        \
    ROW(COMPACT_PARTIAL_PROGRESS, "compact.partial-progress", FLAG, "true", 0, 0, NULL,                                \
        "Commit groups in batches, so that what is done stands when the rest fails")                                   \
    ROW(COMPACT_MAX_COMMITS, "compact.max-commits", NUMBER, "10", 1, INT32_MAX, NULL, "Batches at most")               \
    ROW(POSITION_DELETES_EVERY, "position-deletes.every", AGE, "1d", 0, INT64_MAX, NULL,                               \
        "How often position delete files are compacted")                                                               \
    ROW(POSITION_DELETES_WINDOWS, "position-deletes.windows", WINDOWS, "", 0, 0, NULL,                                 \
        "In place of windows, for this step")                                                                          \
    ROW(POSITION_DELETES_MIN_INPUT_FILES, "position-deletes.min-input-files", NUMBER, "5", 1, INT32_MAX, NULL,         \
        "Small delete files that make a group worth rewriting")                                                        \
    ROW(MANIFESTS_EVERY, "manifests.every", AGE, "7d", 0, INT64_MAX, NULL, "How often manifests are rewritten")        \
    ROW(MANIFESTS_WINDOWS, "manifests.windows", WINDOWS, "", 0, 0, NULL, "In place of windows, for this step")         \
    ROW(MANIFESTS_MIN_COUNT, "manifests.min-count", NUMBER, "10", 1, INT32_MAX, NULL,                                  \
        "Fewer manifests are left as they are")                                                                        \
    ROW(EXPIRE_EVERY, "expire.every", AGE, "1d", 0, INT64_MAX, NULL, "How often snapshots expire")                     \
    ROW(EXPIRE_WINDOWS, "expire.windows", WINDOWS, "", 0, 0, NULL, "In place of windows, for this step")               \
    ROW(EXPIRE_OLDER_THAN, "expire.older-than", AGE, "", 0, INT64_MAX, NULL,                                           \
        "Age at which snapshots go; empty: the table's history.expire.max-snapshot-age-ms, else 5d")                   \
    ROW(EXPIRE_RETAIN_LAST, "expire.retain-last", NUMBER, "", 1, INT32_MAX, NULL,                                      \
        "Snapshots of each branch that stay; empty: the table's history.expire.min-snapshots-to-keep, else 1")         \
    ROW(EXPIRE_CLEAN_METADATA, "expire.clean-expired-metadata", FLAG, "false", 0, 0, NULL,                             \
        "Also remove partition specs and schemas that nothing needs any more")                                         \
    ROW(EXPIRE_MARK, "expire.mark", FLAG, "false", 0, 0, NULL,                                                         \
        "Mark the files instead of deleting them, for the step sweep to delete later")                                 \
    ROW(ORPHANS_EVERY, "orphans.every", AGE, "7d", 0, INT64_MAX, NULL, "How often orphan files are looked for")        \
    ROW(ORPHANS_WINDOWS, "orphans.windows", WINDOWS, "", 0, 0, NULL, "In place of windows, for this step")             \
    ROW(ORPHANS_OLDER_THAN, "orphans.older-than", AGE, "3d", 24 * 3600000, INT64_MAX, NULL,                            \
        "Younger files are never taken for orphans; at least 1d")                                                      \
    ROW(ORPHANS_MODE, "orphans.mode", CHOICE, "mark", 0, 0, "mark|delete",                                             \
        "mark: only mark them, for the step sweep to delete later; delete: at once")                                   \
    ROW(SWEEP_EVERY, "sweep.every", AGE, "1d", 0, INT64_MAX, NULL, "How often marked files are deleted")               \
    ROW(SWEEP_WINDOWS, "sweep.windows", WINDOWS, "", 0, 0, NULL, "In place of windows, for this step")                 \
    ROW(SWEEP_AFTER, "sweep.after", AGE, "3d", 0, INT64_MAX, NULL,                                                     \
        "Age of a mark at which its file is deleted, if nothing refers to it still")

enum firn_policy_key {
#define FIRN_POLICY_ENUM(id, ...) FIRN_POLICY_##id,
    FIRN_POLICY_TABLE(FIRN_POLICY_ENUM)
#undef FIRN_POLICY_ENUM
        FIRN_POLICY_COUNT
};

struct firn_policy_value {
    struct firn_text text;
    int64_t number;        /* of kinds that are not read as text; FIRN_POLICY_UNSET where the text is empty */
    struct firn_text from; /* where it was said, for people */
};
struct firn_policy {
    struct firn_policy_value values[FIRN_POLICY_COUNT];
};

static inline int64_t firn_policy_number(const struct firn_policy *policy, enum firn_policy_key key)
{
    return policy->values[key].number;
}
static inline struct firn_text firn_policy_text(const struct firn_policy *policy, enum firn_policy_key key)
{
    return policy->values[key].text;
}
static inline bool firn_policy_flag(const struct firn_policy *policy, enum firn_policy_key key)
{
    return policy->values[key].number == 1;
}
/* "compact.every". */
const char *firn_policy_key_name(enum firn_policy_key key);

/* Whether the time of day lies in one of the windows; no windows: always. */
bool firn_windows_open(struct firn_text windows, int64_t now_ms);
/* When one of them opens next, at or after `now_ms`. */
int64_t firn_windows_next(struct firn_text windows, int64_t now_ms);

#endif
