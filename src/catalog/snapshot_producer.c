/* The commit loop: attempts to add one snapshot until it stands or surely cannot.
 * The invariants stand in snapshot_producer.h; numbers in comments refer to them. */
#include "catalog/snapshot_producer.h"

#include "base/math.h"
#include "base/uuid.h"
#include "catalog/producer.h"
#include "format/codec/codec.h"
#include "table/location.h"
#include "table/scan.h"

#include <assert.h>
#include <stdlib.h>

struct firn_snapshot_draft {
    struct firn_arena arena; /* holds all but the draft itself */
    struct firn_producer producer;
    bool is_taken; /* by a commit, which then cleans up */
};

static firn_status fail_finally(struct firn_producer *producer, firn_status status)
{
    producer->is_final = status != FIRN_OK;
    return status;
}

static firn_status find_head(struct firn_op *op, const struct firn_producer *producer, struct firn_attempt *attempt)
{
    const struct firn_metadata *metadata = producer->table->metadata;
    struct firn_text branch = producer->change->branch;
    attempt->ref = firn_metadata_ref(metadata, branch);
    if (attempt->ref && attempt->ref->type == FIRN_REF_TAG)
        return firn_fail(op, FIRN_USAGE, "'%.*s' is a tag; snapshots are added to branches", FIRN_FMT(branch));
    if (attempt->ref && producer->change->new_branch)
        return firn_fail(op, FIRN_EXISTS, "the table has a branch '%.*s' already", FIRN_FMT(branch));
    if (!attempt->ref && !producer->change->new_branch && !firn_text_is(branch, "main"))
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no branch '%.*s'", FIRN_FMT(branch));
    attempt->head = attempt->ref ? firn_metadata_snapshot(metadata, attempt->ref->snapshot_id) : NULL;
    return FIRN_OK;
}

static firn_status check_base(struct firn_op *op, struct firn_producer *producer)
{
    const struct firn_base_check *check = producer->change->check;
    if (!check)
        return FIRN_OK;
    return fail_finally(producer, check->holds(op, check->context, producer->table->metadata));
}

static firn_status read_rows(struct firn_op *op, const struct firn_producer *producer, const struct firn_snapshot *head,
                             struct firn_manifest_list *rows)
{
    *rows = (struct firn_manifest_list){ 0 };
    if (!head)
        return FIRN_OK;
    if (producer->drafted_on == head->id) {
        *rows = producer->drafted_rows;
        return FIRN_OK;
    }
    return firn_snapshot_manifests(op, producer->table->store, producer->table->metadata, head, rows);
}

static firn_status sort_rows(struct firn_op *op, const struct firn_producer *producer,
                             const struct firn_manifest_list *rows, struct firn_attempt *attempt)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        struct firn_manifest_file *row = &rows->manifests[i];
        if (producer->table->metadata->format_version >= 2)
            FIRN_TRY(firn_manifest_count(op, producer->table->store, producer->table->metadata, row));
        FIRN_PUSH(op->arena, row->is_deletes ? &attempt->deletes : &attempt->data, *row);
    }
    return FIRN_OK;
}

static firn_status load_rows(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    struct firn_manifest_list rows;
    FIRN_TRY(read_rows(op, producer, attempt->head, &rows));
    FIRN_TRY(firn_conflicts_check(op, producer, attempt->head, &rows));
    return sort_rows(op, producer, &rows, attempt);
}

/* Delete files below it can apply to no live data file: those that stay, and those this commit adds with an older
 * number than its own. Files without a number yet take the newest of all. */
static int64_t lowest_live_number(const struct firn_producer *producer, const struct firn_manifest_rows *data)
{
    int64_t lowest = producer->table->metadata->last_sequence_number;
    const struct firn_manifest_rows *both[] = { data, &producer->added };
    for (size_t k = 0; k < FIRN_COUNT_OF(both); k++)
        for (size_t i = 0; i < both[k]->count; i++)
            if (both[k]->items[i].min_sequence_number != FIRN_ABSENT)
                lowest = FIRN_MIN(lowest, both[k]->items[i].min_sequence_number);
    return lowest;
}

