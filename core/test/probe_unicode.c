/* What unicode.c says, as flat arrays: for tests/core/test_unicode.py. */

#include "unicode.h"

enum { PROBED = 8, POINTS = 0x110000 };

/* found (POINTS, PROBED) */
void probe_points(uint32_t *found)
{
    for (uint32_t point = 0; point < POINTS; point++) {
        uint32_t *row = found + (size_t)point * PROBED;
        row[0] = er_category_of(point);
        row[1] = er_combining_class(point);
        row[2] = er_is_letter(point);
        row[3] = er_is_alnum(point);
        row[4] = er_is_space(point);
        row[5] = er_lower_of(point);
        row[6] = er_caseless(point);
        row[7] = er_is_punctuation(point);
    }
}

uint32_t probe_lower(const uint32_t *points, uint32_t count, uint32_t *found) { return er_lower(points, count, found); }

/* What every code point but surrogates is made of, each behind a line end: found (room,), or 0. How many there are. */
uint32_t probe_decompose(int compatible, uint32_t *found, uint32_t room)
{
    uint32_t n = 0;
    for (uint32_t point = 0; point < POINTS; point++) {
        if (point >= 0xd800 && point < 0xe000) continue;
        if (room - n <= ER_MOST_PARTS) return 0;
        found[n++] = '\n';
        n += er_decompose(point, compatible, found + n);
    }
    return n;
}

uint32_t probe_compose(uint32_t first, uint32_t second) { return er_compose(first, second); }

/* The code points of a text through UTF-8 and back: false if any differs. */
int probe_round_trip(const uint32_t *points, uint32_t count)
{
    er_error why = {0};
    er_arena arena = {.error = &why};
    er_text text;
    er_points again;
    bool same = er_text_of(&arena, points, count, &text) && er_points_of(&arena, text, &again) && again.count == count;
    size_t at = 0;
    for (uint32_t i = 0; same && i < count; i++) same = again.points[i] == points[i] && again.starts[i] == at && er_point_at(text, &at) == points[i];
    er_give_back(&arena);
    return same;
}
