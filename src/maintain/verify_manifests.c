/* Manifests: each can be read, and what its row in the manifest list says of it is so.
 * Iceberg spec, "Manifests", "Manifest Lists". */
#include "base/math.h"
#include "maintain/verify.h"
#include "table/partition_summary.h"
#include "table/scan.h"

static const struct firn_verify_codes codes = { "manifest-missing", "manifest-unreadable", FIRN_SEVERITY_ERROR };

/* What a look at one manifest needs. */
struct looking {
    struct firn_verify *verify;
    const struct firn_manifest_file *row;
    struct firn_findings *found;
};

/* Counts --------------------------------------------------------------------------------------------------------- */

static void check_count(const struct looking *looking, const char *what, int64_t recorded, int64_t counted)
{
    if (recorded != FIRN_ABSENT && recorded != counted)
        firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "manifest-counts", looking->row->path,
                          "the manifest list records %" PRId64 " %s, the manifest has %" PRId64, recorded, what,
                          counted);
}

static void check_counts(const struct looking *looking, const struct firn_manifest *manifest)
{
    const struct firn_manifest_file *row = looking->row;
    struct firn_manifest_file counted;
    firn_manifest_count_entries(manifest, &counted);
    check_count(looking, "added files", row->added_files_count, counted.added_files_count);
    check_count(looking, "existing files", row->existing_files_count, counted.existing_files_count);
    check_count(looking, "deleted files", row->deleted_files_count, counted.deleted_files_count);
    check_count(looking, "added rows", row->added_rows_count, counted.added_rows_count);
    check_count(looking, "existing rows", row->existing_rows_count, counted.existing_rows_count);
    check_count(looking, "deleted rows", row->deleted_rows_count, counted.deleted_rows_count);
}

/* Entries -------------------------------------------------------------------------------------------------------- */

static bool is_live(const struct firn_manifest_entry *entry)
{
    return entry->status != FIRN_ENTRY_DELETED;
}

/* Whoever reads deletes reads delete manifests only, and the other way round. */
static void check_content(const struct looking *looking, const struct firn_manifest_entry *entry)
{
    bool is_delete = entry->file.content != FIRN_CONTENT_DATA;
    if (is_live(entry) && is_delete != looking->row->is_deletes)
        firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "manifest-content", looking->row->path,
                          "a manifest of %s files holds the %s file \"%.*s\"",
                          looking->row->is_deletes ? "delete" : "data", is_delete ? "delete" : "data",
                          FIRN_FMT(entry->file.path));
}

static void check_sequence(const struct looking *looking, const struct firn_manifest_entry *entry)
{
    const struct firn_manifest_file *row = looking->row;
    const struct {
        bool wrong;
        const char *what;
        int64_t number;
        const char *limit_of;
        int64_t limit;
    } rules[] = {
        { entry->sequence_number > row->sequence_number, "data sequence number", entry->sequence_number,
          "its manifest has", row->sequence_number },
        { entry->file_sequence_number > row->sequence_number, "file sequence number", entry->file_sequence_number,
          "its manifest has", row->sequence_number },
        { is_live(entry) && entry->sequence_number < row->min_sequence_number, "data sequence number",
          entry->sequence_number, "the manifest list records as the lowest", row->min_sequence_number },
        { entry->sequence_number < 0, "data sequence number", entry->sequence_number, "the least is", 0 },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(rules); i++)
        if (rules[i].wrong)
            firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "entry-sequence-number", entry->file.path,
                              "the entry in \"%.*s\" has %s %" PRId64 ", %s %" PRId64, FIRN_FMT(row->path),
                              rules[i].what, rules[i].number, rules[i].limit_of, rules[i].limit);
}

static void check_format_version(const struct looking *looking, const struct firn_manifest_entry *entry)
{
    int32_t version = looking->verify->metadata->format_version;
    int32_t least = entry->file.content == FIRN_CONTENT_DATA          ? 1
                    : firn_data_file_is_deletion_vector(&entry->file) ? 3
                                                                      : 2;
    if (is_live(entry) && version < least)
        firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "format-version", entry->file.path,
                          "%s need format version %d, the table has %d",
                          least == 3 ? "deletion vectors" : "delete files", (int)least, (int)version);
}

/* Partitions ----------------------------------------------------------------------------------------------------- */

static void report_summary(struct firn_op *op, const struct looking *looking, const struct firn_partition_field *field,
                           const struct firn_type *type, const char *side, const struct firn_value *recorded,
                           const struct firn_value *real)
{
    firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "manifest-partitions", looking->row->path,
                      "partition field \"%.*s\" has the %s bound %.*s in the manifest list, the manifest has %.*s",
                      FIRN_FMT(field->name), side, FIRN_FMT(firn_value_text(op->arena, type, recorded)),
                      FIRN_FMT(firn_value_text(op->arena, type, real)));
}

/* Pruning by a summary that leaves out a file loses its rows. */
static void compare_summary(struct firn_op *op, const struct looking *looking, const struct firn_partition_field *field,
                            const struct firn_type *type, const struct firn_field_summary *recorded,
                            const struct firn_partition_summary *real)
{
    struct firn_value bound;
    if (real->contains_null && !recorded->contains_null)
        firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "manifest-partitions", looking->row->path,
                          "partition field \"%.*s\" has no null by the manifest list, but has one in the manifest",
                          FIRN_FMT(field->name));
    if (real->contains_nan && recorded->has_contains_nan && !recorded->contains_nan)
        firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "manifest-partitions", looking->row->path,
                          "partition field \"%.*s\" has no NaN by the manifest list, but has one in the manifest",
                          FIRN_FMT(field->name));
    if (!real->has_bounds)
        return;
    if (recorded->lower_bound.data && firn_value_read(type, recorded->lower_bound, &bound) &&
        firn_value_compare(&bound, &real->lower) > 0)
        report_summary(op, looking, field, type, "lower", &bound, &real->lower);
    if (recorded->upper_bound.data && firn_value_read(type, recorded->upper_bound, &bound) &&
        firn_value_compare(&bound, &real->upper) < 0)
        report_summary(op, looking, field, type, "upper", &bound, &real->upper);
}

