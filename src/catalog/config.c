/* The configuration that PyIceberg reads: .pyiceberg.yaml and PYICEBERG_ variables, as catalogs with flat properties.
 *
 * Keys compare without case, as PyIceberg lower-cases them; a catalog keeps the spelling it was first given, since a
 * SQL catalog's rows carry it. Values are text, whatever they look like. Reference: pyiceberg.utils.config. */
#include "firn/catalog.h"

#include "format/yaml/yaml.h"

enum { PROPERTIES_MAX = 10000 };

static struct firn_catalog_config *find_catalog(const struct firn_config *config, struct firn_text name)
{
    for (size_t i = 0; i < config->catalog_count; i++)
        if (firn_text_same_nocase(config->catalogs[i].name, name))
            return &config->catalogs[i];
    return NULL;
}

const struct firn_catalog_config *firn_config_find(const struct firn_config *config, struct firn_text name)
{
    if (name.len > 0)
        return find_catalog(config, name);
    if (config->default_catalog.len > 0)
        return find_catalog(config, config->default_catalog);
    const struct firn_catalog_config *by_name = find_catalog(config, FIRN_TEXT("default"));
    return by_name ? by_name : config->catalog_count == 1 ? config->catalogs : NULL;
}

struct firn_text firn_catalog_property(const struct firn_catalog_config *config, const char *key)
{
    for (size_t i = 0; i < config->property_count; i++)
        if (firn_text_is(config->properties[i].key, key))
            return config->properties[i].value;
    return (struct firn_text){ 0 };
}

static struct firn_catalog_config *need_catalog(struct firn_op *op, struct firn_config *config, struct firn_text name)
{
    struct firn_catalog_config *found = find_catalog(config, name);
    if (found)
        return found;
    size_t count = config->catalog_count;
    struct firn_catalog_config *grown = FIRN_NEW_ARRAY(op->arena, struct firn_catalog_config, count + 1);
    for (size_t i = 0; i < count; i++)
        grown[i] = config->catalogs[i];
    grown[count].name = firn_text_copy(op->arena, name);
    config->catalogs = grown;
    config->catalog_count = count + 1;
    return &grown[count];
}

static firn_status set_property(struct firn_op *op, struct firn_catalog_config *catalog, struct firn_text key,
                                struct firn_text value)
{
    struct firn_text lower = firn_text_lower(op->arena, key);
    size_t count = catalog->property_count;
    for (size_t i = 0; i < count; i++) {
        if (!firn_text_same(catalog->properties[i].key, lower))
            continue;
        catalog->properties[i].value = firn_text_copy(op->arena, value);
        return FIRN_OK;
    }
    if (count >= PROPERTIES_MAX)
        return firn_fail(op, FIRN_LIMIT, "catalog '%.*s' has more than %d properties", FIRN_FMT(catalog->name),
                         PROPERTIES_MAX);
    struct firn_property *grown = FIRN_NEW_ARRAY(op->arena, struct firn_property, count + 1);
    for (size_t i = 0; i < count; i++)
        grown[i] = catalog->properties[i];
    grown[count] = (struct firn_property){ lower, firn_text_copy(op->arena, value) };
    catalog->properties = grown;
    catalog->property_count = count + 1;
    return FIRN_OK;
}

firn_status firn_config_merge(struct firn_op *op, const struct firn_catalog_config *catalog, struct firn_config *config)
{
    struct firn_catalog_config *into = need_catalog(op, config, catalog->name);
    for (size_t i = 0; i < catalog->property_count; i++)
        FIRN_TRY(set_property(op, into, catalog->properties[i].key, catalog->properties[i].value));
    return FIRN_OK;
}

static bool is_in_catalogs(const struct firn_yaml_value *value)
{
    return firn_text_same_nocase(value->path[0], FIRN_TEXT("catalog"));
}

static firn_status take_scalar(struct firn_op *op, struct firn_config *config, const struct firn_yaml_value *value)
{
    if (value->depth == 1 && firn_text_same_nocase(value->path[0], FIRN_TEXT("default-catalog"))) {
        config->default_catalog = value->text;
        return FIRN_OK;
    }
    if (!is_in_catalogs(value))
        return FIRN_OK;
    if (value->depth < 3)
        return value->text.len == 0 ? FIRN_OK
                                    : firn_yaml_fail(op, FIRN_CORRUPT, value, "a mapping of properties is wanted here");
    struct firn_text key = value->path[2];
    for (size_t i = 3; i < value->depth; i++)
        key = firn_text_format(op->arena, "%.*s.%.*s", FIRN_FMT(key), FIRN_FMT(value->path[i]));
    return set_property(op, need_catalog(op, config, value->path[1]), key, value->text);
}

static firn_status take_value(struct firn_op *op, void *context, const struct firn_yaml_value *value)
{
    struct firn_config *config = context;
    switch (value->kind) {
    case FIRN_YAML_SCALAR:
        return take_scalar(op, config, value);
    case FIRN_YAML_MAPPING:
        if (value->depth == 2 && is_in_catalogs(value))
            need_catalog(op, config, value->path[1]);
        return FIRN_OK;
    case FIRN_YAML_LIST: /* elsewhere it is passed over */
        return is_in_catalogs(value) ? firn_yaml_fail(op, FIRN_CORRUPT, value, "a list is not a value of a catalog")
                                     : FIRN_OK;
    }
    return FIRN_OK;
}

firn_status firn_config_parse_yaml(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                                   struct firn_config *config)
{
    return firn_yaml_read(op, yaml, file_name, take_value, config);
}

/* Part of a variable's name as a key: "S3__ACCESS_KEY_ID" is s3.access-key-id. */
static struct firn_text key_of_variable(struct firn_op *op, struct firn_text part)
{
    char *key = firn_arena_alloc(op->arena, part.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < part.len; i++) {
        bool is_double = part.data[i] == '_' && i + 1 < part.len && part.data[i + 1] == '_';
        key[len++] = is_double ? '.' : part.data[i] == '_' ? '-' : part.data[i];
        i += is_double;
    }
    return firn_text_lower(op->arena, (struct firn_text){ key, len });
}

/* Cuts `text` at its first "__"; false when there is none. */
static bool cut_at_double_underscore(struct firn_text text, struct firn_text *head, struct firn_text *rest)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.data[i] != '_' || text.data[i + 1] != '_')
            continue;
        *head = firn_text_until(text, i);
        *rest = firn_text_from(text, i + 2);
        return true;
    }
    return false;
}

firn_status firn_config_apply_variable(struct firn_op *op, struct firn_text name, struct firn_text value,
                                       struct firn_config *config)
{
    static const struct firn_text catalog_prefix = FIRN_TEXT_INIT("pyiceberg_catalog__");
    if (firn_text_same_nocase(name, FIRN_TEXT("PYICEBERG_DEFAULT_CATALOG"))) {
        config->default_catalog = firn_text_copy(op->arena, value);
        return FIRN_OK;
    }
    if (!firn_text_starts(firn_text_lower(op->arena, name), catalog_prefix))
        return FIRN_OK;
    struct firn_text catalog, key;
    if (!cut_at_double_underscore(firn_text_from(name, catalog_prefix.len), &catalog, &key) || catalog.len == 0 ||
        key.len == 0)
        return firn_fail(op, FIRN_USAGE, "variable %.*s: the form is PYICEBERG_CATALOG__NAME__KEY", FIRN_FMT(name));
    struct firn_text catalog_name = key_of_variable(op, catalog);
    return set_property(op, need_catalog(op, config, catalog_name), key_of_variable(op, key), value);
}
