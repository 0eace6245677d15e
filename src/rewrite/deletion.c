/* Which delete files are read, and putting what they say together.
 *
 * Equality deletes are applied by kind, that is by the columns they compare: all delete files and data files of a kind
 * go through one join, in which the keys of each partition, and those that reach the whole table, are a scope of their
 * own. */
#include "rewrite/deletion.h"

#include "base/math.h"
#include "rewrite/deletion_equality.h"
#include "rewrite/deletion_position.h"

#include <assert.h>
#include <stdlib.h>

struct firn_deletions {
    struct firn_map files;        /* location to index */
    struct firn_positions **sets; /* one a file; NULL: no delete applies to it */
};

struct position_file {
    const struct firn_manifest_entry *entry;
    struct firn_map sets; /* see firn_position_deletes_read */
};

/* The deletes that compare one set of columns. */
struct key_kind {
    int32_t *ids; /* ascending, each once */
    uint32_t id_count;
    struct firn_map scopes; /* the partition's key, or nothing for the whole table, to the scope's number */
    struct firn_equality_join join;
};

/* All but the result lives in an arena of its own, which goes when the deletes are resolved. */
struct loading {
    const struct firn_deletions_config *config;
    const struct firn_scan_file *files;
    uint32_t file_count;
    struct firn_deletions *out;
    struct firn_key_source keys;
    struct firn_delete_names names;
    struct firn_map loaded; /* delete entries, by address, to their position file; equality deletes to NULL */
    struct firn_map tails;  /* ends of lists seen, by address, to how many entries before it are loaded */
    FIRN_ARRAY(struct position_file *) positions;
    FIRN_ARRAY(struct key_kind *) kinds;
};

bool firn_delete_file_is_readable(const struct firn_data_file *file)
{
    if (file->key_metadata.len > 0)
        return false;
    return file->format == FIRN_FILE_PARQUET || file->format == FIRN_FILE_AVRO ||
           firn_data_file_is_deletion_vector(file);
}

static firn_status fail_in(struct firn_op *op, firn_status status, const struct firn_manifest_entry *del)
{
    return firn_context(op, status, "delete file \"%.*s\"", FIRN_FMT(del->file.path));
}

static struct firn_bytes address_key(const void *const *address)
{
    return (struct firn_bytes){ (const uint8_t *)address, sizeof *address };
}

/* Kinds and scopes. ---------------------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static struct key_kind sort_ids(struct firn_op *op, const struct firn_data_file *file)
{
    struct key_kind kind = { .ids = FIRN_NEW_ARRAY(op->arena, int32_t, file->equality_id_count) };
    if (file->equality_id_count == 0)
        return kind;
    memcpy(kind.ids, file->equality_ids, file->equality_id_count * sizeof *kind.ids);
    qsort(kind.ids, file->equality_id_count, sizeof *kind.ids, compare_ids);
    for (uint32_t i = 0; i < file->equality_id_count; i++)
        if (i == 0 || kind.ids[i] != kind.ids[kind.id_count - 1])
            kind.ids[kind.id_count++] = kind.ids[i];
    return kind;
}

static firn_status find_or_add_kind(struct firn_op *op, struct loading *loading, const struct firn_data_file *file,
                                    struct key_kind **out)
{
    struct key_kind kind = sort_ids(op, file);
    for (size_t i = 0; i < loading->kinds.count; i++) {
        *out = loading->kinds.items[i];
        if ((*out)->id_count == kind.id_count && memcmp((*out)->ids, kind.ids, kind.id_count * sizeof *kind.ids) == 0)
            return FIRN_OK;
    }
    *out = FIRN_NEW(op->arena, struct key_kind);
    **out = kind;
    firn_map_init(&(*out)->scopes, op->arena);
    FIRN_TRY(firn_key_columns_new(op, &loading->keys.ids, kind.ids, kind.id_count, &(*out)->join.columns));
    FIRN_PUSH(op->arena, &loading->kinds, *out);
    return FIRN_OK;
}

static bool is_global(const struct loading *loading, const struct firn_data_file *del)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(loading->config->metadata, del->spec_id);
    return spec && firn_partition_spec_is_unpartitioned(spec);
}

static firn_status scope_of_delete(struct firn_op *op, struct loading *loading, struct key_kind *kind,
                                   const struct firn_data_file *del, uint32_t *scope)
{
    struct firn_buffer key = { 0 };
    firn_status status = is_global(loading, del) ? FIRN_OK : firn_data_file_partition_key(op, del, &key);
    struct firn_bytes bytes = firn_buffer_bytes(&key);
    struct firn_map_entry *entry = firn_map_find(&kind->scopes, bytes);
    if (!entry) {
        entry = firn_map_put(&kind->scopes, firn_bytes_copy(op->arena, bytes));
        entry->value.number = kind->join.scope_count++;
    }
    *scope = (uint32_t)entry->value.number;
    firn_buffer_done(&key);
    return status;
}

static firn_status add_equality_file(struct firn_op *op, struct loading *loading, const struct firn_manifest_entry *del)
{
    struct key_kind *kind;
    struct firn_equality_delete added = { .entry = del };
    FIRN_TRY(find_or_add_kind(op, loading, &del->file, &kind));
    FIRN_TRY(scope_of_delete(op, loading, kind, &del->file, &added.scope));
    FIRN_PUSH(op->arena, &kind->join.deletes, added);
    return FIRN_OK;
}

/* The scopes that hold deletes for a data file: its partition's, and that of the whole table. */
static firn_status add_equality_data(struct firn_op *op, struct key_kind *kind, const struct firn_scan_file *file,
                                     struct firn_positions *positions)
{
    struct firn_buffer key = { 0 };
    struct firn_equality_data added = { .entry = file->entry, .positions = positions };
    firn_status status = firn_data_file_partition_key(op, &file->entry->file, &key);
    const struct firn_map_entry *found[] = {
        firn_map_find(&kind->scopes, firn_buffer_bytes(&key)),
        firn_map_find(&kind->scopes, (struct firn_bytes){ 0 }),
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(found); i++)
        if (found[i])
            added.scopes[added.scope_count++] = (uint32_t)found[i]->value.number;
    firn_buffer_done(&key);
    if (status == FIRN_OK && added.scope_count > 0)
        FIRN_PUSH(op->arena, &kind->join.data, added);
    return status;
}

