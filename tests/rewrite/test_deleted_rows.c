/* Rows deleted while a group is rewritten: exactly the named rows go, and the row map says where all others went. */
#include "fixture.h"

#include "../support/fault_store.h"
#include "format/puffin/deletion_vector.h"

#define FIELD(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"
#define LIST(id, type)        "{\"type\":\"list\",\"element-id\":" #id ",\"element-required\":false,\"element\":" type "}"
#define STRUCT(fields)        "{\"type\":\"struct\",\"fields\":[" fields "]}"
#define TABLE(fields)         "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[" fields "]}"
#define ID                    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"}"
#define PLAIN                 TABLE(ID)
#define NESTED                                                                                                         \
    TABLE(ID "," FIELD(2, "name", "\"string\"") "," FIELD(3, "point", STRUCT(FIELD(4, "x", "\"double\""))) "," FIELD(  \
        5, "deep", LIST(6, STRUCT(FIELD(7, "number", "\"int\"") "," FIELD(8, "words", LIST(9, "\"string\""))))))
#define POSITIONS TABLE(FIELD(2147483546, "file_path", "\"string\"") "," FIELD(2147483545, "pos", "\"long\""))
#define BUCKETS                                                                                                        \
    "{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":[{\"source-id\":1,\"field-id\":1000,\"name\":\"b\","      \
    "\"transform\":\"bucket[3]\"}]}"

enum {
    FILES_MAX = 8,
    LEAVES_MAX = 5,
    GROUPS_MAX = 4,
    ROWS_MAX = 64,
    PIECES_MAX = 5,
    BINS_MAX = 3,
    TRIALS = 60,
    NOISE_ROWS = 4000
};

/* A table whose rows are numbered from 0 on, through all files; the number is the row's id and decides all else. */
struct table_test {
    struct firn_op *op;
    struct firn_store *store;
    struct firn_output_schema schema;
    struct firn_manifest_entry data[FILES_MAX], deletes[FILES_MAX + 2];
    struct firn_data_file files[FILES_MAX];
    int64_t sequence_numbers[FILES_MAX], first_rows[FILES_MAX + 1];
    struct firn_delete_match matches[FILES_MAX];
    uint32_t file_count, delete_count;
    bool deleted[FILES_MAX * NOISE_ROWS];
};

static void begin(struct table_test *test, struct firn_op *op, const char *schema)
{
    *test = (struct table_test){ .op = op, .schema = fixture_schema(op, schema) };
    CHECK_OK(op, firn_store_open_memory(op, &test->store));
}

/* Rows as texts. ------------------------------------------------------------------------------------------------- */

static void append(struct firn_op *op, struct firn_buffer *out, const char *text)
{
    CHECK_OK(op, firn_buffer_append(op, out, text, strlen(text)));
}

static uint32_t hash_of(int64_t row, uint32_t salt)
{
    uint64_t mixed = ((uint64_t)row * 64 + salt + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 33);
}

/* The words of one element of `deep`; `rep` is that of the element. */
static const char *words_of(struct firn_op *op, int64_t row, uint32_t element, int rep)
{
    uint32_t kind = hash_of(row, 20 + element) % 5;
    if (kind < 2)
        return firn_text_format(op->arena, "%d.%d ", rep, 3 + (int)kind).data;
    const char *text = firn_text_format(op->arena, "%d.6=w%u ", rep, hash_of(row, element) % 50).data;
    for (uint32_t i = 2; i < kind; i++)
        text = firn_text_format(op->arena, "%s2.%s ", text, i % 2 ? "5" : "6=more").data;
    return text;
}

static void deep_of(struct firn_op *op, int64_t row, const char **numbers, const char **words)
{
    uint32_t kind = hash_of(row, 3) % 6;
    *numbers = *words = kind == 0 ? "0.0 " : kind == 1 ? "0.1 " : "";
    for (uint32_t i = 1; i < kind; i++) {
        int rep = i > 1;
        if (hash_of(row, 10 + i) % 4 == 0) {
            *numbers = firn_text_format(op->arena, "%s%d.2 ", *numbers, rep).data;
            *words = firn_text_format(op->arena, "%s%d.2 ", *words, rep).data;
            continue;
        }
        int number = (int)(row * 10 + i);
        *numbers = number % 3 ? firn_text_format(op->arena, "%s%d.4=%d ", *numbers, rep, number).data
                              : firn_text_format(op->arena, "%s%d.3 ", *numbers, rep).data;
        *words = firn_text_format(op->arena, "%s%s", *words, words_of(op, row, i, rep)).data;
    }
}

static void print_row(struct firn_op *op, int64_t row, struct firn_buffer out[LEAVES_MAX])
{
    const char *texts[LEAVES_MAX];
    texts[0] = firn_text_format(op->arena, "%" PRId64 " ", row).data;
    texts[1] = hash_of(row, 1) % 3 ? firn_text_format(op->arena, "n-%u ", hash_of(row, 1) % 40).data : "~ ";
    texts[2] = hash_of(row, 2) % 3 ? firn_text_format(op->arena, "%" PRId64 " ", row).data
                                   : (hash_of(row, 2) % 2 ? "~ " : "~.0 ");
    deep_of(op, row, &texts[3], &texts[4]);
    for (int i = 0; i < LEAVES_MAX; i++)
        append(op, &out[i], texts[i]);
}

static const char *take_text(struct firn_op *op, struct firn_buffer *buffer)
{
    struct firn_text copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(buffer)));
    firn_buffer_done(buffer);
    return copy.data;
}

