/* What a finished chunk says of itself: metadata, page indexes, metrics. parquet.thrift, ColumnMetaData;
 * parquet-format, "Page Index". */
#include "format/parquet/chunk_writer.h"

#include "base/math.h"

enum { STATISTICS_BYTES_MAX = 4096 }; /* both bounds of a chunk together, as parquet-java limits them */

/* What is not known of one page is told of none. */
static bool knows_unencoded_bytes(const struct firn_chunk_writer *writer)
{
    for (size_t i = 0; i < writer->records.count; i++)
        if (writer->records.items[i].unencoded_bytes < 0)
            return false;
    return writer->leaf->type == FIRN_PARQUET_BYTE_ARRAY;
}

/* Counts a histogram of repetition levels has; 0: there is none, or not of every page. */
static uint32_t rep_histogram_count(const struct firn_chunk_writer *writer)
{
    for (size_t i = 0; i < writer->records.count; i++)
        if (!writer->records.items[i].rep_histogram)
            return 0;
    return firn_rep_histogram_count(writer->leaf);
}

static uint32_t def_histogram_count(const struct firn_chunk_writer *writer)
{
    for (size_t i = 0; i < writer->records.count; i++)
        if (!writer->records.items[i].def_histogram)
            return 0;
    return firn_def_histogram_count(writer->leaf);
}

static void describe_offsets(struct firn_chunk_writer *writer, int64_t pages_offset, struct firn_offset_index *out)
{
    struct firn_arena *arena = &writer->results;
    bool has_unencoded = knows_unencoded_bytes(writer);
    int64_t row = 0;
    *out = (struct firn_offset_index){
        .pages = FIRN_NEW_ARRAY(arena, struct firn_page_location, writer->records.count),
        .page_count = (uint32_t)writer->records.count,
        .unencoded_bytes = has_unencoded ? FIRN_NEW_ARRAY(arena, int64_t, writer->records.count) : NULL,
    };
    for (size_t i = 0; i < writer->records.count; i++) {
        const struct firn_page_record *record = &writer->records.items[i];
        out->pages[i] = (struct firn_page_location){
            .offset = pages_offset + record->offset,
            .compressed_bytes = (int32_t)record->sizes.compressed_bytes,
            .first_row_index = row,
        };
        if (has_unencoded)
            out->unencoded_bytes[i] = record->unencoded_bytes;
        row += record->row_count;
    }
}

/* Whether bounds may be told at all. Engines that place NaN above every number, as Spark does, would take bounds
 * without it for a proof that there is none; parquet-java gives no bounds either then. */
static bool has_file_bounds(const struct firn_chunk_writer *writer)
{
    return writer->order != FIRN_ORDER_NONE && writer->options.statistics && writer->bounds.nan_count == 0;
}

/* Whether the bounds of each page lie on one side (`sign`) of those of the page before, or at them; pages of nulls
 * alone are passed over. */
static bool ordered(const struct firn_chunk_writer *writer, int sign)
{
    const struct firn_page_record *before = NULL;
    for (size_t i = 0; i < writer->records.count; i++) {
        const struct firn_page_record *record = &writer->records.items[i];
        if (!record->has_bounds)
            continue;
        if (before && (firn_order_compare(writer->order, record->min, before->min) * sign < 0 ||
                       firn_order_compare(writer->order, record->max, before->max) * sign < 0))
            return false;
        before = record;
    }
    return true;
}

static enum firn_boundary_order boundary_order(const struct firn_chunk_writer *writer)
{
    if (ordered(writer, 1))
        return FIRN_ASCENDING;
    return ordered(writer, -1) ? FIRN_DESCENDING : FIRN_UNORDERED;
}

static void describe_page(const struct firn_page_record *record, uint32_t page, struct firn_column_index *out)
{
    out->null_pages[page] = !record->has_bounds;
    out->min_values[page] = record->min;
    out->max_values[page] = record->max;
    out->null_counts[page] = record->slot_count - record->value_count;
    if (out->nan_counts)
        out->nan_counts[page] = record->nan_count;
    if (out->rep_histograms)
        memcpy(out->rep_histograms + (size_t)page * out->rep_level_count, record->rep_histogram,
               out->rep_level_count * sizeof(int64_t));
    if (out->def_histograms)
        memcpy(out->def_histograms + (size_t)page * out->def_level_count, record->def_histogram,
               out->def_level_count * sizeof(int64_t));
}

