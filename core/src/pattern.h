/* Expressions as Python's `re` reads them, compiled ahead of time by make_languages.py: which place of a text they match.
   Knows nothing of what they are for. */

#ifndef ER_PATTERN_H
#define ER_PATTERN_H

#include "common.h"

/* ---- A text as expressions look at it ---- */

enum { ER_IS_SPACE = 1, ER_IS_WORD = 2, ER_IS_DIGIT = 4, ER_IS_ALNUM = 8 }; /* \s, \w, \d, [^\W_] */

typedef struct {
    const uint32_t *points, *caseless; /* caseless: what stands for a code point where case is ignored */
    const uint8_t *kinds;              /* bits as above */
    uint32_t count;
} er_view;

bool er_view_of(er_arena *, const uint32_t *points, uint32_t count, er_view *);

/* The same into memory that is there, `count` of each. */
void er_fill_view(const uint32_t *points, uint32_t count, uint32_t *caseless, uint8_t *kinds);

/* A part of a view, to which what stands around it does not exist. */
static inline er_view er_part(const er_view *of, uint32_t begin, uint32_t end)
{
    return (er_view){of->points + begin, of->caseless + begin, of->kinds + begin, end - begin};
}

/* ---- Programs ---- */

typedef struct {
    uint16_t start; /* in the code of its book */
    uint16_t first; /* the number of the characters that a match begins with; ER_ANYWHERE: it may be empty */
    uint8_t flags;
    uint8_t begins; /* the number of what three characters it begins with, from 1 on; 0: nobody knows */
} er_program;

enum { ER_ANYWHERE = 0xffff };
enum { ER_IGNORES_CASE = 1, ER_AT_BEGIN = 2, ER_AT_EDGE = 4, ER_HAS_GROUPS = 8 }; /* as in make_languages.py */

/* A class of characters: a bit for each of ASCII, one for each category of others (digit, word, space, none of these), and
   ranges of others for which it is the other way round. */
typedef struct {
    uint32_t ascii[4];
    uint16_t ranges;
    uint8_t categories, count;
} er_letters;

/* Programs, by number, and what they share. What no one calls has a book of its own, which a linker leaves out. */
typedef struct {
    const er_program *programs;
    const uint8_t *code;
    const er_letters *sets;
    const uint32_t *ranges;      /* first and last ones */
    const uint8_t (*firsts)[2];  /* the rows of `ascii`, and of `others` */
    const uint32_t (*ascii)[4], (*others)[4];
    const uint32_t (*begins)[32]; /* bits for three characters, of which the first is a letter, as begins.py numbers them */
} er_book;

/* A letter of a program or of a known word, as expressions.py tells it, and on to the next. */
static inline uint32_t er_next_letter(const uint8_t **at)
{
    enum { NEAR = 0x2100, HAN = 0x4e00, WHOLE = 255 };
    const uint8_t *b = *at;
    if (*b < 128) return *at += 1, *b;
    if (*b == WHOLE) return *at += 3, (uint32_t)b[1] << 8 | b[2];
    const uint32_t number = (*b & 127u) << 8 | b[1];
    *at += 2;
    return number < NEAR ? number : number - NEAR + HAN;
}

/* Whether a word is in one of the lists that instructions name: of languages.c. */
bool er_is_listed(const uint32_t *word, uint32_t count, uint32_t list);

/* Groups by name, as in expressions.py, counters of repeats that stand one in the other, and where shared parts go back to. */
enum { ER_GROUP_V, ER_GROUP_W, ER_GROUP_N, ER_GROUP_H, ER_GROUP_M, ER_GROUP_PART, ER_GROUP_TO, ER_GROUP_HALF, ER_GROUP_D, ER_GROUP_MONTH,
       ER_GROUP_MM, ER_GROUP_Y, ER_GROUPS, ER_COUNTERS = 8, ER_LINKS = 2 };

typedef struct {
    uint32_t pc, at, least;
} er_choice;

/* What runs programs, for one text after the other: choices that are open, in memory of the arena. */
typedef struct {
    er_arena *arena;
    const er_book *book;
    er_choice *choices;
    uint32_t used, room;
    uint64_t steps; /* in all, for tests */
    bool failed;    /* no memory: nothing that was found holds */
    uint32_t kept[2 * ER_GROUPS + ER_COUNTERS + ER_LINKS]; /* where groups begin and end, UINT32_MAX: they match nothing; counters of repeats */
    er_choice own[64];
} er_matcher;

/* Where a group of the last match is; false where it matched nothing. */
static inline bool er_group(const er_matcher *m, uint32_t group, er_span *found)
{
    *found = (er_span){m->kept[2 * group], m->kept[2 * group + 1]};
    return found->end != UINT32_MAX;
}

void er_matcher_of(er_arena *, const er_book *, er_matcher *);

/* Whether a program matches at a place, and where that ends. */
bool er_matches(er_matcher *, uint32_t program, const er_view *, uint32_t at, uint32_t *end);
/* The first place from `from` on. */
bool er_finds(er_matcher *, uint32_t program, const er_view *, uint32_t from, er_span *);

#endif
