/* The store contract, for the local and the memory driver alike; then what is special to local files. */
#include "check.h"

#include "base/math.h"
#include "store/driver.h"
#include "support/fault_store.h"
#include "support/folder.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct firn_bytes bytes_of(const char *text)
{
    return firn_bytes_of_text(firn_text_of(text));
}

static void check_content(struct firn_op *op, struct firn_store *store, struct firn_text location, const char *wanted)
{
    struct firn_buffer content = { 0 };
    CHECK_OK(op, firn_store_read(op, store, location, 1 << 20, &content));
    struct firn_text got = firn_text_of_bytes(firn_buffer_bytes(&content));
    CHECK(firn_text_is(got, wanted), "'%.*s' holds '%.*s'", FIRN_FMT(location), FIRN_FMT(got));
    firn_buffer_done(&content);
}

static size_t count_below(struct firn_op *op, struct firn_store *store, struct firn_text prefix)
{
    size_t count;
    CHECK_OK(op, store_count(op, store, prefix, &count));
    return count;
}

/* Runs a body against both drivers below a folder of its own. */
static void with_both(void **state, void (*body)(struct firn_op *, struct firn_store *, struct firn_text))
{
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    body(op, store, FIRN_TEXT("mem://bucket/wh"));
    firn_store_close(store);

    struct firn_text folder = folder_make(op->arena);
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ 0 }, &store));
    body(op, store, folder);
    firn_store_close(store);
    folder_remove(folder);
}

static void write_read_replace(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    struct firn_text name = firn_location_join(op->arena, root, FIRN_TEXT("a/b/c.txt"));
    struct firn_store_stat info;
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_store_stat(op, store, name, &info));
    CHECK_OK(op, firn_store_put(op, store, name, true, bytes_of("one")));
    check_content(op, store, name, "one");
    CHECK_STATUS(op, FIRN_EXISTS, firn_store_put(op, store, name, true, bytes_of("two")));
    check_content(op, store, name, "one");
    CHECK_OK(op, firn_store_put(op, store, name, false, bytes_of("three")));
    check_content(op, store, name, "three");
    CHECK_OK(op, firn_store_stat(op, store, name, &info));
    assert_int_equal(info.size, 5);
    CHECK(info.modified_ms > firn_now_ms(op) - 60000 && info.modified_ms <= firn_now_ms(op) + 60000, "time");
    assert_int_equal(count_below(op, store, root), 1);
}

static void contents_are_written_read_and_replaced(void **state)
{
    with_both(state, write_read_replace);
}

static void half_written(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    struct firn_text name = firn_location_join(op->arena, root, FIRN_TEXT("half"));
    struct firn_store_writer *writer;
    CHECK_OK(op, firn_store_write(op, store, name, false, &writer));
    CHECK_OK(op, firn_sink_write(op, firn_store_writer_sink(writer), bytes_of("content")));
    CHECK(!store_has(op, store, name), "visible before finish");
    firn_store_writer_close(writer);
    CHECK(!store_has(op, store, name), "visible after close");
    assert_int_equal(count_below(op, store, root), 0);
    firn_store_writer_close(NULL);
}

/* Invariants (1) and (2) of store.h. */
static void discarded_writes_leave_nothing(void **state)
{
    with_both(state, half_written);
}

