/* Which snapshots expire, which files go with them, and that nothing else does: procedures.md 6, field-reports.md R22
 * to R25, invariants (1) to (4) of expire_snapshots.h. */
#include "check.h"

#include "firn/expire_snapshots.h"
#include "firn/refs.h"
#include "maintain/expire_snapshots.h"
#include "maintain/history.h"
#include "maintain/mark.h"
#include "support/fault_store.h"
#include "support/seeds.h"

typedef struct firn_expire_snapshots_args args_of; /* so that cases fit a line */
typedef struct firn_expire_snapshots_report report_of;

static firn_status expire(struct history *history, args_of args, report_of *report)
{
    struct firn_expiry *expiry;
    struct firn_pool *pool;
    *report = (report_of){ 0 };
    CHECK_OK(history->op, firn_pool_open(history->op, 3, &pool));
    firn_status status = firn_expire_snapshots_plan(history->op, pool, &history->fixture.table, &args, &expiry);
    if (status == FIRN_OK)
        status = firn_expire_snapshots_apply(history->op, pool, &history->fixture.table, expiry, NULL, report);
    firn_pool_close(pool);
    return status;
}

static bool has(struct history *history, const char *file)
{
    struct firn_text folder =
        firn_location_join(history->op->arena, history_metadata(history)->location, FIRN_TEXT("data"));
    return store_has(history->op, history->store, firn_location_join(history->op->arena, folder, firn_text_of(file)));
}

static bool has_snapshot(const struct history *history, int64_t id)
{
    return firn_metadata_snapshot(history_metadata(history), id) != NULL;
}

/* Which snapshots stay --------------------------------------------------------------------------------------------- */

/* Seven snapshots, a second apart, the last at age 0; s3 is the head of branch "dev", s2 a tag's, s6 was rolled back.
 */
struct setting {
    const char *what;
    const char *older_than;
    int64_t retain_last;
    int given[2];          /* snapshots named by number */
    const char *dev, *tag; /* what the references say of their retention */
    const char *properties;
    const char *stays; /* numbers of the snapshots that stay */
    const char *refs;  /* references that stay */
    firn_status status;
};

static const struct setting settings[] = {
    { .what = "defaults keep five days", .stays = "1 2 3 4 5 6 7", .refs = "main dev v" },
    { .what = "age 0 leaves heads", .older_than = "0s", .stays = "2 3 7", .refs = "main dev v" },
    { .what = "last two of each branch",
      .older_than = "0s",
      .retain_last = 2,
      .stays = "2 3 5 7",
      .refs = "main dev v" },
    { .what = "last three of each branch",
      .older_than = "0s",
      .retain_last = 3,
      .stays = "1 2 3 4 5 7",
      .refs = "main dev v" },
    { .what = "an age keeps what is of exactly that age",
      .older_than = "3s",
      .stays = "2 3 4 5 6 7",
      .refs = "main dev v" },
    { .what = "a timestamp", .older_than = "2023-11-14 22:13:25", .stays = "2 3 5 6 7", .refs = "main dev v" },
    { .what = "the future", .older_than = "2099-01-01", .stays = "2 3 7", .refs = "main dev v" },
    { .what = "a branch's own number",
      .older_than = "0s",
      .dev = ",\"min-snapshots-to-keep\": 2",
      .stays = "2 3 7",
      .refs = "main dev v" },
    { .what = "a branch's own number is before the argument",
      .older_than = "2099-01-01",
      .retain_last = 5,
      .dev = ",\"min-snapshots-to-keep\": 1",
      .stays = "1 2 3 4 5 7",
      .refs = "main dev v" },
    { .what = "a branch's own age",
      .older_than = "2099-01-01",
      .dev = ",\"max-snapshot-age-ms\": 6000",
      .stays = "1 2 3 7",
      .refs = "main dev v" },
    { .what = "heads stay whatever their age",
      .older_than = "2099-01-01",
      .dev = ",\"max-snapshot-age-ms\": 1, \"min-snapshots-to-keep\": 1",
      .stays = "2 3 7",
      .refs = "main dev v" },
    { .what = "a reference's own age",
      .older_than = "2099-01-01",
      .dev = ",\"max-ref-age-ms\": 3999",
      .tag = ",\"max-ref-age-ms\": 5000",
      .stays = "2 7",
      .refs = "main v" },
    { .what = "the table's age of references",
      .older_than = "2099-01-01",
      .properties = "{\"history.expire.max-ref-age-ms\": \"4500\"}",
      .stays = "3 7",
      .refs = "main dev" },
    { .what = "the table's age of snapshots",
      .properties = "{\"history.expire.max-snapshot-age-ms\": \"2000\"}",
      .stays = "2 3 5 6 7",
      .refs = "main dev v" },
    { .what = "the table's number",
      .properties = "{\"history.expire.max-snapshot-age-ms\": \"0\", \"history.expire.min-snapshots-to-keep\": \"4\"}",
      .stays = "1 2 3 4 5 7",
      .refs = "main dev v" },
    { .what = "no number at all leaves heads",
      .properties = "{\"history.expire.max-snapshot-age-ms\": \"-1\", \"history.expire.min-snapshots-to-keep\": \"0\"}",
      .stays = "2 3 7",
      .refs = "main dev v" },
    { .what = "the largest age",
      .properties = "{\"history.expire.max-snapshot-age-ms\": \"9223372036854775807\"}",
      .stays = "1 2 3 4 5 6 7",
      .refs = "main dev v" },
    { .what = "named ones", .given = { 4, 6 }, .stays = "1 2 3 5 7", .refs = "main dev v" },
    { .what = "named ones and by age", .older_than = "2s", .given = { 5 }, .stays = "2 3 6 7", .refs = "main dev v" },
    { .what = "an unknown one", .given = { 99 }, .stays = "1 2 3 4 5 6 7", .refs = "main dev v" },
    { .what = "main's head by name", .given = { 7 }, .status = FIRN_USAGE },
    { .what = "a tag's by name", .given = { 2 }, .status = FIRN_USAGE },
    { .what = "one whose tag goes by name",
      .given = { 2 },
      .tag = ",\"max-ref-age-ms\": 1",
      .stays = "1 3 4 5 6 7",
      .refs = "main dev" },
    { .what = "no snapshot to keep", .retain_last = -1, .status = FIRN_USAGE },
    { .what = "no time", .older_than = "soon", .status = FIRN_USAGE },
    { .what = "a table that keeps its files",
      .older_than = "0s",
      .properties = "{\"gc.enabled\": \"false\"}",
      .status = FIRN_DENIED },
};

