/* Which delete files apply to which data file: the rules of the specification, one by one and at scale. */
#include "check.h"

#include "base/math.h"
#include "format/json/json.h"
#include "table/delete_index.h"

enum { PATH_ID = 2147483546 };

/* Specs: 0 unpartitioned, 1 and 2 by the identity of `part`. */
static const struct firn_metadata *make_metadata(struct firn_op *op)
{
    static const char text[] =
        "{\"format-version\": 3, \"table-uuid\": \"9c12d441-03fe-4693-9a96-a0705ddf69c1\","
        "\"location\": \"memory:/t\", \"last-sequence-number\": 9, \"last-updated-ms\": 1700000000000,"
        "\"last-column-id\": 1, \"next-row-id\": 0,"
        "\"schemas\": [{\"type\": \"struct\", \"schema-id\": 0, \"fields\": ["
        "{\"id\": 1, \"name\": \"part\", \"required\": false, \"type\": \"int\"}]}], \"current-schema-id\": 0,"
        "\"partition-specs\": [{\"spec-id\": 0, \"fields\": []},"
        "{\"spec-id\": 1, \"fields\": [{\"source-id\": 1, \"field-id\": 1000, \"name\": \"part\","
        " \"transform\": \"identity\"}]},"
        "{\"spec-id\": 2, \"fields\": [{\"source-id\": 1, \"field-id\": 1001, \"name\": \"part2\","
        " \"transform\": \"identity\"}]}], \"default-spec-id\": 1, \"last-partition-id\": 1001,"
        "\"sort-orders\": [{\"order-id\": 0, \"fields\": []}], \"default-sort-order-id\": 0}";
    struct firn_metadata *metadata;
    CHECK_OK(op, firn_metadata_parse(op, firn_text_of(text), &metadata));
    return metadata;
}

struct given {
    enum firn_content content;
    int64_t sequence_number;
    int32_t spec_id;
    int32_t part;
    const char *path;
    const char *referenced;
    const char *lower, *upper; /* bounds of file_path */
    bool is_vector;
};

static struct firn_bound_map bound(struct firn_op *op, const char *value)
{
    struct firn_bound_map map = { 0 };
    if (!value)
        return map;
    map = (struct firn_bound_map){ FIRN_NEW(op->arena, int32_t), FIRN_NEW(op->arena, struct firn_bytes), 1, true };
    map.ids[0] = PATH_ID;
    map.values[0] = firn_bytes_of_text(firn_text_of(value));
    return map;
}

static const struct firn_manifest_entry *entry_of(struct firn_op *op, const struct given *given)
{
    struct firn_manifest_entry *entry = FIRN_NEW(op->arena, struct firn_manifest_entry);
    struct firn_value *part = FIRN_NEW(op->arena, struct firn_value);
    *part = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = given->part };
    entry->sequence_number = given->sequence_number;
    entry->file = (struct firn_data_file){
        .content = given->content,
        .path = firn_text_of(given->path),
        .format = given->is_vector ? FIRN_FILE_PUFFIN : FIRN_FILE_PARQUET,
        .spec_id = given->spec_id,
        .partition = { part, given->spec_id == 0 ? 0 : 1 },
        .lower_bounds = bound(op, given->lower),
        .upper_bounds = bound(op, given->upper),
        .referenced_data_file = firn_text_of(given->referenced),
    };
    return entry;
}

#define DATA FIRN_CONTENT_DATA
#define POS  FIRN_CONTENT_POSITION_DELETES
#define EQ   FIRN_CONTENT_EQUALITY_DELETES
#define A    "s3://bucket/data/a.parquet"
#define Z    "s3://bucket/data/z.parquet"

