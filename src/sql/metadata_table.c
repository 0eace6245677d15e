/* The metadata tables that there are. */
#include "sql/metadata_table.h"

#include "base/math.h"

static const struct firn_metadata_table *const tables[] = {
    &firn_snapshots_table,    &firn_history_table,       &firn_refs_table,           &firn_metadata_log_entries_table,
    &firn_manifests_table,    &firn_all_manifests_table, &firn_files_table,          &firn_data_files_table,
    &firn_delete_files_table, &firn_all_files_table,     &firn_all_data_files_table, &firn_all_delete_files_table,
    &firn_entries_table,      &firn_all_entries_table,   &firn_partitions_table,     &firn_position_deletes_table,
};

const struct firn_metadata_table *firn_metadata_table_find(struct firn_text name)
{
    for (size_t i = 0; i < FIRN_COUNT_OF(tables); i++)
        if (firn_text_same_nocase(name, firn_text_of(tables[i]->name)))
            return tables[i];
    return NULL;
}

struct firn_text firn_metadata_table_names(struct firn_arena *arena)
{
    struct firn_text names = FIRN_TEXT("");
    for (size_t i = 0; i < FIRN_COUNT_OF(tables); i++)
        names = firn_text_format(arena, "%.*s%s%s", FIRN_FMT(names), i ? ", " : "", tables[i]->name);
    return names;
}
