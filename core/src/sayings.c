/* A query, read in one go. */

#include "said.h"

enum { SHORT = 2, FEWEST_WISHES = 2 };

/* 16.4 and 16.9: clauses of two words where the query asks for several things, of three otherwise. */
static bool cut(er_matcher *m, const er_said *said, er_sayings *found)
{
    er_span shorter[ER_MOST_CLAUSES + 1], piece;
    uint32_t short_count = 0, count = 0;
    er_pieces pieces = er_pieces_of(m, found->language, &said->written);
    while ((short_count <= ER_MOST_CLAUSES || count < ER_MOST_CLAUSES) && er_next_piece(&pieces, &piece)) {
        const er_view part = er_part(&said->written, piece.begin, piece.end);
        if (short_count <= ER_MOST_CLAUSES && er_has_words(found->language, &part, SHORT)) shorter[short_count++] = piece;
        if (count < ER_MOST_CLAUSES && er_has_words(found->language, &part, ER_CLAUSE)) found->clauses[count++] = piece;
    }
    if (!count) found->clauses[count++] = (er_span){0, said->written.count};
    found->clause_count = count;
    if (short_count < FEWEST_WISHES || short_count > ER_MOST_CLAUSES) return !m->failed;
    bool asks[ER_MOST_CLAUSES];
    uint32_t wishes = 0;
    if (!er_which_ask(m, found->language, said, shorter, short_count, asks)) return false;
    for (uint32_t i = 0; i < short_count; i++) wishes += asks[i];
    if (wishes < FEWEST_WISHES || wishes > ER_MOST_WISHES) return true;
    memcpy(found->clauses, shorter, short_count * sizeof *shorter);
    found->clause_count = short_count;
    for (uint32_t i = 0; i < short_count; i++)
        if (asks[i]) found->wishes[found->wish_count++] = shorter[i];
    return true;
}

bool er_say(er_arena *arena, const er_points *points, er_sayings *found)
{
    er_matcher matcher, *m = &matcher;
    er_said said, part;
    memset(found, 0, sizeof *found);
    found->points = *points;
    er_matcher_of(arena, &er_language_book, m);
    if (!er_said_of(arena, points->points, points->count, &said)) return false;
    if (!er_said_part(arena, &said, 0, points->count < ER_LOOKED_AT ? points->count : ER_LOOKED_AT, &part)) return false;
    found->language = er_language_by(&part.low, &found->sure);
    found->words = er_count_words(found->language, &said.written);
    if (!cut(m, &said, found)) return false;
    for (uint32_t i = 0; i < found->wish_count; i++) {
        if (!er_said_part(arena, &said, found->wishes[i].begin, found->wishes[i].end, &part)) return false;
        if (!er_sides_of(m, found->language, &part, &found->wish_sides[i])) return false;
    }
    found->values = er_values_in(m, &said);
    return er_form_of(m, found->language, &said, found) && er_sides_of(m, found->language, &said, &found->sides) && !m->failed;
}
