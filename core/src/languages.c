#include "languages.h"

#include "languages_data.h"

enum { WIDE = 128 }; /* letters of two bytes */

/* As in make_languages.py. */
static uint32_t bucket_of(const uint32_t *points, uint32_t count)
{
    uint32_t hash = 2166136261u;
    if (count >= WIDE) count = 0; /* no word is so long */
    for (uint32_t i = 0; i < count; i++) hash = (hash ^ points[i]) * 16777619u;
    return (hash ^ hash >> 15) & (WORD_BUCKETS - 1);
}

const er_facts *er_word_facts(const uint32_t *points, uint32_t count, uint8_t *languages)
{
    if (languages) *languages = 0;
    const uint32_t bucket = bucket_of(points, count);
    const uint8_t *letters = word_letters + letter_starts[bucket];
    for (uint32_t i = word_starts[bucket]; i < word_starts[bucket + 1]; i++) {
        const uint32_t length = *letters & (WIDE - 1), size = *letters & WIDE ? 2 : 1;
        const uint8_t *at = letters + 1;
        letters = at + length * size;
        if (length != count) continue;
        uint32_t k = 0;
        if (size == 1) {
            while (k < count && at[k] == points[k]) k++;
        } else {
            while (k < count && (at[2 * k] | (uint32_t)at[2 * k + 1] << 8) == points[k]) k++;
        }
        if (k < count) continue;
        if (languages) *languages = words_told[i] & 15;
        return &word_facts[words_told[i] >> 4];
    }
    return &word_facts[0];
}

bool er_is_listed(const uint32_t *word, uint32_t count, uint32_t list) { return er_word_facts(word, count, NULL)->values >> list & 1; }

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
