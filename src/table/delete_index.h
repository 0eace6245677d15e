/* Which delete files apply to which data file.
 *
 * The index is built once from all live delete files and then asked for each data file. Answers are slices of sorted
 * arrays wherever possible, so that planning 20,000 data files against 5,000 deletes neither compares every pair nor
 * stores one. Iceberg spec, "Scan Planning"; reference: format-notes.md, 3. */
#ifndef FIRN_TABLE_DELETE_INDEX_H
#define FIRN_TABLE_DELETE_INDEX_H

#include "table/manifest.h"

/* Reserved fields of position delete files. Iceberg spec, "Reserved Field IDs". */
#define FIRN_FIELD_ID_DELETE_FILE_PATH INT32_C(2147483546)
#define FIRN_FIELD_ID_DELETE_FILE_POS  INT32_C(2147483545)
#define FIRN_FIELD_ID_DELETE_FILE_ROW  INT32_C(2147483544)

/* Borrowed entries; several files may share one list. */
struct firn_delete_list {
    const struct firn_manifest_entry **items;
    uint32_t count;
};

/* The deletes of one data file, by the way they are found. */
struct firn_delete_match {
    struct firn_delete_list equality; /* of the partition, or of the whole table */
    struct firn_delete_list wide;     /* position deletes that may name several data files of the partition */
    struct firn_delete_list own;      /* the file's deletion vector, or position deletes that name this file alone */
};
static inline uint32_t firn_delete_match_count(const struct firn_delete_match *match)
{
    return match->equality.count + match->wide.count + match->own.count;
}

/* Replaces `out` by a key that is equal for files of one spec and one partition tuple, and only for those. */
FIRN_CHECKED firn_status firn_data_file_partition_key(struct firn_op *op, const struct firn_data_file *file,
                                                      struct firn_buffer *out);

struct firn_delete_index;
/* `entries` are live delete entries, borrowed. CORRUPT when two deletion vectors name one data file. */
FIRN_CHECKED firn_status firn_delete_index_new(struct firn_op *op, const struct firn_metadata *metadata,
                                               const struct firn_manifest_entry *const *entries, uint32_t count,
                                               struct firn_delete_index **out);
/* What applies to a live data file, in op->arena. Where a deletion vector applies, other position deletes do not.
 * CORRUPT for a vector that is older than its file or of another partition. */
FIRN_CHECKED firn_status firn_delete_index_match(struct firn_op *op, struct firn_delete_index *index,
                                                 const struct firn_manifest_entry *data, struct firn_delete_match *out);

/* Whether a live delete entry applies to a data file entry (spec rules; no file is opened; position deletes without
 * path information count as applying, and so do those that spell the file with another scheme or authority). */
bool firn_delete_applies(const struct firn_metadata *metadata, const struct firn_manifest_entry *del,
                         const struct firn_manifest_entry *data);
/* A position delete that names exactly one data file: vector, referenced_data_file, or equal and complete path bounds.
 * Gives its path, or an empty text. */
struct firn_text firn_delete_file_scope(const struct firn_data_file *file);
/* A location without "scheme://authority" in front: writers spell one file both with and without. */
struct firn_text firn_delete_path_bare(struct firn_text location);

#endif
