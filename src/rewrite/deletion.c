/* Which delete files are read, what is kept of them, and putting the answers together.
 *
 * Keys of equality deletes are kept by scope: one table for all delete files of the same columns and the same
 * partition, where a key has the highest sequence number that deletes it. That number decides for each data file, so
 * the tables are shared by data files of all ages. */
#include "rewrite/deletion.h"

#include "base/math.h"
#include "rewrite/deletion_equality.h"
#include "rewrite/deletion_position.h"

#include <stdlib.h>

struct position_file {
    const struct firn_manifest_entry *entry;
    struct firn_map targets; /* of firn_delete_target, to struct firn_positions */
};

/* The deletes that compare one set of columns. */
struct key_kind {
    int32_t *ids; /* ascending, each once */
    uint32_t id_count;
    struct firn_key_columns columns;
};

struct key_scope {
    const struct key_kind *kind;
    FIRN_ARRAY(const struct firn_manifest_entry *) files;
    int64_t sequence_number_max; /* of the files */
    struct firn_key_table table;
};

struct firn_deletions {
    struct firn_deletions_config config;
    struct firn_key_source keys;
    struct firn_map live;   /* locations of the data files given */
    struct firn_map loaded; /* delete entries, by address, to their position file; equality deletes to NULL */
    FIRN_ARRAY(struct position_file *) positions;
    FIRN_ARRAY(struct key_kind *) kinds;
    struct firn_map scopes; /* index of the kind, then the partition's key, or nothing for the whole table */
    struct firn_map tails;  /* ends of lists seen, by address, to how many entries before it are loaded */
};

bool firn_delete_file_is_readable(const struct firn_data_file *file)
{
    if (file->key_metadata.len > 0)
        return false;
    if (file->content == FIRN_CONTENT_EQUALITY_DELETES)
        return file->format == FIRN_FILE_PARQUET;
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

static firn_status find_or_add_kind(struct firn_op *op, struct firn_deletions *deletions,
                                    const struct firn_data_file *file, uint32_t *index)
{
    struct key_kind kind = sort_ids(op, file);
    for (*index = 0; *index < deletions->kinds.count; ++*index) {
        const struct key_kind *other = deletions->kinds.items[*index];
        if (other->id_count == kind.id_count && memcmp(other->ids, kind.ids, kind.id_count * sizeof *kind.ids) == 0)
            return FIRN_OK;
    }
    struct key_kind *added = FIRN_NEW(op->arena, struct key_kind);
    *added = kind;
    FIRN_TRY(firn_key_columns_new(op, &deletions->keys.ids, kind.ids, kind.id_count, &added->columns));
    FIRN_PUSH(op->arena, &deletions->kinds, added);
    return FIRN_OK;
}

/* `file` NULL: the scope of the whole table. */
static firn_status scope_key(struct firn_op *op, uint32_t kind_index, const struct firn_data_file *file,
                             struct firn_buffer *out)
{
    uint8_t number[4];
    firn_buffer_clear(out);
    if (file)
        FIRN_TRY(firn_data_file_partition_key(op, file, out));
    firn_store_le32(number, kind_index);
    return firn_buffer_append(op, out, number, sizeof number);
}

static bool is_global(const struct firn_deletions *deletions, const struct firn_data_file *del)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(deletions->config.metadata, del->spec_id);
    return spec && firn_partition_spec_is_unpartitioned(spec);
}

static firn_status add_equality_file(struct firn_op *op, struct firn_deletions *deletions,
                                     const struct firn_manifest_entry *del)
{
    uint32_t kind_index;
    struct firn_buffer key = { 0 };
    FIRN_TRY(find_or_add_kind(op, deletions, &del->file, &kind_index));
    firn_status status = scope_key(op, kind_index, is_global(deletions, &del->file) ? NULL : &del->file, &key);
    struct firn_bytes kept = firn_bytes_copy(op->arena, firn_buffer_bytes(&key));
    firn_buffer_done(&key);
    FIRN_TRY(status);
    struct firn_map_entry *entry = firn_map_put(&deletions->scopes, kept);
    if (!entry->value.pointer) {
        struct key_scope *scope = FIRN_NEW(op->arena, struct key_scope);
        scope->kind = deletions->kinds.items[kind_index];
        firn_key_table_defer(op->arena, &scope->table);
        entry->value.pointer = scope;
    }
    struct key_scope *scope = entry->value.pointer;
    scope->sequence_number_max = FIRN_MAX(scope->sequence_number_max, del->sequence_number);
    FIRN_PUSH(op->arena, &scope->files, del);
    return FIRN_OK;
}

/* What to read. -------------------------------------------------------------------------------------------------- */

