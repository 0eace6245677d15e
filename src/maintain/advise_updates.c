/* Advice on how rows are updated and deleted: by files written anew, or by delete files that readers apply. */
#include "base/math.h"
#include "maintain/advise.h"
#include "maintain/age.h"

/* Copy-on-write is too much when this many updates a day write either this share of the table anew a day, or this many
 * bytes for each that comes in. */
#define UPDATES_A_DAY_MANY   4.0
#define REWRITTEN_SHARE_MANY 0.5
#define AMPLIFICATION_MANY   10.0

/* Merge-on-read is not needed when updates are rarer than this. */
#define UPDATES_A_DAY_FEW 1.5

/* Updates of all writers but compactions. */
struct updates {
    int64_t copying;  /* commits that wrote files anew */
    int64_t merging;  /* that added position deletes or vectors */
    int64_t equality; /* that added equality deletes */
    int64_t rewritten_bytes, added_bytes;
    int64_t first_ms, last_ms;
};

/* Commits that replace whole partitions or the whole table, or only remove files, are no updates of rows. */
static bool copies_rows(const struct firn_survey_commit *commit)
{
    bool replaces_all = commit->total_files == commit->added_files;
    return commit->removed_files > 0 && commit->added_files > 0 && !commit->replaces_partitions && !replaces_all;
}

static void count_commit(const struct firn_survey_commit *commit, struct updates *updates)
{
    if (firn_text_is(commit->operation, "replace"))
        return;
    updates->first_ms = FIRN_MIN(updates->first_ms, commit->timestamp_ms);
    updates->last_ms = FIRN_MAX(updates->last_ms, commit->timestamp_ms);
    firn_survey_add(&updates->added_bytes, commit->added_bytes);
    if (commit->added_equality_files > 0)
        updates->equality++;
    else if (commit->added_delete_files > 0)
        updates->merging++;
    else if (copies_rows(commit)) {
        updates->copying++;
        firn_survey_add(&updates->rewritten_bytes, commit->removed_bytes);
    }
}

static struct updates count_updates(const struct firn_survey *survey)
{
    struct updates updates = { .first_ms = INT64_MAX, .last_ms = INT64_MIN };
    for (size_t i = 0; i < survey->commit_count; i++)
        count_commit(&survey->commits[i], &updates);
    return updates;
}

/* At least one. */
static double days_of(const struct updates *updates)
{
    double days = ((double)updates->last_ms - (double)updates->first_ms) / (double)FIRN_MS_PER_DAY;
    return FIRN_MAX(days, 1.0);
}

static void set_modes(struct firn_advising *run, struct firn_advice *advice, struct firn_text mode)
{
    struct firn_property properties[4] = {
        { FIRN_TEXT("write.delete.mode"), mode },
        { FIRN_TEXT("write.update.mode"), mode },
        { FIRN_TEXT("write.merge.mode"), mode },
        { FIRN_TEXT("format-version"), FIRN_TEXT("2") }, /* delete files need it */
    };
    bool is_too_old = firn_text_is(mode, "merge-on-read") && run->survey->metadata->format_version < 2;
    firn_advise_set_properties(run, advice, properties, is_too_old ? 4 : 3);
}

/* "96 updates in 2.0 days wrote 48.0 GiB anew" */
static struct firn_text copying_text(const struct firn_advising *run, const struct updates *updates)
{
    double incoming = FIRN_MAX((double)updates->added_bytes - (double)updates->rewritten_bytes, 1);
    return firn_text_format(
        run->op->arena,
        "%.*s updates in %.1f days wrote %.*s of files anew, %.1f for each byte that came in, of a table of %.*s",
        FIRN_FMT(firn_advise_count(run, updates->copying)), days_of(updates),
        FIRN_FMT(firn_advise_bytes(run, (double)updates->rewritten_bytes)), (double)updates->rewritten_bytes / incoming,
        FIRN_FMT(firn_advise_bytes(run, (double)run->survey->total.data.bytes)));
}

