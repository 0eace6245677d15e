/* Copying between files within the kernel: copy_file_range(2), which takes no detour through this program's memory, and
 * on some file systems shares what is copied. */
#ifndef FIRN_STORE_FILE_COPY_H
#define FIRN_STORE_FILE_COPY_H

#include <stdint.h>
#include <sys/types.h>

/* copy_file_range, or a test's. */
typedef ssize_t firn_file_copy_call(int in, off_t *in_offset, int out, off_t *out_offset, size_t len, unsigned flags);

struct firn_file_part {
    int fd;
    uint64_t offset, len;
};
/* Appends a part of one file to another where that stands. `*copied` is how much of it was; less than all when the rest
 * must be read and written: this kernel or these file systems cannot, the file ends there, or one of the disks broke.
 * Gives an errno otherwise, 0: none. */
int firn_file_copy(firn_file_copy_call *call, struct firn_file_part from, int to, uint64_t *copied);

#endif
