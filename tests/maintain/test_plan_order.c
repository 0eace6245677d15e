/* The orders of rewrite_data_files: texts bound to a table, files that are in order already, outputs to expect. */
#include "check.h"

#include "base/math.h"
#include "maintain/key_range.h"
#include "maintain/rewrite_data_files.h"

#define MEBIBYTE INT64_C(1048576)

#define FIELD(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"
#define ORDER(id, source, transform, direction, nulls)                                                                 \
    "{\"order-id\":" #id ",\"fields\":[{\"source-id\":" #source ",\"transform\":\"" transform                          \
    "\",\"direction\":\"" direction "\",\"null-order\":\"" nulls "\"}]}"

/* Or else each line is indented deeper than the last. */
/* clang-format off */
static const char metadata_json[] =
    "{\"format-version\": 2, \"table-uuid\": \"9c12d441-03fe-4693-9a96-a0705ddf69c1\","
    "\"location\": \"memory:/t\", \"last-updated-ms\": 1700000000000, \"last-column-id\": 12,"
    "\"schemas\": [{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
    FIELD(1, "id", "\"long\"") ","
    FIELD(2, "name", "\"string\"") ","
    FIELD(3, "ts", "\"timestamptz\"") ","
    FIELD(4, "amount", "\"decimal(9,2)\"") ","
    FIELD(5, "region", "\"string\"") ","
    FIELD(6, "s", "{\"type\":\"struct\",\"fields\":[" FIELD(7, "x", "\"int\"") "]}") ","
    FIELD(8, "tags", "{\"type\":\"list\",\"element-id\":9,\"element-required\":false,\"element\":\"string\"}")
    "]}], \"current-schema-id\": 0,"
    "\"partition-specs\": [{\"spec-id\": 0, \"fields\": [{\"source-id\": 5, \"field-id\": 1000, "
    "\"name\": \"region\", \"transform\": \"identity\"}]}], \"default-spec-id\": 0, \"last-partition-id\": 1000,"
    "\"sort-orders\": [{\"order-id\": 0, \"fields\": []},"
    ORDER(1, 1, "identity", "asc", "nulls-first") ","
    ORDER(2, 3, "day", "desc", "nulls-last") ","
    ORDER(3, 1, "zigzag", "asc", "nulls-first")
    "], \"properties\": {}, \"snapshots\": [], \"snapshot-log\": [], \"metadata-log\": [],"
    " \"last-sequence-number\": 0}";
/* clang-format on */

/* The default sort order is `order_id`. */
static const struct firn_metadata *make_metadata(struct firn_op *op, int64_t order_id)
{
    json_t *root;
    struct firn_metadata *metadata;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(metadata_json), "metadata", &root));
    firn_json_set_i64(root, "default-sort-order-id", order_id);
    CHECK_OK(op, firn_metadata_parse_json(op, root, &metadata));
    return metadata;
}

static firn_status bind(struct firn_op *op, int64_t order_id, const char *strategy, const char *order,
                        const char *option, struct firn_rewrite_plan *plan)
{
    struct firn_property property = { firn_text_of(option), FIRN_TEXT("true") };
    struct firn_rewrite_data_files_args args = {
        .strategy = firn_text_of(strategy),
        .sort_order = firn_text_of(order),
        .options = &property,
        .option_count = option != NULL,
    };
    *plan = (struct firn_rewrite_plan){ .metadata = make_metadata(op, order_id) };
    FIRN_TRY(firn_rewrite_options_parse(op, plan->metadata, &args, &plan->options));
    return firn_rewrite_order_new(op, plan);
}

