/* What a new snapshot holds: entries and their numbers, summaries, merged manifests, branches, row ids. */
#include "check.h"

#include "base/math.h"
#include "support/fixture.h"
#include "table/scan.h"

struct world {
    struct firn_store *store;
    struct fixture fixture;
};

static void begin(struct firn_op *op, struct world *world, struct fixture_options options)
{
    CHECK_OK(op, firn_store_open_memory(op, &world->store));
    CHECK_OK(op, fixture_open(op, world->store, FIRN_TEXT("mem://w"), &world->fixture));
    CHECK_OK(op, fixture_create(op, &world->fixture, options));
}

static void end(struct firn_op *op, struct world *world)
{
    size_t orphans;
    CHECK_OK(op, fixture_orphans(op, &world->fixture, &orphans));
    CHECK(orphans == 0, "%zu files are left over", orphans);
    fixture_close(&world->fixture);
    firn_store_close(world->store);
}

static void check_live(struct firn_op *op, struct world *world, const char *wanted)
{
    struct firn_text live;
    CHECK_OK(op, fixture_load(op, &world->fixture));
    CHECK_OK(op, fixture_live(op, &world->fixture, &live));
    CHECK(firn_text_is(live, wanted), "'%.*s', wanted '%s'", FIRN_FMT(live), wanted);
}

static void check_summary(const struct world *world, const char *const (*wanted)[2])
{
    for (; (*wanted)[0]; wanted++) {
        struct firn_text got = fixture_summary(&world->fixture, (*wanted)[0]);
        CHECK(firn_text_is(got, (*wanted)[1]), "%s is '%.*s', wanted '%s'", (*wanted)[0], FIRN_FMT(got), (*wanted)[1]);
    }
}

static struct firn_data_file append_one(struct firn_op *op, struct world *world, const char *name, int64_t rows)
{
    struct firn_data_file file = fixture_file(op, &world->fixture, name, rows);
    CHECK_OK(op, fixture_append(op, &world->fixture, &file, 1));
    return file;
}

static struct firn_snapshot_change replacement(struct world *world, const struct firn_data_file *removed,
                                               uint32_t removed_count, const struct firn_data_file *added,
                                               uint32_t added_count)
{
    const struct firn_snapshot *current = firn_metadata_current(world->fixture.table.metadata);
    return (struct firn_snapshot_change){
        .operation = FIRN_TEXT("replace"),
        .branch = FIRN_TEXT("main"),
        .added = added,
        .added_count = added_count,
        .added_sequence_number = current->sequence_number,
        .removed = removed,
        .removed_count = removed_count,
        .base_snapshot_id = current->id,
    };
}

static firn_status commit(struct firn_op *op, struct world *world, const struct firn_snapshot_change *change,
                          struct firn_snapshot_result *result)
{
    return firn_snapshot_commit(op, NULL, &world->fixture.table, change, result);
}

static void appends_add_up(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const wanted[][2] = {
        { "operation", "append" },
        { "added-data-files", "2" },
        { "added-records", "7" },
        { "added-files-size", "9" },
        { "changed-partition-count", "1" },
        { "manifests-created", "1" },
        { "manifests-kept", "1" },
        { "manifests-replaced", "0" },
        { "total-records", "17" },
        { "total-data-files", "3" },
        { "total-files-size", "14" },
        { "total-delete-files", "0" },
        { "total-position-deletes", "0" },
        { "total-equality-deletes", "0" },
        { "deleted-data-files", "" },
        { "engine-name", "firn" },
        { "partition-summaries-included", "" },
        { NULL, NULL },
    };
    struct world world;
    begin(op, &world, (struct fixture_options){ 0 });
    append_one(op, &world, "first", 10);
    struct firn_data_file two[] = { fixture_file(op, &world.fixture, "aaaa", 3),
                                    fixture_file(op, &world.fixture, "bbbbb", 4) };
    CHECK_OK(op, fixture_append(op, &world.fixture, two, 2));
    check_live(op, &world, "aaaa bbbbb first");
    check_summary(&world, wanted);
    const struct firn_metadata *metadata = world.fixture.table.metadata;
    const struct firn_snapshot *current = firn_metadata_current(metadata);
    assert_int_equal(current->sequence_number, 2);
    assert_int_equal(current->parent_id, metadata->snapshots[0].id);
    assert_int_equal(metadata->last_sequence_number, 2);
    assert_int_equal(metadata->snapshot_log_count, 2);
    end(op, &world);
}

