/* Manifests and manifest lists: inheritance, row ids, tuples, summaries, and random entries in every format version.
 * R.. are the reports of situations that tools got wrong. */
#include "check.h"
#include "support/manifest_check.h"

#include "base/math.h"
#include "format/avro/container.h"
#include "format/avro/writer.h"
#include "table/manifest_columns.h"
#include "table/scan.h"

#include <math.h>

/* A table -------------------------------------------------------------------------------------------------------- */

/* Fields of every type that can partition; field 99 is dropped and lives in the older schema only. */
static struct firn_metadata *make_table(struct firn_op *op, int version, const char *partition_fields)
{
    static const char *const current =
        "{'type':'struct','schema-id':1,'fields':["
        "{'id':1,'name':'i','required':false,'type':'int'},{'id':2,'name':'l','required':false,'type':'long'},"
        "{'id':3,'name':'f','required':false,'type':'float'},{'id':4,'name':'d','required':false,'type':'double'},"
        "{'id':5,'name':'s','required':false,'type':'string'},{'id':6,'name':'b','required':false,'type':'binary'},"
        "{'id':7,'name':'u','required':false,'type':'uuid'},{'id':8,'name':'x','required':false,'type':'fixed[4]'},"
        "{'id':9,'name':'n','required':false,'type':'decimal(20, 3)'},"
        "{'id':10,'name':'dt','required':false,'type':'date'},{'id':11,'name':'tm','required':false,'type':'time'},"
        "{'id':12,'name':'ts','required':false,'type':'timestamp'},"
        "{'id':13,'name':'tz','required':false,'type':'timestamptz'},"
        "{'id':14,'name':'o','required':false,'type':'boolean'},"
        "{'id':15,'name':'n2','required':false,'type':'decimal(20, 3)'}]}";
    static const char *const older = "{'type':'struct','schema-id':0,'fields':["
                                     "{'id':99,'name':'q','required':false,'type':'string'}]}";
    struct firn_text text = firn_text_format(
        op->arena,
        "{'format-version':%d,'table-uuid':'9c12d441-03fe-4693-9a96-a0705ddf69c1','location':'s3://b/t',"
        "'last-sequence-number':9,'last-updated-ms':1,'last-column-id':99,'current-schema-id':1,"
        "'schemas':[%s,%s],%s%s%s'default-spec-id':3,'partition-specs':[{'spec-id':3,'fields':[%s]}],"
        "'partition-spec':[],'last-partition-id':1050,'default-sort-order-id':0,"
        "'sort-orders':[{'order-id':0,'fields':[]}],'next-row-id':0,'properties':{},'snapshots':[]}",
        version, older, current, version == 1 ? "'schema':" : "", version == 1 ? current : "", version == 1 ? "," : "",
        partition_fields);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\'')
            ((char *)(uintptr_t)text.data)[i] = '"';
    struct firn_metadata *metadata;
    CHECK_OK(op, firn_metadata_parse(op, text, &metadata));
    return metadata;
}

static const char *const all_fields = "{'source-id':1,'field-id':1000,'name':'i','transform':'identity'},"
                                      "{'source-id':2,'field-id':1001,'name':'l_bucket','transform':'bucket[7]'},"
                                      "{'source-id':3,'field-id':1002,'name':'f','transform':'identity'},"
                                      "{'source-id':4,'field-id':1003,'name':'d','transform':'identity'},"
                                      "{'source-id':5,'field-id':1004,'name':'s.trunc-3','transform':'truncate[3]'},"
                                      "{'source-id':6,'field-id':1005,'name':'b','transform':'identity'},"
                                      "{'source-id':7,'field-id':1006,'name':'u','transform':'identity'},"
                                      "{'source-id':8,'field-id':1007,'name':'x','transform':'identity'},"
                                      "{'source-id':9,'field-id':1008,'name':'n','transform':'identity'},"
                                      "{'source-id':10,'field-id':1009,'name':'dt','transform':'identity'},"
                                      "{'source-id':11,'field-id':1010,'name':'tm','transform':'identity'},"
                                      "{'source-id':12,'field-id':1011,'name':'ts_day','transform':'day'},"
                                      "{'source-id':13,'field-id':1012,'name':'tz','transform':'identity'},"
                                      "{'source-id':14,'field-id':1013,'name':'o','transform':'identity'},"
                                      "{'source-id':15,'field-id':1014,'name':'n2','transform':'identity'},"
                                      "{'source-id':1,'field-id':1015,'name':'gone','transform':'void'}";

/* Writing and reading, in the arena -------------------------------------------------------------------------------- */

struct written {
    struct firn_bytes bytes;
    struct firn_manifest_file row;
};

static struct firn_manifest_writer_config writer_config(const struct firn_metadata *metadata)
{
    return (struct firn_manifest_writer_config){ .metadata = metadata,
                                                 .spec = firn_metadata_spec(metadata, 3),
                                                 .snapshot_id = 500,
                                                 .codec = FIRN_TEXT("gzip"),
                                                 .codec_level = FIRN_CODEC_LEVEL_DEFAULT };
}

static struct written write_manifest(struct firn_op *op, const struct firn_manifest_writer_config *config,
                                     const struct firn_manifest_entry *entries, size_t count)
{
    struct firn_buffer *file = FIRN_NEW(op->arena, struct firn_buffer);
    struct firn_sink sink = firn_sink_to_buffer(file);
    struct firn_manifest_writer *writer;
    struct written out;
    firn_buffer_defer(op->arena, file);
    CHECK_OK(op, firn_manifest_writer_open(op, config, &sink, &writer));
    for (size_t i = 0; i < count; i++)
        CHECK_OK(op, firn_manifest_writer_add(op, writer, &entries[i]));
    CHECK_OK(op, firn_manifest_writer_finish(op, writer, &out.row));
    firn_manifest_writer_close(writer);
    out.bytes = firn_buffer_bytes(file);
    out.row.path = FIRN_TEXT("s3://b/t/metadata/m0.avro");
    assert_int_equal(out.row.length, out.bytes.len);
    return out;
}

