/* Spreading keys and rows over parts, and which parts are in memory. */
#include "rewrite/key_join.h"

#include "base/math.h"
#include "rewrite/key_part.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    PARTS_MAX = 256,
    BLOCK_BYTES_MIN = 4096,
    BLOCK_BYTES_MAX = 1 << 18,
    PART_BYTES_MIN = 1 << 18, /* smaller parts are no gain */
    PREFETCH_KEYS = 8,
};

/* A guess for keys of any length, which are not known before they are read. */
#define ANY_KEY_BYTES 24

struct part {
    pthread_mutex_t lock; /* while keys are added, and for the streams */
    struct firn_key_part state;
};

struct firn_key_join {
    struct firn_key_join_config config;
    uint32_t part_count;
    size_t block_bytes;            /* of a stream */
    uint64_t table_bytes_max;      /* of all tables together */
    uint64_t part_keys;            /* expected of one part */
    uint64_t spill_bytes;          /* expected, 0: unknown */
    atomic_uint_fast64_t reserved; /* bytes of tables in memory */
    pthread_mutex_t spill_lock;
    struct firn_spill *spill; /* NULL: nothing had to be spilled yet */
    struct part parts[];
};

/* Opening. -------------------------------------------------------------------------------------------------------- */

static uint64_t expected_bytes(const struct firn_key_join_config *config, uint64_t count)
{
    return firn_key_table_bytes_for(config->layout->key_bytes, count, count * ANY_KEY_BYTES);
}

/* Parts small enough that every thread can join one of them at the end, and so many that threads that add keys seldom
 * meet; but no more than have room for a buffer each. */
static uint32_t choose_part_count(const struct firn_key_join_config *config, uint64_t memory)
{
    uint64_t bytes = expected_bytes(config, config->key_count);
    uint64_t wanted = FIRN_MIN(memory / (2 * firn_pool_thread_count(config->pool)), bytes / 64);
    uint64_t count = bytes / FIRN_MAX(wanted, FIRN_MIN(PART_BYTES_MIN, memory / 8)) + 1;
    uint64_t buffers = memory / 4 / BLOCK_BYTES_MIN;
    return (uint32_t)FIRN_MIN(FIRN_MIN(count, FIRN_MAX(buffers, 2)), PARTS_MAX);
}

static void init_parts(struct firn_key_join *join)
{
    pthread_mutex_init(&join->spill_lock, NULL);
    for (uint32_t i = 0; i < join->part_count; i++) {
        pthread_mutex_init(&join->parts[i].lock, NULL);
        firn_key_table_init(&join->parts[i].state.table, join->config.layout->key_bytes, 0);
    }
}

static firn_status spill_part(struct firn_op *op, struct firn_key_join *join, struct part *part);

/* Parts that can be seen not to fit begin outside of memory. */
static firn_status spill_excess(struct firn_op *op, struct firn_key_join *join)
{
    uint64_t part_bytes = expected_bytes(&join->config, join->part_keys);
    uint64_t fitting = FIRN_MIN(join->table_bytes_max / FIRN_MAX(part_bytes, 1), join->part_count);
    uint32_t key_bytes = join->config.layout->key_bytes;
    if (key_bytes > 0)
        join->spill_bytes = firn_key_part_spill_bytes(key_bytes, join->config.key_count, join->config.row_count) /
                            join->part_count * (join->part_count - fitting);
    for (uint64_t i = fitting; i < join->part_count; i++)
        FIRN_TRY(spill_part(op, join, &join->parts[i]));
    return FIRN_OK;
}

