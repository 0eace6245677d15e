/* What a table's metadata tells of commits, writers, references, and of what expiry would do. */
#include "maintain/survey_history.h"

#include "base/map.h"
#include "base/math.h"
#include "maintain/expire_snapshots.h"

#include <stdlib.h>

/* Who wrote ---------------------------------------------------------------------------------------------------------
 */

/* Keys of a summary that only one engine writes. */
static const struct {
    const char *key, *writer;
} marks_of_writers[] = {
    { "flink.job-id", "flink" },
    { "trino_query_id", "trino" },
    { "spark.app.id", "spark" },
    { "iceberg-version", "iceberg-java" },
};

static struct firn_text summary_text(const struct firn_snapshot *snapshot, const char *key)
{
    return firn_text_of(json_string_value(json_object_get(snapshot->summary, key)));
}

static struct firn_text writer_of(const struct firn_snapshot *snapshot)
{
    struct firn_text name = summary_text(snapshot, "engine-name");
    if (name.len > 0)
        return name;
    for (size_t i = 0; i < FIRN_COUNT_OF(marks_of_writers); i++)
        if (summary_text(snapshot, marks_of_writers[i].key).len > 0)
            return firn_text_of(marks_of_writers[i].writer);
    return FIRN_TEXT("unknown");
}

/* Commits -----------------------------------------------------------------------------------------------------------
 */

static int64_t number(const struct firn_snapshot *snapshot, const char *key)
{
    int64_t value;
    return firn_text_to_i64(summary_text(snapshot, key), &value) && value >= 0 ? value : FIRN_SURVEY_UNKNOWN;
}

/* Counts that are zero are left out of summaries; sizes are told with them. */
static int64_t change(const struct firn_snapshot *snapshot, const char *key)
{
    int64_t value = number(snapshot, key);
    return value < 0 && snapshot->summary ? 0 : value;
}

static struct firn_survey_commit commit_of(const struct firn_snapshot *snapshot)
{
    return (struct firn_survey_commit){
        .snapshot_id = snapshot->id,
        .timestamp_ms = snapshot->timestamp_ms,
        .operation = snapshot->operation,
        .writer = writer_of(snapshot),
        .added_files = change(snapshot, "added-data-files"),
        .added_bytes = change(snapshot, "added-files-size"),
        .added_rows = change(snapshot, "added-records"),
        .added_delete_files = change(snapshot, "added-delete-files"),
        .added_equality_files = change(snapshot, "added-equality-delete-files"),
        .removed_files = change(snapshot, "deleted-data-files"),
        .removed_bytes = change(snapshot, "removed-files-size"),
        .changed_partitions = number(snapshot, "changed-partition-count"),
        .replaces_partitions = firn_text_to_bool(summary_text(snapshot, "replace-partitions")),
        .total_files = number(snapshot, "total-data-files"),
        .total_bytes = number(snapshot, "total-files-size"),
        .total_rows = number(snapshot, "total-records"),
        .total_delete_files = number(snapshot, "total-delete-files"),
    };
}

static void list_commits(struct firn_op *op, const struct firn_metadata *metadata, struct firn_survey *out)
{
    struct firn_survey_commit *commits = FIRN_NEW_ARRAY(op->arena, struct firn_survey_commit, metadata->snapshot_count);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        commits[i] = commit_of(&metadata->snapshots[i]);
    out->commits = commits;
    out->commit_count = metadata->snapshot_count;
}

/* Writers -----------------------------------------------------------------------------------------------------------
 */

