/* What the parts of rewrite_data_files share: effective options, the memory of earlier runs, the plan.
 * Reference: procedures.md, 2. */
#ifndef FIRN_MAINTAIN_REWRITE_DATA_FILES_H
#define FIRN_MAINTAIN_REWRITE_DATA_FILES_H

#include "base/buffer.h"
#include "base/map.h"
#include "catalog/snapshot_producer.h"
#include "firn/rewrite_data_files.h"
#include "maintain/delete_use.h"
#include "maintain/group_rules.h"
#include "rewrite/carry_over.h"
#include "rewrite/rewrite.h"
#include "table/order_text.h"
#include "table/scan.h"

struct firn_manifest_join; /* work.h */

enum firn_rewrite_strategy {
    FIRN_STRATEGY_BINPACK,
    FIRN_STRATEGY_SORT,   /* columns, one after the other */
    FIRN_STRATEGY_ZORDER, /* strategy sort along a curve */
    FIRN_STRATEGY_HILBERT
};

/* The options, checked, with defaults filled in. */
struct firn_rewrite_options {
    enum firn_rewrite_strategy strategy;
    struct firn_order_terms order_terms; /* of sort_order, as given; no terms: none is */
    struct firn_output_sizes sizes;
    struct firn_group_limits limits;
    bool rewrite_all;
    int64_t delete_file_threshold;
    double delete_ratio_threshold;
    int64_t output_spec_id;
    int64_t files_max; /* of the whole job */
    int64_t concurrent_groups_max;
    bool partial_progress;
    int64_t commits_max;
    int64_t failed_commits_max;
    bool use_starting_sequence_number;
    int64_t job_order; /* enum firn_job_order */
    bool remove_dangling_deletes;
    bool carry_over_deletes;
    int64_t layout;         /* enum firn_layout */
    int64_t forced_rung;    /* 0: none, else enum firn_rung + 1 */
    bool sort_within_files; /* binpack: by the table's order */

    /* Sorting */
    double compression_factor;
    int64_t shuffle_partitions_per_file;
    bool rewrite_unsorted_only;
    int64_t var_length_contribution; /* z-order */
    int64_t output_bytes_max;        /* z-order */
};

/* Sets strategy and sort order, in op->arena. USAGE. */
FIRN_CHECKED firn_status firn_rewrite_strategy_find(struct firn_op *op, const struct firn_rewrite_data_files_args *args,
                                                    struct firn_rewrite_options *out);
/* Checks strategy, sort order and options; the order in op->arena. USAGE names every unknown key at once. */
FIRN_CHECKED firn_status firn_rewrite_options_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                                    const struct firn_rewrite_data_files_args *args,
                                                    struct firn_rewrite_options *out);
/* Every option with its effective value. A new reference. */
json_t *firn_rewrite_options_json(const struct firn_rewrite_options *options);
struct firn_layout_policy firn_rewrite_options_layout(const struct firn_rewrite_options *options);
/* The options that decide what is chosen, as "key=value key=value", with the predicate. Equal texts choose alike. */
struct firn_text firn_rewrite_options_settings(struct firn_arena *arena, const struct firn_rewrite_options *options,
                                               struct firn_text where);
/* The options that decide the shape of outputs. */
struct firn_text firn_rewrite_options_shape(struct firn_arena *arena, const struct firn_rewrite_options *options);

/* Summary entries of a snapshot made by a run: how the next run knows what this one has settled. */
#define FIRN_SUMMARY_SHAPE    "firn.rewrite.output"   /* firn_rewrite_options_shape of its outputs */
#define FIRN_SUMMARY_SETTINGS "firn.rewrite.settings" /* on the last commit of a run that did all it had planned */
#define FIRN_SUMMARY_COVERS   "firn.rewrite.covers"   /* beside it: the snapshot that was planned on */

/* What earlier runs have settled. A file is settled when a run with the same output shape wrote it, or when a complete
 * run with the same settings looked at it and left it. A group of settled files is not planned again, whatever size its
 * files turned out to have: that is what makes repeated runs end. */
