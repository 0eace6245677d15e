/* Several processes on one table: racing commits are all kept, and a killed one leaves a table that reads.
 *
 * R32 asks for two processes of 20 workers with 10 commits each. That takes a minute on a disk, since every commit is
 * synced, so FIRN_RACE_COMMITS=10 asks for it; otherwise each worker makes one. */
#include "check.h"

#include "support/fixture.h"
#include "support/folder.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 2, WORKERS = 20, APPENDS = 10 };

static int commits_per_worker(void)
{
    const char *text = getenv("FIRN_RACE_COMMITS");
    return text ? atoi(text) : 1;
}

enum kind { HADOOP, SQL };

static firn_status open_fixture(struct firn_op *op, enum kind kind, struct firn_store *store, struct firn_text folder,
                                struct fixture *out)
{
    return kind == SQL ? fixture_open_sql(op, store, folder, out) : fixture_open(op, store, folder, out);
}

/* What a thread has of its own. */
struct client {
    struct firn_arena arena;
    struct firn_op op;
    struct firn_store *store;
    struct fixture fixture;
};

static bool client_open(struct client *client, enum kind kind, struct firn_text folder)
{
    firn_arena_init(&client->arena);
    firn_op_init(&client->op, &client->arena, firn_env_real());
    firn_status status = firn_store_open(&client->op, &(struct firn_store_config){ 0 }, &client->store);
    if (status == FIRN_OK)
        status = open_fixture(&client->op, kind, client->store, folder, &client->fixture);
    if (status != FIRN_OK)
        return false;
    do /* 40 writers may keep a database locked for longer than it is waited for */
        status = fixture_load(&client->op, &client->fixture);
    while (firn_status_retryable(status));
    return status == FIRN_OK;
}

static void client_close(struct client *client)
{
    fixture_close(&client->fixture);
    firn_store_close(client->store);
    firn_arena_done(&client->arena);
}

struct worker {
    enum kind kind;
    struct firn_text folder;
    int process, number;
    bool failed;
};

/* Tries until it is done: 40 writers lose many races. */
static bool tag_until_done(struct client *client, struct firn_text name)
{
    firn_status status = FIRN_CONFLICT;
    while (firn_status_retryable(status)) {
        status = fixture_tag(&client->op, &client->fixture, name);
        if (status != FIRN_OK)
            usleep(1000 * (useconds_t)(rand() % 20));
    }
    if (status != FIRN_OK)
        fprintf(stderr, "tag %.*s: %s: %s\n", FIRN_FMT(name), firn_status_name(status), client->op.error.text);
    return status == FIRN_OK;
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct client client = { 0 };
    worker->failed = !client_open(&client, worker->kind, worker->folder);
    for (int i = 0; i < commits_per_worker() && !worker->failed; i++) {
        char name[64];
        snprintf(name, sizeof name, "tag-%d-%d-%d", worker->process, worker->number, i);
        worker->failed = !tag_until_done(&client, firn_text_of(name));
    }
    client_close(&client);
    return NULL;
}

static int run_process(enum kind kind, struct firn_text folder, int process)
{
    pthread_t threads[WORKERS];
    struct worker workers[WORKERS];
    int failed = 0;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){ .kind = kind, .folder = folder, .process = process, .number = i };
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        failed += workers[i].failed;
    }
    return failed;
}

static void append_until_done(struct client *client, int number)
{
    struct firn_op *op = &client->op;
    firn_status status = FIRN_CONFLICT;
    struct firn_data_file file =
        fixture_file(op, &client->fixture, firn_text_format(op->arena, "f%02d", number).data, 1);
    while (firn_status_retryable(status))
        status = fixture_append(op, &client->fixture, &file, 1);
    CHECK(status == FIRN_OK, "append %d: %s", number, op->error.text);
}

static void compact_until_done(struct client *client)
{
    struct firn_op *op = &client->op;
    firn_status status = FIRN_CONFLICT;
    struct firn_data_file first = fixture_file(op, &client->fixture, "first", 1);
    struct firn_data_file compacted = fixture_file(op, &client->fixture, "compacted", 1);
    while (firn_status_retryable(status)) {
        struct firn_snapshot_result result;
        struct firn_snapshot_change change = {
            .operation = FIRN_TEXT("replace"),
            .branch = FIRN_TEXT("main"),
            .added = &compacted,
            .added_count = 1,
            .added_sequence_number = 1,
            .removed = &first,
            .removed_count = 1,
            .base_snapshot_id = client->fixture.table.metadata->snapshots[0].id,
        };
        status = firn_snapshot_commit(op, NULL, &client->fixture.table, &change, &result);
    }
    CHECK(status == FIRN_OK, "compaction: %s", op->error.text);
}

