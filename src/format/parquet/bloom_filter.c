/* Filling, folding and asking split-block Bloom filters. A block is eight words of 32 bits, of which a value sets one
 * bit each. The upper half of the hash picks the block by its share of the range, so neighbouring blocks of a filter
 * become one block of the filter of half the size. parquet-format, "Bloom Filter"; parquet.thrift, BloomFilterHeader.
 */
#include "format/parquet/bloom_filter.h"

#include "base/math.h"
#include "format/parquet/parse_internal.h"
#include "format/parquet/thrift_write.h"

#include <math.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { WORDS = 8, WORD_BITS = 32 };

static const uint32_t salts[WORDS] = { 0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                       0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31 };

static uint32_t bit_of(uint64_t hash, int word)
{
    return UINT32_C(1) << (((uint32_t)hash * salts[word]) >> 27);
}

static size_t block_offset(uint64_t hash, uint32_t block_count)
{
    return (size_t)(((hash >> 32) * block_count) >> 32) * FIRN_BLOOM_BLOCK_BYTES;
}

/* Reading -------------------------------------------------------------------------------------------------------- */

/* A union of which only the member 1, an empty struct, is known. */
static void take_choice(struct firn_parse *parse, const struct firn_thrift_field *field, const char *what)
{
    struct firn_thrift_field member = { 0 };
    firn_thrift_struct(&parse->in, field);
    while (firn_thrift_next(&parse->in, &member)) {
        if (member.id != 1)
            firn_parse_unknown(parse, what, member.id, 2);
        else
            firn_thrift_skip(&parse->in, &member);
    }
}

static int32_t take_header(struct firn_parse *parse)
{
    struct firn_thrift_field field = { 0 };
    uint64_t met = 0;
    int32_t bytes = 0;
    while (firn_thrift_next(&parse->in, &field)) {
        met |= firn_field_bit(&field);
        switch (field.id) {
        case 1:
            bytes = firn_thrift_i32(&parse->in, &field);
            break;
        case 2:
            take_choice(parse, &field, "bloom filter algorithm");
            break;
        case 3:
            take_choice(parse, &field, "bloom filter hash");
            break;
        case 4:
            take_choice(parse, &field, "bloom filter compression");
            break;
        default:
            firn_thrift_skip(&parse->in, &field);
        }
    }
    firn_parse_require(parse, met, FIRN_FIELD(1) | FIRN_FIELD(2) | FIRN_FIELD(3) | FIRN_FIELD(4),
                       "lacks a required field of BloomFilterHeader");
    return bytes;
}

firn_status firn_bloom_header_parse(struct firn_op *op, struct firn_bytes bytes, uint32_t *header_bytes,
                                    uint32_t *block_bytes)
{
    struct firn_parse parse = { .in = firn_cursor_of(bytes), .arena = op->arena };
    int32_t count = take_header(&parse);
    FIRN_TRY(firn_parse_finish(op, &parse, "bloom filter header"));
    if (count < FIRN_BLOOM_BLOCK_BYTES || count > FIRN_BLOOM_BYTES_MAX || count % FIRN_BLOOM_BLOCK_BYTES != 0)
        return firn_fail(op, FIRN_CORRUPT, "a bloom filter of %d bytes: not a number of blocks up to %d bytes", count,
                         FIRN_BLOOM_BYTES_MAX);
    *header_bytes = (uint32_t)firn_cursor_offset(&parse.in);
    *block_bytes = (uint32_t)count;
    return FIRN_OK;
}

firn_status firn_bloom_filter_parse(struct firn_op *op, struct firn_bytes bytes, struct firn_bloom_filter *out)
{
    uint32_t header_bytes, block_bytes;
    FIRN_TRY(firn_bloom_header_parse(op, bytes, &header_bytes, &block_bytes));
    if (bytes.len - header_bytes < block_bytes)
        return firn_fail(op, FIRN_CORRUPT, "a bloom filter of %u bytes ends after %zu", block_bytes,
                         bytes.len - header_bytes);
    *out = (struct firn_bloom_filter){ bytes.data + header_bytes, block_bytes / FIRN_BLOOM_BLOCK_BYTES };
    return FIRN_OK;
}

