/* The tail of an ORC file: postscript, footer, types. ORC specification v1, "File Tail". */
#include "format/orc/orc.h"

#include "base/math.h"
#include "format/orc/message.h"
#include "format/orc/stripe.h"

#define BLOCK_BYTES_MAX  (UINT64_C(1) << 26)
#define FOOTER_BYTES_MAX (UINT64_C(1) << 28)

enum { TYPES_MAX = 10000, STRIPES_MAX = 1 << 20, DEPTH_MAX = 100 };

static const char *const kind_names[FIRN_ORC_KIND_COUNT] = {
    [FIRN_ORC_BOOLEAN] = "boolean",
    [FIRN_ORC_BYTE] = "tinyint",
    [FIRN_ORC_SHORT] = "smallint",
    [FIRN_ORC_INT] = "int",
    [FIRN_ORC_LONG] = "bigint",
    [FIRN_ORC_FLOAT] = "float",
    [FIRN_ORC_DOUBLE] = "double",
    [FIRN_ORC_STRING] = "string",
    [FIRN_ORC_BINARY] = "binary",
    [FIRN_ORC_TIMESTAMP] = "timestamp",
    [FIRN_ORC_LIST] = "array",
    [FIRN_ORC_MAP] = "map",
    [FIRN_ORC_STRUCT] = "struct",
    [FIRN_ORC_UNION] = "uniontype",
    [FIRN_ORC_DECIMAL] = "decimal",
    [FIRN_ORC_DATE] = "date",
    [FIRN_ORC_VARCHAR] = "varchar",
    [FIRN_ORC_CHAR] = "char",
    [FIRN_ORC_TIMESTAMP_INSTANT] = "timestamp with local time zone",
};

const char *firn_orc_kind_name(enum firn_orc_kind kind)
{
    return kind_names[kind];
}

/* Postscript --------------------------------------------------------------------------------------------------------
 */

static firn_status set_codec(struct firn_op *op, uint64_t compression, struct firn_orc_footer *out)
{
    static const struct {
        const char *name;
        bool is_read;
        enum firn_codec codec;
    } codecs[] = {
        { "none", true, FIRN_CODEC_NONE },     { "zlib", true, FIRN_CODEC_DEFLATE },
        { "snappy", true, FIRN_CODEC_SNAPPY }, { "lzo", false, FIRN_CODEC_NONE },
        { "lz4", false, FIRN_CODEC_NONE },     { "zstd", true, FIRN_CODEC_ZSTD },
        { "brotli", false, FIRN_CODEC_NONE },
    };
    if (compression >= FIRN_COUNT_OF(codecs))
        return firn_fail(op, FIRN_CORRUPT, "orc compression %" PRIu64 " is not one of the format's", compression);
    if (!codecs[compression].is_read)
        return firn_fail(op, FIRN_UNSUPPORTED, "orc files compressed by %s are not read", codecs[compression].name);
    out->codec = codecs[compression].codec;
    return FIRN_OK;
}

static firn_status parse_postscript(struct firn_op *op, struct firn_bytes bytes, struct firn_orc_footer *out,
                                    uint64_t *footer_bytes)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    struct firn_message_field field;
    uint64_t compression = 0;
    bool has_magic = false;
    out->block_bytes = 262144;
    while (firn_message_next(&in, &field)) {
        if (field.number == 1)
            *footer_bytes = field.value;
        else if (field.number == 2)
            compression = field.value;
        else if (field.number == 3)
            out->block_bytes = field.value;
        else if (field.number == 8000)
            has_magic = field.bytes.len == 3 && memcmp(field.bytes.data, "ORC", 3) == 0;
    }
    FIRN_TRY(firn_cursor_finish(op, &in, "orc postscript"));
    if (!has_magic)
        return firn_fail(op, FIRN_CORRUPT, "file does not end as an orc file does");
    if (out->block_bytes == 0 || out->block_bytes > BLOCK_BYTES_MAX)
        return firn_fail(op, FIRN_CORRUPT, "orc blocks of %" PRIu64 " bytes", out->block_bytes);
    return set_codec(op, compression, out);
}

/* Types -------------------------------------------------------------------------------------------------------------
 */

