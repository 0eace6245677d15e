/* Spilled parts: their records, and joining them one by one, dividing those that do not fit. */
#include "rewrite/key_part.h"

#include "base/math.h"

/* Each level divides by its own hash: keys that are still together after so many are too many, or too long. */
enum { LEVELS_MAX = 8 };

/* A record is a head, the key's length where keys have any length, and the key. Heads: of keys the ordinal, of rows the
 * file and the position. */
enum { KEY_HEAD_BYTES = 4, ROW_HEAD_BYTES = 4 + 8, LENGTH_BYTES = 4 };

static firn_status append(struct firn_op *op, struct firn_spill_stream *stream, uint32_t key_bytes,
                          struct firn_bytes head, struct firn_bytes key)
{
    uint8_t *at;
    uint32_t len = (uint32_t)key.len;
    FIRN_TRY(firn_spill_append(op, stream, head.len + (key_bytes > 0 ? 0 : LENGTH_BYTES) + key.len, &at));
    memcpy(at, head.data, head.len);
    at += head.len;
    if (key_bytes == 0) {
        memcpy(at, &len, sizeof len);
        at += sizeof len;
    }
    memcpy(at, key.data, key.len);
    return FIRN_OK;
}

firn_status firn_key_part_append_key(struct firn_op *op, struct firn_key_part *part, struct firn_bytes key,
                                     uint32_t ordinal)
{
    struct firn_bytes head = { (const uint8_t *)&ordinal, sizeof ordinal };
    return append(op, &part->keys, part->table.key_bytes, head, key);
}

firn_status firn_key_part_append_row(struct firn_op *op, struct firn_key_part *part, struct firn_bytes key,
                                     uint32_t file, int64_t position)
{
    uint8_t head[ROW_HEAD_BYTES];
    memcpy(head, &file, sizeof file);
    memcpy(head + sizeof file, &position, sizeof position);
    return append(op, &part->rows, part->table.key_bytes, (struct firn_bytes){ head, sizeof head }, key);
}

static void begin_streams(struct firn_key_part *part, struct firn_spill *spill, size_t block_bytes)
{
    part->spilled = true;
    firn_spill_stream_init(&part->keys, spill, block_bytes);
    firn_spill_stream_init(&part->rows, spill, block_bytes);
}

firn_status firn_key_part_spill(struct firn_op *op, struct firn_key_part *part, struct firn_spill *spill,
                                size_t block_bytes)
{
    uint64_t at = 0;
    struct firn_bytes key;
    uint32_t ordinal;
    begin_streams(part, spill, block_bytes);
    while (firn_key_table_next(&part->table, &at, &key, &ordinal))
        FIRN_TRY(firn_key_part_append_key(op, part, key, ordinal));
    firn_key_table_done(&part->table);
    return FIRN_OK;
}

uint64_t firn_key_part_spill_bytes(uint32_t key_bytes, uint64_t key_count, uint64_t row_count)
{
    return key_count * (KEY_HEAD_BYTES + key_bytes) + row_count * (ROW_HEAD_BYTES + key_bytes);
}

void firn_key_part_done(struct firn_key_part *part)
{
    firn_key_table_done(&part->table);
    firn_spill_stream_done(&part->keys);
    firn_spill_stream_done(&part->rows);
}

/* Reading records back. ------------------------------------------------------------------------------------------- */

struct records {
    struct firn_spill_stream *stream;
    uint32_t key_bytes, head_bytes;
    struct firn_buffer block;
    size_t at;
};

struct record {
    const uint8_t *head;
    struct firn_bytes key;
};

