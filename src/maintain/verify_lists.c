/* Manifest lists: each can be read, and says what its snapshot and its neighbours say.
 * Iceberg spec, "Snapshots", "Manifest Lists". */
#include "base/math.h"
#include "maintain/verify.h"
#include "table/scan.h"

static const struct firn_verify_codes list_codes = { "manifest-list-missing", "manifest-list-unreadable",
                                                     FIRN_SEVERITY_ERROR };
/* Without a list, what a snapshot embeds is read from the manifests themselves (v1). */
static const struct firn_verify_codes embedded_codes = { "manifest-missing", "manifest-unreadable",
                                                         FIRN_SEVERITY_ERROR };

/* The list ------------------------------------------------------------------------------------------------------- */

static void check_row(const struct firn_snapshot *snapshot, const struct firn_manifest_file *row,
                      struct firn_findings *found)
{
    if (row->sequence_number > snapshot->sequence_number)
        firn_findings_add(found, FIRN_SEVERITY_ERROR, "manifest-sequence-number", row->path,
                          "the manifest has sequence number %" PRId64 ", its snapshot %" PRId64, row->sequence_number,
                          snapshot->sequence_number);
    if (row->min_sequence_number > row->sequence_number)
        firn_findings_add(found, FIRN_SEVERITY_ERROR, "manifest-sequence-number", row->path,
                          "the lowest sequence number in the manifest is %" PRId64 ", its own %" PRId64,
                          row->min_sequence_number, row->sequence_number);
}

static void check_listed_once(struct firn_op *op, const struct firn_manifest_list *list, struct firn_text location,
                              struct firn_findings *found)
{
    struct firn_map paths;
    firn_map_init(&paths, op->arena);
    for (uint32_t i = 0; i < list->count; i++) {
        size_t before = paths.count;
        firn_map_put_text(&paths, list->manifests[i].path);
        if (paths.count == before)
            firn_findings_add(found, FIRN_SEVERITY_ERROR, "manifest-listed-twice", location,
                              "the list names \"%.*s\" more than once, and with it each row",
                              FIRN_FMT(list->manifests[i].path));
    }
}

/* What lives in a snapshot, as the list has it; of heads the files are counted.
 * ---------------------------------------------------- */

static bool add_counts(int64_t added, int64_t existing, int64_t *sum)
{
    return added != FIRN_ABSENT && existing != FIRN_ABSENT && !__builtin_add_overflow(*sum, added, sum) &&
           !__builtin_add_overflow(*sum, existing, sum);
}

static void check_total(const struct firn_snapshot *snapshot, const char *key, int64_t counted, struct firn_text id,
                        struct firn_findings *found)
{
    int64_t total;
    const char *text = json_string_value(json_object_get(snapshot->summary, key));
    if (!text)
        return;
    if (!firn_text_to_i64(firn_text_of(text), &total) || total != counted)
        firn_findings_add(found, FIRN_SEVERITY_WARNING, "summary-total", snapshot->manifest_list,
                          "the summary of snapshot %.*s has %s %s, its manifests have %" PRId64, FIRN_FMT(id), key,
                          text, counted);
}

static void check_totals(const struct firn_snapshot *snapshot, const struct firn_manifest_list *list,
                         struct firn_text id, struct firn_findings *found)
{
    int64_t data_files = 0, delete_files = 0, records = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct firn_manifest_file *row = &list->manifests[i];
        if (!add_counts(row->added_files_count, row->existing_files_count,
                        row->is_deletes ? &delete_files : &data_files))
            return;
        if (!row->is_deletes && !add_counts(row->added_rows_count, row->existing_rows_count, &records))
            return;
    }
    check_total(snapshot, "total-data-files", data_files, id, found);
    check_total(snapshot, "total-delete-files", delete_files, id, found);
    check_total(snapshot, "total-records", records, id, found);
}

/* A snapshot ----------------------------------------------------------------------------------------------------- */

static firn_status look_at_list(struct firn_op *op, struct firn_verify *verify, size_t index,
                                struct firn_findings *found, void **result)
{
    const struct firn_snapshot *snapshot = &verify->metadata->snapshots[index];
    bool has_list = snapshot->manifest_list.len > 0;
    struct firn_manifest_list *list = FIRN_NEW(op->arena, struct firn_manifest_list);
    firn_status status = firn_snapshot_manifests(op, verify->store, verify->metadata, snapshot, list);
    if (status != FIRN_OK) {
        verify->snapshots[index].is_readable = false;
        *result = FIRN_NEW(op->arena, struct firn_text);
        *(struct firn_text *)*result = firn_text_copy(op->arena, firn_text_of(op->error.text));
        return firn_verify_failed(op, status, has_list ? &list_codes : &embedded_codes, snapshot->manifest_list, found);
    }
    for (uint32_t i = 0; i < list->count; i++)
        check_row(snapshot, &list->manifests[i], found);
    check_listed_once(op, list, snapshot->manifest_list, found);
    if (verify->snapshots[index].refs.len == 0)
        check_totals(snapshot, list, verify->snapshots[index].id, found);
    *result = list;
    return FIRN_OK;
}

