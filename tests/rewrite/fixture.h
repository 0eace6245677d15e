/* Tables and Parquet files for the tests of src/rewrite: written from and dumped to short texts.
 *
 * A column is a blank-separated list of slots: "7" a value, "~" a null one level below the maximum, "r.d" a slot with
 * these levels and no value, "r.d=7" one with a value. Values: integers, floats, text; 0x.. for bytes. */
#ifndef FIRN_TESTS_REWRITE_FIXTURE_H
#define FIRN_TESTS_REWRITE_FIXTURE_H

#include "../check.h"

#include "base/math.h"
#include "format/parquet/reader.h"
#include "format/parquet/writer.h"
#include "rewrite/output_schema.h"
#include "rewrite/rewrite.h"

#define SLOTS_MAX 200000

/* One column being made. */
struct fixture_column {
    struct firn_vector vector;
    uint8_t *rep, *def, *values;
};

static inline uint8_t fixture_hex(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static inline void fixture_value(struct firn_op *op, const struct firn_parquet_node *leaf, struct firn_text text,
                                 struct fixture_column *column)
{
    const char *nul = firn_text_copy(op->arena, text).data;
    uint8_t *at = column->values + column->vector.value_count++ * firn_value_width(leaf->type, leaf->type_length);
    int64_t number = strtoll(nul, NULL, 10);
    double real = strtod(nul, NULL);
    float real32 = (float)real;
    int32_t number32 = (int32_t)number;
    struct firn_bytes bytes = firn_bytes_of_text(text);
    if (text.len > 2 && memcmp(nul, "0x", 2) == 0) {
        uint8_t *raw = firn_arena_alloc(op->arena, text.len);
        for (size_t i = 2; i + 1 < text.len; i += 2)
            raw[i / 2 - 1] = (uint8_t)(fixture_hex(nul[i]) << 4 | fixture_hex(nul[i + 1]));
        bytes = (struct firn_bytes){ raw, text.len / 2 - 1 };
    }
    struct firn_slice slice = { bytes.data, (uint32_t)bytes.len };
    switch (leaf->type) {
    case FIRN_PARQUET_BOOLEAN:
        *at = number != 0;
        break;
    case FIRN_PARQUET_INT32:
        memcpy(at, &number32, 4);
        break;
    case FIRN_PARQUET_INT64:
        memcpy(at, &number, 8);
        break;
    case FIRN_PARQUET_FLOAT:
        memcpy(at, &real32, 4);
        break;
    case FIRN_PARQUET_DOUBLE:
        memcpy(at, &real, 8);
        break;
    case FIRN_PARQUET_BYTE_ARRAY:
        memcpy(at, &slice, sizeof slice);
        break;
    default:
        CHECK(bytes.len == firn_value_width(leaf->type, leaf->type_length), "%s", nul);
        memcpy(at, bytes.data, bytes.len);
        break;
    }
}

static inline void fixture_slot(struct firn_op *op, const struct firn_parquet_node *leaf, struct firn_text token,
                                struct fixture_column *column)
{
    struct firn_vector *vector = &column->vector;
    ptrdiff_t equals = firn_text_find(token, '='), dot = firn_text_find(token, '.');
    bool levels = leaf->rep_max > 0 && dot == 1;
    uint8_t rep = levels ? (uint8_t)(token.data[0] - '0') : 0;
    uint8_t def = levels ? (uint8_t)(token.data[2] - '0') : leaf->def_max;
    bool has_value = levels ? equals == 3 : !firn_text_is(token, "~");
    if (!levels && !has_value)
        def = (uint8_t)(leaf->def_max - 1);
    if (leaf->rep_max == 0 && token.len == 3 && token.data[0] == '~' && token.data[1] == '.') {
        def = (uint8_t)(token.data[2] - '0');
        has_value = false;
    }
    column->rep[vector->slot_count] = rep;
    column->def[vector->slot_count++] = def;
    vector->row_count += rep == 0;
    if (has_value)
        fixture_value(op, leaf, levels ? firn_text_from(token, 4) : token, column);
}

static inline struct firn_vector fixture_vector(struct firn_op *op, const struct firn_parquet_node *leaf,
                                                const char *text)
{
    size_t len = strlen(text);
    struct fixture_column column = {
        .vector = { .type = leaf->type,
                    .type_length = leaf->type_length,
                    .rep_max = leaf->rep_max,
                    .def_max = leaf->def_max },
        .rep = firn_arena_alloc(op->arena, len + 1),
        .def = firn_arena_alloc(op->arena, len + 1),
        .values = firn_arena_alloc(op->arena, (len + 1) * FIRN_MAX(firn_value_width(leaf->type, leaf->type_length), 1)),
    };
    for (const char *at = text; *at;) {
        size_t token = strcspn(at, " ");
        if (token)
            fixture_slot(op, leaf, (struct firn_text){ at, token }, &column);
        at += token + (at[token] == ' ');
    }
    column.vector.rep = leaf->rep_max > 0 ? column.rep : NULL;
    column.vector.def = column.vector.value_count < column.vector.slot_count ? column.def : NULL;
    column.vector.values.any = column.values;
    return column.vector;
}

/* The Parquet schema of Iceberg schema JSON. */
static inline struct firn_output_schema fixture_schema(struct firn_op *op, const char *json)
{
    json_t *tree;
    struct firn_schema *schema = FIRN_NEW(op->arena, struct firn_schema);
    struct firn_output_schema output;
    CHECK_OK(op, firn_json_parse(op, firn_text_of(json), "schema", &tree));
    CHECK_OK(op, firn_schema_parse(op, tree, schema));
    CHECK_OK(op, firn_output_schema_new(op, schema, false, &output));
    return output;
}

/* Writes a file of `group_count` row groups: columns[group * leaf_count + leaf]. Gives its size. */
static inline int64_t fixture_write(struct firn_op *op, struct firn_store *store, const char *path,
                                    const struct firn_footer *schema, const char *const *columns, size_t group_count,
                                    struct firn_chunk_options options)
{
    struct firn_store_writer *file;
    struct firn_parquet_writer *writer;
    struct firn_footer *footer;
    CHECK_OK(op, firn_store_write(op, store, firn_text_of(path), false, &file));
    CHECK_OK(op, firn_parquet_writer_open(op, schema, firn_store_writer_sink(file), &writer));
    for (size_t group = 0; group < group_count; group++) {
        struct firn_encoded_chunk *chunks = FIRN_NEW_ARRAY(op->arena, struct firn_encoded_chunk, schema->leaf_count);
        for (uint32_t i = 0; i < schema->leaf_count; i++) {
            struct firn_chunk_writer *chunk;
            struct firn_vector vector = fixture_vector(op, schema->leaves[i], columns[group * schema->leaf_count + i]);
            CHECK_OK(op, firn_chunk_writer_open(op, schema->leaves[i], &options, &chunk));
            CHECK_OK(op, firn_chunk_writer_append(op, chunk, &vector));
            CHECK_OK(op, firn_chunk_writer_finish(op, chunk, &chunks[i]));
            firn_chunk_writer_close(chunk);
        }
        CHECK_OK(op, firn_parquet_writer_add(op, writer, chunks, chunks[0].row_count));
        for (uint32_t i = 0; i < schema->leaf_count; i++)
            firn_encoded_chunk_done(&chunks[i]);
    }
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &footer));
    firn_parquet_writer_close(writer);
    int64_t bytes = (int64_t)firn_store_writer_sink(file)->offset;
    CHECK_OK(op, firn_store_writer_finish(op, file));
    return bytes;
}

