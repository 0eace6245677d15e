/* How members of a C struct correspond to fields of an Avro record: one table serves reading and writing.
 *
 * Reading binds the writer's fields to members by field id, or by name where the writer gave a field no id; the plan is
 * made once per file. A null, or a field the writer does not have, leaves the member as it was, so the caller presets
 * the struct. Writing gives the fields in the order of the table. */
#ifndef FIRN_FORMAT_AVRO_LAYOUT_H
#define FIRN_FORMAT_AVRO_LAYOUT_H

#include "format/avro/take.h"

/* An int64_t member that stands for null. */
#define FIRN_AVRO_ABSENT INT64_MIN

/* What the member is in C, and in Avro. Reading takes int for long and long for int when it fits. */
enum firn_avro_member {
    FIRN_AVRO_MEMBER_BOOL,        /* bool: boolean. Null when *present is false */
    FIRN_AVRO_MEMBER_FLAG,        /* bool: int 0 or 1 */
    FIRN_AVRO_MEMBER_I32,         /* int32_t or an enum: int */
    FIRN_AVRO_MEMBER_I64,         /* int64_t: long. Null is FIRN_AVRO_ABSENT */
    FIRN_AVRO_MEMBER_I64_INT,     /* int64_t: int. Null is FIRN_AVRO_ABSENT */
    FIRN_AVRO_MEMBER_TEXT,        /* struct firn_text: string, UTF-8. Null is data == NULL */
    FIRN_AVRO_MEMBER_BYTES,       /* struct firn_bytes: bytes. Null is data == NULL */
    FIRN_AVRO_MEMBER_I32_LIST,    /* int32_t *, uint32_t count: array<int>. Null is NULL */
    FIRN_AVRO_MEMBER_I64_LIST,    /* int64_t *, uint32_t count: array<long>. Null is NULL */
    FIRN_AVRO_MEMBER_I64_MAP,     /* int32_t * keys, int64_t * values, uint32_t count, bool present */
    FIRN_AVRO_MEMBER_BYTES_MAP,   /* int32_t * keys, struct firn_bytes * values, uint32_t count, bool present */
    FIRN_AVRO_MEMBER_RECORD,      /* members of the same struct, given by `record` */
    FIRN_AVRO_MEMBER_RECORD_LIST, /* array of structs given by `record`, uint32_t count, bool present */
    FIRN_AVRO_MEMBER_SCALAR,      /* struct firn_avro_scalar: any primitive */
};

/* A primitive value with the type its writer gave it; `type` NULL is null. */
struct firn_avro_scalar {
    const struct firn_avro_type *type;
    union {
        int64_t integer;         /* BOOLEAN, INT, LONG */
        double real;             /* FLOAT, DOUBLE */
        struct firn_bytes bytes; /* BYTES, STRING, FIXED */
    };
};

struct firn_avro_layout;

struct firn_avro_column {
    int32_t id;
    struct firn_text name; /* as the schema shows it to people; the written Avro name is made from it */
    enum firn_avro_member member;
    bool optional;                            /* read: may be missing or null; written: union of null and the type */
    size_t offset;                            /* of the member, from the start of the row's struct */
    size_t values_offset, count_offset;       /* maps: values; lists and maps: count */
    size_t present_offset;                    /* of a bool that tells null from empty; 0: there is none */
    int32_t element_id;                       /* lists */
    int32_t key_id, value_id;                 /* maps */
    const struct firn_avro_layout *record;    /* RECORD, RECORD_LIST */
    const struct firn_avro_type *scalar_type; /* SCALAR, when written */
};

struct firn_avro_layout {
    struct firn_text name; /* of the written record: "r2" */
    size_t item_bytes;     /* size of the struct, where it is an item of a RECORD_LIST */
    const struct firn_avro_column *columns;
    uint32_t column_count;
};

/* Reading ------------------------------------------------------------------------------------------------------ */

struct firn_avro_plan;
/* Binds a writer's record to a layout. Lives in op->arena and borrows both. CORRUPT when a column that is not optional
 * has no field, or a field has a type its column cannot take. */
FIRN_CHECKED firn_status firn_avro_plan_new(struct firn_op *op, const struct firn_avro_type *writer,
                                            const struct firn_avro_layout *layout, const struct firn_avro_plan **out);

struct firn_avro_decoder {
    struct firn_cursor in;
    struct firn_arena *arena; /* for lists and maps */
    bool copy;                /* texts and bytes are copied to the arena; else they borrow from the cursor's bytes */
};
/* Decodes one row into the struct at `row`. Check decoder->in.failure (firn_cursor_finish) before using it. */
void firn_avro_plan_decode(const struct firn_avro_plan *plan, struct firn_avro_decoder *decoder, void *row);

/* Writing ------------------------------------------------------------------------------------------------------ */

/* The record's schema as JSON with Iceberg's id attributes. New reference. */
json_t *firn_avro_layout_schema(struct firn_arena *arena, const struct firn_avro_layout *layout);
/* Appends one row to `out`. A null in a column that is not optional is CORRUPT and names the column. */
FIRN_CHECKED firn_status firn_avro_layout_encode(struct firn_op *op, const struct firn_avro_layout *layout,
                                                 const void *row, struct firn_buffer *out);

#endif
