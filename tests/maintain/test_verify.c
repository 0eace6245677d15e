/* firn verify over sound tables and over tables damaged in one way at a time: exactly that is found, and which
 * snapshots can be read is told rightly. */
#include "maintain/damage.h"

#include "firn/verify.h"

enum { FINDINGS_MAX = 8 };

static struct firn_verify_report verify_with(struct firn_op *op, struct scene *scene,
                                             struct firn_verify_options options)
{
    struct firn_verify_report report;
    CHECK_OK(op, firn_verify(op, scene->world.pool, &scene->world.table, &options, &report));
    return report;
}

static struct firn_verify_report verify(struct firn_op *op, struct scene *scene)
{
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
    return verify_with(op, scene, (struct firn_verify_options){ 0 });
}

/* "error file-missing, warning summary-total": each kind once, in the order of the report. */
static const char *kinds_text(struct firn_op *op, const struct firn_verify_report *report)
{
    struct firn_text text = FIRN_TEXT(""), last = FIRN_TEXT("");
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct firn_finding *finding = &report->findings[i];
        struct firn_text kind =
            firn_text_format(op->arena, "%s %s", firn_severity_name(finding->severity), finding->code);
        if (!firn_text_same(kind, last))
            text = firn_text_format(op->arena, "%.*s%s%.*s", FIRN_FMT(text), i ? ", " : "", FIRN_FMT(kind));
        last = kind;
    }
    return text.data;
}

static void check_kinds(struct firn_op *op, const struct firn_verify_report *report, const char *expected)
{
    const char *kinds = kinds_text(op, report);
    for (size_t i = 0; i < report->finding_count && strcmp(kinds, expected) != 0; i++)
        print_message("%s %.*s: %.*s\n", report->findings[i].code, FIRN_FMT(report->findings[i].location),
                      FIRN_FMT(report->findings[i].text));
    CHECK(strcmp(kinds, expected) == 0, "'%s', wanted '%s'", kinds, expected);
}

/* A letter a snapshot in the order of the metadata: r can be read, x cannot. */
static void check_readable(const struct firn_verify_report *report, const char *expected)
{
    size_t readable = 0;
    CHECK(report->snapshot_count == strlen(expected), "%zu snapshots", report->snapshot_count);
    for (size_t i = 0; i < report->snapshot_count; i++) {
        const struct firn_verify_snapshot *snapshot = &report->snapshots[i];
        CHECK(snapshot->is_readable == (expected[i] == 'r'), "snapshot %zu: %.*s", i, FIRN_FMT(snapshot->why));
        CHECK(snapshot->is_readable == (snapshot->why.len == 0), "snapshot %zu: '%.*s'", i, FIRN_FMT(snapshot->why));
        readable += snapshot->is_readable;
    }
    CHECK(report->readable_count == readable, "%zu readable", report->readable_count);
}

static const struct firn_finding *find(const struct firn_verify_report *report, const char *code)
{
    for (size_t i = 0; i < report->finding_count; i++)
        if (strcmp(report->findings[i].code, code) == 0)
            return &report->findings[i];
    CHECK(false, "no %s", code);
    return NULL;
}

/* Three appends, a file of ten rows each, to partitions 1, 1 and 2. */
static void begin_three(struct firn_op *op, struct scene *scene, int version)
{
    scene_begin(op, scene, version, NULL);
    add_files(op, scene, 1, 2);
    add_files(op, scene, 2, 1);
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
}

static struct firn_text nth_file(struct firn_op *op, struct scene *scene, uint32_t nth)
{
    struct firn_manifest_list list = read_list(op, scene, nth);
    return read_manifest(op, scene, added_row(scene, &list, nth)).entries[0].file.path;
}

/* Sound tables --------------------------------------------------------------------------------------------------- */

static void compact(struct firn_op *op, struct scene *scene)
{
    struct job job = { 0 };
    option(&job, "rewrite-all", "true");
    CHECK_OK(op, firn_table_refresh(op, &scene->world.table));
    CHECK_OK(op, plan_and_apply(op, &scene->world, &job));
}

