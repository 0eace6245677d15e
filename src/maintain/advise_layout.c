/* Advice on files and partitions: how large, cut by what. */
#include "base/math.h"
#include "maintain/advise.h"
#include "maintain/transform_step.h"

#include <stdlib.h>

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

/* Planning bears so many files; files of less make too many of any table that is large. */
enum { TABLE_FILES_MAX = 10000 };
#define FILE_BYTES_LEAST   (128 * MIB)
#define FILE_BYTES_SMALLER (256 * MIB)
#define FILE_BYTES_USUAL   (512 * MIB)
#define FILE_BYTES_MOST    GIB

/* A table of fewer files of FILE_BYTES_LEAST is small: whatever size they have does no harm. */
enum { SMALL_TABLE_FILES = 64 };

/* Partitions are too small below the first on average, from so many on; too large from so many targets on, as long as a
 * finer one still holds a few. */
#define PARTITION_BYTES_LEAST (32 * MIB)
enum { PARTITIONS_MIN = 100, PARTITION_TARGETS_MAX = 200, FINER_TARGETS_MIN = 4 };

/* An unpartitioned table of so many targets is worth partitioning. */
enum { UNPARTITIONED_TARGETS_MAX = 500 };

/* A time that one of so many files holds is one that files follow. */
#define FOLLOWED_SHARE 0.1

/* Files -------------------------------------------------------------------------------------------------------------
 */

static int64_t files_at(const struct firn_advising *run, int64_t file_bytes)
{
    return run->survey->total.data.bytes / FIRN_MAX(file_bytes, 1) + 1;
}

static int64_t better_target(const struct firn_advising *run)
{
    int64_t target = run->survey->sizes.target_bytes, larger = target;
    while (files_at(run, larger) > TABLE_FILES_MAX && larger <= FILE_BYTES_MOST / 2)
        larger *= 2;
    if (larger > target)
        return larger;
    if (target < FILE_BYTES_LEAST && files_at(run, FILE_BYTES_LEAST) > SMALL_TABLE_FILES)
        return FILE_BYTES_SMALLER;
    if (target > FILE_BYTES_MOST && files_at(run, FILE_BYTES_USUAL) <= TABLE_FILES_MAX)
        return FILE_BYTES_USUAL;
    return target;
}

static struct firn_text files_text(const struct firn_advising *run, int64_t file_bytes)
{
    return firn_text_format(run->op->arena, "%.*s make %.*s of %.*s",
                            FIRN_FMT(firn_advise_bytes(run, (double)run->survey->total.data.bytes)),
                            FIRN_FMT(firn_advise_some(run, files_at(run, file_bytes), "file")),
                            FIRN_FMT(firn_advise_bytes(run, (double)file_bytes)));
}

void firn_advise_file_size(struct firn_advising *run)
{
    static const char topic[] = "target-file-size";
    struct firn_arena *arena = run->op->arena;
    int64_t target = run->survey->sizes.target_bytes, better = better_target(run);
    struct firn_text now = files_text(run, target);
    if (run->survey->total.data.files == 0) {
        firn_advise_unknown(run, topic, FIRN_TEXT("the table holds no data"));
        return;
    }
    if (better == target) {
        firn_advise_add(run, topic, FIRN_ADVICE_FINE, FIRN_TEXT("the target suits the table"), now);
        return;
    }
    struct firn_text why = firn_text_format(
        arena, "%.*s, and %.*s at %.*s; %s", FIRN_FMT(now), FIRN_FMT(firn_advise_count(run, files_at(run, better))),
        FIRN_FMT(firn_advise_bytes(run, (double)better)),
        better > target ? "each is to be planned and opened" : "one task reads a file, most of it alone");
    struct firn_text what =
        firn_text_format(arena, "aim at files of %.*s", FIRN_FMT(firn_advise_bytes(run, (double)better)));
    struct firn_property property = { FIRN_TEXT("write.target-file-size-bytes"),
                                      firn_text_format(arena, "%" PRId64, better) };
    firn_advise_set_properties(run, firn_advise_add(run, topic, FIRN_ADVICE_CHANGE, what, why), &property, 1);
}

/* Partitions --------------------------------------------------------------------------------------------------------
 */

static struct firn_text source_name(const struct firn_advising *run, const struct firn_partition_field *field)
{
    if (field->source_count != 1)
        return FIRN_TEXT("");
    return firn_schema_name(run->op->arena, firn_metadata_current_schema(run->survey->metadata), field->source_ids[0]);
}

static void advise_partitions(struct firn_advising *run, struct firn_text what, struct firn_text why,
                              struct firn_text change)
{
    struct firn_advice *advice = firn_advise_add(run, "partitioning", FIRN_ADVICE_CHANGE, what, why);
    if (change.len > 0)
        firn_advise_set(advice, "Spark SQL", firn_remedy_alter(run->op->arena, run->table, change));
}

