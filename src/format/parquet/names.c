/* Names of the enumerations, as the Parquet specification spells them. parquet.thrift. */
#include "base/math.h"
#include "format/parquet/metadata.h"

static const char *const type_names[] = {
    [FIRN_PARQUET_BOOLEAN] = "BOOLEAN",       [FIRN_PARQUET_INT32] = "INT32",
    [FIRN_PARQUET_INT64] = "INT64",           [FIRN_PARQUET_INT96] = "INT96",
    [FIRN_PARQUET_FLOAT] = "FLOAT",           [FIRN_PARQUET_DOUBLE] = "DOUBLE",
    [FIRN_PARQUET_BYTE_ARRAY] = "BYTE_ARRAY", [FIRN_PARQUET_FIXED] = "FIXED_LEN_BYTE_ARRAY",
};
_Static_assert(FIRN_COUNT_OF(type_names) == FIRN_PARQUET_TYPE_COUNT, "one name per type");

static const char *const encoding_names[] = {
    [FIRN_ENCODING_PLAIN] = "PLAIN",
    [FIRN_ENCODING_PLAIN_DICTIONARY] = "PLAIN_DICTIONARY",
    [FIRN_ENCODING_RLE] = "RLE",
    [FIRN_ENCODING_BIT_PACKED] = "BIT_PACKED",
    [FIRN_ENCODING_DELTA_BINARY_PACKED] = "DELTA_BINARY_PACKED",
    [FIRN_ENCODING_DELTA_LENGTH_BYTE_ARRAY] = "DELTA_LENGTH_BYTE_ARRAY",
    [FIRN_ENCODING_DELTA_BYTE_ARRAY] = "DELTA_BYTE_ARRAY",
    [FIRN_ENCODING_RLE_DICTIONARY] = "RLE_DICTIONARY",
    [FIRN_ENCODING_BYTE_STREAM_SPLIT] = "BYTE_STREAM_SPLIT",
};
_Static_assert(FIRN_COUNT_OF(encoding_names) == FIRN_ENCODING_COUNT, "one name per encoding");

static const char *const logical_names[] = {
    [FIRN_LOGICAL_NONE] = "NONE",
    [FIRN_LOGICAL_STRING] = "STRING",
    [FIRN_LOGICAL_MAP] = "MAP",
    [FIRN_LOGICAL_MAP_KEY_VALUE] = "MAP_KEY_VALUE",
    [FIRN_LOGICAL_LIST] = "LIST",
    [FIRN_LOGICAL_ENUM] = "ENUM",
    [FIRN_LOGICAL_DECIMAL] = "DECIMAL",
    [FIRN_LOGICAL_DATE] = "DATE",
    [FIRN_LOGICAL_TIME] = "TIME",
    [FIRN_LOGICAL_TIMESTAMP] = "TIMESTAMP",
    [FIRN_LOGICAL_INTEGER] = "INTEGER",
    [FIRN_LOGICAL_UNKNOWN] = "UNKNOWN",
    [FIRN_LOGICAL_JSON] = "JSON",
    [FIRN_LOGICAL_BSON] = "BSON",
    [FIRN_LOGICAL_UUID] = "UUID",
    [FIRN_LOGICAL_FLOAT16] = "FLOAT16",
    [FIRN_LOGICAL_VARIANT] = "VARIANT",
    [FIRN_LOGICAL_GEOMETRY] = "GEOMETRY",
    [FIRN_LOGICAL_GEOGRAPHY] = "GEOGRAPHY",
    [FIRN_LOGICAL_INTERVAL] = "INTERVAL",
};
_Static_assert(FIRN_COUNT_OF(logical_names) == FIRN_LOGICAL_COUNT, "one name per logical type");

static const char *name_of(const char *const *names, size_t count, size_t index)
{
    return index < count && names[index] ? names[index] : "unknown";
}

const char *firn_parquet_type_name(enum firn_parquet_type type)
{
    return name_of(type_names, FIRN_COUNT_OF(type_names), (size_t)type);
}

const char *firn_encoding_name(enum firn_encoding encoding)
{
    return name_of(encoding_names, FIRN_COUNT_OF(encoding_names), (size_t)encoding);
}

const char *firn_logical_name(enum firn_logical kind)
{
    return name_of(logical_names, FIRN_COUNT_OF(logical_names), (size_t)kind);
}
