/* What metadata tell of pages, against what decoding them shows. */
#include "support/corpus.h"
#include "support/parquet_file.h"

#include "base/math.h"
#include "format/parquet/page_facts_find.h"

#include <ftw.h>

static struct firn_bytes range_of(struct firn_bytes file, int64_t offset, int64_t len)
{
    if (offset <= 0 || len <= 0 || (uint64_t)offset > file.len || (uint64_t)len > file.len - (uint64_t)offset)
        return (struct firn_bytes){ 0 };
    return (struct firn_bytes){ file.data + offset, (size_t)len };
}

/* The sources of a chunk of a file in memory; broken indexes are left out. */
static struct firn_page_sources sources_of(struct firn_op *op, struct firn_bytes file, const struct firn_footer *footer,
                                           uint32_t row_group, uint32_t leaf)
{
    const struct firn_column_chunk *chunk = &footer->row_groups[row_group].chunks[leaf];
    struct firn_page_sources sources = {
        .footer = footer,
        .leaf = footer->leaves[leaf],
        .chunk = chunk,
        .row_group_rows = footer->row_groups[row_group].row_count,
    };
    struct firn_column_index *columns = FIRN_NEW(op->arena, struct firn_column_index);
    struct firn_offset_index *offsets = FIRN_NEW(op->arena, struct firn_offset_index);
    struct firn_bytes column_bytes = range_of(file, chunk->column_index_offset, chunk->column_index_bytes);
    struct firn_bytes offset_bytes = range_of(file, chunk->offset_index_offset, chunk->offset_index_bytes);
    if (column_bytes.len > 0 && firn_column_index_parse(op, column_bytes, columns) == FIRN_OK)
        sources.column_index = columns;
    if (offset_bytes.len > 0 && firn_offset_index_parse(op, offset_bytes, offsets) == FIRN_OK)
        sources.offset_index = offsets;
    return sources;
}

/* NULL when the found facts agree with those of the decoded page, else what does not. */
static const char *disagreement(const struct firn_parquet_node *leaf, const struct firn_page_facts *found,
                                const struct firn_page_facts *shown)
{
    enum firn_order order = firn_order_of(leaf);
    if (found->slot_count != shown->slot_count)
        return "slots";
    if (found->value_count != shown->value_count)
        return "values";
    if (found->row_count != shown->row_count)
        return "rows";
    if (!shown->begins_row || !found->begins_row || !found->ends_row)
        return "begin of a row";
    if (found->nan_count >= 0 && found->nan_count != shown->nan_count)
        return "NaN";
    if (found->has_bounds != shown->has_bounds)
        return "existence of bounds";
    if (found->unencoded_bytes >= 0 && found->unencoded_bytes != shown->unencoded_bytes)
        return "unencoded bytes";
    if (found->rep_histogram && memcmp(found->rep_histogram, shown->rep_histogram, (leaf->rep_max + 1u) * 8) != 0)
        return "repetition levels";
    if (found->def_histogram && memcmp(found->def_histogram, shown->def_histogram, (leaf->def_max + 1u) * 8) != 0)
        return "definition levels";
    if (!found->has_bounds)
        return NULL;
    int low = firn_order_compare(order, found->min, shown->min),
        high = firn_order_compare(order, found->max, shown->max);
    if (low > 0 || high < 0)
        return "bounds that do not enclose";
    bool widened = firn_order_has_nan(order); /* zeros */
    if (!widened && ((found->min_exact && low != 0) || (found->max_exact && high != 0)))
        return "exactness";
    return NULL;
}

struct tally {
    size_t page_count, found_count, disagreed;
};

/* Goes through a chunk's pages until they end or break. */
static void compare_chunk(struct firn_op *op, const char *path, struct firn_bytes file,
                          const struct firn_page_sources *sources, struct tally *tally)
{
    struct firn_facts_scratch scratch = { 0 };
    struct firn_chunk_reader *reader;
    uint64_t offset, len;
    firn_column_chunk_range(sources->chunk, &offset, &len);
    struct firn_bytes bytes = { file.data + (len ? offset : 0), len };
    if (firn_chunk_reader_open(op, sources->leaf, sources->chunk, sources->row_group_rows, bytes,
                               (struct firn_chunk_reader_options){ .keep_dictionary = true }, &reader) != FIRN_OK)
        return;
    bool has_page = true;
    for (uint32_t i = 0; has_page; i++) {
        struct firn_page_facts found, shown;
        struct firn_page page;
        struct firn_vector vector;
        if (firn_chunk_reader_peek(op, reader, &page, &has_page) != FIRN_OK || !has_page)
            break;
        bool is_found = firn_page_facts_find(op->arena, sources, &page, i, &found);
        if (firn_chunk_reader_next(op, reader, &vector, &has_page) != FIRN_OK)
            break;
        CHECK_OK(op, firn_page_facts_of(op, &scratch, sources->leaf, &vector, &shown));
        tally->page_count++;
        tally->found_count += is_found;
        const char *problem = is_found ? disagreement(sources->leaf, &found, &shown) : NULL;
        if (problem && !strstr(path, "/malformed/"))
            print_error("%s: column %.*s, page %u: %s\n", path, FIRN_FMT(sources->leaf->path), i, problem);
        tally->disagreed += problem != NULL;
    }
    firn_chunk_reader_close(reader);
    firn_facts_scratch_done(&scratch);
}

static void compare_file(struct firn_op *op, const char *path, struct firn_bytes file, struct tally *tally)
{
    struct firn_footer *footer;
    if (parquet_file_footer(op, file, &footer) != FIRN_OK)
        return;
    for (uint32_t i = 0; i < footer->row_group_count; i++)
        for (uint32_t k = 0; k < footer->leaf_count; k++) {
            struct firn_page_sources sources = sources_of(op, file, footer, i, k);
            compare_chunk(op, path, file, &sources, tally);
        }
}

static struct firn_op *walk_op;
static struct tally walk_tally;

static int visit(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)walk;
    struct firn_op inner = *walk_op;
    struct firn_arena arena;
    size_t len = strlen(path);
    if (type != FTW_F || len < 8 || strcmp(path + len - 8, ".parquet") != 0)
        return 0;
    firn_arena_init(&arena);
    inner.arena = &arena;
    struct tally tally = { 0 };
    compare_file(&inner, path, corpus_file(&inner, "%s", path), &tally);
    if (strstr(path, "/malformed/")) /* pages or statistics are forged: they must do no harm, but may disagree */
        tally = (struct tally){ 0 };
    walk_tally.page_count += tally.page_count;
    walk_tally.found_count += tally.found_count;
    walk_tally.disagreed += tally.disagreed;
    firn_arena_done(&arena);
    return 0;
}

static void facts_of_other_writers_agree_with_pages(void **state)
{
    walk_op = test_op(state);
    struct firn_text root = corpus_root(walk_op);
    CORPUS_OR_SKIP(root);
    nftw(firn_text_copy(walk_op->arena, root).data, visit, 16, FTW_PHYS);
    print_message("%zu of %zu pages told by metadata\n", walk_tally.found_count, walk_tally.page_count);
    CHECK(walk_tally.disagreed == 0, "%zu pages", walk_tally.disagreed);
    CHECK(walk_tally.found_count > walk_tally.page_count / 2, "%zu", walk_tally.found_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(facts_of_other_writers_agree_with_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
