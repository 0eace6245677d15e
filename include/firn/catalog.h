/* Catalogs: from a table's name to its current metadata, and the atomic swap.
 *
 * A catalog is described by string properties under a name, as in .pyiceberg.yaml: `type` (sql, hadoop; rest later),
 * `uri`, `warehouse` and what else its kind knows. Library code never reads files or the environment for them; the
 * command line does (firn_config_load). */
#ifndef FIRN_CATALOG_H
#define FIRN_CATALOG_H

#include "firn/op.h"

struct firn_property {
    struct firn_text key;
    struct firn_text value; /* may be a secret: never printed */
};

struct firn_catalog_config {
    struct firn_text name; /* also the catalog_name column of a SQL catalog */
    struct firn_property *properties;
    size_t property_count;
};

/* All catalogs known to a command, and which is the default ("default", or the only one, or `default-catalog`). */
struct firn_config {
    struct firn_catalog_config *catalogs;
    size_t catalog_count;
    struct firn_text default_catalog; /* may be empty */
};

/* Reads a .pyiceberg.yaml text: `catalog: {NAME: {key: value}}`, `default-catalog`; other keys are ignored. Nested
 * values are flattened with '.'. CORRUPT with the line for broken YAML. Adds to `config`, later wins. */
FIRN_CHECKED firn_status firn_config_parse_yaml(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                                                struct firn_config *config);
/* Applies one environment variable PYICEBERG_CATALOG__NAME__KEY__PART=value (PyIceberg's rules: "__" separates levels,
 * "_" becomes "-", lower case) or PYICEBERG_DEFAULT_CATALOG. Others are ignored. Later wins. */
FIRN_CHECKED firn_status firn_config_apply_variable(struct firn_op *op, struct firn_text name, struct firn_text value,
                                                    struct firn_config *config);
/* Adds one catalog's properties to those already known under its name; later wins. Texts are copied. */
FIRN_CHECKED firn_status firn_config_merge(struct firn_op *op, const struct firn_catalog_config *catalog,
                                           struct firn_config *config);
/* The property, or an empty text. Keys are lower case. */
struct firn_text firn_catalog_property(const struct firn_catalog_config *config, const char *key);
/* By name, without case. An empty name asks for the default: `default-catalog`, else the catalog called "default", else
 * the only one. NULL if there is none. */
const struct firn_catalog_config *firn_config_find(const struct firn_config *config, struct firn_text name);

struct firn_store;
struct firn_catalog;
struct firn_metadata;

/* Opens a catalog. USAGE for a missing or contradictory property, UNSUPPORTED for another type. Borrows config and
 * store. */
FIRN_CHECKED firn_status firn_catalog_open(struct firn_op *op, struct firn_store *store,
                                           const struct firn_catalog_config *config, struct firn_catalog **out);
void firn_catalog_close(struct firn_catalog *catalog);
struct firn_text firn_catalog_name(const struct firn_catalog *catalog);

/* A table opened through a catalog, by location, or from one metadata.json. */
struct firn_table {
    struct firn_catalog *catalog; /* NULL: read-only, from a metadata.json or a location without a catalog's naming */
    struct firn_store *store;
    struct firn_text name;       /* "catalog.namespace.table", or the location, for messages */
    struct firn_text identifier; /* within the catalog: "namespace.table" */
    struct firn_text metadata_location;
    const struct firn_metadata *metadata;
};

/* Loads the current metadata of `identifier` ("ns.table", levels joined with '.'). NOT_FOUND. In op->arena. */
FIRN_CHECKED firn_status firn_catalog_load(struct firn_op *op, struct firn_catalog *catalog,
                                           struct firn_text identifier, struct firn_table *out);
/* Opens a table by its folder (a filesystem table: metadata/version-hint.text, v<N>.metadata.json; committable) or by
 * one metadata.json (read-only). `catalog` receives the one-table catalog to be closed by the caller, or NULL. */
FIRN_CHECKED firn_status firn_table_open_location(struct firn_op *op, struct firn_store *store,
                                                  struct firn_text location, struct firn_catalog **catalog,
                                                  struct firn_table *out);

typedef firn_status firn_catalog_visit(struct firn_op *op, void *context, struct firn_text identifier);
/* Calls `visit` for every table, sorted by identifier. */
FIRN_CHECKED firn_status firn_catalog_list(struct firn_op *op, struct firn_catalog *catalog, firn_catalog_visit *visit,
                                           void *context);
/* Creates a namespace when the catalog keeps them; fine when it is there. */
FIRN_CHECKED firn_status firn_catalog_create_namespace(struct firn_op *op, struct firn_catalog *catalog,
                                                       struct firn_text name);

#endif
