/* Avro: the corpus' files as JSON, encodings that few writers use, and layouts written and read back. */
#include "check.h"
#include "support/corpus.h"

#include "base/math.h"
#include "format/avro/put.h"
#include "format/avro/value_json.h"
#include "format/avro/writer.h"

/* All rows of a file as JSON, in the arena. */
static firn_status read_values(struct firn_op *op, struct firn_bytes file, json_t **out)
{
    struct firn_avro_reader reader;
    struct firn_avro_block block;
    struct firn_buffer *buffer = FIRN_NEW(op->arena, struct firn_buffer);
    uint64_t empty_left = FIRN_AVRO_EMPTY_ITEMS_MAX;
    firn_buffer_defer(op->arena, buffer);
    *out = firn_json_own(op->arena, json_array());
    FIRN_TRY(firn_avro_reader_init(op, file, &reader));
    for (;;) {
        FIRN_TRY(firn_avro_reader_next(op, &reader, buffer, &block));
        if (block.row_count == 0)
            return FIRN_OK;
        struct firn_cursor in = firn_cursor_of(block.data);
        for (uint64_t i = 0; i < block.row_count && !in.failure; i++)
            json_array_append_new(*out, firn_avro_take_json(&in, reader.type, &empty_left));
        FIRN_TRY(firn_cursor_finish(op, &in, "avro row"));
    }
}

static void check_values(struct firn_op *op, const char *name, json_t *values, const json_t *expected)
{
    json_int_t rows = json_integer_value(json_object_get(expected, "rows"));
    const json_t *all = json_object_get(expected, "values");
    const json_t *first = json_object_get(expected, "first_value");
    CHECK((json_int_t)json_array_size(values) == rows, "%s: %zu rows", name, json_array_size(values));
    CHECK(!all || json_equal(values, all), "%s: values are\n%s", name, firn_json_text(op->arena, values, 0).data);
    CHECK(!first || json_equal(json_array_get(values, 0), first), "%s: the first value is\n%s", name,
          firn_json_text(op->arena, json_array_get(values, 0), 0).data);
}

static void corpus_files_decode_as_expected(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    const char *name;
    json_t *expected, *values;
    json_t *files = corpus_expected(op, root, "avro");
    json_object_foreach(files, name, expected)
    {
        const char *expect = json_string_value(json_object_get(expected, "expect"));
        const char *codec = json_string_value(json_object_get(expected, "codec"));
        firn_status status = read_values(op, corpus_file(op, "%.*s/avro/%s", FIRN_FMT(root), name), &values);
        if (strcmp(expect, "error") == 0)
            CHECK(status == FIRN_CORRUPT, "%s: %s", name, firn_status_name(status));
        else if (codec && (strcmp(codec, "bzip2") == 0 || strcmp(codec, "xz") == 0))
            CHECK(status == FIRN_UNSUPPORTED, "%s: %s", name, firn_status_name(status));
        else if (status == FIRN_OK)
            check_values(op, name, values, expected);
        else
            CHECK(strcmp(expect, "no_crash") == 0, "%s: %s", name, op->error.text);
    }
}

/* Every prefix of a file is an error, or the file ends exactly at a block's end. */
static void truncated_files_fail_cleanly(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    static const char *const names[] = { "good/arrowrs_comprehensive_e2e.avro", "good/avro_weather-zstd.avro",
                                         "good/arrowtesting_nullable.impala.avro",
                                         "iceberg/icebird_a85973e4-4009-4cba-875e-5278a2c6027d-m0.avro" };
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++) {
        struct firn_bytes file = corpus_file(op, "%.*s/avro/%s", FIRN_FMT(root), names[i]);
        size_t good = 0;
        for (size_t len = 0; len < file.len; len++) {
            struct firn_arena arena;
            struct firn_op inner = *op;
            json_t *values;
            firn_arena_init(&arena);
            inner.arena = &arena;
            good +=
                read_values(&inner, firn_bytes_copy(&arena, (struct firn_bytes){ file.data, len }), &values) == FIRN_OK;
            firn_arena_done(&arena);
        }
        CHECK(good <= 1, "%s: %zu prefixes pass", names[i], good);
    }
}

/* Layouts ------------------------------------------------------------------------------------------------------- */

struct part {
    bool flag;
    int64_t number;
};

