/* Printing Statistics and SizeStatistics. parquet.thrift. */
#include "format/parquet/statistics_write.h"

static bool empty(const struct firn_parquet_statistics *statistics)
{
    return !statistics->min_value.data && !statistics->max_value.data && !statistics->min_legacy.data &&
           !statistics->max_legacy.data && !statistics->has_null_count && !statistics->has_distinct_count &&
           !statistics->has_nan_count;
}

static void put_present(struct firn_thrift_writer *out, int16_t id, struct firn_bytes value)
{
    if (value.data)
        firn_thrift_put_binary(out, id, value);
}

void firn_statistics_put(struct firn_thrift_writer *out, int16_t id, const struct firn_parquet_statistics *statistics)
{
    if (empty(statistics))
        return;
    firn_thrift_begin_struct(out, id);
    put_present(out, 1, statistics->max_legacy);
    put_present(out, 2, statistics->min_legacy);
    if (statistics->has_null_count)
        firn_thrift_put_i64(out, 3, statistics->null_count);
    if (statistics->has_distinct_count)
        firn_thrift_put_i64(out, 4, statistics->distinct_count);
    put_present(out, 5, statistics->max_value);
    put_present(out, 6, statistics->min_value);
    if (statistics->has_max_exact)
        firn_thrift_put_bool(out, 7, statistics->max_exact);
    if (statistics->has_min_exact)
        firn_thrift_put_bool(out, 8, statistics->min_exact);
    if (statistics->has_nan_count)
        firn_thrift_put_i64(out, 9, statistics->nan_count);
    firn_thrift_end_struct(out);
}

void firn_size_statistics_put(struct firn_thrift_writer *out, int16_t id, const struct firn_size_statistics *sizes)
{
    if (!sizes->has_unencoded_bytes && !sizes->rep_histogram && !sizes->def_histogram)
        return;
    firn_thrift_begin_struct(out, id);
    if (sizes->has_unencoded_bytes)
        firn_thrift_put_i64(out, 1, sizes->unencoded_bytes);
    if (sizes->rep_histogram)
        firn_thrift_put_i64s(out, 2, sizes->rep_histogram, sizes->rep_histogram_count);
    if (sizes->def_histogram)
        firn_thrift_put_i64s(out, 3, sizes->def_histogram, sizes->def_histogram_count);
    firn_thrift_end_struct(out);
}
