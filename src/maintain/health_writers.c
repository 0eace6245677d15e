/* What is ill about the way a table is written: who commits how often, and how little each time.
 *
 * Compaction mends what such writers leave, commit after commit; only the writer's settings mend the cause. So this is
 * never more than a warning, and names no command. */
#include "base/math.h"
#include "maintain/age.h"
#include "maintain/health.h"

#define MS_PER_MINUTE 60000.0

/* The intervals of few commits say little. */
enum { COMMITS_MIN = 20 };

static struct firn_text bytes_text(const struct firn_health_checks *checks, double bytes)
{
    return firn_measure_bytes(checks->op->arena, bytes > 0 ? (uint64_t)bytes : 0);
}

static bool is_maintenance(const struct firn_survey_writer *writer)
{
    return firn_text_is(writer->operation, "replace");
}

/* Of the data files that a writer adds; deletes are small by nature. */
static double bytes_per_file(const struct firn_survey_writer *writer)
{
    int64_t files = writer->added_files + writer->added_delete_files;
    return files > 0 ? (double)writer->added_bytes / (double)files : 0;
}

/* Often, and small: a writer that commits large files every minute does no harm. */
static bool judge(const struct firn_health_checks *checks, const struct firn_survey_writer *writer,
                  enum firn_health_level *level)
{
    enum firn_health_level size;
    if (is_maintenance(writer) || writer->commits < COMMITS_MIN || writer->interval_ms < 0 ||
        writer->added_files == 0 ||
        !firn_health_judge(checks->limits, FIRN_HEALTH_AVERAGE_FILE_BYTES, bytes_per_file(writer), &size) ||
        !firn_health_judge(checks->limits, FIRN_HEALTH_COMMIT_MINUTES, (double)writer->interval_ms / MS_PER_MINUTE,
                           level))
        return false;
    *level = *level == FIRN_HEALTH_ILL ? FIRN_HEALTH_WARNING : FIRN_HEALTH_NOTICE;
    return true;
}

/* The interval at which the files of one commit, written as one by each task, have the table's target size. */
static int64_t wanted_interval_ms(const struct firn_survey *survey, const struct firn_survey_writer *writer)
{
    double bytes = bytes_per_file(writer), times = bytes > 0 ? (double)survey->sizes.target_bytes / bytes : 0;
    double wanted = times * (double)FIRN_MAX(writer->interval_ms, 1000);
    return wanted < (double)FIRN_MS_PER_DAY ? (int64_t)wanted : FIRN_MS_PER_DAY;
}

static struct firn_text advice_for(const struct firn_health_checks *checks, const struct firn_survey_writer *writer)
{
    struct firn_arena *arena = checks->op->arena;
    int64_t wanted = wanted_interval_ms(checks->survey, writer);
    const char *setting = firn_text_is(writer->name, "flink") ? "a longer execution.checkpointing.interval"
                          : firn_text_is(writer->name, "spark")
                              ? "a longer trigger interval, and spark.sql.shuffle.partitions by batch and target size"
                              : "a longer interval between commits, and fewer files in each";
    struct firn_text limit =
        wanted < FIRN_MS_PER_DAY
            ? firn_text_format(arena, "; its files would reach the target size at one commit in %.*s",
                               FIRN_FMT(firn_measure_duration(arena, wanted)))
            : FIRN_TEXT("; no interval that is bearable would make its files large, so compact them often");
    return firn_text_format(arena, "%s%.*s", setting, FIRN_FMT(limit));
}

static void add_finding(struct firn_health_checks *checks, const struct firn_survey_writer *writer,
                        enum firn_health_level level)
{
    struct firn_arena *arena = checks->op->arena;
    struct firn_text symptom = firn_text_format(
        arena, "%.*s commits %.*s every %.*s: %.1f files of %.*s each time, %.*s commits in all",
        FIRN_FMT(writer->name), FIRN_FMT(writer->operation),
        FIRN_FMT(firn_measure_duration(arena, writer->interval_ms)),
        (double)(writer->added_files + writer->added_delete_files) / (double)writer->commits,
        FIRN_FMT(bytes_text(checks, bytes_per_file(writer))), FIRN_FMT(firn_measure_count(arena, writer->commits)));
    firn_health_add(checks,
                    (struct firn_health_finding){
                        .level = level,
                        .code = "commit-cadence",
                        .symptom = symptom,
                        .cause = FIRN_TEXT("every commit leaves a snapshot, a manifest and a file for each task "
                                           "and partition, however few rows there are"),
                        .advice = advice_for(checks, writer),
                    });
}

void firn_health_check_writers(struct firn_health_checks *checks)
{
    for (size_t i = 0; i < checks->survey->writer_count; i++) {
        enum firn_health_level level;
        if (judge(checks, &checks->survey->writers[i], &level))
            add_finding(checks, &checks->survey->writers[i], level);
    }
}

struct firn_text firn_health_writers_text(struct firn_arena *arena, const struct firn_survey *survey)
{
    enum { SHOWN_MAX = 3 };
    struct firn_text text = FIRN_TEXT("");
    size_t shown = 0;
    for (size_t i = 0; i < survey->writer_count && shown < SHOWN_MAX; i++) {
        const struct firn_survey_writer *writer = &survey->writers[i];
        struct firn_text every =
            writer->interval_ms < 0
                ? FIRN_TEXT("")
                : firn_text_format(arena, " every %.*s", FIRN_FMT(firn_measure_duration(arena, writer->interval_ms)));
        text = firn_text_format(arena, "%.*s%s%.*s %.*s%.*s, %.1f files each", FIRN_FMT(text), shown ? "; " : "",
                                FIRN_FMT(writer->name), FIRN_FMT(writer->operation), FIRN_FMT(every),
                                (double)(writer->added_files + writer->added_delete_files) /
                                    (double)FIRN_MAX(writer->commits, 1));
        shown++;
    }
    return text;
}
