/* SELECT over metadata tables: names, spellings, what is refused, what is read. */
#include "sql/select_world.h"

#include "base/math.h"
#include "maintain/corpus_table.h"
#include "support/folder.h"

static void append(struct firn_op *op, struct select_world *world, const char *name, int64_t records)
{
    struct firn_data_file file = fixture_file(op, &world->fixture, name, records);
    CHECK_OK(op, fixture_append(op, &world->fixture, &file, 1));
}

/* Three appends; a tag on the second. */
static void begin(struct firn_op *op, struct select_world *world)
{
    world_begin(op, world, (struct fixture_options){ 0 });
    append(op, world, "a", 1);
    append(op, world, "bb", 2);
    CHECK_OK(op, fixture_tag(op, &world->fixture, FIRN_TEXT("t1")));
    append(op, world, "ccc", 3);
}

struct query {
    const char *sql, *rows;
};

static void check_queries(struct firn_op *op, struct select_world *world, const struct query *queries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_rows(op, world, queries[i].sql, queries[i].rows);
}

static void metadata_is_shown_as_tables(void **state)
{
    static const struct query queries[] = {
        { "SELECT count(*) FROM db.t.snapshots", "3" },
        { "SELECT operation, summary['added-records'] FROM c.db.t.snapshots ORDER BY committed_at",
          "append|1; append|2; append|3" },
        { "SELECT count(*), count(parent_id) FROM db.t.history", "3|2" },
        { "SELECT DISTINCT is_current_ancestor FROM db.t.history", "true" },
        { "SELECT name, type, max_reference_age_in_ms FROM db.t.refs ORDER BY name", "main|BRANCH|null; t1|TAG|null" },
        { "SELECT count(*) FROM db.t.metadata_log_entries", "5" },
        { "SELECT latest_sequence_number FROM db.t.metadata_log_entries ORDER BY timestamp DESC LIMIT 1", "3" },
        { "SELECT count(*), sum(added_data_files_count) FROM db.t.manifests", "3|3" },
        { "SELECT count(*), count(DISTINCT path) FROM db.t.all_manifests", "6|3" },
        { "SELECT count(*) FROM db.t.manifests VERSION AS OF 't1'", "2" },
        { "SELECT count(*) FROM db.t.manifests.tag_t1", "2" },
        { "SELECT count(*), count(DISTINCT manifests.path) FROM db.t.manifests.branch_main AS manifests", "3|3" },
    };
    struct firn_op *op = test_op(state);
    struct select_world world;
    begin(op, &world);
    check_queries(op, &world, queries, FIRN_COUNT_OF(queries));
    world_end(&world);
}

