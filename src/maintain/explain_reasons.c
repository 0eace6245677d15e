/* Why files stay, in words, with what mends it. */
#include "base/math.h"
#include "maintain/explain.h"
#include "table/metrics.h"

#include <stdlib.h>

/* A metrics mode is cut longer than the values that were asked for by as much as this. */
enum { TRUNCATE_STEP = 16 };

struct reasoning {
    struct firn_op *op;
    const struct firn_explaining *run;
    const struct firn_metrics_config *metrics;
    FIRN_ARRAY(struct firn_explain_reason) reasons;
};

static void add(struct reasoning *reasoning, struct firn_explain_reason reason)
{
    FIRN_PUSH(reasoning->op->arena, &reasoning->reasons, reason);
}

/* Remedies ----------------------------------------------------------------------------------------------------------
 */

static void note_opaque(void *context, const struct firn_predicate *leaf)
{
    bool *found = context;
    *found |= leaf->op == FIRN_PRED_OPAQUE;
}

/* What limits a rewrite to the files that the filter reads; empty: the predicate is none that procedures take. */
static struct firn_text limiting_where(const struct firn_explaining *run)
{
    bool is_opaque = false;
    firn_explain_visit_leaves(run->where, note_opaque, &is_opaque);
    if (!is_opaque)
        return run->text;
    is_opaque = false;
    if (run->rewritten)
        firn_explain_visit_leaves(run->rewritten, note_opaque, &is_opaque);
    return run->rewritten && !is_opaque ? run->report->rewritten : FIRN_TEXT("");
}

/* rewrite_data_files of what the filter reads, on the branch: `rest` as a shell has it, `arguments` as SQL. */
static struct firn_remedy rewriting(struct firn_arena *arena, const struct firn_explaining *run, struct firn_text rest,
                                    struct firn_text arguments)
{
    struct firn_text where = limiting_where(run);
    if (where.len > 0) {
        rest = firn_text_format(arena, "%.*s --where %.*s", FIRN_FMT(rest), FIRN_FMT(firn_remedy_word(arena, where)));
        arguments = firn_text_format(arena, "where => '%.*s', %.*s", FIRN_FMT(firn_remedy_sql_text(arena, where)),
                                     FIRN_FMT(arguments));
    }
    if (run->branch.len > 0) {
        rest = firn_text_format(arena, "%.*s --branch %.*s", FIRN_FMT(rest),
                                FIRN_FMT(firn_remedy_word(arena, run->branch)));
        arguments = firn_text_format(arena, "branch => '%.*s', %.*s",
                                     FIRN_FMT(firn_remedy_sql_text(arena, run->branch)), FIRN_FMT(arguments));
    }
    return (struct firn_remedy){
        .command = firn_remedy_command(arena, run->table, "rewrite-data-files", firn_text_copy(arena, rest).data),
        .call = firn_remedy_call(arena, run->table, "rewrite_data_files", firn_text_copy(arena, arguments).data),
    };
}

static struct firn_remedy rewriting_all(struct firn_arena *arena, const struct firn_explaining *run)
{
    return rewriting(arena, run, FIRN_TEXT("--option rewrite-all=true"),
                     FIRN_TEXT("options => map('rewrite-all', 'true')"));
}

struct firn_remedy firn_explain_sort_remedy(struct firn_arena *arena, const struct firn_explaining *run,
                                            struct firn_text column)
{
    struct firn_text order = firn_text_format(arena, "%.*s ASC NULLS LAST", FIRN_FMT(column));
    struct firn_text rest = firn_text_format(arena, "--strategy sort --sort-order %.*s --option rewrite-all=true",
                                             FIRN_FMT(firn_remedy_word(arena, order)));
    struct firn_text arguments =
        firn_text_format(arena, "strategy => 'sort', sort_order => '%.*s', options => map('rewrite-all', 'true')",
                         FIRN_FMT(firn_remedy_sql_text(arena, order)));
    return rewriting(arena, run, rest, arguments);
}

/* The same, after a metrics mode was set for a column. */
static struct firn_remedy setting_mode(struct firn_arena *arena, const struct firn_explaining *run,
                                       struct firn_text column, struct firn_text mode)
{
    struct firn_remedy rewrite = rewriting_all(arena, run);
    struct firn_property property = firn_remedy_metrics_property(arena, column, mode);
    struct firn_remedy set = firn_remedy_properties(arena, run->table, &property, 1);
    return firn_remedy_both(arena, set, rewrite);
}

