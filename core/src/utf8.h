/* Whether bytes are UTF-8, and how many code points they are. */

#ifndef ER_UTF8_H
#define ER_UTF8_H

#include "common.h"

/* Where the first byte is that belongs to no UTF-8; the length if there is none. Overlong forms, halves of surrogate pairs
   and what is above U+10FFFF are none. */
size_t er_utf8_ends(er_text);

/* Of UTF-8 that was proved. */
static inline size_t er_count_points(er_text text)
{
    size_t found = 0;
    for (size_t i = 0; i < text.length; i++) found += (text.at[i] & 0xc0) != 0x80;
    return found;
}

#endif
