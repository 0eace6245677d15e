/* Reading Avro container files. Avro 1.12 specification, "Object Container Files". */
#include "format/avro/container.h"

#include "base/math.h"

#include <libdeflate.h>

/* Rows that take no bytes (records without fields) cost a reader time that nothing in the file pays for. */
enum { EMPTY_ROWS_MAX = 1 << 20, SNAPPY_CHECKSUM_BYTES = 4 };

static const uint8_t magic[] = { 'O', 'b', 'j', 1 };

static const struct {
    const char *name;
    enum firn_codec codec;
} codecs[] = {
    { "null", FIRN_CODEC_NONE },
    { "deflate", FIRN_CODEC_DEFLATE },
    { "snappy", FIRN_CODEC_SNAPPY },
    { "zstandard", FIRN_CODEC_ZSTD },
};

const char *firn_avro_codec_name(enum firn_codec codec)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(codecs); i++)
        if (codecs[i].codec == codec)
            return codecs[i].name;
    return "null";
}

static struct firn_bytes take_prefixed(struct firn_cursor *in)
{
    int64_t len = firn_take_zigzag64(in);
    if (len < 0)
        firn_cursor_fail(in, "has a negative length");
    return firn_take_bytes(in, (uint64_t)len);
}

/* The header's map<bytes>: blocks of entries, a negative count followed by the block's size in bytes. */
static void take_properties(struct firn_op *op, struct firn_avro_reader *reader)
{
    FIRN_ARRAY(struct firn_avro_property) list = { 0 };
    for (;;) {
        int64_t count = firn_take_zigzag64(&reader->in);
        if (count < 0) {
            firn_take_zigzag64(&reader->in);
            count = count == INT64_MIN ? INT64_MAX : -count;
        }
        if (count == 0)
            break;
        for (; count > 0 && !reader->in.failure; count--) {
            struct firn_avro_property property = { .key = firn_text_of_bytes(take_prefixed(&reader->in)) };
            property.value = take_prefixed(&reader->in);
            FIRN_PUSH(op->arena, &list, property);
        }
    }
    reader->properties = list.items;
    reader->property_count = (uint32_t)list.count;
}

struct firn_text firn_avro_reader_property(const struct firn_avro_reader *reader, const char *key)
{
    for (uint32_t i = 0; i < reader->property_count; i++)
        if (firn_text_is(reader->properties[i].key, key))
            return firn_text_of_bytes(reader->properties[i].value);
    return (struct firn_text){ 0 };
}

static firn_status choose_codec(struct firn_op *op, struct firn_avro_reader *reader)
{
    struct firn_text name = firn_avro_reader_property(reader, "avro.codec");
    if (!name.data)
        name = FIRN_TEXT("null");
    for (size_t i = 0; i < FIRN_COUNT_OF(codecs); i++) {
        if (firn_text_is(name, codecs[i].name)) {
            reader->codec = codecs[i].codec;
            return FIRN_OK;
        }
    }
    bool is_known = firn_text_is(name, "bzip2") || firn_text_is(name, "xz");
    return firn_fail(op, is_known ? FIRN_UNSUPPORTED : FIRN_CORRUPT,
                     "avro codec '%.*s' is not one of null, deflate, snappy, zstandard", FIRN_FMT(name));
}

static firn_status parse_writer_schema(struct firn_op *op, struct firn_avro_reader *reader)
{
    struct firn_text text = firn_avro_reader_property(reader, "avro.schema");
    if (!text.data)
        return firn_fail(op, FIRN_CORRUPT, "avro header has no schema");
    json_t *json;
    FIRN_TRY(firn_json_parse(op, text, "avro schema", &json));
    reader->schema_json = json;
    return firn_avro_schema_parse(op, json, &reader->type);
}

static void close_codecs(void *subject)
{
    firn_codec_context_close(subject);
}

firn_status firn_avro_reader_init(struct firn_op *op, struct firn_bytes file, struct firn_avro_reader *reader)
{
    *reader = (struct firn_avro_reader){ .in = firn_cursor_of(file) };
    firn_take_expected(&reader->in, (struct firn_bytes){ magic, sizeof magic }, "has no magic: this is no avro file");
    take_properties(op, reader);
    reader->sync = firn_take_bytes(&reader->in, FIRN_AVRO_SYNC_BYTES);
    FIRN_TRY(firn_cursor_finish(op, &reader->in, "avro header"));
    FIRN_TRY(choose_codec(op, reader));
    FIRN_TRY(parse_writer_schema(op, reader));
    FIRN_TRY(firn_codec_context_open(op, &reader->codecs));
    firn_arena_defer(op->arena, close_codecs, reader->codecs);
    return FIRN_OK;
}

