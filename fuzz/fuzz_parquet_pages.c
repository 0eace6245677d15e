/* The pages of one column chunk. The first bytes choose type, repetition, codec and counts; the rest is the chunk. */
#include "fuzz.h"

#include "support/parquet_file.h"

enum { CHOICE_BYTES = 6, DEPTH_MAX = 3 };

/* A column below `depth` groups, all of one repetition. */
static const struct firn_parquet_node *make_leaf(struct firn_op *op, const uint8_t *choices)
{
    struct firn_footer *schema = FIRN_NEW(op->arena, struct firn_footer);
    struct firn_parquet_node *node = &schema->root;
    for (unsigned depth = 0; depth <= choices[0] % DEPTH_MAX; depth++) {
        node->child_count = 1;
        node->children = FIRN_NEW(op->arena, struct firn_parquet_node);
        node = node->children;
        node->name = FIRN_TEXT("c");
        node->repetition = (enum firn_repetition)(choices[1] % 3);
    }
    node->is_leaf = true;
    node->type = (enum firn_parquet_type)(choices[2] % FIRN_PARQUET_TYPE_COUNT);
    node->type_length = 1 + choices[2] / FIRN_PARQUET_TYPE_COUNT;
    return firn_parquet_schema_finish(op, schema) == FIRN_OK ? schema->leaves[0] : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    if (len < CHOICE_BYTES)
        return 0;
    struct firn_op *op = fuzz_begin(&fuzz);
    const struct firn_parquet_node *leaf = make_leaf(op, data);
    struct firn_bytes pages = { data + CHOICE_BYTES, len - CHOICE_BYTES };
    struct firn_column_chunk chunk = {
        .type = leaf ? leaf->type : FIRN_PARQUET_BOOLEAN,
        .codec = (enum firn_codec)(data[3] % (FIRN_CODEC_LZ4_RAW + 1)),
        .value_count = (int64_t)data[4] << data[5] % 16,
        .compressed_bytes = (int64_t)pages.len,
    };
    struct firn_chunk_reader_options options = { .keep_dictionary = data[3] & 0x80 };
    uint64_t digest = 0;
    if (leaf)
        FIRN_IGNORE(parquet_chunk_decode(op, leaf, &chunk, chunk.value_count, pages, options, &digest),
                    "any outcome will do");
    return fuzz_end(&fuzz);
}