static void sound_tables_have_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    for (int version = 1; version <= 3; version++) {
        const int64_t ids[] = { 3, 14 }, more[] = { 21 };
        begin_three(op, &scene, version);
        CHECK_OK(op, firn_pool_open(op, 2, &scene.world.pool));
        if (version > 1) {
            delete_ids(op, &scene, ids, 2, FIRN_DELETES_BY_FILE);
            delete_by_equality(op, &scene, 2, more, 1, true);
        }
        struct firn_verify_report report = verify(op, &scene);
        check_kinds(op, &report, "");
        compact(op, &scene);
        add_files(op, &scene, 1, 1);
        CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
        report = verify_with(op, &scene, (struct firn_verify_options){ .deep = true });
        check_kinds(op, &report, "");
        CHECK(report.readable_count == report.snapshot_count && report.snapshot_count >= 5, "v%d", version);
        CHECK(report.checked_count == report.file_count && report.file_count >= 6, "v%d: %" PRIu64 " files", version,
              report.file_count);
        scene_end(op, &scene);
    }
}

/* Bounds and partition values of before are read as those of the wider type; a spec may outlive its source column. */
static void evolved_tables_have_nothing(void **state)
{
#define ADD_SCHEMA(fields)                                                                                             \
    "[{\"action\": \"add-schema\", \"schema\": {\"type\": \"struct\", \"schema-id\": 1, \"fields\": [" fields          \
    "]}}, {\"action\": \"set-current-schema\", \"schema-id\": -1}]"
    static const char *const evolutions[] = {
        ADD_SCHEMA("{\"id\": 1, \"name\": \"id\", \"required\": true, \"type\": \"long\"},"
                   "{\"id\": 2, \"name\": \"part\", \"required\": true, \"type\": \"long\"}"),
        ADD_SCHEMA("{\"id\": 1, \"name\": \"id\", \"required\": true, \"type\": \"long\"},"
                   "{\"id\": 3, \"name\": \"more\", \"required\": false, \"type\": \"string\"}"),
    };
    struct firn_op *op = test_op(state);
    static struct scene scene;
    for (size_t i = 0; i < FIRN_COUNT_OF(evolutions); i++) {
        begin_three(op, &scene, 2);
        commit_update(op, &scene, "%s", evolutions[i]);
        struct firn_verify_report report = verify_with(op, &scene, (struct firn_verify_options){ .deep = true });
        check_kinds(op, &report, "");
        scene_end(op, &scene);
    }
}

/* Files from before sequence numbers have 0, and what deletes their rows applies to them. Position deletes that a
 * vector replaced do not apply any more. */
static void upgraded_tables(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    const int64_t ids[] = { 3 };
    begin_three(op, &scene, 1);
    for (int version = 2; version <= 3; version++) {
        commit_update(op, &scene, "[{\"action\": \"upgrade-format-version\", \"format-version\": %d}]", version);
        delete_ids(op, &scene, ids, 1, FIRN_DELETES_BY_FILE);
        add_files(op, &scene, 1, 1);
        struct firn_verify_report report = verify(op, &scene);
        check_kinds(op, &report, version == 2 ? "" : "warning delete-dangling");
    }
    scene_end(op, &scene);
}

static void an_empty_table_has_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "");
    check_readable(&report, "");
    scene_end(op, &scene);
}

/* Files that cannot be read ---------------------------------------------------------------------------------------- */

static void a_missing_data_file(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    struct firn_text path = nth_file(op, &scene, 1);
    lose(op, &scene, path);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error file-missing");
    CHECK(report.error_count == 1, "told once, not once for each snapshot: %" PRIu64, report.error_count);
    CHECK(firn_text_same(report.findings[0].location, path), "%.*s", FIRN_FMT(report.findings[0].location));
    check_readable(&report, "rxx");
    CHECK(firn_text_same(report.snapshots[2].why, path), "%.*s", FIRN_FMT(report.snapshots[2].why));
    CHECK(firn_text_is(report.snapshots[2].refs, "main"), "%.*s", FIRN_FMT(report.snapshots[2].refs));
    scene_end(op, &scene);
}

