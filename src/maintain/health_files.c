/* What is ill about data and delete files. */
#include "base/math.h"
#include "maintain/health.h"
#include "maintain/work.h"

/* A share of the table's files; less is not worth more than a notice. */
#define REMOVABLE_SHARE_MIN 0.1

static double average(int64_t sum, int64_t count)
{
    return count > 0 ? (double)sum / (double)count : 0;
}

static double average_bytes(const struct firn_survey_tally *tally)
{
    return average(tally->bytes, tally->files);
}

static struct firn_text bytes_text(const struct firn_health_checks *checks, double bytes)
{
    return firn_measure_bytes(checks->op->arena, bytes > 0 ? (uint64_t)bytes : 0);
}

static struct firn_text count_text(const struct firn_health_checks *checks, int64_t count)
{
    return firn_measure_count(checks->op->arena, count);
}

struct firn_health_gain firn_health_fewer_files(const struct firn_survey *survey, int64_t files)
{
    int64_t entries = firn_survey_manifests_total(survey).entries;
    double share = entries > 0 ? FIRN_MIN((double)files / (double)entries, 1.0) : 0;
    return (struct firn_health_gain){
        .files = files,
        .requests = files * FIRN_SCAN_REQUESTS_OF_FILE,
        .planning_us = (int64_t)(share * (double)survey->planning_us),
    };
}

/* Small files -------------------------------------------------------------------------------------------------------
 */

/* The writer that added most files, other than by compactions. */
static const struct firn_survey_writer *busiest_writer(const struct firn_survey *survey)
{
    const struct firn_survey_writer *busiest = NULL;
    for (size_t i = 0; i < survey->writer_count; i++) {
        const struct firn_survey_writer *writer = &survey->writers[i];
        if (writer->added_files > 0 && !firn_text_is(writer->operation, "replace") &&
            (!busiest || writer->added_files > busiest->added_files))
            busiest = writer;
    }
    return busiest;
}

static struct firn_text cause_of_small_files(const struct firn_health_checks *checks)
{
    const struct firn_survey_writer *writer = busiest_writer(checks->survey);
    struct firn_arena *arena = checks->op->arena;
    if (!writer)
        return FIRN_TEXT("many small writes, or many tasks that each write a file of their own");
    struct firn_text every =
        writer->interval_ms < 0
            ? FIRN_TEXT("")
            : firn_text_format(arena, ", every %.*s", FIRN_FMT(firn_measure_duration(arena, writer->interval_ms)));
    return firn_text_format(
        arena, "%.*s commits %.*s%.*s: %.1f files of %.*s each time", FIRN_FMT(writer->name),
        FIRN_FMT(writer->operation), FIRN_FMT(every), average(writer->added_files, writer->commits),
        FIRN_FMT(bytes_text(checks, average(writer->added_bytes, writer->added_files + writer->added_delete_files))));
}

/* Partitions whose files are small on average, and that compaction can help. */
struct small_partitions {
    int64_t count;
    struct firn_survey_compaction compaction;
};

static struct small_partitions find_small_partitions(const struct firn_health_checks *checks)
{
    struct small_partitions found = { 0 };
    for (size_t i = 0; i < checks->survey->partition_count; i++) {
        enum firn_health_level level;
        const struct firn_survey_content *content = &checks->survey->partitions[i].content;
        struct firn_survey_compaction part = firn_survey_compaction_of(checks->survey, content);
        if (part.input_files == 0 ||
            !firn_health_judge(checks->limits, FIRN_HEALTH_AVERAGE_FILE_BYTES, average_bytes(&content->data), &level))
            continue;
        found.count++;
        found.compaction.input_files += part.input_files;
        found.compaction.output_files += part.output_files;
        firn_survey_add(&found.compaction.input_bytes, part.input_bytes);
    }
    return found;
}

static struct firn_health_cost cost_of(const struct firn_survey_compaction *compaction)
{
    return (struct firn_health_cost){ .bytes = compaction->input_bytes, .files = compaction->input_files };
}

