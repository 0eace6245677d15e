/* The pass that explains a predicate: every manifest is read, in parallel, and each live data file is put to the tests
 * of a scan in their order.
 *
 * (1) The tests are those of table/scan.c, so what is kept here is what a scan plans.
 * (2) What jobs find is put together in the manifests' order, and what they share under a lock does not depend on
 * theirs, so that the same table gives the same report whatever threads do. */
#include "maintain/explain.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/math.h"
#include "maintain/age.h"
#include "maintain/branch_plan.h"
#include "maintain/delete_use.h"
#include "maintain/rewrite_data_files.h"
#include "maintain/survey_columns.h"

/* Conditions that are explained one by one; a scan footer and pages of a file. */
enum { LEAVES_MAX = 100, REQUESTS_OF_FILE = 2 };

const char *firn_explain_level_name(enum firn_explain_level level)
{
    static const char *const names[] = { "manifests", "partitions", "counts", "bounds", "kept" };
    return names[level];
}

void firn_explain_visit_leaves(const struct firn_predicate *predicate, firn_explain_visit *visit, void *context)
{
    /* chains lean to the left; the loop goes down there */
    while (predicate->op == FIRN_PRED_AND || predicate->op == FIRN_PRED_OR) {
        firn_explain_visit_leaves(predicate->right, visit, context);
        predicate = predicate->left;
    }
    if (predicate->op != FIRN_PRED_TRUE && predicate->op != FIRN_PRED_FALSE)
        visit(context, predicate);
}

/* One manifest ---------------------------------------------------------------------------------------------------- */

/* What one manifest has. */
struct part {
    struct firn_explain_tally by_level[FIRN_EXPLAIN_LEVELS], rewritten;
    struct firn_explain_leaf *leaves; /* as in the run; NULL: no file stays */
    FIRN_ARRAY(struct firn_explain_partition) partitions;
    FIRN_ARRAY(struct firn_explain_file) files;
    struct firn_map numbers; /* of partitions */
    bool is_kept, has_data;
};

struct looking {
    struct firn_explaining *run;
    struct part *parts;
};

/* One manifest being read: what it gives outlives the reading, in `arena`. */
struct reading {
    struct firn_explaining *run;
    const struct firn_partition_spec *spec;
    const struct firn_type *types;
    struct firn_arena *arena;
    struct part *part;
};

/* A file without its bounds: what counts alone tell. */
static bool counts_may_match(const struct firn_predicate *where, const struct firn_data_file *file)
{
    struct firn_data_file counts = *file;
    counts.lower_bounds = counts.upper_bounds = (struct firn_bound_map){ 0 };
    return firn_predicate_file_may_match(where, &counts);
}

static enum firn_explain_level level_of(const struct reading *reading, const struct firn_predicate *where,
                                        const struct firn_data_file *file)
{
    if (!reading->part->is_kept)
        return FIRN_EXPLAIN_MANIFESTS;
    if (!firn_predicate_partition_may_match(where, reading->spec, reading->types, &file->partition))
        return FIRN_EXPLAIN_PARTITIONS;
    if (firn_predicate_file_may_match(where, file))
        return FIRN_EXPLAIN_KEPT;
    return counts_may_match(where, file) ? FIRN_EXPLAIN_BOUNDS : FIRN_EXPLAIN_COUNTS;
}

static struct firn_text bound_text(struct firn_arena *arena, const struct firn_field *field,
                                   const struct firn_bound_map *bounds)
{
    struct firn_bytes bytes;
    struct firn_value value;
    if (!firn_bound_map_find(bounds, field->id, &bytes))
        return FIRN_TEXT("?");
    if (!firn_value_read(&field->type, bytes, &value))
        return firn_text_format(arena, "%zu bytes", bytes.len);
    return firn_value_text(arena, &field->type, &value);
}

