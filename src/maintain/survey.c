/* The pass over a snapshot's manifests. Iceberg spec, "Scan Planning".
 *
 * Manifests of deletes are read first and kept, since a delete file is dangling only by comparison with all data files.
 * The others are read one by one, in parallel, and each entry is counted and forgotten. Entries are told apart by what
 * they say, not by their manifest's label, which some writers get wrong: when a manifest of data turns out to have
 * deletes, the pass is made again with that manifest among those that are kept.
 *
 * What is shared by the threads is changed under one lock. Reading and decoding a manifest is most of the work, and is
 * done without it. */
#include "maintain/survey.h"

#include "base/map.h"
#include "base/math.h"
#include "maintain/delete_use.h"
#include "maintain/rewrite_data_files.h"
#include "maintain/survey_columns.h"
#include "maintain/survey_history.h"
#include "maintain/survey_orphans.h"
#include "store/store.h"
#include "table/scan.h"

#include <pthread.h>
#include <stdlib.h>

#define MANIFEST_TARGET_BYTES_DEFAULT INT64_C(8388608)

const int64_t firn_survey_size_limits[] = {
    1 << 16,          1 << 18,          1 << 20,          1 << 22,          1 << 24,          1 << 25,
    INT64_C(1) << 26, INT64_C(1) << 27, INT64_C(1) << 28, INT64_C(1) << 29, INT64_C(1) << 30, INT64_MAX,
};
_Static_assert(FIRN_COUNT_OF(firn_survey_size_limits) == FIRN_SURVEY_SIZE_CLASSES, "a limit a class");

/* Deletes that stand in one array up to `end`: how many of its last ones are known to be used. */
struct tail {
    const struct firn_manifest_entry **end;
    uint32_t used;
};

struct surveying {
    struct firn_survey *survey;
    struct firn_store *store;
    const struct firn_metadata *metadata;
    const struct firn_predicate *where; /* NULL: all partitions */
    struct firn_type **spec_types;      /* one a spec of the metadata */
    struct firn_manifest_list list;
    bool *is_kept;              /* one a manifest: it has deletes */
    struct firn_manifest *kept; /* one a manifest; empty: not kept */
    const struct firn_manifest_entry **deletes;
    uint32_t delete_count;
    struct firn_map delete_numbers; /* address of a delete entry to its place in `deletes` */
    bool *is_used;                  /* one a delete: some data file needs it */

    pthread_mutex_t lock; /* of what follows */
    struct firn_arena arena;
    struct firn_delete_index *index;
    struct firn_map tails;
    struct firn_map partition_numbers;
    struct firn_buffer key;
    FIRN_ARRAY(struct firn_survey_partition) partitions;
    FIRN_ARRAY(struct firn_survey_order) orders;
    int64_t *live_entries; /* one a manifest */
    struct firn_survey_columns *columns;
    bool has_surprise; /* a manifest that was not kept has deletes */
};

/* Counting ------------------------------------------------------------------------------------------------------- */

static void tally(struct firn_survey_tally *out, int64_t bytes, int64_t rows)
{
    out->files++;
    firn_survey_add(&out->bytes, bytes);
    firn_survey_add(&out->rows, rows);
}

static void tally_file(struct firn_survey_tally *out, const struct firn_data_file *file)
{
    tally(out, firn_delete_read_bytes(file), file->record_count);
}

static void add_tally(struct firn_survey_tally *sum, const struct firn_survey_tally *part)
{
    firn_survey_add(&sum->files, part->files);
    firn_survey_add(&sum->bytes, part->bytes);
    firn_survey_add(&sum->rows, part->rows);
}

static void add_content(struct firn_survey_content *sum, const struct firn_survey_content *part)
{
    add_tally(&sum->data, &part->data);
    add_tally(&sum->small, &part->small);
    add_tally(&sum->deleted_from, &part->deleted_from);
    add_tally(&sum->position_deletes, &part->position_deletes);
    add_tally(&sum->equality_deletes, &part->equality_deletes);
    add_tally(&sum->vectors, &part->vectors);
    add_tally(&sum->dangling, &part->dangling);
    firn_survey_add(&sum->delete_reads, part->delete_reads);
}

