/* Repeated runs with rewrite-unsorted-only end with files that are all in order and apart, whatever has no room in one
 * group, and in few runs. Runs are simulated over random files of keys. */
#include "check.h"

#include "base/math.h"
#include "maintain/rewrite_data_files.h"

#include <stdlib.h>

enum { TRIALS = 400, KEYS = 400, FILES_MAX = 400, ROWS_MAX = 100000, ROW_BYTES = 1000 };

static const char metadata_json[] =
    "{\"format-version\": 2, \"table-uuid\": \"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\": \"memory:/t\","
    "\"last-updated-ms\": 1700000000000, \"last-column-id\": 2, \"schemas\": [{\"type\": \"struct\", \"schema-id\": 0,"
    "\"fields\": [{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},"
    "{\"id\":2,\"name\":\"n\",\"required\":false,\"type\":\"long\"}]}], \"current-schema-id\": 0,"
    "\"partition-specs\": [{\"spec-id\": 0, \"fields\": []}], \"default-spec-id\": 0, \"last-partition-id\": 999,"
    "\"sort-orders\": [{\"order-id\": 0, \"fields\": []},{\"order-id\": 1, \"fields\": [{\"source-id\": 1,"
    "\"transform\": \"identity\", \"direction\": \"desc\", \"null-order\": \"nulls-last\"}, {\"source-id\": 2,"
    "\"transform\": \"identity\", \"direction\": \"asc\", \"null-order\": \"nulls-first\"}]}],"
    "\"default-sort-order-id\": 1, \"properties\": {}, \"snapshots\": [], \"snapshot-log\": [], \"metadata-log\": [],"
    "\"last-sequence-number\": 0}";

/* A row is id * KEYS + n. */
struct file {
    int *rows;
    int row_count;
    bool is_sorted;
    int64_t snapshot_id;
};

struct table {
    struct file files[FILES_MAX];
    int file_count;
    int64_t snapshot_id;           /* the last */
    int64_t output_ids[FILES_MAX]; /* snapshots of outputs */
    int output_id_count;
};

/* xorshift64*: the seed alone reproduces a trial. */
static int roll(uint64_t *state, uint64_t sides)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (int)((*state * UINT64_C(2685821657736338717) >> 16) % sides);
}

/* id descending, n ascending. */
static int compare_rows(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    if (left / KEYS != right / KEYS)
        return left / KEYS > right / KEYS ? -1 : 1;
    return (left > right) - (left < right);
}

static struct file *add_file(struct firn_op *op, struct table *table, int row_count)
{
    CHECK(table->file_count < FILES_MAX, "too many files");
    struct file *file = &table->files[table->file_count++];
    *file = (struct file){ .rows = FIRN_NEW_ARRAY(op->arena, int, (size_t)row_count), .row_count = row_count };
    file->snapshot_id = table->snapshot_id;
    return file;
}

/* One commit of files over a part of the keys, most of them sorted. */
static void append(struct firn_op *op, uint64_t *dice, struct table *table)
{
    int file_count = 1 + roll(dice, 20), ids = 1 + roll(dice, roll(dice, 2) ? KEYS : 5),
        first = roll(dice, KEYS - (uint64_t)ids + 1);
    table->snapshot_id++;
    for (int i = 0; i < file_count; i++) {
        struct file *file = add_file(op, table, 1 + roll(dice, 60));
        for (int row = 0; row < file->row_count; row++)
            file->rows[row] = (first + roll(dice, (uint64_t)ids)) * KEYS + roll(dice, KEYS);
        file->is_sorted = roll(dice, 4) > 0;
        if (file->is_sorted)
            qsort(file->rows, (size_t)file->row_count, sizeof(int), compare_rows);
    }
}

/* Manifests. */

static struct firn_bound_map bounds(struct firn_op *op, const struct file *file, bool is_upper)
{
    struct firn_bound_map map = { .count = 2, .present = true };
    int64_t ends[2] = { file->rows[0] / KEYS, file->rows[0] % KEYS };
    for (int i = 1; i < file->row_count; i++) {
        int64_t values[2] = { file->rows[i] / KEYS, file->rows[i] % KEYS };
        for (int f = 0; f < 2; f++)
            ends[f] = (values[f] > ends[f]) == is_upper ? values[f] : ends[f];
    }
    map.ids = FIRN_NEW_ARRAY(op->arena, int32_t, 2);
    map.values = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, 2);
    for (int f = 0; f < 2; f++) {
        uint8_t *bytes = firn_arena_alloc(op->arena, 8);
        firn_store_le64(bytes, (uint64_t)ends[f]);
        map.ids[f] = f + 1;
        map.values[f] = (struct firn_bytes){ bytes, 8 };
    }
    return map;
}