enum firn_snapshot_mark { FIRN_SNAPSHOT_UNMARKED, FIRN_SNAPSHOT_SETTLED, FIRN_SNAPSHOT_NEW };
struct firn_rewrite_history {
    struct firn_map snapshots; /* 8 bytes of snapshot id -> mark, of the snapshot's files */
    int64_t *ids;              /* the keys' storage */
    bool is_covered;           /* a complete run with the same settings is in the branch's history */
    int64_t covered_number;    /* sequence number of the snapshot it was planned on */
};
/* `head` is the branch's snapshot. */
void firn_rewrite_history_read(struct firn_op *op, const struct firn_metadata *metadata,
                               const struct firn_snapshot *head, struct firn_text settings, struct firn_text shape,
                               struct firn_rewrite_history *out);
/* The id must outlive the history. */
void firn_rewrite_history_mark(struct firn_rewrite_history *history, const int64_t *id, enum firn_snapshot_mark mark);
/* Neither the file nor a delete that applies to it is news. */
bool firn_rewrite_history_settles(const struct firn_rewrite_history *history, const struct firn_scan_file *file);

/* Why a file is in the plan or not. */
enum firn_rewrite_verdict {
    FIRN_VERDICT_SIZE_FINE, /* within limits, as are its deletes; with rewrite-unsorted-only, in order */
    FIRN_VERDICT_SMALL,     /* candidates */
    FIRN_VERDICT_LARGE,
    FIRN_VERDICT_ALL,      /* rewrite-all */
    FIRN_VERDICT_DELETES,  /* delete-file-threshold or delete-ratio-threshold */
    FIRN_VERDICT_UNSORTED, /* rewrite-unsorted-only: not in order by what is known */
    FIRN_VERDICT_OVERLAPS, /* rewrite-unsorted-only: in order, but with keys of others in its range */
    FIRN_VERDICT_FORMAT,   /* qualifies, left alone: firn cannot rewrite it */
    FIRN_VERDICT_ENCRYPTED,
    FIRN_VERDICT_SCHEMA,
    FIRN_VERDICT_TWICE,
    FIRN_VERDICT_DELETE_FORMAT, /* firn cannot read a delete file that applies to it */
};

/* What became of the files that were packed together. */
enum firn_group_verdict {
    FIRN_GROUP_CHOSEN,
    FIRN_GROUP_FEW,        /* neither enough files nor enough bytes */
    FIRN_GROUP_NO_GAIN,    /* as many files would come out as go in */
    FIRN_GROUP_SETTLED,    /* nothing in it is new since the last run */
    FIRN_GROUP_UNCHANGED,  /* nothing in it is newer than what is settled */
    FIRN_GROUP_DEAR,       /* too many bytes for the files it does away with */
    FIRN_GROUP_OVER_CAP,   /* beyond max-files-to-rewrite */
    FIRN_GROUP_OVER_BYTES, /* beyond limits.bytes_max */
    FIRN_GROUP_OVER_REQUESTS
};

/* What sequence numbers tell of a group: see struct firn_rewrite_worth. */
enum firn_group_age {
    FIRN_GROUP_HOT,
    FIRN_GROUP_COOLED, /* to be packed once more */
    FIRN_GROUP_UNCHANGED_SINCE
};

/* A group that an earlier run finished and did not commit. */
struct firn_finished_group {
    struct firn_text run_id;
    struct firn_text digest; /* of all that the result depends on */
    struct firn_text *inputs;
    uint32_t input_count;
    struct firn_rewrite_result result; /* without a row map */
};

struct firn_planned_group {
    uint32_t *files; /* indices into the plan's files, in scan order */
    uint32_t file_count;
    int64_t bytes;
    enum firn_group_verdict verdict;
    bool is_part; /* of the candidates that it was packed from */
    bool is_cut;  /* by the limit of bytes, or what that cut off: without it, it might have had enough files */
    struct firn_rewrite_bin *bins; /* pieces refer to positions in `files` */
    const int64_t *bin_bytes;      /* of the pieces, less what deletes of their files alone take away */
    uint32_t bin_count;
    int64_t output_count;                 /* files to expect: one a bin, more where a bin outgrows the writer's limit */
    int64_t file_rows;                    /* sorted: of each file, about; 0: unknown */
    const struct firn_ordering *ordering; /* of its rows; NULL: they stay in reading order */
    const struct firn_finished_group *finished; /* its result is there already; NULL: it is not */
};

/* What manifests tell of a file and the order. */
enum firn_file_order {
    FIRN_FILE_UNSORTED,
    FIRN_FILE_OVERLAPS, /* another file in order */
    FIRN_FILE_JOINS,    /* is in order, and overlaps the joint range of what is rewritten in its partition */
    FIRN_FILE_SORTED
};

