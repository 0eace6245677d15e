/* What earlier runs of rewrite_data_files have settled, read from snapshot summaries.
 *
 * Sizes are predicted from compressed inputs, and re-encoding may give files a fifth of that. Judged by size alone such
 * outputs would be candidates again at once. So every commit records the shape of its outputs, and the commit that
 * completes a run records the settings and the snapshot it was planned on. Snapshots that expired are forgotten: then
 * files are judged by size once more. */
#include "maintain/rewrite_data_files.h"

static struct firn_text summary_text(const struct firn_snapshot *snapshot, const char *key)
{
    const json_t *value = snapshot->summary ? json_object_get(snapshot->summary, key) : NULL;
    if (!json_is_string(value))
        return FIRN_TEXT("");
    return (struct firn_text){ json_string_value(value), json_string_length(value) };
}

void firn_rewrite_history_mark(struct firn_rewrite_history *history, const int64_t *id, enum firn_snapshot_mark mark)
{
    struct firn_bytes key = { (const uint8_t *)id, sizeof *id };
    firn_map_put(&history->snapshots, key)->value.number = mark;
}

static enum firn_snapshot_mark mark_of(const struct firn_rewrite_history *history, int64_t id)
{
    struct firn_bytes key = { (const uint8_t *)&id, sizeof id };
    const struct firn_map_entry *found = firn_map_find(&history->snapshots, key);
    return found ? (enum firn_snapshot_mark)found->value.number : FIRN_SNAPSHOT_UNMARKED;
}

/* The snapshot that the latest complete run with these settings was planned on, seen from `head`. Walks are bounded by
 * the number of snapshots: parents are what a file says, and may run in a circle. */
static bool find_covered(const struct firn_metadata *metadata, const struct firn_snapshot *head,
                         struct firn_text settings, int64_t *covered_id)
{
    const struct firn_snapshot *at = head;
    for (uint32_t step = 0; at && step < metadata->snapshot_count; step++) {
        if (firn_text_same(summary_text(at, FIRN_SUMMARY_SETTINGS), settings))
            return firn_text_to_i64(summary_text(at, FIRN_SUMMARY_COVERS), covered_id);
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    return false;
}

/* Marks what was committed after the covered snapshot as new, but for the outputs of runs. False when the way back to
 * it is cut. */
static bool mark_new(struct firn_rewrite_history *history, const struct firn_metadata *metadata,
                     const struct firn_snapshot *head, int64_t covered_id)
{
    const struct firn_snapshot *at = head;
    for (uint32_t step = 0; at && step < metadata->snapshot_count; step++) {
        if (at->id == covered_id) {
            history->covered_number = at->sequence_number;
            return true;
        }
        if (mark_of(history, at->id) != FIRN_SNAPSHOT_SETTLED)
            firn_rewrite_history_mark(history, &history->ids[at - metadata->snapshots], FIRN_SNAPSHOT_NEW);
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    return false;
}

void firn_rewrite_history_read(struct firn_op *op, const struct firn_metadata *metadata,
                               const struct firn_snapshot *head, struct firn_text settings, struct firn_text shape,
                               struct firn_rewrite_history *out)
{
    int64_t covered_id;
    *out = (struct firn_rewrite_history){ .ids = FIRN_NEW_ARRAY(op->arena, int64_t, metadata->snapshot_count) };
    firn_map_init(&out->snapshots, op->arena);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        out->ids[i] = metadata->snapshots[i].id;
        if (firn_text_same(summary_text(&metadata->snapshots[i], FIRN_SUMMARY_SHAPE), shape))
            firn_rewrite_history_mark(out, &out->ids[i], FIRN_SNAPSHOT_SETTLED);
    }
    out->is_covered = find_covered(metadata, head, settings, &covered_id) && mark_new(out, metadata, head, covered_id);
}

static bool settles_entry(const struct firn_rewrite_history *history, const struct firn_manifest_entry *entry)
{
    enum firn_snapshot_mark mark = mark_of(history, entry->snapshot_id);
    return history->is_covered ? mark != FIRN_SNAPSHOT_NEW : mark == FIRN_SNAPSHOT_SETTLED;
}

/* A run has applied what its outputs' number reaches; what came in the very commit that added them was carried over. */
static bool was_applied(const struct firn_manifest_entry *output, const struct firn_manifest_entry *del)
{
    return del->sequence_number <= output->sequence_number && del->snapshot_id != output->snapshot_id;
}

static bool has_news(const struct firn_rewrite_history *history, const struct firn_manifest_entry *data, bool is_output,
                     const struct firn_delete_list *deletes)
{
    for (uint32_t i = deletes->count; i-- > 0;) { /* the newest are last */
        const struct firn_manifest_entry *del = deletes->items[i];
        bool is_seen = history->is_covered && del->file_sequence_number <= history->covered_number;
        if (!is_seen && !(is_output && was_applied(data, del)))
            return true;
    }
    return false;
}

bool firn_rewrite_history_settles(const struct firn_rewrite_history *history, const struct firn_scan_file *file)
{
    bool is_output = mark_of(history, file->entry->snapshot_id) == FIRN_SNAPSHOT_SETTLED;
    return settles_entry(history, file->entry) && !has_news(history, file->entry, is_output, &file->deletes.own) &&
           !has_news(history, file->entry, is_output, &file->deletes.wide) &&
           !has_news(history, file->entry, is_output, &file->deletes.equality);
}
