/* Table metadata: what parses must print to a text that parses to the same tree, and survive an update. */
#include "fuzz.h"

#include "table/metadata.h"

static void update(struct firn_op *op, const struct firn_metadata *metadata)
{
    static const char text[] = "[{\"action\":\"set-properties\",\"updates\":{\"a\":\"b\"}},"
                               "{\"action\":\"upgrade-format-version\",\"format-version\":3},"
                               "{\"action\":\"remove-snapshots\",\"snapshot-ids\":[1,2,3]}]";
    json_t *updates;
    struct firn_metadata *after;
    if (firn_json_parse(op, firn_text_of(text), "updates", &updates) != FIRN_OK)
        __builtin_trap();
    FIRN_IGNORE(firn_updates_apply(op, updates, metadata, FIRN_TEXT("f"), metadata->last_updated_ms, &after, NULL),
                "any outcome will do");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_op fuzz;
    struct firn_metadata *metadata, *again;
    struct firn_buffer printed = { 0 };
    struct firn_op *op = fuzz_begin(&fuzz);
    if (firn_metadata_parse(op, (struct firn_text){ (const char *)data, len }, &metadata) == FIRN_OK &&
        firn_metadata_print_file(op, metadata, false, &printed) == FIRN_OK) {
        if (firn_metadata_parse(op, firn_text_of_bytes(firn_buffer_bytes(&printed)), &again) != FIRN_OK ||
            !json_equal(metadata->root, again->root))
            __builtin_trap();
        firn_metadata_is_ancestor(metadata, metadata->current_snapshot_id, 1);
        firn_metadata_snapshot_at(metadata, metadata->last_updated_ms);
        update(op, metadata);
    }
    firn_buffer_done(&printed);
    return fuzz_end(&fuzz);
}
