/* What is known of words, found by halving. */

#include "pieces_parts.h"

#define ER_WITH_PIECES_DATA
#include "pieces_data.h"

er_text er_pooled(uint32_t place)
{
    const char *at = (const char *)piece_pool + place;
    return (er_text){at, strlen(at)};
}

static int against(uint32_t place, er_text word)
{
    const uint8_t *known = piece_pool + place;
    for (size_t i = 0; i < word.length; i++) {
        if (!known[i]) return -1;
        const int order = (int)known[i] - (unsigned char)word.at[i];
        if (order) return order;
    }
    return known[word.length];
}

/* The place of a word among `count` of structs that begin with where it stands, or SIZE_MAX. */
static size_t place_of(const void *of, size_t count, size_t size, er_text word)
{
    for (size_t low = 0, high = count; low < high;) {
        const size_t middle = (low + high) / 2;
        uint16_t place;
        memcpy(&place, (const char *)of + middle * size, sizeof place);
        const int order = against(place, word);
        if (!order) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return SIZE_MAX;
}

#define PLACE(array, word) place_of(array, sizeof array / sizeof *array, sizeof *array, word)

uint64_t er_lists_of(er_text lower)
{
    const size_t at = lower.length ? PLACE(listed_words, lower) : SIZE_MAX;
    return at == SIZE_MAX ? 0 : listed_sets[listed_words[at].set];
}

bool er_is_common_unit(const er_unit *unit) { return ER_IN(unit, COMMON); }

int er_numeral_of(er_text lower)
{
    const size_t at = PLACE(numerals, lower);
    return at == SIZE_MAX ? -1 : numerals[at].value;
}

er_dimension er_unit_of(er_text word, er_amount *factor)
{
    const size_t at = PLACE(known_units, word);
    if (at == SIZE_MAX) return ER_NO_UNIT;
    const er_known_unit *known = &known_units[at];
    if (factor) *factor = (er_amount){(int64_t)known->factor, known->scale, known->dimension};
    return (er_dimension)known->dimension;
}

const er_number_word *er_number_word_of(const er_glossary *g, er_text lower)
{
    const size_t at = place_of(g->numbers, g->number_count, sizeof *g->numbers, lower);
    return at == SIZE_MAX ? NULL : &g->numbers[at];
}

bool er_gloss_of(const er_glossary *g, er_text lower, er_text *english)
{
    const size_t at = place_of(g->words, g->word_count, sizeof *g->words, lower);
    if (at == SIZE_MAX) return false;
    *english = er_pooled(g->words[at].english);
    return true;
}

uint32_t er_weekday_of(er_text lower)
{
    enum { WEEK = 7, NAMES = sizeof weekday_names / sizeof *weekday_names }; /* in weeks, of names and of short ones */
    uint32_t day = 0;
    while (day < NAMES && against(weekday_names[day], lower)) day++;
    return day < NAMES ? day % WEEK : WEEK;
}

er_text er_month_name(uint32_t number) { return er_pooled(month_names[number]); }

const er_value_pattern *er_value_patterns(uint32_t *count)
{
    *count = sizeof value_patterns / sizeof *value_patterns;
    return value_patterns;
}
