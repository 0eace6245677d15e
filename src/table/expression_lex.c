/* The words and signs of a WHERE text. */
#include "base/math.h"
#include "table/expression_internal.h"

struct lexer {
    struct firn_op *op;
    struct firn_text text;
    struct firn_tokens *tokens;
};

firn_status firn_where_fail(struct firn_op *op, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct firn_text message = firn_text_vformat(op->arena, format, args);
    va_end(args);
    return firn_fail(op, FIRN_USAGE, "where, character %zu: %.*s", at + 1, FIRN_FMT(message));
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_part(char c)
{
    return is_name_start(c) || is_digit(c);
}

static char char_at(struct firn_text text, size_t at)
{
    return at < text.len ? text.data[at] : '\0';
}

/* The character an escape stands for; % and _ keep their backslash, which LIKE wants to see. */
static size_t unescape(char c, char out[2])
{
    static const char from[] = "ntrb0Z", to[] = "\n\t\r\b\0\x1a";
    const char *found = c ? strchr(from, c) : NULL;
    if (c == '%' || c == '_') {
        out[0] = '\\';
        out[1] = c;
        return 2;
    }
    out[0] = found ? to[found - from] : c;
    return 1;
}

/* The position of the closing quote; a quote that is doubled or escaped does not close. */
static size_t find_close(struct firn_text text, size_t start, bool escapes)
{
    char quote = text.data[start];
    for (size_t i = start + 1; i < text.len; i++) {
        bool pair = text.data[i] == quote ? char_at(text, i + 1) == quote : text.data[i] == '\\' && escapes;
        if (text.data[i] == quote && !pair)
            return i;
        i += pair;
    }
    return text.len;
}

/* From the opening quote at `*at` to past the closing one. */
static firn_status lex_quoted(struct lexer *lexer, size_t *at, bool escapes, struct firn_text *out)
{
    struct firn_text text = lexer->text;
    size_t start = *at, end = find_close(text, start, escapes), len = 0;
    if (end >= text.len)
        return firn_where_fail(lexer->op, start, "the quote %c is not closed", text.data[start]);
    char *content = firn_arena_alloc(lexer->op->arena, end - start);
    for (size_t i = start + 1; i < end; i++) {
        char c = text.data[i];
        if (c == '\\' && escapes) {
            len += unescape(text.data[++i], content + len);
            continue;
        }
        i += c == text.data[start];
        content[len++] = c;
    }
    *at = end + 1;
    *out = (struct firn_text){ content, len };
    return FIRN_OK;
}

static size_t skip_digits(struct firn_text text, size_t at)
{
    while (is_digit(char_at(text, at)))
        at++;
    return at;
}

/* Digits, a point, an exponent, and the suffix of a type (L, S, Y, D, F, BD), which is dropped. */
static firn_status lex_number(struct lexer *lexer, size_t *at, struct firn_text *out)
{
    static const char *const suffixes[] = { "L", "S", "Y", "D", "F", "BD", "" };
    struct firn_text text = lexer->text;
    size_t start = *at, end = skip_digits(text, start);
    if (char_at(text, end) == '.')
        end = skip_digits(text, end + 1);
    if (char_at(text, end) == 'e' || char_at(text, end) == 'E') {
        size_t sign = char_at(text, end + 1) == '-' || char_at(text, end + 1) == '+';
        if (is_digit(char_at(text, end + 1 + sign)))
            end = skip_digits(text, end + 1 + sign);
    }
    *out = (struct firn_text){ text.data + start, end - start };
    size_t tail = end;
    while (is_name_part(char_at(text, tail)))
        tail++;
    struct firn_text suffix = { text.data + end, tail - end };
    for (size_t i = 0; i < FIRN_COUNT_OF(suffixes); i++)
        if (firn_text_same_nocase(suffix, firn_text_of(suffixes[i]))) {
            *at = tail;
            return FIRN_OK;
        }
    return firn_where_fail(lexer->op, start, "'%.*s%.*s' is not a number", FIRN_FMT(*out), FIRN_FMT(suffix));
}

static firn_status lex_symbol(struct lexer *lexer, size_t *at, struct firn_text *out)
{
    static const char *const symbols[] = { "<=>", "<=", ">=", "<>", "!=", "==", "=", "<",
                                           ">",   "!",  "(",  ")",  ",",  ".",  "-", "+" };
    struct firn_text rest = firn_text_from(lexer->text, *at);
    for (size_t i = 0; i < FIRN_COUNT_OF(symbols); i++)
        if (firn_text_starts(rest, firn_text_of(symbols[i]))) {
            *out = firn_text_of(symbols[i]);
            *at += out->len;
            return FIRN_OK;
        }
    return firn_where_fail(lexer->op, *at, "unexpected character '%c'", rest.data[0]);
}

static firn_status lex_one(struct lexer *lexer, size_t *at)
{
    struct firn_text text = lexer->text;
    char c = text.data[*at], after = char_at(text, *at + 1);
    struct firn_token token = { .at = *at };
    if ((c == 'x' || c == 'X') && (after == '\'' || after == '"')) {
        token.kind = FIRN_TOKEN_HEX;
        ++*at;
        FIRN_TRY(lex_quoted(lexer, at, false, &token.text));
    } else if (c == '\'' || c == '"' || c == '`') {
        token.kind = c == '`' ? FIRN_TOKEN_QUOTED : FIRN_TOKEN_STRING;
        FIRN_TRY(lex_quoted(lexer, at, c != '`', &token.text));
    } else if (is_digit(c) || (c == '.' && is_digit(after))) {
        token.kind = FIRN_TOKEN_NUMBER;
        FIRN_TRY(lex_number(lexer, at, &token.text));
    } else if (is_name_start(c)) {
        token.kind = FIRN_TOKEN_NAME;
        while (is_name_part(char_at(text, *at)))
            ++*at;
        token.text = (struct firn_text){ text.data + token.at, *at - token.at };
    } else {
        token.kind = FIRN_TOKEN_SYMBOL;
        FIRN_TRY(lex_symbol(lexer, at, &token.text));
    }
    FIRN_PUSH(lexer->op->arena, lexer->tokens, token);
    return FIRN_OK;
}

firn_status firn_where_lex(struct firn_op *op, struct firn_text text, struct firn_tokens *out)
{
    struct lexer lexer = { .op = op, .text = text, .tokens = out };
    size_t at = 0;
    *out = (struct firn_tokens){ 0 };
    while (at < text.len) {
        char c = text.data[at];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            at++;
        else
            FIRN_TRY(lex_one(&lexer, &at));
    }
    FIRN_PUSH(op->arena, out, ((struct firn_token){ .kind = FIRN_TOKEN_END, .at = at }));
    return FIRN_OK;
}
