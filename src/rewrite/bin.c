/* Passes and steps.
 *
 * A pass reads the pieces of a bin once and writes a range of partitions; mostly there is one pass with one partition.
 * A step takes as many rows as fit, and every column works through them on its own; between steps row groups and files
 * are ended by what their encoded size really is. */
#include "rewrite/bin.h"

#include "base/math.h"
#include "rewrite/feed.h"
#include "rewrite/order_check.h"
#include "rewrite/sort_bin.h"
#include "rewrite/sort_output.h"

#include <math.h>

#define ROUTED_STEP_ROWS_MAX (INT64_C(1) << 20)
#define FIRST_STEP_DIVISOR   8  /* before the ratio of output to input is known, steps are small */
#define TOLERANCE_DIVISOR    16 /* a row group may be this part of its size larger or smaller */
#define MEMORY_STEP_DIVISOR  8  /* the last part of the encoders' memory is left to what a step takes too much */
#define LENT_SHARE_MIN       0.5
#define MEMORY_RATIO_MAX     8 /* steps that began with empty buffers and took little tell nothing */

enum { PASS_PARTITIONS_MAX = 64 };

struct pass {
    struct firn_group_run *run;
    const struct firn_rewrite_bin *bin;
    const struct firn_route *route;
    uint32_t first_piece, piece_end; /* of the bin, those that may be read */
    uint32_t first_partition;
    struct firn_output *outputs; /* one a partition of the pass */
    uint32_t output_count;
    bool by_row; /* rows go to several outputs; otherwise all that are not deleted go to outputs[0] */
    struct firn_window window;
    struct firn_selection selection; /* of the step */
    struct firn_feed *feeds;         /* one an output leaf */
    struct firn_order_check *check;  /* of rows that are in order; NULL: in any */

    double input_done, output_done; /* bytes so far, for the ratio */
    double sampled_at;              /* input_done when columns were sampled last; below 0: never */
    bool samples;                   /* in this step */
    uint32_t row_group;             /* counted from 1: the one in progress, where there is one output */
    double copied_share;            /* of the last step's input, copied as it lies */
    double memory_ratio;            /* growth of the encoders' buffers by input, the largest of any step */

    int64_t step_rows;
};

/* Prediction. */

static double encoded_ratio(const struct pass *pass)
{
    return pass->input_done > 0 ? pass->output_done / pass->input_done : 1.0;
}

/* Encoded size at which the row group in progress ends: the table's, or what is left of the file. */
static uint64_t row_group_target(const struct pass *pass, const struct firn_output *output)
{
    uint64_t most = pass->run->group->file_bytes_max, file = firn_output_file_bytes(output);
    uint64_t left = most > file ? most - file : 1;
    return FIRN_MIN(pass->run->row_group_bytes, left);
}

static uint64_t room(const struct pass *pass, const struct firn_output *output)
{
    uint64_t target = row_group_target(pass, output), bytes = firn_output_row_group_bytes(output);
    return target > bytes ? target - bytes : 0;
}

/* Steps. */

static double encoded_bytes(const struct pass *pass)
{
    double bytes = 0;
    for (uint32_t i = 0; i < pass->output_count; i++)
        bytes += (double)firn_output_row_group_bytes(&pass->outputs[i]);
    return bytes;
}

static uint64_t encoder_memory(const struct pass *pass)
{
    uint64_t bytes = pass->window.blocks.lent_bytes;
    for (uint32_t i = 0; i < pass->output_count; i++)
        bytes += firn_output_memory(&pass->outputs[i]);
    return bytes;
}

/* Rows of a step whose buffers surely fit. These grow fastest at first, so the steepest growth seen is a safe guess;
 * and values that a dictionary stands for may be encoded without one. */
static int64_t rows_in_memory(const struct pass *pass)
{
    double most = (double)pass->run->encoder_bytes, used = (double)encoder_memory(pass);
    double room = FIRN_MAX(most - used, most / MEMORY_STEP_DIVISOR);
    double ratio = FIRN_MIN(FIRN_MAX(pass->memory_ratio, 1), MEMORY_RATIO_MAX);
    return FIRN_MIN(firn_window_rows_within(&pass->window, room / ratio),
                    firn_window_rows_decoded_within(&pass->window, room));
}