static firn_status add_delete(struct firn_op *op, struct firn_deletions *deletions,
                              const struct firn_manifest_entry *const *item)
{
    const struct firn_manifest_entry *del = *item;
    struct firn_bytes key = address_key((const void *const *)item);
    if (firn_data_file_is_deletion_vector(&del->file) || firn_map_find(&deletions->loaded, key))
        return FIRN_OK;
    struct firn_map_entry *entry = firn_map_put(&deletions->loaded, key);
    if (del->file.content == FIRN_CONTENT_EQUALITY_DELETES)
        return fail_in(op, add_equality_file(op, deletions, del), del);
    struct position_file *file = FIRN_NEW(op->arena, struct position_file);
    file->entry = del;
    entry->value.pointer = file;
    FIRN_PUSH(op->arena, &deletions->positions, file);
    return FIRN_OK;
}

/* Lists of data files of one partition are tails of one array, so they end at one address: only what lies before the
 * longest tail seen is new. */
static firn_status add_list(struct firn_op *op, struct firn_deletions *deletions, const struct firn_delete_list *list)
{
    if (list->count == 0)
        return FIRN_OK;
    const void **end = FIRN_NEW(op->arena, const void *);
    *end = list->items + list->count;
    struct firn_map_entry *entry = firn_map_put(&deletions->tails, address_key(end));
    for (uint32_t i = 0; i + entry->value.number < list->count; i++)
        FIRN_TRY(add_delete(op, deletions, &list->items[i]));
    entry->value.number = FIRN_MAX(entry->value.number, list->count);
    return FIRN_OK;
}

static firn_status add_files(struct firn_op *op, struct firn_deletions *deletions, const struct firn_scan_file *files,
                             uint32_t file_count)
{
    for (uint32_t i = 0; i < file_count; i++)
        firn_map_put_text(&deletions->live, files[i].entry->file.path);
    for (uint32_t i = 0; i < file_count; i++) {
        const struct firn_delete_match *match = &files[i].deletes;
        FIRN_TRY(add_list(op, deletions, &match->equality));
        FIRN_TRY(add_list(op, deletions, &match->wide));
        FIRN_TRY(add_list(op, deletions, &match->own));
    }
    return FIRN_OK;
}

/* Reading. ------------------------------------------------------------------------------------------------------- */

static firn_status read_positions(struct firn_op *op, void *context, size_t index)
{
    const struct firn_deletions *deletions = context;
    struct position_file *file = deletions->positions.items[index];
    struct firn_position_source source = {
        .metadata = deletions->config.metadata,
        .store = deletions->config.store,
        .live = &deletions->live,
    };
    firn_map_init(&file->targets, op->arena);
    return fail_in(op, firn_position_deletes_read(op, &source, &file->entry->file, &file->targets), file->entry);
}

static firn_status read_scope(struct firn_op *op, void *context, size_t index)
{
    const struct firn_deletions *deletions = context;
    struct key_scope *scope = deletions->scopes.entries[index].value.pointer;
    for (size_t i = 0; i < scope->files.count; i++) {
        const struct firn_manifest_entry *del = scope->files.items[i];
        FIRN_TRY(
            fail_in(op, firn_key_table_add_file(op, &deletions->keys, &scope->kind->columns, del, &scope->table), del));
    }
    return FIRN_OK;
}

static firn_status find_ids(struct firn_op *op, const struct firn_metadata *metadata, struct firn_id_sources *out)
{
    struct firn_text json = firn_property_text(metadata, "schema.name-mapping.default", FIRN_TEXT(""));
    out->schemas = firn_metadata_schemas_by_age(op, metadata);
    out->schema_count = metadata->schema_count;
    if (json.len == 0)
        return FIRN_OK;
    struct firn_name_mapping *mapping = FIRN_NEW(op->arena, struct firn_name_mapping);
    out->mapping = mapping;
    return firn_name_mapping_parse(op, json, mapping);
}

firn_status firn_deletions_load(struct firn_op *op, const struct firn_deletions_config *config,
                                const struct firn_scan_file *files, uint32_t file_count, struct firn_deletions **out)
{
    struct firn_deletions *deletions = FIRN_NEW(op->arena, struct firn_deletions);
    deletions->config = *config;
    deletions->keys = (struct firn_key_source){ .metadata = config->metadata, .store = config->store };
    firn_map_init(&deletions->live, op->arena);
    firn_map_init(&deletions->loaded, op->arena);
    firn_map_init(&deletions->scopes, op->arena);
    firn_map_init(&deletions->tails, op->arena);
    FIRN_TRY(find_ids(op, config->metadata, &deletions->keys.ids));
    FIRN_TRY(add_files(op, deletions, files, file_count));
    FIRN_TRY(firn_pool_run(op, config->pool, deletions->positions.count, 0, read_positions, deletions));
    FIRN_TRY(firn_pool_run(op, config->pool, deletions->scopes.count, 0, read_scope, deletions));
    *out = deletions;
    return FIRN_OK;
}

