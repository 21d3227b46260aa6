/* Which units are values of some kinds: by expressions, by number words, by capitals. */

#include "pieces_parts.h"
#include "unicode.h"

enum { MOST_PAIRS = 400, INITIAL = 3 };

bool er_add_match(er_reader *r, uint32_t kind, uint32_t first, uint32_t last)
{
    er_match_list *list = &r->matches[kind];
    if (list->count == list->room) {
        const uint32_t room = list->room ? 2 * list->room : 8;
        er_match *more = ER_TAKE(r->arena, er_match, room);
        if (!more) return false;
        if (list->count) memcpy(more, list->at, list->count * sizeof *more);
        list->at = more;
        list->room = room;
    }
    list->at[list->count++] = (er_match){(uint16_t)first, (uint16_t)last};
    return true;
}

static bool holds(er_match outer, er_match inner) { return outer.first <= inner.first && inner.last <= outer.last; }
static bool same(er_match a, er_match b) { return a.first == b.first && a.last == b.last; }

/* Whether one of a list holds a match; `others`: and is another one. */
static bool is_held(const er_match_list *list, er_match one, bool others)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (holds(list->at[i], one) && !(others && same(list->at[i], one))) return true;
    return false;
}

/* ---- By expressions ---- */

typedef struct {
    uint32_t bits[2][4]; /* keys of characters: of ASCII, and of all others */
} keys;

static void add_key(keys *k, uint32_t c) { k->bits[c >= 128][c >> 5 & 3] |= 1u << (c & 31); }

static bool has_any(const keys *k, uint32_t needed)
{
    const uint8_t *first = er_piece_book.firsts[needed];
    const uint32_t *rows[] = {er_piece_book.ascii[first[0]], er_piece_book.others[first[1]]};
    for (uint32_t half = 0; half < 2; half++)
        for (uint32_t i = 0; i < 4; i++)
            if (k->bits[half][i] & rows[half][i]) return true;
    return false;
}

static bool by_expressions(er_reader *r)
{
    uint32_t count;
    keys exact = {0}, caseless = {0};
    const er_value_pattern *patterns = er_value_patterns(&count);
    for (uint32_t i = 0; i < r->english.count; i++) add_key(&exact, r->english.points[i]), add_key(&caseless, r->english.caseless[i]);
    for (uint32_t k = 0; k < count; k++) {
        const er_program *program = &er_piece_book.programs[patterns[k].program];
        if (!has_any(program->flags & ER_IGNORES_CASE ? &caseless : &exact, patterns[k].needed)) continue;
        er_span span, value;
        for (uint32_t from = 0; er_finds(&r->matcher, patterns[k].program, &r->english, from, &span); from = span.end) {
            value = span;
            if (program->flags & ER_HAS_GROUPS && !er_group(&r->matcher, ER_GROUP_V, &value) && !er_group(&r->matcher, ER_GROUP_W, &value)) value = span;
            if (!r->begins[value.begin] || !r->ends[value.end] || value.begin >= value.end) continue;
            if (!er_add_match(r, patterns[k].kind, r->begins[value.begin] - 1u, r->ends[value.end])) return false;
        }
    }
    return !r->matcher.failed;
}

/* ---- Codes and serials ---- */

static void keep(er_reader *r, uint32_t kind, bool (*goes)(const er_reader *, er_match))
{
    er_match_list *list = &r->matches[kind];
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (!goes(r, list->at[i])) list->at[n++] = list->at[i];
    list->count = n;
}

static bool in_serial(const er_reader *r, er_match one) { return is_held(&r->matches[ER_PIECE_SERIAL], one, false); }

static bool in_when(const er_reader *r, er_match one)
{
    return is_held(&r->matches[ER_PIECE_DATE], one, false) || is_held(&r->matches[ER_PIECE_TIME], one, false) ||
           is_held(&r->matches[ER_PIECE_DURATION], one, false);
}

