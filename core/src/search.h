/* Search: which tools words want. Hybrid search is the evidence of the tools' own words; a ranking by what was demonstrated
   rests on it. */

#ifndef ER_SEARCH_H
#define ER_SEARCH_H

#include "request.h"

typedef struct {
    er_arena arena;
    const er_model *model;
    const er_stage *stage; /* of the bundle's own encoder */
    er_points points;
    const er_encoded *encoded;
    er_request request;      /* nothing but the text's windows, clauses and sayings */
    er_overlap overlap;      /* with all tools */
    uint32_t tools;          /* that are compared */
    const uint32_t *which;   /* (tools): their numbers, rising */
    const float *cosines;    /* (1 + windows + clauses, tools) */
    float *scores;           /* (tools) */
} er_search_by;

/* Section 16.8, of a text that is encoded: `which`, `cosines` and `scores`. */
bool er_hybrid(er_search_by *);
/* The cosines of the text to all tools, which are their scores. */
bool er_by_description(er_search_by *);

#endif
