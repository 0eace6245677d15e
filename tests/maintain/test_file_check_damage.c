/* The check of single files over sound ones, and over ones damaged one way at a time: exactly that is found. */
#include "rewrite/fixture.h"

#include "format/avro/writer.h"
#include "maintain/file_check.h"
#include "rewrite/delete_writer.h"
#include "table/delete_index.h"

#define FIELD(id, name, type)    "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":\"" type "\"}"
#define REQUIRED(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":true,\"type\":\"" type "\"}"
#define SCHEMA(id, fields)       "{\"type\":\"struct\",\"schema-id\":" #id ",\"fields\":[" fields "]}"

/* One column a type, in the order of `columns` below. */
#define TYPES                                                                                                          \
    FIELD(1, "l", "long")                                                                                              \
    "," FIELD(2, "s", "string") "," FIELD(3, "d", "double") "," FIELD(4, "m", "decimal(9,2)") "," FIELD(               \
        5, "z",                                                                                                        \
        "timestamp") "," FIELD(6, "u",                                                                                 \
                               "uuid") "," FIELD(7, "f",                                                               \
                                                 "float") "," FIELD(8, "a",                                            \
                                                                    "date") "," FIELD(9, "b",                          \
                                                                                      "binary") "," FIELD(10, "p",     \
                                                                                                          "int")

#define UUID_LOW  "0x00112233445566778899aabbccddeeff"
#define UUID_HIGH "0x7f112233445566778899aabbccddeeff"

static const char *const columns[] = {
    /* one row group, */
    "7 8 ~ 9", "aardvark b c ~", "1.5 2.0 -0.0 ~", "123 -456 ~ 0", "1000 2000 3000 4000", UUID_LOW " " UUID_HIGH " ~ ~",
    "0.0 2.5 nan 1.5", "19000 19000 19000 19000", "0x01 0xff00 ~ ~", "3 3 3 3",
    /* and another */
    "-1 -2 -3", "x y zebra", "4 5 6", "7 8 9", "5000 6000 7000", "~ ~ ~", "3.5 4.5 5.5", "19000 19000 19000", "~ ~ ~",
    "3 3 3"
};

enum { ROWS = 7, COLUMNS = 10 };

static const char spec[] = "{\"spec-id\":0,\"fields\":["
                           "{\"source-id\":10,\"field-id\":1000,\"name\":\"p\",\"transform\":\"identity\"},"
                           "{\"source-id\":8,\"field-id\":1001,\"name\":\"a_month\",\"transform\":\"month\"},"
                           "{\"source-id\":10,\"field-id\":1002,\"name\":\"p_bucket\",\"transform\":\"bucket[4]\"}]}";

/* A file, its entry and its table, to be damaged. */
struct subject {
    struct firn_op *op;
    struct firn_metadata *metadata;
    struct firn_store *store;
    struct firn_manifest_entry entry;
    struct firn_key_map row_counts;
};

static void begin(struct firn_op *op, struct subject *subject, int version, const char *schemas)
{
    *subject = (struct subject){ .op = op };
    subject->metadata =
        fixture_metadata(op, &(struct fixture_table){ .version = version, .schemas = schemas, .specs = spec });
    CHECK_OK(op, firn_store_open_memory(op, &subject->store));
    subject->entry = (struct firn_manifest_entry){ .sequence_number = 3, .file_sequence_number = 3 };
}

static void set_rows(struct subject *subject, struct firn_text path, int64_t rows)
{
    bool is_new;
    CHECK_OK(subject->op, firn_key_map_add(subject->op, &subject->row_counts, firn_row_count_key(path), rows, &is_new));
}

static void set_partition(struct subject *subject, int32_t p, int32_t month)
{
    struct firn_value source = { .type = FIRN_TYPE_INT, .integer = p };
    struct firn_type type = { .id = FIRN_TYPE_INT };
    struct firn_value *values = FIRN_NEW_ARRAY(subject->op->arena, struct firn_value, 3);
    values[0] = source;
    values[1] = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = month };
    values[2] = firn_transform_value(&subject->metadata->specs[0].fields[2].transform, &type, &source);
    subject->entry.file.partition = (struct firn_partition){ values, 3 };
}

