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

/* A negative number where there was no room or memory. */
int64_t probe_normalize(int form, const uint32_t *points, uint32_t count, uint32_t *found, uint32_t *origins, uint32_t room)
{
    er_error why = {0};
    er_arena arena = {.error = &why};
    const uint32_t *made, *from;
    uint32_t n = 0;
    bool done = er_normalize(&arena, (er_form)form, points, count, &made, &from, &n) && n <= room;
    if (done && n) memcpy(found, made, n * sizeof *found), memcpy(origins, from, n * sizeof *origins);
    er_give_back(&arena);
    return done ? (int64_t)n : -1;
}

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