/* R48: the tombstone keeps the numbers, and is this snapshot's. */
static void removed_files_leave_tombstones(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const wanted[][2] = {
        { "added-data-files", "1" },
        { "deleted-data-files", "2" },
        { "added-records", "15" },
        { "deleted-records", "15" },
        { "added-files-size", "3" },
        { "removed-files-size", "2" },
        { "total-records", "16" },
        { "total-data-files", "2" },
        { "manifests-created", "3" },
        { "manifests-kept", "1" },
        { "manifests-replaced", "2" },
        { "extra", "yes" },
        { NULL, NULL },
    };
    struct world world;
    begin(op, &world, (struct fixture_options){ 0 });
    struct firn_data_file removed[] = { append_one(op, &world, "a", 10), append_one(op, &world, "b", 5) };
    int64_t first_id = world.fixture.table.metadata->snapshots[0].id;
    append_one(op, &world, "c", 1);
    struct firn_data_file added = fixture_file(op, &world.fixture, "new", 15);
    struct firn_snapshot_change change = replacement(&world, removed, 2, &added, 1);
    static const struct firn_text extra[][2] = { { FIRN_TEXT_INIT("extra"), FIRN_TEXT_INIT("yes") } };
    change.properties = extra;
    change.property_count = 1;
    struct firn_snapshot_result result;
    CHECK_OK(op, commit(op, &world, &change, &result));
    check_live(op, &world, "c new");
    check_summary(&world, wanted);
    assert_int_equal(result.sequence_number, 4);

    const struct firn_metadata *metadata = world.fixture.table.metadata;
    struct firn_manifest_list list;
    CHECK_OK(op, firn_snapshot_manifests(op, world.store, metadata, firn_metadata_current(metadata), &list));
    unsigned found = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        struct firn_manifest manifest;
        struct firn_manifest_read_options options = { 0 };
        CHECK_OK(op, firn_manifest_read(op, world.store, metadata, &list.manifests[i], options, &manifest));
        for (uint32_t k = 0; k < manifest.count; k++) {
            const struct firn_manifest_entry *entry = &manifest.entries[k];
            if (firn_text_same(entry->file.path, removed[0].path)) {
                found++;
                CHECK(entry->status == FIRN_ENTRY_DELETED && entry->snapshot_id == result.snapshot_id, "tombstone");
                CHECK(entry->sequence_number == 1 && entry->file_sequence_number == 1, "numbers");
            }
            if (firn_text_same(entry->file.path, added.path)) {
                found++;
                CHECK(entry->status == FIRN_ENTRY_ADDED && entry->sequence_number == 3, "pinned number");
                CHECK(entry->file_sequence_number == 4, "file number");
                assert_int_equal(list.manifests[i].min_sequence_number, 3);
                assert_int_equal(list.manifests[i].sequence_number, 4);
            }
        }
    }
    assert_int_equal(found, 2);
    assert_true(first_id != result.snapshot_id);
    end(op, &world);
}

/* R4, over several rounds: what was removed stays removed, whatever is rewritten later. */
static void tombstones_never_come_back(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, (struct fixture_options){ 0 });
    struct firn_data_file three[] = { fixture_file(op, &world.fixture, "a", 1),
                                      fixture_file(op, &world.fixture, "b", 1),
                                      fixture_file(op, &world.fixture, "c", 1) };
    CHECK_OK(op, fixture_append(op, &world.fixture, three, 3));
    static const char *const live[] = { "b c n0", "c n0 n1", "n0 n1 n2" };
    for (uint32_t i = 0; i < 3; i++) {
        struct firn_snapshot_result result;
        struct firn_data_file added = fixture_file(op, &world.fixture, firn_text_format(op->arena, "n%u", i).data, 1);
        struct firn_snapshot_change change = replacement(&world, &three[i], 1, &added, 1);
        CHECK_OK(op, commit(op, &world, &change, &result));
        check_live(op, &world, live[i]);
    }
    end(op, &world);
}

