/* Bins of a group: files are cut into pieces at their split offsets, and pieces packed first-fit into a few open bins.
 * Reference: procedures.md, 2.6; the same lookback and eviction, so that the number of outputs is the same. */
#include "maintain/rewrite_data_files.h"

#include "base/math.h"

enum {
    BINS_OPEN_MAX = 10, /* read.split.planning-lookback */
    PIECES_MAX = 1 << 24
};

struct cut {
    struct firn_rewrite_piece piece;
    int64_t weight;
    uint32_t bin;
};

struct open_bin {
    uint32_t id;
    int64_t weight;
};

struct packer {
    struct cut *cuts;
    uint32_t cut_count;
    int64_t split_bytes;
    struct open_bin open[BINS_OPEN_MAX + 1];
    uint32_t open_count;
    uint32_t bin_count; /* opened so far; ids count up */
    uint32_t *closed;   /* ids in the order in which bins closed: the order of outputs */
    uint32_t closed_count;
};

static int64_t file_size(const struct firn_data_file *file)
{
    return FIRN_MAX(file->file_bytes, 0);
}

/* What is left of some of a file's bytes without the rows that are known to be deleted. The reference adds the size of
 * the delete files instead, which gives a bin to every data file where there are many. */
static int64_t live_bytes(const struct firn_planned_file *file, int64_t bytes)
{
    int64_t rows = file->scan->entry->file.record_count;
    if (file->known_deleted_rows == 0)
        return bytes;
    double deleted = (double)file->known_deleted_rows / (double)rows; /* rows are at least as many */
    return FIRN_MAX(bytes - (int64_t)((double)bytes * deleted), 0);
}

static int64_t count_cuts(const struct firn_data_file *file, int64_t split_bytes)
{
    if (firn_split_offsets_usable(file))
        return file->split_offset_count;
    int64_t bytes = file_size(file);
    return FIRN_MAX(bytes / split_bytes + (bytes % split_bytes != 0), 1);
}

/* The first piece begins at 0, so that no row group lies before all pieces, whatever the offsets say. */
static void cut_at_offsets(struct packer *packer, const struct firn_planned_file *planned, uint32_t input)
{
    const struct firn_data_file *file = &planned->scan->entry->file;
    for (uint32_t i = 0; i < file->split_offset_count; i++) {
        bool is_last = i + 1 == file->split_offset_count;
        int64_t from = file->split_offsets[i];
        int64_t until = is_last ? file->file_bytes : file->split_offsets[i + 1];
        uint64_t offset = i == 0 ? 0 : (uint64_t)from;
        packer->cuts[packer->cut_count++] = (struct cut){
            .piece = { .input = input, .offset = offset, .length = (uint64_t)until - offset },
            .weight = live_bytes(planned, until - from),
        };
    }
}

static void cut_at_intervals(struct packer *packer, const struct firn_planned_file *planned, uint32_t input)
{
    int64_t bytes = file_size(&planned->scan->entry->file);
    int64_t at = 0;
    do {
        int64_t length = FIRN_MIN(packer->split_bytes, bytes - at);
        packer->cuts[packer->cut_count++] = (struct cut){
            .piece = { .input = input, .offset = (uint64_t)at, .length = (uint64_t)length },
            .weight = live_bytes(planned, length),
        };
        at += length;
    } while (at < bytes);
}

static void close_bin(struct packer *packer, uint32_t at)
{
    packer->closed[packer->closed_count++] = packer->open[at].id;
    packer->open_count--;
    memmove(&packer->open[at], &packer->open[at + 1], (packer->open_count - at) * sizeof *packer->open);
}

static void close_heaviest(struct packer *packer)
{
    uint32_t heaviest = 0;
    for (uint32_t i = 1; i < packer->open_count; i++)
        if (packer->open[i].weight > packer->open[heaviest].weight)
            heaviest = i;
    close_bin(packer, heaviest);
}

static void place(struct packer *packer, struct cut *cut)
{
    for (uint32_t i = 0; i < packer->open_count; i++) {
        struct open_bin *bin = &packer->open[i];
        if (cut->weight <= packer->split_bytes - bin->weight) {
            cut->bin = bin->id;
            bin->weight += cut->weight;
            return;
        }
    }
    cut->bin = packer->bin_count++;
    packer->open[packer->open_count++] = (struct open_bin){ cut->bin, cut->weight };
    if (packer->open_count > BINS_OPEN_MAX)
        close_heaviest(packer);
}

static void pack(struct firn_op *op, struct packer *packer)
{
    packer->closed = FIRN_NEW_ARRAY(op->arena, uint32_t, packer->cut_count);
    for (uint32_t i = 0; i < packer->cut_count; i++)
        place(packer, &packer->cuts[i]);
    while (packer->open_count > 0)
        close_bin(packer, 0);
}

static void add_piece(struct firn_rewrite_bin *bin, const struct firn_rewrite_piece *piece)
{
    struct firn_rewrite_piece *last = bin->piece_count ? &bin->pieces[bin->piece_count - 1] : NULL;
    if (last && last->input == piece->input && last->offset + last->length == piece->offset)
        last->length += piece->length;
    else
        bin->pieces[bin->piece_count++] = *piece;
}

