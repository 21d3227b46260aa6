/* SentencePiece's charsmaps (section 5): a double array of bytes, and the texts that it leads to. What is read here is a
   stranger's: every step that a text could take is proved before the first one is taken. */

#include "tokenizer_parts.h"

#define REMEDY "build the bundle with a BERT-like tokenizer (docs/FORMAT.md, section 5)"

enum { BLOCK = 256, MOST_BASE64 = 1 << 20, LONGEST_TEXT = 48 };

#define IS_VALUE 0x80000000u
#define HAS_VALUE 0x100u

static bool damaged(er_arena *arena, const char *what)
{
    return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: normalizer Precompiled: its charsmap %s; " REMEDY, what);
}

/* Strictly, with padding; gives how many bytes there are, or SIZE_MAX. */
static size_t decode(er_text base64, uint8_t *bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t values[256];
    memset(values, 0xff, sizeof values);
    for (uint8_t i = 0; i < 64; i++) values[(uint8_t)letters[i]] = i;
    if (base64.length % 4) return SIZE_MAX;
    size_t n = 0, length = base64.length;
    while (length && base64.length - length < 2 && base64.at[length - 1] == '=') length--;
    for (size_t i = 0; i < length; i += 4) {
        const size_t here = length - i < 4 ? length - i : 4;
        uint32_t four = 0;
        for (size_t k = 0; k < 4; k++) {
            const uint8_t value = k < here ? values[(uint8_t)base64.at[i + k]] : 0;
            if (value == 0xff) return SIZE_MAX;
            four = four << 6 | value;
        }
        for (size_t k = 0; k + 1 < here; k++) bytes[n++] = (uint8_t)(four >> (16 - 8 * k));
    }
    return n;
}

/* A unit's distance to where those behind it are. */
static uint32_t offset_of(uint32_t unit) { return unit >> 10 << (unit & 0x200 ? 8 : 0); }

static bool prove(er_arena *arena, const er_charsmap *map)
{
    const uint32_t count = map->unit_count;
    er_points points;
    if (!er_points_of(arena, (er_text){map->texts, map->text_length}, &points)) return false;
    if (map->units[0] & IS_VALUE) return damaged(arena, "leads out of its trie");
    bool *begins = ER_TAKE(arena, bool, map->text_length); /* where a text may begin: at a character, and not too long */
    if (!begins) return false;
    for (size_t i = map->text_length, end = i - 1; i--;) {
        if (!map->texts[i]) end = i;
        begins[i] = ((uint8_t)map->texts[i] & 0xc0) != 0x80 && end - i <= LONGEST_TEXT;
    }
    for (uint32_t p = 0; p < count; p++) {
        const uint32_t unit = map->units[p];
        if (unit & IS_VALUE) continue;
        /* Those behind it lie in one block, and there are whole blocks. */
        const uint32_t behind = p ^ offset_of(unit);
        if (behind >= count) return damaged(arena, "leads out of its trie");
        if (!(unit & HAS_VALUE)) continue;
        const uint32_t value = map->units[behind], place = value & ~IS_VALUE;
        if (!(value & IS_VALUE) || place >= map->text_length || !begins[place])
            return damaged(arena, "names a text that is none, or one of more than 48 bytes");
    }
    return true;
}

bool er_charsmap_of(er_arena *arena, er_text base64, er_charsmap *map)
{
    if (!base64.length || base64.length > MOST_BASE64) return damaged(arena, "has not 1 to 1,048,576 characters");
    uint8_t *bytes = ER_TAKE(arena, uint8_t, base64.length);
    if (!bytes) return false;
    const size_t length = decode(base64, bytes);
    if (length == SIZE_MAX) return damaged(arena, "is no base64");
    uint32_t size = 0;
    for (size_t i = 4; i--;) size = size << 8 | (length < 4 ? 0 : bytes[i]);
    if (!size || size > length - 4 || size % (4 * BLOCK)) return damaged(arena, "has no trie of whole blocks");
    if (size == length - 4 || bytes[length - 1]) return damaged(arena, "has no end behind its last text");
    uint32_t *units = ER_TAKE(arena, uint32_t, size / 4);
    if (!units) return false;
    for (uint32_t i = 0; i < size / 4; i++) {
        const uint8_t *b = bytes + 4 + 4 * (size_t)i;
        units[i] = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    }
    *map = (er_charsmap){units, size / 4, (const char *)bytes + 4 + size, length - 4 - size};
    const er_place place = er_mark(arena);
    const bool fine = prove(arena, map);
    er_release(arena, place);
    if (!fine && arena->error && arena->error->status == ER_BAD_INPUT) { /* said by er_points_of */
        *arena->error = (er_error){0};
        return damaged(arena, "has texts that are no UTF-8");
    }
    return fine;
}

const char *er_charsmap_find(const er_charsmap *map, const char *text, size_t length)
{
    uint32_t at = offset_of(map->units[0]);
    for (size_t i = 0; i < length && text[i]; i++) {
        const uint8_t c = (uint8_t)text[i];
        at ^= c;
        const uint32_t unit = map->units[at];
        if ((unit & (IS_VALUE | 0xff)) != c) return NULL;
        at ^= offset_of(unit);
        if (unit & HAS_VALUE) return map->texts + (map->units[at] & ~IS_VALUE);
    }
    return NULL;
}
