/* An object read line by line, in bounded memory. */
#ifndef FIRN_STORE_LINES_H
#define FIRN_STORE_LINES_H

#include "store/store.h"

struct firn_lines {
    struct firn_object *object;
    struct firn_buffer chunk;
    uint64_t offset; /* of the object: what is in `chunk` ends here */
    size_t at;       /* in `chunk`: where the next line begins */
    uint64_t number; /* of the line given last, from 1 */
};

/* Fills storage the caller owns; needs firn_lines_close. NOT_FOUND. */
FIRN_CHECKED firn_status firn_lines_open(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                         struct firn_lines *out);
/* The next line without its end ("\n" or "\r\n"), borrowed until the next call. `*got` is false at the end of the
 * object. CORRUPT for a line of more than a mebibyte. */
FIRN_CHECKED firn_status firn_lines_next(struct firn_op *op, struct firn_lines *lines, struct firn_text *line,
                                         bool *got);
/* Calls `visit` for every line left, with an arena that goes after the line; until one fails. CANCELLED on a stop. */
typedef firn_status firn_lines_visit(struct firn_op *op, void *context, struct firn_text line);
FIRN_CHECKED firn_status firn_lines_each(struct firn_op *op, struct firn_lines *lines, firn_lines_visit *visit,
                                         void *context);
void firn_lines_close(struct firn_lines *lines);

#endif
