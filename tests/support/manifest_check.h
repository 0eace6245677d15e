/* Comparing manifest entries, for the tests that write and read them. */
#ifndef FIRN_TESTS_MANIFEST_CHECK_H
#define FIRN_TESTS_MANIFEST_CHECK_H

#include "check.h"
#include "table/manifest.h"

static inline bool same_counts(const struct firn_count_map *a, const struct firn_count_map *b)
{
    return a->present == b->present && a->count == b->count &&
           (a->count == 0 || (memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0 &&
                              memcmp(a->counts, b->counts, a->count * sizeof *a->counts) == 0));
}

static inline bool same_bytes(struct firn_bytes a, struct firn_bytes b)
{
    return (a.data == NULL) == (b.data == NULL) && firn_bytes_compare(a, b) == 0;
}

static inline bool same_bounds(const struct firn_bound_map *a, const struct firn_bound_map *b)
{
    if (a->present != b->present || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->ids[i] != b->ids[i] || !same_bytes(a->values[i], b->values[i]))
            return false;
    return true;
}

static inline void check_same_file(const struct firn_data_file *a, const struct firn_data_file *b, const char *what)
{
    CHECK(a->content == b->content && a->format == b->format, "%s", what);
    CHECK(firn_text_same(a->path, b->path) && firn_text_same(a->format_text, b->format_text), "%s", what);
    CHECK(firn_partition_same(&a->partition, &b->partition), "%s", what);
    CHECK(a->record_count == b->record_count && a->file_bytes == b->file_bytes, "%s", what);
    CHECK(same_counts(&a->column_sizes, &b->column_sizes), "%s", what);
    CHECK(same_counts(&a->value_counts, &b->value_counts), "%s", what);
    CHECK(same_counts(&a->null_value_counts, &b->null_value_counts), "%s", what);
    CHECK(same_counts(&a->nan_value_counts, &b->nan_value_counts), "%s", what);
    CHECK(same_bounds(&a->lower_bounds, &b->lower_bounds), "%s", what);
    CHECK(same_bounds(&a->upper_bounds, &b->upper_bounds), "%s", what);
    CHECK(same_bytes(a->key_metadata, b->key_metadata), "%s", what);
    CHECK(a->split_offset_count == b->split_offset_count, "%s", what);
    for (uint32_t i = 0; i < a->split_offset_count; i++)
        CHECK(a->split_offsets[i] == b->split_offsets[i], "%s", what);
    CHECK(a->sort_order_id == b->sort_order_id, "%s", what);
}

/* Members that v1 cannot hold. */
static inline void check_same_file_v2(const struct firn_data_file *a, const struct firn_data_file *b, const char *what)
{
    CHECK(a->equality_id_count == b->equality_id_count, "%s", what);
    for (uint32_t i = 0; i < a->equality_id_count; i++)
        CHECK(a->equality_ids[i] == b->equality_ids[i], "%s", what);
    CHECK(same_bytes(firn_bytes_of_text(a->referenced_data_file), firn_bytes_of_text(b->referenced_data_file)), "%s",
          what);
}

static inline void check_same_file_v3(const struct firn_data_file *a, const struct firn_data_file *b, const char *what)
{
    CHECK(a->content_offset == b->content_offset && a->content_bytes == b->content_bytes, "%s", what);
}

#endif