/* Which of the files that a change names for removal were met. */
struct removed_seen {
    bool *data, *deletes;
};

static struct removed_seen new_removed_seen(struct firn_op *op, const struct firn_snapshot_change *change)
{
    return (struct removed_seen){
        .data = FIRN_NEW_ARRAY(op->arena, bool, change->removed_count),
        .deletes = FIRN_NEW_ARRAY(op->arena, bool, change->removed_delete_count),
    };
}

/* The mark of an entry that left; NULL where the change did not ask for it. */
static bool *find_mark(const struct removed_seen *seen, const struct firn_lost_entry *lost)
{
    if (lost->removed_index == FIRN_NOT_ASKED_FOR)
        return NULL;
    return lost->counted.content == FIRN_CONTENT_DATA ? &seen->data[lost->removed_index]
                                                      : &seen->deletes[lost->removed_index];
}

/* Counts what left, each file once, and checks that everything the change names for removal was there. */
static firn_status count_lost(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    const struct firn_snapshot_change *change = producer->change;
    struct removed_seen seen = new_removed_seen(op, change);
    for (size_t i = 0; i < attempt->filtered.count; i++) {
        const struct firn_filtered *filtered = attempt->filtered.items[i];
        for (uint32_t k = 0; k < filtered->lost_count; k++) {
            const struct firn_lost_entry *lost = &filtered->lost[k];
            bool *mark = find_mark(&seen, lost);
            if (mark && *mark) {
                attempt->summary.duplicate_files++;
                continue;
            }
            if (mark)
                *mark = true;
            firn_summary_count(op, &attempt->summary, FIRN_SUMMARY_REMOVED, &lost->counted);
        }
    }
    for (uint32_t i = 0; i < change->removed_count; i++)
        if (!seen.data[i])
            return firn_fail(op, FIRN_CONFLICT, "data file '%.*s' is no longer part of the table",
                             FIRN_FMT(change->removed[i].path));
    for (uint32_t i = 0; i < change->removed_delete_count; i++)
        if (!seen.deletes[i])
            return firn_fail(op, FIRN_CONFLICT, "delete file '%.*s' is no longer part of the table",
                             FIRN_FMT(change->removed_deletes[i].path));
    attempt->removed_delete_files = (uint64_t)attempt->summary.metrics[FIRN_METRIC_REMOVED_DELETE_FILES];
    if (firn_text_is(change->operation, "replace") && attempt->filtered.count == 0)
        return firn_fail(op, FIRN_CONFLICT, "everything that was to be removed is gone or needed again");
    return FIRN_OK;
}

static firn_status count_added(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt,
                               const struct firn_data_file *files, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct firn_counted_file counted;
        FIRN_TRY(
            firn_counted_file_of(op, producer->table->metadata, &files[i], producer->partition_limit > 0, &counted));
        firn_summary_count(op, &attempt->summary, FIRN_SUMMARY_ADDED, &counted);
    }
    return FIRN_OK;
}

static firn_status check_no_rows_appear(struct firn_op *op, const struct firn_producer *producer,
                                        const struct firn_attempt *attempt)
{
    int64_t added = attempt->summary.metrics[FIRN_METRIC_ADDED_RECORDS];
    int64_t removed = attempt->summary.metrics[FIRN_METRIC_REMOVED_RECORDS];
    if (!firn_text_is(producer->change->operation, "replace") || added <= removed)
        return FIRN_OK;
    return firn_fail(op, FIRN_VERIFY, "a replacement adds %" PRId64 " records for %" PRId64 " removed ones", added,
                     removed);
}

