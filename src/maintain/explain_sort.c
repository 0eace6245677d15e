/* What sorting by a column would save, estimated from the bounds that files have today. */
#include "base/math.h"
#include "maintain/explain.h"
#include "maintain/group_rules.h"

#include <math.h>
#include <stdlib.h>

const char firn_explain_sort_formula[] =
    "per partition that the filter leaves: N = files of its bytes at the target size; s = share of its rows that the "
    "conditions on the column take, each file's values taken as spread evenly between its bounds; files read after "
    "sorting = min(N, number of values) for = and IN, else min(N, ceil(s * N)), and one more for a range with two ends";

/* Columns -----------------------------------------------------------------------------------------------------------
 */

static bool is_usable(enum firn_predicate_op op)
{
    return op == FIRN_PRED_EQ || op == FIRN_PRED_IN || op == FIRN_PRED_LT || op == FIRN_PRED_LT_EQ ||
           op == FIRN_PRED_GT || op == FIRN_PRED_GT_EQ || op == FIRN_PRED_STARTS_WITH;
}

struct finding {
    struct firn_arena *arena;
    FIRN_ARRAY(struct firn_explain_sort_column) columns;
};

static void add_leaf(struct finding *finding, const struct firn_predicate *leaf)
{
    size_t i = 0;
    while (i < finding->columns.count && finding->columns.items[i].field != leaf->field)
        i++;
    if (i == finding->columns.count)
        FIRN_PUSH(finding->arena, &finding->columns, ((struct firn_explain_sort_column){ .field = leaf->field }));
    struct firn_explain_sort_column *column = &finding->columns.items[i];
    const struct firn_predicate **leaves =
        FIRN_NEW_ARRAY(finding->arena, const struct firn_predicate *, column->leaf_count + 1);
    for (size_t k = 0; k < column->leaf_count; k++)
        leaves[k] = column->leaves[k];
    leaves[column->leaf_count++] = leaf;
    column->leaves = leaves;
}

/* What all rows must meet: the sides of the ANDs at the top. */
static void find_leaves(struct finding *finding, const struct firn_predicate *predicate)
{
    while (predicate->op == FIRN_PRED_AND) {
        if (predicate->right->op == FIRN_PRED_AND)
            find_leaves(finding, predicate->right);
        else if (is_usable(predicate->right->op))
            add_leaf(finding, predicate->right);
        predicate = predicate->left;
    }
    if (is_usable(predicate->op))
        add_leaf(finding, predicate);
}

static void classify(struct firn_explain_sort_column *column)
{
    bool has_low = false, has_high = false;
    for (size_t i = 0; i < column->leaf_count; i++) {
        const struct firn_predicate *leaf = column->leaves[i];
        bool is_prefix = leaf->op == FIRN_PRED_STARTS_WITH;
        has_low |= is_prefix || leaf->op == FIRN_PRED_GT || leaf->op == FIRN_PRED_GT_EQ;
        has_high |= is_prefix || leaf->op == FIRN_PRED_LT || leaf->op == FIRN_PRED_LT_EQ;
        if (leaf->op == FIRN_PRED_EQ || leaf->op == FIRN_PRED_IN)
            column->points = leaf->value_count;
    }
    column->is_closed = has_low && has_high;
}

void firn_explain_find_sort_columns(struct firn_arena *arena, struct firn_explaining *run)
{
    struct finding finding = { .arena = arena };
    find_leaves(&finding, run->where);
    for (size_t i = 0; i < finding.columns.count; i++)
        classify(&finding.columns.items[i]);
    run->sort_columns = finding.columns.items;
    run->sort_column_count = finding.columns.count;
}

/* Shares ------------------------------------------------------------------------------------------------------------
 */

/* How many bytes two bounds have in common: values between them differ behind those. */
static size_t common_bytes(const struct firn_value *a, const struct firn_value *b)
{
    size_t len = 0;
    while (len < a->bytes.len && len < b->bytes.len && a->bytes.data[len] == b->bytes.data[len])
        len++;
    return len;
}

