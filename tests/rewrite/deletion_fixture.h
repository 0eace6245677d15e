/* Small tables with deletes for the tests of rewrite/deletion.h: files written to a store in memory, matched, loaded.
 */
#ifndef FIRN_TESTS_DELETION_FIXTURE_H
#define FIRN_TESTS_DELETION_FIXTURE_H

#include "fixture.h"

#include "rewrite/deletion.h"

#define FIELD(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"
#define SCHEMA(id, fields)    "{\"type\":\"struct\",\"schema-id\":" #id ",\"fields\":[" fields "]}"
#define LONG                  "\"long\""
#define TEXT                  "\"string\""
#define ROWS                  SCHEMA(0, FIELD(1, "id", LONG) "," FIELD(2, "name", TEXT))
#define PATH_FIELD            FIELD(2147483546, "file_path", TEXT)
#define POSITION_FIELD        FIELD(2147483545, "pos", LONG)
#define POSITIONS             SCHEMA(0, PATH_FIELD "," POSITION_FIELD)

enum { FILES_MAX = 32 };

struct deletion_test {
    struct firn_op *op;
    struct firn_store *store;
    struct firn_metadata *metadata;
    struct firn_manifest_entry data[FILES_MAX], deletes[FILES_MAX];
    uint32_t data_count, delete_count;
    struct firn_scan_file files[FILES_MAX];
    struct firn_deletions *deletions;
    struct firn_pool *pool;    /* may be NULL */
    uint64_t memory_bytes_max; /* for keys; 0: as it comes */
};

static inline void begin_table(struct deletion_test *test, struct firn_op *op, const struct fixture_table *table)
{
    *test = (struct deletion_test){ .op = op, .metadata = fixture_metadata(op, table) };
    CHECK_OK(op, firn_store_open_memory(op, &test->store));
}

static inline void begin(struct deletion_test *test, struct firn_op *op)
{
    begin_table(test, op, &(struct fixture_table){ .version = 2, .schemas = ROWS });
}

static inline struct firn_manifest_entry *add_file(struct deletion_test *test, const char *path, const char *schema,
                                                   const char *const *columns, size_t groups, int64_t sequence_number,
                                                   bool is_delete)
{
    struct firn_output_schema output = fixture_schema(test->op, schema);
    int64_t bytes =
        fixture_write(test->op, test->store, path, output.footer, columns, groups, firn_chunk_options_default());
    struct firn_manifest_entry *entry =
        is_delete ? &test->deletes[test->delete_count++] : &test->data[test->data_count++];
    *entry = (struct firn_manifest_entry){
        .status = FIRN_ENTRY_ADDED,
        .sequence_number = sequence_number,
        .file_sequence_number = sequence_number,
        .file = fixture_file(path, bytes, -1),
    };
    return entry;
}

static inline struct firn_manifest_entry *add_data(struct deletion_test *test, const char *path, const char *schema,
                                                   const char *const *columns, int64_t sequence_number)
{
    return add_file(test, path, schema, columns, 1, sequence_number, false);
}

static inline struct firn_manifest_entry *add_positions(struct deletion_test *test, const char *paths,
                                                        const char *positions, int64_t sequence_number)
{
    const char *path = firn_text_format(test->op->arena, "mem:/t/delete-%u.parquet", test->delete_count).data;
    const char *columns[] = { paths, positions };
    struct firn_manifest_entry *entry = add_file(test, path, POSITIONS, columns, 1, sequence_number, true);
    entry->file.content = FIRN_CONTENT_POSITION_DELETES;
    return entry;
}

static inline struct firn_manifest_entry *add_keys(struct deletion_test *test, const char *schema,
                                                   const char *const *columns, int64_t sequence_number,
                                                   const int32_t *ids, uint32_t id_count)
{
    const char *path = firn_text_format(test->op->arena, "mem:/t/delete-%u.parquet", test->delete_count).data;
    struct firn_manifest_entry *entry = add_file(test, path, schema, columns, 1, sequence_number, true);
    entry->file.content = FIRN_CONTENT_EQUALITY_DELETES;
    entry->file.equality_id_count = id_count;
    entry->file.equality_ids = FIRN_NEW_ARRAY(test->op->arena, int32_t, id_count);
    memcpy(entry->file.equality_ids, ids, id_count * sizeof *ids);
    return entry;
}

/* Matches and loads. */
static inline firn_status load(struct deletion_test *test)
{
    struct firn_op *op = test->op;
    const struct firn_manifest_entry *deletes[FILES_MAX];
    struct firn_delete_index *index;
    struct firn_deletions_config config = {
        .metadata = test->metadata,
        .store = test->store,
        .pool = test->pool,
        .memory_bytes_max = test->memory_bytes_max,
    };
    for (uint32_t i = 0; i < test->delete_count; i++)
        deletes[i] = &test->deletes[i];
    FIRN_TRY(firn_delete_index_new(op, test->metadata, deletes, test->delete_count, &index));
    for (uint32_t i = 0; i < test->data_count; i++) {
        test->files[i].entry = &test->data[i];
        FIRN_TRY(firn_delete_index_match(op, index, &test->data[i], &test->files[i].deletes));
    }
    return firn_deletions_load(op, &config, test->files, test->data_count, &test->deletions);
}

static inline void check_deleted(struct deletion_test *test, uint32_t data, const char *expected)
{
    struct firn_op *op = test->op;
    const struct firn_positions *positions;
    struct firn_buffer text = { 0 };
    int64_t at = 0;
    CHECK_OK(op, firn_deletions_find(op, test->deletions, &test->files[data], &positions));
    for (; positions && firn_positions_next(positions, at, &at); at++) {
        struct firn_text number = firn_text_format(op->arena, text.len ? " %" PRId64 : "%" PRId64, at);
        CHECK_OK(op, firn_buffer_append(op, &text, number.data, number.len));
    }
    CHECK(firn_text_is(firn_text_of_bytes(firn_buffer_bytes(&text)), expected), "file %u: '%.*s', not '%s'", data,
          FIRN_FMT(firn_text_of_bytes(firn_buffer_bytes(&text))), expected);
    firn_buffer_done(&text);
}

static inline void end(struct deletion_test *test)
{
    firn_store_close(test->store);
}

#endif