static const char *const leaf_names[LEAVES_MAX] = {
    "id", "name", "point.x", "deep.list.element.number", "deep.list.element.words.list.element",
};

/* A file of row groups of the sizes given; its rows are the next ones. */
static struct firn_data_file *add_file(struct table_test *test, const int *group_rows, size_t groups,
                                       struct firn_chunk_options options)
{
    struct firn_op *op = test->op;
    uint32_t leaves = test->schema.leaf_count, index = test->file_count++;
    const char *columns[GROUPS_MAX * LEAVES_MAX];
    const char *path = firn_text_format(op->arena, "mem:/t/data/in-%u.parquet", index).data;
    int64_t row = test->first_rows[index];
    for (size_t g = 0; g < groups; g++) {
        struct firn_buffer texts[LEAVES_MAX] = { 0 };
        for (int i = 0; i < group_rows[g]; i++)
            print_row(op, row++, texts);
        for (uint32_t i = 0; i < LEAVES_MAX; i++) {
            const char *text = take_text(op, &texts[i]);
            if (i < leaves)
                columns[g * leaves + i] = text;
        }
    }
    int64_t bytes = fixture_write(op, test->store, path, test->schema.footer, columns, groups, options);
    test->first_rows[index + 1] = row;
    test->files[index] = fixture_file(path, bytes, row - test->first_rows[index]);
    test->sequence_numbers[index] = 1 + index % 3;
    return &test->files[index];
}

/* Deletes. ------------------------------------------------------------------------------------------------------- */

static struct firn_manifest_entry *add_delete(struct table_test *test, const char *schema, const char *const *columns,
                                              int64_t sequence_number, enum firn_content content)
{
    struct firn_op *op = test->op;
    struct firn_output_schema output = fixture_schema(op, schema);
    const char *path = firn_text_format(op->arena, "mem:/t/delete-%u.parquet", test->delete_count).data;
    int64_t bytes = fixture_write(op, test->store, path, output.footer, columns, 1, firn_chunk_options_default());
    struct firn_manifest_entry *entry = &test->deletes[test->delete_count++];
    *entry = (struct firn_manifest_entry){ .sequence_number = sequence_number, .file = fixture_file(path, bytes, -1) };
    entry->file.content = content;
    return entry;
}

/* One position delete file for all data files; also names a row past the end of each. */
static void delete_by_positions(struct table_test *test)
{
    struct firn_op *op = test->op;
    struct firn_buffer paths = { 0 }, positions = { 0 };
    for (uint32_t f = 0; f < test->file_count; f++) {
        for (int64_t row = test->first_rows[f]; row <= test->first_rows[f + 1]; row++) {
            if (row < test->first_rows[f + 1] && !test->deleted[row])
                continue;
            append(op, &paths, firn_text_format(op->arena, "mem:/t/data/in-%u.parquet ", f).data);
            append(op, &positions, firn_text_format(op->arena, "%" PRId64 " ", row - test->first_rows[f]).data);
        }
    }
    const char *columns[] = { take_text(op, &paths), take_text(op, &positions) };
    add_delete(test, POSITIONS, columns, 7, FIRN_CONTENT_POSITION_DELETES);
}