static void push_front(struct firn_op *op, const struct firn_manifest_rows *front, struct firn_manifest_rows *rows)
{
    struct firn_manifest_rows joined = { 0 };
    for (size_t i = 0; i < front->count; i++)
        FIRN_PUSH(op->arena, &joined, front->items[i]);
    for (size_t i = 0; i < rows->count; i++)
        FIRN_PUSH(op->arena, &joined, rows->items[i]);
    *rows = joined;
}

/* Whether every data file that the change names for removal was met. Manifests of data may hold delete files, if a
 * writer mislabelled them: these are counted elsewhere. */
static bool has_all_removed(struct firn_op *op, const struct firn_producer *producer,
                            const struct firn_filtered_list *filtered)
{
    struct removed_seen seen = new_removed_seen(op, producer->change);
    uint32_t count = 0;
    for (size_t i = 0; i < filtered->count; i++)
        for (uint32_t k = 0; k < filtered->items[i]->lost_count; k++) {
            const struct firn_lost_entry *lost = &filtered->items[i]->lost[k];
            bool *mark = find_mark(&seen, lost);
            if (!mark || *mark)
                continue;
            *mark = true;
            count += lost->counted.content == FIRN_CONTENT_DATA;
        }
    return count == producer->change->removed_count;
}

/* A writer may have recorded summaries that are wrong; before a file is called missing, every manifest is opened, and
 * what was joined without opening all of it is not used. */
static firn_status filter_data(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    struct firn_manifest_rows all = attempt->data;
    FIRN_TRY(firn_manifests_filter(op, producer, &attempt->data, 0, &attempt->filtered));
    if (!producer->trusts_summaries || has_all_removed(op, producer, &attempt->filtered))
        return FIRN_OK;
    producer->trusts_summaries = false;
    firn_filtered_forget(op, producer);
    attempt->filtered.count = 0;
    attempt->data = all;
    return firn_manifests_filter(op, producer, &attempt->data, 0, &attempt->filtered);
}

/* The manifests of the new snapshot: what is left of the head's, and the change's own in front. */
static firn_status build_manifests(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    const struct firn_snapshot_change *change = producer->change;
    if (change->regrouping_count > 0)
        return firn_manifests_regroup(op, producer, &attempt->data, &attempt->deletes,
                                      &attempt->summary.manifests_replaced);
    FIRN_TRY(filter_data(op, producer, attempt));
    FIRN_TRY(firn_added_manifests_write(op, producer));
    int64_t lowest = lowest_live_number(producer, &attempt->data);
    FIRN_TRY(firn_manifests_filter(op, producer, &attempt->deletes, lowest, &attempt->filtered));
    FIRN_TRY(fail_finally(producer, count_lost(op, producer, attempt)));
    FIRN_TRY(count_added(op, producer, attempt, change->added, change->added_count));
    FIRN_TRY(count_added(op, producer, attempt, change->added_deletes, change->added_delete_count));
    FIRN_TRY(count_added(op, producer, attempt, producer->carried.files, producer->carried.count));
    FIRN_TRY(fail_finally(producer, check_no_rows_appear(op, producer, attempt)));
    push_front(op, &producer->added, &attempt->data);
    push_front(op, &producer->carried.rows, &attempt->deletes);
    push_front(op, &producer->added_deletes, &attempt->deletes);
    FIRN_TRY(firn_manifests_merge(op, producer, &attempt->data, 0, &attempt->summary.manifests_replaced));
    return firn_manifests_merge(op, producer, &attempt->deletes, lowest, &attempt->summary.manifests_replaced);
}

static void count_manifests(const struct firn_producer *producer, struct firn_attempt *attempt)
{
    for (size_t i = 0; i < attempt->list.count; i++) {
        bool is_own = attempt->list.items[i].added_snapshot_id == producer->snapshot_id;
        attempt->summary.manifests_created += is_own;
        attempt->summary.manifests_kept += !is_own;
    }
}

