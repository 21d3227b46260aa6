/* Where a request's clauses are: edgeret_clauses does for ASCII what the regular expression of clauses.py does, in one
   look from left to right. A test holds both to the same spans. Knows nothing of Python. */

#include <stddef.h>

#include "arithmetic.h"

typedef struct {
    const char *at;
    int64_t length;
} Text;

/* What a character can be: of a word, the end of a sentence or what stands like one, a mark that parts by itself, a space.
   Most of a text is looked up here and nowhere else. */
enum { WORD = 1, STOP = 2, MARK = 4, SPACE = 8 };
static const unsigned char KINDS[128] = {
    ['0' ... '9'] = WORD, ['A' ... 'Z'] = WORD, ['a' ... 'z'] = WORD, ['_'] = WORD,
    ['.'] = STOP, ['!'] = STOP, ['?'] = STOP, [':'] = STOP, [';'] = STOP | MARK, [','] = MARK,
    ['\t' ... '\r'] = SPACE, [0x1c ... 0x1f] = SPACE, [' '] = SPACE,
};

static int kind(char c) { return KINDS[c & 127]; }

/* Whether a letter of a word, of whatever case, is the first of a joint: a, b, f, i, m, o, p, s, t or w. */
static int begins_joint(char c) { return c >= 'A' && 1u << (c & 31) & 0x0099A246u; }

static int64_t skip_spaces(const Text *t, int64_t i)
{
    while (i < t->length && is_space(t->at[i])) i++;
    return i;
}

/* The longest first of those that begin alike; '~' stands for spaces, '?' behind a letter for a letter that may miss. */
static const char *const JOINTS[] = {
    "and~then", "and~also", "as~well~as", "after~that", "afterwards?", "in~addition", "additionally", "moreover",
    "furthermore", "plus", "followed~by", "along~with", "while", "then", "also", "and", "or", "but", "so~that",
};

static int ends_word(const Text *t, int64_t i) { return i == t->length || !(kind(t->at[i]) & WORD); }

/* Where a joint that begins at i ends, -1 if none does. */
static int64_t joint_end(const Text *t, int64_t i)
{
    if (i >= t->length || !begins_joint(t->at[i]) || (i && kind(t->at[i - 1]) & WORD)) return -1;
    for (size_t k = 0; k < sizeof JOINTS / sizeof *JOINTS; k++) {
        const char *joint = JOINTS[k];
        int64_t j = i;
        for (; *joint; joint++) {
            if (*joint == '~') {
                const int64_t behind = skip_spaces(t, j);
                if (behind == j) break;
                j = behind;
            } else if (joint[1] == '?') {
                j += j < t->length && lower(t->at[j]) == *joint;
                joint++;
            } else if (j < t->length && lower(t->at[j]) == *joint) {
                j++;
            } else {
                break;
            }
        }
        if (!*joint && ends_word(t, j)) return j;
    }
    return -1;
}

/* Where a boundary that begins at i ends, -1 if none does. */
static int64_t boundary_end(const Text *t, int64_t i)
{
    const int here = kind(t->at[i]), space = here & SPACE;
    if (!(here & (MARK | SPACE)) && !begins_joint(t->at[i])) return -1;
    if (i && space && kind(t->at[i - 1]) & STOP) return skip_spaces(t, i);
    /* Space before a boundary is read from its beginning only. */
    if (space && i && is_space(t->at[i - 1])) return -1;
    const int64_t begin = space ? skip_spaces(t, i) : i;
    if (begin == t->length) return -1;
    const int comma = t->at[begin] == ',';
    const int64_t end = joint_end(t, comma ? skip_spaces(t, begin + 1) : begin);
    if (end >= 0) return skip_spaces(t, end);
    if (!comma && t->at[begin] != ';') return -1;
    const int64_t behind = skip_spaces(t, begin + 1);
    return behind > begin + 1 ? behind : -1;
}

static int has_words(const Text *t, int64_t begin, int64_t end, int64_t least)
{
    int before = 1;
    for (int64_t i = begin; i < end && least; i++) {
        const int space = is_space(t->at[i]);
        least -= before && !space;
        before = space;
    }
    return !least;
}

/* Where the clauses with at least so many words begin and end, `spans` (most, 2): how many, at most `most`. */
PUBLIC int64_t edgeret_clauses(const char *text, int64_t length, int64_t least, int64_t most, int64_t *spans)
{
    const Text t = {text, length};
    int64_t count = 0, start = 0, i = 0;
    while (count < most && start <= length) {
        int64_t behind = -1;
        for (; i < length && (behind = boundary_end(&t, i)) < 0; i++) continue;
        if (has_words(&t, start, i, least)) {
            spans[2 * count] = start;
            spans[2 * count++ + 1] = i;
        }
        if (behind < 0) break;
        start = i = behind;
    }
    return count;
}