static const char *text_or_nothing(const char *text)
{
    return text ? text : "";
}

static void make_seven(struct history *history, const struct setting *setting, int64_t ids[8])
{
    struct firn_ref_move move;
    struct firn_refs refs = { .table = &history->fixture.table };
    history_open(history, history->op, setting->properties);
    ids[1] = history_append(history, "f1");
    ids[2] = history_append(history, "f2");
    history_set_ref(history, "v", "tag", ids[2], text_or_nothing(setting->tag));
    ids[3] = history_append(history, "f3");
    history_set_ref(history, "dev", "branch", ids[3], text_or_nothing(setting->dev));
    CHECK_OK(history->op, firn_rollback_to_snapshot(history->op, &refs, ids[1], &move));
    ids[4] = history_append(history, "f4");
    ids[5] = history_append(history, "f5");
    ids[6] = history_append(history, "f6");
    CHECK_OK(history->op, firn_rollback_to_snapshot(history->op, &refs, ids[5], &move));
    ids[7] = history_append(history, "f7");
}

static void check_setting(struct firn_op *op, const struct setting *setting)
{
    struct history history = { .op = op };
    int64_t ids[8] = { 0 }, given[2];
    report_of report;
    make_seven(&history, setting, ids);
    args_of args = { .older_than = firn_text_of(setting->older_than),
                     .retain_last = setting->retain_last,
                     .snapshot_ids = given };
    for (int i = 0; i < 2 && setting->given[i]; i++)
        given[args.snapshot_id_count++] = setting->given[i] < 8 ? ids[setting->given[i]] : 12345;
    firn_status status = expire(&history, args, &report);
    CHECK(status == setting->status, "%s: %s: %s", setting->what, firn_status_name(status), op->error.text);
    if (status == FIRN_OK) {
        char stays[64] = "", refs[64] = "";
        for (int i = 1; i < 8; i++)
            if (has_snapshot(&history, ids[i]))
                snprintf(stays + strlen(stays), sizeof stays - strlen(stays), "%s%d", *stays ? " " : "", i);
        static const char *const names[] = { "main", "dev", "v" };
        for (int i = 0; i < 3; i++)
            if (firn_metadata_ref(history_metadata(&history), firn_text_of(names[i])))
                snprintf(refs + strlen(refs), sizeof refs - strlen(refs), "%s%s", *refs ? " " : "", names[i]);
        CHECK(strcmp(stays, setting->stays) == 0, "%s: %s stay, not %s", setting->what, stays, setting->stays);
        CHECK(strcmp(refs, setting->refs) == 0, "%s: %s stay, not %s", setting->what, refs, setting->refs);
        history_check_live(&history, "f1 f4 f5 f7");
    }
    history_close(&history);
}

static void snapshots_stay_by_the_rules(void **state)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        check_setting(test_op(state), &settings[i]);
}

