/* firn verify: the order of the check, and what its parts share. The invariants stand in verify.h. */
#include "maintain/verify.h"

#include "base/math.h"

enum {
    WINDOW = 64,      /* so many things are looked at before their findings are taken over */
    ATTEMPTS_MAX = 3, /* while snapshots expire under the check */
};

/* Work in windows ------------------------------------------------------------------------------------------------ */

struct window {
    struct firn_verify *verify;
    const struct firn_verify_work *work;
    size_t first;
    struct firn_findings found[WINDOW];
    void *results[WINDOW];
};

static firn_status look(struct firn_op *op, void *context, size_t index)
{
    struct window *window = context;
    firn_findings_init(&window->found[index], op->arena);
    FIRN_TRY(firn_op_check(op));
    return window->work->look(op, window->verify, window->first + index, &window->found[index],
                              &window->results[index]);
}

static firn_status run_window(struct firn_op *op, struct window *window, size_t count)
{
    struct firn_verify *verify = window->verify;
    FIRN_TRY(firn_pool_run(op, verify->pool, count, 0, look, window));
    for (size_t i = 0; i < count; i++) {
        firn_findings_merge(&verify->found, &window->found[i]);
        if (window->work->take)
            FIRN_TRY(window->work->take(op, verify, window->first + i, window->results[i]));
    }
    return FIRN_OK;
}

firn_status firn_verify_each(struct firn_op *op, struct firn_verify *verify, size_t count,
                             const struct firn_verify_work *work)
{
    struct firn_scratch scratch;
    firn_status status = FIRN_OK;
    firn_scratch_begin(op, &scratch);
    for (size_t first = 0; first < count && status == FIRN_OK; first += WINDOW) {
        struct window window = { .verify = verify, .work = work, .first = first };
        status = run_window(op, &window, FIRN_MIN(count - first, (size_t)WINDOW));
        firn_arena_reset(&scratch.arena);
    }
    firn_scratch_end(op, &scratch);
    return status;
}

/* Small things of many parts ------------------------------------------------------------------------------------- */

firn_status firn_verify_failed(struct firn_op *op, firn_status status, const struct firn_verify_codes *codes,
                               struct firn_text location, struct firn_findings *found)
{
    if (status == FIRN_OK || status == FIRN_CANCELLED || status == FIRN_LIMIT || status == FIRN_UNAVAILABLE)
        return status;
    firn_findings_add(found, codes->severity, status == FIRN_NOT_FOUND ? codes->missing : codes->unreadable, location,
                      "%s", op->error.text);
    return FIRN_OK;
}

struct firn_hash128 firn_verify_path_key(struct firn_text path)
{
    return firn_hash128(firn_bytes_of_text(path), 0);
}

struct firn_text firn_verify_id(struct firn_op *op, const struct firn_verify *verify, int64_t snapshot_id)
{
    return firn_metadata_snapshot_id_text(op->arena, verify->metadata, snapshot_id);
}

/* The whole ------------------------------------------------------------------------------------------------------ */

static struct firn_text refs_to(struct firn_op *op, const struct firn_metadata *metadata, int64_t snapshot_id)
{
    struct firn_text names = FIRN_TEXT("");
    for (uint32_t i = 0; i < metadata->ref_count; i++)
        if (metadata->refs[i].snapshot_id == snapshot_id)
            names = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(names), names.len ? ", " : "",
                                     FIRN_FMT(metadata->refs[i].name));
    return names;
}

static void list_snapshots(struct firn_op *op, struct firn_verify *verify)
{
    const struct firn_metadata *metadata = verify->metadata;
    verify->snapshots = FIRN_NEW_ARRAY(op->arena, struct firn_verify_snapshot, metadata->snapshot_count);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        verify->snapshots[i] = (struct firn_verify_snapshot){
            .snapshot_id = metadata->snapshots[i].id,
            .id = firn_verify_id(op, verify, metadata->snapshots[i].id),
            .refs = refs_to(op, metadata, metadata->snapshots[i].id),
            .is_readable = true,
        };
}

static firn_status run_parts(struct firn_op *op, struct firn_verify *verify)
{
    static firn_status (*const parts[])(struct firn_op *, struct firn_verify *) = {
        firn_verify_metadata,  firn_verify_location, firn_verify_lists,
        firn_verify_manifests, firn_verify_heads,    firn_verify_readable,
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(parts); i++)
        FIRN_TRY(parts[i](op, verify));
    return FIRN_OK;
}

