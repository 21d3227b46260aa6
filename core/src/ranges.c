/* Whose a day or an hour is where there are several: of one to another which of the two a parameter may take, what "3" says of
   "3 to 10 August", and "check in" in front of one. Knows nothing of how well anything suits. */

#include "arguments.h"
#include "unicode.h"

static const char *const ends = "end until till to finish finished finishes close closes stop stops";
static const char *const lasts = "last return back out checkout befor";
static const char *const firsts = "first start starts starting begin begins beginning from arrival checkin sinc after";
static const char *const hours = "one two three four five six seven eight nine ten eleven twelve";

static bool has_any(er_words of, const char *words)
{
    for (uint32_t i = 0; i < of.count; i++)
        if (er_listed_in(of.words[i], words)) return true;
    return false;
}

/* Whether a parameter's name, which is told in lower case too, has one of the words. */
static bool asks(const er_parameter *one, er_text name, const char *words) { return has_any(one->stems, words) || er_listed_in(name, words); }

static bool is_past_behind(const er_suitor *s, const er_parameter *one, bool led, uint32_t first)
{
    static const char *const words = "since last past received ago seit after", *const ahead = "event calendar appoint meet schedul availabl flight slot book reserv";
    const er_words own = s->tool->name;
    er_text low;
    const bool stays = has_any(one->stems, "day night"); /* the last day of a stay is ahead, the last visit is not */
    const bool comes = has_any(own, ahead);              /* events after Friday are no past ones */
    if (!comes && er_has(own, (er_text)ER_TEXT("log"))) return true;
    const er_text lead = led ? s->reading->units[first - 1].lower : (er_text){"", 0};
    if (er_listed_in(lead, words) && !(comes && er_is(lead, "after"))) return true;
    for (uint32_t i = 0; i < one->stems.count; i++) {
        const er_text stem = one->stems.words[i];
        if (er_listed_in(stem, words) && !(stays && er_is(stem, "last")) && !(comes && er_is(stem, "after"))) return true;
    }
    return er_lowered(s->arena, one->name, &low) && er_listed_in(low, words) && !(comes && er_is(low, "after"));
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

static bool is_the(const er_reading *of, uint32_t at) { return at < of->unit_count && er_is(of->units[at].lower, "the"); }
static bool is_hour(const er_reading *of, const er_unit *unit) { return er_listed_in(unit->lower, hours) || is_short(of, unit, 0); }

/* Whether a day or an hour is one that something is moved from: "move my 3 pm to 5 pm". */
static bool is_moved(const er_reading *of, uint32_t first)
{
    bool moves = false;
    for (uint32_t i = 0; i < first; i++) {
        if (er_is(of->units[i].lower, "to")) return false;
        moves |= er_listed_in(of->units[i].lower, "move reschedule change push postpone delay");
    }
    return moves;
}

/* Whether a word leads from a day, or an hour, whose first unit is told, to the last one; in English, as all languages are read. */
static bool leads_on(const er_reading *of, uint32_t first, uint32_t at, bool hour)
{
    if (!at || at >= of->unit_count) return false;
    const er_text word = of->units[at].lower;
    if (er_is(word, "and")) {
        if (first && is_the(of, first - 1)) first--;
        return first && er_is(of->units[first - 1].lower, "between");
    }
    if (er_is(word, "by")) return is_dot(of, at - 1) || (hour && is_hour(of, &of->units[at - 1])); /* German "bis" */
    return er_listed_in(word, "to - – until till bis through thru") && !(er_is(word, "to") && is_moved(of, first));
}

/* The day, hour or both that begins at a unit; NULL for none. */
static const er_match *match_at(const er_reading *of, er_piece_kind kind, uint32_t unit)
{
    for (uint32_t m = of->match_starts[kind]; m < of->match_starts[kind + 1]; m++)
        if (of->matches[m].first == unit) return &of->matches[m];
    return NULL;
}

static bool joined(er_arena *arena, er_text text, const char *end, er_text *found)
{
    const er_text parts[] = {text, {end, strlen(end)}};
    return er_join(arena, parts, 2, found);
}

static bool is_half(er_arena *arena, er_text told, bool *half)
{
    er_text low;
    char last[2] = {0, 0};
    if (!er_lowered(arena, told, &low)) return false;
    for (size_t i = low.length, n = 2; i > 0 && n > 0; i--)
        if (low.at[i - 1] != '.') last[--n] = low.at[i - 1];
    *half = (last[0] == 'a' || last[0] == 'p') && last[1] == 'm';
    return true;
}

/* Which half of the day an hour is in that another one, whose half is said, ends: the later of both that is before it, 11 am of
   "11-1 pm"; of "9 to 17:00" the 9 is whole, too. "" for what is no such hour. */
static const char *half_of(er_arena *arena, const er_reading *of, uint32_t first, uint32_t last, er_text english)
{
    enum { HALF_DAY = 720 };
    const er_match *end = match_at(of, ER_PIECE_TIME, last + 1);
    bool is_time = false, half, digits = english.length > 0;
    er_text text;
    er_time begin, until;
    for (uint32_t m = of->match_starts[ER_PIECE_TIME]; m < of->match_starts[ER_PIECE_TIME + 1]; m++) is_time |= of->matches[m].first == first && of->matches[m].last == last;
    if (!end || !is_time || !leads_on(of, first, last, true)) return "";
    for (uint32_t m = of->match_starts[ER_PIECE_DATE]; m < of->match_starts[ER_PIECE_DATE + 1]; m++)
        if (of->matches[m].first <= first && last <= of->matches[m].last) return ""; /* "June 9 - 10 am" */
    const er_text told = er_glossed_words(of, end->first, end->last);
    const bool known = er_time_of(arena, told, ER_NO_HALF, &until);
    if (!known || !is_half(arena, told, &half)) return "";
    if (half && joined(arena, english, " am", &text) && er_time_of(arena, text, ER_NO_HALF, &begin)) {
        const int since = 60 * begin.hour + begin.minute, till = 60 * until.hour + until.minute;
        return since < till && till <= since + HALF_DAY ? " am" : " pm";
    }
    for (size_t i = 0; i < english.length;) digits &= er_is_decimal(er_point_at(english, &i));
    return digits && joined(arena, english, ":00", &text) && er_time_of(arena, text, ER_NO_HALF, &begin) ? ":00" : "";
}

static bool text_of(er_arena *arena, const er_reading *of, uint32_t first, uint32_t last, er_text *said, er_text *english)
{
    *said = er_said_words(of, first, last);
    *english = er_glossed_words(of, first, last);
    const char *half = half_of(arena, of, first, last, *english);
    if (*half) return joined(arena, *said, half, said) && joined(arena, *english, half, english);
    if (last != first + 1 + is_dot(of, first + 1) || !is_numbered(of, &of->units[first]) || !leads_on(of, first, last, false)) return true;
    const uint32_t then = last + 1u + is_the(of, last + 1u);
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

bool er_text_of_piece(er_arena *arena, const er_reading *of, const er_piece *piece, er_text *said, er_text *english)
{
    return text_of(arena, of, piece->first, piece->last, said, english);
}

/* The day or the hour, as whole as it is, from which a word leads on; NULL for none. */
static const er_match *begun_of(const er_reading *of, uint32_t at, bool hour)
{
    static const er_piece_kind kinds[] = {ER_PIECE_MOMENT, ER_PIECE_DATE, ER_PIECE_TIME};
    for (size_t k = hour ? 2 : 0; k < sizeof kinds / sizeof *kinds; k++) /* hour: an hour alone */
        for (uint32_t m = of->match_starts[kinds[k]]; m < of->match_starts[kinds[k] + 1]; m++)
            if (of->matches[m].last == at && leads_on(of, of->matches[m].first, at, kinds[k] != ER_PIECE_DATE)) return &of->matches[m];
    return NULL;
}

/* Whether an hour has no half of the day, since nobody knows whose it has: 9 of "move it from 9 to 10 am". */
static bool is_bare(er_arena *arena, const er_reading *of, const er_piece *piece)
{
    const uint32_t first = piece->first, last = piece->last;
    if (last != first + 1u || last >= of->unit_count || !is_hour(of, &of->units[first]) || !match_at(of, ER_PIECE_TIME, last + 1)) return false;
    if (!er_listed_in(of->units[last].lower, "to - – until till bis through thru by")) return false;
    return !*half_of(arena, of, first, last, er_glossed_words(of, first, last));
}

bool er_is_other_end(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    er_arena *arena = s->arena;
    const er_reading *of = s->reading;
    const bool is_day = piece->kind == ER_PIECE_DATE;
    uint32_t first = piece->first, last = piece->last;
    er_text name;
    if ((!is_day && piece->kind != ER_PIECE_TIME && piece->kind != ER_PIECE_MOMENT) || !er_lowered(arena, one->name, &name)) return false;
    if (piece->kind == ER_PIECE_TIME && is_bare(arena, of, piece)) return true;
    for (uint32_t m = of->match_starts[ER_PIECE_MOMENT]; m < of->match_starts[ER_PIECE_MOMENT + 1]; m++)
        if (of->matches[m].first <= piece->first && piece->last <= of->matches[m].last) { /* a day goes with its hour */
            first = of->matches[m].first, last = of->matches[m].last;
            break;
        }
    if (asks(one, name, ends) || (is_day && asks(one, name, lasts))) {
        const uint32_t then = last + 1 + is_the(of, last + 1);
        const bool follows = match_at(of, ER_PIECE_DATE, then) || match_at(of, ER_PIECE_TIME, then) || match_at(of, ER_PIECE_MOMENT, then);
        return (first && er_listed_in(of->units[first - 1].lower, "since after from")) || (follows && leads_on(of, first, last, !is_day));
    }
    const uint32_t at = first > 1 ? first - 1u - is_the(of, first - 1u) : 0;
    const bool begun = begun_of(of, at, false) != NULL;
    const bool until = er_listed_in(of->units[at].lower, "until till before") && !(at && er_is(of->units[at - 1].lower, "not")); /* "not before 10:00" */
    uint32_t whens = 0;
    if (asks(one, name, firsts) && (until || begun)) return true;
    for (uint32_t i = 0; i < s->tool->count; i++) whens += s->tool->parameters[i].kind == ER_KIND_WHEN;
    if (!is_day && whens > 1) return false; /* bedtime and waking of "1 am to 5 am" */
    if (!is_day) return begun || (at && er_listed_in(of->units[at].lower, "to - – until till bis") && is_hour(of, &of->units[at - 1]) && !is_moved(of, at - 1));
    const uint32_t number = !at ? 0 : at > 1 && is_dot(of, at - 1) ? at - 2u : at - 1u; /* "3. bis 10. August" */
    return at && leads_on(of, number, at, false) && is_short(of, &of->units[number], 0) && is_short(of, &of->units[first], 0);
}

/* From where to where the hours stand of which one is: "9-10 am". */
void er_hours_of(const er_reading *of, const er_piece *piece, uint32_t *first, uint32_t *last)
{
    const er_match *begun = piece->first ? begun_of(of, piece->first - 1u, true) : NULL;
    const er_match *end = match_at(of, ER_PIECE_TIME, piece->last + 1u);
    *first = piece->first;
    *last = piece->last;
    if (begun) *first = begun->first;
    else if (end && leads_on(of, piece->first, piece->last, true)) *last = end->last;
}

/* Whether an hour ends hours that run over midnight, 1 am of "8 pm - 1 am on Saturday": of which day is not said. */
static bool is_next_day(er_arena *arena, const er_reading *of, const er_piece *piece)
{
    const er_match *end = NULL, *begun;
    er_text said, since, until;
    er_time from, to;
    if (piece->kind == ER_PIECE_DATE) return false;
    for (uint32_t m = of->match_starts[ER_PIECE_TIME]; m < of->match_starts[ER_PIECE_TIME + 1] && !end; m++)
        if (piece->first <= of->matches[m].first && of->matches[m].last <= piece->last) end = &of->matches[m];
    if (!end || !end->first || !(begun = begun_of(of, end->first - 1u, true))) return false;
    if (!text_of(arena, of, begun->first, begun->last, &said, &since) || !text_of(arena, of, end->first, end->last, &said, &until)) return false;
    if (!er_time_of(arena, since, ER_NO_HALF, &from) || !er_time_of(arena, until, ER_NO_HALF, &to)) return false;
    return 60 * to.hour + to.minute <= 60 * from.hour + from.minute;
}

const er_now *er_counted_from(const er_suitor *s, const er_parameter *one, const er_piece *piece, er_now *room, bool *past)
{
    static const char *const fixed = "today tonight tomorrow tmrw tmr yesterday in from last this"; /* counted from today, wherever they stand */
    const er_reading *of = s->reading;
    const er_match *begun, *day = NULL;
    er_text said, english, name;
    er_day since;
    *past = is_past_behind(s, one, piece->leads, piece->first);
    if (!s->now || is_next_day(s->arena, of, piece)) return NULL;
    if ((piece->kind != ER_PIECE_DATE && piece->kind != ER_PIECE_MOMENT) || !piece->first) return s->now;
    begun = begun_of(of, piece->first > 1 ? piece->first - 1u - is_the(of, piece->first - 1u) : 0, false);
    const er_match *days = &of->matches[of->match_starts[ER_PIECE_DATE]];
    const bool two = of->match_starts[ER_PIECE_DATE + 1] - of->match_starts[ER_PIECE_DATE] == 2;
    if (!begun && two && days->last <= piece->first && er_lowered(s->arena, one->name, &name) && (asks(one, name, ends) || asks(one, name, lasts)))
        begun = days; /* "on Friday, back on Monday" */
    if (!begun) return s->now;
    for (uint32_t m = of->match_starts[ER_PIECE_DATE]; m < of->match_starts[ER_PIECE_DATE + 1] && !day; m++)
        if (begun->first <= of->matches[m].first && of->matches[m].last <= begun->last) day = &of->matches[m];
    for (uint32_t i = piece->first; i < piece->last; i++)
        if (er_listed_in(of->units[i].lower, fixed)) return s->now;
    const er_parameter *asked = one;
    for (uint32_t i = s->tool->count; i-- > 0;) { /* the first one is the last that is looked at */
        const er_parameter *other = &s->tool->parameters[i];
        if (other->kind == ER_KIND_WHEN && er_lowered(s->arena, other->name, &name) && asks(other, name, firsts)) asked = other;
    }
    if (!day || !text_of(s->arena, of, day->first, day->last, &said, &english)) return s->now;
    const er_unit *before = &of->units[day->first ? day->first - 1 : 0];
    const uint32_t mark = of->text.points[before->begin];
    const bool led = day->first && !(before->end - before->begin == 1 && (mark == '.' || mark == '!' || mark == '?' || mark == ';'));
    if (!er_day_of(s->arena, english, s->now, is_past_behind(s, asked, led, day->first), &since)) return s->now;
    *past = false;
    *room = *s->now;
    room->year = since.year, room->month = since.month, room->day = since.day;
    return room;
}

bool er_is_named_other(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    uint32_t at = piece->first;
    if (piece->kind != ER_PIECE_DATE && piece->kind != ER_PIECE_TIME && piece->kind != ER_PIECE_MOMENT) return false;
    while (at && er_listed_in(of->units[at - 1].lower, ": = on at is the")) at--;
    const er_text lead = at ? of->units[at - 1].stem : (er_text){"", 0}, back = ER_TEXT("back");
    for (uint32_t i = 0; i < s->tool->count; i++) {
        const er_parameter *other = &s->tool->parameters[i];
        const er_words name = other->spelt;
        uint32_t unit = at, left = name.count;
        for (; left > 0 && unit > 0; unit--) {
            const er_text word = of->units[unit - 1].lower;
            if (er_is(word, "-")) continue; /* "check-in" */
            if (!er_same(word, name.words[left - 1])) break;
            left--;
        }
        if (!left && name.count > 1 && !er_same(other->name, one->name)) return true;
        const er_piece_kind part = other->part == 'd' ? ER_PIECE_DATE : ER_PIECE_TIME;
        if (other->part && piece->kind != part) continue;
        /* "returning Sunday" is no `date` where there is a `return_date` */
        if (lead.length && other->kind == ER_KIND_WHEN && (er_has(other->stems, lead) || (er_same(lead, back) && er_has(other->told, back))))
            return !er_has(one->stems, lead) && !er_has(one->told, lead);
    }
    return false;
}
