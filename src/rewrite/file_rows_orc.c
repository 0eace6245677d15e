/* Columns of an ORC file, bound by field id, read stripe by stripe and given out in batches.
 * Iceberg spec, "Column Projection", "Appendix A: ORC". */
#include "rewrite/file_rows_orc.h"

#include "base/math.h"
#include "format/orc/orc.h"
#include "table/partition.h"

#define FILE_BYTES_MAX (UINT64_C(1) << 32)

enum { DEPTH_MAX = 100 };

/* One leaf of the schema: the columns of the file from the top down to it, as far as the file has them. */
struct orc_leaf {
    const struct firn_output_leaf *leaf;
    bool has_constant; /* a partition value */
    struct firn_value constant;
    uint32_t *path;  /* numbers of columns, 0 where the file has no more */
    uint8_t *levels; /* whether each is optional in the schema, and so adds a level */
    uint32_t depth;
    struct firn_buffer values, def; /* of a stripe, one a row */
};

struct reading {
    const struct firn_file_rows_config *config;
    struct firn_codec_context *codecs;
    struct firn_buffer file;
    struct firn_orc_footer footer;
    struct firn_orc_column *columns; /* of the stripe, by number */
    bool *is_read;
    struct orc_leaf *leaves;
    uint32_t leaf_count;
    struct firn_buffer rep; /* zeros: nothing is repeated */
};

/* Binding -----------------------------------------------------------------------------------------------------------
 */

/* The number of the child for a field; 0: there is none, since the root is nobody's child. */
static uint32_t find_child(const struct firn_orc_footer *footer, uint32_t parent, int32_t id,
                           const struct firn_name_mapping *mapping)
{
    const struct firn_orc_type *type = &footer->types[parent];
    for (uint32_t i = 0; type->kind == FIRN_ORC_STRUCT && i < type->child_count; i++) {
        const struct firn_orc_type *child = &footer->types[type->children[i]];
        const struct firn_name_mapped *mapped =
            !child->has_id && mapping ? firn_name_mapping_find(mapping, type->names[i]) : NULL;
        if (child->has_id ? child->id == id : mapped && mapped->has_id && mapped->id == id)
            return type->children[i];
    }
    return 0;
}

static bool accepts(const struct firn_type *type, enum firn_orc_kind kind)
{
    bool is_integer = kind == FIRN_ORC_BYTE || kind == FIRN_ORC_SHORT || kind == FIRN_ORC_INT;
    switch (type->id) {
    case FIRN_TYPE_BOOLEAN:
        return kind == FIRN_ORC_BOOLEAN;
    case FIRN_TYPE_INT:
        return is_integer;
    case FIRN_TYPE_LONG:
        return is_integer || kind == FIRN_ORC_LONG;
    case FIRN_TYPE_TIME:
        return kind == FIRN_ORC_LONG;
    case FIRN_TYPE_DATE:
        return kind == FIRN_ORC_DATE;
    case FIRN_TYPE_FLOAT:
        return kind == FIRN_ORC_FLOAT;
    case FIRN_TYPE_DOUBLE:
        return kind == FIRN_ORC_FLOAT || kind == FIRN_ORC_DOUBLE;
    case FIRN_TYPE_STRING:
        return kind == FIRN_ORC_STRING || kind == FIRN_ORC_VARCHAR || kind == FIRN_ORC_CHAR;
    case FIRN_TYPE_BINARY:
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_UUID:
        return kind == FIRN_ORC_BINARY;
    default:
        return false;
    }
}

static firn_status check_found(struct firn_op *op, const struct reading *reading, const struct orc_leaf *leaf)
{
    uint32_t last = leaf->depth > 0 ? leaf->path[leaf->depth - 1] : 0;
    const struct firn_field *field = leaf->leaf->field;
    bool must_be_there = reading->config->complete && (leaf->depth == 1 || !reading->config->levels);
    if (leaf->has_constant)
        return FIRN_OK;
    if (last == 0 && must_be_there)
        return firn_fail(op, FIRN_CORRUPT, "the file lacks the column '%.*s' (field id %d)", FIRN_FMT(leaf->leaf->name),
                         field->id);
    if (last == 0 && field->initial_default && !json_is_null(field->initial_default))
        return firn_fail(op, FIRN_UNSUPPORTED, "the file lacks the column '%.*s', which has a default",
                         FIRN_FMT(leaf->leaf->name));
    if (last == 0 || accepts(&field->type, reading->footer.types[last].kind))
        return FIRN_OK;
    return firn_fail(op, FIRN_UNSUPPORTED, "column '%.*s' is of the ORC type %s, which is not read as %.*s",
                     FIRN_FMT(leaf->leaf->name), firn_orc_kind_name(reading->footer.types[last].kind),
                     FIRN_FMT(firn_type_text(op->arena, &field->type)));
}

