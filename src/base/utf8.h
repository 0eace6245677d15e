/* Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing past U+10FFFF. What is shown to people goes
 * through firn_text_printable (firn/arena.h). */
#ifndef FIRN_BASE_UTF8_H
#define FIRN_BASE_UTF8_H

#include "firn/arena.h"

/* Bytes of the character at the start of `text`, which is not empty; 0 when there is none. */
size_t firn_utf8_sequence(struct firn_text text);
bool firn_text_is_utf8(struct firn_text text);
/* The text with every byte that is in no character as "\xNN"; `text` itself where there is none. */
struct firn_text firn_text_to_utf8(struct firn_arena *arena, struct firn_text text);

#endif
