/* Branches, tags and rollbacks. Every change is decided from the newest metadata, anew for each attempt, and asserts
 * the references it was decided by. Reference: procedures.md, 9 and 10; Iceberg spec, "Snapshot References". */
#include "firn/refs.h"

#include "base/time.h"
#include "catalog/change.h"
#include "catalog/snapshot_producer.h"
#include "maintain/age.h"
#include "maintain/refs_retention.h"

#define MAIN FIRN_TEXT("main")

static firn_status unknown_snapshot(struct firn_op *op, int64_t id)
{
    return firn_fail(op, FIRN_NOT_FOUND, "the table has no snapshot %" PRId64, id);
}

/* Points a reference elsewhere, or makes it. `old` NULL: there was none. */
static void move_ref(struct firn_change *change, const struct firn_metadata *metadata, const struct firn_ref *old,
                     const struct firn_ref *new)
{
    firn_change_require_table(change, metadata);
    firn_change_require_ref(change, new->name, old ? old->snapshot_id : FIRN_NO_SNAPSHOT);
    firn_change_set_ref(change, new);
}

static struct firn_ref new_ref(struct firn_text name, enum firn_ref_type type, int64_t snapshot_id)
{
    return (struct firn_ref){ .name = name,
                              .type = type,
                              .snapshot_id = snapshot_id,
                              .snapshots_min_keep = -1,
                              .snapshot_age_ms_max = -1,
                              .ref_age_ms_max = -1 };
}

static const char *type_name(enum firn_ref_type type)
{
    return type == FIRN_REF_TAG ? "tag" : "branch";
}

static enum firn_ref_type type_of(enum firn_ref_kind kind)
{
    return kind == FIRN_KIND_TAG ? FIRN_REF_TAG : FIRN_REF_BRANCH;
}

static firn_status check_type(struct firn_op *op, const struct firn_ref *ref, enum firn_ref_type wanted)
{
    if (ref->type == wanted)
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "'%.*s' is a %s, not a %s", FIRN_FMT(ref->name), type_name(ref->type),
                     type_name(wanted));
}

/* Creating and dropping ------------------------------------------------------------------------------------------ */

struct creating {
    const struct firn_ref_create_args *args;
    struct firn_ref_retention retention;
    struct firn_ref_report *report;
    struct firn_ref ref;   /* as it is to be */
    bool wants_a_snapshot; /* a branch on a table without snapshots */
};

static firn_status check_create_args(struct firn_op *op, const struct firn_ref_create_args *args)
{
    bool is_tag = args->kind == FIRN_KIND_TAG;
    if (args->name.len == 0)
        return firn_fail(op, FIRN_USAGE, "the %s has no name", is_tag ? "tag" : "branch");
    if (args->replace && (args->or_replace || args->if_not_exists))
        return firn_fail(op, FIRN_USAGE, "--replace goes together with neither --or-replace nor --if-not-exists");
    if (is_tag && firn_text_is(args->name, "main"))
        return firn_fail(op, FIRN_USAGE, "'main' is a branch and cannot be a tag");
    return FIRN_OK;
}

static firn_status find_target(struct firn_op *op, const struct creating *creating,
                               const struct firn_metadata *metadata, const struct firn_snapshot **out)
{
    const int64_t *given = creating->args->snapshot_id;
    *out = given ? firn_metadata_snapshot(metadata, *given) : firn_metadata_current(metadata);
    return given && !*out ? unknown_snapshot(op, *given) : FIRN_OK;
}

static firn_status decide_replacement(struct firn_op *op, struct creating *creating,
                                      const struct firn_metadata *metadata, const struct firn_ref *old,
                                      struct firn_change *out)
{
    const struct firn_snapshot *target;
    if (!old)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no %s '%.*s' to replace",
                         type_name(type_of(creating->args->kind)), FIRN_FMT(creating->args->name));
    FIRN_TRY(check_type(op, old, type_of(creating->args->kind)));
    FIRN_TRY(find_target(op, creating, metadata, &target));
    if (!target)
        return firn_fail(op, FIRN_USAGE, "'%.*s' cannot be replaced: main has no snapshot", FIRN_FMT(old->name));
    creating->ref = *old;
    creating->ref.snapshot_id = target->id;
    firn_ref_retention_apply(&creating->retention, &creating->ref);
    move_ref(out, metadata, old, &creating->ref);
    *creating->report = (struct firn_ref_report){ FIRN_REF_REPLACED, true, target->id };
    return FIRN_OK;
}