static int compare_findings(const void *a, const void *b)
{
    const struct firn_finding *left = a, *right = b;
    if (left->severity != right->severity)
        return left->severity > right->severity ? -1 : 1;
    int order = strcmp(left->code, right->code);
    if (order == 0)
        order = firn_text_compare(left->location, right->location);
    return order ? order : firn_text_compare(left->text, right->text);
}

static void finish_report(struct firn_findings *found, struct firn_verify_report *out)
{
    if (found->items.count > 1)
        qsort(found->items.items, found->items.count, sizeof *found->items.items, compare_findings);
    out->findings = found->items.items;
    out->finding_count = found->items.count;
    out->error_count = firn_findings_count(found, FIRN_SEVERITY_ERROR);
    out->warning_count = firn_findings_count(found, FIRN_SEVERITY_WARNING);
    out->notice_count = firn_findings_count(found, FIRN_SEVERITY_NOTICE);
}

static firn_status check_options(struct firn_op *op, const struct firn_verify_options *options)
{
    if (options->sample_percent >= 0 && options->sample_percent <= 100)
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "a sample is more than 0%% and at most 100%% of the files, not %g%%",
                     options->sample_percent);
}

static firn_status run_once(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                            const struct firn_verify_options *options, struct firn_verify_report *out)
{
    struct firn_verify verify = { .options = options,
                                  .pool = pool,
                                  .table = table,
                                  .store = table->store,
                                  .metadata = table->metadata,
                                  .report = out };
    *out = (struct firn_verify_report){ .is_sampled = options->sample_percent > 0 && options->sample_percent < 100 };
    firn_findings_init(&verify.found, op->arena);
    firn_map_init(&verify.manifests, op->arena);
    list_snapshots(op, &verify);
    pthread_mutex_init(&verify.lock, NULL);
    firn_status status = run_parts(op, &verify);
    pthread_mutex_destroy(&verify.lock);
    firn_key_map_done(&verify.seen);
    firn_key_map_done(&verify.broken);
    firn_key_map_done(&verify.row_counts);
    FIRN_TRY(status);
    finish_report(&verify.found, out);
    out->snapshots = verify.snapshots;
    out->snapshot_count = table->metadata->snapshot_count;
    for (size_t i = 0; i < out->snapshot_count; i++)
        out->readable_count += verify.snapshots[i].is_readable;
    out->manifest_count = verify.manifests.count;
    return FIRN_OK;
}

/* Whether snapshots that were checked have left the table since, and their files with them. */
static firn_status has_expired(struct firn_op *op, struct firn_table *table, bool *out)
{
    const struct firn_metadata *before = table->metadata;
    *out = false;
    FIRN_TRY(firn_table_refresh(op, table));
    for (uint32_t i = 0; i < before->snapshot_count && !*out; i++)
        *out = !firn_metadata_snapshot(table->metadata, before->snapshots[i].id);
    return FIRN_OK;
}

firn_status firn_verify(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                        const struct firn_verify_options *options, struct firn_verify_report *out)
{
    int64_t started_ms = op->env->monotonic_ms(op->env->context);
    firn_status status = check_options(op, options);
    bool again = status == FIRN_OK;
    for (int attempt = 1; again; attempt++) {
        status = run_once(op, pool, table, options, out);
        again = false;
        if (status == FIRN_OK && out->error_count > 0 && attempt < ATTEMPTS_MAX)
            status = has_expired(op, table, &again);
    }
    firn_progress_end(op, options->progress);
    FIRN_TRY(status);
    out->elapsed_ms = op->env->monotonic_ms(op->env->context) - started_ms;
    return FIRN_OK;
}

void firn_verify_unreadable(struct firn_op *op, struct firn_text name, struct firn_verify_report *out)
{
    struct firn_findings found;
    firn_findings_init(&found, op->arena);
    *out = (struct firn_verify_report){ 0 };
    firn_findings_add(&found, FIRN_SEVERITY_ERROR, "metadata-unreadable", name, "%s", op->error.text);
    firn_findings_hint(&found, "an older metadata file, named in place of the table, shows how things were; catalogs "
                               "can register a table by one");
    finish_report(&found, out);
}
