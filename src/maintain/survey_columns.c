/* Columns of a survey: coverage by metrics, and how many files a filter for one value opens.
 *
 * The latter is the depth of the files' bounds, taken as intervals: how many of them hold a point, on average over all
 * lower and upper bounds. It is counted over a sample that is bounded whatever the table's size: the files whose hash
 * lies below a limit, which is halved, and the sample with it, when there are too many. So the sample depends on the
 * files only, not on the order in which threads find them, and its share of the files is known. */
#include "maintain/survey_columns.h"

#include "base/hash.h"
#include "base/math.h"

#include <stdlib.h>

/* Bounds that are kept of all columns and files together, and columns that are looked at. */
enum { SAMPLED_PAIRS_MAX = 1 << 18, SAMPLED_FILES_MIN = 512, SAMPLED_FILES_MAX = 8192, SAMPLED_COLUMNS_MAX = 128 };

/* A bound of any length may be recorded, though none should be longer than what metrics are cut to. */
enum { BOUND_BYTES_MAX = 64 };

/* What a file says of one column; -1: nothing. */
struct facts {
    int64_t bytes, values, nulls, nans;
    struct firn_bytes lower, upper; /* data NULL: absent */
};

enum known { KNOWN_NOTHING, KNOWN_ABSENT /* no value: never opened */, KNOWN_BOUNDS };

/* The same as a filter for one value takes it. */
struct bounds {
    enum known known;
    struct firn_value lower, upper;
};

struct sampled {
    uint64_t hash;
    uint32_t partition;
    struct bounds *bounds; /* one a sampled column */
};

struct firn_survey_columns {
    struct firn_arena *results;
    struct firn_arena sample_arena;
    struct firn_survey_column *items;
    size_t count, capacity;
    struct facts *facts; /* of the file at hand, one a column */
    uint32_t *by_id;     /* places in `items`, by field id */
    uint32_t *sampled;   /* places in `items` of columns that are sampled */
    uint32_t sampled_count;
    size_t files_max; /* of the sample */
    uint64_t limit;   /* hashes up to this are in the sample */
    unsigned halvings;
    FIRN_ARRAY(struct sampled) sample;
    struct bounds *scratch; /* one a sampled column */
};

/* Which columns there are ----------------------------------------------------------------------------------------- */

static bool is_source(const int32_t *ids, uint32_t count, int32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static bool is_partition_source(const struct firn_metadata *metadata, int32_t id)
{
    const struct firn_partition_spec *spec = firn_metadata_spec(metadata, metadata->default_spec_id);
    for (uint32_t i = 0; spec && i < spec->field_count; i++)
        if (spec->fields[i].transform.id != FIRN_TRANSFORM_VOID &&
            is_source(spec->fields[i].source_ids, spec->fields[i].source_count, id))
            return true;
    return false;
}

static bool is_sort_source(const struct firn_metadata *metadata, int32_t id)
{
    const struct firn_sort_order *order = firn_metadata_sort_order(metadata, metadata->default_sort_order_id);
    for (uint32_t i = 0; order && i < order->field_count; i++)
        if (is_source(order->fields[i].source_ids, order->fields[i].source_count, id))
            return true;
    return false;
}

static void add_column(struct firn_survey_columns *columns, const struct firn_metadata *metadata,
                       const struct firn_field *field)
{
    const struct firn_schema *schema = firn_metadata_current_schema(metadata);
    struct firn_survey_column column = {
        .field_id = field->id,
        .name = firn_schema_name(columns->results, schema, field->id),
        .type = &field->type,
        .is_partition_source = is_partition_source(metadata, field->id),
        .is_sort_source = is_sort_source(metadata, field->id),
        .is_identifier = is_source(schema->identifier_ids, schema->identifier_count, field->id),
        .files_per_point = (double)FIRN_SURVEY_UNKNOWN,
        .files_per_point_in_partition = (double)FIRN_SURVEY_UNKNOWN,
    };
    FIRN_PUSH(columns->results, columns, column);
}

/* The parser of types limits the depth. */
static void add_columns(struct firn_survey_columns *columns, const struct firn_metadata *metadata,
                        const struct firn_type *type)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_field *field = &type->fields[i];
        if (firn_type_is_primitive(field->type.id))
            add_column(columns, metadata, field);
        else if (field->type.id == FIRN_TYPE_STRUCT)
            add_columns(columns, metadata, &field->type);
    }
}