static firn_status write_list_content(struct firn_op *op, const struct firn_producer *producer,
                                      struct firn_attempt *attempt, struct firn_sink *sink)
{
    const struct firn_metadata *metadata = producer->table->metadata;
    struct firn_manifest_list_header header = {
        .format_version = metadata->format_version,
        .snapshot_id = producer->snapshot_id,
        .parent_snapshot_id = attempt->head ? attempt->head->id : FIRN_NO_SNAPSHOT,
        .sequence_number = attempt->sequence_number,
        .first_row_id = metadata->next_row_id,
        .codec = producer->codec,
    };
    return firn_manifest_list_write(op, &header, attempt->list.items, (uint32_t)attempt->list.count, sink,
                                    &attempt->next_row_id);
}

/* A fresh list for every attempt, since numbers are given here. The rows are copies: those kept for other attempts stay
 * without numbers. */
static firn_status write_list(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    struct firn_store_writer *file;
    struct firn_text name = firn_text_format(op->arena, "snap-%" PRId64 "-%d-%.*s.avro", producer->snapshot_id,
                                             attempt->number, FIRN_FMT(producer->uuid));
    attempt->list_path = firn_metadata_location(op->arena, producer->table->metadata, name);
    push_front(op, &attempt->deletes, &attempt->list);
    push_front(op, &attempt->data, &attempt->list);
    count_manifests(producer, attempt);
    FIRN_PUSH(op->arena, &producer->lists_begun, attempt->list_path);
    FIRN_TRY(firn_store_write(op, producer->table->store, attempt->list_path, true, &file));
    firn_status status = write_list_content(op, producer, attempt, firn_store_writer_sink(file));
    if (status != FIRN_OK) {
        firn_store_writer_close(file);
        return status;
    }
    return firn_store_writer_finish(op, file);
}

/* A table whose format was raised between attempts wants its manifests written anew; the old ones are cleaned up. */
static void forget_on_upgrade(struct firn_op *op, struct firn_producer *producer)
{
    int32_t version = producer->table->metadata->format_version;
    if (producer->format_version == version)
        return;
    producer->format_version = version;
    producer->has_added = producer->has_regrouped = false;
    firn_carried_withdraw(op, producer); /* of the old format */
    firn_filtered_forget(op, producer);
}

static firn_status check_deletes(struct firn_op *op, const struct firn_data_file *files, uint32_t count,
                                 int32_t version)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct firn_data_file *file = &files[i];
        bool is_vector = firn_data_file_is_deletion_vector(file);
        bool is_position_file = file->content == FIRN_CONTENT_POSITION_DELETES && !is_vector;
        if (version < 2 || (is_vector && version < 3) || (is_position_file && version > 2))
            return firn_fail(op, FIRN_USAGE, "delete file '%.*s' does not fit a table of format version %d",
                             FIRN_FMT(file->path), version);
    }
    return FIRN_OK;
}

/* What the attempt's snapshot is made of, on the metadata at hand. Only what no earlier round met is read and written.
 */
static firn_status build_snapshot(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    forget_on_upgrade(op, producer);
    firn_summary_init(&attempt->summary, op->arena, producer->partition_limit);
    attempt->sequence_number = producer->format_version > 1 ? producer->table->metadata->last_sequence_number + 1 : 0;
    FIRN_TRY(check_deletes(op, producer->change->added_deletes, producer->change->added_delete_count,
                           producer->format_version)); /* which another may have raised */
    FIRN_TRY(find_head(op, producer, attempt));
    FIRN_TRY(check_base(op, producer));
    FIRN_TRY(load_rows(op, producer, attempt));
    FIRN_TRY(check_deletes(op, producer->carried.files, producer->carried.count, producer->format_version));
    return build_manifests(op, producer, attempt);
}

/* Others may commit faster than a snapshot is built. Once an attempt was lost, the table is looked at again before the
 * next one is spent: what came meanwhile is little, since the rest is kept, so that the rounds get shorter. */
