/* Blocks of all streams end to end in one unlinked file; room that was read becomes a hole. */
#include "store/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct firn_spill {
    int fd;
    atomic_uint_fast64_t end; /* where the next block goes */
    uint64_t expected_bytes;
    char folder[]; /* for messages */
};

struct place {
    uint64_t offset;
    uint64_t len;
};

static firn_status hint_folder(struct firn_op *op, firn_status status)
{
    return firn_hint(op, status, "free space there, name another folder with --temp-dir, or raise --memory");
}

static firn_status check_room(struct firn_op *op, const struct firn_spill *spill)
{
    struct statvfs info;
    if (spill->expected_bytes == 0 || fstatvfs(spill->fd, &info) != 0)
        return FIRN_OK;
    uint64_t room = (uint64_t)info.f_bavail * info.f_frsize;
    if (room >= spill->expected_bytes)
        return FIRN_OK;
    return hint_folder(op, firn_fail(op, FIRN_LIMIT,
                                     "about %" PRIu64 " bytes of temporary data are needed, and '%s' has room for "
                                     "%" PRIu64,
                                     spill->expected_bytes, spill->folder, room));
}

/* For file systems without O_TMPFILE. */
static int open_and_unlink(struct firn_op *op, const struct firn_spill *spill)
{
    struct firn_text path = firn_text_format(op->arena, "%s/.firn-XXXXXX", spill->folder);
    char *name = FIRN_NEW_ARRAY(op->arena, char, path.len + 1);
    memcpy(name, path.data, path.len);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static firn_status open_file(struct firn_op *op, struct firn_spill *spill)
{
    spill->fd = open(spill->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (spill->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        spill->fd = open_and_unlink(op, spill);
    if (spill->fd < 0)
        return firn_hint(op, firn_fail_errno(op, errno, "cannot keep temporary data in '%s'", spill->folder),
                         "name another folder with --temp-dir");
    return check_room(op, spill);
}

firn_status firn_spill_open(struct firn_op *op, const struct firn_spill_config *config, struct firn_spill **out)
{
    struct firn_text folder = config->folder.len ? config->folder : op->temp_folder;
    if (folder.len == 0)
        folder = FIRN_TEXT(FIRN_SPILL_FOLDER);
    struct firn_spill *spill = calloc(1, sizeof *spill + folder.len + 1);
    if (!spill)
        return firn_fail(op, FIRN_LIMIT, "no memory for temporary data");
    memcpy(spill->folder, folder.data, folder.len);
    spill->expected_bytes = config->expected_bytes;
    firn_status status = open_file(op, spill);
    if (status != FIRN_OK) {
        firn_spill_close(spill);
        return status;
    }
    *out = spill;
    return FIRN_OK;
}

void firn_spill_close(struct firn_spill *spill)
{
    if (!spill)
        return;
    if (spill->fd >= 0)
        close(spill->fd);
    free(spill);
}

uint64_t firn_spill_bytes(const struct firn_spill *spill)
{
    return atomic_load(&spill->end);
}

void firn_spill_stream_init(struct firn_spill_stream *stream, struct firn_spill *spill, size_t block_bytes)
{
    *stream = (struct firn_spill_stream){ .spill = spill, .block_bytes = block_bytes };
}

static firn_status fail_write(struct firn_op *op, const struct firn_spill *spill, size_t len, int error)
{
    if (error != ENOSPC && error != EDQUOT && error != EFBIG)
        return firn_fail_errno(op, error, "cannot write temporary data to '%s'", spill->folder);
    firn_status status =
        firn_fail(op, FIRN_LIMIT, "'%s' has no room for %zu more bytes of temporary data after %" PRIu64, spill->folder,
                  len, firn_spill_bytes(spill) - len);
    if (spill->expected_bytes > 0)
        status = firn_context(op, status, "about %" PRIu64 " bytes are needed", spill->expected_bytes);
    return hint_folder(op, status);
}

firn_status firn_spill_put(struct firn_op *op, struct firn_spill *spill, struct firn_bytes bytes, uint64_t *offset)
{
    *offset = atomic_fetch_add(&spill->end, bytes.len);
    for (size_t done = 0; done < bytes.len;) {
        ssize_t written = pwrite(spill->fd, bytes.data + done, bytes.len - done, (off_t)(*offset + done));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_write(op, spill, bytes.len - done, errno);
        done += (size_t)written;
    }
    return FIRN_OK;
}

firn_status firn_spill_get(struct firn_op *op, const struct firn_spill *spill, uint64_t offset, size_t len,
                           struct firn_buffer *out)
{
    FIRN_TRY(firn_buffer_resize(op, out, len));
    for (size_t done = 0; done < len;) {
        ssize_t count = pread(spill->fd, out->data + done, len - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return firn_fail_errno(op, count < 0 ? errno : EIO, "cannot read temporary data in '%s'", spill->folder);
        done += (size_t)count;
    }
    return FIRN_OK;
}

/* Where holes cannot be made the room goes with the file. */
void firn_spill_drop(struct firn_spill *spill, uint64_t offset, uint64_t len)
{
    int failed = fallocate(spill->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len);
    (void)failed;
}

static firn_status write_block(struct firn_op *op, struct firn_spill_stream *stream)
{
    struct place place = { .len = stream->block.len };
    if (place.len == 0)
        return FIRN_OK;
    FIRN_TRY(firn_spill_put(op, stream->spill, firn_buffer_bytes(&stream->block), &place.offset));
    FIRN_TRY(firn_buffer_append(op, &stream->places, &place, sizeof place));
    firn_buffer_clear(&stream->block);
    return FIRN_OK;
}

firn_status firn_spill_append(struct firn_op *op, struct firn_spill_stream *stream, size_t len, uint8_t **out)
{
    if (stream->block.len > 0 && (len > stream->block_bytes || stream->block.len > stream->block_bytes - len))
        FIRN_TRY(write_block(op, stream));
    if (stream->block.capacity < stream->block_bytes)
        FIRN_TRY(firn_buffer_reserve(op, &stream->block, stream->block_bytes));
    stream->record_count++;
    stream->bytes += len;
    return firn_buffer_extend(op, &stream->block, len, out);
}

firn_status firn_spill_finish(struct firn_op *op, struct firn_spill_stream *stream)
{
    FIRN_TRY(write_block(op, stream));
    firn_buffer_done(&stream->block);
    return FIRN_OK;
}

static struct place next_place(struct firn_spill_stream *stream)
{
    struct place place;
    memcpy(&place, stream->places.data + stream->next++ * sizeof place, sizeof place);
    return place;
}

static bool has_place(const struct firn_spill_stream *stream)
{
    return stream->next < stream->places.len / sizeof(struct place);
}

firn_status firn_spill_next(struct firn_op *op, struct firn_spill_stream *stream, struct firn_buffer *out, bool *got)
{
    *got = has_place(stream);
    if (!*got)
        return FIRN_OK;
    FIRN_TRY(firn_op_check(op));
    struct place place = next_place(stream);
    FIRN_TRY(firn_spill_get(op, stream->spill, place.offset, (size_t)place.len, out));
    firn_spill_drop(stream->spill, place.offset, place.len);
    return FIRN_OK;
}

void firn_spill_stream_done(struct firn_spill_stream *stream)
{
    while (has_place(stream)) {
        struct place place = next_place(stream);
        firn_spill_drop(stream->spill, place.offset, place.len);
    }
    firn_buffer_done(&stream->block);
    firn_buffer_done(&stream->places);
    *stream = (struct firn_spill_stream){ 0 };
}
