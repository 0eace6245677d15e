/* Branches, tags and where main points: create-branch, create-tag, drop-branch, drop-tag, rollback-to-snapshot,
 * rollback-to-timestamp, set-current-snapshot, fast-forward, cherrypick-snapshot, publish-changes, ancestors-of.
 * All judgement is in src/maintain. */
#include "cli/cli.h"
#include "firn/refs.h"

/* The arguments of all of them; each takes some. */
struct ref_args {
    struct firn_text table, name, branch, to, ref, wap_id, timestamp;
    struct firn_text snapshot_id, as_of_version;
    struct firn_text retain, snapshot_retention;
    bool or_replace, if_not_exists, replace, if_exists;
    bool dry_run;
};

#define WORD(...) TYPED_WORD(__VA_ARGS__, CLI_SQL_BY_KIND)
#define TYPED_WORD(name_, member, place, needed, text, sql_)                                                           \
    {                                                                                                                  \
        name_, CLI_POSITIONAL, offsetof(struct ref_args, member), place, NULL, NULL, 0, 0, needed, text, sql_          \
    }
#define TEXT(name_, member, place, text)                                                                               \
    {                                                                                                                  \
        name_, CLI_TEXT, offsetof(struct ref_args, member), place, NULL, NULL, 0, 0, false, text                       \
    }
#define FLAG(name_, member, text)                                                                                      \
    {                                                                                                                  \
        name_, CLI_FLAG, offsetof(struct ref_args, member), NULL, NULL, NULL, 0, 0, false, text                        \
    }
#define TABLE   WORD("table", table, "TABLE", true, "Table to work on")
#define DRY_RUN FLAG("dry-run", dry_run, "Check and print what would be, and change nothing")

#define CREATE_OPTIONS                                                                                                 \
    TEXT("as-of-version", as_of_version, "ID", "Snapshot to point to (main's)"),                                       \
        FLAG("or-replace", or_replace, "Replace one of that name"),                                                    \
        FLAG("if-not-exists", if_not_exists, "Leave one of that name as it is"),                                       \
        FLAG("replace", replace, "Replace one of that name, which must be there; its retention stays unless given"),   \
        TEXT("retain", retain, "AGE", "How long it is kept, by the age of its snapshot: 7d, 36h, 90m (for ever)")

static const struct cli_option create_branch_options[] = {
    TABLE,
    WORD("name", name, "NAME", true, "Name of the branch"),
    CREATE_OPTIONS,
    TEXT("snapshot-retention", snapshot_retention, "WHAT",
         "What expiry leaves on the branch: '5 snapshots', '7d', or '5 snapshots 7d' (as the table says)"),
    DRY_RUN,
    { 0 },
};
static const struct cli_option create_tag_options[] = {
    TABLE, WORD("name", name, "NAME", true, "Name of the tag"), CREATE_OPTIONS, DRY_RUN, { 0 },
};
static const struct cli_option drop_options[] = {
    TABLE,
    WORD("name", name, "NAME", true, "Name of the branch or tag"),
    FLAG("if-exists", if_exists, "It is no error when there is none"),
    DRY_RUN,
    { 0 },
};
static const struct cli_option snapshot_options[] = {
    TABLE,
    TYPED_WORD("snapshot-id", snapshot_id, "SNAPSHOT_ID", true, "The snapshot", CLI_SQL_LONG),
    DRY_RUN,
    { 0 },
};
static const struct cli_option timestamp_options[] = {
    TABLE,
    TYPED_WORD(
        "timestamp", timestamp, "TIMESTAMP", true,
        "Go to the newest ancestor older than this: '2026-11-01 10:30:00' (UTC), 2026-11-01, or an age such as 36h",
        CLI_SQL_TIMESTAMP),
    DRY_RUN,
    { 0 },
};
static const struct cli_option set_current_options[] = {
    TABLE,
    { "snapshot-id", CLI_TEXT, offsetof(struct ref_args, snapshot_id), "ID", NULL, NULL, 0, 0, false,
      "Snapshot to make current", CLI_SQL_LONG },
    TEXT("ref", ref, "NAME", "Branch or tag whose snapshot to make current"),
    DRY_RUN,
    { 0 },
};
static const struct cli_option fast_forward_options[] = {
    TABLE,
    WORD("branch", branch, "BRANCH", true, "Branch that moves; made when there is none"),
    WORD("to", to, "TO", true, "Branch or tag to move to"),
    DRY_RUN,
    { 0 },
};
static const struct cli_option publish_options[] = {
    TABLE,
    WORD("wap-id", wap_id, "WAP_ID", true, "The staged snapshot's wap.id"),
    DRY_RUN,
    { 0 },
};
static const struct cli_option ancestors_options[] = {
    TABLE,
    TYPED_WORD("snapshot-id", snapshot_id, "SNAPSHOT_ID", false, "Where to begin (the current snapshot)", CLI_SQL_LONG),
    { 0 },
};