static struct firn_bytes write_list(struct firn_op *op, const struct firn_manifest_list_header *header,
                                    struct firn_manifest_file *rows, uint32_t count, int64_t *next_row_id)
{
    struct firn_buffer *file = FIRN_NEW(op->arena, struct firn_buffer);
    struct firn_sink sink = firn_sink_to_buffer(file);
    firn_buffer_defer(op->arena, file);
    CHECK_OK(op, firn_manifest_list_write(op, header, rows, count, &sink, next_row_id));
    return firn_buffer_bytes(file);
}

static struct firn_manifest parse(struct firn_op *op, const struct firn_metadata *metadata, struct firn_bytes bytes,
                                  const struct firn_manifest_file *row)
{
    struct firn_manifest manifest;
    CHECK_OK(op, firn_manifest_parse(op, bytes, row, metadata, (struct firn_manifest_read_options){ 0 }, &manifest));
    return manifest;
}

static struct firn_manifest_entry plain_entry(const char *path, enum firn_entry_status status)
{
    return (struct firn_manifest_entry){ .status = status,
                                         .snapshot_id = 400,
                                         .sequence_number = FIRN_ABSENT,
                                         .file_sequence_number = FIRN_ABSENT,
                                         .file = { .path = firn_text_of(path),
                                                   .format_text = FIRN_TEXT("PARQUET"),
                                                   .record_count = 10,
                                                   .file_bytes = 1000,
                                                   .sort_order_id = FIRN_ABSENT,
                                                   .first_row_id = FIRN_ABSENT,
                                                   .content_offset = FIRN_ABSENT,
                                                   .content_bytes = FIRN_ABSENT } };
}

/* Random entries --------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return *state >> 24;
}

static struct firn_bytes random_bytes(struct firn_op *op, uint64_t *random, size_t len)
{
    uint8_t *bytes = firn_arena_alloc(op->arena, len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)draw(random);
    return (struct firn_bytes){ bytes, len };
}

static void fill_value(struct firn_op *op, uint64_t *random, const struct firn_type *type, struct firn_value *out)
{
    *out = (struct firn_value){ .type = type->id, .is_null = draw(random) % 8 == 0 };
    if (out->is_null)
        return;
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        out->integer = draw(random) % 2;
        return;
    case FIRN_TYPE_INT:
    case FIRN_TYPE_DATE:
        out->integer = (int32_t)draw(random);
        return;
    case FIRN_TYPE_FLOAT:
    case FIRN_TYPE_DOUBLE:
        out->real = draw(random) % 9 == 0 ? (double)NAN : (double)(float)((double)(int32_t)draw(random) / 128);
        return;
    case FIRN_TYPE_DECIMAL:
        out->decimal = (firn_int128)(int64_t)(draw(random) << 20) * (draw(random) % 2 ? 1 : -1);
        return;
    case FIRN_TYPE_STRING:
        out->bytes = firn_bytes_of_text(firn_text_format(op->arena, "%03u", (unsigned)(draw(random) % 1000)));
        return;
    case FIRN_TYPE_UUID:
        out->bytes = random_bytes(op, random, 16);
        return;
    case FIRN_TYPE_FIXED:
        out->bytes = random_bytes(op, random, (size_t)type->length);
        return;
    case FIRN_TYPE_BINARY:
        out->bytes = random_bytes(op, random, draw(random) % 20);
        return;
    default:
        out->integer = (int64_t)draw(random);
        return;
    }
}

static struct firn_count_map random_counts(struct firn_op *op, uint64_t *random)
{
    struct firn_count_map map = { .present = draw(random) % 4 > 0 };
    map.count = map.present ? draw(random) % 6 : 0;
    map.ids = FIRN_NEW_ARRAY(op->arena, int32_t, map.count);
    map.counts = FIRN_NEW_ARRAY(op->arena, int64_t, map.count);
    for (uint32_t i = 0; i < map.count; i++) {
        map.ids[i] = (int32_t)draw(random);
        map.counts[i] = (int64_t)draw(random) - 1000;
    }
    return map;
}

static struct firn_bound_map random_bounds(struct firn_op *op, uint64_t *random)
{
    struct firn_bound_map map = { .present = draw(random) % 4 > 0 };
    map.count = map.present ? draw(random) % 6 : 0;
    map.ids = FIRN_NEW_ARRAY(op->arena, int32_t, map.count);
    map.values = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, map.count);
    for (uint32_t i = 0; i < map.count; i++) {
        map.ids[i] = (int32_t)i;
        map.values[i] = random_bytes(op, random, draw(random) % 30);
    }
    return map;
}

static void fill_delete_members(struct firn_op *op, uint64_t *random, struct firn_data_file *file)
{
    file->content = draw(random) % 2 ? FIRN_CONTENT_EQUALITY_DELETES : FIRN_CONTENT_POSITION_DELETES;
    if (file->content == FIRN_CONTENT_EQUALITY_DELETES) {
        file->equality_id_count = 1 + draw(random) % 3;
        file->equality_ids = FIRN_NEW_ARRAY(op->arena, int32_t, file->equality_id_count);
        for (uint32_t i = 0; i < file->equality_id_count; i++)
            file->equality_ids[i] = (int32_t)(1 + i);
        return;
    }
    file->referenced_data_file = FIRN_TEXT("s3://b/t/data/x.parquet");
    file->format_text = FIRN_TEXT("PUFFIN");
    file->format = FIRN_FILE_PUFFIN;
    file->content_offset = 4;
    file->content_bytes = (int64_t)draw(random);
}

static struct firn_manifest_entry random_entry(struct firn_op *op, uint64_t *random, const struct firn_type *types,
                                               uint32_t type_count, bool is_deletes)
{
    struct firn_manifest_entry entry = plain_entry("", draw(random) % 3);
    struct firn_data_file *file = &entry.file;
    file->path = firn_text_format(op->arena, "s3://b/t/data/%" PRIu64 ".parquet", draw(random));
    file->record_count = (int64_t)draw(random);
    file->file_bytes = (int64_t)draw(random);
    file->partition.count = type_count;
    file->partition.values = FIRN_NEW_ARRAY(op->arena, struct firn_value, type_count);
    for (uint32_t i = 0; i < type_count; i++)
        fill_value(op, random, &types[i], &file->partition.values[i]);
    file->partition.values[type_count - 1].is_null = true; /* the void field */
    file->column_sizes = random_counts(op, random);
    file->value_counts = random_counts(op, random);
    file->null_value_counts = random_counts(op, random);
    file->nan_value_counts = random_counts(op, random);
    file->lower_bounds = random_bounds(op, random);
    file->upper_bounds = random_bounds(op, random);
    if (draw(random) % 2)
        file->key_metadata = random_bytes(op, random, draw(random) % 9);
    file->split_offset_count = draw(random) % 3;
    file->split_offsets = FIRN_NEW_ARRAY(op->arena, int64_t, file->split_offset_count);
    for (uint32_t i = 0; i < file->split_offset_count; i++)
        file->split_offsets[i] = 4 + 100 * (int64_t)i;
    if (draw(random) % 2)
        file->sort_order_id = (int32_t)draw(random);
    if (entry.status != FIRN_ENTRY_ADDED || draw(random) % 2)
        entry.sequence_number = 1 + (int64_t)(draw(random) % 8);
    if (entry.status != FIRN_ENTRY_ADDED)
        entry.file_sequence_number = 1 + (int64_t)(draw(random) % 8);
    if (is_deletes)
        fill_delete_members(op, random, file);
    else if (draw(random) % 2)
        file->first_row_id = (int64_t)draw(random);
    return entry;
}

