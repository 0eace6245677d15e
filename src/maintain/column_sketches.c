/* Filling sketches: jobs of one file and some columns each, whose hashes meet in the sketches a batch at a time. */
#include "maintain/column_sketches.h"

#include "base/math.h"
#include "rewrite/deletion.h"
#include "rewrite/deletion_equality.h"
#include "table/scan.h"

#include <pthread.h>

/* What reading a column may take: its pages, and the batch of values. */
#define COLUMN_BYTES (UINT64_C(4) << 20)

/* A column and its sketch. */
struct column_sketch {
    const struct firn_field *field;
    pthread_mutex_t lock; /* of the sketch */
    struct firn_theta sketch;
};

/* Columns that are read together. */
struct slice {
    const struct firn_key_columns *columns;
    struct column_sketch **sketches; /* one a leaf */
};

struct filling {
    const struct firn_column_sketches_config *config;
    const struct firn_scan_file *files;
    uint32_t file_count;
    const struct firn_deletions *deletions;
    struct firn_id_sources ids;
    struct slice *slices; /* of this pass */
    uint32_t slice_count;
};

/* One file and one slice. */
struct job {
    const struct slice *slice;
    const struct firn_positions *deleted; /* NULL: none */
    struct firn_buffer hashes;            /* of a batch: uint64_t */
    int64_t *next_deleted;                /* scratch: deleted positions of a batch */
};

/* Reading a file ------------------------------------------------------------------------------------------------- */

/* Hashes of the values that are not null in rows that are not deleted. Values that follow each other at one address are
 * one. */
static void hash_values(struct job *job, const struct firn_value *values, uint32_t row_count, int64_t first,
                        size_t deleted_count, uint64_t theta)
{
    const uint8_t *last = NULL;
    size_t last_len = 0, next = 0;
    uint64_t *hashes = (uint64_t *)(void *)job->hashes.data;
    size_t count = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        uint8_t scratch[FIRN_VALUE_SCRATCH_BYTES];
        if (next < deleted_count && job->next_deleted[next] == first + i) {
            next++;
            continue;
        }
        if (values[i].is_null)
            continue;
        struct firn_bytes form = firn_value_form(&values[i], scratch);
        bool is_borrowed = firn_value_has_bytes(&values[i]);
        if (form.len == 0 || (is_borrowed && form.data == last && form.len == last_len))
            continue;
        uint64_t hash = firn_theta_hash(form);
        if (hash < theta)
            hashes[count++] = hash;
        last = is_borrowed ? form.data : NULL;
        last_len = form.len;
    }
    job->hashes.len = count * sizeof *hashes;
}

static firn_status add_hashes(struct firn_op *op, const struct job *job, struct firn_theta *sketch)
{
    const uint64_t *hashes = (const uint64_t *)(const void *)job->hashes.data;
    for (size_t i = 0; i < job->hashes.len / sizeof *hashes; i++)
        FIRN_TRY(firn_theta_add(op, sketch, hashes[i]));
    return FIRN_OK;
}

static uint64_t theta_of(struct column_sketch *column)
{
    pthread_mutex_lock(&column->lock);
    uint64_t theta = column->sketch.theta;
    pthread_mutex_unlock(&column->lock);
    return theta;
}

static firn_status take_batch(struct firn_op *op, void *context, const struct firn_row_batch *batch)
{
    struct job *job = context;
    const struct slice *slice = job->slice;
    size_t deleted_count = 0;
    if (job->deleted && firn_positions_count_range(job->deleted, batch->first, batch->first + batch->row_count) > 0)
        deleted_count = firn_positions_read(job->deleted, batch->first, job->next_deleted, batch->row_count);
    FIRN_TRY(firn_buffer_reserve(op, &job->hashes, batch->row_count * sizeof(uint64_t)));
    for (uint32_t i = 0; i < slice->columns->leaves.leaf_count; i++) {
        struct column_sketch *column = slice->sketches[i];
        hash_values(job, batch->columns[i], batch->row_count, batch->first, deleted_count, theta_of(column));
        pthread_mutex_lock(&column->lock);
        firn_status status = add_hashes(op, job, &column->sketch);
        pthread_mutex_unlock(&column->lock);
        FIRN_TRY(status);
    }
    return FIRN_OK;
}