struct partitions {
    int64_t count; /* of the current spec, with data */
    int64_t bytes; /* of them */
};

static struct partitions count_partitions(const struct firn_advising *run)
{
    struct partitions found = { 0 };
    for (size_t i = 0; i < run->survey->partition_count; i++) {
        const struct firn_survey_partition *partition = &run->survey->partitions[i];
        if (partition->spec_id != run->survey->metadata->default_spec_id || partition->content.data.files == 0)
            continue;
        found.count++;
        firn_survey_add(&found.bytes, partition->content.data.bytes);
    }
    return found;
}

/* "5,000 partitions of 1.2 MiB on average" */
static struct firn_text partitions_text(const struct firn_advising *run, struct partitions partitions)
{
    return firn_text_format(
        run->op->arena, "%.*s of %.*s on average", FIRN_FMT(firn_advise_some(run, partitions.count, "partition")),
        FIRN_FMT(firn_advise_bytes(run, (double)partitions.bytes / (double)FIRN_MAX(partitions.count, 1))));
}

/* The last field that has a coarser transform: the first ones are what tables are pruned by most. */
static bool advise_coarser(struct firn_advising *run, struct partitions partitions)
{
    const struct firn_partition_spec *spec = firn_advise_spec(run);
    struct firn_arena *arena = run->op->arena;
    if (partitions.count < PARTITIONS_MIN || partitions.bytes / partitions.count >= PARTITION_BYTES_LEAST)
        return false;
    for (uint32_t i = spec->field_count; i-- > 0;) {
        struct firn_text column = source_name(run, &spec->fields[i]);
        struct firn_text with = firn_transform_coarser(arena, &spec->fields[i].transform, column);
        if (column.len == 0 || with.len == 0)
            continue;
        advise_partitions(run, firn_text_format(arena, "partition by %.*s: less finely", FIRN_FMT(with)),
                          firn_text_format(arena, "%.*s: no file can be larger than that",
                                           FIRN_FMT(partitions_text(run, partitions))),
                          firn_text_format(arena, "REPLACE PARTITION FIELD `%.*s` WITH %.*s",
                                           FIRN_FMT(spec->fields[i].name), FIRN_FMT(with)));
        return true;
    }
    return false;
}

static bool advise_finer(struct firn_advising *run, struct partitions partitions)
{
    const struct firn_partition_spec *spec = firn_advise_spec(run);
    struct firn_arena *arena = run->op->arena;
    int64_t target = FIRN_MAX(run->survey->sizes.target_bytes, 1), parts = 1;
    int64_t targets = partitions.count > 0 ? partitions.bytes / partitions.count / target : 0;
    for (uint32_t i = 0; targets >= PARTITION_TARGETS_MAX && i < spec->field_count; i++) {
        struct firn_text column = source_name(run, &spec->fields[i]);
        struct firn_text with = firn_transform_finer(arena, &spec->fields[i].transform, column, &parts);
        if (column.len == 0 || with.len == 0 || targets / parts < FINER_TARGETS_MIN)
            continue;
        advise_partitions(run, firn_text_format(arena, "partition by %.*s: more finely", FIRN_FMT(with)),
                          firn_text_format(arena,
                                           "%.*s, %.*s files of the target size each: a filter on %.*s reads "
                                           "about a %" PRId64 "th of one then",
                                           FIRN_FMT(partitions_text(run, partitions)),
                                           FIRN_FMT(firn_advise_count(run, targets)), FIRN_FMT(column), parts),
                          firn_text_format(arena, "REPLACE PARTITION FIELD `%.*s` WITH %.*s",
                                           FIRN_FMT(spec->fields[i].name), FIRN_FMT(with)));
        return true;
    }
    return false;
}

static bool is_time_transform(enum firn_transform_id id)
{
    return id == FIRN_TRANSFORM_YEAR || id == FIRN_TRANSFORM_MONTH || id == FIRN_TRANSFORM_DAY ||
           id == FIRN_TRANSFORM_HOUR;
}

/* Another field that tells the same time more finely; NULL: none. The ids of transforms grow finer. */
static const struct firn_partition_field *finer_field(const struct firn_partition_spec *spec,
                                                      const struct firn_partition_field *field)
{
    _Static_assert(FIRN_TRANSFORM_YEAR < FIRN_TRANSFORM_MONTH && FIRN_TRANSFORM_MONTH < FIRN_TRANSFORM_DAY &&
                       FIRN_TRANSFORM_DAY < FIRN_TRANSFORM_HOUR,
                   "by fineness");
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (is_time_transform(spec->fields[i].transform.id) && spec->fields[i].transform.id > field->transform.id &&
            spec->fields[i].source_count == 1 && spec->fields[i].source_ids[0] == field->source_ids[0])
            return &spec->fields[i];
    return NULL;
}