/* Numbers of accounts, cards and orders, with their spaces and dashes, are codes; no part of one is a code or a phone number. */
static bool whole_serials(er_reader *r)
{
    er_match_list *serials = &r->matches[ER_PIECE_SERIAL], all = *serials;
    er_match *copy = ER_TAKE(r->arena, er_match, all.count + 1);
    if (!copy) return false;
    if (all.count) memcpy(copy, all.at, all.count * sizeof *copy);
    all.at = copy;
    serials->count = 0;
    for (uint32_t i = 0; i < all.count; i++)
        if (!is_held(&all, all.at[i], true)) serials->at[serials->count++] = all.at[i];
    keep(r, ER_PIECE_CODE, in_serial);
    keep(r, ER_PIECE_PHONE, in_serial);
    keep(r, ER_PIECE_CODE, in_when);
    for (uint32_t i = 0; i < serials->count; i++)
        if (!er_add_match(r, ER_PIECE_CODE, serials->at[i].first, serials->at[i].last)) return false;
    return true;
}

/* Whether it is a number and its unit, written as one word. */
static bool is_measure(const er_reader *r, er_match one)
{
    return one.last - one.first == 2 && r->said.written.kinds[r->units[one.first].begin] & ER_IS_DIGIT && ER_IN(&r->units[one.first + 1], MEASURE);
}

/* "14C" may be a seat, and "40g" is none. */
static bool is_no_code(const er_reader *r, er_match one)
{
    if (!is_measure(r, one)) return false;
    const er_unit *unit = &r->units[one.first + 1];
    bool upper = false;
    for (uint32_t i = unit->begin; i < unit->end; i++) {
        const uint32_t c = r->said.written.points[i];
        if (er_category_of(c) == ER_LL || er_category_of(c) == ER_LT) return true;
        upper = upper || er_is_upper(c);
    }
    return !upper;
}

/* ---- Numbers ---- */

/* The number below 100 (or the "a" of "a hundred") that begins at a unit; -1: none. */
static int tens(const er_unit *units, uint32_t count, uint32_t at, uint32_t *behind)
{
    static const er_unit nothing = {.lower = {"", 0}};
    const er_unit *word = at < count ? &units[at] : &nothing, *next = at + 1 < count ? &units[at + 1] : &nothing;
    *behind = at;
    if (ER_IN(word, ARTICLE) && er_is(next->lower, "hundred")) return *behind = at + 1, 1;
    const int value = ER_IN(word, NUMERAL) ? er_numeral_of(word->lower) : -1;
    if (value < 0) return -1;
    uint32_t end = at + 2;
    if (er_is(next->lower, "-")) {
        next = at + 2 < count ? &units[at + 2] : &nothing;
        end++;
    }
    const int more = value >= 20 && ER_IN(next, NUMERAL) ? er_numeral_of(next->lower) : -1;
    *behind = more > 0 && more < 10 ? end : at + 1;
    return more > 0 && more < 10 ? value + more : value;
}

static int hundreds(const er_unit *units, uint32_t count, uint32_t at, uint32_t *behind)
{
    const int value = tens(units, count, at, behind);
    if (value < 0 || *behind >= count || !er_is(units[*behind].lower, "hundred")) return value;
    uint32_t start = *behind + 1, end;
    *behind = start;
    if (start < count && er_is(units[start].lower, "and")) start++;
    const int rest = tens(units, count, start, &end);
    if (rest < 0) return 100 * value;
    *behind = end;
    return 100 * value + rest;
}

int64_t er_scale_of(er_text word) { return er_is(word, "thousand") ? 1000 : er_is(word, "dozen") ? 12 : 1000000; }

