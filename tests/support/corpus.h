/* Finding and loading the corpus of real files. Tests that need it skip when it is not there. */
#ifndef FIRN_TESTS_CORPUS_H
#define FIRN_TESTS_CORPUS_H

#include "check.h"

#include "base/buffer.h"
#include "format/json/json.h"

/* The corpus' root folder, or an empty text when there is none. */
static inline struct firn_text corpus_root(struct firn_op *op)
{
    const char *set = getenv("FIRN_CORPUS");
    const char *source = getenv("FIRN_SOURCE_ROOT");
    struct firn_text root = set      ? firn_text_of(set)
                            : source ? firn_text_format(op->arena, "%s/../shared/corpus", source)
                                     : (struct firn_text){ 0 };
    FILE *expected =
        root.len ? fopen(firn_text_format(op->arena, "%.*s/EXPECTED.json", FIRN_FMT(root)).data, "rb") : NULL;
    if (!expected)
        return (struct firn_text){ 0 };
    fclose(expected);
    return root;
}

/* A whole file, owned by the arena; data == NULL when it cannot be opened. */
static inline struct firn_bytes corpus_file(struct firn_op *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text path = firn_text_vformat(op->arena, format, args);
    va_end(args);
    FILE *file = fopen(path.data, "rb");
    if (!file)
        return (struct firn_bytes){ 0 };
    struct firn_buffer *buffer = FIRN_NEW(op->arena, struct firn_buffer);
    firn_buffer_defer(op->arena, buffer);
    CHECK_OK(op, firn_buffer_reserve(op, buffer, 1));
    uint8_t chunk[65536];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, file)) > 0;)
        CHECK_OK(op, firn_buffer_append(op, buffer, chunk, got));
    fclose(file);
    return firn_buffer_bytes(buffer);
}

/* EXPECTED.json's member `section`. */
static inline json_t *corpus_expected(struct firn_op *op, struct firn_text root, const char *section)
{
    struct firn_bytes text = corpus_file(op, "%.*s/EXPECTED.json", FIRN_FMT(root));
    json_t *json;
    CHECK_OK(op, firn_json_parse(op, firn_text_of_bytes(text), "EXPECTED.json", &json));
    return json_object_get(json, section);
}

/* Skips the running test when there is no corpus. */
#define CORPUS_OR_SKIP(root)                                                                                           \
    do {                                                                                                               \
        if ((root).len == 0) {                                                                                         \
            print_message("no corpus: skipped\n");                                                                     \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

#endif
