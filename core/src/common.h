/* What every file here shares: memory, failures, texts and spans. */

#ifndef ER_COMMON_H
#define ER_COMMON_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "edgeret.h"

/* ---- Memory: taken piece by piece, given back at once ---- */

typedef struct er_block er_block;

typedef struct {
    er_block *blocks;
    size_t taken; /* bytes, in all */
    er_error *error;
} er_arena;

/* Zeroed memory at a multiple of 64, which lives as long as the arena; NULL, and the arena's error set, where there is
   none. Products of sizes that would wrap are refused likewise. */
void *er_take(er_arena *, size_t count, size_t size);
/* The same with whatever it holds, for what is written before it is read, and large. */
void *er_take_any(er_arena *, size_t count, size_t size);
void er_give_back(er_arena *);

/* What only a scope needs: everything that was taken since er_mark goes with er_release. */
typedef struct {
    er_block *block;
    size_t used;
} er_place;

er_place er_mark(const er_arena *);
void er_release(er_arena *, er_place);

#define ER_TAKE(arena, type, count) ((type *)er_take((arena), (size_t)(count), sizeof(type)))

/* ---- Failures: the first one stands. Returns false, so that a check may end with `return er_refuse(…)`. ---- */

bool er_refuse(er_error *, er_status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Why something was not done: who said nothing had no memory. */
static inline er_status er_status_of(const er_error *error) { return error->status ? error->status : ER_NO_MEMORY; }

/* What a function of the header tells its failure to: the caller's, or `own` where NULL was given. Holds none yet. */
er_error *er_clear(er_error *given, er_error *own);

/* ---- Structs that begin with their size ---- */

/* A caller's options as this library has them, (size): zeros where a caller of an older header has none, or no options.
   False, in words, where fewer bytes are there than any header had. */
bool er_options(void *own, size_t size, const void *given, size_t least, const char *type, er_error *);
/* Whether what is to be filled has a size, and as much of what was found, (size), as the caller's header knows. */
bool er_sized(const void *room, size_t least, const char *type, er_error *);
void er_fill(void *room, const void *found, size_t size);

/* A text of a stranger, cut and with everything that a terminal would obey made visible, for a message. */
typedef struct {
    char at[160];
} er_shown;

er_shown er_show(er_text);

/* ---- Texts ---- */

static inline bool er_same(er_text a, er_text b) { return a.length == b.length && (!a.length || !memcmp(a.at, b.at, a.length)); }
static inline bool er_is(er_text a, const char *b) { return a.length == strlen(b) && !memcmp(a.at, b, a.length); }
static inline er_text er_cut(er_text of, size_t begin, size_t end) { return (er_text){of.at + begin, end - begin}; }

/* A text as code points, with where each begins in its bytes (count + 1 of these). Whoever makes one has proved that it
   is UTF-8. */
typedef struct {
    er_text text;
    const uint32_t *points, *starts;
    uint32_t count;
} er_points;

/* Fails (ER_BAD_INPUT) for what is no UTF-8; surrogates and overlong forms are none. */
bool er_points_of(er_arena *, er_text, er_points *);

enum { ER_MOST_QUERY = 20000, ER_MOST_CALLS = 256 };

#endif
