/* The rules of splicing: legality by plan, chunk and page; what the layout asks for on top. A page whose values may
 * stay but whose levels or compression may not is repacked. */
#include "rewrite/splice.h"

#include "base/math.h"
#include "format/parquet/page_strict.h"

#include <math.h>

/* Pages of fewer bytes and fewer rows than these are joined: a reader pays for each page, however little is in it.
 * DuckDB takes 16 us for one of values beside inflating it, which is a quarter more at 32 KiB and a tenth at 80;
 * joining takes 7 ns a byte, so that pages of 32 KiB pay for it after fourteen scans, twice as large ones after as many
 * more. Larger pages than so many times what a writer makes are cut: they cannot be read in part. */
#define FLOOR_BYTES    (32 << 10)
#define FLOOR_DIVISOR  4 /* of what a page may have: where that is little, so is the floor */
#define CEILING_FACTOR 8

/* Fewer values than these may yet be a dictionary that is of use to other pages. */
enum { UNFOLDED_ROWS_MIN = 1000 };

/* Encoding anew must save these parts of the column and of its row group to be worth its time: more of the column than
 * another level of the same codec gives, which is a tenth for texts of random digits and 0.15 for random integers. */
#define COLUMN_SAVING    0.2
#define ROW_GROUP_SAVING 0.01
/* Where size is all that counts: less than this is within what samples are wrong by. */
#define LEAST_SAVING 0.01

/* Savings this far from what decides are sure enough to be believed of so many row groups to come, twice as many each
 * time that they are found again, while a row takes as many bytes as it did but for this part of them. */
#define SURE_BY    0.03
#define SURE_WHILE 0.15
enum { BELIEVED_FIRST = 3, BELIEVED_MAX = 24 };

const char *const firn_layout_names[FIRN_LAYOUT_COUNT + 1] = { "balanced", "fastest", "smallest", NULL };

static bool takes_all(const struct firn_layout_policy *policy)
{
    return policy->is_forced || policy->layout == FIRN_LAYOUT_FASTEST;
}

void firn_splice_options_set(const struct firn_layout_policy *policy, struct firn_chunk_options *options)
{
    int32_t floor_bytes = FIRN_MIN(FLOOR_BYTES, options->page_bytes_max / FLOOR_DIVISOR);
    options->splice_floor_bytes = takes_all(policy) ? 0 : floor_bytes;
    options->splice_unchecked = policy->layout == FIRN_LAYOUT_FASTEST;
}

static bool is_same_type(const struct firn_parquet_node *in, const struct firn_parquet_node *out)
{
    return in->type == out->type && (in->type != FIRN_PARQUET_FIXED || in->type_length == out->type_length);
}

/* Whether each slot of the input is one of the output. */
static bool has_same_slots(const struct firn_leaf_plan *plan, const struct firn_parquet_node *leaf)
{
    return plan->rep_keep >= plan->levels->rep_max && plan->levels->rep_max == leaf->rep_max;
}

static enum firn_rung_reason chunk_repacks(const struct firn_splicer *splicer, const struct firn_leaf_plan *plan,
                                           const struct firn_column_chunk *chunk)
{
    if (plan->def_map || plan->levels->def_max != splicer->leaf->def_max)
        return FIRN_REASON_LEVELS;
    if (chunk->codec != splicer->options->codec)
        return FIRN_REASON_OTHER_CODEC;
    return splicer->policy.is_forced && splicer->policy.forced == FIRN_RUNG_REPACK ? FIRN_REASON_FORCED
                                                                                   : FIRN_REASON_NONE;
}

static enum firn_rung_reason chunk_refusal(const struct firn_splicer *splicer, const struct firn_leaf_plan *plan,
                                           enum firn_rung_reason repack)
{
    if (splicer->sorts)
        return FIRN_REASON_SORTED;
    if (splicer->policy.is_forced && splicer->policy.forced >= FIRN_RUNG_REMAP)
        return FIRN_REASON_FORCED;
    if (!plan->has_values || !has_same_slots(plan, splicer->leaf)) /* without values the pages are another column's */
        return FIRN_REASON_LEVELS;
    if (plan->conversion.run || !is_same_type(plan->levels, splicer->leaf))
        return FIRN_REASON_PROMOTED;
    return splicer->policy.is_forced && splicer->policy.forced < FIRN_RUNG_REPACK ? repack : FIRN_REASON_NONE;
}

struct firn_chunk_terms firn_splicer_terms(const struct firn_splicer *splicer, const struct firn_leaf_plan *plan,
                                           const struct firn_column_chunk *chunk)
{
    enum firn_rung_reason repack = chunk_repacks(splicer, plan, chunk);
    return (struct firn_chunk_terms){ chunk_refusal(splicer, plan, repack), repack };
}

void firn_splicer_begin(struct firn_splicer *splicer, const struct firn_leaf_plan *plan,
                        const struct firn_column_chunk *chunk, struct firn_text created_by)
{
    splicer->created_by = created_by;
    splicer->terms = firn_splicer_terms(splicer, plan, chunk);
    splicer->is_numbered = plan->numbered;
    splicer->is_ordered_alike = firn_order_of(plan->levels) == firn_order_of(splicer->leaf);
}

