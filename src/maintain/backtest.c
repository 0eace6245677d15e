/* Backtests: history and policy side by side, interval by interval. */
#include "maintain/backtest.h"

#include "base/math.h"
#include "format/json/json.h"
#include "maintain/age.h"
#include "maintain/work.h"

enum { ROWS_MAX = 10000 };
#define TIME_MS_MAX  INT64_C(253402300799999) /* the year 9999 */
#define MS_PER_MONTH ((double)FIRN_MS_PER_DAY * 365.25 / 12)

/* Numbers of one side, of an interval or summed up. */
struct side {
    int64_t data_files, data_bytes, delete_files, delete_reads; /* at the end */
    struct firn_backtest_work did;
    double money, scan_money;
};
struct backtest {
    struct firn_pool *pool;
    const struct firn_table *table;
    struct firn_prices prices;
    struct firn_backtest_history history;
    struct firn_backtest_world real;
    size_t next_real; /* commit that is not yet in it */
    struct firn_backtest_policy policy;
    int64_t from_ms, to_ms, interval_ms;
};

/* What really happened --------------------------------------------------------------------------------------------- */

/* Entries of removed files say who removed them; who added them, the world knows. */
static int64_t count_touched(struct firn_op *op, struct backtest *backtest, const struct firn_backtest_commit *commit)
{
    const struct firn_manifest_entry **added =
        FIRN_NEW_ARRAY(op->arena, const struct firn_manifest_entry *, commit->removed.count);
    uint32_t count = 0;
    for (size_t i = 0; i < commit->removed.count; i++) {
        added[count] = firn_backtest_world_find(&backtest->real, &commit->removed.items[i]->file);
        count += added[count] != NULL;
    }
    return firn_work_count_commits(added, count);
}

/* As a plan would have predicted it. */
static struct firn_work work_of(struct firn_op *op, struct backtest *backtest,
                                const struct firn_backtest_commit *commit)
{
    struct firn_work work = { 0 };
    int64_t leaves = firn_work_count_leaves(&firn_metadata_current_schema(backtest->table->metadata)->root);
    for (size_t i = 0; i < commit->removed.count; i++) {
        const struct firn_data_file *file = &commit->removed.items[i]->file;
        if (file->content == FIRN_CONTENT_DATA)
            firn_work_add_data_file(&work, file, FIRN_MAX(file->file_bytes, 0), leaves);
        else
            firn_work_add_delete_file(&work, file);
    }
    for (size_t i = 0; i < commit->added.count; i++)
        firn_work_add_output(&work, 1, FIRN_MAX(commit->added.items[i]->file.file_bytes, 0));
    firn_work_add_commit(&work, (struct firn_manifest_touch){ .manifests = count_touched(op, backtest, commit) }, NULL);
    firn_work_add_run(&work, 1);
    return work;
}

static void count_real(struct firn_op *op, struct backtest *backtest, const struct firn_backtest_commit *commit,
                       struct firn_backtest_work *out)
{
    out->commits++;
    out->work = firn_work_sum(out->work, work_of(op, backtest, commit));
    for (size_t i = 0; i < commit->removed.count; i++) {
        const struct firn_data_file *file = &commit->removed.items[i]->file;
        if (file->content != FIRN_CONTENT_DATA)
            continue;
        out->files++;
        out->bytes += FIRN_MAX(file->file_bytes, 0);
    }
}

static firn_status run_real(struct firn_op *op, struct backtest *backtest, int64_t until_ms,
                            struct firn_backtest_work *out)
{
    const struct firn_backtest_history *history = &backtest->history;
    for (; backtest->next_real < history->count; backtest->next_real++) {
        const struct firn_backtest_commit *commit = &history->commits[backtest->next_real];
        if (commit->snapshot->timestamp_ms > until_ms)
            return FIRN_OK;
        if (commit->is_maintenance)
            count_real(op, backtest, commit, out);
        FIRN_TRY(firn_backtest_world_commit(op, &backtest->real, commit));
    }
    return FIRN_OK;
}

/* Sides ------------------------------------------------------------------------------------------------------------ */

static int64_t scan_requests(const struct side *side)
{
    return (side->data_files + side->delete_reads) * FIRN_SCAN_REQUESTS_OF_FILE;
}

