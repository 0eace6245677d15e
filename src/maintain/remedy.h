/* What people are told to run: commands of firn and SQL for Spark, with the table's name in place. All in the arena. */
#ifndef FIRN_MAINTAIN_REMEDY_H
#define FIRN_MAINTAIN_REMEDY_H

#include "firn/catalog.h"
#include "table/type.h"

/* A text as a shell takes it for one word. */
struct firn_text firn_remedy_word(struct firn_arena *arena, struct firn_text text);
/* A text as it stands inside the quotes of a SQL text. */
struct firn_text firn_remedy_sql_text(struct firn_arena *arena, struct firn_text text);
/* "firn PROCEDURE TABLE REST". */
struct firn_text firn_remedy_command(struct firn_arena *arena, const struct firn_table *table, const char *procedure,
                                     const char *rest);
/* The call of a procedure with SQL arguments after the table: "" for none, else "options => map(...)". */
struct firn_text firn_remedy_call(struct firn_arena *arena, const struct firn_table *table, const char *procedure,
                                  const char *arguments);
/* "ALTER TABLE catalog.db.t " and what follows. */
struct firn_text firn_remedy_alter(struct firn_arena *arena, const struct firn_table *table, struct firn_text what);
/* What sets table properties, both ways; as "ALTER TABLE ... SET TBLPROPERTIES (...)" and "firn set-properties ...". */
struct firn_remedy {
    struct firn_text command, call;
};
struct firn_remedy firn_remedy_properties(struct firn_arena *arena, const struct firn_table *table,
                                          const struct firn_property *properties, size_t count);
/* The first, then the second. */
struct firn_remedy firn_remedy_both(struct firn_arena *arena, struct firn_remedy first, struct firn_remedy second);
/* The property by which a column's metrics mode is set. */
struct firn_property firn_remedy_metrics_property(struct firn_arena *arena, struct firn_text column,
                                                  struct firn_text mode);
/* The metrics mode that keeps bounds of a column without much ado. */
const char *firn_remedy_metrics_mode(const struct firn_type *type);

#endif