/* Answering. ----------------------------------------------------------------------------------------------------- */

static firn_status merge_target(struct firn_op *op, const struct position_file *file, struct firn_text target,
                                struct firn_positions *out)
{
    const struct firn_map_entry *entry = firn_map_find_text(&file->targets, target);
    return entry ? firn_positions_merge(op, out, entry->value.pointer) : FIRN_OK;
}

/* Deletes of a data file stand under its own location, and under the bare one unless that is another file's. */
static firn_status merge_positions(struct firn_op *op, const struct firn_deletions *deletions,
                                   const struct position_file *file, struct firn_text path, struct firn_positions *out)
{
    struct firn_text bare = firn_delete_path_bare(path);
    FIRN_TRY(merge_target(op, file, path, out));
    if (firn_map_find_text(&deletions->live, bare))
        return FIRN_OK;
    return merge_target(op, file, bare, out);
}

/* A vector names one data file; that of a file whose location only looks alike is not this one's. */
static firn_status merge_vector(struct firn_op *op, const struct firn_deletions *deletions,
                                const struct firn_manifest_entry *vector, struct firn_text path,
                                struct firn_positions *out)
{
    struct firn_positions *positions;
    struct firn_text named = vector->file.referenced_data_file;
    if (!firn_text_same(named, path) && firn_map_find_text(&deletions->live, named))
        return FIRN_OK;
    FIRN_TRY(firn_deletion_vector_read(op, deletions->config.store, &vector->file, &positions));
    return firn_positions_merge(op, out, positions);
}

static firn_status merge_list(struct firn_op *op, const struct firn_deletions *deletions,
                              const struct firn_delete_list *list, struct firn_text path, struct firn_positions *out)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct firn_manifest_entry *del = list->items[i];
        if (firn_data_file_is_deletion_vector(&del->file)) {
            FIRN_TRY(fail_in(op, merge_vector(op, deletions, del, path, out), del));
            continue;
        }
        const struct firn_map_entry *entry =
            firn_map_find(&deletions->loaded, address_key((const void *const *)&list->items[i]));
        FIRN_TRY(merge_positions(op, deletions, entry->value.pointer, path, out));
    }
    return FIRN_OK;
}

/* The tables of one kind that concern a data file: its partition's and the whole table's, where they have newer keys.
 */
static firn_status find_tables(struct firn_op *op, const struct firn_deletions *deletions, uint32_t kind_index,
                               const struct firn_manifest_entry *data, const struct firn_key_table *tables[2],
                               uint32_t *count)
{
    struct firn_buffer key = { 0 };
    firn_status status = FIRN_OK;
    *count = 0;
    for (int global = 0; status == FIRN_OK && global < 2; global++) {
        status = scope_key(op, kind_index, global ? NULL : &data->file, &key);
        const struct firn_map_entry *entry = firn_map_find(&deletions->scopes, firn_buffer_bytes(&key));
        const struct key_scope *scope = entry ? entry->value.pointer : NULL;
        if (status == FIRN_OK && scope && scope->sequence_number_max > data->sequence_number)
            tables[(*count)++] = &scope->table;
    }
    firn_buffer_done(&key);
    return status;
}

static firn_status match_keys(struct firn_op *op, const struct firn_deletions *deletions,
                              const struct firn_manifest_entry *data, struct firn_positions *out)
{
    for (uint32_t i = 0; i < deletions->kinds.count; i++) {
        const struct firn_key_table *tables[2];
        uint32_t count;
        FIRN_TRY(find_tables(op, deletions, i, data, tables, &count));
        if (count > 0)
            FIRN_TRY(firn_key_tables_match(op, &deletions->keys, &deletions->kinds.items[i]->columns, tables, count,
                                           data, out));
    }
    return FIRN_OK;
}

firn_status firn_deletions_find(struct firn_op *op, const struct firn_deletions *deletions,
                                const struct firn_scan_file *file, const struct firn_positions **out)
{
    const struct firn_manifest_entry *data = file->entry;
    struct firn_positions *positions;
    *out = NULL;
    if (firn_delete_match_count(&file->deletes) == 0)
        return FIRN_OK;
    FIRN_TRY(firn_positions_new(op, &positions));
    FIRN_TRY(merge_list(op, deletions, &file->deletes.own, data->file.path, positions));
    FIRN_TRY(merge_list(op, deletions, &file->deletes.wide, data->file.path, positions));
    if (file->deletes.equality.count > 0)
        FIRN_TRY(match_keys(op, deletions, data, positions));
    if (firn_positions_count(positions) > 0)
        *out = positions;
    return FIRN_OK;
}