/* A vector a file, all in one Puffin file; each names a row past the end, too. */
static void delete_by_vectors(struct table_test *test)
{
    struct firn_op *op = test->op;
    struct firn_puffin_writer *writer;
    struct firn_buffer bytes = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&bytes);
    CHECK_OK(op, firn_puffin_writer_open(op, &sink, &writer));
    for (uint32_t f = 0; f < test->file_count; f++) {
        struct firn_positions *set;
        struct firn_puffin_blob blob;
        CHECK_OK(op, firn_positions_new(op, &set));
        for (int64_t row = test->first_rows[f]; row <= test->first_rows[f + 1]; row++)
            if (row == test->first_rows[f + 1] || test->deleted[row])
                CHECK_OK(op, firn_positions_add(op, set, row - test->first_rows[f]));
        CHECK_OK(op, firn_deletion_vector_write(op, writer, set, test->files[f].path, &blob));
        struct firn_manifest_entry *entry = &test->deletes[test->delete_count++];
        *entry = (struct firn_manifest_entry){ .sequence_number = 7, .file = fixture_file("mem:/t/v.puffin", 1, -1) };
        entry->file.record_count = (int64_t)firn_positions_count(set);
        entry->file.content = FIRN_CONTENT_POSITION_DELETES;
        entry->file.format = FIRN_FILE_PUFFIN;
        entry->file.referenced_data_file = test->files[f].path;
        entry->file.content_offset = blob.offset;
        entry->file.content_bytes = blob.length;
    }
    CHECK_OK(op, firn_puffin_writer_finish(op, writer, NULL, 0, false));
    CHECK_OK(op, firn_store_put(op, test->store, FIRN_TEXT("mem:/t/v.puffin"), false, firn_buffer_bytes(&bytes)));
    firn_buffer_done(&bytes);
}

static void delete_by_keys(struct table_test *test)
{
    struct firn_op *op = test->op;
    static int32_t ids[] = { 1 };
    struct firn_buffer keys = { 0 };
    for (int64_t row = 0; row < test->first_rows[test->file_count]; row++)
        if (test->deleted[row])
            append(op, &keys, firn_text_format(op->arena, "%" PRId64 " ", row).data);
    const char *columns[] = { take_text(op, &keys) };
    struct firn_manifest_entry *entry = add_delete(test, PLAIN, columns, 7, FIRN_CONTENT_EQUALITY_DELETES);
    entry->file.equality_ids = ids;
    entry->file.equality_id_count = 1;
}

/* Matches the deletes and makes a run of all files. */
static struct fixture_run run_of(struct table_test *test, const struct fixture_table *table)
{
    struct firn_op *op = test->op;
    struct firn_metadata *metadata = fixture_metadata(op, table);
    const struct firn_manifest_entry *deletes[FILES_MAX + 2];
    struct firn_delete_index *index;
    for (uint32_t i = 0; i < test->delete_count; i++)
        deletes[i] = &test->deletes[i];
    CHECK_OK(op, firn_delete_index_new(op, metadata, deletes, test->delete_count, &index));
    for (uint32_t i = 0; i < test->file_count; i++) {
        test->data[i] = (struct firn_manifest_entry){
            .status = FIRN_ENTRY_ADDED,
            .sequence_number = test->sequence_numbers[i],
            .file = test->files[i],
        };
        CHECK_OK(op, firn_delete_index_match(op, index, &test->data[i], &test->matches[i]));
    }
    return (struct fixture_run){
        .metadata = metadata,
        .store = test->store,
        .files = test->files,
        .file_count = test->file_count,
        .sequence_numbers = test->sequence_numbers,
        .deletes = test->matches,
        .row_map_bytes_max = UINT64_C(1) << 20,
    };
}

/* Checks. -------------------------------------------------------------------------------------------------------- */

static const char *dump_file(struct table_test *test, const struct firn_rewrite_result *result, uint32_t file,
                             const char *leaf)
{
    struct firn_rewrite_result one = { .files = &result->files[file], .file_count = 1 };
    return fixture_dump(test->op, test->store, &one, leaf);
}