static void check_average(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    struct small_partitions small = find_small_partitions(checks);
    int64_t removable = small.compaction.input_files - small.compaction.output_files;
    enum firn_health_level level;
    if (small.count == 0)
        return;
    if (!firn_health_judge(checks->limits, FIRN_HEALTH_AVERAGE_FILE_BYTES, average_bytes(&survey->total.data),
                           &level) ||
        average(removable, survey->total.data.files) < REMOVABLE_SHARE_MIN)
        level = FIRN_HEALTH_NOTICE;
    struct firn_text symptom = firn_text_format(
        checks->op->arena,
        "%.*s data files of %.*s on average, the target is %.*s; in %.*s of %.*s partitions they can be packed, %.*s "
        "files into %.*s",
        FIRN_FMT(count_text(checks, survey->total.data.files)),
        FIRN_FMT(bytes_text(checks, average_bytes(&survey->total.data))),
        FIRN_FMT(bytes_text(checks, (double)survey->sizes.target_bytes)), FIRN_FMT(count_text(checks, small.count)),
        FIRN_FMT(count_text(checks, (int64_t)survey->partition_count)),
        FIRN_FMT(count_text(checks, small.compaction.input_files)),
        FIRN_FMT(count_text(checks, small.compaction.output_files)));
    firn_health_add(checks, (struct firn_health_finding){
                                .level = level,
                                .code = "small-files",
                                .symptom = symptom,
                                .cause = cause_of_small_files(checks),
                                .command = firn_health_command(checks, "rewrite-data-files", ""),
                                .call = firn_health_call(checks, "rewrite_data_files", ""),
                                .cost = cost_of(&small.compaction),
                                .gain = firn_health_fewer_files(survey, removable),
                            });
}

/* Many files --------------------------------------------------------------------------------------------------------
 */

/* A finding about too many files, that compaction mends as far as it makes them fewer. */
static void add_many_files(struct firn_health_checks *checks, struct firn_health_finding finding,
                           struct firn_survey_compaction compaction)
{
    int64_t removable = compaction.input_files - compaction.output_files;
    finding.gain = firn_health_fewer_files(checks->survey, removable);
    finding.cost = cost_of(&compaction);
    if (removable > 0) {
        finding.cause = cause_of_small_files(checks);
        finding.command = firn_health_command(checks, "rewrite-data-files", "");
        finding.call = firn_health_call(checks, "rewrite_data_files", "");
    } else {
        finding.cause =
            FIRN_TEXT("as many bytes as that: the files are as large as they should be, or too few to pack");
    }
    firn_health_add(checks, finding);
}

static void check_partition_files(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    const struct firn_survey_partition *largest = NULL;
    struct firn_survey_compaction compaction = { 0 };
    enum firn_health_level level;
    int64_t count = 0;
    for (size_t i = 0; i < survey->partition_count; i++) {
        const struct firn_survey_partition *partition = &survey->partitions[i];
        int64_t files = partition->content.data.files;
        if (!firn_health_judge(checks->limits, FIRN_HEALTH_PARTITION_FILES, (double)files, &level))
            continue;
        struct firn_survey_compaction part = firn_survey_compaction_of(survey, &partition->content);
        count++;
        compaction.input_files += part.input_files;
        compaction.output_files += part.output_files;
        firn_survey_add(&compaction.input_bytes, part.input_bytes);
        if (!largest || files > largest->content.data.files)
            largest = partition;
    }
    if (!largest)
        return;
    firn_health_judge(checks->limits, FIRN_HEALTH_PARTITION_FILES, (double)largest->content.data.files, &level);
    struct firn_text symptom = firn_text_format(
        checks->op->arena, "%.*s of %.*s partitions have more than %.*s data files; most, %.*s, are in %.*s",
        FIRN_FMT(count_text(checks, count)), FIRN_FMT(count_text(checks, (int64_t)survey->partition_count)),
        FIRN_FMT(count_text(checks, (int64_t)checks->limits->items[FIRN_HEALTH_PARTITION_FILES].healthy)),
        FIRN_FMT(count_text(checks, largest->content.data.files)),
        FIRN_FMT(largest->path.len ? largest->path : FIRN_TEXT("the whole table")));
    add_many_files(checks,
                   (struct firn_health_finding){
                       .level = level,
                       .code = "partition-files",
                       .symptom = symptom,
                       .advice = FIRN_TEXT("where compaction leaves too many: a finer partition transform, or a larger "
                                           "write.target-file-size-bytes"),
                   },
                   compaction);
}

