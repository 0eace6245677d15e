/* The prompt, by libedit. */
#include "cli/prompt.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

enum { HISTORY_ENTRIES = 1000 };

struct cli_prompt {
    EditLine *editor;
    History *history;
    struct firn_arena arena;
    struct firn_text history_file; /* empty: none */
    bool is_first;                 /* line of a statement */
};

static char *prompt_text(EditLine *editor)
{
    static const char first[] = "firn> ", other[] = "   -> ";
    struct cli_prompt *prompt = NULL;
    el_get(editor, EL_CLIENTDATA, &prompt);
    return (char *)(uintptr_t)(prompt && prompt->is_first ? first : other); /* which libedit does not write to */
}

static struct firn_text find_history_file(struct firn_arena *arena)
{
    const char *file = getenv("FIRN_HISTORY"), *home = getenv("HOME");
    if (file)
        return firn_text_copy(arena, firn_text_of(file));
    if (!home || !*home)
        return FIRN_TEXT("");
    return firn_text_format(arena, "%s/.firn_history", home);
}

static void set_up(struct cli_prompt *prompt)
{
    HistEvent event;
    el_set(prompt->editor, EL_CLIENTDATA, prompt);
    el_set(prompt->editor, EL_PROMPT, prompt_text);
    el_set(prompt->editor, EL_EDITOR, "emacs");
    el_set(prompt->editor, EL_SIGNAL, 0); /* signals are the program's */
    el_set(prompt->editor, EL_HIST, history, prompt->history);
    el_source(prompt->editor, NULL);
    history(prompt->history, &event, H_SETSIZE, HISTORY_ENTRIES);
    history(prompt->history, &event, H_SETUNIQUE, 1);
    if (prompt->history_file.len > 0)
        history(prompt->history, &event, H_LOAD, prompt->history_file.data);
}

firn_status cli_prompt_open(struct firn_op *op, struct cli_prompt **out)
{
    struct cli_prompt *prompt = calloc(1, sizeof *prompt);
    if (!prompt)
        return firn_fail(op, FIRN_LIMIT, "no memory for a prompt");
    setlocale(LC_CTYPE, ""); /* libedit counts characters by it */
    firn_arena_init(&prompt->arena);
    prompt->history_file = find_history_file(&prompt->arena);
    prompt->editor = el_init("firn", stdin, stdout, stderr);
    prompt->history = history_init();
    if (!prompt->editor || !prompt->history) {
        cli_prompt_close(prompt);
        return firn_fail(op, FIRN_SYSTEM, "the terminal cannot be used for a prompt");
    }
    set_up(prompt);
    *out = prompt;
    return FIRN_OK;
}

void cli_prompt_close(struct cli_prompt *prompt)
{
    HistEvent event;
    if (!prompt)
        return;
    if (prompt->history && prompt->history_file.len > 0)
        history(prompt->history, &event, H_SAVE, prompt->history_file.data);
    if (prompt->editor)
        el_end(prompt->editor);
    if (prompt->history)
        history_end(prompt->history);
    firn_arena_done(&prompt->arena);
    free(prompt);
}

enum cli_prompt_event cli_prompt_read(struct cli_prompt *prompt, bool is_first, struct firn_text *line)
{
    int count = 0;
    prompt->is_first = is_first;
    errno = 0;
    const char *text = el_gets(prompt->editor, &count);
    if (!text && count < 0 && errno == EINTR)
        return CLI_PROMPT_INTERRUPTED;
    if (!text || count <= 0)
        return CLI_PROMPT_END;
    *line = (struct firn_text){ text, (size_t)count };
    return CLI_PROMPT_LINE;
}

static void enter(struct cli_prompt *prompt, struct firn_text text)
{
    HistEvent event;
    struct firn_text trimmed = firn_text_trim(text);
    if (trimmed.len > 0)
        history(prompt->history, &event, H_ENTER, firn_text_copy(&prompt->arena, trimmed).data);
}

static bool has_line_comment(struct firn_text text)
{
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.data[i] == '-' && text.data[i + 1] == '-')
            return true;
    return false;
}

void cli_prompt_remember(struct cli_prompt *prompt, struct firn_text text)
{
    if (!has_line_comment(text)) {
        struct firn_text copy = firn_text_copy(&prompt->arena, text);
        char *at = (char *)(uintptr_t)copy.data;
        for (size_t i = 0; i < copy.len; i++)
            at[i] = at[i] == '\n' ? ' ' : at[i];
        enter(prompt, copy);
        return;
    }
    while (text.len > 0) {
        ptrdiff_t end = firn_text_find(text, '\n');
        size_t len = end < 0 ? text.len : (size_t)end;
        enter(prompt, firn_text_until(text, len));
        text = firn_text_from(text, end < 0 ? len : len + 1);
    }
}
