/* Zstandard for values of one width: repeats that are found without tables. RFC 8878, 3.1.1.3.2.
 *
 * Numbers of a column mostly have their upper bytes in common, texts of one form some of their characters. So one range
 * of places within a value is chosen for a block, by a sample; where a value is there as the one `distance` bytes
 * before, that becomes a repeat, and what lies between the repeats literals. Their lengths and their distance are
 * nearly always the same, which takes little time and hardly a bit to write, and is quick to read.
 *
 * Blocks are searched alone; zstd brings the memory for what is found in one, and packs it. */
#include "base/math.h"
#include "format/codec/codec_internal.h"

#define ZSTD_STATIC_LINKING_ONLY /* for searches of one's own */
#include <zstd.h>

enum {
    WIDTH_MIN = 4,
    WIDTH_MAX = 64, /* a bit for each place */
    REPEAT_MIN = 3, /* the shortest that the format has */
    /* A repeat that reads what was just written waits for it. */
    FAR_BYTES = 32,
    SAMPLE_MAX = 256,
    SAMPLE_MIN = 16,
    /* A place is of use where so many of the values are alike there, one in so many; */
    ALIKE_DIVISOR = 4,
    WORD = sizeof(uint64_t)
};

/* What is being searched. */
struct search {
    size_t width, distance;
    size_t left; /* of the input, from the block on: it ends where a value ends */
    bool found;  /* repeats in all blocks so far but a short rest */
};

/* Which places of values are as before. */
struct sample {
    size_t count, width;
    uint64_t alike[SAMPLE_MAX]; /* a bit a place */
    size_t frequency[WIDTH_MAX];
};

/* Places of a value; they may go on in the next one. */
struct range {
    size_t first, len;
};

static uint64_t alike_places(const uint8_t *value, size_t distance, size_t width)
{
    const uint8_t *before = value - distance;
    uint64_t alike = 0;
    for (size_t place = 0; place < width; place++)
        alike |= (uint64_t)(value[place] == before[place]) << place;
    return alike;
}

/* Looks at values all over the block, of which there are `count` behind those that have none `distance` before. */
static void take_sample(const uint8_t *first, size_t count, const struct search *search, struct sample *out)
{
    size_t step = 1 + (count - 1) / SAMPLE_MAX;
    memset(out->frequency, 0, sizeof out->frequency);
    out->width = search->width;
    out->count = 0;
    for (size_t i = 0; i < count; i += step) {
        uint64_t alike = alike_places(first + i * search->width, search->distance, search->width);
        for (size_t place = 0; place < search->width; place++)
            out->frequency[place] += alike >> place & 1;
        out->alike[out->count++] = alike;
    }
}

/* The most places in a row at which at least so many values are as before. */
static struct range longest_range(const struct sample *sample, size_t frequency_min)
{
    struct range longest = { 0 };
    for (size_t first = 0; first < sample->width && longest.len < sample->width; first++) {
        size_t len = 0;
        while (len < sample->width && sample->frequency[(first + len) % sample->width] >= frequency_min)
            len++;
        if (len > longest.len)
            longest = (struct range){ first, len };
    }
    return longest;
}

/* How many places at the end of the range are alike. */
static size_t alike_at_end(uint64_t alike, size_t width, struct range range)
{
    size_t end = (range.first + range.len) % width;
    uint64_t turned = end == 0 ? alike : alike >> end | alike << (width - end); /* the range's end comes last, */
    uint64_t differing = ~(turned << (WIDTH_MAX - width));                      /* the others go */
    size_t len = differing ? (size_t)__builtin_clzll(differing) : WIDTH_MAX;
    return FIRN_MIN(len, range.len);
}

/* Bytes of the sample that repeats of this range cover, less one for each of an odd length. */
static size_t gain_of(const struct sample *sample, struct range range)
{
    size_t gain = 0;
    for (size_t i = 0; i < sample->count; i++) {
        size_t len = alike_at_end(sample->alike[i], sample->width, range);
        if (len >= REPEAT_MIN)
            gain += len - (len < range.len);
    }
    return gain;
}

/* False where no range gives a byte a value. */
static bool choose_range(const struct sample *sample, struct range *out)
{
    size_t best = 0, tried = 0;
    for (size_t place = 0; place < sample->width; place++) {
        size_t frequency = sample->frequency[place];
        if (frequency == tried || frequency <= sample->count / ALIKE_DIVISOR)
            continue;
        struct range range = longest_range(sample, frequency);
        size_t gain = range.len < REPEAT_MIN ? 0 : gain_of(sample, range);
        tried = frequency;
        if (gain <= best)
            continue;
        best = gain;
        *out = range;
    }
    return best >= sample->count;
}

