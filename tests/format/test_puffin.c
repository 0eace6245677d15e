/* Puffin files and deletion vectors: the corpus, round trips, and what must be refused. */
#include "check.h"
#include "support/corpus.h"

#include "base/math.h"
#include "format/puffin/deletion_vector.h"
#include "format/puffin/lz4_frame.h"

/* The corpus ------------------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void check_positions(struct firn_op *op, const char *name, const struct firn_positions *positions,
                            const json_t *expected)
{
    int64_t position, first = -1, last = -1;
    uint64_t sum = 0;
    json_t *list = firn_json_own(op->arena, json_array());
    const json_t *wanted = json_object_get(expected, "positions_list");
    for (int64_t from = 0; firn_positions_next(positions, from, &position); from = position + 1) {
        first = first < 0 ? position : first;
        last = position;
        sum += (uint64_t)position;
        if (wanted)
            json_array_append_new(list, json_integer(position));
    }
    json_int_t count = json_integer_value(json_object_get(expected, "positions"));
    CHECK(firn_positions_count(positions) == (uint64_t)count, "%s", name);
    CHECK(count == 0 || json_integer_value(json_object_get(expected, "min")) == first, "%s", name);
    CHECK(count == 0 || json_integer_value(json_object_get(expected, "max")) == last, "%s", name);
    CHECK(strtoull(text_of(expected, "sum"), NULL, 10) == sum, "%s: sum", name);
    CHECK(!wanted || json_equal(wanted, list), "%s: list", name);
}

/* What Java wrote is written the same. */
static void check_printed(struct firn_op *op, const char *name, struct firn_positions *positions,
                          struct firn_bytes blob,
                          firn_status (*print)(struct firn_op *, struct firn_positions *, struct firn_buffer *))
{
    struct firn_buffer printed = { 0 };
    CHECK_OK(op, print(op, positions, &printed));
    CHECK(firn_bytes_compare(firn_buffer_bytes(&printed), blob) == 0, "%s: %zu bytes became %zu", name, blob.len,
          printed.len);
    firn_buffer_done(&printed);
}

static void check_blob(struct firn_op *op, const char *name, struct firn_bytes file,
                       const struct firn_puffin_blob *blob, const json_t *expected)
{
    struct firn_bytes stored = { file.data + blob->offset, (size_t)blob->length };
    struct firn_positions *positions;
    CHECK(firn_text_is(blob->type, text_of(expected, "type")), "%s", name);
    CHECK(firn_text_is(blob->codec, text_of(expected, "compression-codec")), "%s", name);
    CHECK(blob->offset == json_integer_value(json_object_get(expected, "offset")), "%s", name);
    CHECK(blob->length == json_integer_value(json_object_get(expected, "length")), "%s", name);
    CHECK(blob->snapshot_id == json_integer_value(json_object_get(expected, "snapshot-id")), "%s", name);
    CHECK(blob->sequence_number == json_integer_value(json_object_get(expected, "sequence-number")), "%s", name);
    const json_t *fields = json_object_get(expected, "fields");
    CHECK(blob->field_count == json_array_size(fields), "%s", name);
    for (uint32_t i = 0; i < blob->field_count; i++)
        CHECK(blob->fields[i] == json_integer_value(json_array_get(fields, i)), "%s", name);
    CHECK(blob->property_count == json_object_size(json_object_get(expected, "properties")), "%s", name);
    if (!firn_text_is(blob->type, FIRN_DELETION_VECTOR_TYPE))
        return;
    struct firn_text cardinality = firn_puffin_property_find(blob->properties, blob->property_count, "cardinality");
    int64_t count;
    CHECK(firn_text_to_i64(cardinality, &count), "%s", name);
    CHECK_OK(op, firn_deletion_vector_decode(op, stored, count, &positions));
    check_positions(op, name, positions, expected);
    CHECK_STATUS(op, FIRN_CORRUPT, firn_deletion_vector_decode(op, stored, count + 1, &positions));
}

