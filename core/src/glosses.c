/* A request of another language in English, as far as pieces_data.h knows it: its numbers, days, times, units and small words,
   so that one grammar reads them all. */

#include "format.h"
#include "pieces_parts.h"
#include "unicode.h"

enum { MOST_WORDS = 9, MOST_TOKENS = 192 }; /* of a number */
#define TOO_LARGE INT64_C(1000000000000)

typedef struct {
    const er_number_word *at[MOST_TOKENS];
    uint32_t count;
} tokens;

/* Whether a number word goes on with a number: "sixty" with "five" or, in French, with "fifteen"; "hundred" with both; and,
   in one German word, "five" with "sixty". */
static bool adds(int64_t pending, int64_t value, bool compounds)
{
    if (pending % 100 == 0) return value < 100;
    if (pending % 10 == 0) return value < (pending == 60 || pending == 80 ? 20 : 10);
    return compounds && pending < 10 && value >= 20 && value % 10 == 0;
}

/* The number that number words make; false where they are several, as in "two three". */
static bool value_of(const er_glossary *g, const tokens *t, int64_t *found)
{
    int64_t total = 0, section = 0, pending = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const int64_t value = t->at[i]->value;
        if (t->at[i]->scales && value < 1000) {
            section += (pending > 1 ? pending : 1) * value;
            pending = 0;
        } else if (t->at[i]->scales) {
            total += (section + pending > 1 ? section + pending : 1) * value;
            section = pending = 0;
        } else if (!pending) {
            if (i && !section && !total) return false;
            pending = value;
        } else if (pending == 4 && value == 20) { /* quatre-vingts */
            pending = 80;
        } else if (adds(pending, value, g->part)) {
            pending += value;
        } else {
            return false;
        }
    }
    *found = total + section + pending;
    return t->count && *found < TOO_LARGE;
}

/* Adds a word's number words; false where it has others. */
static bool add_tokens(er_reader *r, const er_glossary *g, er_text word, const er_view *low, tokens *t)
{
    const er_number_word *known = er_number_word_of(g, word);
    if (known) {
        if (t->count < MOST_TOKENS) t->at[t->count++] = known;
        return true;
    }
    uint32_t end;
    if (!g->part || !er_matches(&r->matcher, g->part, low, 0, &end)) return false;
    const er_text joined = er_pooled(g->joined);
    for (size_t at = 0; at < word.length;) {
        const er_text rest = er_cut(word, at, word.length);
        size_t most = joined.length && rest.length >= joined.length && !memcmp(rest.at, joined.at, joined.length) ? joined.length : 0;
        known = NULL;
        for (uint32_t i = 0; i < g->number_count; i++) {
            const er_text one = er_pooled(g->numbers[i].word);
            if (one.length <= most || one.length > rest.length || memcmp(rest.at, one.at, one.length)) continue;
            most = one.length;
            known = &g->numbers[i];
        }
        if (known && t->count < MOST_TOKENS) t->at[t->count++] = known;
        at += most ? most : 1;
    }
    return true;
}

static bool is_decimal(er_text text)
{
    for (size_t i = 0; i < text.length;)
        if (!er_is_decimal(er_point_at(text, &i))) return false;
    return text.length;
}

static bool put_number(er_arena *arena, int64_t value, er_text *text)
{
    char *at = ER_TAKE(arena, char, 24);
    if (!at) return false;
    *text = (er_text){at, er_format(at, 24, "%lld", (long long)value)};
    return true;
}

/* Number words, as digits; one that is an article too only beside others. */
static bool number_words(er_reader *r, const er_glossary *g, const er_text *lower, er_text *found)
{
    const er_text joined = er_pooled(g->joined);
    for (uint32_t at = 0, behind; at < r->count; at = behind > at + 1 ? behind : at + 1) {
        tokens t = {.count = 0};
        int64_t value = 0, told;
        behind = at;
        for (uint32_t end = at; end < r->count && end < at + MOST_WORDS; end++) {
            const uint32_t before = t.count;
            er_view low;
            if (!er_low_part(r->arena, &r->said, r->units[end].begin, r->units[end].end, &low)) return false;
            if (!add_tokens(r, g, lower[end], &low, &t) && (!t.count || (!er_is(lower[end], "-") && !er_same(lower[end], joined)))) break;
            if (t.count == before) continue;
            if (!value_of(g, &t, &told)) break;
            value = told;
            behind = end + 1;
        }
        if (behind == at) continue;
        const bool single = behind == at + 1;
        const er_number_word *known = single ? er_number_word_of(g, lower[at]) : NULL;
        er_text english;
        if (known && known->scales && at && is_decimal(lower[at - 1])) {
            if (known->value == 100) found[at] = (er_text)ER_TEXT("hundred");
            if (known->value == 1000) found[at] = (er_text)ER_TEXT("thousand");
            continue;
        }
        if (single && er_gloss_of(g, lower[at], &english) && er_is(english, "a")) continue;
        if (!put_number(r->arena, value, &found[at])) return false;
        for (uint32_t i = at + 1; i < behind; i++) found[i] = (er_text){"", 0};
    }
    return true;
}

