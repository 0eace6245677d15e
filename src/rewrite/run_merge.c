/* A turn of a merge: of each run some blocks are in memory, and of their rows those come next whose keys are not above
 * the least last key of a run that has more blocks. They are sorted anew, which costs less than telling from which run
 * each comes. Where they are of one input alone, they are given as they lie. */
#include "rewrite/run_merge.h"

#include "base/math.h"
#include "rewrite/column.h"
#include "rewrite/run_keys.h"
#include "rewrite/run_part.h"

/* Rows of a block; those before `done` were given. That of an input lies in its batch. */
struct loaded_block {
    struct firn_buffer bytes; /* as they lie in the spill */
    struct firn_buffer key_body;
    struct firn_run_keys key_memory;
    struct firn_row_keys keys;
    uint64_t held_bytes;
    uint32_t done, end; /* `end`: of the rows given in this turn */
};

/* A run being read, and its blocks in memory. */
struct run_reader {
    const struct firn_sorted_run *run;
    size_t next;                  /* block to load */
    struct firn_input_run *input; /* NULL: it is a run of temporary files */
    FIRN_ARRAY(struct loaded_block) blocks;
};

/* The rows given. */
struct turn {
    struct firn_held_column *columns; /* one a leaf */
    struct firn_buffer keys, key_offsets;
    struct firn_buffer order;
    uint32_t row_count;
};

struct firn_run_merge {
    struct firn_run_merge_config config;
    struct run_reader *readers; /* runs, then inputs */
    uint32_t reader_count;
    uint64_t held_bytes;         /* of the runs' blocks */
    struct turn turns[2], *turn; /* the other may still be in use */
};

static struct firn_held_column *new_columns(struct firn_op *op, const struct firn_output_schema *schema)
{
    struct firn_held_column *columns = FIRN_NEW_ARRAY(op->arena, struct firn_held_column, schema->leaf_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++)
        columns[i].leaf = schema->leaves[i].node;
    return columns;
}

struct firn_run_merge *firn_run_merge_open(struct firn_op *op, const struct firn_run_merge_config *config)
{
    uint32_t reader_count = config->run_count + config->input_count;
    struct firn_run_merge *merge = FIRN_NEW(op->arena, struct firn_run_merge);
    *merge = (struct firn_run_merge){
        .config = *config,
        .readers = FIRN_NEW_ARRAY(op->arena, struct run_reader, reader_count),
        .reader_count = reader_count,
    };
    merge->turn = &merge->turns[0];
    for (uint32_t i = 0; i < config->run_count; i++)
        merge->readers[i].run = &config->runs[i];
    for (uint32_t i = 0; i < config->input_count; i++)
        merge->readers[config->run_count + i].input = &config->inputs[i];
    for (size_t i = 0; i < FIRN_COUNT_OF(merge->turns); i++)
        merge->turns[i].columns = new_columns(op, &config->run->schema);
    return merge;
}

/* Loading. */

static void free_block(struct firn_run_merge *merge, struct loaded_block *block)
{
    merge->held_bytes -= block->held_bytes;
    firn_buffer_done(&block->bytes);
    firn_buffer_done(&block->key_body);
    firn_run_keys_done(&block->key_memory);
}

/* Turns the lengths of a block's parts, which these lie behind, into where they end. */
static firn_status place_parts(struct firn_op *op, const struct firn_run_merge *merge, struct loaded_block *block)
{
    uint32_t part_count = merge->config.run->schema.leaf_count + 1;
    uint64_t end = part_count * sizeof(uint32_t);
    for (uint32_t i = 0; i < part_count && end <= block->bytes.len; i++) {
        uint8_t *at = block->bytes.data + i * sizeof(uint32_t);
        end += firn_load_le32(at);
        firn_store_le32(at, (uint32_t)end);
    }
    return end == block->bytes.len ? FIRN_OK : firn_fail(op, FIRN_SYSTEM, "temporary data is not what was written");
}

