/* Reading Avro records into structs: a writer's schema is compiled against a layout once, then rows are decoded by
 * walking the steps. */
#include "format/avro/layout.h"

#include "base/utf8.h"

/* No list or map of a row may have more items: far more columns than any table, and no bomb. */
enum { LIST_ITEMS_MAX = 1 << 24 };

enum step_kind {
    STEP_SKIP,   /* the writer's value is not wanted */
    STEP_NULL,   /* takes no bytes, leaves the member alone */
    STEP_FAIL,   /* a null where the column needs a value */
    STEP_UNION,  /* steps: one a branch */
    STEP_RECORD, /* steps: one a field */
    STEP_BOOL,
    STEP_FLAG,
    STEP_I32,
    STEP_I64,
    STEP_TEXT,
    STEP_BYTES,
    STEP_I32_LIST,
    STEP_I64_LIST,
    STEP_I64_MAP,
    STEP_BYTES_MAP,
    STEP_RECORD_LIST,
    STEP_SCALAR,
};

struct step {
    enum step_kind kind;
    const struct firn_avro_type *type;     /* the writer's */
    const struct firn_avro_column *column; /* NULL for STEP_SKIP and parts of maps and lists */
    size_t offset;                         /* of the member */
    struct step *steps;                    /* UNION, RECORD; of one item: lists and maps */
    uint32_t step_count;
    bool plain_pairs; /* maps: each item is exactly an int or long, then the value, without unions */
};

struct firn_avro_plan {
    struct step root;
};

/* One item of a map, decoded before it is split into its columns. */
struct map_item {
    int32_t key;
    int64_t number;
    struct firn_bytes bytes;
};

/* Compiling ---------------------------------------------------------------------------------------------------- */

static firn_status compile(struct firn_op *op, const struct firn_avro_column *column, const struct firn_avro_type *type,
                           struct step *step);

static firn_status fail_type(struct firn_op *op, const struct firn_avro_column *column,
                             const struct firn_avro_type *type)
{
    return firn_fail(op, FIRN_CORRUPT, "field %d (%.*s) has the avro type %s, which does not fit", column->id,
                     FIRN_FMT(column->name), firn_avro_kind_name(type->kind));
}

static const struct firn_avro_column *find_column(const struct firn_avro_layout *layout,
                                                  const struct firn_avro_field *field)
{
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct firn_avro_column *column = &layout->columns[i];
        if (field->id != FIRN_AVRO_NO_ID ? column->id == field->id : firn_text_same(column->name, field->name))
            return column;
    }
    return NULL;
}

static firn_status check_required(struct firn_op *op, const struct firn_avro_layout *layout, const bool *bound)
{
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct firn_avro_column *column = &layout->columns[i];
        if (!bound[i] && !column->optional)
            return firn_fail(op, FIRN_CORRUPT, "the avro schema has no field %d (%.*s)", column->id,
                             FIRN_FMT(column->name));
    }
    return FIRN_OK;
}

/* A field that a second one repeats is skipped: the first one wins. */
static firn_status compile_record(struct firn_op *op, const struct firn_avro_layout *layout,
                                  const struct firn_avro_type *type, struct step *step)
{
    bool *bound = FIRN_NEW_ARRAY(op->arena, bool, layout->column_count);
    step->kind = STEP_RECORD;
    step->step_count = type->field_count;
    step->steps = FIRN_NEW_ARRAY(op->arena, struct step, type->field_count);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct firn_avro_column *column = find_column(layout, &type->fields[i]);
        if (!column || bound[column - layout->columns]) {
            step->steps[i] = (struct step){ .kind = STEP_SKIP, .type = type->fields[i].type };
            continue;
        }
        bound[column - layout->columns] = true;
        FIRN_TRY(compile(op, column, type->fields[i].type, &step->steps[i]));
    }
    return check_required(op, layout, bound);
}

static firn_status compile_union(struct firn_op *op, const struct firn_avro_column *column,
                                 const struct firn_avro_type *type, struct step *step)
{
    step->kind = STEP_UNION;
    step->step_count = type->branch_count;
    step->steps = FIRN_NEW_ARRAY(op->arena, struct step, type->branch_count);
    for (uint32_t i = 0; i < type->branch_count; i++)
        FIRN_TRY(compile(op, column, type->branches[i], &step->steps[i]));
    return FIRN_OK;
}

