/* The list of findings: what is kept, what is only counted, and merging. */
#include "maintain/finding.h"

#include "check.h"

#define CODE "file-missing"

static void add_many(struct firn_findings *findings, int count)
{
    for (int i = 0; i < count; i++) {
        firn_findings_add(findings, FIRN_SEVERITY_ERROR, CODE, FIRN_TEXT("/t/a"), "number %d", i);
        firn_findings_hint(findings, "hint %d", i);
    }
}

static void more_of_a_code_than_are_kept_are_counted(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_findings findings;
    firn_findings_init(&findings, op->arena);
    add_many(&findings, FIRN_FINDINGS_KEPT_MAX + 7);
    firn_findings_add(&findings, FIRN_SEVERITY_NOTICE, "other", FIRN_TEXT(""), "one");
    CHECK(findings.items.count == FIRN_FINDINGS_KEPT_MAX + 1, "%zu kept", findings.items.count);
    CHECK(firn_findings_count(&findings, FIRN_SEVERITY_ERROR) == FIRN_FINDINGS_KEPT_MAX + 7, "errors");
    CHECK(firn_findings_count(&findings, FIRN_SEVERITY_NOTICE) == 1, "notices");
    CHECK(firn_findings_count(&findings, FIRN_SEVERITY_WARNING) == 0, "warnings");
    CHECK(firn_text_is(findings.items.items[99].hint, "hint 99"), "the hint of the last one that is kept");
}

static void merging_keeps_counts_and_copies_texts(void **state)
{
    struct firn_op *op = test_op(state);
    struct firn_findings all;
    firn_findings_init(&all, op->arena);
    for (int turn = 0; turn < 3; turn++) {
        struct firn_arena arena = { 0 };
        struct firn_findings one;
        firn_findings_init(&one, &arena);
        add_many(&one, 60 * (turn + 1));
        firn_findings_merge(&all, &one);
        firn_arena_done(&arena);
    }
    CHECK(firn_findings_count(&all, FIRN_SEVERITY_ERROR) == 60 + 120 + 180, "counted");
    CHECK(all.items.count == FIRN_FINDINGS_KEPT_MAX, "%zu kept", all.items.count);
    CHECK(firn_text_is(all.items.items[60].text, "number 0"), "'%.*s'", FIRN_FMT(all.items.items[60].text));
    CHECK(firn_text_is(all.items.items[60].location, "/t/a"), "location");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(more_of_a_code_than_are_kept_are_counted),
        TEST(merging_keeps_counts_and_copies_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