static struct firn_bytes part_of(const struct firn_run_merge *merge, const struct loaded_block *block, uint32_t part)
{
    uint32_t part_count = merge->config.run->schema.leaf_count + 1;
    const uint8_t *bytes = block->bytes.data, *ends = bytes;
    size_t offset = part > 0 ? firn_load_le32(ends + (part - 1) * sizeof(uint32_t)) : part_count * sizeof(uint32_t);
    return (struct firn_bytes){ bytes + offset, firn_load_le32(ends + part * sizeof(uint32_t)) - offset };
}

static firn_status load_keys(struct firn_op *op, const struct firn_run_merge *merge, struct loaded_block *block)
{
    struct firn_bytes part = part_of(merge, block, merge->config.run->schema.leaf_count), body;
    struct firn_run_part head;
    FIRN_TRY(firn_run_part_get(op, part, merge->config.run->codec, &block->key_body, &head, &body));
    return firn_run_keys_get(op, body, merge->config.key_width, head.row_count, &block->key_memory, &block->keys);
}

static bool has_more(const struct run_reader *reader)
{
    return reader->input ? firn_input_run_has_more(reader->input) : reader->next < reader->run->blocks.count;
}

/* The next batch of an input whose block is done. */
static firn_status load_batch(struct firn_op *op, struct run_reader *reader)
{
    FIRN_TRY(firn_input_run_next(op, reader->input));
    const struct loaded_block block = { .keys = firn_sort_batch_keys(&reader->input->reader.batch.keys) };
    if (block.keys.count > 0)
        FIRN_PUSH(op->arena, &reader->blocks, block);
    return FIRN_OK;
}

static firn_status load_block(struct firn_op *op, struct firn_run_merge *merge, struct run_reader *reader)
{
    const struct firn_run_block *place = &reader->run->blocks.items[reader->next++];
    struct loaded_block block = { 0 };
    FIRN_TRY(firn_op_check(op));
    firn_status status = firn_spill_get(op, merge->config.spill, place->offset, place->bytes, &block.bytes);
    if (merge->config.gives_back)
        firn_spill_drop(merge->config.spill, place->offset, place->bytes);
    if (status == FIRN_OK)
        status = place_parts(op, merge, &block);
    if (status == FIRN_OK)
        status = load_keys(op, merge, &block);
    block.held_bytes = place->held_bytes;
    merge->held_bytes += block.held_bytes;
    if (status == FIRN_OK)
        FIRN_PUSH(op->arena, &reader->blocks, block);
    else
        free_block(merge, &block);
    return status;
}

static struct firn_bytes last_key(const struct run_reader *reader)
{
    const struct firn_row_keys *keys = &reader->blocks.items[reader->blocks.count - 1].keys;
    return firn_row_key(keys, keys->count - 1);
}

/* The run whose blocks end first, of those that have more; NULL: no run has. */
static struct run_reader *first_to_end(const struct firn_run_merge *merge)
{
    struct run_reader *found = NULL;
    for (uint32_t i = 0; i < merge->reader_count; i++) {
        struct run_reader *reader = &merge->readers[i];
        if (!has_more(reader))
            continue;
        if (reader->blocks.count == 0)
            return reader;
        if (!found || firn_key_compare(last_key(reader), last_key(found)) < 0)
            found = reader;
    }
    return found;
}

/* Loads what comes next; at least one block of each run that has more, and just one of inputs. */
static firn_status fill(struct firn_op *op, struct firn_run_merge *merge, struct run_reader **ends_first)
{
    for (;;) {
        struct run_reader *reader = first_to_end(merge);
        bool is_empty = reader && reader->blocks.count == 0;
        *ends_first = reader;
        if (!reader || (!is_empty && (reader->input || merge->held_bytes >= merge->config.bytes_max)))
            return FIRN_OK;
        FIRN_TRY(reader->input ? load_batch(op, reader) : load_block(op, merge, reader));
    }
}

/* Choosing rows. */