/* A reference to a snapshot that the table does not have goes; main's does not. */
static void a_reference_to_nothing_goes(void **state)
{
    struct history history = { .op = test_op(state) };
    history_open(&history, history.op, NULL);
    history_append(&history, "a");
    history_set_ref(&history, "v", "tag", history_metadata(&history)->current_snapshot_id, "");
    struct firn_metadata metadata = *history_metadata(&history);
    struct firn_ref refs[] = { metadata.refs[0], metadata.refs[1] };
    refs[0].snapshot_id = refs[1].snapshot_id = 12345;
    metadata.refs = refs;
    args_of args = { 0 };
    struct firn_expiry_policy policy;
    struct firn_expiry_choice choice;
    CHECK_OK(history.op, firn_expiry_policy_of(history.op, &metadata, &args, history.now_ms, &policy));
    CHECK_OK(history.op, firn_expiry_choose(history.op, &metadata, &policy, &choice));
    CHECK(choice.ref_count == 1 && firn_text_is(choice.refs[0].ref->name, "v"), "%zu go", choice.ref_count);
    CHECK(choice.snapshot_count == 0, "it is young");
    history_close(&history);
}

/* Which files go ----------------------------------------------------------------------------------------------------
 */

/* F0 is tagged; s2 adds F1 and F2 in one manifest; s3 removes F1, so that F2 is EXISTING in a new one. */
static void a_tag_and_snapshots_expire_together(void **state)
{
    struct history history = { .op = test_op(state) };
    report_of report;
    history_open(&history, history.op, NULL);
    int64_t s1 = history_append(&history, "F0");
    history_set_ref(&history, "T", "tag", s1, ",\"max-ref-age-ms\": 1");
    history_append(&history, "F1 F2");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "F1" });
    CHECK_OK(history.op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
    CHECK(report.expired_snapshots_count == 2 && report.removed_refs_count == 1, " ");
    CHECK(report.deleted_data_files_count == 1 && report.deleted_manifest_lists_count == 2, " ");
    CHECK(report.deleted_manifest_files_count == 1, "%d", (int)report.deleted_manifest_files_count);
    CHECK(has(&history, "F0") && !has(&history, "F1") && has(&history, "F2"), " ");
    history_check_live(&history, "F0 F2");
    history_close(&history);
}

/* s1 adds F, s2 deletes it, s3 adds the same path again. */
static void a_file_that_came_back_stays(void **state)
{
    for (int both = 0; both < 2; both++) {
        struct history history = { .op = test_op(state) };
        report_of report;
        history_open(&history, history.op, NULL);
        int64_t ids[] = { history_append(&history, "F"),
                          history_make(&history, (struct history_commit){ .operation = "delete", .remove = "F" }) };
        history_append(&history, "F");
        args_of args = { .snapshot_ids = both ? ids : ids + 1, .snapshot_id_count = both ? 2 : 1 };
        CHECK_OK(history.op, expire(&history, args, &report));
        CHECK(report.expired_snapshots_count == (both ? 2 : 1) && report.deleted_data_files_count == 0, " ");
        CHECK(has(&history, "F"), " ");
        history_check_live(&history, "F");
        history_close(&history);
    }
}

static void set_statistics(struct history *history, const char *action, int64_t id, struct firn_text path)
{
    history_update(history,
                   "{\"action\": \"%s\", \"snapshot-id\": %" PRId64 ", \"%s\": {\"snapshot-id\": %" PRId64
                   ", \"statistics-path\": \"%.*s\", \"file-size-in-bytes\": 2, \"file-footer-size-in-bytes\": 1,"
                   " \"blob-metadata\": []}}",
                   action, id, action + strlen("set-"), id, FIRN_FMT(path));
}

