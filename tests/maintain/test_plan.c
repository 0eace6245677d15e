/* Planning of rewrite_data_files over files that exist only as manifest entries: what is chosen, how it is packed. */
#include "maintain/plan_fixture.h"

enum { OPTIONS_MAX = 8, FILES_MAX = 24, GROUPS_MAX = 6, DELETES_MAX = 4 };

struct option {
    const char *key, *value;
};

static size_t to_properties(const struct option *options, struct firn_property *out)
{
    size_t count = 0;
    while (count < OPTIONS_MAX && options[count].key) {
        out[count] = (struct firn_property){ firn_text_of(options[count].key), firn_text_of(options[count].value) };
        count++;
    }
    return count;
}

static firn_status parse_options(struct firn_op *op, const struct option *options, const char *strategy,
                                 const char *sort_order, struct firn_rewrite_options *out)
{
    struct sim_table table = { 0 };
    struct firn_property properties[OPTIONS_MAX];
    struct firn_rewrite_data_files_args args = {
        .strategy = firn_text_of(strategy),
        .sort_order = firn_text_of(sort_order),
        .options = properties,
        .option_count = to_properties(options, properties),
    };
    return firn_rewrite_options_parse(op, sim_metadata(op, &table), &args, out);
}

static void defaults_are_the_references(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_rewrite_options options;
    CHECK_OK(op, parse_options(op, (struct option[OPTIONS_MAX]){ 0 }, NULL, NULL, &options));
    assert_int_equal(options.sizes.target_bytes, 536870912);
    assert_int_equal(options.sizes.bytes_min, 402653184);
    assert_int_equal(options.sizes.bytes_max, 966367641);
    assert_int_equal(firn_output_write_max(&options.sizes), 751619276);
    assert_int_equal(options.limits.input_files_min, 5);
    assert_int_equal(options.limits.bytes_max, INT64_C(107374182400));
    assert_int_equal(options.failed_commits_max, 10);
    assert_true(options.use_starting_sequence_number);
}

