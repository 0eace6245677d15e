/* Catalog operations for interop tests: catalog_tool NAME KEY=VALUE... -- COMMAND ARGUMENT...
 *
 * Commands: create TABLE SCHEMA_JSON [KEY=VALUE]...; load TABLE; list; tag TABLE NAME; append TABLE PATH RECORDS;
 * replace TABLE OLD_PATH NEW_PATH RECORDS; rewrite TABLE [OPTION=VALUE]... Prints the table's metadata location, or the
 * names of a list. `rewrite` prints "planned" and goes on when it reads a line, so that others can commit in between;
 * then it prints the delete files and rows it carried over, and the groups it planned anew. */
#include "catalog/snapshot_producer.h"
#include "firn/rewrite_data_files.h"

#include <stdio.h>
#include <string.h>

enum { PROPERTIES_MAX = 16 };

struct tool {
    struct firn_store *store;
    struct firn_catalog *catalog;
    struct firn_table table;
    char **arguments; /* of the command, NULL at the end */
    int argument_count;
};

static struct firn_text argument(const struct tool *tool, int index)
{
    return index < tool->argument_count ? firn_text_of(tool->arguments[index]) : FIRN_TEXT("");
}

static bool cut_pair(const char *text, struct firn_property *out)
{
    const char *equals = strchr(text, '=');
    if (equals)
        *out = (struct firn_property){ { text, (size_t)(equals - text) }, firn_text_of(equals + 1) };
    return equals;
}

static firn_status create(struct firn_op *op, struct tool *tool)
{
    json_t *schema, *properties = firn_json_own(op->arena, json_object());
    struct firn_property pair;
    for (int i = 2; i < tool->argument_count; i++)
        if (cut_pair(tool->arguments[i], &pair))
            firn_json_set_text(properties, firn_text_copy(op->arena, pair.key).data, pair.value);
    FIRN_TRY(firn_json_parse(op, argument(tool, 1), "schema", &schema));
    return firn_catalog_create_table(op, tool->catalog, argument(tool, 0), schema, NULL, NULL, properties,
                                     &tool->table);
}

static firn_status load(struct firn_op *op, struct tool *tool)
{
    return firn_catalog_load(op, tool->catalog, argument(tool, 0), &tool->table);
}

static firn_status tag(struct firn_op *op, struct tool *tool)
{
    FIRN_TRY(load(op, tool));
    json_t *requirements = firn_json_own(op->arena, json_array());
    json_t *updates = firn_json_own(
        op->arena, json_pack("[{s:s, s:s, s:s, s:I}]", "action", "set-snapshot-ref", "ref-name", argument(tool, 1).data,
                             "type", "tag", "snapshot-id", (json_int_t)tool->table.metadata->current_snapshot_id));
    return firn_catalog_commit(op, &tool->table, requirements, updates);
}

static firn_status describe_file(struct firn_op *op, const struct tool *tool, struct firn_text path,
                                 struct firn_text record_count, struct firn_data_file *out)
{
    struct firn_store_stat info = { 0 };
    *out = (struct firn_data_file){
        .path = path,
        .format = FIRN_FILE_PARQUET,
        .format_text = FIRN_TEXT("PARQUET"),
        .sort_order_id = FIRN_ABSENT,
        .first_row_id = FIRN_ABSENT,
        .content_offset = FIRN_ABSENT,
        .content_bytes = FIRN_ABSENT,
    };
    if (record_count.len > 0 && !firn_text_to_i64(record_count, &out->record_count))
        return firn_fail(op, FIRN_USAGE, "'%.*s' is no number", FIRN_FMT(record_count));
    FIRN_TRY(firn_store_stat(op, tool->store, path, &info));
    out->file_bytes = (int64_t)info.size;
    return FIRN_OK;
}

static firn_status append(struct firn_op *op, struct tool *tool)
{
    struct firn_data_file file;
    struct firn_snapshot_result result;
    FIRN_TRY(load(op, tool));
    FIRN_TRY(describe_file(op, tool, argument(tool, 1), argument(tool, 2), &file));
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = FIRN_TEXT("main"),
        .added = &file,
        .added_count = 1,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
    };
    return firn_snapshot_commit(op, NULL, &tool->table, &change, &result);
}