static uint32_t manifest_count(struct firn_op *op, const struct world *world)
{
    struct firn_manifest_list list;
    const struct firn_metadata *metadata = world->fixture.table.metadata;
    CHECK_OK(op, firn_snapshot_manifests(op, world->store, metadata, firn_metadata_current(metadata), &list));
    return list.count;
}

static void small_manifests_are_merged(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world, (struct fixture_options){ .properties = "{\"commit.manifest.min-count-to-merge\": \"3\"}" });
    static const uint32_t counts[] = { 1, 2, 1, 2, 1 };
    static const char *const live[] = { "f0", "f0 f1", "f0 f1 f2", "f0 f1 f2 f3", "f0 f1 f2 f3 f4" };
    for (uint32_t i = 0; i < 5; i++) {
        append_one(op, &world, firn_text_format(op->arena, "f%u", i).data, 1);
        check_live(op, &world, live[i]);
        CHECK(manifest_count(op, &world) == counts[i], "append %u: %u manifests", i, manifest_count(op, &world));
    }
    static const char *const wanted[][2] = {
        { "manifests-created", "1" }, { "manifests-kept", "0" }, { "manifests-replaced", "2" }, { NULL, NULL }
    };
    check_summary(&world, wanted);
    struct firn_data_file file = fixture_file(op, &world.fixture, "f5", 1);
    struct firn_snapshot_result result;
    for (int i = 0; i < 4; i++) {
        struct firn_snapshot_change change = {
            .operation = FIRN_TEXT("append"),
            .branch = FIRN_TEXT("main"),
            .added = &file,
            .added_count = 1,
            .added_sequence_number = FIRN_ABSENT,
            .base_snapshot_id = FIRN_NO_SNAPSHOT,
            .fast_append = true,
        };
        CHECK_OK(op, commit(op, &world, &change, &result));
    }
    CHECK(manifest_count(op, &world) == 5, "fast appends were merged: %u", manifest_count(op, &world));
    end(op, &world);
}

static void large_additions_roll_over_manifests(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world,
          (struct fixture_options){ .properties = "{\"commit.manifest.target-size-bytes\": \"30000\","
                                                  "\"write.manifest.compression-codec\": \"uncompressed\"}" });
    enum { FILES = 2000 };
    struct firn_data_file *files = FIRN_NEW_ARRAY(op->arena, struct firn_data_file, FILES);
    for (int i = 0; i < FILES; i++)
        files[i] = fixture_file(op, &world.fixture, firn_text_format(op->arena, "file-%05d", i).data, 1);
    CHECK_OK(op, fixture_append(op, &world.fixture, files, FILES));
    CHECK(manifest_count(op, &world) > 1, "one manifest only");
    const char *first = fixture_summary(&world.fixture, "total-data-files").data;
    assert_string_equal(first, "2000");
    end(op, &world);
}

static void snapshots_go_to_branches_only(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_snapshot_result result;
    begin(op, &world, (struct fixture_options){ 0 });
    append_one(op, &world, "a", 1);
    int64_t main_head = world.fixture.table.metadata->current_snapshot_id;
    json_t *none = firn_json_own(op->arena, json_array());
    json_t *updates = firn_json_own(op->arena, json_pack("[{s:s, s:s, s:s, s:I, s:i}, {s:s, s:s, s:s, s:I}]", "action",
                                                         "set-snapshot-ref", "ref-name", "b", "type", "branch",
                                                         "snapshot-id", (json_int_t)main_head, "min-snapshots-to-keep",
                                                         7, "action", "set-snapshot-ref", "ref-name", "t", "type",
                                                         "tag", "snapshot-id", (json_int_t)main_head));
    CHECK_OK(op, firn_catalog_commit(op, &world.fixture.table, none, updates));
    struct firn_data_file file = fixture_file(op, &world.fixture, "b", 1);
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = FIRN_TEXT("b"),
        .added = &file,
        .added_count = 1,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
    };
    CHECK_OK(op, commit(op, &world, &change, &result));
    const struct firn_metadata *metadata = world.fixture.table.metadata;
    const struct firn_ref *branch = firn_metadata_ref(metadata, FIRN_TEXT("b"));
    assert_int_equal(branch->snapshot_id, result.snapshot_id);
    assert_int_equal(branch->snapshots_min_keep, 7);
    assert_int_equal(metadata->current_snapshot_id, main_head);
    change.branch = FIRN_TEXT("t");
    CHECK_STATUS(op, FIRN_USAGE, commit(op, &world, &change, &result));
    change.branch = FIRN_TEXT("none");
    CHECK_STATUS(op, FIRN_NOT_FOUND, commit(op, &world, &change, &result));
    change.branch = FIRN_TEXT("main");
    change.stage_only = true;
    CHECK_OK(op, commit(op, &world, &change, &result));
    metadata = world.fixture.table.metadata;
    assert_int_equal(metadata->current_snapshot_id, main_head);
    assert_non_null(firn_metadata_snapshot(metadata, result.snapshot_id));
    check_live(op, &world, "a");
    end(op, &world);
}

