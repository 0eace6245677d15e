/* Advice for writers: a survey, the habits of whoever writes most, then topic by topic. */
#include "maintain/advise.h"

#include "base/math.h"
#include "format/json/json.h"
#include "maintain/age.h"

#include <assert.h>
#include <stdlib.h>

#define LATENCY_MS_DEFAULT INT64_C(600000)

const char *firn_advice_verdict_name(enum firn_advice_verdict verdict)
{
    static const char *const names[] = { "change", "fine", "unknown" };
    return names[verdict];
}

/* Stating it --------------------------------------------------------------------------------------------------------
 */

struct firn_advice *firn_advise_add(struct firn_advising *run, const char *topic, enum firn_advice_verdict verdict,
                                    struct firn_text what, struct firn_text why)
{
    struct firn_advice advice = { .topic = topic, .verdict = verdict, .what = what, .why = why };
    FIRN_PUSH(run->op->arena, &run->items, advice);
    return &run->items.items[run->items.count - 1];
}

void firn_advise_unknown(struct firn_advising *run, const char *topic, struct firn_text why)
{
    firn_advise_add(run, topic, FIRN_ADVICE_UNKNOWN, FIRN_TEXT("too little to tell from"), why);
}

void firn_advise_set(struct firn_advice *advice, const char *where, struct firn_text text)
{
    assert(advice->setting_count < FIRN_ADVICE_SETTINGS_MAX);
    advice->settings[advice->setting_count++] = (struct firn_advice_setting){ where, text };
}

void firn_advise_set_properties(struct firn_advising *run, struct firn_advice *advice,
                                const struct firn_property *properties, size_t count)
{
    struct firn_remedy remedy = firn_remedy_properties(run->op->arena, run->table, properties, count);
    firn_advise_set(advice, "Spark SQL", remedy.call);
    firn_advise_set(advice, "firn", remedy.command);
}

struct firn_text firn_advise_bytes(const struct firn_advising *run, double bytes)
{
    return firn_measure_bytes(run->op->arena, bytes > 0 ? (uint64_t)bytes : 0);
}
struct firn_text firn_advise_count(const struct firn_advising *run, int64_t count)
{
    return firn_measure_count(run->op->arena, count);
}
struct firn_text firn_advise_some(const struct firn_advising *run, int64_t count, const char *noun)
{
    return firn_text_format(run->op->arena, "%.*s %s%s", FIRN_FMT(firn_advise_count(run, count)), noun,
                            count == 1 ? "" : "s");
}
struct firn_text firn_advise_duration(const struct firn_advising *run, int64_t ms)
{
    return firn_measure_duration(run->op->arena, ms);
}

const struct firn_partition_spec *firn_advise_spec(const struct firn_advising *run)
{
    const struct firn_partition_spec *spec =
        firn_metadata_spec(run->survey->metadata, run->survey->metadata->default_spec_id);
    return spec && !firn_partition_spec_is_unpartitioned(spec) ? spec : NULL;
}

bool firn_advise_is_writer(const struct firn_advising *run, const char *engine)
{
    return firn_text_same_nocase(run->batches.writer, firn_text_of(engine));
}

/* Habits ------------------------------------------------------------------------------------------------------------
 */

static bool is_batch(const struct firn_survey_commit *commit)
{
    return commit->added_files > 0 && !firn_text_is(commit->operation, "replace");
}

/* Who adds most files, other than by compactions. */
static struct firn_text busiest_writer(const struct firn_survey *survey)
{
    struct firn_text busiest = FIRN_TEXT("");
    int64_t most = 0;
    for (size_t i = 0; i < survey->writer_count; i++) {
        int64_t files = 0;
        for (size_t k = 0; k < survey->writer_count; k++)
            if (firn_text_same(survey->writers[k].name, survey->writers[i].name) &&
                !firn_text_is(survey->writers[k].operation, "replace"))
                firn_survey_add(&files, survey->writers[k].added_files);
        if (files > most) {
            most = files;
            busiest = survey->writers[i].name;
        }
    }
    return busiest;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static int64_t median(int64_t *numbers, size_t count)
{
    if (count == 0)
        return FIRN_SURVEY_UNKNOWN;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    return numbers[(count - 1) / 2];
}

/* The median of one member of the commits, where it is known. */
static int64_t median_of(const struct firn_survey_commit *const *commits, size_t count, size_t member, int64_t *scratch)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, (const char *)commits[i] + member, sizeof value);
        if (value >= 0)
            scratch[known++] = value;
    }
    return median(scratch, known);
}

static int compare_by_time(const void *a, const void *b)
{
    return compare_numbers(&(*(const struct firn_survey_commit *const *)a)->timestamp_ms,
                           &(*(const struct firn_survey_commit *const *)b)->timestamp_ms);
}

static int64_t between(int64_t begin_ms, int64_t end_ms)
{
    int64_t span;
    return __builtin_sub_overflow(end_ms, begin_ms, &span) ? INT64_MAX : span;
}

