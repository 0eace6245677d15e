/* Values into vectors, vectors into chunks, chunks into a file. */
#include "rewrite/value_file.h"

#include "format/parquet/writer.h"
#include "rewrite/conversion.h"

/* In op->arena; bytes are borrowed. */
static firn_status make_vector(struct firn_op *op, const struct firn_parquet_node *leaf,
                               const struct firn_value *values, uint32_t count, struct firn_vector *out)
{
    uint8_t *def = FIRN_NEW_ARRAY(op->arena, uint8_t, count);
    *out = (struct firn_vector){
        .type = leaf->type,
        .type_length = leaf->type_length,
        .def_max = leaf->def_max,
        .slot_count = count,
        .row_count = count,
        .def = leaf->def_max > 0 ? def : NULL,
        .values.any = firn_arena_alloc_array(op->arena, count, firn_value_width(leaf->type, leaf->type_length)),
    };
    for (uint32_t i = 0; i < count; i++) {
        def[i] = leaf->def_max > 0 && !values[i].is_null;
        if (values[i].is_null)
            continue;
        FIRN_TRY(firn_leaf_value_store(op, leaf, &values[i], out->values, out->value_count));
        out->value_count++;
    }
    return FIRN_OK;
}

static firn_status make_chunk(struct firn_op *op, const struct firn_parquet_node *leaf, const struct firn_value *values,
                              uint32_t count, struct firn_encoded_chunk *out)
{
    struct firn_chunk_options options = firn_chunk_options_default();
    struct firn_chunk_writer *writer;
    struct firn_vector vector;
    FIRN_TRY(make_vector(op, leaf, values, count, &vector));
    FIRN_TRY(firn_chunk_writer_open(op, leaf, &options, &writer));
    firn_status status = firn_chunk_writer_append(op, writer, &vector);
    if (status == FIRN_OK)
        status = firn_chunk_writer_finish(op, writer, out);
    firn_chunk_writer_close(writer);
    return status;
}

static firn_status write_chunks(struct firn_op *op, const struct firn_output_schema *schema,
                                const struct firn_value *const *columns, uint32_t row_count,
                                struct firn_encoded_chunk *chunks, struct firn_parquet_writer *writer)
{
    struct firn_footer *footer;
    for (uint32_t i = 0; i < schema->leaf_count; i++)
        FIRN_TRY(make_chunk(op, schema->leaves[i].node, columns[i], row_count, &chunks[i]));
    FIRN_TRY(firn_parquet_writer_add(op, writer, chunks, row_count));
    return firn_parquet_writer_finish(op, writer, &footer);
}

firn_status firn_value_file_write(struct firn_op *op, const struct firn_output_schema *schema,
                                  const struct firn_value *const *columns, uint32_t row_count, struct firn_sink *sink)
{
    struct firn_encoded_chunk *chunks = FIRN_NEW_ARRAY(op->arena, struct firn_encoded_chunk, schema->leaf_count);
    struct firn_parquet_writer *writer;
    FIRN_TRY(firn_parquet_writer_open(op, schema->footer, sink, &writer));
    firn_status status = write_chunks(op, schema, columns, row_count, chunks, writer);
    for (uint32_t i = 0; i < schema->leaf_count; i++)
        firn_encoded_chunk_done(&chunks[i]);
    firn_parquet_writer_close(writer);
    return status;
}
