/* Walking the rows of a step: along row groups, within them along stretches without deletes, and along rows of one
 * partition. */
#include "rewrite/selection.h"

#include "base/math.h"
#include "rewrite/row_map.h"

#define DELETED_READ_MAX 256

void firn_selection_init(struct firn_op *op, struct firn_selection *selection)
{
    selection->lists = FIRN_NEW_ARRAY(op->arena, struct firn_row_list, (size_t)selection->output_count + 1);
}

void firn_selection_done(struct firn_selection *selection)
{
    for (uint32_t i = 0; selection->lists && i <= selection->output_count; i++)
        firn_buffer_done(&selection->lists[i].ranges);
}

static struct firn_row_range *ranges_of(const struct firn_row_list *list, size_t *count)
{
    *count = list->ranges.len / sizeof(struct firn_row_range);
    return (struct firn_row_range *)(void *)list->ranges.data;
}

static firn_status list_rows(struct firn_op *op, struct firn_row_list *list, int64_t row, int64_t count)
{
    struct firn_row_range added = { (uint32_t)row, (uint32_t)count };
    size_t range_count;
    struct firn_row_range *ranges = ranges_of(list, &range_count);
    list->row_count += count;
    if (range_count > 0 && ranges[range_count - 1].first + ranges[range_count - 1].count == added.first) {
        ranges[range_count - 1].count += added.count;
        return FIRN_OK;
    }
    return firn_buffer_append(op, &list->ranges, &added, sizeof added);
}

/* Rows of a slice that lie side by side. */
struct stretch {
    const struct firn_row_slice *slice;
    int64_t slice_row; /* the first, in the slice */
    int64_t row;       /* and in the step */
    int64_t count;
};

static firn_status leave_out(struct firn_op *op, struct firn_selection *selection, const struct stretch *stretch)
{
    if (!selection->with_left_out)
        return FIRN_OK;
    return list_rows(op, &selection->lists[selection->output_count], stretch->row, stretch->count);
}

/* Gives a stretch to the rows to be sorted. */
static firn_status give_to_sort(struct firn_op *op, struct firn_selection *selection, const struct stretch *stretch,
                                uint32_t partition)
{
    const struct firn_sort_target *target = selection->sorting;
    target->partition_rows[partition] += stretch->count;
    for (int64_t i = 0; i < stretch->count && selection->route->partition_count > 1; i++)
        FIRN_TRY(firn_buffer_append(op, target->partitions, &partition, sizeof partition));
    return list_rows(op, &selection->lists[0], stretch->row, stretch->count);
}

/* Gives a stretch to the output of its partition, or to none when this pass does not write it. */
static firn_status give(struct firn_op *op, struct firn_selection *selection, const struct stretch *stretch,
                        uint32_t partition)
{
    if (selection->sorting)
        return give_to_sort(op, selection, stretch, partition);
    if (partition < selection->first_partition || partition - selection->first_partition >= selection->output_count)
        return leave_out(op, selection, stretch);
    uint32_t index = partition - selection->first_partition;
    struct firn_output *output = &selection->outputs[index];
    firn_row_mapper_add(op, selection->run->row_mapper,
                        (struct firn_row_run){
                            .input = stretch->slice->input_index,
                            .output = firn_output_number(output),
                            .input_row = stretch->slice->first_row + stretch->slice_row,
                            .output_row = output->file_rows + output->row_group_rows,
                            .row_count = stretch->count,
                        });
    output->row_group_rows += stretch->count;
    return list_rows(op, &selection->lists[index], stretch->row, stretch->count);
}

static firn_status place_live(struct firn_op *op, struct firn_selection *selection, struct stretch stretch)
{
    const struct firn_piece_route *piece = &selection->route->pieces[stretch.slice->piece];
    if (piece->partition != FIRN_ROUTE_BY_ROW)
        return give(op, selection, &stretch, piece->partition);
    const uint32_t *partitions = (const uint32_t *)(const void *)piece->rows.data;
    partitions += stretch.slice->piece_row + stretch.slice_row;
    for (int64_t i = 0, end; i < stretch.count; i = end) {
        for (end = i + 1; end < stretch.count && partitions[end] == partitions[i];)
            end++;
        struct stretch same = { stretch.slice, stretch.slice_row + i, stretch.row + i, end - i };
        FIRN_TRY(give(op, selection, &same, partitions[i]));
    }
    return FIRN_OK;
}

