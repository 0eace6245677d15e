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

void firn_html_text(struct firn_html *html, struct firn_text text)
{
    struct firn_text rest = firn_text_printable(html->op->arena, text);
    size_t plain = 0;
    while (plain < rest.len) {
        const char *escape = escape_of(rest.data[plain]);
        if (!escape) {
            plain++;
            continue;
        }
        append(html, firn_text_until(rest, plain));
        firn_html_put(html, escape);
        rest = firn_text_from(rest, plain + 1);
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
