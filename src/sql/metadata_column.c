/* Columns of metadata tables and their types. Reference: format-notes.md, 18. */
#include "sql/metadata_column.h"

static struct firn_text decimal_text(struct firn_arena *arena, const struct firn_type *type)
{
    return firn_text_format(arena, "decimal(%d,%d)", type->precision, type->scale);
}

static struct firn_text struct_text(struct firn_arena *arena, const struct firn_type *type)
{
    struct firn_metadata_column *fields = FIRN_NEW_ARRAY(arena, struct firn_metadata_column, type->field_count);
    for (uint32_t i = 0; i < type->field_count; i++)
        fields[i] = (struct firn_metadata_column){ .name = type->fields[i].name,
                                                   .type = firn_spark_type_text(arena, &type->fields[i].type) };
    return firn_metadata_struct(arena, FIRN_TEXT(""), fields, type->field_count).type;
}

static struct firn_text collection_text(struct firn_arena *arena, const struct firn_type *type)
{
    struct firn_text first = firn_spark_type_text(arena, &type->fields[0].type);
    if (type->id == FIRN_TYPE_LIST)
        return firn_text_format(arena, "array<%.*s>", FIRN_FMT(first));
    struct firn_text second = firn_spark_type_text(arena, &type->fields[1].type);
    return firn_text_format(arena, "map<%.*s,%.*s>", FIRN_FMT(first), FIRN_FMT(second));
}

struct firn_text firn_spark_type_text(struct firn_arena *arena, const struct firn_type *type)
{
    switch (type->id) {
    case FIRN_TYPE_LONG:
        return FIRN_TEXT("bigint");
    case FIRN_TYPE_DECIMAL:
        return decimal_text(arena, type);
    case FIRN_TYPE_TIMESTAMP:
    case FIRN_TYPE_TIMESTAMP_NS:
        return FIRN_TEXT("timestamp_ntz");
    case FIRN_TYPE_TIMESTAMPTZ:
    case FIRN_TYPE_TIMESTAMPTZ_NS:
        return FIRN_TEXT("timestamp");
    case FIRN_TYPE_TIME:
    case FIRN_TYPE_UUID:
        return FIRN_TEXT("string");
    case FIRN_TYPE_FIXED:
    case FIRN_TYPE_GEOMETRY:
    case FIRN_TYPE_GEOGRAPHY:
        return FIRN_TEXT("binary");
    case FIRN_TYPE_UNKNOWN:
        return FIRN_TEXT("void");
    case FIRN_TYPE_STRUCT:
        return struct_text(arena, type);
    case FIRN_TYPE_LIST:
    case FIRN_TYPE_MAP:
        return collection_text(arena, type);
    default:
        return firn_text_of(firn_type_name(type->id));
    }
}

static char *append(char *at, struct firn_text text)
{
    memcpy(at, text.data, text.len);
    return at + text.len;
}

struct firn_metadata_column firn_metadata_struct(struct firn_arena *arena, struct firn_text name,
                                                 const struct firn_metadata_column *fields, uint32_t count)
{
    size_t len = sizeof "struct<>";
    for (uint32_t i = 0; i < count; i++)
        len += fields[i].name.len + fields[i].type.len + 2;
    char *type = firn_arena_alloc(arena, len), *at = append(type, FIRN_TEXT("struct<"));
    for (uint32_t i = 0; i < count; i++) {
        at = i ? append(at, FIRN_TEXT(",")) : at;
        at = append(append(append(at, fields[i].name), FIRN_TEXT(":")), fields[i].type);
    }
    at = append(at, FIRN_TEXT(">"));
    return (struct firn_metadata_column){
        .name = name, .type = { type, (size_t)(at - type) }, .fields = fields, .field_count = count
    };
}

void firn_metadata_columns_of(const struct firn_metadata_column_fact *facts, uint32_t count,
                              struct firn_metadata_column *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] =
            (struct firn_metadata_column){ .name = firn_text_of(facts[i].name), .type = firn_text_of(facts[i].type) };
}

const struct firn_metadata_column *firn_metadata_column_at(const struct firn_metadata_columns *columns,
                                                           const struct firn_metadata_path *path)
{
    struct firn_metadata_columns level = *columns;
    const struct firn_metadata_column *at = NULL;
    for (uint32_t i = 0; i < path->count; i++) {
        if (path->steps[i] >= level.count)
            return NULL;
        at = &level.items[path->steps[i]];
        level = (struct firn_metadata_columns){ at->fields, at->field_count };
    }
    return at;
}

uint32_t firn_metadata_column_find(const struct firn_metadata_column *items, uint32_t count, struct firn_text name)
{
    for (uint32_t i = 0; i < count; i++)
        if (firn_text_same_nocase(items[i].name, name))
            return i;
    return UINT32_MAX;
}