static const struct {
    const char *name;
    struct given del, data;
    bool applies;
} rules[] = {
    { "equality delete and data of one commit", { EQ, 5, 1, 3, "e" }, { DATA, 5, 1, 3, A }, false },
    { "equality delete, older data", { EQ, 5, 1, 3, "e" }, { DATA, 4, 1, 3, A }, true },
    { "equality delete, newer data", { EQ, 5, 1, 3, "e" }, { DATA, 6, 1, 3, A }, false },
    { "equality delete of another partition", { EQ, 5, 1, 4, "e" }, { DATA, 4, 1, 3, A }, false },
    { "equality delete of another spec, equal tuple", { EQ, 5, 2, 3, "e" }, { DATA, 4, 1, 3, A }, false },
    { "equality delete of an unpartitioned spec", { EQ, 5, 0, 0, "e" }, { DATA, 4, 1, 3, A }, true },
    { "the same, equal numbers", { EQ, 5, 0, 0, "e" }, { DATA, 5, 2, 3, A }, false },
    { "position delete and data of one commit", { POS, 5, 1, 3, "p" }, { DATA, 5, 1, 3, A }, true },
    { "position delete, newer data", { POS, 5, 1, 3, "p" }, { DATA, 6, 1, 3, A }, false },
    { "position delete of another partition", { POS, 5, 1, 4, "p" }, { DATA, 5, 1, 3, A }, false },
    { "position delete of an unpartitioned spec", { POS, 5, 0, 0, "p" }, { DATA, 5, 1, 3, A }, false },
    { "position delete of an unpartitioned table", { POS, 5, 0, 0, "p" }, { DATA, 5, 0, 0, A }, true },
    { "position delete that references the file", { POS, 5, 1, 3, "p", A }, { DATA, 5, 1, 3, A }, true },
    { "position delete that references another", { POS, 5, 1, 3, "p", Z }, { DATA, 5, 1, 3, A }, false },
    { "position delete with the file as bounds", { POS, 5, 1, 3, "p", NULL, A, A }, { DATA, 5, 1, 3, A }, true },
    { "position delete with another file as bounds", { POS, 5, 1, 3, "p", NULL, Z, Z }, { DATA, 5, 1, 3, A }, false },
    { "position delete that spells the file otherwise",
      { POS, 5, 1, 3, "p", "hdfs://host:1/data/a.parquet" },
      { DATA, 5, 1, 3, "/data/a.parquet" },
      true },
    { "bounds that spell the files otherwise",
      { POS, 5, 1, 3, "p", NULL, "hdfs://host:1/data/a.parquet", "hdfs://host:1/data/z.parquet" },
      { DATA, 5, 1, 3, "/data/a.parquet" },
      true },
    { "bounds around the file",
      { POS, 5, 1, 3, "p", NULL, A, Z },
      { DATA, 5, 1, 3, "s3://bucket/data/m.parquet" },
      true },
    { "bounds above the file", { POS, 5, 1, 3, "p", NULL, "s3://bucket/data/b", Z }, { DATA, 5, 1, 3, A }, false },
    { "bounds below the file", { POS, 5, 1, 3, "p", NULL, A, A "0" }, { DATA, 5, 1, 3, Z }, false },
    { "bounds cut to 16 characters, raised (R6)",
      { POS, 5, 1, 3, "p", NULL, "s3://bucket/data", "s3://bucket/datb" },
      { DATA, 5, 1, 3, A },
      true },
    { "bounds cut to 16 characters, not raised (R6)",
      { POS, 5, 1, 3, "p", NULL, "s3://bucket/data", "s3://bucket/data" },
      { DATA, 5, 1, 3, A },
      true },
    { "vector of the file", { POS, 5, 1, 3, "v", A, NULL, NULL, true }, { DATA, 5, 1, 3, A }, true },
    { "vector of another file", { POS, 5, 1, 3, "v", Z, NULL, NULL, true }, { DATA, 5, 1, 3, A }, false },
};

static void deletes_apply_by_the_rules(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_metadata *metadata = make_metadata(op);
    for (size_t i = 0; i < FIRN_COUNT_OF(rules); i++) {
        const struct firn_manifest_entry *del = entry_of(op, &rules[i].del);
        const struct firn_manifest_entry *data = entry_of(op, &rules[i].data);
        struct firn_delete_index *index;
        struct firn_delete_match match;
        CHECK(firn_delete_applies(metadata, del, data) == rules[i].applies, "%s", rules[i].name);
        CHECK_OK(op, firn_delete_index_new(op, metadata, &del, 1, &index));
        CHECK_OK(op, firn_delete_index_match(op, index, data, &match));
        CHECK(firn_delete_match_count(&match) == rules[i].applies, "%s, by index", rules[i].name);
    }
}

static void shortened_bounds_are_no_path(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        struct given del;
        const char *scope;
    } cases[] = {
        { { POS, 5, 0, 0, "p", NULL, "s3://bucket/data", "s3://bucket/data" }, "" },
        { { POS, 5, 0, 0, "p", NULL, A, A }, A },
        { { POS, 5, 0, 0, "p", NULL, A, Z }, "" },
        { { POS, 5, 0, 0, "p", NULL, A, NULL }, "" },
        { { POS, 5, 0, 0, "p", "no-ending", NULL, NULL }, "no-ending" },
        { { POS, 5, 0, 0, "p", NULL, NULL, NULL }, "" },
        { { EQ, 5, 0, 0, "e", NULL, A, A }, "" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++)
        CHECK(firn_text_is(firn_delete_file_scope(&entry_of(op, &cases[i].del)->file), cases[i].scope), "case %zu", i);
}

static void a_vector_replaces_position_deletes(void **state)
{
    struct firn_op *op = test_op(state);
    const struct given given[] = {
        { POS, 3, 1, 3, "wide" },
        { POS, 3, 1, 3, "own", A },
        { POS, 4, 1, 3, "vector", A, NULL, NULL, true },
        { EQ, 4, 1, 3, "equality" },
    };
    const struct firn_manifest_entry *entries[FIRN_COUNT_OF(given)];
    struct firn_delete_index *index;
    struct firn_delete_match match;
    for (size_t i = 0; i < FIRN_COUNT_OF(given); i++)
        entries[i] = entry_of(op, &given[i]);
    CHECK_OK(op, firn_delete_index_new(op, make_metadata(op), entries, FIRN_COUNT_OF(given), &index));
    CHECK_OK(op, firn_delete_index_match(op, index, entry_of(op, &(struct given){ DATA, 1, 1, 3, A }), &match));
    assert_int_equal(firn_delete_match_count(&match), 2);
    assert_ptr_equal(match.own.items[0], entries[2]);
    assert_ptr_equal(match.equality.items[0], entries[3]);
    CHECK_OK(op, firn_delete_index_match(op, index, entry_of(op, &(struct given){ DATA, 1, 1, 3, Z }), &match));
    assert_int_equal(match.wide.count, 1);
    assert_int_equal(match.own.count, 0);
}

