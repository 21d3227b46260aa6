/* What er_read_request makes of a text, as flat numbers and lines. */

#include "pieces.h"

#include <stdio.h>

static size_t put(char *room, size_t at, er_text text)
{
    if (text.length) memcpy(room + at, text.at, text.length);
    room[at + text.length] = '\n';
    return at + text.length + 1;
}

/* numbers: language; units, of each begin, end, english, stop, clause, is_word; kinds, of each how many matches, and these;
   pieces; clauses, of each how many stems. lines: English, of each unit lower and stem, the stems of clauses. */
int64_t probe_pieces(const char *text, size_t length, int32_t *numbers, char *lines, size_t *line_bytes)
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_reading r;
    int64_t n = -1;
    if (er_points_of(&arena, (er_text){text, length}, &points) && er_read_request(&arena, &points, &r)) {
        size_t at = put(lines, 0, r.english.text);
        n = 0;
        numbers[n++] = (int32_t)r.language, numbers[n++] = (int32_t)r.unit_count;
        for (uint32_t i = 0; i < r.unit_count; i++) {
            const er_unit *u = &r.units[i];
            const uint32_t told[] = {u->begin, u->end, u->english, u->stop, u->clause, u->is_word};
            for (size_t k = 0; k < sizeof told / sizeof *told; k++) numbers[n++] = (int32_t)told[k];
            at = put(lines, at, u->lower);
            at = put(lines, at, u->stem);
        }
        for (uint32_t kind = 0; kind < ER_PIECE_KINDS; kind++) {
            numbers[n++] = (int32_t)(r.match_starts[kind + 1] - r.match_starts[kind]);
            for (uint32_t i = r.match_starts[kind]; i < r.match_starts[kind + 1]; i++) numbers[n++] = r.matches[i].first, numbers[n++] = r.matches[i].last;
        }
        numbers[n++] = (int32_t)r.piece_count;
        for (uint32_t i = 0; i < r.piece_count; i++) {
            const er_piece *p = &r.pieces[i];
            const int32_t told[] = {p->kind, p->first, p->last, p->leads, p->clause, p->taken, p->joined};
            for (size_t k = 0; k < sizeof told / sizeof *told; k++) numbers[n++] = told[k];
        }
        numbers[n++] = (int32_t)r.clauses;
        for (uint32_t i = 0; i < r.clauses; i++) {
            numbers[n++] = (int32_t)(r.clause_starts[i + 1] - r.clause_starts[i]);
            for (uint32_t k = r.clause_starts[i]; k < r.clause_starts[i + 1]; k++) at = put(lines, at, r.clause_stems[k]);
        }
        *line_bytes = at;
    }
    er_give_back(&arena);
    return n;
}

/* The mantissa, the scale and the dimension of an amount. */
int32_t probe_amount(const char *text, size_t length, int64_t found[3])
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_amount amount = {0};
    const bool is = er_amount_of(&arena, (er_text){text, length}, &amount);
    found[0] = amount.mantissa, found[1] = amount.scale, found[2] = amount.dimension;
    er_give_back(&arena);
    return is;
}

/* Year, month and day, as they are from a day on (NULL: from none). */
int32_t probe_day(const char *text, size_t length, const int32_t *today, int32_t past, int32_t found[3])
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_day day = {0};
    er_now now = {0};
    if (today) now.year = (int16_t)today[0], now.month = (uint8_t)today[1], now.day = (uint8_t)today[2];
    const bool is = er_day_of(&arena, (er_text){text, length}, today ? &now : NULL, past, &day);
    found[0] = day.year, found[1] = day.month, found[2] = day.day;
    er_give_back(&arena);
    return is;
}

/* `day` (may be empty): words for the day, whose half counts. */
int32_t probe_time(const char *text, size_t length, const char *day, size_t day_length, int32_t found[3])
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_time time = {0};
    const bool is = er_time_of(&arena, (er_text){text, length}, er_half_of(&arena, (er_text){day, day_length}), &time);
    found[0] = time.hour, found[1] = time.minute, found[2] = time.second;
    er_give_back(&arena);
    return is;
}