static void check_table_files(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    enum firn_health_level level;
    int64_t files = survey->total.data.files;
    if (!firn_health_judge(checks->limits, FIRN_HEALTH_TABLE_FILES, (double)files, &level))
        return;
    struct firn_text symptom = firn_text_format(checks->op->arena, "the table has %.*s data files, %.*s in all",
                                                FIRN_FMT(count_text(checks, files)),
                                                FIRN_FMT(bytes_text(checks, (double)survey->total.data.bytes)));
    add_many_files(checks,
                   (struct firn_health_finding){
                       .level = level,
                       .code = "table-files",
                       .symptom = symptom,
                       .advice = FIRN_TEXT("where compaction leaves too many: a larger write.target-file-size-bytes"),
                   },
                   firn_survey_compaction_total(survey));
}

void firn_health_check_files(struct firn_health_checks *checks)
{
    check_average(checks);
    check_partition_files(checks);
    check_table_files(checks);
}

/* Deletes -----------------------------------------------------------------------------------------------------------
 */

#define APPLY_ALL     "--option delete-file-threshold=1 --option remove-dangling-deletes=true"
#define APPLY_ALL_SQL "options => map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true')"

static int64_t file_count(const struct firn_survey_content *content)
{
    return content->data.files + content->position_deletes.files + content->equality_deletes.files +
           content->vectors.files;
}

/* Every data file with deletes is written anew; each of its deletes is opened no more. */
static struct firn_health_gain gain_of_applying(const struct firn_survey *survey, int64_t files)
{
    struct firn_health_gain gain = firn_health_fewer_files(survey, files);
    gain.requests = survey->total.delete_reads * FIRN_SCAN_REQUESTS_OF_FILE;
    return gain;
}

static struct firn_health_cost cost_of_applying(const struct firn_survey *survey)
{
    return (struct firn_health_cost){ .bytes = survey->total.deleted_from.bytes,
                                      .files = survey->total.deleted_from.files };
}

/* One of the kinds of delete files. */
struct delete_kind {
    enum firn_health_limit_id limit;
    const char *code, *name, *cause;
    const char *cheaper; /* procedure */
};

static void check_delete_files(struct firn_health_checks *checks, const struct firn_survey_tally *deletes,
                               const struct delete_kind *kind)
{
    const struct firn_survey_content *total = &checks->survey->total;
    enum firn_health_level level;
    double share = average(deletes->files, file_count(total));
    if (!firn_health_judge(checks->limits, kind->limit, share, &level))
        return;
    struct firn_text symptom = firn_text_format(
        checks->op->arena,
        "%.*s %s delete files are %.1f %% of all files; scans open %.*s delete files for %.*s data files",
        FIRN_FMT(count_text(checks, deletes->files)), kind->name, 100 * share,
        FIRN_FMT(count_text(checks, total->delete_reads)), FIRN_FMT(count_text(checks, total->deleted_from.files)));
    firn_health_add(checks,
                    (struct firn_health_finding){
                        .level = level,
                        .code = kind->code,
                        .symptom = symptom,
                        .cause = firn_text_of(kind->cause),
                        .command = firn_health_command(checks, "rewrite-data-files", APPLY_ALL),
                        .call = firn_health_call(checks, "rewrite_data_files", APPLY_ALL_SQL),
                        .advice = firn_text_format(checks->op->arena, "cheaper, without data files written anew: %.*s",
                                                   FIRN_FMT(firn_health_command(checks, kind->cheaper, ""))),
                        .cost = cost_of_applying(checks->survey),
                        .gain = gain_of_applying(checks->survey, deletes->files),
                    });
}

