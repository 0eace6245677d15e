/* Avro schemas: a writer's schema parsed into a tree of types, names resolved. Avro 1.12 specification, "Schema
 * Declaration"; the id attributes are Iceberg's (Iceberg spec, "Appendix A: Avro"). */
#ifndef FIRN_FORMAT_AVRO_SCHEMA_H
#define FIRN_FORMAT_AVRO_SCHEMA_H

#include "format/json/json.h"

enum firn_avro_kind {
    FIRN_AVRO_NULL,
    FIRN_AVRO_BOOLEAN,
    FIRN_AVRO_INT,
    FIRN_AVRO_LONG,
    FIRN_AVRO_FLOAT,
    FIRN_AVRO_DOUBLE,
    FIRN_AVRO_BYTES,
    FIRN_AVRO_STRING,
    FIRN_AVRO_FIXED,
    FIRN_AVRO_ENUM,
    FIRN_AVRO_RECORD,
    FIRN_AVRO_ARRAY,
    FIRN_AVRO_MAP,
    FIRN_AVRO_UNION,
    FIRN_AVRO_KIND_COUNT
};

/* No id attribute was written. */
#define FIRN_AVRO_NO_ID INT32_MIN

struct firn_avro_type;

struct firn_avro_field {
    struct firn_text name;
    int32_t id; /* field-id, or FIRN_AVRO_NO_ID */
    const struct firn_avro_type *type;
};

/* A record may contain itself, so the tree is really a graph: walks over it limit their depth. */
struct firn_avro_type {
    enum firn_avro_kind kind;
    struct firn_text name;         /* FIXED, ENUM, RECORD: full name */
    struct firn_text logical_type; /* empty: none */
    int32_t precision, scale;      /* logical type decimal */
    bool adjust_to_utc;            /* logical types timestamp-* */
    uint32_t size;                 /* FIXED: bytes */
    uint64_t min_bytes;            /* no encoded value is shorter */
    uint32_t field_count;          /* RECORD */
    struct firn_avro_field *fields;
    uint32_t symbol_count; /* ENUM */
    struct firn_text *symbols;
    uint32_t branch_count; /* UNION */
    const struct firn_avro_type **branches;
    const struct firn_avro_type *item; /* ARRAY: items, MAP: values */
};

/* Parses a schema. Texts borrow from `json`, the rest lives in op->arena. CORRUPT for an unknown type or name, a union
 * in a union, or nesting past 100 levels. */
FIRN_CHECKED firn_status firn_avro_schema_parse(struct firn_op *op, const json_t *json,
                                                const struct firn_avro_type **out);
/* "int", "record", ... as the specification spells it. */
const char *firn_avro_kind_name(enum firn_avro_kind kind);

/* An Avro name for any text: what is no ASCII letter, digit or '_' becomes "_x" and the UTF-16 unit in hexadecimal; a
 * leading digit gets '_' in front. Stricter than the reference, which keeps letters of all scripts: other readers
 * accept only what the Avro specification allows. */
struct firn_text firn_avro_name(struct firn_arena *arena, struct firn_text text);

#endif