static inline void fixture_print_value(struct firn_op *op, struct firn_buffer *out, const struct firn_vector *vector,
                                       size_t index)
{
    union firn_values values = vector->values;
    char text[64];
    switch (vector->type) {
    case FIRN_PARQUET_BOOLEAN:
        snprintf(text, sizeof text, "%d", values.boolean[index]);
        break;
    case FIRN_PARQUET_INT32:
        snprintf(text, sizeof text, "%d", values.int32[index]);
        break;
    case FIRN_PARQUET_INT64:
        snprintf(text, sizeof text, "%" PRId64, values.int64[index]);
        break;
    case FIRN_PARQUET_FLOAT:
        snprintf(text, sizeof text, "%.9g", (double)values.float32[index]);
        break;
    case FIRN_PARQUET_DOUBLE:
        snprintf(text, sizeof text, "%.17g", values.float64[index]);
        break;
    case FIRN_PARQUET_BYTE_ARRAY:
        CHECK_OK(op, firn_buffer_append(op, out, values.slice[index].data, values.slice[index].len));
        return;
    default:
        CHECK_OK(op, firn_buffer_append(op, out, "0x", 2));
        for (uint32_t i = 0; i < vector->type_length; i++) {
            snprintf(text, sizeof text, "%02x", values.fixed[index * vector->type_length + i]);
            CHECK_OK(op, firn_buffer_append(op, out, text, 2));
        }
        return;
    }
    CHECK_OK(op, firn_buffer_append(op, out, text, strlen(text)));
}

