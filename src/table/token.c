/* The words and signs of Spark SQL. */
#include "table/token.h"

#include "base/math.h"

bool firn_token_is_word(const struct firn_token *token, const char *word)
{
    return token->kind == FIRN_TOKEN_NAME && firn_text_same_nocase(token->text, firn_text_of(word));
}

bool firn_token_is_symbol(const struct firn_token *token, const char *symbol)
{
    return token->kind == FIRN_TOKEN_SYMBOL && firn_text_is(token->text, symbol);
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

/* The text ends within what began at `at`. */
static firn_status fail_cut(struct firn_lexer *lexer, size_t at, const char *what)
{
    lexer->at = at;
    lexer->is_cut = true;
    return firn_fail(lexer->op, FIRN_USAGE, "%s is not closed", what);
}

/* From the opening quote to past the closing one. */
static firn_status lex_quoted(struct firn_lexer *lexer, bool escapes, struct firn_text *out)
{
    struct firn_text text = lexer->text;
    size_t start = lexer->at, end = find_close(text, start, escapes), len = 0;
    char quote = text.data[start];
    if (end >= text.len)
        return fail_cut(lexer, start, quote == '`' ? "the quote `" : quote == '"' ? "the quote \"" : "the quote '");
    char *content = firn_arena_alloc(lexer->op->arena, end - start);
    for (size_t i = start + 1; i < end; i++) {
        char c = text.data[i];
        if (c == '\\' && escapes) {
            len += unescape(text.data[++i], content + len);
            continue;
        }
        i += c == quote;
        content[len++] = c;
    }
    lexer->at = end + 1;
    *out = (struct firn_text){ content, len };
    return FIRN_OK;
}

static size_t skip_digits(struct firn_text text, size_t at)
{
    while (is_digit(char_at(text, at)))
        at++;
    return at;
}

/* Digits, a point and an exponent. */
static size_t skip_number(struct firn_text text, size_t at)
{
    size_t end = skip_digits(text, at);
    if (char_at(text, end) == '.')
        end = skip_digits(text, end + 1);
    if (char_at(text, end) == 'e' || char_at(text, end) == 'E') {
        size_t sign = char_at(text, end + 1) == '-' || char_at(text, end + 1) == '+';
        if (is_digit(char_at(text, end + 1 + sign)))
            end = skip_digits(text, end + 1 + sign);
    }
    return end;
}

/* A number and the suffix of a type (L, S, Y, D, F, BD). Digits and letters that are no number are a name: "2026_q1".
 */
static firn_status lex_number(struct firn_lexer *lexer, struct firn_token *token)
{
    static const char *const suffixes[] = { "L", "S", "Y", "D", "F", "BD", "" };
    struct firn_text text = lexer->text;
    size_t end = skip_number(text, token->at), tail = end, name_end = token->at;
    while (is_name_part(char_at(text, tail)))
        tail++;
    while (is_name_part(char_at(text, name_end)))
        name_end++;
    struct firn_text suffix = { text.data + end, tail - end };
    token->text = (struct firn_text){ text.data + token->at, end - token->at };
    token->has_suffix = suffix.len > 0;
    lexer->at = tail;
    for (size_t i = 0; i < FIRN_COUNT_OF(suffixes); i++)
        if (firn_text_same_nocase(suffix, firn_text_of(suffixes[i])))
            return FIRN_OK;
    if (name_end == tail) {
        *token = (struct firn_token){ .kind = FIRN_TOKEN_NAME, .at = token->at };
        token->text = (struct firn_text){ text.data + token->at, tail - token->at };
        return FIRN_OK;
    }
    lexer->at = token->at;
    return firn_fail(lexer->op, FIRN_USAGE, "'%.*s%.*s' is not a number", FIRN_FMT(token->text), FIRN_FMT(suffix));
}

static void lex_name(struct firn_lexer *lexer, struct firn_token *token)
{
    while (is_name_part(char_at(lexer->text, lexer->at)))
        lexer->at++;
    token->text = (struct firn_text){ lexer->text.data + token->at, lexer->at - token->at };
}

static void lex_symbol(struct firn_lexer *lexer, struct firn_token *token)
{
    static const char *const symbols[] = { "<=>", "<=", ">=", "<>", "!=", "==", "=>", "=", "<",
                                           ">",   "!",  "(",  ")",  ",",  ".",  "-",  "+", ";" };
    struct firn_text rest = firn_text_from(lexer->text, lexer->at);
    token->kind = FIRN_TOKEN_FOREIGN;
    token->text = firn_text_until(rest, 1);
    for (size_t i = 0; i < FIRN_COUNT_OF(symbols) && token->kind == FIRN_TOKEN_FOREIGN; i++)
        if (firn_text_starts(rest, firn_text_of(symbols[i]))) {
            token->kind = FIRN_TOKEN_SYMBOL;
            token->text = firn_text_of(symbols[i]);
        }
    lexer->at += token->text.len;
}

/* From "--" to the end of the line, or of the lines while each ends with a backslash. */
static void skip_line_comment(struct firn_lexer *lexer)
{
    struct firn_text text = lexer->text;
    while (lexer->at < text.len && (text.data[lexer->at] != '\n' || text.data[lexer->at - 1] == '\\'))
        lexer->at++;
}

/* Block comments nest. */
static firn_status skip_block_comment(struct firn_lexer *lexer)
{
    struct firn_text text = lexer->text;
    size_t start = lexer->at, depth = 0;
    while (lexer->at < text.len) {
        char c = text.data[lexer->at], after = char_at(text, lexer->at + 1);
        bool opens = c == '/' && after == '*', closes = c == '*' && after == '/';
        lexer->at += opens || closes ? 2 : 1;
        depth += opens;
        depth -= closes;
        if (depth == 0)
            return FIRN_OK;
    }
    return fail_cut(lexer, start, "the comment /*");
}

static firn_status skip_blanks(struct firn_lexer *lexer)
{
    struct firn_text text = lexer->text;
    while (lexer->at < text.len) {
        char c = text.data[lexer->at], after = char_at(text, lexer->at + 1);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            lexer->at++;
        else if (c == '-' && after == '-')
            skip_line_comment(lexer);
        else if (c == '/' && after == '*')
            FIRN_TRY(skip_block_comment(lexer));
        else
            break;
    }
    return FIRN_OK;
}

static firn_status lex_one(struct firn_lexer *lexer, struct firn_token *token)
{
    char c = lexer->text.data[token->at], after = char_at(lexer->text, token->at + 1);
    if ((c == 'x' || c == 'X') && (after == '\'' || after == '"')) {
        token->kind = FIRN_TOKEN_HEX;
        lexer->at++;
        return lex_quoted(lexer, false, &token->text);
    }
    if (c == '\'' || c == '"' || c == '`') {
        token->kind = c == '`' ? FIRN_TOKEN_QUOTED : FIRN_TOKEN_STRING;
        return lex_quoted(lexer, c != '`', &token->text);
    }
    if (is_digit(c) || (c == '.' && is_digit(after))) {
        token->kind = FIRN_TOKEN_NUMBER;
        return lex_number(lexer, token);
    }
    if (is_name_start(c)) {
        token->kind = FIRN_TOKEN_NAME;
        lex_name(lexer, token);
        return FIRN_OK;
    }
    lex_symbol(lexer, token);
    return FIRN_OK;
}

firn_status firn_token_next(struct firn_lexer *lexer, struct firn_token *out)
{
    FIRN_TRY(skip_blanks(lexer));
    *out = (struct firn_token){ .at = lexer->at };
    if (lexer->at < lexer->text.len)
        FIRN_TRY(lex_one(lexer, out));
    out->end = lexer->at;
    return FIRN_OK;
}
