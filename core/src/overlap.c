/* Section 16.2: what a request shares with every tool by its words; and what of it was said before (16.6), what a wish
   says of it (16.9), and how much of it one tool says (16.7). */

#include <stdlib.h>

#include "lexicon.h"
#include "words.h"

static const float LEAST = 1e-6f;

static float at_least(float weight) { return weight > LEAST ? weight : LEAST; }

bool er_rarities(er_arena *arena, const er_lexicon *l, uint32_t names, const float **found)
{
    const uint32_t n = l->tools;
    float *rarities = ER_TAKE(arena, float, (size_t)l->count + 3 * (size_t)n + 1);
    if (!rarities) return false;
    for (uint32_t word = 0; word < l->count; word++)
        rarities[word] = (float)log1p((double)names / (l->in_texts[word] ? l->in_texts[word] : 1));
    float *per = rarities + l->count;
    for (uint32_t set = 0; set < 3 * n; set++) {
        double total = 0;
        for (uint32_t i = l->starts[set]; i < l->starts[set + 1]; i++) total += rarities[l->places[i]];
        const float share = 1.0f / at_least((float)total);
        /* The root keeps long descriptions, which share words with everything, from winning by length. */
        if (set < n) per[set] = share;
        else if (set < 2 * n) per[n + set] = 0.25f * sqrtf(share); /* texts behind parameters, as the header has it */
        else per[set - n] = share;
    }
    *found = rarities;
    return true;
}