static inline void fixture_print_vector(struct firn_op *op, struct firn_buffer *out, const struct firn_vector *vector)
{
    size_t value = 0;
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        uint8_t def = vector->def ? vector->def[i] : vector->def_max;
        char text[16];
        CHECK_OK(op, firn_buffer_append(op, out, " ", out->len > 0));
        if (vector->rep_max > 0)
            snprintf(text, sizeof text, "%d.%d%s", vector->rep[i], def, def == vector->def_max ? "=" : "");
        else if (def + 1 == vector->def_max)
            snprintf(text, sizeof text, "~");
        else
            snprintf(text, sizeof text, "~.%d", def);
        if (vector->rep_max > 0 || def < vector->def_max)
            CHECK_OK(op, firn_buffer_append(op, out, text, strlen(text)));
        if (def == vector->def_max)
            fixture_print_value(op, out, vector, value++);
    }
}

static inline struct firn_footer *fixture_footer(struct firn_op *op, struct firn_buffer *file)
{
    struct firn_footer *footer;
    uint32_t len;
    CHECK_OK(op, firn_footer_tail_parse(op, (struct firn_bytes){ file->data + file->len - 8, 8 }, file->len, &len));
    CHECK_OK(op,
             firn_footer_parse(op, (struct firn_bytes){ file->data + file->len - 8 - len, len }, file->len, &footer));
    return footer;
}

/* Appends to `file` one of a single chunk, which goes. Gives its footer. */
static inline struct firn_footer *fixture_print(struct firn_op *op, const struct firn_footer *schema,
                                                struct firn_encoded_chunk *chunk, int64_t rows,
                                                struct firn_buffer *file)
{
    struct firn_sink sink = firn_sink_to_buffer(file);
    struct firn_parquet_writer *writer;
    struct firn_footer *footer;
    CHECK_OK(op, firn_parquet_writer_open(op, schema, &sink, &writer));
    CHECK_OK(op, firn_parquet_writer_add(op, writer, chunk, rows));
    CHECK_OK(op, firn_parquet_writer_finish(op, writer, &footer));
    firn_parquet_writer_close(writer);
    firn_encoded_chunk_done(chunk);
    return footer;
}

/* Puts a footer in the place of the one that the file has. */
static inline void fixture_set_footer(struct firn_op *op, struct firn_buffer *file, const struct firn_footer *footer)
{
    struct firn_sink sink = firn_sink_to_buffer(file);
    file->len -= FIRN_PARQUET_TAIL_BYTES + firn_load_le32(file->data + file->len - FIRN_PARQUET_TAIL_BYTES);
    CHECK_OK(op, firn_footer_write(op, footer, &sink));
}