static firn_status read_file(struct firn_op *op, const struct filling *filling, const struct firn_scan_file *file,
                             struct job *job)
{
    struct firn_file_rows_config config = {
        .metadata = filling->config->metadata,
        .store = filling->config->store,
        .schema = &job->slice->columns->leaves,
        .ids = &filling->ids,
        .file = &file->entry->file,
    };
    struct firn_buffer deleted = { 0 };
    FIRN_TRY(firn_deletions_find(op, filling->deletions, file, &job->deleted));
    firn_status status = firn_buffer_resize(op, &deleted, job->deleted ? FIRN_FILE_ROWS_MAX * sizeof(int64_t) : 0);
    job->next_deleted = (int64_t *)(void *)deleted.data;
    if (status == FIRN_OK)
        status = firn_file_rows_read(op, &config, take_batch, job);
    firn_buffer_done(&deleted);
    return status;
}

/* Jobs of one file lie side by side, so that its bytes are still at hand. */
static firn_status run_job(struct firn_op *op, void *context, size_t index)
{
    struct filling *filling = context;
    const struct firn_scan_file *file = &filling->files[index / filling->slice_count];
    struct job job = { .slice = &filling->slices[index % filling->slice_count] };
    firn_status status = read_file(op, filling, file, &job);
    firn_buffer_done(&job.hashes);
    if (index % filling->slice_count == 0)
        firn_progress_tick(op, filling->config->progress, 1, (uint64_t)FIRN_MAX(file->entry->file.file_bytes, 0));
    return firn_context(op, status, "data file \"%.*s\"", FIRN_FMT(file->entry->file.path));
}

/* Dividing the work ---------------------------------------------------------------------------------------------- */

static firn_status make_slice(struct firn_op *op, const struct filling *filling, struct column_sketch *columns,
                              uint32_t count, struct slice *out)
{
    const struct firn_schema *const schemas[] = { filling->config->schema };
    const struct firn_id_sources source = { .schemas = schemas, .schema_count = 1 };
    struct firn_key_columns *leaves = FIRN_NEW(op->arena, struct firn_key_columns);
    int32_t *ids = FIRN_NEW_ARRAY(op->arena, int32_t, count);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = columns[i].field->id;
    FIRN_TRY(firn_key_columns_new(op, &source, ids, count, leaves));
    out->columns = leaves;
    out->sketches = FIRN_NEW_ARRAY(op->arena, struct column_sketch *, leaves->leaves.leaf_count);
    for (uint32_t leaf = 0; leaf < leaves->leaves.leaf_count; leaf++)
        for (uint32_t i = 0; i < count; i++)
            if (columns[i].field->id == leaves->leaves.leaves[leaf].field->id)
                out->sketches[leaf] = &columns[i];
    return FIRN_OK;
}

/* How many columns one job reads: few enough that all threads have work, and that what they hold fits. */
static uint32_t slice_columns(struct firn_op *op, const struct filling *filling, uint32_t column_count)
{
    uint64_t threads = filling->config->pool ? firn_pool_thread_count(filling->config->pool) : 1;
    uint64_t slices_wanted = FIRN_MAX((2 * threads + filling->file_count - 1) / filling->file_count, 1);
    uint64_t columns = (column_count + slices_wanted - 1) / slices_wanted;
    if (op->budget && op->budget->limit_bytes > 0)
        columns = FIRN_MIN(columns, op->budget->limit_bytes / 2 / threads / COLUMN_BYTES);
    return (uint32_t)FIRN_MAX(columns, 1);
}

/* How many sketches may be filled at once. */
static uint32_t pass_columns(struct firn_op *op, uint32_t column_count)
{
    if (!op->budget || op->budget->limit_bytes == 0)
        return column_count;
    uint64_t fitting = op->budget->limit_bytes / 4 / FIRN_THETA_BYTES_MAX;
    return (uint32_t)FIRN_MAX(FIRN_MIN(fitting, column_count), 1);
}

