/* Reading manifests: decoding, and inheritance from the row in the manifest list.
 * Iceberg spec, "Manifests", "Sequence Number Inheritance", "First Row ID Inheritance". */
#include "base/math.h"
#include "format/avro/rows.h"
#include "table/manifest.h"
#include "table/manifest_columns.h"
#include "table/manifest_tuple.h"

struct reading {
    const struct firn_manifest_file *row; /* NULL: there is none */
    struct firn_manifest_read_options options;
    struct firn_avro_reader reader;
    bool is_v1; /* by the file's own header */
    const struct firn_partition_spec *spec;
    struct firn_type *types;
    int64_t next_row_id; /* FIRN_ABSENT: row ids are not inherited */
    struct firn_manifest_row *scratch;
    size_t scratch_bytes;
};

static const struct firn_manifest_entry nothing = {
    .snapshot_id = FIRN_ABSENT,
    .sequence_number = FIRN_ABSENT,
    .file_sequence_number = FIRN_ABSENT,
    .file = { .sort_order_id = FIRN_ABSENT,
              .first_row_id = FIRN_ABSENT,
              .content_offset = FIRN_ABSENT,
              .content_bytes = FIRN_ABSENT },
};
_Static_assert(FIRN_ABSENT == FIRN_AVRO_ABSENT, "null is the same number in the table and in its files");

/* What the file's header and the table's metadata say ----------------------------------------------------------- */

static int32_t header_number(const struct firn_avro_reader *reader, const char *key)
{
    int64_t number = 0;
    bool good = firn_text_to_i64(firn_avro_reader_property(reader, key), &number);
    return good && number == (int32_t)number ? (int32_t)number : 0;
}

static firn_status find_spec(struct firn_op *op, struct reading *reading, const struct firn_metadata *metadata)
{
    int32_t id = reading->row ? reading->row->spec_id : header_number(&reading->reader, "partition-spec-id");
    reading->spec = firn_metadata_spec(metadata, id);
    if (!reading->spec)
        return firn_fail(op, FIRN_CORRUPT, "the table has no partition spec %d", id);
    return firn_partition_types(op, reading->spec, firn_metadata_schemas_by_age(op, metadata), metadata->schema_count,
                                &reading->types);
}

static const struct firn_avro_layout *read_layout(struct firn_op *op, const struct reading *reading)
{
    struct firn_tuple_place place = { reading->spec, reading->types, offsetof(struct firn_manifest_row, tuple) };
    const struct firn_avro_layout *tuple = firn_tuple_read_layout(op->arena, place);
    return firn_manifest_layout(op->arena, FIRN_MANIFEST_READ, tuple, !reading->options.skip_metrics);
}

/* A manifest that no list gave a first row id was committed before row lineage: whatever its entries say does not
 * count. One that is not committed yet (no sequence number) keeps what its entries say. */
static int64_t first_row_id_of(const struct firn_manifest_file *row)
{
    return row && !row->is_deletes ? row->first_row_id : FIRN_ABSENT;
}

/* One entry ------------------------------------------------------------------------------------------------------ */

static enum firn_file_format format_of(struct firn_text text)
{
    static const char *const names[] = {
        [FIRN_FILE_PARQUET] = "parquet",
        [FIRN_FILE_AVRO] = "avro",
        [FIRN_FILE_ORC] = "orc",
        [FIRN_FILE_PUFFIN] = "puffin",
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++)
        if (firn_text_same_nocase(text, firn_text_of(names[i])))
            return (enum firn_file_format)i;
    return FIRN_FILE_OTHER;
}

static firn_status check_entry(struct firn_op *op, const struct firn_manifest_entry *entry)
{
    const struct firn_data_file *file = &entry->file;
    if ((uint32_t)entry->status > FIRN_ENTRY_DELETED)
        return firn_fail(op, FIRN_CORRUPT, "status %d is none of 0, 1, 2", (int)entry->status);
    if ((uint32_t)file->content > FIRN_CONTENT_EQUALITY_DELETES)
        return firn_fail(op, FIRN_CORRUPT, "content %d is none of 0, 1, 2", (int)file->content);
    if (file->record_count < 0 || file->file_bytes < 0)
        return firn_fail(op, FIRN_CORRUPT, "a file of %" PRId64 " records and %" PRId64 " bytes", file->record_count,
                         file->file_bytes);
    return FIRN_OK;
}

static firn_status read_tuple(struct firn_op *op, const struct reading *reading, struct firn_partition *out)
{
    out->count = reading->spec->field_count;
    out->values = FIRN_NEW_ARRAY(op->arena, struct firn_value, out->count);
    for (uint32_t i = 0; i < out->count; i++)
        FIRN_TRY(firn_context(op,
                              firn_tuple_value(op, &reading->types[i], &reading->scratch->tuple[i], &out->values[i]),
                              "partition field \"%.*s\"", FIRN_FMT(reading->spec->fields[i].name)));
    return FIRN_OK;
}