static void check_same(const char *got, const char *expected, uint64_t seed, const char *leaf)
{
    size_t len = strlen(expected);
    while (len > 0 && expected[len - 1] == ' ')
        len--;
    CHECK(strlen(got) == len && memcmp(got, expected, len) == 0, "seed %" PRIu64 ": %s is '%.300s', not '%.300s'", seed,
          leaf, got, expected);
}

static void check_lineage(struct table_test *test, const struct firn_rewrite_result *result, uint32_t file,
                          const int64_t *rows, size_t count, uint64_t seed)
{
    struct firn_op *op = test->op;
    struct firn_buffer ids = { 0 }, numbers = { 0 };
    for (size_t i = 0; i < count; i++) {
        uint32_t input = 0;
        while (rows[i] >= test->first_rows[input + 1])
            input++;
        int64_t first = test->files[input].first_row_id;
        append(op, &ids, firn_text_format(op->arena, "%" PRId64 " ", first + rows[i] - test->first_rows[input]).data);
        append(op, &numbers, firn_text_format(op->arena, "%" PRId64 " ", test->sequence_numbers[input]).data);
    }
    check_same(dump_file(test, result, file, "_row_id"), take_text(op, &ids), seed, "_row_id");
    check_same(dump_file(test, result, file, "_last_updated_sequence_number"), take_text(op, &numbers), seed,
               "sequence number");
}

/* Rows lie in the partition that the transform of their id gives. */
static void check_partition(struct table_test *test, const struct firn_data_file *file, int64_t row, uint64_t seed)
{
    struct firn_op *op = test->op;
    static const struct firn_transform buckets = { .id = FIRN_TRANSFORM_BUCKET, .width = 3 };
    struct firn_type type = { .id = FIRN_TYPE_LONG };
    struct firn_value id = { .type = FIRN_TYPE_LONG, .integer = row }, bucket;
    if (file->spec_id == 0)
        return;
    CHECK_OK(op, firn_transform_apply(op, &buckets, &type, &id, &bucket));
    CHECK(bucket.integer == file->partition.values[0].integer, "seed %" PRIu64 ": row %" PRId64, seed, row);
}

/* The places of all rows: file and position, found by reading what was written. */
struct places {
    struct firn_row_place items[FILES_MAX * GROUPS_MAX * ROWS_MAX];
    bool found[FILES_MAX * GROUPS_MAX * ROWS_MAX];
};

static int64_t check_file(struct table_test *test, const struct firn_rewrite_result *result, uint32_t file,
                          struct places *places, uint64_t seed)
{
    struct firn_op *op = test->op;
    struct firn_buffer expected[LEAVES_MAX] = { 0 };
    int64_t *rows = FIRN_NEW_ARRAY(op->arena, int64_t, FILES_MAX * GROUPS_MAX * ROWS_MAX);
    size_t count = 0;
    const char *at = dump_file(test, result, file, "id");
    for (char *end; *at; at = end) {
        int64_t row = strtoll(at, &end, 10);
        CHECK(row < test->first_rows[test->file_count] && !test->deleted[row] && !places->found[row],
              "seed %" PRIu64 ": row %" PRId64 " is deleted or there twice", seed, row);
        places->found[row] = true;
        places->items[row] = (struct firn_row_place){ file, (int64_t)count };
        rows[count++] = row;
        check_partition(test, &result->files[file], row, seed);
        print_row(op, row, expected);
    }
    for (uint32_t i = 0; i < LEAVES_MAX; i++) {
        const char *text = take_text(op, &expected[i]);
        if (i < test->schema.leaf_count)
            check_same(dump_file(test, result, file, leaf_names[i]), text, seed, leaf_names[i]);
    }
    if (test->files[0].first_row_id != FIRN_ABSENT)
        check_lineage(test, result, file, rows, count, seed);
    return (int64_t)count;
}

