/* Checks of serialised 32-bit Roaring bitmaps. Roaring format specification, "General layout". */
#include "format/puffin/roaring_check.h"

#include "base/math.h"

enum {
    COOKIE_PLAIN = 12346,
    COOKIE_RUNS = 12347,
    CONTAINERS_MAX = 65536,
    ARRAY_VALUES_MAX = 4096, /* above it a container is a bit set */
    BITSET_BYTES = 8192,
    OFFSETS_FROM = 4, /* with runs, fewer containers have no offsets */
};

static uint16_t le16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t take_le16(struct firn_cursor *in)
{
    struct firn_bytes bytes = firn_take_bytes(in, 2);
    return bytes.data ? le16(bytes.data) : 0;
}

static void check_array(struct firn_cursor *in, uint32_t count)
{
    struct firn_bytes values = firn_take_bytes(in, 2 * (uint64_t)count);
    for (size_t i = 2; i < values.len; i += 2)
        if (le16(values.data + i) <= le16(values.data + i - 2))
            firn_cursor_fail(in, "has an array container that does not ascend");
}

static void check_bitset(struct firn_cursor *in, uint32_t count)
{
    struct firn_bytes words = firn_take_bytes(in, BITSET_BYTES);
    uint32_t bits = 0;
    for (size_t i = 0; i < words.len; i += 8)
        bits += (uint32_t)__builtin_popcountll(firn_load_le64(words.data + i));
    if (words.data && bits != count)
        firn_cursor_fail(in, "has a bitmap container of another count than stated");
}

static void check_runs(struct firn_cursor *in, uint32_t count)
{
    uint32_t run_count = take_le16(in);
    struct firn_bytes runs = firn_take_bytes(in, 4 * (uint64_t)run_count);
    int64_t last = -1;
    uint32_t covered = 0;
    for (size_t i = 0; i < runs.len; i += 4) {
        uint32_t start = le16(runs.data + i), more = le16(runs.data + i + 2);
        if ((int64_t)start <= last || start + more > UINT16_MAX)
            firn_cursor_fail(in, "has a run container whose runs overlap");
        last = (int64_t)start + more;
        covered += more + 1;
    }
    if (!in->failure && covered != count)
        firn_cursor_fail(in, "has a run container of another count than stated");
}

static void check_containers(struct firn_cursor *in, struct firn_bytes heads, struct firn_bytes run_flags)
{
    for (size_t i = 0; i < heads.len / 4 && !in->failure; i++) {
        const uint8_t *head = heads.data + 4 * i;
        uint32_t count = (uint32_t)le16(head + 2) + 1;
        bool is_run = run_flags.data && (run_flags.data[i / 8] >> (i % 8) & 1);
        if (i > 0 && le16(head) <= le16(head - 4))
            firn_cursor_fail(in, "has container keys that do not ascend");
        if (is_run)
            check_runs(in, count);
        else if (count <= ARRAY_VALUES_MAX)
            check_array(in, count);
        else
            check_bitset(in, count);
    }
}

struct firn_bytes firn_take_roaring32(struct firn_cursor *in)
{
    const uint8_t *start = in->at;
    uint32_t cookie = firn_take_le32(in);
    bool has_runs = (cookie & 0xffff) == COOKIE_RUNS;
    if (!has_runs && cookie != COOKIE_PLAIN)
        firn_cursor_fail(in, "has a bitmap with an unknown cookie");
    uint32_t count = has_runs ? (cookie >> 16) + 1 : firn_take_le32(in);
    if (count > CONTAINERS_MAX)
        firn_cursor_fail(in, "has a bitmap of more than 65536 containers");
    struct firn_bytes run_flags = { 0 };
    if (has_runs)
        run_flags = firn_take_bytes(in, (count + 7) / 8);
    struct firn_bytes heads = firn_take_bytes(in, 4 * (uint64_t)count);
    if (!has_runs || count >= OFFSETS_FROM)
        firn_take_bytes(in, 4 * (uint64_t)count); /* containers follow each other: nothing to learn from offsets */
    check_containers(in, heads, run_flags);
    return in->failure ? (struct firn_bytes){ 0 } : (struct firn_bytes){ start, (size_t)(in->at - start) };
}
