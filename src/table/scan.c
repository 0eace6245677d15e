/* Scan planning: manifests read in parallel, entries pruned, deletes matched. Iceberg spec, "Scan Planning". */
#include "table/scan.h"

#include "base/math.h"
#include "format/avro/container.h"

static firn_status read_manifest_list(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                      struct firn_manifest_list *out)
{
    struct firn_buffer bytes = { 0 };
    firn_status status = firn_store_read(op, store, path, FIRN_MANIFEST_BYTES_MAX, &bytes);
    if (status == FIRN_OK)
        status = firn_manifest_list_parse(op, firn_buffer_bytes(&bytes), out);
    firn_buffer_done(&bytes);
    struct firn_text kept_path = firn_text_copy(op->arena, path);
    for (uint32_t i = 0; status == FIRN_OK && i < out->count; i++)
        out->manifests[i].list = kept_path;
    return firn_context(op, status, "manifest list \"%.*s\"", FIRN_FMT(path));
}

/* A damaged list may lead anywhere, so that what is wrong with a manifest may be wrong with the list. */
static firn_status manifest_context(struct firn_op *op, firn_status status, const struct firn_manifest_file *row)
{
    if (row->list.len == 0)
        return firn_context(op, status, "manifest \"%.*s\"", FIRN_FMT(row->path));
    return firn_context(op, status, "manifest list \"%.*s\": manifest \"%.*s\"", FIRN_FMT(row->list),
                        FIRN_FMT(row->path));
}

void firn_manifest_count_entries(const struct firn_manifest *manifest, struct firn_manifest_file *row)
{
    int64_t files[3] = { 0 }, rows[3] = { 0 };
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        files[entry->status] += 1;
        if (__builtin_add_overflow(rows[entry->status], entry->file.record_count, &rows[entry->status]))
            rows[entry->status] = INT64_MAX;
    }
    row->existing_files_count = files[FIRN_ENTRY_EXISTING];
    row->added_files_count = files[FIRN_ENTRY_ADDED];
    row->deleted_files_count = files[FIRN_ENTRY_DELETED];
    row->existing_rows_count = rows[FIRN_ENTRY_EXISTING];
    row->added_rows_count = rows[FIRN_ENTRY_ADDED];
    row->deleted_rows_count = rows[FIRN_ENTRY_DELETED];
}

/* A v1 snapshot may name its manifests without a list; what a list would say of one is read from the manifest. */
static firn_status describe_embedded_manifest(struct firn_op *op, struct firn_store *store,
                                              const struct firn_metadata *metadata,
                                              const struct firn_snapshot *snapshot, struct firn_manifest_file *row)
{
    struct firn_buffer bytes = { 0 };
    struct firn_manifest manifest;
    struct firn_manifest_read_options options = { .skip_metrics = true };
    firn_status status = firn_store_read(op, store, row->path, FIRN_MANIFEST_BYTES_MAX, &bytes);
    if (status == FIRN_OK)
        status = firn_manifest_parse(op, firn_buffer_bytes(&bytes), NULL, metadata, options, &manifest);
    row->length = (int64_t)bytes.len;
    firn_buffer_done(&bytes);
    if (status != FIRN_OK)
        return firn_context(op, status, "manifest \"%.*s\"", FIRN_FMT(row->path));
    row->spec_id = manifest.spec_id;
    row->added_snapshot_id = snapshot->id;
    row->first_row_id = FIRN_ABSENT;
    firn_manifest_count_entries(&manifest, row);
    return FIRN_OK;
}

static bool has_counts(const struct firn_manifest_file *row)
{
    const int64_t counts[] = { row->added_files_count, row->existing_files_count, row->deleted_files_count,
                               row->added_rows_count,  row->existing_rows_count,  row->deleted_rows_count };
    for (size_t i = 0; i < FIRN_COUNT_OF(counts); i++)
        if (counts[i] == FIRN_ABSENT)
            return false;
    return true;
}

firn_status firn_manifest_count(struct firn_op *op, struct firn_store *store, const struct firn_metadata *metadata,
                                struct firn_manifest_file *row)
{
    struct firn_manifest manifest;
    struct firn_manifest_read_options options = { .skip_metrics = true };
    if (has_counts(row))
        return FIRN_OK;
    FIRN_TRY(firn_manifest_read(op, store, metadata, row, options, &manifest));
    firn_manifest_count_entries(&manifest, row);
    return FIRN_OK;
}