/* Numbers in one field each, or packed into one. */
static void take_children(struct firn_op *op, struct firn_cursor *in, const struct firn_message_field *field,
                          struct firn_orc_type *type, uint32_t capacity)
{
    struct firn_cursor packed = firn_cursor_of(field->bytes);
    if (!type->children)
        type->children = FIRN_NEW_ARRAY(op->arena, uint32_t, capacity);
    do {
        uint64_t child = field->bytes.data ? firn_take_varint64(&packed) : field->value;
        if (packed.failure || type->child_count == capacity || child >= capacity)
            firn_cursor_fail(in, "children beyond the types");
        else
            type->children[type->child_count++] = (uint32_t)child;
    } while (!in->failure && firn_cursor_left(&packed) > 0);
}

static void take_name(struct firn_op *op, struct firn_cursor *in, const struct firn_message_field *field,
                      struct firn_orc_type *type, uint32_t capacity)
{
    if (!type->names)
        type->names = FIRN_NEW_ARRAY(op->arena, struct firn_text, capacity);
    if (type->name_count == capacity)
        firn_cursor_fail(in, "names beyond the types");
    else
        type->names[type->name_count++] = firn_text_of_bytes(field->bytes);
}

static void take_attribute(struct firn_cursor *in, struct firn_bytes bytes, struct firn_orc_type *type)
{
    struct firn_cursor pair = firn_cursor_of(bytes);
    struct firn_message_field field;
    struct firn_text key = { 0 }, value = { 0 };
    int64_t id;
    while (firn_message_next(&pair, &field))
        *(field.number == 1 ? &key : &value) = firn_text_of_bytes(field.bytes);
    if (pair.failure)
        firn_cursor_fail(in, "an attribute that is no pair");
    if (!firn_text_is(key, "iceberg.id") || !firn_text_to_i64(value, &id) || id != (int32_t)id)
        return;
    type->has_id = true;
    type->id = (int32_t)id;
}

static firn_status parse_type(struct firn_op *op, struct firn_bytes bytes, uint32_t type_count,
                              struct firn_orc_type *out)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    struct firn_message_field field;
    uint64_t kind = 0;
    while (firn_message_next(&in, &field)) {
        if (field.number == 1)
            kind = field.value;
        else if (field.number == 2)
            take_children(op, &in, &field, out, type_count);
        else if (field.number == 3)
            take_name(op, &in, &field, out, type_count);
        else if (field.number == 7)
            take_attribute(&in, field.bytes, out);
    }
    if (kind >= FIRN_ORC_KIND_COUNT)
        firn_cursor_fail(&in, "a kind of type that the format does not have");
    out->kind = (enum firn_orc_kind)FIRN_MIN(kind, (uint64_t)FIRN_ORC_KIND_COUNT - 1);
    return firn_cursor_finish(op, &in, "orc type");
}

/* Every column but the root has one parent, and stands after it: so there is no way around in a circle. */
static firn_status check_tree(struct firn_op *op, const struct firn_orc_footer *footer)
{
    uint32_t *depths = FIRN_NEW_ARRAY(op->arena, uint32_t, footer->type_count);
    if (footer->type_count == 0 || footer->types[0].kind != FIRN_ORC_STRUCT)
        return firn_fail(op, FIRN_CORRUPT, "rows of the orc file are no structs");
    for (uint32_t i = 0; i < footer->type_count; i++) {
        const struct firn_orc_type *type = &footer->types[i];
        if (type->kind == FIRN_ORC_STRUCT && type->name_count != type->child_count)
            return firn_fail(op, FIRN_CORRUPT, "orc column %" PRIu32 " has %" PRIu32 " fields and %" PRIu32 " names", i,
                             type->child_count, type->name_count);
        for (uint32_t k = 0; k < type->child_count; k++) {
            uint32_t child = type->children[k];
            if (child <= i || depths[child] != 0 || depths[i] >= DEPTH_MAX)
                return firn_fail(op, FIRN_CORRUPT, "orc column %" PRIu32 " cannot be a child of column %" PRIu32, child,
                                 i);
            depths[child] = depths[i] + 1;
        }
    }
    return FIRN_OK;
}

