/* Section 6.1: among very many tools, those that a graph finds nearest to a vector. */

#ifndef ER_HNSW_H
#define ER_HNSW_H

#include "parts.h"
#include "request.h"

enum { ER_FOUND = 64 }; /* tools that a search finds */

/* The graph over an index's rows; NULL where nobody wants one: the bundle has none, or fewer tools than are worth one. */
bool er_hnsw_part(const er_part *, const er_index *, er_index_kind, uint32_t tools, uint32_t dimension, const er_hnsw **);

/* Marks the ER_FOUND tools that are found nearest to a vector, `marks` (tools); `scratch` is released. */
bool er_hnsw_mark(er_arena *scratch, const er_hnsw *, const float *vector, bool *marks);

/* Marks those of so many, in an order of their own (NULL: as they stand), that have the largest values above 0, of equal ones
   the first. */
void er_mark_largest(const float *values, const uint32_t *order, uint32_t count, bool *marks);

#endif
