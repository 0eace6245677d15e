/* Access to the corpus of foreign tables: FIRN_CORPUS, else $FIRN_SOURCE_ROOT/../shared/corpus. */
#ifndef FIRN_TESTS_TABLE_CORPUS_H
#define FIRN_TESTS_TABLE_CORPUS_H

#include "check.h"

#include "table/metadata.h"

/* The corpus folder, or an empty text (with a note that the test is skipped). */
static inline struct firn_text corpus_root(struct firn_op *op)
{
    const char *root = getenv("FIRN_CORPUS"), *source = getenv("FIRN_SOURCE_ROOT");
    struct firn_text path = firn_text_of(root);
    if (!root && source)
        path = firn_text_format(op->arena, "%s/../shared/corpus", source);
    struct firn_text probe = firn_text_format(op->arena, "%.*s/EXPECTED.json", FIRN_FMT(path));
    FILE *file = path.len ? fopen(probe.data, "rb") : NULL;
    if (!file) {
        print_message("skipped: no corpus (set FIRN_CORPUS)\n");
        return (struct firn_text){ 0 };
    }
    fclose(file);
    return path;
}

/* A whole file in the arena; fails the test when it cannot be read. */
static inline struct firn_bytes corpus_file(struct firn_op *op, struct firn_text path)
{
    FILE *file = fopen(firn_text_copy(op->arena, path).data, "rb");
    CHECK(file, "%.*s", FIRN_FMT(path));
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = firn_arena_alloc(op->arena, (size_t)size);
    size_t got = fread(bytes, 1, (size_t)size, file);
    fclose(file);
    CHECK(got == (size_t)size, "%.*s", FIRN_FMT(path));
    return (struct firn_bytes){ bytes, got };
}

/* A section of EXPECTED.json. */
static inline json_t *corpus_expected(struct firn_op *op, struct firn_text root, const char *section)
{
    json_t *all;
    struct firn_text path = firn_text_format(op->arena, "%.*s/EXPECTED.json", FIRN_FMT(root));
    CHECK_OK(op, firn_json_parse(op, firn_text_of_bytes(corpus_file(op, path)), "EXPECTED.json", &all));
    return json_object_get(all, section);
}

#endif