bool firn_bloom_filter_may_contain(const struct firn_bloom_filter *filter, uint64_t hash)
{
    const uint8_t *block = filter->blocks + block_offset(hash, filter->block_count);
    for (int word = 0; word < WORDS; word++)
        if (!(firn_load_le32(block + word * 4) & bit_of(hash, word)))
            return false;
    return true;
}

uint64_t firn_bloom_hash(struct firn_bytes plain)
{
    return XXH64(plain.data ? plain.data : (const uint8_t *)"", plain.len, 0);
}

uint64_t firn_bloom_hash_at(enum firn_parquet_type type, uint32_t type_length, union firn_values values, size_t index)
{
    uint8_t word[8];
    size_t width = firn_value_width(type, type_length);
    switch (type) {
    case FIRN_PARQUET_INT32:
    case FIRN_PARQUET_FLOAT:
        firn_store_le32(word, (uint32_t)values.int32[index]);
        return firn_bloom_hash((struct firn_bytes){ word, 4 });
    case FIRN_PARQUET_INT64:
    case FIRN_PARQUET_DOUBLE:
        firn_store_le64(word, (uint64_t)values.int64[index]);
        return firn_bloom_hash((struct firn_bytes){ word, 8 });
    case FIRN_PARQUET_BYTE_ARRAY:
        return firn_bloom_hash((struct firn_bytes){ values.slice[index].data, values.slice[index].len });
    default:
        return firn_bloom_hash((struct firn_bytes){ values.fixed + index * width, width });
    }
}

/* Writing -------------------------------------------------------------------------------------------------------- */

uint64_t firn_bloom_bytes_for(uint64_t distinct_count, double fpp)
{
    double bytes = -(double)distinct_count / log(1 - pow(fpp, 1.0 / WORDS));
    uint64_t out = FIRN_BLOOM_BLOCK_BYTES;
    while (out < FIRN_BLOOM_BYTES_MAX && (double)out < bytes)
        out *= 2;
    return out;
}

static void set_bits(struct firn_bloom_builder *builder, uint64_t hash)
{
    uint32_t block_count = (uint32_t)(builder->blocks.len / FIRN_BLOOM_BLOCK_BYTES);
    uint8_t *block = builder->blocks.data + block_offset(hash, block_count);
    for (int word = 0; word < WORDS; word++)
        firn_store_le32(block + word * 4, firn_load_le32(block + word * 4) | bit_of(hash, word));
}

/* From a list of hashes to blocks. */
static firn_status make_blocks(struct firn_op *op, struct firn_bloom_builder *builder, size_t bytes)
{
    const uint64_t *hashes = (const uint64_t *)(const void *)builder->hashes.data;
    FIRN_TRY(firn_buffer_resize(op, &builder->blocks, bytes));
    memset(builder->blocks.data, 0, bytes);
    for (size_t i = 0; i < builder->hashes.len / sizeof *hashes; i++)
        set_bits(builder, hashes[i]);
    firn_buffer_done(&builder->hashes);
    return FIRN_OK;
}

static firn_status add_hash(struct firn_op *op, struct firn_bloom_builder *builder, uint64_t hash)
{
    bool is_begun = builder->hashes.len + builder->blocks.len > 0;
    if (is_begun && hash == builder->last)
        return FIRN_OK;
    builder->last = hash;
    if (builder->blocks.len == 0 && builder->hashes.len + sizeof hash > builder->bytes_max)
        FIRN_TRY(make_blocks(op, builder, builder->bytes_max));
    if (builder->blocks.len == 0)
        return firn_buffer_append(op, &builder->hashes, &hash, sizeof hash);
    set_bits(builder, hash);
    return FIRN_OK;
}

static bool is_zero_or_nan(enum firn_parquet_type type, union firn_values values, size_t index)
{
    if (type == FIRN_PARQUET_FLOAT)
        return values.float32[index] == 0 || isnan(values.float32[index]);
    return type == FIRN_PARQUET_DOUBLE && (values.float64[index] == 0 || isnan(values.float64[index]));
}

