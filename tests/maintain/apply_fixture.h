/* A small real table for the tests of procedures that change data files: rows, peers, plans, and what is live. */
#ifndef FIRN_TESTS_APPLY_FIXTURE_H
#define FIRN_TESTS_APPLY_FIXTURE_H

#include "rewrite/fixture.h"

#include "catalog/catalog.h"
#include "catalog/snapshot_producer.h"
#include "firn/rewrite_data_files.h"
#include "maintain/rewrite_data_files.h"
#include "rewrite/deletion.h"
#include "support/fault_store.h"

enum { OPTIONS_MAX = 6 };

#define WAREHOUSE "mem://w"

static const char apply_schema[] = "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
                                   "{\"id\": 1, \"name\": \"id\", \"required\": true, \"type\": \"long\"},"
                                   "{\"id\": 2, \"name\": \"part\", \"required\": true, \"type\": \"int\"}]}";

struct world {
    struct firn_store *store;
    struct firn_property properties[2];
    struct firn_catalog_config config;
    struct firn_catalog *catalog;
    struct firn_table table;
    struct firn_pool *pool; /* NULL: everything in place */
    int64_t next_id;        /* of the next row */
    bool is_noisy;          /* ids do not compress */
    int file_count;
};

static inline void open_catalog(struct firn_op *op, struct world *world, struct firn_store *store)
{
    world->store = store;
    world->properties[0] = (struct firn_property){ FIRN_TEXT("type"), FIRN_TEXT("hadoop") };
    world->properties[1] = (struct firn_property){ FIRN_TEXT("warehouse"), FIRN_TEXT(WAREHOUSE) };
    world->config = (struct firn_catalog_config){ FIRN_TEXT("c"), world->properties, 2 };
    CHECK_OK(op, firn_catalog_open(op, store, &world->config, &world->catalog));
}

/* A table partitioned by `part`, with the given properties. */
static inline void begin_with(struct firn_op *op, struct world *world, const char *properties_json)
{
    static const char spec_json[] = "{\"spec-id\": 0, \"fields\": [{\"source-id\": 2, \"field-id\": 1000,"
                                    " \"name\": \"part\", \"transform\": \"identity\"}]}";
    struct firn_store *store;
    json_t *schema, *spec, *properties;
    *world = (struct world){ .next_id = 1 };
    CHECK_OK(op, firn_json_parse(op, firn_text_of(properties_json), "properties", &properties));
    CHECK_OK(op, firn_json_parse(op, firn_text_of(apply_schema), "schema", &schema));
    CHECK_OK(op, firn_json_parse(op, firn_text_of(spec_json), "spec", &spec));
    CHECK_OK(op, firn_store_open_memory(op, &store));
    open_catalog(op, world, store);
    CHECK_OK(op, firn_catalog_create_table(op, world->catalog, FIRN_TEXT("db.t"), schema, spec, NULL, properties,
                                           &world->table));
}

static inline void begin(struct firn_op *op, struct world *world, const char *version)
{
    begin_with(op, world, firn_text_format(op->arena, "{\"format-version\": \"%s\"}", version).data);
}

static inline void end(struct world *world)
{
    firn_pool_close(world->pool);
    firn_catalog_close(world->catalog);
    firn_store_close(world->store);
}

/* `count` slots of a column: `first`, `first` + `step`, ... */
static inline const char *slots(struct firn_op *op, int64_t first, uint64_t step, int count)
{
    struct firn_buffer text = { 0 };
    for (int i = 0; i < count; i++) {
        int64_t value = (int64_t)((uint64_t)first + (uint64_t)i * step);
        struct firn_text slot = firn_text_format(op->arena, "%" PRId64 " ", value);
        CHECK_OK(op, firn_buffer_append(op, &text, slot.data, slot.len));
    }
    struct firn_text copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&text)));
    firn_buffer_done(&text);
    return copy.data;
}

/* Writes a data file of `rows` rows and gives its entry. Ids count up, or jump when the world is noisy. */
static inline struct firn_data_file write_file(struct firn_op *op, struct world *world, int32_t part, int rows)
{
    static const uint64_t noise = UINT64_C(0x9e3779b97f4a7c15);
    struct firn_output_schema schema = fixture_schema(op, apply_schema);
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    const char *const columns[] = {
        slots(op, world->next_id, world->is_noisy ? noise : 1, rows),
        slots(op, part, 0, rows),
    };
    world->next_id += rows;
    struct firn_text path = firn_text_format(op->arena, "%.*s/data/part=%d/in-%d.parquet",
                                             FIRN_FMT(world->table.metadata->location), part, world->file_count++);
    int64_t bytes = fixture_write(op, world->store, path.data, schema.footer, columns, 1, firn_chunk_options_default());
    struct firn_data_file file = fixture_file(path.data, bytes, rows);
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = part };
    file.partition = (struct firn_partition){ value, 1 };
    return file;
}

static inline firn_status append_through(struct firn_op *op, struct firn_table *table,
                                         const struct firn_data_file *files, uint32_t count)
{
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = FIRN_TEXT("main"),
        .added = files,
        .added_count = count,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .fast_append = true,
    };
    return firn_snapshot_commit(op, NULL, table, &change, &result);
}

/* Appends `count` files of ten rows, a commit each. */
static inline void append(struct firn_op *op, struct world *world, int32_t part, int count)
{
    for (int i = 0; i < count; i++) {
        struct firn_data_file file = write_file(op, world, part, 10);
        CHECK_OK(op, append_through(op, &world->table, &file, 1));
    }
}

