/* Groups whose inputs are in order already, or are said to be: the rows before are the rows after, in order, whether
 * they are merged, put one behind the other or, where what is said is wrong, sorted; in any memory, with any threads.
 */
#include "order_fixture.h"

enum { TRIALS = 100, INPUTS_MAX = 200 };

/* Inputs made of the files of a table: some sorted, as runs, some as they were. */
struct inputs {
    struct firn_data_file files[INPUTS_MAX];
    uint32_t runs[INPUTS_MAX]; /* of each, or FIRN_NO_RUN */
    uint32_t count, run_count;
    bool has_liar; /* a run is not in order, perhaps */
};

static void add_input(struct inputs *inputs, const struct firn_data_file *file, uint32_t run)
{
    CHECK(inputs->count < INPUTS_MAX, "too many files");
    inputs->files[inputs->count] = *file;
    inputs->runs[inputs->count++] = run;
}

/* Sorts some neighbouring files of the table: the outputs are a run. */
static void add_run(struct table_test *test, const struct fixture_run *table, uint32_t first, uint32_t count,
                    struct inputs *inputs)
{
    struct fixture_run run = *table;
    struct firn_rewrite_result result;
    run.files = &test->files[first];
    run.sequence_numbers = &test->sequence_numbers[first];
    run.deletes = NULL;
    run.file_count = count;
    run.output_spec_id = 0;
    CHECK_OK(test->op, fixture_execute(test->op, &run, &result));
    for (uint32_t i = 0; i < result.file_count; i++) {
        if (test->files[0].first_row_id != FIRN_ABSENT) /* as a commit gives them */
            result.files[i].first_row_id = 1000000 + 1000 * (int64_t)inputs->count;
        add_input(inputs, &result.files[i], inputs->run_count);
    }
    inputs->run_count += result.file_count > 0;
}

/* A file as it was, which may be said to be sorted. */
static void add_as_it_was(struct table_test *test, uint32_t file, bool lies, struct inputs *inputs)
{
    add_input(inputs, &test->files[file], lies ? inputs->run_count++ : FIRN_NO_RUN);
    inputs->has_liar |= lies;
}

/* Two neighbours of a run in the wrong order. */
static void swap_any(struct dice *dice, struct inputs *inputs)
{
    uint32_t at = roll(dice, inputs->count - 1);
    struct firn_data_file file = inputs->files[at];
    uint32_t run = inputs->runs[at];
    inputs->has_liar |= run != FIRN_NO_RUN && run == inputs->runs[at + 1];
    inputs->files[at] = inputs->files[at + 1];
    inputs->runs[at] = inputs->runs[at + 1];
    inputs->files[at + 1] = file;
    inputs->runs[at + 1] = run;
}

static void make_inputs(struct table_test *test, struct dice *dice, const struct fixture_run *table,
                        struct inputs *inputs)
{
    uint32_t unsorted = roll(dice, 3) == 0 ? 3 : 0, liars = roll(dice, 6) == 0 ? 3 : 0;
    for (uint32_t at = 0; at < test->file_count;) {
        uint32_t count = 1 + roll(dice, test->file_count - at);
        bool lies = roll(dice, 4) < liars;
        if (lies || roll(dice, 4) < unsorted) {
            add_as_it_was(test, at++, lies, inputs);
            continue;
        }
        add_run(test, table, at, count, inputs);
        at += count;
    }
    if (inputs->count > 1 && roll(dice, 10) == 0)
        swap_any(dice, inputs);
}

/* A bin of all inputs, which says what their runs are. */
static struct firn_rewrite_bin *bin_of(struct firn_op *op, const struct inputs *inputs)
{
    struct firn_rewrite_bin *bin = FIRN_NEW(op->arena, struct firn_rewrite_bin);
    bin->pieces = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_piece, inputs->count);
    bin->piece_count = inputs->count;
    for (uint32_t i = 0; i < inputs->count; i++)
        bin->pieces[i] = (struct firn_rewrite_piece){ i, 0, (uint64_t)inputs->files[i].file_bytes };
    bin->piece_runs = inputs->runs;
    bin->run_count = inputs->run_count;
    return bin;
}