static void sparks_spelling_is_understood(void **state)
{
    static const struct query queries[] = {
        { "SELECT 7 / 2, 7 div 2, -7/2/2, 1 - 6 / 4", "3.5|3|-1.75|-0.5" },
        { "SELECT 'it''s', 'it\\'s', \"a 'b'\" 'c'", "it's|it's|a 'b'c" },
        { "SELECT DATE '2024-01-02', TIMESTAMP '2024-01-02T03:04:05.50Z'", "2024-01-02|2024-01-02 03:04:05.5" },
        { "SELECT CAST('2024-01-02 03:04:05' AS DATE), cast (12 as string) || '!', CAST('5' AS BIGINT) + 1",
          "2024-01-02|12!|6" },
        { "SELECT 'a%b' LIKE 'a\\%b', 'axb' LIKE 'a\\%b', 'axb' LIKE 'a_b', 'a_' LIKE 'a!_' ESCAPE '!', 'A' LIKE 'a'",
          "1|0|1|1|0" },
        { "SELECT 1 <=> NULL, NULL <=> NULL, 5L + 1, 1 == 1", "0|1|6|1" },
        { "SELECT x'0A'; -- a comment; with a semicolon", "X'0a'" },
        { "SELECT count(*) AS `a count` FROM `db`.`t`.`snapshots` WHERE `operation` = \"append\"", "3" },
        { "SELECT s.summary.`added-records` FROM db.t.snapshots s WHERE snapshots.operation IS NULL", NULL },
        { "SELECT SUM(s.summary['added-records']) FROM db.t.snapshots AS s JOIN db.t.refs r ON r.snapshot_id = "
          "s.snapshot_id",
          "5" },
        { "SELECT count(*) FROM db.t.snapshots, db.t.refs WHERE snapshots.snapshot_id = refs.snapshot_id", "2" },
        { "SELECT db.t.refs.name FROM db.t.refs WHERE db.t.refs.type = 'TAG'", "t1" },
        { "WITH s AS (SELECT summary FROM db.t.snapshots) SELECT max(s.summary['added-records']) FROM s", "3" },
        { "SELECT count(*) FROM (SELECT * FROM db.t.snapshots) WHERE operation LIKE 'app%' AND operation NOT LIKE 'A%'",
          "3" },
        { "VALUES (1, 'db.t.files'), (2, 'x')", "1|db.t.files; 2|x" },
        { "SELECT sum(manifests.length_in_bytes) > 0, count(manifest_path) FROM db.t.manifests", "1|3" },
        { "SELECT 'a' FROM db.t.refs WHERE name = 'main' UNION ALL SELECT 'b' FROM db.t.refs WHERE name = 't1'",
          "a; b" },
        { "SELECT count(*) FROM db.t.snapshots WHERE committed_at < current_timestamp() AND committed_at > '2020'",
          "3" },
    };
    struct firn_op *op = test_op(state);
    struct select_world world;
    begin(op, &world);
    for (size_t i = 0; i < FIRN_COUNT_OF(queries); i++)
        if (queries[i].rows)
            check_rows(op, &world, queries[i].sql, queries[i].rows);
        else
            check_error(op, &world, queries[i].sql, "no such column");
    world_end(&world);
}

static void faults_are_told_with_their_place(void **state)
{
    static const struct query queries[] = {
        { "SELECT nosuch FROM db.t.snapshots", "line 1, column 8: no such column: nosuch" },
        { "SELECT *\nFROM db.t.nosuch", "line 2, column 6: 'nosuch' is no metadata table" },
        { "SELECT * FROM db.x.snapshots", "db.x" },
        { "SELECT * FROM files", "no such table" },
        { "SELECT 1 +", "incomplete input" },
        { "SELECT (1 + 2\n  FROM db.t.refs", "line 2, column 3" },
        { "SELECT /* \n */ 1 ++ * 2", "line 2, column 10" },
        { "SELECT 'open", "line 1, column 8: the quote '" },
        { "SELECT count(*) FROM db.t.manifests VERSION AS OF 'nosuch'", "no snapshot, branch or tag 'nosuch'" },
        { "SELECT count(*) FROM db.t.manifests VERSION AS OF now", "line 1, column 51" },
        { "SELECT count(*) FROM db.t.manifests TIMESTAMP AS OF '1999-01-01'", "no snapshot as of" },
        { "SELECT TIMESTAMP 'noon'", "line 1, column 18: 'noon' is no timestamp" },
        { "SELECT count(*) FROM db.t.manifests.branch_t1", "line 1, column 1: table c.db.t has no branch_t1" },
        { "SELECT count(*) FROM db.t.manifests.tag_nosuch", "has no tag_nosuch" },
        { "SELECT count(*) FROM db.t.manifests.snapshot_id_77", "has no snapshot_id_77" },
        { "SELECT count(*) FROM db.t.manifests.at_timestamp_1", "has no at_timestamp_1" },
        { "SELECT count(*) FROM db.t.manifests.tag_t1 VERSION AS OF 't1'", "chosen twice" },
        { "SELECT count(*) FROM db.t.branch_main.files", "db.t.branch_main" },
        { "", "only SELECT" },
    };
    struct firn_op *op = test_op(state);
    struct select_world world;
    begin(op, &world);
    for (size_t i = 0; i < FIRN_COUNT_OF(queries); i++)
        check_error(op, &world, queries[i].sql, queries[i].rows);
    world_end(&world);
}

