/* A transformer's weights, as transformer.c and its bodies read them. What is behind a pointer is vouched for by whoever
   calls: encoders/compiled.py, of a graph that encoders/transformer_graph.py read. */

#ifndef EDGERET_TRANSFORMER_H
#define EDGERET_TRANSFORMER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arithmetic.h"
#include "workers.h"

/* Sixteen numbers at a time: one vector, two or four of the CPU's. */
typedef float Numbers __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t Wholes __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(16), aligned(1), may_alias));
#define NUMBERS(at) (*(Numbers *)(at))
#define WHOLES(at) (*(Wholes *)(at))

#define INLINE static inline __attribute__((always_inline))

/* A product's weights (rows, columns): `packed` as edgeret_pack has them, a scale and a bias a column, the `sums` of the
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

/* Words (tokens, hidden) are bytes with a scale a row, or where those are NULL `plain` numbers; `places` (positions, hidden)
   hold what the tokens' type adds, too. */
typedef struct {
    const int8_t *words;
    const float *word_scales, *plain, *places;
    Norm embedded;
    const Layer *layers;
    int64_t tokens, positions, count, hidden, heads;
} Transformer;

/* What one worker keeps of the rows that it is at, and of the text whose tokens attend to one another. */
typedef struct {
    float *wide, *next, *other, *scales, *keys;
    int32_t *zeros;
    uint8_t *bytes;
} Desk;

/* Texts to be read, side by side: text i ends before token `ends[i]`. Their tokens' vectors are `tokens` (count, hidden)
   in the end; `together` (count, 3 hidden) and `attended` (count, hidden) are what each layer's two halves hand over.

   Every layer has two phases, and one comes before them all. Workers take a phase's parts one by one, and begin the next
   phase when all parts are done: blocks of `block` tokens, or a head of a text. Numbers of parts `taken` and `done` are
   kept for every phase. */
typedef struct {
    const Transformer *of;
    const int64_t *ids, *ends;
    int64_t texts, count, block, longest, workers;
    float *tokens, *together, *attended;
    Desk desks[MOST_WORKERS];
    _Atomic int64_t *taken, *done;
} Reading;

#endif