/* Numbers of columns from the top down; `nodes` are those of the schema, the leaf first. */
static void bind_path(const struct reading *reading, struct orc_leaf *leaf,
                      const struct firn_parquet_node *const *nodes)
{
    const struct firn_name_mapping *mapping = reading->config->ids->mapping;
    uint32_t column = 0;
    bool is_there = true;
    for (uint32_t i = 0; i < leaf->depth; i++) {
        const struct firn_parquet_node *node = nodes[leaf->depth - 1 - i];
        column = is_there ? find_child(&reading->footer, column, node->field_id, mapping) : 0;
        is_there = column != 0;
        leaf->path[i] = column;
        leaf->levels[i] = node->repetition == FIRN_OPTIONAL;
        const struct firn_name_mapped *mapped = mapping ? firn_name_mapping_find(mapping, node->name) : NULL;
        mapping = mapped ? &mapped->children : NULL;
    }
}

/* NULL: there is none. */
static void bind_constant(struct orc_leaf *leaf, const struct firn_value *value)
{
    const struct firn_type *type = &leaf->leaf->field->type;
    leaf->has_constant = value != NULL;
    if (value && (value->is_null || !firn_value_as(type, value, &leaf->constant)))
        leaf->constant = (struct firn_value){ .type = type->id, .is_null = true };
}

static firn_status bind_leaf(struct firn_op *op, const struct reading *reading, const struct firn_output_leaf *from,
                             struct orc_leaf *out)
{
    const struct firn_data_file *file = reading->config->file;
    const struct firn_partition_spec *spec = firn_metadata_spec(reading->config->metadata, file->spec_id);
    const struct firn_parquet_node *nodes[DEPTH_MAX];
    *out = (struct orc_leaf){ .leaf = from };
    if (from->repeated || from->in_variant)
        return firn_fail(op, FIRN_UNSUPPORTED,
                         "column '%.*s' is in a list, a map or a variant, which are not read from ORC",
                         FIRN_FMT(from->name));
    for (const struct firn_parquet_node *node = from->node; node->parent; node = node->parent) {
        if (out->depth == DEPTH_MAX)
            return firn_fail(op, FIRN_LIMIT, "column '%.*s' nests too deeply", FIRN_FMT(from->name));
        nodes[out->depth++] = node;
    }
    out->path = FIRN_NEW_ARRAY(op->arena, uint32_t, out->depth);
    out->levels = FIRN_NEW_ARRAY(op->arena, uint8_t, out->depth);
    bind_constant(out, firn_partition_identity_value(spec, &file->partition, from->field->id));
    bind_path(reading, out, nodes);
    return check_found(op, reading, out);
}

static firn_status bind(struct firn_op *op, struct reading *reading)
{
    const struct firn_output_schema *schema = reading->config->schema;
    reading->leaf_count = schema->leaf_count;
    reading->leaves = FIRN_NEW_ARRAY(op->arena, struct orc_leaf, schema->leaf_count);
    reading->columns = FIRN_NEW_ARRAY(op->arena, struct firn_orc_column, reading->footer.type_count);
    reading->is_read = FIRN_NEW_ARRAY(op->arena, bool, reading->footer.type_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++)
        FIRN_TRY(bind_leaf(op, reading, &schema->leaves[i], &reading->leaves[i]));
    return FIRN_OK;
}

/* Values ------------------------------------------------------------------------------------------------------------
 */

