/* A table as a streaming job leaves it, made for demonstration: transactions partitioned by day, one small commit after
 * another, in a SQLite catalog on local files. And a measure of what a table costs its readers. */
#ifndef FIRN_DEMO_H
#define FIRN_DEMO_H

#include "firn/catalog.h"
#include "firn/progress.h"

struct firn_pool;

struct firn_demo_config {
    int64_t commits;       /* streaming commits; each touches one or two days */
    int64_t rows_per_file; /* about */
    int64_t days;          /* partitions the commits are spread over */
};

/* Creates the table and commits `config->commits` times through the ordinary commit path. `progress` counts commits.
 * The same configuration gives the same rows. EXISTS when the table is there already. */
FIRN_CHECKED firn_status firn_demo_create(struct firn_op *op, struct firn_pool *pool, struct firn_catalog *catalog,
                                          struct firn_text identifier, const struct firn_demo_config *config,
                                          struct firn_progress *progress, struct firn_table *out);

/* What a table's current snapshot costs whoever reads it. */
struct firn_table_cost {
    int64_t files;
    int64_t bytes;
    int64_t rows;
    int64_t manifests;
    int64_t scan_files;  /* data files a scan with the filter must open */
    int64_t scan_bytes;  /* of these, and of the delete files it opens with each */
    int64_t planning_us; /* time to plan that scan: manifest list and manifests read and pruned; best of three */
};
/* `where` is a predicate of Spark's grammar. */
FIRN_CHECKED firn_status firn_table_measure(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                            struct firn_text where, struct firn_table_cost *out);

#endif