/* Lays the pieces out bin by bin, in closing order, in one array. */
static void build_bins(struct firn_op *op, const struct packer *packer, struct firn_planned_group *group)
{
    struct firn_rewrite_bin *bins = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_bin, packer->bin_count);
    int64_t *bin_bytes = FIRN_NEW_ARRAY(op->arena, int64_t, packer->bin_count);
    uint32_t *position = FIRN_NEW_ARRAY(op->arena, uint32_t, packer->bin_count); /* of a bin id */
    uint32_t *sizes = FIRN_NEW_ARRAY(op->arena, uint32_t, packer->bin_count);
    for (uint32_t i = 0; i < packer->bin_count; i++)
        position[packer->closed[i]] = i;
    for (uint32_t i = 0; i < packer->cut_count; i++)
        sizes[position[packer->cuts[i].bin]]++;
    struct firn_rewrite_piece *pieces = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_piece, packer->cut_count);
    for (uint32_t i = 0; i < packer->bin_count; i++) {
        bins[i].pieces = pieces;
        pieces += sizes[i];
    }
    for (uint32_t i = 0; i < packer->cut_count; i++) {
        uint32_t at = position[packer->cuts[i].bin];
        add_piece(&bins[at], &packer->cuts[i].piece);
        bin_bytes[at] += packer->cuts[i].weight;
    }
    group->bins = bins;
    group->bin_bytes = bin_bytes;
    group->bin_count = packer->bin_count;
}

static int64_t count_outputs(const struct firn_rewrite_options *options, const struct firn_planned_group *group)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < group->bin_count; i++)
        count += firn_output_written_files(&options->sizes, group->bin_bytes[i]);
    return count;
}

static firn_status make_cuts(struct firn_op *op, const struct firn_rewrite_plan *plan,
                             const struct firn_planned_group *group, struct packer *packer)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < group->file_count; i++) {
        count += count_cuts(&plan->files[group->files[i]].scan->entry->file, packer->split_bytes);
        if (count > PIECES_MAX)
            return firn_fail(
                op, FIRN_LIMIT,
                "a group of %u files would be cut into more than %d pieces: target-file-size-bytes %" PRId64
                " is too small for it",
                group->file_count, PIECES_MAX, plan->options.sizes.target_bytes);
    }
    packer->cuts = FIRN_NEW_ARRAY(op->arena, struct cut, (size_t)count);
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[group->files[i]];
        if (firn_split_offsets_usable(&file->scan->entry->file))
            cut_at_offsets(packer, file, i);
        else
            cut_at_intervals(packer, file, i);
    }
    return FIRN_OK;
}

static int64_t live_rows(const struct firn_planned_file *file)
{
    return FIRN_MAX(file->scan->entry->file.record_count - file->known_deleted_rows, 0);
}

/* A sort takes the whole group, and makes as many files as the reference expects, with as many rows each.
 * Reference: procedures.md, 2.5, step 8, and 2.7. */
static void plan_sort(struct firn_op *op, const struct firn_rewrite_plan *plan, struct firn_planned_group *group,
                      int64_t live)
{
    struct firn_rewrite_bin *bin = FIRN_NEW(op->arena, struct firn_rewrite_bin);
    int64_t *bin_bytes = FIRN_NEW(op->arena, int64_t);
    double sorted = FIRN_MIN((double)live * plan->options.compression_factor, (double)(INT64_MAX / 2));
    bin->pieces = FIRN_NEW_ARRAY(op->arena, struct firn_rewrite_piece, group->file_count);
    bin->piece_count = group->file_count;
    int64_t rows = 0;
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[group->files[i]];
        bin->pieces[i] = (struct firn_rewrite_piece){
            .input = i,
            .length = (uint64_t)file_size(&file->scan->entry->file),
        };
        rows += live_rows(file);
    }
    *bin_bytes = live;
    group->bins = bin;
    group->bin_bytes = bin_bytes;
    group->bin_count = 1;
    group->output_count = firn_output_expected_files(&plan->options.sizes, (int64_t)sorted);
    group->file_rows = rows / group->output_count + (rows % group->output_count != 0);
}

firn_status firn_rewrite_plan_bins(struct firn_op *op, const struct firn_rewrite_plan *plan,
                                   struct firn_planned_group *group)
{
    int64_t bytes = group->bytes;
    group->ordering = firn_rewrite_order_of_group(op, plan, group);
    for (uint32_t i = 0; i < group->file_count; i++) {
        const struct firn_planned_file *file = &plan->files[group->files[i]];
        int64_t size = file_size(&file->scan->entry->file);
        bytes -= size - live_bytes(file, size);
    }
    if (plan->options.strategy != FIRN_STRATEGY_BINPACK) {
        plan_sort(op, plan, group, bytes);
        return firn_rewrite_find_runs(op, plan, group);
    }
    struct packer packer = { .split_bytes = firn_output_split_bytes(&plan->options.sizes, bytes) };
    FIRN_TRY(make_cuts(op, plan, group, &packer));
    pack(op, &packer);
    build_bins(op, &packer, group);
    group->output_count = count_outputs(&plan->options, group);
    return firn_rewrite_find_runs(op, plan, group);
}
