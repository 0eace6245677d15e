/* Health: survey, checks, score. */
#include "maintain/health.h"

#include "base/math.h"
#include "maintain/work.h"

#include <assert.h>
#include <stdlib.h>

static const struct {
    const char *name;
    int penalty;
} levels[] = {
    [FIRN_HEALTH_NOTICE] = { "notice", 2 },
    [FIRN_HEALTH_WARNING] = { "warning", 10 },
    [FIRN_HEALTH_ILL] = { "ill", 30 },
};

const char *firn_health_level_name(enum firn_health_level level)
{
    return levels[level].name;
}

const char *firn_health_state_name(const struct firn_health_report *report)
{
    return report->is_ill ? "ill" : report->is_healthy ? "healthy" : "fair";
}

/* Procedures that take a predicate, as commands and as SQL. */
static bool takes_where(const char *procedure)
{
    static const char *const names[] = { "rewrite-data-files", "rewrite_data_files", "rewrite-position-delete-files",
                                         "convert-equality-deletes" };
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++)
        if (strcmp(names[i], procedure) == 0)
            return true;
    return false;
}

struct firn_text firn_health_command(const struct firn_health_checks *checks, const char *procedure, const char *rest)
{
    struct firn_arena *arena = checks->op->arena;
    if (checks->where.len > 0 && takes_where(procedure))
        rest = firn_text_format(arena, "%s%s--where %.*s", rest, *rest ? " " : "",
                                FIRN_FMT(firn_remedy_word(arena, checks->where)))
                   .data;
    return firn_remedy_command(arena, checks->table, procedure, rest);
}

struct firn_text firn_health_call(const struct firn_health_checks *checks, const char *procedure, const char *arguments)
{
    struct firn_arena *arena = checks->op->arena;
    if (checks->where.len > 0 && takes_where(procedure))
        arguments = firn_text_format(arena, "where => '%.*s'%s%s", FIRN_FMT(firn_remedy_sql_text(arena, checks->where)),
                                     *arguments ? ", " : "", arguments)
                        .data;
    return firn_remedy_call(arena, checks->table, procedure, arguments);
}

/* What is mended is read, and written as fewer files. */
static double money_of(const struct firn_prices *prices, const struct firn_health_finding *finding)
{
    struct firn_work work = { 0 };
    int64_t files = finding->cost.files;
    if (files == 0)
        return 0;
    firn_work_add_reads(&work, files, 1, finding->cost.bytes);
    firn_work_add_writes(&work, FIRN_MAX(files - finding->gain.files - finding->gain.manifests, 1),
                         finding->cost.bytes);
    return firn_work_money(prices, &work, firn_work_seconds(prices, &work, 1));
}

void firn_health_add(struct firn_health_checks *checks, struct firn_health_finding finding)
{
    const struct firn_prices *prices = &checks->prices;
    struct firn_health_gain *gain = &finding.gain;
    struct firn_work scan = { .requests = { [FIRN_REQUEST_GET] = gain->requests } };
    finding.cost.money = money_of(prices, &finding);
    gain->money_scan = firn_work_money(prices, &scan, 0);
    gain->money_month = firn_storage_money(prices, gain->bytes) + gain->money_scan * prices->scans_per_month;
    FIRN_PUSH(checks->op->arena, &checks->findings, finding);
}

/* Facts -------------------------------------------------------------------------------------------------------------
 */

/* Files, deletes, partitions, manifests, snapshots, metadata file, orphans, writers, columns. */
enum { FACTS_MAX = 9 };

struct facts {
    struct firn_arena *arena;
    struct firn_health_fact items[FACTS_MAX];
    size_t count;
};

static void add_fact(struct facts *facts, const char *what, struct firn_text text)
{
    assert(facts->count < FACTS_MAX);
    facts->items[facts->count++] = (struct firn_health_fact){ what, text };
}

static struct firn_text bytes_text(const struct facts *facts, int64_t bytes)
{
    return firn_measure_bytes(facts->arena, (uint64_t)FIRN_MAX(bytes, 0));
}

