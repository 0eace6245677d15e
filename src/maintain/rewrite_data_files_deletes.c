/* The delete files in a plan of rewrite_data_files: which apply to a group, how many rows they delete as far as
 * manifests tell, and what they cost whoever reads the table as it is. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"

#include <stdlib.h>

static int64_t rows_of(const struct firn_planned_file *file)
{
    return FIRN_MAX(file->scan->entry->file.record_count, 0);
}

/* Of the two kinds that other files share, manifests do not tell which rows they delete. */
static bool has_shared_deletes(const struct firn_planned_file *file)
{
    return file->scan->deletes.wide.count > 0 || file->scan->deletes.equality.count > 0;
}

/* The dearest first: bytes that a scan reads of them. */
static int compare_cost(const void *a, const void *b)
{
    const struct firn_delete_use *left = a, *right = b;
    double x = (double)firn_delete_read_bytes(&left->del->file) * (double)left->file_count;
    double y = (double)firn_delete_read_bytes(&right->del->file) * (double)right->file_count;
    if (x != y)
        return x < y ? 1 : -1;
    return firn_text_compare(left->del->file.path, right->del->file.path);
}

void firn_rewrite_group_deletes(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                const struct firn_planned_group *group, struct firn_group_deletes *out)
{
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(arena, const struct firn_scan_file *, group->file_count);
    *out = (struct firn_group_deletes){ 0 };
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[group->files[i]];
        files[i] = file->scan;
        out->rows_min += file->known_deleted_rows;
        out->rows_max += has_shared_deletes(file) ? rows_of(file) : file->known_deleted_rows;
    }
    firn_delete_uses_count(arena, files, group->file_count, &out->uses);
    out->file_count = out->uses.count;
    for (uint32_t i = 0; i < out->uses.count; i++) {
        const struct firn_delete_use *use = &out->uses.items[i];
        int64_t bytes = firn_delete_read_bytes(&use->del->file);
        out->bytes += bytes;
        out->opened_per_scan += use->file_count;
        out->bytes_per_scan += bytes * use->file_count;
    }
}

static bool is_own(const struct firn_data_file *del)
{
    return firn_delete_file_scope(del).len > 0;
}

static const char *kind_of(const struct firn_data_file *del)
{
    if (del->content == FIRN_CONTENT_EQUALITY_DELETES)
        return "equality deletes";
    return firn_data_file_is_deletion_vector(del) ? "deletion vector" : "position deletes";
}

/* Keys delete any number of rows; positions at most one each. */
static int64_t rows_max(const struct firn_delete_use *use)
{
    if (use->del->file.content == FIRN_CONTENT_EQUALITY_DELETES)
        return use->row_count;
    return FIRN_MIN(FIRN_MAX(use->del->file.record_count, 0), use->row_count);
}

static json_t *use_json(const struct firn_rewrite_plan *plan, const struct firn_delete_use *use)
{
    const struct firn_data_file *file = &use->del->file;
    const struct firn_delete_use *whole = firn_delete_uses_find(&plan->uses, use->del);
    json_t *json = json_object();
    firn_json_set(json, "kind", json_string(kind_of(file)));
    firn_json_set_text(json, "path", file->path);
    firn_json_set_i64(json, "sequence_number", use->del->sequence_number);
    firn_json_set_i64(json, "bytes", firn_delete_read_bytes(file));
    firn_json_set_i64(json, "records", file->record_count);
    firn_json_set_i64(json, "data_files", use->file_count);
    firn_json_set_i64(json, "data_files_of_table", whole->file_count);
    firn_json_set_i64(json, "rows_max", rows_max(use));
    firn_json_set(json, "is_exact", json_boolean(is_own(file)));
    return json;
}

json_t *firn_group_deletes_json(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                const struct firn_group_deletes *deletes, uint32_t listed_max)
{
    uint32_t count = deletes->uses.count;
    struct firn_delete_use *sorted = FIRN_NEW_ARRAY(arena, struct firn_delete_use, count);
    json_t *json = json_array();
    if (count > 0) {
        memcpy(sorted, deletes->uses.items, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_cost);
    }
    for (uint32_t i = 0; i < count && i < listed_max; i++)
        json_array_append_new(json, use_json(plan, &sorted[i]));
    return json;
}

json_t *firn_group_deletes_total_json(const struct firn_group_deletes *deletes)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "files", deletes->file_count);
    firn_json_set_i64(json, "bytes", deletes->bytes);
    firn_json_set_i64(json, "opened_per_scan", deletes->opened_per_scan);
    firn_json_set_i64(json, "bytes_per_scan", deletes->bytes_per_scan);
    firn_json_set_i64(json, "rows_min", deletes->rows_min);
    firn_json_set_i64(json, "rows_max", deletes->rows_max);
    return json;
}

static struct firn_text applying(struct firn_arena *arena, uint32_t count)
{
    return count == 1 ? FIRN_TEXT("1 delete file applies to it")
                      : firn_text_format(arena, "%u delete files apply to it", count);
}

static struct firn_text known_rows(struct firn_arena *arena, const struct firn_planned_file *file)
{
    return firn_text_format(arena, "%s%" PRId64 " of its %" PRId64 " rows", has_shared_deletes(file) ? "at least " : "",
                            file->known_deleted_rows, rows_of(file));
}

struct firn_text firn_rewrite_delete_reason(struct firn_arena *arena, const struct firn_rewrite_plan *plan,
                                            const struct firn_planned_file *file)
{
    const struct firn_rewrite_options *options = &plan->options;
    uint32_t count = firn_delete_match_count(&file->scan->deletes);
    if (count >= options->delete_file_threshold)
        return firn_text_format(arena, "%.*s, delete-file-threshold is %" PRId64, FIRN_FMT(applying(arena, count)),
                                options->delete_file_threshold);
    struct firn_text rows = known_rows(arena, file);
    if (file->is_over_threshold)
        return firn_text_format(arena, "%.*s are deleted, delete-ratio-threshold is %g", FIRN_FMT(rows),
                                options->delete_ratio_threshold);
    if (count == 0)
        return FIRN_TEXT("");
    return firn_text_format(arena, "%.*s and delete%s %.*s, too few for the thresholds",
                            FIRN_FMT(applying(arena, count)), count == 1 ? "s" : "", FIRN_FMT(rows));
}