static int compare_ids(const void *a, const void *b, void *context)
{
    const struct firn_survey_column *items = context;
    int32_t left = items[*(const uint32_t *)a].field_id, right = items[*(const uint32_t *)b].field_id;
    return left < right ? -1 : left > right;
}

static bool is_wanted(const struct firn_survey_column *column)
{
    return column->is_partition_source || column->is_sort_source || column->is_identifier;
}

/* Those that queries are expected to filter by come first. */
static void choose_sampled(struct firn_survey_columns *columns)
{
    columns->sampled = FIRN_NEW_ARRAY(columns->results, uint32_t, SAMPLED_COLUMNS_MAX);
    for (int wanted = 1; wanted >= 0; wanted--)
        for (uint32_t i = 0; i < columns->count && columns->sampled_count < SAMPLED_COLUMNS_MAX; i++)
            if (is_wanted(&columns->items[i]) == wanted)
                columns->sampled[columns->sampled_count++] = i;
    size_t files = SAMPLED_PAIRS_MAX / FIRN_MAX(columns->sampled_count, 1);
    columns->files_max = FIRN_MAX(FIRN_MIN(files, SAMPLED_FILES_MAX), SAMPLED_FILES_MIN);
    columns->scratch = FIRN_NEW_ARRAY(columns->results, struct bounds, columns->sampled_count);
}

static void done(void *context)
{
    struct firn_survey_columns *columns = context;
    firn_arena_done(&columns->sample_arena);
}

struct firn_survey_columns *firn_survey_columns_new(struct firn_arena *arena, const struct firn_metadata *metadata)
{
    struct firn_survey_columns *columns = FIRN_NEW(arena, struct firn_survey_columns);
    *columns = (struct firn_survey_columns){ .results = arena, .limit = UINT64_MAX };
    firn_arena_init(&columns->sample_arena);
    firn_arena_defer(arena, done, columns);
    add_columns(columns, metadata, &firn_metadata_current_schema(metadata)->root);
    columns->facts = FIRN_NEW_ARRAY(arena, struct facts, columns->count);
    columns->by_id = FIRN_NEW_ARRAY(arena, uint32_t, columns->count);
    for (uint32_t i = 0; i < columns->count; i++)
        columns->by_id[i] = i;
    if (columns->count > 1)
        qsort_r(columns->by_id, columns->count, sizeof *columns->by_id, compare_ids, columns->items);
    choose_sampled(columns);
    return columns;
}

/* Coverage -------------------------------------------------------------------------------------------------------- */

static struct firn_survey_column *find_column(const struct firn_survey_columns *columns, int32_t id)
{
    size_t low = 0, high = columns->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct firn_survey_column *column = &columns->items[columns->by_id[middle]];
        if (column->field_id == id)
            return column;
        if (column->field_id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Fills `facts` with what a file's maps say, one look at each member. */
static void gather_counts(const struct firn_survey_columns *columns, const struct firn_count_map *map, size_t member)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct firn_survey_column *column = find_column(columns, map->ids[i]);
        if (column && map->counts[i] >= 0)
            memcpy((char *)&columns->facts[column - columns->items] + member, &map->counts[i], sizeof map->counts[i]);
    }
}

static void gather_bounds(const struct firn_survey_columns *columns, const struct firn_bound_map *map, size_t member)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct firn_survey_column *column = find_column(columns, map->ids[i]);
        if (column)
            memcpy((char *)&columns->facts[column - columns->items] + member, &map->values[i], sizeof map->values[i]);
    }
}

static void gather(const struct firn_survey_columns *columns, const struct firn_data_file *file)
{
    for (size_t i = 0; i < columns->count; i++)
        columns->facts[i] = (struct facts){ .bytes = -1, .values = -1, .nulls = -1, .nans = 0 };
    gather_counts(columns, &file->column_sizes, offsetof(struct facts, bytes));
    gather_counts(columns, &file->value_counts, offsetof(struct facts, values));
    gather_counts(columns, &file->null_value_counts, offsetof(struct facts, nulls));
    gather_counts(columns, &file->nan_value_counts, offsetof(struct facts, nans));
    gather_bounds(columns, &file->lower_bounds, offsetof(struct facts, lower));
    gather_bounds(columns, &file->upper_bounds, offsetof(struct facts, upper));
}

