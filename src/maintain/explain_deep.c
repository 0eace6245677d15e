/* What the footers, page indexes and bloom filters of the files that stay would
 * rule out besides: the files and their columns. parquet-format, "Statistics",
 * "Bloom Filter"; row groups and pages: explain_pages.c.
 *
 * Columns that readers take from the partition are left out: what the file
 * stores of them does not count. Bloom filters are asked last, of files that
 * are left, for conditions that every row must meet. */
#include "maintain/explain_deep.h"
#include "base/math.h"
#include "rewrite/bloom_probe.h"
#include "table/parquet_footer.h"

/* Files
 * -------------------------------------------------------------------------------------------------------------
 */

static const struct firn_parquet_node *find_leaf(const struct firn_footer *footer, int32_t id)
{
    const struct firn_parquet_node *leaf = firn_footer_leaf(footer, id);
    return leaf && leaf->rep_max == 0 ? leaf : NULL;
}

static bool is_constant(const struct firn_explaining *run, const struct firn_explain_file *file, int32_t id)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(run->metadata, file->spec_id);
    return spec && firn_partition_spec_has_identity(spec, id);
}

static void find_columns(struct firn_op *op, struct firn_look *look)
{
    const struct firn_look_fields *fields = &look->all->fields;
    look->columns = FIRN_NEW_ARRAY(op->arena, struct firn_look_column, fields->count);
    for (size_t i = 0; i < fields->count; i++) {
        struct firn_look_column *column = &look->columns[i];
        const struct firn_output_leaf *form = firn_output_schema_find(&fields->forms, fields->items[i]->id);
        const struct firn_parquet_node *node = find_leaf(look->footer, fields->items[i]->id);
        column->field = fields->items[i];
        if (node && form && !is_constant(look->all->run, look->file, column->field->id) &&
            firn_conversion_find(op, node, form->node, &column->field->type, &column->conversion) == FIRN_OK)
            column->node = node;
    }
}

static firn_status look_at_object(struct firn_op *op, struct firn_look *look)
{
    struct firn_buffer scratch = { 0 };
    firn_status status = firn_parquet_footer_read(op, look->object, &scratch, &look->footer);
    firn_buffer_done(&scratch);
    FIRN_TRY(status);
    FIRN_TRY(firn_input_ids_assign(op, look->footer, &look->all->ids));
    find_columns(op, look);
    struct firn_look_metrics *metrics = firn_look_metrics_new(op->arena, look->all->fields.count);
    for (uint32_t i = 0; i < look->footer->row_group_count; i++) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_explain_look_at_group(op, look, &look->footer->row_groups[i], metrics));
    }
    return FIRN_OK;
}

/* Bloom filters
 * -----------------------------------------------------------------------------------------------------
 */

/* Asking for more values costs more than reading would. */
enum { BLOOM_VALUES_MAX = 20 };

static bool has_filter(const struct firn_look *look, int32_t field_id)
{
    const struct firn_parquet_node *leaf = find_leaf(look->footer, field_id);
    for (uint32_t i = 0; leaf && i < look->footer->row_group_count; i++)
        if (look->footer->row_groups[i].chunks[leaf->leaf_index].bloom_filter_offset > 0)
            return true;
    return false;
}

/* Whether no value that a condition asks for is in the file. */
static firn_status ask_filters(struct firn_op *op, const struct firn_look *look, const struct firn_predicate *leaf,
                               bool *is_absent)
{
    const struct firn_bloom_file file = { look->object, look->footer, &look->all->fields.forms };
    *is_absent = leaf->value_count > 0;
    for (uint32_t i = 0; i < leaf->value_count && *is_absent; i++) {
        enum firn_bloom_answer answer;
        FIRN_TRY(firn_bloom_probe(op, &file, leaf->field->id, &leaf->values[i], &answer));
        *is_absent = answer == FIRN_BLOOM_ABSENT;
    }
    return FIRN_OK;
}

static bool is_askable(const struct firn_look *look, const struct firn_predicate *leaf)
{
    return (leaf->op == FIRN_PRED_EQ || leaf->op == FIRN_PRED_IN) && leaf->value_count <= BLOOM_VALUES_MAX &&
           !is_constant(look->all->run, look->file, leaf->field->id) && has_filter(look, leaf->field->id);
}

static void rule_out(struct firn_explain_deep *out)
{
    out->files_kept = out->row_groups_kept = out->pages_kept = out->rows_kept = out->bytes_kept = 0;
    out->bloom_files_ruled_out = 1;
}