static firn_status read_path(struct firn_op *op, struct reading *reading, struct firn_orc_stripe *stripe,
                             const struct orc_leaf *leaf)
{
    const struct firn_orc_column *parent = NULL;
    for (uint32_t i = 0; i < leaf->depth && leaf->path[i] != 0; i++) {
        uint32_t number = leaf->path[i];
        if (!reading->is_read[number])
            FIRN_TRY(firn_orc_column_read(op, stripe, number, parent, &reading->columns[number]));
        reading->is_read[number] = true;
        parent = &reading->columns[number];
    }
    return FIRN_OK;
}

/* The value at `index` of those that are there. */
static struct firn_value value_at(const struct firn_type *type, const struct firn_orc_column *column, uint64_t index)
{
    struct firn_value value = { .type = type->id };
    if (column->integers.len > 0)
        value.integer = ((const int64_t *)(const void *)column->integers.data)[index];
    else if (column->reals.len > 0)
        value.real = ((const double *)(const void *)column->reals.data)[index];
    else
        value.bytes = ((const struct firn_bytes *)(const void *)column->slices.data)[index];
    return value;
}

/* Places in the columns of a path: of each the next slot, and of the last the next value. */
struct places {
    uint64_t slots[DEPTH_MAX];
    uint64_t value;
};

static void fill_row(const struct reading *reading, const struct orc_leaf *leaf, struct places *places,
                     struct firn_value *value, uint8_t *def)
{
    const struct firn_type *type = &leaf->leaf->field->type;
    *value = (struct firn_value){ .type = type->id, .is_null = true };
    *def = 0;
    for (uint32_t i = 0; i < leaf->depth; i++) {
        bool is_last = i + 1 == leaf->depth;
        if (is_last && leaf->has_constant) {
            *value = leaf->constant;
            *def = (uint8_t)(*def + (leaf->levels[i] && !value->is_null));
            return;
        }
        const struct firn_orc_column *column = &reading->columns[leaf->path[i]];
        if (leaf->path[i] == 0)
            return;
        uint64_t slot = places->slots[i]++;
        if (column->has_nulls && !column->present.data[slot])
            return;
        *def = (uint8_t)(*def + leaf->levels[i]);
        if (is_last)
            *value = value_at(type, column, places->value++);
    }
}

static firn_status fill_leaf(struct firn_op *op, const struct reading *reading, uint64_t row_count,
                             struct orc_leaf *leaf)
{
    struct places places = { 0 };
    FIRN_TRY(firn_buffer_resize(op, &leaf->values, row_count * sizeof(struct firn_value)));
    FIRN_TRY(firn_buffer_resize(op, &leaf->def, row_count));
    struct firn_value *values = (struct firn_value *)(void *)leaf->values.data;
    for (uint64_t row = 0; row < row_count; row++)
        fill_row(reading, leaf, &places, &values[row], &leaf->def.data[row]);
    return FIRN_OK;
}

/* Reading -----------------------------------------------------------------------------------------------------------
 */

static firn_status give_out(struct firn_op *op, const struct reading *reading, uint64_t row_count, int64_t first,
                            firn_file_rows_visit *visit, void *context)
{
    struct firn_value **values = FIRN_NEW_ARRAY(op->arena, struct firn_value *, reading->leaf_count);
    struct firn_leaf_slots *slots = FIRN_NEW_ARRAY(op->arena, struct firn_leaf_slots, reading->leaf_count);
    for (uint64_t done = 0; done < row_count;) {
        uint32_t count = (uint32_t)FIRN_MIN(row_count - done, (uint64_t)FIRN_FILE_ROWS_MAX);
        for (uint32_t i = 0; i < reading->leaf_count; i++) {
            const struct orc_leaf *leaf = &reading->leaves[i];
            values[i] = (struct firn_value *)(void *)leaf->values.data + done;
            slots[i] = (struct firn_leaf_slots){ count, reading->rep.data, leaf->def.data + done, values[i] };
        }
        struct firn_row_batch batch = {
            .first = first + (int64_t)done,
            .row_count = count,
            .columns = values,
            .slots = reading->config->levels ? slots : NULL,
        };
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(visit(op, context, &batch));
        done += count;
    }
    return FIRN_OK;
}

