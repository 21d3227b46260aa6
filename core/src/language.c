/* 16.11: which language a text is in, and its words. */

#include "said.h"
#include "unicode.h"

enum { LONG = 5, WITH_SPACES = ER_ES, SURE = 3 }; /* LONG: letters of a word that may stand for a language alone */

/* ---- Words ---- */

bool er_next_word(er_language language, const er_view *low, uint32_t *at, er_span *word)
{
    const er_rules *rules = &er_language_rules[language];
    for (uint32_t i = *at; i < low->count; i++) {
        const bool letter = low->kinds[i] & ER_IS_ALNUM;
        uint32_t end = i;
        if (!rules->spaces) {
            /* The longest known word, or else Latin letters, or else one letter. Known ones are beyond ASCII. */
            uint32_t n = low->points[i] < 128 ? 0 : low->count - i < rules->longest ? low->count - i : rules->longest;
            while (n && !(er_role_of(er_word_facts(low->points + i, n, NULL), language)->lists & ER_KNOWN)) n--;
            end = i + n;
            while (!n && end < low->count && ((low->caseless[end] >= 'a' && low->caseless[end] <= 'z') || (low->caseless[end] >= '0' && low->caseless[end] <= '9'))) end++;
            if (end == i && letter) end = i + 1;
        } else if (letter) {
            while (end < low->count && low->kinds[end] & ER_IS_ALNUM) end++;
            if (rules->apostrophe && end + 1 < low->count && (low->points[end] == '\'' || low->points[end] == 0x2019) && low->kinds[end + 1] & ER_IS_ALNUM)
                for (end++; end < low->count && low->kinds[end] & ER_IS_ALNUM;) end++;
        }
        if (end == i) continue;
        *word = (er_span){i, end};
        *at = end;
        return true;
    }
    *at = low->count;
    return false;
}

static bool is_latin(uint32_t c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

static uint32_t counted(er_language language, const er_view *text, uint32_t most)
{
    uint32_t n = 0;
    bool before = false; /* whether a word goes on here */
    if (er_language_rules[language].spaces) {
        for (uint32_t i = 0; i < text->count && n < most; i++) {
            const bool word = !(text->kinds[i] & ER_IS_SPACE);
            n += word && !before;
            before = word;
        }
        return n;
    }
    for (uint32_t i = 0; i < text->count; i++) {
        const bool latin = is_latin(text->points[i]);
        n += latin ? !before : (text->kinds[i] & ER_IS_ALNUM) != 0;
        before = latin;
    }
    return (2 * n + 2) / 3;
}

uint32_t er_count_words(er_language language, const er_view *text) { return counted(language, text, UINT32_MAX); }
bool er_has_words(er_language language, const er_view *text, uint32_t least) { return counted(language, text, least) >= least; }

/* ---- Which language ---- */

typedef struct {
    const uint32_t *at;
    uint32_t length;
    uint8_t known; /* the bits of languages that it is of, */
    uint8_t signs; /* and of those that it is not of and that have one of its letters */
} told_word;

static bool is_ascii(const uint32_t *word, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (word[i] >= 128) return false;
    return true;
}

static bool is_han(uint32_t c) { return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff); }
static bool is_kana_or_hangul(uint32_t c) { return (c >= 0x3040 && c <= 0x30ff) || (c >= 0x1100 && c <= 0x11ff) || (c >= 0xac00 && c <= 0xd7af); }

/* Rule 1. */
static bool is_chinese(const er_view *low, uint32_t *lead)
{
    uint32_t han = 0, latin = 0, english = 0;
    for (uint32_t i = 0; i < low->count; i++) {
        if (is_kana_or_hangul(low->points[i])) return false;
        han += is_han(low->points[i]);
    }
    if (!han) return false;
    for (uint32_t i = 0, end; i < low->count; i = end + 1) {
        for (end = i; end < low->count && low->points[end] >= 'a' && low->points[end] <= 'z';) end++;
        if (end == i) continue;
        uint8_t known;
        er_word_facts(low->points + i, end - i, &known);
        latin++;
        english += known & 1;
    }
    if (han <= latin || han < 2 * english) return false;
    *lead = han - english;
    return true;
}

