/* What a caller says of a bundle besides where it lies: its signatures, in the file beside its folder, and its content hash. */

#ifndef ER_BESIDE_H
#define ER_BESIDE_H

#include "common.h"

/* A copy of the file NAME.sig beside a folder, by the folder's path (FORMAT.md 21): what was verified must not change before it is
   used. The path is NULL where files came from memory, which is refused. */
bool er_signatures_beside(er_arena *, const char *path, const char *shown, er_text *found);

/* 64 digits in lower case, white space around them left out. */
bool er_given_hash(er_error *, er_text given, char digits[64], er_text *hash);

#endif
