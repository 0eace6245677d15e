/* Which snapshots and references go. Reference: procedures.md, 6.1 and 6.3; Iceberg spec, "Snapshot Retention Policy".
 * The invariants stand in expire_snapshots.h; numbers in comments refer to them. */
#include "maintain/expire_snapshots.h"

#include "base/math.h"
#include "maintain/age.h"

#define SNAPSHOT_AGE_MS_DEFAULT INT64_C(432000000)

/* `now` less an age; an age of any size gives a time in the past. */
static int64_t time_before(int64_t now_ms, int64_t age_ms)
{
    int64_t time_ms;
    if (__builtin_sub_overflow(now_ms, age_ms, &time_ms))
        return age_ms > 0 ? INT64_MIN : INT64_MAX;
    return time_ms;
}

static firn_status read_properties(struct firn_op *op, const struct firn_metadata *metadata,
                                   struct firn_expiry_policy *out)
{
    int64_t age_ms;
    FIRN_TRY(firn_property_i64(op, metadata, "history.expire.max-snapshot-age-ms", SNAPSHOT_AGE_MS_DEFAULT, &age_ms));
    FIRN_TRY(firn_property_i64(op, metadata, "history.expire.min-snapshots-to-keep", 1, &out->retain_last));
    FIRN_TRY(firn_property_i64(op, metadata, "history.expire.max-ref-age-ms", INT64_MAX, &out->ref_age_ms_max));
    out->older_than_ms = time_before(out->now_ms, age_ms);
    return FIRN_OK;
}

firn_status firn_expiry_policy_of(struct firn_op *op, const struct firn_metadata *metadata,
                                  const struct firn_expire_snapshots_args *args, int64_t now_ms,
                                  struct firn_expiry_policy *out)
{
    *out = (struct firn_expiry_policy){
        .now_ms = now_ms,
        .snapshot_ids = args->snapshot_ids,
        .snapshot_id_count = args->snapshot_id_count,
    };
    FIRN_TRY(read_properties(op, metadata, out));
    if (args->older_than.len > 0)
        FIRN_TRY(firn_point_in_time_parse(op, "older-than", args->older_than, now_ms, &out->older_than_ms));
    if (args->retain_last < 0)
        return firn_fail(op, FIRN_USAGE, "--retain-last: at least 1 snapshot must be kept");
    if (args->retain_last > 0)
        out->retain_last = args->retain_last;
    return FIRN_OK;
}

/* What is known of each snapshot, by its place in the metadata. */
struct choosing {
    const struct firn_metadata *metadata;
    const struct firn_expiry_policy *policy;
    bool *is_kept;      /* by a branch or tag, or by its age where neither has it */
    bool *is_on_branch; /* in the whole history of a branch that stays */
    bool *is_head;      /* of a reference that stays */
    bool *ref_stays;    /* one a reference */
};

static size_t index_of(const struct choosing *choosing, const struct firn_snapshot *snapshot)
{
    return (size_t)(snapshot - choosing->metadata->snapshots);
}

static const struct firn_snapshot *parent_of(const struct choosing *choosing, const struct firn_snapshot *snapshot)
{
    return firn_metadata_snapshot(choosing->metadata, snapshot->parent_id);
}

/* Rule 1: a reference goes by the age of its snapshot; main never does. */
static bool ref_stays(const struct choosing *choosing, const struct firn_ref *ref)
{
    const struct firn_snapshot *snapshot = firn_metadata_snapshot(choosing->metadata, ref->snapshot_id);
    int64_t age_ms_max = ref->ref_age_ms_max >= 0 ? ref->ref_age_ms_max : choosing->policy->ref_age_ms_max;
    if (firn_text_is(ref->name, "main"))
        return true;
    return snapshot && snapshot->timestamp_ms >= time_before(choosing->policy->now_ms, age_ms_max);
}