/* Entries take bytes, compressed or not: what claims more of them than this is not believed. */
enum { ENTRIES_PER_BYTE_MAX = 16 };

static firn_status count_blocks(struct firn_op *op, struct firn_bytes bytes, uint64_t *rows)
{
    struct firn_scratch scratch;
    struct firn_avro_reader reader;
    firn_scratch_begin(op, &scratch);
    firn_status status = firn_avro_reader_init(op, bytes, &reader);
    if (status == FIRN_OK)
        status = firn_avro_reader_count(op, &reader, rows);
    firn_scratch_end(op, &scratch);
    return status;
}

firn_status firn_manifest_count_live(struct firn_op *op, struct firn_store *store, const struct firn_manifest_file *row,
                                     bool *known, uint32_t *count)
{
    struct firn_buffer bytes = { 0 };
    uint64_t rows = 0;
    *known = false;
    if (!has_counts(row))
        return FIRN_OK;
    firn_status status = firn_store_read(op, store, row->path, FIRN_MANIFEST_BYTES_MAX, &bytes);
    if (status == FIRN_OK)
        status = count_blocks(op, firn_buffer_bytes(&bytes), &rows);
    uint64_t most = FIRN_MIN((uint64_t)bytes.len * ENTRIES_PER_BYTE_MAX, (uint64_t)UINT32_MAX);
    firn_buffer_done(&bytes);
    FIRN_TRY(firn_context(op, status, "manifest \"%.*s\"", FIRN_FMT(row->path)));
    uint64_t added = (uint64_t)row->added_files_count, existing = (uint64_t)row->existing_files_count;
    *known = rows <= most && added <= rows && existing <= rows - added &&
             (uint64_t)row->deleted_files_count == rows - added - existing;
    *count = (uint32_t)(added + existing);
    return FIRN_OK;
}

firn_status firn_snapshot_manifests(struct firn_op *op, struct firn_store *store, const struct firn_metadata *metadata,
                                    const struct firn_snapshot *snapshot, struct firn_manifest_list *out)
{
    if (snapshot->manifest_list.len > 0)
        return read_manifest_list(op, store, snapshot->manifest_list, out);
    out->count = snapshot->manifest_count;
    out->manifests = FIRN_NEW_ARRAY(op->arena, struct firn_manifest_file, out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        out->manifests[i].path = snapshot->manifests[i];
        FIRN_TRY(describe_embedded_manifest(op, store, metadata, snapshot, &out->manifests[i]));
    }
    return FIRN_OK;
}

firn_status firn_manifest_read(struct firn_op *op, struct firn_store *store, const struct firn_metadata *metadata,
                               const struct firn_manifest_file *row, struct firn_manifest_read_options options,
                               struct firn_manifest *out)
{
    struct firn_buffer bytes = { 0 };
    firn_status status = firn_store_read(op, store, row->path, FIRN_MANIFEST_BYTES_MAX, &bytes);
    if (status == FIRN_OK)
        status = firn_manifest_parse(op, firn_buffer_bytes(&bytes), row, metadata, options, out);
    firn_buffer_done(&bytes);
    return manifest_context(op, status, row);
}

firn_status firn_manifest_look(struct firn_op *op, struct firn_store *store, const struct firn_metadata *metadata,
                               const struct firn_manifest_file *row, struct firn_manifest_read_options options,
                               firn_manifest_visit *visit, void *context)
{
    struct firn_manifest manifest;
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    firn_status status = firn_op_check(op);
    if (status == FIRN_OK)
        status = firn_manifest_read(op, store, metadata, row, options, &manifest);
    if (status == FIRN_OK)
        status = visit(op, context, &manifest);
    firn_scratch_end(op, &scratch);
    return status;
}

/* What the jobs of one scan share; each fills the result of its index. */
struct scan_run {
    struct firn_store *store;
    const struct firn_metadata *metadata;
    struct firn_scan_options options;
    const struct firn_manifest_list *manifests;
    struct firn_type **spec_types; /* one a spec of the metadata; NULL without a predicate */
    struct firn_manifest *results;
};

static const struct firn_type *types_of_spec(const struct scan_run *run, const struct firn_partition_spec *spec)
{
    return run->spec_types[spec - run->metadata->specs];
}

