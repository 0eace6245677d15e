/* The demonstration table, and the measure of what a table costs. Everything goes the way of real writes: Parquet files
 * in their partitions, then a fast append through the catalog. */
#include "firn/demo.h"

#include "base/math.h"
#include "base/time.h"
#include "catalog/snapshot_producer.h"
#include "maintain/delete_use.h"
#include "maintain/demo_rows.h"
#include "rewrite/append.h"
#include "table/scan.h"

static const char schema_text[] = "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
                                  "{\"id\":1,\"name\":\"transaction_id\",\"required\":true,\"type\":\"long\"},"
                                  "{\"id\":2,\"name\":\"account_id\",\"required\":true,\"type\":\"long\"},"
                                  "{\"id\":3,\"name\":\"amount\",\"required\":false,\"type\":\"decimal(12, 2)\"},"
                                  "{\"id\":4,\"name\":\"kind\",\"required\":false,\"type\":\"string\"},"
                                  "{\"id\":5,\"name\":\"merchant\",\"required\":false,\"type\":\"string\"},"
                                  "{\"id\":6,\"name\":\"created_at\",\"required\":true,\"type\":\"timestamptz\"}]}";
static const char spec_text[] = "{\"spec-id\":0,\"fields\":[{\"name\":\"created_at_day\",\"transform\":\"day\","
                                "\"source-id\":6,\"field-id\":1000}]}";

enum { PLANNING_ROUNDS = 3, LATE_EVERY = 4 };

/* 2026-07-01, the first day. */
#define FIRST_DAY INT64_C(20635)

static firn_status create_table(struct firn_op *op, struct firn_catalog *catalog, struct firn_text identifier,
                                struct firn_table *out)
{
    json_t *schema, *spec;
    ptrdiff_t dot = firn_text_find_last(identifier, '.');
    if (dot <= 0)
        return firn_fail(op, FIRN_USAGE, "'%.*s' has no namespace", FIRN_FMT(identifier));
    FIRN_TRY(firn_json_parse(op, firn_text_of(schema_text), "schema", &schema));
    FIRN_TRY(firn_json_parse(op, firn_text_of(spec_text), "partition spec", &spec));
    FIRN_TRY(firn_catalog_create_namespace(op, catalog, firn_text_until(identifier, (size_t)dot)));
    /* As streaming jobs are set up, so that the metadata folder does not keep a file for every commit. */
    json_t *properties = firn_json_own(op->arena, json_pack("{s:s,s:s}", "write.metadata.delete-after-commit.enabled",
                                                            "true", "write.metadata.previous-versions-max", "20"));
    return firn_catalog_create_table(op, catalog, identifier, schema, spec, NULL, properties, out);
}

/* What every file of the demonstration shares. */
struct demo {
    struct firn_table table; /* after the last commit; lives in the arena of that turn */
    const struct firn_demo_config *config;
    struct firn_append append;
    int64_t next_id;
    uint32_t file_count;
};

/* Writes one file of a day: rows spread over `span_us` from `start_us`. */
static firn_status write_file(struct firn_op *op, struct demo *demo, int64_t day, int64_t start_us, int64_t span_us,
                              struct firn_data_file *out)
{
    struct firn_vector columns[FIRN_DEMO_COLUMNS];
    struct firn_demo_batch batch = {
        .seed = demo->file_count,
        .first_id = demo->next_id,
        .start_us = start_us,
        .span_us = span_us,
        .row_count = (uint32_t)FIRN_MAX(demo->config->rows_per_file * (50 + demo->file_count * 37 % 100) / 100, 1),
    };
    demo->next_id += batch.row_count;
    demo->file_count++;
    firn_demo_rows(op, &batch, columns);
    struct firn_value *value = FIRN_NEW(op->arena, struct firn_value); /* the file's description keeps it */
    *value = (struct firn_value){ .type = FIRN_TYPE_DATE, .integer = day };
    struct firn_partition partition = { .values = value, .count = 1 };
    return firn_append_write(op, &demo->append, demo->file_count, &partition, columns, out);
}

/* One commit of the streaming job: rows of the moment, and now and then some that arrive a day late. */
static firn_status commit_once(struct firn_op *op, struct firn_pool *pool, struct demo *demo, int64_t index)
{
    struct firn_data_file files[2];
    struct firn_snapshot_result result;
    int64_t span_us = demo->config->days * FIRN_MICROS_PER_DAY / demo->config->commits;
    int64_t start_us = FIRST_DAY * FIRN_MICROS_PER_DAY + index * span_us;
    int64_t day = firn_floor_div(start_us, FIRN_MICROS_PER_DAY);
    span_us = FIRN_MIN(span_us, (day + 1) * FIRN_MICROS_PER_DAY - start_us); /* a file holds one day */
    uint32_t count = 0;

    FIRN_TRY(write_file(op, demo, day, start_us, span_us, &files[count++]));
    if (day > FIRST_DAY && index % LATE_EVERY == 0)
        FIRN_TRY(write_file(op, demo, day - 1, start_us - FIRN_MICROS_PER_DAY, span_us, &files[count++]));
    struct firn_snapshot_change change = {
        .operation = FIRN_TEXT("append"),
        .branch = FIRN_TEXT("main"),
        .added = files,
        .added_count = count,
        .added_sequence_number = FIRN_ABSENT,
        .base_snapshot_id = FIRN_NO_SNAPSHOT,
        .fast_append = true,
    };
    return firn_snapshot_commit(op, pool, &demo->table, &change, &result);
}