static bool is_integer(const struct firn_avro_type *type)
{
    return type->kind == FIRN_AVRO_INT || type->kind == FIRN_AVRO_LONG;
}

static bool is_bytes(const struct firn_avro_type *type)
{
    return type->kind == FIRN_AVRO_BYTES || type->kind == FIRN_AVRO_STRING || type->kind == FIRN_AVRO_FIXED;
}

/* The records of an array. Writers exist that wrap them in a union with null; a null among them is an error. */
static firn_status compile_items(struct firn_op *op, const struct firn_avro_column *column,
                                 const struct firn_avro_layout *record, const struct firn_avro_type *item,
                                 struct step *step)
{
    if (item->kind == FIRN_AVRO_RECORD)
        return compile_record(op, record, item, step);
    if (item->kind != FIRN_AVRO_UNION)
        return fail_type(op, column, item);
    step->kind = STEP_UNION;
    step->step_count = item->branch_count;
    step->steps = FIRN_NEW_ARRAY(op->arena, struct step, item->branch_count);
    for (uint32_t i = 0; i < item->branch_count; i++) {
        step->steps[i].kind = STEP_FAIL;
        if (item->branches[i]->kind != FIRN_AVRO_NULL)
            FIRN_TRY(compile_items(op, column, record, item->branches[i], &step->steps[i]));
    }
    return FIRN_OK;
}

/* Maps with int keys are arrays of records of two fields; the logical type "map" is not insisted on. */
static firn_status compile_map(struct firn_op *op, const struct firn_avro_column *column,
                               const struct firn_avro_type *type, struct step *step)
{
    bool of_bytes = column->member == FIRN_AVRO_MEMBER_BYTES_MAP;
    struct firn_avro_column *parts = FIRN_NEW_ARRAY(op->arena, struct firn_avro_column, 2);
    parts[0] = (struct firn_avro_column){ .id = column->key_id,
                                          .name = FIRN_TEXT("key"),
                                          .member = FIRN_AVRO_MEMBER_I32,
                                          .offset = offsetof(struct map_item, key) };
    parts[1] = (struct firn_avro_column){
        .id = column->value_id,
        .name = FIRN_TEXT("value"),
        .member = of_bytes ? FIRN_AVRO_MEMBER_BYTES : FIRN_AVRO_MEMBER_I64,
        .offset = of_bytes ? offsetof(struct map_item, bytes) : offsetof(struct map_item, number),
    };
    struct firn_avro_layout item = { .columns = parts, .column_count = 2 };
    step->kind = of_bytes ? STEP_BYTES_MAP : STEP_I64_MAP;
    FIRN_TRY(compile_items(op, column, &item, type->item, step->steps));

    const struct step *fields = step->steps->steps;
    step->plain_pairs = step->steps->kind == STEP_RECORD && step->steps->step_count == 2 &&
                        fields[0].kind == STEP_I32 && (fields[1].kind == STEP_I64 || fields[1].kind == STEP_BYTES);
    return FIRN_OK;
}

static firn_status compile_list(struct firn_op *op, const struct firn_avro_column *column,
                                const struct firn_avro_type *type, struct step *step)
{
    struct firn_avro_column *item = FIRN_NEW(op->arena, struct firn_avro_column);
    *item = (struct firn_avro_column){ .id = column->element_id, .name = column->name, .member = FIRN_AVRO_MEMBER_I64 };
    step->kind = column->member == FIRN_AVRO_MEMBER_I32_LIST ? STEP_I32_LIST : STEP_I64_LIST;
    return compile(op, item, type->item, step->steps);
}

/* Members that hold several values; their one step decodes an item. */
static firn_status compile_several(struct firn_op *op, const struct firn_avro_column *column,
                                   const struct firn_avro_type *type, struct step *step)
{
    if (type->kind != FIRN_AVRO_ARRAY)
        return fail_type(op, column, type);
    step->steps = FIRN_NEW(op->arena, struct step);
    step->step_count = 1;
    switch (column->member) {
    case FIRN_AVRO_MEMBER_I32_LIST:
    case FIRN_AVRO_MEMBER_I64_LIST:
        return compile_list(op, column, type, step);
    case FIRN_AVRO_MEMBER_RECORD_LIST:
        step->kind = STEP_RECORD_LIST;
        return compile_items(op, column, column->record, type->item, step->steps);
    default:
        return compile_map(op, column, type, step);
    }
}

