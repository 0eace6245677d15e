/* Row groups, files and their records. */
#include "rewrite/output.h"

#include "base/math.h"
#include "rewrite/output_metrics.h"
#include "rewrite/proof.h"
#include "table/location.h"

#include <assert.h>

void firn_output_files_discard(struct firn_op *op, const struct firn_group_run *run, struct firn_output_files *files)
{
    struct firn_text *locations = FIRN_NEW_ARRAY(op->arena, struct firn_text, files->done.count);
    for (size_t i = 0; i < files->done.count; i++)
        locations[i] = files->done.items[i].path;
    firn_store_discard(op, run->context->store, locations, (uint32_t)files->done.count);
    memset(files->sums_in, 0, run->schema.leaf_count * sizeof *files->sums_in);
    memset(files->sums_out, 0, run->schema.leaf_count * sizeof *files->sums_out);
    *files = (struct firn_output_files){
        .sequence = files->sequence,
        .sums_in = files->sums_in,
        .sums_out = files->sums_out,
    };
}

void firn_output_init(struct firn_op *op, struct firn_output *output, struct firn_group_run *run,
                      struct firn_output_files *files, const struct firn_partition *partition, uint32_t bin)
{
    uint32_t leaf_count = run->schema.leaf_count;
    *output = (struct firn_output){
        .run = run,
        .files = files,
        .partition = partition,
        .bin = bin,
        .writers = FIRN_NEW_ARRAY(op->arena, struct firn_chunk_writer *, leaf_count),
        .totals = FIRN_NEW_ARRAY(op->arena, struct firn_column_totals, leaf_count),
    };
    firn_arena_init(&output->file_arena);
}

firn_status firn_output_begin(struct firn_op *op, struct firn_output *output)
{
    struct firn_group_run *run = output->run;
    for (uint32_t i = 0; i < run->schema.leaf_count; i++) {
        struct firn_chunk_options options = run->options.leaves[i];
        options.codec_context = run->codec;
        if (!output->writers[i])
            FIRN_TRY(firn_chunk_writer_open(op, run->schema.leaves[i].node, &options, &output->writers[i]));
    }
    return FIRN_OK;
}

firn_status firn_output_append(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                               const struct firn_vector *vector)
{
    return firn_chunk_writer_append(op, output->writers[leaf_index], vector);
}

firn_status firn_output_adopt(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                              const struct firn_dictionary *dictionary)
{
    return firn_chunk_writer_adopt(op, output->writers[leaf_index], dictionary);
}

firn_status firn_output_splice(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                               const struct firn_page *page, const struct firn_page_facts *facts,
                               const struct firn_dictionary *dictionary, bool *taken)
{
    return firn_chunk_writer_splice(op, output->writers[leaf_index], page, facts, dictionary, taken);
}

firn_status firn_output_repack(struct firn_op *op, struct firn_output *output, uint32_t leaf_index,
                               const struct firn_packed_page *page, const struct firn_page_facts *facts,
                               const struct firn_dictionary *dictionary, bool *taken)
{
    return firn_chunk_writer_repack(op, output->writers[leaf_index], page, facts, dictionary, taken);
}

bool firn_output_is_empty(const struct firn_output *output, uint32_t leaf_index)
{
    return firn_chunk_writer_bytes(output->writers[leaf_index]) == 0;
}

bool firn_output_has_dictionary(const struct firn_output *output, uint32_t leaf_index)
{
    return firn_chunk_writer_has_dictionary(output->writers[leaf_index]);
}

uint32_t firn_output_number(struct firn_output *output)
{
    if (output->file_rows + output->row_group_rows == 0)
        output->number = firn_row_mapper_output(output->run->row_mapper);
    return output->number;
}

uint64_t firn_output_row_group_bytes(const struct firn_output *output)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < output->run->schema.leaf_count; i++)
        if (output->writers[i])
            bytes += firn_chunk_writer_bytes(output->writers[i]);
    return bytes;
}

uint64_t firn_output_memory(const struct firn_output *output)
{
    uint64_t bytes = output->sealed.memory;
    for (uint32_t i = 0; i < output->run->schema.leaf_count; i++)
        if (output->writers[i])
            bytes += firn_chunk_writer_memory(output->writers[i]);
    return bytes;
}

bool firn_output_is_crowded(const struct firn_output *output)
{
    return output->writer && firn_parquet_writer_memory(output->writer) > output->run->metadata_bytes;
}

uint64_t firn_output_file_bytes(const struct firn_output *output)
{
    return output->file_bytes;
}

static void close_writers(struct firn_output *output)
{
    for (uint32_t i = 0; i < output->run->schema.leaf_count; i++) {
        firn_chunk_writer_close(output->writers[i]);
        output->writers[i] = NULL;
    }
    output->row_group_rows = 0;
}

