/* Text and bytes: a pointer and a length, never "up to the NUL". Neither owns what it points to. */
#ifndef FIRN_TEXT_H
#define FIRN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct firn_text {
    const char *data;
    size_t len;
};

struct firn_bytes {
    const uint8_t *data;
    size_t len;
};

/* A string literal as text. */
#define FIRN_TEXT(literal) ((struct firn_text){ "" literal, sizeof(literal) - 1 })
#define FIRN_TEXT_INIT(literal)                                                                                        \
    {                                                                                                                  \
        "" literal, sizeof(literal) - 1                                                                                \
    }
/* For the printf conversion "%.*s". */
#define FIRN_FMT(text) (int)(text).len, (text).data ? (text).data : ""

static inline struct firn_text firn_text_of(const char *nul_terminated)
{
    return (struct firn_text){ nul_terminated, nul_terminated ? strlen(nul_terminated) : 0 };
}

static inline struct firn_bytes firn_bytes_of_text(struct firn_text text)
{
    return (struct firn_bytes){ (const uint8_t *)text.data, text.len };
}

static inline struct firn_text firn_text_of_bytes(struct firn_bytes bytes)
{
    return (struct firn_text){ (const char *)bytes.data, bytes.len };
}

bool firn_text_same(struct firn_text a, struct firn_text b);
/* ASCII letters compare without case. */
bool firn_text_same_nocase(struct firn_text a, struct firn_text b);
bool firn_text_is(struct firn_text text, const char *nul_terminated);
bool firn_text_starts(struct firn_text text, struct firn_text prefix);
bool firn_text_ends(struct firn_text text, struct firn_text suffix);
/* Unsigned bytewise order; a prefix sorts before what it begins. <0, 0 or >0. */
int firn_bytes_compare(struct firn_bytes a, struct firn_bytes b);
int firn_text_compare(struct firn_text a, struct firn_text b);
/* Position of the first or last `c`, or -1. */
ptrdiff_t firn_text_find(struct firn_text text, char c);
ptrdiff_t firn_text_find_last(struct firn_text text, char c);
struct firn_text firn_text_from(struct firn_text text, size_t start);
struct firn_text firn_text_until(struct firn_text text, size_t end);
/* Without leading and trailing ASCII white space. */
struct firn_text firn_text_trim(struct firn_text text);
/* Whole text as a decimal integer in range; false otherwise. A leading '-' is allowed, '+' and blanks are not. */
bool firn_text_to_i64(struct firn_text text, int64_t *out);
/* Whole text as a finite decimal number; false otherwise. */
bool firn_text_to_f64(struct firn_text text, double *out);
/* "1GiB", "512M", "4096": powers of 1024 whatever the spelling. */
bool firn_text_to_bytes(struct firn_text text, int64_t *out);
/* How many letters must change to make one of the other (Levenshtein): for suggestions. Texts longer than any name are
 * FIRN_TEXT_FAR from everything. */
size_t firn_text_distance(struct firn_text a, struct firn_text b);
enum { FIRN_TEXT_FAR = 64 };
/* The value of a hexadecimal digit in either case, or -1. */
int firn_hex_digit(char c);
/* As firn_text_printable (arena.h) into `size` bytes, a closing NUL included: as many whole characters as fit. Gives
 * back the length. */
size_t firn_text_print(char *out, size_t size, struct firn_text text);
/* Java's Boolean.parseBoolean: true only for "true" in any case. */
bool firn_text_to_bool(struct firn_text text);

#endif
