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

/* ---- The walk ---- */

/* The links of an HNSW graph over rows in bytes, a quarter of the memory, each of which counts for its row's scale: list j
   leads to targets[starts[j]] to targets[starts[j + 1]]. There is a list for every row on level 0, then one for each of
   `members`, those of level 1 first, each level's rising; those of level l begin at begins[l - 1]. All of it was checked. */
typedef struct {
    int64_t rows, dimension, entry, levels;
    const int8_t *few;
    const float *scales; /* (rows) */
    const int32_t *starts, *targets, *members;
    const int64_t *begins; /* (levels + 1) */
} er_hnsw_links;

/* The rows that a search finds nearest to a vector which keeps `most` of them, at most MOST_FOUND: `found` (most), nearest
   first by their bytes; how many, -1 where there is no memory. `asked` has room for a vector's numbers. */
int64_t er_walk_links(const er_hnsw_links *g, const float *vector, int64_t most, int16_t *asked, int64_t *found);

/* Writes rows (count, dimension) in bytes, and what one of each row's counts for, as section 6.1 says. */
void er_to_bytes(const float *rows, int64_t count, int64_t dimension, int8_t *out, float *scales);

#endif
