/* Widths of values in a vector's arrays. */
#include "format/parquet/vector.h"

size_t firn_value_width(enum firn_parquet_type type, uint32_t type_length)
{
    switch (type) {
    case FIRN_PARQUET_BOOLEAN:
        return 1;
    case FIRN_PARQUET_INT32:
    case FIRN_PARQUET_FLOAT:
        return 4;
    case FIRN_PARQUET_INT64:
    case FIRN_PARQUET_DOUBLE:
        return 8;
    case FIRN_PARQUET_INT96:
        return 12;
    case FIRN_PARQUET_FIXED:
        return type_length;
    default:
        return sizeof(struct firn_slice);
    }
}
