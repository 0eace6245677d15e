/* rewrite_manifests: entries stay what they are, and stand where they should. */
#include "maintain/history.h"

#include "firn/rewrite_manifests.h"
#include "support/fault_store.h"
#include "support/seeds.h"

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

/* Specs and arguments --------------------------------------------------------------------------------------------- */

static void one_more_spec(struct history *history)
{
    history_update(history, "{\"action\": \"add-spec\", \"spec\": {\"spec-id\": 1, \"fields\": ["
                            "{\"source-id\": 1, \"field-id\": 1000, \"name\": \"id\", \"transform\": \"identity\"},"
                            "{\"source-id\": 2, \"field-id\": 1001, \"name\": \"v\", \"transform\": \"identity\"}]}},"
                            "{\"action\": \"set-default-spec\", \"spec-id\": 1}");
}

/* A file of spec 1. `v` NULL: the value is null. */
static struct firn_data_file file_of(struct history *history, const char *name, int64_t id, const char *v)
{
    struct firn_data_file file = fixture_file(history->op, &history->fixture, name, 1);
    struct firn_value *values = FIRN_NEW_ARRAY(history->op->arena, struct firn_value, 2);
    values[0] = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = id };
    values[1] = (struct firn_value){ .type = FIRN_TYPE_STRING, .is_null = !v };
    if (v)
        values[1].bytes = firn_bytes_of_text(firn_text_of(v));
    file.spec_id = 1;
    file.partition = (struct firn_partition){ values, 2 };
    return file;
}

static void append_file(struct history *history, struct firn_data_file file)
{
    CHECK_OK(history->op, fixture_append(history->op, &history->fixture, &file, 1));
}

static void only_one_spec_is_rewritten(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    history_open(&history, op, "{" NO_MERGE "}");
    append(&history, 2, "a");
    append(&history, 1, "b");
    one_more_spec(&history);
    append_file(&history, file_of(&history, "c", 2, "y"));
    append_file(&history, file_of(&history, "d", 1, NULL));
    append_file(&history, file_of(&history, "e", 1, "x"));
    append_file(&history, file_of(&history, "f", 2, "x"));
    const char *before = entries(&history);
    rewrite_gives(&history, (args_of){ 0 }, 4, 1);
    layout_is(&history, "d e f c | b | a");
    rewrite_gives(&history, (args_of){ .has_spec_id = true }, 2, 1);
    layout_is(&history, "b a | d e f c");

    struct firn_text v = FIRN_TEXT("v"), both[] = { FIRN_TEXT("v"), FIRN_TEXT("id") };
    rewrite_gives(&history, (args_of){ .sort_by = &v, .sort_by_count = 1 }, 0, 0); /* one manifest stays as it is */
    set_property(&history, TARGET_KEY, "1");
    rewrite_gives(&history, (args_of){ .sort_by = both, .sort_by_count = 2 }, 1, 4);
    layout_is(&history, "d | e | f | c | b a");
    rewrite_gives(&history, (args_of){ .sort_by = &v, .sort_by_count = 1 }, 0, 0);
    entries_are(&history, before);
    history_close(&history);
}

static void arguments_are_checked(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    struct firn_text none[1], wrong = FIRN_TEXT("v");
    report_of report;
    history_open(&history, op, NULL);
    rewrite_gives(&history, (args_of){ 0 }, 0, 0); /* an empty table */
    append(&history, 1, "a");
    rewrite_gives(&history, (args_of){ 0 }, 0, 0); /* one manifest */
    CHECK_STATUS(op, FIRN_USAGE, rewrite(&history, (args_of){ .has_spec_id = true, .spec_id = 1 }, &report));
    CHECK_STATUS(op, FIRN_USAGE, rewrite(&history, (args_of){ .has_spec_id = true, .spec_id = INT64_MAX }, &report));
    CHECK_STATUS(op, FIRN_USAGE, rewrite(&history, (args_of){ .sort_by = none }, &report));
    CHECK_STATUS(op, FIRN_USAGE, rewrite(&history, (args_of){ .sort_by = &wrong, .sort_by_count = 1 }, &report));
    CHECK_OK(op, rewrite(&history, (args_of){ .use_caching = true }, &report));
    CHECK(report.warning_count == 1, "%u warnings", report.warning_count);
    set_property(&history, TARGET_KEY, "0");
    CHECK_STATUS(op, FIRN_USAGE, rewrite(&history, (args_of){ 0 }, &report));
    history_close(&history);
}

