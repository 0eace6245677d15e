/* A value in the form that a file stores it in, and the filters of its row groups. */
#include "rewrite/bloom_probe.h"

#include "rewrite/conversion.h"
#include "rewrite/input_shape.h"
#include "rewrite/output_schema.h"
#include "table/parquet_bloom.h"
#include "table/parquet_footer.h"

struct probing {
    struct firn_object *object;
    const struct firn_footer *footer;
    const struct firn_parquet_node *leaf;
    const struct firn_type *type; /* of the field, in the current schema */
    const struct firn_value *value;
    struct firn_buffer bytes;
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
    if (probing->type->id == FIRN_TYPE_LONG && probing->leaf->type == FIRN_PARQUET_INT32) {
        *hash = firn_bloom_hash_at(FIRN_PARQUET_INT32, 0, (union firn_values){ .int32 = &whole }, 0);
        return whole == value->integer ? STORED_AS_HASH : STORED_NEVER;
    }
    if (probing->type->id == FIRN_TYPE_DOUBLE && probing->leaf->type == FIRN_PARQUET_FLOAT) {
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

static firn_status hash_stored(struct firn_op *op, const struct probing *probing, const struct firn_schema *schema,
                               int32_t field_id, enum stored_form *form, uint64_t *hash)
{
    struct firn_output_schema output;
    struct firn_conversion conversion;
    *form = STORED_UNKNOWN;
    FIRN_TRY(firn_output_schema_new(op, schema, false, &output));
    const struct firn_output_leaf *out = firn_output_schema_find(&output, field_id);
    if (!out || out->repeated || has_twins(probing->value))
        return FIRN_OK;
    FIRN_TRY(firn_conversion_find(op, probing->leaf, out->node, probing->type, &conversion));
    if (conversion.run) {
        *form = hash_narrowed(probing, hash);
        return FIRN_OK;
    }
    size_t width = firn_value_width(out->node->type, out->node->type_length);
    union firn_values stored = { .any = firn_arena_alloc(op->arena, width) };
    FIRN_TRY(firn_leaf_value_store(op, out->node, probing->value, stored, 0));
    *hash = firn_bloom_hash_at(out->node->type, out->node->type_length, stored, 0);
    *form = out->node->type == FIRN_PARQUET_BOOLEAN ? STORED_UNKNOWN : STORED_AS_HASH;
    return FIRN_OK;
}

static firn_status ask(struct firn_op *op, struct probing *probing, uint64_t hash, enum firn_bloom_answer *out)
{
    uint32_t leaf = probing->leaf->leaf_index;
    *out = FIRN_BLOOM_ABSENT;
    for (uint32_t i = 0; i < probing->footer->row_group_count && *out != FIRN_BLOOM_UNKNOWN; i++) {
        const struct firn_column_chunk *chunk = &probing->footer->row_groups[i].chunks[leaf];
        struct firn_bloom_filter filter;
        if (chunk->bloom_filter_offset <= 0 || chunk->is_encrypted) {
            *out = FIRN_BLOOM_UNKNOWN;
            break;
        }
        FIRN_TRY(firn_parquet_bloom_read(op, probing->object, chunk, &probing->bytes, &filter));
        if (firn_bloom_filter_may_contain(&filter, hash))
            *out = FIRN_BLOOM_MAYBE;
    }
    return FIRN_OK;
}

static firn_status probe(struct firn_op *op, struct probing *probing, const struct firn_metadata *metadata,
                         int32_t field_id, enum firn_bloom_answer *out)
{
    struct firn_id_sources ids;
    struct firn_footer *footer;
    enum stored_form form;
    uint64_t hash = 0;
    const struct firn_schema *schema = firn_metadata_current_schema(metadata);
    const struct firn_field *field = firn_schema_field(schema, field_id);
    FIRN_TRY(firn_parquet_footer_read(op, probing->object, &probing->bytes, &footer));
    FIRN_TRY(firn_id_sources_new(op, metadata, &ids));
    FIRN_TRY(firn_input_ids_assign(op, footer, &ids));
    probing->footer = footer;
    probing->leaf = field ? firn_footer_leaf(footer, field_id) : NULL;
    if (!probing->leaf) /* a column that the file does not store is null, or has a default */
        return FIRN_OK;
    probing->type = &field->type;
    FIRN_TRY(hash_stored(op, probing, schema, field_id, &form, &hash));
    if (form == STORED_AS_HASH)
        return ask(op, probing, hash, out);
    *out = form == STORED_NEVER ? FIRN_BLOOM_ABSENT : FIRN_BLOOM_UNKNOWN;
    return FIRN_OK;
}

firn_status firn_bloom_probe(struct firn_op *op, struct firn_store *store, const struct firn_metadata *metadata,
                             const struct firn_data_file *file, int32_t field_id, const struct firn_value *value,
                             enum firn_bloom_answer *out)
{
    struct probing probing = { .value = value };
    *out = FIRN_BLOOM_UNKNOWN;
    if (file->format != FIRN_FILE_PARQUET || file->key_metadata.len > 0)
        return FIRN_OK;
    firn_status status = firn_object_open(op, store, file->path, &probing.object);
    if (status == FIRN_OK) {
        status = probe(op, &probing, metadata, field_id, out);
        firn_object_close(probing.object);
    }
    firn_buffer_done(&probing.bytes);
    return firn_context(op, status, "data file \"%.*s\"", FIRN_FMT(file->path));
}
