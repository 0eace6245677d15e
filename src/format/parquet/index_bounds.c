/* Bounds over dictionary indices. */
#include "format/parquet/index_bounds.h"

#include "base/math.h"

#include <string.h>

void firn_index_scratch_done(struct firn_index_scratch *scratch)
{
    firn_buffer_done(&scratch->seen);
    firn_buffer_done(&scratch->used);
    firn_buffer_done(&scratch->gathered);
}

/* Makes room for a stamp a dictionary value; those not met yet have none. */
static firn_status prepare_stamps(struct firn_op *op, struct firn_index_scratch *scratch, uint32_t dictionary_count)
{
    size_t known = scratch->seen.len;
    if (++scratch->stamp == 0) { /* gone round: stamps of before would count */
        scratch->stamp = 1;
        if (known)
            memset(scratch->seen.data, 0, known);
    }
    if (dictionary_count <= known)
        return FIRN_OK;
    FIRN_TRY(firn_buffer_resize(op, &scratch->seen, dictionary_count));
    memset(scratch->seen.data + known, 0, dictionary_count - known);
    return FIRN_OK;
}

/* Lists each index in use once; gives how many they are. */
static size_t list_used(const struct firn_index_scratch *scratch, const struct firn_indexed_values *values)
{
    uint8_t *seen = scratch->seen.data, stamp = scratch->stamp;
    uint32_t *used = (uint32_t *)(void *)scratch->used.data;
    const uint32_t *indices = values->indices; /* bytes written may be anything's */
    size_t count = values->count, used_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = indices[i];
        used[used_count] = index;
        used_count += seen[index] != stamp;
        seen[index] = stamp;
    }
    return used_count;
}

static firn_status add_gathered(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                struct firn_index_scratch *scratch, const struct firn_indexed_values *values,
                                const uint32_t *indices, size_t count)
{
    FIRN_TRY(values->gather(op, values->dictionary, indices, count, &scratch->gathered));
    return firn_bounds_add(op, bounds, order, (union firn_values){ .any = scratch->gathered.data }, values->type_length,
                           count);
}

static firn_status count_nan(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                             struct firn_index_scratch *scratch, const struct firn_indexed_values *values)
{
    struct firn_bounds all = { 0 };
    firn_status status = add_gathered(op, &all, order, scratch, values, values->indices, values->count);
    bounds->nan_count = all.nan_count;
    firn_bounds_done(&all);
    return status;
}

/* Extremes. */

enum { MISSES_MAX = 4, NEW_AT_ONCE = 512, GATHERED_MAX = NEW_AT_ONCE + 2 * FIRN_INDEX_EXTREMES };

/* Values of a dictionary, and their indices there. */
struct gathered {
    enum firn_order order;
    union firn_values values;
    uint32_t type_length, count;
    uint32_t indices[GATHERED_MAX];
};

static struct firn_bytes gathered_value(const struct gathered *gathered, uint32_t at)
{
    return firn_order_value(gathered->order, gathered->values, gathered->type_length, at);
}

/* Takes a value among the extremes if it is one: `places` are where theirs are gathered, `sign` is 1 for the least. */
static void offer_extreme(const struct gathered *gathered, struct firn_index_extremes *extremes, uint32_t *places,
                          uint32_t at, int sign)
{
    struct firn_bytes value = gathered_value(gathered, at);
    uint32_t place = extremes->count; /* most values are none */
    while (place > 0 &&
           sign * firn_order_compare(gathered->order, value, gathered_value(gathered, places[place - 1])) < 0)
        place--;
    if (place == FIRN_INDEX_EXTREMES)
        return;
    extremes->count = FIRN_MIN(extremes->count + 1, (uint32_t)FIRN_INDEX_EXTREMES);
    for (uint32_t i = extremes->count - 1; i > place; i--) {
        extremes->indices[i] = extremes->indices[i - 1];
        places[i] = places[i - 1];
    }
    extremes->indices[place] = gathered->indices[at];
    places[place] = at;
}