static firn_status catch_up(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    enum { ROUNDS_MAX = 20 };
    int32_t number = attempt->number;
    for (int round = 1; number > 1 && round < ROUNDS_MAX; round++) {
        struct firn_text built_on = producer->table->metadata_location;
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_table_refresh(op, producer->table));
        if (firn_text_same(producer->table->metadata_location, built_on))
            return FIRN_OK;
        *attempt = (struct firn_attempt){ .number = number };
        FIRN_TRY(build_snapshot(op, producer, attempt));
    }
    return FIRN_OK;
}

static firn_status make_attempt(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    struct firn_change change;
    producer->is_final = false;
    FIRN_TRY(firn_op_check(op));
    FIRN_TRY(firn_table_refresh(op, producer->table));
    FIRN_TRY(build_snapshot(op, producer, attempt));
    FIRN_TRY(catch_up(op, producer, attempt));
    FIRN_TRY(write_list(op, producer, attempt)); /* (1) */
    firn_snapshot_change_of(op, producer, attempt, &change);
    return firn_catalog_commit(op, producer->table, change.requirements, change.updates);
}

/* Reference: procedures.md, 3.2. */
static firn_status check_shape(struct firn_op *op, const struct firn_snapshot_change *change)
{
    if (!firn_text_is(change->operation, "replace"))
        return FIRN_OK;
    if (change->regrouping_count > 0)
        return FIRN_OK;
    if (change->removed_count == 0 && change->removed_delete_count == 0 && change->spent_delete_count == 0)
        return firn_fail(op, FIRN_USAGE, "a replacement removes nothing");
    if (change->added_count > 0 && change->removed_count == 0)
        return firn_fail(op, FIRN_USAGE, "a replacement adds data files and removes none");
    if (change->added_delete_count > 0 && change->removed_delete_count == 0 && change->removed_count == 0)
        return firn_fail(op, FIRN_USAGE, "a replacement adds delete files and removes none");
    return FIRN_OK;
}

static int64_t new_snapshot_id(struct firn_op *op, const struct firn_metadata *metadata)
{
    uint64_t id;
    do {
        op->env->random(op->env->context, &id, sizeof id);
        id &= INT64_MAX;
    } while (id == 0 || firn_metadata_snapshot(metadata, (int64_t)id));
    return (int64_t)id;
}

static firn_status read_properties(struct firn_op *op, struct firn_producer *producer)
{
    const struct firn_metadata *metadata = producer->table->metadata;
    int64_t level;
    producer->codec = firn_property_text(metadata, "write.manifest.compression-codec", FIRN_TEXT("gzip"));
    FIRN_TRY(firn_property_i64(op, metadata, "write.manifest.compression-level", FIRN_CODEC_LEVEL_DEFAULT, &level));
    producer->codec_level = (int32_t)FIRN_MAX(INT32_MIN, FIRN_MIN(INT32_MAX, level));
    FIRN_TRY(firn_property_i64(op, metadata, "commit.manifest.target-size-bytes", 8388608,
                               &producer->manifest_bytes_target));
    FIRN_TRY(firn_property_i64(op, metadata, "commit.manifest.min-count-to-merge", 100, &producer->merge_count_min));
    FIRN_TRY(firn_property_i64(op, metadata, "write.summary.partition-limit", 0, &producer->partition_limit));
    if (producer->manifest_bytes_target <= 0)
        return firn_fail(op, FIRN_USAGE, "commit.manifest.target-size-bytes must be above 0");
    producer->merges =
        !producer->change->fast_append && firn_property_bool(metadata, "commit.manifest-merge.enabled", true);
    return FIRN_OK;
}

