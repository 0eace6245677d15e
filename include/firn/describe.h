/* What is there: a table described, a file inspected. The results are JSON; the command line prints them as tables. */
#ifndef FIRN_DESCRIBE_H
#define FIRN_DESCRIBE_H

#include "firn/catalog.h"

#include <jansson.h>

struct firn_pool;

struct firn_describe_options {
    int64_t snapshot_id; /* -1: current */
    bool count;          /* decode the data files, apply deletes and count rows */
};

/* {"table", "format_version", "table_uuid", "location", "metadata_file", "last_sequence_number", "last_updated_ms",
 * "current_snapshot_id" (text), "snapshots" (number), "refs": {name: {"type", "snapshot_id", ...}}, "schema",
 * "partition_specs", "sort_orders", "properties", "live_manifests": {"data", "deletes"}, "live_data_files",
 * "live_position_delete_files", "live_equality_delete_files", "live_deletion_vectors", "live_data_records",
 * "file_formats": {format: count}, "live_data_bytes", "live_rows" (with count)}. Owned by op->arena.
 *
 * "live_rows" are those left after position deletes, deletion vectors and equality deletes. Where a format or type that
 * firn does not read stands in the way they are null, and "live_rows_unknown_because" says why; a broken file fails the
 * call: CORRUPT. */
FIRN_CHECKED firn_status firn_table_describe(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                             struct firn_describe_options options, json_t **out);

struct firn_inspect_options {
    bool values; /* decode everything */
    bool pages;  /* list every page */
};

/* Parquet, Avro or Puffin, told apart by their magic. Parquet: {"format", "file", "file_bytes", "created_by",
 * "version", "rows", "row_groups": [{"rows", "bytes", "columns": [{"path", "type", "codec", "encodings", "values",
 * "nulls", "min", "max", ...}]}], "schema": [...], "key_values": {...}, and with values: "columns": [{"name", "nulls",
 * "min", "max"}]}. Avro: {"format", "codec", "metadata": {...}, "schema", "rows", "blocks", and with values: "values":
 * [...]}. Puffin:
 * {"format", "blobs": [...], "properties"}. Owned by op->arena. */
FIRN_CHECKED firn_status firn_file_inspect(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                           struct firn_inspect_options options, json_t **out);

#endif