#define FIRN_NO_GROUP UINT32_MAX

struct firn_planned_file {
    const struct firn_scan_file *scan;
    enum firn_rewrite_verdict verdict;
    int64_t known_deleted_rows;         /* by vectors and position deletes of this file alone: manifests tell no more */
    bool is_over_threshold;             /* delete-file-threshold or delete-ratio-threshold */
    enum firn_rewrite_verdict obstacle; /* why firn cannot rewrite it; SIZE_FINE: it can */
    enum firn_file_order order;         /* with rewrite-unsorted-only */
    uint32_t group;                     /* into `packed`; FIRN_NO_GROUP: none */
};

struct firn_rewrite_plan {
    struct firn_text table_name;
    const struct firn_metadata *metadata; /* of the planned snapshot */
    const struct firn_snapshot *snapshot; /* NULL: empty table */
    struct firn_text branch;
    struct firn_text where;
    struct firn_rewrite_options options;
    const struct firn_ordering *ordering;   /* of rows; NULL: they stay in reading order */
    struct firn_text order_text;            /* the same in words; empty: none */
    FIRN_ARRAY(struct firn_text) notices;   /* about the order, for the report */
    const struct firn_rewrite_worth *worth; /* NULL: whatever qualifies */
    struct firn_rewrite_limits limits;
    bool verify_full;
    uint64_t memory_bytes_max;
    uint32_t thread_count;
    struct firn_text settings, shape; /* for the history that this run becomes */
    struct firn_text table_digest;    /* of what in the metadata shapes the files written; for finished groups */
    struct firn_text schema_problem;  /* not empty: why firn cannot rewrite files of this schema */
    bool has_unreadable_deletes;      /* the table has delete files that firn does not read */
    struct firn_type **spec_types;    /* one a spec of the metadata */
    int64_t listed_file_count;        /* before `where`; FIRN_ABSENT: not known */
    struct firn_scan whole;          /* of the snapshot; `where` narrows it when no delete files concern what is left */
    struct firn_delete_uses uses;    /* of the delete files in it */
    struct firn_planned_file *files; /* those `where` does not rule out */
    uint32_t file_count;
    struct firn_planned_group *packed; /* every group that was looked at */
    uint32_t packed_count;
    const struct firn_planned_group **groups; /* those to be rewritten, in job order */
    uint32_t group_count;
    uint32_t left_alone_count;
    const struct firn_finished_group *finished; /* of earlier runs, whether they fit or not */
    uint32_t finished_count;
    bool is_capped;                          /* max-files-to-rewrite, or the limits, left something out */
    const struct firn_expectation *expected; /* of the first groups; NULL: not looked at */
    uint32_t expected_count;
};

/* Binds the plan's order to its table, whose schema problem, if any, is known; sets what depends on it. USAGE,
 * NOT_FOUND for unknown columns, UNSUPPORTED for what has no order. */
FIRN_CHECKED firn_status firn_rewrite_order_new(struct firn_op *op, struct firn_rewrite_plan *plan);
/* The fields whose counts and bounds decide something, in op->arena; the number is 0 if none does. */
uint32_t firn_rewrite_order_metric_fields(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                          const int32_t **fields);
/* The order of a group's rows, or NULL: the plan's, where a Hilbert curve is laid through what the group's files say of
 * their columns. */
const struct firn_ordering *firn_rewrite_order_of_group(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                                        const struct firn_planned_group *group);
/* Sets the order of the plan's files, when rewrite-unsorted-only asks for it. Obstacles and thresholds are known. */
FIRN_CHECKED firn_status firn_rewrite_find_sorted(struct firn_op *op, struct firn_rewrite_plan *plan);
/* With rewrite-unsorted-only: lays candidates of a partition in the order of their keys, so that groups that have no
 * room for all overlap little, and the next run finds what is left side by side. */
FIRN_CHECKED firn_status firn_rewrite_lay_by_keys(struct firn_op *op, struct firn_rewrite_plan *plan, uint32_t *files,
                                                  size_t count);
/* With rewrite-unsorted-only: whether files of the group overlap, which they no longer do when they are rewritten. Of
 * files that overlap only those of other groups nothing would change. */
