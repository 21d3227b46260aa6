/* What the files that read pieces share: the request as it is being read, and what pieces_data.h knows of words. */

#ifndef ER_PIECES_PARTS_H
#define ER_PIECES_PARTS_H

#include "pieces.h"
#include "pieces_data.h"
#include "said.h"

#define ER_IN(unit, list) ((unit)->lists >> ER_W_##list & 1)

/* ---- piece_words.c: what is known of words ---- */

typedef struct {
    uint16_t word;
    uint8_t set;
} er_listed_word;

typedef struct {
    uint16_t word;
    uint8_t dimension;
    uint32_t factor;
    uint8_t scale;
} er_known_unit;

/* A number's word; `scales`: what is in front of it is so many times as much. */
typedef struct {
    uint16_t word, value;
    uint8_t scales;
} er_number_word;

typedef struct {
    uint16_t word, english;
} er_gloss_word;

typedef struct {
    uint16_t program, told;
} er_phrase;

/* An expression, the kind of what it matches, and the number of characters one of which a match has. */
typedef struct {
    uint16_t program;
    uint8_t kind;
    uint16_t needed;
} er_value_pattern;

/* What is known of a language in English, texts as places in the pool; no numbers for English. */
typedef struct {
    const er_gloss_word *words;
    const er_number_word *numbers;
    const er_phrase *phrases;
    const uint16_t *months;
    uint16_t word_count, number_count, phrase_count, joined, hour, part, before_noon, behind_noon; /* the last three: programs */
} er_glossary;

extern const er_glossary er_glossaries[ER_LANGUAGES];
extern const er_book er_piece_book; /* what programs' numbers here are of */

er_text er_pooled(uint32_t place);
uint64_t er_lists_of(er_text lower);
int er_numeral_of(er_text lower); /* -1: none */
const er_number_word *er_number_word_of(const er_glossary *, er_text lower);
bool er_gloss_of(const er_glossary *, er_text lower, er_text *english);
er_text er_month_name(uint32_t number); /* from 0 on */
uint32_t er_weekday_of(er_text lower);  /* 0: Monday; 7: none */
const er_value_pattern *er_value_patterns(uint32_t *count);

/* ---- A request that is being read ---- */

typedef struct {
    er_match *at;
    uint32_t count, room;
} er_match_list;

typedef struct {
    er_arena *arena;
    er_matcher matcher;
    er_reading *reading;
    er_said said;    /* the text */
    er_view english;
    er_unit *units;
    uint32_t count;
    uint16_t *begins, *ends; /* by code point: 1 more than the unit that begins here, and than the one that ends here */
    er_match_list matches[ER_PIECE_KINDS];
} er_reader;

static inline uint32_t er_point_of(const er_reader *r, uint32_t unit) { return r->said.written.points[r->units[unit].begin]; }

/* Whether a unit is one mark of these; a unit of more characters is none. */
static inline bool er_is_mark(const er_reader *r, uint32_t unit, const char *marks)
{
    const uint32_t c = er_point_of(r, unit);
    return r->units[unit].end - r->units[unit].begin == 1 && c && c < 128 && strchr(marks, (int)c);
}

uint32_t er_digit_of(uint32_t point); /* what a decimal digit is worth */
/* Whether a letter is a capital, as str.isupper has it. */
bool er_is_upper(uint32_t point);
bool er_add_match(er_reader *, uint32_t kind, uint32_t first, uint32_t last);
bool er_lower_text(er_arena *, er_text, er_text *lower);

/* What becomes of each unit in English (glosses.c): er_texts, `own` where nothing does. */
bool er_gloss(er_reader *, const er_text *own, const er_text *lower, er_text *found);
bool er_cut_units(er_reader *);   /* units.c */
bool er_find_matches(er_reader *); /* matches.c */
/* Where a street begins of which these capitals are the name, and where one ends that begins at a unit (streets.c); the same unit: none. */
uint32_t er_street_before(const er_reader *, er_match name);
uint32_t er_street_at(const er_reader *, uint32_t at);
void er_place_units(er_reader *, bool english);
/* The number that English words say from a unit on, and the unit behind it; false: none. */
bool er_numeral_at(const er_unit *, uint32_t count, uint32_t at, er_amount *, uint32_t *behind);
int64_t er_scale_of(er_text word);

#endif
