/* A Parquet file's columns against the table's schemas: which field each is, and that it can be read as it.
 * Iceberg spec, "Column Projection", "Reserved Field IDs", "Appendix A: Parquet". */
#include "maintain/file_check_parts.h"
#include "rewrite/deletion_position.h"
#include "rewrite/output_schema.h"
#include "table/delete_index.h"

/* Ids above it are reserved by the specification. */
#define FIELD_ID_RESERVED_MIN INT32_C(2147483447)

static firn_status assign_ids(struct firn_op *op, struct firn_checked_parquet *parquet)
{
    struct firn_name_mapping mapping = firn_position_deletes_mapping(op->arena);
    struct firn_id_sources ids = parquet->checked->ids;
    if (parquet->checked->file->content == FIRN_CONTENT_POSITION_DELETES)
        ids.mapping = &mapping;
    return firn_input_ids_assign(op, parquet->footer, &ids);
}

static firn_status check_ids(struct firn_op *op, struct firn_checked_parquet *parquet, bool *known)
{
    firn_status status = assign_ids(op, parquet);
    *known = status == FIRN_OK;
    if (status == FIRN_UNSUPPORTED) { /* readers that go by position may still manage */
        FIRN_CHECK_WARNING(parquet->checked, "column-ids", "%s", op->error.text);
        return FIRN_OK;
    }
    return firn_check_failed(op, parquet->checked, status, "column-ids");
}

static bool fits_shape(const struct firn_parquet_node *node, const struct firn_type *type)
{
    if (node->logical.kind == FIRN_LOGICAL_UNKNOWN)
        return true;
    if (type->id == FIRN_TYPE_LIST && node->repetition == FIRN_REPEATED)
        return true; /* a list without a group around it */
    return node->is_leaf == firn_type_is_primitive(type->id);
}

/* A column whose id, or whose shape, is not of the table. False: what is below it means nothing. */
static bool check_node(struct firn_op *op, struct firn_checked_parquet *parquet, const struct firn_parquet_node *node)
{
    if (!node->has_field_id || node->field_id > FIELD_ID_RESERVED_MIN)
        return true;
    const struct firn_field *field = firn_check_field(parquet->checked, node->field_id);
    if (!field) {
        FIRN_CHECK_WARNING(parquet->checked, "column-unknown",
                           "column '%.*s' has field id %d, which is in no schema of the table", FIRN_FMT(node->path),
                           node->field_id);
        return false;
    }
    if (fits_shape(node, &field->type))
        return true;
    FIRN_CHECK_ERROR(parquet->checked, "column-type", "column '%.*s' is %s, which cannot be read as %.*s",
                     FIRN_FMT(node->path), node->is_leaf ? firn_parquet_type_name(node->type) : "a group",
                     FIRN_FMT(firn_type_text(op->arena, &field->type)));
    return false;
}

/* Recursion is as deep as the schema tree, which firn_parquet_schema_finish limits. */
static void match_leaves(struct firn_op *op, struct firn_checked_parquet *parquet, const struct firn_parquet_node *node,
                         bool known)
{
    known = known && (!node->parent || check_node(op, parquet, node));
    if (node->is_leaf) {
        struct firn_checked_leaf *leaf = &parquet->leaves[node->leaf_index];
        const struct firn_field *field =
            known && node->has_field_id ? firn_check_field(parquet->checked, node->field_id) : NULL;
        bool stored = field && firn_type_is_primitive(field->type.id) && field->type.id != FIRN_TYPE_UNKNOWN &&
                      node->logical.kind != FIRN_LOGICAL_UNKNOWN;
        *leaf = (struct firn_checked_leaf){ .node = node, .field = stored ? field : NULL };
    }
    for (uint32_t i = 0; i < node->child_count; i++)
        match_leaves(op, parquet, &node->children[i], known);
}