static void check_puffin(struct firn_op *op, const char *name, struct firn_bytes file, const json_t *expected)
{
    struct firn_puffin_footer footer;
    firn_status status = firn_puffin_parse(op, file, &footer);
    if (strcmp(text_of(expected, "expect"), "error") == 0) {
        CHECK(status == FIRN_CORRUPT, "%s: %s", name, firn_status_name(status));
        return;
    }
    CHECK(status == FIRN_OK, "%s: %s", name, op->error.text);
    const json_t *blobs = json_object_get(expected, "blobs");
    CHECK(footer.blob_count == json_array_size(blobs), "%s", name);
    CHECK(footer.property_count == json_object_size(json_object_get(expected, "file_properties")), "%s", name);
    for (uint32_t i = 0; i < footer.blob_count; i++)
        check_blob(op, name, file, &footer.blobs[i], json_array_get(blobs, i));
}

static void check_statistics(struct firn_op *op, struct firn_text root, const char *name, const json_t *expected)
{
    size_t i;
    json_t *file;
    const json_t *files = json_object_get(expected, "statistics");
    json_array_foreach(files, i, file)
    {
        const char *path = text_of(file, "file");
        if (strcmp(text_of(file, "kind"), "puffin") == 0)
            check_puffin(op, path, corpus_file(op, "%.*s/puffin/%s/%s", FIRN_FMT(root), name, path), file);
    }
}

static void the_corpus_reads_as_expected(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    const char *name;
    json_t *expected;
    struct firn_positions *positions;
    json_t *items = corpus_expected(op, root, "puffin");
    json_object_foreach(items, name, expected)
    {
        const char *kind = text_of(expected, "kind");
        struct firn_bytes file = corpus_file(op, "%.*s/puffin/%s", FIRN_FMT(root), name);
        if (strcmp(kind, "puffin") == 0) {
            check_puffin(op, name, file, expected);
        } else if (strncmp(kind, "deletion-vector", 15) == 0) {
            CHECK_OK(op, firn_deletion_vector_decode(op, file, -1, &positions));
            check_positions(op, name, positions, expected);
            check_printed(op, name, positions, file, firn_deletion_vector_encode);
        } else if (strncmp(kind, "64-bit", 6) == 0) {
            CHECK_OK(op, firn_positions_parse(op, file, &positions));
            check_positions(op, name, positions, expected);
        } else {
            check_statistics(op, root, name, expected);
        }
    }
}

static void compressed_blobs_decode(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    struct firn_bytes file = corpus_file(op, "%.*s/puffin/sample-zstd.puffin", FIRN_FMT(root));
    struct firn_puffin_footer footer;
    struct firn_buffer content = { 0 };
    CHECK_OK(op, firn_puffin_parse(op, file, &footer));
    struct firn_bytes stored = { file.data + footer.blobs[0].offset, (size_t)footer.blobs[0].length };
    CHECK_OK(op, firn_puffin_blob_decode(op, &footer.blobs[0], stored, &content));
    assert_true(firn_text_is(firn_text_of_bytes(firn_buffer_bytes(&content)), "abcdefghi"));
    firn_buffer_done(&content);
}

/* Sets ------------------------------------------------------------------------------------------------------------- */

static uint64_t random_step(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return *state >> 33;
}

static void sets_round_trip(void **state)
{
    struct firn_op *op = test_op(state);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct firn_positions *a, *b;
        struct firn_buffer blob = { 0 };
        uint64_t random = seed;
        int64_t span = seed % 2 ? 100000 : INT64_C(40000000000);
        CHECK_OK(op, firn_positions_new(op, &a));
        for (int i = 0; i < 20000; i++)
            CHECK_OK(op, firn_positions_add(op, a, (int64_t)(random_step(&random) << 20 | i) % span));
        for (int64_t i = 0; i < 70000; i++) /* a run */
            CHECK_OK(op, firn_positions_add(op, a, 7000000000 + i));
        CHECK_OK(op, firn_deletion_vector_encode(op, a, &blob));
        CHECK_OK(op, firn_deletion_vector_decode(op, firn_buffer_bytes(&blob), (int64_t)firn_positions_count(a), &b));
        int64_t x, read[300], from = 0;
        size_t at = 0, count = 0;
        for (; firn_positions_next(a, from, &x); from = x + 1) {
            if (at == count) { /* one set is asked for each, the other for some at a time */
                count = firn_positions_read(b, from, read, 1 + (size_t)random_step(&random) % 300);
                at = 0;
            }
            CHECK(at < count && read[at] == x, "seed %" PRIu64 ": %" PRId64 " at %zu of %zu", seed, x, at, count);
            at++;
        }
        CHECK(at == count && firn_positions_read(b, from, read, 1) == 0, "seed %" PRIu64, seed);
        firn_buffer_done(&blob);
    }
}