/* The first row from `done` on whose key is above `most`; NULL: no key is. */
static uint32_t rows_up_to(const struct loaded_block *block, const struct firn_bytes *most)
{
    uint32_t low = block->done, high = block->keys.count;
    while (most && low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (firn_key_compare(firn_row_key(&block->keys, middle), *most) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

/* Adds the keys of the rows given of a block to those of the turn. */
static firn_status add_keys(struct firn_op *op, struct firn_run_merge *merge, const struct loaded_block *block)
{
    const struct firn_row_keys *keys = &block->keys;
    const uint8_t *begin = firn_row_key(keys, block->done).data;
    struct firn_bytes last = firn_row_key(keys, block->end - 1);
    uint64_t offset = merge->turn->keys.len;
    merge->turn->row_count += block->end - block->done;
    for (uint32_t row = block->done; row < block->end && keys->offsets; row++) {
        FIRN_TRY(firn_buffer_append(op, &merge->turn->key_offsets, &offset, sizeof offset));
        offset += firn_row_key(keys, row).len;
    }
    return firn_buffer_append(op, &merge->turn->keys, begin, (size_t)(last.data + last.len - begin));
}

/* Chooses the rows of the turn. `*only`: the input that all are of; NULL: there is none. */
static void choose_rows(struct firn_run_merge *merge, const struct firn_bytes *most, const struct run_reader **only)
{
    uint32_t block_count = 0;
    *only = NULL;
    for (uint32_t r = 0; r < merge->reader_count; r++) {
        const struct run_reader *reader = &merge->readers[r];
        for (size_t b = 0; b < reader->blocks.count; b++) {
            struct loaded_block *block = &reader->blocks.items[b];
            block->end = rows_up_to(block, most);
            if (block->end > block->done)
                *only = ++block_count == 1 && reader->input ? reader : NULL;
        }
    }
}

static firn_status join_keys(struct firn_op *op, struct firn_run_merge *merge)
{
    merge->turn->row_count = 0;
    firn_buffer_clear(&merge->turn->keys);
    firn_buffer_clear(&merge->turn->key_offsets);
    for (uint32_t r = 0; r < merge->reader_count; r++) {
        const struct run_reader *reader = &merge->readers[r];
        for (size_t b = 0; b < reader->blocks.count; b++)
            if (reader->blocks.items[b].end > reader->blocks.items[b].done)
                FIRN_TRY(add_keys(op, merge, &reader->blocks.items[b]));
    }
    uint64_t end = merge->turn->keys.len;
    return firn_buffer_append(op, &merge->turn->key_offsets, &end, sizeof end);
}

/* Their columns. */

/* What parts are loaded through. */
struct scratch {
    struct firn_buffer body;
    struct firn_run_values values;
};

static firn_status load_part(struct firn_op *op, const struct firn_run_merge *merge, const struct loaded_block *block,
                             uint32_t leaf, struct scratch *scratch)
{
    struct firn_held_column *column = &merge->turn->columns[leaf];
    struct firn_run_part head;
    struct firn_bytes body;
    struct firn_vector vector;
    FIRN_TRY(
        firn_run_part_get(op, part_of(merge, block, leaf), merge->config.run->codec, &scratch->body, &head, &body));
    FIRN_TRY(firn_run_vector_get(op, column->leaf, &head, body, &scratch->values, &vector));
    struct firn_vector done = firn_vector_part(&vector, 0, 0, block->done);
    vector = firn_vector_part(&vector, done.slot_count, done.value_count, block->end - block->done);
    return firn_held_column_append(op, column, &vector);
}

static firn_status load_rows(struct firn_op *op, const struct firn_run_merge *merge, const struct run_reader *reader,
                             const struct loaded_block *block, uint32_t leaf, struct scratch *scratch)
{
    if (!reader->input)
        return load_part(op, merge, block, leaf, scratch);
    return firn_held_column_append_rows(op, &merge->turn->columns[leaf], &reader->input->reader.batch.columns[leaf],
                                        block->done, block->end - block->done);
}

static firn_status load_leaf(struct firn_op *op, void *context, size_t index)
{
    const struct firn_run_merge *merge = context;
    uint32_t leaf = merge->config.run->leaf_order[index];
    struct scratch scratch = { 0 };
    firn_status status = FIRN_OK;
    firn_held_column_clear(&merge->turn->columns[leaf]);
    for (uint32_t r = 0; status == FIRN_OK && r < merge->reader_count; r++) {
        const struct run_reader *reader = &merge->readers[r];
        for (size_t b = 0; status == FIRN_OK && b < reader->blocks.count; b++)
            if (reader->blocks.items[b].end > reader->blocks.items[b].done)
                status = load_rows(op, merge, reader, &reader->blocks.items[b], leaf, &scratch);
    }
    firn_buffer_done(&scratch.body);
    firn_run_values_done(&scratch.values);
    return status;
}

/* The rows of the turn are gone, and with them blocks that have no more. */
static void pass_rows(struct firn_run_merge *merge)
{
    for (uint32_t r = 0; r < merge->reader_count; r++) {
        struct run_reader *reader = &merge->readers[r];
        size_t left = 0;
        for (size_t b = 0; b < reader->blocks.count; b++) {
            struct loaded_block *block = &reader->blocks.items[b];
            block->done = block->end;
            if (block->done < block->keys.count)
                reader->blocks.items[left++] = *block;
            else
                free_block(merge, block);
        }
        reader->blocks.count = left;
    }
}

static firn_status sort_rows(struct firn_op *op, struct firn_run_merge *merge, struct firn_sorted_rows *out)
{
    *out = (struct firn_sorted_rows){
        .columns = merge->turn->columns,
        .leaf_count = merge->config.run->schema.leaf_count,
        .keys = { .bytes = merge->turn->keys.data, .width = merge->config.key_width, .count = merge->turn->row_count },
        .count = merge->turn->row_count,
    };
    if (merge->config.key_width == 0)
        out->keys.offsets = (const uint64_t *)(const void *)merge->turn->key_offsets.data;
    FIRN_TRY(firn_key_sort(op, merge->config.run->context->pool, &out->keys, &merge->turn->order));
    out->order = (const uint32_t *)(const void *)merge->turn->order.data;
    return FIRN_OK;
}

/* Rows of one input, as they lie there. */
static firn_status give_rows(struct firn_op *op, struct firn_run_merge *merge, const struct run_reader *reader,
                             struct firn_sorted_rows *out)
{
    const struct loaded_block *block = &reader->blocks.items[0];
    uint32_t count = block->end - block->done;
    FIRN_TRY(firn_buffer_resize_array(op, &merge->turn->order, count, sizeof(uint32_t)));
    uint32_t *order = (uint32_t *)(void *)merge->turn->order.data;
    for (uint32_t i = 0; i < count; i++)
        order[i] = block->done + i;
    *out = (struct firn_sorted_rows){
        .columns = reader->input->reader.batch.columns,
        .leaf_count = merge->config.run->schema.leaf_count,
        .keys = block->keys,
        .order = order,
        .count = count,
    };
    return FIRN_OK;
}

firn_status firn_run_merge_next(struct firn_op *op, struct firn_run_merge *merge, struct firn_sorted_rows *out)
{
    const struct firn_group_run *run = merge->config.run;
    struct run_reader *ends_first;
    const struct run_reader *only;
    struct firn_bytes most;
    pass_rows(merge);
    if (merge->config.is_ahead)
        merge->turn = &merge->turns[merge->turn == &merge->turns[0]];
    FIRN_TRY(fill(op, merge, &ends_first));
    if (ends_first)
        most = last_key(ends_first);
    choose_rows(merge, ends_first ? &most : NULL, &only);
    if (only)
        return give_rows(op, merge, only, out);
    FIRN_TRY(join_keys(op, merge));
    FIRN_TRY(firn_pool_run(op, run->context->pool, run->schema.leaf_count, 0, load_leaf, merge));
    return sort_rows(op, merge, out);
}

static void free_turn(const struct firn_run_merge *merge, struct turn *turn)
{
    for (uint32_t i = 0; i < merge->config.run->schema.leaf_count; i++)
        firn_held_column_done(&turn->columns[i]);
    firn_buffer_done(&turn->keys);
    firn_buffer_done(&turn->key_offsets);
    firn_buffer_done(&turn->order);
}

void firn_run_merge_close(struct firn_run_merge *merge)
{
    if (!merge)
        return;
    for (uint32_t r = 0; r < merge->reader_count; r++)
        for (size_t b = 0; b < merge->readers[r].blocks.count; b++)
            free_block(merge, &merge->readers[r].blocks.items[b]);
    for (size_t i = 0; i < FIRN_COUNT_OF(merge->turns); i++)
        free_turn(merge, &merge->turns[i]);
}