static int compare_by_writer(const void *a, const void *b)
{
    const struct firn_survey_commit *left = *(const struct firn_survey_commit *const *)a;
    const struct firn_survey_commit *right = *(const struct firn_survey_commit *const *)b;
    int order = firn_text_compare(left->writer, right->writer);
    if (order == 0)
        order = firn_text_compare(left->operation, right->operation);
    if (order == 0)
        order = left->timestamp_ms < right->timestamp_ms ? -1 : left->timestamp_ms > right->timestamp_ms;
    return order;
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* The median between commits that stand in order of time. */
static int64_t median_interval(struct firn_arena *arena, const struct firn_survey_commit *const *commits, size_t count)
{
    if (count < 2)
        return FIRN_SURVEY_UNKNOWN;
    int64_t *intervals = FIRN_NEW_ARRAY(arena, int64_t, count - 1);
    for (size_t i = 0; i + 1 < count; i++)
        if (__builtin_sub_overflow(commits[i + 1]->timestamp_ms, commits[i]->timestamp_ms, &intervals[i]))
            intervals[i] = INT64_MAX;
    qsort(intervals, count - 1, sizeof *intervals, compare_times);
    return intervals[(count - 1) / 2];
}

static struct firn_survey_writer sum_writer(struct firn_arena *arena, const struct firn_survey_commit *const *commits,
                                            size_t count)
{
    struct firn_survey_writer writer = {
        .name = commits[0]->writer,
        .operation = commits[0]->operation,
        .commits = (int64_t)count,
        .first_ms = commits[0]->timestamp_ms,
        .last_ms = commits[count - 1]->timestamp_ms,
        .interval_ms = median_interval(arena, commits, count),
    };
    for (size_t i = 0; i < count; i++) {
        firn_survey_add(&writer.added_files, commits[i]->added_files);
        firn_survey_add(&writer.added_bytes, commits[i]->added_bytes);
        firn_survey_add(&writer.added_delete_files, commits[i]->added_delete_files);
    }
    return writer;
}

static int compare_writers(const void *a, const void *b)
{
    const struct firn_survey_writer *left = a, *right = b;
    if (left->commits != right->commits)
        return left->commits > right->commits ? -1 : 1;
    int order = firn_text_compare(left->name, right->name);
    return order != 0 ? order : firn_text_compare(left->operation, right->operation);
}

static bool is_same_writer(const struct firn_survey_commit *a, const struct firn_survey_commit *b)
{
    return firn_text_same(a->writer, b->writer) && firn_text_same(a->operation, b->operation);
}

static void list_writers(struct firn_op *op, struct firn_survey *out)
{
    size_t count = out->commit_count;
    FIRN_ARRAY(struct firn_survey_writer) writers = { 0 };
    const struct firn_survey_commit **sorted = FIRN_NEW_ARRAY(op->arena, const struct firn_survey_commit *, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &out->commits[i];
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, compare_by_writer);
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = begin + 1;
        while (end < count && is_same_writer(sorted[begin], sorted[end]))
            end++;
        FIRN_PUSH(op->arena, &writers, sum_writer(op->arena, sorted + begin, end - begin));
    }
    if (writers.count > 1)
        qsort(writers.items, writers.count, sizeof *writers.items, compare_writers);
    out->writers = writers.items;
    out->writer_count = writers.count;
}

/* What expiry would do ----------------------------------------------------------------------------------------------
 */

/* A file that a commit took out of the table stays while a snapshot before that commit does. */
static void sum_held(const struct firn_metadata *metadata, const struct firn_expiry_choice *choice,
                     struct firn_survey *out)
{
    const struct firn_snapshot *at = firn_metadata_current(metadata);
    for (uint32_t steps = 0; at && steps < metadata->snapshot_count; steps++) { /* foreign metadata may hold a ring */
        const struct firn_snapshot *parent = firn_metadata_snapshot(metadata, at->parent_id);
        int64_t removed_bytes = out->commits[at - metadata->snapshots].removed_bytes;
        if (parent)
            firn_survey_add(&out->held_bytes, removed_bytes);
        if (parent && firn_expiry_choice_has(choice, parent))
            firn_survey_add(&out->expirable_bytes, removed_bytes);
        at = parent;
    }
}

static void list_refs(struct firn_op *op, const struct firn_metadata *metadata, const struct firn_expiry_choice *choice,
                      struct firn_survey *out)
{
    struct firn_survey_ref *refs = FIRN_NEW_ARRAY(op->arena, struct firn_survey_ref, metadata->ref_count);
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        const struct firn_ref *ref = &metadata->refs[i];
        const struct firn_snapshot *snapshot = firn_metadata_snapshot(metadata, ref->snapshot_id);
        refs[i] = (struct firn_survey_ref){
            .name = ref->name,
            .is_tag = ref->type == FIRN_REF_TAG,
            .snapshot_id = ref->snapshot_id,
            .snapshot_ms = snapshot ? snapshot->timestamp_ms : FIRN_SURVEY_UNKNOWN,
            .ref_age_ms_max = ref->ref_age_ms_max,
        };
        for (size_t k = 0; k < choice->ref_count; k++)
            refs[i].is_expirable |= choice->refs[k].ref == ref;
    }
    out->refs = refs;
    out->ref_count = metadata->ref_count;
}

firn_status firn_survey_history(struct firn_op *op, const struct firn_metadata *metadata, struct firn_survey *out)
{
    struct firn_expiry_policy policy;
    struct firn_expiry_choice choice;
    struct firn_expire_snapshots_args args = { 0 };
    FIRN_TRY(firn_expiry_policy_of(op, metadata, &args, out->now_ms, &policy));
    FIRN_TRY(firn_expiry_choose(op, metadata, &policy, &choice));
    list_commits(op, metadata, out);
    list_writers(op, out);
    list_refs(op, metadata, &choice, out);
    out->expirable_snapshots = (int64_t)choice.snapshot_count;
    sum_held(metadata, &choice, out);
    return FIRN_OK;
}
