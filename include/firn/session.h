/* A session: what one command or embedding program keeps open while it works on tables: threads, a memory budget, the
 * store, and the catalogs it has used. */
#ifndef FIRN_SESSION_H
#define FIRN_SESSION_H

#include "firn/catalog.h"
#include "firn/price.h"

/* A recorded location prefix and where its bytes really lie. */
struct firn_session_relocation {
    struct firn_text from;
    struct firn_text to;
};

struct firn_session_config {
    uint32_t thread_count;        /* 0: one per online processor */
    uint64_t memory_bytes_max;    /* 0: no limit */
    struct firn_text temp_folder; /* where data beyond memory goes; empty: /var/tmp. Borrowed until close */
    const struct firn_session_relocation *relocations;
    size_t relocation_count;
    bool relaxed; /* what is written need not survive a loss of power: only for data that can be made again */
    const struct firn_config *config; /* catalogs; borrowed until close */
    struct firn_text
        catalog; /* the catalog asked for by name; empty: the first level of a table's name, or the default */
};

struct firn_session;
struct firn_pool;

/* Opens threads and store. `op` and everything done with it is charged to the session's memory budget, and what goes
 * beyond memory goes to its temporary folder. */
FIRN_CHECKED firn_status firn_session_open(struct firn_op *op, const struct firn_session_config *config,
                                           struct firn_session **out);
/* Closes everything; NULL is fine. Tables opened through the session must not be used afterwards. */
void firn_session_close(struct firn_session *session);

struct firn_pool *firn_session_pool(struct firn_session *session);
struct firn_store *firn_session_store(struct firn_session *session);
/* What its store was asked for so far. */
struct firn_work firn_session_work(const struct firn_session *session);
uint32_t firn_session_thread_count(const struct firn_session *session);
uint64_t firn_session_memory_bytes_max(const struct firn_session *session);
/* Most bytes that page and column buffers held at once. */
uint64_t firn_session_memory_bytes_peak(const struct firn_session *session);

/* Opens a catalog of the configuration, once; later calls give the same one. Empty name: the default catalog.
 * NOT_FOUND when the configuration has none of that name. */
FIRN_CHECKED firn_status firn_session_catalog(struct firn_op *op, struct firn_session *session, struct firn_text name,
                                              struct firn_catalog **out);
/* Opens a table by what a person types: "catalog.namespace.table", "namespace.table" (default catalog), a table's
 * folder, or one metadata.json (read-only). NOT_FOUND says where it was looked for. In op->arena. */
FIRN_CHECKED firn_status firn_session_table(struct firn_op *op, struct firn_session *session, struct firn_text name,
                                            struct firn_table *out);

#endif
