/* write.parquet.* and write.delete.parquet.* properties to chunk options. */
#include "rewrite/write_options.h"

#include "base/math.h"
#include "format/parquet/bloom_filter.h"

/* Where a property is looked for, first to last. */
struct settings {
    const struct firn_metadata *metadata;
    enum firn_write_kind kind;
};

/* The full key under which a setting stands, or would stand in the properties of data files. */
static struct firn_text find_key(struct firn_op *op, const struct settings *settings, const char *name)
{
    struct firn_text key = firn_text_format(op->arena, "write.delete.parquet.%s", name);
    if (settings->kind == FIRN_WRITE_DELETES && firn_property_text(settings->metadata, key.data, FIRN_TEXT("")).len > 0)
        return key;
    return firn_text_format(op->arena, "write.parquet.%s", name);
}

static firn_status find_size(struct firn_op *op, const struct settings *settings, const char *name, int64_t most,
                             int64_t *inout)
{
    struct firn_text key = find_key(op, settings, name);
    FIRN_TRY(firn_property_i64(op, settings->metadata, key.data, *inout, inout));
    if (*inout < 1 || *inout > most)
        return firn_fail(op, FIRN_USAGE, "table property %s is %" PRId64 ", it must be 1 to %" PRId64, key.data, *inout,
                         most);
    return FIRN_OK;
}

static firn_status find_size32(struct firn_op *op, const struct settings *settings, const char *name, int32_t *inout)
{
    int64_t value = *inout;
    FIRN_TRY(find_size(op, settings, name, INT32_MAX, &value));
    *inout = (int32_t)value;
    return FIRN_OK;
}

static firn_status find_codec(struct firn_op *op, const struct settings *settings, struct firn_chunk_options *out)
{
    struct firn_text key = find_key(op, settings, "compression-codec");
    struct firn_text name = firn_property_text(settings->metadata, key.data, firn_text_of(firn_codec_name(out->codec)));
    if (!firn_codec_of_name(name, &out->codec))
        return firn_fail(op, FIRN_USAGE, "table property %s is '%.*s', no known codec", key.data, FIRN_FMT(name));
    int64_t level = out->codec_level;
    key = find_key(op, settings, "compression-level");
    FIRN_TRY(firn_property_i64(op, settings->metadata, key.data, level, &level));
    out->codec_level = level < INT32_MIN || level > INT32_MAX ? FIRN_CODEC_LEVEL_DEFAULT : (int32_t)level;
    return FIRN_OK;
}

static firn_status find_page_version(struct firn_op *op, const struct settings *settings, bool *page_v2)
{
    struct firn_text key = find_key(op, settings, "page-version");
    struct firn_text version = firn_property_text(settings->metadata, key.data, FIRN_TEXT("v1"));
    *page_v2 = firn_text_same_nocase(version, FIRN_TEXT("v2"));
    if (*page_v2 || firn_text_same_nocase(version, FIRN_TEXT("v1")))
        return FIRN_OK;
    return firn_fail(op, FIRN_USAGE, "table property %s is '%.*s', neither v1 nor v2", key.data, FIRN_FMT(version));
}

static bool column_property(struct firn_op *op, const struct settings *settings, const char *prefix,
                            struct firn_text column)
{
    if (settings->kind == FIRN_WRITE_DELETES)
        return true;
    struct firn_text key = firn_text_format(op->arena, "%s%.*s", prefix, FIRN_FMT(column));
    return firn_property_bool(settings->metadata, key.data, true);
}

/* What the table says of all bloom filters. */
#define BLOOM_BYTES "bloom-filter-max-bytes"
#define BLOOM_FPP   0.01

static struct firn_text column_text(struct firn_op *op, const struct settings *settings, const char *name,
                                    struct firn_text column)
{
    struct firn_text key = firn_text_format(op->arena, "write.parquet.%s.column.%.*s", name, FIRN_FMT(column));
    return firn_property_text(settings->metadata, key.data, (struct firn_text){ 0 });
}

