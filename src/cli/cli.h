/* Inside the command line: option tables, commands, output. Uses only include/firn. */
#ifndef FIRN_CLI_CLI_H
#define FIRN_CLI_CLI_H

#include "firn/json.h"
#include "firn/measure.h"
#include "firn/price.h"
#include "firn/session.h"

#include <stdio.h>

/* An option's row is its only declaration: it drives the parser, the checks, `firn help`, the man page and the shell
 * completion. `offset` is where the value goes in the command's argument struct. */
enum cli_kind {
    CLI_POSITIONAL, /* struct firn_text; taken in order, or by its name as any other */
    CLI_WORDS,      /* struct cli_words; the positional that takes all that are left */
    CLI_TEXT,       /* struct firn_text */
    CLI_CHOICE,     /* struct firn_text, one of `choices` */
    CLI_FLAG,       /* bool */
    CLI_NUMBER,     /* int64_t within [min, max] */
    CLI_BYTES,      /* int64_t, "512M", "1GiB" */
    CLI_PAIRS,      /* struct cli_pairs, repeatable KEY=VALUE */
};

/* What SQL's CALL takes for an option; most are told by their kind: text, a whole number, true or false, map(...). */
enum cli_sql_type {
    CLI_SQL_BY_KIND,
    CLI_SQL_TIMESTAMP, /* TIMESTAMP '...' or DATE '...' */
    CLI_SQL_LONG,
    CLI_SQL_LONGS, /* array(1, 2) */
    CLI_SQL_TEXTS, /* array('a', 'b') */
};

struct cli_option {
    const char *name; /* without dashes */
    enum cli_kind kind;
    size_t offset;
    const char *value;    /* placeholder: "PREDICATE" */
    const char *fallback; /* default as text; NULL: none */
    const char *choices;  /* CLI_CHOICE: "table|json" */
    int64_t min, max;     /* CLI_NUMBER, CLI_BYTES */
    bool required;
    const char *help;
    enum cli_sql_type sql;
    char letter; /* "-e" for short; '\0': none */
};

/* Whether it has no dashes. */
static inline bool cli_is_positional(const struct cli_option *option)
{
    return option->kind == CLI_POSITIONAL || option->kind == CLI_WORDS;
}

struct cli_words {
    struct firn_text *items;
    size_t count;
    size_t capacity;
};

struct cli_pairs {
    struct firn_property *items;
    size_t count;
    size_t capacity;
};

struct cli;

struct cli_command {
    const char *name;
    const char *summary;              /* one line */
    const char *description;          /* paragraphs, split by blank lines */
    const char *examples;             /* lines of shell; may be NULL */
    const struct cli_option *options; /* ended by a row without name */
    size_t args_size;
    uint32_t call_arguments; /* so many options, the first of the table, are what CALL takes by position, in the order
                                of Spark's procedure; the others it takes by name only. 0: not to be called */
    firn_status (*run)(struct firn_op *op, struct cli *cli, const void *args);
};

struct cli_globals {
    struct firn_text catalog;
    struct firn_text config;
    struct firn_text uri;
    struct firn_text warehouse;
    struct firn_text output;
    struct firn_text log_level;
    struct firn_text temp_folder;
    int64_t memory;
    int64_t threads;
    struct cli_pairs relocate;
    struct cli_pairs price;
    bool quiet;
    bool help;
    bool version;
};

struct cli {
    struct firn_arena arena; /* of the whole run */
    struct cli_globals globals;
    const char *program;
    const struct cli_command *command; /* NULL: none given */
    void *args;
    uint64_t given; /* a bit for each of the command's options */
    struct firn_config config;
    bool json_lines;              /* JSON is printed a value a line */
    bool relaxed;                 /* the session need not survive a loss of power */
    bool config_given;            /* `config` is complete: read no file and no variable */
    struct firn_session *session; /* NULL until cli_session */
    FILE *out, *err;
    bool out_is_terminal, err_is_terminal;
    atomic_bool *stop; /* set by Ctrl-C; a prompt takes it back and goes on */
    const char *done;  /* what has been changed by now, a clause; NULL: nothing. For when it cannot be printed */
};