/* What is not taken along -------------------------------------------------------------------------------------- */

static void tombstones_go_with_their_manifest_only(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    append(&history, 1, "a b");
    append(&history, 1, "c");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "a c", .day = 1 });
    layout_is(&history, "-c | -a b");
    one_more_spec(&history);
    struct firn_data_file files[] = { file_of(&history, "e", 2, "x"), file_of(&history, "d", 1, "x") };
    CHECK_OK(history.op, fixture_append(history.op, &history.fixture, files, 1));
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "b", .day = 1 });
    CHECK_OK(history.op, fixture_append(history.op, &history.fixture, &files[1], 1));
    const char *before = entries(&history);
    layout_is(&history, "d | e");
    history_make(&history, (struct history_commit){ .add = "f g", .day = 1 });
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "f g", .day = 1 });
    layout_is(&history, "-f -g | d | e");
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    layout_is(&history, "d e | -f -g"); /* not of this spec: it stays */
    entries_are(&history, before);
    rewrite_gives(&history, (args_of){ .has_spec_id = true }, 0, 0); /* one manifest, as the reference has it */
    history_close(&history);
}

static void manifests_of_tombstones_alone_vanish(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    append(&history, 1, "a b");
    append(&history, 2, "c");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "a b", .day = 1 });
    history_make(&history, (struct history_commit){ .add = "d", .day = 2 });
    layout_is(&history, "d | c");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "c d", .day = 2 });
    layout_is(&history, "-d | -c");
    rewrite_gives(&history, (args_of){ 0 }, 2, 0);
    layout_is(&history, "");
    rewrite_gives(&history, (args_of){ 0 }, 0, 0);
    append(&history, 2, "e");
    layout_is(&history, "e");
    history_close(&history);
}

static void deletes_are_rewritten_beside(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    append(&history, 2, "a");
    append(&history, 1, "b");
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "p", .day = 2 });
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "q", .day = 1 });
    const char *before = entries(&history);
    rewrite_gives(&history, (args_of){ 0 }, 4, 2);
    layout_is(&history, "b a | q p");
    struct firn_manifest_list list = list_of(&history);
    CHECK(!list.manifests[0].is_deletes && list.manifests[1].is_deletes, "data first, then deletes");
    CHECK(list.manifests[1].min_sequence_number == 3, "%" PRId64, list.manifests[1].min_sequence_number);
    entries_are(&history, before);
    append(&history, 1, "c"); /* data alone */
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    layout_is(&history, "c b a | q p");
    history_close(&history);
}

/* Writes the current manifest list anew, with its rows changed. */
static void change_list(struct history *history, void (*change)(struct firn_manifest_file *row))
{
    struct firn_op *op = history->op;
    const struct firn_metadata *metadata = history_metadata(history);
    const struct firn_snapshot *current = firn_metadata_current(metadata);
    struct firn_manifest_list list = list_of(history);
    struct firn_store_writer *file;
    struct firn_manifest_list_header header = {
        .format_version = metadata->format_version,
        .snapshot_id = current->id,
        .parent_snapshot_id = current->parent_id,
        .sequence_number = current->sequence_number,
        .codec = FIRN_TEXT("gzip"),
    };
    for (uint32_t i = 0; i < list.count; i++)
        change(&list.manifests[i]);
    CHECK_OK(op, firn_store_write(op, history->store, current->manifest_list, false, &file));
    CHECK_OK(op, firn_manifest_list_write(op, &header, list.manifests, list.count, firn_store_writer_sink(file), NULL));
    CHECK_OK(op, firn_store_writer_finish(op, file));
}

static void label_as_data(struct firn_manifest_file *row)
{
    row->is_deletes = false;
}

static void deletes_labelled_as_data(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    append(&history, 2, "a");
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "p", .day = 2 });
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "q", .day = 1 });
    append(&history, 1, "b");
    const char *before = entries(&history);
    change_list(&history, label_as_data);
    rewrite_gives(&history, (args_of){ 0 }, 4, 2);
    layout_is(&history, "b a | q p");
    CHECK(list_of(&history).manifests[1].is_deletes, "labelled as what they are");
    entries_are(&history, before);
    history_close(&history);
}