/* What is added beside a zero or NaN. */
static firn_status add_twins(struct firn_op *op, struct firn_bloom_builder *builder, enum firn_parquet_type type,
                             union firn_values values, size_t index)
{
    int32_t halves[] = { 0, INT32_MIN, 0x7fc00000 };
    int64_t wholes[] = { 0, INT64_MIN, INT64_C(0x7ff8000000000000) };
    bool is_float = type == FIRN_PARQUET_FLOAT;
    bool is_nan = is_float ? isnan(values.float32[index]) : isnan(values.float64[index]);
    union firn_values twins = { .any = is_float ? (void *)halves : (void *)wholes };
    for (size_t i = is_nan ? 2 : 0; i < (is_nan ? 3u : 2u); i++)
        FIRN_TRY(add_hash(op, builder, firn_bloom_hash_at(type, 0, twins, i)));
    return FIRN_OK;
}

firn_status firn_bloom_builder_add(struct firn_op *op, struct firn_bloom_builder *builder, enum firn_parquet_type type,
                                   uint32_t type_length, union firn_values values, size_t count)
{
    for (size_t i = 0; builder->bytes_max > 0 && i < count; i++) {
        FIRN_TRY(add_hash(op, builder, firn_bloom_hash_at(type, type_length, values, i)));
        if (is_zero_or_nan(type, values, i))
            FIRN_TRY(add_twins(op, builder, type, values, i));
    }
    return FIRN_OK;
}

/* The share of values that a block finds although they were never added, if it is made of `count` of its size. */
static double block_fpp(const uint8_t *blocks, size_t count)
{
    double fpp = 1;
    for (int word = 0; word < WORDS; word++) {
        uint32_t bits = 0;
        for (size_t i = 0; i < count; i++)
            bits |= firn_load_le32(blocks + i * FIRN_BLOOM_BLOCK_BYTES + word * 4);
        fpp *= (double)__builtin_popcount(bits) / WORD_BITS;
    }
    return fpp;
}

/* Whether half of the size would do. */
static bool can_fold(const struct firn_bloom_builder *builder)
{
    size_t block_count = builder->blocks.len / FIRN_BLOOM_BLOCK_BYTES;
    double sum = 0;
    for (size_t i = 0; i + 1 < block_count; i += 2)
        sum += block_fpp(builder->blocks.data + i * FIRN_BLOOM_BLOCK_BYTES, 2);
    return block_count > 1 && sum / (double)(block_count / 2) <= builder->fpp;
}

static void fold(struct firn_bloom_builder *builder)
{
    uint8_t *blocks = builder->blocks.data;
    builder->blocks.len /= 2;
    for (size_t at = 0; at < builder->blocks.len; at += FIRN_BLOOM_BLOCK_BYTES)
        for (size_t i = 0; i < FIRN_BLOOM_BLOCK_BYTES; i++)
            blocks[at + i] = blocks[2 * at + i] | blocks[2 * at + FIRN_BLOOM_BLOCK_BYTES + i];
}

static firn_status put_header(struct firn_op *op, int32_t block_bytes, struct firn_buffer *out)
{
    struct firn_thrift_writer header = firn_thrift_writer_of(op, out);
    firn_thrift_put_i32(&header, 1, block_bytes);
    for (int16_t choice = 2; choice <= 4; choice++) { /* BLOCK, XXHASH, UNCOMPRESSED */
        firn_thrift_begin_struct(&header, choice);
        firn_thrift_put_empty(&header, 1);
        firn_thrift_end_struct(&header);
    }
    return firn_thrift_finish(&header);
}

firn_status firn_bloom_builder_finish(struct firn_op *op, struct firn_bloom_builder *builder, struct firn_buffer *out)
{
    size_t hash_count = builder->hashes.len / sizeof(uint64_t);
    if (hash_count > 0)
        FIRN_TRY(
            make_blocks(op, builder, FIRN_MIN(firn_bloom_bytes_for(hash_count, builder->fpp), builder->bytes_max)));
    if (builder->blocks.len == 0)
        return FIRN_OK;
    while (can_fold(builder))
        fold(builder);
    FIRN_TRY(put_header(op, (int32_t)builder->blocks.len, out));
    return firn_buffer_append(op, out, builder->blocks.data, builder->blocks.len);
}

uint64_t firn_bloom_builder_memory(const struct firn_bloom_builder *builder)
{
    return builder->hashes.capacity + builder->blocks.capacity;
}

void firn_bloom_builder_done(struct firn_bloom_builder *builder)
{
    firn_buffer_done(&builder->hashes);
    firn_buffer_done(&builder->blocks);
}
