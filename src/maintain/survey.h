/* A survey of a table: plain numbers about its current snapshot and its metadata, for whoever judges, draws or plans.
 *
 * One pass over the snapshot's manifests, in parallel. What is kept grows with the delete files and the partitions, not
 * with the data files: those are counted and forgotten, but for a sample that tells how bounds overlap. */
#ifndef FIRN_MAINTAIN_SURVEY_H
#define FIRN_MAINTAIN_SURVEY_H

#include "base/pool.h"
#include "firn/catalog.h"
#include "maintain/group_rules.h"
#include "table/expression.h"

#include <jansson.h>

/* A number that is not known. */
#define FIRN_SURVEY_UNKNOWN INT64_C(-1)

/* Sizes and counts come from files: a sum past 64 bits stays at the limit, and what is negative adds nothing. */
static inline void firn_survey_add(int64_t *sum, int64_t value)
{
    if (value > 0 && __builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

struct firn_survey_tally {
    int64_t files;
    int64_t bytes; /* of a deletion vector: its blob */
    int64_t rows;  /* of delete files: rows or keys deleted */
};

/* What is live in a partition, or in the whole table. */
struct firn_survey_content {
    struct firn_survey_tally data;
    struct firn_survey_tally small;        /* of data: what compaction takes for too small, and can rewrite */
    struct firn_survey_tally deleted_from; /* of data: files that some delete file applies to */
    struct firn_survey_tally position_deletes, equality_deletes, vectors;
    struct firn_survey_tally dangling; /* of the three: those that apply to no live data file */
    int64_t delete_reads;              /* delete files that a scan reads, counted for every data file they apply to */
};

struct firn_survey_partition {
    int32_t spec_id;
    struct firn_text path;           /* "day=2026-01-01"; empty: unpartitioned */
    const struct firn_value *values; /* one a field of its spec */
    const struct firn_type *types;
    struct firn_survey_content content;
    int64_t sequence_number; /* the highest data sequence number */
    int64_t updated_ms;      /* of the newest commit that added to it; FIRN_SURVEY_UNKNOWN: expired since */
    bool is_left_out;        /* while the survey is taken: `where` rules it out */
};

/* Data files by size: class i holds those below limit i that no class before holds. */
enum { FIRN_SURVEY_SIZE_CLASSES = 12 };
extern const int64_t firn_survey_size_limits[FIRN_SURVEY_SIZE_CLASSES];

/* Manifests of one spec and kind. */
struct firn_survey_manifests {
    int32_t spec_id;
    bool is_deletes; /* as the manifest list says */
    int64_t count, bytes;
    int64_t entries;    /* live */
    int64_t tombstones; /* entries of files that are gone; as far as lists count them */
};

/* A column of primitive type outside lists and maps, of the current schema. */
struct firn_survey_column {
    int32_t field_id;
    struct firn_text name; /* dotted */
    const struct firn_type *type;
    bool is_partition_source, is_sort_source, is_identifier; /* of the table's own spec and order, its schema */
    int64_t files_with_counts;                               /* data files that count its values */
    int64_t files_with_bounds;                               /* that have bounds, or only nulls as counts tell */
    int64_t compressed_bytes;                                /* as far as files say */
    int64_t bound_bytes;                                     /* of all bounds in manifests */
    int64_t value_count, null_count;                         /* as far as files say */
    /* Data files that a filter for one value opens, on average over the bounds of all files; below 0: not known. */
    double files_per_point;
    double files_per_point_in_partition; /* likewise, when partitions but one are ruled out by another filter */
};

struct firn_survey_order {
    int64_t id; /* 0: unsorted, or not said */
    struct firn_survey_tally data;
};

/* A snapshot as its summary tells; numbers may be FIRN_SURVEY_UNKNOWN. */
struct firn_survey_commit {
    int64_t snapshot_id;
    int64_t timestamp_ms;
    struct firn_text operation;
    struct firn_text writer; /* "spark", "flink", ...; "unknown" */
    int64_t added_files, added_bytes, added_rows, added_delete_files;
    int64_t added_equality_files; /* of the delete files */
    int64_t removed_files, removed_bytes;
    int64_t changed_partitions;
    bool replaces_partitions; /* whole ones, as dynamic overwrites do */
    int64_t total_files, total_bytes, total_rows, total_delete_files;
};

/* What one writer did by one operation in the snapshots there are. */
struct firn_survey_writer {
    struct firn_text name, operation;
    int64_t commits;
    int64_t added_files, added_bytes, added_delete_files;
    int64_t first_ms, last_ms;
    int64_t interval_ms; /* median between its commits; FIRN_SURVEY_UNKNOWN: only one */
};

struct firn_survey_ref {
    struct firn_text name;
    bool is_tag;
    int64_t snapshot_id;
    int64_t snapshot_ms;    /* FIRN_SURVEY_UNKNOWN: no such snapshot */
    int64_t ref_age_ms_max; /* of its own; FIRN_SURVEY_UNKNOWN: lives for ever, or by the table's property */
    bool is_expirable;      /* expiry with the table's own settings lets it go */
};

struct firn_survey {
    struct firn_text table; /* name */
    const struct firn_metadata *metadata;
    int64_t now_ms;
    struct firn_output_sizes sizes; /* by which compaction judges, without options */
    struct firn_group_limits limits;

    struct firn_survey_content total;
    int64_t size_class_files[FIRN_SURVEY_SIZE_CLASSES];
    int64_t size_class_bytes[FIRN_SURVEY_SIZE_CLASSES];
    int64_t foreign_files;                          /* of data: not Parquet, or encrypted */
    const struct firn_survey_partition *partitions; /* by spec and path */
    size_t partition_count;
    const struct firn_survey_manifests *manifests;
    size_t manifest_kind_count;
    const struct firn_survey_column *columns; /* in the schema's order */
    size_t column_count;
    double sampled_share; /* of the data files, for files_per_point; 1: all */
    const struct firn_survey_order *orders;
    size_t order_count;
    int64_t planning_us; /* time it took to read manifest list and manifests */

    const struct firn_survey_commit *commits; /* in the metadata's order, oldest first as a rule */
    size_t commit_count;
    const struct firn_survey_writer *writers; /* most commits first */
    size_t writer_count;
    const struct firn_survey_ref *refs;
    size_t ref_count;
    int64_t expirable_snapshots;        /* by the table's own settings */
    int64_t held_bytes;                 /* files out of the table that snapshots hold; as summaries tell */
    int64_t expirable_bytes;            /* of these, about: what expiry would free */
    int64_t metadata_bytes;             /* of metadata.json; FIRN_SURVEY_UNKNOWN */
    int64_t manifest_target_bytes;      /* commit.manifest.target-size-bytes */
    int64_t orphan_files, orphan_bytes; /* FIRN_SURVEY_UNKNOWN: not asked, or not to be told */
    struct firn_text orphan_problem;    /* why they could not be told; empty: nothing stood in the way */
};

struct firn_survey_options {
    bool orphans; /* list the table's location and estimate what nothing refers to */
    /* Only partitions that may match are counted, but for manifests and history; NULL: all. */
    const struct firn_predicate *where;
};

/* Surveys the current snapshot. Reads metadata only. In op->arena. USAGE for table properties that make no sense. */
FIRN_CHECKED firn_status firn_survey_take(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                          struct firn_survey_options options, struct firn_survey *out);

/* Manifests of all kinds: count, bytes, live entries. */
struct firn_survey_manifests firn_survey_manifests_total(const struct firn_survey *survey);
/* How many data files a compaction without options would take and make, partition by partition. */
struct firn_survey_compaction {
    int64_t input_files, input_bytes;
    int64_t output_files;
};
struct firn_survey_compaction firn_survey_compaction_of(const struct firn_survey *survey,
                                                        const struct firn_survey_content *partition);
struct firn_survey_compaction firn_survey_compaction_total(const struct firn_survey *survey);

/* {"files": ..., ...}: see include/firn/health.h, member "survey". A new reference. */
json_t *firn_survey_json(struct firn_op *op, const struct firn_survey *survey);

#endif
