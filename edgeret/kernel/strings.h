/* Different texts, each of which is found by its characters. */

#ifndef EDGERET_STRINGS_H
#define EDGERET_STRINGS_H

#include <string.h>

#include "arithmetic.h"

/* Text i is `characters[starts[i] : starts[i + 1]]`; `places` (mask + 1) lead to a text and 1, 0 to nothing. */
typedef struct {
    int64_t mask, count;
    const char *characters;
    const int32_t *starts;
    int32_t *places;
} Strings;

enum { TRIES = 256 }; /* the worst of 28,622 pieces of BERT's takes 21, of 131,000 made-up ones 36 */
enum { MISSING = -1 };

static const uint32_t NOTHING_HASHED = 2166136261u;

static inline uint32_t hashed(uint32_t hash, char character) { return (hash ^ (uint8_t)character) * 16777619u; }

static inline int64_t find_string(const Strings *s, uint32_t hash, const char *text, int64_t length)
{
    for (int64_t tried = 0; tried < TRIES; tried++) {
        const int32_t i = s->places[((int64_t)hash + tried) & s->mask] - 1;
        if (i < 0) return MISSING;
        if (s->starts[i + 1] - s->starts[i] == length && !memcmp(s->characters + s->starts[i], text, (size_t)length)) return i;
    }
    return MISSING;
}

#endif
