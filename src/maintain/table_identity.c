/* The first members of a metadata file. Iceberg spec, "Table Metadata Fields". */
#include "maintain/table_identity.h"

#include "base/math.h"
#include "catalog/catalog.h"

/* Writers put uuid and location first, before anything that grows. */
enum { HEAD_BYTES = 4096 };

static void skip_blanks(struct firn_text *rest)
{
    while (rest->len > 0 && memchr(" \t\r\n", rest->data[0], 4))
        *rest = firn_text_from(*rest, 1);
}

static bool take_char(struct firn_text *rest, char wanted)
{
    skip_blanks(rest);
    if (rest->len == 0 || rest->data[0] != wanted)
        return false;
    *rest = firn_text_from(*rest, 1);
    return true;
}

/* A string without escapes. */
static bool take_string(struct firn_text *rest, struct firn_text *out)
{
    if (!take_char(rest, '"'))
        return false;
    ptrdiff_t end = firn_text_find(*rest, '"');
    if (end < 0)
        return false;
    *out = firn_text_until(*rest, (size_t)end);
    *rest = firn_text_from(*rest, (size_t)end + 1);
    return firn_text_find(*out, '\\') < 0;
}

/* A string or a whole number; what is nested is not understood. */
static bool take_scalar(struct firn_text *rest, struct firn_text *out)
{
    skip_blanks(rest);
    if (rest->len > 0 && rest->data[0] == '"')
        return take_string(rest, out);
    size_t len = 0;
    while (len < rest->len && (rest->data[len] == '-' || (rest->data[len] >= '0' && rest->data[len] <= '9')))
        len++;
    *out = firn_text_until(*rest, len);
    *rest = firn_text_from(*rest, len);
    return len > 0;
}

/* False unless both members stand among the scalars that the object begins with. */
static bool find_members(struct firn_text head, struct firn_table_identity *out)
{
    struct firn_text rest = head, key, value;
    bool first = true;
    while (out->table_uuid.len == 0 || out->location.len == 0) {
        if (!take_char(&rest, first ? '{' : ',') || !take_string(&rest, &key) || !take_char(&rest, ':') ||
            !take_scalar(&rest, &value))
            return false;
        if (firn_text_is(key, "table-uuid"))
            out->table_uuid = value;
        if (firn_text_is(key, "location"))
            out->location = value;
        first = false;
    }
    return true;
}

static struct firn_text without_slash(struct firn_text location)
{
    while (location.len > 1 && location.data[location.len - 1] == '/')
        location.len--;
    return location;
}

static firn_status read_head(struct firn_op *op, struct firn_object *file, struct firn_table_identity *out, bool *found)
{
    size_t len = (size_t)FIRN_MIN(firn_object_size(file), HEAD_BYTES);
    uint8_t *head = firn_arena_alloc(op->arena, len);
    FIRN_TRY(firn_object_read(op, file, 0, len, head));
    *found = find_members((struct firn_text){ (const char *)head, len }, out);
    out->location = without_slash(out->location);
    return FIRN_OK;
}

firn_status firn_table_identity_read(struct firn_op *op, struct firn_store *store, struct firn_text metadata_file,
                                     struct firn_table_identity *out)
{
    struct firn_object *file;
    struct firn_metadata *metadata;
    bool found = false;
    *out = (struct firn_table_identity){ 0 };
    FIRN_TRY(firn_object_open(op, store, metadata_file, &file));
    firn_status status = read_head(op, file, out, &found);
    firn_object_close(file);
    if (status != FIRN_OK || found)
        return firn_context(op, status, "metadata file '%.*s'", FIRN_FMT(metadata_file));
    FIRN_TRY(firn_metadata_load(op, store, metadata_file, &metadata));
    *out = (struct firn_table_identity){ metadata->table_uuid, metadata->location };
    return FIRN_OK;
}

bool firn_table_identity_same(struct firn_op *op, const struct firn_table *table,
                              const struct firn_table_identity *identity)
{
    const struct firn_metadata *own = table->metadata;
    if (own->table_uuid.len && identity->table_uuid.len)
        return firn_text_same_nocase(own->table_uuid, identity->table_uuid);
    return firn_location_same(op, table->store, own->location, identity->location);
}
