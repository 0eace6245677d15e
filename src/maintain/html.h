/* HTML and SVG as text, into a buffer. Whatever comes from outside goes through firn_html_text, which escapes it.
 *
 * The first failure stays, and what is written after it is dropped: it is asked for once, at the end. */
#ifndef FIRN_MAINTAIN_HTML_H
#define FIRN_MAINTAIN_HTML_H

#include "base/buffer.h"

struct firn_html {
    struct firn_op *op;
    struct firn_buffer *out;
    firn_status status; /* of the first failure: LIMIT */
};

/* Markup as it is: literals of ours only. The second takes numbers and literals; they are printed as in the C locale
 * only when they are whole, so coordinates are. */
void firn_html_put(struct firn_html *html, const char *markup);
void firn_html_putf(struct firn_html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text from anywhere, for content and for attributes in double quotes: what is markup in it is escaped, what cannot be
 * shown, or makes other text look as it is not, is "\xNN". The second escapes what the format gives, too. */
void firn_html_text(struct firn_html *html, struct firn_text text);
void firn_html_textf(struct firn_html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An element with this text; `class` may be NULL. */
void firn_html_element(struct firn_html *html, const char *tag, const char *class, struct firn_text text);

#endif
