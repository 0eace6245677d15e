/* A column chunk from fuzzed bytes: the first choose type, repetition, codec and counts; the rest is the pages. */
#ifndef FIRN_FUZZ_FUZZ_CHUNK_H
#define FIRN_FUZZ_FUZZ_CHUNK_H

#include "fuzz.h"

#include "base/math.h"
#include "support/parquet_file.h"

enum { FUZZ_CHOICE_BYTES = 6, FUZZ_DEPTH_MAX = 3 };

struct fuzz_chunk {
    const struct firn_parquet_node *leaf; /* NULL: the choices make no schema */
    struct firn_column_chunk metadata;
    int64_t row_count;
    struct firn_bytes pages;
    bool keep_dictionary;
};

/* A column below some groups, all of one repetition. */
static inline const struct firn_parquet_node *fuzz_leaf(struct firn_op *op, const uint8_t *choices)
{
    struct firn_footer *schema = FIRN_NEW(op->arena, struct firn_footer);
    struct firn_parquet_node *node = &schema->root;
    for (unsigned depth = 0; depth <= choices[0] % FUZZ_DEPTH_MAX; depth++) {
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

/* `len` is at least FUZZ_CHOICE_BYTES. */
static inline struct fuzz_chunk fuzz_chunk_of(struct firn_op *op, const uint8_t *data, size_t len)
{
    struct fuzz_chunk chunk = {
        .leaf = fuzz_leaf(op, data),
        .pages = { data + FUZZ_CHOICE_BYTES, len - FUZZ_CHOICE_BYTES },
        .keep_dictionary = data[3] & 0x80,
    };
    chunk.metadata = (struct firn_column_chunk){
        .type = chunk.leaf ? chunk.leaf->type : FIRN_PARQUET_BOOLEAN,
        .codec = (enum firn_codec)(data[3] % (FIRN_CODEC_LZ4_RAW + 1)),
        .value_count = (int64_t)data[4] << data[5] % 16,
        .compressed_bytes = (int64_t)chunk.pages.len,
    };
    chunk.row_count = FIRN_MAX(chunk.metadata.value_count - data[5] / 16, 0);
    return chunk;
}

#endif