bool er_numeral_at(const er_unit *units, uint32_t count, uint32_t at, er_amount *found, uint32_t *behind)
{
    static const struct { const char *first, *second, *third; uint8_t value; } wholes[] = {
        {"half", "a", "dozen", 6}, {"a", "dozen", NULL, 12}, {"a", "couple", NULL, 2}, {"once", NULL, NULL, 1}, {"twice", NULL, NULL, 2},
    };
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        const uint32_t length = wholes[i].third ? 3 : wholes[i].second ? 2 : 1;
        if (at + length > count || !er_is(units[at].lower, wholes[i].first)) continue;
        if ((length > 1 && !er_is(units[at + 1].lower, wholes[i].second)) || (length > 2 && !er_is(units[at + 2].lower, wholes[i].third))) continue;
        const uint32_t end = at + length, next = end + (end < count && er_is(units[end].lower, "of"));
        const bool hundred = next < count && er_is(units[next].lower, "hundred"), scaled = hundred || (next < count && ER_IN(&units[next], SCALE));
        *found = (er_amount){wholes[i].value * (hundred ? 100 : scaled ? er_scale_of(units[next].lower) : INT64_C(1)), 0, ER_NO_UNIT};
        *behind = scaled ? next + 1 : end;
        return true;
    }
    bool any = false;
    *found = (er_amount){0, 0, ER_NO_UNIT};
    *behind = at;
    while (at < count) {
        uint32_t end;
        const int value = hundreds(units, count, at, &end);
        if (value < 0) break;
        const bool scaled = end < count && ER_IN(&units[end], SCALE);
        any = true;
        found->mantissa += value * (scaled ? er_scale_of(units[end].lower) : INT64_C(1));
        *behind = at = end + scaled;
        if (!scaled) break;
    }
    return any;
}

/* Whether all of a text is digits, with points and commas between them. */
static bool is_number(er_text text)
{
    bool digit = false;
    for (size_t i = 0; i < text.length;) {
        const uint32_t c = er_point_at(text, &i);
        const bool mark = c == '.' || c == ',';
        if (mark ? !digit : !er_is_decimal(c)) return false;
        digit = !mark;
    }
    return digit;
}

static bool begins_decimal(er_text text)
{
    size_t at = 0;
    return text.length && er_is_decimal(er_point_at(text, &at));
}

/* Whether it is two numbers with an x between them: "13x18". */
static bool is_size(const er_reader *r, er_match one) { return one.last - one.first == 3 && er_is(r->units[one.first + 1].lower, "x"); }

/* Whether a number is a part of what is one whole. */
static bool in_whole(const er_reader *r, er_match one)
{
    if (is_held(&r->matches[ER_PIECE_DATE], one, true) || is_held(&r->matches[ER_PIECE_TIME], one, true) ||
        is_held(&r->matches[ER_PIECE_PHONE], one, true))
        return true;
    const er_match_list *codes = &r->matches[ER_PIECE_CODE];
    for (uint32_t i = 0; i < codes->count; i++)
        if (holds(codes->at[i], one) && !same(codes->at[i], one) && !is_measure(r, codes->at[i]) && !is_size(r, codes->at[i])) return true;
    return false;
}

/* How many words a part of one more has, behind a number: "and a half". */
static uint32_t part_behind(const er_reader *r, uint32_t at)
{
    if (at + 2 >= r->count || !er_is(r->units[at].lower, "and") || !er_is(r->units[at + 1].lower, "a")) return 0;
    return er_is(r->units[at + 2].lower, "half") || er_is(r->units[at + 2].lower, "quarter") ? 3 : 0;
}

static bool is_often(er_text word) { return er_is(word, "once") || er_is(word, "twice"); }

/* What makes these numbers. */
static bool is_each(er_text word) { return er_is(word, "a") || er_is(word, "per") || er_is(word, "daily") || er_is(word, "every") || er_is(word, "each"); }