/* ---- Phrases ---- */

typedef struct {
    er_reader *reader;
    const er_glossary *glossary;
    er_span groups[ER_GROUPS]; /* of a match; nothing from 0 to UINT32_MAX */
} phrase;

static bool has(const phrase *p, uint32_t group) { return p->groups[group].end != UINT32_MAX; }

static er_text written(const phrase *p, uint32_t group)
{
    const er_points *text = &p->reader->reading->text;
    return er_cut(text->text, text->starts[p->groups[group].begin], text->starts[p->groups[group].end]);
}

/* The number of a group, as large as it can be where it is larger; `digits` (may be NULL): as text. */
static bool number_in(phrase *p, uint32_t group, int64_t *value, er_text *digits)
{
    if (!has(p, group)) return false;
    er_reader *r = p->reader;
    const er_text text = written(p, group);
    if (is_decimal(text)) {
        char *at = ER_TAKE(r->arena, char, text.length + 1);
        if (!at) return false;
        size_t n = 0;
        *value = 0;
        for (size_t i = 0; i < text.length;) {
            const uint32_t digit = er_digit_of(er_point_at(text, &i));
            if (*value < TOO_LARGE) *value = 10 * *value + digit;
            if (n || digit || i == text.length) at[n++] = (char)('0' + digit);
        }
        if (digits) *digits = (er_text){at, n};
        return true;
    }
    tokens t = {.count = 0};
    er_view low, word;
    er_text said;
    if (!er_low_part(r->arena, &r->said, p->groups[group].begin, p->groups[group].end, &low)) return false;
    for (uint32_t i = 0, end; i < low.count; i = end) {
        for (end = i; end < low.count && low.kinds[end] & ER_IS_WORD;) end++;
        if (end == i) {
            end++;
            continue;
        }
        word = er_part(&low, i, end);
        if (!er_text_of(r->arena, word.points, word.count, &said)) return false;
        if (er_same(said, er_pooled(p->glossary->joined))) continue;
        const uint32_t before = t.count;
        if (!add_tokens(r, p->glossary, said, &word, &t) || t.count == before) return false;
    }
    return value_of(p->glossary, &t, value) && (!digits || put_number(r->arena, *value, digits));
}

static bool matches_in(er_reader *r, uint32_t program, er_span at)
{
    er_view low;
    er_span unused;
    return er_low_part(r->arena, &r->said, at.begin, at.end, &low) && er_finds(&r->matcher, program, &low, 0, &unused);
}

/* A time: with the part of the day, or as the language's hours are counted. */
static bool clock_of(phrase *p, char *room, size_t size)
{
    const bool half = has(p, ER_GROUP_HALF) || has(p, ER_GROUP_TO);
    int64_t hour, minute = 30;
    if (!number_in(p, has(p, ER_GROUP_TO) ? ER_GROUP_TO : ER_GROUP_H, &hour, NULL) || hour >= 25) return false;
    bool to_minute = half || number_in(p, ER_GROUP_M, &minute, NULL);
    if (!to_minute) minute = 0;
    if (minute > 59) return false;
    if (has(p, ER_GROUP_TO)) hour = hour - 1 ? hour - 1 : 12;
    const int h = (int)hour, m = (int)minute;
    if (has(p, ER_GROUP_PART)) {
        const er_span part = p->groups[ER_GROUP_PART];
        const bool pm = !matches_in(p->reader, p->glossary->before_noon, part) && matches_in(p->reader, p->glossary->behind_noon, part);
        if (h == 12 && pm && !matches_in(p->reader, ER_P_NOON, part)) return false;
        er_format(room, size, h > 0 && h <= 12 ? "%d:%02d %s" : "%d:%02d", h, m, pm ? "pm" : "am");
        return true;
    }
    const er_text unit = er_pooled(p->glossary->hour);
    if (has(p, ER_GROUP_TO) && h <= 12) er_format(room, size, "half past %d", h);
    else if (to_minute || h > 12) er_format(room, size, "%d:%02d", h, m);
    else er_format(room, size, "%d %s", h, unit.at);
    return !((to_minute || h > 12) && h >= 24);
}

