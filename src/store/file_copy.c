/* copy_file_range and what it leaves to be done otherwise. */
#include "store/file_copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* What says that these two files are not copied so, whatever the disk holds. EPERM: the output must not be written at
 * all, which writing tells better; EBADF: it was opened to append; EIO: which of the two broke, reading and writing
 * tell. */
static bool is_unable(int error)
{
    return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM ||
           error == EBADF || error == EIO;
}

int firn_file_copy(firn_file_copy_call *call, struct firn_file_part from, int to, uint64_t *copied)
{
    for (*copied = 0; *copied < from.len;) {
        off_t offset = (off_t)(from.offset + *copied);
        ssize_t now = call(from.fd, &offset, to, NULL, (size_t)(from.len - *copied), 0);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return is_unable(errno) ? 0 : errno;
        if (now == 0)
            return 0;
        *copied += (uint64_t)now;
    }
    return 0;
}
