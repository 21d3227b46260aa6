/* Whose a day or an hour is where there are several: of one to another which of the two a parameter may take, what "3" says of
   "3 to 10 August", and "check in" in front of one. Knows nothing of how well anything suits. */

#include "arguments.h"
#include "unicode.h"

bool er_is_past(er_arena *arena, const er_reading *of, const er_parameter *one, const er_piece *piece)
{
    static const char *const words = "since last past received ago seit after";
    er_text low;
    bool stays = false; /* the last day of a stay is ahead, the last visit is not */
    if (piece->leads && er_listed_in(of->units[piece->first - 1].lower, words)) return true;
    for (uint32_t i = 0; i < one->stems.count; i++) stays |= er_listed_in(one->stems.words[i], "day night");
    for (uint32_t i = 0; i < one->stems.count; i++)
        if (er_listed_in(one->stems.words[i], words) && !(stays && er_is(one->stems.words[i], "last"))) return true;
    return er_lowered(arena, one->name, &low) && er_listed_in(low, words);
}

/* A number of one or two digits, with so many characters behind it. */
static bool is_short(const er_reading *of, const er_unit *unit, uint32_t behind)
{
    uint32_t digits = 0;
    while (unit->begin + digits < unit->end && er_is_decimal(of->text.points[unit->begin + digits])) digits++;
    return digits && digits <= 2 && digits + behind == unit->end - unit->begin;
}

/* Whether it is the number of a day, 3 or 3rd. */
static bool is_numbered(const er_reading *of, const er_unit *unit)
{
    const er_text word = unit->lower;
    return is_short(of, unit, 0) || (is_short(of, unit, 2) && word.length > 2 && er_listed_in(er_cut(word, word.length - 2, word.length), "st nd rd th"));
}

static bool is_dot(const er_reading *of, uint32_t at)
{
    return at < of->unit_count && of->units[at].end - of->units[at].begin == 1 && of->text.points[of->units[at].begin] == '.';
}

/* Whether a word leads from the first day to the last one; in English, as all languages are read. */
static bool leads_on(const er_reading *of, uint32_t at)
{
    if (!at || at >= of->unit_count) return false;
    const er_text word = of->units[at].lower;
    if (er_is(word, "and")) return at > 1 && er_is(of->units[at - 2].lower, "between");
    return er_listed_in(word, "to - – until till bis through thru") || (er_is(word, "by") && is_dot(of, at - 1)); /* German "bis" */
}

bool er_text_of_piece(er_arena *arena, const er_reading *of, const er_piece *piece, er_text *said, er_text *english)
{
    const uint32_t first = piece->first, last = piece->last;
    *said = er_said_words(of, first, last);
    *english = er_glossed_words(of, first, last);
    if (last != first + 1 + is_dot(of, first + 1) || !is_numbered(of, &of->units[first]) || !leads_on(of, last)) return true;
    const uint32_t then = last + 1u + (last + 1u < of->unit_count && er_is(of->units[last + 1].lower, "the"));
    for (uint32_t m = of->match_starts[ER_PIECE_DATE]; m < of->match_starts[ER_PIECE_DATE + 1]; m++) {
        const er_match *day = &of->matches[m];
        const uint32_t month = day->first + 1u + is_dot(of, day->first + 1u);
        if (day->first != then || month >= day->last || !of->units[month].is_word || !is_numbered(of, &of->units[then])) continue;
        const er_text whole = er_glossed_words(of, day->first, day->last);
        const char *space = memchr(whole.at, ' ', whole.length);
        const er_text none = {"", 0}, more[] = {*said, ER_TEXT(" "), er_said_words(of, month, day->last)};
        const er_text known[] = {*english, ER_TEXT(" "), space ? er_cut(whole, (size_t)(space + 1 - whole.at), whole.length) : none};
        return er_join(arena, more, 3, said) && er_join(arena, known, 3, english);
    }
    return true;
}

/* Whether one of these days begins, or ends, at a unit. */
static bool is_day_at(const er_reading *of, uint32_t unit, bool begins)
{
    for (uint32_t m = of->match_starts[ER_PIECE_DATE]; m < of->match_starts[ER_PIECE_DATE + 1]; m++)
        if ((begins ? of->matches[m].first : of->matches[m].last) == unit) return true;
    return false;
}

static bool is_the(const er_reading *of, uint32_t at) { return at < of->unit_count && er_is(of->units[at].lower, "the"); }

/* Whether a parameter's name or description has one of the words. */
static bool asks(const er_parameter *one, er_text name, const char *words)
{
    for (uint32_t i = 0; i < one->stems.count; i++)
        if (er_listed_in(one->stems.words[i], words)) return true;
    return er_listed_in(name, words);
}

bool er_is_other_end(er_arena *arena, const er_reading *of, const er_parameter *one, const er_piece *piece)
{
    static const char *const ends = "end until till to finish finished finishes close closes stop stops", *const lasts = "last return back out checkout";
    static const char *const firsts = "first start starts starting begin begins beginning from arrival checkin";
    static const char *const hours = "one two three four five six seven eight nine ten eleven twelve";
    const uint32_t first = piece->first;
    er_text name;
    const bool is_day = piece->kind == ER_PIECE_DATE;
    if ((!is_day && piece->kind != ER_PIECE_TIME && piece->kind != ER_PIECE_MOMENT) || !er_lowered(arena, one->name, &name)) return false;
    bool last = asks(one, name, ends);
    if (!is_day) {
        if (last || first < 2) return false;
        const er_unit *begin = &of->units[first - 2];
        return er_listed_in(of->units[first - 1].lower, "to - – until till bis") && (er_listed_in(begin->lower, hours) || is_short(of, begin, 0));
    }
    last = last || asks(one, name, lasts);
    if (last) return leads_on(of, piece->last) && is_day_at(of, piece->last + 1u + is_the(of, piece->last + 1u), true);
    const uint32_t at = first > 1 ? first - 1u - is_the(of, first - 1u) : 0;
    if (asks(one, name, firsts) && (er_listed_in(of->units[at].lower, "until till") || (leads_on(of, at) && is_day_at(of, at, false)))) return true;
    if (!leads_on(of, at)) return false;
    const uint32_t number = is_dot(of, at - 1u) && at > 1 ? at - 2u : at - 1u; /* "3. bis 10. August" */
    return is_short(of, &of->units[number], 0) && is_short(of, &of->units[first], 0);
}

bool er_is_named_other(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    uint32_t at = piece->first;
    if (piece->kind != ER_PIECE_DATE && piece->kind != ER_PIECE_TIME && piece->kind != ER_PIECE_MOMENT) return false;
    while (at && er_listed_in(of->units[at - 1].lower, ": = on at is the")) at--;
    for (uint32_t i = 0; i < s->tool->count; i++) {
        const er_words name = s->tool->parameters[i].spelt;
        uint32_t unit = at, left = name.count;
        for (; left > 0 && unit > 0; unit--) {
            const er_text word = of->units[unit - 1].lower;
            if (er_is(word, "-")) continue; /* "check-in" */
            if (!er_same(word, name.words[left - 1])) break;
            left--;
        }
        if (!left && name.count > 1 && !er_same(s->tool->parameters[i].name, one->name)) return true;
    }
    return false;
}