static bool date_of(phrase *p, char *room, size_t size)
{
    int64_t day, month = 0;
    if (!number_in(p, ER_GROUP_D, &day, NULL)) return false;
    if (has(p, ER_GROUP_MONTH)) {
        er_text lower;
        if (!er_lower_text(p->reader->arena, written(p, ER_GROUP_MONTH), &lower)) return false;
        while (month < 12 && !er_same(lower, er_pooled(p->glossary->months[month]))) month++;
        month++;
    } else if (!number_in(p, ER_GROUP_MM, &month, NULL)) {
        return false;
    }
    if (day < 1 || day > 31 || month < 1 || month > 12) return false;
    const er_text year = has(p, ER_GROUP_Y) ? written(p, ER_GROUP_Y) : (er_text){"", 0};
    er_format(room, size, "%d %s%s%.*s", (int)day, er_month_name((uint32_t)month - 1).at, year.length ? " " : "", (int)year.length, year.at);
    return true;
}

/* Two texts and what stands between them. */
static bool put_together(er_arena *arena, er_text a, er_text b, er_text c, er_text *found)
{
    char *at = ER_TAKE(arena, char, a.length + b.length + c.length + 1);
    if (!at) return false;
    memcpy(at, a.at, a.length);
    memcpy(at + a.length, b.at, b.length);
    memcpy(at + a.length + b.length, c.at, c.length);
    *found = (er_text){at, a.length + b.length + c.length};
    return true;
}

/* Whether it is digits, a point and digits. */
static bool is_fraction(er_text text)
{
    const char *point = memchr(text.at, '.', text.length);
    const size_t at = point ? (size_t)(point - text.at) : 0;
    return point && is_decimal(er_cut(text, 0, at)) && is_decimal(er_cut(text, at + 1, text.length));
}

static bool english_of(phrase *p, er_text told, er_text *english)
{
    char room[96];
    if (er_is(told, "clock") || er_is(told, "date")) {
        if (!(er_is(told, "clock") ? clock_of(p, room, sizeof room) : date_of(p, room, sizeof room))) return false;
        return put_together(p->reader->arena, (er_text){room, strlen(room)}, (er_text){"", 0}, (er_text){"", 0}, english);
    }
    const char *at = memchr(told.at, '{', told.length);
    *english = told;
    if (!at) return true;
    const size_t hole = (size_t)(at - told.at);
    er_text number = written(p, ER_GROUP_N);
    int64_t unused;
    if (!is_fraction(number) && !number_in(p, ER_GROUP_N, &unused, &number)) return false;
    return put_together(p->reader->arena, er_cut(told, 0, hole), number, er_cut(told, hole + 3, told.length), english);
}

bool er_gloss(er_reader *r, const er_text *own, const er_text *lower, er_text *found)
{
    const er_glossary *g = &er_glossaries[r->reading->language];
    for (uint32_t i = 0; i < r->count; i++) {
        er_text word = lower[i];
        for (;;) { /* "l'" */
            if (word.length && word.at[word.length - 1] == '\'') word.length -= 1;
            else if (word.length >= 3 && !memcmp(word.at + word.length - 3, "\xe2\x80\x99", 3)) word.length -= 3;
            else break;
        }
        if (!er_gloss_of(g, word, &found[i])) found[i] = own[i];
    }
    if (!number_words(r, g, lower, found)) return false;
    bool *taken = ER_TAKE(r->arena, bool, r->count + 1);
    if (!taken) return false;
    er_place_units(r, false);
    for (uint32_t k = 0; k < g->phrase_count; k++) {
        const uint32_t program = g->phrases[k].program;
        er_span match;
        for (uint32_t from = 0; er_finds(&r->matcher, program, &r->said.written, from, &match); from = match.end) {
            phrase p = {.reader = r, .glossary = g};
            for (uint32_t group = 0; group < ER_GROUPS; group++) er_group(&r->matcher, group, &p.groups[group]);
            if (!r->begins[match.begin] || !r->ends[match.end]) continue;
            const uint32_t first = r->begins[match.begin] - 1u, last = r->ends[match.end];
            bool free = first < last;
            for (uint32_t i = first; i < last && free; i++) free = !taken[i];
            er_text english;
            if (!free || !english_of(&p, er_pooled(g->phrases[k].told), &english)) continue;
            for (uint32_t i = first; i < last; i++) found[i] = i == first ? english : (er_text){"", 0}, taken[i] = true;
        }
    }
    return !r->matcher.failed && !r->arena->error->status;
}