static firn_status decide_new(struct firn_op *op, struct creating *creating, const struct firn_metadata *metadata,
                              struct firn_change *out)
{
    const struct firn_ref_create_args *args = creating->args;
    const struct firn_snapshot *target;
    FIRN_TRY(find_target(op, creating, metadata, &target));
    creating->ref = new_ref(args->name, type_of(args->kind), target ? target->id : FIRN_NO_SNAPSHOT);
    firn_ref_retention_apply(&creating->retention, &creating->ref);
    creating->wants_a_snapshot = !target;
    *creating->report = (struct firn_ref_report){ FIRN_REF_CREATED, target != NULL, creating->ref.snapshot_id };
    if (target)
        move_ref(out, metadata, NULL, &creating->ref);
    if (!target && args->kind == FIRN_KIND_TAG)
        return firn_fail(op, FIRN_USAGE, "tag '%.*s' cannot be made: main has no snapshot", FIRN_FMT(args->name));
    return FIRN_OK;
}

static firn_status decide_create(struct firn_op *op, void *context, const struct firn_table *table,
                                 struct firn_change *out)
{
    struct creating *creating = context;
    const struct firn_ref_create_args *args = creating->args;
    const struct firn_ref *old = firn_metadata_ref(table->metadata, args->name);
    creating->wants_a_snapshot = false;
    if (args->replace || (args->or_replace && old))
        return decide_replacement(op, creating, table->metadata, old, out);
    if (!old)
        return decide_new(op, creating, table->metadata, out);
    *creating->report = (struct firn_ref_report){ FIRN_REF_UNCHANGED, true, old->snapshot_id };
    if (args->if_not_exists)
        return FIRN_OK;
    return firn_fail(op, FIRN_EXISTS, "the table has a %s '%.*s' already", type_name(old->type), FIRN_FMT(old->name));
}

/* The empty snapshot of a branch on a table without any. */
static firn_status create_with_snapshot(struct firn_op *op, const struct firn_refs *refs, struct creating *creating)
{
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = creating->ref.name,
        .new_branch = &creating->ref,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .fast_append = true,
    };
    struct firn_snapshot_result result;
    FIRN_TRY(firn_snapshot_commit(op, refs->pool, refs->table, &change, &result));
    creating->report->has_snapshot_id = true;
    creating->report->snapshot_id = result.snapshot_id;
    return FIRN_OK;
}

firn_status firn_ref_create(struct firn_op *op, const struct firn_refs *refs, const struct firn_ref_create_args *args,
                            struct firn_ref_report *out)
{
    struct creating creating = { .args = args, .report = out };
    FIRN_TRY(check_create_args(op, args));
    FIRN_TRY(firn_ref_retention_parse(op, args, &creating.retention));
    FIRN_TRY(firn_change_run(op, refs->table, decide_create, &creating, refs->dry_run));
    return creating.wants_a_snapshot && !refs->dry_run ? create_with_snapshot(op, refs, &creating) : FIRN_OK;
}

struct dropping {
    const struct firn_ref_drop_args *args;
    struct firn_ref_report *report;
};

static firn_status decide_drop(struct firn_op *op, void *context, const struct firn_table *table,
                               struct firn_change *out)
{
    const struct dropping *dropping = context;
    struct firn_text name = dropping->args->name;
    const struct firn_ref *ref = firn_metadata_ref(table->metadata, name);
    *dropping->report = (struct firn_ref_report){ .outcome = FIRN_REF_UNCHANGED };
    if (firn_text_is(name, "main"))
        return firn_fail(op, FIRN_USAGE, "the branch 'main' cannot be dropped");
    if (!ref && dropping->args->if_exists)
        return FIRN_OK;
    if (!ref)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no %s '%.*s'", type_name(type_of(dropping->args->kind)),
                         FIRN_FMT(name));
    FIRN_TRY(check_type(op, ref, type_of(dropping->args->kind)));
    firn_change_require_table(out, table->metadata);
    firn_change_require_ref(out, name, ref->snapshot_id);
    firn_json_set_text(firn_change_add(out, "remove-snapshot-ref"), "ref-name", name);
    *dropping->report = (struct firn_ref_report){ FIRN_REF_DROPPED, true, ref->snapshot_id };
    return FIRN_OK;
}