/* A data file of two row groups that firn rewrote, which gives it metrics. */
static void make_data(struct firn_op *op, struct subject *subject, int version)
{
    struct firn_output_schema schema = fixture_schema(op, SCHEMA(0, TYPES));
    static const int64_t sequence_numbers[] = { 3 };
    struct firn_rewrite_result result;
    begin(op, subject, version, SCHEMA(0, TYPES));
    int64_t bytes =
        fixture_write(op, subject->store, "mem:/t/in.parquet", schema.footer, columns, 2, firn_chunk_options_default());
    subject->entry.file = fixture_file("mem:/t/in.parquet", bytes, ROWS);
    subject->entry.file.first_row_id = version >= 3 ? 100 : FIRN_ABSENT;
    set_partition(subject, 3, 624); /* 19000 days: January 2022 */
    struct fixture_run run = {
        .metadata = subject->metadata,
        .store = subject->store,
        .files = &subject->entry.file,
        .file_count = 1,
        .sequence_numbers = sequence_numbers,
    };
    CHECK_OK(op, fixture_execute(op, &run, &result));
    CHECK(result.file_count == 1, "%u files", result.file_count);
    subject->entry.file = result.files[0];
    subject->entry.file.first_row_id = version >= 3 ? 200 : FIRN_ABSENT;
    subject->entry.file.sort_order_id = 0;
}

static void end(struct subject *subject)
{
    firn_key_map_done(&subject->row_counts);
    firn_store_close(subject->store);
}

static void find(struct subject *subject, bool deep, struct firn_findings *found)
{
    struct firn_file_check what = { subject->store, subject->metadata, &subject->entry, deep, &subject->row_counts };
    firn_findings_init(found, subject->op->arena);
    CHECK_OK(subject->op, firn_file_check(subject->op, &what, found));
}

/* The codes found, each once, in the order found. */
static const char *codes_of(struct subject *subject, bool deep)
{
    struct firn_op *op = subject->op;
    struct firn_findings found;
    struct firn_text text = FIRN_TEXT("");
    find(subject, deep, &found);
    for (size_t i = 0; i < found.counts.count; i++)
        text = firn_text_format(op->arena, "%.*s%s%s", FIRN_FMT(text), i > 0 ? " " : "", found.counts.items[i].code);
    for (size_t i = 0; i < found.items.count; i++)
        CHECK(firn_text_same(found.items.items[i].location, subject->entry.file.path), "another location");
    return text.data;
}

static void check_codes(struct subject *subject, const char *name, const char *shallow, const char *deep)
{
    const char *found = codes_of(subject, false);
    CHECK(strcmp(found, shallow) == 0, "%s: found '%s', not '%s'", name, found, shallow);
    found = codes_of(subject, true);
    CHECK(strcmp(found, deep) == 0, "%s, deep: found '%s', not '%s'", name, found, deep);
}

/* Entries ---------------------------------------------------------------------------------------------------------- */

static struct firn_data_file *file_of(struct subject *subject)
{
    return &subject->entry.file;
}

static void set_count(struct firn_count_map *map, int32_t id, int64_t change)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (map->ids[i] == id) {
            map->counts[i] += change;
            return;
        }
    CHECK(false, "no count of %d", id);
}

static void set_bound(struct firn_bound_map *map, int32_t id, const char *bytes, size_t len)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (map->ids[i] == id) {
            map->values[i] = (struct firn_bytes){ (const uint8_t *)bytes, len };
            return;
        }
    CHECK(false, "no bound of %d", id);
}

#define LOWER(id, literal) set_bound(&file_of(subject)->lower_bounds, id, literal, sizeof(literal) - 1)
#define UPPER(id, literal) set_bound(&file_of(subject)->upper_bounds, id, literal, sizeof(literal) - 1)

