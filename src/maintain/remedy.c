/* What people are told to run: commands of firn and SQL for Spark, with the table's name in place. */
#include "maintain/remedy.h"

struct firn_text firn_remedy_word(struct firn_arena *arena, struct firn_text text)
{
    struct firn_text out = FIRN_TEXT("");
    bool is_plain = text.len > 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        is_plain = is_plain && (is_word || (i > 0 && (c == '-' || c == '=')) || c == '.' || c == '/' || c == ':');
    }
    if (is_plain)
        return text;
    for (ptrdiff_t at; (at = firn_text_find(text, '\'')) >= 0; text = firn_text_from(text, (size_t)at + 1))
        out = firn_text_format(arena, "%.*s%.*s'\\''", FIRN_FMT(out), FIRN_FMT(firn_text_until(text, (size_t)at)));
    return firn_text_format(arena, "'%.*s%.*s'", FIRN_FMT(out), FIRN_FMT(text));
}

struct firn_text firn_remedy_sql_text(struct firn_arena *arena, struct firn_text text)
{
    struct firn_text out = FIRN_TEXT("");
    for (ptrdiff_t at; (at = firn_text_find(text, '\'')) >= 0; text = firn_text_from(text, (size_t)at + 1))
        out = firn_text_format(arena, "%.*s%.*s''", FIRN_FMT(out), FIRN_FMT(firn_text_until(text, (size_t)at)));
    return firn_text_join(arena, out, text);
}

/* A table that was opened by its location is in no catalog by name: whoever runs the SQL has to say in which. */
static struct firn_text catalog_name(const struct firn_table *table)
{
    bool is_named = table->catalog && !firn_text_same(table->name, table->identifier);
    return is_named ? firn_catalog_name(table->catalog) : FIRN_TEXT("catalog");
}

struct firn_text firn_remedy_command(struct firn_arena *arena, const struct firn_table *table, const char *procedure,
                                     const char *rest)
{
    return firn_text_format(arena, "firn %s %.*s%s%s", procedure, FIRN_FMT(firn_remedy_word(arena, table->name)),
                            *rest ? " " : "", rest);
}

struct firn_text firn_remedy_call(struct firn_arena *arena, const struct firn_table *table, const char *procedure,
                                  const char *arguments)
{
    return firn_text_format(arena, "CALL %.*s.system.%s(table => '%.*s'%s%s)", FIRN_FMT(catalog_name(table)), procedure,
                            FIRN_FMT(firn_remedy_sql_text(arena, table->identifier)), *arguments ? ", " : "",
                            arguments);
}

struct firn_text firn_remedy_alter(struct firn_arena *arena, const struct firn_table *table, struct firn_text what)
{
    struct firn_text name = table->identifier;
    const char *quote = firn_text_find(name, '/') >= 0 ? "`" : ""; /* a location */
    return firn_text_format(arena, "ALTER TABLE %.*s.%s%.*s%s %.*s", FIRN_FMT(catalog_name(table)), quote,
                            FIRN_FMT(name), quote, FIRN_FMT(what));
}

struct firn_remedy firn_remedy_properties(struct firn_arena *arena, const struct firn_table *table,
                                          const struct firn_property *properties, size_t count)
{
    struct firn_text sql = FIRN_TEXT(""), words = FIRN_TEXT("");
    for (size_t i = 0; i < count; i++) {
        const struct firn_property *property = &properties[i];
        struct firn_text word =
            firn_text_format(arena, "%.*s=%.*s", FIRN_FMT(property->key), FIRN_FMT(property->value));
        words = firn_text_format(arena, "%.*s%s%.*s", FIRN_FMT(words), i ? " " : "",
                                 FIRN_FMT(firn_remedy_word(arena, word)));
        sql = firn_text_format(arena, "%.*s%s'%.*s' = '%.*s'", FIRN_FMT(sql), i ? ", " : "",
                               FIRN_FMT(firn_remedy_sql_text(arena, property->key)),
                               FIRN_FMT(firn_remedy_sql_text(arena, property->value)));
    }
    struct firn_text set = firn_text_format(arena, "SET TBLPROPERTIES (%.*s)", FIRN_FMT(sql));
    return (struct firn_remedy){
        .command = firn_remedy_command(arena, table, "set-properties", words.data),
        .call = firn_remedy_alter(arena, table, set),
    };
}

struct firn_remedy firn_remedy_both(struct firn_arena *arena, struct firn_remedy first, struct firn_remedy second)
{
    return (struct firn_remedy){
        .command = firn_text_format(arena, "%.*s && %.*s", FIRN_FMT(first.command), FIRN_FMT(second.command)),
        .call = firn_text_format(arena, "%.*s; %.*s", FIRN_FMT(first.call), FIRN_FMT(second.call)),
    };
}

struct firn_property firn_remedy_metrics_property(struct firn_arena *arena, struct firn_text column,
                                                  struct firn_text mode)
{
    return (struct firn_property){
        firn_text_format(arena, "write.metadata.metrics.column.%.*s", FIRN_FMT(column)),
        mode,
    };
}

const char *firn_remedy_metrics_mode(const struct firn_type *type)
{
    return type->id == FIRN_TYPE_STRING || type->id == FIRN_TYPE_BINARY ? "truncate(16)" : "full";
}