firn_status firn_ref_drop(struct firn_op *op, const struct firn_refs *refs, const struct firn_ref_drop_args *args,
                          struct firn_ref_report *out)
{
    struct dropping dropping = { .args = args, .report = out };
    return firn_change_run(op, refs->table, decide_drop, &dropping, refs->dry_run);
}

/* Moving --------------------------------------------------------------------------------------------------------- */

/* A branch that moves, and how its new snapshot is found. */
struct moving {
    struct firn_text branch;
    firn_status (*find)(struct firn_op *op, const struct moving *moving, const struct firn_metadata *metadata,
                        const struct firn_ref *branch, const struct firn_snapshot **target);
    const int64_t *snapshot_id;
    int64_t timestamp_ms;
    struct firn_text to;
    struct firn_ref_move *out;
};

static firn_status decide_move(struct firn_op *op, void *context, const struct firn_table *table,
                               struct firn_change *out)
{
    const struct moving *moving = context;
    const struct firn_metadata *metadata = table->metadata;
    const struct firn_ref *old = firn_metadata_ref(metadata, moving->branch);
    const struct firn_snapshot *target;
    if (old)
        FIRN_TRY(check_type(op, old, FIRN_REF_BRANCH));
    FIRN_TRY(moving->find(op, moving, metadata, old, &target));
    *moving->out = (struct firn_ref_move){ .has_previous = old != NULL,
                                           .previous_snapshot_id = old ? old->snapshot_id : FIRN_NO_SNAPSHOT,
                                           .current_snapshot_id = target->id };
    if (old && old->snapshot_id == target->id)
        return FIRN_OK;
    struct firn_ref new = old ? *old : new_ref(moving->branch, FIRN_REF_BRANCH, target->id);
    new.snapshot_id = target->id;
    move_ref(out, metadata, old, &new);
    return FIRN_OK;
}

static firn_status find_given(struct firn_op *op, const struct moving *moving, const struct firn_metadata *metadata,
                              const struct firn_ref *branch, const struct firn_snapshot **target)
{
    (void)branch;
    *target = firn_metadata_snapshot(metadata, *moving->snapshot_id);
    return *target ? FIRN_OK : unknown_snapshot(op, *moving->snapshot_id);
}

static firn_status find_ancestor(struct firn_op *op, const struct moving *moving, const struct firn_metadata *metadata,
                                 const struct firn_ref *branch, const struct firn_snapshot **target)
{
    FIRN_TRY(find_given(op, moving, metadata, branch, target));
    if (branch && firn_metadata_is_ancestor(metadata, branch->snapshot_id, (*target)->id))
        return FIRN_OK;
    firn_fail(op, FIRN_USAGE, "snapshot %" PRId64 " is not an ancestor of the current one", (*target)->id);
    return firn_hint(op, FIRN_USAGE, "set-current-snapshot goes to any snapshot");
}

