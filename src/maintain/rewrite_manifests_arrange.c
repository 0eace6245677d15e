/* Arranging the entries of manifests by partition. Reference: procedures.md, 5.
 *
 * Manifests are read in parallel and without metrics. Of an entry no more is kept than which partition it is of; the
 * partitions are sorted, and a counting sort gives each entry its place, so that entries of one partition stay in the
 * order in which they are found. The order is cut into as many groups as the manifests' bytes fill targets, at the ends
 * of partitions, as the reference does it: a range partitioner walks over the partitions and closes a group with the
 * first that reaches the next n-th of all entries. */
#include "maintain/rewrite_manifests.h"

#include "base/map.h"
#include "base/math.h"
#include "table/scan.h"

#include <stdlib.h>

/* Entries that a group must not mix with others: data and deletes, told by what they say, and one partition. */
struct tuple {
    struct firn_bytes key; /* kind and values in canonical form */
    bool is_deletes;
    struct firn_partition partition;
    uint32_t entry_count;
    uint32_t next; /* where its next entry goes */
};

/* What was found in one manifest. */
struct found {
    FIRN_ARRAY(struct tuple) tuples;
    struct firn_buffer entries; /* a uint32_t a live entry: which of the tuples */
    bool has_tombstones;
};

struct arranging {
    const struct firn_manifest_plan *plan;
    struct firn_store *store;
    const struct firn_regrouped_manifest *manifests;
    struct found *found; /* one each */
};

/* One manifest --------------------------------------------------------------------------------------------------- */

struct looking {
    struct firn_arena *results;
    struct found *found;
    struct firn_map tuples; /* key to its place in found->tuples */
    struct firn_buffer key;
};

static firn_status find_tuple(struct firn_op *op, struct looking *looking, const struct firn_data_file *file,
                              uint32_t *out)
{
    struct found *found = looking->found;
    uint8_t is_deletes = file->content != FIRN_CONTENT_DATA;
    firn_buffer_clear(&looking->key);
    FIRN_TRY(firn_buffer_append(op, &looking->key, &is_deletes, 1));
    FIRN_TRY(firn_partition_key(op, &file->partition, &looking->key));
    struct firn_map_entry *entry = firn_map_find(&looking->tuples, firn_buffer_bytes(&looking->key));
    if (!entry) {
        struct tuple tuple = {
            .key = firn_bytes_copy(looking->results, firn_buffer_bytes(&looking->key)),
            .is_deletes = is_deletes,
            .partition = firn_partition_copy(looking->results, &file->partition),
        };
        entry = firn_map_put(&looking->tuples, tuple.key);
        entry->value.number = found->tuples.count;
        FIRN_PUSH(looking->results, &found->tuples, tuple);
    }
    *out = (uint32_t)entry->value.number;
    return FIRN_OK;
}

static firn_status take_entries(struct firn_op *op, struct looking *looking, const struct firn_manifest *manifest)
{
    struct found *found = looking->found;
    const struct firn_partition *last = NULL;
    enum firn_content last_content = FIRN_CONTENT_DATA;
    uint32_t tuple = 0;
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_data_file *file = &manifest->entries[i].file;
        if (manifest->entries[i].status == FIRN_ENTRY_DELETED) {
            found->has_tombstones = true;
            continue;
        }
        /* files of one partition often stand together */
        if (!last || last_content != file->content || !firn_partition_same(last, &file->partition))
            FIRN_TRY(find_tuple(op, looking, file, &tuple));
        last = &file->partition;
        last_content = file->content;
        found->tuples.items[tuple].entry_count++;
        FIRN_TRY(firn_buffer_append(op, &found->entries, &tuple, sizeof tuple));
    }
    return FIRN_OK;
}

static firn_status look(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    struct looking *looking = context;
    firn_map_init(&looking->tuples, op->arena);
    firn_status status = take_entries(op, looking, manifest);
    firn_buffer_done(&looking->key);
    return status;
}

static firn_status look_job(struct firn_op *op, void *context, size_t index)
{
    const struct arranging *arranging = context;
    const struct firn_manifest_file *row = arranging->manifests[index].row;
    struct looking looking = { .results = op->arena, .found = &arranging->found[index] };
    struct firn_manifest_read_options options = { .skip_metrics = true };
    return firn_manifest_look(op, arranging->store, arranging->plan->metadata, row, options, look, &looking);
}

/* All of them ---------------------------------------------------------------------------------------------------- */

struct sorting {
    const struct firn_manifest_sort *by;
    const struct tuple *tuples;
};