/* R19: ids survive a merge, and new rows get new ones. */
static void row_ids_do_not_overlap(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world,
          (struct fixture_options){ .properties =
                                        "{\"format-version\": \"3\", \"commit.manifest.min-count-to-merge\": \"3\"}" });
    static const int64_t next_after[] = { 3, 6, 15 }; /* the merged manifest is numbered whole: 3 + 3 + 3 */
    for (uint32_t i = 0; i < 3; i++) {
        append_one(op, &world, firn_text_format(op->arena, "f%u", i).data, 3);
        const struct firn_metadata *metadata = world.fixture.table.metadata;
        const struct firn_snapshot *current = firn_metadata_current(metadata);
        CHECK(metadata->next_row_id == next_after[i], "append %u: %d", i, (int)metadata->next_row_id);
        CHECK(current->has_first_row_id && current->first_row_id + current->added_rows == metadata->next_row_id,
              "append %u", i);
    }
    const struct firn_metadata *metadata = world.fixture.table.metadata;
    struct firn_manifest_list list;
    struct firn_manifest manifest;
    struct firn_manifest_read_options options = { 0 };
    CHECK_OK(op, firn_snapshot_manifests(op, world.store, metadata, firn_metadata_current(metadata), &list));
    assert_int_equal(list.count, 1);
    CHECK_OK(op, firn_manifest_read(op, world.store, metadata, &list.manifests[0], options, &manifest));
    assert_int_equal(manifest.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct firn_manifest_entry *entry = &manifest.entries[i];
        bool is_new = entry->status == FIRN_ENTRY_ADDED;
        CHECK(is_new ? entry->file.first_row_id >= 6 : entry->file.first_row_id == 3 * (entry->sequence_number - 1),
              "%.*s: %d", FIRN_FMT(entry->file.path), (int)entry->file.first_row_id);
    }
    end(op, &world);
}

static const char by_v[] = "{\"spec-id\": 0, \"fields\": [{\"source-id\": 2, \"field-id\": 1000, \"name\": \"v\","
                           "\"transform\": \"identity\"}]}";

/* R20: summaries after a rewrite hold the whole values of what is left. */
static void partitions_are_summarised(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    begin(op, &world,
          (struct fixture_options){
              .spec = by_v,
              .properties = "{\"write.summary.partition-limit\": \"2\"}",
          });
    static const char *const values[] = { "x y", "zz" };
    struct firn_data_file files[2];
    for (int i = 0; i < 2; i++) {
        struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
        *value = (struct firn_value){ .type = FIRN_TYPE_STRING, .bytes = firn_bytes_of_text(firn_text_of(values[i])) };
        files[i] = fixture_file(op, &world.fixture, i ? "b" : "a", 1);
        files[i].partition = (struct firn_partition){ value, 1 };
    }
    CHECK_OK(op, fixture_append(op, &world.fixture, files, 2));
    static const char *const added[][2] = {
        { "changed-partition-count", "2" },
        { "partition-summaries-included", "true" },
        { "partitions.v=x+y", "added-files-size=1,added-data-files=1,added-records=1" },
        { NULL, NULL },
    };
    check_summary(&world, added);
    struct firn_snapshot_change change = replacement(&world, &files[1], 1, NULL, 0);
    struct firn_snapshot_result result;
    CHECK_OK(op, commit(op, &world, &change, &result));
    static const char *const removed[][2] = {
        { "changed-partition-count", "1" },
        { "partitions.v=zz", "removed-files-size=1,deleted-data-files=1,deleted-records=1" },
        { NULL, NULL },
    };
    check_summary(&world, removed);
    check_live(op, &world, "a");
    end(op, &world);
}

