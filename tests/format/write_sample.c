/* Writes a Parquet file anew, column by column: write_sample IN OUT [name=value]...
 *
 * Interop tests make the input with another engine, choose options, and compare what engines read of the output.
 * Options: codec, level, version (1 or 2), page_bytes, page_rows, dictionary_bytes (0: none), indices (1: pass
 * dictionary indices on), delta (1: differences of integers), groups (1: one row group of all), statistics, copy (1:
 * pages of the same codec as they are), floor (bytes below which pages grow before one is copied). Prints how many
 * pages were copied. */
#include "support/parquet_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct settings {
    struct firn_chunk_options chunk;
    bool indices;
    bool one_group;
    bool copy;
};

static firn_status read_file(struct firn_op *op, const char *path, struct firn_buffer *out)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return firn_fail_errno(op, errno, "cannot open '%s'", path);
    firn_status status = FIRN_OK;
    uint8_t *at;
    size_t got = 1 << 20;
    while (status == FIRN_OK && got == 1 << 20) {
        size_t len = out->len;
        status = firn_buffer_extend(op, out, 1 << 20, &at);
        if (status == FIRN_OK)
            out->len = len + (got = fread(at, 1, 1 << 20, file));
    }
    fclose(file);
    return status;
}

static firn_status write_to_file(struct firn_op *op, void *context, struct firn_bytes bytes)
{
    if (fwrite(bytes.data, 1, bytes.len, context) != bytes.len)
        return firn_fail_errno(op, errno, "cannot write");
    return FIRN_OK;
}

static firn_status append_pages(struct firn_op *op, struct firn_chunk_reader *reader, struct firn_chunk_writer *writer)
{
    struct firn_vector vector;
    bool has_page = true;
    while (has_page) {
        FIRN_TRY(firn_chunk_reader_next(op, reader, &vector, &has_page));
        if (has_page)
            FIRN_TRY(firn_chunk_writer_append(op, writer, &vector));
    }
    return FIRN_OK;
}

static firn_status append_chunk(struct firn_op *op, const struct firn_parquet_node *leaf,
                                const struct firn_column_chunk *chunk, int64_t row_count, struct firn_bytes bytes,
                                struct firn_chunk_reader_options options, struct firn_chunk_writer *writer)
{
    struct firn_chunk_reader *reader;
    FIRN_TRY(firn_chunk_reader_open(op, leaf, chunk, row_count, bytes, options, &reader));
    firn_status status = append_pages(op, reader, writer);
    firn_chunk_reader_close(reader);
    return status;
}

static firn_status copy_chunk(struct firn_op *op, struct firn_bytes file, const struct firn_footer *footer,
                              uint32_t group, uint32_t leaf, const struct settings *settings,
                              struct firn_chunk_writer *writer)
{
    uint64_t offset, len;
    uint32_t copied = 0;
    const struct firn_column_chunk *chunk = &footer->row_groups[group].chunks[leaf];
    const struct firn_parquet_node *node = footer->leaves[leaf];
    int64_t row_count = footer->row_groups[group].row_count;
    struct firn_chunk_reader_options options = { .crc_check = true, .keep_dictionary = settings->indices };
    firn_column_chunk_range(chunk, &offset, &len);
    struct firn_bytes bytes = { file.data + offset, len };
    if (!settings->copy || chunk->codec != settings->chunk.codec)
        return append_chunk(op, node, chunk, row_count, bytes, options, writer);
    FIRN_TRY(parquet_chunk_splice(op, node, chunk, row_count, bytes, options, false, writer, &copied));
    printf("%.*s: %u pages copied\n", FIRN_FMT(node->path), copied);
    return FIRN_OK;
}

/* One column of an output row group: that of the input's row groups [first, end). */
static firn_status copy_column(struct firn_op *op, struct firn_bytes file, const struct firn_footer *footer,
                               uint32_t first, uint32_t end, uint32_t leaf, const struct settings *settings,
                               struct firn_encoded_chunk *out)
{
    struct firn_chunk_writer *writer;
    firn_status status = FIRN_OK;
    FIRN_TRY(firn_chunk_writer_open(op, footer->leaves[leaf], &settings->chunk, &writer));
    for (uint32_t group = first; group < end && status == FIRN_OK; group++)
        status = copy_chunk(op, file, footer, group, leaf, settings, writer);
    if (status == FIRN_OK)
        status = firn_chunk_writer_finish(op, writer, out);
    firn_chunk_writer_close(writer);
    return status;
}