static void large_object(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    enum { PIECES = 130 }; /* more than is written back at once */
    struct firn_text name = firn_location_join(op->arena, root, FIRN_TEXT("large"));
    struct firn_store_writer *writer;
    uint8_t piece[70001];
    CHECK_OK(op, firn_store_write(op, store, name, true, &writer));
    for (uint32_t i = 0; i < PIECES; i++) {
        memset(piece, (int)i, sizeof piece);
        CHECK_OK(op, firn_sink_write(op, firn_store_writer_sink(writer), (struct firn_bytes){ piece, sizeof piece }));
    }
    assert_int_equal(firn_store_writer_sink(writer)->offset, PIECES * sizeof piece);
    CHECK_OK(op, firn_store_writer_finish(op, writer));

    struct firn_object *object;
    CHECK_OK(op, firn_object_open(op, store, name, &object));
    assert_int_equal(firn_object_size(object), PIECES * sizeof piece);
    uint8_t pair[2];
    for (uint32_t i = 1; i < PIECES; i++) {
        CHECK_OK(op, firn_object_read(op, object, i * sizeof piece - 1, 2, pair));
        CHECK(pair[0] == i - 1 && pair[1] == i, "around piece %u", i);
    }
    CHECK_OK(op, firn_object_read(op, object, PIECES * sizeof piece, 0, pair));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_object_read(op, object, PIECES * sizeof piece - 1, 2, pair));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_object_read(op, object, UINT64_MAX, 2, pair));
    firn_object_close(object);

    struct firn_buffer content = { 0 };
    CHECK_STATUS(op, FIRN_LIMIT, firn_store_read(op, store, name, 1000, &content));
    firn_buffer_done(&content);
}

static void ranges_of_large_objects_are_read(void **state)
{
    with_both(state, large_object);
}

static firn_status collect(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct firn_text *seen = context;
    *seen = firn_text_format(op->arena, "%.*s %.*s=%" PRIu64, FIRN_FMT(*seen), FIRN_FMT(entry->location), entry->size);
    return FIRN_OK;
}

static void listing(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    struct firn_text seen = { 0 };
    CHECK_OK(op, firn_store_list(op, store, root, true, collect, &seen));
    assert_int_equal(seen.len, 0);
    CHECK_OK(op, firn_store_put(op, store, firn_location_join(op->arena, root, FIRN_TEXT("wh/.hidden")), false,
                                bytes_of("12")));
    CHECK_OK(op,
             firn_store_put(op, store, firn_location_join(op->arena, root, FIRN_TEXT("wh2/x")), false, bytes_of("1")));
    CHECK_OK(op, firn_store_put(op, store, firn_location_join(op->arena, root, FIRN_TEXT("wh/t/data/f")), false,
                                bytes_of("123")));
    struct firn_text below = firn_location_join(op->arena, root, FIRN_TEXT("wh"));
    CHECK_OK(op, firn_store_list(op, store, below, false, collect, &seen));
    struct firn_text wanted = firn_text_format(op->arena, " %.*s/.hidden=2", FIRN_FMT(below));
    CHECK(firn_text_same(seen, wanted), "'%.*s'", FIRN_FMT(seen));
    assert_int_equal(count_below(op, store, below), 2);
    struct firn_text with_slash = firn_location_join(op->arena, below, FIRN_TEXT(""));
    assert_int_equal(count_below(op, store, with_slash), 2);
}

static void folders_are_listed_with_hidden_files(void **state)
{
    with_both(state, listing);
}

static void deleting(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    struct firn_text names[] = {
        firn_location_join(op->arena, root, FIRN_TEXT("d/1")),
        firn_location_join(op->arena, root, FIRN_TEXT("d/absent")),
        firn_location_join(op->arena, root, FIRN_TEXT("d/2")),
        firn_location_join(op->arena, root, FIRN_TEXT("d/../3")),
        FIRN_TEXT(""),
    };
    size_t failed;
    CHECK_OK(op, firn_store_put(op, store, names[0], false, bytes_of("1")));
    CHECK_OK(op, firn_store_put(op, store, names[2], false, bytes_of("2")));
    CHECK_OK(op, firn_store_delete(op, store, names, 5, &failed));
    assert_int_equal(failed, 2); /* the climbing one and the empty one */
    assert_int_equal(count_below(op, store, root), 0);
    CHECK_OK(op, firn_store_put(op, store, names[0], true, bytes_of("again")));
    check_content(op, store, names[0], "again");
}