/* Room for `level_count` numbers a page, or NULL when there are none. */
static int64_t *new_histograms(struct firn_chunk_writer *writer, uint32_t level_count)
{
    return level_count ? FIRN_NEW_ARRAY(&writer->results, int64_t, writer->records.count * level_count) : NULL;
}

static void describe_bounds(struct firn_chunk_writer *writer, struct firn_column_index *out)
{
    struct firn_arena *arena = &writer->results;
    size_t count = writer->records.count;
    if (count == 0 || !has_file_bounds(writer))
        return;
    uint32_t rep_level_count = rep_histogram_count(writer);
    uint32_t def_level_count = def_histogram_count(writer);
    *out = (struct firn_column_index){
        .page_count = (uint32_t)count,
        .null_pages = FIRN_NEW_ARRAY(arena, bool, count),
        .min_values = FIRN_NEW_ARRAY(arena, struct firn_bytes, count),
        .max_values = FIRN_NEW_ARRAY(arena, struct firn_bytes, count),
        .boundary_order = boundary_order(writer),
        .null_counts = FIRN_NEW_ARRAY(arena, int64_t, count),
        .nan_counts = firn_order_has_nan(writer->order) ? FIRN_NEW_ARRAY(arena, int64_t, count) : NULL,
        .rep_histograms = new_histograms(writer, rep_level_count),
        .def_histograms = new_histograms(writer, def_level_count),
        .rep_level_count = rep_level_count,
        .def_level_count = def_level_count,
    };
    for (uint32_t i = 0; i < count; i++)
        describe_page(&writer->records.items[i], i, out);
}

static void describe_metrics(struct firn_chunk_writer *writer, struct firn_chunk_metrics *out)
{
    const struct firn_bounds *bounds = &writer->bounds;
    for (size_t i = 0; i < writer->records.count; i++) {
        out->value_count += writer->records.items[i].slot_count;
        out->null_count += writer->records.items[i].slot_count - writer->records.items[i].value_count;
    }
    out->nan_count = bounds->nan_count;
    out->has_bounds = bounds->found && writer->options.statistics;
    if (!out->has_bounds)
        return;
    out->min_exact = bounds->min_exact;
    out->max_exact = bounds->max_exact;
    out->min = firn_bytes_copy(&writer->results, firn_buffer_bytes(&bounds->min));
    out->max = firn_bytes_copy(&writer->results, firn_buffer_bytes(&bounds->max));
}

static void describe_statistics(struct firn_chunk_writer *writer, const struct firn_chunk_metrics *metrics,
                                struct firn_parquet_statistics *out)
{
    if (!writer->options.statistics)
        return;
    out->has_null_count = true;
    out->null_count = metrics->null_count;
    out->has_nan_count = firn_order_has_nan(writer->order);
    out->nan_count = metrics->nan_count;
    if (!metrics->has_bounds || !has_file_bounds(writer) || metrics->min.len + metrics->max.len >= STATISTICS_BYTES_MAX)
        return;
    out->min_value = firn_bound_lower(&writer->results, writer->leaf, metrics->min, SIZE_MAX);
    out->max_value = firn_bound_upper(&writer->results, writer->leaf, metrics->max, SIZE_MAX);
    /* Readers answer min() and max() by bounds said to be values: not by those that leave out NaN and widen zeros. */
    bool tells_exact = !firn_order_has_nan(writer->order);
    out->min_exact = tells_exact && metrics->min_exact;
    out->max_exact = tells_exact && metrics->max_exact;
    out->has_min_exact = tells_exact || !metrics->min_exact;
    out->has_max_exact = tells_exact || !metrics->max_exact;
}

static void add_histogram(int64_t *sum, const int64_t *histogram, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sum[i] += histogram[i];
}

