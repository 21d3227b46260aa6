/* A transformer's weights, and what reads texts with them: what takes an encoding's time. What is behind a pointer is
   vouched for by whoever calls: transformer.c, which found it in an encoder's file. */

#ifndef ER_TRANSFORM_H
#define ER_TRANSFORM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arithmetic.h"
#include "workers.h"

#define INLINE static inline __attribute__((always_inline))

/* A product's weights (rows, columns): `packed` as er_pack_weights has them, a scale and a bias a column, the `sums` of the
   columns' weights, and what the numbers of a row are multiplied by before they become bytes, `shrink` (rows,). */
typedef struct {
    const int8_t *packed;
    const float *scales, *bias, *shrink;
    const int32_t *sums;
    int64_t rows, columns;
} Product;

typedef struct {
    const float *gain, *bias;
    double epsilon;
} Norm;

/* Query, key and value side by side, and what attention gives; then the wide product and the one back. */
typedef struct {
    Product together, attended, wide, narrow;
    Norm between, behind;
} Layer;

/* Words (tokens, hidden) are bytes with a scale a row; or `codes` (tokens, pieces), each for one of 256 vectors of its piece's,
   which are `plain` then, (pieces, 256, hidden / pieces); or where those are NULL, too, `plain` numbers. `places` (positions,
   hidden) hold what the tokens' type adds, too. */
typedef struct {
    const int8_t *words;
    const uint8_t *codes;
    const float *word_scales, *plain, *places;
    Norm embedded;
    const Layer *layers;
    int64_t tokens, pieces, positions, count, hidden, heads;
} Transformer;

/* Who has made a part: a worker's number and 1, or 0. */
typedef _Atomic uint8_t Maker;

typedef struct Desk Desk;

/* `out` (count, columns): rows of numbers (count, rows) times the weights, and the bias; unless somebody else has
   `made` the part that it is for. */
typedef void Multiply(const float *numbers, int64_t count, const Product *by, const Desk *desk, const Maker *made,
                      float *out);

typedef struct Reading Reading;

/* What a set of instructions has of its own: products, whose weights it takes `panel` columns at a time (0: it is none of
   this library's), and what transformer_body.h says. All else is compiled once. */
typedef struct {
    Multiply *multiply;
    int64_t panel;
    void (*begin)(const Reading *, int64_t first, int64_t count, const Desk *, float *tokens);
    void (*normalise)(const float *rows, const float *beside, int64_t count, int64_t n, const Norm *by, float *out);
    void (*attend)(int64_t count, int64_t hidden, int64_t size, int64_t h, float *room, float *out);
    void (*gelu)(float *x, int64_t n);
    void (*dots)(const float *row, const float *others, int64_t stride, int64_t count, int64_t n, float *out);
    float (*sum_of_powers)(const float *scores, int64_t n, float most);
} Arithmetic;

/* What one worker has made of all tokens, and what it keeps of the rows that it is at and of the text whose tokens attend
   to one another; a row's numbers become bytes from 0 to `levels`. Nobody else writes here. */
struct Desk {
    const Arithmetic *set;
    float levels;
    float *tokens[2], *together, *attended;
    float *wide, *next, *other, *scales, *keys;
    int32_t *zeros;
    uint8_t *bytes;
};

/* Texts to be read, side by side: text i ends before token `ends[i]`.

   Every layer has two phases, and one comes before them all: what tokens are (count, hidden) and query, key and value
   `together` (count, 3 hidden), then what they `attended` to (count, hidden). Workers take a phase's parts one by one:
   blocks of `block` tokens, or a head of a text. The next phase begins when all parts are made.

   A worker may lose its CPU in the middle of a part. So who finds nothing left to take does what others have begun, too,
   until one of them is done: who is first signs in `makers` (phases, parts), and all others read that desk. Both make the
   same bits. A worker that comes back late may find that what it reads was written anew; then what it makes is wrong, and
   somebody else has signed long ago. A desk's part is written again two layers later (tokens) or one, when everybody who
   may still sign has read it. */
struct Reading {
    const Transformer *of;
    int64_t *ids, *ends;
    int64_t texts, count, block, longest, workers, parts;
    Desk desks[MOST_WORKERS];
    atomic_int *taken; /* not of eight bytes, which 32-bit devices cannot add to at once */
    Maker *makers;
};

/* How many columns of weights a set of instructions takes at a time; 0 if this library was made without it. */
int64_t er_panel(int64_t set);

/* Weights (rows, columns), arranged as they are read: panel after panel of columns, of each four rows of every column;
   and the `sums` of their columns. Gives the largest weight without its sign. */
int64_t er_pack_weights(const int8_t *weights, int64_t rows, int64_t columns, int64_t panel, int8_t *packed, int32_t *sums);

/* How many floats are needed to read so many tokens, of texts of up to `longest` each. They may begin anywhere. */
int64_t er_transform_room(const Transformer *of, int64_t count, int64_t longest, int64_t workers);

/* The vectors of all tokens (count, hidden) of texts, by the tokens' numbers, and those of the texts (texts, hidden), as
   `pool` makes them. Text i ends before token `ends[i]`; up to `workers` CPUs share the work. 0; 1 for a number that no
   token has, an empty text or one that is too long; 2 for vectors with numbers that are none. 4 more if a worker is late,
   which nobody waited for: the room and the weights must stay until er_transform_left says that it is gone. */
int64_t er_transform_texts(const Transformer *of, int64_t set, const int64_t *ids, const int64_t *ends, int64_t texts,
                           int64_t workers, int64_t first, int64_t unit, float *room, float *tokens, float *vectors);

/* Whether every worker has left a room, in which er_transform_texts left some; with `wait`, when they have. */
int64_t er_transform_left(float *room, int64_t wait);

#endif
