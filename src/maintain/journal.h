/* The journal of a run: what it writes, has finished, and is about to delete, told before it happens, so that a later
 * run can use and clear what a killed one left.
 *
 * A run's events are small objects "<run>.<number>.<kind>.jsonl" in one folder beside the table's metadata, hidden from
 * orphan removal, also other engines': an object, since stores cannot append. The first line of an event is a JSON
 * object, and so are the lines below it. Kinds:
 *   begin    which procedure of which process, on which table
 *   names    {"folder", "uuid"}: every object in that folder whose name has that UUID is the run's
 *   group    a finished group: its inputs, its result, and a digest of all that the result depends on
 *   removal  {"path", "type", "bytes"}: what is to be deleted once the commit has let go of it
 *   attempt  a commit is about to be tried
 *   end      the run has ended without clearing up, and why
 *   taken    another run clears up after this one
 *
 * Invariants
 *  (1) An object whose name has a UUID is announced before it is written, and a removal before the commit that lets go
 *      of its files: whatever a run leaves, its journal names.
 *  (2) Only a run that is over is cleared up after, by one other run at a time: the taken event is created exclusively.
 *      A run is over when it says so, or when its process is known to have ended. One of which nothing can be known
 *      is taken to be over after three days without an event, and cannot commit any more if it lives: it looks for a
 *      taken event before each swap.
 *  (3) What a run left is deleted by maintain/removal.h: if the newest metadata, of whatever outcome, does not reach
 *      it, and no commit of it can still happen.
 *  (4) A finished group is used again only if its run's process is known to have ended, what it depends on is the same,
 *      its files are there, and it is younger than any file that orphan removal takes.
 *  (5) Events go when nothing is left to be done, a run's begin last of all. What cannot be read is left alone. */
#ifndef FIRN_MAINTAIN_JOURNAL_H
#define FIRN_MAINTAIN_JOURNAL_H

#include "base/buffer.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/uuid.h"
#include "firn/journal.h"
#include "format/json/json.h"
#include "maintain/mark.h"
#include "maintain/removal.h"

/* The folder of a table's journals. */
struct firn_text firn_journal_folder(struct firn_arena *arena, const struct firn_metadata *metadata);

/* Reading: what the runs of a table have told. ------------------------------------------------------------------- */

enum firn_run_state {
    FIRN_RUN_LIVE,       /* its process runs, or was heard of lately */
    FIRN_RUN_ENDED,      /* it said so */
    FIRN_RUN_DEAD,       /* its process has ended */
    FIRN_RUN_SILENT,     /* nothing was heard of it for long, and nothing can be known */
    FIRN_RUN_TAKEN,      /* another run clears up after it */
    FIRN_RUN_OTHERS,     /* of another table that lay here */
    FIRN_RUN_UNREADABLE, /* its begin cannot be read */
};
const char *firn_run_state_name(enum firn_run_state state);

struct firn_run_event {
    struct firn_text location;
    json_t *json; /* the first line */
};
struct firn_run_names {
    struct firn_text folder, uuid;
};

struct firn_run {
    struct firn_text id;
    enum firn_run_state state;
    struct firn_text problem; /* of an unreadable one */
    struct firn_text procedure, process, table_uuid, outcome;
    int64_t began_ms, last_ms;
    int64_t attempt_ms; /* of the last attempt to commit; 0: none */
    bool has_begin, has_end;
    int64_t taken_number;   /* of the last taken event; 0: none */
    struct firn_text taker; /* run id of that */
    FIRN_ARRAY(struct firn_run_names) names;
    FIRN_ARRAY(struct firn_run_event) groups, removals;
    FIRN_ARRAY(struct firn_text) events; /* all of them; a begin is not among them */
};
struct firn_runs {
    struct firn_run *items; /* oldest first */
    size_t count;
};

