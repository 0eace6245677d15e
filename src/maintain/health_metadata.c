/* What is ill about manifests, snapshots, references, the metadata file, and files that nothing refers to. */
#include "base/math.h"
#include "maintain/age.h"
#include "maintain/health.h"

static struct firn_text bytes_text(const struct firn_health_checks *checks, int64_t bytes)
{
    return firn_measure_bytes(checks->op->arena, (uint64_t)FIRN_MAX(bytes, 0));
}

static struct firn_text count_text(const struct firn_health_checks *checks, int64_t count)
{
    return firn_measure_count(checks->op->arena, count);
}

/* Manifests ---------------------------------------------------------------------------------------------------------
 */

/* How many manifests of one spec and kind rewriting would leave. */
static int64_t manifests_after(const struct firn_survey *survey, const struct firn_survey_manifests *kind)
{
    int64_t target = FIRN_MAX(survey->manifest_target_bytes, 1);
    int64_t count = kind->bytes / target + (kind->bytes % target != 0);
    return kind->entries == 0 ? 0 : FIRN_MIN(FIRN_MAX(count, 1), kind->count);
}

/* What rewriting the manifests of one spec gives; a spec is what one run takes. */
struct mendable {
    int32_t spec_id;
    int64_t fewer, bytes, count;
};

static struct mendable mendable_of(const struct firn_survey *survey, int32_t spec_id)
{
    struct mendable sum = { .spec_id = spec_id };
    for (size_t i = 0; i < survey->manifest_kind_count; i++) {
        const struct firn_survey_manifests *kind = &survey->manifests[i];
        int64_t fewer = kind->count - manifests_after(survey, kind);
        if (kind->spec_id != spec_id || fewer == 0)
            continue;
        sum.fewer += fewer;
        sum.count += kind->count;
        firn_survey_add(&sum.bytes, kind->bytes);
    }
    return sum;
}

static struct mendable most_mendable(const struct firn_survey *survey)
{
    struct mendable most = mendable_of(survey, survey->metadata->default_spec_id);
    for (size_t i = 0; i < survey->manifest_kind_count; i++) {
        struct mendable other = mendable_of(survey, survey->manifests[i].spec_id);
        if (other.fewer > most.fewer)
            most = other;
    }
    return most;
}

static struct firn_health_gain gain_of_manifests(const struct firn_survey *survey, int64_t fewer)
{
    int64_t count = firn_survey_manifests_total(survey).count;
    return (struct firn_health_gain){
        .manifests = fewer,
        .requests = fewer,
        .planning_us = (int64_t)((double)survey->planning_us * (double)fewer / (double)FIRN_MAX(count, 1)),
    };
}

static void check_manifests(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    struct firn_arena *arena = checks->op->arena;
    struct firn_survey_manifests total = firn_survey_manifests_total(survey);
    struct mendable mendable = most_mendable(survey);
    bool is_other_spec = mendable.spec_id != survey->metadata->default_spec_id;
    enum firn_health_level level;
    if (!firn_health_judge(checks->limits, FIRN_HEALTH_MANIFESTS, (double)total.count, &level) || mendable.fewer == 0)
        return;
    struct firn_text none = FIRN_TEXT("");
    struct firn_text spec = is_other_spec ? firn_text_format(arena, "--spec-id %d", mendable.spec_id) : none;
    struct firn_text spec_sql = is_other_spec ? firn_text_format(arena, "spec_id => %d", mendable.spec_id) : none;
    firn_health_add(
        checks,
        (struct firn_health_finding){
            .level = level,
            .code = "manifests",
            .symptom = firn_text_format(
                arena, "%.*s manifests of %.*s on average, the target is %.*s; they list %.1f files each",
                FIRN_FMT(count_text(checks, total.count)), FIRN_FMT(bytes_text(checks, total.bytes / total.count)),
                FIRN_FMT(bytes_text(checks, survey->manifest_target_bytes)),
                (double)total.entries / (double)total.count),
            .cause = FIRN_TEXT("every commit adds a manifest; planning opens each that its filter cannot rule out"),
            .command = firn_health_command(checks, "rewrite-manifests", spec.data),
            .call = firn_health_call(checks, "rewrite_manifests", spec_sql.data),
            .cost = { .bytes = mendable.bytes, .files = mendable.count },
            .gain = gain_of_manifests(survey, mendable.fewer),
        });
}

/* Snapshots ---------------------------------------------------------------------------------------------------------
 */

/* Of two judgements the worse; false: neither is beyond its limit. */
static bool judge_expirable(const struct firn_health_checks *checks, enum firn_health_level *level)
{
    const struct firn_survey *survey = checks->survey;
    enum firn_health_level by_bytes;
    double share =
        survey->total.data.bytes > 0 ? (double)survey->expirable_bytes / (double)survey->total.data.bytes : 0;
    bool many =
        firn_health_judge(checks->limits, FIRN_HEALTH_EXPIRABLE_SNAPSHOTS, (double)survey->expirable_snapshots, level);
    bool large = survey->expirable_snapshots > 0 &&
                 firn_health_judge(checks->limits, FIRN_HEALTH_EXPIRABLE_BYTES, share, &by_bytes);
    if (large)
        *level = many ? FIRN_MAX(*level, by_bytes) : by_bytes;
    return many || large;
}

