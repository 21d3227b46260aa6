#include "unicode.h"

#include "letters.h"

#include "unicode_tables.h"

enum { ALNUM = 1, SPACE = 2, CASED = 4, PASSED_OVER = 8, CANONICAL = 16, COMPATIBLE = 32, /* as in make_tables.py */
       MOST_POINT = 0x10ffff };

/* Hangul is put together by rule: 19 leading, 21 vowels, 27 trailing ones or none. */
enum { SYLLABLES = 0xac00, LEADING = 0x1100, VOWELS = 0x1161, TRAILING = 0x11a7, VOWEL_COUNT = 21, TRAILING_COUNT = 28,
       LEADING_COUNT = 19, SYLLABLE_COUNT = LEADING_COUNT * VOWEL_COUNT * TRAILING_COUNT };

/* A value of three stages. */
#define STAGED(name, LOW, MIDDLE, point) \
    name##_values[(uint32_t)name##_numbers[(uint32_t)name##_blocks[(point) >> (LOW + MIDDLE)] << MIDDLE | \
                                           ((point) >> LOW & ((1u << MIDDLE) - 1))] << LOW | ((point) & ((1u << LOW) - 1))]

static uint32_t record_of(uint32_t point)
{
    if (point < RECORD_NEAR) return record_near[point];
    if (point > MOST_POINT) point = MOST_POINT; /* unassigned for ever */
    const uint8_t *run = record_runs + record_numbers[(uint32_t)record_blocks[point >> 11] << 4 | (point >> 7 & 15)];
    uint32_t left = point & 127;
    for (; *run < left; run += 2) left -= *run + 1u;
    return run[1];
}

uint32_t er_letter_far(uint32_t point) { return records[record_of(point)].letter; }

uint32_t er_newer_lower(uint32_t point)
{
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i += 2)
        if (newer[i] == point) return newer[i + 1];
    return er_lower_of(point);
}

static uint32_t flags_of(uint32_t point) { return records[record_of(point)].flags; }

er_category er_category_of(uint32_t point) { return (er_category)records[record_of(point)].category; }
uint32_t er_combining_class(uint32_t point) { return records[record_of(point)].combining; }
bool er_is_letter(uint32_t point) { return er_category_of(point) <= ER_LO; }
bool er_is_alnum_far(uint32_t point) { return flags_of(point) & ALNUM; }
bool er_is_space(uint32_t point) { return flags_of(point) & SPACE; }

uint32_t er_lower_of(uint32_t point)
{
    if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 32 : point;
    if (point > MOST_POINT) return point;
    const uint32_t step = STAGED(lower, LOWER_LOW, LOWER_MIDDLE, point);
    return (uint32_t)((int32_t)point + lower_steps[step]);
}

uint32_t er_caseless(uint32_t point)
{
    point = er_lower_of(point);
    if (point < 0x80) return point;
    size_t low = 0, high = sizeof caseless / sizeof *caseless / 2;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (caseless[2 * middle] == point) return caseless[2 * middle + 1];
        if (caseless[2 * middle] < point) low = middle + 1;
        else high = middle;
    }
    return point;
}

/* Unicode's Final_Sigma: behind something with case, and before nothing with case, marks and the like passed over. */
static bool is_final(const uint32_t *points, uint32_t count, uint32_t at)
{
    uint32_t i = at;
    while (i && flags_of(points[i - 1]) & PASSED_OVER) i--;
    if (!i || !(flags_of(points[i - 1]) & CASED)) return false;
    for (i = at + 1; i < count && flags_of(points[i]) & PASSED_OVER; i++) continue;
    return i == count || !(flags_of(points[i]) & CASED);
}

uint32_t er_lower_at(const uint32_t *points, uint32_t count, uint32_t at, uint32_t found[2])
{
    enum { SIGMA = 0x3a3, FINAL = 0x3c2, DOTTED = 0x130, DOT = 0x307 };
    if (points[at] < 0x80) return found[0] = er_lower_of(points[at]), 1;
    found[0] = points[at] == SIGMA && is_final(points, count, at) ? FINAL : er_lower_of(points[at]);
    if (points[at] != DOTTED) return 1;
    found[1] = DOT; /* the only one whose lower case is two */
    return 2;
}

uint32_t er_lower(const uint32_t *points, uint32_t count, uint32_t *found)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) n += er_lower_at(points, count, i, found + n);
    return n;
}