static void a_truncated_data_file(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    struct firn_buffer bytes = { 0 };
    begin_three(op, &scene, 2);
    struct firn_text path = nth_file(op, &scene, 2);
    CHECK_OK(op, firn_store_read(op, scene.world.store, path, 1 << 20, &bytes));
    bytes.len -= 9;
    put(op, &scene, path, firn_buffer_bytes(&bytes));
    firn_buffer_done(&bytes);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error file-length, error file-unreadable");
    check_readable(&report, "rrx");
    scene_end(op, &scene);
}

static void a_missing_manifest(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    struct firn_manifest_list list = read_list(op, &scene, 1);
    lose(op, &scene, added_row(&scene, &list, 1)->path);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error manifest-missing, notice head-unchecked");
    check_readable(&report, "rxx");
    scene_end(op, &scene);
}

static void a_broken_manifest(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    struct firn_manifest_list list = read_list(op, &scene, 0);
    put(op, &scene, list.manifests[0].path, firn_bytes_of_text(FIRN_TEXT("Obj\1 and no more")));
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error manifest-length, error manifest-unreadable, notice head-unchecked");
    check_readable(&report, "xxx");
    scene_end(op, &scene);
}

static void a_missing_manifest_list(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    lose(op, &scene, nth_snapshot(&scene, 1)->manifest_list);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error manifest-list-missing");
    check_readable(&report, "rxr");
    scene_end(op, &scene);
}

static void broken_metadata_is_a_finding(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    struct firn_table table;
    struct firn_verify_report report;
    begin_three(op, &scene, 2);
    put(op, &scene, scene.world.table.metadata_location, firn_bytes_of_text(FIRN_TEXT("{\"format-version\": 2")));
    CHECK_STATUS(op, FIRN_CORRUPT, firn_catalog_load(op, scene.world.catalog, FIRN_TEXT("db.t"), &table));
    firn_verify_unreadable(op, FIRN_TEXT("db.t"), &report);
    check_kinds(op, &report, "error metadata-unreadable");
    CHECK(json_is_true(json_object_get(firn_verify_json(op, FIRN_TEXT("db.t"), &report, NULL), "broken")), "broken");
    scene_end(op, &scene);
}

/* Numbers that contradict each other --------------------------------------------------------------------------------
 */

/* Each changes the row of the manifest that snapshot 1 added, in the list of snapshot 2. */
static void hide_files(struct firn_manifest_file *row)
{
    row->added_files_count = 0;
}
static void set_length(struct firn_manifest_file *row)
{
    row->length += 1;
}
static void raise_own_sequence_number(struct firn_manifest_file *row)
{
    row->sequence_number = 9;
}
static void raise_lowest_sequence_number(struct firn_manifest_file *row)
{
    row->min_sequence_number = row->sequence_number + 1;
}

static void wrong_rows_of_lists(void **state)
{
    static const struct {
        void (*damage)(struct firn_manifest_file *row);
        const char *kinds;
    } cases[] = {
        { hide_files, "error manifest-listed-otherwise" },
        { set_length, "error manifest-listed-otherwise" },
        { raise_own_sequence_number, "error manifest-listed-otherwise, error manifest-sequence-number" },
        { raise_lowest_sequence_number, "error manifest-sequence-number" },
    };
    struct firn_op *op = test_op(state);
    static struct scene scene;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        begin_three(op, &scene, 2);
        struct firn_manifest_list list = read_list(op, &scene, 2);
        cases[i].damage(added_row(&scene, &list, 1));
        write_list(op, &scene, 2, &list);
        struct firn_verify_report report = verify(op, &scene);
        check_kinds(op, &report, cases[i].kinds);
        check_readable(&report, "rrr");
        scene_end(op, &scene);
    }
}

