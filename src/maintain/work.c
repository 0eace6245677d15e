/* Predicting work: see work.h. */
#include "maintain/work.h"

#include "base/map.h"
#include "base/math.h"
#include "maintain/delete_use.h"

void firn_work_add_reads(struct firn_work *work, int64_t objects, int64_t reads_each, int64_t bytes)
{
    work->requests[FIRN_REQUEST_GET] += objects * (1 + reads_each);
    work->bytes_read += bytes;
}

void firn_work_add_writes(struct firn_work *work, int64_t objects, int64_t bytes)
{
    work->requests[FIRN_REQUEST_PUT] += objects;
    work->bytes_written += bytes;
}

/* What a rewrite does with inputs (rewrite/window.c): up to this size one read; else the end of the file, and for each
 * row group its page indexes and a chunk a column. */
#define WHOLE_FETCH_BYTES_MAX (INT64_C(8) << 20)
/* Of a file that does not tell where its row groups begin. */
#define ROW_GROUP_BYTES (INT64_C(128) << 20)

int64_t firn_work_count_leaves(const struct firn_type *type)
{
    int64_t count = type->field_count == 0;
    for (uint32_t i = 0; i < type->field_count; i++)
        count += firn_work_count_leaves(&type->fields[i].type);
    return count;
}

static int64_t count_row_groups(const struct firn_data_file *file, int64_t bytes)
{
    if (firn_split_offsets_usable(file) && file->file_bytes > 0)
        return FIRN_MAX((int64_t)((double)file->split_offset_count * (double)bytes / (double)file->file_bytes), 1);
    return FIRN_MAX(bytes / ROW_GROUP_BYTES + (bytes % ROW_GROUP_BYTES != 0), 1);
}

void firn_work_add_data_file(struct firn_work *work, const struct firn_data_file *file, int64_t bytes, int64_t leaves)
{
    if (file->file_bytes <= WHOLE_FETCH_BYTES_MAX)
        firn_work_add_reads(work, 1, 1, FIRN_MAX(file->file_bytes, 0));
    else
        firn_work_add_reads(work, 1, 1 + count_row_groups(file, bytes) * (leaves + 1), bytes);
}

void firn_work_add_output(struct firn_work *work, int64_t files, int64_t bytes)
{
    enum { PROOF_READS = 2 }; /* the footer's length, and the footer */
    firn_work_add_writes(work, files, bytes);
    firn_work_add_reads(work, files, PROOF_READS, 0);
}

/* The blob of a vector at once; of a Parquet file the length of the footer, the footer, and a chunk for each column. */
void firn_work_add_delete_file(struct firn_work *work, const struct firn_data_file *file)
{
    enum { FOOTER_READS = 2, POSITION_COLUMNS = 2 };
    int64_t columns = file->content == FIRN_CONTENT_EQUALITY_DELETES ? FIRN_MAX(file->equality_id_count, 1u)
                                                                     : (int64_t)POSITION_COLUMNS;
    int64_t reads = file->format == FIRN_FILE_PARQUET ? FOOTER_READS + columns : 1;
    firn_work_add_reads(work, 1, reads, firn_delete_read_bytes(file));
}

void firn_work_add_deletions(struct firn_work *work, int64_t files)
{
    work->requests[FIRN_REQUEST_DELETE] += files / FIRN_STORE_DELETE_MAX + (files % FIRN_STORE_DELETE_MAX != 0);
}

/* Commits --------------------------------------------------------------------------------------------------------- */

/* A run tells its journal that it begins and where it writes, and of each commit that it is tried and what it wrote. */
enum { EVENTS_OF_RUN = 2, EVENTS_OF_COMMIT = 3 };

void firn_work_add_events(struct firn_work *work, int64_t events)
{
    work->requests[FIRN_REQUEST_PUT] += events;
    work->requests[FIRN_REQUEST_DELETE] += events;
}

void firn_work_add_change(struct firn_work *work)
{
    firn_work_add_reads(work, 1, 1, 0);
    firn_work_add_writes(work, 1, 0);
    firn_work_add_events(work, EVENTS_OF_RUN + 1); /* what is to be deleted */
}

/* A replaced manifest is read twice, to find the entries and to copy the others, and written. */
void firn_work_add_replaced_manifests(struct firn_work *work, struct firn_manifest_touch touched)
{
    firn_work_add_reads(work, 2 * touched.manifests, 1, 2 * touched.bytes);
    firn_work_add_writes(work, touched.manifests, touched.bytes);
}

/* A commit reads the metadata and the manifest list; it writes the list, the metadata, and what is new as a manifest.
 */
void firn_work_add_commit(struct firn_work *work, struct firn_manifest_touch touched)
{
    firn_work_add_reads(work, 2, 1, 0);
    firn_work_add_writes(work, 3, 0);
    firn_work_add_replaced_manifests(work, touched);
    firn_work_add_events(work, EVENTS_OF_COMMIT);
}

/* Each looks at the lists and the new manifests of those that came since the plan was made: its predecessors at least.
 */
void firn_work_add_run(struct firn_work *work, int64_t commits)
{
    firn_work_add_events(work, EVENTS_OF_RUN);
    firn_work_add_reads(work, commits * (commits - 1), 1, 0);
}

int64_t firn_work_count_commits(const struct firn_manifest_entry *const *entries, uint32_t count)
{
    struct firn_arena arena;
    struct firn_map ids;
    firn_arena_init(&arena);
    firn_map_init(&ids, &arena);
    for (uint32_t i = 0; i < count; i++) {
        struct firn_bytes key = { (const uint8_t *)&entries[i]->snapshot_id, sizeof entries[i]->snapshot_id };
        if (!firn_map_find(&ids, key))
            firn_map_put(&ids, key);
    }
    int64_t commits = (int64_t)ids.count;
    firn_arena_done(&arena);
    return commits;
}

struct firn_manifest_touch firn_manifests_touched(const struct firn_manifest_list *list, bool is_deletes,
                                                  const struct firn_manifest_entry *const *entries, uint32_t count)
{
    struct firn_manifest_touch all = { 0 };
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->manifests[i].is_deletes != is_deletes || !firn_manifest_has_live(&list->manifests[i]))
            continue;
        all.manifests++;
        all.bytes += FIRN_MAX(list->manifests[i].length, 0);
    }
    int64_t touched = FIRN_MIN(firn_work_count_commits(entries, count), all.manifests);
    double share = all.manifests > 0 ? (double)touched / (double)all.manifests : 0;
    return (struct firn_manifest_touch){ touched, (int64_t)(share * (double)all.bytes) };
}

struct firn_manifest_touch firn_manifest_touch_share(struct firn_manifest_touch touched, int64_t commits)
{
    return (struct firn_manifest_touch){ (touched.manifests + commits - 1) / commits, touched.bytes / commits };
}