static void quiet_log(void *context, enum firn_log_level level, struct firn_text line)
{
    (void)context;
    (void)level;
    (void)line;
}

static void deletions_count_what_is_left(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_env quiet = *firn_env_real();
    quiet.log = quiet_log;
    op->env = &quiet;
    with_both(state, deleting);
    op->env = firn_env_real();
}

static void local_spellings_mean_one_file(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *location;
        const char *path; /* NULL: not local */
    } cases[] = {
        { "/a/b", "/a/b" },
        { "file:/a/b", "/a/b" },
        { "file:///a/b", "/a/b" },
        { "FILE:///a/b", "/a/b" },
        { "file://localhost/a/b", "/a/b" },
        { "file:/a%20b", "/a%20b" },
        { "file:///a/b=c+d/e:f", "/a/b=c+d/e:f" },
        { "wh/t", "wh/t" },
        { "a:b", "a:b" },
        { "./a:/b", "./a:/b" },
        { "file://host/a", NULL },
        { "file://", NULL },
        { "s3://bucket/key", NULL },
        { "hdfs:/p", NULL },
        { "https://x/y", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_text path;
        firn_status status = firn_location_local_path(op, firn_text_of(cases[i].location), &path);
        CHECK((status == FIRN_OK) == (cases[i].path != NULL), "'%s'", cases[i].location);
        CHECK(status == FIRN_OK ? firn_text_is(path, cases[i].path) : status == FIRN_UNSUPPORTED, "'%s': '%.*s'",
              cases[i].location, FIRN_FMT(path));
    }
}

static void relocations_match_whole_folders_and_the_longest_wins(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct firn_relocation rules[] = {
        { FIRN_TEXT_INIT("s3://bucket/wh"), FIRN_TEXT_INIT("/local/one/") },
        { FIRN_TEXT_INIT("s3://bucket/wh/db/t/"), FIRN_TEXT_INIT("/local/two") },
        { FIRN_TEXT_INIT("file:///home/x"), FIRN_TEXT_INIT("/local/three") },
        { FIRN_TEXT_INIT("rel"), FIRN_TEXT_INIT("/local/four") },
        { FIRN_TEXT_INIT("hdfs://nn:8020/"), FIRN_TEXT_INIT("file:///local/five") },
    };
    static const struct {
        const char *location;
        const char *path;
    } cases[] = {
        { "s3://bucket/wh/a", "/local/one/a" },
        { "s3://bucket/wh", "/local/one" },
        { "s3://bucket/wh/db/t/m", "/local/two/m" },
        { "s3://bucket/wh/db/t2/m", "/local/one/db/t2/m" },
        { "/home/x/y", "/local/three/y" },
        { "file:/home/x/y", "/local/three/y" },
        { "file:/home/xy/y", "/home/xy/y" },
        { "rel/f", "/local/four/f" },
        { "relative/f", "relative/f" },
        { "s3://bucket/whale", NULL },
        { "hdfs://nn:8020/a/b", "/local/five/a/b" },
    };
    struct firn_store_config config = { .relocations = rules, .relocation_count = sizeof rules / sizeof *rules };
    struct firn_store *store;
    CHECK_OK(op, firn_store_open(op, &config, &store));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct firn_text path;
        firn_status status = firn_store_local_path(op, store, firn_text_of(cases[i].location), &path);
        if (cases[i].path)
            CHECK(status == FIRN_OK && firn_text_is(path, cases[i].path), "'%s': '%.*s'", cases[i].location,
                  FIRN_FMT(path));
        else
            CHECK(status == FIRN_UNSUPPORTED, "'%s'", cases[i].location);
    }
    firn_store_close(store);

    struct firn_relocation empty = { .to = FIRN_TEXT("/x") };
    config = (struct firn_store_config){ .relocations = &empty, .relocation_count = 1 };
    CHECK_STATUS(op, FIRN_USAGE, firn_store_open(op, &config, &store));
}