static void check_inherited(const struct firn_manifest_entry *in, const struct firn_manifest_entry *out, int version,
                            const char *what)
{
    CHECK(out->status == in->status, "%s", what);
    CHECK(out->snapshot_id == (in->status == FIRN_ENTRY_EXISTING ? 400 : 500), "%s", what);
    int64_t data = in->sequence_number == FIRN_ABSENT ? 10 : in->sequence_number;
    int64_t file = in->status == FIRN_ENTRY_ADDED ? 10 : in->file_sequence_number;
    CHECK(out->sequence_number == (version == 1 ? 0 : data), "%s", what);
    CHECK(out->file_sequence_number == (version == 1 ? 0 : file), "%s", what);
}

/* R46: in every codec the same. */
static void random_entries_round_trip(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const codecs[] = { "gzip", "zstd", "snappy", "UNCOMPRESSED", "" };
    enum { COUNT = 300 };
    for (uint64_t seed = 1; seed <= 15; seed++) {
        uint64_t random = seed;
        int version = 1 + (int)(seed % 3);
        struct firn_metadata *metadata = make_table(op, version, all_fields);
        struct firn_manifest_writer_config config = writer_config(metadata);
        struct firn_type *types;
        struct firn_manifest_entry *entries = FIRN_NEW_ARRAY(op->arena, struct firn_manifest_entry, COUNT);
        CHECK_OK(op, firn_partition_types(op, config.spec, firn_metadata_schemas_by_age(op, metadata),
                                          metadata->schema_count, &types));
        config.is_deletes = version > 1 && seed % 2;
        config.codec = firn_text_of(codecs[seed % FIRN_COUNT_OF(codecs)]);
        for (size_t i = 0; i < COUNT; i++)
            entries[i] = random_entry(op, &random, types, config.spec->field_count, config.is_deletes);

        struct written written = write_manifest(op, &config, entries, COUNT);
        written.row.sequence_number = version == 1 ? 0 : 10;
        written.row.first_row_id = version == 3 && !config.is_deletes ? 1000000 : FIRN_ABSENT;
        struct firn_manifest manifest = parse(op, metadata, written.bytes, &written.row);
        assert_int_equal(manifest.count, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            struct firn_text what = firn_text_format(op->arena, "seed %" PRIu64 ", entry %zu", seed, i);
            const struct firn_manifest_entry *out = &manifest.entries[i];
            check_same_file(&entries[i].file, &out->file, what.data);
            check_inherited(&entries[i], out, version, what.data);
            if (version >= 2)
                check_same_file_v2(&entries[i].file, &out->file, what.data);
            if (version >= 3)
                check_same_file_v3(&entries[i].file, &out->file, what.data);
        }
    }
}

/* Sequence numbers ------------------------------------------------------------------------------------------------- */

static void numbers_are_inherited_by_added_entries_only(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = make_table(op, 2, "");
    struct firn_manifest_writer_config config = writer_config(metadata);
    struct firn_manifest_entry entries[] = { plain_entry("fresh", FIRN_ENTRY_ADDED),
                                             plain_entry("pinned", FIRN_ENTRY_ADDED),
                                             plain_entry("kept", FIRN_ENTRY_EXISTING) };
    entries[1].sequence_number = 3;
    entries[1].file_sequence_number = 3; /* is not written */
    entries[2].sequence_number = 4;
    entries[2].file_sequence_number = 5;
    struct written written = write_manifest(op, &config, entries, 3);
    assert_int_equal(written.row.min_sequence_number, 3);
    written.row.sequence_number = 9;
    struct firn_manifest manifest = parse(op, metadata, written.bytes, &written.row);
    static const int64_t numbers[][2] = { { 9, 9 }, { 3, 9 }, { 4, 5 } };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(manifest.entries[i].sequence_number, numbers[i][0]);
        assert_int_equal(manifest.entries[i].file_sequence_number, numbers[i][1]);
    }
    /* before the commit they have none */
    written.row.sequence_number = FIRN_ABSENT;
    manifest = parse(op, metadata, written.bytes, &written.row);
    assert_true(manifest.entries[0].sequence_number == FIRN_ABSENT);

    struct firn_buffer sink_buffer = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&sink_buffer);
    struct firn_manifest_writer *writer;
    CHECK_OK(op, firn_manifest_writer_open(op, &config, &sink, &writer));
    struct firn_manifest_entry bad = plain_entry("bad", FIRN_ENTRY_EXISTING);
    CHECK_STATUS(op, FIRN_CORRUPT, firn_manifest_writer_add(op, writer, &bad));
    firn_manifest_writer_close(writer);
    firn_buffer_done(&sink_buffer);
}

