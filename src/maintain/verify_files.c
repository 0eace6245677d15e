/* The files of a manifest: each is checked once for each way it is recorded, or left out of the sample. */
#include "base/math.h"
#include "maintain/file_check.h"
#include "maintain/verify.h"

#include <math.h>

/* Findings after which a reader of the file gets nothing, or not all of its rows. */
static const char *const unreadable_codes[] = {
    "file-missing", "file-length", "file-unreadable", "page-damaged", "value-unreadable", "deletion-vector",
};

static bool is_unreadable(const struct firn_findings *found)
{
    for (size_t i = 0; i < found->counts.count; i++)
        for (size_t k = 0; k < FIRN_COUNT_OF(unreadable_codes); k++)
            if (found->counts.items[i].severity == FIRN_SEVERITY_ERROR &&
                strcmp(found->counts.items[i].code, unreadable_codes[k]) == 0)
                return true;
    return false;
}

/* Which files -------------------------------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    return firn_hash64_seeded((struct firn_bytes){ data, len }, hash);
}

static uint64_t mix_counts(uint64_t hash, const struct firn_count_map *map)
{
    hash = mix(hash, map->ids, map->count * sizeof *map->ids);
    return mix(hash, map->counts, map->count * sizeof *map->counts);
}

static uint64_t mix_bounds(uint64_t hash, const struct firn_bound_map *map)
{
    hash = mix(hash, map->ids, map->count * sizeof *map->ids);
    for (uint32_t i = 0; i < map->count; i++)
        hash = mix(hash, map->values[i].data, map->values[i].len);
    return hash;
}

/* Of all that is compared with the file: what is recorded in two ways is checked in both. */
static struct firn_hash128 record_key(const struct firn_data_file *file)
{
    const int64_t numbers[] = { file->content,        file->record_count,  file->file_bytes,   file->spec_id,
                                file->content_offset, file->content_bytes, file->first_row_id, file->sort_order_id };
    uint64_t hash = mix(0, numbers, sizeof numbers);
    hash = mix_counts(hash, &file->value_counts);
    hash = mix_counts(hash, &file->null_value_counts);
    hash = mix_counts(hash, &file->nan_value_counts);
    hash = mix_bounds(hash, &file->lower_bounds);
    hash = mix_bounds(hash, &file->upper_bounds);
    return firn_hash128(firn_bytes_of_text(file->path), hash);
}

static bool is_sampled(const struct firn_verify *verify, const struct firn_data_file *file)
{
    uint64_t hash = firn_hash64_seeded(firn_bytes_of_text(file->path), verify->options->seed);
    return !verify->report->is_sampled || ldexp((double)hash, -64) * 100 < verify->options->sample_percent;
}

/* For the positions that delete files name; where there are none, nobody asks. */
static firn_status note_rows(struct firn_op *op, struct firn_verify *verify, const struct firn_data_file *file)
{
    bool is_new;
    if (!verify->has_deletes || file->content != FIRN_CONTENT_DATA)
        return FIRN_OK;
    return firn_key_map_add(op, &verify->row_counts, firn_row_count_key(file->path), file->record_count, &is_new);
}

/* Lists the entries to be checked; with the lock held, as other manifests may name the same files. */
static firn_status choose(struct firn_op *op, struct firn_verify *verify, const struct firn_manifest *manifest,
                          uint32_t *chosen, size_t *count)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        const struct firn_manifest_entry *entry = &manifest->entries[i];
        bool is_new;
        if (entry->status == FIRN_ENTRY_DELETED)
            continue;
        FIRN_TRY(firn_key_map_add(op, &verify->seen, record_key(&entry->file), 0, &is_new));
        verify->report->file_count += is_new;
        if (is_new)
            FIRN_TRY(note_rows(op, verify, &entry->file));
        if (is_new && is_sampled(verify, &entry->file))
            chosen[(*count)++] = i;
    }
    return FIRN_OK;
}

/* Checking them --------------------------------------------------------------------------------------------------- */

struct checking {
    struct firn_verify *verify;
    const struct firn_manifest *manifest;
    const uint32_t *chosen;
    struct firn_findings *found; /* one each; most stay empty */
};

static firn_status count_checked(struct firn_op *op, struct firn_verify *verify, const struct firn_data_file *file,
                                 bool unreadable)
{
    bool is_new;
    pthread_mutex_lock(&verify->lock);
    verify->report->checked_count++;
    verify->report->checked_bytes += (uint64_t)file->file_bytes;
    firn_status status =
        unreadable ? firn_key_map_add(op, &verify->broken, firn_verify_path_key(file->path), 0, &is_new) : FIRN_OK;
    pthread_mutex_unlock(&verify->lock);
    firn_progress_tick(op, verify->options->progress, 1, (uint64_t)file->file_bytes);
    return status;
}

static firn_status check_file(struct firn_op *op, void *context, size_t index)
{
    struct checking *checking = context;
    struct firn_verify *verify = checking->verify;
    const struct firn_manifest_entry *entry = &checking->manifest->entries[checking->chosen[index]];
    struct firn_file_check what = { .store = verify->store,
                                    .metadata = verify->metadata,
                                    .entry = entry,
                                    .deep = verify->options->deep,
                                    .row_counts =
                                        entry->file.content == FIRN_CONTENT_DATA ? NULL : &verify->row_counts };
    struct firn_scratch scratch;
    struct firn_findings found;
    firn_scratch_begin(op, &scratch);
    firn_findings_init(&found, op->arena);
    firn_status status = firn_op_check(op);
    if (status == FIRN_OK)
        status = firn_file_check(op, &what, &found);
    if (status == FIRN_OK)
        status = count_checked(op, verify, &entry->file, is_unreadable(&found));
    firn_findings_init(&checking->found[index], scratch.results);
    firn_findings_merge(&checking->found[index], &found);
    firn_scratch_end(op, &scratch);
    return status;
}

firn_status firn_verify_files(struct firn_op *op, struct firn_verify *verify, const struct firn_manifest *manifest,
                              struct firn_findings *found)
{
    uint32_t *chosen = FIRN_NEW_ARRAY(op->arena, uint32_t, manifest->count);
    size_t count = 0;
    pthread_mutex_lock(&verify->lock);
    firn_status status = choose(op, verify, manifest, chosen, &count);
    pthread_mutex_unlock(&verify->lock);
    FIRN_TRY(status);
    struct checking checking = { .verify = verify,
                                 .manifest = manifest,
                                 .chosen = chosen,
                                 .found = FIRN_NEW_ARRAY(op->arena, struct firn_findings, count) };
    FIRN_TRY(firn_pool_run(op, verify->pool, count, 0, check_file, &checking));
    for (size_t i = 0; i < count; i++)
        firn_findings_merge(found, &checking.found[i]);
    return FIRN_OK;
}