static struct firn_data_file file_of_partition(struct firn_op *op, const struct world *world, const char *name)
{
    struct firn_data_file file = fixture_file(op, &world->fixture, name, 1);
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
    *value = (struct firn_value){ .type = FIRN_TYPE_STRING, .bytes = firn_bytes_of_text(firn_text_of(name)) };
    file.partition = (struct firn_partition){ value, 1 };
    return file;
}

/* Writes the current manifest list anew with every summary claiming the partition "zz". */
static void spoil_summaries(struct firn_op *op, struct world *world)
{
    const struct firn_metadata *metadata = world->fixture.table.metadata;
    const struct firn_snapshot *current = firn_metadata_current(metadata);
    struct firn_manifest_list list;
    struct firn_buffer bytes = { 0 };
    struct firn_sink sink = firn_sink_to_buffer(&bytes);
    struct firn_manifest_list_header header = { .format_version = 2,
                                                .snapshot_id = current->id,
                                                .parent_snapshot_id = current->parent_id,
                                                .sequence_number = current->sequence_number,
                                                .codec = FIRN_TEXT("gzip") };
    CHECK_OK(op, firn_snapshot_manifests(op, world->store, metadata, current, &list));
    for (uint32_t i = 0; i < list.count; i++)
        list.manifests[i].summaries[0].lower_bound = list.manifests[i].summaries[0].upper_bound =
            firn_bytes_of_text(FIRN_TEXT("zz"));
    CHECK_OK(op, firn_manifest_list_write(op, &header, list.manifests, list.count, &sink, NULL));
    CHECK_OK(op, firn_store_put(op, world->store, current->manifest_list, false, firn_buffer_bytes(&bytes)));
    firn_buffer_done(&bytes);
}

/* A commit opens the manifests of the partitions it changes; summaries that lie only cost time. */
static void manifests_of_other_partitions_stay_closed(void **state)
{
    struct firn_op *op = test_op(state);
    for (int spoiled = 0; spoiled < 2; spoiled++) {
        struct world world;
        struct firn_snapshot_result result;
        begin(op, &world, (struct fixture_options){ .spec = by_v });
        struct firn_data_file files[] = { file_of_partition(op, &world, "a"), file_of_partition(op, &world, "b") };
        for (int i = 0; i < 2; i++)
            CHECK_OK(op, fixture_append(op, &world.fixture, &files[i], 1));
        if (spoiled)
            spoil_summaries(op, &world);
        struct firn_manifest_list list;
        const struct firn_metadata *metadata = world.fixture.table.metadata;
        CHECK_OK(op, firn_snapshot_manifests(op, world.store, metadata, firn_metadata_current(metadata), &list));
        struct firn_buffer kept = { 0 };
        struct firn_text of_b = list.manifests[0].path; /* the newest comes first */
        CHECK_OK(op, firn_store_read(op, world.store, of_b, 1 << 20, &kept));
        struct firn_snapshot_change change = replacement(&world, &files[0], 1, NULL, 0);
        if (!spoiled)
            CHECK_OK(op, firn_store_delete(op, world.store, &of_b, 1, NULL));
        CHECK_OK(op, commit(op, &world, &change, &result));
        CHECK_OK(op, firn_store_put(op, world.store, of_b, false, firn_buffer_bytes(&kept)));
        firn_buffer_done(&kept);
        check_live(op, &world, "b");
        end(op, &world);
    }
}