bool firn_splicer_weighs(const struct firn_splicer *splicer)
{
    return !takes_all(&splicer->policy);
}

/* Believes what was found for a while, if it is beyond doubt. */
static void believe(struct firn_splicer *splicer, const struct firn_estimate *estimate)
{
    double least = splicer->policy.layout == FIRN_LAYOUT_SMALLEST ? LEAST_SAVING : COLUMN_SAVING;
    double saving = 1 - estimate->encoded_bytes / FIRN_MAX(estimate->copied_bytes, 1);
    bool is_sure = estimate->is_known && fabs(saving - least) > SURE_BY;
    if (is_sure)
        splicer->believed = splicer->believed ? FIRN_MIN(2 * splicer->believed, BELIEVED_MAX) : BELIEVED_FIRST;
    else
        splicer->believed = 0;
    splicer->believed_left = splicer->believed;
}

bool firn_splicer_believes(struct firn_splicer *splicer, double row_bytes)
{
    bool is_alike = fabs(row_bytes - splicer->row_bytes) <= SURE_WHILE * splicer->row_bytes;
    if (splicer->believed_left > 0 && is_alike) {
        splicer->believed_left--;
        return true;
    }
    splicer->row_bytes = row_bytes;
    if (!is_alike)
        splicer->believed = 0;
    return false;
}

void firn_splicer_weigh(struct firn_splicer *splicer, const struct firn_estimate *estimate, double row_group_bytes)
{
    double saved = estimate->copied_bytes - estimate->encoded_bytes;
    believe(splicer, estimate);
    if (!estimate->is_known)
        return;
    if (splicer->policy.layout == FIRN_LAYOUT_SMALLEST)
        splicer->smaller_encoded = saved > LEAST_SAVING * estimate->copied_bytes;
    else
        splicer->smaller_encoded =
            saved > COLUMN_SAVING * estimate->copied_bytes && saved > ROW_GROUP_SAVING * row_group_bytes;
}

bool firn_splicer_may_copy(const struct firn_splicer *splicer)
{
    return splicer->terms.refusal == FIRN_REASON_NONE && (takes_all(&splicer->policy) || !splicer->smaller_encoded);
}

bool firn_splicer_maps(const struct firn_splicer *splicer)
{
    return !splicer->policy.is_forced || splicer->policy.forced != FIRN_RUNG_TRANSCODE;
}

bool firn_splicer_unfolds(const struct firn_splicer *splicer, uint32_t row_count)
{
    bool is_forbidden = splicer->policy.is_forced && splicer->policy.forced != FIRN_RUNG_SPLICE &&
                        splicer->policy.forced != FIRN_RUNG_REPACK;
    return !is_forbidden && row_count >= UNFOLDED_ROWS_MIN;
}

/* Levels in the deprecated form. */
static bool has_legacy_levels(const struct firn_splicer *splicer, const struct firn_page_header *header)
{
    return header->type == FIRN_PAGE_DATA &&
           ((splicer->leaf->rep_max > 0 && header->rep_encoding != FIRN_ENCODING_RLE) ||
            (splicer->leaf->def_max > 0 && header->def_encoding != FIRN_ENCODING_RLE));
}

enum firn_rung_reason firn_splicer_repacks(const struct firn_splicer *splicer, const struct firn_page *page)
{
    if (splicer->terms.repack == FIRN_REASON_NONE && has_legacy_levels(splicer, &page->header))
        return FIRN_REASON_LEGACY_ENCODING;
    return splicer->terms.repack;
}

static enum firn_strictness strictness(const struct firn_splicer *splicer, const struct firn_page *page)
{
    return firn_page_strictness(splicer->created_by, splicer->leaf, page->header.encoding);
}

bool firn_splicer_looks_into(const struct firn_splicer *splicer, const struct firn_page *page)
{
    return firn_splicer_may_copy(splicer) && strictness(splicer, page) == FIRN_STRICTNESS_BY_CONTENT;
}

/* Values that some readers refuse, and legacy levels where nothing but copying is wanted. */
static bool is_legacy(const struct firn_splicer *splicer, const struct firn_page *page)
{
    if (strictness(splicer, page) == FIRN_LAX)
        return true;
    return splicer->policy.is_forced && splicer->policy.forced < FIRN_RUNG_REPACK &&
           has_legacy_levels(splicer, &page->header);
}

/* Joining a page that is compressed anew anyhow takes no more than copying its values. Indices are left out: whether a
 * chunk has a dictionary at all is decided by the page that comes first. */
static int32_t floor_bytes_of(const struct firn_splicer *splicer, const struct firn_page *page, bool repacks)
{
    const struct firn_chunk_options *options = splicer->options;
    bool is_plain = page->header.encoding == FIRN_ENCODING_PLAIN;
    return is_plain && repacks ? options->page_bytes_max / FLOOR_DIVISOR : options->splice_floor_bytes;
}