/* Opens the next file of the partition. */
static firn_status open_file(struct firn_op *op, struct firn_output *output)
{
    struct firn_group_run *run = output->run;
    struct firn_arena *arena = &output->file_arena;
    const struct firn_rewrite_context *context = run->context;
    struct firn_text name = firn_data_file_name(arena, run->group->index, output->bin, context->operation,
                                                ++output->files->sequence, run->file_ending);
    struct firn_text path = firn_partition_path(arena, run->spec, run->partition_types, output->partition);
    output->location = firn_data_location(arena, context->metadata, path, name);
    FIRN_TRY(firn_store_write(op, context->store, output->location, true, &output->store_writer));
    return firn_parquet_writer_open(op, run->schema.footer, firn_store_writer_sink(output->store_writer),
                                    &output->writer);
}

struct finishing {
    struct firn_output *output;
    struct firn_encoded_chunk *chunks;
};

static firn_status finish_chunk(struct firn_op *op, void *context, size_t index)
{
    struct finishing *finishing = context;
    struct firn_chunk_writer **writer = &finishing->output->writers[index];
    firn_status status = firn_chunk_writer_finish(op, *writer, &finishing->chunks[index]);
    firn_chunk_writer_close(*writer); /* its scratch goes before the next column needs some */
    *writer = NULL;
    return status;
}

/* How many columns are finished side by side: a dictionary is printed, compressed and put in front of its pages. */
static uint32_t finish_width(const struct firn_output *output)
{
    enum { DICTIONARY_COPIES = 3 };
    uint64_t most = output->run->encoder_bytes, used = firn_output_memory(output), largest = 1;
    for (uint32_t i = 0; i < output->run->schema.leaf_count; i++)
        largest = FIRN_MAX(largest, DICTIONARY_COPIES * firn_chunk_writer_dictionary_bytes(output->writers[i]));
    return used < most ? (uint32_t)FIRN_MAX(FIRN_MIN((most - used) / largest, UINT32_MAX), 1) : 1;
}

static firn_status finish_chunks(struct firn_op *op, struct firn_output *output)
{
    struct firn_group_run *run = output->run;
    struct firn_encoded_chunk *chunks = output->sealed.chunks;
    struct finishing finishing = { .output = output, .chunks = chunks };
    FIRN_TRY(
        firn_pool_run(op, run->context->pool, run->schema.leaf_count, finish_width(output), finish_chunk, &finishing));
    for (uint32_t i = 0; i < run->schema.leaf_count; i++) {
        FIRN_TRY(firn_column_totals_add(op, &output->totals[i], &run->schema.leaves[i], &chunks[i]));
        output->file_bytes += (uint64_t)chunks[i].metadata.compressed_bytes + chunks[i].bloom_filter.len;
        output->sealed.memory +=
            chunks[i].bytes.capacity + chunks[i].bloom_filter.capacity + chunks[i].arena.used_bytes;
    }
    return FIRN_OK;
}

void firn_output_unseal(struct firn_output *output)
{
    struct firn_sealed_row_group *sealed = &output->sealed;
    for (uint32_t i = 0; sealed->chunks && i < output->run->schema.leaf_count; i++)
        firn_encoded_chunk_done(&sealed->chunks[i]);
    firn_arena_done(&sealed->arena);
    *sealed = (struct firn_sealed_row_group){ 0 };
}

firn_status firn_output_seal(struct firn_op *op, struct firn_output *output)
{
    struct firn_sealed_row_group *sealed = &output->sealed;
    struct firn_arena *results = op->arena;
    if (output->row_group_rows == 0)
        return FIRN_OK;
    assert(!firn_output_is_sealed(output));
    firn_arena_init(&sealed->arena);
    op->arena = &sealed->arena; /* of a file there may be very many row groups */
    sealed->chunks = FIRN_NEW_ARRAY(op->arena, struct firn_encoded_chunk, output->run->schema.leaf_count);
    sealed->row_count = output->row_group_rows;
    firn_status status = finish_chunks(op, output);
    op->arena = results;
    output->file_rows += output->row_group_rows;
    close_writers(output);
    return status;
}

static firn_status write_sealed(struct firn_op *op, struct firn_output *output)
{
    if (!output->writer)
        FIRN_TRY(open_file(op, output));
    return firn_parquet_writer_add(op, output->writer, output->sealed.chunks, output->sealed.row_count);
}

firn_status firn_output_write(struct firn_op *op, struct firn_output *output)
{
    struct firn_arena *results = op->arena;
    op->arena = &output->sealed.arena;
    firn_status status = write_sealed(op, output);
    op->arena = results;
    return status;
}

