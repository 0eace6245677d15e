/* Tables of the corpus, opened where they lie. */
#ifndef FIRN_TESTS_CORPUS_TABLE_H
#define FIRN_TESTS_CORPUS_TABLE_H

#include "support/corpus.h"

#include "base/math.h"
#include "firn/catalog.h"
#include "store/store.h"

struct corpus_table {
    const char *name;
    const json_t *expected; /* what is known of it */
    struct firn_store *store;
    struct firn_catalog *catalog;
    struct firn_table table;
};

/* Where some tables' files are recorded, beside the location that the metadata states. */
static const struct {
    const char *name, *from;
} corpus_other_locations[] = {
    { "duckdb_bigquery_export", "data/persistent/big_query_error" },
    { "duckdb_lineitem_gz", "lineitem_iceberg_gz" },
    { "duckdb_lineitem_overwritten", "lineitem_iceberg" },
    { "glaredb_v1_lineitem_partitioned", "iceberg/tables-v1/lineitem_partitioned" },
    { "glaredb_v1_lineitem_versioned", "iceberg/tables-v1/lineitem_versioned" },
    { "glaredb_v2_lineitem_partitioned", "iceberg/tables-v2/lineitem_partitioned" },
    { "impala_eq_delete_bogus", "hdfs://localhost:20500/test-warehouse/iceberg_test/hadoop_catalog/ice/"
                                "iceberg_v2_delete_different_equality_ids" },
};

/* Opens a table of the corpus where it lies. A table whose root is below its copy has files beside that root. */
static inline struct corpus_table corpus_table_open(struct firn_op *op, struct firn_text root, const char *name,
                                                    const json_t *expected)
{
    struct firn_text folder = firn_text_format(op->arena, "%.*s/iceberg/%s", FIRN_FMT(root), name);
    struct firn_text from = firn_text_of(json_string_value(json_object_get(expected, "recorded_location")));
    if (json_is_string(json_object_get(expected, "table_root_in_copy")))
        from = firn_text_until(from, (size_t)firn_text_find_last(from, '/'));
    struct firn_relocation relocations[2] = { { from, folder } };
    struct firn_store_config config = { relocations, 1 };
    for (size_t i = 0; i < FIRN_COUNT_OF(corpus_other_locations); i++)
        if (strcmp(corpus_other_locations[i].name, name) == 0)
            relocations[config.relocation_count++] =
                (struct firn_relocation){ firn_text_of(corpus_other_locations[i].from), folder };
    struct corpus_table opened = { .name = name, .expected = expected };
    struct firn_text metadata_file = firn_text_format(op->arena, "%.*s/%s", FIRN_FMT(folder),
                                                      json_string_value(json_object_get(expected, "metadata_file")));
    CHECK_OK(op, firn_store_open(op, &config, &opened.store));
    CHECK_OK(op, firn_table_open_location(op, opened.store, metadata_file, &opened.catalog, &opened.table));
    return opened;
}

static inline void corpus_table_close(struct corpus_table *opened)
{
    firn_catalog_close(opened->catalog);
    firn_store_close(opened->store);
}

/* Visits every table of the corpus, opened; skips the running test when there is no corpus. */
typedef void corpus_visit(struct firn_op *op, void *context, struct corpus_table *opened);
static inline void corpus_visit_tables(struct firn_op *op, corpus_visit *visit, void *context)
{
    struct firn_text root = corpus_root(op);
    const char *name;
    json_t *expected;
    CORPUS_OR_SKIP(root);
    json_t *tables = corpus_expected(op, root, "iceberg");
    json_object_foreach(tables, name, expected)
    {
        struct corpus_table opened = corpus_table_open(op, root, name, expected);
        visit(op, context, &opened);
        corpus_table_close(&opened);
    }
}

#endif
