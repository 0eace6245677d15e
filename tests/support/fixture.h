/* A table in a filesystem catalog, in memory or on disk, with data files that hold nothing but their name. */
#ifndef FIRN_TESTS_FIXTURE_H
#define FIRN_TESTS_FIXTURE_H

#include "catalog/snapshot_producer.h"

struct fixture {
    struct firn_property properties[4];
    struct firn_catalog_config config;
    struct firn_store *store;
    struct firn_catalog *catalog;
    struct firn_table table;
};

/* What a new table has; texts of JSON, NULL for the default: (1: id int, 2: v string), unpartitioned, version 2. */
struct fixture_options {
    const char *spec;
    const char *properties;
};

/* Opens a hadoop catalog "c" below `warehouse` over a store the fixture borrows. */
FIRN_CHECKED firn_status fixture_open(struct firn_op *op, struct firn_store *store, struct firn_text warehouse,
                                      struct fixture *out);
/* Opens a sql catalog "c" in a database file below `folder`. */
FIRN_CHECKED firn_status fixture_open_sql(struct firn_op *op, struct firn_store *store, struct firn_text folder,
                                          struct fixture *out);
void fixture_close(struct fixture *fixture);
/* Creates the table "db.t". */
FIRN_CHECKED firn_status fixture_create(struct firn_op *op, struct fixture *fixture, struct fixture_options options);
FIRN_CHECKED firn_status fixture_load(struct firn_op *op, struct fixture *fixture);

/* A data file <location>/data/<name>, put into the store. */
struct firn_data_file fixture_file(struct firn_op *op, const struct fixture *fixture, const char *name,
                                   int64_t record_count);
/* Appends files in one commit. */
FIRN_CHECKED firn_status fixture_append(struct firn_op *op, struct fixture *fixture, const struct firn_data_file *files,
                                        uint32_t count);
/* Adds delete files, as an overwrite. */
FIRN_CHECKED firn_status fixture_delete(struct firn_op *op, struct fixture *fixture, const struct firn_data_file *files,
                                        uint32_t count);
/* Creates a tag on the current snapshot: the smallest commit there is. */
FIRN_CHECKED firn_status fixture_tag(struct firn_op *op, struct fixture *fixture, struct firn_text name);

/* The base names of the live files of the current snapshot, sorted, joined with blanks; data files, then after " | "
 * delete files. Fails when a list, manifest or live data file of any snapshot is missing or cannot be read. */
FIRN_CHECKED firn_status fixture_live(struct firn_op *op, struct fixture *fixture, struct firn_text *out);
/* A value of the current snapshot's summary, or an empty text. */
struct firn_text fixture_summary(const struct fixture *fixture, const char *key);
/* How many files of the metadata folder no snapshot, log entry or hint names. */
FIRN_CHECKED firn_status fixture_orphans(struct firn_op *op, struct fixture *fixture, size_t *count);

#endif
