/* Which snapshots can still be read: those of which the list, the manifests and all live files can. Asked only where
 * something cannot; of the files, only those that were looked at count. */
#include "base/math.h"
#include "maintain/verify.h"
#include "table/manifest_paths.h"

/* Manifests that name a file which cannot be read ------------------------------------------------------------------ */

static firn_status find_broken_file(struct firn_op *op, struct firn_verify *verify, size_t index,
                                    struct firn_findings *found, void **result)
{
    (void)found;
    const struct firn_verify_manifest *manifest = verify->manifests.entries[index].value.pointer;
    struct firn_named_files files;
    if (manifest->broken.len)
        return FIRN_OK;
    FIRN_TRY(firn_manifest_paths(op, verify->store, manifest->row.path, &files));
    for (size_t i = 0; i < files.count && !*result; i++)
        if (firn_key_map_find(&verify->broken, firn_verify_path_key(files.items[i].path)))
            *result = &files.items[i];
    return FIRN_OK;
}

static firn_status take_broken_file(struct firn_op *op, struct firn_verify *verify, size_t index, void *result)
{
    (void)op;
    struct firn_verify_manifest *manifest = verify->manifests.entries[index].value.pointer;
    const struct firn_named_file *file = result;
    if (file)
        manifest->broken = firn_text_copy(verify->manifests.arena, file->path);
    return FIRN_OK;
}

/* Snapshots ------------------------------------------------------------------------------------------------------ */

static firn_status find_broken(struct firn_op *op, struct firn_verify *verify, const struct firn_snapshot *snapshot,
                               struct firn_text *broken)
{
    struct firn_named_manifests list = { 0 };
    struct firn_text path = FIRN_TEXT("");
    size_t count = snapshot->manifest_count;
    if (snapshot->manifest_list.len > 0) {
        FIRN_TRY(firn_manifest_list_paths(op, verify->store, snapshot->manifest_list, &list));
        count = list.count;
    }
    for (size_t i = 0; i < count && broken->len == 0; i++) {
        path = snapshot->manifest_list.len > 0 ? list.items[i].path : snapshot->manifests[i];
        const struct firn_map_entry *met = firn_map_find_text(&verify->manifests, path);
        if (met)
            *broken = ((const struct firn_verify_manifest *)met->value.pointer)->broken;
    }
    return FIRN_OK;
}

static firn_status look_at_snapshot(struct firn_op *op, struct firn_verify *verify, size_t index,
                                    struct firn_findings *found, void **result)
{
    (void)found;
    (void)result;
    struct firn_verify_snapshot *snapshot = &verify->snapshots[index];
    if (!snapshot->is_readable)
        return FIRN_OK;
    FIRN_TRY(find_broken(op, verify, &verify->metadata->snapshots[index], &snapshot->why));
    snapshot->is_readable = snapshot->why.len == 0;
    return FIRN_OK;
}

static bool some_manifest_is_broken(const struct firn_verify *verify)
{
    for (size_t i = 0; i < verify->manifests.count; i++)
        if (((const struct firn_verify_manifest *)verify->manifests.entries[i].value.pointer)->broken.len)
            return true;
    return false;
}

firn_status firn_verify_readable(struct firn_op *op, struct firn_verify *verify)
{
    static const struct firn_verify_work manifests = { find_broken_file, take_broken_file };
    static const struct firn_verify_work snapshots = { look_at_snapshot, NULL };
    if (verify->broken.count > 0)
        FIRN_TRY(firn_verify_each(op, verify, verify->manifests.count, &manifests));
    if (!some_manifest_is_broken(verify))
        return FIRN_OK;
    return firn_verify_each(op, verify, verify->metadata->snapshot_count, &snapshots);
}