static bool is_primitive(const struct firn_avro_type *type)
{
    return type->kind <= FIRN_AVRO_FIXED;
}

/* Members that hold one value: the step of each, and which of the writer's types it takes. */
static firn_status compile_single(struct firn_op *op, const struct firn_avro_column *column,
                                  const struct firn_avro_type *type, struct step *step)
{
    static const struct {
        enum step_kind kind;
        bool (*takes)(const struct firn_avro_type *type);
    } singles[] = {
        [FIRN_AVRO_MEMBER_FLAG] = { STEP_FLAG, is_integer },
        [FIRN_AVRO_MEMBER_I32] = { STEP_I32, is_integer },
        [FIRN_AVRO_MEMBER_I64] = { STEP_I64, is_integer },
        [FIRN_AVRO_MEMBER_I64_INT] = { STEP_I64, is_integer },
        [FIRN_AVRO_MEMBER_TEXT] = { STEP_TEXT, is_bytes },
        [FIRN_AVRO_MEMBER_BYTES] = { STEP_BYTES, is_bytes },
        [FIRN_AVRO_MEMBER_SCALAR] = { STEP_SCALAR, is_primitive },
    };
    step->kind = singles[column->member].kind;
    return singles[column->member].takes(type) ? FIRN_OK : fail_type(op, column, type);
}

static firn_status compile(struct firn_op *op, const struct firn_avro_column *column, const struct firn_avro_type *type,
                           struct step *step)
{
    *step = (struct step){ .type = type, .column = column, .offset = column->offset };
    if (type->kind == FIRN_AVRO_UNION)
        return compile_union(op, column, type, step);
    if (type->kind == FIRN_AVRO_NULL) {
        step->kind = column->optional ? STEP_NULL : STEP_FAIL;
        return FIRN_OK;
    }
    switch (column->member) {
    case FIRN_AVRO_MEMBER_BOOL:
        step->kind = STEP_BOOL;
        return type->kind == FIRN_AVRO_BOOLEAN ? FIRN_OK : fail_type(op, column, type);
    case FIRN_AVRO_MEMBER_I32_LIST:
    case FIRN_AVRO_MEMBER_I64_LIST:
    case FIRN_AVRO_MEMBER_I64_MAP:
    case FIRN_AVRO_MEMBER_BYTES_MAP:
    case FIRN_AVRO_MEMBER_RECORD_LIST:
        return compile_several(op, column, type, step);
    case FIRN_AVRO_MEMBER_RECORD:
        return type->kind == FIRN_AVRO_RECORD ? compile_record(op, column->record, type, step)
                                              : fail_type(op, column, type);
    default:
        return compile_single(op, column, type, step);
    }
}

firn_status firn_avro_plan_new(struct firn_op *op, const struct firn_avro_type *writer,
                               const struct firn_avro_layout *layout, const struct firn_avro_plan **out)
{
    struct firn_avro_plan *plan = FIRN_NEW(op->arena, struct firn_avro_plan);
    *out = plan;
    if (writer->kind != FIRN_AVRO_RECORD)
        return firn_fail(op, FIRN_CORRUPT, "the avro schema is a %s where a record is needed",
                         firn_avro_kind_name(writer->kind));
    return compile_record(op, layout, writer, &plan->root);
}

/* Decoding ----------------------------------------------------------------------------------------------------- */

static void decode(struct firn_avro_decoder *decoder, const struct step *step, char *row);

static struct firn_bytes take_kept_bytes(struct firn_avro_decoder *decoder, const struct firn_avro_type *type)
{
    struct firn_bytes bytes =
        type->kind == FIRN_AVRO_FIXED ? firn_take_bytes(&decoder->in, type->size) : firn_avro_take_bytes(&decoder->in);
    return decoder->copy ? firn_bytes_copy(decoder->arena, bytes) : bytes;
}

static void set_present(const struct firn_avro_column *column, char *row)
{
    if (column && column->present_offset)
        *(bool *)(row + column->present_offset) = true;
}

/* Room for `count` items at `*items`, which hold `used` already. Blocks of one array are rare, so each gets new room.
 */