/* What runs a script adds which statement it was, and nothing else. */
static void faults_name_one_place(void **state)
{
    static const char *const queries[] = { "SELECT nosuch FROM db.t.snapshots", "SELECT 1 +", "SELECT * FROM db.x.refs",
                                           "SELECT * FROM db.t.refs VERSION AS OF 7" };
    struct firn_op *op = test_op(state);
    struct select_world world;
    begin(op, &world);
    for (size_t i = 0; i < FIRN_COUNT_OF(queries); i++) {
        check_error(op, &world, queries[i], "line 1, column ");
        const char *first = strstr(op->error.text, "line ");
        CHECK(first == op->error.text && !strstr(first + 1, "line "), "%s: %s", queries[i], op->error.text);
    }
    world_end(&world);
}

/* Statements that would make a file, were they obeyed. */
static void no_file_can_be_made(void **state)
{
    static const struct {
        const char *before, *after;
    } hostile[] = { { "ATTACH '", "' AS x" }, { "VACUUM INTO '", "'" }, { "SELECT writefile('", "', 'x')" } };
    struct firn_op *op = test_op(state);
    struct select_world world;
    struct firn_text folder = folder_make(op->arena);
    const char *path = firn_text_format(op->arena, "%.*s/must-not-exist.db", FIRN_FMT(folder)).data;
    begin(op, &world);
    for (size_t i = 0; i < FIRN_COUNT_OF(hostile); i++)
        check_error(op, &world, firn_text_format(op->arena, "%s%s%s", hostile[i].before, path, hostile[i].after).data,
                    "");
    CHECK(fopen(path, "rb") == NULL, "%s was made", path);
    world_end(&world);
    folder_remove(folder);
}

static void nothing_but_reading_is_possible(void **state)
{
    static const char *const hostile[] = {
        "DROP TABLE db.t.files",
        "INSERT INTO firn_0 VALUES (1)",
        "DELETE FROM db.t.files",
        "PRAGMA user_version = 1",
        "SELECT 1; DROP TABLE x",
        "SELECT load_extension('x')",
        "WITH x AS (SELECT 1) DELETE FROM firn_0",
        "WITH x AS (SELECT 1) INSERT INTO sqlite_master SELECT * FROM x",
        "SELECT * FROM pragma_table_info('sqlite_master')",
        "SELECT readfile('/etc/passwd')",
        "SELECT zeroblob(1000000000)",
        "SELECT randomblob(2147483647)",
        "EXPLAIN SELECT 1",
        "CREATE TABLE x(a)",
        "SELECT * FROM `db`.`t`.`files\"; DROP TABLE x; --`",
        "SELECT `a\"b`.`c\"d` FROM db.t.refs",
        "SELECT * FROM db.t.refs AS `x\" JOIN firn_9",
    };
    struct firn_op *op = test_op(state);
    struct select_world world;
    begin(op, &world);
    for (size_t i = 0; i < FIRN_COUNT_OF(hostile); i++)
        check_error(op, &world, hostile[i], "");
    world_end(&world);
}

static void deep_and_long_texts_are_refused(void **state)
{
    struct firn_op *op = test_op(state);
    struct select_world world;
    enum { LEN = 100000 };
    char *text = malloc(2 * LEN);
    begin(op, &world);
    memcpy(text, "SELECT ", 7);
    memset(text + 7, '(', LEN);
    text[LEN + 7] = '\0';
    check_error(op, &world, text, "parentheses");
    for (int i = 0; i < LEN / 2; i++)
        memcpy(text + 7 + 2 * i, "-+", 2);
    memcpy(text + 7 + LEN, "1", 2);
    check_error(op, &world, text, "");
    free(text);
    world_end(&world);
}

