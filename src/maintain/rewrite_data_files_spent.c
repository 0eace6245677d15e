/* Which delete files a run of rewrite_data_files leaves without use.
 *
 * A delete file leaves with the last data file that it applies to. Which these are is known from the planned snapshot,
 * for all data files of the branch. Position delete files of a whole partition apply by the rules of scan planning to
 * more than their rows name, among it to what this run and those before it wrote with the number of an older snapshot;
 * so where only the rules keep one, its rows are asked. That the head may hold newer data files is the commit's
 * concern (catalog/late_data.c). */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"
#include "catalog/position_paths.h"

void firn_rewrite_spent_init(struct firn_op *op, const struct firn_rewrite_plan *plan, struct firn_rewrite_spent *out)
{
    uint32_t count = plan->uses.count;
    *out = (struct firn_rewrite_spent){
        .plan = plan,
        .deletes = FIRN_NEW_ARRAY(op->arena, struct firn_spent_delete, count),
        .is_rewritten = FIRN_NEW_ARRAY(op->arena, bool, plan->whole.file_count),
    };
    for (uint32_t i = 0; i < count; i++)
        out->deletes[i].file_count = plan->uses.items[i].file_count;
}

static size_t place_of(const struct firn_rewrite_plan *plan, const struct firn_scan_file *file)
{
    return (size_t)(file - plan->whole.files);
}

/* A batch being looked at. */
struct search {
    const struct firn_rewrite_spent *spent;
    struct firn_store *store;
    struct firn_map survivors; /* paths of data files that stay, in full and bare */
    bool *leaves;              /* one a file of the whole scan: rewritten, now or before */
    uint32_t *candidates;      /* delete files whose rows are to be asked */
    uint32_t candidate_count;
    struct firn_text *named; /* one each; empty: no survivor */
    bool *is_unknown;        /* one each: it cannot be told */
};

static void list_batch(struct firn_op *op, const struct firn_rewrite_plan *plan, const uint32_t *batch, uint32_t count,
                       struct firn_spent_batch *out)
{
    for (uint32_t i = 0; i < count; i++)
        out->file_count += plan->groups[batch[i]]->file_count;
    out->files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, out->file_count);
    const struct firn_scan_file **next = out->files;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < plan->groups[batch[i]]->file_count; j++)
            *next++ = plan->files[plan->groups[batch[i]]->files[j]].scan;
    firn_delete_uses_count(op->arena, out->files, out->file_count, &out->uses);
}

/* Whether a delete file that was seen to name a data file has one less reason to go. */
static bool names_survivor(const struct search *search, uint32_t index)
{
    const struct firn_spent_delete *del = &search->spent->deletes[index];
    return del->named && !search->leaves[place_of(search->spent->plan, del->named)];
}

static void add_survivor(struct search *search, uint32_t index)
{
    struct firn_text path = search->spent->plan->whole.files[index].entry->file.path;
    firn_map_put_text(&search->survivors, path)->value.number = index;
    firn_map_put_text(&search->survivors, firn_delete_path_bare(path))->value.number = index;
}

static void sort_uses(struct search *search, struct firn_spent_batch *batch)
{
    const struct firn_rewrite_spent *spent = search->spent;
    for (uint32_t i = 0; i < batch->uses.count; i++) {
        const struct firn_delete_use *use = &batch->uses.items[i];
        uint32_t index = (uint32_t)(firn_delete_uses_find(&spent->plan->uses, use->del) - spent->plan->uses.items);
        const struct firn_data_file *file = &use->del->file;
        if (spent->deletes[index].file_count == use->file_count)
            batch->spent[batch->spent_count++] = index;
        else if (file->content == FIRN_CONTENT_POSITION_DELETES && file->format == FIRN_FILE_PARQUET &&
                 firn_delete_file_scope(file).len == 0 && !names_survivor(search, index))
            search->candidates[search->candidate_count++] = index;
    }
}

static firn_status ask_rows(struct firn_op *op, void *context, size_t index)
{
    struct search *search = context;
    const struct firn_manifest_entry *del = search->spent->plan->uses.items[search->candidates[index]].del;
    firn_status status =
        firn_position_deletes_name_any(op, search->store, &del->file, &search->survivors, &search->named[index]);
    if (status == FIRN_OK || status == FIRN_CANCELLED)
        return status;
    firn_log(op, FIRN_LOG_DEBUG, "a delete file counts as needed: %s", op->error.text);
    search->is_unknown[index] = true;
    return FIRN_OK;
}