struct sample {
    int32_t status;
    int64_t size, maybe;
    struct firn_text path;
    struct firn_bytes key;
    int32_t *ids;
    uint32_t id_count;
    int64_t *offsets;
    uint32_t offset_count;
    int32_t *count_keys;
    int64_t *counts;
    uint32_t count_count;
    bool has_counts;
    int32_t *bound_keys;
    struct firn_bytes *bounds;
    uint32_t bound_count;
    bool has_bounds;
    struct part *parts;
    uint32_t part_count;
    bool has_parts;
    struct firn_avro_scalar scalar;
};

static const struct firn_avro_column part_columns[] = {
    { .id = 21,
      .name = FIRN_TEXT_INIT("flag"),
      .member = FIRN_AVRO_MEMBER_BOOL,
      .offset = offsetof(struct part, flag) },
    { .id = 22,
      .name = FIRN_TEXT_INIT("number"),
      .member = FIRN_AVRO_MEMBER_I64,
      .offset = offsetof(struct part, number) },
};
static const struct firn_avro_layout part_layout = {
    .name = FIRN_TEXT_INIT("r20"), .item_bytes = sizeof(struct part), .columns = part_columns, .column_count = 2
};
static const struct firn_avro_type decimal_type = { .kind = FIRN_AVRO_FIXED,
                                                    .name = FIRN_TEXT_INIT("decimal_9_2"),
                                                    .logical_type = FIRN_TEXT_INIT("decimal"),
                                                    .precision = 9,
                                                    .scale = 2,
                                                    .size = 4 };
static const struct firn_avro_column inner_columns[] = {
    { .id = 5,
      .name = FIRN_TEXT_INIT("a.b-1"),
      .member = FIRN_AVRO_MEMBER_BYTES,
      .optional = true,
      .offset = offsetof(struct sample, key) },
    { .id = 6,
      .name = FIRN_TEXT_INIT("7up"),
      .member = FIRN_AVRO_MEMBER_SCALAR,
      .optional = true,
      .scalar_type = &decimal_type,
      .offset = offsetof(struct sample, scalar) },
};
static const struct firn_avro_layout inner_layout = { .name = FIRN_TEXT_INIT("r4"),
                                                      .columns = inner_columns,
                                                      .column_count = 2 };
static const struct firn_avro_column sample_columns[] = {
    { .id = 1,
      .name = FIRN_TEXT_INIT("status"),
      .member = FIRN_AVRO_MEMBER_I32,
      .offset = offsetof(struct sample, status) },
    { .id = 2,
      .name = FIRN_TEXT_INIT("size"),
      .member = FIRN_AVRO_MEMBER_I64,
      .offset = offsetof(struct sample, size) },
    { .id = 3,
      .name = FIRN_TEXT_INIT("maybe"),
      .member = FIRN_AVRO_MEMBER_I64_INT,
      .optional = true,
      .offset = offsetof(struct sample, maybe) },
    { .id = 4, .name = FIRN_TEXT_INIT("inner"), .member = FIRN_AVRO_MEMBER_RECORD, .record = &inner_layout },
    { .id = 7,
      .name = FIRN_TEXT_INIT("path"),
      .member = FIRN_AVRO_MEMBER_TEXT,
      .offset = offsetof(struct sample, path) },
    { .id = 8,
      .name = FIRN_TEXT_INIT("ids"),
      .member = FIRN_AVRO_MEMBER_I32_LIST,
      .optional = true,
      .offset = offsetof(struct sample, ids),
      .count_offset = offsetof(struct sample, id_count),
      .element_id = 9 },
    { .id = 10,
      .name = FIRN_TEXT_INIT("offsets"),
      .member = FIRN_AVRO_MEMBER_I64_LIST,
      .optional = true,
      .offset = offsetof(struct sample, offsets),
      .count_offset = offsetof(struct sample, offset_count),
      .element_id = 11 },
    { .id = 12,
      .name = FIRN_TEXT_INIT("counts"),
      .member = FIRN_AVRO_MEMBER_I64_MAP,
      .optional = true,
      .offset = offsetof(struct sample, count_keys),
      .values_offset = offsetof(struct sample, counts),
      .count_offset = offsetof(struct sample, count_count),
      .present_offset = offsetof(struct sample, has_counts),
      .key_id = 13,
      .value_id = 14 },
    { .id = 15,
      .name = FIRN_TEXT_INIT("bounds"),
      .member = FIRN_AVRO_MEMBER_BYTES_MAP,
      .optional = true,
      .offset = offsetof(struct sample, bound_keys),
      .values_offset = offsetof(struct sample, bounds),
      .count_offset = offsetof(struct sample, bound_count),
      .present_offset = offsetof(struct sample, has_bounds),
      .key_id = 16,
      .value_id = 17 },
    { .id = 19,
      .name = FIRN_TEXT_INIT("parts"),
      .member = FIRN_AVRO_MEMBER_RECORD_LIST,
      .optional = true,
      .offset = offsetof(struct sample, parts),
      .count_offset = offsetof(struct sample, part_count),
      .present_offset = offsetof(struct sample, has_parts),
      .record = &part_layout,
      .element_id = 20 },
};
static const struct firn_avro_layout sample_layout = { .name = FIRN_TEXT_INIT("sample"),
                                                       .columns = sample_columns,
                                                       .column_count = FIRN_COUNT_OF(sample_columns) };