static void drop_columns(struct reading *reading)
{
    for (uint32_t i = 0; reading->columns && i < reading->footer.type_count; i++) {
        firn_orc_column_done(&reading->columns[i]);
        reading->columns[i] = (struct firn_orc_column){ 0 };
        reading->is_read[i] = false;
    }
}

static firn_status read_stripe(struct firn_op *op, struct reading *reading, uint32_t index)
{
    struct firn_orc_stripe *stripe;
    drop_columns(reading);
    FIRN_TRY(
        firn_orc_stripe_open(op, reading->codecs, &reading->footer, firn_buffer_bytes(&reading->file), index, &stripe));
    for (uint32_t i = 0; i < reading->leaf_count; i++) {
        FIRN_TRY(read_path(op, reading, stripe, &reading->leaves[i]));
        FIRN_TRY(fill_leaf(op, reading, reading->footer.stripes[index].row_count, &reading->leaves[i]));
    }
    return FIRN_OK;
}

static firn_status open_reading(struct firn_op *op, struct reading *reading)
{
    const struct firn_file_rows_config *config = reading->config;
    if (!firn_metadata_spec(config->metadata, config->file->spec_id))
        return firn_fail(op, FIRN_CORRUPT, "the table has no partition spec %d", config->file->spec_id);
    FIRN_TRY(firn_codec_context_open(op, &reading->codecs));
    FIRN_TRY(firn_store_read(op, config->store, config->file->path, FILE_BYTES_MAX, &reading->file));
    FIRN_TRY(firn_orc_footer_parse(op, reading->codecs, firn_buffer_bytes(&reading->file), &reading->footer));
    FIRN_TRY(firn_buffer_resize(op, &reading->rep, FIRN_FILE_ROWS_MAX));
    memset(reading->rep.data, 0, reading->rep.len);
    return bind(op, reading);
}

static void close_reading(struct reading *reading)
{
    drop_columns(reading);
    for (uint32_t i = 0; reading->leaves && i < reading->leaf_count; i++) {
        firn_buffer_done(&reading->leaves[i].values);
        firn_buffer_done(&reading->leaves[i].def);
    }
    firn_buffer_done(&reading->rep);
    firn_buffer_done(&reading->file);
    firn_codec_context_close(reading->codecs);
}

firn_status firn_orc_file_rows_read(struct firn_op *op, const struct firn_file_rows_config *config,
                                    firn_file_rows_visit *visit, void *context)
{
    struct reading reading = { .config = config };
    struct firn_arena arena;
    struct firn_op inner = *op;
    int64_t first = 0;
    firn_arena_init(&arena);
    inner.arena = &arena;
    firn_status status = open_reading(&inner, &reading);
    for (uint32_t i = 0; i < reading.footer.stripe_count && status == FIRN_OK; i++) {
        status = read_stripe(&inner, &reading, i);
        op->error = inner.error;
        if (status == FIRN_OK)
            status = give_out(op, &reading, reading.footer.stripes[i].row_count, first, visit, context);
        inner.error = op->error;
        first += (int64_t)reading.footer.stripes[i].row_count;
    }
    op->error = inner.error;
    close_reading(&reading);
    firn_arena_done(&arena);
    return status;
}

firn_status firn_orc_file_has_column(struct firn_op *op, struct firn_store *store, const struct firn_data_file *file,
                                     int32_t field_id, const char *name, bool *out)
{
    struct firn_buffer *bytes = FIRN_NEW(op->arena, struct firn_buffer);
    struct firn_codec_context *codecs;
    struct firn_orc_footer footer;
    firn_buffer_defer(op->arena, bytes);
    *out = false;
    FIRN_TRY(firn_store_read(op, store, file->path, FILE_BYTES_MAX, bytes));
    FIRN_TRY(firn_codec_context_open(op, &codecs));
    firn_status status = firn_orc_footer_parse(op, codecs, firn_buffer_bytes(bytes), &footer);
    firn_codec_context_close(codecs);
    FIRN_TRY(status);
    for (uint32_t i = 0; i < footer.types[0].child_count; i++) {
        const struct firn_orc_type *column = &footer.types[footer.types[0].children[i]];
        *out = *out || (column->has_id ? column->id == field_id : firn_text_is(footer.types[0].names[i], name));
    }
    return FIRN_OK;
}