/* A manifest as another writer might leave it: rows given as they are. */
static struct firn_bytes write_raw(struct firn_op *op, const char *version, const struct firn_avro_layout *layout,
                                   const struct firn_manifest_row *rows, size_t count)
{
    struct firn_buffer *file = FIRN_NEW(op->arena, struct firn_buffer);
    struct firn_sink sink = firn_sink_to_buffer(file);
    struct firn_avro_property property = { FIRN_TEXT("format-version"), firn_bytes_of_text(firn_text_of(version)) };
    struct firn_avro_writer_config config = { .layout = layout, .properties = &property, .property_count = 1 };
    struct firn_avro_writer *writer;
    firn_buffer_defer(op->arena, file);
    CHECK_OK(op, firn_avro_writer_open(op, &config, &sink, &writer));
    for (size_t i = 0; i < count; i++)
        CHECK_OK(op, firn_avro_writer_add(op, writer, &rows[i]));
    CHECK_OK(op, firn_avro_writer_finish(op, writer));
    firn_avro_writer_close(writer);
    return firn_buffer_bytes(file);
}

static void a_kept_entry_without_number_is_corrupt(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = make_table(op, 2, "");
    struct firn_avro_layout tuple = { .name = FIRN_TEXT("r102") };
    const struct firn_avro_layout *layout = firn_manifest_layout(op->arena, FIRN_MANIFEST_WRITE_V2, &tuple, true);
    static const enum firn_entry_status statuses[] = { FIRN_ENTRY_EXISTING, FIRN_ENTRY_DELETED };
    for (size_t i = 0; i < 2; i++) {
        struct firn_manifest_row raw = { .entry = plain_entry("kept", statuses[i]) };
        struct firn_manifest_file row = { .spec_id = 3, .sequence_number = 5 };
        struct firn_manifest manifest;
        struct firn_manifest_read_options options = { 0 };
        struct firn_bytes bytes = write_raw(op, "2", layout, &raw, 1);
        CHECK_STATUS(op, FIRN_CORRUPT, firn_manifest_parse(op, bytes, &row, metadata, options, &manifest));
        /* R18: manifests of the time before sequence numbers stand for 0, a real value */
        row.sequence_number = 0;
        CHECK_OK(op, firn_manifest_parse(op, bytes, &row, metadata, options, &manifest));
        assert_int_equal(manifest.entries[0].sequence_number, 0);
        assert_int_equal(manifest.entries[0].file_sequence_number, 0);
    }
}

/* R18: a v1 manifest read, then kept by a v2 commit. */
static void v1_files_keep_the_number_zero(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *v1 = make_table(op, 1, ""), *v2 = make_table(op, 2, "");
    struct firn_manifest_writer_config config = writer_config(v1);
    struct firn_manifest_entry a = plain_entry("a", FIRN_ENTRY_ADDED);
    struct written first = write_manifest(op, &config, &a, 1);
    struct firn_manifest_list_header header = { .format_version = 1, .snapshot_id = 500, .parent_snapshot_id = -1 };
    struct firn_manifest_list list;
    CHECK_OK(op, firn_manifest_list_parse(op, write_list(op, &header, &first.row, 1, NULL), &list));
    assert_int_equal(list.manifests[0].sequence_number, 0);
    struct firn_manifest manifest = parse(op, v2, first.bytes, &list.manifests[0]);
    assert_int_equal(manifest.entries[0].sequence_number, 0);
    assert_int_equal(manifest.entries[0].file_sequence_number, 0);

    config = writer_config(v2);
    manifest.entries[0].status = FIRN_ENTRY_EXISTING;
    struct written second = write_manifest(op, &config, manifest.entries, 1);
    assert_int_equal(second.row.min_sequence_number, 0);
    second.row.sequence_number = 7;
    manifest = parse(op, v2, second.bytes, &second.row);
    assert_int_equal(manifest.entries[0].sequence_number, 0);
    assert_int_equal(manifest.entries[0].file_sequence_number, 0);
}

/* R48 */
static void tombstones_keep_their_numbers(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = make_table(op, 2, "");
    struct firn_manifest_writer_config config = writer_config(metadata);
    struct firn_manifest_entry a = plain_entry("a", FIRN_ENTRY_ADDED);
    struct written first = write_manifest(op, &config, &a, 1);
    first.row.sequence_number = 1;
    struct firn_manifest manifest = parse(op, metadata, first.bytes, &first.row);
    manifest.entries[0].status = FIRN_ENTRY_DELETED;
    config.snapshot_id = 600;
    struct written second = write_manifest(op, &config, manifest.entries, 1);
    assert_true(second.row.min_sequence_number == FIRN_ABSENT);
    assert_int_equal(second.row.deleted_files_count, 1);
    assert_int_equal(second.row.deleted_rows_count, 10);
    second.row.sequence_number = 2;
    manifest = parse(op, metadata, second.bytes, &second.row);
    assert_int_equal(manifest.entries[0].status, FIRN_ENTRY_DELETED);
    assert_int_equal(manifest.entries[0].snapshot_id, 600);
    assert_int_equal(manifest.entries[0].sequence_number, 1);
    assert_int_equal(manifest.entries[0].file_sequence_number, 1);
    struct firn_manifest_read_options live = { .skip_deleted = true };
    CHECK_OK(op, firn_manifest_parse(op, second.bytes, &second.row, metadata, live, &manifest));
    assert_int_equal(manifest.count, 0);
}

