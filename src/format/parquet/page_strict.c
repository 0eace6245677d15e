/* Writers and what they encode in their own way. parquet-format, "Encodings".
 *
 * DELTA_BINARY_PACKED: DuckDB and Arrow's Go library take differences of INT32 values in 64 bits, so that they need up
 * to 34; the format wants them modulo the width of the type, and PyArrow reads no others (apache/arrow#20374).
 * DELTA_BYTE_ARRAY: parquet-mr before 1.8 has a page begin with a prefix of the last value of the page before
 * (PARQUET-246), which readers know to mend as long as they know the writer. Dictionaries of booleans are of writers
 * long gone. */
#include "format/parquet/page_strict.h"

#include "base/math.h"
#include "format/parquet/created_by.h"

/* Whether differences are known to be of the type's width. */
static bool packs_by_type(struct firn_text created_by, const struct firn_parquet_node *leaf)
{
    static const char *const writers[] = { "firn", "parquet-mr", "parquet-cpp-arrow", "parquet-rs" };
    for (size_t i = 0; i < FIRN_COUNT_OF(writers); i++)
        if (firn_written_by(created_by, writers[i]))
            return true;
    return leaf->type == FIRN_PARQUET_INT64 && firn_written_by(created_by, "DuckDB");
}

enum firn_strictness firn_page_strictness(struct firn_text created_by, const struct firn_parquet_node *leaf,
                                          enum firn_encoding encoding)
{
    if (firn_encoding_is_dictionary(encoding))
        return leaf->type == FIRN_PARQUET_BOOLEAN ? FIRN_LAX : FIRN_STRICT;
    if (encoding == FIRN_ENCODING_DELTA_BINARY_PACKED)
        return packs_by_type(created_by, leaf) ? FIRN_STRICT : FIRN_STRICTNESS_BY_CONTENT;
    if (encoding == FIRN_ENCODING_DELTA_BYTE_ARRAY)
        return firn_written_before(created_by, "parquet-mr", (struct firn_writer_version){ 1, 8, 0 }) ? FIRN_LAX
                                                                                                      : FIRN_STRICT;
    return FIRN_STRICT;
}
