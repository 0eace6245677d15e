/* Which delete files apply to which data file. Iceberg spec, "Scan Planning".
 *
 * Every delete has a reach: the highest data sequence number it applies to, its own for position deletes and one less
 * for equality deletes. Lists are sorted by reach, so the deletes of a data file are the tail of a list that begins
 * with the first reach not below the file's number. */
#include "table/delete_index.h"

#include "base/map.h"
#include "base/math.h"

#include <stdlib.h>

struct ranked {
    int64_t reach;
    uint32_t order; /* as given, so that equal reaches keep it */
    const struct firn_manifest_entry *del;
};

struct ranked_list {
    struct ranked *items;
    size_t count;
    size_t capacity;
};

/* A finished list: reaches ascending beside the entries. */
struct sorted_list {
    int64_t *reaches;
    const struct firn_manifest_entry **items;
    uint32_t count;
};

/* The deletes of one spec and partition tuple. */
struct partition_deletes {
    struct ranked_list equality_found, wide_found;
    struct sorted_list equality; /* table-wide ones merged in; empty when the partition has none of its own */
    struct sorted_list wide;
    bool has_bounds; /* some wide delete has path bounds */
};

/* The deletes that name one data file, by its bare path. */
struct path_deletes {
    struct ranked_list vectors;
    struct ranked_list positions;
};

struct firn_delete_index {
    const struct firn_metadata *metadata;
    struct ranked_list global_found;
    struct sorted_list global; /* equality deletes of unpartitioned specs reach the whole table */
    struct firn_map partitions;
    struct firn_map paths;
    struct firn_buffer key; /* scratch */
};

firn_status firn_data_file_partition_key(struct firn_op *op, const struct firn_data_file *file, struct firn_buffer *out)
{
    uint8_t spec_id[4];
    firn_store_le32(spec_id, (uint32_t)file->spec_id);
    firn_buffer_clear(out);
    FIRN_TRY(firn_buffer_append(op, out, spec_id, sizeof spec_id));
    return firn_partition_key(op, &file->partition, out);
}

static bool same_partition(const struct firn_data_file *a, const struct firn_data_file *b)
{
    return a->spec_id == b->spec_id && firn_partition_same(&a->partition, &b->partition);
}

static bool is_global(const struct firn_metadata *metadata, const struct firn_data_file *del)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, del->spec_id);
    return del->content == FIRN_CONTENT_EQUALITY_DELETES && spec && firn_partition_spec_is_unpartitioned(spec);
}

/* A bound that was cut to some length is not a path. What firn takes for one ends as data files do. */
static bool is_complete_path(struct firn_text path)
{
    static const struct firn_text endings[] = {
        FIRN_TEXT_INIT(".parquet"),
        FIRN_TEXT_INIT(".orc"),
        FIRN_TEXT_INIT(".avro"),
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(endings); i++)
        if (path.len > endings[i].len &&
            firn_text_same_nocase(firn_text_from(path, path.len - endings[i].len), endings[i]))
            return true;
    return false;
}

struct firn_text firn_delete_file_scope(const struct firn_data_file *file)
{
    struct firn_bytes lower, upper;
    if (file->content != FIRN_CONTENT_POSITION_DELETES)
        return FIRN_TEXT("");
    if (file->referenced_data_file.data)
        return file->referenced_data_file;
    if (!firn_bound_map_find(&file->lower_bounds, FIRN_FIELD_ID_DELETE_FILE_PATH, &lower) ||
        !firn_bound_map_find(&file->upper_bounds, FIRN_FIELD_ID_DELETE_FILE_PATH, &upper) ||
        firn_bytes_compare(lower, upper) != 0 || !is_complete_path(firn_text_of_bytes(lower)))
        return FIRN_TEXT("");
    return firn_text_of_bytes(lower);
}