static void orders_are_bound(void **state)
{
    static const struct {
        int64_t own; /* the table's default order */
        const char *strategy, *order, *option;
        firn_status status;
        const char *text; /* of the order, or in the error; NULL: no order */
        int32_t id;
        uint32_t notices;
    } cases[] = {
        { 0, NULL, NULL, NULL, FIRN_OK, NULL, 0, 0 },
        { 1, NULL, NULL, NULL, FIRN_OK, "id asc nulls-first", 1, 0 },
        { 3, NULL, NULL, NULL, FIRN_OK, NULL, 0, 1 }, /* an order that cannot be applied */
        { 1, "sort", NULL, NULL, FIRN_OK, "id asc nulls-first", 1, 0 },
        { 0, "sort", NULL, NULL, FIRN_USAGE, "no sort order", 0, 0 },
        { 3, "sort", NULL, NULL, FIRN_UNSUPPORTED, "zigzag", 0, 0 },
        { 0, NULL, "ID", NULL, FIRN_OK, "id asc nulls-first", 1, 0 },
        { 1, "Sort", "days(ts) DESC", NULL, FIRN_OK, "day(ts) desc nulls-last", 2, 0 },
        { 1, "sort", "id desc nulls first, bucket(4, name)", NULL, FIRN_OK,
          "id desc nulls-first, bucket[4](name) asc nulls-first", 0, 1 },
        { 0, NULL, "s.x, amount", NULL, FIRN_OK, "s.x asc nulls-first, amount asc nulls-first", 0, 1 },
        { 0, NULL, "nothing", NULL, FIRN_NOT_FOUND, "no column 'nothing'", 0, 0 },
        { 0, NULL, "s", NULL, FIRN_USAGE, "does not take", 0, 0 },
        { 0, NULL, "tags.element", NULL, FIRN_UNSUPPORTED, "'tags.element', which is no single value", 0, 0 },
        { 0, NULL, "days(name)", NULL, FIRN_USAGE, "does not take", 0, 0 },
        { 0, NULL, "zorder(id, ts)", NULL, FIRN_OK, "zorder(id, ts)", 0, 0 },
        { 0, NULL, "zorder(id), zorder(name, id)", NULL, FIRN_OK, "zorder(id, name, id)", 0, 0 },
        { 0, NULL, "zorder(id, region) desc", NULL, FIRN_OK, "zorder(id)", 0, 1 },
        { 0, NULL, "zorder(region)", NULL, FIRN_USAGE, "partitioned by every column", 0, 0 },
        { 0, NULL, "zorder(id, amount)", NULL, FIRN_UNSUPPORTED, "along a curve by 'amount', which is decimal", 0, 0 },
        { 0, NULL, "zorder(id, s)", NULL, FIRN_UNSUPPORTED, "single value", 0, 0 },
        { 0, NULL, "zorder(id, nothing)", NULL, FIRN_NOT_FOUND, "nothing", 0, 0 },
        { 0, NULL, "hilbert(id, amount)", NULL, FIRN_OK, "hilbert(id, amount)", 0, 0 },
        { 0, NULL, "zorder(id, ts)", "rewrite-unsorted-only", FIRN_USAGE, "needs an order that the table has", 0, 0 },
        { 0, NULL, "name", "rewrite-unsorted-only", FIRN_USAGE, "needs an order that the table has", 0, 0 },
        { 0, NULL, "id", "rewrite-unsorted-only", FIRN_OK, "id asc nulls-first", 1, 0 },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_rewrite_plan plan;
        firn_status status = bind(op, cases[i].own, cases[i].strategy, cases[i].order, cases[i].option, &plan);
        CHECK(status == cases[i].status, "case %zu: %s: %s", i, firn_status_name(status), op->error.text);
        if (status != FIRN_OK) {
            CHECK(strstr(op->error.text, cases[i].text), "case %zu: %s", i, op->error.text);
            continue;
        }
        CHECK((plan.ordering != NULL) == (cases[i].text != NULL), "case %zu", i);
        CHECK(plan.notices.count == cases[i].notices, "case %zu: %zu notices", i, plan.notices.count);
        if (plan.ordering) {
            CHECK(firn_text_is(plan.order_text, cases[i].text), "case %zu: %.*s", i, FIRN_FMT(plan.order_text));
            CHECK(plan.ordering->sort_order_id == cases[i].id, "case %zu: %d", i, plan.ordering->sort_order_id);
        }
    }
}

/* A file by what its manifest says of `id`, or of `name` where texts are given; zeros: sorted by order 1, no nulls. */
struct sim_file {
    int64_t least, greatest;
    const char *least_text, *greatest_text;
    int64_t nulls; /* of 10 rows */
    int64_t snapshot_id;
    bool is_unsorted, has_no_bounds;
    bool is_over_threshold;
    enum firn_rewrite_verdict obstacle;
    enum firn_file_order order; /* to be found */
};

static struct firn_bytes number_bytes(struct firn_op *op, int64_t number)
{
    uint8_t *bytes = firn_arena_alloc(op->arena, 8);
    firn_store_le64(bytes, (uint64_t)number);
    return (struct firn_bytes){ bytes, 8 };
}

