/* Computing partition tuples of rows: one job a partition field turns its source column into codes, a code for every
 * distinct result of the transform; rows with the same codes have the same tuple. */
#include "rewrite/route.h"

#include "base/math.h"
#include "rewrite/column.h"

#define STEP_ROWS_MAX (INT64_C(1) << 18)

struct field_router {
    const struct firn_partition_field *field;
    const struct firn_type *source_type;
    const struct firn_parquet_node *leaf;
    struct firn_type result_type;
    struct firn_column column; /* column.leaf NULL: void, every result is null */
    struct firn_arena arena;   /* results and their keys */
    struct firn_map codes;     /* key of a result to its index in `results` */
    FIRN_ARRAY(struct firn_value) results;
    uint32_t last_code;
    struct firn_buffer key;
    uint32_t *step; /* code of each row of the step */
    int64_t step_row;
};

struct routing {
    struct firn_group_run *run;
    struct firn_route *route;
    struct firn_map tuples; /* key of a tuple to its partition; keys and tuples in the group's arena */
    size_t partition_capacity;
    struct field_router *fields;
    uint32_t field_count;
    struct firn_arena arena;
    struct firn_map combinations; /* codes of all fields to partition */
    struct firn_window window;
    int64_t step_rows;
};

/* The index of a tuple among the route's partitions, added when new. */
static firn_status find_partition(struct firn_op *op, struct routing *routing, const struct firn_partition *tuple,
                                  uint32_t *out)
{
    struct firn_route *route = routing->route;
    struct firn_buffer key = { 0 };
    firn_status status = firn_partition_key(op, tuple, &key);
    struct firn_bytes bytes = firn_bytes_copy(op->arena, firn_buffer_bytes(&key));
    firn_buffer_done(&key);
    FIRN_TRY(status);
    struct firn_map_entry *entry = firn_map_find(&routing->tuples, bytes);
    if (entry) {
        *out = (uint32_t)entry->value.number;
        return FIRN_OK;
    }
    *out = route->partition_count;
    firn_map_put(&routing->tuples, bytes)->value.number = *out;
    if (route->partition_count == routing->partition_capacity)
        route->partitions = firn_array_grow(op->arena, route->partitions, route->partition_count,
                                            &routing->partition_capacity, sizeof *route->partitions);
    route->partitions[route->partition_count++] = firn_partition_copy(op->arena, tuple);
    return FIRN_OK;
}

/* The code of a result, added when new. */
static firn_status find_code(struct firn_op *op, struct field_router *router, const struct firn_value *result,
                             uint32_t *code)
{
    if (router->results.count > 0 && firn_value_same(result, &router->results.items[router->last_code])) {
        *code = router->last_code;
        return FIRN_OK;
    }
    firn_buffer_clear(&router->key);
    FIRN_TRY(firn_value_key(op, result, &router->key));
    struct firn_map_entry *entry = firn_map_find(&router->codes, firn_buffer_bytes(&router->key));
    if (!entry) {
        entry = firn_map_put(&router->codes, firn_bytes_copy(&router->arena, firn_buffer_bytes(&router->key)));
        entry->value.number = router->results.count;
        struct firn_value kept = firn_value_copy(&router->arena, result);
        FIRN_PUSH(&router->arena, &router->results, kept);
    }
    *code = router->last_code = (uint32_t)entry->value.number;
    return FIRN_OK;
}

static firn_status route_vector(struct firn_op *op, void *context, const struct firn_column *column,
                                const struct firn_vector *vector, int64_t row)
{
    struct field_router *router = context;
    uint32_t value_index = 0;
    (void)column;
    for (uint32_t i = 0; i < vector->slot_count; i++) {
        struct firn_value result = { .type = router->result_type.id, .is_null = true };
        if (!vector->def || vector->def[i] == vector->def_max) {
            union firn_values values = vector->indices ? vector->dictionary->values : vector->values;
            size_t index = vector->indices ? vector->indices[value_index] : value_index;
            struct firn_value value = firn_leaf_value(router->leaf, router->source_type, values, index);
            FIRN_TRY(firn_transform_apply(op, &router->field->transform, router->source_type, &value, &result));
            value_index++;
        }
        FIRN_TRY(find_code(op, router, &result, &router->step[row + i]));
    }
    return FIRN_OK;
}

