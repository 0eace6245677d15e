/* What manifest lists tell: manifests, all_manifests. Lists are read in parallel, a few ahead.
 * Reference: format-notes.md, 18. */
#include "base/math.h"
#include "sql/json_out.h"
#include "sql/metadata_table.h"
#include "table/scan.h"

/* Lists that are held at a time. */
enum { LISTS_MAX = 16 };

enum {
    MANIFEST_CONTENT,
    MANIFEST_PATH,
    MANIFEST_LENGTH,
    MANIFEST_SPEC,
    MANIFEST_SNAPSHOT,
    MANIFEST_COUNTS, /* six of them: of data files, then of delete files */
    MANIFEST_SUMMARIES = MANIFEST_COUNTS + 6,
    MANIFEST_REFERENCE
};

static const struct firn_metadata_column_fact facts[] = {
    { "content", "int" },
    { "path", "string" },
    { "length", "bigint" },
    { "partition_spec_id", "int" },
    { "added_snapshot_id", "bigint" },
    { "added_data_files_count", "int" },
    { "existing_data_files_count", "int" },
    { "deleted_data_files_count", "int" },
    { "added_delete_files_count", "int" },
    { "existing_delete_files_count", "int" },
    { "deleted_delete_files_count", "int" },
    { "partition_summaries",
      "array<struct<contains_null:boolean,contains_nan:boolean,lower_bound:string,upper_bound:string>>" },
    { "reference_snapshot_id", "bigint" },
};

/* As older releases and other engines call them. */
static const struct firn_metadata_alias aliases[] = {
    { "manifest_path", MANIFEST_PATH },
    { "length_in_bytes", MANIFEST_LENGTH },
};

struct walk {
    const struct firn_metadata_view *view;
    const struct firn_metadata_request *request;
    const struct firn_snapshot **snapshots; /* whose lists are wanted */
    uint32_t snapshot_count;
    uint32_t done; /* snapshots whose rows were given or are in `lists` */
    struct firn_manifest_list lists[LISTS_MAX];
    uint32_t first, list_count, list; /* of what `lists` holds: the first's snapshot, how many, and the current one */
    uint32_t next;                    /* row of the current list after the current one */
    struct firn_type **spec_types;    /* one a spec of the metadata */
    struct firn_arena arena;          /* of `lists` */
};

/* Columns ---------------------------------------------------------------------------------------------------------- */

static firn_status columns_of(struct firn_op *op, uint32_t count, struct firn_metadata_columns *out)
{
    struct firn_metadata_column *items = FIRN_NEW_ARRAY(op->arena, struct firn_metadata_column, count);
    firn_metadata_columns_of(facts, count, items);
    *out = (struct firn_metadata_columns){ items, count };
    return FIRN_OK;
}

static firn_status current_columns(struct firn_op *op, const struct firn_metadata_view *view,
                                   struct firn_metadata_columns *out)
{
    (void)view;
    return columns_of(op, MANIFEST_REFERENCE, out);
}

static firn_status all_columns(struct firn_op *op, const struct firn_metadata_view *view,
                               struct firn_metadata_columns *out)
{
    (void)view;
    return columns_of(op, FIRN_COUNT_OF(facts), out);
}

/* Walking ---------------------------------------------------------------------------------------------------------- */

/* The current snapshot, or those that the conditions on reference_snapshot_id leave. */
static void choose_snapshots(struct firn_op *op, const struct firn_metadata_table *kind, struct walk *walk)
{
    const struct firn_metadata *metadata = walk->view->table->metadata;
    struct firn_metadata_path reference = { { MANIFEST_REFERENCE }, 1 };
    bool all = kind == &firn_all_manifests_table;
    walk->snapshots = FIRN_NEW_ARRAY(op->arena, const struct firn_snapshot *, metadata->snapshot_count + 1);
    if (!all && walk->view->snapshot)
        walk->snapshots[walk->snapshot_count++] = walk->view->snapshot;
    for (uint32_t i = 0; all && i < metadata->snapshot_count; i++)
        if (firn_metadata_filter_i64(walk->request, reference, metadata->snapshots[i].id))
            walk->snapshots[walk->snapshot_count++] = &metadata->snapshots[i];
}

static firn_status open_walk(struct firn_op *op, const struct firn_metadata_table *kind,
                             const struct firn_metadata_view *view, const struct firn_metadata_request *request,
                             void **cursor)
{
    struct walk *walk = FIRN_NEW(op->arena, struct walk);
    walk->view = view;
    walk->request = request;
    choose_snapshots(op, kind, walk);
    FIRN_TRY(firn_spec_types_new(op, view->table->metadata, &walk->spec_types));
    firn_arena_init(&walk->arena);
    *cursor = walk;
    return FIRN_OK;
}

static void close_walk(void *cursor)
{
    struct walk *walk = cursor;
    firn_arena_done(&walk->arena);
}

static firn_status read_list(struct firn_op *op, void *context, size_t index)
{
    struct walk *walk = context;
    const struct firn_snapshot *snapshot = walk->snapshots[walk->first + index];
    return firn_snapshot_manifests(op, walk->view->table->store, walk->view->table->metadata, snapshot,
                                   &walk->lists[index]);
}

static firn_status read_lists(struct firn_op *op, struct walk *walk)
{
    struct firn_arena *results = op->arena;
    firn_arena_reset(&walk->arena);
    walk->first = walk->done;
    walk->list_count = FIRN_MIN(walk->snapshot_count - walk->done, (uint32_t)LISTS_MAX);
    walk->done += walk->list_count;
    walk->list = walk->next = 0;
    op->arena = &walk->arena;
    firn_status status = firn_pool_run(op, walk->view->pool, walk->list_count, 0, read_list, walk);
    op->arena = results;
    return status;
}