#define DAMAGES(CASE)                                                                                                  \
    CASE(nothing, "", "", (void)subject)                                                                               \
    CASE(missing, "file-missing", "file-missing", file_of(subject)->path = FIRN_TEXT("mem:/t/no.parquet"))             \
    CASE(length, "file-length", "file-length", file_of(subject)->file_bytes++)                                         \
    CASE(row_count, "row-count", "row-count", file_of(subject)->record_count++)                                        \
    CASE(value_count, "value-count", "value-count", set_count(&file_of(subject)->value_counts, 1, 1))                  \
    CASE(null_count, "null-count", "null-count", set_count(&file_of(subject)->null_value_counts, 2, -1))               \
    CASE(nan_count, "nan-count", "nan-count", set_count(&file_of(subject)->nan_value_counts, 7, 1))                    \
    CASE(long_lower, "lower-bound", "lower-bound", LOWER(1, "\xfe\xff\xff\xff\xff\xff\xff\xff"))                       \
    CASE(long_upper, "upper-bound", "upper-bound", UPPER(1, "\x08\0\0\0\0\0\0\0"))                                     \
    CASE(long_wider, "", "", (LOWER(1, "\0\0\0\0\0\0\0\x80"), UPPER(1, "\xff\xff\xff\xff\xff\xff\xff\x7f")))           \
    CASE(long_as_int, "", "", (LOWER(1, "\xfd\xff\xff\xff"), UPPER(1, "\x09\0\0\0")))                                  \
    CASE(long_of_three_bytes, "lower-bound", "lower-bound", LOWER(1, "\0\0\x80"))                                      \
    CASE(text_lower, "lower-bound", "lower-bound", LOWER(2, "aardvarks"))                                              \
    CASE(text_upper, "upper-bound", "upper-bound", UPPER(2, "zebr"))                                                   \
    CASE(text_cut, "", "", (LOWER(2, "a"), UPPER(2, "zf")))                                                            \
    CASE(double_lower, "lower-bound", "lower-bound", LOWER(3, "\0\0\0\0\0\0\xf0\x3f"))                                 \
    CASE(double_upper, "upper-bound", "upper-bound", UPPER(3, "\0\0\0\0\0\0\x14\x40"))                                 \
    CASE(double_zero, "", "", LOWER(3, "\0\0\0\0\0\0\0\0"))                                                            \
    CASE(double_nan, "", "", UPPER(3, "\0\0\0\0\0\0\xf8\x7f"))                                                         \
    CASE(double_as_float, "", "", UPPER(3, "\0\0\xc0\x40"))                                                            \
    CASE(decimal_lower, "lower-bound", "lower-bound", LOWER(4, "\xfe\x39"))                                            \
    CASE(decimal_upper, "upper-bound", "upper-bound", UPPER(4, "\x7a"))                                                \
    CASE(decimal_long, "", "", UPPER(4, "\0\0\0\x7b"))                                                                 \
    CASE(decimal_empty, "upper-bound", "upper-bound", UPPER(4, ""))                                                    \
    CASE(timestamp_upper, "upper-bound", "upper-bound", UPPER(5, "\x57\x1b\0\0\0\0\0\0"))                              \
    CASE(uuid_lower, "lower-bound", "lower-bound",                                                                     \
         LOWER(6, "\1\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"))                                   \
    CASE(float_upper, "", "upper-bound", UPPER(7, "\0\0\xa0\x40"))                                                     \
    CASE(date_lower, "lower-bound", "lower-bound", LOWER(8, "\x39\x4a\0\0"))                                           \
    CASE(binary_upper, "upper-bound", "upper-bound", UPPER(9, "\xff"))                                                 \
    CASE(split_first, "split-offsets", "split-offsets", file_of(subject)->split_offsets[0]++)                          \
    CASE(split_order, "split-offsets", "split-offsets", file_of(subject)->split_offsets[0] = INT64_MAX)                \
    CASE(sort_order, "sort-order", "sort-order", file_of(subject)->sort_order_id = 7)                                  \
    CASE(row_ids, "first-row-id", "first-row-id", file_of(subject)->first_row_id = 994)                                \
    CASE(identity, "partition-value", "partition-value", file_of(subject)->partition.values[0].integer = 4)            \
    CASE(identity_null, "partition-value", "partition-value", file_of(subject)->partition.values[0].is_null = true)    \
    CASE(month, "partition-value", "partition-value", file_of(subject)->partition.values[1].integer = 625)             \
    CASE(bucket, "partition-value", "partition-value", file_of(subject)->partition.values[2].integer ^= 1)             \
    CASE(encrypted, "file-unchecked", "file-unchecked",                                                                \
         file_of(subject)->key_metadata = firn_bytes_of_text(FIRN_TEXT("key")))                                        \
    CASE(format, "file-unreadable", "file-unreadable", file_of(subject)->format = FIRN_FILE_ORC)                       \
    CASE(called_deletes, "column-missing", "column-missing",                                                           \
         file_of(subject)->content = FIRN_CONTENT_POSITION_DELETES)                                                    \
    CASE(no_keys, "equality-ids", "equality-ids", file_of(subject)->content = FIRN_CONTENT_EQUALITY_DELETES)

