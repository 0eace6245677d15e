/* Naming processes. A name is "BOOT NAMESPACE PID START": the machine's boot, the namespace that the number counts in,
 * the number, and the clock tick at which the process began, since numbers are used again. Where /proc does not tell,
 * there is no name. */
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { PROC_BYTES_MAX = 1024, STAT_FIELDS_TO_START = 20 /* after the name in brackets */ };

/* The start of a small file of /proc; false where there is none. */
static bool read_file(const char *path, char *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, out, PROC_BYTES_MAX - 1);
    close(fd);
    out[len > 0 ? len : 0] = 0;
    return len > 0;
}

/* The tick at which a process began. Its name, which may hold anything, stands in brackets before. */
static bool read_start(const char *pid, struct firn_arena *arena, struct firn_text *out)
{
    char text[PROC_BYTES_MAX];
    if (!read_file(firn_text_format(arena, "/proc/%s/stat", pid).data, text))
        return false;
    char *at = strrchr(text, ')');
    for (int field = 0; at && field < STAT_FIELDS_TO_START; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return false;
    *out = firn_text_copy(arena, (struct firn_text){ at + 1, strcspn(at + 1, " \n") });
    return true;
}

/* "BOOT NAMESPACE ", in which numbers are comparable. */
static bool read_place(struct firn_arena *arena, struct firn_text *out)
{
    char boot[PROC_BYTES_MAX], space[PROC_BYTES_MAX];
    ssize_t len = readlink("/proc/self/ns/pid", space, sizeof space);
    if (len <= 0 || !read_file("/proc/sys/kernel/random/boot_id", boot))
        return false;
    *out = firn_text_format(arena, "%.*s %.*s ", (int)strcspn(boot, "\n"), boot, (int)len, space);
    return true;
}

struct firn_text firn_process_name_real(void *context, struct firn_arena *arena)
{
    (void)context;
    struct firn_text place, start;
    if (!read_place(arena, &place) || !read_start("self", arena, &start))
        return FIRN_TEXT("");
    return firn_text_format(arena, "%.*s%d %.*s", FIRN_FMT(place), (int)getpid(), FIRN_FMT(start));
}

static enum firn_process_state look(struct firn_arena *arena, struct firn_text name)
{
    struct firn_text place, start;
    int64_t pid;
    if (!read_place(arena, &place) || !firn_text_starts(name, place))
        return FIRN_PROCESS_UNTOLD;
    struct firn_text rest = firn_text_from(name, place.len);
    ptrdiff_t blank = firn_text_find(rest, ' ');
    if (blank <= 0 || !firn_text_to_i64(firn_text_until(rest, (size_t)blank), &pid) || pid <= 0)
        return FIRN_PROCESS_UNTOLD;
    if (!read_start(firn_text_format(arena, "%" PRId64, pid).data, arena, &start))
        return FIRN_PROCESS_ENDED;
    bool same = firn_text_same(start, firn_text_from(rest, (size_t)blank + 1));
    return same ? FIRN_PROCESS_RUNS : FIRN_PROCESS_ENDED;
}

enum firn_process_state firn_process_state_real(void *context, struct firn_text name)
{
    (void)context;
    struct firn_arena arena;
    firn_arena_init(&arena);
    enum firn_process_state state = look(&arena, name);
    firn_arena_done(&arena);
    return state;
}