static void many_manifests_are_rewritten_at_once(void **state)
{
    struct firn_op *op = test_op(state);
    enum { FILES = 24 };
    struct world world;
    struct firn_pool *pool;
    struct firn_snapshot_result result;
    struct firn_data_file files[FILES];
    CHECK_OK(op, firn_pool_open(op, 4, &pool));
    begin(op, &world, (struct fixture_options){ .properties = "{\"commit.manifest.target-size-bytes\": \"20000\"}" });
    for (int i = 0; i < FILES; i++)
        files[i] = append_one(op, &world, firn_text_format(op->arena, "f%02d", i).data, 1);
    struct firn_data_file added = fixture_file(op, &world.fixture, "new", FILES / 2);
    struct firn_snapshot_change change = replacement(&world, files, FILES / 2, &added, 1);
    CHECK_OK(op, firn_snapshot_commit(op, pool, &world.fixture.table, &change, &result));
    check_live(op, &world, "f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23 new");
    end(op, &world);
    firn_pool_close(pool);
}

/* Commits `change` by a draft that was made before the others appended `name` (NULL: they do not). */
static firn_status commit_drafted(struct firn_op *op, struct world *world, const struct firn_snapshot_change *change,
                                  const char *name, struct firn_snapshot_result *result)
{
    struct firn_snapshot_change drafted = *change;
    drafted.draft = firn_snapshot_draft_open(op, NULL, &world->fixture.table, change);
    assert_non_null(drafted.draft);
    if (name)
        append_one(op, world, name, 1);
    firn_status status = commit(op, world, &drafted, result);
    firn_snapshot_draft_close(op, drafted.draft);
    return status;
}

/* The draft has written what is left of the manifest, and the commit takes that: it is the older of the two. */
static void drafts_are_kept(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const others[] = { NULL, "other" };
    static const char *const live[] = { "b new", "b new other" };
    for (size_t i = 0; i < FIRN_COUNT_OF(others); i++) {
        struct world world;
        struct firn_snapshot_result result;
        struct firn_manifest_list list;
        begin(op, &world, (struct fixture_options){ 0 });
        struct firn_data_file files[] = { fixture_file(op, &world.fixture, "a", 3),
                                          fixture_file(op, &world.fixture, "b", 4) };
        CHECK_OK(op, fixture_append(op, &world.fixture, files, 2));
        struct firn_data_file added = fixture_file(op, &world.fixture, "new", 3);
        struct firn_snapshot_change change = replacement(&world, files, 1, &added, 1);
        CHECK_OK(op, commit_drafted(op, &world, &change, others[i], &result));
        assert_int_equal(result.manifests_replaced, 1);
        assert_int_equal(result.manifests_created, 2);
        check_live(op, &world, live[i]);
        const struct firn_metadata *metadata = world.fixture.table.metadata;
        CHECK_OK(op, firn_snapshot_manifests(op, world.store, metadata, firn_metadata_current(metadata), &list));
        const struct firn_manifest_file *oldest = &list.manifests[list.count - 1];
        CHECK(firn_text_ends(oldest->path, FIRN_TEXT("-m0.avro")), "%.*s", FIRN_FMT(oldest->path));
        assert_int_equal(oldest->deleted_files_count, 1);
        end(op, &world);
    }
}

/* Small manifests are joined with what is added, however much of it was drafted. */
static void drafts_are_joined(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_snapshot_result result;
    begin(op, &world, (struct fixture_options){ .properties = "{\"commit.manifest.min-count-to-merge\": \"2\"}" });
    struct firn_data_file files[] = { append_one(op, &world, "a", 1), append_one(op, &world, "b", 1) };
    struct firn_data_file added = fixture_file(op, &world.fixture, "new", 1);
    struct firn_snapshot_change change = replacement(&world, files, 1, &added, 1);
    CHECK_OK(op, commit_drafted(op, &world, &change, NULL, &result));
    check_live(op, &world, "b new");
    CHECK(manifest_count(op, &world) == 1, "%u manifests", manifest_count(op, &world));
    end(op, &world);
}

