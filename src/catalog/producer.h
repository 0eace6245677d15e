/* Inside the snapshot producer: the state of one commit over all its attempts, and the steps of an attempt.
 * The invariants stand in snapshot_producer.h. */
#ifndef FIRN_CATALOG_PRODUCER_H
#define FIRN_CATALOG_PRODUCER_H

#include "catalog/change.h"
#include "catalog/snapshot_producer.h"
#include "catalog/snapshot_summary.h"

/* Growing arrays (FIRN_PUSH). */
struct firn_text_list {
    struct firn_text *items;
    size_t count, capacity;
};
struct firn_manifest_rows {
    struct firn_manifest_file *items;
    size_t count, capacity;
};

/* Deletes that others committed for removed data files, said anew of the added ones by change->carry_over. */
struct firn_carried {
    bool is_asked;            /* carry was called: what it wrote may have to go */
    struct firn_text_list of; /* keys of the deletes that were carried; attempts that meet the same keep the result */
    const struct firn_data_file *files;
    uint32_t count;
    bool has_rows;
    struct firn_manifest_rows rows; /* manifests of `files` */
};

/* Manifests that a regrouping gave. */
struct firn_regrouped {
    struct firn_manifest_rows data, deletes;
};

struct firn_producer {
    struct firn_pool *pool;
    struct firn_table *table;
    const struct firn_snapshot_change *change;
    struct firn_text uuid; /* names this commit's manifests and lists */
    int64_t snapshot_id;   /* the same in all attempts */

    struct firn_text codec; /* write.manifest.compression-codec */
    int32_t codec_level;
    int64_t manifest_bytes_target;
    int64_t merge_count_min;
    bool merges;
    int64_t partition_limit;

    struct firn_map removed_paths;      /* path of a removed data file to its index */
    struct firn_map removed_deletes;    /* key of a removed delete file to its index */
    struct firn_map spent_deletes;      /* key of a spent delete file to its index; FIRN_STILL_NEEDED: it stays */
    struct firn_map removed_spec_ids;   /* specs of removed data files */
    struct firn_map removed_partitions; /* partition of removed data files to the index of one */
    bool trusts_summaries;              /* until a removed file was not where they say */

    int64_t drafted_on; /* the head that a draft has seen, and its manifests; FIRN_NO_SNAPSHOT: none */
    struct firn_manifest_list drafted_rows;

    /* Manifests written so far, kept for later attempts. */
    int32_t format_version; /* they were written for */
    bool has_added;
    struct firn_manifest_rows added, added_deletes;
    struct firn_carried carried;
    bool has_regrouped;
    struct firn_regrouped regrouped;
    struct firn_map filtered; /* manifest to struct firn_filtered */
    struct firn_map merged;   /* a bin to struct firn_manifests_written */

    atomic_uint manifest_number;
    struct firn_text_list manifests_begun; /* to clean up after */
    struct firn_text_list lists_begun;
    bool is_final; /* the failure of this attempt will not go away by trying again */
};

/* manifest_output.c: writing manifests. */

/* What a run of manifests has in common. */
struct firn_manifest_run {
    struct firn_producer *producer;
    const struct firn_partition_spec *spec;
    bool is_deletes;
    int64_t bytes_max; /* a new manifest is begun when one has so many, looked at every so often */
};
struct firn_manifest_output {
    struct firn_manifest_run run;
    uint32_t entry_count; /* in the manifest at hand */
    struct firn_store_writer *file;
    struct firn_manifest_writer *writer;
    struct firn_text path;
    struct firn_manifest_rows rows; /* finished ones */
    struct firn_text_list begun;    /* also the unfinished one */
};
/* How a commit's manifests are divided unless something else is said: at the table's target size. */
struct firn_manifest_run firn_manifest_run_of(struct firn_producer *producer, const struct firn_partition_spec *spec,
                                              bool is_deletes);
FIRN_CHECKED firn_status firn_manifest_output_add(struct firn_op *op, struct firn_manifest_output *output,
                                                  const struct firn_manifest_entry *entry);
/* An entry encoded by a config of this run. */
FIRN_CHECKED firn_status firn_manifest_output_add_encoded(struct firn_op *op, struct firn_manifest_output *output,
                                                          const struct firn_encoded_entry *entry);
/* What the manifests of a run are written with. */
struct firn_manifest_writer_config firn_manifest_run_config(const struct firn_manifest_run *run);
/* What is left of writing a run: rows of finished manifests, and paths begun, to clean up after a failure. */
struct firn_manifests_written {
    struct firn_manifest_rows rows;
    struct firn_text_list begun;
};
/* Fills an output, in an op->arena that goes afterwards. */
typedef firn_status firn_manifest_fill(struct firn_op *op, void *context, struct firn_manifest_output *output);
/* Writes a run of manifests. `out` lives in op->arena, and names what was begun after a failure, too. */
FIRN_CHECKED firn_status firn_manifest_run_write(struct firn_op *op, const struct firn_manifest_run *run,
                                                 firn_manifest_fill *fill, void *context,
                                                 struct firn_manifests_written *out);
/* Writes the change's own files, once for all attempts, and what is carried, once for those that carry the same. */
FIRN_CHECKED firn_status firn_added_manifests_write(struct firn_op *op, struct firn_producer *producer);

/* manifest_filter.c: finding the entries that leave. */