extern const struct cli_option cli_global_options[];
extern const struct cli_command *const cli_commands[]; /* ended by NULL */

/* option.c: parses argv into globals, command and its args. USAGE names what is wrong and suggests what was meant. */
FIRN_CHECKED firn_status cli_parse(struct firn_op *op, struct cli *cli, int argc, char **argv);
const struct cli_command *cli_find_command(struct firn_text name);
/* Makes `command` the one that runs: its arguments are at their defaults, none is given. */
FIRN_CHECKED firn_status cli_begin_command(struct firn_op *op, struct cli *cli, const struct cli_command *command);
/* An option by its name, '_' and '-' being one; NULL: none. */
const struct cli_option *cli_find_option(const struct cli_option *options, struct firn_text name);
/* Gives an option of the command a value as the command line would; a flag, whatever the value, is set. */
FIRN_CHECKED firn_status cli_give(struct firn_op *op, struct cli *cli, const struct cli_option *option,
                                  struct firn_text value);
/* Adds a pair to an option of kind CLI_PAIRS. */
void cli_give_pair(struct cli *cli, const struct cli_option *option, struct firn_property pair);
/* Runs the command; what it printed has arrived, or that is the failure. */
FIRN_CHECKED firn_status cli_run(struct firn_op *op, struct cli *cli);
/* Whether the command line gave this option of the command: where no value can stand for "not given". */
bool cli_is_given(const struct cli *cli, const char *name);
/* "a,b,c": the parts, without blanks around; none for an empty text, whose items are not NULL. */
struct cli_words cli_split(struct firn_arena *arena, struct firn_text list);

/* help.c */
void cli_print_help(FILE *out, const struct cli_command *command);
void cli_print_man(FILE *out);
void cli_print_completion(FILE *out);

/* open.c */
/* A whole file, or standard input for "-"; followed by a NUL. LIMIT past `bytes_max`. */
FIRN_CHECKED firn_status cli_read_file(struct firn_op *op, struct firn_text path, size_t bytes_max,
                                       struct firn_text *out);
/* Reads configuration files and the environment, then opens the session; later calls give the same one. */
FIRN_CHECKED firn_status cli_session(struct firn_op *op, struct cli *cli, struct firn_session **out);
FIRN_CHECKED firn_status cli_open_table(struct firn_op *op, struct cli *cli, struct firn_text name,
                                        struct firn_table *out);

/* The file of policies and prices: the one given, else ./firn.yaml, else ~/.firn.yaml. Empty where there is none. */
struct cli_settings {
    struct firn_text yaml, path;
};
FIRN_CHECKED firn_status cli_read_settings(struct firn_op *op, struct firn_text given, struct cli_settings *out);
/* The prices that the settings say, and before them the command line. */
FIRN_CHECKED firn_status cli_prices(struct firn_op *op, struct cli *cli, const struct cli_settings *settings,
                                    struct firn_prices *out);
/* Those of a command that is told of no file. */
FIRN_CHECKED firn_status cli_usual_prices(struct firn_op *op, struct cli *cli, struct firn_prices *out);

/* Whether standard output is a terminal, and nobody said NO_COLOR. */
bool cli_has_color(const struct cli *cli);

/* output.c */
bool cli_wants_json(const struct cli *cli);
/* As FIRN_FMT, for texts that files decided: names, paths, reasons that quote them. */
#define CLI_FMT(cli, text) FIRN_FMT(firn_text_printable(&(cli)->arena, (text)))
/* Prints a tree as JSON with a line end. */
FIRN_CHECKED firn_status cli_print_json(struct firn_op *op, struct cli *cli, const json_t *json);
/* Parts of a document that is too large to be held: JSON in a form of jansson's, and what stands between. */
FIRN_CHECKED firn_status cli_write_json(struct firn_op *op, struct cli *cli, const json_t *json, size_t form);
FIRN_CHECKED firn_status cli_write_text(struct firn_op *op, struct cli *cli, struct firn_text text);
/* A table for people: `rows` of `column_count` texts each; numbers are set right. */
struct cli_column {
    const char *title;
    bool right;
};
void cli_print_table(struct cli *cli, const struct cli_column *columns, size_t column_count,
                     const struct firn_text *cells, size_t row_count);