/* Drops the entries that `keep` says no to. */
static void keep_entries(struct firn_manifest *manifest, const bool *keep)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < manifest->count; i++)
        if (keep[i])
            manifest->entries[count++] = manifest->entries[i];
    manifest->count = count;
}

static bool *match_entries(struct firn_op *op, const struct scan_run *run, const struct firn_partition_spec *spec,
                           const struct firn_manifest *manifest)
{
    const struct firn_predicate *where = run->options.where;
    bool *keep = FIRN_NEW_ARRAY(op->arena, bool, manifest->count);
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_data_file *file = &manifest->entries[i].file;
        keep[i] = file->content != FIRN_CONTENT_DATA ||
                  (firn_predicate_partition_may_match(where, spec, types_of_spec(run, spec), &file->partition) &&
                   firn_predicate_file_may_match(where, file));
    }
    return keep;
}

static struct firn_count_map take_counts(struct firn_op *op, const struct scan_run *run,
                                         const struct firn_count_map *from)
{
    uint32_t most = run->options.metric_field_count;
    struct firn_count_map taken = {
        .ids = FIRN_NEW_ARRAY(op->arena, int32_t, most),
        .counts = FIRN_NEW_ARRAY(op->arena, int64_t, most),
        .present = from->present,
    };
    for (uint32_t i = 0; i < most; i++) {
        taken.ids[taken.count] = run->options.metric_fields[i];
        taken.count += firn_count_map_find(from, taken.ids[taken.count], &taken.counts[taken.count]);
    }
    return taken;
}

static struct firn_bound_map take_bounds(struct firn_op *op, const struct scan_run *run,
                                         const struct firn_bound_map *from)
{
    uint32_t most = run->options.metric_field_count;
    struct firn_bound_map taken = {
        .ids = FIRN_NEW_ARRAY(op->arena, int32_t, most),
        .values = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, most),
        .present = from->present,
    };
    for (uint32_t i = 0; i < most; i++) {
        struct firn_bytes bytes;
        taken.ids[taken.count] = run->options.metric_fields[i];
        if (firn_bound_map_find(from, taken.ids[taken.count], &bytes))
            taken.values[taken.count++] = firn_bytes_copy(op->arena, bytes);
    }
    return taken;
}

/* Takes what is wanted of the entries' metrics from the same manifest, parsed with all. */
static void take_metrics(struct firn_op *op, const struct scan_run *run, const struct firn_manifest *from,
                         struct firn_manifest *to)
{
    for (uint32_t i = 0; i < to->count && run->options.metric_field_count > 0; i++) {
        const struct firn_data_file *whole = &from->entries[i].file;
        struct firn_data_file *file = &to->entries[i].file;
        file->null_value_counts = take_counts(op, run, &whole->null_value_counts);
        file->nan_value_counts = take_counts(op, run, &whole->nan_value_counts);
        file->lower_bounds = take_bounds(op, run, &whole->lower_bounds);
        file->upper_bounds = take_bounds(op, run, &whole->upper_bounds);
    }
}

/* Parses with metrics into memory of its own, to see which entries match and to take the metrics of some fields: those
 * of a large table are many times the size of all the rest. `manifest` is the same without them. */
static firn_status look_at_metrics(struct firn_op *op, const struct scan_run *run, const struct firn_manifest_file *row,
                                   struct firn_bytes bytes, struct firn_manifest *manifest, bool **keep)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(run->metadata, row->spec_id);
    struct firn_arena arena;
    struct firn_op scratch = *op;
    struct firn_manifest whole;
    struct firn_manifest_read_options options = { .skip_deleted = true };
    firn_arena_init(&arena);
    scratch.arena = &arena;
    firn_status status = firn_manifest_parse(&scratch, bytes, row, run->metadata, options, &whole);
    op->error = scratch.error;
    if (status == FIRN_OK)
        take_metrics(op, run, &whole, manifest);
    if (status == FIRN_OK && run->options.where)
        *keep = match_entries(op, run, spec, &whole);
    firn_arena_done(&arena);
    return status;
}