static void relocated_listings_keep_the_recorded_spelling(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text folder = folder_make(op->arena);
    struct firn_relocation rule = { .from = FIRN_TEXT("s3://b/wh"), .to = folder };
    struct firn_store *store;
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ &rule, 1 }, &store));
    CHECK_OK(op, firn_store_put(op, store, FIRN_TEXT("s3://b/wh/t/f"), false, bytes_of("xy")));
    struct firn_text seen = { 0 };
    CHECK_OK(op, firn_store_list(op, store, FIRN_TEXT("s3://b/wh/"), true, collect, &seen));
    CHECK(firn_text_is(seen, " s3://b/wh/t/f=2"), "'%.*s'", FIRN_FMT(seen));
    firn_store_close(store);
    folder_remove(folder);
}

static void links_pipes_and_folders_are_not_objects(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text folder = folder_make(op->arena);
    struct firn_store *store;
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ 0 }, &store));
    struct firn_text file = firn_location_join(op->arena, folder, FIRN_TEXT("file"));
    struct firn_text pipe_path = firn_location_join(op->arena, folder, FIRN_TEXT("pipe"));
    CHECK_OK(op, firn_store_put(op, store, file, false, bytes_of("1")));
    assert_int_equal(symlink("file", firn_location_join(op->arena, folder, FIRN_TEXT("link")).data), 0);
    assert_int_equal(symlink(".", firn_location_join(op->arena, folder, FIRN_TEXT("loop")).data), 0);
    assert_int_equal(mkfifo(pipe_path.data, 0600), 0);
    assert_int_equal(count_below(op, store, folder), 1);
    struct firn_object *object;
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_object_open(op, store, pipe_path, &object));
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_object_open(op, store, folder, &object));
    firn_store_close(store);
    folder_remove(folder);
}

/* Whether or not it is there, expecting an object neither fails nor costs a request, memory or a descriptor. */
static void expecting_does_no_harm(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text folder = folder_make(op->arena);
    struct firn_relocation rule = { .from = FIRN_TEXT("s3://b/wh"), .to = folder };
    struct firn_text pipe_path = firn_location_join(op->arena, folder, FIRN_TEXT("pipe"));
    const struct firn_text locations[] = {
        FIRN_TEXT("s3://b/wh/file"),
        FIRN_TEXT("s3://b/wh/none"),
        folder,
        pipe_path,
        FIRN_TEXT("gs://b/x"),
        FIRN_TEXT(""),
        { "/tmp/a\0b", 8 },
    };
    struct firn_store *stores[2];
    struct rlimit before;
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ &rule, 1 }, &stores[0]));
    CHECK_OK(op, firn_store_open_memory(op, &stores[1]));
    CHECK_OK(op, firn_store_put(op, stores[0], locations[0], false, bytes_of("content")));
    assert_int_equal(mkfifo(pipe_path.data, 0600), 0);
    int unused = dup(0);
    CHECK(unused >= 0 && close(unused) == 0, "no descriptors");
    getrlimit(RLIMIT_NOFILE, &before);
    for (size_t i = 0; i < 2 * FIRN_COUNT_OF(locations) * FIRN_COUNT_OF(stores); i++) {
        struct firn_store *store = stores[i % 2];
        struct firn_text location = locations[i / 2 % FIRN_COUNT_OF(locations)];
        bool exhausted = i >= FIRN_COUNT_OF(locations) * FIRN_COUNT_OF(stores);
        size_t used = op->arena->used_bytes;
        struct firn_work work = firn_store_work(store);
        op->error = (struct firn_error){ 0 };
        if (exhausted)
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)unused, before.rlim_max });
        (void)firn_store_expect(op, store, location);
        setrlimit(RLIMIT_NOFILE, &before);
        struct firn_work later = firn_store_work(store);
        int next = dup(0);
        CHECK(next == unused && close(next) == 0, "'%.*s': a descriptor stays", FIRN_FMT(location));
        CHECK(op->arena->used_bytes == used && memcmp(&work, &later, sizeof work) == 0 && op->error.text[0] == 0,
              "'%.*s': %s", FIRN_FMT(location), op->error.text);
    }
    check_content(op, stores[0], locations[0], "content");
    for (size_t i = 0; i < FIRN_COUNT_OF(stores); i++)
        firn_store_close(stores[i]);
    folder_remove(folder);
}

