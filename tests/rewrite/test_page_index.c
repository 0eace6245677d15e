/* What a window tells of its inputs' pages: indexes in memory and read by range, asked for by many, broken or absent.
 */
#include "fixture.h"

#include "rewrite/window.h"

#define SCHEMA                                                                                                         \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"                                                  \
    "{\"id\":2,\"name\":\"x\",\"required\":true,\"type\":\"double\"}]}"

enum { GROUP_COUNT = 2, LEAF_COUNT = 2 };

/* A file of two row groups whose values are 0, 1, 2, ... and as many halves, and a window on it. */
struct world {
    struct firn_store *store;
    struct firn_pool *pool;
    int64_t group_rows;
    struct firn_budget budget;
    struct firn_op op; /* has the budget */
    struct firn_data_file file;
    struct firn_rewrite_context context;
    struct firn_rewrite_piece piece;
    struct firn_rewrite_bin bin;
    struct firn_rewrite_group group;
    struct firn_group_run run;
    uint32_t piece_index;
    bool counted;
    struct firn_window window;
};

static struct firn_encoded_chunk encode(struct firn_op *op, const struct firn_parquet_node *leaf, int64_t first,
                                        int64_t count)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_vector vector = { .type = leaf->type, .slot_count = (uint32_t)count };
    struct firn_chunk_writer *writer;
    struct firn_encoded_chunk chunk;
    int64_t *whole = FIRN_NEW_ARRAY(op->arena, int64_t, count);
    double *halves = FIRN_NEW_ARRAY(op->arena, double, count);
    for (int64_t i = 0; i < count; i++) {
        whole[i] = first + i;
        halves[i] = (double)(first + i) / 2;
    }
    vector.value_count = vector.row_count = vector.slot_count;
    vector.values.any = leaf->type == FIRN_PARQUET_DOUBLE ? (void *)halves : whole;
    options.codec = FIRN_CODEC_NONE;
    options.dictionary = false;
    CHECK_OK(op, firn_chunk_writer_open(op, leaf, &options, &writer));
    CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, &chunk));
    firn_chunk_writer_close(writer);
    return chunk;
}

static void write_file(struct firn_op *op, struct world *world, const struct firn_footer *schema)
{
    struct firn_store_writer *file;
    struct firn_parquet_writer *writer;
    struct firn_footer *footer;
    CHECK_OK(op, firn_store_write(op, world->store, FIRN_TEXT("mem:/t/a.parquet"), false, &file));
    CHECK_OK(op, firn_parquet_writer_open(op, schema, firn_store_writer_sink(file), &writer));
    for (int64_t group = 0; group < GROUP_COUNT; group++) {
        struct firn_encoded_chunk chunks[LEAF_COUNT];
        for (uint32_t i = 0; i < LEAF_COUNT; i++)
            chunks[i] = encode(op, schema->leaves[i], group * world->group_rows, world->group_rows);
        CHECK_OK(op, firn_parquet_writer_add(op, writer, chunks, world->group_rows));
        for (uint32_t i = 0; i < LEAF_COUNT; i++)
            firn_encoded_chunk_done(&chunks[i]);
    }
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &footer));
    firn_parquet_writer_close(writer);
    world->file = fixture_file("mem:/t/a.parquet", (int64_t)firn_store_writer_sink(file)->offset,
                               GROUP_COUNT * world->group_rows);
    CHECK_OK(op, firn_store_writer_finish(op, file));
}

/* Makes the file; `group_rows` decides whether it is a small or a large one. */
static void world_init(struct firn_op *op, struct world *world, int64_t group_rows)
{
    struct fixture_table table = { .version = 2, .schemas = SCHEMA };
    *world = (struct world){ .group_rows = group_rows, .op = *op };
    world->op.budget = &world->budget;
    CHECK_OK(op, firn_store_open_memory(op, &world->store));
    CHECK_OK(op, firn_pool_open(op, 4, &world->pool));
    struct firn_output_schema schema = fixture_schema(op, SCHEMA);
    write_file(op, world, schema.footer);
    world->context.metadata = fixture_metadata(op, &table);
}

/* Opens the window, whose slices are the row groups. */
static void world_open(struct world *world)
{
    struct firn_op *op = &world->op;
    world->context.store = world->store;
    world->context.pool = world->pool;
    world->piece = (struct firn_rewrite_piece){ 0, 0, (uint64_t)world->file.file_bytes };
    world->bin = (struct firn_rewrite_bin){ .pieces = &world->piece, .piece_count = 1 };
    world->group = (struct firn_rewrite_group){
        .inputs = &world->file, .input_count = 1, .bins = &world->bin, .bin_count = 1, .file_bytes_max = 1 << 30
    };
    world->run = (struct firn_group_run){ .context = &world->context, .group = &world->group };
    CHECK_OK(op, firn_group_run_init(op, &world->run));
    world->window = (struct firn_window){
        .run = &world->run,
        .bin = &world->bin,
        .pieces = &world->piece_index,
        .piece_count = 1,
        .counted = &world->counted,
    };
    CHECK_OK(op, firn_window_fill(op, &world->window, UINT64_MAX / 2));
    assert_int_equal(world->window.slices.count, GROUP_COUNT);
}

