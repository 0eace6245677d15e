/* A table of ids with peers that append to it and delete from it in every way, and a model of what must be live. */
#ifndef FIRN_TESTS_SCENE_H
#define FIRN_TESTS_SCENE_H

#include "maintain/apply_fixture.h"

#include "rewrite/delete_writer.h"
#include "rewrite/deletion_position.h"

enum { IDS_MAX = 20000 };

/* A table whose rows are their ids, and what must be live in it. */
struct scene {
    struct world world;
    struct firn_env env;
    uint8_t copies[IDS_MAX]; /* live rows of each id */
    uint8_t parts[IDS_MAX];  /* partition of each id */
};

static inline void no_sleep(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

/* A clock on which everything takes a second for each look at it. */
static inline int64_t slow_clock_ms(void *context)
{
    static atomic_int_fast64_t seconds;
    (void)context;
    return atomic_fetch_add(&seconds, 1) * 1000;
}

/* A real environment that does not wait. */
static inline const struct firn_env *impatient(struct firn_env *env)
{
    *env = *firn_env_real();
    env->sleep_ms = no_sleep;
    return env;
}

static inline void scene_begin(struct firn_op *op, struct scene *scene, int version, const char *properties)
{
    struct firn_text json = firn_text_format(op->arena, "{\"format-version\": \"%d\"%s%s}", version,
                                             properties ? ", " : "", properties ? properties : "");
    memset(scene->copies, 0, sizeof scene->copies);
    op->env = impatient(&scene->env);
    begin_with(op, &scene->world, json.data);
}

static inline void scene_end(struct firn_op *op, struct scene *scene)
{
    op->env = firn_env_real();
    end(&scene->world);
}

/* Appends one file of new rows, as a peer. */
static inline void add_rows(struct firn_op *op, struct scene *scene, int32_t part, int count)
{
    struct firn_table table = second_handle(op, &scene->world);
    int64_t first = scene->world.next_id;
    struct firn_data_file file = write_file(op, &scene->world, part, count);
    for (int64_t id = first; id < first + count; id++) {
        scene->copies[id]++;
        scene->parts[id] = (uint8_t)part;
    }
    CHECK_OK(op, append_through(op, &table, &file, 1));
}

static inline void add_files(struct firn_op *op, struct scene *scene, int32_t part, int count)
{
    for (int i = 0; i < count; i++)
        add_rows(op, scene, part, 10);
}

static inline bool is_among(const int64_t *ids, int count, int64_t id)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

struct delete_parts {
    int64_t snapshot_id; /* that was looked at */
    FIRN_ARRAY(struct firn_row_deletes) rows;
    FIRN_ARRAY(struct firn_data_file) files;    /* that have the rows */
    FIRN_ARRAY(struct firn_data_file) replaced; /* vectors */
};

/* The rows of one live file that have one of the ids; an older vector's are among them. */
static inline void find_rows(struct firn_op *op, struct firn_store *store, const struct firn_scan_file *file,
                             const int64_t *ids, int count, struct delete_parts *parts)
{
    struct firn_data_file data = file->entry->file;
    struct firn_rewrite_result result = { .files = &data, .file_count = 1 };
    struct firn_row_deletes deletes = { data.path, data.spec_id, data.partition, NULL };
    char *end_of_number;
    int64_t row = 0;
    CHECK_OK(op, firn_positions_new(op, &deletes.positions));
    for (const char *at = fixture_dump(op, store, &result, "id"); *at; row++) {
        int64_t id = strtoll(at, &end_of_number, 10);
        at = end_of_number + strspn(end_of_number, " ");
        if (is_among(ids, count, id))
            CHECK_OK(op, firn_positions_add(op, deletes.positions, row));
    }
    if (firn_positions_count(deletes.positions) == 0)
        return;
    if (file->deletes.own.count > 0 && firn_data_file_is_deletion_vector(&file->deletes.own.items[0]->file)) {
        struct firn_positions *older;
        CHECK_OK(op, firn_deletion_vector_read(op, store, &file->deletes.own.items[0]->file, &older));
        CHECK_OK(op, firn_positions_merge(op, deletes.positions, older));
        FIRN_PUSH(op->arena, &parts->replaced, file->deletes.own.items[0]->file);
    }
    FIRN_PUSH(op->arena, &parts->rows, deletes);
    FIRN_PUSH(op->arena, &parts->files, data);
}

/* CONFLICT when one of the files is gone, or has another vector. */
static inline firn_status commit_deletes(struct firn_op *op, struct firn_table *table,
                                         const struct firn_data_file *added, uint32_t count,
                                         const struct delete_parts *parts)
{
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("overwrite"),
        .branch = FIRN_TEXT("main"),
        .added_sequence_number = FIRN_ABSENT,
        .restated = { parts->files.items, (uint32_t)parts->files.count },
        .added_deletes = added,
        .added_delete_count = count,
        .removed_deletes = parts->replaced.items,
        .removed_delete_count = (uint32_t)parts->replaced.count,
        .base_snapshot_id = parts->snapshot_id,
    };
    return firn_snapshot_commit(op, NULL, table, &change, &result);
}