/* end() finds what is left over. */
static void drafts_leave_nothing(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_snapshot_result result;
    begin(op, &world, (struct fixture_options){ 0 });
    struct firn_data_file a = append_one(op, &world, "a", 1);
    append_one(op, &world, "b", 1);
    struct firn_data_file added = fixture_file(op, &world.fixture, "new", 1);
    struct firn_snapshot_change change = replacement(&world, &a, 1, &added, 1);
    struct firn_snapshot_draft *forgotten = firn_snapshot_draft_open(op, NULL, &world.fixture.table, &change);
    assert_non_null(forgotten);
    firn_snapshot_draft_close(op, forgotten);
    added.record_count = 2;
    CHECK_STATUS(op, FIRN_VERIFY, commit_drafted(op, &world, &change, NULL, &result));
    added.record_count = 1;
    change.draft =
        firn_snapshot_draft_open(op, NULL, &world.fixture.table,
                                 &(struct firn_snapshot_change){ .operation = change.operation,
                                                                 .branch = change.branch,
                                                                 .removed = &a,
                                                                 .removed_count = 1,
                                                                 .base_snapshot_id = change.base_snapshot_id });
    struct firn_snapshot_change faster = replacement(&world, &a, 1, &added, 1);
    CHECK_OK(op, commit(op, &world, &faster, &result));
    CHECK_STATUS(op, FIRN_CONFLICT, commit(op, &world, &change, &result));
    firn_snapshot_draft_close(op, change.draft);
    check_live(op, &world, "b new");
    change.branch = FIRN_TEXT("none");
    assert_null(firn_snapshot_draft_open(op, NULL, &world.fixture.table, &change));
    firn_snapshot_draft_close(op, NULL);
    end(op, &world);
}

/* Commits one update of the metadata. */
static void update_table(struct firn_op *op, struct world *world, const char *text)
{
    json_t *updates, *requirements = firn_json_own(op->arena, json_array());
    CHECK_OK(op, firn_json_parse(op, firn_text_of(text), "updates", &updates));
    CHECK_OK(op, firn_catalog_commit(op, &world->fixture.table, requirements, updates));
}

/* Has manifests packed in twos, from the oldest on. */
static void pack_in_twos(struct firn_op *op, struct world *world)
{
    const struct firn_metadata *metadata = world->fixture.table.metadata;
    struct firn_manifest_list list;
    CHECK_OK(op, firn_snapshot_manifests(op, world->store, metadata, firn_metadata_current(metadata), &list));
    assert_int_equal(list.count, 3);
    int64_t two = list.manifests[1].length + list.manifests[2].length;
    update_table(op, world,
                 firn_text_format(op->arena,
                                  "[{\"action\": \"set-properties\", \"updates\": "
                                  "{\"commit.manifest.target-size-bytes\": \"%" PRId64 "\"}}]",
                                  two)
                     .data);
}

/* The draft joins two manifests that are said to hold no removed file; one does, and it leaves. */
static void drafts_by_summaries_that_lie_do_not_stand(void **state)
{
    struct firn_op *op = test_op(state);
    static const char *const names[] = { "a", "b", "c" };
    struct world world;
    struct firn_snapshot_result result;
    struct firn_data_file files[FIRN_COUNT_OF(names)];
    begin(op, &world, (struct fixture_options){ .spec = by_v });
    for (size_t i = 0; i < FIRN_COUNT_OF(names); i++) {
        files[i] = file_of_partition(op, &world, names[i]);
        CHECK_OK(op, fixture_append(op, &world.fixture, &files[i], 1));
    }
    pack_in_twos(op, &world);
    spoil_summaries(op, &world);
    struct firn_snapshot_change change = replacement(&world, files, 1, NULL, 0);
    CHECK_OK(op, commit_drafted(op, &world, &change, NULL, &result));
    check_live(op, &world, "b c");
    end(op, &world);
}

/* What others took out of the manifest that was drafted stays out. */
static void drafts_of_replaced_manifests_do_not_stand(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_snapshot_result result;
    begin(op, &world, (struct fixture_options){ 0 });
    struct firn_data_file files[] = { fixture_file(op, &world.fixture, "a", 1),
                                      fixture_file(op, &world.fixture, "b", 1),
                                      fixture_file(op, &world.fixture, "c", 1) };
    CHECK_OK(op, fixture_append(op, &world.fixture, files, 3));
    struct firn_data_file added = fixture_file(op, &world.fixture, "new", 1);
    struct firn_data_file other = fixture_file(op, &world.fixture, "other", 1);
    struct firn_snapshot_change change = replacement(&world, files, 1, &added, 1), drafted = change;
    struct firn_snapshot_change faster = replacement(&world, &files[1], 1, &other, 1);
    drafted.draft = firn_snapshot_draft_open(op, NULL, &world.fixture.table, &change);
    assert_non_null(drafted.draft);
    CHECK_OK(op, commit(op, &world, &faster, &result));
    CHECK_OK(op, commit(op, &world, &drafted, &result));
    firn_snapshot_draft_close(op, drafted.draft);
    check_live(op, &world, "c new other");
    end(op, &world);
}

