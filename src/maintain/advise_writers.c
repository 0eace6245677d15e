/* Advice on how batches are written: in how many tasks, how often, and how rows are distributed to tasks. */
#include "base/math.h"
#include "maintain/advise.h"
#include "maintain/age.h"

#include <math.h>

/* So many times more files than needed are worth a change, and an interval that grows by so much. */
#define FILES_FACTOR    1.5
#define INTERVAL_FACTOR 1.5

/* A writer that commits more often than this is a stream. */
#define STREAM_MS_MAX INT64_C(3600000)

/* Files of this share of the wanted size are large enough. */
#define LARGE_ENOUGH 0.5

enum { MINUTE_MS = 60000, SECOND_MS = 1000 };

/* Whether there is enough to tell from; says so otherwise. */
static bool has_history(struct firn_advising *run, const char *topic)
{
    const struct firn_advise_batches *batches = &run->batches;
    if (batches->commits >= FIRN_ADVISE_COMMITS_MIN && batches->bytes > 0 && batches->files > 0)
        return true;
    struct firn_text why =
        batches->commits < FIRN_ADVISE_COMMITS_MIN
            ? firn_text_format(run->op->arena, "%.*s commits that add data are kept, %d are needed",
                               FIRN_FMT(firn_advise_count(run, batches->commits)), FIRN_ADVISE_COMMITS_MIN)
            : FIRN_TEXT("the summaries of commits do not tell how many files and bytes they added");
    firn_advise_unknown(run, topic, why);
    return false;
}

static double average_file(const struct firn_advise_batches *batches)
{
    return (double)batches->bytes / (double)batches->files;
}

/* "spark adds 10.0 GiB with a commit, in 200 files of 51.2 MiB" */
static struct firn_text habit(const struct firn_advising *run)
{
    const struct firn_advise_batches *batches = &run->batches;
    return firn_text_format(run->op->arena, "%.*s adds %.*s with a commit, in %.*s of %.*s", FIRN_FMT(batches->writer),
                            FIRN_FMT(firn_advise_bytes(run, (double)batches->bytes)),
                            FIRN_FMT(firn_advise_some(run, batches->files, "file")),
                            FIRN_FMT(firn_advise_bytes(run, average_file(batches))));
}

/* Tasks -------------------------------------------------------------------------------------------------------------
 */

/* Files that a batch needs: of the wanted size, and one for each partition at least. */
static int64_t needed_files(const struct firn_advising *run)
{
    double by_size = ceil((double)run->batches.bytes / (double)run->file_bytes);
    return FIRN_MAX((int64_t)by_size, FIRN_MAX(run->batches.partitions, 1));
}

void firn_advise_shuffle(struct firn_advising *run)
{
    static const char topic[] = "shuffle-partitions";
    struct firn_arena *arena = run->op->arena;
    if (firn_advise_is_writer(run, "flink") || !has_history(run, topic)) /* whose tasks are as many as its job has */
        return;
    int64_t needed = needed_files(run);
    struct firn_text why = firn_text_format(arena, "%.*s; files of %.*s would be %.*s", FIRN_FMT(habit(run)),
                                            FIRN_FMT(firn_advise_bytes(run, (double)run->file_bytes)),
                                            FIRN_FMT(firn_advise_count(run, needed)));
    if ((double)run->batches.files <= FILES_FACTOR * (double)needed) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE, FIRN_TEXT("batches come in as many files as they need"), why);
        return;
    }
    struct firn_text what =
        firn_text_format(arena, "write a batch in %.*s", FIRN_FMT(firn_advise_some(run, needed, "task")));
    struct firn_advice *advice = firn_advise_add(run, topic, FIRN_ADVICE_CHANGE, what, why);
    firn_advise_set(advice, "Spark SQL",
                    firn_text_format(arena,
                                     "SET spark.sql.shuffle.partitions = %" PRId64 "; SET spark.sql.adaptive.enabled = "
                                     "true; SET spark.sql.adaptive.coalescePartitions.enabled = true",
                                     needed));
}

/* Cadence -----------------------------------------------------------------------------------------------------------
 */

/* Up to whole minutes, or to tens of seconds below one. */
static int64_t round_up(int64_t ms)
{
    int64_t unit = ms > MINUTE_MS ? MINUTE_MS : 10 * SECOND_MS;
    return ms > INT64_MAX - unit ? ms : (ms + unit - 1) / unit * unit;
}

/* As Flink and Spark spell durations. */
static struct firn_text interval_text(struct firn_arena *arena, int64_t ms, const char *minutes, const char *seconds)
{
    if (ms % MINUTE_MS == 0)
        return firn_text_format(arena, "%" PRId64 "%s", ms / MINUTE_MS, minutes);
    return firn_text_format(arena, "%" PRId64 "%s", ms / SECOND_MS, seconds);
}

static void set_interval(struct firn_advising *run, struct firn_advice *advice, int64_t ms)
{
    struct firn_arena *arena = run->op->arena;
    if (!firn_advise_is_writer(run, "spark"))
        firn_advise_set(advice, "Flink SQL",
                        firn_text_format(arena, "SET 'execution.checkpointing.interval' = '%.*s'",
                                         FIRN_FMT(interval_text(arena, ms, "min", "s"))));
    if (!firn_advise_is_writer(run, "flink"))
        firn_advise_set(advice, "Spark streaming",
                        firn_text_format(arena, ".trigger(Trigger.ProcessingTime(\"%.*s\"))",
                                         FIRN_FMT(interval_text(arena, ms, " minutes", " seconds"))));
}

