/* What is ill about partitions, and about what planning knows of columns. */
#include "base/math.h"
#include "maintain/health.h"
#include "maintain/transform_step.h"
#include "table/metrics.h"

/* A table of few partitions has not too many. */
enum { PARTITIONS_MIN = 100 };

/* Skew of less than so many targets does no harm; overlap matters from so many files of a partition on. */
enum { SKEW_TARGETS_MIN = 10, OVERLAP_FILES_MIN = 4 };

static struct firn_text bytes_text(const struct firn_health_checks *checks, double bytes)
{
    return firn_measure_bytes(checks->op->arena, bytes > 0 ? (uint64_t)bytes : 0);
}

static struct firn_text count_text(const struct firn_health_checks *checks, int64_t count)
{
    return firn_measure_count(checks->op->arena, count);
}

/* Partitions --------------------------------------------------------------------------------------------------------
 */

static const struct firn_partition_spec *spec_of(const struct firn_survey *survey)
{
    return firn_metadata_spec(survey->metadata, survey->metadata->default_spec_id);
}

static int64_t count_partitions_with_data(const struct firn_survey *survey)
{
    int64_t count = 0;
    for (size_t i = 0; i < survey->partition_count; i++)
        count += survey->partitions[i].content.data.files > 0;
    return count;
}

/* The last field that has a coarser transform: the first ones are what tables are pruned by most. */
static struct firn_text coarser_spec(const struct firn_health_checks *checks)
{
    const struct firn_partition_spec *spec = spec_of(checks->survey);
    const struct firn_schema *schema = firn_metadata_current_schema(checks->survey->metadata);
    struct firn_arena *arena = checks->op->arena;
    for (uint32_t i = spec ? spec->field_count : 0; i-- > 0;) {
        const struct firn_partition_field *field = &spec->fields[i];
        struct firn_text column = firn_schema_name(arena, schema, field->source_ids[0]);
        struct firn_text with = firn_transform_coarser(arena, &field->transform, column);
        if (field->source_count != 1 || column.len == 0 || with.len == 0)
            continue;
        return firn_health_alter(checks, firn_text_format(arena, "REPLACE PARTITION FIELD `%.*s` WITH %.*s",
                                                          FIRN_FMT(field->name), FIRN_FMT(with)));
    }
    return FIRN_TEXT("");
}

static void check_partition_bytes(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    int64_t count = count_partitions_with_data(survey);
    double average = count > 0 ? (double)survey->total.data.bytes / (double)count : 0;
    enum firn_health_level level;
    if (count < PARTITIONS_MIN || !firn_health_judge(checks->limits, FIRN_HEALTH_PARTITION_BYTES, average, &level))
        return;
    firn_health_add(
        checks,
        (struct firn_health_finding){
            .level = level,
            .code = "over-partitioned",
            .symptom = firn_text_format(
                checks->op->arena, "%.*s partitions of %.*s on average: no compaction makes files larger than that",
                FIRN_FMT(count_text(checks, count)), FIRN_FMT(bytes_text(checks, average))),
            .cause = FIRN_TEXT("partition transforms that are too fine for as much data"),
            .command = firn_health_command(checks, "rewrite-data-files", "--option rewrite-all=true"),
            .call = coarser_spec(checks),
            .advice = FIRN_TEXT("change the partition spec first, then rewrite all files into it"),
            .cost = { .bytes = survey->total.data.bytes, .files = survey->total.data.files },
        });
}