static void *grow(struct firn_avro_decoder *decoder, const void *items, size_t used, size_t count, size_t item_bytes)
{
    char *room = firn_arena_alloc_array(decoder->arena, used + count, item_bytes);
    if (used)
        memcpy(room, items, used * item_bytes);
    return room;
}

/* The next block of a list that has `used` items. */
static uint32_t take_list_block(struct firn_avro_decoder *decoder, const struct step *step, uint32_t used)
{
    int64_t block_bytes;
    uint64_t count = firn_avro_take_block(&decoder->in, step->type->item->min_bytes, 0, &block_bytes);
    if (count > LIST_ITEMS_MAX - used) {
        firn_cursor_fail(&decoder->in, "has a list of more items than firn takes");
        return 0;
    }
    return (uint32_t)count;
}

static int64_t take_list_item(struct firn_avro_decoder *decoder, const struct step *item)
{
    int64_t value = 0;
    if (item->kind == STEP_I64)
        return firn_avro_take_long(&decoder->in);
    decode(decoder, item, (char *)&value);
    return value;
}

static void decode_i32_list(struct firn_avro_decoder *decoder, const struct step *step, char *row)
{
    int32_t *items = firn_arena_alloc(decoder->arena, 0);
    uint32_t used = 0;
    for (uint32_t count; (count = take_list_block(decoder, step, used));) {
        items = grow(decoder, items, used, count, sizeof *items);
        for (; count > 0; count--) {
            int64_t value = take_list_item(decoder, step->steps);
            if (value != (int32_t)value)
                firn_cursor_fail(&decoder->in, "has a list item beyond 32 bits");
            items[used++] = (int32_t)value;
        }
    }
    memcpy(row + step->offset, &items, sizeof items);
    *(uint32_t *)(row + step->column->count_offset) = used;
}

static void decode_i64_list(struct firn_avro_decoder *decoder, const struct step *step, char *row)
{
    int64_t *items = firn_arena_alloc(decoder->arena, 0);
    uint32_t used = 0;
    for (uint32_t count; (count = take_list_block(decoder, step, used));) {
        items = grow(decoder, items, used, count, sizeof *items);
        for (; count > 0; count--)
            items[used++] = take_list_item(decoder, step->steps);
    }
    memcpy(row + step->offset, &items, sizeof items);
    *(uint32_t *)(row + step->column->count_offset) = used;
}

static void decode_i64_map(struct firn_avro_decoder *decoder, const struct step *step, char *row)
{
    int32_t *keys = NULL;
    int64_t *values = NULL;
    uint32_t used = 0;
    for (uint32_t count; (count = take_list_block(decoder, step, used));) {
        keys = grow(decoder, keys, used, count, sizeof *keys);
        values = grow(decoder, values, used, count, sizeof *values);
        for (; count > 0; count--, used++) {
            struct map_item item = { 0 };
            if (step->plain_pairs) {
                item.key = firn_avro_take_int(&decoder->in);
                item.number = firn_avro_take_long(&decoder->in);
            } else {
                decode(decoder, step->steps, (char *)&item);
            }
            keys[used] = item.key;
            values[used] = item.number;
        }
    }
    memcpy(row + step->offset, &keys, sizeof keys);
    memcpy(row + step->column->values_offset, &values, sizeof values);
    *(uint32_t *)(row + step->column->count_offset) = used;
    set_present(step->column, row);
}

static void decode_bytes_map(struct firn_avro_decoder *decoder, const struct step *step, char *row)
{
    int32_t *keys = NULL;
    struct firn_bytes *values = NULL;
    uint32_t used = 0;
    for (uint32_t count; (count = take_list_block(decoder, step, used));) {
        keys = grow(decoder, keys, used, count, sizeof *keys);
        values = grow(decoder, values, used, count, sizeof *values);
        for (; count > 0; count--, used++) {
            struct map_item item = { 0 };
            if (step->plain_pairs) {
                item.key = firn_avro_take_int(&decoder->in);
                item.bytes = take_kept_bytes(decoder, step->steps->steps[1].type);
            } else {
                decode(decoder, step->steps, (char *)&item);
            }
            keys[used] = item.key;
            values[used] = item.bytes;
        }
    }
    memcpy(row + step->offset, &keys, sizeof keys);
    memcpy(row + step->column->values_offset, &values, sizeof values);
    *(uint32_t *)(row + step->column->count_offset) = used;
    set_present(step->column, row);
}