/* Nulls first. */
static int compare_values(const struct firn_value *a, const struct firn_value *b)
{
    if (a->is_null || b->is_null)
        return (int)b->is_null - (int)a->is_null;
    return firn_value_compare(a, b);
}

/* Data before deletes, then by the sort fields, then by all others so that a partition's entries stand together. */
static int compare_tuples(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    const struct tuple *x = &sorting->tuples[*(const uint32_t *)a], *y = &sorting->tuples[*(const uint32_t *)b];
    int order = (int)x->is_deletes - (int)y->is_deletes;
    for (uint32_t i = 0; order == 0 && i < sorting->by->count; i++) {
        uint32_t field = sorting->by->fields[i];
        order = compare_values(&x->partition.values[field], &y->partition.values[field]);
    }
    for (uint32_t i = 0; order == 0 && i < x->partition.count; i++)
        order = compare_values(&x->partition.values[i], &y->partition.values[i]);
    return order != 0 ? order : firn_bytes_compare(x->key, y->key);
}

struct tuple_list {
    struct tuple *items;
    size_t count, capacity;
};

/* Turns the tuple numbers of one manifest into those of all, and counts. */
static void merge_found(struct firn_op *op, struct found *found, struct firn_map *known, struct tuple_list *all)
{
    uint32_t *numbers = FIRN_NEW_ARRAY(op->arena, uint32_t, found->tuples.count);
    uint32_t *entries = (uint32_t *)(void *)found->entries.data;
    for (size_t i = 0; i < found->tuples.count; i++) {
        struct firn_map_entry *entry = firn_map_find(known, found->tuples.items[i].key);
        if (!entry) {
            entry = firn_map_put(known, found->tuples.items[i].key);
            entry->value.number = all->count;
            FIRN_PUSH(op->arena, all, found->tuples.items[i]);
        } else {
            all->items[entry->value.number].entry_count += found->tuples.items[i].entry_count;
        }
        numbers[i] = (uint32_t)entry->value.number;
    }
    for (size_t i = 0; i < found->entries.len / sizeof *entries; i++)
        entries[i] = numbers[entries[i]];
}

static uint32_t *sort_tuples(struct firn_op *op, const struct firn_manifest_plan *plan, const struct tuple_list *all)
{
    struct sorting sorting = { &plan->sort, all->items };
    uint32_t *sorted = FIRN_NEW_ARRAY(op->arena, uint32_t, all->count);
    for (uint32_t i = 0; i < all->count; i++)
        sorted[i] = i;
    qsort_r(sorted, all->count, sizeof *sorted, compare_tuples, &sorting);
    return sorted;
}

/* The stretches of the write order, and where each tuple's entries begin. */
static void lay_out(struct firn_op *op, const uint32_t *sorted, struct tuple_list *all,
                    struct firn_regrouping *regrouping)
{
    struct firn_regrouped_stretch *stretches = FIRN_NEW_ARRAY(op->arena, struct firn_regrouped_stretch, all->count);
    uint32_t end = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        struct tuple *tuple = &all->items[sorted[i]];
        tuple->next = end;
        end += tuple->entry_count;
        stretches[i] = (struct firn_regrouped_stretch){ tuple->partition, end };
    }
    regrouping->stretches = stretches;
    regrouping->stretch_count = (uint32_t)all->count;
}

static firn_status place_entries(struct firn_op *op, const struct found *found, struct tuple_list *all,
                                 struct firn_regrouping *regrouping)
{
    struct firn_buffer *order = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, order);
    FIRN_TRY(firn_buffer_resize(op, order, regrouping->entry_count * sizeof(uint32_t)));
    uint32_t *numbers = (uint32_t *)(void *)order->data;
    for (uint32_t i = 0; i < regrouping->replaced_count; i++) {
        const uint32_t *entries = (const uint32_t *)(const void *)found[i].entries.data;
        for (uint32_t k = 0; k < regrouping->replaced[i].entry_count; k++)
            numbers[all->items[entries[k]].next++] = regrouping->replaced[i].entry_start + k;
    }
    regrouping->order = numbers;
    return FIRN_OK;
}

/* Groups --------------------------------------------------------------------------------------------------------- */

struct group_list {
    struct firn_regrouped_group *items;
    size_t count, capacity;
};

static void end_group(struct firn_op *op, struct group_list *groups, uint32_t end, bool is_deletes)
{
    struct firn_regrouped_group group = { end, is_deletes };
    uint32_t begin = groups->count > 0 ? groups->items[groups->count - 1].end : 0;
    if (end > begin)
        FIRN_PUSH(op->arena, groups, group);
}

