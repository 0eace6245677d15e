/* Tells the formats of files apart by their magic and calls the inspector. */
#include "maintain/inspect.h"

#include "base/math.h"
#include "store/store.h"

typedef firn_status inspector(struct firn_op *op, struct firn_store *store, struct firn_text location,
                              struct firn_inspect_options options, json_t **out);

#define MAGIC_BYTES 4

/* Files begin and end with their magic, or only begin with it. */
static const struct {
    uint8_t magic[MAGIC_BYTES];
    inspector *inspect;
} formats[] = {
    { { 'P', 'A', 'R', '1' }, firn_inspect_parquet },
    { { 'P', 'A', 'R', 'E' }, firn_inspect_parquet },
    { { 'O', 'b', 'j', 1 }, firn_inspect_avro },
    { { 'P', 'F', 'A', '1' }, firn_inspect_puffin },
};

static firn_status read_magic(struct firn_op *op, struct firn_store *store, struct firn_text location,
                              uint8_t magic[MAGIC_BYTES])
{
    struct firn_object *object;
    FIRN_TRY(firn_object_open(op, store, location, &object));
    firn_status status =
        firn_object_read(op, object, 0, FIRN_MIN(firn_object_size(object), (uint64_t)MAGIC_BYTES), magic);
    firn_object_close(object);
    return status;
}

firn_status firn_file_inspect(struct firn_op *op, struct firn_store *store, struct firn_text location,
                              struct firn_inspect_options options, json_t **out)
{
    uint8_t magic[MAGIC_BYTES] = { 0 };
    FIRN_TRY(read_magic(op, store, location, magic));
    for (size_t i = 0; i < FIRN_COUNT_OF(formats); i++)
        if (memcmp(magic, formats[i].magic, MAGIC_BYTES) == 0)
            return formats[i].inspect(op, store, location, options, out);
    return firn_fail(op, FIRN_UNSUPPORTED, "file '%.*s' begins like neither Parquet, nor Avro, nor Puffin",
                     FIRN_FMT(location));
}