/* Neither a null nor NaN is found by a filter for one value. */
static bool has_no_values(const struct facts *facts)
{
    return facts->values >= 0 && facts->nulls >= 0 &&
           (uint64_t)facts->nulls + (uint64_t)facts->nans >= (uint64_t)facts->values;
}

static void count_coverage(const struct firn_survey_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++) {
        const struct facts *facts = &columns->facts[i];
        struct firn_survey_column *column = &columns->items[i];
        column->files_with_counts += facts->values >= 0;
        column->files_with_bounds += (facts->lower.data && facts->upper.data) || has_no_values(facts);
        firn_survey_add(&column->compressed_bytes, facts->bytes);
        firn_survey_add(&column->value_count, facts->values);
        firn_survey_add(&column->null_count, facts->nulls);
        firn_survey_add(&column->bound_bytes, (int64_t)(facts->lower.len + facts->upper.len));
    }
}

/* The sample ------------------------------------------------------------------------------------------------------ */

static bool read_bound(struct firn_bytes bytes, const struct firn_type *type, struct firn_value *out)
{
    if (!bytes.data || !firn_value_read(type, bytes, out))
        return false;
    if (firn_value_has_bytes(out) && out->bytes.len > BOUND_BYTES_MAX)
        out->bytes.len = BOUND_BYTES_MAX;
    return true;
}

static struct bounds read_bounds(const struct facts *facts, const struct firn_type *type)
{
    struct bounds bounds = { .known = KNOWN_NOTHING };
    if (has_no_values(facts))
        bounds.known = KNOWN_ABSENT;
    else if (read_bound(facts->lower, type, &bounds.lower) && read_bound(facts->upper, type, &bounds.upper) &&
             firn_value_compare(&bounds.lower, &bounds.upper) <= 0)
        bounds.known = KNOWN_BOUNDS;
    return bounds;
}

static struct bounds *copy_bounds(struct firn_arena *arena, const struct bounds *from, uint32_t count)
{
    struct bounds *copy = FIRN_NEW_ARRAY(arena, struct bounds, count);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = from[i];
        if (copy[i].known != KNOWN_BOUNDS)
            continue;
        copy[i].lower = firn_value_copy(arena, &from[i].lower);
        copy[i].upper = firn_value_copy(arena, &from[i].upper);
    }
    return copy;
}

static void halve_sample(struct firn_survey_columns *columns)
{
    struct firn_arena arena;
    struct sampled *old = columns->sample.items;
    size_t count = columns->sample.count;
    firn_arena_init(&arena);
    columns->limit /= 2;
    columns->halvings++;
    memset(&columns->sample, 0, sizeof columns->sample);
    for (size_t i = 0; i < count; i++) {
        if (old[i].hash > columns->limit)
            continue;
        old[i].bounds = copy_bounds(&arena, old[i].bounds, columns->sampled_count);
        FIRN_PUSH(&arena, &columns->sample, old[i]);
    }
    firn_arena_done(&columns->sample_arena);
    columns->sample_arena = arena;
}

static void sample(struct firn_survey_columns *columns, const struct firn_data_file *file, uint32_t partition)
{
    struct sampled taken = { .hash = firn_hash64(firn_bytes_of_text(file->path)), .partition = partition };
    if (taken.hash > columns->limit)
        return;
    for (uint32_t i = 0; i < columns->sampled_count; i++) {
        uint32_t column = columns->sampled[i];
        columns->scratch[i] = read_bounds(&columns->facts[column], columns->items[column].type);
    }
    taken.bounds = copy_bounds(&columns->sample_arena, columns->scratch, columns->sampled_count);
    FIRN_PUSH(&columns->sample_arena, &columns->sample, taken);
    while (columns->sample.count > columns->files_max && columns->limit > 0)
        halve_sample(columns);
}

void firn_survey_columns_add(struct firn_survey_columns *columns, const struct firn_data_file *file, uint32_t partition)
{
    gather(columns, file);
    count_coverage(columns);
    sample(columns, file, partition);
}

/* Depth ----------------------------------------------------------------------------------------------------------- */

/* The bounds of one column in a stretch of the sample. */
struct stretch {
    struct firn_value *lowers, *uppers; /* each sorted */
    size_t count;
    size_t unknown; /* files that may hold any value */
};