static void classify_size(struct firn_survey *survey, int64_t bytes)
{
    size_t class = 0;
    while (class + 1 < FIRN_SURVEY_SIZE_CLASSES && bytes >= firn_survey_size_limits[class])
        class ++;
    survey->size_class_files[class]++;
    firn_survey_add(&survey->size_class_bytes[class], bytes);
}

static void count_order(struct surveying *run, const struct firn_data_file *file)
{
    int64_t id = FIRN_MAX(file->sort_order_id, 0);
    size_t i = 0;
    while (i < run->orders.count && run->orders.items[i].id != id)
        i++;
    if (i == run->orders.count)
        FIRN_PUSH(&run->arena, &run->orders, (struct firn_survey_order){ .id = id });
    tally_file(&run->orders.items[i].data, file);
}

static void add_partition(struct surveying *run, const struct firn_data_file *file)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(run->metadata, file->spec_id);
    const struct firn_type *types = spec ? run->spec_types[spec - run->metadata->specs] : NULL;
    struct firn_survey_partition partition = {
        .spec_id = file->spec_id,
        .path = spec ? firn_partition_path(&run->arena, spec, types, &file->partition) : FIRN_TEXT(""),
        .values = firn_partition_copy(&run->arena, &file->partition).values,
        .types = types,
        .updated_ms = FIRN_SURVEY_UNKNOWN,
        .is_left_out =
            run->where && spec && !firn_predicate_partition_may_match(run->where, spec, types, &file->partition),
    };
    FIRN_PUSH(&run->arena, &run->partitions, partition);
}

static firn_status find_partition(struct firn_op *op, struct surveying *run, const struct firn_data_file *file,
                                  uint32_t *number)
{
    FIRN_TRY(firn_data_file_partition_key(op, file, &run->key));
    struct firn_map_entry *entry = firn_map_find(&run->partition_numbers, firn_buffer_bytes(&run->key));
    if (!entry) {
        entry = firn_map_put(&run->partition_numbers, firn_bytes_copy(&run->arena, firn_buffer_bytes(&run->key)));
        entry->value.number = run->partitions.count;
        add_partition(run, file);
    }
    *number = (uint32_t)entry->value.number;
    return FIRN_OK;
}

static void note_commit(const struct surveying *run, const struct firn_manifest_entry *entry,
                        struct firn_survey_partition *partition)
{
    const struct firn_snapshot *snapshot = firn_metadata_snapshot(run->metadata, entry->snapshot_id);
    partition->sequence_number = FIRN_MAX(partition->sequence_number, entry->sequence_number);
    if (snapshot)
        partition->updated_ms = FIRN_MAX(partition->updated_ms, snapshot->timestamp_ms);
}

static firn_status count_delete(struct firn_op *op, struct surveying *run, const struct firn_manifest_entry *entry)
{
    const struct firn_data_file *file = &entry->file;
    uint32_t number;
    FIRN_TRY(find_partition(op, run, file, &number));
    struct firn_survey_partition *partition = &run->partitions.items[number];
    struct firn_survey_content *content = &partition->content;
    tally_file(file->content == FIRN_CONTENT_EQUALITY_DELETES ? &content->equality_deletes
               : firn_data_file_is_deletion_vector(file)      ? &content->vectors
                                                              : &content->position_deletes,
               file);
    note_commit(run, entry, partition);
    return FIRN_OK;
}

/* Which deletes are needed --------------------------------------------------------------------------------------- */

static struct firn_bytes address_key(const void *address_of_pointer)
{
    return (struct firn_bytes){ address_of_pointer, sizeof(void *) };
}

static void mark(struct surveying *run, const struct firn_manifest_entry *const *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        run->is_used[firn_map_find(&run->delete_numbers, address_key(&items[i]))->value.number] = true;
}

