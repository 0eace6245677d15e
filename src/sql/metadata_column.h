/* Columns of metadata tables: names, types as Spark spells them, and the fields of structs. */
#ifndef FIRN_SQL_METADATA_COLUMN_H
#define FIRN_SQL_METADATA_COLUMN_H

#include "table/type.h"

/* A column, or a field of a struct. */
struct firn_metadata_column {
    struct firn_text name;
    struct firn_text type;                     /* "bigint", "map<int,bigint>", "struct<day:date>" */
    const struct firn_metadata_column *fields; /* of a struct */
    uint32_t field_count;
};

struct firn_metadata_columns {
    const struct firn_metadata_column *items;
    uint32_t count;
};

/* A row of a table that is the same for all: name and type of a column that is no struct. */
struct firn_metadata_column_fact {
    const char *name, *type;
};

#define FIRN_METADATA_PATH_MAX 4

/* A column, or what lies in its structs: the column's index, then that of the field, and so on. */
struct firn_metadata_path {
    uint32_t steps[FIRN_METADATA_PATH_MAX];
    uint32_t count;
};

/* An Iceberg type as Spark has it: "timestamp" for what has a zone, "string" for a UUID. In the arena. */
struct firn_text firn_spark_type_text(struct firn_arena *arena, const struct firn_type *type);
/* A struct of these fields, which are borrowed. */
struct firn_metadata_column firn_metadata_struct(struct firn_arena *arena, struct firn_text name,
                                                 const struct firn_metadata_column *fields, uint32_t count);
void firn_metadata_columns_of(const struct firn_metadata_column_fact *facts, uint32_t count,
                              struct firn_metadata_column *out);
/* What a path leads to; NULL when it leads nowhere. */
const struct firn_metadata_column *firn_metadata_column_at(const struct firn_metadata_columns *columns,
                                                           const struct firn_metadata_path *path);
/* The index of a name, without case; UINT32_MAX: none. */
uint32_t firn_metadata_column_find(const struct firn_metadata_column *items, uint32_t count, struct firn_text name);

#endif
