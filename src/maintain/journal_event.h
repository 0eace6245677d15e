/* Events of journals as objects. The format stands in journal.h. */
#ifndef FIRN_MAINTAIN_JOURNAL_EVENT_H
#define FIRN_MAINTAIN_JOURNAL_EVENT_H

#include "base/sink.h"
#include "format/json/json.h"
#include "store/store.h"

/* "<folder>/<run>.<number>.<kind>.jsonl". */
struct firn_text firn_event_location(struct firn_arena *arena, struct firn_text folder, struct firn_text run_id,
                                     int64_t number, const char *kind);
/* What a location says; false for one that is no event's. Texts are borrowed. */
struct firn_event_name {
    struct firn_text run_id, kind;
    int64_t number;
};
bool firn_event_name_parse(struct firn_text location, struct firn_event_name *out);

/* Writes an event, which must not exist: its first line, and an object a line after it (NULL: none). Durable. EXISTS.
 */
FIRN_CHECKED firn_status firn_event_put(struct firn_op *op, struct firn_store *store, struct firn_text location,
                                        const json_t *header, const json_t *lines);
FIRN_CHECKED firn_status firn_event_line(struct firn_op *op, struct firn_sink *sink, const json_t *line);

#endif
