/* The list of marks: reading, replacing, adding. The format stands in mark.h. */
#include "maintain/mark.h"

#include "base/map.h"
#include "base/time.h"
#include "store/lines.h"
#include "table/location.h"

static const struct firn_text heading = FIRN_TEXT_INIT(
    "# firn marks, version 1: files of this table that nothing refers to. They are still there. `firn\n"
    "# remove-orphan-files TABLE --sweep` deletes those marked long enough ago that are still unreferenced and\n"
    "# unchanged; `firn undelete TABLE [PATH...]` takes files from this list.\n"
    "# marked\tbytes\tlast modified\treason\tlocation\n");

struct firn_text firn_marks_location(struct firn_arena *arena, const struct firn_metadata *metadata)
{
    return firn_metadata_location(arena, metadata, FIRN_TEXT("_firn_marks.tsv"));
}

struct firn_text firn_marks_file(struct firn_op *op, const struct firn_table *table)
{
    return firn_marks_location(op->arena, table->metadata);
}

/* Lines ---------------------------------------------------------------------------------------------------------- */

static struct firn_text time_text(struct firn_arena *arena, int64_t ms)
{
    return firn_text_join(arena, firn_timestamp_text(arena, ms, 1000, 'T'), FIRN_TEXT("Z"));
}

/* The letters that stand for bytes a field cannot hold. */
static const struct {
    char byte, letter;
} escapes[] = { { '\t', 't' }, { '\n', 'n' }, { '\r', 'r' }, { '\\', '\\' } };

static char letter_of(char byte)
{
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].byte == byte)
            return escapes[i].letter;
    return 0;
}

static struct firn_text escaped(struct firn_arena *arena, struct firn_text text)
{
    char *out = firn_arena_alloc(arena, 2 * text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char letter = letter_of(text.data[i]);
        if (letter)
            out[len++] = '\\';
        out[len++] = letter ? letter : text.data[i];
    }
    return (struct firn_text){ out, len };
}

/* False for a backslash that nothing known follows. */
static bool unescaped(struct firn_arena *arena, struct firn_text text, struct firn_text *out)
{
    char *to = firn_arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        to[len++] = text.data[i];
        if (text.data[i] != '\\')
            continue;
        size_t e = 0;
        i++;
        while (e < sizeof escapes / sizeof *escapes && (i == text.len || escapes[e].letter != text.data[i]))
            e++;
        if (e == sizeof escapes / sizeof *escapes)
            return false;
        to[len - 1] = escapes[e].byte;
    }
    *out = (struct firn_text){ to, len };
    return true;
}

static struct firn_text take_field(struct firn_text *rest)
{
    ptrdiff_t tab = firn_text_find(*rest, '\t');
    struct firn_text field = tab < 0 ? *rest : firn_text_until(*rest, (size_t)tab);
    *rest = firn_text_from(*rest, tab < 0 ? rest->len : (size_t)tab + 1);
    return field;
}

static bool parse_time(struct firn_text text, int64_t *ms)
{
    int64_t micros;
    bool has_zone;
    if (!firn_timestamp_parse(text, &micros, NULL, &has_zone))
        return false;
    *ms = firn_floor_div(micros, 1000);
    return true;
}

static bool parse_mark(struct firn_arena *arena, struct firn_text line, struct firn_mark *mark)
{
    struct firn_text rest = line;
    return parse_time(take_field(&rest), &mark->marked_ms) && firn_text_to_i64(take_field(&rest), &mark->file.bytes) &&
           parse_time(take_field(&rest), &mark->file.modified_ms) &&
           unescaped(arena, take_field(&rest), &mark->reason) && unescaped(arena, rest, &mark->file.location) &&
           mark->file.location.len > 0;
}

/* Reading -------------------------------------------------------------------------------------------------------- */

struct reading {
    struct firn_text location;
    struct firn_lines lines;
    firn_mark_visit *visit;
    void *context;
};

static firn_status read_line(struct firn_op *op, void *context, struct firn_text line)
{
    const struct reading *reading = context;
    struct firn_mark mark;
    if (line.len == 0 || line.data[0] == '#')
        return FIRN_OK;
    if (!parse_mark(op->arena, line, &mark)) {
        firn_status status = firn_fail(op, FIRN_CORRUPT, "list of marks '%.*s': line %" PRIu64 " is none of firn's",
                                       FIRN_FMT(reading->location), reading->lines.number);
        return firn_hint(op, status, "mend or remove the line; without the list no file is marked");
    }
    return reading->visit(op, reading->context, &mark);
}

firn_status firn_marks_read(struct firn_op *op, struct firn_store *store, struct firn_text location,
                            firn_mark_visit *visit, void *context)
{
    struct reading reading = { .location = location, .visit = visit, .context = context };
    firn_status status = firn_lines_open(op, store, location, &reading.lines);
    if (status != FIRN_OK)
        return status == FIRN_NOT_FOUND ? FIRN_OK : status;
    status = firn_lines_each(op, &reading.lines, read_line, &reading);
    firn_lines_close(&reading.lines);
    return status;
}

/* Writing -------------------------------------------------------------------------------------------------------- */

void firn_marks_writer_init(struct firn_marks_writer *out, struct firn_store *store, struct firn_text location)
{
    *out = (struct firn_marks_writer){ .store = store, .location = location };
}