/* What to read. -------------------------------------------------------------------------------------------------- */

static firn_status add_delete(struct firn_op *op, struct loading *loading,
                              const struct firn_manifest_entry *const *item)
{
    const struct firn_manifest_entry *del = *item;
    struct firn_bytes key = address_key((const void *const *)item);
    if (firn_data_file_is_deletion_vector(&del->file) || firn_map_find(&loading->loaded, key))
        return FIRN_OK;
    struct firn_map_entry *entry = firn_map_put(&loading->loaded, key);
    if (del->file.content == FIRN_CONTENT_EQUALITY_DELETES)
        return fail_in(op, add_equality_file(op, loading, del), del);
    struct position_file *file = FIRN_NEW(op->arena, struct position_file);
    file->entry = del;
    entry->value.pointer = file;
    FIRN_PUSH(op->arena, &loading->positions, file);
    return FIRN_OK;
}

/* Lists of data files of one partition are tails of one array, so they end at one address: only what lies before the
 * longest tail seen is new. */
static firn_status add_list(struct firn_op *op, struct loading *loading, const struct firn_delete_list *list)
{
    if (list->count == 0)
        return FIRN_OK;
    const void **end = FIRN_NEW(op->arena, const void *);
    *end = list->items + list->count;
    struct firn_map_entry *entry = firn_map_put(&loading->tails, address_key(end));
    for (uint32_t i = 0; i + entry->value.number < list->count; i++)
        FIRN_TRY(add_delete(op, loading, &list->items[i]));
    entry->value.number = FIRN_MAX(entry->value.number, list->count);
    return FIRN_OK;
}

static firn_status add_deletes(struct firn_op *op, struct loading *loading)
{
    for (uint32_t i = 0; i < loading->file_count; i++) {
        const struct firn_delete_match *match = &loading->files[i].deletes;
        FIRN_TRY(add_list(op, loading, &match->equality));
        FIRN_TRY(add_list(op, loading, &match->wide));
        FIRN_TRY(add_list(op, loading, &match->own));
    }
    return FIRN_OK;
}

/* Positions. ----------------------------------------------------------------------------------------------------- */

static firn_status read_positions(struct firn_op *op, void *context, size_t index)
{
    const struct loading *loading = context;
    struct position_file *file = loading->positions.items[index];
    struct firn_position_source source = {
        .metadata = loading->config->metadata,
        .store = loading->config->store,
        .names = &loading->names,
    };
    firn_map_init(&file->sets, op->arena);
    firn_status status = firn_position_deletes_read(op, &source, &file->entry->file, &file->sets);
    file->sets.arena = NULL; /* it moves when this job ends; nothing is added any more */
    return fail_in(op, status, file->entry);
}

/* A vector names one data file; that of a file whose location only looks alike is not this one's. */
static firn_status merge_vector(struct firn_op *op, const struct loading *loading,
                                const struct firn_manifest_entry *vector, struct firn_text path,
                                struct firn_positions *out)
{
    struct firn_positions *positions;
    struct firn_text named = vector->file.referenced_data_file;
    if (!firn_text_same(named, path) && firn_delete_names_live(&loading->names, named))
        return FIRN_OK;
    FIRN_TRY(firn_deletion_vector_read(op, loading->config->store, &vector->file, &positions));
    return firn_positions_merge(op, out, positions);
}

static firn_status merge_list(struct firn_op *op, const struct loading *loading, const struct firn_delete_list *list,
                              struct firn_text path, struct firn_positions *out)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct firn_manifest_entry *del = list->items[i];
        if (firn_data_file_is_deletion_vector(&del->file)) {
            FIRN_TRY(fail_in(op, merge_vector(op, loading, del, path, out), del));
            continue;
        }
        const struct firn_map_entry *entry =
            firn_map_find(&loading->loaded, address_key((const void *const *)&list->items[i]));
        const struct position_file *file = entry->value.pointer;
        FIRN_TRY(firn_position_deletes_merge(op, &loading->names, &file->sets, path, out));
    }
    return FIRN_OK;
}

