/* What a table's metadata names, file by file: the manifests of a list, the live files of a manifest. Reads nothing
 * else of them, so that a walk over all of a table's history costs little. Iceberg spec, "Manifests", "Manifest Lists".
 */
#ifndef FIRN_TABLE_MANIFEST_PATHS_H
#define FIRN_TABLE_MANIFEST_PATHS_H

#include "store/store.h"
#include "table/manifest.h"

/* A row of a manifest list. */
struct firn_named_manifest {
    struct firn_text path;
    int64_t bytes;
    int32_t spec_id;
    int64_t added_files_count, existing_files_count; /* FIRN_ABSENT: unknown (v1) */
};
struct firn_named_manifests {
    struct firn_named_manifest *items;
    size_t count;
    int64_t list_bytes; /* of the list itself */
};
/* Reads a manifest list. In op->arena; errors name the list. */
FIRN_CHECKED firn_status firn_manifest_list_paths(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                                  struct firn_named_manifests *out);

/* A live entry of a manifest: ADDED or EXISTING. */
struct firn_named_file {
    struct firn_text path;
    enum firn_content content;
    int64_t bytes; /* of the whole file, for a deletion vector too */
};
struct firn_named_files {
    struct firn_named_file *items;
    size_t count;
};
/* Reads a manifest. In op->arena; errors name the manifest. */
FIRN_CHECKED firn_status firn_manifest_paths(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                             struct firn_named_files *out);

#endif