static struct firn_bound_map one_bound(struct firn_op *op, const struct sim_file *sim, bool is_upper)
{
    struct firn_bound_map map = { .count = sim->has_no_bounds ? 0 : 1, .present = true };
    const char *text = is_upper ? sim->greatest_text : sim->least_text;
    map.ids = FIRN_NEW(op->arena, int32_t);
    map.ids[0] = text ? 2 : 1;
    map.values = FIRN_NEW(op->arena, struct firn_bytes);
    map.values[0] =
        text ? firn_bytes_of_text(firn_text_of(text)) : number_bytes(op, is_upper ? sim->greatest : sim->least);
    return map;
}

static void add_file(struct firn_op *op, const struct sim_file *sim, struct firn_rewrite_plan *plan)
{
    struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
    struct firn_scan_file *scan = FIRN_NEW(op->arena, struct firn_scan_file);
    struct firn_count_map nulls = {
        .ids = FIRN_NEW(op->arena, int32_t), .counts = FIRN_NEW(op->arena, int64_t), .count = 1, .present = true
    };
    nulls.ids[0] = sim->least_text ? 2 : 1;
    nulls.counts[0] = sim->nulls;
    entry->snapshot_id = sim->snapshot_id;
    entry->file = (struct firn_data_file){
        .record_count = 10,
        .lower_bounds = one_bound(op, sim, false),
        .upper_bounds = one_bound(op, sim, true),
        .null_value_counts = nulls,
        .sort_order_id = sim->is_unsorted ? 0 : 1,
    };
    scan->entry = entry;
    plan->files[plan->file_count++] = (struct firn_planned_file){ .scan = scan,
                                                                  .is_over_threshold = sim->is_over_threshold,
                                                                  .obstacle = sim->obstacle };
}

/* Finds the order of `files`; by `id` and one field more, or by the field `source_id` alone. */
static void find_sorted(struct firn_op *op, const struct sim_file *files, uint32_t count, int32_t source_id,
                        bool has_second, struct firn_rewrite_plan *plan)
{
    CHECK_OK(op, bind(op, 1, "sort", NULL, "rewrite-unsorted-only", plan));
    struct firn_ordering_field fields[2] = { plan->ordering->fields[0], { .source_id = 4 } };
    struct firn_ordering ordering = *plan->ordering;
    fields[0].source_id = source_id;
    ordering.fields = fields;
    ordering.field_count = has_second ? 2 : 1;
    plan->ordering = &ordering;
    plan->files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, count);
    for (uint32_t i = 0; i < count; i++)
        add_file(op, &files[i], plan);
    CHECK_OK(op, firn_rewrite_find_sorted(op, plan));
    plan->ordering = NULL; /* it ends here */
}

static void check_found(struct firn_op *op, const char *name, const struct sim_file *files, uint32_t count,
                        int32_t source_id, bool has_second)
{
    struct firn_rewrite_plan plan;
    find_sorted(op, files, count, source_id, has_second, &plan);
    for (uint32_t i = 0; i < count; i++)
        CHECK(plan.files[i].order == files[i].order, "%s: file %u: %d", name, i, plan.files[i].order);
}