/* Deletes by keys apply to whatever file the rows are in now. */
static const struct firn_delete_match *match_deletes(struct table_test *test, const struct firn_metadata *metadata,
                                                     const struct inputs *inputs, const int64_t *sequence_numbers)
{
    struct firn_op *op = test->op;
    struct firn_delete_match *matches = FIRN_NEW_ARRAY(op->arena, struct firn_delete_match, inputs->count);
    const struct firn_manifest_entry *deletes[] = { &test->deletes[0] };
    struct firn_delete_index *index;
    CHECK_OK(op, firn_delete_index_new(op, metadata, deletes, test->delete_count, &index));
    for (uint32_t i = 0; i < inputs->count; i++) {
        struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
        *entry = (struct firn_manifest_entry){ .status = FIRN_ENTRY_ADDED,
                                               .sequence_number = sequence_numbers[i],
                                               .file = inputs->files[i] };
        CHECK_OK(op, firn_delete_index_match(op, index, entry, &matches[i]));
    }
    return matches;
}

static void merge_inputs(struct table_test *test, struct dice *dice, struct fixture_run run,
                         const struct inputs *inputs, const struct order_case *order, uint64_t seed)
{
    struct firn_op *op = test->op;
    struct firn_rewrite_result result;
    int64_t *sequence_numbers = FIRN_NEW_ARRAY(op->arena, int64_t, inputs->count);
    for (uint32_t i = 0; i < inputs->count; i++)
        sequence_numbers[i] = test->sequence_numbers[0]; /* files of version 3 carry the rows' own */
    run.files = inputs->files;
    run.file_count = inputs->count;
    run.bins = bin_of(op, inputs);
    run.bin_count = 1;
    run.sequence_numbers = sequence_numbers;
    run.deletes = match_deletes(test, run.metadata, inputs, sequence_numbers);
    run.output_spec_id = roll(dice, 8) == 0;
    run.file_bytes_max = roll(dice, 2) ? 900 : 0;
    static const uint64_t memory[] = { 4000, 40000, 1000000, 8000000, 0 };
    run.memory_bytes_max = memory[roll(dice, 5)];
    run.counts_only = roll(dice, 4) == 0;
    firn_status status = fixture_execute(op, &run, &result);
    CHECK(status == FIRN_OK, "seed %" PRIu64 ": %s", seed, op->error.text);
    check_rows(test, &result, seed);
    check_order(test, &result, order, true, seed);
    bool is_easy = run.memory_bytes_max == 0 && run.output_spec_id == 0 && !inputs->has_liar;
    for (uint32_t i = 0; i < inputs->count; i++)
        is_easy &= inputs->runs[i] != FIRN_NO_RUN;
    CHECK(!is_easy || inputs->count == 0 || result.sort_ways[FIRN_SORT_WAY_SORTED] == 0, "seed %" PRIu64, seed);
    CHECK(!is_easy || result.sort_ways[FIRN_SORT_WAY_CONCATENATED] == (inputs->run_count == 1), "seed %" PRIu64, seed);
}

static void merge_any(struct firn_op *op, struct firn_pool *pool, uint64_t seed)
{
    struct table_test *test = FIRN_NEW(op->arena, struct table_test);
    struct inputs *inputs = FIRN_NEW(op->arena, struct inputs);
    struct dice dice = { seed * UINT64_C(0x9e3779b97f4a7c15) };
    bool nested = roll(&dice, 4);
    const struct order_case *order = &orders[roll(&dice, nested ? FIRN_COUNT_OF(orders) : 4)];
    int version = 2 + (int)roll(&dice, 2);
    begin(test, op, nested ? NESTED : PLAIN);
    uint32_t file_count = 1 + roll(&dice, FILES_MAX);
    for (uint32_t i = 0; i < file_count; i++)
        add_any_file(test, &dice);
    for (uint32_t i = 0; i < file_count; i++) {
        test->files[i].first_row_id = version == 3 ? 1000 * (int64_t)i : FIRN_ABSENT;
        test->sequence_numbers[i] = 2;
    }
    struct fixture_run run =
        run_of(test, &(struct fixture_table){
                         .version = version,
                         .schemas = nested ? NESTED : PLAIN,
                         .specs = BUCKETS,
                         .properties = roll(&dice, 2) ? "\"write.parquet.row-group-size-bytes\":\"400\"" : NULL });
    run.ordering = &order->ordering;
    run.pool = roll(&dice, 2) ? pool : NULL;
    run.file_bytes_max = roll(&dice, 2) ? 900 : 0;
    make_inputs(test, &dice, &run, inputs);
    if (roll(&dice, 2)) {
        delete_any_rows(test, &dice);
        delete_by_keys(test);
    }
    merge_inputs(test, &dice, run, inputs, order, seed);
    firn_store_close(test->store);
}

static void merged_rows_are_the_same_and_in_order(void **state)
{
    run_trials(test_op(state), merge_any, TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(merged_rows_are_the_same_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