FIRN_CHECKED firn_status firn_rewrite_sets_apart(struct firn_op *op, struct firn_rewrite_plan *plan,
                                                 const struct firn_planned_group *group, bool *sets_apart);
/* Whether a file is marked as sorted by the plan's order, which the table has. */
bool firn_rewrite_claims_order(const struct firn_rewrite_plan *plan, const struct firn_data_file *file);
/* Says in the bins of a group, whose rows are put in order, which pieces are sorted runs by what manifests tell, and
 * lays pieces in the order of their keys. */
FIRN_CHECKED firn_status firn_rewrite_find_runs(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                                struct firn_planned_group *group);
/* Judges, packs and chooses `plan->files`, whose scan files are set, as is everything above but `uses` and
 * `has_unreadable_deletes`. Pure. */
FIRN_CHECKED firn_status firn_rewrite_plan_choose(struct firn_op *op, const struct firn_rewrite_history *history,
                                                  struct firn_rewrite_plan *plan);
enum firn_group_age firn_rewrite_group_age(const struct firn_rewrite_plan *plan,
                                           const struct firn_planned_group *group);
/* min-input-files for the group. */
int64_t firn_rewrite_group_files_min(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group);
/* Whether a chosen group does away with enough files for its bytes, or is there for another reason. */
bool firn_rewrite_group_pays(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group);
/* What a group is predicted to take, with the manifests that name its files, of which `join` tells; and a run beside
 * its groups. */
struct firn_work firn_rewrite_group_work(const struct firn_rewrite_plan *plan, const struct firn_manifest_join *join,
                                         const struct firn_planned_group *group);
struct firn_work firn_rewrite_run_work(const struct firn_rewrite_plan *plan);
/* How many commits the plan's groups are expected to take. */
int64_t firn_rewrite_plan_commits(const struct firn_rewrite_plan *plan);
/* Requests that a scan of everything makes fewer once the group is rewritten. */
int64_t firn_rewrite_group_gain(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group);
/* Leaves what the limits have no room for. */
void firn_rewrite_plan_fit(struct firn_op *op, struct firn_rewrite_plan *plan);
bool firn_rewrite_has_limits(const struct firn_rewrite_limits *limits);
/* <0, 0 or >0: the group with more gain for its bytes comes first. */
int firn_rewrite_gain_compare(const struct firn_rewrite_plan *plan, const struct firn_planned_group *a,
                              const struct firn_planned_group *b);
/* What the plan leaves for want of bytes and requests. */
struct firn_rewrite_left firn_rewrite_plan_left(const struct firn_rewrite_plan *plan);
/* What files of one group have in common, replacing `out`. */
FIRN_CHECKED firn_status firn_rewrite_group_key(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                                const struct firn_data_file *file, struct firn_buffer *out);
/* Cuts the files of a group at their split offsets and packs the pieces into bins, one output file each. LIMIT for more
 * pieces than anyone can want. Reference: procedures.md, 2.6. */
FIRN_CHECKED firn_status firn_rewrite_plan_bins(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                                struct firn_planned_group *group);
/* What applies to the files of a group, and what it costs to read the table as it is: every data file has its delete
 * files opened. */
struct firn_group_deletes {
    struct firn_delete_uses uses; /* in the arena given */
    uint32_t file_count;          /* delete files */
    int64_t bytes;                /* of the delete files, each once */
    int64_t opened_per_scan;      /* delete files, as often as a data file has them opened */
    int64_t bytes_per_scan;       /* likewise */
    int64_t rows_min, rows_max;   /* deleted rows: those that manifests tell, and as many as there may be */
};
void firn_rewrite_group_deletes(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                const struct firn_planned_group *group, struct firn_group_deletes *out);
/* The dearest delete files first, `listed_max` at most. New references. */
json_t *firn_group_deletes_json(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                const struct firn_group_deletes *deletes, uint32_t listed_max);
json_t *firn_group_deletes_total_json(const struct firn_group_deletes *deletes);
/* What the delete files of a file are for its choice, in words; empty when it has none and needs none. */
struct firn_text firn_rewrite_delete_reason(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                            const struct firn_planned_file *file);
/* Why a file was chosen or not, in words with numbers. */
struct firn_text firn_rewrite_plan_reason(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                          const struct firn_planned_file *file);

