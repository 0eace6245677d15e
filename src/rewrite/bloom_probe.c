/* A value in the form that a file stores it in, and the filters of its row groups. */
#include "rewrite/bloom_probe.h"

#include "rewrite/conversion.h"
#include "rewrite/input_shape.h"
#include "table/parquet_bloom.h"

struct probing {
    const struct firn_bloom_file *file;
    const struct firn_parquet_node *leaf;
    const struct firn_output_leaf *form; /* of the field */
    const struct firn_value *value;
};

/* What a file can say of a value by the way it stores it. */
enum stored_form {
    STORED_UNKNOWN, /* values have other forms too, or one that firn does not make */
    STORED_NEVER,   /* the stored type has no such value */
    STORED_AS_HASH
};

/* A wider type is asked about a column stored before it was widened. */
static enum stored_form hash_narrowed(const struct probing *probing, uint64_t *hash)
{
    const struct firn_value *value = probing->value;
    int32_t whole = (int32_t)value->integer;
    float real = (float)value->real;
    if (probing->form->field->type.id == FIRN_TYPE_LONG && probing->leaf->type == FIRN_PARQUET_INT32) {
        *hash = firn_bloom_hash_at(FIRN_PARQUET_INT32, 0, (union firn_values){ .int32 = &whole }, 0);
        return whole == value->integer ? STORED_AS_HASH : STORED_NEVER;
    }
    if (probing->form->field->type.id == FIRN_TYPE_DOUBLE && probing->leaf->type == FIRN_PARQUET_FLOAT) {
        *hash = firn_bloom_hash_at(FIRN_PARQUET_FLOAT, 0, (union firn_values){ .float32 = &real }, 0);
        return (double)real == value->real ? STORED_AS_HASH : STORED_NEVER;
    }
    return STORED_UNKNOWN;
}

/* Zero and NaN, of which there are several. */
static bool has_twins(const struct firn_value *value)
{
    bool is_real = value->type == FIRN_TYPE_FLOAT || value->type == FIRN_TYPE_DOUBLE;
    return is_real && (value->real == 0 || value->real != value->real);
}

static firn_status hash_stored(struct firn_op *op, const struct probing *probing, enum stored_form *form,
                               uint64_t *hash)
{
    const struct firn_parquet_node *node = probing->form->node;
    struct firn_conversion conversion;
    *form = STORED_UNKNOWN;
    if (probing->form->repeated || has_twins(probing->value))
        return FIRN_OK;
    FIRN_TRY(firn_conversion_find(op, probing->leaf, node, &probing->form->field->type, &conversion));
    if (conversion.run) {
        *form = hash_narrowed(probing, hash);
        return FIRN_OK;
    }
    union firn_values stored = { .any = firn_arena_alloc(op->arena, firn_value_width(node->type, node->type_length)) };
    FIRN_TRY(firn_leaf_value_store(op, node, probing->value, stored, 0));
    *hash = firn_bloom_hash_at(node->type, node->type_length, stored, 0);
    *form = node->type == FIRN_PARQUET_BOOLEAN ? STORED_UNKNOWN : STORED_AS_HASH;
    return FIRN_OK;
}

static firn_status ask(struct firn_op *op, const struct probing *probing, uint64_t hash, struct firn_buffer *scratch,
                       enum firn_bloom_answer *out)
{
    const struct firn_footer *footer = probing->file->footer;
    *out = FIRN_BLOOM_ABSENT;
    for (uint32_t i = 0; i < footer->row_group_count && *out != FIRN_BLOOM_UNKNOWN; i++) {
        const struct firn_column_chunk *chunk = &footer->row_groups[i].chunks[probing->leaf->leaf_index];
        struct firn_bloom_filter filter;
        if (chunk->bloom_filter_offset <= 0 || chunk->is_encrypted) {
            *out = FIRN_BLOOM_UNKNOWN;
            break;
        }
        FIRN_TRY(firn_parquet_bloom_read(op, probing->file->object, chunk, scratch, &filter));
        if (firn_bloom_filter_may_contain(&filter, hash))
            *out = FIRN_BLOOM_MAYBE;
    }
    return FIRN_OK;
}

firn_status firn_bloom_probe(struct firn_op *op, const struct firn_bloom_file *file, int32_t field_id,
                             const struct firn_value *value, enum firn_bloom_answer *out)
{
    const struct probing probing = {
        .file = file,
        .leaf = firn_footer_leaf(file->footer, field_id),
        .form = firn_output_schema_find(file->forms, field_id),
        .value = value,
    };
    struct firn_buffer scratch = { 0 };
    enum stored_form form;
    uint64_t hash = 0;
    *out = FIRN_BLOOM_UNKNOWN;
    if (!probing.leaf || !probing.form) /* a column that the file does not store is null, or has a default */
        return FIRN_OK;
    FIRN_TRY(hash_stored(op, &probing, &form, &hash));
    if (form == STORED_NEVER)
        *out = FIRN_BLOOM_ABSENT;
    if (form != STORED_AS_HASH)
        return FIRN_OK;
    firn_status status = ask(op, &probing, hash, &scratch, out);
    firn_buffer_done(&scratch);
    return status;
}
