/* Options of rewrite_data_files: one table that parses, checks, prints and fingerprints them.
 * Reference: procedures.md, 2.1, 2.3, 2.4, 12. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"

#define TARGET_FILE_BYTES_DEFAULT INT64_C(536870912)
#define GROUP_BYTES_DEFAULT       INT64_C(107374182400)
#define SPLIT_OVERHEAD_BYTES      INT64_C(5120)

enum kind { WHOLE, RATIO, FLAG, JOB_ORDER };

struct option_row {
    const char *key;
    enum kind kind;
    size_t at; /* of the member */
    int64_t min, max;
    bool chooses; /* decides which files are chosen */
};

#define AT(member) offsetof(struct firn_rewrite_options, member)

static const struct option_row rows[] = {
    { "target-file-size-bytes", WHOLE, AT(target_file_bytes), 1, INT64_MAX, true },
    { "min-file-size-bytes", WHOLE, AT(file_bytes_min), 0, INT64_MAX, true },
    { "max-file-size-bytes", WHOLE, AT(file_bytes_max), 1, INT64_MAX, true },
    { "min-input-files", WHOLE, AT(input_files_min), 1, INT32_MAX, true },
    { "rewrite-all", FLAG, AT(rewrite_all), 0, 0, true },
    { "max-file-group-size-bytes", WHOLE, AT(group_bytes_max), 1, INT64_MAX, true },
    { "max-file-group-input-files", WHOLE, AT(group_files_max), 1, INT64_MAX, true },
    { "delete-file-threshold", WHOLE, AT(delete_file_threshold), 0, INT32_MAX, true },
    { "delete-ratio-threshold", RATIO, AT(delete_ratio_threshold), 0, 0, true },
    { "output-spec-id", WHOLE, AT(output_spec_id), 0, INT32_MAX, true },
    { "max-files-to-rewrite", WHOLE, AT(files_max), 1, INT32_MAX, true },
    { "max-concurrent-file-group-rewrites", WHOLE, AT(concurrent_groups_max), 1, INT32_MAX, false },
    { "partial-progress.enabled", FLAG, AT(partial_progress), 0, 0, false },
    { "partial-progress.max-commits", WHOLE, AT(commits_max), INT32_MIN, INT32_MAX, false },
    { "partial-progress.max-failed-commits", WHOLE, AT(failed_commits_max), INT32_MIN, INT32_MAX, false },
    { "use-starting-sequence-number", FLAG, AT(use_starting_sequence_number), 0, 0, false },
    { "rewrite-job-order", JOB_ORDER, AT(job_order), 0, 0, false },
    { "remove-dangling-deletes", FLAG, AT(remove_dangling_deletes), 0, 0, false },
    { "carry-over-deletes", FLAG, AT(carry_over_deletes), 0, 0, false }, /* firn's own */
};

static const char *const job_orders[] = { "none", "bytes-asc", "bytes-desc", "files-asc", "files-desc" };
_Static_assert(FIRN_COUNT_OF(job_orders) == FIRN_ORDER_COUNT, "one name per order");

/* Known to the reference, but only with strategy sort. */
static const char *const sort_options[] = {
    "compression-factor",
    "shuffle-partitions-per-file",
    "var-length-contribution",
    "max-output-size",
};

static int64_t whole_value(const struct firn_rewrite_options *options, const struct option_row *row)
{
    int64_t value;
    memcpy(&value, (const char *)options + row->at, sizeof value);
    return value;
}

static bool flag_value(const struct firn_rewrite_options *options, const struct option_row *row)
{
    bool value;
    memcpy(&value, (const char *)options + row->at, sizeof value);
    return value;
}

static const struct option_row *find_row(struct firn_text key)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        if (firn_text_is(key, rows[i].key))
            return &rows[i];
    return NULL;
}

static bool is_sort_option(struct firn_text key)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(sort_options); i++)
        if (firn_text_is(key, sort_options[i]))
            return true;
    return false;
}

