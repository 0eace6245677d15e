/* Offering pages: as they lie, then with their levels decoded, then with their values, as far as the receiver asks. */
#include "rewrite/column_offer.h"

/* What forbids taking over the page, and what has it repacked. */
static void judge(const struct firn_pull *pull, struct firn_page_offer *offer)
{
    const struct firn_splicer *splicer = pull->column->splicer;
    offer->refusal = firn_splicer_refusal(splicer, offer->page, offer->row_count);
    if (offer->refusal == FIRN_REASON_NONE && offer->is_lax)
        offer->refusal = FIRN_REASON_LEGACY_ENCODING;
    offer->repack = firn_splicer_repacks(splicer, offer->page);
}

static firn_status consider(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                            enum firn_offer_answer *out)
{
    const struct firn_column_receiver *receiver = pull->receiver;
    judge(pull, offer);
    if (offer->refusal == FIRN_REASON_NONE && firn_encoding_is_dictionary(offer->page->header.encoding))
        FIRN_TRY(firn_chunk_reader_dictionary(op, pull->column->reader, &offer->dictionary));
    return receiver->consider(op, receiver->context, pull->column, offer, pull->row, out);
}

/* Whether nothing of the page is to be emitted. */
static bool is_settled(enum firn_offer_answer answer)
{
    return answer == FIRN_OFFER_TAKEN || answer == FIRN_OFFER_PASSED_OVER;
}

/* A page that is at hand, its levels decoded: what is offered of it. */
struct opened_page {
    const struct firn_page *page; /* as it lies */
    bool ends_row;
    struct firn_page_facts facts;
    struct firn_vector levels; /* the output's */
    struct firn_packed_page packed;
};

/* Makes the page the current one. */
static firn_status open_page(struct firn_op *op, struct firn_column *column)
{
    bool has_page;
    FIRN_TRY(firn_chunk_reader_next_levels(op, column->reader, &column->page, &has_page));
    column->page_slot = column->page_value = 0;
    return FIRN_OK;
}

/* The levels as the output has them, and the values as they are encoded. */
static firn_status pack_page(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                             struct opened_page *opened)
{
    struct firn_column *column = pull->column;
    if (offer->repack == FIRN_REASON_NONE)
        return FIRN_OK;
    FIRN_TRY(firn_adapter_levels(op, &column->adapter, pull->plan, column->leaf->node, &column->page, &opened->levels));
    FIRN_TRY(firn_chunk_reader_packed(op, column->reader, offer->is_unfolded, &opened->packed));
    opened->packed.levels = &opened->levels;
    offer->packed = &opened->packed;
    return FIRN_OK;
}

static firn_status offer_with_facts(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                                    struct opened_page *opened, enum firn_offer_answer *out)
{
    if (offer->packed)
        firn_page_facts_count(&pull->column->splicer->scratch, &opened->levels, &opened->facts);
    offer->facts = &opened->facts;
    return consider(op, pull, offer, out);
}

/* Offers the page at hand with what metadata tell besides its levels. */
static firn_status offer_levels(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                                struct opened_page *opened, enum firn_offer_answer *out)
{
    struct firn_column *column = pull->column;
    struct firn_page_facts counted = { .ends_row = opened->ends_row };
    offer->facts = NULL;
    *out = FIRN_OFFER_AGAIN;
    FIRN_TRY(pack_page(op, pull, offer, opened));
    firn_page_facts_count(&column->splicer->scratch, &column->page, &counted);
    if (!column->has_sources || !firn_page_facts_find(&column->chunk_arena, &column->sources, opened->page,
                                                      column->page_count, &counted, &opened->facts))
        return FIRN_OK;
    return offer_with_facts(op, pull, offer, opened, out);
}

/* Offers the page at hand with its values. */
static firn_status offer_values(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                                struct opened_page *opened, enum firn_offer_answer *out)
{
    struct firn_column *column = pull->column;
    FIRN_TRY(firn_page_facts_of(op, &column->splicer->scratch, column->leaf->node, &column->page, &opened->facts));
    opened->facts.ends_row = opened->ends_row;
    offer->vector = &column->page;
    if (offer->packed) {
        firn_adapter_keep_values(&column->page, &opened->levels);
        offer->vector = &opened->levels;
    }
    return offer_with_facts(op, pull, offer, opened, out);
}

/* Offers the page at hand, as much of it decoded as it takes. `*done`: nothing of it is to be emitted. */
static firn_status offer_opened(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                                struct opened_page *opened, bool *done)
{
    struct firn_column *column = pull->column;
    enum firn_offer_answer answer = FIRN_OFFER_REFUSED;
    if (column->page.row_count == offer->row_count) /* else the header is wrong */
        FIRN_TRY(offer_levels(op, pull, offer, opened, &answer));
    *done = is_settled(answer);
    if (!*done)
        FIRN_TRY(firn_chunk_reader_values(op, column->reader, &column->page));
    if (answer == FIRN_OFFER_AGAIN)
        FIRN_TRY(offer_values(op, pull, offer, opened, &answer));
    *done = is_settled(answer);
    if (*done)
        firn_column_drop_page(column);
    return FIRN_OK;
}