static void sets_answer_questions(void **state)
{
    struct firn_op *op = test_op(state);
    static const int64_t members[] = { 0, 5, UINT32_MAX, INT64_C(1) << 32, (INT64_C(3) << 32) + 7, FIRN_POSITION_MAX };
    struct firn_positions *set, *other;
    CHECK_OK(op, firn_positions_new(op, &set));
    CHECK_OK(op, firn_positions_new(op, &other));
    for (size_t i = FIRN_COUNT_OF(members); i-- > 0;)
        CHECK_OK(op, firn_positions_add(op, i % 2 ? set : other, members[i]));
    CHECK_OK(op, firn_positions_merge(op, set, other));
    assert_int_equal(firn_positions_count(set), FIRN_COUNT_OF(members));
    for (size_t i = 0; i < FIRN_COUNT_OF(members); i++) {
        assert_true(firn_positions_contains(set, members[i]));
        assert_int_equal(firn_positions_count_range(set, 0, members[i]), i);
        assert_int_equal(firn_positions_count_range(set, members[i], INT64_MAX), FIRN_COUNT_OF(members) - i);
    }
    assert_false(firn_positions_contains(set, 6));
    assert_false(firn_positions_contains(set, -1));
    assert_int_equal(firn_positions_count_range(set, 6, 6), 0);
    CHECK_STATUS(op, FIRN_CORRUPT, firn_positions_add(op, set, -1));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_positions_add(op, set, INT64_MAX));
}

/* Every byte of a vector changed in turn: the checksum sees all but itself and what stands before it. */
static void damaged_vectors_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_positions *set, *got;
    struct firn_buffer blob = { 0 };
    CHECK_OK(op, firn_positions_new(op, &set));
    for (int64_t i = 0; i < 100; i++)
        CHECK_OK(op, firn_positions_add(op, set, i * i));
    CHECK_OK(op, firn_deletion_vector_encode(op, set, &blob));
    for (size_t i = 0; i < blob.len; i++) {
        blob.data[i] ^= 0x10;
        CHECK(firn_deletion_vector_decode(op, firn_buffer_bytes(&blob), 100, &got) == FIRN_CORRUPT, "byte %zu", i);
        blob.data[i] ^= 0x10;
    }
    for (size_t len = 0; len < blob.len; len++)
        CHECK(firn_deletion_vector_decode(op, (struct firn_bytes){ blob.data, len }, 100, &got) == FIRN_CORRUPT,
              "%zu bytes", len);
    firn_buffer_done(&blob);
}