/* Position deletes or vectors of the rows with these ids, as a peer writes them. */
static inline struct firn_delete_files write_deletes(struct firn_op *op, struct scene *scene, const int64_t *ids,
                                                     int count, enum firn_delete_granularity granularity,
                                                     struct delete_parts *parts)
{
    struct firn_scan scan = scan_current(op, &scene->world, scene->world.store);
    struct firn_delete_files files;
    struct firn_delete_writer_config config = {
        .metadata = scene->world.table.metadata,
        .store = scene->world.store,
        .operation = firn_uuid_random(op),
        .granularity = granularity,
        .file_bytes_max = 1 << 20,
    };
    *parts = (struct delete_parts){ .snapshot_id = scan.snapshot->id };
    for (uint32_t i = 0; i < scan.file_count; i++)
        find_rows(op, scene->world.store, &scan.files[i], ids, count, parts);
    CHECK_OK(op, firn_row_deletes_write(op, &config, parts->rows.items, (uint32_t)parts->rows.count, &files));
    return files;
}

static inline void forget(struct scene *scene, const int64_t *ids, int count)
{
    for (int i = 0; i < count; i++)
        scene->copies[ids[i]] = 0;
}

/* As a writer does: looks, and looks again when another commit came between. */
static inline void delete_ids(struct firn_op *op, struct scene *scene, const int64_t *ids, int count,
                              enum firn_delete_granularity granularity)
{
    firn_status status;
    do {
        struct delete_parts parts;
        struct firn_delete_files files = write_deletes(op, scene, ids, count, granularity, &parts);
        struct firn_table table = second_handle(op, &scene->world);
        status = commit_deletes(op, &table, files.files, files.count, &parts);
        if (status != FIRN_OK)
            firn_delete_files_discard(op, scene->world.store, &files);
    } while (status == FIRN_CONFLICT);
    CHECK(status == FIRN_OK, "%s: %s", firn_status_name(status), op->error.text);
    forget(scene, ids, count);
}

#define DELETE_IDS(op, scene, granularity, ...)                                                                        \
    delete_ids(op, scene, (const int64_t[]){ __VA_ARGS__ },                                                            \
               (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), granularity)

static inline const char *id_slots(struct firn_op *op, const int64_t *ids, int count)
{
    struct firn_text text = FIRN_TEXT("");
    for (int i = 0; i < count; i++)
        text = firn_text_format(op->arena, "%.*s%" PRId64 " ", FIRN_FMT(text), ids[i]);
    return text.data;
}

/* A data file of rows with these ids. */
static inline struct firn_data_file write_ids(struct firn_op *op, struct world *world, int32_t part, const int64_t *ids,
                                              int count)
{
    struct firn_output_schema schema = fixture_schema(op, apply_schema);
    const char *const columns[] = { id_slots(op, ids, count), slots(op, part, 0, count) };
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    struct firn_text path = firn_text_format(op->arena, "%.*s/data/part=%d/up-%d.parquet",
                                             FIRN_FMT(world->table.metadata->location), part, world->file_count++);
    int64_t bytes = fixture_write(op, world->store, path.data, schema.footer, columns, 1, firn_chunk_options_default());
    struct firn_data_file file = fixture_file(path.data, bytes, count);
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = part };
    file.partition = (struct firn_partition){ value, 1 };
    return file;
}

