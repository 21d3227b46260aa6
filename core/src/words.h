/* Single words: their length, their order, where they are kept. */

#ifndef ER_WORDS_H
#define ER_WORDS_H

#include "common.h"

/* How many code points a text has that was proved to be UTF-8. */
static inline uint32_t er_length_of(er_text text)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text.length; i++) n += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return n;
}

static inline uint32_t er_hash(er_text text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.length; i++) hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 29);
}

/* By code points, which is by bytes. */
static inline int er_compare(er_text a, er_text b)
{
    const size_t both = a.length < b.length ? a.length : b.length;
    const int order = both ? memcmp(a.at, b.at, both) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* Whether one written form stands for a stem rather than another: the shorter one, of equally short ones the first (5.2). */
static inline bool er_is_better_form(er_text form, er_text than)
{
    const uint32_t a = er_length_of(form), b = er_length_of(than);
    return a < b || (a == b && er_compare(form, than) < 0);
}

#endif