static void sorted_files_are_found(void **state)
{
    enum { FILES_MAX = 5 };
    static const struct {
        const char *name;
        struct sim_file files[FILES_MAX];
        uint32_t count;
        bool has_second; /* field in the order */
    } cases[] = {
        { "apart", { { 1, 5, .order = FIRN_FILE_SORTED }, { 7, 9, .order = FIRN_FILE_SORTED } }, 2 },
        { "one in another",
          { { 1, 9, .order = FIRN_FILE_OVERLAPS },
            { 20, 30, .order = FIRN_FILE_SORTED },
            { 3, 4, .order = FIRN_FILE_OVERLAPS } },
          3 },
        { "an end within, but not to the neighbour of the neighbour",
          { { 1, 5, .order = FIRN_FILE_OVERLAPS },
            { 4, 8, .order = FIRN_FILE_OVERLAPS },
            { 9, 9, .order = FIRN_FILE_SORTED } },
          3 },
        { "touching, of one commit", { { 1, 5, .order = FIRN_FILE_SORTED }, { 5, 9, .order = FIRN_FILE_SORTED } }, 2 },
        { "touching, of two commits",
          { { 1, 5, .order = FIRN_FILE_SORTED }, { 5, 9, .snapshot_id = 2, .order = FIRN_FILE_SORTED } },
          2 },
        { "touching, of two commits, and more decides",
          { { 1, 5, .order = FIRN_FILE_OVERLAPS }, { 5, 9, .snapshot_id = 2, .order = FIRN_FILE_OVERLAPS } },
          2,
          true },
        { "touching, of one commit, and more decides",
          { { 1, 5, .order = FIRN_FILE_SORTED },
            { 5, 5, .order = FIRN_FILE_SORTED },
            { 5, 9, .order = FIRN_FILE_SORTED } },
          3,
          true },
        { "one key, of two commits",
          { { 5, 5, .order = FIRN_FILE_SORTED }, { 5, 9, .snapshot_id = 2, .order = FIRN_FILE_SORTED } },
          2 },
        { "one key, of three files and two commits, and more decides",
          { { 5, 5, .order = FIRN_FILE_OVERLAPS },
            { 5, 5, .order = FIRN_FILE_JOINS },
            { 5, 5, .snapshot_id = 2, .order = FIRN_FILE_OVERLAPS } },
          3,
          true },
        { "one key, of one commit", { { 5, 5, .order = FIRN_FILE_SORTED }, { 5, 9, .order = FIRN_FILE_SORTED } }, 2 },
        { "one that is not sorted lies within",
          { { 1, 5, .order = FIRN_FILE_JOINS }, { 2, 3, .is_unsorted = true }, { 7, 8, .order = FIRN_FILE_SORTED } },
          3 },
        { "some that are not sorted lie to both sides",
          { { 4, 5, .order = FIRN_FILE_JOINS },
            { 0, 1, .is_unsorted = true },
            { 8, 9, .is_unsorted = true },
            { 10, 11, .order = FIRN_FILE_SORTED } },
          4 },
        { "what is taken in takes in more",
          { { 1, 5, .order = FIRN_FILE_OVERLAPS },
            { 20, 30, .order = FIRN_FILE_JOINS },
            { 4, 6, .order = FIRN_FILE_OVERLAPS },
            { 29, 29, .is_unsorted = true },
            { 31, 33, .order = FIRN_FILE_SORTED } },
          5 },
        { "deletes have it rewritten",
          { { 1, 9, .is_over_threshold = true, .order = FIRN_FILE_SORTED }, { 3, 4, .order = FIRN_FILE_JOINS } },
          2 },
        { "it cannot be rewritten",
          { { 1, 9, .is_unsorted = true, .obstacle = FIRN_VERDICT_FORMAT },
            { 1, 9, .obstacle = FIRN_VERDICT_FORMAT, .order = FIRN_FILE_SORTED },
            { 3, 4, .order = FIRN_FILE_SORTED } },
          3 },
        { "one that is not sorted may be anywhere",
          { { 1, 5, .order = FIRN_FILE_JOINS }, { 0, 0, .is_unsorted = true, .has_no_bounds = true } },
          2 },
        { "nulls come first",
          { { 1, 5, .nulls = 1, .order = FIRN_FILE_OVERLAPS },
            { 8, 9, .nulls = 1, .snapshot_id = 2, .order = FIRN_FILE_OVERLAPS } },
          2 },
        { "nulls only, and none",
          { { 0, 0, .nulls = 10, .has_no_bounds = true, .order = FIRN_FILE_SORTED },
            { 8, 9, .order = FIRN_FILE_SORTED } },
          2 },
        { "unknown, of one commit",
          { { 0, 0, .has_no_bounds = true, .order = FIRN_FILE_SORTED }, { 8, 9, .order = FIRN_FILE_SORTED } },
          2 },
        { "unknown, of two commits",
          { { 0, 0, .has_no_bounds = true, .order = FIRN_FILE_OVERLAPS },
            { 8, 9, .snapshot_id = 2, .order = FIRN_FILE_OVERLAPS } },
          2 },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        check_found(op, cases[i].name, cases[i].files, cases[i].count, 1, cases[i].has_second);
}

/* Upper bounds of texts were raised when they were cut, and a new file's are cut to 16. */
static void texts_that_were_cut_may_overlap(void **state)
{
#define CUT "abcdefghijklmno"
    static const struct {
        const char *name;
        struct sim_file files[2];
    } cases[] = {
        { "apart",
          { { .least_text = "a", .greatest_text = "b", .order = FIRN_FILE_SORTED },
            { .least_text = "c", .greatest_text = "d", .snapshot_id = 2, .order = FIRN_FILE_SORTED } } },
        { "cut, of one commit",
          { { .least_text = "a", .greatest_text = CUT "q", .order = FIRN_FILE_SORTED },
            { .least_text = CUT "p", .greatest_text = "d", .order = FIRN_FILE_SORTED } } },
        { "cut, of two commits",
          { { .least_text = "a", .greatest_text = CUT "q", .order = FIRN_FILE_OVERLAPS },
            { .least_text = CUT "p", .greatest_text = "d", .snapshot_id = 2, .order = FIRN_FILE_OVERLAPS } } },
        { "it will be cut above",
          { { .least_text = "a", .greatest_text = CUT "p111", .is_unsorted = true },
            { .least_text = CUT "p222", .greatest_text = "d", .order = FIRN_FILE_JOINS } } },
        { "it will be cut below",
          { { .least_text = "a", .greatest_text = CUT "p111", .order = FIRN_FILE_JOINS },
            { .least_text = CUT "p222", .greatest_text = "d", .is_unsorted = true } } },
    };
#undef CUT
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        check_found(op, cases[i].name, cases[i].files, 2, 2, false);
}

enum { RANDOM_TRIALS = 3000, RANDOM_FILES_MAX = 24 };

/* xorshift64*: the seed alone reproduces a trial. */
static int64_t roll(uint64_t *state, uint64_t sides)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (int64_t)((*state * UINT64_C(2685821657736338717) >> 16) % sides);
}

