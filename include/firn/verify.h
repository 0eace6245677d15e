/* A file-system check for a table: what is broken, what is odd, and what can still be read.
 *
 * Everything that the metadata reaches is looked at: metadata, statistics, manifest lists, manifests, data and delete
 * files. Whatever is wrong with the table is a finding; a call fails only for what is wrong with the check itself. */
#ifndef FIRN_VERIFY_H
#define FIRN_VERIFY_H

#include "firn/progress.h"
#include "firn/session.h"

#include <jansson.h>

enum firn_severity {
    FIRN_SEVERITY_NOTICE,  /* worth knowing; nothing is wrong */
    FIRN_SEVERITY_WARNING, /* readers get the right rows, but somebody's work is not as it should be */
    FIRN_SEVERITY_ERROR    /* some reader fails, or gets wrong rows */
};
/* "notice", "warning", "error". */
const char *firn_severity_name(enum firn_severity severity);

struct firn_finding {
    enum firn_severity severity;
    const char *code;          /* of the kind of finding, stable, in kebab case: "file-missing" */
    struct firn_text location; /* of the file it is about, or empty */
    struct firn_text text;     /* what is wrong, with the values that show it */
    struct firn_text hint;     /* what to do; may be empty */
};

struct firn_verify_options {
    bool deep;                      /* decode every page of every file that is looked at */
    double sample_percent;          /* of the data and delete files, by hash of path and seed; 0 means all */
    uint64_t seed;                  /* of the sample */
    struct firn_progress *progress; /* may be NULL */
};

/* A snapshot, and whether a reader that asks for it gets its rows. */
struct firn_verify_snapshot {
    int64_t snapshot_id;
    struct firn_text id;   /* the same as the table writes it */
    struct firn_text refs; /* "main, v1": branches and tags that point to it */
    bool is_readable;
    struct firn_text why;      /* not readable: what stands in the way */
    uint64_t dangling_deletes; /* of what a branch or tag points to: delete files that apply to nothing */
    bool totals_are_wrong;     /* of its summary; likewise */
};

struct firn_verify_report {
    const struct firn_finding *findings; /* errors first; of a kind, at most a hundred */
    size_t finding_count;
    uint64_t error_count, warning_count, notice_count; /* with those of which the texts were left out */
    const struct firn_verify_snapshot *snapshots;      /* as the metadata lists them */
    size_t snapshot_count, readable_count;
    bool is_sampled;
    uint64_t manifest_list_count, manifest_count;
    uint64_t file_count;    /* data and delete files, each once */
    uint64_t checked_count; /* of those */
    uint64_t checked_bytes;
    int64_t elapsed_ms;
};

/* Checks the table as it is loaded; nothing is written. Where something is broken and snapshots have expired meanwhile,
 * the newest metadata is checked instead: `table` has it then. In op->arena. Fails: USAGE for bad options, CANCELLED,
 * LIMIT, UNAVAILABLE. */
FIRN_CHECKED firn_status firn_verify(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                     const struct firn_verify_options *options, struct firn_verify_report *out);
/* Something that metadata alone can mend. */
struct firn_repair {
    const char *code; /* of the findings it is for */
    struct firn_text text;
    bool done;
    struct firn_text failure; /* why it was not done; empty in a dry run */
};
struct firn_repairs {
    const struct firn_repair *items; /* in op->arena */
    size_t count;
    size_t failure_count;
};
/* Mends what the report found and metadata alone can mend, each by an ordinary commit that is decided anew on the
 * newest metadata: references to statistics files that are not there (or of snapshots that are not), delete files of a
 * branch that apply to nothing, wrong totals in the summary of a branch's head (by an empty snapshot with the right
 * ones), a version hint that names another version. `dry_run` only tells. `table` has the newest metadata afterwards. A
 * repair that cannot be done is told, and the next one tried; fails: USAGE for a table opened for reading only,
 * CANCELLED, UNKNOWN. */
FIRN_CHECKED firn_status firn_verify_repair(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                            const struct firn_verify_report *report, bool dry_run,
                                            struct firn_repairs *out);

/* The report on a table whose metadata could not be read: one finding, that says what op->error does. */
void firn_verify_unreadable(struct firn_op *op, struct firn_text name, struct firn_verify_report *out);
/* {"table", "broken", "errors", "warnings", "notices", "findings": [{"severity", "code", "location", "text", "hint"}],
 * "snapshots": [{"snapshot_id" (text), "refs", "readable", "reason"}], "readable_snapshots", counts, "elapsed_ms",
 * and "repairs": [{"code", "text", "done", "failure"}] where they are given}. Owned by op->arena. */
json_t *firn_verify_json(struct firn_op *op, struct firn_text name, const struct firn_verify_report *report,
                         const struct firn_repairs *repairs);

#endif