/* An equality delete of ids in one partition. */
static inline struct firn_data_file equality_delete(struct firn_op *op, struct scene *scene, int32_t part,
                                                    const int64_t *ids, int count)
{
    static const char key_schema[] = "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
                                     "{\"id\": 1, \"name\": \"id\", \"required\": true, \"type\": \"long\"}]}";
    struct firn_output_schema schema = fixture_schema(op, key_schema);
    const char *const columns[] = { id_slots(op, ids, count) };
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    struct firn_text path =
        firn_text_format(op->arena, "%.*s/data/part=%d/eq-%d.parquet", FIRN_FMT(scene->world.table.metadata->location),
                         part, scene->world.file_count++);
    int64_t bytes =
        fixture_write(op, scene->world.store, path.data, schema.footer, columns, 1, firn_chunk_options_default());
    struct firn_data_file file = fixture_file(path.data, bytes, count);
    file.content = FIRN_CONTENT_EQUALITY_DELETES;
    file.equality_ids = FIRN_NEW(op->arena, int32_t);
    file.equality_ids[0] = 1;
    file.equality_id_count = 1;
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = part };
    file.partition = (struct firn_partition){ value, 1 };
    return file;
}

/* An equality delete; with `adds` an upsert: rows of the same ids come with it. */
static inline void delete_by_equality(struct firn_op *op, struct scene *scene, int32_t part, const int64_t *ids,
                                      int count, bool adds)
{
    struct firn_snapshot_result result;
    struct firn_data_file file = equality_delete(op, scene, part, ids, count);
    struct firn_data_file rows = { 0 };
    struct firn_table table = second_handle(op, &scene->world);
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("overwrite"),
        .branch = FIRN_TEXT("main"),
        .added = &rows,
        .added_count = adds,
        .added_sequence_number = FIRN_ABSENT,
        .added_deletes = &file,
        .added_delete_count = 1,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
    };
    if (adds)
        rows = write_ids(op, &scene->world, part, ids, count);
    CHECK_OK(op, firn_snapshot_commit(op, NULL, &table, &change, &result));
    forget(scene, ids, count);
    for (int i = 0; adds && i < count; i++)
        scene->copies[ids[i]] = 1;
}

/* No file below data/ that no snapshot names. */
static inline void check_no_orphans(struct firn_op *op, struct scene *scene, const char *when)
{
    const struct firn_metadata *metadata = scene->world.table.metadata;
    struct firn_map named;
    firn_map_init(&named, op->arena);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        struct firn_scan scan;
        CHECK_OK(op, firn_scan_plan(op, NULL, scene->world.store, metadata, &metadata->snapshots[i],
                                    (struct firn_scan_options){ 0 }, &scan));
        for (uint32_t k = 0; k < scan.file_count; k++)
            firn_map_put_text(&named, scan.files[k].entry->file.path);
        for (uint32_t k = 0; k < scan.delete_count; k++)
            firn_map_put_text(&named, scan.deletes[k]->file.path);
    }
    size_t count = count_data_objects(op, &scene->world);
    CHECK(count == named.count, "%s: %zu data objects, %zu of them named", when, count, named.count);
}

static inline void check_rows(struct firn_op *op, struct scene *scene, const char *when)
{
    FIRN_ARRAY(int64_t) ids = { 0 };
    for (int64_t id = 0; id < IDS_MAX; id++)
        for (int i = 0; i < scene->copies[id]; i++)
            FIRN_PUSH(op->arena, &ids, id);
    const char *wanted = ids_text(op, ids.items, ids.count), *live = live_ids(op, &scene->world);
    CHECK(strcmp(live, wanted) == 0, "%s: rows are %s, wanted %s", when, live, wanted);
}

/* Makes a spec by bucket[3] of the ids the table's own. */
static inline void add_bucket_spec(struct firn_op *op, struct scene *scene)
{
    json_t *updates;
    CHECK_OK(op, firn_json_parse(op,
                                 FIRN_TEXT("[{\"action\": \"add-spec\", \"spec\": {\"spec-id\": 1, \"fields\": ["
                                           "{\"source-id\": 1, \"field-id\": 1001, \"name\": \"b\","
                                           " \"transform\": \"bucket[3]\"}]}},"
                                           "{\"action\": \"set-default-spec\", \"spec-id\": 1}]"),
                                 "updates", &updates));
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
    CHECK_OK(op, firn_catalog_commit(op, &scene->world.table, firn_json_own(op->arena, json_array()), updates));
}

/* xorshift64*: the seed alone reproduces a trial. */
struct dice {
    uint64_t state;
};

static inline int roll(struct dice *dice, int sides)
{
    dice->state ^= dice->state >> 12;
    dice->state ^= dice->state << 25;
    dice->state ^= dice->state >> 27;
    return (int)((dice->state * UINT64_C(2685821657736338717) >> 33) % (uint64_t)sides);
}

#endif