static struct firn_text count_text(const struct facts *facts, int64_t count)
{
    return firn_measure_count(facts->arena, count);
}

static void add_file_facts(struct facts *facts, const struct firn_survey *survey)
{
    const struct firn_survey_content *total = &survey->total;
    int64_t average = total->data.files > 0 ? total->data.bytes / total->data.files : 0;
    add_fact(facts, "files",
             firn_text_format(facts->arena, "%.*s of %.*s, %.*s on average (target %.*s), %.*s rows",
                              FIRN_FMT(count_text(facts, total->data.files)),
                              FIRN_FMT(bytes_text(facts, total->data.bytes)), FIRN_FMT(bytes_text(facts, average)),
                              FIRN_FMT(bytes_text(facts, survey->sizes.target_bytes)),
                              FIRN_FMT(count_text(facts, total->data.rows))));
    add_fact(facts, "deletes",
             firn_text_format(facts->arena, "%.*s position, %.*s equality, %.*s vectors; %.*s apply to nothing",
                              FIRN_FMT(count_text(facts, total->position_deletes.files)),
                              FIRN_FMT(count_text(facts, total->equality_deletes.files)),
                              FIRN_FMT(count_text(facts, total->vectors.files)),
                              FIRN_FMT(count_text(facts, total->dangling.files))));
}

static void add_metadata_facts(struct facts *facts, const struct firn_survey *survey)
{
    struct firn_survey_manifests manifests = firn_survey_manifests_total(survey);
    add_fact(facts, "partitions", count_text(facts, (int64_t)survey->partition_count));
    add_fact(
        facts, "manifests",
        firn_text_format(facts->arena, "%.*s of %.*s, with %.*s files", FIRN_FMT(count_text(facts, manifests.count)),
                         FIRN_FMT(bytes_text(facts, manifests.bytes)), FIRN_FMT(count_text(facts, manifests.entries))));
    add_fact(facts, "snapshots",
             firn_text_format(facts->arena, "%.*s, of which %.*s can go; all hold %.*s that left the table",
                              FIRN_FMT(count_text(facts, (int64_t)survey->commit_count)),
                              FIRN_FMT(count_text(facts, survey->expirable_snapshots)),
                              FIRN_FMT(bytes_text(facts, survey->held_bytes))));
    if (survey->metadata_bytes >= 0)
        add_fact(facts, "metadata file", bytes_text(facts, survey->metadata_bytes));
    if (survey->orphan_files >= 0)
        add_fact(facts, "orphans",
                 firn_text_format(facts->arena, "%.*s of %.*s", FIRN_FMT(count_text(facts, survey->orphan_files)),
                                  FIRN_FMT(bytes_text(facts, survey->orphan_bytes))));
    else if (survey->orphan_problem.len > 0)
        add_fact(facts, "orphans", firn_text_format(facts->arena, "unknown: %.*s", FIRN_FMT(survey->orphan_problem)));
}

/* How many files a filter for one value opens, of the columns that readers are expected to filter by. */
static struct firn_text points_text(struct firn_arena *arena, const struct firn_survey *survey)
{
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < survey->column_count; i++) {
        const struct firn_survey_column *column = &survey->columns[i];
        bool is_wanted = column->is_partition_source || column->is_sort_source || column->is_identifier;
        if (is_wanted && column->files_per_point >= 0)
            text = firn_text_format(arena, "%.*s%s%.*s %.1f", FIRN_FMT(text), text.len ? ", " : "",
                                    FIRN_FMT(column->name), column->files_per_point);
    }
    return text.len ? firn_text_format(arena, "opened by a filter for one value: %.*s", FIRN_FMT(text)) : text;
}

static void add_reader_and_writer_facts(struct facts *facts, const struct firn_survey *survey)
{
    struct firn_text writers = firn_health_writers_text(facts->arena, survey);
    struct firn_text points = points_text(facts->arena, survey);
    if (writers.len > 0)
        add_fact(facts, "writers", writers);
    if (points.len > 0)
        add_fact(facts, "columns", points);
}

