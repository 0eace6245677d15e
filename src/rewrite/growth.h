/* How a dictionary grows with the rows: what was seen of some of them, carried on. */
#ifndef FIRN_REWRITE_GROWTH_H
#define FIRN_REWRITE_GROWTH_H

/* So many bytes of dictionary after so many rows. */
struct firn_growth_point {
    double rows, bytes;
};

/* Either a power of the rows, as of values of which there are ever more rare ones, or the approach to a limit, as of
 * values that are all about as frequent. */
struct firn_growth {
    struct firn_growth_point end; /* of what was seen */
    double exponent;              /* 0: all values are there, 1: each row brings one */
    double limit;                 /* bytes; 0: it is a power */
    double missing;               /* the part of the limit that was not reached in the end */
};

/* From points at about a quarter of the rows, half of them, and the end; the quarter decides which of the two it is. */
struct firn_growth firn_growth_fit(struct firn_growth_point quarter, struct firn_growth_point half,
                                   struct firn_growth_point end);
/* Bytes after so many rows. */
double firn_growth_bytes(const struct firn_growth *growth, double rows);
/* Rows after which there are so many bytes, which there are not yet; infinite if there never are. */
double firn_growth_rows(const struct firn_growth *growth, double bytes);

#endif