static bool has_deletes(const struct firn_window *window)
{
    for (size_t i = window->head; i < window->slices.count; i++)
        if (window->slices.items[i].deleted_count > 0)
            return true;
    return false;
}

/* Encoded size of a step that fills no row group and, where there are several, not too much memory. */
static double step_room(const struct pass *pass)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < pass->output_count; i++)
        least = FIRN_MIN(least, room(pass, &pass->outputs[i]));
    if (!pass->by_row)
        return (double)least;
    double most = (double)pass->run->row_group_bytes;
    return FIRN_MIN((double)least, FIRN_MAX(most - encoded_bytes(pass), most / 4));
}

/* Rows of a step whose lists take no more than a part of the window's memory: they have an entry for each row at worst,
 * or for every other one where rows are only deleted. */
static int64_t listed_rows_max(const struct pass *pass)
{
    int64_t most = (int64_t)(pass->run->window_bytes / sizeof(struct firn_row_range));
    return pass->by_row ? FIRN_MIN(most, ROUTED_STEP_ROWS_MAX) : has_deletes(&pass->window) ? most : INT64_MAX;
}

/* Rows of the next step: what the row group still takes, by the ratio seen so far. */
static int64_t plan_step(const struct pass *pass)
{
    int64_t rows = FIRN_MIN(firn_window_rows(&pass->window), listed_rows_max(pass));
    double bytes = step_room(pass) / FIRN_MAX(encoded_ratio(pass), 1e-3);
    if (pass->input_done == 0)
        bytes /= FIRST_STEP_DIVISOR;
    else if (!pass->by_row && firn_window_bytes_left(&pass->window) <= bytes * (1 + 1.0 / TOLERANCE_DIVISOR))
        bytes = INFINITY; /* the rest is too little for a row group of its own */
    rows = FIRN_MIN(rows, rows_in_memory(pass));
    return FIRN_MIN(rows, firn_window_rows_within(&pass->window, bytes));
}

/* Whether pages are lent to the output, which copies them otherwise. Files in memory stay there then until the row
 * group is written, with all that is in them: so most of it must be what is lent, and more where memory is short. */
static struct firn_lending lending(const struct pass *pass)
{
    double fit = (double)pass->run->encoder_bytes * (MEMORY_STEP_DIVISOR - 1) / MEMORY_STEP_DIVISOR;
    double least = FIRN_MAX((double)pass->run->row_group_bytes / fit, LENT_SHARE_MIN);
    return (struct firn_lending){
        .row_group = pass->output_count == 1 ? pass->row_group : 0,
        .lends_memory = pass->copied_share >= least,
    };
}

static double copied_bytes(const struct pass *pass)
{
    double bytes = 0;
    for (uint32_t i = 0; i < pass->run->schema.leaf_count; i++)
        bytes += (double)firn_splicer_copied_bytes(&pass->feeds[i].splicer);
    return bytes;
}

/* A row group's worth of the input to come. */
struct row_group_share {
    double rows, bytes;
};

static struct row_group_share row_group_share(const struct pass *pass)
{
    double rows = (double)firn_window_rows(&pass->window);
    double bytes = FIRN_MAX(firn_window_bytes_of(&pass->window, (int64_t)rows), 1);
    double share = FIRN_MIN((double)pass->run->row_group_bytes, firn_window_bytes_left(&pass->window)) / bytes;
    return (struct row_group_share){ rows * share, bytes * share };
}

/* Rows that a row group takes, and with it most steps. */
static double row_group_rows(const struct pass *pass)
{
    double bytes = (double)pass->run->row_group_bytes / FIRN_MAX(encoded_ratio(pass), 1e-3);
    return bytes / firn_row_slice_row_bytes(&pass->window.slices.items[pass->window.head]);
}

