/* Lines from a person at a terminal, with editing and a history that outlives the program (libedit). */
#ifndef FIRN_CLI_PROMPT_H
#define FIRN_CLI_PROMPT_H

#include "firn/op.h"

struct cli_prompt;

/* Takes over standard input, which is a terminal. The history is that of $FIRN_HISTORY, or ~/.firn_history; an empty
 * variable, or no home, keeps none. */
FIRN_CHECKED firn_status cli_prompt_open(struct firn_op *op, struct cli_prompt **out);
/* Writes the history and gives the terminal back. NULL is fine. */
void cli_prompt_close(struct cli_prompt *prompt);

enum cli_prompt_event {
    CLI_PROMPT_LINE,
    CLI_PROMPT_END,         /* of input: Ctrl-D */
    CLI_PROMPT_INTERRUPTED, /* a signal came: Ctrl-C */
};
/* Reads a line, asking for the first of a statement or for another. The line has its line end, and is borrowed until
 * the next call. */
enum cli_prompt_event cli_prompt_read(struct cli_prompt *prompt, bool is_first, struct firn_text *line);
/* Keeps what was typed: on one line, so that it comes back whole, unless a comment to the end of a line is in it. */
void cli_prompt_remember(struct cli_prompt *prompt, struct firn_text text);

#endif