static void errors_of_the_system_are_told_apart(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ 0 }, &store));
    firn_status status = firn_store_put(op, store, FIRN_TEXT("/proc/firn/x"), false, bytes_of("1"));
    CHECK(status != FIRN_OK, "written to /proc");
    struct firn_text nul = { "/tmp/a\0b", 8 };
    struct firn_store_stat info;
    CHECK_STATUS(op, FIRN_CORRUPT, firn_store_stat(op, store, nul, &info));
    CHECK_STATUS(op, FIRN_UNSUPPORTED, firn_store_stat(op, store, FIRN_TEXT("gs://b/x"), &info));
    CHECK(strstr(op->error.text, "'gs'"), "%s", op->error.text);
    firn_store_close(store);
}

/* Invariant (2), with the size limit of the process in place of a full disk. */
static void a_full_disk_leaves_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text folder = folder_make(op->arena);
    struct firn_text name = firn_location_join(op->arena, folder, FIRN_TEXT("deep/file"));
    static const uint8_t content[5000] = { 0 };
    struct firn_store *store;
    struct rlimit before;
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ 0 }, &store));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, before.rlim_max });
    firn_status status = firn_store_put(op, store, name, false, (struct firn_bytes){ content, sizeof content });
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == FIRN_LIMIT, "%s", firn_status_name(status));
    assert_int_equal(count_below(op, store, folder), 0);
    firn_store_close(store);
    folder_remove(folder);
}

enum { RACERS = 8, ROUNDS = 40 };
struct race {
    struct firn_store *store;
    struct firn_text folder;
    atomic_uint wins[ROUNDS];
};

static void *race(void *context)
{
    struct race *race = context;
    struct firn_arena arena;
    struct firn_op op;
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    for (int i = 0; i < ROUNDS; i++) {
        struct firn_text name = firn_text_format(&arena, "%.*s/v%d", FIRN_FMT(race->folder), i);
        if (firn_store_put(&op, race->store, name, true, bytes_of("mine")) == FIRN_OK)
            atomic_fetch_add(&race->wins[i], 1);
    }
    firn_arena_done(&arena);
    return NULL;
}

static void race_for_names(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    struct race shared = { .store = store, .folder = root };
    pthread_t threads[RACERS];
    (void)op;
    for (int i = 0; i < RACERS; i++)
        pthread_create(&threads[i], NULL, race, &shared);
    for (int i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ROUNDS; i++)
        CHECK(atomic_load(&shared.wins[i]) == 1, "name %d was won %u times", i, atomic_load(&shared.wins[i]));
}

static void exclusive_names_are_won_once(void **state)
{
    with_both(state, race_for_names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(contents_are_written_read_and_replaced),
        TEST(discarded_writes_leave_nothing),
        TEST(ranges_of_large_objects_are_read),
        TEST(folders_are_listed_with_hidden_files),
        TEST(deletions_count_what_is_left),
        TEST(local_spellings_mean_one_file),
        TEST(relocations_match_whole_folders_and_the_longest_wins),
        TEST(relocated_listings_keep_the_recorded_spelling),
        TEST(links_pipes_and_folders_are_not_objects),
        TEST(expecting_does_no_harm),
        TEST(errors_of_the_system_are_told_apart),
        TEST(a_full_disk_leaves_nothing),
        TEST(exclusive_names_are_won_once),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
