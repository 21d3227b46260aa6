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
    er_matcher_of(arena, &er_language_book, &matcher);
    if (!er_view_of(arena, text->points, text->count, &view)) return 0;
    er_pieces pieces = er_pieces_of(&matcher, language, &view);
    while (n < most && er_next_piece(&pieces, &piece)) {
        const er_view part = er_part(&view, piece.begin, piece.end);
        if (er_has_words(language, &part, least)) room[n++] = piece;
    }
    if (!n && most) room[n++] = (er_span){0, text->count};
    return n;
}

/* Space and signs at a clause's ends. */
static bool is_edge(uint32_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ',' || c == ';' || c == ':' || c == '.' || c == '!' || c == '?' ||
           c == 0xff0c || c == 0x3002 || c == 0xff1b || c == 0xff1a || c == 0xff01 || c == 0xff1f;
}

static er_span bare(const er_points *text, er_span span)
{
    while (span.begin < span.end && is_edge(text->points[span.begin])) span.begin++;
    while (span.begin < span.end && is_edge(text->points[span.end - 1])) span.end--;
    return span;
}

static bool same(const er_points *text, er_span a, er_span b)
{
    const uint32_t length = a.end - a.begin;
    return length == b.end - b.begin && !memcmp(text->points + a.begin, text->points + b.begin, length * sizeof *text->points);
}

uint32_t er_split_clauses(er_arena *arena, er_language language, const er_points *text, uint32_t least, er_span *room, uint32_t most)
{
    er_span found[ER_MOST_CLAUSES];
    er_view view;
    const er_span whole = bare(text, (er_span){0, text->count});
    uint32_t n = 0;
    const uint32_t pieces = er_clauses_of(arena, language, text, least, found, ER_MOST_CLAUSES);
    if (!er_view_of(arena, text->points, text->count, &view)) return 0;
    for (uint32_t i = 0; i < pieces && n < most; i++) {
        const er_span one = bare(text, found[i]);
        const er_view part = er_part(&view, one.begin, one.end);
        bool again = same(text, one, whole);
        for (uint32_t k = 0; k < n && !again; k++) again = same(text, one, room[k]);
        if (!again && er_has_words(language, &part, least)) room[n++] = one;
    }
    return n;
}
