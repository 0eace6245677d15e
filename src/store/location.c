/* Locations: schemes, local paths, joining. */
#include "store/driver.h"

static bool is_scheme_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
}

/* A scheme needs a slash behind it, so that a relative file name with a colon stays a file name. */
size_t firn_location_scheme_len(struct firn_text location)
{
    size_t len = 0;
    while (len < location.len && is_scheme_char(location.data[len]))
        len++;
    bool begins_well = len > 0 && ((location.data[0] | 0x20) >= 'a' && (location.data[0] | 0x20) <= 'z');
    bool ends_well = location.len - len >= 2 && location.data[len] == ':' && location.data[len + 1] == '/';
    return begins_well && ends_well ? len : 0;
}

firn_status firn_location_local_path(struct firn_op *op, struct firn_text location, struct firn_text *path)
{
    size_t scheme_len = firn_location_scheme_len(location);
    if (scheme_len == 0) {
        *path = location;
        return FIRN_OK;
    }
    struct firn_text scheme = firn_text_until(location, scheme_len);
    if (!firn_text_same_nocase(scheme, FIRN_TEXT("file")))
        return firn_fail(op, FIRN_UNSUPPORTED, "'%.*s': locations of scheme '%.*s' are not supported",
                         FIRN_FMT(location), FIRN_FMT(scheme));
    struct firn_text rest = firn_text_from(location, scheme_len + 1);
    if (!firn_text_starts(rest, FIRN_TEXT("//"))) {
        *path = rest;
        return FIRN_OK;
    }
    struct firn_text authority = firn_text_from(rest, 2);
    ptrdiff_t slash = firn_text_find(authority, '/');
    struct firn_text host = slash < 0 ? authority : firn_text_until(authority, (size_t)slash);
    if (slash < 0 || (host.len > 0 && !firn_text_same_nocase(host, FIRN_TEXT("localhost"))))
        return firn_fail(op, FIRN_UNSUPPORTED,
                         "'%.*s': a file URI is file:/path, file:///path or file://localhost/path", FIRN_FMT(location));
    *path = firn_text_from(authority, (size_t)slash);
    return FIRN_OK;
}

/* The next part of a path; false at its end. */
static bool next_part(struct firn_text *rest, struct firn_text *part)
{
    while (rest->len > 0 && rest->data[0] == '/')
        *rest = firn_text_from(*rest, 1);
    if (rest->len == 0)
        return false;
    ptrdiff_t slash = firn_text_find(*rest, '/');
    *part = slash < 0 ? *rest : firn_text_until(*rest, (size_t)slash);
    *rest = firn_text_from(*rest, part->len);
    return true;
}

static bool is_normal(struct firn_text path)
{
    if (path.len > 0 && (path.data[0] == '.' || path.data[path.len - 1] == '/'))
        return path.len == 1 && path.data[0] == '/';
    for (size_t i = 0; i + 1 < path.len; i++)
        if (path.data[i] == '/' && (path.data[i + 1] == '/' || path.data[i + 1] == '.'))
            return false;
    return true;
}

/* Removes the last part of what was written so far. */
static size_t drop_part(const char *path, size_t len)
{
    while (len > 0 && path[--len] != '/')
        ;
    return len;
}

static struct firn_text normal_path(struct firn_arena *arena, struct firn_text path)
{
    if (is_normal(path))
        return path;
    struct firn_text rest = path, part;
    char *out = firn_arena_alloc(arena, path.len + 2);
    size_t len = 0;
    bool is_absolute = path.len > 0 && path.data[0] == '/';
    while (next_part(&rest, &part)) {
        if (firn_text_is(part, "."))
            continue;
        if (firn_text_is(part, "..")) {
            len = drop_part(out, len);
            continue;
        }
        if (len > 0 || is_absolute)
            out[len++] = '/';
        memcpy(out + len, part.data, part.len);
        len += part.len;
    }
    if (len == 0 && is_absolute)
        out[len++] = '/';
    return (struct firn_text){ out, len };
}

struct firn_location_parts firn_location_split(struct firn_arena *arena, struct firn_text location)
{
    struct firn_location_parts parts = { .scheme = firn_text_until(location, firn_location_scheme_len(location)) };
    struct firn_text rest = parts.scheme.len ? firn_text_from(location, parts.scheme.len + 1) : location;
    if (firn_text_starts(rest, FIRN_TEXT("//"))) {
        struct firn_text after = firn_text_from(rest, 2);
        ptrdiff_t slash = firn_text_find(after, '/');
        parts.authority = slash < 0 ? after : firn_text_until(after, (size_t)slash);
        rest = slash < 0 ? FIRN_TEXT("/") : firn_text_from(after, (size_t)slash);
    }
    parts.scheme = firn_text_lower(arena, parts.scheme);
    parts.authority = firn_text_lower(arena, parts.authority);
    if (firn_text_is(parts.scheme, "file") && firn_text_is(parts.authority, "localhost"))
        parts.authority = FIRN_TEXT("");
    parts.path = normal_path(arena, rest);
    return parts;
}

bool firn_path_is_below(struct firn_text folder, struct firn_text path)
{
    if (firn_text_is(folder, "/"))
        return path.len > 0 && path.data[0] == '/';
    return firn_text_starts(path, folder) && (path.len == folder.len || path.data[folder.len] == '/');
}

struct firn_text firn_location_join(struct firn_arena *arena, struct firn_text folder, struct firn_text name)
{
    if (folder.len == 0)
        return firn_text_copy(arena, name);
    while (folder.len > 0 && folder.data[folder.len - 1] == '/')
        folder.len--;
    while (name.len > 0 && name.data[0] == '/')
        name = firn_text_from(name, 1);
    return firn_text_format(arena, "%.*s/%.*s", FIRN_FMT(folder), FIRN_FMT(name));
}