static bool add_numbers(er_reader *r)
{
    const er_unit *units = r->units;
    for (uint32_t at = 0, end; at < r->count; at = end) {
        for (end = at + 1; end < r->count && !units[end].lower.length;) end++;
        if (begins_decimal(units[at].lower)) {
            end += end < r->count && ER_IN(&units[end], SCALE);
            end += part_behind(r, end);
            if (is_number(units[at].lower) && !er_add_match(r, ER_PIECE_NUMBER, at, end)) return false;
            continue;
        }
        er_amount unused;
        uint32_t behind;
        /* "the one of Tuesday" counts nothing. */
        if (er_numeral_at(units, r->count, at, &unused, &behind)) {
            behind += part_behind(r, behind);
            const bool rare = is_often(units[at].lower) && !(at + 1 < r->count && is_each(units[at + 1].lower));
            if (!rare && !(behind == at + 1 && er_is(units[at].lower, "one")) && !er_add_match(r, ER_PIECE_NUMBER, at, behind)) return false;
        }
        if (behind > end) end = behind;
    }
    keep(r, ER_PIECE_NUMBER, in_whole);
    return true;
}

/* Whether it is a number and a unit in one: "40 g". */
static bool is_counted(er_text lower)
{
    const char *space = NULL;
    for (size_t i = 0; i < lower.length; i++)
        if (lower.at[i] == ' ') space = lower.at + i;
    return space && begins_decimal(lower) && er_unit_of(er_cut(lower, (size_t)(space - lower.at) + 1, lower.length), NULL);
}

/* Numbers with a unit behind them, and "half a litre". */
static bool is_less(er_amount a, er_amount b)
{
    for (; a.scale < b.scale; a.scale++) a.mantissa *= 10;
    for (; b.scale < a.scale; b.scale++) b.mantissa *= 10;
    return a.mantissa < b.mantissa;
}

static bool add_measures(er_reader *r)
{
    const er_match_list *numbers = &r->matches[ER_PIECE_NUMBER];
    const er_unit *units = r->units;
    er_amount larger = {0, 0, ER_NO_UNIT};
    uint32_t first = 0, last = 0; /* of the measure before */
    for (uint32_t i = 0; i < numbers->count; i++) {
        er_match one = numbers->at[i];
        er_amount factor;
        const bool degrees = one.last < r->count && (er_is(units[one.last].lower, "degrees") || er_is(units[one.last].lower, "degree"));
        const uint32_t at = one.last + (degrees || (one.last < r->count && er_point_of(r, one.last) == 0xb0));
        if (at >= r->count || !ER_IN(&units[at], MEASURE)) continue;
        const er_dimension unit = er_unit_of(units[at].lower, &factor);
        if (degrees && unit != ER_CELSIUS && unit != ER_FAHRENHEIT) continue;
        if (!er_add_match(r, ER_PIECE_MEASURE, one.first, at + 1)) return false;
        if (last && last == one.first && unit == larger.dimension && is_less(factor, larger)) { /* "5 kg 200 g" */
            one.first = (uint16_t)first;
            if (!er_add_match(r, ER_PIECE_MEASURE, first, at + 1)) return false;
        }
        first = one.first, last = at + 1;
        larger = factor;
        larger.dimension = (uint8_t)unit;
    }
    for (uint32_t at = 0; at < r->count; at++) {
        if (!is_counted(units[at].lower)) continue;
        uint32_t behind = at + 1;
        while (behind < r->count && !units[behind].lower.length) behind++;
        if (!er_add_match(r, ER_PIECE_MEASURE, at, behind)) return false;
    }
    for (uint32_t at = 0; at + 2 < r->count; at++)
        if (er_is(units[at].lower, "half") && ER_IN(&units[at + 1], ARTICLE) && ER_IN(&units[at + 2], MEASURE) &&
            !er_add_match(r, ER_PIECE_MEASURE, at, at + 3))
            return false;
    return true;
}

/* ---- Names ---- */

/* Whether a sentence begins with a unit. */
static bool begins(const er_reader *r, uint32_t at)
{
    if (!at || er_is_mark(r, at - 1, ".!?:;\"")) return true;
    const uint32_t c = er_point_of(r, at - 1);
    return c == 0x2022 || c == 0x201c || c == 0x201d;
}

