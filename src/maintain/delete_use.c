/* Counting for how many data files each delete file is read.
 *
 * The deletes of a data file are slices of arrays that many data files share, and most slices of an array are its tails
 * (table/delete_index.h). So slices are counted by the address where they end and by length; how many cover an element
 * is then a running sum from the longest on. */
#include "maintain/delete_use.h"

#include "base/math.h"

/* The slices that end at one address. */
struct tail {
    const struct firn_manifest_entry **end;
    uint32_t longest;
    int64_t *file_counts, *row_counts; /* of slices, by their length - 1 */
};

struct counting {
    struct firn_arena *arena; /* of the tails */
    struct firn_map tails;    /* address of the end to struct tail */
};

static struct firn_bytes address_key(const void *address_of_pointer)
{
    return (struct firn_bytes){ address_of_pointer, sizeof(void *) };
}

static void measure(struct counting *counting, const struct firn_delete_list *list)
{
    if (list->count == 0)
        return;
    const struct firn_manifest_entry **end = list->items + list->count;
    struct firn_map_entry *entry = firn_map_find(&counting->tails, address_key(&end));
    if (!entry) {
        struct tail *tail = FIRN_NEW(counting->arena, struct tail);
        tail->end = end;
        entry = firn_map_put(&counting->tails, address_key(&tail->end));
        entry->value.pointer = tail;
    }
    struct tail *tail = entry->value.pointer;
    tail->longest = FIRN_MAX(tail->longest, list->count);
}

static void count(struct counting *counting, const struct firn_delete_list *list, int64_t rows)
{
    if (list->count == 0)
        return;
    const struct firn_manifest_entry **end = list->items + list->count;
    struct tail *tail = firn_map_find(&counting->tails, address_key(&end))->value.pointer;
    tail->file_counts[list->count - 1] += 1;
    tail->row_counts[list->count - 1] += rows;
}

static void measure_file(struct counting *counting, const struct firn_scan_file *file)
{
    measure(counting, &file->deletes.equality);
    measure(counting, &file->deletes.wide);
    measure(counting, &file->deletes.own);
}

static void count_file(struct counting *counting, const struct firn_scan_file *file)
{
    int64_t rows = FIRN_MAX(file->entry->file.record_count, 0);
    count(counting, &file->deletes.equality, rows);
    count(counting, &file->deletes.wide, rows);
    count(counting, &file->deletes.own, rows);
}

static void add_use(struct firn_arena *arena, struct firn_delete_uses *out, const struct firn_manifest_entry **item,
                    int64_t file_count, int64_t row_count)
{
    struct firn_map_entry *entry = firn_map_find(&out->index, address_key(item));
    if (!entry) {
        const struct firn_manifest_entry **key = FIRN_NEW(arena, const struct firn_manifest_entry *);
        *key = *item;
        entry = firn_map_put(&out->index, address_key(key));
        entry->value.number = out->count;
        out->items[out->count++] = (struct firn_delete_use){ .del = *item };
    }
    out->items[entry->value.number].file_count += file_count;
    out->items[entry->value.number].row_count += row_count;
}

static void sum_tails(struct firn_arena *arena, const struct counting *counting, struct firn_delete_uses *out)
{
    size_t most = 0;
    for (size_t i = 0; i < counting->tails.count; i++)
        most += ((const struct tail *)counting->tails.entries[i].value.pointer)->longest;
    out->items = FIRN_NEW_ARRAY(arena, struct firn_delete_use, most);
    for (size_t i = 0; i < counting->tails.count; i++) {
        const struct tail *tail = counting->tails.entries[i].value.pointer;
        int64_t file_count = 0, row_count = 0;
        for (uint32_t length = tail->longest; length > 0; length--) {
            file_count += tail->file_counts[length - 1];
            row_count += tail->row_counts[length - 1];
            add_use(arena, out, tail->end - length, file_count, row_count);
        }
    }
}

void firn_delete_uses_count(struct firn_arena *arena, const struct firn_scan_file *const *files, uint32_t file_count,
                            struct firn_delete_uses *out)
{
    struct firn_arena scratch;
    struct counting counting = { .arena = &scratch };
    *out = (struct firn_delete_uses){ 0 };
    firn_map_init(&out->index, arena);
    firn_arena_init(&scratch);
    firn_map_init(&counting.tails, &scratch);
    for (uint32_t i = 0; i < file_count; i++)
        measure_file(&counting, files[i]);
    for (size_t i = 0; i < counting.tails.count; i++) {
        struct tail *tail = counting.tails.entries[i].value.pointer;
        tail->file_counts = FIRN_NEW_ARRAY(&scratch, int64_t, tail->longest);
        tail->row_counts = FIRN_NEW_ARRAY(&scratch, int64_t, tail->longest);
    }
    for (uint32_t i = 0; i < file_count; i++)
        count_file(&counting, files[i]);
    sum_tails(arena, &counting, out);
    firn_arena_done(&scratch);
}

struct firn_delete_use *firn_delete_uses_find(const struct firn_delete_uses *uses,
                                              const struct firn_manifest_entry *del)
{
    const struct firn_map_entry *entry = firn_map_find(&uses->index, address_key(&del));
    return entry ? &uses->items[entry->value.number] : NULL;
}

int64_t firn_delete_read_bytes(const struct firn_data_file *file)
{
    bool is_blob = firn_data_file_is_deletion_vector(file) && file->content_bytes != FIRN_ABSENT;
    return FIRN_MAX(is_blob ? file->content_bytes : file->file_bytes, 0);
}

static int64_t bytes_of_list(const struct firn_delete_list *list)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < list->count; i++)
        bytes += firn_delete_read_bytes(&list->items[i]->file);
    return bytes;
}

int64_t firn_delete_match_bytes(const struct firn_delete_match *match)
{
    return bytes_of_list(&match->own) + bytes_of_list(&match->wide) + bytes_of_list(&match->equality);
}
