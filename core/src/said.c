#include "said.h"

#include "unicode.h"

bool er_said_of(er_arena *arena, const uint32_t *points, uint32_t count, er_said *said)
{
    enum { DOTTED_I = 0x130, SIGMA = 0x3a3 };
    bool even = true, ascii = true;
    if (!er_view_of(arena, points, count, &said->written)) return false;
    for (uint32_t i = 0; i < count; i++) {
        ascii = ascii && points[i] < 128;
        even = even && points[i] != DOTTED_I && points[i] != SIGMA;
    }
    said->even = even;
    said->low = said->written;
    said->low.points = said->low.caseless; /* the same for ASCII */
    if (ascii) return true;
    uint32_t *low = ER_TAKE(arena, uint32_t, even ? count : (size_t)count * 2);
    if (!low) return false;
    if (!even) return er_view_of(arena, low, er_lower(points, count, low), &said->low);
    for (uint32_t i = 0; i < count; i++) low[i] = er_lower_of(points[i]);
    said->low.points = low;
    return true;
}

bool er_said_part(er_arena *arena, const er_said *of, uint32_t begin, uint32_t end, er_said *part)
{
    if (!of->even) return er_said_of(arena, of->written.points + begin, end - begin, part);
    *part = (er_said){er_part(&of->written, begin, end), er_part(&of->low, begin, end), true};
    return true;
}

bool er_low_part(er_arena *arena, const er_said *of, uint32_t begin, uint32_t end, er_view *low)
{
    er_said part;
    if (of->even) {
        *low = er_part(&of->low, begin, end);
        return true;
    }
    if (!er_said_part(arena, of, begin, end, &part)) return false;
    *low = part.low;
    return true;
}
