/* Delete files and data files as keys and positions are read from them. The first byte says which of the two the file
 * is, in which format, and what kind of deletes. */
#include "fuzz.h"

#include "rewrite/deletion.h"

#define FILE_BYTES_MAX ((size_t)1 << 16)

static const char metadata_json[] =
    "{\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"mem:/t\","
    "\"last-sequence-number\":9,\"last-updated-ms\":1,\"last-column-id\":4,\"schemas\":[{\"type\":\"struct\","
    "\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},{\"id\":2,\"name\":"
    "\"name\",\"required\":false,\"type\":\"string\"},{\"id\":3,\"name\":\"s\",\"required\":false,\"type\":{\"type\":"
    "\"struct\",\"fields\":[{\"id\":4,\"name\":\"d\",\"required\":false,\"type\":\"decimal(9,2)\"}]}}]}],"
    "\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],\"default-spec-id\":0,"
    "\"last-partition-id\":999,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"default-sort-order-id\":0,"
    "\"properties\":{},\"snapshots\":[]}";

static struct firn_manifest_entry entry_of(uint8_t how, const char *path, enum firn_content content, int64_t number)
{
    return (struct firn_manifest_entry){
        .sequence_number = number,
        .file = {
            .content = content,
            .path = firn_text_of(path),
            .format = how & 1 ? FIRN_FILE_AVRO : FIRN_FILE_PARQUET,
            .record_count = how,
            .content_offset = FIRN_ABSENT,
            .content_bytes = FIRN_ABSENT,
            .first_row_id = FIRN_ABSENT,
        },
    };
}

/* The same bytes are the data file and the delete file: each is read once the other could be. */
static firn_status load(struct firn_op *op, struct firn_store *store, uint8_t how, struct firn_bytes file)
{
    static int32_t ids[] = { 1, 2, 4 };
    struct firn_metadata *metadata;
    struct firn_deletions *deletions;
    const struct firn_positions *positions;
    bool equality = how & 2;
    struct firn_manifest_entry del =
        entry_of(how, "mem:/t/file", equality ? FIRN_CONTENT_EQUALITY_DELETES : FIRN_CONTENT_POSITION_DELETES, 2);
    struct firn_manifest_entry data = entry_of(how, "mem:/t/file", FIRN_CONTENT_DATA, 1);
    const struct firn_manifest_entry *list[] = { &del };
    struct firn_scan_file scan = { .entry = &data };
    del.file.equality_ids = &ids[how >> 2 & 1];
    del.file.equality_id_count = how & 8 ? 1 : 2;
    *(equality ? &scan.deletes.equality : &scan.deletes.wide) = (struct firn_delete_list){ list, 1 };
    FIRN_TRY(firn_metadata_parse(op, firn_text_of(metadata_json), &metadata));
    FIRN_TRY(firn_store_put(op, store, data.file.path, false, file));
    struct firn_deletions_config config = { .metadata = metadata,
                                            .store = store,
                                            .memory_bytes_max = how & 16 ? 1 : 0 };
    FIRN_TRY(firn_deletions_load(op, &config, &scan, 1, &deletions));
    return firn_deletions_find(op, deletions, &scan, &positions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_op *op = fuzz_begin(&fuzz);
    struct firn_store *store;
    if (len > 1 && len < FILE_BYTES_MAX && firn_store_open_memory(op, &store) == FIRN_OK) {
        FIRN_IGNORE(load(op, store, data[0], (struct firn_bytes){ data + 1, len - 1 }), "any outcome is fine");
        firn_store_close(store);
    }
    return fuzz_end(&fuzz);
}
