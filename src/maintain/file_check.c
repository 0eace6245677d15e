/* One file against its entry: what its format does not matter for, then the check of its format. */
#include "maintain/file_check.h"

#include "maintain/file_check_parts.h"
#include "rewrite/output_schema.h"
#include "table/delete_index.h"

struct firn_hash128 firn_row_count_key(struct firn_text location)
{
    return firn_hash128(firn_bytes_of_text(firn_delete_path_bare(location)), 0);
}

/* Columns that every table has without a schema saying so. Iceberg spec, "Reserved Field IDs". */
static const struct firn_field reserved_fields[] = {
    { FIRN_FIELD_ID_DELETE_FILE_PATH, .name = FIRN_TEXT_INIT("file_path"), .type = { .id = FIRN_TYPE_STRING } },
    { FIRN_FIELD_ID_DELETE_FILE_POS, .name = FIRN_TEXT_INIT("pos"), .type = { .id = FIRN_TYPE_LONG } },
    { FIRN_FIELD_ID_ROW_ID, .name = FIRN_TEXT_INIT("_row_id"), .type = { .id = FIRN_TYPE_LONG } },
    { FIRN_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = FIRN_TEXT_INIT("_last_updated_sequence_number"),
      .type = { .id = FIRN_TYPE_LONG } },
};

firn_status firn_check_failed(struct firn_op *op, struct firn_checked *checked, firn_status status, const char *code)
{
    if (status == FIRN_OK || status == FIRN_CANCELLED || status == FIRN_LIMIT)
        return status;
    if (status == FIRN_UNSUPPORTED)
        firn_findings_add(checked->found, FIRN_SEVERITY_NOTICE, "file-unchecked", checked->file->path, "%s",
                          op->error.text);
    else
        FIRN_CHECK_ERROR(checked, code, "%s", op->error.text);
    return FIRN_OK;
}

const struct firn_field *firn_check_field(const struct firn_checked *checked, int32_t id)
{
    for (size_t i = 0; i < sizeof reserved_fields / sizeof *reserved_fields; i++)
        if (reserved_fields[i].id == id)
            return &reserved_fields[i];
    for (size_t i = 0; i < checked->ids.schema_count; i++) {
        const struct firn_field *field = firn_schema_field(checked->ids.schemas[i], id);
        if (field)
            return field;
    }
    return NULL;
}

bool firn_check_is_constant(const struct firn_checked *checked, int32_t field_id)
{
    return checked->spec && firn_partition_identity_value(checked->spec, &checked->file->partition, field_id);
}

/* The entry alone -------------------------------------------------------------------------------------------------- */

static void check_sort_order(struct firn_checked *checked)
{
    int64_t id = checked->file->sort_order_id;
    if (id == FIRN_ABSENT || id == 0) /* 0 is unsorted, whether it is listed or not */
        return;
    if (id < 0 || id > INT32_MAX || !firn_metadata_sort_order(checked->what->metadata, (int32_t)id))
        FIRN_CHECK_WARNING(checked, "sort-order",
                           "it is recorded as sorted by order %" PRId64 ", which the table lacks", id);
}

static void check_row_ids(struct firn_checked *checked)
{
    const struct firn_data_file *file = checked->file;
    int64_t next = checked->what->metadata->next_row_id;
    if (file->content != FIRN_CONTENT_DATA || file->first_row_id == FIRN_ABSENT ||
        checked->what->metadata->format_version < 3)
        return;
    if (file->first_row_id < 0 || file->first_row_id > next || file->record_count > next - file->first_row_id)
        FIRN_CHECK_ERROR(checked, "first-row-id",
                         "its %" PRId64 " rows have ids from %" PRId64 " on, the table gave out those below %" PRId64,
                         file->record_count, file->first_row_id, next);
}

static void check_equality_ids(struct firn_checked *checked)
{
    const struct firn_data_file *file = checked->file;
    if (file->content != FIRN_CONTENT_EQUALITY_DELETES)
        return;
    if (file->equality_id_count == 0)
        FIRN_CHECK_ERROR(checked, "equality-ids", "its entry names no equality ids");
    for (uint32_t i = 0; i < file->equality_id_count; i++)
        if (!firn_check_field(checked, file->equality_ids[i]))
            FIRN_CHECK_ERROR(checked, "equality-ids", "equality id %d is in no schema of the table",
                             file->equality_ids[i]);
}

