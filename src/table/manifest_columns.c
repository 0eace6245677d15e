/* Manifest and manifest list fields as tables. Iceberg spec, "Manifests", "Manifest Lists". */
#include "table/manifest_columns.h"

#include "base/math.h"

#include <assert.h>

/* A field, and for each use ('read', v1, v2, v3) whether it is required, optional or not there. */
struct column {
    char use[FIRN_MANIFEST_USE_COUNT + 1]; /* of 'r', 'o', '-' */
    bool is_metric;
    struct firn_avro_column as;
};

#define ENTRY(member_)   offsetof(struct firn_manifest_row, entry.member_)
#define FILE_(member_)   offsetof(struct firn_manifest_row, entry.file.member_)
#define LISTED(member_)  offsetof(struct firn_manifest_file, member_)
#define SUMMARY(member_) offsetof(struct firn_field_summary, member_)

#define FIELD(id_, name_, kind, offset_)                                                                               \
    .as.id = (id_), .as.name = FIRN_TEXT_INIT(name_), .as.member = FIRN_AVRO_MEMBER_##kind, .as.offset = (offset_)
#define COUNTS(id_, key, value, name_)                                                                                 \
    FIELD(id_, #name_, I64_MAP, FILE_(name_.ids)),                                                                     \
        .is_metric = true, .as.values_offset = FILE_(name_.counts), .as.count_offset = FILE_(name_.count),             \
        .as.present_offset = FILE_(name_.present), .as.key_id = (key), .as.value_id = (value)
#define BOUNDS(id_, key, value, name_)                                                                                 \
    FIELD(id_, #name_, BYTES_MAP, FILE_(name_.ids)),                                                                   \
        .is_metric = true, .as.values_offset = FILE_(name_.values), .as.count_offset = FILE_(name_.count),             \
        .as.present_offset = FILE_(name_.present), .as.key_id = (key), .as.value_id = (value)

static const struct column entry_columns[] = {
    { "rrrr", FIELD(0, "status", I32, ENTRY(status)) },
    { "oroo", FIELD(1, "snapshot_id", I64, ENTRY(snapshot_id)) },
    { "o-oo", FIELD(3, "sequence_number", I64, ENTRY(sequence_number)) },
    { "o-oo", FIELD(4, "file_sequence_number", I64, ENTRY(file_sequence_number)) },
    { "rrrr", FIELD(2, "data_file", RECORD, 0) },
};

static const struct column file_columns[] = {
    { "o-rr", FIELD(134, "content", I32, FILE_(content)) },
    { "rrrr", FIELD(100, "file_path", TEXT, FILE_(path)) },
    { "rrrr", FIELD(101, "file_format", TEXT, FILE_(format_text)) },
    { "orrr", FIELD(102, "partition", RECORD, 0) },
    { "rrrr", FIELD(103, "record_count", I64, FILE_(record_count)) },
    { "rrrr", FIELD(104, "file_size_in_bytes", I64, FILE_(file_bytes)) },
    { "-r--", FIELD(105, "block_size_in_bytes", I64, offsetof(struct firn_manifest_row, block_bytes)) },
    { "oooo", COUNTS(108, 117, 118, column_sizes) },
    { "oooo", COUNTS(109, 119, 120, value_counts) },
    { "oooo", COUNTS(110, 121, 122, null_value_counts) },
    { "oooo", COUNTS(137, 138, 139, nan_value_counts) },
    { "oooo", BOUNDS(125, 126, 127, lower_bounds) },
    { "oooo", BOUNDS(128, 129, 130, upper_bounds) },
    { "oooo", FIELD(131, "key_metadata", BYTES, FILE_(key_metadata)) },
    { "oooo", FIELD(132, "split_offsets", I64_LIST, FILE_(split_offsets)), .as.count_offset = FILE_(split_offset_count),
      .as.element_id = 133 },
    { "o-oo", FIELD(135, "equality_ids", I32_LIST, FILE_(equality_ids)), .as.count_offset = FILE_(equality_id_count),
      .as.element_id = 136 },
    { "oooo", FIELD(140, "sort_order_id", I64_INT, FILE_(sort_order_id)) },
    { "o--o", FIELD(142, "first_row_id", I64, FILE_(first_row_id)) },
    { "o-oo", FIELD(143, "referenced_data_file", TEXT, FILE_(referenced_data_file)) },
    { "o--o", FIELD(144, "content_offset", I64, FILE_(content_offset)) },
    { "o--o", FIELD(145, "content_size_in_bytes", I64, FILE_(content_bytes)) },
};

static const struct firn_avro_column summary_columns[] = {
    { .id = 509,
      .name = FIRN_TEXT_INIT("contains_null"),
      .member = FIRN_AVRO_MEMBER_BOOL,
      .offset = SUMMARY(contains_null) },
    { .id = 518,
      .name = FIRN_TEXT_INIT("contains_nan"),
      .member = FIRN_AVRO_MEMBER_BOOL,
      .optional = true,
      .offset = SUMMARY(contains_nan),
      .present_offset = SUMMARY(has_contains_nan) },
    { .id = 510,
      .name = FIRN_TEXT_INIT("lower_bound"),
      .member = FIRN_AVRO_MEMBER_BYTES,
      .optional = true,
      .offset = SUMMARY(lower_bound) },
    { .id = 511,
      .name = FIRN_TEXT_INIT("upper_bound"),
      .member = FIRN_AVRO_MEMBER_BYTES,
      .optional = true,
      .offset = SUMMARY(upper_bound) },
};
static const struct firn_avro_layout summary_layout = {
    .name = FIRN_TEXT_INIT("r508"),
    .item_bytes = sizeof(struct firn_field_summary),
    .columns = summary_columns,
    .column_count = FIRN_COUNT_OF(summary_columns),
};

#define SUMMARIES                                                                                                      \
    FIELD(507, "partitions", RECORD_LIST, LISTED(summaries)), .as.count_offset = LISTED(summary_count),                \
                                                              .as.present_offset = LISTED(has_summaries),              \
                                                              .as.record = &summary_layout, .as.element_id = 508

/* `partitions` stands twice: v1 writes it before the row counts, later versions after. */
static const struct column list_columns[] = {
    { "rrrr", FIELD(500, "manifest_path", TEXT, LISTED(path)) },
    { "rrrr", FIELD(501, "manifest_length", I64, LISTED(length)) },
    { "rrrr", FIELD(502, "partition_spec_id", I32, LISTED(spec_id)) },
    { "o-rr", FIELD(517, "content", FLAG, LISTED(is_deletes)) },
    { "o-rr", FIELD(515, "sequence_number", I64, LISTED(sequence_number)) },
    { "o-rr", FIELD(516, "min_sequence_number", I64, LISTED(min_sequence_number)) },
    { "orrr", FIELD(503, "added_snapshot_id", I64, LISTED(added_snapshot_id)) },
    { "oorr", FIELD(504, "added_files_count", I64_INT, LISTED(added_files_count)) },
    { "oorr", FIELD(505, "existing_files_count", I64_INT, LISTED(existing_files_count)) },
    { "oorr", FIELD(506, "deleted_files_count", I64_INT, LISTED(deleted_files_count)) },
    { "oo--", SUMMARIES },
    { "oorr", FIELD(512, "added_rows_count", I64, LISTED(added_rows_count)) },
    { "oorr", FIELD(513, "existing_rows_count", I64, LISTED(existing_rows_count)) },
    { "oorr", FIELD(514, "deleted_rows_count", I64, LISTED(deleted_rows_count)) },
    { "--oo", SUMMARIES },
    { "oooo", FIELD(519, "key_metadata", BYTES, LISTED(key_metadata)) },
    { "o--o", FIELD(520, "first_row_id", I64, LISTED(first_row_id)) },
};

enum firn_manifest_use firn_manifest_write_use(int32_t format_version)
{
    assert(format_version >= 1 && format_version <= FIRN_FORMAT_VERSION_MAX);
    return (enum firn_manifest_use)format_version;
}
_Static_assert(FIRN_MANIFEST_WRITE_V1 == 1 && FIRN_MANIFEST_WRITE_V3 == FIRN_FORMAT_VERSION_MAX,
               "a version's use is its number");

/* The columns that one use has, in their order. */
struct selection {
    enum firn_manifest_use use;
    const struct column *columns;
    size_t count;
    bool with_metrics;
    const struct firn_avro_layout *record; /* of the one record column among them */
};

static const struct firn_avro_layout *select_columns(struct firn_arena *arena, struct firn_text name,
                                                     struct selection selection)
{
    struct firn_avro_column *selected = FIRN_NEW_ARRAY(arena, struct firn_avro_column, selection.count);
    uint32_t count = 0;
    for (size_t i = 0; i < selection.count; i++) {
        const struct column *column = &selection.columns[i];
        char use = column->use[selection.use];
        if (use == '-' || (column->is_metric && !selection.with_metrics))
            continue;
        selected[count] = column->as;
        if (column->as.member == FIRN_AVRO_MEMBER_RECORD)
            selected[count].record = selection.record;
        selected[count++].optional = use == 'o';
    }
    struct firn_avro_layout *layout = FIRN_NEW(arena, struct firn_avro_layout);
    *layout = (struct firn_avro_layout){ .name = name, .columns = selected, .column_count = count };
    return layout;
}

const struct firn_avro_layout *firn_manifest_layout(struct firn_arena *arena, enum firn_manifest_use use,
                                                    const struct firn_avro_layout *tuple, bool with_metrics)
{
    struct selection files = { use, file_columns, FIRN_COUNT_OF(file_columns), with_metrics, tuple };
    const struct firn_avro_layout *file = select_columns(arena, FIRN_TEXT("r2"), files);
    struct selection entries = { use, entry_columns, FIRN_COUNT_OF(entry_columns), with_metrics, file };
    return select_columns(arena, FIRN_TEXT("manifest_entry"), entries);
}

const struct firn_avro_layout *firn_manifest_list_layout(struct firn_arena *arena, enum firn_manifest_use use)
{
    struct selection rows = { use, list_columns, FIRN_COUNT_OF(list_columns), true, NULL };
    return select_columns(arena, FIRN_TEXT("manifest_file"), rows);
}