/* Numbers and ids ------------------------------------------------------------------------------------------------- */

static void forget_counts(struct firn_manifest_file *row)
{
    row->added_files_count = row->existing_files_count = row->deleted_files_count = FIRN_ABSENT;
    row->added_rows_count = row->existing_rows_count = row->deleted_rows_count = FIRN_ABSENT;
}

static void upgrade(struct history *history, int version)
{
    history_update(history, "{\"action\": \"upgrade-format-version\", \"format-version\": %d}", version);
}

/* R18. */
static void files_from_before_sequence_numbers(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{\"format-version\": \"1\", " NO_MERGE "}");
    append(&history, 1, "a");
    append(&history, 1, "b");
    change_list(&history, forget_counts);
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    layout_is(&history, "b a");
    upgrade(&history, 2);
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "p", .day = 1 });
    append(&history, 1, "c");
    const char *before = entries(&history);
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    layout_is(&history, "c b a | p");
    entries_are(&history, before);
    struct firn_manifest_list list = list_of(&history);
    struct firn_manifest manifest = manifest_of(&history, &list.manifests[0]);
    CHECK(list.manifests[0].min_sequence_number == 0 && list.manifests[0].sequence_number == 3, "numbers in the list");
    CHECK(manifest.entries[2].sequence_number == 0 && manifest.entries[0].sequence_number == 2, "numbers of entries");
    CHECK(list.manifests[1].min_sequence_number == 1, "the delete stays");
    history_close(&history);
}

/* R19. */
static void row_ids_stay(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{\"format-version\": \"3\", " NO_MERGE "}");
    append(&history, 2, "a b c");
    append(&history, 1, "d e f");
    const char *before = entries(&history);
    CHECK(strstr(before, "/f 0") && strstr(before, " 1 5\n"), "the last file's first row is 5: %s", before);
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    layout_is(&history, "d e f a b c");
    entries_are(&history, before);
    append(&history, 1, "g");
    struct firn_manifest_list list = list_of(&history);
    int64_t first = manifest_of(&history, &list.manifests[0]).entries[0].file.first_row_id;
    CHECK(first >= 6, "the new rows begin at %" PRId64, first);
    history_close(&history);
}

/* The rows of a table get ids with the first commit of version 3, and a rewrite is one. */
static void row_ids_are_given_once(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    append(&history, 2, "a b c");
    append(&history, 1, "d");
    upgrade(&history, 3);
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    struct firn_manifest_list list = list_of(&history);
    struct firn_manifest manifest = manifest_of(&history, &list.manifests[0]);
    for (uint32_t i = 0; i < manifest.count; i++)
        CHECK(manifest.entries[i].file.first_row_id == i, "file %u begins at %" PRId64, i,
              manifest.entries[i].file.first_row_id);
    const char *before = entries(&history);
    append(&history, 1, "e");
    const char *with_more = entries(&history);
    CHECK(strncmp(before, with_more, strlen(before)) == 0, "ids stay");
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    entries_are(&history, with_more);
    history_close(&history);
}

/* Partitions and bounds ---------------------------------------------------------------------------------------------
 */

static bool summary_is(const struct firn_manifest_file *row, uint32_t field, const char *lower, const char *upper)
{
    const struct firn_field_summary *summary = &row->summaries[field];
    return firn_text_is(firn_text_of_bytes(summary->lower_bound), lower) &&
           firn_text_is(firn_text_of_bytes(summary->upper_bound), upper);
}

/* R20. */
static void summaries_hold_what_is_left(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    one_more_spec(&history);
    struct firn_data_file files[] = { file_of(&history, "a", 1, "\xe3\xbc\xd1"), file_of(&history, "b", 1, "\xbc\xd1"),
                                      file_of(&history, "c", 1, "\xe3\xbc\xd1") };
    struct firn_snapshot_result result;
    struct firn_snapshot_change removal = { .operation = FIRN_TEXT("delete"),
                                            .branch = FIRN_TEXT("main"),
                                            .removed = &files[1],
                                            .removed_count = 1,
                                            .base_snapshot_id = FIRN_NO_SNAPSHOT };
    CHECK_OK(history.op, fixture_append(history.op, &history.fixture, files, 2));
    append_file(&history, files[2]);
    CHECK_OK(history.op, firn_snapshot_commit(history.op, NULL, &history.fixture.table, &removal, &result));
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    struct firn_manifest_list list = list_of(&history);
    CHECK(summary_is(&list.manifests[0], 1, "\xe3\xbc\xd1", "\xe3\xbc\xd1"), "the removed value is not in the summary");
    history_close(&history);
}