static firn_status merge_positions(struct firn_op *op, void *context, size_t index)
{
    const struct loading *loading = context;
    const struct firn_scan_file *file = &loading->files[index];
    struct firn_positions *set = loading->out->sets[index];
    struct firn_scratch scratch;
    if (!set)
        return FIRN_OK;
    firn_scratch_begin(op, &scratch); /* vectors are let go one by one */
    firn_status status = merge_list(op, loading, &file->deletes.own, file->entry->file.path, set);
    if (status == FIRN_OK)
        status = merge_list(op, loading, &file->deletes.wide, file->entry->file.path, set);
    if (status == FIRN_OK)
        status = firn_positions_charge(op, set);
    firn_scratch_end(op, &scratch);
    return status;
}

/* Loading. ------------------------------------------------------------------------------------------------------- */

static firn_status apply_kind(struct firn_op *op, struct loading *loading, struct key_kind *kind)
{
    for (uint32_t i = 0; i < loading->file_count; i++)
        if (loading->files[i].deletes.equality.count > 0)
            FIRN_TRY(add_equality_data(op, kind, &loading->files[i], loading->out->sets[i]));
    return firn_equality_join_run(op, &loading->keys, &kind->join);
}

static firn_status load(struct firn_op *op, struct loading *loading)
{
    struct firn_pool *pool = loading->config->pool;
    FIRN_TRY(firn_id_sources_new(op, loading->config->metadata, &loading->keys.ids));
    FIRN_TRY(add_deletes(op, loading));
    FIRN_TRY(firn_pool_run(op, pool, loading->positions.count, 0, read_positions, loading));
    FIRN_TRY(firn_pool_run(op, pool, loading->file_count, 0, merge_positions, loading));
    for (size_t i = 0; i < loading->kinds.count; i++)
        FIRN_TRY(apply_kind(op, loading, loading->kinds.items[i]));
    return FIRN_OK;
}

static uint64_t default_memory(const struct firn_budget *budget)
{
    if (!budget || budget->limit_bytes == 0)
        return FIRN_DELETIONS_MEMORY_DEFAULT;
    size_t used = atomic_load(&budget->used_bytes);
    return (budget->limit_bytes - FIRN_MIN(used, budget->limit_bytes)) / 2;
}

static void init_loading(struct loading *loading, struct firn_op *op, const struct firn_deletions_config *config)
{
    loading->config = config;
    loading->keys = (struct firn_key_source){
        .metadata = config->metadata,
        .store = config->store,
        .pool = config->pool,
        .memory_bytes_max = config->memory_bytes_max ? config->memory_bytes_max : default_memory(op->budget),
    };
    firn_delete_names_init(&loading->names, op->arena);
    firn_map_init(&loading->loaded, op->arena);
    firn_map_init(&loading->tails, op->arena);
    for (uint32_t i = 0; i < loading->file_count; i++)
        firn_delete_names_add(&loading->names, loading->files[i].entry->file.path);
}

static firn_status new_deletions(struct firn_op *op, const struct firn_scan_file *files, uint32_t file_count,
                                 struct firn_deletions **out)
{
    *out = FIRN_NEW(op->arena, struct firn_deletions);
    (*out)->sets = FIRN_NEW_ARRAY(op->arena, struct firn_positions *, file_count);
    firn_map_init(&(*out)->files, op->arena);
    for (uint32_t i = 0; i < file_count; i++) {
        firn_map_put_text(&(*out)->files, files[i].entry->file.path)->value.number = i;
        if (firn_delete_match_count(&files[i].deletes) > 0)
            FIRN_TRY(firn_positions_new(op, &(*out)->sets[i]));
    }
    return FIRN_OK;
}

firn_status firn_deletions_load(struct firn_op *op, const struct firn_deletions_config *config,
                                const struct firn_scan_file *files, uint32_t file_count, struct firn_deletions **out)
{
    struct firn_arena scratch;
    struct firn_op inner = *op;
    FIRN_TRY(new_deletions(op, files, file_count, out));
    firn_arena_init(&scratch);
    inner.arena = &scratch;
    struct loading loading = { .files = files, .file_count = file_count, .out = *out };
    init_loading(&loading, &inner, config);
    firn_status status = load(&inner, &loading);
    op->error = inner.error;
    firn_arena_done(&scratch);
    return status;
}

firn_status firn_deletions_find(struct firn_op *op, const struct firn_deletions *deletions,
                                const struct firn_scan_file *file, const struct firn_positions **out)
{
    const struct firn_map_entry *entry = firn_map_find_text(&deletions->files, file->entry->file.path);
    (void)op;
    assert(entry);
    struct firn_positions *set = deletions->sets[entry->value.number];
    *out = set && firn_positions_count(set) > 0 ? set : NULL;
    return FIRN_OK;
}
