/* What is asked of manifest entries. Iceberg spec, "Manifests". */
#include "table/manifest.h"

bool firn_split_offsets_usable(const struct firn_data_file *file)
{
    if (!file->split_offsets || file->split_offset_count == 0)
        return false;
    for (uint32_t i = 1; i < file->split_offset_count; i++)
        if (file->split_offsets[i] <= file->split_offsets[i - 1])
            return false;
    return file->split_offsets[file->split_offset_count - 1] < file->file_bytes;
}

bool firn_count_map_find(const struct firn_count_map *map, int32_t id, int64_t *out)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->ids[i] == id) {
            *out = map->counts[i];
            return true;
        }
    }
    return false;
}

bool firn_bound_map_find(const struct firn_bound_map *map, int32_t id, struct firn_bytes *out)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->ids[i] == id) {
            *out = map->values[i];
            return true;
        }
    }
    return false;
}

bool firn_data_file_is_deletion_vector(const struct firn_data_file *file)
{
    return file->content == FIRN_CONTENT_POSITION_DELETES && file->format == FIRN_FILE_PUFFIN;
}