/* What the world holds, and what scans of it cost for so long. */
static firn_status look(struct firn_op *op, const struct backtest *backtest, struct firn_backtest_world *world,
                        struct side *side)
{
    struct firn_scratch scratch;
    struct firn_scan scan;
    firn_scratch_begin(op, &scratch);
    firn_status status = firn_backtest_world_scan(op, world, &scan);
    for (uint32_t i = 0; status == FIRN_OK && i < scan.file_count; i++)
        side->delete_reads += firn_delete_match_count(&scan.files[i].deletes);
    firn_scratch_end(op, &scratch);
    side->data_files = world->files;
    side->data_bytes = world->bytes;
    side->delete_files = world->delete_files;
    struct firn_work scans = { .requests = { [FIRN_REQUEST_GET] = scan_requests(side) } };
    double months = (double)backtest->interval_ms / MS_PER_MONTH;
    side->scan_money = firn_work_money(&backtest->prices, &scans, 0) * backtest->prices.scans_per_month * months;
    double seconds = firn_work_seconds(&backtest->prices, &side->did.work, firn_pool_thread_count(backtest->pool));
    side->money = firn_work_money(&backtest->prices, &side->did.work, seconds);
    return status;
}

static void add_side(struct side *sum, const struct side *side)
{
    sum->data_files += side->data_files;
    sum->data_bytes += side->data_bytes;
    sum->delete_files += side->delete_files;
    sum->delete_reads += side->delete_reads;
    sum->did.commits += side->did.commits;
    sum->did.files += side->did.files;
    sum->did.bytes += side->did.bytes;
    sum->did.work = firn_work_sum(sum->did.work, side->did.work);
    sum->money += side->money;
    sum->scan_money += side->scan_money;
}

/* The table as it was on average. */
static void average_side(struct side *sum, int64_t rows)
{
    sum->data_files /= rows;
    sum->data_bytes /= rows;
    sum->delete_files /= rows;
    sum->delete_reads /= rows;
}

static json_t *side_json(const struct side *side)
{
    json_t *json = json_object();
    firn_json_set_i64(json, "data_files", side->data_files);
    firn_json_set_i64(json, "data_bytes", side->data_bytes);
    firn_json_set_i64(json, "delete_files", side->delete_files);
    firn_json_set_i64(json, "delete_reads", side->delete_reads);
    firn_json_set_i64(json, "scan_requests", scan_requests(side));
    firn_json_set_i64(json, "commits", side->did.commits);
    firn_json_set_i64(json, "rewritten_files", side->did.files);
    firn_json_set_i64(json, "rewritten_bytes", side->did.bytes);
    firn_json_set_i64(json, "requests", firn_work_requests(&side->did.work));
    firn_json_set(json, "money", json_real(side->money));
    firn_json_set(json, "scan_money", json_real(side->scan_money));
    return json;
}

/* Intervals -------------------------------------------------------------------------------------------------------- */

/* A day, or an hour where there are no two days. */
static firn_status set_interval(struct firn_op *op, int64_t interval_ms, struct backtest *backtest)
{
    const struct firn_backtest_history *history = &backtest->history;
    backtest->from_ms = backtest->to_ms = history->commits[0].snapshot->timestamp_ms;
    for (size_t i = 0; i < history->count; i++) {
        backtest->from_ms = FIRN_MIN(backtest->from_ms, history->commits[i].snapshot->timestamp_ms);
        backtest->to_ms = FIRN_MAX(backtest->to_ms, history->commits[i].snapshot->timestamp_ms);
    }
    if (backtest->from_ms < 0 || backtest->to_ms > TIME_MS_MAX)
        return firn_fail(op, FIRN_CORRUPT, "snapshots have times before 1970 or after 9999");
    int64_t span_ms = backtest->to_ms - backtest->from_ms;
    bool is_short = span_ms < 2 * FIRN_MS_PER_DAY;
    backtest->interval_ms = interval_ms > 0 ? interval_ms : is_short ? FIRN_MS_PER_HOUR : FIRN_MS_PER_DAY;
    if (span_ms / backtest->interval_ms < ROWS_MAX)
        return FIRN_OK;
    firn_status status = firn_fail(op, FIRN_USAGE, "the history has more than %d of these intervals", ROWS_MAX);
    return firn_hint(op, status, "ask for longer ones");
}