static void check_map(struct table_test *test, const struct firn_row_map *map, const struct places *places,
                      uint64_t seed)
{
    for (uint32_t f = 0; f < test->file_count; f++) {
        for (int64_t row = test->first_rows[f]; row <= test->first_rows[f + 1]; row++) {
            struct firn_row_place place;
            bool live = row < test->first_rows[f + 1] && !test->deleted[row];
            bool found = firn_row_map_find(map, f, row - test->first_rows[f], &place);
            CHECK(found == live, "seed %" PRIu64 ": row %" PRId64 " of file %u", seed, row - test->first_rows[f], f);
            CHECK(!live || (place.output == places->items[row].output && place.row == places->items[row].row),
                  "seed %" PRIu64 ": row %" PRId64 " is not at %u, %" PRId64, seed, row, place.output, place.row);
        }
    }
    for (size_t i = 1; i < map->count; i++) {
        const struct firn_row_run *a = &map->runs[i - 1], *b = &map->runs[i];
        CHECK(a->input < b->input || (a->input == b->input && a->input_row + a->row_count <= b->input_row),
              "seed %" PRIu64 ": runs %zu and %zu", seed, i - 1, i);
        CHECK(a->input != b->input || a->output != b->output || a->input_row + a->row_count != b->input_row ||
                  a->output_row + a->row_count != b->output_row,
              "seed %" PRIu64 ": runs %zu and %zu are one", seed, i - 1, i);
    }
}

/* Exactly the rows that are not deleted are there, each once and whole, and the map knows where. */
static void check_result(struct table_test *test, const struct firn_rewrite_result *result, uint64_t seed)
{
    struct places *places = FIRN_NEW(test->op->arena, struct places);
    int64_t all = test->first_rows[test->file_count], deleted = 0, written = 0;
    for (int64_t row = 0; row < all; row++)
        deleted += test->deleted[row];
    CHECK(result->rows_in == all && result->rows_deleted == deleted && result->rows_out == all - deleted,
          "seed %" PRIu64 ": %" PRId64 " in, %" PRId64 " of %" PRId64 " deleted, %" PRId64 " out", seed,
          result->rows_in, result->rows_deleted, deleted, result->rows_out);
    for (uint32_t f = 0; f < result->file_count; f++)
        written += check_file(test, result, f, places, seed);
    CHECK(written == all - deleted, "seed %" PRIu64, seed);
    CHECK(result->row_map, "seed %" PRIu64 ": no map", seed);
    check_map(test, result->row_map, places, seed);
}

/* Named cases. --------------------------------------------------------------------------------------------------- */

static void delete_rows(struct table_test *test, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++)
        test->deleted[i] = true;
}

/* R39 */
static void positions_count_from_the_start_of_the_file(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 50, 50, 50 };
    begin(&test, test_op(state), NESTED);
    uint64_t size = (uint64_t)add_file(&test, groups, 3, firn_chunk_options_default())->file_bytes;
    delete_rows(&test, 149, 1);
    delete_rows(&test, 50, 50); /* a whole row group */
    delete_rows(&test, 7, 1);
    delete_by_positions(&test);
    struct firn_rewrite_piece pieces[4];
    struct firn_rewrite_bin bins[4];
    for (uint32_t i = 0; i < 4; i++) { /* R40 */
        pieces[i] = (struct firn_rewrite_piece){ 0, size * i / 4, size * (i + 1) / 4 - size * i / 4 };
        bins[i] = (struct firn_rewrite_bin){ &pieces[i], 1 };
    }
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = NESTED });
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    assert_int_equal(result.row_map->count, 3);
    run.bins = bins;
    run.bin_count = 4;
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    assert_int_equal(result.file_count, 2);
    firn_store_close(test.store);
}

/* R12 */
static void nothing_is_left_of_a_file_deleted_as_a_whole(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 10 };
    begin(&test, test_op(state), PLAIN);
    add_file(&test, groups, 1, firn_chunk_options_default());
    add_file(&test, groups, 1, firn_chunk_options_default());
    delete_rows(&test, 0, 10);
    delete_rows(&test, 13, 1);
    delete_by_positions(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = PLAIN, .specs = BUCKETS });
    run.file_count = 1;
    for (run.output_spec_id = 0; run.output_spec_id < 2; run.output_spec_id++) {
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        CHECK(result.file_count == 0 && result.rows_in == 10 && result.rows_deleted == 10 && result.rows_out == 0,
              "%u files, %" PRId64 " rows", result.file_count, result.rows_out);
        CHECK(result.row_map && result.row_map->count == 0, "an empty map");
    }
    run.output_spec_id = 0;
    run.file_count = 2;
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    firn_store_close(test.store);
}