static void world_done(struct world *world)
{
    firn_window_close(&world->window);
    assert_int_equal(atomic_load(&world->budget.used_bytes), 0);
    firn_pool_close(world->pool);
    firn_store_close(world->store);
}

static struct firn_page_sources ask(struct world *world, size_t slice, uint32_t leaf)
{
    struct firn_page_sources sources;
    const struct firn_row_slice *at = &world->window.slices.items[slice];
    const struct firn_parquet_node *node = firn_row_slice_plan(at, leaf)->levels;
    CHECK_OK(&world->op, firn_row_slice_page_sources(&world->op, at, node, &sources));
    return sources;
}

static uint64_t requests(struct world *world)
{
    return atomic_load(&world->run.requests);
}

/* Reads the pages of a chunk and has each told; gives how many there are. */
static uint32_t find_pages(struct world *world, size_t slice, uint32_t leaf, const struct firn_page_sources *sources)
{
    struct firn_op *op = &world->op;
    struct firn_buffer buffer = { 0 };
    struct firn_chunk_source source;
    uint32_t count = 0;
    CHECK_OK(op, firn_row_slice_chunk(op, &world->window.slices.items[slice], sources->leaf, &buffer, &source));
    struct firn_cursor in = firn_cursor_of(source.bytes);
    for (int64_t row = 0; row < world->group_rows; count++) {
        struct firn_page_facts facts;
        struct firn_page page;
        double min;
        CHECK_OK(op, firn_page_next(op, &in, true, &page));
        CHECK(firn_page_facts_find(op->arena, sources, &page, count, NULL, &facts), "page %u", count);
        CHECK(facts.has_bounds && facts.nan_count == 0, "page %u", count);
        if (leaf == 1 && (memcpy(&min, facts.min.data, sizeof min), min != 0)) /* which may have another sign */
            CHECK(min * 2 == (double)((int64_t)slice * world->group_rows + row), "%f in page %u", min, count);
        row += facts.row_count;
    }
    firn_buffer_done(&buffer);
    return count;
}

static void small_files_have_their_indexes_in_memory(void **state)
{
    struct world world;
    world_init(test_op(state), &world, 50000);
    world_open(&world);
    assert_true(world.file.file_bytes < 8 << 20);
    for (size_t slice = 0; slice < GROUP_COUNT; slice++)
        for (uint32_t leaf = 0; leaf < LEAF_COUNT; leaf++) {
            struct firn_page_sources sources = ask(&world, slice, leaf);
            assert_int_equal(sources.row_group_rows, world.group_rows);
            assert_int_equal(find_pages(&world, slice, leaf, &sources), 3);
        }
    assert_int_equal(requests(&world), 1);
    world_done(&world);
}

static firn_status ask_job(struct firn_op *op, void *context, size_t index)
{
    struct world *world = context;
    struct firn_page_sources sources;
    const struct firn_row_slice *slice = &world->window.slices.items[0];
    FIRN_TRY(firn_row_slice_page_sources(op, slice, firn_row_slice_plan(slice, index % 2)->levels, &sources));
    return sources.column_index && sources.offset_index ? FIRN_OK : firn_fail(op, FIRN_CORRUPT, "no index");
}

static void indexes_of_large_files_are_read_once_for_all_columns(void **state)
{
    struct world world;
    world_init(test_op(state), &world, 300000);
    world_open(&world);
    assert_true(world.file.file_bytes > 8 << 20);
    uint64_t before = requests(&world);
    size_t held = atomic_load(&world.budget.used_bytes);
    CHECK_OK(&world.op, firn_pool_run(&world.op, world.pool, 64, 0, ask_job, &world));
    assert_int_equal(requests(&world), before + 1);
    size_t index_bytes = atomic_load(&world.budget.used_bytes) - held;
    assert_true(index_bytes > 0 && index_bytes < 100000);
    assert_true(world.window.slices.items[0].memory.held_bytes > index_bytes);

    struct firn_page_sources sources = ask(&world, 1, 1);
    assert_int_equal(requests(&world), before + 2);
    assert_int_equal(find_pages(&world, 1, 1, &sources), 15);
    firn_window_advance(&world.op, &world.window, world.group_rows); /* and they go with their row group */
    assert_true(atomic_load(&world.budget.used_bytes) < held + 2 * index_bytes);
    world_done(&world);
}

/* Overwrites the indexes of the file. */
static void break_indexes(struct firn_op *op, struct world *world)
{
    struct firn_buffer file = { 0 };
    CHECK_OK(op, firn_store_read(op, world->store, world->file.path, UINT64_MAX, &file));
    struct firn_footer *footer = fixture_footer(op, &file);
    for (uint32_t i = 0; i < GROUP_COUNT * LEAF_COUNT; i++) {
        const struct firn_column_chunk *chunk = &footer->row_groups[i / LEAF_COUNT].chunks[i % LEAF_COUNT];
        memset(file.data + chunk->column_index_offset, 0xff, (size_t)chunk->column_index_bytes);
        memset(file.data + chunk->offset_index_offset, 0xff, (size_t)chunk->offset_index_bytes);
    }
    CHECK_OK(op, firn_store_put(op, world->store, world->file.path, false, firn_buffer_bytes(&file)));
    firn_buffer_done(&file);
}