static void index_removals(struct firn_op *op, struct firn_producer *producer)
{
    const struct firn_snapshot_change *change = producer->change;
    firn_map_init(&producer->removed_paths, op->arena);
    firn_map_init(&producer->removed_deletes, op->arena);
    firn_map_init(&producer->spent_deletes, op->arena);
    firn_map_init(&producer->removed_spec_ids, op->arena);
    for (uint32_t i = 0; i < change->removed_count; i++) {
        const struct firn_data_file *file = &change->removed[i];
        firn_map_put_text(&producer->removed_paths, file->path)->value.number = i;
        firn_map_put(&producer->removed_spec_ids,
                     (struct firn_bytes){ (const uint8_t *)&file->spec_id, sizeof file->spec_id });
    }
    for (uint32_t i = 0; i < change->removed_delete_count; i++) {
        struct firn_text key = firn_delete_file_key(op->arena, &change->removed_deletes[i]);
        firn_map_put_text(&producer->removed_deletes, key)->value.number = i;
    }
    for (uint32_t i = 0; i < change->spent_delete_count; i++) {
        struct firn_text key = firn_delete_file_key(op->arena, &change->spent_deletes[i]);
        firn_map_put_text(&producer->spent_deletes, key)->value.number = i;
    }
}

static firn_status init(struct firn_op *op, struct firn_producer *producer)
{
    const struct firn_metadata *metadata = producer->table->metadata;
    if (!producer->table->catalog)
        return firn_fail(op, FIRN_USAGE, "table '%.*s' was opened for reading only", FIRN_FMT(producer->table->name));
    FIRN_TRY(read_properties(op, producer));
    producer->uuid = firn_uuid_text(op->arena, firn_uuid_random(op));
    producer->snapshot_id = new_snapshot_id(op, metadata);
    firn_map_init(&producer->filtered, op->arena);
    firn_map_init(&producer->merged, op->arena);
    producer->format_version = metadata->format_version;
    producer->trusts_summaries = true;
    producer->drafted_on = FIRN_NO_SNAPSHOT;
    return FIRN_OK;
}

static firn_status take_change(struct firn_op *op, struct firn_producer *producer,
                               const struct firn_snapshot_change *change)
{
    producer->change = change;
    FIRN_TRY(check_shape(op, change));
    index_removals(op, producer);
    return firn_removed_partitions_collect(op, producer);
}

/* (2): everything this producer wrote. */
static void clean_up_failure(struct firn_op *op, struct firn_producer *producer)
{
    struct firn_store *store = producer->table->store;
    firn_store_discard(op, store, producer->lists_begun.items, producer->lists_begun.count);
    firn_store_discard(op, store, producer->manifests_begun.items, producer->manifests_begun.count);
    firn_carried_withdraw(op, producer);
}

/* The lists of lost attempts, and manifests that the committed list does not name. */
static void clean_up_success(struct firn_op *op, const struct firn_producer *producer,
                             const struct firn_attempt *attempt)
{
    struct firn_store *store = producer->table->store;
    struct firn_map used;
    firn_map_init(&used, op->arena);
    for (size_t i = 0; i < attempt->list.count; i++)
        firn_map_put_text(&used, attempt->list.items[i].path);
    for (size_t i = 0; i < producer->lists_begun.count; i++)
        if (!firn_text_same(producer->lists_begun.items[i], attempt->list_path))
            firn_store_discard(op, store, &producer->lists_begun.items[i], 1);
    for (size_t i = 0; i < producer->manifests_begun.count; i++)
        if (!firn_map_find_text(&used, producer->manifests_begun.items[i]))
            firn_store_discard(op, store, &producer->manifests_begun.items[i], 1);
}

static bool may_try_again(const struct firn_producer *producer, firn_status status)
{
    return !producer->is_final && (status == FIRN_CONFLICT || status == FIRN_UNAVAILABLE);
}

static firn_status run_attempts(struct firn_op *op, struct firn_producer *producer, struct firn_attempt *attempt)
{
    struct firn_retry_policy policy;
    FIRN_TRY(firn_retry_policy_of(op, producer->table->metadata, &policy));
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    for (int32_t number = 1;; number++) {
        *attempt = (struct firn_attempt){ .number = number };
        firn_status status = make_attempt(op, producer, attempt);
        if (status == FIRN_OK || !may_try_again(producer, status))
            return status;
        firn_log(op, FIRN_LOG_DEBUG, "commit attempt=%d lost: %s", number, op->error.text);
        if (!firn_retry_wait(op, &policy, number, started_ms))
            return firn_context(op, status, "%d attempts to commit", number);
    }
}