firn_status firn_key_join_open(struct firn_op *op, const struct firn_key_join_config *config,
                               struct firn_key_join **out)
{
    uint64_t memory = FIRN_MAX(config->memory_bytes_max, FIRN_KEY_JOIN_MEMORY_MIN);
    uint32_t part_count = choose_part_count(config, memory);
    struct firn_key_join *join = calloc(1, sizeof *join + part_count * sizeof *join->parts);
    if (!join)
        return firn_fail(op, FIRN_LIMIT, "no memory for a join");
    join->config = *config;
    join->part_count = part_count;
    join->part_keys = config->key_count / part_count + 1;
    join->part_keys += join->part_keys / 32; /* no hash spreads quite evenly */
    uint64_t block_bytes = memory / 4 / part_count;
    join->block_bytes = (size_t)FIRN_MIN(FIRN_MAX(block_bytes, BLOCK_BYTES_MIN), BLOCK_BYTES_MAX);
    join->table_bytes_max = memory - FIRN_MIN(memory / 2, join->block_bytes * part_count);
    init_parts(join);
    firn_status status = spill_excess(op, join);
    if (status != FIRN_OK) {
        firn_key_join_close(join);
        return status;
    }
    *out = join;
    return FIRN_OK;
}

void firn_key_join_close(struct firn_key_join *join)
{
    if (!join)
        return;
    for (uint32_t i = 0; i < join->part_count; i++) {
        firn_key_part_done(&join->parts[i].state);
        pthread_mutex_destroy(&join->parts[i].lock);
    }
    pthread_mutex_destroy(&join->spill_lock);
    firn_spill_close(join->spill);
    free(join);
}

uint64_t firn_key_join_spilled_bytes(const struct firn_key_join *join)
{
    return join->spill ? firn_spill_bytes(join->spill) : 0;
}

/* Memory. --------------------------------------------------------------------------------------------------------- */

static firn_status get_spill(struct firn_op *op, struct firn_key_join *join, struct firn_spill **out)
{
    struct firn_spill_config config = { .expected_bytes = join->spill_bytes };
    firn_status status = FIRN_OK;
    pthread_mutex_lock(&join->spill_lock);
    if (!join->spill)
        status = firn_spill_open(op, &config, &join->spill);
    *out = join->spill;
    pthread_mutex_unlock(&join->spill_lock);
    return status;
}

static firn_status spill_part(struct firn_op *op, struct firn_key_join *join, struct part *part)
{
    struct firn_spill *spill;
    uint64_t bytes = firn_key_table_bytes(&part->state.table);
    FIRN_TRY(get_spill(op, join, &spill));
    FIRN_TRY(firn_key_part_spill(op, &part->state, spill, join->block_bytes));
    atomic_fetch_sub(&join->reserved, bytes);
    return FIRN_OK;
}

static bool reserve(struct firn_key_join *join, uint64_t bytes)
{
    if (atomic_fetch_add(&join->reserved, bytes) + bytes <= join->table_bytes_max)
        return true;
    atomic_fetch_sub(&join->reserved, bytes);
    return false;
}

/* Makes room for `count` more keys of `bytes` in all; a part that cannot get it is spilled. While a table grows, the
 * old and the new one are there. */
static firn_status make_room(struct firn_op *op, struct firn_key_join *join, struct part *part, uint64_t count,
                             uint64_t bytes)
{
    struct firn_key_table *table = &part->state.table;
    if (part->state.spilled || firn_key_table_has_room(table, count, bytes))
        return FIRN_OK;
    uint64_t keys = table->count == 0 ? FIRN_MAX(count, join->part_keys) : count;
    uint64_t before = firn_key_table_bytes(table), after = firn_key_table_bytes_grown(table, keys, bytes);
    if (!reserve(join, after))
        return spill_part(op, join, part);
    firn_status status = firn_key_table_grow(op, table, keys, bytes);
    uint64_t now = firn_key_table_bytes(table);
    atomic_fetch_sub(&join->reserved, before + after - now);
    return status == FIRN_LIMIT ? spill_part(op, join, part) : status;
}

/* Batches. -------------------------------------------------------------------------------------------------------- */

/* The keys of a batch by part: order[starts[i]] to order[starts[i + 1]] are the indices of those of part i. */
struct spread {
    const uint64_t *hashes;
    const uint32_t *order;
    uint32_t starts[PARTS_MAX + 1];
};

