/* Options of rewrite_data_files. Reference: procedures.md, 2.1, 2.3, 2.4, 12. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"
#include "maintain/group_options.h"

#define TARGET_FILE_BYTES_DEFAULT INT64_C(536870912)

/* The table's own wish, which the option layout overrides. */
#define LAYOUT_PROPERTY "firn.layout"

/* In the order of enum firn_rung, after none. */
static const char *const forced_rung_names[] = { "none", "keep", "splice", "remap", "transcode", NULL };
_Static_assert(FIRN_COUNT_OF(forced_rung_names) == FIRN_RUNG_COUNT + 2, "none, and one name a rung");

#define AT(member) offsetof(struct firn_rewrite_options, member)

static const struct firn_option_row rows[] = {
    FIRN_PACKING_OPTIONS(AT),
    { "delete-file-threshold", FIRN_OPTION_WHOLE, AT(delete_file_threshold), 0, INT32_MAX, NULL, true },
    { "delete-ratio-threshold", FIRN_OPTION_RATIO, AT(delete_ratio_threshold), 0, 0, NULL, true },
    { "output-spec-id", FIRN_OPTION_WHOLE, AT(output_spec_id), 0, INT32_MAX, NULL, true },
    { "max-files-to-rewrite", FIRN_OPTION_WHOLE, AT(files_max), 1, INT32_MAX, NULL, true },
    { "max-concurrent-file-group-rewrites", FIRN_OPTION_WHOLE, AT(concurrent_groups_max), 1, INT32_MAX, NULL, false },
    FIRN_PARTIAL_PROGRESS_OPTIONS(AT),
    { "partial-progress.max-failed-commits", FIRN_OPTION_WHOLE, AT(failed_commits_max), INT32_MIN, INT32_MAX, NULL,
      false },
    { "use-starting-sequence-number", FIRN_OPTION_FLAG, AT(use_starting_sequence_number), 0, 0, NULL, false },
    { "rewrite-job-order", FIRN_OPTION_CHOICE, AT(job_order), 0, 0, firn_job_order_names, false },
    { "remove-dangling-deletes", FIRN_OPTION_FLAG, AT(remove_dangling_deletes), 0, 0, NULL, false },
    { "carry-over-deletes", FIRN_OPTION_FLAG, AT(carry_over_deletes), 0, 0, NULL, false },
    /* firn's own, as the one before */
    { "layout", FIRN_OPTION_CHOICE, AT(layout), 0, 0, firn_layout_names, false },
    { "force-rung", FIRN_OPTION_CHOICE, AT(forced_rung), 0, 0, forced_rung_names, false }, /* for tests */
};

static const struct firn_option_map map = { "strategy binpack", rows, FIRN_COUNT_OF(rows) };

/* Known to the reference, but only with strategy sort. */
static const char *const sort_options[] = {
    "compression-factor",
    "shuffle-partitions-per-file",
    "var-length-contribution",
    "max-output-size",
};

static bool has_sort_option(const struct firn_rewrite_data_files_args *args)
{
    for (size_t i = 0; i < args->option_count; i++)
        for (size_t j = 0; j < FIRN_COUNT_OF(sort_options); j++)
            if (firn_text_is(args->options[i].key, sort_options[j]))
                return true;
    return false;
}

/* firn can pack only; the rules about combinations hold all the same. */
static firn_status check_strategy(struct firn_op *op, const struct firn_rewrite_data_files_args *args)
{
    bool is_binpack = firn_text_same_nocase(args->strategy, FIRN_TEXT("binpack"));
    bool is_sort = firn_text_same_nocase(args->strategy, FIRN_TEXT("sort"));
    if (args->strategy.len > 0 && !is_binpack && !is_sort)
        return firn_fail(op, FIRN_USAGE, "strategy is \"%.*s\", not binpack or sort", FIRN_FMT(args->strategy));
    if (is_binpack && args->sort_order.len > 0)
        return firn_fail(op, FIRN_USAGE, "strategy binpack takes no sort order");
    if (is_sort || args->sort_order.len > 0) {
        firn_status status =
            firn_fail(op, FIRN_UNSUPPORTED, "clustering (sort and z-order) is not there yet; only binpack is");
        return firn_hint(op, status, "leave out strategy and sort order to compact without sorting");
    }
    return FIRN_OK;
}

