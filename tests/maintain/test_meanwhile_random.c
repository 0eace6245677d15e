/* Compaction among writers, at random: whatever is deleted, upserted and appended before, during and between runs,
 * every row is there once, and no file is left that no snapshot names. A trial is known by its seed. */
#include "maintain/scene.h"

#include <pthread.h>

enum { TRIALS = 24, IDS_PER_ACTION = 6, WRITES = 30 };

struct trial {
    struct scene scene;
    struct dice dice;
    bool is_moved; /* to another spec: equality deletes of the first one's partitions would miss rows */
    char name[40];
};

/* Some ids of one partition, whether their rows live or not. */
static int roll_ids(struct trial *trial, int64_t *ids)
{
    int count = 0, wanted = 1 + roll(&trial->dice, IDS_PER_ACTION);
    int64_t first = 1 + roll(&trial->dice, (int)trial->scene.world.next_id - 1);
    for (int64_t id = first; id < trial->scene.world.next_id && count < wanted; id += 1 + roll(&trial->dice, 4))
        if (trial->scene.parts[id] == trial->scene.parts[first])
            ids[count++] = id;
    return count;
}

static void act(struct firn_op *op, struct trial *trial)
{
    int64_t ids[IDS_PER_ACTION];
    int count = roll_ids(trial, ids);
    int32_t part = trial->scene.parts[ids[0]];
    bool upserts = roll(&trial->dice, 2);
    switch (roll(&trial->dice, 8)) {
    case 0:
        add_rows(op, &trial->scene, part, 1 + roll(&trial->dice, 20));
        break;
    case 1:
    case 2:
        if (!trial->is_moved)
            delete_by_equality(op, &trial->scene, part, ids, count, upserts);
        break;
    default:
        delete_ids(op, &trial->scene, ids, count,
                   roll(&trial->dice, 2) ? FIRN_DELETES_BY_FILE : FIRN_DELETES_BY_PARTITION);
        break;
    }
}

/* Lets peers go first at some swaps. */
struct interruption {
    const struct firn_catalog_kind *inner;
    struct firn_catalog_kind kind;
    struct trial *trial;
    int left;
    bool is_acting;
};

static firn_status interrupted_swap(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                    const struct firn_table_version *base, const struct firn_metadata *metadata,
                                    struct firn_text *new_location)
{
    struct interruption *interruption =
        (struct interruption *)((char *)(uintptr_t)catalog->kind - offsetof(struct interruption, kind));
    if (!interruption->is_acting && interruption->left > 0) {
        struct firn_table mine = interruption->trial->scene.world.table;
        interruption->is_acting = true;
        interruption->left--;
        act(op, interruption->trial);
        interruption->is_acting = false;
        interruption->trial->scene.world.table = mine;
    }
    return interruption->inner->swap(op, catalog, identifier, base, metadata, new_location);
}

static void roll_options(struct trial *trial, struct job *job)
{
    static const struct {
        const char *key, *value;
        int one_in;
    } choices[] = {
        { "rewrite-all", "true", 3 },
        { "partial-progress.enabled", "true", 3 },
        { "carry-over-deletes", "false", 8 },
        { "use-starting-sequence-number", "false", 8 },
        { "target-file-size-bytes", "1500", 3 },
    };
    option(job, "min-input-files", "2");
    for (size_t i = 0; i < FIRN_COUNT_OF(choices); i++)
        if (roll(&trial->dice, choices[i].one_in) == 0)
            option(job, choices[i].key, choices[i].value);
    job->verify_full = roll(&trial->dice, 2);
}

static void run_among_peers(struct firn_op *op, struct trial *trial, int64_t *carried, int64_t *replanned)
{
    struct job job = { 0 };
    struct interruption interruption = { .trial = trial };
    struct world *world = &trial->scene.world;
    roll_options(trial, &job);
    CHECK_OK(op, firn_table_refresh(op, &world->table));
    CHECK_OK(op, plan(op, world, &job));
    for (int i = roll(&trial->dice, 4); i > 0; i--)
        act(op, trial);
    interruption.left = roll(&trial->dice, 3);
    interruption.inner = world->catalog->kind;
    interruption.kind = *interruption.inner;
    interruption.kind.swap = interrupted_swap;
    world->catalog->kind = &interruption.kind;
    firn_status status = apply(op, world, &job);
    world->catalog->kind = interruption.inner;
    CHECK(status == FIRN_OK, "%s: %s", trial->name, op->error.text);
    check_rows(op, &trial->scene, trial->name);
    check_no_orphans(op, &trial->scene, trial->name);
    *carried += job.report.carried_rows_count;
    *replanned += job.report.replanned_groups_count;
}

static void begin_trial(struct firn_op *op, struct trial *trial, uint64_t seed)
{
    *trial = (struct trial){ .dice.state = seed };
    snprintf(trial->name, sizeof trial->name, "seed %" PRIu64, seed);
    scene_begin(op, &trial->scene, 2 + roll(&trial->dice, 2),
                roll(&trial->dice, 2) ? "\"commit.manifest.min-count-to-merge\": \"2\"" : NULL);
    for (int i = 3 + roll(&trial->dice, 5); i > 0; i--)
        add_rows(op, &trial->scene, roll(&trial->dice, 2), 1 + roll(&trial->dice, 30));
    for (int i = roll(&trial->dice, 3); i > 0; i--)
        act(op, trial);
    trial->is_moved = roll(&trial->dice, 4) == 0;
    if (trial->is_moved)
        add_bucket_spec(op, &trial->scene);
}