/* R37: a null in the key column is not 5, but null is null. */
static void a_null_key_deletes_rows_with_null_only(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const char *const rows[] = { "1 ~ 5" }, *const five[] = { "5" }, *const null[] = { "~" };
    static const char schema[] = TABLE(FIELD(1, "id", "\"long\""));
    static int32_t ids[] = { 1 };
    begin(&test, test_op(state), schema);
    int64_t bytes = fixture_write(test.op, test.store, "mem:/t/data/in-0.parquet", test.schema.footer, rows, 1,
                                  firn_chunk_options_default());
    test.files[test.file_count++] = fixture_file("mem:/t/data/in-0.parquet", bytes, 3);
    test.sequence_numbers[0] = 1;
    for (int i = 0; i < 2; i++) {
        struct firn_manifest_entry *entry =
            add_delete(&test, schema, i ? null : five, 2 + i, FIRN_CONTENT_EQUALITY_DELETES);
        entry->file.equality_ids = ids;
        entry->file.equality_id_count = 1;
        struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = schema });
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        check_same(fixture_dump(test.op, test.store, &result, "id"), i ? "1" : "1 ~", 0, "id");
    }
    firn_store_close(test.store);
}

/* R38: equality deletes reach strictly older files, position deletes also those of their own commit. */
static void deletes_reach_files_by_their_sequence_number(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 4 };
    static const int64_t sequence_numbers[] = { 6, 7, 8 };
    for (int by_keys = 0; by_keys < 2; by_keys++) {
        begin(&test, test_op(state), PLAIN);
        for (int i = 0; i < 3; i++) {
            add_file(&test, groups, 1, firn_chunk_options_default());
            test.sequence_numbers[i] = sequence_numbers[i];
        }
        delete_rows(&test, 0, 12);
        by_keys ? delete_by_keys(&test) : delete_by_positions(&test);
        memset(test.deleted, 0, sizeof test.deleted);
        delete_rows(&test, 0, by_keys ? 4 : 8);
        struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = PLAIN });
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        check_result(&test, &result, 0);
        firn_store_close(test.store);
    }
}

static void a_map_that_is_too_large_is_given_up(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 60 };
    begin(&test, test_op(state), PLAIN);
    add_file(&test, groups, 1, firn_chunk_options_default());
    for (int64_t i = 0; i < 60; i += 2)
        delete_rows(&test, i, 1); /* 30 runs */
    delete_by_positions(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 2, .schemas = PLAIN });
    run.row_map_bytes_max = 30 * sizeof(struct firn_row_run);
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    check_result(&test, &result, 0);
    assert_int_equal(result.row_map->count, 30);
    for (int i = 0; i < 2; i++) {
        run.row_map_bytes_max = i ? 0 : run.row_map_bytes_max - 1;
        CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
        CHECK(!result.row_map && result.rows_out == 30, "a map of %" PRIu64 " bytes", run.row_map_bytes_max);
    }
    firn_store_close(test.store);
}

/* A delete that cannot be read is no reason to write the rows. */
static void an_unreadable_delete_fails_the_group(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const int groups[] = { 10 };
    size_t objects;
    begin(&test, test_op(state), PLAIN);
    add_file(&test, groups, 1, firn_chunk_options_default())->first_row_id = 0;
    delete_rows(&test, 3, 1);
    delete_by_vectors(&test);
    struct fixture_run run = run_of(&test, &(struct fixture_table){ .version = 3, .schemas = PLAIN });
    struct firn_bytes broken = { (const uint8_t *)"PFA1 but not the rest of it, which should be a vector", 53 };
    CHECK_OK(test.op, firn_store_put(test.op, test.store, FIRN_TEXT("mem:/t/v.puffin"), false, broken));
    CHECK_STATUS(test.op, FIRN_CORRUPT, fixture_execute(test.op, &run, &result));
    CHECK(strstr(test.op->error.text, "v.puffin"), "%s", test.op->error.text);
    run.sequence_numbers = NULL;
    CHECK_STATUS(test.op, FIRN_USAGE, fixture_execute(test.op, &run, &result));
    CHECK_OK(test.op, store_count(test.op, test.store, FIRN_TEXT("mem:/t"), &objects));
    assert_int_equal(objects, 2);
    firn_store_close(test.store);
}