/* An entry that a manifest lost. */
struct firn_lost_entry {
    struct firn_counted_file counted;
    uint32_t removed_index; /* in change->removed or removed_deletes; FIRN_NOT_ASKED_FOR */
};
#define FIRN_NOT_ASKED_FOR UINT32_MAX
/* What is known of one manifest's live entries. */
struct firn_filtered {
    struct firn_lost_entry *lost;
    uint32_t lost_count;
    int64_t min_sequence_number; /* of the entries that stay; FIRN_ABSENT: none stay */
};
struct firn_filtered_list {
    const struct firn_filtered **items;
    size_t count, capacity;
};
/* Looks for the entries that leave. Drops from `rows` (all of one content) the manifests without live entries, corrects
 * the min_sequence_number of those that lose some, and adds these to `filtered`. Delete files with
 * 0 < sequence number < `sequence_number_min` leave without being asked. Writes nothing. */
FIRN_CHECKED firn_status firn_manifests_filter(struct firn_op *op, struct firn_producer *producer,
                                               struct firn_manifest_rows *rows, int64_t sequence_number_min,
                                               struct firn_filtered_list *filtered);
/* What filtering found in a manifest that loses entries; NULL for the others. */
const struct firn_filtered *firn_filtered_find(struct firn_op *op, const struct firn_producer *producer,
                                               const struct firn_manifest_file *row, int64_t sequence_number_min);
/* Forgets what was found and what was merged: what leaves is another set now. */
void firn_filtered_forget(struct firn_op *op, struct firn_producer *producer);
/* Whether a live entry leaves; `index` tells which removal of the change asked for it, or FIRN_NOT_ASKED_FOR. */
bool firn_entry_leaves(struct firn_op *op, const struct firn_producer *producer, int64_t sequence_number_min,
                       const struct firn_manifest_entry *entry, uint32_t *index);
/* The key of a delete file: path, content offset, content size. */
struct firn_text firn_delete_file_key(struct firn_arena *arena, const struct firn_data_file *file);

/* manifest_prune.c: which data manifests need not be opened. */
FIRN_CHECKED firn_status firn_removed_partitions_collect(struct firn_op *op, struct firn_producer *producer);
bool firn_manifest_may_hold_removed(struct firn_op *op, const struct firn_producer *producer,
                                    const struct firn_manifest_file *row);

/* manifest_merge.c: writing the manifests that change. Replaces `rows` (all of one content, filtered) by what the new
 * list holds: manifests that lose entries are written anew, small ones are joined. `*replaced` grows by the number of
 * the head's manifests that were rewritten. */
FIRN_CHECKED firn_status firn_manifests_merge(struct firn_op *op, struct firn_producer *producer,
                                              struct firn_manifest_rows *rows, int64_t sequence_number_min,
                                              int64_t *replaced);
/* Writes those manifests ahead, of data `rows` that are filtered, that will not be joined with what is added. */
FIRN_CHECKED firn_status firn_manifests_merge_ahead(struct firn_op *op, struct firn_producer *producer,
                                                    const struct firn_manifest_rows *rows);

/* manifest_regroup.c: the same entries in other manifests. Replaces rows of the head by what change->regroupings gives,
 * written once for all attempts; the others stay, those without live entries too. Sets is_final. */
FIRN_CHECKED firn_status firn_manifests_regroup(struct firn_op *op, struct firn_producer *producer,
                                                struct firn_manifest_rows *data, struct firn_manifest_rows *deletes,
                                                int64_t *replaced);

/* conflict.c: what others committed since the change was planned. `rows` are the head's manifests. Deletes that can be
 * carried over are. Sets is_final. */
FIRN_CHECKED firn_status firn_conflicts_check(struct firn_op *op, struct firn_producer *producer,
                                              const struct firn_snapshot *head, const struct firn_manifest_list *rows);
/* late_data.c: spent equality deletes stay that a data file needs which came since the change was planned. */
#define FIRN_STILL_NEEDED UINT64_MAX
FIRN_CHECKED firn_status firn_late_data_check(struct firn_op *op, struct firn_producer *producer,
                                              const struct firn_snapshot *planned,
                                              const struct firn_manifest_list *rows);
/* carried.c: has the deletes carried over that an attempt met; without any, what earlier attempts carried goes. */
FIRN_CHECKED firn_status firn_carried_update(struct firn_op *op, struct firn_producer *producer,
                                             const struct firn_manifest_entry *const *deletes, uint32_t count);
/* Has what was carried removed. */
void firn_carried_withdraw(struct firn_op *op, struct firn_producer *producer);
/* conflict_restated.c: whether change->restated still holds in the head, whose manifests are `rows`. CONFLICT. */
FIRN_CHECKED firn_status firn_restated_check(struct firn_op *op, const struct firn_producer *producer,
                                             const struct firn_snapshot *planned,
                                             const struct firn_manifest_list *rows);
/* snapshot_update.c: the attempt as what a catalog takes. */

/* What an attempt builds. */
struct firn_attempt {
    int32_t number; /* from 1 */
    const struct firn_ref *ref;
    const struct firn_snapshot *head; /* NULL: the branch has no snapshot */
    struct firn_manifest_rows data, deletes;
    struct firn_filtered_list filtered;
    struct firn_summary summary;
    uint64_t removed_delete_files;
    int64_t sequence_number;
    int64_t next_row_id;
    struct firn_text list_path;
    struct firn_manifest_rows list; /* as written */
};
void firn_snapshot_change_of(struct firn_op *op, const struct firn_producer *producer,
                             const struct firn_attempt *attempt, struct firn_change *out);

#endif