/* Snappy blocks end with the CRC-32 of the uncompressed data, big-endian. */
static firn_status decompress_snappy(struct firn_op *op, struct firn_avro_reader *reader, struct firn_bytes raw,
                                     struct firn_buffer *buffer)
{
    if (raw.len < SNAPPY_CHECKSUM_BYTES)
        return firn_fail(op, FIRN_CORRUPT, "snappy block of %zu bytes has no room for its checksum", raw.len);
    raw.len -= SNAPPY_CHECKSUM_BYTES;
    FIRN_TRY(
        firn_codec_decompress_unsized(op, reader->codecs, FIRN_CODEC_SNAPPY, raw, FIRN_AVRO_BLOCK_BYTES_MAX, buffer));
    uint32_t recorded = firn_load_be32(raw.data + raw.len);
    uint32_t computed = libdeflate_crc32(0, buffer->data, buffer->len);
    if (recorded != computed)
        return firn_fail(op, FIRN_CORRUPT, "snappy block has the checksum %08x, its data has %08x", recorded, computed);
    return FIRN_OK;
}

static firn_status decompress(struct firn_op *op, struct firn_avro_reader *reader, struct firn_bytes raw,
                              struct firn_buffer *buffer)
{
    firn_buffer_clear(buffer);
    if (reader->codec == FIRN_CODEC_NONE)
        return firn_buffer_append(op, buffer, raw.data, raw.len);
    if (reader->codec == FIRN_CODEC_SNAPPY)
        return decompress_snappy(op, reader, raw, buffer);
    return firn_codec_decompress_unsized(op, reader->codecs, reader->codec, raw, FIRN_AVRO_BLOCK_BYTES_MAX, buffer);
}

static firn_status check_row_count(struct firn_op *op, const struct firn_avro_reader *reader,
                                   const struct firn_avro_block *block)
{
    uint64_t least = reader->type->min_bytes;
    uint64_t most = least ? block->data.len / least : EMPTY_ROWS_MAX;
    if (block->row_count > most)
        return firn_fail(op, FIRN_CORRUPT, "avro block of %zu bytes claims %" PRIu64 " rows, at most %" PRIu64 " fit",
                         block->data.len, block->row_count, most);
    return FIRN_OK;
}

/* The next block as it lies in the file; a count of 0 at the end. */
static firn_status take_block(struct firn_op *op, struct firn_avro_reader *reader, uint64_t *row_count,
                              struct firn_bytes *raw)
{
    struct firn_cursor *in = &reader->in;
    for (*row_count = 0; firn_cursor_left(in) > 0 && *row_count == 0;) {
        FIRN_TRY(firn_op_check(op));
        int64_t count = firn_take_zigzag64(in);
        *raw = take_prefixed(in);
        if (count < 0)
            firn_cursor_fail(in, "has a negative row count");
        firn_take_expected(in, reader->sync, "does not end with the sync marker");
        FIRN_TRY(firn_cursor_finish(op, in, "avro block"));
        *row_count = (uint64_t)count;
    }
    return FIRN_OK;
}

firn_status firn_avro_reader_next(struct firn_op *op, struct firn_avro_reader *reader, struct firn_buffer *buffer,
                                  struct firn_avro_block *block)
{
    size_t offset = firn_cursor_offset(&reader->in);
    struct firn_bytes raw;
    uint64_t row_count;
    *block = (struct firn_avro_block){ 0 };
    FIRN_TRY(take_block(op, reader, &row_count, &raw));
    if (row_count == 0)
        return FIRN_OK;
    firn_status status = decompress(op, reader, raw, buffer);
    FIRN_TRY(firn_context(op, status, "avro block at byte %zu", offset));
    *block = (struct firn_avro_block){ row_count, firn_buffer_bytes(buffer) };
    return check_row_count(op, reader, block);
}

firn_status firn_avro_reader_count(struct firn_op *op, struct firn_avro_reader *reader, uint64_t *row_count)
{
    struct firn_bytes raw;
    uint64_t count;
    *row_count = 0;
    do {
        FIRN_TRY(take_block(op, reader, &count, &raw));
        if (__builtin_add_overflow(*row_count, count, row_count))
            return firn_fail(op, FIRN_CORRUPT, "avro blocks claim more rows than can be counted");
    } while (count > 0);
    return FIRN_OK;
}
