/* Where a street stands with its number: "12 Baker Street", "10 downing st", "12 rue de la paix". */

#include "pieces_parts.h"
#include "arguments.h"
#include "words.h"
#include "unicode.h"

enum { MOST_WORDS = 3, MOST_BEHIND = 6, LEAST_NAMED = 3 };

static bool is_digit(const er_reader *r, uint32_t unit) { return er_is_decimal(er_point_of(r, unit)); }

/* A number that is no day's, no time's and no amount's. */
static bool is_house(const er_reader *r, uint32_t unit)
{
    static const uint8_t counted[] = {ER_PIECE_PHONE, ER_PIECE_DATE, ER_PIECE_TIME, ER_PIECE_DURATION, ER_PIECE_PERCENT, ER_PIECE_MONEY, ER_PIECE_MEASURE, ER_PIECE_SERIAL};
    if (!is_digit(r, unit)) return false;
    for (uint32_t k = 0; k < sizeof counted; k++)
        for (uint32_t m = 0; m < r->matches[counted[k]].count; m++)
            if (r->matches[counted[k]].at[m].first <= unit && unit < r->matches[counted[k]].at[m].last) return false;
    return true;
}

/* Whether it is a street's whole name: "gartenstraße". */
static bool names_street(er_text lower)
{
    static const char *const ends[] = {"straße", "strasse", "str", "gasse", "allee", "weg"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t length = strlen(ends[i]);
        if (lower.length < length || memcmp(lower.at + lower.length - length, ends[i], length)) continue;
        if (er_length_of(er_cut(lower, 0, lower.length - length)) >= LEAST_NAMED) return true;
    }
    return false;
}

/* A word without digits. */
static bool is_plain(const er_reader *r, uint32_t unit)
{
    if (!r->units[unit].is_word) return false;
    for (uint32_t i = r->units[unit].begin; i < r->units[unit].end; i++)
        if (er_is_decimal(r->said.written.points[i])) return false;
    return true;
}

/* Where the words of a street's name end, those that join them not the last. */
static uint32_t run(const er_reader *r, uint32_t first)
{
    uint32_t last = first;
    for (uint32_t end = first; end < r->count && end < first + MOST_BEHIND; end++) {
        const er_unit *unit = &r->units[end];
        if (!unit->lower.length || ER_IN(unit, STREET_OF)) continue;
        if (!is_plain(r, end) || !unit->same || ER_IN(unit, STREET_BREAK)) break;
        last = end + 1;
    }
    return last;
}

static uint32_t behind_number(const er_reader *r, uint32_t at)
{
    if (at + 1 < r->count && ER_IN(&r->units[at + 1], STREET)) {
        const uint32_t last = run(r, at + 2);
        if (last > at + 2) return last;
    }
    uint32_t found = at;
    for (uint32_t end = at + 1; end < r->count && end < at + 2 + MOST_WORDS; end++) {
        if (!is_plain(r, end) || ER_IN(&r->units[end], STREET_BREAK)) break;
        if (end > at + 1 && ER_IN(&r->units[end], STREET_END)) found = end + 1;
    }
    return found;
}

uint32_t er_street_before(const er_reader *r, er_match name) { return name.first && is_house(r, name.first - 1u) ? name.first - 1u : name.first; }

uint32_t er_street_at(const er_reader *r, uint32_t at)
{
    const er_unit *unit = &r->units[at];
    if (is_house(r, at)) return behind_number(r, at);
    if (ER_IN(unit, STREET) && !(at && is_digit(r, at - 1))) {
        const uint32_t last = run(r, at + 1);
        return last > at + 1 && last < r->count && is_house(r, last) ? last + 1 : at;
    }
    if (!names_street(unit->lower)) return at;
    const uint32_t last = at + 1 + (at + 1 < r->count && er_is_mark(r, at + 1, "."));
    return last < r->count && is_house(r, last) ? last + 1 : at;
}

bool er_is_street(const er_unit *units, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++)
        if (ER_IN(&units[i], STREET_END) || ER_IN(&units[i], STREET) || names_street(units[i].lower)) return true;
    return false;
}
