/* Setting up a group, running its bins, proving the whole, and removing everything after a failure. */
#include "rewrite/rewrite.h"

#include "base/math.h"
#include "rewrite/bin.h"
#include "rewrite/deletion.h"
#include "rewrite/splice.h"
#include "table/parquet_footer.h"

#define WINDOW_BYTES_MIN (UINT64_C(1) << 20)
#define WINDOW_BYTES_MAX (UINT64_C(32) << 20)
#define MEMORY_UNLIMITED (UINT64_C(4) << 30)
#define BIN_MEMORY_BYTES (UINT64_C(384) << 20) /* a bin needs this much for row groups of the default size */
#define LEAF_BYTES       (UINT64_C(2) << 20)   /* page, dictionary and scratch of a column being encoded */

enum { FORM_INPUTS_MAX = 3 }; /* whose forms the output may adopt */

firn_status firn_rewrite_schema_check(struct firn_op *op, const struct firn_schema *schema)
{
    struct firn_output_schema output;
    return firn_output_schema_new(op, schema, false, &output);
}

/* What reading and writing may take beside the sets of deleted rows. */
static uint64_t group_memory(const struct firn_group_run *run)
{
    uint64_t all = run->context->memory_bytes_max ? run->context->memory_bytes_max : MEMORY_UNLIMITED;
    return all - FIRN_MIN(run->deleted_bytes, all / 2);
}

/* How many bins run side by side: what threads and memory allow. */
static uint32_t bins_at_once(const struct firn_group_run *run)
{
    uint64_t fit = FIRN_MIN(group_memory(run) / BIN_MEMORY_BYTES, firn_pool_thread_count(run->context->pool));
    return (uint32_t)FIRN_MAX(FIRN_MIN(fit, run->group->bin_count), 1);
}

firn_status firn_rewrite_settings_check(struct firn_op *op, const struct firn_metadata *metadata)
{
    struct firn_output_schema schema;
    struct firn_write_options options;
    FIRN_TRY(firn_output_schema_new(op, firn_metadata_current_schema(metadata), false, &schema));
    return firn_write_options_new(op, metadata, FIRN_WRITE_DATA, &schema, &options);
}

/* A bin's memory: shares for input, half for row groups being encoded, some for what must be known of those written,
 * the rest for pages in work. A row group's buffers are larger than what is in them, and each column has some beside
 * its pages. */
static void share_memory(struct firn_group_run *run)
{
    uint64_t memory = group_memory(run) / bins_at_once(run);
    run->window_bytes = FIRN_MIN(FIRN_MAX(memory / 8, WINDOW_BYTES_MIN), WINDOW_BYTES_MAX);
    run->chunk_bytes = memory / 4;
    run->encoder_bytes = memory / 2;
    run->metadata_bytes = memory / 8;
    uint64_t beside = FIRN_MIN(run->schema.leaf_count * LEAF_BYTES, run->encoder_bytes / 4 * 3);
    uint64_t fit = (run->encoder_bytes - beside) / 4 * 3;
    run->row_group_bytes = FIRN_MAX(FIRN_MIN(run->options.row_group_bytes, fit), 1);
}

static firn_status find_spec(struct firn_op *op, struct firn_group_run *run)
{
    const struct firn_metadata *metadata = run->context->metadata;
    struct firn_type *types;
    run->spec = firn_metadata_spec(metadata, run->group->output_spec_id);
    if (!run->spec)
        return firn_fail(op, FIRN_USAGE, "the table has no partition spec %d", run->group->output_spec_id);
    FIRN_TRY(firn_partition_types(op, run->spec, run->ids.schemas, run->ids.schema_count, &types));
    run->partition_types = types;
    return FIRN_OK;
}

/* Wide values cost most, and the last job should be a short one. */
static void order_leaves(struct firn_op *op, struct firn_group_run *run)
{
    static const uint8_t cost[FIRN_PARQUET_TYPE_COUNT] = {
        [FIRN_PARQUET_BYTE_ARRAY] = 4, [FIRN_PARQUET_FIXED] = 4, [FIRN_PARQUET_DOUBLE] = 3,
        [FIRN_PARQUET_INT64] = 3,      [FIRN_PARQUET_FLOAT] = 2, [FIRN_PARQUET_INT32] = 2,
    };
    uint32_t at = 0;
    run->leaf_order = FIRN_NEW_ARRAY(op->arena, uint32_t, run->schema.leaf_count);
    for (int level = 4; level >= 0; level--)
        for (uint32_t i = 0; i < run->schema.leaf_count; i++)
            if (cost[run->schema.leaves[i].node->type] == level)
                run->leaf_order[at++] = i;
}

