/* The configuration that PyIceberg reads: .pyiceberg.yaml and PYICEBERG_ variables, as catalogs with flat properties.
 *
 * Keys compare without case, as PyIceberg lower-cases them; a catalog keeps the spelling it was first given, since a
 * SQL catalog's rows carry it. Values are text, whatever they look like. Reference: pyiceberg.utils.config. */
#include "firn/catalog.h"

#include <yaml.h>

enum { YAML_DEPTH_MAX = 16, PROPERTIES_MAX = 10000 };

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

/* A YAML text being read event by event: no document tree, so no alias can blow it up. */
struct reader {
    yaml_parser_t parser;
    struct firn_text file_name;
    struct firn_config *config;
    struct firn_text path[YAML_DEPTH_MAX]; /* the keys that lead to the value being read */
    size_t depth;
};

static firn_status broken(struct firn_op *op, const struct reader *in, size_t line, const char *problem)
{
    return firn_fail(op, FIRN_CORRUPT, "%.*s, line %zu: %s", FIRN_FMT(in->file_name), line + 1, problem);
}

static firn_status next_event(struct firn_op *op, struct reader *in, yaml_event_t *event)
{
    FIRN_TRY(firn_op_check(op));
    if (yaml_parser_parse(&in->parser, event))
        return FIRN_OK;
    const char *problem = in->parser.problem ? in->parser.problem : "not YAML";
    return broken(op, in, in->parser.problem_mark.line, problem);
}

static struct firn_text scalar_text(struct firn_op *op, const yaml_event_t *event)
{
    struct firn_text text = { (const char *)event->data.scalar.value, event->data.scalar.length };
    return firn_text_copy(op->arena, text);
}

static bool in_catalogs(const struct reader *in)
{
    return in->depth > 0 && firn_text_same_nocase(in->path[0], FIRN_TEXT("catalog"));
}

static firn_status take_scalar(struct firn_op *op, struct reader *in, const yaml_event_t *event)
{
    struct firn_text value = scalar_text(op, event);
    if (in->depth == 1 && firn_text_same_nocase(in->path[0], FIRN_TEXT("default-catalog"))) {
        in->config->default_catalog = value;
        return FIRN_OK;
    }
    if (!in_catalogs(in))
        return FIRN_OK;
    if (in->depth < 3)
        return value.len == 0 ? FIRN_OK
                              : broken(op, in, event->start_mark.line, "a mapping of properties is wanted here");
    struct firn_text key = in->path[2];
    for (size_t i = 3; i < in->depth; i++)
        key = firn_text_format(op->arena, "%.*s.%.*s", FIRN_FMT(key), FIRN_FMT(in->path[i]));
    return set_property(op, need_catalog(op, in->config, in->path[1]), key, value);
}

/* A list means nothing to a catalog; elsewhere it is passed over. */
static firn_status skip_list(struct firn_op *op, struct reader *in, size_t line)
{
    if (in_catalogs(in))
        return broken(op, in, line, "a list is not a value of a catalog");
    for (size_t open = 1; open > 0;) {
        yaml_event_t event;
        FIRN_TRY(next_event(op, in, &event));
        if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            open++;
        if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
            open--;
        yaml_event_delete(&event);
    }
    return FIRN_OK;
}

static firn_status read_mapping(struct firn_op *op, struct reader *in);

static firn_status read_value(struct firn_op *op, struct reader *in)
{
    yaml_event_t event;
    FIRN_TRY(next_event(op, in, &event));
    size_t line = event.start_mark.line;
    firn_status status = FIRN_OK;
    if (event.type == YAML_SCALAR_EVENT)
        status = take_scalar(op, in, &event);
    yaml_event_type_t type = event.type;
    yaml_event_delete(&event);
    switch (type) {
    case YAML_SCALAR_EVENT:
        return status;
    case YAML_SEQUENCE_START_EVENT:
        return skip_list(op, in, line);
    case YAML_MAPPING_START_EVENT:
        if (in->depth == 2 && in_catalogs(in))
            need_catalog(op, in->config, in->path[1]);
        return read_mapping(op, in);
    default:
        return broken(op, in, line, "aliases are not used in this file");
    }
}

/* Behind the start of a mapping; reads up to its end. */
static firn_status read_mapping(struct firn_op *op, struct reader *in)
{
    for (;;) {
        yaml_event_t event;
        FIRN_TRY(next_event(op, in, &event));
        size_t line = event.start_mark.line;
        yaml_event_type_t type = event.type;
        struct firn_text key = type == YAML_SCALAR_EVENT ? scalar_text(op, &event) : FIRN_TEXT("");
        yaml_event_delete(&event);
        if (type == YAML_MAPPING_END_EVENT)
            return FIRN_OK;
        if (type != YAML_SCALAR_EVENT || key.len == 0)
            return broken(op, in, line, "a key is wanted here");
        if (in->depth == YAML_DEPTH_MAX)
            return broken(op, in, line, "values lie too deep");
        in->path[in->depth++] = key;
        FIRN_TRY(read_value(op, in));
        in->depth--;
    }
}

static firn_status read_documents(struct firn_op *op, struct reader *in)
{
    for (;;) {
        yaml_event_t event;
        FIRN_TRY(next_event(op, in, &event));
        size_t line = event.start_mark.line;
        yaml_event_type_t type = event.type;
        bool is_empty = type == YAML_SCALAR_EVENT && event.data.scalar.length == 0;
        yaml_event_delete(&event);
        switch (type) {
        case YAML_STREAM_END_EVENT:
            return FIRN_OK;
        case YAML_MAPPING_START_EVENT:
            FIRN_TRY(read_mapping(op, in));
            break;
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
            break;
        default:
            if (!is_empty)
                return broken(op, in, line, "the file is not a mapping");
        }
    }
}

firn_status firn_config_parse_yaml(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                                   struct firn_config *config)
{
    struct reader in = { .file_name = file_name, .config = config };
    if (!yaml_parser_initialize(&in.parser))
        return firn_fail(op, FIRN_LIMIT, "no memory to read %.*s", FIRN_FMT(file_name));
    yaml_parser_set_input_string(&in.parser, (const unsigned char *)yaml.data, yaml.len);
    firn_status status = read_documents(op, &in);
    yaml_parser_delete(&in.parser);
    return status;
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
