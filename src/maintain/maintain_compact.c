/* The step compact: rewrite_data_files for what changed since the last time and is worth it, and once more for what has
 * grown cold. What it settled is remembered as sequence numbers. */
#include "maintain/maintain.h"

#include "base/math.h"
#include "firn/measure.h"
#include "format/json/json.h"

/* What decides whether a group that was left once would be left again. */
static struct firn_text settings_of(struct firn_arena *arena, const struct firn_policy *policy,
                                    const struct firn_metadata *metadata)
{
    struct firn_text text =
        firn_text_format(arena, "spec=%" PRId32 " target=%.*s", metadata->default_spec_id,
                         FIRN_FMT(firn_property_text(metadata, "write.target-file-size-bytes", FIRN_TEXT(""))));
    for (int key = FIRN_POLICY_COMPACT_WHERE; key < FIRN_POLICY_COMPACT_PARTIAL_PROGRESS; key++)
        text = firn_text_format(arena, "%.*s %s=%.*s", FIRN_FMT(text), firn_policy_key_name((enum firn_policy_key)key),
                                FIRN_FMT(policy->values[key].text));
    return text;
}

/* The highest sequence number of a snapshot that is older than `age_ms`, in the history of the head; `fallback` where
 * that has expired. */
static int64_t number_at_age(const struct firn_metadata *metadata, int64_t now_ms, int64_t age_ms, int64_t fallback)
{
    const struct firn_snapshot *at = firn_metadata_current(metadata);
    for (uint32_t step = 0; at && step < metadata->snapshot_count; step++) {
        if (at->timestamp_ms <= now_ms - age_ms)
            return FIRN_MAX(at->sequence_number, fallback);
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    return fallback;
}

/* Whether what was settled is still in the table: a rollback may have undone it. */
static bool is_still_settled(const struct firn_metadata *metadata, const struct firn_maintain_memory *memory,
                             struct firn_text settings)
{
    int64_t id = memory->settled_snapshot_id;
    if (!firn_text_same(memory->settings, settings))
        return false;
    return !firn_metadata_snapshot(metadata, id) ||
           firn_metadata_is_ancestor(metadata, metadata->current_snapshot_id, id);
}

struct compaction {
    struct firn_rewrite_worth worth;
    struct firn_rewrite_plan *plan;
    struct firn_text settings;
};

static struct firn_rewrite_worth worth_of(const struct firn_step_turn *turn, struct firn_text settings)
{
    const struct firn_policy *policy = turn->args->policy;
    const struct firn_metadata *metadata = turn->table->metadata;
    bool is_known = is_still_settled(metadata, turn->memory, settings);
    int64_t cold_done = is_known ? turn->memory->cold_number : 0;
    int64_t cold_after_ms = firn_policy_number(policy, FIRN_POLICY_COMPACT_COLD_AFTER);
    return (struct firn_rewrite_worth){
        .settled_number = is_known ? turn->memory->settled_number : 0,
        .cold_done_number = cold_done,
        .cold_number = cold_after_ms == FIRN_POLICY_NEVER
                           ? cold_done
                           : number_at_age(metadata, turn->now_ms, cold_after_ms, cold_done),
        .cold_input_files_min = firn_policy_number(policy, FIRN_POLICY_COMPACT_COLD_MIN_INPUT_FILES),
        .bytes_per_file_saved_max = firn_policy_number(policy, FIRN_POLICY_COMPACT_MAX_BYTES_PER_FILE_SAVED),
    };
}

static int64_t limit_of(int64_t number)
{
    return number == FIRN_POLICY_UNSET ? 0 : number;
}

struct firn_rewrite_limits firn_compact_limits(const struct firn_policy *policy)
{
    return (struct firn_rewrite_limits){
        .bytes_max = limit_of(firn_policy_number(policy, FIRN_POLICY_BUDGET_BYTES)),
        .requests_max = limit_of(firn_policy_number(policy, FIRN_POLICY_BUDGET_REQUESTS)),
    };
}

/* The options of rewrite_data_files that policies have, by number or as they were written. */
static const struct {
    enum firn_policy_key key;
    const char *option;
    bool as_written;
} option_keys[] = {
    { FIRN_POLICY_COMPACT_MIN_INPUT_FILES, "min-input-files", false },
    { FIRN_POLICY_COMPACT_TARGET_FILE_BYTES, "target-file-size-bytes", false },
    { FIRN_POLICY_COMPACT_MIN_FILE_BYTES, "min-file-size-bytes", false },
    { FIRN_POLICY_COMPACT_MAX_FILE_BYTES, "max-file-size-bytes", false },
    { FIRN_POLICY_COMPACT_MAX_GROUP_BYTES, "max-file-group-size-bytes", false },
    { FIRN_POLICY_COMPACT_DELETE_FILE_THRESHOLD, "delete-file-threshold", false },
    { FIRN_POLICY_COMPACT_DELETE_RATIO_THRESHOLD, "delete-ratio-threshold", true },
    { FIRN_POLICY_COMPACT_PARTIAL_PROGRESS, "partial-progress.enabled", true },
    { FIRN_POLICY_COMPACT_MAX_COMMITS, "partial-progress.max-commits", false },
};

_Static_assert(FIRN_COUNT_OF(option_keys) == FIRN_COMPACT_OPTIONS_MAX, "room for every option");

size_t firn_compact_options(struct firn_arena *arena, const struct firn_policy *policy, struct firn_property *out)
{
    size_t count = 0;
    for (size_t i = 0; i < FIRN_COUNT_OF(option_keys); i++) {
        const struct firn_policy_value *value = &policy->values[option_keys[i].key];
        bool counts_commits = option_keys[i].key == FIRN_POLICY_COMPACT_MAX_COMMITS;
        if (value->text.len == 0 || (counts_commits && !firn_policy_flag(policy, FIRN_POLICY_COMPACT_PARTIAL_PROGRESS)))
            continue;
        out[count++] = (struct firn_property){
            .key = firn_text_of(option_keys[i].option),
            .value = option_keys[i].as_written ? value->text : firn_text_format(arena, "%" PRId64, value->number),
        };
    }
    return count;
}

static firn_status plan_rewrite(struct firn_op *op, struct firn_step_turn *turn, struct compaction *compaction)
{
    const struct firn_policy *policy = turn->args->policy;
    struct firn_property options[FIRN_COUNT_OF(option_keys)];
    bool sorts = firn_policy_number(policy, FIRN_POLICY_COMPACT_STRATEGY) == 1;
    struct firn_rewrite_data_files_args args = {
        .strategy = firn_policy_text(policy, FIRN_POLICY_COMPACT_STRATEGY),
        .sort_order = sorts ? firn_policy_text(policy, FIRN_POLICY_COMPACT_SORT_ORDER) : FIRN_TEXT(""),
        .where = firn_policy_text(policy, FIRN_POLICY_COMPACT_WHERE),
        .options = options,
        .option_count = firn_compact_options(op->arena, policy, options),
        .memory_bytes_max = turn->args->memory_bytes_max,
        .worth = &compaction->worth,
        .limits = firn_compact_limits(policy),
    };
    args.limits.time_ms_max = turn->time_ms_left;
    return firn_rewrite_data_files_plan(op, turn->pool, turn->table, &args, &compaction->plan);
}

/* "12 of 40 groups, ..."; what is left is told by the plan, file by file. */
static struct firn_text describe(struct firn_arena *arena, const struct firn_rewrite_plan *plan)
{
    uint32_t left[FIRN_GROUP_OVER_REQUESTS + 1] = { 0 };
    int64_t files = 0, bytes = 0, outputs = 0;
    for (uint32_t i = 0; i < plan->packed_count; i++)
        left[plan->packed[i].verdict]++;
    for (uint32_t i = 0; i < plan->group_count; i++) {
        files += plan->groups[i]->file_count;
        bytes += plan->groups[i]->bytes;
        outputs += plan->groups[i]->output_count;
    }
    struct firn_text text = firn_text_format(arena, "%u groups of %.*s files, %.*s, become about %.*s files",
                                             plan->group_count, FIRN_FMT(firn_measure_count(arena, files)),
                                             FIRN_FMT(firn_measure_bytes(arena, (uint64_t)bytes)),
                                             FIRN_FMT(firn_measure_count(arena, outputs)));
    if (plan->group_count == 0)
        text = firn_text_format(arena, "of %u files, none need be rewritten", plan->file_count);
    const struct {
        enum firn_group_verdict verdict;
        const char *words;
    } reasons[] = {
        { FIRN_GROUP_UNCHANGED, "unchanged since the last run" },
        { FIRN_GROUP_FEW, "of too few files" },
        { FIRN_GROUP_DEAR, "that do not pay yet" },
        { FIRN_GROUP_SETTLED, "settled by earlier runs" },
        { FIRN_GROUP_NO_GAIN, "that would not be fewer files" },
        { FIRN_GROUP_OVER_BYTES, "beyond the budget of bytes" },
        { FIRN_GROUP_OVER_REQUESTS, "beyond the budget of requests" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(reasons); i++)
        if (left[reasons[i].verdict] > 0)
            text = firn_text_format(arena, "%.*s; left: %u groups %s", FIRN_FMT(text), left[reasons[i].verdict],
                                    reasons[i].words);
    return text;
}

firn_status firn_compact_plan(struct firn_op *op, struct firn_step_turn *turn)
{
    struct compaction *compaction = FIRN_NEW(op->arena, struct compaction);
    compaction->settings = settings_of(op->arena, turn->args->policy, turn->table->metadata);
    compaction->worth = worth_of(turn, compaction->settings);
    FIRN_TRY(plan_rewrite(op, turn, compaction));
    turn->plan = compaction;
    turn->has_work = compaction->plan->group_count > 0;
    turn->work = describe(op->arena, compaction->plan);
    return FIRN_OK;
}

json_t *firn_compact_json(struct firn_op *op, const struct firn_step_turn *turn)
{
    const struct compaction *compaction = turn->plan;
    return firn_rewrite_plan_json(op, compaction->plan);
}

struct firn_work firn_compact_work(const struct firn_step_turn *turn)
{
    const struct compaction *compaction = turn->plan;
    return firn_rewrite_plan_work(compaction->plan);
}

static json_t *result_of(struct firn_op *op, const struct firn_rewrite_data_files_report *report)
{
    json_t *json = firn_json_own(op->arena, json_object());
    firn_json_set_i64(json, "rewritten_data_files_count", report->rewritten_data_files_count);
    firn_json_set_i64(json, "added_data_files_count", report->added_data_files_count);
    firn_json_set_i64(json, "rewritten_bytes_count", report->rewritten_bytes_count);
    firn_json_set_i64(json, "added_bytes_count", report->added_bytes_count);
    firn_json_set_i64(json, "failed_data_files_count", report->failed_data_files_count);
    firn_json_set_i64(json, "removed_delete_files_count", report->removed_delete_files_count);
    firn_json_set_i64(json, "left_alone_files_count", report->left_alone_files_count);
    firn_json_set_i64(json, "reused_groups_count", report->reused_groups_count);
    firn_json_set_i64(json, "leftover_files_count", report->leftover_files_count);
    firn_json_set_i64(json, "left_groups_count", report->left.groups);
    firn_json_set_i64(json, "left_files_count", report->left.files);
    firn_json_set_i64(json, "left_bytes_count", report->left.bytes);
    firn_json_set_i64(json, "commits", report->commits);
    return json;
}

/* A run that left something for want of budget has settled nothing new. */
static void remember(const struct firn_step_turn *turn, const struct compaction *compaction,
                     const struct firn_rewrite_data_files_report *report)
{
    const struct firn_rewrite_plan *plan = compaction->plan;
    if (!plan->snapshot || plan->is_capped || report->left.groups > 0)
        return;
    turn->next->settings = compaction->settings;
    turn->next->settled_number = plan->snapshot->sequence_number;
    turn->next->cold_number = compaction->worth.cold_number;
    turn->next->settled_snapshot_id = turn->table->metadata->current_snapshot_id;
}

firn_status firn_compact_apply(struct firn_op *op, struct firn_step_turn *turn)
{
    const struct compaction *compaction = turn->plan;
    struct firn_rewrite_data_files_report report;
    firn_status status = firn_rewrite_data_files_apply(op, turn->pool, turn->table, compaction->plan,
                                                       firn_step_begins(op, turn), &report);
    turn->result = result_of(op, &report);
    if (status == FIRN_OK)
        remember(turn, compaction, &report);
    return status;
}