void firn_advise_batches_of(struct firn_op *op, const struct firn_survey *survey, struct firn_advise_batches *out)
{
    size_t count = 0;
    const struct firn_survey_commit **commits =
        FIRN_NEW_ARRAY(op->arena, const struct firn_survey_commit *, survey->commit_count);
    int64_t *scratch = FIRN_NEW_ARRAY(op->arena, int64_t, survey->commit_count);
    *out = (struct firn_advise_batches){ .writer = busiest_writer(survey) };
    for (size_t i = 0; i < survey->commit_count; i++)
        if (is_batch(&survey->commits[i]) && firn_text_same(survey->commits[i].writer, out->writer))
            commits[count++] = &survey->commits[i];
    if (count > 1)
        qsort(commits, count, sizeof *commits, compare_by_time);
    out->commits = (int64_t)count;
    out->span_ms = count > 0 ? between(commits[0]->timestamp_ms, commits[count - 1]->timestamp_ms) : 0;
    out->files = median_of(commits, count, offsetof(struct firn_survey_commit, added_files), scratch);
    out->bytes = median_of(commits, count, offsetof(struct firn_survey_commit, added_bytes), scratch);
    out->partitions = median_of(commits, count, offsetof(struct firn_survey_commit, changed_partitions), scratch);
    for (size_t i = 0; i + 1 < count; i++)
        scratch[i] = between(commits[i]->timestamp_ms, commits[i + 1]->timestamp_ms);
    out->interval_ms = median(scratch, count > 0 ? count - 1 : 0);
}

/* All together ------------------------------------------------------------------------------------------------------
 */

firn_status firn_advise_by_survey(struct firn_op *op, const struct firn_table *table, const struct firn_survey *survey,
                                  const struct firn_codec_sample *codecs, const struct firn_advise_options *options,
                                  struct firn_advise_report *out)
{
    struct firn_advising run = {
        .op = op,
        .table = table,
        .survey = survey,
        .codecs = codecs,
        .file_bytes = options->file_bytes > 0 ? options->file_bytes : survey->sizes.target_bytes,
        .latency_ms = LATENCY_MS_DEFAULT,
    };
    if (options->latency.len > 0)
        FIRN_TRY(firn_age_parse(op, "latency", options->latency, &run.latency_ms));
    firn_advise_batches_of(op, survey, &run.batches);
    firn_advise_shuffle(&run);
    firn_advise_interval(&run);
    firn_advise_distribution(&run);
    firn_advise_file_size(&run);
    firn_advise_codec(&run);
    FIRN_TRY(firn_advise_metrics(&run));
    firn_advise_partitioning(&run);
    firn_advise_updates(&run);
    *out = (struct firn_advise_report){
        .table = table->name,
        .writer = run.batches.writer,
        .commits = run.batches.commits,
        .span_ms = run.batches.span_ms,
        .items = run.items.items,
        .count = run.items.count,
    };
    for (size_t i = 0; i < out->count; i++)
        out->change_count += out->items[i].verdict == FIRN_ADVICE_CHANGE;
    return FIRN_OK;
}

firn_status firn_advise(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                        const struct firn_advise_options *options, struct firn_advise_report *out)
{
    struct firn_survey *survey = FIRN_NEW(op->arena, struct firn_survey);
    struct firn_codec_sample *codecs = FIRN_NEW(op->arena, struct firn_codec_sample);
    FIRN_TRY(firn_survey_take(op, pool, table, (struct firn_survey_options){ 0 }, survey));
    FIRN_TRY(firn_advise_sample_codecs(op, table, codecs));
    return firn_advise_by_survey(op, table, survey, codecs, options, out);
}

static json_t *advice_json(const struct firn_advice *advice)
{
    json_t *json = json_object(), *settings = json_array();
    firn_json_set_text(json, "topic", firn_text_of(advice->topic));
    firn_json_set_text(json, "verdict", firn_text_of(firn_advice_verdict_name(advice->verdict)));
    firn_json_set_text(json, "what", advice->what);
    firn_json_set_text(json, "why", advice->why);
    for (size_t i = 0; i < advice->setting_count; i++) {
        json_t *setting = json_object();
        firn_json_set_text(setting, "where", firn_text_of(advice->settings[i].where));
        firn_json_set_text(setting, "text", advice->settings[i].text);
        json_array_append_new(settings, setting);
    }
    firn_json_set(json, "settings", settings);
    return json;
}

json_t *firn_advise_json(struct firn_op *op, const struct firn_advise_report *report)
{
    json_t *json = firn_json_own(op->arena, json_object()), *items = json_array();
    firn_json_set_text(json, "table", report->table);
    firn_json_set_text_or_null(json, "writer", report->writer);
    firn_json_set_i64(json, "commits", report->commits);
    firn_json_set_i64(json, "span_ms", report->span_ms);
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(items, advice_json(&report->items[i]));
    firn_json_set(json, "advice", items);
    return json;
}
