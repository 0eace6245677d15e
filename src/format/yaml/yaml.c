/* YAML by events. YAML 1.1, as libyaml reads it. */
#include "format/yaml/yaml.h"

#include <yaml.h>

enum { DEPTH_MAX = 16 };

struct reader {
    yaml_parser_t parser;
    firn_yaml_visit *visit;
    void *context;
    struct firn_text file_name;
    struct firn_text path[DEPTH_MAX];
    size_t depth;
};

static firn_status broken(struct firn_op *op, const struct reader *in, size_t line, const char *problem)
{
    return firn_fail(op, FIRN_CORRUPT, "%.*s, line %zu: %s", FIRN_FMT(in->file_name), line, problem);
}

firn_status firn_yaml_fail(struct firn_op *op, firn_status status, const struct firn_yaml_value *value,
                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text problem = firn_text_vformat(op->arena, format, args);
    va_end(args);
    return firn_fail(op, status, "%.*s, line %zu: %.*s", FIRN_FMT(value->file_name), value->line, FIRN_FMT(problem));
}

/* An event that nothing need be freed of. */
struct event {
    yaml_event_type_t type;
    struct firn_text text; /* of a scalar */
    size_t line;           /* from 1 */
};

static firn_status next_event(struct firn_op *op, struct reader *in, struct event *out)
{
    yaml_event_t event;
    FIRN_TRY(firn_op_check(op));
    if (!yaml_parser_parse(&in->parser, &event)) {
        const char *problem = in->parser.problem ? in->parser.problem : "not YAML";
        return broken(op, in, in->parser.problem_mark.line + 1, problem);
    }
    *out = (struct event){ .type = event.type, .line = event.start_mark.line + 1 };
    if (event.type == YAML_SCALAR_EVENT)
        out->text = firn_text_copy(
            op->arena, (struct firn_text){ (const char *)event.data.scalar.value, event.data.scalar.length });
    yaml_event_delete(&event);
    return FIRN_OK;
}

static firn_status tell(struct firn_op *op, const struct reader *in, enum firn_yaml_kind kind,
                        const struct event *event)
{
    const struct firn_yaml_value value = {
        .kind = kind,
        .path = in->path,
        .depth = in->depth,
        .text = event->text,
        .line = event->line,
        .file_name = in->file_name,
    };
    return in->visit(op, in->context, &value);
}

/* Behind the start of a list; reads up to its end. */
static firn_status skip_list(struct firn_op *op, struct reader *in)
{
    for (size_t open = 1; open > 0;) {
        struct event event;
        FIRN_TRY(next_event(op, in, &event));
        if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
            open++;
        if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
            open--;
    }
    return FIRN_OK;
}

static firn_status read_mapping(struct firn_op *op, struct reader *in);

static firn_status read_value(struct firn_op *op, struct reader *in, size_t key_line)
{
    struct event event;
    FIRN_TRY(next_event(op, in, &event));
    size_t line = event.line;
    event.line = key_line;
    switch (event.type) {
    case YAML_SCALAR_EVENT:
        return tell(op, in, FIRN_YAML_SCALAR, &event);
    case YAML_SEQUENCE_START_EVENT:
        FIRN_TRY(tell(op, in, FIRN_YAML_LIST, &event));
        return skip_list(op, in);
    case YAML_MAPPING_START_EVENT:
        FIRN_TRY(tell(op, in, FIRN_YAML_MAPPING, &event));
        return read_mapping(op, in);
    default:
        return broken(op, in, line, "aliases are not used in this file");
    }
}

/* Behind the start of a mapping; reads up to its end. The depth of the recursion is that of the path. */
static firn_status read_mapping(struct firn_op *op, struct reader *in)
{
    for (;;) {
        struct event event;
        FIRN_TRY(next_event(op, in, &event));
        if (event.type == YAML_MAPPING_END_EVENT)
            return FIRN_OK;
        if (event.type != YAML_SCALAR_EVENT || event.text.len == 0)
            return broken(op, in, event.line, "a key is wanted here");
        if (in->depth == DEPTH_MAX)
            return broken(op, in, event.line, "values lie too deep");
        in->path[in->depth++] = event.text;
        FIRN_TRY(read_value(op, in, event.line));
        in->depth--;
    }
}

static firn_status read_documents(struct firn_op *op, struct reader *in)
{
    for (;;) {
        struct event event;
        FIRN_TRY(next_event(op, in, &event));
        switch (event.type) {
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
            if (event.type != YAML_SCALAR_EVENT || event.text.len > 0)
                return broken(op, in, event.line, "the file is not a mapping");
        }
    }
}

firn_status firn_yaml_read(struct firn_op *op, struct firn_text yaml, struct firn_text file_name,
                           firn_yaml_visit *visit, void *context)
{
    struct reader in = { .visit = visit, .context = context, .file_name = file_name };
    if (!yaml_parser_initialize(&in.parser))
        return firn_fail(op, FIRN_LIMIT, "no memory to read %.*s", FIRN_FMT(file_name));
    yaml_parser_set_input_string(&in.parser, (const unsigned char *)yaml.data, yaml.len);
    firn_status status = read_documents(op, &in);
    yaml_parser_delete(&in.parser);
    return status;
}