static firn_status find_bloom_filter(struct firn_op *op, const struct settings *settings, struct firn_text column,
                                     struct firn_chunk_options *out)
{
    int64_t bytes = 1 << 20, ndv = 0;
    if (!firn_text_to_bool(column_text(op, settings, "bloom-filter-enabled", column)))
        return FIRN_OK;
    FIRN_TRY(find_size(op, settings, BLOOM_BYTES, INT32_MAX, &bytes));
    struct firn_text fpp = column_text(op, settings, "bloom-filter-fpp", column);
    struct firn_text count = column_text(op, settings, "bloom-filter-ndv", column);
    out->bloom_fpp = BLOOM_FPP;
    if (fpp.data && (!firn_text_to_f64(fpp, &out->bloom_fpp) || out->bloom_fpp <= 0 || out->bloom_fpp >= 1))
        return firn_fail(op, FIRN_USAGE,
                         "table property write.parquet.bloom-filter-fpp.column.%.*s is '%.*s', it must "
                         "lie between 0 and 1",
                         FIRN_FMT(column), FIRN_FMT(fpp));
    if (count.data && (!firn_text_to_i64(count, &ndv) || ndv < 1))
        return firn_fail(op, FIRN_USAGE,
                         "table property write.parquet.bloom-filter-ndv.column.%.*s is '%.*s', it must "
                         "be a number from 1 on",
                         FIRN_FMT(column), FIRN_FMT(count));
    if (count.data)
        bytes = FIRN_MIN(bytes, (int64_t)firn_bloom_bytes_for((uint64_t)ndv, out->bloom_fpp));
    out->bloom_bytes_max = FIRN_BLOOM_BLOCK_BYTES;
    while (out->bloom_bytes_max < FIRN_BLOOM_BYTES_MAX && 2 * (int64_t)out->bloom_bytes_max <= bytes)
        out->bloom_bytes_max *= 2;
    return FIRN_OK;
}

firn_status firn_write_options_new(struct firn_op *op, const struct firn_metadata *metadata, enum firn_write_kind kind,
                                   const struct firn_output_schema *schema, struct firn_write_options *out)
{
    const struct settings settings = { metadata, kind };
    struct firn_chunk_options common = firn_chunk_options_default();
    int64_t row_group_bytes = INT64_C(128) << 20;
    FIRN_TRY(find_size(op, &settings, "row-group-size-bytes", INT64_MAX, &row_group_bytes));
    FIRN_TRY(find_size32(op, &settings, "page-size-bytes", &common.page_bytes_max));
    FIRN_TRY(find_size32(op, &settings, "page-row-limit", &common.page_rows_max));
    FIRN_TRY(find_size32(op, &settings, "dict-size-bytes", &common.dictionary_bytes_max));
    FIRN_TRY(find_codec(op, &settings, &common));
    FIRN_TRY(find_page_version(op, &settings, &common.page_v2));

    out->row_group_bytes = (uint64_t)row_group_bytes;
    out->leaves = FIRN_NEW_ARRAY(op->arena, struct firn_chunk_options, schema->leaf_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        const struct firn_output_leaf *leaf = &schema->leaves[i];
        out->leaves[i] = common;
        out->leaves[i].delta = leaf->role == FIRN_LEAF_ROW_ID; /* ids follow each other: a few bytes a page */
        out->leaves[i].dictionary =
            !out->leaves[i].delta &&
            column_property(op, &settings, "write.parquet.dict-encoding-enabled.column.", leaf->name);
        out->leaves[i].statistics =
            !leaf->in_variant && column_property(op, &settings, "write.parquet.stats-enabled.column.", leaf->name);
        if (kind == FIRN_WRITE_DATA && leaf->role == FIRN_LEAF_COLUMN && !leaf->in_variant)
            FIRN_TRY(find_bloom_filter(op, &settings, leaf->name, &out->leaves[i]));
    }
    return FIRN_OK;
}
