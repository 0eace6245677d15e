/* What metadata tell of pages, against what decoding them shows. */
#include "support/corpus.h"
#include "support/parquet_file.h"

#include "base/math.h"
#include "format/parquet/page_facts_find.h"
#include "format/parquet/writer.h"

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
static const char *wrong_count(const struct firn_page_facts *found, const struct firn_page_facts *shown)
{
    if (found->slot_count != shown->slot_count)
        return "slots";
    if (found->value_count != shown->value_count)
        return "values";
    if (found->row_count != shown->row_count)
        return "rows";
    return shown->begins_row && found->begins_row && found->ends_row ? NULL : "begin of a row";
}

static const char *wrong_bound(const struct firn_parquet_node *leaf, const struct firn_page_facts *found,
                               const struct firn_page_facts *shown)
{
    enum firn_order order = firn_order_of(leaf);
    if (found->has_bounds != shown->has_bounds)
        return "existence of bounds";
    if (!found->has_bounds)
        return NULL;
    int low = firn_order_compare(order, found->min, shown->min);
    int high = firn_order_compare(order, found->max, shown->max);
    if (low > 0 || high < 0)
        return "bounds that do not enclose";
    bool widened = firn_order_has_nan(order); /* zeros */
    return !widened && ((found->min_exact && low != 0) || (found->max_exact && high != 0)) ? "exactness" : NULL;
}

static const char *wrong_detail(const struct firn_parquet_node *leaf, const struct firn_page_facts *found,
                                const struct firn_page_facts *shown)
{
    if (found->nan_count >= 0 && found->nan_count != shown->nan_count)
        return "NaN";
    if (found->unencoded_bytes >= 0 && found->unencoded_bytes != shown->unencoded_bytes)
        return "unencoded bytes";
    if (found->rep_histogram && memcmp(found->rep_histogram, shown->rep_histogram, (leaf->rep_max + 1u) * 8) != 0)
        return "repetition levels";
    if (found->def_histogram && memcmp(found->def_histogram, shown->def_histogram, (leaf->def_max + 1u) * 8) != 0)
        return "definition levels";
    return wrong_bound(leaf, found, shown);
}

struct tally {
    size_t page_count, found_count;
    size_t with_levels;       /* found when their levels were decoded */
    size_t miscounted, wrong; /* pages of which wrong counts, or else something wrong was found */
    const char *path;         /* names what is wrong; NULL: it is expected */
};

static void compare_page(const struct firn_parquet_node *leaf, const struct firn_page_facts *found,
                         const struct firn_page_facts *shown, struct tally *tally)
{
    const char *count = wrong_count(found, shown), *detail = count ? NULL : wrong_detail(leaf, found, shown);
    tally->miscounted += count != NULL;
    tally->wrong += detail != NULL;
    if (tally->path && (count || detail))
        print_error("%s: column %.*s: %s\n", tally->path, FIRN_FMT(leaf->path), count ? count : detail);
}

/* Goes through a chunk's pages until they end or break. */
static void compare_chunk(struct firn_op *op, struct firn_bytes file, const struct firn_page_sources *sources,
                          struct tally *tally)
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
        bool is_found = firn_page_facts_find(op->arena, sources, &page, i, NULL, &found);
        if (firn_chunk_reader_next(op, reader, &vector, &has_page) != FIRN_OK)
            break;
        CHECK_OK(op, firn_page_facts_of(op, &scratch, sources->leaf, &vector, &shown));
        tally->page_count++;
        if (is_found)
            compare_page(sources->leaf, &found, &shown, tally);
        tally->found_count += is_found;
        if (firn_chunk_reader_at_row_end(op, reader, &shown.ends_row) != FIRN_OK)
            break;
        if (!firn_page_facts_find(op->arena, sources, &page, i, &shown, &found))
            continue;
        compare_page(sources->leaf, &found, &shown, tally);
        tally->with_levels++;
    }
    firn_chunk_reader_close(reader);
    firn_facts_scratch_done(&scratch);
}

