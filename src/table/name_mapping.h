/* Name mapping for data files without field ids. Iceberg spec, "Column Projection", "Name Mapping Serialization". */
#ifndef FIRN_TABLE_NAME_MAPPING_H
#define FIRN_TABLE_NAME_MAPPING_H

#include "table/type.h"

struct firn_name_mapping {
    struct firn_name_mapped *fields;
    uint32_t count;
};
struct firn_name_mapped {
    bool has_id;
    int32_t id;
    struct firn_text *names;
    uint32_t name_count;
    struct firn_name_mapping children;
};

FIRN_CHECKED firn_status firn_name_mapping_parse(struct firn_op *op, struct firn_text json,
                                                 struct firn_name_mapping *out);
/* The entry for a name among siblings, exact; NULL: none. */
const struct firn_name_mapped *firn_name_mapping_find(const struct firn_name_mapping *mapping, struct firn_text name);

#endif
