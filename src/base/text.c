/* Text and bytes as values. */
#include "firn/text.h"

#include "firn/arena.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool firn_text_same(struct firn_text a, struct firn_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool firn_text_same_nocase(struct firn_text a, struct firn_text b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.data[i]) != lower(b.data[i]))
            return false;
    return true;
}

bool firn_text_is(struct firn_text text, const char *nul_terminated)
{
    return firn_text_same(text, firn_text_of(nul_terminated));
}

bool firn_text_starts(struct firn_text text, struct firn_text prefix)
{
    return text.len >= prefix.len && (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}

bool firn_text_ends(struct firn_text text, struct firn_text suffix)
{
    return text.len >= suffix.len && firn_text_same(firn_text_from(text, text.len - suffix.len), suffix);
}

int firn_bytes_compare(struct firn_bytes a, struct firn_bytes b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

int firn_text_compare(struct firn_text a, struct firn_text b)
{
    return firn_bytes_compare(firn_bytes_of_text(a), firn_bytes_of_text(b));
}

ptrdiff_t firn_text_find(struct firn_text text, char c)
{
    const char *at = text.len ? memchr(text.data, c, text.len) : NULL;
    return at ? at - text.data : -1;
}

ptrdiff_t firn_text_find_last(struct firn_text text, char c)
{
    for (size_t i = text.len; i > 0; i--)
        if (text.data[i - 1] == c)
            return (ptrdiff_t)i - 1;
    return -1;
}

struct firn_text firn_text_from(struct firn_text text, size_t start)
{
    if (start >= text.len)
        return (struct firn_text){ text.data + text.len, 0 };
    return (struct firn_text){ text.data + start, text.len - start };
}

struct firn_text firn_text_until(struct firn_text text, size_t end)
{
    return (struct firn_text){ text.data, end < text.len ? end : text.len };
}

struct firn_text firn_text_trim(struct firn_text text)
{
    while (text.len && isspace((unsigned char)text.data[0]))
        text = firn_text_from(text, 1);
    while (text.len && isspace((unsigned char)text.data[text.len - 1]))
        text.len--;
    return text;
}

bool firn_text_to_i64(struct firn_text text, int64_t *out)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    size_t i = negative ? 1 : 0;
    if (i == text.len)
        return false;
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t value = 0;
    for (; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool firn_text_to_f64(struct firn_text text, double *out)
{
    char copy[64];
    if (text.len == 0 || text.len >= sizeof copy || isspace((unsigned char)text.data[0]))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    char *end;
    errno = 0;
    double value = strtod(copy, &end);
    if (*end != 0 || end != copy + text.len || !isfinite(value))
        return false;
    *out = value;
    return true;
}

bool firn_text_to_bytes(struct firn_text text, int64_t *out)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = { { "", 0 },     { "B", 0 },  { "K", 10 },  { "KB", 10 },  { "KIB", 10 }, { "M", 20 },  { "MB", 20 },
                  { "MIB", 20 }, { "G", 30 }, { "GB", 30 }, { "GIB", 30 }, { "T", 40 },   { "TB", 40 }, { "TIB", 40 } };
    size_t digits = 0;
    while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    int64_t value;
    if (!firn_text_to_i64(firn_text_until(text, digits), &value))
        return false;
    struct firn_text unit = firn_text_trim(firn_text_from(text, digits));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (firn_text_same_nocase(unit, firn_text_of(units[i].suffix)))
            return !__builtin_mul_overflow(value, INT64_C(1) << units[i].shift, out);
    return false;
}

size_t firn_text_distance(struct firn_text a, struct firn_text b)
{
    size_t row[FIRN_TEXT_FAR + 1];
    if (a.len > FIRN_TEXT_FAR || b.len > FIRN_TEXT_FAR)
        return FIRN_TEXT_FAR;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t best = diagonal + (a.data[i - 1] != b.data[j - 1]);
            best = best < row[j] + 1 ? best : row[j] + 1;
            best = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b.len];
}

int firn_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool firn_text_to_bool(struct firn_text text)
{
    return firn_text_same_nocase(text, FIRN_TEXT("true"));
}