/* The slots of one leaf over all row groups of all files given. */
static inline const char *fixture_dump(struct firn_op *op, struct firn_store *store,
                                       const struct firn_rewrite_result *result, const char *leaf_path)
{
    struct firn_buffer text = { 0 };
    for (uint32_t f = 0; f < result->file_count; f++) {
        struct firn_buffer file = { 0 };
        CHECK_OK(op, firn_store_read(op, store, result->files[f].path, UINT64_MAX, &file));
        struct firn_footer *footer = fixture_footer(op, &file);
        uint32_t leaf = 0;
        while (leaf < footer->leaf_count && !firn_text_is(footer->leaves[leaf]->path, leaf_path))
            leaf++;
        CHECK(leaf < footer->leaf_count, "no leaf '%s'", leaf_path);
        for (uint32_t g = 0; g < footer->row_group_count; g++) {
            struct firn_chunk_reader *reader;
            struct firn_vector vector;
            uint64_t offset, len;
            bool has_page;
            struct firn_row_group *group = &footer->row_groups[g];
            firn_column_chunk_range(&group->chunks[leaf], &offset, &len);
            CHECK_OK(op, firn_chunk_reader_open(op, footer->leaves[leaf], &group->chunks[leaf], group->row_count,
                                                (struct firn_bytes){ file.data + offset, len },
                                                (struct firn_chunk_reader_options){ .crc_check = true }, &reader));
            for (;;) {
                CHECK_OK(op, firn_chunk_reader_next(op, reader, &vector, &has_page));
                if (!has_page)
                    break;
                fixture_print_vector(op, &text, &vector);
            }
            firn_chunk_reader_close(reader);
        }
        firn_buffer_done(&file);
    }
    struct firn_text copy = firn_text_copy(op->arena, firn_text_of_bytes(firn_buffer_bytes(&text)));
    firn_buffer_done(&text);
    return copy.data;
}

/* Metadata of a table at mem:/t. The last schema is the current one; ids are as in the texts. */
struct fixture_table {
    int version;
    const char *schemas; /* JSON objects, comma-separated */
    int current_schema;
    const char *specs;      /* JSON objects, comma-separated; NULL: unpartitioned, id 0 */
    const char *properties; /* members of the object; NULL: none */
    const char *sort_order; /* JSON object, id 1; NULL: unsorted */
};

static inline struct firn_metadata *fixture_metadata(struct firn_op *op, const struct fixture_table *table)
{
    struct firn_metadata *metadata;
    struct firn_text json = firn_text_format(
        op->arena,
        "{\"format-version\":%d,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"mem:/t\","
        "\"last-sequence-number\":9,\"last-updated-ms\":1,\"last-column-id\":100,\"schemas\":[%s],"
        "\"current-schema-id\":%d,\"partition-specs\":[%s],\"default-spec-id\":0,\"last-partition-id\":1010,"
        "\"sort-orders\":[%s],\"default-sort-order-id\":%d,\"properties\":{%s},"
        "\"snapshots\":[],\"next-row-id\":1000}",
        table->version, table->schemas, table->current_schema,
        table->specs ? table->specs : "{\"spec-id\":0,\"fields\":[]}",
        table->sort_order ? table->sort_order : "{\"order-id\":0,\"fields\":[]}", table->sort_order != NULL,
        table->properties ? table->properties : "");
    CHECK_OK(op, firn_metadata_parse(op, json, &metadata));
    return metadata;
}

/* A data file as a manifest would record it. */
static inline struct firn_data_file fixture_file(const char *path, int64_t file_bytes, int64_t record_count)
{
    return (struct firn_data_file){
        .path = firn_text_of(path),
        .format = FIRN_FILE_PARQUET,
        .format_text = FIRN_TEXT("PARQUET"),
        .file_bytes = file_bytes,
        .record_count = record_count,
        .sort_order_id = 0,
        .first_row_id = FIRN_ABSENT,
        .content_offset = FIRN_ABSENT,
        .content_bytes = FIRN_ABSENT,
    };
}

