/* Inside the delete writer: the two forms that deleted rows take. */
#ifndef FIRN_REWRITE_DELETE_WRITER_FORM_H
#define FIRN_REWRITE_DELETE_WRITER_FORM_H

#include "rewrite/delete_writer.h"

/* What is to be written: by spec, partition and path, nothing empty. */
struct firn_sorted_deletes {
    const struct firn_row_deletes **items;
    const struct firn_bytes *keys; /* one each: equal where spec and partition are */
    uint32_t count;
};

/* Both add each file to `out` as soon as it may exist, so that a failure can remove it. */
struct firn_written_deletes {
    FIRN_ARRAY(struct firn_data_file) files;
};
/* Position delete files. Iceberg spec, "Position Delete Files". */
FIRN_CHECKED firn_status firn_position_deletes_write(struct firn_op *op, const struct firn_delete_writer_config *config,
                                                     const struct firn_sorted_deletes *deletes,
                                                     struct firn_written_deletes *out);
/* One Puffin file of vectors. Iceberg spec, "Deletion Vectors". */
FIRN_CHECKED firn_status firn_deletion_vectors_write(struct firn_op *op, const struct firn_delete_writer_config *config,
                                                     const struct firn_sorted_deletes *deletes,
                                                     struct firn_written_deletes *out);

#endif