static firn_status write_and_unseal(struct firn_op *op, struct firn_output *output)
{
    if (!firn_output_is_sealed(output))
        return FIRN_OK;
    FIRN_TRY(firn_output_write(op, output));
    firn_output_unseal(output);
    return FIRN_OK;
}

firn_status firn_output_flush(struct firn_op *op, struct firn_output *output)
{
    FIRN_TRY(write_and_unseal(op, output));
    FIRN_TRY(firn_output_seal(op, output));
    return write_and_unseal(op, output);
}

static void list_split_offsets(struct firn_op *op, const struct firn_footer *footer, struct firn_data_file *file)
{
    file->split_offset_count = footer->row_group_count;
    file->split_offsets = FIRN_NEW_ARRAY(op->arena, int64_t, footer->row_group_count);
    for (uint32_t i = 0; i < footer->row_group_count; i++) {
        uint64_t start, len;
        firn_column_chunk_range(&footer->row_groups[i].chunks[0], &start, &len);
        file->split_offsets[i] = (int64_t)start;
    }
}

static firn_status describe_file(struct firn_op *op, const struct firn_output *output, const struct firn_footer *footer,
                                 uint64_t file_bytes, struct firn_data_file *file)
{
    *file = (struct firn_data_file){
        .content = FIRN_CONTENT_DATA,
        .path = firn_text_copy(op->arena, output->location),
        .format = FIRN_FILE_PARQUET,
        .format_text = FIRN_TEXT("PARQUET"),
        .spec_id = output->run->spec->id,
        .partition = *output->partition,
        .record_count = footer->row_count,
        .file_bytes = (int64_t)file_bytes,
        .sort_order_id = output->run->group->ordering ? output->run->group->ordering->sort_order_id : 0,
        .first_row_id = FIRN_ABSENT,
        .content_offset = FIRN_ABSENT,
        .content_bytes = FIRN_ABSENT,
    };
    list_split_offsets(op, footer, file);
    return firn_column_totals_fill(op, output->run, output->totals, file);
}

/* Makes the file visible. Once it may exist it is listed, so that a failure removes it. */
static firn_status publish(struct firn_op *op, struct firn_output *output, const struct firn_footer *footer)
{
    struct firn_data_file file;
    FIRN_TRY(describe_file(op, output, footer, firn_store_writer_sink(output->store_writer)->offset, &file));
    struct firn_store_writer *store_writer = output->store_writer;
    output->store_writer = NULL;
    firn_status status = firn_store_writer_finish(op, store_writer);
    if (status == FIRN_EXISTS)
        return status;
    FIRN_PUSH(op->arena, &output->files->done, file);
    FIRN_PUSH(op->arena, &output->files->numbers, output->number);
    return status;
}

static firn_status finish_file(struct firn_op *op, struct firn_output *output, struct firn_arena *results)
{
    struct firn_output_files *files = output->files;
    struct firn_arena *scratch = op->arena;
    struct firn_footer *footer;
    FIRN_TRY(firn_parquet_writer_finish(op, output->writer, &footer));
    uint64_t file_bytes = firn_store_writer_sink(output->store_writer)->offset;
    op->arena = results;
    firn_status status = publish(op, output, footer);
    op->arena = scratch;
    FIRN_TRY(status);
    FIRN_TRY(firn_proof_file(op, output->run, output->location, footer, file_bytes, files->sums_out));
    if (footer->row_count != output->file_rows)
        return firn_fail(op, FIRN_VERIFY, "written file %.*s holds %" PRId64 " rows instead of %" PRId64,
                         FIRN_FMT(output->location), footer->row_count, output->file_rows);
    files->rows += footer->row_count;
    files->bytes += file_bytes;
    return FIRN_OK;
}

static void forget_file(struct firn_output *output)
{
    firn_parquet_writer_close(output->writer);
    firn_store_writer_close(output->store_writer);
    output->writer = NULL;
    output->store_writer = NULL;
    output->file_rows = 0;
    output->file_bytes = 0;
    for (uint32_t i = 0; i < output->run->schema.leaf_count; i++)
        firn_column_totals_clear(&output->totals[i]);
    firn_arena_done(&output->file_arena);
}

firn_status firn_output_finish(struct firn_op *op, struct firn_output *output)
{
    struct firn_scratch scratch;
    FIRN_TRY(firn_output_flush(op, output));
    if (!output->writer)
        return FIRN_OK;
    firn_scratch_begin(op, &scratch); /* footers of many files must not pile up */
    firn_status status = finish_file(op, output, scratch.results);
    firn_scratch_end(op, &scratch);
    forget_file(output);
    return status;
}

void firn_output_close(struct firn_output *output)
{
    close_writers(output);
    firn_output_unseal(output);
    forget_file(output);
}