/* All runs that have a journal. Events that vanish meanwhile are those of runs that ended well. In op->arena. */
FIRN_CHECKED firn_status firn_runs_read(struct firn_op *op, const struct firn_table *table, struct firn_runs *out);
/* Whether another run may clear up after it (2). */
bool firn_run_is_over(const struct firn_run *run);
/* Whether a finished group of it may be used at `now_ms` (4). */
bool firn_run_offers_group(const struct firn_run *run, const struct firn_run_event *group, int64_t now_ms);
struct firn_text firn_run_begin_location(struct firn_arena *arena, const struct firn_metadata *metadata,
                                         const struct firn_run *run);
/* Reads an event: its first line, and calls `visit` (NULL: for none) for every line below, with an arena that goes
 * after the line. NOT_FOUND, CORRUPT. */
typedef firn_status firn_event_visit(struct firn_op *op, void *context, const json_t *line);
FIRN_CHECKED firn_status firn_event_read(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                         json_t **header, firn_event_visit *visit, void *context);
/* The first UUID in the last part of a location; false: none. Borrowed. */
bool firn_uuid_in_name(struct firn_text location, struct firn_text *out);
/* The key of a folder and a UUID in maps. */
struct firn_text firn_run_names_key(struct firn_arena *arena, struct firn_text folder, struct firn_text uuid);

/* Writing: a run's own journal. ---------------------------------------------------------------------------------- */

struct firn_journal;

/* Begins the journal of a run, watches `op` until the end, and takes the runs that are over (2). Clears up after these
 * at once, but for those with finished groups, which may be used first: what they meant to delete and did not commit is
 * judged before this run commits anything. `out` is NULL where neither the caller needs a journal nor another run left
 * one, and for a table that is read-only or keeps its files for others (gc.enabled=false). */
FIRN_CHECKED firn_status firn_journal_begin(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                            const char *procedure, bool is_needed, struct firn_journal **out);
/* Announces names before they are needed, in one event: `locations` are of files to be. NULL is fine here and below. */
FIRN_CHECKED firn_status firn_journal_announce(struct firn_op *op, struct firn_journal *journal,
                                               const struct firn_text *locations, size_t count);
/* A group is finished. `header` has its members; takes over one reference. `lines` is an array of objects, borrowed.
 * May be called from several threads. */
FIRN_CHECKED firn_status firn_journal_group(struct firn_op *op, struct firn_journal *journal, json_t *header,
                                            const json_t *lines);
/* What goes once the next commit stands, in place of what was told before. */
FIRN_CHECKED firn_status firn_journal_removal(struct firn_op *op, struct firn_journal *journal,
                                              struct firn_removal *removal, bool mark);
/* Whether the journal's run has taken that run. */
bool firn_journal_has_taken(const struct firn_journal *journal, struct firn_text run_id);

/* What clearing up did. */
struct firn_clearing {
    struct firn_removal_report removed;
    int64_t marked_count;
    int64_t run_count;  /* of which nothing is left */
    int64_t left_count; /* of which something is */
};
int64_t firn_clearing_file_count(const struct firn_clearing *clearing); /* deleted or marked */
/* Ends the run and its watch, and clears up after the other runs taken. Its own events go, unless the outcome is
 * unknown (`status`), or it leaves files that it was to delete. What fails here is logged and left to the next run;
 * `status` and its error stay. NULL is fine. */
void firn_journal_end(struct firn_op *op, struct firn_journal *journal, firn_status status, bool leaves_files,
                      struct firn_clearing *out);

/* Does `work` between begin and end: for procedures that have no more to tell. */
typedef firn_status firn_journal_work(struct firn_op *op, void *context);
FIRN_CHECKED firn_status firn_journal_run(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                          const char *procedure, bool is_needed, firn_journal_work *work,
                                          void *context);

/* Clears up after one run that was taken. */
FIRN_CHECKED firn_status firn_run_clear(struct firn_op *op, struct firn_pool *pool, struct firn_table *table,
                                        const struct firn_run *run, struct firn_clearing *out);

#endif
