/* Advice on compression: what the newest data files are compressed with, as their footers tell, else what the table's
 * properties say. */
#include "base/math.h"
#include "maintain/advise.h"
#include "table/parquet_footer.h"
#include "table/scan.h"

/* Of the newest manifest with so many live data files, the largest are looked at. */
enum { SAMPLED_FILES = 3 };

#define TOPIC    "codec"
#define PROPERTY "write.parquet.compression-codec"

/* Looking ---------------------------------------------------------------------------------------------------------- */

struct largest {
    struct firn_arena *arena; /* of the paths */
    struct firn_text paths[SAMPLED_FILES];
    int64_t bytes[SAMPLED_FILES];
    size_t count;
};

static void offer(struct largest *largest, const struct firn_data_file *file)
{
    size_t at = largest->count;
    if (file->content != FIRN_CONTENT_DATA || file->format != FIRN_FILE_PARQUET || file->key_metadata.data)
        return;
    while (at > 0 && largest->bytes[at - 1] < file->file_bytes)
        at--;
    if (at == SAMPLED_FILES)
        return;
    largest->count = FIRN_MIN(largest->count + 1, (size_t)SAMPLED_FILES);
    for (size_t i = largest->count - 1; i > at; i--) {
        largest->paths[i] = largest->paths[i - 1];
        largest->bytes[i] = largest->bytes[i - 1];
    }
    largest->paths[at] = firn_text_copy(largest->arena, file->path);
    largest->bytes[at] = file->file_bytes;
}

static firn_status offer_all(struct firn_op *op, void *context, const struct firn_manifest *manifest)
{
    (void)op;
    for (uint32_t i = 0; i < manifest->count; i++)
        offer(context, &manifest->entries[i].file);
    return FIRN_OK;
}

/* The newest manifest that has data files; NULL: none. */
static const struct firn_manifest_file *newest_manifest(const struct firn_manifest_list *list)
{
    const struct firn_manifest_file *newest = NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct firn_manifest_file *row = &list->manifests[i];
        if (!row->is_deletes && firn_manifest_has_live(row) &&
            (!newest || row->sequence_number > newest->sequence_number))
            newest = row;
    }
    return newest;
}

static firn_status look_at_file(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                struct firn_codec_sample *out)
{
    struct firn_footer *footer;
    FIRN_TRY(firn_parquet_footer_load(op, store, path, &footer));
    for (uint32_t g = 0; g < footer->row_group_count; g++)
        for (uint32_t c = 0; c < footer->row_groups[g].chunk_count; c++) {
            const struct firn_column_chunk *chunk = &footer->row_groups[g].chunks[c];
            firn_survey_add(&out->codec_bytes[chunk->codec], chunk->compressed_bytes);
            firn_survey_add(&out->compressed_bytes, chunk->compressed_bytes);
            firn_survey_add(&out->uncompressed_bytes, chunk->uncompressed_bytes);
        }
    out->files++;
    return FIRN_OK;
}

static firn_status look(struct firn_op *op, const struct firn_table *table, struct firn_codec_sample *out)
{
    struct firn_manifest_list list;
    struct largest largest = { .arena = op->arena };
    struct firn_manifest_read_options options = { .skip_metrics = true, .skip_deleted = true };
    const struct firn_snapshot *snapshot = firn_metadata_current(table->metadata);
    if (!snapshot)
        return FIRN_OK;
    FIRN_TRY(firn_snapshot_manifests(op, table->store, table->metadata, snapshot, &list));
    const struct firn_manifest_file *newest = newest_manifest(&list);
    if (!newest)
        return FIRN_OK;
    FIRN_TRY(firn_manifest_look(op, table->store, table->metadata, newest, options, offer_all, &largest));
    for (size_t i = 0; i < largest.count; i++)
        FIRN_TRY(look_at_file(op, table->store, largest.paths[i], out));
    return FIRN_OK;
}

/* A file that cannot be read is verify's to tell: what was seen until then is what there is. */
firn_status firn_advise_sample_codecs(struct firn_op *op, const struct firn_table *table, struct firn_codec_sample *out)
{
    *out = (struct firn_codec_sample){ 0 };
    firn_status status = look(op, table, out);
    return status == FIRN_CANCELLED ? status : FIRN_OK;
}

