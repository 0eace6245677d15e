/* Writing local files: a file without a name in the same folder, made durable, then given its name in one step. Where
 * the file system has no files without a name, one with a temporary name.
 *
 * The name is taken by rename() where replacing is meant, and where it is not by linkat() or, for a temporary name, by
 * renameat2(RENAME_NOREPLACE), which never replace: invariant (1) of store.h, and what lets the filesystem catalog swap
 * versions. A process killed in between leaves nothing, or a file whose name begins with ".firn-", which nothing refers
 * to. */
#include "store/driver.h"

#include "base/math.h"
#include "base/uuid.h"
#include "store/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COPIED_BYTES_MIN = 32 << 10 }; /* less is read and written as fast as the kernel copies it */
enum { BUFFER_BYTES = 1 << 20, WRITEBACK_BYTES = 8 << 20, PARTS_MAX = 512 };

struct local_writer {
    struct firn_store_writer base;
    struct firn_text path;
    struct firn_text folder;
    struct firn_text temporary; /* empty: the file has no name */
    int fd;
    bool exclusive;
    bool relaxed;              /* not made to survive a loss of power */
    bool named;                /* the file has its name, and the temporary one is gone */
    struct firn_buffer buffer; /* at most BUFFER_BYTES not yet given to the system */
    int64_t given, begun;      /* bytes: given to the system, and what of them it was told to write */
    struct firn_arena arena;   /* holds the writer itself */
};

/* Folders are synced so that a name in them survives a loss of power. Not every file system can; such a one has its
 * own way to keep names. */
static firn_status sync_folder(struct firn_op *op, struct firn_text folder)
{
    int fd = open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return firn_fail_errno(op, errno, "cannot open folder '%.*s'", FIRN_FMT(folder));
    int failed = fsync(fd) != 0 && errno != EINVAL && errno != EROFS ? errno : 0;
    close(fd);
    return failed ? firn_fail_errno(op, failed, "cannot sync folder '%.*s'", FIRN_FMT(folder)) : FIRN_OK;
}

static struct firn_text folder_of(struct firn_arena *arena, struct firn_text path)
{
    struct firn_text copy = firn_text_copy(arena, path);
    return firn_text_of(dirname((char *)(uintptr_t)copy.data)); /* dirname writes into the copy, which is ours */
}

/* Makes the missing folders from the outermost on, each one's name durable in its parent. */
static firn_status make_folders(struct firn_op *op, struct firn_arena *arena, struct firn_text folder)
{
    FIRN_ARRAY(struct firn_text) missing = { 0 };
    struct stat info;
    while (stat(folder.data, &info) != 0 && errno == ENOENT) {
        FIRN_PUSH(arena, &missing, folder);
        folder = folder_of(arena, folder);
    }
    while (missing.count > 0) {
        struct firn_text next = missing.items[--missing.count];
        if (mkdir(next.data, 0777) != 0 && errno != EEXIST)
            return firn_fail_errno(op, errno, "cannot make folder '%.*s'", FIRN_FMT(next));
        FIRN_TRY(sync_folder(op, folder_of(arena, next)));
    }
    return FIRN_OK;
}

/* Has the device begin with what it will have to write anyway: otherwise it would be idle until all is there, and then
 * be waited for. Only a hint. */
static void begin_writeback(struct local_writer *writer)
{
    if (writer->relaxed || writer->given - writer->begun < WRITEBACK_BYTES)
        return;
    (void)sync_file_range(writer->fd, writer->begun, writer->given - writer->begun, SYNC_FILE_RANGE_WRITE);
    writer->begun = writer->given;
}

/* What the system is to write next: it may take less. */
struct parts {
    struct iovec items[PARTS_MAX];
    size_t first, count;
    size_t bytes;
};

/* At most WRITEBACK_BYTES, so that the device is told in time. */
static size_t add_part(struct parts *parts, struct firn_bytes bytes)
{
    size_t taken = FIRN_MIN(bytes.len, WRITEBACK_BYTES - parts->bytes);
    if (taken == 0 || parts->count == PARTS_MAX)
        return 0;
    parts->items[parts->count++] = (struct iovec){ (void *)(uintptr_t)bytes.data, taken };
    parts->bytes += taken;
    return taken;
}

static void drop_written(struct parts *parts, size_t written)
{
    parts->bytes -= written;
    for (struct iovec *item = &parts->items[parts->first]; written > 0; item = &parts->items[parts->first]) {
        size_t now = FIRN_MIN(written, item->iov_len);
        item->iov_base = (uint8_t *)item->iov_base + now;
        item->iov_len -= now;
        written -= now;
        parts->first += item->iov_len == 0;
    }
}

