/* Whether a step of maintenance is due, and what runs remember of one another. Pure. */
#include "maintain/maintain.h"

#include "base/math.h"
#include "base/time.h"
#include "format/json/json.h"
#include "maintain/age.h"

/* A step may begin this share of its interval early, at most an hour: timers drift. */
#define EARLY_SHARE  10
#define EARLY_MS_MAX FIRN_MS_PER_HOUR

const char *firn_maintain_step_name(enum firn_maintain_step step)
{
    return firn_step_kinds[step].name;
}

/* Memory ---------------------------------------------------------------------------------------------------------- */

static int64_t i64_member(const json_t *json, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(json, key);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : fallback;
}

void firn_maintain_memory_parse(const json_t *json, struct firn_maintain_memory *out)
{
    const json_t *last = json_object_get(json, "last_ms"), *settled = json_object_get(json, "settled");
    const json_t *settings = json_object_get(settled, "settings");
    *out = (struct firn_maintain_memory){ .settled_snapshot_id = FIRN_NO_SNAPSHOT };
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        out->last_ms[step] = i64_member(last, firn_step_kinds[step].name, FIRN_NEVER_RUN);
    if (!json_is_string(settings))
        return;
    out->settings = (struct firn_text){ json_string_value(settings), json_string_length(settings) };
    out->settled_number = i64_member(settled, "sequence_number", 0);
    out->cold_number = i64_member(settled, "cold_sequence_number", 0);
    out->settled_snapshot_id = i64_member(settled, "snapshot_id", FIRN_NO_SNAPSHOT);
}

json_t *firn_maintain_memory_json(const struct firn_maintain_memory *memory)
{
    json_t *json = json_object(), *last = json_object(), *settled = json_object();
    for (int step = 0; step < FIRN_STEP_COUNT; step++)
        if (memory->last_ms[step] != FIRN_NEVER_RUN)
            firn_json_set_i64(last, firn_step_kinds[step].name, memory->last_ms[step]);
    firn_json_set(json, "last_ms", last);
    firn_json_set_text(settled, "settings", memory->settings);
    firn_json_set_i64(settled, "sequence_number", memory->settled_number);
    firn_json_set_i64(settled, "cold_sequence_number", memory->cold_number);
    firn_json_set_i64(settled, "snapshot_id", memory->settled_snapshot_id);
    firn_json_set(json, "settled", settled);
    return json;
}

/* Decisions ------------------------------------------------------------------------------------------------------- */

static struct firn_text time_text(struct firn_arena *arena, int64_t ms)
{
    return firn_text_format(arena, "%.*sZ", FIRN_FMT(firn_timestamp_text(arena, firn_floor_div(ms, 1000), 1, 'T')));
}

static struct firn_step_decision not_due(struct firn_text why, int64_t next_ms)
{
    return (struct firn_step_decision){ .why = why, .next_ms = next_ms };
}

static struct firn_step_decision due(struct firn_text why)
{
    return (struct firn_step_decision){ .is_due = true, .why = why, .next_ms = FIRN_NEVER_RUN };
}

/* When the interval is up, a little early. */
static int64_t due_ms(int64_t last_ms, int64_t every_ms)
{
    int64_t early_ms = FIRN_MIN(every_ms / EARLY_SHARE, EARLY_MS_MAX), at_ms;
    return __builtin_add_overflow(last_ms, every_ms - early_ms, &at_ms) ? INT64_MAX : at_ms;
}

/* A step's own windows, or those of the table. */
static struct firn_text windows_of(const struct firn_policy *policy, const struct firn_step_kind *kind)
{
    struct firn_text own = firn_policy_text(policy, kind->windows);
    return own.len > 0 ? own : firn_policy_text(policy, FIRN_POLICY_WINDOWS);
}

/* What no cadence decides. False: nothing stands in the way. */
static bool is_ruled_out(struct firn_arena *arena, const struct firn_maintain_args *args,
                         const struct firn_metadata *metadata, enum firn_maintain_step step,
                         struct firn_step_decision *out)
{
    const struct firn_policy_value *enabled = &args->policy->values[FIRN_POLICY_ENABLED];
    *out = not_due(FIRN_TEXT("it was not asked for"), FIRN_NEVER_RUN);
    if (args->steps && !(args->steps >> step & 1))
        return true;
    out->why = firn_text_format(arena, "enabled is false (%.*s)", FIRN_FMT(enabled->from));
    if (!enabled->number)
        return true;
    out->why = FIRN_TEXT("gc.enabled=false: the table keeps its files for others");
    return firn_step_kinds[step].deletes && !firn_property_bool(metadata, "gc.enabled", true);
}

/* By cadence alone. */
static struct firn_step_decision decide_cadence(struct firn_arena *arena, const struct firn_policy *policy,
                                                const struct firn_step_kind *kind, int64_t last_ms, int64_t now_ms)
{
    const struct firn_policy_value *every = &policy->values[kind->every];
    if (every->number == FIRN_POLICY_NEVER)
        return not_due(firn_text_format(arena, "%s.every is never (%.*s)", kind->name, FIRN_FMT(every->from)),
                       FIRN_NEVER_RUN);
    if (last_ms == FIRN_NEVER_RUN)
        return due(FIRN_TEXT("no run of it is known"));
    struct firn_text last = time_text(arena, last_ms);
    if (last_ms > now_ms) /* a clock was wrong then, or is now: once too often is better than never again */
        return due(firn_text_format(arena, "it ran last at %.*s, which is in the future", FIRN_FMT(last)));
    if (now_ms >= due_ms(last_ms, every->number))
        return due(firn_text_format(arena, "it ran last at %.*s, and %s.every is %.*s", FIRN_FMT(last), kind->name,
                                    FIRN_FMT(every->text)));
    return not_due(firn_text_format(arena, "it ran at %.*s, and %s.every is %.*s (%.*s)", FIRN_FMT(last), kind->name,
                                    FIRN_FMT(every->text), FIRN_FMT(every->from)),
                   due_ms(last_ms, every->number));
}

struct firn_step_decision firn_step_decide(struct firn_arena *arena, const struct firn_maintain_args *args,
                                           const struct firn_metadata *metadata,
                                           const struct firn_maintain_memory *memory, enum firn_maintain_step step,
                                           int64_t now_ms)
{
    const struct firn_step_kind *kind = &firn_step_kinds[step];
    struct firn_text windows = windows_of(args->policy, kind);
    struct firn_step_decision decision;
    if (is_ruled_out(arena, args, metadata, step, &decision))
        return decision;
    if (args->force)
        return due(FIRN_TEXT("it was asked for, whatever its cadence"));
    decision = decide_cadence(arena, args->policy, kind, memory->last_ms[step], now_ms);
    if (!decision.is_due) {
        if (decision.next_ms != FIRN_NEVER_RUN)
            decision.next_ms = firn_windows_next(windows, decision.next_ms);
        return decision;
    }
    if (firn_windows_open(windows, now_ms))
        return decision;
    return not_due(
        firn_text_format(arena, "%.*s, but it begins in %.*s (UTC) only", FIRN_FMT(decision.why), FIRN_FMT(windows)),
        firn_windows_next(windows, now_ms));
}
