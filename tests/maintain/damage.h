/* Damage to the metadata of a table: lists, manifests and metadata files rewritten in place, as no writer should. */
#ifndef FIRN_TESTS_DAMAGE_H
#define FIRN_TESTS_DAMAGE_H

#include "maintain/scene.h"

#include "base/map.h"
#include "table/scan.h"

/* The snapshot that was committed as the nth, from 0. */
static inline const struct firn_snapshot *nth_snapshot(const struct scene *scene, uint32_t nth)
{
    CHECK(nth < scene->world.table.metadata->snapshot_count, "no snapshot %u", nth);
    return &scene->world.table.metadata->snapshots[nth];
}

static inline struct firn_manifest_list read_list(struct firn_op *op, const struct scene *scene, uint32_t nth)
{
    struct firn_manifest_list list;
    CHECK_OK(op, firn_snapshot_manifests(op, scene->world.store, scene->world.table.metadata, nth_snapshot(scene, nth),
                                         &list));
    return list;
}

static inline void put(struct firn_op *op, const struct scene *scene, struct firn_text location,
                       struct firn_bytes content)
{
    CHECK_OK(op, firn_store_put(op, scene->world.store, location, false, content));
}

static inline void write_list(struct firn_op *op, const struct scene *scene, uint32_t nth,
                              const struct firn_manifest_list *list)
{
    const struct firn_metadata *metadata = scene->world.table.metadata;
    const struct firn_snapshot *snapshot = nth_snapshot(scene, nth);
    struct firn_manifest_list_header header = {
        .format_version = metadata->format_version,
        .snapshot_id = snapshot->id,
        .parent_snapshot_id = snapshot->parent_id,
        .sequence_number = snapshot->sequence_number,
        .first_row_id = snapshot->first_row_id,
        .codec = FIRN_TEXT("gzip"),
    };
    struct firn_buffer bytes = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&bytes);
    CHECK_OK(op, firn_manifest_list_write(op, &header, list->manifests, list->count, &sink, NULL));
    put(op, scene, snapshot->manifest_list, firn_buffer_bytes(&bytes));
    firn_buffer_done(&bytes);
}

/* The row of a manifest in the lists of all snapshots gets another length. */
static inline void set_length_everywhere(struct firn_op *op, const struct scene *scene, struct firn_text path,
                                         int64_t length)
{
    for (uint32_t i = 0; i < scene->world.table.metadata->snapshot_count; i++) {
        struct firn_manifest_list list = read_list(op, scene, i);
        for (uint32_t k = 0; k < list.count; k++)
            if (firn_text_same(list.manifests[k].path, path))
                list.manifests[k].length = length;
        write_list(op, scene, i, &list);
    }
}

/* Writes the entries over the manifest of `row`; lists get its new length, and keep the rest. */
static inline void write_manifest(struct firn_op *op, const struct scene *scene, const struct firn_manifest_file *row,
                                  const struct firn_manifest *manifest)
{
    const struct firn_metadata *metadata = scene->world.table.metadata;
    struct firn_manifest_writer_config config = {
        .metadata = metadata,
        .spec = firn_metadata_spec(metadata, row->spec_id),
        .is_deletes = row->is_deletes,
        .snapshot_id = row->added_snapshot_id,
        .codec = FIRN_TEXT("gzip"),
    };
    struct firn_manifest_writer *writer;
    struct firn_manifest_file written;
    struct firn_buffer bytes = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&bytes);
    CHECK_OK(op, firn_manifest_writer_open(op, &config, &sink, &writer));
    for (uint32_t i = 0; i < manifest->count; i++)
        CHECK_OK(op, firn_manifest_writer_add(op, writer, &manifest->entries[i]));
    CHECK_OK(op, firn_manifest_writer_finish(op, writer, &written));
    firn_manifest_writer_close(writer);
    put(op, scene, row->path, firn_buffer_bytes(&bytes));
    firn_buffer_done(&bytes);
    set_length_everywhere(op, scene, row->path, written.length);
}

static inline struct firn_manifest read_manifest(struct firn_op *op, const struct scene *scene,
                                                 const struct firn_manifest_file *row)
{
    struct firn_manifest manifest;
    CHECK_OK(op, firn_manifest_read(op, scene->world.store, scene->world.table.metadata, row,
                                    (struct firn_manifest_read_options){ 0 }, &manifest));
    return manifest;
}

/* The manifest that the nth snapshot added, of its list. */
static inline struct firn_manifest_file *added_row(const struct scene *scene, struct firn_manifest_list *list,
                                                   uint32_t nth)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->manifests[i].added_snapshot_id == nth_snapshot(scene, nth)->id)
            return &list->manifests[i];
    CHECK(false, "snapshot %u added no manifest", nth);
    return NULL;
}

/* The table's metadata file as JSON, to be changed and written back over it. */
static inline json_t *metadata_json(struct firn_op *op, const struct scene *scene)
{
    return firn_json_copy(op->arena, scene->world.table.metadata->root);
}

static inline void write_metadata(struct firn_op *op, struct scene *scene, const json_t *json)
{
    put(op, scene, scene->world.table.metadata_location, firn_bytes_of_text(firn_json_text(op->arena, json, 0)));
    CHECK_OK(op, firn_catalog_load(op, scene->world.catalog, FIRN_TEXT("db.t"), &scene->world.table));
}

static inline void lose(struct firn_op *op, const struct scene *scene, struct firn_text location)
{
    CHECK_OK(op, firn_store_delete(op, scene->world.store, &location, 1, NULL));
}

static inline void commit_update(struct firn_op *op, struct scene *scene, const char *format, ...)
{
    json_t *updates;
    va_list args;
    va_start(args, format);
    struct firn_text text = firn_text_vformat(op->arena, format, args);
    va_end(args);
    CHECK_OK(op, firn_json_parse(op, text, "updates", &updates));
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
    CHECK_OK(op, firn_catalog_commit(op, &scene->world.table, firn_json_own(op->arena, json_array()), updates));
}

#endif