static firn_status look_at_filters(struct firn_op *op, const struct firn_look *look)
{
    const struct firn_explaining *run = look->all->run;
    if (run->schema != firn_metadata_current_schema(run->metadata)) /* by whose types filters are asked */
        return FIRN_OK;
    for (size_t i = 0; i < run->sort_column_count; i++)
        for (size_t k = 0; k < run->sort_columns[i].leaf_count && look->out->files_kept > 0; k++) {
            const struct firn_predicate *leaf = run->sort_columns[i].leaves[k];
            bool is_absent;
            if (!is_askable(look, leaf))
                continue;
            look->out->bloom_files = 1;
            FIRN_TRY(ask_filters(op, look, leaf, &is_absent));
            if (is_absent)
                rule_out(look->out);
        }
    return FIRN_OK;
}

static firn_status look_at_file(struct firn_op *op, struct firn_look *look)
{
    if (look->file->format != FIRN_FILE_PARQUET)
        return firn_fail(op, FIRN_UNSUPPORTED, "\"%.*s\" is no Parquet file", FIRN_FMT(look->file->path));
    FIRN_TRY(firn_object_open(op, look->all->run->table->store, look->file->path, &look->object));
    firn_status status = look_at_object(op, look);
    if (status == FIRN_OK)
        status = look_at_filters(op, look);
    firn_object_close(look->object);
    return status;
}

/* A file that cannot be read is one that a scan would try to. */
static void take_whole(struct firn_look *look)
{
    *look->out = (struct firn_explain_deep){
        .unreadable_files = 1,
        .files_kept = 1,
        .rows_kept = look->file->rows,
        .bytes_kept = look->file->bytes,
    };
}

static firn_status look_job(struct firn_op *op, void *context, size_t index)
{
    const struct firn_looking *looking = context;
    struct firn_scratch scratch;
    struct firn_look look = { .all = looking,
                              .file = &looking->run->files.items[index],
                              .out = &looking->results[index] };
    firn_scratch_begin(op, &scratch);
    firn_status status = look_at_file(op, &look);
    if (status != FIRN_OK && status != FIRN_CANCELLED && status != FIRN_LIMIT) {
        firn_log(op, FIRN_LOG_WARN, "file \"%.*s\" is taken as a whole: %s", FIRN_FMT(look.file->path), op->error.text);
        take_whole(&look);
        status = FIRN_OK;
    }
    look.out->files = 1;
    firn_scratch_end(op, &scratch);
    return status;
}

/* The columns
 * --------------------------------------------------------------------------------------------------------
 */

struct gathering {
    struct firn_arena *arena;
    FIRN_ARRAY(const struct firn_field *) fields;
};

static void gather_field(void *context, const struct firn_predicate *leaf)
{
    struct gathering *out = context;
    if (leaf->op == FIRN_PRED_OPAQUE)
        return;
    for (size_t i = 0; i < out->fields.count; i++)
        if (out->fields.items[i] == leaf->field)
            return;
    FIRN_PUSH(out->arena, &out->fields, leaf->field);
}

static firn_status find_fields(struct firn_op *op, const struct firn_explaining *run, struct firn_look_fields *out)
{
    struct gathering gathering = { .arena = op->arena };
    struct firn_schema *schema = FIRN_NEW(op->arena, struct firn_schema);
    firn_explain_visit_leaves(run->where, gather_field, &gathering);
    out->items = gathering.fields.items;
    out->count = gathering.fields.count;
    if (out->count == 0)
        return FIRN_OK;
    schema->root = (struct firn_type){
        .id = FIRN_TYPE_STRUCT,
        .fields = FIRN_NEW_ARRAY(op->arena, struct firn_field, out->count),
        .field_count = (uint32_t)out->count,
    };
    for (size_t i = 0; i < out->count; i++)
        schema->root.fields[i] = *out->items[i];
    return firn_output_schema_new(op, schema, false, &out->forms);
}

static void add_result(struct firn_explain_deep *sum, const struct firn_explain_deep *part)
{
    sum->files += part->files;
    sum->unreadable_files += part->unreadable_files;
    sum->files_kept += part->files_kept;
    sum->row_groups += part->row_groups;
    sum->row_groups_kept += part->row_groups_kept;
    sum->pages += part->pages;
    sum->pages_kept += part->pages_kept;
    sum->rows_kept += part->rows_kept;
    sum->bytes_kept += part->bytes_kept;
    sum->bloom_files += part->bloom_files;
    sum->bloom_files_ruled_out += part->bloom_files_ruled_out;
}

firn_status firn_explain_look(struct firn_op *op, struct firn_explaining *run)
{
    struct firn_looking looking = {
        .run = run,
        .results = FIRN_NEW_ARRAY(op->arena, struct firn_explain_deep, run->files.count),
    };
    FIRN_TRY(find_fields(op, run, &looking.fields));
    FIRN_TRY(firn_id_sources_new(op, run->metadata, &looking.ids));
    FIRN_TRY(firn_pool_run(op, run->pool, run->files.count, 0, look_job, &looking));
    for (size_t i = 0; i < run->files.count; i++)
        add_result(&run->report->deep, &looking.results[i]);
    return FIRN_OK;
}
