/* What the parsers of Parquet's Thrift structures share. */
#ifndef FIRN_FORMAT_PARQUET_PARSE_INTERNAL_H
#define FIRN_FORMAT_PARQUET_PARSE_INTERNAL_H

#include "format/parquet/metadata.h"
#include "format/parquet/thrift_read.h"

/* One structure being read. What is parsed borrows from the cursor's bytes. */
struct firn_parse {
    struct firn_cursor in;
    struct firn_arena *arena;
    int64_t unknown_value; /* set by firn_parse_unknown */
    const char *unknown;   /* what the value is of that firn does not know; NULL: none */
    bool unknown_later;    /* and whether a newer format may define it */
};

/* A value of one of the format's enumerations that is `known_count` or above, below 0, or was never used: ends the
 * parse. `what` is a literal, as "compression codec". */
void firn_parse_unknown(struct firn_parse *parse, const char *what, int64_t value, int64_t known_count);
/* After firn_parse_unknown UNSUPPORTED where a newer format may define the value, else CORRUPT, as after all other
 * failures. FIRN_OK without any. */
FIRN_CHECKED firn_status firn_parse_finish(struct firn_op *op, const struct firn_parse *parse, const char *what);

/* Fields that were met, by their numbers below 64. */
static inline uint64_t firn_field_bit(const struct firn_thrift_field *field)
{
    return (uint32_t)field->id < 64 ? UINT64_C(1) << field->id : 0;
}
#define FIRN_FIELD(id) (UINT64_C(1) << (id))
/* Fails unless all of `required` were met. `what` is a literal, as "lacks a required field of ...". */
static inline void firn_parse_require(struct firn_parse *parse, uint64_t met, uint64_t required, const char *what)
{
    if ((met & required) != required)
        firn_cursor_fail(&parse->in, what);
}

enum firn_encoding firn_parse_encoding(struct firn_parse *parse, int32_t value);
void firn_parse_statistics(struct firn_parse *parse, struct firn_parquet_statistics *out);
/* A list of i64 in the arena. */
int64_t *firn_parse_i64_list(struct firn_parse *parse, const struct firn_thrift_field *field, uint32_t *count);
/* The list of SchemaElement, as the tree below footer->root; not yet finished. */
void firn_parse_schema(struct firn_parse *parse, const struct firn_thrift_field *field, struct firn_footer *footer);

#endif
