/* Planning remove_orphan_files: candidates, then the newest metadata, then the join. The invariants stand in orphans.h;
 * numbers in comments refer to them. Reference: procedures.md, 7.2 to 7.4. */
#include "maintain/orphans.h"

#include "base/utf8.h"
#include "catalog/catalog.h"
#include "format/json/json.h"
#include "maintain/file_list.h"
#include "maintain/journal.h"
#include "maintain/mark.h"
#include "maintain/removal.h"

#include <stdlib.h>

#define PLAN_BYTES_MAX (UINT64_C(1) << 30)

/* Planning as it goes. */
struct planning {
    struct firn_pool *pool;
    struct firn_table *table;
    struct firn_orphan_plan *plan;
    struct firn_orphan_join *join;
    struct firn_hidden_rule hidden;
    struct firn_other_tables others;
    struct firn_map live_names; /* UUIDs in names of files that runs under way have written, or mean to use */
    FIRN_ARRAY(struct firn_text) metadata_files;  /* that were listed */
    struct firn_map own_metadata;                 /* keys of those that the table names */
    struct firn_text real_place;                  /* where the location really lies, for local ones; else empty */
    struct firn_text real_folder_of, real_folder; /* the folder resolved last, */
    struct firn_arena folder_arena;               /* which lives here */
    struct firn_arena turn;                       /* scratch of one visit */
    int64_t known_inside;                         /* files of the table that lie in the location */
};

/* Candidates ----------------------------------------------------------------------------------------------------- */

/* A time that says nothing may be that of a file which is being written. */
static bool is_usable_time(const struct firn_orphan_options *options, int64_t modified_ms)
{
    return modified_ms > 0 && modified_ms != INT64_MAX && modified_ms <= options->now_ms;
}

/* Of runs that have not ended, and of those that a run which has not ended clears up after. (6) */
static firn_status find_live_names(struct firn_op *op, struct planning *planning)
{
    struct firn_runs runs;
    firn_map_init(&planning->live_names, op->arena);
    FIRN_TRY(firn_runs_read(op, planning->table, &runs));
    for (size_t i = 0; i < runs.count; i++) {
        const struct firn_run *run = &runs.items[i];
        if (run->state != FIRN_RUN_LIVE && run->state != FIRN_RUN_TAKEN)
            continue;
        for (size_t k = 0; k < run->names.count; k++)
            firn_map_put_text(&planning->live_names, run->names.items[k].uuid);
    }
    return FIRN_OK;
}

static bool is_live(const struct planning *planning, struct firn_text path)
{
    struct firn_text uuid;
    return planning->live_names.count > 0 && firn_uuid_in_name(path, &uuid) &&
           firn_map_find_text(&planning->live_names, uuid);
}

/* Whether age and place let a file go (2). */
static bool may_go(struct firn_op *op, struct planning *planning, struct firn_text path, int64_t modified_ms)
{
    struct firn_orphan_report *report = &planning->plan->report;
    const struct firn_orphan_options *options = &planning->plan->options;
    if (firn_other_tables_holding(&planning->others, options, path)) {
        report->other_table_count++;
        return false;
    }
    if (!firn_text_is_utf8(path)) { /* (7) */
        if (report->unnamable_count++ == 0)
            firn_log(op, FIRN_LOG_WARN, "files whose names are not UTF-8 are left alone, the first is '%.*s'",
                     FIRN_FMT(path));
        return false;
    }
    if (is_live(planning, path)) {
        report->live_run_count++;
        return false;
    }
    if (!is_usable_time(options, modified_ms)) {
        report->unknown_time_count++;
        return false;
    }
    report->new_count += modified_ms >= options->cutoff_ms;
    return modified_ms < options->cutoff_ms;
}

static firn_status take_listed(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct planning *planning = context;
    struct firn_orphan_plan *plan = planning->plan;
    struct firn_text path = firn_location_split(op->arena, entry->location).path;
    plan->report.listed_count++;
    if (firn_hidden_rule_hides(&planning->hidden, firn_text_from(path, plan->options.place.path.len))) {
        plan->report.hidden_count++;
        return FIRN_OK;
    }
    if (firn_is_table_metadata_name(path) && !firn_other_tables_holding(&planning->others, &plan->options, path))
        FIRN_PUSH(plan->arena, &planning->metadata_files, firn_text_copy(plan->arena, entry->location));
    if (!may_go(op, planning, path, entry->modified_ms))
        return FIRN_OK;
    struct firn_orphan_file file = { .location = entry->location,
                                     .bytes = (int64_t)entry->size,
                                     .modified_ms = entry->modified_ms };
    return firn_orphan_join_candidate(op, planning->join, &file);
}