static firn_status find_older(struct firn_op *op, const struct moving *moving, const struct firn_metadata *metadata,
                              const struct firn_ref *branch, const struct firn_snapshot **target)
{
    struct firn_text text = firn_timestamp_text(op->arena, moving->timestamp_ms, 1000, ' ');
    const struct firn_snapshot *at = branch ? firn_metadata_snapshot(metadata, branch->snapshot_id) : NULL;
    *target = NULL;
    for (uint32_t i = 0; at && i < metadata->snapshot_count; i++) { /* bounded: a chain may be a ring */
        bool is_older = at->timestamp_ms < moving->timestamp_ms;
        if (is_older && (!*target || at->timestamp_ms > (*target)->timestamp_ms))
            *target = at;
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    if (*target)
        return FIRN_OK;
    return firn_fail(op, FIRN_NOT_FOUND, "no ancestor of the current snapshot is older than %.*s", FIRN_FMT(text));
}

static firn_status find_of_ref(struct firn_op *op, const struct moving *moving, const struct firn_metadata *metadata,
                               const struct firn_ref *branch, const struct firn_snapshot **target)
{
    (void)branch;
    const struct firn_ref *ref = firn_metadata_ref(metadata, moving->to);
    if (!ref)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no branch or tag '%.*s'", FIRN_FMT(moving->to));
    *target = firn_metadata_snapshot(metadata, ref->snapshot_id);
    return *target ? FIRN_OK : unknown_snapshot(op, ref->snapshot_id);
}

static firn_status find_ahead(struct firn_op *op, const struct moving *moving, const struct firn_metadata *metadata,
                              const struct firn_ref *branch, const struct firn_snapshot **target)
{
    FIRN_TRY(find_of_ref(op, moving, metadata, branch, target));
    if (!branch || firn_metadata_is_ancestor(metadata, (*target)->id, branch->snapshot_id))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "cannot fast-forward: the head of '%.*s' is not an ancestor of '%.*s'",
                     FIRN_FMT(moving->branch), FIRN_FMT(moving->to));
}

firn_status firn_rollback_to_snapshot(struct firn_op *op, const struct firn_refs *refs, int64_t snapshot_id,
                                      struct firn_ref_move *out)
{
    struct moving moving = { .branch = MAIN, .find = find_ancestor, .snapshot_id = &snapshot_id, .out = out };
    return firn_change_run(op, refs->table, decide_move, &moving, refs->dry_run);
}

firn_status firn_rollback_to_timestamp(struct firn_op *op, const struct firn_refs *refs, struct firn_text timestamp,
                                       struct firn_ref_move *out)
{
    struct moving moving = { .branch = MAIN, .find = find_older, .out = out };
    FIRN_TRY(firn_point_in_time_parse(op, "timestamp", timestamp, firn_now_ms(op), &moving.timestamp_ms));
    return firn_change_run(op, refs->table, decide_move, &moving, refs->dry_run);
}

firn_status firn_set_current_snapshot(struct firn_op *op, const struct firn_refs *refs, const int64_t *snapshot_id,
                                      struct firn_text ref, struct firn_ref_move *out)
{
    struct moving moving = { .branch = MAIN, .snapshot_id = snapshot_id, .to = ref, .out = out };
    if ((snapshot_id != NULL) == (ref.len > 0))
        return firn_fail(op, FIRN_USAGE, "give either --snapshot-id or --ref");
    moving.find = snapshot_id ? find_given : find_of_ref;
    return firn_change_run(op, refs->table, decide_move, &moving, refs->dry_run);
}

firn_status firn_fast_forward(struct firn_op *op, const struct firn_refs *refs, struct firn_text branch,
                              struct firn_text to, struct firn_ref_move *out)
{
    struct moving moving = { .branch = branch, .find = find_ahead, .to = to, .out = out };
    return firn_change_run(op, refs->table, decide_move, &moving, refs->dry_run);
}

/* Looking -------------------------------------------------------------------------------------------------------- */

firn_status firn_ancestors_of(struct firn_op *op, const struct firn_table *table, const int64_t *snapshot_id,
                              struct firn_ancestors *out)
{
    const struct firn_metadata *metadata = table->metadata;
    const struct firn_snapshot *at =
        snapshot_id ? firn_metadata_snapshot(metadata, *snapshot_id) : firn_metadata_current(metadata);
    *out = (struct firn_ancestors){ 0 };
    if (!at && snapshot_id)
        return unknown_snapshot(op, *snapshot_id);
    if (!at)
        return firn_fail(op, FIRN_NOT_FOUND, "the table has no snapshot");
    out->items = FIRN_NEW_ARRAY(op->arena, struct firn_ancestor, metadata->snapshot_count);
    while (at && out->count < metadata->snapshot_count) { /* bounded: a chain may be a ring */
        out->items[out->count++] = (struct firn_ancestor){ at->id, at->timestamp_ms };
        at = firn_metadata_snapshot(metadata, at->parent_id);
    }
    return FIRN_OK;
}
