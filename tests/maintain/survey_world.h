/* A table for surveys: metadata alone, files of any size and bounds that hold nothing, at times that a test decides. */
#ifndef FIRN_TESTS_SURVEY_WORLD_H
#define FIRN_TESTS_SURVEY_WORLD_H

#include "maintain/history.h"
#include "maintain/survey.h"

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define DAY INT64_C(86400000)

/* A data file of partition `id` = `part`, without metrics. */
static inline struct firn_data_file survey_file(struct history *history, const char *name, int64_t part, int64_t bytes,
                                                int64_t rows)
{
    struct firn_op *op = history->op;
    struct firn_data_file file = fixture_file(op, &history->fixture, name, rows);
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = part };
    file.partition = (struct firn_partition){ value, 1 };
    file.file_bytes = bytes;
    return file;
}

/* Column v holds texts from `lower` to `upper`. */
static inline struct firn_data_file survey_bounded(struct history *history, struct firn_data_file file,
                                                   const char *lower, const char *upper)
{
    struct firn_arena *arena = history->op->arena;
    struct firn_bytes *values = FIRN_NEW_ARRAY(arena, struct firn_bytes, 2);
    int32_t *ids = FIRN_NEW(arena, int32_t);
    *ids = 2;
    values[0] = firn_bytes_of_text(firn_text_of(lower));
    values[1] = firn_bytes_of_text(firn_text_of(upper));
    file.lower_bounds = (struct firn_bound_map){ ids, &values[0], 1, true };
    file.upper_bounds = (struct firn_bound_map){ ids, &values[1], 1, true };
    return file;
}

/* What column v counts. */
static inline struct firn_data_file survey_counted(struct history *history, struct firn_data_file file, int64_t values,
                                                   int64_t nulls)
{
    struct firn_arena *arena = history->op->arena;
    int64_t *counts = FIRN_NEW_ARRAY(arena, int64_t, 2);
    int32_t *ids = FIRN_NEW(arena, int32_t);
    *ids = 2;
    counts[0] = values;
    counts[1] = nulls;
    file.value_counts = (struct firn_count_map){ ids, &counts[0], 1, true };
    file.null_value_counts = (struct firn_count_map){ ids, &counts[1], 1, true };
    return file;
}

/* A commit, `after_ms` after the one before. */
struct survey_commit {
    const struct firn_data_file *added, *removed, *deletes;
    uint32_t added_count, removed_count, delete_count;
    const char *operation; /* "append" */
    int64_t after_ms;
};

static inline void survey_make(struct history *history, struct survey_commit how)
{
    struct firn_snapshot_result result;
    struct firn_snapshot_change change = {
        .operation = firn_text_of(how.operation ? how.operation : "append"),
        .branch = FIRN_TEXT("main"),
        .added = how.added,
        .added_count = how.added_count,
        .added_sequence_number = FIRN_ABSENT,
        .removed = how.removed,
        .removed_count = how.removed_count,
        .added_deletes = how.deletes,
        .added_delete_count = how.delete_count,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
    };
    history->now_ms += how.after_ms;
    CHECK_OK(history->op, firn_snapshot_commit(history->op, NULL, &history->fixture.table, &change, &result));
}

static inline void survey_append(struct history *history, struct firn_data_file file)
{
    survey_make(history, (struct survey_commit){ .added = &file, .added_count = 1, .after_ms = 60000 });
}

/* A position delete of all files of a partition, or of one; an equality delete of column v. */
static inline struct firn_data_file survey_delete(struct history *history, const char *name, int64_t part,
                                                  enum firn_content content, const struct firn_data_file *only)
{
    struct firn_data_file file = survey_file(history, name, part, 100, 3);
    file.content = content;
    if (only)
        file.referenced_data_file = only->path;
    if (content == FIRN_CONTENT_EQUALITY_DELETES) {
        file.equality_ids = FIRN_NEW(history->op->arena, int32_t);
        file.equality_ids[0] = 2;
        file.equality_id_count = 1;
    }
    return file;
}

static inline struct firn_survey survey_take(struct history *history)
{
    struct firn_survey survey;
    CHECK_OK(history->op,
             firn_survey_take(history->op, NULL, &history->fixture.table, (struct firn_survey_options){ 0 }, &survey));
    return survey;
}

#endif