/* Serialised bitmaps that lie about themselves: the library would believe them. */
static void irregular_bitmaps_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
#define ONE "\x01\0\0\0\0\0\0\0"
    static const struct {
        const char *what;
        const char *bytes;
        size_t len;
        firn_status status;
    } cases[] = {
#define CASE(what, status, bytes) { what, bytes, sizeof(bytes) - 1, status }
        CASE("an array", FIRN_OK,
             ONE "\0\0\0\0"
                 "\x3a\x30\0\0"
                 "\x01\0\0\0"
                 "\0\0\x01\0"
                 "\0\0\0\0"
                 "\x03\0\x09\0"),
        CASE("no bitmaps", FIRN_OK, "\0\0\0\0\0\0\0\0"),
        CASE("an empty bitmap", FIRN_OK,
             ONE "\0\0\0\0"
                 "\x3a\x30\0\0"
                 "\0\0\0\0"),
        CASE("a run", FIRN_OK,
             ONE "\0\0\0\0"
                 "\x3b\x30\0\0"
                 "\x01"
                 "\0\0\x04\0"
                 "\x01\0"
                 "\x05\0\x04\0"),
        CASE("array descends", FIRN_CORRUPT,
             ONE "\0\0\0\0"
                 "\x3a\x30\0\0"
                 "\x01\0\0\0"
                 "\0\0\x01\0"
                 "\0\0\0\0"
                 "\x09\0\x03\0"),
        CASE("run past the end", FIRN_CORRUPT,
             ONE "\0\0\0\0"
                 "\x3b\x30\0\0"
                 "\x01"
                 "\0\0\x04\0"
                 "\x01\0"
                 "\xff\xff\x04\0"),
        CASE("run count", FIRN_CORRUPT,
             ONE "\0\0\0\0"
                 "\x3b\x30\0\0"
                 "\x01"
                 "\0\0\x05\0"
                 "\x01\0"
                 "\x05\0\x04\0"),
        CASE("no runs", FIRN_CORRUPT,
             ONE "\0\0\0\0"
                 "\x3b\x30\0\0"
                 "\x01"
                 "\0\0\x04\0"
                 "\0\0"),
        CASE("unknown cookie", FIRN_CORRUPT,
             ONE "\0\0\0\0"
                 "\x39\x30\0\0"
                 "\0\0\0\0"),
        CASE("huge high half", FIRN_CORRUPT,
             ONE "\xff\xff\xff\x7f"
                 "\x3a\x30\0\0"
                 "\0\0\0\0"),
        CASE("left over", FIRN_CORRUPT,
             "\0\0\0\0\0\0\0\0"
             "x"),
        CASE("too many", FIRN_CORRUPT, "\xff\xff\xff\xff\xff\xff\xff\xff"),
        CASE("high halves repeat", FIRN_CORRUPT,
             "\x02\0\0\0\0\0\0\0"
             "\0\0\0\0"
             "\x3a\x30\0\0"
             "\0\0\0\0"
             "\0\0\0\0"
             "\x3a\x30\0\0"
             "\0\0\0\0"),
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_positions *got;
        struct firn_bytes bytes = { (const uint8_t *)cases[i].bytes, cases[i].len };
        firn_status status = firn_positions_parse(op, bytes, &got);
        CHECK(status == cases[i].status, "%s: %s", cases[i].what, firn_status_name(status));
    }
}

/* Files ------------------------------------------------------------------------------------------------------------ */

static void files_round_trip(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const codecs[] = { "", "lz4", "zstd" };
    for (int compress = 0; compress < 2; compress++) {
        struct firn_buffer file = { 0 }, content = { 0 };
        struct firn_sink sink = firn_sink_to_buffer(&file);
        struct firn_puffin_writer *writer;
        struct firn_puffin_footer footer;
        struct firn_puffin_property by = { FIRN_TEXT("created-by"), FIRN_TEXT("firn") };
        struct firn_text text = firn_text_format(op->arena, "%01000d", 7);
        int32_t fields[] = { 3, 4 };
        CHECK_OK(op, firn_puffin_writer_open(op, &sink, &writer));
        for (size_t i = 0; i < FIRN_COUNT_OF(codecs); i++) {
            struct firn_puffin_blob blob = { .type = FIRN_TEXT("x-test"),
                                             .fields = fields,
                                             .field_count = 2,
                                             .snapshot_id = 9007199254740993,
                                             .codec = firn_text_of(codecs[i]) };
            CHECK_OK(op, firn_puffin_writer_add(op, writer, &blob, firn_bytes_of_text(text)));
        }
        CHECK_OK(op, firn_puffin_writer_finish(op, writer, &by, 1, compress));
        CHECK_OK(op, firn_puffin_parse(op, firn_buffer_bytes(&file), &footer));
        assert_int_equal(footer.blob_count, FIRN_COUNT_OF(codecs));
        assert_int_equal(footer.compressed, compress);
        assert_true(firn_text_is(firn_puffin_property_find(footer.properties, 1, "created-by"), "firn"));
        for (size_t i = 0; i < footer.blob_count; i++) {
            const struct firn_puffin_blob *blob = &footer.blobs[i];
            assert_true(blob->snapshot_id == 9007199254740993 && blob->fields[1] == 4);
            firn_buffer_clear(&content);
            CHECK_OK(op, firn_puffin_blob_decode(op, blob,
                                                 (struct firn_bytes){ file.data + blob->offset, (size_t)blob->length },
                                                 &content));
            CHECK(firn_text_same(firn_text_of_bytes(firn_buffer_bytes(&content)), text), "%s", codecs[i]);
        }
        for (size_t len = 0; len < file.len; len++)
            CHECK(firn_puffin_parse(op, (struct firn_bytes){ file.data, len }, &footer) == FIRN_CORRUPT, "%zu", len);
        firn_buffer_done(&file);
        firn_buffer_done(&content);
    }
}

