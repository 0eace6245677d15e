/* remove_orphan_files against a model: random trees, spellings, hidden names, times and options; the join within a
 * memory budget; places reached through symbolic links. A failing case prints its seed. */
#include "orphan_world.h"

#include "maintain/orphan_join.h"
#include "support/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* xorshift: the seed alone reproduces a case. */
static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static size_t below(uint64_t *seed, size_t bound)
{
    return (size_t)(next(seed) % bound);
}

enum { FILES = 60 };

/* A file that lies in the table's location, and how the table's metadata names it. */
struct model_file {
    struct firn_text name;
    int64_t age_ms;
    int recorded; /* place in `prefixes`; -1: not at all */
    bool is_hidden;
};

static const struct {
    const char *text;
    bool is_equal; /* to what the listing has, s3://b */
} prefixes[] = { { "s3://b", true }, { "s3a://B", true }, { "", true },
                 { "s3://B", true }, { "gs://b", false }, { "s3://c", false } };

static const char spec_text[] =
    "{\"spec-id\": 0, \"fields\": [{\"source-id\": 1, \"field-id\": 1000, \"name\": \"_p\", "
    "\"transform\": \"bucket[4]\"}]}";

static void make_name(struct firn_op *op, uint64_t *seed, size_t number, struct model_file *file)
{
    static const struct {
        const char *part;
        bool is_hidden;
    } parts[] = { { "data", false },    { "_tmp", true },   { ".x", true },
                  { "_p=1", false },    { "p=a b", false }, { "p=%C3%BC", false },
                  { "q=x:y@z", false }, { "_pq=1", true },  { "metadata", false } };
    file->name = FIRN_TEXT("");
    file->is_hidden = false;
    for (size_t depth = below(seed, 4); depth > 0; depth--) {
        size_t part = below(seed, sizeof parts / sizeof *parts);
        file->is_hidden = file->is_hidden || parts[part].is_hidden;
        file->name = firn_text_format(op->arena, "%.*s%s/", FIRN_FMT(file->name), parts[part].part);
    }
    bool hidden_name = below(seed, 10) == 0;
    file->is_hidden = file->is_hidden || hidden_name;
    file->name = firn_text_format(op->arena, "%.*s%sf%zu", FIRN_FMT(file->name), hidden_name ? "_" : "", number);
}

static int64_t random_age(uint64_t *seed)
{
    static const int64_t ages[] = { -DAY_MS, 0, HOUR_MS, 25 * HOUR_MS, 3 * DAY_MS, 3 * DAY_MS + 1, 9 * DAY_MS, NOW_MS };
    return ages[below(seed, sizeof ages / sizeof *ages)];
}

static void make_files(struct firn_op *op, struct world *world, uint64_t *seed, struct model_file *files)
{
    struct firn_data_file recorded[FILES];
    uint32_t count = 0;
    bool with_foreign = below(seed, 2) == 0;
    struct firn_value null = { .type = FIRN_TYPE_INT, .is_null = true };
    for (size_t i = 0; i < FILES; i++) {
        make_name(op, seed, i, &files[i]);
        files[i].age_ms = random_age(seed);
        files[i].recorded = below(seed, 2) ? -1 : (int)below(seed, with_foreign ? 6 : 4);
        world_put(op, world, files[i].name.data, files[i].age_ms);
        if (files[i].recorded < 0)
            continue;
        recorded[count] = fixture_file(op, &world->fixture, "unused", 1);
        recorded[count].partition = (struct firn_partition){ &null, 1 };
        recorded[count++].path =
            firn_text_format(op->arena, "%s/w/db/t/%.*s", prefixes[files[i].recorded].text, FIRN_FMT(files[i].name));
    }
    if (count > 0)
        CHECK_OK(op, fixture_append(op, &world->fixture, recorded, count));
}

static const struct {
    const char *older_than;
    int64_t age_ms; /* what it means */
} ages[] = { { "", 3 * DAY_MS }, { "24h", DAY_MS }, { "5d", 5 * DAY_MS } };
static const char *const modes[] = { "ERROR", "IGNORE", "DELETE" };