static firn_status next_record(struct firn_op *op, struct records *records, struct record *out, bool *got)
{
    *got = true;
    if (records->at == records->block.len) {
        FIRN_TRY(firn_spill_next(op, records->stream, &records->block, got));
        records->at = 0;
        if (!*got)
            return FIRN_OK;
    }
    const uint8_t *at = records->block.data + records->at;
    uint32_t len = records->key_bytes;
    out->head = at;
    at += records->head_bytes;
    if (len == 0) {
        memcpy(&len, at, sizeof len);
        at += sizeof len;
    }
    out->key = (struct firn_bytes){ at, len };
    records->at = (size_t)(at + len - records->block.data);
    return FIRN_OK;
}

static uint32_t record_ordinal(const struct record *record)
{
    uint32_t ordinal;
    memcpy(&ordinal, record->head, sizeof ordinal);
    return ordinal;
}

static uint32_t record_file(const struct record *record)
{
    return record_ordinal(record);
}

static int64_t record_position(const struct record *record)
{
    int64_t position;
    memcpy(&position, record->head + sizeof(uint32_t), sizeof position);
    return position;
}

/* Joining. -------------------------------------------------------------------------------------------------------- */

/* A part being joined. */
struct joining {
    const struct firn_key_part_join *join;
    struct firn_key_part *part;
    struct firn_key_table table;
    struct records keys, rows;
};

static firn_status make_room(struct firn_op *op, struct joining *joining, struct firn_bytes key, bool *has_room)
{
    struct firn_key_table *table = &joining->table;
    *has_room = true;
    if (firn_key_table_has_room(table, 1, key.len))
        return FIRN_OK;
    /* Little of what was read may be new, so that guesses grow from small ones. */
    uint64_t count = FIRN_MAX(table->count, 64), bytes = FIRN_MAX(table->records.len, key.len);
    if (firn_key_table_bytes_grown(table, count, bytes) > joining->join->table_bytes_max)
        count = 1, bytes = key.len;
    *has_room = firn_key_table_bytes_grown(table, count, bytes) <= joining->join->table_bytes_max;
    if (!*has_room)
        return FIRN_OK;
    firn_status status = firn_key_table_grow(op, table, count, bytes);
    *has_room = status == FIRN_OK;
    return status == FIRN_LIMIT ? FIRN_OK : status;
}

/* Fills the table from the stream; stops at the first key that does not fit, which is given. */
static firn_status fill_table(struct firn_op *op, struct joining *joining, struct record *left, bool *fits)
{
    bool got = true;
    *fits = true;
    for (;;) {
        FIRN_TRY(next_record(op, &joining->keys, left, &got));
        if (!got)
            return FIRN_OK;
        FIRN_TRY(make_room(op, joining, left->key, fits));
        if (!*fits)
            return FIRN_OK;
        uint64_t hash = firn_key_hash(left->key, joining->table.seed);
        firn_key_table_put(&joining->table, left->key, hash, record_ordinal(left));
    }
}

static firn_status look_up_rows(struct firn_op *op, struct joining *joining)
{
    const struct firn_key_part_join *join = joining->join;
    for (;;) {
        struct record row;
        bool got;
        FIRN_TRY(next_record(op, &joining->rows, &row, &got));
        if (!got)
            return FIRN_OK;
        uint32_t file = record_file(&row);
        uint64_t hash = firn_key_hash(row.key, joining->table.seed);
        if (firn_key_table_find(&joining->table, row.key, hash) > join->file_ordinals[file])
            FIRN_TRY(join->hit(op, join->context, file, record_position(&row)));
    }
}

static struct firn_key_part *child_of(const struct joining *joining, struct firn_key_part *children,
                                      struct firn_bytes key, unsigned level)
{
    return &children[firn_key_part_of(firn_key_hash(key, level), joining->join->fanout)];
}

