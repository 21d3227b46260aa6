/* 16.4: where a text is cut. */

#include "said.h"

bool er_next_piece(er_pieces *p, er_span *piece)
{
    if (p->over) return false;
    er_span cut;
    p->over = !er_finds(p->matcher, p->cut, p->text, p->from, &cut);
    *piece = (er_span){p->from, p->over ? p->text->count : cut.begin};
    p->from = p->over ? p->text->count : cut.end;
    return true;
}

uint32_t er_clauses_of(er_arena *arena, er_language language, const er_points *text, uint32_t least, er_span *room, uint32_t most)
{
    er_matcher matcher;
    er_view view;
    uint32_t n = 0;
    er_span piece;
    er_matcher_of(arena, &matcher);
    if (!er_view_of(arena, text->points, text->count, &view)) return 0;
    er_pieces pieces = er_pieces_of(&matcher, language, &view);
    while (n < most && er_next_piece(&pieces, &piece)) {
        const er_view part = er_part(&view, piece.begin, piece.end);
        if (er_has_words(language, &part, least)) room[n++] = piece;
    }
    if (!n && most) room[n++] = (er_span){0, text->count};
    return n;
}
