/* Repeated runs of rewrite_data_files end: after a run, the same settings plan nothing, however far the sizes of the
 * outputs are from what was predicted, and whatever delete files stay. Runs are simulated over random tables, deletes,
 * options and compression ratios. */
#include "maintain/plan_fixture.h"

enum { TRIALS = 400, OPTIONS_MAX = 8, FILES_MAX = 120 };

/* xorshift64*: the seed alone reproduces a trial. */
struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *dice, uint64_t sides)
{
    dice->state ^= dice->state >> 12;
    dice->state ^= dice->state << 25;
    dice->state ^= dice->state >> 27;
    return (dice->state * UINT64_C(2685821657736338717) >> 16) % sides;
}

static double roll_between(struct dice *dice, double low, double high)
{
    return low + (high - low) * (double)roll(dice, 100001) / 100000;
}

struct settings {
    struct firn_property options[OPTIONS_MAX];
    size_t count;
    int64_t target;
};

static void set(struct firn_op *op, struct settings *settings, const char *key, int64_t value)
{
    settings->options[settings->count++] =
        (struct firn_property){ firn_text_of(key), firn_text_format(op->arena, "%" PRId64, value) };
}

static struct settings roll_settings(struct firn_op *op, struct dice *dice)
{
    struct settings settings = { .target = (1 + (int64_t)roll(dice, 512)) * MEBIBYTE };
    set(op, &settings, "target-file-size-bytes", settings.target);
    if (roll(dice, 3) == 0)
        set(op, &settings, "min-file-size-bytes", (int64_t)((double)settings.target * roll_between(dice, 0.1, 0.99)));
    if (roll(dice, 3) == 0)
        set(op, &settings, "max-file-size-bytes", (int64_t)((double)settings.target * roll_between(dice, 1.02, 3)));
    if (roll(dice, 2) == 0)
        set(op, &settings, "min-input-files", 1 + (int64_t)roll(dice, 8));
    if (roll(dice, 3) == 0)
        set(op, &settings, "max-file-group-size-bytes",
            (int64_t)((double)settings.target * roll_between(dice, 0.5, 12)));
    if (roll(dice, 4) == 0)
        set(op, &settings, "max-file-group-input-files", 1 + (int64_t)roll(dice, 20));
    if (roll(dice, 3) == 0)
        set(op, &settings, "delete-file-threshold", (int64_t)roll(dice, 4));
    if (roll(dice, 3) == 0)
        settings.options[settings.count++] =
            (struct firn_property){ FIRN_TEXT("delete-ratio-threshold"), FIRN_TEXT("0.05") };
    return settings;
}

/* Vectors for some files, and delete files that cover partitions. */
static void add_deletes(struct firn_op *op, struct dice *dice, struct sim_table *table)
{
    FIRN_PUSH(op->arena, &table->snapshots, ((struct sim_snapshot){ 0 }));
    int64_t snapshot_id = (int64_t)table->snapshots.count;
    for (size_t i = 0; i < table->files.count; i++) {
        struct sim_file *file = &table->files.items[i];
        if (roll(dice, 8) > 0)
            continue;
        file->own_deleted_rows = 1 + (int64_t)roll(dice, (uint64_t)file->bytes / 10 + 1);
        file->own_snapshot_id = snapshot_id;
    }
    for (uint64_t count = roll(dice, 4); count > 0; count--)
        FIRN_PUSH(op->arena, &table->deletes,
                  ((struct sim_delete){ roll(dice, 2) == 0, (int32_t)roll(dice, 3), roll(dice, 10) == 0, snapshot_id,
                                        FIRN_FILE_PARQUET }));
}

static void add_files(struct firn_op *op, struct dice *dice, const struct settings *settings, struct sim_table *table)
{
    FIRN_PUSH(op->arena, &table->snapshots, ((struct sim_snapshot){ 0 }));
    int64_t snapshot_id = (int64_t)table->snapshots.count;
    size_t count = 1 + roll(dice, FILES_MAX);
    double largest = roll(dice, 2) ? 0.3 : 2.5;
    for (size_t i = 0; i < count; i++) {
        struct sim_file file = {
            .bytes = 1 + (int64_t)((double)settings->target * roll_between(dice, 0, largest)),
            .part = (int32_t)roll(dice, 3),
            .spec_id = roll(dice, 10) == 0,
            .snapshot_id = snapshot_id,
            .has_no_offsets = roll(dice, 6) == 0,
        };
        file.row_group_bytes = roll(dice, 2) ? 0 : 1 + settings->target / (1 + (int64_t)roll(dice, 4));
        FIRN_PUSH(op->arena, &table->files, file);
    }
}