static int compare_values(const void *a, const void *b)
{
    return firn_value_compare(a, b);
}

static void collect(const struct firn_survey_columns *columns, size_t begin, size_t end, uint32_t column,
                    struct stretch *out)
{
    out->count = out->unknown = 0;
    for (size_t i = begin; i < end; i++) {
        const struct bounds *bounds = &columns->sample.items[i].bounds[column];
        out->unknown += bounds->known == KNOWN_NOTHING;
        if (bounds->known != KNOWN_BOUNDS)
            continue;
        out->lowers[out->count] = bounds->lower;
        out->uppers[out->count++] = bounds->upper;
    }
    if (out->count > 1) {
        qsort(out->lowers, out->count, sizeof *out->lowers, compare_values);
        qsort(out->uppers, out->count, sizeof *out->uppers, compare_values);
    }
}

/* The intervals that hold a point, summed over `points`, which are sorted. */
static double sum_depths(const struct stretch *stretch, const struct firn_value *points)
{
    size_t begun = 0, ended = 0;
    double sum = 0;
    for (size_t i = 0; i < stretch->count; i++) {
        while (begun < stretch->count && firn_value_compare(&stretch->lowers[begun], &points[i]) <= 0)
            begun++;
        while (ended < stretch->count && firn_value_compare(&stretch->uppers[ended], &points[i]) < 0)
            ended++;
        sum += (double)(begun - ended);
    }
    return sum;
}

/* Sums over stretches: of depths at points, of files of unknown bounds at points, of points. */
struct depth {
    double bounded, unknown, points;
};

static void add_depth(const struct stretch *stretch, struct depth *out)
{
    double points = 2 * (double)stretch->count;
    out->bounded += sum_depths(stretch, stretch->lowers) + sum_depths(stretch, stretch->uppers);
    out->unknown += points * (double)stretch->unknown;
    out->points += points;
}

/* A point's own file is in the sample for certain, others by the sample's share. */
static double average(const struct depth *depth, double share)
{
    if (depth->points == 0)
        return (double)FIRN_SURVEY_UNKNOWN;
    return 1 + (depth->bounded / depth->points - 1) / share + depth->unknown / depth->points / share;
}

static size_t partition_end(const struct firn_survey_columns *columns, size_t begin)
{
    size_t end = begin + 1;
    while (end < columns->sample.count &&
           columns->sample.items[end].partition == columns->sample.items[begin].partition)
        end++;
    return end;
}

static void measure(const struct firn_survey_columns *columns, uint32_t column, double share, struct stretch *stretch)
{
    struct firn_survey_column *out = &columns->items[columns->sampled[column]];
    struct depth whole = { 0 }, parts = { 0 };
    collect(columns, 0, columns->sample.count, column, stretch);
    add_depth(stretch, &whole);
    for (size_t begin = 0, end; begin < columns->sample.count; begin = end) {
        end = partition_end(columns, begin);
        collect(columns, begin, end, column, stretch);
        add_depth(stretch, &parts);
    }
    out->files_per_point = average(&whole, share);
    out->files_per_point_in_partition = average(&parts, share);
}

/* In the order of files, which is the same whatever threads did. */
static int compare_sampled(const void *a, const void *b)
{
    const struct sampled *left = a, *right = b;
    if (left->partition != right->partition)
        return left->partition < right->partition ? -1 : 1;
    return left->hash < right->hash ? -1 : left->hash > right->hash;
}

void firn_survey_columns_finish(struct firn_survey_columns *columns, struct firn_survey *out)
{
    struct firn_arena *arena = &columns->sample_arena;
    struct stretch stretch = {
        .lowers = FIRN_NEW_ARRAY(arena, struct firn_value, columns->sample.count),
        .uppers = FIRN_NEW_ARRAY(arena, struct firn_value, columns->sample.count),
    };
    out->sampled_share = 1.0 / (double)(UINT64_C(1) << FIRN_MIN(columns->halvings, 63U));
    out->columns = columns->items;
    out->column_count = columns->count;
    if (columns->sample.count > 1)
        qsort(columns->sample.items, columns->sample.count, sizeof *columns->sample.items, compare_sampled);
    for (uint32_t i = 0; i < columns->sampled_count; i++)
        measure(columns, i, out->sampled_share, &stretch);
    firn_arena_reset(arena);
    memset(&columns->sample, 0, sizeof columns->sample);
}