static firn_status work_column(struct firn_op *op, void *context, size_t index)
{
    struct pass *pass = context;
    if (index == pass->run->schema.leaf_count)
        return firn_order_check_step(op, pass->check, &pass->window, pass->step_rows);
    struct firn_feed *feed = &pass->feeds[pass->run->leaf_order[index]];
    if (pass->samples) {
        struct row_group_share share = row_group_share(pass);
        FIRN_TRY(firn_feed_sample(op, feed, &pass->window, share.rows, share.bytes));
    }
    return firn_feed_run(op, feed, &pass->window, pass->step_rows);
}

/* Fewer rows, if the last of them begin a slice that is small against a row group: then no page is cut. */
static int64_t end_at_slice(const struct pass *pass, int64_t rows)
{
    double most = (double)FIRN_MIN(pass->run->row_group_bytes, pass->run->group->file_bytes_max) /
                  (2 * TOLERANCE_DIVISOR) / FIRN_MAX(encoded_ratio(pass), 1e-3);
    const struct firn_window *window = &pass->window;
    int64_t before = 0, left = window->slices.items[window->head].row_count - window->head_row;
    size_t i = window->head;
    for (; before + left < rows; left = window->slices.items[++i].row_count)
        before += left;
    bool cuts = before + left > rows;
    bool is_small = firn_row_slice_row_bytes(&window->slices.items[i]) * (double)(rows - before) <= most;
    return cuts && is_small && before > 0 ? before : rows;
}

static firn_status run_step(struct firn_op *op, struct pass *pass)
{
    uint32_t leaf_count = pass->run->schema.leaf_count;
    const struct firn_feed_leaves feeds = { pass->feeds, pass->run->leaf_order, leaf_count };
    pass->step_rows = end_at_slice(pass, plan_step(pass));
    FIRN_TRY(firn_feeds_stage(op, &feeds, &pass->window, row_group_rows(pass), &pass->step_rows));
    pass->samples = pass->sampled_at < 0 || pass->input_done - pass->sampled_at >= (double)pass->run->row_group_bytes;
    if (pass->samples)
        pass->sampled_at = pass->input_done;
    for (uint32_t i = 0; i < pass->output_count; i++)
        FIRN_TRY(firn_output_begin(op, &pass->outputs[i]));
    FIRN_TRY(firn_selection_step(op, &pass->selection, &pass->window, pass->step_rows));
    firn_window_lend(&pass->window, pass->step_rows, lending(pass));
    double memory = (double)encoder_memory(pass), before = encoded_bytes(pass), copied = copied_bytes(pass);
    double input = firn_window_bytes_of(&pass->window, pass->step_rows);
    uint32_t width = firn_window_columns_at_once(&pass->window, pass->step_rows);
    FIRN_TRY(firn_pool_run(op, pass->run->context->pool, leaf_count + (pass->check != NULL), width, work_column, pass));
    firn_window_advance(op, &pass->window, pass->step_rows);
    pass->memory_ratio = FIRN_MAX(pass->memory_ratio, ((double)encoder_memory(pass) - memory) / FIRN_MAX(input, 1));
    pass->copied_share = (copied_bytes(pass) - copied) / FIRN_MAX(input, 1);
    pass->input_done += input;
    pass->output_done += encoded_bytes(pass) - before;
    return FIRN_OK;
}

/* Whether a row group may wait until the next rows are worked on, to be written meanwhile. */
static bool may_wait(const struct pass *pass)
{
    return pass->output_count == 1 && encoder_memory(pass) <= pass->run->encoder_bytes / 2;
}

/* All row groups that ended are written. */
static void take_back(struct pass *pass)
{
    if (pass->output_count == 1)
        firn_window_take_back(&pass->window, pass->row_group - 1);
}

/* Ends the row group, and the file when it has reached its size, or what memory allows. */
static firn_status end_row_group(struct firn_op *op, struct pass *pass, struct firn_output *output)
{
    double guessed = (double)firn_output_row_group_bytes(output) + (double)firn_output_file_bytes(output);
    FIRN_TRY(firn_output_seal(op, output));
    pass->row_group++;
    pass->output_done += (double)firn_output_file_bytes(output) - guessed;
    uint64_t least = FIRN_MIN(pass->run->row_group_bytes, pass->run->group->file_bytes_max) / TOLERANCE_DIVISOR;
    bool ends_file = row_group_target(pass, output) <= least || firn_output_is_crowded(output);
    if (!ends_file && may_wait(pass))
        return FIRN_OK;
    FIRN_TRY(firn_output_flush(op, output));
    if (ends_file || firn_output_is_crowded(output))
        FIRN_TRY(firn_output_finish(op, output));
    take_back(pass);
    return FIRN_OK;
}