/* The same for a manifest that no other list has. */
static void summarise_wrongly(struct firn_manifest_file *row)
{
    static const uint8_t nine[] = { 9, 0, 0, 0 };
    row->summaries[0].lower_bound = (struct firn_bytes){ nine, sizeof nine };
    row->summaries[0].upper_bound = (struct firn_bytes){ nine, sizeof nine };
}
static void drop_summaries(struct firn_manifest_file *row)
{
    row->summary_count = 0;
}
static void count_too_few_rows(struct firn_manifest_file *row)
{
    row->added_rows_count -= 1;
}
static void call_them_deletes(struct firn_manifest_file *row)
{
    row->is_deletes = true;
}

static void wrong_rows_of_one_list(void **state)
{
    static const struct {
        void (*damage)(struct firn_manifest_file *row);
        const char *kinds;
    } cases[] = {
        { hide_files, "error manifest-counts" },
        { set_length, "error manifest-length" },
        { raise_lowest_sequence_number, "error entry-sequence-number, error manifest-sequence-number" },
        { summarise_wrongly, "error manifest-partitions" },
        { drop_summaries, "error manifest-partitions" },
        { count_too_few_rows, "error manifest-counts" },
        { call_them_deletes, "error manifest-content" },
    };
    struct firn_op *op = test_op(state);
    static struct scene scene;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        begin_three(op, &scene, 2);
        struct firn_manifest_list list = read_list(op, &scene, 2);
        cases[i].damage(added_row(&scene, &list, 2));
        write_list(op, &scene, 2, &list);
        struct firn_verify_report report = verify(op, &scene);
        check_kinds(op, &report, cases[i].kinds);
        scene_end(op, &scene);
    }
}

static void number_too_high(struct firn_manifest_entry *entry)
{
    entry->sequence_number = 7;
}
static void other_count(struct firn_manifest_entry *entry)
{
    entry->file.record_count = 11;
}
static void narrow_bound(struct firn_manifest_entry *entry)
{
    static const uint8_t bound[] = { 0, 0, 0, 0, 0, 0, 0, 1 };
    static struct firn_bytes values[1];
    static int32_t ids[] = { 1 };
    values[0] = (struct firn_bytes){ bound, sizeof bound };
    entry->file.lower_bounds = (struct firn_bound_map){ ids, values, 1, true };
}

static void wrong_entries(void **state)
{
    static const struct {
        void (*damage)(struct firn_manifest_entry *entry);
        const char *kinds;
    } cases[] = {
        { number_too_high, "error entry-sequence-number" },
        { other_count, "error manifest-counts, error row-count, warning summary-total" },
        { narrow_bound, "error lower-bound" },
    };
    struct firn_op *op = test_op(state);
    static struct scene scene;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        begin_three(op, &scene, 2);
        struct firn_manifest_list list = read_list(op, &scene, 2);
        struct firn_manifest_file *row = added_row(&scene, &list, 2);
        struct firn_manifest manifest = read_manifest(op, &scene, row);
        cases[i].damage(&manifest.entries[0]);
        write_manifest(op, &scene, row, &manifest);
        struct firn_verify_report report = verify(op, &scene);
        check_kinds(op, &report, cases[i].kinds);
        scene_end(op, &scene);
    }
}

static void a_manifest_listed_twice(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    struct firn_manifest_list list = read_list(op, &scene, 2);
    struct firn_manifest_file rows[4];
    memcpy(rows, list.manifests, 3 * sizeof *rows);
    rows[3] = rows[0];
    write_list(op, &scene, 2, &(struct firn_manifest_list){ rows, 4 });
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error file-listed-twice, error manifest-listed-twice, warning summary-total");
    scene_end(op, &scene);
}

static void a_file_added_twice(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    struct firn_data_file file = write_file(op, &scene.world, 1, 10);
    CHECK_OK(op, append_through(op, &scene.world.table, &file, 1));
    CHECK_OK(op, append_through(op, &scene.world.table, &file, 1));
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error file-listed-twice");
    CHECK(report.file_count == 4, "each file once: %" PRIu64, report.file_count);
    scene_end(op, &scene);
}

