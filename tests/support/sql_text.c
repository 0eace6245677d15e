/* Printing of statements. */
#include "support/sql_text.h"

struct printer {
    struct firn_arena *arena;
    char *items;
    size_t count, capacity;
};

static void put(struct printer *out, struct firn_text text)
{
    for (size_t i = 0; i < text.len; i++)
        FIRN_PUSH(out->arena, out, text.data[i]);
}

static void put_words(struct printer *out, const char *words)
{
    put(out, firn_text_of(words));
}

static void put_quoted(struct printer *out, char quote, struct firn_text text)
{
    FIRN_PUSH(out->arena, out, quote);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == quote || (text.data[i] == '\\' && quote != '`'))
            FIRN_PUSH(out->arena, out, text.data[i]);
        FIRN_PUSH(out->arena, out, text.data[i]);
    }
    FIRN_PUSH(out->arena, out, quote);
}

static void put_name(struct printer *out, const struct firn_sql_name *name)
{
    for (size_t i = 0; i < name->count; i++) {
        put_words(out, i ? "." : "");
        put_quoted(out, '`', name->items[i]);
    }
}

static void put_scalar(struct printer *out, const struct firn_sql_value *value)
{
    static const char *const before[] = {
        [FIRN_SQL_DATE] = "DATE ", [FIRN_SQL_TIMESTAMP] = "TIMESTAMP ", [FIRN_SQL_ARRAY] = 0
    };
    bool is_quoted = value->kind == FIRN_SQL_STRING || before[value->kind];
    if (before[value->kind])
        put_words(out, before[value->kind]);
    if (is_quoted)
        put_quoted(out, '\'', value->text);
    else
        put(out, value->text);
    if (value->kind == FIRN_SQL_DECIMAL)
        put_words(out, "D");
}

static void put_value(struct printer *out, const struct firn_sql_value *value)
{
    if (value->kind != FIRN_SQL_MAP && value->kind != FIRN_SQL_ARRAY) {
        put_scalar(out, value);
        return;
    }
    put_words(out, value->kind == FIRN_SQL_MAP ? "map(" : "array(");
    for (size_t i = 0; i < value->values.count; i++) {
        put_words(out, i ? ", " : "");
        put_scalar(out, &value->values.items[i]);
    }
    put_words(out, ")");
}

static void put_call(struct printer *out, const struct firn_sql_call *call)
{
    put_words(out, "CALL ");
    put_name(out, &call->procedure);
    put_words(out, "(");
    for (size_t i = 0; i < call->arguments.count; i++) {
        const struct firn_sql_argument *argument = &call->arguments.items[i];
        put_words(out, i ? ", " : "");
        if (argument->name.len > 0) {
            put_quoted(out, '`', argument->name);
            put_words(out, " => ");
        }
        put_value(out, &argument->value);
    }
    put_words(out, ")");
}

/* "5 snapshots 7d" as "5 snapshots 7 DAYS". */
static void put_retention(struct printer *out, const char *words, struct firn_text text)
{
    if (text.len == 0)
        return;
    put_words(out, words);
    switch (text.data[text.len - 1]) {
    case 'd':
        put(out, firn_text_until(text, text.len - 1));
        put_words(out, " DAYS");
        break;
    case 'h':
        put(out, firn_text_until(text, text.len - 1));
        put_words(out, " HOURS");
        break;
    case 'm':
        put(out, firn_text_until(text, text.len - 1));
        put_words(out, " MINUTES");
        break;
    default:
        put(out, text);
    }
}

static void put_ref(struct printer *out, const struct firn_sql_ref *ref, bool drop)
{
    put_words(out, drop ? "DROP" : ref->replace ? "REPLACE" : ref->or_replace ? "CREATE OR REPLACE" : "CREATE");
    put_words(out, ref->is_tag ? " TAG " : " BRANCH ");
    put_words(out, ref->if_not_exists ? "IF NOT EXISTS " : ref->if_exists ? "IF EXISTS " : "");
    put_quoted(out, '`', ref->name);
    put_words(out, ref->as_of_version.len ? " AS OF VERSION " : "");
    put(out, ref->as_of_version);
    put_retention(out, " RETAIN ", ref->retain);
    put_retention(out, " WITH SNAPSHOT RETENTION ", ref->snapshot_retention);
}

static void put_properties(struct printer *out, const struct firn_sql_properties *properties, bool unset)
{
    put_words(out, unset ? "UNSET TBLPROPERTIES (" : "SET TBLPROPERTIES (");
    for (size_t i = 0; i < properties->count; i++) {
        put_words(out, i ? ", " : "");
        put_quoted(out, '\'', properties->items[i].key);
        if (!unset) {
            put_words(out, " = ");
            put_quoted(out, '\'', properties->items[i].value);
        }
    }
    put_words(out, ")");
}

static void put_write(struct printer *out, const struct firn_sql_write *write)
{
    put_words(out, "WRITE");
    put_words(out, write->distributed_by_partition ? " DISTRIBUTED BY PARTITION" : "");
    put_words(out, write->unordered ? " UNORDERED" : "");
    put_words(out, write->locally ? " LOCALLY" : "");
    put_words(out, write->order.len ? " ORDERED BY " : "");
    put(out, write->order);
}

struct firn_text sql_text(struct firn_arena *arena, const struct firn_sql_statement *statement)
{
    struct printer out = { .arena = arena };
    if (statement->kind == FIRN_SQL_SELECT)
        return statement->text;
    if (statement->kind == FIRN_SQL_CALL) {
        put_call(&out, &statement->call);
        return (struct firn_text){ out.items, out.count };
    }
    put_words(&out, "ALTER TABLE ");
    put_name(&out, &statement->table);
    put_words(&out, " ");
    if (statement->kind == FIRN_SQL_CREATE_REF || statement->kind == FIRN_SQL_DROP_REF)
        put_ref(&out, &statement->ref, statement->kind == FIRN_SQL_DROP_REF);
    else if (statement->kind == FIRN_SQL_WRITE)
        put_write(&out, &statement->write);
    else
        put_properties(&out, &statement->properties, statement->kind == FIRN_SQL_UNSET_PROPERTIES);
    return (struct firn_text){ out.items, out.count };
}