static void scan_finds(struct history *history, const char *where, const char *expected)
{
    struct firn_op *op = history->op;
    const struct firn_metadata *metadata = history_metadata(history);
    struct firn_scan_options options = { 0 };
    struct firn_scan scan;
    struct firn_text found = FIRN_TEXT("");
    CHECK_OK(op, firn_predicate_parse(op, firn_text_of(where), firn_metadata_current_schema(metadata), &options.where));
    CHECK_OK(op, firn_scan_plan(op, NULL, history->store, metadata, firn_metadata_current(metadata), options, &scan));
    for (uint32_t i = 0; i < scan.file_count; i++)
        found = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(found), i ? " " : "",
                                 FIRN_FMT(name_of(scan.files[i].entry->file.path)));
    CHECK(firn_text_is(found, expected), "'%.*s', not '%s'", FIRN_FMT(found), expected);
}

/* R21. */
static void a_partition_field_without_its_column(void **state)
{
    struct history history;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    one_more_spec(&history);
    append_file(&history, file_of(&history, "a", 2, "a"));
    append_file(&history, file_of(&history, "b", 1, "b"));
    append_file(&history, file_of(&history, "c", 3, "b"));
    history_update(&history,
                   "{\"action\": \"add-schema\", \"schema\": {\"type\": \"struct\", \"schema-id\": 1, \"fields\": ["
                   "{\"id\": 2, \"name\": \"v\", \"required\": false, \"type\": \"string\"}]}},"
                   "{\"action\": \"set-current-schema\", \"schema-id\": 1}");
    set_property(&history, TARGET_KEY, "1");
    const char *before = entries(&history);
    struct firn_text v = FIRN_TEXT("v");
    rewrite_gives(&history, (args_of){ .sort_by = &v, .sort_by_count = 1 }, 3, 3);
    layout_is(&history, "a | b | c");
    entries_are(&history, before);
    scan_finds(&history, "v = 'b'", "b c");
    scan_finds(&history, "v = 'a'", "a");
    history_close(&history);
}

/* R36: the bound's length tells the type that it was written with. */
static void bounds_keep_their_width(void **state)
{
    struct history history;
    uint8_t lower[] = { 1, 0, 0, 0 }, upper[] = { 9, 0, 0, 0 };
    int32_t id = 1;
    int64_t count = 3;
    history_open(&history, test_op(state), "{" NO_MERGE "}");
    one_more_spec(&history);
    struct firn_data_file file = file_of(&history, "a", 5, "x");
    file.lower_bounds = (struct firn_bound_map){ &id, &(struct firn_bytes){ lower, sizeof lower }, 1, true };
    file.upper_bounds = (struct firn_bound_map){ &id, &(struct firn_bytes){ upper, sizeof upper }, 1, true };
    file.value_counts = (struct firn_count_map){ &id, &count, 1, true };
    append_file(&history, file);
    history_update(&history,
                   "{\"action\": \"add-schema\", \"schema\": {\"type\": \"struct\", \"schema-id\": 1, \"fields\": ["
                   "{\"id\": 1, \"name\": \"id\", \"required\": false, \"type\": \"long\"},"
                   "{\"id\": 2, \"name\": \"v\", \"required\": false, \"type\": \"string\"}]}},"
                   "{\"action\": \"set-current-schema\", \"schema-id\": 1}");
    struct firn_data_file second = file_of(&history, "b", 4, "x");
    second.partition.values[0].type = FIRN_TYPE_LONG;
    append_file(&history, second);
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    layout_is(&history, "b a");
    struct firn_manifest_list list = list_of(&history);
    const struct firn_data_file *kept = &manifest_of(&history, &list.manifests[0]).entries[1].file;
    struct firn_bytes bound;
    CHECK(firn_bound_map_find(&kept->lower_bounds, 1, &bound) && bound.len == 4 && bound.data[0] == 1, "lower");
    CHECK(firn_bound_map_find(&kept->upper_bounds, 1, &bound) && bound.len == 4 && bound.data[0] == 9, "upper");
    CHECK(firn_count_map_find(&kept->value_counts, 1, &count) && count == 3, "count");
    CHECK(kept->partition.values[0].type == FIRN_TYPE_LONG && kept->partition.values[0].integer == 5, "partition");
    scan_finds(&history, "id = 9", "");
    history_close(&history);
}

