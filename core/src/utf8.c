#include "utf8.h"

size_t er_utf8_ends(er_text text)
{
    const unsigned char *at = (const unsigned char *)text.at;
    size_t i = 0;
    while (i < text.length) {
        uint64_t eight;
        if (i + 8 <= text.length && (memcpy(&eight, at + i, 8), !(eight & 0x8080808080808080u))) {
            i += 8;
            continue;
        }
        const unsigned char c = at[i];
        const size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 4;
        if (more == 4 || i + more >= text.length) return i;
        for (size_t k = 1; k <= more; k++)
            if ((at[i + k] & 0xc0) != 0x80) return i;
        const unsigned char next = more ? at[i + 1] : 0;
        if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) || (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f)) return i;
        i += more + 1;
    }
    return text.length;
}