/* Where bytes stand among those that begin alike, as a number: the next eight of them, `padding` where they end. */
static double place_of_bytes(struct firn_bytes bytes, size_t skipped, uint8_t padding)
{
    double place = 0;
    for (size_t i = 0; i < 8; i++)
        place = place * 256 + (skipped + i < bytes.len ? bytes.data[skipped + i] : padding);
    return place;
}

/* A file's bounds, and numbers that are ordered as the values between them are. */
struct scale {
    struct firn_value lower, upper;
    size_t skipped;
};

static double place_of(const struct scale *scale, const struct firn_value *value, uint8_t padding)
{
    if (firn_value_has_bytes(value)) {
        bool is_alike =
            value->bytes.len >= scale->skipped &&
            (scale->skipped == 0 || memcmp(value->bytes.data, scale->lower.bytes.data, scale->skipped) == 0);
        if (!is_alike)
            return firn_value_compare(value, &scale->lower) < 0 ? -1 : (double)INFINITY;
        return place_of_bytes(value->bytes, scale->skipped, padding);
    }
    if (value->type == FIRN_TYPE_FLOAT || value->type == FIRN_TYPE_DOUBLE)
        return value->real;
    return value->type == FIRN_TYPE_DECIMAL ? (double)value->decimal : (double)value->integer;
}

static bool read_scale(const struct firn_field *field, const struct firn_data_file *file, struct scale *out)
{
    struct firn_bytes lower, upper;
    if (!firn_bound_map_find(&file->lower_bounds, field->id, &lower) ||
        !firn_bound_map_find(&file->upper_bounds, field->id, &upper) ||
        !firn_value_read(&field->type, lower, &out->lower) || !firn_value_read(&field->type, upper, &out->upper))
        return false;
    out->skipped = firn_value_has_bytes(&out->lower) ? common_bytes(&out->lower, &out->upper) : 0;
    return true;
}

static void narrow(const struct scale *scale, const struct firn_predicate *leaf, double *low, double *high)
{
    switch (leaf->op) {
    case FIRN_PRED_GT:
    case FIRN_PRED_GT_EQ:
        *low = fmax(*low, place_of(scale, leaf->values, 0));
        break;
    case FIRN_PRED_LT:
    case FIRN_PRED_LT_EQ:
        *high = fmin(*high, place_of(scale, leaf->values, 0));
        break;
    case FIRN_PRED_STARTS_WITH:
        *low = fmax(*low, place_of(scale, leaf->values, 0));
        *high = fmin(*high, place_of(scale, leaf->values, 0xff));
        break;
    default:
        break;
    }
}

double firn_explain_share(const struct firn_explain_sort_column *column, const struct firn_data_file *file)
{
    struct scale scale;
    if (column->points > 0)
        return 0;
    for (size_t i = 0; i < column->leaf_count; i++)
        if (!firn_predicate_file_may_match(column->leaves[i], file))
            return 0;
    if (!read_scale(column->field, file, &scale))
        return 1;
    double begin = place_of(&scale, &scale.lower, 0), end = place_of(&scale, &scale.upper, 0);
    double low = begin, high = end;
    for (size_t i = 0; i < column->leaf_count; i++)
        narrow(&scale, column->leaves[i], &low, &high);
    double share = end > begin ? (high - low) / (end - begin) : 1;
    return isnan(share) ? 1 : fmin(fmax(share, 0), 1);
}

/* Savings -----------------------------------------------------------------------------------------------------------
 */

/* Files of a sorted partition that the conditions still reach. */
static int64_t files_sorted(const struct firn_explain_sort_column *column,
                            const struct firn_explain_partition *partition, size_t index, int64_t files)
{
    double rows = (double)partition->candidates.rows;
    double share = rows > 0 ? fmin(partition->selected_rows[index] / rows, 1) : 1;
    if (column->points > 0)
        return FIRN_MIN(files, column->points);
    int64_t touched = (int64_t)ceil(share * (double)files);
    return FIRN_MIN(files, FIRN_MAX(touched, 1) + column->is_closed);
}