/* Delete files and statistics are counted by kind; those of remaining snapshots stay. */
static void every_kind_of_file(void **state)
{
    struct history history = { .op = test_op(state) };
    report_of report;
    history_open(&history, history.op, NULL);
    int64_t first = history_append(&history, "a b");
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "p q" });
    struct history_files equality;
    history_files_of(&history, "e", 0, FIRN_CONTENT_EQUALITY_DELETES, &equality);
    equality.items[0].equality_ids = &(int32_t){ 1 };
    equality.items[0].equality_id_count = 1;
    CHECK_OK(history.op, fixture_delete(history.op, &history.fixture, equality.items, 1));
    history_make(&history, (struct history_commit){ .operation = "overwrite", .remove = "a", .remove_deletes = "p e" });
    int64_t last = history_append(&history, "c");
    const struct {
        const char *action, *name;
        int64_t id;
    } statistics[] = {
        { "set-statistics", "s1", first },
        { "set-statistics", "s2", last },
        { "set-partition-statistics", "p1", first },
        { "set-partition-statistics", "p2", last },
    };
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++)
        set_statistics(&history, statistics[i].action, statistics[i].id,
                       fixture_file(history.op, &history.fixture, statistics[i].name, 1).path);
    CHECK_OK(history.op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
    CHECK(report.deleted_data_files_count == 1 && report.deleted_position_delete_files_count == 1, " ");
    CHECK(report.deleted_equality_delete_files_count == 1 && !has(&history, "e"), " ");
    CHECK(report.deleted_statistics_files_count == 2 && report.deleted_manifest_lists_count == 4, " ");
    CHECK(!has(&history, "a") && has(&history, "b") && !has(&history, "p") && has(&history, "q"), " ");
    CHECK(!has(&history, "s1") && has(&history, "s2") && !has(&history, "p1") && has(&history, "p2"), " ");
    CHECK(history_metadata(&history)->statistics_count == 2, " ");
    history_check_live(&history, "b c | q");

    /* Nothing is left to do, and nothing is committed. */
    struct firn_text before = history.fixture.table.metadata_location;
    CHECK_OK(history.op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
    CHECK(report.expired_snapshots_count == 0 && firn_text_same(before, history.fixture.table.metadata_location), " ");
    history_close(&history);
}

/* A statistics file that an expired and a remaining snapshot share stays. One that was replaced is an orphan, and none
 * of expiry's business; so is one whose snapshot the table does not have. */
static void statistics_that_others_use(void **state)
{
    struct history history = { .op = test_op(state) };
    report_of report;
    history_open(&history, history.op, NULL);
    int64_t first = history_append(&history, "a"), last = history_append(&history, "b");
    struct firn_text shared = fixture_file(history.op, &history.fixture, "shared", 1).path;
    struct firn_text replaced = fixture_file(history.op, &history.fixture, "replaced", 1).path;
    struct firn_text own = fixture_file(history.op, &history.fixture, "own", 1).path;
    struct firn_text nobody = fixture_file(history.op, &history.fixture, "nobody", 1).path;
    set_statistics(&history, "set-statistics", first, shared);
    set_statistics(&history, "set-statistics", last, shared);
    set_statistics(&history, "set-partition-statistics", first, replaced);
    set_statistics(&history, "set-partition-statistics", first, own);
    set_statistics(&history, "set-statistics", 12345, nobody);
    CHECK_OK(history.op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
    CHECK(report.deleted_statistics_files_count == 1 && !has(&history, "own"), "%d",
          (int)report.deleted_statistics_files_count);
    CHECK(has(&history, "shared") && has(&history, "replaced") && has(&history, "nobody"), " ");
    history_close(&history);
}

/* Vectors of two data files lie in one Puffin file: it goes with the last of them. */
static void a_shared_puffin_file(void **state)
{
    struct history history = { .op = test_op(state) };
    report_of report;
    history_open(&history, history.op, "{\"format-version\": \"3\"}");
    struct history_files data, puffin;
    history_append(&history, "a b");
    history_files_of(&history, "a b", 0, FIRN_CONTENT_DATA, &data);
    history_files_of(&history, "dv.puffin dv.puffin", 0, FIRN_CONTENT_POSITION_DELETES, &puffin);
    for (int i = 0; i < 2; i++) {
        puffin.items[i].format = FIRN_FILE_PUFFIN;
        puffin.items[i].format_text = FIRN_TEXT("PUFFIN");
        puffin.items[i].content_offset = 4 + 10 * i;
        puffin.items[i].content_bytes = 10;
        puffin.items[i].referenced_data_file = data.items[i].path;
    }
    history.now_ms += 1000;
    CHECK_OK(history.op, fixture_delete(history.op, &history.fixture, puffin.items, 2));
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "a" });
    CHECK_OK(history.op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
    CHECK(report.deleted_data_files_count == 1 && report.deleted_position_delete_files_count == 0, " ");
    CHECK(has(&history, "dv.puffin"), " ");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "b" });
    CHECK_OK(history.op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
    CHECK(report.deleted_data_files_count == 1 && report.deleted_position_delete_files_count == 1,
          "%d position delete files", (int)report.deleted_position_delete_files_count);
    CHECK(!has(&history, "dv.puffin"), " ");
    history_close(&history);
}

