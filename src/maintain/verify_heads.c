/* What branches and tags point to, as a whole: no file twice, no row id twice, deletes that apply to something, totals.
 *
 * Data manifests pass by one at a time; delete entries stay for one head. Iceberg spec, "Scan Planning", "Row Lineage".
 */
#include "base/math.h"
#include "maintain/delete_use.h"
#include "maintain/live_totals.h"
#include "maintain/verify.h"
#include "table/scan.h"

#include <stdlib.h>

/* The row ids of one data file. */
struct row_ids {
    int64_t first, count;
};

struct head {
    struct firn_verify *verify;
    const struct firn_snapshot *snapshot;
    struct firn_text name; /* "branch main" */
    FIRN_ARRAY(const struct firn_manifest_entry *) deletes;
    bool *is_used; /* one a delete */
    struct firn_delete_index *index;
    bool matches; /* false: the delete files contradict each other, so none can be said to dangle */
    struct firn_key_map paths;
    struct firn_buffer row_ids; /* of struct row_ids */
    struct firn_live_totals totals;
    struct firn_verify_snapshot *result;
};

/* Totals --------------------------------------------------------------------------------------------------------- */

static void check_totals(const struct head *head)
{
    for (size_t i = 0; i < FIRN_TOTAL_COUNT; i++) {
        enum firn_summary_total_id id = (enum firn_summary_total_id)i;
        if (firn_live_totals_agree(&head->totals, head->snapshot, id))
            continue;
        const char *key = firn_summary_totals[id].key;
        head->result->totals_are_wrong = true;
        firn_findings_add(&head->verify->found, FIRN_SEVERITY_WARNING, "summary-total", head->snapshot->manifest_list,
                          "the summary of %.*s has %s %s, its files have %" PRId64, FIRN_FMT(head->name), key,
                          json_string_value(json_object_get(head->snapshot->summary, key)), head->totals.items[id]);
    }
}

/* Files and row ids ------------------------------------------------------------------------------------------------ */

static firn_status check_listed_once(struct firn_op *op, struct head *head, const struct firn_data_file *file)
{
    bool is_new;
    struct firn_hash128 key =
        firn_hash128(firn_bytes_of_text(file->path), (uint64_t)FIRN_MAX(file->content_offset, INT64_C(0)));
    FIRN_TRY(firn_key_map_add(op, &head->paths, key, 0, &is_new));
    if (!is_new)
        firn_findings_add(&head->verify->found, FIRN_SEVERITY_ERROR, "file-listed-twice", file->path,
                          "%.*s has the file more than once, and with it each row", FIRN_FMT(head->name));
    return FIRN_OK;
}

static firn_status note_row_ids(struct firn_op *op, struct head *head, const struct firn_data_file *file)
{
    struct row_ids ids = { file->first_row_id, file->record_count };
    if (file->content != FIRN_CONTENT_DATA || file->first_row_id == FIRN_ABSENT || file->record_count == 0)
        return FIRN_OK;
    return firn_buffer_append(op, &head->row_ids, &ids, sizeof ids);
}

static int compare_row_ids(const void *a, const void *b)
{
    const struct row_ids *left = a, *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static void check_row_ids(struct head *head)
{
    struct row_ids *ids = (struct row_ids *)(void *)head->row_ids.data;
    size_t count = head->row_ids.len / sizeof *ids;
    if (count > 1)
        qsort(ids, count, sizeof *ids, compare_row_ids);
    for (size_t i = 1; i < count; i++)
        if ((uint64_t)ids[i].first - (uint64_t)ids[i - 1].first < (uint64_t)ids[i - 1].count)
            firn_findings_add(
                &head->verify->found, FIRN_SEVERITY_ERROR, "row-ids-overlap", head->snapshot->manifest_list,
                "two files of %.*s share row ids: %" PRId64 " rows from %" PRId64 ", and %" PRId64 " from %" PRId64,
                FIRN_FMT(head->name), ids[i - 1].count, ids[i - 1].first, ids[i].count, ids[i].first);
}

/* Deletes -------------------------------------------------------------------------------------------------------- */

static firn_status keep_deletes(struct firn_op *op, struct head *head, const struct firn_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        firn_live_totals_add(&head->totals, &entry->file);
        FIRN_TRY(check_listed_once(op, head, &entry->file));
        if (entry->file.content != FIRN_CONTENT_DATA)
            FIRN_PUSH(op->arena, &head->deletes, entry);
    }
    return FIRN_OK;
}

/* A contradiction is an error of the table, and ends the matching. */
static firn_status contradicted(struct firn_op *op, struct head *head, firn_status status)
{
    if (status != FIRN_CORRUPT)
        return status;
    head->matches = false;
    firn_findings_add(&head->verify->found, FIRN_SEVERITY_ERROR, "deletes-contradict", head->snapshot->manifest_list,
                      "%.*s: %s", FIRN_FMT(head->name), op->error.text);
    return FIRN_OK;
}

