/* The transformer, to encode.c: the arithmetic itself is transform.c's. */

#ifndef ER_TRANSFORMER_PARTS_H
#define ER_TRANSFORMER_PARTS_H

#include "encode.h"

/* The vectors of a text's tokens (count, dimension) and its own, by the tokens' numbers; up to `threads` CPUs share the
   work. */
bool er_transform(er_arena *, const er_transformer *, const int64_t *ids, uint32_t count, int32_t threads, float *tokens, float *vector);

#endif
