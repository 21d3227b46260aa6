#include "languages.h"

#include "languages_data.h"

/* As in make_languages.py. */
enum { SHORT = 31, OFTEN = 192 };

static uint32_t bucket_of(const uint32_t *points, uint32_t count)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < 3 && i < count; i++) hash = (hash ^ points[i]) * 16777619u;
    return (hash ^ hash >> 15) & (WORD_BUCKETS - 1);
}

const er_role *er_role_of(const er_facts *facts, er_language language) { return &word_roles[facts->roles[language]]; }
const er_uses *er_uses_of(const er_facts *facts) { return &word_uses[facts->uses]; }

const er_facts *er_word_facts(const uint32_t *points, uint32_t count, uint8_t *languages)
{
    if (languages) *languages = 0;
    const uint32_t bucket = bucket_of(points, count);
    const uint8_t *at = words + word_starts[bucket], *last = words + word_starts[bucket + 1];
    for (uint32_t same = 0; at < last;) { /* same: letters that are those of the word before */
        const uint32_t shared = *at >> 5;
        const uint8_t *end = at + 1 + (*at & SHORT);
        bool whole = false;
        if (shared <= same) { /* or else it differs where the one before did */
            const uint8_t *letter = at + 1;
            for (same = shared; letter < end && same < count && points[same] == er_next_letter(&letter);) same++;
            whole = letter == end && same == count;
        }
        uint32_t number = *end;
        at = end + 1;
        if (number >= OFTEN) number = OFTEN + ((number - OFTEN) << 8 | *at++);
        if (!whole) continue;
        if (languages) *languages = words_told[number] & 15;
        return &word_facts[words_told[number] >> 4];
    }
    return &word_facts[0];
}

bool er_is_listed(const uint32_t *word, uint32_t count, uint32_t list) { return er_uses_of(er_word_facts(word, count, NULL))->values >> list & 1; }

bool er_has_ending(er_language language, const uint32_t *word, uint32_t count)
{
    static const struct { const uint16_t *at; size_t length; } endings[ER_LANGUAGES] = {
        [ER_DE] = {endings_de, sizeof endings_de / 2}, [ER_FR] = {endings_fr, sizeof endings_fr / 2}, [ER_ES] = {endings_es, sizeof endings_es / 2}};
    const uint16_t *at = endings[language].at, *end = at + endings[language].length;
    while (at < end) {
        uint32_t n = 0;
        while (at[n]) n++;
        uint32_t k = 0;
        while (k < n && n <= count && at[k] == word[count - n + k]) k++;
        if (k == n) return true;
        at += n + 1;
    }
    return false;
}

bool er_has_sign(er_language language, const uint32_t *word, uint32_t count)
{
    static const uint16_t *const signs[ER_LANGUAGES] = {[ER_DE] = signs_de, [ER_FR] = signs_fr, [ER_ES] = signs_es};
    for (uint32_t i = 0; i < count; i++)
        for (const uint16_t *sign = signs[language]; *sign; sign++)
            if (word[i] == *sign) return true;
    return false;
}
