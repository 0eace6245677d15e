/* What the parts of convert_equality_deletes share: effective options, the plan. */
#ifndef FIRN_MAINTAIN_CONVERT_EQUALITY_DELETES_H
#define FIRN_MAINTAIN_CONVERT_EQUALITY_DELETES_H

#include "firn/convert_equality_deletes.h"
#include "rewrite/delete_writer.h"
#include "table/scan.h"

struct firn_convert_options {
    int64_t target_file_bytes;
    int64_t group_files_max;
    bool partial_progress;
    int64_t commits_max;
};

/* What becomes of a data file that equality deletes reach. */
enum firn_convert_verdict {
    FIRN_CONVERT_CHOSEN,
    FIRN_CONVERT_RULED_OUT, /* by `where` */
    FIRN_CONVERT_FORMAT,    /* firn cannot look into it */
    FIRN_CONVERT_ENCRYPTED,
    FIRN_CONVERT_DELETE_FORMAT, /* nor into a delete file that applies to it */
    FIRN_CONVERT_TWICE
};

struct firn_convert_file {
    const struct firn_scan_file *scan;
    enum firn_convert_verdict verdict;
};

/* An equality delete file of the table. */
struct firn_convert_delete {
    const struct firn_manifest_entry *entry;
    bool is_kept;         /* it reaches data files that are not chosen, or `where` says nothing about it */
    uint32_t group_count; /* in which it reaches a data file: it leaves with the last */
};

/* Data files that are worked on, and committed, together. */
struct firn_convert_group {
    const struct firn_scan_file **files;
    uint32_t file_count;
    int64_t bytes;
    uint32_t *deletes; /* equality deletes that reach some of the files, into the plan's deletes */
    uint32_t delete_count;
    int64_t sequence_number_max; /* of these */
};

struct firn_convert_plan {
    struct firn_text table_name;
    const struct firn_metadata *metadata;
    const struct firn_snapshot *snapshot; /* NULL: empty table */
    struct firn_text branch, where;
    struct firn_convert_options options;
    bool to_vectors;                          /* format version 3 */
    enum firn_delete_granularity granularity; /* else */
    struct firn_type **spec_types;
    struct firn_scan scan;           /* all live files, whatever `where` says: they may need a delete that goes */
    struct firn_convert_file *files; /* those that equality deletes reach, by partition */
    uint32_t file_count;
    struct firn_convert_delete *deletes;
    uint32_t delete_count;
    struct firn_convert_group *groups;
    uint32_t group_count;
    uint32_t left_alone_count; /* neither chosen nor ruled out */
};

FIRN_CHECKED firn_status firn_convert_options_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                                    const struct firn_property *options, size_t count,
                                                    struct firn_convert_options *out);
/* Every option with its effective value. A new reference. */
json_t *firn_convert_options_json(const struct firn_convert_options *options);

#endif