static firn_status spread_batch(struct firn_op *op, const struct firn_key_join *join, struct firn_key_batch *batch,
                                struct spread *out)
{
    uint32_t next[PARTS_MAX] = { 0 };
    FIRN_TRY(firn_buffer_resize(op, &batch->hashes, batch->count * sizeof(uint64_t)));
    FIRN_TRY(firn_buffer_resize(op, &batch->order, batch->count * sizeof(uint32_t)));
    uint64_t *hashes = (uint64_t *)(void *)batch->hashes.data;
    uint32_t *order = (uint32_t *)(void *)batch->order.data;
    for (uint32_t i = 0; i < batch->count; i++) {
        hashes[i] = firn_key_hash(firn_key_batch_key(batch, i), 0);
        next[firn_key_part_of(hashes[i], join->part_count)]++;
    }
    out->starts[0] = 0;
    for (uint32_t i = 0; i < join->part_count; i++) {
        out->starts[i + 1] = out->starts[i] + next[i];
        next[i] = out->starts[i];
    }
    for (uint32_t i = 0; i < batch->count; i++)
        order[next[firn_key_part_of(hashes[i], join->part_count)]++] = i;
    out->hashes = hashes;
    out->order = order;
    return FIRN_OK;
}

static void prefetch(const struct firn_key_table *table, const struct spread *spread, uint32_t at, uint32_t end)
{
    if (at + PREFETCH_KEYS < end)
        firn_key_table_prefetch(table, spread->hashes[spread->order[at + PREFETCH_KEYS]]);
}

static uint64_t key_bytes(const struct firn_key_batch *keys, const struct spread *spread, uint32_t part)
{
    uint64_t bytes = 0;
    for (uint32_t i = spread->starts[part]; keys->key_bytes == 0 && i < spread->starts[part + 1]; i++)
        bytes += firn_key_batch_key(keys, spread->order[i]).len;
    return bytes;
}

/* With the part's lock held. */
static firn_status add_to_part(struct firn_op *op, struct firn_key_join *join, uint32_t index,
                               const struct firn_key_batch *keys, const struct spread *spread, uint32_t ordinal)
{
    struct part *part = &join->parts[index];
    uint32_t start = spread->starts[index], end = spread->starts[index + 1];
    FIRN_TRY(make_room(op, join, part, end - start, key_bytes(keys, spread, index)));
    for (uint32_t i = start; i < end; i++) {
        uint32_t row = spread->order[i];
        struct firn_bytes key = firn_key_batch_key(keys, row);
        if (part->state.spilled) {
            FIRN_TRY(firn_key_part_append_key(op, &part->state, key, ordinal));
            continue;
        }
        prefetch(&part->state.table, spread, i, end);
        firn_key_table_put(&part->state.table, key, spread->hashes[row], ordinal);
    }
    return FIRN_OK;
}

firn_status firn_key_join_add(struct firn_op *op, struct firn_key_join *join, struct firn_key_batch *keys,
                              uint32_t ordinal)
{
    struct spread spread;
    FIRN_TRY(spread_batch(op, join, keys, &spread));
    for (uint32_t i = 0; i < join->part_count; i++) {
        if (spread.starts[i] == spread.starts[i + 1])
            continue;
        pthread_mutex_lock(&join->parts[i].lock);
        firn_status status = add_to_part(op, join, i, keys, &spread, ordinal);
        pthread_mutex_unlock(&join->parts[i].lock);
        FIRN_TRY(status);
    }
    return FIRN_OK;
}

firn_status firn_key_join_seal(struct firn_op *op, struct firn_key_join *join)
{
    for (uint32_t i = 0; i < join->part_count; i++)
        if (join->parts[i].state.spilled)
            FIRN_TRY(firn_spill_finish(op, &join->parts[i].state.keys));
    return FIRN_OK;
}

static firn_status look_up(struct firn_op *op, const struct firn_key_join *join, uint32_t index,
                           const struct firn_key_rows *rows, const struct spread *spread, firn_key_join_hit *hit,
                           void *context)
{
    const struct firn_key_table *table = &join->parts[index].state.table;
    uint32_t end = spread->starts[index + 1];
    for (uint32_t i = spread->starts[index]; i < end; i++) {
        uint32_t row = spread->order[i];
        prefetch(table, spread, i, end);
        uint32_t ordinal = firn_key_table_find(table, firn_key_batch_key(rows->keys, row), spread->hashes[row]);
        if (ordinal > join->config.file_ordinals[rows->file])
            FIRN_TRY(hit(op, context, rows->file, rows->first + row));
    }
    return FIRN_OK;
}