/* Length of "scheme://authority" or "scheme:" in front of an absolute path; 0 without. */
static size_t authority_len(struct firn_text location)
{
    ptrdiff_t colon = firn_text_find(location, ':');
    ptrdiff_t slash = firn_text_find(location, '/');
    if (colon <= 0 || slash != colon + 1)
        return 0;
    if ((size_t)slash + 1 >= location.len || location.data[slash + 1] != '/')
        return (size_t)slash;
    ptrdiff_t end = firn_text_find(firn_text_from(location, (size_t)slash + 2), '/');
    return end < 0 ? location.len : (size_t)slash + 2 + (size_t)end;
}

/* Writers and those who edited tables afterwards spell one file as "hdfs://host:1/x" here and "/x" there, and engines
 * differ in whether that is one file. Where it decides if a delete may concern a file, firn says it may. */
struct firn_text firn_delete_path_bare(struct firn_text location)
{
    return firn_text_from(location, authority_len(location));
}

static bool same_bare_path(struct firn_text a, struct firn_text b)
{
    return firn_text_same(firn_delete_path_bare(a), firn_delete_path_bare(b));
}

static bool same_authority(struct firn_text a, struct firn_text b)
{
    return firn_text_same(firn_text_until(a, authority_len(a)), firn_text_until(b, authority_len(b)));
}

static bool has_path_bounds(const struct firn_data_file *del)
{
    struct firn_bytes bound;
    return firn_bound_map_find(&del->lower_bounds, FIRN_FIELD_ID_DELETE_FILE_PATH, &bound) ||
           firn_bound_map_find(&del->upper_bounds, FIRN_FIELD_ID_DELETE_FILE_PATH, &bound);
}

/* Bounds may be cut, and an upper bound may have been cut without being raised: whatever begins with it may match. */
static bool path_within_bounds(const struct firn_data_file *del, struct firn_text path)
{
    struct firn_bytes bound;
    struct firn_text limit;
    if (firn_bound_map_find(&del->lower_bounds, FIRN_FIELD_ID_DELETE_FILE_PATH, &bound)) {
        limit = firn_text_of_bytes(bound);
        if (firn_text_compare(path, limit) < 0 && same_authority(path, limit))
            return false;
    }
    if (firn_bound_map_find(&del->upper_bounds, FIRN_FIELD_ID_DELETE_FILE_PATH, &bound)) {
        limit = firn_text_of_bytes(bound);
        if (firn_text_compare(path, limit) > 0 && !firn_text_starts(path, limit) && same_authority(path, limit))
            return false;
    }
    return true;
}

bool firn_delete_applies(const struct firn_metadata *metadata, const struct firn_manifest_entry *del,
                         const struct firn_manifest_entry *data)
{
    if (del->file.content == FIRN_CONTENT_EQUALITY_DELETES)
        return data->sequence_number < del->sequence_number &&
               (is_global(metadata, &del->file) || same_partition(&del->file, &data->file));
    if (data->sequence_number > del->sequence_number || !same_partition(&del->file, &data->file))
        return false;
    struct firn_text scope = firn_delete_file_scope(&del->file);
    if (scope.len > 0)
        return same_bare_path(scope, data->file.path);
    return path_within_bounds(&del->file, data->file.path);
}

static firn_status find_or_add_partition(struct firn_op *op, struct firn_delete_index *index,
                                         const struct firn_data_file *file, struct partition_deletes **out)
{
    FIRN_TRY(firn_data_file_partition_key(op, file, &index->key));
    struct firn_map_entry *found = firn_map_find(&index->partitions, firn_buffer_bytes(&index->key));
    if (!found) {
        found = firn_map_put(&index->partitions, firn_bytes_copy(op->arena, firn_buffer_bytes(&index->key)));
        found->value.pointer = FIRN_NEW(op->arena, struct partition_deletes);
    }
    *out = found->value.pointer;
    return FIRN_OK;
}

static struct path_deletes *find_or_add_path(struct firn_op *op, struct firn_delete_index *index, struct firn_text path)
{
    struct firn_map_entry *found = firn_map_put_text(&index->paths, firn_delete_path_bare(path));
    if (!found->value.pointer)
        found->value.pointer = FIRN_NEW(op->arena, struct path_deletes);
    return found->value.pointer;
}

