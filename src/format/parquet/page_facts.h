/* What a page's values are, as far as metadata tell of it: all that is needed to take the page over without its values.
 *
 * Facts come from the metadata of the file the page lies in, where they are complete and credible, or from its decoded
 * vector. parquet.thrift, ColumnIndex, OffsetIndex, SizeStatistics. */
#ifndef FIRN_FORMAT_PARQUET_PAGE_FACTS_H
#define FIRN_FORMAT_PARQUET_PAGE_FACTS_H

#include "format/parquet/index_bounds.h"
#include "format/parquet/order.h"
#include "format/parquet/page.h"
#include "format/parquet/vector.h"

struct firn_page_facts {
    uint32_t slot_count, value_count, row_count;
    bool begins_row, ends_row;    /* known to begin with a row, and that the next page does; of use for nested v1 pages
                                     alone: others always do */
    bool has_bounds;              /* false: no value but NaN, or a type without order, or bounds are not known */
    bool min_exact, max_exact;    /* a value equals the bound; else it only encloses them */
    struct firn_bytes min, max;   /* as statistics hold them */
    int64_t nan_count;            /* FLOAT, DOUBLE, FLOAT16; else 0. -1: not known */
    int64_t unencoded_bytes;      /* BYTE_ARRAY: sum of value lengths; -1: not known */
    const int64_t *rep_histogram; /* rep_max + 1 and def_max + 1 counts; NULL: not known */
    const int64_t *def_histogram;
};

/* Memory that facts of decoded pages lie in. All zeros is ready for use. */
struct firn_facts_scratch {
    struct firn_bounds bounds;
    struct firn_index_scratch indices;
    int64_t rep_histogram[UINT8_MAX + 1], def_histogram[UINT8_MAX + 1];
};

/* Sets what the levels of a page tell: the counts, begins_row and the histograms, which lie in `scratch`. */
void firn_page_facts_count(struct firn_facts_scratch *scratch, const struct firn_vector *levels,
                           struct firn_page_facts *out);
/* The facts of a decoded page of `leaf`. Its last row may go on in the next page if the column is nested: ends_row is
 * for the caller to set who knows (firn_chunk_reader_at_row_end). Bytes borrow from `scratch` until the next call. */
FIRN_CHECKED firn_status firn_page_facts_of(struct firn_op *op, struct firn_facts_scratch *scratch,
                                            const struct firn_parquet_node *leaf, const struct firn_vector *vector,
                                            struct firn_page_facts *out);
void firn_facts_scratch_done(struct firn_facts_scratch *scratch);

#endif