static void options_are_checked(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        struct option options[OPTIONS_MAX];
        const char *strategy, *sort_order;
        firn_status status;
        const char *says;
    } cases[] = {
        { { { "target-file-size-bytes", "0" } }, NULL, NULL, FIRN_USAGE, "at least 1" },
        { { { "target-file-size-bytes", "12x" } }, NULL, NULL, FIRN_USAGE, "not a whole number" },
        { { { "min-file-size-bytes", "-1" } }, NULL, NULL, FIRN_USAGE, "at least 0" },
        { { { "target-file-size-bytes", "100" }, { "min-file-size-bytes", "100" } },
          NULL,
          NULL,
          FIRN_USAGE,
          "not below target" },
        { { { "target-file-size-bytes", "100" }, { "max-file-size-bytes", "100" } },
          NULL,
          NULL,
          FIRN_USAGE,
          "not above target" },
        { { { "min-input-files", "0" } }, NULL, NULL, FIRN_USAGE, "at least 1" },
        { { { "min-input-files", "2147483648" } }, NULL, NULL, FIRN_USAGE, "at most 2147483647" },
        { { { "max-file-group-size-bytes", "0" } }, NULL, NULL, FIRN_USAGE, "at least 1" },
        { { { "max-file-group-input-files", "0" } }, NULL, NULL, FIRN_USAGE, "at least 1" },
        { { { "delete-file-threshold", "-1" } }, NULL, NULL, FIRN_USAGE, "at least 0" },
        { { { "delete-ratio-threshold", "0" } }, NULL, NULL, FIRN_USAGE, "above 0" },
        { { { "delete-ratio-threshold", "1.01" } }, NULL, NULL, FIRN_USAGE, "at most 1" },
        { { { "delete-ratio-threshold", "nan" } }, NULL, NULL, FIRN_USAGE, "delete-ratio-threshold" },
        { { { "max-files-to-rewrite", "0" } }, NULL, NULL, FIRN_USAGE, "at least 1" },
        { { { "max-concurrent-file-group-rewrites", "0" } }, NULL, NULL, FIRN_USAGE, "at least 1" },
        { { { "partial-progress.enabled", "true" }, { "partial-progress.max-commits", "0" } },
          NULL,
          NULL,
          FIRN_USAGE,
          "max-commits" },
        { { { "partial-progress.max-commits", "0" } }, NULL, NULL, FIRN_OK, NULL },
        { { { "output-spec-id", "7" } }, NULL, NULL, FIRN_USAGE, "no such partition spec" },
        { { { "output-spec-id", "1" } }, NULL, NULL, FIRN_OK, NULL },
        { { { "rewrite-job-order", "smallest" } }, NULL, NULL, FIRN_USAGE, "bytes-asc" },
        { { { "rewrite-job-order", "Bytes-DESC" } }, NULL, NULL, FIRN_OK, NULL },
        { { { "layout", "tidy" } }, NULL, NULL, FIRN_USAGE, "balanced, fastest, smallest" },
        { { { "layout", "Fastest" } }, NULL, NULL, FIRN_OK, NULL },
        { { { "force-rung", "ladder" } }, NULL, NULL, FIRN_USAGE, "none, keep, splice, repack, remap, transcode" },
        { { { "force-rung", "none" } }, NULL, NULL, FIRN_OK, NULL },
        { { { "one", "1" }, { "min-input-files", "x" }, { "two", "2" } }, NULL, NULL, FIRN_USAGE, "one, two" },
        { { { "compression-factor", "1.5" } }, "binpack", NULL, FIRN_USAGE, "compression-factor" },
        { { { NULL, NULL } }, "zigzag", NULL, FIRN_USAGE, "not binpack or sort" },
        { { { NULL, NULL } }, "binpack", "id", FIRN_USAGE, "takes no sort order" },
        { { { NULL, NULL } }, "SORT", NULL, FIRN_OK, NULL }, /* the order is bound later */
        { { { "compression-factor", "1.5" } }, "sort", NULL, FIRN_OK, NULL },
        { { { "compression-factor", "0" } }, "sort", NULL, FIRN_USAGE, "must be above 0" },
        { { { "shuffle-partitions-per-file", "0" } }, "sort", NULL, FIRN_USAGE, "at least 1" },
        { { { "shuffle-partitions-per-file", "3" } }, NULL, "id", FIRN_OK, NULL },
        { { { "var-length-contribution", "3" } }, NULL, "id", FIRN_USAGE, "strategy sort does not have" },
        { { { "sort-within-files", "false" } }, NULL, "id", FIRN_USAGE, "strategy sort does not have" },
        { { { "sort-within-files", "false" } }, NULL, NULL, FIRN_OK, NULL },
        { { { "var-length-contribution", "0" } }, NULL, "zorder(a, b)", FIRN_USAGE, "at least 1" },
        { { { "max-output-size", "0" } }, NULL, "zorder(a, b)", FIRN_USAGE, "at least 1" },
        { { { "max-output-size", "9" } }, NULL, "hilbert(a, b)", FIRN_USAGE, "hilbert(...) does not have" },
        { { { "max-output-size", "9" }, { "compression-factor", "2" } }, NULL, "zorder(a)", FIRN_OK, NULL },
        { { { NULL, NULL } }, NULL, "zorder(a), b", FIRN_USAGE, "cannot stand beside" },
        { { { NULL, NULL } }, NULL, "zorder(a), hilbert(b)", FIRN_USAGE, "cannot stand beside" },
        { { { NULL, NULL } }, NULL, "zorder(4, a)", FIRN_USAGE, "takes columns" },
        { { { NULL, NULL } }, NULL, "zorder(a", FIRN_USAGE, "character 9" },
        { { { NULL, NULL } }, NULL, "a ASC NULLS", FIRN_USAGE, "FIRST or LAST" },
        { { { NULL, NULL } }, "BinPack", NULL, FIRN_OK, NULL },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_rewrite_options options;
        firn_status status = parse_options(op, cases[i].options, cases[i].strategy, cases[i].sort_order, &options);
        CHECK(status == cases[i].status, "case %zu: %s", i, op->error.text);
        CHECK(!cases[i].says || strstr(op->error.text, cases[i].says), "case %zu: %s", i, op->error.text);
    }
}