static firn_status copy_groups(struct firn_op *op, struct firn_bytes file, const struct firn_footer *footer,
                               uint32_t first, uint32_t end, const struct settings *settings,
                               struct firn_parquet_writer *out)
{
    struct firn_encoded_chunk *chunks = FIRN_NEW_ARRAY(op->arena, struct firn_encoded_chunk, footer->leaf_count);
    int64_t row_count = 0;
    uint32_t leaf = 0;
    firn_status status = FIRN_OK;
    for (uint32_t group = first; group < end; group++)
        row_count += footer->row_groups[group].row_count;
    for (; leaf < footer->leaf_count && status == FIRN_OK; leaf++)
        status = copy_column(op, file, footer, first, end, leaf, settings, &chunks[leaf]);
    if (status == FIRN_OK)
        status = firn_parquet_writer_add(op, out, chunks, row_count);
    while (leaf > 0)
        firn_encoded_chunk_done(&chunks[--leaf]);
    return status;
}

static firn_status rewrite(struct firn_op *op, const char *in_path, FILE *out_file, const struct settings *settings)
{
    struct firn_buffer *file = FIRN_NEW(op->arena, struct firn_buffer);
    struct firn_footer *footer;
    struct firn_parquet_writer *writer;
    struct firn_sink sink = { .write = write_to_file, .context = out_file };
    firn_buffer_defer(op->arena, file);
    FIRN_TRY(read_file(op, in_path, file));
    FIRN_TRY(parquet_file_footer(op, firn_buffer_bytes(file), &footer));
    FIRN_TRY(firn_parquet_writer_open(op, footer, &sink, &writer));
    uint32_t count = footer->row_group_count, step = settings->one_group ? count : 1;
    firn_status status = FIRN_OK;
    for (uint32_t group = 0; group < count && status == FIRN_OK; group += step)
        status = copy_groups(op, firn_buffer_bytes(file), footer, group, group + step, settings, writer);
    if (status == FIRN_OK)
        status = firn_parquet_writer_finish(op, writer, &footer);
    firn_parquet_writer_close(writer);
    return status;
}

static bool set_option(struct settings *settings, struct firn_text name, struct firn_text text)
{
    int64_t number = 0;
    if (firn_text_is(name, "codec"))
        return firn_codec_of_name(text, &settings->chunk.codec);
    if (!firn_text_to_i64(text, &number))
        return false;
    if (firn_text_is(name, "level"))
        settings->chunk.codec_level = (int32_t)number;
    else if (firn_text_is(name, "version"))
        settings->chunk.page_v2 = number == 2;
    else if (firn_text_is(name, "page_bytes"))
        settings->chunk.page_bytes_max = (int32_t)number;
    else if (firn_text_is(name, "page_rows"))
        settings->chunk.page_rows_max = (int32_t)number;
    else if (firn_text_is(name, "dictionary_bytes"))
        settings->chunk.dictionary_bytes_max = (int32_t)number;
    else if (firn_text_is(name, "statistics"))
        settings->chunk.statistics = number != 0;
    else if (firn_text_is(name, "indices"))
        settings->indices = number != 0;
    else if (firn_text_is(name, "delta"))
        settings->chunk.delta = number != 0;
    else if (firn_text_is(name, "copy"))
        settings->copy = number != 0;
    else if (firn_text_is(name, "floor"))
        settings->chunk.splice_floor_bytes = (int32_t)number;
    else if (firn_text_is(name, "groups"))
        settings->one_group = number == 1;
    else
        return false;
    return true;
}

static bool parse_arguments(int count, char **arguments, struct settings *settings)
{
    for (int i = 0; i < count; i++) {
        struct firn_text argument = firn_text_of(arguments[i]);
        ptrdiff_t equals = firn_text_find(argument, '=');
        if (equals < 0 || !set_option(settings, firn_text_until(argument, (size_t)equals),
                                      firn_text_from(argument, (size_t)equals + 1)))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct settings settings = { .chunk = firn_chunk_options_default() };
    struct firn_arena arena;
    struct firn_op op;
    if (argc < 3 || !parse_arguments(argc - 3, argv + 3, &settings)) {
        fprintf(stderr, "usage: write_sample IN OUT [name=value]...\n");
        return 2;
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out) {
        perror(argv[2]);
        return 1;
    }
    firn_arena_init(&arena);
    firn_op_init(&op, &arena, firn_env_real());
    firn_status status = rewrite(&op, argv[1], out, &settings);
    if (fclose(out) != 0 && status == FIRN_OK)
        status = firn_fail_errno(&op, errno, "cannot write '%s'", argv[2]);
    if (status != FIRN_OK)
        fprintf(stderr, "%s\n", op.error.text);
    firn_arena_done(&arena);
    return firn_status_exit_code(status);
}