static enum firn_rung_reason size_refusal(const struct firn_splicer *splicer, const struct firn_page *page,
                                          uint32_t row_count, bool repacks)
{
    const struct firn_chunk_options *options = splicer->options;
    int32_t bytes = page->header.uncompressed_bytes;
    uint32_t rows_max = (uint32_t)options->page_rows_max;
    uint32_t floor_rows = firn_encoding_is_dictionary(page->header.encoding) ? rows_max / FLOOR_DIVISOR : rows_max;
    if (bytes < floor_bytes_of(splicer, page, repacks) && row_count < floor_rows)
        return FIRN_REASON_TINY_PAGE;
    if (bytes / CEILING_FACTOR > options->page_bytes_max)
        return FIRN_REASON_HUGE_PAGE;
    return FIRN_REASON_NONE;
}

bool firn_splicer_sizes_right(const struct firn_splicer *splicer, const struct firn_page *page, uint32_t row_count,
                              bool repacks)
{
    return takes_all(&splicer->policy) || size_refusal(splicer, page, row_count, repacks) == FIRN_REASON_NONE;
}

enum firn_rung_reason firn_splicer_refusal(const struct firn_splicer *splicer, const struct firn_page *page,
                                           uint32_t row_count)
{
    if (splicer->terms.refusal != FIRN_REASON_NONE)
        return splicer->terms.refusal;
    if (is_legacy(splicer, page))
        return FIRN_REASON_LEGACY_ENCODING;
    if (splicer->options->bloom_bytes_max > 0 && !firn_encoding_is_dictionary(page->header.encoding))
        return FIRN_REASON_BLOOM_FILTER;
    if (takes_all(&splicer->policy))
        return FIRN_REASON_NONE;
    if (splicer->smaller_encoded)
        return FIRN_REASON_SMALLER_ENCODED;
    return size_refusal(splicer, page, row_count, firn_splicer_repacks(splicer, page) != FIRN_REASON_NONE);
}

static void count(struct firn_rung_count *counted, const struct firn_page *page)
{
    counted->pages++;
    counted->bytes += firn_page_file_bytes(page);
}

/* The pages copied of the input chunk so far turn out to be kept, or not. */
static void settle_kept(struct firn_splicer *splicer, enum firn_rung rung)
{
    splicer->counts.rungs[rung].pages += splicer->kept.pages;
    splicer->counts.rungs[rung].bytes += splicer->kept.bytes;
    splicer->kept = (struct firn_rung_count){ 0 };
    splicer->keeps = false;
}

void firn_splicer_count_copied(struct firn_splicer *splicer, const struct firn_spliced_page *copied)
{
    if (copied->is_first || copied->begins_output)
        settle_kept(splicer, FIRN_RUNG_SPLICE);
    if (copied->was_decoded)
        count(&splicer->counts.decoded_for_facts, copied->page);
    if (copied->repack != FIRN_REASON_NONE) {
        settle_kept(splicer, FIRN_RUNG_SPLICE);
        count(&splicer->counts.rungs[FIRN_RUNG_REPACK], copied->page);
        count(&splicer->counts.reasons[copied->repack], copied->page);
        return;
    }
    if (copied->is_first)
        splicer->keeps = copied->begins_output;
    count(splicer->keeps ? &splicer->kept : &splicer->counts.rungs[FIRN_RUNG_SPLICE], copied->page);
    if (copied->is_last)
        settle_kept(splicer, splicer->keeps ? FIRN_RUNG_KEEP : FIRN_RUNG_SPLICE);
}

void firn_splicer_count_passed_over(struct firn_splicer *splicer, const struct firn_page *page)
{
    settle_kept(splicer, FIRN_RUNG_SPLICE);
    count(&splicer->counts.passed_over, page);
}

enum firn_rung firn_splicer_decoded_rung(const struct firn_splicer *splicer, bool by_index)
{
    bool maps = by_index && splicer->options->dictionary && !splicer->sorts && firn_splicer_maps(splicer);
    return maps ? FIRN_RUNG_REMAP : FIRN_RUNG_TRANSCODE;
}

void firn_splicer_count_decoded(struct firn_splicer *splicer, const struct firn_page *page,
                                enum firn_rung_reason reason)
{
    bool by_index = firn_encoding_is_dictionary(page->header.encoding);
    settle_kept(splicer, FIRN_RUNG_SPLICE);
    count(&splicer->counts.rungs[firn_splicer_decoded_rung(splicer, by_index)], page);
    count(&splicer->counts.reasons[reason], page);
}

int64_t firn_splicer_copied_bytes(const struct firn_splicer *splicer)
{
    const struct firn_rung_count *rungs = splicer->counts.rungs;
    return rungs[FIRN_RUNG_KEEP].bytes + rungs[FIRN_RUNG_SPLICE].bytes + splicer->kept.bytes;
}

void firn_splicer_done(struct firn_splicer *splicer)
{
    settle_kept(splicer, FIRN_RUNG_SPLICE);
    firn_facts_scratch_done(&splicer->scratch);
}
