/* firn set-properties and unset-properties: ALTER TABLE ... SET and UNSET TBLPROPERTIES. */
#include "cli/cli.h"
#include "firn/table_properties.h"

struct property_args {
    struct firn_text table;
    struct cli_words words;
    bool dry_run;
};

#define ARG(member) offsetof(struct property_args, member)
#define TABLE                                                                                                          \
    {                                                                                                                  \
        "table", CLI_POSITIONAL, ARG(table), "TABLE", NULL, NULL, 0, 0, true, "Table to work on"                       \
    }
#define DRY_RUN                                                                                                        \
    {                                                                                                                  \
        "dry-run", CLI_FLAG, ARG(dry_run), NULL, NULL, NULL, 0, 0, false,                                              \
            "Check and print what would be, and change nothing"                                                        \
    }

static const struct cli_option set_options[] = {
    TABLE,
    { "property", CLI_WORDS, ARG(words), "KEY=VALUE...", NULL, NULL, 0, 0, true, "Properties and their values" },
    DRY_RUN,
    { 0 },
};
static const struct cli_option unset_options[] = {
    TABLE,
    { "property", CLI_WORDS, ARG(words), "KEY...", NULL, NULL, 0, 0, true,
      "Properties to remove; one that is not there is fine" },
    DRY_RUN,
    { 0 },
};

enum { COLUMN_COUNT = 3 };
static const char *const columns[COLUMN_COUNT] = { "property", "previous", "value" };

static void cells_of(const struct firn_property_change *change, struct firn_text cells[COLUMN_COUNT])
{
    cells[0] = change->key;
    cells[1] = change->previous;
    cells[2] = change->value;
}

static firn_status print_json(struct firn_op *op, struct cli *cli, const struct firn_table_properties_report *report)
{
    json_t *json = json_object(), *rows = json_array();
    json_object_set_new(json, "properties", rows);
    for (size_t i = 0; i < report->change_count; i++) {
        struct firn_text cells[COLUMN_COUNT];
        json_t *row = json_object();
        cells_of(&report->changes[i], cells);
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            json_object_set_new(row, columns[c], cells[c].data ? firn_json_string(cells[c]) : json_null());
        json_array_append_new(rows, row);
    }
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

static firn_status print_report(struct firn_op *op, struct cli *cli, const struct firn_table_properties_report *report)
{
    struct cli_column titles[COLUMN_COUNT];
    struct firn_text *cells = FIRN_NEW_ARRAY(op->arena, struct firn_text, report->change_count * COLUMN_COUNT);
    if (cli_wants_json(cli))
        return print_json(op, cli, report);
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        titles[c] = (struct cli_column){ columns[c], false };
    for (size_t i = 0; i < report->change_count; i++) {
        struct firn_text *row = cells + i * COLUMN_COUNT;
        cells_of(&report->changes[i], row);
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            row[c] = row[c].data ? row[c] : FIRN_TEXT("null");
    }
    cli_print_table(cli, titles, COLUMN_COUNT, cells, report->change_count);
    return FIRN_OK;
}

static firn_status change(struct firn_op *op, struct cli *cli, struct firn_text table_name,
                          const struct firn_table_properties_args *args)
{
    struct firn_table table;
    struct firn_table_properties_report report;
    FIRN_TRY(cli_open_table(op, cli, table_name, &table));
    FIRN_TRY(
        firn_context(op, firn_table_properties_change(op, &table, args, &report), "table %.*s", FIRN_FMT(table.name)));
    if (!args->dry_run)
        cli->done = "what was asked for was done";
    return print_report(op, cli, &report);
}

static firn_status set_properties(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct property_args *args = arguments;
    struct firn_property *properties = FIRN_NEW_ARRAY(op->arena, struct firn_property, args->words.count);
    for (size_t i = 0; i < args->words.count; i++) {
        struct firn_text word = args->words.items[i];
        ptrdiff_t equals = firn_text_find(word, '=');
        if (equals < 0)
            return firn_fail(op, FIRN_USAGE, "'%.*s' is not KEY=VALUE", FIRN_FMT(word));
        properties[i] =
            (struct firn_property){ firn_text_until(word, (size_t)equals), firn_text_from(word, (size_t)equals + 1) };
    }
    struct firn_table_properties_args given = { .set = properties,
                                                .set_count = args->words.count,
                                                .dry_run = args->dry_run };
    return change(op, cli, args->table, &given);
}

static firn_status unset_properties(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct property_args *args = arguments;
    struct firn_table_properties_args given = { .unset = args->words.items,
                                                .unset_count = args->words.count,
                                                .dry_run = args->dry_run };
    return change(op, cli, args->table, &given);
}

const struct cli_command cmd_set_properties = {
    .name = "set-properties",
    .summary = "Set a table's properties (SET TBLPROPERTIES)",
    .description = "Sets properties in one commit and prints what they were. format-version raises the table's format "
                   "version.",
    .examples =
        "  firn set-properties db.txn write.target-file-size-bytes=268435456 history.expire.min-snapshots-to-keep=10\n",
    .options = set_options,
    .args_size = sizeof(struct property_args),
    .run = set_properties,
};
const struct cli_command cmd_unset_properties = {
    .name = "unset-properties",
    .summary = "Remove a table's properties (UNSET TBLPROPERTIES)",
    .description = "Removes properties in one commit and prints what they were.",
    .examples = "  firn unset-properties db.txn write.target-file-size-bytes\n",
    .options = unset_options,
    .args_size = sizeof(struct property_args),
    .run = unset_properties,
};
