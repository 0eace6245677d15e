/* Advice on metrics modes: what manifests keep of each column. */
#include "base/math.h"
#include "maintain/advise.h"
#include "table/metrics.h"

/* Bounds longer than this on average are cut; values larger than this on average, as stored, are blobs. */
enum { BOUND_BYTES_LONG = 32, VALUE_BYTES_BLOB = 256 };

/* A column that files are hardly skipped by: a filter for one value opens this share of them. */
#define USELESS_SHARE 0.5

static bool has_long_values(enum firn_type_id id)
{
    return id == FIRN_TYPE_STRING || id == FIRN_TYPE_BINARY;
}

static bool is_wanted(const struct firn_survey_column *column)
{
    return column->is_partition_source || column->is_sort_source || column->is_identifier ||
           firn_type_has_date(column->type->id);
}

static double bound_length(const struct firn_survey_column *column)
{
    return column->files_with_bounds > 0 ? (double)column->bound_bytes / (2 * (double)column->files_with_bounds) : 0;
}

static double value_length(const struct firn_survey_column *column)
{
    int64_t values = column->value_count - column->null_count;
    return values > 0 ? (double)column->compressed_bytes / (double)values : 0;
}

/* A mode and what speaks for it; `mode` NULL: what there is stays. */
struct wish {
    const char *mode;
    struct firn_text why;
};

static struct wish wish_for(const struct firn_advising *run, const struct firn_survey_column *column,
                            enum firn_metrics_mode mode)
{
    struct firn_arena *arena = run->op->arena;
    double files = (double)FIRN_MAX(run->survey->total.data.files, 1);
    bool has_bounds = mode == FIRN_METRICS_TRUNCATE || mode == FIRN_METRICS_FULL;
    if (is_wanted(column) && !has_bounds)
        return (struct wish){ firn_remedy_metrics_mode(column->type), firn_type_has_date(column->type->id)
                                                                          ? FIRN_TEXT("a time, kept without bounds")
                                                                          : FIRN_TEXT("a key, kept without bounds") };
    if (is_wanted(column) || !has_long_values(column->type->id) || !has_bounds)
        return (struct wish){ 0 };
    if (value_length(column) >= VALUE_BYTES_BLOB &&
        (column->files_per_point < 0 || column->files_per_point >= USELESS_SHARE * files))
        return (struct wish){ "none", firn_text_format(arena, "values of %.*s on average, and files overlap in it",
                                                       FIRN_FMT(firn_advise_bytes(run, value_length(column)))) };
    if (mode == FIRN_METRICS_FULL && bound_length(column) > BOUND_BYTES_LONG)
        return (struct wish){ "truncate(16)",
                              firn_text_format(arena, "bounds of %.*s on average",
                                               FIRN_FMT(firn_advise_bytes(run, bound_length(column)))) };
    return (struct wish){ 0 };
}

struct wishes {
    FIRN_ARRAY(struct firn_property) properties;
    struct firn_text why;
};

static void add_wish(const struct firn_advising *run, const struct firn_survey_column *column, struct wish wish,
                     struct wishes *out)
{
    struct firn_arena *arena = run->op->arena;
    struct firn_property property = firn_remedy_metrics_property(arena, column->name, firn_text_of(wish.mode));
    out->why = firn_text_format(arena, "%.*s%s%.*s: %.*s", FIRN_FMT(out->why), out->why.len ? "; " : "",
                                FIRN_FMT(column->name), FIRN_FMT(wish.why));
    FIRN_PUSH(arena, &out->properties, property);
}

static int64_t total_bound_bytes(const struct firn_survey *survey)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < survey->column_count; i++)
        firn_survey_add(&bytes, survey->columns[i].bound_bytes);
    return bytes;
}

firn_status firn_advise_metrics(struct firn_advising *run)
{
    static const char topic[] = "metrics";
    const struct firn_survey *survey = run->survey;
    const struct firn_metadata *metadata = survey->metadata;
    const struct firn_metrics_config *config;
    struct wishes wishes = { 0 };
    if (survey->total.data.files == 0) {
        firn_advise_unknown(run, topic, FIRN_TEXT("the table holds no data"));
        return FIRN_OK;
    }
    FIRN_TRY(firn_metrics_config_new(run->op, metadata, firn_metadata_current_schema(metadata),
                                     firn_metadata_sort_order(metadata, metadata->default_sort_order_id), &config));
    for (size_t i = 0; i < survey->column_count; i++) {
        const struct firn_survey_column *column = &survey->columns[i];
        struct wish wish = wish_for(run, column, firn_metrics_config_find(config, column->field_id).mode);
        if (wish.mode)
            add_wish(run, column, wish, &wishes);
    }
    struct firn_text sum =
        firn_text_format(run->op->arena, "%.*s of bounds in %.*s of manifests",
                         FIRN_FMT(firn_advise_bytes(run, (double)total_bound_bytes(survey))),
                         FIRN_FMT(firn_advise_bytes(run, (double)firn_survey_manifests_total(survey).bytes)));
    if (wishes.properties.count == 0) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE, FIRN_TEXT("bounds are kept where they help, and short"), sum);
        return FIRN_OK;
    }
    struct firn_advice *advice =
        firn_advise_add(run, topic, FIRN_ADVICE_CHANGE, FIRN_TEXT("keep bounds of keys and times, and not of blobs"),
                        firn_text_format(run->op->arena, "%.*s; %.*s", FIRN_FMT(wishes.why), FIRN_FMT(sum)));
    firn_advise_set_properties(run, advice, wishes.properties.items, wishes.properties.count);
    return FIRN_OK;
}
