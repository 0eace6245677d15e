/* Where new files go. Reference: format-notes.md, 9.1 ("Default", "object-storage") and 15.2. */
#include "table/location.h"

#define ENTROPY_BITS 20
#define ENTROPY_DIRS 3 /* of 4 bits each; the rest of the bits makes the last part */

static struct firn_text without_slash(struct firn_text path)
{
    while (path.len > 1 && path.data[path.len - 1] == '/')
        path.len--;
    return path;
}

/* A folder property, or `<location>/<name>`. */
static struct firn_text folder(struct firn_arena *arena, const struct firn_metadata *metadata, const char *property,
                               const char *name)
{
    struct firn_text path = firn_property_text(metadata, property, (struct firn_text){ 0 });
    if (path.len)
        return without_slash(path);
    return firn_text_format(arena, "%.*s/%s", FIRN_FMT(metadata->location), name);
}

/* "0101/0110/1001/10110010": spreads files over prefixes of an object store. */
static struct firn_text entropy(struct firn_arena *arena, struct firn_text name)
{
    uint32_t hash = firn_murmur3_32(firn_bytes_of_text(name));
    char text[ENTROPY_BITS + ENTROPY_DIRS];
    size_t len = 0;
    for (int bit = 0; bit < ENTROPY_BITS; bit++) {
        if (bit && bit % 4 == 0 && bit / 4 <= ENTROPY_DIRS)
            text[len++] = '/';
        text[len++] = hash >> (ENTROPY_BITS - 1 - bit) & 1 ? '1' : '0';
    }
    return firn_text_copy(arena, (struct firn_text){ text, len });
}

/* The last two parts of the table's location: tells tables apart that share a data path. */
static struct firn_text table_context(struct firn_text location)
{
    ptrdiff_t last = firn_text_find_last(location, '/');
    if (last < 0)
        return location;
    ptrdiff_t before = firn_text_find_last(firn_text_until(location, (size_t)last), '/');
    return firn_text_from(location, (size_t)(before + 1));
}

static struct firn_text object_location(struct firn_arena *arena, const struct firn_metadata *metadata,
                                        struct firn_text base, struct firn_text partition_path,
                                        struct firn_text file_name)
{
    bool with_partition = firn_property_bool(metadata, "write.object-storage.partitioned-paths", true);
    struct firn_text rest = file_name;
    if (with_partition && partition_path.len)
        rest = firn_text_format(arena, "%.*s/%.*s", FIRN_FMT(partition_path), FIRN_FMT(file_name));
    struct firn_text hash = entropy(arena, rest);
    if (!firn_text_starts(base, metadata->location)) {
        struct firn_text context = table_context(metadata->location);
        return firn_text_format(arena, "%.*s/%.*s/%.*s/%.*s", FIRN_FMT(base), FIRN_FMT(hash), FIRN_FMT(context),
                                FIRN_FMT(rest));
    }
    return firn_text_format(arena, "%.*s/%.*s%c%.*s", FIRN_FMT(base), FIRN_FMT(hash), with_partition ? '/' : '-',
                            FIRN_FMT(rest));
}

struct firn_text firn_data_location(struct firn_arena *arena, const struct firn_metadata *metadata,
                                    struct firn_text partition_path, struct firn_text file_name)
{
    struct firn_text base = folder(arena, metadata, "write.data.path", "data");
    if (firn_property_bool(metadata, "write.object-storage.enabled", false))
        return object_location(arena, metadata, base, partition_path, file_name);
    if (partition_path.len == 0)
        return firn_text_format(arena, "%.*s/%.*s", FIRN_FMT(base), FIRN_FMT(file_name));
    return firn_text_format(arena, "%.*s/%.*s/%.*s", FIRN_FMT(base), FIRN_FMT(partition_path), FIRN_FMT(file_name));
}

struct firn_text firn_data_file_name(struct firn_arena *arena, uint32_t partition, uint64_t task,
                                     struct firn_uuid operation, uint32_t sequence, struct firn_text ending)
{
    struct firn_text uuid = firn_uuid_text(arena, operation);
    return firn_text_format(arena, "%05" PRIu32 "-%" PRIu64 "-%.*s-%05" PRIu32 "%.*s", partition, task, FIRN_FMT(uuid),
                            sequence, FIRN_FMT(ending));
}

struct firn_text firn_metadata_location(struct firn_arena *arena, const struct firn_metadata *metadata,
                                        struct firn_text file_name)
{
    struct firn_text base = folder(arena, metadata, "write.metadata.path", "metadata");
    return firn_text_format(arena, "%.*s/%.*s", FIRN_FMT(base), FIRN_FMT(file_name));
}