static struct firn_output *largest(const struct pass *pass)
{
    struct firn_output *found = &pass->outputs[0];
    for (uint32_t i = 1; i < pass->output_count; i++)
        if (firn_output_row_group_bytes(&pass->outputs[i]) > firn_output_row_group_bytes(found))
            found = &pass->outputs[i];
    return found;
}

/* Between steps: row groups that are full end, and the largest ones when memory runs short. */
static firn_status end_full(struct firn_op *op, struct pass *pass)
{
    bool more = firn_window_bytes_left(&pass->window) > 0;
    for (uint32_t i = 0; more && i < pass->output_count; i++) {
        struct firn_output *output = &pass->outputs[i];
        if (room(pass, output) <= row_group_target(pass, output) / (2 * TOLERANCE_DIVISOR))
            FIRN_TRY(end_row_group(op, pass, output));
    }
    while (encoded_bytes(pass) > (double)pass->run->row_group_bytes * (1 + 1.0 / TOLERANCE_DIVISOR) && pass->by_row)
        FIRN_TRY(end_row_group(op, pass, largest(pass)));
    uint64_t most = pass->run->encoder_bytes - pass->run->encoder_bytes / MEMORY_STEP_DIVISOR;
    while (encoder_memory(pass) > most && largest(pass)->row_group_rows > 0)
        FIRN_TRY(end_row_group(op, pass, largest(pass)));
    return FIRN_OK;
}

static firn_status go_on(struct firn_op *op, struct pass *pass)
{
    FIRN_TRY(firn_window_fill(op, &pass->window, pass->run->row_group_bytes));
    pass->step_rows = firn_window_rows(&pass->window);
    return pass->step_rows > 0 ? run_step(op, pass) : FIRN_OK;
}

static firn_status write_or_go_on(struct firn_op *op, void *context, size_t index)
{
    struct pass *pass = context;
    return index == 0 ? firn_output_write(op, &pass->outputs[0]) : go_on(op, pass);
}

/* The row group that waits is written while the next rows are worked on. */
static firn_status write_and_go_on(struct firn_op *op, struct pass *pass)
{
    FIRN_TRY(firn_pool_run(op, pass->run->context->pool, 2, 0, write_or_go_on, pass));
    firn_output_unseal(&pass->outputs[0]);
    take_back(pass);
    return FIRN_OK;
}

static firn_status run_steps(struct firn_op *op, struct pass *pass)
{
    do {
        FIRN_TRY(firn_op_check(op));
        FIRN_TRY(firn_output_is_sealed(&pass->outputs[0]) ? write_and_go_on(op, pass) : go_on(op, pass));
        if (pass->step_rows > 0)
            FIRN_TRY(end_full(op, pass));
    } while (pass->step_rows > 0);
    for (uint32_t i = 0; i < pass->output_count; i++)
        FIRN_TRY(firn_output_finish(op, &pass->outputs[i]));
    return FIRN_OK;
}

/* Passes. */

