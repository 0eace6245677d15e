/* Whether a position-delete file names one of certain data files: its file_path column is read.
 *
 * A file that may concern a whole partition says in its rows alone which data files it means; bounds that a writer
 * shortened are never taken for a path. */
#include "catalog/position_paths.h"

#include "base/utf8.h"
#include "table/delete_index.h"
#include "table/parquet_chunk.h"
#include "table/parquet_footer.h"

struct path_search {
    struct firn_object *object;
    const struct firn_map *paths;
    struct firn_text named; /* the path found; empty: none so far */
};

static const struct firn_parquet_node *path_leaf(const struct firn_footer *footer)
{
    for (uint32_t i = 0; i < footer->leaf_count; i++)
        if (footer->leaves[i]->has_field_id && footer->leaves[i]->field_id == FIRN_FIELD_ID_DELETE_FILE_PATH &&
            footer->leaves[i]->type == FIRN_PARQUET_BYTE_ARRAY)
            return footer->leaves[i];
    return NULL;
}

static firn_status look_up(struct firn_op *op, struct path_search *search, const struct firn_slice *values,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count && search->named.len == 0; i++) {
        bool is_repeated = i > 0 && values[i].len == values[i - 1].len &&
                           memcmp(values[i].data, values[i - 1].data, values[i].len) == 0;
        struct firn_bytes path = { values[i].data, values[i].len };
        if (is_repeated)
            continue;
        const struct firn_map_entry *entry = firn_map_find(search->paths, path);
        if (!entry)
            entry = firn_map_find_text(search->paths, firn_delete_path_bare(firn_text_of_bytes(path)));
        if (!entry && !firn_text_is_utf8(firn_text_of_bytes(path))) /* damaged: it may have been any path */
            return firn_fail(op, FIRN_CORRUPT, "it names a data file by bytes that are no UTF-8 text");
        if (entry)
            search->named = firn_text_of_bytes(entry->key);
    }
    return FIRN_OK;
}

static firn_status search_pages(struct firn_op *op, struct path_search *search, struct firn_chunk_reader *reader)
{
    bool has_page = true;
    while (search->named.len == 0) {
        struct firn_vector page;
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_chunk_reader_next(op, reader, &page, &has_page));
        if (!has_page)
            return FIRN_OK;
        FIRN_TRY(look_up(op, search, page.values.slice, page.value_count));
    }
    return FIRN_OK;
}

static firn_status search_chunk(struct firn_op *op, struct path_search *search, const struct firn_parquet_node *leaf,
                                const struct firn_row_group *group)
{
    struct firn_chunk_reader *reader;
    FIRN_TRY(firn_parquet_chunk_open(op, search->object, leaf, &group->chunks[leaf->leaf_index], group->row_count,
                                     (struct firn_chunk_reader_options){ 0 }, &reader));
    firn_status status = search_pages(op, search, reader);
    firn_chunk_reader_close(reader);
    return status;
}

static firn_status search_file(struct firn_op *op, struct path_search *search, struct firn_buffer *bytes)
{
    struct firn_footer *footer;
    FIRN_TRY(firn_parquet_footer_read(op, search->object, bytes, &footer));
    const struct firn_parquet_node *leaf = path_leaf(footer);
    if (!leaf)
        return firn_fail(op, FIRN_UNSUPPORTED, "the file has no column file_path");
    for (uint32_t i = 0; i < footer->row_group_count && search->named.len == 0; i++)
        FIRN_TRY(search_chunk(op, search, leaf, &footer->row_groups[i]));
    return FIRN_OK;
}

firn_status firn_position_deletes_name_any(struct firn_op *op, struct firn_store *store,
                                           const struct firn_data_file *file, const struct firn_map *paths,
                                           struct firn_text *named)
{
    if (file->format != FIRN_FILE_PARQUET)
        return firn_fail(op, FIRN_UNSUPPORTED, "position deletes of format '%.*s' are not read",
                         FIRN_FMT(file->format_text));
    struct path_search search = { .paths = paths };
    struct firn_buffer bytes = { 0 };
    FIRN_TRY(firn_object_open(op, store, file->path, &search.object));
    firn_status status = search_file(op, &search, &bytes);
    firn_object_close(search.object);
    firn_buffer_done(&bytes);
    *named = search.named;
    return firn_context(op, status, "position delete file '%.*s'", FIRN_FMT(file->path));
}