static firn_status add_position_delete(struct firn_op *op, struct firn_delete_index *index, struct ranked ranked)
{
    const struct firn_data_file *file = &ranked.del->file;
    struct firn_text scope = firn_delete_file_scope(file);
    if (scope.len == 0) {
        struct partition_deletes *partition;
        FIRN_TRY(find_or_add_partition(op, index, file, &partition));
        partition->has_bounds = partition->has_bounds || has_path_bounds(file);
        FIRN_PUSH(op->arena, &partition->wide_found, ranked);
        return FIRN_OK;
    }
    struct path_deletes *path = find_or_add_path(op, index, scope);
    if (!firn_data_file_is_deletion_vector(file)) {
        FIRN_PUSH(op->arena, &path->positions, ranked);
        return FIRN_OK;
    }
    for (size_t i = 0; i < path->vectors.count; i++) {
        const struct firn_data_file *other = &path->vectors.items[i].del->file;
        if (firn_text_same(other->referenced_data_file, scope))
            return firn_fail(op, FIRN_CORRUPT, "data file \"%.*s\" has two deletion vectors, in \"%.*s\" and \"%.*s\"",
                             FIRN_FMT(scope), FIRN_FMT(other->path), FIRN_FMT(file->path));
    }
    FIRN_PUSH(op->arena, &path->vectors, ranked);
    return FIRN_OK;
}

static firn_status add_delete(struct firn_op *op, struct firn_delete_index *index,
                              const struct firn_manifest_entry *del, uint32_t order)
{
    bool is_equality = del->file.content == FIRN_CONTENT_EQUALITY_DELETES;
    struct ranked ranked = { del->sequence_number - (is_equality ? 1 : 0), order, del };
    if (!is_equality)
        return add_position_delete(op, index, ranked);
    if (is_global(index->metadata, &del->file)) {
        FIRN_PUSH(op->arena, &index->global_found, ranked);
        return FIRN_OK;
    }
    struct partition_deletes *partition;
    FIRN_TRY(find_or_add_partition(op, index, &del->file, &partition));
    FIRN_PUSH(op->arena, &partition->equality_found, ranked);
    return FIRN_OK;
}

static int compare_reach(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->reach != right->reach)
        return left->reach < right->reach ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static struct sorted_list sort_list(struct firn_op *op, const struct ranked_list *list)
{
    struct sorted_list out = {
        .reaches = FIRN_NEW_ARRAY(op->arena, int64_t, list->count),
        .items = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, list->count),
        .count = (uint32_t)list->count,
    };
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_reach);
    for (size_t i = 0; i < list->count; i++) {
        out.reaches[i] = list->items[i].reach;
        out.items[i] = list->items[i].del;
    }
    return out;
}

static void finish_partition(struct firn_op *op, const struct firn_delete_index *index,
                             struct partition_deletes *partition)
{
    if (partition->equality_found.count > 0)
        for (size_t i = 0; i < index->global_found.count; i++)
            FIRN_PUSH(op->arena, &partition->equality_found, index->global_found.items[i]);
    partition->equality = sort_list(op, &partition->equality_found);
    partition->wide = sort_list(op, &partition->wide_found);
}

firn_status firn_delete_index_new(struct firn_op *op, const struct firn_metadata *metadata,
                                  const struct firn_manifest_entry *const *entries, uint32_t count,
                                  struct firn_delete_index **out)
{
    struct firn_delete_index *index = FIRN_NEW(op->arena, struct firn_delete_index);
    index->metadata = metadata;
    firn_map_init(&index->partitions, op->arena);
    firn_map_init(&index->paths, op->arena);
    firn_buffer_defer(op->arena, &index->key);
    for (uint32_t i = 0; i < count; i++)
        FIRN_TRY(add_delete(op, index, entries[i], i));
    for (size_t i = 0; i < index->partitions.count; i++)
        finish_partition(op, index, index->partitions.entries[i].value.pointer);
    index->global = sort_list(op, &index->global_found);
    *out = index;
    return FIRN_OK;
}

