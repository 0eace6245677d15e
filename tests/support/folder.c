/* Temporary folders. */
#include "support/folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct firn_text folder_make(struct firn_arena *arena)
{
    const char *parent = getenv("TMPDIR");
    struct firn_text path = firn_text_format(arena, "%s/firn-test-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp((char *)(uintptr_t)path.data)) {
        perror("mkdtemp");
        abort();
    }
    return path;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

void folder_remove(struct firn_text path)
{
    nftw(path.data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

bool folder_copies_in_kernel(struct firn_arena *arena, struct firn_text path)
{
    struct firn_text name = firn_text_format(arena, "%.*s/.probe", FIRN_FMT(path));
    int from = open(name.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600), to = open(path.data, O_TMPFILE | O_RDWR, 0600);
    off_t offset = 0;
    bool copies =
        from >= 0 && to >= 0 && write(from, "x", 1) == 1 && copy_file_range(from, &offset, to, NULL, 1, 0) == 1;
    close(from);
    close(to);
    unlink(name.data);
    return copies;
}
