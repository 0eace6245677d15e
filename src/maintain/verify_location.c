/* Two tables in one place: what cleans up after one takes the other's files for its own, or for nobody's. */
#include "maintain/orphans.h"
#include "maintain/table_identity.h"
#include "maintain/verify.h"

/* Metadata files beside the table's own. */
struct neighbours {
    FIRN_ARRAY(struct firn_text) items;
};

static firn_status take_metadata_file(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct neighbours *neighbours = context;
    if (firn_is_table_metadata_name(entry->location))
        FIRN_PUSH(op->arena, &neighbours->items, firn_text_copy(op->arena, entry->location));
    return FIRN_OK;
}

struct reading {
    struct firn_verify *verify;
    const struct neighbours *neighbours;
    struct firn_table_identity *others; /* location empty: this table's, or not to be told */
};

/* Of a file that does not tell, another part has what is to be said: it is the current one, or nobody needs it. */
static firn_status read_identity(struct firn_op *op, struct reading *reading, size_t index)
{
    const struct firn_table *table = reading->verify->table;
    struct firn_table_identity found;
    firn_status status = firn_table_identity_read(op, table->store, reading->neighbours->items.items[index], &found);
    if (status == FIRN_CANCELLED || status == FIRN_LIMIT || status == FIRN_UNAVAILABLE)
        return status;
    if (status == FIRN_OK && !firn_table_identity_same(op, table, &found))
        reading->others[index] = found;
    return FIRN_OK;
}

static firn_status read_one(struct firn_op *op, void *context, size_t index)
{
    struct reading *reading = context;
    struct firn_scratch scratch;
    firn_scratch_begin(op, &scratch);
    firn_status status = read_identity(op, reading, index);
    struct firn_table_identity *other = &reading->others[index];
    other->table_uuid = firn_text_copy(scratch.results, other->table_uuid);
    other->location = firn_text_copy(scratch.results, other->location);
    firn_scratch_end(op, &scratch);
    return status;
}

/* Each other table is told once, by one of its files. */
static void report_others(struct firn_op *op, struct firn_verify *verify, const struct reading *reading)
{
    struct firn_map told;
    firn_map_init(&told, op->arena);
    for (size_t i = 0; i < reading->neighbours->items.count; i++) {
        const struct firn_table_identity *other = &reading->others[i];
        struct firn_text name = other->table_uuid.len ? other->table_uuid : other->location;
        if (name.len == 0 || firn_map_find_text(&told, name))
            continue;
        firn_map_put_text(&told, name);
        firn_findings_add(&verify->found, FIRN_SEVERITY_WARNING, "location-shared", reading->neighbours->items.items[i],
                          "metadata of another table (uuid %.*s, location \"%.*s\") lies beside this table's",
                          FIRN_FMT(other->table_uuid), FIRN_FMT(other->location));
        firn_findings_hint(&verify->found, "drop neither table with its files, and give remove-orphan-files a "
                                           "--location, until they lie apart");
    }
}

firn_status firn_verify_location(struct firn_op *op, struct firn_verify *verify)
{
    struct neighbours neighbours = { 0 };
    struct firn_text file = verify->table->metadata_location;
    ptrdiff_t slash = firn_text_find_last(file, '/');
    if (slash < 0)
        return FIRN_OK;
    FIRN_TRY(firn_store_list(op, verify->store, firn_text_until(file, (size_t)slash), false, take_metadata_file,
                             &neighbours));
    struct reading reading = { verify, &neighbours,
                               FIRN_NEW_ARRAY(op->arena, struct firn_table_identity, neighbours.items.count) };
    FIRN_TRY(firn_pool_run(op, verify->pool, neighbours.items.count, 0, read_one, &reading));
    report_others(op, verify, &reading);
    return FIRN_OK;
}