static firn_status parse_matching(struct firn_op *op, const struct scan_run *run, const struct firn_manifest_file *row,
                                  struct firn_bytes bytes, struct firn_manifest *out)
{
    const struct firn_scan_options *wanted = &run->options;
    bool with_metrics = wanted->with_metrics || row->is_deletes;
    struct firn_manifest_read_options options = { .skip_deleted = true, .skip_metrics = !with_metrics };
    const struct firn_partition_spec *spec = firn_metadata_spec(run->metadata, row->spec_id);
    bool *keep = NULL;
    if (wanted->where && !row->is_deletes && !spec)
        return firn_fail(op, FIRN_CORRUPT, "partition spec %d is not in the table's metadata", row->spec_id);
    FIRN_TRY(firn_manifest_parse(op, bytes, row, run->metadata, options, out));
    if (!with_metrics && (wanted->where || wanted->metric_field_count > 0))
        FIRN_TRY(look_at_metrics(op, run, row, bytes, out, &keep));
    else if (wanted->where && !row->is_deletes)
        keep = match_entries(op, run, spec, out);
    if (keep)
        keep_entries(out, keep);
    return FIRN_OK;
}

static bool manifest_may_match(const struct scan_run *run, const struct firn_manifest_file *row)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(run->metadata, row->spec_id);
    if (!run->options.where || !spec)
        return true;
    return firn_predicate_manifest_may_match(run->options.where, spec, types_of_spec(run, spec), row);
}

static firn_status scan_manifest(struct firn_op *op, void *context, size_t index)
{
    struct scan_run *run = context;
    const struct firn_manifest_file *row = &run->manifests->manifests[index];
    if (!firn_manifest_has_live(row) || !manifest_may_match(run, row))
        return FIRN_OK;
    FIRN_TRY(firn_op_check(op));
    struct firn_buffer bytes = { 0 };
    firn_status status = firn_store_read(op, run->store, row->path, FIRN_MANIFEST_BYTES_MAX, &bytes);
    if (status == FIRN_OK)
        status = parse_matching(op, run, row, firn_buffer_bytes(&bytes), &run->results[index]);
    firn_buffer_done(&bytes);
    return manifest_context(op, status, row);
}

/* Data and delete entries are told apart by what they say, not by the manifest's label, which some writers get wrong.
 */
static void collect_entries(struct firn_op *op, const struct scan_run *run, struct firn_scan *out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < run->manifests->count; i++)
        count += run->results[i].count;
    for (uint32_t i = 0; i < run->manifests->count; i++)
        for (uint32_t j = 0; j < run->results[i].count; j++)
            out->delete_count += run->results[i].entries[j].file.content != FIRN_CONTENT_DATA;
    out->files = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, count - out->delete_count);
    out->deletes = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, out->delete_count);
    uint32_t delete_index = 0;
    for (uint32_t i = 0; i < run->manifests->count; i++)
        for (uint32_t j = 0; j < run->results[i].count; j++) {
            const struct firn_manifest_entry *entry = &run->results[i].entries[j];
            if (entry->file.content == FIRN_CONTENT_DATA)
                out->files[out->file_count++].entry = entry;
            else
                out->deletes[delete_index++] = entry;
        }
}

static firn_status match_deletes(struct firn_op *op, const struct firn_metadata *metadata, struct firn_scan *scan)
{
    struct firn_delete_index *index;
    if (scan->delete_count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_delete_index_new(op, metadata, scan->deletes, scan->delete_count, &index));
    for (uint32_t i = 0; i < scan->file_count; i++) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_delete_index_match(op, index, scan->files[i].entry, &scan->files[i].deletes));
    }
    return FIRN_OK;
}

firn_status firn_scan_plan(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                           const struct firn_metadata *metadata, const struct firn_snapshot *snapshot,
                           struct firn_scan_options options, struct firn_scan *out)
{
    *out = (struct firn_scan){ .snapshot = snapshot };
    if (!snapshot)
        return FIRN_OK;
    FIRN_TRY(firn_snapshot_manifests(op, store, metadata, snapshot, &out->manifests));
    struct scan_run run = {
        .store = store,
        .metadata = metadata,
        .options = options,
        .manifests = &out->manifests,
        .results = FIRN_NEW_ARRAY(op->arena, struct firn_manifest, out->manifests.count),
    };
    if (options.where)
        FIRN_TRY(firn_spec_types_new(op, metadata, &run.spec_types));
    FIRN_TRY(firn_pool_run(op, pool, out->manifests.count, 0, scan_manifest, &run));
    collect_entries(op, &run, out);
    return match_deletes(op, metadata, out);
}
