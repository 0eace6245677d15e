/* Temporary folders. */
#include "support/folder.h"

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
