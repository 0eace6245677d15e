/* The words and signs of Spark SQL, as WHERE texts and statements are made of them. */
#ifndef FIRN_TABLE_TOKEN_H
#define FIRN_TABLE_TOKEN_H

#include "firn/op.h"

enum firn_token_kind {
    FIRN_TOKEN_END,
    FIRN_TOKEN_NAME,
    FIRN_TOKEN_QUOTED, /* `name` */
    FIRN_TOKEN_NUMBER,
    FIRN_TOKEN_STRING,
    FIRN_TOKEN_HEX, /* X'...' */
    FIRN_TOKEN_SYMBOL,
    FIRN_TOKEN_FOREIGN /* a character that nothing begins with */
};

struct firn_token {
    enum firn_token_kind kind;
    size_t at, end;        /* where it begins in the text, and where what follows may begin */
    struct firn_text text; /* as written; QUOTED, STRING, HEX: the content; NUMBER: without the suffix of a type */
    bool has_suffix;       /* NUMBER: it was written with one, "5L" */
};

struct firn_tokens {
    struct firn_token *items;
    size_t count;
    size_t capacity;
};

struct firn_lexer {
    struct firn_op *op;
    struct firn_text text;
    size_t at;   /* where reading goes on; after a failure, where the fault is */
    bool is_cut; /* after a failure: the text ends within a quote or a comment */
};

/* The next token past blanks and comments ("-- line", nested block ones); END at the end, as often as asked. Strings
 * are decoded: a doubled quote, or one after a backslash, is a quote. USAGE for a quote or comment that is not closed,
 * and for a number that is none. */
FIRN_CHECKED firn_status firn_token_next(struct firn_lexer *lexer, struct firn_token *out);

/* A word, whatever its case. */
bool firn_token_is_word(const struct firn_token *token, const char *word);
bool firn_token_is_symbol(const struct firn_token *token, const char *symbol);

#endif
