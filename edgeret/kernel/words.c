/* Words that were read before, and the tokens of each: edgeret_read_words does for a text of such words what WordTokens
   (word_tokens.py) does one by one; edgeret_keep_word adds one more. One thread at a time adds words, others read
   meanwhile: a word is complete before its place says where it is. Knows nothing of Python; whoever calls vouches for all
   lengths. */

#include <string.h>

#include "arithmetic.h"

/* `places` (mask + 1) lead into the `pool` of `room` numbers, 0 to nothing. A word's numbers there: how many characters, how
   many tokens, the characters, the tokens, and where each begins and ends in the word. `used` are the numbers of the pool
   that are taken, the first one always, and how many words there are. */
typedef struct {
    int64_t mask, room;
    int32_t *places, *pool;
    int64_t *used;
} KeptWords;

enum { CHARACTERS, TOKENS, HEADER };
enum { AT, COUNT, BEGIN_OF_WORD, END_OF_WORD }; /* how far a text was read */
enum { LEFT = -1, UNKNOWN_WORD, READ };

static int64_t in_numbers(int64_t characters) { return (characters + 3) / 4; }

/* What is kept of a word, NULL if nothing is; and the `place` where it is or would be. */
static const int32_t *find_word(const KeptWords *k, const char *word, int64_t length, int32_t **place)
{
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)word[i]) * 16777619u;
    for (int64_t at = hash & k->mask;; at = (at + 1) & k->mask) {
        const int32_t found = __atomic_load_n(k->places + at, __ATOMIC_ACQUIRE); /* once: others may fill it meanwhile */
        const int32_t *entry = k->pool + found;
        *place = k->places + at;
        if (!found) return NULL;
        if (entry[CHARACTERS] == length && !memcmp(entry + HEADER, word, (size_t)length)) return entry;
    }
}

/* Goes on through a text, whose words stand between spaces: their tokens and where each begins and ends (most, 2). READ;
   UNKNOWN_WORD where one was not kept, which `state` tells; LEFT where one has more than `longest` characters, or where
   there are more than `most` tokens. */
PUBLIC int64_t edgeret_read_words(const KeptWords *k, const char *text, int64_t length, int64_t longest, int64_t most,
                                  int64_t *state, int64_t *ids, int64_t *spans)
{
    int32_t *place;
    while (1) {
        int64_t begin = state[AT];
        while (begin < length && text[begin] == ' ') begin++;
        if (begin == length) return READ;
        const char *space = memchr(text + begin, ' ', (size_t)(length - begin));
        const int64_t end = space ? space - text : length;
        if (end - begin > longest) return LEFT;
        const int32_t *entry = find_word(k, text + begin, end - begin, &place);
        if (!entry) {
            state[BEGIN_OF_WORD] = begin;
            state[END_OF_WORD] = end;
            return UNKNOWN_WORD;
        }
        const int64_t tokens = entry[TOKENS];
        if (state[COUNT] + tokens > most) return LEFT;
        entry += HEADER + in_numbers(end - begin);
        for (int64_t t = 0; t < tokens; t++) {
            ids[state[COUNT] + t] = entry[t];
            spans[2 * (state[COUNT] + t)] = begin + entry[tokens + 2 * t];
            spans[2 * (state[COUNT] + t) + 1] = begin + entry[tokens + 2 * t + 1];
        }
        state[COUNT] += tokens;
        state[AT] = end;
    }
}

/* Keeps a word with its tokens and where each begins and ends in it (count, 2). 0 where there is no room. */
PUBLIC int64_t edgeret_keep_word(const KeptWords *k, const char *word, int64_t length, const int64_t *ids,
                                 const int64_t *spans, int64_t count)
{
    const int64_t at = k->used[0], needed = HEADER + in_numbers(length) + 3 * count;
    if (at + needed > k->room || 2 * k->used[1] >= k->mask) return 0;
    int32_t *place, *entry = k->pool + at;
    if (find_word(k, word, length, &place)) return 1;
    entry[CHARACTERS] = (int32_t)length;
    entry[TOKENS] = (int32_t)count;
    memcpy(entry + HEADER, word, (size_t)length);
    entry += HEADER + in_numbers(length);
    for (int64_t t = 0; t < count; t++) entry[t] = (int32_t)ids[t];
    for (int64_t t = 0; t < 2 * count; t++) entry[count + t] = (int32_t)spans[t];
    k->used[0] = at + needed;
    k->used[1]++;
    __atomic_store_n(place, (int32_t)at, __ATOMIC_RELEASE);
    return 1;
}