/* Row ids ---------------------------------------------------------------------------------------------------------- */

static void row_ids_are_inherited_in_order(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = make_table(op, 3, "");
    struct firn_manifest_writer_config config = writer_config(metadata);
    struct firn_manifest_entry entries[] = {
        plain_entry("a", FIRN_ENTRY_ADDED),   plain_entry("gone", FIRN_ENTRY_DELETED),
        plain_entry("has", FIRN_ENTRY_ADDED), plain_entry("kept", FIRN_ENTRY_EXISTING),
        plain_entry("b", FIRN_ENTRY_ADDED),
    };
    entries[1].sequence_number = entries[1].file_sequence_number = 1;
    entries[3].sequence_number = entries[3].file_sequence_number = 1;
    entries[2].file.first_row_id = 7;
    struct written written = write_manifest(op, &config, entries, FIRN_COUNT_OF(entries));
    written.row.sequence_number = 2;
    written.row.first_row_id = 1000;
    static const int64_t wanted[] = { 1000, FIRN_ABSENT, 7, 1010, 1020 };
    struct firn_manifest manifest = parse(op, metadata, written.bytes, &written.row);
    for (size_t i = 0; i < FIRN_COUNT_OF(wanted); i++)
        CHECK(manifest.entries[i].file.first_row_id == wanted[i], "entry %zu", i);
    /* committed before row lineage: even explicit ids do not count */
    written.row.first_row_id = FIRN_ABSENT;
    manifest = parse(op, metadata, written.bytes, &written.row);
    for (size_t i = 0; i < FIRN_COUNT_OF(wanted); i++)
        CHECK(manifest.entries[i].file.first_row_id == FIRN_ABSENT, "entry %zu", i);
}

static void lists_number_data_manifests(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_manifest_file rows[] = {
        { .path = FIRN_TEXT("new"),
          .spec_id = 3,
          .sequence_number = FIRN_ABSENT,
          .min_sequence_number = FIRN_ABSENT,
          .added_rows_count = 30,
          .existing_rows_count = 12,
          .first_row_id = FIRN_ABSENT },
        { .path = FIRN_TEXT("deletes"),
          .spec_id = 3,
          .is_deletes = true,
          .sequence_number = 4,
          .min_sequence_number = 4,
          .added_rows_count = 5,
          .first_row_id = FIRN_ABSENT },
        { .path = FIRN_TEXT("numbered"),
          .spec_id = 3,
          .sequence_number = 3,
          .min_sequence_number = 1,
          .added_rows_count = 1000,
          .first_row_id = 50 },
        { .path = FIRN_TEXT("old"),
          .spec_id = 3,
          .sequence_number = 2,
          .min_sequence_number = 2,
          .existing_rows_count = 8,
          .first_row_id = FIRN_ABSENT },
    };
    struct firn_manifest_list_header header = {
        .format_version = 3, .snapshot_id = 500, .parent_snapshot_id = 499, .sequence_number = 6, .first_row_id = 200
    };
    struct firn_manifest_list list;
    int64_t next;
    struct firn_bytes bytes = write_list(op, &header, rows, 4, &next);
    assert_int_equal(next, 200 + 42 + 8);
    assert_true(rows[0].sequence_number == FIRN_ABSENT && rows[0].first_row_id == FIRN_ABSENT);
    CHECK_OK(op, firn_manifest_list_parse(op, bytes, &list));
    assert_int_equal(list.count, 4);
    assert_int_equal(list.manifests[0].sequence_number, 6);
    assert_int_equal(list.manifests[0].min_sequence_number, 6);
    assert_int_equal(list.manifests[0].first_row_id, 200);
    assert_true(list.manifests[1].first_row_id == FIRN_ABSENT && list.manifests[1].is_deletes);
    assert_int_equal(list.manifests[2].first_row_id, 50);
    assert_int_equal(list.manifests[2].min_sequence_number, 1);
    assert_int_equal(list.manifests[3].first_row_id, 242);

    struct firn_avro_reader reader;
    CHECK_OK(op, firn_avro_reader_init(op, bytes, &reader));
    static const char *const keys[][2] = { { "snapshot-id", "500" },
                                           { "parent-snapshot-id", "499" },
                                           { "sequence-number", "6" },
                                           { "first-row-id", "200" },
                                           { "format-version", "3" } };
    for (size_t i = 0; i < FIRN_COUNT_OF(keys); i++)
        CHECK(firn_text_is(firn_avro_reader_property(&reader, keys[i][0]), keys[i][1]), "%s", keys[i][0]);
}

/* Counts that v1 leaves out are not zero; v2 cannot leave them out. */
static void unknown_counts_stay_unknown(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_manifest_file row = { .path = FIRN_TEXT("m"),
                                      .spec_id = 3,
                                      .added_snapshot_id = 5,
                                      .added_files_count = FIRN_ABSENT,
                                      .existing_files_count = FIRN_ABSENT,
                                      .deleted_files_count = FIRN_ABSENT,
                                      .added_rows_count = FIRN_ABSENT,
                                      .existing_rows_count = FIRN_ABSENT,
                                      .deleted_rows_count = FIRN_ABSENT,
                                      .first_row_id = FIRN_ABSENT };
    struct firn_manifest_list_header header = { .format_version = 1, .snapshot_id = 5, .parent_snapshot_id = -1 };
    struct firn_manifest_list list;
    struct firn_bytes bytes = write_list(op, &header, &row, 1, NULL);
    CHECK_OK(op, firn_manifest_list_parse(op, bytes, &list));
    assert_true(list.manifests[0].added_files_count == FIRN_ABSENT);
    assert_true(list.manifests[0].deleted_rows_count == FIRN_ABSENT);
    assert_false(list.manifests[0].has_summaries);
    struct firn_avro_reader reader;
    CHECK_OK(op, firn_avro_reader_init(op, bytes, &reader));
    assert_true(firn_text_is(firn_avro_reader_property(&reader, "parent-snapshot-id"), "null"));

    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    header.format_version = 2;
    CHECK_STATUS(op, FIRN_CORRUPT, firn_manifest_list_write(op, &header, &row, 1, &sink, NULL));
    firn_buffer_done(&file);
}