static firn_status check_keys(struct firn_op *op, const struct firn_rewrite_data_files_args *args)
{
    struct firn_text unknown = { 0 };
    bool has_sort_option = false;
    for (size_t i = 0; i < args->option_count; i++) {
        struct firn_text key = args->options[i].key;
        if (find_row(key))
            continue;
        has_sort_option = has_sort_option || is_sort_option(key);
        unknown = unknown.len ? firn_text_format(op->arena, "%.*s, %.*s", FIRN_FMT(unknown), FIRN_FMT(key)) : key;
    }
    if (!unknown.data)
        return FIRN_OK;
    firn_status status =
        firn_fail(op, FIRN_USAGE, "options that strategy binpack does not have: %.*s", FIRN_FMT(unknown));
    return has_sort_option ? firn_hint(op, status,
                                       "compression-factor, shuffle-partitions-per-file, "
                                       "var-length-contribution and max-output-size belong to sorting")
                           : status;
}

static firn_status parse_whole(struct firn_op *op, const struct option_row *row, struct firn_text text, int64_t *out)
{
    if (!firn_text_to_i64(firn_text_trim(text), out))
        return firn_fail(op, FIRN_USAGE, "option %s is \"%.*s\", not a whole number", row->key, FIRN_FMT(text));
    if (*out < row->min || *out > row->max)
        return firn_fail(op, FIRN_USAGE, "option %s is %" PRId64 ", it must be %s %" PRId64, row->key, *out,
                         *out < row->min ? "at least" : "at most", *out < row->min ? row->min : row->max);
    return FIRN_OK;
}

static firn_status parse_ratio(struct firn_op *op, const struct option_row *row, struct firn_text text, double *out)
{
    if (!firn_text_to_f64(firn_text_trim(text), out))
        return firn_fail(op, FIRN_USAGE, "option %s is \"%.*s\", not a number", row->key, FIRN_FMT(text));
    if (!(*out > 0 && *out <= 1))
        return firn_fail(op, FIRN_USAGE, "option %s is %g, it must be above 0 and at most 1", row->key, *out);
    return FIRN_OK;
}

static firn_status parse_job_order(struct firn_op *op, struct firn_text text, int64_t *out)
{
    for (int64_t i = 0; i < FIRN_ORDER_COUNT; i++)
        if (firn_text_same_nocase(firn_text_trim(text), firn_text_of(job_orders[i]))) {
            *out = i;
            return FIRN_OK;
        }
    return firn_fail(op, FIRN_USAGE,
                     "option rewrite-job-order is \"%.*s\", not one of none, bytes-asc, bytes-desc, files-asc, "
                     "files-desc",
                     FIRN_FMT(text));
}