/* A file that cannot be read says so when its turn comes. */
static bool read_footer(struct firn_op *op, const struct firn_group_run *run, const struct firn_data_file *file,
                        struct firn_footer **out)
{
    return file->format == FIRN_FILE_PARQUET &&
           firn_parquet_footer_load(op, run->context->store, file->path, out) == FIRN_OK;
}

/* Lets the output have the forms of the first inputs, where it has a choice and may copy. */
static void adopt_forms(struct firn_op *op, struct firn_group_run *run)
{
    struct firn_arena arena, *outer = op->arena;
    struct firn_footer *footers[FORM_INPUTS_MAX];
    uint32_t count = FIRN_MIN(run->group->input_count, FORM_INPUTS_MAX), read = 0;
    if (run->context->layout.layout == FIRN_LAYOUT_SMALLEST || !firn_output_schema_has_short_decimals(&run->schema))
        return;
    firn_arena_init(&arena);
    op->arena = &arena;
    while (read < count && read_footer(op, run, &run->group->inputs[read], &footers[read]))
        read++;
    op->arena = outer;
    if (read == count)
        firn_output_schema_adopt(&run->schema, (const struct firn_footer *const *)footers, read);
    firn_arena_done(&arena);
}

firn_status firn_group_run_init(struct firn_op *op, struct firn_group_run *run)
{
    const struct firn_metadata *metadata = run->context->metadata;
    const struct firn_schema *schema = firn_metadata_current_schema(metadata);
    const struct firn_sort_order *order = firn_metadata_sort_order(metadata, metadata->default_sort_order_id);
    bool lineage = metadata->format_version >= 3;
    if (lineage && !run->group->input_sequence_numbers)
        return firn_fail(op, FIRN_USAGE, "a group of a format version 3 table needs its inputs' sequence numbers");
    FIRN_TRY(firn_output_schema_new(op, schema, lineage, &run->schema));
    adopt_forms(op, run);
    order_leaves(op, run);
    FIRN_TRY(firn_write_options_new(op, metadata, FIRN_WRITE_DATA, &run->schema, &run->options));
    for (uint32_t i = 0; i < run->schema.leaf_count; i++)
        firn_splice_options_set(&run->context->layout, &run->options.leaves[i]);
    FIRN_TRY(firn_metrics_config_new(op, metadata, schema, order, &run->metrics));
    run->file_ending = FIRN_TEXT(".parquet");
    FIRN_TRY(firn_id_sources_new(op, metadata, &run->ids));
    FIRN_TRY(find_spec(op, run));
    share_memory(run);
    run->input_rows = FIRN_NEW_ARRAY(op->arena, struct firn_input_rows, run->group->input_count);
    for (uint32_t i = 0; i < run->group->input_count; i++)
        atomic_init(&run->input_rows[i].total, -1); /* the others begin at 0 */
    return FIRN_OK;
}

static firn_status check_inputs(struct firn_op *op, const struct firn_group_run *run)
{
    for (uint32_t i = 0; i < run->group->input_count; i++) {
        const struct firn_data_file *file = &run->group->inputs[i];
        if (file->format != FIRN_FILE_PARQUET || file->content != FIRN_CONTENT_DATA)
            return firn_fail(op, FIRN_UNSUPPORTED, "%.*s is no Parquet data file", FIRN_FMT(file->path));
        if (file->key_metadata.len)
            return firn_fail(op, FIRN_UNSUPPORTED, "data file %.*s is encrypted", FIRN_FMT(file->path));
    }
    return FIRN_OK;
}

/* What the deletes are asked with: the inputs as entries of a manifest. */
static struct firn_scan_file *list_scan_files(struct firn_op *op, const struct firn_rewrite_group *group)
{
    struct firn_manifest_entry *entries = FIRN_NEW_ARRAY(op->arena, struct firn_manifest_entry, group->input_count);
    struct firn_scan_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, group->input_count);
    for (uint32_t i = 0; i < group->input_count; i++) {
        entries[i] = (struct firn_manifest_entry){
            .status = FIRN_ENTRY_EXISTING,
            .sequence_number = group->input_sequence_numbers[i],
            .file = group->inputs[i],
        };
        files[i] = (struct firn_scan_file){ &entries[i], group->input_deletes[i] };
    }
    return files;
}