static firn_status ask_candidates(struct firn_op *op, struct firn_pool *pool, struct search *search,
                                  struct firn_spent_batch *batch)
{
    if (search->candidate_count == 0)
        return FIRN_OK;
    for (uint32_t i = 0; i < search->spent->plan->whole.file_count; i++)
        if (!search->leaves[i])
            add_survivor(search, i);
    search->named = FIRN_NEW_ARRAY(op->arena, struct firn_text, search->candidate_count);
    search->is_unknown = FIRN_NEW_ARRAY(op->arena, bool, search->candidate_count);
    FIRN_TRY(firn_pool_run(op, pool, search->candidate_count, 0, ask_rows, search));
    for (uint32_t i = 0; i < search->candidate_count; i++) {
        uint32_t index = search->candidates[i];
        if (search->is_unknown[i])
            continue;
        const struct firn_map_entry *named = firn_map_find_text(&search->survivors, search->named[i]);
        if (search->named[i].len == 0)
            batch->spent[batch->spent_count++] = index;
        else
            search->spent->deletes[index].named = &search->spent->plan->whole.files[named->value.number];
    }
    return FIRN_OK;
}

firn_status firn_rewrite_spent_find(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                    const struct firn_rewrite_spent *spent, const uint32_t *batch, uint32_t count,
                                    struct firn_spent_batch *out)
{
    const struct firn_rewrite_plan *plan = spent->plan;
    struct search search = {
        .spent = spent,
        .store = store,
        .leaves = FIRN_NEW_ARRAY(op->arena, bool, plan->whole.file_count),
        .candidates = FIRN_NEW_ARRAY(op->arena, uint32_t, plan->uses.count),
    };
    *out = (struct firn_spent_batch){ .spent = FIRN_NEW_ARRAY(op->arena, uint32_t, plan->uses.count) };
    if (plan->uses.count == 0)
        return FIRN_OK;
    firn_map_init(&search.survivors, op->arena);
    list_batch(op, plan, batch, count, out);
    memcpy(search.leaves, spent->is_rewritten, plan->whole.file_count * sizeof *search.leaves);
    for (uint32_t i = 0; i < out->file_count; i++)
        search.leaves[place_of(plan, out->files[i])] = true;
    sort_uses(&search, out);
    FIRN_TRY(ask_candidates(op, pool, &search, out));
    out->deletes = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, out->spent_count);
    for (uint32_t i = 0; i < out->spent_count; i++)
        out->deletes[i] = plan->uses.items[out->spent[i]].del->file;
    return FIRN_OK;
}

void firn_rewrite_spent_settle(struct firn_rewrite_spent *spent, const struct firn_spent_batch *batch)
{
    const struct firn_rewrite_plan *plan = spent->plan;
    for (uint32_t i = 0; i < batch->file_count; i++)
        spent->is_rewritten[place_of(plan, batch->files[i])] = true;
    for (uint32_t i = 0; i < batch->uses.count; i++) {
        const struct firn_delete_use *use = &batch->uses.items[i];
        struct firn_spent_delete *del =
            &spent->deletes[firn_delete_uses_find(&plan->uses, use->del) - plan->uses.items];
        del->is_applied = true;
        del->file_count -= use->file_count;
    }
    for (uint32_t i = 0; i < batch->spent_count; i++)
        spent->deletes[batch->spent[i]].is_spent = true;
}

static bool is_kept(const struct firn_rewrite_spent *spent, const struct firn_manifest_entry *del)
{
    const struct firn_delete_use *use = firn_delete_uses_find(&spent->plan->uses, del);
    const struct firn_spent_delete *state = &spent->deletes[use - spent->plan->uses.items];
    return state->is_applied && !state->is_spent;
}

static bool has_kept(const struct firn_rewrite_spent *spent, const struct firn_delete_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (is_kept(spent, list->items[i]))
            return true;
    return false;
}

struct firn_kept_deletes firn_rewrite_spent_kept(const struct firn_rewrite_spent *spent)
{
    const struct firn_rewrite_plan *plan = spent->plan;
    struct firn_kept_deletes kept = { 0 };
    for (uint32_t i = 0; i < plan->uses.count; i++)
        kept.delete_file_count += spent->deletes[i].is_applied && !spent->deletes[i].is_spent;
    for (uint32_t i = 0; kept.delete_file_count > 0 && i < plan->whole.file_count; i++) {
        const struct firn_delete_match *deletes = &plan->whole.files[i].deletes;
        kept.data_file_count +=
            !spent->is_rewritten[i] &&
            (has_kept(spent, &deletes->wide) || has_kept(spent, &deletes->equality) || has_kept(spent, &deletes->own));
    }
    return kept;
}