static size_t find(struct firn_bytes bytes, const char *text)
{
    const uint8_t *at = memmem(bytes.data, bytes.len, text, strlen(text));
    CHECK(at, "no '%s'", text);
    return (size_t)(at - bytes.data);
}

/* Changes the schema in a manifest's header: equality_ids becomes a list of long, whose numbers look the same, and a
 * record's name a letter shorter for it. */
static void make_equality_ids_long(struct history *history, struct firn_text path)
{
    static const char old_name[] = "k117_v118", new_name[] = "k117_v11";
    static const char old_items[] = "\"int\",\"element-id\":136", new_items[] = "\"long\",\"element-id\":136";
    struct firn_op *op = history->op;
    struct firn_buffer old = { 0 }, changed = { 0 };
    CHECK_OK(op, firn_store_read(op, history->store, path, FIRN_MANIFEST_BYTES_MAX, &old));
    size_t name = find(firn_buffer_bytes(&old), old_name), items = find(firn_buffer_bytes(&old), old_items);
    size_t after_name = name + strlen(old_name), after_items = items + strlen(old_items);
    CHECK_OK(op, firn_buffer_append(op, &changed, old.data, name));
    CHECK_OK(op, firn_buffer_append(op, &changed, new_name, strlen(new_name)));
    CHECK_OK(op, firn_buffer_append(op, &changed, old.data + after_name, items - after_name));
    CHECK_OK(op, firn_buffer_append(op, &changed, new_items, strlen(new_items)));
    CHECK_OK(op, firn_buffer_append(op, &changed, old.data + after_items, old.len - after_items));
    CHECK(changed.len == old.len, "as long as before");
    CHECK_OK(op, firn_store_put(op, history->store, path, false, firn_buffer_bytes(&changed)));
    firn_buffer_done(&old);
    firn_buffer_done(&changed);
}

/* R47. */
static void lists_of_long_become_lists_of_int(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    int32_t ids[] = { 2, 1 };
    history_open(&history, op, "{" NO_MERGE "}");
    one_more_spec(&history);
    for (int i = 0; i < 2; i++) {
        struct firn_data_file file = file_of(&history, i ? "p" : "q", i, "x");
        file.content = FIRN_CONTENT_EQUALITY_DELETES;
        file.equality_ids = ids;
        file.equality_id_count = 2;
        CHECK_OK(op, fixture_delete(op, &history.fixture, &file, 1));
        make_equality_ids_long(&history, list_of(&history).manifests[0].path);
    }
    const char *before = entries(&history);
    rewrite_gives(&history, (args_of){ 0 }, 2, 1);
    entries_are(&history, before);
    struct firn_manifest_list list = list_of(&history);
    const struct firn_data_file *kept = &manifest_of(&history, &list.manifests[0]).entries[1].file;
    CHECK(kept->equality_id_count == 2 && kept->equality_ids[0] == 2 && kept->equality_ids[1] == 1, "the ids");
    struct firn_buffer written = { 0 };
    CHECK_OK(op, firn_store_read(op, history.store, list.manifests[0].path, FIRN_MANIFEST_BYTES_MAX, &written));
    find(firn_buffer_bytes(&written), "\"int\",\"element-id\":136");
    firn_buffer_done(&written);
    history_close(&history);
}

/* Sizes ----------------------------------------------------------------------------------------------------------- */