/* outline.c: a tree for people, nested by indentation. */
void cli_print_outline(struct cli *cli, const json_t *json);
/* Numbers for people: firn/measure.h. */
static inline struct firn_text cli_bytes_text(struct firn_arena *arena, uint64_t bytes)
{
    return firn_measure_bytes(arena, bytes);
}
static inline struct firn_text cli_count_text(struct firn_arena *arena, int64_t count)
{
    return firn_measure_count(arena, count);
}
static inline struct firn_text cli_duration_text(struct firn_arena *arena, int64_t ms)
{
    return firn_measure_duration(arena, ms);
}
/* Tells a failure, and what to do about it. */
void cli_report(const struct cli *cli, const struct firn_op *op);
/* The text as a POSIX shell takes it for one word: quoted where it must be. */
struct firn_text cli_shell_text(struct firn_arena *arena, struct firn_text text);
/* Says that stdout cannot be written, by errno, and what has been done all the same: cli->done. */
firn_status cli_output_failed(struct firn_op *op, const struct cli *cli);
/* Checks that everything written to stdout arrived. */
FIRN_CHECKED firn_status cli_flush(struct firn_op *op, struct cli *cli);

/* procedure.c */
/* Members of a plan's JSON; an empty text or 0 where there is none. */
struct firn_text cli_member_text(const json_t *object, const char *key);
int64_t cli_member_i64(const json_t *object, const char *key);
/* The groups of a plan as a table: which members of a group's JSON, and as what. */
enum cli_member_kind {
    CLI_MEMBER_TEXT,
    CLI_MEMBER_COUNT, /* "?" where it is null */
    CLI_MEMBER_BYTES,
};
struct cli_member {
    const char *title, *key;
    enum cli_member_kind kind;
};
struct cli_group_table {
    const char *if_empty; /* said when there are no groups */
    const struct cli_member *members;
    size_t member_count;
};
extern const struct cli_group_table cli_rewrite_groups; /* of procedures that rewrite files into fewer */
void cli_print_groups(struct firn_op *op, struct cli *cli, const json_t *groups, const struct cli_group_table *table);
/* A line a file of a plan, or of all its groups: path, size, reason. */
void cli_print_planned_files(struct firn_op *op, struct cli *cli, const json_t *files, const char *mark);
void cli_print_group_files(struct firn_op *op, struct cli *cli, const json_t *groups, const char *mark);
/* work.c: what a procedure is predicted to take, and took. */
struct cli_work {
    struct firn_prices prices;
    struct firn_work predicted, before, actual;
    double predicted_seconds, actual_seconds;
    int64_t started_ms; /* monotonic */
};
/* Before the work, or in place of it. */
FIRN_CHECKED firn_status cli_work_begin(struct firn_op *op, struct cli *cli, struct firn_work predicted,
                                        struct cli_work *out);
void cli_work_end(struct firn_op *op, const struct cli *cli, struct cli_work *work);
/* For programs: the prediction alone (firn_work_json), or {"predicted", "actual"}. New references. */
json_t *cli_estimate_json(const struct cli_work *work);
json_t *cli_work_json(const struct cli_work *work);
/* A plan's JSON, with the prediction as its member "estimate". */
FIRN_CHECKED firn_status cli_print_plan_json(struct firn_op *op, struct cli *cli, json_t *json,
                                             const struct cli_work *work);