/* The table's layout holds unless the run asks for another. */
static void a_table_has_a_layout_of_its_own(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *of_table, *asked;
        enum firn_layout layout;
    } cases[] = {
        { NULL, NULL, FIRN_LAYOUT_BALANCED },
        { "Fastest", NULL, FIRN_LAYOUT_FASTEST },
        { "fastest", "smallest", FIRN_LAYOUT_SMALLEST },
        { "tidy", NULL, FIRN_LAYOUT_COUNT },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct sim_table table = { .layout = cases[i].of_table };
        struct firn_property property = { FIRN_TEXT("layout"), firn_text_of(cases[i].asked) };
        struct firn_rewrite_data_files_args args = { .options = &property, .option_count = cases[i].asked != NULL };
        struct firn_rewrite_options options;
        firn_status status = firn_rewrite_options_parse(op, sim_metadata(op, &table), &args, &options);
        if (cases[i].layout == FIRN_LAYOUT_COUNT) {
            CHECK(status == FIRN_USAGE && strstr(op->error.text, "firn.layout is 'tidy'"), "%s", op->error.text);
            continue;
        }
        CHECK_OK(op, status);
        struct firn_layout_policy policy = firn_rewrite_options_layout(&options);
        CHECK(policy.layout == cases[i].layout && !policy.is_forced, "case %zu: %d", i, policy.layout);
    }
}

static void output_sizes_are_the_references(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        int64_t mebibytes, files, split_bytes; /* split_bytes 0: not stated */
    } cases[] = {
        { 0, 1, 512 * MEBIBYTE },
        { 500, 1, 512 * MEBIBYTE },
        { 512, 1, 512 * MEBIBYTE + 5120 },
        { 550, 1, 550 * MEBIBYTE + 5120 },
        { 600, 2, 512 * MEBIBYTE },
        { 1000, 2, 512 * MEBIBYTE },
        { 2611, 5, 0 }, /* 5.1 times the target */
    };
    struct firn_rewrite_options options;
    CHECK_OK(op, parse_options(op, (struct option[OPTIONS_MAX]){ 0 }, NULL, NULL, &options));
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        int64_t bytes = cases[i].mebibytes * MEBIBYTE;
        CHECK(firn_output_expected_files(&options.sizes, bytes) == cases[i].files, "%" PRId64 " MiB",
              cases[i].mebibytes);
        CHECK(!cases[i].split_bytes || firn_output_split_bytes(&options.sizes, bytes) == cases[i].split_bytes,
              "%" PRId64 " MiB", cases[i].mebibytes);
    }
}

/* Sizes are in units of 1 MiB, so that the 5 KiB of slack in split sizes stays small beside them. */
struct choice {
    const char *name;
    struct option options[OPTIONS_MAX];
    struct sim_file files[FILES_MAX];
    struct {
        uint32_t files;
        int64_t outputs;
    } groups[GROUPS_MAX];
    uint32_t left_alone;
    struct sim_delete deletes[DELETES_MAX]; /* up to one of snapshot 0 */
};

#define M *MEBIBYTE