static void add_partition(const struct firn_explaining *run, size_t index, struct firn_explain_sort *out)
{
    const struct firn_explain_sort_column *column = &run->sort_columns[index];
    for (size_t i = 0; i < run->partitions.count; i++) {
        const struct firn_explain_partition *partition = &run->partitions.items[i];
        if (partition->kept.files == 0)
            continue;
        int64_t files = FIRN_MAX(firn_output_expected_files(run->sizes, partition->candidates.bytes), 1);
        int64_t touched = files_sorted(column, partition, index, files);
        out->files_now += partition->kept.files;
        out->bytes_now += partition->kept.bytes;
        out->files_packed += files;
        out->files_sorted += touched;
        out->bytes_sorted += (int64_t)((double)partition->candidates.bytes * (double)touched / (double)files);
        out->rewrite_bytes += partition->candidates.bytes;
    }
}

static double selectivity(const struct firn_explaining *run, size_t index)
{
    double selected = 0, rows = 0;
    for (size_t i = 0; i < run->partitions.count; i++) {
        const struct firn_explain_partition *partition = &run->partitions.items[i];
        if (partition->kept.files == 0)
            continue;
        selected += partition->selected_rows[index];
        rows += (double)partition->candidates.rows;
    }
    return rows > 0 ? selected / rows : 0;
}

static struct firn_explain_sort estimate(struct firn_op *op, const struct firn_explaining *run, size_t index)
{
    const struct firn_explain_sort_column *column = &run->sort_columns[index];
    struct firn_explain_sort sort = {
        .column = firn_schema_name(op->arena, run->schema, column->field->id),
        .selectivity = selectivity(run, index),
    };
    add_partition(run, index, &sort);
    struct firn_remedy remedy = firn_explain_sort_remedy(op->arena, run, sort.column);
    sort.command = remedy.command;
    sort.call = remedy.call;
    return sort;
}

static int compare_sorts(const void *a, const void *b)
{
    const struct firn_explain_sort *left = a, *right = b;
    int64_t left_saved = left->bytes_now - left->bytes_sorted, right_saved = right->bytes_now - right->bytes_sorted;
    if (left_saved != right_saved)
        return left_saved > right_saved ? -1 : 1;
    return firn_text_compare(left->column, right->column);
}

void firn_explain_sorting(struct firn_op *op, struct firn_explaining *run)
{
    FIRN_ARRAY(struct firn_explain_sort) sorts = { 0 };
    for (size_t i = 0; i < run->sort_column_count; i++) {
        struct firn_explain_sort sort = estimate(op, run, i);
        if (sort.files_sorted < sort.files_now && sort.bytes_sorted <= sort.bytes_now)
            FIRN_PUSH(op->arena, &sorts, sort);
    }
    if (sorts.count > 1)
        qsort(sorts.items, sorts.count, sizeof *sorts.items, compare_sorts);
    run->report->sorts = sorts.items;
    run->report->sort_count = sorts.count;
}

static bool is_estimated(const struct firn_explaining *run, struct firn_text column)
{
    struct firn_arena arena = { 0 };
    bool found = false;
    for (size_t i = 0; i < run->sort_column_count && !found; i++)
        found = firn_text_same(firn_schema_name(&arena, run->schema, run->sort_columns[i].field->id), column);
    firn_arena_done(&arena);
    return found;
}

bool firn_explain_sorting_saves(const struct firn_explaining *run, struct firn_text column)
{
    int64_t kept = 0, partitions = 0;
    for (size_t i = 0; i < run->report->sort_count; i++)
        if (firn_text_same(run->report->sorts[i].column, column))
            return true;
    for (size_t i = 0; i < run->partitions.count; i++) {
        kept += run->partitions.items[i].kept.files;
        partitions += run->partitions.items[i].kept.files > 0;
    }
    return !is_estimated(run, column) && kept > partitions;
}