static void row_ids_that_overlap(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 3);
    struct firn_manifest_list list = read_list(op, &scene, 2);
    added_row(&scene, &list, 2)->first_row_id = 15;
    write_list(op, &scene, 2, &list);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error row-ids-overlap");
    scene_end(op, &scene);
}

/* Positions are compared with the rows that the data file has by its entry. */
static void deletes_of_rows_that_are_not_there(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 3);
    struct firn_scan scan = scan_current(op, &scene.world, scene.world.store);
    const struct firn_data_file *data = &scan.files[0].entry->file;
    struct firn_row_deletes rows = { data->path, data->spec_id, data->partition, NULL };
    struct firn_delete_writer_config config = {
        .metadata = scene.world.table.metadata,
        .store = scene.world.store,
        .operation = firn_uuid_random(op),
        .granularity = FIRN_DELETES_BY_FILE,
        .file_bytes_max = 1 << 20,
    };
    struct delete_parts parts = { .snapshot_id = scan.snapshot->id };
    struct firn_delete_files files;
    CHECK_OK(op, firn_positions_new(op, &rows.positions));
    CHECK_OK(op, firn_positions_add(op, rows.positions, 9));
    CHECK_OK(op, firn_positions_add(op, rows.positions, 10));
    CHECK_OK(op, firn_row_deletes_write(op, &config, &rows, 1, &files));
    CHECK_OK(op, commit_deletes(op, &scene.world.table, files.files, files.count, &parts));
    struct firn_verify_report report = verify_with(op, &scene, (struct firn_verify_options){ .deep = true });
    check_kinds(op, &report, "error delete-position");
    scene_end(op, &scene);
}

/* Metadata files ------------------------------------------------------------------------------------------------- */

static void numbers_that_the_next_commit_builds_on(void **state)
{
    static const struct {
        const char *key;
        int64_t value;
        const char *kinds;
    } cases[] = {
        { "last-column-id", 1, "error last-column-id" },
        { "last-partition-id", 999, "error last-partition-id" },
        { "next-row-id", 30, "" },
    };
    struct firn_op *op = test_op(state);
    static struct scene scene;
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        begin_three(op, &scene, 3);
        json_t *json = metadata_json(op, &scene);
        firn_json_set_i64(json, cases[i].key, cases[i].value);
        write_metadata(op, &scene, json);
        struct firn_verify_report report = verify_with(op, &scene, (struct firn_verify_options){ 0 });
        check_kinds(op, &report, cases[i].kinds);
        scene_end(op, &scene);
    }
}

static void row_ids_past_the_next_one(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 3);
    json_t *json = metadata_json(op, &scene);
    firn_json_set_i64(json, "next-row-id", 25);
    write_metadata(op, &scene, json);
    struct firn_verify_report report = verify_with(op, &scene, (struct firn_verify_options){ 0 });
    check_kinds(op, &report, "error first-row-id, error next-row-id");
    scene_end(op, &scene);
}

static void another_table_in_the_place(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    json_t *json = metadata_json(op, &scene);
    firn_json_set_text(json, "table-uuid", FIRN_TEXT("00000000-0000-4000-8000-000000000001"));
    struct firn_text other = firn_text_format(op->arena, "%.*s/metadata/00001-x.metadata.json",
                                              FIRN_FMT(scene.world.table.metadata->location));
    put(op, &scene, other, firn_bytes_of_text(firn_json_text(op->arena, json, 0)));
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "warning location-shared");
    CHECK(firn_text_same(report.findings[0].location, other), "%.*s", FIRN_FMT(report.findings[0].location));
    scene_end(op, &scene);
}