static void set_remedy(struct firn_explain_reason *reason, struct firn_remedy remedy)
{
    reason->command = remedy.command;
    reason->call = remedy.call;
}

/* Conditions --------------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *code, *why;
} stays[FIRN_STAY_COUNT] = {
    [FIRN_STAY_RULED_OUT] = { "ruled-out", "" },
    [FIRN_STAY_ALL_MATCH] = { "all-match", "every row matches, as partitions or bounds show: what the filter is for" },
    [FIRN_STAY_OPAQUE] = { "function", "only the rows tell: partitions and bounds are of the column itself" },
    [FIRN_STAY_NO_METRICS] = { "no-metrics", "the manifests record nothing of the column" },
    [FIRN_STAY_NO_BOUNDS] = { "no-bounds", "the manifests record counts of the column, but no bounds" },
    [FIRN_STAY_BAD_BOUNDS] = { "type-mismatch", "the recorded bounds are no values of the column's type" },
    [FIRN_STAY_NULLS] = { "nulls", "some rows are null and others are not, or the count of nulls is not recorded" },
    [FIRN_STAY_NANS] = { "nan", "NaN may be among the values, and is above all numbers" },
    [FIRN_STAY_NOT_EQUAL] = { "not-equal", "a condition that takes all but few values rules out next to nothing" },
    [FIRN_STAY_TRUNCATED] = { "truncated-bounds", "the value begins as a cut bound does, so it may lie within" },
    [FIRN_STAY_OVERLAP] = { "overlapping-bounds", "some value between the bounds matches" },
};

static bool is_partition_source(const struct firn_explaining *run, int32_t field_id)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(run->metadata, run->metadata->default_spec_id);
    for (uint32_t i = 0; spec && i < spec->field_count; i++)
        if (spec->fields[i].source_count == 1 && spec->fields[i].source_ids[0] == field_id &&
            spec->fields[i].transform.id != FIRN_TRANSFORM_VOID)
            return true;
    return false;
}

static void mend_function(struct reasoning *reasoning, const struct firn_predicate *leaf,
                          struct firn_explain_reason *reason)
{
    struct firn_arena *arena = reasoning->op->arena;
    struct firn_text instead = firn_explain_rewrite_leaf(arena, reasoning->run->schema, leaf);
    const char *more = is_partition_source(reasoning->run, leaf->field->id)
                           ? "; the table is partitioned by this column, and partitions are ruled out then, too"
                           : "";
    bool has_zone = leaf->field->type.id == FIRN_TYPE_TIMESTAMPTZ || leaf->field->type.id == FIRN_TYPE_TIMESTAMPTZ_NS;
    if (instead.len > 0)
        reason->advice =
            firn_text_format(arena, "say it of the column: %.*s%s%s", FIRN_FMT(instead), more,
                             has_zone ? "; where the session's time zone is not UTC, shift the times" : "");
    else
        reason->advice =
            firn_text_format(arena,
                             "compare the column itself with constants, or write what the function gives as a column "
                             "of its own%s",
                             more);
}

/* Whether files written from now on have bounds, or a property keeps them out. */
static void mend_metrics(struct reasoning *reasoning, const struct firn_predicate *leaf,
                         struct firn_explain_reason *reason)
{
    struct firn_arena *arena = reasoning->op->arena;
    const struct firn_explaining *run = reasoning->run;
    enum firn_metrics_mode mode = firn_metrics_config_find(reasoning->metrics, leaf->field->id).mode;
    bool is_off = mode == FIRN_METRICS_NONE || mode == FIRN_METRICS_COUNTS;
    set_remedy(reason, is_off ? setting_mode(arena, run, reason->column,
                                             firn_text_of(firn_remedy_metrics_mode(&leaf->field->type)))
                              : rewriting_all(arena, run));
    reason->why = firn_text_format(arena, "%.*s%s", FIRN_FMT(reason->why),
                                   mode == FIRN_METRICS_NONE ? ": its metrics mode is none"
                                   : mode == FIRN_METRICS_COUNTS
                                       ? ": its metrics mode is counts"
                                       : "; the table's properties ask for bounds, which files written anew will have");
}