/* The deleted rows of a slice, one after the other; positions are those of the file. */
struct deleted_rows {
    const struct firn_positions *positions; /* NULL: none */
    int64_t end;                            /* of what is looked at */
    int64_t read[DELETED_READ_MAX];
    size_t at, count; /* in `read` */
};

/* The first deleted row at or after `from`, or the end. `from` does not go back. */
static int64_t next_deleted(struct deleted_rows *rows, int64_t from)
{
    for (;;) {
        while (rows->at < rows->count && rows->read[rows->at] < from)
            rows->at++;
        if (rows->at < rows->count)
            return FIRN_MIN(rows->read[rows->at], rows->end);
        rows->at = 0;
        rows->count = rows->positions ? firn_positions_read(rows->positions, from, rows->read, DELETED_READ_MAX) : 0;
        if (rows->count == 0)
            return rows->end;
    }
}

/* The first row at or after `from` that is not deleted, or the end. */
static int64_t next_live(struct deleted_rows *rows, int64_t from)
{
    while (from < rows->end && next_deleted(rows, from) == from)
        from++;
    return from;
}

static firn_status place_slice(struct firn_op *op, struct firn_selection *selection, struct stretch all)
{
    int64_t first = all.slice->first_row + all.slice_row, end = first + all.count;
    struct deleted_rows deleted;
    deleted.positions = all.slice->deleted_count > 0 ? all.slice->deleted : NULL;
    deleted.end = end;
    deleted.at = deleted.count = 0;
    for (int64_t at = first; at < end;) {
        int64_t gone = next_deleted(&deleted, at), back = next_live(&deleted, gone);
        struct stretch live = { all.slice, all.slice_row + at - first, all.row + at - first, gone - at };
        struct stretch dead = { all.slice, all.slice_row + gone - first, all.row + gone - first, back - gone };
        if (live.count > 0)
            FIRN_TRY(place_live(op, selection, live));
        if (dead.count > 0)
            FIRN_TRY(leave_out(op, selection, &dead));
        at = back;
    }
    return FIRN_OK;
}

firn_status firn_selection_step(struct firn_op *op, struct firn_selection *selection, const struct firn_window *window,
                                int64_t rows)
{
    struct stretch stretch = { .slice_row = window->head_row };
    for (uint32_t i = 0; i <= selection->output_count; i++) {
        firn_buffer_clear(&selection->lists[i].ranges);
        selection->lists[i].row_count = 0;
    }
    for (size_t i = window->head; stretch.row < rows; i++) {
        stretch.slice = &window->slices.items[i];
        stretch.count = FIRN_MIN(rows - stretch.row, stretch.slice->row_count - stretch.slice_row);
        FIRN_TRY(place_slice(op, selection, stretch));
        stretch.row += stretch.count;
        stretch.slice_row = 0;
    }
    selection->whole = selection->lists[0].row_count == rows;
    return FIRN_OK;
}

struct firn_row_pick firn_row_list_pick(const struct firn_row_list *list, size_t *cursor, int64_t first,
                                        int64_t row_count)
{
    size_t count, at = *cursor;
    const struct firn_row_range *ranges = ranges_of(list, &count);
    struct firn_row_pick pick = { .first = first, .row_count = row_count };
    while (at < count && (int64_t)ranges[at].first + ranges[at].count <= first)
        at++;
    *cursor = at;
    pick.ranges = ranges + at;
    for (; at < count && ranges[at].first < first + row_count; at++) {
        pick.picked_count += firn_row_range_end(&ranges[at], &pick) - firn_row_range_begin(&ranges[at], &pick);
        pick.range_count++;
    }
    return pick;
}

enum firn_selection_fate firn_selection_fate(const struct firn_selection *selection, size_t *cursors, int64_t first,
                                             int64_t row_count, uint32_t *index)
{
    *index = 0;
    if (selection->whole)
        return FIRN_FATE_ONE;
    int64_t picked_count = 0;
    for (uint32_t i = 0; i < selection->output_count && picked_count < row_count; i++) {
        struct firn_row_pick pick = firn_row_list_pick(&selection->lists[i], &cursors[i], first, row_count);
        if (pick.picked_count == 0)
            continue;
        if (picked_count > 0)
            return FIRN_FATE_SEVERAL;
        picked_count = pick.picked_count;
        *index = i;
    }
    if (picked_count == row_count)
        return FIRN_FATE_ONE;
    return picked_count > 0 ? FIRN_FATE_PARTLY : FIRN_FATE_NONE;
}
