/* Files of which one byte is another, as they meet people: what an enumeration does not have is damage and what a newer
 * format may have is not supported, by the exit status; and the text names the file once. */
#include "rewrite/fixture.h"

#include "maintain/inspect.h"

#define PATH "mem:/t/damaged.parquet"

#define SCHEMA                                                                                                         \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"z\",\"required\":false,\"type\":\"timestamp\"},"                                             \
    "{\"id\":3,\"name\":\"l\",\"required\":false,\"type\":"                                                            \
    "{\"type\":\"list\",\"element-id\":4,\"element-required\":false,\"element\":\"int\"}}]}"

#define NAMED_SCHEMA                                                                                                   \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["                                                                \
    "{\"id\":1,\"name\":\"longitude\",\"required\":false,\"type\":\"int\"}]}"

static const char *const columns[] = { "1000 2000 ~ 3000", "0.3=1 1.3=2 0.1 0.0 0.2" };

enum { ROWS = 4, LATER = 16, LZO = 3 };

/* What a parser may say of a number, and the first that is none of the format's. */
static const struct known_value {
    const char *text;
    int64_t count;
} known_values[] = {
    { "names the encoding ", 10 },
    { "names the compression codec ", 8 },
    { "names the compression codec LZO, number ", LZO },
    { "names the page type ", 4 },
    { "names the type of a column ", 8 },
    { "names the type of a column chunk ", 8 },
    { "names the repetition ", 3 },
    { "names the time unit ", 4 },
    { "names the boundary order ", 3 },
};

/* What was met of each of them. */
struct met {
    bool damaged[FIRN_COUNT_OF(known_values)], later[FIRN_COUNT_OF(known_values)];
};

/* One damaged copy of the file. */
struct copy {
    struct firn_store *store;
    const struct firn_metadata *metadata;
    struct firn_bytes file;
    size_t at;
    uint8_t byte;
};

static const struct known_value *find_known(const char *text, int64_t *value)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(known_values); i++) {
        const char *at = strstr(text, known_values[i].text);
        char *end;
        if (!at)
            continue;
        *value = strtoll(at + strlen(known_values[i].text), &end, 10);
        if (end != at + strlen(known_values[i].text))
            return &known_values[i];
    }
    return NULL;
}

static size_t count_paths(const char *text)
{
    size_t count = 0;
    for (const char *at = strstr(text, PATH); at; at = strstr(at + 1, PATH))
        count++;
    return count;
}

static void check_error(struct firn_op *op, firn_status status, const struct copy *copy, struct met *met)
{
    const char *text = op->error.text;
    int64_t value;
    const struct known_value *known = find_known(text, &value);
    CHECK(count_paths(text) == 1, "byte %zu as %02x: %s", copy->at, copy->byte, text);
    CHECK(!strstr(text, " names the ") || known, "byte %zu as %02x: %s", copy->at, copy->byte, text);
    if (!known)
        return;
    bool is_later = value >= known->count && value < known->count + LATER;
    CHECK(firn_status_exit_code(status) == (is_later ? 1 : 6), "byte %zu as %02x: %s", copy->at, copy->byte, text);
    CHECK(strstr(text, is_later ? "which firn does not know" : "which the format does not have"), "%s", text);
    *(is_later ? &met->later[known - known_values] : &met->damaged[known - known_values]) = true;
}

/* Inspects the copy, and rewrites it if there is something wrong with it. */
static void try_copy(struct firn_op *op, const struct copy *copy, struct met *met)
{
    json_t *json;
    struct firn_rewrite_result result;
    struct firn_data_file file = fixture_file(PATH, (int64_t)copy->file.len, ROWS);
    struct fixture_run run = { .metadata = copy->metadata, .store = copy->store, .files = &file, .file_count = 1 };
    struct firn_inspect_options options = { .values = true, .pages = true };
    CHECK_OK(op, firn_store_put(op, copy->store, file.path, false, copy->file));
    firn_status status = firn_file_inspect(op, copy->store, file.path, options, &json);
    if (status == FIRN_OK)
        return;
    check_error(op, status, copy, met);
    status = fixture_execute(op, &run, &result);
    if (status == FIRN_OK)
        firn_rewrite_result_discard(op, copy->store, &result);
    else
        check_error(op, status, copy, met);
}

