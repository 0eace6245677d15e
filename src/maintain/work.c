/* Predicting work: see work.h. */
#include "maintain/work.h"

#include "base/map.h"
#include "base/math.h"
#include "maintain/delete_use.h"

#include <math.h>

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
 * row group its page indexes and a chunk a column, in pieces of this size where it is larger than two of them. */
#define WHOLE_FETCH_BYTES_MAX (INT64_C(8) << 20)
#define PIECE_BYTES           (INT64_C(8) << 20)
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

/* All columns are taken to be of one size. */
static int64_t count_chunk_reads(int64_t bytes, int64_t row_groups, int64_t leaves)
{
    int64_t chunk_bytes = bytes / (row_groups * FIRN_MAX(leaves, 1));
    int64_t pieces = chunk_bytes <= 2 * PIECE_BYTES ? 1 : (chunk_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    return row_groups * (leaves * pieces + 1);
}

void firn_work_add_data_file(struct firn_work *work, const struct firn_data_file *file, int64_t bytes, int64_t leaves)
{
    if (file->file_bytes <= WHOLE_FETCH_BYTES_MAX)
        firn_work_add_reads(work, 1, 1, FIRN_MAX(file->file_bytes, 0));
    else
        firn_work_add_reads(work, 1, 1 + count_chunk_reads(bytes, count_row_groups(file, bytes), leaves), bytes);
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

/* A run tells its journal that it begins and where it writes, and of each commit that it is tried and what it wrote;
 * before that it lists the journals of others. */
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
    work->requests[FIRN_REQUEST_LIST]++;
}

/* Manifests are read to find the entries; what is not joined anyway is read again to copy the others, and written. */
void firn_work_add_replaced_manifests(struct firn_work *work, struct firn_manifest_touch touched,
                                      const struct firn_manifest_join *join)
{
    double share = join ? join->alone : 1;
    int64_t manifests = (int64_t)ceil((double)touched.manifests * share);
    int64_t bytes = (int64_t)((double)touched.bytes * share);
    firn_work_add_reads(work, touched.manifests + manifests, 1, touched.bytes + bytes);
    firn_work_add_writes(work, manifests, bytes);
}

void firn_work_add_join(struct firn_work *work, const struct firn_manifest_join *join)
{
    firn_work_add_reads(work, join->manifests, 1, join->bytes);
    firn_work_add_writes(work, join->outputs, join->bytes);
}

/* A commit reads the metadata and the manifest list; it writes the list, the metadata, and what is new as a manifest.
 */
void firn_work_add_commit(struct firn_work *work, struct firn_manifest_touch touched,
                          const struct firn_manifest_join *join)
{
    firn_work_add_reads(work, 2, 1, 0);
    firn_work_add_writes(work, 3, 0);
    firn_work_add_replaced_manifests(work, touched, join);
    firn_work_add_events(work, EVENTS_OF_COMMIT);
}

/* Each looks at the lists and the new manifests of those that came since the plan was made: its predecessors at least.
 */
void firn_work_add_run(struct firn_work *work, int64_t commits)
{
    firn_work_add_events(work, EVENTS_OF_RUN);
    work->requests[FIRN_REQUEST_LIST]++;
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

struct firn_manifest_touch firn_manifests_touched(const struct firn_manifest_join *join,
                                                  const struct firn_manifest_entry *const *entries, uint32_t count)
{
    struct firn_manifest_touch all = join->all;
    int64_t touched = FIRN_MIN(firn_work_count_commits(entries, count), all.manifests);
    double share = all.manifests > 0 ? (double)touched / (double)all.manifests : 0;
    return (struct firn_manifest_touch){ touched, (int64_t)(share * (double)all.bytes) };
}

/* Joins ----------------------------------------------------------------------------------------------------------- */

enum { MANIFEST_BYTES_DEFAULT = 8 << 20, MERGE_COUNT_MIN_DEFAULT = 100 };

static int64_t number_of(const struct firn_metadata *metadata, const char *key, int64_t fallback)
{
    int64_t number;
    return firn_text_to_i64(firn_property_text(metadata, key, FIRN_TEXT("")), &number) ? number : fallback;
}

static bool is_of(const struct firn_manifest_file *row, bool is_deletes)
{
    return row->is_deletes == is_deletes && firn_manifest_has_live(row);
}

/* A bin of manifests being filled, from the oldest on. */
struct bin {
    int64_t manifests, bytes;
};

static void close_bin(struct bin *bin, int64_t count_min, struct firn_manifest_join *join)
{
    if (bin->manifests > 1 && bin->manifests >= count_min) {
        join->manifests += bin->manifests;
        join->bytes += bin->bytes;
        join->outputs++;
    }
    *bin = (struct bin){ 0 };
}

/* The bin with the newest grows until it has enough, the commit's own manifest included, which is of the default spec.
 */
static void join_spec(const struct firn_metadata *metadata, const struct firn_manifest_list *list, bool is_deletes,
                      int32_t spec_id, struct firn_manifest_join *join)
{
    int64_t bytes_max = number_of(metadata, "commit.manifest.target-size-bytes", MANIFEST_BYTES_DEFAULT);
    int64_t count_min = number_of(metadata, "commit.manifest.min-count-to-merge", MERGE_COUNT_MIN_DEFAULT);
    struct bin bin = { 0 };
    for (uint32_t i = list->count; i > 0; i--) {
        const struct firn_manifest_file *row = &list->manifests[i - 1];
        if (row->spec_id != spec_id || !is_of(row, is_deletes))
            continue;
        int64_t bytes = FIRN_MAX(row->length, 0);
        if (bin.manifests > 0 && bytes > bytes_max - bin.bytes)
            close_bin(&bin, 0, join);
        bin.manifests++;
        bin.bytes += FIRN_MIN(bytes, INT64_MAX - bin.bytes);
    }
    close_bin(&bin, spec_id == metadata->default_spec_id ? count_min - 1 : 0, join);
}

struct firn_manifest_join firn_manifests_joined(const struct firn_metadata *metadata,
                                                const struct firn_manifest_list *list, bool is_deletes)
{
    struct firn_manifest_join join = { .alone = 1 };
    struct firn_manifest_touch *all = &join.all;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!is_of(&list->manifests[i], is_deletes))
            continue;
        all->manifests++;
        all->bytes += FIRN_MAX(list->manifests[i].length, 0);
    }
    if (!firn_property_bool(metadata, "commit.manifest-merge.enabled", true))
        return join;
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        join_spec(metadata, list, is_deletes, metadata->specs[i].id, &join);
    if (all->manifests > 0)
        join.alone = (double)(all->manifests - join.manifests) / (double)all->manifests;
    return join;
}

