/* Statements printed as SQL again, in one form only: what two parse to is the same if they print the same. */
#ifndef FIRN_TESTS_SUPPORT_SQL_TEXT_H
#define FIRN_TESTS_SUPPORT_SQL_TEXT_H

#include "firn/sql.h"

/* In `arena`. */
struct firn_text sql_text(struct firn_arena *arena, const struct firn_sql_statement *statement);

#endif