/* A list of v2 needs the counts that one of v1 left out: they come from the manifest. */
static void unknown_counts_are_counted(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = make_table(op, 2, "");
    struct firn_manifest_writer_config config = writer_config(metadata);
    struct firn_manifest_entry entries[] = { plain_entry("a", FIRN_ENTRY_ADDED), plain_entry("b", FIRN_ENTRY_EXISTING),
                                             plain_entry("c", FIRN_ENTRY_ADDED) };
    entries[1].sequence_number = entries[1].file_sequence_number = 1;
    struct written written = write_manifest(op, &config, entries, 3);
    struct firn_manifest_file row = written.row;
    struct firn_store *store;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, firn_store_put(op, store, row.path, false, written.bytes));
    row.sequence_number = row.min_sequence_number = 0;
    row.existing_files_count = row.added_rows_count = FIRN_ABSENT;
    CHECK_OK(op, firn_manifest_count(op, store, metadata, &row));
    assert_int_equal(row.added_files_count, 2);
    assert_int_equal(row.existing_files_count, 1);
    assert_int_equal(row.deleted_files_count, 0);
    assert_int_equal(row.added_rows_count, 20);
    assert_int_equal(row.existing_rows_count, 10);
    row.path = FIRN_TEXT("gone");
    CHECK_OK(op, firn_manifest_count(op, store, metadata, &row)); /* is not opened when all is known */
    row.added_files_count = FIRN_ABSENT;
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_manifest_count(op, store, metadata, &row));
    firn_store_close(store);
}

/* Tuples and summaries --------------------------------------------------------------------------------------------- */

static struct firn_manifest_entry entry_with(const char *path, enum firn_entry_status status, struct firn_value *value)
{
    struct firn_manifest_entry entry = plain_entry(path, status);
    entry.sequence_number = entry.file_sequence_number = 1;
    entry.file.partition = (struct firn_partition){ value, 1 };
    return entry;
}

/* R20: the bounds are of the values that are there, not of memory that was used again. */
static void binary_summaries_are_exact(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata =
        make_table(op, 2, "{'source-id':6,'field-id':1000,'name':'b','transform':'identity'}");
    struct firn_manifest_writer_config config = writer_config(metadata);
    uint8_t memory[8] = { 0xe3, 0xbc, 0xd1 };
    struct firn_value value = { .type = FIRN_TYPE_BINARY, .bytes = { memory, 3 } };
    struct firn_manifest_entry entry = entry_with("a", FIRN_ENTRY_EXISTING, &value);
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_manifest_writer *writer;
    struct firn_manifest_file row;
    CHECK_OK(op, firn_manifest_writer_open(op, &config, &sink, &writer));
    CHECK_OK(op, firn_manifest_writer_add(op, writer, &entry));
    memset(memory, 0, sizeof memory); /* the entry's memory is the caller's again */
    CHECK_OK(op, firn_manifest_writer_finish(op, writer, &row));
    firn_manifest_writer_close(writer);
    firn_buffer_done(&file);
    static const uint8_t wanted[] = { 0xe3, 0xbc, 0xd1 };
    assert_true(same_bytes(row.summaries[0].lower_bound, (struct firn_bytes){ wanted, 3 }));
    assert_true(same_bytes(row.summaries[0].upper_bound, (struct firn_bytes){ wanted, 3 }));
}

static void summaries_leave_out_null_and_nan(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata =
        make_table(op, 2, "{'source-id':3,'field-id':1000,'name':'f','transform':'identity'}");
    struct firn_manifest_writer_config config = writer_config(metadata);
    struct firn_value values[] = { { .type = FIRN_TYPE_FLOAT, .real = 2 },
                                   { .type = FIRN_TYPE_FLOAT, .real = (double)NAN },
                                   { .type = FIRN_TYPE_FLOAT, .is_null = true },
                                   { .type = FIRN_TYPE_FLOAT, .real = -1 } };
    struct firn_manifest_entry entries[4];
    for (size_t i = 0; i < 4; i++) /* entries that were deleted count too */
        entries[i] = entry_with("a", i % 2 ? FIRN_ENTRY_DELETED : FIRN_ENTRY_EXISTING, &values[i]);
    struct written written = write_manifest(op, &config, entries, 4);
    struct firn_manifest_list_header header = { .format_version = 2, .sequence_number = 3, .parent_snapshot_id = -1 };
    struct firn_manifest_list list;
    CHECK_OK(op, firn_manifest_list_parse(op, write_list(op, &header, &written.row, 1, NULL), &list));
    const struct firn_manifest_file *row = &list.manifests[0];
    assert_true(row->has_summaries && row->summary_count == 1);
    const struct firn_field_summary *summary = &row->summaries[0];
    assert_true(summary->contains_null && summary->has_contains_nan && summary->contains_nan);
    assert_true(same_bytes(summary->lower_bound, (struct firn_bytes){ (const uint8_t *)"\0\0\x80\xbf", 4 }));
    assert_true(same_bytes(summary->upper_bound, (struct firn_bytes){ (const uint8_t *)"\0\0\0\x40", 4 }));

    struct firn_manifest_entry none = entry_with("n", FIRN_ENTRY_EXISTING, &values[2]);
    written = write_manifest(op, &config, &none, 1);
    assert_true(written.row.summaries[0].contains_null && !written.row.summaries[0].contains_nan);
    assert_true(written.row.summaries[0].lower_bound.data == NULL);
}