/* Output ----------------------------------------------------------------------------------------------------------- */

/* A value of an output row; neither text nor number is null. */
struct cell {
    const char *column;
    bool is_number;
    int64_t number;
    struct firn_text text;
};

static struct cell number_cell(const char *column, bool there, int64_t number)
{
    return (struct cell){ .column = column, .is_number = there, .number = number };
}

static json_t *cell_json(const struct cell *cell)
{
    if (cell->is_number)
        return json_integer(cell->number);
    return cell->text.data ? firn_json_string(cell->text) : json_null();
}

static struct firn_text cell_text(struct firn_arena *arena, const struct cell *cell)
{
    if (cell->is_number)
        return firn_text_format(arena, "%" PRId64, cell->number);
    return cell->text.data ? cell->text : FIRN_TEXT("null");
}

enum { COLUMNS_MAX = 4 };

static void print_rows(struct firn_op *op, struct cli *cli, const struct cell *cells, size_t columns, size_t rows)
{
    struct cli_column titles[COLUMNS_MAX];
    struct firn_text *texts = FIRN_NEW_ARRAY(op->arena, struct firn_text, columns * rows);
    for (size_t c = 0; c < columns; c++)
        titles[c] = (struct cli_column){ cells[c].column, cells[c].is_number || !cells[c].text.data };
    for (size_t i = 0; i < columns * rows; i++)
        texts[i] = cell_text(op->arena, &cells[i]);
    cli_print_table(cli, titles, columns, texts, rows);
}

static json_t *row_json(const struct cell *cells, size_t columns)
{
    json_t *row = json_object();
    for (size_t c = 0; c < columns; c++)
        json_object_set_new(row, cells[c].column, cell_json(&cells[c]));
    return row;
}

static firn_status print_json(struct firn_op *op, struct cli *cli, json_t *json)
{
    firn_status status = cli_print_json(op, cli, json);
    json_decref(json);
    return status;
}

/* Of a command that changes the table. */
static firn_status print_row(struct firn_op *op, struct cli *cli, const struct cell *cells, size_t columns)
{
    const struct ref_args *args = cli->args;
    if (!args->dry_run)
        cli->done = "what was asked for was done";
    if (cli_wants_json(cli))
        return print_json(op, cli, row_json(cells, columns));
    print_rows(op, cli, cells, columns, 1);
    return FIRN_OK;
}

/* The commands ----------------------------------------------------------------------------------------------------- */

/* What a command works on, opened. */
struct target {
    struct firn_table table;
    struct firn_refs refs;
    int64_t id;
    const int64_t *snapshot_id; /* NULL: none was given */
};

static firn_status parse_id(struct firn_op *op, struct firn_text text, struct target *target)
{
    target->snapshot_id = text.len > 0 ? &target->id : NULL;
    if (text.len == 0 || firn_text_to_i64(text, &target->id))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "'%.*s' is no snapshot id", FIRN_FMT(text));
}

static firn_status open_target(struct firn_op *op, struct cli *cli, const struct ref_args *args, struct target *target)
{
    FIRN_TRY(parse_id(op, args->snapshot_id.len > 0 ? args->snapshot_id : args->as_of_version, target));
    FIRN_TRY(cli_open_table(op, cli, args->table, &target->table));
    target->refs = (struct firn_refs){ &target->table, firn_session_pool(cli->session), args->dry_run };
    return FIRN_OK;
}