/* How many of the bytes before `end`, at most `most`, are as those `distance` before. Reads whole words. */
static size_t repeated_before(const uint8_t *end, size_t distance, size_t most)
{
    size_t len = 0;
    while (len < most) {
        const uint8_t *at = end - len - WORD;
        uint64_t differing = firn_load_le64(at) ^ firn_load_le64(at - distance);
        if (differing) {
            len += (size_t)__builtin_clzll(differing) / 8;
            break;
        }
        len += WORD;
    }
    return FIRN_MIN(len, most);
}

static size_t write_literals(size_t len, ZSTD_Sequence *out)
{
    *out = (ZSTD_Sequence){ .litLength = (unsigned)len };
    return 1;
}

/* Writes the repeats, each with the literals before it, and the last literals. Gives how many that are: each repeat but
 * none has three bytes, so that they fit what zstd has for a block. */
static size_t write_repeats(const uint8_t *block, size_t len, const struct search *search, size_t first_value,
                            struct range range, ZSTD_Sequence *out)
{
    size_t count = 0, covered = 0;
    for (size_t end = first_value + range.first + range.len; end <= len; end += search->width) {
        size_t repeated = repeated_before(block + end, search->distance, range.len);
        if (repeated < REPEAT_MIN)
            continue;
        size_t start = end - repeated;
        if (count > 0 && start == covered)
            out[count - 1].matchLength += (unsigned)repeated;
        else
            out[count++] = (ZSTD_Sequence){
                .offset = (unsigned)search->distance,
                .litLength = (unsigned)(start - covered),
                .matchLength = (unsigned)repeated,
            };
        covered = end;
    }
    return count + write_literals(len - covered, &out[count]);
}

/* What zstd calls for each block. Where it finds nothing it fails, and zstd does, too. */
static size_t search_block(void *context, ZSTD_Sequence *out, size_t out_max, const void *block, size_t len,
                           const void *dictionary, size_t dictionary_len, int level, size_t window_len)
{
    (void)out_max, (void)dictionary, (void)dictionary_len, (void)level, (void)window_len;
    struct search *search = context;
    struct sample sample;
    struct range range;
    size_t phase = search->left % search->width, none_before = search->distance + WIDTH_MAX;
    size_t first_value = phase + (none_before + search->width - 1) / search->width * search->width;
    search->left -= len;
    if (len < first_value + SAMPLE_MIN * search->width)
        return search->found ? write_literals(len, out) : ZSTD_SEQUENCE_PRODUCER_ERROR;
    take_sample((const uint8_t *)block + first_value, (len - first_value) / search->width, search, &sample);
    search->found = choose_range(&sample, &range);
    if (!search->found)
        return ZSTD_SEQUENCE_PRODUCER_ERROR;
    return write_repeats(block, len, search, first_value, range, out);
}

/* The tables are not used and hence small. */
static size_t compress(ZSTD_CCtx *state, struct search *search, bool packs_literals, uint8_t *out, size_t capacity,
                       struct firn_bytes in)
{
    const struct firn_zstd_setting settings[] = {
        { ZSTD_c_strategy, ZSTD_fast },
        { ZSTD_c_minMatch, REPEAT_MIN },
        { ZSTD_c_hashLog, ZSTD_HASHLOG_MIN },
        { ZSTD_c_chainLog, ZSTD_CHAINLOG_MIN },
        { ZSTD_c_searchForExternalRepcodes, ZSTD_ps_enable },
        { ZSTD_c_literalCompressionMode, packs_literals ? ZSTD_lcm_huffman : ZSTD_lcm_uncompressed },
    };
    size_t status = firn_zstd_set(state, settings, FIRN_COUNT_OF(settings));
    if (ZSTD_isError(status))
        return status;
    ZSTD_registerSequenceProducer(state, search, search_block);
    status = ZSTD_compress2(state, out, capacity, in.data, in.len);
    ZSTD_registerSequenceProducer(state, NULL, NULL); /* the state outlives the search */
    return status;
}

firn_status firn_zstd_compress_values(struct firn_op *op, struct firn_codec_states *states,
                                      const struct firn_codec_values *values, struct firn_bytes in,
                                      struct firn_buffer *out, bool *done)
{
    size_t width = values->width, start = out->len, capacity = ZSTD_compressBound(in.len);
    uint8_t *at;
    *done = false;
    if (width < WIDTH_MIN || width > WIDTH_MAX)
        return FIRN_OK;
    struct search search = { .width = width, .distance = width, .left = in.len };
    if (values->from_far)
        search.distance = (FAR_BYTES + width - 1) / width * width;
    FIRN_TRY(firn_zstd_compressor(op, states));
    FIRN_TRY(firn_buffer_extend(op, out, capacity, &at));
    size_t len = compress(states->zstd_compressor, &search, values->packs_literals, at, capacity, in);
    out->len = start;
    if (!search.found)
        return FIRN_OK;
    if (ZSTD_isError(len))
        return firn_fail(op, FIRN_SYSTEM, "zstd cannot compress %zu bytes: %s", in.len, ZSTD_getErrorName(len));
    out->len += len;
    *done = true;
    return FIRN_OK;
}