static firn_status parse_option(struct firn_op *op, const struct option_row *row, struct firn_text text,
                                struct firn_rewrite_options *out)
{
    void *member = (char *)out + row->at;
    switch (row->kind) {
    case WHOLE:
        return parse_whole(op, row, text, member);
    case RATIO:
        return parse_ratio(op, row, text, member);
    case JOB_ORDER:
        return parse_job_order(op, text, member);
    case FLAG:
        *(bool *)member = firn_text_to_bool(firn_text_trim(text));
        return FIRN_OK;
    }
    return FIRN_OK;
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

static firn_status check_sizes(struct firn_op *op, struct firn_rewrite_options *options)
{
    int64_t target = options->target_file_bytes;
    if (target < 1)
        return firn_fail(op, FIRN_USAGE, "target file size is %" PRId64 ", it must be above 0", target);
    if (options->file_bytes_min == FIRN_ABSENT)
        options->file_bytes_min = (int64_t)((double)target * 0.75);
    if (options->file_bytes_max == FIRN_ABSENT) {
        double bound = (double)target * 1.80; /* past 2^63 the conversion is undefined; Java's stops there */
        options->file_bytes_max = bound < 9.2e18 ? (int64_t)bound : INT64_MAX;
    }
    if (options->file_bytes_min >= target)
        return firn_fail(op, FIRN_USAGE,
                         "min-file-size-bytes is %" PRId64 ", not below target-file-size-bytes %" PRId64,
                         options->file_bytes_min, target);
    if (options->file_bytes_max <= target)
        return firn_fail(op, FIRN_USAGE,
                         "max-file-size-bytes is %" PRId64 ", not above target-file-size-bytes %" PRId64,
                         options->file_bytes_max, target);
    return FIRN_OK;
}

static firn_status check_together(struct firn_op *op, const struct firn_metadata *metadata,
                                  struct firn_rewrite_options *options)
{
    FIRN_TRY(check_sizes(op, options));
    if (!firn_metadata_spec(metadata, (int32_t)options->output_spec_id))
        return firn_fail(op, FIRN_USAGE, "output-spec-id is %" PRId64 ", the table has no such partition spec",
                         options->output_spec_id);
    if (options->partial_progress && options->commits_max < 1)
        return firn_fail(op, FIRN_USAGE,
                         "partial-progress.max-commits is %" PRId64 ", it must be above 0 with partial progress",
                         options->commits_max);
    if (options->failed_commits_max == FIRN_ABSENT)
        options->failed_commits_max = options->commits_max;
    return FIRN_OK;
}

firn_status firn_rewrite_options_parse(struct firn_op *op, const struct firn_metadata *metadata,
                                       const struct firn_rewrite_data_files_args *args,
                                       struct firn_rewrite_options *out)
{
    *out = (struct firn_rewrite_options){
        .file_bytes_min = FIRN_ABSENT,
        .file_bytes_max = FIRN_ABSENT,
        .input_files_min = 5,
        .group_bytes_max = GROUP_BYTES_DEFAULT,
        .group_files_max = INT64_MAX,
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
    FIRN_TRY(check_keys(op, args));
    FIRN_TRY(firn_property_i64(op, metadata, "write.target-file-size-bytes", TARGET_FILE_BYTES_DEFAULT,
                               &out->target_file_bytes));
    for (size_t i = 0; i < args->option_count; i++)
        FIRN_TRY(parse_option(op, find_row(args->options[i].key), args->options[i].value, out));
    return check_together(op, metadata, out);
}

static json_t *option_json(const struct firn_rewrite_options *options, const struct option_row *row)
{
    double ratio;
    switch (row->kind) {
    case WHOLE:
        return json_integer(whole_value(options, row));
    case FLAG:
        return json_boolean(flag_value(options, row));
    case JOB_ORDER:
        return json_string(job_orders[whole_value(options, row)]);
    case RATIO:
        memcpy(&ratio, (const char *)options + row->at, sizeof ratio);
        return json_real(ratio);
    }
    return json_null();
}

json_t *firn_rewrite_options_json(const struct firn_rewrite_options *options)
{
    json_t *json = json_object();
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++)
        firn_json_set(json, rows[i].key, option_json(options, &rows[i]));
    return json;
}

struct firn_text firn_rewrite_options_settings(struct firn_arena *arena, const struct firn_rewrite_options *options,
                                               struct firn_text where)
{
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < FIRN_COUNT_OF(rows); i++) {
        if (!rows[i].chooses)
            continue;
        json_t *value = option_json(options, &rows[i]);
        struct firn_text printed = firn_json_text(arena, value, 0);
        json_decref(value);
        text = firn_text_format(arena, "%.*s%s=%.*s ", FIRN_FMT(text), rows[i].key, FIRN_FMT(printed));
    }
    return firn_text_format(arena, "%.*swhere=%.*s", FIRN_FMT(text), FIRN_FMT(where));
}

struct firn_text firn_rewrite_options_shape(struct firn_arena *arena, const struct firn_rewrite_options *options)
{
    return firn_text_format(arena, "target=%" PRId64 " min=%" PRId64 " max=%" PRId64 " spec=%" PRId64,
                            options->target_file_bytes, options->file_bytes_min, options->file_bytes_max,
                            options->output_spec_id);
}

int64_t firn_rewrite_write_max(const struct firn_rewrite_options *options)
{
    double target = (double)options->target_file_bytes;
    return (int64_t)(target + 0.5 * ((double)options->file_bytes_max - target));
}

int64_t firn_rewrite_expected_files(const struct firn_rewrite_options *options, int64_t bytes)
{
    int64_t target = options->target_file_bytes;
    if (bytes < target)
        return 1;
    int64_t down = bytes / target;
    int64_t up = down + (bytes % target != 0);
    if (bytes % target > options->file_bytes_min)
        return up;
    double average_max = FIRN_MIN(1.1 * (double)target, (double)firn_rewrite_write_max(options));
    return (double)(bytes / down) < average_max ? down : up;
}

int64_t firn_rewrite_split_bytes(const struct firn_rewrite_options *options, int64_t bytes)
{
    int64_t estimate = bytes / firn_rewrite_expected_files(options, bytes) + SPLIT_OVERHEAD_BYTES;
    if (estimate < options->target_file_bytes)
        return options->target_file_bytes;
    return FIRN_MIN(estimate, firn_rewrite_write_max(options));
}