/* Judging ---------------------------------------------------------------------------------------------------------- */

static const struct {
    enum firn_codec codec;
    const char *why;
} worse[] = {
    { FIRN_CODEC_GZIP, "zstd makes files as small, and is read several times as fast" },
    { FIRN_CODEC_SNAPPY, "zstd makes files smaller, which readers of object stores wait for" },
    { FIRN_CODEC_LZ4_HADOOP, "zstd makes files smaller, which readers of object stores wait for" },
    { FIRN_CODEC_LZ4_RAW, "zstd makes files smaller, which readers of object stores wait for" },
    { FIRN_CODEC_NONE, "readers wait for bytes more than for a codec" },
};

/* What speaks for zstd instead; NULL: nothing. */
static const char *why_not(enum firn_codec codec)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(worse); i++)
        if (worse[i].codec == codec)
            return worse[i].why;
    return NULL;
}

static enum firn_codec most_used(const struct firn_codec_sample *sample)
{
    enum firn_codec most = FIRN_CODEC_NONE;
    for (int codec = 0; codec < FIRN_CODEC_COUNT; codec++)
        if (sample->codec_bytes[codec] > sample->codec_bytes[most])
            most = (enum firn_codec)codec;
    return most;
}

/* "of 12.0 MiB in 3 of the newest files 98 % are snappy, 2.1 times smaller than plain" */
static struct firn_text sample_text(const struct firn_advising *run, const struct firn_codec_sample *sample)
{
    enum firn_codec codec = most_used(sample);
    double bytes = (double)FIRN_MAX(sample->compressed_bytes, 1);
    return firn_text_format(
        run->op->arena, "of %.*s in %d of the newest files %.0f %% are %s; all are %.1f times smaller than plain",
        FIRN_FMT(firn_advise_bytes(run, bytes)), sample->files, 100 * (double)sample->codec_bytes[codec] / bytes,
        firn_codec_name(codec), (double)sample->uncompressed_bytes / bytes);
}

static struct firn_text property_text(const struct firn_advising *run, struct firn_text property)
{
    if (property.len == 0)
        return FIRN_TEXT(PROPERTY " is not set: zstd, since Iceberg 1.4");
    return firn_text_format(run->op->arena, PROPERTY " is %.*s", FIRN_FMT(property));
}

void firn_advise_codec(struct firn_advising *run)
{
    struct firn_arena *arena = run->op->arena;
    const struct firn_metadata *metadata = run->survey->metadata;
    const struct firn_codec_sample *sample = run->codecs;
    struct firn_text format = firn_property_text(metadata, "write.format.default", FIRN_TEXT("parquet"));
    struct firn_text property = firn_property_text(metadata, PROPERTY, FIRN_TEXT(""));
    enum firn_codec codec = FIRN_CODEC_ZSTD;
    if (!firn_text_same_nocase(format, FIRN_TEXT("parquet")))
        return;
    bool is_named = property.len == 0 || firn_codec_of_name(property, &codec);
    bool is_zstd_set = property.len > 0 && is_named && codec == FIRN_CODEC_ZSTD;
    bool is_sampled = sample && sample->files > 0;
    struct firn_text why = property_text(run, property);
    if (is_sampled) {
        codec = most_used(sample);
        why = firn_text_format(arena, "%.*s; %.*s", FIRN_FMT(sample_text(run, sample)), FIRN_FMT(why));
    }
    if (!why_not(codec) || !is_named) {
        firn_advise_add(run, TOPIC, FIRN_ADVICE_FINE, FIRN_TEXT("new files are as small as they need be"), why);
        return;
    }
    why = firn_text_format(arena, "%.*s; %s", FIRN_FMT(why), why_not(codec));
    struct firn_advice *advice =
        firn_advise_add(run, TOPIC, FIRN_ADVICE_CHANGE, FIRN_TEXT("write new files as zstd"), why);
    if (is_zstd_set) /* which the writer does not go by */
        firn_advise_set(advice, "Spark SQL", FIRN_TEXT("SET spark.sql.iceberg.compression-codec = zstd"));
    else
        firn_advise_set_properties(run, advice, &(struct firn_property){ FIRN_TEXT(PROPERTY), FIRN_TEXT("zstd") }, 1);
}
