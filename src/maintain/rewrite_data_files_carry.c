/* Carrying over what others deleted while rewrite_data_files ran: what the commit loop asks for, done by the rewrite
 * layer. What was written for an attempt is kept until the next one asks for something else. */
#include "maintain/rewrite_data_files.h"

static void withdraw(struct firn_op *op, void *context)
{
    struct firn_rewrite_carrier *carrier = context;
    firn_delete_files_discard(op, carrier->config.store, &carrier->given.files);
    carrier->given = (struct firn_carry_over_result){ 0 };
}

static firn_status carry(struct firn_op *op, void *context, const struct firn_manifest_entry *const *deletes,
                         uint32_t count, const struct firn_data_file **added, uint32_t *added_count)
{
    struct firn_rewrite_carrier *carrier = context;
    withdraw(op, carrier);
    carrier->config.metadata = carrier->table->metadata;
    carrier->config.number++;
    FIRN_TRY(firn_carry_over_write(op, &carrier->config, carrier->groups, carrier->group_count, deletes, count,
                                   &carrier->given));
    *added = carrier->given.files.files;
    *added_count = carrier->given.files.count;
    return FIRN_OK;
}

void firn_rewrite_carrier_init(struct firn_rewrite_carrier *carrier)
{
    carrier->calls = (struct firn_carry_over){ .carry = carry, .withdraw = withdraw, .context = carrier };
}