static void check_skew(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    const struct firn_survey_partition *largest = NULL;
    int64_t count = count_partitions_with_data(survey);
    enum firn_health_level level;
    for (size_t i = 0; i < survey->partition_count; i++)
        if (!largest || survey->partitions[i].content.data.bytes > largest->content.data.bytes)
            largest = &survey->partitions[i];
    if (count < 2)
        return;
    double average = (double)survey->total.data.bytes / (double)count;
    double bytes = (double)largest->content.data.bytes;
    if (average <= 0 || bytes < SKEW_TARGETS_MIN * (double)survey->sizes.target_bytes ||
        !firn_health_judge(checks->limits, FIRN_HEALTH_PARTITION_SKEW, bytes / average, &level))
        return;
    firn_health_add(checks, (struct firn_health_finding){
                                .level = level,
                                .code = "partition-skew",
                                .symptom = firn_text_format(
                                    checks->op->arena, "partition %.*s has %.*s, %.1f times the average",
                                    FIRN_FMT(largest->path), FIRN_FMT(bytes_text(checks, bytes)), bytes / average),
                                .cause = FIRN_TEXT("a partition column with few values that most rows share"),
                                .advice = FIRN_TEXT("partition by time or by a bucket of a key instead; sorting within "
                                                    "the partition helps readers meanwhile"),
                            });
}

void firn_health_check_partitions(struct firn_health_checks *checks)
{
    check_partition_bytes(checks);
    check_skew(checks);
}

/* Metrics -----------------------------------------------------------------------------------------------------------
 */

/* A file of one partition has one value of an identity source: pruning needs no bounds of it. */
static bool is_identity_source(const struct firn_survey *survey, int32_t id)
{
    const struct firn_partition_spec *spec = spec_of(survey);
    return spec && firn_partition_spec_has_identity(spec, id);
}

static bool needs_bounds(const struct firn_survey *survey, const struct firn_survey_column *column)
{
    return (column->is_sort_source || column->is_partition_source || column->is_identifier) &&
           !is_identity_source(survey, column->field_id);
}

/* The columns that lack bounds, as text; and of these, what to set so that files written from now on have them. */
struct uncovered {
    struct firn_text names;
    FIRN_ARRAY(struct firn_property) properties;
    double lowest; /* share of the files */
};

static void add_uncovered(struct firn_health_checks *checks, const struct firn_metrics_config *config,
                          const struct firn_survey_column *column, double share, struct uncovered *out)
{
    struct firn_arena *arena = checks->op->arena;
    enum firn_metrics_mode mode = firn_metrics_config_find(config, column->field_id).mode;
    out->names = firn_text_format(arena, "%.*s%s%.*s (%.0f %%)", FIRN_FMT(out->names), out->names.len ? ", " : "",
                                  FIRN_FMT(column->name), 100 * share);
    out->lowest = FIRN_MIN(out->lowest, share);
    if (mode == FIRN_METRICS_NONE || mode == FIRN_METRICS_COUNTS)
        FIRN_PUSH(
            arena, &out->properties,
            firn_remedy_metrics_property(arena, column->name, firn_text_of(firn_remedy_metrics_mode(column->type))));
}

static void add_metrics_finding(struct firn_health_checks *checks, const struct uncovered *uncovered,
                                enum firn_health_level level)
{
    struct firn_arena *arena = checks->op->arena;
    const struct firn_survey_tally *data = &checks->survey->total.data;
    bool is_switched_off = uncovered->properties.count > 0;
    struct firn_health_finding finding = {
        .level = level,
        .code = "metrics",
        .symptom =
            firn_text_format(arena, "data files without bounds cannot be skipped; with bounds are, of %.*s files: %.*s",
                             FIRN_FMT(count_text(checks, data->files)), FIRN_FMT(uncovered->names)),
        .cause = is_switched_off ? FIRN_TEXT("write.metadata.metrics.* leaves these columns out")
                                 : FIRN_TEXT("files written by an engine, or under settings, that kept no bounds"),
        .command = firn_health_command(checks, "rewrite-data-files", "--option rewrite-all=true"),
        .call = firn_health_call(checks, "rewrite_data_files", "options => map('rewrite-all', 'true')"),
        .cost = { .bytes = data->bytes, .files = data->files },
    };
    if (is_switched_off) {
        struct firn_remedy remedy = firn_remedy_both(
            arena,
            firn_remedy_properties(arena, checks->table, uncovered->properties.items, uncovered->properties.count),
            (struct firn_remedy){ finding.command, finding.call });
        finding.command = remedy.command;
        finding.call = remedy.call;
    }
    firn_health_add(checks, finding);
}

