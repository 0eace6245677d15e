/* Which pages of an input may go to an output as they lie, and the account of it. */
#ifndef FIRN_REWRITE_SPLICE_H
#define FIRN_REWRITE_SPLICE_H

#include "format/parquet/page_facts.h"
#include "format/parquet/writer.h"
#include "rewrite/layout.h"
#include "rewrite/projection.h"

/* What forbids taking over the encoded values of any page of a chunk, and what has the pages repacked
 * if nothing does; NONE: nothing. */
struct firn_chunk_terms {
    enum firn_rung_reason refusal, repack;
};
/* The splicing of one output column. */
struct firn_splicer {
    const struct firn_parquet_node *leaf;     /* of the output */
    const struct firn_chunk_options *options; /* of its chunks */
    struct firn_layout_policy policy;
    bool sorts;                       /* rows take another order: nothing is copied */
    bool smaller_encoded;             /* samples of the row group say so */
    uint32_t believed, believed_left; /* the last samples hold for so many row groups more; for these still */
    double row_bytes;                 /* of a row in the input, when they were taken */

    /* The input chunk being read. */
    struct firn_chunk_terms terms;
    bool is_ordered_alike; /* the input's bounds are in the order of the output's */
    bool is_numbered;      /* nulls become numbers: only pages without nulls need no change */
    struct firn_text created_by;

    bool keeps;                  /* all of it so far was copied, to the beginning of a chunk */
    struct firn_rung_count kept; /* these pages */

    struct firn_facts_scratch scratch;
    struct firn_rung_counts counts;
};

/* The options of a chunk that pages are spliced into under a policy. */
void firn_splice_options_set(const struct firn_layout_policy *policy, struct firn_chunk_options *options);
/* The terms of a chunk that a plan reads. */
struct firn_chunk_terms firn_splicer_terms(const struct firn_splicer *splicer, const struct firn_leaf_plan *plan,
                                           const struct firn_column_chunk *chunk);
/* Begins an input chunk: what the plan makes of its pages. `created_by` is borrowed until the next one. */
void firn_splicer_begin(struct firn_splicer *splicer, const struct firn_leaf_plan *plan,
                        const struct firn_column_chunk *chunk, struct firn_text created_by);
/* Whether the layout has sizes compared before pages are copied. */
bool firn_splicer_weighs(const struct firn_splicer *splicer);
/* Whether what was weighed before holds for the next row group, a row of which takes so many bytes in the input; asked
 * once for each. */
bool firn_splicer_believes(struct firn_splicer *splicer, double row_bytes);
/* Bytes in files: of a row group's worth of rows as they lie, and as they would be encoded. */
struct firn_estimate {
    double copied_bytes, encoded_bytes;
    bool is_known; /* false: no page could be copied, so there is nothing to compare */
};
/* Takes in what samples told; `row_group_bytes` is the size of all columns. */
void firn_splicer_weigh(struct firn_splicer *splicer, const struct firn_estimate *estimate, double row_group_bytes);
/* Whether pages of the chunk may be taken over at all. */
bool firn_splicer_may_copy(const struct firn_splicer *splicer);
/* Whether decoded pages of indices may stay indices. */
bool firn_splicer_maps(const struct firn_splicer *splicer);
/* Whether a page of so many rows that names each value of its dictionary once may go on without it. */
bool firn_splicer_unfolds(const struct firn_splicer *splicer, uint32_t row_count);
/* Whether it depends on the content of this page if it may be taken over. */
bool firn_splicer_looks_into(const struct firn_splicer *splicer, const struct firn_page *page);
/* What has this page repacked if it is taken over; NONE: it is copied as it lies. */
enum firn_rung_reason firn_splicer_repacks(const struct firn_splicer *splicer, const struct firn_page *page);
/* What forbids taking over this page, or speaks against it, as far as its header tells; NONE: nothing. */
enum firn_rung_reason firn_splicer_refusal(const struct firn_splicer *splicer, const struct firn_page *page,
                                           uint32_t row_count);
/* Whether a page, repacked or not, is neither so small that it is joined with others nor so large that it is cut. */
bool firn_splicer_sizes_right(const struct firn_splicer *splicer, const struct firn_page *page, uint32_t row_count,
                              bool repacks);
/* Counts a page that was taken over: whether it is its chunk's first and last one, and the first of its new chunk. */
struct firn_spliced_page {
    const struct firn_page *page;
    enum firn_rung_reason repack;
    bool is_first, is_last, begins_output;
    bool was_decoded; /* to learn its facts */
};
void firn_splicer_count_copied(struct firn_splicer *splicer, const struct firn_spliced_page *copied);
/* Counts a page that was not looked at, since no row of it is wanted. */
void firn_splicer_count_passed_over(struct firn_splicer *splicer, const struct firn_page *page);
/* The rung of a page that is decoded. */
enum firn_rung firn_splicer_decoded_rung(const struct firn_splicer *splicer, bool by_index);
/* Counts a page that is decoded, for `reason`, and given on as values, or as indices into its dictionary. */
void firn_splicer_count_decoded(struct firn_splicer *splicer, const struct firn_page *page,
                                enum firn_rung_reason reason);
/* Bytes of the pages copied as they lie so far. */
int64_t firn_splicer_copied_bytes(const struct firn_splicer *splicer);
void firn_splicer_done(struct firn_splicer *splicer);

/* Bytes of a page in its file. */
static inline int64_t firn_page_file_bytes(const struct firn_page *page)
{
    return (int64_t)(page->header_bytes.len + page->body.len + page->tail.len);
}

#endif
