/* The type model: names, comparison, lookups by id and by name, promotion. Reading and writing: type_json.c.
 * Iceberg spec, "Schemas and Data Types", "Schema Evolution". */
#include "table/type.h"

#include "base/math.h"

static const char *const names[] = {
    [FIRN_TYPE_BOOLEAN] = "boolean",
    [FIRN_TYPE_INT] = "int",
    [FIRN_TYPE_LONG] = "long",
    [FIRN_TYPE_FLOAT] = "float",
    [FIRN_TYPE_DOUBLE] = "double",
    [FIRN_TYPE_DECIMAL] = "decimal",
    [FIRN_TYPE_DATE] = "date",
    [FIRN_TYPE_TIME] = "time",
    [FIRN_TYPE_TIMESTAMP] = "timestamp",
    [FIRN_TYPE_TIMESTAMPTZ] = "timestamptz",
    [FIRN_TYPE_TIMESTAMP_NS] = "timestamp_ns",
    [FIRN_TYPE_TIMESTAMPTZ_NS] = "timestamptz_ns",
    [FIRN_TYPE_STRING] = "string",
    [FIRN_TYPE_UUID] = "uuid",
    [FIRN_TYPE_FIXED] = "fixed",
    [FIRN_TYPE_BINARY] = "binary",
    [FIRN_TYPE_UNKNOWN] = "unknown",
    [FIRN_TYPE_VARIANT] = "variant",
    [FIRN_TYPE_GEOMETRY] = "geometry",
    [FIRN_TYPE_GEOGRAPHY] = "geography",
    [FIRN_TYPE_STRUCT] = "struct",
    [FIRN_TYPE_LIST] = "list",
    [FIRN_TYPE_MAP] = "map",
};
_Static_assert(sizeof names / sizeof *names == FIRN_TYPE_COUNT, "one name per type");

const char *firn_type_name(enum firn_type_id id)
{
    return names[id];
}

bool firn_type_is_primitive(enum firn_type_id id)
{
    return id != FIRN_TYPE_STRUCT && id != FIRN_TYPE_LIST && id != FIRN_TYPE_MAP && id != FIRN_TYPE_VARIANT;
}

bool firn_type_has_date(enum firn_type_id id)
{
    return id == FIRN_TYPE_DATE || (id >= FIRN_TYPE_TIMESTAMP && id <= FIRN_TYPE_TIMESTAMPTZ_NS);
}

static bool field_same(const struct firn_field *a, const struct firn_field *b)
{
    return a->id == b->id && a->required == b->required && firn_text_same(a->name, b->name) &&
           firn_type_same(&a->type, &b->type);
}

bool firn_type_same(const struct firn_type *a, const struct firn_type *b)
{
    if (a->id != b->id || a->precision != b->precision || a->scale != b->scale || a->length != b->length ||
        a->field_count != b->field_count || !firn_text_same(a->crs, b->crs) ||
        !firn_text_same(a->algorithm, b->algorithm))
        return false;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (!field_same(&a->fields[i], &b->fields[i]))
            return false;
    return true;
}

static struct firn_text geo_text(struct firn_arena *arena, const struct firn_type *type)
{
    if (type->algorithm.len)
        return firn_text_format(arena, "%s(%.*s, %.*s)", names[type->id], FIRN_FMT(type->crs),
                                FIRN_FMT(type->algorithm));
    if (type->crs.len)
        return firn_text_format(arena, "%s(%.*s)", names[type->id], FIRN_FMT(type->crs));
    return firn_text_of(names[type->id]);
}

static struct firn_text struct_text(struct firn_arena *arena, const struct firn_type *type)
{
    struct firn_text text = FIRN_TEXT("struct<");
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        struct firn_text inner = firn_type_text(arena, &field->type);
        text = firn_text_format(arena, "%.*s%s%d: %.*s: %s %.*s", FIRN_FMT(text), i ? ", " : "", field->id,
                                FIRN_FMT(field->name), field->required ? "required" : "optional", FIRN_FMT(inner));
    }
    return firn_text_join(arena, text, FIRN_TEXT(">"));
}