/* Old metadata files go when the table says so: that is worth knowing and no more. */
static void a_metadata_log_with_gaps(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    lose(op, &scene, scene.world.table.metadata->metadata_log[0].metadata_file);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "notice metadata-log-missing");
    CHECK(report.error_count == 0 && report.notice_count == 1, "a notice");
    scene_end(op, &scene);
}

/* Repairs -------------------------------------------------------------------------------------------------------- */

/* A dry run changes nothing, a repair mends, and then there is nothing left. */
static void check_repaired(struct firn_op *op, struct scene *scene, const char *kinds, const char *code)
{
    struct firn_table *table = &scene->world.table;
    struct firn_repairs repairs;
    const char *rows = live_ids(op, &scene->world);
    struct firn_verify_report report = verify(op, scene);
    check_kinds(op, &report, kinds);
    struct firn_text before = table->metadata_location;
    CHECK_OK(op, firn_verify_repair(op, NULL, table, &report, true, &repairs));
    CHECK(repairs.count == 1 && strcmp(repairs.items[0].code, code) == 0 && !repairs.items[0].done, "%zu repairs",
          repairs.count);
    CHECK(firn_text_same(before, table->metadata_location), "a dry run changes nothing");
    CHECK_OK(op, firn_verify_repair(op, NULL, table, &report, false, &repairs));
    CHECK(repairs.count == 1 && repairs.items[0].done && repairs.failure_count == 0, "%zu repairs", repairs.count);
    report = verify(op, scene);
    check_kinds(op, &report, "");
    CHECK(strcmp(rows, live_ids(op, &scene->world)) == 0, "rows before and after");
    CHECK_OK(op, firn_verify_repair(op, NULL, table, &report, false, &repairs));
    CHECK(repairs.count == 0, "nothing is left");
}

static void dangling_deletes_are_taken_out(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    const int64_t ids[] = { 1 };
    begin_three(op, &scene, 2);
    delete_by_equality(op, &scene, 7, ids, 1, false); /* a partition without data files */
    scene.copies[1] = 1;
    check_repaired(op, &scene, "warning delete-dangling", "delete-dangling");
    scene_end(op, &scene);
}

/* Where the dangling file is gone too, the branch can be read again; the snapshots before cannot. */
static void a_dangling_delete_file_that_is_missing(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    struct firn_repairs repairs;
    const int64_t ids[] = { 1 };
    begin_three(op, &scene, 2);
    delete_by_equality(op, &scene, 7, ids, 1, false);
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    lose(op, &scene, nth_file(op, &scene, 3));
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error file-missing, warning delete-dangling");
    check_readable(&report, "rrrx");
    CHECK_OK(op, firn_verify_repair(op, NULL, &scene.world.table, &report, false, &repairs));
    report = verify(op, &scene);
    check_kinds(op, &report, "error file-missing");
    check_readable(&report, "rrrxr");
    scene_end(op, &scene);
}

static void wrong_totals_are_counted_anew(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    json_t *json = metadata_json(op, &scene);
    json_t *snapshot = json_array_get(json_object_get(json, "snapshots"), 2);
    firn_json_set_text(json_object_get(snapshot, "summary"), "total-records", FIRN_TEXT("29"));
    write_metadata(op, &scene, json);
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "warning summary-arithmetic, warning summary-total");
    struct firn_repairs repairs;
    CHECK_OK(op, firn_verify_repair(op, NULL, &scene.world.table, &report, false, &repairs));
    CHECK(repairs.count == 1 && repairs.items[0].done, "%zu repairs", repairs.count);
    CHECK(strcmp(summary(&scene.world, "total-records"), "30") == 0, "%s", summary(&scene.world, "total-records"));
    CHECK(strcmp(summary(&scene.world, "total-data-files"), "3") == 0, "files");
    add_files(op, &scene, 1, 1);
    report = verify(op, &scene);
    CHECK(strcmp(summary(&scene.world, "total-records"), "40") == 0, "%s", summary(&scene.world, "total-records"));
    CHECK(!report.snapshots[report.snapshot_count - 1].totals_are_wrong, "the branch goes on from right totals");
    CHECK(strstr(find(&report, "summary-total")->text.data, "29"), "the old snapshot stays as it is");
    scene_end(op, &scene);
}