/* Another writer's view of the same table. */
static inline struct firn_table second_handle(struct firn_op *op, struct world *world)
{
    struct firn_table table;
    CHECK_OK(op, firn_catalog_load(op, world->catalog, FIRN_TEXT("db.t"), &table));
    return table;
}

/* Removes a file as a peer's overwrite does. */
static inline void remove_through_peer(struct firn_op *op, struct world *world, const struct firn_data_file *file)
{
    struct firn_table table = second_handle(op, world);
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("overwrite"),
        .branch = FIRN_TEXT("main"),
        .added_sequence_number = FIRN_ABSENT,
        .removed = file,
        .removed_count = 1,
        .base_snapshot_id = table.metadata->current_snapshot_id,
    };
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &table, &change, &result));
}

static inline struct firn_scan scan_current(struct firn_op *op, struct world *world, struct firn_store *store)
{
    struct firn_scan scan;
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    CHECK_OK(op, firn_scan_plan(op, NULL, store, world->table.metadata, firn_metadata_current(world->table.metadata),
                                (struct firn_scan_options){ .with_metrics = true }, &scan));
    return scan;
}

static inline int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts numbers into one text. */
static inline const char *ids_text(struct firn_op *op, int64_t *ids, size_t count)
{
    struct firn_buffer out = { 0 };
    if (count > 1)
        qsort(ids, count, sizeof *ids, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        struct firn_text number = firn_text_format(op->arena, "%" PRId64 " ", ids[i]);
        CHECK_OK(op, firn_buffer_append(op, &out, number.data, number.len));
    }
    struct firn_text copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&out)));
    firn_buffer_done(&out);
    return copy.data;
}

/* All live ids, sorted, as one text; deletes are applied. */
static inline const char *live_ids(struct firn_op *op, struct world *world)
{
    struct firn_scan scan = scan_current(op, world, world->store);
    struct firn_deletions_config config = { world->table.metadata, world->store, NULL };
    struct firn_deletions *deletions;
    FIRN_ARRAY(int64_t) ids = { 0 };
    CHECK_OK(op, firn_deletions_load(op, &config, scan.files, scan.file_count, &deletions));
    for (uint32_t i = 0; i < scan.file_count; i++) {
        struct firn_data_file file = scan.files[i].entry->file;
        struct firn_rewrite_result result = { .files = &file, .file_count = 1 };
        const struct firn_positions *deleted;
        char *end_of_number;
        int64_t row = 0;
        CHECK_OK(op, firn_deletions_find(op, deletions, &scan.files[i], &deleted));
        for (const char *at = fixture_dump(op, world->store, &result, "id"); *at; row++) {
            int64_t id = strtoll(at, &end_of_number, 10);
            at = end_of_number + strspn(end_of_number, " ");
            if (!deleted || !firn_positions_contains(deleted, row))
                FIRN_PUSH(op->arena, &ids, id);
        }
    }
    return ids_text(op, ids.items, ids.count);
}

static inline size_t count_objects(struct firn_op *op, struct world *world, const char *folder)
{
    struct firn_text table = world->table.metadata->location;
    size_t count;
    CHECK_OK(op,
             store_count(op, world->store, firn_text_format(op->arena, "%.*s/%s", FIRN_FMT(table), folder), &count));
    return count;
}

static inline size_t count_data_objects(struct firn_op *op, struct world *world)
{
    return count_objects(op, world, "data");
}

struct job {
    struct firn_property options[OPTIONS_MAX];
    size_t option_count;
    bool verify_full;
    struct firn_text where, branch;
    struct firn_rewrite_plan *plan;
    struct firn_rewrite_data_files_report report;
};

static inline void option(struct job *job, const char *key, const char *value)
{
    job->options[job->option_count++] = (struct firn_property){ firn_text_of(key), firn_text_of(value) };
}

static inline firn_status plan(struct firn_op *op, struct world *world, struct job *job)
{
    struct firn_rewrite_data_files_args args = {
        .where = job->where,
        .branch = job->branch,
        .options = job->options,
        .option_count = job->option_count,
        .verify_full = job->verify_full,
    };
    return firn_rewrite_data_files_plan(op, world->pool, &world->table, &args, &job->plan);
}

static inline firn_status apply(struct firn_op *op, struct world *world, struct job *job)
{
    return firn_rewrite_data_files_apply(op, world->pool, &world->table, job->plan, NULL, &job->report);
}

static inline firn_status plan_and_apply(struct firn_op *op, struct world *world, struct job *job)
{
    FIRN_TRY(plan(op, world, job));
    return apply(op, world, job);
}

static inline const char *summary(struct world *world, const char *key)
{
    const struct firn_snapshot *current = firn_metadata_current(world->table.metadata);
    const char *value = json_string_value(json_object_get(current->summary, key));
    return value ? value : "";
}

static inline void check_settled(struct firn_op *op, struct world *world, const struct job *done)
{
    struct job again = *done;
    struct firn_text metadata_before = world->table.metadata_location;
    CHECK_OK(op, plan_and_apply(op, world, &again));
    assert_int_equal(firn_rewrite_plan_group_count(again.plan), 0);
    assert_int_equal(again.report.commits, 0);
    assert_true(firn_text_same(metadata_before, world->table.metadata_location));
}

#endif