static void check_snapshots(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    enum firn_health_level level;
    if (!judge_expirable(checks, &level))
        return;
    firn_health_add(
        checks,
        (struct firn_health_finding){
            .level = level,
            .code = "snapshots",
            .symptom = firn_text_format(
                checks->op->arena,
                "%.*s of %.*s snapshots are older than the table keeps them; they hold about %.*s that left the table",
                FIRN_FMT(count_text(checks, survey->expirable_snapshots)),
                FIRN_FMT(count_text(checks, (int64_t)survey->commit_count)),
                FIRN_FMT(bytes_text(checks, survey->expirable_bytes))),
            .cause = FIRN_TEXT("snapshots are not expired, or not often enough"),
            .command = firn_health_command(checks, "expire-snapshots", ""),
            .call = firn_health_call(checks, "expire_snapshots", ""),
            .gain = { .bytes = survey->expirable_bytes },
        });
}

static void check_metadata_file(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    enum firn_health_level level;
    if (!firn_health_judge(checks->limits, FIRN_HEALTH_METADATA_BYTES, (double)survey->metadata_bytes, &level))
        return;
    struct firn_health_finding finding = {
        .level = level,
        .code = "metadata-file",
        .symptom = firn_text_format(checks->op->arena,
                                    "metadata.json is %.*s; every reader loads it, every commit writes it anew (%.*s "
                                    "snapshots, %" PRIu32 " schemas, %" PRIu32 " partition specs)",
                                    FIRN_FMT(bytes_text(checks, survey->metadata_bytes)),
                                    FIRN_FMT(count_text(checks, (int64_t)survey->commit_count)),
                                    survey->metadata->schema_count, survey->metadata->spec_count),
        .cause = FIRN_TEXT("snapshots that are kept longer than needed, or schemas that nothing uses any more"),
        .advice = FIRN_TEXT("a shorter history.expire.max-snapshot-age-ms, fewer commits, and "
                            "write.metadata.compression-codec=gzip keep it small"),
    };
    if (survey->expirable_snapshots > 0 || survey->metadata->schema_count > 1) {
        finding.command = firn_health_command(checks, "expire-snapshots", "--clean-expired-metadata");
        finding.call = firn_health_call(checks, "expire_snapshots", "clean_expired_metadata => true");
    }
    firn_health_add(checks, finding);
}

/* References --------------------------------------------------------------------------------------------------------
 */

static bool is_stale(const struct firn_health_checks *checks, const struct firn_survey_ref *ref)
{
    enum firn_health_level level;
    double days = (double)(checks->survey->now_ms - ref->snapshot_ms) / (double)FIRN_MS_PER_DAY;
    return !firn_text_is(ref->name, "main") && ref->ref_age_ms_max < 0 && !ref->is_expirable && ref->snapshot_ms >= 0 &&
           firn_health_judge(checks->limits, FIRN_HEALTH_REF_DAYS, days, &level);
}

static void check_refs(struct firn_health_checks *checks)
{
    const struct firn_survey_ref *oldest = NULL;
    struct firn_arena *arena = checks->op->arena;
    int64_t count = 0;
    for (size_t i = 0; i < checks->survey->ref_count; i++) {
        const struct firn_survey_ref *ref = &checks->survey->refs[i];
        if (!is_stale(checks, ref))
            continue;
        count++;
        if (!oldest || ref->snapshot_ms < oldest->snapshot_ms)
            oldest = ref;
    }
    if (!oldest)
        return;
    const char *kind = oldest->is_tag ? "tag" : "branch";
    struct firn_text drop =
        firn_text_format(arena, "DROP %s `%.*s`", oldest->is_tag ? "TAG" : "BRANCH", FIRN_FMT(oldest->name));
    firn_health_add(
        checks,
        (struct firn_health_finding){
            .level = FIRN_HEALTH_NOTICE,
            .code = "stale-refs",
            .symptom = firn_text_format(
                arena, "%.*s branches and tags of old snapshots are kept for ever; the oldest is %s %.*s, of %.*s ago",
                FIRN_FMT(count_text(checks, count)), kind, FIRN_FMT(oldest->name),
                FIRN_FMT(firn_measure_duration(arena, checks->survey->now_ms - oldest->snapshot_ms))),
            .cause = FIRN_TEXT("they were made without a retention of their own"),
            .command = firn_health_command(checks, oldest->is_tag ? "drop-tag" : "drop-branch",
                                           firn_text_copy(arena, firn_health_word(checks, oldest->name)).data),
            .call = firn_health_alter(checks, drop),
            .advice = FIRN_TEXT("if it is still wanted, make it anew with --or-replace and --retain"),
        });
}

/* Orphans -----------------------------------------------------------------------------------------------------------
 */

static void check_orphans(struct firn_health_checks *checks)
{
    const struct firn_survey *survey = checks->survey;
    enum firn_health_level level;
    double live = (double)FIRN_MAX(survey->total.data.bytes, 1);
    if (survey->orphan_files <= 0 ||
        !firn_health_judge(checks->limits, FIRN_HEALTH_ORPHAN_BYTES, (double)survey->orphan_bytes / live, &level))
        return;
    firn_health_add(
        checks, (struct firn_health_finding){
                    .level = level,
                    .code = "orphans",
                    .symptom = firn_text_format(checks->op->arena,
                                                "%.*s files, %.*s, lie below the table's location and nothing refers "
                                                "to them",
                                                FIRN_FMT(count_text(checks, survey->orphan_files)),
                                                FIRN_FMT(bytes_text(checks, survey->orphan_bytes))),
                    .cause = FIRN_TEXT("jobs that died before they committed"),
                    .command = firn_health_command(checks, "remove-orphan-files", ""),
                    .call = firn_health_call(checks, "remove_orphan_files", ""),
                    .gain = { .bytes = survey->orphan_bytes },
                });
}

void firn_health_check_metadata(struct firn_health_checks *checks)
{
    check_manifests(checks);
    check_snapshots(checks);
    check_metadata_file(checks);
    check_refs(checks);
    check_orphans(checks);
}