static const struct choice choices[] = {
    { "five small files become one",
      { { NULL, NULL } },
      { { 1 M }, { 2 M }, { 3 M }, { 4 M }, { 5 M } },
      { { 5, 1 } },
      0 },
    { "four small files are too few", { { NULL, NULL } }, { { 1 M }, { 2 M }, { 3 M }, { 4 M } }, { { 0 } }, 0 },
    { "two files over the target that cannot get fewer (R7)",
      { { "target-file-size-bytes", "314572800" } },
      { { 220 M }, { 220 M } },
      { { 0 } },
      0 },
    { "three files of fine size (R7)",
      { { "target-file-size-bytes", "134217728" } },
      { { 120 M }, { 120 M }, { 120 M } },
      { { 0 } },
      0 },
    { "200 and 250 for a target of 300 (R7)",
      { { "target-file-size-bytes", "314572800" } },
      { { 200 M }, { 250 M } },
      { { 0 } },
      0 },
    { "five files of 0.6 targets do not pair up",
      { { "target-file-size-bytes", "104857600" } },
      { { 60 M }, { 60 M }, { 60 M }, { 60 M }, { 60 M } },
      { { 0 } },
      0 },
    { "three files become two",
      { { "target-file-size-bytes", "104857600" } },
      { { 70 M }, { 40 M }, { 50 M } },
      { { 3, 2 } },
      0 },
    { "min-input-files 2", { { "min-input-files", "2" } }, { { 1 M }, { 2 M } }, { { 2, 1 } }, 0 },
    { "a single small file is never enough", { { "min-input-files", "1" } }, { { 1 M } }, { { 0 } }, 0 },
    { "a large file is cut", { { "target-file-size-bytes", "104857600" } }, { { 300 M, 50 M } }, { { 1, 3 } }, 0 },
    { "a file between target and max stays",
      { { "target-file-size-bytes", "104857600" } },
      { { 170 M, 50 M } },
      { { 0 } },
      0 },
    { "rewrite-all takes what is fine",
      { { "rewrite-all", "true" } },
      { { 500 M }, { 1 M, 0, 1 } },
      { { 1, 1 }, { 1, 1 } },
      0 },
    { "partitions are not mixed",
      { { NULL, NULL } },
      { { 1 M }, { 1 M }, { 1 M, 0, 7 }, { 1 M }, { 1 M }, { 1 M }, { 1 M, 0, 7 } },
      { { 5, 1 } },
      0 },
    { "equal tuples of different specs are not mixed (R8)",
      { { NULL, NULL } },
      { { 1 M }, { 1 M }, { 1 M }, { 1 M, 0, 0, 1 }, { 1 M, 0, 0, 1 }, { 1 M, 0, 0, 1 } },
      { { 0 } },
      0 },
    { "partitions of an old spec are mixed: their rows part anyway",
      { { NULL, NULL } },
      { { 1 M, 0, 1, 1 }, { 1 M, 0, 2, 1 }, { 1 M, 0, 3, 1 }, { 1 M, 0, 4, 1 }, { 1 M, 0, 5, 1 } },
      { { 5, 1 } },
      0 },
    { "files of an old spec move even when they do not get fewer",
      { { "target-file-size-bytes", "104857600" } },
      { { 70 M, 0, 0, 1 }, { 70 M, 0, 0, 1 } },
      { { 2, 2 } },
      0 },
    { "small files with deletes are taken like others",
      { { NULL, NULL } },
      { { 1 M }, { 1 M }, { 1 M }, { 1 M }, { .bytes = 1 M, .own_deleted_rows = 1 } },
      { { 5, 1 } },
      0,
      { { .snapshot_id = 2 } } },
    { "four of them are too few all the same",
      { { NULL, NULL } },
      { { 1 M }, { 1 M }, { 1 M }, { 1 M } },
      { { 0 } },
      0,
      { { .snapshot_id = 2 } } },
    { "files that cannot get fewer are rewritten to apply deletes",
      { { "target-file-size-bytes", "104857600" } },
      { { 70 M }, { 70 M }, { 70 M, 0, 7 }, { 70 M, 0, 7 } },
      { { 2, 2 } },
      0,
      { { .part = 7, .snapshot_id = 2, .is_equality = true } } },
    { "ORC, encrypted files and files with ORC deletes do not keep others back",
      { { NULL, NULL } },
      { { .bytes = 1 M, .format = FIRN_FILE_ORC },
        { 1 M },
        { 1 M },
        { .bytes = 1 M, .is_encrypted = true },
        { 1 M },
        { 1 M },
        { .bytes = 1 M, .part = 7 },
        { 1 M } },
      { { 5, 1 } },
      3,
      { { .part = 7, .snapshot_id = 2, .format = FIRN_FILE_ORC } } },
    { "a file of fine size with ORC deletes does not qualify and is not called left alone",
      { { NULL, NULL } },
      { { 500 M } },
      { { 0 } },
      0,
      { { .snapshot_id = 2, .format = FIRN_FILE_ORC } } },
    { "a file that the table has twice is left alone both times",
      { { NULL, NULL } },
      { { 1 M }, { 1 M }, { 1 M }, { .bytes = 1 M, .is_first_again = true }, { 1 M }, { 1 M }, { 1 M } },
      { { 5, 1 } },
      2 },
    { "delete-file-threshold reached and missed by one",
      { { "delete-file-threshold", "2" } },
      { { 500 M }, { 500 M, 0, 7 } },
      { { 1, 1 } },
      0,
      { { .snapshot_id = 2 }, { .snapshot_id = 2, .is_equality = true }, { .part = 7, .snapshot_id = 2 } } },
    { "delete-file-threshold 0 takes files without deletes, where that gains something",
      { { "delete-file-threshold", "0" }, { "min-input-files", "9" }, { "target-file-size-bytes", "104857600" } },
      { { 80 M }, { 80 M, 0, 7 }, { 80 M, 0, 7 }, { 30 M, 0, 7 }, { 10 M, 0, 7 } },
      { { 4, 3 } },
      0 },
    { "delete-ratio-threshold reached and missed by one row",
      { { "delete-ratio-threshold", "0.5" } },
      { { .bytes = 500 M, .records = 100, .own_deleted_rows = 50 },
        { .bytes = 500 M, .part = 7, .records = 100, .own_deleted_rows = 49 } },
      { { 1, 1 } },
      0 },
    { "delete-ratio-threshold is 0.3 without saying so",
      { { NULL, NULL } },
      { { .bytes = 500 M, .records = 1000, .own_deleted_rows = 300 },
        { .bytes = 500 M, .part = 7, .records = 1000, .own_deleted_rows = 299 } },
      { { 1, 1 } },
      0 },
    { "more deleted rows than rows count as all",
      { { "delete-ratio-threshold", "1" } },
      { { .bytes = 500 M, .records = 10, .own_deleted_rows = 11 } },
      { { 1, 1 } },
      0 },
    { "a file without rows has no ratio",
      { { "delete-ratio-threshold", "0.1" } },
      { { .bytes = 500 M, .records = -1, .own_deleted_rows = 5 } },
      { { 0 } },
      0 },
    { "deletes that may be of other files do not count towards the ratio",
      { { "delete-ratio-threshold", "0.01" } },
      { { .bytes = 500 M, .records = 10 } },
      { { 0 } },
      0,
      { { .snapshot_id = 2 }, { .snapshot_id = 2, .is_equality = true } } },
    { "a small file over a threshold makes its group worth rewriting",
      { { NULL, NULL } },
      { { .bytes = 1 M, .records = 10, .own_deleted_rows = 3 }, { 1 M } },
      { { 2, 1 } },
      0 },
    { "one small file over a threshold is rewritten alone",
      { { NULL, NULL } },
      { { .bytes = 1 M, .records = 10, .own_deleted_rows = 3 } },
      { { 1, 1 } },
      0 },
    { "deletes reach older files of their own spec and partition only (R38)",
      { { "delete-file-threshold", "1" } },
      { { .bytes = 500 M, .snapshot_id = 2 }, { 500 M, 0, 7 }, { 500 M, 0, 0, 1 }, { 500 M } },
      { { 1, 1 } },
      0,
      { { .snapshot_id = 2, .is_equality = true } } },
    { "position deletes reach files of their own commit (R38)",
      { { "delete-file-threshold", "1" } },
      { { .bytes = 500 M, .snapshot_id = 2 }, { 500 M }, { .bytes = 500 M, .snapshot_id = 3 } },
      { { 2, 2 } },
      0,
      { { .snapshot_id = 2 } } },
    { "rows known to be deleted do not count towards the outputs",
      { { "target-file-size-bytes", "104857600" } },
      { { .bytes = 90 M, .records = 100, .own_deleted_rows = 80 },
        { .bytes = 90 M, .records = 100, .own_deleted_rows = 80 },
        { .bytes = 90 M, .records = 100, .own_deleted_rows = 80 },
        { .bytes = 90 M, .records = 100, .own_deleted_rows = 80 } },
      { { 4, 1 } },
      0 },
    { "max-file-group-size-bytes closes groups",
      { { "max-file-group-size-bytes", "5242880" } },
      { { 1 M }, { 1 M }, { 1 M }, { 1 M }, { 1 M }, { 1 M }, { 1 M }, { 1 M }, { 1 M }, { 1 M }, { 1 M } },
      { { 5, 1 }, { 5, 1 } },
      0 },
    { "max-file-group-input-files closes groups",
      { { "max-file-group-input-files", "2" }, { "min-input-files", "2" } },
      { { 1 M }, { 2 M }, { 3 M }, { 4 M }, { 5 M } },
      { { 2, 1 }, { 2, 1 } },
      0 },
    { "max-files-to-rewrite cuts the last group",
      { { "max-files-to-rewrite", "8" } },
      { { 1 M },
        { 1 M },
        { 1 M },
        { 1 M },
        { 1 M },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 } },
      { { 5, 1 }, { 3, 1 } },
      0 },
    { "max-files-to-rewrite does not cut down to what gains nothing",
      { { "max-files-to-rewrite", "6" } },
      { { 1 M },
        { 1 M },
        { 1 M },
        { 1 M },
        { 1 M },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 },
        { 1 M, 0, 7 } },
      { { 5, 1 } },
      0 },
    { "files-desc",
      { { "rewrite-job-order", "files-desc" }, { "min-input-files", "2" } },
      { { 9 M }, { 9 M }, { 1 M, 0, 7 }, { 1 M, 0, 7 }, { 1 M, 0, 7 } },
      { { 3, 1 }, { 2, 1 } },
      0 },
    { "bytes-asc",
      { { "rewrite-job-order", "bytes-asc" }, { "min-input-files", "2" } },
      { { 9 M }, { 9 M }, { 1 M, 0, 7 }, { 1 M, 0, 7 }, { 1 M, 0, 7 } },
      { { 3, 1 }, { 2, 1 } },
      0 },
    { "plan order",
      { { "min-input-files", "2" } },
      { { 9 M }, { 1 M, 0, 7 }, { 9 M }, { 1 M, 0, 7 }, { 1 M, 0, 7 } },
      { { 2, 1 }, { 3, 1 } },
      0 },
};