/* How each leaf is read, through the form in which firn would store its field. */
static firn_status find_conversions(struct firn_op *op, struct firn_checked_parquet *parquet)
{
    uint32_t leaf_count = parquet->footer->leaf_count;
    struct firn_schema *schema = FIRN_NEW(op->arena, struct firn_schema);
    struct firn_output_schema forms;
    schema->root = (struct firn_type){
        .id = FIRN_TYPE_STRUCT,
        .fields = FIRN_NEW_ARRAY(op->arena, struct firn_field, leaf_count),
    };
    for (uint32_t i = 0; i < leaf_count; i++)
        if (parquet->leaves[i].field)
            schema->root.fields[schema->root.field_count++] = *parquet->leaves[i].field;
    if (schema->root.field_count == 0)
        return FIRN_OK;
    FIRN_TRY(firn_output_schema_new(op, schema, false, &forms));
    uint32_t next = 0;
    for (uint32_t i = 0; i < leaf_count; i++) {
        struct firn_checked_leaf *leaf = &parquet->leaves[i];
        if (!leaf->field)
            continue;
        firn_status status =
            firn_conversion_find(op, leaf->node, forms.leaves[next++].node, &leaf->field->type, &leaf->conversion);
        if (status == FIRN_OK)
            continue;
        FIRN_CHECK_ERROR(parquet->checked, "column-type", "%s", op->error.text);
        leaf->field = NULL;
        parquet->has_rows = false;
    }
    return FIRN_OK;
}

static bool has_column(const struct firn_parquet_node *node, int32_t id)
{
    if (node->parent && node->has_field_id && node->field_id == id)
        return true;
    for (uint32_t i = 0; i < node->child_count; i++)
        if (has_column(&node->children[i], id))
            return true;
    return false;
}

static void require_column(struct firn_checked_parquet *parquet, int32_t id, struct firn_text name, const char *code)
{
    if (has_column(&parquet->footer->root, id) || firn_check_is_constant(parquet->checked, id))
        return;
    FIRN_CHECK_ERROR(parquet->checked, code, "it lacks the column '%.*s' (field id %d)", FIRN_FMT(name), id);
    parquet->has_rows = false;
}

/* Columns without which readers fail: all required ones of data, and those by which deletes delete. */
static void check_presence(struct firn_checked_parquet *parquet)
{
    const struct firn_checked *checked = parquet->checked;
    const struct firn_data_file *file = checked->file;
    const struct firn_type *root = &firn_metadata_current_schema(checked->what->metadata)->root;
    if (file->content == FIRN_CONTENT_POSITION_DELETES) {
        require_column(parquet, FIRN_FIELD_ID_DELETE_FILE_PATH, FIRN_TEXT("file_path"), "column-missing");
        require_column(parquet, FIRN_FIELD_ID_DELETE_FILE_POS, FIRN_TEXT("pos"), "column-missing");
    }
    for (uint32_t i = 0; file->content == FIRN_CONTENT_EQUALITY_DELETES && i < file->equality_id_count; i++) {
        const struct firn_field *field = firn_check_field(checked, file->equality_ids[i]);
        if (field)
            require_column(parquet, field->id, field->name, "equality-ids");
    }
    for (uint32_t i = 0; file->content == FIRN_CONTENT_DATA && i < root->field_count; i++)
        if (root->fields[i].required && !root->fields[i].initial_default &&
            root->fields[i].type.id != FIRN_TYPE_UNKNOWN)
            require_column(parquet, root->fields[i].id, root->fields[i].name, "column-missing");
}

firn_status firn_check_columns(struct firn_op *op, struct firn_checked_parquet *parquet)
{
    bool known;
    FIRN_TRY(check_ids(op, parquet, &known));
    parquet->has_rows = known;
    match_leaves(op, parquet, &parquet->footer->root, known);
    if (known)
        check_presence(parquet);
    return known ? find_conversions(op, parquet) : FIRN_OK;
}