static void try_every_byte(struct firn_op *op, struct copy *copy, struct met *met)
{
    /* As Thrift has small numbers: -1, later values, ones far off; the first bytes of large ones; other types. */
    static const uint8_t bytes[] = { 0x01, 0x06, 0x08, 0x14, 0x7e, 0x94 };
    uint8_t *file = firn_arena_alloc(op->arena, copy->file.len);
    memcpy(file, copy->file.data, copy->file.len);
    copy->file.data = file;
    for (copy->at = 0; copy->at < copy->file.len; copy->at++) {
        uint8_t was = file[copy->at];
        for (size_t i = 0; i < FIRN_COUNT_OF(bytes); i++) {
            struct firn_arena arena;
            struct firn_op inner = *op;
            firn_arena_init(&arena);
            inner.arena = &arena;
            file[copy->at] = copy->byte = bytes[i];
            try_copy(&inner, copy, met);
            firn_arena_done(&arena);
        }
        file[copy->at] = was;
    }
}

static void damaged_values_are_told_from_later_ones(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_output_schema schema = fixture_schema(op, SCHEMA);
    struct copy copy = { .metadata = fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = SCHEMA }) };
    struct met met = { 0 };
    CHECK_OK(op, firn_store_open_memory(op, &copy.store));
    for (int page_v2 = 0; page_v2 < 2; page_v2++) {
        struct firn_chunk_options options = firn_chunk_options_default();
        struct firn_buffer file = { 0 };
        options.page_v2 = page_v2;
        options.codec = FIRN_CODEC_NONE; /* which is one, too */
        fixture_write(op, copy.store, PATH, schema.footer, columns, 1, options);
        CHECK_OK(op, firn_store_read(op, copy.store, firn_text_of(PATH), UINT64_MAX, &file));
        copy.file = firn_buffer_bytes(&file);
        try_every_byte(op, &copy, &met);
        firn_buffer_done(&file);
    }
    for (size_t i = 0; i < FIRN_COUNT_OF(known_values); i++) {
        CHECK(met.damaged[i] || known_values[i].count == LZO, "no damage '%s' was met", known_values[i].text);
        CHECK(met.later[i], "no later '%s' was met", known_values[i].text);
    }
    firn_store_close(copy.store);
}

/* Where a text of Thrift's, its length in front of it, begins at or behind `from`; the file's end where none does. */
static size_t find_thrift_text(struct firn_bytes file, size_t from, const char *text)
{
    size_t len = strlen(text);
    for (size_t at = from; at + len < file.len; at++)
        if (file.data[at] == len && memcmp(file.data + at + 1, text, len) == 0)
            return at + 1;
    return file.len;
}

/* A column without an id is known by its name alone: one that is damaged would be taken for one that is absent. */
static void names_that_disagree_are_damage(void **state)
{
    static const char name[] = "longitude";
    struct firn_op *op = test_op(state);
    struct firn_output_schema schema = fixture_schema(op, NAMED_SCHEMA);
    const char *values[] = { "1 2 ~ 3" };
    struct firn_store *store;
    struct firn_buffer file = { 0 };
    uint32_t met = 0;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    fixture_write(op, store, PATH, schema.footer, values, 1, firn_chunk_options_default());
    CHECK_OK(op, firn_store_read(op, store, firn_text_of(PATH), UINT64_MAX, &file));
    struct firn_bytes bytes = firn_buffer_bytes(&file);
    for (size_t at = find_thrift_text(bytes, 0, name); at < bytes.len; at = find_thrift_text(bytes, at, name), met++) {
        json_t *json;
        file.data[at] ^= 1;
        CHECK_OK(op, firn_store_put(op, store, firn_text_of(PATH), false, bytes));
        CHECK_STATUS(op, FIRN_CORRUPT,
                     firn_file_inspect(op, store, firn_text_of(PATH), (struct firn_inspect_options){ 0 }, &json));
        CHECK(strstr(op->error.text, "longitude") && strstr(op->error.text, "mongitude"), "%s", op->error.text);
        file.data[at] ^= 1;
    }
    assert_int_equal(met, 2); /* the schema's and the chunk's */
    firn_buffer_done(&file);
    firn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(damaged_values_are_told_from_later_ones),
        TEST(names_that_disagree_are_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