static firn_status route_field(struct firn_op *op, void *context, size_t index)
{
    struct routing *routing = context;
    struct field_router *router = &routing->fields[index];
    const struct firn_column_receiver receiver = { .emit = route_vector, .context = router };
    if (router->column.leaf)
        return firn_column_pull(op, &router->column, &routing->window, routing->step_rows, &receiver);
    struct firn_value null = { .type = router->result_type.id, .is_null = true };
    for (int64_t i = 0; i < routing->step_rows; i++)
        FIRN_TRY(find_code(op, router, &null, &router->step[i]));
    return FIRN_OK;
}

static firn_status init_field(struct firn_op *op, struct routing *routing, uint32_t index)
{
    struct firn_group_run *run = routing->run;
    const struct firn_partition_field *field = &run->spec->fields[index];
    struct field_router *router = &routing->fields[index];
    firn_arena_init(&router->arena);
    firn_map_init(&router->codes, &router->arena);
    router->field = field;
    router->result_type = run->partition_types[index];
    router->step = FIRN_NEW_ARRAY(op->arena, uint32_t, STEP_ROWS_MAX);
    if (field->transform.id == FIRN_TRANSFORM_VOID)
        return FIRN_OK;
    const struct firn_output_leaf *leaf =
        field->source_count == 1 ? firn_output_schema_find(&run->schema, field->source_ids[0]) : NULL;
    if (field->transform.id == FIRN_TRANSFORM_UNKNOWN || !leaf || leaf->repeated)
        return firn_fail(op, FIRN_UNSUPPORTED,
                         "rows cannot be placed in spec %d: its field '%.*s' (%.*s) cannot be computed", run->spec->id,
                         FIRN_FMT(field->name), FIRN_FMT(field->transform.text));
    router->leaf = leaf->node;
    router->source_type = &leaf->field->type;
    router->column = (struct firn_column){ .leaf = leaf, .codec = run->codec };
    return FIRN_OK;
}

/* The partition of a row of the step. */
static firn_status combine_row(struct firn_op *op, struct routing *routing, int64_t row, uint32_t *codes,
                               uint32_t *partition)
{
    size_t len = routing->field_count * sizeof *codes;
    for (uint32_t i = 0; i < routing->field_count; i++)
        codes[i] = routing->fields[i].step[row];
    struct firn_bytes key = { (const uint8_t *)codes, len };
    struct firn_map_entry *entry = firn_map_find(&routing->combinations, key);
    if (!entry) {
        struct firn_partition tuple = {
            .values = FIRN_NEW_ARRAY(&routing->arena, struct firn_value, routing->field_count),
            .count = routing->field_count,
        };
        for (uint32_t i = 0; i < routing->field_count; i++)
            tuple.values[i] = routing->fields[i].results.items[codes[i]];
        FIRN_TRY(find_partition(op, routing, &tuple, partition));
        entry = firn_map_put(&routing->combinations, firn_bytes_copy(&routing->arena, key));
        entry->value.number = *partition;
    }
    *partition = (uint32_t)entry->value.number;
    return FIRN_OK;
}

static bool same_codes(const struct routing *routing, int64_t row)
{
    for (uint32_t i = 0; i < routing->field_count; i++)
        if (routing->fields[i].step[row] != routing->fields[i].step[row - 1])
            return false;
    return true;
}

/* Appends the partitions of the step's rows to the pieces they belong to. */
static firn_status combine_step(struct firn_op *op, struct routing *routing)
{
    const struct firn_window *window = &routing->window;
    uint32_t *codes = FIRN_NEW_ARRAY(op->arena, uint32_t, routing->field_count);
    size_t slice = window->head;
    int64_t slice_row = window->head_row;
    uint32_t partition = 0;
    for (int64_t row = 0; row < routing->step_rows; row++) {
        while (slice_row == window->slices.items[slice].row_count) {
            slice++;
            slice_row = 0;
        }
        if (row == 0 || !same_codes(routing, row))
            FIRN_TRY(combine_row(op, routing, row, codes, &partition));
        struct firn_piece_route *piece = &routing->route->pieces[window->slices.items[slice].piece];
        bool first = piece->rows.len == 0;
        piece->least = first ? partition : FIRN_MIN(piece->least, partition);
        piece->most = first ? partition : FIRN_MAX(piece->most, partition);
        FIRN_TRY(firn_buffer_append(op, &piece->rows, &partition, sizeof partition));
        slice_row++;
    }
    return FIRN_OK;
}

