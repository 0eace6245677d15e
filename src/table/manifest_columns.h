/* The fields of manifests and manifest lists: ids, names, order and which format version has them, and the members of
 * struct firn_manifest_entry and struct firn_manifest_file they belong to.
 * Iceberg spec, "Manifests", "Manifest Lists". */
#ifndef FIRN_TABLE_MANIFEST_COLUMNS_H
#define FIRN_TABLE_MANIFEST_COLUMNS_H

#include "format/avro/layout.h"
#include "table/manifest.h"

/* What a layout is for: reading any version, or writing one. */
enum firn_manifest_use {
    FIRN_MANIFEST_READ,
    FIRN_MANIFEST_WRITE_V1,
    FIRN_MANIFEST_WRITE_V2,
    FIRN_MANIFEST_WRITE_V3,
    FIRN_MANIFEST_USE_COUNT
};
/* For a format version of 1 to 3. */
enum firn_manifest_use firn_manifest_write_use(int32_t format_version);

/* A manifest entry as a row: with the tuple as Avro has it, and what only Avro has. */
struct firn_manifest_row {
    struct firn_manifest_entry entry;
    int64_t block_bytes; /* block_size_in_bytes, required in v1 and meaningless */
    struct firn_avro_scalar tuple[];
};

/* The layout of a manifest's rows. `tuple` is the layout of its partition record (see manifest_tuple.h). */
const struct firn_avro_layout *firn_manifest_layout(struct firn_arena *arena, enum firn_manifest_use use,
                                                    const struct firn_avro_layout *tuple, bool with_metrics);
/* The layout of a manifest list: rows are struct firn_manifest_file. */
const struct firn_avro_layout *firn_manifest_list_layout(struct firn_arena *arena, enum firn_manifest_use use);

#endif