static void pass_init(struct firn_op *op, struct pass *pass, struct firn_output_files *files, uint32_t bin_index,
                      bool *counted)
{
    struct firn_group_run *run = pass->run;
    uint32_t *pieces = FIRN_NEW_ARRAY(op->arena, uint32_t, pass->bin->piece_count);
    uint32_t piece_count = 0, last = pass->first_partition + pass->output_count - 1;
    for (uint32_t i = pass->first_piece; i < pass->piece_end; i++) {
        const struct firn_piece_route *piece = &pass->route->pieces[i];
        bool by_row = piece->partition == FIRN_ROUTE_BY_ROW;
        uint32_t least = by_row ? piece->least : piece->partition, most = by_row ? piece->most : piece->partition;
        if (least <= last && most >= pass->first_partition)
            pieces[piece_count++] = i;
        pass->by_row |= by_row && least <= last && most >= pass->first_partition;
    }
    pass->by_row |= pass->output_count > 1;
    pass->window = (struct firn_window){
        .run = run, .bin = pass->bin, .pieces = pieces, .piece_count = piece_count, .counted = counted
    };
    pass->outputs = FIRN_NEW_ARRAY(op->arena, struct firn_output, pass->output_count);
    for (uint32_t i = 0; i < pass->output_count; i++)
        firn_output_init(op, &pass->outputs[i], run, files, &pass->route->partitions[pass->first_partition + i],
                         bin_index);
    pass->selection = (struct firn_selection){
        .run = run,
        .route = pass->route,
        .outputs = pass->outputs,
        .output_count = pass->output_count,
        .first_partition = pass->first_partition,
        .with_left_out = run->context->verify == FIRN_VERIFY_FULL,
    };
    firn_selection_init(op, &pass->selection);
    pass->feeds = firn_feeds_new(op, run, &pass->selection);
}

static void pass_done(struct pass *pass, struct firn_output_files *files)
{
    firn_feeds_done(pass->feeds, pass->run, files);
    for (uint32_t i = 0; i < pass->output_count; i++)
        firn_output_close(&pass->outputs[i]);
    firn_selection_done(&pass->selection);
    firn_window_close(&pass->window);
}

/* How many partitions are written side by side: each has a buffer for every column. */
static uint32_t partitions_at_once(const struct firn_group_run *run, const struct firn_route *route)
{
    enum { BUFFER_BYTES = 256 << 10 };
    uint64_t fit = run->row_group_bytes / ((uint64_t)run->schema.leaf_count * BUFFER_BYTES);
    return route->by_row ? (uint32_t)FIRN_MAX(FIRN_MIN(fit, PASS_PARTITIONS_MAX), 1) : 1;
}

static firn_status run_pass(struct firn_op *op, struct pass *pass, struct firn_output_files *files, uint32_t index,
                            bool *counted)
{
    pass->bin = &pass->run->group->bins[index];
    pass->sampled_at = -1;
    pass->row_group = 1;
    pass->copied_share = 1; /* as far as is known */
    pass_init(op, pass, files, index, counted);
    firn_status status = run_steps(op, pass);
    pass_done(pass, files);
    return status;
}

static firn_status run_passes(struct firn_op *op, struct firn_group_run *run, uint32_t index, bool *counted,
                              const struct firn_route *route, struct firn_output_files *files)
{
    uint32_t at_once = partitions_at_once(run, route);
    for (uint32_t first = 0; first < route->partition_count; first += at_once) {
        struct pass pass = {
            .run = run,
            .route = route,
            .piece_end = run->group->bins[index].piece_count,
            .first_partition = first,
            .output_count = FIRN_MIN(at_once, route->partition_count - first),
        };
        FIRN_TRY(run_pass(op, &pass, files, index, counted));
    }
    return FIRN_OK;
}

/* A bin whose rows are put in order. */
struct ordered_bin {
    struct firn_group_run *run;
    uint32_t index;
    bool *counted;
    const struct firn_route *route;
    struct firn_output_files *files;
    struct firn_sort_key key;
    struct firn_buffer last_key; /* of the rows checked */
    bool is_disordered;          /* inputs that the plan takes for sorted are not */
};

/* One file of inputs that are in order. */
static firn_status run_file(struct firn_op *op, struct ordered_bin *ordered, uint32_t first,
                            struct firn_file_pieces file)
{
    struct firn_group_run run = *ordered->run;
    struct firn_rewrite_group group = *run.group;
    struct firn_order_check check;
    group.file_bytes_max = file.file_bytes_max;
    run.group = &group;
    atomic_init(&run.requests, 0);
    firn_order_check_init(op, &run, ordered->route, &ordered->key, &ordered->last_key, &check);
    struct pass pass = {
        .run = &run,
        .route = ordered->route,
        .first_piece = first,
        .piece_end = file.end,
        .output_count = 1,
        .check = &check,
    };
    firn_status status = run_pass(op, &pass, ordered->files, ordered->index, ordered->counted);
    ordered->is_disordered = check.is_disordered;
    firn_order_check_done(op, &check);
    atomic_fetch_add(&ordered->run->requests, atomic_load(&run.requests));
    return status;
}