/* Equality deletes of a data file are the tail of an array that all files of its partition share: what was marked of it
 * before is not marked again. */
static void mark_tail(struct surveying *run, const struct firn_delete_list *list)
{
    if (list->count == 0)
        return;
    const struct firn_manifest_entry **end = list->items + list->count;
    struct firn_map_entry *entry = firn_map_find(&run->tails, address_key(&end));
    if (!entry) {
        struct tail *tail = FIRN_NEW(&run->arena, struct tail);
        tail->end = end;
        entry = firn_map_put(&run->tails, address_key(&tail->end));
        entry->value.pointer = tail;
    }
    struct tail *tail = entry->value.pointer;
    if (list->count > tail->used) {
        mark(run, list->items, list->count - tail->used);
        tail->used = list->count;
    }
}

/* A vector that contradicts its data file is verify's to tell; it is used here. */
static firn_status match_deletes(struct firn_op *op, struct surveying *run, const struct firn_manifest_entry *entry,
                                 struct firn_survey_content *content)
{
    struct firn_delete_match match;
    firn_status status = firn_delete_index_match(op, run->index, entry, &match);
    if (status != FIRN_OK && status != FIRN_CORRUPT)
        return status;
    uint32_t count = firn_delete_match_count(&match);
    mark_tail(run, &match.equality);
    mark(run, match.wide.items, match.wide.count);
    mark(run, match.own.items, match.own.count);
    if (count > 0)
        tally_file(&content->deleted_from, &entry->file);
    content->delete_reads += count;
    return FIRN_OK;
}

/* Data files ----------------------------------------------------------------------------------------------------- */

static bool is_foreign(const struct firn_data_file *file)
{
    return file->format != FIRN_FILE_PARQUET || file->key_metadata.data;
}

static firn_status count_data_file(struct firn_op *op, struct surveying *run, const struct firn_manifest_entry *entry)
{
    const struct firn_data_file *file = &entry->file;
    uint32_t number;
    FIRN_TRY(find_partition(op, run, file, &number));
    struct firn_survey_partition *partition = &run->partitions.items[number];
    if (partition->is_left_out) /* and may need deletes that others share */
        return run->index ? match_deletes(op, run, entry, &partition->content) : FIRN_OK;
    tally_file(&partition->content.data, file);
    if (is_foreign(file))
        run->survey->foreign_files++;
    else if (file->file_bytes < run->survey->sizes.bytes_min)
        tally_file(&partition->content.small, file);
    note_commit(run, entry, partition);
    classify_size(run->survey, file->file_bytes);
    count_order(run, file);
    firn_survey_columns_add(run->columns, file, number);
    return run->index ? match_deletes(op, run, entry, &partition->content) : FIRN_OK;
}

static firn_status count_entry(struct firn_op *op, struct surveying *run, size_t manifest,
                               const struct firn_manifest_entry *entry)
{
    run->live_entries[manifest]++;
    if (entry->file.content == FIRN_CONTENT_DATA)
        return count_data_file(op, run, entry);
    if (run->is_kept[manifest])
        return FIRN_OK; /* counted when it was kept */
    run->is_kept[manifest] = true;
    run->has_surprise = true;
    return FIRN_OK;
}

struct looking {
    struct surveying *run;
    size_t manifest;
};

static firn_status count_manifest(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    const struct looking *looking = context;
    firn_status status = FIRN_OK;
    pthread_mutex_lock(&looking->run->lock);
    for (uint32_t i = 0; status == FIRN_OK && i < manifest->count; i++)
        status = count_entry(op, looking->run, looking->manifest, &manifest->entries[i]);
    pthread_mutex_unlock(&looking->run->lock);
    return status;
}

/* The pass ------------------------------------------------------------------------------------------------------- */