static struct sample make_sample(struct firn_op *op, int64_t i)
{
    struct sample sample = { .status = (int32_t)i,
                             .size = i * 1000003,
                             .maybe = i % 3 ? i : FIRN_AVRO_ABSENT,
                             .path = firn_text_format(op->arena, "s3://bucket/%" PRId64, i) };
    uint32_t count = (uint32_t)(i % 5);
    if (i % 4 == 0)
        return sample;
    sample.key = firn_bytes_of_text(sample.path);
    sample.scalar = (struct firn_avro_scalar){ &decimal_type, .bytes = { (const uint8_t *)"\1\2\3\4", 4 } };
    sample.ids = sample.count_keys = sample.bound_keys = FIRN_NEW_ARRAY(op->arena, int32_t, count);
    sample.offsets = sample.counts = FIRN_NEW_ARRAY(op->arena, int64_t, count);
    sample.bounds = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, count);
    sample.parts = FIRN_NEW_ARRAY(op->arena, struct part, count);
    sample.id_count = sample.offset_count = sample.count_count = sample.bound_count = sample.part_count = count;
    sample.has_counts = sample.has_bounds = sample.has_parts = true;
    for (uint32_t k = 0; k < count; k++) {
        sample.ids[k] = (int32_t)(i * 100 + k);
        sample.offsets[k] = -i * 100000000000 - k;
        sample.bounds[k] = firn_bytes_of_text(sample.path);
        sample.parts[k] = (struct part){ k % 2, i + k };
    }
    return sample;
}

static void check_sample(const struct sample *got, const struct sample *want, int64_t i)
{
    CHECK(got->status == want->status && got->size == want->size && got->maybe == want->maybe, "row %" PRId64, i);
    CHECK(firn_text_same(got->path, want->path), "row %" PRId64, i);
    CHECK((got->key.data == NULL) == (want->key.data == NULL) && firn_bytes_compare(got->key, want->key) == 0,
          "row %" PRId64, i);
    CHECK((got->ids == NULL) == (want->ids == NULL) && got->id_count == want->id_count, "row %" PRId64, i);
    CHECK(got->has_counts == want->has_counts && got->count_count == want->count_count, "row %" PRId64, i);
    CHECK(got->has_parts == want->has_parts && got->part_count == want->part_count, "row %" PRId64, i);
    CHECK((got->scalar.type == NULL) == (want->scalar.type == NULL), "row %" PRId64, i);
    for (uint32_t k = 0; k < want->id_count; k++) {
        CHECK(got->ids[k] == want->ids[k] && got->offsets[k] == want->offsets[k], "row %" PRId64, i);
        CHECK(got->count_keys[k] == want->ids[k] && got->counts[k] == want->offsets[k], "row %" PRId64, i);
        CHECK(got->bound_keys[k] == want->ids[k] && firn_bytes_compare(got->bounds[k], want->bounds[k]) == 0,
              "row %" PRId64, i);
        CHECK(got->parts[k].flag == want->parts[k].flag && got->parts[k].number == want->parts[k].number,
              "row %" PRId64, i);
    }
}

enum { SAMPLE_ROWS = 3000 };