static void statistics_that_are_not_there(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    commit_update(op, &scene,
                  "[{\"action\": \"set-statistics\", \"snapshot-id\": %" PRId64
                  ", \"statistics\": {\"snapshot-id\": %" PRId64 ", \"statistics-path\": \"mem://w/db/t/gone.stats\","
                  " \"file-size-in-bytes\": 7, \"file-footer-size-in-bytes\": 4, \"blob-metadata\": []}}]",
                  nth_snapshot(&scene, 2)->id, nth_snapshot(&scene, 2)->id);
    check_repaired(op, &scene, "warning statistics-missing", "statistics-missing");
    scene_end(op, &scene);
}

static void a_version_hint_that_lags(void **state)
{
    static const char *const hints[] = { "2", "99", "nonsense" };
    struct firn_op *op = test_op(state);
    static struct scene scene;
    for (size_t i = 0; i < FIRN_COUNT_OF(hints); i++) {
        begin_three(op, &scene, 2);
        put(op, &scene, FIRN_TEXT("mem://w/db/t/metadata/version-hint.text"),
            firn_bytes_of_text(firn_text_of(hints[i])));
        check_repaired(op, &scene, "warning version-hint", "version-hint");
        scene_end(op, &scene);
    }
}

static void what_was_opened_for_reading_is_not_repaired(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    struct firn_repairs repairs;
    begin_three(op, &scene, 2);
    struct firn_verify_report report = verify(op, &scene);
    scene.world.table.catalog = NULL;
    CHECK_STATUS(op, FIRN_USAGE, firn_verify_repair(op, NULL, &scene.world.table, &report, false, &repairs));
    scene_end(op, &scene);
}

/* The check itself ------------------------------------------------------------------------------------------------- */

static void a_sample_is_told_by_its_seed(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    add_files(op, &scene, 1, 30);
    CHECK_OK(op, firn_table_refresh(op, &scene.world.table));
    lose(op, &scene, nth_file(op, &scene, 4));
    bool found = false, passed_over = false;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct firn_verify_options options = { .sample_percent = 50, .seed = seed };
        struct firn_verify_report report = verify_with(op, &scene, options), again = verify_with(op, &scene, options);
        CHECK(report.is_sampled && report.file_count == 30, "%" PRIu64 " files", report.file_count);
        CHECK(report.checked_count > 3 && report.checked_count < 27, "%" PRIu64 " checked", report.checked_count);
        CHECK(again.checked_count == report.checked_count && again.error_count == report.error_count, "again");
        found = found || report.error_count == 1;
        passed_over = passed_over || report.error_count == 0;
    }
    CHECK(found && passed_over, "seeds take different files");
    CHECK_STATUS(op, FIRN_USAGE,
                 firn_verify(op, NULL, &scene.world.table, &(struct firn_verify_options){ .sample_percent = 101 },
                             &(struct firn_verify_report){ 0 }));
    scene_end(op, &scene);
}

static void thousands_of_findings_are_counted_and_some_told(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    scene_begin(op, &scene, 2, NULL);
    struct firn_data_file file = write_file(op, &scene.world, 1, 10);
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, 300);
    for (int i = 0; i < 300; i++) {
        files[i] = file;
        files[i].path = firn_text_format(op->arena, "mem://w/db/t/data/part=1/none-%d.parquet", i);
    }
    CHECK_OK(op, append_through(op, &scene.world.table, files, 300));
    struct firn_verify_report report = verify(op, &scene);
    check_kinds(op, &report, "error file-missing");
    CHECK(report.error_count == 300 && report.finding_count == 100, "%" PRIu64 " and %zu", report.error_count,
          report.finding_count);
    scene_end(op, &scene);
}

