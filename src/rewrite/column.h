/* One output column read along a window: a cursor over the pages of its input chunks that yields adapted vectors, or
 * whole pages to who can use them as they are. */
#ifndef FIRN_REWRITE_COLUMN_H
#define FIRN_REWRITE_COLUMN_H

#include "format/parquet/reader.h"
#include "rewrite/adapter.h"
#include "rewrite/splice.h"
#include "rewrite/window.h"

/* Zeros are a column before the first row, once `leaf` and `codec` are set. */
struct firn_column {
    const struct firn_output_leaf *leaf;
    struct firn_codec_context *codec; /* borrowed */
    size_t slice;                     /* in the window */
    int64_t slice_row;                /* rows of it passed on */
    struct firn_chunk_reader *reader; /* of the slice's chunk; NULL: not open */
    struct firn_buffer chunk;
    uint32_t page_count;     /* data pages of the chunk that are decoded or passed over, */
    int64_t slots_left;      /* and slots of those that come after */
    struct firn_vector page; /* being passed on; slots before page_slot are done */
    uint32_t page_slot, page_value;
    struct firn_adapter adapter;
    struct firn_splicer *splicer; /* NULL: no page is offered */
    struct firn_arena chunk_arena;
    struct firn_page_sources sources; /* of the chunk, in chunk_arena */
    bool has_sources;                 /* its pages may be copied */
};

/* Receives a vector of the output leaf. `row` counts from the start of the pull and is that of the vector's first slot,
 * which may continue a row begun by the vector before. */
typedef firn_status firn_column_emit(struct firn_op *op, void *context, const struct firn_column *column,
                                     const struct firn_vector *vector, int64_t row);

/* A page all of whose rows the pull wants: first as it lies in the input, then with its levels decoded, then with its
 * values, too. */
struct firn_page_offer {
    const struct firn_page *page;
    const struct firn_dictionary *dictionary; /* of a page of indices that may be copied; NULL: there is none */
    const struct firn_page_facts *facts;      /* of the output's levels; NULL: more must be decoded to know them */
    const struct firn_packed_page *packed;    /* for a page to be repacked, with the output's levels; NULL: not yet */
    const struct firn_vector *vector;         /* the page decoded, with the output's levels; NULL: not yet */
    uint32_t row_count;
    bool is_first, is_last;        /* of the chunk's data pages */
    bool is_unfolded;              /* the page was made of the chunk's dictionary */
    bool is_lax;                   /* its content is encoded as strict readers do not take it */
    enum firn_rung_reason repack;  /* NONE: it need not be repacked */
    enum firn_rung_reason refusal; /* NONE: it may be taken over as far as its header tells */
};
enum firn_offer_answer {
    FIRN_OFFER_TAKEN,
    FIRN_OFFER_PASSED_OVER, /* no row of it is wanted */
    FIRN_OFFER_AGAIN,       /* wanted with more of it decoded */
    FIRN_OFFER_REFUSED      /* for the reason that the offer is given; its rows are emitted */
};
/* Decides about a page whose first row is `row` of the pull. */
typedef firn_status firn_column_consider(struct firn_op *op, void *context, const struct firn_column *column,
                                         struct firn_page_offer *offer, int64_t row, enum firn_offer_answer *out);

struct firn_column_receiver {
    firn_column_emit *emit;
    firn_column_consider *consider; /* NULL: everything is emitted */
    void *context;
};

/* Passes on the next `rows` rows; the window must hold them. */
FIRN_CHECKED firn_status firn_column_pull(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                                          int64_t rows, const struct firn_column_receiver *receiver);
/* Opens the chunk that the next row lies in, as the next pull would. Does nothing for a column that reads none. */
FIRN_CHECKED firn_status firn_column_open(struct firn_op *op, struct firn_column *column, struct firn_window *window);
/* Puts the rest of the slice that the column stands in into `stage`, whose rows these are; the column stays where it
 * is. Does nothing for a column that reads no chunk of it. */
FIRN_CHECKED firn_status firn_column_stage(struct firn_op *op, struct firn_column *column, struct firn_window *window,
                                           struct firn_stage *stage);
/* Gives up the chunk being read; the next pull opens it again and decodes its way to the place. For row groups that are
 * larger than what all columns together may hold. Frees scratch memory, too. */
void firn_column_suspend(struct firn_column *column);
void firn_column_close(struct firn_column *column);

/* Part of a vector: slots from `slot` on, whose values begin at `value`. Stops before the row that follows the first
 * `rows` rows to begin there, or at the end. */
struct firn_vector firn_vector_part(const struct firn_vector *vector, uint32_t slot, uint32_t value, int64_t rows);
/* Appends `count` levels of a vector; where it has none, all of them are `otherwise`. */
FIRN_CHECKED firn_status firn_levels_append(struct firn_op *op, struct firn_buffer *out, const uint8_t *levels,
                                            uint8_t otherwise, uint32_t count);

#endif
