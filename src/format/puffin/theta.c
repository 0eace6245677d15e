/* Theta sketches: hashing, a hash table that forgets what is too large, and the compact form.
 * Apache DataSketches, "Theta Sketch Framework", serial version 3. */
#include "format/puffin/theta.h"

#include "base/cursor.h"
#include "base/math.h"

#include <stdlib.h>

#define SEED UINT64_C(9001)

enum {
    SLOTS_MIN = 32,
    SLOTS_MAX = 2 * FIRN_THETA_ENTRIES,
};

/* The preamble. */
enum {
    PREAMBLE_EMPTY = 1, /* its length in 8-byte words; a single hash follows it at once */
    PREAMBLE_EXACT = 2, /* with a count */
    PREAMBLE_ESTIMATE = 3,
    SERIAL_VERSION = 3,
    FAMILY_COMPACT = 3,
    FLAG_READ_ONLY = 2,
    FLAG_EMPTY = 4,
    FLAG_COMPACT = 8,
    FLAG_ORDERED = 16,
    FLAG_SINGLE = 32,
};

/* MurmurHash3 (public domain, Austin Appleby), x64, 128 bits ------------------------------------------------------- */

#define C1 UINT64_C(0x87c37b91114253d5)
#define C2 UINT64_C(0x4cf5ad432745937f)

