/* Putting deletes in order, choosing their form, and leaving nothing after a failure. */
#include "rewrite/delete_writer.h"

#include "rewrite/delete_writer_form.h"
#include "table/delete_index.h"

#include <stdlib.h>

firn_status firn_delete_file_bytes(struct firn_op *op, const struct firn_metadata *metadata, int64_t *out)
{
    return firn_property_i64(op, metadata, "write.delete.target-file-size-bytes", FIRN_DELETE_FILE_BYTES_DEFAULT, out);
}

struct keyed_deletes {
    const struct firn_row_deletes *deletes;
    struct firn_bytes key;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed_deletes *left = a, *right = b;
    int order = firn_bytes_compare(left->key, right->key);
    return order ? order : firn_text_compare(left->deletes->data_file, right->deletes->data_file);
}

static firn_status find_key(struct firn_op *op, const struct firn_row_deletes *deletes, struct firn_bytes *out)
{
    const struct firn_data_file file = { .spec_id = deletes->spec_id, .partition = deletes->partition };
    struct firn_buffer key = { 0 };
    firn_status status = firn_data_file_partition_key(op, &file, &key);
    *out = firn_bytes_copy(op->arena, firn_buffer_bytes(&key));
    firn_buffer_done(&key);
    return status;
}

static firn_status sort(struct firn_op *op, const struct firn_row_deletes *deletes, uint32_t count,
                        struct firn_sorted_deletes *out)
{
    struct keyed_deletes *keyed = FIRN_NEW_ARRAY(op->arena, struct keyed_deletes, count);
    struct firn_bytes *keys = FIRN_NEW_ARRAY(op->arena, struct firn_bytes, count);
    *out = (struct firn_sorted_deletes){ .items = FIRN_NEW_ARRAY(op->arena, const struct firn_row_deletes *, count) };
    for (uint32_t i = 0; i < count; i++) {
        if (firn_positions_count(deletes[i].positions) == 0)
            continue;
        keyed[out->count].deletes = &deletes[i];
        FIRN_TRY(find_key(op, &deletes[i], &keyed[out->count++].key));
    }
    qsort(keyed, out->count, sizeof *keyed, compare_keyed);
    for (uint32_t i = 0; i < out->count; i++) {
        out->items[i] = keyed[i].deletes;
        keys[i] = keyed[i].key;
    }
    out->keys = keys;
    return FIRN_OK;
}

firn_status firn_row_deletes_write(struct firn_op *op, const struct firn_delete_writer_config *config,
                                   const struct firn_row_deletes *deletes, uint32_t count,
                                   struct firn_delete_files *out)
{
    struct firn_sorted_deletes sorted;
    struct firn_written_deletes written = { 0 };
    firn_status status = FIRN_OK;
    *out = (struct firn_delete_files){ 0 };
    FIRN_TRY(sort(op, deletes, count, &sorted));
    if (sorted.count == 0)
        return FIRN_OK;
    if (config->metadata->format_version < 2)
        return firn_fail(op, FIRN_UNSUPPORTED, "tables of format version 1 have no delete files");
    if (config->metadata->format_version >= 3)
        status = firn_deletion_vectors_write(op, config, &sorted, &written);
    else
        status = firn_position_deletes_write(op, config, &sorted, &written);
    *out = (struct firn_delete_files){ written.files.items, (uint32_t)written.files.count };
    if (status != FIRN_OK)
        firn_delete_files_discard(op, config->store, out);
    return status;
}

void firn_delete_files_discard(struct firn_op *op, struct firn_store *store, const struct firn_delete_files *files)
{
    struct firn_text *locations = FIRN_NEW_ARRAY(op->arena, struct firn_text, files->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < files->count; i++)
        if (count == 0 || !firn_text_same(locations[count - 1], files->files[i].path)) /* vectors share a file */
            locations[count++] = files->files[i].path;
    firn_store_discard(op, store, locations, count);
}
