/* "5 snapshots 7d": how long a reference and its snapshots are kept. */
#include "maintain/refs_retention.h"

#include "maintain/age.h"

static firn_status parse_age(struct firn_op *op, const char *option, struct firn_text text, int64_t *out)
{
    FIRN_TRY(firn_age_parse(op, option, text, out));
    return *out > 0 ? FIRN_OK : firn_fail(op, FIRN_USAGE, "--%s: an age must be above 0", option);
}

/* The next word of `rest`; empty at its end. */
static struct firn_text take_word(struct firn_text *rest)
{
    *rest = firn_text_trim(*rest);
    ptrdiff_t blank = firn_text_find(*rest, ' ');
    struct firn_text word = blank < 0 ? *rest : firn_text_until(*rest, (size_t)blank);
    *rest = firn_text_trim(firn_text_from(*rest, word.len));
    return word;
}

/* "5 snapshots" at the start of `rest`, if it is there. */
static firn_status take_snapshots(struct firn_op *op, struct firn_text *rest, int64_t *count)
{
    struct firn_text after = *rest, number = take_word(&after), unit = take_word(&after);
    if (!firn_text_same_nocase(unit, FIRN_TEXT("snapshots")) && !firn_text_same_nocase(unit, FIRN_TEXT("snapshot")))
        return FIRN_OK;
    if (!firn_text_to_i64(number, count) || *count < 1 || *count > INT32_MAX)
        return firn_fail(op, FIRN_USAGE, "--snapshot-retention: '%.*s' is no number of snapshots above 0",
                         FIRN_FMT(number));
    *rest = after;
    return FIRN_OK;
}

firn_status firn_ref_retention_parse(struct firn_op *op, const struct firn_ref_create_args *args,
                                     struct firn_ref_retention *out)
{
    struct firn_text rest = firn_text_trim(args->snapshot_retention);
    *out = (struct firn_ref_retention){ -1, -1, -1 };
    if (args->retain.len > 0)
        FIRN_TRY(parse_age(op, "retain", args->retain, &out->ref_age_ms_max));
    if (rest.len > 0 && args->kind == FIRN_KIND_TAG)
        return firn_fail(op, FIRN_USAGE, "--snapshot-retention: a tag keeps its one snapshot and no others");
    FIRN_TRY(take_snapshots(op, &rest, &out->snapshots_min_keep));
    return rest.len > 0 ? parse_age(op, "snapshot-retention", rest, &out->snapshot_age_ms_max) : FIRN_OK;
}

void firn_ref_retention_apply(const struct firn_ref_retention *retention, struct firn_ref *ref)
{
    if (retention->snapshots_min_keep >= 0)
        ref->snapshots_min_keep = retention->snapshots_min_keep;
    if (retention->snapshot_age_ms_max >= 0)
        ref->snapshot_age_ms_max = retention->snapshot_age_ms_max;
    if (retention->ref_age_ms_max >= 0)
        ref->ref_age_ms_max = retention->ref_age_ms_max;
}