static firn_status next_manifest(struct firn_op *op, void *cursor, bool *got)
{
    struct walk *walk = cursor;
    for (;;) {
        if (walk->list < walk->list_count && walk->next < walk->lists[walk->list].count) {
            walk->next++;
            *got = true;
            return FIRN_OK;
        }
        walk->list++;
        walk->next = 0;
        if (walk->list < walk->list_count)
            continue;
        *got = false;
        if (walk->done == walk->snapshot_count)
            return FIRN_OK;
        FIRN_TRY(read_lists(op, walk));
    }
}

/* Cells ------------------------------------------------------------------------------------------------------------ */

/* A bound that is missing, as that of nulls alone, is the text "null", as in Spark. */
static firn_status write_bound(struct firn_json_out *json, const struct firn_transform *transform,
                               const struct firn_type *type, struct firn_bytes bytes)
{
    struct firn_value value = { .type = type->id, .is_null = true };
    if (bytes.data && type->id != FIRN_TYPE_UNKNOWN)
        FIRN_TRY(firn_value_parse(json->op, type, bytes, &value));
    firn_json_out_text(json, firn_transform_human(json->op->arena, transform, type, &value));
    return FIRN_OK;
}

static firn_status write_summary(struct firn_json_out *json, const struct firn_partition_field *field,
                                 const struct firn_type *type, const struct firn_field_summary *summary)
{
    firn_json_out_begin(json, '{');
    firn_json_out_key(json, FIRN_TEXT("contains_null"));
    firn_json_out_bool(json, summary->contains_null);
    firn_json_out_key(json, FIRN_TEXT("contains_nan"));
    if (summary->has_contains_nan)
        firn_json_out_bool(json, summary->contains_nan);
    else
        firn_json_out_null(json);
    firn_json_out_key(json, FIRN_TEXT("lower_bound"));
    FIRN_TRY(write_bound(json, &field->transform, type, summary->lower_bound));
    firn_json_out_key(json, FIRN_TEXT("upper_bound"));
    FIRN_TRY(write_bound(json, &field->transform, type, summary->upper_bound));
    firn_json_out_end(json, '}');
    return FIRN_OK;
}

static firn_status summaries_cell(struct firn_op *op, const struct walk *walk, const struct firn_manifest_file *row,
                                  struct firn_cell *out)
{
    const struct firn_metadata *metadata = walk->view->table->metadata;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, row->spec_id);
    if (!row->has_summaries)
        return FIRN_OK;
    if (!spec)
        return firn_fail(op, FIRN_CORRUPT, "manifest \"%.*s\": the table has no partition spec %d", FIRN_FMT(row->path),
                         row->spec_id);
    const struct firn_type *types = walk->spec_types[spec - metadata->specs];
    struct firn_json_out json = firn_json_out_of(op, out->scratch);
    firn_json_out_begin(&json, '[');
    for (uint32_t i = 0; i < FIRN_MIN(row->summary_count, spec->field_count); i++)
        FIRN_TRY(write_summary(&json, &spec->fields[i], &types[i], &row->summaries[i]));
    firn_json_out_end(&json, ']');
    return firn_cell_json(out, &json);
}

/* Counts of the kind that the manifest does not hold are 0. */
static void count_cell(const struct firn_manifest_file *row, uint32_t index, struct firn_cell *out)
{
    const int64_t counts[] = { row->added_files_count, row->existing_files_count, row->deleted_files_count };
    bool of_deletes = index >= FIRN_COUNT_OF(counts);
    if (of_deletes != row->is_deletes)
        firn_cell_i64(out, 0);
    else
        firn_cell_i64_unless(out, counts[index % FIRN_COUNT_OF(counts)], FIRN_ABSENT);
}

static firn_status manifest_cell(struct firn_op *op, void *cursor, const struct firn_metadata_path *path,
                                 struct firn_cell *out)
{
    const struct walk *walk = cursor;
    const struct firn_manifest_file *row = &walk->lists[walk->list].manifests[walk->next - 1];
    switch (path->steps[0]) {
    case MANIFEST_CONTENT:
        firn_cell_i64(out, row->is_deletes);
        break;
    case MANIFEST_PATH:
        firn_cell_text(out, row->path);
        break;
    case MANIFEST_LENGTH:
        firn_cell_i64(out, row->length);
        break;
    case MANIFEST_SPEC:
        firn_cell_i64(out, row->spec_id);
        break;
    case MANIFEST_SNAPSHOT:
        firn_cell_i64_unless(out, row->added_snapshot_id, FIRN_NO_SNAPSHOT);
        break;
    case MANIFEST_SUMMARIES:
        return summaries_cell(op, walk, row, out);
    case MANIFEST_REFERENCE:
        firn_cell_i64(out, walk->snapshots[walk->first + walk->list]->id);
        break;
    default:
        count_cell(row, path->steps[0] - MANIFEST_COUNTS, out);
        break;
    }
    return FIRN_OK;
}

const struct firn_metadata_table firn_manifests_table = {
    .name = "manifests",
    .columns = current_columns,
    .open = open_walk,
    .next = next_manifest,
    .cell = manifest_cell,
    .close = close_walk,
    .aliases = aliases,
    .alias_count = FIRN_COUNT_OF(aliases),
};

const struct firn_metadata_table firn_all_manifests_table = {
    .name = "all_manifests",
    .reads_manifests = true,
    .columns = all_columns,
    .open = open_walk,
    .next = next_manifest,
    .cell = manifest_cell,
    .close = close_walk,
    .aliases = aliases,
    .alias_count = FIRN_COUNT_OF(aliases),
};