static void specs_and_schemas_that_nothing_needs(void **state)
{
    struct history history = { .op = test_op(state) };
    report_of report;
    history_open(&history, history.op, NULL);
    history_append(&history, "a");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "a" });
    static const char *const changes[] = {
        "{\"action\": \"add-spec\", \"spec\": {\"spec-id\": 1, \"fields\": []}}",
        "{\"action\": \"set-default-spec\", \"spec-id\": 1}",
        "{\"action\": \"add-schema\", \"schema\": {\"type\": \"struct\", \"schema-id\": 1, \"fields\": ["
        "{\"id\": 1, \"name\": \"id\", \"required\": false, \"type\": \"long\"},"
        "{\"id\": 2, \"name\": \"v\", \"required\": false, \"type\": \"string\"}]}}",
        "{\"action\": \"set-current-schema\", \"schema-id\": 1}",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        history_update(&history, "%s", changes[i]);
    struct history_files file;
    history_files_of(&history, "b", 0, FIRN_CONTENT_DATA, &file);
    file.items[0].spec_id = 1;
    file.items[0].partition = (struct firn_partition){ 0 };
    history.now_ms += 1000;
    CHECK_OK(history.op, fixture_append(history.op, &history.fixture, file.items, 1));

    CHECK_OK(history.op, expire(&history, (args_of){ .clean_expired_metadata = true }, &report));
    CHECK(history_metadata(&history)->spec_count == 2 && history_metadata(&history)->schema_count == 2,
          "snapshots that stay still need them");
    args_of args = { .older_than = FIRN_TEXT("0s") };
    CHECK_OK(history.op, expire(&history, args, &report));
    CHECK(history_metadata(&history)->spec_count == 2 && history_metadata(&history)->schema_count == 2, "not asked");
    args.clean_expired_metadata = true; /* also with no snapshot to expire */
    CHECK_OK(history.op, expire(&history, args, &report));
    CHECK(report.expired_snapshots_count == 0, " ");
    CHECK(history_metadata(&history)->spec_count == 1 && history_metadata(&history)->specs[0].id == 1, " ");
    CHECK(history_metadata(&history)->schema_count == 1 && history_metadata(&history)->schemas[0].id == 1, " ");
    history_check_live(&history, "b");
    history_close(&history);
}

static void a_dry_run_tells_and_changes_nothing(void **state)
{
    struct history history = { .op = test_op(state) };
    struct firn_expiry *expiry;
    struct firn_map before, after;
    args_of args = { .older_than = FIRN_TEXT("0s") };
    history_open(&history, history.op, NULL);
    history_append(&history, "a b");
    int64_t second = history_make(&history, (struct history_commit){ .operation = "delete", .remove = "a" });
    history_list(&history, &before);
    CHECK_OK(history.op, firn_expire_snapshots_plan(history.op, NULL, &history.fixture.table, &args, &expiry));
    const json_t *json = firn_expiry_json(history.op, expiry);
    CHECK(json_array_size(json_object_get(json, "snapshots")) == 1, " ");
    CHECK(json_integer_value(json_object_get(json, "kept_snapshots")) == 1, " ");
    CHECK(json_integer_value(json_object_get(json, "deleted_data_files_count")) == 1, " ");
    CHECK(json_array_size(json_object_get(json, "files")) == 3, "a, its manifest and its list");
    CHECK(strcmp(json_string_value(json_object_get(json, "older_than")), "2023-11-14 22:13:22") == 0, " ");
    history_list(&history, &after);
    CHECK(before.count == after.count && history_metadata(&history)->current_snapshot_id == second, " ");
    history_close(&history);
}

/* Others, faults ----------------------------------------------------------------------------------------------------
 */

/* A table whose old snapshots hold what main no longer has. */
static struct firn_store *make_table(struct firn_op *op, int64_t *now_ms)
{
    struct history history = { .op = op };
    history_open(&history, op,
                 "{\"write.metadata.delete-after-commit.enabled\": \"true\","
                 "\"write.metadata.previous-versions-max\": \"2\"}");
    history_append(&history, "a b");
    history_make(&history, (struct history_commit){ .operation = "overwrite", .add_deletes = "p" });
    history_make(&history,
                 (struct history_commit){ .operation = "replace", .add = "c", .remove = "a b", .remove_deletes = "p" });
    history_append(&history, "d");
    *now_ms = history.now_ms;
    history_detach(&history);
    return history.store;
}

static firn_status expire_all(struct firn_op *op, struct firn_store *store, int64_t now_ms, report_of *report)
{
    struct history history;
    history_attach(&history, op, store, now_ms);
    firn_status status = fixture_load(op, &history.fixture);
    if (status == FIRN_OK)
        status = expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, report);
    history_detach(&history);
    return status;
}

/* How many manifest lists and manifests all snapshots have. */
static void count_metadata_files(struct history *history, size_t *lists, size_t *manifests)
{
    const struct firn_metadata *metadata = history_metadata(history);
    struct firn_map all;
    firn_map_init(&all, history->op->arena);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        history_reach(history, metadata, metadata->snapshots[i].id, &all);
    *lists = *manifests = 0;
    for (size_t i = 0; i < all.count; i++) {
        struct firn_text path = firn_text_of_bytes(all.entries[i].key);
        if (firn_text_ends(path, FIRN_TEXT(".avro")))
            ++*(strstr(path.data, "/snap-") ? lists : manifests);
    }
}

/* Forty snapshots that share their manifests go, and one stays: every list is opened once, and every manifest but the
 * one that has nothing live. */