/* Rule 3: the newest snapshots of a branch, and those that are young enough, up to the first that is neither. */
static void keep_of_branch(struct choosing *choosing, const struct firn_ref *ref, const struct firn_snapshot *head)
{
    const struct firn_expiry_policy *policy = choosing->policy;
    int64_t min = ref->snapshots_min_keep >= 0 ? ref->snapshots_min_keep : policy->retain_last, kept = 0;
    int64_t cutoff_ms =
        ref->snapshot_age_ms_max >= 0 ? time_before(policy->now_ms, ref->snapshot_age_ms_max) : policy->older_than_ms;
    const struct firn_snapshot *at = head;
    while (at && kept < choosing->metadata->snapshot_count && (kept < min || at->timestamp_ms >= cutoff_ms)) {
        choosing->is_kept[index_of(choosing, at)] = true;
        kept++;
        at = parent_of(choosing, at);
    }
    for (at = head; at && !choosing->is_on_branch[index_of(choosing, at)]; at = parent_of(choosing, at))
        choosing->is_on_branch[index_of(choosing, at)] = true;
}

static void keep_of_refs(struct choosing *choosing)
{
    const struct firn_metadata *metadata = choosing->metadata;
    for (uint32_t i = 0; i < metadata->ref_count; i++) {
        const struct firn_ref *ref = &metadata->refs[i];
        const struct firn_snapshot *head = firn_metadata_snapshot(metadata, ref->snapshot_id);
        choosing->ref_stays[i] = ref_stays(choosing, ref);
        if (!choosing->ref_stays[i] || !head)
            continue;
        choosing->is_head[index_of(choosing, head)] = true;
        choosing->is_kept[index_of(choosing, head)] = true; /* (3) */
        if (ref->type == FIRN_REF_BRANCH)
            keep_of_branch(choosing, ref, head);
    }
}

/* Rule 4: what no reference holds is kept by its age alone: staged snapshots, and those before a rollback. */
static void keep_of_age(struct choosing *choosing)
{
    for (uint32_t i = 0; i < choosing->metadata->snapshot_count; i++)
        if (!choosing->is_on_branch[i] && !choosing->is_head[i] &&
            choosing->metadata->snapshots[i].timestamp_ms >= choosing->policy->older_than_ms)
            choosing->is_kept[i] = true;
}

static struct firn_text names_of(struct firn_op *op, const struct choosing *choosing, int64_t id)
{
    struct firn_text names = FIRN_TEXT("");
    for (uint32_t i = 0; i < choosing->metadata->ref_count; i++) {
        const struct firn_ref *ref = &choosing->metadata->refs[i];
        if (choosing->ref_stays[i] && ref->snapshot_id == id)
            names =
                firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(names), names.len ? ", " : "", FIRN_FMT(ref->name));
    }
    return names;
}

/* Rule 2: ids that were named go even where 3 and 4 would keep them. */
static firn_status drop_given(struct firn_op *op, struct choosing *choosing, bool *is_given)
{
    for (size_t i = 0; i < choosing->policy->snapshot_id_count; i++) {
        int64_t id = choosing->policy->snapshot_ids[i];
        const struct firn_snapshot *snapshot = firn_metadata_snapshot(choosing->metadata, id);
        if (!snapshot)
            continue;
        if (choosing->is_head[index_of(choosing, snapshot)])
            return firn_fail(op, FIRN_USAGE, "snapshot %" PRId64 " cannot expire: %.*s still refers to it", id,
                             FIRN_FMT(names_of(op, choosing, id)));
        is_given[index_of(choosing, snapshot)] = true;
    }
    return FIRN_OK;
}

static void list_choice(struct firn_op *op, const struct choosing *choosing, const bool *is_given,
                        struct firn_expiry_choice *out)
{
    const struct firn_metadata *metadata = choosing->metadata;
    out->snapshots = FIRN_NEW_ARRAY(op->arena, struct firn_expired_snapshot, metadata->snapshot_count);
    out->refs = FIRN_NEW_ARRAY(op->arena, struct firn_expired_ref, metadata->ref_count);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        if (choosing->is_kept[i] && !is_given[i])
            continue;
        out->snapshots[out->snapshot_count++] = (struct firn_expired_snapshot){
            .snapshot = &metadata->snapshots[i],
            .reason = is_given[i]                 ? "named to expire"
                      : choosing->is_on_branch[i] ? "older than its branch keeps snapshots"
                                                  : "old, and in no branch or tag",
        };
    }
    for (uint32_t i = 0; i < metadata->ref_count; i++)
        if (!choosing->ref_stays[i])
            out->refs[out->ref_count++] =
                (struct firn_expired_ref){ &metadata->refs[i], "its snapshot is older than the reference is kept" };
}

