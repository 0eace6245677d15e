/* Inside explain: what the pass over the manifests finds, and what is made of it. */
#ifndef FIRN_MAINTAIN_EXPLAIN_H
#define FIRN_MAINTAIN_EXPLAIN_H

#include "base/pool.h"
#include "firn/explain.h"
#include "maintain/remedy.h"
#include "table/scan.h"

#include <pthread.h>

enum { FIRN_STAY_COUNT = FIRN_STAY_OVERLAP + 1 };

/* The files that stay for one reason. */
struct firn_explain_stay {
    struct firn_explain_tally kept;
    struct firn_text example, bounds; /* of the first file in the manifests' order */
};

/* A condition of the predicate, and why files stay for it. */
struct firn_explain_leaf {
    const struct firn_predicate *leaf;
    struct firn_explain_stay stays[FIRN_STAY_COUNT];
};

/* A column that sorting could help: the conditions on it that all rows must meet. */
struct firn_explain_sort_column {
    const struct firn_field *field;
    const struct firn_predicate *const *leaves;
    size_t leaf_count;
    int64_t points; /* values that are asked for; 0: ranges */
    bool is_closed; /* the range ends on both sides */
};

/* A partition with live data files. */
struct firn_explain_partition {
    struct firn_bytes key;
    int32_t spec_id;
    enum firn_explain_level level;        /* how far the farthest of its files comes */
    struct firn_explain_tally candidates; /* files that partitions do not rule out */
    struct firn_explain_tally kept;
    double *selected_rows; /* of the candidates, about; one a sort column */
};

/* A data file that stays, for those who look into it. */
struct firn_explain_file {
    struct firn_text path;
    enum firn_file_format format;
    int32_t spec_id;
    int64_t bytes, rows;
};

struct firn_output_sizes;
struct firn_survey_columns;
struct firn_explaining {
    struct firn_pool *pool;
    const struct firn_table *table;
    const struct firn_metadata *metadata;
    const struct firn_snapshot *snapshot; /* NULL: empty table */
    const struct firn_schema *schema;
    struct firn_text text;   /* of the predicate */
    struct firn_text branch; /* that is explained; empty: main, or no branch */
    const struct firn_predicate *where;
    const struct firn_predicate *rewritten; /* NULL: nothing to write otherwise */
    struct firn_type **spec_types;          /* one a spec of the metadata */
    struct firn_manifest_list manifests;
    const struct firn_output_sizes *sizes; /* of files that compaction makes */
    const struct firn_explain_sort_column *sort_columns;
    size_t sort_column_count;
    pthread_mutex_t lock; /* of what follows */
    struct firn_survey_columns *columns;

    struct firn_explain_leaf *leaves;
    size_t leaf_count;
    FIRN_ARRAY(struct firn_explain_partition) partitions;
    FIRN_ARRAY(struct firn_explain_file) files;
    struct firn_explain_report *report;
};

/* The WHERE text with every condition on a function that firn can say without it said so; empty: there is none. */
struct firn_text firn_explain_rewrite(struct firn_arena *arena, struct firn_text where,
                                      const struct firn_schema *schema, const struct firn_predicate *predicate);
/* One condition so; empty: firn cannot. */
struct firn_text firn_explain_rewrite_leaf(struct firn_arena *arena, const struct firn_schema *schema,
                                           const struct firn_predicate *leaf);

/* Columns that every matching row must meet conditions on. */
void firn_explain_find_sort_columns(struct firn_arena *arena, struct firn_explaining *run);
/* The share of a file's rows that a column's conditions take, if values are spread evenly between its bounds. */
double firn_explain_share(const struct firn_explain_sort_column *column, const struct firn_data_file *file);
/* Fills report->sorts. */
void firn_explain_sorting(struct firn_op *op, struct firn_explaining *run);
/* Whether an order by the column could make a reader open fewer files: what was estimated, else whether more files stay
 * than partitions. */
bool firn_explain_sorting_saves(const struct firn_explaining *run, struct firn_text column);
/* The command and call that sort what the filter reads by a column. */
struct firn_remedy firn_explain_sort_remedy(struct firn_arena *arena, const struct firn_explaining *run,
                                            struct firn_text column);
/* Fills report->reasons. */
FIRN_CHECKED firn_status firn_explain_reasons(struct firn_op *op, struct firn_explaining *run);
/* Fills report->deep. */
FIRN_CHECKED firn_status firn_explain_look(struct firn_op *op, struct firn_explaining *run);

/* Visits the leaves of a predicate. */
typedef void firn_explain_visit(void *context, const struct firn_predicate *leaf);
void firn_explain_visit_leaves(const struct firn_predicate *predicate, firn_explain_visit *visit, void *context);

static inline void firn_explain_tally_add(struct firn_explain_tally *sum, const struct firn_explain_tally *part)
{
    sum->files += part->files;
    if (__builtin_add_overflow(sum->bytes, part->bytes, &sum->bytes))
        sum->bytes = INT64_MAX;
    if (__builtin_add_overflow(sum->rows, part->rows, &sum->rows))
        sum->rows = INT64_MAX;
}

#endif
