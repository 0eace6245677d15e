/* Scripts: read statement by statement; what is read prints to what reads the same. */
#include "fuzz.h"

#include "support/sql_text.h"

static void check_again(struct firn_op *op, const struct firn_sql_statement *statement)
{
    struct firn_text once = sql_text(op->arena, statement);
    struct firn_sql_script script = firn_sql_script_of(once);
    const struct firn_sql_statement *again;
    if (firn_sql_next(op, &script, &again) != FIRN_OK || !firn_text_same(once, sql_text(op->arena, again)))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_op *op = fuzz_begin(&fuzz);
    struct firn_sql_script script = firn_sql_script_of((struct firn_text){ (const char *)data, len });
    const struct firn_sql_statement *statement;
    struct firn_sql_name name;
    firn_status status;
    firn_sql_is_complete(op, script.text);
    while ((status = firn_sql_next(op, &script, &statement)) == FIRN_OK && statement)
        check_again(op, statement);
    if (status != FIRN_OK && status != FIRN_USAGE && status != FIRN_UNSUPPORTED && status != FIRN_LIMIT)
        __builtin_trap();
    FIRN_IGNORE(firn_sql_name_parse(op, script.text, &name), "any outcome is right");
    return fuzz_end(&fuzz);
}