#define DAMAGE_FUNCTION(name, shallow, deep, action)                                                                   \
    static void damage_##name(struct subject *subject)                                                                 \
    {                                                                                                                  \
        action;                                                                                                        \
    }
DAMAGES(DAMAGE_FUNCTION)

static void entries_are_compared(void **state)
{
    static const struct {
        const char *name, *shallow, *deep;
        void (*damage)(struct subject *subject);
    } cases[] = {
#define DAMAGE_ROW(name, shallow, deep, action) { #name, shallow, deep, damage_##name },
        DAMAGES(DAMAGE_ROW)
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct subject subject;
        make_data(op, &subject, 3);
        cases[i].damage(&subject);
        check_codes(&subject, cases[i].name, cases[i].shallow, cases[i].deep);
        end(&subject);
    }
}

/* Schemas ---------------------------------------------------------------------------------------------------------- */

/* The same file under other schemas of its table. */
static void schemas_are_compared(void **state)
{
    static const struct {
        const char *schemas, *codes;
    } cases[] = {
        { SCHEMA(0, TYPES), "" },
        { SCHEMA(0, FIELD(1, "l", "long") "," FIELD(8, "a", "date") "," FIELD(10, "p", "int")), "column-unknown" },
        { SCHEMA(0, TYPES "," REQUIRED(11, "n", "int")), "column-missing" },
        { SCHEMA(0, TYPES "," FIELD(11, "n", "int")), "" },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct subject subject;
        make_data(op, &subject, 2);
        subject.metadata =
            fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = cases[i].schemas, .specs = spec });
        check_codes(&subject, cases[i].schemas, cases[i].codes, cases[i].codes);
        end(&subject);
    }
}

/* One column of a stored type under one of a table's type. */
static void types_are_compared(void **state)
{
    static const struct {
        const char *stored, *table, *slots, *shallow, *deep;
    } cases[] = {
        { "int", "long", "1 2", "", "" },
        { "float", "double", "1 2", "", "" },
        { "decimal(4,1)", "decimal(20,1)", "1 2", "", "" },
        { "date", "timestamp", "1 2", "", "" },
        { "long", "int", "1 2", "column-type", "column-type" },
        { "string", "int", "1 2", "column-type", "column-type" },
        { "decimal(4,1)", "decimal(4,2)", "1 2", "column-type", "column-type" },
        { "string", "fixed[2]", "ab cde", "", "value-unreadable" },
        { "binary", "string", "ab 0xff", "", "text-encoding" },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        const char *format = "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
                             "{\"id\":1,\"name\":\"c\",\"required\":false,\"type\":\"%s\"}]}";
        struct firn_output_schema stored =
            fixture_schema(op, firn_text_format(op->arena, format, cases[i].stored).data);
        struct subject subject = { .op = op };
        subject.metadata = fixture_metadata(
            op, &(struct fixture_table){ .version = 2,
                                         .schemas = firn_text_format(op->arena, format, cases[i].table).data });
        CHECK_OK(op, firn_store_open_memory(op, &subject.store));
        int64_t bytes = fixture_write(op, subject.store, "mem:/t/c.parquet", stored.footer, &cases[i].slots, 1,
                                      firn_chunk_options_default());
        subject.entry.file = fixture_file("mem:/t/c.parquet", bytes, 2);
        check_codes(&subject, firn_text_format(op->arena, "%s as %s", cases[i].stored, cases[i].table).data,
                    cases[i].shallow, cases[i].deep);
        end(&subject);
    }
}

/* Bytes ------------------------------------------------------------------------------------------------------------ */