/* Makes the page one of values where it is of indices without need. */
static firn_status unfold(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                          struct firn_page *unfolded)
{
    struct firn_column *column = pull->column;
    const struct firn_splicer *splicer = column->splicer;
    if (!offer->facts || !firn_splicer_may_copy(splicer) || !firn_splicer_unfolds(splicer, offer->row_count))
        return FIRN_OK;
    if (firn_splicer_repacks(splicer, offer->page) == FIRN_REASON_NONE) {
        FIRN_TRY(firn_chunk_reader_unfold(op, column->reader, unfolded, &offer->is_unfolded));
        unfolded->lasts =
            offer->is_unfolded && unfolded->tail.len > 0 && pull->slice->lends && firn_row_slice_in_memory(pull->slice);
    } else {
        FIRN_TRY(firn_chunk_reader_unfolds(op, column->reader, &offer->is_unfolded));
        *unfolded = *offer->page;
        unfolded->header.encoding = FIRN_ENCODING_PLAIN;
    }
    if (offer->is_unfolded)
        offer->page = unfolded;
    return FIRN_OK;
}

/* Offers a page before it is decoded, and again after that if it is wanted so. */
static firn_status offer_page(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer, bool *done)
{
    struct firn_column *column = pull->column;
    struct opened_page opened = { .page = offer->page, .ends_row = true };
    struct firn_page unfolded;
    enum firn_offer_answer answer;
    FIRN_TRY(unfold(op, pull, offer, &unfolded));
    FIRN_TRY(consider(op, pull, offer, &answer));
    *done = is_settled(answer);
    if (*done)
        return firn_chunk_reader_pass(op, column->reader, offer->row_count);
    if (answer == FIRN_OFFER_REFUSED)
        return firn_column_decode_page(op, column);
    FIRN_TRY(open_page(op, column));
    return offer_opened(op, pull, offer, &opened, done);
}

/* A page of which it is not known which rows it holds: its levels are decoded to learn it. */
static firn_status offer_unknown(struct firn_op *op, struct firn_pull *pull, struct firn_page_offer *offer,
                                 int64_t rows_left, bool *done)
{
    struct firn_column *column = pull->column;
    const struct firn_vector *page = &column->page;
    struct opened_page opened = { .page = offer->page };
    FIRN_TRY(open_page(op, column));
    offer->row_count = page->row_count;
    judge(pull, offer);
    if (offer->refusal == FIRN_REASON_NONE) {
        if (page->rep[0] == 0)
            FIRN_TRY(firn_chunk_reader_at_row_end(op, column->reader, &opened.ends_row));
        offer->refusal = opened.ends_row ? FIRN_REASON_STEP_END : FIRN_REASON_LEVELS;
        if (opened.ends_row && page->row_count <= rows_left)
            return offer_opened(op, pull, offer, &opened, done);
    }
    return firn_chunk_reader_values(op, column->reader, &column->page);
}

/* Looks into the page before it is offered, if its encoding alone does not tell whether it may be taken over. */
static firn_status find_lax(struct firn_op *op, struct firn_column *column, struct firn_page_offer *offer)
{
    bool is_strict = true;
    if (firn_splicer_looks_into(column->splicer, offer->page))
        FIRN_TRY(firn_chunk_reader_strict(op, column->reader, &is_strict));
    offer->is_lax = !is_strict;
    return FIRN_OK;
}

firn_status firn_column_offer_page_ahead(struct firn_op *op, struct firn_pull *pull, const struct firn_next_page *next,
                                         int64_t rows_left, uint32_t *row_count)
{
    struct firn_column *column = pull->column;
    struct firn_page_offer offer = {
        .page = &next->page,
        .facts = next->has_facts ? &next->facts : NULL,
        .row_count = next->row_count,
        .is_first = column->page_count == 0,
        .is_last = column->slots_left == next->page.header.value_count,
        .refusal = FIRN_REASON_STEP_END,
    };
    bool done = false;
    FIRN_TRY(find_lax(op, column, &offer));
    if (!next->holds_rows)
        FIRN_TRY(offer_unknown(op, pull, &offer, rows_left, &done));
    else if (next->row_count <= rows_left)
        FIRN_TRY(offer_page(op, pull, &offer, &done));
    else
        FIRN_TRY(firn_column_decode_page(op, column));
    if (!done)
        firn_splicer_count_decoded(column->splicer, &next->page, offer.refusal);
    *row_count = done ? offer.row_count : 0;
    return FIRN_OK;
}
