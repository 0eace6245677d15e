/* Whose a metadata file is. */
#include "check.h"

#include "maintain/table_identity.h"

static void tells_by_the_beginning(void **state)
{
    static const struct {
        const char *text;
        bool tells;
    } cases[] = {
        { "{\"format-version\":2,\"table-uuid\":\"u\",\"location\":\"m:/t\",", true }, /* cut off, and still plain */
        { " {\n \"location\" : \"m:/t/\" ,\n \"last-updated-ms\" : -1 ,\"table-uuid\" : \"u\" , [[[", true },
        { "{\"format-version\":2,\"table-uuid\":\"u\"", false },
        { "{\"schema\":{},\"table-uuid\":\"u\",\"location\":\"m:/t\"", false },
        { "{\"location\":\"m:\\/t\",\"table-uuid\":\"u\"", false },
        { "{\"table-uuid\":\"u\" \"location\":\"m:/t\"}", false },
        { "{\"table-uuid\":\"u\",\"location\":\"m:/t", false },
        { "{\"table-uuid\":null,\"location\":\"m:/t\"}", false },
        { "[\"table-uuid\",\"u\"]", false },
        { "{", false },
        { "", false },
    };
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    struct firn_table_identity identity;
    struct firn_text file = FIRN_TEXT("m:/x.metadata.json");
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_STATUS(op, FIRN_NOT_FOUND, firn_table_identity_read(op, store, file, &identity));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(op, firn_store_put(op, store, file, false, firn_bytes_of_text(firn_text_of(cases[i].text))));
        firn_status status = firn_table_identity_read(op, store, file, &identity);
        CHECK(status == (cases[i].tells ? FIRN_OK : FIRN_CORRUPT), "case %zu: %s", i, op->error.text);
        if (cases[i].tells)
            CHECK(firn_text_is(identity.table_uuid, "u") && firn_text_is(identity.location, "m:/t"), "case %zu", i);
    }
    firn_store_close(store);
}

/* Where the beginning does not tell, the whole file does. */
static void tells_by_the_whole(void **state)
{
    static const char text[] = "{\"schema\":{\"type\":\"struct\",\"fields\":[]},\"partition-spec\":[],\"last-column-"
                               "id\":0,\"format-version\":1,"
                               "\"last-updated-ms\":1,\"properties\":{},\"location\":\"m:/t/\"}";
    struct firn_op *op = test_op(state);
    struct firn_store *store;
    struct firn_table_identity identity;
    struct firn_text file = FIRN_TEXT("m:/x.metadata.json");
    CHECK_OK(op, firn_store_open_memory(op, &store));
    CHECK_OK(op, firn_store_put(op, store, file, false, firn_bytes_of_text(firn_text_of(text))));
    CHECK_OK(op, firn_table_identity_read(op, store, file, &identity));
    CHECK(identity.table_uuid.len == 0 && firn_text_is(identity.location, "m:/t"), "%.*s", FIRN_FMT(identity.location));
    firn_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(tells_by_the_beginning), TEST(tells_by_the_whole) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