static struct firn_text bounds_text(struct firn_arena *arena, const struct firn_field *field,
                                    const struct firn_data_file *file)
{
    struct firn_bytes bytes;
    if (!firn_bound_map_find(&file->lower_bounds, field->id, &bytes) &&
        !firn_bound_map_find(&file->upper_bounds, field->id, &bytes))
        return FIRN_TEXT("");
    return firn_text_format(arena, "%.*s to %.*s", FIRN_FMT(bound_text(arena, field, &file->lower_bounds)),
                            FIRN_FMT(bound_text(arena, field, &file->upper_bounds)));
}

/* A condition that the partition answers keeps no file that it does not have to. */
static enum firn_stay stay_of(const struct reading *reading, const struct firn_predicate *leaf,
                              const struct firn_data_file *file)
{
    if (leaf->op != FIRN_PRED_OPAQUE && firn_partition_spec_has_identity(reading->spec, leaf->field->id))
        return FIRN_STAY_ALL_MATCH;
    return firn_predicate_stay(leaf, file);
}

static void explain_leaf(const struct reading *reading, struct firn_explain_leaf *out,
                         const struct firn_data_file *file, const struct firn_explain_tally *one)
{
    if (!firn_predicate_partition_may_match(out->leaf, reading->spec, reading->types, &file->partition))
        return; /* of an OR, another side holds the file */
    struct firn_explain_stay *stay = &out->stays[stay_of(reading, out->leaf, file)];
    if (stay->kept.files == 0) {
        stay->example = firn_text_copy(reading->arena, file->path);
        stay->bounds = bounds_text(reading->arena, out->leaf->field, file);
    }
    firn_explain_tally_add(&stay->kept, one);
}

/* Most manifests of a large table have no file that stays, and need none. */
static struct firn_explain_leaf *leaves_of(const struct reading *reading)
{
    const struct firn_explaining *run = reading->run;
    struct part *part = reading->part;
    if (part->leaves)
        return part->leaves;
    part->leaves = FIRN_NEW_ARRAY(reading->arena, struct firn_explain_leaf, run->leaf_count);
    for (size_t i = 0; i < run->leaf_count; i++)
        part->leaves[i].leaf = run->leaves[i].leaf;
    return part->leaves;
}

/* The path is kept for those who look into the file only: there may be millions. */
static void keep_file(const struct reading *reading, const struct firn_data_file *file,
                      const struct firn_explain_tally *one)
{
    struct firn_explain_file kept = {
        .format = file->format,
        .spec_id = file->spec_id,
        .bytes = file->file_bytes,
        .rows = file->record_count,
    };
    if (reading->run->report->is_deep) {
        kept.path = firn_text_copy(reading->arena, file->path);
        FIRN_PUSH(reading->arena, &reading->part->files, kept);
    }
    struct firn_explain_leaf *leaves = leaves_of(reading);
    for (size_t i = 0; i < reading->run->leaf_count; i++)
        explain_leaf(reading, &leaves[i], file, one);
}

static struct firn_explain_partition *add_partition(struct firn_arena *arena, struct part *part, struct firn_bytes key,
                                                    int32_t spec_id, size_t sort_columns)
{
    struct firn_explain_partition partition = {
        .key = firn_bytes_copy(arena, key),
        .spec_id = spec_id,
        .selected_rows = FIRN_NEW_ARRAY(arena, double, sort_columns),
    };
    firn_map_put(&part->numbers, partition.key)->value.number = part->partitions.count;
    FIRN_PUSH(arena, &part->partitions, partition);
    return &part->partitions.items[part->partitions.count - 1];
}

static firn_status find_partition(struct firn_op *op, const struct reading *reading, const struct firn_data_file *file,
                                  struct firn_explain_partition **out)
{
    struct part *part = reading->part;
    struct firn_buffer key = { 0 };
    firn_status status = firn_data_file_partition_key(op, file, &key);
    if (status == FIRN_OK) {
        const struct firn_map_entry *entry = firn_map_find(&part->numbers, firn_buffer_bytes(&key));
        *out = entry ? &part->partitions.items[entry->value.number]
                     : add_partition(reading->arena, part, firn_buffer_bytes(&key), file->spec_id,
                                     reading->run->sort_column_count);
    }
    firn_buffer_done(&key);
    return status;
}

