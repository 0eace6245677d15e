/* Iceberg types and schemas. Iceberg spec, "Schemas and Data Types", "Appendix C: JSON serialization". */
#ifndef FIRN_TABLE_TYPE_H
#define FIRN_TABLE_TYPE_H

#include "firn/op.h"
#include "format/json/json.h"

enum firn_type_id {
    FIRN_TYPE_BOOLEAN,
    FIRN_TYPE_INT,
    FIRN_TYPE_LONG,
    FIRN_TYPE_FLOAT,
    FIRN_TYPE_DOUBLE,
    FIRN_TYPE_DECIMAL,
    FIRN_TYPE_DATE,
    FIRN_TYPE_TIME,
    FIRN_TYPE_TIMESTAMP,
    FIRN_TYPE_TIMESTAMPTZ,
    FIRN_TYPE_TIMESTAMP_NS,
    FIRN_TYPE_TIMESTAMPTZ_NS,
    FIRN_TYPE_STRING,
    FIRN_TYPE_UUID,
    FIRN_TYPE_FIXED,
    FIRN_TYPE_BINARY,
    FIRN_TYPE_UNKNOWN,
    FIRN_TYPE_VARIANT,
    FIRN_TYPE_GEOMETRY,
    FIRN_TYPE_GEOGRAPHY,
    FIRN_TYPE_STRUCT,
    FIRN_TYPE_LIST,
    FIRN_TYPE_MAP,
    FIRN_TYPE_COUNT
};

struct firn_field;

struct firn_type {
    enum firn_type_id id;
    int32_t precision, scale;   /* DECIMAL */
    int32_t length;             /* FIXED: bytes */
    struct firn_text crs;       /* GEOMETRY, GEOGRAPHY */
    struct firn_text algorithm; /* GEOGRAPHY */
    uint32_t field_count;       /* STRUCT: any; LIST: 1 (element); MAP: 2 (key, value) */
    struct firn_field *fields;
};

struct firn_field {
    int32_t id;
    struct firn_text name; /* "element", "key", "value" in lists and maps */
    bool required;
    struct firn_type type;
    struct firn_text doc;          /* data == NULL: none */
    const json_t *initial_default; /* single-value JSON; NULL: none. Borrowed from the metadata tree */
    const json_t *write_default;
};

struct firn_schema {
    int32_t id;
    struct firn_type root; /* STRUCT */
    int32_t *identifier_ids;
    uint32_t identifier_count;
};

/* "int", "list", ... without parameters. */
const char *firn_type_name(enum firn_type_id id);
/* Primitive: everything but STRUCT, LIST, MAP and VARIANT. */
bool firn_type_is_primitive(enum firn_type_id id);
/* A date or a timestamp of any kind. */
bool firn_type_has_date(enum firn_type_id id);
/* Same structure, parameters, ids, names and nullability. */
bool firn_type_same(const struct firn_type *a, const struct firn_type *b);
/* As the spec writes it: "decimal(9, 2)", "list<...>". */
struct firn_text firn_type_text(struct firn_arena *arena, const struct firn_type *type);

/* "decimal(9,2)", "fixed[16]", ... of a primitive or variant type. CORRUPT for an unknown name. */
FIRN_CHECKED firn_status firn_type_parse_text(struct firn_op *op, struct firn_text text, struct firn_type *out);
/* A JSON type (text or object). Fields that share an id, and nesting past 100 levels, are CORRUPT. */
FIRN_CHECKED firn_status firn_type_parse(struct firn_op *op, const json_t *json, struct firn_type *out);
FIRN_CHECKED firn_status firn_schema_parse(struct firn_op *op, const json_t *json, struct firn_schema *out);
/* New references. */
json_t *firn_type_json(const struct firn_type *type);
json_t *firn_schema_json(const struct firn_schema *schema);

/* The field of an id anywhere in the tree, or NULL. */
const struct firn_field *firn_schema_field(const struct firn_schema *schema, int32_t id);
/* By full dotted name ("a.b", "list.element", "map.key"); `nocase` compares without case (first match wins). NULL if
 * there is none. */
const struct firn_field *firn_schema_field_named(const struct firn_schema *schema, struct firn_text name, bool nocase);
/* The full dotted name of a field id; empty if there is none. */
struct firn_text firn_schema_name(struct firn_arena *arena, const struct firn_schema *schema, int32_t id);
/* Highest field id in the tree, 0 for none. */
int32_t firn_schema_id_max(const struct firn_schema *schema);
/* Whether a value of `from` may be read as `to` (spec, "Schema Evolution"; equal types included). */
bool firn_type_promotable(const struct firn_type *from, const struct firn_type *to);

#endif
