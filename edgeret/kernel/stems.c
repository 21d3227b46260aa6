/* The words of a text that say something, without their endings, and which of some words they are: edgeret_read_stems does
   for ASCII what words (words.py) and a look at a list do. A test holds both to the same numbers. Knows nothing of Python;
   whoever calls vouches for all lengths. */

#include <stdlib.h>
#include <string.h>

#include "strings.h"

/* The words that are known, without endings, and those that every text has, with them. */
typedef struct {
    Strings known, common;
} Stems;

enum { LONGEST = 255, LEFT = -1 };
enum { LEAST = 3 }; /* as in words.py: characters that must be left of a word */

static const struct {
    char ending[4];
    int64_t length;
} ENDINGS[] = {{"ies", 3}, {"ing", 3}, {"ed", 2}, {"es", 2}, {"s", 1}, {"e", 1}};

static int is_lower(char c) { return c >= 'a' && c <= 'z'; }
static int is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* How long a word is without its ending, which is written over. */
static int64_t cut_ending(char *word, int64_t length)
{
    for (size_t e = 0; e < sizeof ENDINGS / sizeof *ENDINGS; e++) {
        const int64_t left = length - ENDINGS[e].length;
        if (left < LEAST || memcmp(word + left, ENDINGS[e].ending, (size_t)ENDINGS[e].length)) continue;
        if (ENDINGS[e].ending[0] == 's' && word[length - 2] == 's') continue; /* of "address" nothing falls away */
        length = left;
        if (e == 0) word[length++] = 'i';
        break;
    }
    if (length <= LEAST) return length;
    const char last = word[length - 1];
    if (last == 'y') word[length - 1] = 'i';
    else if (last == word[length - 2] && last != 'l' && last != 's') length--; /* "stopped" and "stop" */
    return length;
}

static uint32_t hash_of(const char *word, int64_t length)
{
    uint32_t hash = NOTHING_HASHED;
    for (int64_t c = 0; c < length; c++) hash = hashed(hash, word[c]);
    return hash;
}

/* Which different words a text says, in order, `numbers` (as many as there are words or characters); how many. LEFT for a
   text that has to be read otherwise. `others` is whether it says words that are not known. */
PUBLIC int64_t edgeret_read_stems(const Stems *s, const char *text, int64_t length, int64_t *numbers, int64_t *others)
{
    char word[LONGEST];
    uint8_t *met = calloc((size_t)(s->known.count / 8 + 1), 1);
    int64_t count = 0;
    others[0] = 0;
    if (!met) return LEFT;
    for (int64_t at = 0, size = 0; at <= length; at++) {
        const char c = at < length ? text[at] : ' ';
        const int inside = is_lower(c) || is_upper(c) || is_digit(c);
        if (size && (!inside || (is_upper(c) && !is_upper(text[at - 1])))) { /* a hump begins a word */
            if (find_string(&s->common, hash_of(word, size), word, size) == MISSING) {
                size = cut_ending(word, size);
                const int64_t number = find_string(&s->known, hash_of(word, size), word, size);
                if (number == MISSING) others[0] = 1;
                else if (!(met[number / 8] & 1 << number % 8)) {
                    met[number / 8] |= (uint8_t)(1 << number % 8);
                    numbers[count++] = number;
                }
            }
            size = 0;
        }
        if (!inside) continue;
        if (size == LONGEST) {
            free(met);
            return LEFT;
        }
        word[size++] = is_upper(c) ? (char)(c + 32) : c;
    }
    free(met);
    return count;
}