static void describe_sizes(struct firn_chunk_writer *writer, struct firn_size_statistics *out)
{
    out->rep_histogram_count = rep_histogram_count(writer);
    out->def_histogram_count = def_histogram_count(writer);
    out->has_unencoded_bytes = knows_unencoded_bytes(writer);
    if (out->rep_histogram_count)
        out->rep_histogram = FIRN_NEW_ARRAY(&writer->results, int64_t, out->rep_histogram_count);
    if (out->def_histogram_count)
        out->def_histogram = FIRN_NEW_ARRAY(&writer->results, int64_t, out->def_histogram_count);
    for (size_t i = 0; i < writer->records.count; i++) {
        const struct firn_page_record *record = &writer->records.items[i];
        if (out->has_unencoded_bytes)
            out->unencoded_bytes += record->unencoded_bytes;
        add_histogram(out->rep_histogram, record->rep_histogram, out->rep_histogram_count);
        add_histogram(out->def_histogram, record->def_histogram, out->def_histogram_count);
    }
}

/* Counts the pages of each type and encoding, in an order that does not depend on the order of the pages. */
static void describe_kinds(struct firn_chunk_writer *writer, bool has_dictionary, struct firn_column_chunk *out)
{
    int32_t counts[FIRN_PAGE_DATA_V2 + 1][FIRN_ENCODING_COUNT] = { { 0 } };
    counts[FIRN_PAGE_DICTIONARY][FIRN_ENCODING_PLAIN] = has_dictionary;
    for (size_t i = 0; i < writer->records.count; i++)
        counts[writer->records.items[i].type][writer->records.items[i].encoding]++;
    out->encoding_stats =
        FIRN_NEW_ARRAY(&writer->results, struct firn_encoding_stats, sizeof counts / sizeof counts[0][0]);
    static const enum firn_page_type types[] = { FIRN_PAGE_DICTIONARY, FIRN_PAGE_DATA, FIRN_PAGE_DATA_V2 };
    for (size_t type = 0; type < FIRN_COUNT_OF(types); type++)
        for (int encoding = 0; encoding < FIRN_ENCODING_COUNT; encoding++)
            if (counts[types[type]][encoding] > 0)
                out->encoding_stats[out->encoding_stats_count++] = (struct firn_encoding_stats){
                    .page_type = types[type],
                    .encoding = (enum firn_encoding)encoding,
                    .count = counts[types[type]][encoding],
                };
}

/* The pages by kind, and the encodings they and their levels have. */
static void describe_encodings(struct firn_chunk_writer *writer, bool has_dictionary, struct firn_column_chunk *out)
{
    bool used[FIRN_ENCODING_COUNT] = { [FIRN_ENCODING_RLE] = true }; /* what page headers say of levels, even of none */
    describe_kinds(writer, has_dictionary, out);
    for (uint32_t i = 0; i < out->encoding_stats_count; i++)
        used[out->encoding_stats[i].encoding] = true;
    out->encodings = FIRN_NEW_ARRAY(&writer->results, enum firn_encoding, FIRN_ENCODING_COUNT);
    for (int encoding = 0; encoding < FIRN_ENCODING_COUNT; encoding++)
        if (used[encoding])
            out->encodings[out->encoding_count++] = (enum firn_encoding)encoding;
}

static void describe_chunk(struct firn_chunk_writer *writer, struct firn_page_sizes dictionary,
                           const struct firn_chunk_metrics *metrics, struct firn_column_chunk *out)
{
    *out = (struct firn_column_chunk){
        .type = writer->leaf->type,
        .codec = writer->options.codec,
        .path = writer->leaf->path,
        .value_count = metrics->value_count,
        .uncompressed_bytes = dictionary.uncompressed_bytes,
        .compressed_bytes = dictionary.compressed_bytes,
        .data_page_offset = dictionary.compressed_bytes,
    };
    for (size_t i = 0; i < writer->records.count; i++) {
        out->uncompressed_bytes += writer->records.items[i].sizes.uncompressed_bytes;
        out->compressed_bytes += writer->records.items[i].sizes.compressed_bytes;
    }
    describe_encodings(writer, dictionary.compressed_bytes > 0, out);
    describe_statistics(writer, metrics, &out->statistics);
    describe_sizes(writer, &out->sizes);
}

void firn_chunk_describe(struct firn_chunk_writer *writer, struct firn_page_sizes dictionary,
                         struct firn_encoded_chunk *out)
{
    for (size_t i = 0; i < writer->records.count; i++)
        out->row_count += writer->records.items[i].row_count;
    describe_metrics(writer, &out->metrics);
    describe_chunk(writer, dictionary, &out->metrics, &out->metadata);
    describe_offsets(writer, dictionary.compressed_bytes, &out->offset_index);
    describe_bounds(writer, &out->column_index);
}