static firn_status about(struct firn_op *op, firn_status status, const struct target *target)
{
    return firn_context(op, status, "table %.*s", FIRN_FMT(target->table.name));
}

static firn_status print_ref(struct firn_op *op, struct cli *cli, struct firn_text name, enum firn_ref_kind kind,
                             const struct firn_ref_report *report)
{
    static const struct firn_text outcomes[] = {
        [FIRN_REF_CREATED] = FIRN_TEXT_INIT("created"),
        [FIRN_REF_REPLACED] = FIRN_TEXT_INIT("replaced"),
        [FIRN_REF_DROPPED] = FIRN_TEXT_INIT("dropped"),
        [FIRN_REF_UNCHANGED] = FIRN_TEXT_INIT("unchanged"),
    };
    const struct cell cells[] = {
        { .column = "ref", .text = name },
        { .column = "type", .text = kind == FIRN_KIND_TAG ? FIRN_TEXT("tag") : FIRN_TEXT("branch") },
        number_cell("snapshot_id", report->has_snapshot_id, report->snapshot_id),
        { .column = "outcome", .text = outcomes[report->outcome] },
    };
    return print_row(op, cli, cells, sizeof cells / sizeof *cells);
}

static firn_status create(struct firn_op *op, struct cli *cli, const struct ref_args *args, enum firn_ref_kind kind)
{
    struct target target;
    struct firn_ref_report report;
    FIRN_TRY(open_target(op, cli, args, &target));
    struct firn_ref_create_args creation = {
        .kind = kind,
        .name = args->name,
        .or_replace = args->or_replace,
        .if_not_exists = args->if_not_exists,
        .replace = args->replace,
        .snapshot_id = target.snapshot_id,
        .retain = args->retain,
        .snapshot_retention = args->snapshot_retention,
    };
    FIRN_TRY(about(op, firn_ref_create(op, &target.refs, &creation, &report), &target));
    return print_ref(op, cli, args->name, kind, &report);
}

static firn_status create_branch(struct firn_op *op, struct cli *cli, const void *args)
{
    return create(op, cli, args, FIRN_KIND_BRANCH);
}

static firn_status create_tag(struct firn_op *op, struct cli *cli, const void *args)
{
    return create(op, cli, args, FIRN_KIND_TAG);
}

static firn_status drop(struct firn_op *op, struct cli *cli, const struct ref_args *args, enum firn_ref_kind kind)
{
    struct target target;
    struct firn_ref_report report;
    struct firn_ref_drop_args dropped = { .kind = kind, .name = args->name, .if_exists = args->if_exists };
    FIRN_TRY(open_target(op, cli, args, &target));
    FIRN_TRY(about(op, firn_ref_drop(op, &target.refs, &dropped, &report), &target));
    return print_ref(op, cli, args->name, kind, &report);
}

static firn_status drop_branch(struct firn_op *op, struct cli *cli, const void *args)
{
    return drop(op, cli, args, FIRN_KIND_BRANCH);
}

static firn_status drop_tag(struct firn_op *op, struct cli *cli, const void *args)
{
    return drop(op, cli, args, FIRN_KIND_TAG);
}

static firn_status print_move(struct firn_op *op, struct cli *cli, const struct firn_ref_move *move)
{
    const struct cell cells[] = {
        number_cell("previous_snapshot_id", move->has_previous, move->previous_snapshot_id),
        number_cell("current_snapshot_id", true, move->current_snapshot_id),
    };
    return print_row(op, cli, cells, sizeof cells / sizeof *cells);
}

static firn_status rollback_to_snapshot(struct firn_op *op, struct cli *cli, const void *arguments)
{
    struct target target;
    struct firn_ref_move move;
    FIRN_TRY(open_target(op, cli, arguments, &target));
    FIRN_TRY(about(op, firn_rollback_to_snapshot(op, &target.refs, target.id, &move), &target));
    return print_move(op, cli, &move);
}

