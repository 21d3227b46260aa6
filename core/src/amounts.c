/* The number that English words say, and what it measures, in its smallest unit. */

#include "pieces_parts.h"
#include "unicode.h"
#include "words.h"

enum { MOST_DIGITS = 18 }; /* of a number, with its point */

static bool times(er_amount *a, er_amount b)
{
    const int64_t most = b.mantissa ? INT64_MAX / b.mantissa : INT64_MAX;
    if (a->mantissa > most || a->mantissa < -most || a->scale + b.scale > MOST_DIGITS) return false;
    a->mantissa *= b.mantissa;
    a->scale = (uint8_t)(a->scale + b.scale);
    while (a->scale && a->mantissa % 10 == 0) a->mantissa /= 10, a->scale--;
    return true;
}

static bool widen(er_amount *a, uint8_t scale)
{
    for (; a->scale < scale; a->scale++) {
        if (a->mantissa > INT64_MAX / 10) return false;
        a->mantissa *= 10;
    }
    return true;
}

static bool plus(er_amount *a, er_amount b)
{
    if (!widen(a, b.scale) || !widen(&b, a->scale) || a->mantissa > INT64_MAX - b.mantissa) return false;
    a->mantissa += b.mantissa;
    while (a->scale && a->mantissa % 10 == 0) a->mantissa /= 10, a->scale--;
    return true;
}

/* A number in digits: 1,200 and 1.200.000 are whole, 3,5 and 3.5 are not; false for what may be two. */
static bool digits(er_text word, er_amount *found)
{
    /* How many digits stand before the first mark, between marks and behind the last one; and which marks. */
    uint32_t commas = 0, points = 0, first = 0, run = 0, count = 0;
    bool threes = true, other = false; /* threes: between and behind the first mark's kind; other: a mark of another kind is last */
    uint32_t kind = 0;
    for (size_t i = 0; i < word.length;) {
        const uint32_t c = er_point_at(word, &i);
        if (er_is_decimal(c)) {
            run++, count++;
            continue;
        }
        if (!kind) kind = c, first = run;
        else if (other) return false; /* "1,200.5.6" */
        else threes = threes && run == 3;
        other = c != kind;
        commas += c == ',';
        points += c == '.';
        run = 0;
    }
    const uint32_t marks = commas + points;
    if (kind && !other) threes = threes && run == 3;
    const bool grouped = first >= 1 && first <= 3 && threes && (!other || marks > 1);
    uint32_t mark = 0; /* what stands for the point; all others say nothing */
    if (grouped && kind == ',' && (other ? points == 1 : true)) mark = other ? '.' : 0;
    else if (grouped && kind == '.' && (other ? commas == 1 : points >= 2)) mark = other ? ',' : 0;
    else if (marks > 1) return false;
    else mark = kind;
    if (count + (mark != 0) > MOST_DIGITS) return false;
    *found = (er_amount){0, 0, ER_NO_UNIT};
    bool behind = false;
    for (size_t i = 0; i < word.length;) {
        const uint32_t c = er_point_at(word, &i);
        if (c == mark && mark) behind = true;
        if (!er_is_decimal(c)) continue;
        found->mantissa = 10 * found->mantissa + er_digit_of(c);
        found->scale = (uint8_t)(found->scale + behind);
    }
    while (found->scale && found->mantissa % 10 == 0) found->mantissa /= 10, found->scale--;
    return true;
}

static const er_amount HALF = {5, 1, ER_NO_UNIT}, QUARTER = {25, 2, ER_NO_UNIT}, THREE_QUARTERS = {75, 2, ER_NO_UNIT};

static bool is_word(const er_unit *words, uint32_t count, uint32_t at, const char *word) { return at < count && er_is(words[at].lower, word); }

/* "a half", "a quarter", "three quarters" */
static bool is_part(const er_unit *words, uint32_t count, uint32_t at, er_amount *part)
{
    if (is_word(words, count, at, "a") && is_word(words, count, at + 1, "half")) return *part = HALF, true;
    if (is_word(words, count, at, "a") && is_word(words, count, at + 1, "quarter")) return *part = QUARTER, true;
    return *part = THREE_QUARTERS, is_word(words, count, at, "three") && is_word(words, count, at + 1, "quarters");
}

