/* What er_say makes of a text, as flat numbers. */

#include "said.h"

static size_t put_stems(char *room, size_t at, const er_text *stems, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(room + at, stems[i].at, stems[i].length);
        at += stems[i].length;
        room[at++] = '\n';
    }
    room[at++] = '\r';
    return at;
}

/* numbers: language, words, values, question | explains | bare | only_asks, sides low, high, clauses, their spans, wishes,
   their spans with sides low, high. stems: those of the whole negated, quoted, and of each wish. */
int64_t probe_say(const char *text, size_t length, uint32_t *numbers, char *stems, size_t *stem_bytes)
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_sayings s;
    int64_t n = -1;
    if (er_points_of(&arena, (er_text){text, length}, &points) && er_say(&arena, &points, &s)) {
        n = 0;
        size_t at = 0;
        numbers[n++] = s.language, numbers[n++] = s.words, numbers[n++] = s.values;
        numbers[n++] = s.question | s.explains << 1 | s.bare << 2 | s.only_asks << 3;
        numbers[n++] = (uint32_t)s.sides.on, numbers[n++] = (uint32_t)(s.sides.on >> 32);
        numbers[n++] = s.clause_count;
        for (uint32_t i = 0; i < s.clause_count; i++) numbers[n++] = s.clauses[i].begin, numbers[n++] = s.clauses[i].end;
        at = put_stems(stems, at, s.sides.negated, s.sides.negated_count);
        at = put_stems(stems, at, s.sides.quoted, s.sides.quoted_count);
        numbers[n++] = s.wish_count;
        for (uint32_t i = 0; i < s.wish_count; i++) {
            const er_sides *w = &s.wish_sides[i];
            numbers[n++] = s.wishes[i].begin, numbers[n++] = s.wishes[i].end;
            numbers[n++] = (uint32_t)w->on, numbers[n++] = (uint32_t)(w->on >> 32);
            at = put_stems(stems, at, w->negated, w->negated_count);
            at = put_stems(stems, at, w->quoted, w->quoted_count);
        }
        *stem_bytes = at;
    }
    er_give_back(&arena);
    return n;
}

int32_t probe_language(const char *text, size_t length)
{
    bool sure;
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    const int32_t found = er_points_of(&arena, (er_text){text, length}, &points) ? (int32_t)er_language_of(&points, &sure) : -1;
    er_give_back(&arena);
    return found;
}

/* Reads a text over and over, in one arena whose memory is released each time. */
int32_t probe_say_often(const char *text, size_t length, uint32_t times)
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_sayings s;
    bool fine = er_points_of(&arena, (er_text){text, length}, &points);
    for (uint32_t i = 0; fine && i < times; i++) {
        const er_place place = er_mark(&arena);
        fine = er_say(&arena, &points, &s);
        er_release(&arena, place);
    }
    er_give_back(&arena);
    return fine;
}

/* The steps that one program takes to look through a text; or to match at its begin, if it is only asked that. */
uint64_t probe_steps(const char *text, size_t length, uint32_t program, bool begin)
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_view view;
    er_matcher m;
    er_span found = {0, 0};
    er_matcher_of(&arena, &er_language_book, &m);
    if (er_points_of(&arena, (er_text){text, length}, &points) && er_view_of(&arena, points.points, points.count, &view)) {
        if (begin) er_matches(&m, program, &view, 0, &found.end);
        else
            while (er_finds(&m, program, &view, found.end, &found) && found.end > found.begin) continue;
    }
    er_give_back(&arena);
    return m.steps;
}

/* Of a language's rules: the numbers of `question`, `state` and `quoted`, which are matched at the begin alone. */
void probe_begin_rules(uint32_t language, uint32_t numbers[3])
{
    const er_rules *rules = &er_language_rules[language];
    numbers[0] = rules->question, numbers[1] = rules->state, numbers[2] = rules->quoted;
}

/* One match of an expression: whether `program` matches at the first place from `from` on, and where. */
int32_t probe_find(const char *text, size_t length, uint32_t program, uint32_t from, uint32_t span[2])
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_view view;
    er_matcher m;
    er_span found;
    er_matcher_of(&arena, &er_language_book, &m);
    const bool fits = er_points_of(&arena, (er_text){text, length}, &points) &&
                      er_view_of(&arena, points.points, points.count, &view) && er_finds(&m, program, &view, from, &found);
    if (fits) span[0] = found.begin, span[1] = found.end;
    er_give_back(&arena);
    return fits;
}
