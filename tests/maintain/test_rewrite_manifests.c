/* rewrite_manifests: entries stay what they are, and stand where they should. */
#include "maintain/history.h"

#include "firn/rewrite_manifests.h"
#include "support/fault_store.h"

typedef struct firn_rewrite_manifests_args args_of;
typedef struct firn_rewrite_manifests_report report_of;

static firn_status rewrite(struct history *history, args_of args, report_of *report)
{
    struct firn_manifest_plan *plan;
    FIRN_TRY(firn_rewrite_manifests_plan(history->op, NULL, &history->fixture.table, &args, &plan));
    return firn_rewrite_manifests_apply(history->op, NULL, &history->fixture.table, plan, report);
}

/* A rewrite that gives these counts. */
static void rewrite_gives(struct history *history, args_of args, int rewritten, int added)
{
    report_of report;
    CHECK_OK(history->op, rewrite(history, args, &report));
    CHECK(report.rewritten_manifests_count == rewritten && report.added_manifests_count == added,
          "%" PRId64 " became %" PRId64 ", not %d became %d", report.rewritten_manifests_count,
          report.added_manifests_count, rewritten, added);
    CHECK((report.snapshot_id == FIRN_NO_SNAPSHOT) == (rewritten == 0), "a snapshot is made when something changes");
}

static struct firn_text name_of(struct firn_text path)
{
    return firn_text_from(path, (size_t)(firn_text_find_last(path, '/') + 1));
}

static struct firn_manifest_list list_of(struct history *history)
{
    struct firn_manifest_list list = { 0 };
    const struct firn_metadata *metadata = history_metadata(history);
    const struct firn_snapshot *current = firn_metadata_current(metadata);
    if (current)
        CHECK_OK(history->op, firn_snapshot_manifests(history->op, history->store, metadata, current, &list));
    return list;
}

static struct firn_manifest manifest_of(struct history *history, const struct firn_manifest_file *row)
{
    struct firn_manifest manifest;
    struct firn_manifest_read_options options = { 0 };
    CHECK_OK(history->op,
             firn_manifest_read(history->op, history->store, history_metadata(history), row, options, &manifest));
    return manifest;
}

/* Names of the files of each manifest, in list order: "a b | c"; "-a" for a tombstone. */
static const char *layout(struct history *history)
{
    struct firn_arena *arena = history->op->arena;
    struct firn_text text = FIRN_TEXT("");
    struct firn_manifest_list list = list_of(history);
    for (uint32_t i = 0; i < list.count; i++) {
        struct firn_manifest manifest = manifest_of(history, &list.manifests[i]);
        text = firn_text_format(arena, "%.*s%s", FIRN_FMT(text), i ? "| " : "");
        for (uint32_t k = 0; k < manifest.count; k++)
            text = firn_text_format(arena, "%.*s%s%.*s ", FIRN_FMT(text),
                                    manifest.entries[k].status == FIRN_ENTRY_DELETED ? "-" : "",
                                    FIRN_FMT(name_of(manifest.entries[k].file.path)));
    }
    return text.len > 0 ? firn_text_format(arena, "%.*s", (int)text.len - 1, text.data).data : "";
}

static void layout_is(struct history *history, const char *expected)
{
    const char *found = layout(history);
    CHECK(strcmp(found, expected) == 0, "manifests are '%s', not '%s'", found, expected);
}

static int compare_texts(const void *a, const void *b)
{
    return firn_text_compare(*(const struct firn_text *)a, *(const struct firn_text *)b);
}

/* All that an entry says of a live file but in which manifest it stands, sorted. */
static const char *entries(struct history *history)
{
    struct firn_arena *arena = history->op->arena;
    struct firn_manifest_list list = list_of(history);
    FIRN_ARRAY(struct firn_text) lines = { 0 };
    for (uint32_t i = 0; i < list.count; i++) {
        struct firn_manifest manifest = manifest_of(history, &list.manifests[i]);
        for (uint32_t k = 0; k < manifest.count; k++) {
            const struct firn_manifest_entry *entry = &manifest.entries[k];
            if (entry->status != FIRN_ENTRY_DELETED)
                FIRN_PUSH(arena, &lines,
                          firn_text_format(arena,
                                           "%.*s %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                                           FIRN_FMT(entry->file.path), (int)entry->file.content, entry->snapshot_id,
                                           entry->sequence_number, entry->file_sequence_number,
                                           entry->file.record_count, entry->file.first_row_id));
        }
    }
    if (lines.count > 0)
        qsort(lines.items, lines.count, sizeof *lines.items, compare_texts);
    struct firn_text text = FIRN_TEXT("");
    for (size_t i = 0; i < lines.count; i++)
        text = firn_text_join(arena, text, lines.items[i]);
    return firn_text_copy(arena, text).data;
}

static void entries_are(struct history *history, const char *expected)
{
    const char *found = entries(history);
    CHECK(strcmp(found, expected) == 0, "entries are\n%s, not\n%s", found, expected);
}

static void append(struct history *history, int64_t day, const char *names)
{
    history_make(history, (struct history_commit){ .add = names, .day = day });
}

static void set_property(struct history *history, const char *key, const char *value)
{
    history_update(history, "{\"action\": \"set-properties\", \"updates\": {\"%s\": \"%s\"}}", key, value);
}

#define NO_MERGE   "\"commit.manifest-merge.enabled\": \"false\""
#define TARGET_KEY "commit.manifest.target-size-bytes"

static void entries_are_clustered(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    append(&history, 3, "a");
    append(&history, 1, "b");
    append(&history, 2, "c d");
    append(&history, 1, "e");
    const char *before = entries(&history);
    rewrite_gives(&history, (args_of){ 0 }, 4, 1);
    layout_is(&history, "e b c d a");
    entries_are(&history, before);
    static const char *const summary[][2] = {
        { "operation", "replace" },    { "manifests-created", "1" }, { "manifests-kept", "0" },
        { "manifests-replaced", "4" }, { "entries-processed", "0" }, { "changed-partition-count", "0" },
        { "total-data-files", "5" },   { "total-records", "5" },     { "added-data-files", "" },
        { "deleted-data-files", "" },  { "added-records", "" },
    };
    for (size_t i = 0; i < sizeof summary / sizeof *summary; i++)
        CHECK(firn_text_is(fixture_summary(&history.fixture, summary[i][0]), summary[i][1]), "%s is %.*s",
              summary[i][0], FIRN_FMT(fixture_summary(&history.fixture, summary[i][0])));
    rewrite_gives(&history, (args_of){ 0 }, 0, 0);
    append(&history, 2, "f");
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    layout_is(&history, "e b f c d a");
    history_close(&history);
}

static void a_small_target_gives_a_manifest_a_partition(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE ", \"" TARGET_KEY "\": \"1\"}");
    append(&history, 3, "a");
    append(&history, 1, "b");
    append(&history, 2, "c d");
    append(&history, 1, "e");
    const char *before = entries(&history);
    rewrite_gives(&history, (args_of){ 0 }, 4, 3);
    layout_is(&history, "e b | c d | a");
    entries_are(&history, before);
    rewrite_gives(&history, (args_of){ 0 }, 0, 0);
    set_property(&history, TARGET_KEY, "8388608");
    rewrite_gives(&history, (args_of){ 0 }, 3, 1);
    layout_is(&history, "e b c d a");
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(entries_are_clustered),
        TEST(a_small_target_gives_a_manifest_a_partition),
    };
    return cmocka_run_group_tests_name("rewrite_manifests", tests, NULL, NULL);
}
