/* The Thrift structures that page headers and column chunks share. parquet.thrift. */
#ifndef FIRN_FORMAT_PARQUET_STATISTICS_WRITE_H
#define FIRN_FORMAT_PARQUET_STATISTICS_WRITE_H

#include "format/parquet/metadata.h"
#include "format/parquet/thrift_write.h"

/* Writes a Statistics structure as field `id`, or nothing when it would be empty. */
void firn_statistics_put(struct firn_thrift_writer *out, int16_t id, const struct firn_parquet_statistics *statistics);
/* Writes a SizeStatistics structure as field `id`, or nothing when it would be empty. */
void firn_size_statistics_put(struct firn_thrift_writer *out, int16_t id, const struct firn_size_statistics *sizes);

#endif