static const struct firn_rewrite_plan *plan_choice(struct firn_op *op, const struct choice *choice)
{
    struct firn_property properties[OPTIONS_MAX];
    size_t option_count = to_properties(choice->options, properties);
    struct sim_table table = { 0 };
    for (int i = 0; i < 3; i++)
        FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    for (size_t i = 0; i < FILES_MAX && choice->files[i].bytes > 0; i++)
        FIRN_PUSH(op->arena, &table.files, choice->files[i]);
    for (size_t i = 0; i < DELETES_MAX && choice->deletes[i].snapshot_id > 0; i++)
        FIRN_PUSH(op->arena, &table.deletes, choice->deletes[i]);
    return sim_plan(op, &table, properties, option_count);
}

static void check_choice(struct firn_op *op, const struct choice *choice)
{
    const struct firn_rewrite_plan *plan = plan_choice(op, choice);
    uint32_t expected = 0;
    while (expected < GROUPS_MAX && choice->groups[expected].files > 0)
        expected++;
    CHECK(plan->group_count == expected, "%s: %u groups, wanted %u", choice->name, plan->group_count, expected);
    for (uint32_t i = 0; i < expected; i++) {
        CHECK(plan->groups[i]->file_count == choice->groups[i].files, "%s: group %u of %u files", choice->name, i,
              plan->groups[i]->file_count);
        CHECK(plan->groups[i]->output_count == choice->groups[i].outputs, "%s: group %u gives %" PRId64, choice->name,
              i, plan->groups[i]->output_count);
    }
    CHECK(plan->left_alone_count == choice->left_alone, "%s: %u left alone", choice->name, plan->left_alone_count);
}

