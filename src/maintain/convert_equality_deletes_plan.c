/* Planning convert_equality_deletes: which data files are looked into, together with which others, and which equality
 * delete files can leave afterwards.
 *
 * Invariants
 *  (1) An equality delete file leaves only with or after the last data file of the branch that it reaches.
 *  (2) A data file is chosen only if firn can read it and everything that is deleted of it. */
#include "maintain/convert_equality_deletes.h"

#include "base/map.h"
#include "base/math.h"
#include "maintain/branch_plan.h"
#include "maintain/delete_use.h"
#include "rewrite/deletion.h"
#include "table/expression.h"

struct index_list {
    uint32_t *items;
    size_t count, capacity;
};

struct choosing {
    struct firn_convert_plan *plan;
    const struct firn_predicate *where;
    struct firn_map paths; /* of live data files, to how often they are met */
    bool has_unreadable_deletes;
};

static bool may_match(const struct choosing *choosing, const struct firn_data_file *file)
{
    const struct firn_convert_plan *plan = choosing->plan;
    const struct firn_partition_spec *spec = firn_metadata_spec(plan->metadata, file->spec_id);
    if (!choosing->where || !spec)
        return true;
    return firn_predicate_partition_may_match(choosing->where, spec, plan->spec_types[spec - plan->metadata->specs],
                                              &file->partition) &&
           firn_predicate_file_may_match(choosing->where, file);
}

static bool is_readable(const struct firn_delete_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!firn_delete_file_is_readable(&list->items[i]->file))
            return false;
    return true;
}

static enum firn_convert_verdict judge(const struct choosing *choosing, const struct firn_scan_file *scan)
{
    const struct firn_data_file *file = &scan->entry->file;
    if (!may_match(choosing, file))
        return FIRN_CONVERT_RULED_OUT;
    if (firn_map_find_text(&choosing->paths, file->path)->value.number > 1)
        return FIRN_CONVERT_TWICE;
    if (file->format != FIRN_FILE_PARQUET && file->format != FIRN_FILE_AVRO)
        return FIRN_CONVERT_FORMAT;
    if (file->key_metadata.data)
        return FIRN_CONVERT_ENCRYPTED;
    if (choosing->has_unreadable_deletes &&
        !(is_readable(&scan->deletes.equality) && is_readable(&scan->deletes.wide) && is_readable(&scan->deletes.own)))
        return FIRN_CONVERT_DELETE_FORMAT;
    return FIRN_CONVERT_CHOSEN;
}

/* The data files that equality deletes reach, those of one partition side by side. */
static firn_status collect_files(struct firn_op *op, struct choosing *choosing)
{
    struct firn_convert_plan *plan = choosing->plan;
    const struct firn_scan *scan = &plan->scan;
    struct firn_map partitions;
    struct firn_buffer *key = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, key);
    firn_map_init(&partitions, op->arena);
    for (uint32_t i = 0; i < scan->file_count; i++) {
        firn_map_put_text(&choosing->paths, scan->files[i].entry->file.path)->value.number++;
        if (scan->files[i].deletes.equality.count == 0)
            continue;
        FIRN_TRY(firn_data_file_partition_key(op, &scan->files[i].entry->file, key));
        struct firn_map_entry *found = firn_map_find(&partitions, firn_buffer_bytes(key));
        if (!found) {
            found = firn_map_put(&partitions, firn_bytes_copy(op->arena, firn_buffer_bytes(key)));
            found->value.pointer = FIRN_NEW(op->arena, struct index_list);
        }
        FIRN_PUSH(op->arena, (struct index_list *)found->value.pointer, i);
    }
    plan->files = FIRN_NEW_ARRAY(op->arena, struct firn_convert_file, scan->file_count);
    for (size_t i = 0; i < partitions.count; i++) {
        const struct index_list *list = partitions.entries[i].value.pointer;
        for (size_t j = 0; j < list->count; j++)
            plan->files[plan->file_count++].scan = &scan->files[list->items[j]];
    }
    return FIRN_OK;
}

static void judge_files(struct choosing *choosing)
{
    struct firn_convert_plan *plan = choosing->plan;
    for (uint32_t i = 0; i < plan->scan.delete_count; i++)
        if (!firn_delete_file_is_readable(&plan->scan.deletes[i]->file))
            choosing->has_unreadable_deletes = true;
    for (uint32_t i = 0; i < plan->file_count; i++) {
        struct firn_convert_file *file = &plan->files[i];
        file->verdict = judge(choosing, file->scan);
        plan->left_alone_count += file->verdict != FIRN_CONVERT_CHOSEN && file->verdict != FIRN_CONVERT_RULED_OUT;
    }
}

