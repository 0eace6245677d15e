/* Data files are held against each delete of their scopes until one meets; deletes against what the data files of their
 * scope have together. */
#include "rewrite/deletion_prune.h"

#include "rewrite/key_bounds.h"

#include <stdlib.h>

/* The data files of one scope, together. */
struct envelope {
    struct firn_column_bounds *bounds; /* NULL: there is none */
    int64_t sequence_number_min;
};

struct pruning {
    const struct firn_key_source *source;
    struct firn_equality_join *join;
    uint32_t leaf_count;
    size_t *starts;                            /* of each scope among the deletes, which are sorted */
    struct firn_column_bounds **delete_bounds; /* one a delete */
    struct firn_column_bounds **data_bounds;   /* one a data file; NULL: nothing meets it */
    struct envelope *envelopes;                /* one a scope */
};

/* By scope, and the newest first: the deletes of a data file are the first ones of its scope. */
static int compare_deletes(const void *a, const void *b)
{
    const struct firn_equality_delete *left = a, *right = b;
    if (left->scope != right->scope)
        return left->scope < right->scope ? -1 : 1;
    int64_t x = left->entry->sequence_number, y = right->entry->sequence_number;
    return (x < y) - (x > y);
}

static void sort_deletes(struct firn_op *op, struct pruning *pruning)
{
    struct firn_equality_join *join = pruning->join;
    pruning->starts = FIRN_NEW_ARRAY(op->arena, size_t, (size_t)join->scope_count + 1);
    if (join->deletes.count > 0)
        qsort(join->deletes.items, join->deletes.count, sizeof *join->deletes.items, compare_deletes);
    for (size_t i = 0; i < join->deletes.count; i++)
        pruning->starts[join->deletes.items[i].scope + 1] = i + 1;
}

static struct firn_column_bounds *bounds_of(struct firn_op *op, const struct pruning *pruning,
                                            const struct firn_data_file *file)
{
    return firn_key_bounds_new(op, pruning->source->metadata, &pruning->join->columns.leaves, file);
}

static bool meets_scope(const struct pruning *pruning, uint32_t scope, const struct firn_manifest_entry *data,
                        const struct firn_column_bounds *bounds)
{
    for (size_t i = pruning->starts[scope]; i < pruning->starts[scope + 1]; i++) {
        if (pruning->join->deletes.items[i].entry->sequence_number <= data->sequence_number)
            return false;
        if (firn_key_bounds_meet(pruning->delete_bounds[i], bounds, pruning->leaf_count))
            return true;
    }
    return false;
}

static firn_status prune_data_file(struct firn_op *op, void *context, size_t index)
{
    const struct pruning *pruning = context;
    const struct firn_equality_data *data = &pruning->join->data.items[index];
    struct firn_column_bounds *bounds = bounds_of(op, pruning, &data->entry->file);
    FIRN_TRY(firn_op_check(op));
    for (uint32_t i = 0; i < data->scope_count; i++)
        if (meets_scope(pruning, data->scopes[i], data->entry, bounds))
            pruning->data_bounds[index] = bounds;
    return FIRN_OK;
}

static void widen_envelope(struct firn_op *op, const struct pruning *pruning, struct envelope *envelope,
                           const struct firn_column_bounds *bounds, int64_t sequence_number)
{
    if (envelope->bounds) {
        firn_key_bounds_widen(envelope->bounds, bounds, pruning->leaf_count);
        if (sequence_number < envelope->sequence_number_min)
            envelope->sequence_number_min = sequence_number;
        return;
    }
    envelope->bounds = FIRN_NEW_ARRAY(op->arena, struct firn_column_bounds, pruning->leaf_count);
    memcpy(envelope->bounds, bounds, pruning->leaf_count * sizeof *bounds);
    envelope->sequence_number_min = sequence_number;
}

/* Keeps the data files that something meets, in their order. */
static void keep_data(struct firn_op *op, struct pruning *pruning)
{
    struct firn_equality_join *join = pruning->join;
    size_t kept = 0;
    for (size_t i = 0; i < join->data.count; i++) {
        const struct firn_column_bounds *bounds = pruning->data_bounds[i];
        const struct firn_equality_data *data = &join->data.items[i];
        if (!bounds)
            continue;
        for (uint32_t j = 0; j < data->scope_count; j++)
            widen_envelope(op, pruning, &pruning->envelopes[data->scopes[j]], bounds, data->entry->sequence_number);
        join->data.items[kept++] = *data;
    }
    join->data.count = kept;
}

static void keep_deletes(struct pruning *pruning)
{
    struct firn_equality_join *join = pruning->join;
    size_t kept = 0;
    for (size_t i = 0; i < join->deletes.count; i++) {
        const struct firn_equality_delete *del = &join->deletes.items[i];
        const struct envelope *envelope = &pruning->envelopes[del->scope];
        if (envelope->bounds && envelope->sequence_number_min < del->entry->sequence_number &&
            firn_key_bounds_meet(pruning->delete_bounds[i], envelope->bounds, pruning->leaf_count))
            join->deletes.items[kept++] = *del;
    }
    join->deletes.count = kept;
}

firn_status firn_equality_join_prune(struct firn_op *op, const struct firn_key_source *source,
                                     struct firn_equality_join *join)
{
    struct pruning pruning = {
        .source = source,
        .join = join,
        .leaf_count = join->columns.leaves.leaf_count,
        .delete_bounds = FIRN_NEW_ARRAY(op->arena, struct firn_column_bounds *, join->deletes.count),
        .data_bounds = FIRN_NEW_ARRAY(op->arena, struct firn_column_bounds *, join->data.count),
        .envelopes = FIRN_NEW_ARRAY(op->arena, struct envelope, join->scope_count),
    };
    sort_deletes(op, &pruning);
    for (size_t i = 0; i < join->deletes.count; i++)
        pruning.delete_bounds[i] = bounds_of(op, &pruning, &join->deletes.items[i].entry->file);
    FIRN_TRY(firn_pool_run(op, source->pool, join->data.count, 0, prune_data_file, &pruning));
    keep_data(op, &pruning);
    keep_deletes(&pruning);
    return FIRN_OK;
}
