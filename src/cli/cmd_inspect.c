/* firn inspect: what a Parquet, Avro or Puffin file holds. */
#include "cli/cli.h"
#include "firn/describe.h"

struct inspect_args {
    struct firn_text file;
    bool values, pages;
};

static const struct cli_option options[] = {
    { "file", CLI_POSITIONAL, offsetof(struct inspect_args, file), "FILE", NULL, NULL, 0, 0, true,
      "Parquet, Avro or Puffin file" },
    { "values", CLI_FLAG, offsetof(struct inspect_args, values), NULL, NULL, NULL, 0, 0, false,
      "Decode everything: rows, and nulls, min and max of every column" },
    { "pages", CLI_FLAG, offsetof(struct inspect_args, pages), NULL, NULL, NULL, 0, 0, false, "List every page" },
    { 0 },
};

static firn_status run(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct inspect_args *args = arguments;
    struct firn_session *session;
    json_t *json;
    FIRN_TRY(cli_session(op, cli, &session));
    struct firn_inspect_options what = { .values = args->values, .pages = args->pages };
    FIRN_TRY(firn_file_inspect(op, firn_session_store(session), args->file, what, &json));
    if (cli_wants_json(cli))
        return cli_print_json(op, cli, json);
    cli_print_outline(cli, json);
    return FIRN_OK;
}

const struct cli_command cmd_inspect = {
    .name = "inspect",
    .summary = "Show what a Parquet, Avro or Puffin file holds",
    .description = "Prints the footer, the schema with field ids, row groups, encodings, codecs, statistics and "
                   "indexes of one file; with --values it also decodes every value.",
    .examples =
        "  firn inspect data/00000-0-4c0a.parquet\n  firn inspect metadata/snap-1.avro --values --output json\n",
    .options = options,
    .args_size = sizeof(struct inspect_args),
    .run = run,
};