static void write_samples(struct firn_op *op, enum firn_codec codec, struct firn_buffer *file)
{
    struct firn_avro_property properties[] = { { FIRN_TEXT("greeting"), firn_bytes_of_text(FIRN_TEXT("hello")) } };
    struct firn_avro_writer_config config = { .layout = &sample_layout,
                                              .codec = codec,
                                              .codec_level = FIRN_CODEC_LEVEL_DEFAULT,
                                              .properties = properties,
                                              .property_count = 1 };
    struct firn_sink sink = firn_sink_to_buffer(file);
    struct firn_avro_writer *writer;
    CHECK_OK(op, firn_avro_writer_open(op, &config, &sink, &writer));
    for (int64_t i = 0; i < SAMPLE_ROWS; i++) {
        struct sample sample = make_sample(op, i);
        CHECK_OK(op, firn_avro_writer_add(op, writer, &sample));
    }
    CHECK_OK(op, firn_avro_writer_finish(op, writer));
    assert_int_equal(firn_avro_writer_bytes(writer), file->len);
    firn_avro_writer_close(writer);
}

static firn_status read_samples(struct firn_op *op, struct firn_bytes file, bool copy, int64_t *rows)
{
    struct firn_avro_reader reader;
    struct firn_avro_block block;
    struct firn_buffer *buffer = FIRN_NEW(op->arena, struct firn_buffer);
    const struct firn_avro_plan *plan;
    firn_buffer_defer(op->arena, buffer);
    FIRN_TRY(firn_avro_reader_init(op, file, &reader));
    FIRN_TRY(firn_avro_plan_new(op, reader.type, &sample_layout, &plan));
    for (*rows = 0;;) {
        FIRN_TRY(firn_avro_reader_next(op, &reader, buffer, &block));
        if (block.row_count == 0)
            return FIRN_OK;
        struct firn_avro_decoder decoder = { .in = firn_cursor_of(block.data), .arena = op->arena, .copy = copy };
        for (uint64_t i = 0; i < block.row_count; i++, (*rows)++) {
            struct sample got = { .maybe = FIRN_AVRO_ABSENT }, want = make_sample(op, *rows);
            firn_avro_plan_decode(plan, &decoder, &got);
            FIRN_TRY(firn_cursor_finish(op, &decoder.in, "sample"));
            check_sample(&got, &want, *rows);
        }
    }
}

/* R46 */
static void layouts_round_trip_in_every_codec(void **state)
{
    struct firn_op *op = test_op(state);
    static const enum firn_codec codecs[] = { FIRN_CODEC_NONE, FIRN_CODEC_DEFLATE, FIRN_CODEC_SNAPPY, FIRN_CODEC_ZSTD };
    for (size_t i = 0; i < FIRN_COUNT_OF(codecs); i++) {
        struct firn_buffer file = { 0 };
        int64_t rows;
        write_samples(op, codecs[i], &file);
        CHECK_OK(op, read_samples(op, firn_buffer_bytes(&file), false, &rows));
        assert_int_equal(rows, SAMPLE_ROWS);
        CHECK_OK(op, read_samples(op, firn_buffer_bytes(&file), true, &rows));
        struct firn_avro_reader reader;
        CHECK_OK(op, firn_avro_reader_init(op, firn_buffer_bytes(&file), &reader));
        assert_true(firn_text_is(firn_avro_reader_property(&reader, "greeting"), "hello"));
        firn_buffer_done(&file);
    }
}

/* R46: the snappy checksum lies just before the sync marker that ends the file. */
static void a_wrong_snappy_checksum_is_an_error(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_buffer file = { 0 };
    int64_t rows;
    write_samples(op, FIRN_CODEC_SNAPPY, &file);
    file.data[file.len - FIRN_AVRO_SYNC_BYTES - 1] ^= 1;
    CHECK_STATUS(op, FIRN_CORRUPT, read_samples(op, firn_buffer_bytes(&file), false, &rows));
    firn_buffer_done(&file);
}

