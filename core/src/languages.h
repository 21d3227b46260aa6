/* What is known of languages, as make_languages.py wrote it down: words with what they are in, and programs. */

#ifndef ER_LANGUAGES_H
#define ER_LANGUAGES_H

#include "common.h"
#include "pattern.h"
#include "sayings.h"

/* Lists of `wishes` and `opposites`; an opening is a filler, too. ER_KNOWN: what a text without spaces is cut into. */
enum { ER_OPENING = 1, ER_FILLER = 2, ER_SUBORDINATE = 4, ER_QUESTION = 8, ER_VERB = 16, ER_FINAL = 32, ER_HALF = 64,
       ER_STATING = 128, ER_NEGATION = 256, ER_TELLING = 512, ER_KNOWN = 1024 };
/* Lists of values (16.12); ER_AHEAD: with which a date may begin. */
enum { ER_LIST_DATE = 1, ER_LIST_TIME = 2, ER_LIST_UNIT = 4, ER_LIST_MONEY = 8, ER_AHEAD = 16 };
/* Stems in names of tools (16.13, 16.10). */
enum { ER_TELLS = 1, ER_CHANGES = 2, ER_SPEAKS = 4 };

/* What a word is in a language. English sides are those of the word as a stem. */
typedef struct {
    uint16_t lists;
    uint8_t side, doubt; /* 1 more than the number, or 0 */
} er_role;

/* What it is of values, parameters and, as a stem, of tools. */
typedef struct {
    uint16_t takes; /* a bit a kind of value that a parameter of this name takes */
    uint8_t values, tool;
} er_uses;

typedef struct {
    uint8_t roles[ER_LANGUAGES], uses; /* numbers of both */
} er_facts;

/* A language's rules: numbers of programs, and what else is said once. */
typedef struct {
    uint8_t cut, adds, polite, question, knowledge, value, name, state, demand, quoted;
    uint8_t reach;    /* words behind a negation */
    bool behind;      /* a negation may stand behind what it turns round */
    bool spaces;      /* stand between words; */
    bool apostrophe;  /* and one of these inside of one */
    uint8_t longest;  /* known word, where there are no spaces */
    bool final;       /* whether a piece may ask by its end */
} er_rules;

/* An expression with which a word counts alone, or without which. */
typedef struct {
    uint8_t program;
    bool with;
} er_doubt;

extern const er_book er_language_book; /* what programs' numbers here are of */
extern const er_rules er_language_rules[ER_LANGUAGES];
extern const er_doubt er_doubts[];
extern const uint16_t er_value_programs[ER_VALUES];

const er_role *er_role_of(const er_facts *, er_language);
const er_uses *er_uses_of(const er_facts *);

/* What a word, lower case, is in; never NULL. `languages` (may be NULL): the bits of those that it is known to. */
const er_facts *er_word_facts(const uint32_t *points, uint32_t count, uint8_t *languages);

/* Endings and letters by which a language but English and Chinese is told. */
bool er_has_ending(er_language, const uint32_t *word, uint32_t count);
bool er_has_sign(er_language, const uint32_t *word, uint32_t count);

#endif