/* Whether all partitions of the current spec, of which there are several, have one value of its `index`th field. */
static bool is_constant(const struct firn_advising *run, uint32_t index)
{
    const struct firn_value *value = NULL;
    for (size_t i = 0; i < run->survey->partition_count; i++) {
        const struct firn_survey_partition *partition = &run->survey->partitions[i];
        if (partition->spec_id != run->survey->metadata->default_spec_id)
            continue;
        const struct firn_value *other = &partition->values[index];
        if (value && (value->is_null != other->is_null || (!value->is_null && firn_value_compare(value, other) != 0)))
            return false;
        value = other;
    }
    return value != NULL;
}

/* Fields by which no partition is ruled out that another does not rule out, too. */
static bool advise_unused(struct firn_advising *run, struct partitions partitions)
{
    const struct firn_partition_spec *spec = firn_advise_spec(run);
    struct firn_arena *arena = run->op->arena;
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const struct firn_partition_field *field = &spec->fields[i];
        const struct firn_partition_field *finer =
            is_time_transform(field->transform.id) && field->source_count == 1 ? finer_field(spec, field) : NULL;
        bool is_void = field->transform.id == FIRN_TRANSFORM_VOID;
        bool constant = !is_void && partitions.count >= PARTITIONS_MIN && is_constant(run, i);
        if (!finer && !constant)
            continue;
        advise_partitions(run, firn_text_format(arena, "drop the partition field %.*s", FIRN_FMT(field->name)),
                          finer ? firn_text_format(arena, "%.*s rules out all that it does", FIRN_FMT(finer->name))
                                : firn_text_format(arena,
                                                   "all %.*s partitions have one value of it: it rules nothing out",
                                                   FIRN_FMT(firn_advise_count(run, partitions.count))),
                          firn_text_format(arena, "DROP PARTITION FIELD `%.*s`", FIRN_FMT(field->name)));
        return true;
    }
    return false;
}

/* The time that files follow most closely; NULL: none does. */
static const struct firn_survey_column *followed_time(const struct firn_survey *survey)
{
    const struct firn_survey_column *best = NULL;
    for (size_t i = 0; i < survey->column_count; i++) {
        const struct firn_survey_column *column = &survey->columns[i];
        if (firn_type_has_date(column->type->id) && column->files_per_point >= 0 &&
            column->files_per_point <= FOLLOWED_SHARE * (double)survey->total.data.files &&
            (!best || column->files_per_point < best->files_per_point))
            best = column;
    }
    return best;
}

static bool advise_time(struct firn_advising *run)
{
    const struct firn_survey *survey = run->survey;
    const struct firn_survey_column *column = followed_time(survey);
    struct firn_arena *arena = run->op->arena;
    int64_t target = FIRN_MAX(survey->sizes.target_bytes, 1);
    if (survey->total.data.bytes / target < UNPARTITIONED_TARGETS_MAX || !column)
        return false;
    advise_partitions(
        run, firn_text_format(arena, "partition by days(%.*s)", FIRN_FMT(column->name)),
        firn_text_format(
            arena, "%.*s in no partitions; files follow %.*s: one value of it is in %.1f of %.*s files on average",
            FIRN_FMT(firn_advise_bytes(run, (double)survey->total.data.bytes)), FIRN_FMT(column->name),
            column->files_per_point, FIRN_FMT(firn_advise_count(run, survey->total.data.files))),
        firn_text_format(arena, "ADD PARTITION FIELD days(%.*s)", FIRN_FMT(column->name)));
    return true;
}

void firn_advise_partitioning(struct firn_advising *run)
{
    static const char topic[] = "partitioning";
    struct partitions partitions = count_partitions(run);
    bool is_partitioned = firn_advise_spec(run) != NULL;
    if (run->survey->total.data.files == 0) {
        firn_advise_unknown(run, topic, FIRN_TEXT("the table holds no data"));
        return;
    }
    if (is_partitioned
            ? advise_unused(run, partitions) || advise_coarser(run, partitions) || advise_finer(run, partitions)
            : advise_time(run))
        return;
    firn_advise_add(run, topic, FIRN_ADVICE_FINE,
                    is_partitioned ? FIRN_TEXT("partitions are neither too small nor too large")
                                   : FIRN_TEXT("nothing calls for partitions"),
                    is_partitioned
                        ? partitions_text(run, partitions)
                        : firn_text_format(run->op->arena, "%.*s in no partitions",
                                           FIRN_FMT(firn_advise_bytes(run, (double)run->survey->total.data.bytes))));
}
