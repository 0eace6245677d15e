/* Options of rewrite_data_files. Reference: procedures.md, 2.1, 2.3, 2.4, 12. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"
#include "maintain/group_options.h"

#define TARGET_FILE_BYTES_DEFAULT INT64_C(536870912)

/* The table's own wish, which the option layout overrides. */
#define LAYOUT_PROPERTY "firn.layout"

/* In the order of enum firn_rung, after none. */
static const char *const forced_rung_names[] = { "none", "keep", "splice", "repack", "remap", "transcode", NULL };
_Static_assert(FIRN_COUNT_OF(forced_rung_names) == FIRN_RUNG_COUNT + 2, "none, and one name a rung");

#define AT(member) offsetof(struct firn_rewrite_options, member)

/* clang-format off */
#define COMMON_OPTIONS                                                                                                 \
    FIRN_PACKING_OPTIONS(AT),                                                                                          \
    { "delete-file-threshold", FIRN_OPTION_WHOLE, AT(delete_file_threshold), 0, INT32_MAX, NULL, true },               \
    { "delete-ratio-threshold", FIRN_OPTION_RATIO, AT(delete_ratio_threshold), 0, 0, NULL, true },                     \
    { "output-spec-id", FIRN_OPTION_WHOLE, AT(output_spec_id), 0, INT32_MAX, NULL, true },                             \
    { "max-files-to-rewrite", FIRN_OPTION_WHOLE, AT(files_max), 1, INT32_MAX, NULL, true },                            \
    { "max-concurrent-file-group-rewrites", FIRN_OPTION_WHOLE, AT(concurrent_groups_max), 1, INT32_MAX, NULL, false }, \
    FIRN_PARTIAL_PROGRESS_OPTIONS(AT),                                                                                 \
    { "partial-progress.max-failed-commits", FIRN_OPTION_WHOLE, AT(failed_commits_max), INT32_MIN, INT32_MAX, NULL,    \
      false },                                                                                                         \
    { "use-starting-sequence-number", FIRN_OPTION_FLAG, AT(use_starting_sequence_number), 0, 0, NULL, false },         \
    { "rewrite-job-order", FIRN_OPTION_CHOICE, AT(job_order), 0, 0, firn_job_order_names, false },                     \
    { "remove-dangling-deletes", FIRN_OPTION_FLAG, AT(remove_dangling_deletes), 0, 0, NULL, false },                   \
    { "carry-over-deletes", FIRN_OPTION_FLAG, AT(carry_over_deletes), 0, 0, NULL, false },                             \
    /* firn's own, as the one before */                                                                                \
    { "layout", FIRN_OPTION_CHOICE, AT(layout), 0, 0, firn_layout_names, false },                                      \
    { "force-rung", FIRN_OPTION_CHOICE, AT(forced_rung), 0, 0, forced_rung_names, false } /* for tests */

#define SORT_OPTIONS                                                                                                   \
    { "compression-factor", FIRN_OPTION_FACTOR, AT(compression_factor), 0, 0, NULL, true },                            \
    { "shuffle-partitions-per-file", FIRN_OPTION_WHOLE, AT(shuffle_partitions_per_file), 1, INT32_MAX, NULL, false },  \
    { "rewrite-unsorted-only", FIRN_OPTION_FLAG, AT(rewrite_unsorted_only), 0, 0, NULL, true } /* firn's own */
/* clang-format on */

static const struct firn_option_row binpack_rows[] = {
    COMMON_OPTIONS,
    { "sort-within-files", FIRN_OPTION_FLAG, AT(sort_within_files), 0, 0, NULL, false }, /* firn's own */
};
static const struct firn_option_row sort_rows[] = { COMMON_OPTIONS, SORT_OPTIONS };
static const struct firn_option_row zorder_rows[] = {
    COMMON_OPTIONS,
    SORT_OPTIONS,
    { "var-length-contribution", FIRN_OPTION_WHOLE, AT(var_length_contribution), 1, INT32_MAX, NULL, false },
    { "max-output-size", FIRN_OPTION_WHOLE, AT(output_bytes_max), 1, INT32_MAX, NULL, false },
};

/* What each strategy has. */
static const struct firn_option_map maps[] = {
    [FIRN_STRATEGY_BINPACK] = { "strategy binpack", binpack_rows, FIRN_COUNT_OF(binpack_rows) },
    [FIRN_STRATEGY_SORT] = { "strategy sort", sort_rows, FIRN_COUNT_OF(sort_rows) },
    [FIRN_STRATEGY_ZORDER] = { "sorting by zorder(...)", zorder_rows, FIRN_COUNT_OF(zorder_rows) },
    [FIRN_STRATEGY_HILBERT] = { "sorting by hilbert(...)", sort_rows, FIRN_COUNT_OF(sort_rows) },
};

/* Whether a key that the strategy does not have belongs to another one. */
static bool has_key_of_another(const struct firn_rewrite_data_files_args *args, const struct firn_option_map *own)
{
    for (size_t i = 0; i < args->option_count; i++) {
        struct firn_text key = args->options[i].key;
        if (!firn_option_map_has(own, key) && (firn_option_map_has(&maps[FIRN_STRATEGY_ZORDER], key) ||
                                               firn_option_map_has(&maps[FIRN_STRATEGY_BINPACK], key)))
            return true;
    }
    return false;
}

static firn_status parse_map(struct firn_op *op, const struct firn_rewrite_data_files_args *args,
                             struct firn_rewrite_options *out)
{
    const struct firn_option_map *map = &maps[out->strategy];
    firn_status status = firn_option_map_parse(op, map, args->options, args->option_count, out);
    if (status != FIRN_OK && has_key_of_another(args, map))
        return firn_hint(op, status,
                         "compression-factor, shuffle-partitions-per-file and rewrite-unsorted-only belong to strategy "
                         "sort, var-length-contribution and max-output-size to zorder(...), sort-within-files to "
                         "binpack");
    return status;
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
        .sort_within_files = true,
        .compression_factor = 1.0,
        .shuffle_partitions_per_file = 1,
        .var_length_contribution = 8,
        .output_bytes_max = INT32_MAX,
    };
    FIRN_TRY(firn_rewrite_strategy_find(op, args, out));
    FIRN_TRY(firn_property_i64(op, metadata, "write.target-file-size-bytes", TARGET_FILE_BYTES_DEFAULT,
                               &out->sizes.target_bytes));
    FIRN_TRY(find_layout(op, metadata, &out->layout));
    FIRN_TRY(parse_map(op, args, out));
    return check_together(op, metadata, out);
}

json_t *firn_rewrite_options_json(const struct firn_rewrite_options *options)
{
    return firn_option_map_json(&maps[options->strategy], options);
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
    return firn_option_map_settings(arena, &maps[options->strategy], options, where);
}

struct firn_text firn_rewrite_options_shape(struct firn_arena *arena, const struct firn_rewrite_options *options)
{
    return firn_text_format(arena, "target=%" PRId64 " min=%" PRId64 " max=%" PRId64 " spec=%" PRId64,
                            options->sizes.target_bytes, options->sizes.bytes_min, options->sizes.bytes_max,
                            options->output_spec_id);
}