static firn_status rollback_to_timestamp(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct ref_args *args = arguments;
    struct target target;
    struct firn_ref_move move;
    FIRN_TRY(open_target(op, cli, args, &target));
    FIRN_TRY(about(op, firn_rollback_to_timestamp(op, &target.refs, args->timestamp, &move), &target));
    return print_move(op, cli, &move);
}

static firn_status set_current_snapshot(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct ref_args *args = arguments;
    struct target target;
    struct firn_ref_move move;
    FIRN_TRY(open_target(op, cli, args, &target));
    FIRN_TRY(about(op, firn_set_current_snapshot(op, &target.refs, target.snapshot_id, args->ref, &move), &target));
    return print_move(op, cli, &move);
}

static firn_status fast_forward(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct ref_args *args = arguments;
    struct target target;
    struct firn_ref_move move;
    FIRN_TRY(open_target(op, cli, args, &target));
    FIRN_TRY(about(op, firn_fast_forward(op, &target.refs, args->branch, args->to, &move), &target));
    const struct cell cells[] = {
        { .column = "branch_updated", .text = args->branch },
        number_cell("previous_ref", move.has_previous, move.previous_snapshot_id),
        number_cell("updated_ref", true, move.current_snapshot_id),
    };
    return print_row(op, cli, cells, sizeof cells / sizeof *cells);
}

static firn_status print_pick(struct firn_op *op, struct cli *cli, const struct firn_pick *pick)
{
    const struct cell cells[] = {
        number_cell("source_snapshot_id", true, pick->source_snapshot_id),
        number_cell("current_snapshot_id", pick->has_current, pick->current_snapshot_id),
    };
    return print_row(op, cli, cells, sizeof cells / sizeof *cells);
}

static firn_status cherrypick_snapshot(struct firn_op *op, struct cli *cli, const void *arguments)
{
    struct target target;
    struct firn_pick pick;
    FIRN_TRY(open_target(op, cli, arguments, &target));
    FIRN_TRY(about(op, firn_cherrypick_snapshot(op, &target.refs, target.id, &pick), &target));
    return print_pick(op, cli, &pick);
}

static firn_status publish_changes(struct firn_op *op, struct cli *cli, const void *arguments)
{
    const struct ref_args *args = arguments;
    struct target target;
    struct firn_pick pick;
    FIRN_TRY(open_target(op, cli, args, &target));
    FIRN_TRY(about(op, firn_publish_changes(op, &target.refs, args->wap_id, &pick), &target));
    return print_pick(op, cli, &pick);
}

static firn_status ancestors_of(struct firn_op *op, struct cli *cli, const void *arguments)
{
    enum { COLUMNS = 2 };
    struct target target;
    struct firn_ancestors ancestors;
    FIRN_TRY(open_target(op, cli, arguments, &target));
    FIRN_TRY(about(op, firn_ancestors_of(op, &target.table, target.snapshot_id, &ancestors), &target));
    struct cell *cells = FIRN_NEW_ARRAY(op->arena, struct cell, ancestors.count * COLUMNS);
    for (size_t i = 0; i < ancestors.count; i++) {
        cells[i * COLUMNS] = number_cell("snapshot_id", true, ancestors.items[i].snapshot_id);
        cells[i * COLUMNS + 1] = number_cell("timestamp", true, ancestors.items[i].timestamp_ms);
    }
    if (!cli_wants_json(cli)) {
        print_rows(op, cli, cells, COLUMNS, ancestors.count);
        return FIRN_OK;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < ancestors.count; i++)
        json_array_append_new(rows, row_json(cells + i * COLUMNS, COLUMNS));
    return print_json(op, cli, rows);
}

/* `arity_`: as call_arguments. */
#define COMMAND(name_, options_, arity_, run_, summary_, description_, examples_)                                      \
    {                                                                                                                  \
        .name = (name_), .summary = (summary_), .description = (description_), .examples = (examples_),                \
        .options = (options_), .args_size = sizeof(struct ref_args), .call_arguments = (arity_), .run = (run_)         \
    }