static void names_are_made_fit_for_avro(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const cases[][2] = {
        { "plain_1", "plain_1" },
        { "ts.day", "ts_x2Eday" },
        { "col-1", "col_x2D1" },
        { "9lives", "_9lives" },
        { "\xc3\xa9t\xc3\xa9", "_xE9t_xE9" },
        { "\xf0\x9f\x98\x80", "_xD83D_xDE00" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct firn_text name = firn_avro_name(op->arena, firn_text_of(cases[i][0]));
        CHECK(firn_text_is(name, cases[i][1]), "%s", name.data);
    }
}

static void schemas_carry_ids_and_original_names(void **state)
{
    struct firn_op *op = test_op(state);
    json_t *schema = firn_json_own(op->arena, firn_avro_layout_schema(op->arena, &sample_layout));
    const json_t *fields = json_object_get(schema, "fields");
    const json_t *inner = json_object_get(json_array_get(fields, 3), "type");
    const json_t *odd = json_array_get(json_object_get(inner, "fields"), 0);
    assert_string_equal(json_string_value(json_object_get(inner, "name")), "r4");
    assert_string_equal(json_string_value(json_object_get(odd, "name")), "a_x2Eb_x2D1");
    assert_string_equal(json_string_value(json_object_get(odd, "iceberg-field-name")), "a.b-1");
    const json_t *ids = json_array_get(json_object_get(json_array_get(fields, 5), "type"), 1);
    assert_int_equal(json_integer_value(json_object_get(ids, "element-id")), 9);
    const json_t *counts = json_array_get(json_object_get(json_array_get(fields, 7), "type"), 1);
    assert_string_equal(json_string_value(json_object_get(counts, "logicalType")), "map");
    assert_string_equal(json_string_value(json_object_get(json_object_get(counts, "items"), "name")), "k13_v14");
}

/* Writers' schemas -------------------------------------------------------------------------------------------- */

static firn_status decode_as_sample(struct firn_op *op, const char *schema, struct firn_bytes data, struct sample *out)
{
    json_t *json;
    const struct firn_avro_type *type;
    const struct firn_avro_plan *plan;
    static const struct firn_avro_column columns[] = {
        { .id = 1,
          .name = FIRN_TEXT_INIT("status"),
          .member = FIRN_AVRO_MEMBER_I32,
          .offset = offsetof(struct sample, status) },
        { .id = 8,
          .name = FIRN_TEXT_INIT("ids"),
          .member = FIRN_AVRO_MEMBER_I32_LIST,
          .optional = true,
          .offset = offsetof(struct sample, ids),
          .count_offset = offsetof(struct sample, id_count) },
    };
    static const struct firn_avro_layout layout = { .columns = columns, .column_count = 2 };
    FIRN_TRY(firn_json_parse(op, firn_text_of(schema), "schema", &json));
    FIRN_TRY(firn_avro_schema_parse(op, json, &type));
    FIRN_TRY(firn_avro_plan_new(op, type, &layout, &plan));
    struct firn_avro_decoder decoder = { .in = firn_cursor_of(data), .arena = op->arena };
    firn_avro_plan_decode(plan, &decoder, out);
    return firn_cursor_finish(op, &decoder.in, "row");
}

static void writers_differ_and_are_understood(void **state)
{
    struct firn_op *op = test_op(state);
    static const struct {
        const char *what, *schema;
        struct firn_bytes data;
        firn_status status;
        int32_t value;
        uint32_t ids;
    } cases[] = {
        { "null second, other name, long for int",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':['long','null']}]}",
          { (const uint8_t *)"\x00\x0e", 2 },
          FIRN_OK,
          7,
          0 },
        { "by name without ids",
          "{'type':'record','name':'r','fields':[{'name':'status','type':'int'}]}",
          { (const uint8_t *)"\x0e", 1 },
          FIRN_OK,
          7,
          0 },
        { "unknown fields of every kind are skipped",
          "{'type':'record','name':'r','fields':["
          "{'name':'m','type':{'type':'map','values':'string'}},"
          "{'name':'e','type':{'type':'enum','name':'E','symbols':['A','B']}},"
          "{'name':'f','type':{'type':'fixed','name':'F','size':2}},"
          "{'name':'g','type':['null','F','E']},"
          "{'name':'d','type':'double'},"
          "{'name':'n','type':['null',{'type':'record','name':'N','fields':[{'name':'next','type':['null','N']}]}]},"
          "{'name':'s','field-id':1,'type':'int'}]}",
          { (const uint8_t *)"\x02\x02k\x02v\x00"
                             "\x02"
                             "xy"
                             "\x02zz"
                             "12345678"
                             "\x02\x02\x00"
                             "\x0e",
            24 },
          FIRN_OK,
          7,
          0 },
        { "R47: array<long>, negative block counts, several blocks",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':'int'},"
          "{'name':'x','field-id':8,'type':{'type':'array','items':'long','element-id':9}}]}",
          { (const uint8_t *)"\x0e\x03\x04\x02\x04\x02\x06\x00", 8 },
          FIRN_OK,
          7,
          3 },
        { "null where a value is needed",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':['null','int']}]}",
          { (const uint8_t *)"\x00", 1 },
          FIRN_CORRUPT,
          0,
          0 },
        { "field missing", "{'type':'record','name':'r','fields':[]}", { (const uint8_t *)"", 0 }, FIRN_CORRUPT, 0, 0 },
        { "wrong type",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':'string'}]}",
          { (const uint8_t *)"\x00", 1 },
          FIRN_CORRUPT,
          0,
          0 },
        { "long beyond int",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':'long'}]}",
          { (const uint8_t *)"\xff\xff\xff\xff\x7f", 5 },
          FIRN_CORRUPT,
          0,
          0 },
        { "a count no data can have",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':'int'},"
          "{'name':'x','field-id':8,'type':{'type':'array','items':'int'}}]}",
          { (const uint8_t *)"\x0e\xfe\xff\xff\xff\x7f", 6 },
          FIRN_CORRUPT,
          0,
          0 },
        { "unknown type name",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':'inte'}]}",
          { (const uint8_t *)"", 0 },
          FIRN_CORRUPT,
          0,
          0 },
        { "union in union",
          "{'type':'record','name':'r','fields':[{'name':'s','field-id':1,'type':[['int']]}]}",
          { (const uint8_t *)"", 0 },
          FIRN_CORRUPT,
          0,
          0 },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct sample sample = { 0 };
        char *schema = strdup(cases[i].schema);
        for (char *at = schema; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        firn_status status = decode_as_sample(op, schema, cases[i].data, &sample);
        free(schema);
        CHECK(status == cases[i].status, "%s: %s %s", cases[i].what, firn_status_name(status),
              status ? op->error.text : "");
        CHECK(status || (sample.status == cases[i].value && sample.id_count == cases[i].ids), "%s", cases[i].what);
    }
}

/* A record that contains itself, and a schema nested without end. */
static void recursion_has_a_limit(void **state)
{
    struct firn_op *op = test_op(state);
    struct sample sample = { 0 };
    uint8_t nested[200];
    memset(nested, 2, sizeof nested);
    CHECK_STATUS(op, FIRN_CORRUPT,
                 decode_as_sample(op,
                                  "{\"type\":\"record\",\"name\":\"r\",\"fields\":["
                                  "{\"name\":\"next\",\"type\":[\"null\",\"r\"]},"
                                  "{\"name\":\"s\",\"field-id\":1,\"type\":\"int\"}]}",
                                  (struct firn_bytes){ nested, sizeof nested }, &sample));
    struct firn_text deep = FIRN_TEXT("\"int\"");
    for (int i = 0; i < 200; i++)
        deep = firn_text_format(op->arena, "{\"type\":\"array\",\"items\":%.*s}", FIRN_FMT(deep));
    json_t *json;
    const struct firn_avro_type *type;
    CHECK_OK(op, firn_json_parse(op, deep, "schema", &json));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_avro_schema_parse(op, json, &type));
}

/* Records of records of nothing: 2^40 of them in no bytes at all. */
static void values_without_bytes_do_not_hang(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_text schema = FIRN_TEXT("{\"type\":\"record\",\"name\":\"r0\",\"fields\":[]}");
    for (int i = 1; i <= 40; i++)
        schema = firn_text_format(op->arena,
                                  "{\"type\":\"record\",\"name\":\"r%d\",\"fields\":[{\"name\":\"a\",\"type\":%.*s},"
                                  "{\"name\":\"b\",\"type\":\"r%d\"}]}",
                                  i, FIRN_FMT(schema), i - 1);
    json_t *json;
    const struct firn_avro_type *type;
    CHECK_OK(op, firn_json_parse(op, schema, "schema", &json));
    CHECK_OK(op, firn_avro_schema_parse(op, json, &type));
    struct firn_cursor in = firn_cursor_of((struct firn_bytes){ 0 });
    firn_avro_skip(&in, type, 0);
    CHECK_OK(op, firn_cursor_finish(op, &in, "value"));
    uint64_t empty_left = 1000;
    json_decref(firn_avro_take_json(&in, type, &empty_left));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_cursor_finish(op, &in, "value"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(corpus_files_decode_as_expected),   TEST(truncated_files_fail_cleanly),
        TEST(layouts_round_trip_in_every_codec), TEST(a_wrong_snappy_checksum_is_an_error),
        TEST(names_are_made_fit_for_avro),       TEST(schemas_carry_ids_and_original_names),
        TEST(writers_differ_and_are_understood), TEST(recursion_has_a_limit),
        TEST(values_without_bytes_do_not_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
