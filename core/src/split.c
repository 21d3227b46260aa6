/* Pre-tokenizers (section 5): where a normalised text is cut before any vocabulary sees it. */

#include "tokenizer_parts.h"

enum { SPACE_SIGN = 0x2581 };

bool er_pieces_add(er_arena *arena, er_pieces *pieces, er_span one)
{
    if (one.begin >= one.end) return true;
    if (pieces->count == pieces->room) {
        const uint32_t room = pieces->room ? 2 * pieces->room : 32;
        er_span *more = pieces->room < UINT32_MAX / 4 ? ER_TAKE(arena, er_span, room) : NULL;
        if (!more) return er_refuse(arena->error, ER_NO_MEMORY, "no memory for a text's tokens");
        if (pieces->count) memcpy(more, pieces->at, pieces->count * sizeof *more);
        pieces->at = more;
        pieces->room = room;
    }
    pieces->at[pieces->count++] = one;
    return true;
}

/* Cuts out white space, and with `marks` every sign of punctuation is a piece by itself. */
static bool at_spaces(er_arena *arena, const er_run *run, er_span piece, bool marks, er_pieces *found)
{
    uint32_t begin = piece.begin;
    for (uint32_t i = piece.begin; i < piece.end; i++) {
        const uint32_t flags = er_letter(run->at[i].point);
        const bool space = flags & LETTER_SPACE, mark = marks && flags & LETTER_PUNCTUATION;
        if (!space && !mark) continue;
        if (!er_pieces_add(arena, found, (er_span){begin, i}) || (mark && !er_pieces_add(arena, found, (er_span){i, i + 1}))) return false;
        begin = i + 1;
    }
    return er_pieces_add(arena, found, (er_span){begin, piece.end});
}

/* \w+|[^\w\s]+ */
static bool words(er_arena *arena, const er_run *run, er_span piece, er_pieces *found)
{
    for (uint32_t i = piece.begin, end; i < piece.end; i = end) {
        const uint32_t kind = er_letter(run->at[i].point) & (LETTER_WORD | LETTER_SPACE);
        for (end = i + 1; end < piece.end && (er_letter(run->at[end].point) & (LETTER_WORD | LETTER_SPACE)) == kind; end++) continue;
        if (!(kind & LETTER_SPACE) && !er_pieces_add(arena, found, (er_span){i, end})) return false;
    }
    return true;
}

static bool is_mark(const er_run *run, uint32_t i, uint32_t flag)
{
    return flag ? (er_letter(run->at[i].point) & flag) != 0 : run->at[i].point == SPACE_SIGN;
}

/* Cuts at the code points that have a flag (0: at signs of a space), each a match by itself. */
static bool at_marks(er_arena *arena, const er_run *run, er_span piece, uint32_t flag, er_behaviour behaviour, er_pieces *found)
{
    uint32_t begin = piece.begin; /* of what is not a piece yet */
    switch (behaviour) {
    case ER_REMOVED:
    case ER_ISOLATED:
        for (uint32_t i = piece.begin; i < piece.end; i++) {
            if (!is_mark(run, i, flag)) continue;
            if (!er_pieces_add(arena, found, (er_span){begin, i})) return false;
            if (behaviour == ER_ISOLATED && !er_pieces_add(arena, found, (er_span){i, i + 1})) return false;
            begin = i + 1;
        }
        break;
    case ER_CONTIGUOUS:
        for (uint32_t i = piece.begin + 1; i < piece.end; i++) {
            if (is_mark(run, i, flag) == is_mark(run, i - 1, flag)) continue;
            if (!er_pieces_add(arena, found, (er_span){begin, i})) return false;
            begin = i;
        }
        break;
    case ER_WITH_PREVIOUS: /* a match ends the piece before it, and of several in a row only the first does */
        for (uint32_t i = piece.begin; i < piece.end; i++) {
            if (!is_mark(run, i, flag)) continue;
            if (!er_pieces_add(arena, found, (er_span){begin, i + 1})) return false;
            begin = i + 1;
        }
        break;
    case ER_WITH_NEXT: /* a match begins the piece behind it; of several in a row only the last does */
        for (uint32_t i = piece.begin; i < piece.end; i++) {
            if (!is_mark(run, i, flag)) continue;
            if (!er_pieces_add(arena, found, (er_span){begin, i})) return false;
            begin = i;
        }
        break;
    }
    return er_pieces_add(arena, found, (er_span){begin, piece.end});
}

/* Spaces become signs, one more may be put before a piece, and one begins each. */
static bool signs(er_arena *arena, const er_splitter *by, er_run *run, er_pieces *pieces)
{
    er_run made = {.origin = run->origin};
    er_pieces found = {0};
    for (uint32_t p = 0; p < pieces->count; p++) {
        const er_span piece = pieces->at[p];
        const uint32_t begin = made.count;
        const er_glyph first = run->at[piece.begin];
        const bool wanted = by->prepends == ER_ALWAYS || (by->prepends == ER_FIRST && first.begin == 0);
        const er_glyph sign = {SPACE_SIGN, first.begin, first.end};
        if (wanted && first.point != ' ' && first.point != SPACE_SIGN && !er_run_add(arena, &made, sign)) return false;
        for (uint32_t i = piece.begin; i < piece.end; i++) {
            er_glyph one = run->at[i];
            if (one.point == ' ') one.point = SPACE_SIGN;
            if (!er_run_add(arena, &made, one)) return false;
        }
        const er_span now = {begin, made.count};
        if (by->splits ? !at_marks(arena, &made, now, 0, ER_WITH_NEXT, &found) : !er_pieces_add(arena, &found, now)) return false;
    }
    *run = made;
    *pieces = found;
    return true;
}

bool er_split_run(er_arena *arena, const er_splitter *by, er_run *run, er_pieces *pieces)
{
    if (by->kind == ER_METASPACE) return signs(arena, by, run, pieces);
    er_pieces found = {0};
    for (uint32_t p = 0; p < pieces->count; p++) {
        const er_span piece = pieces->at[p];
        bool fine = true;
        switch (by->kind) {
        case ER_BERT_SPLIT: fine = at_spaces(arena, run, piece, true, &found); break;
        case ER_BLANKS: fine = at_spaces(arena, run, piece, false, &found); break;
        case ER_WORDS: fine = words(arena, run, piece, &found); break;
        case ER_PUNCTUATION: fine = at_marks(arena, run, piece, LETTER_PUNCTUATION, by->behaviour, &found); break;
        case ER_DIGITS: fine = at_marks(arena, run, piece, LETTER_NUMERIC, by->behaviour, &found); break;
        case ER_METASPACE: break;
        }
        if (!fine) return false;
    }
    *pieces = found;
    return true;
}