/* A table by "id" (identity), with bounds; one commit a file, then a delete file. */
static void begin_partitioned(struct firn_op *op, struct select_world *world)
{
    static const char spec[] = "{\"spec-id\": 0, \"fields\": [{\"source-id\": 1, \"field-id\": 1000, \"name\": "
                               "\"p\", \"transform\": \"identity\"}]}";
    world_begin(op, world, (struct fixture_options){ .spec = spec });
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = { "a", "bb", "ccc", "d-deletes" };
        struct firn_data_file file = fixture_file(op, &world->fixture, names[i], 10 * (i + 1));
        struct firn_value *value = FIRN_NEW(op->arena, struct firn_value);
        uint8_t *bound = firn_arena_alloc(op->arena, 4);
        *value = (struct firn_value){ .type = FIRN_TYPE_INT, .integer = i < 3 ? i : 0 };
        file.partition = (struct firn_partition){ value, 1 };
        firn_store_le32(bound, (uint32_t)i);
        static int32_t ids[] = { 1 };
        static int64_t counts[] = { 7 };
        struct firn_bytes *bounds = FIRN_NEW(op->arena, struct firn_bytes);
        *bounds = (struct firn_bytes){ bound, 4 };
        file.value_counts = (struct firn_count_map){ ids, counts, 1, true };
        file.lower_bounds = (struct firn_bound_map){ ids, bounds, 1, true };
        file.content = i < 3 ? FIRN_CONTENT_DATA : FIRN_CONTENT_POSITION_DELETES;
        if (i < 3)
            CHECK_OK(op, fixture_append(op, &world->fixture, &file, 1));
        else
            CHECK_OK(op, fixture_delete(op, &world->fixture, &file, 1));
    }
}