static struct firn_count_map no_nulls(struct firn_op *op)
{
    struct firn_count_map map = { .count = 2, .present = true };
    map.ids = FIRN_NEW_ARRAY(op->arena, int32_t, 2);
    map.counts = FIRN_NEW_ARRAY(op->arena, int64_t, 2);
    map.ids[0] = 1;
    map.ids[1] = 2;
    return map;
}

static void set_entry(struct firn_op *op, const struct file *file, int index, struct firn_scan_file *out)
{
    struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
    *entry = (struct firn_manifest_entry){
        .status = FIRN_ENTRY_ADDED,
        .snapshot_id = file->snapshot_id,
        .sequence_number = file->snapshot_id,
        .file = {
            .path = firn_text_format(op->arena, "memory:/t/data/%d.parquet", index),
            .format = FIRN_FILE_PARQUET,
            .record_count = file->row_count,
            .file_bytes = (int64_t)file->row_count * ROW_BYTES,
            .sort_order_id = file->is_sorted,
            .lower_bounds = bounds(op, file, false),
            .upper_bounds = bounds(op, file, true),
            .null_value_counts = no_nulls(op),
        },
    };
    out->entry = entry;
}

/* What a group has room for. */
struct room {
    int rows, files;
};

static struct firn_rewrite_plan *plan_of(struct firn_op *op, const struct table *table, struct room room)
{
    struct firn_rewrite_plan *plan = FIRN_NEW(op->arena, struct firn_rewrite_plan);
    struct firn_rewrite_history history = { 0 };
    const struct firn_property options[] = {
        { FIRN_TEXT("rewrite-unsorted-only"), FIRN_TEXT("true") },
        { FIRN_TEXT("target-file-size-bytes"), FIRN_TEXT("50000") },
        { FIRN_TEXT("max-file-group-size-bytes"), firn_text_format(op->arena, "%d", room.rows * ROW_BYTES) },
        { FIRN_TEXT("max-file-group-input-files"), firn_text_format(op->arena, "%d", room.files) },
    };
    struct firn_rewrite_data_files_args args = { .strategy = FIRN_TEXT("sort"),
                                                 .options = options,
                                                 .option_count = FIRN_COUNT_OF(options) };
    struct firn_metadata *metadata;
    CHECK_OK(op, firn_metadata_parse(op, firn_text_of(metadata_json), &metadata));
    plan->metadata = metadata;
    CHECK_OK(op, firn_rewrite_options_parse(op, metadata, &args, &plan->options));
    CHECK_OK(op, firn_rewrite_order_new(op, plan));
    plan->whole.file_count = plan->file_count = (uint32_t)table->file_count;
    plan->whole.files = FIRN_NEW_ARRAY(op->arena, struct firn_scan_file, plan->file_count);
    plan->files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, plan->file_count);
    for (uint32_t i = 0; i < plan->file_count; i++) {
        set_entry(op, &table->files[i], (int)i, &plan->whole.files[i]);
        plan->files[i].scan = &plan->whole.files[i];
    }
    firn_map_init(&history.snapshots, op->arena);
    for (int i = 0; i < table->output_id_count; i++)
        firn_rewrite_history_mark(&history, &table->output_ids[i], FIRN_SNAPSHOT_SETTLED);
    CHECK_OK(op, firn_rewrite_plan_choose(op, &history, plan));
    return plan;
}

/* Runs. */

/* Writes the rows of a group as the files that are expected, which end where the key changes. */
static void write_group(struct firn_op *op, const struct firn_planned_group *group, struct table *table)
{
    int *rows = FIRN_NEW_ARRAY(op->arena, int, FILES_MAX * 60), count = 0, end;
    for (uint32_t i = 0; i < group->file_count; i++) {
        struct file *file = &table->files[group->files[i]];
        memcpy(rows + count, file->rows, (size_t)file->row_count * sizeof(int));
        count += file->row_count;
        file->row_count = 0; /* gone */
    }
    qsort(rows, (size_t)count, sizeof(int), compare_rows);
    for (int at = 0; at < count; at = end) {
        end = FIRN_MIN(at + (int)group->file_rows, count);
        while (end < count && rows[end] == rows[end - 1])
            end++;
        struct file *file = add_file(op, table, end - at);
        memcpy(file->rows, rows + at, (size_t)file->row_count * sizeof(int));
        file->is_sorted = true;
    }
}

