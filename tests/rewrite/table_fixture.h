/* A table of numbered rows for the tests of whole groups: files made of row numbers, deletes of every kind, and a check
 * that exactly the rows that are not deleted came out, with everything they hold. */
#ifndef FIRN_TESTS_REWRITE_TABLE_FIXTURE_H
#define FIRN_TESTS_REWRITE_TABLE_FIXTURE_H

#include "fixture.h"

#include "format/puffin/deletion_vector.h"
#include "support/seeds.h"

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

enum { FILES_MAX = 8, LEAVES_MAX = 5, GROUPS_MAX = 4, ROWS_MAX = 64, PIECES_MAX = 5, BINS_MAX = 3, NOISE_ROWS = 4000 };

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

static inline void begin(struct table_test *test, struct firn_op *op, const char *schema)
{
    *test = (struct table_test){ .op = op, .schema = fixture_schema(op, schema) };
    CHECK_OK(op, firn_store_open_memory(op, &test->store));
}

/* Rows as texts. ------------------------------------------------------------------------------------------------- */

static inline void append(struct firn_op *op, struct firn_buffer *out, const char *text)
{
    CHECK_OK(op, firn_buffer_append(op, out, text, strlen(text)));
}

static inline uint32_t hash_of(int64_t row, uint32_t salt)
{
    uint64_t mixed = ((uint64_t)row * 64 + salt + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 33);
}

/* The words of one element of `deep`; `rep` is that of the element. */
static inline const char *words_of(struct firn_op *op, int64_t row, uint32_t element, int rep)
{
    uint32_t kind = hash_of(row, 20 + element) % 5;
    if (kind < 2)
        return firn_text_format(op->arena, "%d.%d ", rep, 3 + (int)kind).data;
    const char *text = firn_text_format(op->arena, "%d.6=w%u ", rep, hash_of(row, element) % 50).data;
    for (uint32_t i = 2; i < kind; i++)
        text = firn_text_format(op->arena, "%s2.%s ", text, i % 2 ? "5" : "6=more").data;
    return text;
}

static inline void deep_of(struct firn_op *op, int64_t row, const char **numbers, const char **words)
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

static inline void print_row(struct firn_op *op, int64_t row, struct firn_buffer out[LEAVES_MAX])
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

static inline const char *take_text(struct firn_op *op, struct firn_buffer *buffer)
{
    struct firn_text copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(buffer)));
    firn_buffer_done(buffer);
    return copy.data;
}

static const char *const leaf_names[LEAVES_MAX] = {
    "id", "name", "point.x", "deep.list.element.number", "deep.list.element.words.list.element",
};

/* A file of row groups of the sizes given; its rows are the next ones. */
static inline struct firn_data_file *add_file(struct table_test *test, const int *group_rows, size_t groups,
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

static inline struct firn_manifest_entry *add_delete(struct table_test *test, const char *schema,
                                                     const char *const *columns, int64_t sequence_number,
                                                     enum firn_content content)
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
static inline void delete_by_positions(struct table_test *test)
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
static inline void delete_by_vectors(struct table_test *test)
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

static inline void delete_by_keys(struct table_test *test)
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
static inline struct fixture_run run_of(struct table_test *test, const struct fixture_table *table)
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

static inline const char *dump_file(struct table_test *test, const struct firn_rewrite_result *result, uint32_t file,
                                    const char *leaf)
{
    struct firn_rewrite_result one = { .files = &result->files[file], .file_count = 1 };
    return fixture_dump(test->op, test->store, &one, leaf);
}

static inline void check_same(const char *got, const char *expected, uint64_t seed, const char *leaf)
{
    size_t len = strlen(expected);
    while (len > 0 && expected[len - 1] == ' ')
        len--;
    CHECK(strlen(got) == len && memcmp(got, expected, len) == 0, "seed %" PRIu64 ": %s is '%.300s', not '%.300s'", seed,
          leaf, got, expected);
}

static inline void check_lineage(struct table_test *test, const struct firn_rewrite_result *result, uint32_t file,
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
static inline void check_partition(struct table_test *test, const struct firn_data_file *file, int64_t row,
                                   uint64_t seed)
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
    struct firn_row_place items[FILES_MAX * NOISE_ROWS];
    bool found[FILES_MAX * NOISE_ROWS];
};

static inline int64_t check_file(struct table_test *test, const struct firn_rewrite_result *result, uint32_t file,
                                 struct places *places, uint64_t seed)
{
    struct firn_op *op = test->op;
    struct firn_buffer expected[LEAVES_MAX] = { 0 };
    int64_t *rows = FIRN_NEW_ARRAY(op->arena, int64_t, FILES_MAX * NOISE_ROWS);
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

static inline void check_map(struct table_test *test, const struct firn_row_map *map, const struct places *places,
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

/* Exactly the rows that are not deleted are there, each once and whole. Gives where. */
static inline struct places *check_rows(struct table_test *test, const struct firn_rewrite_result *result,
                                        uint64_t seed)
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
    return places;
}

/* And the map knows where they are. */
static inline void check_result(struct table_test *test, const struct firn_rewrite_result *result, uint64_t seed)
{
    const struct places *places = check_rows(test, result, seed);
    CHECK(result->row_map, "seed %" PRIu64 ": no map", seed);
    check_map(test, result->row_map, places, seed);
}

static inline void delete_rows(struct table_test *test, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++)
        test->deleted[i] = true;
}

struct dice {
    uint64_t state;
};

static inline uint32_t roll(struct dice *dice, uint32_t sides)
{
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((dice->state ^ dice->state >> 29) >> 16) % sides;
}

/* Calls `run` with `count` seeds, each with an arena of its own. */
static inline void run_trials(struct firn_op *op, void (*run)(struct firn_op *, struct firn_pool *, uint64_t),
                              uint64_t count)
{
    struct firn_pool *pool;
    CHECK_OK(op, firn_pool_open(op, 3, &pool));
    struct test_seeds seeds = test_seeds(op, 1, count);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct firn_arena arena;
        struct firn_op trial;
        firn_arena_init(&arena);
        firn_op_init(&trial, &arena, op->env);
        run(&trial, pool, seed);
        firn_arena_done(&arena);
    }
    firn_pool_close(pool);
}

static inline void add_any_file(struct table_test *test, struct dice *dice)
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
static inline void delete_any_rows(struct table_test *test, struct dice *dice)
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
static inline void deal_pieces(struct table_test *test, struct dice *dice, struct fixture_run *run)
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

#endif