static void files_and_entries_are_shown(void **state)
{
    static const struct query queries[] = {
        { "SELECT count(*), sum(record_count) FROM db.t.files", "4|100" },
        { "SELECT content, count(*) FROM db.t.files GROUP BY content ORDER BY 1", "0|3; 1|1" },
        { "SELECT count(*) FROM db.t.data_files UNION ALL SELECT count(*) FROM db.t.delete_files", "3; 1" },
        { "SELECT record_count, partition, partition.p, spec_id, file_format FROM db.t.data_files ORDER BY partition.p",
          "10|{\"p\":0}|0|0|PARQUET; 20|{\"p\":1}|1|0|PARQUET; 30|{\"p\":2}|2|0|PARQUET" },
        { "SELECT partition, COUNT(*) AS file_cnt, ROUND(AVG(file_size_in_bytes) / 1024 / 1024, 2) AS avg_size_mb FROM "
          "db.t.files GROUP BY partition HAVING COUNT(*) > 1 OR AVG(file_size_in_bytes) > 67108864",
          "{\"p\":0}|2|0" },
        { "SELECT value_counts, value_counts[1], lower_bounds[1], readable_metrics.id.lower_bound, "
          "readable_metrics.v.upper_bound FROM db.t.data_files f WHERE f.partition.p = 2",
          "{\"1\":7}|7|X'02000000'|2|null" },
        { "SELECT readable_metrics FROM db.t.delete_files",
          "{\"id\":{\"column_size\":null,\"value_count\":7,\"null_value_count\":null,\"nan_value_count\":null,"
          "\"lower_bound\":3,\"upper_bound\":null},\"v\":{\"column_size\":null,\"value_count\":null,"
          "\"null_value_count\":null,\"nan_value_count\":null,\"lower_bound\":null,\"upper_bound\":null}}" },
        { "SELECT status, sequence_number, data_file.record_count, data_file.partition.p FROM db.t.entries ORDER BY 2",
          "1|1|10|0; 1|2|20|1; 1|3|30|2; 1|4|40|0" },
        { "SELECT json_extract(data_file, '$.content'), e.readable_metrics.id.value_count FROM db.t.entries e WHERE "
          "status < 2 AND sequence_number = 4",
          "1|7" },
        { "SELECT count(*) FROM db.t.all_files UNION ALL SELECT count(*) FROM db.t.all_data_files UNION ALL SELECT "
          "count(*) FROM db.t.all_delete_files UNION ALL SELECT count(*) FROM db.t.all_entries",
          "4; 3; 1; 4" },
        { "SELECT partition.p, spec_id, record_count, file_count, position_delete_file_count, "
          "total_data_file_size_in_bytes FROM db.t.partitions ORDER BY 1",
          "0|0|10|1|1|1; 1|0|20|1|0|2; 2|0|30|1|0|3" },
        { "SELECT sum(record_count) FROM db.t.partitions WHERE partition.p > 0", "50" },
        { "SELECT record_count FROM db.t.files WHERE partition.p = 1 OR (readable_metrics.id.lower_bound <= 2 AND "
          "readable_metrics.id.lower_bound >= 2)",
          "30; 20" },
        { "SELECT record_count FROM db.t.files WHERE content = 0 OR content = 1 ORDER BY 1", "10; 20; 30; 40" },
        { "SELECT record_count FROM db.t.files WHERE record_count > 20 OR content = 1 OR "
          "readable_metrics.id.lower_bound "
          "<= 2 ORDER BY 1",
          "10; 20; 30; 40" },
        { "SELECT count(DISTINCT last_updated_snapshot_id) FROM db.t.partitions p JOIN db.t.snapshots s ON "
          "p.last_updated_snapshot_id = s.snapshot_id AND p.last_updated_at = s.committed_at",
          "3" },
        { "SELECT count(*) FROM db.t.position_deletes WHERE spec_id = 7", "0" },
        { "SELECT x.partition.p FROM (SELECT partition FROM db.t.data_files) x ORDER BY 1", "0; 1; 2" },
        { "SELECT f.*, p.spec_id = 0 FROM (SELECT record_count FROM db.t.files) f CROSS JOIN db.t.partitions p WHERE "
          "p.partition.p = 1 AND f.record_count > 20 ORDER BY 1",
          "30|1; 40|1" },
        { "SELECT count(*), max(g.readable_metrics.id.lower_bound), count(*) * 2 FROM db.t.data_files f LEFT JOIN "
          "db.t.delete_files AS g ON f.partition.p = g.partition.p",
          "3|3|6" },
        { "SELECT s.operation, count(*) FROM db.t.entries e JOIN db.t.snapshots s ON e.snapshot_id = s.snapshot_id "
          "GROUP BY 1 ORDER BY 1",
          "append|3; overwrite|1" },
    };
    struct firn_op *op = test_op(state);
    struct select_world world;
    begin_partitioned(op, &world);
    check_queries(op, &world, queries, FIRN_COUNT_OF(queries));
    check_error(op, &world, "SELECT partition.nosuch FROM db.t.files", "line 1, column 18: 'partition' has no field");
    world_end(&world);
}