/* Lists the equality deletes and marks those that stay. (1) */
static void collect_deletes(struct firn_op *op, struct firn_convert_plan *plan)
{
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, plan->file_count);
    struct firn_delete_uses all, left;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->file_count; i++)
        files[i] = plan->files[i].scan;
    firn_delete_uses_count(op->arena, files, plan->file_count, &all);
    for (uint32_t i = 0; i < plan->file_count; i++)
        if (plan->files[i].verdict != FIRN_CONVERT_CHOSEN)
            files[count++] = plan->files[i].scan;
    firn_delete_uses_count(op->arena, files, count, &left);
    plan->deletes = FIRN_NEW_ARRAY(op->arena, struct firn_convert_delete, plan->scan.delete_count);
    for (uint32_t i = 0; i < plan->scan.delete_count; i++) {
        const struct firn_manifest_entry *entry = plan->scan.deletes[i];
        if (entry->file.content != FIRN_CONTENT_EQUALITY_DELETES)
            continue;
        bool is_dangling = !firn_delete_uses_find(&all, entry);
        plan->deletes[plan->delete_count++] = (struct firn_convert_delete){
            .entry = entry,
            .is_kept = firn_delete_uses_find(&left, entry) || (is_dangling && plan->where.len > 0),
        };
    }
}

/* Which equality deletes reach the files of a group. */
static void list_deletes(struct firn_op *op, struct firn_convert_plan *plan, struct firn_convert_group *group)
{
    struct firn_delete_uses uses;
    firn_delete_uses_count(op->arena, group->files, group->file_count, &uses);
    group->deletes = FIRN_NEW_ARRAY(op->arena, uint32_t, plan->delete_count);
    for (uint32_t i = 0; i < plan->delete_count; i++) {
        struct firn_convert_delete *del = &plan->deletes[i];
        if (!firn_delete_uses_find(&uses, del->entry))
            continue;
        del->group_count++;
        group->deletes[group->delete_count++] = i;
        group->sequence_number_max = FIRN_MAX(group->sequence_number_max, del->entry->sequence_number);
    }
}

static void make_groups(struct firn_op *op, struct firn_convert_plan *plan)
{
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, plan->file_count);
    plan->groups = FIRN_NEW_ARRAY(op->arena, struct firn_convert_group, plan->file_count + 1);
    struct firn_convert_group *group = NULL;
    for (uint32_t i = 0; i < plan->file_count; i++) {
        if (plan->files[i].verdict != FIRN_CONVERT_CHOSEN)
            continue;
        if (!group || group->file_count >= plan->options.group_files_max) {
            group = &plan->groups[plan->group_count++];
            group->files = files;
        }
        group->file_count++;
        group->bytes += FIRN_MAX(plan->files[i].scan->entry->file.file_bytes, 0);
        *files++ = plan->files[i].scan;
    }
    for (uint32_t i = 0; i < plan->group_count; i++)
        list_deletes(op, plan, &plan->groups[i]);
}

/* Deletes that reach nothing leave with the first group; a group without files is made for them where there is none. */
static void add_dangling(struct firn_op *op, struct firn_convert_plan *plan)
{
    uint32_t *deletes = FIRN_NEW_ARRAY(op->arena, uint32_t, plan->delete_count);
    struct firn_convert_group *first = &plan->groups[0];
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->delete_count; i++)
        if (!plan->deletes[i].is_kept && plan->deletes[i].group_count == 0) {
            plan->deletes[i].group_count = 1;
            deletes[count++] = i;
        }
    if (count == 0)
        return;
    for (uint32_t i = 0; i < first->delete_count; i++)
        deletes[count++] = first->deletes[i];
    first->deletes = deletes;
    first->delete_count = count;
    plan->group_count = FIRN_MAX(plan->group_count, 1);
}

static firn_status make_plan(struct firn_op *op, struct firn_pool *pool, struct firn_store *store,
                             struct firn_convert_plan *plan)
{
    struct choosing choosing = { .plan = plan };
    struct firn_scan_options everything = { .with_metrics = true }; /* they rule out files that no key can be in */
    if (plan->where.len > 0)
        FIRN_TRY(firn_predicate_parse(op, plan->where, firn_metadata_current_schema(plan->metadata), &choosing.where));
    if (!plan->snapshot)
        return FIRN_OK;
    firn_map_init(&choosing.paths, op->arena);
    FIRN_TRY(firn_spec_types_new(op, plan->metadata, &plan->spec_types));
    FIRN_TRY(firn_scan_plan(op, pool, store, plan->metadata, plan->snapshot, everything, &plan->scan));
    FIRN_TRY(collect_files(op, &choosing));
    judge_files(&choosing);
    collect_deletes(op, plan);
    make_groups(op, plan);
    add_dangling(op, plan);
    return FIRN_OK;
}

firn_status firn_convert_equality_deletes_plan(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                               const struct firn_convert_equality_deletes_args *args,
                                               struct firn_convert_plan **out)
{
    struct firn_convert_plan *plan = FIRN_NEW(op->arena, struct firn_convert_plan);
    *plan = (struct firn_convert_plan){
        .table_name = table->name,
        .metadata = table->metadata,
        .branch = args->branch.len > 0 ? firn_text_copy(op->arena, args->branch) : FIRN_TEXT("main"),
        .where = firn_text_copy(op->arena, firn_text_trim(args->where)),
        .to_vectors = table->metadata->format_version >= 3,
    };
    FIRN_TRY(firn_convert_options_parse(op, plan->metadata, args->options, args->option_count, &plan->options));
    FIRN_TRY(firn_delete_granularity_find(op, plan->metadata, &plan->granularity));
    FIRN_TRY(firn_branch_head(op, plan->metadata, plan->branch, &plan->snapshot));
    *out = plan;
    return make_plan(op, pool, table->store, plan);
}