static void mend_truncation(struct reasoning *reasoning, const struct firn_predicate *leaf,
                            struct firn_explain_reason *reason)
{
    struct firn_arena *arena = reasoning->op->arena;
    size_t longest = 0;
    for (uint32_t i = 0; i < leaf->value_count; i++)
        longest = FIRN_MAX(longest, leaf->values[i].bytes.len);
    struct firn_text mode = firn_text_format(arena, "truncate(%zu)", (longest / TRUNCATE_STEP + 1) * TRUNCATE_STEP);
    set_remedy(reason, setting_mode(arena, reasoning->run, reason->column, mode));
}

static void mend_overlap(struct reasoning *reasoning, const struct firn_predicate *leaf,
                         struct firn_explain_reason *reason)
{
    const struct firn_explaining *run = reasoning->run;
    struct firn_arena *arena = reasoning->op->arena;
    for (size_t i = 0; i < run->report->point_count; i++) {
        const struct firn_explain_point *point = &run->report->points[i];
        if (firn_text_same(point->column, reason->column))
            reason->why = firn_text_format(arena,
                                           "%.*s; a filter for one value of %.*s opens %.1f files of the table, %.1f "
                                           "of a partition, on average",
                                           FIRN_FMT(reason->why), FIRN_FMT(point->column), point->files,
                                           FIRN_MAX(point->files_in_partition, 0.0));
    }
    if (reason->kept.files > 1 && firn_explain_sorting_saves(run, reason->column))
        set_remedy(reason, firn_explain_sort_remedy(arena, run, reason->column));
    if (leaf->op == FIRN_PRED_EQ || leaf->op == FIRN_PRED_IN)
        reason->advice = firn_text_format(arena,
                                          "where another order matters more, bloom filters help for single values: "
                                          "write.parquet.bloom-filter-enabled.column.%.*s=true, and files written anew",
                                          FIRN_FMT(reason->column));
}

static void mend(struct reasoning *reasoning, const struct firn_predicate *leaf, enum firn_stay stay,
                 struct firn_explain_reason *reason)
{
    switch (stay) {
    case FIRN_STAY_OPAQUE:
        mend_function(reasoning, leaf, reason);
        break;
    case FIRN_STAY_NO_METRICS:
    case FIRN_STAY_NO_BOUNDS:
        mend_metrics(reasoning, leaf, reason);
        break;
    case FIRN_STAY_BAD_BOUNDS:
        set_remedy(reason, rewriting_all(reasoning->op->arena, reasoning->run));
        break;
    case FIRN_STAY_TRUNCATED:
        mend_truncation(reasoning, leaf, reason);
        break;
    case FIRN_STAY_OVERLAP:
        mend_overlap(reasoning, leaf, reason);
        break;
    case FIRN_STAY_NANS:
        reason->advice = FIRN_TEXT("files that record how many NaN they have are told apart; firn counts them in files "
                                   "that it writes");
        break;
    case FIRN_STAY_NOT_EQUAL:
        reason->advice = FIRN_TEXT("say what is wanted rather than what is not, if that are few values or a range");
        break;
    default:
        break;
    }
}

static void explain_leaf(struct reasoning *reasoning, const struct firn_explain_leaf *leaf)
{
    struct firn_arena *arena = reasoning->op->arena;
    for (int k = FIRN_STAY_RULED_OUT + 1; k < FIRN_STAY_COUNT; k++) {
        const struct firn_explain_stay *stay = &leaf->stays[k];
        if (stay->kept.files == 0)
            continue;
        struct firn_explain_reason reason = {
            .code = stays[k].code,
            .condition = firn_predicate_text(arena, leaf->leaf),
            .column = firn_schema_name(arena, reasoning->run->schema, leaf->leaf->field->id),
            .why = firn_text_of(stays[k].why),
            .kept = stay->kept,
            .example = stay->example,
            .bounds = stay->bounds,
        };
        mend(reasoning, leaf->leaf, (enum firn_stay)k, &reason);
        add(reasoning, reason);
    }
}

/* Partition fields --------------------------------------------------------------------------------------------------
 */

/* What stays of one spec. */
struct spec_kept {
    struct firn_explain_tally kept;
    int64_t partitions;
};

static struct spec_kept kept_of_spec(const struct firn_explaining *run, int32_t spec_id)
{
    struct spec_kept sum = { 0 };
    for (size_t i = 0; i < run->partitions.count; i++) {
        const struct firn_explain_partition *partition = &run->partitions.items[i];
        if (partition->spec_id != spec_id || partition->kept.files == 0)
            continue;
        firn_explain_tally_add(&sum.kept, &partition->kept);
        sum.partitions++;
    }
    return sum;
}