static void conditions_leave_manifests_unread(void **state)
{
    static const struct {
        const char *sql;
        unsigned manifests;
    } cases[] = {
        { "SELECT count(*) FROM db.t.snapshots", 0 },
        { "SELECT path FROM db.t.manifests", 0 },
        { "SELECT file_path FROM db.t.files", 4 },
        { "SELECT file_path FROM db.t.files WHERE content = 0", 3 },
        { "SELECT file_path FROM db.t.files WHERE content > 0", 1 },
        { "SELECT file_path FROM db.t.files WHERE partition.p = 1", 1 },
        { "SELECT file_path FROM db.t.files WHERE partition.p >= 1 AND content = 0", 2 },
        { "SELECT file_path FROM db.t.files WHERE spec_id = 5", 0 },
        { "SELECT file_path FROM db.t.files WHERE partition.p = 0 OR content = 1", 4 },
        { "SELECT file_path FROM db.t.all_files WHERE content = 1", 1 },
        { "SELECT data_file.file_path FROM db.t.entries WHERE status = 2", 0 },
        { "SELECT status FROM db.t.entries WHERE data_file.partition.p = 2 AND data_file.content = 0", 1 },
        { "SELECT count(*) FROM db.t.entries WHERE snapshot_id = 1", 0 },
        { "SELECT sum(file_count) FROM db.t.partitions WHERE partition.p = 2", 1 },
        { "SELECT f.file_path FROM db.t.files f JOIN db.t.entries e ON f.file_path = e.data_file.file_path", 8 },
        { "SELECT count(*) FROM db.t.data_files f, db.t.data_files g WHERE f.partition.p > g.partition.p", 6 },
        { "SELECT count(*) FROM db.t.files UNION ALL SELECT count(*) FROM db.t.files WHERE content = 1", 5 },
    };
    struct firn_op *op = test_op(state);
    struct select_world world;
    begin_partitioned(op, &world);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        unsigned opened = count_opens(op, &world, cases[i].sql);
        CHECK(opened == cases[i].manifests, "%s: %u manifests were read", cases[i].sql, opened);
    }
    world_end(&world);
}

static void columns_have_sparks_names_and_types(void **state)
{
    static const struct {
        const char *name, *type;
    } wanted[] = {
        { "committed_at", "timestamp" }, { "snapshot_id", "bigint" },   { "parent_id", "bigint" },
        { "operation", "string" },       { "manifest_list", "string" }, { "summary", "map<string,string>" },
    };
    struct firn_op *op = test_op(state);
    struct select_world world;
    struct firn_select *select;
    begin(op, &world);
    CHECK_OK(op, world_open(op, &world, "SELECT * FROM db.t.snapshots", &select));
    CHECK(firn_select_column_count(select) == FIRN_COUNT_OF(wanted));
    for (size_t i = 0; i < FIRN_COUNT_OF(wanted); i++) {
        struct firn_select_column column = firn_select_columns(select)[i];
        CHECK(firn_text_is(column.name, wanted[i].name) && firn_text_is(column.type, wanted[i].type), "%.*s %.*s",
              FIRN_FMT(column.name), FIRN_FMT(column.type));
    }
    firn_select_close(select);
    world_end(&world);
}

static void expressions_are_called_as_written(void **state)
{
    static const char *const wanted[] = { "sum( r.snapshot_id )/2", "x", "a b", "7 div 2", "name", "count(*)" };
    struct firn_op *op = test_op(state);
    struct select_world world;
    struct firn_select *select;
    begin(op, &world);
    CHECK_OK(op, world_open(
                     op, &world,
                     "SELECT sum( r.snapshot_id )/2, 1/2 AS x, 3 `a b`,\n 7 div 2, r.name, count(*) FROM db.t.refs r;",
                     &select));
    for (size_t i = 0; i < FIRN_COUNT_OF(wanted); i++) {
        struct firn_text name = firn_select_columns(select)[i].name;
        CHECK(firn_text_is(name, wanted[i]), "'%.*s', wanted '%s'", FIRN_FMT(name), wanted[i]);
    }
    firn_select_close(select);
    world_end(&world);
}

static firn_status find_corpus_table(struct firn_op *op, void *context, struct firn_text name, struct firn_table *out)
{
    const struct corpus_table *opened = context;
    (void)op;
    (void)name;
    *out = opened->table;
    return FIRN_OK;
}