/* With the part's lock held. */
static firn_status defer_rows(struct firn_op *op, struct firn_key_join *join, uint32_t index,
                              const struct firn_key_rows *rows, const struct spread *spread)
{
    struct firn_key_part *part = &join->parts[index].state;
    for (uint32_t i = spread->starts[index]; i < spread->starts[index + 1]; i++) {
        uint32_t row = spread->order[i];
        struct firn_bytes key = firn_key_batch_key(rows->keys, row);
        FIRN_TRY(firn_key_part_append_row(op, part, key, rows->file, rows->first + row));
    }
    return FIRN_OK;
}

static firn_status probe_part(struct firn_op *op, struct firn_key_join *join, uint32_t index,
                              const struct firn_key_rows *rows, const struct spread *spread, firn_key_join_hit *hit,
                              void *context)
{
    struct part *part = &join->parts[index];
    if (!part->state.spilled)
        return part->state.table.count > 0 ? look_up(op, join, index, rows, spread, hit, context) : FIRN_OK;
    if (part->state.keys.record_count == 0)
        return FIRN_OK;
    pthread_mutex_lock(&part->lock);
    firn_status status = defer_rows(op, join, index, rows, spread);
    pthread_mutex_unlock(&part->lock);
    return status;
}

firn_status firn_key_join_probe(struct firn_op *op, struct firn_key_join *join, const struct firn_key_rows *rows,
                                firn_key_join_hit *hit, void *context)
{
    struct spread spread;
    FIRN_TRY(spread_batch(op, join, rows->keys, &spread));
    for (uint32_t i = 0; i < join->part_count; i++)
        if (spread.starts[i] < spread.starts[i + 1])
            FIRN_TRY(probe_part(op, join, i, rows, &spread, hit, context));
    return FIRN_OK;
}

/* The end. -------------------------------------------------------------------------------------------------------- */

struct finishing {
    struct firn_key_join *join;
    struct firn_key_part_join part_join;
};

static firn_status finish_part(struct firn_op *op, void *context, size_t index)
{
    const struct finishing *finishing = context;
    struct firn_key_part *part = &finishing->join->parts[index].state;
    if (!part->spilled)
        return FIRN_OK;
    FIRN_TRY(firn_spill_finish(op, &part->rows));
    FIRN_TRY(firn_key_part_join(op, &finishing->part_join, part, 0));
    firn_key_part_done(part);
    return FIRN_OK;
}

/* How many parts can be joined at once, by what the largest seems to need. */
static uint32_t finish_width(const struct firn_key_join *join)
{
    uint64_t largest = 1;
    for (uint32_t i = 0; i < join->part_count; i++) {
        const struct firn_spill_stream *keys = &join->parts[i].state.keys;
        uint32_t width = join->config.layout->key_bytes;
        largest = FIRN_MAX(largest, firn_key_table_bytes_for(width, keys->record_count, keys->bytes));
    }
    uint64_t most = join->table_bytes_max / (2 * largest); /* twice: while a table grows */
    return (uint32_t)FIRN_MAX(FIRN_MIN(most, firn_pool_thread_count(join->config.pool)), 1);
}

firn_status firn_key_join_finish(struct firn_op *op, struct firn_key_join *join, firn_key_join_hit *hit, void *context)
{
    if (!join->spill)
        return FIRN_OK;
    for (uint32_t i = 0; i < join->part_count; i++)
        if (!join->parts[i].state.spilled)
            firn_key_table_done(&join->parts[i].state.table);
    uint32_t width = finish_width(join);
    struct finishing finishing = {
        .join = join,
        .part_join = {
            .spill = join->spill,
            .block_bytes = BLOCK_BYTES_MIN,
            .table_bytes_max = join->table_bytes_max / 2 / width,
            .fanout = (uint32_t)FIRN_MAX(FIRN_MIN(join->table_bytes_max / 2 / width / BLOCK_BYTES_MIN, 16), 2),
            .file_ordinals = join->config.file_ordinals,
            .hit = hit,
            .context = context,
        },
    };
    return firn_pool_run(op, join->config.pool, join->part_count, width, finish_part, &finishing);
}
