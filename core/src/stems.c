/* 16.1: stems of words that are code points. */

#include "said.h"

enum { LEAST = 3, LONGEST = 32 }; /* LONGEST: no known word has so many letters */

static bool ends_in(const uint32_t *word, uint32_t count, const char *ending, uint32_t length)
{
    if (count < length) return false;
    for (uint32_t i = 0; i < length; i++)
        if (word[count - length + i] != (uint32_t)ending[i]) return false;
    return true;
}

er_stemmed er_stem_points(const uint32_t *word, uint32_t count)
{
    static const struct { char text[4]; uint8_t length, left; } endings[] = {
        {"ies", 3, 1}, {"ing", 3, 0}, {"ed", 2, 0}, {"es", 2, 0}, {"s", 1, 0}, {"e", 1, 0}}; /* the i of "ies" stays */
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const uint32_t cut = endings[i].length;
        if (count < LEAST + cut || !ends_in(word, count, endings[i].text, cut)) continue;
        if (endings[i].text[0] == 's' && word[count - 2] == 's') continue;
        count -= cut - endings[i].left;
        break;
    }
    if (count <= LEAST) return (er_stemmed){count, false};
    const uint32_t last = word[count - 1];
    if (last == 'y') return (er_stemmed){count, true};
    return (er_stemmed){count - (last == word[count - 2] && last != 'l' && last != 's'), false};
}

const er_facts *er_stem_facts(const uint32_t *word, uint32_t count)
{
    const er_stemmed stem = er_stem_points(word, count);
    if (!stem.turned || stem.length > LONGEST) return er_word_facts(word, stem.length, NULL);
    uint32_t turned[LONGEST];
    memcpy(turned, word, stem.length * sizeof *word);
    turned[stem.length - 1] = 'i';
    return er_word_facts(turned, stem.length, NULL);
}