static struct firn_buffer load(struct subject *subject)
{
    struct firn_buffer bytes = { 0 };
    CHECK_OK(subject->op, firn_store_read(subject->op, subject->store, subject->entry.file.path, UINT64_MAX, &bytes));
    return bytes;
}

static void store(struct subject *subject, const struct firn_buffer *bytes)
{
    CHECK_OK(subject->op,
             firn_store_put(subject->op, subject->store, subject->entry.file.path, false, firn_buffer_bytes(bytes)));
}

/* Where `text` stands in the file for the `nth` time, from 0. */
static size_t find_bytes(const struct firn_buffer *bytes, const char *text, int nth)
{
    const uint8_t *at = bytes->data, *end_of_bytes = bytes->data + bytes->len;
    for (;; at++) {
        at = memmem(at, (size_t)(end_of_bytes - at), text, strlen(text));
        CHECK(at, "no '%s'", text);
        if (nth-- == 0)
            return (size_t)(at - bytes->data);
    }
}

/* Text stands in the pages, in the column index and in the footer, in this order. */
static void bytes_are_compared(void **state)
{
    static const struct {
        const char *text;
        int nth;
        const char *to, *shallow, *deep;
    } cases[] = {
        { "zebra", 0, "zebrb", "", "page-damaged" }, /* the checksum tells */
        { "zebra", 1, "yebra", "", "page-index" },   { "zebra", 2, "yebra", "", "statistics" },
        { "zebra", 2, "zzzzz", "upper-bound", "" },  { "PAR1", 1, "PAR2", "file-unreadable", "file-unreadable" },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct subject subject;
        make_data(op, &subject, 2);
        struct firn_buffer bytes = load(&subject);
        size_t at = find_bytes(&bytes, cases[i].text, cases[i].nth);
        memcpy(bytes.data + at, cases[i].to, strlen(cases[i].to));
        store(&subject, &bytes);
        check_codes(&subject, cases[i].to, cases[i].shallow, cases[i].deep);
        firn_buffer_done(&bytes);
        end(&subject);
    }
}

static void a_file_cut_short(void **state)
{
    static const size_t lengths[] = { 0, 3, 4, 11, 12, 100, 1000 };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(lengths); i++) {
        struct subject subject;
        make_data(op, &subject, 2);
        struct firn_buffer bytes = load(&subject);
        bytes.len = lengths[i];
        store(&subject, &bytes);
        check_codes(&subject, "cut", "file-length file-unreadable", "file-length file-unreadable");
        firn_buffer_done(&bytes);
        end(&subject);
    }
}

/* Nulls as the chunk's statistics count them ------------------------------------------------------------------------
 */

/* The file with another footer, whose first chunk has one null more. */
static void count_a_null_more(struct subject *subject)
{
    struct firn_op *op = subject->op;
    struct firn_buffer bytes = load(subject);
    struct firn_footer *footer = fixture_footer(op, &bytes);
    footer->row_groups[0].chunks[0].statistics.null_count++;
    fixture_set_footer(op, &bytes, footer);
    store(subject, &bytes);
    subject->entry.file.file_bytes = (int64_t)bytes.len;
    firn_buffer_done(&bytes);
}

/* Writers disagree about nulls in lists, which no reader goes by. */
static void null_counts_matter_outside_of_lists(void **state)
{
    static const struct {
        const char *schema, *slots;
        enum firn_severity severity;
    } cases[] = {
        { SCHEMA(0, FIELD(1, "c", "int")), "1 ~", FIRN_SEVERITY_ERROR },
        { SCHEMA(0, "{\"id\":1,\"name\":\"c\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":2,"
                    "\"element-required\":false,\"element\":{\"type\":\"struct\",\"fields\":[" FIELD(3, "a",
                                                                                                     "int") "]}}}"),
          "0.4=1 1.2 1.3 0.1", FIRN_SEVERITY_WARNING },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct subject subject = { .op = op };
        struct firn_output_schema schema = fixture_schema(op, cases[i].schema);
        struct firn_findings found;
        subject.metadata = fixture_metadata(op, &(struct fixture_table){ .version = 2, .schemas = cases[i].schema });
        CHECK_OK(op, firn_store_open_memory(op, &subject.store));
        int64_t bytes = fixture_write(op, subject.store, "mem:/t/n.parquet", schema.footer, &cases[i].slots, 1,
                                      firn_chunk_options_default());
        subject.entry.file = fixture_file("mem:/t/n.parquet", bytes, 2);
        check_codes(&subject, "as written", "", "");
        count_a_null_more(&subject);
        check_codes(&subject, "a null more", "", "statistics");
        find(&subject, true, &found);
        CHECK(found.items.items[0].severity == cases[i].severity, "%zu: another severity", i);
        end(&subject);
    }
}