static firn_status check_together(struct firn_op *op, const struct firn_metadata *metadata,
                                  struct firn_rewrite_options *options)
{
    FIRN_TRY(firn_output_sizes_check(op, &options->sizes));
    if (!firn_metadata_spec(metadata, (int32_t)options->output_spec_id))
        return firn_fail(op, FIRN_USAGE, "output-spec-id is %" PRId64 ", the table has no such partition spec",
                         options->output_spec_id);
    FIRN_TRY(firn_commits_max_check(op, options->partial_progress, options->commits_max));
    if (options->failed_commits_max == FIRN_ABSENT)
        options->failed_commits_max = options->commits_max;
    return FIRN_OK;
}

static firn_status find_layout(struct firn_op *op, const struct firn_metadata *metadata, int64_t *out)
{
    struct firn_text name = firn_property_text(metadata, LAYOUT_PROPERTY, firn_text_of(firn_layout_names[*out]));
    for (*out = 0; firn_layout_names[*out]; ++*out)
        if (firn_text_same_nocase(firn_text_trim(name), firn_text_of(firn_layout_names[*out])))
            return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "table property " LAYOUT_PROPERTY " is '%.*s', not balanced, fastest or smallest",
                     FIRN_FMT(name));
}

firn_status firn_rewrite_options_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                       const struct firn_rewrite_data_files_args *args,
                                       struct firn_rewrite_options *out)
{
    *out = (struct firn_rewrite_options){
        .sizes = { .bytes_min = FIRN_ABSENT, .bytes_max = FIRN_ABSENT },
        .limits = firn_group_limits_default(),
        .delete_file_threshold = INT32_MAX,
        .delete_ratio_threshold = 0.3,
        .output_spec_id = metadata->default_spec_id,
        .files_max = INT64_MAX,
        .concurrent_groups_max = 5,
        .commits_max = 10,
        .failed_commits_max = FIRN_ABSENT,
        .use_starting_sequence_number = true,
        .carry_over_deletes = true,
    };
    FIRN_TRY(check_strategy(op, args));
    FIRN_TRY(firn_property_i64(op, metadata, "write.target-file-size-bytes", TARGET_FILE_BYTES_DEFAULT,
                               &out->sizes.target_bytes));
    FIRN_TRY(find_layout(op, metadata, &out->layout));
    firn_status status = firn_option_map_parse(op, &map, args->options, args->option_count, out);
    if (status != FIRN_OK)
        return has_sort_option(args) ? firn_hint(op, status,
                                                 "compression-factor, shuffle-partitions-per-file, "
                                                 "var-length-contribution and max-output-size belong to sorting")
                                     : status;
    return check_together(op, metadata, out);
}

json_t *firn_rewrite_options_json(const struct firn_rewrite_options *options)
{
    return firn_option_map_json(&map, options);
}

struct firn_layout_policy firn_rewrite_options_layout(const struct firn_rewrite_options *options)
{
    bool is_forced = options->forced_rung > 0;
    return (struct firn_layout_policy){
        .layout = (enum firn_layout)options->layout,
        .is_forced = is_forced,
        .forced = is_forced ? (enum firn_rung)(options->forced_rung - 1) : FIRN_RUNG_KEEP,
    };
}

struct firn_text firn_rewrite_options_settings(struct firn_arena *arena, const struct firn_rewrite_options *options,
                                               struct firn_text where)
{
    return firn_option_map_settings(arena, &map, options, where);
}

struct firn_text firn_rewrite_options_shape(struct firn_arena *arena, const struct firn_rewrite_options *options)
{
    return firn_text_format(arena, "target=%" PRId64 " min=%" PRId64 " max=%" PRId64 " spec=%" PRId64,
                            options->sizes.target_bytes, options->sizes.bytes_min, options->sizes.bytes_max,
                            options->output_spec_id);
}