/* The object ------------------------------------------------------------------------------------------------------- */

static const char *magic_of(enum firn_file_format format)
{
    return format == FIRN_FILE_AVRO ? "Obj\x01" : format == FIRN_FILE_ORC ? "ORC" : NULL;
}

/* Formats that begin with a magic and have no footer that firn reads. */
static firn_status check_magic(struct firn_op *op, struct firn_checked *checked, bool *sound)
{
    const char *magic = magic_of(checked->file->format);
    uint8_t begin[4] = { 0 };
    *sound = true;
    if (!magic)
        return FIRN_OK;
    size_t len = strlen(magic);
    *sound = firn_object_size(checked->object) >= len;
    if (*sound) {
        firn_status status = firn_object_read(op, checked->object, 0, len, begin);
        if (status != FIRN_OK) {
            *sound = false;
            return firn_check_failed(op, checked, status, "file-unreadable");
        }
        *sound = memcmp(begin, magic, len) == 0;
    }
    if (!*sound)
        FIRN_CHECK_ERROR(checked, "file-unreadable", "it does not begin as a file of format %.*s does",
                         FIRN_FMT(checked->file->format_text));
    return FIRN_OK;
}

static firn_status check_format(struct firn_op *op, struct firn_checked *checked)
{
    const struct firn_data_file *file = checked->file;
    bool sound;
    if (file->key_metadata.len > 0)
        return firn_check_failed(op, checked,
                                 firn_fail(op, FIRN_UNSUPPORTED, "it has key metadata: firn does not decrypt"),
                                 "file-unreadable");
    FIRN_TRY(check_magic(op, checked, &sound));
    if (!sound)
        return FIRN_OK;
    switch (file->format) {
    case FIRN_FILE_PARQUET:
        return firn_check_parquet(op, checked);
    case FIRN_FILE_AVRO:
        return checked->what->deep ? firn_check_avro(op, checked) : FIRN_OK;
    case FIRN_FILE_PUFFIN:
        if (firn_data_file_is_deletion_vector(file))
            return firn_check_deletion_vector(op, checked);
        break;
    default:
        break;
    }
    return firn_check_failed(
        op, checked,
        firn_fail(op, FIRN_UNSUPPORTED, "firn does not look into files of format %.*s", FIRN_FMT(file->format_text)),
        "file-unreadable");
}

static firn_status check_object(struct firn_op *op, struct firn_checked *checked)
{
    const struct firn_data_file *file = checked->file;
    firn_status status = firn_object_open(op, checked->what->store, file->path, &checked->object);
    if (status == FIRN_NOT_FOUND) {
        FIRN_CHECK_ERROR(checked, "file-missing", "there is no such object");
        return FIRN_OK;
    }
    if (status != FIRN_OK)
        return firn_check_failed(op, checked, status, "file-unreadable");
    uint64_t size = firn_object_size(checked->object);
    if (file->file_bytes < 0 || (uint64_t)file->file_bytes != size)
        FIRN_CHECK_ERROR(checked, "file-length", "it has %" PRIu64 " bytes, its entry records %" PRId64, size,
                         file->file_bytes);
    status = check_format(op, checked);
    firn_object_close(checked->object);
    return status;
}

static firn_status check_file(struct firn_op *op, struct firn_checked *checked)
{
    firn_status status = firn_id_sources_new(op, checked->what->metadata, &checked->ids);
    if (status != FIRN_OK) { /* a name mapping that does not parse is the table's fault, not this file's */
        checked->ids.mapping = NULL;
        status = FIRN_OK;
    }
    check_sort_order(checked);
    check_row_ids(checked);
    check_equality_ids(checked);
    return check_object(op, checked);
}

firn_status firn_file_check(struct firn_op *op, const struct firn_file_check *what, struct firn_findings *found)
{
    const struct firn_data_file *file = &what->entry->file;
    struct firn_checked checked = {
        .what = what,
        .file = file,
        .found = found,
        .spec = firn_metadata_spec(what->metadata, file->spec_id),
    };
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    firn_status status = check_file(op, &checked);
    firn_scratch_end(op, &scratch);
    return firn_context(op, status, "file %.*s", FIRN_FMT(file->path));
}