static void files_are_chosen_as_the_rules_say(void **state)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(choices); i++)
        check_choice(test_op(state), &choices[i]);
}

/* Every file of the snapshot stands in the plan once, with a reason. */
static void every_file_has_a_reason(void **state)
{
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(choices); i++) {
        const struct firn_rewrite_plan *plan = plan_choice(op, &choices[i]);
        json_t *json = firn_rewrite_plan_json(op, plan);
        json_t *group, *file, *skipped = json_object_get(json, "skipped");
        size_t count = json_array_size(skipped), at, inner;
        json_array_foreach(skipped, at, file)
            CHECK(json_string_length(json_object_get(file, "reason")) > 10, "%s: file %zu", choices[i].name, at);
        json_array_foreach(json_object_get(json, "groups"), at, group)
        {
            json_array_foreach(json_object_get(group, "files"), inner, file)
                CHECK(strstr(json_string_value(json_object_get(file, "reason")), "chosen"), "%s", choices[i].name);
            count += inner;
        }
        CHECK(count == plan->file_count, "%s: %zu files explained", choices[i].name, count);
    }
}

static int64_t member(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* What a plan says of deletes: each delete file once, what it may delete, and what it costs a scan. */
static void deletes_are_explained(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_property options[] = { { FIRN_TEXT_INIT("delete-file-threshold"), FIRN_TEXT_INIT("2") } };
    struct sim_table table = { 0 };
    for (int i = 0; i < 3; i++)
        FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 500 M, .records = 100, .own_deleted_rows = 40 }));
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 500 M, .records = 5, .snapshot_id = 2 }));
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 500 M, .records = 50, .snapshot_id = 3 }));
    FIRN_PUSH(op->arena, &table.deletes, ((struct sim_delete){ .snapshot_id = 2 }));
    FIRN_PUSH(op->arena, &table.deletes, ((struct sim_delete){ .snapshot_id = 2, .is_equality = true }));
    FIRN_PUSH(op->arena, &table.deletes, ((struct sim_delete){ .snapshot_id = 3, .is_equality = true }));
    FIRN_PUSH(op->arena, &table.deletes, ((struct sim_delete){ .snapshot_id = 3, .part = 1 }));
    json_t *json = firn_rewrite_plan_json(op, sim_plan(op, &table, options, 1)), *del;
    const json_t *group = json_array_get(json_object_get(json, "groups"), 0);
    assert_int_equal(json_array_size(json_object_get(json, "groups")), 1);
    assert_int_equal(member(group, "input_files"), 2);

    /* The first: its vector, both equality deletes. The second: the position deletes and the later equality deletes. */
    static const struct {
        const char *kind;
        int64_t number, bytes, data_files, rows_max;
        bool is_exact;
    } wanted[] = {
        { "equality deletes", 3, 1000, 2, 105, false },
        { "position deletes", 2, 1000, 1, 5, false },
        { "equality deletes", 2, 1000, 1, 100, false },
        { "deletion vector", 1, 44, 1, 40, true },
    };
    size_t at;
    assert_int_equal(json_array_size(json_object_get(group, "deletes")), FIRN_COUNT_OF(wanted));
    json_array_foreach(json_object_get(group, "deletes"), at, del)
    {
        assert_string_equal(json_string_value(json_object_get(del, "kind")), wanted[at].kind);
        assert_int_equal(member(del, "sequence_number"), wanted[at].number);
        assert_int_equal(member(del, "bytes"), wanted[at].bytes);
        assert_int_equal(member(del, "data_files"), wanted[at].data_files);
        assert_int_equal(member(del, "data_files_of_table"), wanted[at].data_files);
        assert_int_equal(member(del, "rows_max"), wanted[at].rows_max);
        assert_int_equal(json_is_true(json_object_get(del, "is_exact")), wanted[at].is_exact);
    }
    const json_t *total = json_object_get(group, "deletes_total");
    assert_int_equal(member(total, "files"), 4);
    assert_int_equal(member(total, "bytes"), 3044);
    assert_int_equal(member(total, "opened_per_scan"), 5);
    assert_int_equal(member(total, "bytes_per_scan"), 4044);
    assert_int_equal(member(total, "rows_min"), 40);
    assert_int_equal(member(total, "rows_max"), 105);
    const json_t *file = json_array_get(json_object_get(group, "files"), 0);
    const char *reason = json_string_value(json_object_get(file, "reason"));
    CHECK(strstr(reason, "3 delete files apply to it, delete-file-threshold is 2"), "%s", reason);
}