static firn_status check_coverage(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    const struct firn_metadata *metadata = survey->metadata;
    const struct firn_metrics_config *config;
    struct uncovered uncovered = { .lowest = 1 };
    enum firn_health_level level;
    FIRN_TRY(firn_metrics_config_new(checks->op, metadata, firn_metadata_current_schema(metadata),
                                     firn_metadata_sort_order(metadata, metadata->default_sort_order_id), &config));
    for (size_t i = 0; survey->total.data.files > 0 && i < survey->column_count; i++) {
        const struct firn_survey_column *column = &survey->columns[i];
        double share = (double)column->files_with_bounds / (double)survey->total.data.files;
        if (needs_bounds(survey, column) &&
            firn_health_judge(checks->limits, FIRN_HEALTH_METRICS_COVERAGE, share, &level))
            add_uncovered(checks, config, column, share, &uncovered);
    }
    if (firn_health_judge(checks->limits, FIRN_HEALTH_METRICS_COVERAGE, uncovered.lowest, &level) &&
        uncovered.names.len > 0)
        add_metrics_finding(checks, &uncovered, level);
    return FIRN_OK;
}

/* Overlap -----------------------------------------------------------------------------------------------------------
 */

/* Data files of a partition, as a file meets them: a partition counts as often as it has files. */
static double files_beside_a_file(const struct firn_survey *survey)
{
    double squares = 0;
    for (size_t i = 0; i < survey->partition_count; i++) {
        double files = (double)survey->partitions[i].content.data.files;
        squares += files * files;
    }
    return survey->total.data.files > 0 ? squares / (double)survey->total.data.files : 0;
}

static const struct firn_survey_column *first_sort_column(const struct firn_survey *survey)
{
    const struct firn_metadata *metadata = survey->metadata;
    const struct firn_sort_order *order = firn_metadata_sort_order(metadata, metadata->default_sort_order_id);
    for (size_t i = 0; order && order->field_count > 0 && i < survey->column_count; i++)
        if (survey->columns[i].field_id == order->fields[0].source_ids[0])
            return &survey->columns[i];
    return NULL;
}

static int64_t count_sorted(const struct firn_survey *survey)
{
    for (size_t i = 0; i < survey->order_count; i++)
        if (survey->orders[i].id == survey->metadata->default_sort_order_id)
            return survey->orders[i].data.files;
    return 0;
}

static void check_overlap(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    const struct firn_survey_column *column = first_sort_column(survey);
    double beside = files_beside_a_file(survey);
    enum firn_health_level level;
    if (!column || column->files_per_point_in_partition < 0 || beside < OVERLAP_FILES_MIN ||
        !firn_health_judge(checks->limits, FIRN_HEALTH_OVERLAP, column->files_per_point_in_partition / beside, &level))
        return;
    firn_health_add(
        checks,
        (struct firn_health_finding){
            .level = level,
            .code = "overlap",
            .symptom = firn_text_format(checks->op->arena,
                                        "a filter for one %.*s opens %.1f of the %.1f files of a "
                                        "partition; %.*s of %.*s files are sorted as the "
                                        "table's sort order says",
                                        FIRN_FMT(column->name), column->files_per_point_in_partition, beside,
                                        FIRN_FMT(count_text(checks, count_sorted(survey))),
                                        FIRN_FMT(count_text(checks, survey->total.data.files))),
            .cause = FIRN_TEXT("writers do not sort, or many sorted commits overlap each other"),
            .command = firn_health_command(checks, "rewrite-data-files", "--strategy sort --option rewrite-all=true"),
            .call = firn_health_call(checks, "rewrite_data_files",
                                     "strategy => 'sort', options => map('rewrite-all', 'true')"),
            .cost = { .bytes = survey->total.data.bytes, .files = survey->total.data.files },
        });
}

firn_status firn_health_check_columns(struct firn_health_checks *checks)
{
    FIRN_TRY(check_coverage(checks));
    check_overlap(checks);
    return FIRN_OK;
}