/* Whether a transform carries a comparison over to its results. */
static bool prunes(const struct firn_transform *transform, enum firn_predicate_op op)
{
    bool is_equal = op == FIRN_PRED_EQ || op == FIRN_PRED_IN;
    if (op == FIRN_PRED_OPAQUE || transform->id == FIRN_TRANSFORM_VOID)
        return false;
    if (op == FIRN_PRED_IS_NULL || op == FIRN_PRED_NOT_NULL || transform->id == FIRN_TRANSFORM_IDENTITY || is_equal)
        return true;
    return transform->id != FIRN_TRANSFORM_BUCKET && op != FIRN_PRED_NOT_EQ && op != FIRN_PRED_NOT_IN;
}

/* Which conditions there are on the source of a partition field. */
struct use {
    bool is_named, is_opaque, is_pruning;
};

static struct use use_of(const struct firn_explaining *run, const struct firn_partition_field *field)
{
    struct use use = { 0 };
    for (size_t i = 0; i < run->leaf_count; i++) {
        const struct firn_predicate *leaf = run->leaves[i].leaf;
        if (leaf->field->id != field->source_ids[0])
            continue;
        use.is_named = true;
        use.is_opaque |= leaf->op == FIRN_PRED_OPAQUE;
        use.is_pruning |= prunes(&field->transform, leaf->op);
    }
    return use;
}

static struct firn_text field_text(struct firn_arena *arena, const struct firn_explaining *run,
                                   const struct firn_partition_field *field)
{
    struct firn_text column = firn_schema_name(arena, run->schema, field->source_ids[0]);
    if (field->transform.id == FIRN_TRANSFORM_IDENTITY)
        return column;
    return firn_text_format(arena, "%.*s(%.*s)", FIRN_FMT(field->transform.text), FIRN_FMT(column));
}

static void explain_field(struct reasoning *reasoning, const struct firn_partition_field *field,
                          const struct spec_kept *kept)
{
    struct firn_arena *arena = reasoning->op->arena;
    struct use use = use_of(reasoning->run, field);
    struct firn_text text = field_text(arena, reasoning->run, field);
    struct firn_explain_reason reason = {
        .code = use.is_named ? "transform" : "partition-not-filtered",
        .column = firn_schema_name(arena, reasoning->run->schema, field->source_ids[0]),
        .kept = kept->kept,
    };
    if (use.is_pruning || use.is_opaque) /* of functions is told with the condition */
        return;
    if (!use.is_named) {
        reason.why = firn_text_format(arena,
                                      "files of %" PRId64 " partitions stay, and nothing is asked of %.*s, by which "
                                      "they are partitioned",
                                      kept->partitions, FIRN_FMT(text));
        reason.advice = firn_text_format(arena, "add a condition on %.*s", FIRN_FMT(reason.column));
    } else {
        reason.why = firn_text_format(arena, "%.*s keeps no order that these conditions could be carried over to",
                                      FIRN_FMT(text));
        reason.advice =
            FIRN_TEXT("bucket rules partitions out for = and IN alone; ranges need identity, truncate, or a "
                      "unit of time");
    }
    add(reasoning, reason);
}

static void explain_spec(struct reasoning *reasoning, const struct firn_partition_spec *spec)
{
    struct spec_kept kept = kept_of_spec(reasoning->run, spec->id);
    for (uint32_t i = 0; kept.partitions > 1 && i < spec->field_count; i++)
        if (spec->fields[i].source_count == 1 && spec->fields[i].transform.id != FIRN_TRANSFORM_VOID)
            explain_field(reasoning, &spec->fields[i], &kept);
}

static bool has_source(const struct firn_partition_spec *spec, int32_t source_id)
{
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (spec->fields[i].source_ids[0] == source_id && spec->fields[i].transform.id != FIRN_TRANSFORM_VOID)
            return true;
    return false;
}

/* Files of other specs, that a field of today's would rule out, or might. */
static void explain_old_specs(struct reasoning *reasoning, const struct firn_partition_field *field)
{
    const struct firn_explaining *run = reasoning->run;
    struct firn_arena *arena = reasoning->op->arena;
    struct firn_explain_tally kept = { 0 };
    if (field->source_count != 1 || !use_of(run, field).is_pruning)
        return;
    for (uint32_t i = 0; i < run->metadata->spec_count; i++) {
        struct spec_kept of_spec = kept_of_spec(run, run->metadata->specs[i].id);
        if (!has_source(&run->metadata->specs[i], field->source_ids[0]))
            firn_explain_tally_add(&kept, &of_spec.kept);
    }
    if (kept.files == 0)
        return;
    struct firn_remedy remedy = rewriting_all(arena, run);
    add(reasoning, (struct firn_explain_reason){
                       .code = "old-spec",
                       .column = firn_schema_name(arena, run->schema, field->source_ids[0]),
                       .why = firn_text_format(arena, "the files are from before the table was partitioned by %.*s",
                                               FIRN_FMT(field_text(arena, run, field))),
                       .kept = kept,
                       .command = remedy.command,
                       .call = remedy.call,
                   });
}

