/* The lease of a table: one maintenance run at a time, across processes and hosts; and what maintenance remembers of
 * the table between runs.
 *
 * Both stand in one chain of small objects "metadata/_firn_maintain/<number>.json" beside the table's metadata, hidden
 * from orphan removal, also other engines'. The highest number counts: it says who holds the table, for how long at
 * most, or that nobody does, and it carries the memory (a JSON object). A change of any kind, taking, renewing,
 * remembering, releasing, is the exclusive creation of the next number; the ones before are deleted after it.
 *
 * Invariants
 *  (1) Of two who want to change what number N says, one creates N + 1, and the other learns of it. So a run that was
 *      taken over finds out at its next renewal at the latest, and cannot undo what the taker remembers.
 *  (2) A held table is taken over only when its lease has run out, or when the holder's process is known to have ended.
 *  (3) Whether a lease has run out is measured by one clock: the store's own, as the age of the newest number beside an
 *      object written just then. Clocks of hosts are not compared. Only a store that tells no times is judged by the
 *      local clock against the holder's, and then an hour's grace is given to clocks that disagree.
 *  (4) The holder renews at a third of the time the lease lasts, and once more before each swap of the table's
 *      metadata: a run that slept through its lease commits nothing.
 *  (5) A released lease stays as its last number, so that numbers never begin anew.
 *
 * The lease saves work, and keeps order; the table's safety does not hang on it: every commit is checked against what
 * others did, and every deletion against the newest metadata, with or without. */
#ifndef FIRN_MAINTAIN_LEASE_H
#define FIRN_MAINTAIN_LEASE_H

#include "firn/catalog.h"
#include "format/json/json.h"

/* What the newest number says. */
struct firn_lease_state {
    int64_t number; /* 0: there is none yet */
    bool is_held;
    struct firn_text run;    /* id of the run that holds it, or held it last */
    struct firn_text holder; /* for people: "host a, process 12" */
    struct firn_text process;
    int64_t began_ms, renewed_ms; /* by the holder's clock */
    int64_t lease_ms;             /* how long it lasts without being renewed */
    const json_t *memory;         /* an object; empty at first */
};
/* Reads it. Memory of another table that lay here is none. CORRUPT names the object. In op->arena. */
FIRN_CHECKED firn_status firn_lease_look(struct firn_op *op, const struct firn_table *table,
                                         struct firn_lease_state *out);
/* Who holds it, since when: "held by ... since ...". */
struct firn_text firn_lease_holder_text(struct firn_arena *arena, const struct firn_lease_state *state);

struct firn_lease_config {
    struct firn_text holder; /* for people */
    int64_t lease_ms;
    bool keeps_itself; /* a thread renews it in time; else the caller does */
};

struct firn_lease;

/* Takes the lease and watches `op` until it is released: swaps need it (4). BUSY says who holds it; what it remembers
 * is in `state` then, too. USAGE for a table opened for reading only. */
FIRN_CHECKED firn_status firn_lease_take(struct firn_op *op, struct firn_table *table,
                                         const struct firn_lease_config *config, struct firn_lease_state *state,
                                         struct firn_lease **out);
/* Renews it, remembering `memory` (borrowed; NULL: what it did). BUSY when another run has it now. */
FIRN_CHECKED firn_status firn_lease_renew(struct firn_op *op, struct firn_lease *lease, const json_t *memory);
/* Gives it back, if it is still this run's; what fails is logged, and the lease runs out by itself then. NULL is fine.
 */
void firn_lease_release(struct firn_op *op, struct firn_lease *lease);

#endif
