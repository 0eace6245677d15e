/* Inside catalogs: requirements and updates in, new metadata out; one table of functions per kind.
 *
 * Invariants of a commit
 *  (1) The new metadata file is complete and durable before the swap.
 *  (2) The swap succeeds only if the table still has the metadata the requirements were checked against.
 *  (3) CONFLICT and other definite failures leave the table as it was, and the new metadata file is removed.
 *  (4) UNKNOWN: the swap may have happened. Nothing is removed. */
#ifndef FIRN_CATALOG_CATALOG_H
#define FIRN_CATALOG_CATALOG_H

#include "firn/catalog.h"
#include "store/store.h"
#include "table/metadata.h"

/* A table's metadata and where it lies. */
struct firn_table_version {
    struct firn_text location; /* empty: no such table yet */
    const struct firn_metadata *metadata;
};

struct firn_catalog_kind {
    const char *type;  /* "sql", "hadoop" */
    bool is_by_folder; /* a table lies where its metadata lies, and the folder is the name */
    bool swaps_late;   /* a swap may still happen when its client is long gone: a server carries it out */
    firn_status (*open)(struct firn_op *op, struct firn_catalog *catalog);
    void (*close)(struct firn_catalog *catalog);
    /* The current metadata location of a table; NOT_FOUND. */
    firn_status (*locate)(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                          struct firn_text *metadata_location);
    /* Makes `metadata` the table's in place of `base`: writes the file and swaps. EXISTS for a new table that is there.
     * `new_location` is set for UNKNOWN too. After any other failure the new file is gone. */
    firn_status (*swap)(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                        const struct firn_table_version *base, const struct firn_metadata *metadata,
                        struct firn_text *new_location);
    /* Asked after UNKNOWN: whether `metadata`, written under `location`, is or was the table's current one. */
    firn_status (*committed)(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                             struct firn_text location, const struct firn_metadata *metadata, bool *out);
    firn_status (*list)(struct firn_op *op, struct firn_catalog *catalog, firn_catalog_visit *visit, void *context);
    firn_status (*create_namespace)(struct firn_op *op, struct firn_catalog *catalog, struct firn_text name);
    /* Refuses a table that this kind can read but must not change; NULL: every table can be. */
    firn_status (*check_writable)(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                  const struct firn_metadata *metadata);
    /* Compares the hint by which readers without a catalog find the newest metadata: `*wrong` says what is wrong with
     * it, empty: nothing, or there is none. With `mend` it is written anew where it is wrong. NULL: no such hint. */
    firn_status (*check_hint)(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier, bool mend,
                              struct firn_text *wrong);
    /* Where a new table goes when no location is given. */
    firn_status (*default_location)(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                    struct firn_text *location);
};

struct firn_catalog {
    const struct firn_catalog_kind *kind;
    const struct firn_catalog_config *config;
    struct firn_store *store;
    struct firn_arena arena; /* lives until close */
    void *state;             /* the kind's own */
};

/* One attempt: checks `requirements` (JSON array) against the current metadata, applies `updates`, swaps. On success
 * `table` is brought to the new metadata, and metadata files cut off the log are deleted when
 * write.metadata.delete-after-commit.enabled says so. CONFLICT: a requirement failed or the swap lost; refresh and
 * decide again. UNKNOWN only after the status check (commit.status-check.*) could not settle it. */
FIRN_CHECKED firn_status firn_catalog_commit(struct firn_op *op, struct firn_table *table, const json_t *requirements,
                                             const json_t *updates);
/* Loads the table's current metadata again. CONFLICT when another table has its name now. */
FIRN_CHECKED firn_status firn_table_refresh(struct firn_op *op, struct firn_table *table);
/* Creates a table from schema, spec and properties (all REST JSON; spec and order may be NULL: unpartitioned,
 * unsorted). EXISTS. Format version from the property "format-version", else 2. New tables store
 * write.parquet.compression-codec=zstd unless given. */
FIRN_CHECKED firn_status firn_catalog_create_table(struct firn_op *op, struct firn_catalog *catalog,
                                                   struct firn_text identifier, const json_t *schema,
                                                   const json_t *spec, const json_t *sort_order,
                                                   const json_t *properties, struct firn_table *out);

/* Reads one metadata file, plain or gzip. */
FIRN_CHECKED firn_status firn_metadata_load(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                            struct firn_metadata **out);
/* The table as the catalog has it now. `known` (may be NULL) is not read again when it is still current. */
FIRN_CHECKED firn_status firn_catalog_current(struct firn_op *op, struct firn_catalog *catalog,
                                              struct firn_text identifier, const struct firn_table_version *known,
                                              struct firn_table_version *out);
/* Writes a new metadata file, which must not exist yet; gzip where its name says so. A failed write leaves nothing. */
FIRN_CHECKED firn_status firn_metadata_save(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                            const struct firn_metadata *metadata);
/* Whether the table's properties ask for gzip metadata. USAGE for an unknown codec. */
FIRN_CHECKED firn_status firn_metadata_wants_gzip(struct firn_op *op, const struct firn_metadata *metadata, bool *out);
/* Whether the metadata log names `location`. */
bool firn_metadata_log_has(const struct firn_metadata *metadata, struct firn_text location);
/* Whether two locations are one place: the same folder where both are local and exist, else the same text. */
bool firn_location_same(struct firn_op *op, struct firn_store *store, struct firn_text a, struct firn_text b);

/* The kinds. */
extern const struct firn_catalog_kind firn_sql_kind;
extern const struct firn_catalog_kind firn_hadoop_kind;
/* A hadoop catalog of the one table in `folder`. */
FIRN_CHECKED firn_status firn_hadoop_open_table(struct firn_op *op, struct firn_store *store, struct firn_text folder,
                                                struct firn_catalog **out);
/* A catalog of a kind, not yet opened by it; config and store are borrowed. */
struct firn_catalog *firn_catalog_new(const struct firn_catalog_kind *kind, struct firn_store *store,
                                      const struct firn_catalog_config *config);

/* commit.retry.* of a table. */
struct firn_retry_policy {
    int32_t retries;
    int64_t wait_ms_min, wait_ms_max, total_ms_max;
};
FIRN_CHECKED firn_status firn_retry_policy_of(struct firn_op *op, const struct firn_metadata *metadata,
                                              struct firn_retry_policy *out);
/* commit.status-check.* of a table. */
FIRN_CHECKED firn_status firn_status_check_policy_of(struct firn_op *op, const struct firn_metadata *metadata,
                                                     struct firn_retry_policy *out);
/* Sleeps before attempt `attempt` + 1 (attempt counts from 1). False when the policy says to give up. `started_ms` is
 * monotonic. */
bool firn_retry_wait(struct firn_op *op, const struct firn_retry_policy *policy, int32_t attempt, int64_t started_ms);

#endif