static firn_status keep_job(struct firn_op *op, void *context, size_t index)
{
    struct surveying *run = context;
    const struct firn_manifest_file *row = &run->list.manifests[index];
    struct firn_manifest_read_options options = { .skip_deleted = true };
    FIRN_TRY(firn_op_check(op));
    if (!run->is_kept[index] || !firn_manifest_has_live(row))
        return FIRN_OK;
    return firn_manifest_read(op, run->store, run->metadata, row, options, &run->kept[index]);
}

static firn_status look_job(struct firn_op *op, void *context, size_t index)
{
    struct surveying *run = context;
    struct looking looking = { run, index };
    struct firn_manifest_read_options options = { .skip_deleted = true };
    const struct firn_manifest_file *row = &run->list.manifests[index];
    if (run->is_kept[index])
        return count_manifest(op, &looking, &run->kept[index]);
    if (!firn_manifest_has_live(row))
        return FIRN_OK;
    return firn_manifest_look(op, run->store, run->metadata, row, options, count_manifest, &looking);
}

static void list_deletes(struct firn_op *op, struct surveying *run)
{
    size_t count = 0;
    for (uint32_t i = 0; i < run->list.count; i++)
        count += run->kept[i].count;
    run->deletes = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, count);
    for (uint32_t i = 0; i < run->list.count; i++)
        for (uint32_t k = 0; k < run->kept[i].count; k++)
            if (run->kept[i].entries[k].file.content != FIRN_CONTENT_DATA)
                run->deletes[run->delete_count++] = &run->kept[i].entries[k];
}

/* Two vectors for one data file, as broken writers leave them, make no index: then nothing is said of what applies to
 * what. */
static firn_status index_deletes(struct firn_op *op, struct surveying *run)
{
    list_deletes(op, run);
    run->is_used = FIRN_NEW_ARRAY(op->arena, bool, run->delete_count);
    firn_map_init(&run->delete_numbers, op->arena);
    for (uint32_t i = 0; i < run->delete_count; i++) {
        firn_map_put(&run->delete_numbers, address_key(&run->deletes[i]))->value.number = i;
        FIRN_TRY(count_delete(op, run, run->deletes[i]));
    }
    if (run->delete_count == 0)
        return FIRN_OK;
    firn_status status = firn_delete_index_new(op, run->metadata, run->deletes, run->delete_count, &run->index);
    if (status == FIRN_CORRUPT) {
        firn_log(op, FIRN_LOG_WARN, "which deletes apply to which data files is not known: %s", op->error.text);
        run->index = NULL;
        return FIRN_OK;
    }
    return status;
}

static firn_status find_dangling(struct firn_op *op, struct surveying *run)
{
    for (uint32_t i = 0; run->index && i < run->delete_count; i++) {
        uint32_t number;
        if (run->is_used[i])
            continue;
        FIRN_TRY(find_partition(op, run, &run->deletes[i]->file, &number));
        tally_file(&run->partitions.items[number].content.dangling, &run->deletes[i]->file);
    }
    return FIRN_OK;
}

static firn_status pass(struct firn_op *op, struct firn_pool *pool, struct surveying *run)
{
    FIRN_TRY(firn_pool_run(op, pool, run->list.count, 0, keep_job, run));
    FIRN_TRY(index_deletes(op, run));
    FIRN_TRY(firn_pool_run(op, pool, run->list.count, 0, look_job, run));
    return find_dangling(op, run);
}

/* What the pass found -------------------------------------------------------------------------------------------- */

static int compare_partitions(const void *a, const void *b)
{
    const struct firn_survey_partition *left = a, *right = b;
    if (left->spec_id != right->spec_id)
        return left->spec_id < right->spec_id ? -1 : 1;
    return firn_text_compare(left->path, right->path);
}