/* The end of share `number` of `count` of all entries, the first being 1; rounded up. */
static uint32_t share_end(uint32_t entry_count, uint32_t number, uint32_t count)
{
    return (uint32_t)(((uint64_t)entry_count * number + count - 1) / count);
}

/* Nothing to cluster by: even shares of what is of one content. */
static void share_evenly(struct firn_op *op, const struct firn_manifest_kind *kind, uint32_t end, bool is_deletes,
                         struct group_list *groups)
{
    for (uint32_t i = 1; i <= kind->target_count; i++) {
        uint32_t share = share_end(kind->regrouping.entry_count, i, kind->target_count);
        if (share >= end)
            break;
        end_group(op, groups, share, is_deletes);
    }
    end_group(op, groups, end, is_deletes);
}

static void cut_groups(struct firn_op *op, const struct firn_manifest_plan *plan, const struct tuple_list *all,
                       const uint32_t *sorted, struct firn_manifest_kind *kind)
{
    bool is_partitioned = !firn_partition_spec_is_unpartitioned(plan->spec);
    const struct firn_regrouping *regrouping = &kind->regrouping;
    struct group_list groups = { 0 };
    uint32_t share = 1; /* that the group at hand is to reach */
    for (uint32_t i = 0; i < all->count; i++) {
        bool is_deletes = all->items[sorted[i]].is_deletes;
        bool is_last = i + 1 == all->count || all->items[sorted[i + 1]].is_deletes != is_deletes;
        uint32_t end = regrouping->stretches[i].end;
        bool is_reached = is_partitioned && share < kind->target_count &&
                          end >= share_end(regrouping->entry_count, share, kind->target_count);
        share += is_reached;
        if (is_last && !is_partitioned)
            share_evenly(op, kind, end, is_deletes, &groups);
        else if (is_last || is_reached)
            end_group(op, &groups, end, is_deletes);
    }
    kind->regrouping.groups = groups.items;
    kind->regrouping.group_count = (uint32_t)groups.count;
}

/* Entry numbers follow the manifests in list order. */
static firn_status number_entries(struct firn_op *op, const struct found *found, struct firn_manifest_kind *kind)
{
    uint64_t count = 0;
    for (size_t i = 0; i < kind->manifests.count; i++) {
        uint64_t live = found[i].entries.len / sizeof(uint32_t);
        if (count + live > UINT32_MAX)
            return firn_fail(op, FIRN_LIMIT, "more than %u entries in the manifests of one partition spec", UINT32_MAX);
        kind->manifests.items[i].entry_start = (uint32_t)count;
        kind->manifests.items[i].entry_count = (uint32_t)live;
        kind->has_tombstones = kind->has_tombstones || found[i].has_tombstones || live == 0;
        count += live;
    }
    kind->regrouping.replaced = kind->manifests.items;
    kind->regrouping.replaced_count = (uint32_t)kind->manifests.count;
    kind->regrouping.entry_count = (uint32_t)count;
    kind->target_count = FIRN_MAX(FIRN_MIN(kind->target_count, kind->regrouping.entry_count), 1);
    return FIRN_OK;
}

static firn_status arrange(struct firn_op *op, struct firn_pool *pool, struct arranging *arranging,
                           struct firn_manifest_kind *kind)
{
    struct firn_map known;
    struct tuple_list all = { 0 };
    FIRN_TRY(firn_pool_run(op, pool, kind->manifests.count, 0, look_job, arranging));
    FIRN_TRY(number_entries(op, arranging->found, kind));
    firn_map_init(&known, op->arena);
    for (size_t i = 0; i < kind->manifests.count; i++)
        merge_found(op, &arranging->found[i], &known, &all);
    const uint32_t *sorted = sort_tuples(op, arranging->plan, &all);
    lay_out(op, sorted, &all, &kind->regrouping);
    cut_groups(op, arranging->plan, &all, sorted, kind);
    return place_entries(op, arranging->found, &all, &kind->regrouping);
}

firn_status firn_manifests_arrange(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                   const struct firn_manifest_plan *plan, struct firn_manifest_kind *kind)
{
    struct arranging arranging = {
        .plan = plan,
        .store = store,
        .manifests = kind->manifests.items,
        .found = FIRN_NEW_ARRAY(op->arena, struct found, kind->manifests.count),
    };
    firn_status status = arrange(op, pool, &arranging, kind);
    for (size_t i = 0; i < kind->manifests.count; i++)
        firn_buffer_done(&arranging.found[i].entries);
    return status;
}
