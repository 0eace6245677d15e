/* What the grammars of statements share: the tokens of one statement, and taking them one after the other. */
#ifndef FIRN_SQL_PARSER_H
#define FIRN_SQL_PARSER_H

#include "firn/sql.h"
#include "table/token.h"

struct firn_sql_parser {
    struct firn_op *op;
    struct firn_text script;
    size_t known_at; /* a position whose place is known */
    struct firn_sql_place known_place;
    struct firn_tokens tokens; /* of one statement; the last is END */
    size_t next;
};

/* The token `ahead` of the next one; END past the end. */
const struct firn_token *firn_sql_peek(const struct firn_sql_parser *parser, size_t ahead);
const struct firn_token *firn_sql_take(struct firn_sql_parser *parser);
/* Takes the word or symbol if it comes next. */
bool firn_sql_take_word(struct firn_sql_parser *parser, const char *word);
bool firn_sql_take_symbol(struct firn_sql_parser *parser, const char *symbol);
/* Words separated by single blanks: all of them or none. */
bool firn_sql_take_words(struct firn_sql_parser *parser, const char *words);

/* USAGE unless it comes next. */
FIRN_CHECKED firn_status firn_sql_need_words(struct firn_sql_parser *parser, const char *words);
FIRN_CHECKED firn_status firn_sql_need_symbol(struct firn_sql_parser *parser, const char *symbol);
FIRN_CHECKED firn_status firn_sql_need_end(struct firn_sql_parser *parser);
/* A plain or back-quoted identifier. `what` names it for errors. */
FIRN_CHECKED firn_status firn_sql_need_identifier(struct firn_sql_parser *parser, const char *what,
                                                  struct firn_text *out);
/* Identifiers joined by dots. */
FIRN_CHECKED firn_status firn_sql_need_name(struct firn_sql_parser *parser, const char *what,
                                            struct firn_sql_name *out);
/* A whole number above 0, without a sign. */
FIRN_CHECKED firn_status firn_sql_need_count(struct firn_sql_parser *parser, const char *what, struct firn_text *out);
/* One or several string literals side by side, which are one. */
FIRN_CHECKED firn_status firn_sql_need_string(struct firn_sql_parser *parser, const char *what, struct firn_text *out);

/* USAGE: "'x' stands where `what` is expected". */
firn_status firn_sql_fail_expected(struct firn_sql_parser *parser, const char *what);
/* Of any position of the statement; takes time for those before one that was asked for. */
struct firn_sql_place firn_sql_place_at(struct firn_sql_parser *parser, size_t at);
struct firn_sql_place firn_sql_place_of(struct firn_sql_parser *parser, const struct firn_token *token);

/* A whole statement each, from the word after CALL or after ALTER TABLE and the name. */
FIRN_CHECKED firn_status firn_sql_parse_call(struct firn_sql_parser *parser, struct firn_sql_call *out);
FIRN_CHECKED firn_status firn_sql_parse_alter(struct firn_sql_parser *parser, struct firn_sql_statement *out);
/* A literal that is neither a map nor an array. */
FIRN_CHECKED firn_status firn_sql_parse_constant(struct firn_sql_parser *parser, struct firn_sql_value *out);

#endif