/* Puts inputs that are in order one behind the other; files end where inputs do, as far as they are not too large. */
static firn_status concatenate(struct firn_op *op, struct ordered_bin *ordered, const struct firn_bin_runs *runs)
{
    const struct firn_group_run *run = ordered->run;
    const struct firn_rewrite_bin *bin = &run->group->bins[ordered->index];
    firn_status status = FIRN_OK;
    FIRN_TRY(firn_sort_key_new(op, run->group->ordering, &run->schema, FIRN_SORT_PREFIX_BYTES, &ordered->key));
    for (uint32_t first = 0; status == FIRN_OK && first < bin->piece_count;) {
        struct firn_file_pieces file = firn_bin_runs_file(run, bin, runs, first);
        status = run_file(op, ordered, first, file);
        first = file.end;
    }
    firn_buffer_done(&ordered->last_key);
    return status;
}

static firn_status put_in_order(struct firn_op *op, struct ordered_bin *ordered, const struct firn_bin_runs *runs)
{
    if (runs->way == FIRN_SORT_WAY_CONCATENATED)
        return concatenate(op, ordered, runs);
    return firn_sort_bin_run(op, ordered->run, ordered->index, ordered->counted, ordered->route, runs, ordered->files,
                             &ordered->is_disordered);
}

/* Inputs that are marked as sorted and are not: what was written goes, and all is sorted. */
static firn_status sort_after_all(struct firn_op *op, struct ordered_bin *ordered, struct firn_bin_runs *runs)
{
    const struct firn_group_run *run = ordered->run;
    const struct firn_rewrite_bin *bin = &run->group->bins[ordered->index];
    firn_log(op, FIRN_LOG_WARN, "some of %u data files, such as %.*s, are marked as sorted and are not, sorting them",
             bin->piece_count, FIRN_FMT(run->group->inputs[bin->pieces[0].input].path));
    firn_output_files_discard(op, run, ordered->files);
    firn_bin_runs_none(op, bin, runs);
    return put_in_order(op, ordered, runs);
}

static firn_status run_ordered(struct firn_op *op, struct ordered_bin *ordered)
{
    const struct firn_rewrite_bin *bin = &ordered->run->group->bins[ordered->index];
    struct firn_bin_runs runs;
    firn_bin_runs_choose(op, ordered->run, bin, ordered->route, &runs);
    firn_status status = put_in_order(op, ordered, &runs);
    if (status != FIRN_OK && ordered->is_disordered)
        status = sort_after_all(op, ordered, &runs);
    ordered->files->sort_ways[runs.way]++;
    return status;
}

static firn_status run_bin(struct firn_op *op, struct firn_group_run *run, uint32_t index,
                           struct firn_output_files *files)
{
    const struct firn_rewrite_bin *bin = &run->group->bins[index];
    bool *counted = FIRN_NEW_ARRAY(op->arena, bool, bin->piece_count);
    struct firn_route route;
    FIRN_TRY(firn_route_new(op, run, bin, counted, &route));
    struct ordered_bin ordered = { .run = run, .index = index, .counted = counted, .route = &route, .files = files };
    firn_status status =
        run->group->ordering ? run_ordered(op, &ordered) : run_passes(op, run, index, counted, &route, files);
    firn_route_done(&route);
    return status;
}

firn_status firn_bin_run(struct firn_op *op, const struct firn_group_run *group_run, uint32_t index,
                         struct firn_output_files *files)
{
    struct firn_group_run run = *group_run;
    firn_status status = firn_codec_context_open(op, &run.codec);
    if (status == FIRN_OK)
        status = run_bin(op, &run, index, files);
    firn_codec_context_close(run.codec);
    files->requests = atomic_load(&run.requests);
    return status;
}