static void broken_indexes_are_left_out(void **state)
{
    static const int64_t sizes[] = { 50000, 300000 };
    for (size_t i = 0; i < FIRN_COUNT_OF(sizes); i++) {
        struct world world;
        world_init(test_op(state), &world, sizes[i]);
        break_indexes(test_op(state), &world);
        world_open(&world);
        struct firn_page_sources sources = ask(&world, 0, 0);
        assert_null(sources.column_index);
        assert_null(sources.offset_index);
        assert_non_null(sources.chunk);
        world_done(&world);
    }
}

static void manifests_tell_that_there_is_no_nan(void **state)
{
    int32_t ids[] = { 2 };
    int64_t counts[] = { 0 };
    struct world world;
    world_init(test_op(state), &world, 100);
    world_open(&world);
    assert_false(ask(&world, 0, 1).no_nan);
    world_done(&world);
    world_init(test_op(state), &world, 100);
    world.file.nan_value_counts = (struct firn_count_map){ ids, counts, 1, true };
    world_open(&world);
    assert_true(ask(&world, 0, 1).no_nan);
    assert_false(ask(&world, 0, 0).no_nan);
    counts[0] = 1;
    assert_false(ask(&world, 0, 1).no_nan);
    world_done(&world);
}

/* Whether the reader gives the index, and it is made of the bytes that lie there. */
static bool gives(struct firn_op *op, struct firn_page_index_reader *reader, struct firn_object *object,
                  struct firn_file_range range, atomic_uint_fast64_t *count)
{
    struct firn_bytes bytes;
    CHECK_OK(op, firn_page_index_find(op, reader, object, range, count, &bytes));
    for (size_t i = 0; i < bytes.len; i++)
        CHECK(bytes.data[i] == (uint8_t)((range.offset + i) * 7), "byte %zu", i);
    return bytes.len == range.len && range.len > 0;
}

static void indexes_that_lie_far_apart_are_two_reads(void **state)
{
    enum { FILE_BYTES = 4 << 20 };
    static const struct {
        int64_t column_offset, offset_offset;
        int32_t column_bytes, offset_bytes;
        uint64_t request_count;
        bool has_columns, has_offsets;
    } cases[] = {
        { 1000, 1400, 300, 200, 1, true, true },
        { 1400, 1000, 300, 200, 1, true, true },
        { 1000, 3 << 20, 300, 200, 2, true, true },
        { 0, 1000, 0, 300, 1, false, true },
        { 1000, 0, 300, 0, 1, true, false },
        { 0, 0, 0, 0, 0, false, false },
        { FILE_BYTES - 100, 1000, 101, 300, 1, false, true }, /* outside of the file */
        { FILE_BYTES + 1, INT64_MAX, 1, INT32_MAX, 0, false, false },
        { -5, 1000, 300, -1, 0, false, false },
        { 1000, 3 << 20, (1 << 20) + 1, 200, 1, false, true }, /* too long to be believed */
    };
    struct firn_op *op = test_op(state);
    struct firn_buffer file = { 0 };
    struct firn_store *store;
    struct firn_object *object;
    CHECK_OK(op, firn_buffer_resize(op, &file, FILE_BYTES));
    for (size_t i = 0; i < FILE_BYTES; i++)
        file.data[i] = (uint8_t)(i * 7);
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, firn_store_put(op, store, FIRN_TEXT("mem:/a"), false, firn_buffer_bytes(&file)));
    CHECK_OK(op, firn_object_open(op, store, FIRN_TEXT("mem:/a"), &object));
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_column_chunk chunk = {
            .column_index_offset = cases[i].column_offset,
            .column_index_bytes = cases[i].column_bytes,
            .offset_index_offset = cases[i].offset_offset,
            .offset_index_bytes = cases[i].offset_bytes,
        };
        struct firn_row_group row_group = { .chunk_count = 1, .chunks = &chunk };
        struct firn_page_index_reader *reader = firn_page_index_reader_new(op->arena, &row_group, FILE_BYTES);
        atomic_uint_fast64_t count;
        atomic_init(&count, 0);
        for (int turn = 0; turn < 2; turn++) {
            bool columns = gives(op, reader, object, firn_column_index_range(&chunk, FILE_BYTES), &count);
            bool offsets = gives(op, reader, object, firn_offset_index_range(&chunk, FILE_BYTES), &count);
            CHECK(columns == cases[i].has_columns && offsets == cases[i].has_offsets, "case %zu", i);
            CHECK(atomic_load(&count) == cases[i].request_count, "case %zu", i);
        }
    }
    firn_object_close(object);
    firn_store_close(store);
    firn_buffer_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(small_files_have_their_indexes_in_memory),
        TEST(indexes_of_large_files_are_read_once_for_all_columns),
        TEST(broken_indexes_are_left_out),
        TEST(manifests_tell_that_there_is_no_nan),
        TEST(indexes_that_lie_far_apart_are_two_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