/* What Spark shows for these tables, as tests/interop/test_metadata_tables.py finds. */
static void tables_of_other_writers_are_shown_as_spark_does(void **state)
{
    static const struct {
        const char *table, *sql, *wanted;
    } cases[] = {
        { "cxx_identity_all_types",
          "SELECT json_extract(partition_summaries, '$[7].lower_bound') FROM t.manifests LIMIT 1", "17:00" },
        { "impala_v3_default_on_partition",
          "SELECT partition_spec_id, json_extract(partition_summaries, '$[0].upper_bound') FROM t.manifests ORDER BY "
          "1, 2",
          "0|null; 1|10; 1|null" },
        { "impala_v3_default_on_partition", "SELECT partition.j, spec_id, file_count FROM t.partitions ORDER BY 1, 2",
          "null|0|2; null|1|1; 5|1|1; 10|1|1" },
        { "impala_puffin_stats",
          "SELECT readable_metrics.d.lower_bound, json_extract(readable_metrics, "
          "'$.d.upper_bound') FROM t.files WHERE record_count = 2 LIMIT 1",
          "1|2" },
        { "impala_pos_delete_some_files", "SELECT pos, row, row.s FROM t.position_deletes ORDER BY row.i",
          "1|{\"i\":5,\"s\":\"e\"}|e; 0|{\"i\":7,\"s\":\"d\"}|d; 1|{\"i\":8,\"s\":\"e\"}|e; "
          "2|{\"i\":9,\"s\":\"f\"}|f" },
        { "impala_pos_delete_some_files_orc", "SELECT pos, row FROM t.position_deletes ORDER BY row.i",
          "1|{\"i\":5,\"s\":\"e\"}; 0|{\"i\":7,\"s\":\"g\"}; 1|{\"i\":8,\"s\":\"h\"}; "
          "2|{\"i\":9,\"s\":\"i\"}" },
        { "dremio_eq_deletes_products",
          "SELECT pos, row.created_date, row.weight FROM t.position_deletes WHERE "
          "row.color = 'red' AND partition.category = 'widget'",
          "52|2018-08-01|37.9256902452855" },
        { "duckdb_moved_object_storage", "SELECT count(*), count(row), min(pos) FROM t.position_deletes", "3361|0|0" },
    };
    struct firn_op *op = test_op(state);
    struct firn_text root = corpus_root(op);
    CORPUS_OR_SKIP(root);
    for (size_t i = 0; i < FIRN_COUNT_OF(cases); i++) {
        struct corpus_table opened = corpus_table_open(
            op, root, cases[i].table, json_object_get(corpus_expected(op, root, "iceberg"), cases[i].table));
        struct firn_select_tables tables = { find_corpus_table, &opened, NULL };
        struct firn_select *select;
        struct firn_text got = { 0 };
        CHECK_OK(op, firn_select_open_tables(op, &tables, firn_text_of(cases[i].sql), (struct firn_sql_place){ 1, 1 },
                                             &select));
        CHECK_OK(op, all_rows(op, select, &got));
        CHECK(firn_text_is(got, cases[i].wanted), "%s: %s:\n  got    %.*s\n  wanted %s", cases[i].table, cases[i].sql,
              FIRN_FMT(got), cases[i].wanted);
        firn_select_close(select);
        corpus_table_close(&opened);
    }
}

static void a_stop_ends_a_statement(void **state)
{
    struct firn_op *op = test_op(state);
    struct select_world world;
    struct firn_text got;
    begin(op, &world);
    op->deadline_ms = op->env->monotonic_ms(op->env->context) + 20;
    CHECK_STATUS(op, FIRN_CANCELLED,
                 try_rows(op, &world,
                          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
                          &got));
    op->deadline_ms = INT64_MAX;
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(metadata_is_shown_as_tables),
        TEST(sparks_spelling_is_understood),
        TEST(faults_are_told_with_their_place),
        TEST(faults_name_one_place),
        TEST(no_file_can_be_made),
        TEST(nothing_but_reading_is_possible),
        TEST(deep_and_long_texts_are_refused),
        TEST(files_and_entries_are_shown),
        TEST(conditions_leave_manifests_unread),
        TEST(columns_have_sparks_names_and_types),
        TEST(expressions_are_called_as_written),
        TEST(tables_of_other_writers_are_shown_as_spark_does),
        TEST(a_stop_ends_a_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