static struct sim_file roll_file(uint64_t *dice)
{
    struct sim_file file = { .least = roll(dice, 60), .snapshot_id = roll(dice, 3) };
    file.greatest = file.least + (roll(dice, 4) ? roll(dice, 4) : roll(dice, 30));
    file.is_unsorted = roll(dice, 5) == 0;
    file.nulls = roll(dice, 12) == 0;
    file.is_over_threshold = roll(dice, 12) == 0;
    return file;
}

/* Writes what is not left as files that lie as wide as they can, and meet at every end. */
static uint32_t rewrite(uint64_t *dice, const struct firn_rewrite_plan *plan, const struct sim_file *files,
                        struct sim_file *after)
{
    struct sim_file joint = { .least = INT64_MAX, .greatest = INT64_MIN, .snapshot_id = 9 };
    uint32_t kept = 0;
    for (uint32_t i = 0; i < plan->file_count; i++) {
        if (plan->files[i].order == FIRN_FILE_SORTED && !files[i].is_over_threshold) {
            after[kept++] = files[i];
            continue;
        }
        joint.least = FIRN_MIN(joint.least, files[i].least);
        joint.greatest = FIRN_MAX(joint.greatest, files[i].greatest);
        joint.nulls = FIRN_MAX(joint.nulls, files[i].nulls);
    }
    if (kept == plan->file_count)
        return kept;
    while (kept + 1 < plan->file_count && joint.least < joint.greatest) {
        struct sim_file *output = &after[kept++];
        *output = joint;
        output->greatest = joint.least + roll(dice, (uint64_t)(joint.greatest - joint.least) + 1);
        joint.least = output->greatest;
        joint.nulls = 0;
    }
    after[kept++] = joint;
    return kept;
}

/* Nulls are lowest: they make a file begin below every number. */
static bool are_apart(const struct sim_file *a, const struct sim_file *b, bool may_touch)
{
    bool is_above = a->greatest < b->least || (a->greatest == b->least && may_touch);
    bool is_below = b->greatest < a->least || (b->greatest == a->least && may_touch);
    return (is_above && !b->nulls) || (is_below && !a->nulls);
}

/* After one rewrite no files overlap in the first key, and another has nothing to do. */
static void one_rewrite_sets_files_apart(void **state)
{
    struct firn_op *op = test_op(state);
    for (uint64_t seed = 1; seed <= RANDOM_TRIALS; seed++) {
        uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15);
        struct sim_file before[RANDOM_FILES_MAX], after[RANDOM_FILES_MAX];
        struct firn_rewrite_plan plan;
        uint32_t count = 1 + (uint32_t)roll(&dice, RANDOM_FILES_MAX);
        bool has_second = roll(&dice, 2);
        for (uint32_t i = 0; i < count; i++)
            before[i] = roll_file(&dice);
        find_sorted(op, before, count, 1, has_second, &plan);
        count = rewrite(&dice, &plan, before, after);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < i; k++)
                CHECK(are_apart(&after[i], &after[k], !has_second || after[i].snapshot_id == after[k].snapshot_id),
                      "seed %" PRIu64 ": files %u and %u overlap", seed, k, i);
        find_sorted(op, after, count, 1, has_second, &plan);
        for (uint32_t i = 0; i < count; i++)
            CHECK(plan.files[i].order == FIRN_FILE_SORTED, "seed %" PRIu64 ": file %u: %d", seed, i,
                  plan.files[i].order);
    }
}

