/* Inside health: limits, and how a check states what it finds. */
#ifndef FIRN_MAINTAIN_HEALTH_H
#define FIRN_MAINTAIN_HEALTH_H

#include "firn/health.h"
#include "firn/measure.h"
#include "maintain/remedy.h"
#include "maintain/survey.h"

enum firn_health_limit_id {
    FIRN_HEALTH_AVERAGE_FILE_BYTES,
    FIRN_HEALTH_PARTITION_FILES,
    FIRN_HEALTH_TABLE_FILES,
    FIRN_HEALTH_MANIFESTS,
    FIRN_HEALTH_POSITION_DELETES,
    FIRN_HEALTH_EQUALITY_DELETES,
    FIRN_HEALTH_DELETED_ROWS,
    FIRN_HEALTH_DANGLING_DELETES,
    FIRN_HEALTH_EXPIRABLE_SNAPSHOTS,
    FIRN_HEALTH_EXPIRABLE_BYTES,
    FIRN_HEALTH_METADATA_BYTES,
    FIRN_HEALTH_REF_DAYS,
    FIRN_HEALTH_ORPHAN_BYTES,
    FIRN_HEALTH_PARTITION_BYTES,
    FIRN_HEALTH_PARTITION_SKEW,
    FIRN_HEALTH_METRICS_COVERAGE,
    FIRN_HEALTH_OVERLAP,
    FIRN_HEALTH_COMMIT_MINUTES,
    FIRN_HEALTH_LIMIT_COUNT
};

struct firn_health_limit {
    double healthy, ill;
};
struct firn_health_limits {
    struct firn_health_limit items[FIRN_HEALTH_LIMIT_COUNT];
};

/* Defaults, and what thresholds say instead. USAGE. */
FIRN_CHECKED firn_status firn_health_limits_parse(struct firn_op *op, const struct firn_property *thresholds,
                                                  size_t count, struct firn_health_limits *out);
/* A new reference. */
json_t *firn_health_limits_json(const struct firn_health_limits *limits);
/* Whether a value is beyond what is healthy, and how far. */
bool firn_health_judge(const struct firn_health_limits *limits, enum firn_health_limit_id id, double value,
                       enum firn_health_level *level);

struct firn_health_checks {
    struct firn_op *op;
    const struct firn_table *table;
    const struct firn_survey *survey;
    const struct firn_health_limits *limits;
    struct firn_prices prices;
    struct firn_text where; /* of the partitions that are judged; empty: all */
    FIRN_ARRAY(struct firn_health_finding) findings;
};

/* Adds a finding, with money for its cost and gain. */
void firn_health_add(struct firn_health_checks *checks, struct firn_health_finding finding);
/* What mends it, as remedy.h has it, for the table that is examined, and for the partitions that are judged where the
 * procedure can be limited to them. */
struct firn_text firn_health_command(const struct firn_health_checks *checks, const char *procedure, const char *rest);
struct firn_text firn_health_call(const struct firn_health_checks *checks, const char *procedure,
                                  const char *arguments);
static inline struct firn_text firn_health_word(const struct firn_health_checks *checks, struct firn_text text)
{
    return firn_remedy_word(checks->op->arena, text);
}
static inline struct firn_text firn_health_alter(const struct firn_health_checks *checks, struct firn_text what)
{
    return firn_remedy_alter(checks->op->arena, checks->table, what);
}
/* So many files fewer: requests and planning time follow from it. */
struct firn_health_gain firn_health_fewer_files(const struct firn_survey *survey, int64_t files);

/* The checks, by what they look at. */
void firn_health_check_files(struct firn_health_checks *checks);
void firn_health_check_deletes(struct firn_health_checks *checks);
void firn_health_check_metadata(struct firn_health_checks *checks);
void firn_health_check_partitions(struct firn_health_checks *checks);
FIRN_CHECKED firn_status firn_health_check_columns(struct firn_health_checks *checks);
void firn_health_check_writers(struct firn_health_checks *checks);
/* Who commits what how often: "flink append every 30.0 s, 12.0 files each"; empty: no snapshots. */
struct firn_text firn_health_writers_text(struct firn_arena *arena, const struct firn_survey *survey);

#endif
