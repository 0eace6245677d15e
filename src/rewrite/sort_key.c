/* Compiling an ordering: which leaves are read, and where each field lies in a key. */
#include "rewrite/sort_key.h"

#include "base/math.h"
#include "rewrite/interleave.h"
#include "rewrite/sort_column.h"

#define KEY_BYTES_MAX (1 << 20)

struct compiler {
    const struct firn_ordering *ordering;
    const struct firn_output_schema *schema;
    struct firn_sort_key *key;
    struct firn_sort_column *columns;
};

static uint32_t add_leaf(struct firn_sort_key *key, const struct firn_output_leaf *leaf)
{
    for (uint32_t i = 0; i < key->leaf_count; i++)
        if (key->leaves[i] == leaf)
            return i;
    key->leaves[key->leaf_count] = leaf;
    return key->leaf_count++;
}

/* Fields that are null in every row decide nothing: void, and those of type unknown, which no file stores. */
static bool decides(const struct firn_output_schema *schema, const struct firn_ordering_field *field)
{
    const struct firn_field *source = firn_schema_field(schema->schema, field->source_id);
    return field->transform.id != FIRN_TRANSFORM_VOID && !(source && source->type.id == FIRN_TYPE_UNKNOWN);
}

static void set_markers(const struct compiler *compiler, const struct firn_ordering_field *field,
                        struct firn_sort_column *column)
{
    if (compiler->ordering->kind != FIRN_ORDERING_LINEAR)
        return;
    column->marked = column->image.leaf->def_max > 0;
    column->null_marker = field->nulls_last;
    column->value_marker = !field->nulls_last;
    column->flip = field->descending ? UINT8_MAX : 0;
}

static firn_status add_field(struct firn_op *op, struct compiler *compiler, const struct firn_ordering_field *field)
{
    struct firn_sort_key *key = compiler->key;
    struct firn_sort_column *column = &compiler->columns[key->column_count];
    if (!decides(compiler->schema, field))
        return FIRN_OK;
    const struct firn_output_leaf *leaf = firn_output_schema_find(compiler->schema, field->source_id);
    if (!leaf || leaf->repeated || leaf->in_variant)
        return firn_fail(op, FIRN_UNSUPPORTED, "rows cannot be sorted by '%.*s', which is no single value of a row",
                         FIRN_FMT(firn_schema_name(op->arena, compiler->schema->schema, field->source_id)));
    FIRN_TRY(firn_sort_image_find(op, compiler->ordering, field, leaf->node, &leaf->field->type, &column->image));
    column->leaf = add_leaf(key, leaf);
    set_markers(compiler, field, column);
    key->column_count++;
    if (column->image.form == FIRN_IMAGE_TEXT)
        return FIRN_OK;
    if (column->image.width >= KEY_BYTES_MAX - key->fixed_bytes)
        return firn_fail(op, FIRN_LIMIT, "the sort key of a row takes more than %d bytes", KEY_BYTES_MAX);
    column->offset = key->fixed_bytes;
    key->fixed_bytes += column->marked + column->image.width;
    return FIRN_OK;
}

static void plan_runs(struct firn_op *op, struct firn_sort_key *key)
{
    struct firn_sort_run *runs = FIRN_NEW_ARRAY(op->arena, struct firn_sort_run, key->column_count);
    for (uint32_t i = 0; i < key->column_count; i++) {
        const struct firn_sort_column *column = &key->columns[i];
        uint32_t bytes = column->image.form == FIRN_IMAGE_TEXT ? 0 : column->marked + column->image.width;
        struct firn_sort_run *last = key->run_count > 0 ? &runs[key->run_count - 1] : NULL;
        if (last && last->bytes > 0 && bytes > 0)
            last->bytes += bytes;
        else
            runs[key->run_count++] = (struct firn_sort_run){ .column = i, .offset = column->offset, .bytes = bytes };
    }
    key->runs = runs;
}

/* Columns that are spread over their range need no more than half of their bits. */
static unsigned hilbert_bits(const struct firn_ordering *ordering)
{
    if (ordering->kind != FIRN_ORDERING_HILBERT)
        return 0;
    for (uint32_t i = 0; i < ordering->field_count; i++)
        if (!ordering->fields[i].has_range)
            return 64;
    return 32;
}

static void plan_curve(struct firn_op *op, const struct firn_ordering *ordering, struct firn_sort_key *key)
{
    struct firn_interleave *interleave = FIRN_NEW(op->arena, struct firn_interleave);
    struct firn_interleave_column *columns =
        FIRN_NEW_ARRAY(op->arena, struct firn_interleave_column, key->column_count);
    key->hilbert_bits = hilbert_bits(ordering);
    for (uint32_t i = 0; i < key->column_count; i++)
        columns[i] = (struct firn_interleave_column){
            .offset = key->columns[i].offset,
            .bytes = key->hilbert_bits > 0 ? key->hilbert_bits / 8 : key->columns[i].image.width,
        };
    uint64_t bytes_max = key->hilbert_bits > 0 ? UINT64_MAX : ordering->key_bytes_max;
    firn_interleave_init(op, columns, key->column_count, bytes_max, interleave);
    key->interleave = interleave;
    key->key_bytes = key->prefix_bytes + interleave->key_bytes;
}

static bool has_text(const struct firn_sort_key *key)
{
    for (uint32_t i = 0; i < key->column_count; i++)
        if (key->columns[i].image.form == FIRN_IMAGE_TEXT)
            return true;
    return false;
}

firn_status firn_sort_key_new(struct firn_op *op, const struct firn_ordering *ordering,
                              const struct firn_output_schema *schema, uint32_t prefix_bytes, struct firn_sort_key *out)
{
    struct compiler compiler = {
        .ordering = ordering,
        .schema = schema,
        .key = out,
        .columns = FIRN_NEW_ARRAY(op->arena, struct firn_sort_column, ordering->field_count),
    };
    *out = (struct firn_sort_key){
        .leaves = FIRN_NEW_ARRAY(op->arena, const struct firn_output_leaf *, ordering->field_count),
        .prefix_bytes = prefix_bytes,
        .columns = compiler.columns,
    };
    for (uint32_t i = 0; i < ordering->field_count; i++)
        FIRN_TRY(add_field(op, &compiler, &ordering->fields[i]));
    if (out->column_count == 0)
        out->fixed_bytes = 1; /* keys that are all the same, since none may be empty */
    if (ordering->kind != FIRN_ORDERING_LINEAR && out->column_count > 0)
        plan_curve(op, ordering, out);
    else if (has_text(out))
        plan_runs(op, out);
    else
        out->key_bytes = prefix_bytes + out->fixed_bytes;
    return FIRN_OK;
}