/* The hash of its key tells one partition from another well enough for an average. */
static void measure_columns(struct firn_explaining *run, const struct firn_data_file *file, struct firn_bytes partition)
{
    pthread_mutex_lock(&run->lock);
    firn_survey_columns_add(run->columns, file, (uint32_t)firn_hash64(partition));
    pthread_mutex_unlock(&run->lock);
}

static firn_status explain_file(struct firn_op *op, const struct reading *reading, const struct firn_data_file *file)
{
    struct firn_explaining *run = reading->run;
    struct firn_explain_tally one = { 1, FIRN_MAX(file->file_bytes, 0), FIRN_MAX(file->record_count, 0) };
    enum firn_explain_level level = level_of(reading, run->where, file);
    struct firn_explain_partition *partition;
    FIRN_TRY(find_partition(op, reading, file, &partition));
    measure_columns(run, file, partition->key);
    reading->part->has_data = true;
    partition->level = FIRN_MAX(partition->level, level);
    firn_explain_tally_add(&reading->part->by_level[level], &one);
    if (level > FIRN_EXPLAIN_PARTITIONS) {
        firn_explain_tally_add(&partition->candidates, &one);
        for (size_t i = 0; i < run->sort_column_count; i++)
            partition->selected_rows[i] += (double)one.rows * firn_explain_share(&run->sort_columns[i], file);
    }
    if (run->rewritten &&
        firn_predicate_partition_may_match(run->rewritten, reading->spec, reading->types, &file->partition) &&
        firn_predicate_file_may_match(run->rewritten, file))
        firn_explain_tally_add(&reading->part->rewritten, &one);
    if (level == FIRN_EXPLAIN_KEPT) {
        firn_explain_tally_add(&partition->kept, &one);
        keep_file(reading, file, &one);
    }
    return FIRN_OK;
}

static firn_status explain_entries(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->count; i++)
        if (manifest->entries[i].file.content == FIRN_CONTENT_DATA)
            FIRN_TRY(explain_file(op, context, &manifest->entries[i].file));
    return FIRN_OK;
}

static firn_status explain_manifest(struct firn_op *op, void *context, size_t index)
{
    const struct looking *looking = context;
    struct firn_explaining *run = looking->run;
    const struct firn_manifest_file *row = &run->manifests.manifests[index];
    struct part *part = &looking->parts[index];
    const struct firn_partition_spec *spec = firn_metadata_spec(run->metadata, row->spec_id);
    struct firn_manifest_read_options options = { .skip_deleted = true };
    if (!firn_manifest_has_live(row))
        return FIRN_OK;
    if (!spec)
        return firn_fail(op, FIRN_CORRUPT, "manifest \"%.*s\": partition spec %d is not in the table's metadata",
                         FIRN_FMT(row->path), row->spec_id);
    struct reading reading = { run, spec, run->spec_types[spec - run->metadata->specs], op->arena, part };
    part->is_kept = firn_predicate_manifest_may_match(run->where, spec, reading.types, row);
    firn_map_init(&part->numbers, op->arena);
    return firn_manifest_look(op, run->table->store, run->metadata, row, options, explain_entries, &reading);
}

/* All of them --------------------------------------------------------------------------------------------------- */

static void merge_leaves(struct firn_explaining *run, const struct part *part)
{
    for (size_t i = 0; part->leaves && i < run->leaf_count; i++)
        for (int k = 0; k < FIRN_STAY_COUNT; k++) {
            struct firn_explain_stay *sum = &run->leaves[i].stays[k];
            const struct firn_explain_stay *stay = &part->leaves[i].stays[k];
            if (sum->kept.files == 0) {
                sum->example = stay->example;
                sum->bounds = stay->bounds;
            }
            firn_explain_tally_add(&sum->kept, &stay->kept);
        }
}

