/* What single code points are, and texts in lower case or normalised: as Python's str, re and unicodedata have it, of the
   Unicode version that docs/FORMAT.md names. Knows nothing of words. */

#ifndef ER_UNICODE_H
#define ER_UNICODE_H

#include "common.h"

typedef enum { /* general categories */
    ER_LU, ER_LL, ER_LT, ER_LM, ER_LO, ER_MN, ER_MC, ER_ME, ER_ND, ER_NL, ER_NO, ER_PC, ER_PD, ER_PS, ER_PE, ER_PI, ER_PF,
    ER_PO, ER_SM, ER_SC, ER_SK, ER_SO, ER_ZS, ER_ZL, ER_ZP, ER_CC, ER_CF, ER_CS, ER_CO, ER_CN
} er_category;

er_category er_category_of(uint32_t point);
uint32_t er_combining_class(uint32_t point);

bool er_is_letter(uint32_t point);                   /* str.isalpha: L* */
bool er_is_alnum_far(uint32_t point);                /* the same beyond ASCII */
static inline bool er_is_alnum(uint32_t point)       /* str.isalnum: letters and all numbers; [^\W_] */
{
    return point < 0x80 ? (point | 32) - 'a' < 26u || point - '0' < 10u : er_is_alnum_far(point);
}
bool er_is_space(uint32_t point);                    /* str.isspace, \s, and what str.split() splits at */
static inline bool er_is_word(uint32_t point) { return point == '_' || er_is_alnum(point); } /* \w */
static inline bool er_is_decimal(uint32_t point) { return er_category_of(point) == ER_ND; }  /* \d */
static inline bool er_is_punctuation(uint32_t point) /* P* */
{
    const er_category category = er_category_of(point);
    return category >= ER_PC && category <= ER_PO;
}

/* The lower case of one code point alone, the first one where there are two (U+0130). */
uint32_t er_lower_of(uint32_t point);

/* What stands for all code points that an expression which ignores case takes for the same: of s, S and U+017F the s. */
uint32_t er_caseless(uint32_t point);

/* What becomes of one code point of a text in lower case: one, or two. */
uint32_t er_lower_at(const uint32_t *points, uint32_t count, uint32_t at, uint32_t found[2]);
/* str.lower(): `found` has room for 2 · count, and may not be `points`. Gives how many there are. */
uint32_t er_lower(const uint32_t *points, uint32_t count, uint32_t *found);

enum { ER_MOST_PARTS = 18 };

/* What a code point is made of, all steps at once, itself where it is one alone; by NFKD if `compatible`. */
uint32_t er_decompose(uint32_t point, bool compatible, uint32_t parts[ER_MOST_PARTS]);
/* What both are put together to, or 0. */
uint32_t er_compose(uint32_t first, uint32_t second);

/* ---- UTF-8 that was proved before ---- */

static inline uint32_t er_point_at(er_text text, size_t *at)
{
    const unsigned char *c = (const unsigned char *)text.at + *at;
    if (c[0] < 0x80) return *at += 1, c[0];
    if (c[0] < 0xe0) return *at += 2, (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
    if (c[0] < 0xf0) return *at += 3, (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    *at += 4;
    return (c[0] & 7u) << 18 | (c[1] & 0x3fu) << 12 | (c[2] & 0x3fu) << 6 | (c[3] & 0x3fu);
}

/* Writes up to four bytes; gives how many. */
static inline size_t er_put_point(char *at, uint32_t point)
{
    if (point < 0x80) return at[0] = (char)point, 1;
    if (point < 0x800) return at[0] = (char)(0xc0 | point >> 6), at[1] = (char)(0x80 | (point & 0x3f)), 2;
    if (point < 0x10000) {
        at[0] = (char)(0xe0 | point >> 12);
        at[1] = (char)(0x80 | (point >> 6 & 0x3f));
        at[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    at[0] = (char)(0xf0 | point >> 18);
    at[1] = (char)(0x80 | (point >> 12 & 0x3f));
    at[2] = (char)(0x80 | (point >> 6 & 0x3f));
    at[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

/* Code points as UTF-8. */
bool er_text_of(er_arena *, const uint32_t *points, uint32_t count, er_text *);

#endif