/* A group that is larger than its share rolls over, after so many entries as are between two looks at the size. */
static void a_large_partition_rolls_over(void **state)
{
    enum { COUNT = 600 };
    static struct firn_data_file files[COUNT];
    struct history history;
    struct firn_op *op = test_op(state);
    history_open(&history, op, "{" NO_MERGE "}");
    for (int i = 0; i < COUNT; i++) {
        struct history_files made;
        history_files_of(&history, firn_text_format(op->arena, "f%03d", i).data, 1, FIRN_CONTENT_DATA, &made);
        files[i] = made.items[0];
    }
    CHECK_OK(op, fixture_append(op, &history.fixture, files, COUNT));
    append(&history, 2, "z");
    const char *before = entries(&history);
    set_property(&history, TARGET_KEY, "1");
    rewrite_gives(&history, (args_of){ 0 }, 2, 4);
    struct firn_manifest_list list = list_of(&history);
    static const int64_t counts[] = { 250, 250, 100, 1 };
    for (uint32_t i = 0; i < list.count; i++)
        CHECK(list.manifests[i].existing_files_count == counts[i], "%u: %" PRId64, i,
              list.manifests[i].existing_files_count);
    entries_are(&history, before);
    rewrite_gives(&history, (args_of){ 0 }, 0, 0);
    history_close(&history);
}

static void without_partitions_shares_are_even(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    CHECK_OK(op, firn_store_open_memory(op, &store));
    history_attach(&history, op, store, HISTORY_START_MS);
    CHECK_OK(op, fixture_create(op, &history.fixture, (struct fixture_options){ .properties = "{" NO_MERGE "}" }));
    for (int i = 0; i < 7; i++)
        append_file(&history, fixture_file(op, &history.fixture, (char[]){ (char)('a' + i), 0 }, 1));
    const char *before = entries(&history);
    int64_t bytes = 0;
    struct firn_manifest_list list = list_of(&history);
    for (uint32_t i = 0; i < list.count; i++)
        bytes += list.manifests[i].length;
    set_property(&history, TARGET_KEY, firn_text_format(op->arena, "%" PRId64, bytes / 3 + 1).data);
    rewrite_gives(&history, (args_of){ 0 }, 7, 3);
    layout_is(&history, "g f e | d c | b a");
    entries_are(&history, before);
    history_close(&history);
}

/* Others ------------------------------------------------------------------------------------------------------------
 */

static struct firn_table peer_of(struct history *history)
{
    struct firn_table peer;
    CHECK_OK(history->op, firn_catalog_load(history->op, history->fixture.catalog, FIRN_TEXT("db.t"), &peer));
    return peer;
}

/* A plan that is applied after `meanwhile` happened. */
static firn_status rewrite_late(struct history *history, void (*meanwhile)(struct history *history), report_of *report)
{
    struct firn_op *op = history->op;
    struct firn_manifest_plan *plan;
    args_of args = { 0 };
    struct firn_table planned = history->fixture.table;
    CHECK_OK(op, firn_rewrite_manifests_plan(op, NULL, &planned, &args, &plan));
    history->fixture.table = peer_of(history);
    meanwhile(history);
    firn_status status = firn_rewrite_manifests_apply(op, NULL, &planned, plan, report);
    history->fixture.table = peer_of(history);
    return status;
}

static void another_appends(struct history *history)
{
    append(history, 1, "z");
}

static void another_removes(struct history *history)
{
    history_make(history, (struct history_commit){ .operation = "delete", .remove = "a", .day = 2 });
}

static void another_merges(struct history *history)
{
    set_property(history, "commit.manifest-merge.enabled", "true");
    set_property(history, "commit.manifest.min-count-to-merge", "2");
    append(history, 1, "z");
    set_property(history, "commit.manifest-merge.enabled", "false");
    append(history, 3, "y");
}

static void another_raises_the_version(struct history *history)
{
    upgrade(history, 3);
}

static void another_raises_it_and_appends(struct history *history)
{
    upgrade(history, 3);
    append(history, 1, "z");
}