/* Row lineage ------------------------------------------------------------------------------------------------------ */

static void lineage_is_compared(void **state)
{
    struct firn_op *op = test_op(state);
    struct subject subject;
    make_data(op, &subject, 3);
    check_codes(&subject, "lineage", "", "");
    subject.metadata->next_row_id = 104; /* stored are 100 to 106 */
    subject.entry.file.first_row_id = 0;
    check_codes(&subject, "row ids", "row-lineage", "row-lineage");
    subject.metadata->next_row_id = 1000;
    subject.entry.file_sequence_number = 2; /* stored is 3 */
    check_codes(&subject, "sequence numbers", "row-lineage", "row-lineage");
    end(&subject);
}

/* Deletes ---------------------------------------------------------------------------------------------------------- */

static void make_deletes(struct firn_op *op, struct subject *subject, const char *paths, const char *positions)
{
    const char *slots[] = { paths, positions };
    struct firn_output_schema schema =
        fixture_schema(op, SCHEMA(0, FIELD(2147483546, "file_path", "string") "," FIELD(2147483545, "pos", "long")));
    begin(op, subject, 2, SCHEMA(0, TYPES));
    struct firn_vector vector = fixture_vector(op, schema.leaves[1].node, positions);
    int64_t bytes =
        fixture_write(op, subject->store, "mem:/t/d.parquet", schema.footer, slots, 1, firn_chunk_options_default());
    subject->entry.file = fixture_file("mem:/t/d.parquet", bytes, vector.row_count);
    subject->entry.file.content = FIRN_CONTENT_POSITION_DELETES;
    set_partition(subject, 3, 624);
    set_rows(subject, FIRN_TEXT("/t/a"), 100);
    set_rows(subject, FIRN_TEXT("/t/b"), 3);
}

static void position_deletes_are_read(void **state)
{
    static const struct {
        const char *paths, *positions, *scope, *deep;
    } cases[] = {
        { "mem:/t/a mem:/t/a mem:/t/b", "1 99 2", NULL, "" },
        { "mem:/t/a mem:/t/a", "1 1", "mem:/t/a", "" },
        { "mem:/t/a /t/a", "1 2", "mem:/t/a", "delete-order" },
        { "mem:/t/a mem:/t/b", "1 1", "mem:/t/a", "delete-path" },
        { "~ mem:/t/b", "1 1", NULL, "delete-path" },
        { "mem:/t/a mem:/t/a", "2 1", NULL, "delete-order" },
        { "mem:/t/b mem:/t/a", "1 2", NULL, "delete-order" },
        { "mem:/t/a mem:/t/b", "2 3", NULL, "delete-position" },
        { "mem:/t/a", "-1", NULL, "delete-position" },
        { "mem:/t/a", "~", NULL, "delete-position" },
        { "mem:/t/unknown", "1000000", NULL, "" },
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct subject subject;
        make_deletes(op, &subject, cases[i].paths, cases[i].positions);
        subject.entry.file.referenced_data_file = firn_text_of(cases[i].scope);
        check_codes(&subject, cases[i].paths, "", cases[i].deep);
        end(&subject);
    }
}

static void equality_deletes_need_their_columns(void **state)
{
    static const struct {
        int32_t id;
        const char *codes;
    } cases[] = {
        { 1, "" },
        { 10, "" },
        { 11, "equality-ids" }, /* in no schema */
        { 12, "equality-ids" }, /* not in the file */
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct subject subject;
        make_data(op, &subject, 2);
        int32_t id = cases[i].id;
        subject.metadata = fixture_metadata(
            op, &(struct fixture_table){
                    .version = 2, .schemas = SCHEMA(0, TYPES "," FIELD(12, "n", "int")), .specs = spec });
        subject.entry.file.content = FIRN_CONTENT_EQUALITY_DELETES;
        subject.entry.file.equality_ids = &id;
        subject.entry.file.equality_id_count = 1;
        check_codes(&subject, "equality", cases[i].codes, cases[i].codes);
        end(&subject);
    }
}

