/* What delete files cost: for how many data files each is read. */
#ifndef FIRN_MAINTAIN_DELETE_USE_H
#define FIRN_MAINTAIN_DELETE_USE_H

#include "base/map.h"
#include "table/scan.h"

struct firn_delete_use {
    const struct firn_manifest_entry *del;
    int64_t file_count; /* data files it applies to */
    int64_t row_count;  /* and their rows */
};

struct firn_delete_uses {
    struct firn_delete_use *items;
    uint32_t count;
    struct firn_map index; /* address of the entry to its place in `items` */
};

/* The delete files that apply to some of `files`, each once. Files and deletes are those of one scan. Takes time by
 * files and deletes, not by pairs of them. Lives in the arena. */
void firn_delete_uses_count(struct firn_arena *arena, const struct firn_scan_file *const *files, uint32_t file_count,
                            struct firn_delete_uses *out);
/* The use of one delete file, or NULL: it applies to none of the files. */
struct firn_delete_use *firn_delete_uses_find(const struct firn_delete_uses *uses,
                                              const struct firn_manifest_entry *del);
/* What a reader fetches of a delete file: of a vector its blob. */
int64_t firn_delete_read_bytes(const struct firn_data_file *file);
/* The same of all delete files that are read with one data file. */
int64_t firn_delete_match_bytes(const struct firn_delete_match *match);

#endif