static void check_deleted_rows(struct firn_health_checks *checks)
{
    const struct firn_survey_content *total = &checks->survey->total;
    const struct firn_health_limit *limit = &checks->limits->items[FIRN_HEALTH_DELETED_ROWS];
    struct firn_arena *arena = checks->op->arena;
    int64_t deleted = total->position_deletes.rows;
    enum firn_health_level level;
    firn_survey_add(&deleted, total->vectors.rows);
    double share = average(deleted, total->data.rows);
    if (!firn_health_judge(checks->limits, FIRN_HEALTH_DELETED_ROWS, share, &level))
        return;
    bool by_ratio = total->position_deletes.files == 0 && limit->healthy > 0; /* vectors tell whose rows they delete */
    struct firn_health_finding finding = {
        .level = level,
        .code = "deleted-rows",
        .symptom = firn_text_format(arena, "%.*s of %.*s rows are deleted, and read with every scan (%.1f %%)",
                                    FIRN_FMT(count_text(checks, deleted)),
                                    FIRN_FMT(count_text(checks, total->data.rows)), 100 * share),
        .cause = FIRN_TEXT("merge-on-read updates and deletes without compaction"),
        .command = firn_health_command(checks, "rewrite-data-files", APPLY_ALL),
        .call = firn_health_call(checks, "rewrite_data_files", APPLY_ALL_SQL),
        .cost = cost_of_applying(checks->survey),
        .gain = gain_of_applying(checks->survey, total->position_deletes.files + total->vectors.files),
    };
    if (by_ratio) {
        double ratio = FIRN_MIN(limit->healthy, 1.0);
        finding.command = firn_health_command(
            checks, "rewrite-data-files", firn_text_format(arena, "--option delete-ratio-threshold=%g", ratio).data);
        finding.call =
            firn_health_call(checks, "rewrite_data_files",
                             firn_text_format(arena, "options => map('delete-ratio-threshold', '%g')", ratio).data);
    }
    firn_health_add(checks, finding);
}

static void check_dangling(struct firn_health_checks *checks)
{
    const struct firn_survey_tally *dangling = &checks->survey->total.dangling;
    enum firn_health_level level;
    if (!firn_health_judge(checks->limits, FIRN_HEALTH_DANGLING_DELETES, (double)dangling->files, &level))
        return;
    firn_health_add(
        checks,
        (struct firn_health_finding){
            .level = level,
            .code = "dangling-deletes",
            .symptom = firn_text_format(checks->op->arena, "%.*s delete files (%.*s) apply to no data file",
                                        FIRN_FMT(count_text(checks, dangling->files)),
                                        FIRN_FMT(bytes_text(checks, (double)dangling->bytes))),
            .cause = FIRN_TEXT("compactions and deletes of whole files, which leave the delete files of those behind"),
            .command = firn_health_command(checks, "rewrite-data-files", "--option remove-dangling-deletes=true"),
            .call = firn_health_call(checks, "rewrite_data_files",
                                     "options => map('rewrite-all', 'true', 'remove-dangling-deletes', 'true')"),
            .advice = FIRN_TEXT("Spark removes them only when it also finds data files to rewrite"),
            .gain = firn_health_fewer_files(checks->survey, dangling->files),
        });
}

void firn_health_check_deletes(struct firn_health_checks *checks)
{
    static const struct delete_kind positions = { FIRN_HEALTH_POSITION_DELETES, "position-deletes", "position",
                                                  "merge-on-read updates and deletes without compaction",
                                                  "rewrite-position-delete-files" };
    static const struct delete_kind equalities = { FIRN_HEALTH_EQUALITY_DELETES, "equality-deletes", "equality",
                                                   "streamed upserts: every commit deletes by key what it writes anew",
                                                   "convert-equality-deletes" };
    check_delete_files(checks, &checks->survey->total.position_deletes, &positions);
    check_delete_files(checks, &checks->survey->total.equality_deletes, &equalities);
    check_deleted_rows(checks);
    check_dangling(checks);
}