firn_status firn_expiry_choose(struct firn_op *op, const struct firn_metadata *metadata,
                               const struct firn_expiry_policy *policy, struct firn_expiry_choice *out)
{
    uint32_t count = metadata->snapshot_count;
    struct choosing choosing = {
        .metadata = metadata,
        .policy = policy,
        .is_kept = FIRN_NEW_ARRAY(op->arena, bool, count),
        .is_on_branch = FIRN_NEW_ARRAY(op->arena, bool, count),
        .is_head = FIRN_NEW_ARRAY(op->arena, bool, count),
        .ref_stays = FIRN_NEW_ARRAY(op->arena, bool, metadata->ref_count),
    };
    bool *is_given = FIRN_NEW_ARRAY(op->arena, bool, count);
    *out = (struct firn_expiry_choice){ 0 };
    keep_of_refs(&choosing);
    keep_of_age(&choosing);
    FIRN_TRY(drop_given(op, &choosing, is_given));
    list_choice(op, &choosing, is_given, out);
    return FIRN_OK;
}

bool firn_expiry_choice_has(const struct firn_expiry_choice *choice, const struct firn_snapshot *snapshot)
{
    size_t low = 0, high = choice->snapshot_count; /* in the order of one array */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (choice->snapshots[middle].snapshot == snapshot)
            return true;
        if (choice->snapshots[middle].snapshot < snapshot)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Specs and schemas --------------------------------------------------------------------------------------------------
 */

/* Which specs the manifests of remaining snapshots use. */
struct used_specs {
    const struct firn_metadata *metadata;
    bool *is_used;
    bool all; /* a manifest without a list does not tell */
};

static firn_status note_spec(struct firn_op *op, void *context, const struct firn_table_file *file)
{
    (void)op;
    struct used_specs *used = context;
    if (file->type != FIRN_TABLE_FILE_MANIFEST)
        return FIRN_OK;
    used->all = used->all || file->spec_id < 0;
    for (uint32_t i = 0; i < used->metadata->spec_count; i++)
        if (used->metadata->specs[i].id == file->spec_id)
            used->is_used[i] = true;
    return FIRN_OK;
}

static bool schema_is_used(const struct firn_metadata *metadata, const struct firn_expiry_choice *choice, int32_t id)
{
    if (id == metadata->current_schema_id)
        return true;
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        const struct firn_snapshot *snapshot = &metadata->snapshots[i];
        if (snapshot->has_schema_id && snapshot->schema_id == id && !firn_expiry_choice_has(choice, snapshot))
            return true;
    }
    return false;
}

static firn_status find_used_specs(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                   const struct firn_expiry_choice *choice, struct used_specs *used)
{
    const struct firn_metadata *metadata = used->metadata;
    struct firn_reach_config config = { .pool = pool, .store = store };
    const struct firn_snapshot **remaining =
        FIRN_NEW_ARRAY(op->arena, const struct firn_snapshot *, metadata->snapshot_count);
    size_t count = 0;
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        if (!firn_expiry_choice_has(choice, &metadata->snapshots[i]))
            remaining[count++] = &metadata->snapshots[i];
    struct firn_reach *reach = firn_reach_open(&config);
    firn_status status = firn_reach_lists(op, reach, remaining, count, note_spec, used);
    firn_reach_close(reach);
    return status;
}

firn_status firn_expiry_choose_model(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                                     const struct firn_metadata *metadata, struct firn_expiry_choice *choice)
{
    struct used_specs used = { .metadata = metadata, .is_used = FIRN_NEW_ARRAY(op->arena, bool, metadata->spec_count) };
    if (metadata->spec_count > 1)
        FIRN_TRY(find_used_specs(op, pool, store, choice, &used));
    choice->spec_ids = FIRN_NEW_ARRAY(op->arena, int32_t, metadata->spec_count);
    choice->schema_ids = FIRN_NEW_ARRAY(op->arena, int32_t, metadata->schema_count);
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        if (!used.all && !used.is_used[i] && metadata->specs[i].id != metadata->default_spec_id)
            choice->spec_ids[choice->spec_count++] = metadata->specs[i].id;
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        if (!schema_is_used(metadata, choice, metadata->schemas[i].id))
            choice->schema_ids[choice->schema_count++] = metadata->schemas[i].id;
    return FIRN_OK;
}
