/* The check of single files: over every table of the corpus, over sound files, and over files damaged one way at a
 * time.
 */
#include "maintain/corpus_table.h"

#include "maintain/file_check.h"
#include "table/delete_index.h"
#include "table/scan.h"

/* What is really wrong in the corpus. */
#define EDITED  "the data was replaced upstream after the metadata was written"
#define SCHEMES "paths were given a scheme upstream that metadata lacks, which Java readers take for other files"
static const struct exception {
    const char *table, *code, *reason;
} exceptions[] = {
    { "duckdb_moved_object_storage", "file-length", EDITED },
    { "duckdb_moved_object_storage", "upper-bound", EDITED },
    { "duckdb_moved_object_storage", "lower-bound", EDITED },
    { "duckdb_moved_object_storage", "null-count", EDITED },
    { "duckdb_moved_object_storage", "delete-path", EDITED },
    { "duckdb_moved_object_storage", "delete-order", EDITED },
    { "duckdb_name_mapping", "file-length", EDITED },
    { "duckdb_part_bigint", "file-length", EDITED },
    { "duckdb_part_bool", "file-length", EDITED },
    { "duckdb_part_decimal_16_11", "file-length", EDITED },
    { "duckdb_part_decimal_36_23", "file-length", EDITED },
    { "duckdb_part_decimal_3_2", "file-length", EDITED },
    { "duckdb_part_decimal_8_4", "file-length", EDITED },
    { "duckdb_part_double", "file-length", EDITED },
    { "duckdb_part_fixed", "file-length", EDITED },
    { "duckdb_part_float", "file-length", EDITED },
    { "duckdb_part_timestamp", "file-length", EDITED },
    { "duckdb_v3_bare_dv", "puffin-blob", "a vector without a Puffin file around it" },
    { "impala_dangling_delete", "upper-bound", SCHEMES },
    { "impala_eq_and_pos", "upper-bound", SCHEMES },
    { "impala_eq_delete_bogus", "equality-ids", "position deletes that are called equality deletes" },
    { "impala_pos_delete_multiblock", "upper-bound", SCHEMES },
    { "impala_pos_delete_null_records", "delete-path", "rows without a path" },
    { "impala_pos_delete_partitioned", "upper-bound", SCHEMES },
    { "impala_pos_delete_some_files", "upper-bound", SCHEMES },
    { "impala_pos_delete_spark", "file-length", EDITED },
    { "impala_pos_delete_spark", "upper-bound", SCHEMES },
};

static bool is_exempt(const char *table, const char *code)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(exceptions); i++)
        if (strcmp(exceptions[i].table, table) == 0 && strcmp(exceptions[i].code, code) == 0)
            return true;
    return false;
}

static bool has_code(const struct firn_findings *found, const char *code)
{
    for (size_t i = 0; i < found->counts.count; i++)
        if (strcmp(found->counts.items[i].code, code) == 0)
            return true;
    return false;
}

static void check_exceptions(const char *name, const struct firn_findings *found)
{
    for (size_t i = 0; i < found->items.count; i++) {
        const struct firn_finding *item = &found->items.items[i];
        CHECK(item->severity == FIRN_SEVERITY_NOTICE || is_exempt(name, item->code), "%s: %s %.*s: %.*s", name,
              item->code, FIRN_FMT(item->location), FIRN_FMT(item->text));
    }
    for (size_t i = 0; i < FIRN_COUNT_OF(exceptions); i++)
        CHECK(strcmp(exceptions[i].table, name) != 0 || has_code(found, exceptions[i].code), "%s: no %s", name,
              exceptions[i].code);
}

static void check_table(struct firn_op *op, struct corpus_table *opened, bool deep, struct firn_findings *found)
{
    const struct firn_metadata *metadata = opened->table.metadata;
    const struct firn_snapshot *snapshot = firn_metadata_current(metadata);
    struct firn_manifest_list list = { 0 };
    if (snapshot)
        CHECK_OK(op, firn_snapshot_manifests(op, opened->store, metadata, snapshot, &list));
    for (uint32_t i = 0; i < list.count; i++) {
        struct firn_manifest manifest;
        CHECK_OK(op, firn_manifest_read(op, opened->store, metadata, &list.manifests[i],
                                        (struct firn_manifest_read_options){ .skip_deleted = true }, &manifest));
        for (uint32_t k = 0; k < manifest.count; k++) {
            struct firn_file_check what = { opened->store, metadata, &manifest.entries[k], deep, NULL };
            CHECK_OK(op, firn_file_check(op, &what, found));
        }
    }
}

/* Shallow and deep: the shallow check finds nothing that the deep one does not. */
static void compare_with_known(struct firn_op *op, void *context, struct corpus_table *opened)
{
    (void)context;
    struct firn_findings found;
    firn_findings_init(&found, op->arena);
    check_table(op, opened, false, &found);
    check_table(op, opened, true, &found);
    check_exceptions(opened->name, &found);
}

static void the_corpus_is_as_known(void **state)
{
    corpus_visit_tables(test_op(state), compare_with_known, NULL);
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

enum { SMALL_BYTES = 20000, TRIALS = 12 };

/* Checks copies of a file with some bits changed. */
static void damage_file(struct firn_op *op, struct corpus_table *opened, const struct firn_manifest_entry *entry,
                        uint64_t *seed)
{
    struct firn_buffer bytes = { 0 };
    struct firn_store *store;
    struct firn_findings found;
    struct firn_file_check what = { NULL, opened->table.metadata, entry, true, NULL };
    CHECK_OK(op, firn_store_read(op, opened->store, entry->file.path, SMALL_BYTES, &bytes));
    CHECK_OK(op, firn_store_open_memory(op, &store));
    what.store = store;
    firn_findings_init(&found, op->arena);
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int i = 0; i < 3; i++)
            bytes.data[draw(seed) % bytes.len] ^= (uint8_t)(1u << draw(seed) % 8);
        CHECK_OK(op, firn_store_put(op, store, entry->file.path, false, firn_buffer_bytes(&bytes)));
        CHECK_OK(op, firn_file_check(op, &what, &found));
    }
    firn_buffer_done(&bytes);
    firn_store_close(store);
}

static void damage_table(struct firn_op *op, void *seed, struct corpus_table *opened)
{
    const struct firn_metadata *metadata = opened->table.metadata;
    const struct firn_snapshot *snapshot = firn_metadata_current(metadata);
    struct firn_manifest_list list = { 0 };
    if (snapshot)
        CHECK_OK(op, firn_snapshot_manifests(op, opened->store, metadata, snapshot, &list));
    for (uint32_t i = 0; i < list.count && i < 2; i++) {
        struct firn_manifest manifest;
        struct firn_store_stat stat;
        CHECK_OK(op, firn_manifest_read(op, opened->store, metadata, &list.manifests[i],
                                        (struct firn_manifest_read_options){ .skip_deleted = true }, &manifest));
        for (uint32_t k = 0; k < manifest.count && k < 2; k++) {
            CHECK_OK(op, firn_store_stat(op, opened->store, manifest.entries[k].file.path, &stat));
            if (stat.size > 0 && stat.size <= SMALL_BYTES)
                damage_file(op, opened, &manifest.entries[k], seed);
        }
    }
}

/* Whatever a few bits do to files of many writers, each is checked to the end, and the check does not fail. */
static void chance_never_fails_the_check(void **state)
{
    uint64_t seed = 88172645463325252u;
    corpus_visit_tables(test_op(state), damage_table, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_corpus_is_as_known),
        TEST(chance_never_fails_the_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