/* Writes what a bin becomes: its bytes times `ratio`, in files that end at the first row group past the limit. */
static void write_bin(struct firn_op *op, const struct firn_rewrite_plan *plan, int64_t bytes, int64_t row_group_bytes,
                      struct sim_file like, struct sim_table *table)
{
    int64_t limit = firn_output_write_max(&plan->options.sizes);
    int64_t file_bytes = row_group_bytes * ((limit + row_group_bytes - 1) / row_group_bytes);
    while (bytes > 0) {
        like.bytes = FIRN_MIN(bytes, file_bytes);
        like.row_group_bytes = row_group_bytes;
        FIRN_PUSH(op->arena, &table->files, like);
        bytes -= like.bytes;
    }
}

/* Carries the plan out: chosen files leave with their vectors, outputs come, the snapshot records the run. Other delete
 * files stay, used or not. Survivors are shuffled: the order of a scan is no promise. */
static struct sim_table run(struct firn_op *op, struct dice *dice, const struct firn_rewrite_plan *plan,
                            const struct sim_table *before, double ratio_low, double ratio_high)
{
    struct sim_table after = { .snapshots = before->snapshots, .deletes = before->deletes };
    bool pins = roll(dice, 4) > 0;
    FIRN_PUSH(op->arena, &after.snapshots, ((struct sim_snapshot){ plan->shape, plan->settings, plan->snapshot->id }));
    int64_t row_group_bytes = 1 + plan->options.sizes.target_bytes / (1 + (int64_t)roll(dice, 5));
    for (uint32_t i = 0; i < plan->group_count; i++) {
        const struct firn_planned_group *group = plan->groups[i];
        struct sim_file like = {
            .part = before->files.items[group->files[0]].part,
            .spec_id = (int32_t)plan->options.output_spec_id,
            .snapshot_id = (int64_t)after.snapshots.count,
            .sequence_number = pins ? plan->snapshot->sequence_number : 0,
        };
        for (uint32_t j = 0; j < group->bin_count; j++) {
            double bytes = (double)group->bin_bytes[j] * roll_between(dice, ratio_low, ratio_high);
            write_bin(op, plan, FIRN_MAX((int64_t)bytes, 1), row_group_bytes, like, &after);
        }
    }
    for (uint32_t i = 0; i < plan->file_count; i++) {
        uint32_t group = plan->files[i].group;
        if (group == FIRN_NO_GROUP || plan->packed[group].verdict != FIRN_GROUP_CHOSEN)
            FIRN_PUSH(op->arena, &after.files, before->files.items[i]);
    }
    for (size_t i = after.files.count; i > 1; i--) {
        size_t other = roll(dice, i);
        struct sim_file file = after.files.items[i - 1];
        after.files.items[i - 1] = after.files.items[other];
        after.files.items[other] = file;
    }
    return after;
}

static void a_run_settles_a_table(void **state)
{
    struct firn_op *op = test_op(state);
    uint32_t planned_count = 0;
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct dice dice = { seed * UINT64_C(0x9e3779b97f4a7c15) };
        struct settings settings = roll_settings(op, &dice);
        struct sim_table table = { 0 };
        for (int round = 0; round < 3; round++) {
            add_files(op, &dice, &settings, &table);
            if (roll(&dice, 2))
                add_deletes(op, &dice, &table);
            const struct firn_rewrite_plan *plan = sim_plan(op, &table, settings.options, settings.count);
            if (plan->group_count == 0)
                continue;
            planned_count++;
            table = run(op, &dice, plan, &table, 0.2, 1.3);
            plan = sim_plan(op, &table, settings.options, settings.count);
            CHECK(plan->group_count == 0, "seed %" PRIu64 ", round %d: %u groups again, first of %u files", seed, round,
                  plan->group_count, plan->groups[0]->file_count);
        }
        firn_arena_reset(op->arena);
    }
    assert_true(planned_count > TRIALS);
}

/* Without a memory of earlier runs (their snapshots expired), and with outputs as large as predicted, runs end too. */
static void runs_end_without_history(void **state)
{
    struct firn_op *op = test_op(state);
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct dice dice = { seed * UINT64_C(0x9e3779b97f4a7c15) };
        struct settings settings = roll_settings(op, &dice);
        struct sim_table table = { 0 };
        add_files(op, &dice, &settings, &table);
        add_deletes(op, &dice, &table);
        int runs = 0;
        for (;; runs++) {
            const struct firn_rewrite_plan *plan = sim_plan(op, &table, settings.options, settings.count);
            if (plan->group_count == 0)
                break;
            CHECK(runs < 8, "seed %" PRIu64 ": %u groups after 8 runs, first of %u files", seed, plan->group_count,
                  plan->groups[0]->file_count);
            table = run(op, &dice, plan, &table, 1, 1);
            table.snapshots.items[table.snapshots.count - 1] = (struct sim_snapshot){ 0 };
        }
        firn_arena_reset(op->arena);
    }
}