/* What the table took already, the key it had no room for, and the rest. */
static firn_status divide_keys(struct firn_op *op, struct joining *joining, struct record first,
                               struct firn_key_part *children, unsigned level)
{
    uint64_t at = 0;
    struct firn_bytes key;
    uint32_t ordinal;
    while (firn_key_table_next(&joining->table, &at, &key, &ordinal))
        FIRN_TRY(firn_key_part_append_key(op, child_of(joining, children, key, level), key, ordinal));
    firn_key_table_done(&joining->table);
    for (bool got = true; got;) {
        struct firn_key_part *child = child_of(joining, children, first.key, level);
        FIRN_TRY(firn_key_part_append_key(op, child, first.key, record_ordinal(&first)));
        FIRN_TRY(next_record(op, &joining->keys, &first, &got));
    }
    for (uint32_t i = 0; i < joining->join->fanout; i++)
        FIRN_TRY(firn_spill_finish(op, &children[i].keys));
    return FIRN_OK;
}

static firn_status divide_rows(struct firn_op *op, struct joining *joining, struct firn_key_part *children,
                               unsigned level)
{
    for (;;) {
        struct record row;
        bool got;
        FIRN_TRY(next_record(op, &joining->rows, &row, &got));
        if (!got)
            break;
        struct firn_key_part *child = child_of(joining, children, row.key, level);
        if (child->keys.record_count > 0)
            FIRN_TRY(firn_key_part_append_row(op, child, row.key, record_file(&row), record_position(&row)));
    }
    for (uint32_t i = 0; i < joining->join->fanout; i++)
        FIRN_TRY(firn_spill_finish(op, &children[i].rows));
    return FIRN_OK;
}

static firn_status fail_limit(struct firn_op *op, const struct joining *joining)
{
    firn_status status = firn_fail(op, FIRN_LIMIT,
                                   "%" PRIu64 " keys of equality deletes do not fit in %" PRIu64
                                   " bytes, and dividing them %d times left them together",
                                   joining->part->keys.record_count, joining->join->table_bytes_max, LEVELS_MAX);
    return firn_hint(op, status, "raise --memory");
}

static firn_status divide(struct firn_op *op, struct joining *joining, struct record first, unsigned level)
{
    const struct firn_key_part_join *join = joining->join;
    if (level > LEVELS_MAX)
        return fail_limit(op, joining);
    struct firn_key_part *children = FIRN_NEW_ARRAY(op->arena, struct firn_key_part, join->fanout);
    for (uint32_t i = 0; i < join->fanout; i++) {
        firn_key_table_init(&children[i].table, joining->table.key_bytes, 0);
        begin_streams(&children[i], join->spill, join->block_bytes);
    }
    firn_status status = divide_keys(op, joining, first, children, level);
    if (status == FIRN_OK)
        status = divide_rows(op, joining, children, level);
    firn_buffer_done(&joining->keys.block);
    firn_buffer_done(&joining->rows.block);
    for (uint32_t i = 0; i < join->fanout; i++) {
        if (status == FIRN_OK)
            status = firn_key_part_join(op, join, &children[i], level);
        firn_key_part_done(&children[i]);
    }
    return status;
}

firn_status firn_key_part_join(struct firn_op *op, const struct firn_key_part_join *join, struct firn_key_part *part,
                               unsigned level)
{
    uint32_t key_bytes = part->table.key_bytes;
    struct joining joining = {
        .join = join,
        .part = part,
        .keys = { .stream = &part->keys, .key_bytes = key_bytes, .head_bytes = KEY_HEAD_BYTES },
        .rows = { .stream = &part->rows, .key_bytes = key_bytes, .head_bytes = ROW_HEAD_BYTES },
    };
    struct record left;
    bool fits;
    if (part->rows.record_count == 0)
        return FIRN_OK;
    firn_key_table_init(&joining.table, key_bytes, level);
    firn_status status = fill_table(op, &joining, &left, &fits);
    if (status == FIRN_OK)
        status = fits ? look_up_rows(op, &joining) : divide(op, &joining, left, level + 1);
    firn_key_table_done(&joining.table);
    firn_buffer_done(&joining.keys.block);
    firn_buffer_done(&joining.rows.block);
    return status;
}