/* A file of a list that stands in for the listing. Its size is not known. */
static firn_status take_given(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    struct planning *planning = context;
    struct firn_orphan_plan *plan = planning->plan;
    struct firn_location_parts parts = firn_location_split(op->arena, entry->location);
    plan->report.listed_count++;
    if (!firn_orphan_options_cover(&plan->options, &parts))
        return FIRN_OK;
    if (firn_is_table_metadata_name(parts.path))
        FIRN_PUSH(plan->arena, &planning->metadata_files, firn_text_copy(plan->arena, entry->location));
    if (!may_go(op, planning, parts.path, entry->modified_ms))
        return FIRN_OK;
    struct firn_orphan_file file = { .location = entry->location, .bytes = -1, .modified_ms = entry->modified_ms };
    return firn_orphan_join_candidate(op, planning->join, &file);
}

/* Visits have an arena of their own, so that millions of files leave nothing in the operation's. */
struct visit_scratch {
    struct planning *planning;
    firn_store_visit *visit;
};

static firn_status visit_with_scratch(struct firn_op *op, void *context, const struct firn_store_entry *entry)
{
    const struct visit_scratch *scratch = context;
    struct firn_arena *kept = op->arena;
    op->arena = &scratch->planning->turn;
    firn_arena_reset(op->arena);
    firn_status status = scratch->visit(op, scratch->planning, entry);
    op->arena = kept;
    return status;
}

static firn_status gather_candidates(struct firn_op *op, struct planning *planning)
{
    const struct firn_orphan_options *options = &planning->plan->options;
    struct firn_store *store = planning->table->store;
    struct visit_scratch scratch = { planning, options->file_list_view.len ? take_given : take_listed };
    if (options->file_list_view.len)
        return firn_file_list_read(op, store, options->file_list_view, visit_with_scratch, &scratch);
    return firn_context(op, firn_store_list(op, store, options->location, true, visit_with_scratch, &scratch),
                        "listing '%.*s'", FIRN_FMT(options->location));
}

/* Confirmed files ------------------------------------------------------------------------------------------------ */

static firn_status confirm_planned(struct firn_op *op, struct planning *planning, const json_t *file)
{
    struct firn_orphan_file confirmed = { .bytes = -1 };
    FIRN_TRY(firn_json_need_text(op, file, "orphan_file_location", "orphan file", &confirmed.location));
    FIRN_TRY(firn_json_need_i64(op, file, "last_modified_ms", "orphan file", &confirmed.modified_ms));
    FIRN_TRY(firn_json_find_i64(op, file, "bytes", "orphan file", &confirmed.bytes, NULL));
    return firn_orphan_join_confirm(op, planning->join, &confirmed);
}

static firn_status read_planned(struct firn_op *op, struct planning *planning, struct firn_text json)
{
    json_t *root, *files;
    struct firn_text table;
    size_t index;
    const json_t *file;
    FIRN_TRY(firn_json_parse(op, json, "plan", &root));
    FIRN_TRY(firn_json_need_text(op, root, "table_uuid", "plan", &table));
    if (!firn_text_same_nocase(table, planning->table->metadata->table_uuid))
        return firn_fail(op, FIRN_USAGE, "the plan is of another table, %.*s", FIRN_FMT(table));
    FIRN_TRY(firn_json_need_array(op, root, "orphan_files", "plan", &files));
    json_array_foreach(files, index, file) FIRN_TRY(confirm_planned(op, planning, file));
    return FIRN_OK;
}

/* The JSON that a dry run printed. It is released before the comparison begins. */
static firn_status confirm_plan(struct firn_op *op, struct planning *planning)
{
    struct firn_buffer json = { 0 };
    struct firn_arena turn = { 0 }, *kept = op->arena;
    struct firn_text from = planning->plan->options.from;
    op->arena = &turn;
    firn_status status = firn_store_read(op, planning->table->store, from, PLAN_BYTES_MAX, &json);
    if (status == FIRN_OK)
        status = read_planned(op, planning, firn_text_of_bytes(firn_buffer_bytes(&json)));
    op->arena = kept;
    firn_arena_done(&turn);
    firn_buffer_done(&json);
    return firn_context(op, status, "--from '%.*s'", FIRN_FMT(from));
}