static void make_vector(struct firn_op *op, struct subject *subject)
{
    struct firn_delete_files files;
    struct firn_row_deletes deletes = { .data_file = FIRN_TEXT("mem:/t/a") };
    begin(op, subject, 3, SCHEMA(0, TYPES));
    struct firn_delete_writer_config config = { subject->metadata,    subject->store, firn_uuid_random(op), 0,
                                                FIRN_DELETES_BY_FILE, 1 << 20 };
    set_partition(subject, 3, 624);
    deletes.partition = subject->entry.file.partition;
    CHECK_OK(op, firn_positions_new(op, &deletes.positions));
    for (int64_t i = 0; i < 50; i++)
        CHECK_OK(op, firn_positions_add(op, deletes.positions, i * 2 + 1));
    CHECK_OK(op, firn_row_deletes_write(op, &config, &deletes, 1, &files));
    subject->entry.file = files.files[0];
    set_rows(subject, FIRN_TEXT("/t/a"), 100);
}

#define VECTOR_DAMAGES(CASE)                                                                                           \
    CASE(vector, "", (void)subject)                                                                                    \
    CASE(vector_offset, "puffin-blob deletion-vector", file_of(subject)->content_offset++)                             \
    CASE(vector_size, "puffin-blob deletion-vector", file_of(subject)->content_bytes--)                                \
    CASE(vector_huge, "puffin-blob deletion-vector", file_of(subject)->content_bytes = INT32_MAX)                      \
    CASE(vector_nowhere, "puffin-blob deletion-vector", file_of(subject)->content_offset = FIRN_ABSENT)                \
    CASE(vector_count, "puffin-blob row-count", file_of(subject)->record_count++)                                      \
    CASE(vector_other, "referenced-data-file", file_of(subject)->referenced_data_file = FIRN_TEXT("mem:/t/c"))         \
    CASE(vector_none, "referenced-data-file", file_of(subject)->referenced_data_file = (struct firn_text){ 0 })        \
    CASE(vector_rows, "delete-position",                                                                               \
         (firn_key_map_done(&subject->row_counts), set_rows(subject, FIRN_TEXT("/t/a"), 99)))

#define VECTOR_FUNCTION(name, codes, action) DAMAGE_FUNCTION(name, codes, codes, action)
VECTOR_DAMAGES(VECTOR_FUNCTION)

static void vectors_are_read(void **state)
{
    static const struct {
        const char *name, *codes;
        void (*damage)(struct subject *subject);
    } cases[] = {
#define VECTOR_ROW(name, codes, action) { #name, codes, damage_##name },
        VECTOR_DAMAGES(VECTOR_ROW)
    };
    struct firn_op *op = test_op(state);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct subject subject;
        make_vector(op, &subject);
        cases[i].damage(&subject);
        check_codes(&subject, cases[i].name, cases[i].codes, cases[i].codes);
        end(&subject);
    }
}

/* Avro ------------------------------------------------------------------------------------------------------------- */

struct avro_row {
    struct firn_text text;
    int64_t number;
};