/* R8, R21: a void field keeps its place, and so does one whose source was dropped: positions are the spec's own. */
static void dropped_fields_keep_their_place(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const specs[] = {
        "{'source-id':99,'field-id':1000,'name':'q','transform':'identity'},"
        "{'source-id':5,'field-id':1001,'name':'p','transform':'identity'}",
        "{'source-id':1,'field-id':1000,'name':'q','transform':'void'},"
        "{'source-id':5,'field-id':1001,'name':'p','transform':'identity'}",
    };
    for (int i = 0; i < 4; i++) {
        struct firn_metadata *metadata = make_table(op, 1 + i / 2, specs[i % 2]);
        struct firn_manifest_writer_config config = writer_config(metadata);
        struct firn_value values[] = { { .type = i % 2 ? FIRN_TYPE_INT : FIRN_TYPE_STRING, .is_null = true },
                                       { .type = FIRN_TYPE_STRING, .bytes = { (const uint8_t *)"b", 1 } } };
        struct firn_manifest_entry entry = plain_entry("a", FIRN_ENTRY_ADDED);
        entry.file.partition = (struct firn_partition){ values, 2 };
        struct written written = write_manifest(op, &config, &entry, 1);
        assert_int_equal(written.row.summary_count, 2);
        assert_true(written.row.summaries[0].lower_bound.data == NULL);
        assert_true(same_bytes(written.row.summaries[1].lower_bound, values[1].bytes));
        written.row.sequence_number = 1;
        struct firn_manifest manifest = parse(op, metadata, written.bytes, &written.row);
        assert_true(firn_partition_same(&manifest.entries[0].file.partition, &entry.file.partition));
    }
}

/* Tuples by other and older writers: narrower types, other fixed sizes, plain ints for days, other field order. */
static void foreign_tuples_are_understood(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata =
        make_table(op, 2,
                   "{'source-id':2,'field-id':1000,'name':'l','transform':'identity'},"
                   "{'source-id':4,'field-id':1001,'name':'d','transform':'identity'},"
                   "{'source-id':9,'field-id':1002,'name':'n','transform':'identity'},"
                   "{'source-id':12,'field-id':1003,'name':'ts_day','transform':'day'},"
                   "{'source-id':7,'field-id':1004,'name':'u','transform':'identity'},"
                   "{'source-id':5,'field-id':1005,'name':'odd','transform':'mystery[4]'}");
    static const struct firn_avro_type types[] = {
        { .kind = FIRN_AVRO_INT }, { .kind = FIRN_AVRO_FLOAT },  { .kind = FIRN_AVRO_BYTES },
        { .kind = FIRN_AVRO_INT }, { .kind = FIRN_AVRO_STRING }, { .kind = FIRN_AVRO_LONG },
    };
    struct firn_avro_column columns[6];
    for (size_t i = 0; i < 6; i++) /* the last field first */
        columns[i] = (struct firn_avro_column){ .id = 1005 - (int32_t)i,
                                                .name = FIRN_TEXT("some_name"),
                                                .member = FIRN_AVRO_MEMBER_SCALAR,
                                                .optional = i % 2,
                                                .scalar_type = &types[5 - i],
                                                .offset = offsetof(struct firn_manifest_row, tuple) +
                                                          (5 - i) * sizeof(struct firn_avro_scalar) };
    struct firn_avro_layout tuple = { .name = FIRN_TEXT("r102"), .columns = columns, .column_count = 6 };
    const struct firn_avro_layout *layout = firn_manifest_layout(op->arena, FIRN_MANIFEST_WRITE_V2, &tuple, true);
    struct firn_manifest_row *raw = firn_arena_alloc(op->arena, sizeof *raw + 6 * sizeof(struct firn_avro_scalar));
    raw->entry = plain_entry("a", FIRN_ENTRY_ADDED);
    for (size_t i = 0; i < 6; i++)
        raw->tuple[i].type = &types[i];
    raw->tuple[0].integer = -7;
    raw->tuple[1].real = 1.5;
    raw->tuple[2].bytes = (struct firn_bytes){ (const uint8_t *)"\xff\xfe", 2 };
    raw->tuple[3].integer = 19000;
    raw->tuple[4].bytes = firn_bytes_of_text(FIRN_TEXT("f79c3e09-677c-4bbd-a479-3f349cb785e7"));
    raw->tuple[5].integer = 3;
    struct firn_manifest_file row = { .spec_id = 3, .sequence_number = 5 };
    struct firn_manifest manifest = parse(op, metadata, write_raw(op, "2", layout, raw, 1), &row);
    const struct firn_value *values = manifest.entries[0].file.partition.values;
    assert_true(values[0].type == FIRN_TYPE_LONG && values[0].integer == -7);
    assert_true(values[1].type == FIRN_TYPE_DOUBLE && values[1].real == 1.5);
    assert_true(values[2].type == FIRN_TYPE_DECIMAL && values[2].decimal == -2);
    assert_true(values[3].type == FIRN_TYPE_DATE && values[3].integer == 19000);
    assert_true(values[4].bytes.len == 16 && values[4].bytes.data[0] == 0xf7);
    assert_true(firn_text_is(firn_text_of_bytes(values[5].bytes), "3"));

    raw->tuple[4].bytes = firn_bytes_of_text(FIRN_TEXT("no uuid"));
    CHECK_STATUS(op, FIRN_CORRUPT,
                 firn_manifest_parse(op, write_raw(op, "2", layout, raw, 1), &row, metadata,
                                     (struct firn_manifest_read_options){ 0 }, &manifest));
    row.spec_id = 4;
    CHECK_STATUS(op, FIRN_CORRUPT,
                 firn_manifest_parse(op, write_raw(op, "2", layout, raw, 1), &row, metadata,
                                     (struct firn_manifest_read_options){ 0 }, &manifest));
}

/* The written header ------------------------------------------------------------------------------------------------
 */

static void check_field_ids(const json_t *record, const int *ids, size_t count)
{
    const json_t *fields = json_object_get(record, "fields");
    assert_int_equal(json_array_size(fields), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(fields, i), "field-id")), ids[i]);
}

