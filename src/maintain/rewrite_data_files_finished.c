/* Groups that an earlier run finished and could not commit: what is told of one, and finding those that a plan can use
 * as they are. A group is a function of its inputs, the deletes that apply to them, the table's settings and the cut
 * into outputs; where all of these are the same, by a digest of them, so is the result. */
#include "maintain/rewrite_data_files.h"

#include "base/hash.h"
#include "base/map.h"
#include "maintain/branch_plan.h"
#include "maintain/journal.h"
#include "maintain/written_file.h"

/* The digest ----------------------------------------------------------------------------------------------------- */

static struct firn_text hash_text(struct firn_arena *arena, struct firn_hash128 hash)
{
    return firn_text_format(arena, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

/* Everything with its length, so that no two lists of parts give the same bytes. */
static firn_status add_bytes(struct firn_op *op, struct firn_buffer *out, const void *data, size_t len)
{
    uint64_t size = len;
    FIRN_TRY(firn_buffer_append(op, out, &size, sizeof size));
    return firn_buffer_append(op, out, data, len);
}

static firn_status add_text(struct firn_op *op, struct firn_buffer *out, struct firn_text text)
{
    return add_bytes(op, out, text.data, text.len);
}

static firn_status add_numbers(struct firn_op *op, struct firn_buffer *out, const int64_t *numbers, size_t count)
{
    return add_bytes(op, out, numbers, count * sizeof *numbers);
}

/* What of a table's metadata shapes the files written for it. */
static firn_status add_table(struct firn_op *op, struct firn_buffer *out, const struct firn_metadata *metadata)
{
    static const char *const members[] = {
        "format-version",    "table-uuid",     "location",        "schema",      "schemas",
        "current-schema-id", "partition-spec", "partition-specs", "sort-orders", "default-sort-order-id",
        "properties",
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *value = json_object_get(metadata->root, members[i]);
        char *text = value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
        firn_status status = add_text(op, out, firn_text_of(text));
        free(text);
        FIRN_TRY(status);
    }
    return add_text(op, out, FIRN_TEXT(FIRN_VERSION));
}

static firn_status digest_table(struct firn_op *op, const struct firn_metadata *metadata, struct firn_text *out)
{
    struct firn_buffer bytes = { 0 };
    firn_status status = add_table(op, &bytes, metadata);
    *out = hash_text(op->arena, firn_hash128(firn_buffer_bytes(&bytes), 0));
    firn_buffer_done(&bytes);
    return status;
}

/* What digests of delete lists go by. The lists of a partition's files are ends of one array, each as long as its file
 * is old: thousands of files with thousands of deletes are many millions of pairs, but only as many digests as deletes.
 */
struct delete_digests {
    struct firn_map ends;      /* where a list ends, by address, to struct list_end */
    struct firn_buffer *bytes; /* scratch */
};

/* Digests of what stands before an end: that of the last entry, of the last two, and so on. */
struct list_end {
    FIRN_ARRAY(struct firn_hash128) digests;
};

static struct list_end *find_end(struct delete_digests *digests, const struct firn_delete_list *list)
{
    const struct firn_manifest_entry **end = list->items + list->count;
    struct firn_arena *arena = digests->ends.arena;
    struct firn_bytes address = { (const uint8_t *)&end, sizeof end };
    struct firn_map_entry *found = firn_map_find(&digests->ends, address);
    if (!found) {
        found = firn_map_put(&digests->ends, firn_bytes_copy(arena, address));
        found->value.pointer = FIRN_NEW(arena, struct list_end);
    }
    return found->value.pointer;
}

/* An entry, and the digest of those after it. */
static firn_status add_delete(struct firn_op *op, struct firn_buffer *out, const struct firn_manifest_entry *entry,
                              struct firn_hash128 after)
{
    const int64_t numbers[] = { entry->sequence_number, entry->file.content_offset, entry->file.content_bytes,
                                entry->file.file_bytes };
    FIRN_TRY(add_bytes(op, out, &after, sizeof after));
    FIRN_TRY(add_text(op, out, entry->file.path));
    return add_numbers(op, out, numbers, sizeof numbers / sizeof *numbers);
}

static firn_status digest_deletes(struct firn_op *op, struct delete_digests *digests,
                                  const struct firn_delete_list *list, struct firn_hash128 *out)
{
    *out = (struct firn_hash128){ 0 };
    if (list->count == 0)
        return FIRN_OK;
    struct list_end *end = find_end(digests, list);
    while (end->digests.count < list->count) {
        size_t done = end->digests.count;
        struct firn_hash128 after = done > 0 ? end->digests.items[done - 1] : (struct firn_hash128){ 0 };
        firn_buffer_clear(digests->bytes);
        FIRN_TRY(add_delete(op, digests->bytes, list->items[list->count - 1 - done], after));
        FIRN_PUSH(digests->ends.arena, &end->digests, firn_hash128(firn_buffer_bytes(digests->bytes), 0));
    }
    *out = end->digests.items[list->count - 1];
    return FIRN_OK;
}

static firn_status add_deletes(struct firn_op *op, struct firn_buffer *out, struct delete_digests *digests,
                               const struct firn_delete_list *list)
{
    struct firn_hash128 digest;
    FIRN_TRY(digest_deletes(op, digests, list, &digest));
    return add_bytes(op, out, &digest, sizeof digest);
}

static firn_status add_input(struct firn_op *op, struct firn_buffer *out, struct delete_digests *digests,
                             const struct firn_scan_file *scan)
{
    struct firn_buffer key = { 0 };
    const struct firn_data_file *file = &scan->entry->file;
    const int64_t numbers[] = { scan->entry->sequence_number, file->record_count, file->file_bytes, file->first_row_id,
                                file->spec_id };
    FIRN_TRY(add_text(op, out, file->path));
    FIRN_TRY(add_numbers(op, out, numbers, sizeof numbers / sizeof *numbers));
    firn_status status = firn_data_file_partition_key(op, file, &key);
    if (status == FIRN_OK)
        status = add_bytes(op, out, key.data, key.len);
    firn_buffer_done(&key);
    FIRN_TRY(status);
    FIRN_TRY(add_deletes(op, out, digests, &scan->deletes.own));
    FIRN_TRY(add_deletes(op, out, digests, &scan->deletes.wide));
    return add_deletes(op, out, digests, &scan->deletes.equality);
}

static firn_status add_bins(struct firn_op *op, struct firn_buffer *out, const struct firn_planned_group *group)
{
    for (uint32_t i = 0; i < group->bin_count; i++) {
        for (uint32_t j = 0; j < group->bins[i].piece_count; j++) {
            const struct firn_rewrite_piece *piece = &group->bins[i].pieces[j];
            const int64_t numbers[] = { piece->input, (int64_t)piece->offset, (int64_t)piece->length };
            FIRN_TRY(add_numbers(op, out, numbers, sizeof numbers / sizeof *numbers));
        }
        FIRN_TRY(add_numbers(op, out, NULL, 0));
    }
    return FIRN_OK;
}

static firn_status add_inputs(struct firn_op *op, struct firn_buffer *out, const struct firn_rewrite_plan *plan,
                              const struct firn_planned_group *group)
{
    struct firn_arena arena;
    struct firn_buffer bytes = { 0 };
    struct delete_digests digests = { .bytes = &bytes };
    firn_status status = FIRN_OK;
    firn_arena_init(&arena);
    firn_map_init(&digests.ends, &arena);
    for (uint32_t i = 0; i < group->file_count && status == FIRN_OK; i++)
        status = add_input(op, out, &digests, plan->files[group->files[i]].scan);
    firn_buffer_done(&bytes);
    firn_arena_done(&arena);
    return status;
}

static firn_status add_group(struct firn_op *op, struct firn_buffer *out, const struct firn_rewrite_plan *plan,
                             const struct firn_planned_group *group)
{
    const struct firn_rewrite_options *options = &plan->options;
    const int64_t numbers[] = {
        plan->verify_full, options->output_spec_id, firn_output_write_max(&options->sizes), group->file_rows,
        options->layout,   options->forced_rung,    options->var_length_contribution,       options->output_bytes_max
    };
    FIRN_TRY(add_text(op, out, plan->table_digest));
    FIRN_TRY(add_text(op, out, plan->order_text));
    FIRN_TRY(add_numbers(op, out, numbers, sizeof numbers / sizeof *numbers));
    FIRN_TRY(add_inputs(op, out, plan, group));
    return add_bins(op, out, group);
}

static firn_status digest_group(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                const struct firn_planned_group *group, struct firn_text *out)
{
    struct firn_buffer bytes = { 0 };
    firn_status status = add_group(op, &bytes, plan, group);
    *out = hash_text(op->arena, firn_hash128(firn_buffer_bytes(&bytes), 0));
    firn_buffer_done(&bytes);
    return status;
}

/* Telling -------------------------------------------------------------------------------------------------------- */

/* Members of a result that are numbers, under the same names. */
#define NUMBER(member)                                                                                                 \
    {                                                                                                                  \
#member, offsetof(struct firn_rewrite_result, member)                                                          \
    }
static const struct {
    const char *key;
    size_t offset; /* of 8 bytes */
} numbers_of_result[] = { NUMBER(rows_in), NUMBER(rows_deleted), NUMBER(rows_out), NUMBER(bytes_in),
                          NUMBER(bytes_out) };
#undef NUMBER
enum { RESULT_NUMBERS = sizeof numbers_of_result / sizeof *numbers_of_result };

static json_t *fingerprints_json(struct firn_arena *arena, const struct firn_rewrite_result *result)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < result->fingerprint_count; i++) {
        const struct firn_fingerprint *print = &result->fingerprints[i];
        json_t *item = json_object();
        firn_json_set_i64(item, "field_id", print->field_id);
        firn_json_set_text(item, "sum", hash_text(arena, print->sum));
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *header_json(struct firn_arena *arena, const struct firn_planned_group *group, struct firn_text digest,
                           const struct firn_rewrite_result *result)
{
    json_t *header = json_object();
    firn_json_set_text(header, "digest", digest);
    firn_json_set_i64(header, "input_files", group->file_count);
    firn_json_set_i64(header, "input_bytes", group->bytes);
    firn_json_set_i64(header, "output_files", result->file_count);
    for (size_t i = 0; i < RESULT_NUMBERS; i++) {
        int64_t value;
        memcpy(&value, (const char *)result + numbers_of_result[i].offset, sizeof value);
        firn_json_set_i64(header, numbers_of_result[i].key, value);
    }
    firn_json_set(header, "fingerprints", fingerprints_json(arena, result));
    return header;
}

static void add_line(json_t *lines, const char *key, json_t *value)
{
    json_t *line = json_object();
    firn_json_set(line, key, value);
    json_array_append_new(lines, line);
}

firn_status firn_rewrite_finished_tell(struct firn_op *op, struct firn_journal *journal,
                                       const struct firn_rewrite_plan *plan, const struct firn_planned_group *group,
                                       const struct firn_rewrite_result *result)
{
    struct firn_text digest;
    json_t *lines = firn_json_own(op->arena, json_array());
    if (!journal)
        return FIRN_OK;
    FIRN_TRY(digest_group(op, plan, group, &digest));
    for (uint32_t i = 0; i < group->file_count; i++)
        add_line(lines, "input", firn_json_string(plan->files[group->files[i]].scan->entry->file.path));
    for (uint32_t i = 0; i < result->file_count; i++)
        add_line(lines, "output", firn_written_file_json(op->arena, &result->files[i]));
    return firn_journal_group(op, journal, header_json(op->arena, group, digest, result), lines);
}

/* Finding -------------------------------------------------------------------------------------------------------- */

struct reading {
    struct firn_arena *arena; /* keeps what is read */
    const struct firn_rewrite_plan *plan;
    FIRN_ARRAY(struct firn_text) inputs;
    FIRN_ARRAY(struct firn_data_file) outputs;
};

static firn_status take_line(struct firn_op *op, void *context, const json_t *line)
{
    struct reading *reading = context;
    struct firn_op keeping = *op;
    struct firn_text input;
    bool is_input = false;
    keeping.arena = reading->arena;
    FIRN_TRY(firn_json_find_text(op, line, "input", "group", &input, &is_input));
    if (is_input) {
        FIRN_PUSH(keeping.arena, &reading->inputs, firn_text_copy(keeping.arena, input));
        return FIRN_OK;
    }
    struct firn_data_file file;
    firn_status status = firn_written_file_parse(&keeping, reading->plan->metadata, reading->plan->spec_types,
                                                 json_object_get(line, "output"), &file);
    op->error = keeping.error;
    FIRN_TRY(status);
    FIRN_PUSH(keeping.arena, &reading->outputs, file);
    return FIRN_OK;
}

static firn_status parse_fingerprints(struct firn_op *op, const json_t *header, struct firn_rewrite_result *out)
{
    enum { SUM_DIGITS = 32 };
    json_t *list;
    struct firn_text sum;
    struct firn_bytes bytes;
    FIRN_TRY(firn_json_need_array(op, header, "fingerprints", "group", &list));
    out->fingerprint_count = (uint32_t)json_array_size(list);
    out->fingerprints = FIRN_NEW_ARRAY(op->arena, struct firn_fingerprint, out->fingerprint_count);
    for (uint32_t i = 0; i < out->fingerprint_count; i++) {
        struct firn_fingerprint *print = &out->fingerprints[i];
        FIRN_TRY(firn_json_need_i32(op, json_array_get(list, i), "field_id", "fingerprint", &print->field_id));
        FIRN_TRY(firn_json_need_text(op, json_array_get(list, i), "sum", "fingerprint", &sum));
        if (sum.len != SUM_DIGITS || !firn_hex_parse(op->arena, sum, &bytes))
            return firn_fail(op, FIRN_CORRUPT, "fingerprint '%.*s' is none", FIRN_FMT(sum));
        for (size_t k = 0; k < 8; k++) {
            print->sum.high = print->sum.high << 8 | bytes.data[k];
            print->sum.low = print->sum.low << 8 | bytes.data[8 + k];
        }
    }
    return FIRN_OK;
}

static firn_status parse_result(struct firn_op *op, const json_t *header, struct firn_rewrite_result *out)
{
    for (size_t i = 0; i < RESULT_NUMBERS; i++) {
        int64_t value;
        FIRN_TRY(firn_json_need_i64(op, header, numbers_of_result[i].key, "group", &value));
        memcpy((char *)out + numbers_of_result[i].offset, &value, sizeof value);
    }
    return parse_fingerprints(op, header, out);
}

static firn_status read_group(struct firn_op *op, struct firn_store *store, const struct firn_rewrite_plan *plan,
                              const struct firn_run *run, const struct firn_run_event *event,
                              struct firn_finished_group *out)
{
    json_t *header;
    struct reading reading = { .arena = op->arena, .plan = plan };
    *out = (struct firn_finished_group){ .run_id = run->id };
    FIRN_TRY(firn_json_need_text(op, event->json, "digest", "group", &out->digest));
    FIRN_TRY(parse_result(op, event->json, &out->result));
    FIRN_TRY(firn_event_read(op, store, event->location, &header, take_line, &reading));
    out->inputs = reading.inputs.items;
    out->input_count = (uint32_t)reading.inputs.count;
    out->result.files = reading.outputs.items;
    out->result.file_count = (uint32_t)reading.outputs.count;
    return FIRN_OK;
}

/* What cannot be read is no offer. */
firn_status firn_rewrite_finished_read(struct firn_op *op, const struct firn_table *table,
                                       struct firn_rewrite_plan *plan)
{
    struct firn_runs runs;
    FIRN_ARRAY(struct firn_finished_group) found = { 0 };
    FIRN_TRY(digest_table(op, plan->metadata, &plan->table_digest));
    FIRN_TRY(firn_runs_read(op, table, &runs));
    for (size_t i = 0; i < runs.count; i++) {
        const struct firn_run *run = &runs.items[i];
        for (size_t k = 0; k < run->groups.count; k++) {
            struct firn_finished_group group;
            if (!firn_run_offers_group(run, &run->groups.items[k], firn_now_ms(op)))
                continue;
            firn_status status = read_group(op, table->store, plan, run, &run->groups.items[k], &group);
            if (status == FIRN_OK)
                FIRN_PUSH(op->arena, &found, group);
            else if (status != FIRN_CORRUPT && status != FIRN_NOT_FOUND)
                return status;
        }
    }
    plan->finished = found.items;
    plan->finished_count = (uint32_t)found.count;
    return FIRN_OK;
}

/* The places of the inputs in the plan; false when one is not there, or is in a finished group already. */
static bool find_inputs(struct firn_op *op, const struct firn_rewrite_plan *plan, const struct firn_map *paths,
                        const struct firn_finished_group *finished, struct firn_planned_group *group)
{
    group->files = FIRN_NEW_ARRAY(op->arena, uint32_t, finished->input_count);
    for (uint32_t i = 0; i < finished->input_count; i++) {
        const struct firn_map_entry *entry = firn_map_find_text(paths, finished->inputs[i]);
        if (!entry || plan->files[entry->value.number].group != FIRN_NO_GROUP)
            return false;
        group->files[group->file_count++] = (uint32_t)entry->value.number;
        int64_t bytes = plan->files[entry->value.number].scan->entry->file.file_bytes;
        group->bytes += bytes > 0 ? bytes : 0;
    }
    return group->file_count > 0;
}

firn_status firn_rewrite_finished_match(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                        const struct firn_map *candidates, const struct firn_finished_group *finished,
                                        struct firn_planned_group *out, bool *matches)
{
    struct firn_text digest;
    *matches = false;
    *out = (struct firn_planned_group){ .verdict = FIRN_GROUP_CHOSEN, .finished = finished };
    if (!find_inputs(op, plan, candidates, finished, out))
        return FIRN_OK;
    FIRN_TRY(firn_rewrite_plan_bins(op, plan, out));
    FIRN_TRY(digest_group(op, plan, out, &digest));
    *matches = firn_text_same(digest, finished->digest);
    return FIRN_OK;
}

firn_status firn_rewrite_finished_check(struct firn_op *op, struct firn_store *store,
                                        const struct firn_finished_group *finished, bool *is_there)
{
    *is_there = true;
    for (uint32_t i = 0; *is_there && i < finished->result.file_count; i++) {
        const struct firn_data_file *file = &finished->result.files[i];
        struct firn_store_stat info;
        firn_status status = firn_store_stat(op, store, file->path, &info);
        if (status != FIRN_OK && status != FIRN_NOT_FOUND)
            return status;
        *is_there = status == FIRN_OK && info.size == (uint64_t)file->file_bytes;
    }
    return FIRN_OK;
}