static bool writes_too_much(const struct firn_advising *run, const struct updates *updates)
{
    double days = days_of(updates), rewritten = (double)updates->rewritten_bytes;
    double incoming = FIRN_MAX((double)updates->added_bytes - rewritten, 1);
    return (double)updates->copying / days >= UPDATES_A_DAY_MANY &&
           (rewritten / days >= REWRITTEN_SHARE_MANY * (double)run->survey->total.data.bytes ||
            rewritten / incoming >= AMPLIFICATION_MANY);
}

static void judge_copying(struct firn_advising *run, const struct updates *updates)
{
    static const char topic[] = "update-mode";
    struct firn_text why = copying_text(run, updates);
    if (!writes_too_much(run, updates)) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE, FIRN_TEXT("copy-on-write suits as few updates"), why);
        return;
    }
    struct firn_text what = FIRN_TEXT("update by merge-on-read, and compact often");
    set_modes(run, firn_advise_add(run, topic, FIRN_ADVICE_CHANGE, what, why), FIRN_TEXT("merge-on-read"));
}

static void judge_merging(struct firn_advising *run, const struct updates *updates)
{
    static const char topic[] = "update-mode";
    const struct firn_survey_content *total = &run->survey->total;
    double a_day = (double)updates->merging / days_of(updates);
    struct firn_text why =
        firn_text_format(run->op->arena,
                         "%.*s updates in %.1f days by delete files; a scan opens delete files %.*s times, for %.*s of "
                         "%.*s data files",
                         FIRN_FMT(firn_advise_count(run, updates->merging)), days_of(updates),
                         FIRN_FMT(firn_advise_count(run, total->delete_reads)),
                         FIRN_FMT(firn_advise_count(run, total->deleted_from.files)),
                         FIRN_FMT(firn_advise_count(run, total->data.files)));
    if (a_day > UPDATES_A_DAY_FEW || total->delete_reads == 0) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE, FIRN_TEXT("merge-on-read suits as many updates"), why);
        return;
    }
    struct firn_text what = FIRN_TEXT("update by copy-on-write: it is rare, and every reader pays for delete files");
    set_modes(run, firn_advise_add(run, topic, FIRN_ADVICE_CHANGE, what, why), FIRN_TEXT("copy-on-write"));
}

static void judge_equality(struct firn_advising *run, const struct updates *updates)
{
    struct firn_arena *arena = run->op->arena;
    struct firn_text why =
        firn_text_format(arena,
                         "%.*s commits in %.1f days added equality deletes, which streamed upserts have no other way "
                         "for; a scan opens delete files %.*s times",
                         FIRN_FMT(firn_advise_count(run, updates->equality)), days_of(updates),
                         FIRN_FMT(firn_advise_count(run, run->survey->total.delete_reads)));
    struct firn_advice *advice =
        firn_advise_add(run, "update-mode", FIRN_ADVICE_CHANGE,
                        FIRN_TEXT("turn equality deletes into positions, often: no setting of the writer does"), why);
    firn_advise_set(advice, "firn", firn_remedy_command(arena, run->table, "convert-equality-deletes", ""));
}

void firn_advise_updates(struct firn_advising *run)
{
    static const char topic[] = "update-mode";
    struct updates updates = count_updates(run->survey);
    int64_t count = updates.copying + updates.merging + updates.equality;
    struct firn_text kept = firn_advise_count(run, (int64_t)run->survey->commit_count);
    if (run->survey->commit_count >= FIRN_ADVISE_COMMITS_MIN && count == 0) {
        firn_advise_add(
            run, topic, FIRN_ADVICE_FINE, FIRN_TEXT("rows are not updated"),
            firn_text_format(run->op->arena, "none of %.*s commits updates or deletes rows", FIRN_FMT(kept)));
        return;
    }
    if (count < FIRN_ADVISE_UPDATES_MIN) {
        firn_advise_unknown(run, topic,
                            firn_text_format(run->op->arena, "%.*s of %.*s commits that are kept update or delete rows",
                                             FIRN_FMT(firn_advise_count(run, count)), FIRN_FMT(kept)));
        return;
    }
    if (updates.equality * 2 >= count)
        judge_equality(run, &updates);
    else if (updates.merging >= updates.copying)
        judge_merging(run, &updates);
    else
        judge_copying(run, &updates);
}