static void what_others_commit_meanwhile(void **state)
{
    static const struct {
        const char *name;
        void (*meanwhile)(struct history *history);
        const char *layout;
        int rewritten, added;
    } cases[] = {
        { "append", another_appends, "c b a | z", 3, 1 },
        { "removal", another_removes, "c b", 3, 1 }, /* with the tombstone's manifest */
        { "merge", another_merges, "z c b a y", 2, 1 },
        { "version", another_raises_the_version, "c b a", 3, 1 },
        { "version and ids", another_raises_it_and_appends, "z c b a", 4, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct history history;
        report_of report;
        history_open(&history, test_op(state), "{" NO_MERGE "}");
        append(&history, 2, "a");
        append(&history, 1, "b");
        append(&history, 1, "c");
        CHECK_OK(history.op, rewrite_late(&history, cases[i].meanwhile, &report));
        CHECK(report.rewritten_manifests_count == cases[i].rewritten && report.added_manifests_count == cases[i].added,
              "%s: %" PRId64 " became %" PRId64, cases[i].name, report.rewritten_manifests_count,
              report.added_manifests_count);
        layout_is(&history, cases[i].layout);
        history_close(&history);
    }
}

/* Any table ----------------------------------------------------------------------------------------------------------
 */

/* Appends, removals and deletes of up to three files in one of five partitions. */
static void make_random_commit(struct history *history, struct random *random, uint32_t number)
{
    struct firn_arena *arena = history->op->arena;
    int64_t day = (int64_t)draw(random, 5) - 2;
    const char *names = firn_text_format(arena, "f%ua f%ub f%uc", number, number, number).data;
    uint32_t old = draw(random, number + 1);
    switch (draw(random, 5)) {
    case 0:
        history_make(history, (struct history_commit){ .operation = "overwrite", .add_deletes = names, .day = day });
        break;
    case 1: /* one that may be there */
        if (strstr(entries(history), firn_text_format(arena, "/f%ub 0 ", old).data))
            history_make(history, (struct history_commit){ .operation = "delete",
                                                           .remove = firn_text_format(arena, "f%ub", old).data });
        break;
    default:
        history_make(history, (struct history_commit){ .add = names, .day = day });
    }
}

static int64_t first_day(const struct firn_manifest *manifest)
{
    return manifest->entries[0].file.partition.values[0].integer;
}

static int64_t last_day(const struct firn_manifest *manifest)
{
    return manifest->entries[manifest->count - 1].file.partition.values[0].integer;
}

/* Within each content, every manifest begins where the one before ended. */
static void check_clustered(struct history *history, uint64_t seed)
{
    struct firn_manifest_list list = list_of(history);
    for (uint32_t i = 1; i < list.count; i++) {
        struct firn_manifest before = manifest_of(history, &list.manifests[i - 1]);
        struct firn_manifest manifest = manifest_of(history, &list.manifests[i]);
        if (list.manifests[i].is_deletes != list.manifests[i - 1].is_deletes)
            continue;
        CHECK(last_day(&before) <= first_day(&manifest), "seed %" PRIu64 ": manifest %u", seed, i);
        for (uint32_t k = 1; k < manifest.count; k++)
            CHECK(manifest.entries[k - 1].file.partition.values[0].integer <=
                      manifest.entries[k].file.partition.values[0].integer,
                  "seed %" PRIu64 ": entry %u of manifest %u", seed, k, i);
    }
}

static void rewrite_random_table(struct firn_op *op, uint64_t seed)
{
    static const char *const targets[] = { "1", "6000", "20000", "8388608" };
    struct history history;
    struct random random = { seed };
    report_of report;
    struct firn_text properties =
        firn_text_format(op->arena, "{\"format-version\": \"2\", %s\"" TARGET_KEY "\": \"%s\"}",
                         draw(&random, 2) ? NO_MERGE ", " : "", targets[draw(&random, 4)]);
    history_open(&history, op, properties.data);
    for (uint32_t commits = 2 + draw(&random, 10), i = 0; i < commits; i++)
        make_random_commit(&history, &random, i);
    if (draw(&random, 3) == 0)
        upgrade(&history, 3);
    const char *before = entries(&history);
    bool has_ids = history_metadata(&history)->format_version < 3;
    int runs = 0;
    do {
        CHECK_OK(op, rewrite(&history, (args_of){ 0 }, &report));
        if (has_ids)
            entries_are(&history, before);
        before = entries(&history); /* with ids from now on */
        has_ids = true;
        CHECK(++runs < 5, "seed %" PRIu64 " does not settle", seed);
    } while (report.rewritten_manifests_count > 0);
    if (runs > 1)
        check_clustered(&history, seed);
    history_close(&history);
}

static void random_tables(void **state)
{
    struct firn_op *op = test_op(state);
    struct test_seeds seeds = test_seeds(op, 1, 40);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct firn_arena arena, *outer = op->arena;
        firn_arena_init(&arena);
        op->arena = &arena;
        rewrite_random_table(op, seed);
        op->arena = outer;
        firn_arena_done(&arena);
    }
}

/* Faults ------------------------------------------------------------------------------------------------------------
 */

static const char old_layout[] = "d | b c | a | q | p", new_layout[] = "b c | d a | q | p";