static firn_status replay(struct firn_op *op, struct backtest *backtest, json_t *rows, struct side totals[2])
{
    int64_t count = 0, end_ms = backtest->from_ms;
    do {
        struct side real = { 0 }, policy = { 0 };
        end_ms = backtest->to_ms - end_ms <= backtest->interval_ms ? backtest->to_ms : end_ms + backtest->interval_ms;
        FIRN_TRY(run_real(op, backtest, end_ms, &real.did));
        FIRN_TRY(firn_backtest_policy_run(op, &backtest->policy, end_ms, &policy.did));
        FIRN_TRY(look(op, backtest, &backtest->real, &real));
        FIRN_TRY(look(op, backtest, &backtest->policy.world, &policy));
        json_t *row = json_object();
        firn_json_set_i64(row, "at_ms", end_ms);
        firn_json_set(row, "real", side_json(&real));
        firn_json_set(row, "policy", side_json(&policy));
        json_array_append_new(rows, row);
        add_side(&totals[0], &real);
        add_side(&totals[1], &policy);
        count++;
    } while (end_ms < backtest->to_ms);
    average_side(&totals[0], count);
    average_side(&totals[1], count);
    return FIRN_OK;
}

static json_t *notes_json(const struct backtest *backtest, const struct firn_policy *policy)
{
    json_t *notes = json_array();
    const struct {
        bool holds;
        const char *text;
    } all[] = {
        { backtest->history.is_cut,
          "older snapshots have expired: the files of the oldest that is left are where both begin" },
        { firn_policy_text(policy, FIRN_POLICY_COMPACT_WHERE).len > 0,
          "compact.where is not replayed: all files are compacted" },
        { firn_policy_number(policy, FIRN_POLICY_COMPACT_STRATEGY) == 1,
          "sorting is reckoned as packing: as many bytes are rewritten, but for overlapping files" },
        { firn_policy_number(policy, FIRN_POLICY_COMPACT_EVERY) == FIRN_POLICY_NEVER,
          "compact.every is never: this is the table without maintenance" },
    };
    for (size_t i = 0; i < FIRN_COUNT_OF(all); i++)
        if (all[i].holds)
            json_array_append_new(notes, json_string(all[i].text));
    return notes;
}

firn_status firn_backtest(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                          const struct firn_backtest_args *args, json_t **out)
{
    const struct firn_maintain_args maintain = { .policy = args->policy };
    struct side totals[2] = { 0 };
    struct backtest backtest = { .pool = pool,
                                 .table = table,
                                 .prices = args->prices ? *args->prices : firn_prices_default() };
    FIRN_TRY(firn_backtest_history_read(op, pool, table, &backtest.history));
    FIRN_TRY(set_interval(op, args->interval_ms, &backtest));
    firn_backtest_world_init(op->arena, table->metadata, false, &backtest.real);
    firn_backtest_policy_init(op->arena, table, &backtest.history, &maintain, &backtest.policy);
    json_t *json = firn_json_own(op->arena, json_object()), *rows = json_array(), *total = json_object();
    firn_json_set_text(json, "table", table->name);
    firn_json_set_i64(json, "from_ms", backtest.from_ms);
    firn_json_set_i64(json, "to_ms", backtest.to_ms);
    firn_json_set_i64(json, "snapshots", (int64_t)backtest.history.count);
    firn_json_set_bool(json, "is_cut", backtest.history.is_cut);
    firn_json_set_i64(json, "interval_ms", backtest.interval_ms);
    firn_json_set(json, "rows", rows);
    FIRN_TRY(replay(op, &backtest, rows, totals));
    firn_json_set(total, "real", side_json(&totals[0]));
    firn_json_set(total, "policy", side_json(&totals[1]));
    firn_json_set(json, "total", total);
    firn_json_set(json, "notes", notes_json(&backtest, args->policy));
    firn_json_set(json, "prices", firn_prices_json(&backtest.prices));
    *out = json;
    return FIRN_OK;
}