/* Turns take two arenas in alternation: a turn starts from the table that the one before left in the other, and what is
 * older goes, or the metadata of thousands of versions would pile up. */
static firn_status fill_table(struct firn_op *op, struct firn_pool *pool, struct demo *demo,
                              struct firn_progress *progress)
{
    struct firn_arena turns[2], *outer = op->arena;
    firn_status status = FIRN_OK;
    firn_arena_init(&turns[0]);
    firn_arena_init(&turns[1]);
    for (int64_t i = 0; i < demo->config->commits && status == FIRN_OK; i++) {
        op->arena = &turns[i % 2];
        firn_arena_reset(op->arena);
        status = firn_op_check(op);
        if (status == FIRN_OK)
            status = firn_context(op, commit_once(op, pool, demo, i), "commit %" PRId64, i + 1);
        firn_progress_group(op, progress);
    }
    op->arena = outer;
    firn_arena_done(&turns[0]);
    firn_arena_done(&turns[1]);
    firn_progress_end(op, progress);
    return status;
}

firn_status firn_demo_create(struct firn_op *op, struct firn_pool *pool, struct firn_catalog *catalog,
                             struct firn_text identifier, const struct firn_demo_config *config,
                             struct firn_progress *progress, struct firn_table *out)
{
    struct demo demo = { .config = config };
    FIRN_TRY(create_table(op, catalog, identifier, out));
    demo.table = *out;
    if (progress) {
        progress->group_noun = "commits";
        atomic_store(&progress->groups_total, (uint64_t)config->commits);
    }
    firn_status status = firn_append_init(op, &demo.append, out->metadata, out->store);
    if (status == FIRN_OK)
        status = fill_table(op, pool, &demo, progress);
    firn_append_done(&demo.append);
    return status == FIRN_OK ? firn_table_refresh(op, out) : status;
}

/* What a reader opens: every data file with all of its delete files. */
static void count_scan(const struct firn_scan *scan, struct firn_table_cost *out)
{
    out->scan_files = scan->file_count;
    out->scan_bytes = 0;
    for (uint32_t i = 0; i < scan->file_count; i++) {
        const struct firn_scan_file *file = &scan->files[i];
        out->scan_bytes += file->entry->file.file_bytes + firn_delete_match_bytes(&file->deletes);
    }
}

/* Plans the scan once, in an arena of its own. */
static firn_status plan_once(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                             const struct firn_predicate *where, struct firn_table_cost *out, int64_t *elapsed_us)
{
    struct firn_scratch scratch;
    struct firn_scan scan;
    firn_scratch_begin(op, &scratch);
    int64_t started_us = firn_now_us(op);
    struct firn_scan_options options = { .where = where, .with_metrics = where != NULL };
    firn_status status =
        firn_scan_plan(op, pool, table->store, table->metadata, firn_metadata_current(table->metadata), options, &scan);
    *elapsed_us = firn_now_us(op) - started_us;
    if (status == FIRN_OK && where)
        count_scan(&scan, out);
    for (uint32_t i = 0; status == FIRN_OK && !where && i < scan.file_count; i++) {
        out->files++;
        out->bytes += scan.files[i].entry->file.file_bytes;
        out->rows += scan.files[i].entry->file.record_count;
    }
    out->manifests = status == FIRN_OK ? scan.manifests.count : 0;
    firn_scratch_end(op, &scratch);
    return status;
}

firn_status firn_table_measure(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                               struct firn_text where, struct firn_table_cost *out)
{
    const struct firn_predicate *predicate;
    int64_t elapsed_us;
    *out = (struct firn_table_cost){ .planning_us = INT64_MAX };
    FIRN_TRY(firn_predicate_parse(op, where, firn_metadata_current_schema(table->metadata), &predicate));
    FIRN_TRY(plan_once(op, pool, table, NULL, out, &elapsed_us));
    for (int round = 0; round < PLANNING_ROUNDS; round++) {
        FIRN_TRY(plan_once(op, pool, table, predicate, out, &elapsed_us));
        out->planning_us = FIRN_MIN(out->planning_us, elapsed_us);
    }
    return FIRN_OK;
}