static void rows_stay_themselves(void **state)
{
    struct firn_op *op = test_op(state);
    int64_t carried = 0, replanned = 0;
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct firn_arena arena;
        struct firn_op turn = *op;
        struct trial *trial = calloc(1, sizeof *trial);
        firn_arena_init(&arena);
        turn.arena = &arena;
        begin_trial(&turn, trial, seed * UINT64_C(0x9e3779b97f4a7c15));
        for (int runs = 2; runs > 0; runs--)
            run_among_peers(&turn, trial, &carried, &replanned);
        scene_end(&turn, &trial->scene);
        free(trial);
        firn_arena_done(&arena);
    }
    CHECK(carried > TRIALS && replanned > 5,
          "too little happened: %" PRId64 " rows carried, %" PRId64 " groups replanned", carried, replanned);
}

/* A thread that compacts until it is told to stop. */
struct compactor {
    struct firn_store *store;
    atomic_bool stop;
    int runs;
    struct firn_rewrite_data_files_report total;
    firn_status status; /* other than CONFLICT, which is no failure here */
    char error[FIRN_ERROR_TEXT_MAX];
};

static firn_status compact_once(struct firn_op *op, struct compactor *compactor, struct firn_catalog *catalog)
{
    static const char *const flags[] = { "false", "true" };
    struct firn_property options[] = {
        { FIRN_TEXT("min-input-files"), FIRN_TEXT("2") },
        { FIRN_TEXT("rewrite-all"), firn_text_of(flags[compactor->runs % 3 == 0]) },
        { FIRN_TEXT("partial-progress.enabled"), firn_text_of(flags[compactor->runs % 2]) },
    };
    struct firn_rewrite_data_files_args args = { .options = options, .option_count = FIRN_COUNT_OF(options) };
    struct firn_rewrite_data_files_report report;
    struct firn_rewrite_plan *plan;
    struct firn_table table;
    FIRN_TRY(firn_catalog_load(op, catalog, FIRN_TEXT("db.t"), &table));
    FIRN_TRY(firn_rewrite_data_files_plan(op, NULL, &table, &args, &plan));
    FIRN_TRY(firn_rewrite_data_files_apply(op, NULL, &table, plan, NULL, &report));
    compactor->total.commits += report.commits;
    compactor->total.carried_rows_count += report.carried_rows_count;
    compactor->total.replanned_groups_count += report.replanned_groups_count;
    return FIRN_OK;
}

static void *compact(void *context)
{
    struct compactor *compactor = context;
    struct world world;
    struct firn_env env;
    bool is_last;
    do { /* the last run has the table for itself, however little the writer left of the time */
        is_last = atomic_load(&compactor->stop);
        struct firn_arena arena;
        struct firn_op op;
        firn_arena_init(&arena);
        firn_op_init(&op, &arena, impatient(&env));
        world.store = compactor->store;
        open_catalog(&op, &world, compactor->store);
        firn_status status = compact_once(&op, compactor, world.catalog);
        firn_catalog_close(world.catalog);
        compactor->runs++;
        if (status != FIRN_OK && status != FIRN_CONFLICT && status != FIRN_PARTIAL) {
            compactor->status = status;
            snprintf(compactor->error, sizeof compactor->error, "%s", op.error.text);
        }
        firn_arena_done(&arena);
    } while (!is_last && compactor->status == FIRN_OK);
    return NULL;
}

/* A writer that never rests while firn compacts in a loop. */
static void a_writer_and_a_compactor_agree(void **state)
{
    struct firn_op *op = test_op(state);
    for (int version = 2; version <= 3; version++) {
        struct trial *trial = calloc(1, sizeof *trial);
        struct compactor compactor = { 0 };
        pthread_t thread;
        trial->dice.state = (uint64_t)version;
        scene_begin(op, &trial->scene, version, "\"commit.retry.num-retries\": \"20\"");
        for (int i = 0; i < 4; i++)
            add_rows(op, &trial->scene, i % 2, 20);
        compactor.store = trial->scene.world.store;
        assert_int_equal(pthread_create(&thread, NULL, compact, &compactor), 0);
        for (int i = 0; i < WRITES && compactor.status == FIRN_OK; i++) {
            struct firn_arena arena;
            struct firn_op turn = *op;
            struct firn_table table = trial->scene.world.table; /* outlives the turn */
            firn_arena_init(&arena);
            turn.arena = &arena;
            act(&turn, trial);
            trial->scene.world.table = table;
            firn_arena_done(&arena);
        }
        atomic_store(&compactor.stop, true);
        pthread_join(thread, NULL);
        CHECK(compactor.status == FIRN_OK, "%s", compactor.error);
        CHECK(compactor.total.commits > 0, "nothing was compacted in %d runs", compactor.runs);
        print_message("version %d: %d runs, %" PRId64 " commits, %" PRId64 " rows carried over, %" PRId64
                      " groups planned anew\n",
                      version, compactor.runs, compactor.total.commits, compactor.total.carried_rows_count,
                      compactor.total.replanned_groups_count);
        check_rows(op, &trial->scene, "at the end");
        check_no_orphans(op, &trial->scene, "at the end");
        scene_end(op, &trial->scene);
        free(trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_stay_themselves),
        TEST(a_writer_and_a_compactor_agree),
    };
    return cmocka_run_group_tests_name("meanwhile_random", tests, NULL, NULL);
}