static void explain_partitions(struct reasoning *reasoning)
{
    const struct firn_metadata *metadata = reasoning->run->metadata;
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, metadata->default_spec_id);
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        explain_spec(reasoning, &metadata->specs[i]);
    for (uint32_t i = 0; spec && i < spec->field_count; i++)
        explain_old_specs(reasoning, &spec->fields[i]);
}

/* What else is read -------------------------------------------------------------------------------------------------
 */

static void explain_deletes(struct reasoning *reasoning)
{
    struct firn_arena *arena = reasoning->op->arena;
    const struct firn_explain_report *report = reasoning->run->report;
    if (report->files_with_deletes == 0)
        return;
    struct firn_remedy remedy = rewriting(arena, reasoning->run, FIRN_TEXT("--option delete-file-threshold=1"),
                                          FIRN_TEXT("options => map('delete-file-threshold', '1')"));
    add(reasoning,
        (struct firn_explain_reason){
            .code = "deletes",
            .why = firn_text_format(arena,
                                    "%" PRId64 " delete files are opened beside the data files, counted for each, and "
                                    "their %" PRId64 " bytes read",
                                    report->delete_reads, report->delete_read_bytes),
            .kept = { .files = report->files_with_deletes, .bytes = report->delete_read_bytes },
            .command = remedy.command,
            .call = remedy.call,
        });
}

/* Manifests that mix partitions: most of what planning reads in them is of others than those asked for. */
static void explain_manifests(struct reasoning *reasoning)
{
    struct firn_arena *arena = reasoning->op->arena;
    const struct firn_explaining *run = reasoning->run;
    const struct firn_explain_report *report = run->report;
    int64_t other = report->by_level[FIRN_EXPLAIN_PARTITIONS].files;
    int64_t listed = report->total.files - report->by_level[FIRN_EXPLAIN_MANIFESTS].files;
    if (report->manifests_kept < 2 || other <= listed / 2)
        return;
    add(reasoning,
        (struct firn_explain_reason){
            .code = "manifests",
            .why = firn_text_format(arena,
                                    "%" PRId64 " manifests are read, and of the %" PRId64 " files they list %" PRId64
                                    " are in other partitions; %" PRId64 " manifests have none that matches",
                                    report->manifests_kept, listed, other, report->manifests_in_vain),
            .command = firn_remedy_command(arena, run->table, "rewrite-manifests", ""),
            .call = firn_remedy_call(arena, run->table, "rewrite_manifests", ""),
        });
}

static int compare_reasons(const void *a, const void *b)
{
    const struct firn_explain_reason *left = a, *right = b;
    if (left->kept.bytes != right->kept.bytes)
        return left->kept.bytes > right->kept.bytes ? -1 : 1;
    int order = strcmp(left->code, right->code);
    return order ? order : firn_text_compare(left->condition, right->condition);
}

firn_status firn_explain_reasons(struct firn_op *op, struct firn_explaining *run)
{
    struct reasoning reasoning = { .op = op, .run = run };
    const struct firn_metadata *metadata = run->metadata;
    FIRN_TRY(firn_metrics_config_new(op, metadata, run->schema,
                                     firn_metadata_sort_order(metadata, metadata->default_sort_order_id),
                                     &reasoning.metrics));
    for (size_t i = 0; i < run->leaf_count; i++)
        explain_leaf(&reasoning, &run->leaves[i]);
    if (run->report->by_level[FIRN_EXPLAIN_KEPT].files > 0)
        explain_partitions(&reasoning);
    explain_deletes(&reasoning);
    explain_manifests(&reasoning);
    if (reasoning.reasons.count > 1)
        qsort(reasoning.reasons.items, reasoning.reasons.count, sizeof *reasoning.reasons.items, compare_reasons);
    run->report->reasons = reasoning.reasons.items;
    run->report->reason_count = reasoning.reasons.count;
    return FIRN_OK;
}
