/* The commands and the options that all of them take. */
#include "cli/cli.h"

#define GLOBAL(member) offsetof(struct cli_globals, member)

const struct cli_option cli_global_options[] = {
    { "catalog", CLI_TEXT, GLOBAL(catalog), "NAME", NULL, NULL, 0, 0, false, "Catalog to use, by its configured name" },
    { "config", CLI_TEXT, GLOBAL(config), "FILE", NULL, NULL, 0, 0, false,
      "Read catalogs from this file instead of .pyiceberg.yaml" },
    { "uri", CLI_TEXT, GLOBAL(uri), "URI", NULL, NULL, 0, 0, false,
      "URI of the catalog, over what is configured: sqlite:///catalog.db" },
    { "warehouse", CLI_TEXT, GLOBAL(warehouse), "LOCATION", NULL, NULL, 0, 0, false,
      "Warehouse of the catalog, over what is configured" },
    { "output", CLI_CHOICE, GLOBAL(output), "FORM", "table", "table|json", 0, 0, false, "How results are printed" },
    { "memory", CLI_BYTES, GLOBAL(memory), "SIZE", "1GiB", NULL, 64 << 20, INT64_MAX, false,
      "Most memory to use for data, at least 64MiB" },
    { "temp-dir", CLI_TEXT, GLOBAL(temp_folder), "FOLDER", NULL, NULL, 0, 0, false,
      "Where data beyond memory goes; by default $TMPDIR, else /var/tmp" },
    { "threads", CLI_NUMBER, GLOBAL(threads), "N", "0", NULL, 0, 256, false, "Threads; 0: one per processor" },
    { "relocate", CLI_PAIRS, GLOBAL(relocate), "FROM=TO", NULL, NULL, 0, 0, false,
      "Where recorded locations that begin with FROM really lie (repeatable)" },
    { "log-level", CLI_CHOICE, GLOBAL(log_level), "LEVEL", "warn", "error|warn|info|debug", 0, 0, false,
      "What is logged on standard error" },
    { "quiet", CLI_FLAG, GLOBAL(quiet), NULL, NULL, NULL, 0, 0, false, "No progress" },
    { "help", CLI_FLAG, GLOBAL(help), NULL, NULL, NULL, 0, 0, false, "Explain a command (also -h)" },
    { "version", CLI_FLAG, GLOBAL(version), NULL, NULL, NULL, 0, 0, false, "Print the version (also -V)" },
    { 0 },
};

const struct cli_command *const cli_commands[] = {
    &cmd_rewrite_data_files,
    &cmd_rewrite_position_delete_files,
    &cmd_convert_equality_deletes,
    &cmd_rewrite_manifests,
    &cmd_expire_snapshots,
    &cmd_remove_orphan_files,
    &cmd_undelete,
    &cmd_create_branch,
    &cmd_create_tag,
    &cmd_drop_branch,
    &cmd_drop_tag,
    &cmd_rollback_to_snapshot,
    &cmd_rollback_to_timestamp,
    &cmd_set_current_snapshot,
    &cmd_fast_forward,
    &cmd_cherrypick_snapshot,
    &cmd_publish_changes,
    &cmd_ancestors_of,
    &cmd_describe,
    &cmd_inspect,
    &cmd_demo,
    &cmd_help,
    NULL,
};