static firn_status route_rows(struct firn_op *op, struct routing *routing)
{
    struct firn_group_run *run = routing->run;
    for (;;) {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_window_fill(op, &routing->window, run->window_bytes));
        routing->step_rows = FIRN_MIN(firn_window_rows(&routing->window), STEP_ROWS_MAX);
        if (routing->step_rows == 0)
            return FIRN_OK;
        FIRN_TRY(firn_pool_run(op, run->context->pool, routing->field_count, 0, route_field, routing));
        FIRN_TRY(combine_step(op, routing));
        firn_window_advance(op, &routing->window, routing->step_rows);
    }
}

/* A piece whose rows all turned out to go to one partition needs no list of them. */
static void simplify(struct firn_route *route)
{
    for (uint32_t i = 0; i < route->piece_count; i++) {
        struct firn_piece_route *piece = &route->pieces[i];
        if (piece->partition != FIRN_ROUTE_BY_ROW)
            continue;
        if (piece->least == piece->most) {
            piece->partition = piece->least;
            firn_buffer_done(&piece->rows);
        } else {
            route->by_row = true;
        }
    }
}

static firn_status route_by_row(struct firn_op *op, struct routing *routing)
{
    struct firn_group_run *run = routing->run;
    routing->field_count = run->spec->field_count;
    routing->fields = FIRN_NEW_ARRAY(op->arena, struct field_router, routing->field_count);
    firn_arena_init(&routing->arena);
    firn_map_init(&routing->combinations, &routing->arena);
    firn_status status = FIRN_OK;
    for (uint32_t i = 0; status == FIRN_OK && i < routing->field_count; i++)
        status = init_field(op, routing, i);
    if (status == FIRN_OK)
        status = route_rows(op, routing);
    for (uint32_t i = 0; i < routing->field_count; i++) {
        firn_column_close(&routing->fields[i].column);
        firn_buffer_done(&routing->fields[i].key);
        firn_arena_done(&routing->fields[i].arena);
    }
    firn_window_close(&routing->window);
    firn_arena_done(&routing->arena);
    return status;
}

static firn_status route_pieces(struct firn_op *op, struct routing *routing, const struct firn_rewrite_bin *bin,
                                bool *counted)
{
    struct firn_group_run *run = routing->run;
    bool unpartitioned = firn_partition_spec_is_unpartitioned(run->spec);
    struct firn_partition nulls = {
        .values = FIRN_NEW_ARRAY(op->arena, struct firn_value, run->spec->field_count),
        .count = run->spec->field_count,
    };
    uint32_t *by_row = FIRN_NEW_ARRAY(op->arena, uint32_t, bin->piece_count);
    uint32_t by_row_count = 0;
    for (uint32_t i = 0; i < nulls.count; i++)
        nulls.values[i] = (struct firn_value){ .type = run->partition_types[i].id, .is_null = true };
    for (uint32_t i = 0; i < bin->piece_count; i++) {
        const struct firn_data_file *file = &run->group->inputs[bin->pieces[i].input];
        struct firn_piece_route *piece = &routing->route->pieces[i];
        piece->partition = FIRN_ROUTE_BY_ROW;
        if (file->spec_id == run->spec->id)
            FIRN_TRY(find_partition(op, routing, &file->partition, &piece->partition));
        else if (unpartitioned)
            FIRN_TRY(find_partition(op, routing, &nulls, &piece->partition));
        else
            by_row[by_row_count++] = i;
    }
    if (by_row_count == 0)
        return FIRN_OK;
    routing->window = (struct firn_window){
        .run = run, .bin = bin, .pieces = by_row, .piece_count = by_row_count, .counted = counted
    };
    return route_by_row(op, routing);
}

firn_status firn_route_new(struct firn_op *op, struct firn_group_run *run, const struct firn_rewrite_bin *bin,
                           bool *counted, struct firn_route *out)
{
    struct routing routing = { .run = run, .route = out };
    *out = (struct firn_route){
        .pieces = FIRN_NEW_ARRAY(op->arena, struct firn_piece_route, bin->piece_count),
        .piece_count = bin->piece_count,
    };
    firn_map_init(&routing.tuples, op->arena);
    firn_status status = route_pieces(op, &routing, bin, counted);
    if (status == FIRN_OK)
        simplify(out);
    else
        firn_route_done(out);
    return status;
}

void firn_route_done(struct firn_route *route)
{
    for (uint32_t i = 0; i < route->piece_count; i++)
        firn_buffer_done(&route->pieces[i].rows);
}