/* Procedures.md, 2.5, step 8; sizes in mebibytes, target 512. */
static void outputs_are_those_of_the_reference(void **state)
{
    static const struct {
        int64_t bytes;
        double factor;
        int64_t files;
    } cases[] = {
        { 100, 1.0, 1 }, { 550, 1.0, 1 }, { 600, 1.0, 2 }, { 1000, 1.0, 2 }, { 1000, 0.5, 1 }, { 100, 100.0, 19 },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_rewrite_plan plan;
        uint32_t first = 0;
        struct firn_planned_group group = { .files = &first, .file_count = 1, .bytes = cases[i].bytes * MEBIBYTE };
        CHECK_OK(op, bind(op, 1, "sort", NULL, NULL, &plan));
        plan.options.compression_factor = cases[i].factor;
        plan.files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, 1);
        add_file(op, &(struct sim_file){ 0 }, &plan);
        CHECK_OK(op, firn_rewrite_plan_bins(op, &plan, &group));
        CHECK(group.output_count == cases[i].files, "case %zu: %d files", i, (int)group.output_count);
        CHECK(group.bin_count == 1 && group.bins[0].piece_count == 1, "case %zu", i);
        CHECK(group.file_rows == (10 + group.output_count - 1) / group.output_count, "case %zu", i);
    }
}

/* Files that follow each other are one run, those that overlap it another; what is not sorted comes last. */
static void runs_are_laid_out(void **state)
{
    static const struct {
        struct sim_file files[4];
        uint32_t inputs[4], runs[4]; /* of the pieces, as they are laid out */
        uint32_t run_count;
        enum firn_sort_way way;
    } cases[] = {
        { { { 1, 5 }, { 6, 9 }, { 3, 4 }, { 0, 9, .is_unsorted = true } },
          { 0, 2, 1, 3 },
          { 0, 1, 0, FIRN_NO_RUN },
          2,
          FIRN_SORT_WAY_MERGED },
        { { { 30, 31 }, { 5, 7 }, { 7, 7 }, { 8, 20 } },
          { 1, 2, 3, 0 },
          { 0, 0, 0, 0 },
          1,
          FIRN_SORT_WAY_CONCATENATED },
        { { { 1, 9 }, { 2, 9 }, { 3, 9 }, { 4, 9 } }, { 0, 1, 2, 3 }, { 0, 1, 2, 3 }, 4, FIRN_SORT_WAY_MERGED },
        { { { .is_unsorted = true }, { .is_unsorted = true }, { .is_unsorted = true }, { .is_unsorted = true } },
          { 0, 1, 2, 3 },
          { 0 },
          0,
          FIRN_SORT_WAY_SORTED },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_rewrite_plan plan;
        uint32_t places[] = { 0, 1, 2, 3 };
        struct firn_planned_group group = { .files = places, .file_count = 4, .bytes = 4 };
        CHECK_OK(op, bind(op, 1, "sort", NULL, NULL, &plan));
        plan.files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, 4);
        for (size_t f = 0; f < 4; f++)
            add_file(op, &cases[i].files[f], &plan);
        CHECK_OK(op, firn_rewrite_plan_bins(op, &plan, &group));
        const struct firn_rewrite_bin *bin = &group.bins[0];
        CHECK(bin->run_count == cases[i].run_count, "case %zu: %u runs", i, bin->run_count);
        CHECK(firn_rewrite_bin_way(bin) == cases[i].way, "case %zu", i);
        for (size_t p = 0; p < 4; p++)
            CHECK(bin->pieces[p].input == cases[i].inputs[p] &&
                      (!bin->piece_runs || bin->piece_runs[p] == cases[i].runs[p]),
                  "case %zu: piece %zu", i, p);
    }
}

