/* A text as the files that read sayings see it, and what each of them gives to the next. */

#ifndef ER_SAID_H
#define ER_SAID_H

#include "common.h"
#include "languages.h"
#include "pattern.h"
#include "sayings.h"

/* A text as it is written and in lower case. Where `even`, both have their code points at the same places, and a part's
   lower case is the part of the whole's: everywhere but for two letters (U+0130, and sigma, which has two lower cases). */
typedef struct {
    er_view written, low;
    bool even;
} er_said;

bool er_said_of(er_arena *, const uint32_t *points, uint32_t count, er_said *);
bool er_said_part(er_arena *, const er_said *, uint32_t begin, uint32_t end, er_said *);
/* A part in lower case. */
bool er_low_part(er_arena *, const er_said *, uint32_t begin, uint32_t end, er_view *);

/* ---- language.c (16.11) ---- */

enum { ER_LOOKED_AT = 400 }; /* code points by which a language is told, and whether a text only asks */

/* Of a text's first code points in lower case. `sure`: so many more words speak for it than for English that nobody doubts it. */
er_language er_language_by(const er_view *low, bool *sure);
/* The next word of a text in lower case, from `at` on, which then is behind it. */
bool er_next_word(er_language, const er_view *low, uint32_t *at, er_span *word);
uint32_t er_count_words(er_language, const er_view *written);
/* The same, at most so many. */
bool er_has_words(er_language, const er_view *written, uint32_t least);

static inline const er_facts *er_facts_of(const er_view *low, er_span word)
{
    return er_word_facts(low->points + word.begin, word.end - word.begin, NULL);
}

/* ---- clauses.c (16.4) ---- */

/* What stands between the matches of `cut`, piece by piece. */
typedef struct {
    er_matcher *matcher;
    uint32_t cut;
    const er_view *text;
    uint32_t from;
    bool over;
} er_pieces;

bool er_next_piece(er_pieces *, er_span *);

static inline er_pieces er_pieces_of(er_matcher *m, er_language language, const er_view *text)
{
    return (er_pieces){m, er_language_rules[language].cut, text, 0, false};
}

/* ---- wishes.c (16.9), opposites.c (16.10), values.c (16.12), asking.c (16.7, 16.13) ---- */

/* Which of these pieces ask for something by themselves. */
bool er_which_ask(er_matcher *, er_language, const er_said *, const er_span *pieces, uint32_t count, bool *asks);

bool er_sides_of(er_matcher *, er_language, const er_said *, er_sides *);
uint32_t er_values_in(er_matcher *, const er_said *);
bool er_form_of(er_matcher *, er_language, const er_said *, er_sayings *); /* question, explains, bare, only_asks */

/* ---- What tools do, one by one ---- */

/* A stem is the beginning of a word, of which a `y` at the end may become an `i`. */
typedef struct {
    uint32_t length;
    bool turned;
} er_stemmed;

er_stemmed er_stem_points(const uint32_t *word, uint32_t count);
const er_facts *er_stem_facts(const uint32_t *word, uint32_t count);

#endif