static void every_manifest_is_read_once(void **state)
{
    struct history history;
    struct firn_op *op = test_op(state);
    size_t lists, manifests;
    history_open(&history, op, NULL);
    for (int i = 0; i < 40; i++)
        history_append(&history, firn_text_format(op->arena, "f%d", i).data);
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "f0" });
    count_metadata_files(&history, &lists, &manifests);
    history_detach(&history);
    const struct {
        const char *watched;
        size_t files;
    } cases[] = { { "/snap-", lists }, { "-m", manifests - 1 } };
    for (size_t i = 0; i < 2; i++) {
        struct firn_store *copy, *store;
        struct fault_report faults;
        report_of report;
        struct fault fault = { .at_call = UINT32_MAX, .watched = cases[i].watched };
        CHECK_OK(op, firn_store_open_memory(op, &copy));
        CHECK_OK(op, store_copy(op, history.store, copy, FIRN_TEXT("mem://w")));
        CHECK_OK(op, fault_store_open(op, copy, fault, &faults, &store));
        CHECK_OK(op, expire_all(op, store, history.now_ms, &report));
        CHECK(report.expired_snapshots_count == 40 && report.deleted_data_files_count == 1, " ");
        CHECK(faults.watched_opens == cases[i].files, "%u opens of the %zu with '%s'", faults.watched_opens,
              cases[i].files, cases[i].watched);
        firn_store_close(store);
        firn_store_close(copy);
    }
    firn_store_close(history.store);
}

/* Between the plan and the commit another writer tags a snapshot that is to expire, and appends. */
static void what_others_hold_meanwhile_stays(void **state)
{
    struct history history = { .op = test_op(state) };
    struct firn_expiry *expiry;
    struct fixture other;
    report_of report;
    args_of args = { .older_than = FIRN_TEXT("0s") };
    history_open(&history, history.op, NULL);
    int64_t first = history_append(&history, "a");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "a" });
    int64_t third = history_append(&history, "b");
    CHECK_OK(history.op, firn_expire_snapshots_plan(history.op, NULL, &history.fixture.table, &args, &expiry));

    CHECK_OK(history.op, fixture_open(history.op, history.store, FIRN_TEXT("mem://w"), &other));
    CHECK_OK(history.op, fixture_load(history.op, &other));
    struct firn_refs refs = { .table = &other.table };
    struct firn_ref_report made;
    struct firn_ref_create_args tag = { .kind = FIRN_KIND_TAG, .name = FIRN_TEXT("v"), .snapshot_id = &first };
    CHECK_OK(history.op, firn_ref_create(history.op, &refs, &tag, &made));
    fixture_close(&other);

    CHECK_OK(history.op, firn_expire_snapshots_apply(history.op, NULL, &history.fixture.table, expiry, NULL, &report));
    CHECK(has_snapshot(&history, first) && has_snapshot(&history, third), " ");
    CHECK(report.expired_snapshots_count == 1 && report.deleted_data_files_count == 0 && has(&history, "a"), " ");
    history_check_live(&history, "b");
    history_close(&history);
}

/* The same race lost at the last moment: the catalog has a tag that the decision did not see. */
static void a_commit_asserts_all_references(void **state)
{
    struct history history = { .op = test_op(state) };
    struct firn_change change;
    struct firn_expiry expiry = { .args.older_than = FIRN_TEXT("0s") };
    history_open(&history, history.op, NULL);
    int64_t first = history_append(&history, "a");
    history_append(&history, "b");
    expiry.policy.now_ms = history.now_ms;
    CHECK_OK(history.op, firn_expiry_decide(history.op, NULL, &history.fixture.table, &expiry));
    firn_change_init(history.op, &change);
    firn_expiry_change(&expiry, &change);
    history_set_ref(&history, "v", "tag", first, "");
    CHECK_STATUS(history.op, FIRN_CONFLICT,
                 firn_catalog_commit(history.op, &history.fixture.table, change.requirements, change.updates));
    CHECK(has_snapshot(&history, first), " ");
    history_close(&history);
}

/* After any fault the table is the old one or the new one and reads fully; a second run completes it, deletions too. */
static void every_storage_call_may_fail(void **state)
{
    struct firn_op *op = test_op(state);
    int64_t now_ms;
    struct firn_store *before = make_table(op, &now_ms);
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        bool faulted = true;
        for (uint32_t nth = 0; faulted; nth++) {
            struct firn_store *memory, *store;
            struct fault_report faults;
            struct history history;
            report_of report = { 0 };
            CHECK_OK(op, firn_store_open_memory(op, &memory));
            CHECK_OK(op, store_copy(op, before, memory, FIRN_TEXT("mem://w")));
            CHECK_OK(op, fault_store_open(op, memory, (struct fault){ .at_call = nth, .kind = kind }, &faults, &store));
            firn_status status = expire_all(op, store, now_ms, &report);
            faulted = atomic_load(&faults.fired);
            firn_store_close(store);

            history_attach(&history, op, memory, now_ms);
            CHECK_OK(op, fixture_load(op, &history.fixture));
            uint32_t left = history_metadata(&history)->snapshot_count;
            CHECK(left == 4 || left == 1, "call %u, %s: %u snapshots", nth, fault_name(kind), left);
            CHECK(left == 1 || (has(&history, "a") && has(&history, "p")), "call %u, %s", nth, fault_name(kind));
            CHECK(status == FIRN_OK || faulted, "call %u, %s: %s", nth, fault_name(kind), op->error.text);
            CHECK(status != FIRN_OK || left == 1, "call %u, %s", nth, fault_name(kind));
            history_check_live(&history, "c d");
            CHECK_OK(op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
            CHECK(history_metadata(&history)->snapshot_count == 1, "call %u, %s", nth, fault_name(kind));
            history_check_live(&history, "c d");
            CHECK(!has(&history, "a") && !has(&history, "b") && !has(&history, "p"), "call %u, %s: not all is deleted",
                  nth, fault_name(kind));
            history_close(&history);
        }
    }
    firn_store_close(before);
}