/* What lies outside the location was marked by expire-snapshots; the listing does not show it. */
static firn_status find_marked(struct firn_op *op, struct planning *planning, const struct firn_mark *mark)
{
    struct firn_store_stat info;
    firn_status status = firn_store_stat(op, planning->table->store, mark->file.location, &info);
    if (status == FIRN_NOT_FOUND)
        return FIRN_OK;
    FIRN_TRY(status);
    planning->plan->report.listed_count++;
    struct firn_orphan_file file = { .location = mark->file.location,
                                     .bytes = (int64_t)info.size,
                                     .modified_ms = info.modified_ms };
    if (!may_go(op, planning, firn_location_split(op->arena, file.location).path, file.modified_ms))
        return FIRN_OK;
    return firn_orphan_join_candidate(op, planning->join, &file);
}

static firn_status confirm_mark(struct firn_op *op, void *context, const struct firn_mark *mark)
{
    struct planning *planning = context;
    const struct firn_orphan_options *options = &planning->plan->options;
    if (options->sweep && mark->marked_ms > options->due_ms)
        return FIRN_OK;
    FIRN_TRY(firn_orphan_join_confirm(op, planning->join, &mark->file));
    struct firn_location_parts parts = firn_location_split(op->arena, mark->file.location);
    if (!options->sweep || firn_orphan_options_cover(options, &parts))
        return FIRN_OK;
    return find_marked(op, planning, mark);
}

static firn_status gather_confirmed(struct firn_op *op, struct planning *planning)
{
    const struct firn_orphan_options *options = &planning->plan->options;
    if (options->from.len)
        FIRN_TRY(confirm_plan(op, planning));
    if (!options->sweep && !options->mark)
        return FIRN_OK;
    struct firn_text marks = firn_marks_location(op->arena, planning->table->metadata);
    return firn_marks_read(op, planning->table->store, marks, confirm_mark, planning);
}

/* Known files ---------------------------------------------------------------------------------------------------- */

/* The folder that a local path really leads to, through symbolic links; empty when it leads nowhere. */
static struct firn_text real_folder(struct firn_op *op, struct planning *planning, struct firn_text folder)
{
    struct firn_arena *arena = &planning->folder_arena;
    if (planning->real_folder_of.data && firn_text_same(planning->real_folder_of, folder))
        return planning->real_folder;
    char *real = realpath(firn_text_copy(op->arena, folder).data, NULL);
    firn_arena_reset(arena);
    planning->real_folder_of = firn_text_copy(arena, folder);
    planning->real_folder = real ? firn_text_copy(arena, firn_text_of(real)) : FIRN_TEXT("");
    free(real);
    return planning->real_folder;
}

/* A file that is recorded under another spelling than the listing's, by a symbolic link or a relocated prefix, is known
 * under the listing's spelling too. */
static firn_status know_by_real_place(struct firn_op *op, struct planning *planning, struct firn_text location)
{
    struct firn_text path, real_place = planning->real_place;
    if (real_place.len == 0 || firn_store_local_path(op, planning->table->store, location, &path) != FIRN_OK)
        return FIRN_OK;
    ptrdiff_t slash = firn_text_find_last(path, '/');
    if (slash <= 0)
        return FIRN_OK;
    struct firn_text folder = real_folder(op, planning, firn_text_until(path, (size_t)slash));
    if (!firn_path_is_below(real_place, folder))
        return FIRN_OK;
    planning->known_inside++;
    struct firn_text listed = firn_text_format(op->arena, "%.*s%.*s%.*s", FIRN_FMT(planning->plan->options.location),
                                               FIRN_FMT(firn_text_from(folder, real_place.len)),
                                               FIRN_FMT(firn_text_from(path, (size_t)slash)));
    return firn_orphan_join_known(op, planning->join, listed);
}

static firn_status know(struct firn_op *op, struct planning *planning, const struct firn_table_file *file)
{
    struct firn_location_parts parts = firn_location_split(op->arena, file->path);
    if (file->type == FIRN_TABLE_FILE_METADATA && !firn_map_find_text(&planning->own_metadata, file->key))
        firn_map_put_text(&planning->own_metadata, firn_text_copy(planning->plan->arena, file->key));
    FIRN_TRY(firn_orphan_join_known(op, planning->join, file->path));
    if (!firn_orphan_options_cover(&planning->plan->options, &parts))
        return know_by_real_place(op, planning, file->path);
    planning->known_inside += !firn_text_ends(parts.path, FIRN_TEXT("/version-hint.text")); /* known by the location */
    return FIRN_OK;
}

static firn_status take_known(struct firn_op *op, void *context, const struct firn_table_file *file)
{
    struct planning *planning = context;
    struct firn_arena *kept = op->arena;
    op->arena = &planning->turn; /* the visits come one at a time */
    firn_arena_reset(op->arena);
    firn_status status = know(op, planning, file);
    op->arena = kept;
    return status;
}

