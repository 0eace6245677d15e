/* Any text as a .pyiceberg.yaml, and as the name and value of a variable. */
#include "fuzz.h"

#include "firn/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_op fuzz;
    struct firn_config config = { 0 };
    struct firn_text text = { (const char *)data, size };
    struct firn_op *op = fuzz_begin(&fuzz);
    FIRN_IGNORE(firn_config_parse_yaml(op, text, FIRN_TEXT("input"), &config), "most inputs are broken");
    struct firn_text name = firn_text_join(op->arena, FIRN_TEXT("PYICEBERG_CATALOG__"), text);
    FIRN_IGNORE(firn_config_apply_variable(op, name, text, &config), "most inputs are broken");
    (void)firn_config_find(&config, text);
    return fuzz_end(&fuzz);
}
