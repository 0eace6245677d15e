/* Bytes that are written from where they lie: gathered from memory, or copied from other objects, within the kernel
 * where it can, and through memory where it cannot. */
#include "check.h"

#include "base/math.h"
#include "store/driver.h"
#include "store/file_copy.h"
#include "support/folder.h"

#include <errno.h>

enum { LARGE_BYTES = 9 << 20, PIECES = 1500 };

/* A system's answers to copying, one a call: bytes copied at most, or below 0 an errno. The last one is repeated. */
struct script {
    const char *name;
    ssize_t answers[4];
    uint64_t copied;
    int error;
};
static const struct script *script;
static size_t script_at;

static ssize_t play(int in, off_t *in_offset, int out, off_t *out_offset, size_t len, unsigned flags)
{
    ssize_t answer = script->answers[FIRN_MIN(script_at, (size_t)3)];
    script_at++;
    CHECK(in == 3 && out == 4 && !out_offset && flags == 0, "%s: called otherwise", script->name);
    if (answer < 0) {
        errno = (int)-answer;
        return -1;
    }
    answer = FIRN_MIN(answer, (ssize_t)len);
    *in_offset += answer;
    return answer;
}

static void what_the_kernel_leaves_is_told(void **state)
{
    static const struct script scripts[] = {
        { "all at once", { 1000 }, 1000, 0 },
        { "in short pieces", { 1, 400, 7, 600 }, 1000, 0 },
        { "interrupted", { 10, -EINTR, 10, 1000 }, 1000, 0 },
        { "the source ends", { 600, 0 }, 600, 0 },
        { "across file systems", { -EXDEV }, 0, 0 },
        { "a kernel without it", { -ENOSYS }, 0, 0 },
        { "a file system without it", { 100, -EOPNOTSUPP }, 100, 0 },
        { "not these files", { -EINVAL }, 0, 0 },
        { "the disk is full in the middle", { 300, 200, -ENOSPC }, 500, ENOSPC },
        { "one of the disks breaks in the middle", { 300, -EIO }, 300, 0 },
        { "the file grows too large in the middle", { 300, -EFBIG }, 300, EFBIG },
    };
    (void)state;
    for (size_t i = 0; i < FIRN_COUNT_OF(scripts); i++) {
        uint64_t copied;
        script = &scripts[i];
        script_at = 0;
        int error = firn_file_copy(play, (struct firn_file_part){ 3, 50, 1000 }, 4, &copied);
        CHECK(error == script->error && copied == script->copied, "%s: error %d, %" PRIu64 " bytes", script->name,
              error, copied);
    }
}

static uint8_t *random_bytes(struct firn_op *op, size_t len)
{
    uint8_t *bytes = firn_arena_alloc(op->arena, len);
    uint64_t at = 1;
    for (size_t i = 0; i < len; i++) {
        at = at * UINT64_C(6364136223846793005) + 1442695040888963407;
        bytes[i] = (uint8_t)(at >> 56);
    }
    return bytes;
}

static void check_object(struct firn_op *op, struct firn_store *store, struct firn_text location,
                         struct firn_bytes wanted)
{
    struct firn_buffer content = { 0 };
    CHECK_OK(op, firn_store_read(op, store, location, UINT64_MAX, &content));
    assert_int_equal(content.len, wanted.len);
    assert_memory_equal(content.data, wanted.data, wanted.len);
    firn_buffer_done(&content);
}

/* Runs a body against a local store below a folder of its own, and against one in memory. */
static void with_both(void **state, void (*body)(struct firn_op *, struct firn_store *, struct firn_text))
{
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    body(op, store, FIRN_TEXT("mem://bucket"));
    firn_store_close(store);
    struct firn_text folder = folder_make(op->arena);
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ .relaxed = true }, &store));
    body(op, store, folder);
    firn_store_close(store);
    folder_remove(folder);
}

/* Pieces of many sizes, some empty, between single writes: more of them than go to the system at once. */
static void write_pieces(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    struct firn_text name = firn_location_join(op->arena, root, FIRN_TEXT("pieces"));
    struct firn_bytes all = { random_bytes(op, LARGE_BYTES + 12345), LARGE_BYTES + 12345 };
    struct firn_bytes *pieces = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, PIECES);
    struct firn_store_writer *writer;
    size_t at = 5;
    for (size_t i = 0; i < PIECES; i++) {
        size_t left = all.len - at, len = i + 1 == PIECES ? left : FIRN_MIN(left, i * 7919 % 9001 * (i % 3));
        pieces[i] = (struct firn_bytes){ all.data + at, len };
        at += len;
    }
    CHECK_OK(op, firn_store_write(op, store, name, true, &writer));
    struct firn_sink *sink = firn_store_writer_sink(writer);
    CHECK_OK(op, firn_sink_write(op, sink, (struct firn_bytes){ all.data, 5 }));
    CHECK_OK(op, firn_sink_write_pieces(op, sink, pieces, 3));
    CHECK_OK(op, firn_sink_write_pieces(op, sink, pieces + 3, PIECES - 3));
    CHECK_OK(op, firn_sink_write_pieces(op, sink, pieces, 0));
    assert_int_equal(sink->offset, all.len);
    CHECK_OK(op, firn_store_writer_finish(op, writer));
    check_object(op, store, name, all);
}