struct firn_text firn_type_text(struct firn_arena *arena, const struct firn_type *type)
{
    switch (type->id) {
    case FIRN_TYPE_DECIMAL:
        return firn_text_format(arena, "decimal(%d, %d)", type->precision, type->scale);
    case FIRN_TYPE_FIXED:
        return firn_text_format(arena, "fixed[%d]", type->length);
    case FIRN_TYPE_GEOMETRY:
    case FIRN_TYPE_GEOGRAPHY:
        return geo_text(arena, type);
    case FIRN_TYPE_STRUCT:
        return struct_text(arena, type);
    case FIRN_TYPE_LIST: {
        struct firn_text element = firn_type_text(arena, &type->fields[0].type);
        return firn_text_format(arena, "list<%.*s>", FIRN_FMT(element));
    }
    case FIRN_TYPE_MAP: {
        struct firn_text key = firn_type_text(arena, &type->fields[0].type);
        struct firn_text value = firn_type_text(arena, &type->fields[1].type);
        return firn_text_format(arena, "map<%.*s, %.*s>", FIRN_FMT(key), FIRN_FMT(value));
    }
    default:
        return firn_text_of(names[type->id]);
    }
}

static const struct firn_field *find_by_id(const struct firn_type *type, int32_t id)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        if (field->id == id)
            return field;
        const struct firn_field *inner = find_by_id(&field->type, id);
        if (inner)
            return inner;
    }
    return NULL;
}

const struct firn_field *firn_schema_field(const struct firn_schema *schema, int32_t id)
{
    return find_by_id(&schema->root, id);
}

/* Names may hold dots themselves, so every split of `name` is tried. */
static const struct firn_field *find_by_name(const struct firn_type *type, struct firn_text name, bool nocase)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        struct firn_text head = firn_text_until(name, FIRN_MIN(name.len, field->name.len));
        if (nocase ? !firn_text_same_nocase(head, field->name) : !firn_text_same(head, field->name))
            continue;
        if (name.len == head.len)
            return field;
        if (name.data[head.len] != '.')
            continue;
        const struct firn_field *inner = find_by_name(&field->type, firn_text_from(name, head.len + 1), nocase);
        if (inner)
            return inner;
    }
    return NULL;
}

const struct firn_field *firn_schema_field_named(const struct firn_schema *schema, struct firn_text name, bool nocase)
{
    return find_by_name(&schema->root, name, nocase);
}

static struct firn_text name_of(struct firn_arena *arena, const struct firn_type *type, int32_t id)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        if (field->id == id)
            return firn_text_copy(arena, field->name);
        struct firn_text inner = name_of(arena, &field->type, id);
        if (inner.len)
            return firn_text_format(arena, "%.*s.%.*s", FIRN_FMT(field->name), FIRN_FMT(inner));
    }
    return (struct firn_text){ 0 };
}

struct firn_text firn_schema_name(struct firn_arena *arena, const struct firn_schema *schema, int32_t id)
{
    return name_of(arena, &schema->root, id);
}

static int32_t id_max(const struct firn_type *type)
{
    int32_t max = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        int32_t inner = id_max(&type->fields[i].type);
        max = FIRN_MAX(max, FIRN_MAX(type->fields[i].id, inner));
    }
    return max;
}

int32_t firn_schema_id_max(const struct firn_schema *schema)
{
    return id_max(&schema->root);
}

bool firn_type_promotable(const struct firn_type *from, const struct firn_type *to)
{
    if (firn_type_same(from, to))
        return true;
    switch (from->id) {
    case FIRN_TYPE_INT:
        return to->id == FIRN_TYPE_LONG;
    case FIRN_TYPE_FLOAT:
        return to->id == FIRN_TYPE_DOUBLE;
    case FIRN_TYPE_DECIMAL:
        return to->id == FIRN_TYPE_DECIMAL && to->scale == from->scale && to->precision >= from->precision;
    case FIRN_TYPE_DATE:
        return to->id == FIRN_TYPE_TIMESTAMP || to->id == FIRN_TYPE_TIMESTAMP_NS;
    case FIRN_TYPE_UNKNOWN:
        return true;
    default:
        return false;
    }
}