/* Only when there is a mark: where there is none, a table that cannot be written is no obstacle. */
static firn_status begin_file(struct firn_op *op, struct firn_marks_writer *writer)
{
    if (writer->file)
        return FIRN_OK;
    FIRN_TRY(firn_store_write(op, writer->store, writer->location, false, &writer->file));
    return firn_sink_write(op, firn_store_writer_sink(writer->file), firn_bytes_of_text(heading));
}

void firn_marks_writer_close(struct firn_marks_writer *writer)
{
    firn_store_writer_close(writer->file);
    writer->file = NULL;
}

firn_status firn_marks_writer_add(struct firn_op *op, struct firn_marks_writer *writer, const struct firn_mark *mark)
{
    struct firn_arena turn = { 0 };
    FIRN_TRY(begin_file(op, writer));
    struct firn_text line =
        firn_text_format(&turn, "%.*s\t%" PRId64 "\t%.*s\t%.*s\t%.*s\n", FIRN_FMT(time_text(&turn, mark->marked_ms)),
                         mark->file.bytes, FIRN_FMT(time_text(&turn, mark->file.modified_ms)),
                         FIRN_FMT(escaped(&turn, mark->reason)), FIRN_FMT(escaped(&turn, mark->file.location)));
    firn_status status = firn_sink_write(op, firn_store_writer_sink(writer->file), firn_bytes_of_text(line));
    firn_arena_done(&turn);
    return status;
}

firn_status firn_marks_writer_finish(struct firn_op *op, struct firn_marks_writer *writer)
{
    struct firn_store_writer *file = writer->file;
    if (!file)
        return firn_store_delete(op, writer->store, &writer->location, 1, NULL);
    writer->file = NULL;
    return firn_store_writer_finish(op, file);
}

/* Adding --------------------------------------------------------------------------------------------------------- */

/* Files to be marked, and what is known of each. */
struct adding {
    struct firn_store *store;
    const struct firn_mark_wish *wishes;
    struct firn_orphan_file *files; /* bytes -1: not there */
    struct firn_map unchanged;      /* locations of marks that are kept */
    struct firn_map wanted;         /* location to place in `files` */
    struct firn_marks_writer writer;
};

static firn_status look_at(struct firn_op *op, void *context, size_t index)
{
    struct adding *adding = context;
    struct firn_store_stat info = { 0 };
    struct firn_orphan_file *file = &adding->files[index];
    *file = (struct firn_orphan_file){ .location = adding->wishes[index].location, .bytes = -1 };
    firn_status status = firn_store_stat(op, adding->store, file->location, &info);
    if (status == FIRN_NOT_FOUND)
        return FIRN_OK;
    FIRN_TRY(status);
    file->bytes = (int64_t)info.size;
    file->modified_ms = info.modified_ms;
    return FIRN_OK;
}

/* Copies the marks there are; one of a file that is to be marked and has changed since gives way to the new one. */
static firn_status keep_mark(struct firn_op *op, void *context, const struct firn_mark *mark)
{
    struct adding *adding = context;
    const struct firn_map_entry *entry = firn_map_find_text(&adding->wanted, mark->file.location);
    const struct firn_orphan_file *file = entry ? &adding->files[entry->value.number] : NULL;
    if (file && (file->bytes != mark->file.bytes || file->modified_ms != mark->file.modified_ms))
        return FIRN_OK;
    if (file)
        firn_map_put_text(&adding->unchanged, file->location);
    return firn_marks_writer_add(op, &adding->writer, mark);
}

static firn_status add_marks(struct firn_op *op, struct adding *adding, struct firn_mark_report *out)
{
    int64_t now_ms = firn_now_ms(op);
    FIRN_TRY(firn_marks_read(op, adding->store, adding->writer.location, keep_mark, adding));
    for (size_t i = 0; i < adding->wanted.count; i++) {
        size_t wish = (size_t)adding->wanted.entries[i].value.number;
        const struct firn_orphan_file *file = &adding->files[wish];
        if (file->bytes < 0) {
            out->missing_count++;
            continue;
        }
        if (firn_map_find_text(&adding->unchanged, file->location)) {
            out->marked_already_count++;
            continue;
        }
        struct firn_mark mark = { .file = *file, .marked_ms = now_ms, .reason = adding->wishes[wish].reason };
        FIRN_TRY(firn_marks_writer_add(op, &adding->writer, &mark));
        out->marked_count++;
    }
    return firn_marks_writer_finish(op, &adding->writer);
}

firn_status firn_marks_add(struct firn_op *op, struct firn_pool *pool, const struct firn_table *table,
                           const struct firn_mark_wish *wishes, size_t count, struct firn_mark_report *out)
{
    struct adding adding = { .store = table->store, .wishes = wishes };
    *out = (struct firn_mark_report){ 0 };
    adding.files = FIRN_NEW_ARRAY(op->arena, struct firn_orphan_file, count);
    firn_map_init(&adding.unchanged, op->arena);
    firn_map_init(&adding.wanted, op->arena);
    FIRN_TRY(firn_pool_run(op, pool, count, 0, look_at, &adding));
    for (size_t i = 0; i < count; i++)
        firn_map_put_text(&adding.wanted, wishes[i].location)->value.number = i;
    struct firn_text list = firn_marks_location(op->arena, table->metadata);
    firn_marks_writer_init(&adding.writer, table->store, list);
    firn_status status = add_marks(op, &adding, out);
    firn_marks_writer_close(&adding.writer);
    return firn_context(op, status, "list of marks '%.*s'", FIRN_FMT(list));
}