static void pieces_are_written_in_order(void **state)
{
    with_both(state, write_pieces);
}

/* Copies an object of a store into one of another, around two writes. */
static void copy_object(struct firn_op *op, struct firn_store *to_store, struct firn_text to, struct firn_object *from,
                        struct firn_bytes all)
{
    struct firn_store_writer *writer;
    CHECK_OK(op, firn_store_write(op, to_store, to, true, &writer));
    struct firn_sink *sink = firn_store_writer_sink(writer);
    struct firn_source *source = firn_object_source(from);
    CHECK_OK(op, firn_sink_write(op, sink, (struct firn_bytes){ all.data, 100 }));
    CHECK_OK(op, firn_sink_copy(op, sink, source, 100, 50));
    CHECK_OK(op, firn_sink_copy(op, sink, source, 150, LARGE_BYTES - 1150));
    CHECK_OK(op, firn_sink_copy(op, sink, source, LARGE_BYTES - 1000, 0));
    CHECK_OK(op, firn_sink_write(op, sink, (struct firn_bytes){ all.data + LARGE_BYTES - 1000, 1000 }));
    assert_int_equal(sink->offset, LARGE_BYTES);
    CHECK_OK(op, firn_store_writer_finish(op, writer));
    check_object(op, to_store, to, all);

    CHECK_OK(op, firn_store_write(op, to_store, to, false, &writer));
    sink = firn_store_writer_sink(writer);
    CHECK_STATUS(op, FIRN_CORRUPT, firn_sink_copy(op, sink, source, LARGE_BYTES - 100000, 100001));
    firn_store_writer_close(writer);
    check_object(op, to_store, to, all);
}

static void ranges_of_files_are_copied(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text folder = folder_make(op->arena);
    struct firn_text from = firn_location_join(op->arena, folder, FIRN_TEXT("from"));
    struct firn_text to = firn_location_join(op->arena, folder, FIRN_TEXT("to"));
    struct firn_bytes all = { random_bytes(op, LARGE_BYTES), LARGE_BYTES };
    struct firn_store *local, *memory;
    struct firn_object *object;
    CHECK_OK(op, firn_store_open(op, &(struct firn_store_config){ .relaxed = true }, &local));
    CHECK_OK(op, firn_store_open_memory(op, &memory));
    CHECK_OK(op, firn_store_put(op, local, from, true, all));
    CHECK_OK(op, firn_object_open(op, local, from, &object));
    copy_object(op, memory, FIRN_TEXT("mem://bucket/to"), object, all);
    assert_int_equal(firn_store_bytes_copied(memory), 0);
    copy_object(op, local, to, object, all);
    uint64_t copied = firn_store_bytes_copied(local);
    CHECK(copied >= LARGE_BYTES - 1150 || !folder_copies_in_kernel(op->arena, folder), "%" PRIu64 " bytes", copied);
    firn_object_close(object);

    CHECK_OK(op, firn_object_open(op, memory, FIRN_TEXT("mem://bucket/to"), &object));
    assert_null(firn_object_source(object));
    firn_object_close(object);
    firn_store_close(local);
    firn_store_close(memory);
    folder_remove(folder);
}

static firn_status read_sevens(struct firn_op *op, struct firn_source *source, uint64_t offset, size_t len,
                               uint8_t *out)
{
    (void)op;
    (void)source;
    (void)offset;
    memset(out, 7, len);
    return FIRN_OK;
}

/* A source need not be an object, and goes through memory then: nothing beside it is taken for one. */
static void write_from_elsewhere(struct firn_op *op, struct firn_store *store, struct firn_text root)
{
    struct firn_text name = firn_location_join(op->arena, root, FIRN_TEXT("sevens"));
    uint8_t *sevens = firn_arena_alloc(op->arena, LARGE_BYTES);
    struct firn_source *source = FIRN_NEW(op->arena, struct firn_source);
    struct firn_store_writer *writer;
    *source = (struct firn_source){ .read = read_sevens };
    memset(sevens, 7, LARGE_BYTES);
    assert_null(firn_source_object(source));
    CHECK_OK(op, firn_store_write(op, store, name, true, &writer));
    CHECK_OK(op, firn_sink_copy(op, firn_store_writer_sink(writer), source, 0, LARGE_BYTES));
    CHECK_OK(op, firn_store_writer_finish(op, writer));
    check_object(op, store, name, (struct firn_bytes){ sevens, LARGE_BYTES });
    assert_int_equal(firn_store_bytes_copied(store), 0);
}

static void sources_that_are_no_objects_are_read(void **state)
{
    with_both(state, write_from_elsewhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_kernel_leaves_is_told),
        TEST(pieces_are_written_in_order),
        TEST(ranges_of_files_are_copied),
        TEST(sources_that_are_no_objects_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