static void make_avro(struct firn_op *op, struct subject *subject)
{
    static const struct firn_avro_column avro_columns[] = {
        { 1, FIRN_TEXT_INIT("l"), FIRN_AVRO_MEMBER_I64, true, offsetof(struct avro_row, number) },
        { 2, FIRN_TEXT_INIT("s"), FIRN_AVRO_MEMBER_TEXT, true, offsetof(struct avro_row, text) },
    };
    static const struct avro_row rows[] = { { FIRN_TEXT_INIT("b"), 7 }, { { 0 }, -3 }, { FIRN_TEXT_INIT("a"), 9 } };
    struct firn_avro_layout layout = { FIRN_TEXT("r"), 0, avro_columns, FIRN_COUNT_OF(avro_columns) };
    struct firn_avro_writer_config config = { .layout = &layout, .codec = FIRN_CODEC_DEFLATE, .codec_level = 1 };
    struct firn_store_writer *file;
    struct firn_avro_writer *writer;
    begin(op, subject, 2,
          SCHEMA(0, FIELD(1, "l", "long") "," FIELD(2, "s", "string") "," FIELD(10, "p", "int") "," FIELD(8, "a",
                                                                                                          "date")));
    CHECK_OK(op, firn_store_write(op, subject->store, FIRN_TEXT("mem:/t/r.avro"), false, &file));
    CHECK_OK(op, firn_avro_writer_open(op, &config, firn_store_writer_sink(file), &writer));
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        CHECK_OK(op, firn_avro_writer_add(op, writer, &rows[i]));
    CHECK_OK(op, firn_avro_writer_finish(op, writer));
    firn_avro_writer_close(writer);
    int64_t bytes = (int64_t)firn_store_writer_sink(file)->offset;
    CHECK_OK(op, firn_store_writer_finish(op, file));
    subject->entry.file = fixture_file("mem:/t/r.avro", bytes, 3);
    subject->entry.file.format = FIRN_FILE_AVRO;
    set_partition(subject, 3, 624);
    subject->entry.file.partition.values[1].is_null = true; /* the file has no column 8 */
}

static void avro_is_read(void **state)
{
    struct firn_op *op = test_op(state);
    struct subject subject;
    int32_t ids[] = { 2 };
    struct firn_bytes bound = firn_bytes_of_text(FIRN_TEXT("aa"));
    make_avro(op, &subject);
    check_codes(&subject, "avro", "", "");
    subject.entry.file.record_count = 4;
    check_codes(&subject, "avro rows", "", "row-count");
    subject.entry.file.record_count = 3;
    subject.entry.file.lower_bounds = (struct firn_bound_map){ ids, &bound, 1, true };
    check_codes(&subject, "avro lower bound", "", "lower-bound");
    subject.entry.file.lower_bounds = (struct firn_bound_map){ 0 };
    subject.entry.file.content = FIRN_CONTENT_EQUALITY_DELETES;
    subject.entry.file.equality_ids = ids;
    subject.entry.file.equality_id_count = 1;
    check_codes(&subject, "avro keys", "", "");
    ids[0] = 8;
    check_codes(&subject, "avro keys it lacks", "", "file-unreadable");
    subject.entry.file.content = FIRN_CONTENT_POSITION_DELETES;
    check_codes(&subject, "avro positions", "", "file-unreadable");
    end(&subject);
}

/* Chance ----------------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

/* Whatever a bit or three do to a file, it is checked to the end, and the check does not fail. */
static void chance_never_fails_the_check(void **state)
{
    static void (*const makers[])(struct firn_op *, struct subject *) = { make_vector, make_avro };
    struct firn_op *op = test_op(state);
    uint64_t seed = 88172645463325252u;
    for (size_t kind = 0; kind < 3; kind++) {
        struct subject subject;
        if (kind == 0)
            make_data(op, &subject, 3);
        else
            makers[kind - 1](op, &subject);
        struct firn_buffer bytes = load(&subject);
        for (int trial = 0; trial < 600; trial++) {
            struct firn_buffer damaged = { 0 };
            CHECK_OK(op, firn_buffer_append(op, &damaged, bytes.data, bytes.len));
            for (uint64_t i = draw(&seed) % 3 + 1; i > 0; i--)
                damaged.data[draw(&seed) % bytes.len] ^= (uint8_t)(1u << draw(&seed) % 8);
            store(&subject, &damaged);
            codes_of(&subject, true);
            firn_buffer_done(&damaged);
        }
        firn_buffer_done(&bytes);
        end(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(entries_are_compared),
        TEST(schemas_are_compared),
        TEST(types_are_compared),
        TEST(bytes_are_compared),
        TEST(a_file_cut_short),
        TEST(null_counts_matter_outside_of_lists),
        TEST(lineage_is_compared),
        TEST(position_deletes_are_read),
        TEST(equality_deletes_need_their_columns),
        TEST(vectors_are_read),
        TEST(avro_is_read),
        TEST(chance_never_fails_the_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