static bool is_capital(const er_reader *r, uint32_t at, uint32_t first)
{
    const er_unit *unit = &r->units[at];
    if (!unit->same) return false;
    const uint32_t c = er_point_of(r, at);
    const bool is_i = er_is(unit->lower, "i") && c == 'I';
    const bool i_am = unit->lower.length > 1 && unit->lower.at[0] == 'i' && (unit->lower.at[1] == '\'' || (unit->lower.length > 3 && !memcmp(unit->lower.at + 1, "\xe2\x80\x99", 3)));
    if (er_is_upper(c) && !is_i && !i_am) return true;
    if (at == first) return false;
    const er_unit *before = unit - 1, *next = unit + 1;
    if (c == '.' && before->end - before->begin > INITIAL) return false;
    if (unit->end - unit->begin != 1 || !(er_is_mark(r, at, "&-'.") || c == 0x2019)) return false;
    if (unit->begin != before->end + (c == '&') || at + 1 >= r->count) return false;
    return er_is_upper(er_point_of(r, at + 1)) && next->begin <= unit->end + (c == '&' || c == '.');
}

static bool is_no_name(const er_reader *r, er_match name)
{
    const er_match_list *serials = &r->matches[ER_PIECE_SERIAL], *measures = &r->matches[ER_PIECE_MEASURE];
    for (uint32_t i = 0; i < serials->count; i++) {
        const er_match one = serials->at[i];
        if ((one.first < name.last && name.last < one.last) || (one.first < name.last && name.last == one.last)) return true;
    }
    for (uint32_t i = 0; i < measures->count; i++)
        if (measures->at[i].first < name.first && name.last <= measures->at[i].last) return true;
    return false;
}

/* Runs of capitals; the first word of a sentence is one where another one follows, or where it is no plain word. */
static bool add_names(er_reader *r)
{
    const er_unit *units = r->units;
    for (uint32_t at = 0, end; at < r->count; at = end > at ? end : at + 1) {
        for (end = at; end < r->count && is_capital(r, end, at);) end++;
        /* A small word between two capitals belongs to a name: "Isle of Man". */
        while (at < end && end + 1 < r->count && ER_IN(&units[end], INSIDE) && is_capital(r, end + 1, at)) end += 2;
        if (end == at || (end == at + 1 && (begins(r, at) || ER_IN(&units[at], COMMON)))) continue;
        const uint32_t first = begins(r, at) && end > at + 1 && ER_IN(&units[at], OPENER) ? at + 1 : at;
        if (!er_add_match(r, ER_PIECE_NAME, first, end)) return false;
        bool digits = end < r->count;
        for (uint32_t i = digits ? units[end].begin : 0; digits && i < units[end].end; i++) digits = r->said.written.kinds[i] & ER_IS_DIGIT;
        if (digits && !er_add_match(r, ER_PIECE_NAME, first, end + 1)) return false;
    }
    keep(r, ER_PIECE_NAME, is_no_name);
    return true;
}

/* ---- Moments ---- */

static bool add_moment(er_reader *r, er_match a, er_match b)
{
    if (b.first < a.last || b.first - a.last > 2) return true;
    for (uint32_t i = a.last; i < b.first; i++) /* a gloss of two words has none at the second */
        if (r->units[i].lower.length && !ER_IN(&r->units[i], JOINT)) return true;
    return er_add_match(r, ER_PIECE_MOMENT, a.first, b.last);
}

/* A date and a time beside each other, "at" or a comma between them or not. */
static bool add_moments(er_reader *r)
{
    const er_match_list *dates = &r->matches[ER_PIECE_DATE], *times = &r->matches[ER_PIECE_TIME];
    if (2 * (uint64_t)dates->count * times->count >= MOST_PAIRS) return true;
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < dates->count; i++)
            for (uint32_t k = 0; k < times->count; k++)
                if (!(turn ? add_moment(r, times->at[k], dates->at[i]) : add_moment(r, dates->at[i], times->at[k]))) return false;
    return true;
}

bool er_find_matches(er_reader *r)
{
    if (!by_expressions(r) || !whole_serials(r)) return false;
    keep(r, ER_PIECE_CODE, is_no_code);
    return add_numbers(r) && add_measures(r) && add_names(r) && add_moments(r);
}