/* Executes a group whose inputs are all in one bin, whole, unless bins are given. */
struct fixture_run {
    const struct firn_metadata *metadata;
    struct firn_store *store;
    struct firn_pool *pool;
    const struct firn_data_file *files;
    uint32_t file_count;
    const struct firn_rewrite_bin *bins;
    uint32_t bin_count;
    int32_t output_spec_id;
    uint64_t file_bytes_max;
    uint64_t memory_bytes_max;
    const int64_t *sequence_numbers;
    const struct firn_delete_match *deletes; /* of each file */
    uint64_t row_map_bytes_max;
    bool counts_only;
    struct firn_layout_policy layout;
    const struct firn_ordering *ordering;
};

static inline firn_status fixture_execute(struct firn_op *op, const struct fixture_run *run,
                                          struct firn_rewrite_result *out)
{
    struct firn_rewrite_piece *pieces = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_piece, run->file_count);
    for (uint32_t i = 0; i < run->file_count; i++)
        pieces[i] = (struct firn_rewrite_piece){ i, 0, (uint64_t)run->files[i].file_bytes };
    struct firn_rewrite_bin whole = { .pieces = pieces, .piece_count = run->file_count };
    struct firn_rewrite_group group = {
        .index = 3,
        .inputs = run->files,
        .input_sequence_numbers = run->sequence_numbers,
        .input_deletes = run->deletes,
        .input_count = run->file_count,
        .bins = run->bins ? run->bins : &whole,
        .bin_count = run->bins ? run->bin_count : 1,
        .output_spec_id = run->output_spec_id,
        .ordering = run->ordering,
        .file_bytes_max = run->file_bytes_max ? run->file_bytes_max : UINT64_C(1) << 30,
    };
    struct firn_rewrite_context context = {
        .metadata = run->metadata,
        .store = run->store,
        .pool = run->pool,
        .operation = firn_uuid_random(op),
        .verify = run->counts_only ? FIRN_VERIFY_COUNTS : FIRN_VERIFY_FULL,
        .layout = run->layout,
        .row_map_bytes_max = run->row_map_bytes_max,
        .memory_bytes_max = run->memory_bytes_max ? run->memory_bytes_max : UINT64_C(256) << 20,
    };
    return firn_rewrite_group_execute(op, &context, &group, out);
}

/* Rewrites files in so much memory, which is all given back. The files written are removed. */
static inline void fixture_execute_within_to(struct firn_op *op, struct fixture_run *run, size_t memory,
                                             uint32_t threads, struct firn_rewrite_result *out)
{
    struct firn_budget budget = { .limit_bytes = memory };
    int64_t rows = 0;
    for (uint32_t i = 0; i < run->file_count; i++)
        rows += run->files[i].record_count;
    CHECK_OK(op, firn_pool_open(op, threads, &run->pool));
    run->memory_bytes_max = memory;
    op->budget = &budget;
    firn_status status = fixture_execute(op, run, out);
    op->budget = NULL;
    CHECK(status == FIRN_OK, "%zu bytes, %u threads: %s", memory, threads, op->error.text);
    CHECK(out->rows_out == rows, "%" PRId64, out->rows_out);
    CHECK(atomic_load(&budget.used_bytes) == 0, "%zu bytes are still charged", atomic_load(&budget.used_bytes));
    firn_rewrite_result_discard(op, run->store, out);
    firn_pool_close(run->pool);
}

static inline void fixture_execute_within(struct firn_op *op, struct fixture_run *run, size_t memory, uint32_t threads)
{
    struct firn_rewrite_result result;
    fixture_execute_within_to(op, run, memory, threads, &result);
}

#endif