static void list_extremes(struct gathered *gathered, const struct firn_index_extremes *extremes, uint32_t *places)
{
    for (uint32_t i = 0; i < extremes->count; i++) {
        places[i] = gathered->count;
        gathered->indices[gathered->count++] = extremes->indices[i];
    }
}

/* Looks at the dictionary's next values, beside the extremes so far. */
static firn_status look_at_some(struct firn_op *op, struct firn_index_scratch *scratch, enum firn_order order,
                                const struct firn_indexed_values *values)
{
    struct gathered gathered = { .order = order, .type_length = values->type_length };
    uint32_t places[2][FIRN_INDEX_EXTREMES];
    uint32_t end = FIRN_MIN(values->dictionary_count, scratch->known_count + NEW_AT_ONCE);
    list_extremes(&gathered, &scratch->least, places[0]);
    list_extremes(&gathered, &scratch->greatest, places[1]);
    uint32_t first = gathered.count;
    while (scratch->known_count < end)
        gathered.indices[gathered.count++] = scratch->known_count++;
    FIRN_TRY(values->gather(op, values->dictionary, gathered.indices, gathered.count, &scratch->gathered));
    gathered.values.any = scratch->gathered.data;
    for (uint32_t i = first; i < gathered.count && !scratch->has_nan; i++) {
        scratch->has_nan = firn_order_is_nan(order, gathered_value(&gathered, i));
        if (scratch->has_nan)
            break;
        offer_extreme(&gathered, &scratch->least, places[0], i, 1);
        offer_extreme(&gathered, &scratch->greatest, places[1], i, -1);
    }
    return FIRN_OK;
}

/* The first of the extremes that this call met, if any was. */
static bool find_met(const struct firn_index_scratch *scratch, const struct firn_index_extremes *extremes,
                     uint32_t *index)
{
    for (uint32_t i = 0; i < extremes->count; i++) {
        *index = extremes->indices[i];
        if (scratch->seen.data[*index] == scratch->stamp)
            return true;
    }
    return false;
}

/* Replaces the used values, of which there are `*count`, by two of them where these are known to be the bounds. Given
 * up where most pages use none of the extremes, as where values are in order. */
static firn_status narrow(struct firn_op *op, struct firn_index_scratch *scratch, enum firn_order order,
                          const struct firn_indexed_values *values, size_t *count)
{
    uint32_t bounds[2];
    if (scratch->misses > MISSES_MAX)
        return FIRN_OK;
    while (scratch->known_count < values->dictionary_count && !scratch->has_nan)
        FIRN_TRY(look_at_some(op, scratch, order, values));
    if (scratch->has_nan || !find_met(scratch, &scratch->least, &bounds[0]) ||
        !find_met(scratch, &scratch->greatest, &bounds[1])) {
        scratch->misses++;
        return FIRN_OK;
    }
    scratch->misses -= scratch->misses > 0;
    memcpy(scratch->used.data, bounds, sizeof bounds);
    *count = FIRN_COUNT_OF(bounds);
    return FIRN_OK;
}

firn_status firn_bounds_of_indexed(struct firn_op *op, struct firn_bounds *bounds, enum firn_order order,
                                   struct firn_index_scratch *scratch, const struct firn_indexed_values *values)
{
    if (order == FIRN_ORDER_NONE || values->count == 0)
        return FIRN_OK;
    FIRN_TRY(prepare_stamps(op, scratch, values->dictionary_count));
    FIRN_TRY(firn_buffer_resize(op, &scratch->used, values->count * sizeof(uint32_t)));
    size_t used_count = list_used(scratch, values);
    if (values->grows && used_count > FIRN_INDEX_EXTREMES)
        FIRN_TRY(narrow(op, scratch, order, values, &used_count));
    FIRN_TRY(
        add_gathered(op, bounds, order, scratch, values, (const uint32_t *)(void *)scratch->used.data, used_count));
    return bounds->nan_count == 0 ? FIRN_OK : count_nan(op, bounds, order, scratch, values);
}