enum fate { STAYS, GOES, STOPS };

static enum fate fate_of(const struct model_file *file, int64_t age_ms, size_t mode)
{
    bool is_usable = file->age_ms >= 0 && file->age_ms < NOW_MS;
    if (file->is_hidden || !is_usable || file->age_ms <= age_ms)
        return STAYS;
    if (file->recorded < 0)
        return GOES;
    if (prefixes[file->recorded].is_equal)
        return STAYS;
    return mode == 0 ? STOPS : mode == 1 ? STAYS : GOES;
}

static void check_case(struct firn_op *op, uint64_t seed)
{
    struct world world;
    struct model_file files[FILES];
    struct firn_orphan_report report;
    uint64_t random = seed;
    bool stops = false;
    world_begin(op, &world);
    CHECK_OK(op, fixture_open(op, world.store, FIRN_TEXT("s3://b/w"), &world.fixture));
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ .spec = spec_text }));
    make_files(op, &world, &random, files);
    size_t age = below(&random, 3), mode = below(&random, 3);
    for (size_t i = 0; i < FILES; i++)
        stops = stops || fate_of(&files[i], ages[age].age_ms, mode) == STOPS;
    struct firn_remove_orphan_files_args args = { .older_than = firn_text_of(ages[age].older_than),
                                                  .prefix_mismatch_mode = firn_text_of(modes[mode]) };
    firn_status status = world_remove(op, &world, args, &report);
    CHECK(status == (stops ? FIRN_USAGE : FIRN_OK), "seed %" PRIu64 ": %s", seed, op->error.text);
    for (size_t i = 0; i < FILES; i++) {
        bool goes = !stops && fate_of(&files[i], ages[age].age_ms, mode) == GOES;
        CHECK(world_has(op, &world, files[i].name.data) != goes, "seed %" PRIu64 ": %.*s, %" PRId64 " old", seed,
              FIRN_FMT(files[i].name), files[i].age_ms);
    }
    world_close(op, &world);
}

static void random_trees(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        check_case(test_op(state), seed * 7919);
}

/* The join within a budget --------------------------------------------------------------------------------------- */

enum { JOINED = 200000, BUDGET_BYTES = 12 << 20 };

static firn_status count_orphan(struct firn_op *op, void *context, const struct firn_orphan_file *file,
                                bool is_confirmed)
{
    (void)op;
    (void)is_confirmed;
    int64_t number;
    ptrdiff_t dash = firn_text_find_last(file->location, '-');
    CHECK(firn_text_to_i64(firn_text_from(file->location, (size_t)dash + 1), &number), "%.*s",
          FIRN_FMT(file->location));
    CHECK(number % 3 == 0 && file->bytes == number, "%.*s is known", FIRN_FMT(file->location));
    ++*(int64_t *)context;
    return FIRN_OK;
}

/* 200,000 candidates with locations of 120 bytes, two thirds of them known: 40 MB go through a budget of 12. */
static void joins_more_than_memory_holds(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_budget budget = { .limit_bytes = BUDGET_BYTES };
    struct firn_spill_config spill_config = { 0 };
    struct firn_prefix_names names = { 0 };
    int64_t orphans = 0;
    char location[160];
    op->budget = &budget;
    struct firn_orphan_join_config config = { .schemes = &names, .authorities = &names };
    CHECK_OK(op, firn_spill_open(op, &spill_config, &config.spill));
    struct firn_orphan_join *join = firn_orphan_join_open(&config);
    for (int64_t i = 0; i < JOINED; i++) {
        int len = snprintf(location, sizeof location, "s3://bucket/warehouse/db/table/data/day=2026-11-%02d/%098d-%d",
                           (int)(i % 30), 0, (int)i);
        struct firn_orphan_file file = { .location = { location, (size_t)len }, .bytes = i, .modified_ms = 1 };
        CHECK_OK(op, firn_orphan_join_candidate(op, join, &file));
        if (i % 3 != 0)
            CHECK_OK(op, firn_orphan_join_known(op, join, file.location));
    }
    CHECK_OK(op, firn_orphan_join_run(op, join, count_orphan, &orphans));
    CHECK(orphans == (JOINED + 2) / 3, "%d orphans", (int)orphans);
    firn_orphan_join_close(join);
    firn_spill_close(config.spill);
    CHECK(atomic_load(&budget.used_bytes) == 0, "%zu bytes are left", atomic_load(&budget.used_bytes));
    CHECK(op->arena->used_bytes < 1 << 20, "%zu bytes in the arena", op->arena->used_bytes);
    op->budget = NULL;
}