struct firn_journal;
/* Tells the journal (NULL: none) of a group that is done. */
FIRN_CHECKED firn_status firn_rewrite_finished_tell(struct firn_op *op, struct firn_journal *journal,
                                                    const struct firn_rewrite_plan *plan,
                                                    const struct firn_planned_group *group,
                                                    const struct firn_rewrite_result *result);
/* Fills the plan's finished groups from the table's journals, and the digest that they and new ones share. */
FIRN_CHECKED firn_status firn_rewrite_finished_read(struct firn_op *op, const struct firn_table *table,
                                                    struct firn_rewrite_plan *plan);
/* The finished group as one of the plan, if it matches: its inputs are all among the candidates (path to place in the
 * plan's files) that are in no group yet, and everything else is as it was, too. */
FIRN_CHECKED firn_status firn_rewrite_finished_match(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                                     const struct firn_map *candidates,
                                                     const struct firn_finished_group *finished,
                                                     struct firn_planned_group *out, bool *matches);
/* Whether its files are there in their full length. */
FIRN_CHECKED firn_status firn_rewrite_finished_check(struct firn_op *op, struct firn_store *store,
                                                     const struct firn_finished_group *finished, bool *is_there);

/* What a run has done of its plan when the rest must be planned anew. */
struct firn_rewrite_done {
    const struct firn_map *lost; /* keys of the groups that are to be planned again; NULL: everything is */
    const int64_t *snapshot_ids; /* the run's own commits */
    uint32_t commit_count;
    int64_t rewritten_files, rewritten_bytes;
};
/* Plans what `old` planned once more, with the same arguments, on the branch's head as it is now. `table` is refreshed.
 */
FIRN_CHECKED firn_status firn_rewrite_plan_renew(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                                 const struct firn_rewrite_plan *old,
                                                 const struct firn_rewrite_done *done,
                                                 const struct firn_rewrite_plan **out);

/* Which delete files of the planned snapshot are still of use, commit by commit. */
struct firn_spent_delete {
    int64_t file_count;                 /* data files that are not rewritten and that it applies to */
    const struct firn_scan_file *named; /* one that a row of it names; NULL: not known */
    bool is_applied;                    /* to rewritten data files, in commits so far */
    bool is_spent;                      /* it left with one of them */
};
struct firn_rewrite_spent {
    const struct firn_rewrite_plan *plan;
    struct firn_spent_delete *deletes; /* one a use of the plan */
    bool *is_rewritten;                /* one a file of the whole scan: committed */
};
/* What a commit of some groups means for them. */
struct firn_spent_batch {
    const struct firn_scan_file **files; /* of the groups */
    uint32_t file_count;
    struct firn_delete_uses uses;
    uint32_t *spent; /* places in the plan's uses */
    uint32_t spent_count;
    struct firn_data_file *deletes; /* those, for the change */
};
void firn_rewrite_spent_init(struct firn_op *op, const struct firn_rewrite_plan *plan, struct firn_rewrite_spent *out);
/* Which delete files a commit of some groups (`batch`: places in the plan's groups) leaves without use. May read
 * position delete files; one that cannot be read is of use. */
FIRN_CHECKED firn_status firn_rewrite_spent_find(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                                 const struct firn_rewrite_spent *spent, const uint32_t *batch,
                                                 uint32_t count, struct firn_spent_batch *out);
/* The commit has happened. */
void firn_rewrite_spent_settle(struct firn_rewrite_spent *spent, const struct firn_spent_batch *batch);
struct firn_kept_deletes {
    int64_t delete_file_count; /* applied by commits so far, and still in the table */
    int64_t data_file_count;   /* for these, which were not rewritten */
};
struct firn_kept_deletes firn_rewrite_spent_kept(const struct firn_rewrite_spent *spent);

/* Carries over what others delete from the inputs of one commit's groups. */
struct firn_rewrite_carrier {
    struct firn_carry_over calls;         /* for the change */
    const struct firn_table *table;       /* kept fresh by the commit */
    struct firn_carry_over_config config; /* `metadata` is the table's at each call, `number` of the last one */
    const struct firn_carry_over_group *groups;
    uint32_t group_count;
    struct firn_carry_over_result given; /* by the last call */
};
/* Sets `calls`, which point to `carrier`; the caller has set the rest. */
void firn_rewrite_carrier_init(struct firn_rewrite_carrier *carrier);

#endif
