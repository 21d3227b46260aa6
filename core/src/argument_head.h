/* The head for arguments, as er_point reads it; argument_head.c makes it, and vouches for all sizes. */

#ifndef ER_ARGUMENT_HEAD_H
#define ER_ARGUMENT_HEAD_H

#include "transform.h"

/* As in section 8.4. PADDED and SMALL are made multiples of what a product takes at a time. */
enum { ARG_WIDTH = 128, ARG_LAYERS = 2, ARG_HEADS = 4, ARG_INNER = 256, LONGEST = 24, BEFORE = 3 };
enum { FEATURES = 65, RELATIONS = 3, PADDED = 80, KINDS = 25, SMALL = 64, OPTION_FEATURES = 4 };

/* Layers norm what comes in: `between` before attention, `behind` before the wide product. */
typedef struct {
    Product word, unit, beside, ask, answer, small;
    Norm unit_norm, norm;
    const Layer *layers;
    const float *near, *said;
} ArgumentHead;

/* One call: what the units say, (units, ARG_WIDTH), features (units, FEATURES), relations (parameters, units, RELATIONS), chunks (kind,
   first unit, length less one); the rows of the function and its parameters, (1 + parameters, ARG_WIDTH), how many
   options each has, which are Booleans; of all options two rows (options, ARG_WIDTH) and features. */
typedef struct {
    const float *words, *features, *relations;
    const int64_t *chunks;
    const float *rows;
    const int64_t *counts, *boolean;
    const float *own, *by, *told;
    int64_t units, parameters, options, chunk_count, levels;
} ArgumentCall;

/* Log-shares: of spans (parameters, units, LONGEST), of options (options,), and that nobody said it (parameters,). */
typedef struct {
    float *spans, *options, *absent;
} ArgumentShares;

/* What is kept meanwhile, of R = 1 + parameters + units rows. */
typedef struct {
    float *x, *next, *wide, *three, *attended, *ask, *answer, *small, *line;
    Desk desk;
} ArgumentDesk;

/* What units say to the head whatever is asked, (units, ARG_WIDTH), by their vectors (units, dimension); and how many floats of
   room that takes; without `room` that alone. */
int64_t er_point_words(const ArgumentHead *of, const float *vectors, int64_t units, int64_t levels, int64_t set, float *room, float *words);
/* The log-shares of a call's arguments, and how many floats of room that takes; without `room` that alone. */
int64_t er_point(const ArgumentHead *of, const ArgumentCall *call, int64_t set, float *room, const ArgumentShares *found);

#endif
