/* 16.12: which kinds of values a query holds. */

#include "said.h"

enum { MOST_CHARS = 4000 };

/* What a kind needs of a text, beside its expression: any of these. */
enum { DIGIT = 1, DOT = 2, SLASH = 4, AT = 8, HASH = 16, STAR = 32, QUOTE = 64, HAN = 128, WORD = 256, ALWAYS = 512 };

static const uint16_t needed[ER_VALUES] = {
    [ER_VALUE_URL] = DOT | SLASH, [ER_VALUE_EMAIL] = AT, [ER_VALUE_PATH] = SLASH | STAR | DOT, [ER_VALUE_CHANNEL] = HASH,
    [ER_VALUE_IBAN] = DIGIT, [ER_VALUE_MONEY] = DIGIT, [ER_VALUE_TIME] = DIGIT | HAN | WORD, [ER_VALUE_DATE] = DIGIT | HAN | WORD,
    [ER_VALUE_DURATION] = ALWAYS, [ER_VALUE_PHONE] = DIGIT, [ER_VALUE_QUOTED] = QUOTE, [ER_VALUE_NUMBER] = DIGIT,
    [ER_VALUE_PERCENT] = DIGIT};

/* A character's part in that; `matters` where it alone may be of a value. */
static uint32_t told_by(uint32_t c, uint8_t kinds, bool *matters)
{
    *matters = true;
    switch (c) {
    case '.': return DOT;
    case '/': return SLASH;
    case '@': return AT;
    case '#': return HASH;
    case '*': return STAR;
    case '%': case '$': case 0x20ac: case 0xa3: case 0xa5: return 0;
    case '"': case '\'': case 0x201c: case 0xab: case 0x300c: return QUOTE;
    default: break;
    }
    const bool han = c >= 0x4e00 && c <= 0x9fff;
    *matters = (c >= '0' && c <= '9') || han;
    return (kinds & ER_IS_DIGIT ? DIGIT : 0u) | (han ? HAN : 0u);
}

uint32_t er_values_in(er_matcher *m, const er_said *said)
{
    const er_view *text = &said->written;
    uint32_t found = 0, has = ALWAYS, runs = 0;
    bool matters = false, listed = false; /* listed: the only run of word characters so far since white space is in a list */
    for (uint32_t i = 0; i < text->count;) {
        uint32_t end = i;
        while (end < text->count && text->kinds[end] & ER_IS_WORD) end++;
        if (end > i) {
            const uint8_t lists = er_uses_of(er_word_facts(text->caseless + i, end - i, NULL))->values;
            if (lists) has |= WORD;
            listed = !runs++ && lists & (ER_LIST_DATE | ER_LIST_TIME | ER_LIST_UNIT);
        }
        for (uint32_t k = i; k < end + (end == i); k++) {
            bool alone;
            has |= told_by(text->points[k], text->kinds[k], &alone);
            matters = matters || alone;
        }
        i = end > i ? end : i + 1;
        if (i == text->count || text->kinds[i] & ER_IS_SPACE) {
            matters = matters || (runs == 1 && listed);
            runs = 0;
        }
    }
    if (!matters) return 0;
    const er_view first = er_part(text, 0, text->count < MOST_CHARS ? text->count : MOST_CHARS);
    for (uint32_t kind = 0; kind < ER_VALUES; kind++) {
        er_span span;
        if (has & needed[kind] && er_finds(m, er_value_programs[kind], &first, 0, &span)) found |= 1u << kind;
    }
    return found;
}
