/* Making the keys of rows that are held in columns. */
#include "rewrite/read_batch.h"

#include "base/math.h"
#include "rewrite/sort_output.h"

enum { KEY_ROWS_AT_ONCE = 4096 };

void firn_read_batch_init(struct firn_op *op, const struct firn_output_schema *schema, const struct firn_sort_key *key,
                          struct firn_read_batch *out)
{
    *out = (struct firn_read_batch){
        .leaf_count = schema->leaf_count,
        .columns = FIRN_NEW_ARRAY(op->arena, struct firn_held_column, schema->leaf_count),
    };
    firn_sort_batch_init(op, key, &out->keys);
    for (uint32_t i = 0; i < schema->leaf_count; i++)
        out->columns[i].leaf = schema->leaves[i].node;
}

static firn_status add_key_leaf(struct firn_op *op, void *context, size_t index)
{
    struct firn_read_batch *batch = context;
    const struct firn_held_column *column = &batch->columns[batch->keys.key->leaves[index]->node->leaf_index];
    uint32_t rows[KEY_ROWS_AT_ONCE];
    struct firn_taken_rows taken = { 0 };
    struct firn_vector vector;
    firn_status status = FIRN_OK;
    for (uint32_t row = 0; status == FIRN_OK && row < column->row_count; row += KEY_ROWS_AT_ONCE) {
        uint32_t count = FIRN_MIN(column->row_count - row, (uint32_t)KEY_ROWS_AT_ONCE);
        for (uint32_t i = 0; i < count; i++)
            rows[i] = row + i;
        status = firn_held_column_take(op, column, rows, count, &taken, &vector);
        if (status == FIRN_OK)
            status = firn_sort_batch_add(op, &batch->keys, (uint32_t)index, &vector, row);
    }
    firn_taken_rows_done(&taken);
    return status;
}

/* Partitions come one after the other: their numbers stand in front of the keys. */
static void write_prefixes(const struct firn_read_batch *batch)
{
    const uint32_t *partitions = (const uint32_t *)(const void *)batch->partitions.data;
    uint8_t *bytes = batch->keys.bytes.data;
    for (uint32_t i = 0; i < batch->row_count; i++) {
        ptrdiff_t offset = firn_sort_batch_key(&batch->keys, i).data - bytes;
        firn_store_be32(bytes + offset, batch->partitions.len > 0 ? partitions[i] : 0);
    }
}

firn_status firn_read_batch_make_keys(struct firn_op *op, struct firn_pool *pool, struct firn_read_batch *batch)
{
    FIRN_TRY(firn_sort_batch_begin(op, &batch->keys, batch->row_count));
    FIRN_TRY(firn_pool_run(op, pool, batch->keys.key->leaf_count, 0, add_key_leaf, batch));
    FIRN_TRY(firn_sort_batch_finish(op, &batch->keys));
    write_prefixes(batch);
    return FIRN_OK;
}

void firn_read_batch_clear(struct firn_read_batch *batch)
{
    for (uint32_t i = 0; i < batch->leaf_count; i++)
        firn_held_column_clear(&batch->columns[i]);
    firn_sort_batch_done(&batch->keys);
    firn_buffer_clear(&batch->partitions);
    batch->row_count = 0;
}

void firn_read_batch_done(struct firn_read_batch *batch)
{
    firn_read_batch_clear(batch);
    for (uint32_t i = 0; i < batch->leaf_count; i++)
        firn_held_column_done(&batch->columns[i]);
    firn_buffer_done(&batch->partitions);
}
