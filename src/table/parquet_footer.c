/* Reading a Parquet footer: the last bytes tell its length. */
#include "table/parquet_footer.h"

#include "base/math.h"

firn_status firn_parquet_footer_read(struct firn_op *op, struct firn_object *object, struct firn_buffer *scratch,
                                     struct firn_footer **out)
{
    uint64_t size = firn_object_size(object);
    uint64_t tail_bytes = FIRN_MIN(size, FIRN_PARQUET_TAIL_BYTES);
    uint32_t footer_bytes;
    FIRN_TRY(firn_object_read_range(op, object, size - tail_bytes, tail_bytes, scratch));
    FIRN_TRY(firn_footer_tail_parse(op, firn_buffer_bytes(scratch), size, &footer_bytes));
    FIRN_TRY(firn_object_read_range(op, object, size - tail_bytes - footer_bytes, footer_bytes, scratch));
    return firn_footer_parse(op, firn_buffer_bytes(scratch), size, out);
}

firn_status firn_parquet_footer_load(struct firn_op *op, struct firn_store *store, struct firn_text path,
                                     struct firn_footer **out)
{
    struct firn_buffer scratch = { 0 };
    struct firn_object *object;
    FIRN_TRY(firn_object_open(op, store, path, &object));
    firn_status status = firn_parquet_footer_read(op, object, &scratch, out);
    firn_object_close(object);
    firn_buffer_done(&scratch);
    return status;
}
