/* Words in sets and in lists, as what tools take and what requests say are compared. */

#include "arguments.h"
#include "unicode.h"

bool er_within(er_words a, er_words b)
{
    for (uint32_t i = 0; i < a.count; i++)
        if (!er_has(b, a.words[i])) return false;
    return true;
}

bool er_words_in(er_arena *arena, er_text text, er_words *found)
{
    er_points points;
    const er_word *words;
    uint32_t count, n = 0;
    if (!er_points_of(arena, text, &points) || !er_words_of(arena, &points, &words, &count)) return false;
    er_text *made = ER_TAKE(arena, er_text, count + 1);
    if (!made) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!er_has((er_words){made, n}, words[i].stem)) made[n++] = words[i].stem;
    *found = (er_words){made, n};
    return true;
}

bool er_first_word(er_arena *arena, er_text text, er_text *found)
{
    er_points points;
    const er_word *words;
    uint32_t count;
    if (!er_points_of(arena, text, &points) || !er_words_of(arena, &points, &words, &count)) return false;
    *found = count ? words[0].stem : (er_text){"", 0};
    return true;
}

bool er_listed_in(er_text word, const char *list)
{
    if (!word.length) return false;
    for (const char *at = list;;) { /* words are short: nothing is called for one */
        size_t same = 0;
        while (same < word.length && at[same] == word.at[same] && at[same] != ' ' && at[same]) same++;
        at += same;
        if (same == word.length && (*at == ' ' || !*at)) return true;
        while (*at && *at != ' ') at++;
        if (!*at++) return false;
    }
}

/* A text in lower case. */
bool er_lowered(er_arena *arena, er_text text, er_text *found)
{
    er_points points;
    if (!er_points_of(arena, text, &points)) return false;
    uint32_t *low = ER_TAKE(arena, uint32_t, 2 * (size_t)points.count + 1);
    return low && er_text_of(arena, low, er_lower(points.points, points.count, low), found);
}

/* With one letter for all letters in a row, and one digit for all digits. */
bool er_shape_of(er_arena *arena, er_text said, er_text *found)
{
    char *made = ER_TAKE(arena, char, said.length + 1);
    size_t n = 0;
    char last = 0;
    if (!made) return false;
    for (size_t i = 0; i < said.length;) {
        const size_t begin = i;
        const uint32_t point = er_point_at(said, &i);
        const char mark = er_is_decimal(point) ? '9' : er_is_alnum(point) ? 'a' : 0;
        if (mark && mark == last) continue;
        last = mark;
        if (mark) made[n++] = mark;
        else memcpy(made + n, said.at + begin, i - begin), n += i - begin;
    }
    *found = (er_text){made, n};
    return true;
}