static firn_status read_deletes(struct firn_op *op, struct head *head, const struct firn_manifest_list *list)
{
    struct firn_manifest_read_options options = { .skip_deleted = true };
    struct firn_manifest manifest;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!list->manifests[i].is_deletes)
            continue;
        FIRN_TRY(firn_manifest_read(op, head->verify->store, head->verify->metadata, &list->manifests[i], options,
                                    &manifest));
        FIRN_TRY(keep_deletes(op, head, &manifest));
    }
    head->is_used = FIRN_NEW_ARRAY(op->arena, bool, head->deletes.count);
    head->matches = head->deletes.count > 0;
    return contradicted(op, head,
                        firn_delete_index_new(op, head->verify->metadata, head->deletes.items,
                                              (uint32_t)head->deletes.count, &head->index));
}

static void note_uses(struct firn_op *op, struct head *head, const struct firn_scan_file *files, uint32_t count)
{
    struct firn_delete_uses uses;
    const struct firn_scan_file **pointers = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, count);
    for (uint32_t i = 0; i < count; i++)
        pointers[i] = &files[i];
    firn_delete_uses_count(op->arena, pointers, count, &uses);
    for (size_t i = 0; i < head->deletes.count; i++)
        if (!head->is_used[i])
            head->is_used[i] = firn_delete_uses_find(&uses, head->deletes.items[i]);
}

static firn_status match_deletes(struct firn_op *op, struct head *head, const struct firn_manifest *manifest)
{
    struct firn_scan_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, manifest->count);
    for (uint32_t i = 0; i < manifest->count && head->matches; i++) {
        files[i].entry = &manifest->entries[i];
        FIRN_TRY(
            contradicted(op, head, firn_delete_index_match(op, head->index, &manifest->entries[i], &files[i].deletes)));
    }
    if (head->matches)
        note_uses(op, head, files, manifest->count);
    return FIRN_OK;
}

static void report_dangling(const struct head *head)
{
    static const char *const kinds[] = { "data", "position delete", "equality delete" };
    for (size_t i = 0; i < head->deletes.count && head->matches; i++) {
        const struct firn_data_file *file = &head->deletes.items[i]->file;
        if (head->is_used[i])
            continue;
        head->result->dangling_deletes++;
        firn_findings_add(&head->verify->found, FIRN_SEVERITY_WARNING, "delete-dangling", file->path,
                          "the %s file applies to no data file of %.*s, and every reader opens it",
                          firn_data_file_is_deletion_vector(file) ? "deletion vector" : kinds[file->content],
                          FIRN_FMT(head->name));
    }
}

/* One head ------------------------------------------------------------------------------------------------------- */

static firn_status visit_data(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    struct head *head = context;
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_data_file *file = &manifest->entries[i].file;
        firn_live_totals_add(&head->totals, file);
        FIRN_TRY(check_listed_once(op, head, file));
        FIRN_TRY(note_row_ids(op, head, file));
    }
    return head->matches ? match_deletes(op, head, manifest) : FIRN_OK;
}

static firn_status read_head(struct firn_op *op, struct head *head)
{
    struct firn_manifest_read_options options = { .skip_metrics = true, .skip_deleted = true };
    struct firn_manifest_list list;
    FIRN_TRY(firn_snapshot_manifests(op, head->verify->store, head->verify->metadata, head->snapshot, &list));
    FIRN_TRY(read_deletes(op, head, &list));
    for (uint32_t i = 0; i < list.count; i++)
        if (!list.manifests[i].is_deletes)
            FIRN_TRY(firn_manifest_look(op, head->verify->store, head->verify->metadata, &list.manifests[i], options,
                                        visit_data, head));
    report_dangling(head);
    check_row_ids(head);
    check_totals(head);
    return FIRN_OK;
}

/* What cannot be read of it was told before; this says what was not looked at therefore. */
static const struct firn_verify_codes unchecked = { "head-unchecked", "head-unchecked", FIRN_SEVERITY_NOTICE };

static firn_status check_head(struct firn_op *op, struct firn_verify *verify, const struct firn_ref *ref)
{
    const struct firn_snapshot *snapshot = firn_metadata_snapshot(verify->metadata, ref->snapshot_id);
    struct head head = {
        .verify = verify,
        .snapshot = snapshot,
        .result = &verify->snapshots[snapshot - verify->metadata->snapshots],
        .name =
            firn_text_format(op->arena, "%s '%.*s'", ref->type == FIRN_REF_TAG ? "tag" : "branch", FIRN_FMT(ref->name)),
    };
    firn_status status = read_head(op, &head);
    firn_key_map_done(&head.paths);
    firn_buffer_done(&head.row_ids);
    status = firn_context(op, status, "%.*s was not checked as a whole", FIRN_FMT(head.name));
    return firn_verify_failed(op, status, &unchecked, snapshot->manifest_list, &verify->found);
}

/* Whether an earlier branch or tag points to the same snapshot. */
static bool is_known(const struct firn_metadata *metadata, uint32_t ref)
{
    for (uint32_t i = 0; i < ref; i++)
        if (metadata->refs[i].snapshot_id == metadata->refs[ref].snapshot_id)
            return true;
    return false;
}

firn_status firn_verify_heads(struct firn_op *op, struct firn_verify *verify)
{
    const struct firn_metadata *metadata = verify->metadata;
    firn_status status = FIRN_OK;
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    for (uint32_t i = 0; i < metadata->ref_count && status == FIRN_OK; i++) {
        if (!is_known(metadata, i))
            status = check_head(op, verify, &metadata->refs[i]);
        firn_arena_reset(&scratch.arena);
    }
    firn_scratch_end(op, &scratch);
    return status;
}