static void broken_vectors_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    const struct firn_metadata *metadata = make_metadata(op);
    const struct firn_manifest_entry *twice[] = {
        entry_of(op, &(struct given){ POS, 3, 1, 3, "v1", A, NULL, NULL, true }),
        entry_of(op, &(struct given){ POS, 4, 1, 3, "v2", A, NULL, NULL, true }),
    };
    struct firn_delete_index *index;
    struct firn_delete_match match;
    CHECK_STATUS(op, FIRN_CORRUPT, firn_delete_index_new(op, metadata, twice, 2, &index));
    CHECK_OK(op, firn_delete_index_new(op, metadata, twice, 1, &index));
    CHECK_STATUS(op, FIRN_CORRUPT,
                 firn_delete_index_match(op, index, entry_of(op, &(struct given){ DATA, 4, 1, 3, A }), &match));
    CHECK_STATUS(op, FIRN_CORRUPT,
                 firn_delete_index_match(op, index, entry_of(op, &(struct given){ DATA, 3, 1, 4, A }), &match));
}

/* The index agrees with the rules applied to every pair. */
static void index_and_rules_agree(void **state)
{
    enum { COUNT = 120 };
    struct firn_op *op = test_op(state);
    const struct firn_metadata *metadata = make_metadata(op);
    const struct firn_manifest_entry *deletes[COUNT];
    const char *paths[] = { A, Z, "s3://bucket/data/m.parquet" };
    struct firn_delete_index *index;
    srand(11);
    for (int i = 0; i < COUNT; i++) {
        struct given given = { rand() % 2 ? POS : EQ, rand() % 9, rand() % 3, rand() % 2, "d" };
        if (rand() % 3 == 0)
            given.referenced = given.content == POS ? paths[rand() % 3] : NULL;
        else if (rand() % 2)
            given.lower = given.upper = paths[rand() % 3];
        else if (rand() % 2)
            given.lower = A, given.upper = paths[1 + rand() % 2];
        deletes[i] = entry_of(op, &given);
    }
    CHECK_OK(op, firn_delete_index_new(op, metadata, deletes, COUNT, &index));
    for (int i = 0; i < 200; i++) {
        struct given given = { DATA, rand() % 9, rand() % 3, rand() % 2, paths[rand() % 3] };
        const struct firn_manifest_entry *data = entry_of(op, &given);
        struct firn_delete_match match;
        uint32_t expected = 0;
        for (int j = 0; j < COUNT; j++)
            expected += firn_delete_applies(metadata, deletes[j], data);
        CHECK_OK(op, firn_delete_index_match(op, index, data, &match));
        CHECK(firn_delete_match_count(&match) == expected, "data file %d: %u, wanted %u", i,
              firn_delete_match_count(&match), expected);
    }
}

/* 20,000 data files against 5,000 deletes of a streaming upsert: 50 million matches, which share their lists. */
static void thousands_of_deletes_share_lists(void **state)
{
    enum { DATA_COUNT = 20000, DELETE_COUNT = 5000 };
    struct firn_op *op = test_op(state);
    const struct firn_manifest_entry **deletes =
        FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, DELETE_COUNT);
    struct firn_delete_index *index;
    uint64_t matches = 0;
    for (int i = 0; i < DELETE_COUNT; i++)
        deletes[i] = entry_of(op, &(struct given){ i % 2 ? EQ : POS, 4 * i, 0, 0, "d", NULL, i % 4 ? NULL : A, Z });
    CHECK_OK(op, firn_delete_index_new(op, make_metadata(op), deletes, DELETE_COUNT, &index));
    size_t bytes_before = op->arena->used_bytes;
    const struct firn_manifest_entry *data[DATA_COUNT / 100];
    for (size_t i = 0; i < FIRN_COUNT_OF(data); i++)
        data[i] = entry_of(op, &(struct given){ DATA, (int64_t)i * 100, 0, 0, "s3://bucket/data/m.parquet" });
    for (int i = 0; i < DATA_COUNT; i++) {
        struct firn_delete_match match;
        CHECK_OK(op, firn_delete_index_match(op, index, data[i % (int)FIRN_COUNT_OF(data)], &match));
        matches += firn_delete_match_count(&match);
    }
    CHECK(matches > UINT64_C(45000000), "%" PRIu64, matches);
    CHECK(op->arena->used_bytes - bytes_before < (1 << 20), "%zu bytes", op->arena->used_bytes - bytes_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(deletes_apply_by_the_rules), TEST(shortened_bounds_are_no_path), TEST(a_vector_replaces_position_deletes),
        TEST(broken_vectors_are_refused), TEST(index_and_rules_agree),        TEST(thousands_of_deletes_share_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