/* firn_work_json for people: "requests: 12 get, 3 put; 1.2 MiB read, ...; 0.3 s; 0.00042 USD". In `arena`. */
struct firn_text cli_work_text(struct firn_arena *arena, const json_t *work);
void cli_print_work_pair(struct firn_op *op, struct cli *cli, const char *indent, const json_t *predicted,
                         const json_t *actual);
/* For people: a line, or two; none where there is nothing to do. */
void cli_print_estimate(struct firn_op *op, struct cli *cli, const struct cli_work *work);
void cli_print_work(struct firn_op *op, struct cli *cli, const struct cli_work *work);
/* A procedure's output row, its columns first, then what firn adds. */
struct cli_number {
    const char *key;
    int64_t value;
};
struct cli_row {
    const struct cli_number *numbers;
    size_t number_count, column_count;
    int64_t snapshot_id; /* last committed; negative: none */
    const struct firn_text *warnings;
    uint32_t warning_count;
    json_t *(*more_json)(const void *report); /* members for programs that are no numbers, a new reference; or NULL */
    /* What people are told below the columns. */
    void (*print_remarks)(struct firn_op *op, struct cli *cli, const void *report);
    const void *report;
    const struct cli_work *work; /* NULL: not told */
};
/* All of it for programs; the columns and remarks for people, who get warnings on standard error. Where it could not be
 * printed, says that the table was changed all the same. */
FIRN_CHECKED firn_status cli_print_row(struct firn_op *op, struct cli *cli, const struct cli_row *row);

/* call.c: CALL by the option tables. */
struct firn_sql_name;
struct firn_sql_statement;
/* select.c: runs a SELECT and prints its rows. Of a large result no more than a page is held. */
FIRN_CHECKED firn_status cli_select(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement);
/* The name that a session opens, of one in SQL; within `catalog` unless that is empty. USAGE when it is of another. */
FIRN_CHECKED firn_status cli_table_name(struct firn_op *op, struct cli *cli, struct firn_text catalog,
                                        const struct firn_sql_name *name, struct firn_text *out);
FIRN_CHECKED firn_status cli_call(struct firn_op *op, struct cli *cli, const struct firn_sql_statement *statement);
/* The procedure's name as SQL has it, of a command's or an option's name; "option" is "options" there. */
struct firn_text cli_sql_name(struct firn_arena *arena, const char *name);
/* "a timestamp", "an array of texts": what an argument must be. */
const char *cli_sql_type_text(const struct cli_option *option);
/* statement.c: a statement of any kind, with results on standard output. */
FIRN_CHECKED firn_status cli_run_statement(struct firn_op *op, struct cli *cli,
                                           const struct firn_sql_statement *statement);

/* progress.c: a bar on a terminal, lines elsewhere, NULL with --quiet. */
struct firn_progress;
struct firn_progress *cli_progress(struct firn_op *op, struct cli *cli, const char *what);

extern const struct cli_command cmd_describe, cmd_inspect, cmd_rewrite_data_files, cmd_plan, cmd_demo,
    cmd_remove_orphan_files, cmd_undelete, cmd_journal, cmd_expire_snapshots, cmd_verify, cmd_maintain, cmd_health,
    cmd_advise, cmd_backtest, cmd_sql, cmd_help;
extern const struct cli_command cmd_rewrite_position_delete_files, cmd_convert_equality_deletes, cmd_rewrite_manifests;
extern const struct cli_command cmd_explain, cmd_compute_table_stats, cmd_compute_partition_stats;
extern const struct cli_command cmd_set_properties, cmd_unset_properties, cmd_write_order;
extern const struct cli_command cmd_create_branch, cmd_create_tag, cmd_drop_branch, cmd_drop_tag;
extern const struct cli_command cmd_rollback_to_snapshot, cmd_rollback_to_timestamp, cmd_set_current_snapshot;
extern const struct cli_command cmd_fast_forward, cmd_cherrypick_snapshot, cmd_publish_changes, cmd_ancestors_of;

#endif
