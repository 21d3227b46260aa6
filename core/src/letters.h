/* What the tokenizers library takes each code point for (section 5). Its parts go by several versions of Unicode, so these
   flags were made by asking it (make_letters.py). What a letter becomes is in unicode.h: which ones have anything that
   they become is here. */

#ifndef ER_LETTERS_H
#define ER_LETTERS_H

#include "common.h"
#include "unicode.h"

enum {
    LETTER_SPACE = 1 << 0,       /* White_Space */
    LETTER_CONTROL = 1 << 1,     /* what clean_text removes, but 0 and U+FFFD */
    LETTER_ACCENT = 1 << 2,      /* what strip_accents removes */
    LETTER_MARK = 1 << 3,        /* what StripAccents removes */
    LETTER_PUNCTUATION = 1 << 4, /* ASCII's symbols, too */
    LETTER_NUMERIC = 1 << 5,
    LETTER_WORD = 1 << 6,        /* \w of the pre-tokenizer Whitespace, and beside which an added token is no single word */
    LETTER_CHINESE = 1 << 7,
    LETTER_LOWERS = 1 << 8,      /* has another lower case */
    LETTER_CANONICAL = 1 << 9,   /* NFD takes it apart; syllables of Hangul are not marked */
    LETTER_COMPATIBLE = 1 << 10, /* NFKD does, into others */
    LETTER_CLASSED = 1 << 11,    /* has a combining class */
    LETTER_SECOND = 1 << 12,     /* may be put together with what is before it */
    LETTER_EXTENDS = 1 << 13,    /* the grapheme cluster before it */
    LETTER_PREPENDS = 1 << 14,   /* to the one behind it */
    LETTER_ENDS = 1 << 15,       /* is always a cluster by itself */
    LETTER_PICTURE = 1 << 16,
    LETTER_SPACING = 1 << 17,    /* extends, but no picture's cluster goes on behind it */
    LETTER_LOOSE = 1 << 18,      /* extends, but no conjunct goes on behind it */
    LETTER_CONSONANT = 1 << 19,  /* of a conjunct, */
    LETTER_LINKER = 1 << 20      /* which needs one of these */
};

extern const uint32_t er_ascii_letters[128];
uint32_t er_letter_far(uint32_t point); /* beyond ASCII */
static inline uint32_t er_letter(uint32_t point) { return point < 0x80 ? er_ascii_letters[point] : er_letter_far(point); }

uint32_t er_newer_lower(uint32_t point); /* the lower case, where unicode.h has an older one */

#endif
