/* The hash join of orphan removal. All three sides are cut by the hash of a file's path, so what can meet is in the
 * partition of one number. */
#include "maintain/orphan_join.h"

#include "base/hash.h"
#include "base/math.h"
#include "store/store.h"

enum {
    CANDIDATE_BLOCK_BYTES = 32 << 10,
    KEY_BLOCK_BYTES = 16 << 10,
    CONFLICTS_MAX = 10, /* pairs that are told */
};

/* Scheme and authority, as they are compared. */
struct prefix {
    struct firn_text scheme;
    struct firn_text authority;
};

/* A known or confirmed file, as it is spilled and as it stands in a table of one partition. */
struct key {
    struct firn_hash128 hash; /* of the path; never zero: that is a free slot */
    uint64_t prefix_or_bytes;
    int64_t modified_ms; /* 0 for a known file */
};

/* A candidate, as it is spilled; its location follows. */
struct candidate {
    struct firn_hash128 hash;
    uint32_t prefix;
    uint32_t location_len;
    int64_t bytes;
    int64_t modified_ms;
};

/* Known files whose paths agree with a candidate's while scheme or authority do not. */
struct conflict {
    uint32_t known, candidate; /* prefixes */
    int64_t count;
    struct firn_text example;
};

struct firn_orphan_join {
    struct firn_orphan_join_config config;
    struct firn_spill_stream candidates[FIRN_JOIN_PARTITIONS];
    struct firn_spill_stream known[FIRN_JOIN_PARTITIONS];
    struct firn_spill_stream confirmed[FIRN_JOIN_PARTITIONS];
    FIRN_ARRAY(struct prefix) prefixes;
    struct firn_map prefix_ids; /* "scheme" NUL "authority" to place in `prefixes` */
    struct conflict conflicts[CONFLICTS_MAX];
    size_t conflict_count;
    int64_t conflict_files;
    struct firn_arena turn;  /* one file's scratch */
    struct firn_arena arena; /* holds the join itself */
};

struct firn_orphan_join *firn_orphan_join_open(const struct firn_orphan_join_config *config)
{
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct firn_orphan_join *join = FIRN_NEW(&arena, struct firn_orphan_join);
    join->config = *config;
    for (size_t p = 0; p < FIRN_JOIN_PARTITIONS; p++) {
        firn_spill_stream_init(&join->candidates[p], config->spill, CANDIDATE_BLOCK_BYTES);
        firn_spill_stream_init(&join->known[p], config->spill, KEY_BLOCK_BYTES);
        firn_spill_stream_init(&join->confirmed[p], config->spill, KEY_BLOCK_BYTES);
    }
    join->arena = arena;
    firn_map_init(&join->prefix_ids, &join->arena);
    return join;
}

void firn_orphan_join_close(struct firn_orphan_join *join)
{
    if (!join)
        return;
    for (size_t p = 0; p < FIRN_JOIN_PARTITIONS; p++) {
        firn_spill_stream_done(&join->candidates[p]);
        firn_spill_stream_done(&join->known[p]);
        firn_spill_stream_done(&join->confirmed[p]);
    }
    firn_arena_done(&join->turn);
    struct firn_arena arena = join->arena;
    firn_arena_done(&arena);
}

/* Filling the sides ---------------------------------------------------------------------------------------------- */

static uint32_t prefix_id(struct firn_orphan_join *join, struct firn_text scheme, struct firn_text authority)
{
    scheme = firn_prefix_names_find(join->config.schemes, scheme);
    authority = firn_prefix_names_find(join->config.authorities, authority);
    struct firn_text name = firn_text_format(&join->turn, "%.*s%c%.*s", FIRN_FMT(scheme), '\0', FIRN_FMT(authority));
    struct firn_map_entry *entry = firn_map_find_text(&join->prefix_ids, name);
    if (entry)
        return (uint32_t)entry->value.number;
    struct prefix prefix = { firn_text_copy(&join->arena, scheme), firn_text_copy(&join->arena, authority) };
    entry = firn_map_put_text(&join->prefix_ids, firn_text_copy(&join->arena, name));
    entry->value.number = join->prefixes.count;
    FIRN_PUSH(&join->arena, &join->prefixes, prefix);
    return (uint32_t)entry->value.number;
}