static void vectors_share_a_file(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_puffin_writer *writer;
    struct firn_puffin_blob blobs[2];
    struct firn_puffin_footer footer;
    CHECK_OK(op, firn_puffin_writer_open(op, &sink, &writer));
    for (int i = 0; i < 2; i++) {
        struct firn_positions *set;
        CHECK_OK(op, firn_positions_new(op, &set));
        CHECK_OK(op, firn_positions_add(op, set, 10 + i));
        CHECK_OK(op,
                 firn_deletion_vector_write(op, writer, set, firn_text_format(op->arena, "s3://b/%d", i), &blobs[i]));
    }
    CHECK_OK(op, firn_puffin_writer_finish(op, writer, NULL, 0, false));
    CHECK_OK(op, firn_puffin_parse(op, firn_buffer_bytes(&file), &footer));
    assert_int_equal(footer.blob_count, 2);
    for (int i = 0; i < 2; i++) {
        struct firn_positions *set;
        struct firn_puffin_blob *blob = &footer.blobs[i];
        assert_true(blob->offset == blobs[i].offset && blob->length == blobs[i].length);
        assert_true(blob->snapshot_id == -1 && blob->sequence_number == -1 && blob->codec.len == 0);
        assert_int_equal(blob->fields[0], 2147483645);
        CHECK_OK(op, firn_deletion_vector_decode(
                         op, (struct firn_bytes){ file.data + blob->offset, (size_t)blob->length }, 1, &set));
        assert_true(firn_positions_contains(set, 10 + i));
    }
    firn_buffer_done(&file);
}

static void broken_lz4_frames_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer frame = { 0 }, content = { 0 };
    struct firn_text text = firn_text_format(op->arena, "%0300000d", 7);
    CHECK_OK(op, firn_lz4_frame_encode(op, firn_bytes_of_text(text), &frame));
    CHECK_OK(op, firn_lz4_frame_decode(op, firn_buffer_bytes(&frame), 1 << 20, &content));
    assert_int_equal(content.len, text.len);
    CHECK_STATUS(op, FIRN_LIMIT, firn_lz4_frame_decode(op, firn_buffer_bytes(&frame), 1000, &content));
    for (size_t len = 0; len < frame.len; len += 7)
        CHECK(firn_lz4_frame_decode(op, (struct firn_bytes){ frame.data, len }, 1 << 20, &content) == FIRN_CORRUPT,
              "%zu", len);
    CHECK_OK(op, firn_buffer_append(op, &frame, "x", 1));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_lz4_frame_decode(op, firn_buffer_bytes(&frame), 1 << 20, &content));
    firn_buffer_done(&frame);
    firn_buffer_done(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_corpus_reads_as_expected),
        TEST(compressed_blobs_decode),
        TEST(sets_round_trip),
        TEST(sets_answer_questions),
        TEST(damaged_vectors_are_refused),
        TEST(irregular_bitmaps_are_refused),
        TEST(files_round_trip),
        TEST(vectors_share_a_file),
        TEST(broken_lz4_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