static bool has_deletes(const struct firn_rewrite_group *group)
{
    for (uint32_t i = 0; group->input_deletes && i < group->input_count; i++)
        if (firn_delete_match_count(&group->input_deletes[i]) > 0)
            return true;
    return false;
}

static firn_status load_deletes(struct firn_op *op, struct firn_group_run *run)
{
    const struct firn_rewrite_group *group = run->group;
    const struct firn_rewrite_context *context = run->context;
    struct firn_deletions_config config = {
        .metadata = context->metadata,
        .store = context->store,
        .pool = context->pool,
        .memory_bytes_max = context->memory_bytes_max / 2, /* nothing else is held yet */
    };
    struct firn_deletions *deletions;
    if (!has_deletes(group))
        return FIRN_OK;
    if (!group->input_sequence_numbers)
        return firn_fail(op, FIRN_USAGE, "a group with deletes needs its inputs' sequence numbers");
    struct firn_scan_file *files = list_scan_files(op, group);
    FIRN_TRY(firn_deletions_load(op, &config, files, group->input_count, &deletions));
    run->deleted = FIRN_NEW_ARRAY(op->arena, const struct firn_positions *, group->input_count);
    for (uint32_t i = 0; i < group->input_count; i++) {
        FIRN_TRY(firn_deletions_find(op, deletions, &files[i], &run->deleted[i]));
        run->deleted_bytes += run->deleted[i] ? firn_positions_bytes(run->deleted[i]) : 0;
    }
    return FIRN_OK;
}

/* (1) Every row of every input was read exactly once, and as many were written as no delete names. Deletes of rows past
 * a file's end delete nothing. */
static firn_status prove_rows(struct firn_op *op, const struct firn_group_run *run, struct firn_rewrite_result *out)
{
    for (uint32_t i = 0; i < run->group->input_count; i++) {
        int64_t covered = atomic_load(&run->input_rows[i].covered), total = atomic_load(&run->input_rows[i].total);
        if (covered != total)
            return firn_fail(op, FIRN_VERIFY,
                             "data file %.*s holds %" PRId64 " rows, the pieces of the plan hold %" PRId64,
                             FIRN_FMT(run->group->inputs[i].path), total, covered);
        out->rows_in += total;
        out->rows_deleted += atomic_load(&run->input_rows[i].deleted);
    }
    if (out->rows_in - out->rows_deleted != out->rows_out)
        return firn_fail(op, FIRN_VERIFY,
                         "%" PRId64 " rows were read and %" PRId64 " of them are deleted, but %" PRId64 " were written",
                         out->rows_in, out->rows_deleted, out->rows_out);
    return FIRN_OK;
}

/* Records that are wrong about their files are told once, not a file each: what the files hold counts. */
static void warn_of_records(struct firn_op *op, const struct firn_group_run *run)
{
    const struct firn_data_file *first = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->group->input_count; i++) {
        const struct firn_data_file *file = &run->group->inputs[i];
        if (atomic_load(&run->input_rows[i].total) == file->record_count)
            continue;
        first = first ? first : file;
        count++;
    }
    if (count > 0)
        firn_log(
            op, FIRN_LOG_WARN,
            "%u data files hold another number of rows than the table records, such as %.*s, taking what they hold",
            count, FIRN_FMT(first->path));
}

struct bins {
    struct firn_group_run *run;
    struct firn_output_files *files; /* one a bin */
};

static firn_status prove_content(struct firn_op *op, const struct bins *bins, struct firn_rewrite_result *out)
{
    const struct firn_output_schema *schema = &bins->run->schema;
    if (bins->run->context->verify != FIRN_VERIFY_FULL)
        return FIRN_OK;
    out->fingerprint_count = schema->leaf_count;
    out->fingerprints = FIRN_NEW_ARRAY(op->arena, struct firn_fingerprint, out->fingerprint_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const struct firn_output_leaf *leaf = &schema->leaves[i];
        struct firn_hash128 in = { 0 }, written = { 0 };
        for (uint32_t b = 0; b < bins->run->group->bin_count; b++) {
            in = firn_hash128_add(in, bins->files[b].sums_in[i]);
            written = firn_hash128_add(written, bins->files[b].sums_out[i]);
        }
        if (in.low != written.low || in.high != written.high)
            return firn_fail(op, FIRN_VERIFY, "column '%.*s' of the written files differs from what was read",
                             FIRN_FMT(leaf->node->path));
        out->fingerprints[i].field_id = leaf->field ? leaf->field->id : leaf->node->field_id;
        out->fingerprints[i].sum = in;
    }
    return FIRN_OK;
}

