/* JSON results: most are jansson trees; what programs add to them goes the same way. */
#ifndef FIRN_JSON_H
#define FIRN_JSON_H

#include "firn/text.h"

#include <jansson.h>

/* A new reference; never NULL but for lack of memory. JSON holds UTF-8 only: a byte that is none becomes "\xNN". */
json_t *firn_json_string(struct firn_text text);

#endif