const struct cli_command cmd_create_branch =
    COMMAND("create-branch", create_branch_options, 0, create_branch, "Create or replace a branch (CREATE BRANCH)",
            "Makes a branch on a snapshot, or with --or-replace or --replace points one elsewhere. On a table without "
            "snapshots the branch gets an empty one. Branches and tags have one space of names.",
            "  firn create-branch db.txn audit\n"
            "  firn create-branch db.txn audit --or-replace --retain 30d --snapshot-retention '5 snapshots 7d'\n");
const struct cli_command cmd_create_tag =
    COMMAND("create-tag", create_tag_options, 0, create_tag, "Create or replace a tag (CREATE TAG)",
            "Names a snapshot, which expiry then keeps as long as the tag is there.",
            "  firn create-tag db.txn eoy-2026 --retain 365d\n"
            "  firn create-tag db.txn before --as-of-version 5310972899275895471 --or-replace\n");
const struct cli_command cmd_drop_branch =
    COMMAND("drop-branch", drop_options, 0, drop_branch, "Drop a branch (DROP BRANCH)",
            "The branch's snapshots stay in the table until they expire. main cannot be dropped.",
            "  firn drop-branch db.txn audit --if-exists\n");
const struct cli_command cmd_drop_tag =
    COMMAND("drop-tag", drop_options, 0, drop_tag, "Drop a tag (DROP TAG)",
            "The tag's snapshot stays in the table until it expires.", "  firn drop-tag db.txn eoy-2026\n");
const struct cli_command cmd_rollback_to_snapshot =
    COMMAND("rollback-to-snapshot", snapshot_options, 2, rollback_to_snapshot,
            "Roll main back to an earlier snapshot (Spark's rollback_to_snapshot)",
            "The snapshot must be an ancestor of the current one. Later snapshots stay in the table until they expire.",
            "  firn rollback-to-snapshot db.txn 5310972899275895471\n");
const struct cli_command cmd_rollback_to_timestamp =
    COMMAND("rollback-to-timestamp", timestamp_options, 2, rollback_to_timestamp,
            "Roll main back to how it was at a time (Spark's rollback_to_timestamp)",
            "Goes to the newest ancestor of the current snapshot that is older than the time.",
            "  firn rollback-to-timestamp db.txn '2026-11-01 10:30:00'\n  firn rollback-to-timestamp db.txn 36h\n");
const struct cli_command cmd_set_current_snapshot =
    COMMAND("set-current-snapshot", set_current_options, 3, set_current_snapshot,
            "Point main to any snapshot (Spark's set_current_snapshot)",
            "Unlike a rollback it asks nothing of the snapshot but that the table has it.",
            "  firn set-current-snapshot db.txn --snapshot-id 5310972899275895471\n"
            "  firn set-current-snapshot db.txn --ref eoy-2026\n");
const struct cli_command cmd_fast_forward =
    COMMAND("fast-forward", fast_forward_options, 3, fast_forward,
            "Move a branch on to where another one is (Spark's fast_forward)",
            "The branch's head must be an ancestor of the other's. A branch that is not there is made.",
            "  firn fast-forward db.txn main audit\n");
const struct cli_command cmd_cherrypick_snapshot =
    COMMAND("cherrypick-snapshot", snapshot_options, 2, cherrypick_snapshot,
            "Bring a snapshot's changes to main (Spark's cherrypick_snapshot)",
            "main moves to the snapshot when that follows the current one. Otherwise the files of an append, or of a "
            "replacement of whole partitions, are committed anew; other snapshots cannot be picked.",
            "  firn cherrypick-snapshot db.txn 5310972899275895471\n");
const struct cli_command cmd_publish_changes =
    COMMAND("publish-changes", publish_options, 2, publish_changes,
            "Publish what was staged under a wap.id (Spark's publish_changes)",
            "Finds the one snapshot that was written with this wap.id and cherry-picks it.",
            "  firn publish-changes db.txn nightly-2026-11-30\n");
const struct cli_command cmd_ancestors_of = COMMAND(
    "ancestors-of", ancestors_options, 2, ancestors_of, "List a snapshot and its ancestors (Spark's ancestors_of)",
    "Newest first, as far as the table still has them; times in milliseconds since the epoch.",
    "  firn ancestors-of db.txn\n");
