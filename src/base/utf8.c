/* Well-formed UTF-8. RFC 3629, section 4. */
#include "base/utf8.h"

#include "base/math.h"

size_t firn_utf8_sequence(struct firn_text text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t len = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : 4;
    if ((at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4 || len > text.len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
        (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return len;
}

bool firn_text_is_utf8(struct firn_text text)
{
    for (size_t i = 0; i < text.len;) {
        if (text.len - i >= 8 && !(firn_load_le64(text.data + i) & UINT64_C(0x8080808080808080))) {
            i += 8; /* eight ASCII characters */
            continue;
        }
        size_t len = firn_utf8_sequence((struct firn_text){ text.data + i, text.len - i });
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}
