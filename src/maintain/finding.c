/* The list of findings. */
#include "maintain/finding.h"

#include "base/math.h"

const char *firn_severity_name(enum firn_severity severity)
{
    static const char *const names[] = {
        [FIRN_SEVERITY_NOTICE] = "notice",
        [FIRN_SEVERITY_WARNING] = "warning",
        [FIRN_SEVERITY_ERROR] = "error",
    };
    return names[severity];
}

void firn_findings_init(struct firn_findings *findings, struct firn_arena *arena)
{
    *findings = (struct firn_findings){ .arena = arena };
}

static struct firn_finding_count *find_count(struct firn_findings *findings, enum firn_severity severity,
                                             const char *code)
{
    for (size_t i = 0; i < findings->counts.count; i++) {
        struct firn_finding_count *count = &findings->counts.items[i];
        if (count->severity == severity && strcmp(count->code, code) == 0)
            return count;
    }
    FIRN_PUSH(findings->arena, &findings->counts, ((struct firn_finding_count){ code, severity, 0 }));
    return &findings->counts.items[findings->counts.count - 1];
}

/* The place for a finding whose texts are kept, or NULL. */
static struct firn_finding *take_place(struct firn_findings *findings, enum firn_severity severity, const char *code)
{
    struct firn_finding_count *count = find_count(findings, severity, code);
    findings->last_is_kept = count->count++ < FIRN_FINDINGS_KEPT_MAX;
    if (!findings->last_is_kept)
        return NULL;
    FIRN_PUSH(findings->arena, &findings->items, ((struct firn_finding){ .severity = severity, .code = code }));
    return &findings->items.items[findings->items.count - 1];
}

void firn_findings_add(struct firn_findings *findings, enum firn_severity severity, const char *code,
                       struct firn_text location, const char *format, ...)
{
    struct firn_finding *place = take_place(findings, severity, code);
    va_list args;
    if (!place)
        return;
    place->location = firn_text_copy(findings->arena, location);
    va_start(args, format);
    place->text = firn_text_vformat(findings->arena, format, args);
    va_end(args);
}

void firn_findings_hint(struct firn_findings *findings, const char *format, ...)
{
    va_list args;
    if (!findings->last_is_kept)
        return;
    va_start(args, format);
    findings->items.items[findings->items.count - 1].hint = firn_text_vformat(findings->arena, format, args);
    va_end(args);
}

void firn_findings_merge(struct firn_findings *into, const struct firn_findings *from)
{
    for (size_t i = 0; i < from->items.count; i++) {
        const struct firn_finding *item = &from->items.items[i];
        struct firn_finding *place = take_place(into, item->severity, item->code);
        if (!place)
            continue;
        place->location = firn_text_copy(into->arena, item->location);
        place->text = firn_text_copy(into->arena, item->text);
        place->hint = firn_text_copy(into->arena, item->hint);
    }
    for (size_t i = 0; i < from->counts.count; i++) {
        const struct firn_finding_count *count = &from->counts.items[i];
        uint64_t told = FIRN_MIN(count->count, (uint64_t)FIRN_FINDINGS_KEPT_MAX);
        find_count(into, count->severity, count->code)->count += count->count - told;
    }
}

uint64_t firn_findings_count(const struct firn_findings *findings, enum firn_severity severity)
{
    uint64_t total = 0;
    for (size_t i = 0; i < findings->counts.count; i++)
        if (findings->counts.items[i].severity == severity)
            total += findings->counts.items[i].count;
    return total;
}