/* What a run left or wrote is taken up again together with something new. */
static void new_files_wake_settled_ones(void **state)
{
    struct firn_op *op = test_op(state);
    struct dice dice = { 7 };
    struct firn_property options[] = { { FIRN_TEXT_INIT("target-file-size-bytes"), FIRN_TEXT_INIT("104857600") } };
    struct sim_table table = { 0 };
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    for (int i = 0; i < 60; i++)
        FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 20 * MEBIBYTE, .snapshot_id = 1 }));
    const struct firn_rewrite_plan *plan = sim_plan(op, &table, options, 1);
    assert_int_equal(plan->group_count, 1);
    assert_int_equal(plan->groups[0]->bin_count, 12);
    table = run(op, &dice, plan, &table, 0.2, 0.2);
    assert_int_equal(table.files.count, 12);
    assert_int_equal(sim_plan(op, &table, options, 1)->group_count, 0);

    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = MEBIBYTE, .snapshot_id = 3, .part = 1 }));
    assert_int_equal(sim_plan(op, &table, options, 1)->group_count, 0);
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = MEBIBYTE, .snapshot_id = 3 }));
    plan = sim_plan(op, &table, options, 1);
    assert_int_equal(plan->group_count, 1);
    assert_int_equal(plan->groups[0]->file_count, 13);
}

/* Deletes wake what a run has settled, but not those that it applied, whatever the rules of scan planning say of them
 * and its outputs. */
static void new_deletes_wake_settled_files(void **state)
{
    struct firn_op *op = test_op(state);
    struct dice dice = { 7 };
    struct firn_property options[] = { { FIRN_TEXT_INIT("delete-file-threshold"), FIRN_TEXT_INIT("1") } };
    struct sim_table table = { 0 };
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 500 * MEBIBYTE, .snapshot_id = 1 }));
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 500 * MEBIBYTE, .snapshot_id = 1, .part = 1 }));
    assert_int_equal(sim_plan(op, &table, options, 1)->group_count, 0);
    FIRN_PUSH(op->arena, &table.deletes, ((struct sim_delete){ .snapshot_id = 1 }));
    const struct firn_rewrite_plan *plan = sim_plan(op, &table, options, 1);
    assert_int_equal(plan->group_count, 1);
    table = run(op, &dice, plan, &table, 1, 1);
    size_t output = table.files.items[0].part; /* 0: the first is of partition 0 */
    assert_int_equal(table.files.items[output].snapshot_id, 2);
    table.files.items[output].sequence_number = 1; /* the delete's number: scan planning has it apply still */
    plan = sim_plan(op, &table, options, 1);
    assert_int_equal(firn_delete_match_count(&plan->files[output].scan->deletes), 1);
    assert_int_equal(plan->group_count, 0);

    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    FIRN_PUSH(op->arena, &table.deletes, ((struct sim_delete){ .snapshot_id = 3, .part = 1 }));
    plan = sim_plan(op, &table, options, 1);
    assert_int_equal(plan->group_count, 1);
    assert_int_equal(plan->files[plan->groups[0]->files[0]].scan->entry->file.partition.values[0].integer, 1);

    table.deletes.items[1] = (struct sim_delete){ .snapshot_id = 3 }; /* for the output */
    assert_int_equal(sim_plan(op, &table, options, 1)->group_count, 1);
    table.deletes.count = 1; /* a vector that the run's own commit carried over */
    table.files.items[output].own_deleted_rows = 9;
    assert_int_equal(sim_plan(op, &table, options, 1)->group_count, 1);
}

/* Other settings, or an append that raced the run, are judged anew. */
static void history_holds_for_its_own_settings(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_property options[] = { { FIRN_TEXT_INIT("target-file-size-bytes"), FIRN_TEXT_INIT("104857600") },
                                       { FIRN_TEXT_INIT("min-input-files"), FIRN_TEXT_INIT("3") } };
    struct sim_table table = { 0 };
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    for (int i = 0; i < 4; i++)
        FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = MEBIBYTE, .snapshot_id = 1 }));
    const struct firn_rewrite_plan *plan = sim_plan(op, &table, options, 1); /* four are too few */
    assert_int_equal(plan->group_count, 0);
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 })); /* raced the run of snapshot 3 */
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ plan->shape, plan->settings, 1 }));
    assert_int_equal(sim_plan(op, &table, options, 2)->group_count, 1); /* min-input-files 3: other settings */
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = MEBIBYTE, .snapshot_id = 2 }));
    assert_int_equal(sim_plan(op, &table, options, 1)->group_count, 1);
    table.files.items[4].snapshot_id = 1;
    assert_int_equal(sim_plan(op, &table, options, 1)->group_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_settles_a_table),
        TEST(runs_end_without_history),
        TEST(new_files_wake_settled_ones),
        TEST(new_deletes_wake_settled_files),
        TEST(history_holds_for_its_own_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
