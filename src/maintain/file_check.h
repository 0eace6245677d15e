/* Checking one data or delete file against its manifest entry. Iceberg spec, "Manifests" (data_file), "Column Metrics",
 * "Row-level Deletes"; parquet-format, "Metadata", "Page Index".
 *
 * What is wrong with a file is a finding, never a failure, so that one damaged file does not hide the next. Codes, with
 * the severity they have; where two are given, the lesser is for what no reader trips over:
 *
 *   file-missing        error           the store has no such object
 *   file-length         error           its size is not the one recorded
 *   file-unreadable     error           no file of its format: magic, footer, header
 *   file-unchecked      notice          firn does not read this kind of file, only its presence was checked
 *   row-count           error           it holds another number of rows than recorded
 *   column-ids          warning, error  its columns cannot be told by field id, or two have the same one
 *   column-unknown      warning         a field id that no schema of the table has
 *   column-missing      error           a column that must be there is not
 *   column-type         error           stored in a form that is not read as the schema's type
 *   value-count, null-count, nan-count  error, warning  the manifest's count is not the file's
 *   lower-bound, upper-bound  error     the manifest's bound is unreadable, or leaves out values of the file
 *   partition-value     error           the file's values do not belong to its partition tuple
 *   split-offsets       warning, error  recorded offsets are not those of row groups
 *   sort-order          warning         the table has no such sort order
 *   first-row-id        error           row ids reach beyond the table's next-row-id
 *   row-lineage         error           stored row ids or sequence numbers that the table never gave out
 *   page-index          error           a page index that does not describe its chunk
 *   statistics          error, warning  a chunk's statistics leave out its values, or count nulls wrong (deep)
 *   bloom-filter        error           a bloom filter that leaves out values of its chunk, or does not parse (deep)
 *   page-damaged        error           a page that does not decode, or whose checksum is wrong (deep)
 *   page-encoding       error           a page that firn and some others read, and strict readers refuse (deep)
 *   value-unreadable    error           a value that the schema's type does not hold (deep)
 *   text-encoding       warning         text that is not UTF-8 (deep)
 *   delete-order        warning         position deletes that are not sorted (deep)
 *   delete-path         warning, error  a position delete without a path, or of another file than recorded (deep)
 *   delete-position     error           a position that no row of the data file has
 *   equality-ids        error           not recorded, of no schema, or columns that the file lacks
 *   referenced-data-file  error, warning  a deletion vector without one, or whose blob names another
 *   deletion-vector     error           a vector that does not decode
 *   puffin-blob         warning         the Puffin footer does not list the vector where the manifest has it */
#ifndef FIRN_MAINTAIN_FILE_CHECK_H
#define FIRN_MAINTAIN_FILE_CHECK_H

#include "maintain/finding.h"
#include "maintain/key_map.h"
#include "store/store.h"
#include "table/manifest.h"

struct firn_file_check {
    struct firn_store *store;
    const struct firn_metadata *metadata;
    const struct firn_manifest_entry *entry; /* with its metrics */
    bool deep;                               /* decode every page and compare values; else footers and magic only */
    const struct firn_key_map *row_counts;   /* rows of the data files, by firn_row_count_key; NULL: not known */
};
/* Of a data file's location, with or without scheme and authority. */
struct firn_hash128 firn_row_count_key(struct firn_text location);

/* Adds to `found` what is wrong with the file; leaves nothing in op->arena. What is in memory at once: the footer, and
 * one column chunk with one page of it; an Avro file as a whole. CANCELLED, and LIMIT where --memory does not suffice,
 * are all it fails with. */
FIRN_CHECKED firn_status firn_file_check(struct firn_op *op, const struct firn_file_check *what,
                                         struct firn_findings *found);

#endif