static firn_status check_field(struct firn_op *op, const struct looking *looking, const struct firn_manifest *manifest,
                               const struct firn_partition_field *field, const struct firn_type *type, uint32_t place)
{
    struct firn_partition_summary real = { 0 };
    firn_status status = FIRN_OK;
    for (uint32_t i = 0; i < manifest->count && status == FIRN_OK; i++)
        if (is_live(&manifest->entries[i]))
            status = firn_partition_summary_add(op, &real, &manifest->entries[i].file.partition.values[place]);
    if (status == FIRN_OK)
        compare_summary(op, looking, field, type, &looking->row->summaries[place], &real);
    firn_partition_summary_done(&real);
    return status;
}

static firn_status check_partitions(struct firn_op *op, const struct looking *looking,
                                    const struct firn_manifest *manifest)
{
    const struct firn_metadata *metadata = looking->verify->metadata;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, manifest->spec_id);
    struct firn_type *types;
    if (!spec || !looking->row->has_summaries)
        return FIRN_OK;
    if (looking->row->summary_count != spec->field_count) {
        firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "manifest-partitions", looking->row->path,
                          "the manifest list sums up %u partition fields, spec %d has %u", looking->row->summary_count,
                          (int)spec->id, spec->field_count);
        return FIRN_OK;
    }
    FIRN_TRY(
        firn_partition_types(op, spec, firn_metadata_schemas_by_age(op, metadata), metadata->schema_count, &types));
    for (uint32_t i = 0; i < spec->field_count; i++)
        FIRN_TRY(check_field(op, looking, manifest, &spec->fields[i], &types[i], i));
    return FIRN_OK;
}

/* The whole manifest --------------------------------------------------------------------------------------------- */

static firn_status visit(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    const struct looking *looking = context;
    check_counts(looking, manifest);
    for (uint32_t i = 0; i < manifest->count; i++) {
        check_content(looking, &manifest->entries[i]);
        check_sequence(looking, &manifest->entries[i]);
        check_format_version(looking, &manifest->entries[i]);
    }
    FIRN_TRY(check_partitions(op, looking, manifest));
    return firn_verify_files(op, looking->verify, manifest, looking->found);
}

static firn_status check_length(struct firn_op *op, const struct looking *looking)
{
    struct firn_store_stat info;
    FIRN_TRY(firn_store_stat(op, looking->verify->store, looking->row->path, &info));
    if (looking->row->length >= 0 && info.size != (uint64_t)looking->row->length)
        firn_findings_add(looking->found, FIRN_SEVERITY_ERROR, "manifest-length", looking->row->path,
                          "the manifest is %" PRIu64 " bytes long, the manifest list records %" PRId64, info.size,
                          looking->row->length);
    return FIRN_OK;
}

static firn_status look_at_manifest(struct firn_op *op, struct firn_verify *verify, size_t index,
                                    struct firn_findings *found, void **result)
{
    const struct firn_verify_manifest *manifest = verify->manifests.entries[index].value.pointer;
    struct looking looking = { verify, &manifest->row, found };
    firn_status status = check_length(op, &looking);
    if (status == FIRN_OK)
        status = firn_manifest_look(op, verify->store, verify->metadata, &manifest->row,
                                    (struct firn_manifest_read_options){ 0 }, visit, &looking);
    *result = status != FIRN_OK ? verify : NULL; /* broken or not */
    firn_progress_group(op, verify->options->progress);
    return firn_verify_failed(op, status, &codes, manifest->row.path, found);
}

static firn_status take_manifest(struct firn_op *op, struct firn_verify *verify, size_t index, void *result)
{
    (void)op;
    struct firn_verify_manifest *manifest = verify->manifests.entries[index].value.pointer;
    if (result)
        manifest->broken = manifest->row.path;
    return FIRN_OK;
}

/* Those of data files: what delete files say of rows is compared with what is found there. */
static firn_status look_at_data_manifest(struct firn_op *op, struct firn_verify *verify, size_t index,
                                         struct firn_findings *found, void **result)
{
    const struct firn_verify_manifest *manifest = verify->manifests.entries[index].value.pointer;
    return manifest->row.is_deletes ? FIRN_OK : look_at_manifest(op, verify, index, found, result);
}

static firn_status look_at_delete_manifest(struct firn_op *op, struct firn_verify *verify, size_t index,
                                           struct firn_findings *found, void **result)
{
    const struct firn_verify_manifest *manifest = verify->manifests.entries[index].value.pointer;
    return manifest->row.is_deletes ? look_at_manifest(op, verify, index, found, result) : FIRN_OK;
}

firn_status firn_verify_manifests(struct firn_op *op, struct firn_verify *verify)
{
    static const struct firn_verify_work data = { look_at_data_manifest, take_manifest };
    static const struct firn_verify_work deletes = { look_at_delete_manifest, take_manifest };
    struct firn_progress *progress = verify->options->progress;
    if (progress) {
        progress->group_noun = "manifests";
        atomic_store(&progress->groups_total, verify->manifests.count);
    }
    FIRN_TRY(firn_verify_each(op, verify, verify->manifests.count, &data));
    return verify->has_deletes ? firn_verify_each(op, verify, verify->manifests.count, &deletes) : FIRN_OK;
}