static firn_status run_pass(struct firn_op *op, struct filling *filling, struct column_sketch *columns, uint32_t count)
{
    uint32_t each = slice_columns(op, filling, count);
    filling->slice_count = (count + each - 1) / each;
    filling->slices = FIRN_NEW_ARRAY(op->arena, struct slice, filling->slice_count);
    for (uint32_t i = 0; i < filling->slice_count; i++)
        FIRN_TRY(make_slice(op, filling, columns + i * each, FIRN_MIN(each, count - i * each), &filling->slices[i]));
    return firn_pool_run(op, filling->config->pool, (size_t)filling->file_count * filling->slice_count, 0, run_job,
                         filling);
}

static void open_sketches(struct filling *filling, struct column_sketch *sketches, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sketches[i].field = filling->config->columns[first + i];
        pthread_mutex_init(&sketches[i].lock, NULL);
        firn_theta_init(&sketches[i].sketch);
    }
}

static void close_sketches(struct column_sketch *sketches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        firn_theta_done(&sketches[i].sketch);
        pthread_mutex_destroy(&sketches[i].lock);
    }
}

static firn_status visit_sketches(struct firn_op *op, struct column_sketch *sketches, uint32_t first, uint32_t count,
                                  firn_column_sketch_visit *visit, void *context)
{
    for (uint32_t i = 0; i < count; i++) {
        struct firn_theta_compact compact;
        firn_theta_finish(&sketches[i].sketch, &compact);
        FIRN_TRY(visit(op, context, first + i, &compact));
    }
    return FIRN_OK;
}

static firn_status run_passes(struct firn_op *op, struct filling *filling, firn_column_sketch_visit *visit,
                              void *context)
{
    uint32_t all = filling->config->column_count, each = pass_columns(op, all);
    struct column_sketch *sketches = FIRN_NEW_ARRAY(op->arena, struct column_sketch, each);
    for (uint32_t first = 0; first < all; first += each) {
        uint32_t count = FIRN_MIN(each, all - first);
        open_sketches(filling, sketches, first, count);
        firn_status status = filling->file_count > 0 ? run_pass(op, filling, sketches, count) : FIRN_OK;
        if (status == FIRN_OK)
            status = visit_sketches(op, sketches, first, count, visit, context);
        close_sketches(sketches, count);
        FIRN_TRY(status);
    }
    return FIRN_OK;
}

/* Counts what will be read, for the report and for progress. */
static firn_status count_files(struct firn_op *op, const struct filling *filling,
                               struct firn_column_sketches_report *out)
{
    uint64_t bytes = 0, passes = (filling->config->column_count - 1) / pass_columns(op, filling->config->column_count);
    *out = (struct firn_column_sketches_report){ .file_count = filling->file_count };
    for (uint32_t i = 0; i < filling->file_count; i++) {
        const struct firn_data_file *file = &filling->files[i].entry->file;
        const struct firn_positions *deleted;
        FIRN_TRY(firn_deletions_find(op, filling->deletions, &filling->files[i], &deleted));
        out->row_count += file->record_count - (deleted ? (int64_t)firn_positions_count(deleted) : 0);
        bytes += (uint64_t)FIRN_MAX(file->file_bytes, 0);
    }
    if (filling->config->progress) {
        filling->config->progress->files_total += (passes + 1) * filling->file_count;
        filling->config->progress->bytes_total += (passes + 1) * bytes;
    }
    return FIRN_OK;
}

firn_status firn_column_sketches_read(struct firn_op *op, const struct firn_column_sketches_config *config,
                                      firn_column_sketch_visit *visit, void *context,
                                      struct firn_column_sketches_report *out)
{
    struct filling filling = { .config = config };
    struct firn_scan scan;
    struct firn_deletions *deletions;
    struct firn_deletions_config source = { .metadata = config->metadata,
                                            .store = config->store,
                                            .pool = config->pool };
    FIRN_TRY(firn_scan_plan(op, config->pool, config->store, config->metadata, config->snapshot,
                            (struct firn_scan_options){ .with_metrics = true }, &scan));
    FIRN_TRY(firn_deletions_load(op, &source, scan.files, scan.file_count, &deletions));
    FIRN_TRY(firn_id_sources_new(op, config->metadata, &filling.ids));
    filling.files = scan.files;
    filling.file_count = scan.file_count;
    filling.deletions = deletions;
    FIRN_TRY(count_files(op, &filling, out));
    return run_passes(op, &filling, visit, context);
}