/* Wherever a call to the store fails, the check ends with a report or a failure, and the table stays as it was. */
static void every_call_that_fails(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    size_t before, after;
    CHECK_OK(op, store_count(op, scene.world.store, FIRN_TEXT("mem://w"), &before));
    bool fired = true;
    size_t untold = 0;
    for (uint32_t nth = 0; fired; nth++) {
        struct fault_report faults = { 0 };
        struct firn_table table = scene.world.table;
        struct firn_verify_report report = { 0 };
        CHECK_OK(op, fault_store_open(op, scene.world.store, (struct fault){ .at_call = nth, .kind = FAULT_SHORT_READ },
                                      &faults, &table.store));
        firn_status status = firn_verify(op, NULL, &table, &(struct firn_verify_options){ 0 }, &report);
        fired = atomic_load(&faults.fired);
        untold += fired && status == FIRN_OK && report.finding_count == 0;
        firn_store_close(table.store);
    }
    CHECK_OK(op, store_count(op, scene.world.store, FIRN_TEXT("mem://w"), &after));
    CHECK(before == after, "%zu objects, then %zu", before, after);
    /* Four metadata files, opened and read to see whose they are: those that do not tell are passed over. */
    CHECK(untold == 8, "%zu failures were not told", untold);
    scene_end(op, &scene);
}

/* A check that begins before others expire snapshots does not take their files for missing. */
static void snapshots_that_expire_meanwhile(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    begin_three(op, &scene, 2);
    struct firn_table earlier = second_handle(op, &scene.world);
    lose(op, &scene, nth_snapshot(&scene, 0)->manifest_list);
    commit_update(op, &scene, "[{\"action\": \"remove-snapshots\", \"snapshot-ids\": [%" PRId64 "]}]",
                  nth_snapshot(&scene, 0)->id);
    struct firn_verify_report report;
    CHECK_OK(op, firn_verify(op, NULL, &earlier, &(struct firn_verify_options){ 0 }, &report));
    check_kinds(op, &report, "");
    check_readable(&report, "rr");
    scene_end(op, &scene);
}

static void a_stop_ends_it(void **state)
{
    struct firn_op *op = test_op(state);
    static struct scene scene;
    atomic_bool stop = true;
    struct firn_verify_report report;
    begin_three(op, &scene, 2);
    scene.env.stop = &stop;
    CHECK_STATUS(op, FIRN_CANCELLED,
                 firn_verify(op, NULL, &scene.world.table, &(struct firn_verify_options){ 0 }, &report));
    scene.env.stop = NULL;
    scene_end(op, &scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sound_tables_have_nothing),
        TEST(evolved_tables_have_nothing),
        TEST(upgraded_tables),
        TEST(an_empty_table_has_nothing),
        TEST(a_missing_data_file),
        TEST(a_truncated_data_file),
        TEST(a_missing_manifest),
        TEST(a_broken_manifest),
        TEST(a_missing_manifest_list),
        TEST(broken_metadata_is_a_finding),
        TEST(wrong_rows_of_lists),
        TEST(wrong_rows_of_one_list),
        TEST(wrong_entries),
        TEST(a_manifest_listed_twice),
        TEST(a_file_added_twice),
        TEST(row_ids_that_overlap),
        TEST(deletes_of_rows_that_are_not_there),
        TEST(numbers_that_the_next_commit_builds_on),
        TEST(row_ids_past_the_next_one),
        TEST(another_table_in_the_place),
        TEST(a_metadata_log_with_gaps),
        TEST(dangling_deletes_are_taken_out),
        TEST(a_dangling_delete_file_that_is_missing),
        TEST(wrong_totals_are_counted_anew),
        TEST(statistics_that_are_not_there),
        TEST(a_version_hint_that_lags),
        TEST(what_was_opened_for_reading_is_not_repaired),
        TEST(a_sample_is_told_by_its_seed),
        TEST(thousands_of_findings_are_counted_and_some_told),
        TEST(every_call_that_fails),
        TEST(snapshots_that_expire_meanwhile),
        TEST(a_stop_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
