/* Arguments of remove_orphan_files: checks and defaults. Reference: procedures.md, 7.1 and 12. */
#include "maintain/orphans.h"

#include "base/math.h"
#include "maintain/age.h"

#define AGE_MS_DEFAULT (3 * FIRN_MS_PER_DAY)
#define AGE_MS_MIN     FIRN_MS_PER_DAY

static firn_status parse_older_than(struct firn_op *op, struct firn_text text, int64_t now_ms, int64_t *cutoff_ms)
{
    *cutoff_ms = now_ms - AGE_MS_DEFAULT;
    if (text.len == 0)
        return FIRN_OK;
    FIRN_TRY(firn_point_in_time_parse(op, "older-than", text, now_ms, cutoff_ms));
    if (*cutoff_ms > now_ms - AGE_MS_MIN) {
        firn_status status = firn_fail(op, FIRN_USAGE,
                                       "--older-than: '%.*s' is less than 24 hours ago; files that young may belong to "
                                       "commits that are still being made, and deleting them would corrupt the table",
                                       FIRN_FMT(text));
        return firn_hint(op, status, "the default, 3 days, is safe with writers of up to 3 days");
    }
    if (*cutoff_ms > now_ms - AGE_MS_DEFAULT)
        firn_log(op, FIRN_LOG_WARN,
                 "--older-than is less than 3 days ago: THE FILES OF EVERY WRITE THAT STARTED BEFORE THEN AND HAS NOT "
                 "COMMITTED YET ARE TAKEN FOR ORPHANS");
    return FIRN_OK;
}

static firn_status parse_mismatch(struct firn_op *op, struct firn_text text, enum firn_prefix_mismatch *out)
{
    static const char *const names[] = {
        [FIRN_MISMATCH_ERROR] = "ERROR", [FIRN_MISMATCH_IGNORE] = "IGNORE", [FIRN_MISMATCH_DELETE] = "DELETE"
    };
    *out = FIRN_MISMATCH_ERROR;
    if (text.len == 0)
        return FIRN_OK;
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++) {
        if (!firn_text_same_nocase(text, firn_text_of(names[i])))
            continue;
        *out = (enum firn_prefix_mismatch)i;
        return FIRN_OK;
    }
    return firn_fail(op, FIRN_USAGE, "--prefix-mismatch-mode: '%.*s' is none of ERROR, IGNORE, DELETE", FIRN_FMT(text));
}

static firn_status parse_names(struct firn_op *op, const struct firn_remove_orphan_files_args *args,
                               struct firn_orphan_options *out)
{
    const struct firn_property s3 = { FIRN_TEXT("s3n,s3a"), FIRN_TEXT("s3") };
    FIRN_TRY(firn_prefix_names_add(op, &out->schemes, &s3, 1, "equal-schemes"));
    FIRN_TRY(firn_prefix_names_add(op, &out->schemes, args->equal_schemes, args->equal_scheme_count, "equal-schemes"));
    return firn_prefix_names_add(op, &out->authorities, args->equal_authorities, args->equal_authority_count,
                                 "equal-authorities");
}

static struct firn_text scheme_of(const struct firn_orphan_options *options, const struct firn_location_parts *parts)
{
    bool is_plain_path = parts->scheme.len == 0 && parts->authority.len == 0;
    return firn_prefix_names_find(&options->schemes, is_plain_path ? FIRN_TEXT("file") : parts->scheme);
}

static bool same_prefix(const struct firn_orphan_options *options, const struct firn_location_parts *a,
                        const struct firn_location_parts *b)
{
    return firn_text_same(scheme_of(options, a), scheme_of(options, b)) &&
           firn_text_same(firn_prefix_names_find(&options->authorities, a->authority),
                          firn_prefix_names_find(&options->authorities, b->authority));
}

bool firn_orphan_options_cover(const struct firn_orphan_options *options, const struct firn_location_parts *parts)
{
    return same_prefix(options, &options->place, parts) && firn_path_is_below(options->place.path, parts->path);
}

/* Whether the location lies in a folder of the table's. */
static bool lies_in(struct firn_op *op, const struct firn_orphan_options *options, struct firn_text folder)
{
    struct firn_location_parts parts = firn_location_split(op->arena, folder);
    return folder.len > 0 && same_prefix(options, &parts, &options->place) &&
           firn_path_is_below(parts.path, options->place.path);
}

