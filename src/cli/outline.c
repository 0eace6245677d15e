/* A JSON tree as an outline for people: one member a line, nested by indentation, short things on one line. */
#include "cli/cli.h"

enum { INDENT = 2, LINE_MAX_BYTES = 100 };

static void print_value(struct cli *cli, const json_t *json, int depth);

static bool is_flat(const json_t *json)
{
    return !json_is_object(json) && !json_is_array(json);
}

static void print_scalar(struct cli *cli, const json_t *json)
{
    if (json_is_string(json))
        fprintf(cli->out, "%.*s",
                CLI_FMT(cli, ((struct firn_text){ json_string_value(json), json_string_length(json) })));
    else if (json_is_null(json))
        fputc('-', cli->out);
    else
        json_dumpf(json, cli->out, JSON_ENCODE_ANY);
}

/* Whether a container is short enough for one line; `text` is its compact form then. */
static bool fits_line(const json_t *json, char *text, size_t size)
{
    size_t len = json_dumpb(json, text, size - 1, JSON_ENCODE_ANY);
    if (len == 0 || len >= size)
        return false;
    text[len] = 0;
    return true;
}

static void print_member(struct cli *cli, const char *name, const json_t *json, int depth)
{
    char line[LINE_MAX_BYTES];
    fprintf(cli->out, "%*s%.*s:", depth * INDENT, "", CLI_FMT(cli, firn_text_of(name)));
    if (is_flat(json)) {
        fputc(' ', cli->out);
        print_scalar(cli, json);
        fputc('\n', cli->out);
    } else if (fits_line(json, line, sizeof line)) {
        fprintf(cli->out, " %.*s\n", CLI_FMT(cli, firn_text_of(line)));
    } else {
        fputc('\n', cli->out);
        print_value(cli, json, depth + 1);
    }
}

static void print_item(struct cli *cli, size_t index, const json_t *json, int depth)
{
    char line[LINE_MAX_BYTES], name[32];
    if (is_flat(json)) {
        fprintf(cli->out, "%*s", depth * INDENT, "");
        print_scalar(cli, json);
        fputc('\n', cli->out);
    } else if (fits_line(json, line, sizeof line)) {
        fprintf(cli->out, "%*s%.*s\n", depth * INDENT, "", CLI_FMT(cli, firn_text_of(line)));
    } else {
        snprintf(name, sizeof name, "%zu", index);
        print_member(cli, name, json, depth);
    }
}

static void print_value(struct cli *cli, const json_t *json, int depth)
{
    const char *key;
    const json_t *value;
    size_t index;
    void *member;
    if (json_is_array(json)) {
        json_array_foreach(json, index, value) print_item(cli, index, value, depth);
        return;
    }
    json_t *object = json_incref((json_t *)(uintptr_t)json);
    json_object_foreach_safe(object, member, key, value) print_member(cli, key, value, depth);
    json_decref(object);
}

void cli_print_outline(struct cli *cli, const json_t *json)
{
    print_value(cli, json, 0);
}
