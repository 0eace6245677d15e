/* For how many data files each delete file is read: against counting pair by pair, and at a size where pairs are too
 * many. */
#include "maintain/plan_fixture.h"

static const struct firn_scan_file **all_files(struct firn_op *op, const struct firn_scan *scan)
{
    const struct firn_scan_file **files = FIRN_NEW_ARRAY(op->arena, const struct firn_scan_file *, scan->file_count);
    for (uint32_t i = 0; i < scan->file_count; i++)
        files[i] = &scan->files[i];
    return files;
}

static void check_against_pairs(struct firn_op *op, const struct firn_metadata *metadata, const struct firn_scan *scan,
                                uint64_t seed)
{
    struct firn_delete_uses uses;
    uint32_t used = 0;
    firn_delete_uses_count(op->arena, all_files(op, scan), scan->file_count, &uses);
    for (uint32_t i = 0; i < scan->delete_count; i++) {
        int64_t file_count = 0, row_count = 0;
        for (uint32_t j = 0; j < scan->file_count; j++) {
            if (!firn_delete_applies(metadata, scan->deletes[i], scan->files[j].entry))
                continue;
            file_count++;
            row_count += scan->files[j].entry->file.record_count;
        }
        const struct firn_delete_use *use = firn_delete_uses_find(&uses, scan->deletes[i]);
        used += use != NULL;
        CHECK((use ? use->file_count : 0) == file_count && (use ? use->row_count : 0) == row_count,
              "seed %" PRIu64 ", delete %u: %" PRId64 " files, wanted %" PRId64, seed, i, use ? use->file_count : 0,
              file_count);
    }
    CHECK(used == uses.count, "seed %" PRIu64 ": %u uses, %u found", seed, uses.count, used);
}

static void counts_are_those_of_all_pairs(void **state)
{
    struct firn_op *op = test_op(state);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15);
        struct sim_table table = { 0 };
        for (int i = 0; i < 9; i++)
            FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
        for (uint64_t i = 0; i < 5 + seed % 20; i++) {
            dice = dice * UINT64_C(6364136223846793005) + 1;
            FIRN_PUSH(op->arena, &table.files,
                      ((struct sim_file){ .bytes = 100 + (int64_t)(dice >> 50),
                                          .part = (int32_t)(dice >> 33 & 1),
                                          .spec_id = (dice >> 34 & 7) == 0,
                                          .snapshot_id = 1 + (int64_t)(dice >> 40) % 9 }));
        }
        for (uint64_t i = 0; i < seed % 12; i++) {
            dice = dice * UINT64_C(6364136223846793005) + 1;
            FIRN_PUSH(op->arena, &table.deletes,
                      ((struct sim_delete){ .is_equality = dice >> 33 & 1,
                                            .part = (int32_t)(dice >> 34 & 1),
                                            .spec_id = (dice >> 35 & 7) == 0,
                                            .snapshot_id = 1 + (int64_t)(dice >> 40) % 9 }));
        }
        const struct firn_metadata *metadata = sim_metadata(op, &table);
        struct firn_scan scan = sim_scan(op, &table, metadata);
        check_against_pairs(op, metadata, &scan, seed);
        firn_arena_reset(op->arena);
    }
}

static void vectors_count_for_their_file(void **state)
{
    struct firn_op *op = test_op(state);
    struct sim_table table = { 0 };
    struct firn_delete_uses uses;
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    for (int i = 0; i < 3; i++)
        FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 100, .own_deleted_rows = i }));
    struct firn_scan scan = sim_scan(op, &table, sim_metadata(op, &table));
    firn_delete_uses_count(op->arena, all_files(op, &scan), 3, &uses);
    assert_int_equal(uses.count, 2);
    assert_int_equal(uses.items[1].file_count, 1);
    assert_int_equal(uses.items[1].row_count, 10);
    assert_int_equal(firn_delete_read_bytes(&uses.items[1].del->file), 44);
    firn_delete_uses_count(op->arena, all_files(op, &scan), 1, &uses);
    assert_int_equal(uses.count, 0);
    assert_null(firn_delete_uses_find(&uses, scan.deletes[0]));
}

/* Twenty thousand data files against five thousand delete files: a hundred million pairs. */
static void many_files_and_deletes_are_counted(void **state)
{
    enum { FILES = 20000, DELETES = 5000 };
    struct firn_op *op = test_op(state);
    struct sim_table table = { 0 };
    struct firn_delete_uses uses;
    FIRN_PUSH(op->arena, &table.snapshots, ((struct sim_snapshot){ 0 }));
    for (int i = 0; i < FILES; i++)
        FIRN_PUSH(op->arena, &table.files, ((struct sim_file){ .bytes = 10, .snapshot_id = 1 + i }));
    for (int i = 0; i < DELETES; i++)
        FIRN_PUSH(op->arena, &table.deletes, ((struct sim_delete){ .is_equality = true, .snapshot_id = 4 * i + 3 }));
    struct firn_scan scan = sim_scan(op, &table, sim_metadata(op, &table));
    firn_delete_uses_count(op->arena, all_files(op, &scan), FILES, &uses);
    assert_int_equal(uses.count, DELETES);
    for (int i = 0; i < DELETES; i++)
        assert_int_equal(firn_delete_uses_find(&uses, scan.deletes[i])->file_count, 4 * i + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_are_those_of_all_pairs),
        TEST(vectors_count_for_their_file),
        TEST(many_files_and_deletes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