static struct firn_hash128 hash_path(struct firn_text path)
{
    struct firn_hash128 hash = firn_hash128(firn_bytes_of_text(path), 0);
    if (hash.low == 0 && hash.high == 0)
        hash.low = 1;
    return hash;
}

static size_t partition_of(struct firn_hash128 hash)
{
    return (size_t)(hash.high % FIRN_JOIN_PARTITIONS);
}

firn_status firn_orphan_join_candidate(struct firn_op *op, struct firn_orphan_join *join,
                                       const struct firn_orphan_file *file)
{
    uint8_t *record;
    if (file->location.len > UINT32_MAX)
        return firn_fail(op, FIRN_LIMIT, "a location of %zu bytes", file->location.len);
    firn_arena_reset(&join->turn);
    struct firn_location_parts parts = firn_location_split(&join->turn, file->location);
    bool is_plain_path = parts.scheme.len == 0 && parts.authority.len == 0; /* a local file, as a listing spells it */
    struct candidate candidate = {
        .hash = hash_path(parts.path),
        .prefix = prefix_id(join, is_plain_path ? FIRN_TEXT("file") : parts.scheme, parts.authority),
        .location_len = (uint32_t)file->location.len,
        .bytes = file->bytes,
        .modified_ms = file->modified_ms,
    };
    FIRN_TRY(firn_spill_append(op, &join->candidates[partition_of(candidate.hash)],
                               sizeof candidate + file->location.len, &record));
    memcpy(record, &candidate, sizeof candidate);
    memcpy(record + sizeof candidate, file->location.data, file->location.len);
    return FIRN_OK;
}

static firn_status append_key(struct firn_op *op, struct firn_spill_stream *streams, const struct key *key)
{
    uint8_t *record;
    FIRN_TRY(firn_spill_append(op, &streams[partition_of(key->hash)], sizeof *key, &record));
    memcpy(record, key, sizeof *key);
    return FIRN_OK;
}

firn_status firn_orphan_join_known(struct firn_op *op, struct firn_orphan_join *join, struct firn_text location)
{
    firn_arena_reset(&join->turn);
    struct firn_location_parts parts = firn_location_split(&join->turn, location);
    struct key key = {
        .hash = hash_path(parts.path),
        .prefix_or_bytes = prefix_id(join, parts.scheme, parts.authority),
    };
    return append_key(op, join->known, &key);
}

firn_status firn_orphan_join_confirm(struct firn_op *op, struct firn_orphan_join *join,
                                     const struct firn_orphan_file *file)
{
    firn_arena_reset(&join->turn);
    struct key key = {
        .hash = hash_path(firn_location_split(&join->turn, file->location).path),
        .prefix_or_bytes = (uint64_t)file->bytes,
        .modified_ms = file->modified_ms,
    };
    return append_key(op, join->confirmed, &key);
}

/* Tables of one partition ---------------------------------------------------------------------------------------- */

/* Keys by hash, with open addressing: those of one path follow each other up to the next free slot. */
struct table {
    struct firn_buffer slots; /* struct key */
    size_t slot_count;        /* a power of two, or 0 */
};

static struct key *slot_at(const struct table *table, size_t place)
{
    return (struct key *)(void *)table->slots.data + (place & (table->slot_count - 1));
}

static bool is_free(const struct key *key)
{
    return key->hash.low == 0 && key->hash.high == 0;
}