/* Symbolic links and relocation ---------------------------------------------------------------------------------- */

static void set_ages(struct firn_op *op, struct firn_text path, int64_t read_days, int64_t changed_days)
{
    struct timespec times[2] = { { .tv_sec = (NOW_MS - read_days * DAY_MS) / 1000 },
                                 { .tv_sec = (NOW_MS - changed_days * DAY_MS) / 1000 } };
    CHECK(utimensat(AT_FDCWD, firn_text_copy(op->arena, path).data, times, 0) == 0, "%.*s", FIRN_FMT(path));
}

/* Local files: one is recorded through a symbolic link to the table's folder, one under a prefix that is relocated. */
static void files_known_by_another_way_stay(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_orphan_plan *plan;
    struct firn_text root = folder_make(op->arena);
    struct firn_text warehouse = firn_location_join(op->arena, root, FIRN_TEXT("w"));
    struct firn_text link_path = firn_location_join(op->arena, root, FIRN_TEXT("link"));
    struct firn_relocation rule = { .from = FIRN_TEXT("s3://b/w"), .to = warehouse };
    struct firn_store_config config = { .relocations = &rule, .relocation_count = 1, .relaxed = true };
    world_begin(op, &world);
    firn_store_close(world.store);
    CHECK_OK(op, firn_store_open(op, &config, &world.store));
    CHECK_OK(op, fixture_open(op, world.store, warehouse, &world.fixture));
    CHECK_OK(op, fixture_create(op, &world.fixture, (struct fixture_options){ 0 }));
    CHECK(symlink(warehouse.data, link_path.data) == 0, "symlink");
    static const char *const names[] = { "plain", "linked", "relocated", "uri", "orphan" };
    struct firn_data_file files[5];
    for (size_t i = 0; i < 5; i++) {
        files[i] = fixture_file(op, &world.fixture, names[i], 1);
        set_ages(op, files[i].path, 0, 10); /* when it was read last says nothing */
    }
    set_ages(op, fixture_file(op, &world.fixture, "changed", 1).path, 10, 0);
    files[1].path = firn_text_format(op->arena, "%.*s/db/t/data/linked", FIRN_FMT(link_path));
    files[2].path = FIRN_TEXT("s3://b/w/db/t/data/relocated");
    files[3].path = firn_text_format(op->arena, "file://%.*s/db//t/./data/uri", FIRN_FMT(warehouse));
    CHECK_OK(op, fixture_append(op, &world.fixture, files, 4));
    CHECK_ORPHANS(op, &world, ((struct firn_remove_orphan_files_args){ 0 }), "data/orphan");

    struct firn_text listed = firn_text_format(op->arena, "%.*s/db/t/data", FIRN_FMT(link_path));
    struct firn_remove_orphan_files_args args = { .location = listed, .trust_location = true };
    CHECK_OK(op, world_plan(op, &world, args, &plan));
    CHECK(firn_orphan_plan_report(plan)->orphan_count == 1, "by the link: %d",
          (int)firn_orphan_plan_report(plan)->orphan_count);
    world_close(op, &world);
    folder_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_trees),
        TEST(joins_more_than_memory_holds),
        TEST(files_known_by_another_way_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
