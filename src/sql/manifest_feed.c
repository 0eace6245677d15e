/* Choosing manifests, and reading them a batch at a time. */
#include "sql/manifest_feed.h"

#include "base/map.h"
#include "base/math.h"
#include "table/scan.h"

/* Lists held at a time, and what one batch of manifests may have: a manifest's entries take many times its bytes. */
enum { LISTS_MAX = 16, BATCH_MAX = 64, BATCH_BYTES_MAX = 16 << 20 };

/* Choosing --------------------------------------------------------------------------------------------------------- */

struct choosing {
    const struct firn_metadata_view *view;
    struct firn_manifest_choice choice;
    uint32_t first; /* snapshot of lists[0] */
    struct firn_manifest_list lists[LISTS_MAX];
    FIRN_ARRAY(struct firn_manifest_file) chosen;
    struct firn_map seen; /* paths */
};

static bool is_wanted(const struct firn_manifest_choice *choice, const struct firn_manifest_file *row)
{
    return row->is_deletes ? choice->deletes : choice->data;
}

static firn_status read_list(struct firn_op *op, void *context, size_t index)
{
    struct choosing *choosing = context;
    const struct firn_metadata *metadata = choosing->view->table->metadata;
    return firn_snapshot_manifests(op, choosing->view->table->store, metadata,
                                   &metadata->snapshots[choosing->first + index], &choosing->lists[index]);
}

/* What the list's arena holds of a row does not outlive it. */
static void keep_new(struct firn_op *op, struct choosing *choosing, const struct firn_manifest_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct firn_manifest_file row = list->manifests[i];
        if (!is_wanted(&choosing->choice, &row) || firn_map_find_text(&choosing->seen, row.path))
            continue;
        row.path = firn_text_copy(op->arena, row.path);
        row.has_summaries = false;
        row.summaries = NULL;
        row.summary_count = 0;
        row.key_metadata = (struct firn_bytes){ 0 };
        firn_map_put_text(&choosing->seen, row.path);
        FIRN_PUSH(op->arena, &choosing->chosen, row);
    }
}

static firn_status choose_of_all(struct firn_op *op, struct choosing *choosing)
{
    uint32_t count = choosing->view->table->metadata->snapshot_count;
    struct firn_arena lists, *results = op->arena;
    firn_status status = FIRN_OK;
    firn_arena_init(&lists);
    for (; status == FIRN_OK && choosing->first < count; choosing->first += LISTS_MAX) {
        uint32_t batch = FIRN_MIN(count - choosing->first, (uint32_t)LISTS_MAX);
        op->arena = &lists;
        status = firn_pool_run(op, choosing->view->pool, batch, 0, read_list, choosing);
        op->arena = results;
        for (uint32_t i = 0; status == FIRN_OK && i < batch; i++)
            keep_new(op, choosing, &choosing->lists[i]);
        firn_arena_reset(&lists);
    }
    firn_arena_done(&lists);
    return status;
}

static firn_status choose_of_one(struct firn_op *op, struct choosing *choosing)
{
    const struct firn_table *table = choosing->view->table;
    struct firn_manifest_list list = { 0 };
    if (choosing->view->snapshot)
        FIRN_TRY(firn_snapshot_manifests(op, table->store, table->metadata, choosing->view->snapshot, &list));
    for (uint32_t i = 0; i < list.count; i++)
        if (is_wanted(&choosing->choice, &list.manifests[i]))
            FIRN_PUSH(op->arena, &choosing->chosen, list.manifests[i]);
    return FIRN_OK;
}

firn_status firn_manifest_choose(struct firn_op *op, const struct firn_metadata_view *view,
                                 struct firn_manifest_choice choice, struct firn_manifest_list *out)
{
    struct choosing choosing = { .view = view, .choice = choice };
    firn_map_init(&choosing.seen, op->arena);
    FIRN_TRY(choice.of_all_snapshots ? choose_of_all(op, &choosing) : choose_of_one(op, &choosing));
    *out = (struct firn_manifest_list){ choosing.chosen.items, (uint32_t)choosing.chosen.count };
    return FIRN_OK;
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

struct firn_manifest_feed {
    const struct firn_metadata_view *view;
    const struct firn_manifest_list *manifests;
    struct firn_manifest_read_options options;
    bool count_only;
    uint32_t first, count, next; /* of the batch: its first manifest, how many, and the one to give next */
    struct firn_manifest batch[BATCH_MAX];
    struct firn_arena arena; /* of the batch */
};

firn_status firn_manifest_feed_open(struct firn_op *op, const struct firn_metadata_view *view,
                                    const struct firn_manifest_list *manifests,
                                    struct firn_manifest_read_options options, bool count_only,
                                    struct firn_manifest_feed **out)
{
    struct firn_manifest_feed *feed = FIRN_NEW(op->arena, struct firn_manifest_feed);
    feed->view = view;
    feed->manifests = manifests;
    feed->options = options;
    feed->count_only = count_only;
    firn_arena_init(&feed->arena);
    *out = feed;
    return FIRN_OK;
}

void firn_manifest_feed_close(struct firn_manifest_feed *feed)
{
    if (feed)
        firn_arena_done(&feed->arena);
}

static firn_status read_manifest(struct firn_op *op, void *context, size_t index)
{
    struct firn_manifest_feed *feed = context;
    const struct firn_table *table = feed->view->table;
    const struct firn_manifest_file *row = &feed->manifests->manifests[feed->first + index];
    struct firn_manifest *out = &feed->batch[index];
    bool is_counted = false;
    FIRN_TRY(firn_op_check(op));
    *out = (struct firn_manifest){ .spec_id = row->spec_id };
    if (feed->count_only)
        FIRN_TRY(firn_manifest_count_live(op, table->store, row, &is_counted, &out->count));
    return is_counted ? FIRN_OK : firn_manifest_read(op, table->store, table->metadata, row, feed->options, out);
}

/* At least one, and no more than a bounded number of bytes. */
static uint32_t batch_size(const struct firn_manifest_feed *feed)
{
    uint32_t left = feed->manifests->count - feed->first, count = 0;
    int64_t bytes = 0;
    while (count < left && count < BATCH_MAX && (count == 0 || bytes < BATCH_BYTES_MAX)) {
        bytes += FIRN_MIN(feed->manifests->manifests[feed->first + count].length, BATCH_BYTES_MAX);
        count++;
    }
    return count;
}

static firn_status read_batch(struct firn_op *op, struct firn_manifest_feed *feed)
{
    struct firn_arena *results = op->arena;
    firn_arena_reset(&feed->arena);
    feed->first += feed->count;
    feed->count = batch_size(feed);
    feed->next = 0;
    op->arena = &feed->arena;
    firn_status status = firn_pool_run(op, feed->view->pool, feed->count, 0, read_manifest, feed);
    op->arena = results;
    return status;
}

firn_status firn_manifest_feed_next(struct firn_op *op, struct firn_manifest_feed *feed,
                                    const struct firn_manifest **out)
{
    if (feed->next == feed->count)
        FIRN_TRY(read_batch(op, feed));
    *out = feed->count ? &feed->batch[feed->next++] : NULL;
    return FIRN_OK;
}
