/* Who wrote a file: FileMetaData.created_by, "parquet-mr version 1.10.1 (build ...)". parquet.thrift, FileMetaData. */
#ifndef FIRN_FORMAT_PARQUET_CREATED_BY_H
#define FIRN_FORMAT_PARQUET_CREATED_BY_H

#include "firn/text.h"

struct firn_writer_version {
    uint32_t major, minor, patch;
};

/* Whether the file was written by this application, whose name is what stands before "version". */
bool firn_written_by(struct firn_text created_by, const char *application);
/* Whether it was by this application in a version before or from the given one on. A file that does not name a version
 * is taken to be of the oldest. */
bool firn_written_before(struct firn_text created_by, const char *application, struct firn_writer_version version);
bool firn_written_since(struct firn_text created_by, const char *application, struct firn_writer_version version);

#endif