/* Bounds of a later field decide where those before are one value. */
static void later_fields_decide(void **state)
{
    static const struct {
        int64_t first[2][2], second[2][2]; /* least and greatest of both files, in id and ts */
        bool descending;                   /* ts */
        enum firn_key_relation relation;
    } cases[] = {
        { { { 1, 4 }, { 0, 9 } }, { { 5, 6 }, { 0, 9 } }, false, FIRN_KEYS_APART },
        { { { 1, 5 }, { 0, 9 } }, { { 5, 6 }, { 9, 12 } }, false, FIRN_KEYS_APART },
        { { { 1, 5 }, { 0, 9 } }, { { 5, 6 }, { 8, 12 } }, false, FIRN_KEYS_MEET },
        { { { 5, 5 }, { 0, 9 } }, { { 5, 5 }, { 8, 12 } }, false, FIRN_KEYS_OVERLAP },
        { { { 5, 5 }, { 0, 9 } }, { { 5, 5 }, { 9, 12 } }, false, FIRN_KEYS_APART },
        { { { 5, 5 }, { 8, 9 } }, { { 5, 5 }, { 0, 8 } }, true, FIRN_KEYS_APART },
        { { { 5, 5 }, { 8, 9 } }, { { 5, 5 }, { 0, 9 } }, true, FIRN_KEYS_OVERLAP },
        { { { 1, 5 }, { 0, 9 } }, { { 4, 6 }, { 10, 12 } }, false, FIRN_KEYS_OVERLAP },
    };
    struct firn_op *op = test_op(state);
    struct firn_ordering_field fields[2] = { { .source_id = 1 }, { .source_id = 3 } };
    struct firn_ordering ordering = { .fields = fields, .field_count = 2, .sort_order_id = 1 };
    static int32_t ids[] = { 1, 3 };
    static int64_t no_nulls[] = { 0, 0 };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_key_measure measure;
        struct firn_key_range ranges[2];
        fields[1].descending = cases[i].descending;
        CHECK_OK(op, firn_key_measure_new(op, make_metadata(op, 1), &ordering, &measure));
        for (size_t f = 0; f < 2; f++) {
            const int64_t(*values)[2] = f == 0 ? cases[i].first : cases[i].second;
            struct firn_bytes least[] = { number_bytes(op, values[0][0]), number_bytes(op, values[1][0]) };
            struct firn_bytes greatest[] = { number_bytes(op, values[0][1]), number_bytes(op, values[1][1]) };
            const struct firn_data_file file = {
                .record_count = 9,
                .lower_bounds = { ids, least, 2, true },
                .upper_bounds = { ids, greatest, 2, true },
                .null_value_counts = { ids, no_nulls, 2, true },
            };
            ranges[f] = firn_key_range_of(op->arena, &measure, &file, false);
        }
        enum firn_key_relation relation = firn_key_range_followed(&measure, &ranges[0], &ranges[1]);
        CHECK(relation == cases[i].relation, "case %zu: %d", i, relation);
    }
}

/* The curve goes through what the group's files say; a column that one of them does not know is left as it is. */
static void curves_span_the_group(void **state)
{
    static const struct sim_file files[] = { { 5, 9 }, { -3, 7 }, { 100, 200 } };
    struct firn_op *op = test_op(state);
    struct firn_rewrite_plan plan;
    uint32_t places[] = { 0, 1 };
    struct firn_planned_group group = { .files = places, .file_count = 2 };
    CHECK_OK(op, bind(op, 0, NULL, "hilbert(id, ts)", NULL, &plan));
    const int32_t *fields;
    CHECK(firn_rewrite_order_metric_fields(op, &plan, &fields) == 2 && fields[0] == 1 && fields[1] == 3, "fields");
    plan.files = FIRN_NEW_ARRAY(op->arena, struct firn_planned_file, FIRN_COUNT_OF(files));
    for (size_t i = 0; i < FIRN_COUNT_OF(files); i++)
        add_file(op, &files[i], &plan);
    CHECK_OK(op, firn_rewrite_plan_bins(op, &plan, &group));
    const struct firn_ordering_field *id = &group.ordering->fields[0], *ts = &group.ordering->fields[1];
    CHECK(id->has_range && id->least.integer == -3 && id->greatest.integer == 9, "%d", (int)id->greatest.integer);
    CHECK(!ts->has_range, "a column that files do not know");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(orders_are_bound),
        TEST(sorted_files_are_found),
        TEST(texts_that_were_cut_may_overlap),
        TEST(one_rewrite_sets_files_apart),
        TEST(outputs_are_those_of_the_reference),
        TEST(runs_are_laid_out),
        TEST(later_fields_decide),
        TEST(curves_span_the_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