static void create_table(enum kind kind, struct firn_text folder)
{
    struct client client = { 0 };
    client_open(&client, kind, folder); /* there is no table to load yet */
    CHECK_OK(&client.op,
             fixture_create(&client.op, &client.fixture,
                            (struct fixture_options){ .properties = "{\"commit.retry.min-wait-ms\": \"5\","
                                                                    "\"commit.retry.max-wait-ms\": \"50\","
                                                                    "\"commit.retry.num-retries\": \"50\"}" }));
    struct firn_data_file file = fixture_file(&client.op, &client.fixture, "first", 1);
    CHECK_OK(&client.op, fixture_append(&client.op, &client.fixture, &file, 1));
    client_close(&client);
}

static void race(struct firn_op *op, enum kind kind)
{
    struct firn_text folder = folder_make(op->arena);
    pid_t children[PROCESSES];
    create_table(kind, folder);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(run_process(kind, folder, i));
    }
    struct client client = { 0 };
    CHECK(client_open(&client, kind, folder), "%s", client.op.error.text);
    for (int i = 0; i < APPENDS; i++) {
        append_until_done(&client, i);
        if (i == APPENDS / 2)
            compact_until_done(&client);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d: status %d", i, status);
    }
    struct firn_text live;
    CHECK_OK(&client.op, fixture_load(&client.op, &client.fixture));
    CHECK_OK(&client.op, fixture_live(&client.op, &client.fixture, &live));
    CHECK(firn_text_is(live, "compacted f00 f01 f02 f03 f04 f05 f06 f07 f08 f09"), "'%.*s'", FIRN_FMT(live));
    assert_int_equal(client.fixture.table.metadata->ref_count,
                     (uint32_t)(1 + PROCESSES * WORKERS * commits_per_worker()));
    client_close(&client);
    folder_remove(folder);
}

static void filesystem_commits_are_all_kept(void **state)
{
    race(test_op(state), HADOOP);
}

static void sql_commits_are_all_kept(void **state)
{
    race(test_op(state), SQL);
}

/* Appends for ever. */
static void append_for_ever(enum kind kind, struct firn_text folder, int round)
{
    struct client client = { 0 };
    if (!client_open(&client, kind, folder))
        _exit(1);
    for (int i = 0;; i++) {
        struct firn_op *op = &client.op;
        struct firn_data_file file =
            fixture_file(op, &client.fixture, firn_text_format(op->arena, "k%d-%d", round, i).data, 1);
        if (fixture_append(op, &client.fixture, &file, 1) != FIRN_OK)
            _exit(2);
    }
}

static void kill_and_look(struct firn_op *op, enum kind kind)
{
    struct firn_text folder = folder_make(op->arena);
    create_table(kind, folder);
    for (int round = 0; round < 5 * commits_per_worker(); round++) {
        pid_t child = fork();
        if (child == 0)
            append_for_ever(kind, folder, round);
        usleep(2000 + 3000 * (useconds_t)(round * 7 % 25));
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status), "round %d: the writer ended by itself: %d", round, status);
        struct client client = { 0 };
        struct firn_text live;
        CHECK(client_open(&client, kind, folder), "round %d: %s", round, client.op.error.text);
        CHECK_OK(&client.op, fixture_live(&client.op, &client.fixture, &live));
        CHECK_OK(&client.op, fixture_tag(&client.op, &client.fixture, firn_text_format(op->arena, "r%d", round)));
        client_close(&client);
    }
    folder_remove(folder);
}

static void a_killed_writer_leaves_a_filesystem_table(void **state)
{
    kill_and_look(test_op(state), HADOOP);
}

static void a_killed_writer_leaves_a_sql_table(void **state)
{
    kill_and_look(test_op(state), SQL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(filesystem_commits_are_all_kept),
        TEST(sql_commits_are_all_kept),
        TEST(a_killed_writer_leaves_a_filesystem_table),
        TEST(a_killed_writer_leaves_a_sql_table),
    };
    return cmocka_run_group_tests_name("race", tests, NULL, NULL);
}
