/* 16.9, and what 16.11 adds to it: which pieces of a request ask for something. */

#include "said.h"

enum { BEGINNING = 64, SHORT = 2 };

/* What the words of a piece's begin are: each the first one but for some. */
typedef struct {
    const er_facts *opening, *first; /* but for openings, and but for openings and fillers; NULL if there is none */
    bool question;                   /* any */
} er_beginning;

static er_beginning beginning_of(er_language language, const er_view *low)
{
    er_beginning found = {NULL, NULL, false};
    const bool all = !er_language_rules[language].spaces; /* a question may stand behind */
    er_span word;
    for (uint32_t at = 0; (all || !found.first) && er_next_word(language, low, &at, &word);) {
        const er_facts *facts = er_facts_of(low, word);
        const uint32_t lists = er_role_of(facts, language)->lists;
        if (!found.opening && !(lists & ER_OPENING)) found.opening = facts;
        if (!found.first && !(lists & (ER_OPENING | ER_FILLER))) found.first = facts;
        found.question = found.question || lists & ER_QUESTION;
    }
    return found;
}

static bool is_any(const er_facts *facts, er_language language, uint32_t lists) { return facts && er_role_of(facts, language)->lists & lists; }

/* Whether a piece ends with what is to be done, and does not tell how things are. */
static bool ends_so(er_language language, const er_view *low)
{
    bool final = false;
    er_span word;
    for (uint32_t at = 0; er_next_word(language, low, &at, &word);) {
        const uint32_t lists = er_role_of(er_facts_of(low, word), language)->lists;
        if (lists & ER_STATING) return false;
        if (!(lists & ER_OPENING)) final = lists & ER_FINAL;
    }
    return final;
}

bool er_which_ask(er_matcher *m, er_language language, const er_said *said, const er_span *pieces, uint32_t count, bool *asks)
{
    const er_rules *rules = &er_language_rules[language];
    const er_facts *before = NULL; /* the opening of the piece before */
    bool added = false, half = false;
    uint32_t behind = 0;
    er_span span;
    const bool polite = er_finds(m, rules->polite, &said->written, 0, &span);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t begin = pieces[i].begin, end = pieces[i].end;
        er_view low;
        if (!er_low_part(m->arena, said, begin, end - begin > BEGINNING ? begin + BEGINNING : end, &low)) return false;
        const er_beginning words = beginning_of(language, &low);
        const er_view ahead = er_part(&said->written, 0, begin);
        const uint32_t from = begin > behind + BEGINNING ? begin - BEGINNING : behind;
        const bool adds = er_finds(m, rules->adds, &ahead, from, &span);
        if (adds && i && !added) asks[i - 1] = !is_any(before, language, ER_SUBORDINATE);
        bool ends = false;
        if (rules->final) {
            if (!er_low_part(m->arena, said, end - begin > BEGINNING ? end - BEGINNING : begin, end, &low)) return false;
            ends = ends_so(language, &low);
        }
        bool found = adds || is_any(words.first, language, ER_VERB) || (ends && !half);
        found = found || (rules->spaces ? is_any(words.opening, language, ER_QUESTION) : words.question);
        if (!found && polite && words.opening) {
            const er_view piece = er_part(&said->written, begin, end);
            found = er_finds(m, rules->polite, &piece, 0, &span) && er_has_words(language, &piece, SHORT + 1);
        }
        half = (half || is_any(words.first, language, ER_HALF)) && !ends;
        asks[i] = found && !is_any(words.opening, language, ER_SUBORDINATE);
        behind = end;
        added = adds;
        before = words.opening;
    }
    return !m->failed;
}