static void list_facts(struct firn_arena *arena, const struct firn_survey *survey, struct firn_health_report *out)
{
    struct facts *facts = FIRN_NEW(arena, struct facts);
    facts->arena = arena;
    add_file_facts(facts, survey);
    add_metadata_facts(facts, survey);
    add_reader_and_writer_facts(facts, survey);
    out->facts = facts->items;
    out->fact_count = facts->count;
}

/* All together ------------------------------------------------------------------------------------------------------
 */

struct ranked {
    size_t order; /* as found: what comes first in maintenance, comes first */
    struct firn_health_finding finding;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->finding.level != right->finding.level)
        return left->finding.level > right->finding.level ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static void rank_findings(struct firn_health_checks *checks)
{
    size_t count = checks->findings.count;
    struct ranked *ranked = FIRN_NEW_ARRAY(checks->op->arena, struct ranked, count);
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){ i, checks->findings.items[i] };
    if (count > 1)
        qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++)
        checks->findings.items[i] = ranked[i].finding;
}

static void score(const struct firn_health_checks *checks, struct firn_health_report *out)
{
    int penalty = 0;
    out->is_healthy = true;
    for (size_t i = 0; i < checks->findings.count; i++) {
        enum firn_health_level level = checks->findings.items[i].level;
        penalty += levels[level].penalty;
        out->is_healthy = out->is_healthy && level == FIRN_HEALTH_NOTICE;
        out->is_ill = out->is_ill || level == FIRN_HEALTH_ILL;
    }
    out->score = FIRN_MAX(100 - penalty, 0);
}

static bool names_partition_column(const struct firn_metadata *metadata, const struct firn_predicate *predicate)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, metadata->default_spec_id);
    for (; predicate->op == FIRN_PRED_AND || predicate->op == FIRN_PRED_OR; predicate = predicate->left)
        if (names_partition_column(metadata, predicate->right))
            return true;
    for (uint32_t i = 0; predicate->field && spec && i < spec->field_count; i++)
        if (spec->fields[i].source_ids[0] == predicate->field->id)
            return true;
    return false;
}

static firn_status parse_where(struct firn_op *op, const struct firn_table *table, struct firn_text where,
                               const struct firn_predicate **out)
{
    const struct firn_schema *schema = firn_metadata_current_schema(table->metadata);
    FIRN_TRY(firn_predicate_parse(op, where, schema, out));
    if (names_partition_column(table->metadata, *out))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "where: '%.*s' names no column that the table is partitioned by", FIRN_FMT(where));
}

firn_status firn_health_check(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                              const struct firn_health_options *options, struct firn_health_report *out)
{
    struct firn_survey *survey = FIRN_NEW(op->arena, struct firn_survey);
    struct firn_health_limits *limits = FIRN_NEW(op->arena, struct firn_health_limits);
    struct firn_survey_options what = { .orphans = options->orphans };
    bool is_whole = options->where.len == 0;
    struct firn_prices prices = options->prices ? *options->prices : firn_prices_default();
    struct firn_health_checks checks = { op, table, survey, limits, prices, options->where, .findings = { 0 } };
    FIRN_TRY(firn_health_limits_parse(op, options->thresholds, options->threshold_count, limits));
    if (!is_whole)
        FIRN_TRY(parse_where(op, table, options->where, &what.where));
    FIRN_TRY(firn_survey_take(op, pool, table, what, survey));
    *out = (struct firn_health_report){
        .table = table->name,
        .survey = survey,
        .limits = limits,
        .where = options->where,
        .prices = prices,
        .files = survey->total.data.files,
        .bytes = survey->total.data.bytes,
    };
    firn_health_check_files(&checks);
    firn_health_check_deletes(&checks);
    if (is_whole)
        firn_health_check_metadata(&checks);
    firn_health_check_partitions(&checks);
    FIRN_TRY(firn_health_check_columns(&checks));
    if (is_whole)
        firn_health_check_writers(&checks);
    rank_findings(&checks);
    score(&checks, out);
    list_facts(op->arena, survey, out);
    out->findings = checks.findings.items;
    out->finding_count = checks.findings.count;
    return FIRN_OK;
}