/* The tail of a list that reaches `sequence_number`. */
static struct firn_delete_list reaching(const struct sorted_list *list, int64_t sequence_number)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->reaches[middle] < sequence_number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count)
        return (struct firn_delete_list){ 0 };
    return (struct firn_delete_list){ list->items + low, list->count - low };
}

/* Leaves out deletes whose path bounds exclude the file; a list that loses nothing stays shared. */
static struct firn_delete_list within_bounds(struct firn_op *op, struct firn_delete_list list, struct firn_text path)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.count; i++)
        count += path_within_bounds(&list.items[i]->file, path);
    if (count == list.count)
        return list;
    struct firn_delete_list kept = { .items = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, count) };
    for (uint32_t i = 0; i < list.count; i++)
        if (path_within_bounds(&list.items[i]->file, path))
            kept.items[kept.count++] = list.items[i];
    return kept;
}

static struct firn_delete_list own_positions(struct firn_op *op, const struct path_deletes *path,
                                             const struct firn_manifest_entry *data)
{
    struct firn_delete_list list = {
        .items = FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, path->positions.count),
    };
    for (size_t i = 0; i < path->positions.count; i++) {
        const struct ranked *ranked = &path->positions.items[i];
        if (ranked->reach >= data->sequence_number && same_partition(&ranked->del->file, &data->file))
            list.items[list.count++] = ranked->del;
    }
    return list;
}

/* The vector of the file as it is spelled, else one of the same bare path; NULL: none. */
static const struct firn_manifest_entry **find_vector(struct path_deletes *path, struct firn_text data_path)
{
    for (size_t i = 0; i < path->vectors.count; i++)
        if (firn_text_same(path->vectors.items[i].del->file.referenced_data_file, data_path))
            return &path->vectors.items[i].del;
    return path->vectors.count > 0 ? &path->vectors.items[0].del : NULL;
}

static firn_status check_vector(struct firn_op *op, const struct firn_manifest_entry *vector,
                                const struct firn_manifest_entry *data)
{
    if (vector->sequence_number < data->sequence_number)
        return firn_fail(op, FIRN_CORRUPT,
                         "deletion vector of \"%.*s\" has sequence number %" PRId64 ", its data file %" PRId64,
                         FIRN_FMT(data->file.path), vector->sequence_number, data->sequence_number);
    if (!same_partition(&vector->file, &data->file))
        return firn_fail(op, FIRN_CORRUPT, "deletion vector of \"%.*s\" has another partition than its data file",
                         FIRN_FMT(data->file.path));
    return FIRN_OK;
}

firn_status firn_delete_index_match(struct firn_op *op, struct firn_delete_index *index,
                                    const struct firn_manifest_entry *data, struct firn_delete_match *out)
{
    const struct partition_deletes *partition = NULL;
    *out = (struct firn_delete_match){ 0 };
    if (index->partitions.count > 0) {
        FIRN_TRY(firn_data_file_partition_key(op, &data->file, &index->key));
        struct firn_map_entry *found = firn_map_find(&index->partitions, firn_buffer_bytes(&index->key));
        partition = found ? found->value.pointer : NULL;
    }
    bool has_equality = partition && partition->equality.count > 0;
    out->equality = reaching(has_equality ? &partition->equality : &index->global, data->sequence_number);

    struct firn_map_entry *found = firn_map_find_text(&index->paths, firn_delete_path_bare(data->file.path));
    struct path_deletes *path = found ? found->value.pointer : NULL;
    const struct firn_manifest_entry **vector = path ? find_vector(path, data->file.path) : NULL;
    if (vector) {
        out->own = (struct firn_delete_list){ vector, 1 };
        return check_vector(op, *vector, data);
    }
    if (path)
        out->own = own_positions(op, path, data);
    if (partition) {
        out->wide = reaching(&partition->wide, data->sequence_number);
        if (partition->has_bounds)
            out->wide = within_bounds(op, out->wide, data->file.path);
    }
    return FIRN_OK;
}