/* Different runs of letters, each with the languages that it is known to; true if none speaks against English. */
static bool plain(const er_view *low, told_word *words, uint32_t *count)
{
    enum { SLOTS = 512 };
    uint16_t slots[SLOTS] = {0};
    bool matters = false;
    *count = 0;
    for (uint32_t i = 0, end; i < low->count; i = end + 1) {
        uint32_t hash = 0;
        for (end = i; end < low->count && (low->kinds[end] & (ER_IS_ALNUM | ER_IS_DIGIT)) == ER_IS_ALNUM; end++) hash = (hash ^ low->points[end]) * 16777619u;
        if (end == i) continue;
        const uint32_t *word = low->points + i, n = end - i;
        uint32_t slot = (hash ^ hash >> 15) % SLOTS;
        while (slots[slot] && (words[slots[slot] - 1].length != n || memcmp(words[slots[slot] - 1].at, word, n * sizeof *word))) slot = (slot + 1) % SLOTS;
        if (slots[slot]) continue; /* "la la la" says no more than "la" */
        uint8_t known;
        er_word_facts(word, n, &known);
        words[*count] = (told_word){word, n, known, 0};
        slots[slot] = (uint16_t)++*count;
        matters = matters || !is_ascii(word, n) || (known & ~1 && !(known & 1));
    }
    return !matters;
}

er_language er_language_by(const er_view *low, bool *sure)
{
    told_word words[ER_LOOKED_AT + 1]; /* of which a text in lower case has no more runs of letters */
    uint32_t count, lead = 0;
    bool opening[ER_LANGUAGES] = {false};
    *sure = false;
    if (plain(low, words, &count)) return ER_EN;
    if (is_chinese(low, &lead)) {
        *sure = lead >= SURE;
        return ER_ZH;
    }
    for (uint32_t i = 0; i < low->count; i++) opening[ER_ES] |= low->points[i] == 0xbf || low->points[i] == 0xa1;
    for (uint32_t i = 0; i < count; i++) {
        told_word *w = &words[i];
        const bool ascii = is_ascii(w->at, w->length), english = w->known & 1;
        for (int language = ER_DE; language <= WITH_SPACES; language++) {
            const uint8_t bit = (uint8_t)(1 << language);
            if (w->known & bit) continue;
            if (!english && w->length > LONG && er_has_ending((er_language)language, w->at, w->length)) w->known |= bit;
            else if (!ascii && er_has_sign((er_language)language, w->at, w->length)) w->signs |= bit;
        }
    }
    er_language best = ER_EN;
    uint32_t most = 0;
    for (int language = ER_DE; language <= WITH_SPACES; language++) {
        uint32_t own = 0, against = 0, alone = 0;
        bool signs = false, stands_alone = false;
        for (uint32_t i = 0; i < count; i++) {
            const bool mine = words[i].known >> language & 1, english = words[i].known & 1;
            own += mine;
            against += english && !mine;
            alone += mine && !english;
            signs = signs || words[i].signs >> language & 1;
            stands_alone = stands_alone || (mine && count > 1 && words[i].length >= LONG);
        }
        const uint32_t more = (uint32_t)signs + opening[language];
        if (own + more > most && (own + more >= 2 || (!against && stands_alone)) && alone + more > 2 * against) {
            best = (er_language)language;
            most = own + more;
            lead = most > against ? most - against : 0;
        }
    }
    *sure = lead >= SURE;
    return best;
}

er_language er_language_of(const er_points *text, bool *sure)
{
    /* At most twice as many in lower case. */
    uint32_t low[2 * ER_LOOKED_AT], caseless[2 * ER_LOOKED_AT];
    uint8_t kinds[2 * ER_LOOKED_AT];
    const uint32_t count = er_lower(text->points, text->count < ER_LOOKED_AT ? text->count : ER_LOOKED_AT, low);
    er_fill_view(low, count, caseless, kinds);
    return er_language_by(&(er_view){low, caseless, kinds, count}, sure);
}