/* Only what this commit added may leave its number to the list; in v1 there were none, and 0 stands for all. */
static firn_status inherit_number(struct firn_op *op, const struct reading *reading,
                                  const struct firn_manifest_entry *entry, int64_t *number)
{
    int64_t inherited = reading->row ? reading->row->sequence_number : 0;
    if (reading->is_v1)
        *number = 0;
    if (*number != FIRN_ABSENT)
        return FIRN_OK;
    if (entry->status != FIRN_ENTRY_ADDED && inherited != 0)
        return firn_fail(op, FIRN_CORRUPT, "an entry that was not added by this manifest has no sequence number");
    *number = inherited;
    return FIRN_OK;
}

static firn_status inherit_row_id(struct firn_op *op, struct reading *reading, struct firn_manifest_entry *entry)
{
    bool committed = !reading->row || reading->row->sequence_number != FIRN_ABSENT;
    if (reading->next_row_id == FIRN_ABSENT) {
        if (committed)
            entry->file.first_row_id = FIRN_ABSENT;
        return FIRN_OK;
    }
    if (entry->status == FIRN_ENTRY_DELETED || entry->file.first_row_id != FIRN_ABSENT)
        return FIRN_OK;
    entry->file.first_row_id = reading->next_row_id;
    if (__builtin_add_overflow(reading->next_row_id, entry->file.record_count, &reading->next_row_id))
        return firn_fail(op, FIRN_CORRUPT, "row ids run past 64 bits");
    return FIRN_OK;
}

static firn_status finish_entry(struct firn_op *op, struct reading *reading, struct firn_manifest_entry *entry)
{
    struct firn_data_file *file = &entry->file;
    FIRN_TRY(check_entry(op, entry));
    FIRN_TRY(read_tuple(op, reading, &file->partition));
    file->spec_id = reading->spec->id;
    file->format = format_of(file->format_text);
    if (file->split_offset_count == 0)
        file->split_offsets = NULL;
    if (file->equality_id_count == 0)
        file->equality_ids = NULL;
    if (entry->snapshot_id == FIRN_ABSENT)
        entry->snapshot_id = reading->row ? reading->row->added_snapshot_id : FIRN_NO_SNAPSHOT;
    FIRN_TRY(inherit_number(op, reading, entry, &entry->sequence_number));
    FIRN_TRY(inherit_number(op, reading, entry, &entry->file_sequence_number));
    return inherit_row_id(op, reading, entry);
}

/* The whole file -------------------------------------------------------------------------------------------------- */

static firn_status read_entry(struct firn_op *op, struct reading *reading, struct firn_avro_rows *rows, bool *got)
{
    struct firn_manifest_entry *entry = &reading->scratch->entry;
    memset(reading->scratch, 0, reading->scratch_bytes);
    *entry = nothing;
    FIRN_TRY(firn_avro_rows_next(op, rows, reading->scratch, got));
    if (!*got)
        return FIRN_OK;
    return firn_context(op, finish_entry(op, reading, entry), "entry of \"%.*s\"", FIRN_FMT(entry->file.path));
}

static firn_status read_entries(struct firn_op *op, struct reading *reading, struct firn_buffer *entries)
{
    struct firn_avro_rows rows;
    bool got;
    FIRN_TRY(firn_avro_rows_init(op, &reading->reader, read_layout(op, reading), reading->options.skip_metrics, &rows));
    for (;;) {
        FIRN_TRY(read_entry(op, reading, &rows, &got));
        if (!got)
            break;
        const struct firn_manifest_entry *entry = &reading->scratch->entry;
        if (entry->status != FIRN_ENTRY_DELETED || !reading->options.skip_deleted)
            FIRN_TRY(firn_buffer_append(op, entries, entry, sizeof *entry));
    }
    firn_avro_rows_done(&rows);
    return FIRN_OK;
}

firn_status firn_manifest_parse(struct firn_op *op, struct firn_bytes bytes, const struct firn_manifest_file *row,
                                const struct firn_metadata *metadata, struct firn_manifest_read_options options,
                                struct firn_manifest *out)
{
    struct reading reading = { .row = row, .options = options, .next_row_id = first_row_id_of(row) };
    FIRN_TRY(firn_avro_reader_init(op, bytes, &reading.reader));
    FIRN_TRY(find_spec(op, &reading, metadata));
    reading.is_v1 = header_number(&reading.reader, "format-version") == 1;
    reading.scratch_bytes = sizeof *reading.scratch + reading.spec->field_count * sizeof(struct firn_avro_scalar);
    reading.scratch = firn_arena_alloc(op->arena, reading.scratch_bytes);

    struct firn_buffer *entries = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, entries);
    FIRN_TRY(read_entries(op, &reading, entries));
    *out = (struct firn_manifest){ .spec_id = reading.spec->id,
                                   .entries = (struct firn_manifest_entry *)(void *)entries->data,
                                   .count = (uint32_t)(entries->len / sizeof(struct firn_manifest_entry)) };
    return FIRN_OK;
}
