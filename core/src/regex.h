/* Expressions that are only known when they are needed, such as a schema's `pattern`: a part of what Python's `re` reads, by
   backtracking with a bound on its steps. What is known beforehand is in pattern.h. */

#ifndef ER_REGEX_H
#define ER_REGEX_H

#include "common.h"

typedef struct er_regex er_regex;

enum { ER_REGEX_ASCII = 1, ER_REGEX_CASELESS = 2 }; /* \w, \d, \s and \b of ASCII alone; letters whatever their case */

/* NULL for what it does not read, such as a look around or a way back, and where there is no memory. Lives in the arena. */
const er_regex *er_regex_of(er_arena *, er_text pattern, int flags);

/* The first match of a text from code point `from` on, and its first group (begin UINT32_MAX: it took no part). False, too,
   where finding out takes too many steps. */
bool er_regex_search(const er_regex *, const er_points *, uint32_t from, er_span *whole, er_span *group);
/* Whether the whole text matches. */
bool er_regex_full(const er_regex *, const er_points *);

#endif