static int compare_orders(const void *a, const void *b)
{
    const struct firn_survey_order *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

static void sum_manifests(struct firn_op *op, const struct surveying *run, struct firn_survey *out)
{
    FIRN_ARRAY(struct firn_survey_manifests) kinds = { 0 };
    for (uint32_t i = 0; i < run->list.count; i++) {
        const struct firn_manifest_file *row = &run->list.manifests[i];
        size_t k = 0;
        while (k < kinds.count &&
               (kinds.items[k].spec_id != row->spec_id || kinds.items[k].is_deletes != row->is_deletes))
            k++;
        if (k == kinds.count)
            FIRN_PUSH(op->arena, &kinds,
                      ((struct firn_survey_manifests){ .spec_id = row->spec_id, .is_deletes = row->is_deletes }));
        kinds.items[k].count++;
        kinds.items[k].entries += run->live_entries[i];
        firn_survey_add(&kinds.items[k].bytes, row->length);
        firn_survey_add(&kinds.items[k].tombstones, row->deleted_files_count);
    }
    out->manifests = kinds.items;
    out->manifest_kind_count = kinds.count;
}

static void drop_left_out(struct surveying *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->partitions.count; i++)
        if (!run->partitions.items[i].is_left_out)
            run->partitions.items[count++] = run->partitions.items[i];
    run->partitions.count = count;
}

static void take_results(struct firn_op *op, struct surveying *run, struct firn_survey *out)
{
    drop_left_out(run);
    if (run->partitions.count > 1)
        qsort(run->partitions.items, run->partitions.count, sizeof *run->partitions.items, compare_partitions);
    if (run->orders.count > 1)
        qsort(run->orders.items, run->orders.count, sizeof *run->orders.items, compare_orders);
    for (size_t i = 0; i < run->partitions.count; i++)
        add_content(&out->total, &run->partitions.items[i].content);
    out->partitions = run->partitions.items;
    out->partition_count = run->partitions.count;
    out->orders = run->orders.items;
    out->order_count = run->orders.count;
    firn_survey_columns_finish(run->columns, out);
    sum_manifests(op, run, out);
}

static void forget_pass(struct firn_survey *out)
{
    memset(out->size_class_files, 0, sizeof out->size_class_files);
    memset(out->size_class_bytes, 0, sizeof out->size_class_bytes);
    out->foreign_files = 0;
}

/* `is_kept` grows by what a pass learns; the result counts only when it has learnt nothing. */
static firn_status try_pass(struct firn_op *op, struct firn_pool *pool, struct surveying *run, struct firn_survey *out)
{
    forget_pass(out);
    run->has_surprise = false;
    run->kept = FIRN_NEW_ARRAY(op->arena, struct firn_manifest, run->list.count);
    run->live_entries = FIRN_NEW_ARRAY(op->arena, int64_t, run->list.count);
    run->delete_count = 0;
    run->index = NULL;
    run->partitions.count = run->orders.count = 0;
    firn_map_init(&run->tails, &run->arena);
    firn_map_init(&run->partition_numbers, &run->arena);
    run->columns = firn_survey_columns_new(&run->arena, run->metadata);
    firn_status status = pass(op, pool, run);
    if (status == FIRN_OK && !run->has_surprise)
        take_results(op, run, out);
    return status;
}

static firn_status survey_manifests(struct firn_op *op, struct firn_pool *pool, struct surveying *run,
                                    struct firn_survey *out)
{
    FIRN_TRY(firn_spec_types_new(op, run->metadata, &run->spec_types));
    const struct firn_snapshot *snapshot = firn_metadata_current(run->metadata);
    int64_t begun_us = firn_now_us(op);
    if (snapshot)
        FIRN_TRY(firn_snapshot_manifests(op, run->store, run->metadata, snapshot, &run->list));
    run->is_kept = FIRN_NEW_ARRAY(op->arena, bool, run->list.count);
    for (uint32_t i = 0; i < run->list.count; i++)
        run->is_kept[i] = run->list.manifests[i].is_deletes;
    do
        FIRN_TRY(try_pass(op, pool, run, out));
    while (run->has_surprise);
    out->planning_us = FIRN_MAX(firn_now_us(op) - begun_us, 0);
    return FIRN_OK;
}