/* Another table in the very same location, which --trust-location lets pass: what it names stays. */
static firn_status know_other(struct firn_op *op, struct planning *planning, const struct firn_other_table *other)
{
    struct firn_table_version version;
    struct firn_reach_config config = { .pool = planning->pool, .store = planning->table->store };
    if (!firn_text_same(other->path, planning->plan->options.place.path))
        return FIRN_OK;
    FIRN_TRY(firn_catalog_current(op, planning->table->catalog, other->identifier, NULL, &version));
    return firn_reach_all(op, &config, version.metadata, version.location, take_known, planning);
}

static void find_real_place(struct firn_op *op, struct planning *planning)
{
    struct firn_text path;
    if (firn_store_local_path(op, planning->table->store, planning->plan->options.location, &path) != FIRN_OK)
        return;
    char *real = realpath(firn_text_copy(op->arena, path).data, NULL);
    if (real)
        planning->real_place = firn_text_copy(op->arena, firn_text_of(real));
    free(real);
}

/* (1): loaded after the listing has ended. */
static firn_status gather_known(struct firn_op *op, struct planning *planning)
{
    struct firn_table *table = planning->table;
    struct firn_reach_config config = { .pool = planning->pool, .store = table->store };
    find_real_place(op, planning);
    FIRN_TRY(firn_table_refresh(op, table));
    FIRN_TRY(firn_removal_check_gc(op, table));
    FIRN_TRY(firn_orphan_join_known(op, planning->join, firn_marks_location(op->arena, table->metadata))); /* (5) */
    FIRN_TRY(firn_reach_all(op, &config, table->metadata, table->metadata_location, take_known, planning));
    for (size_t i = 0; i < planning->others.count; i++)
        FIRN_TRY(know_other(op, planning, &planning->others.items[i]));
    return FIRN_OK;
}

/* Doubts --------------------------------------------------------------------------------------------------------- */

static firn_status check_other_tables(struct firn_op *op, const struct planning *planning)
{
    if (planning->others.count == 0 || planning->plan->options.trust_location)
        return FIRN_OK;
    const struct firn_other_table *other = &planning->others.items[0];
    firn_status status =
        firn_fail(op, FIRN_DENIED,
                  "table '%.*s' of the same catalog lies in the location too, at '%.*s', and its files "
                  "would be taken for orphans",
                  FIRN_FMT(other->identifier), FIRN_FMT(other->location));
    return firn_hint(op, status,
                     "clean a --location that is this table's alone; with --trust-location the tables that the catalog "
                     "knows are left alone");
}

static firn_status check_metadata_files(struct firn_op *op, const struct planning *planning)
{
    FIRN_ARRAY(struct firn_text) unknown = { 0 };
    if (planning->plan->options.trust_location)
        return FIRN_OK;
    for (size_t i = 0; i < planning->metadata_files.count; i++) {
        struct firn_text location = planning->metadata_files.items[i];
        if (!firn_map_find_text(&planning->own_metadata, firn_store_key(op, planning->table->store, location)))
            FIRN_PUSH(op->arena, &unknown, location);
    }
    return firn_other_metadata_check(op, planning->pool, planning->table, unknown.items, unknown.count);
}

/* A table that has no file at all in its own location is one whose files are spelled in a way that was not understood,
 * or keeps them elsewhere. */
static firn_status check_known_inside(struct firn_op *op, const struct planning *planning)
{
    const struct firn_orphan_options *options = &planning->plan->options;
    if (planning->known_inside > 0 || !options->is_whole_table || options->trust_location)
        return FIRN_OK;
    firn_status status = firn_fail(op, FIRN_DENIED, "none of the table's files lies in its location '%.*s'",
                                   FIRN_FMT(options->location));
    return firn_hint(op, status,
                     "where it keeps them elsewhere and the location is still its own, say --trust-location");
}

/* The plan's files ----------------------------------------------------------------------------------------------- */

static firn_status take_orphan(struct firn_op *op, void *context, const struct firn_orphan_file *file,
                               bool is_confirmed)
{
    struct firn_orphan_plan *plan = context;
    if ((plan->options.sweep || plan->options.from.len) && !is_confirmed) { /* (4) */
        plan->report.unconfirmed_count++;
        return FIRN_OK;
    }
    plan->report.orphan_count++;
    plan->report.orphan_bytes += file->bytes > 0 ? file->bytes : 0;
    return firn_orphan_row_append(op, &plan->files, file, is_confirmed);
}