/* What Unicode takes a code point apart to in one step, of one that it does; how many. As make_tables.py tells it. */
static uint32_t step_of(uint32_t point, uint32_t parts[ER_MOST_PARTS])
{
    enum { RISING, LONE, ANY = 7, FOLLOWS = 31, MIDDLE = 15, PARTS = sizeof step_parts / sizeof *step_parts };
    uint32_t low = step_planes[point >> 16], high = step_planes[(point >> 16) + 1];
    while (low + 1 < high) {
        const uint32_t middle = (low + high) / 2;
        if (step_chunks[2 * middle] <= (point & 0xffff)) low = middle;
        else high = middle;
    }
    const uint8_t *at = steps + step_chunks[2 * low + 1];
    uint32_t left = (point & 0xffff) - step_chunks[2 * low];
    parts[0] = 0;
    for (;;) {
        const uint32_t kind = *at & 7, number = *at++ >> 3;
        if (kind <= LONE) {
            const uint32_t n = left < number ? left + 1 : number;
            if (kind == LONE) parts[0] = (uint32_t)at[2 * n - 2] << 8 | at[2 * n - 1], at += 2 * n;
            else parts[0] += n;
            if (left < number) return 1;
            left -= number;
            continue;
        }
        const uint32_t count = kind == ANY ? *at++ : kind;
        if (number < FOLLOWS) parts[0] += number - MIDDLE;
        for (uint32_t n = number < FOLLOWS; n < count; n++) {
            const uint32_t high_bits = *at++;
            parts[n] = high_bits < PARTS ? step_parts[high_bits] : (high_bits - PARTS) << 16 | (uint32_t)at[0] << 8 | at[1];
            if (high_bits >= PARTS) at += 2;
        }
        if (!left--) return count;
    }
}

uint32_t er_decompose(uint32_t point, bool compatible, uint32_t parts[ER_MOST_PARTS])
{
    if (point >= SYLLABLES && point < SYLLABLES + SYLLABLE_COUNT) {
        const uint32_t number = point - SYLLABLES, last = number % TRAILING_COUNT;
        parts[0] = LEADING + number / (VOWEL_COUNT * TRAILING_COUNT);
        parts[1] = VOWELS + number % (VOWEL_COUNT * TRAILING_COUNT) / TRAILING_COUNT;
        if (last) parts[2] = TRAILING + last;
        return last ? 3 : 2;
    }
    const uint32_t flags = point < 0xa0 ? 0 : flags_of(point);
    parts[0] = point;
    if (!(flags & CANONICAL) && !(compatible && flags & COMPATIBLE)) return 1;
    uint32_t own[ER_MOST_PARTS], n = 0;
    const uint32_t count = step_of(point, own);
    for (uint32_t i = 0; i < count; i++) n += er_decompose(own[i], compatible, parts + n);
    return n;
}

uint32_t er_compose(uint32_t first, uint32_t second)
{
    if (first >= LEADING && first < LEADING + LEADING_COUNT && second >= VOWELS && second < VOWELS + VOWEL_COUNT)
        return SYLLABLES + ((first - LEADING) * VOWEL_COUNT + (second - VOWELS)) * TRAILING_COUNT;
    if (first >= SYLLABLES && first < SYLLABLES + SYLLABLE_COUNT && (first - SYLLABLES) % TRAILING_COUNT == 0 &&
        second > TRAILING && second < TRAILING + TRAILING_COUNT)
        return first + (second - TRAILING);
    enum { FAR_PAIRS = 0x11000, MOVED = 0xd000 }; /* as in make_tables.py */
    if (second < FAR_PAIRS && !(er_letter(second) & LETTER_SECOND)) return 0; /* of higher planes tokenizers know fewer */
    for (size_t low = 0, high = sizeof pairs / sizeof *pairs; low < high;) {
        const size_t middle = (low + high) / 2;
        const uint32_t both = pairs[middle] < MOVED ? pairs[middle] : pairs[middle] + (FAR_PAIRS - MOVED);
        uint32_t parts[ER_MOST_PARTS];
        step_of(both, parts);
        if (parts[0] == first && parts[1] == second) return both;
        if (parts[1] < second || (parts[1] == second && parts[0] < first)) low = middle + 1;
        else high = middle;
    }
    return 0;
}

bool er_text_of(er_arena *arena, const uint32_t *points, uint32_t count, er_text *text)
{
    char *bytes = ER_TAKE(arena, char, (size_t)count * 4 + 1);
    if (!bytes) return false;
    size_t n = 0;
    for (uint32_t i = 0; i < count; i++) n += er_put_point(bytes + n, points[i]);
    *text = (er_text){bytes, n};
    return true;
}