struct firn_manifest_touch firn_manifest_touch_joined(struct firn_manifest_touch touched,
                                                      const struct firn_manifest_join *join)
{
    int64_t alone = (int64_t)ceil((double)touched.manifests * join->alone);
    if (touched.manifests <= alone + join->outputs)
        return touched;
    return (struct firn_manifest_touch){ alone + join->outputs, FIRN_MAX(touched.bytes, join->bytes) };
}

/* What one of several commits replaces of them. */
static struct firn_manifest_touch share_of(struct firn_manifest_touch touched, int64_t commits)
{
    return (struct firn_manifest_touch){ (touched.manifests + commits - 1) / commits, touched.bytes / commits };
}

void firn_work_add_delete_commits(struct firn_work *work, const struct firn_metadata *metadata,
                                  const struct firn_manifest_list *list,
                                  const struct firn_manifest_entry *const *entries, uint32_t count, int64_t commits)
{
    struct firn_manifest_join join = firn_manifests_joined(metadata, list, true);
    struct firn_manifest_touch touched = firn_manifests_touched(&join, entries, count);
    firn_work_add_join(work, &join);
    for (int64_t i = 0; i < commits; i++)
        firn_work_add_commit(work, share_of(touched, commits), &join);
    firn_work_add_run(work, commits);
}