static firn_status give_parts(struct firn_op *op, struct local_writer *writer, struct parts *parts)
{
    while (parts->bytes > 0) {
        ssize_t written = writev(writer->fd, parts->items + parts->first, (int)(parts->count - parts->first));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return firn_fail_errno(op, errno, "cannot write '%.*s'", FIRN_FMT(writer->path));
        drop_written(parts, (size_t)written);
        writer->given += written;
        begin_writeback(writer);
    }
    parts->first = parts->count = 0;
    return FIRN_OK;
}

/* The pieces go behind what `parts` hold already. */
static firn_status give_pieces(struct firn_op *op, struct local_writer *writer, struct parts *parts,
                               const struct firn_bytes *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t done = 0; done < pieces[i].len;) {
            size_t taken = add_part(parts, (struct firn_bytes){ pieces[i].data + done, pieces[i].len - done });
            done += taken;
            if (taken == 0)
                FIRN_TRY(give_parts(op, writer, parts));
        }
    return give_parts(op, writer, parts);
}

/* Writes what is buffered, and the pieces. */
static firn_status flush(struct firn_op *op, struct local_writer *writer, const struct firn_bytes *pieces, size_t count)
{
    struct parts parts = { .count = 0 };
    (void)add_part(&parts, firn_buffer_bytes(&writer->buffer));
    FIRN_TRY(give_pieces(op, writer, &parts, pieces, count));
    firn_buffer_clear(&writer->buffer);
    return FIRN_OK;
}

static firn_status local_sink_write_pieces(struct firn_op *op, void *context, const struct firn_bytes *pieces,
                                           size_t count)
{
    struct local_writer *writer = context;
    size_t bytes = writer->buffer.len;
    for (size_t i = 0; i < count && bytes <= BUFFER_BYTES; i++)
        bytes += FIRN_MIN(pieces[i].len, BUFFER_BYTES + 1);
    if (bytes > BUFFER_BYTES)
        return flush(op, writer, pieces, count);
    for (size_t i = 0; i < count; i++)
        FIRN_TRY(firn_buffer_append(op, &writer->buffer, pieces[i].data, pieces[i].len));
    return FIRN_OK;
}

/* Copies within the kernel, as far as that goes. */
static firn_status local_sink_copy(struct firn_op *op, void *context, struct firn_source *source, uint64_t offset,
                                   uint64_t len, uint64_t *copied)
{
    struct local_writer *writer = context;
    const struct firn_object *object = firn_source_object(source);
    int fd = object ? firn_local_descriptor(object) : -1;
    uint64_t now = 0;
    *copied = 0;
    if (fd < 0 || len < COPIED_BYTES_MIN)
        return FIRN_OK;
    FIRN_TRY(flush(op, writer, NULL, 0));
    do {
        FIRN_TRY(firn_op_check(op));
        uint64_t most = FIRN_MIN(len - *copied, (uint64_t)WRITEBACK_BYTES);
        int failed =
            firn_file_copy(copy_file_range, (struct firn_file_part){ fd, offset + *copied, most }, writer->fd, &now);
        *copied += now;
        writer->given += (int64_t)now;
        atomic_fetch_add_explicit(&writer->base.counts->bytes_copied, (int_fast64_t)now, memory_order_relaxed);
        if (failed)
            return firn_fail_errno(op, failed, "cannot write '%.*s'", FIRN_FMT(writer->path));
        begin_writeback(writer);
    } while (now > 0 && *copied < len);
    return FIRN_OK;
}

static firn_status local_sink_write(struct firn_op *op, void *context, struct firn_bytes bytes)
{
    return local_sink_write_pieces(op, context, &bytes, 1);
}

static firn_status taken(struct firn_op *op, const struct local_writer *writer)
{
    return firn_fail(op, FIRN_EXISTS, "'%.*s' exists already", FIRN_FMT(writer->path));
}

/* A network file system may report a failure although the link was made: the file's link count is the truth. */
static firn_status take_name_by_link(struct firn_op *op, struct local_writer *writer)
{
    struct stat info;
    if (link(writer->temporary.data, writer->path.data) != 0) {
        int failed = errno;
        if (fstat(writer->fd, &info) != 0 || info.st_nlink < 2)
            return failed == EEXIST ? taken(op, writer)
                                    : firn_fail_errno(op, failed, "cannot create '%.*s'", FIRN_FMT(writer->path));
    }
    unlink(writer->temporary.data); /* a left-over second name does no harm */
    writer->named = true;
    return FIRN_OK;
}

/* A file without a name can be linked through /proc only. */
static struct firn_text unnamed_path(struct firn_arena *arena, const struct local_writer *writer)
{
    return firn_text_format(arena, "/proc/self/fd/%d", writer->fd);
}

static struct firn_text temporary_name(struct firn_op *op, struct local_writer *writer)
{
    struct firn_text unique = firn_uuid_text(&writer->arena, firn_uuid_random(op));
    return firn_text_format(&writer->arena, "%.*s/.firn-%.*s.tmp", FIRN_FMT(writer->folder), FIRN_FMT(unique));
}