static firn_status make_draft(struct firn_op *op, struct firn_producer *producer)
{
    struct firn_attempt attempt = { 0 };
    FIRN_TRY(init(op, producer));
    FIRN_TRY(take_change(op, producer, producer->change));
    FIRN_TRY(find_head(op, producer, &attempt));
    FIRN_TRY(read_rows(op, producer, attempt.head, &producer->drafted_rows));
    producer->drafted_on = attempt.head ? attempt.head->id : FIRN_NO_SNAPSHOT;
    FIRN_TRY(sort_rows(op, producer, &producer->drafted_rows, &attempt));
    FIRN_TRY(firn_manifests_filter(op, producer, &attempt.data, 0, &attempt.filtered));
    return firn_manifests_merge_ahead(op, producer, &attempt.data);
}

struct firn_snapshot_draft *firn_snapshot_draft_open(struct firn_op *op, struct firn_pool *pool,
                                                     struct firn_table *table,
                                                     const struct firn_snapshot_change *change)
{
    struct firn_snapshot_draft *draft = calloc(1, sizeof *draft);
    struct firn_op drafting = *op;
    if (!draft)
        return NULL;
    firn_arena_init(&draft->arena);
    drafting.arena = &draft->arena;
    draft->producer = (struct firn_producer){ .pool = pool, .table = table, .change = change };
    if (make_draft(&drafting, &draft->producer) == FIRN_OK)
        return draft;
    firn_log(op, FIRN_LOG_DEBUG, "nothing is done of the commit ahead: %s", drafting.error.text);
    firn_snapshot_draft_close(op, draft);
    return NULL;
}

void firn_snapshot_draft_close(struct firn_op *op, struct firn_snapshot_draft *draft)
{
    if (!draft)
        return;
    if (!draft->is_taken) /* (2) */
        clean_up_failure(op, &draft->producer);
    firn_arena_done(&draft->arena);
    free(draft);
}

/* The producer of a commit: that of its draft, or `fresh`. */
static firn_status begin(struct firn_op *op, struct firn_producer *fresh, struct firn_producer **out)
{
    const struct firn_snapshot_change *change = fresh->change;
    struct firn_snapshot_draft *draft = change->draft;
    *out = draft ? &draft->producer : fresh;
    assert(!draft || (!draft->is_taken && draft->producer.change->removed_count == change->removed_count));
    if (draft)
        draft->is_taken = true;
    else
        FIRN_TRY(init(op, fresh));
    return take_change(op, *out, change);
}

firn_status firn_snapshot_commit(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                 const struct firn_snapshot_change *change, struct firn_snapshot_result *out)
{
    struct firn_producer fresh = { .pool = pool, .table = table, .change = change }, *producer;
    struct firn_attempt attempt = { 0 };
    *out = (struct firn_snapshot_result){ 0 };
    firn_status status = begin(op, &fresh, &producer);
    if (status == FIRN_OK)
        status = run_attempts(op, producer, &attempt);
    if (status == FIRN_OK)
        clean_up_success(op, producer, &attempt);
    else if (status != FIRN_UNKNOWN) /* (3) */
        clean_up_failure(op, producer);
    *out = (struct firn_snapshot_result){
        .snapshot_id = producer->snapshot_id,
        .sequence_number = attempt.sequence_number,
        .attempts = attempt.number,
        .removed_delete_files = attempt.removed_delete_files,
        .manifests_created = attempt.summary.manifests_created,
        .manifests_replaced = attempt.summary.manifests_replaced,
        .carried_delete_files = status == FIRN_OK ? producer->carried.count : 0,
        .must_plan_anew = status == FIRN_CONFLICT && producer->is_final,
    };
    return status;
}