static uint64_t rotate(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

static uint64_t mix_low(uint64_t word)
{
    return rotate(word * C1, 31) * C2;
}

static uint64_t mix_high(uint64_t word)
{
    return rotate(word * C2, 33) * C1;
}

static uint64_t finish_word(uint64_t word)
{
    word = (word ^ (word >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    word = (word ^ (word >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return word ^ (word >> 33);
}

struct firn_hash128 firn_murmur3_128(struct firn_bytes bytes, uint64_t seed)
{
    struct firn_hash128 hash = { seed, seed };
    uint8_t rest[16] = { 0 };
    size_t blocks = bytes.len / 16, left = bytes.len % 16;
    for (size_t i = 0; i < blocks; i++) {
        hash.low ^= mix_low(firn_load_le64(bytes.data + i * 16));
        hash.low = (rotate(hash.low, 27) + hash.high) * 5 + 0x52dce729;
        hash.high ^= mix_high(firn_load_le64(bytes.data + i * 16 + 8));
        hash.high = (rotate(hash.high, 31) + hash.low) * 5 + 0x38495ab5;
    }
    if (left > 0)
        memcpy(rest, bytes.data + blocks * 16, left);
    hash.low ^= mix_low(firn_load_le64(rest)) ^ bytes.len;
    hash.high ^= mix_high(firn_load_le64(rest + 8)) ^ bytes.len;
    hash.low += hash.high;
    hash.high += hash.low;
    hash.low = finish_word(hash.low);
    hash.high = finish_word(hash.high);
    hash.low += hash.high;
    hash.high += hash.low;
    return hash;
}

uint64_t firn_theta_hash(struct firn_bytes value)
{
    return firn_murmur3_128(value, SEED).low >> 1;
}

/* Tells sketches of different seeds apart. */
static uint16_t seed_hash(void)
{
    uint8_t seed[8];
    firn_store_le64(seed, SEED);
    return (uint16_t)firn_murmur3_128((struct firn_bytes){ seed, sizeof seed }, 0).low;
}

/* Filling -------------------------------------------------------------------------------------------------------- */

void firn_theta_init(struct firn_theta *sketch)
{
    *sketch = (struct firn_theta){ .theta = FIRN_THETA_ALL };
}

void firn_theta_done(struct firn_theta *sketch)
{
    firn_buffer_done(&sketch->slots);
}

static uint64_t *slots_of(const struct firn_theta *sketch)
{
    return (uint64_t *)(void *)sketch->slots.data;
}

static size_t slot_count(const struct firn_theta *sketch)
{
    return sketch->slots.len / sizeof(uint64_t);
}

/* Where a hash is, or would be. The table is never full, and its size a power of two. */
static size_t find_slot(const uint64_t *slots, size_t count, uint64_t hash)
{
    size_t at = (size_t)hash & (count - 1);
    while (slots[at] != 0 && slots[at] != hash)
        at = (at + 1) & (count - 1);
    return at;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Moves all hashes to the front, in order, and keeps the least of them. */
static void sort_and_cut(struct firn_theta *sketch)
{
    uint64_t *slots = slots_of(sketch);
    size_t count = 0;
    for (size_t i = 0; i < slot_count(sketch); i++)
        if (slots[i] != 0)
            slots[count++] = slots[i];
    if (count > 0)
        qsort(slots, count, sizeof *slots, compare_hashes);
    if (count > FIRN_THETA_ENTRIES) {
        sketch->theta = slots[FIRN_THETA_ENTRIES];
        count = FIRN_THETA_ENTRIES;
    }
    sketch->count = count;
}

/* Puts the hashes at the front, that sort_and_cut left, where they belong. */
static void spread(struct firn_theta *sketch)
{
    uint64_t kept[FIRN_THETA_ENTRIES], *slots = slots_of(sketch);
    memcpy(kept, slots, sketch->count * sizeof *kept);
    memset(slots, 0, sketch->slots.len);
    for (size_t i = 0; i < sketch->count; i++)
        slots[find_slot(slots, slot_count(sketch), kept[i])] = kept[i];
}

/* Makes room where the table is nearly full: a larger one, or, at the largest, one of fewer hashes. */
static firn_status make_room(struct firn_op *op, struct firn_theta *sketch)
{
    size_t count = slot_count(sketch);
    if (count > 0 && sketch->count < count - count / 8)
        return FIRN_OK;
    if (count < SLOTS_MAX) {
        size_t grown = count == 0 ? SLOTS_MIN : 2 * count;
        FIRN_TRY(firn_buffer_resize(op, &sketch->slots, grown * sizeof(uint64_t)));
        memset(slots_of(sketch) + count, 0, (grown - count) * sizeof(uint64_t));
    }
    sort_and_cut(sketch);
    spread(sketch);
    return FIRN_OK;
}

firn_status firn_theta_add(struct firn_op *op, struct firn_theta *sketch, uint64_t hash)
{
    if (hash == 0 || hash >= sketch->theta)
        return FIRN_OK;
    FIRN_TRY(make_room(op, sketch));
    uint64_t *slot = &slots_of(sketch)[find_slot(slots_of(sketch), slot_count(sketch), hash)];
    if (*slot == 0 && hash < sketch->theta) {
        *slot = hash;
        sketch->count++;
    }
    return FIRN_OK;
}

firn_status firn_theta_add_value(struct firn_op *op, struct firn_theta *sketch, struct firn_bytes value)
{
    return value.len == 0 ? FIRN_OK : firn_theta_add(op, sketch, firn_theta_hash(value));
}

/* At rest -------------------------------------------------------------------------------------------------------- */

void firn_theta_finish(struct firn_theta *sketch, struct firn_theta_compact *out)
{
    sort_and_cut(sketch);
    *out = (struct firn_theta_compact){ slots_of(sketch), (uint32_t)sketch->count, sketch->theta };
}

double firn_theta_estimate(const struct firn_theta_compact *sketch)
{
    return sketch->count * ((double)FIRN_THETA_ALL / (double)sketch->theta);
}

firn_status firn_theta_print(struct firn_op *op, const struct firn_theta_compact *sketch, struct firn_buffer *out)
{
    bool is_exact = sketch->theta == FIRN_THETA_ALL;
    bool is_empty = is_exact && sketch->count == 0, is_single = is_exact && sketch->count == 1;
    size_t words = is_empty || is_single ? PREAMBLE_EMPTY : is_exact ? PREAMBLE_EXACT : PREAMBLE_ESTIMATE;
    float sampling = 1.0F;
    uint32_t sampling_bits;
    uint8_t *at;
    FIRN_TRY(firn_buffer_extend(op, out, (words + sketch->count) * sizeof(uint64_t), &at));
    memset(at, 0, words * sizeof(uint64_t));
    at[0] = (uint8_t)words;
    at[1] = SERIAL_VERSION;
    at[2] = FAMILY_COMPACT;
    at[5] = (uint8_t)(FLAG_READ_ONLY | FLAG_COMPACT | FLAG_ORDERED | (is_empty ? FLAG_EMPTY : 0) |
                      (is_single ? FLAG_SINGLE : 0));
    uint16_t seed = seed_hash();
    at[6] = (uint8_t)seed;
    at[7] = (uint8_t)(seed >> 8);
    memcpy(&sampling_bits, &sampling, sizeof sampling_bits);
    if (words >= PREAMBLE_EXACT) {
        firn_store_le32(at + 8, sketch->count);
        firn_store_le32(at + 12, sampling_bits);
    }
    if (words >= PREAMBLE_ESTIMATE)
        firn_store_le64(at + 16, sketch->theta);
    for (uint32_t i = 0; i < sketch->count; i++)
        firn_store_le64(at + (words + i) * sizeof(uint64_t), sketch->hashes[i]);
    return FIRN_OK;
}

struct preamble {
    uint8_t words, version, family, flags;
    uint16_t seed;
    uint32_t count;
    uint64_t theta;
};

static struct preamble take_preamble(struct firn_cursor *in)
{
    struct preamble out = { .theta = FIRN_THETA_ALL };
    out.words = firn_take_u8(in) & 0x3f; /* the two high bits concern sketches that grow */
    out.version = firn_take_u8(in);
    out.family = firn_take_u8(in);
    firn_take_bytes(in, 2); /* sizes, which a compact sketch does not have */
    out.flags = firn_take_u8(in);
    out.seed = (uint16_t)firn_take_le(in, sizeof out.seed);
    if (out.words >= PREAMBLE_EXACT) {
        out.count = firn_take_le32(in);
        firn_take_le32(in); /* the sampling probability, which is part of theta */
    } else {
        out.count = out.flags & FLAG_EMPTY ? 0 : 1;
    }
    if (out.words >= PREAMBLE_ESTIMATE)
        out.theta = firn_take_le64(in);
    return out;
}

/* Versions there were before, and the one that may come after. */
static bool is_other_version(uint8_t version)
{
    return version >= 1 && version <= SERIAL_VERSION + 1;
}

static firn_status check_preamble(struct firn_op *op, const struct preamble *preamble)
{
    if (preamble->family != FAMILY_COMPACT || !(preamble->flags & FLAG_COMPACT))
        return firn_fail(op, FIRN_CORRUPT, "this is no compact theta sketch (family %u, flags 0x%x)", preamble->family,
                         preamble->flags);
    if (preamble->version != SERIAL_VERSION)
        return firn_fail(op, is_other_version(preamble->version) ? FIRN_UNSUPPORTED : FIRN_CORRUPT,
                         "theta sketches of serial version %u are not read", preamble->version);
    if (preamble->words < PREAMBLE_EMPTY || preamble->words > PREAMBLE_ESTIMATE)
        return firn_fail(op, FIRN_CORRUPT, "a theta sketch's preamble has %u words", preamble->words);
    if (preamble->count > 1 && !(preamble->flags & FLAG_ORDERED))
        return firn_fail(op, FIRN_UNSUPPORTED, "theta sketches whose hashes have no order are not read");
    if (preamble->count > 0 && preamble->seed != seed_hash())
        return firn_fail(op, FIRN_CORRUPT, "the theta sketch was made with another seed than %" PRIu64, SEED);
    if (preamble->theta == 0 || preamble->theta > FIRN_THETA_ALL)
        return firn_fail(op, FIRN_CORRUPT, "theta is 0x%" PRIx64 ", which no sketch has", preamble->theta);
    return FIRN_OK;
}

firn_status firn_theta_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_theta_compact *out)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    struct preamble preamble = take_preamble(&in);
    FIRN_TRY(firn_cursor_finish(op, &in, "theta sketch"));
    FIRN_TRY(check_preamble(op, &preamble));
    if (firn_cursor_left(&in) != preamble.count * sizeof(uint64_t))
        return firn_fail(op, FIRN_CORRUPT, "the theta sketch has %zu bytes for %u hashes", firn_cursor_left(&in),
                         preamble.count);
    uint64_t *hashes = FIRN_NEW_ARRAY(op->arena, uint64_t, preamble.count), previous = 0;
    for (uint32_t i = 0; i < preamble.count; previous = hashes[i++]) {
        hashes[i] = firn_take_le64(&in);
        if (hashes[i] <= previous || hashes[i] >= preamble.theta)
            return firn_fail(op, FIRN_CORRUPT, "hash %u of the theta sketch is not between the one before it and theta",
                             i);
    }
    *out = (struct firn_theta_compact){ hashes, preamble.count, preamble.theta };
    return FIRN_OK;
}
