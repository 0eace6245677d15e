/* What the parts of the file check share. */
#ifndef FIRN_MAINTAIN_FILE_CHECK_PARTS_H
#define FIRN_MAINTAIN_FILE_CHECK_PARTS_H

#include "format/parquet/order.h"
#include "format/parquet/reader.h"
#include "maintain/file_check.h"
#include "rewrite/conversion.h"
#include "rewrite/input_shape.h"

/* A file being checked. */
struct firn_checked {
    const struct firn_file_check *what;
    const struct firn_data_file *file; /* of its entry */
    struct firn_findings *found;
    struct firn_id_sources ids;
    const struct firn_partition_spec *spec; /* NULL: the table has none of that id */
    struct firn_object *object;
};

/* An error of the file. */
#define FIRN_CHECK_ERROR(checked, code, ...)                                                                           \
    firn_findings_add((checked)->found, FIRN_SEVERITY_ERROR, (code), (checked)->file->path, __VA_ARGS__)
#define FIRN_CHECK_WARNING(checked, code, ...)                                                                         \
    firn_findings_add((checked)->found, FIRN_SEVERITY_WARNING, (code), (checked)->file->path, __VA_ARGS__)

/* Turns a failure to read the file into a finding: `code` as an error, or what firn does not support into a notice.
 * Gives back CANCELLED and LIMIT, which say nothing of the file, and FIRN_OK for all else. */
FIRN_CHECKED firn_status firn_check_failed(struct firn_op *op, struct firn_checked *checked, firn_status status,
                                           const char *code);
/* The field of an id: reserved ones by the kind of file, else in the newest schema that has it. NULL: none. */
const struct firn_field *firn_check_field(const struct firn_checked *checked, int32_t id);
/* Whether readers take the column from the partition tuple, whatever the file stores. */
bool firn_check_is_constant(const struct firn_checked *checked, int32_t field_id);

/* What a file holds of one column, by its footer or by its values. Counts may be FIRN_ABSENT. */
struct firn_column_facts {
    const struct firn_field *field;
    struct firn_text name;
    bool nested;   /* inside a struct: writers differ in whether a null struct is a null of its fields */
    bool repeated; /* inside a list or map */
    int64_t value_count, null_count, nan_count;
    bool has_bounds;                /* there are values, and these lie in [lower, upper] */
    bool lower_exact, upper_exact;  /* a value that occurs; else text or bytes that may have been cut */
    struct firn_value lower, upper; /* of the field's type */
};
/* Compares the manifest's counts and bounds of a column, and the partition tuple where it depends on it. */
void firn_check_metrics(struct firn_op *op, struct firn_checked *checked, const struct firn_column_facts *facts);

/* A leaf column of a Parquet file. */
struct firn_checked_leaf {
    const struct firn_parquet_node *node;
    const struct firn_field *field;    /* NULL: no schema has it, or it is stored in a form that cannot be read as it */
    struct firn_conversion conversion; /* to the form firn would store it in; set with `field` */
};

/* A Parquet file being checked. */
struct firn_checked_parquet {
    struct firn_checked *checked;
    struct firn_footer *footer;
    struct firn_checked_leaf *leaves;
    struct firn_buffer bytes; /* of the footer, index or chunk at hand */
    struct firn_codec_context *codecs;
    bool has_rows; /* nothing that was found keeps its rows from being read one by one */
};

FIRN_CHECKED firn_status firn_check_parquet(struct firn_op *op, struct firn_checked *checked);
/* Finds what each leaf is, and fills parquet->leaves. */
FIRN_CHECKED firn_status firn_check_columns(struct firn_op *op, struct firn_checked_parquet *parquet);
/* Reads bytes of the file into parquet->bytes; CORRUPT when it has no such range. */
FIRN_CHECKED firn_status firn_check_read(struct firn_op *op, struct firn_checked_parquet *parquet, uint64_t offset,
                                         uint64_t len);
/* Facts of a leaf from its chunks' statistics. */
void firn_check_footer_facts(struct firn_op *op, const struct firn_checked_parquet *parquet, uint32_t leaf,
                             struct firn_column_facts *facts);
/* The bounds of a chunk's statistics that are in the column's order; false when there are none. */
bool firn_check_statistics_range(const struct firn_parquet_node *node, const struct firn_parquet_statistics *statistics,
                                 struct firn_bytes *min, struct firn_bytes *max);
/* Decodes all of a leaf: adds findings, and fills `facts` when it could be read to the end. */
FIRN_CHECKED firn_status firn_check_values(struct firn_op *op, struct firn_checked_parquet *parquet, uint32_t leaf,
                                           struct firn_column_facts *facts, bool *complete);

/* The page indexes of a chunk, in op->arena; without pages where there is none, or one that is wrong. */
struct firn_checked_index {
    struct firn_offset_index offsets;
    struct firn_column_index columns;
};
/* Reads them and checks what the footer alone tells. */
FIRN_CHECKED firn_status firn_check_index(struct firn_op *op, struct firn_checked_parquet *parquet,
                                          const struct firn_row_group *row_group, uint32_t leaf,
                                          struct firn_checked_index *out);
/* Compares a page, the `page`th with values, with its place in the indexes. `first_row` is its first row that begins
 * in it; `real` are bounds of what it holds. */
struct firn_checked_page {
    uint32_t page;
    int64_t first_row;
    int64_t slot_count, value_count;
    const struct firn_bounds *real;
};
/* False: the indexes are wrong there, which was said; what follows needs no comparing. */
bool firn_check_index_page(struct firn_checked_parquet *parquet, uint32_t leaf, const struct firn_checked_index *index,
                           const struct firn_checked_page *page);
/* Whether bounds of the leaf's order leave out some of what was really there, or are none of its type. */
bool firn_check_bounds_exclude(const struct firn_parquet_node *node, struct firn_bytes min, struct firn_bytes max,
                               const struct firn_bounds *real);

FIRN_CHECKED firn_status firn_check_avro(struct firn_op *op, struct firn_checked *checked);
FIRN_CHECKED firn_status firn_check_position_deletes(struct firn_op *op, struct firn_checked *checked);
FIRN_CHECKED firn_status firn_check_deletion_vector(struct firn_op *op, struct firn_checked *checked);

#endif