static int rising(const void *a, const void *b)
{
    const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

/* The places of the different words of a text, rising, first those that the lexicon knows; UINT32_MAX for words that it
   has not even further down. Gives their number by `count`, of words that requests are known by in `known`. */
static bool different_places(
    er_arena *arena, const er_lexicon *l, const er_word *words, uint32_t word_count, uint32_t **places, uint32_t *count, uint32_t *known)
{
    uint32_t size = 16;
    while (size < word_count * 2u && size < 1u << 31) size *= 2;
    uint32_t *found = ER_TAKE(arena, uint32_t, (size_t)word_count + 1);
    const er_place mark = er_mark(arena);
    uint32_t *slots = ER_TAKE(arena, uint32_t, size);
    if (!found || !slots) return false;
    *count = *known = 0;
    for (uint32_t i = 0; i < word_count; i++) {
        uint32_t at = er_hash(words[i].stem) & (size - 1);
        while (slots[at] && !er_same(words[slots[at] - 1].stem, words[i].stem)) at = (at + 1) & (size - 1);
        if (slots[at]) continue;
        slots[at] = i + 1;
        const uint32_t place = er_word_place(l, words[i].stem);
        *known += place < l->count;
        found[(*count)++] = place;
    }
    er_release(arena, mark);
    qsort(found, *count, sizeof *found, rising);
    *places = found;
    return true;
}

/* The most of these words that one tool says anywhere; all, where a bundle does not tell. */
static bool most_explained(er_arena *arena, const er_lexicon *l, const uint32_t *places, er_overlap *o)
{
    o->explained = l->deep_holders ? 0 : o->different;
    if (!l->deep_holders) return true;
    const er_place mark = er_mark(arena);
    uint32_t *counts = ER_TAKE(arena, uint32_t, l->tools + 1);
    if (!counts) return false;
    for (uint32_t i = 0; i < o->different && places[i] < l->all; i++)
        for (uint32_t k = l->deep_starts[places[i]]; k < l->deep_starts[places[i] + 1]; k++) {
            const uint32_t count = ++counts[l->deep_holders[k]];
            if (count > o->explained) o->explained = count;
        }
    er_release(arena, mark);
    return true;
}

/* Tools whose names are all that the request says. */
static bool find_said(er_arena *arena, const er_lexicon *l, er_overlap *o)
{
    bool *said = ER_TAKE(arena, bool, l->tools + 1);
    if (!said) return false;
    o->said = said;
    if (!o->known_count || o->known_count < o->different) return true;
    const uint32_t first = o->known[0];
    for (uint32_t i = l->holder_starts[first]; i < l->holder_starts[first + 1] && l->holders[i] < l->tools; i++) {
        const uint32_t tool = l->holders[i], begin = l->starts[tool];
        if (l->starts[tool + 1] - begin != o->known_count || memcmp(l->places + begin, o->known, o->known_count * sizeof *o->known)) continue;
        said[tool] = o->any_said = true;
    }
    return true;
}

bool er_overlap_of(er_arena *arena, const er_lexicon *l, const float *rarities, uint32_t names, const er_points *query, er_overlap *o)
{
    const uint32_t n = l->tools;
    uint32_t *places;
    (void)names; /* the rarities are made of it */
    *o = (er_overlap){.rarities = rarities};
    if (!er_words_of(arena, query, &o->words, &o->word_count) ||
        !different_places(arena, l, o->words, o->word_count, &places, &o->different, &o->known_count))
        return false;
    o->known = places;
    float *shared = ER_TAKE(arena, float, 4 * (size_t)n + 1);
    if (!shared || !most_explained(arena, l, places, o) || !find_said(arena, l, o)) return false;
    for (uint32_t i = 0; i < o->known_count; i++) {
        const uint32_t word = places[i];
        o->known_rarity += rarities[word];
        for (uint32_t k = l->holder_starts[word]; k < l->holder_starts[word + 1]; k++) shared[l->holders[k]] += rarities[word];
    }
    /* They come as name, text, parameters; coverage goes behind them. */
    const float *per = rarities + l->count, asked = 1.0f / at_least((float)o->known_rarity);
    float *name = shared, *text = shared + n, *parameters = shared + 2 * (size_t)n, *coverage = shared + 3 * (size_t)n;
    for (uint32_t tool = 0; tool < n; tool++) {
        name[tool] *= per[tool];
        parameters[tool] *= per[n + tool];
        coverage[tool] = text[tool] * asked;
        text[tool] *= per[2 * (size_t)n + tool];
    }
    o->name = name;
    o->text = text;
    o->parameters = parameters;
    o->coverage = coverage;
    return true;
}

/* `name` and `coverage` of some of a request's known words. */
static void share_some(const er_lexicon *l, const er_overlap *o, const bool *some, const uint8_t *seen, float *name, float *coverage)
{
    const uint32_t n = l->tools;
    memset(name, 0, n * sizeof *name);
    memset(coverage, 0, n * sizeof *coverage);
    for (uint32_t i = 0; i < o->known_count; i++) {
        const uint32_t word = o->known[i];
        if (some ? !some[i] : !seen[word]) continue;
        for (uint32_t k = l->holder_starts[word]; k < l->holder_starts[word + 1] && l->holders[k] < 2 * n; k++) {
            if (l->holders[k] < n) name[l->holders[k]] += o->rarities[word];
            else coverage[l->holders[k] - n] += o->rarities[word];
        }
    }
    const float *per = o->rarities + l->count, asked = 1.0f / at_least((float)o->known_rarity);
    for (uint32_t tool = 0; tool < n; tool++) name[tool] *= per[tool], coverage[tool] *= asked;
}

void er_spent(const er_lexicon *l, const er_overlap *o, const uint32_t *called, uint32_t count, uint8_t *seen, float *name, float *coverage)
{
    /* A tool's text and parameters both hold its name's words. */
    for (int step = 0; step < 2; step++) {
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t field = 1; field < 3; field++) {
                const uint32_t set = field * l->tools + called[i];
                for (uint32_t k = l->starts[set]; k < l->starts[set + 1]; k++) seen[l->places[k]] = !step;
            }
        if (!step) share_some(l, o, NULL, seen, name, coverage);
    }
}

bool er_wish_overlap(er_arena *arena, const er_lexicon *l, const er_overlap *o, const er_points *wish, float *name, float *coverage)
{
    const er_word *words;
    uint32_t word_count, *places, different, known;
    const er_place mark = er_mark(arena);
    bool *some = ER_TAKE(arena, bool, o->known_count + 1);
    if (!some || !er_words_of(arena, wish, &words, &word_count) ||
        !different_places(arena, l, words, word_count, &places, &different, &known))
        return false;
    for (uint32_t i = 0, k = 0; i < known; i++) {
        while (k < o->known_count && o->known[k] < places[i]) k++;
        if (k < o->known_count && o->known[k] == places[i]) some[k] = true;
    }
    share_some(l, o, some, NULL, name, coverage);
    er_release(arena, mark);
    return true;
}