static firn_status link_unnamed(struct firn_op *op, struct local_writer *writer, struct firn_text to)
{
    struct firn_text from = unnamed_path(&writer->arena, writer);
    if (linkat(AT_FDCWD, from.data, AT_FDCWD, to.data, AT_SYMLINK_FOLLOW) == 0)
        return FIRN_OK;
    return errno == EEXIST ? taken(op, writer)
                           : firn_fail_errno(op, errno, "cannot create '%.*s'", FIRN_FMT(writer->path));
}

/* No link replaces a file: that takes a temporary name after all. */
static firn_status name_unnamed(struct firn_op *op, struct local_writer *writer)
{
    struct firn_text temporary = temporary_name(op, writer);
    if (!writer->exclusive) {
        FIRN_TRY(link_unnamed(op, writer, temporary));
        writer->temporary = temporary;
        return FIRN_OK;
    }
    FIRN_TRY(link_unnamed(op, writer, writer->path));
    writer->named = true;
    return FIRN_OK;
}

static firn_status take_name(struct firn_op *op, struct local_writer *writer)
{
    if (writer->temporary.len == 0)
        FIRN_TRY(name_unnamed(op, writer));
    if (writer->named)
        return FIRN_OK;
    const char *from = writer->temporary.data;
    const char *to = writer->path.data;
    int failed = writer->exclusive ? renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) : rename(from, to);
    if (failed == 0) {
        writer->named = true;
        return FIRN_OK;
    }
    if (writer->exclusive && errno == EEXIST)
        return taken(op, writer);
    if (writer->exclusive && (errno == EINVAL || errno == ENOSYS))
        return take_name_by_link(op, writer);
    return firn_fail_errno(op, errno, "cannot create '%.*s'", FIRN_FMT(writer->path));
}

static firn_status local_finish(struct firn_op *op, struct firn_store_writer *base)
{
    struct local_writer *writer = (struct local_writer *)base;
    FIRN_TRY(flush(op, writer, NULL, 0));
    if (!writer->relaxed && fsync(writer->fd) != 0)
        return firn_fail_errno(op, errno, "cannot write '%.*s'", FIRN_FMT(writer->path));
    FIRN_TRY(take_name(op, writer));
    return writer->relaxed ? FIRN_OK : sync_folder(op, writer->folder);
}

static void local_writer_close(struct firn_store_writer *base)
{
    struct local_writer *writer = (struct local_writer *)base;
    if (!writer->named && writer->temporary.len > 0)
        unlink(writer->temporary.data);
    close(writer->fd);
    firn_buffer_done(&writer->buffer);
    struct firn_arena arena = writer->arena;
    firn_arena_done(&arena);
}

/* Whether there is a file without a name now, which can be given one. */
static bool create_unnamed(struct local_writer *writer)
{
    char target[8];
    writer->fd = open(writer->folder.data, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        return false;
    if (readlink(unnamed_path(&writer->arena, writer).data, target, sizeof target) > 0)
        return true;
    close(writer->fd);
    return false;
}

static firn_status create_file(struct firn_op *op, struct local_writer *writer)
{
    if (create_unnamed(writer))
        return FIRN_OK;
    writer->temporary = temporary_name(op, writer);
    writer->fd = open(writer->temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        return firn_fail_errno(op, errno, "cannot create a file in '%.*s'", FIRN_FMT(writer->folder));
    return FIRN_OK;
}

static firn_status prepare(struct firn_op *op, struct local_writer *writer, struct firn_text path)
{
    if (path.data[path.len - 1] == '/')
        return firn_fail(op, FIRN_USAGE, "'%.*s' is a folder's name, not a file's", FIRN_FMT(path));
    writer->path = firn_text_copy(&writer->arena, path);
    writer->folder = folder_of(&writer->arena, path);
    FIRN_TRY(make_folders(op, &writer->arena, writer->folder));
    return create_file(op, writer);
}

firn_status firn_local_write(struct firn_op *op, void *state, struct firn_text location, bool exclusive,
                             struct firn_store_writer **out)
{
    struct firn_text path;
    FIRN_TRY(firn_location_local_path(op, location, &path));
    struct firn_arena arena;
    firn_arena_init(&arena);
    struct local_writer *writer = FIRN_NEW(&arena, struct local_writer);
    writer->arena = arena;
    writer->exclusive = exclusive;
    writer->relaxed = state != NULL;
    writer->base = (struct firn_store_writer){
        .finish = local_finish,
        .close = local_writer_close,
        .sink = { .write = local_sink_write,
                  .write_pieces = local_sink_write_pieces,
                  .copy = local_sink_copy,
                  .context = writer },
    };
    firn_status status = prepare(op, writer, path);
    if (status != FIRN_OK) {
        arena = writer->arena;
        firn_arena_done(&arena);
        return status;
    }
    *out = &writer->base;
    return FIRN_OK;
}