static void merge_partition(struct firn_arena *arena, struct firn_explaining *run, struct firn_map *numbers,
                            const struct firn_explain_partition *partition)
{
    struct firn_map_entry *entry = firn_map_find(numbers, partition->key);
    if (!entry) {
        firn_map_put(numbers, partition->key)->value.number = run->partitions.count;
        FIRN_PUSH(arena, &run->partitions, *partition);
        return;
    }
    struct firn_explain_partition *sum = &run->partitions.items[entry->value.number];
    sum->level = FIRN_MAX(sum->level, partition->level);
    firn_explain_tally_add(&sum->candidates, &partition->candidates);
    firn_explain_tally_add(&sum->kept, &partition->kept);
    for (size_t i = 0; i < run->sort_column_count; i++)
        sum->selected_rows[i] += partition->selected_rows[i];
}

static void merge_part(struct firn_arena *arena, struct firn_explaining *run, struct firn_map *numbers,
                       const struct part *part)
{
    struct firn_explain_report *report = run->report;
    for (int level = 0; level < FIRN_EXPLAIN_LEVELS; level++) {
        firn_explain_tally_add(&report->by_level[level], &part->by_level[level]);
        firn_explain_tally_add(&report->total, &part->by_level[level]);
    }
    firn_explain_tally_add(&report->rewritten_kept, &part->rewritten);
    merge_leaves(run, part);
    for (size_t i = 0; i < part->partitions.count; i++)
        merge_partition(arena, run, numbers, &part->partitions.items[i]);
    for (size_t i = 0; i < part->files.count; i++)
        FIRN_PUSH(arena, &run->files, part->files.items[i]);
}

/* Opened, and the partition of none of its files matches: what rewriting manifests can mend. */
static bool is_in_vain(const struct part *part)
{
    const struct firn_explain_tally *levels = part->by_level;
    return part->is_kept && part->has_data && levels[FIRN_EXPLAIN_COUNTS].files == 0 &&
           levels[FIRN_EXPLAIN_BOUNDS].files == 0 && levels[FIRN_EXPLAIN_KEPT].files == 0;
}

static void count_kept(struct firn_explaining *run, const struct part *parts)
{
    struct firn_explain_report *report = run->report;
    report->manifests = run->manifests.count;
    for (uint32_t i = 0; i < run->manifests.count; i++) {
        report->manifests_kept += parts[i].is_kept;
        report->manifests_in_vain += is_in_vain(&parts[i]);
    }
    report->partitions = (int64_t)run->partitions.count;
    for (size_t i = 0; i < run->partitions.count; i++)
        report->partitions_kept += run->partitions.items[i].level == FIRN_EXPLAIN_KEPT;
}

static firn_status look_at_manifests(struct firn_op *op, struct firn_explaining *run)
{
    struct looking looking = { run, FIRN_NEW_ARRAY(op->arena, struct part, run->manifests.count) };
    struct firn_map numbers;
    FIRN_TRY(firn_pool_run(op, run->pool, run->manifests.count, 0, explain_manifest, &looking));
    firn_map_init(&numbers, op->arena);
    for (uint32_t i = 0; i < run->manifests.count; i++)
        merge_part(op->arena, run, &numbers, &looking.parts[i]);
    count_kept(run, looking.parts);
    return FIRN_OK;
}

/* Deletes and requests -------------------------------------------------------------------------------------------- */

/* What a scan opens beside the data files. */
struct delete_reads {
    int64_t files, reads, bytes;
};

static firn_status count_deletes(struct firn_op *op, const struct firn_explaining *run,
                                 const struct firn_predicate *where, struct delete_reads *out)
{
    struct firn_scan scan;
    FIRN_TRY(firn_scan_plan(op, run->pool, run->table->store, run->metadata, run->snapshot,
                            (struct firn_scan_options){ .where = where }, &scan));
    *out = (struct delete_reads){ 0 };
    for (uint32_t i = 0; i < scan.file_count; i++) {
        const struct firn_delete_match *match = &scan.files[i].deletes;
        out->files += firn_delete_match_count(match) > 0;
        out->reads += firn_delete_match_count(match);
        out->bytes += firn_delete_match_bytes(match);
    }
    return FIRN_OK;
}

