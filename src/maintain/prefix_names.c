/* Schemes and authorities declared equal. Reference: procedures.md, 7.1, 7.4. */
#include "maintain/prefix_names.h"

static firn_status add_name(struct firn_op *op, struct firn_prefix_names *names, struct firn_text name,
                            struct firn_text *stands_for, const char *option)
{
    name = firn_text_trim(name);
    if (name.len == 0)
        return firn_fail(op, FIRN_USAGE, "--%s: an entry is NAME[,NAME...]=NAME, and none before the '=' may be empty",
                         option);
    firn_map_put_text(&names->map, firn_text_lower(op->arena, name))->value.pointer = stands_for;
    return FIRN_OK;
}

firn_status firn_prefix_names_add(struct firn_op *op, struct firn_prefix_names *names,
                                  const struct firn_property *entries, size_t count, const char *option)
{
    if (!names->map.arena)
        firn_map_init(&names->map, op->arena);
    for (size_t i = 0; i < count; i++) {
        struct firn_text *stands_for = FIRN_NEW(op->arena, struct firn_text);
        *stands_for = firn_text_lower(op->arena, firn_text_trim(entries[i].value));
        struct firn_text rest = entries[i].key;
        for (ptrdiff_t comma; (comma = firn_text_find(rest, ',')) >= 0; rest = firn_text_from(rest, (size_t)comma + 1))
            FIRN_TRY(add_name(op, names, firn_text_until(rest, (size_t)comma), stands_for, option));
        FIRN_TRY(add_name(op, names, rest, stands_for, option));
    }
    return FIRN_OK;
}

struct firn_text firn_prefix_names_find(const struct firn_prefix_names *names, struct firn_text name)
{
    const struct firn_map_entry *entry = names->map.arena ? firn_map_find_text(&names->map, name) : NULL;
    return entry ? *(const struct firn_text *)entry->value.pointer : name;
}