/* How long commits would have to wait for files of the wanted size. */
static int64_t needed_interval(const struct firn_advising *run)
{
    double needed =
        (double)run->batches.interval_ms * (double)run->file_bytes / FIRN_MAX(average_file(&run->batches), 1);
    return needed >= 9e18 ? INT64_MAX : FIRN_MAX(round_up((int64_t)needed), SECOND_MS);
}

static struct firn_text why_longer(const struct firn_advising *run, int64_t needed, int64_t advised)
{
    const struct firn_advise_batches *batches = &run->batches;
    struct firn_arena *arena = run->op->arena;
    double growth = (double)advised / (double)FIRN_MAX(batches->interval_ms, 1);
    double a_day = (double)batches->files * (double)FIRN_MS_PER_DAY / (double)FIRN_MAX(batches->interval_ms, 1);
    struct firn_text rest =
        advised < needed ? firn_text_format(arena, "; files of %.*s would take %.*s: compaction has to do the rest",
                                            FIRN_FMT(firn_advise_bytes(run, (double)run->file_bytes)),
                                            FIRN_FMT(firn_advise_duration(run, needed)))
                         : FIRN_TEXT("");
    return firn_text_format(
        arena, "%.*s, every %.*s: %.*s files a day; every %.*s that is %.*s a day of %.*s%.*s", FIRN_FMT(habit(run)),
        FIRN_FMT(firn_advise_duration(run, batches->interval_ms)), FIRN_FMT(firn_advise_count(run, (int64_t)a_day)),
        FIRN_FMT(firn_advise_duration(run, advised)), FIRN_FMT(firn_advise_count(run, (int64_t)(a_day / growth))),
        FIRN_FMT(firn_advise_bytes(run, average_file(batches) * growth)), FIRN_FMT(rest));
}

void firn_advise_interval(struct firn_advising *run)
{
    static const char topic[] = "commit-interval";
    const struct firn_advise_batches *batches = &run->batches;
    struct firn_arena *arena = run->op->arena;
    bool is_stream = batches->interval_ms >= 0 && batches->interval_ms <= STREAM_MS_MAX;
    if (batches->commits >= FIRN_ADVISE_COMMITS_MIN && !is_stream)
        return;
    if (!has_history(run, topic))
        return;
    int64_t needed = needed_interval(run);
    int64_t advised = FIRN_MIN(needed, FIRN_MAX(run->latency_ms, batches->interval_ms));
    if (average_file(batches) >= LARGE_ENOUGH * (double)run->file_bytes) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE, FIRN_TEXT("commits are large enough"), habit(run));
        return;
    }
    if ((double)advised < INTERVAL_FACTOR * (double)batches->interval_ms) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE,
                        FIRN_TEXT("commits wait as long as readers can: compaction packs their files"),
                        firn_text_format(arena, "%.*s, every %.*s", FIRN_FMT(habit(run)),
                                         FIRN_FMT(firn_advise_duration(run, batches->interval_ms))));
        return;
    }
    struct firn_text what =
        firn_text_format(arena, "commit every %.*s instead of every %.*s", FIRN_FMT(firn_advise_duration(run, advised)),
                         FIRN_FMT(firn_advise_duration(run, batches->interval_ms)));
    set_interval(run, firn_advise_add(run, topic, FIRN_ADVICE_CHANGE, what, why_longer(run, needed, advised)), advised);
}

/* Distribution ------------------------------------------------------------------------------------------------------
 */

/* Files of one partition that a commit adds, and how many of the wanted size its bytes would be. */
struct spread {
    double files, needed;
};

static struct spread spread_of(const struct firn_advising *run)
{
    const struct firn_advise_batches *batches = &run->batches;
    double partitions = (double)FIRN_MAX(batches->partitions, 1);
    return (struct spread){
        .files = (double)batches->files / partitions,
        .needed = ceil((double)batches->bytes / partitions / (double)run->file_bytes),
    };
}

void firn_advise_distribution(struct firn_advising *run)
{
    static const char topic[] = "distribution-mode", key[] = "write.distribution-mode";
    const struct firn_advise_batches *batches = &run->batches;
    struct firn_arena *arena = run->op->arena;
    if (!firn_advise_spec(run) || !has_history(run, topic))
        return;
    if (batches->partitions <= 0) {
        firn_advise_unknown(run, topic,
                            FIRN_TEXT("the summaries of commits do not tell how many partitions they changed"));
        return;
    }
    struct spread spread = spread_of(run);
    struct firn_text mode = firn_property_text(run->survey->metadata, key, FIRN_TEXT(""));
    struct firn_text why =
        firn_text_format(arena, "%.*s, to %.*s: %.1f files a partition, where %.0f would hold its rows; %s is %.*s",
                         FIRN_FMT(habit(run)), FIRN_FMT(firn_advise_some(run, batches->partitions, "partition")),
                         spread.files, spread.needed, key, FIRN_FMT(mode.len > 0 ? mode : FIRN_TEXT("not set")));
    if (spread.files < 2 * spread.needed || firn_text_is(mode, "hash") || firn_text_is(mode, "range")) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE,
                        spread.files < 2 * spread.needed
                            ? FIRN_TEXT("few tasks write to each partition")
                            : FIRN_TEXT("rows are distributed; what is left comes of the number of tasks"),
                        why);
        return;
    }
    struct firn_advice *advice =
        firn_advise_add(run, topic, FIRN_ADVICE_CHANGE, FIRN_TEXT("have one task write each partition's rows"), why);
    firn_advise_set_properties(run, advice, &(struct firn_property){ firn_text_of(key), FIRN_TEXT("hash") }, 1);
}
