/* Hidden files: never candidates for deletion. Reference: procedures.md, 7.2. */
#include "maintain/hidden_path.h"

static bool looks_hidden(struct firn_text name)
{
    return name.len > 0 && (name.data[0] == '_' || name.data[0] == '.');
}

struct firn_hidden_rule firn_hidden_rule_of(struct firn_op *op, const struct firn_metadata *metadata)
{
    FIRN_ARRAY(struct firn_text) shown = { 0 };
    for (uint32_t s = 0; s < metadata->spec_count; s++) {
        const struct firn_partition_spec *spec = &metadata->specs[s];
        for (uint32_t f = 0; f < spec->field_count; f++)
            if (looks_hidden(spec->fields[f].name))
                FIRN_PUSH(op->arena, &shown, firn_text_join(op->arena, spec->fields[f].name, FIRN_TEXT("=")));
    }
    return (struct firn_hidden_rule){ .shown = shown.items, .shown_count = shown.count };
}

static bool hides_part(const struct firn_hidden_rule *rule, struct firn_text part)
{
    if (!looks_hidden(part))
        return false;
    for (size_t i = 0; i < rule->shown_count; i++)
        if (firn_text_starts(part, rule->shown[i]))
            return false;
    return true;
}

bool firn_hidden_rule_hides(const struct firn_hidden_rule *rule, struct firn_text below)
{
    while (below.len > 0) {
        ptrdiff_t slash = firn_text_find(below, '/');
        if (hides_part(rule, slash < 0 ? below : firn_text_until(below, (size_t)slash)))
            return true;
        below = slash < 0 ? FIRN_TEXT("") : firn_text_from(below, (size_t)slash + 1);
    }
    return false;
}