/* The part of one more that stands behind a number: "two and a half". */
static bool add_part(const er_unit *words, uint32_t count, uint32_t *at, er_amount *number)
{
    er_amount part;
    if (!is_word(words, count, *at, "and") || !is_part(words, count, *at + 1, &part)) return true;
    *at += 3;
    return plus(number, part);
}

/* Where what a part is of begins: "half an hour", "a quarter of an hour". */
static uint32_t behind_part(const er_unit *words, uint32_t count, uint32_t at)
{
    if (is_word(words, count, at, "of") && at + 1 < count && ER_IN(&words[at + 1], ARTICLE)) at++;
    return at + (at < count && ER_IN(&words[at], ARTICLE));
}

static bool read_number(const er_unit *words, uint32_t count, uint32_t at, er_amount *number, uint32_t *end)
{
    const er_unit *word = &words[at], *next = at + 1 < count ? word + 1 : NULL;
    size_t begin = 0;
    *end = at + 1;
    if (er_is_decimal(er_point_at(word->lower, &begin))) {
        if (!digits(word->lower, number)) return false;
        if (!next || !ER_IN(next, SCALE)) return true;
        *end = at + 2;
        return times(number, (er_amount){er_scale_of(next->lower), 0, ER_NO_UNIT});
    }
    const bool half = er_is(word->lower, "half"), quarter = er_is(word->lower, "quarter");
    if ((half || quarter) && !is_word(words, count, at + 2, "dozen")) return *end = behind_part(words, count, at + 1), *number = half ? HALF : QUARTER, true;
    if (is_part(words, count, at, number)) return *end = behind_part(words, count, at + 2), true;
    if (ER_IN(word, ARTICLE) && next && ER_IN(next, MEASURE)) return *number = (er_amount){1, 0, ER_NO_UNIT}, true;
    return er_numeral_at(words, count, at, number, end);
}

/* Letters, digits with their marks, and single marks. */
static bool cut(er_arena *arena, er_text text, const er_unit **found, uint32_t *count)
{
    er_unit *words = ER_TAKE(arena, er_unit, text.length + 1);
    if (!words) return false;
    uint32_t n = 0;
    for (size_t i = 0, end; i < text.length; i = end) {
        end = i;
        const uint32_t c = er_point_at(text, &end);
        const bool digit = er_is_decimal(c);
        if (er_is_space(c) || c == '_') continue;
        for (size_t next = end; er_is_alnum(c) && next < text.length;) {
            const uint32_t d = er_point_at(text, &next);
            size_t behind = next;
            if (digit && (d == '.' || d == ',') && next < text.length && er_is_decimal(er_point_at(text, &behind))) {
                end = next = behind;
                continue;
            }
            if (!er_is_alnum(d) || er_is_decimal(d) != digit) break;
            end = next;
        }
        words[n].lower = er_cut(text, i, end);
        words[n].lists = er_lists_of(words[n].lower);
        n++;
    }
    *found = words;
    *count = n;
    return true;
}

static bool is_money(uint32_t dimension) { return dimension == ER_EURO || dimension == ER_DOLLAR || dimension == ER_POUND; }

/* "1.200" */
static bool is_thousands(er_text word)
{
    uint32_t before = 0, behind = 0;
    bool point = false;
    for (size_t i = 0; i < word.length;) {
        const uint32_t c = er_point_at(word, &i);
        if (c == '.' && !point) point = true;
        else if (!er_is_decimal(c)) return false;
        else ++*(point ? &behind : &before);
    }
    return before >= 1 && before <= 3 && behind == 3;
}

static bool is_decimal(er_text word)
{
    for (size_t i = 0; i < word.length;)
        if (!er_is_decimal(er_point_at(word, &i))) return false;
    return true;
}

