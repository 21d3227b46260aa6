/* A request cut into words, numbers and marks. */

#include "pieces_parts.h"
#include "lexicon.h"
#include "unicode.h"
#include "words.h"

bool er_is_upper(uint32_t c)
{
    if (c < 128) return c >= 'A' && c <= 'Z';
    if (er_category_of(c) == ER_LU) return true;
    /* Roman numbers and letters in rings and boxes, which have no case of their own */
    return (c >= 0x2160 && c <= 0x216f) || (c >= 0x24b6 && c <= 0x24cf) || (c >= 0x1f130 && c <= 0x1f149) ||
           (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

uint32_t er_digit_of(uint32_t point) /* they stand in rows from 0 to 9 */
{
    uint32_t first = point;
    while (first && er_is_decimal(first - 1)) first--;
    return (point - first) % 10;
}

bool er_lower_text(er_arena *arena, er_text text, er_text *lower)
{
    bool plain = true;
    *lower = text;
    for (size_t i = 0; i < text.length && plain; i++) plain = (unsigned char)text.at[i] < 128 && !(text.at[i] >= 'A' && text.at[i] <= 'Z');
    if (plain) return true;
    er_points points;
    if (!er_points_of(arena, text, &points)) return false;
    uint32_t *made = ER_TAKE(arena, uint32_t, (size_t)points.count * 2);
    return made && er_text_of(arena, made, er_lower(points.points, points.count, made), lower);
}

void er_place_units(er_reader *r, bool english)
{
    const uint32_t count = (english ? r->english.count : r->said.written.count) + 1;
    memset(r->begins, 0, count * sizeof *r->begins);
    memset(r->ends, 0, count * sizeof *r->ends);
    for (uint32_t i = 0; i < r->count; i++) {
        const er_unit *unit = &r->units[i];
        const er_span at = english ? (er_span){unit->english, unit->stop} : (er_span){unit->begin, unit->end};
        if (at.end > at.begin && !r->begins[at.begin]) r->begins[at.begin] = (uint16_t)(i + 1);
        r->ends[at.end] = (uint16_t)(i + 1);
    }
}

static er_text own_text(const er_reader *r, uint32_t unit)
{
    const er_points *text = &r->reading->text;
    return er_cut(text->text, text->starts[r->units[unit].begin], text->starts[r->units[unit].end]);
}

/* The glosses as one text, with what stands between them. */
static bool join(er_reader *r, const er_text *own, const er_text *glosses)
{
    const er_points *text = &r->reading->text;
    size_t room = text->text.length + r->count + 1, n = 0;
    uint32_t at = 0, before = 0;
    bool changed = false; /* what runs into another word in one language may be two words in the other */
    for (uint32_t i = 0; i < r->count; i++) room += glosses[i].length;
    char *made = ER_TAKE(r->arena, char, room);
    if (!made) return false;
    for (uint32_t i = 0; i < r->count; i++) {
        er_unit *unit = &r->units[i];
        const er_text word = glosses[i];
        const bool now = !er_same(word, own[i]);
        er_text between = er_cut(text->text, text->starts[before], text->starts[word.length ? unit->begin : before]);
        size_t first = 0;
        if (word.length && !between.length && (now || changed) && i && er_is_alnum(er_point_at(word, &first))) between = (er_text)ER_TEXT(" ");
        memcpy(made + n, between.at, between.length);
        memcpy(made + n + between.length, word.at, word.length);
        n += between.length + word.length;
        unit->english = at + er_length_of(between);
        unit->stop = at = unit->english + er_length_of(word);
        before = unit->end;
        changed = now;
    }
    er_points *english = &r->reading->english;
    if (!er_points_of(r->arena, (er_text){made, n}, english) || !er_view_of(r->arena, english->points, english->count, &r->english)) return false;
    r->begins = ER_TAKE(r->arena, uint16_t, english->count + 1);
    r->ends = ER_TAKE(r->arena, uint16_t, english->count + 1);
    return r->begins && r->ends;
}

/* The first stem of a unit's words. */
static bool first_stem(er_arena *arena, er_text known, er_text *stem)
{
    const er_word *words;
    uint32_t count;
    er_points points;
    if (!er_points_of(arena, known, &points) || !er_words_of(arena, &points, &words, &count)) return false;
    *stem = count ? words[0].stem : (er_text){"", 0};
    return true;
}

/* Whether a unit begins "13x18", which has one stem. */
static bool is_size(const er_reader *r, const er_text *lower, uint32_t at)
{
    const er_unit *unit = &r->units[at];
    return at + 2 < r->count && er_is(lower[at + 1], "x") && r->said.written.kinds[unit->begin] & ER_IS_DIGIT && unit->end == unit[1].begin && unit[1].end == unit[2].begin;
}

bool er_cut_units(er_reader *r)
{
    const er_language language = r->reading->language;
    const uint32_t cut = ER_P_CUTS_EN + (uint32_t)language;
    const uint32_t most = r->said.written.count < ER_MOST_UNITS ? r->said.written.count : ER_MOST_UNITS;
    r->units = ER_TAKE(r->arena, er_unit, most + 1);
    er_text *own = ER_TAKE(r->arena, er_text, 3 * (size_t)most + 1);
    r->begins = ER_TAKE(r->arena, uint16_t, r->said.written.count + 1);
    r->ends = ER_TAKE(r->arena, uint16_t, r->said.written.count + 1);
    if (!r->units || !own || !r->begins || !r->ends) return false;
    er_text *lower = own + most, *glosses = lower + most;
    er_span span;
    for (uint32_t from = 0; r->count < most && er_finds(&r->matcher, cut, &r->said.written, from, &span); from = span.end) {
        er_unit *unit = &r->units[r->count];
        unit->begin = unit->english = span.begin;
        unit->end = unit->stop = span.end;
        own[r->count] = own_text(r, r->count);
        unit->is_word = r->said.written.kinds[span.begin] & ER_IS_ALNUM;
        if (!er_lower_text(r->arena, own[r->count], &lower[r->count])) return false;
        r->count++;
    }
    r->english = r->said.written;
    r->reading->english = r->reading->text;
    const bool glossed = er_glossaries[language].numbers;
    if (glossed && (!er_gloss(r, own, lower, glosses) || !join(r, own, glosses))) return false;
    for (uint32_t i = 0; i < r->count; i++) {
        er_unit *unit = &r->units[i];
        unit->lower = lower[i];
        if (glossed && !er_lower_text(r->arena, glosses[i], &unit->lower)) return false;
        unit->same = !glossed || er_same(unit->lower, lower[i]);
        unit->lists = er_lists_of(unit->lower);
        unit->stem = (er_text){"", 0};
        const er_text known = is_size(r, lower, i) ? er_cut(r->reading->text.text, r->reading->text.starts[unit->begin], r->reading->text.starts[unit[2].end]) : unit->same ? own[i] : unit->lower;
        if (unit->is_word && !first_stem(r->arena, known, &unit->stem)) return false;
    }
    er_place_units(r, true);
    return !r->matcher.failed;
}