static struct firn_manifest_file copy_row(struct firn_arena *arena, const struct firn_manifest_file *row)
{
    struct firn_manifest_file copy = *row;
    copy.path = firn_text_copy(arena, row->path);
    copy.key_metadata = (struct firn_bytes){ 0 };
    copy.summaries = FIRN_NEW_ARRAY(arena, struct firn_field_summary, row->summary_count);
    for (uint32_t i = 0; i < row->summary_count; i++) {
        copy.summaries[i] = row->summaries[i];
        if (row->summaries[i].lower_bound.data)
            copy.summaries[i].lower_bound = firn_bytes_copy(arena, row->summaries[i].lower_bound);
        if (row->summaries[i].upper_bound.data)
            copy.summaries[i].upper_bound = firn_bytes_copy(arena, row->summaries[i].upper_bound);
    }
    return copy;
}

/* Numbers that a list of an older format version leaves out may differ. */
static bool same_number(int64_t a, int64_t b)
{
    return a == b || a == FIRN_ABSENT || b == FIRN_ABSENT;
}

static void compare_rows(const struct firn_verify_manifest *known, const struct firn_manifest_file *row,
                         struct firn_text list, struct firn_findings *found)
{
    const struct firn_manifest_file *first = &known->row;
    const struct {
        const char *what;
        int64_t first, second;
    } numbers[] = {
        { "length", first->length, row->length },
        { "spec id", first->spec_id, row->spec_id },
        { "content", first->is_deletes, row->is_deletes },
        { "sequence number", first->sequence_number, row->sequence_number },
        { "added files", first->added_files_count, row->added_files_count },
        { "existing files", first->existing_files_count, row->existing_files_count },
        { "added rows", first->added_rows_count, row->added_rows_count },
        { "existing rows", first->existing_rows_count, row->existing_rows_count },
        { "first row id", first->first_row_id, row->first_row_id },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(numbers); i++)
        if (!same_number(numbers[i].first, numbers[i].second))
            firn_findings_add(found, FIRN_SEVERITY_ERROR, "manifest-listed-otherwise", row->path,
                              "%s of the manifest: %" PRId64 " by \"%.*s\", %" PRId64 " by \"%.*s\"", numbers[i].what,
                              numbers[i].first, FIRN_FMT(known->named_by), numbers[i].second, FIRN_FMT(list));
}

static void meet_manifest(struct firn_verify *verify, const struct firn_manifest_file *row, struct firn_text list)
{
    const struct firn_map_entry *met = firn_map_find_text(&verify->manifests, row->path);
    if (met) {
        compare_rows(met->value.pointer, row, list, &verify->found);
        return;
    }
    struct firn_arena *arena = verify->manifests.arena;
    struct firn_verify_manifest *manifest = FIRN_NEW(arena, struct firn_verify_manifest);
    manifest->row = copy_row(arena, row);
    manifest->named_by = list;
    verify->has_deletes = verify->has_deletes || row->is_deletes;
    firn_map_put_text(&verify->manifests, manifest->row.path)->value.pointer = manifest;
}

static firn_status take_list(struct firn_op *op, struct firn_verify *verify, size_t index, void *result)
{
    (void)op;
    struct firn_verify_snapshot *snapshot = &verify->snapshots[index];
    struct firn_text location = verify->metadata->snapshots[index].manifest_list;
    if (!snapshot->is_readable) {
        snapshot->why = firn_text_copy(verify->manifests.arena, *(const struct firn_text *)result);
        return FIRN_OK;
    }
    const struct firn_manifest_list *list = result;
    for (uint32_t i = 0; i < list->count; i++)
        meet_manifest(verify, &list->manifests[i], location.len ? location : verify->table->metadata_location);
    verify->report->manifest_list_count += location.len > 0;
    return FIRN_OK;
}

firn_status firn_verify_lists(struct firn_op *op, struct firn_verify *verify)
{
    static const struct firn_verify_work work = { look_at_list, take_list };
    return firn_verify_each(op, verify, verify->metadata->snapshot_count, &work);
}