/* Footer ------------------------------------------------------------------------------------------------------------
 */

static firn_status parse_stripe_place(struct firn_op *op, struct firn_bytes bytes, struct firn_orc_stripe_place *out)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    struct firn_message_field field;
    uint64_t *const members[] = { NULL,           &out->offset, &out->index_bytes, &out->data_bytes, &out->footer_bytes,
                                  &out->row_count };
    while (firn_message_next(&in, &field))
        if (field.number > 0 && field.number < FIRN_COUNT_OF(members))
            *members[field.number] = field.value;
    return firn_cursor_finish(op, &in, "orc stripe information");
}

enum { FOOTER_STRIPE = 3, FOOTER_TYPE = 4, FOOTER_ENCRYPTION = 10 };

static firn_status count_parts(struct firn_op *op, struct firn_bytes bytes, struct firn_orc_footer *out)
{
    struct firn_cursor in = firn_cursor_of(bytes);
    struct firn_message_field field;
    uint64_t stripes = 0, types = 0;
    while (firn_message_next(&in, &field)) {
        stripes += field.number == FOOTER_STRIPE;
        types += field.number == FOOTER_TYPE;
        if (field.number == FOOTER_ENCRYPTION)
            return firn_fail(op, FIRN_UNSUPPORTED, "the orc file is encrypted");
    }
    FIRN_TRY(firn_cursor_finish(op, &in, "orc footer"));
    if (stripes > STRIPES_MAX || types > TYPES_MAX)
        return firn_fail(op, FIRN_LIMIT, "orc file of %" PRIu64 " stripes and %" PRIu64 " columns", stripes, types);
    out->stripes = FIRN_NEW_ARRAY(op->arena, struct firn_orc_stripe_place, stripes);
    out->types = FIRN_NEW_ARRAY(op->arena, struct firn_orc_type, types);
    out->type_count = (uint32_t)types;
    return FIRN_OK;
}

static firn_status parse_footer(struct firn_op *op, struct firn_bytes bytes, struct firn_orc_footer *out)
{
    struct firn_message_field field;
    uint32_t type = 0;
    FIRN_TRY(count_parts(op, bytes, out));
    struct firn_cursor in = firn_cursor_of(bytes);
    while (firn_message_next(&in, &field)) {
        if (field.number == FOOTER_STRIPE)
            FIRN_TRY(parse_stripe_place(op, field.bytes, &out->stripes[out->stripe_count++]));
        if (field.number == FOOTER_TYPE)
            FIRN_TRY(parse_type(op, field.bytes, out->type_count, &out->types[type++]));
    }
    return check_tree(op, out);
}

firn_status firn_orc_footer_parse(struct firn_op *op, struct firn_codec_context *codecs, struct firn_bytes file,
                                  struct firn_orc_footer *out)
{
    struct firn_buffer *plain = FIRN_NEW(op->arena, struct firn_buffer);
    uint64_t footer_bytes = 0;
    *out = (struct firn_orc_footer){ 0 };
    firn_buffer_defer(op->arena, plain);
    if (file.len < 4 || memcmp(file.data, "ORC", 3) != 0)
        return firn_fail(op, FIRN_CORRUPT, "file does not begin with \"ORC\": it is no orc file");
    size_t postscript_bytes = file.data[file.len - 1], left = file.len - 1;
    if (postscript_bytes > left)
        return firn_fail(op, FIRN_CORRUPT, "orc postscript of %zu bytes in a file of %zu", postscript_bytes, file.len);
    left -= postscript_bytes;
    FIRN_TRY(parse_postscript(op, (struct firn_bytes){ file.data + left, postscript_bytes }, out, &footer_bytes));
    if (footer_bytes > left)
        return firn_fail(op, FIRN_CORRUPT, "orc footer of %" PRIu64 " bytes in a file of %zu", footer_bytes, file.len);
    struct firn_bytes stored = { file.data + left - footer_bytes, footer_bytes };
    FIRN_TRY(firn_orc_blocks_expand(op, codecs, out, stored, FOOTER_BYTES_MAX, plain));
    return parse_footer(op, firn_buffer_bytes(plain), out);
}
