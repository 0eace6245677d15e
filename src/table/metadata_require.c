/* Requirements of a commit: what must still hold of the table it was prepared from.
 * REST catalog specification, "TableRequirement". */
#include "base/math.h"
#include "table/metadata.h"
#include "table/snapshot_id.h"

/* Requirements that compare one 32-bit member. */
static const struct {
    const char *type, *member, *what;
    size_t offset;
} number_requirements[] = {
    { "assert-last-assigned-field-id", "last-assigned-field-id", "last column id",
      offsetof(struct firn_metadata, last_column_id) },
    { "assert-current-schema-id", "current-schema-id", "current schema",
      offsetof(struct firn_metadata, current_schema_id) },
    { "assert-last-assigned-partition-id", "last-assigned-partition-id", "last partition field id",
      offsetof(struct firn_metadata, last_partition_id) },
    { "assert-default-spec-id", "default-spec-id", "default partition spec",
      offsetof(struct firn_metadata, default_spec_id) },
    { "assert-default-sort-order-id", "default-sort-order-id", "default sort order",
      offsetof(struct firn_metadata, default_sort_order_id) },
};

static firn_status check_number(struct firn_op *op, const json_t *requirement, size_t row,
                                const struct firn_metadata *metadata)
{
    int32_t wanted, found;
    memcpy(&found, (const char *)metadata + number_requirements[row].offset, sizeof found);
    FIRN_TRY(firn_json_need_i32(op, requirement, number_requirements[row].member, "requirement", &wanted));
    if (wanted != found)
        return firn_fail(op, FIRN_CONFLICT, "the table's %s changed: expected %d, found %d",
                         number_requirements[row].what, wanted, found);
    return FIRN_OK;
}

static firn_status check_uuid(struct firn_op *op, const json_t *requirement, const struct firn_metadata *metadata)
{
    struct firn_text uuid;
    FIRN_TRY(firn_json_need_text(op, requirement, "uuid", "requirement", &uuid));
    if (!firn_text_same_nocase(uuid, metadata->table_uuid))
        return firn_fail(op, FIRN_CONFLICT, "the table is another one: expected UUID %.*s, found %.*s", FIRN_FMT(uuid),
                         FIRN_FMT(metadata->table_uuid));
    return FIRN_OK;
}

static firn_status check_ref(struct firn_op *op, const json_t *requirement, const struct firn_metadata *metadata)
{
    struct firn_text name;
    int64_t wanted = FIRN_NO_SNAPSHOT;
    bool exists;
    FIRN_TRY(firn_json_need_text(op, requirement, "ref", "requirement", &name));
    FIRN_TRY(firn_snapshot_id_find(op, requirement, "snapshot-id", "requirement", &wanted, &exists));
    const struct firn_ref *ref = firn_metadata_ref(metadata, name);
    if (!exists && ref)
        return firn_fail(op, FIRN_CONFLICT, "reference '%.*s' was created concurrently", FIRN_FMT(name));
    if (exists && !ref)
        return firn_fail(op, FIRN_CONFLICT, "reference '%.*s' is gone, expected it at snapshot %" PRId64,
                         FIRN_FMT(name), wanted);
    if (exists && ref->snapshot_id != wanted)
        return firn_fail(op, FIRN_CONFLICT, "reference '%.*s' has moved: expected snapshot %" PRId64 ", found %" PRId64,
                         FIRN_FMT(name), wanted, ref->snapshot_id);
    return FIRN_OK;
}

/* Exactly these references, so that none was pointed meanwhile to what a change takes away. A server does not know this
 * requirement; to it go those on single references. */
static firn_status check_refs(struct firn_op *op, const json_t *requirement, const struct firn_metadata *metadata)
{
    json_t *wanted;
    FIRN_TRY(firn_json_need_array(op, requirement, "refs", "requirement", &wanted));
    for (size_t i = 0; i < json_array_size(wanted); i++)
        FIRN_TRY(check_ref(op, json_array_get(wanted, i), metadata));
    if (json_array_size(wanted) != metadata->ref_count)
        return firn_fail(op, FIRN_CONFLICT, "a reference was created concurrently");
    return FIRN_OK;
}

static firn_status check_one(struct firn_op *op, const json_t *requirement, const struct firn_metadata *metadata)
{
    struct firn_text type;
    FIRN_TRY(firn_json_need_text(op, requirement, "type", "requirement", &type));
    if (firn_text_is(type, "assert-create"))
        return metadata ? firn_fail(op, FIRN_CONFLICT, "the table exists already") : FIRN_OK;
    if (!metadata)
        return firn_fail(op, FIRN_CONFLICT, "the table does not exist");
    if (firn_text_is(type, "assert-table-uuid"))
        return check_uuid(op, requirement, metadata);
    if (firn_text_is(type, "assert-ref-snapshot-id"))
        return check_ref(op, requirement, metadata);
    if (firn_text_is(type, FIRN_REQUIREMENT_REFS))
        return check_refs(op, requirement, metadata);
    for (size_t i = 0; i < FIRN_COUNT_OF(number_requirements); i++)
        if (firn_text_is(type, number_requirements[i].type))
            return check_number(op, requirement, i, metadata);
    return firn_fail(op, FIRN_UNSUPPORTED, "requirement '%.*s'", FIRN_FMT(type));
}

firn_status firn_requirements_check(struct firn_op *op, const json_t *requirements,
                                    const struct firn_metadata *metadata)
{
    for (size_t i = 0; i < json_array_size(requirements); i++)
        FIRN_TRY(check_one(op, json_array_get(requirements, i), metadata));
    return FIRN_OK;
}