static void drop_gone(struct table *table)
{
    int kept = 0;
    for (int i = 0; i < table->file_count; i++)
        if (table->files[i].row_count > 0)
            table->files[kept++] = table->files[i];
    table->file_count = kept;
}

/* Gives how many groups were rewritten. */
static uint32_t run(struct firn_op *op, struct table *table, struct room room, bool partial_progress)
{
    const struct firn_rewrite_plan *plan = plan_of(op, table, room);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        if (i == 0 || partial_progress)
            table->output_ids[table->output_id_count++] = ++table->snapshot_id;
        write_group(op, plan->groups[i], table);
    }
    drop_gone(table);
    return plan->group_count;
}

static bool comes_before(const struct file *a, const struct file *b, bool may_meet)
{
    int last = a->rows[a->row_count - 1], first = b->rows[0];
    return compare_rows(&last, &first) <= 0 || (may_meet && last / KEYS == first / KEYS);
}

/* Files of one commit may meet in an id, since it is not known that it wrote several groups; files of several where not
 * all have room in a group. */
static void check_apart(const struct table *table, bool has_room, uint64_t seed)
{
    for (int i = 0; i < table->file_count; i++) {
        const struct file *a = &table->files[i];
        CHECK(a->is_sorted, "seed %" PRIu64 ": file %d is not sorted", seed, i);
        for (int k = 0; k < i; k++) {
            const struct file *b = &table->files[k];
            bool may_meet = !has_room || a->snapshot_id == b->snapshot_id;
            CHECK(comes_before(a, b, may_meet) || comes_before(b, a, may_meet),
                  "seed %" PRIu64 ": files %d and %d overlap", seed, i, k);
        }
    }
}

static void converge(struct firn_op *op, uint64_t seed)
{
    struct table *table = FIRN_NEW(op->arena, struct table);
    uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15);
    struct room room = { roll(&dice, 2) ? ROWS_MAX : 150 + roll(&dice, 1500), FILES_MAX };
    int runs = 0;
    bool partial_progress = roll(&dice, 2);
    for (int left = 1 + roll(&dice, 4); left > 0; left--) {
        append(op, &dice, table);
        if (roll(&dice, 2))
            run(op, table, room, partial_progress);
    }
    while (run(op, table, room, partial_progress) > 0)
        CHECK(++runs < 20, "seed %" PRIu64 ": no end, groups of %d rows", seed, room.rows);
    CHECK(room.rows < ROWS_MAX || runs <= 1, "seed %" PRIu64 ": %d runs, although there is room for all", seed, runs);
    check_apart(table, room.rows == ROWS_MAX, seed);
}

static void runs_end_with_files_apart(void **state)
{
    struct firn_op *op = test_op(state);
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct firn_arena arena;
        struct firn_op trial;
        firn_arena_init(&arena);
        firn_op_init(&trial, &arena, op->env);
        converge(&trial, seed);
        firn_arena_done(&arena);
    }
}

/* A run has each of two files exchange keys with one other: little more than the logarithm of their number is needed.
 */
static void groups_of_two_take_few_runs(void **state)
{
    enum { FILES = 64, FILE_ROWS = 50, RUNS_MAX = 14 };
    struct firn_op *op = test_op(state);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct table *table = FIRN_NEW(op->arena, struct table);
        uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15);
        int runs = 0;
        for (int i = 0; i < FILES; i++) {
            struct file *file = add_file(op, table, FILE_ROWS);
            for (int row = 0; row < FILE_ROWS; row++)
                file->rows[row] = roll(&dice, KEYS * KEYS);
            qsort(file->rows, FILE_ROWS, sizeof(int), compare_rows);
            file->is_sorted = true;
        }
        while (run(op, table, (struct room){ ROWS_MAX, 2 }, false) > 0)
            CHECK(++runs <= RUNS_MAX, "seed %" PRIu64 ": no end", seed);
        check_apart(table, false, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_end_with_files_apart),
        TEST(groups_of_two_take_few_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