static firn_status survey_snapshot(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                                   const struct firn_predicate *where, struct firn_survey *out)
{
    struct surveying run = { .survey = out, .store = table->store, .metadata = table->metadata, .where = where };
    firn_arena_init(&run.arena);
    pthread_mutex_init(&run.lock, NULL);
    firn_status status = survey_manifests(op, pool, &run, out);
    pthread_mutex_destroy(&run.lock);
    firn_buffer_done(&run.key);
    firn_arena_adopt(op->arena, &run.arena);
    return status;
}

/* The metadata file may be one that only the catalog can reach: then its size is not known. */
static firn_status measure_metadata(struct firn_op *op, const struct firn_table *table, struct firn_survey *out)
{
    struct firn_store_stat stat;
    firn_status status = firn_store_stat(op, table->store, table->metadata_location, &stat);
    out->metadata_bytes = status == FIRN_OK ? (int64_t)stat.size : FIRN_SURVEY_UNKNOWN;
    return status == FIRN_CANCELLED ? status : FIRN_OK;
}

static firn_status read_settings(struct firn_op *op, const struct firn_metadata *metadata, struct firn_survey *out)
{
    struct firn_rewrite_options options;
    struct firn_rewrite_data_files_args no_options = { 0 };
    FIRN_TRY(firn_rewrite_options_parse(op, metadata, &no_options, &options));
    out->sizes = options.sizes;
    out->limits = options.limits;
    return firn_property_i64(op, metadata, "commit.manifest.target-size-bytes", MANIFEST_TARGET_BYTES_DEFAULT,
                             &out->manifest_target_bytes);
}

firn_status firn_survey_take(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                             struct firn_survey_options options, struct firn_survey *out)
{
    *out = (struct firn_survey){
        .table = table->name,
        .metadata = table->metadata,
        .now_ms = firn_now_ms(op),
        .orphan_files = FIRN_SURVEY_UNKNOWN,
        .orphan_bytes = FIRN_SURVEY_UNKNOWN,
    };
    FIRN_TRY(read_settings(op, table->metadata, out));
    FIRN_TRY(measure_metadata(op, table, out));
    FIRN_TRY(firn_survey_history(op, table->metadata, out));
    FIRN_TRY(survey_snapshot(op, pool, table, options.where, out));
    return options.orphans ? firn_survey_orphans(op, pool, table, out) : FIRN_OK;
}

/* What follows from it ------------------------------------------------------------------------------------------- */

struct firn_survey_manifests firn_survey_manifests_total(const struct firn_survey *survey)
{
    struct firn_survey_manifests total = { 0 };
    for (size_t i = 0; i < survey->manifest_kind_count; i++) {
        total.count += survey->manifests[i].count;
        total.entries += survey->manifests[i].entries;
        firn_survey_add(&total.bytes, survey->manifests[i].bytes);
        firn_survey_add(&total.tombstones, survey->manifests[i].tombstones);
    }
    return total;
}

struct firn_survey_compaction firn_survey_compaction_of(const struct firn_survey *survey,
                                                        const struct firn_survey_content *partition)
{
    const struct firn_survey_tally *small = &partition->small;
    int64_t outputs = firn_output_expected_files(&survey->sizes, small->bytes);
    struct firn_group_weight weight = { .bytes = small->bytes, .files = small->files };
    if (outputs >= small->files || !firn_group_has_enough(&survey->limits, &survey->sizes, weight))
        return (struct firn_survey_compaction){ 0 };
    return (struct firn_survey_compaction){ small->files, small->bytes, outputs };
}

struct firn_survey_compaction firn_survey_compaction_total(const struct firn_survey *survey)
{
    struct firn_survey_compaction total = { 0 };
    for (size_t i = 0; i < survey->partition_count; i++) {
        struct firn_survey_compaction part = firn_survey_compaction_of(survey, &survey->partitions[i].content);
        total.input_files += part.input_files;
        total.output_files += part.output_files;
        firn_survey_add(&total.input_bytes, part.input_bytes);
    }
    return total;
}
