/* Carrying deletes over from removed data files to added ones: when the caller is asked to, and when what it gave goes.
 *
 * A lost race is tried again on a head that mostly holds the same deletes; then the files of the attempt before serve
 * once more. */
#include "catalog/producer.h"

static bool same_keys(const struct firn_text_list *a, const struct firn_text_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = firn_text_same(a->items[i], b->items[i]);
    return same;
}

void firn_carried_withdraw(struct firn_op *op, struct firn_producer *producer)
{
    const struct firn_carry_over *carry_over = producer->change->carry_over;
    if (producer->carried.is_asked)
        carry_over->withdraw(op, carry_over->context);
    producer->carried = (struct firn_carried){ 0 };
}

firn_status firn_carried_update(struct firn_op *op, struct firn_producer *producer,
                                const struct firn_manifest_entry *const *deletes, uint32_t count)
{
    const struct firn_carry_over *carry_over = producer->change->carry_over;
    struct firn_carried *carried = &producer->carried;
    struct firn_text_list keys = { 0 };
    for (uint32_t i = 0; i < count; i++)
        FIRN_PUSH(op->arena, &keys, firn_delete_file_key(op->arena, &deletes[i]->file));
    if (same_keys(&keys, &carried->of))
        return FIRN_OK;
    if (count == 0) {
        firn_carried_withdraw(op, producer);
        return FIRN_OK;
    }
    *carried = (struct firn_carried){ .is_asked = true };
    FIRN_TRY(carry_over->carry(op, carry_over->context, deletes, count, &carried->files, &carried->count));
    carried->of = keys;
    return FIRN_OK;
}