static firn_status run_bin(struct firn_op *op, void *context, size_t index)
{
    struct bins *bins = context;
    struct firn_output_files *files = &bins->files[index];
    files->sums_in = FIRN_NEW_ARRAY(op->arena, struct firn_hash128, bins->run->schema.leaf_count);
    files->sums_out = FIRN_NEW_ARRAY(op->arena, struct firn_hash128, bins->run->schema.leaf_count);
    return firn_bin_run(op, bins->run, (uint32_t)index, files);
}

/* Joins what the bins have done, in their order. */
static void collect(struct firn_op *op, const struct bins *bins, struct firn_rewrite_result *out)
{
    const struct firn_rewrite_group *group = bins->run->group;
    size_t count = 0;
    for (uint32_t i = 0; i < group->bin_count; i++)
        count += bins->files[i].done.count;
    out->files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, count);
    for (uint32_t i = 0; i < group->bin_count; i++) {
        const struct firn_output_files *files = &bins->files[i];
        for (size_t f = 0; f < files->done.count; f++)
            out->files[out->file_count++] = files->done.items[f];
        out->rows_out += files->rows;
        out->bytes_out += files->bytes;
        out->requests += files->requests;
        firn_rung_counts_add(&out->rungs, &files->rungs);
        for (size_t w = 0; w < FIRN_SORT_WAY_COUNT; w++)
            out->sort_ways[w] += files->sort_ways[w];
    }
    for (uint32_t i = 0; i < group->input_count; i++)
        out->bytes_in += (uint64_t)FIRN_MAX(group->inputs[i].file_bytes, 0);
}

static void finish_row_map(struct firn_op *op, const struct bins *bins, struct firn_rewrite_result *out)
{
    struct firn_row_mapper *mapper = bins->run->row_mapper;
    uint32_t *places = FIRN_NEW_ARRAY(op->arena, uint32_t, atomic_load(&mapper->outputs));
    uint32_t index = 0;
    for (uint32_t i = 0; i < bins->run->group->bin_count; i++)
        for (size_t f = 0; f < bins->files[i].numbers.count; f++)
            places[bins->files[i].numbers.items[f]] = index++;
    out->row_map = firn_row_mapper_finish(op, mapper, places);
}

static firn_status run_bins(struct firn_op *op, struct firn_group_run *run, struct firn_rewrite_result *out)
{
    uint32_t bin_count = run->group->bin_count;
    struct bins bins = { .run = run, .files = FIRN_NEW_ARRAY(op->arena, struct firn_output_files, bin_count) };
    firn_status status = firn_pool_run(op, run->context->pool, bin_count, bins_at_once(run), run_bin, &bins);
    collect(op, &bins, out);
    FIRN_TRY(status);
    FIRN_TRY(prove_rows(op, run, out));
    warn_of_records(op, run);
    finish_row_map(op, &bins, out);
    return prove_content(op, &bins, out);
}

static firn_status run_group(struct firn_op *op, const struct firn_rewrite_context *context,
                             const struct firn_rewrite_group *group, struct firn_rewrite_result *out)
{
    struct firn_row_mapper mapper;
    struct firn_group_run run = { .context = context, .group = group, .row_mapper = &mapper };
    FIRN_TRY(check_inputs(op, &run));
    FIRN_TRY(load_deletes(op, &run));
    FIRN_TRY(firn_group_run_init(op, &run));
    /* Sorted rows have no neighbours in common with their inputs: a map would take more than the rows. */
    firn_row_mapper_init(&mapper, group->ordering ? 0 : context->row_map_bytes_max);
    firn_status status = run_bins(op, &run, out);
    firn_row_mapper_done(&mapper);
    return status;
}

firn_status firn_rewrite_group_execute(struct firn_op *op, const struct firn_rewrite_context *context,
                                       const struct firn_rewrite_group *group, struct firn_rewrite_result *out)
{
    *out = (struct firn_rewrite_result){ 0 };
    firn_status status = run_group(op, context, group, out);
    if (status != FIRN_OK)
        firn_rewrite_result_discard(op, context->store, out);
    return status;
}

void firn_rewrite_result_discard(struct firn_op *op, struct firn_store *store, const struct firn_rewrite_result *result)
{
    struct firn_text *locations = FIRN_NEW_ARRAY(op->arena, struct firn_text, result->file_count);
    for (uint32_t i = 0; i < result->file_count; i++)
        locations[i] = result->files[i].path;
    firn_store_discard(op, store, locations, result->file_count);
}