static firn_status replace(struct firn_op *op, struct tool *tool)
{
    struct firn_data_file removed, added;
    struct firn_snapshot_result result;
    FIRN_TRY(load(op, tool));
    FIRN_TRY(describe_file(op, tool, argument(tool, 1), FIRN_TEXT(""), &removed));
    FIRN_TRY(describe_file(op, tool, argument(tool, 2), argument(tool, 3), &added));
    const struct firn_snapshot *current = firn_metadata_current(tool->table.metadata);
    if (!current)
        return firn_fail(op, FIRN_USAGE, "the table is empty");
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("replace"),
        .branch = FIRN_TEXT("main"),
        .added = &added,
        .added_count = 1,
        .added_sequence_number = current->sequence_number,
        .removed = &removed,
        .removed_count = 1,
        .base_snapshot_id = current->id,
    };
    return firn_snapshot_commit(op, NULL, &tool->table, &change, &result);
}

static firn_status rewrite(struct firn_op *op, struct tool *tool)
{
    struct firn_property options[PROPERTIES_MAX];
    struct firn_rewrite_data_files_args args = { .options = options };
    struct firn_rewrite_data_files_report report;
    struct firn_rewrite_plan *plan;
    for (int i = 1; i < tool->argument_count && args.option_count < PROPERTIES_MAX; i++)
        if (cut_pair(tool->arguments[i], &options[args.option_count]))
            args.option_count++;
    FIRN_TRY(load(op, tool));
    FIRN_TRY(firn_rewrite_data_files_plan(op, NULL, &tool->table, &args, &plan));
    puts("planned");
    fflush(stdout);
    while (getchar() != '\n' && !feof(stdin)) {
    }
    FIRN_TRY(firn_rewrite_data_files_apply(op, NULL, &tool->table, plan, NULL, &report));
    printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", report.carried_delete_files_count, report.carried_rows_count,
           report.replanned_groups_count);
    return FIRN_OK;
}

static firn_status print_name(struct firn_op *op, void *context, struct firn_text identifier)
{
    (void)op;
    (void)context;
    printf("%.*s\n", FIRN_FMT(identifier));
    return FIRN_OK;
}

static firn_status list(struct firn_op *op, struct tool *tool)
{
    return firn_catalog_list(op, tool->catalog, print_name, NULL);
}

static const struct {
    const char *name;
    firn_status (*run)(struct firn_op *op, struct tool *tool);
} commands[] = {
    { "create", create }, { "load", load },       { "list", list },       { "tag", tag },
    { "append", append }, { "replace", replace }, { "rewrite", rewrite },
};

static firn_status run_command(struct firn_op *op, struct tool *tool, const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        FIRN_TRY(commands[i].run(op, tool));
        if (tool->table.metadata_location.len > 0)
            printf("%.*s\n", FIRN_FMT(tool->table.metadata_location));
        return FIRN_OK;
    }
    return firn_fail(op, FIRN_USAGE, "unknown command '%s'", name);
}

static firn_status run(struct firn_op *op, int count, char **arguments)
{
    struct firn_property properties[PROPERTIES_MAX];
    struct firn_catalog_config config = { .properties = properties };
    struct tool tool = { 0 };
    int at = 2;
    for (; at < count && strcmp(arguments[at], "--") != 0; at++)
        if (config.property_count < PROPERTIES_MAX && cut_pair(arguments[at], &properties[config.property_count]))
            config.property_count++;
    if (at + 1 >= count)
        return firn_fail(op, FIRN_USAGE, "catalog_tool NAME KEY=VALUE... -- COMMAND ARGUMENT...");
    config.name = firn_text_of(arguments[1]);
    tool.arguments = arguments + at + 2;
    tool.argument_count = count - at - 2;
    FIRN_TRY(firn_store_open(op, &(struct firn_store_config){ 0 }, &tool.store));
    firn_status status = firn_catalog_open(op, tool.store, &config, &tool.catalog);
    if (status == FIRN_OK)
        status = run_command(op, &tool, arguments[at + 1]);
    firn_catalog_close(tool.catalog);
    firn_store_close(tool.store);
    return status;
}

int main(int count, char **arguments)
{
    struct firn_arena arena;
    struct firn_op op;
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    firn_status status = run(&op, count, arguments);
    if (status != FIRN_OK)
        fprintf(stderr, "%s: %s\n", firn_status_name(status), op.error.text);
    firn_arena_done(&arena);
    return firn_status_exit_code(status);
}