/* The store refuses one file: it is named and not counted, and the rest goes. */
static void a_file_that_cannot_be_deleted(void **state)
{
    struct firn_op *op = test_op(state);
    int64_t now_ms;
    struct fault_report faults;
    struct firn_store *memory = make_table(op, &now_ms), *store;
    report_of report;
    struct fault fault = { .at_call = UINT32_MAX, .refused = "/data/b" };
    CHECK_OK(op, fault_store_open(op, memory, fault, &faults, &store));
    CHECK_STATUS(op, FIRN_PARTIAL, expire_all(op, store, now_ms, &report));
    CHECK(strstr(op->error.text, "have expired") && strstr(op->error.hint, "run it again"), "%s", op->error.hint);
    CHECK(report.deleted_data_files_count == 1 && report.failure_count == 1 && report.expired_snapshots_count == 3,
          " ");
    CHECK(firn_text_ends(report.failures[0].path, FIRN_TEXT("/data/b")), " ");
    firn_store_close(store);

    /* The next run deletes it, although it has nothing to expire. */
    struct history history;
    history_attach(&history, op, memory, now_ms);
    CHECK_OK(op, fixture_load(op, &history.fixture));
    CHECK_OK(op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s") }, &report));
    CHECK(report.expired_snapshots_count == 0 && report.leftover_files_count > 0 && !has(&history, "b"), " ");
    history_check_live(&history, "c d");
    history_detach(&history);
    firn_store_close(memory);
}

/* Marked instead of deleted: the snapshots are gone, the files are not, and the list names them. */
static void marking(void **state)
{
    struct history history = { .op = test_op(state) };
    report_of report;
    struct firn_buffer list = { 0 };
    history_open(&history, history.op, NULL);
    history_append(&history, "a b");
    history_make(&history, (struct history_commit){ .operation = "delete", .remove = "a" });
    CHECK_OK(history.op, expire(&history, (args_of){ .older_than = FIRN_TEXT("0s"), .mark = true }, &report));
    CHECK(report.expired_snapshots_count == 1 && report.marked_files_count == 3, "%d", (int)report.marked_files_count);
    CHECK(report.deleted_data_files_count == 0 && has(&history, "a"), " ");
    CHECK_OK(history.op,
             firn_store_read(history.op, history.store,
                             firn_marks_location(history.op->arena, history_metadata(&history)), 10000, &list));
    struct firn_text text = firn_text_copy(history.op->arena, firn_text_of_bytes(firn_buffer_bytes(&list)));
    CHECK(strstr(text.data, "/data/a") && strstr(text.data, "only expired snapshots reach it"), "%s", text.data);
    firn_buffer_done(&list);
    history_close(&history);
}

/* Random histories ---------------------------------------------------------------------------------------------------
 */

/* What is live on a branch, as the history's maker knows it. */
struct model {
    struct history *history;
    struct random *random;
    int64_t ids[64];
    size_t id_count;
    int file_count;
};

static struct firn_text live_file(struct model *model)
{
    struct firn_text live;
    CHECK_OK(model->history->op, fixture_live(model->history->op, &model->history->fixture, &live));
    ptrdiff_t blank = firn_text_find(live, ' ');
    return blank < 0 ? live : firn_text_until(live, (size_t)blank);
}

static const char *new_name(struct model *model)
{
    return firn_text_format(model->history->op->arena, "f%d", model->file_count++).data;
}

static int64_t any_id(struct model *model)
{
    return model->ids[draw(model->random, (uint32_t)model->id_count)];
}

static void take_step(struct model *model)
{
    struct history *history = model->history;
    struct firn_refs refs = { .table = &history->fixture.table };
    struct firn_ref_move move;
    const struct firn_ref *dev = firn_metadata_ref(history_metadata(history), FIRN_TEXT("dev"));
    struct firn_text old = live_file(model);
    int64_t id = 0;
    switch (draw(model->random, 8)) {
    case 0:
    case 1:
    case 2:
        id = history_append(history, new_name(model));
        break;
    case 3: /* a compaction of one file */
        if (old.len > 0)
            id = history_make(history,
                              (struct history_commit){ .operation = "replace",
                                                       .add = new_name(model),
                                                       .remove = firn_text_copy(history->op->arena, old).data });
        break;
    case 4:
        if (old.len > 0)
            id = history_make(history,
                              (struct history_commit){ .operation = "delete",
                                                       .remove = firn_text_copy(history->op->arena, old).data });
        break;
    case 5:
        if (dev)
            id = history_make(history, (struct history_commit){ .add = new_name(model), .branch = "dev" });
        else
            history_set_ref(history, "dev", "branch", any_id(model),
                            draw(model->random, 2) ? ",\"min-snapshots-to-keep\": 2" : "");
        break;
    case 6:
        history_set_ref(history, draw(model->random, 2) ? "t1" : "t2", "tag", any_id(model),
                        draw(model->random, 2) ? ",\"max-ref-age-ms\": 5000" : "");
        break;
    default:
        id = any_id(model);
        CHECK_OK(history->op, firn_set_current_snapshot(history->op, &refs, &id, FIRN_TEXT(""), &move));
        id = 0;
    }
    if (id)
        model->ids[model->id_count++] = id;
}

/* What went is exactly what the expired snapshots reached and no remaining one does. */
static void check_files(struct history *history, const struct firn_map *before, const struct firn_map *reached,
                        uint64_t seed)
{
    const struct firn_metadata *metadata = history_metadata(history);
    struct firn_map after, kept;
    history_list(history, &after);
    firn_map_init(&kept, history->op->arena);
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        history_reach(history, metadata, metadata->snapshots[i].id, &kept);
    for (size_t i = 0; i < before->count; i++) {
        struct firn_bytes path = before->entries[i].key;
        bool goes = firn_map_find(reached, path) && !firn_map_find(&kept, path);
        CHECK(goes != (firn_map_find(&after, path) != NULL), "seed %" PRIu64 ": %.*s %s", seed,
              FIRN_FMT(firn_text_of_bytes(path)), goes ? "is still there" : "is gone");
    }
}

static void run_random_history(struct firn_op *op, uint64_t seed)
{
    struct random random = { seed };
    struct history history = { .op = op };
    struct model model = { .history = &history, .random = &random };
    report_of report;
    history_open(&history, op, draw(&random, 2) ? "{\"commit.manifest.min-count-to-merge\": \"2\"}" : NULL);
    model.ids[model.id_count++] = history_append(&history, new_name(&model));
    for (uint32_t steps = 4 + draw(&random, 12); steps > 0; steps--)
        take_step(&model);

    struct firn_map before, reached;
    const struct firn_metadata *old = history_metadata(&history);
    history_list(&history, &before);
    struct firn_text age = firn_text_format(op->arena, "%us", draw(&random, 12));
    int64_t given[2] = { any_id(&model), any_id(&model) };
    args_of args = {
        .older_than = age, .retain_last = draw(&random, 3), .snapshot_ids = given, .snapshot_id_count = draw(&random, 3)
    };
    struct firn_expiry_policy policy;
    struct firn_expiry_choice choice;
    CHECK_OK(op, firn_expiry_policy_of(op, old, &args, history.now_ms, &policy));
    if (firn_expiry_choose(op, old, &policy, &choice) == FIRN_USAGE) {
        args.snapshot_id_count = 0; /* a head was named */
        policy.snapshot_id_count = 0;
        CHECK_OK(op, firn_expiry_choose(op, old, &policy, &choice));
    }
    firn_map_init(&reached, op->arena);
    for (size_t i = 0; i < choice.snapshot_count; i++)
        history_reach(&history, old, choice.snapshots[i].snapshot->id, &reached);
    CHECK_OK(op, expire(&history, args, &report));
    CHECK((size_t)report.expired_snapshots_count == choice.snapshot_count, "seed %" PRIu64, seed);
    check_files(&history, &before, &reached, seed);
    history_close(&history);
}

static void random_histories(void **state)
{
    struct firn_op *op = test_op(state);
    struct test_seeds seeds = test_seeds(op, 1, 40);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct firn_arena arena, *outer = op->arena;
        firn_arena_init(&arena);
        op->arena = &arena;
        run_random_history(op, seed);
        op->arena = outer;
        firn_arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(snapshots_stay_by_the_rules),
        TEST(a_reference_to_nothing_goes),
        TEST(a_tag_and_snapshots_expire_together),
        TEST(a_file_that_came_back_stays),
        TEST(every_kind_of_file),
        TEST(statistics_that_others_use),
        TEST(a_shared_puffin_file),
        TEST(specs_and_schemas_that_nothing_needs),
        TEST(a_dry_run_tells_and_changes_nothing),
        TEST(every_manifest_is_read_once),
        TEST(what_others_hold_meanwhile_stays),
        TEST(a_commit_asserts_all_references),
        TEST(every_storage_call_may_fail),
        TEST(a_file_that_cannot_be_deleted),
        TEST(marking),
        TEST(random_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