static struct firn_store *make_faulty_table(struct firn_op *op, const char **before)
{
    struct history history;
    history_open(&history, op, "{" NO_MERGE ", \"" TARGET_KEY "\": \"1\"}");
    append(&history, 2, "a");
    append(&history, 1, "b c");
    append(&history, 2, "d");
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "p", .day = 2 });
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "q", .day = 1 });
    *before = entries(&history);
    layout_is(&history, old_layout);
    history_detach(&history);
    return history.store;
}

/* Whatever failed, the table is the old or the new one, and has what it had; nothing is left behind but by one that was
 * killed, or knows nothing of its commit. Another run completes. */
static void check_after(struct firn_op *op, struct firn_store *memory, firn_status status, const char *before,
                        enum fault_kind kind, const char *where)
{
    bool may_leave = status == FIRN_UNKNOWN || kind == FAULT_KILLED;
    report_of report;
    struct history history;
    size_t orphans;
    history_attach(&history, op, memory, HISTORY_START_MS);
    CHECK_OK(op, fixture_load(op, &history.fixture));
    CHECK_OK(op, fixture_orphans(op, &history.fixture, &orphans));
    entries_are(&history, before);
    const char *found = layout(&history);
    bool is_new = strcmp(found, new_layout) == 0;
    CHECK(is_new || strcmp(found, old_layout) == 0, "%s: '%s'", where, found);
    CHECK(may_leave || is_new == (status == FIRN_OK), "%s: %s, but the table is %s", where, firn_status_name(status),
          is_new ? "new" : "old");
    CHECK(may_leave || orphans <= (status == FIRN_OK ? 1 : 0), "%s: %s left %zu files", where, firn_status_name(status),
          orphans);
    CHECK_OK(op, rewrite(&history, (args_of){ 0 }, &report));
    layout_is(&history, new_layout);
    entries_are(&history, before);
    history_detach(&history);
}

static void every_storage_call_may_fail(void **state)
{
    struct firn_op *op = test_op(state);
    const char *before;
    struct firn_store *original = make_faulty_table(op, &before);
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        bool faulted = true;
        for (uint32_t nth = 0; faulted; nth++) {
            struct firn_store *memory, *store;
            struct fault_report fault;
            struct history history;
            report_of report;
            CHECK_OK(op, firn_store_open_memory(op, &memory));
            CHECK_OK(op, store_copy(op, original, memory, FIRN_TEXT("mem://w")));
            CHECK_OK(op, fault_store_open(op, memory, (struct fault){ nth, (enum fault_kind)kind }, &fault, &store));
            history_attach(&history, op, store, HISTORY_START_MS);
            firn_status status = fixture_load(op, &history.fixture);
            if (status == FIRN_OK)
                status = rewrite(&history, (args_of){ 0 }, &report);
            faulted = atomic_load(&fault.fired);
            CHECK(faulted || status == FIRN_OK, "%s: %s", fault_name(kind), op->error.text);
            history_detach(&history);
            firn_store_close(store);
            check_after(op, memory, status, before, (enum fault_kind)kind,
                        firn_text_format(op->arena, "call %u, %s", nth, fault_name(kind)).data);
            firn_store_close(memory);
        }
    }
    firn_store_close(original);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(entries_are_clustered),
        TEST(a_small_target_gives_a_manifest_a_partition),
        TEST(only_one_spec_is_rewritten),
        TEST(arguments_are_checked),
        TEST(tombstones_go_with_their_manifest_only),
        TEST(manifests_of_tombstones_alone_vanish),
        TEST(deletes_are_rewritten_beside),
        TEST(deletes_labelled_as_data),
        TEST(files_from_before_sequence_numbers),
        TEST(row_ids_stay),
        TEST(row_ids_are_given_once),
        TEST(summaries_hold_what_is_left),
        TEST(a_partition_field_without_its_column),
        TEST(bounds_keep_their_width),
        TEST(lists_of_long_become_lists_of_int),
        TEST(a_large_partition_rolls_over),
        TEST(without_partitions_shares_are_even),
        TEST(what_others_commit_meanwhile),
        TEST(random_tables),
        TEST(every_storage_call_may_fail),
    };
    return cmocka_run_group_tests_name("rewrite_manifests", tests, NULL, NULL);
}