/* Manifests of the old format go, and the draft is made anew. */
static void drafts_of_an_older_format_do_not_stand(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_snapshot_result result;
    struct firn_manifest_list list;
    begin(op, &world, (struct fixture_options){ 0 });
    struct firn_data_file files[] = { fixture_file(op, &world.fixture, "a", 1),
                                      fixture_file(op, &world.fixture, "b", 1) };
    CHECK_OK(op, fixture_append(op, &world.fixture, files, 2));
    struct firn_data_file added = fixture_file(op, &world.fixture, "new", 1);
    struct firn_snapshot_change change = replacement(&world, files, 1, &added, 1), drafted = change;
    drafted.draft = firn_snapshot_draft_open(op, NULL, &world.fixture.table, &change);
    assert_non_null(drafted.draft);
    update_table(op, &world, "[{\"action\": \"upgrade-format-version\", \"format-version\": 3}]");
    CHECK_OK(op, commit(op, &world, &drafted, &result));
    firn_snapshot_draft_close(op, drafted.draft);
    check_live(op, &world, "b new");
    const struct firn_metadata *metadata = world.fixture.table.metadata;
    CHECK_OK(op, firn_snapshot_manifests(op, world.store, metadata, firn_metadata_current(metadata), &list));
    for (uint32_t i = 0; i < list.count; i++)
        CHECK(!firn_text_ends(list.manifests[i].path, FIRN_TEXT("-m0.avro")), "%.*s", FIRN_FMT(list.manifests[i].path));
    end(op, &world);
}

static void impossible_changes_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct world world;
    struct firn_snapshot_result result;
    begin(op, &world, (struct fixture_options){ 0 });
    struct firn_data_file a = append_one(op, &world, "a", 5);
    struct firn_data_file more = fixture_file(op, &world.fixture, "more", 6);
    struct firn_snapshot_change change = replacement(&world, &a, 1, &more, 1);
    CHECK_STATUS(op, FIRN_VERIFY, commit(op, &world, &change, &result));
    assert_int_equal(result.attempts, 1);
    change = replacement(&world, NULL, 0, &more, 1);
    CHECK_STATUS(op, FIRN_USAGE, commit(op, &world, &change, &result));
    change = replacement(&world, NULL, 0, NULL, 0);
    CHECK_STATUS(op, FIRN_USAGE, commit(op, &world, &change, &result));
    struct firn_data_file vector = fixture_file(op, &world.fixture, "dv", 1);
    vector.content = FIRN_CONTENT_POSITION_DELETES;
    vector.format = FIRN_FILE_PUFFIN;
    CHECK_STATUS(op, FIRN_USAGE, fixture_delete(op, &world.fixture, &vector, 1));
    more.spec_id = 7;
    CHECK_STATUS(op, FIRN_USAGE, fixture_append(op, &world.fixture, &more, 1));
    check_live(op, &world, "a");
    end(op, &world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(appends_add_up),
        TEST(removed_files_leave_tombstones),
        TEST(tombstones_never_come_back),
        TEST(small_manifests_are_merged),
        TEST(large_additions_roll_over_manifests),
        TEST(snapshots_go_to_branches_only),
        TEST(row_ids_do_not_overlap),
        TEST(partitions_are_summarised),
        TEST(manifests_of_other_partitions_stay_closed),
        TEST(many_manifests_are_rewritten_at_once),
        TEST(drafts_are_kept),
        TEST(drafts_are_joined),
        TEST(drafts_leave_nothing),
        TEST(drafts_by_summaries_that_lie_do_not_stand),
        TEST(drafts_of_replaced_manifests_do_not_stand),
        TEST(drafts_of_an_older_format_do_not_stand),
        TEST(impossible_changes_are_refused),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