static bool has_deletes(const struct firn_explaining *run)
{
    for (uint32_t i = 0; i < run->manifests.count; i++)
        if (run->manifests.manifests[i].is_deletes && firn_manifest_has_live(&run->manifests.manifests[i]))
            return true;
    return false;
}

static firn_status count_reads(struct firn_op *op, struct firn_explaining *run)
{
    struct firn_explain_report *report = run->report;
    struct delete_reads all = { 0 }, kept = { 0 };
    if (has_deletes(run)) {
        FIRN_TRY(count_deletes(op, run, NULL, &all));
        FIRN_TRY(count_deletes(op, run, run->where, &kept));
    }
    report->files_with_deletes = kept.files;
    report->delete_reads = kept.reads;
    report->delete_read_bytes = kept.bytes;
    report->requests_all = 1 + report->manifests + REQUESTS_OF_FILE * (report->total.files + all.reads);
    report->requests_kept =
        1 + report->manifests_kept + REQUESTS_OF_FILE * (report->by_level[FIRN_EXPLAIN_KEPT].files + kept.reads);
    return FIRN_OK;
}

/* Columns -----------------------------------------------------------------------------------------------------------
 */

static bool is_explained(const struct firn_explaining *run, int32_t field_id)
{
    for (size_t i = 0; i < run->leaf_count; i++)
        if (run->leaves[i].leaf->field->id == field_id)
            return true;
    return false;
}

static void take_points(struct firn_op *op, struct firn_explaining *run)
{
    struct firn_survey survey = { 0 };
    FIRN_ARRAY(struct firn_explain_point) points = { 0 };
    firn_survey_columns_finish(run->columns, &survey);
    for (size_t i = 0; i < survey.column_count; i++) {
        const struct firn_survey_column *column = &survey.columns[i];
        if (is_explained(run, column->field_id) && column->files_per_point >= 0)
            FIRN_PUSH(op->arena, &points,
                      ((struct firn_explain_point){ column->name, column->files_per_point,
                                                    column->files_per_point_in_partition }));
    }
    run->report->points = points.items;
    run->report->point_count = points.count;
}

/* The whole ------------------------------------------------------------------------------------------------------- */

static void take_leaf(void *context, const struct firn_predicate *leaf)
{
    struct firn_explaining *run = context;
    if (run->leaf_count < LEAVES_MAX)
        run->leaves[run->leaf_count++].leaf = leaf;
}

static firn_status snapshot_of_id(struct firn_op *op, const struct firn_metadata *metadata, int64_t id,
                                  const struct firn_snapshot **out)
{
    *out = firn_metadata_snapshot(metadata, id);
    return *out ? FIRN_OK : firn_fail(op, FIRN_NOT_FOUND, "snapshot %" PRId64 " does not exist", id);
}

static firn_status snapshot_of_tag(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text tag,
                                   const struct firn_snapshot **out)
{
    const struct firn_ref *ref = firn_metadata_ref(metadata, tag);
    if (!ref || ref->type != FIRN_REF_TAG)
        return firn_fail(op, FIRN_NOT_FOUND, "there is no tag '%.*s'", FIRN_FMT(tag));
    return snapshot_of_id(op, metadata, ref->snapshot_id, out);
}

static firn_status snapshot_as_of(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text as_of,
                                  const struct firn_snapshot **out)
{
    int64_t ms;
    FIRN_TRY(firn_point_in_time_parse(op, "as-of", as_of, firn_now_ms(op), &ms));
    *out = firn_metadata_snapshot_at(metadata, ms);
    return *out ? FIRN_OK
                : firn_fail(op, FIRN_NOT_FOUND, "there was no snapshot as of %.*s, or it has expired", FIRN_FMT(as_of));
}

