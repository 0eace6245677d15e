/* Plans over every table of the corpus: whatever wrote it, each live file is either in a group or left with a reason.
 */
#include "maintain/corpus_table.h"

#include "firn/rewrite_data_files.h"
#include "maintain/rewrite_data_files.h"
#include "rewrite/deletion.h"

static struct firn_rewrite_plan *plan_all(struct firn_op *op, const char *name, struct firn_table *table)
{
    static const struct firn_property options[] = { { FIRN_TEXT_INIT("rewrite-all"), FIRN_TEXT_INIT("true") } };
    struct firn_rewrite_data_files_args args = { .options = options, .option_count = 1 };
    struct firn_rewrite_plan *plan;
    firn_status status = firn_rewrite_data_files_plan(op, NULL, table, &args, &plan);
    CHECK(status == FIRN_OK, "%s: %s", name, op->error.text);
    return plan;
}

static bool has_unreadable(const struct firn_delete_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!firn_delete_file_is_readable(&list->items[i]->file))
            return true;
    return false;
}

static void check_plan(const char *name, const struct firn_rewrite_plan *plan, const json_t *expected)
{
    json_int_t live = json_integer_value(json_object_get(expected, "live_data_files"));
    uint32_t grouped = 0;
    for (uint32_t i = 0; i < plan->group_count; i++) {
        grouped += plan->groups[i]->file_count;
        for (uint32_t j = 0; j < plan->groups[i]->file_count; j++) {
            const struct firn_scan_file *scan = plan->files[plan->groups[i]->files[j]].scan;
            CHECK(!has_unreadable(&scan->deletes.wide) && !has_unreadable(&scan->deletes.own), "%s: unreadable", name);
            CHECK(!has_unreadable(&scan->deletes.equality), "%s: unreadable equality deletes", name);
            CHECK(scan->entry->file.format == FIRN_FILE_PARQUET, "%s: a file that is not parquet is grouped", name);
        }
    }
    CHECK(grouped + plan->left_alone_count == live, "%s: %u grouped, %u left alone of %" PRId64, name, grouped,
          plan->left_alone_count, (int64_t)live);
}

static void plan_table(struct firn_op *op, void *context, struct corpus_table *opened)
{
    (void)context;
    const struct firn_rewrite_plan *plan = plan_all(op, opened->name, &opened->table);
    check_plan(opened->name, plan, opened->expected);
    CHECK(json_is_object(firn_rewrite_plan_json(op, plan)), "%s", opened->name);
}

static void every_table_can_be_planned(void **state)
{
    corpus_visit_tables(test_op(state), plan_table, NULL);
}

/* Deletes that rows are known to be gone by must be seen to apply to some file. */
static void see_deletes(struct firn_op *op, void *context, struct corpus_table *opened)
{
    (void)context;
    const json_t *rows = json_object_get(opened->expected, "live_rows");
    if (!json_is_integer(rows) ||
        json_integer_value(rows) == json_integer_value(json_object_get(opened->expected, "live_data_records")))
        return;
    const struct firn_rewrite_plan *plan = plan_all(op, opened->name, &opened->table);
    CHECK(plan->uses.count > 0, "%s: %" PRId64 " rows are deleted, but no file has deletes", opened->name,
          (int64_t)(json_integer_value(json_object_get(opened->expected, "live_data_records")) -
                    json_integer_value(rows)));
}

static void known_deletes_are_seen(void **state)
{
    corpus_visit_tables(test_op(state), see_deletes, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_table_can_be_planned),
        TEST(known_deletes_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
