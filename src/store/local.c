/* The local driver: files of this machine, read with pread and listed without following symbolic links. */
#include "store/driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FOLDER_DEPTH_MAX = 200 };

static int64_t modified_ms_of(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
}

static firn_status local_stat(struct firn_op *op, void *state, struct firn_text location, struct firn_store_stat *out)
{
    (void)state;
    struct firn_text path;
    struct stat info;
    FIRN_TRY(firn_location_local_path(op, location, &path));
    if (stat(path.data, &info) != 0)
        return firn_fail_errno(op, errno, "cannot look at '%.*s'", FIRN_FMT(path));
    if (!S_ISREG(info.st_mode))
        return firn_fail(op, FIRN_NOT_FOUND, "'%.*s' is not a regular file", FIRN_FMT(path));
    *out = (struct firn_store_stat){ .size = (uint64_t)info.st_size, .modified_ms = modified_ms_of(&info) };
    return FIRN_OK;
}

struct local_object {
    struct firn_object base;
    int fd;
    struct firn_arena arena; /* holds the object itself */
};

static firn_status local_read(struct firn_op *op, struct firn_object *base, uint64_t offset, size_t len, uint8_t *out)
{
    struct local_object *object = (struct local_object *)base;
    size_t done = 0;
    while (done < len) {
        ssize_t got = pread(object->fd, out + done, len - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return firn_fail_errno(op, errno, "cannot read '%.*s'", FIRN_FMT(base->location));
        if (got == 0)
            return firn_fail(op, FIRN_CORRUPT, "'%.*s' was cut while it was read: it ends at byte %" PRIu64,
                             FIRN_FMT(base->location), offset + done);
        done += (size_t)got;
    }
    return FIRN_OK;
}

int firn_local_descriptor(const struct firn_object *object)
{
    return object->read == local_read ? ((const struct local_object *)object)->fd : -1;
}

static void local_object_close(struct firn_object *base)
{
    struct local_object *object = (struct local_object *)base;
    close(object->fd);
    struct firn_arena arena = object->arena;
    firn_arena_done(&arena);
}

/* O_NONBLOCK keeps a named pipe from blocking the open; it means nothing for regular files. */
static firn_status open_regular(struct firn_op *op, struct firn_text path, int *fd_out, struct stat *info)
{
    int fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return firn_fail_errno(op, errno, "cannot open '%.*s'", FIRN_FMT(path));
    firn_status status = FIRN_OK;
    if (fstat(fd, info) != 0)
        status = firn_fail_errno(op, errno, "cannot look at '%.*s'", FIRN_FMT(path));
    else if (!S_ISREG(info->st_mode))
        status = firn_fail(op, FIRN_NOT_FOUND, "'%.*s' is not a regular file", FIRN_FMT(path));
    if (status != FIRN_OK) {
        close(fd);
        return status;
    }
    *fd_out = fd;
    return FIRN_OK;
}

static firn_status local_open(struct firn_op *op, void *state, struct firn_text location, struct firn_object **out)
{
    (void)state;
    struct firn_text path;
    struct stat info;
    int fd;
    FIRN_TRY(firn_location_local_path(op, location, &path));
    FIRN_TRY(open_regular(op, path, &fd, &info));
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct local_object *object = FIRN_NEW(&arena, struct local_object);
    object->base = (struct firn_object){
        .read = local_read,
        .close = local_object_close,
        .size = (uint64_t)info.st_size,
        .location = firn_text_copy(&arena, location),
    };
    object->fd = fd;
    object->arena = arena;
    *out = &object->base;
    return FIRN_OK;
}

/* Whether a file's beginning lies in the kernel's cache; where that is not told, it does not. */
static bool is_cached(int fd)
{
    char byte;
    struct iovec part = { &byte, sizeof byte };
    return preadv2(fd, &part, 1, 0, RWF_NOWAIT) >= 0;
}

/* The kernel begins to read the file into its cache, and goes on when it is closed: what is expected takes neither
 * memory of ours nor descriptors. */
static bool local_expect(struct firn_op *op, void *state, struct firn_text location)
{
    (void)state;
    struct firn_text path;
    struct stat info;
    int fd;
    if (firn_location_local_path(op, location, &path) != FIRN_OK || open_regular(op, path, &fd, &info) != FIRN_OK)
        return true;
    bool is_far = !is_cached(fd);
    if (is_far)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
    close(fd);
    return is_far;
}

struct listing {
    bool recursive;
    firn_store_visit *visit;
    void *context;
};

/* A folder being listed. */
struct folder {
    struct firn_text location;
    int fd; /* owned by the stream */
    unsigned depth;
    struct firn_arena turn; /* one name's scratch, so that a folder of a million files stays small */
};

static firn_status list_folder(struct firn_op *op, const struct listing *listing, struct firn_text location, int fd,
                               unsigned depth);

static firn_status list_subfolder(struct firn_op *op, const struct listing *listing, const struct folder *folder,
                                  const char *name, struct firn_text location)
{
    if (folder->depth >= FOLDER_DEPTH_MAX)
        return firn_fail(op, FIRN_LIMIT, "'%.*s' lies more than %d folders deep", FIRN_FMT(location), FOLDER_DEPTH_MAX);
    int fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return FIRN_OK;
    if (fd < 0)
        return firn_fail_errno(op, errno, "cannot list '%.*s'", FIRN_FMT(location));
    return list_folder(op, listing, location, fd, folder->depth + 1);
}

/* One name of a folder. What vanished since it was read is left out; symbolic links and devices are too. */
static firn_status list_name(struct firn_op *op, const struct listing *listing, struct folder *folder, const char *name)
{
    struct stat info;
    struct firn_text location = firn_location_join(&folder->turn, folder->location, firn_text_of(name));
    if (fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? FIRN_OK : firn_fail_errno(op, errno, "cannot look at '%.*s'", FIRN_FMT(location));
    if (S_ISDIR(info.st_mode) && listing->recursive)
        return list_subfolder(op, listing, folder, name, location);
    if (!S_ISREG(info.st_mode))
        return FIRN_OK;
    struct firn_store_entry entry = {
        .location = location,
        .size = (uint64_t)info.st_size,
        .modified_ms = modified_ms_of(&info),
    };
    return listing->visit(op, listing->context, &entry);
}

static bool is_self_or_parent(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static firn_status list_names(struct firn_op *op, const struct listing *listing, struct folder *folder, DIR *stream)
{
    for (;;) {
        errno = 0;
        const struct dirent *next = readdir(stream);
        if (!next && errno != 0)
            return firn_fail_errno(op, errno, "cannot list '%.*s'", FIRN_FMT(folder->location));
        if (!next)
            return FIRN_OK;
        if (is_self_or_parent(next->d_name))
            continue;
        FIRN_TRY(list_name(op, listing, folder, next->d_name));
        FIRN_TRY(firn_op_check(op));
        firn_arena_reset(&folder->turn);
    }
}

/* Takes `fd` over. */
static firn_status list_folder(struct firn_op *op, const struct listing *listing, struct firn_text location, int fd,
                               unsigned depth)
{
    DIR *stream = fdopendir(fd);
    if (!stream) {
        firn_status status = firn_fail_errno(op, errno, "cannot list '%.*s'", FIRN_FMT(location));
        close(fd);
        return status;
    }
    struct folder folder = { .location = location, .fd = fd, .depth = depth };
    firn_status status = list_names(op, listing, &folder, stream);
    firn_arena_done(&folder.turn);
    closedir(stream);
    return status;
}

static firn_status local_list(struct firn_op *op, void *state, struct firn_text prefix, bool recursive,
                              firn_store_visit *visit, void *context)
{
    (void)state;
    struct firn_text path;
    FIRN_TRY(firn_location_local_path(op, prefix, &path));
    int fd = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return FIRN_OK;
    if (fd < 0)
        return firn_fail_errno(op, errno, "cannot list '%.*s'", FIRN_FMT(path));
    struct listing listing = { .recursive = recursive, .visit = visit, .context = context };
    return list_folder(op, &listing, prefix, fd, 0);
}

static firn_status local_remove(struct firn_op *op, void *state, struct firn_text location)
{
    (void)state;
    struct firn_text path;
    FIRN_TRY(firn_location_local_path(op, location, &path));
    if (unlink(path.data) != 0 && errno != ENOENT && errno != ENOTDIR)
        return firn_fail_errno(op, errno, "'%.*s'", FIRN_FMT(path));
    return FIRN_OK;
}

const struct firn_store_driver firn_local_driver = {
    .stat = local_stat,
    .open = local_open,
    .expect = local_expect,
    .write = firn_local_write,
    .list = local_list,
    .remove = local_remove,
};