static void add_noise_file(struct table_test *test, int rows)
{
    struct firn_op *op = test->op;
    struct firn_buffer ids = { 0 }, names = { 0 };
    for (int i = 0; i < rows; i++) {
        uint8_t noise[16];
        op->env->random(op->env->context, noise, sizeof noise);
        append(op, &ids, "7 ");
        append(op, &names, "0x");
        for (int b = 0; b < 16; b++)
            append(op, &names, firn_text_format(op->arena, b < 15 ? "%02x" : "%02x ", noise[b]).data);
    }
    const char *columns[] = { take_text(op, &ids), take_text(op, &names) };
    const char *path = firn_text_format(op->arena, "mem:/t/data/in-%u.parquet", test->file_count).data;
    int64_t bytes = fixture_write(op, test->store, path, test->schema.footer, columns, 1, firn_chunk_options_default());
    test->first_rows[test->file_count + 1] = test->first_rows[test->file_count] + rows;
    test->sequence_numbers[test->file_count] = 1;
    test->files[test->file_count++] = fixture_file(path, bytes, rows);
}

/* Files that lose most of their rows, in front, between files that lose none. */
static void row_groups_have_their_size_without_the_deleted_rows(void **state)
{
    struct table_test test;
    struct firn_rewrite_result result;
    static const char schema[] = TABLE(ID "," FIELD(2, "noise", "\"binary\""));
    begin(&test, test_op(state), schema);
    for (uint32_t i = 0; i < FILES_MAX; i++) { /* about 80 KB each */
        add_noise_file(&test, NOISE_ROWS);
        delete_rows(&test, test.first_rows[i], i % 3 ? 0 : NOISE_ROWS * 9 / 10);
    }
    delete_by_positions(&test);
    struct fixture_run run =
        run_of(&test, &(struct fixture_table){ .version = 2,
                                               .schemas = schema,
                                               .properties = "\"write.parquet.row-group-size-bytes\":\"50000\","
                                                             "\"write.parquet.page-size-bytes\":\"4096\"" });
    run.file_bytes_max = 200000;
    CHECK_OK(test.op, fixture_execute(test.op, &run, &result));
    assert_int_equal(result.rows_out, 5 * NOISE_ROWS + 3 * NOISE_ROWS / 10);
    for (uint32_t f = 0; f < result.file_count; f++) {
        const struct firn_data_file *file = &result.files[f];
        CHECK(file->file_bytes < 220000 && (file->file_bytes > 180000 || f + 1 == result.file_count),
              "file %u: %" PRId64, f, file->file_bytes);
        for (uint32_t g = 0; g + 1 < file->split_offset_count; g++) {
            int64_t bytes = file->split_offsets[g + 1] - file->split_offsets[g];
            CHECK(bytes > 40000 && bytes < 60000, "row group %u of file %u: %" PRId64, g, f, bytes);
        }
    }
    firn_store_close(test.store);
}

/* Any table, any deletes, any plan. ------------------------------------------------------------------------------ */

struct dice {
    uint64_t state;
};

static uint32_t roll(struct dice *dice, uint32_t sides)
{
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((dice->state ^ dice->state >> 29) >> 16) % sides;
}

static void add_any_file(struct table_test *test, struct dice *dice)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    int group_rows[GROUPS_MAX];
    size_t groups = roll(dice, GROUPS_MAX + 1);
    options.dictionary = roll(dice, 2);
    options.page_v2 = roll(dice, 2);
    options.page_rows_max = 1 + roll(dice, roll(dice, 2) ? 5 : 80);
    options.codec = roll(dice, 2) ? FIRN_CODEC_ZSTD : FIRN_CODEC_SNAPPY;
    for (size_t g = 0; g < groups; g++)
        group_rows[g] = (int)roll(dice, ROWS_MAX);
    add_file(test, group_rows, groups, options);
}

/* Some files lose nothing, some all, some single rows, some stretches. */
static void delete_any_rows(struct table_test *test, struct dice *dice)
{
    static const uint32_t percents[] = { 0, 1, 10, 50, 97, 100 };
    for (uint32_t f = 0; f < test->file_count; f++) {
        uint32_t percent = percents[roll(dice, 6)], stretch = roll(dice, 2) ? 1 : 1 + roll(dice, 30);
        for (int64_t row = test->first_rows[f]; row < test->first_rows[f + 1];) {
            bool is_deleted = roll(dice, 100) < percent;
            for (uint32_t i = 0; i < stretch && row < test->first_rows[f + 1]; i++)
                test->deleted[row++] = is_deleted;
        }
    }
}

