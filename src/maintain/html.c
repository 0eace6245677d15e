/* HTML as text: escapes, and a buffer that keeps its first failure. */
#include "maintain/html.h"

#include "base/math.h"

static void append(struct firn_html *html, struct firn_text text)
{
    if (html->status == FIRN_OK)
        html->status = firn_buffer_append(html->op, html->out, text.data, text.len);
}

void firn_html_put(struct firn_html *html, const char *markup)
{
    append(html, firn_text_of(markup));
}

void firn_html_putf(struct firn_html *html, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append(html, firn_text_vformat(html->op->arena, format, args));
    va_end(args);
}

static const char *escape_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Characters that set the direction of text, U+202A to U+202E and U+2066 to U+2069, could make a command look like
 * another. */
static const char *direction_of(struct firn_text text)
{
    static const char *const controls[] = { "\u202a", "\u202b", "\u202c", "\u202d", "\u202e",
                                            "\u2066", "\u2067", "\u2068", "\u2069" };
    for (size_t i = 0; i < FIRN_COUNT_OF(controls); i++)
        if (firn_text_starts(text, firn_text_of(controls[i])))
            return controls[i];
    return NULL;
}

/* As "\xNN" of each byte. */
static void put_bytes(struct firn_html *html, const char *bytes)
{
    for (; *bytes; bytes++)
        firn_html_putf(html, "\\x%02x", (unsigned)(unsigned char)*bytes);
}

void firn_html_text(struct firn_html *html, struct firn_text text)
{
    struct firn_text rest = firn_text_printable(html->op->arena, text);
    size_t plain = 0;
    while (plain < rest.len) {
        const char *escape = escape_of(rest.data[plain]);
        const char *control = direction_of(firn_text_from(rest, plain));
        if (!escape && !control) {
            plain++;
            continue;
        }
        append(html, firn_text_until(rest, plain));
        if (escape)
            firn_html_put(html, escape);
        else
            put_bytes(html, control);
        rest = firn_text_from(rest, plain + (escape ? 1 : strlen(control)));
        plain = 0;
    }
    append(html, rest);
}

void firn_html_textf(struct firn_html *html, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    firn_html_text(html, firn_text_vformat(html->op->arena, format, args));
    va_end(args);
}

void firn_html_element(struct firn_html *html, const char *tag, const char *class, struct firn_text text)
{
    if (class)
        firn_html_putf(html, "<%s class=\"%s\">", tag, class);
    else
        firn_html_putf(html, "<%s>", tag);
    firn_html_text(html, text);
    firn_html_putf(html, "</%s>", tag);
}
