/* Avro values as JSON, for people and for tests: what `firn inspect` shows. */
#ifndef FIRN_FORMAT_AVRO_VALUE_JSON_H
#define FIRN_FORMAT_AVRO_VALUE_JSON_H

#include "base/cursor.h"
#include "format/avro/schema.h"

/* Takes one value of `type`. Unions show the value alone, enums their symbol, bytes and fixed {"hex": "..."}, numbers
 * JSON has no form for "NaN", "Infinity", "-Infinity"; logical types show their raw number. Gives a new reference; on
 * broken input the cursor keeps the failure and the result is whatever was read. `empty_items_left` bounds values that
 * take no bytes, over all calls. */
json_t *firn_avro_take_json(struct firn_cursor *in, const struct firn_avro_type *type, uint64_t *empty_items_left);

#define FIRN_AVRO_EMPTY_ITEMS_MAX (UINT64_C(1) << 20)

#endif