static void compare_file(struct firn_op *op, struct firn_bytes file, struct tally *tally)
{
    struct firn_footer *footer;
    if (parquet_file_footer(op, file, &footer) != FIRN_OK)
        return;
    for (uint32_t i = 0; i < footer->row_group_count; i++)
        for (uint32_t k = 0; k < footer->leaf_count; k++) {
            struct firn_page_sources sources = sources_of(op, file, footer, i, k);
            compare_chunk(op, file, &sources, tally);
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
    bool is_forged = strstr(path, "/malformed/") != NULL; /* it must do no harm, but pages or statistics may be wrong */
    struct tally tally = { .path = is_forged ? NULL : path };
    firn_arena_init(&arena);
    inner.arena = &arena;
    compare_file(&inner, corpus_file(&inner, "%s", path), &tally);
    firn_arena_done(&arena);
    if (is_forged)
        return 0;
    walk_tally.page_count += tally.page_count;
    walk_tally.found_count += tally.found_count;
    walk_tally.with_levels += tally.with_levels;
    walk_tally.wrong += tally.wrong + tally.miscounted;
    return 0;
}

static void facts_of_other_writers_agree_with_pages(void **state)
{
    walk_op = test_op(state);
    struct firn_text root = corpus_root(walk_op);
    CORPUS_OR_SKIP(root);
    nftw(firn_text_copy(walk_op->arena, root).data, visit, 16, FTW_PHYS);
    print_message("%zu of %zu pages told by metadata, %zu with levels\n", walk_tally.found_count, walk_tally.page_count,
                  walk_tally.with_levels);
    CHECK(walk_tally.wrong == 0, "%zu pages", walk_tally.wrong);
    CHECK(walk_tally.found_count > walk_tally.page_count / 2, "%zu", walk_tally.found_count);
    CHECK(walk_tally.with_levels >= walk_tally.found_count, "%zu", walk_tally.with_levels);
}

/* The first of two pages that metadata tell everything of: 100 rows, 10 of them null, values from -5 to 7. */
struct scene {
    struct firn_footer footer;
    struct firn_parquet_node leaf;
    struct firn_column_chunk chunk;
    struct firn_column_index columns;
    bool null_pages[2];
    int64_t null_counts[2], nan_counts[2], rep_histograms[4], def_histograms[6];
    struct firn_bytes min_values[2], max_values[2];
    struct firn_offset_index offsets;
    struct firn_page_location locations[2];
    int64_t unencoded_bytes[2];
    uint8_t body[80];
    struct firn_page page;
    struct firn_page_sources sources;
    uint32_t index;
};

#define BYTES(literal) ((struct firn_bytes){ (const uint8_t *)("" literal), sizeof(literal) - 1 })
#define MINUS_5        BYTES("\xfb\xff\xff\xff")
#define PLUS_7         BYTES("\x07\0\0\0")

static void scene_init(struct scene *scene)
{
    *scene = (struct scene){
        .footer = { .created_by = FIRN_TEXT_INIT("parquet-mr version 1.13.1 (build 1)"), .has_column_orders = true },
        .leaf = { .is_leaf = true, .type = FIRN_PARQUET_INT32, .def_max = 1 },
        .chunk = { .value_count = 200, .compressed_bytes = 200, .data_page_offset = 4 },
        .null_counts = { 10, 0 },
        .min_values = { MINUS_5, PLUS_7 },
        .max_values = { PLUS_7, PLUS_7 },
        .locations = { { 4, 100, 0 }, { 104, 100, 100 } },
        .page = { .header = { .value_count = 100, .uncompressed_bytes = 500 }, .header_bytes.len = 20 },
    };
    scene->page.body = (struct firn_bytes){ scene->body, sizeof scene->body };
    scene->columns = (struct firn_column_index){ .page_count = 2,
                                                 .null_pages = scene->null_pages,
                                                 .min_values = scene->min_values,
                                                 .max_values = scene->max_values,
                                                 .null_counts = scene->null_counts };
    scene->offsets = (struct firn_offset_index){ .pages = scene->locations, .page_count = 2 };
    scene->sources = (struct firn_page_sources){
        .footer = &scene->footer,
        .leaf = &scene->leaf,
        .chunk = &scene->chunk,
        .column_index = &scene->columns,
        .offset_index = &scene->offsets,
        .row_group_rows = 200,
    };
}

/* Makes the scene one of doubles from -0.0 or `min` to 1. */
static void scene_of_doubles(struct scene *scene, struct firn_bytes min)
{
    scene_init(scene);
    scene->leaf.type = FIRN_PARQUET_DOUBLE;
    scene->min_values[0] = min;
    scene->max_values[0] = BYTES("\0\0\0\0\0\0\xf0\x3f");
}

static void scene_of_text(struct scene *scene)
{
    scene_init(scene);
    scene->leaf.type = FIRN_PARQUET_BYTE_ARRAY;
    scene->leaf.logical.kind = FIRN_LOGICAL_STRING;
    scene->min_values[0] = BYTES("a");
    scene->max_values[0] = BYTES("b");
}

/* Makes the scene one of lists: the levels of 40 rows, 60 more elements, 10 slots without. */
static void scene_of_lists(struct scene *scene)
{
    scene_init(scene);
    scene->leaf.rep_max = 1;
    scene->leaf.def_max = 2;
    scene->locations[1].first_row_index = 40;
    scene->sources.row_group_rows = 80;
}

static bool find(struct firn_op *op, struct scene *scene, struct firn_page_facts *out)
{
    return firn_page_facts_find(op->arena, &scene->sources, &scene->page, scene->index, NULL, out);
}

static bool is_same(struct firn_bytes a, struct firn_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static void indexes_tell_of_a_page(void **state)
{
    struct firn_page_facts facts;
    struct scene scene;
    scene_init(&scene);
    assert_true(find(test_op(state), &scene, &facts));
    assert_int_equal(facts.slot_count, 100);
    assert_int_equal(facts.value_count, 90);
    assert_int_equal(facts.row_count, 100);
    assert_int_equal(facts.nan_count, 0);
    assert_true(facts.begins_row && facts.ends_row && facts.has_bounds && facts.min_exact && facts.max_exact);
    assert_true(is_same(facts.min, MINUS_5) && is_same(facts.max, PLUS_7));

    scene.null_pages[0] = true; /* and then nulls are all there is */
    scene.null_counts[0] = 100;
    assert_true(find(test_op(state), &scene, &facts));
    assert_true(facts.value_count == 0 && !facts.has_bounds);
}

/* One change each, to a page that was told. */
static void contradictions_are_not_believed(void **state)
{
    enum { CHANGE_COUNT = 22 };
    for (int i = 0; i < CHANGE_COUNT; i++) {
        struct firn_page_facts facts;
        struct scene scene;
        scene_init(&scene);
        switch (i) {
        case 0: /* more nulls than slots, fewer than none */
            scene.null_counts[0] = 101;
            break;
        case 1:
            scene.null_counts[0] = -1;
            break;
        case 2: /* told in two ways */
            scene.page.header.statistics.has_null_count = true;
            scene.page.header.statistics.null_count = 9;
            break;
        case 3:
            scene.chunk.statistics.has_null_count = true;
            scene.chunk.statistics.null_count = 0;
            break;
        case 4:
            scene.chunk.statistics.has_null_count = true;
            scene.chunk.statistics.null_count = 200;
            break;
        case 5:
            scene.null_pages[0] = true;
            break;
        case 6: /* nulls in a required column */
            scene.leaf.def_max = 0;
            break;
        case 7: /* rows of a flat column that are not its slots */
            scene.locations[1].first_row_index = 99;
            break;
        case 8:
            scene.locations[1].first_row_index = 0;
            break;
        case 9:
            scene.locations[0].first_row_index = 1;
            break;
        case 10: /* the index tells of other pages: nothing else tells of this one */
            scene.locations[0].offset = 5;
            break;
        case 11:
            scene.locations[0].compressed_bytes = 99;
            break;
        case 12:
            scene.columns.page_count = 1;
            break;
        case 13:
            scene.index = 2;
            break;
        case 14:
            scene.offsets.page_count = scene.columns.page_count = 1;
            break;
        case 15:
            scene.sources.offset_index = NULL;
            break;
        case 16: /* bounds that are none */
            scene.min_values[0] = PLUS_7;
            scene.max_values[0] = MINUS_5;
            break;
        case 17:
            scene.min_values[0] = BYTES("\xfb");
            break;
        case 18:
            scene.max_values[0] = BYTES("");
            break;
        case 19: /* a wrong idea of the sign */
            scene.leaf.logical = (struct firn_logical_type){ .kind = FIRN_LOGICAL_INTEGER, .bit_width = 32 };
            break;
        case 20: /* levels of version 2 that say otherwise, or are cut off */
            scene.page.header.type = FIRN_PAGE_DATA_V2;
            scene.page.header.def_bytes = 3;
            scene.page.header.row_count = 100;
            scene.page.header.null_count = 10;
            memcpy(scene.body, "\xc8\x01\x01", 3); /* 100 times level 1 */
            break;
        case 21:
            scene.page.header.type = FIRN_PAGE_DATA_V2;
            scene.page.header.row_count = 100;
            scene.page.header.null_count = 10;
            break;
        default:
            fail();
        }
        CHECK(!find(test_op(state), &scene, &facts), "change %d", i);
    }
}

static void old_fields_count_where_their_order_is_the_type_s(void **state)
{
    struct firn_page_facts facts;
    struct scene scene;
    scene_init(&scene);
    scene.sources.column_index = NULL;
    scene.page.header.statistics = (struct firn_parquet_statistics){
        .has_null_count = true, .null_count = 10, .min_legacy = MINUS_5, .max_legacy = PLUS_7
    };
    assert_true(find(test_op(state), &scene, &facts));
    assert_true(facts.has_bounds && facts.min_exact && is_same(facts.min, MINUS_5) && is_same(facts.max, PLUS_7));
    scene.leaf.type = FIRN_PARQUET_FLOAT;
    assert_false(find(test_op(state), &scene, &facts));
    scene.leaf.type = FIRN_PARQUET_BYTE_ARRAY;
    assert_false(find(test_op(state), &scene, &facts));
}

/* A page of lists without indexes, as writers before them made: its header has bounds, its levels tell the rest. */
static void levels_tell_of_rows_and_nulls(void **state)
{
    int64_t rep[] = { 40, 60 }, def[] = { 4, 6, 90 };
    const struct firn_page_facts counted = { .slot_count = 100,
                                             .value_count = 90,
                                             .row_count = 40,
                                             .begins_row = true,
                                             .ends_row = true,
                                             .rep_histogram = rep,
                                             .def_histogram = def };
    struct firn_page_facts facts, within = counted;
    struct scene scene;
    scene_of_lists(&scene);
    scene.sources.column_index = NULL;
    scene.sources.offset_index = NULL;
    scene.footer.created_by = FIRN_TEXT("DuckDB version v1.1.0");
    scene.page.header.statistics = (struct firn_parquet_statistics){
        .has_null_count = true, .null_count = 4, .min_value = MINUS_5, .max_value = PLUS_7
    };
    struct firn_arena *arena = test_op(state)->arena;
    assert_false(find(test_op(state), &scene, &facts));
    assert_true(firn_page_facts_find(arena, &scene.sources, &scene.page, 0, &counted, &facts));
    assert_true(facts.value_count == 90 && facts.row_count == 40 && facts.begins_row && facts.ends_row);
    assert_true(facts.has_bounds && is_same(facts.min, MINUS_5) && is_same(facts.max, PLUS_7));
    assert_memory_equal(facts.def_histogram, def, sizeof def);

    within.ends_row = false;
    assert_false(firn_page_facts_find(arena, &scene.sources, &scene.page, 0, &within, &facts));
    within = counted;
    within.begins_row = false;
    assert_false(firn_page_facts_find(arena, &scene.sources, &scene.page, 0, &within, &facts));
    scene.footer.created_by = FIRN_TEXT("parquet-mr version 1.10.1"); /* who counts every slot without a value */
    assert_false(firn_page_facts_find(arena, &scene.sources, &scene.page, 0, &counted, &facts));
    scene.page.header.statistics.null_count = 10;
    assert_true(firn_page_facts_find(arena, &scene.sources, &scene.page, 0, &counted, &facts));
    scene.page.header.statistics = (struct firn_parquet_statistics){ 0 };
    assert_false(firn_page_facts_find(arena, &scene.sources, &scene.page, 0, &counted, &facts));
}

static void the_only_page_is_told_of_by_its_chunk(void **state)
{
    struct firn_page_facts facts;
    struct scene scene;
    int64_t rep[] = { 40, 60 }, def[] = { 4, 6, 90 };
    scene_of_lists(&scene);
    scene.sources.column_index = NULL;
    scene.sources.offset_index = NULL;
    scene.sources.row_group_rows = 40;
    scene.chunk.value_count = 100;
    scene.chunk.statistics = (struct firn_parquet_statistics){
        .has_null_count = true,
        .null_count = 10,
        .min_value = MINUS_5,
        .max_value = PLUS_7,
        .has_max_exact = true,
    };
    assert_true(find(test_op(state), &scene, &facts));
    assert_true(facts.value_count == 90 && facts.row_count == 40 && facts.min_exact && !facts.max_exact);
    assert_null(facts.rep_histogram);

    scene.chunk.sizes = (struct firn_size_statistics){
        .rep_histogram = rep, .rep_histogram_count = 2, .def_histogram = def, .def_histogram_count = 3
    };
    assert_true(find(test_op(state), &scene, &facts));
    assert_ptr_equal(facts.rep_histogram, rep);
    assert_ptr_equal(facts.def_histogram, def);
    rep[0] = 41; /* sums to one slot too many */
    assert_true(find(test_op(state), &scene, &facts));
    assert_null(facts.rep_histogram);
    rep[1] = 59; /* sums up, but to other rows */
    assert_false(find(test_op(state), &scene, &facts));
}

static void nested_pages_must_be_known_to_hold_whole_rows(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_page_facts facts;
    struct scene scene;
    scene_of_lists(&scene);
    assert_true(find(op, &scene, &facts)); /* by the offset index */
    assert_true(facts.row_count == 40 && facts.value_count == 90);
    scene.index = 1;
    scene.page.offset = 100;
    assert_true(find(op, &scene, &facts)); /* the last one, of what rows are left */
    assert_true(facts.row_count == 40 && facts.value_count == 100);
    scene.sources.row_group_rows = 39;
    assert_false(find(op, &scene, &facts));

    scene_of_lists(&scene); /* version 2, by its levels: 40 rows, 60 more elements; 10 nulls, 90 values */
    scene.sources.offset_index = NULL;
    scene.page.header.type = FIRN_PAGE_DATA_V2;
    scene.page.header.rep_bytes = 4;
    scene.page.header.def_bytes = 5;
    scene.page.header.row_count = 40;
    scene.page.header.null_count = 10;
    scene.page.header.statistics.min_value = MINUS_5;
    scene.page.header.statistics.max_value = PLUS_7;
    memcpy(scene.body, "\x50\x00\x78\x01", 4);
    memcpy(scene.body + 4, "\x14\x01\xb4\x01\x02", 5);
    assert_true(find(op, &scene, &facts));
    assert_true(facts.row_count == 40 && facts.value_count == 90);
    assert_true(facts.rep_histogram[0] == 40 && facts.rep_histogram[1] == 60);
    assert_true(facts.def_histogram[0] == 0 && facts.def_histogram[1] == 10 && facts.def_histogram[2] == 90);
    scene.page.header.row_count = 41;
    assert_false(find(op, &scene, &facts));
    scene.page.header.row_count = 40;
    scene.footer.created_by = FIRN_TEXT("parquet-cpp-arrow version 11.0.0"); /* may have cut the next row */
    assert_false(find(op, &scene, &facts));
    scene.footer.created_by = FIRN_TEXT("parquet-cpp-arrow version 13.0.0");
    assert_true(find(op, &scene, &facts));
    memcpy(scene.body, "\x78\x01\x50\x00", 4); /* begins within a row */
    assert_false(find(op, &scene, &facts));
}

static void nulls_of_nested_columns_count_by_writer(void **state)
{
    static const struct {
        struct firn_text created_by;
        bool believed;
    } writers[] = {
        { FIRN_TEXT_INIT("parquet-mr version 1.8.1"), true },
        { FIRN_TEXT_INIT("parquet-cpp version 1.5.1-SNAPSHOT"), false },
        { FIRN_TEXT_INIT("parquet-cpp-arrow version 5.0.0"), false },
        { FIRN_TEXT_INIT("parquet-cpp-arrow version 25.0.1"), false }, /* leaves out lists that are empty or null */
        { FIRN_TEXT_INIT("parquet-cpp-arrow version 26.0.1"), true },
        { FIRN_TEXT_INIT("DuckDB version v1.5.5 (build d8cdaa33fd)"), false }, /* has null structs twice */
        { FIRN_TEXT_INIT("parquet-rs version 9.0.0"), false },
        { FIRN_TEXT_INIT(""), false },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(writers); i++) {
        struct firn_page_facts facts;
        struct scene scene;
        scene_of_lists(&scene);
        scene.footer.created_by = writers[i].created_by;
        CHECK(find(test_op(state), &scene, &facts) == writers[i].believed, "writer %zu", i);
    }
}

static void bounds_of_bytes_count_by_writer(void **state)
{
    static const struct {
        struct firn_text created_by;
        bool has_orders, believed;
    } writers[] = {
        { FIRN_TEXT_INIT("parquet-mr version 1.10.0 (build 031a6654009e3b82020012a18434c582bd74c73a)"), true, true },
        { FIRN_TEXT_INIT("parquet-mr version 1.9.0"), true, false },
        { FIRN_TEXT_INIT("parquet-mr"), true, false },
        { FIRN_TEXT_INIT("parquet-mr version 1.10.99.7.2.13.0-71"), true, true },
        { FIRN_TEXT_INIT("parquet-mr version 1.13.1"), false, false },
        { FIRN_TEXT_INIT("parquet-mr-trino version 471"), true, true },
        { FIRN_TEXT_INIT("parquet-cpp version 1.5.1-SNAPSHOT"), true, false },
        { FIRN_TEXT_INIT("parquet-cpp-arrow version 4.0.0"), true, true },
        { FIRN_TEXT_INIT("DuckDB version v1.2.2 (build 7c039464e4)"), false, true },
        { FIRN_TEXT_INIT("DuckDB"), false, false },
        { FIRN_TEXT_INIT(""), true, true },
        { FIRN_TEXT_INIT(""), false, false },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(writers); i++) {
        struct firn_page_facts facts;
        struct scene scene;
        scene_of_text(&scene);
        scene.footer.created_by = writers[i].created_by;
        scene.footer.has_column_orders = writers[i].has_orders;
        CHECK(find(test_op(state), &scene, &facts) == writers[i].believed, "writer %zu", i);
        scene_init(&scene); /* numbers show a wrong order themselves */
        scene.footer.created_by = writers[i].created_by;
        scene.footer.has_column_orders = writers[i].has_orders;
        CHECK(find(test_op(state), &scene, &facts), "writer %zu", i);
    }
}

static void bounds_of_bytes_may_be_cut(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_page_facts facts;
    struct scene scene;
    scene_of_text(&scene);
    assert_true(find(op, &scene, &facts));
    assert_true(facts.has_bounds && !facts.min_exact && !facts.max_exact);
    scene.max_values[0] = BYTES("b\xc3"); /* within a character */
    assert_false(find(op, &scene, &facts));
    scene.leaf.logical.kind = FIRN_LOGICAL_NONE;
    assert_true(find(op, &scene, &facts));

    scene.page.header.statistics = (struct firn_parquet_statistics){
        .min_value = BYTES("aa"), .max_value = BYTES("az"), .has_min_exact = true, .min_exact = true
    };
    assert_true(find(op, &scene, &facts)); /* preferred: they say what they are */
    assert_true(facts.min_exact && !facts.max_exact && is_same(facts.min, BYTES("aa")));
}

static void nan_counts_come_from_several_places(void **state)
{
    static const struct firn_bytes minus_1 = { (const uint8_t *)"\0\0\0\0\0\0\xf0\xbf", 8 };
    struct firn_op *op = test_op(state);
    struct firn_page_facts facts;
    struct scene scene;
    scene_of_doubles(&scene, minus_1);
    assert_true(find(op, &scene, &facts) && facts.nan_count == 0); /* parquet-mr would show one */
    scene.footer.created_by = FIRN_TEXT("parquet-cpp-arrow version 26.0.1");
    assert_true(find(op, &scene, &facts) && facts.nan_count == -1);
    scene.sources.no_nan = true;
    assert_true(find(op, &scene, &facts) && facts.nan_count == 0);
    scene.sources.no_nan = false;
    scene.chunk.statistics.has_nan_count = true;
    assert_true(find(op, &scene, &facts) && facts.nan_count == 0);
    scene.chunk.statistics.nan_count = 3; /* in which page? */
    assert_true(find(op, &scene, &facts) && facts.nan_count == -1);
    scene.columns.nan_counts = scene.nan_counts;
    scene.nan_counts[0] = 3;
    assert_true(find(op, &scene, &facts) && facts.nan_count == 3 && facts.has_bounds);
    scene.nan_counts[0] = 91;
    assert_false(find(op, &scene, &facts));
    scene.nan_counts[0] = 90; /* nothing is left to have bounds */
    assert_true(find(op, &scene, &facts) && !facts.has_bounds);
}

static void bounds_of_floats_are_no_nan_and_zeros_are_wide(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_page_facts facts;
    struct scene scene;
    scene_of_doubles(&scene, BYTES("\0\0\0\0\0\0\0\0"));
    assert_true(find(op, &scene, &facts));
    assert_true(is_same(facts.min, BYTES("\0\0\0\0\0\0\0\x80")));
    scene.max_values[0] = BYTES("\0\0\0\0\0\0\xf8\x7f");
    assert_false(find(op, &scene, &facts));
    scene_of_doubles(&scene, BYTES("\0\0\0\0\0\0\xf8\xff"));
    assert_false(find(op, &scene, &facts));
}

static void lengths_of_values_come_from_several_places(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_page_facts facts;
    struct scene scene;
    scene_of_text(&scene);
    assert_true(find(op, &scene, &facts) && facts.unencoded_bytes == -1); /* how long are the levels? */
    scene.offsets.unencoded_bytes = scene.unencoded_bytes;
    scene.unencoded_bytes[0] = 77;
    assert_true(find(op, &scene, &facts) && facts.unencoded_bytes == 77);
    scene.unencoded_bytes[0] = INT64_MAX;
    assert_false(find(op, &scene, &facts));
    scene.unencoded_bytes[0] = 77;
    scene.page.header.encoding = FIRN_ENCODING_DELTA_BYTE_ARRAY;
    assert_true(find(op, &scene, &facts) && facts.unencoded_bytes == -1);
    scene.page.header.encoding = FIRN_ENCODING_PLAIN;
    scene.leaf.def_max = 0; /* 500 bytes of 100 values with their lengths */
    scene.null_counts[0] = 0;
    assert_false(find(op, &scene, &facts));
    scene.unencoded_bytes[0] = 100;
    assert_true(find(op, &scene, &facts) && facts.unencoded_bytes == 100);
    scene.offsets.unencoded_bytes = NULL;
    assert_true(find(op, &scene, &facts) && facts.unencoded_bytes == 100);
}

/* Pages of firn's own, and their indexes with one byte changed: whatever parses must do no harm, and what a page's own
 * levels tell stays right. */
static void broken_indexes_do_no_harm(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_parquet_node leaf = { .is_leaf = true, .type = FIRN_PARQUET_BYTE_ARRAY, .rep_max = 1, .def_max = 2 };
    struct firn_footer footer = { .created_by = FIRN_TEXT_INIT("firn version 0.1.0"), .has_column_orders = true };
    struct firn_chunk_options options = firn_chunk_options_default();
    enum { SLOTS = 300 };
    uint8_t rep[SLOTS], def[SLOTS];
    struct firn_slice values[SLOTS];
    struct firn_vector vector = {
        .type = leaf.type, .rep_max = 1, .def_max = 2, .slot_count = SLOTS, .rep = rep, .def = def
    };
    for (uint32_t i = 0; i < SLOTS; i++) {
        rep[i] = i % 3 != 0;
        def[i] = i % 7 == 0 ? 1 : 2;
        vector.row_count += rep[i] == 0;
        if (def[i] == 2)
            values[vector.value_count++] = (struct firn_slice){ (const uint8_t *)"the values of a list" + i % 10, 10 };
    }
    vector.values.slice = values;
    options.page_v2 = true;
    options.dictionary = false; /* or offsets would have to be moved */
    options.page_rows_max = 30;
    struct firn_chunk_writer *writer;
    struct firn_encoded_chunk chunk;
    CHECK_OK(op, firn_chunk_writer_open(op, &leaf, &options, &writer));
    CHECK_OK(op, firn_chunk_writer_append(op, writer, &vector));
    CHECK_OK(op, firn_chunk_writer_finish(op, writer, &chunk));
    firn_chunk_writer_close(writer);
    struct firn_buffer columns = { 0 }, offsets = { 0 };
    CHECK_OK(op, firn_column_index_print(op, &chunk.column_index, &columns));
    CHECK_OK(op, firn_offset_index_print(op, &chunk.offset_index, &offsets));
    for (size_t i = 0; i < columns.len + offsets.len; i++) {
        struct firn_column_index column_index;
        struct firn_offset_index offset_index;
        struct firn_arena arena;
        struct firn_op inner = *op;
        uint8_t *at = i < columns.len ? &columns.data[i] : &offsets.data[i - columns.len], kept = *at;
        firn_arena_init(&arena);
        inner.arena = &arena;
        *at = (uint8_t)(kept ^ (i % 2 ? 0x80 : 0x01 << i % 7));
        struct firn_page_sources sources = {
            .footer = &footer, .leaf = &leaf, .chunk = &chunk.metadata, .row_group_rows = vector.row_count
        };
        if (firn_column_index_parse(&inner, firn_buffer_bytes(&columns), &column_index) == FIRN_OK)
            sources.column_index = &column_index;
        if (firn_offset_index_parse(&inner, firn_buffer_bytes(&offsets), &offset_index) == FIRN_OK)
            sources.offset_index = &offset_index;
        struct tally tally = { 0 };
        compare_chunk(&inner, firn_buffer_bytes(&chunk.bytes), &sources, &tally);
        assert_int_equal(tally.page_count, chunk.offset_index.page_count);
        assert_int_equal(tally.miscounted, 0);
        *at = kept;
        firn_arena_done(&arena);
    }
    firn_buffer_done(&columns);
    firn_buffer_done(&offsets);
    firn_encoded_chunk_done(&chunk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(indexes_tell_of_a_page),
        TEST(contradictions_are_not_believed),
        TEST(old_fields_count_where_their_order_is_the_type_s),
        TEST(levels_tell_of_rows_and_nulls),
        TEST(the_only_page_is_told_of_by_its_chunk),
        TEST(nested_pages_must_be_known_to_hold_whole_rows),
        TEST(nulls_of_nested_columns_count_by_writer),
        TEST(bounds_of_bytes_count_by_writer),
        TEST(bounds_of_bytes_may_be_cut),
        TEST(nan_counts_come_from_several_places),
        TEST(bounds_of_floats_are_no_nan_and_zeros_are_wide),
        TEST(lengths_of_values_come_from_several_places),
        TEST(broken_indexes_do_no_harm),
        TEST(facts_of_other_writers_agree_with_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