/* Cuts every file into pieces and deals them to bins, in order. */
static void deal_pieces(struct table_test *test, struct dice *dice, struct fixture_run *run)
{
    struct firn_op *op = test->op;
    struct firn_rewrite_bin *bins = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_bin, BINS_MAX);
    for (uint32_t i = 0; i < BINS_MAX; i++)
        bins[i].pieces = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_piece, FILES_MAX * PIECES_MAX);
    for (uint32_t f = 0; f < test->file_count; f++) {
        uint64_t size = (uint64_t)test->files[f].file_bytes, offset = 0;
        for (uint32_t left = 1 + roll(dice, PIECES_MAX); left > 0; left--) {
            uint64_t length = left == 1 ? size - offset : roll(dice, (uint32_t)(size - offset) + 1);
            struct firn_rewrite_bin *bin = &bins[roll(dice, BINS_MAX)];
            bin->pieces[bin->piece_count++] = (struct firn_rewrite_piece){ f, offset, length };
            offset += length;
        }
    }
    run->bins = bins;
    run->bin_count = BINS_MAX;
}

static void rewrite_any(struct firn_op *op, struct firn_pool *pool, uint64_t seed)
{
    struct table_test *test = FIRN_NEW(op->arena, struct table_test);
    struct dice dice = { seed * UINT64_C(0x9e3779b97f4a7c15) };
    struct firn_rewrite_result result;
    const char *schema = roll(&dice, 4) ? NESTED : PLAIN;
    int version = 2 + (int)roll(&dice, 2);
    begin(test, op, schema);
    uint32_t file_count = 1 + roll(&dice, FILES_MAX);
    for (uint32_t i = 0; i < file_count; i++)
        add_any_file(test, &dice);
    for (uint32_t i = 0; i < file_count; i++)
        test->files[i].first_row_id = version == 3 ? 1000 * (int64_t)i : FIRN_ABSENT;
    delete_any_rows(test, &dice);
    if (roll(&dice, 4) == 0)
        delete_by_keys(test);
    else
        version == 3 ? delete_by_vectors(test) : delete_by_positions(test);
    struct fixture_run run =
        run_of(test, &(struct fixture_table){
                         .version = version,
                         .schemas = schema,
                         .specs = BUCKETS,
                         .properties = roll(&dice, 2) ? "\"write.parquet.row-group-size-bytes\":\"400\"" : NULL });
    run.pool = roll(&dice, 2) ? pool : NULL;
    run.output_spec_id = (int32_t)roll(&dice, 2);
    run.file_bytes_max = roll(&dice, 2) ? 900 : 0;
    static const uint64_t memory[] = { 10000, 0, UINT64_C(4) << 30 }; /* several passes; one; bins side by side */
    run.memory_bytes_max = memory[roll(&dice, 3)];
    run.counts_only = roll(&dice, 4) == 0;
    if (roll(&dice, 2))
        deal_pieces(test, &dice, &run);
    run.layout.layout = roll(&dice, FIRN_LAYOUT_COUNT);
    run.layout.is_forced = roll(&dice, 2);
    run.layout.forced = roll(&dice, FIRN_RUNG_COUNT);
    firn_status status = fixture_execute(op, &run, &result);
    CHECK(status == FIRN_OK, "seed %" PRIu64 ": %s", seed, op->error.text);
    check_result(test, &result, seed);
    firn_store_close(test->store);
}

static void exactly_the_named_rows_go(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_pool *pool;
    CHECK_OK(op, firn_pool_open(op, 3, &pool));
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct firn_arena arena;
        struct firn_op trial;
        firn_arena_init(&arena);
        firn_op_init(&trial, &arena, op->env);
        rewrite_any(&trial, pool, seed);
        firn_arena_done(&arena);
    }
    firn_pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(positions_count_from_the_start_of_the_file),
        TEST(nothing_is_left_of_a_file_deleted_as_a_whole),
        TEST(a_null_key_deletes_rows_with_null_only),
        TEST(deletes_reach_files_by_their_sequence_number),
        TEST(a_map_that_is_too_large_is_given_up),
        TEST(an_unreadable_delete_fails_the_group),
        TEST(row_groups_have_their_size_without_the_deleted_rows),
        TEST(exactly_the_named_rows_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