/* Gives each file of the plan to `rewrite`, which appends what is to stay to the plan's new stream. */
static firn_status rewrite_rows(struct firn_op *op, struct firn_orphan_plan *plan, firn_orphan_row_visit *rewrite,
                                void *context)
{
    struct firn_spill_stream old = plan->files;
    firn_spill_stream_init(&plan->files, plan->spill, FIRN_ORPHAN_BLOCK_BYTES);
    firn_status status = firn_orphan_rows_read(op, &old, rewrite, context);
    firn_spill_stream_done(&old);
    return status;
}

/* A list of files may be older than the age that is asked for: what it says holds only if the file is still so old. */
static firn_status look_again(struct firn_op *op, void *context, const struct firn_orphan_file *file, bool is_confirmed)
{
    struct planning *planning = context;
    struct firn_orphan_plan *plan = planning->plan;
    struct firn_store_stat info;
    struct firn_orphan_file seen = *file;
    firn_arena_reset(&planning->turn);
    struct firn_arena *kept = op->arena;
    op->arena = &planning->turn;
    firn_status status = firn_store_stat(op, planning->table->store, file->location, &info);
    op->arena = kept;
    if (status == FIRN_NOT_FOUND || (status == FIRN_OK && (!is_usable_time(&plan->options, info.modified_ms) ||
                                                           info.modified_ms >= plan->options.cutoff_ms))) {
        plan->report.changed_count++;
        plan->report.orphan_count--;
        return FIRN_OK;
    }
    FIRN_TRY(status);
    seen.bytes = (int64_t)info.size;
    plan->report.orphan_bytes += seen.bytes;
    return firn_orphan_row_append(op, &plan->files, &seen, is_confirmed);
}

/* The whole ------------------------------------------------------------------------------------------------------ */

static firn_status find_orphans(struct firn_op *op, struct planning *planning)
{
    struct firn_orphan_plan *plan = planning->plan;
    FIRN_TRY(firn_other_tables_find(op, planning->pool, planning->table, &plan->options, &planning->others));
    FIRN_TRY(check_other_tables(op, planning));
    FIRN_TRY(find_live_names(op, planning));
    FIRN_TRY(gather_candidates(op, planning));
    FIRN_TRY(gather_confirmed(op, planning));
    FIRN_TRY(gather_known(op, planning));
    FIRN_TRY(check_metadata_files(op, planning));
    FIRN_TRY(check_known_inside(op, planning));
    FIRN_TRY(firn_orphan_join_run(op, planning->join, take_orphan, plan));
    if (plan->options.file_list_view.len)
        FIRN_TRY(rewrite_rows(op, plan, look_again, planning));
    return firn_orphan_rows_sort(op, plan);
}

static void close_plan(void *subject)
{
    struct firn_orphan_plan *plan = subject;
    firn_spill_stream_done(&plan->files);
    firn_spill_close(plan->spill);
}

static firn_status open_plan(struct firn_op *op, struct firn_orphan_plan *plan)
{
    struct firn_spill_config config = { 0 };
    FIRN_TRY(firn_spill_open(op, &config, &plan->spill));
    firn_spill_stream_init(&plan->files, plan->spill, FIRN_ORPHAN_BLOCK_BYTES);
    firn_arena_defer(op->arena, close_plan, plan);
    return FIRN_OK;
}

firn_status firn_remove_orphan_files_plan(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                          const struct firn_remove_orphan_files_args *args,
                                          struct firn_orphan_plan **out)
{
    struct firn_orphan_plan *plan = FIRN_NEW(op->arena, struct firn_orphan_plan);
    struct planning planning = { .pool = pool, .table = table, .plan = plan };
    plan->arena = op->arena;
    plan->report.table_uuid = table->metadata->table_uuid;
    plan->started_ms = op->env->monotonic_ms(op->env->context);
    FIRN_TRY(firn_removal_check_gc(op, table));
    FIRN_TRY(firn_orphan_options_parse(op, table, args, &plan->options));
    FIRN_TRY(open_plan(op, plan));
    struct firn_orphan_join_config config = { .spill = plan->spill,
                                              .schemes = &plan->options.schemes,
                                              .authorities = &plan->options.authorities,
                                              .mismatch = plan->options.mismatch };
    planning.join = firn_orphan_join_open(&config);
    planning.hidden = firn_hidden_rule_of(op, table->metadata);
    firn_map_init(&planning.own_metadata, op->arena);
    firn_status status = find_orphans(op, &planning);
    firn_orphan_join_close(planning.join);
    firn_arena_done(&planning.turn);
    firn_arena_done(&planning.folder_arena);
    plan->report.elapsed_ms = op->env->monotonic_ms(op->env->context) - plan->started_ms;
    *out = plan;
    return status;
}

const struct firn_orphan_report *firn_orphan_plan_report(const struct firn_orphan_plan *plan)
{
    return &plan->report;
}