static void decode_record_list(struct firn_avro_decoder *decoder, const struct step *step, char *row)
{
    size_t item_bytes = step->column->record->item_bytes;
    char *items = NULL;
    uint32_t used = 0;
    for (uint32_t count; (count = take_list_block(decoder, step, used));) {
        items = grow(decoder, items, used, count, item_bytes);
        for (; count > 0 && !decoder->in.failure; count--)
            decode(decoder, step->steps, items + item_bytes * used++);
    }
    memcpy(row + step->offset, &items, sizeof items);
    *(uint32_t *)(row + step->column->count_offset) = used;
    set_present(step->column, row);
}

static void decode_scalar(struct firn_avro_decoder *decoder, const struct step *step, struct firn_avro_scalar *out)
{
    out->type = step->type;
    switch (step->type->kind) {
    case FIRN_AVRO_BOOLEAN:
        out->integer = firn_avro_take_boolean(&decoder->in);
        return;
    case FIRN_AVRO_INT:
        out->integer = firn_avro_take_int(&decoder->in);
        return;
    case FIRN_AVRO_LONG:
        out->integer = firn_avro_take_long(&decoder->in);
        return;
    case FIRN_AVRO_FLOAT:
        out->real = (double)firn_avro_take_float(&decoder->in);
        return;
    case FIRN_AVRO_DOUBLE:
        out->real = firn_avro_take_double(&decoder->in);
        return;
    default: /* bytes, string, fixed: nothing else passes is_primitive */
        out->bytes = take_kept_bytes(decoder, step->type);
        return;
    }
}

static void decode_flag(struct firn_avro_decoder *decoder, bool *out)
{
    int64_t value = firn_avro_take_long(&decoder->in);
    if (value != 0 && value != 1)
        firn_cursor_fail(&decoder->in, "has a flag that is neither 0 nor 1");
    *out = value == 1;
}

static void decode_steps(struct firn_avro_decoder *decoder, const struct step *step, char *row)
{
    for (uint32_t i = 0; i < step->step_count && !decoder->in.failure; i++)
        decode(decoder, &step->steps[i], row);
}

static void decode(struct firn_avro_decoder *decoder, const struct step *step, char *row)
{
    struct firn_cursor *in = &decoder->in;
    char *member = row + step->offset;
    switch (step->kind) {
    case STEP_SKIP:
        firn_avro_skip(in, step->type, 0);
        return;
    case STEP_NULL:
        return;
    case STEP_FAIL:
        firn_cursor_fail(in, "has a null in a field that must have a value");
        return;
    case STEP_UNION:
        decode(decoder, &step->steps[firn_avro_take_index(in, step->step_count)], row);
        return;
    case STEP_RECORD:
        decode_steps(decoder, step, row);
        return;
    case STEP_BOOL:
        *(bool *)member = firn_avro_take_boolean(in);
        set_present(step->column, row);
        return;
    case STEP_FLAG:
        decode_flag(decoder, (bool *)member);
        return;
    case STEP_I32:
        *(int32_t *)member = firn_avro_take_int(in);
        return;
    case STEP_I64:
        *(int64_t *)member = firn_avro_take_long(in);
        return;
    case STEP_TEXT:
        *(struct firn_text *)member = firn_text_of_bytes(take_kept_bytes(decoder, step->type));
        if (!firn_text_is_utf8(*(const struct firn_text *)member))
            firn_cursor_fail(in, "text that is not UTF-8");
        return;
    case STEP_BYTES:
        *(struct firn_bytes *)member = take_kept_bytes(decoder, step->type);
        return;
    case STEP_I32_LIST:
        decode_i32_list(decoder, step, row);
        return;
    case STEP_I64_LIST:
        decode_i64_list(decoder, step, row);
        return;
    case STEP_I64_MAP:
        decode_i64_map(decoder, step, row);
        return;
    case STEP_BYTES_MAP:
        decode_bytes_map(decoder, step, row);
        return;
    case STEP_RECORD_LIST:
        decode_record_list(decoder, step, row);
        return;
    case STEP_SCALAR:
        decode_scalar(decoder, step, (struct firn_avro_scalar *)member);
        return;
    }
}

void firn_avro_plan_decode(const struct firn_avro_plan *plan, struct firn_avro_decoder *decoder, void *row)
{
    decode(decoder, &plan->root, row);
}