/* The reference lists whatever it is given. Elsewhere than in the table's folders every file would be an orphan. */
static firn_status check_location(struct firn_op *op, const struct firn_metadata *metadata,
                                  const struct firn_orphan_options *options)
{
    static const char *const folders[] = { "write.data.path", "write.metadata.path", "write.object-storage.path",
                                           "write.folder-storage.path" };
    if (options->trust_location || lies_in(op, options, metadata->location))
        return FIRN_OK;
    for (size_t i = 0; i < FIRN_COUNT_OF(folders); i++)
        if (lies_in(op, options, firn_property_text(metadata, folders[i], FIRN_TEXT(""))))
            return FIRN_OK;
    firn_status status =
        firn_fail(op, FIRN_USAGE,
                  "--location: '%.*s' is neither in the table's location '%.*s' nor in a folder that its "
                  "write.*.path properties name",
                  FIRN_FMT(options->location), FIRN_FMT(metadata->location));
    return firn_hint(op, status, "where it is this table's all the same, say --trust-location");
}

static struct firn_text without_slash(struct firn_text location)
{
    while (location.len > 1 && location.data[location.len - 1] == '/')
        location.len--;
    return location;
}

static firn_status parse_location(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text given,
                                  struct firn_orphan_options *out)
{
    out->location = firn_text_copy(op->arena, without_slash(given.len ? given : metadata->location));
    out->place = firn_location_split(op->arena, out->location);
    struct firn_location_parts whole = firn_location_split(op->arena, metadata->location);
    out->is_whole_table = firn_text_same(whole.path, out->place.path) && same_prefix(out, &whole, &out->place);
    return check_location(op, metadata, out);
}

/* Options that exclude one another. */
static firn_status check_combination(struct firn_op *op, const struct firn_remove_orphan_files_args *args)
{
    const char *other = args->mark                 ? "--mark"
                        : args->older_than.len     ? "--older-than"
                        : args->file_list_view.len ? "--file-list-view"
                        : args->from.len           ? "--from"
                                                   : NULL;
    if (args->sweep && other)
        return firn_fail(op, FIRN_USAGE, "--sweep goes by the marks alone: it cannot be given with %s", other);
    if (args->after.len && !args->sweep)
        return firn_fail(op, FIRN_USAGE, "--after says how old a mark must be for --sweep, which is not given");
    if (args->max_concurrent_deletes < 0 || args->max_concurrent_deletes > UINT32_MAX)
        return firn_fail(op, FIRN_USAGE, "--max-concurrent-deletes: %" PRId64 " is not a number of deletions at a time",
                         args->max_concurrent_deletes);
    return FIRN_OK;
}

static firn_status parse_sweep(struct firn_op *op, const struct firn_remove_orphan_files_args *args,
                               struct firn_orphan_options *out)
{
    int64_t age_ms = AGE_MS_DEFAULT;
    if (!args->sweep)
        return FIRN_OK;
    if (args->after.len)
        FIRN_TRY(firn_age_parse(op, "after", args->after, &age_ms));
    out->due_ms = out->now_ms - age_ms;
    out->cutoff_ms = INT64_MAX; /* files were old enough, or known to be dead, when they were marked */
    return FIRN_OK;
}

firn_status firn_orphan_options_parse(struct firn_op *op, struct firn_table *table,
                                      const struct firn_remove_orphan_files_args *args, struct firn_orphan_options *out)
{
    *out = (struct firn_orphan_options){
        .now_ms = firn_now_ms(op),
        .file_list_view = args->file_list_view,
        .concurrent_max = (uint32_t)args->max_concurrent_deletes,
        .trust_location = args->trust_location,
        .from = args->from,
        .mark = args->mark,
        .sweep = args->sweep,
    };
    FIRN_TRY(check_combination(op, args));
    FIRN_TRY(parse_older_than(op, args->older_than, out->now_ms, &out->cutoff_ms));
    FIRN_TRY(parse_sweep(op, args, out));
    FIRN_TRY(parse_mismatch(op, args->prefix_mismatch_mode, &out->mismatch));
    FIRN_TRY(parse_names(op, args, out));
    return parse_location(op, table->metadata, args->location, out);
}