static void reasons_speak_of_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        struct sim_file file;
        struct sim_delete del;
        const char *says;
    } cases[] = {
        { { .bytes = 500 M, .records = 100, .own_deleted_rows = 40 },
          { .snapshot_id = 2, .part = 1 },
          "40 of its 100 rows are deleted, delete-ratio-threshold is 0.3; chosen" },
        { { .bytes = 500 M, .records = 100, .own_deleted_rows = 4 },
          { .snapshot_id = 2, .is_equality = true },
          "2 delete files apply to it and delete at least 4 of its 100 rows, too few for the thresholds" },
        { { .bytes = 1 M, .records = 100 },
          { .snapshot_id = 2 },
          "below min-file-size-bytes 402653184; 1 delete file applies to it and deletes at least 0 of its 100 rows" },
        { { .bytes = 1 M, .records = 100 },
          { .snapshot_id = 2, .format = FIRN_FILE_ORC },
          "left alone: a delete file applies to it that firn cannot read" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct sim_table table = { 0 };
        for (int j = 0; j < 3; j++)
            FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
        FIRN_PUSH(op->arena, &table.files, cases[i].file);
        FIRN_PUSH(op->arena, &table.deletes, cases[i].del);
        const struct firn_rewrite_plan *plan = sim_plan(op, &table, NULL, 0);
        struct firn_text reason = firn_rewrite_plan_reason(op->arena, plan, &plan->files[0]);
        CHECK(strstr(reason.data, cases[i].says), "case %zu: %s", i, reason.data);
    }
}

/* The pieces of a group's bins cover each input once, from its first byte to its last (R2). */
static void check_cover(const struct firn_rewrite_plan *plan, const struct firn_planned_group *group)
{
    for (uint32_t input = 0; input < group->file_count; input++) {
        int64_t file_bytes = plan->files[group->files[input]].scan->entry->file.file_bytes;
        int64_t covered = 0, last = 0;
        for (uint32_t i = 0; i < group->bin_count; i++)
            for (uint32_t j = 0; j < group->bins[i].piece_count; j++) {
                const struct firn_rewrite_piece *piece = &group->bins[i].pieces[j];
                if (piece->input != input)
                    continue;
                covered += (int64_t)piece->length;
                last = FIRN_MAX(last, (int64_t)(piece->offset + piece->length));
            }
        CHECK(covered == file_bytes && last == file_bytes, "input %u: %" PRId64 " of %" PRId64 " bytes", input, covered,
              file_bytes);
    }
}