static bool same_hash(struct firn_hash128 a, struct firn_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static bool same_key(const struct key *a, const struct key *b)
{
    return same_hash(a->hash, b->hash) && a->prefix_or_bytes == b->prefix_or_bytes && a->modified_ms == b->modified_ms;
}

static void put_key(struct table *table, const struct key *key)
{
    size_t place = (size_t)key->hash.low;
    while (!is_free(slot_at(table, place)) && !same_key(slot_at(table, place), key))
        place++;
    *slot_at(table, place) = *key;
}

static firn_status make_slots(struct firn_op *op, struct table *table, uint64_t key_count)
{
    size_t bytes;
    table->slot_count = 16;
    while (table->slot_count < 2 * key_count)
        table->slot_count *= 2;
    if (key_count > SIZE_MAX / 4 || !firn_size_mul(table->slot_count, sizeof(struct key), &bytes))
        return firn_fail(op, FIRN_LIMIT, "%" PRIu64 " files in one partition", key_count);
    FIRN_TRY(firn_buffer_resize(op, &table->slots, bytes));
    memset(table->slots.data, 0, bytes);
    return FIRN_OK;
}

static firn_status load_keys(struct firn_op *op, struct firn_spill_stream *stream, struct firn_buffer *block,
                             struct table *table)
{
    bool got;
    struct key key;
    FIRN_TRY(firn_spill_finish(op, stream));
    FIRN_TRY(make_slots(op, table, stream->record_count));
    for (;;) {
        FIRN_TRY(firn_spill_next(op, stream, block, &got));
        if (!got)
            return FIRN_OK;
        for (size_t at = 0; at < block->len; at += sizeof key) {
            memcpy(&key, block->data + at, sizeof key);
            put_key(table, &key);
        }
    }
}

/* Joining -------------------------------------------------------------------------------------------------------- */

/* An empty scheme or authority of a known file agrees with any. */
static bool agrees(const struct firn_orphan_join *join, uint32_t known_id, uint32_t candidate_id)
{
    const struct prefix *known = &join->prefixes.items[known_id], *candidate = &join->prefixes.items[candidate_id];
    return known_id == candidate_id ||
           ((known->scheme.len == 0 || firn_text_same(known->scheme, candidate->scheme)) &&
            (known->authority.len == 0 || firn_text_same(known->authority, candidate->authority)));
}

enum verdict { VERDICT_ORPHAN, VERDICT_REFERENCED, VERDICT_MISMATCH };

/* Any known file that agrees makes the candidate a referenced one, whatever others there are. */
static enum verdict judge(const struct firn_orphan_join *join, const struct table *known,
                          const struct candidate *candidate, uint32_t *mismatch)
{
    enum verdict verdict = VERDICT_ORPHAN;
    for (size_t place = (size_t)candidate->hash.low; !is_free(slot_at(known, place)); place++) {
        const struct key *key = slot_at(known, place);
        if (!same_hash(key->hash, candidate->hash))
            continue;
        if (agrees(join, (uint32_t)key->prefix_or_bytes, candidate->prefix))
            return VERDICT_REFERENCED;
        *mismatch = (uint32_t)key->prefix_or_bytes;
        verdict = VERDICT_MISMATCH;
    }
    return verdict;
}

/* A size that one side does not know is not compared. */
static bool confirms(const struct key *key, const struct candidate *candidate)
{
    int64_t bytes = (int64_t)key->prefix_or_bytes;
    return same_hash(key->hash, candidate->hash) && key->modified_ms == candidate->modified_ms &&
           (bytes == candidate->bytes || bytes < 0 || candidate->bytes < 0);
}

static bool is_confirmed(const struct table *confirmed, const struct candidate *candidate)
{
    for (size_t place = (size_t)candidate->hash.low; !is_free(slot_at(confirmed, place)); place++)
        if (confirms(slot_at(confirmed, place), candidate))
            return true;
    return false;
}

static void note_conflict(struct firn_orphan_join *join, uint32_t known, uint32_t candidate, struct firn_text location)
{
    join->conflict_files++;
    for (size_t i = 0; i < join->conflict_count; i++) {
        struct conflict *conflict = &join->conflicts[i];
        if (conflict->known == known && conflict->candidate == candidate) {
            conflict->count++;
            return;
        }
    }
    if (join->conflict_count < CONFLICTS_MAX)
        join->conflicts[join->conflict_count++] =
            (struct conflict){ known, candidate, 1, firn_text_copy(&join->arena, location) };
}

/* One run over all partitions. */
struct run {
    struct firn_orphan_join *join;
    struct table known, confirmed;
    struct firn_buffer block;
    firn_orphan_join_visit *visit;
    void *context;
};

static firn_status judge_candidate(struct firn_op *op, struct run *run, const struct candidate *candidate,
                                   struct firn_text location)
{
    struct firn_orphan_join *join = run->join;
    uint32_t mismatch = 0;
    enum verdict verdict = judge(join, &run->known, candidate, &mismatch);
    if (verdict == VERDICT_MISMATCH && join->config.mismatch == FIRN_MISMATCH_ERROR)
        note_conflict(join, mismatch, candidate->prefix, location);
    if (verdict == VERDICT_REFERENCED || (verdict == VERDICT_MISMATCH && join->config.mismatch != FIRN_MISMATCH_DELETE))
        return FIRN_OK;
    struct firn_orphan_file file = { .location = location,
                                     .bytes = candidate->bytes,
                                     .modified_ms = candidate->modified_ms };
    return run->visit(op, run->context, &file, is_confirmed(&run->confirmed, candidate));
}

static firn_status judge_block(struct firn_op *op, struct run *run)
{
    struct candidate candidate;
    for (size_t at = 0; at < run->block.len;) {
        memcpy(&candidate, run->block.data + at, sizeof candidate);
        struct firn_text location = { (const char *)run->block.data + at + sizeof candidate, candidate.location_len };
        FIRN_TRY(judge_candidate(op, run, &candidate, location));
        at += sizeof candidate + candidate.location_len;
    }
    return FIRN_OK;
}

static firn_status run_partition(struct firn_op *op, struct run *run, size_t p)
{
    bool got;
    struct firn_spill_stream *candidates = &run->join->candidates[p];
    FIRN_TRY(firn_spill_finish(op, candidates));
    if (candidates->record_count == 0)
        return FIRN_OK;
    FIRN_TRY(load_keys(op, &run->join->known[p], &run->block, &run->known));
    FIRN_TRY(load_keys(op, &run->join->confirmed[p], &run->block, &run->confirmed));
    for (;;) {
        FIRN_TRY(firn_spill_next(op, candidates, &run->block, &got));
        if (!got)
            return FIRN_OK;
        FIRN_TRY(judge_block(op, run));
    }
}

static struct firn_text prefix_text(struct firn_arena *arena, const struct prefix *prefix)
{
    return firn_text_format(arena, "%.*s://%.*s", FIRN_FMT(prefix->scheme), FIRN_FMT(prefix->authority));
}

static firn_status fail_conflicts(struct firn_op *op, const struct firn_orphan_join *join)
{
    struct firn_text pairs = FIRN_TEXT("");
    for (size_t i = 0; i < join->conflict_count; i++) {
        const struct conflict *conflict = &join->conflicts[i];
        pairs = firn_text_format(
            op->arena, "%.*s%s'%.*s' recorded but '%.*s' listed (%" PRId64 " files, such as '%.*s')", FIRN_FMT(pairs),
            i ? "; " : "", FIRN_FMT(prefix_text(op->arena, &join->prefixes.items[conflict->known])),
            FIRN_FMT(prefix_text(op->arena, &join->prefixes.items[conflict->candidate])), conflict->count,
            FIRN_FMT(conflict->example));
    }
    firn_status status = firn_fail(op, FIRN_USAGE,
                                   "%" PRId64 " files are recorded by the table under the same path but with another "
                                   "scheme or authority, so whether they are orphans cannot be told: %.*s",
                                   join->conflict_files, FIRN_FMT(pairs));
    return firn_hint(op, status,
                     "declare them equal with --equal-schemes or --equal-authorities; or say with "
                     "--prefix-mismatch-mode IGNORE that such files stay, or with DELETE that they are other files");
}

firn_status firn_orphan_join_run(struct firn_op *op, struct firn_orphan_join *join, firn_orphan_join_visit *visit,
                                 void *context)
{
    struct run run = { .join = join, .visit = visit, .context = context };
    firn_status status = FIRN_OK;
    for (size_t p = 0; p < FIRN_JOIN_PARTITIONS && status == FIRN_OK; p++)
        status = run_partition(op, &run, p);
    firn_buffer_done(&run.known.slots);
    firn_buffer_done(&run.confirmed.slots);
    firn_buffer_done(&run.block);
    FIRN_TRY(status);
    return join->conflict_files > 0 ? fail_conflicts(op, join) : FIRN_OK;
}