/* The snapshot, and the schema that it is read by. */
static firn_status choose_snapshot(struct firn_op *op, const struct firn_explain_args *args,
                                   struct firn_explaining *run)
{
    const struct firn_metadata *metadata = run->metadata;
    int given = (args->snapshot_id != NULL) + (args->branch.len > 0) + (args->tag.len > 0) + (args->as_of.len > 0);
    run->schema = firn_metadata_current_schema(metadata);
    if (given > 1)
        return firn_fail(op, FIRN_USAGE, "give one of a snapshot's id, a branch, a tag and a time, not several");
    if (given == 0 || args->branch.len > 0)
        return firn_branch_head(op, metadata, args->branch.len > 0 ? args->branch : FIRN_TEXT("main"), &run->snapshot);
    if (args->snapshot_id)
        FIRN_TRY(snapshot_of_id(op, metadata, *args->snapshot_id, &run->snapshot));
    else if (args->tag.len > 0)
        FIRN_TRY(snapshot_of_tag(op, metadata, args->tag, &run->snapshot));
    else
        FIRN_TRY(snapshot_as_of(op, metadata, args->as_of, &run->snapshot));
    const struct firn_schema *schema = firn_metadata_schema(metadata, run->snapshot->schema_id);
    run->schema = schema ? schema : run->schema;
    return FIRN_OK;
}

static firn_status parse_where(struct firn_op *op, const struct firn_explain_args *args, struct firn_explaining *run)
{
    run->text = args->where;
    run->branch = firn_text_is(args->branch, "main") ? FIRN_TEXT("") : args->branch;
    FIRN_TRY(firn_predicate_parse_any(op, args->where, run->schema, &run->where));
    run->leaves = FIRN_NEW_ARRAY(op->arena, struct firn_explain_leaf, LEAVES_MAX);
    firn_explain_visit_leaves(run->where, take_leaf, run);
    run->report->where = firn_predicate_text(op->arena, run->where);
    run->report->rewritten = firn_explain_rewrite(op->arena, args->where, run->schema, run->where);
    if (run->report->rewritten.len > 0)
        FIRN_TRY(firn_predicate_parse_any(op, run->report->rewritten, run->schema, &run->rewritten));
    firn_explain_find_sort_columns(op->arena, run);
    return FIRN_OK;
}

static firn_status read_sizes(struct firn_op *op, struct firn_explaining *run)
{
    struct firn_rewrite_options options;
    struct firn_rewrite_data_files_args none = { 0 };
    FIRN_TRY(firn_rewrite_options_parse(op, run->metadata, &none, &options));
    struct firn_output_sizes *sizes = FIRN_NEW(op->arena, struct firn_output_sizes);
    *sizes = options.sizes;
    run->sizes = sizes;
    return FIRN_OK;
}

static firn_status explain(struct firn_op *op, const struct firn_explain_args *args, struct firn_explaining *run)
{
    FIRN_TRY(choose_snapshot(op, args, run));
    FIRN_TRY(parse_where(op, args, run));
    FIRN_TRY(read_sizes(op, run));
    FIRN_TRY(firn_spec_types_new(op, run->metadata, &run->spec_types));
    if (!run->snapshot)
        return FIRN_OK;
    run->report->snapshot_id = run->snapshot->id;
    run->columns = firn_survey_columns_new(op->arena, run->metadata);
    FIRN_TRY(firn_snapshot_manifests(op, run->table->store, run->metadata, run->snapshot, &run->manifests));
    FIRN_TRY(look_at_manifests(op, run));
    FIRN_TRY(count_reads(op, run));
    take_points(op, run);
    firn_explain_sorting(op, run);
    FIRN_TRY(firn_explain_reasons(op, run));
    return args->deep ? firn_explain_look(op, run) : FIRN_OK;
}

firn_status firn_explain(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                         const struct firn_explain_args *args, struct firn_explain_report *out)
{
    struct firn_explaining run = { .pool = pool, .table = table, .metadata = table->metadata, .report = out };
    *out = (struct firn_explain_report){ .table = table->name, .snapshot_id = -1, .is_deep = args->deep };
    pthread_mutex_init(&run.lock, NULL);
    firn_status status = explain(op, args, &run);
    pthread_mutex_destroy(&run.lock);
    return status;
}