static void pieces_cover_their_files(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_property options[] = { { FIRN_TEXT_INIT("target-file-size-bytes"), FIRN_TEXT_INIT("10485760") } };
    struct sim_table table = { 0 };
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    for (int i = 0; i < 40; i++)
        FIRN_PUSH(op->arena, &table.files,
                  ((struct sim_file){ .bytes = (1 + i * 7 % 30) * MEBIBYTE + i,
                                      .row_group_bytes = i % 3 ? (1 + i % 5) * MEBIBYTE : 0,
                                      .has_no_offsets = i % 4 == 0 }));
    const struct firn_rewrite_plan *plan = sim_plan(op, &table, options, 1);
    assert_int_equal(plan->group_count, 1);
    check_cover(plan, plan->groups[0]);
    for (uint32_t i = 0; i < plan->groups[0]->bin_count; i++)
        assert_true(plan->groups[0]->bin_bytes[i] > 0);
}

/* First fit over ten open bins; the heaviest closes when an eleventh opens. */
static void bins_close_heaviest_first(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_property options[] = { { FIRN_TEXT_INIT("target-file-size-bytes"), FIRN_TEXT_INIT("104857600") } };
    struct sim_table table = { 0 };
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    /* Twelve files of more than half a bin, the fourth the heaviest, then one that fits into the first that is open. */
    for (int i = 0; i < 12; i++)
        FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = i == 3 ? 74 M : 70 M }));
    FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 26 M }));
    const struct firn_rewrite_plan *plan = sim_plan(op, &table, options, 1);
    assert_int_equal(plan->group_count, 1);
    const struct firn_planned_group *group = plan->groups[0];
    assert_int_equal(group->bin_count, 12);
    assert_int_equal(group->bins[0].pieces[0].input, 3); /* closed first, at the eleventh bin */
    assert_int_equal(group->bins[1].pieces[0].input, 0); /* closed next, the first of equals */
    assert_int_equal(group->bins[2].piece_count, 2);     /* the last file went to the first bin still open */
    assert_int_equal(group->bins[2].pieces[0].input, 1);
    assert_int_equal(group->bins[2].pieces[1].input, 12);
}

static void adjacent_pieces_become_one(void **state)
{
    struct firn_op *op = test_op(state);
    struct sim_table table = { 0 };
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    for (int i = 0; i < 5; i++)
        FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 10 M, .row_group_bytes = 1 M }));
    const struct firn_rewrite_plan *plan = sim_plan(op, &table, NULL, 0);
    assert_int_equal(plan->group_count, 1);
    assert_int_equal(plan->groups[0]->bin_count, 1);
    assert_int_equal(plan->groups[0]->bins[0].piece_count, 5);
}

static void absurd_cuts_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_rewrite_plan plan = { 0 };
    struct firn_scan_file scan = { 0 };
    struct firn_planned_file file = { .scan = &scan };
    uint32_t index = 0;
    struct firn_planned_group group = { .files = &index, .file_count = 1, .bytes = INT64_C(1) << 60 };
    struct firn_manifest_entry entry = { .file = { .file_bytes = INT64_C(1) << 60 } };
    CHECK_OK(op, parse_options(op, (struct option[OPTIONS_MAX]){ { "target-file-size-bytes", "8" } }, NULL, NULL,
                               &plan.options));
    scan.entry = &entry;
    plan.files = &file;
    CHECK_STATUS(op, FIRN_LIMIT, firn_rewrite_plan_bins(op, &plan, &group));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_table_has_a_layout_of_its_own), TEST(defaults_are_the_references),       TEST(options_are_checked),
        TEST(output_sizes_are_the_references), TEST(files_are_chosen_as_the_rules_say), TEST(every_file_has_a_reason),
        TEST(deletes_are_explained),           TEST(reasons_speak_of_deletes),          TEST(pieces_cover_their_files),
        TEST(bins_close_heaviest_first),       TEST(adjacent_pieces_become_one),        TEST(absurd_cuts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