/* Columns stand in the reference's order, in every version. */
static void headers_are_the_references(void **state)
{
    struct firn_op *op = test_op(state);
    static const int entry_v1[] = { 0, 1, 2 }, entry_v2[] = { 0, 1, 3, 4, 2 };
    static const int file_v1[] = { 100, 101, 102, 103, 104, 105, 108, 109, 110, 137, 125, 128, 131, 132, 140 };
    static const int file_v2[] = {
        134, 100, 101, 102, 103, 104, 108, 109, 110, 137, 125, 128, 131, 132, 135, 140, 143
    };
    static const int file_v3[] = { 134, 100, 101, 102, 103, 104, 108, 109, 110, 137,
                                   125, 128, 131, 132, 135, 140, 142, 143, 144, 145 };
    static const int list_v1[] = { 500, 501, 502, 503, 504, 505, 506, 507, 512, 513, 514, 519 };
    static const int list_v3[] = { 500, 501, 502, 517, 515, 516, 503, 504, 505, 506, 512, 513, 514, 507, 519, 520 };
    static const struct {
        const int *entry, *file, *list;
        size_t entry_count, file_count, list_count;
    } versions[] = {
        { entry_v1, file_v1, list_v1, 3, FIRN_COUNT_OF(file_v1), FIRN_COUNT_OF(list_v1) },
        { entry_v2, file_v2, list_v3, 5, FIRN_COUNT_OF(file_v2), FIRN_COUNT_OF(list_v3) - 1 },
        { entry_v2, file_v3, list_v3, 5, FIRN_COUNT_OF(file_v3), FIRN_COUNT_OF(list_v3) },
    };
    for (int version = 1; version <= 3; version++) {
        struct firn_metadata *metadata = make_table(op, version, "");
        struct firn_manifest_writer_config config = writer_config(metadata);
        struct firn_manifest_entry a = plain_entry("a", FIRN_ENTRY_ADDED);
        struct written written = write_manifest(op, &config, &a, 1);
        struct firn_avro_reader reader;
        CHECK_OK(op, firn_avro_reader_init(op, written.bytes, &reader));
        check_field_ids(reader.schema_json, versions[version - 1].entry, versions[version - 1].entry_count);
        const json_t *fields = json_object_get(reader.schema_json, "fields");
        const json_t *file = json_object_get(json_array_get(fields, json_array_size(fields) - 1), "type");
        check_field_ids(file, versions[version - 1].file, versions[version - 1].file_count);
        assert_true(firn_text_is(firn_avro_reader_property(&reader, "avro.codec"), "deflate"));
        assert_true(firn_text_is(firn_avro_reader_property(&reader, "schema-id"), "1"));
        assert_true(firn_text_is(firn_avro_reader_property(&reader, "partition-spec"), "[]"));
        assert_true(firn_text_is(firn_avro_reader_property(&reader, "partition-spec-id"), "3"));
        assert_true(firn_text_starts(firn_avro_reader_property(&reader, "schema"), FIRN_TEXT("{")));
        struct firn_text content = firn_avro_reader_property(&reader, "content");
        assert_true(version == 1 ? content.data == NULL : firn_text_is(content, "data"));

        struct firn_manifest_list_header header = { .format_version = version, .parent_snapshot_id = -1 };
        CHECK_OK(op, firn_avro_reader_init(op, write_list(op, &header, &written.row, 1, NULL), &reader));
        check_field_ids(reader.schema_json, versions[version - 1].list, versions[version - 1].list_count);
    }
}

static void entries_of_the_other_kind_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_metadata *metadata = make_table(op, 2, "");
    struct firn_manifest_writer_config config = writer_config(metadata);
    struct firn_buffer file = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&file);
    struct firn_manifest_writer *writer;
    struct firn_manifest_entry entry = plain_entry("a", FIRN_ENTRY_ADDED);
    CHECK_OK(op, firn_manifest_writer_open(op, &config, &sink, &writer));
    entry.file.content = FIRN_CONTENT_EQUALITY_DELETES;
    CHECK_STATUS(op, FIRN_CORRUPT, firn_manifest_writer_add(op, writer, &entry));
    entry = plain_entry("a", FIRN_ENTRY_ADDED);
    entry.file.partition.count = 1;
    CHECK_STATUS(op, FIRN_CORRUPT, firn_manifest_writer_add(op, writer, &entry));
    firn_manifest_writer_close(writer);
    config.codec = FIRN_TEXT("lzo");
    CHECK_STATUS(op, FIRN_USAGE, firn_manifest_writer_open(op, &config, &sink, &writer));
    firn_buffer_done(&file);
}

static void split_offsets_must_make_sense(void **state)
{
    (void)state;
    int64_t good[] = { 4, 100 }, equal[] = { 4, 4 }, late[] = { 4, 1000 };
    struct firn_data_file file = { .file_bytes = 1000, .split_offsets = good, .split_offset_count = 2 };
    assert_true(firn_split_offsets_usable(&file));
    file.split_offsets = equal;
    assert_false(firn_split_offsets_usable(&file));
    file.split_offsets = late;
    assert_false(firn_split_offsets_usable(&file));
    file.split_offset_count = 0;
    assert_false(firn_split_offsets_usable(&file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_entries_round_trip),
        TEST(numbers_are_inherited_by_added_entries_only),
        TEST(a_kept_entry_without_number_is_corrupt),
        TEST(v1_files_keep_the_number_zero),
        TEST(tombstones_keep_their_numbers),
        TEST(row_ids_are_inherited_in_order),
        TEST(lists_number_data_manifests),
        TEST(unknown_counts_stay_unknown),
        TEST(unknown_counts_are_counted),
        TEST(binary_summaries_are_exact),
        TEST(summaries_leave_out_null_and_nan),
        TEST(dropped_fields_keep_their_place),
        TEST(foreign_tuples_are_understood),
        TEST(headers_are_the_references),
        TEST(entries_of_the_other_kind_are_refused),
        TEST(split_offsets_must_make_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