static bool sum_of(const er_unit *words, uint32_t count, er_amount *total)
{
    bool seen = false;
    uint8_t dimension = ER_NO_UNIT;
    int64_t smaller = 0; /* what the next smaller unit of time has in seconds */
    *total = (er_amount){0, 0, ER_NO_UNIT};
    if (count == 3 && er_is(words[1].lower, ":") && is_decimal(words[0].lower) && is_decimal(words[2].lower) && er_length_of(words[2].lower) == 2) { /* "in 31:20" */
        er_amount seconds;
        if (!digits(words[0].lower, total) || !digits(words[2].lower, &seconds) || !times(total, (er_amount){60, 0, ER_NO_UNIT}) || !plus(total, seconds)) return false;
        total->dimension = ER_SECONDS;
        return true;
    }
    for (uint32_t at = 0, end; at < count; at = end) {
        er_amount number, factor;
        if (!read_number(words, count, at, &number, &end)) {
            end = at + 1;
            if (ER_IN(&words[at], MEASURE) && !seen) dimension = (uint8_t)er_unit_of(words[at].lower, NULL); /* "$5" */
            else if (!ER_IN(&words[at], IDLE)) return false;
            continue;
        }
        number.dimension = ER_NO_UNIT;
        if (!add_part(words, count, &end, &number)) return false;
        end += is_word(words, count, end, "-");
        const bool thousands = is_word(words, count, end, "k"), millions = is_word(words, count, end, "m");
        if ((thousands || millions) && is_money(end + 1 == count ? dimension : er_unit_of(words[end + 1].lower, NULL))) { /* "$350k", "3k euros" */
            if (!times(&number, (er_amount){thousands ? 1000 : 1000000, 0, ER_NO_UNIT})) return false;
            end++;
        }
        if (end + 1 < count && (is_word(words, count, end, "°") || is_word(words, count, end, "degrees") || is_word(words, count, end, "degree"))) {
            const er_dimension warmth = er_unit_of(words[end + 1].lower, NULL);
            end += warmth == ER_CELSIUS || warmth == ER_FAHRENHEIT;
        }
        er_text unit = end < count ? words[end].lower : (er_text){"", 0};
        uint32_t behind = end + 1;
        if (is_word(words, count, end, "per") && is_word(words, count, end + 1, "cent")) unit = (er_text)ER_TEXT("percent"), behind++;
        er_dimension counted = unit.length ? er_unit_of(unit, &factor) : ER_NO_UNIT;
        if (seen && dimension == ER_SECONDS && er_is(unit, "m")) { /* "1h 30m" */
            counted = er_unit_of((er_text)ER_TEXT("min"), &factor);
        } else if (seen && !counted && end == count && end == at + 1 && smaller && is_decimal(words[at].lower)) { /* "1h30" */
            counted = ER_SECONDS;
            factor = (er_amount){smaller, 0, ER_SECONDS};
            behind = end;
        }
        /* Nobody counts a thousandth of a euro. */
        if (is_money(counted ? counted : dimension) && is_thousands(words[at].lower) && !times(&number, (er_amount){1000, 0, ER_NO_UNIT})) return false;
        if (counted) {
            end = behind;
            if (!add_part(words, count, &end, &number)) return false;
            if ((seen && factor.dimension != dimension) || !times(&number, factor)) return false;
            dimension = factor.dimension;
            smaller = dimension == ER_SECONDS && !factor.scale && (factor.mantissa == 60 || factor.mantissa == 3600) ? factor.mantissa / 60 : 0;
        } else if (seen) {
            return false;
        }
        if (!plus(total, number)) return false;
        seen = true;
    }
    total->dimension = dimension;
    return seen;
}

bool er_amount_of(er_arena *arena, er_text said, er_amount *found)
{
    static const char minus[] = "minus ";
    const er_unit *words;
    uint32_t count, below = 0;
    er_text text;
    if (!er_lower_text(arena, said, &text)) return false;
    for (;;) {
        for (size_t next = 0; text.length && er_is_space(er_point_at(text, &next)); next = 0) text = er_cut(text, next, text.length);
        if (text.length < sizeof minus - 1 || memcmp(text.at, minus, sizeof minus - 1)) break;
        text = er_cut(text, sizeof minus - 1, text.length);
        below++;
    }
    if (!cut(arena, text, &words, &count) || !sum_of(words, count, found)) return false;
    if (below & 1) found->mantissa = -found->mantissa;
    return true;
}
