/* What the parts of rewrite_position_delete_files share: effective options, the plan. Reference: procedures.md, 4. */
#ifndef FIRN_MAINTAIN_REWRITE_POSITION_DELETE_FILES_H
#define FIRN_MAINTAIN_REWRITE_POSITION_DELETE_FILES_H

#include "firn/rewrite_position_delete_files.h"
#include "maintain/group_rules.h"
#include "rewrite/delete_writer.h"
#include "table/scan.h"

struct firn_position_rewrite_options {
    struct firn_output_sizes sizes;
    struct firn_group_limits limits;
    bool rewrite_all;
    int64_t concurrent_groups_max;
    bool partial_progress;
    int64_t commits_max;
    int64_t job_order; /* enum firn_job_order */
};

FIRN_CHECKED firn_status firn_position_rewrite_options_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                                             const struct firn_property *options, size_t count,
                                                             struct firn_position_rewrite_options *out);
/* Every option with its effective value. A new reference. */
json_t *firn_position_rewrite_options_json(const struct firn_position_rewrite_options *options);

/* Why a delete file is in the plan or not. */
enum firn_position_verdict {
    FIRN_POSITION_SIZE_FINE, /* within limits */
    FIRN_POSITION_SMALL,     /* candidates */
    FIRN_POSITION_LARGE,
    FIRN_POSITION_ALL,        /* rewrite-all */
    FIRN_POSITION_UNREADABLE, /* qualifies, left alone: format or encryption */
    FIRN_POSITION_WITH_ROWS   /* left alone: it holds the deleted rows, too, which would be lost */
};

/* What became of the files that were packed together. */
enum firn_position_group_verdict {
    FIRN_POSITION_GROUP_CHOSEN,
    FIRN_POSITION_GROUP_FEW,       /* neither enough files nor enough bytes */
    FIRN_POSITION_GROUP_NO_GAIN,   /* as many files would come out as go in */
    FIRN_POSITION_GROUP_VECTORS,   /* nothing but vectors, which say all of their data files already */
    FIRN_POSITION_GROUP_UNREADABLE /* vectors cannot be made: some position deletes of the partition are unreadable */
};

struct firn_position_file {
    const struct firn_manifest_entry *entry;
    enum firn_position_verdict verdict;
    uint32_t group; /* into `packed`; FIRN_NO_POSITION_GROUP: none */
};
#define FIRN_NO_POSITION_GROUP UINT32_MAX

struct firn_position_group {
    uint32_t *files; /* indices into the plan's files, in scan order; of one spec and partition */
    uint32_t file_count;
    int64_t bytes;
    enum firn_position_group_verdict verdict;
    int64_t output_count;        /* FIRN_ABSENT: only the rows can tell */
    int64_t sequence_number_max; /* of the files */
    struct firn_bytes partition; /* key of spec and tuple */
};

struct firn_position_rewrite_plan {
    struct firn_text table_name;
    const struct firn_metadata *metadata;
    const struct firn_snapshot *snapshot; /* NULL: empty table */
    struct firn_text where;
    struct firn_position_rewrite_options options;
    bool to_vectors;                          /* format version 3 */
    enum firn_delete_granularity granularity; /* else */
    uint32_t thread_count;
    struct firn_type **spec_types;
    struct firn_scan scan;            /* all live files, whatever `where` says: positions of others would dangle */
    struct firn_position_file *files; /* position deletes that `where` does not rule out */
    uint32_t file_count;
    struct firn_position_group *packed;
    uint32_t packed_count;
    const struct firn_position_group **groups; /* those to be rewritten, in job order */
    uint32_t group_count;
    uint32_t left_alone_count;
};

/* Judges, packs and chooses `plan->files`, whose entries are set. Verdicts that need a look into the file are set
 * before. */
FIRN_CHECKED firn_status firn_position_rewrite_choose(struct firn_op *op, struct firn_position_rewrite_plan *plan);
/* Why a file was chosen or not, in words with numbers. */
struct firn_text firn_position_rewrite_reason(struct firn_arena *arena, const struct firn_position_rewrite_plan *plan,
                                              const struct firn_position_file *file);
/* Whether size or rewrite-all make a file a candidate. */
enum firn_position_verdict firn_position_rewrite_qualify(const struct firn_position_rewrite_options *options,
                                                         const struct firn_data_file *file);
bool firn_position_is_candidate(enum firn_position_verdict verdict);

#endif
