/* A store over another one whose nth call fails, whose deletions are slow or refused, and helpers to copy and compare
 * stores. */
#ifndef FIRN_TESTS_FAULT_STORE_H
#define FIRN_TESTS_FAULT_STORE_H

#include "store/store.h"

enum fault_kind {
    FAULT_ERROR,       /* the call does nothing and fails with SYSTEM */
    FAULT_ANSWER_LOST, /* a write, deletion or listing takes effect, and fails with UNAVAILABLE all the same */
    FAULT_SHORT_READ,  /* half of the bytes arrive, then CORRUPT; other calls fail with SYSTEM */
    FAULT_FULL,        /* writes fail with LIMIT; other calls pass and are not counted */
    FAULT_KILLED,      /* a write or deletion and all calls after it do nothing and fail, as for a program that is no
                          more; what reads is not counted */
    FAULT_KIND_COUNT
};

struct fault {
    uint32_t at_call; /* from 0; UINT32_MAX: none */
    enum fault_kind kind;
    const char *refused; /* deletions of locations that end so fail with DENIED, every time; NULL: none */
    uint32_t busy_count; /* deletions that fail with UNAVAILABLE, doing nothing, before the first one passes */
    uint32_t together;   /* deletions wait for one another until so many are under way, or for seconds in vain */
    bool at_hand;        /* objects that are expected are said to be; otherwise they are not */
    const char *watched; /* opened objects whose location holds this are counted; NULL: none */
};

const char *fault_name(enum fault_kind kind);

/* What a fault store reports; owned by the test. */
struct fault_report {
    atomic_uint calls;
    atomic_uint deletions;               /* asked for, refused ones too */
    atomic_uint deleting, deleting_most; /* under way, now and at most */
    atomic_uint watched_opens;
    atomic_uint expected;
    atomic_int expected_ahead; /* by how many, at most, these were more than watched_opens */
    atomic_bool fired;
};

/* Counts every call but closing and expecting, or those that the kind says; call number `at_call` fails once. Borrows
 * `inner` and `report`, which outlive it. */
FIRN_CHECKED firn_status fault_store_open(struct firn_op *op, struct firn_store *inner, struct fault fault,
                                          struct fault_report *report, struct firn_store **out);

/* Copies every object below `prefix`. */
FIRN_CHECKED firn_status store_copy(struct firn_op *op, struct firn_store *from, struct firn_store *to,
                                    struct firn_text prefix);
/* How many objects lie below `prefix`. */
FIRN_CHECKED firn_status store_count(struct firn_op *op, struct firn_store *store, struct firn_text prefix,
                                     size_t *count);
bool store_has(struct firn_op *op, struct firn_store *store, struct firn_text location);

#endif
